//! `iops`: reads blocks of a file and says how many a second, like the basic job of fio.
//!
//! ```text
//!   options     the command line
//!   histogram   latencies and their percentiles
//!   report      the table and the JSON
//! ```
//!
//! Latencies are counted in ticks of the time base, whose rate comes from the run itself: clock time by ticks. So a read
//! costs no second system call for its own timing.
#![forbid(unsafe_code)]

pub mod histogram;
pub mod options;
pub mod report;

#[cfg(test)]
mod tests;

use super::errno::Errno;
use super::print::{Text, complain, print};
use super::start::StartInfo;
use super::sys::{Fd, Sys, Whence, open_flags};
use alloc::vec::Vec;
use histogram::Histogram;
use options::{Options, Order, Request};
use report::Report;

/// The clock is read once in so many reads, to see whether a run by the clock is over.
const CLOCK_PERIOD: u64 = 16;

const USAGE: &str = "\
usage: iops --filename=FILE [--rw=read|randread] [--bs=N] [--size=N] [--offset=N]
            [--number_ios=N | --loops=N] [--runtime=SECONDS] [--seed=N] [--base=IOPS]
            [--ioengine=psync] [--numjobs=1] [--output-format=normal|json] [--json]
Reads blocks of FILE by pread and prints IOPS, bandwidth and latencies.

  --rw=          in order (default) or by chance, the same chance for the same seed
  --bs=          bytes of a read (default 4096)
  --size=        bytes of FILE to read from (default: all behind --offset=)
  --number_ios=  stop after N reads        --loops=  read as much as the size N times (default 1)
  --runtime=     stop after SECONDS; without --number_ios= and --loops= only then
  --base=        print the change against so many IOPS in percent

N may end in k M G and more, as dd's, and be a product: 2x512.
";

/// Runs the program; returns its exit status.
pub fn main<S: Sys>(start: &StartInfo<'_>, sys: &mut S) -> u8 {
    let printed = match options::parse(start.operands()) {
        Ok(Request::Help) => print(sys, Fd::STDOUT, format_args!("{USAGE}")).map(|()| 0),
        Ok(Request::Run(options)) => match run(sys, &options) {
            Ok(status) => status,
            Err(()) => return 1,
        },
        Err(message) => {
            complain(sys, format_args!("iops: {message}\n"));
            return 2;
        }
    };
    printed.unwrap_or_else(|error| {
        complain(sys, format_args!("iops: cannot write to standard output: {error}\n"));
        1
    })
}

/// The part of the file that is read.
struct Area {
    fd: Fd,
    size: u64,
    blocks: u64,
}

/// Opens the file and finds what of it is to be read; complains where that fails.
fn prepare<S: Sys>(sys: &mut S, options: &Options) -> Result<Area, ()> {
    let name = Text(options.filename.to_bytes());
    let refuse = |sys: &mut S, text: core::fmt::Arguments<'_>| complain(sys, format_args!("iops: {text}\n"));
    let fd = sys
        .open(&options.filename, open_flags::O_RDONLY | open_flags::O_LARGEFILE, 0)
        .map_err(|error| refuse(sys, format_args!("can't open '{name}': {error}")))?;
    let end = sys
        .seek(fd, 0, Whence::End)
        .map_err(|error| refuse(sys, format_args!("'{name}' has no offsets: {error}")))?;
    let offset = options.offset;
    // Character devices end at 0 and have no end.
    let size = match (end, options.size) {
        (0, None) => {
            refuse(sys, format_args!("'{name}' has no size of its own: give --size=N"));
            return Err(());
        }
        (0, Some(size)) => size,
        (end, _) if offset >= end => {
            refuse(
                sys,
                format_args!("--offset={offset} is beyond the end of '{name}', which has {end} bytes"),
            );
            return Err(());
        }
        (end, Some(size)) if size > end - offset => {
            refuse(
                sys,
                format_args!("--size={size} from {offset} on is more than the {end} bytes of '{name}'"),
            );
            return Err(());
        }
        (end, size) => size.unwrap_or(end - offset),
    };
    let block = u64::from(options.block);
    if block > size {
        refuse(sys, format_args!("--bs={block} is larger than the size, {size} bytes"));
        return Err(());
    }
    if !size.is_multiple_of(block) {
        refuse(
            sys,
            format_args!(
                "--bs={block} does not divide the size: its last {} bytes are not read",
                size % block
            ),
        );
    }
    Ok(Area {
        fd,
        size,
        blocks: size / block,
    })
}

/// Xorshift with 64 bits of state (Marsaglia 2003), which must not be 0.
struct Chance(u64);

impl Chance {
    fn new(seed: u64) -> Self {
        // Seeds that differ in few bits start far apart; one seed would give 0.
        Self(
            (seed ^ 0x9e37_79b9_7f4a_7c15)
                .wrapping_mul(0xbf58_476d_1ce4_e5b9)
                .max(1),
        )
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        match u32::try_from(limit) {
            // The product's upper half: no division in the measured loop.
            Ok(limit) => ((self.0 >> 32) * u64::from(limit)) >> 32,
            Err(_) => self.0 % limit,
        }
    }
}

/// Why a run ended early.
enum Failure {
    Read(u64, Errno),
    End(u64),
    Clock(Errno),
}

/// Reads as `options` say, and reports; a failed run reports what it did before.
fn run<S: Sys>(sys: &mut S, options: &Options) -> Result<Result<u8, Errno>, ()> {
    let area = prepare(sys, options)?;
    let mut buffer = Vec::new();
    if buffer.try_reserve_exact(options.block as usize).is_err() {
        complain(
            sys,
            format_args!("iops: no memory for a block of {} bytes\n", options.block),
        );
        return Err(());
    }
    buffer.resize(options.block as usize, 0);
    let mut latencies = Histogram::default();
    let mut report = Report {
        options,
        size: area.size,
        total_ios: 0,
        short_ios: 0,
        io_bytes: 0,
        elapsed_ns: 0,
        latencies: &Histogram::default(),
        elapsed_ticks: 0,
    };
    let failure = measure(sys, &area, &mut buffer, &mut latencies, &mut report).err();
    report.latencies = &latencies;
    let name = Text(options.filename.to_bytes());
    let status = match failure {
        None => 0,
        Some(Failure::Read(at, error)) => {
            complain(sys, format_args!("iops: error reading '{name}' at {at}: {error}\n"));
            1
        }
        Some(Failure::End(at)) => {
            complain(sys, format_args!("iops: '{name}' ended at {at}\n"));
            1
        }
        Some(Failure::Clock(error)) => {
            complain(sys, format_args!("iops: cannot read the clock: {error}\n"));
            return Err(());
        }
    };
    Ok(print(sys, Fd::STDOUT, format_args!("{report}")).map(|()| status))
}

fn measure<S: Sys>(
    sys: &mut S,
    area: &Area,
    buffer: &mut [u8],
    latencies: &mut Histogram,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let options = report.options;
    let mut left = match (options.number_ios, options.runtime_ns, options.loops) {
        (Some(number), ..) => number,
        (None, Some(_), 1) => u64::MAX,
        (None, _, loops) => area.blocks.saturating_mul(loops),
    };
    let mut chance = Chance::new(options.seed);
    let mut next = 0;
    let begin_ns = sys.monotonic_ns().map_err(Failure::Clock)?;
    let begin = sys.ticks();
    let outcome = loop {
        if left == 0 {
            break Ok(());
        }
        let block = match options.order {
            Order::Sequential => next,
            Order::Random => chance.below(area.blocks),
        };
        next = if next + 1 == area.blocks { 0 } else { next + 1 };
        let at = options.offset + block * u64::from(options.block);
        let before = sys.ticks();
        let result = sys.read_at(area.fd, buffer, at);
        let latency = sys.ticks().wrapping_sub(before);
        match result {
            Ok(0) => break Err(Failure::End(at)),
            Ok(count) => {
                latencies.add(latency);
                report.total_ios += 1;
                report.io_bytes += count as u64;
                report.short_ios += u64::from(count < buffer.len());
            }
            Err(Errno::EINTR) => continue,
            Err(error) => break Err(Failure::Read(at, error)),
        }
        left -= 1;
        if let Some(limit) = options.runtime_ns
            && report.total_ios.is_multiple_of(CLOCK_PERIOD)
            && sys.monotonic_ns().map_err(Failure::Clock)?.saturating_sub(begin_ns) >= limit
        {
            break Ok(());
        }
    };
    report.elapsed_ticks = sys.ticks().wrapping_sub(begin);
    report.elapsed_ns = sys.monotonic_ns().map_err(Failure::Clock)?.saturating_sub(begin_ns);
    outcome
}
