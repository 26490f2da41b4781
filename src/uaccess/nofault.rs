//! Reading and writing kernel memory that may not be there (`copy_from_kernel_nofault` and kin, mm/maccess.c).
//!
//! User addresses are refused before any access: these functions never open the user-access window, and must not become
//! a way around it. Writing is unsafe as any store to an address is; the stores themselves are in `raw`.

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

/// Copies `source` to kernel memory; bytes before a fault are written.
///
/// # Safety
/// What is written must not belong to code or to an object that relies on its value.
///
/// # Errors
/// `ERANGE` for user addresses, `EFAULT` when the memory cannot be written.
pub unsafe fn copy_to_kernel_nofault(address: u32, source: &[u8]) -> Result<(), Errno> {
    check(address, source.len() as u32)?;
    for (offset, byte) in (0..).zip(source) {
        // SAFETY: promised by the caller.
        if !unsafe { raw::put_kernel_nofault_1(address.wrapping_add(offset), *byte) } {
            return Err(Errno::EFAULT);
        }
    }
    Ok(())
}

/// An integer that moves from and to kernel memory in one access (8 bytes: in two, high word first), at any alignment.
pub trait NofaultInt: Copy {
    /// Reads one at a kernel address; `None` after a fault.
    fn get(address: u32) -> Option<Self>;
    /// Writes one; `false` after a fault.
    ///
    /// # Safety
    /// As [`copy_to_kernel_nofault`].
    unsafe fn put(address: u32, value: Self) -> bool;
}

macro_rules! nofault_int {
    ($($type:ty: $get:ident $put:ident;)*) => { $(
        impl NofaultInt for $type {
            fn get(address: u32) -> Option<Self> {
                raw::$get(address)
            }
            unsafe fn put(address: u32, value: Self) -> bool {
                // SAFETY: promised by the caller.
                unsafe { raw::$put(address, value) }
            }
        }
    )* };
}

nofault_int! {
    u8: get_kernel_nofault_1 put_kernel_nofault_1;
    u16: get_kernel_nofault_2 put_kernel_nofault_2;
    u32: get_kernel_nofault_4 put_kernel_nofault_4;
}

impl NofaultInt for u64 {
    fn get(address: u32) -> Option<Self> {
        let high = raw::get_kernel_nofault_4(address)?;
        let low = raw::get_kernel_nofault_4(address.wrapping_add(4))?;
        Some(u64::from(high) << 32 | u64::from(low))
    }
    unsafe fn put(address: u32, value: Self) -> bool {
        // SAFETY: promised by the caller.
        unsafe {
            raw::put_kernel_nofault_4(address, (value >> 32) as u32)
                && raw::put_kernel_nofault_4(address.wrapping_add(4), value as u32)
        }
    }
}

/// Reads an integer (`__get_kernel_nofault`).
///
/// # Errors
/// As [`copy_from_kernel_nofault`].
pub fn get_kernel_nofault<T: NofaultInt>(address: u32) -> Result<T, Errno> {
    check(address, size_of::<T>() as u32)?;
    T::get(address).ok_or(Errno::EFAULT)
}

/// Writes an integer (`__put_kernel_nofault`).
///
/// # Safety
/// As [`copy_to_kernel_nofault`].
///
/// # Errors
/// As [`copy_to_kernel_nofault`].
pub unsafe fn put_kernel_nofault<T: NofaultInt>(address: u32, value: T) -> Result<(), Errno> {
    check(address, size_of::<T>() as u32)?;
    // SAFETY: promised by the caller.
    if unsafe { T::put(address, value) } {
        Ok(())
    } else {
        Err(Errno::EFAULT)
    }
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
