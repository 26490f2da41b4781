//! One TLB entry: what the hardware compares, and what it allows.
//!
//! An entry keeps the three words it was loaded from (`Mx_EPN`, `Mx_TWC`, `Mx_RPN`), so that nothing is decoded twice
//! and the debug read-out can show what is really there. Sources: MPC885 Reference Manual chapter 8, MPC860 User's
//! Manual Table 9-4, MPC823e Reference Manual chapter 11.

/// Mx_EPN: the entry takes part in the match.
pub const EPN_VALID: u32 = 0x0000_0200;
/// Mx_TWC: guarded.
pub const TWC_GUARDED: u32 = 0x0000_0010;
/// Mx_TWC: page size field.
pub const TWC_PAGE_SIZE: u32 = 0x0000_000C;
/// MD_TWC: write-through.
pub const TWC_WRITE_THROUGH: u32 = 0x0000_0002;
/// Mx_TWC: segment valid.
pub const TWC_VALID: u32 = 0x0000_0001;
/// MD_RPN: the page was changed; without it a store faults.
pub const RPN_CHANGED: u32 = 0x0000_0100;
/// Mx_RPN: 16 KiB instead of 4 KiB, when the page size field is 0.
pub const RPN_SMALL_PAGE_16K: u32 = 0x0000_0008;
/// Mx_RPN: the address space identifier is not compared.
pub const RPN_SHARED: u32 = 0x0000_0004;
/// Mx_RPN: cache inhibited.
pub const RPN_CACHE_INHIBITED: u32 = 0x0000_0002;
/// Mx_RPN: page valid.
pub const RPN_VALID: u32 = 0x0000_0001;

/// What an access wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Instruction fetch.
    Fetch,
    /// Data load, and the cache instructions that count as one.
    Load,
    /// Data store, and the cache instructions that count as one.
    Store,
}

/// Page sizes of the MMU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageSize {
    /// 4 KiB.
    Small4K,
    /// 16 KiB.
    Small16K,
    /// 512 KiB.
    Large512K,
    /// 8 MiB.
    Large8M,
}

impl PageSize {
    /// Bits of an address that select the page.
    pub fn mask(self) -> u32 {
        match self {
            PageSize::Small4K => !0xFFF,
            PageSize::Small16K => !0x3FFF,
            PageSize::Large512K => !0x7_FFFF,
            PageSize::Large8M => !0x7F_FFFF,
        }
    }

    /// The size as tables and messages print it.
    pub fn name(self) -> &'static str {
        match self {
            PageSize::Small4K => "4K",
            PageSize::Small16K => "16K",
            PageSize::Large512K => "512K",
            PageSize::Large8M => "8M",
        }
    }
}

/// The control bits of `Mx_CTR` that the match and the protection depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Modes {
    /// GPM: domain-manager protection groups instead of PowerPC keys.
    pub domain_manager: bool,
    /// PPM: four protection fields for the four 1 KiB parts of a 4 KiB page.
    pub sub_page_protection: bool,
    /// PPCS: RPN bits 24 to 27 select the privilege state that may hit.
    pub privilege_compare: bool,
}

/// One entry of a TLB.
#[derive(Clone, Copy, Debug, Default)]
pub struct TlbEntry {
    /// As written to Mx_EPN: page number, entry valid, address space.
    pub epn: u32,
    /// As written to Mx_TWC: group, guarded, page size, write-through, valid.
    pub twc: u32,
    /// As written to Mx_RPN: physical page, protection, changed, sub-pages, shared, cache inhibited, valid.
    pub rpn: u32,
}

impl TlbEntry {
    /// The page size; the reserved code 10 counts as a small page.
    pub fn page_size(&self) -> PageSize {
        match self.twc & TWC_PAGE_SIZE {
            0xC => PageSize::Large8M,
            0x4 => PageSize::Large512K,
            _ if self.rpn & RPN_SMALL_PAGE_16K != 0 => PageSize::Small16K,
            _ => PageSize::Small4K,
        }
    }

    /// Whether the entry takes part in matches at all.
    pub fn is_live(&self) -> bool {
        self.epn & EPN_VALID != 0
    }

    /// Whether the page of the entry holds `address`, whatever the address space and the state.
    pub fn covers(&self, address: u32) -> bool {
        self.is_live() && (self.epn ^ address) & self.page_size().mask() == 0
    }

    /// Whether the entry matches; the valid bits of segment and page are not part of the match.
    pub fn matches(&self, address: u32, casid: u32, problem_state: bool, modes: Modes) -> bool {
        if !self.covers(address) || self.rpn & RPN_SHARED == 0 && self.epn & 0xF != casid {
            return false;
        }
        let four_fields = modes.sub_page_protection && self.page_size() == PageSize::Small4K;
        if four_fields {
            true
        } else if modes.privilege_compare {
            self.rpn & if problem_state { 0x40 } else { 0x80 } != 0
        } else if self.page_size() == PageSize::Small4K {
            self.rpn & (0x80 >> (address >> 10 & 3)) != 0
        } else {
            true
        }
    }

    /// The access protection group.
    pub fn group(&self) -> u32 {
        self.twc >> 5 & 0xF
    }

    /// Whether protection lets the access through. `groups` is Mx_AP.
    ///
    /// Reserved codes refuse \[A\]; domain-manager code points are recalled \[R\].
    pub fn permits(&self, access: Access, address: u32, problem_state: bool, groups: u32, modes: Modes) -> bool {
        let field = groups >> (30 - 2 * self.group()) & 3;
        let user_column = if modes.domain_manager {
            match field {
                1 => problem_state,
                3 => return true,
                _ => return false,
            }
        } else {
            field & if problem_state { 1 } else { 2 } != 0
        };
        let store = access == Access::Store;
        if modes.sub_page_protection && self.page_size() == PageSize::Small4K {
            let field = self.rpn >> (10 - 2 * (address >> 10 & 3)) & 3;
            return match (field, user_column) {
                (0, _) | (1, true) => false,
                (2, true) => !store,
                _ => true,
            };
        }
        let extended = self.rpn & 0x200 != 0;
        match (extended, self.rpn >> 10 & 3, user_column) {
            (false, 0, user) => !user,
            (false, 1, user) => !(user && store),
            (false, 2, _) => true,
            (false, _, _) => !store,
            (true, 1, user) => !user && !store,
            (true, _, _) => false,
        }
    }

    /// Whether a store must first set the changed bit. With four protection fields there is no such bit.
    pub fn refuses_first_store(&self, modes: Modes) -> bool {
        let four_fields = modes.sub_page_protection && self.page_size() == PageSize::Small4K;
        !four_fields && self.rpn & RPN_CHANGED == 0
    }

    /// The physical address that `address` becomes.
    pub fn translate(&self, address: u32) -> u32 {
        let mask = self.page_size().mask();
        self.rpn & mask | address & !mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(rpn: u32) -> TlbEntry {
        TlbEntry {
            epn: 0x1000_0000 | EPN_VALID,
            twc: TWC_VALID,
            rpn,
        }
    }

    const NORMAL: u32 = 0x5555_5555;

    /// MPC860 User's Manual, Table 9-4: (E, PP) against supervisor load and store, user load and store.
    #[test]
    fn page_protection_follows_the_table_of_codes() {
        for (extended, pp, expected) in [
            (0, 0, [true, true, false, false]),
            (0, 1, [true, true, true, false]),
            (0, 2, [true, true, true, true]),
            (0, 3, [true, false, true, false]),
            (1, 0, [false, false, false, false]),
            (1, 1, [true, false, false, false]),
            (1, 2, [false, false, false, false]),
            (1, 3, [false, false, false, false]),
        ] {
            let entry = entry(pp << 10 | extended << 9);
            let got = [
                (false, Access::Load),
                (false, Access::Store),
                (true, Access::Load),
                (true, Access::Store),
            ]
            .map(|(user, access)| entry.permits(access, 0x1000_0000, user, NORMAL, Modes::default()));
            assert_eq!(got, expected, "E={extended} PP={pp}");
        }
    }

    #[test]
    fn groups_choose_the_column_in_powerpc_mode() {
        let page = entry(0);
        for (field, supervisor, user) in [(0, true, true), (1, true, false), (2, false, true), (3, false, false)] {
            let groups = field << 30;
            let permits = |state| page.permits(Access::Load, 0x1000_0000, state, groups, Modes::default());
            assert_eq!((permits(false), permits(true)), (supervisor, user), "field {field}");
        }
        let last = TlbEntry {
            twc: TWC_VALID | 15 << 5,
            ..page
        };
        assert!(
            !last.permits(Access::Load, 0x1000_0000, false, 2, Modes::default()),
            "group 15 is the last field"
        );
    }

    #[test]
    fn groups_override_in_domain_manager_mode() {
        let modes = Modes {
            domain_manager: true,
            ..Modes::default()
        };
        let page = entry(0);
        let permits = |field: u32, user| page.permits(Access::Store, 0x1000_0000, user, field << 30, modes);
        assert!(!permits(0, false) && permits(1, false) && !permits(1, true) && !permits(2, false) && permits(3, true));
    }

    #[test]
    fn sub_page_fields_protect_each_kibibyte() {
        let modes = Modes {
            sub_page_protection: true,
            ..Modes::default()
        };
        // Sub-pages 0 to 3: no access, supervisor only, user read, user write.
        let page = entry(0b00_01_10_11 << 4);
        let permits = |part: u32, access, user| page.permits(access, 0x1000_0000 + part * 1024, user, NORMAL, modes);
        assert!(!permits(0, Access::Load, false));
        assert!(permits(1, Access::Store, false) && !permits(1, Access::Load, true));
        assert!(permits(2, Access::Load, true) && !permits(2, Access::Store, true));
        assert!(permits(3, Access::Store, true));
        assert!(
            !page.refuses_first_store(modes),
            "there is no changed bit with four protection fields"
        );
    }

    #[test]
    fn sub_page_valid_flags_are_part_of_the_match_of_a_4k_page_only() {
        let small = entry(0x40);
        assert!(!small.matches(0x1000_0000, 0, false, Modes::default()));
        assert!(small.matches(0x1000_0400, 0, false, Modes::default()));
        let large = TlbEntry {
            twc: TWC_VALID | 0xC,
            ..small
        };
        assert!(large.matches(0x1000_0000, 0, false, Modes::default()));
    }

    #[test]
    fn privilege_compare_hides_the_entry_from_the_other_state() {
        let modes = Modes {
            privilege_compare: true,
            ..Modes::default()
        };
        assert!(entry(0x80).matches(0x1000_0000, 0, false, modes) && !entry(0x80).matches(0x1000_0000, 0, true, modes));
        assert!(!entry(0x40).matches(0x1000_0000, 0, false, modes) && entry(0x40).matches(0x1000_0000, 0, true, modes));
    }

    #[test]
    fn valid_bits_are_not_part_of_the_match() {
        let invalid = TlbEntry {
            epn: 0x1000_0000 | EPN_VALID,
            twc: 0,
            rpn: 0xF0,
        };
        assert!(invalid.matches(0x1000_0000, 0, false, Modes::default()));
    }

    #[test]
    fn address_spaces_are_compared_unless_shared() {
        let private = TlbEntry {
            epn: 0x1000_0000 | EPN_VALID | 3,
            twc: TWC_VALID,
            rpn: 0xF1,
        };
        assert!(private.matches(0x1000_0000, 3, true, Modes::default()));
        assert!(!private.matches(0x1000_0000, 2, true, Modes::default()));
        let shared = TlbEntry {
            rpn: 0xF1 | RPN_SHARED,
            ..private
        };
        assert!(shared.matches(0x1000_0000, 2, true, Modes::default()));
    }

    #[test]
    fn page_size_field_wins_over_the_small_page_bit() {
        for (twc, rpn, size) in [
            (0x0, 0x0, PageSize::Small4K),
            (0x0, 0x8, PageSize::Small16K),
            (0x4, 0x8, PageSize::Large512K),
            (0xC, 0x0, PageSize::Large8M),
        ] {
            assert_eq!(TlbEntry { epn: 0, twc, rpn }.page_size(), size);
        }
        let large = TlbEntry {
            epn: 0xC000_0200,
            twc: 0xD,
            rpn: 0x0080_01FD,
        };
        assert_eq!(large.translate(0xC012_3456), 0x0092_3456);
    }
}
