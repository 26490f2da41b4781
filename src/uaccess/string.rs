//! User strings, and structures whose size user and kernel disagree about.
#![forbid(unsafe_code)]

use super::range::reachable;
use super::window::{Direction, Window};
use super::{UserRange, access_ok, copy_from_user, raw};
use crate::addr::UserAddr;
use crate::errno::Errno;
use crate::policy::Policy;

/// Copies a string: up to the NUL, which is copied too, or `target.len()` bytes if none comes before. Returns the length
/// without the NUL; equal to `target.len()` if there was none. Bytes behind the NUL are neither read nor written.
///
/// # Errors
/// `EFAULT` if the string runs into an unmapped page or beyond the limit before its end.
pub fn strncpy_from_user<P: Policy>(target: &mut [u8], address: UserAddr) -> Result<u32, Errno> {
    let wanted = u32::try_from(target.len()).unwrap_or(u32::MAX);
    if wanted == 0 {
        return Ok(0);
    }
    let range = reachable::<P>(address, wanted)?;
    let open = Window::<P>::open(&range, Direction::Read);
    let length = raw::strncpy_from_user(&mut target[..range.len() as usize], open.start()).ok_or(Errno::EFAULT)?;
    if length == range.len() && length < wanted {
        Err(Errno::EFAULT)
    } else {
        Ok(length)
    }
}

/// Length of a string with its NUL; more than `most` if there is none within `most` bytes; 0 if it cannot be read that far.
pub fn strnlen_user<P: Policy>(address: UserAddr, most: u32) -> u32 {
    let Ok(range) = reachable::<P>(address, most) else {
        return 0;
    };
    if range.is_empty() {
        return 0;
    }
    let open = Window::<P>::open(&range, Direction::Read);
    match raw::strnlen_user(open.start(), range.len()) {
        Some(length) if length > range.len() && range.len() < most => 0,
        Some(length) => length,
        None => 0,
    }
}

/// Whether a user range holds zeros alone.
///
/// # Errors
/// `EFAULT` if a byte before the first that is not zero cannot be read.
pub fn check_zeroed_user<P: Policy>(range: &UserRange) -> Result<bool, Errno> {
    let mut rest = *range;
    let mut portion = [0; 64];
    while !rest.is_empty() {
        let wanted = rest.truncate(portion.len() as u32);
        let done = wanted.len() - copy_from_user::<P>(&mut portion, &wanted).bytes();
        if portion[..done as usize].iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        if done < wanted.len() {
            return Err(Errno::EFAULT);
        }
        rest = rest.advance(done);
    }
    Ok(true)
}

/// Copies a structure of `user_size` bytes at `address` into a kernel structure of `target.len()`: a shorter one is
/// filled up with zeros, a longer one must be zero behind the part that the kernel knows.
///
/// # Errors
/// `E2BIG` if the unknown part is not zero, `EFAULT`; the target is untouched after `E2BIG`.
pub fn copy_struct_from_user<P: Policy>(target: &mut [u8], address: UserAddr, user_size: u32) -> Result<(), Errno> {
    let range = access_ok::<P>(address, user_size)?;
    let known = range.truncate(u32::try_from(target.len()).unwrap_or(u32::MAX));
    if !check_zeroed_user::<P>(&range.advance(known.len()))? {
        return Err(Errno::E2BIG);
    }
    target[known.len() as usize..].fill(0);
    if copy_from_user::<P>(target, &known).is_done() {
        Ok(())
    } else {
        Err(Errno::EFAULT)
    }
}
