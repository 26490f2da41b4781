//! The loop: events and interrupts, the fast path, single steps for trace and breakpoints.
//!
//! [`Cpu::run`] alternates between a slow look around ([`Cpu::look_around`]) and a fast loop that executes until the
//! clock reaches the deadline: the next device event or the end of the budget. Whatever could make an interrupt or an
//! event due earlier (a store to a device, a change of MSR) sets the deadline to 0.

use super::decode::Op;
use super::exception::{Exception, Resume, Trap, Vector};
use super::observer::{NoObserver, Observer};
use super::registers::msr;
use super::{Cpu, Env, exec};
use crate::bus::Bus;

/// How far a run may go, from where it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Instructions.
    pub instructions: u64,
    /// Core clocks, which also pass while the core sleeps.
    pub clocks: u64,
}

impl Budget {
    /// No limit.
    pub const UNLIMITED: Budget = Budget {
        instructions: u64::MAX,
        clocks: u64::MAX,
    };

    /// So many instructions, however long they take.
    pub fn instructions(instructions: u64) -> Budget {
        Budget {
            instructions,
            ..Budget::UNLIMITED
        }
    }

    /// So many core clocks.
    pub fn clocks(clocks: u64) -> Budget {
        Budget {
            clocks,
            ..Budget::UNLIMITED
        }
    }
}

/// The ways in which software gives up the core for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// A branch to itself with interrupts disabled, or with none that could ever come.
    BranchToItself,
    /// MSR\[POW\] with interrupts disabled, or with none that could ever come.
    PowerDown,
}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The budget is used up.
    Budget,
    /// Endless halt.
    Halt {
        /// Address of the instruction at which the core halted.
        pc: u32,
        /// How.
        how: Halt,
    },
    /// Machine check with MSR\[ME\] off.
    Checkstop {
        /// Address of the instruction.
        pc: u32,
        /// Effective address of the data access, if it was one.
        address: Option<u32>,
    },
    /// Hard reset, where the switch says that it ends the run.
    Reset,
    /// A debugger on the development port would have control now.
    DebugMode {
        /// Value of SRR0.
        pc: u32,
        /// The cause that DER selects.
        cause: &'static str,
    },
    /// The hardware's behaviour is undefined, or the simulator does not model it.
    Impossible {
        /// Address of the instruction.
        pc: u32,
        /// What happened, with the numbers.
        text: String,
    },
    /// The observer asked for it; the instruction at this address has not been executed.
    Observer {
        /// Address of the next instruction.
        pc: u32,
    },
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stop::Budget => write!(f, "budget used up"),
            Stop::Halt {
                pc,
                how: Halt::BranchToItself,
            } => write!(f, "endless halt: branch to itself at {pc:#010x}"),
            Stop::Halt {
                pc,
                how: Halt::PowerDown,
            } => write!(f, "endless halt: power down at {pc:#010x}"),
            Stop::Checkstop {
                pc,
                address: Some(address),
            } => {
                write!(
                    f,
                    "checkstop at {pc:#010x}: bus error at {address:#010x} with MSR[ME] off"
                )
            }
            Stop::Checkstop { pc, address: None } => {
                write!(
                    f,
                    "checkstop at {pc:#010x}: bus error of an instruction fetch with MSR[ME] off"
                )
            }
            Stop::Reset => write!(f, "hard reset"),
            Stop::DebugMode { pc, cause } => write!(f, "debug mode at {pc:#010x}: {cause}"),
            Stop::Impossible { pc, text } => write!(f, "{text} at {pc:#010x}"),
            Stop::Observer { pc } => write!(f, "stopped by the observer at {pc:#010x}"),
        }
    }
}

/// More instructions than the model can execute beyond one a clock.
const FOLDED: u64 = 16;

impl Cpu {
    /// Runs until something ends it.
    pub fn run<B: Bus, O: Observer>(&mut self, bus: &mut B, observer: &mut O, budget: Budget) -> Stop {
        if self.timed {
            self.run_as::<B, O, true>(bus, observer, budget)
        } else {
            self.run_as::<B, O, false>(bus, observer, budget)
        }
    }

    /// Takes what interrupt is due and executes one instruction, or enters one exception.
    pub fn single_step<B: Bus>(&mut self, bus: &mut B) -> Option<Stop> {
        let mut env = Env {
            bus,
            observer: &mut NoObserver,
        };
        self.follow_map(env.bus);
        let step = self
            .look_around(&mut env, u64::MAX)
            .and_then(|()| match (self.timed, self.single_steps()) {
                (true, true) => self.step_with_checks::<B, NoObserver, true>(&mut env),
                (true, false) => self.step::<B, NoObserver, true>(&mut env),
                (false, true) => self.step_with_checks::<B, NoObserver, false>(&mut env),
                (false, false) => self.step::<B, NoObserver, false>(&mut env),
            });
        step.err()
    }

    fn run_as<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        bus: &mut B,
        observer: &mut O,
        budget: Budget,
    ) -> Stop {
        let last_instruction = self.instructions.saturating_add(budget.instructions);
        let last_clock = self.now.saturating_add(budget.clocks);
        let mut env = Env { bus, observer };
        self.follow_map(env.bus);
        loop {
            if self.instructions >= last_instruction || self.now >= last_clock {
                return Stop::Budget;
            }
            if let Err(stop) = self.look_around(&mut env, last_clock) {
                return stop;
            }
            // Branches may take no clock of their own, but no more of them than the queue holds.
            let left = last_instruction - self.instructions;
            let left = if TIMED { left.saturating_sub(FOLDED) } else { left };
            let step = if self.single_steps() {
                self.step_with_checks::<B, O, TIMED>(&mut env)
            } else if left == 0 {
                self.step::<B, O, TIMED>(&mut env)
            } else {
                self.deadline = env.bus.next_event().min(self.now.saturating_add(left)).min(last_clock);
                self.fast_loop::<B, O, TIMED>(&mut env)
            };
            if let Err(stop) = step {
                return stop;
            }
        }
    }

    /// Brings the devices up to date and takes what interrupt is due.
    fn look_around<B: Bus, O: Observer>(&mut self, env: &mut Env<'_, B, O>, last_clock: u64) -> Result<(), Stop> {
        if self.msr & msr::LE != 0 {
            return Err(self.impossible("little-endian mode is not modelled: MSR[LE] is set".to_string()));
        }
        if env.bus.next_event() <= self.now {
            env.bus.advance(self.now);
            self.follow_map(env.bus);
        }
        while self.msr & msr::POW != 0 && !env.bus.lines().any() {
            let event = env.bus.next_event();
            if self.msr & msr::EE == 0 || event == u64::MAX {
                return Err(Stop::Halt {
                    pc: self.pc.wrapping_sub(4),
                    how: Halt::PowerDown,
                });
            }
            self.now = self.now.max(event.min(last_clock));
            if self.now >= last_clock {
                return Err(Stop::Budget);
            }
            env.bus.advance(self.now);
            self.follow_map(env.bus);
        }
        let lines = env.bus.lines();
        if !lines.any() {
            return Ok(());
        }
        if lines.reset {
            return self.hard_reset(env.bus);
        }
        let vector = if lines.nmi {
            env.bus.acknowledge_nmi();
            Vector::SystemReset
        } else if self.msr & msr::EE == 0 {
            return Ok(());
        } else if lines.external {
            Vector::External
        } else {
            env.bus.acknowledge_decrementer();
            Vector::Decrementer
        };
        self.raise(env, Exception::plain(vector, Resume::Here))
    }

    /// The fast loop: until the deadline, or until something sets it to 0.
    fn fast_loop<B: Bus, O: Observer, const TIMED: bool>(&mut self, env: &mut Env<'_, B, O>) -> Result<(), Stop> {
        while self.now < self.deadline {
            self.step::<B, O, TIMED>(env)?;
        }
        Ok(())
    }

    /// One instruction.
    #[inline(always)]
    fn step<B: Bus, O: Observer, const TIMED: bool>(&mut self, env: &mut Env<'_, B, O>) -> Result<(), Stop> {
        if O::INSTRUCTIONS && !env.observer.before(self) {
            return Err(Stop::Observer { pc: self.pc });
        }
        let before = self.now;
        let pc = self.pc;
        self.next_pc = pc.wrapping_add(4);
        let shown = self.is_in_window::<TIMED>() && (TIMED || self.window_slot::<TIMED>().op != Op::Unfilled);
        if !shown {
            match self.fetch_slowly::<B, O, TIMED>(env) {
                Ok(instruction) => self.fetched = instruction,
                Err(trap) => {
                    if TIMED {
                        self.wait_for_front();
                    } else {
                        self.now += 1;
                    }
                    return self.trap(env, trap);
                }
            }
        }
        let instruction = *if shown {
            self.window_slot::<TIMED>()
        } else {
            &self.fetched
        };
        let class = self.class_of(instruction);
        if TIMED {
            self.issue(instruction, class);
        }
        match exec::exec::<B, O, TIMED>(self, env, instruction) {
            Ok(()) => {
                if TIMED {
                    self.retire(instruction, class, pc);
                } else {
                    self.now += 1;
                }
                self.instructions += 1;
                self.pc = self.next_pc;
            }
            Err(trap) => {
                if !TIMED {
                    self.now += 1;
                }
                self.trap(env, trap)?;
            }
        }
        if O::INSTRUCTIONS {
            env.observer.after(pc, instruction, self.now - before);
        }
        if O::DATA && std::mem::take(&mut self.observer_stop) {
            return Err(Stop::Observer { pc: self.pc });
        }
        Ok(())
    }

    /// Whether trace or a breakpoint comparator must be looked at around every instruction.
    fn single_steps(&self) -> bool {
        self.msr & (msr::SE | msr::BE) != 0 || self.debug.watches_instructions() || self.debug.watches_data()
    }

    /// One instruction with trace and the breakpoint comparators.
    #[cold]
    fn step_with_checks<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
    ) -> Result<(), Stop> {
        let state = self.msr;
        let taken_before: u64 = self.exceptions.iter().sum();
        if self.debug.breaks_at(self.pc, state) && self.fetch_permitted() {
            return self.raise(env, Exception::plain(Vector::InstructionBreakpoint, Resume::Here));
        }
        self.branch_taken = false;
        self.returned = false;
        self.data_break = None;
        self.step::<B, O, TIMED>(env)?;
        let faulted = self.exceptions.iter().sum::<u64>() != taken_before;
        if faulted {
            return Ok(());
        }
        // SRR0 is the next instruction, which pc already is.
        if let Some(address) = self.data_break.take() {
            self.debug.set_bar(address);
            return self.raise(env, Exception::plain(Vector::DataBreakpoint, Resume::Here));
        }
        // The state before the instruction decides; `rfi` is never traced.
        let traced = state & msr::SE != 0 || state & msr::BE != 0 && self.branch_taken;
        if traced && !self.returned {
            return self.raise(env, Exception::plain(Vector::Trace, Resume::Here));
        }
        Ok(())
    }

    /// Deals with what came out of an instruction instead of its result.
    #[cold]
    fn trap<B: Bus, O: Observer>(&mut self, env: &mut Env<'_, B, O>, trap: Trap) -> Result<(), Stop> {
        match trap {
            Trap::Exception(exception) => {
                // A system call has completed; everything else will be executed again.
                if exception.vector == Vector::SystemCall {
                    self.instructions += 1;
                }
                self.raise(env, exception)
            }
            Trap::Stop(stop) => Err(*stop),
        }
    }

    fn raise<B: Bus, O: Observer>(&mut self, env: &mut Env<'_, B, O>, exception: Exception) -> Result<(), Stop> {
        let pc = self.pc;
        self.enter(env.bus, exception)?;
        if O::INSTRUCTIONS {
            env.observer.exception(pc, exception.vector);
        }
        Ok(())
    }

    pub(super) fn impossible(&self, text: String) -> Stop {
        Stop::Impossible { pc: self.pc, text }
    }
}
