//! Simulated time in nanoseconds, kept from core clocks whose frequency the guest may change.

/// Nanoseconds in a second.
pub const SECOND: u64 = 1_000_000_000;

/// Seconds as nanoseconds; the argument is not negative.
pub fn from_seconds(seconds: f64) -> u64 {
    (seconds * SECOND as f64).round() as u64
}

/// Nanoseconds as seconds.
pub fn to_seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / SECOND as f64
}

/// How much time the core clocks so far have taken.
#[derive(Clone, Copy, Debug, Default)]
pub struct Elapsed {
    clock: u64,
    nanoseconds: u64,
    /// Clocks times 10^9 that make no whole nanosecond yet.
    remainder: u64,
}

impl Elapsed {
    /// Counts up to core clock `now`, at `hz` since the last call.
    pub fn count(&mut self, now: u64, hz: u64) {
        let scaled = u128::from(now - self.clock) * u128::from(SECOND) + u128::from(self.remainder);
        let hz = u128::from(hz.max(1));
        self.nanoseconds += (scaled / hz) as u64;
        self.remainder = (scaled % hz) as u64;
        self.clock = now;
    }

    /// Nanoseconds since power-on.
    pub fn nanoseconds(&self) -> u64 {
        self.nanoseconds
    }

    /// Core clocks at `hz` until that time, at least one.
    pub fn clocks_until(&self, nanoseconds: u64, hz: u64) -> u64 {
        let left = u128::from(nanoseconds.saturating_sub(self.nanoseconds));
        let clocks = (left * u128::from(hz)).div_ceil(u128::from(SECOND));
        u64::try_from(clocks).unwrap_or(u64::MAX).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_clock_is_lost_between_calls() {
        let mut elapsed = Elapsed::default();
        for clock in 1..=132_000 {
            elapsed.count(clock, 132_000_000);
        }
        assert_eq!(elapsed.nanoseconds(), 1_000_000);
        assert_eq!(elapsed.clocks_until(2_000_000, 132_000_000), 132_000);
        assert_eq!(elapsed.clocks_until(0, 132_000_000), 1);
        // Half the frequency from here on.
        elapsed.count(132_000 + 66_000, 66_000_000);
        assert_eq!(elapsed.nanoseconds(), 2_000_000);
    }
}
