//! read, write, their vector forms, open, close, dup2, lseek.
#![forbid(unsafe_code)]

use super::{enter, result};
use crate::addr::UserAddr;
use crate::errno::Errno;
use crate::fs::node::{self, Node, PATH_MAX};
use crate::fs::{self, MAX_RW_COUNT, OpenFile, Seek};
use crate::policy::Policy;
use crate::task;
use crate::uaccess::{access_ok, copy_from_user, put_user, strncpy_from_user};
use core::cell::Cell;

/// The working directory as a directory descriptor (include/uapi/linux/fcntl.h).
const AT_FDCWD: u32 = -100i32 as u32;

/// Most entries of an iovec array (`UIO_MAXIOV`).
const IOV_MAX: u32 = 1024;

/// [`fs::vfs_read`]; Ctrl-C while it waits ends the program, which has no handler that could want to know.
#[inline(always)]
fn read_or_end<P: Policy>(file: &OpenFile, buffer: u32, count: u32, position: &Cell<u64>) -> Result<u32, Errno> {
    let outcome = fs::vfs_read::<P>(file, buffer, count, position);
    if outcome == Err(Errno::EINTR) {
        task::exit(task::ending::INTERRUPT);
    }
    outcome
}

pub(super) extern "C" fn sys_read<P: Policy>(fd: u32, buffer: u32, count: u32, _: u32, _: u32, _: u32) -> i32 {
    enter::<P>();
    let read = || {
        let file = task::current().files.fdget(fd)?;
        read_or_end::<P>(file, buffer, count, file.position())
    };
    result(read())
}

/// A 64-bit argument starts in an odd register, so r6 is unused and the offset is in r7 and r8, high half first.
pub(super) extern "C" fn sys_pread64<P: Policy>(fd: u32, buffer: u32, count: u32, _: u32, high: u32, low: u32) -> i32 {
    enter::<P>();
    let read = || {
        let file = task::current().files.fdget(fd)?;
        if file.seek_rule() == Seek::No {
            return Err(Errno::ESPIPE);
        }
        let offset = u64::from(high) << 32 | u64::from(low);
        if i64::try_from(offset).is_err() {
            return Err(Errno::EINVAL);
        }
        fs::vfs_read::<P>(file, buffer, count, &Cell::new(offset))
    };
    result(read())
}

pub(super) extern "C" fn sys_write<P: Policy>(fd: u32, buffer: u32, count: u32, _: u32, _: u32, _: u32) -> i32 {
    enter::<P>();
    let write = || {
        let file = task::current().files.fdget(fd)?;
        fs::vfs_write::<P>(file, buffer, count, file.position())
    };
    result(write())
}

type Transfer = fn(&OpenFile, u32, u32, &Cell<u64>) -> Result<u32, Errno>;

/// Runs a vector through a plain operation, segment by segment. The whole array is checked before any byte moves; a
/// segment that moves less than it could ends the call.
fn transfer_vector<P: Policy>(
    fd: u32,
    vector: u32,
    count: u32,
    mode: fn(&OpenFile) -> bool,
    transfer: Transfer,
) -> Result<u32, Errno> {
    enter::<P>();
    let file = task::current().files.fdget(fd)?;
    if !mode(file) {
        return Err(Errno::EBADF);
    }
    if count > IOV_MAX {
        return Err(Errno::EINVAL);
    }
    let mut segments = alloc::vec![(0u32, 0u32); count as usize];
    let range = access_ok::<P>(UserAddr::new(vector), count * 8)?;
    let mut bytes = alloc::vec![0u8; count as usize * 8];
    if !copy_from_user::<P>(&mut bytes, &range).is_done() {
        return Err(Errno::EFAULT);
    }
    for (segment, raw) in segments.iter_mut().zip(bytes.as_chunks::<8>().0) {
        let [base, length] = [&raw[..4], &raw[4..]].map(|word| u32::from_be_bytes(word.try_into().unwrap_or_default()));
        if length > i32::MAX as u32 {
            return Err(Errno::EINVAL);
        }
        *segment = (base, length);
    }
    for (base, length) in &segments {
        access_ok::<P>(UserAddr::new(*base), *length)?;
    }
    let mut total = 0;
    for (base, length) in segments {
        let length = length.min(MAX_RW_COUNT - total);
        if length == 0 {
            continue;
        }
        match transfer(file, base, length, file.position()) {
            Ok(done) => {
                total += done;
                if done < length {
                    break;
                }
            }
            Err(error) if total == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(total)
}

pub(super) extern "C" fn sys_readv<P: Policy>(fd: u32, vector: u32, count: u32, _: u32, _: u32, _: u32) -> i32 {
    result(transfer_vector::<P>(
        fd,
        vector,
        count,
        OpenFile::may_read,
        read_or_end::<P>,
    ))
}

pub(super) extern "C" fn sys_writev<P: Policy>(fd: u32, vector: u32, count: u32, _: u32, _: u32, _: u32) -> i32 {
    result(transfer_vector::<P>(
        fd,
        vector,
        count,
        OpenFile::may_write,
        fs::vfs_write::<P>,
    ))
}

/// Relative paths start at `directory`; the working directory (`AT_FDCWD`) is the root.
fn open<P: Policy>(directory: u32, path: u32, flags: u32) -> Result<u32, Errno> {
    enter::<P>();
    let mut buffer = alloc::vec![0u8; PATH_MAX];
    let length = strncpy_from_user::<P>(&mut buffer, UserAddr::new(path))? as usize;
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
    task::current().files.open::<P>(node, flags)
}

pub(super) extern "C" fn sys_open<P: Policy>(path: u32, flags: u32, _mode: u32, _: u32, _: u32, _: u32) -> i32 {
    result(open::<P>(AT_FDCWD, path, flags))
}

pub(super) extern "C" fn sys_openat<P: Policy>(directory: u32, path: u32, flags: u32, _: u32, _: u32, _: u32) -> i32 {
    result(open::<P>(directory, path, flags))
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

pub(super) extern "C" fn sys_llseek<P: Policy>(
    fd: u32,
    high: u32,
    low: u32,
    position: u32,
    whence: u32,
    _: u32,
) -> i32 {
    let seek = || {
        let new = seek(fd, (u64::from(high) << 32 | u64::from(low)) as i64, whence)?;
        put_user::<P, u64>(UserAddr::new(position), new)?;
        Ok(0)
    };
    result(seek())
}
