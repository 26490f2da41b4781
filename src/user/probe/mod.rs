//! `probe WHAT [ARGUMENTS]`: small actions for tests of the system below.
//!
//! Most do something that the system must stop; when it does not, they say so and end with status 1. Actions that may
//! succeed or not, depending on their arguments, end with status 0 when they succeed.
//!
//! ```text
//!   memory      loads, stores and jumps: anywhere, and into pages of given rights; the break; the stack's end
//!   registers   what a system call leaves alone
//!   calls       a table of calls with bad and borderline arguments, one line of result each
//! ```
//!
//! All of this is unsafe code by intent: it breaks the rules of memory on purpose, in a process that holds nothing of
//! value.

mod calls;
mod memory;
mod registers;

use super::linux::Linux;
use super::print::{Text, complain, print};
use super::start::StartInfo;
use super::sys::{Fd, Sys, open_flags, write_all};
use core::arch::asm;
use core::ffi::CStr;

const USAGE: &str = "\
usage: probe WHAT
  load ADDRESS | store ADDRESS | jump ADDRESS     touch one word of memory (addresses as 4096 or 0x1000)
  write-text | exec-stack                         write to own code, execute the stack
  exec-page RIGHTS [load|store|jump]              touch a page with rights none r w rw x rx wx rwx (default: jump)
  illegal | fp | privileged                       execute the word 0, fadd, mfmsr
  registers                                       check what system calls leave alone, faulting ones too
  args                                            print arguments, environment and auxiliary vector
  brk | stack-overflow                            grow and shrink the break; use up the stack
  errno | limits                                  print the results of bad calls; of calls at the limits of memory
  cat [FILE...] | echo [WORD...] | exit STATUS    copy files to standard output, print words, end
";

/// Runs the program; returns its exit status.
pub fn main(start: &StartInfo<'_>, sys: &mut Linux) -> u8 {
    let operands = start.operands();
    let texts = |index: usize| operands.get(index).map(|text| text.to_bytes());
    match (texts(0), texts(1), texts(2), operands.len()) {
        (Some(b"load"), Some(text), None, 2) => at_address(sys, text, memory::load),
        (Some(b"store"), Some(text), None, 2) => at_address(sys, text, memory::store),
        (Some(b"jump"), Some(text), None, 2) => at_address(sys, text, memory::jump),
        (Some(b"write-text"), None, ..) => memory::write_text(sys),
        (Some(b"exec-stack"), None, ..) => memory::exec_stack(sys),
        (Some(b"exec-page"), Some(rights), access, 2 | 3) => {
            memory::exec_page(sys, start, rights, access.unwrap_or(b"jump"))
        }
        (Some(b"illegal"), None, ..) => {
            // SAFETY: the word 0 is no instruction; should it pass, it changes nothing.
            unsafe { asm!(".long 0") };
            not_stopped(sys, "the illegal instruction 0")
        }
        (Some(b"privileged"), None, ..) => {
            // SAFETY: mfmsr only reads.
            unsafe { asm!("mfmsr {}", out(reg) _) };
            not_stopped(sys, "mfmsr")
        }
        (Some(b"fp"), None, ..) => {
            // fadd 1, 1, 1: written as a word, since the target has no such instruction.
            // SAFETY: only the floating-point register 1 changes, which nothing here uses.
            unsafe { asm!(".long 0xfc21082a") };
            say(sys, format_args!("probe: a floating-point instruction was executed\n"))
        }
        (Some(b"registers"), None, ..) => registers::check(sys, start),
        (Some(b"args"), ..) => print_start(sys, start),
        (Some(b"brk"), None, ..) => memory::grow_break(sys),
        (Some(b"stack-overflow"), None, ..) => memory::overflow_stack(sys),
        (Some(b"errno"), None, ..) => calls::print_errors(sys, start),
        (Some(b"limits"), None, ..) => calls::print_limits(sys, start),
        (Some(b"cat"), ..) => cat(sys, &operands[1..]),
        (Some(b"echo"), ..) => echo(sys, &operands[1..]),
        (Some(b"exit"), Some(text), None, 2) => match number(text).map(u8::try_from) {
            Some(Ok(status)) => status,
            _ => refuse(sys, "a status from 0 to 255", text),
        },
        (Some(b"--help"), ..) => say(sys, format_args!("{USAGE}")),
        (Some(what), ..) => {
            complain(
                sys,
                format_args!("probe: cannot do '{}' with these arguments\n{USAGE}", Text(what)),
            );
            1
        }
        (None, ..) => {
            complain(sys, format_args!("probe: nothing to do\n{USAGE}"));
            1
        }
    }
}

/// Prints to standard output; the status is 0 unless that fails.
fn say(sys: &mut Linux, text: core::fmt::Arguments<'_>) -> u8 {
    match print(sys, Fd::STDOUT, text) {
        Ok(()) => 0,
        Err(error) => {
            complain(sys, format_args!("probe: cannot write to standard output: {error}\n"));
            1
        }
    }
}

/// Says that something went through that must not.
fn not_stopped(sys: &mut Linux, what: &str) -> u8 {
    complain(sys, format_args!("probe: {what} was not stopped\n"));
    1
}

fn refuse(sys: &mut Linux, accepted: &str, text: &[u8]) -> u8 {
    complain(sys, format_args!("probe: '{}' is not {accepted}\n", Text(text)));
    1
}

/// Reads a number in decimal or with `0x`; `None` when it is none or exceeds 32 bits.
fn number(text: &[u8]) -> Option<u32> {
    let text = core::str::from_utf8(text).ok()?;
    match text.strip_prefix("0x") {
        Some(digits) if !digits.starts_with('+') => u32::from_str_radix(digits, 16).ok(),
        None if !text.starts_with('+') => text.parse().ok(),
        _ => None,
    }
}

fn at_address(sys: &mut Linux, text: &[u8], action: fn(&mut Linux, u32) -> u8) -> u8 {
    match number(text) {
        Some(address) => action(sys, address),
        None => refuse(sys, "an address", text),
    }
}

/// Names of auxiliary vector types (kernel `include/uapi/linux/auxvec.h` and `arch/powerpc/include/uapi/asm/auxvec.h`).
const AUXILIARY_NAMES: [(u32, &str); 22] = [
    (3, "AT_PHDR"),
    (4, "AT_PHENT"),
    (5, "AT_PHNUM"),
    (6, "AT_PAGESZ"),
    (7, "AT_BASE"),
    (8, "AT_FLAGS"),
    (9, "AT_ENTRY"),
    (11, "AT_UID"),
    (12, "AT_EUID"),
    (13, "AT_GID"),
    (14, "AT_EGID"),
    (15, "AT_PLATFORM"),
    (16, "AT_HWCAP"),
    (17, "AT_CLKTCK"),
    (19, "AT_DCACHEBSIZE"),
    (20, "AT_ICACHEBSIZE"),
    (21, "AT_UCACHEBSIZE"),
    (22, "AT_IGNOREPPC"),
    (23, "AT_SECURE"),
    (25, "AT_RANDOM"),
    (26, "AT_HWCAP2"),
    (31, "AT_EXECFN"),
];

/// Type of the auxiliary entry that holds the page size in bytes.
const AT_PAGESZ: u32 = 6;

/// The page size that the system told the process, in bytes.
fn page_size(start: &StartInfo<'_>) -> u32 {
    start
        .auxiliary
        .iter()
        .find(|(kind, _)| *kind == AT_PAGESZ)
        .map_or(4096, |&(_, bytes)| bytes)
}

fn print_start(sys: &mut Linux, start: &StartInfo<'_>) -> u8 {
    let mut status = say(
        sys,
        format_args!("stack {:#010x}\nargc {}\n", start.stack, start.arguments.len()),
    );
    for (index, &text) in start.arguments.iter().enumerate() {
        status |= say(sys, format_args!("argv[{index}] {}\n", Text::from(text)));
    }
    for (index, &text) in start.environment.iter().enumerate() {
        status |= say(sys, format_args!("envp[{index}] {}\n", Text::from(text)));
    }
    for &(kind, value) in &start.auxiliary {
        status |= match AUXILIARY_NAMES.iter().find(|(number, _)| *number == kind) {
            Some((_, name)) => say(sys, format_args!("{name} {value:#x}\n")),
            None => say(sys, format_args!("auxiliary type {kind} {value:#x}\n")),
        };
    }
    status
}

fn echo(sys: &mut Linux, words: &[&CStr]) -> u8 {
    for (index, &word) in words.iter().enumerate() {
        let space = if index == 0 { "" } else { " " };
        if say(sys, format_args!("{space}{}", Text::from(word))) != 0 {
            return 1;
        }
    }
    say(sys, format_args!("\n"))
}

fn cat(sys: &mut Linux, files: &[&CStr]) -> u8 {
    if files.is_empty() {
        return cat_descriptor(sys, Fd::STDIN, c"standard input");
    }
    let mut status = 0;
    for &name in files {
        status |= match sys.open(name, open_flags::O_RDONLY | open_flags::O_LARGEFILE, 0) {
            Ok(fd) => {
                let status = cat_descriptor(sys, fd, name);
                // Nothing was written to it, so closing has nothing to report.
                let _ = sys.close(fd);
                status
            }
            Err(error) => {
                complain(sys, format_args!("probe: can't open '{}': {error}\n", Text::from(name)));
                1
            }
        };
    }
    status
}

fn cat_descriptor(sys: &mut Linux, fd: Fd, name: &CStr) -> u8 {
    let mut buffer = [0; 1024];
    loop {
        let count = match sys.read(fd, &mut buffer) {
            Ok(0) => return 0,
            Ok(count) => count,
            Err(error) => {
                complain(
                    sys,
                    format_args!("probe: error reading '{}': {error}\n", Text::from(name)),
                );
                return 1;
            }
        };
        if let Err((_, error)) = write_all(sys, Fd::STDOUT, &buffer[..count]) {
            complain(sys, format_args!("probe: cannot write to standard output: {error}\n"));
            return 1;
        }
    }
}
