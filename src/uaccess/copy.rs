//! Bulk copies and clears, with exact residues.
#![forbid(unsafe_code)]

use super::window::{Direction, Window};
use super::{UserRange, counters, raw};
use crate::errno::Errno;
use crate::policy::{ClearEngine, Counting, Engine, Policy};
use core::hint::cold_path;

/// Bytes that were **not** copied or cleared, as the assembly counts them. The bytes before are done, none behind is
/// touched; only where a bus error meets the second try at a step that was refused halfway, the step's first half is done
/// although it does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "ignoring the residue claims bytes that were never moved"]
pub struct Residue(u32);

impl Residue {
    /// The count.
    #[inline(always)]
    pub fn bytes(self) -> u32 {
        self.0
    }

    /// Nothing was left over.
    #[inline(always)]
    pub fn is_done(self) -> bool {
        self.0 == 0
    }

    /// What a system call answers for a transfer of `length` bytes: the bytes moved, or `EFAULT` if none were although
    /// some were asked for. The one place where a count becomes an error.
    ///
    /// # Errors
    /// `EFAULT`.
    #[inline(always)]
    pub fn count(self, length: u32) -> Result<u32, Errno> {
        if self.is_done() {
            return Ok(length);
        }
        cold_path();
        match length - self.0 {
            0 => Err(Errno::EFAULT),
            done => Ok(done),
        }
    }
}

/// Clears user memory with the engine of the policy.
#[inline(always)]
pub fn clear_user<P: Policy>(range: &UserRange) -> Residue {
    if range.is_empty() {
        return Residue(0);
    }
    let open = Window::<P>::open(range, Direction::Write);
    let residue = match P::Clear::ENGINE {
        Engine::Dcbz => raw::clear_user(open.start(), range.len()),
        Engine::Words => raw::clear_user_words(open.start(), range.len()),
        Engine::Bytes => raw::clear_user_bytes(open.start(), range.len()),
    };
    drop(open);
    if P::Count::is_enabled() {
        counters().cleared(range.len() - residue);
    }
    Residue(residue)
}

fn fitting(range: &UserRange, length: usize) -> UserRange {
    range.truncate(u32::try_from(length).unwrap_or(u32::MAX))
}

fn copied<P: Policy>(range: &UserRange, residue: u32) -> Residue {
    if P::Count::is_enabled() {
        counters().copied(range.len() - residue);
    }
    Residue(residue)
}

/// Copies `source` to the start of `range`; the shorter of the two sets the length.
pub fn copy_to_user<P: Policy>(range: &UserRange, source: &[u8]) -> Residue {
    let range = fitting(range, source.len());
    if range.is_empty() {
        return Residue(0);
    }
    let open = Window::<P>::open(&range, Direction::Write);
    let residue = raw::copy_to_user(open.start(), &source[..range.len() as usize]);
    drop(open);
    copied::<P>(&range, residue)
}

/// Copies the start of `range` to `target`; the shorter of the two sets the length. The tail of that length which could
/// not be filled is zeroed, so that no stale kernel bytes are taken for user data.
pub fn copy_from_user<P: Policy>(target: &mut [u8], range: &UserRange) -> Residue {
    let range = fitting(range, target.len());
    let residue = raw_copy_from_user::<P>(target, &range);
    if !residue.is_done() {
        let done = (range.len() - residue.0) as usize;
        target[done..range.len() as usize].fill(0);
    }
    residue
}

/// [`copy_from_user`] without the zeroed tail (`raw_copy_from_user`, `__copy_from_user_inatomic`): bytes of `target`
/// beyond what was copied keep their values.
pub fn raw_copy_from_user<P: Policy>(target: &mut [u8], range: &UserRange) -> Residue {
    let range = fitting(range, target.len());
    if range.is_empty() {
        return Residue(0);
    }
    let open = Window::<P>::open(&range, Direction::Read);
    let residue = raw::copy_from_user(&mut target[..range.len() as usize], open.start());
    drop(open);
    copied::<P>(&range, residue)
}

/// Checks and copies in one (`copy_from_user` as most callers know it): a refused range counts as nothing copied, and the
/// target is zeroed as after any fault.
pub fn copy_from_user_checked<P: Policy>(target: &mut [u8], address: crate::addr::UserAddr) -> Residue {
    let length = u32::try_from(target.len()).unwrap_or(u32::MAX);
    match super::access_ok::<P>(address, length) {
        Ok(range) => copy_from_user::<P>(target, &range),
        Err(_) => {
            target.fill(0);
            Residue(length)
        }
    }
}

/// Checks and copies in one; a refused range counts as nothing copied.
pub fn copy_to_user_checked<P: Policy>(address: crate::addr::UserAddr, source: &[u8]) -> Residue {
    let length = u32::try_from(source.len()).unwrap_or(u32::MAX);
    match super::access_ok::<P>(address, length) {
        Ok(range) => copy_to_user::<P>(&range, source),
        Err(_) => Residue(length),
    }
}

/// Touches every page of a range for loading; returns the bytes from the first page that refused (`fault_in_readable`).
pub fn fault_in_readable<P: Policy>(range: &UserRange) -> Residue {
    fault_in(range, |address| super::get_user::<P, u8>(address).is_ok())
}

/// Touches every page of a range for storing, without changing it; returns the bytes from the first page that refused
/// (`fault_in_writeable`).
pub fn fault_in_writeable<P: Policy>(range: &UserRange) -> Residue {
    fault_in(range, |address| {
        super::get_user::<P, u8>(address).is_ok_and(|byte| super::put_user::<P, u8>(address, byte).is_ok())
    })
}

fn fault_in(range: &UserRange, touch: impl Fn(crate::addr::UserAddr) -> bool) -> Residue {
    let mut rest = *range;
    while !rest.is_empty() {
        let address = crate::addr::UserAddr::new(rest.start());
        if !touch(address) {
            return Residue(rest.len());
        }
        rest = rest.advance(crate::addr::PAGE_SIZE - rest.start() % crate::addr::PAGE_SIZE);
    }
    Residue(0)
}
