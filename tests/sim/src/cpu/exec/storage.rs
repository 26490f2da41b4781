//! Loads and stores of every kind.
//!
//! Instructions of many steps ask the MMU for their whole range first (MPC823 User's Manual 6.2: all exceptions caused
//! by instructions are precise), gather what they load, and write registers at the end.

use crate::bus::{Bus, Width};
use crate::cpu::decode::Decoded;
use crate::cpu::exception::{Exception, Trap};
use crate::cpu::mmu::tlb::Access;
use crate::cpu::observer::Observer;
use crate::cpu::{Cpu, Env};

/// Sign extension of `lha` and its kin.
pub fn extend(value: u32) -> u32 {
    value as i16 as u32
}

/// Byte reversal of a halfword.
pub fn swap_half(value: u32) -> u32 {
    u32::from((value as u16).swap_bytes())
}

impl Cpu {
    #[inline(always)]
    pub(super) fn exec_load<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
        d: Decoded,
        address: u32,
        width: Width,
        convert: impl Fn(u32) -> u32,
    ) -> Result<(), Trap> {
        let value = self.read_data::<B, O, TIMED>(env, d.raw, address, width)?;
        self.set(d.d, convert(value));
        Ok(())
    }

    #[inline(always)]
    pub(super) fn exec_load_update<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
        d: Decoded,
        address: u32,
        width: Width,
        convert: impl Fn(u32) -> u32,
    ) -> Result<(), Trap> {
        self.exec_load::<B, O, TIMED>(env, d, address, width, convert)?;
        self.set(d.a, address);
        Ok(())
    }

    #[inline(always)]
    pub(super) fn exec_store<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
        d: Decoded,
        address: u32,
        width: Width,
        convert: impl Fn(u32) -> u32,
    ) -> Result<(), Trap> {
        let value = convert(self.get(d.d));
        self.write_data::<B, O, TIMED>(env, d.raw, address, width, value)
    }

    #[inline(always)]
    pub(super) fn exec_store_update<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
        d: Decoded,
        address: u32,
        width: Width,
    ) -> Result<(), Trap> {
        self.exec_store::<B, O, TIMED>(env, d, address, width, |v| v)?;
        self.set(d.a, address);
        Ok(())
    }

    /// `lmw`: a string of whole words that ends with r31.
    pub(super) fn exec_load_multiple<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
        d: Decoded,
    ) -> Result<(), Trap> {
        let address = self.ea_immediate(d);
        self.require_aligned(d, address)?;
        self.exec_load_string::<B, O, TIMED>(env, d, address, 4 * (32 - u32::from(d.d)))
    }

    /// `stmw`, likewise.
    pub(super) fn exec_store_multiple<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
        d: Decoded,
    ) -> Result<(), Trap> {
        let address = self.ea_immediate(d);
        self.require_aligned(d, address)?;
        self.exec_store_string::<B, O, TIMED>(env, d, address, 4 * (32 - u32::from(d.d)))
    }

    /// `lswi` and `lswx`: registers fill from the left, wrap from r31 to r0, and the last is padded with zero bytes.
    pub(super) fn exec_load_string<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
        d: Decoded,
        address: u32,
        bytes: u32,
    ) -> Result<(), Trap> {
        if bytes == 0 {
            return Ok(());
        }
        self.probe_range(Access::Load, address, bytes)?;
        let mut values = [0; 32];
        for word in 0..bytes / 4 {
            let at = address.wrapping_add(4 * word);
            values[word as usize] = self.read_data::<B, O, TIMED>(env, d.raw, at, Width::Word)?;
            if TIMED {
                self.next_access_timed();
            }
        }
        for byte in bytes & !3..bytes {
            let value = self.read_data::<B, O, TIMED>(env, d.raw, address.wrapping_add(byte), Width::Byte)?;
            values[(byte / 4) as usize] |= value << (24 - 8 * (byte & 3));
            if TIMED {
                self.next_access_timed();
            }
        }
        for word in 0..bytes.div_ceil(4) {
            self.set(d.d.wrapping_add(word as u8) & 31, values[word as usize]);
        }
        Ok(())
    }

    /// `stswi` and `stswx`.
    pub(super) fn exec_store_string<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
        d: Decoded,
        address: u32,
        bytes: u32,
    ) -> Result<(), Trap> {
        if bytes == 0 {
            return Ok(());
        }
        self.probe_range(Access::Store, address, bytes)?;
        let register = |cpu: &Cpu, word: u32| cpu.get(d.d.wrapping_add(word as u8) & 31);
        for word in 0..bytes / 4 {
            let value = register(self, word);
            let at = address.wrapping_add(4 * word);
            self.write_data::<B, O, TIMED>(env, d.raw, at, Width::Word, value)?;
            if TIMED {
                self.next_access_timed();
            }
        }
        for byte in bytes & !3..bytes {
            let value = register(self, byte / 4) >> (24 - 8 * (byte & 3)) & 0xFF;
            self.write_data::<B, O, TIMED>(env, d.raw, address.wrapping_add(byte), Width::Byte, value)?;
            if TIMED {
                self.next_access_timed();
            }
        }
        Ok(())
    }

    /// `lwarx`: the reservation is one bit on the chip, without an address \[R\].
    pub(super) fn exec_load_reserve<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
        d: Decoded,
    ) -> Result<(), Trap> {
        let address = self.ea_indexed(d);
        self.require_aligned(d, address)?;
        self.exec_load::<B, O, TIMED>(env, d, address, Width::Word, |v| v)?;
        self.reservation = true;
        Ok(())
    }

    /// `stwcx.`: without a reservation nothing is stored and nothing is translated.
    pub(super) fn exec_store_conditional<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
        d: Decoded,
    ) -> Result<(), Trap> {
        let address = self.ea_indexed(d);
        self.require_aligned(d, address)?;
        let stored = self.reservation;
        if stored {
            self.exec_store::<B, O, TIMED>(env, d, address, Width::Word, |v| v)?;
        }
        self.reservation = false;
        let summary = self.xer >> 31;
        self.set_field(0, u32::from(stored) << 1 | summary);
        Ok(())
    }

    /// The operand of this instruction must be aligned to a word (MPC801 User's Manual 7.3.7.3.5).
    fn require_aligned(&self, d: Decoded, address: u32) -> Result<(), Trap> {
        if address & 3 != 0 {
            return Err(Exception::alignment(d.raw, address).into());
        }
        Ok(())
    }
}
