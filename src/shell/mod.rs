//! The shell on the serial line: built-in commands and user programs share one name space.
#![forbid(unsafe_code)]

#[cfg(target_os = "none")]
mod commands;
#[cfg(target_os = "none")]
mod faults;
#[cfg(target_os = "none")]
mod perf;
#[cfg(target_os = "none")]
mod policy;
#[cfg(target_os = "none")]
mod series;
pub mod words;

#[cfg(target_os = "none")]
pub use commands::{finish, interactive, run_line, set_json};
