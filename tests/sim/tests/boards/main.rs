//! Whole boards: software written by others, and the loader's checks.

mod harness;
mod linux;
mod loader;
mod u_boot;
