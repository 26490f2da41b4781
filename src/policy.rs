//! What the mails argue about, as types: each axis is a zero-sized type, so each combination is its own machine code, as a
//! kernel configuration would give.
//!
//! A [`Policy`] names one value for every axis. A preset (`syscall::presets`) is a name for a policy and a reason for it.
//! Only the calls on the measured path exist once per policy; all others are compiled once, for [`General`], which asks
//! at run time for what the preset in force has.
#![forbid(unsafe_code)]

use crate::uaccess::limit;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicBool, Ordering};

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
    /// As the preset in force has it, found out at run time.
    AsChosen = "as-chosen";
    /// `/dev/zero` has a plain `read` beside its `read_iter` (patch 11).
    Read = "read";
    /// `/dev/zero` has `read_iter` alone.
    ReadIter = "read_iter";
    /// `/dev/null` has a plain `write` beside its `write_iter`.
    Write = "write";
    /// `/dev/null` has `write_iter` alone (patch 1, first version).
    WriteIter = "write_iter";
    /// The layers between call and device as the kernel has them.
    Linux = "linux";
    /// The least that is correct between call and device.
    Direct = "direct";
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
    /// Whether what passes lies within the limit to its last byte.
    const IS_EXACT: bool;
    /// Whether `[address, address + size)` may be accessed when `limit` is the last address. Size 0 checks the address
    /// alone.
    fn range_ok<W: Word>(address: W, size: W, limit: W) -> bool;
}

impl RangeCheck for Check32 {
    const IS_EXACT: bool = true;
    #[inline(always)]
    fn range_ok<W: Word>(address: W, size: W, limit: W) -> bool {
        address <= limit && (size == W::ZERO || size.decrement() <= limit.minus(address))
    }
}

impl RangeCheck for Check64 {
    const IS_EXACT: bool = false;
    #[inline(always)]
    fn range_ok<W: Word>(address: W, size: W, limit: W) -> bool {
        address <= limit && size <= limit
    }
}

/// Whether user memory is out of the kernel's reach outside an open window.
pub trait WindowControl: Axis {
    /// Whether windows are opened and closed at all.
    fn is_enabled() -> bool;
}

impl WindowControl for Kuap {
    #[inline(always)]
    fn is_enabled() -> bool {
        true
    }
}

impl WindowControl for NoKuap {
    #[inline(always)]
    fn is_enabled() -> bool {
        false
    }
}

impl WindowControl for AsChosen {
    fn is_enabled() -> bool {
        HAS_KUAP.load(Ordering::Relaxed)
    }
}

static HAS_KUAP: AtomicBool = AtomicBool::new(true);
static IS_COUNTED: AtomicBool = AtomicBool::new(false);

/// Tells [`General`] what the preset in force has.
pub fn set_chosen<P: Policy>() {
    HAS_KUAP.store(P::Window::is_enabled(), Ordering::Relaxed);
    IS_COUNTED.store(P::Count::is_enabled(), Ordering::Relaxed);
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
    fn is_enabled() -> bool;
}

impl Counting for Uncounted {
    #[inline(always)]
    fn is_enabled() -> bool {
        false
    }
}

impl Counting for Counted {
    #[inline(always)]
    fn is_enabled() -> bool {
        true
    }
}

impl Counting for AsChosen {
    fn is_enabled() -> bool {
        IS_COUNTED.load(Ordering::Relaxed)
    }
}

/// How `/dev/zero` is read.
pub trait ZeroDevice: Axis {
    /// Whether it has a plain `read`.
    const HAS_READ: bool;
}

impl ZeroDevice for Read {
    const HAS_READ: bool = true;
}

impl ZeroDevice for ReadIter {
    const HAS_READ: bool = false;
}

/// How `/dev/null` is written.
pub trait NullDevice: Axis {
    /// Whether it has a plain `write`.
    const HAS_WRITE: bool;
}

impl NullDevice for Write {
    const HAS_WRITE: bool = true;
}

impl NullDevice for WriteIter {
    const HAS_WRITE: bool = false;
}

/// The weight of the layers between call and device.
pub trait Layers: Axis {
    /// Whether they are those of the kernel.
    const ARE_LINUX: bool;
}

impl Layers for Linux {
    const ARE_LINUX: bool = true;
}

impl Layers for Direct {
    const ARE_LINUX: bool = false;
}

/// Axes of a [`Policy`].
pub const AXES: [&str; 9] = [
    "address limit",
    "range check",
    "zero device",
    "null device",
    "window",
    "clear",
    "copy_mc",
    "layers",
    "counters",
];

/// One value for every axis.
pub trait Policy: 'static {
    /// Address limit.
    type Limit: AddressLimit;
    /// Range check.
    type Check: RangeCheck;
    /// `/dev/zero`.
    type Zero: ZeroDevice;
    /// `/dev/null`.
    type Null: NullDevice;
    /// User-access window.
    type Window: WindowControl;
    /// `clear_user`.
    type Clear: ClearEngine;
    /// `copy_mc_to_user`, `copy_mc_to_kernel`.
    type CopyMc: CopyMachineCheck;
    /// Layers between call and device.
    type Layers: Layers;
    /// Debug counters.
    type Count: Counting;
    /// Names of the values, in the order of [`AXES`].
    const VALUES: [&'static str; AXES.len()] = [
        <Self::Limit as Axis>::NAME,
        <Self::Check as Axis>::NAME,
        <Self::Zero as Axis>::NAME,
        <Self::Null as Axis>::NAME,
        <Self::Window as Axis>::NAME,
        <Self::Clear as Axis>::NAME,
        <Self::CopyMc as Axis>::NAME,
        <Self::Layers as Axis>::NAME,
        <Self::Count as Axis>::NAME,
    ];
}

/// The policy of user access alone: what its other axes say does not matter there, so presets that agree in these five
/// share machine code where they can.
pub struct Access<L, C, W, E, N>(PhantomData<(L, C, W, E, N)>);

impl<L, C, W, E, N> Policy for Access<L, C, W, E, N>
where
    L: AddressLimit + 'static,
    C: RangeCheck + 'static,
    W: WindowControl + 'static,
    E: ClearEngine + 'static,
    N: Counting + 'static,
{
    type Limit = L;
    type Check = C;
    type Zero = Read;
    type Null = Write;
    type Window = W;
    type Clear = E;
    type CopyMc = OneEngine;
    type Layers = Direct;
    type Count = N;
}

macro_rules! policies {
    ($(
        $(#[$doc:meta])*
        $type:ident: $limit:ident $check:ident $zero:ident $null:ident $window:ident $clear:ident $copy_mc:ident
            $layers:ident $count:ident;
    )*) => { $(
        $(#[$doc])*
        pub struct $type;
        impl Policy for $type {
            type Limit = $limit;
            type Check = $check;
            type Zero = $zero;
            type Null = $null;
            type Window = $window;
            type Clear = $clear;
            type CopyMc = $copy_mc;
            type Layers = $layers;
            type Count = $count;
        }
    )* };
}

policies! {
    /// What all presets share off the measured path. The limit is the user's wherever the preset has no `set_fs`.
    General: SetFs Check32 Read Write AsChosen Dcbz OneEngine Direct AsChosen;
    /// Linux 5.9-rc2.
    Linux59: SetFs Check32 ReadIter Write Kuap Dcbz OneEngine Linux Uncounted;
    /// Without `set_fs`.
    Linux59NoSetFs: NoSetFs Check32 ReadIter Write Kuap Dcbz OneEngine Linux Uncounted;
    /// Without plain operations.
    LinuxIter: SetFs Check32 ReadIter WriteIter Kuap Dcbz OneEngine Linux Uncounted;
    /// Without `set_fs` and plain operations.
    LinuxNoSetFs: NoSetFs Check32 ReadIter WriteIter Kuap Dcbz OneEngine Linux Uncounted;
    /// With the plain read back.
    LinuxRead: NoSetFs Check32 Read WriteIter Kuap Dcbz OneEngine Linux Uncounted;
    /// Everything tuned.
    Fast: NoSetFs Check32 Read Write Kuap Dcbz OneEngine Direct Uncounted;
    /// With counters.
    Debug: NoSetFs Check32 Read Write Kuap Dcbz OneEngine Direct Counted;
    /// With a per-thread limit.
    FastSetFs: SetFs Check32 Read Write Kuap Dcbz OneEngine Direct Uncounted;
    /// With the 64-bit style of the range check.
    FastCheck64: NoSetFs Check64 Read Write Kuap Dcbz OneEngine Direct Uncounted;
    /// With `read_iter` alone.
    FastReadIter: NoSetFs Check32 ReadIter Write Kuap Dcbz OneEngine Direct Uncounted;
    /// With `write_iter` alone.
    FastWriteIter: NoSetFs Check32 Read WriteIter Kuap Dcbz OneEngine Direct Uncounted;
    /// Without a window.
    FastNoKuap: NoSetFs Check32 Read Write NoKuap Dcbz OneEngine Direct Uncounted;
    /// Clearing by words.
    FastWords: NoSetFs Check32 Read Write Kuap Words OneEngine Direct Uncounted;
    /// Clearing by bytes.
    FastBytes: NoSetFs Check32 Read Write Kuap Bytes OneEngine Direct Uncounted;
    /// With the kernel's layers.
    FastLinux: NoSetFs Check32 Read Write Kuap Dcbz OneEngine Linux Uncounted;
    /// Without the `else`.
    CopyMcBug: NoSetFs Check32 Read Write Kuap Dcbz BothEngines Direct Uncounted;
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
