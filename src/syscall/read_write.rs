//! The calls on the measured path, once for each policy: read, write, their vector and positional forms.
#![forbid(unsafe_code)]

use super::{enter, result};
use crate::arch::ppc::SyscallEntry;
use crate::arch::short_way::{ByDescriptor, by_descriptor};
use crate::errno::Errno;
use crate::fs::read_write::{self, Vector};
use crate::fs::short;
use crate::policy::{General, Layers, Policy};
use crate::task;
use core::marker::PhantomData;

/// Numbers and functions.
pub(super) type Calls = [(usize, SyscallEntry); 10];

/// The calls of a policy. In the direct way only `read` and `write` are on the measured path.
pub(super) const fn calls<P: Policy>() -> Calls {
    let (read, write, others): (SyscallEntry, SyscallEntry, _) = if P::Layers::ARE_LINUX {
        (sys_read::<P>, sys_write::<P>, others::<P>())
    } else {
        (by_descriptor::<Read<P>>, by_descriptor::<Write<P>>, others::<General>())
    };
    let mut calls = [(3, read); 10];
    calls[1] = (4, write);
    let mut index = 0;
    while index < others.len() {
        calls[index + 2] = others[index];
        index += 1;
    }
    calls
}

const fn others<P: Policy>() -> [(usize, SyscallEntry); 8] {
    [
        (145, sys_readv::<P>),
        (146, sys_writev::<P>),
        (179, sys_pread64::<P>),
        (180, sys_pwrite64::<P>),
        (320, sys_preadv::<P>),
        (321, sys_pwritev::<P>),
        (380, sys_preadv2::<P>),
        (381, sys_pwritev2::<P>),
    ]
}

/// Ctrl-C while a read waits ends the program, which has no handler that could want to know.
#[inline(always)]
fn result_or_end(outcome: Result<u32, Errno>) -> i32 {
    match outcome {
        Err(Errno::EINTR) => task::exit(task::ending::INTERRUPT),
        outcome => result(outcome),
    }
}

/// `read` by the layers of a policy.
#[inline(never)]
extern "C" fn ksys_read<P: Policy>(fd: u32, buffer: u32, count: u32) -> i32 {
    result_or_end(read_write::ksys_read::<P>(&task::current().files, fd, buffer, count))
}

/// `write` by the layers of a policy.
#[inline(never)]
extern "C" fn ksys_write<P: Policy>(fd: u32, buffer: u32, count: u32) -> i32 {
    result(read_write::ksys_write::<P>(&task::current().files, fd, buffer, count))
}

/// `read` in the kernel's layers.
extern "C" fn sys_read<P: Policy>(fd: u32, buffer: u32, count: u32, _: u32, _: u32, _: u32) -> i32 {
    enter::<P>();
    ksys_read::<P>(fd, buffer, count)
}

/// `write` in the kernel's layers.
extern "C" fn sys_write<P: Policy>(fd: u32, buffer: u32, count: u32, _: u32, _: u32, _: u32) -> i32 {
    enter::<P>();
    ksys_write::<P>(fd, buffer, count)
}

/// `read` by the direct way.
struct Read<P>(PhantomData<P>);

impl<P: Policy> ByDescriptor for Read<P> {
    const WAY: u8 = short::ZERO_READ;

    extern "C" fn short(_: u32, buffer: u32, count: u32) -> i32 {
        enter::<P>();
        result(read_write::read_zero_directly::<P>(buffer, count))
    }

    extern "C" fn long(fd: u32, buffer: u32, count: u32) -> i32 {
        sys_read::<General>(fd, buffer, count, 0, 0, 0)
    }
}

/// `write` by the direct way.
struct Write<P>(PhantomData<P>);

impl<P: Policy> ByDescriptor for Write<P> {
    const WAY: u8 = short::NULL_WRITE;

    extern "C" fn short(_: u32, buffer: u32, count: u32) -> i32 {
        enter::<P>();
        result(read_write::write_null_directly::<P>(buffer, count))
    }

    extern "C" fn long(fd: u32, buffer: u32, count: u32) -> i32 {
        sys_write::<General>(fd, buffer, count, 0, 0, 0)
    }
}

/// A 64-bit argument starts in an odd register, so r6 is unused and the offset is in r7 and r8, high half first.
extern "C" fn sys_pread64<P: Policy>(fd: u32, buffer: u32, count: u32, _: u32, high: u32, low: u32) -> i32 {
    enter::<P>();
    let files = &task::current().files;
    result_or_end(read_write::ksys_pread64::<P>(files, fd, buffer, count, wide(high, low)))
}

/// See [`sys_pread64`].
extern "C" fn sys_pwrite64<P: Policy>(fd: u32, buffer: u32, count: u32, _: u32, high: u32, low: u32) -> i32 {
    enter::<P>();
    let files = &task::current().files;
    result(read_write::ksys_pwrite64::<P>(
        files,
        fd,
        buffer,
        count,
        wide(high, low),
    ))
}

fn wide(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn read_vector<P: Policy>(fd: u32, vector: Vector, offset: Option<u64>) -> i32 {
    enter::<P>();
    result_or_end(read_write::do_readv::<P>(&task::current().files, fd, vector, offset))
}

fn write_vector<P: Policy>(fd: u32, vector: Vector, offset: Option<u64>) -> i32 {
    enter::<P>();
    result(read_write::do_writev::<P>(&task::current().files, fd, vector, offset))
}

fn vector(address: u32, count: u32, flags: u32) -> Vector {
    Vector { address, count, flags }
}

extern "C" fn sys_readv<P: Policy>(fd: u32, address: u32, count: u32, _: u32, _: u32, _: u32) -> i32 {
    read_vector::<P>(fd, vector(address, count, 0), None)
}

extern "C" fn sys_writev<P: Policy>(fd: u32, address: u32, count: u32, _: u32, _: u32, _: u32) -> i32 {
    write_vector::<P>(fd, vector(address, count, 0), None)
}

/// The offset comes as two words, low half first, whatever the byte order.
extern "C" fn sys_preadv<P: Policy>(fd: u32, address: u32, count: u32, low: u32, high: u32, _: u32) -> i32 {
    read_vector::<P>(fd, vector(address, count, 0), Some(wide(high, low)))
}

/// See [`sys_preadv`].
extern "C" fn sys_pwritev<P: Policy>(fd: u32, address: u32, count: u32, low: u32, high: u32, _: u32) -> i32 {
    write_vector::<P>(fd, vector(address, count, 0), Some(wide(high, low)))
}

/// The offset -1 stands for the position of the file.
fn offset_or_position(high: u32, low: u32) -> Option<u64> {
    Some(wide(high, low)).filter(|offset| *offset != u64::MAX)
}

/// See [`sys_preadv`].
extern "C" fn sys_preadv2<P: Policy>(fd: u32, address: u32, count: u32, low: u32, high: u32, flags: u32) -> i32 {
    read_vector::<P>(fd, vector(address, count, flags), offset_or_position(high, low))
}

/// See [`sys_preadv`].
extern "C" fn sys_pwritev2<P: Policy>(fd: u32, address: u32, count: u32, low: u32, high: u32, flags: u32) -> i32 {
    write_vector::<P>(fd, vector(address, count, flags), offset_or_position(high, low))
}
