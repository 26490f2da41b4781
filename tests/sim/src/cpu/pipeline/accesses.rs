//! When fetches, loads and stores have what they need: caches, fills under way, write buffer, copy-back buffer.
//!
//! The functions follow an access that is being carried out and say nothing about its content.

use super::bus_master::Fill;
use crate::bus::{Bus, CycleKind};
use crate::cpu::Cpu;
use crate::cpu::mmu::Translation;
use crate::cpu::mmu::tlb::Access;
use crate::part::LINE;

impl Cpu {
    /// An instruction from the cache line that the window shows: it may still be on its way.
    #[inline(always)]
    pub(in crate::cpu) fn wait_for_fetch(&mut self) {
        let p = &mut self.pipeline;
        if p.front < p.fetch_fill.done && p.fetch_fill.line == self.pc & !(LINE - 1) {
            p.front = p.front.max(p.fetch_fill.arrival(self.pc));
        }
    }

    /// A line of instructions comes by a burst; `physical` is the address of the word that is wanted first.
    pub(in crate::cpu) fn fetch_line_timed<B: Bus>(&mut self, bus: &B, physical: u32) {
        let earliest = self.fetch_request() + u64::from(self.pipeline.timing.fetch_miss);
        let p = &mut self.pipeline;
        let (start, timing) = p.bus.cycle(bus, physical, CycleKind::BurstRead, earliest);
        // The window compares effective addresses; within a line they agree with physical ones.
        p.buffered_words = 0;
        p.fetch_fill = Fill::new(physical, start, timing);
        p.fetch_fill.line = self.pc & !(LINE - 1);
        p.front = p.front.max(p.fetch_fill.critical);
    }

    /// One instruction comes past the cache: by a single cycle, or from the burst buffer. A fetch from a cache
    /// inhibited page brings four words into that buffer, each of which is used once (860UM 8.5).
    pub(in crate::cpu) fn fetch_word_timed<B: Bus>(&mut self, bus: &B, translation: Translation) {
        let physical = translation.physical;
        let bursts = self.caches.instruction.is_enabled() && translation.attributes.cache_inhibited;
        let word = 1 << (physical >> 2 & 3);
        let line = physical & !(LINE - 1);
        let earliest = self.fetch_request() + u64::from(self.pipeline.timing.fetch_miss);
        let p = &mut self.pipeline;
        if bursts && p.buffered_line == line && p.buffered_words & word != 0 {
            p.buffered_words &= !word;
            p.front = p.front.max(p.fetch_fill.arrival(physical));
            return;
        }
        let kind = if bursts {
            CycleKind::BurstRead
        } else {
            CycleKind::SingleRead
        };
        let (start, timing) = p.bus.cycle(bus, physical, kind, earliest);
        p.fetch_fill = Fill::new(physical, start, timing);
        p.buffered_line = line;
        p.buffered_words = if bursts { 0xF & !word } else { 0 };
        p.front = p.front.max(p.fetch_fill.critical);
    }

    /// When the fetch asks for the next instruction: with serialised fetch not before all others have issued.
    fn fetch_request(&self) -> u64 {
        if self.debug.fetch_is_serialised() {
            self.pipeline.front.max(self.now)
        } else {
            self.pipeline.front
        }
    }

    /// A load hits the data cache.
    #[inline(always)]
    pub(in crate::cpu) fn load_hit(&mut self, physical: u32) {
        let p = &mut self.pipeline;
        p.result_at = self.now + u64::from(p.timing.load_latency);
        if self.now < p.data_fill.done && p.data_fill.line == physical & !(LINE - 1) {
            p.result_at = p
                .result_at
                .max(p.data_fill.arrival(physical) + u64::from(p.timing.bus_to_register));
        }
    }

    /// A store hits the data cache.
    #[inline(always)]
    pub(in crate::cpu) fn store_hit(&mut self, physical: u32) {
        let p = &mut self.pipeline;
        p.load_after_store = self.now + 1 + u64::from(p.timing.store_to_load);
        if self.now < p.data_fill.done && p.data_fill.line == physical & !(LINE - 1) {
            p.unit_free = p.unit_free.max(p.data_fill.arrival(physical));
        }
    }

    /// A line of data comes by a burst, for a load or for a store that allocates; `copies_back` says that its victim
    /// has to be written out afterwards, to `victim`.
    pub(in crate::cpu) fn fill_line_timed<B: Bus>(
        &mut self,
        bus: &B,
        physical: u32,
        access: Access,
        victim: Option<u32>,
    ) {
        let p = &mut self.pipeline;
        let mut earliest = self.now + 1 + u64::from(p.timing.data_miss);
        if victim.is_some() {
            earliest = earliest.max(p.copy_back_free);
        }
        let (start, timing) = p.bus.cycle(bus, physical, CycleKind::BurstRead, earliest);
        p.data_fill = Fill::new(physical, start, timing);
        p.result_at = p.data_fill.critical + u64::from(p.timing.bus_to_register);
        // Hits go on under a load that misses; a store that misses blocks the cache until the line is in (860UM 8.6).
        p.unit_free = if access == Access::Store {
            p.data_fill.done + 1
        } else {
            p.data_fill.critical
        };
        if let Some(victim) = victim {
            let (start, timing) = p.bus.cycle(bus, victim, CycleKind::BurstWrite, p.data_fill.done);
            p.copy_back_free = start + u64::from(timing.critical + 3 * timing.beat);
        }
    }

    /// A load by a single cycle.
    pub(in crate::cpu) fn single_read_timed<B: Bus>(&mut self, bus: &B, physical: u32) {
        let p = &mut self.pipeline;
        let earliest = (self.now + 1).max(p.write_buffer_free);
        let (start, timing) = p.bus.cycle(bus, physical, CycleKind::SingleRead, earliest);
        let arrival = start + u64::from(timing.critical);
        p.result_at = arrival + u64::from(p.timing.bus_to_register);
        p.unit_free = arrival;
    }

    /// A store by a single cycle, through the write buffer of one word.
    pub(in crate::cpu) fn single_write_timed<B: Bus>(&mut self, bus: &B, physical: u32) {
        let p = &mut self.pipeline;
        let earliest = (self.now + 1).max(p.write_buffer_free);
        // The store waits in the unit until the buffer takes it.
        p.unit_free = p.unit_free.max(p.write_buffer_free);
        let (start, timing) = p.bus.cycle(bus, physical, CycleKind::SingleWrite, earliest);
        p.write_buffer_free = start + u64::from(timing.critical);
        p.load_after_store = self.now + 1 + u64::from(p.timing.store_to_load);
    }

    /// A line of data is written out by a cache instruction.
    pub(in crate::cpu) fn write_line_timed<B: Bus>(&mut self, bus: &B, physical: u32) {
        let p = &mut self.pipeline;
        let earliest = (self.now + 1).max(p.copy_back_free);
        p.unit_free = p.unit_free.max(p.copy_back_free);
        let (start, timing) = p.bus.cycle(bus, physical, CycleKind::BurstWrite, earliest);
        p.copy_back_free = start + u64::from(timing.critical + 3 * timing.beat);
    }

    /// One access of an instruction of several is done; the next one starts when its result or its unit allows.
    pub(in crate::cpu) fn next_access_timed(&mut self) {
        let p = &self.pipeline;
        let latency = u64::from(p.timing.load_latency);
        self.now = (self.now + 1)
            .max(p.unit_free)
            .max(p.result_at.saturating_sub(latency) + 1);
    }

    /// `sync` and `eieio`: what was stored has left the chip.
    pub(in crate::cpu) fn drain_stores_timed(&mut self) {
        self.now = self
            .now
            .max(self.pipeline.write_buffer_free)
            .max(self.pipeline.copy_back_free);
    }
}
