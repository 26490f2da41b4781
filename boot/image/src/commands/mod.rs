//! The programs: each reads its arguments and gives the exit status or an error with one.

pub mod bench_protector;
pub mod image;
pub mod qemu;
