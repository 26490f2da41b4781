//! Calls with bad and borderline arguments: one line each, so that two systems can be compared line by line.

use super::memory::{MAP_PRIVATE_ANONYMOUS, NO_FILE, PROT_READ, PROT_WRITE, map_pages, protect, store_word, unmap};
use super::{page_size, say};
use crate::user::errno::Errno;
use crate::user::linux::number::*;
use crate::user::linux::{Linux, syscall};
use crate::user::print::complain;
use crate::user::start::StartInfo;
use alloc::vec;
use core::fmt;

/// Directory descriptor that stands for the working directory (kernel `include/uapi/linux/fcntl.h`).
const AT_FDCWD: u32 = (-100i32).cast_unsigned();
/// -1 as an argument.
const MINUS_1: u32 = u32::MAX;
/// First address above user space in the firmware, and an address in its kernel.
const TASK_SIZE: u32 = 0x8000_0000;
const KERNEL: u32 = 0xc000_0000;
/// Flags of `open` (kernel `arch/powerpc/include/uapi/asm/fcntl.h`).
const O_WRONLY: u32 = 1;
const O_RDWR: u32 = 2;
const O_DIRECTORY: u32 = 0o40_000;

/// One call: how it reads, its number, its arguments.
type Call<'a> = (&'a str, u32, &'a [u32]);

/// The result of a call as text.
struct Outcome {
    number: u32,
    result: Result<u32, Errno>,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.result, self.number) {
            // These values differ between systems or from run to run.
            (Ok(_), GETPID | GETPPID | TIMES | OPEN | OPENAT | DUP2 | MMAP2) => f.write_str("ok"),
            (Ok(value), _) => write!(f, "{}", value.cast_signed()),
            (Err(error), _) => match error.name() {
                Some(name) => f.write_str(name),
                None => write!(f, "errno {}", error.0),
            },
        }
    }
}

/// Makes the calls in turn and prints their results.
fn print_calls(sys: &mut Linux, calls: &[Call<'_>]) -> u8 {
    let mut status = 0;
    for &(text, number, arguments) in calls {
        let result = call(number, arguments);
        status |= say(sys, format_args!("{text} = {}\n", Outcome { number, result }));
    }
    status
}

fn call(number: u32, arguments: &[u32]) -> Result<u32, Errno> {
    // SAFETY: the tables below give the kernel no memory but the probe's own buffers and pages, and addresses that must
    // be refused.
    unsafe { syscall(number, arguments) }
}

/// What the calls work on.
struct Ground {
    /// A good buffer of [`BUFFER_LEN`] bytes.
    buffer: u32,
    /// An address with nothing mapped.
    hole: u32,
    /// The first byte of a page without rights, behind two pages with all.
    edge: u32,
    page: u32,
    zero: u32,
    null: u32,
    null_for_writing: u32,
}

const BUFFER_LEN: usize = 8192;

impl Ground {
    fn prepare(start: &StartInfo<'_>) -> Result<Ground, Errno> {
        let page = page_size(start);
        let pages = map_pages(3 * page)?;
        let edge = pages + 2 * page;
        protect(edge, page, 0)?;
        let hole = map_pages(page)?;
        unmap(hole, page)?;
        let open = |path: &core::ffi::CStr, flags| call(OPEN, &[text(path), flags, 0]);
        Ok(Ground {
            buffer: vec![0u8; BUFFER_LEN].leak().as_mut_ptr().addr() as u32,
            hole,
            edge,
            page,
            zero: open(c"/dev/zero", O_RDWR)?,
            null: open(c"/dev/null", 0)?,
            null_for_writing: open(c"/dev/null", O_WRONLY)?,
        })
    }
}

fn text(text: &core::ffi::CStr) -> u32 {
    text.as_ptr().addr() as u32
}

fn vector<const N: usize>(parts: &[(u32, u32); N]) -> u32 {
    parts.as_ptr().addr() as u32
}

fn prepared(sys: &mut Linux, start: &StartInfo<'_>) -> Option<Ground> {
    match Ground::prepare(start) {
        Ok(ground) => Some(ground),
        Err(error) => {
            complain(sys, format_args!("probe: cannot prepare the calls: {error}\n"));
            None
        }
    }
}

/// Calls whose results are the same on every Linux for 32-bit PowerPC, and under its user-mode emulation.
pub fn print_errors(sys: &mut Linux, start: &StartInfo<'_>) -> u8 {
    let Some(Ground {
        buffer: b,
        hole,
        page,
        zero,
        null,
        null_for_writing,
        ..
    }) = prepared(sys, start)
    else {
        return 1;
    };
    print_descriptor_calls(sys, b, zero, null, null_for_writing)
        | print_path_calls(sys)
        | print_transfer_calls(sys, b, hole, zero, null_for_writing)
        | print_position_calls(sys, b, hole, zero, null)
        | print_clock_calls(sys, b, hole)
        | print_mapping_calls(sys, hole, page)
}

fn print_descriptor_calls(sys: &mut Linux, b: u32, zero: u32, null: u32, null_for_writing: u32) -> u8 {
    print_calls(
        sys,
        &[
            ("system call 9999", 9999, &[]),
            ("system call -1", MINUS_1, &[]),
            ("getpid()", GETPID, &[]),
            ("getppid()", GETPPID, &[]),
            ("read(-1, buffer, 1)", READ, &[MINUS_1, b, 1]),
            ("read(99, buffer, 1)", READ, &[99, b, 1]),
            ("read(99, buffer, 0)", READ, &[99, b, 0]),
            ("write(-1, buffer, 1)", WRITE, &[MINUS_1, b, 1]),
            ("write(99, buffer, 0)", WRITE, &[99, b, 0]),
            ("read(null for writing, buffer, 1)", READ, &[null_for_writing, b, 1]),
            ("write(null for reading, buffer, 1)", WRITE, &[null, b, 1]),
            ("close(-1)", CLOSE, &[MINUS_1]),
            ("close(99)", CLOSE, &[99]),
            ("dup2(-1, 5)", DUP2, &[MINUS_1, 5]),
            ("dup2(99, 5)", DUP2, &[99, 5]),
            ("dup2(zero, -1)", DUP2, &[zero, MINUS_1]),
            ("dup2(zero, 2147483647)", DUP2, &[zero, 0x7fff_ffff]),
            ("dup2(zero, zero)", DUP2, &[zero, zero]),
            ("dup2(zero, 20)", DUP2, &[zero, 20]),
            ("read(20, buffer, 3)", READ, &[20, b, 3]),
            ("close(20)", CLOSE, &[20]),
            ("close(20) again", CLOSE, &[20]),
            ("read(20, buffer, 3) after close", READ, &[20, b, 3]),
        ],
    )
}

fn print_path_calls(sys: &mut Linux) -> u8 {
    let long = [&[b'a'; 5000][..], b"\0"].concat();
    print_calls(
        sys,
        &[
            ("open(\"\")", OPEN, &[text(c""), 0]),
            ("open(NULL)", OPEN, &[0, 0]),
            ("open(\"/nonexistent\")", OPEN, &[text(c"/nonexistent"), 0]),
            ("open(\"/nonexistent/x\")", OPEN, &[text(c"/nonexistent/x"), 0]),
            ("open(\"/dev/zero/x\")", OPEN, &[text(c"/dev/zero/x"), 0]),
            (
                "open(\"/dev/zero\", O_DIRECTORY)",
                OPEN,
                &[text(c"/dev/zero"), O_DIRECTORY],
            ),
            ("open(\"/dev\", O_WRONLY)", OPEN, &[text(c"/dev"), O_WRONLY]),
            (
                "open(a name of 5000 characters)",
                OPEN,
                &[long.as_ptr().addr() as u32, 0],
            ),
            ("open(\"/dev//./zero\")", OPEN, &[text(c"/dev//./zero"), 0]),
            (
                "openat(AT_FDCWD, \"/dev/zero\")",
                OPENAT,
                &[AT_FDCWD, text(c"/dev/zero"), 0],
            ),
            ("openat(-1, \"/dev/zero\")", OPENAT, &[MINUS_1, text(c"/dev/zero"), 0]),
            ("openat(-1, \"zero\")", OPENAT, &[MINUS_1, text(c"zero"), 0]),
            ("openat(AT_FDCWD, NULL)", OPENAT, &[AT_FDCWD, 0, 0]),
        ],
    )
}

fn print_transfer_calls(sys: &mut Linux, b: u32, hole: u32, zero: u32, null: u32) -> u8 {
    let three = [(b, 10), (b + 10, 0), (b + 20, 6)];
    let empty_at_null = [(b, 4), (0, 0), (b + 8, 4)];
    let bad_first = [(hole, 8), (b, 8)];
    let negative = [(b, 8), (b, 0x8000_0000)];
    let nothing = [(0, 0), (0, 0)];
    print_calls(
        sys,
        &[
            ("read(zero, buffer, 100)", READ, &[zero, b, 100]),
            ("read(zero, buffer, 0)", READ, &[zero, b, 0]),
            ("read(zero, NULL, 0)", READ, &[zero, 0, 0]),
            ("read(zero, NULL, 1)", READ, &[zero, 0, 1]),
            ("read(zero, hole, 64)", READ, &[zero, hole, 64]),
            ("read(zero, hole + 3, 5)", READ, &[zero, hole + 3, 5]),
            ("read(zero, -1, 1)", READ, &[zero, MINUS_1, 1]),
            ("read(zero, -4096, 4096)", READ, &[zero, 0xffff_f000, 4096]),
            ("write(null, buffer, 100)", WRITE, &[null, b, 100]),
            ("write(null, NULL, 0)", WRITE, &[null, 0, 0]),
            ("write(zero, buffer, 100)", WRITE, &[zero, b, 100]),
            ("readv(-1, vector, 1)", READV, &[MINUS_1, vector(&three), 1]),
            ("readv(zero, vector, 0)", READV, &[zero, vector(&three), 0]),
            ("readv(zero, NULL, 0)", READV, &[zero, 0, 0]),
            ("readv(zero, NULL, 1)", READV, &[zero, 0, 1]),
            ("readv(zero, hole, 1)", READV, &[zero, hole, 1]),
            ("readv(zero, vector, -1)", READV, &[zero, vector(&three), MINUS_1]),
            ("readv(zero, vector, 1025)", READV, &[zero, vector(&three), 1025]),
            ("readv(zero, 10 + 0 + 6, 3)", READV, &[zero, vector(&three), 3]),
            (
                "readv(zero, 4 + 0 at NULL + 4, 3)",
                READV,
                &[zero, vector(&empty_at_null), 3],
            ),
            ("readv(zero, 0 + 0 at NULL, 2)", READV, &[zero, vector(&nothing), 2]),
            ("readv(zero, hole + buffer, 2)", READV, &[zero, vector(&bad_first), 2]),
            (
                "readv(zero, a negative length, 2)",
                READV,
                &[zero, vector(&negative), 2],
            ),
            ("writev(-1, vector, 1)", WRITEV, &[MINUS_1, vector(&three), 1]),
            ("writev(null, vector, 0)", WRITEV, &[null, vector(&three), 0]),
            ("writev(null, NULL, 1)", WRITEV, &[null, 0, 1]),
            ("writev(null, vector, 1025)", WRITEV, &[null, vector(&three), 1025]),
            ("writev(null, 10 + 0 + 6, 3)", WRITEV, &[null, vector(&three), 3]),
            (
                "writev(null, a negative length, 2)",
                WRITEV,
                &[null, vector(&negative), 2],
            ),
        ],
    )
}

fn print_position_calls(sys: &mut Linux, b: u32, hole: u32, zero: u32, null: u32) -> u8 {
    print_calls(
        sys,
        &[
            ("lseek(-1, 0, SEEK_SET)", LSEEK, &[MINUS_1, 0, 0]),
            ("lseek(zero, 5, SEEK_SET)", LSEEK, &[zero, 5, 0]),
            ("lseek(null, 5, SEEK_CUR)", LSEEK, &[null, 5, 1]),
            ("lseek(zero, -5, SEEK_END)", LSEEK, &[zero, (-5i32).cast_unsigned(), 2]),
            ("lseek(zero, 0, 9)", LSEEK, &[zero, 0, 9]),
            ("_llseek(-1, 0, 0, result, SEEK_SET)", LLSEEK, &[MINUS_1, 0, 0, b, 0]),
            ("_llseek(zero, 1, 0, result, SEEK_SET)", LLSEEK, &[zero, 1, 0, b, 0]),
            ("_llseek(zero, 0, 0, result, 9)", LLSEEK, &[zero, 0, 0, b, 9]),
            ("_llseek(zero, 0, 0, NULL, SEEK_SET)", LLSEEK, &[zero, 0, 0, 0, 0]),
            ("_llseek(zero, 0, 0, hole, SEEK_CUR)", LLSEEK, &[zero, 0, 0, hole, 1]),
        ],
    )
}

fn print_clock_calls(sys: &mut Linux, b: u32, hole: u32) -> u8 {
    print_calls(
        sys,
        &[
            ("clock_gettime(CLOCK_REALTIME, buffer)", CLOCK_GETTIME, &[0, b]),
            ("clock_gettime(CLOCK_MONOTONIC, buffer)", CLOCK_GETTIME, &[1, b]),
            ("clock_gettime(99, buffer)", CLOCK_GETTIME, &[99, b]),
            ("clock_gettime(CLOCK_MONOTONIC, NULL)", CLOCK_GETTIME, &[1, 0]),
            ("clock_gettime(CLOCK_MONOTONIC, hole)", CLOCK_GETTIME, &[1, hole]),
            ("gettimeofday(buffer, NULL)", GETTIMEOFDAY, &[b, 0]),
            ("gettimeofday(NULL, NULL)", GETTIMEOFDAY, &[0, 0]),
            ("gettimeofday(hole, NULL)", GETTIMEOFDAY, &[hole, 0]),
            ("times(buffer)", TIMES, &[b]),
            ("times(NULL)", TIMES, &[0]),
            ("times(hole)", TIMES, &[hole]),
            ("uname(buffer)", UNAME, &[b]),
            ("uname(NULL)", UNAME, &[0]),
            ("uname(hole)", UNAME, &[hole]),
        ],
    )
}

fn print_mapping_calls(sys: &mut Linux, hole: u32, page: u32) -> u8 {
    let read_write = PROT_READ | PROT_WRITE;
    let mut status = print_calls(
        sys,
        &[
            (
                "mmap2(0, 0, rw, private anonymous)",
                MMAP2,
                &[0, 0, read_write, MAP_PRIVATE_ANONYMOUS, NO_FILE, 0],
            ),
            (
                "mmap2(0, page, rw, anonymous only)",
                MMAP2,
                &[0, page, read_write, 0x20, NO_FILE, 0],
            ),
            (
                "mmap2(0, 0xfffff000, rw, private anonymous)",
                MMAP2,
                &[0, 0xffff_f000, read_write, MAP_PRIVATE_ANONYMOUS, NO_FILE, 0],
            ),
            ("munmap(hole + 1, page)", MUNMAP, &[hole + 1, page]),
            ("munmap(hole, 0)", MUNMAP, &[hole, 0]),
            ("munmap(hole, page)", MUNMAP, &[hole, page]),
            ("mprotect(hole + 1, page, r)", MPROTECT, &[hole + 1, page, PROT_READ]),
            ("mprotect(hole, page, 0x100)", MPROTECT, &[hole, page, 0x100]),
        ],
    );
    let result = call(MMAP2, &[0, 3 * page, read_write, MAP_PRIVATE_ANONYMOUS, NO_FILE, 0]);
    let outcome = Outcome { number: MMAP2, result };
    status |= say(
        sys,
        format_args!("mmap2(0, 3 pages, rw, private anonymous) = {outcome}\n"),
    );
    if let Ok(pages) = result {
        status |= print_calls(
            sys,
            &[
                ("munmap(the middle page)", MUNMAP, &[pages + page, page]),
                ("munmap(over the gap)", MUNMAP, &[pages, 3 * page]),
                ("munmap(over the gap) again", MUNMAP, &[pages, 3 * page]),
            ],
        );
    }
    status
}

/// Calls at the limits of user memory. User-mode emulation answers some of them otherwise than a kernel, because it
/// checks whole buffers beforehand and keeps no address range for a kernel.
pub fn print_limits(sys: &mut Linux, start: &StartInfo<'_>) -> u8 {
    let Some(Ground {
        buffer: b,
        hole,
        edge,
        page,
        zero,
        null_for_writing: null,
        ..
    }) = prepared(sys, start)
    else {
        return 1;
    };
    let rest = TASK_SIZE - (edge - 2 * page);
    print_calls(
        sys,
        &[
            ("read(zero, edge - 5, 64)", READ, &[zero, edge - 5, 64]),
            ("read(zero, edge - 1, 2)", READ, &[zero, edge - 1, 2]),
            ("read(zero, edge - 64, 64)", READ, &[zero, edge - 64, 64]),
            ("read(zero, edge - 5000, 9000)", READ, &[zero, edge - 5000, 9000]),
            (
                "read(zero, edge - 2 pages, all up to TASK_SIZE)",
                READ,
                &[zero, edge - 2 * page, rest],
            ),
            (
                "read(zero, edge - 2 pages, one byte more)",
                READ,
                &[zero, edge - 2 * page, rest + 1],
            ),
            ("read(zero, edge, 1)", READ, &[zero, edge, 1]),
            ("read(zero, edge, 0)", READ, &[zero, edge, 0]),
            ("read(zero, TASK_SIZE - 1, 0)", READ, &[zero, TASK_SIZE - 1, 0]),
            ("read(zero, TASK_SIZE, 0)", READ, &[zero, TASK_SIZE, 0]),
            ("read(zero, TASK_SIZE - 1, 2)", READ, &[zero, TASK_SIZE - 1, 2]),
            ("read(zero, TASK_SIZE, 1)", READ, &[zero, TASK_SIZE, 1]),
            ("read(zero, TASK_SIZE + page, 1)", READ, &[zero, TASK_SIZE + page, 1]),
            ("read(zero, KERNEL - page, 1)", READ, &[zero, KERNEL - page, 1]),
            ("read(zero, KERNEL, 0)", READ, &[zero, KERNEL, 0]),
            ("read(zero, KERNEL, 64)", READ, &[zero, KERNEL, 64]),
            ("read(zero, buffer, 0x80000000)", READ, &[zero, b, 0x8000_0000]),
            ("read(zero, buffer, -1)", READ, &[zero, b, MINUS_1]),
            ("write(null, NULL, 16)", WRITE, &[null, 0, 16]),
            ("write(null, NULL, 0x7fffffff)", WRITE, &[null, 0, 0x7fff_ffff]),
            ("write(null, NULL, 0x80000000)", WRITE, &[null, 0, 0x8000_0000]),
            ("write(null, hole, 16)", WRITE, &[null, hole, 16]),
            ("write(null, TASK_SIZE - 1, 2)", WRITE, &[null, TASK_SIZE - 1, 2]),
            ("write(null, KERNEL, 64)", WRITE, &[null, KERNEL, 64]),
            ("write(null, KERNEL, 0)", WRITE, &[null, KERNEL, 0]),
            ("write(null, buffer, 0x80000000)", WRITE, &[null, b, 0x8000_0000]),
            ("read(99, NULL, 1)", READ, &[99, 0, 1]),
            ("mprotect(hole, 0, r)", MPROTECT, &[hole, 0, PROT_READ]),
            ("mprotect(hole, page, r)", MPROTECT, &[hole, page, PROT_READ]),
        ],
    ) | print_vector_limits(sys, b, hole, edge, zero, null)
}

fn print_vector_limits(sys: &mut Linux, b: u32, hole: u32, edge: u32, zero: u32, null: u32) -> u8 {
    let bad_second = [(b, 10), (hole, 6)];
    let over_the_edge = [(edge - 5, 64), (b, 8)];
    let at_null = [(0, 5), (b, 5)];
    let two_large = [(0, 0x7fff_ffff), (0, 0x7fff_ffff)];
    let single_bytes = vec![(b, 1u32); 1024];
    let single_bytes = single_bytes.as_ptr().addr() as u32;
    // A vector of three, the last entry of which ends at the edge.
    let last = edge - 24;
    for (address, word) in (last..edge).step_by(4).zip([b, 4, b + 4, 0, b + 8, 6]) {
        store_word(address, word);
    }
    print_calls(
        sys,
        &[
            ("readv(zero, vector up to the edge, 3)", READV, &[zero, last, 3]),
            ("readv(zero, vector over the edge, 4)", READV, &[zero, last, 4]),
            ("readv(zero, 10 + hole, 2)", READV, &[zero, vector(&bad_second), 2]),
            (
                "readv(zero, over the edge + 8, 2)",
                READV,
                &[zero, vector(&over_the_edge), 2],
            ),
            ("writev(null, 5 at NULL + 5, 2)", WRITEV, &[null, vector(&at_null), 2]),
            ("writev(null, 10 + hole, 2)", WRITEV, &[null, vector(&bad_second), 2]),
            (
                "writev(null, 0x7fffffff twice, 2)",
                WRITEV,
                &[null, vector(&two_large), 2],
            ),
            ("writev(null, 1024 of 1, 1024)", WRITEV, &[null, single_bytes, 1024]),
            (
                "writev(null, 1024 of 1, 0x40000000)",
                WRITEV,
                &[null, single_bytes, 0x4000_0000],
            ),
        ],
    )
}
