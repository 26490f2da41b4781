//! Output of the programs: formatted in a small buffer, so that a line leaves in one `write` where it fits.
#![forbid(unsafe_code)]

use super::errno::Errno;
use super::sys::{Fd, Sys, write_all};
use core::ffi::CStr;
use core::fmt::{self, Write};

/// Bytes gathered before they are written.
const BUFFER_LEN: usize = 512;

struct Printer<'a, S> {
    sys: &'a mut S,
    fd: Fd,
    buffer: [u8; BUFFER_LEN],
    used: usize,
    error: Option<Errno>,
}

impl<S: Sys> Printer<'_, S> {
    fn flush(&mut self) -> Result<(), Errno> {
        let used = core::mem::take(&mut self.used);
        write_all(self.sys, self.fd, &self.buffer[..used]).map_err(|(_, error)| error)
    }
}

impl<S: Sys> Write for Printer<'_, S> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            if self.used == BUFFER_LEN
                && let Err(error) = self.flush()
            {
                self.error = Some(error);
                return Err(fmt::Error);
            }
            let count = rest.len().min(BUFFER_LEN - self.used);
            self.buffer[self.used..self.used + count].copy_from_slice(&rest[..count]);
            self.used += count;
            rest = &rest[count..];
        }
        Ok(())
    }
}

/// Writes formatted text to `fd`: `print(sys, Fd::STDOUT, format_args!("…\n"))`.
///
/// # Errors
/// The first error of `write(2)`; a part of the text may be out by then.
pub fn print<S: Sys>(sys: &mut S, fd: Fd, text: fmt::Arguments<'_>) -> Result<(), Errno> {
    let mut printer = Printer {
        sys,
        fd,
        buffer: [0; BUFFER_LEN],
        used: 0,
        error: None,
    };
    match printer.write_fmt(text) {
        Ok(()) => printer.flush(),
        Err(fmt::Error) => Err(printer.error.unwrap_or(Errno::EIO)),
    }
}

/// Writes a message to standard error. There is nowhere to report that this failed.
pub fn complain<S: Sys>(sys: &mut S, text: fmt::Arguments<'_>) {
    let _ = print(sys, Fd::STDERR, text);
}

/// Shows bytes from outside as text; what is not UTF-8 appears as U+FFFD.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a>(pub &'a [u8]);

impl<'a> From<&'a CStr> for Text<'a> {
    fn from(text: &'a CStr) -> Self {
        Text(text.to_bytes())
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            f.write_str(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                f.write_char(char::REPLACEMENT_CHARACTER)?;
            }
        }
        Ok(())
    }
}

/// A duration as seconds with six decimals, as `%f` prints it: `1.580880`.
#[derive(Clone, Copy, Debug)]
pub struct Seconds {
    /// The duration in microseconds.
    pub micros: u64,
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.micros / 1_000_000, self.micros % 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::fake::Fake;
    use std::string::ToString;

    #[test]
    fn text_longer_than_the_buffer_arrives_whole_and_in_order() {
        let mut sys = Fake::default();
        let long = "0123456789".repeat(130);
        print(&mut sys, Fd::STDOUT, format_args!("{long}|{}", 7)).unwrap();
        assert_eq!(sys.stdout(), long.clone() + "|7");
    }

    #[test]
    fn short_writes_lose_nothing() {
        let mut sys = Fake {
            largest_write: 3,
            ..Fake::default()
        };
        print(&mut sys, Fd::STDERR, format_args!("eight by te")).unwrap();
        assert_eq!(sys.stderr(), "eight by te");
    }

    #[test]
    fn write_error_is_returned() {
        let mut sys = Fake::default();
        sys.close(Fd::STDOUT).unwrap();
        assert_eq!(print(&mut sys, Fd::STDOUT, format_args!("x")), Err(Errno::EBADF));
        assert_eq!(
            print(&mut sys, Fd::STDOUT, format_args!("{}", "x".repeat(1000))),
            Err(Errno::EBADF)
        );
    }

    #[test]
    fn seconds_keep_their_leading_zeros() {
        assert_eq!(Seconds { micros: 61_000_042 }.to_string(), "61.000042");
    }

    #[test]
    fn bytes_that_are_no_text_show_as_replacement() {
        assert_eq!(Text(b"a\xffb").to_string(), "a\u{fffd}b");
    }
}
