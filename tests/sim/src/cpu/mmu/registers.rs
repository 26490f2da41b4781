//! The SPRs of the MMU (784 to 826), the table-walk assists and the debug read-out.
//!
//! Source: MPC885 Reference Manual 8.8 to 8.10; the read-out layouts are recalled and unverified \[R\], and no known
//! software depends on them.

use super::tlb::{EPN_VALID, PageSize, RPN_CACHE_INHIBITED, RPN_SHARED, TWC_GUARDED, TWC_WRITE_THROUGH, TlbEntry};
use super::{
    Access, CTR_CIDEF, CTR_GPM, CTR_INDEX, CTR_PPCS, CTR_PPM, CTR_RSV4, CTR_TWAM, CTR_WTDEF, Changed, Mmu, Side,
};
use crate::cpu::registers::spr;

const CONTROL_MASK_I: u32 = CTR_GPM | CTR_PPM | CTR_CIDEF | CTR_RSV4 | CTR_PPCS;
const CONTROL_MASK_D: u32 = CONTROL_MASK_I | CTR_WTDEF | CTR_TWAM;
const EPN_MASK: u32 = 0xFFFF_F000 | EPN_VALID | 0xF;
const TWC_MASK_I: u32 = 0x0000_01FD;
const TWC_MASK_D: u32 = 0xFFFF_F1FF;

impl Side {
    fn read_control(&self) -> u32 {
        self.control | (self.index as u32) << 8
    }

    fn write_control(&mut self, value: u32) {
        self.control = value & if self.is_data { CONTROL_MASK_D } else { CONTROL_MASK_I };
        self.index = ((value & CTR_INDEX) >> 8) as usize & (self.count - 1);
    }
}

impl Mmu {
    /// Reads an MMU register; `None` when the number is none of them.
    pub fn read(&self, number: u32) -> Option<u32> {
        let (i, d) = (&self.instruction, &self.data);
        Some(match number {
            spr::MI_CTR => i.read_control(),
            spr::MI_AP => i.groups,
            spr::MI_EPN => i.epn,
            spr::MI_TWC => i.twc,
            spr::MI_RPN => i.rpn,
            spr::MD_CTR => d.read_control(),
            spr::M_CASID => self.casid,
            spr::MD_AP => d.groups,
            spr::MD_EPN => d.epn,
            spr::M_TWB => self.level_one_pointer(),
            spr::MD_TWC => self.level_two_pointer(),
            spr::MD_RPN => d.rpn,
            spr::M_TW => self.scratch,
            spr::MI_CAM => cam_instruction(&i.latched),
            spr::MI_RAM0 => ram0_instruction(i),
            spr::MI_RAM1 => ram1_instruction(i),
            spr::MD_CAM => cam_data(&d.latched),
            spr::MD_RAM0 => ram0_data(&d.latched),
            spr::MD_RAM1 => ram1_data(d),
            _ => return None,
        })
    }

    /// Writes an MMU register and says what may translate differently now; `None` when the number is none of them.
    pub fn write(&mut self, number: u32, value: u32) -> Option<Changed> {
        let (i, d) = (&mut self.instruction, &mut self.data);
        match number {
            spr::MI_CTR => {
                let before = i.control;
                i.write_control(value);
                return Some(if i.control == before {
                    Changed::Nothing
                } else {
                    Changed::Context
                });
            }
            spr::MD_CTR => {
                let before = d.control;
                d.write_control(value);
                return Some(if d.control == before {
                    Changed::Nothing
                } else {
                    Changed::Context
                });
            }
            spr::MI_AP => {
                i.groups = value;
                return Some(Changed::Context);
            }
            spr::MD_AP => {
                d.groups = value;
                return Some(Changed::Context);
            }
            spr::M_CASID => {
                self.casid = value & 0xF;
                return Some(Changed::Context);
            }
            spr::MI_RPN => return Some(Changed::Entries(i.load(value).map(page_of))),
            spr::MD_RPN => return Some(Changed::Entries(d.load(value).map(page_of))),
            spr::MI_EPN => i.epn = value & EPN_MASK,
            spr::MI_TWC => i.twc = value & TWC_MASK_I,
            spr::MD_EPN => d.epn = value & EPN_MASK,
            spr::MD_TWC => d.twc = value & TWC_MASK_D,
            spr::M_TWB => self.table_base = value & 0xFFFF_F000,
            spr::M_TW => self.scratch = value,
            // Writing anything to CAM latches the entry that the index selects; the RAM views then show it.
            spr::MI_CAM => i.latched = i.entries[i.index],
            spr::MD_CAM => d.latched = d.entries[d.index],
            spr::MI_RAM0 | spr::MI_RAM1 | spr::MD_RAM0 | spr::MD_RAM1 => {}
            _ => return None,
        }
        Some(Changed::Nothing)
    }

    /// M_TWB as it reads: the address of the level-one word for the address in MD_EPN.
    fn level_one_pointer(&self) -> u32 {
        if self.data.control & CTR_TWAM != 0 {
            self.table_base | self.data.epn >> 20 & 0xFFC
        } else {
            self.table_base & 0xFFFF_C000 | self.data.epn >> 18 & 0x3FFC
        }
    }

    /// MD_TWC as it reads: the address of the level-two word. For 512 KiB and 8 MiB segments that is the base itself.
    fn level_two_pointer(&self) -> u32 {
        let base = self.data.twc & 0xFFFF_F000;
        if self.data.twc & 0x4 != 0 {
            base
        } else if self.data.control & CTR_TWAM != 0 {
            base | self.data.epn >> 10 & 0xFFC
        } else {
            base | self.data.epn >> 8 & 0xFFC
        }
    }
}

fn page_of(entry: TlbEntry) -> (u32, PageSize) {
    (entry.epn & entry.page_size().mask(), entry.page_size())
}

fn size_code(entry: &TlbEntry) -> u32 {
    match entry.page_size() {
        PageSize::Small4K => 0b000,
        PageSize::Small16K => 0b001,
        PageSize::Large512K => 0b011,
        PageSize::Large8M => 0b111,
    }
}

fn shared(entry: &TlbEntry) -> u32 {
    u32::from(entry.rpn & RPN_SHARED != 0)
}

/// Four permissions, one for each sub-page, sub-page 0 in the highest bit.
fn sub_page_permits(side: &Side, access: Access, problem_state: bool) -> u32 {
    let entry = &side.latched;
    (0..4).fold(0, |bits, part| {
        let permitted = entry.permits(access, part << 10, problem_state, side.groups, side.modes());
        bits << 1 | u32::from(permitted)
    })
}

fn cam_instruction(entry: &TlbEntry) -> u32 {
    entry.epn & 0xFFFF_F000 | size_code(entry) << 9 | (entry.epn & 0xF) << 5 | shared(entry) << 4 | entry.rpn >> 4 & 0xF
}

fn ram0_instruction(side: &Side) -> u32 {
    let entry = &side.latched;
    entry.rpn & 0xFFFF_F000
        | size_code(entry) << 9
        | u32::from(entry.rpn & RPN_CACHE_INHIBITED != 0) << 8
        | entry.group() << 4
        | sub_page_permits(side, Access::Fetch, false)
}

fn ram1_instruction(side: &Side) -> u32 {
    let entry = &side.latched;
    sub_page_permits(side, Access::Fetch, true) << 2
        | (entry.rpn & entry.twc & 1) << 1
        | u32::from(entry.twc & TWC_GUARDED != 0)
}

fn cam_data(entry: &TlbEntry) -> u32 {
    entry.epn & 0xFFFF_F00F | (entry.rpn >> 4 & 0xF) << 8 | size_code(entry) << 5 | shared(entry) << 4
}

fn ram0_data(entry: &TlbEntry) -> u32 {
    entry.rpn & 0xFFFF_F000
        | size_code(entry) << 9
        | (!entry.group() & 0xF) << 5
        | u32::from(entry.twc & TWC_GUARDED != 0) << 4
        | u32::from(entry.twc & TWC_WRITE_THROUGH != 0) << 3
        | u32::from(entry.rpn & RPN_CACHE_INHIBITED != 0) << 2
}

fn ram1_data(side: &Side) -> u32 {
    let entry = &side.latched;
    let user_reads = sub_page_permits(side, Access::Load, true);
    let user_writes = sub_page_permits(side, Access::Store, true);
    let pairs = (0..4).fold(0, |bits, part| {
        let pair = (user_reads >> (3 - part) & 1) << 1 | user_writes >> (3 - part) & 1;
        bits << 2 | pair
    });
    u32::from(!entry.refuses_first_store(side.modes())) << 14
        | u32::from(entry.is_live()) << 13
        | sub_page_permits(side, Access::Load, false) << 9
        | pairs
}
