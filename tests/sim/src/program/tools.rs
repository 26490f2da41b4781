//! Everything that looks on while the core runs, behind one observer.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use mpc8xx_sim::cpu::decode::Decoded;
use mpc8xx_sim::cpu::exception::Vector;
use mpc8xx_sim::cpu::mmu::tlb::Access;
use mpc8xx_sim::cpu::observer::Observer;
use mpc8xx_sim::cpu::{Budget, Cpu, Stop};
use mpc8xx_sim::machine::Machine;
use mpc8xx_sim::soc::Soc;

use super::profile::Profile;
use super::trace::Trace;

/// The accesses on which a watchpoint stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// Stores.
    Stores,
    /// Loads.
    Loads,
    /// Both.
    Both,
}

/// A range of effective addresses to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watchpoint {
    /// Addresses.
    pub range: RangeInclusive<u32>,
    /// Accesses.
    pub kind: Watched,
}

/// Where a debugger wants the run to stop.
#[derive(Debug, Default)]
pub struct Stops {
    /// Addresses of instructions before which to stop.
    pub breakpoints: HashSet<u32>,
    /// Data accesses after which to stop.
    pub watchpoints: Vec<Watchpoint>,
    /// The access that has stopped the run.
    pub hit: Option<(u32, Watched)>,
}

/// The onlookers of a run.
#[derive(Default)]
pub struct Tools {
    /// `--profile`.
    pub profile: Option<Profile>,
    /// `--trace`.
    pub trace: Option<Trace>,
    /// `--gdb`.
    pub stops: Stops,
}

impl Tools {
    /// Runs the machine with as little observation as there is need for.
    pub fn run(&mut self, machine: &mut Machine<Soc>, budget: Budget) -> Stop {
        if !self.stops.watchpoints.is_empty() {
            machine.run_observed(budget, &mut Looking::<true>(self))
        } else if self.profile.is_some() || self.trace.is_some() || !self.stops.breakpoints.is_empty() {
            machine.run_observed(budget, &mut Looking::<false>(self))
        } else {
            machine.run(budget)
        }
    }
}

/// The observer; `DATA` says whether it sees data accesses too.
struct Looking<'a, const DATA: bool>(&'a mut Tools);

impl<const DATA: bool> Observer for Looking<'_, DATA> {
    const DATA: bool = DATA;

    fn before(&mut self, cpu: &Cpu) -> bool {
        let tools = &mut *self.0;
        if tools.stops.breakpoints.contains(&cpu.pc) {
            return false;
        }
        if let Some(profile) = &mut tools.profile {
            profile.before(cpu);
        }
        if let Some(trace) = &mut tools.trace {
            trace.before(cpu);
        }
        true
    }

    fn after(&mut self, pc: u32, instruction: Decoded, clocks: u64) {
        if let Some(profile) = &mut self.0.profile {
            profile.after(pc, clocks);
        }
        if let Some(trace) = &mut self.0.trace {
            trace.after(pc, instruction);
        }
    }

    fn data(&mut self, address: u32, bytes: u32, access: Access) -> bool {
        let last = address.saturating_add(bytes.max(1) - 1);
        let kind = if access == Access::Store {
            Watched::Stores
        } else {
            Watched::Loads
        };
        let stops = &mut self.0.stops;
        let hit = stops.watchpoints.iter().find(|watchpoint| {
            (watchpoint.kind == kind || watchpoint.kind == Watched::Both)
                && *watchpoint.range.start() <= last
                && *watchpoint.range.end() >= address
        });
        match hit {
            Some(watchpoint) => {
                stops.hit = Some((address.max(*watchpoint.range.start()), watchpoint.kind));
                false
            }
            None => true,
        }
    }

    fn exception(&mut self, pc: u32, vector: Vector) {
        // The access has not taken place; it will be tried again.
        self.0.stops.hit = None;
        if let Some(profile) = &mut self.0.profile {
            profile.exception(pc, vector);
        }
        if let Some(trace) = &mut self.0.trace {
            trace.exception(pc, vector);
        }
    }

    fn cache_miss(&mut self, pc: u32, access: Access) {
        if let Some(profile) = &mut self.0.profile {
            profile.cache_miss(pc, access);
        }
    }
}
