//! What the mails argue about, as types: each axis is a zero-sized type, so each combination is its own machine code, as a
//! kernel configuration would give.
//!
//! A [`Policy`] names one value for every axis. A preset is a policy with a name; it owns a system call table, and choosing
//! it is one pointer (`syscall::PRESETS`).
#![forbid(unsafe_code)]

use crate::uaccess::limit;

/// A value of an axis, as the console names it.
pub trait Axis {
    /// Name on the console.
    const NAME: &'static str;
}

macro_rules! values {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => { $(
        $(#[$doc])*
        pub struct $name;
        impl Axis for $name {
            const NAME: &'static str = $text;
        }
    )* };
}

values! {
    /// A per-thread `addr_limit`, which `set_fs` changes (Linux up to 5.9; `CONFIG_SET_FS` after patch 3).
    SetFs = "set_fs";
    /// A constant limit: no `addr_limit` exists.
    NoSetFs = "no-set_fs";
    /// The 32-bit style of the powerpc kernel: the sum is never computed, so nothing can wrap.
    Check32 = "check32";
    /// The 64-bit style: address and size are each compared with the limit. Both comparisons can hold although the range
    /// reaches beyond the limit, so this is sound only because nothing is mapped for user code in the gap above it, as
    /// wide as user space itself: 0x8000_0000 to 0xBFFF_FFFF is nobody's, and the copy faults there.
    Check64 = "check64";
    /// The window is closed unless a copy needs it (`CONFIG_PPC_KUAP`).
    Kuap = "kuap";
    /// User memory is always within the kernel's reach.
    NoKuap = "no-kuap";
    /// Whole cache lines by `dcbz`.
    Dcbz = "dcbz";
    /// Words.
    Words = "words";
    /// Single bytes.
    Bytes = "bytes";
    /// A machine-check-safe copy runs the engine that the static branch chooses.
    OneEngine = "copy_mc";
    /// The `else` behind the careful engine is missing: the fast engine copies everything again (the regression that the
    /// mails found).
    BothEngines = "copy_mc-bug";
    /// No counters on the measured path.
    Uncounted = "uncounted";
    /// Bytes and windows are counted; `counters` prints them.
    Counted = "counted";
}

/// Where the limit of user addresses comes from.
pub trait AddressLimit: Axis {
    /// Whether `set_fs` exists, so that a range may lie in the kernel.
    const HAS_SET_FS: bool;
    /// Last address that may be accessed (not one past it), as `USER_DS.seg` in Linux 5.9.
    fn limit() -> u32;
}

impl AddressLimit for SetFs {
    const HAS_SET_FS: bool = true;
    #[inline(always)]
    fn limit() -> u32 {
        limit::get_fs().last()
    }
}

impl AddressLimit for NoSetFs {
    const HAS_SET_FS: bool = false;
    #[inline(always)]
    fn limit() -> u32 {
        limit::USER_DS.last()
    }
}

/// An unsigned machine word; the range checks are written once for all widths, so that they can be proved on 8 bits.
pub trait Word: Copy + PartialOrd {
    /// 0.
    const ZERO: Self;
    /// One less; not called with 0.
    fn decrement(self) -> Self;
    /// The difference; not called with a larger subtrahend.
    fn minus(self, other: Self) -> Self;
}

macro_rules! word {
    ($($type:ty)*) => { $(
        impl Word for $type {
            const ZERO: Self = 0;
            #[inline(always)]
            fn decrement(self) -> Self {
                self.wrapping_sub(1)
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
        }
    )* };
}
word!(u8 u32);

/// How a range is compared with the limit.
pub trait RangeCheck: Axis {
    /// Whether `[address, address + size)` may be accessed when `limit` is the last address. Size 0 checks the address
    /// alone.
    fn range_ok<W: Word>(address: W, size: W, limit: W) -> bool;
}

impl RangeCheck for Check32 {
    #[inline(always)]
    fn range_ok<W: Word>(address: W, size: W, limit: W) -> bool {
        address <= limit && (size == W::ZERO || size.decrement() <= limit.minus(address))
    }
}

impl RangeCheck for Check64 {
    #[inline(always)]
    fn range_ok<W: Word>(address: W, size: W, limit: W) -> bool {
        address <= limit && size <= limit
    }
}

/// Whether user memory is out of the kernel's reach outside an open window.
pub trait WindowControl: Axis {
    /// Whether windows are opened and closed at all.
    const ENABLED: bool;
}

impl WindowControl for Kuap {
    const ENABLED: bool = true;
}

impl WindowControl for NoKuap {
    const ENABLED: bool = false;
}

/// How `clear_user` clears.
pub trait ClearEngine: Axis {
    /// Which routine.
    const ENGINE: Engine;
}

/// The routines behind `clear_user`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// `__arch_clear_user`.
    Dcbz,
    /// `__clear_user_words`.
    Words,
    /// `__clear_user_bytes`.
    Bytes,
}

impl ClearEngine for Dcbz {
    const ENGINE: Engine = Engine::Dcbz;
}

impl ClearEngine for Words {
    const ENGINE: Engine = Engine::Words;
}

impl ClearEngine for Bytes {
    const ENGINE: Engine = Engine::Bytes;
}

/// Which engines a machine-check-safe copy runs.
pub trait CopyMachineCheck: Axis {
    /// Whether the fast engine runs after the careful one, instead of without it.
    const IS_ELSE_MISSING: bool;
}

impl CopyMachineCheck for OneEngine {
    const IS_ELSE_MISSING: bool = false;
}

impl CopyMachineCheck for BothEngines {
    const IS_ELSE_MISSING: bool = true;
}

/// Whether the debug counters run.
pub trait Counting: Axis {
    /// Whether they run.
    const ENABLED: bool;
}

impl Counting for Uncounted {
    const ENABLED: bool = false;
}

impl Counting for Counted {
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
    /// `clear_user`.
    type Clear: ClearEngine;
    /// `copy_mc_to_user`, `copy_mc_to_kernel`.
    type CopyMc: CopyMachineCheck;
    /// Debug counters.
    type Count: Counting;
    /// Names of the values, in the order of design and table.
    const AXES: [&'static str; 6] = [
        <Self::Limit as Axis>::NAME,
        <Self::Check as Axis>::NAME,
        <Self::Window as Axis>::NAME,
        <Self::Clear as Axis>::NAME,
        <Self::CopyMc as Axis>::NAME,
        <Self::Count as Axis>::NAME,
    ];
}

macro_rules! presets {
    ($(
        $type:ident $name:literal $reason:literal:
            $limit:ident $check:ident $window:ident $clear:ident $copy_mc:ident $count:ident;
    )*) => { $(
        #[doc = $reason]
        pub struct $type;
        impl Policy for $type {
            const NAME: &'static str = $name;
            const REASON: &'static str = $reason;
            type Limit = $limit;
            type Check = $check;
            type Window = $window;
            type Clear = $clear;
            type CopyMc = $copy_mc;
            type Count = $count;
        }
    )* };
}

presets! {
    Fast "fast" "everything tuned": NoSetFs Check32 Kuap Dcbz OneEngine Uncounted;
    Debug "debug" "fast with byte and window counters": NoSetFs Check32 Kuap Dcbz OneEngine Counted;
    FastSetFs "fast-set_fs" "fast with a per-thread addr_limit": SetFs Check32 Kuap Dcbz OneEngine Uncounted;
    FastCheck64 "fast-check64" "fast with the 64-bit style of access_ok": NoSetFs Check64 Kuap Dcbz OneEngine Uncounted;
    FastNoKuap "fast-no-kuap" "fast without the user-access window": NoSetFs Check32 NoKuap Dcbz OneEngine Uncounted;
    FastWords "fast-words" "fast, clearing by words": NoSetFs Check32 Kuap Words OneEngine Uncounted;
    FastBytes "fast-bytes" "fast, clearing by bytes": NoSetFs Check32 Kuap Bytes OneEngine Uncounted;
    CopyMcBug "copy-mc-bug" "fast, machine-check-safe copies without the else": NoSetFs Check32 Kuap Dcbz BothEngines Uncounted;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::TASK_SIZE;

    /// What the check promises, in arithmetic that cannot wrap.
    fn inside(address: u64, size: u64, limit: u64) -> bool {
        address <= limit && (size == 0 || address + size - 1 <= limit)
    }

    #[test]
    fn check32_is_right_for_every_limit_address_and_size_of_8_bits() {
        let mut count = 0;
        for limit in 0..=u8::MAX {
            for address in 0..=u8::MAX {
                for size in 0..=u8::MAX {
                    let expected = inside(address.into(), size.into(), limit.into());
                    assert_eq!(
                        Check32::range_ok(address, size, limit),
                        expected,
                        "({address}, {size}) up to {limit}"
                    );
                    count += 1;
                }
            }
        }
        assert_eq!(count, 1 << 24);
    }

    /// The gap must be as wide as user space: what `Check64` lets through beyond the limit ends within it, or starts in it.
    #[test]
    fn check64_is_right_up_to_a_gap_as_wide_as_the_limit_for_all_of_8_bits() {
        for limit in 0..=u8::MAX {
            for address in 0..=u8::MAX {
                for size in 0..=u8::MAX {
                    let answer = Check64::range_ok(address, size, limit);
                    let (a, s, l) = (u64::from(address), u64::from(size), u64::from(limit));
                    if inside(a, s, l) && s <= l {
                        assert!(answer, "({a}, {s}) up to {l} refused");
                    }
                    if answer {
                        assert!(
                            a <= l && (s == 0 || a + s - 1 < 2 * l + 1),
                            "({a}, {s}) up to {l} beyond the gap"
                        );
                    }
                }
            }
        }
    }

    // U-001
    #[test]
    fn user_limit_gives_the_limit_tables_answers_with_and_without_set_fs() {
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
            assert_eq!(
                Check32::range_ok(address, size, SetFs::limit()),
                expected,
                "({address:#x}, {size:#x})"
            );
        }
    }

    // U-002
    #[test]
    fn kernel_limit_admits_the_kernel_and_still_does_not_wrap() {
        let limit = limit::KERNEL_DS.last();
        let table = [
            (0xc000_0000u32, 16u32, true),
            (0xffff_ffff, 0, true),
            (0xffff_ffff, 1, true),
            (0xffff_ffff, 2, false),
            (0xffff_f000, 0x1000, true),
            (0xffff_f000, 0x1001, false),
            (0, 0xffff_ffff, true),
        ];
        for (address, size, expected) in table {
            assert_eq!(
                Check32::range_ok(address, size, limit),
                expected,
                "({address:#x}, {size:#x})"
            );
        }
    }
}
