//! What a process is started with.
#![forbid(unsafe_code)]

use alloc::vec::Vec;
use core::ffi::CStr;

/// The start stack of a process, read once.
#[derive(Clone, Debug, Default)]
pub struct StartInfo<'a> {
    /// The program's name and its arguments.
    pub arguments: Vec<&'a CStr>,
    /// The environment, `NAME=VALUE` each.
    pub environment: Vec<&'a CStr>,
    /// The auxiliary vector without its end mark: `(type, value)`. Types: kernel `include/uapi/linux/auxvec.h`.
    pub auxiliary: Vec<(u32, u32)>,
    /// The user address that the argument count was found at.
    pub stack: u32,
}

impl<'a> StartInfo<'a> {
    /// The arguments after the program's name.
    pub fn operands(&self) -> &[&'a CStr] {
        self.arguments.get(1..).unwrap_or_default()
    }
}
