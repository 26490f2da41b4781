//! clock_gettime, gettimeofday, times.
#![forbid(unsafe_code)]

use super::{enter, result};
use crate::addr::UserAddr;
use crate::arch::ppc::accounting;
use crate::errno::Errno;
use crate::measure::clock::{self, NANOSECONDS, TICK_HZ};
use crate::policy::General;
use crate::uaccess::{access_ok, copy_to_user};

fn put_words<const N: usize>(address: u32, words: [u32; N]) -> Result<(), Errno> {
    let range = access_ok::<General>(UserAddr::new(address), N as u32 * 4)?;
    let mut image = [[0u8; 4]; N];
    for (slot, word) in image.iter_mut().zip(words) {
        *slot = word.to_be_bytes();
    }
    if copy_to_user::<General>(&range, image.as_flattened()).is_done() {
        Ok(())
    } else {
        Err(Errno::EFAULT)
    }
}

/// Clocks: realtime (0), monotonic (1), raw (4), coarse (5, 6), boot (7); all count from the start of the time base,
/// since no board here has a calendar.
pub(super) extern "C" fn sys_clock_gettime(id: u32, address: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    enter::<General>();
    let get = || {
        if !matches!(id, 0 | 1 | 4..=7) {
            return Err(Errno::EINVAL);
        }
        let now = clock::now();
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
