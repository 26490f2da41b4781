//! The clock: time-base ticks and what they mean.
#![forbid(unsafe_code)]

use core::fmt;

#[cfg(target_os = "none")]
pub use running::*;

/// Nanoseconds in a second.
pub const NANOSECONDS: u64 = 1_000_000_000;

/// Ticks of the accounting clock in a second (`USER_HZ`).
pub const TICK_HZ: u32 = 100;

/// A span or an instant, as whole seconds and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time {
    /// Whole seconds.
    pub seconds: u32,
    /// The rest, below a thousand million.
    pub nanoseconds: u32,
}

impl Time {
    /// The span from `earlier` to `self`, 0 if that is negative.
    pub fn since(self, earlier: Self) -> Self {
        let (seconds, nanoseconds) = match self.nanoseconds.checked_sub(earlier.nanoseconds) {
            Some(nanoseconds) => (self.seconds.checked_sub(earlier.seconds), nanoseconds),
            None => {
                let whole = self.seconds.checked_sub(earlier.seconds).and_then(|s| s.checked_sub(1));
                (whole, self.nanoseconds + NANOSECONDS as u32 - earlier.nanoseconds)
            }
        };
        seconds.map_or(
            Self {
                seconds: 0,
                nanoseconds: 0,
            },
            |seconds| Self { seconds, nanoseconds },
        )
    }

    /// Without what is below a hundredth of a second.
    pub fn hundredths(self) -> Self {
        Self {
            nanoseconds: self.nanoseconds - self.nanoseconds % 10_000_000,
            ..self
        }
    }

    /// Prints as `0m 1.58s`, the form of busybox' `time`.
    pub fn minutes(self) -> Minutes {
        Minutes(self)
    }
}

/// A span in minutes and seconds.
pub struct Minutes(Time);

impl fmt::Display for Minutes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Time { seconds, nanoseconds } = self.0;
        write!(f, "{}m {}.{:02}s", seconds / 60, seconds % 60, nanoseconds / 10_000_000)
    }
}

/// Converts ticks of a clock of `hz` ticks a second; a clock that does not run (`hz` 0) gives 0.
pub fn to_time(ticks: u64, hz: u32) -> Time {
    if hz == 0 {
        return Time {
            seconds: 0,
            nanoseconds: 0,
        };
    }
    let hz = u64::from(hz);
    let seconds = ticks / hz;
    let nanoseconds = ticks % hz * NANOSECONDS / hz;
    Time {
        seconds: seconds as u32,
        nanoseconds: nanoseconds as u32,
    }
}

#[cfg(target_os = "none")]
mod running {
    use super::{TICK_HZ, Time, to_time};
    use crate::arch::ppc::frame::TrapFrame;
    use crate::arch::ppc::{accounting, spr};
    use crate::measure::series::Clocks;
    use core::sync::atomic::{AtomicU32, Ordering};

    static TIMEBASE_HZ: AtomicU32 = AtomicU32::new(0);

    static CORE_HZ: AtomicU32 = AtomicU32::new(0);

    /// Readings within which a time base that runs must show a difference: its ticks are some tens of core clocks long.
    const READINGS: u32 = 100_000;

    /// Tells the clock its rate and that of the core, and starts the tick. A time base that stands still has no rate.
    pub fn init(clocks: Clocks) {
        let start = spr::mftb_lower();
        let runs = (0..READINGS).any(|_| spr::mftb_lower() != start);
        TIMEBASE_HZ.store(if runs { clocks.timebase_hz } else { 0 }, Ordering::Relaxed);
        CORE_HZ.store(clocks.core_hz, Ordering::Relaxed);
        PERIOD.store(period(), Ordering::Relaxed);
        spr::set_decrementer(period());
    }

    /// Ticks of the decrementer between interrupts: as many as fit, where the rate is unknown.
    fn period() -> u32 {
        match timebase_hz() / TICK_HZ {
            0 => i32::MAX as u32,
            period => period,
        }
    }

    /// Time base ticks per second, 0 if unknown.
    pub fn timebase_hz() -> u32 {
        TIMEBASE_HZ.load(Ordering::Relaxed)
    }

    /// The rates; 0 for one that is unknown.
    pub fn clocks() -> Clocks {
        Clocks {
            core_hz: CORE_HZ.load(Ordering::Relaxed),
            timebase_hz: timebase_hz(),
        }
    }

    /// Time since the time base started.
    pub fn now() -> Time {
        to_time(spr::timebase(), timebase_hz())
    }

    /// Ticks of the profiler in a second, 0 while nothing is recorded.
    static SAMPLE_HZ: AtomicU32 = AtomicU32::new(0);
    /// State of the jitter's generator; never 0.
    static JITTER: AtomicU32 = AtomicU32::new(0x9e37_79b9);
    /// Period that the present tick ends.
    static PERIOD: AtomicU32 = AtomicU32::new(0);

    /// Makes the tick come `hz` times a second with a jittered period, for the profiler; 0 for the ordinary tick.
    ///
    /// The present tick ends after one period of the new kind; the part of the old one that has passed belongs to it.
    pub fn set_sample_rate(hz: u32) {
        SAMPLE_HZ.store(hz, Ordering::Relaxed);
        spr::without_interrupts(|| {
            let next = next_period();
            let passed = PERIOD.load(Ordering::Relaxed).wrapping_sub(spr::decrementer());
            PERIOD.store(passed.wrapping_add(next), Ordering::Relaxed);
            spr::set_decrementer(next);
        });
    }

    /// The next period. A sampling period varies by a quarter either way, so that it cannot fall into step with a loop.
    fn next_period() -> u32 {
        match SAMPLE_HZ.load(Ordering::Relaxed) {
            0 => period(),
            hz => {
                let mean = (timebase_hz() / hz).max(64);
                mean - mean / 4 + random() % (mean / 2)
            }
        }
    }

    /// A pseudo-random number (xorshift32, Marsaglia 2003).
    pub fn random() -> u32 {
        let mut state = JITTER.load(Ordering::Relaxed);
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        JITTER.store(state, Ordering::Relaxed);
        state
    }

    /// Begins a period of the tick now, so that ticks fall at equal places in runs that are compared.
    pub fn restart_tick() {
        let period = period();
        PERIOD.store(period, Ordering::Relaxed);
        spr::set_decrementer(period);
    }

    static INTERRUPTS: AtomicU32 = AtomicU32::new(0);

    /// Ticks since the start, modulo 2^32.
    pub fn interrupts() -> u32 {
        INTERRUPTS.load(Ordering::Relaxed)
    }

    /// By how many ticks of the time base the present tick came too late; before [`tick`] arms the next.
    pub fn late() -> u32 {
        spr::decrementer().wrapping_neg().min(i32::MAX as u32)
    }

    /// One tick: accounts for it and arms the next. The count goes on from where the decrementer stands, so that a late
    /// handler does not slow the clock; ticks that were missed altogether are skipped.
    pub fn tick(frame: &TrapFrame) {
        INTERRUPTS.store(interrupts().wrapping_add(1), Ordering::Relaxed);
        let ended = PERIOD.load(Ordering::Relaxed);
        let period = next_period();
        PERIOD.store(period, Ordering::Relaxed);
        let mut next = spr::decrementer().wrapping_add(period);
        if next as i32 <= 0 {
            next = period;
        }
        spr::set_decrementer(next);
        accounting::tick(frame, ended);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_seconds_without_overflow() {
        assert_eq!(
            to_time(8_250_000, 8_250_000),
            Time {
                seconds: 1,
                nanoseconds: 0
            }
        );
        assert_eq!(
            to_time(8_249_999, 8_250_000),
            Time {
                seconds: 0,
                nanoseconds: 999_999_878
            }
        );
        let years = 10 * 365 * 86400;
        assert_eq!(
            to_time(years * 66_000_000 + 33_000_000, 66_000_000).nanoseconds,
            500_000_000
        );
        assert_eq!(
            to_time(123, 0),
            Time {
                seconds: 0,
                nanoseconds: 0
            }
        );
    }

    // U-193
    #[test]
    fn span_is_never_negative_and_prints_in_minutes() {
        let at = |seconds, nanoseconds| Time { seconds, nanoseconds };
        assert_eq!(at(5, 100).since(at(3, 200)), at(1, NANOSECONDS as u32 - 100));
        assert_eq!(at(3, 0).since(at(3, 1)), at(0, 0));
        assert_eq!(at(2, 0).since(at(3, 0)), at(0, 0));
        assert_eq!(
            at(2, 19_999_999).hundredths().since(at(1, 18_000_000).hundredths()),
            at(1, 0)
        );
        assert_eq!(std::format!("{}", at(61, 580_000_000).minutes()), "1m 1.58s");
        assert_eq!(std::format!("{}", at(0, 9_999_999).minutes()), "0m 0.00s");
    }
}
