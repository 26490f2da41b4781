//! A data access, from the effective address to the bus.
//!
//! The fast way goes through the remembered pages ([`PageCache`](super::mmu::page_cache::PageCache)) straight into the
//! memory of the bus or, with the cycle model, into the data cache. Everything else (a miss, an operand that is not
//! aligned, a device) takes the slow way, which first translates all pages of the operand and only then moves data, so
//! that an exception leaves no trace.

use super::cache::NoLine;
use super::exception::{Exception, Resume, Trap, Vector};
use super::mmu::page_cache::Page;
use super::mmu::tlb::{Access, PageSize};
use super::mmu::{Attributes, Refusal, Translation};
use super::observer::Observer;
use super::registers::{dsisr, msr};
use super::{Cpu, Env};
use crate::bus::{Bus, BusError, Width};
use crate::part::LINE;

/// Kinds of remembered pages on the data side.
const LOAD: usize = 0;
const STORE: usize = 1;

/// Reads a big-endian value of this width.
#[inline(always)]
fn get(memory: &[u8], at: usize, width: Width) -> u32 {
    match width {
        Width::Byte => u32::from(memory[at]),
        Width::Half => {
            let bytes = &memory[at..at + 2];
            u32::from(u16::from_be_bytes([bytes[0], bytes[1]]))
        }
        Width::Word => {
            let bytes = &memory[at..at + 4];
            u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
        }
    }
}

/// Writes a big-endian value of this width.
#[inline(always)]
fn put(memory: &mut [u8], at: usize, width: Width, value: u32) {
    match width {
        Width::Byte => memory[at] = value as u8,
        Width::Half => memory[at..at + 2].copy_from_slice(&(value as u16).to_be_bytes()),
        Width::Word => memory[at..at + 4].copy_from_slice(&value.to_be_bytes()),
    }
}

/// An operand as up to two runs of bytes, each within one page.
struct Operand {
    first: Translation,
    /// Bytes in the first page.
    first_bytes: u32,
    second: Option<Translation>,
}

impl Operand {
    /// The bus cycles that an operand of `bytes` bytes at `address` takes: aligned pieces, in address order.
    fn pieces(&self, address: u32, bytes: u32) -> impl Iterator<Item = (u32, Attributes, Width)> + '_ {
        let mut done = 0;
        std::iter::from_fn(move || {
            if done >= bytes {
                return None;
            }
            let run_end = if done < self.first_bytes {
                self.first_bytes
            } else {
                bytes
            };
            let left = run_end.min(bytes) - done;
            let at = address.wrapping_add(done);
            let width = if at & 3 == 0 && left >= 4 {
                Width::Word
            } else if at & 1 == 0 && left >= 2 {
                Width::Half
            } else {
                Width::Byte
            };
            let piece = match &self.second {
                Some(second) if done >= self.first_bytes => {
                    (second.physical + (done - self.first_bytes), second.attributes, width)
                }
                _ => (self.first.physical + done, self.first.attributes, width),
            };
            done += width as u32;
            Some(piece)
        })
    }
}

impl Cpu {
    /// Loads an operand of one, two or four bytes, wherever it lies. `word` is the instruction, for the exceptions
    /// that report it.
    ///
    /// # Errors
    /// DTLB miss, DTLB error, machine check; nothing changed then but what the exception itself leaves behind.
    #[inline(always)]
    pub(super) fn read_data<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
        word: u32,
        address: u32,
        width: Width,
    ) -> Result<u32, Trap> {
        if O::DATA && !env.observer.data(address, width as u32, Access::Load) {
            self.observer_stop = true;
        }
        let page = self.data_pages.slot(LOAD, address);
        if page.tag == address & (0xFFFF_F000 | (width as u32 - 1)) {
            if TIMED {
                let (physical, attributes) = (page.physical | address & 0xFFF, page.attributes);
                return self
                    .read_physical::<B, O, true>(env, physical, attributes, width)
                    .map_err(|_| Exception::machine_check_data(word, address).into());
            }
            let at = page.offset as usize + (address & 0xFFF) as usize;
            return Ok(get(env.bus.memory(), at, width));
        }
        self.read_slowly::<B, O, TIMED>(env, word, address, width)
    }

    /// Stores an operand of one, two or four bytes, wherever it lies.
    ///
    /// # Errors
    /// As [`Cpu::read_data`]; a bus error in the middle of a misaligned operand leaves its first part stored, as the
    /// cycles that the bus has accepted cannot be taken back.
    #[inline(always)]
    pub(super) fn write_data<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
        word: u32,
        address: u32,
        width: Width,
        value: u32,
    ) -> Result<(), Trap> {
        if O::DATA && !env.observer.data(address, width as u32, Access::Store) {
            self.observer_stop = true;
        }
        let page = self.data_pages.slot(STORE, address);
        if page.tag == address & (0xFFFF_F000 | (width as u32 - 1)) {
            if TIMED {
                let (physical, attributes) = (page.physical | address & 0xFFF, page.attributes);
                return self
                    .write_physical::<B, O, true>(env, physical, attributes, width, value)
                    .map_err(|_| Exception::machine_check_data(word, address).into());
            }
            let at = page.offset as usize + (address & 0xFFF) as usize;
            put(env.bus.memory_mut(), at, width, value);
            return Ok(());
        }
        self.write_slowly::<B, O, TIMED>(env, word, address, width, value)
    }

    #[cold]
    #[inline(never)]
    fn read_slowly<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
        word: u32,
        address: u32,
        width: Width,
    ) -> Result<u32, Trap> {
        let operand = self.translate_operand(env.bus, Access::Load, address, width as u32)?;
        let mut value = 0u64;
        for (index, (physical, attributes, width)) in operand.pieces(address, width as u32).enumerate() {
            if TIMED && index > 0 {
                self.next_access_timed();
            }
            let part = self
                .read_physical::<B, O, TIMED>(env, physical, attributes, width)
                .map_err(|_| Exception::machine_check_data(word, address))?;
            value = value << (8 * width as u32) | u64::from(part);
        }
        self.note_data_break(address, false);
        Ok(value as u32)
    }

    #[cold]
    #[inline(never)]
    fn write_slowly<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
        word: u32,
        address: u32,
        width: Width,
        value: u32,
    ) -> Result<(), Trap> {
        let operand = self.translate_operand(env.bus, Access::Store, address, width as u32)?;
        let mut left = 8 * width as u32;
        for (index, (physical, attributes, width)) in operand.pieces(address, width as u32).enumerate() {
            if TIMED && index > 0 {
                self.next_access_timed();
            }
            left -= 8 * width as u32;
            self.write_physical::<B, O, TIMED>(env, physical, attributes, width, value >> left)
                .map_err(|_| Exception::machine_check_data(word, address))?;
        }
        self.note_data_break(address, true);
        Ok(())
    }

    /// Translates both pages that an operand may touch and remembers them.
    fn translate_operand<B: Bus>(
        &mut self,
        bus: &B,
        access: Access,
        address: u32,
        bytes: u32,
    ) -> Result<Operand, Trap> {
        let first_bytes = (0x1000 - (address & 0xFFF)).min(bytes);
        let first = kept_from_cache(bus, self.translate_data(access, address)?);
        let second = if first_bytes < bytes {
            let translation = self.translate_data(access, address.wrapping_add(first_bytes))?;
            Some(kept_from_cache(bus, translation))
        } else {
            None
        };
        self.remember(bus, access, address, first);
        Ok(Operand {
            first,
            first_bytes,
            second,
        })
    }

    /// Makes sure that `bytes` bytes from `address` on may be accessed, before an instruction of many steps begins.
    ///
    /// # Errors
    /// The exception of the first page that refuses.
    pub(super) fn probe_range(&mut self, access: Access, address: u32, bytes: u32) -> Result<(), Trap> {
        self.translate_data(access, address)?;
        let last = address.wrapping_add(bytes - 1);
        if (address ^ last) & 0xFFFF_F000 != 0 {
            self.translate_data(access, last & 0xFFFF_F000)?;
        }
        Ok(())
    }

    /// Translates a data address, with the side effects that a refusal has on the MMU.
    ///
    /// # Errors
    /// DTLB miss or DTLB error; the end of the run when two entries match.
    pub(super) fn translate_data(&mut self, access: Access, address: u32) -> Result<Translation, Trap> {
        if self.msr & msr::DR == 0 {
            return Ok(Translation {
                physical: address,
                attributes: self.mmu.data.real_mode_attributes(),
            });
        }
        match self.mmu.probe(access, address, self.problem_state()) {
            Ok((_, translation)) => Ok(translation),
            Err(Refusal::Miss) => {
                self.mmu.record_miss(access, address);
                Err(Exception::plain(Vector::DataTlbMiss, Resume::Here).into())
            }
            Err(Refusal::Error(bits)) => {
                if bits == dsisr::STORE {
                    self.mmu.invalidate_unchanged(address, self.problem_state());
                    self.data_pages.forget(address, PageSize::Large8M);
                }
                Err(Exception {
                    dar: Some(address),
                    dsisr: Some(bits),
                    ..Exception::plain(Vector::DataTlbError, Resume::Here)
                }
                .into())
            }
            Err(Refusal::Duplicate(first, second)) => Err(self
                .impossible(format!(
                    "data TLB entries {first} and {second} both match {address:#010x}"
                ))
                .into()),
        }
    }

    /// The remembered page of a store to `address`.
    pub(super) fn store_page(&self, address: u32) -> Option<Page> {
        let page = *self.data_pages.slot(STORE, address);
        (page.tag == address & 0xFFFF_F000).then_some(page)
    }

    /// Remembers the page of a translation if it is plain memory.
    pub(super) fn remember<B: Bus>(&mut self, bus: &B, access: Access, address: u32, translation: Translation) {
        if self.debug.watches_data() {
            return;
        }
        let Some(direct) = bus.direct(translation.physical) else {
            return;
        };
        let kind = match access {
            Access::Store if direct.writable => STORE,
            Access::Store => return,
            _ => LOAD,
        };
        let page = Page {
            tag: address & 0xFFFF_F000,
            offset: direct.offset as u32,
            physical: translation.physical & 0xFFFF_F000,
            attributes: translation.attributes,
        };
        self.data_pages.insert(kind, page);
    }

    /// Whether the data cache has to do with an access at all.
    #[inline(always)]
    fn uses_data_cache(&self, attributes: Attributes) -> bool {
        self.caches.data.is_enabled() && !attributes.cache_inhibited
    }

    /// One aligned load at a physical address.
    #[inline(always)]
    pub(super) fn read_physical<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
        physical: u32,
        attributes: Attributes,
        width: Width,
    ) -> Result<u32, BusError> {
        if TIMED && self.uses_data_cache(attributes) {
            if let Some(index) = self.caches.data.lookup(physical) {
                self.load_hit(physical);
                return Ok(get(
                    self.caches.data.line(index),
                    (physical & (LINE - 1)) as usize,
                    width,
                ));
            }
            match self.data_line(env, physical, Access::Load) {
                Ok(index) => {
                    return Ok(get(
                        self.caches.data.line(index),
                        (physical & (LINE - 1)) as usize,
                        width,
                    ));
                }
                Err(NoLine::Bus(error)) => return Err(error),
                Err(NoLine::NoWay) => {}
            }
        }
        self.read_uncached::<B, O, TIMED>(env, physical, width)
    }

    fn read_uncached<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
        physical: u32,
        width: Width,
    ) -> Result<u32, BusError> {
        if TIMED {
            self.single_read_timed(env.bus, physical);
        }
        if let Some(direct) = env.bus.direct(physical) {
            return Ok(get(
                env.bus.memory(),
                direct.offset + (physical & 0xFFF) as usize,
                width,
            ));
        }
        let result = env.bus.read(physical, width, self.now);
        self.after_device(env.bus);
        result
    }

    /// One aligned store at a physical address; only the low bits of `value` count.
    #[inline(always)]
    pub(super) fn write_physical<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
        physical: u32,
        attributes: Attributes,
        width: Width,
        value: u32,
    ) -> Result<(), BusError> {
        if TIMED && self.uses_data_cache(attributes) {
            let through = attributes.write_through || self.caches.data.writes_through();
            let line = match self.caches.data.lookup(physical) {
                Some(index) => {
                    self.store_hit(physical);
                    Some(index)
                }
                // A store allocates a line only where it may stay there.
                None if through => None,
                None => match self.data_line(env, physical, Access::Store) {
                    Ok(index) => Some(index),
                    Err(NoLine::Bus(error)) => return Err(error),
                    Err(NoLine::NoWay) => None,
                },
            };
            if let Some(index) = line {
                put(
                    self.caches.data.line_mut(index),
                    (physical & (LINE - 1)) as usize,
                    width,
                    value,
                );
                if !through {
                    self.caches.data.set_dirty(index);
                    return Ok(());
                }
            }
        }
        self.write_uncached::<B, O, TIMED>(env, physical, width, value)
    }

    fn write_uncached<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
        physical: u32,
        width: Width,
        value: u32,
    ) -> Result<(), BusError> {
        if TIMED {
            self.single_write_timed(env.bus, physical);
        }
        if let Some(direct) = env.bus.direct(physical).filter(|direct| direct.writable) {
            put(
                env.bus.memory_mut(),
                direct.offset + (physical & 0xFFF) as usize,
                width,
                value,
            );
            return Ok(());
        }
        let value = match width {
            Width::Byte => value & 0xFF,
            Width::Half => value & 0xFFFF,
            Width::Word => value,
        };
        let result = env.bus.write(physical, width, value, self.now);
        self.after_device(env.bus);
        result
    }

    /// A device was touched: interrupt lines, events and the map of memory may have changed.
    pub(super) fn after_device<B: Bus>(&mut self, bus: &B) {
        self.deadline = 0;
        self.follow_map(bus);
    }

    pub(super) fn note_data_break(&mut self, address: u32, store: bool) {
        if self.debug.watches_data() && self.debug.breaks_on_data(address, store, self.msr) {
            self.data_break = Some(address);
        }
    }

    /// Reads memory as the program sees it at this moment, without side effects: for debuggers.
    ///
    /// Reads nothing but plain memory; `None` at the first byte that has no translation or belongs to a device.
    pub fn peek<B: Bus>(&self, bus: &B, address: u32, buffer: &mut [u8]) -> Option<()> {
        for (index, byte) in buffer.iter_mut().enumerate() {
            let physical = self.physical(address.wrapping_add(index as u32))?;
            *byte = match self.data_line_held(physical) {
                Some(line) => self.caches.data.line(line)[(physical & (LINE - 1)) as usize],
                None => *bus.memory().get(plain_offset(bus, physical)?)?,
            };
        }
        Some(())
    }

    /// Writes memory as the program sees it at this moment, without side effects: for debuggers. Protection is
    /// not asked, and code is decoded afresh.
    pub fn poke<B: Bus>(&mut self, bus: &mut B, address: u32, bytes: &[u8]) -> Option<()> {
        for (index, &byte) in bytes.iter().enumerate() {
            let physical = self.physical(address.wrapping_add(index as u32))?;
            let at = plain_offset(bus, physical)?;
            *bus.memory_mut().get_mut(at)? = byte;
            if let Some(line) = self.data_line_held(physical) {
                self.caches.data.line_mut(line)[(physical & (LINE - 1)) as usize] = byte;
            }
        }
        self.forget();
        Some(())
    }

    /// The line of the data cache that stands between the program and memory at `physical`.
    fn data_line_held(&self, physical: u32) -> Option<usize> {
        if self.timed && self.caches.data.is_enabled() {
            self.caches.data.find(physical)
        } else {
            None
        }
    }

    /// The physical address behind an effective one, data side first, then instruction side; `None` without entry.
    pub fn physical(&self, address: u32) -> Option<u32> {
        let state = self.problem_state();
        if self.msr & msr::DR == 0 {
            return Some(address);
        }
        let find = |access| {
            let side = self.mmu.side(access);
            let modes = side.modes();
            side.entries()
                .iter()
                .find(|entry| entry.matches(address, self.mmu.casid(), state, modes))
        };
        find(Access::Load)
            .or_else(|| find(Access::Fetch))
            .map(|entry| entry.translate(address))
    }
}

/// Adds what the bus has to say about caching to the attributes of the page.
pub(super) fn kept_from_cache<B: Bus>(bus: &B, mut translation: Translation) -> Translation {
    translation.attributes.cache_inhibited |= !bus.cacheable(translation.physical);
    translation
}

fn plain_offset<B: Bus>(bus: &B, physical: u32) -> Option<usize> {
    Some(bus.direct(physical)?.offset + (physical & 0xFFF) as usize)
}
