//! Cache instructions and TLB invalidation.
//!
//! What a DTLB error of a cache instruction leaves in DAR and DSISR is in one place, [`Cpu::translate_for_cache`].

use crate::bus::{Bus, Width};
use crate::cpu::decode::Decoded;
use crate::cpu::exception::{Exception, Trap, Vector};
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

    pub(super) fn dcbst<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
        d: Decoded,
    ) -> Result<(), Trap> {
        let _ = env;
        self.translate_for_cache(Access::Load, self.ea_indexed(d), true)?;
        Ok(())
    }

    pub(super) fn dcbf<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
        d: Decoded,
    ) -> Result<(), Trap> {
        let _ = env;
        self.translate_for_cache(Access::Load, self.ea_indexed(d), false)?;
        Ok(())
    }

    pub(super) fn dcbi<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
        d: Decoded,
    ) -> Result<(), Trap> {
        let _ = env;
        self.require_supervisor()?;
        self.translate_for_cache(Access::Store, self.ea_indexed(d), true)?;
        Ok(())
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
        let translation = self.translate_for_cache(Access::Store, address, true)?;
        let copy_back = self.caches.data.is_enabled()
            && !self.caches.data.writes_through()
            && !translation.attributes.cache_inhibited
            && !translation.attributes.write_through
            && env.bus.cacheable(translation.physical);
        if self.quirks.dcbz_needs_copy_back && !copy_back {
            return Err(Exception::alignment(d.raw, address).into());
        }
        let physical = translation.physical & !(LINE - 1);
        for word in 0..LINE / 4 {
            self.write_physical(env, physical + 4 * word, translation.attributes, Width::Word, 0)
                .map_err(|_| Exception::machine_check_data(d.raw, address))?;
        }
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
