//! `dd`: copies blocks and says how fast, in busybox's sense.
//!
//! ```text
//!   operands   the command line, checked before anything is opened
//!   copy       positions, blocks, conversions, bookkeeping
//!   report     the closing lines
//! ```
//!
//! Where it differs from busybox 1.35, on purpose: products (`2x3`) as the C library's dd has them; `bs=` above
//! `ibs=`/`obs=` in any order; the later of two `status=` wins; a `skip=` past the end of the input is said; a failed
//! copy still reports its records, and a partial last write counts.
#![forbid(unsafe_code)]

pub mod copy;
pub mod operands;
pub mod report;

#[cfg(test)]
mod tests;

use super::errno::Errno;
use super::print::{Text, complain, print};
use super::start::StartInfo;
use super::sys::{Fd, Sys, open_flags};
use copy::{Buffers, Failure};
use core::ffi::CStr;
use operands::{Operands, Request, Status};
use report::Report;

/// Rights of a file that `of=` creates, before the process's mask.
const CREATE_MODE: u32 = 0o666;

const USAGE: &str = "\
usage: dd [if=FILE] [of=FILE] [bs=N | ibs=N obs=N] [count=N] [skip=N] [seek=N]
          [conv=WORDS] [iflag=WORDS] [oflag=WORDS] [status=none|noxfer]
Copies blocks of N bytes (default 512) and reports records, bytes, time and rate.

  if=, of=   input and output file (default: standard input and output)
  bs=        bytes per read and write; above ibs= (reads) and obs= (writes)
  count=     copy only N input blocks
  skip=      start N input blocks into the input
  seek=      start N output blocks into the output, which is cut there
  conv=      notrunc (do not cut the output)  sync (pad short blocks with zeros)  noerror (go on after read errors)
             fsync (wait for the medium)  swab (swap every two bytes)
  iflag=     fullblock (fill each block)  count_bytes, skip_bytes (N is in bytes)  direct (O_DIRECT)
  oflag=     append (O_APPEND)  seek_bytes (N is in bytes)  direct (O_DIRECT)
  status=    none (no report)  noxfer (records only)

N may end in c (1) w (2) b (512) k K (1024) kB KB (1000) M MB G GB, and be a product: 2x512.
";

/// Runs the program; returns its exit status.
pub fn main<S: Sys>(start: &StartInfo<'_>, sys: &mut S) -> u8 {
    match operands::parse(start.operands()) {
        Ok(Request::Copy(operands)) => run(sys, &operands),
        Ok(Request::Help) => match print(sys, Fd::STDOUT, format_args!("{USAGE}")) {
            Ok(()) => 0,
            Err(error) => {
                complain(sys, format_args!("dd: error writing 'standard output': {error}\n"));
                1
            }
        },
        Err(error) => {
            complain(sys, format_args!("dd: {error}\n"));
            1
        }
    }
}

/// Names of the two files in messages.
#[derive(Clone, Copy)]
struct Names<'a> {
    input: Text<'a>,
    output: Text<'a>,
}

/// Copies as `operands` say, and reports. What fails before the first block ends the program without a report.
fn run<S: Sys>(sys: &mut S, operands: &Operands<'_>) -> u8 {
    let names = Names {
        input: operands.input.map_or(Text(b"standard input"), Text::from),
        output: operands.output.map_or(Text(b"standard output"), Text::from),
    };
    let begin = sys.monotonic_ns();
    let Some((files, mut buffers)) = prepare(sys, operands, names) else {
        return 1;
    };
    let warn = |sys: &mut S, error| complain_of(sys, Failure::Read(error), names);
    let (records, outcome) = copy::copy(sys, operands, files, &mut buffers, warn);
    // Some systems report a failed write only here.
    let outcome = outcome.and(sys.close(files.1).map_err(Failure::Write));
    let elapsed_ns = sys.monotonic_ns().and_then(|end| Ok(end.saturating_sub(begin?)));
    if let Err(failure) = outcome {
        complain_of(sys, failure, names);
    }
    let elapsed_micros = elapsed_ns.ok().map(|ns| ns / 1_000);
    complain(
        sys,
        format_args!(
            "{}",
            Report {
                records,
                elapsed_micros,
                status: operands.status
            }
        ),
    );
    u8::from(outcome.is_err())
}

/// Opens the files, allocates the buffers and moves to the starting offsets; complains and returns `None` where that
/// fails.
fn prepare<S: Sys>(sys: &mut S, operands: &Operands<'_>, names: Names<'_>) -> Option<((Fd, Fd), Buffers)> {
    let mut output_flags = open_flags::O_WRONLY | open_flags::O_CREAT;
    if operands.seek_bytes == 0 && !operands.conversions.notrunc {
        output_flags |= open_flags::O_TRUNC;
    }
    if operands.output_flags.append {
        output_flags |= open_flags::O_APPEND;
    }
    let direct = |flag| if flag { open_flags::O_DIRECT } else { 0 };
    let input_flags = open_flags::O_RDONLY | direct(operands.input_flags.direct);
    output_flags |= direct(operands.output_flags.direct);

    let input = open(sys, operands.input, Fd::STDIN, input_flags, names.input)?;
    let output = open(sys, operands.output, Fd::STDOUT, output_flags, names.output)?;
    let positioned = Buffers::new(operands).and_then(|mut buffers| {
        copy::seek_output(sys, operands, output)?;
        let reached = copy::skip_input(sys, operands, input, &mut buffers)?;
        Ok((buffers, reached))
    });
    match positioned {
        Ok((buffers, reached)) => {
            if !reached && operands.status != Status::None {
                complain(
                    sys,
                    format_args!("dd: '{}': cannot skip to specified offset\n", names.input),
                );
            }
            Some(((input, output), buffers))
        }
        Err(failure) => {
            complain_of(sys, failure, names);
            None
        }
    }
}

/// Opens `path`, or takes `standard` where there is none; complains and returns `None` where that fails.
fn open<S: Sys>(sys: &mut S, path: Option<&CStr>, standard: Fd, flags: u32, name: Text<'_>) -> Option<Fd> {
    let Some(path) = path else { return Some(standard) };
    match sys.open(path, flags | open_flags::O_LARGEFILE, CREATE_MODE) {
        Ok(fd) => Some(fd),
        Err(error) => {
            complain(sys, format_args!("dd: can't open '{name}': {error}\n"));
            None
        }
    }
}

fn complain_of<S: Sys>(sys: &mut S, failure: Failure, Names { input, output }: Names<'_>) {
    match failure {
        Failure::NoMemory(bytes) => complain(
            sys,
            format_args!("dd: can't allocate a buffer of {bytes} bytes: {}\n", Errno::ENOMEM),
        ),
        Failure::Read(error) => complain(sys, format_args!("dd: error reading '{input}': {error}\n")),
        Failure::PassBadBlock(error) => complain(
            sys,
            format_args!("dd: can't pass the bad block of '{input}': {error}\n"),
        ),
        Failure::Write(error) => complain(sys, format_args!("dd: error writing '{output}': {error}\n")),
        Failure::Truncate(error) => complain(sys, format_args!("dd: can't truncate '{output}': {error}\n")),
        Failure::Seek(error) => complain(sys, format_args!("dd: can't seek '{output}': {error}\n")),
        Failure::Sync(error) => complain(sys, format_args!("dd: can't sync '{output}': {error}\n")),
        Failure::OddSwab(bytes) => complain(sys, format_args!("dd: can't swab {bytes} byte buffer\n")),
    }
}
