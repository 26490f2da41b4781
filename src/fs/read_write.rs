//! The way of a transfer from the call to the operation (fs/read_write.c), in two weights.
//!
//! `Linux` does what the kernel does, in functions of its names: `__fdget_pos`, `rw_verify_area`, `new_sync_read`,
//! `__fsnotify_parent`, and so on. `Direct` does what the answer needs: for `/dev/zero` and `/dev/null` a look at one byte
//! of the descriptor table instead of the file and its operations.
#![forbid(unsafe_code)]

use super::{FileTable, Kiocb, OpenFile, ReadWrite, devices, mode, notify};
use crate::addr::UserAddr;
use crate::errno::Errno;
use crate::iter::{Destination, IovIter, IovecArray, MAX_RW_COUNT, Side, Source, import_iovec};
use crate::policy::{General, Layers, NullDevice, Policy, ZeroDevice};
use crate::println;
use crate::uaccess::{UserRange, access_ok};
use core::cell::Cell;
use core::hint::cold_path;

/// `RWF_` flags of `preadv2` and `pwritev2` (include/uapi/linux/fs.h).
pub mod rwf {
    /// Poll for completion.
    pub const HIPRI: u32 = 1;
    /// As `O_DSYNC`.
    pub const DSYNC: u32 = 2;
    /// As `O_SYNC`.
    pub const SYNC: u32 = 4;
    /// Do not wait.
    pub const NOWAIT: u32 = 8;
    /// As `O_APPEND`.
    pub const APPEND: u32 = 0x10;
    /// All of them.
    pub const SUPPORTED: u32 = HIPRI | DSYNC | SYNC | NOWAIT | APPEND;
}

/// A file that a call works on (`struct fd`), with what is to be undone when the call ends.
pub struct Fd {
    file: &'static OpenFile,
    is_position_locked: bool,
}

/// Finds the file of a descriptor. One task has the table, so that nothing needs to be counted (`__fget_light`).
#[inline(never)]
fn __fget_light(files: &FileTable, descriptor: u32) -> Option<&'static OpenFile> {
    files.fdget(descriptor).ok()
}

/// [`__fget_light`], and the lock of the position, if another descriptor shares it.
#[inline(never)]
fn __fdget_pos(files: &FileTable, descriptor: u32) -> Option<Fd> {
    let file = __fget_light(files, descriptor)?;
    let is_position_locked = file.has(mode::ATOMIC_POS) && file.count.get() > 1;
    if is_position_locked {
        file.is_position_locked.set(true);
    }
    Some(Fd {
        file,
        is_position_locked,
    })
}

/// The file of a descriptor for a call that moves its position.
///
/// # Errors
/// `EBADF`.
#[inline(always)]
fn fdget_pos(files: &FileTable, descriptor: u32) -> Result<Fd, Errno> {
    __fdget_pos(files, descriptor).ok_or(Errno::EBADF)
}

impl Drop for Fd {
    /// `fdput_pos`
    #[inline(always)]
    fn drop(&mut self) {
        if self.is_position_locked {
            self.file.is_position_locked.set(false);
        }
    }
}

/// Whether count and position are in order: neither may be negative, nor their sum, as signed numbers.
#[inline(always)]
fn is_area(position: u64, count: u32) -> bool {
    count <= i32::MAX as u32 && position <= i64::MAX as u64 - u64::from(count)
}

/// A count and a position must be in order.
///
/// # Errors
/// `EINVAL`.
#[inline(never)]
pub(super) fn rw_verify_area(position: u64, count: u32) -> Result<(), Errno> {
    if is_area(position, count) {
        Ok(())
    } else {
        Err(Errno::EINVAL)
    }
}

#[inline(always)]
fn verify<P: Policy>(position: u64, count: u32) -> Result<(), Errno> {
    if P::Layers::ARE_LINUX {
        rw_verify_area(position, count)
    } else if is_area(position, count) {
        Ok(())
    } else {
        Err(Errno::EINVAL)
    }
}

/// The kernel asks fsnotify on every call, the direct way only when something was watched at the time of the open.
#[inline(always)]
fn notify<P: Policy>(file: &OpenFile, event: u32) {
    if P::Layers::ARE_LINUX || file.has(mode::WATCHED) {
        notify::__fsnotify_parent(file, event);
    }
}

/// Whether the file may be read at all.
///
/// # Errors
/// `EBADF` unless it is open for reading, `EINVAL` if it has no such operation.
#[inline(always)]
fn check_read(file: &OpenFile) -> Result<(), Errno> {
    if !file.has(mode::READ) {
        Err(Errno::EBADF)
    } else if !file.has(mode::CAN_READ) {
        Err(Errno::EINVAL)
    } else {
        Ok(())
    }
}

/// As [`check_read`].
#[inline(always)]
fn check_write(file: &OpenFile) -> Result<(), Errno> {
    if !file.has(mode::WRITE) {
        Err(Errno::EBADF)
    } else if !file.has(mode::CAN_WRITE) {
        Err(Errno::EINVAL)
    } else {
        Ok(())
    }
}

/// Runs an iterator operation at a position, which moves with it.
#[inline(always)]
pub(super) fn with_kiocb(
    file: &OpenFile,
    position: &Cell<u64>,
    flags: u32,
    run: impl FnOnce(&Kiocb<'_>) -> Result<u32, Errno>,
) -> Result<u32, Errno> {
    let kiocb = Kiocb {
        file,
        position: position.clone(),
        flags,
    };
    let done = run(&kiocb)?;
    position.set(kiocb.position.get());
    Ok(done)
}

/// Reads by `read_iter` into one user buffer, for a file without `read`.
#[inline(never)]
fn new_sync_read(file: &OpenFile, range: UserRange, position: &Cell<u64>) -> Result<u32, Errno> {
    let read_iter = file.operations().read_iter.ok_or(Errno::EINVAL)?;
    let segments = [range];
    with_kiocb(file, position, 0, |kiocb| {
        read_iter(kiocb, &mut IovIter::vector(&segments))
    })
}

/// Writes by `write_iter` from one user buffer, for a file without `write`.
#[inline(never)]
fn new_sync_write(file: &OpenFile, range: UserRange, position: &Cell<u64>) -> Result<u32, Errno> {
    let write_iter = file.operations().write_iter.ok_or(Errno::EINVAL)?;
    let segments = [range];
    with_kiocb(file, position, 0, |kiocb| {
        write_iter(kiocb, &mut IovIter::vector(&segments))
    })
}

/// Reads from an open file to user memory, in the kernel's order of checks: mode, operation, range, count.
///
/// # Errors
/// `EBADF`, `EINVAL`, `EFAULT` and the operation's own.
#[inline(never)]
pub fn vfs_read<P: Policy>(file: &OpenFile, address: u32, count: u32, position: &Cell<u64>) -> Result<u32, Errno> {
    check_read(file)?;
    let range = access_ok::<P>(UserAddr::new(address), count)?;
    verify::<P>(position.get(), count)?;
    let range = range.truncate(MAX_RW_COUNT);
    let done = match file.operations().read {
        Some(read) => read(file, range, position),
        None => new_sync_read(file, range, position),
    }?;
    if done > 0 {
        notify::<P>(file, notify::FS_ACCESS);
    }
    Ok(done)
}

/// Writes user memory to an open file; see [`vfs_read`].
///
/// # Errors
/// As [`vfs_read`].
#[inline(never)]
pub fn vfs_write<P: Policy>(file: &OpenFile, address: u32, count: u32, position: &Cell<u64>) -> Result<u32, Errno> {
    check_write(file)?;
    let range = access_ok::<P>(UserAddr::new(address), count)?;
    verify::<P>(position.get(), count)?;
    let range = range.truncate(MAX_RW_COUNT);
    let done = match file.operations().write {
        Some(write) => write(file, range, position),
        None => new_sync_write(file, range, position),
    }?;
    if done > 0 {
        notify::<P>(file, notify::FS_MODIFY);
    }
    Ok(done)
}

/// Runs `transfer` at the position of an open file, which moves unless there is an error.
#[inline(always)]
fn at_position(
    files: &FileTable,
    descriptor: u32,
    transfer: impl FnOnce(&OpenFile, &Cell<u64>) -> Result<u32, Errno>,
) -> Result<u32, Errno> {
    let fd = fdget_pos(files, descriptor)?;
    let position = fd.file.position.clone();
    let done = transfer(fd.file, &position)?;
    fd.file.position.set(position.get());
    Ok(done)
}

/// Runs `transfer` at `offset`, without the position of the open file.
///
/// # Errors
/// `EINVAL` for an offset with the sign bit, before anything else is looked at; `ESPIPE` for a file without positions.
#[inline(always)]
fn at_offset(
    files: &FileTable,
    descriptor: u32,
    offset: u64,
    mode: u32,
    transfer: impl FnOnce(&OpenFile, &Cell<u64>) -> Result<u32, Errno>,
) -> Result<u32, Errno> {
    if offset > i64::MAX as u64 {
        return Err(Errno::EINVAL);
    }
    let file = files.fdget(descriptor)?;
    if !file.has(mode) {
        return Err(Errno::ESPIPE);
    }
    transfer(file, &Cell::new(offset))
}

/// As much of a range as one call moves.
///
/// # Errors
/// `EINVAL` for a count that is negative as a signed number.
fn cut(range: UserRange) -> Result<UserRange, Errno> {
    if range.len() <= i32::MAX as u32 {
        Ok(range.truncate(MAX_RW_COUNT))
    } else {
        Err(Errno::EINVAL)
    }
}

/// The range of a transfer, checked and cut. One comparison tells an ordinary count from 0 and from those that need a cut;
/// with the ordinary one, the range check has a case less.
///
/// # Errors
/// `EFAULT`, `EINVAL`.
#[inline(always)]
fn transfer_range<P: Policy>(address: u32, count: u32) -> Result<UserRange, Errno> {
    let address = UserAddr::new(address);
    if count.wrapping_sub(1) < MAX_RW_COUNT {
        access_ok::<P>(address, count)
    } else {
        cold_path();
        cut(access_ok::<P>(address, count)?)
    }
}

/// `read` of a descriptor that is known to be `/dev/zero`, open for reading ([`super::short::ZERO_READ`]).
///
/// # Errors
/// `EFAULT`, `EINVAL`.
#[inline(always)]
pub fn read_zero_directly<P: Policy>(address: u32, count: u32) -> Result<u32, Errno> {
    let range = transfer_range::<P>(address, count)?;
    if P::Zero::HAS_READ {
        devices::clear::<P>(range)
    } else {
        devices::zero_iter::<P>(&mut IovIter::user(range))
    }
}

/// `write` to a descriptor that is known to be `/dev/null`, open for writing ([`super::short::NULL_WRITE`]).
///
/// # Errors
/// `EFAULT`, `EINVAL`.
#[inline(always)]
pub fn write_null_directly<P: Policy>(address: u32, count: u32) -> Result<u32, Errno> {
    let range = transfer_range::<P>(address, count)?;
    Ok(if P::Null::HAS_WRITE {
        range.len()
    } else {
        devices::swallow(&mut IovIter::user(range))
    })
}

/// `read` of a descriptor.
///
/// # Errors
/// `EBADF`, and those of [`vfs_read`].
#[inline(always)]
pub fn ksys_read<P: Policy>(files: &FileTable, descriptor: u32, address: u32, count: u32) -> Result<u32, Errno> {
    at_position(files, descriptor, |file, position| {
        vfs_read::<P>(file, address, count, position)
    })
}

/// `write` to a descriptor.
///
/// # Errors
/// `EBADF`, and those of [`vfs_write`].
#[inline(always)]
pub fn ksys_write<P: Policy>(files: &FileTable, descriptor: u32, address: u32, count: u32) -> Result<u32, Errno> {
    at_position(files, descriptor, |file, position| {
        vfs_write::<P>(file, address, count, position)
    })
}

/// `pread64`.
///
/// # Errors
/// `EINVAL`, `EBADF`, `ESPIPE`, and those of [`vfs_read`].
pub fn ksys_pread64<P: Policy>(
    files: &FileTable,
    descriptor: u32,
    address: u32,
    count: u32,
    offset: u64,
) -> Result<u32, Errno> {
    at_offset(files, descriptor, offset, mode::PREAD, |file, position| {
        vfs_read::<P>(file, address, count, position)
    })
}

/// `pwrite64`.
///
/// # Errors
/// `EINVAL`, `EBADF`, `ESPIPE`, and those of [`vfs_write`].
pub fn ksys_pwrite64<P: Policy>(
    files: &FileTable,
    descriptor: u32,
    address: u32,
    count: u32,
    offset: u64,
) -> Result<u32, Errno> {
    at_offset(files, descriptor, offset, mode::PWRITE, |file, position| {
        vfs_write::<P>(file, address, count, position)
    })
}

/// An array of segments, as a call names it.
#[derive(Clone, Copy)]
pub struct Vector {
    /// User address of the array.
    pub address: u32,
    /// Its entries.
    pub count: u32,
    /// `RWF_` flags.
    pub flags: u32,
}

/// Whether a file with iterator operations grants the flags (`kiocb_set_rw_flags`).
///
/// # Errors
/// `EOPNOTSUPP`.
fn check_flags(file: &OpenFile, flags: u32) -> Result<(), Errno> {
    if flags & !rwf::SUPPORTED != 0 || flags & rwf::NOWAIT != 0 && !file.has(mode::NOWAIT) {
        Err(Errno::EOPNOTSUPP)
    } else {
        Ok(())
    }
}

/// Runs a vector through a plain operation, segment by segment; one that moves less than it could ends the call
/// (`do_loop_readv_writev`).
fn loop_over_segments<S: Side>(
    file: &OpenFile,
    iter: &mut IovIter<'_, S>,
    position: &Cell<u64>,
    flags: u32,
    operation: ReadWrite,
) -> Result<u32, Errno> {
    if flags & !rwf::HIPRI != 0 {
        return Err(Errno::EOPNOTSUPP);
    }
    let mut total = 0;
    while let Some(segment) = iter.user_segment() {
        match operation(file, segment, position) {
            Ok(done) => {
                total += done;
                if done != segment.len() {
                    break;
                }
                iter.advance(done);
            }
            Err(error) if total == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(total)
}

/// Reads to wherever an iterator leads (`do_iter_read`).
///
/// # Errors
/// `EBADF`, `EINVAL`, `EOPNOTSUPP` and the operation's own.
#[inline(never)]
fn do_iter_read<P: Policy>(
    file: &OpenFile,
    iter: &mut IovIter<'_, Destination>,
    position: &Cell<u64>,
    flags: u32,
) -> Result<u32, Errno> {
    check_read(file)?;
    if iter.count() == 0 {
        return Ok(0);
    }
    verify::<P>(position.get(), iter.count())?;
    let operations = file.operations();
    let done = match (operations.read_iter, operations.read) {
        (Some(read_iter), _) => {
            check_flags(file, flags)?;
            with_kiocb(file, position, flags, |kiocb| read_iter(kiocb, iter))
        }
        (None, Some(read)) => loop_over_segments(file, iter, position, flags, read),
        (None, None) => Err(Errno::EINVAL),
    }?;
    if done > 0 {
        notify::<P>(file, notify::FS_ACCESS);
    }
    Ok(done)
}

/// Writes from wherever an iterator leads (`do_iter_write`).
///
/// # Errors
/// As [`do_iter_read`].
#[inline(never)]
fn do_iter_write<P: Policy>(
    file: &OpenFile,
    iter: &mut IovIter<'_, Source>,
    position: &Cell<u64>,
    flags: u32,
) -> Result<u32, Errno> {
    check_write(file)?;
    if iter.count() == 0 {
        return Ok(0);
    }
    verify::<P>(position.get(), iter.count())?;
    let operations = file.operations();
    let done = match (operations.write_iter, operations.write) {
        (Some(write_iter), _) => {
            check_flags(file, flags)?;
            with_kiocb(file, position, flags, |kiocb| write_iter(kiocb, iter))
        }
        (None, Some(write)) => loop_over_segments(file, iter, position, flags, write),
        (None, None) => Err(Errno::EINVAL),
    }?;
    if done > 0 {
        notify::<P>(file, notify::FS_MODIFY);
    }
    Ok(done)
}

#[inline(never)]
fn vfs_readv<P: Policy>(file: &OpenFile, vector: Vector, position: &Cell<u64>) -> Result<u32, Errno> {
    let mut array = IovecArray::default();
    import_iovec::<P>(&mut array, UserAddr::new(vector.address), vector.count)?;
    do_iter_read::<P>(file, &mut array.iter(), position, vector.flags)
}

#[inline(never)]
fn vfs_writev<P: Policy>(file: &OpenFile, vector: Vector, position: &Cell<u64>) -> Result<u32, Errno> {
    let mut array = IovecArray::default();
    import_iovec::<P>(&mut array, UserAddr::new(vector.address), vector.count)?;
    do_iter_write::<P>(file, &mut array.iter(), position, vector.flags)
}

/// `readv`, at the file's position, or `preadv` at `offset`.
///
/// # Errors
/// `EINVAL`, `EBADF`, `ESPIPE`, `EFAULT`, `EOPNOTSUPP` and the operation's own.
pub fn do_readv<P: Policy>(
    files: &FileTable,
    descriptor: u32,
    vector: Vector,
    offset: Option<u64>,
) -> Result<u32, Errno> {
    let transfer = |file: &OpenFile, position: &Cell<u64>| vfs_readv::<P>(file, vector, position);
    match offset {
        Some(offset) => at_offset(files, descriptor, offset, mode::PREAD, transfer),
        None => at_position(files, descriptor, transfer),
    }
}

/// `writev` and `pwritev`; see [`do_readv`].
///
/// # Errors
/// As [`do_readv`].
pub fn do_writev<P: Policy>(
    files: &FileTable,
    descriptor: u32,
    vector: Vector,
    offset: Option<u64>,
) -> Result<u32, Errno> {
    let transfer = |file: &OpenFile, position: &Cell<u64>| vfs_writev::<P>(file, vector, position);
    match offset {
        Some(offset) => at_offset(files, descriptor, offset, mode::PWRITE, transfer),
        None => at_position(files, descriptor, transfer),
    }
}

/// Says that a file cannot be read or written from the kernel, as the kernel does.
fn warn_unsupported(file: &OpenFile, what: &str) -> Errno {
    let path = file.inode().map_or("?", |inode| inode.path);
    println!("zeronull: kernel {what} not supported for file {path}");
    Errno::EINVAL
}

/// Reads into kernel memory. A file must have `read_iter`, and no `read` that might do something else (patch 1).
///
/// # Errors
/// `EBADF` unless it is open for reading; `EINVAL`, with a line on the console, for a file of the wrong kind; the
/// operation's own.
pub fn kernel_read(file: &OpenFile, buffer: &mut [u8], position: &Cell<u64>) -> Result<u32, Errno> {
    if !file.has(mode::READ) {
        return Err(Errno::EBADF);
    }
    let operations = file.operations();
    let Some(read_iter) = operations.read_iter.filter(|_| operations.read.is_none()) else {
        return Err(warn_unsupported(file, "read"));
    };
    let mut segments = [buffer];
    let mut iter = IovIter::kernel(&mut segments);
    verify::<General>(position.get(), iter.count())?;
    with_kiocb(file, position, 0, |kiocb| read_iter(kiocb, &mut iter))
}

/// Writes from kernel memory; see [`kernel_read`].
///
/// # Errors
/// As [`kernel_read`].
pub fn kernel_write(file: &OpenFile, bytes: &[u8], position: &Cell<u64>) -> Result<u32, Errno> {
    if !file.has(mode::WRITE) {
        return Err(Errno::EBADF);
    }
    let operations = file.operations();
    let Some(write_iter) = operations.write_iter.filter(|_| operations.write.is_none()) else {
        return Err(warn_unsupported(file, "write"));
    };
    let mut segments = [bytes];
    let mut iter = IovIter::kernel(&mut segments);
    verify::<General>(position.get(), iter.count())?;
    with_kiocb(file, position, 0, |kiocb| write_iter(kiocb, &mut iter))
}
