//! The run: the machine in slices, and between two of them whatever the outside has to do with it: console, script,
//! faults, budgets, the flash's file.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mpc8xx_sim::bus::Bus;
use mpc8xx_sim::cpu::{Budget, Stop};
use mpc8xx_sim::machine::Machine;
use mpc8xx_sim::soc::Soc;
use mpc8xx_sim::soc::console::{Symbol, Terminal};

use super::console::{Console, Typed};
use super::failure::Failure;
use super::fault::Order;
use super::options::{Destination, Options, number};
use super::outcome::{self, End, Expectation};
use super::profile::{self, Interval, Profile};
use super::report;
use super::script::{Script, Wish};
use super::setup;
use super::stacks::Stacks;
use super::symbols::Symbols;
use super::time::{Elapsed, SECOND, from_seconds};
use super::tools::Tools;
use super::trace::Trace;

/// Time between two looks at the outside: short enough for a person and for the answers of a script.
const SLICE: u64 = SECOND / 100;
/// How long the chip may go on sending after the core has halted, and how long without a character.
const DRAIN: u64 = 5 * SECOND;
const DRAIN_SILENCE: u64 = SECOND / 20;
/// What is kept of the console for messages and the verdict.
const TAIL_BYTES: usize = 65_536;
/// How often a changed flash is written to its file.
const FLASH_INTERVAL: u64 = SECOND;
/// A host that was away longer than that does not catch up.
const MOST_LAG: Duration = Duration::from_millis(100);

/// A board and everything around it.
pub struct Session {
    /// The machine.
    pub machine: Machine<Soc>,
    /// Who looks on.
    pub tools: Tools,
    symbols: Symbols,
    stacks: Option<Stacks>,
    terminal: Terminal,
    console: Console,
    script: Option<Script>,
    /// Faults to come, by their clock.
    orders: VecDeque<Order>,
    max_instructions: u64,
    max_nanoseconds: u64,
    flash: Option<PathBuf>,
    flash_checked: u64,
    elapsed: Elapsed,
    tail: Vec<u8>,
    pace: Option<Pace>,
    expectation: Expectation,
}

/// Holds simulated time back to real time, for a person at the console.
struct Pace {
    real: Instant,
    simulated: u64,
}

impl Session {
    /// A session that has not executed anything.
    ///
    /// # Errors
    /// A file cannot be read or is broken, the board cannot be built, the host has no such console.
    pub fn new(options: &Options) -> Result<Self, Failure> {
        let script = match &options.script {
            Some(path) => {
                let text = String::from_utf8(setup::read(path)?)
                    .map_err(|_| Failure::failed(format!("script {} is not UTF-8", path.display())))?;
                Some(Script::parse(path, &text)?)
            }
            None => None,
        };
        let setup::Board { machine, terminal } = setup::board(options)?;
        let mut orders = options.faults.clone();
        orders.sort_by_key(|order| order.from);
        let console = Console::open(options.console, options.takes_input())?;
        let pace = console.is_live().then(|| Pace {
            real: Instant::now(),
            simulated: 0,
        });
        let symbols = if options.profile.is_some() || options.folded.is_some() {
            Symbols::read(options)?
        } else {
            Symbols::default()
        };
        let interval = Interval {
            from: place(&symbols, "--profile-from", options.profile_from.as_deref())?,
            to: place(&symbols, "--profile-to", options.profile_to.as_deref())?,
        };
        let mut session = Self {
            machine,
            tools: Tools {
                profile: options.profile.is_some().then(|| Profile::new(interval)),
                trace: Trace::open(options)?,
                ..Tools::default()
            },
            symbols,
            stacks: options.folded.is_some().then(Stacks::new),
            terminal,
            console,
            script,
            orders: orders.into(),
            max_instructions: options.max_instructions.unwrap_or(u64::MAX),
            max_nanoseconds: options.max_seconds.map_or(u64::MAX, from_seconds),
            flash: options.flash.clone(),
            flash_checked: 0,
            elapsed: Elapsed::default(),
            tail: Vec::new(),
            pace,
            expectation: Expectation {
                needs_verdict: options.commands.is_some(),
                exit_on_reset: options.exit_on_reset,
            },
        };
        session.arm_faults();
        Ok(session)
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// The script fails, or the host does not take the console or the flash any more.
    pub fn run(&mut self) -> Result<End, Failure> {
        loop {
            if let Some(end) = self.slice()? {
                return Ok(end);
            }
        }
    }

    /// Runs one slice and does what has to be done after it; gives the end if that was it.
    ///
    /// # Errors
    /// As [`Session::run`].
    pub fn slice(&mut self) -> Result<Option<End>, Failure> {
        self.step(u64::MAX)
    }

    /// The same for one instruction, with the exception or interrupt before it if one is due.
    ///
    /// # Errors
    /// As [`Session::run`].
    pub fn single_step(&mut self) -> Result<Option<End>, Failure> {
        self.step(1)
    }

    /// At most so many instructions of a slice, and what has to be done after them.
    fn step(&mut self, instructions: u64) -> Result<Option<End>, Failure> {
        let now = self.elapsed.nanoseconds();
        let mut until = now.saturating_add(SLICE).min(self.max_nanoseconds);
        match self.follow_script()? {
            Some(Wish::Wait { until: wanted }) => until = until.min(wanted),
            Some(Wish::Done) => return Ok(Some(End::Script)),
            Some(Wish::Type(_)) | None => {}
        }
        let done = self.machine.cpu.instructions();
        let stop = self.run_until(until, done.saturating_add(instructions).min(self.max_instructions));
        let end = match stop {
            Stop::Budget if self.machine.cpu.instructions() >= self.max_instructions => Some(End::Instructions),
            Stop::Budget if self.elapsed.nanoseconds() >= self.max_nanoseconds => Some(End::Seconds),
            Stop::Budget => None,
            stop => Some(End::Guest(stop)),
        };
        if let Some(End::Guest(Stop::Halt { .. } | Stop::Checkstop { .. })) = &end {
            self.drain();
        }
        self.pass_on_output()?;
        if let Some(end) = end {
            let has_ended = matches!(&end, End::Guest(stop) if !matches!(stop, Stop::Observer { .. }));
            if let Some(script) = self.script.as_mut().filter(|_| has_ended) {
                let now = self.elapsed.nanoseconds();
                script.ended(now, &end.to_string(), || outcome::tail(&self.tail))?;
            }
            return Ok(Some(end));
        }
        if self.elapsed.nanoseconds() >= self.flash_checked + FLASH_INTERVAL {
            self.save_flash()?;
        }
        Ok(self.listen())
    }

    /// Runs up to a point in simulated time or a count of instructions, arming faults on the way.
    fn run_until(&mut self, nanoseconds: u64, instructions: u64) -> Stop {
        loop {
            let hz = self.machine.bus.core_hz();
            let now = self.machine.cpu.now();
            let mut clocks = self.elapsed.clocks_until(nanoseconds, hz);
            if let Some(order) = self.orders.front() {
                clocks = clocks.min(order.from.saturating_sub(now).max(1));
            }
            if let Some(stacks) = &self.stacks {
                clocks = clocks.min(stacks.due - now);
            }
            let budget = Budget {
                instructions: instructions.saturating_sub(self.machine.cpu.instructions()),
                clocks,
            };
            let stop = self.tools.run(&mut self.machine, budget);
            self.elapsed.count(self.machine.cpu.now(), hz);
            self.arm_faults();
            if let Some(stacks) = &mut self.stacks {
                stacks.sample(&self.machine, &self.symbols);
            }
            let is_over = self.elapsed.nanoseconds() >= nanoseconds || self.machine.cpu.instructions() >= instructions;
            if stop != Stop::Budget || is_over {
                return stop;
            }
        }
    }

    fn arm_faults(&mut self) {
        let now = self.machine.cpu.now();
        while let Some(order) = self.orders.pop_front_if(|order| order.from <= now) {
            self.machine.bus.inject(order.fault, now);
        }
    }

    /// Lets the script go on; gives what it waits for.
    fn follow_script(&mut self) -> Result<Option<Wish>, Failure> {
        let now = self.elapsed.nanoseconds();
        while let Some(script) = &mut self.script {
            match script.advance(now, || outcome::tail(&self.tail))? {
                Wish::Type(symbols) => self.type_symbols(&symbols),
                wish => return Ok(Some(wish)),
            }
        }
        Ok(None)
    }

    fn type_symbols(&mut self, symbols: &[Symbol]) {
        let now = self.machine.cpu.now();
        for symbol in symbols {
            self.terminal.type_symbol(now, *symbol);
        }
        self.machine.bus.console_changed(now);
    }

    /// The core has halted for good, but what the CPM still has to send goes on.
    fn drain(&mut self) {
        let hz = self.machine.bus.core_hz();
        let start = self.machine.cpu.now();
        let silence = DRAIN_SILENCE * hz / SECOND;
        let (limit, mut quiet_from, mut sent) = (start + DRAIN / SECOND * hz, start, self.terminal.received());
        loop {
            let event = self.machine.bus.next_event();
            if event > limit || event > quiet_from + silence {
                return;
            }
            self.machine.bus.advance(event);
            if self.terminal.received() != sent {
                (quiet_from, sent) = (event, self.terminal.received());
            }
        }
    }

    /// Takes what the board has sent to the host's console and to the script.
    fn pass_on_output(&mut self) -> Result<(), Failure> {
        let bytes: Vec<u8> = self
            .terminal
            .take_output()
            .into_iter()
            .map(|(_, symbol)| match symbol {
                Symbol::Data(byte) | Symbol::FramingError(byte) => byte,
                Symbol::Break => 0,
            })
            .collect();
        self.tail.extend_from_slice(&bytes);
        if self.tail.len() > 2 * TAIL_BYTES {
            self.tail.drain(..self.tail.len() - TAIL_BYTES);
        }
        if let Some(script) = &mut self.script {
            script.heard(&bytes);
        }
        self.console.show(&bytes)
    }

    /// Takes what was typed, for a person not before simulated time is where real time is.
    fn listen(&mut self) -> Option<End> {
        let patience = match &mut self.pace {
            Some(pace) => pace.ahead(self.elapsed.nanoseconds()),
            None => Duration::ZERO,
        };
        match self.console.typed(patience) {
            Typed::Nothing => None,
            Typed::Quit => Some(End::Quit),
            Typed::Bytes(bytes) => {
                let symbols: Vec<Symbol> = bytes.into_iter().map(Symbol::Data).collect();
                self.type_symbols(&symbols);
                None
            }
        }
    }

    /// Writes the flash to its file if the guest has changed it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save_flash(&mut self) -> Result<(), Failure> {
        self.flash_checked = self.elapsed.nanoseconds();
        let Some(path) = &self.flash else { return Ok(()) };
        let external = self.machine.bus.external_mut();
        let Some((content, true)) = external.flash_content() else {
            return Ok(());
        };
        replace(path, content)?;
        external.flashes().for_each(|(_, flash)| flash.clear_dirty());
        Ok(())
    }

    /// Writes what the onlookers have seen.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn report(&mut self, options: &Options) -> Result<(), Failure> {
        if let Some(trace) = self.tools.trace.take() {
            trace.finish()?;
        }
        if let (Some(profile), Some(destination)) = (&self.tools.profile, &options.profile) {
            let profile = profile::Report::new(profile, &self.symbols, &self.machine.cpu, options.profile_addresses);
            let text = match destination {
                Destination::StandardError => profile.table(),
                Destination::File(_) => profile.json(),
            };
            report(destination, &text)?;
        }
        if let (Some(stacks), Some(path)) = (&self.stacks, &options.folded) {
            fs::write(path, stacks.folded()).map_err(Failure::file("write", path))?;
        }
        Ok(())
    }

    /// The status that belongs to this end, and what to say about it if anything.
    pub fn status(&self, end: &End) -> (u8, Option<String>) {
        outcome::status(end, self.expectation, &self.tail)
    }

    /// Simulated nanoseconds since power-on.
    pub fn nanoseconds(&self) -> u64 {
        self.elapsed.nanoseconds()
    }
}

/// The address that an option names.
fn place(symbols: &Symbols, option: &str, name: Option<&str>) -> Result<Option<u32>, Failure> {
    let Some(name) = name else { return Ok(None) };
    let address = number(name).or_else(|| symbols.address(name));
    let refusal = || {
        Failure::usage(format!(
            "{option} {name}: accepted are addresses and names of functions"
        ))
    };
    address.ok_or_else(refusal).map(Some)
}

impl Pace {
    /// How far `simulated` nanoseconds are ahead of real time.
    fn ahead(&mut self, simulated: u64) -> Duration {
        let real = self.real.elapsed();
        let passed = Duration::from_nanos(simulated - self.simulated);
        if real > passed + MOST_LAG {
            *self = Self {
                real: Instant::now(),
                simulated,
            };
        }
        passed.saturating_sub(real)
    }
}

/// Replaces a file, so that it is never half written.
fn replace(path: &Path, content: &[u8]) -> Result<(), Failure> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let new = PathBuf::from(new);
    fs::write(&new, content).map_err(Failure::file("write", &new))?;
    fs::rename(&new, path).map_err(Failure::file("replace", path))
}
