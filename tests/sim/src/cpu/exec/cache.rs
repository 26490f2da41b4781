//! Cache instructions and TLB invalidation.
//!
//! What a DTLB error of a cache instruction leaves in DAR and DSISR is in one place, [`Cpu::translate_for_cache`].

use crate::bus::{Bus, Width};
use crate::cpu::cache::NoLine;
use crate::cpu::decode::Decoded;
use crate::cpu::exception::{Exception, Trap, Vector};
use crate::cpu::memory::kept_from_cache;
use crate::cpu::mmu::Translation;
use crate::cpu::mmu::tlb::Access;
use crate::cpu::observer::Observer;
use crate::cpu::registers::dsisr;
use crate::cpu::{Cpu, Env};
use crate::part::LINE;

impl Cpu {
    /// Translates for a cache instruction. The silicon does not load DAR for these on a DTLB error, and reports
    /// `dcbst` as a store, although it needs no more than a load (the kernel's `head_8xx.S`).
    fn translate_for_cache(
        &mut self,
        access: Access,
        address: u32,
        reported_as_store: bool,
    ) -> Result<Translation, Trap> {
        let keep_dar = self.quirks.cache_instructions_keep_dar;
        self.translate_data(access, address).map_err(|trap| match trap {
            Trap::Exception(exception) if exception.vector == Vector::DataTlbError && keep_dar => {
                let store = if reported_as_store { dsisr::STORE } else { 0 };
                Exception {
                    dar: None,
                    dsisr: exception.dsisr.map(|bits| bits | store),
                    ..exception
                }
                .into()
            }
            other => other,
        })
    }

    /// `dcbst`: memory gets what it does not have.
    pub(super) fn dcbst<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
        d: Decoded,
    ) -> Result<(), Trap> {
        let address = self.ea_indexed(d);
        let translation = self.translate_for_cache(Access::Load, address, true)?;
        if TIMED {
            self.write_back_line(env, d, address, translation.physical)?;
        }
        Ok(())
    }

    /// `dcbf`: the same, and the line is gone.
    pub(super) fn dcbf<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
        d: Decoded,
    ) -> Result<(), Trap> {
        let address = self.ea_indexed(d);
        let translation = self.translate_for_cache(Access::Load, address, false)?;
        if TIMED {
            self.write_back_line(env, d, address, translation.physical)?;
            self.drop_data_line(translation.physical);
        }
        Ok(())
    }

    /// `dcbi`: the line is gone, and with it what memory does not have.
    pub(super) fn dcbi<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        _: &mut Env<'_, B, O>,
        d: Decoded,
    ) -> Result<(), Trap> {
        self.require_supervisor()?;
        let translation = self.translate_for_cache(Access::Store, self.ea_indexed(d), true)?;
        if TIMED {
            self.drop_data_line(translation.physical);
        }
        Ok(())
    }

    fn write_back_line<B: Bus, O: Observer>(
        &mut self,
        env: &mut Env<'_, B, O>,
        d: Decoded,
        address: u32,
        physical: u32,
    ) -> Result<(), Trap> {
        if let Some(index) = self
            .caches
            .data
            .find(physical)
            .filter(|&index| self.caches.data.is_dirty(index))
        {
            self.write_line_timed(env.bus, physical);
            self.copy_back(env.bus, index)
                .map_err(|_| Exception::machine_check_data(d.raw, address))?;
        }
        Ok(())
    }

    fn drop_data_line(&mut self, physical: u32) {
        if let Some(index) = self.caches.data.find(physical) {
            self.caches.data.invalidate(index);
        }
    }

    pub(super) fn dcbz<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
        d: Decoded,
    ) -> Result<(), Trap> {
        let address = self.ea_indexed(d);
        let line = address & !(LINE - 1);
        if O::DATA && !env.observer.data(line, LINE, Access::Store) {
            self.observer_stop = true;
        }
        let page = self.store_page(address);
        let translation = match page {
            Some(page) => Translation {
                physical: page.physical | address & 0xFFF,
                attributes: page.attributes,
            },
            None => kept_from_cache(env.bus, self.translate_for_cache(Access::Store, address, true)?),
        };
        let copy_back = self.caches.data.is_enabled()
            && !self.caches.data.writes_through()
            && !translation.attributes.cache_inhibited
            && !translation.attributes.write_through;
        if self.quirks.dcbz_needs_copy_back && !copy_back {
            return Err(Exception::alignment(d.raw, address).into());
        }
        if page.is_none() {
            self.remember(env.bus, Access::Store, address, translation);
        }
        let physical = translation.physical & !(LINE - 1);
        if TIMED && copy_back {
            match self.zero_line(env, physical) {
                Ok(()) => return Ok(()),
                Err(NoLine::Bus(_)) => return Err(Exception::machine_check_data(d.raw, address).into()),
                Err(NoLine::NoWay) => {}
            }
        } else if let Some(page) = page.filter(|_| !TIMED) {
            let at = page.offset as usize + (line & 0xFFF) as usize;
            env.bus.memory_mut()[at..at + LINE as usize].fill(0);
            return Ok(());
        }
        for word in 0..LINE / 4 {
            self.write_physical::<B, O, TIMED>(env, physical + 4 * word, translation.attributes, Width::Word, 0)
                .map_err(|_| Exception::machine_check_data(d.raw, address))?;
        }
        self.note_data_break(address, true);
        Ok(())
    }

    /// A line of zeroes in the data cache, without a look at memory.
    fn zero_line<B: Bus, O: Observer>(&mut self, env: &mut Env<'_, B, O>, physical: u32) -> Result<(), NoLine> {
        let index = match self.caches.data.find(physical) {
            Some(index) => {
                self.caches.data.touch(index);
                self.store_hit(physical);
                self.spend(self.pipeline.timing().dcbz_hit - 1);
                index
            }
            None => {
                let index = self.claim_data_line(env.bus, physical)?;
                self.spend(self.pipeline.timing().dcbz_miss - 1);
                index
            }
        };
        *self.caches.data.line_mut(index) = [0; LINE as usize];
        self.caches.data.set_dirty(index);
        Ok(())
    }

    pub(super) fn icbi<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
        d: Decoded,
    ) -> Result<(), Trap> {
        let translation = self.translate_for_cache(Access::Load, self.ea_indexed(d), false)?;
        if let Some(direct) = env.bus.direct(translation.physical) {
            self.code
                .forget_line(direct.offset + (translation.physical & 0xFF0) as usize);
        }
        if TIMED && let Some(index) = self.caches.instruction.find(translation.physical) {
            self.caches.instruction.invalidate(index);
            self.code.close_window();
        }
        Ok(())
    }

    pub(super) fn tlbie(&mut self, d: Decoded) -> Result<(), Trap> {
        self.require_supervisor()?;
        self.mmu.invalidate_entry(self.get(d.b));
        self.data_pages.clear();
        self.fetch_pages.clear();
        self.code.close_window();
        Ok(())
    }

    pub(super) fn tlbia(&mut self) -> Result<(), Trap> {
        self.require_supervisor()?;
        self.mmu.invalidate_all();
        self.data_pages.clear();
        self.fetch_pages.clear();
        self.code.close_window();
        Ok(())
    }
}
