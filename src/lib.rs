//! zeronull: the user-access core of a kernel, on bare metal.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod user;
