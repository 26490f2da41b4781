//! Ranges of user addresses that passed the one check.
#![forbid(unsafe_code)]

use crate::addr::UserAddr;
use crate::errno::Errno;
use crate::policy::{AddressLimit, Policy, RangeCheck};

/// A range of addresses that passed [`access_ok`]. Being one proves nothing about mappings or rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserRange {
    start: u32,
    length: u32,
}

/// The one range check: whether all of `[address, address + length)` is within the limit. Length 0 checks the start alone.
///
/// # Errors
/// `EFAULT`.
#[inline(always)]
pub fn access_ok<P: Policy>(address: UserAddr, length: u32) -> Result<UserRange, Errno> {
    if <P::Check as RangeCheck>::range_ok(address.raw(), length, <P::Limit as AddressLimit>::limit()) {
        Ok(UserRange {
            start: address.raw(),
            length,
        })
    } else {
        Err(Errno::EFAULT)
    }
}

/// As much of `[address, address + wanted)` as lies within the limit, for strings, whose end is not known.
///
/// # Errors
/// `EFAULT` when not even the first byte does.
pub(super) fn reachable<P: Policy>(address: UserAddr, wanted: u32) -> Result<UserRange, Errno> {
    let limit = <P::Limit as AddressLimit>::limit();
    let start = address.raw();
    if start > limit {
        return Err(Errno::EFAULT);
    }
    let room = limit - start;
    let length = if wanted == 0 || wanted - 1 <= room {
        wanted
    } else {
        room + 1
    };
    Ok(UserRange { start, length })
}

impl UserRange {
    /// Nothing, at address 0, where nothing passes every check.
    pub const EMPTY: Self = Self { start: 0, length: 0 };

    /// First address.
    #[inline(always)]
    pub fn start(&self) -> u32 {
        self.start
    }

    /// Length in bytes.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.length
    }

    /// Whether there is nothing in it.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The first `length` bytes, or all of it if it is shorter.
    #[inline(always)]
    pub fn truncate(&self, length: u32) -> Self {
        Self {
            start: self.start,
            length: self.length.min(length),
        }
    }

    /// What is left behind the first `done` bytes (nothing, if there are fewer).
    #[inline(always)]
    pub fn advance(&self, done: u32) -> Self {
        let done = done.min(self.length);
        Self {
            start: self.start.wrapping_add(done),
            length: self.length - done,
        }
    }
}
