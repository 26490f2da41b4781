//! The poison list of a memory device: which bytes are lost.
#![forbid(unsafe_code)]

use core::cell::Cell;
use core::ops::Range;

/// Ranges that a list holds at most.
pub const CAPACITY: usize = 64;

/// Why a range cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoisonError {
    /// It is empty, or not all of it lies in the device.
    OutOfRange,
    /// The list holds [`CAPACITY`] ranges that do not touch it.
    Full,
}

/// Lost bytes as disjoint ranges of offsets in ascending order, with a gap between any two.
pub struct PoisonList {
    ranges: [Cell<(u32, u32)>; CAPACITY],
    count: Cell<usize>,
}

impl PoisonList {
    /// Nothing is lost.
    pub const fn new() -> Self {
        Self {
            ranges: [const { Cell::new((0, 0)) }; CAPACITY],
            count: Cell::new(0),
        }
    }

    /// Whether nothing is lost.
    pub fn is_empty(&self) -> bool {
        self.count.get() == 0
    }

    /// The ranges.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u32>> {
        self.ranges[..self.count.get()].iter().map(|range| {
            let (start, end) = range.get();
            start..end
        })
    }

    /// The first lost byte in `span`.
    pub fn first_in(&self, span: Range<u32>) -> Option<u32> {
        self.ranges()
            .find(|range| range.end > span.start)
            .map(|range| range.start.max(span.start))
            .filter(|first| *first < span.end)
    }

    /// Puts `kept` in the place of what the list held.
    fn replace(&self, kept: impl Iterator<Item = Range<u32>>) -> Result<(), PoisonError> {
        let mut new = [(0, 0); CAPACITY];
        let mut count = 0;
        for range in kept.filter(|range| !range.is_empty()) {
            *new.get_mut(count).ok_or(PoisonError::Full)? = (range.start, range.end);
            count += 1;
        }
        for (slot, range) in self.ranges.iter().zip(new) {
            slot.set(range);
        }
        self.count.set(count);
        Ok(())
    }

    /// Loses the bytes of `lost`, in a device of `size` bytes.
    ///
    /// # Errors
    /// See [`PoisonError`]; the list is as before then.
    pub fn add(&self, lost: Range<u32>, size: u32) -> Result<(), PoisonError> {
        if lost.is_empty() || lost.end > size {
            return Err(PoisonError::OutOfRange);
        }
        let touches = |range: &Range<u32>| range.start <= lost.end && lost.start <= range.end;
        let joined = self.ranges().filter(touches).fold(lost.clone(), |all, range| {
            all.start.min(range.start)..all.end.max(range.end)
        });
        let before = self.ranges().filter(|range| range.end < lost.start);
        let behind = self.ranges().filter(|range| range.start > lost.end);
        self.replace(before.chain([joined]).chain(behind))
    }

    /// The bytes of `found` are good again.
    ///
    /// # Errors
    /// [`PoisonError::Full`] when that would split a range and there is no room for its two parts.
    pub fn remove(&self, found: Range<u32>) -> Result<(), PoisonError> {
        let parts = self.ranges().flat_map(|range| {
            let before = range.start..range.end.min(found.start);
            let behind = range.start.max(found.end)..range.end;
            [before, behind]
        });
        self.replace(parts)
    }

    /// All bytes are good again.
    pub fn clear(&self) {
        self.count.set(0);
    }
}

impl Default for PoisonList {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn ranges_join_split_and_stay_in_order_as_a_set_of_bytes_would() {
        const SIZE: u32 = 40;
        // Xorshift, Marsaglia 2003.
        let mut state = 0x2545_f491u32;
        let mut below = |limit: u32| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state % limit
        };
        let list = PoisonList::new();
        let mut model = [false; SIZE as usize];
        for _ in 0..20_000 {
            let start = below(SIZE);
            let end = start + 1 + below(8).min(SIZE - start - 1);
            let lost = below(2) == 0;
            if lost {
                list.add(start..end, SIZE).unwrap();
            } else {
                list.remove(start..end).unwrap();
            }
            model[start as usize..end as usize].fill(lost);
            let ranges: Vec<_> = list.ranges().collect();
            assert!(ranges.windows(2).all(|two| two[0].end < two[1].start), "{ranges:?}");
            for byte in 0..SIZE {
                let expected = (byte..SIZE).find(|byte| model[*byte as usize]);
                assert_eq!(list.first_in(byte..SIZE), expected, "{ranges:?} from {byte}");
                assert_eq!(list.first_in(byte..byte + 1).is_some(), model[byte as usize]);
            }
        }
        list.clear();
        assert!(list.is_empty());
    }

    #[test]
    fn range_outside_the_device_or_beyond_the_capacity_is_refused_and_changes_nothing() {
        let list = PoisonList::new();
        for bad in [0..0, 5..5, 99..101, 200..201] {
            assert_eq!(list.add(bad, 100), Err(PoisonError::OutOfRange));
        }
        for index in 0..CAPACITY as u32 {
            list.add(4 * index..4 * index + 3, 1000).unwrap();
        }
        assert_eq!(list.add(900..901, 1000), Err(PoisonError::Full));
        assert_eq!(list.remove(1..2), Err(PoisonError::Full));
        assert_eq!(list.ranges().count(), CAPACITY);
        list.add(3..4, 1000).unwrap();
        assert_eq!(list.ranges().count(), CAPACITY - 1);
        assert_eq!(list.ranges().next(), Some(0..7));
    }
}
