//! A board with a terminal, run until its output says something.

use mpc8xx_sim::board::{self, Board, Options, leave_as_u_boot};
use mpc8xx_sim::bus::Bus;
use mpc8xx_sim::cpu::{Budget, Stop};
use mpc8xx_sim::load::{Entry, HandOver, Image, start};
use mpc8xx_sim::machine::Machine;
use mpc8xx_sim::soc::Soc;
use mpc8xx_sim::soc::console::Terminal;

/// Core clocks between two looks at the terminal: 10 ms at 132 MHz.
const SLICE: u64 = 1_320_000;

/// A machine and what its console has said.
pub struct Board8xx {
    pub machine: Machine<Soc>,
    pub terminal: Terminal,
    pub output: String,
    /// How much of the output earlier expectations have consumed.
    matched: usize,
}

/// The board with this name.
pub fn board(name: &str) -> &'static Board {
    board::by_name(name).expect("the board is in the table")
}

/// Options with a patient terminal, and the terminal.
pub fn options() -> (Options, Terminal) {
    let terminal = Terminal::default();
    let options = Options {
        console: Box::new(terminal.clone()),
        terminal_waits: true,
        ..Options::default()
    };
    (options, terminal)
}

impl Board8xx {
    /// A board at its reset vector.
    pub fn at_reset(board: &Board, options: Options, terminal: Terminal) -> Self {
        let soc = board.power_on(options).expect("the board can be built");
        let mut machine = Machine::new(board.part(), soc);
        machine.cpu.reset(machine.bus.exception_prefix());
        Self::over(machine, terminal)
    }

    /// A machine that has not run yet.
    pub fn over(machine: Machine<Soc>, terminal: Terminal) -> Self {
        Self {
            machine,
            terminal,
            output: String::new(),
            matched: 0,
        }
    }

    /// A board that its U-Boot has just left for `image`.
    pub fn started(board: &Board, options: Options, terminal: Terminal, image: &Image, hand_over: HandOver) -> Self {
        let soc = board.power_on(options).expect("the board can be built");
        Self::left(board, soc, terminal, image, hand_over)
    }

    /// The same for a board that something has been done to since it was switched on.
    pub fn left(board: &Board, mut soc: Soc, terminal: Terminal, image: &Image, hand_over: HandOver) -> Self {
        leave_as_u_boot(&mut soc, board);
        let Entry { pc, msr, gpr, lr } = start(&mut soc, board, image, hand_over).expect("the image can be placed");
        let mut machine = Machine::new(board.part(), soc);
        machine.cpu.enter_image(pc);
        machine.cpu.write_msr(msr);
        machine.cpu.lr = lr;
        for (number, value) in gpr {
            machine.cpu.set_gpr(number, value);
        }
        Self::over(machine, terminal)
    }

    /// Takes over what the console has said since.
    pub fn collect(&mut self) {
        let text = self.terminal.take_text();
        self.output.push_str(&text);
    }

    /// Runs until the output contains `text` after the last match. Panics with the output when the machine stops
    /// first, or after `seconds` of simulated time.
    pub fn expect(&mut self, text: &str, seconds: u64) {
        let limit = self.machine.cpu.now() + seconds * self.machine.bus.core_hz();
        loop {
            if let Some(at) = self.output[self.matched..].find(text) {
                self.matched += at + text.len();
                return;
            }
            let stop = self.machine.run(Budget::clocks(SLICE));
            if stop != Stop::Budget {
                self.drain();
            }
            self.collect();
            if self.output[self.matched..].contains(text) {
                continue;
            }
            assert_eq!(stop, Stop::Budget, "before {text:?}; output:\n{}", self.output);
            assert!(
                self.machine.cpu.now() < limit,
                "{text:?} did not come within {seconds} s, pc {:#x}; output:\n{}",
                self.machine.cpu.pc,
                self.output
            );
        }
    }

    /// Later expectations are about what is still to come.
    pub fn consume(&mut self) {
        self.matched = self.output.len();
    }

    /// Types `text` at the terminal.
    pub fn send(&mut self, text: &str) {
        let now = self.machine.cpu.now();
        self.terminal.type_bytes(now, text.as_bytes());
        self.machine.bus.console_changed(now);
    }

    /// Runs until the machine stops by itself, at most `seconds` of simulated time.
    pub fn run_to_end(&mut self, seconds: u64) -> Stop {
        let stop = self.machine.run(Budget::clocks(seconds * self.machine.bus.core_hz()));
        self.drain();
        self.collect();
        stop
    }

    /// Lets what is on the wire arrive after the core has stopped.
    fn drain(&mut self) {
        let now = self.machine.cpu.now();
        self.machine.bus.advance(now + SLICE);
    }
}
