//! What the model knows of each operation: its unit, its cost, what it reads and writes.

use crate::cpu::decode::Op;
use crate::cpu::registers::spr;
use crate::cpu::timing::Timing;

/// What an operation does to the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// What the model knows of one operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Class {
    pub(super) unit: Unit,
    /// Issue slots, or clocks after the wait of a serialising instruction.
    pub(super) cost: u8,
    /// Waits for the pipeline to empty.
    pub(super) serialises: bool,
    /// Fields whose registers are read.
    pub(super) reads: u8,
    /// Fields whose registers are written.
    pub(super) writes: u8,
    /// CR is written: always, or if the record bit is set.
    pub(super) sets_cr: bool,
    pub(super) records: bool,
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

/// The class of an operation.
pub(super) fn classify(op: Op, timing: &Timing) -> Class {
    use Op::*;
    let simple = Class {
        unit: Unit::Simple,
        cost: 1,
        serialises: false,
        reads: 0,
        writes: 0,
        sets_cr: false,
        records: false,
    };
    let serial = |cost: u32| Class {
        unit: Unit::Serial,
        cost: cost.min(255) as u8,
        serialises: true,
        ..simple
    };
    match op {
        Unfilled | Illegal => simple,
        Addi | Addis | Addic | Subfic => Class {
            reads: FIELD_A,
            writes: FIELD_D,
            ..simple
        },
        AddicRecord => Class {
            reads: FIELD_A,
            writes: FIELD_D,
            sets_cr: true,
            ..simple
        },
        Mulli => Class {
            unit: Unit::Multiply,
            reads: FIELD_A,
            writes: FIELD_D,
            ..simple
        },
        Mullw | Mulhw | Mulhwu => Class {
            unit: Unit::Multiply,
            reads: FIELD_A | FIELD_B,
            writes: FIELD_D,
            records: true,
            ..simple
        },
        Divw | Divwu => Class {
            unit: Unit::Divide,
            reads: FIELD_A | FIELD_B,
            writes: FIELD_D,
            records: true,
            ..simple
        },
        Add | Addc | Adde | Subf | Subfc | Subfe => Class {
            reads: FIELD_A | FIELD_B,
            writes: FIELD_D,
            records: true,
            ..simple
        },
        Addme | Addze | Subfme | Subfze | Neg => Class {
            reads: FIELD_A,
            writes: FIELD_D,
            records: true,
            ..simple
        },
        Ori | Oris | Xori | Xoris => Class {
            reads: FIELD_D,
            writes: FIELD_A,
            ..simple
        },
        Andi | Andis => Class {
            reads: FIELD_D,
            writes: FIELD_A,
            sets_cr: true,
            ..simple
        },
        Rlwinm | Srawi | Cntlzw | Extsb | Extsh => Class {
            reads: FIELD_D,
            writes: FIELD_A,
            records: true,
            ..simple
        },
        Rlwimi => Class {
            reads: FIELD_D | FIELD_A,
            writes: FIELD_A,
            records: true,
            ..simple
        },
        Rlwnm | And | Andc | Or | Orc | Xor | Nor | Nand | Eqv | Slw | Srw | Sraw => Class {
            reads: FIELD_D | FIELD_B,
            writes: FIELD_A,
            records: true,
            ..simple
        },
        Cmpi | Cmpli => Class {
            reads: FIELD_A,
            sets_cr: true,
            ..simple
        },
        Cmp | Cmpl => Class {
            reads: FIELD_A | FIELD_B,
            sets_cr: true,
            ..simple
        },
        Twi => Class {
            reads: FIELD_A,
            ..simple
        },
        Tw => Class {
            reads: FIELD_A | FIELD_B,
            ..simple
        },
        Mcrf | Crnor | Crandc | Crxor | Crnand | Crand | Creqv | Crorc | Cror => Class {
            sets_cr: true,
            ..simple
        },
        Mfcr => Class {
            cost: timing.cr_move.min(255) as u8,
            writes: FIELD_D,
            ..simple
        },
        Mtcrf => Class {
            cost: timing.cr_move.min(255) as u8,
            reads: FIELD_D,
            sets_cr: true,
            ..simple
        },
        Mcrxr => Class {
            sets_cr: true,
            ..serial(timing.spr_core)
        },

        B | Ba | Bl | Bla | Bc | Bca | Bcl | Bcla | Bclr | Bclrl | Bcctr | Bcctrl => Class {
            unit: Unit::Branch,
            ..simple
        },

        Lwz | Lbz | Lhz | Lha => Class {
            unit: Unit::Load,
            reads: FIELD_A,
            writes: FIELD_D,
            ..simple
        },
        Lwzu | Lbzu | Lhzu | Lhau => Class {
            unit: Unit::Load,
            reads: FIELD_A,
            writes: FIELD_D | FIELD_A,
            ..simple
        },
        Lwzx | Lbzx | Lhzx | Lhax | Lwbrx | Lhbrx => Class {
            unit: Unit::Load,
            reads: FIELD_A | FIELD_B,
            writes: FIELD_D,
            ..simple
        },
        Lwzux | Lbzux | Lhzux | Lhaux => Class {
            unit: Unit::Load,
            reads: FIELD_A | FIELD_B,
            writes: FIELD_D | FIELD_A,
            ..simple
        },
        Stw | Stb | Sth => Class {
            unit: Unit::Store,
            reads: FIELD_D | FIELD_A,
            ..simple
        },
        Stwu | Stbu | Sthu => Class {
            unit: Unit::Store,
            reads: FIELD_D | FIELD_A,
            writes: FIELD_A,
            ..simple
        },
        Stwx | Stbx | Sthx | Stwbrx | Sthbrx => Class {
            unit: Unit::Store,
            reads: FIELD_D | FIELD_A | FIELD_B,
            ..simple
        },
        Stwux | Stbux | Sthux => Class {
            unit: Unit::Store,
            reads: FIELD_D | FIELD_A | FIELD_B,
            writes: FIELD_A,
            ..simple
        },
        Lmw | Stmw => Class {
            unit: Unit::Sequence,
            ..serial(timing.multiple_base)
        },
        Lswi | Lswx | Stswi | Stswx => Class {
            unit: Unit::Sequence,
            ..serial(timing.string_base)
        },
        Lwarx => Class {
            unit: Unit::Load,
            writes: FIELD_D,
            ..serial(timing.reserve)
        },
        Stwcx => Class {
            unit: Unit::Store,
            sets_cr: true,
            ..serial(timing.reserve)
        },

        Mfspr | Mtspr => {
            let (reads, writes) = if op == Mtspr { (FIELD_D, 0) } else { (0, FIELD_D) };
            Class {
                unit: Unit::Spr,
                reads,
                writes,
                ..simple
            }
        }
        Mftb => Class {
            writes: FIELD_D,
            ..serial(timing.spr_off_core)
        },
        Mfmsr => Class {
            writes: FIELD_D,
            ..serial(timing.mfmsr)
        },
        Sc | Rfi | Isync | Mtmsr => serial(1),
        Sync => serial(timing.reserve),
        Eieio | Tlbsync => simple,
        Dcbt | Dcbtst => Class {
            reads: FIELD_A | FIELD_B,
            ..simple
        },
        // What dcbz costs beyond its issue depends on the cache; the instruction adds it.
        Dcbz => Class {
            unit: Unit::Store,
            reads: FIELD_A | FIELD_B,
            ..simple
        },
        Dcbst | Dcbf | Dcbi | Icbi => Class {
            unit: Unit::Store,
            cost: timing.cache_operation.min(255) as u8,
            reads: FIELD_A | FIELD_B,
            ..simple
        },
        Tlbie | Tlbia => serial(timing.tlb_invalidate),
    }
}
