//! What a program asks of the system it runs on.
#![forbid(unsafe_code)]

use super::errno::Errno;
use alloc::vec::Vec;
use core::ffi::CStr;

/// A file descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fd(pub i32);

impl Fd {
    /// Standard input.
    pub const STDIN: Fd = Fd(0);
    /// Standard output.
    pub const STDOUT: Fd = Fd(1);
    /// Standard error.
    pub const STDERR: Fd = Fd(2);
}

/// Flags of `open`, as 32-bit PowerPC numbers them. Source: kernel `arch/powerpc/include/uapi/asm/fcntl.h` and
/// `asm-generic/fcntl.h`.
pub mod open_flags {
    /// Read only.
    pub const O_RDONLY: u32 = 0;
    /// Write only.
    pub const O_WRONLY: u32 = 0o1;
    /// Create the file if there is none.
    pub const O_CREAT: u32 = 0o100;
    /// Cut an existing file to length 0.
    pub const O_TRUNC: u32 = 0o1000;
    /// Every write goes to the end.
    pub const O_APPEND: u32 = 0o2000;
    /// Offsets beyond 2^31 - 1 are wanted; a 32-bit program must say so itself.
    pub const O_LARGEFILE: u32 = 0o200_000;
    /// Transfers bypass the page cache.
    pub const O_DIRECT: u32 = 0o400_000;
}

/// Where a seek counts from; the values are those of the ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whence {
    /// The start of the file.
    Start = 0,
    /// The current offset.
    Current = 1,
    /// The end of the file.
    End = 2,
}

/// Memory that is read and written in segments, with the array of them as calls want it (`struct iovec`).
#[derive(Debug, Default)]
pub struct IoVector {
    memory: Vec<u8>,
    entries: Vec<Entry>,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Entry {
    base: *mut u8,
    length: usize,
}

impl IoVector {
    /// `bytes` bytes in `segments` segments, in order and as equal as possible.
    pub fn new(bytes: usize, segments: usize) -> Self {
        let mut vector = Self {
            memory: alloc::vec![0; bytes],
            entries: Vec::new(),
        };
        let mut rest = &mut vector.memory[..];
        for left in (1..=segments).rev() {
            let (segment, behind) = rest.split_at_mut(rest.len() / left);
            vector.entries.push(Entry {
                base: segment.as_mut_ptr(),
                length: segment.len(),
            });
            rest = behind;
        }
        vector
    }

    /// The memory.
    pub fn bytes(&self) -> &[u8] {
        &self.memory
    }

    /// The memory, to be written by a call that has no use for the array.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory
    }

    /// Lengths of the segments.
    pub fn segments(&self) -> impl Iterator<Item = usize> {
        self.entries.iter().map(|entry| entry.length)
    }

    /// Address and length of the array.
    pub fn array(&self) -> (*const (), usize) {
        (self.entries.as_ptr().cast(), self.entries.len())
    }
}

/// The system calls that the portable programs use. Each method is one call, with its result as the kernel gave it:
/// short counts and `EINTR` are the caller's business.
pub trait Sys {
    /// Opens `path`; `flags` from [`open_flags`], `mode` for a file that is created.
    ///
    /// # Errors
    /// As `open(2)`.
    fn open(&mut self, path: &CStr, flags: u32, mode: u32) -> Result<Fd, Errno>;

    /// Closes `fd`.
    ///
    /// # Errors
    /// As `close(2)`.
    fn close(&mut self, fd: Fd) -> Result<(), Errno>;

    /// Reads at most `buffer.len()` bytes; 0 is the end of the file.
    ///
    /// # Errors
    /// As `read(2)`; nothing was read.
    fn read(&mut self, fd: Fd, buffer: &mut [u8]) -> Result<usize, Errno>;

    /// Reads at most `buffer.len()` bytes from `offset` on, without moving the file offset; 0 is the end of the file.
    ///
    /// # Errors
    /// As `pread64(2)`; nothing was read.
    fn read_at(&mut self, fd: Fd, buffer: &mut [u8], offset: u64) -> Result<usize, Errno>;

    /// Writes at most `bytes.len()` bytes and returns how many went.
    ///
    /// # Errors
    /// As `write(2)`; nothing was written.
    fn write(&mut self, fd: Fd, bytes: &[u8]) -> Result<usize, Errno>;

    /// Reads into the segments of `vector`, in order; 0 is the end of the file.
    ///
    /// # Errors
    /// As `readv(2)`; nothing was read.
    fn read_vector(&mut self, fd: Fd, vector: &mut IoVector) -> Result<usize, Errno>;

    /// Writes the segments of `vector`, in order, and returns how many bytes went.
    ///
    /// # Errors
    /// As `writev(2)`; nothing was written.
    fn write_vector(&mut self, fd: Fd, vector: &IoVector) -> Result<usize, Errno>;

    /// Moves at most `count` bytes from `from` to `to` within the system; 0 is the end of the file.
    ///
    /// # Errors
    /// As `sendfile64(2)`; nothing was moved.
    fn send_file(&mut self, to: Fd, from: Fd, count: usize) -> Result<usize, Errno>;

    /// Moves at most `count` bytes between a file and a pipe, or two pipes; 0 is the end of the file.
    ///
    /// # Errors
    /// As `splice(2)`; nothing was moved.
    fn splice(&mut self, from: Fd, to: Fd, count: usize) -> Result<usize, Errno>;

    /// Makes a pipe; gives its reading and its writing end.
    ///
    /// # Errors
    /// As `pipe(2)`.
    fn pipe(&mut self) -> Result<[Fd; 2], Errno>;

    /// Moves the file offset and returns the new one, in bytes from the start.
    ///
    /// # Errors
    /// As `_llseek(2)`; `ESPIPE` where there is no offset to move.
    fn seek(&mut self, fd: Fd, offset: i64, whence: Whence) -> Result<u64, Errno>;

    /// Cuts or extends the file to `length` bytes.
    ///
    /// # Errors
    /// As `ftruncate64(2)`; `EINVAL` for what is not a regular file.
    fn truncate(&mut self, fd: Fd, length: u64) -> Result<(), Errno>;

    /// Waits until the file's data are on their medium.
    ///
    /// # Errors
    /// As `fsync(2)`.
    fn sync(&mut self, fd: Fd) -> Result<(), Errno>;

    /// The parent's process number: the smallest system call there is.
    ///
    /// # Errors
    /// None on Linux; `ENOSYS` on a system without the call.
    fn parent_process(&mut self) -> Result<u32, Errno>;

    /// Nanoseconds on a clock that never goes back, from an arbitrary start (`CLOCK_MONOTONIC`).
    ///
    /// # Errors
    /// As `clock_gettime(2)`; `ENOSYS` where the system has no clock.
    fn monotonic_ns(&mut self) -> Result<u64, Errno>;

    /// The time base, which programs may read themselves: a steady count of unknown rate.
    fn ticks(&mut self) -> u64;
}

/// Writes all of `bytes`, going on after short counts and interruptions.
///
/// # Errors
/// `(done, error)`: the bytes that went before the error. A write that returns 0 counts as `ENOSPC`, since going on
/// would never end.
pub fn write_all<S: Sys>(sys: &mut S, fd: Fd, bytes: &[u8]) -> Result<(), (usize, Errno)> {
    if bytes.is_empty() {
        return Ok(());
    }
    let first = sys.write(fd, bytes);
    write_rest(sys, fd, bytes, first)
}

/// As [`write_all`], where the first call has been made and its result is `first`.
///
/// # Errors
/// As [`write_all`].
pub fn write_rest<S: Sys>(
    sys: &mut S,
    fd: Fd,
    bytes: &[u8],
    first: Result<usize, Errno>,
) -> Result<(), (usize, Errno)> {
    let mut done = 0;
    let mut result = first;
    loop {
        match result {
            Ok(0) => return Err((done, Errno::ENOSPC)),
            Ok(count) => done += count,
            Err(Errno::EINTR) => {}
            Err(error) => return Err((done, error)),
        }
        if done >= bytes.len() {
            return Ok(());
        }
        result = sys.write(fd, &bytes[done..]);
    }
}
