//! The caches: lines, ways, locks, and the registers that command them.
//!
//! Both caches hold real content, the data cache bytes and the instruction cache decoded instructions, and memory is
//! what the bus holds. So whoever looks at memory from another side (the CPM, an uncached alias, the instruction
//! fetch) sees what it would see on the hardware: nothing of a dirty line, and nothing new in a line that was cached
//! before. Without the cycle model the data cache is transparent and the instruction cache has no limit (see
//! [`fetch`](super::fetch)); the commands then still act on locks, so that software that counts lines by locking them
//! finds the right number.
//!
//! Lines are 16 bytes, physically tagged, least recently used first out, locked lines never (MPC860 User's Manual
//! chapter 8, MPC823e Reference Manual chapters 9 and 10). After power-on the content is random, and only
//! "unlock all, invalidate all" makes it usable (MPC801 User's Manual 10.5.1).

use super::decode::Decoded;
use super::registers::spr;
use super::{Cpu, Env};
use crate::bus::{Bus, BusError, Width};
use crate::cpu::mmu::tlb::Access;
use crate::cpu::observer::Observer;
use crate::part::{CacheGeometry, LINE, Part};

/// Status: the cache is on.
const ENABLED: u32 = 0x8000_0000;
/// Status: forced write-through (data cache).
const WRITE_THROUGH: u32 = 0x4000_0000;
/// Status: little-endian swap (data cache).
const LITTLE_ENDIAN: u32 = 0x2000_0000;
/// Status: bus error of a load-and-lock or of a copy-back.
const BUS_ERROR: u32 = 0x0020_0000;
/// Status: no way was left to lock.
const NO_WAY: u32 = 0x0010_0000;
/// Status bits that reading clears.
const ERRORS: u32 = 0x0038_0000;

/// The command field of IC_CST and DC_CST.
const COMMAND: u32 = 0x0F00_0000;

/// Tag: the line is valid. The address of the line is in the upper bits.
const VALID: u32 = 1;
/// Tag: memory does not have the content.
const DIRTY: u32 = 2;
/// Tag: the line must not be replaced.
const LOCKED: u32 = 4;

/// The most ways that any part has.
const MAX_WAYS: usize = 4;

/// One cache with lines of content `T`.
#[derive(Clone, Debug)]
pub struct Cache<T> {
    sets: u32,
    ways: u32,
    /// Logarithm of the number of ways.
    way_bits: u32,
    tags: Vec<u32>,
    /// Ways of each set, most recently used first.
    order: Vec<[u8; MAX_WAYS]>,
    lines: Vec<T>,
    status: u32,
    address: u32,
}

impl<T: Copy> Cache<T> {
    fn new(geometry: CacheGeometry, empty: T) -> Cache<T> {
        let lines = (geometry.sets * geometry.ways) as usize;
        // Power-on leaves garbage: addresses and states from a mixing of the index, the same in every run.
        let garbage = |index: usize| {
            let mixed = (index as u32 + 1).wrapping_mul(0x9E37_79B1);
            let set = index as u32 / geometry.ways;
            mixed & !(geometry.sets * LINE - 1) & 0x0FFF_FFF0 | (set * LINE) | mixed >> 28 & (VALID | LOCKED)
        };
        Cache {
            sets: geometry.sets,
            ways: geometry.ways,
            way_bits: geometry.ways.trailing_zeros(),
            tags: (0..lines).map(garbage).collect(),
            order: vec![[0, 1, 2, 3]; geometry.sets as usize],
            lines: vec![empty; lines],
            status: 0,
            address: 0,
        }
    }

    /// Turns the cache on.
    pub fn enable(&mut self) {
        self.status |= ENABLED;
    }

    /// Whether the cache is on.
    #[inline(always)]
    pub fn is_enabled(&self) -> bool {
        self.status & ENABLED != 0
    }

    /// Whether every store goes to memory at once.
    #[inline(always)]
    pub fn writes_through(&self) -> bool {
        self.status & WRITE_THROUGH != 0
    }

    fn set_of(&self, physical: u32) -> u32 {
        (physical / LINE) & (self.sets - 1)
    }

    /// Index of the line that holds `physical`; does not count as a use.
    pub fn find(&self, physical: u32) -> Option<usize> {
        let wanted = physical & !(LINE - 1) | VALID;
        let first = (self.set_of(physical) << self.way_bits) as usize;
        let tags = &self.tags[first..first + self.ways as usize];
        let way = tags.iter().position(|&tag| tag & !(DIRTY | LOCKED) == wanted)?;
        Some(first + way)
    }

    /// Index of the line that holds `physical`, which counts as a use. Most accesses go to the line of their set that
    /// was used last, so that is looked at first.
    #[inline(always)]
    pub fn lookup(&mut self, physical: u32) -> Option<usize> {
        let set = self.set_of(physical);
        let last = (set << self.way_bits) as usize + usize::from(self.order[set as usize][0]);
        if self.tags[last] & !(DIRTY | LOCKED) == physical & !(LINE - 1) | VALID {
            return Some(last);
        }
        let index = self.find(physical)?;
        self.touch(index);
        Some(index)
    }

    /// Counts a use of the line at `index`.
    pub fn touch(&mut self, index: usize) {
        let (set, way) = (index >> self.way_bits, index as u8 & (self.ways - 1) as u8);
        let order = &mut self.order[set];
        if order[0] != way {
            let at = order.iter().position(|&other| other == way).unwrap_or(0);
            order.copy_within(0..at, 1);
            order[0] = way;
        }
    }

    /// The line to replace for `physical`: an invalid one, else the least recently used that is not locked.
    fn victim(&self, physical: u32) -> Option<usize> {
        let set = self.set_of(physical) as usize;
        let first = set * self.ways as usize;
        let ways = &self.order[set][..self.ways as usize];
        let index = |way: &u8| first + usize::from(*way);
        let unlocked = || {
            ways.iter()
                .rev()
                .map(index)
                .filter(|&index| self.tags[index] & LOCKED == 0)
        };
        unlocked()
            .find(|&index| self.tags[index] & VALID == 0)
            .or_else(|| unlocked().next())
    }

    /// Content of the line at `index`.
    #[inline(always)]
    pub fn line(&self, index: usize) -> &T {
        &self.lines[index]
    }

    /// Content of the line at `index`, for a store.
    #[inline(always)]
    pub fn line_mut(&mut self, index: usize) -> &mut T {
        &mut self.lines[index]
    }

    /// Marks the line at `index` as newer than memory.
    #[inline(always)]
    pub fn set_dirty(&mut self, index: usize) {
        self.tags[index] |= DIRTY;
    }

    /// Puts content for `physical` into the line at `index`.
    fn install(&mut self, index: usize, physical: u32, content: T) {
        self.tags[index] = physical & !(LINE - 1) | VALID | self.tags[index] & LOCKED;
        self.lines[index] = content;
        self.touch(index);
    }

    /// Makes the line at `index` invalid and unlocked, whatever it holds.
    pub fn invalidate(&mut self, index: usize) {
        self.tags[index] = 0;
    }

    /// Whether memory does not have the content of the line at `index`.
    pub fn is_dirty(&self, index: usize) -> bool {
        self.dirty_address(index).is_some()
    }

    /// Address of the line at `index` if memory does not have its content.
    fn dirty_address(&self, index: usize) -> Option<u32> {
        (self.tags[index] & (VALID | DIRTY) == VALID | DIRTY).then_some(self.tags[index] & !(LINE - 1))
    }

    /// Index of every line that memory does not have.
    fn dirty_lines(&self) -> Vec<usize> {
        (0..self.tags.len())
            .filter(|&index| self.dirty_address(index).is_some())
            .collect()
    }

    fn unlock_all(&mut self) {
        self.tags.iter_mut().for_each(|tag| *tag &= !LOCKED);
    }

    /// Locked lines survive \[R\].
    fn invalidate_all(&mut self) {
        self.tags
            .iter_mut()
            .filter(|tag| **tag & LOCKED == 0)
            .for_each(|tag| *tag = 0);
    }

    /// The line that xC_ADR selects by set and way.
    fn selected(&self) -> usize {
        let way = self.address >> 12 & (self.ways - 1);
        (self.set_of(self.address) * self.ways + way) as usize
    }

    /// The tag of the selected line as xC_DAT shows it: valid in bit 22, locked in 23, the order of the set from bit
    /// 24 on, modified in bit 25 of a two-way data cache (MPC860 User's Manual Table 8-10 and its 860P supplement).
    fn read_tag(&self) -> u32 {
        let tag = self.tags[self.selected()];
        let oldest = self.order[self.set_of(self.address) as usize][self.ways as usize - 1];
        let flag = |bit: u32, mask: u32| u32::from(tag & bit != 0) * mask;
        tag & !(self.sets * LINE - 1)
            | flag(VALID, 0x200)
            | flag(LOCKED, 0x100)
            | u32::from(oldest & 1) << 7
            | flag(DIRTY, 0x40)
    }
}

/// Both caches.
#[derive(Clone, Debug)]
pub struct Caches {
    /// Instruction cache: a line is four decoded instructions.
    pub instruction: Cache<[Decoded; 4]>,
    /// Data cache.
    pub data: Cache<[u8; LINE as usize]>,
}

impl Caches {
    /// Caches of this part as after power-on: off, with random content.
    pub fn new(part: &Part) -> Caches {
        Caches {
            instruction: Cache::new(part.icache, [Decoded::UNFILLED; 4]),
            data: Cache::new(part.dcache, [0xDB; LINE as usize]),
        }
    }

    /// Hard reset: off, content and tags as they were.
    pub fn reset(&mut self) {
        self.instruction.status = 0;
        self.data.status = 0;
    }

    /// Unlocks and invalidates everything, as start-up code does.
    pub fn invalidate_all(&mut self) {
        self.instruction.unlock_all();
        self.instruction.invalidate_all();
        self.data.unlock_all();
        self.data.invalidate_all();
    }

    /// Drops the instruction lines that are not locked: memory was changed from outside.
    pub fn forget_instructions(&mut self) {
        self.instruction.invalidate_all();
    }

    /// Reads one of SPR 560 to 570; reading a status clears its errors.
    pub fn read_spr(&mut self, number: u32) -> Option<u32> {
        let take = |status: &mut u32| std::mem::replace(status, *status & !ERRORS);
        Some(match number {
            spr::IC_CST => take(&mut self.instruction.status),
            spr::IC_ADR => self.instruction.address,
            spr::IC_DAT if self.instruction.address & 0x4000 != 0 => {
                let word = self.instruction.address >> 2 & 3;
                self.instruction.lines[self.instruction.selected()][word as usize].raw
            }
            spr::IC_DAT => self.instruction.read_tag(),
            spr::DC_CST => take(&mut self.data.status),
            spr::DC_ADR => self.data.address,
            spr::DC_DAT => self.data.read_tag(),
            _ => return None,
        })
    }
}

impl Cpu {
    /// Writes one of SPR 560 to 570.
    pub(super) fn write_cache_spr<B: Bus>(&mut self, bus: &mut B, number: u32, value: u32) -> Option<()> {
        match number {
            spr::IC_ADR => self.caches.instruction.address = value,
            spr::DC_ADR => self.caches.data.address = value,
            spr::IC_CST => self.instruction_cache_command(bus, value & COMMAND),
            spr::DC_CST => self.data_cache_command(bus, value & COMMAND),
            spr::IC_DAT | spr::DC_DAT => {}
            _ => return None,
        }
        Some(())
    }

    fn instruction_cache_command<B: Bus>(&mut self, bus: &mut B, command: u32) {
        let cache = &mut self.caches.instruction;
        match command {
            0x0200_0000 => cache.status |= ENABLED,
            0x0400_0000 => cache.status &= !ENABLED,
            0x0600_0000 => {
                let address = cache.address;
                let index = match self.caches.instruction.find(address) {
                    Some(index) => Ok(index),
                    None => self.fill_instruction_line(bus, address),
                };
                let cache = &mut self.caches.instruction;
                match index {
                    Ok(index) => cache.tags[index] |= LOCKED,
                    Err(NoLine::NoWay) => cache.status |= NO_WAY,
                    Err(NoLine::Bus(_)) => cache.status |= BUS_ERROR,
                }
            }
            0x0800_0000 => {
                if let Some(index) = cache.find(cache.address) {
                    cache.tags[index] &= !LOCKED;
                }
            }
            0x0A00_0000 => cache.unlock_all(),
            0x0C00_0000 => {
                cache.invalidate_all();
                self.code.clear();
            }
            _ => {}
        }
        self.code.close_window();
    }

    fn data_cache_command<B: Bus>(&mut self, bus: &mut B, command: u32) {
        let cache = &mut self.caches.data;
        match command {
            0x0100_0000 => cache.status |= WRITE_THROUGH,
            0x0200_0000 => cache.status |= ENABLED,
            0x0300_0000 => cache.status &= !WRITE_THROUGH,
            0x0400_0000 => cache.status &= !ENABLED,
            0x0500_0000 => cache.status |= LITTLE_ENDIAN,
            0x0600_0000 => {
                let address = cache.address;
                let index = match self.caches.data.find(address) {
                    Some(index) => Ok(index),
                    None => self.fill_data_line(bus, address, Access::Load),
                };
                let cache = &mut self.caches.data;
                match index {
                    Ok(index) => cache.tags[index] |= LOCKED,
                    Err(NoLine::NoWay) => cache.status |= NO_WAY,
                    Err(NoLine::Bus(_)) => cache.status |= BUS_ERROR,
                }
            }
            0x0700_0000 => cache.status &= !LITTLE_ENDIAN,
            0x0800_0000 => {
                if let Some(index) = cache.find(cache.address) {
                    cache.tags[index] &= !LOCKED;
                }
            }
            0x0A00_0000 => cache.unlock_all(),
            0x0C00_0000 => cache.invalidate_all(),
            0x0E00_0000 => {
                let index = cache.selected();
                if self.copy_back(bus, index).is_err() {
                    self.caches.data.status |= BUS_ERROR;
                }
                self.caches.data.invalidate(index);
            }
            _ => {}
        }
    }

    /// Fetches the line of `physical` into the instruction cache.
    pub(super) fn fill_instruction_line<B: Bus>(&mut self, bus: &mut B, physical: u32) -> Result<usize, NoLine> {
        let index = self.caches.instruction.victim(physical).ok_or(NoLine::NoWay)?;
        let bytes = read_line(bus, physical, self.now).map_err(NoLine::Bus)?;
        self.follow_map(bus);
        let words: [Decoded; 4] = std::array::from_fn(|word| {
            let at = 4 * word;
            super::decode::decode(u32::from_be_bytes([
                bytes[at],
                bytes[at + 1],
                bytes[at + 2],
                bytes[at + 3],
            ]))
        });
        self.caches.instruction.install(index, physical, words);
        Ok(index)
    }

    /// Fetches the line of `physical` into the data cache; a dirty victim goes to memory first.
    pub(super) fn fill_data_line<B: Bus>(
        &mut self,
        bus: &mut B,
        physical: u32,
        access: Access,
    ) -> Result<usize, NoLine> {
        let index = self.caches.data.victim(physical).ok_or(NoLine::NoWay)?;
        let bytes = read_line(bus, physical, self.now).map_err(NoLine::Bus)?;
        let victim = self.caches.data.dirty_address(index);
        if self.copy_back(bus, index).is_err() {
            self.caches.data.status |= BUS_ERROR;
        }
        if self.timed {
            self.fill_line_timed(bus, physical, access, victim);
        }
        self.caches.data.install(index, physical, bytes);
        Ok(index)
    }

    /// Makes the line of `physical` one of the data cache without reading it, for `dcbz`.
    pub(super) fn claim_data_line<B: Bus>(&mut self, bus: &mut B, physical: u32) -> Result<usize, NoLine> {
        let index = self.caches.data.victim(physical).ok_or(NoLine::NoWay)?;
        if let Some(victim) = self.caches.data.dirty_address(index) {
            if self.copy_back(bus, index).is_err() {
                self.caches.data.status |= BUS_ERROR;
            }
            self.write_line_timed(bus, victim);
        }
        self.caches.data.install(index, physical, [0; LINE as usize]);
        Ok(index)
    }

    /// Writes the line at `index` to memory if memory does not have it; it stays valid.
    pub(super) fn copy_back<B: Bus>(&mut self, bus: &mut B, index: usize) -> Result<(), BusError> {
        let Some(address) = self.caches.data.dirty_address(index) else {
            return Ok(());
        };
        let bytes = self.caches.data.lines[index];
        self.caches.data.tags[index] &= !DIRTY;
        write_line(bus, address, &bytes, self.now)?;
        self.follow_map(bus);
        Ok(())
    }

    /// Writes everything back that memory does not have and forgets the rest: before the data cache becomes
    /// transparent, or for whoever wants to see memory as the program does.
    pub fn flush_data_cache<B: Bus>(&mut self, bus: &mut B) {
        for index in self.caches.data.dirty_lines() {
            // A line that nothing takes is lost, as it would be on the hardware.
            let _ = self.copy_back(bus, index);
        }
        self.caches.data.invalidate_all();
    }

    /// The instruction line of `physical`, fetched if need be.
    pub(super) fn instruction_line<B: Bus, O: Observer>(
        &mut self,
        env: &mut Env<'_, B, O>,
        physical: u32,
    ) -> Result<usize, NoLine> {
        if let Some(index) = self.caches.instruction.lookup(physical) {
            return Ok(index);
        }
        let index = self.fill_instruction_line(env.bus, physical)?;
        self.fetch_line_timed(env.bus, physical);
        env.observer.cache_miss(self.pc, Access::Fetch);
        Ok(index)
    }

    /// The data line of `physical`, fetched if need be.
    pub(super) fn data_line<B: Bus, O: Observer>(
        &mut self,
        env: &mut Env<'_, B, O>,
        physical: u32,
        access: Access,
    ) -> Result<usize, NoLine> {
        let index = self.fill_data_line(env.bus, physical, access)?;
        env.observer.cache_miss(self.pc, access);
        Ok(index)
    }
}

/// Why a line could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoLine {
    /// Every way of the set is locked.
    NoWay,
    /// The bus did not deliver it.
    Bus(BusError),
}

fn read_line<B: Bus>(bus: &mut B, physical: u32, now: u64) -> Result<[u8; LINE as usize], BusError> {
    let address = physical & !(LINE - 1);
    let mut bytes = [0; LINE as usize];
    if let Some(direct) = bus.direct(address) {
        let at = direct.offset + (address & 0xFFF) as usize;
        bytes.copy_from_slice(&bus.memory()[at..at + LINE as usize]);
        return Ok(bytes);
    }
    // The critical word first, so that a fault on another word of the line does not hide one on this.
    for step in 0..4 {
        let word = (physical >> 2).wrapping_add(step) & 3;
        let value = bus.read(address + 4 * word, Width::Word, now)?;
        bytes[4 * word as usize..][..4].copy_from_slice(&value.to_be_bytes());
    }
    Ok(bytes)
}

fn write_line<B: Bus>(bus: &mut B, address: u32, bytes: &[u8; LINE as usize], now: u64) -> Result<(), BusError> {
    if let Some(direct) = bus.direct(address).filter(|direct| direct.writable) {
        let at = direct.offset + (address & 0xFFF) as usize;
        bus.memory_mut()[at..at + LINE as usize].copy_from_slice(bytes);
        return Ok(());
    }
    for (word, bytes) in bytes.chunks_exact(4).enumerate() {
        let value = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        bus.write(address + 4 * word as u32, Width::Word, value, now)?;
    }
    Ok(())
}
