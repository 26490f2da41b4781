//! The symbol table that the firmware carries, and the list of symbols beside the image.
//!
//! The firmware names addresses in its profile and backtraces from a *blob* in its section `.symbols`. All numbers are
//! 32-bit big-endian:
//!
//! | offset | content |
//! | --- | --- |
//! | 0 | magic 0x5A4E5359 ("ZNSY") |
//! | 4 | count |
//! | 8 | count × { address, offset of the name from the first name }, by rising address, no address twice |
//! | 8 + 8 × count | length in bytes of all names |
//! | 12 + 8 × count | the names, each ended by NUL, UTF-8; equal names are stored once |
//!
//! A symbol reaches up to the next one. Names are as [`demangle`] gives them; where several symbols share an
//! address, a function goes before a label and a global name before a local one.

use std::collections::HashMap;

use crate::demangle::demangle;
use crate::elf::{Content, Elf, SymbolKind};
use crate::error::Error;

/// The section of the firmware that holds the blob.
pub const SECTION: &str = ".symbols";

const MAGIC: u32 = 0x5A4E_5359;

/// A label in code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextSymbol {
    /// Virtual address.
    pub address: u32,
    /// Size in bytes as the linker knows it; 0 for plain labels.
    pub size: u32,
    /// Readable name.
    pub name: String,
}

/// The functions and labels in the executable sections of `elf`, by rising address, one for each address.
///
/// # Errors
/// A broken symbol table.
pub fn text_symbols(elf: &Elf<'_>) -> Result<Vec<TextSymbol>, Error> {
    let in_text = |section: Option<usize>| {
        section
            .and_then(|index| elf.sections.get(index))
            .and_then(|section| section.content())
            == Some(Content::Text)
    };
    let mut symbols: Vec<_> = elf
        .symbols()?
        .into_iter()
        .filter(|symbol| symbol.kind != SymbolKind::Other && in_text(symbol.section))
        .filter(|symbol| !symbol.name.is_empty() && !symbol.name.starts_with(".L") && !symbol.name.starts_with('$'))
        .collect();
    symbols.sort_by(|a, b| {
        let rank = |symbol: &crate::elf::Symbol| (symbol.kind != SymbolKind::Function, !symbol.is_global);
        (a.address, rank(a), &a.name).cmp(&(b.address, rank(b), &b.name))
    });
    symbols.dedup_by_key(|symbol| symbol.address);
    // A label inside a function of known size is a place in that function, not a function of its own.
    let mut function = 0..0;
    symbols.retain(|symbol| {
        if symbol.kind == SymbolKind::Function && symbol.size != 0 {
            function = symbol.address..symbol.address.saturating_add(symbol.size);
            return true;
        }
        !function.contains(&symbol.address)
    });
    Ok(symbols
        .into_iter()
        .map(|symbol| TextSymbol {
            address: symbol.address,
            size: symbol.size,
            name: demangle(&symbol.name),
        })
        .collect())
}

/// The blob for `symbols`, which must be sorted as [`text_symbols`] gives them.
pub fn encode(symbols: &[TextSymbol]) -> Vec<u8> {
    let mut blob = Vec::new();
    let mut names = Vec::new();
    let mut offsets: HashMap<&str, u32> = HashMap::new();
    blob.extend_from_slice(&MAGIC.to_be_bytes());
    blob.extend_from_slice(&(symbols.len() as u32).to_be_bytes());
    for symbol in symbols {
        let offset = *offsets.entry(&symbol.name).or_insert_with(|| {
            let offset = names.len() as u32;
            names.extend_from_slice(symbol.name.as_bytes());
            names.push(0);
            offset
        });
        blob.extend_from_slice(&symbol.address.to_be_bytes());
        blob.extend_from_slice(&offset.to_be_bytes());
    }
    blob.extend_from_slice(&(names.len() as u32).to_be_bytes());
    blob.extend_from_slice(&names);
    blob
}

/// The list for people and scripts: one line `address size name` for each symbol, address in hexadecimal, size in decimal.
pub fn listing(symbols: &[TextSymbol]) -> String {
    symbols
        .iter()
        .map(|symbol| format!("{:08x} {} {}\n", symbol.address, symbol.size, symbol.name))
        .collect()
}

/// Checks that the second link left every text symbol where the first one put it.
///
/// # Errors
/// Names the first symbol that moved, came or went.
pub fn check_unmoved(first: &[TextSymbol], second: &[TextSymbol]) -> Result<(), Error> {
    let changed = first.iter().zip(second).find(|(before, after)| before != after);
    match changed {
        Some((before, after)) => Err(Error::failed(format!(
            "the symbol table moved the code it describes: {} at {:#010x} became {} at {:#010x} in the second link",
            before.name, before.address, after.name, after.address
        ))),
        None if first.len() != second.len() => Err(Error::failed(format!(
            "the symbol table changed the code it describes: {} text symbols became {} in the second link",
            first.len(),
            second.len()
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(address: u32, name: &str) -> TextSymbol {
        TextSymbol {
            address,
            size: 4,
            name: name.into(),
        }
    }

    #[test]
    fn blob_has_the_documented_layout_and_stores_equal_names_once() {
        let blob = encode(&[
            symbol(0xC000_0100, "a"),
            symbol(0xC000_0200, "bc"),
            symbol(0xC000_0300, "a"),
        ]);
        let mut expected = b"ZNSY\0\0\0\x03".to_vec();
        expected.extend_from_slice(b"\xC0\0\x01\0\0\0\0\0\xC0\0\x02\0\0\0\0\x02\xC0\0\x03\0\0\0\0\0");
        expected.extend_from_slice(b"\0\0\0\x05a\0bc\0");
        assert_eq!(blob, expected);
        assert_eq!(encode(&[]), b"ZNSY\0\0\0\0\0\0\0\0");
    }

    #[test]
    fn symbol_that_moved_between_the_links_is_named() {
        let first = [symbol(0x100, "a"), symbol(0x200, "b")];
        assert_eq!(check_unmoved(&first, &first), Ok(()));
        let moved = check_unmoved(&first, &[symbol(0x100, "a"), symbol(0x204, "b")]).expect_err("b moved");
        assert!(moved.message.contains("b at 0x00000200"), "{moved}");
        let gone = check_unmoved(&first, &first[..1]).expect_err("b is gone");
        assert!(gone.message.contains("2 text symbols became 1"), "{gone}");
    }
}
