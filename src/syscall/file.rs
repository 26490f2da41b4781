//! open, creat, unlink, truncate, close, lseek.
#![forbid(unsafe_code)]

use super::{enter, operations, result};
use crate::addr::UserAddr;
use crate::errno::Errno;
use crate::fs::node::{self, Node, PATH_MAX, Target};
use crate::fs::{OpenFile, Seek, open_flags, tmp};
use crate::policy::General;
use crate::task;
use crate::uaccess::{put_user, strncpy_from_user};

/// The working directory as a directory descriptor (include/uapi/linux/fcntl.h).
pub(super) const AT_FDCWD: u32 = -100i32 as u32;

/// `SEEK_` values of lseek (include/uapi/linux/fs.h).
mod whence {
    pub const CUR: u32 = 1;
    pub const END: u32 = 2;
    pub const DATA: u32 = 3;
    pub const HOLE: u32 = 4;
}

/// Fetches the path at a user address and follows it. Relative paths start at `directory`; the working directory
/// (`AT_FDCWD`) is the root.
pub(super) fn walk(directory: u32, path: u32) -> Result<Target, Errno> {
    let mut buffer = alloc::vec![0u8; PATH_MAX];
    let length = strncpy_from_user::<General>(&mut buffer, UserAddr::new(path))? as usize;
    if length == PATH_MAX {
        return Err(Errno::ENAMETOOLONG);
    }
    let path = &buffer[..length];
    let start = if path.is_empty() || path[0] == b'/' || directory == AT_FDCWD {
        b""
    } else {
        match task::current().files.fdget(directory)?.node() {
            Node::Directory(name) => name,
            _ => return Err(Errno::ENOTDIR),
        }
    };
    node::walk(start, path)
}

/// In the kernel's order: what must not exist does, a directory where a file is to be made, then what the file allows.
fn open(directory: u32, path: u32, flags: u32) -> Result<u32, Errno> {
    enter::<General>();
    let files = &task::current().files;
    let target = walk(directory, path)?;
    let creates = flags & open_flags::CREATE != 0;
    if creates && target.wants_directory {
        return Err(Errno::EISDIR);
    }
    let node = match target.node {
        Some(_) if creates && flags & open_flags::EXCLUSIVE != 0 => return Err(Errno::EEXIST),
        Some(Node::Directory(_)) if creates => return Err(Errno::EISDIR),
        None if creates => {
            // Nothing is made when no descriptor is left for it.
            files.lowest_free(0)?;
            target.create()?
        }
        _ => target.existing()?,
    };
    let fd = files.open(node, operations(node), flags)?;
    if let Node::Tmp(index) = node
        && flags & open_flags::TRUNCATE != 0
    {
        tmp::truncate(index, 0)?;
    }
    Ok(fd)
}

pub(super) extern "C" fn sys_open(path: u32, flags: u32, _mode: u32, _: u32, _: u32, _: u32) -> i32 {
    result(open(AT_FDCWD, path, flags))
}

pub(super) extern "C" fn sys_creat(path: u32, _mode: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    let flags = open_flags::CREATE | open_flags::WRITE_ONLY | open_flags::TRUNCATE;
    result(open(AT_FDCWD, path, flags))
}

pub(super) extern "C" fn sys_openat(directory: u32, path: u32, flags: u32, _: u32, _: u32, _: u32) -> i32 {
    result(open(directory, path, flags))
}

fn unlink(directory: u32, path: u32) -> Result<u32, Errno> {
    enter::<General>();
    match walk(directory, path)?.existing()? {
        Node::Tmp(index) => tmp::unlink(index),
        Node::Directory(_) => return Err(Errno::EISDIR),
        _ => return Err(Errno::EROFS),
    }
    Ok(0)
}

pub(super) extern "C" fn sys_unlink(path: u32, _: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    result(unlink(AT_FDCWD, path))
}

/// Directories cannot be removed: `AT_REMOVEDIR` finds none that may be, other flags do not exist.
pub(super) extern "C" fn sys_unlinkat(directory: u32, path: u32, flags: u32, _: u32, _: u32, _: u32) -> i32 {
    const AT_REMOVEDIR: u32 = 0x200;
    result(match flags {
        0 => unlink(directory, path),
        AT_REMOVEDIR => walk(directory, path).and_then(|target| match target.existing()? {
            Node::Directory(_) => Err(Errno::EROFS),
            _ => Err(Errno::ENOTDIR),
        }),
        _ => Err(Errno::EINVAL),
    })
}

fn wide(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn check_size(size: u64) -> Result<(), Errno> {
    if size > i64::MAX as u64 {
        Err(Errno::EINVAL)
    } else {
        Ok(())
    }
}

/// A 64-bit argument starts in an odd register, so r4 is unused.
pub(super) extern "C" fn sys_ftruncate64(fd: u32, _: u32, high: u32, low: u32, _: u32, _: u32) -> i32 {
    let truncate = || {
        check_size(wide(high, low))?;
        let file = task::current().files.fdget(fd)?;
        match file.node() {
            Node::Tmp(index) if file.may_write() => tmp::truncate(index, wide(high, low))?,
            _ => return Err(Errno::EINVAL),
        }
        Ok(0)
    };
    result(truncate())
}

/// See [`sys_ftruncate64`].
pub(super) extern "C" fn sys_truncate64(path: u32, _: u32, high: u32, low: u32, _: u32, _: u32) -> i32 {
    enter::<General>();
    let truncate = || {
        check_size(wide(high, low))?;
        match walk(AT_FDCWD, path)?.existing()? {
            Node::Tmp(index) => tmp::truncate(index, wide(high, low))?,
            Node::Directory(_) => return Err(Errno::EISDIR),
            Node::Bytes(_) => return Err(Errno::EROFS),
            _ => return Err(Errno::EINVAL),
        }
        Ok(0)
    };
    result(truncate())
}

/// `fsync` and `fdatasync`: memory is where these files are, so they are always there.
pub(super) extern "C" fn sys_fsync(fd: u32, _: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    let sync = || match task::current().files.fdget(fd)?.node() {
        Node::Tmp(_) | Node::Bytes(_) | Node::Directory(_) => Ok(0),
        _ => Err(Errno::EINVAL),
    };
    result(sync())
}

pub(super) extern "C" fn sys_close(fd: u32, _: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    result(task::current().files.close(fd).map(|()| 0))
}

/// The next data or hole of a file; what is not in `/tmp` is data up to its end.
fn next_data_or_hole(file: &OpenFile, offset: i64, data: bool) -> Result<u64, Errno> {
    let position = u64::try_from(offset).map_err(|_| Errno::ENXIO)?;
    match file.node() {
        Node::Tmp(index) => tmp::seek_next(index, position, data),
        node if position < node.size() => Ok(if data { position } else { node.size() }),
        _ => Err(Errno::ENXIO),
    }
}

fn seek(fd: u32, offset: i64, whence: u32) -> Result<u64, Errno> {
    let file = task::current().files.fdget(fd)?;
    if whence > whence::HOLE {
        return Err(Errno::EINVAL);
    }
    match file.seek_rule() {
        Seek::No => Err(Errno::ESPIPE),
        Seek::Null => {
            file.position().set(0);
            Ok(0)
        }
        Seek::Regular => {
            let position = match whence {
                whence::DATA | whence::HOLE => next_data_or_hole(file, offset, whence == whence::DATA)?,
                _ => {
                    let base = match whence {
                        whence::CUR => file.position().get() as i64,
                        whence::END => file.node().size() as i64,
                        _ => 0,
                    };
                    let position = base.checked_add(offset).ok_or(Errno::EOVERFLOW)?;
                    u64::try_from(position).map_err(|_| Errno::EINVAL)?
                }
            };
            file.position().set(position);
            Ok(position)
        }
    }
}

/// A position that does not fit 31 bits is moved to all the same and reported as `EOVERFLOW`.
pub(super) extern "C" fn sys_lseek(fd: u32, offset: u32, whence: u32, _: u32, _: u32, _: u32) -> i32 {
    let position = seek(fd, i64::from(offset as i32), whence);
    result(position.and_then(|p| i32::try_from(p).map(|p| p as u32).map_err(|_| Errno::EOVERFLOW)))
}

pub(super) extern "C" fn sys_llseek(fd: u32, high: u32, low: u32, position: u32, whence: u32, _: u32) -> i32 {
    enter::<General>();
    let seek = || {
        let new = seek(fd, wide(high, low) as i64, whence)?;
        put_user::<General, u64>(UserAddr::new(position), new)?;
        Ok(0)
    };
    result(seek())
}
