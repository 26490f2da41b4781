//! Integer arithmetic, logic, rotates and compares: no memory, no exceptions.
//!
//! Results that the architecture leaves undefined are chosen here, each in one place: a division that cannot be
//! represented leaves the dividend, as QEMU does, so that the comparison with it needs no exception. \[A\]

use crate::cpu::Cpu;
use crate::cpu::decode::Decoded;
use crate::cpu::registers::xer;

/// `slw` and `srw`: counts of 32 to 63 give 0.
#[inline(always)]
pub fn shift(value: u32, count: u32, right: bool) -> u32 {
    match (count & 0x20 != 0, right) {
        (true, _) => 0,
        (false, true) => value >> (count & 31),
        (false, false) => value << (count & 31),
    }
}

/// Whether a trap instruction with the condition bits `to` traps on these operands.
#[inline(always)]
pub fn trap_condition(to: u8, x: u32, y: u32) -> bool {
    let (signed_x, signed_y) = (x as i32, y as i32);
    to & 16 != 0 && signed_x < signed_y
        || to & 8 != 0 && signed_x > signed_y
        || to & 4 != 0 && x == y
        || to & 2 != 0 && x < y
        || to & 1 != 0 && x > y
}
impl Cpu {
    /// Sets XER\[OV\] and its summary.
    #[inline(always)]
    fn set_overflow(&mut self, overflow: bool) {
        if overflow {
            self.xer |= xer::SO | xer::OV;
        } else {
            self.xer &= !xer::OV;
        }
    }

    #[inline(always)]
    fn set_carry(&mut self, carry: bool) {
        if carry {
            self.xer |= xer::CA;
        } else {
            self.xer &= !xer::CA;
        }
    }

    #[inline(always)]
    fn carry(&self) -> u32 {
        u32::from(self.xer & xer::CA != 0)
    }

    /// CR0 from a result compared with 0.
    #[inline(always)]
    pub(in crate::cpu) fn record(&mut self, result: u32) {
        let field = match (result as i32).cmp(&0) {
            std::cmp::Ordering::Less => 8,
            std::cmp::Ordering::Greater => 4,
            std::cmp::Ordering::Equal => 2,
        };
        self.cr = self.cr & 0x0FFF_FFFF | (field | self.xer >> 31) << 28;
    }

    /// Sums that do not touch the carry.
    #[inline(always)]
    pub(in crate::cpu) fn add(&mut self, d: Decoded, x: u32, y: u32, carry_in: u32) {
        let result = x.wrapping_add(y).wrapping_add(carry_in);
        if d.oe() {
            self.set_overflow((x ^ result) & (y ^ result) & 0x8000_0000 != 0);
        }
        if d.rc() {
            self.record(result);
        }
        self.set(d.d, result);
    }

    /// Sums that set the carry.
    #[inline(always)]
    pub(in crate::cpu) fn add_carrying(&mut self, d: Decoded, x: u32, y: u32, carry_in: u32) {
        let wide = u64::from(x) + u64::from(y) + u64::from(carry_in);
        self.set_carry(wide >> 32 != 0);
        let result = wide as u32;
        if d.oe() {
            self.set_overflow((x ^ result) & (y ^ result) & 0x8000_0000 != 0);
        }
        if d.rc() {
            self.record(result);
        }
        self.set(d.d, result);
    }

    /// Sums that take the carry in and set it.
    #[inline(always)]
    pub(in crate::cpu) fn add_extended(&mut self, d: Decoded, x: u32, y: u32) {
        let carry_in = self.carry();
        self.add_carrying(d, x, y, carry_in);
    }

    /// `addic`, `addic.` and `subfic`: immediate sums that set the carry.
    #[inline(always)]
    pub(in crate::cpu) fn add_immediate_carrying(&mut self, d: Decoded, x: u32, carry_in: u32) -> u32 {
        let wide = u64::from(x) + u64::from(d.imm) + u64::from(carry_in);
        self.set_carry(wide >> 32 != 0);
        self.set(d.d, wide as u32);
        wide as u32
    }

    /// `mullw`.
    #[inline(always)]
    pub(in crate::cpu) fn multiply_low(&mut self, d: Decoded) {
        let wide = i64::from(self.get(d.a) as i32) * i64::from(self.get(d.b) as i32);
        let result = wide as u32;
        if d.oe() {
            self.set_overflow(wide != i64::from(result as i32));
        }
        if d.rc() {
            self.record(result);
        }
        self.set(d.d, result);
    }

    /// `divw`.
    #[inline(always)]
    pub(in crate::cpu) fn divide_signed(&mut self, d: Decoded) {
        let (x, y) = (self.get(d.a) as i32, self.get(d.b) as i32);
        let quotient = x.checked_div(y);
        self.finish_division(d, quotient.map(|q| q as u32));
    }

    /// `divwu`.
    #[inline(always)]
    pub(in crate::cpu) fn divide_unsigned(&mut self, d: Decoded) {
        let quotient = self.get(d.a).checked_div(self.get(d.b));
        self.finish_division(d, quotient);
    }

    #[inline(always)]
    fn finish_division(&mut self, d: Decoded, quotient: Option<u32>) {
        let result = quotient.unwrap_or(self.get(d.a));
        if d.oe() {
            self.set_overflow(quotient.is_none());
        }
        if d.rc() {
            self.record(result);
        }
        self.set(d.d, result);
    }

    /// Stores a result in rA and records it if asked: the shape of all logical and rotate instructions.
    #[inline(always)]
    pub(in crate::cpu) fn logical(&mut self, d: Decoded, result: u32) {
        if d.rc() {
            self.record(result);
        }
        self.set(d.a, result);
    }

    /// `sraw` and `srawi`: counts of 32 to 63 leave 32 copies of the sign; the carry says that a negative number lost ones.
    #[inline(always)]
    pub(in crate::cpu) fn shift_arithmetic(&mut self, d: Decoded, count: u32) {
        let value = self.get(d.d);
        let (result, lost) = if count & 0x20 != 0 {
            (((value as i32) >> 31) as u32, value)
        } else {
            (
                ((value as i32) >> (count & 31)) as u32,
                value & ((1 << (count & 31)) - 1),
            )
        };
        self.set_carry((value as i32) < 0 && lost != 0);
        self.logical(d, result);
    }

    /// Writes one field of the condition register.
    #[inline(always)]
    pub(in crate::cpu) fn set_field(&mut self, field: u32, value: u32) {
        let shift = 28 - 4 * field;
        self.cr = self.cr & !(0xF << shift) | value << shift;
    }

    /// Signed compare into the field of the instruction.
    #[inline(always)]
    pub(in crate::cpu) fn compare_signed(&mut self, d: Decoded, x: u32, y: u32) {
        let ordering = (x as i32).cmp(&(y as i32));
        self.compare(d, ordering);
    }

    /// Unsigned compare into the field of the instruction.
    #[inline(always)]
    pub(in crate::cpu) fn compare_unsigned(&mut self, d: Decoded, x: u32, y: u32) {
        self.compare(d, x.cmp(&y));
    }

    #[inline(always)]
    fn compare(&mut self, d: Decoded, ordering: std::cmp::Ordering) {
        let value = match ordering {
            std::cmp::Ordering::Less => 8,
            std::cmp::Ordering::Greater => 4,
            std::cmp::Ordering::Equal => 2,
        };
        let summary = self.xer >> 31;
        self.set_field(u32::from(d.d >> 2), value | summary);
    }

    /// One bit of the condition register, bit 0 the most significant.
    #[inline(always)]
    pub(in crate::cpu) fn cr_bit(&self, bit: u8) -> bool {
        self.cr << (bit & 31) >> 31 != 0
    }

    /// The eight logical instructions on condition register bits.
    #[inline(always)]
    pub(in crate::cpu) fn cr_logical(&mut self, d: Decoded, operation: impl Fn(bool, bool) -> bool) {
        let result = operation(self.cr_bit(d.a), self.cr_bit(d.b));
        let mask = 0x8000_0000 >> (d.d & 31);
        if result {
            self.cr |= mask;
        } else {
            self.cr &= !mask;
        }
    }
}
