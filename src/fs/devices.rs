//! `/dev/null`, `/dev/zero`, `/dev/full`, and the operations of read-only files and directories (semantics:
//! drivers/char/mem.c).
//!
//! | device | read | write | lseek |
//! |---|---|---|---|
//! | null | 0 bytes, buffer untouched | takes everything, buffer untouched | 0 |
//! | zero | zeros | as null | 0 |
//! | full | zeros | `ENOSPC`, also for 0 bytes | 0 |
//! | file | contents | not possible | within and beyond |
//! | directory | `EISDIR` | not possible | |
#![forbid(unsafe_code)]

use super::node::Node;
use super::splice::{copy_splice_read, splice_write_null};
use super::{FileOperations, Kiocb, OpenFile, Seek};
use crate::addr::{PAGE_SIZE, UserAddr};
use crate::errno::Errno;
use crate::iter::{Destination, IovIter, Source, copy_to_iter, iov_iter_zero};
use crate::policy::{General, Layers, NullDevice, Policy, ZeroDevice};
use crate::uaccess::{UserRange, access_ok, clear_user};
use core::cell::Cell;

/// Operations of each policy.
pub struct Operations<P>(core::marker::PhantomData<P>);

/// What the memory devices have in common.
const MEMORY_DEVICE: FileOperations = FileOperations {
    seek: Seek::Null,
    is_positional: true,
    ..FileOperations::NOTHING
};

impl<P: Policy> Operations<P> {
    /// `/dev/null`.
    pub const NULL: FileOperations = FileOperations {
        read: Some(read_null),
        read_iter: Some(read_iter_null),
        write: if P::Null::HAS_WRITE { Some(write_null) } else { None },
        write_iter: Some(write_iter_null),
        splice_write: Some(splice_write_null),
        is_nowait: true,
        ..MEMORY_DEVICE
    };
    /// `/dev/zero`.
    pub const ZERO: FileOperations = FileOperations {
        read: if P::Zero::HAS_READ { Some(read_zero::<P>) } else { None },
        // In the direct way, vectors are off the measured path unless they are all there is.
        read_iter: if P::Layers::ARE_LINUX || !P::Zero::HAS_READ {
            Some(read_iter_zero::<P>)
        } else {
            Some(read_iter_zero::<General>)
        },
        splice_read: Some(copy_splice_read),
        ..Self::NULL
    };
}

/// `/dev/full`.
pub static FULL: FileOperations = FileOperations {
    read_iter: Some(read_iter_zero::<General>),
    splice_read: Some(copy_splice_read),
    write: Some(write_full),
    ..MEMORY_DEVICE
};

/// A read-only file in memory.
pub static BYTES: FileOperations = FileOperations {
    read_iter: Some(read_iter_bytes),
    splice_read: Some(copy_splice_read),
    seek: Seek::Regular,
    is_positional: true,
    ..FileOperations::NOTHING
};

/// A directory.
pub static DIRECTORY: FileOperations = FileOperations {
    read: Some(read_directory),
    is_positional: true,
    ..FileOperations::NOTHING
};

fn read_null(_: &OpenFile, _: UserRange, _: &Cell<u64>) -> Result<u32, Errno> {
    Ok(0)
}

fn read_iter_null(_: &Kiocb<'_>, _: &mut IovIter<'_, Destination>) -> Result<u32, Errno> {
    Ok(0)
}

fn write_null(_: &OpenFile, range: UserRange, _: &Cell<u64>) -> Result<u32, Errno> {
    Ok(range.len())
}

fn write_iter_null(_: &Kiocb<'_>, iter: &mut IovIter<'_, Source>) -> Result<u32, Errno> {
    Ok(swallow(iter))
}

/// Takes everything and looks at nothing.
#[inline(always)]
pub(super) fn swallow(iter: &mut IovIter<'_, Source>) -> u32 {
    let count = iter.count();
    iter.advance(count);
    count
}

fn write_full(_: &OpenFile, _: UserRange, _: &Cell<u64>) -> Result<u32, Errno> {
    Err(Errno::ENOSPC)
}

fn read_directory(_: &OpenFile, _: UserRange, _: &Cell<u64>) -> Result<u32, Errno> {
    Err(Errno::EISDIR)
}

/// Bytes that one step of a device clears: the kernel looks for signals after each page.
#[inline(always)]
fn step<P: Policy>(rest: u32) -> u32 {
    if P::Layers::ARE_LINUX {
        rest.min(PAGE_SIZE)
    } else {
        rest
    }
}

/// Clears a range and answers as a read of zeros does.
///
/// # Errors
/// `EFAULT` if nothing could be cleared although something was asked for.
#[inline(always)]
pub(super) fn clear<P: Policy>(range: UserRange) -> Result<u32, Errno> {
    clear_user::<P>(&range).count(range.len())
}

#[inline(never)]
fn read_zero<P: Policy>(_: &OpenFile, range: UserRange, _: &Cell<u64>) -> Result<u32, Errno> {
    if !P::Layers::ARE_LINUX {
        return clear::<P>(range);
    }
    let mut rest = range;
    while !rest.is_empty() {
        let chunk = rest.truncate(step::<P>(rest.len()));
        // `clear_user` checks the range once more, as the kernel's does.
        let checked = access_ok::<P>(UserAddr::new(chunk.start()), chunk.len())?;
        let residue = clear_user::<P>(&checked);
        rest = rest.advance(chunk.len() - residue.bytes());
        if !residue.is_done() {
            break;
        }
    }
    match range.len() - rest.len() {
        0 if !range.is_empty() => Err(Errno::EFAULT),
        done => Ok(done),
    }
}

#[inline(never)]
fn read_iter_zero<P: Policy>(_: &Kiocb<'_>, iter: &mut IovIter<'_, Destination>) -> Result<u32, Errno> {
    zero_iter::<P>(iter)
}

/// Fills an iterator with zeros.
///
/// # Errors
/// `EFAULT` if nothing could be cleared although something was asked for.
#[inline(always)]
pub(super) fn zero_iter<P: Policy>(iter: &mut IovIter<'_, Destination>) -> Result<u32, Errno> {
    let wanted = iter.count();
    while iter.count() > 0 {
        if iov_iter_zero::<P>(step::<P>(iter.count()), iter) == 0 {
            break;
        }
    }
    moved(wanted - iter.count(), wanted)
}

/// What a transfer of `wanted` bytes answers when `done` moved and it ended early only by a fault.
pub(super) fn moved(done: u32, wanted: u32) -> Result<u32, Errno> {
    if done == 0 && wanted > 0 {
        Err(Errno::EFAULT)
    } else {
        Ok(done)
    }
}

fn read_iter_bytes(kiocb: &Kiocb<'_>, iter: &mut IovIter<'_, Destination>) -> Result<u32, Errno> {
    let Node::Bytes(contents) = kiocb.file.node() else {
        return Err(Errno::EIO);
    };
    let position = &kiocb.position;
    let start = usize::try_from(position.get()).map_or(contents.len(), |start| start.min(contents.len()));
    let wanted = iter.count().min((contents.len() - start) as u32);
    let done = moved(copy_to_iter::<General>(&contents[start..], iter), wanted)?;
    position.set(position.get() + u64::from(done));
    Ok(done)
}
