//! `/dev/null`, `/dev/zero`, `/dev/full`, and the operations of read-only files (semantics: drivers/char/mem.c).
//!
//! | device | read | write | lseek |
//! |---|---|---|---|
//! | null | 0 bytes, buffer untouched | takes everything, buffer untouched | 0 |
//! | zero | zeros | as null | 0 |
//! | full | zeros | `ENOSPC`, also for 0 bytes | 0 |
//! | file | contents | not possible | within and beyond |
#![forbid(unsafe_code)]

use super::node::Node;
use super::{FileOperations, OpenFile, Seek};
use crate::errno::Errno;
use crate::policy::Policy;
use crate::uaccess::{UserRange, clear_user, copy_to_user};
use core::cell::Cell;

/// No operations: the state of an unused file, and of a directory.
pub static NOTHING: FileOperations = FileOperations {
    read: None,
    write: None,
    seek: Seek::No,
};

/// Operations of each policy.
pub struct Operations<P>(core::marker::PhantomData<P>);

impl<P: Policy> Operations<P> {
    /// `/dev/null`.
    pub const NULL: FileOperations = FileOperations {
        read: Some(read_null),
        write: Some(write_null),
        seek: Seek::Null,
    };
    /// `/dev/zero`.
    pub const ZERO: FileOperations = FileOperations {
        read: Some(read_zero::<P>),
        write: Some(write_null),
        seek: Seek::Null,
    };
    /// `/dev/full`.
    pub const FULL: FileOperations = FileOperations {
        read: Some(read_zero::<P>),
        write: Some(write_full),
        seek: Seek::Null,
    };
    /// A read-only file in memory.
    pub const BYTES: FileOperations = FileOperations {
        read: Some(read_bytes::<P>),
        write: None,
        seek: Seek::Regular,
    };
}

fn read_null(_: &OpenFile, _: UserRange, _: &Cell<u64>) -> Result<u32, Errno> {
    Ok(0)
}

fn write_null(_: &OpenFile, range: UserRange, _: &Cell<u64>) -> Result<u32, Errno> {
    Ok(range.len())
}

fn write_full(_: &OpenFile, _: UserRange, _: &Cell<u64>) -> Result<u32, Errno> {
    Err(Errno::ENOSPC)
}

fn read_zero<P: Policy>(_: &OpenFile, range: UserRange, _: &Cell<u64>) -> Result<u32, Errno> {
    clear_user::<P>(&range).count(range.len())
}

fn read_bytes<P: Policy>(file: &OpenFile, range: UserRange, position: &Cell<u64>) -> Result<u32, Errno> {
    let Node::Bytes(contents) = file.node() else {
        return Err(Errno::EIO);
    };
    let start = usize::try_from(position.get()).map_or(contents.len(), |start| start.min(contents.len()));
    let range = range.truncate((contents.len() - start) as u32);
    let done = copy_to_user::<P>(&range, &contents[start..]).count(range.len())?;
    position.set(position.get() + u64::from(done));
    Ok(done)
}
