//! open, close, dup2, lseek.
#![forbid(unsafe_code)]

use super::{enter, operations, result};
use crate::addr::UserAddr;
use crate::errno::Errno;
use crate::fs::node::{self, Node, PATH_MAX};
use crate::fs::{self, Seek};
use crate::policy::General;
use crate::task;
use crate::uaccess::{put_user, strncpy_from_user};

/// The working directory as a directory descriptor (include/uapi/linux/fcntl.h).
const AT_FDCWD: u32 = -100i32 as u32;

/// Relative paths start at `directory`; the working directory (`AT_FDCWD`) is the root.
fn open(directory: u32, path: u32, flags: u32) -> Result<u32, Errno> {
    enter::<General>();
    let mut buffer = alloc::vec![0u8; PATH_MAX];
    let length = strncpy_from_user::<General>(&mut buffer, UserAddr::new(path))? as usize;
    if length == PATH_MAX {
        return Err(Errno::ENAMETOOLONG);
    }
    if length > 0 && buffer[0] != b'/' && directory != AT_FDCWD {
        // The only directories that can be open are the root's own kin, none of which has entries by relative name.
        let node = task::current().files.fdget(directory)?.node();
        return Err(if node == Node::Directory {
            Errno::ENOENT
        } else {
            Errno::ENOTDIR
        });
    }
    let path = &buffer[..length];
    let node = match node::lookup(path) {
        Err(Errno::ENOENT) if flags & fs::open_flags::CREATE != 0 => return Err(node::creation_error(path)),
        node => node?,
    };
    task::current().files.open(node, operations(node), flags)
}

pub(super) extern "C" fn sys_open(path: u32, flags: u32, _mode: u32, _: u32, _: u32, _: u32) -> i32 {
    result(open(AT_FDCWD, path, flags))
}

pub(super) extern "C" fn sys_openat(directory: u32, path: u32, flags: u32, _: u32, _: u32, _: u32) -> i32 {
    result(open(directory, path, flags))
}

pub(super) extern "C" fn sys_close(fd: u32, _: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    result(task::current().files.close(fd).map(|()| 0))
}

pub(super) extern "C" fn sys_dup2(old: u32, new: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    result(task::current().files.dup2(old, new))
}

fn seek(fd: u32, offset: i64, whence: u32) -> Result<u64, Errno> {
    let file = task::current().files.fdget(fd)?;
    if whence > 2 {
        return Err(Errno::EINVAL);
    }
    match file.seek_rule() {
        Seek::No => Err(Errno::ESPIPE),
        Seek::Null => {
            file.position().set(0);
            Ok(0)
        }
        Seek::Regular => {
            let base = match whence {
                0 => 0,
                1 => file.position().get() as i64,
                _ => i64::from(file.node().size()),
            };
            let position = base.checked_add(offset).ok_or(Errno::EOVERFLOW)?;
            let position = u64::try_from(position).map_err(|_| Errno::EINVAL)?;
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
        let new = seek(fd, (u64::from(high) << 32 | u64::from(low)) as i64, whence)?;
        put_user::<General, u64>(UserAddr::new(position), new)?;
        Ok(0)
    };
    result(seek())
}
