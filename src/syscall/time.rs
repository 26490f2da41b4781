//! clock_gettime, gettimeofday, times.
#![forbid(unsafe_code)]

use super::user::put_words;
use super::{enter, result};
use crate::arch::ppc::accounting;
use crate::errno::Errno;
use crate::measure::clock::{self, NANOSECONDS, TICK_HZ};
use crate::policy::General;

/// Clocks: realtime (0), monotonic (1), raw (4), coarse (5, 6), boot (7), all of which count from the start of the time
/// base, since no board here has a calendar; and the processor time of the program (2, 3).
pub(super) extern "C" fn sys_clock_gettime(id: u32, address: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    enter::<General>();
    let get = || {
        let now = match id {
            0 | 1 | 4..=7 => clock::now(),
            2 | 3 => {
                let times = accounting::times();
                clock::to_time(times.user + times.system, clock::timebase_hz())
            }
            _ => return Err(Errno::EINVAL),
        };
        put_words::<2>(address, [now.seconds, now.nanoseconds])?;
        Ok(0)
    };
    result(get())
}

pub(super) extern "C" fn sys_gettimeofday(time: u32, zone: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    enter::<General>();
    let get = || {
        let now = clock::now();
        if time != 0 {
            put_words::<2>(time, [now.seconds, now.nanoseconds / 1000])?;
        }
        if zone != 0 {
            put_words::<2>(zone, [0, 0])?;
        }
        Ok(0)
    };
    result(get())
}

/// `struct tms`: user, system, and the children's, in clock ticks. Returns the ticks since the start.
pub(super) extern "C" fn sys_times(address: u32, _: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    enter::<General>();
    let get = || {
        let times = accounting::times();
        let ticks = |timebase: u64| {
            let time = clock::to_time(timebase, clock::timebase_hz());
            time.seconds
                .wrapping_mul(TICK_HZ)
                .wrapping_add(time.nanoseconds / (NANOSECONDS as u32 / TICK_HZ))
        };
        let (user, system) = (ticks(times.user), ticks(times.system));
        if address != 0 {
            put_words::<4>(address, [user, system, 0, 0])?;
        }
        let now = clock::now();
        Ok(now
            .seconds
            .wrapping_mul(TICK_HZ)
            .wrapping_add(now.nanoseconds / (NANOSECONDS as u32 / TICK_HZ)))
    };
    result(get())
}

/// `struct rusage`: user and system time in seconds and microseconds, from the same sums as `times`; the other fields,
/// which count what does not happen here, are 0. For the program or its thread; children there are none.
pub(super) extern "C" fn sys_getrusage(who: u32, address: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    const SELF: u32 = 0;
    const THREAD: u32 = 1;
    const CHILDREN: u32 = -1i32 as u32;
    enter::<General>();
    let get = || {
        let mut words = [0; 18];
        match who {
            SELF | THREAD => {
                let times = accounting::times();
                for (field, timebase) in words.chunks_mut(2).zip([times.user, times.system]) {
                    let time = clock::to_time(timebase, clock::timebase_hz());
                    field.copy_from_slice(&[time.seconds, time.nanoseconds / 1000]);
                }
            }
            CHILDREN => {}
            _ => return Err(Errno::EINVAL),
        }
        put_words(address, words)?;
        Ok(0)
    };
    result(get())
}
