//! Single integers: `get_user` and `put_user`.
#![forbid(unsafe_code)]

use super::range::reachable;
use super::window::{Direction, Window};
use super::{UserRange, access_ok, raw};
use crate::addr::UserAddr;
use crate::errno::Errno;
use crate::policy::Policy;

/// An integer that moves between kernel and user memory in one access (8 bytes: in two, high word first).
pub trait UserInt: Copy {
    /// Reads one at a checked address, the window being open. `None` after a fault, whichever half it hit.
    fn get(address: u32) -> Option<Self>;
    /// Writes one; `false` after a fault.
    fn put(address: u32, value: Self) -> bool;
}

macro_rules! user_int {
    ($($type:ty: $get:ident $put:ident;)*) => { $(
        impl UserInt for $type {
            #[inline(always)]
            fn get(address: u32) -> Option<Self> {
                raw::$get(address)
            }
            #[inline(always)]
            fn put(address: u32, value: Self) -> bool {
                raw::$put(address, value)
            }
        }
    )* };
}

user_int! {
    u8: get_user_1 put_user_1;
    u16: get_user_2 put_user_2;
    u32: get_user_4 put_user_4;
}

impl UserInt for u64 {
    fn get(address: u32) -> Option<Self> {
        let high = raw::get_user_4(address)?;
        let low = raw::get_user_4(address.wrapping_add(4))?;
        Some(u64::from(high) << 32 | u64::from(low))
    }
    fn put(address: u32, value: Self) -> bool {
        raw::put_user_4(address, (value >> 32) as u32) && raw::put_user_4(address.wrapping_add(4), value as u32)
    }
}

/// Reads one integer from user memory, at any alignment. There is no value after a fault, not even half of one.
///
/// # Errors
/// `EFAULT` if the range check or the access fails.
pub fn get_user<P: Policy, T: UserInt>(address: UserAddr) -> Result<T, Errno> {
    __get_user::<P, T>(&access_ok::<P>(address, size_of::<T>() as u32)?)
}

/// [`get_user`] at the start of a range that was checked before.
///
/// # Errors
/// `EFAULT` if the range is shorter than the integer, or the access fails.
pub fn __get_user<P: Policy, T: UserInt>(range: &UserRange) -> Result<T, Errno> {
    if (range.len() as usize) < size_of::<T>() {
        return Err(Errno::EFAULT);
    }
    let open = Window::<P>::open(range, Direction::Read);
    T::get(open.start()).ok_or(Errno::EFAULT)
}

/// Writes one integer to user memory, at any alignment. After a fault in the second half of an 8-byte value the first
/// half may have been written.
///
/// # Errors
/// `EFAULT` if the range check or the access fails.
pub fn put_user<P: Policy, T: UserInt>(address: UserAddr, value: T) -> Result<(), Errno> {
    __put_user::<P, T>(&access_ok::<P>(address, size_of::<T>() as u32)?, value)
}

/// [`put_user`] at the start of a range that was checked before.
///
/// # Errors
/// `EFAULT` if the range is shorter than the integer, or the access fails.
pub fn __put_user<P: Policy, T: UserInt>(range: &UserRange, value: T) -> Result<(), Errno> {
    if (range.len() as usize) < size_of::<T>() {
        return Err(Errno::EFAULT);
    }
    let open = Window::<P>::open(range, Direction::Write);
    if T::put(open.start(), value) {
        Ok(())
    } else {
        Err(Errno::EFAULT)
    }
}

/// The word at any user address, with zeros for the bytes that lie in a page which cannot be read
/// (`load_unaligned_zeropad`); the byte at `address` itself must be readable.
///
/// # Errors
/// `EFAULT` if the range check fails or not even the first byte can be read.
pub fn load_unaligned_zeropad<P: Policy>(address: UserAddr) -> Result<u32, Errno> {
    let range = reachable::<P>(address, 4)?;
    let open = Window::<P>::open(&range, Direction::Read);
    raw::load_unaligned_zeropad(open.start()).ok_or(Errno::EFAULT)
}
