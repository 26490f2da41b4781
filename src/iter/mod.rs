//! `iov_iter`: where the bytes of a transfer go to or come from, whatever it is: one user buffer, an array of user
//! segments, or kernel memory.
//!
//! The side is in the type: an `IovIter<Destination>` takes bytes, an `IovIter<Source>` gives them, and no function accepts
//! the other. User segments are [`UserRange`]s, so each was checked before the first byte moves. A step costs the same for
//! every segment, empty ones included, and nothing is looked at behind the last byte of the count.
#![forbid(unsafe_code)]

mod import;
#[cfg(test)]
mod tests;

pub use import::{IovecArray, UIO_MAXIOV, import_iovec};

use crate::policy::Policy;
use crate::uaccess::{UserRange, clear_user, copy_from_user, copy_to_user};

/// Most bytes that one call moves: `INT_MAX` rounded down to a page (`MAX_RW_COUNT`, include/linux/fs.h).
pub const MAX_RW_COUNT: u32 = 0x7fff_f000;

/// Which end of a transfer an iterator is.
pub trait Side {
    /// A segment of kernel memory.
    type Segment<'a>;
    /// Its bytes.
    fn length(segment: &Self::Segment<'_>) -> usize;
    /// `length` bytes of it from `start` on.
    fn part<'p>(segment: &'p mut Self::Segment<'_>, start: usize, length: usize) -> Self::Segment<'p>;
}

/// Bytes go here (`READ` in the kernel, after the call that it serves).
#[derive(Debug)]
pub struct Destination;

/// Bytes come from here (`WRITE` in the kernel).
#[derive(Debug)]
pub struct Source;

impl Side for Destination {
    type Segment<'a> = &'a mut [u8];
    fn length(segment: &Self::Segment<'_>) -> usize {
        segment.len()
    }
    fn part<'p>(segment: &'p mut Self::Segment<'_>, start: usize, length: usize) -> Self::Segment<'p> {
        &mut segment[start..start + length]
    }
}

impl Side for Source {
    type Segment<'a> = &'a [u8];
    fn length(segment: &Self::Segment<'_>) -> usize {
        segment.len()
    }
    fn part<'p>(segment: &'p mut Self::Segment<'_>, start: usize, length: usize) -> Self::Segment<'p> {
        &segment[start..start + length]
    }
}

enum Segments<'a, S: Side> {
    /// `ITER_UBUF`
    User(UserRange),
    /// `ITER_IOVEC`
    Vector(&'a [UserRange]),
    /// `ITER_KVEC`
    Kernel(&'a mut [S::Segment<'a>]),
}

/// A cursor over the memory of one transfer.
pub struct IovIter<'a, S: Side> {
    segments: Segments<'a, S>,
    /// The segment under the cursor.
    index: usize,
    /// Bytes of it that are done.
    offset: u32,
    /// Bytes that are left; never more than the segments hold.
    count: u32,
}

/// A piece of memory that lies in one segment.
enum Piece<'p, S: Side> {
    User(UserRange),
    Kernel(S::Segment<'p>),
}

impl<'a, S: Side> IovIter<'a, S> {
    /// One buffer in user memory.
    #[inline(always)]
    pub fn user(range: UserRange) -> Self {
        Self {
            segments: Segments::User(range),
            index: 0,
            offset: 0,
            count: range.len().min(MAX_RW_COUNT),
        }
    }

    /// Segments in user memory, in the order in which they are used.
    pub fn vector(segments: &'a [UserRange]) -> Self {
        let total = segments.iter().map(UserRange::len).fold(0, u32::saturating_add);
        Self::vector_of(segments, total)
    }

    /// [`IovIter::vector`] whose sum of lengths is known.
    #[inline(always)]
    fn vector_of(segments: &'a [UserRange], total: u32) -> Self {
        Self {
            segments: Segments::Vector(segments),
            index: 0,
            offset: 0,
            count: total.min(MAX_RW_COUNT),
        }
    }

    /// Segments in kernel memory.
    pub fn kernel(segments: &'a mut [S::Segment<'a>]) -> Self {
        let total: usize = segments.iter().map(|segment| S::length(segment)).sum();
        Self {
            segments: Segments::Kernel(segments),
            index: 0,
            offset: 0,
            count: u32::try_from(total).unwrap_or(u32::MAX).min(MAX_RW_COUNT),
        }
    }

    /// Bytes that are left (`iov_iter_count`).
    #[inline(always)]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Leaves `count` bytes at most (`iov_iter_truncate`).
    pub fn truncate(&mut self, count: u32) {
        self.count = self.count.min(count);
    }

    /// Length of the segment under the cursor; `None` behind the last.
    #[inline(always)]
    fn segment_length(&self) -> Option<u32> {
        match &self.segments {
            Segments::User(range) => (self.index == 0).then_some(range.len()),
            Segments::Vector(ranges) => ranges.get(self.index).map(UserRange::len),
            Segments::Kernel(segments) => segments.get(self.index).map(|segment| S::length(segment) as u32),
        }
    }

    /// Runs `act` over the next `bytes` bytes, piece by piece; it gets the bytes done so far and returns those of the piece
    /// that it could not do, and one is enough to end. Returns the bytes done; the cursor stands behind them.
    #[inline(always)]
    fn for_each_piece(&mut self, bytes: u32, mut act: impl FnMut(u32, Piece<'_, S>) -> u32) -> u32 {
        let wanted = bytes.min(self.count);
        let mut done = 0;
        // One buffer is one piece; of segments, each is looked at once.
        while done < wanted {
            let (length, residue) = match &mut self.segments {
                Segments::User(range) => {
                    let piece = range.advance(self.offset).truncate(wanted);
                    (piece.len(), act(done, Piece::User(piece)))
                }
                Segments::Vector(ranges) => {
                    let Some(range) = ranges.get(self.index) else { break };
                    let piece = range.advance(self.offset).truncate(wanted - done);
                    if piece.is_empty() {
                        self.index += 1;
                        self.offset = 0;
                        continue;
                    }
                    (piece.len(), act(done, Piece::User(piece)))
                }
                Segments::Kernel(segments) => {
                    let Some(segment) = segments.get_mut(self.index) else {
                        break;
                    };
                    let length = (S::length(segment) as u32 - self.offset).min(wanted - done);
                    if length == 0 {
                        self.index += 1;
                        self.offset = 0;
                        continue;
                    }
                    let piece = S::part(segment, self.offset as usize, length as usize);
                    (length, act(done, Piece::Kernel(piece)))
                }
            };
            let moved = length - residue;
            self.offset += moved;
            done += moved;
            if residue != 0 {
                break;
            }
        }
        self.count -= done;
        done
    }

    /// Passes over bytes without touching them (`iov_iter_advance`); at most as many as are left.
    #[inline(never)]
    pub fn advance(&mut self, bytes: u32) {
        let bytes = bytes.min(self.count);
        self.count -= bytes;
        self.offset += bytes;
        while let Some(length) = self.segment_length() {
            if self.offset < length {
                break;
            }
            self.offset -= length;
            self.index += 1;
        }
    }

    /// Takes back the last `bytes` bytes that were done or passed (`iov_iter_revert`); at most all of them.
    pub fn revert(&mut self, bytes: u32) {
        let mut left = bytes;
        while left > 0 {
            let back = left.min(self.offset);
            self.offset -= back;
            self.count += back;
            left -= back;
            if left > 0 {
                let Some(index) = self.index.checked_sub(1) else {
                    return;
                };
                self.index = index;
                self.offset = self.segment_length().unwrap_or(0);
            }
        }
    }

    /// The rest of the segment under the cursor, if it is user memory, and `None` when nothing is left
    /// (`iov_iter_iovec`): for files that know only plain operations.
    pub fn user_segment(&mut self) -> Option<UserRange> {
        if self.count == 0 {
            return None;
        }
        // Passes what is behind the end of a segment, and empty ones.
        self.advance(0);
        let range = match &self.segments {
            Segments::User(range) => range,
            Segments::Vector(ranges) => ranges.get(self.index)?,
            Segments::Kernel(_) => return None,
        };
        Some(range.advance(self.offset).truncate(self.count))
    }
}

/// Copies `bytes` to the iterator; returns how many went, fewer only after a fault or at the end of the count.
#[inline(never)]
pub fn copy_to_iter<P: Policy>(bytes: &[u8], iter: &mut IovIter<'_, Destination>) -> u32 {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    iter.for_each_piece(length, |done, piece| {
        let rest = &bytes[done as usize..];
        match piece {
            Piece::User(range) => copy_to_user::<P>(&range, rest).bytes(),
            Piece::Kernel(target) => {
                target.copy_from_slice(&rest[..target.len()]);
                0
            }
        }
    })
}

/// Fills `target` from the iterator; returns how many bytes came, fewer only after a fault or at the end of the count.
/// The rest of `target` is unspecified, but not stale: what a fault left is zeroed as by `copy_from_user`.
#[inline(never)]
pub fn copy_from_iter<P: Policy>(target: &mut [u8], iter: &mut IovIter<'_, Source>) -> u32 {
    let length = u32::try_from(target.len()).unwrap_or(u32::MAX);
    iter.for_each_piece(length, |done, piece| {
        let rest = &mut target[done as usize..];
        match piece {
            Piece::User(range) => copy_from_user::<P>(rest, &range).bytes(),
            Piece::Kernel(source) => {
                rest[..source.len()].copy_from_slice(source);
                0
            }
        }
    })
}

/// Zeros up to `bytes` bytes of the iterator; returns how many, fewer only after a fault or at the end of the count.
#[inline(never)]
pub fn iov_iter_zero<P: Policy>(bytes: u32, iter: &mut IovIter<'_, Destination>) -> u32 {
    iter.for_each_piece(bytes, |_, piece| match piece {
        Piece::User(range) => clear_user::<P>(&range).bytes(),
        Piece::Kernel(target) => {
            target.fill(0);
            0
        }
    })
}
