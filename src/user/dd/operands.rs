//! The operands of `dd`: `name=value`, in any order.
#![forbid(unsafe_code)]

use crate::user::number::{self, ACCEPTED, NumberError};
use crate::user::print::Text;
use core::ffi::CStr;
use core::fmt;

/// Largest block, in bytes: what one 32-bit `read` can return.
pub const LARGEST_BLOCK: u64 = i32::MAX as u64;

/// Largest file offset, in bytes.
const LARGEST_OFFSET: u64 = i64::MAX as u64;

const DEFAULT_BLOCK: usize = 512;

/// How much `dd` reports at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Records, bytes, time and rate.
    All,
    /// The two lines of records only (`status=noxfer`).
    NoTransfer,
    /// Nothing but errors (`status=none`).
    None,
}

/// Defines a set of comma-separated words: one flag each.
macro_rules! flags {
    ($(#[$doc:meta])* $name:ident { $($flag:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $(
                #[doc = concat!("The word `", stringify!($flag), "`.")]
                pub $flag: bool,
            )*
        }

        impl $name {
            const WORDS: &'static [&'static str] = &[$(stringify!($flag)),*];

            /// Adds the words of a list to the set; a repeated operand adds to the earlier one.
            fn add<'a>(&mut self, operand: &'static str, list: &'a [u8]) -> Result<(), OperandError<'a>> {
                for word in list.split(|&byte| byte == b',') {
                    match word {
                        $(word if word == stringify!($flag).as_bytes() => self.$flag = true,)*
                        _ => return Err(OperandError::Word { operand, word, accepted: Self::WORDS }),
                    }
                }
                Ok(())
            }
        }
    };
}

flags! {
    /// `conv=`.
    Conversions { notrunc, sync, noerror, fsync, swab, }
}

flags! {
    /// `iflag=`.
    InputFlags { fullblock, count_bytes, skip_bytes, direct, }
}

flags! {
    /// `oflag=`.
    OutputFlags { append, seek_bytes, direct, }
}

/// The number of blocks or bytes to copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Up to the end of the input.
    Unlimited,
    /// This many reads.
    Blocks(u64),
    /// This many bytes (`iflag=count_bytes`).
    Bytes(u64),
}

/// A checked command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operands<'a> {
    /// Input file; standard input when absent.
    pub input: Option<&'a CStr>,
    /// Output file; standard output when absent.
    pub output: Option<&'a CStr>,
    /// Input block in bytes, 1 to [`LARGEST_BLOCK`].
    pub input_block: usize,
    /// Output block in bytes, 1 to [`LARGEST_BLOCK`].
    pub output_block: usize,
    /// How much to copy.
    pub limit: Limit,
    /// `skip=` as given, in input blocks or bytes; times its unit it fits a file offset.
    pub skip: u64,
    /// `seek=` in bytes, at most the largest file offset.
    pub seek_bytes: u64,
    /// `conv=`.
    pub conversions: Conversions,
    /// `iflag=`.
    pub input_flags: InputFlags,
    /// `oflag=`.
    pub output_flags: OutputFlags,
    /// `status=`.
    pub status: Status,
}

impl Operands<'_> {
    /// Bytes that one unit of `skip=` stands for.
    pub fn skip_unit(&self) -> usize {
        if self.input_flags.skip_bytes {
            1
        } else {
            self.input_block
        }
    }
}

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// `--help`.
    Help,
    /// Copy.
    Copy(Operands<'a>),
}

/// Why a command line was refused. Its text names the operand and says what is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandError<'a> {
    /// Not of the form `name=value` with a known name.
    Unknown(&'a [u8]),
    /// The value of a size is no number.
    Number {
        /// The operand's name.
        operand: &'static str,
        /// Its value.
        value: &'a [u8],
        /// What is wrong with it.
        error: NumberError,
    },
    /// A block size that no buffer can have.
    Range {
        /// The operand's name.
        operand: &'static str,
        /// Its value.
        value: u64,
    },
    /// `skip` or `seek` lead beyond the largest file offset.
    Offset {
        /// The operand's name.
        operand: &'static str,
        /// Its value.
        value: u64,
        /// The block size that it counts in.
        unit: usize,
    },
    /// A word that the operand does not have.
    Word {
        /// The operand's name.
        operand: &'static str,
        /// The word.
        word: &'a [u8],
        /// All words it has.
        accepted: &'static [&'static str],
    },
}

impl fmt::Display for OperandError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            OperandError::Unknown(text) => write!(
                f,
                "unrecognized operand '{}' \
                 (accepted: if of bs ibs obs count skip seek conv iflag oflag status, each with =VALUE)",
                Text(text)
            ),
            OperandError::Number { operand, value, error } => {
                write!(f, "{error} '{}' for {operand} (accepted: {ACCEPTED})", Text(value))
            }
            OperandError::Range { operand, value } => {
                write!(f, "number {value} for {operand} is not in 1..{LARGEST_BLOCK} range")
            }
            OperandError::Offset { operand, value, unit } => {
                write!(
                    f,
                    "{operand}={value} is too large: {value} x {unit} bytes exceed {LARGEST_OFFSET}"
                )
            }
            OperandError::Word {
                operand,
                word,
                accepted,
            } => {
                write!(f, "invalid argument '{}' to '{operand}' (accepted:", Text(word))?;
                for word in accepted {
                    write!(f, " {word}")?;
                }
                f.write_str(")")
            }
        }
    }
}

/// The operands as they stand on the command line, before they are put together.
#[derive(Default)]
struct Given<'a> {
    input: Option<&'a CStr>,
    output: Option<&'a CStr>,
    block: Option<usize>,
    input_block: Option<usize>,
    output_block: Option<usize>,
    count: Option<u64>,
    skip: u64,
    seek: u64,
    conversions: Conversions,
    input_flags: InputFlags,
    output_flags: OutputFlags,
    status: Option<Status>,
}

/// Reads the operands after the program's name.
///
/// A later operand of the same name wins; lists of words add up. `bs=` stands above `ibs=` and `obs=` wherever it is
/// given, as POSIX has it, so that the order of different operands never matters. `--` is accepted anywhere and
/// ignored.
///
/// # Errors
/// The first operand that is wrong; an impossible combination of them last.
pub fn parse<'a>(operands: &[&'a CStr]) -> Result<Request<'a>, OperandError<'a>> {
    let mut given = Given::default();
    for &operand in operands {
        match operand.to_bytes() {
            b"--" => {}
            b"--help" => return Ok(Request::Help),
            _ => given.take(operand)?,
        }
    }
    given.finish().map(Request::Copy)
}

impl<'a> Given<'a> {
    fn take(&mut self, operand: &'a CStr) -> Result<(), OperandError<'a>> {
        let text = operand.to_bytes();
        let unknown = OperandError::Unknown(text);
        let equals = text.iter().position(|&byte| byte == b'=').ok_or(unknown)?;
        let (name, value) = (&text[..equals], &text[equals + 1..]);
        let file = || CStr::from_bytes_with_nul(&operand.to_bytes_with_nul()[equals + 1..]).map_err(|_| unknown);
        match name {
            b"if" => self.input = Some(file()?),
            b"of" => self.output = Some(file()?),
            b"bs" => self.block = Some(block_size("bs", value)?),
            b"ibs" => self.input_block = Some(block_size("ibs", value)?),
            b"obs" => self.output_block = Some(block_size("obs", value)?),
            b"count" => self.count = Some(size("count", value)?),
            b"skip" => self.skip = size("skip", value)?,
            b"seek" => self.seek = size("seek", value)?,
            b"conv" => self.conversions.add("conv", value)?,
            b"iflag" => self.input_flags.add("iflag", value)?,
            b"oflag" => self.output_flags.add("oflag", value)?,
            b"status" => {
                self.status = Some(match value {
                    b"none" => Status::None,
                    b"noxfer" => Status::NoTransfer,
                    _ => {
                        return Err(OperandError::Word {
                            operand: "status",
                            word: value,
                            accepted: &["none", "noxfer"],
                        });
                    }
                });
            }
            _ => return Err(unknown),
        }
        Ok(())
    }

    fn finish(self) -> Result<Operands<'a>, OperandError<'a>> {
        let input_block = self.block.or(self.input_block).unwrap_or(DEFAULT_BLOCK);
        let output_block = self.block.or(self.output_block).unwrap_or(DEFAULT_BLOCK);
        let limit = match self.count {
            None => Limit::Unlimited,
            Some(bytes) if self.input_flags.count_bytes => Limit::Bytes(bytes),
            Some(blocks) => Limit::Blocks(blocks),
        };
        let seek_unit = if self.output_flags.seek_bytes { 1 } else { output_block };
        let operands = Operands {
            input: self.input,
            output: self.output,
            input_block,
            output_block,
            limit,
            skip: self.skip,
            seek_bytes: offset("seek", self.seek, seek_unit)?,
            conversions: self.conversions,
            input_flags: self.input_flags,
            output_flags: self.output_flags,
            status: self.status.unwrap_or(Status::All),
        };
        offset("skip", operands.skip, operands.skip_unit())?;
        Ok(operands)
    }
}

fn size<'a>(operand: &'static str, value: &'a [u8]) -> Result<u64, OperandError<'a>> {
    number::parse(value).map_err(|error| OperandError::Number { operand, value, error })
}

fn block_size<'a>(operand: &'static str, value: &'a [u8]) -> Result<usize, OperandError<'a>> {
    match size(operand, value)? {
        bytes @ 1..=LARGEST_BLOCK => Ok(bytes as usize),
        value => Err(OperandError::Range { operand, value }),
    }
}

/// The file offset that `value` units of `unit` bytes lead to.
fn offset(operand: &'static str, value: u64, unit: usize) -> Result<u64, OperandError<'static>> {
    value
        .checked_mul(unit as u64)
        .filter(|&bytes| bytes <= LARGEST_OFFSET)
        .ok_or(OperandError::Offset { operand, value, unit })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::string::{String, ToString};
    use std::vec::Vec;

    /// Parses a command line and hands the result to `check`, since it borrows from the texts.
    fn with<R>(line: &[&str], check: impl FnOnce(Result<Operands<'_>, OperandError<'_>>) -> R) -> R {
        let texts: Vec<CString> = line.iter().map(|text| CString::new(*text).unwrap()).collect();
        let operands: Vec<&CStr> = texts.iter().map(CString::as_c_str).collect();
        check(parse(&operands).map(|request| match request {
            Request::Copy(operands) => operands,
            Request::Help => panic!("{line:?} is no request for help"),
        }))
    }

    fn error(line: &[&str]) -> String {
        with(line, |result| {
            result.expect_err(&std::format!("{line:?} must be refused")).to_string()
        })
    }

    #[test]
    fn nothing_given_means_512_byte_blocks_from_stdin_to_stdout() {
        with(&[], |result| {
            let operands = result.unwrap();
            assert_eq!((operands.input, operands.output), (None, None));
            assert_eq!((operands.input_block, operands.output_block), (512, 512));
            assert_eq!(
                (operands.limit, operands.skip, operands.seek_bytes),
                (Limit::Unlimited, 0, 0)
            );
            assert_eq!(operands.status, Status::All);
        });
    }

    // U-167
    #[test]
    fn later_operand_of_the_same_name_wins() {
        with(
            &[
                "bs=1",
                "if=a",
                "count=7",
                "--",
                "status=none",
                "if=b",
                "bs=2k",
                "count=3",
                "status=noxfer",
                "of=",
            ],
            |result| {
                let operands = result.unwrap();
                assert_eq!(operands.input, Some(c"b"));
                assert_eq!(operands.output, Some(c""));
                assert_eq!(operands.input_block, 2048);
                assert_eq!(operands.limit, Limit::Blocks(3));
                assert_eq!(operands.status, Status::NoTransfer);
            },
        );
    }

    // U-171
    #[test]
    fn last_status_wins() {
        with(&["status=noxfer", "status=none"], |result| {
            assert_eq!(result.unwrap().status, Status::None)
        });
        with(&["status=none", "status=noxfer"], |result| {
            assert_eq!(result.unwrap().status, Status::NoTransfer)
        });
        assert_eq!(
            error(&["status=bogus"]),
            "invalid argument 'bogus' to 'status' (accepted: none noxfer)"
        );
    }

    // U-175
    #[test]
    fn order_of_operands_has_no_effect() {
        let pool = [
            "if=in",
            "of=out",
            "bs=4",
            "ibs=2",
            "obs=8",
            "count=5",
            "skip=6",
            "seek=7",
            "conv=swab,sync",
            "status=none",
            "iflag=fullblock",
            "oflag=append",
        ];
        // Every choice of five operands, each in all 120 orders.
        let mut lines = 0;
        for mask in (0u32..1 << pool.len()).filter(|mask| mask.count_ones() == 5) {
            let mut line: Vec<&str> = (0..pool.len())
                .filter(|bit| mask >> bit & 1 == 1)
                .map(|bit| pool[bit])
                .collect();
            let expected = with(&line, |result| std::format!("{:?}", result.unwrap()));
            permute(&mut line, 5, &mut |line| {
                lines += 1;
                assert_eq!(
                    with(line, |result| std::format!("{:?}", result.unwrap())),
                    expected,
                    "{line:?}"
                );
            });
        }
        assert_eq!(lines, 792 * 120);
    }

    /// Calls `visit` for every order of the first `count` items (Heap's algorithm).
    fn permute(items: &mut Vec<&str>, count: usize, visit: &mut dyn FnMut(&[&str])) {
        if count <= 1 {
            return visit(items);
        }
        for index in 0..count {
            permute(items, count - 1, visit);
            items.swap(if count.is_multiple_of(2) { index } else { 0 }, count - 1);
        }
    }

    #[test]
    fn each_operand_reaches_its_own_field() {
        let line = [
            "if=in",
            "of=out",
            "ibs=2",
            "obs=8",
            "count=5",
            "skip=6",
            "seek=7",
            "conv=swab",
            "iflag=count_bytes,skip_bytes",
            "oflag=direct",
        ];
        with(&line, |result| {
            let operands = result.unwrap();
            assert_eq!((operands.input, operands.output), (Some(c"in"), Some(c"out")));
            assert_eq!((operands.input_block, operands.output_block), (2, 8));
            assert_eq!(operands.limit, Limit::Bytes(5));
            assert_eq!((operands.skip, operands.skip_unit(), operands.seek_bytes), (6, 1, 56));
            assert_eq!(
                operands.conversions,
                Conversions {
                    swab: true,
                    ..Conversions::default()
                }
            );
            assert_eq!(
                operands.input_flags,
                InputFlags {
                    count_bytes: true,
                    skip_bytes: true,
                    ..InputFlags::default()
                }
            );
            assert_eq!(
                operands.output_flags,
                OutputFlags {
                    direct: true,
                    ..OutputFlags::default()
                }
            );
        });
        with(&["seek=7", "obs=8", "oflag=seek_bytes"], |result| {
            assert_eq!(result.unwrap().seek_bytes, 7)
        });
    }

    #[test]
    fn lists_of_words_add_up() {
        with(&["conv=notrunc,noerror", "conv=sync"], |result| {
            let expected = Conversions {
                notrunc: true,
                noerror: true,
                sync: true,
                ..Conversions::default()
            };
            assert_eq!(result.unwrap().conversions, expected);
        });
        assert_eq!(
            error(&["conv=sync,"]),
            "invalid argument '' to 'conv' (accepted: notrunc sync noerror fsync swab)"
        );
        assert_eq!(
            error(&["iflag=append"]),
            "invalid argument 'append' to 'iflag' (accepted: fullblock count_bytes skip_bytes direct)"
        );
        assert_eq!(
            error(&["oflag=fullblock"]),
            "invalid argument 'fullblock' to 'oflag' (accepted: append seek_bytes direct)"
        );
    }

    // U-167
    #[test]
    fn unknown_operands_are_named() {
        for line in ["foo", "foo=1", "=1", "", "-", "--version", "IF=x", "if"] {
            assert!(
                error(&[line]).starts_with(&std::format!("unrecognized operand '{line}' (accepted: if of bs ")),
                "{line}"
            );
        }
    }

    // U-180
    #[test]
    fn suffix_without_digits_is_refused_in_every_size() {
        for (line, value) in [
            ("count=B", "B"),
            ("count=k", "k"),
            ("bs=M", "M"),
            ("ibs=", ""),
            ("obs=x", "x"),
            ("skip=-1", "-1"),
            ("seek=1.5", "1.5"),
        ] {
            assert!(
                error(&[line]).starts_with(&std::format!("invalid number '{value}' for ")),
                "{line}: {}",
                error(&[line])
            );
        }
    }

    #[test]
    fn block_size_outside_its_range_is_refused() {
        assert_eq!(error(&["bs=0"]), "number 0 for bs is not in 1..2147483647 range");
        assert_eq!(
            error(&["obs=2G"]),
            "number 2147483648 for obs is not in 1..2147483647 range"
        );
        with(&["ibs=2147483647"], |result| {
            assert_eq!(result.unwrap().input_block, 2_147_483_647)
        });
    }

    // U-179
    #[test]
    fn offsets_that_wrap_are_too_large() {
        assert_eq!(
            error(&["skip=36028797018963968"]),
            "skip=36028797018963968 is too large: 36028797018963968 x 512 bytes exceed 9223372036854775807"
        );
        for line in [
            &["skip=9223372036854775808", "bs=1"][..],
            &["seek=17592186044416", "obs=1M"],
            &["seek=8589934592G"],
        ] {
            assert!(error(line).contains("too large"), "{line:?}: {}", error(line));
        }
        with(
            &["skip=9223372036854775807", "bs=1", "seek=9223372036854775807"],
            |result| {
                let operands = result.unwrap();
                assert_eq!(
                    (operands.skip, operands.seek_bytes),
                    (9_223_372_036_854_775_807, 9_223_372_036_854_775_807)
                );
            },
        );
    }

    #[test]
    fn help_is_recognized_among_other_operands() {
        assert_eq!(parse(&[c"if=x", c"--help"]), Ok(Request::Help));
    }
}
