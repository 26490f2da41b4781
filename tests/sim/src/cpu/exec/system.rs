//! MSR and SPR moves, `rfi`: what the supervisor does.

use crate::bus::{Bus, BusSpr};
use crate::cpu::Cpu;
use crate::cpu::decode::Decoded;
use crate::cpu::exception::{Exception, Trap};
use crate::cpu::mmu::Changed;
use crate::cpu::registers::{msr, spr, srr1, xer};

impl Cpu {
    /// Privileged instructions raise a program exception in user state.
    pub(super) fn require_supervisor(&self) -> Result<(), Trap> {
        if self.problem_state() {
            return Err(Exception::program(srr1::PRIVILEGED).into());
        }
        Ok(())
    }

    /// Takes PC from SRR0 and the low half of MSR from SRR1; the upper half of SRR1 belongs to the exception, except
    /// that ILE stays and POW ends.
    pub(super) fn rfi(&mut self) -> Result<(), Trap> {
        self.require_supervisor()?;
        self.next_pc = self.srr0 & !3;
        self.returned = true;
        self.write_msr(self.msr & msr::ILE | self.srr1 & msr::RESTORED);
        Ok(())
    }

    pub(super) fn mfmsr(&mut self, d: Decoded) -> Result<(), Trap> {
        self.require_supervisor()?;
        self.set(d.d, self.msr);
        Ok(())
    }

    pub(super) fn mtmsr(&mut self, d: Decoded) -> Result<(), Trap> {
        self.require_supervisor()?;
        self.write_msr(self.get(d.d));
        Ok(())
    }

    /// In user state a number with bit 4 set is privileged whether it exists or not; any other unknown number goes to
    /// software emulation.
    fn check_spr(&self, number: u32) -> Result<(), Trap> {
        if number & 0x10 != 0 {
            self.require_supervisor()
        } else {
            Ok(())
        }
    }

    pub(super) fn mftb<B: Bus>(&mut self, bus: &mut B, d: Decoded) -> Result<(), Trap> {
        let register = match d.imm {
            spr::TBL_READ => BusSpr::Tbl,
            spr::TBU_READ => BusSpr::Tbu,
            _ => return Err(Exception::software_emulation().into()),
        };
        let value = bus.spr_read(register, self.now);
        self.set(d.d, value);
        Ok(())
    }

    pub(super) fn mfspr<B: Bus>(&mut self, bus: &mut B, d: Decoded) -> Result<(), Trap> {
        self.check_spr(d.imm)?;
        let value = self.read_spr(bus, d.imm).ok_or_else(Exception::software_emulation)?;
        self.set(d.d, value);
        Ok(())
    }

    pub(super) fn mtspr<B: Bus>(&mut self, bus: &mut B, d: Decoded) -> Result<(), Trap> {
        self.check_spr(d.imm)?;
        let value = self.get(d.d);
        self.write_spr(bus, d.imm, value)
            .ok_or_else(Exception::software_emulation)?;
        Ok(())
    }

    /// Reads a special-purpose register with the side effects that the read has; `None` if there is none to read.
    pub fn read_spr<B: Bus>(&mut self, bus: &mut B, number: u32) -> Option<u32> {
        Some(match number {
            spr::XER => self.xer,
            spr::LR => self.lr,
            spr::CTR => self.ctr,
            spr::DSISR => self.dsisr,
            spr::DAR => self.dar,
            spr::SRR0 => self.srr0,
            spr::SRR1 => self.srr1,
            spr::SPRG0..=spr::SPRG3 => self.sprg[(number - spr::SPRG0) as usize],
            spr::PVR => self.part.pvr,
            spr::DEC => bus.spr_read(BusSpr::Dec, self.now),
            spr::TBL_READ => bus.spr_read(BusSpr::Tbl, self.now),
            spr::TBU_READ => bus.spr_read(BusSpr::Tbu, self.now),
            spr::IMMR => bus.spr_read(BusSpr::Immr, self.now),
            spr::CMPA..=spr::BAR | spr::DPDR => return self.debug.read(number),
            spr::IC_CST..=spr::DC_DAT => return self.caches.read_spr(number),
            _ => return self.mmu.read(number),
        })
    }

    /// Writes a special-purpose register with everything that follows from it; `None` if there is none to write.
    pub fn write_spr<B: Bus>(&mut self, bus: &mut B, number: u32, value: u32) -> Option<()> {
        match number {
            spr::XER => self.xer = value & xer::IMPLEMENTED,
            spr::LR => self.lr = value,
            spr::CTR => self.ctr = value,
            spr::DSISR => self.dsisr = value,
            spr::DAR => self.dar = value,
            spr::SRR0 => self.srr0 = value,
            spr::SRR1 => self.srr1 = value,
            spr::SPRG0..=spr::SPRG3 => self.sprg[(number - spr::SPRG0) as usize] = value,
            spr::EIE => self.write_msr(self.msr | msr::EE | msr::RI),
            spr::EID => self.write_msr(self.msr & !msr::EE | msr::RI),
            spr::NRI => self.write_msr(self.msr & !(msr::EE | msr::RI)),
            spr::DEC => self.write_bus_spr(bus, BusSpr::Dec, value),
            spr::TBL_WRITE => self.write_bus_spr(bus, BusSpr::Tbl, value),
            spr::TBU_WRITE => self.write_bus_spr(bus, BusSpr::Tbu, value),
            spr::IMMR => self.write_bus_spr(bus, BusSpr::Immr, value),
            spr::CMPA..=spr::BAR | spr::DPDR => {
                self.debug.write(number, value)?;
                self.data_pages.clear();
                self.deadline = 0;
            }
            spr::IC_CST..=spr::DC_DAT => self.write_cache_spr(bus, number, value)?,
            _ => match self.mmu.write(number, value)? {
                Changed::Nothing => {}
                Changed::Context => self.select_contexts(),
                Changed::Entries(pages) => {
                    for (base, size) in pages {
                        if number == spr::MI_RPN {
                            self.fetch_pages.forget(base, size);
                        } else {
                            self.data_pages.forget(base, size);
                        }
                    }
                    self.code.close_window();
                }
            },
        }
        Some(())
    }

    fn write_bus_spr<B: Bus>(&mut self, bus: &mut B, register: BusSpr, value: u32) {
        bus.spr_write(register, value, self.now);
        self.after_device(bus);
    }
}
