//! Making calls and printing their results, several to a line.

use crate::user::errno::Errno;
use crate::user::linux::{Linux, syscall};
use crate::user::print::print;
use crate::user::sys::Fd;
use alloc::string::String;
use core::fmt::{self, Write};
use core::mem;

/// Columns of a line; a row that needs more goes on in a next line.
const COLUMNS: usize = 78;

/// Multiplier of the digest (32-bit FNV-1a, taken word by word).
const PRIME: u32 = 0x0100_0193;
/// What a digest starts with.
const OFFSET: u32 = 0x811c_9dc5;

/// Makes calls, counts them, and prints rows: a name, the results in order, and a digest of what the calls left in
/// memory and files.
pub struct Record {
    /// The row's name.
    name: String,
    /// The line being filled, and how many lines of the row are out.
    line: String,
    lines: u32,
    /// The last word, which is not in the line yet, and how often it came.
    word: String,
    times: u32,
    digest: u32,
    has_digest: bool,
    /// Calls whose results are part of a row.
    pub calls: u32,
    /// Whether each call is to be shown on a line of its own, with its arguments.
    pub is_verbose: bool,
    /// The first error of printing.
    pub error: Option<Errno>,
}

/// A result as a row shows it.
#[derive(Clone, Copy)]
pub struct Outcome(pub Result<u32, Errno>);

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Ok(value) => write!(f, "{}", value.cast_signed()),
            Err(error) => match error.name() {
                Some(name) => f.write_str(name),
                None => write!(f, "E{}", error.0),
            },
        }
    }
}

impl Record {
    pub fn new(is_verbose: bool) -> Self {
        Self {
            name: String::with_capacity(COLUMNS),
            line: String::with_capacity(2 * COLUMNS),
            lines: 0,
            word: String::with_capacity(COLUMNS),
            times: 0,
            digest: OFFSET,
            has_digest: false,
            calls: 0,
            is_verbose,
            error: None,
        }
    }

    /// Starts a row.
    pub fn begin(&mut self, name: fmt::Arguments<'_>) {
        self.name.clear();
        // Writing to a string does not fail.
        let _ = self.name.write_fmt(name);
        self.lines = 0;
        self.line.clear();
        self.line.push_str(&self.name);
        self.line.push(':');
        self.digest = OFFSET;
        self.has_digest = false;
    }

    /// Makes a call whose result belongs to the row.
    pub fn call<const N: usize>(&mut self, number: u32, arguments: [u32; N]) -> Result<u32, Errno> {
        let result = quiet(number, arguments);
        self.count(number, &arguments);
        self.token(format_args!("{}", Outcome(result)));
        result
    }

    /// As [`Record::call`] for a result that differs between systems: only its success is shown.
    pub fn call_ok<const N: usize>(&mut self, number: u32, arguments: [u32; N]) -> Result<u32, Errno> {
        let result = quiet(number, arguments);
        self.count(number, &arguments);
        match result {
            Ok(_) => self.token(format_args!("ok")),
            Err(_) => self.token(format_args!("{}", Outcome(result))),
        }
        result
    }

    /// Counts a call and, in the verbose form, starts its line.
    fn count(&mut self, number: u32, arguments: &[u32]) {
        self.calls += 1;
        if self.is_verbose {
            self.flush();
            let _ = write!(self.line, "{} call {number}(", self.name);
            for (index, argument) in arguments.iter().enumerate() {
                let comma = if index > 0 { ", " } else { "" };
                let _ = write!(self.line, "{comma}{argument:#x}");
            }
            self.line.push_str(") =");
        }
    }

    /// Adds a word to the row; equal words in sequence are shown once, with their number.
    pub fn token(&mut self, token: fmt::Arguments<'_>) {
        let mut word = mem::take(&mut self.word);
        let before = word.len();
        let _ = word.write_fmt(token);
        if self.times > 0 && word[..before] == word[before..] {
            word.truncate(before);
            self.word = word;
            self.times += 1;
        } else {
            self.word = word;
            self.put_word(before);
            self.times = 1;
        }
        if self.is_verbose {
            self.put_word(self.word.len());
        }
    }

    /// Moves the first `length` bytes of the held words, which are one word, to the line.
    fn put_word(&mut self, length: usize) {
        let times = mem::take(&mut self.times);
        if times == 0 {
            return;
        }
        let before = self.line.len();
        let _ = write!(self.line, " {}", &self.word[..length]);
        if times > 1 {
            let _ = write!(self.line, "*{times}");
        }
        self.word.drain(..length);
        if self.line.len() > COLUMNS && !self.is_verbose {
            let word = self.line.split_off(before);
            self.flush();
            self.lines += 1;
            let _ = write!(self.line, "{} +{}:{word}", self.name, self.lines);
        }
    }

    fn flush(&mut self) {
        if self.error.is_none() {
            self.error = print(&mut Linux, Fd::STDOUT, format_args!("{}\n", self.line)).err();
        }
        self.line.clear();
    }

    /// Takes bytes into the row's digest.
    pub fn digest(&mut self, bytes: &[u8]) {
        self.has_digest = true;
        let (words, rest) = bytes.as_chunks::<4>();
        let words = words.iter().map(|word| u32::from_be_bytes(*word));
        for word in words.chain(rest.iter().map(|byte| u32::from(*byte))) {
            self.digest = (self.digest ^ word).wrapping_mul(PRIME);
        }
        if self.is_verbose {
            let _ = write!(self.line, " #{:08x}", self.digest);
        }
    }

    /// Takes a number into the row's digest.
    pub fn digest_number(&mut self, number: u64) {
        self.digest(&number.to_be_bytes());
    }

    /// Ends the row with its digest.
    pub fn end(&mut self) {
        if self.has_digest && !self.is_verbose {
            let digest = self.digest;
            self.token(format_args!("#{digest:08x}"));
        }
        self.put_word(self.word.len());
        self.flush();
    }
}

/// Makes a call that belongs to no row.
pub fn quiet<const N: usize>(number: u32, arguments: [u32; N]) -> Result<u32, Errno> {
    // SAFETY: the groups give the kernel no memory but that of `Ground` and their own local arrays, and addresses that
    // must be refused.
    unsafe { syscall(number, &arguments) }
}
