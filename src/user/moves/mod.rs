//! `moves [by=read|readv|sendfile|splice] [if=FILE] [of=FILE] [bs=N] [count=N] [segments=N] [--json]`: copies blocks by one
//! of the ways that a system has, and says how fast it went in the words of `dd`.
#![forbid(unsafe_code)]

pub mod operands;
#[cfg(test)]
mod tests;

use super::dd::operands::Status;
use super::dd::report::{Records, Report};
use super::errno::Errno;
use super::print::{Text, complain, print};
use super::start::StartInfo;
use super::sys::{Fd, IoVector, Sys, open_flags, write_all};
use alloc::vec::Vec;
use core::ffi::CStr;
use operands::{Operands, Request, Way};

const USAGE: &str = "\
usage: moves [by=read|readv|sendfile|splice] [if=FILE] [of=FILE] [bs=N]
             [count=N] [segments=N] [--json]
Copies COUNT blocks (default 10000) of BS bytes (64k) from IF (/dev/zero) to
OF (/dev/null) and prints records, bytes, time and rate as dd does.
  by=read       read, then write (the default)
  by=readv      readv, then writev, each block in SEGMENTS equal parts (1)
  by=sendfile   sendfile64
  by=splice     splice to a pipe, then splice from it
";

/// Runs the program; returns its exit status.
pub fn main<S: Sys>(start: &StartInfo<'_>, sys: &mut S) -> u8 {
    let operands = match operands::parse(start.operands()) {
        Ok(Request::Help) => return u8::from(print(sys, Fd::STDOUT, format_args!("{USAGE}")).is_err()),
        Ok(Request::Run(operands)) => operands,
        Err(message) => {
            complain(sys, format_args!("moves: {message}\n"));
            return 1;
        }
    };
    let mut records = Records::default();
    let outcome = run(sys, &operands, &mut records);
    let (elapsed, failed) = match outcome {
        Ok(elapsed) => (Some(elapsed), false),
        Err(Failure { what, file, error }) => {
            complain(sys, format_args!("moves: {what} '{}': {error}\n", Text::from(file)));
            (None, true)
        }
    };
    let printed = match elapsed {
        Some(elapsed_ns) if operands.json => print_json(sys, &operands, &records, elapsed_ns),
        elapsed_ns => print(
            sys,
            Fd::STDOUT,
            format_args!(
                "{}",
                Report {
                    records,
                    elapsed_micros: elapsed_ns.map(|ns| ns / 1000),
                    status: Status::All,
                }
            ),
        ),
    };
    if let Err(error) = printed {
        complain(sys, format_args!("moves: cannot write to standard output: {error}\n"));
    }
    u8::from(failed || printed.is_err())
}

fn print_json<S: Sys>(sys: &mut S, operands: &Operands, records: &Records, elapsed_ns: u64) -> Result<(), Errno> {
    let (way, block, segments) = (operands.way.name(), operands.block, operands.segments);
    let (calls, bytes) = (records.in_full + records.in_partial, records.bytes);
    print(
        sys,
        Fd::STDOUT,
        format_args!(
            "{{\"program\":\"moves\",\"by\":\"{way}\",\"bs\":{block},\"segments\":{segments},\"blocks\":{calls},\
             \"bytes\":{bytes},\"elapsed_ns\":{elapsed_ns}}}\n"
        ),
    )
}

/// What could not be done with which file.
struct Failure<'a> {
    what: &'static str,
    file: &'a CStr,
    error: Errno,
}

/// Moves the blocks; gives the nanoseconds that they took.
fn run<'a, S: Sys>(sys: &mut S, operands: &'a Operands, records: &mut Records) -> Result<u64, Failure<'a>> {
    let (input, output) = (operands.input.as_c_str(), operands.output.as_c_str());
    let fail = |what, file| move |error| Failure { what, file, error };
    let from = sys
        .open(input, open_flags::O_RDONLY | open_flags::O_LARGEFILE, 0)
        .map_err(fail("cannot open", input))?;
    let flags = open_flags::O_WRONLY | open_flags::O_CREAT | open_flags::O_TRUNC | open_flags::O_LARGEFILE;
    let to = sys.open(output, flags, 0o666).map_err(fail("cannot open", output))?;
    let block = operands.block as usize;
    let mut tools = Tools {
        block,
        memory: Vec::new(),
        vector: IoVector::default(),
        pipe: None,
    };
    match operands.way {
        Way::Read => tools.memory.resize(block, 0),
        Way::Readv => tools.vector = IoVector::new(block, operands.segments as usize),
        Way::Sendfile => {}
        Way::Splice => tools.pipe = Some(sys.pipe().map_err(fail("cannot make a pipe for", input))?),
    }
    let begin = sys.monotonic_ns().map_err(fail("cannot time", input))?;
    for _ in 0..operands.count {
        let moved = match operands.way {
            Way::Read => tools.by_read(sys, from, to),
            Way::Readv => tools.by_readv(sys, from, to),
            Way::Sendfile => sys.send_file(to, from, block),
            Way::Splice => tools.by_splice(sys, from, to),
        };
        match moved.map_err(fail("error moving", input))? {
            0 => break,
            count if count == block => records.add_whole(1, block),
            count => {
                records.in_partial += 1;
                records.out_partial += 1;
                records.bytes += count as u64;
            }
        }
    }
    let end = sys.monotonic_ns().map_err(fail("cannot time", input))?;
    Ok(end.saturating_sub(begin))
}

/// What the ways need beside the files.
struct Tools {
    block: usize,
    memory: Vec<u8>,
    vector: IoVector,
    pipe: Option<[Fd; 2]>,
}

impl Tools {
    fn by_read<S: Sys>(&mut self, sys: &mut S, from: Fd, to: Fd) -> Result<usize, Errno> {
        let count = sys.read(from, &mut self.memory)?;
        write_all(sys, to, &self.memory[..count]).map_err(|(_, error)| error)?;
        Ok(count)
    }

    fn by_readv<S: Sys>(&mut self, sys: &mut S, from: Fd, to: Fd) -> Result<usize, Errno> {
        let count = sys.read_vector(from, &mut self.vector)?;
        if count == self.block {
            match sys.write_vector(to, &self.vector)? {
                written if written == count => {}
                written => write_all(sys, to, &self.vector.bytes()[written..]).map_err(|(_, error)| error)?,
            }
        } else {
            write_all(sys, to, &self.vector.bytes()[..count]).map_err(|(_, error)| error)?;
        }
        Ok(count)
    }

    /// A pipe holds less than a large block, so this takes as many turns as it needs.
    fn by_splice<S: Sys>(&mut self, sys: &mut S, from: Fd, to: Fd) -> Result<usize, Errno> {
        let Some([reader, writer]) = self.pipe else {
            return Err(Errno::EBADF);
        };
        let mut done = 0;
        while done < self.block {
            let mut waiting = sys.splice(from, writer, self.block - done)?;
            if waiting == 0 {
                break;
            }
            done += waiting;
            while waiting > 0 {
                waiting -= match sys.splice(reader, to, waiting)? {
                    0 => return Err(Errno::EIO),
                    moved => moved,
                };
            }
        }
        Ok(done)
    }
}
