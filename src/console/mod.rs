//! The kernel's console: formatted output, bytes and edited lines of input.

#[cfg(target_os = "none")]
mod device;
#[cfg(test)]
mod host;
pub mod line;

#[cfg(target_os = "none")]
pub use device::*;
#[cfg(test)]
pub use host::*;
