//! From the array that user code passes to checked segments (`import_iovec`).
#![forbid(unsafe_code)]

use super::{IovIter, MAX_RW_COUNT, Side};
use crate::addr::UserAddr;
use crate::errno::Errno;
use crate::policy::Policy;
use crate::uaccess::{Direction, UserRange, access_ok, user_access_begin};
use alloc::vec::Vec;

/// Most entries of an array (include/uapi/linux/uio.h).
pub const UIO_MAXIOV: u32 = 1024;

/// Entries that need no heap.
const UIO_FASTIOV: usize = 8;

/// Bytes of a `struct iovec`: base, length.
const ENTRY: u32 = 8;

/// The checked copy of an array.
pub struct IovecArray {
    few: [UserRange; UIO_FASTIOV],
    many: Vec<UserRange>,
    length: usize,
    total: u32,
}

impl Default for IovecArray {
    fn default() -> Self {
        Self {
            few: [UserRange::EMPTY; UIO_FASTIOV],
            many: Vec::new(),
            length: 0,
            total: 0,
        }
    }
}

impl IovecArray {
    /// An iterator over all of it.
    pub fn iter<S: Side>(&self) -> IovIter<'_, S> {
        IovIter::vector_of(self.segments(), self.total)
    }

    /// Its segments.
    pub fn segments(&self) -> &[UserRange] {
        if self.length <= UIO_FASTIOV {
            &self.few[..self.length]
        } else {
            &self.many
        }
    }
}

/// Copies `count` entries from user memory to `array` and checks each range; what exceeds [`MAX_RW_COUNT`] in sum is cut
/// off.
///
/// # Errors
/// `EINVAL` for more than 1024 entries or a length with the sign bit, `EFAULT` for an array that cannot be read, then
/// for a range outside user space, empty ones included.
#[inline(never)]
pub fn import_iovec<P: Policy>(array: &mut IovecArray, address: UserAddr, count: u32) -> Result<(), Errno> {
    if count > UIO_MAXIOV {
        return Err(Errno::EINVAL);
    }
    array.length = count as usize;
    array.total = 0;
    if count == 0 {
        return Ok(());
    }
    let slots = if array.length <= UIO_FASTIOV {
        &mut array.few[..array.length]
    } else {
        array.many.resize(array.length, UserRange::EMPTY);
        &mut array.many
    };
    let range = access_ok::<P>(address, count * ENTRY)?;
    // The array must be readable as a whole before any entry is judged, and no length may be negative before any range is.
    let (mut is_length_bad, mut is_range_bad) = (false, false);
    let mut total = 0;
    let entries = user_access_begin::<P>(&range, Direction::Read)?;
    for (slot, offset) in slots.iter_mut().zip((0..).step_by(ENTRY as usize)) {
        let (base, length) = (entries.get(offset)?, entries.get::<u32>(offset + 4)?);
        is_length_bad |= length > i32::MAX as u32;
        match access_ok::<P>(UserAddr::new(base), length) {
            Ok(range) => *slot = range.truncate(MAX_RW_COUNT - total),
            Err(_) => is_range_bad = true,
        }
        total += slot.len();
    }
    drop(entries);
    array.total = total;
    if is_length_bad {
        Err(Errno::EINVAL)
    } else if is_range_bad {
        Err(Errno::EFAULT)
    } else {
        Ok(())
    }
}
