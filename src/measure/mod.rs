//! Measuring: the clock, and processor time by ticks.
#![forbid(unsafe_code)]

pub mod clock;
#[cfg(target_os = "none")]
pub mod copy_mc;
#[cfg(target_os = "none")]
pub mod curve;
pub mod series;
#[cfg(target_os = "none")]
pub mod uaccess;
