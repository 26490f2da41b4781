//! The address limit of the running thread (`set_fs`), for policies that have one.
//!
//! Kernel entry saves the limit of what it interrupts and sets the user limit, return restores it; a program's start and
//! end, and every recovered fault, reset it. Policies without `set_fs` never look at it.
#![forbid(unsafe_code)]

use crate::addr::TASK_SIZE;
use core::sync::atomic::{AtomicU32, Ordering};

/// A limit: the last address that user-access functions may touch (`mm_segment_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MmSegment(u32);

impl MmSegment {
    /// The last address.
    #[inline(always)]
    pub const fn last(self) -> u32 {
        self.0
    }
}

/// User space.
pub const USER_DS: MmSegment = MmSegment(TASK_SIZE - 1);
/// Everything.
pub const KERNEL_DS: MmSegment = MmSegment(u32::MAX);

#[cfg(target_os = "none")]
static ADDR_LIMIT: AtomicU32 = AtomicU32::new(USER_DS.0);
#[cfg(not(target_os = "none"))]
std::thread_local! {
    static ADDR_LIMIT: AtomicU32 = const { AtomicU32::new(USER_DS.0) };
}

/// The running thread's limit; the kernel has one thread, the tests of the host have many.
#[inline(always)]
fn with_addr_limit<R>(action: impl FnOnce(&AtomicU32) -> R) -> R {
    #[cfg(target_os = "none")]
    return action(&ADDR_LIMIT);
    #[cfg(not(target_os = "none"))]
    ADDR_LIMIT.with(action)
}

/// The limit in force.
#[inline(always)]
pub fn get_fs() -> MmSegment {
    MmSegment(with_addr_limit(|limit| limit.load(Ordering::Relaxed)))
}

/// Puts a limit in force until the next `set_fs`, kernel entry or recovered fault.
#[inline(always)]
pub fn set_fs(segment: MmSegment) {
    with_addr_limit(|limit| limit.store(segment.0, Ordering::Relaxed));
}

/// Whether user-access functions reach the kernel's own memory now.
pub fn uaccess_kernel() -> bool {
    get_fs() == KERNEL_DS
}

/// The user limit for as long as this lives, whatever was in force (`force_uaccess_begin` to `force_uaccess_end`).
pub struct ForceUaccess(MmSegment);

/// Begins a section with the user limit.
#[must_use = "the section ends when this is dropped"]
pub fn force_uaccess_begin() -> ForceUaccess {
    let before = get_fs();
    set_fs(USER_DS);
    ForceUaccess(before)
}

impl Drop for ForceUaccess {
    fn drop(&mut self) {
        set_fs(self.0);
    }
}
