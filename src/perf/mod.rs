//! Where the time goes: a sampling profile of kernel and user code, and counts around a command.
//!
//! The tick samples the interrupted pc while something is recorded, at a jittered period so that it cannot fall into step
//! with a loop. Samples go to a buffer of fixed size; what does not fit is counted as lost. A tick that comes while the
//! user-access window is open closes it only for its own duration, like any other exception. Code that runs with
//! interrupts off is sampled at the instruction that lets them in again: the vectors and the last few instructions of
//! the system call path.
#![forbid(unsafe_code)]

mod profile;
#[cfg(target_os = "none")]
mod recording;

pub use profile::{Profile, Row};
#[cfg(target_os = "none")]
pub use recording::*;
