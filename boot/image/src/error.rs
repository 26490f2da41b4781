//! The one error type of the host tools: a message for a person and an exit status for a script.

use std::fmt;
use std::path::Path;

/// Exit status of a run that did not end in time, as `timeout(1)` uses it.
pub const STATUS_TIME_OUT: u8 = 124;
/// Exit status of a run that ended without the firmware's verdict.
pub const STATUS_NO_VERDICT: u8 = 125;
/// Exit status of a command line that cannot be understood.
pub const STATUS_USAGE: u8 = 2;
/// Exit status of everything else that failed.
pub const STATUS_FAILED: u8 = 1;

/// What went wrong, worded for the person who gave the command.
///
/// Messages start lower case, name the thing and give the number or the accepted values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The process exit status that belongs to this error.
    pub status: u8,
    /// The message, without a trailing newline; it may span lines when it carries the tail of a log.
    pub message: String,
}

impl Error {
    /// An operation failed.
    pub fn failed(message: impl Into<String>) -> Self {
        Self {
            status: STATUS_FAILED,
            message: message.into(),
        }
    }

    /// The user's command line is wrong.
    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            status: STATUS_USAGE,
            message: message.into(),
        }
    }

    /// A machine was still running, or still silent, when its time was over.
    pub fn time_out(message: impl Into<String>) -> Self {
        Self {
            status: STATUS_TIME_OUT,
            message: message.into(),
        }
    }

    /// A machine ended and its console does not end with the firmware's verdict.
    pub fn no_verdict(message: impl Into<String>) -> Self {
        Self {
            status: STATUS_NO_VERDICT,
            message: message.into(),
        }
    }

    /// For `map_err`: says what was done to which file when the system refused.
    pub fn file<'a>(action: &'a str, path: &'a Path) -> impl FnOnce(std::io::Error) -> Self + 'a {
        move |cause| Self::failed(format!("cannot {action} {}: {cause}", path.display()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
