//! Whole boards: software written by others, and the loader's checks.

#[allow(dead_code, reason = "shared with the tests of the firmware")]
mod harness;
mod linux;
mod loader;
mod u_boot;
