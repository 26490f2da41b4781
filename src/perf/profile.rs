//! From pcs to rows of a report: symbols, counts, percentages that add up.
#![forbid(unsafe_code)]

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// One row: a function of the kernel or of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Function name, or `[unknown]`.
    pub symbol: String,
    /// Whether it is user code.
    pub is_user: bool,
    /// Samples in it.
    pub samples: u32,
    /// Its share in hundredths of a percent; all rows together have exactly 10000.
    pub share: u32,
}

/// A profile by function, largest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The rows.
    pub rows: Vec<Row>,
}

impl Profile {
    /// Groups samples; `symbol` names the function around a pc and says whether it is user code.
    pub fn new(pcs: impl Iterator<Item = u32>, mut symbol: impl FnMut(u32) -> (String, bool)) -> Self {
        let mut by_pc: BTreeMap<u32, u32> = BTreeMap::new();
        for pc in pcs {
            *by_pc.entry(pc).or_default() += 1;
        }
        let mut by_function: BTreeMap<(String, bool), u32> = BTreeMap::new();
        for (pc, samples) in by_pc {
            *by_function.entry(symbol(pc)).or_default() += samples;
        }
        let mut rows: Vec<Row> = by_function
            .into_iter()
            .map(|((symbol, is_user), samples)| Row {
                symbol,
                is_user,
                samples,
                share: 0,
            })
            .collect();
        rows.sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.symbol.cmp(&b.symbol)));
        share_out(&mut rows);
        Self { rows }
    }
}

/// A function's name as the kernel's tools print it: without the modules in front. Methods keep their type, those of traits
/// too.
pub fn short_name(name: &str) -> String {
    let of_trait = name.strip_prefix('<').and_then(|rest| rest.split_once(" as "));
    match of_trait.and_then(|(kind, rest)| Some((kind, rest.rsplit_once(">::")?.1))) {
        Some((kind, method)) => alloc::format!("{}::{method}", without_modules(kind)),
        None => without_modules(name).into(),
    }
}

fn without_modules(mut name: &str) -> &str {
    while let Some((first, rest)) = name.split_once("::") {
        if !first.starts_with(|first: char| first.is_ascii_lowercase() || first == '_') {
            break;
        }
        name = rest;
    }
    name
}

/// Sets the shares so that they add up: each row gets the whole hundredths it is due, the largest remainders the rest.
fn share_out(rows: &mut [Row]) {
    let total: u64 = rows.iter().map(|row| u64::from(row.samples)).sum();
    if total == 0 {
        return;
    }
    let mut left = 10_000;
    let mut remainders: Vec<(u64, usize)> = Vec::new();
    for (index, row) in rows.iter_mut().enumerate() {
        let due = u64::from(row.samples) * 10_000;
        row.share = (due / total) as u32;
        left -= row.share;
        remainders.push((due % total, index));
    }
    remainders.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    for (_, index) in remainders.into_iter().take(left as usize) {
        rows[index].share += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    // U-197
    #[test]
    fn shares_are_sorted_and_add_up_to_a_hundred_percent() {
        let pcs = [(0x100, 3), (0x104, 4), (0x200, 7), (0x8000_0000, 1)];
        let pcs = pcs.into_iter().flat_map(|(pc, count)| core::iter::repeat_n(pc, count));
        let profile = Profile::new(pcs, |pc| (format!("f{:x}", pc >> 8), pc < 0x8000_0000));
        let rows: Vec<_> = profile
            .rows
            .iter()
            .map(|r| (r.symbol.as_str(), r.samples, r.share))
            .collect();
        assert_eq!(rows, [("f1", 7, 4667), ("f2", 7, 4667), ("f800000", 1, 666)]);
        assert_eq!(profile.rows.iter().map(|r| r.share).sum::<u32>(), 10_000);
    }

    #[test]
    fn names_lose_their_modules_only() {
        for (name, short) in [
            ("zeronull::fs::read_write::vfs_read", "vfs_read"),
            ("zeronull::mm::address_space::AddressSpace::map", "AddressSpace::map"),
            ("__arch_clear_user", "__arch_clear_user"),
            ("__rustc::rust_begin_unwind", "rust_begin_unwind"),
            ("<u32 as core::fmt::Display>::fmt", "u32::fmt"),
            ("<a::b::Read as a::Short>::short", "Read::short"),
            ("[unknown]", "[unknown]"),
        ] {
            assert_eq!(short_name(name), short);
        }
    }

    #[test]
    fn no_samples_make_no_rows() {
        assert_eq!(
            Profile::new(core::iter::empty(), |_| (String::new(), false)),
            Profile::default()
        );
    }
}
