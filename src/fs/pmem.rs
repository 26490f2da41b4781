//! `/dev/pmem0`: memory that may lose bytes, as a file of fixed size, like a block device.
//!
//! | call | good bytes | the first byte is lost | behind the end |
//! |---|---|---|---|
//! | read | up to the first lost byte | `EIO` | 0 bytes |
//! | write | up to a line that is lost and not written whole | `EIO` | `ENOSPC` |
//! | lseek | within and beyond | | |
//!
//! Writing a whole cache line makes its lost bytes good again; a line that is written in part cannot be, because the
//! rest of it would have to be read first (drivers/nvdimm/pmem.c clears whole sectors for the same reason). The position
//! moves by the bytes that moved, so a reader can seek past what is lost and go on.
#![forbid(unsafe_code)]

use super::{FileOperations, OpenFile, Seek};
use crate::arch::CACHE_LINE;
use crate::errno::Errno;
use crate::mm::pmem;
use crate::policy::{General, Policy};
use crate::uaccess::copy_mc::{McSource, copy_mc_to_user};
use crate::uaccess::{UserRange, copy_from_user};
use core::cell::Cell;

/// Operations of each policy.
pub struct Operations<P>(core::marker::PhantomData<P>);

impl<P: Policy> Operations<P> {
    /// `/dev/pmem0`.
    pub const PMEM: FileOperations = FileOperations {
        read: Some(read_pmem::<P>),
        write: Some(write_pmem),
        seek: Seek::Regular,
        is_positional: true,
        ..FileOperations::NOTHING
    };
}

fn offset(position: &Cell<u64>) -> u32 {
    u32::try_from(position.get()).map_or(pmem::size(), |offset| offset.min(pmem::size()))
}

fn read_pmem<P: Policy>(_: &OpenFile, range: UserRange, position: &Cell<u64>) -> Result<u32, Errno> {
    let source = McSource::pmem(offset(position), range.len());
    let done = copy_mc_to_user::<P>(&range, &source).count(source.len())?;
    position.set(position.get() + u64::from(done));
    Ok(done)
}

const LINE: u32 = CACHE_LINE as u32;

/// How much of a write of `length` bytes at `start` can be done: up to the first line that is lost and not written whole.
fn writable(start: u32, length: u32) -> u32 {
    let end = start + length;
    let is_lost = |line: u32| pmem::first_lost(line..line + LINE).is_some();
    let (first, last) = (start / LINE * LINE, end / LINE * LINE);
    let is_first_whole = first == start && first + LINE <= end;
    if length > 0 && !is_first_whole && is_lost(first) {
        0
    } else if last < end && last > start && is_lost(last) {
        last - start
    } else {
        length
    }
}

fn write_pmem(_: &OpenFile, range: UserRange, position: &Cell<u64>) -> Result<u32, Errno> {
    let start = offset(position);
    if range.is_empty() {
        return Ok(0);
    }
    let wanted = range.len().min(pmem::size() - start);
    if wanted == 0 {
        return Err(Errno::ENOSPC);
    }
    let range = range.truncate(writable(start, wanted));
    if range.is_empty() {
        return Err(Errno::EIO);
    }
    let residue = pmem::with_bytes(start, range.len(), |bytes| copy_from_user::<General>(bytes, &range));
    let done = residue.count(range.len())?;
    let whole = start.next_multiple_of(LINE)..(start + done) / LINE * LINE;
    if !whole.is_empty() {
        pmem::heal(whole).map_err(|_| Errno::EIO)?;
    }
    position.set(position.get() + u64::from(done));
    Ok(done)
}
