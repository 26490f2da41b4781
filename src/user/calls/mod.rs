//! `calls [OPTION...]`: makes thousands of system calls with good, bad and edge arguments over descriptors of every kind
//! and prints each result, with a digest of what the calls left in memory and files. Two systems answer alike when the
//! outputs are equal.
//!
//! ```text
//!   ground        buffers, bad addresses, descriptors
//!   record        makes a call, counts it, prints rows
//!   transfer      read, write, pread64, pwrite64, readv, writev, preadv, pwritev, preadv2, pwritev2
//!   descriptors   lseek, dup, fcntl, fstat64, ioctl, poll, close
//!   files         open, creat, unlink, ftruncate64, append, holes
//!   pipes         pipe, splice, tee, vmsplice, sendfile64
//!   process       brk, mmap2, mprotect, clocks, times, unknown calls
//!   mixed         a long sequence of calls drawn from a generator
//! ```
//!
//! Like `probe` this is unsafe by intent: it hands the kernel addresses of every kind.

mod descriptors;
mod files;
mod ground;
mod mixed;
mod pipes;
mod process;
mod record;
mod transfer;

use super::linux::Linux;
use super::print::{Text, complain, print};
use super::start::StartInfo;
use super::sys::Fd;
use ground::Ground;
use record::{Record, quiet};

const USAGE: &str = "\
usage: calls [--file=PATH] [--kernel] [--verbose] [GROUP...]
Makes system calls and prints their results, a row for each list of arguments.
  --file=PATH   a file that may be made, written and removed (default /tmp/calls)
  --kernel      the groups whose calls a user-mode emulation answers itself
  --verbose     a line for each call, with its arguments
groups: ";

type Group = (&'static str, fn(&Ground, &mut Record));

/// Groups whose results are the same under user-mode emulation.
const GROUPS: [Group; 15] = [
    ("plain", transfer::plain),
    ("vectors", transfer::vectors),
    ("positions", descriptors::positions),
    ("copies", descriptors::copies),
    ("controls", descriptors::controls),
    ("status", descriptors::status),
    ("ioctls", descriptors::ioctls),
    ("readiness", descriptors::readiness),
    ("paths", files::paths),
    ("files", files::files),
    ("pipes", pipes::pipes),
    ("splices", pipes::splices),
    ("memory", process::memory),
    ("process", process::process),
    ("mixed", mixed::mixed),
];

/// Groups for kernels alone.
const KERNEL_GROUPS: [Group; 7] = [
    ("limits", transfer::limits),
    ("behind", transfer::behind_a_fault),
    ("limit", transfer::at_the_limit),
    ("flags", transfer::flags),
    ("bounds", process::bounds),
    ("table", descriptors::full_table),
    ("nothing", files::nothing),
];

/// Runs the program; returns its exit status.
pub fn main(start: &StartInfo<'_>, sys: &mut Linux) -> u8 {
    let mut path = c"/tmp/calls";
    let (mut is_verbose, mut kernel) = (false, false);
    let mut is_chosen = [false; GROUPS.len() + KERNEL_GROUPS.len()];
    let groups = || GROUPS.iter().chain(&KERNEL_GROUPS);
    for operand in start.operands() {
        match operand.to_bytes() {
            b"--help" => return u8::from(usage(sys).is_err()),
            b"--kernel" => kernel = true,
            b"--verbose" => is_verbose = true,
            text if text.starts_with(b"--file=") && text.len() > 7 => path = leak(&text[7..]),
            text => match groups().position(|group| group.0.as_bytes() == text) {
                Some(index) => is_chosen[index] = true,
                None => {
                    complain(sys, format_args!("calls: unexpected operand '{}'\n", Text(text)));
                    // There is nowhere to report that this failed.
                    let _ = usage(sys);
                    return 1;
                }
            },
        }
    }
    let ground = match Ground::prepare(start, path) {
        Ok(ground) => ground,
        Err(error) => {
            complain(
                sys,
                format_args!(
                    "calls: cannot prepare the calls with file '{}': {error}\n",
                    Text::from(path)
                ),
            );
            return 1;
        }
    };
    let mut record = Record::new(is_verbose);
    let any = is_chosen.contains(&true);
    for (index, (_, run)) in groups().enumerate() {
        let is_usual = (index >= GROUPS.len()) == kernel;
        if if any { is_chosen[index] } else { is_usual } {
            run(&ground, &mut record);
        }
    }
    let _ = quiet(super::linux::number::UNLINK, [ground::text(path)]);
    let counted = print(sys, Fd::STDOUT, format_args!("calls: {}\n", record.calls)).err();
    match record.error.or(counted) {
        None => 0,
        Some(error) => {
            complain(sys, format_args!("calls: cannot write to standard output: {error}\n"));
            1
        }
    }
}

fn usage(sys: &mut Linux) -> Result<(), super::errno::Errno> {
    print(sys, Fd::STDOUT, format_args!("{USAGE}"))?;
    for (name, _) in GROUPS {
        print(sys, Fd::STDOUT, format_args!("{name} "))?;
    }
    print(sys, Fd::STDOUT, format_args!("\nwith --kernel: "))?;
    for (name, _) in KERNEL_GROUPS {
        print(sys, Fd::STDOUT, format_args!("{name} "))?;
    }
    print(sys, Fd::STDOUT, format_args!("\n"))
}

/// A terminated copy of an operand's part, for the life of the process.
fn leak(text: &[u8]) -> &'static core::ffi::CStr {
    let copy = [text, b"\0"].concat().leak();
    core::ffi::CStr::from_bytes_until_nul(copy).unwrap_or_default()
}
