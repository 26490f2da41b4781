//! Reading and writing kernel memory that may not be there (`copy_from_kernel_nofault` and kin, mm/maccess.c).
//!
//! User addresses are refused before any access: these functions never open the user-access window, and must not become
//! a way around it.
#![forbid(unsafe_code)]

use super::raw;
use crate::addr::TASK_SIZE;
use crate::errno::Errno;

fn check(address: u32, length: u32) -> Result<(), Errno> {
    let end = address.checked_add(length.saturating_sub(1)).ok_or(Errno::EFAULT)?;
    if address < TASK_SIZE || end < TASK_SIZE {
        Err(Errno::ERANGE)
    } else {
        Ok(())
    }
}

/// Copies kernel memory to `target`; bytes before a fault are copied.
///
/// # Errors
/// `ERANGE` for user addresses, `EFAULT` when the memory cannot be read.
pub fn copy_from_kernel_nofault(target: &mut [u8], address: u32) -> Result<(), Errno> {
    check(address, target.len() as u32)?;
    for (offset, slot) in target.iter_mut().enumerate() {
        *slot = raw::get_kernel_nofault_1(address.wrapping_add(offset as u32)).ok_or(Errno::EFAULT)?;
    }
    Ok(())
}

/// Reads a word (`__get_kernel_nofault`), at any alignment.
///
/// # Errors
/// As [`copy_from_kernel_nofault`].
pub fn get_kernel_nofault(address: u32) -> Result<u32, Errno> {
    check(address, 4)?;
    raw::get_kernel_nofault_4(address).ok_or(Errno::EFAULT)
}

/// Copies a string with its NUL, which always ends up in `target`; returns its length with the NUL.
///
/// # Errors
/// `ERANGE` for user addresses, `EFAULT` when a byte cannot be read (`target` is an empty string then), `E2BIG` for an
/// empty `target`.
pub fn strncpy_from_kernel_nofault(target: &mut [u8], address: u32) -> Result<u32, Errno> {
    check(address, 1)?;
    let last = target.len().checked_sub(1).ok_or(Errno::E2BIG)?;
    for offset in 0..=last {
        let at = address.checked_add(offset as u32);
        let Some(byte) = at.and_then(raw::get_kernel_nofault_1) else {
            target[0] = 0;
            return Err(Errno::EFAULT);
        };
        target[offset] = byte;
        if byte == 0 {
            return Ok(offset as u32 + 1);
        }
    }
    target[last] = 0;
    Ok(last as u32 + 1)
}
