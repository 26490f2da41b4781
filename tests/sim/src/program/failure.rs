//! What ends the program other than the guest: a message for a person and an exit status for a script.

use std::path::Path;

/// Something outside the simulated board failed.
pub const STATUS_FAILED: u8 = 1;
/// The command line cannot be understood.
pub const STATUS_USAGE: u8 = 2;
/// The budget of instructions or simulated time is used up, as `timeout(1)` says it.
pub const STATUS_BUDGET: u8 = 124;
/// The guest came to a state that is undefined, not modelled, or not the orderly end that was asked for.
pub const STATUS_IMPOSSIBLE: u8 = 125;

/// A message that starts lower case and names the thing and what is accepted, and the status that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Exit status of the program.
    pub status: u8,
    /// Without a newline at its end.
    pub message: String,
}

impl Failure {
    /// The command line is wrong.
    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            status: STATUS_USAGE,
            message: message.into(),
        }
    }

    /// Something else failed.
    pub fn failed(message: impl Into<String>) -> Self {
        Self {
            status: STATUS_FAILED,
            message: message.into(),
        }
    }

    /// For `map_err` on an operation on a file, named by its verb.
    pub fn file(verb: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let what = format!("cannot {verb} {}", path.display());
        move |cause| Self::failed(format!("{what}: {cause}"))
    }
}
