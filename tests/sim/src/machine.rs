//! A core on a board.

use crate::bus::Bus;
use crate::cpu::observer::{NoObserver, Observer};
use crate::cpu::{Budget, Cpu, Stop};
use crate::part::Part;

/// A core and what surrounds it.
#[derive(Clone, Debug)]
pub struct Machine<B: Bus> {
    /// The core.
    pub cpu: Cpu,
    /// The rest of the chip and the board.
    pub bus: B,
}

impl<B: Bus> Machine<B> {
    /// A machine in its reset state, without the cycle model.
    pub fn new(part: &Part, bus: B) -> Machine<B> {
        Machine {
            cpu: Cpu::new(part),
            bus,
        }
    }

    /// Runs until something ends it.
    pub fn run(&mut self, budget: Budget) -> Stop {
        self.run_observed(budget, &mut NoObserver)
    }

    /// Runs with someone looking on.
    pub fn run_observed<O: Observer>(&mut self, budget: Budget, observer: &mut O) -> Stop {
        self.cpu.run(&mut self.bus, observer, budget)
    }

    /// Turns the cycle model on or off.
    pub fn set_timed(&mut self, timed: bool) {
        self.cpu.set_timed(&mut self.bus, timed);
    }

    /// Takes what interrupt is due and executes one instruction; `None` if there is no reason to stop.
    pub fn step(&mut self) -> Option<Stop> {
        self.cpu.single_step(&mut self.bus)
    }

    /// Reads memory through the current translation, without side effects; `None` where there is no plain memory.
    pub fn peek(&self, address: u32, buffer: &mut [u8]) -> Option<()> {
        self.cpu.peek(&self.bus, address, buffer)
    }

    /// Writes memory through the current translation, without side effects; `None` where there is no plain memory.
    pub fn poke(&mut self, address: u32, bytes: &[u8]) -> Option<()> {
        self.cpu.poke(&mut self.bus, address, bytes)
    }
}
