//! The caches' control registers and commands.

use super::Cpu;
use super::registers::spr;
use crate::bus::Bus;
use crate::part::Part;

/// Status: the cache is on.
const ENABLED: u32 = 0x8000_0000;
/// Status: forced write-through (data cache).
const WRITE_THROUGH: u32 = 0x4000_0000;
/// Status: little-endian swap (data cache).
const LITTLE_ENDIAN: u32 = 0x2000_0000;
/// Status: no way was left to lock.
const NO_WAY: u32 = 0x0010_0000;

/// One cache.
#[derive(Clone, Debug)]
pub struct CacheUnit {
    status: u32,
    address: u32,
    locked: Vec<u32>,
    sets: u32,
    ways: u32,
}

impl CacheUnit {
    /// Turns the cache on.
    pub fn enable(&mut self) {
        self.status |= ENABLED;
    }

    /// Whether the cache is on.
    pub fn is_enabled(&self) -> bool {
        self.status & ENABLED != 0
    }

    /// Whether every store goes to memory at once.
    pub fn writes_through(&self) -> bool {
        self.status & WRITE_THROUGH != 0
    }
}

/// Both caches.
#[derive(Clone, Debug)]
pub struct Caches {
    /// Instruction cache.
    pub instruction: CacheUnit,
    /// Data cache.
    pub data: CacheUnit,
}

impl Caches {
    /// Caches of this part, off.
    pub fn new(part: &Part) -> Caches {
        let unit = |geometry: crate::part::CacheGeometry| CacheUnit {
            status: 0,
            address: 0,
            locked: Vec::new(),
            sets: geometry.sets,
            ways: geometry.ways,
        };
        Caches {
            instruction: unit(part.icache),
            data: unit(part.dcache),
        }
    }

    /// Hard reset: off.
    pub fn reset(&mut self) {
        self.instruction.status = 0;
        self.data.status = 0;
    }

    /// Reads one of SPR 560 to 570.
    pub fn read_spr(&mut self, number: u32) -> Option<u32> {
        let unit = if number < spr::DC_CST {
            &mut self.instruction
        } else {
            &mut self.data
        };
        Some(match number {
            spr::IC_CST | spr::DC_CST => {
                let status = unit.status;
                unit.status &= ENABLED | WRITE_THROUGH | LITTLE_ENDIAN;
                status
            }
            spr::IC_ADR | spr::DC_ADR => unit.address,
            spr::IC_DAT | spr::DC_DAT => 0,
            _ => return None,
        })
    }
}

impl Cpu {
    /// Writes one of SPR 560 to 570.
    pub(super) fn write_cache_spr<B: Bus>(&mut self, bus: &mut B, number: u32, value: u32) -> Option<()> {
        let _ = bus;
        let is_data = number >= spr::DC_CST;
        let unit = if is_data {
            &mut self.caches.data
        } else {
            &mut self.caches.instruction
        };
        match number {
            spr::IC_ADR | spr::DC_ADR => unit.address = value,
            spr::IC_CST | spr::DC_CST => {
                match value & 0x0F00_0000 {
                    0x0100_0000 if is_data => unit.status |= WRITE_THROUGH,
                    0x0200_0000 => unit.status |= ENABLED,
                    0x0300_0000 if is_data => unit.status &= !WRITE_THROUGH,
                    0x0400_0000 => unit.status &= !ENABLED,
                    0x0500_0000 if is_data => unit.status |= LITTLE_ENDIAN,
                    0x0600_0000 => {
                        let line = unit.address & !15;
                        let set = |line: u32| line >> 4 & (unit.sets - 1);
                        if !unit.locked.contains(&line) {
                            if unit.locked.iter().filter(|&&other| set(other) == set(line)).count() as u32 >= unit.ways
                            {
                                unit.status |= NO_WAY;
                            } else {
                                unit.locked.push(line);
                            }
                        }
                    }
                    0x0700_0000 if is_data => unit.status &= !LITTLE_ENDIAN,
                    0x0800_0000 => {
                        let line = unit.address & !15;
                        unit.locked.retain(|&other| other != line);
                    }
                    0x0A00_0000 => unit.locked.clear(),
                    _ => {}
                }
                if !is_data {
                    self.code.clear();
                }
            }
            spr::IC_DAT | spr::DC_DAT => {}
            _ => return None,
        }
        Some(())
    }
}
