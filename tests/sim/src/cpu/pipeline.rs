//! When instructions issue: the cycle model of the core.
//!
//! Two clocks run through the program. The *front* is the clock at which the next instruction reaches the queue: one
//! instruction a clock from the cache, later when its line has to be fetched, a bubble after each taken branch. The
//! *issue* ([`Cpu::now`]) takes one instruction a clock from the queue, later when an operand or a unit is not ready.
//! The front may run ahead of the issue by the length of the queue. Branches are resolved in the queue and take no
//! issue slot (823UM 6.3.1, 823eRM 8.2.5): in a stream without stalls a taken branch costs 2 and one that is not taken
//! 1, because that is what the fetch takes; behind a stall, when the front is ahead, the same branch costs nothing.
//!
//! Loads and divisions complete out of order; what follows them issues until it needs the result, the load/store unit,
//! or an entry of the completion queue. The bus serves one cycle at a time, in the order of the requests, each from
//! the next bus clock on; the refresh of the memory controller takes its share.
//!
//! Constants are in [`timing`](super::timing).

use super::Cpu;
use super::decode::{Decoded, Op};
use super::mmu::Translation;
use super::mmu::tlb::Access;
use super::registers::spr;
use super::timing::Timing;
use crate::bus::{Bus, BusTiming, CycleKind, Refresh};
use crate::part::LINE;

/// What an operation does to the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// One issue slot, result at the next clock.
    Simple,
    /// Waits for the pipeline to empty; no access to memory.
    Serial,
    /// Resolved in the queue.
    Branch,
    /// The integer multiplier.
    Multiply,
    /// The same unit, for long.
    Divide,
    /// A load of one operand.
    Load,
    /// A store of one operand.
    Store,
    /// Several accesses; the instruction itself advances the clock.
    Sequence,
    /// A special-purpose register: cost by its number.
    Spr,
}

/// Register fields of an instruction, as bits.
const FIELD_D: u8 = 1;
const FIELD_A: u8 = 2;
const FIELD_B: u8 = 4;

/// What the model knows of one operation.
#[derive(Clone, Copy, Debug)]
struct Class {
    unit: Unit,
    /// Issue slots, or clocks after the wait of a serialising instruction.
    cost: u8,
    /// Waits for the pipeline to empty.
    serialises: bool,
    /// Fields whose registers are read.
    reads: u8,
    /// Fields whose registers are written.
    writes: u8,
    /// CR is written: always, or if the record bit is set.
    sets_cr: bool,
    records: bool,
}

/// A burst that is filling a cache line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fill {
    /// Physical address of the line, or the effective one on the instruction side.
    line: u32,
    /// Word that came first.
    first: u32,
    /// Its arrival.
    critical: u64,
    beat: u32,
    /// Arrival of the last word.
    done: u64,
}

impl Fill {
    fn new(address: u32, start: u64, timing: BusTiming) -> Fill {
        let critical = start + u64::from(timing.critical);
        Fill {
            line: address & !(LINE - 1),
            first: address >> 2 & 3,
            critical,
            beat: timing.beat,
            done: critical + 3 * u64::from(timing.beat),
        }
    }

    /// When the word at `address` of this line has arrived.
    fn arrival(&self, address: u32) -> u64 {
        let order = (address >> 2).wrapping_sub(self.first) & 3;
        self.critical + u64::from(order * self.beat)
    }
}

/// Bus cycle lengths that were asked for, by region of the smallest chip select.
#[derive(Clone, Copy, Debug)]
struct KnownTiming {
    region: u32,
    kind: CycleKind,
    timing: BusTiming,
}

const KNOWN: usize = 64;

/// The state of the model.
#[derive(Clone, Debug)]
pub struct Pipeline {
    timing: Timing,
    /// By operation number; there are fewer operations than slots.
    classes: Box<[Class; 256]>,
    /// When the next instruction is in the queue.
    front: u64,
    /// When each register has its value, for values that take more than a clock.
    ready: [u64; 64],
    /// Nothing is outstanding from this clock on.
    busy_until: u64,
    /// The oldest long operation in flight: when it completes, and how many instructions had been issued before it.
    long_until: u64,
    long_index: u64,
    /// The load/store unit takes the next instruction.
    unit_free: u64,
    /// A load may follow the last store.
    load_after_store: u64,
    multiplier_free: u64,
    cr_ready: u64,
    lr_ready: u64,
    ctr_ready: u64,
    /// When the result of the instruction in execution will be there.
    result_at: u64,
    bus_free: u64,
    write_buffer_free: u64,
    copy_back_free: u64,
    bus_ratio: u64,
    refresh: [Refresh; 2],
    next_refresh: [u64; 2],
    known: Vec<Option<KnownTiming>>,
    data_fill: Fill,
    fetch_fill: Fill,
    /// What the burst buffer holds of a cache inhibited page: the line, and a bit for each word not yet used.
    buffered_line: u32,
    buffered_words: u32,
}

impl Default for Pipeline {
    fn default() -> Self {
        Pipeline::new(Timing::default())
    }
}

impl Pipeline {
    /// An empty pipeline with these constants.
    pub fn new(timing: Timing) -> Pipeline {
        let class = |number: usize| classify(Op::ALL.get(number).copied().unwrap_or(Op::Illegal), &timing);
        let classes = Box::new(std::array::from_fn(class));
        Pipeline {
            timing,
            classes,
            front: 0,
            ready: [0; 64],
            busy_until: 0,
            long_until: 0,
            long_index: 0,
            unit_free: 0,
            load_after_store: 0,
            multiplier_free: 0,
            cr_ready: 0,
            lr_ready: 0,
            ctr_ready: 0,
            result_at: 0,
            bus_free: 0,
            write_buffer_free: 0,
            copy_back_free: 0,
            bus_ratio: 1,
            refresh: [Refresh::default(); 2],
            next_refresh: [0; 2],
            known: vec![None; KNOWN],
            data_fill: Fill::default(),
            fetch_fill: Fill::default(),
            buffered_line: 0,
            buffered_words: 0,
        }
    }

    /// The constants in force.
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    /// Follows a change of clocks, refresh or memory controller.
    pub(super) fn follow_map<B: Bus>(&mut self, bus: &B, now: u64) {
        self.known.fill(None);
        self.bus_ratio = u64::from(bus.bus_ratio().max(1));
        self.refresh = bus.refresh();
        for (next, refresh) in self.next_refresh.iter_mut().zip(self.refresh) {
            *next = match refresh.period {
                0 => u64::MAX,
                period => now.next_multiple_of(u64::from(period)),
            };
        }
    }

    fn bus_timing<B: Bus>(&mut self, bus: &B, address: u32, kind: CycleKind) -> BusTiming {
        let region = address >> 15;
        let slot = (region as usize * 4 + kind as usize) % KNOWN;
        match self.known[slot] {
            Some(known) if known.region == region && known.kind == kind => known.timing,
            _ => {
                let timing = bus.timing(address, kind);
                self.known[slot] = Some(KnownTiming { region, kind, timing });
                timing
            }
        }
    }

    /// Puts a cycle on the bus, no earlier than `earliest`; returns its start.
    fn bus_cycle<B: Bus>(&mut self, bus: &B, address: u32, kind: CycleKind, earliest: u64) -> (u64, BusTiming) {
        let timing = self.bus_timing(bus, address, kind);
        let mut start = earliest.max(self.bus_free);
        for index in 0..self.refresh.len() {
            let (period, busy) = (
                u64::from(self.refresh[index].period),
                u64::from(self.refresh[index].busy),
            );
            let due = self.next_refresh[index];
            if due <= start {
                // Services that fell into an idle time are over, except perhaps the last one.
                let last = due + (start - due) / period * period;
                start = start.max(last.max(self.bus_free) + busy);
                self.next_refresh[index] = last + period;
            }
        }
        start = start.next_multiple_of(self.bus_ratio);
        self.bus_free = start + u64::from(timing.total);
        (start, timing)
    }

    fn outstanding_until(&mut self, clock: u64) {
        self.busy_until = self.busy_until.max(clock);
    }

    fn long_operation(&mut self, until: u64, index: u64, now: u64) {
        if self.long_until <= now {
            self.long_index = index;
        }
        self.long_until = self.long_until.max(until);
        self.outstanding_until(until);
    }

    /// The pipeline is emptied and the next instruction issues no earlier than `clock`.
    fn restart(&mut self, clock: u64) {
        self.front = clock - 1;
    }

    /// Waits for what the instruction needs of what is outstanding.
    fn wait(&mut self, d: Decoded, class: Class, mut at: u64, index: u64) -> u64 {
        for (field, register) in [(FIELD_D, d.d), (FIELD_A, d.a), (FIELD_B, d.b)] {
            if class.reads & field != 0 {
                at = at.max(self.ready[usize::from(register & 63)]);
            }
        }
        match class.unit {
            Unit::Load => at = at.max(self.unit_free).max(self.load_after_store),
            Unit::Store | Unit::Sequence => at = at.max(self.unit_free),
            Unit::Multiply | Unit::Divide => at = at.max(self.multiplier_free),
            Unit::Simple | Unit::Branch | Unit::Serial | Unit::Spr => {}
        }
        if at < self.long_until && index - self.long_index >= u64::from(self.timing.completion_queue) {
            at = self.long_until;
        }
        at
    }
}

impl Cpu {
    /// Moves the clock to the issue of `d`, if its execution depends on it: what stays inside the core is dealt with
    /// once, in [`Cpu::retire`].
    #[inline(always)]
    pub(super) fn issue(&mut self, d: Decoded) {
        let class = self.pipeline.classes[d.op as u8 as usize];
        if matches!(class.unit, Unit::Branch | Unit::Simple) {
            return;
        }
        let mut at = self.now.max(self.pipeline.front + 1);
        if class.serialises || class.unit == Unit::Spr && spr_serialises(d.imm) {
            at = at
                .max(self.now + u64::from(self.pipeline.timing.serialise))
                .max(self.pipeline.busy_until);
        } else if at < self.pipeline.busy_until {
            at = self.pipeline.wait(d, class, at, self.instructions);
        }
        self.now = at;
        if class.unit == Unit::Divide {
            let (dividend, divisor) = (self.get(d.a), self.get(d.b));
            let overflows = d.op == Op::Divw && dividend == 0x8000_0000 && divisor == u32::MAX;
            let length = if d.op == Op::Divw {
                (divisor as i32).unsigned_abs()
            } else {
                divisor
            };
            self.pipeline.result_at = at + u64::from(self.pipeline.timing.divide(length, divisor != 0 && !overflows));
        }
    }

    /// Moves both clocks past `d`, which was at `pc` and has been executed.
    #[inline(always)]
    pub(super) fn retire(&mut self, d: Decoded, pc: u32) {
        let class = self.pipeline.classes[d.op as u8 as usize];
        match class.unit {
            Unit::Simple => self.retire_simple(d, class),
            Unit::Branch => self.retire_branch(d, pc),
            _ => self.retire_other(d, class),
        }
    }

    /// An instruction that takes an issue slot and no more.
    #[inline(always)]
    fn retire_simple(&mut self, d: Decoded, class: Class) {
        let p = &mut self.pipeline;
        let mut at = self.now.max(p.front + 1);
        if at < p.busy_until {
            at = p.wait(d, class, at, self.instructions);
            if class.writes & FIELD_D != 0 {
                p.ready[usize::from(d.d & 31)] = 0;
            }
            if class.writes & FIELD_A != 0 {
                p.ready[usize::from(d.a & 31)] = 0;
            }
        }
        if class.sets_cr || class.records && d.rc() {
            p.cr_ready = at + u64::from(p.timing.cr_to_branch);
        }
        self.now = at + u64::from(class.cost);
        p.front = (p.front + 1).max(self.now.saturating_sub(u64::from(p.timing.fetch_queue)));
    }

    fn retire_other(&mut self, d: Decoded, class: Class) {
        let at = self.now;
        let p = &mut self.pipeline;
        let mut cost = class.cost;
        match class.unit {
            Unit::Simple | Unit::Branch | Unit::Store | Unit::Serial | Unit::Sequence => {}
            Unit::Multiply => {
                p.result_at = at + u64::from(p.timing.multiply_latency);
                p.multiplier_free = at + 1;
                p.outstanding_until(p.result_at);
            }
            Unit::Divide => {
                let until = p.result_at;
                p.multiplier_free = until;
                p.long_operation(until, self.instructions, at);
            }
            Unit::Load => {
                let until = p.result_at;
                if until > at + u64::from(p.timing.load_latency) {
                    p.long_operation(until, self.instructions, at);
                } else {
                    p.outstanding_until(until);
                }
            }
            Unit::Spr => cost = spr_cost(&p.timing, d.imm) as u8,
        }
        self.now = at + u64::from(cost);
        if class.sets_cr || class.records && d.rc() {
            p.cr_ready = at + u64::from(p.timing.cr_to_branch);
        }
        if at < p.busy_until {
            let slow = matches!(class.unit, Unit::Load | Unit::Multiply | Unit::Divide);
            if class.writes & FIELD_D != 0 {
                p.ready[usize::from(d.d & 31)] = if slow { p.result_at } else { 0 };
            }
            if class.writes & FIELD_A != 0 && d.a < 32 {
                p.ready[usize::from(d.a)] = 0;
            }
        }
        p.front = (p.front + 1).max(self.now.saturating_sub(u64::from(p.timing.fetch_queue)));
        if matches!(class.unit, Unit::Serial | Unit::Spr) {
            self.retire_special(d);
        }
    }

    /// What serialising instructions do to the front and to the registers of the branch unit.
    fn retire_special(&mut self, d: Decoded) {
        let p = &mut self.pipeline;
        match d.op {
            // The cost of the instruction itself is the first of these clocks.
            Op::Rfi | Op::Mtmsr => p.restart(self.now - 1 + u64::from(p.timing.refetch)),
            Op::Isync => p.restart(self.now - 1 + u64::from(p.timing.isync)),
            Op::Mtspr => {
                let ready = self.now - 1 + u64::from(p.timing.link_to_branch);
                match d.imm {
                    spr::LR => p.lr_ready = ready,
                    spr::CTR => p.ctr_ready = ready,
                    spr::CMPA..=spr::BAR => p.restart(self.now - 1 + u64::from(p.timing.refetch)),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    #[inline(always)]
    fn retire_branch(&mut self, d: Decoded, pc: u32) {
        let taken = self.next_pc != pc.wrapping_add(4);
        let p = &mut self.pipeline;
        let queue = u64::from(p.timing.fetch_queue);
        let fetched = p.front;
        let mut next = fetched + 1 + if taken { u64::from(p.timing.branch_bubble) } else { 0 };
        let conditional = !matches!(d.op, Op::B | Op::Bl | Op::Ba | Op::Bla);
        if conditional {
            let bo = d.d;
            let needs_ctr = bo & 4 == 0 || matches!(d.op, Op::Bcctr | Op::Bcctrl);
            if needs_ctr {
                next = next.max(p.ctr_ready + 1);
            }
            let to_link = matches!(d.op, Op::Bclr | Op::Bclrl);
            if to_link && taken {
                next = next.max(p.lr_ready + 1);
            }
            if bo & 16 == 0 {
                // Static prediction: backwards taken, forwards not, reversed by the y bit.
                let backwards = d.imm >> 31 != 0;
                let predicted = backwards != (bo & 1 != 0);
                if predicted != taken {
                    next = next.max(p.cr_ready + 1);
                }
            }
        }
        // A stream of nothing but branches takes the time of its fetch.
        self.now = self.now.max(fetched);
        p.front = next.max(self.now.saturating_sub(queue));
    }

    /// A fetch has failed, which is noticed when its turn comes.
    pub(super) fn wait_for_front(&mut self) {
        self.now = self.now.max(self.pipeline.front + 1);
    }

    /// Prices the entry into an exception: earlier instructions complete first.
    pub(super) fn enter_timed(&mut self, system_call: bool) {
        let p = &mut self.pipeline;
        let drained = self.now.max(p.busy_until);
        let entry = if system_call {
            p.timing.refetch
        } else {
            p.timing.exception_entry
        };
        self.now = drained + u64::from(entry);
        p.restart(self.now);
    }

    /// An instruction from the cache line that the window shows: it may still be on its way.
    #[inline(always)]
    pub(super) fn wait_for_fetch(&mut self) {
        let p = &mut self.pipeline;
        if p.front < p.fetch_fill.done && p.fetch_fill.line == self.pc & !(LINE - 1) {
            p.front = p.front.max(p.fetch_fill.arrival(self.pc));
        }
    }

    /// A line of instructions comes by a burst; `physical` is the address of the word that is wanted first.
    pub(super) fn fetch_line_timed<B: Bus>(&mut self, bus: &B, physical: u32) {
        let earliest = self.fetch_request() + u64::from(self.pipeline.timing.fetch_miss);
        let p = &mut self.pipeline;
        let (start, timing) = p.bus_cycle(bus, physical, CycleKind::BurstRead, earliest);
        // The window compares effective addresses; within a line they agree with physical ones.
        p.buffered_words = 0;
        p.fetch_fill = Fill {
            line: self.pc & !(LINE - 1),
            ..Fill::new(physical, start, timing)
        };
        p.front = p.front.max(p.fetch_fill.critical);
    }

    /// One instruction comes past the cache: by a single cycle, or from the burst buffer. A fetch from a cache
    /// inhibited page brings four words into that buffer, each of which is used once (860UM 8.5).
    pub(super) fn fetch_word_timed<B: Bus>(&mut self, bus: &B, translation: Translation) {
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
        let (start, timing) = p.bus_cycle(bus, physical, kind, earliest);
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
    pub(super) fn load_hit(&mut self, physical: u32) {
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
    pub(super) fn store_hit(&mut self, physical: u32) {
        let p = &mut self.pipeline;
        p.load_after_store = self.now + 1 + u64::from(p.timing.store_to_load);
        if self.now < p.data_fill.done && p.data_fill.line == physical & !(LINE - 1) {
            p.unit_free = p.unit_free.max(p.data_fill.arrival(physical));
        }
        p.busy_until = p.busy_until.max(p.load_after_store).max(p.unit_free);
    }

    /// A line of data comes by a burst, for a load or for a store that allocates; `copies_back` says that its victim
    /// has to be written out afterwards, to `victim`.
    pub(super) fn fill_line_timed<B: Bus>(&mut self, bus: &B, physical: u32, access: Access, victim: Option<u32>) {
        let p = &mut self.pipeline;
        let mut earliest = self.now + 1 + u64::from(p.timing.data_miss);
        if victim.is_some() {
            earliest = earliest.max(p.copy_back_free);
        }
        let (start, timing) = p.bus_cycle(bus, physical, CycleKind::BurstRead, earliest);
        p.data_fill = Fill::new(physical, start, timing);
        p.result_at = p.data_fill.critical + u64::from(p.timing.bus_to_register);
        // Hits go on under a load that misses; a store that misses blocks the cache until the line is in (860UM 8.6).
        p.unit_free = if access == Access::Store {
            p.data_fill.done + 1
        } else {
            p.data_fill.critical
        };
        p.outstanding_until(p.unit_free);
        if let Some(victim) = victim {
            let (start, timing) = p.bus_cycle(bus, victim, CycleKind::BurstWrite, p.data_fill.done);
            p.copy_back_free = start + u64::from(timing.critical + 3 * timing.beat);
        }
    }

    /// A load by a single cycle.
    pub(super) fn single_read_timed<B: Bus>(&mut self, bus: &B, physical: u32) {
        let p = &mut self.pipeline;
        let earliest = (self.now + 1).max(p.write_buffer_free);
        let (start, timing) = p.bus_cycle(bus, physical, CycleKind::SingleRead, earliest);
        let arrival = start + u64::from(timing.critical);
        p.result_at = arrival + u64::from(p.timing.bus_to_register);
        p.unit_free = arrival;
        p.outstanding_until(arrival);
    }

    /// A store by a single cycle, through the write buffer of one word.
    pub(super) fn single_write_timed<B: Bus>(&mut self, bus: &B, physical: u32) {
        let p = &mut self.pipeline;
        let earliest = (self.now + 1).max(p.write_buffer_free);
        // The store waits in the unit until the buffer takes it.
        p.unit_free = p.unit_free.max(p.write_buffer_free);
        let (start, timing) = p.bus_cycle(bus, physical, CycleKind::SingleWrite, earliest);
        p.write_buffer_free = start + u64::from(timing.critical);
        p.load_after_store = self.now + 1 + u64::from(p.timing.store_to_load);
        p.busy_until = p.busy_until.max(p.load_after_store).max(p.unit_free);
    }

    /// A line of data is written out by a cache instruction.
    pub(super) fn write_line_timed<B: Bus>(&mut self, bus: &B, physical: u32) {
        let p = &mut self.pipeline;
        let earliest = (self.now + 1).max(p.copy_back_free);
        p.unit_free = p.unit_free.max(p.copy_back_free);
        let (start, timing) = p.bus_cycle(bus, physical, CycleKind::BurstWrite, earliest);
        p.copy_back_free = start + u64::from(timing.critical + 3 * timing.beat);
        p.busy_until = p.busy_until.max(p.unit_free);
    }

    /// One access of an instruction of several is done; the next one starts when its result or its unit allows.
    pub(super) fn next_access_timed(&mut self) {
        let p = &self.pipeline;
        let latency = u64::from(p.timing.load_latency);
        self.now = (self.now + 1)
            .max(p.unit_free)
            .max(p.result_at.saturating_sub(latency) + 1);
    }

    /// `sync` and `eieio`: what was stored has left the chip.
    pub(super) fn drain_stores_timed(&mut self) {
        self.now = self
            .now
            .max(self.pipeline.write_buffer_free)
            .max(self.pipeline.copy_back_free);
    }

    /// Adds clocks to the instruction in execution.
    pub(super) fn spend(&mut self, clocks: u32) {
        self.now += u64::from(clocks);
    }
}

fn spr_cost(timing: &Timing, number: u32) -> u32 {
    match number {
        spr::LR | spr::CTR => 1,
        spr::EIE | spr::EID | spr::NRI => timing.mtspr_interrupt,
        number if is_off_core(number) => timing.spr_off_core,
        _ => timing.spr_core,
    }
}

/// The registers of the branch unit and the three that only change EE and RI do not wait for the pipeline.
fn spr_serialises(number: u32) -> bool {
    !matches!(number, spr::LR | spr::CTR | spr::EIE | spr::EID | spr::NRI)
}

/// Registers outside the core proper, behind an internal bus (the list of the CPU6 erratum's workaround).
fn is_off_core(number: u32) -> bool {
    matches!(number, spr::DEC | spr::TBL_READ..=spr::TBU_READ | spr::TBL_WRITE..=spr::TBU_WRITE) || number >= 560
}

/// The class of an operation.
fn classify(op: Op, timing: &Timing) -> Class {
    use Op::*;
    let simple = Class {
        unit: Unit::Simple,
        cost: 1,
        serialises: false,
        reads: 0,
        writes: 0,
        sets_cr: false,
        records: false,
    };
    let serial = |cost: u32| Class {
        unit: Unit::Serial,
        cost: cost.min(255) as u8,
        serialises: true,
        ..simple
    };
    match op {
        Unfilled | Illegal => simple,
        Addi | Addis | Addic | Subfic => Class {
            reads: FIELD_A,
            writes: FIELD_D,
            ..simple
        },
        AddicRecord => Class {
            reads: FIELD_A,
            writes: FIELD_D,
            sets_cr: true,
            ..simple
        },
        Mulli => Class {
            unit: Unit::Multiply,
            reads: FIELD_A,
            writes: FIELD_D,
            ..simple
        },
        Mullw | Mulhw | Mulhwu => Class {
            unit: Unit::Multiply,
            reads: FIELD_A | FIELD_B,
            writes: FIELD_D,
            records: true,
            ..simple
        },
        Divw | Divwu => Class {
            unit: Unit::Divide,
            reads: FIELD_A | FIELD_B,
            writes: FIELD_D,
            records: true,
            ..simple
        },
        Add | Addc | Adde | Subf | Subfc | Subfe => Class {
            reads: FIELD_A | FIELD_B,
            writes: FIELD_D,
            records: true,
            ..simple
        },
        Addme | Addze | Subfme | Subfze | Neg => Class {
            reads: FIELD_A,
            writes: FIELD_D,
            records: true,
            ..simple
        },
        Ori | Oris | Xori | Xoris => Class {
            reads: FIELD_D,
            writes: FIELD_A,
            ..simple
        },
        Andi | Andis => Class {
            reads: FIELD_D,
            writes: FIELD_A,
            sets_cr: true,
            ..simple
        },
        Rlwinm | Srawi | Cntlzw | Extsb | Extsh => Class {
            reads: FIELD_D,
            writes: FIELD_A,
            records: true,
            ..simple
        },
        Rlwimi => Class {
            reads: FIELD_D | FIELD_A,
            writes: FIELD_A,
            records: true,
            ..simple
        },
        Rlwnm | And | Andc | Or | Orc | Xor | Nor | Nand | Eqv | Slw | Srw | Sraw => Class {
            reads: FIELD_D | FIELD_B,
            writes: FIELD_A,
            records: true,
            ..simple
        },
        Cmpi | Cmpli => Class {
            reads: FIELD_A,
            sets_cr: true,
            ..simple
        },
        Cmp | Cmpl => Class {
            reads: FIELD_A | FIELD_B,
            sets_cr: true,
            ..simple
        },
        Twi => Class {
            reads: FIELD_A,
            ..simple
        },
        Tw => Class {
            reads: FIELD_A | FIELD_B,
            ..simple
        },
        Mcrf | Crnor | Crandc | Crxor | Crnand | Crand | Creqv | Crorc | Cror => Class {
            sets_cr: true,
            ..simple
        },
        Mfcr => Class {
            cost: timing.cr_move.min(255) as u8,
            writes: FIELD_D,
            ..simple
        },
        Mtcrf => Class {
            cost: timing.cr_move.min(255) as u8,
            reads: FIELD_D,
            sets_cr: true,
            ..simple
        },
        Mcrxr => Class {
            sets_cr: true,
            ..serial(timing.spr_core)
        },

        B | Ba | Bl | Bla | Bc | Bca | Bcl | Bcla | Bclr | Bclrl | Bcctr | Bcctrl => Class {
            unit: Unit::Branch,
            ..simple
        },

        Lwz | Lbz | Lhz | Lha => Class {
            unit: Unit::Load,
            reads: FIELD_A,
            writes: FIELD_D,
            ..simple
        },
        Lwzu | Lbzu | Lhzu | Lhau => Class {
            unit: Unit::Load,
            reads: FIELD_A,
            writes: FIELD_D | FIELD_A,
            ..simple
        },
        Lwzx | Lbzx | Lhzx | Lhax | Lwbrx | Lhbrx => Class {
            unit: Unit::Load,
            reads: FIELD_A | FIELD_B,
            writes: FIELD_D,
            ..simple
        },
        Lwzux | Lbzux | Lhzux | Lhaux => Class {
            unit: Unit::Load,
            reads: FIELD_A | FIELD_B,
            writes: FIELD_D | FIELD_A,
            ..simple
        },
        Stw | Stb | Sth => Class {
            unit: Unit::Store,
            reads: FIELD_D | FIELD_A,
            ..simple
        },
        Stwu | Stbu | Sthu => Class {
            unit: Unit::Store,
            reads: FIELD_D | FIELD_A,
            writes: FIELD_A,
            ..simple
        },
        Stwx | Stbx | Sthx | Stwbrx | Sthbrx => Class {
            unit: Unit::Store,
            reads: FIELD_D | FIELD_A | FIELD_B,
            ..simple
        },
        Stwux | Stbux | Sthux => Class {
            unit: Unit::Store,
            reads: FIELD_D | FIELD_A | FIELD_B,
            writes: FIELD_A,
            ..simple
        },
        Lmw | Stmw => Class {
            unit: Unit::Sequence,
            ..serial(timing.multiple_base)
        },
        Lswi | Lswx | Stswi | Stswx => Class {
            unit: Unit::Sequence,
            ..serial(timing.string_base)
        },
        Lwarx => Class {
            unit: Unit::Load,
            writes: FIELD_D,
            ..serial(timing.reserve)
        },
        Stwcx => Class {
            unit: Unit::Store,
            sets_cr: true,
            ..serial(timing.reserve)
        },

        Mfspr | Mtspr => {
            let (reads, writes) = if op == Mtspr { (FIELD_D, 0) } else { (0, FIELD_D) };
            Class {
                unit: Unit::Spr,
                reads,
                writes,
                ..simple
            }
        }
        Mftb => Class {
            writes: FIELD_D,
            ..serial(timing.spr_off_core)
        },
        Mfmsr => Class {
            writes: FIELD_D,
            ..serial(timing.mfmsr)
        },
        Sc | Rfi | Isync | Mtmsr => serial(1),
        Sync => serial(timing.reserve),
        Eieio | Tlbsync => simple,
        Dcbt | Dcbtst => Class {
            reads: FIELD_A | FIELD_B,
            ..simple
        },
        // What dcbz costs beyond its issue depends on the cache; the instruction adds it.
        Dcbz => Class {
            unit: Unit::Store,
            reads: FIELD_A | FIELD_B,
            ..simple
        },
        Dcbst | Dcbf | Dcbi | Icbi => Class {
            unit: Unit::Store,
            cost: timing.cache_operation.min(255) as u8,
            reads: FIELD_A | FIELD_B,
            ..simple
        },
        Tlbie | Tlbia => serial(timing.tlb_invalidate),
    }
}
