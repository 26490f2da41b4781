//! Names of register bits and numbers of special-purpose registers.
//!
//! Sources: the kernel's `reg.h` and `reg_8xx.h`, U-Boot's `mpc8xx.h`, and the manuals (MPC860 and MPC823 User's Manual,
//! chapters on exceptions and on development support).

/// Machine state register (MPC866 User's Manual, Table 3-3).
pub mod msr {
    /// Power management: the core waits for an interrupt.
    pub const POW: u32 = 0x0004_0000;
    /// Byte order after the next exception.
    pub const ILE: u32 = 0x0001_0000;
    /// External interrupts and the decrementer are recognised.
    pub const EE: u32 = 0x0000_8000;
    /// Problem (user) state.
    pub const PR: u32 = 0x0000_4000;
    /// Machine check is taken as an exception instead of a checkstop.
    pub const ME: u32 = 0x0000_1000;
    /// Trace after every instruction.
    pub const SE: u32 = 0x0000_0400;
    /// Trace after every taken branch.
    pub const BE: u32 = 0x0000_0200;
    /// Vectors at 0xFFF0_0000 instead of 0.
    pub const IP: u32 = 0x0000_0040;
    /// Instruction addresses are translated.
    pub const IR: u32 = 0x0000_0020;
    /// Data addresses are translated.
    pub const DR: u32 = 0x0000_0010;
    /// The state saved in SRR0 and SRR1 would survive an exception.
    pub const RI: u32 = 0x0000_0002;
    /// Little-endian mode.
    pub const LE: u32 = 0x0000_0001;
    /// The bits that SRR1 carries: bits 1 to 4 and 10 to 15 belong to the exception.
    pub const SAVED: u32 = 0x87C0_FFFF;
    /// The bits that `rfi` takes from SRR1; the others of the low half are reserved and travel along.
    pub const RESTORED: u32 = 0x0000_FFFF;
}

/// Fixed-point exception register.
pub mod xer {
    /// Summary overflow.
    pub const SO: u32 = 0x8000_0000;
    /// Overflow.
    pub const OV: u32 = 0x4000_0000;
    /// Carry.
    pub const CA: u32 = 0x2000_0000;
    /// Byte count of `lswx` and `stswx`.
    pub const COUNT: u32 = 0x0000_007F;
    /// Bits that exist; 16 to 23 keep what was written though reserved (MPC866 User's Manual, Table 3-3).
    pub const IMPLEMENTED: u32 = 0xE000_FF7F;
}

/// Upper bits of SRR1 as an exception sets them.
pub mod srr1 {
    /// ITLB error: no valid translation.
    pub const NO_TRANSLATION: u32 = 0x4000_0000;
    /// ITLB error: fetch from guarded memory.
    pub const GUARDED: u32 = 0x1000_0000;
    /// ITLB error: protection.
    pub const PROTECTION: u32 = 0x0800_0000;
    /// Machine check: during an instruction fetch.
    pub const FETCH: u32 = 0x4000_0000;
    /// Program exception: privileged instruction.
    pub const PRIVILEGED: u32 = 0x0004_0000;
    /// Program exception: trap.
    pub const TRAP: u32 = 0x0002_0000;
}

/// DSISR of a DTLB error.
pub mod dsisr {
    /// No valid translation.
    pub const NO_TRANSLATION: u32 = 0x4000_0000;
    /// Protection.
    pub const PROTECTION: u32 = 0x0800_0000;
    /// The access was a store.
    pub const STORE: u32 = 0x0200_0000;
}

/// SPR numbers, in the order of their value.
pub mod spr {
    #![allow(
        missing_docs,
        reason = "the names are those of the manuals and the kernel; a sentence would repeat them"
    )]
    pub const XER: u32 = 1;
    pub const LR: u32 = 8;
    pub const CTR: u32 = 9;
    pub const DSISR: u32 = 18;
    pub const DAR: u32 = 19;
    pub const DEC: u32 = 22;
    pub const SRR0: u32 = 26;
    pub const SRR1: u32 = 27;
    pub const EIE: u32 = 80;
    pub const EID: u32 = 81;
    pub const NRI: u32 = 82;
    pub const CMPA: u32 = 144;
    pub const CMPD: u32 = 147;
    pub const ICR: u32 = 148;
    pub const DER: u32 = 149;
    pub const COUNTA: u32 = 150;
    pub const COUNTB: u32 = 151;
    pub const CMPE: u32 = 152;
    pub const CMPF: u32 = 153;
    pub const CMPG: u32 = 154;
    pub const CMPH: u32 = 155;
    pub const LCTRL1: u32 = 156;
    pub const LCTRL2: u32 = 157;
    pub const ICTRL: u32 = 158;
    pub const BAR: u32 = 159;
    pub const TBL_READ: u32 = 268;
    pub const TBU_READ: u32 = 269;
    pub const SPRG0: u32 = 272;
    pub const SPRG3: u32 = 275;
    pub const TBL_WRITE: u32 = 284;
    pub const TBU_WRITE: u32 = 285;
    pub const PVR: u32 = 287;
    pub const IC_CST: u32 = 560;
    pub const IC_ADR: u32 = 561;
    pub const IC_DAT: u32 = 562;
    pub const DC_CST: u32 = 568;
    pub const DC_ADR: u32 = 569;
    pub const DC_DAT: u32 = 570;
    pub const DPDR: u32 = 630;
    pub const IMMR: u32 = 638;
    pub const MI_CTR: u32 = 784;
    pub const MI_AP: u32 = 786;
    pub const MI_EPN: u32 = 787;
    pub const MI_TWC: u32 = 789;
    pub const MI_RPN: u32 = 790;
    pub const MD_CTR: u32 = 792;
    pub const M_CASID: u32 = 793;
    pub const MD_AP: u32 = 794;
    pub const MD_EPN: u32 = 795;
    pub const M_TWB: u32 = 796;
    pub const MD_TWC: u32 = 797;
    pub const MD_RPN: u32 = 798;
    pub const M_TW: u32 = 799;
    pub const MI_CAM: u32 = 816;
    pub const MI_RAM0: u32 = 817;
    pub const MI_RAM1: u32 = 818;
    pub const MD_CAM: u32 = 824;
    pub const MD_RAM0: u32 = 825;
    pub const MD_RAM1: u32 = 826;
}
