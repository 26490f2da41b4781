//! What the model knows of each operation: its unit, its cost, what it reads and writes.

use crate::cpu::decode::Op;
use crate::cpu::registers::spr;
use crate::cpu::timing::Timing;

/// What an operation does to the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Unit {
    /// One issue slot, result at the next clock.
    Simple,
    /// Waits for the pipeline to empty; no access to memory.
    Serial,
    /// Resolved in the queue.
    Branch,
    /// The integer multiplier.
    Multiply,
    /// The same unit, for long.
    Divide,
    /// A load of one operand.
    Load,
    /// A store of one operand.
    Store,
    /// Several accesses; the instruction itself advances the clock.
    Sequence,
    /// A special-purpose register: cost by its number.
    Spr,
}

/// Register fields of an instruction, as bits.
pub(super) const FIELD_D: u8 = 1;
pub(super) const FIELD_A: u8 = 2;
pub(super) const FIELD_B: u8 = 4;

/// What the model knows of one operation, spelt out.
#[derive(Clone, Copy)]
struct Row {
    unit: Unit,
    /// Issue slots, or clocks after the wait of a serialising instruction.
    cost: u8,
    /// Waits for the pipeline to empty.
    serialises: bool,
    /// Fields whose registers are read.
    reads: u8,
    /// Fields whose registers are written.
    writes: u8,
    /// CR is written: always, or if the record bit is set.
    sets_cr: bool,
    records: bool,
}

/// The same in one word, because it is looked up for every instruction.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(4))]
pub(in crate::cpu) struct Class {
    pub(super) unit: Unit,
    /// Issue slots, or clocks after the wait of a serialising instruction.
    pub(super) cost: u8,
    registers: u8,
    flags: u8,
}

const SERIALISES: u8 = 1;
const SETS_CR: u8 = 2;
const RECORDS: u8 = 4;

impl Class {
    /// The class of an operation.
    pub(super) fn of(op: Op, timing: &Timing) -> Class {
        let row = classify(op, timing);
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        Class {
            unit: row.unit,
            cost: row.cost,
            registers: row.reads | row.writes << 4,
            flags: flag(row.serialises, SERIALISES) | flag(row.sets_cr, SETS_CR) | flag(row.records, RECORDS),
        }
    }

    /// Fields whose registers are read.
    #[inline(always)]
    pub(super) fn reads(self) -> u8 {
        self.registers & 0xF
    }

    /// Whether the register of this field is written.
    #[inline(always)]
    pub(super) fn writes(self, field: u8) -> bool {
        self.registers & field << 4 != 0
    }

    /// Waits for the pipeline to empty.
    #[inline(always)]
    pub(super) fn serialises(self) -> bool {
        self.flags & SERIALISES != 0
    }

    /// Whether CR is written, where `record` is the record bit of the instruction.
    #[inline(always)]
    pub(super) fn sets_cr(self, record: bool) -> bool {
        self.flags & SETS_CR != 0 || self.flags & RECORDS != 0 && record
    }
}

/// Issue slots of a move to or from this register, after the wait of those that serialise.
pub(super) fn spr_cost(timing: &Timing, number: u32) -> u32 {
    match number {
        spr::LR | spr::CTR => 1,
        spr::EIE | spr::EID | spr::NRI => timing.mtspr_interrupt,
        number if is_off_core(number) => timing.spr_off_core,
        _ => timing.spr_core,
    }
}

/// The registers of the branch unit and the three that only change EE and RI do not wait for the pipeline.
pub(super) fn spr_serialises(number: u32) -> bool {
    !matches!(number, spr::LR | spr::CTR | spr::EIE | spr::EID | spr::NRI)
}

/// Registers outside the core proper, behind an internal bus (the list of the CPU6 erratum's workaround).
fn is_off_core(number: u32) -> bool {
    matches!(number, spr::DEC | spr::TBL_READ..=spr::TBU_READ | spr::TBL_WRITE..=spr::TBU_WRITE) || number >= 560
}

/// What each operation does.
fn classify(op: Op, timing: &Timing) -> Row {
    use Op::*;
    let simple = Row {
        unit: Unit::Simple,
        cost: 1,
        serialises: false,
        reads: 0,
        writes: 0,
        sets_cr: false,
        records: false,
    };
    let serial = |cost: u32| Row {
        unit: Unit::Serial,
        cost: cost.min(255) as u8,
        serialises: true,
        ..simple
    };
    match op {
        Unfilled | Illegal => simple,
        Addi | Addis | Addic | Subfic => Row {
            reads: FIELD_A,
            writes: FIELD_D,
            ..simple
        },
        AddicRecord => Row {
            reads: FIELD_A,
            writes: FIELD_D,
            sets_cr: true,
            ..simple
        },
        Mulli => Row {
            unit: Unit::Multiply,
            reads: FIELD_A,
            writes: FIELD_D,
            ..simple
        },
        Mullw | Mulhw | Mulhwu => Row {
            unit: Unit::Multiply,
            reads: FIELD_A | FIELD_B,
            writes: FIELD_D,
            records: true,
            ..simple
        },
        Divw | Divwu => Row {
            unit: Unit::Divide,
            reads: FIELD_A | FIELD_B,
            writes: FIELD_D,
            records: true,
            ..simple
        },
        Add | Addc | Adde | Subf | Subfc | Subfe => Row {
            reads: FIELD_A | FIELD_B,
            writes: FIELD_D,
            records: true,
            ..simple
        },
        Addme | Addze | Subfme | Subfze | Neg => Row {
            reads: FIELD_A,
            writes: FIELD_D,
            records: true,
            ..simple
        },
        Ori | Oris | Xori | Xoris => Row {
            reads: FIELD_D,
            writes: FIELD_A,
            ..simple
        },
        Andi | Andis => Row {
            reads: FIELD_D,
            writes: FIELD_A,
            sets_cr: true,
            ..simple
        },
        Rlwinm | Srawi | Cntlzw | Extsb | Extsh => Row {
            reads: FIELD_D,
            writes: FIELD_A,
            records: true,
            ..simple
        },
        Rlwimi => Row {
            reads: FIELD_D | FIELD_A,
            writes: FIELD_A,
            records: true,
            ..simple
        },
        Rlwnm | And | Andc | Or | Orc | Xor | Nor | Nand | Eqv | Slw | Srw | Sraw => Row {
            reads: FIELD_D | FIELD_B,
            writes: FIELD_A,
            records: true,
            ..simple
        },
        Cmpi | Cmpli => Row {
            reads: FIELD_A,
            sets_cr: true,
            ..simple
        },
        Cmp | Cmpl => Row {
            reads: FIELD_A | FIELD_B,
            sets_cr: true,
            ..simple
        },
        Twi => Row {
            reads: FIELD_A,
            ..simple
        },
        Tw => Row {
            reads: FIELD_A | FIELD_B,
            ..simple
        },
        Mcrf | Crnor | Crandc | Crxor | Crnand | Crand | Creqv | Crorc | Cror => Row {
            sets_cr: true,
            ..simple
        },
        Mfcr => Row {
            cost: timing.cr_move.min(255) as u8,
            writes: FIELD_D,
            ..simple
        },
        Mtcrf => Row {
            cost: timing.cr_move.min(255) as u8,
            reads: FIELD_D,
            sets_cr: true,
            ..simple
        },
        Mcrxr => Row {
            sets_cr: true,
            ..serial(timing.spr_core)
        },

        B | Ba | Bl | Bla | Bc | Bca | Bcl | Bcla | Bclr | Bclrl | Bcctr | Bcctrl => Row {
            unit: Unit::Branch,
            ..simple
        },

        Lwz | Lbz | Lhz | Lha => Row {
            unit: Unit::Load,
            reads: FIELD_A,
            writes: FIELD_D,
            ..simple
        },
        Lwzu | Lbzu | Lhzu | Lhau => Row {
            unit: Unit::Load,
            reads: FIELD_A,
            writes: FIELD_D | FIELD_A,
            ..simple
        },
        Lwzx | Lbzx | Lhzx | Lhax | Lwbrx | Lhbrx => Row {
            unit: Unit::Load,
            reads: FIELD_A | FIELD_B,
            writes: FIELD_D,
            ..simple
        },
        Lwzux | Lbzux | Lhzux | Lhaux => Row {
            unit: Unit::Load,
            reads: FIELD_A | FIELD_B,
            writes: FIELD_D | FIELD_A,
            ..simple
        },
        Stw | Stb | Sth => Row {
            unit: Unit::Store,
            reads: FIELD_D | FIELD_A,
            ..simple
        },
        Stwu | Stbu | Sthu => Row {
            unit: Unit::Store,
            reads: FIELD_D | FIELD_A,
            writes: FIELD_A,
            ..simple
        },
        Stwx | Stbx | Sthx | Stwbrx | Sthbrx => Row {
            unit: Unit::Store,
            reads: FIELD_D | FIELD_A | FIELD_B,
            ..simple
        },
        Stwux | Stbux | Sthux => Row {
            unit: Unit::Store,
            reads: FIELD_D | FIELD_A | FIELD_B,
            writes: FIELD_A,
            ..simple
        },
        Lmw | Stmw => Row {
            unit: Unit::Sequence,
            ..serial(timing.multiple_base)
        },
        Lswi | Lswx | Stswi | Stswx => Row {
            unit: Unit::Sequence,
            ..serial(timing.string_base)
        },
        Lwarx => Row {
            unit: Unit::Load,
            writes: FIELD_D,
            ..serial(timing.reserve)
        },
        Stwcx => Row {
            unit: Unit::Store,
            sets_cr: true,
            ..serial(timing.reserve)
        },

        Mfspr | Mtspr => {
            let (reads, writes) = if op == Mtspr { (FIELD_D, 0) } else { (0, FIELD_D) };
            Row {
                unit: Unit::Spr,
                reads,
                writes,
                ..simple
            }
        }
        Mftb => Row {
            writes: FIELD_D,
            ..serial(timing.spr_off_core)
        },
        Mfmsr => Row {
            writes: FIELD_D,
            ..serial(timing.mfmsr)
        },
        Sc | Rfi | Isync | Mtmsr => serial(1),
        Sync => serial(timing.reserve),
        Eieio | Tlbsync => simple,
        Dcbt | Dcbtst => Row {
            reads: FIELD_A | FIELD_B,
            ..simple
        },
        // What dcbz costs beyond its issue depends on the cache; the instruction adds it.
        Dcbz => Row {
            unit: Unit::Store,
            reads: FIELD_A | FIELD_B,
            ..simple
        },
        Dcbst | Dcbf | Dcbi | Icbi => Row {
            unit: Unit::Store,
            cost: timing.cache_operation.min(255) as u8,
            reads: FIELD_A | FIELD_B,
            ..simple
        },
        Tlbie | Tlbia => serial(timing.tlb_invalidate),
    }
}
