//! The window around a copy: opened by name, closed on drop, so that no path leaks it.
#![forbid(unsafe_code)]

use super::{UserRange, counters};
use crate::addr::TASK_SIZE;
use crate::arch::window;
use crate::errno::Errno;
use crate::policy::{AddressLimit, Counting, Policy, RangeCheck, WindowControl};
use core::marker::PhantomData;

/// Which accesses a window admits. Families that cannot tell directions apart admit both in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The kernel loads from user memory.
    Read,
    /// The kernel stores to user memory.
    Write,
    /// Both.
    ReadWrite,
}

/// Proof that the window is open over a non-empty range. Private to user access: nothing but leaf assembly runs while one
/// lives, so two cannot nest.
pub(super) struct Window<'a, P: Policy> {
    range: &'a UserRange,
    policy: PhantomData<P>,
}

/// Whether a range is the kernel's own, which only `set_fs` can have let through; no window is needed then.
#[inline(always)]
fn is_kernel_range<P: Policy>(range: &UserRange) -> bool {
    P::Limit::HAS_SET_FS && range.start() >= TASK_SIZE
}

/// Bytes of a range that begins in user space which the window may cover: none of the kernel's.
#[inline(always)]
fn user_part<P: Policy>(range: &UserRange) -> u32 {
    if P::Check::IS_EXACT && !P::Limit::HAS_SET_FS {
        range.len()
    } else {
        range.len().min(TASK_SIZE - range.start())
    }
}

impl<'a, P: Policy> Window<'a, P> {
    #[inline(always)]
    pub(super) fn open(range: &'a UserRange, direction: Direction) -> Self {
        if P::Window::is_enabled() && !is_kernel_range::<P>(range) {
            if P::Count::is_enabled() {
                counters().opened(window::is_open());
            }
            window::open(range.start(), user_part::<P>(range), direction != Direction::Read);
        }
        Self {
            range,
            policy: PhantomData,
        }
    }

    #[inline(always)]
    pub(super) fn start(&self) -> u32 {
        self.range.start()
    }
}

impl<P: Policy> Drop for Window<'_, P> {
    #[inline(always)]
    fn drop(&mut self) {
        if P::Window::is_enabled() && !is_kernel_range::<P>(self.range) {
            window::close();
        }
    }
}

/// A block of single accesses under one window (`user_access_begin` to `user_access_end`).
pub struct UserAccess<'a, P: Policy> {
    window: Window<'a, P>,
}

/// Opens the window over `range` for a block of accesses; it closes when the result is dropped, also on the way out with
/// `?`. Nothing that may itself copy to or from user memory may run inside.
///
/// # Errors
/// `EFAULT` for an empty range; `EBUSY`-like nesting is reported as `EINVAL` and the outer window stays as it is.
pub fn user_access_begin<P: Policy>(range: &UserRange, direction: Direction) -> Result<UserAccess<'_, P>, Errno> {
    if range.is_empty() {
        return Err(Errno::EFAULT);
    }
    if P::Window::is_enabled() && window::is_open() {
        counters().nested();
        return Err(Errno::EINVAL);
    }
    Ok(UserAccess {
        window: Window::open(range, direction),
    })
}

impl<P: Policy> UserAccess<'_, P> {
    fn at<T>(&self, offset: u32) -> Result<u32, Errno> {
        let range = self.window.range;
        let end = offset.checked_add(size_of::<T>() as u32);
        if end.is_some_and(|end| end <= range.len()) {
            Ok(range.start() + offset)
        } else {
            Err(Errno::EFAULT)
        }
    }

    /// Reads an integer at a byte offset in the range.
    ///
    /// # Errors
    /// `EFAULT` outside the range or after a fault.
    pub fn get<T: super::UserInt>(&self, offset: u32) -> Result<T, Errno> {
        T::get(self.at::<T>(offset)?).ok_or(Errno::EFAULT)
    }

    /// Writes an integer at a byte offset in the range.
    ///
    /// # Errors
    /// `EFAULT` outside the range or after a fault.
    pub fn put<T: super::UserInt>(&self, offset: u32, value: T) -> Result<(), Errno> {
        if T::put(self.at::<T>(offset)?, value) {
            Ok(())
        } else {
            Err(Errno::EFAULT)
        }
    }
}
