//! The core of an MPC8xx: a single-issue 32-bit PowerPC without floating point, its MMU and its caches.
//!
//! A map for readers, from the instruction word outwards:
//!
//! - `decode`: the table of instructions. [`exec`]: what each does.
//! - `registers`: names of bits and SPR numbers. [`exception`]: vectors and entry.
//! - `mmu`: the two TLBs. [`memory`]: a data access from effective address to bus. [`fetch`]: the same for
//!   instructions, with the store of decoded ones.
//! - `cache`: the caches and their command registers.
//! - `pipeline`: when instructions issue. `timing`: every constant of that, with its source.
//! - `debug`: breakpoint comparators, ICR, DER.
//! - `run`: the loop, interrupts, single steps. [`observer`]: how to look on.
//!
//! Facts carry a tag where it matters: \[V\] read in the source named, \[R\] recalled from a manual, \[M\] measured on real
//! boards, \[A\] assumed.
//!
//! The core knows time as core clocks ([`Cpu::now`]). Without the cycle model every instruction takes one clock.
//! Nothing here depends on the host: same memory, same devices, same trace.

pub mod cache;
pub mod debug;
pub mod decode;
pub mod exception;
mod exec;
mod fetch;
mod memory;
pub mod mmu;
pub mod observer;
mod pipeline;
pub mod registers;
mod run;
pub mod timing;

use crate::bus::Bus;
use crate::part::Part;
use cache::Caches;
use debug::Debug;
use decode::{Decoded, ZERO};
use exception::Trap;
use fetch::CodeStore;
use mmu::Mmu;
use mmu::page_cache::{Context, PageCache};
use pipeline::Pipeline;
use registers::{msr, xer};
use timing::Timing;

pub use run::{Budget, Halt, Stop};

/// What an instruction needs besides the core itself.
pub(crate) struct Env<'a, B, O> {
    pub(crate) bus: &'a mut B,
    pub(crate) observer: &'a mut O,
}

/// Behaviour on which silicon, manuals and wishes differ; the default is the hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quirks {
    /// `dcbz`, `dcbi`, `dcbf`, `dcbst` and `icbi` leave DAR alone on a DTLB error, and `dcbst` reports a store \[V\].
    pub cache_instructions_keep_dar: bool,
    /// `dcbz` of cache-inhibited or write-through memory, or with the data cache off, raises an alignment exception;
    /// otherwise it zeroes memory. No manual that could be read says which \[A\].
    pub dcbz_needs_copy_back: bool,
    /// Erratum CPU15 is there: where it could execute a wrong instruction the run ends, because nothing says which.
    pub cpu15: bool,
    /// Two TLB entries that match the same access end the run; otherwise the lower index is used.
    pub stop_on_duplicate_entries: bool,
    /// A hard reset ends the run; otherwise the core starts again at its reset vector.
    pub stop_on_reset: bool,
}

impl Default for Quirks {
    fn default() -> Self {
        Quirks {
            cache_instructions_keep_dar: true,
            dcbz_needs_copy_back: true,
            cpu15: true,
            stop_on_duplicate_entries: true,
            stop_on_reset: false,
        }
    }
}

/// The core.
#[derive(Clone, Debug)]
pub struct Cpu {
    /// General-purpose registers; the slots from [`ZERO`] on stay 0 and serve `rA|0`.
    gpr: [u32; 64],
    /// Address of the next instruction.
    pub pc: u32,
    next_pc: u32,
    /// Condition register.
    pub cr: u32,
    /// Fixed-point exception register.
    pub xer: u32,
    /// Link register.
    pub lr: u32,
    /// Count register.
    pub ctr: u32,
    msr: u32,
    /// Save/restore register 0.
    pub srr0: u32,
    /// Save/restore register 1.
    pub srr1: u32,
    /// Data address register.
    pub dar: u32,
    /// DSI status register.
    pub dsisr: u32,
    /// SPRG0 to SPRG3.
    pub sprg: [u32; 4],
    /// Memory management.
    pub mmu: Mmu,
    /// Caches and their control registers.
    pub caches: Caches,
    /// Development support.
    pub debug: Debug,
    /// Switches.
    pub quirks: Quirks,
    part: Part,
    reservation: bool,
    /// Core clocks since power-on.
    now: u64,
    /// Instructions completed since power-on.
    instructions: u64,
    /// Exceptions taken since power-on, by vector number divided by 0x100.
    exceptions: [u64; 32],
    /// The fast loop runs until this clock; 0 makes it look at interrupts, events and limits first.
    deadline: u64,
    map_generation: u32,
    branch_taken: bool,
    returned: bool,
    data_break: Option<u32>,
    observer_stop: bool,
    data_pages: PageCache<2>,
    fetch_pages: PageCache<1>,
    code: CodeStore,
    /// The last instruction that did not come through the window.
    fetched: Decoded,
    /// The cycle model is on.
    timed: bool,
    pipeline: Pipeline,
}

impl Cpu {
    /// A core of this part in its reset state, vectors at 0.
    pub fn new(part: &Part) -> Cpu {
        let mut cpu = Cpu {
            gpr: [0; 64],
            pc: 0,
            next_pc: 0,
            cr: 0,
            xer: 0,
            lr: 0,
            ctr: 0,
            msr: 0,
            srr0: 0,
            srr1: 0,
            dar: 0,
            dsisr: 0,
            sprg: [0; 4],
            mmu: Mmu::new(part),
            caches: Caches::new(part),
            debug: Debug::default(),
            quirks: Quirks::default(),
            part: *part,
            reservation: false,
            now: 0,
            instructions: 0,
            exceptions: [0; 32],
            deadline: 0,
            map_generation: 0,
            branch_taken: false,
            returned: false,
            data_break: None,
            observer_stop: false,
            data_pages: PageCache::default(),
            fetch_pages: PageCache::default(),
            code: CodeStore::default(),
            fetched: Decoded::UNFILLED,
            timed: false,
            pipeline: Pipeline::default(),
        };
        cpu.reset(false);
        cpu
    }

    /// Hard reset: PC at the reset vector, MSR 0 but for IP, caches off but not invalidated, MMU control registers at
    /// their defaults (MPC801 User's Manual 10.5.1, the kernel's start-up code). Registers keep their content, which
    /// is as undefined as any; clocks and counters go on.
    pub fn reset(&mut self, vectors_high: bool) {
        self.mmu = Mmu::new(&self.part);
        self.mmu.stop_on_duplicate = self.quirks.stop_on_duplicate_entries;
        self.caches.reset();
        self.debug.reset();
        self.reservation = false;
        self.data_pages.clear();
        self.fetch_pages.clear();
        self.pc = if vectors_high { 0xFFF0_0100 } else { 0x0000_0100 };
        self.write_msr(if vectors_high { msr::IP } else { 0 });
        self.select_contexts();
    }

    /// The state in which a boot loader hands over: translation and interrupts off, machine checks on, instruction
    /// cache on and data cache off, as U-Boot leaves them, execution at `pc`.
    pub fn enter_image(&mut self, pc: u32) {
        self.pc = pc & !3;
        self.caches.invalidate_all();
        self.caches.instruction.enable();
        self.debug.fetch_at_full_speed();
        self.write_msr(msr::ME | msr::RI);
    }

    /// Turns the cycle model on or off. Without it every instruction takes one clock and the data cache is
    /// transparent, so it is written back first.
    pub fn set_timed<B: Bus>(&mut self, bus: &mut B, timed: bool) {
        if self.timed && !timed {
            self.flush_data_cache(bus);
        }
        self.timed = timed;
        self.pipeline = Pipeline::new(self.pipeline.timing().clone());
        self.pipeline.follow_map(bus, self.now);
        self.forget();
    }

    /// Whether the cycle model is on.
    pub fn is_timed(&self) -> bool {
        self.timed
    }

    /// The constants of the cycle model.
    pub fn timing(&self) -> &Timing {
        self.pipeline.timing()
    }

    /// Replaces the constants of the cycle model; the pipeline starts empty.
    pub fn set_timing<B: Bus>(&mut self, bus: &B, timing: Timing) {
        self.pipeline = Pipeline::new(timing);
        self.pipeline.follow_map(bus, self.now);
    }

    /// The part this core belongs to.
    pub fn part(&self) -> &Part {
        &self.part
    }

    /// General-purpose register `index` (0 to 31).
    pub fn gpr(&self, index: usize) -> u32 {
        self.gpr[index & 31]
    }

    /// Sets general-purpose register `index` (0 to 31).
    pub fn set_gpr(&mut self, index: usize, value: u32) {
        self.gpr[index & 31] = value;
    }

    /// Machine state register.
    pub fn msr(&self) -> u32 {
        self.msr
    }

    /// Sets the machine state register, with everything that follows from it.
    pub fn write_msr(&mut self, value: u32) {
        let changed = self.msr ^ value;
        self.msr = value;
        self.deadline = 0;
        if changed & (msr::IR | msr::DR | msr::PR) != 0 {
            self.select_contexts();
        }
    }

    /// Core clocks since power-on.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Instructions completed since power-on.
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// Exceptions taken since power-on, at the index of their vector divided by 0x100.
    pub fn exceptions(&self) -> &[u64; 32] {
        &self.exceptions
    }

    /// Forgets every decoded instruction and every remembered translation: for whoever changes memory or registers
    /// from outside (loaders, debuggers).
    pub fn forget(&mut self) {
        self.caches.forget_instructions();
        self.data_pages.clear();
        self.fetch_pages.clear();
        self.code.clear();
        self.select_contexts();
        self.deadline = 0;
    }

    #[inline(always)]
    fn get(&self, index: u8) -> u32 {
        self.gpr[usize::from(index & 63)]
    }

    #[inline(always)]
    fn set(&mut self, index: u8, value: u32) {
        self.gpr[usize::from(index & 31)] = value;
    }

    #[inline(always)]
    fn ea_immediate(&self, d: Decoded) -> u32 {
        self.get(d.a).wrapping_add(d.imm)
    }

    #[inline(always)]
    fn ea_indexed(&self, d: Decoded) -> u32 {
        self.get(d.a).wrapping_add(self.get(d.b))
    }

    fn string_count(&self) -> u32 {
        self.xer & xer::COUNT
    }

    #[inline(always)]
    fn branch_to(&mut self, target: u32) {
        self.next_pc = target;
        self.branch_taken = true;
    }

    fn problem_state(&self) -> bool {
        self.msr & msr::PR != 0
    }

    /// Follows a change of MSR or of the MMU's modes, groups or address space.
    fn select_contexts(&mut self) {
        let context = |side: &mmu::Side, translated: bool| Context {
            translated,
            problem_state: self.msr & msr::PR != 0,
            control: side.control(),
            groups: if translated { side.groups() } else { 0 },
            casid: if translated { self.mmu.casid() } else { 0 },
        };
        let instruction = context(&self.mmu.instruction, self.msr & msr::IR != 0);
        let data = context(&self.mmu.data, self.msr & msr::DR != 0);
        self.fetch_pages.select(instruction);
        self.data_pages.select(data);
        self.code.close_window();
    }

    /// Notices that the map of memory changed under the remembered pages.
    fn follow_map<B: Bus>(&mut self, bus: &B) {
        let generation = bus.map_generation();
        if generation != self.map_generation {
            self.map_generation = generation;
            self.data_pages.clear();
            self.fetch_pages.clear();
            self.code.close_window();
            self.pipeline.follow_map(bus, self.now);
        }
    }
}

/// Registers beyond ZERO would let a decoding slip write to the constant.
const _: () = assert!(ZERO == 32);
