//! What the mails argue about, as types: each axis is a zero-sized type, so each combination is its own machine code, as a
//! kernel configuration would give.
//!
//! A [`Policy`] names one value for every axis. A preset is a policy with a name; it owns a system call table, and choosing
//! it is one pointer (`syscall::PRESETS`).
#![forbid(unsafe_code)]

use crate::addr::TASK_SIZE;

/// Where the limit of user addresses comes from.
pub trait AddressLimit {
    /// Name on the console.
    const NAME: &'static str;
    /// Last user address (not one past it), as `USER_DS.seg` in Linux 5.9.
    fn limit() -> u32;
}

/// A constant limit: no per-thread `addr_limit` exists.
pub struct NoSetFs;

impl AddressLimit for NoSetFs {
    const NAME: &'static str = "no-set_fs";
    #[inline(always)]
    fn limit() -> u32 {
        TASK_SIZE - 1
    }
}

/// How a range is compared with the limit.
pub trait RangeCheck {
    /// Name on the console.
    const NAME: &'static str;
    /// Whether `[address, address + size)` ends at or below `limit`, which is the last user address.
    fn range_ok(address: u32, size: u32, limit: u32) -> bool;
}

/// The 32-bit style of the powerpc kernel: the sum is never computed, so nothing can wrap.
pub struct Check32;

impl RangeCheck for Check32 {
    const NAME: &'static str = "check32";
    #[inline(always)]
    fn range_ok(address: u32, size: u32, limit: u32) -> bool {
        address <= limit && (size == 0 || size - 1 <= limit - address)
    }
}

/// Whether user memory is out of the kernel's reach outside an open window.
pub trait WindowControl {
    /// Name on the console.
    const NAME: &'static str;
    /// Whether windows are opened and closed at all.
    const ENABLED: bool;
}

/// The window is closed unless a copy needs it (`CONFIG_PPC_KUAP`).
pub struct Kuap;

impl WindowControl for Kuap {
    const NAME: &'static str = "kuap";
    const ENABLED: bool = true;
}

/// Whether the debug counters run.
pub trait Counting {
    /// Name on the console.
    const NAME: &'static str;
    /// Whether they run.
    const ENABLED: bool;
}

/// No counters on the measured path.
pub struct Uncounted;

impl Counting for Uncounted {
    const NAME: &'static str = "uncounted";
    const ENABLED: bool = false;
}

/// Bytes and windows are counted; `counters` prints them.
pub struct Counted;

impl Counting for Counted {
    const NAME: &'static str = "counted";
    const ENABLED: bool = true;
}

/// One value for every axis.
pub trait Policy: 'static {
    /// Name of the preset.
    const NAME: &'static str;
    /// Why it exists, in a line.
    const REASON: &'static str;
    /// Address limit.
    type Limit: AddressLimit;
    /// Range check.
    type Check: RangeCheck;
    /// User-access window.
    type Window: WindowControl;
    /// Debug counters.
    type Count: Counting;
}

/// Everything tuned: the default.
pub struct Fast;

impl Policy for Fast {
    const NAME: &'static str = "fast";
    const REASON: &'static str = "everything tuned";
    type Limit = NoSetFs;
    type Check = Check32;
    type Window = Kuap;
    type Count = Uncounted;
}

/// `fast` with the debug counters running.
pub struct Debug;

impl Policy for Debug {
    const NAME: &'static str = "debug";
    const REASON: &'static str = "fast with byte and window counters";
    type Limit = NoSetFs;
    type Check = Check32;
    type Window = Kuap;
    type Count = Counted;
}

#[cfg(test)]
mod tests {
    use super::*;

    // U-001
    #[test]
    fn range_check_gives_the_limit_tables_answers() {
        let ts = TASK_SIZE;
        let table = [
            (0, 0, true),
            (0, 1, true),
            (ts - 1, 0, true),
            (ts - 1, 1, true),
            (ts - 1, 2, false),
            (ts, 0, false),
            (ts, 1, false),
            (0, ts, true),
            (0, ts + 1, false),
            (1, ts, false),
            (1, ts - 1, true),
            (0xffff_ffff, 0, false),
            (0xffff_ffff, 1, false),
            (0xffff_f000, 0x1000, false),
            (0xffff_f000, 0x2000, false),
            (1, 0xffff_ffff, false),
            (0x1000, 0xffff_f000, false),
        ];
        for (address, size, expected) in table {
            assert_eq!(
                Check32::range_ok(address, size, NoSetFs::limit()),
                expected,
                "({address:#x}, {size:#x})"
            );
        }
    }
}
