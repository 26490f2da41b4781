//! dup, fcntl, ioctl, fstat64, pipe, poll, the limit of descriptors.
#![forbid(unsafe_code)]

use super::file::{AT_FDCWD, walk};
use super::user::{get_words, put_bytes, put_words};
use super::{enter, result};
use crate::addr::UserAddr;
use crate::console;
use crate::errno::Errno;
use crate::fs::node::Node;
use crate::fs::{OpenFile, open_flags, pipe, tmp};
use crate::measure::clock;
use crate::mm::page;
use crate::policy::General;
use crate::task;
use crate::uaccess::{access_ok, copy_from_user, copy_to_user, get_user, put_user};

pub(super) extern "C" fn sys_dup(old: u32, _: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    result(task::current().files.dup(old, 0, false))
}

pub(super) extern "C" fn sys_dup2(old: u32, new: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    result(task::current().files.dup2(old, new, false))
}

pub(super) extern "C" fn sys_dup3(old: u32, new: u32, flags: u32, _: u32, _: u32, _: u32) -> i32 {
    let close_on_exec = flags & open_flags::CLOEXEC != 0;
    result(if flags & !open_flags::CLOEXEC != 0 || old == new {
        Err(Errno::EINVAL)
    } else {
        task::current().files.dup2(old, new, close_on_exec)
    })
}

/// Commands of `fcntl` (include/uapi/asm-generic/fcntl.h, include/uapi/linux/fcntl.h).
mod command {
    pub const DUPFD: u32 = 0;
    pub const GETFD: u32 = 1;
    pub const SETFD: u32 = 2;
    pub const GETFL: u32 = 3;
    pub const SETFL: u32 = 4;
    pub const DUPFD_CLOEXEC: u32 = 1030;
    pub const SETPIPE_SZ: u32 = 1031;
    pub const GETPIPE_SZ: u32 = 1032;
}

/// Bytes of a pipe, which cannot be changed.
const PIPE_SIZE: u32 = (pipe::BUFFERS * page::LENGTH) as u32;

fn fcntl(fd: u32, command: u32, argument: u32) -> Result<u32, Errno> {
    let files = &task::current().files;
    let file = files.fdget(fd)?;
    match command {
        command::DUPFD | command::DUPFD_CLOEXEC => {
            if argument >= files.limit() {
                return Err(Errno::EINVAL);
            }
            files.dup(fd, argument, command == command::DUPFD_CLOEXEC)
        }
        command::GETFD => Ok(files.close_on_exec(fd)?.get().into()),
        command::SETFD => {
            files.close_on_exec(fd)?.set(argument & 1 != 0);
            Ok(0)
        }
        command::GETFL => Ok(file.status_flags()),
        command::SETFL => {
            file.set_status_flags(argument);
            Ok(0)
        }
        command::GETPIPE_SZ | command::SETPIPE_SZ if pipe::of(file).is_none() => Err(Errno::EBADF),
        command::GETPIPE_SZ => Ok(PIPE_SIZE),
        command::SETPIPE_SZ if argument.div_ceil(PIPE_SIZE) == 1 => Ok(PIPE_SIZE),
        command::SETPIPE_SZ => Err(Errno::EPERM),
        _ => Err(Errno::EINVAL),
    }
}

/// `fcntl` and `fcntl64`, which differ in locks alone; there are none.
pub(super) extern "C" fn sys_fcntl(fd: u32, command: u32, argument: u32, _: u32, _: u32, _: u32) -> i32 {
    result(fcntl(fd, command, argument))
}

/// Requests that every file knows (arch/powerpc/include/uapi/asm/ioctls.h).
mod request {
    pub const FIOCLEX: u32 = 0x2000_6601;
    pub const FIONCLEX: u32 = 0x2000_6602;
    pub const FIONBIO: u32 = 0x8004_667e;
    pub const FIONREAD: u32 = 0x4004_667f;
}

fn ioctl(fd: u32, request: u32, argument: u32) -> Result<u32, Errno> {
    enter::<General>();
    let files = &task::current().files;
    let file = files.fdget(fd)?;
    match request {
        request::FIOCLEX => files.close_on_exec(fd)?.set(true),
        request::FIONCLEX => files.close_on_exec(fd)?.set(false),
        request::FIONBIO => {
            let wanted = get_user::<General, u32>(UserAddr::new(argument))? != 0;
            let flags = file.status_flags() & !open_flags::NONBLOCK;
            file.set_status_flags(flags | if wanted { open_flags::NONBLOCK } else { 0 });
        }
        request::FIONREAD => {
            let left = match (file.node(), pipe::of(file)) {
                (_, Some(pipe)) => pipe.length(),
                (node @ (Node::Tmp(_) | Node::Bytes(_)), _) => node.size().wrapping_sub(file.position().get()) as u32,
                _ => return Err(Errno::ENOTTY),
            };
            put_user::<General, u32>(UserAddr::new(argument), left)?;
        }
        _ => return Err(Errno::ENOTTY),
    }
    Ok(0)
}

pub(super) extern "C" fn sys_ioctl(fd: u32, request: u32, argument: u32, _: u32, _: u32, _: u32) -> i32 {
    result(ioctl(fd, request, argument))
}

/// Bytes of `struct stat64` (arch/powerpc/include/uapi/asm/stat.h).
const STAT_LEN: usize = 104;

/// Writes what `stat64` tells of a node: kind and rights, device number, size; times and owners are 0.
fn put_status(node: Node, address: u32) -> Result<u32, Errno> {
    let device = |minor: u32| (0o020_666, 1 << 8 | minor);
    let (mode, device) = match node {
        Node::Null => device(3),
        Node::Zero => device(5),
        Node::Full => device(7),
        Node::Console => (0o020_600, 5 << 8 | 1),
        #[cfg(target_os = "none")]
        Node::Pmem => (0o060_600, 259 << 8),
        Node::Bytes(_) => (0o100_555, 0),
        Node::Tmp(_) => (0o100_644, 0),
        Node::Pipe(_) => (0o010_600, 0),
        Node::Directory(_) => (0o040_755, 0),
    };
    let size = node.size();
    let blocks = match node {
        Node::Tmp(index) => u64::from(tmp::pages(index)) * (page::LENGTH as u64 / 512),
        _ => size.div_ceil(512),
    };
    let mut image = [0u8; STAT_LEN];
    // Offsets: mode 16, links 20, device number 32, size 48, block size 56, blocks of 512 bytes 64.
    image[16..20].copy_from_slice(&u32::to_be_bytes(mode));
    image[20..24].copy_from_slice(&1u32.to_be_bytes());
    image[36..40].copy_from_slice(&u32::to_be_bytes(device));
    image[48..56].copy_from_slice(&size.to_be_bytes());
    image[56..60].copy_from_slice(&(page::LENGTH as u32).to_be_bytes());
    image[64..72].copy_from_slice(&blocks.to_be_bytes());
    put_bytes(address, &image)?;
    Ok(0)
}

pub(super) extern "C" fn sys_fstat64(fd: u32, status: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    enter::<General>();
    let file = task::current().files.fdget(fd);
    result(file.and_then(|file| put_status(file.node(), status)))
}

/// `stat64` and `lstat64`: there are no links.
pub(super) extern "C" fn sys_stat64(path: u32, status: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    enter::<General>();
    let node = walk(AT_FDCWD, path).and_then(|target| target.existing());
    result(node.and_then(|node| put_status(node, status)))
}

pub(super) extern "C" fn sys_fstatat64(directory: u32, path: u32, status: u32, flags: u32, _: u32, _: u32) -> i32 {
    /// `AT_SYMLINK_NOFOLLOW`, `AT_NO_AUTOMOUNT`, `AT_EMPTY_PATH`, and how fresh the answer must be.
    const ACCEPTED: u32 = 0x100 | 0x800 | AT_EMPTY_PATH | 0x6000;
    const AT_EMPTY_PATH: u32 = 0x1000;
    enter::<General>();
    let node = || {
        if flags & !ACCEPTED != 0 {
            return Err(Errno::EINVAL);
        }
        match get_user::<General, u8>(UserAddr::new(path)) {
            Ok(0) if flags & AT_EMPTY_PATH != 0 && directory != AT_FDCWD => {
                Ok(task::current().files.fdget(directory)?.node())
            }
            _ => walk(directory, path)?.existing(),
        }
    };
    result(node().and_then(|node| put_status(node, status)))
}

/// Makes a pipe, and its two descriptors at `address`.
fn make_pipe(address: u32, flags: u32) -> Result<u32, Errno> {
    enter::<General>();
    let files = &task::current().files;
    if flags & !(open_flags::NONBLOCK | open_flags::CLOEXEC) != 0 {
        return Err(Errno::EINVAL);
    }
    let index = pipe::create()?;
    let node = Node::Pipe(index);
    let reader = files
        .open(node, &pipe::READER, flags | open_flags::READ_ONLY)
        .inspect_err(|_| pipe::discard(index))?;
    // Closing the ends that exist gives the pipe back.
    let writer = match files.open(node, &pipe::WRITER, flags | open_flags::WRITE_ONLY) {
        Ok(writer) => writer,
        Err(error) => {
            files.close(reader)?;
            pipe::discard(index);
            return Err(error);
        }
    };
    if let Err(error) = put_words(address, [reader, writer]) {
        files.close(reader)?;
        files.close(writer)?;
        return Err(error);
    }
    Ok(0)
}

pub(super) extern "C" fn sys_pipe(ends: u32, _: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    result(make_pipe(ends, 0))
}

pub(super) extern "C" fn sys_pipe2(ends: u32, flags: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    result(make_pipe(ends, flags))
}

/// What a file other than a pipe always is: readable and writable (`DEFAULT_POLLMASK`).
const ALWAYS_READY: u16 = 0x145;
/// Reported though nobody asked: error, hang-up.
const UNASKED: u16 = 0x18;
/// No such descriptor.
const POLLNVAL: u16 = 0x20;

/// The events of one entry of `poll`.
fn events(fd: u32, asked: u16) -> u16 {
    if fd > i32::MAX as u32 {
        return 0;
    }
    match task::current().files.fdget(fd) {
        Err(_) => POLLNVAL,
        Ok(file) => ready(file) & (asked | UNASKED),
    }
}

fn ready(file: &OpenFile) -> u16 {
    pipe::of(file).map_or(ALWAYS_READY, |pipe| pipe.poll(file.may_write()))
}

/// Nothing that this task does not do itself makes a file ready, so a wait ends by its time, and one without a time is
/// `EDEADLK`.
fn poll(address: u32, count: u32, timeout: u32) -> Result<u32, Errno> {
    enter::<General>();
    if count > task::current().files.limit() {
        return Err(Errno::EINVAL);
    }
    let range = access_ok::<General>(UserAddr::new(address), count * 8)?;
    let mut entries = alloc::vec![0u8; count as usize * 8];
    if !copy_from_user::<General>(&mut entries, &range).is_done() {
        return Err(Errno::EFAULT);
    }
    let mut found = 0;
    for entry in entries.as_chunks_mut::<8>().0 {
        let [fd, asked] =
            [&entry[..4], &entry[4..6]].map(|field| field.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)));
        let events = events(fd, asked as u16);
        entry[6..].copy_from_slice(&events.to_be_bytes());
        found += u32::from(events != 0);
    }
    if found == 0 && timeout != 0 {
        if timeout > i32::MAX as u32 {
            return Err(Errno::EDEADLK);
        }
        let start = clock::now();
        let waited = || {
            let time = clock::now().since(start);
            u64::from(time.seconds) * 1000 + u64::from(time.nanoseconds / 1_000_000)
        };
        while waited() < timeout.into() {
            if console::is_interrupted() {
                task::end_by_interrupt();
            }
        }
    }
    // The entries are written back whole: only the events found differ from what was read.
    if copy_to_user::<General>(&range, &entries).is_done() {
        Ok(found)
    } else {
        Err(Errno::EFAULT)
    }
}

pub(super) extern "C" fn sys_poll(entries: u32, count: u32, timeout: u32, _: u32, _: u32, _: u32) -> i32 {
    result(poll(entries, count, timeout))
}

/// Resources with a limit (include/uapi/asm-generic/resource.h); the number of descriptors is the one that exists here.
const RESOURCES: u32 = 16;
const RLIMIT_NOFILE: u32 = 7;

pub(super) extern "C" fn sys_getrlimit(resource: u32, limits: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    enter::<General>();
    let get = || {
        let limit = match resource {
            RLIMIT_NOFILE => [task::current().files.limit(), crate::fs::DESCRIPTORS as u32],
            0..RESOURCES => [u32::MAX; 2],
            _ => return Err(Errno::EINVAL),
        };
        put_words(limits, limit)?;
        Ok(0)
    };
    result(get())
}

/// The number of descriptors can be lowered and raised again; other limits cannot be set (`EPERM`).
pub(super) extern "C" fn sys_setrlimit(resource: u32, limits: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    enter::<General>();
    let set = || {
        let [soft, hard] = get_words(limits)?;
        match resource {
            RESOURCES.. => Err(Errno::EINVAL),
            _ if soft > hard => Err(Errno::EINVAL),
            RLIMIT_NOFILE => task::current().files.set_limit(soft).map(|()| 0),
            _ => Err(Errno::EPERM),
        }
    };
    result(set())
}
