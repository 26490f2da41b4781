//! Pipes: a ring of sixteen pages (fs/pipe.c).
//!
//! A write goes on in the last page, if all that exceeds whole pages fits there, and else begins a new one, as in the
//! kernel, so that a pipe is full after the same bytes. One task has both ends: what the kernel would wait for can never
//! come, unless the descriptor does not block anyway. A read of an empty pipe that has writers, and a write to a full one,
//! therefore fail with `EDEADLK`, which the kernel never returns there, and with `EAGAIN` under `O_NONBLOCK`.
#![forbid(unsafe_code)]

use super::node::Node;
use super::{FileOperations, Kiocb, OpenFile};
use crate::arch::single::Single;
use crate::errno::Errno;
use crate::iter::{Destination, IovIter, Source, copy_from_iter, copy_to_iter};
use crate::mm::page::{self, Page};
use crate::policy::General;
use alloc::collections::VecDeque;
use core::cell::{Cell, RefCell};

/// Pages of a pipe (`PIPE_DEF_BUFFERS`).
pub const BUFFERS: usize = 16;

/// Pipes in the system.
const PIPES: usize = 32;

/// A page of a pipe, with what is in it.
pub struct Buffer {
    page: Page,
    offset: usize,
    length: usize,
    /// Whether a later write may go on behind it (`PIPE_BUF_FLAG_CAN_MERGE`). Set by writes alone, never left from before.
    can_merge: bool,
}

impl Buffer {
    /// A page that starts with `length` bytes of content and belongs to nobody else.
    pub fn new(page: Page, length: usize) -> Self {
        Self {
            page,
            offset: 0,
            length,
            can_merge: false,
        }
    }

    /// What is in it.
    pub fn bytes(&self) -> &[u8] {
        &self.page.bytes()[self.offset..self.offset + self.length]
    }
}

/// A pipe.
pub struct Pipe {
    buffers: RefCell<VecDeque<Buffer>>,
    readers: Cell<u32>,
    writers: Cell<u32>,
}

static TABLE: Single<[Pipe; PIPES]> = Single::new([const { Pipe::new() }; PIPES]);

/// Which pipe of the table a file is an end of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index(u8);

/// The reading end.
pub static READER: FileOperations = FileOperations {
    read_iter: Some(pipe_read),
    release: Some(release),
    ..FileOperations::NOTHING
};

/// The writing end.
pub static WRITER: FileOperations = FileOperations {
    write_iter: Some(pipe_write),
    release: Some(release),
    ..FileOperations::NOTHING
};

/// The pipe that a file is an end of (`get_pipe_info`).
pub fn of(file: &OpenFile) -> Option<&'static Pipe> {
    match file.node() {
        Node::Pipe(Index(index)) => TABLE.get().get(usize::from(index)),
        _ => None,
    }
}

/// Takes an unused pipe, with one reader and one writer.
///
/// # Errors
/// `ENFILE` when all are in use.
pub fn create() -> Result<Index, Errno> {
    let is_unused = |pipe: &Pipe| pipe.readers.get() == 0 && pipe.writers.get() == 0;
    let index = TABLE.get().iter().position(is_unused).ok_or(Errno::ENFILE)?;
    TABLE.get()[index].readers.set(1);
    TABLE.get()[index].writers.set(1);
    Ok(Index(index as u8))
}

/// Gives up both ends of a pipe that no file was made of.
pub fn discard(Index(index): Index) {
    let pipe = &TABLE.get()[usize::from(index)];
    pipe.readers.set(0);
    pipe.writers.set(0);
}

fn release(file: &OpenFile) {
    if let Some(pipe) = of(file) {
        let ends = if file.may_write() { &pipe.writers } else { &pipe.readers };
        ends.set(ends.get() - 1);
        if pipe.readers.get() == 0 && pipe.writers.get() == 0 {
            pipe.buffers.take();
        }
    }
}

impl Pipe {
    /// A pipe without ends, for what a call moves within itself.
    pub const fn new() -> Self {
        Self {
            buffers: RefCell::new(VecDeque::new()),
            readers: Cell::new(0),
            writers: Cell::new(0),
        }
    }

    /// Whether somebody can still read from it.
    pub fn has_readers(&self) -> bool {
        self.readers.get() > 0
    }

    /// Whether somebody can still write to it.
    pub fn has_writers(&self) -> bool {
        self.writers.get() > 0
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.buffers.borrow().is_empty()
    }

    /// Pages that can still be added.
    pub fn room(&self) -> usize {
        BUFFERS - self.buffers.borrow().len()
    }

    /// Bytes in it (`FIONREAD`).
    pub fn length(&self) -> u32 {
        self.buffers.borrow().iter().map(|buffer| buffer.length as u32).sum()
    }

    /// Adds a page; dropped if there is no room, which callers look for before.
    pub fn push(&self, buffer: Buffer) {
        if self.room() > 0 {
            self.buffers.borrow_mut().push_back(buffer);
        }
    }

    /// Hands the first bytes to `take`, at most `most` and only from one page; it returns how many it took, which are
    /// gone then.
    ///
    /// # Errors
    /// Those of `take`; nothing is gone then.
    pub fn consume(&self, most: u32, take: impl FnOnce(&[u8]) -> Result<u32, Errno>) -> Result<u32, Errno> {
        let mut buffers = self.buffers.borrow_mut();
        let Some(buffer) = buffers.front_mut() else {
            return Ok(0);
        };
        let length = buffer.length.min(most as usize);
        let taken = take(&buffer.bytes()[..length])?;
        buffer.offset += taken as usize;
        buffer.length -= taken as usize;
        if buffer.length == 0 {
            buffers.pop_front();
        }
        Ok(taken)
    }

    /// Moves up to `most` bytes of the first page to `target`, which has room.
    pub fn move_first(&self, target: &Pipe, most: u32) -> Result<u32, Errno> {
        let mut buffers = self.buffers.borrow_mut();
        let Some(buffer) = buffers.front_mut() else {
            return Ok(0);
        };
        if buffer.length <= most as usize {
            let length = buffer.length as u32;
            if let Some(buffer) = buffers.pop_front() {
                target.push(buffer);
            }
            return Ok(length);
        }
        target.push(copy(&buffer.bytes()[..most as usize])?);
        buffer.offset += most as usize;
        buffer.length -= most as usize;
        Ok(most)
    }

    /// Copies up to `most` bytes of page `index` to `target`, which has room; 0 if there is no such page.
    pub fn copy_page(&self, index: usize, target: &Pipe, most: u32) -> Result<u32, Errno> {
        let buffers = self.buffers.borrow();
        let Some(buffer) = buffers.get(index) else {
            return Ok(0);
        };
        let length = buffer.length.min(most as usize);
        target.push(copy(&buffer.bytes()[..length])?);
        Ok(length as u32)
    }

    /// What `poll` finds at an end: `POLLIN` 1, `POLLOUT` 4, `POLLERR` 8, `POLLHUP` 16, `POLLRDNORM` 64, `POLLWRNORM` 256
    /// (include/uapi/asm-generic/poll.h).
    pub fn poll(&self, is_writer: bool) -> u16 {
        let bits = |condition: bool, bits: u16| if condition { bits } else { 0 };
        if is_writer {
            bits(self.room() > 0, 4 | 256) | bits(!self.has_readers(), 8)
        } else {
            bits(!self.is_empty(), 1 | 64) | bits(!self.has_writers(), 16)
        }
    }
}

impl Default for Pipe {
    fn default() -> Self {
        Self::new()
    }
}

/// A page of its own with these bytes, at most a page of them.
fn copy(bytes: &[u8]) -> Result<Buffer, Errno> {
    let mut page = Page::unspecified().ok_or(Errno::ENOMEM)?;
    page.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
    Ok(Buffer::new(page, bytes.len()))
}

/// The error of a call that would have to wait.
pub fn would_block(is_nonblocking: bool) -> Errno {
    if is_nonblocking { Errno::EAGAIN } else { Errno::EDEADLK }
}

fn pipe_read(kiocb: &Kiocb<'_>, iter: &mut IovIter<'_, Destination>) -> Result<u32, Errno> {
    let pipe = of(kiocb.file).ok_or(Errno::EIO)?;
    let wanted = iter.count();
    while iter.count() > 0 {
        if pipe.is_empty() {
            if iter.count() == wanted && pipe.has_writers() {
                return Err(would_block(kiocb.file.is_nonblocking()));
            }
            break;
        }
        let before = iter.count();
        // What cannot be delivered whole stays in the pipe and is not counted, though user memory may have changed.
        let taken = pipe.consume(before, |bytes| {
            let copied = copy_to_iter::<General>(bytes, iter);
            if copied as usize == bytes.len() {
                Ok(copied)
            } else {
                Err(Errno::EFAULT)
            }
        });
        match taken {
            Err(error) if before == wanted => return Err(error),
            Err(_) => return Ok(wanted - before),
            Ok(_) => {}
        }
    }
    Ok(wanted - iter.count())
}

/// Bytes that are copied from user memory in one piece before they go where they belong: what a fault cuts short must not
/// change what was there.
const PORTION: usize = 512;

/// Copies from an iterator to `target` and nothing beyond what came; returns how many bytes.
pub(super) fn copy_exactly(target: &mut [u8], iter: &mut IovIter<'_, Source>) -> usize {
    let mut portion = [0; PORTION];
    let mut done = 0;
    while done < target.len() {
        let wanted = PORTION.min(target.len() - done);
        let copied = copy_from_iter::<General>(&mut portion[..wanted], iter) as usize;
        target[done..done + copied].copy_from_slice(&portion[..copied]);
        done += copied;
        if copied < wanted {
            break;
        }
    }
    done
}

fn pipe_write(kiocb: &Kiocb<'_>, iter: &mut IovIter<'_, Source>) -> Result<u32, Errno> {
    let pipe = of(kiocb.file).ok_or(Errno::EIO)?;
    let wanted = iter.count() as usize;
    if wanted == 0 {
        return Ok(0);
    }
    if !pipe.has_readers() {
        return Err(Errno::EPIPE);
    }
    let mut buffers = pipe.buffers.borrow_mut();
    let mut done = 0;
    let rest = wanted % page::LENGTH;
    if rest > 0
        && let Some(last) = buffers.back_mut()
        && last.can_merge
        && last.offset + last.length + rest <= page::LENGTH
    {
        let end = last.offset + last.length;
        let copied = copy_exactly(&mut last.page.bytes_mut()[end..end + rest], iter);
        if copied < rest {
            return Err(Errno::EFAULT);
        }
        last.length += rest;
        done = rest;
    }
    while done < wanted {
        if buffers.len() == BUFFERS {
            if done == 0 {
                return Err(would_block(kiocb.file.is_nonblocking()));
            }
            break;
        }
        let Some(mut page) = Page::unspecified() else {
            return if done == 0 { Err(Errno::ENOMEM) } else { Ok(done as u32) };
        };
        let portion = page::LENGTH.min(wanted - done);
        if copy_exactly(&mut page.bytes_mut()[..portion], iter) < portion {
            return if done == 0 { Err(Errno::EFAULT) } else { Ok(done as u32) };
        }
        buffers.push_back(Buffer {
            page,
            offset: 0,
            length: portion,
            can_merge: true,
        });
        done += portion;
    }
    Ok(done as u32)
}
