//! What an onlooker of the core can see: instructions, data accesses, exceptions.
//!
//! [`Cpu::run`](super::Cpu::run) is compiled once for each kind of observer, so that a run without one pays nothing.

use super::Cpu;
use super::decode::Decoded;
use super::exception::Vector;
use super::mmu::tlb::Access;

/// An onlooker. Every method has an empty default.
pub trait Observer {
    /// Whether [`Observer::before`] and [`Observer::after`] are called at all.
    const INSTRUCTIONS: bool = true;
    /// Whether [`Observer::data`] is called at all.
    const DATA: bool = true;

    /// Before the instruction at [`Cpu::pc`]; `false` ends the run with [`Stop::Observer`](super::Stop::Observer)
    /// before it executes.
    fn before(&mut self, cpu: &Cpu) -> bool {
        let _ = cpu;
        true
    }

    /// After the instruction at `pc` has completed (or raised an exception), which took `clocks` core clocks.
    fn after(&mut self, pc: u32, instruction: Decoded, clocks: u64) {
        let _ = (pc, instruction, clocks);
    }

    /// Before a data access; `false` ends the run with [`Stop::Observer`](super::Stop::Observer) after the instruction.
    fn data(&mut self, address: u32, bytes: u32, access: Access) -> bool {
        let _ = (address, bytes, access);
        true
    }

    /// An exception was taken; `pc` is the instruction that it interrupted.
    fn exception(&mut self, pc: u32, vector: Vector) {
        let _ = (pc, vector);
    }

    /// A line had to be fetched into the instruction or data cache on behalf of the instruction at `pc`.
    fn cache_miss(&mut self, pc: u32, access: Access) {
        let _ = (pc, access);
    }
}

/// Nobody is looking.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    const INSTRUCTIONS: bool = false;
    const DATA: bool = false;
}

/// Two onlookers at once, for instance a profile and a debugger.
impl<A: Observer, B: Observer> Observer for (A, B) {
    const INSTRUCTIONS: bool = A::INSTRUCTIONS || B::INSTRUCTIONS;
    const DATA: bool = A::DATA || B::DATA;

    fn before(&mut self, cpu: &Cpu) -> bool {
        let first = self.0.before(cpu);
        self.1.before(cpu) && first
    }

    fn after(&mut self, pc: u32, instruction: Decoded, clocks: u64) {
        self.0.after(pc, instruction, clocks);
        self.1.after(pc, instruction, clocks);
    }

    fn data(&mut self, address: u32, bytes: u32, access: Access) -> bool {
        let first = self.0.data(address, bytes, access);
        self.1.data(address, bytes, access) && first
    }

    fn exception(&mut self, pc: u32, vector: Vector) {
        self.0.exception(pc, vector);
        self.1.exception(pc, vector);
    }

    fn cache_miss(&mut self, pc: u32, access: Access) {
        self.0.cache_miss(pc, access);
        self.1.cache_miss(pc, access);
    }
}

/// An onlooker by reference, so that its owner keeps it between runs.
impl<O: Observer> Observer for &mut O {
    const INSTRUCTIONS: bool = O::INSTRUCTIONS;
    const DATA: bool = O::DATA;

    fn before(&mut self, cpu: &Cpu) -> bool {
        (**self).before(cpu)
    }

    fn after(&mut self, pc: u32, instruction: Decoded, clocks: u64) {
        (**self).after(pc, instruction, clocks);
    }

    fn data(&mut self, address: u32, bytes: u32, access: Access) -> bool {
        (**self).data(address, bytes, access)
    }

    fn exception(&mut self, pc: u32, vector: Vector) {
        (**self).exception(pc, vector);
    }

    fn cache_miss(&mut self, pc: u32, access: Access) {
        (**self).cache_miss(pc, access);
    }
}
