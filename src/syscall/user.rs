//! Small structures in user memory: words and bytes, whole or not at all as far as the caller can tell.
#![forbid(unsafe_code)]

use crate::addr::UserAddr;
use crate::errno::Errno;
use crate::policy::General;
use crate::uaccess::{access_ok, copy_from_user, copy_to_user};

/// Writes bytes.
///
/// # Errors
/// `EFAULT`; a part may be written then.
pub fn put_bytes(address: u32, bytes: &[u8]) -> Result<(), Errno> {
    let range = access_ok::<General>(UserAddr::new(address), bytes.len() as u32)?;
    if copy_to_user::<General>(&range, bytes).is_done() {
        Ok(())
    } else {
        Err(Errno::EFAULT)
    }
}

/// Writes words.
///
/// # Errors
/// As [`put_bytes`].
pub fn put_words<const N: usize>(address: u32, words: [u32; N]) -> Result<(), Errno> {
    put_bytes(address, words.map(u32::to_be_bytes).as_flattened())
}

/// Reads words.
///
/// # Errors
/// `EFAULT`.
pub fn get_words<const N: usize>(address: u32) -> Result<[u32; N], Errno> {
    let range = access_ok::<General>(UserAddr::new(address), N as u32 * 4)?;
    let mut bytes = [[0u8; 4]; N];
    if copy_from_user::<General>(bytes.as_flattened_mut(), &range).is_done() {
        Ok(bytes.map(u32::from_be_bytes))
    } else {
        Err(Errno::EFAULT)
    }
}
