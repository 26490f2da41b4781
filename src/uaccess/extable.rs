//! The exception table: for each instruction that may fault on a user address, where execution goes on.
#![forbid(unsafe_code)]

/// One entry, as the assembly emits it: kernel addresses.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The instruction that may fault.
    pub insn: u32,
    /// Where to go on.
    pub fixup: u32,
}

/// The fixup for `nip`, by binary search; `table` is sorted by `insn`.
pub fn search(table: &[Entry], nip: u32) -> Option<u32> {
    table
        .binary_search_by_key(&nip, |entry| entry.insn)
        .ok()
        .map(|index| table[index].fixup)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_finds_every_entry_and_nothing_between_them() {
        let table: std::vec::Vec<Entry> = (0..100)
            .map(|i| Entry {
                insn: 0x1000 + 8 * i,
                fixup: 0x9000 + i,
            })
            .collect();
        for nip in (0xff0..0x1400).step_by(4) {
            let expected = table.iter().find(|e| e.insn == nip).map(|e| e.fixup);
            assert_eq!(search(&table, nip), expected, "{nip:#x}");
        }
        assert_eq!(search(&[], 0x1000), None);
    }
}
