//! The memory management unit: two fully associative TLBs loaded by software.
//!
//! - `tlb`: one entry, its match and its protection.
//! - `registers`: the SPRs 784 to 826 and the table-walk assists.
//! - `page_cache`: what the simulator remembers of translations of plain memory; no hardware has it.
//!
//! The rules are those of the MPC885 Reference Manual, chapter 8. What matters most: the valid bits are not part of
//! the match, so an entry that was loaded from an empty table word gives an *error* and not a miss; a store to an
//! unchanged page invalidates its entry; the index counters run downwards and leave the top entries alone while RSV4
//! is set.

pub mod page_cache;
pub mod registers;
pub mod tlb;

use crate::cpu::registers::{dsisr, srr1};
use crate::part::Part;
use tlb::{
    Access, EPN_VALID, Modes, PageSize, RPN_CACHE_INHIBITED, RPN_VALID, TWC_GUARDED, TWC_VALID, TWC_WRITE_THROUGH,
    TlbEntry,
};

/// Mx_CTR: domain-manager groups.
pub const CTR_GPM: u32 = 0x8000_0000;
/// Mx_CTR: sub-page protection.
pub const CTR_PPM: u32 = 0x4000_0000;
/// Mx_CTR: default cache inhibit while translation is off.
pub const CTR_CIDEF: u32 = 0x2000_0000;
/// MD_CTR: default write-through while translation is off.
pub const CTR_WTDEF: u32 = 0x1000_0000;
/// Mx_CTR: reserve the top entries.
pub const CTR_RSV4: u32 = 0x0800_0000;
/// MD_CTR: table-walk assist at 4 KiB resolution.
pub const CTR_TWAM: u32 = 0x0400_0000;
/// Mx_CTR: privilege state compare.
pub const CTR_PPCS: u32 = 0x0200_0000;
/// Mx_CTR: index field.
const CTR_INDEX: u32 = 0x0000_1F00;

/// Largest TLB of the family.
const MAX_ENTRIES: usize = 32;

/// How an access to a page is to be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Attributes {
    /// The caches must not hold it.
    pub cache_inhibited: bool,
    /// Stores go to memory at once.
    pub write_through: bool,
    /// Accesses are not speculative.
    pub guarded: bool,
}

/// A successful translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// Physical address.
    pub physical: u32,
    /// Attributes of the page.
    pub attributes: Attributes,
}

/// Why there is no translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No entry matches.
    Miss,
    /// An entry matches but may not be used; the bits are those of SRR1 (fetch) or DSISR (data).
    Error(u32),
    /// Two entries match, which the manuals call undefined: their indices.
    Duplicate(usize, usize),
}

/// One TLB with its registers.
#[derive(Clone, Debug)]
pub struct Side {
    entries: [TlbEntry; MAX_ENTRIES],
    count: usize,
    reserved: usize,
    control: u32,
    index: usize,
    groups: u32,
    epn: u32,
    twc: u32,
    rpn: u32,
    latched: TlbEntry,
    is_data: bool,
}

impl Side {
    fn new(part: &Part, is_data: bool) -> Side {
        Side {
            entries: [TlbEntry::default(); MAX_ENTRIES],
            count: part.tlb_entries,
            reserved: part.tlb_reserved,
            control: if is_data { CTR_TWAM } else { 0 },
            index: 0,
            groups: 0,
            epn: 0,
            twc: 0,
            rpn: 0,
            latched: TlbEntry::default(),
            is_data,
        }
    }

    /// The entries that this part has.
    pub fn entries(&self) -> &[TlbEntry] {
        &self.entries[..self.count]
    }

    /// Mode bits for match and protection.
    pub fn modes(&self) -> Modes {
        Modes {
            domain_manager: self.control & CTR_GPM != 0,
            sub_page_protection: self.control & CTR_PPM != 0,
            privilege_compare: self.control & CTR_PPCS != 0,
        }
    }

    /// Mx_CTR without the index.
    pub fn control(&self) -> u32 {
        self.control
    }

    /// Mx_AP.
    pub fn groups(&self) -> u32 {
        self.groups
    }

    /// Entries that the replacement counter may choose.
    fn replaceable(&self) -> usize {
        if self.control & CTR_RSV4 != 0 {
            self.count - self.reserved
        } else {
            self.count
        }
    }

    /// The counter runs downwards; from a reserved entry it steps back into the range it may replace \[A\].
    fn next_index(&self) -> usize {
        let last = self.replaceable() - 1;
        if self.index == 0 {
            last
        } else {
            (self.index - 1).min(last)
        }
    }

    fn find(&self, address: u32, casid: u32, problem_state: bool, unique: bool) -> Result<usize, Refusal> {
        let modes = self.modes();
        let mut hits = (0..self.count).filter(|&i| self.entries[i].matches(address, casid, problem_state, modes));
        let Some(first) = hits.next() else {
            return Err(Refusal::Miss);
        };
        match hits.next() {
            Some(second) if unique => Err(Refusal::Duplicate(first, second)),
            _ => Ok(first),
        }
    }

    /// Attributes of every access while translation is off.
    pub fn real_mode_attributes(&self) -> Attributes {
        Attributes {
            cache_inhibited: self.control & CTR_CIDEF != 0,
            write_through: self.is_data && self.control & CTR_WTDEF != 0,
            guarded: false,
        }
    }

    /// What the hardware leaves in its registers when it raises a miss.
    fn record_miss(&mut self, address: u32, casid: u32) {
        self.epn = address & 0xFFFF_F000 | EPN_VALID | casid;
        self.twc = TWC_VALID;
        self.index = self.index.min(self.replaceable() - 1);
    }

    fn load(&mut self, rpn: u32) -> [TlbEntry; 2] {
        self.rpn = rpn;
        let entry = TlbEntry {
            epn: self.epn,
            twc: self.twc & 0x1FF,
            rpn,
        };
        let replaced = std::mem::replace(&mut self.entries[self.index], entry);
        self.index = self.next_index();
        [replaced, entry]
    }
}

/// Both TLBs and the registers they share.
#[derive(Clone, Debug)]
pub struct Mmu {
    /// Instruction side.
    pub instruction: Side,
    /// Data side.
    pub data: Side,
    /// Two matching entries are reported; otherwise the lower index is used.
    pub stop_on_duplicate: bool,
    casid: u32,
    table_base: u32,
    scratch: u32,
}

impl Mmu {
    /// The state after reset; the TLBs, undefined on hardware, are empty.
    pub fn new(part: &Part) -> Mmu {
        Mmu {
            instruction: Side::new(part, false),
            data: Side::new(part, true),
            stop_on_duplicate: true,
            casid: 0,
            table_base: 0,
            scratch: 0,
        }
    }

    /// The current address space identifier.
    pub fn casid(&self) -> u32 {
        self.casid
    }

    /// The side that serves `access`.
    pub fn side(&self, access: Access) -> &Side {
        if access == Access::Fetch {
            &self.instruction
        } else {
            &self.data
        }
    }

    /// Translates with translation on, as the hardware would, but changes nothing.
    ///
    /// # Errors
    /// [`Refusal`] in the order valid, guarded (fetch), protection, changed (store) \[A\].
    pub fn probe(&self, access: Access, address: u32, problem_state: bool) -> Result<(usize, Translation), Refusal> {
        let side = self.side(access);
        let index = side.find(address, self.casid, problem_state, self.stop_on_duplicate)?;
        let entry = &side.entries[index];
        let store_bit = if access == Access::Store { dsisr::STORE } else { 0 };
        // The bits for "no translation" and "protection" are the same in SRR1 and in DSISR.
        if entry.twc & TWC_VALID == 0 || entry.rpn & RPN_VALID == 0 {
            return Err(Refusal::Error(dsisr::NO_TRANSLATION | store_bit));
        }
        if access == Access::Fetch && entry.twc & TWC_GUARDED != 0 {
            return Err(Refusal::Error(srr1::GUARDED));
        }
        if !entry.permits(access, address, problem_state, side.groups, side.modes()) {
            return Err(Refusal::Error(dsisr::PROTECTION | store_bit));
        }
        if access == Access::Store && entry.refuses_first_store(side.modes()) {
            return Err(Refusal::Error(dsisr::STORE));
        }
        let attributes = Attributes {
            cache_inhibited: entry.rpn & RPN_CACHE_INHIBITED != 0,
            write_through: entry.twc & TWC_WRITE_THROUGH != 0,
            guarded: entry.twc & TWC_GUARDED != 0,
        };
        Ok((
            index,
            Translation {
                physical: entry.translate(address),
                attributes,
            },
        ))
    }

    /// The registers change as on a miss: `Mx_EPN`, `Mx_TWC` and the index.
    pub fn record_miss(&mut self, access: Access, address: u32) {
        let casid = self.casid;
        let side = if access == Access::Fetch {
            &mut self.instruction
        } else {
            &mut self.data
        };
        side.record_miss(address, casid);
    }

    /// Invalidates the data entry that refused a store because its page is unchanged (MPC885RM 8.6).
    pub fn invalidate_unchanged(&mut self, address: u32, problem_state: bool) {
        if let Ok(index) = self.data.find(address, self.casid, problem_state, false) {
            self.data.entries[index].epn &= !EPN_VALID;
        }
    }

    /// `tlbie`: both sides, whatever the address space, reserved entries included \[R\].
    pub fn invalidate_entry(&mut self, address: u32) {
        for side in [&mut self.instruction, &mut self.data] {
            for entry in side.entries.iter_mut().filter(|entry| entry.covers(address)) {
                entry.epn &= !EPN_VALID;
            }
        }
    }

    /// `tlbia`: both sides; the reserved entries of a side survive while its RSV4 is set \[R\].
    pub fn invalidate_all(&mut self) {
        for side in [&mut self.instruction, &mut self.data] {
            let end = side.replaceable();
            for entry in &mut side.entries[..end] {
                entry.epn &= !EPN_VALID;
            }
        }
    }

    /// Both TLBs as text, one live entry a line, for a debugger.
    pub fn dump(&self) -> String {
        use std::fmt::Write;
        let mut text = String::new();
        for (name, side) in [("itlb", &self.instruction), ("dtlb", &self.data)] {
            let _ = writeln!(
                text,
                "{name}: ctr {:#010x} ap {:#010x} casid {} index {}",
                side.control, side.groups, self.casid, side.index
            );
            for (index, entry) in side.entries().iter().enumerate().filter(|(_, entry)| entry.is_live()) {
                let _ = writeln!(
                    text,
                    "  {index:2}: {:08x} -> {:08x} {:>4} asid {:2}{} apg {:2} e {} pp {:02b} sub {:04b}{}{}{}{}{}",
                    entry.epn & entry.page_size().mask(),
                    entry.rpn & entry.page_size().mask(),
                    entry.page_size().name(),
                    entry.epn & 0xF,
                    if entry.rpn & tlb::RPN_SHARED != 0 {
                        " shared"
                    } else {
                        ""
                    },
                    entry.group(),
                    entry.rpn >> 9 & 1,
                    entry.rpn >> 10 & 3,
                    entry.rpn >> 4 & 0xF,
                    if entry.twc & TWC_VALID != 0 && entry.rpn & RPN_VALID != 0 {
                        ""
                    } else {
                        " INVALID"
                    },
                    if entry.rpn & tlb::RPN_CHANGED != 0 {
                        " changed"
                    } else {
                        ""
                    },
                    if entry.rpn & RPN_CACHE_INHIBITED != 0 {
                        " inhibited"
                    } else {
                        ""
                    },
                    if entry.twc & TWC_GUARDED != 0 { " guarded" } else { "" },
                    if entry.twc & TWC_WRITE_THROUGH != 0 {
                        " write-through"
                    } else {
                        ""
                    },
                );
            }
        }
        text
    }
}

/// The part of the address space whose translation may have changed: what the page cache must forget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// Nothing that a translation depends on.
    Nothing,
    /// The pages of these two entries (the one that went and the one that came).
    Entries([(u32, PageSize); 2]),
    /// Groups, modes or address space: entries stay right under another context.
    Context,
}
