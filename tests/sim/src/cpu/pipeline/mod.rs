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
//! - `class`: what the model knows of each operation.
//! - `bus_master`: the bus. `accesses`: fetches, loads and stores.
//!
//! Constants are in [`timing`](super::timing).

mod accesses;
mod bus_master;
mod class;

use super::Cpu;
use super::decode::{Decoded, Op};
use super::registers::spr;
use super::timing::Timing;
use crate::bus::Bus;
use bus_master::{BusMaster, Fill};
use class::{Class, FIELD_A, FIELD_B, FIELD_D, Unit, spr_cost, spr_serialises};

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
    /// No register waits for its value from this clock on.
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
    bus: BusMaster,
    write_buffer_free: u64,
    copy_back_free: u64,
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
        let class = |number: usize| Class::of(Op::ALL.get(number).copied().unwrap_or(Op::Illegal), &timing);
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
            bus: BusMaster::default(),
            write_buffer_free: 0,
            copy_back_free: 0,
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
        self.bus.follow_map(bus, now);
    }

    fn long_operation(&mut self, until: u64, index: u64, now: u64) {
        if self.long_until <= now {
            self.long_index = index;
        }
        self.long_until = self.long_until.max(until);
        self.busy_until = self.busy_until.max(until);
    }

    /// The registers that the instruction writes have no older value on its way any more.
    fn overwrite(&mut self, d: Decoded, class: Class) {
        if class.writes(FIELD_D) {
            self.ready[usize::from(d.d & 31)] = 0;
        }
        if class.writes(FIELD_A) {
            self.ready[usize::from(d.a & 31)] = 0;
        }
    }

    /// The pipeline is emptied and the next instruction issues no earlier than `clock`.
    fn restart(&mut self, clock: u64) {
        self.front = clock - 1;
    }

    /// Waits for the registers that the instruction reads, and for a place in the completion queue.
    #[inline(never)]
    fn wait(&self, d: u8, a: u8, b: u8, reads: u8, mut at: u64, index: u64) -> u64 {
        for (field, register) in [(FIELD_D, d), (FIELD_A, a), (FIELD_B, b)] {
            if reads & field != 0 {
                at = at.max(self.ready[usize::from(register & 63)]);
            }
        }
        if at < self.long_until && index - self.long_index >= u64::from(self.timing.completion_queue) {
            at = self.long_until;
        }
        at
    }
}

impl Cpu {
    /// What the model knows of the operation of `d`.
    #[inline(always)]
    pub(super) fn class_of(&self, d: Decoded) -> Class {
        self.pipeline.classes[d.op as u8 as usize]
    }

    /// Moves the clock to the issue of `d`, if its execution depends on it: what stays inside the core is dealt with
    /// once, in [`Cpu::retire`].
    #[inline(always)]
    pub(super) fn issue(&mut self, d: Decoded, class: Class) {
        if matches!(class.unit, Unit::Branch | Unit::Simple) {
            return;
        }
        let p = &self.pipeline;
        let mut at = self.now.max(p.front + 1);
        match class.unit {
            Unit::Load => at = at.max(p.unit_free).max(p.load_after_store),
            Unit::Store | Unit::Sequence => at = at.max(p.unit_free),
            Unit::Multiply | Unit::Divide => at = at.max(p.multiplier_free),
            Unit::Simple | Unit::Branch | Unit::Serial | Unit::Spr => {}
        }
        if class.serialises() || class.unit == Unit::Spr && spr_serialises(d.imm) {
            at = at
                .max(self.now + u64::from(p.timing.serialise))
                .max(p.busy_until)
                .max(p.unit_free);
        } else if at < p.busy_until {
            at = p.wait(d.d, d.a, d.b, class.reads(), at, self.instructions);
        }
        self.now = at;
        if class.unit == Unit::Divide {
            self.start_division(d);
        }
    }

    fn start_division(&mut self, d: Decoded) {
        let (dividend, divisor) = (self.get(d.a), self.get(d.b));
        let signed = d.op == Op::Divw;
        let overflows = signed && dividend == 0x8000_0000 && divisor == u32::MAX;
        let length = if signed {
            (divisor as i32).unsigned_abs()
        } else {
            divisor
        };
        let clocks = self.pipeline.timing.divide(length, divisor != 0 && !overflows);
        self.pipeline.result_at = self.now + u64::from(clocks);
    }

    /// Moves both clocks past `d`, which was at `pc` and has been executed.
    #[inline(always)]
    pub(super) fn retire(&mut self, d: Decoded, class: Class, pc: u32) {
        match class.unit {
            Unit::Simple => self.retire_simple(d, class),
            Unit::Branch => self.retire_branch(d, pc),
            Unit::Load => self.retire_load(d, class),
            Unit::Store => self.retire_store(d, class),
            _ => self.retire_other(d),
        }
    }

    /// Both clocks go on after an instruction that issued at `at`.
    #[inline(always)]
    fn go_on(&mut self, at: u64, cost: u8) {
        self.now = at + u64::from(cost);
        let p = &mut self.pipeline;
        p.front = (p.front + 1).max(self.now.saturating_sub(u64::from(p.timing.fetch_queue)));
    }

    #[inline(always)]
    fn note_cr(&mut self, d: Decoded, class: Class, at: u64) {
        if class.sets_cr(d.rc()) {
            self.pipeline.cr_ready = at + u64::from(self.pipeline.timing.cr_to_branch);
        }
    }

    /// An instruction that takes an issue slot and no more.
    #[inline(always)]
    fn retire_simple(&mut self, d: Decoded, class: Class) {
        let p = &mut self.pipeline;
        let mut at = self.now.max(p.front + 1);
        if at < p.busy_until {
            at = p.wait(d.d, d.a, d.b, class.reads(), at, self.instructions);
            p.overwrite(d, class);
        }
        self.note_cr(d, class, at);
        self.go_on(at, class.cost);
    }

    #[inline(always)]
    fn retire_load(&mut self, d: Decoded, class: Class) {
        let at = self.now;
        let p = &mut self.pipeline;
        let until = p.result_at;
        if until > at + u64::from(p.timing.load_latency) {
            p.long_operation(until, self.instructions, at);
        } else {
            p.busy_until = p.busy_until.max(until);
        }
        if class.writes(FIELD_A) {
            p.ready[usize::from(d.a & 31)] = 0;
        }
        p.ready[usize::from(d.d & 31)] = until;
        self.go_on(at, class.cost);
    }

    #[inline(always)]
    fn retire_store(&mut self, d: Decoded, class: Class) {
        let at = self.now;
        if at < self.pipeline.busy_until {
            self.pipeline.overwrite(d, class);
        }
        self.note_cr(d, class, at);
        self.go_on(at, class.cost);
    }

    fn retire_other(&mut self, d: Decoded) {
        let class = self.class_of(d);
        let at = self.now;
        let p = &mut self.pipeline;
        let mut cost = class.cost;
        p.overwrite(d, class);
        match class.unit {
            Unit::Multiply => {
                p.result_at = at + u64::from(p.timing.multiply_latency);
                p.multiplier_free = at + 1;
                p.busy_until = p.busy_until.max(p.result_at);
                p.ready[usize::from(d.d & 31)] = p.result_at;
            }
            Unit::Divide => {
                p.multiplier_free = p.result_at;
                p.long_operation(p.result_at, self.instructions, at);
                p.ready[usize::from(d.d & 31)] = p.result_at;
            }
            Unit::Spr => cost = spr_cost(&p.timing, d.imm) as u8,
            Unit::Simple | Unit::Branch | Unit::Load | Unit::Store | Unit::Serial | Unit::Sequence => {}
        }
        self.note_cr(d, class, at);
        self.go_on(at, cost);
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
        let drained = self.now.max(p.busy_until).max(p.unit_free);
        let entry = if system_call {
            p.timing.refetch
        } else {
            p.timing.exception_entry
        };
        self.now = drained + u64::from(entry);
        p.restart(self.now);
    }

    /// Adds clocks to the instruction in execution.
    pub(super) fn spend(&mut self, clocks: u32) {
        self.now += u64::from(clocks);
    }
}
