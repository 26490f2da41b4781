//! The image's symbol table: from an address to the name of the function around it.
//!
//! The second link pass of an image puts the table into section `.symbols`; an image of a single pass has none. Format, big-endian: magic
//! `ZNSY`, count, `count` pairs of address and name offset sorted by address, length of the names, NUL-terminated names.
#![forbid(unsafe_code)]

use core::ops::Range;

const MAGIC: u32 = 0x5A4E_5359;

/// A symbol table in memory.
#[derive(Clone, Copy)]
pub struct Symbols<'a> {
    pairs: &'a [[u8; 8]],
    names: &'a [u8],
}

impl<'a> Symbols<'a> {
    /// Checks a table. `None` for one that is empty or damaged: names are a comfort, never needed.
    pub fn new(blob: &'a [u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_be_bytes(*blob.get(at..)?.first_chunk()?));
        if word(0)? != MAGIC {
            return None;
        }
        let count = word(4)? as usize;
        let names_at = count.checked_mul(8)?.checked_add(8)?;
        let pairs = blob.get(8..names_at)?.as_chunks::<8>().0;
        let length = word(names_at)? as usize;
        let names = blob.get(names_at + 4..)?.get(..length)?;
        Some(Self { pairs, names })
    }

    fn pair(&self, index: usize) -> (u32, u32) {
        let pair = u64::from_be_bytes(self.pairs[index]);
        ((pair >> 32) as u32, pair as u32)
    }

    /// Bytes from the symbol of this name to the next one.
    pub fn size(&self, name: &str) -> Option<u32> {
        let index = (0..self.pairs.len()).find(|index| {
            let at = self.pair(*index).1 as usize;
            let rest = self
                .names
                .get(at..)
                .and_then(|names| names.strip_prefix(name.as_bytes()));
            rest.is_some_and(|rest| rest.first() == Some(&0))
        })?;
        self.bounds(self.pair(index).0).map(|bounds| bounds.end - bounds.start)
    }

    /// From the symbol at or below `address` to the next one.
    pub fn bounds(&self, address: u32) -> Option<Range<u32>> {
        let next = self
            .pairs
            .partition_point(|pair| u64::from_be_bytes(*pair) >> 32 <= u64::from(address));
        (next < self.pairs.len()).then_some(())?;
        Some(self.pair(next.checked_sub(1)?).0..self.pair(next).0)
    }

    /// The symbol at or below `address`, with the distance in bytes.
    pub fn find(&self, address: u32) -> Option<(&'a str, u32)> {
        let index = self
            .pairs
            .partition_point(|pair| u64::from_be_bytes(*pair) >> 32 <= u64::from(address));
        let (start, name) = self.pair(index.checked_sub(1)?);
        let name = self.names.get(name as usize..)?;
        let length = name.iter().position(|byte| *byte == 0)?;
        Some((core::str::from_utf8(&name[..length]).ok()?, address - start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn blob(symbols: &[(u32, &str)]) -> Vec<u8> {
        let mut names = Vec::new();
        let mut out = Vec::from(*b"ZNSY");
        out.extend((symbols.len() as u32).to_be_bytes());
        for (address, name) in symbols {
            out.extend(address.to_be_bytes());
            out.extend((names.len() as u32).to_be_bytes());
            names.extend(name.as_bytes());
            names.push(0);
        }
        out.extend((names.len() as u32).to_be_bytes());
        out.extend(names);
        out
    }

    #[test]
    fn address_finds_the_symbol_around_it() {
        let blob = blob(&[(0x1000, "first"), (0x1040, "second")]);
        let symbols = Symbols::new(&blob).unwrap();
        assert_eq!(symbols.find(0xfff), None);
        assert_eq!(symbols.find(0x1000), Some(("first", 0)));
        assert_eq!(symbols.find(0x103c), Some(("first", 0x3c)));
        assert_eq!(symbols.find(0x2000), Some(("second", 0xfc0)));
    }

    #[test]
    fn empty_and_damaged_tables_are_none() {
        let whole = blob(&[(0x1000, "first")]);
        for length in 0..whole.len() {
            assert!(Symbols::new(&whole[..length]).is_none(), "{length}");
        }
        let mut huge = whole;
        huge[4..8].copy_from_slice(&[0xff; 4]);
        assert!(Symbols::new(&huge).is_none());
    }

    #[test]
    fn size_and_bounds_reach_up_to_the_next_symbol() {
        let blob = blob(&[(0x1000, "first"), (0x1010, "second"), (0x1100, "end")]);
        let symbols = Symbols::new(&blob).expect("a good table");
        assert_eq!(symbols.size("first"), Some(0x10));
        assert_eq!(symbols.size("second"), Some(0xf0));
        // A prefix is no name, and nothing says where the last one ends.
        assert_eq!(
            (symbols.size("sec"), symbols.size("end"), symbols.size("none")),
            (None, None, None)
        );
        assert_eq!(symbols.bounds(0x1000), Some(0x1000..0x1010));
        assert_eq!(symbols.bounds(0x10ff), Some(0x1010..0x1100));
        assert_eq!((symbols.bounds(0xfff), symbols.bounds(0x1100)), (None, None));
    }
}
