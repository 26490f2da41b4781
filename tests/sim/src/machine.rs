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
    /// Whether the cycle model runs; without it every instruction takes one clock.
    pub timed: bool,
}

impl<B: Bus> Machine<B> {
    /// A machine in its reset state, without the cycle model.
    pub fn new(part: &Part, bus: B) -> Machine<B> {
        Machine {
            cpu: Cpu::new(part),
            bus,
            timed: false,
        }
    }

    /// Runs until something ends it.
    pub fn run(&mut self, budget: Budget) -> Stop {
        self.run_observed(budget, &mut NoObserver)
    }

    /// Runs with someone looking on.
    pub fn run_observed<O: Observer>(&mut self, budget: Budget, observer: &mut O) -> Stop {
        if self.timed {
            self.cpu.run::<B, O, true>(&mut self.bus, observer, budget)
        } else {
            self.cpu.run::<B, O, false>(&mut self.bus, observer, budget)
        }
    }

    /// Executes one instruction, or takes one exception.
    pub fn step(&mut self) -> Stop {
        self.run(Budget::clocks(1))
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
