//! The options of `iops`: `--name=value`, named as fio's.
#![forbid(unsafe_code)]

use crate::user::number::{self, ACCEPTED};
use alloc::ffi::CString;
use alloc::format;
use alloc::string::String;
use core::ffi::CStr;

/// Largest block: what one 32-bit `pread` can return.
const LARGEST_BLOCK: u64 = 64 << 20;

/// Longest run by the clock, in seconds.
const LONGEST: u64 = 86_400;

/// In which order the blocks are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One after the other.
    Sequential,
    /// By chance, each time anew: a block may come twice before another comes once (fio's `norandommap`).
    Random,
}

impl Order {
    /// The name of `--rw`.
    pub fn name(self) -> &'static str {
        match self {
            Order::Sequential => "read",
            Order::Random => "randread",
        }
    }
}

/// What a run is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The file to read.
    pub filename: CString,
    /// The order of blocks.
    pub order: Order,
    /// Bytes of a read.
    pub block: u32,
    /// Bytes of the file to read from; `None`: all behind the offset.
    pub size: Option<u64>,
    /// First byte of the file to read from.
    pub offset: u64,
    /// Reads to make; `None`: as often as loops or the clock say.
    pub number_ios: Option<u64>,
    /// How often to read as much as the size.
    pub loops: u64,
    /// Nanoseconds after which to stop.
    pub runtime_ns: Option<u64>,
    /// Seed of the random order.
    pub seed: u64,
    /// Thousandths of the IOPS to compare with.
    pub base: Option<u64>,
    /// Whether to print fio's JSON instead of text.
    pub json: bool,
}

/// What a command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// The usage.
    Help,
    /// A run.
    Run(Options),
}

fn positive(name: &str, value: &str, most: u64) -> Result<u64, String> {
    match number::parse(value.as_bytes()) {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        Ok(number) => Err(format!("--{name}={number}: accepted are 1 to {most}")),
        Err(error) => Err(format!("--{name}: {error} '{value}' (accepted: {ACCEPTED})")),
    }
}

/// Thousandths of a number with up to three decimals.
fn thousandths(value: &str) -> Option<u64> {
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) || fraction.len() > 3 {
        return None;
    }
    let fraction: u64 = format!("{fraction:0<3}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(fraction)
}

/// Reads the operands of a command line.
///
/// # Errors
/// What was wrong and what is accepted.
pub fn parse(operands: &[&CStr]) -> Result<Request, String> {
    let mut filename = None;
    let mut options = Options {
        filename: CString::default(),
        order: Order::Sequential,
        block: 4096,
        size: None,
        offset: 0,
        number_ios: None,
        loops: 1,
        runtime_ns: None,
        seed: 1,
        base: None,
        json: false,
    };
    for operand in operands {
        let text = operand
            .to_str()
            .map_err(|_| format!("an operand is not UTF-8: {:?}", operand.to_bytes()))?;
        let Some(option) = text.strip_prefix("--") else {
            return Err(format!("unexpected operand '{text}': options are --name=value"));
        };
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, value),
            None if option == "help" => return Ok(Request::Help),
            None if option == "json" => ("output-format", "json"),
            None => return Err(format!("option --{option} has no value: options are --name=value")),
        };
        match name {
            "filename" => filename = Some(value),
            "rw" | "readwrite" => {
                options.order = match value {
                    "read" => Order::Sequential,
                    "randread" => Order::Random,
                    _ => return Err(format!("--{name}={value}: accepted are read, randread")),
                }
            }
            "bs" | "blocksize" => options.block = positive(name, value, LARGEST_BLOCK)? as u32,
            "size" => options.size = Some(positive(name, value, i64::MAX as u64)?),
            "offset" => {
                options.offset = number::parse(value.as_bytes())
                    .map_err(|error| format!("--offset: {error} '{value}' (accepted: {ACCEPTED})"))?;
            }
            "number_ios" => options.number_ios = Some(positive(name, value, u32::MAX.into())?),
            "loops" => options.loops = positive(name, value, u32::MAX.into())?,
            "runtime" => options.runtime_ns = Some(positive(name, value, LONGEST)? * 1_000_000_000),
            "seed" | "randseed" => {
                options.seed = number::parse(value.as_bytes())
                    .map_err(|error| format!("--{name}: {error} '{value}' (accepted: {ACCEPTED})"))?;
            }
            "ioengine" if value == "psync" => {}
            "ioengine" => return Err(format!("--ioengine={value}: accepted is psync")),
            "numjobs" if value == "1" => {}
            "numjobs" => return Err(format!("--numjobs={value}: accepted is 1")),
            "output-format" => {
                options.json = match value {
                    "json" => true,
                    "normal" => false,
                    _ => return Err(format!("--output-format={value}: accepted are normal, json")),
                }
            }
            "base" => match thousandths(value) {
                Some(base @ 1..) => options.base = Some(base),
                _ => {
                    return Err(format!(
                        "--base={value}: accepted are IOPS above 0, as 1000 or 1234.567"
                    ));
                }
            },
            _ => return Err(format!("unknown option --{name}: --help lists them")),
        }
    }
    match filename {
        Some(name) if !name.is_empty() => {
            options.filename = CString::new(name).map_err(|_| String::from("--filename holds a NUL"))?;
            Ok(Request::Run(options))
        }
        _ => Err(String::from("no --filename=FILE is given")),
    }
}
