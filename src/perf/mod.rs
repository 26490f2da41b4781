//! Where the time goes: a sampling profile of kernel and user code, and counts around a command.
//!
//! The tick samples the interrupted pc while something is recorded, at a jittered period so that it cannot fall into step
//! with a loop. Samples go to a buffer of fixed size; what does not fit is counted as lost. A tick that comes while the
//! user-access window is open closes it only for its own duration, like any other exception.
//!
//! A sample shows the instruction that would have come next, so the time of an instruction counts for its successor, and
//! that of code that runs with interrupts off for the instruction that lets them in again. Where that is the way into or
//! out of a system call the report puts it right; elsewhere (the TLB-miss handlers, [`crate::arch::ppc::spr`]'s critical
//! sections) it does not. The sampler itself is never seen: no tick comes while one is served.
#![forbid(unsafe_code)]

mod profile;
#[cfg(target_os = "none")]
mod recording;

pub use profile::{Profile, Row, short_name};
#[cfg(target_os = "none")]
pub use recording::*;
