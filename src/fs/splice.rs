//! splice, tee, vmsplice, sendfile: bytes that move between files without user memory (fs/splice.c).
//!
//! A pipe stands at one end at least; `sendfile` brings one of its own. Only files with explicit operations take part
//! (patch 2 of the series): without `splice_read` or `splice_write` the answer is `EINVAL`, and the caller has to read and
//! write. What goes into a pipe is a copy: later changes of the file do not show in the pipe, whereas Linux moves references
//! to the pages of most file systems.
#![forbid(unsafe_code)]

use super::pipe::{self, Buffer, Pipe, would_block};
use super::read_write::{rw_verify_area, with_kiocb};
use super::{OpenFile, open_flags, tmp};
use crate::addr::UserAddr;
use crate::errno::Errno;
use crate::iter::{IovIter, MAX_RW_COUNT, Source};
use crate::mm::page::{self, Page};
use crate::policy::General;
use crate::uaccess::{UserRange, copy_from_user, get_user, put_user};
use core::cell::Cell;

/// Moves bytes from a file at a position, which it moves, to a pipe with room.
pub type SpliceRead = fn(&OpenFile, &Cell<u64>, &Pipe, u32) -> Result<u32, Errno>;

/// Moves up to so many bytes from a pipe to a file at a position, which it moves; the flag says that it must not wait.
pub type SpliceWrite = fn(&Pipe, &OpenFile, &Cell<u64>, u32, bool) -> Result<u32, Errno>;

/// `SPLICE_F_NONBLOCK` (include/linux/splice.h).
pub const NONBLOCK: u32 = 2;
/// All flags: move, nonblock, more, gift.
const ALL: u32 = 0xf;

/// Reads by `read_iter` into fresh pages (`copy_splice_read`).
///
/// # Errors
/// `EINVAL` for a file without `read_iter`, `ENOMEM`, and the operation's own.
pub fn copy_splice_read(file: &OpenFile, position: &Cell<u64>, pipe: &Pipe, count: u32) -> Result<u32, Errno> {
    let read_iter = file.operations().read_iter.ok_or(Errno::EINVAL)?;
    let most = count.min((pipe.room() * page::LENGTH) as u32);
    let mut done = 0;
    while done < most {
        let mut page = match Page::unspecified() {
            Some(page) => page,
            None if done == 0 => return Err(Errno::ENOMEM),
            None => break,
        };
        let wanted = page::LENGTH.min((most - done) as usize);
        let mut segments = [&mut page.bytes_mut()[..wanted]];
        let read = with_kiocb(file, position, 0, |kiocb| {
            read_iter(kiocb, &mut IovIter::kernel(&mut segments))
        });
        let read = match read {
            Err(error) if done == 0 => return Err(error),
            Err(_) => break,
            Ok(read) => read,
        };
        if read > 0 {
            pipe.push(Buffer::new(page, read as usize));
        }
        done += read;
        if (read as usize) < wanted {
            break;
        }
    }
    Ok(done)
}

/// Hands the bytes of a pipe to `take`, page by page, until `count` are gone (`__splice_from_pipe`).
fn drain(pipe: &Pipe, count: u32, nonblocking: bool, take: impl Fn(&[u8]) -> Result<u32, Errno>) -> Result<u32, Errno> {
    let mut done = 0;
    while done < count {
        if pipe.is_empty() {
            if done == 0 && pipe.has_writers() {
                return Err(would_block(nonblocking));
            }
            break;
        }
        match pipe.consume(count - done, &take) {
            Err(error) if done == 0 => return Err(error),
            Err(_) | Ok(0) => break,
            Ok(taken) => done += taken,
        }
    }
    Ok(done)
}

/// Writes by `write_iter` from the pages of the pipe (`iter_file_splice_write`).
///
/// # Errors
/// `EINVAL` for a file without `write_iter`, and the operation's own.
pub fn iter_file_splice_write(
    pipe: &Pipe,
    file: &OpenFile,
    position: &Cell<u64>,
    count: u32,
    nonblocking: bool,
) -> Result<u32, Errno> {
    let write_iter = file.operations().write_iter.ok_or(Errno::EINVAL)?;
    drain(pipe, count, nonblocking, |bytes| {
        let mut segments = [bytes];
        with_kiocb(file, position, 0, |kiocb| {
            write_iter(kiocb, &mut IovIter::<Source>::kernel(&mut segments))
        })
    })
}

/// Takes everything (`splice_write_null`).
///
/// # Errors
/// When the pipe is empty and somebody could still write to it.
pub fn splice_write_null(
    pipe: &Pipe,
    _: &OpenFile,
    _: &Cell<u64>,
    count: u32,
    nonblocking: bool,
) -> Result<u32, Errno> {
    drain(pipe, count, nonblocking, |bytes| Ok(bytes.len() as u32))
}

/// Whether a page can be added (`wait_for_space`, `opipe_prep`).
fn check_room(pipe: &Pipe, nonblocking: bool) -> Result<(), Errno> {
    if !pipe.has_readers() {
        Err(Errno::EPIPE)
    } else if pipe.room() == 0 {
        Err(would_block(nonblocking))
    } else {
        Ok(())
    }
}

fn file_to_pipe(
    file: &OpenFile,
    position: &Cell<u64>,
    pipe: &Pipe,
    count: u32,
    nonblocking: bool,
) -> Result<u32, Errno> {
    check_room(pipe, nonblocking)?;
    let splice_read = file.operations().splice_read.ok_or(Errno::EINVAL)?;
    splice_read(file, position, pipe, count.min(MAX_RW_COUNT))
}

fn pipe_to_file(
    pipe: &Pipe,
    file: &OpenFile,
    position: &Cell<u64>,
    count: u32,
    nonblocking: bool,
) -> Result<u32, Errno> {
    let splice_write = file.operations().splice_write.ok_or(Errno::EINVAL)?;
    splice_write(pipe, file, position, count, nonblocking)
}

/// Both pipes as `ipipe_prep` and `opipe_prep` want them; `false` when nothing can come any more.
fn prepare(input: &Pipe, output: &Pipe, nonblocking: bool) -> Result<bool, Errno> {
    if input.is_empty() && input.has_writers() {
        return Err(would_block(nonblocking));
    }
    let is_full = output.room() == 0;
    if is_full {
        check_room(output, nonblocking)?;
    }
    if !output.has_readers() {
        return Err(Errno::EPIPE);
    }
    Ok(!input.is_empty())
}

fn pipe_to_pipe(input: &Pipe, output: &Pipe, count: u32, nonblocking: bool) -> Result<u32, Errno> {
    let mut done = 0;
    if prepare(input, output, nonblocking)? {
        while done < count && !input.is_empty() && output.room() > 0 {
            done += input.move_first(output, count - done)?;
        }
    }
    Ok(done)
}

/// Where a descriptor's bytes are: at its own position, or at one in user memory (a `loff_t`).
#[derive(Clone, Copy)]
pub struct End<'a> {
    /// The file.
    pub file: &'a OpenFile,
    /// User address of the position; 0 for none.
    pub offset: u32,
}

/// The `loff_t` at a user address.
///
/// # Errors
/// `EFAULT`.
pub fn read_offset(address: u32) -> Result<u64, Errno> {
    get_user::<General, u64>(UserAddr::new(address))
}

/// Writes a `loff_t` to a user address.
///
/// # Errors
/// `EFAULT`.
pub fn write_offset(address: u32, offset: u64) -> Result<(), Errno> {
    put_user::<General, u64>(UserAddr::new(address), offset)
}

impl End<'_> {
    /// The position to start at.
    fn position(&self) -> Result<Cell<u64>, Errno> {
        if self.offset == 0 {
            Ok(self.file.position().clone())
        } else {
            read_offset(self.offset).map(Cell::new)
        }
    }

    /// Notes the position that was reached.
    fn set_position(&self, position: u64) -> Result<(), Errno> {
        if self.offset == 0 {
            self.file.position().set(position);
            Ok(())
        } else {
            write_offset(self.offset, position)
        }
    }
}

/// `splice`.
///
/// # Errors
/// `EINVAL`, `EBADF`, `ESPIPE`, `EFAULT`, `EPIPE`, `EAGAIN` or `EDEADLK`, and those of the operations.
pub fn do_splice(input: End<'_>, output: End<'_>, count: u32, flags: u32) -> Result<u32, Errno> {
    let (from, to) = (pipe::of(input.file), pipe::of(output.file));
    if from.is_some() && input.offset != 0 || to.is_some() && output.offset != 0 {
        return Err(Errno::ESPIPE);
    }
    // Both positions are fetched before anything else is looked at.
    let (start, target) = (input.position()?, output.position()?);
    if !input.file.may_read() || !output.file.may_write() {
        return Err(Errno::EBADF);
    }
    let is_nonblocking = |file: &OpenFile| flags & NONBLOCK != 0 || file.is_nonblocking();
    match (from, to) {
        (Some(from), Some(to)) => {
            if core::ptr::eq(from, to) {
                return Err(Errno::EINVAL);
            }
            pipe_to_pipe(
                from,
                to,
                count,
                is_nonblocking(input.file) || is_nonblocking(output.file),
            )
        }
        (Some(from), None) => {
            if output.offset != 0 && !output.file.is_positional() {
                return Err(Errno::EINVAL);
            }
            if output.file.status_flags() & open_flags::APPEND != 0 {
                return Err(Errno::EINVAL);
            }
            rw_verify_area(target.get(), count)?;
            let done = pipe_to_file(from, output.file, &target, count, is_nonblocking(input.file))?;
            output.set_position(target.get())?;
            Ok(done)
        }
        (None, Some(to)) => {
            if input.offset != 0 && !input.file.is_positional() {
                return Err(Errno::EINVAL);
            }
            rw_verify_area(start.get(), count)?;
            let done = file_to_pipe(input.file, &start, to, count, is_nonblocking(output.file))?;
            input.set_position(start.get())?;
            Ok(done)
        }
        (None, None) => Err(Errno::EINVAL),
    }
}

/// `EINVAL` for flags that do not exist.
///
/// # Errors
/// See above.
pub fn check_flags(flags: u32) -> Result<(), Errno> {
    if flags & !ALL == 0 { Ok(()) } else { Err(Errno::EINVAL) }
}

/// `tee`: copies from pipe to pipe and takes nothing away.
///
/// # Errors
/// `EBADF`, `EINVAL`, `EPIPE`, `EAGAIN` or `EDEADLK`, `ENOMEM`.
pub fn do_tee(input: &OpenFile, output: &OpenFile, count: u32, flags: u32) -> Result<u32, Errno> {
    if !input.may_read() || !output.may_write() {
        return Err(Errno::EBADF);
    }
    let (Some(from), Some(to)) = (pipe::of(input), pipe::of(output)) else {
        return Err(Errno::EINVAL);
    };
    if core::ptr::eq(from, to) {
        return Err(Errno::EINVAL);
    }
    let nonblocking = flags & NONBLOCK != 0 || input.is_nonblocking() || output.is_nonblocking();
    let mut done = 0;
    if prepare(from, to, nonblocking)? {
        let mut index = 0;
        while done < count && to.room() > 0 {
            match from.copy_page(index, to, count - done)? {
                0 => break,
                copied => done += copied,
            }
            index += 1;
        }
    }
    Ok(done)
}

/// `vmsplice` to the writing end of a pipe: each page of each segment becomes a page of the pipe, as a copy.
///
/// # Errors
/// `EPIPE`, `EAGAIN` or `EDEADLK`, `EFAULT`, `ENOMEM`.
pub fn vmsplice_to_pipe(pipe: &Pipe, segments: &[UserRange], nonblocking: bool) -> Result<u32, Errno> {
    check_room(pipe, nonblocking)?;
    let mut done = 0;
    for segment in segments {
        let mut rest = *segment;
        while !rest.is_empty() && pipe.room() > 0 {
            let to_page_end = page::LENGTH as u32 - rest.start() % page::LENGTH as u32;
            let piece = rest.truncate(to_page_end);
            let mut page = Page::unspecified().ok_or(Errno::ENOMEM)?;
            let target = &mut page.bytes_mut()[..piece.len() as usize];
            if !copy_from_user::<General>(target, &piece).is_done() {
                return if done == 0 { Err(Errno::EFAULT) } else { Ok(done) };
            }
            pipe.push(Buffer::new(page, piece.len() as usize));
            done += piece.len();
            rest = rest.advance(piece.len());
        }
    }
    Ok(done)
}

/// `vmsplice` from the reading end of a pipe.
///
/// # Errors
/// `EAGAIN` or `EDEADLK`, `EFAULT`.
pub fn vmsplice_to_user(pipe: &Pipe, segments: &[UserRange], nonblocking: bool) -> Result<u32, Errno> {
    let mut iter = IovIter::vector(segments);
    let count = iter.count();
    let iter = core::cell::RefCell::new(&mut iter);
    drain(pipe, count, nonblocking, |bytes| {
        match crate::iter::copy_to_iter::<General>(bytes, &mut iter.borrow_mut()) {
            0 => Err(Errno::EFAULT),
            copied => Ok(copied),
        }
    })
}

/// `sendfile64`: to a pipe directly, else through a pipe of its own.
///
/// # Errors
/// `EBADF`, `ESPIPE`, `EINVAL`, `EFAULT`, `EPIPE`, `EAGAIN` or `EDEADLK`, and those of the operations.
pub fn do_sendfile(
    input: &OpenFile,
    output: Result<&OpenFile, Errno>,
    position: &Cell<u64>,
    is_explicit: bool,
    count: u32,
) -> Result<u32, Errno> {
    if !input.may_read() {
        return Err(Errno::EBADF);
    }
    if is_explicit && !input.is_positional() {
        return Err(Errno::ESPIPE);
    }
    rw_verify_area(position.get(), count)?;
    let output = output?;
    if !output.may_write() {
        return Err(Errno::EBADF);
    }
    if position.get() + u64::from(count) > tmp::MAX_BYTES && position.get() >= tmp::MAX_BYTES {
        return Err(Errno::EOVERFLOW);
    }
    let count = count.min(MAX_RW_COUNT);
    if let Some(pipe) = pipe::of(output) {
        return file_to_pipe(input, position, pipe, count, output.is_nonblocking());
    }
    rw_verify_area(output.position().get(), count)?;
    if output.status_flags() & open_flags::APPEND != 0 || !input.is_positional() {
        return Err(Errno::EINVAL);
    }
    let splice_read = input.operations().splice_read.ok_or(Errno::EINVAL)?;
    let target = output.position().clone();
    let pipe = Pipe::new();
    let mut done = 0;
    while done < count {
        let before = position.get();
        let moved = splice_read(input, position, &pipe, count - done);
        let moved = match moved {
            Err(error) if done == 0 => return Err(error),
            Err(_) | Ok(0) => break,
            Ok(moved) => moved,
        };
        match pipe_to_file(&pipe, output, &target, moved, false) {
            Err(error) if done == 0 => {
                position.set(before);
                return Err(error);
            }
            Err(_) => {
                position.set(before);
                break;
            }
            Ok(written) => {
                done += written;
                if written < moved {
                    position.set(before + u64::from(written));
                    break;
                }
            }
        }
    }
    output.position().set(target.get());
    Ok(done)
}
