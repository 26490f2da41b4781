//! Encoders for the instructions that the guest programs use.

const fn d_form(opcode: u32, d: u32, a: u32, immediate: i32) -> u32 {
    opcode << 26 | d << 21 | a << 16 | immediate as u32 & 0xFFFF
}

/// X-form of primary opcode 31.
pub const fn x31(d: u32, a: u32, b: u32, extended: u32) -> u32 {
    31 << 26 | d << 21 | a << 16 | b << 11 | extended << 1
}

pub const fn li(d: u32, value: i32) -> u32 {
    d_form(14, d, 0, value)
}

pub const fn addi(d: u32, a: u32, value: i32) -> u32 {
    d_form(14, d, a, value)
}

pub const fn lis(d: u32, value: u32) -> u32 {
    d_form(15, d, 0, value as i32)
}

pub const fn ori(a: u32, s: u32, value: u32) -> u32 {
    d_form(24, s, a, value as i32)
}

/// Two instructions that load a full word.
pub const fn load_immediate(d: u32, value: u32) -> [u32; 2] {
    [lis(d, value >> 16), ori(d, d, value & 0xFFFF)]
}

pub const fn lwz(d: u32, offset: i32, a: u32) -> u32 {
    d_form(32, d, a, offset)
}

pub const fn lwzu(d: u32, offset: i32, a: u32) -> u32 {
    d_form(33, d, a, offset)
}

pub const fn stb(s: u32, offset: i32, a: u32) -> u32 {
    d_form(38, s, a, offset)
}

pub const fn stw(s: u32, offset: i32, a: u32) -> u32 {
    d_form(36, s, a, offset)
}

pub const fn stwu(s: u32, offset: i32, a: u32) -> u32 {
    d_form(37, s, a, offset)
}

pub const fn lmw(d: u32, offset: i32, a: u32) -> u32 {
    d_form(46, d, a, offset)
}

pub const fn stmw(s: u32, offset: i32, a: u32) -> u32 {
    d_form(47, s, a, offset)
}

pub const fn b(offset: i32) -> u32 {
    18 << 26 | offset as u32 & 0x03FF_FFFC
}

pub const fn bl(offset: i32) -> u32 {
    b(offset) | 1
}

pub const fn bctrl() -> u32 {
    19 << 26 | 20 << 21 | 528 << 1 | 1
}

pub const fn bc(bo: u32, bi: u32, offset: i32) -> u32 {
    16 << 26 | bo << 21 | bi << 16 | offset as u32 & 0xFFFC
}

pub const BLR: u32 = 19 << 26 | 20 << 21 | 16 << 1;
pub const ISYNC: u32 = 19 << 26 | 150 << 1;
pub const SYNC: u32 = x31(0, 0, 0, 598);
pub const RFI: u32 = 19 << 26 | 50 << 1;
pub const SC: u32 = 17 << 26 | 2;
pub const TLBIA: u32 = x31(0, 0, 0, 370);
pub const NOP: u32 = ori(0, 0, 0);

const fn spr_form(register: u32, number: u32, extended: u32) -> u32 {
    31 << 26 | register << 21 | (number & 31) << 16 | (number >> 5) << 11 | extended << 1
}

pub const fn mtspr(number: u32, s: u32) -> u32 {
    spr_form(s, number, 467)
}

pub const fn mfspr(d: u32, number: u32) -> u32 {
    spr_form(d, number, 339)
}

pub const fn mtmsr(s: u32) -> u32 {
    x31(s, 0, 0, 146)
}

pub const fn mfmsr(d: u32) -> u32 {
    x31(d, 0, 0, 83)
}

pub const fn tlbie(b: u32) -> u32 {
    x31(0, 0, b, 306)
}

pub const fn lwarx(d: u32, a: u32, b: u32) -> u32 {
    x31(d, a, b, 20)
}

pub const fn stwcx(s: u32, a: u32, b: u32) -> u32 {
    x31(s, a, b, 150) | 1
}

pub const fn dcbz(a: u32, b: u32) -> u32 {
    x31(0, a, b, 1014)
}

pub const fn dcbst(a: u32, b: u32) -> u32 {
    x31(0, a, b, 54)
}

pub const fn dcbf(a: u32, b: u32) -> u32 {
    x31(0, a, b, 86)
}

pub const fn dcbi(a: u32, b: u32) -> u32 {
    x31(0, a, b, 470)
}

pub const fn icbi(a: u32, b: u32) -> u32 {
    x31(0, a, b, 982)
}

pub const fn tw(to: u32, a: u32, b: u32) -> u32 {
    x31(to, a, b, 4)
}
