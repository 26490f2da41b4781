//! The operands of `moves`, `name=value` as `dd` has them.
#![forbid(unsafe_code)]

use crate::user::number::{self, ACCEPTED};
use alloc::ffi::CString;
use alloc::format;
use alloc::string::String;
use core::ffi::CStr;

/// Largest block in bytes.
const LARGEST_BLOCK: u64 = 64 << 20;
/// Most segments of a vector (`UIO_MAXIOV`, kernel `include/uapi/linux/uio.h`).
const MOST_SEGMENTS: u64 = 1024;

/// The calls that move a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// `read`, then `write`.
    Read,
    /// `readv`, then `writev`.
    Readv,
    /// `sendfile64`.
    Sendfile,
    /// `splice` to a pipe, then `splice` from it.
    Splice,
}

impl Way {
    /// All of them.
    pub const ALL: [Way; 4] = [Way::Read, Way::Readv, Way::Sendfile, Way::Splice];

    /// The word of `by=`.
    pub fn name(self) -> &'static str {
        match self {
            Way::Read => "read",
            Way::Readv => "readv",
            Way::Sendfile => "sendfile",
            Way::Splice => "splice",
        }
    }
}

/// What to move, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operands {
    /// The calls.
    pub way: Way,
    /// The file to read.
    pub input: CString,
    /// The file to write.
    pub output: CString,
    /// Bytes of a block: what is asked for at once.
    pub block: u32,
    /// Blocks to move; the end of the input ends it before.
    pub count: u64,
    /// Segments that a block is read and written in, by `readv`.
    pub segments: u32,
    /// Whether to print JSON instead of text.
    pub json: bool,
}

/// What a command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// The usage.
    Help,
    /// A run.
    Run(Operands),
}

fn positive(name: &str, value: &str, most: u64) -> Result<u64, String> {
    match number::parse(value.as_bytes()) {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        Ok(number) => Err(format!("{name}={number}: accepted are 1 to {most}")),
        Err(error) => Err(format!("{name}: {error} '{value}' (accepted: {ACCEPTED})")),
    }
}

fn path(name: &str, value: &str) -> Result<CString, String> {
    CString::new(value)
        .ok()
        .filter(|path| !path.is_empty())
        .ok_or_else(|| format!("{name} names no file"))
}

/// Reads the operands of a command line.
///
/// # Errors
/// What was wrong and what is accepted.
pub fn parse(operands: &[&CStr]) -> Result<Request, String> {
    let mut parsed = Operands {
        way: Way::Read,
        input: c"/dev/zero".into(),
        output: c"/dev/null".into(),
        block: 65536,
        count: 10_000,
        segments: 1,
        json: false,
    };
    for operand in operands {
        let text = operand
            .to_str()
            .map_err(|_| format!("an operand is not UTF-8: {:?}", operand.to_bytes()))?;
        let (name, value) = match text.split_once('=') {
            Some(parts) => parts,
            None if text == "--help" => return Ok(Request::Help),
            None if text == "--json" => {
                parsed.json = true;
                continue;
            }
            None => return Err(format!("unexpected operand '{text}': operands are name=value")),
        };
        match name {
            "by" => {
                let way = Way::ALL.into_iter().find(|way| way.name() == value);
                parsed.way = way.ok_or_else(|| format!("by={value}: accepted are read, readv, sendfile, splice"))?;
            }
            "if" => parsed.input = path(name, value)?,
            "of" => parsed.output = path(name, value)?,
            "bs" => parsed.block = positive(name, value, LARGEST_BLOCK)? as u32,
            "count" => parsed.count = positive(name, value, u32::MAX.into())?,
            "segments" => parsed.segments = positive(name, value, MOST_SEGMENTS)? as u32,
            _ => {
                return Err(format!(
                    "unknown operand '{name}': accepted are by, if, of, bs, count, segments"
                ));
            }
        }
    }
    if parsed.segments > 1 && parsed.way != Way::Readv {
        return Err(format!("segments={} needs by=readv", parsed.segments));
    }
    if parsed.segments > parsed.block {
        return Err(format!("segments={} is more than bs={}", parsed.segments, parsed.block));
    }
    Ok(Request::Run(parsed))
}
