//! From an instruction word to an operation, by one table.
//!
//! [`TABLE`] is the only place that knows an encoding: mask, value, operation and the format that says where the
//! operands are. A word that no row matches is [`Op::Illegal`], which the 8xx hands to its software emulation vector:
//! that covers floating point, 64-bit and all optional instructions that the core lacks. Reserved bits are not part
//! of a mask, because the core ignores them; the 64-bit compares (L = 1) are, because they are other instructions.
//!
//! Source: PowerPC Programming Environments Manual for 32-bit microprocessors, appendix A; MPC860 User's Manual,
//! chapter 5, for what is not implemented.

/// Register index that stands for the constant 0 of a base register written as `rA|0`.
pub const ZERO: u8 = 32;

/// Declares [`Op`] together with its list of mnemonics.
macro_rules! operations {
    ($($name:ident $text:literal,)*) => {
        /// Every operation of the core, one per row of [`TABLE`], and the two that have no row.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)]
        #[allow(missing_docs, reason = "each variant is named by the mnemonic beside it")]
        pub enum Op {
            $($name,)*
        }

        impl Op {
            /// Every operation, in the order of their numbers.
            pub const ALL: &'static [Op] = &[$(Op::$name,)*];

            /// The mnemonic of the manuals.
            pub fn mnemonic(self) -> &'static str {
                match self {
                    $(Op::$name => $text,)*
                }
            }
        }
    };
}

operations! {
    Unfilled "(not decoded yet)", Illegal "(illegal)",
    Twi "twi", Mulli "mulli", Subfic "subfic", Cmpli "cmpli", Cmpi "cmpi", Addic "addic", AddicRecord "addic.",
    Addi "addi", Addis "addis", Ori "ori", Oris "oris", Xori "xori", Xoris "xoris", Andi "andi.", Andis "andis.",
    Rlwimi "rlwimi", Rlwinm "rlwinm", Rlwnm "rlwnm",
    B "b", Ba "ba", Bl "bl", Bla "bla", Bc "bc", Bca "bca", Bcl "bcl", Bcla "bcla",
    Bclr "bclr", Bclrl "bclrl", Bcctr "bcctr", Bcctrl "bcctrl", Sc "sc",
    Mcrf "mcrf", Crnor "crnor", Crandc "crandc", Crxor "crxor", Crnand "crnand", Crand "crand", Creqv "creqv",
    Crorc "crorc", Cror "cror", Rfi "rfi", Isync "isync",
    Lwz "lwz", Lwzu "lwzu", Lbz "lbz", Lbzu "lbzu", Stw "stw", Stwu "stwu", Stb "stb", Stbu "stbu", Lhz "lhz",
    Lhzu "lhzu", Lha "lha", Lhau "lhau", Sth "sth", Sthu "sthu", Lmw "lmw", Stmw "stmw",
    Lwzx "lwzx", Lwzux "lwzux", Lbzx "lbzx", Lbzux "lbzux", Stwx "stwx", Stwux "stwux", Stbx "stbx", Stbux "stbux",
    Lhzx "lhzx", Lhzux "lhzux", Lhax "lhax", Lhaux "lhaux", Sthx "sthx", Sthux "sthux",
    Lwbrx "lwbrx", Lhbrx "lhbrx", Stwbrx "stwbrx", Sthbrx "sthbrx", Lwarx "lwarx", Stwcx "stwcx.",
    Lswi "lswi", Lswx "lswx", Stswi "stswi", Stswx "stswx",
    Cmp "cmp", Cmpl "cmpl", Tw "tw",
    Add "add", Addc "addc", Adde "adde", Addme "addme", Addze "addze", Subf "subf", Subfc "subfc", Subfe "subfe",
    Subfme "subfme", Subfze "subfze", Neg "neg", Mullw "mullw", Mulhw "mulhw", Mulhwu "mulhwu", Divw "divw",
    Divwu "divwu",
    And "and", Andc "andc", Or "or", Orc "orc", Xor "xor", Nor "nor", Nand "nand", Eqv "eqv", Cntlzw "cntlzw",
    Extsb "extsb", Extsh "extsh", Slw "slw", Srw "srw", Sraw "sraw", Srawi "srawi",
    Mfcr "mfcr", Mtcrf "mtcrf", Mcrxr "mcrxr", Mfmsr "mfmsr", Mtmsr "mtmsr", Mfspr "mfspr", Mtspr "mtspr",
    Mftb "mftb",
    Sync "sync", Eieio "eieio", Dcbst "dcbst", Dcbf "dcbf", Dcbt "dcbt", Dcbtst "dcbtst", Dcbi "dcbi", Dcbz "dcbz",
    Icbi "icbi", Tlbie "tlbie", Tlbia "tlbia", Tlbsync "tlbsync",
}

/// Where the operands of an instruction are and how they are prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// rD, rA, signed immediate.
    D,
    /// rD, rA|0, signed immediate.
    DZero,
    /// rD, rA|0, immediate shifted left by 16.
    DZeroShifted,
    /// rS, rA, unsigned immediate.
    DUnsigned,
    /// rS, rA, unsigned immediate shifted left by 16.
    DUnsignedShifted,
    /// rD, rA, rB.
    X,
    /// rD, rA|0, rB.
    XZero,
    /// rD, rA|0, byte count in the place of rB, where 0 means 32.
    XCount,
    /// rS, rA, shift count or register in the place of rB, mask from MB and ME.
    M,
    /// Displacement of 26 bits.
    I,
    /// BO, BI, displacement of 16 bits.
    B,
    /// rD and the SPR number.
    Spr,
    /// rS and the mask of condition register bits.
    Crm,
}

/// One row of the decode table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Bits that tell this instruction from all others.
    pub mask: u32,
    /// Their values.
    pub value: u32,
    /// What it does.
    pub op: Op,
    /// How its operands are laid out.
    pub format: Format,
}

/// A row of the primary opcode `primary`.
const fn primary(primary: u32, op: Op, format: Format) -> Row {
    Row {
        mask: 0xFC00_0000,
        value: primary << 26,
        op,
        format,
    }
}

/// A row with the extended opcode `extended` of ten bits.
const fn extended(primary: u32, extended: u32, op: Op, format: Format) -> Row {
    Row {
        mask: 0xFC00_07FE,
        value: primary << 26 | extended << 1,
        op,
        format,
    }
}

/// A row with the extended opcode `extended` of nine bits; bit 21 is OE.
const fn overflow(extended: u32, op: Op) -> Row {
    Row {
        mask: 0xFC00_03FE,
        value: 31 << 26 | extended << 1,
        op,
        format: Format::X,
    }
}

/// A row of a branch; `low` are the bits AA and LK that tell the four forms apart.
const fn branch(primary: u32, low: u32, op: Op, format: Format) -> Row {
    Row {
        mask: 0xFC00_0003,
        value: primary << 26 | low,
        op,
        format,
    }
}

/// A row of the extended opcodes whose last bit (Rc or LK) is part of the instruction.
const fn exact(primary: u32, extended: u32, last: u32, op: Op, format: Format) -> Row {
    Row {
        mask: 0xFC00_07FF,
        value: primary << 26 | extended << 1 | last,
        op,
        format,
    }
}

/// Compares have L in bit 10: 1 is the 64-bit form.
const fn without_l(row: Row) -> Row {
    Row {
        mask: row.mask | 0x0020_0000,
        ..row
    }
}

/// The instruction set.
pub const TABLE: &[Row] = &[
    primary(3, Op::Twi, Format::D),
    primary(7, Op::Mulli, Format::D),
    primary(8, Op::Subfic, Format::D),
    without_l(primary(10, Op::Cmpli, Format::DUnsigned)),
    without_l(primary(11, Op::Cmpi, Format::D)),
    primary(12, Op::Addic, Format::D),
    primary(13, Op::AddicRecord, Format::D),
    primary(14, Op::Addi, Format::DZero),
    primary(15, Op::Addis, Format::DZeroShifted),
    branch(16, 0, Op::Bc, Format::B),
    branch(16, 1, Op::Bcl, Format::B),
    branch(16, 2, Op::Bca, Format::B),
    branch(16, 3, Op::Bcla, Format::B),
    primary(17, Op::Sc, Format::X),
    branch(18, 0, Op::B, Format::I),
    branch(18, 1, Op::Bl, Format::I),
    branch(18, 2, Op::Ba, Format::I),
    branch(18, 3, Op::Bla, Format::I),
    extended(19, 0, Op::Mcrf, Format::X),
    exact(19, 16, 0, Op::Bclr, Format::X),
    exact(19, 16, 1, Op::Bclrl, Format::X),
    extended(19, 33, Op::Crnor, Format::X),
    extended(19, 50, Op::Rfi, Format::X),
    extended(19, 129, Op::Crandc, Format::X),
    extended(19, 150, Op::Isync, Format::X),
    extended(19, 193, Op::Crxor, Format::X),
    extended(19, 225, Op::Crnand, Format::X),
    extended(19, 257, Op::Crand, Format::X),
    extended(19, 289, Op::Creqv, Format::X),
    extended(19, 417, Op::Crorc, Format::X),
    extended(19, 449, Op::Cror, Format::X),
    exact(19, 528, 0, Op::Bcctr, Format::X),
    exact(19, 528, 1, Op::Bcctrl, Format::X),
    primary(20, Op::Rlwimi, Format::M),
    primary(21, Op::Rlwinm, Format::M),
    primary(23, Op::Rlwnm, Format::M),
    primary(24, Op::Ori, Format::DUnsigned),
    primary(25, Op::Oris, Format::DUnsignedShifted),
    primary(26, Op::Xori, Format::DUnsigned),
    primary(27, Op::Xoris, Format::DUnsignedShifted),
    primary(28, Op::Andi, Format::DUnsigned),
    primary(29, Op::Andis, Format::DUnsignedShifted),
    without_l(extended(31, 0, Op::Cmp, Format::X)),
    extended(31, 4, Op::Tw, Format::X),
    overflow(8, Op::Subfc),
    overflow(10, Op::Addc),
    extended(31, 11, Op::Mulhwu, Format::X),
    extended(31, 19, Op::Mfcr, Format::X),
    extended(31, 20, Op::Lwarx, Format::XZero),
    extended(31, 23, Op::Lwzx, Format::XZero),
    extended(31, 24, Op::Slw, Format::X),
    extended(31, 26, Op::Cntlzw, Format::X),
    extended(31, 28, Op::And, Format::X),
    without_l(extended(31, 32, Op::Cmpl, Format::X)),
    overflow(40, Op::Subf),
    extended(31, 54, Op::Dcbst, Format::XZero),
    extended(31, 55, Op::Lwzux, Format::X),
    extended(31, 60, Op::Andc, Format::X),
    extended(31, 75, Op::Mulhw, Format::X),
    extended(31, 83, Op::Mfmsr, Format::X),
    extended(31, 86, Op::Dcbf, Format::XZero),
    extended(31, 87, Op::Lbzx, Format::XZero),
    overflow(104, Op::Neg),
    extended(31, 119, Op::Lbzux, Format::X),
    extended(31, 124, Op::Nor, Format::X),
    overflow(136, Op::Subfe),
    overflow(138, Op::Adde),
    extended(31, 144, Op::Mtcrf, Format::Crm),
    extended(31, 146, Op::Mtmsr, Format::X),
    exact(31, 150, 1, Op::Stwcx, Format::XZero),
    extended(31, 151, Op::Stwx, Format::XZero),
    extended(31, 183, Op::Stwux, Format::X),
    overflow(200, Op::Subfze),
    overflow(202, Op::Addze),
    extended(31, 215, Op::Stbx, Format::XZero),
    overflow(232, Op::Subfme),
    overflow(234, Op::Addme),
    overflow(235, Op::Mullw),
    extended(31, 246, Op::Dcbtst, Format::XZero),
    extended(31, 247, Op::Stbux, Format::X),
    overflow(266, Op::Add),
    extended(31, 278, Op::Dcbt, Format::XZero),
    extended(31, 279, Op::Lhzx, Format::XZero),
    extended(31, 284, Op::Eqv, Format::X),
    extended(31, 306, Op::Tlbie, Format::X),
    extended(31, 311, Op::Lhzux, Format::X),
    extended(31, 316, Op::Xor, Format::X),
    extended(31, 339, Op::Mfspr, Format::Spr),
    extended(31, 343, Op::Lhax, Format::XZero),
    extended(31, 370, Op::Tlbia, Format::X),
    extended(31, 371, Op::Mftb, Format::Spr),
    extended(31, 375, Op::Lhaux, Format::X),
    extended(31, 407, Op::Sthx, Format::XZero),
    extended(31, 412, Op::Orc, Format::X),
    extended(31, 439, Op::Sthux, Format::X),
    extended(31, 444, Op::Or, Format::X),
    overflow(459, Op::Divwu),
    extended(31, 467, Op::Mtspr, Format::Spr),
    extended(31, 470, Op::Dcbi, Format::XZero),
    extended(31, 476, Op::Nand, Format::X),
    overflow(491, Op::Divw),
    extended(31, 512, Op::Mcrxr, Format::X),
    extended(31, 533, Op::Lswx, Format::XZero),
    extended(31, 534, Op::Lwbrx, Format::XZero),
    extended(31, 536, Op::Srw, Format::X),
    extended(31, 566, Op::Tlbsync, Format::X),
    extended(31, 597, Op::Lswi, Format::XCount),
    extended(31, 598, Op::Sync, Format::X),
    extended(31, 661, Op::Stswx, Format::XZero),
    extended(31, 662, Op::Stwbrx, Format::XZero),
    extended(31, 725, Op::Stswi, Format::XCount),
    extended(31, 790, Op::Lhbrx, Format::XZero),
    extended(31, 792, Op::Sraw, Format::X),
    extended(31, 824, Op::Srawi, Format::X),
    extended(31, 854, Op::Eieio, Format::X),
    extended(31, 918, Op::Sthbrx, Format::XZero),
    extended(31, 922, Op::Extsh, Format::X),
    extended(31, 954, Op::Extsb, Format::X),
    extended(31, 982, Op::Icbi, Format::XZero),
    extended(31, 1014, Op::Dcbz, Format::XZero),
    primary(32, Op::Lwz, Format::DZero),
    primary(33, Op::Lwzu, Format::D),
    primary(34, Op::Lbz, Format::DZero),
    primary(35, Op::Lbzu, Format::D),
    primary(36, Op::Stw, Format::DZero),
    primary(37, Op::Stwu, Format::D),
    primary(38, Op::Stb, Format::DZero),
    primary(39, Op::Stbu, Format::D),
    primary(40, Op::Lhz, Format::DZero),
    primary(41, Op::Lhzu, Format::D),
    primary(42, Op::Lha, Format::DZero),
    primary(43, Op::Lhau, Format::D),
    primary(44, Op::Sth, Format::DZero),
    primary(45, Op::Sthu, Format::D),
    primary(46, Op::Lmw, Format::DZero),
    primary(47, Op::Stmw, Format::DZero),
];

/// A decoded instruction, ready to execute.
///
/// The interpreter copies one for each instruction it executes. With this layout the copy is two aligned moves; with
/// the compiler's own, which puts a one-byte operation beside the rest, it went through the stack in overlapping parts
/// and took more than half of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Decoded {
    /// What to do.
    pub op: Op,
    /// rD, rS, TO, BO, crbD or crfD<<2: bits 6 to 10.
    pub d: u8,
    /// rA, BI or crbA: bits 11 to 15; [`ZERO`] for an `rA|0` that is 0.
    pub a: u8,
    /// rB, SH, NB or crbB: bits 16 to 20.
    pub b: u8,
    /// Immediate, displacement, mask or SPR number, as the format says.
    pub imm: u32,
    /// The instruction word, for Rc, OE and the exceptions that report the instruction.
    pub raw: u32,
}

impl Decoded {
    /// A slot of an instruction store that holds nothing yet.
    pub const UNFILLED: Decoded = Decoded {
        op: Op::Unfilled,
        d: 0,
        a: 0,
        b: 0,
        imm: 0,
        raw: 0,
    };

    /// The record bit.
    #[inline(always)]
    pub fn rc(self) -> bool {
        self.raw & 1 != 0
    }

    /// The overflow-enable bit of the XO form.
    #[inline(always)]
    pub fn oe(self) -> bool {
        self.raw & 0x400 != 0
    }
}

/// Marks a word of an index that no row claims.
const NO_ROW: u8 = u8::MAX;

/// For each primary opcode its row, where the primary opcode (and L, AA, LK at most) decides.
const BY_PRIMARY: [u8; 64 * 4] = {
    let mut index = [NO_ROW; 64 * 4];
    let mut row = 0;
    while row < TABLE.len() {
        let Row { mask, value, .. } = TABLE[row];
        if mask & 0x07FC == 0 {
            let mut low = 0;
            while low < 4 {
                if (value ^ low) & mask & 3 == 0 {
                    index[(value >> 26 << 2 | low) as usize] = row as u8;
                }
                low += 1;
            }
        }
        row += 1;
    }
    index
};

/// For each value of bits 21 to 31 the row, for one of the two primary opcodes with extended opcodes.
const fn by_extended(primary: u32) -> [u8; 2048] {
    let mut index = [NO_ROW; 2048];
    let mut row = 0;
    while row < TABLE.len() {
        let Row { mask, value, .. } = TABLE[row];
        if mask & 0x07FC != 0 && value >> 26 == primary {
            let mut low = 0;
            while low < 2048 {
                if (value ^ low) & mask & 0x07FF == 0 {
                    index[low as usize] = row as u8;
                }
                low += 1;
            }
        }
        row += 1;
    }
    index
}

static BY_EXTENDED_19: [u8; 2048] = by_extended(19);
static BY_EXTENDED_31: [u8; 2048] = by_extended(31);

/// The row of [`TABLE`] that matches `word`.
pub fn find_row(word: u32) -> Option<&'static Row> {
    let index = match word >> 26 {
        19 => BY_EXTENDED_19[(word & 0x7FF) as usize],
        31 => BY_EXTENDED_31[(word & 0x7FF) as usize],
        primary => BY_PRIMARY[(primary << 2 | word & 3) as usize],
    };
    TABLE.get(usize::from(index)).filter(|row| word & row.mask == row.value)
}

/// The mask of `rlwinm` and its kin: ones from bit `begin` to bit `end`, around the end of the word if need be.
pub fn rotate_mask(begin: u32, end: u32) -> u32 {
    let from_begin = u32::MAX >> begin;
    let to_end = u32::MAX << (31 - end);
    if begin <= end {
        from_begin & to_end
    } else {
        from_begin | to_end
    }
}

/// Expands the eight field bits of `mtcrf` to a mask of the condition register.
fn field_mask(crm: u32) -> u32 {
    (0..8)
        .filter(|field| crm & (0x80 >> field) != 0)
        .fold(0, |mask, field| mask | 0xF000_0000 >> (4 * field))
}

/// Decodes one instruction word; never fails, because what is not in the table is [`Op::Illegal`].
pub fn decode(word: u32) -> Decoded {
    let Some(row) = find_row(word) else {
        return Decoded {
            op: Op::Illegal,
            raw: word,
            ..Decoded::UNFILLED
        };
    };
    let d = (word >> 21 & 31) as u8;
    let a = (word >> 16 & 31) as u8;
    let b = (word >> 11 & 31) as u8;
    let a_or_zero = if a == 0 { ZERO } else { a };
    let signed = word as u16 as i16 as u32;
    let unsigned = word & 0xFFFF;
    let (a, b, imm) = match row.format {
        Format::D => (a, b, signed),
        Format::DZero => (a_or_zero, b, signed),
        Format::DZeroShifted => (a_or_zero, b, unsigned << 16),
        Format::DUnsigned => (a, b, unsigned),
        Format::DUnsignedShifted => (a, b, unsigned << 16),
        Format::X => (a, b, 0),
        Format::XZero => (a_or_zero, b, 0),
        Format::XCount => (a_or_zero, if b == 0 { 32 } else { b }, 0),
        Format::M => (a, b, rotate_mask(word >> 6 & 31, word >> 1 & 31)),
        Format::I => (a, b, ((word << 6) as i32 >> 6) as u32 & !3),
        Format::B => (a, b, signed & !3),
        Format::Spr => (a, b, (word >> 16 & 31) | (word >> 6 & 0x3E0)),
        Format::Crm => (a, b, field_mask(word >> 12 & 0xFF)),
    };
    Decoded {
        op: row.op,
        d,
        a,
        b,
        imm,
        raw: word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_rows_overlap() {
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(
                row.value & !row.mask,
                0,
                "{}: value outside its mask",
                row.op.mnemonic()
            );
            for other in &TABLE[..index] {
                let common = row.mask & other.mask;
                assert_ne!(
                    row.value & common,
                    other.value & common,
                    "{} and {} match the same words",
                    row.op.mnemonic(),
                    other.op.mnemonic()
                );
            }
        }
    }

    #[test]
    fn every_operation_but_two_has_exactly_one_row() {
        for &op in Op::ALL {
            let rows = TABLE.iter().filter(|row| row.op == op).count();
            assert_eq!(
                rows,
                usize::from(!matches!(op, Op::Unfilled | Op::Illegal)),
                "{}",
                op.mnemonic()
            );
        }
    }

    #[test]
    fn index_and_table_agree_on_a_sample_of_all_words() {
        for step in 0..1 << 20 {
            let word = u32::wrapping_mul(step, 0x9E37_79B1).rotate_left(7);
            let by_search = TABLE.iter().find(|row| word & row.mask == row.value).map(|row| row.op);
            assert_eq!(find_row(word).map(|row| row.op), by_search, "{word:#010x}");
        }
    }

    #[test]
    fn masks_wrap_around_the_word() {
        assert_eq!(rotate_mask(0, 31), 0xFFFF_FFFF);
        assert_eq!(rotate_mask(24, 31), 0x0000_00FF);
        assert_eq!(rotate_mask(0, 0), 0x8000_0000);
        assert_eq!(rotate_mask(31, 0), 0x8000_0001);
        assert_eq!(rotate_mask(8, 7), 0xFFFF_FFFF);
    }

    #[test]
    fn floating_point_and_64_bit_words_are_illegal() {
        // lfs, stfd, fadds, fadd, ld, std, cmpd, cmpldi, mtsr, eciwx, all zeroes.
        for word in [
            0xC023_0000,
            0xD823_0000,
            0xEC22_182A,
            0xFC22_182A,
            0xE823_0000,
            0xF823_0000,
            0x7C23_2000,
            0x2823_0001,
            0x7C00_01A4,
            0x7C64_2A6C,
            0,
        ] {
            assert_eq!(decode(word).op, Op::Illegal, "{word:#010x}");
        }
    }

    #[test]
    fn operands_are_prepared() {
        let addi = decode(0x3860_FFFF);
        assert_eq!((addi.op, addi.d, addi.a, addi.imm), (Op::Addi, 3, ZERO, 0xFFFF_FFFF));
        let mfspr = decode(0x7C7A_02A6);
        assert_eq!((mfspr.op, mfspr.d, mfspr.imm), (Op::Mfspr, 3, 26));
        let branch = decode(0x4BFF_FFFC);
        assert_eq!((branch.op, branch.imm), (Op::B, -4i32 as u32));
    }
}
