//! User access: the limit (`access_ok`), the window (KUAP) and the fixup (exception table), behind one safe interface.
//!
//! The only way to user memory:
//! 1. a claim `(address, length)` becomes a [`UserRange`] by [`access_ok`], written once, which never computes
//!    `address + length`;
//! 2. a copy opens the [`window`](crate::arch::window) in one direction around the assembly and nothing else;
//! 3. an access inside it that faults goes on at its fixup, and the [`Residue`] says how many bytes were not done.
//!
//! Promises, each with its test: length 0 succeeds for every address up to the limit and fails above it; `done` never
//! exceeds what moved and is exact to the byte; [`copy_from_user`] zeroes the tail that it could not fill; a fault in the
//! kernel's own addresses is never fixed up.

pub mod extable;
mod raw;

use crate::addr::UserAddr;
use crate::arch::single::Single;
use crate::arch::window;
use crate::errno::Errno;
use crate::policy::{AddressLimit, Counting, Policy, RangeCheck, WindowControl};
use core::cell::Cell;

/// A range of user addresses that passed [`access_ok`]. Being one proves nothing about mappings or rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserRange {
    start: u32,
    length: u32,
}

/// The one range check: whether all of `[address, address + length)` is user space. Length 0 checks the start alone.
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

impl UserRange {
    /// First address.
    pub fn start(&self) -> UserAddr {
        UserAddr::new(self.start)
    }

    /// Length in bytes.
    pub fn len(&self) -> u32 {
        self.length
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The first `length` bytes, or all of it if it is shorter.
    pub fn truncate(&self, length: u32) -> Self {
        Self {
            start: self.start,
            length: self.length.min(length),
        }
    }

    /// What is left behind the first `done` bytes (nothing, if there are fewer).
    pub fn advance(&self, done: u32) -> Self {
        let done = done.min(self.length);
        Self {
            start: self.start + done,
            length: self.length - done,
        }
    }
}

/// Bytes that were **not** copied or cleared, as the assembly counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "ignoring the residue claims bytes that were never moved"]
pub struct Residue(u32);

impl Residue {
    /// The count.
    pub fn bytes(self) -> u32 {
        self.0
    }

    /// Nothing was left over.
    pub fn is_done(self) -> bool {
        self.0 == 0
    }

    /// What a system call answers for a transfer of `length` bytes: the bytes moved, or `EFAULT` if none were although
    /// some were asked for.
    ///
    /// # Errors
    /// `EFAULT`.
    #[inline(always)]
    pub fn count(self, length: u32) -> Result<u32, Errno> {
        if self.0 != 0 && self.0 == length {
            Err(Errno::EFAULT)
        } else {
            Ok(length - self.0)
        }
    }
}

/// Debug counters of the policies that run them.
pub struct Counters {
    /// Bytes that `clear_user` cleared.
    pub cleared: Cell<u64>,
    /// Bytes that copies moved, both directions.
    pub copied: Cell<u64>,
    /// Windows opened.
    pub opened: Cell<u64>,
}

static COUNTERS: Single<Counters> = Single::new(Counters {
    cleared: Cell::new(0),
    copied: Cell::new(0),
    opened: Cell::new(0),
});

/// The debug counters.
pub fn counters() -> &'static Counters {
    COUNTERS.get()
}

#[inline(always)]
fn count<P: Policy>(counter: &Cell<u64>, bytes: u32) {
    if P::Count::ENABLED {
        counter.set(counter.get() + u64::from(bytes));
    }
}

/// Which way data goes through an open window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    /// The kernel loads from user memory.
    Read,
    /// The kernel stores to user memory.
    Write,
}

/// Proof that the window is open over a range; closed on drop.
struct Window<'a, P: Policy> {
    range: &'a UserRange,
    policy: core::marker::PhantomData<P>,
}

impl<'a, P: Policy> Window<'a, P> {
    #[inline(always)]
    fn open(range: &'a UserRange, direction: Direction) -> Self {
        if P::Window::ENABLED {
            count::<P>(&counters().opened, 1);
            window::open(range.start, range.length, direction == Direction::Write);
        }
        Self {
            range,
            policy: core::marker::PhantomData,
        }
    }
}

impl<P: Policy> Drop for Window<'_, P> {
    #[inline(always)]
    fn drop(&mut self) {
        if P::Window::ENABLED {
            window::close();
        }
    }
}

/// Clears user memory.
#[inline(always)]
pub fn clear_user<P: Policy>(range: &UserRange) -> Residue {
    if range.length == 0 {
        return Residue(0);
    }
    let open = Window::<P>::open(range, Direction::Write);
    let residue = raw::clear_user(open.range.start, range.length);
    drop(open);
    count::<P>(&counters().cleared, range.length - residue);
    Residue(residue)
}

/// Copies `source` to the start of `range`; the shorter of the two sets the length.
pub fn copy_to_user<P: Policy>(range: &UserRange, source: &[u8]) -> Residue {
    let range = range.truncate(u32::try_from(source.len()).unwrap_or(u32::MAX));
    if range.length == 0 {
        return Residue(0);
    }
    let open = Window::<P>::open(&range, Direction::Write);
    let residue = raw::copy_to_user(open.range.start, &source[..range.length as usize]);
    drop(open);
    count::<P>(&counters().copied, range.length - residue);
    Residue(residue)
}

/// Copies the start of `range` to `target`; the shorter of the two sets the length. The tail of that length which could
/// not be filled is zeroed, so that no stale kernel bytes are taken for user data.
pub fn copy_from_user<P: Policy>(target: &mut [u8], range: &UserRange) -> Residue {
    let range = range.truncate(u32::try_from(target.len()).unwrap_or(u32::MAX));
    let residue = raw_copy_from_user::<P>(&mut target[..range.length as usize], &range);
    if !residue.is_done() {
        let done = (range.length - residue.0) as usize;
        target[done..range.length as usize].fill(0);
    }
    residue
}

/// [`copy_from_user`] without the zeroed tail: bytes of `target` beyond what was copied keep their values.
pub fn raw_copy_from_user<P: Policy>(target: &mut [u8], range: &UserRange) -> Residue {
    let range = range.truncate(u32::try_from(target.len()).unwrap_or(u32::MAX));
    if range.length == 0 {
        return Residue(0);
    }
    let open = Window::<P>::open(&range, Direction::Read);
    let residue = raw::copy_from_user(&mut target[..range.length as usize], open.range.start);
    drop(open);
    count::<P>(&counters().copied, range.length - residue);
    Residue(residue)
}

/// An integer that moves between kernel and user memory in one access each (8 bytes: in two, high word first).
pub trait UserInt: Copy {
    /// Reads one at a checked user address; the window is open. `None` after a fault.
    fn get(address: u32) -> Option<Self>;
    /// Writes one; `false` after a fault.
    fn put(address: u32, value: Self) -> bool;
}

impl UserInt for u8 {
    fn get(address: u32) -> Option<Self> {
        raw::get_user_1(address)
    }
    fn put(address: u32, value: Self) -> bool {
        raw::put_user_1(address, value)
    }
}

impl UserInt for u16 {
    fn get(address: u32) -> Option<Self> {
        raw::get_user_2(address)
    }
    fn put(address: u32, value: Self) -> bool {
        raw::put_user_2(address, value)
    }
}

impl UserInt for u32 {
    fn get(address: u32) -> Option<Self> {
        raw::get_user_4(address)
    }
    fn put(address: u32, value: Self) -> bool {
        raw::put_user_4(address, value)
    }
}

impl UserInt for u64 {
    fn get(address: u32) -> Option<Self> {
        let high = raw::get_user_4(address)?;
        let low = raw::get_user_4(address + 4)?;
        Some(u64::from(high) << 32 | u64::from(low))
    }
    fn put(address: u32, value: Self) -> bool {
        raw::put_user_4(address, (value >> 32) as u32) && raw::put_user_4(address + 4, value as u32)
    }
}

/// Reads one integer from user memory, at any alignment.
///
/// # Errors
/// `EFAULT` if the range check or the access fails.
pub fn get_user<P: Policy, T: UserInt>(address: UserAddr) -> Result<T, Errno> {
    let range = access_ok::<P>(address, size_of::<T>() as u32)?;
    let open = Window::<P>::open(&range, Direction::Read);
    T::get(open.range.start).ok_or(Errno::EFAULT)
}

/// Writes one integer to user memory, at any alignment. After a fault in the second half of an 8-byte value the first
/// half may have been written.
///
/// # Errors
/// `EFAULT` if the range check or the access fails.
pub fn put_user<P: Policy, T: UserInt>(address: UserAddr, value: T) -> Result<(), Errno> {
    let range = access_ok::<P>(address, size_of::<T>() as u32)?;
    let open = Window::<P>::open(&range, Direction::Write);
    if T::put(open.range.start, value) {
        Ok(())
    } else {
        Err(Errno::EFAULT)
    }
}

/// Copies a string: up to the NUL, which is copied too, or `target.len()` bytes if none comes before. Returns the length
/// without the NUL; equal to `target.len()` if there was none. Bytes behind the NUL are neither read nor written.
///
/// # Errors
/// `EFAULT` if the string runs into an unmapped page or beyond the limit of user space before its end.
pub fn strncpy_from_user<P: Policy>(target: &mut [u8], address: UserAddr) -> Result<u32, Errno> {
    let wanted = u32::try_from(target.len()).unwrap_or(u32::MAX);
    if wanted == 0 {
        return Ok(0);
    }
    let limit = <P::Limit as AddressLimit>::limit();
    if address.raw() > limit {
        return Err(Errno::EFAULT);
    }
    let room = limit - address.raw();
    let reachable = if wanted - 1 <= room { wanted } else { room + 1 };
    let range = UserRange {
        start: address.raw(),
        length: reachable,
    };
    let open = Window::<P>::open(&range, Direction::Read);
    let length = raw::strncpy_from_user(&mut target[..reachable as usize], open.range.start).ok_or(Errno::EFAULT)?;
    if length == reachable && reachable < wanted {
        Err(Errno::EFAULT)
    } else {
        Ok(length)
    }
}

/// The fixup of a refused kernel access, by the three conditions: the pc has an entry, the address is a user address (or
/// unknown, where the hardware does not say), and the window that was open covered it.
pub fn fixup(nip: u32, address: Option<u32>, window: u32, store: bool) -> Option<u32> {
    let fixup = extable::search(raw::exception_table(), nip)?;
    let covered = match address {
        Some(address) => window::covers(window, address, store),
        None => window != 0,
    };
    covered.then_some(fixup)
}
