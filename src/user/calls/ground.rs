//! What the calls work on: buffers, addresses that must be refused, and descriptors of every kind.

use super::record::{Record, quiet};
use crate::user::errno::Errno;
use crate::user::linux::number::*;
use crate::user::start::StartInfo;
use alloc::vec::Vec;
use core::ffi::CStr;

/// `O_RDWR`, and further flags of `open` on 32-bit PowerPC (kernel `arch/powerpc/include/uapi/asm/fcntl.h` and
/// `asm-generic/fcntl.h`).
pub const O_RDWR: u32 = 0o2;
/// As [`O_RDWR`].
pub const O_WRONLY: u32 = 0o1;
/// As [`O_RDWR`].
pub const O_CREAT: u32 = 0o100;
/// As [`O_RDWR`].
pub const O_EXCL: u32 = 0o200;
/// As [`O_RDWR`].
pub const O_TRUNC: u32 = 0o1000;
/// As [`O_RDWR`].
pub const O_APPEND: u32 = 0o2000;
/// As [`O_RDWR`].
pub const O_NONBLOCK: u32 = 0o4000;
/// As [`O_RDWR`].
pub const O_DIRECTORY: u32 = 0o40_000;
/// As [`O_RDWR`].
pub const O_LARGEFILE: u32 = 0o200_000;
/// As [`O_RDWR`].
pub const O_CLOEXEC: u32 = 0o2_000_000;

/// -1 as an argument.
pub const MINUS_1: u32 = u32::MAX;
/// An address in the kernel, on every system that keeps one for itself.
pub const KERNEL: u32 = 0xc000_0000;
/// First address above user space, where a kernel has the upper half.
pub const TASK_SIZE: u32 = 0x8000_0000;

/// Descriptors that a program may have here: set as limit, so that it is the same everywhere.
pub const DESCRIPTORS: u32 = 256;

/// Where the good descriptors begin, above those that a call gives as the lowest free.
const FIRST: u32 = 40;
/// A descriptor that is never open.
pub const CLOSED: u32 = 99;

/// Bytes around a buffer that must not change.
const GUARD: u32 = 128;
/// Bytes of the buffer.
pub const BUFFER_LEN: u32 = 8192;
/// What buffers hold before each call.
const POISON: u8 = 0xa5;

/// Bytes of the test file at the start of a call.
pub const FILE_LEN: u32 = 4000;
/// File position at the start of a call.
const FILE_POSITION: u32 = 100;
/// Bytes in the pipe before a call that reads from it.
const PIPE_FILLING: u32 = 32;

/// What stands behind a descriptor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Zero,
    Null,
    Full,
    File,
    PipeReader,
    PipeWriter,
    Directory,
    None,
}

/// A descriptor of the list.
#[derive(Clone, Copy)]
pub struct Descriptor {
    pub name: &'static str,
    pub number: u32,
    pub kind: Kind,
}

/// Memory and descriptors.
pub struct Ground {
    /// A good buffer of [`BUFFER_LEN`] bytes with guards on both sides.
    pub buffer: u32,
    /// As many bytes of a pattern, for writing.
    pub source: u32,
    /// Four pages for vectors, offsets and small results.
    pub table: u32,
    /// A page that only this module uses.
    scratch: u32,
    /// A page that can only be read.
    pub read_only: u32,
    /// An address with nothing mapped.
    pub hole: u32,
    /// The first byte of a page without rights, behind two pages with all.
    pub edge: u32,
    /// Bytes of a page.
    pub page: u32,
    /// The test file.
    pub path: &'static CStr,
    /// Everything a call may be given as a descriptor.
    pub descriptors: Vec<Descriptor>,
}

const PROT_READ: u32 = 1;
const PROT_WRITE: u32 = 2;
/// `MAP_PRIVATE | MAP_ANONYMOUS`.
pub const ANONYMOUS: u32 = 0x22;
const SIGPIPE: u32 = 13;
const SIG_IGN: u32 = 1;
/// Bytes of a set of signals.
const SIGNAL_SET_LEN: u32 = 8;
const RLIMIT_NOFILE: u32 = 7;
const AT_PAGESZ: u32 = 6;

/// The address of a text.
pub fn text(text: &CStr) -> u32 {
    text.as_ptr().addr() as u32
}

/// The address of an array.
pub fn address<T>(values: &[T]) -> u32 {
    values.as_ptr().expose_provenance() as u32
}

/// The bytes at an address of [`Ground`]'s own memory.
pub fn bytes(address: u32, length: u32) -> &'static mut [u8] {
    // SAFETY: the callers name memory that `Ground` mapped for good; one thread runs, each slice is used at once and
    // dropped before the next call.
    unsafe {
        core::slice::from_raw_parts_mut(
            core::ptr::with_exposed_provenance_mut(address as usize),
            length as usize,
        )
    }
}

/// Writes words to a place in the table.
pub fn put_words(address: u32, words: &[u32]) {
    for (slot, word) in bytes(address, words.len() as u32 * 4).chunks_mut(4).zip(words) {
        slot.copy_from_slice(&word.to_be_bytes());
    }
}

/// The word at a place in the table.
pub fn word(address: u32) -> u32 {
    u32::from_be_bytes(bytes(address, 4).try_into().unwrap_or_default())
}

fn map(length: u32) -> Result<u32, Errno> {
    quiet(MMAP2, [0, length, PROT_READ | PROT_WRITE, ANONYMOUS, MINUS_1, 0])
}

/// Byte `index` of the pattern that files and sources hold: no two neighbouring pages of it are alike.
fn pattern(index: u32) -> u8 {
    (index.wrapping_mul(167) ^ (index >> 8).wrapping_mul(59)) as u8
}

impl Ground {
    /// Maps the memory and opens the descriptors.
    pub fn prepare(start: &StartInfo<'_>, path: &'static CStr) -> Result<Self, Errno> {
        let page_size = |entry: &&(u32, u32)| entry.0 == AT_PAGESZ;
        let page = start.auxiliary.iter().find(page_size).map_or(4096, |entry| entry.1);
        let area = map(2 * BUFFER_LEN + 2 * page)?;
        let edge = map(3 * page)? + 2 * page;
        quiet(MPROTECT, [edge, page, 0])?;
        let read_only = map(page)?;
        bytes(read_only, page).fill(POISON);
        quiet(MPROTECT, [read_only, page, PROT_READ])?;
        // Between two pages, so that no later mapping of more than one page falls into it.
        let hole = map(3 * page)? + page;
        let mut ground = Self {
            buffer: area + page,
            source: area + page + BUFFER_LEN + page / 2,
            table: map(4 * page)?,
            scratch: map(page)?,
            read_only,
            hole,
            edge,
            page,
            path,
            descriptors: Vec::new(),
        };
        ground.fill_source();
        quiet(MUNMAP, [hole, page])?;
        // `struct sigaction`: handler, flags, restorer, mask. A system without signals has nothing to ignore.
        put_words(ground.table, &[SIG_IGN, 0, 0, 0, 0]);
        let _ = quiet(RT_SIGACTION, [SIGPIPE, ground.table, 0, SIGNAL_SET_LEN]);
        put_words(ground.table, &[DESCRIPTORS, DESCRIPTORS]);
        let _ = quiet(SETRLIMIT, [RLIMIT_NOFILE, ground.table]);
        ground.open_all()?;
        Ok(ground)
    }

    /// Writes the pattern that is the source of writes.
    pub fn fill_source(&self) {
        for (index, byte) in bytes(self.source, BUFFER_LEN).iter_mut().enumerate() {
            *byte = pattern(index as u32 + 1);
        }
    }

    fn open_all(&mut self) -> Result<(), Errno> {
        use Kind::*;
        let file = O_LARGEFILE | O_NONBLOCK;
        let files: [(&'static str, &CStr, u32, Kind); 11] = [
            ("zero", c"/dev/zero", O_RDWR, Zero),
            ("zero-r", c"/dev/zero", 0, Zero),
            ("null", c"/dev/null", O_RDWR, Null),
            ("null-w", c"/dev/null", O_WRONLY, Null),
            ("full", c"/dev/full", O_RDWR, Full),
            ("full-w", c"/dev/full", O_WRONLY, Full),
            ("file", self.path, O_RDWR | O_CREAT | O_TRUNC | file, File),
            ("file-r", self.path, file, File),
            ("file-w", self.path, O_WRONLY | file, File),
            ("file-a", self.path, O_RDWR | O_APPEND | file, File),
            ("dir", c"/dev", O_DIRECTORY, Directory),
        ];
        for (name, path, flags, kind) in files {
            let fd = quiet(OPEN, [text(path), flags, 0o644])?;
            self.keep(name, fd, kind)?;
        }
        quiet(PIPE2, [self.table, O_NONBLOCK])?;
        let ends = [word(self.table), word(self.table + 4)];
        self.keep("pipe-r", ends[0], PipeReader)?;
        self.keep("pipe-w", ends[1], PipeWriter)?;
        for (name, number) in [
            ("closed", CLOSED),
            ("limit", DESCRIPTORS),
            ("-1", MINUS_1),
            ("int-max", 0x7fff_ffff),
            ("int-min", 0x8000_0000),
        ] {
            self.descriptors.push(Descriptor {
                name,
                number,
                kind: None,
            });
        }
        Ok(())
    }

    /// Moves a descriptor out of the way of those to come.
    fn keep(&mut self, name: &'static str, fd: u32, kind: Kind) -> Result<(), Errno> {
        let number = FIRST + self.descriptors.len() as u32;
        quiet(DUP2, [fd, number])?;
        quiet(CLOSE, [fd])?;
        self.descriptors.push(Descriptor { name, number, kind });
        Ok(())
    }

    /// The descriptor with a name of the list.
    pub fn fd(&self, name: &str) -> u32 {
        let named = |entry: &&Descriptor| entry.name == name;
        self.descriptors.iter().find(named).map_or(CLOSED, |entry| entry.number)
    }

    /// Poisons the buffer and puts what is behind the descriptors into its first state; `reads` says that the call is
    /// going to read, so that the pipe holds something.
    pub fn restore(&self, kind: Kind, reads: bool) {
        bytes(self.buffer - GUARD, BUFFER_LEN + 2 * GUARD).fill(POISON);
        match kind {
            Kind::File => self.restore_file(),
            Kind::PipeReader | Kind::PipeWriter => {
                self.drain();
                if reads {
                    let _ = quiet(WRITE, [self.fd("pipe-w"), self.source, PIPE_FILLING]);
                }
            }
            _ => {}
        }
    }

    /// Gives the test file its first contents and positions.
    pub fn restore_file(&self) {
        let file = self.fd("file");
        let _ = quiet(FTRUNCATE64, [file, 0, 0, 0]);
        let _ = quiet(PWRITE64, [file, self.source, FILE_LEN, 0, 0, 0]);
        for name in ["file", "file-r", "file-w", "file-a"] {
            let _ = quiet(LSEEK, [self.fd(name), FILE_POSITION, 0]);
        }
    }

    /// Empties the pipe; gives the bytes that were in it.
    pub fn drain(&self) -> u32 {
        let room = self.scratch;
        let mut total = 0;
        while let Ok(count @ 1..) = quiet(READ, [self.fd("pipe-r"), room, self.page]) {
            total += count;
        }
        total
    }

    /// Takes the buffer and its guards, or their first `length` bytes, into the digest.
    pub fn digest_buffer(&self, record: &mut Record, length: u32) {
        record.digest(bytes(self.buffer - GUARD, length.min(BUFFER_LEN) + 2 * GUARD));
    }

    /// Takes into the digest what a call left behind its descriptor: position and contents of a file, contents of the
    /// pipe.
    pub fn digest_behind(&self, record: &mut Record, descriptor: Descriptor, writes: bool) {
        let room = self.scratch;
        match descriptor.kind {
            Kind::File => {
                record.digest_number(self.position(descriptor.number));
                if writes {
                    self.digest_file(record);
                }
            }
            Kind::PipeWriter if writes => {
                while let Ok(count @ 1..) = quiet(READ, [self.fd("pipe-r"), room, self.page]) {
                    record.digest(bytes(room, count));
                }
            }
            _ => {}
        }
    }

    /// Takes size and contents of the test file into the digest.
    pub fn digest_file(&self, record: &mut Record) {
        let (file, room) = (self.fd("file"), self.scratch);
        let mut offset = 0;
        while let Ok(count @ 1..) = quiet(PREAD64, [file, room, self.page, 0, 0, offset]) {
            record.digest(bytes(room, count));
            offset += count;
        }
        record.digest_number(offset.into());
    }

    /// The file position of a descriptor.
    pub fn position(&self, fd: u32) -> u64 {
        let place = self.scratch;
        match quiet(LLSEEK, [fd, 0, 0, place, 1]) {
            Ok(_) => u64::from(word(place)) << 32 | u64::from(word(place + 4)),
            Err(_) => u64::MAX,
        }
    }
}
