//! Images and how they are started: what a boot loader, a debugger or a flash programmer would do before the first
//! instruction of the guest.
//!
//! [`image::Image::parse`] makes an [`Image`] of an ELF file ([`elf`]), a legacy uImage ([`uimage`]) or raw bytes;
//! [`start::start`] places it in the memory of a board that stands as its U-Boot leaves it, adds what the hand-over
//! convention asks for (a device tree ([`fdt`]), a [`board_info`], arguments), and returns the registers to start with.
//! Every input is checked before it is believed; a bad one is a [`LoadError`] that names what was wrong.

pub mod board_info;
pub mod elf;
pub mod fdt;
pub mod image;
pub mod start;
pub mod uimage;

#[cfg(test)]
mod tests;

pub use image::{Image, Segment};
pub use start::{Entry, HandOver, start};

/// Why something could not be loaded: a message that names the thing and the number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError(pub String);

impl std::fmt::Display for LoadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LoadError {}

/// A [`LoadError`] from format arguments.
macro_rules! load_error {
    ($($argument:tt)*) => { $crate::load::LoadError(format!($($argument)*)) };
}
pub(crate) use load_error;

/// A big-endian word at `offset`, if it is inside.
fn word_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let field = bytes.get(offset..offset.checked_add(4)?)?;
    Some(u32::from_be_bytes(field.try_into().ok()?))
}

/// A big-endian halfword at `offset`, if it is inside.
fn half_at(bytes: &[u8], offset: usize) -> Option<u16> {
    let field = bytes.get(offset..offset.checked_add(2)?)?;
    Some(u16::from_be_bytes(field.try_into().ok()?))
}
