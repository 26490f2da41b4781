//! The firmware on a simulated board that stands still inside an open user-access window, so that any routine of the
//! user-access assembly can be called from there with arguments of the test's own, and be disturbed on its way.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use mpc8xx_sim::board::{self, leave_as_u_boot};
use mpc8xx_sim::bus::{Bus, BusSpr};
use mpc8xx_sim::cpu::exception::Vector;
use mpc8xx_sim::cpu::observer::Observer;
use mpc8xx_sim::cpu::{Budget, Cpu, Stop};
use mpc8xx_sim::load::board_info::Layout;
use mpc8xx_sim::load::{HandOver, Image, start};
use mpc8xx_sim::machine::Machine;
use mpc8xx_sim::soc::Soc;
use mpc8xx_sim::soc::console::Terminal;
use mpc8xx_sim::soc::inject::{BusFaults, Direction, Fault};
use zeronull_image::board::Board;
use zeronull_image::elf::Elf;
use zeronull_image::image::{self, ImageOptions};
use zeronull_image::session::PROMPT;

/// Of the firmware's memory map: where its selftests map two pages, and what follows them without access.
pub const AREA: u32 = 0x1000_0000;
pub const EDGE: u32 = AREA + 0x2000;
const KERNEL_BASE: u32 = 0xc000_0000;

/// Extended opcode of `dcbz`, and bytes of the line that it clears.
const DCBZ: u32 = 1014;
const LINE: u32 = 16;

/// MD_AP, whose value is the window's state, and the values (reference manual, chapter 8).
const MD_AP: u32 = 794;
const OPEN: u32 = 0x4000_0000;
const CLOSED: u32 = 0x6000_0000;
/// M_TWB: the first-level table in force.
const M_TWB: u32 = 796;

/// The registers of a call: r0–r31, CR, CTR, XER, LR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registers {
    pub gpr: [u32; 32],
    pub cr: u32,
    pub ctr: u32,
    pub xer: u32,
    pub lr: u32,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It returned.
    Return,
    /// The kernel took an exception for a fault of its own.
    KernelFault,
}

/// A point between two instructions of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The next instruction.
    pub pc: u32,
    /// What it accesses: effective addresses.
    pub operand: Option<(u32, u32)>,
}

/// What disturbs a call, at the point of this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// The decrementer.
    Timer(usize),
    /// What the instruction accesses answers with an error, once or as long as the call lasts.
    BusError { point: usize, lasts: bool },
}

/// A call that has ended.
#[derive(Clone, Debug)]
pub struct Called {
    pub ending: Ending,
    pub registers: Registers,
    pub points: Vec<Point>,
}

/// Looks for the points of a call and stops at one.
struct Watch<'a> {
    text: Rc<BTreeMap<u32, u32>>,
    return_address: u32,
    kernel_fault: u32,
    trap_dispatch: u32,
    points: Vec<Point>,
    stop_at: Option<usize>,
    /// The point at which the run stopped is not a new one.
    last: Option<u32>,
    interrupted: &'a mut BTreeSet<u32>,
    open_in_handler: bool,
}

impl Observer for Watch<'_> {
    const DATA: bool = false;

    fn before(&mut self, cpu: &Cpu) -> bool {
        let pc = cpu.pc;
        if pc == self.trap_dispatch && cpu.mmu.read(MD_AP) != Some(CLOSED) {
            self.open_in_handler = true;
        }
        let Some(word) = self.text.get(&pc) else {
            return pc != self.return_address && pc != self.kernel_fault;
        };
        // An instruction that is executed again, behind a TLB miss or an interrupt, is the same point.
        if self.last.replace(pc) != Some(pc) {
            self.points.push(Point {
                pc,
                operand: operand(cpu, *word),
            });
            return self.stop_at != Some(self.points.len() - 1);
        }
        true
    }

    fn exception(&mut self, pc: u32, vector: Vector) {
        if vector == Vector::Decrementer {
            self.interrupted.insert(pc);
        }
    }
}

/// The board.
pub struct Bench {
    machine: Machine<Soc>,
    terminal: Terminal,
    console: String,
    symbols: BTreeMap<String, u32>,
    text: Rc<BTreeMap<u32, u32>>,
    /// Registers and MSR of the firmware while it stands still, and where it does.
    saved: Option<(Registers, u32)>,
    stands_at: u32,
    /// Every instruction of the routines that the decrementer has interrupted.
    pub interrupted: BTreeSet<u32>,
}

impl Bench {
    /// Boots the firmware to its prompt.
    pub fn boot() -> Self {
        let built = image::build(&ImageOptions::new(Board::Mcr3000)).unwrap_or_else(|error| panic!("{error}"));
        let file = std::fs::read(built.elf()).expect("the image can be read");
        let elf = Elf::parse(&file).expect("a good ELF file");
        let symbols: BTreeMap<String, u32> = elf
            .symbols()
            .expect("a good symbol table")
            .into_iter()
            .map(|symbol| (symbol.name, symbol.address))
            .collect();
        let routines = symbols["__uaccess_start"]..symbols["__uaccess_end"];
        let text = routines
            .clone()
            .step_by(4)
            .map(|address| (address, word(&elf, address)));
        let text = Rc::new(text.collect());

        let board = board::by_name("mcr3000").expect("the board");
        let terminal = Terminal::default();
        let options = board::Options {
            console: Box::new(terminal.clone()),
            instant_transmission: true,
            ..board::Options::default()
        };
        let mut soc = board.power_on(options).expect("a board");
        leave_as_u_boot(&mut soc, board);
        let container = std::fs::read(built.uimage()).expect("the image can be read");
        let image = Image::parse(&container, 0).expect("an image");
        let hand_over = HandOver::BoardInfo {
            layout: Layout::New,
            bootargs: String::new(),
            initrd: None,
        };
        let entry = start(&mut soc, board, &image, hand_over).expect("room for the image");
        let vectors_high = soc.exception_prefix();
        let mut machine = Machine::new(board.part(), soc);
        machine.cpu.reset(vectors_high);
        machine.cpu.enter_image(entry.pc);
        machine.cpu.write_msr(entry.msr);
        machine.cpu.lr = entry.lr;
        for (number, value) in entry.gpr {
            machine.cpu.set_gpr(number, value);
        }
        let mut bench = Self {
            machine,
            terminal,
            console: String::new(),
            symbols,
            text,
            saved: None,
            stands_at: 0,
            interrupted: BTreeSet::new(),
        };
        bench.expect_prompt();
        bench
    }

    /// The address of a symbol.
    pub fn symbol(&self, name: &str) -> u32 {
        *self.symbols.get(name).unwrap_or_else(|| panic!("no symbol {name}"))
    }

    /// The address of the one function whose mangled name ends with `path` and a hash.
    fn function(&self, path: &str) -> u32 {
        let found: Vec<u32> = self
            .symbols
            .iter()
            .filter(|(name, _)| name.contains(path))
            .map(|(_, address)| *address)
            .collect();
        assert_eq!(found.len(), 1, "functions {path}");
        found[0]
    }

    /// The words of the routines, by address.
    pub fn text(&self) -> &BTreeMap<u32, u32> {
        &self.text
    }

    /// Types a line.
    pub fn type_line(&mut self, line: &str) {
        let now = self.machine.cpu.now();
        self.terminal.type_bytes(now, format!("{line}\r").as_bytes());
        self.machine.bus.console_changed(now);
    }

    /// Runs to the next prompt; gives what came before it.
    pub fn expect_prompt(&mut self) -> String {
        for _ in 0..2000 {
            let stop = self.machine.run(Budget::instructions(1_000_000));
            assert_eq!(stop, Stop::Budget, "{}", self.console);
            self.console += &self.terminal.take_text();
            if self.console.ends_with(PROMPT) {
                return std::mem::take(&mut self.console).replace("\r\n", "\n");
            }
        }
        panic!("no prompt: {}", self.console);
    }

    /// Runs until a routine is about to be called, and stands still there.
    pub fn run_to(&mut self, routine: &str) {
        struct Until(u32);
        impl Observer for Until {
            const DATA: bool = false;
            fn before(&mut self, cpu: &Cpu) -> bool {
                cpu.pc != self.0
            }
        }
        let pc = self.symbol(routine);
        let stop = self
            .machine
            .run_observed(Budget::instructions(100_000_000), &mut Until(pc));
        assert_eq!(stop, Stop::Observer { pc });
        assert_eq!(self.window(), OPEN, "the window is open around the call");
        self.saved = Some((self.registers(), self.machine.cpu.msr()));
        self.stands_at = pc;
    }

    /// Puts the registers back with which [`Bench::run_to`] stood still, so that the firmware can go on.
    pub fn resume(&mut self) {
        let (registers, msr) = self.saved.take().expect("the board stands still");
        self.set_registers(&registers, msr);
        self.machine.cpu.pc = self.stands_at;
    }

    fn window(&self) -> u32 {
        self.machine.cpu.mmu.read(MD_AP).expect("MD_AP")
    }

    fn registers(&self) -> Registers {
        let cpu = &self.machine.cpu;
        Registers {
            gpr: std::array::from_fn(|index| cpu.gpr(index)),
            cr: cpu.cr,
            ctr: cpu.ctr,
            xer: cpu.xer,
            lr: cpu.lr,
        }
    }

    fn set_registers(&mut self, registers: &Registers, msr: u32) {
        let cpu = &mut self.machine.cpu;
        for (index, value) in registers.gpr.into_iter().enumerate() {
            cpu.set_gpr(index, value);
        }
        (cpu.cr, cpu.ctr, cpu.xer, cpu.lr) = (registers.cr, registers.ctr, registers.xer, registers.lr);
        cpu.write_msr(msr);
    }

    /// Physical address behind an effective one, by the tables in force.
    fn physical(&self, address: u32) -> usize {
        if address >= KERNEL_BASE {
            return (address - KERNEL_BASE) as usize;
        }
        let word = |at: u32| {
            let bytes = &self.machine.bus.memory()[at as usize..][..4];
            u32::from_be_bytes(bytes.try_into().expect("four bytes"))
        };
        let root = self.machine.cpu.mmu.read(M_TWB).expect("M_TWB") & !0xfff;
        let second = word(root + (address >> 20 & 0xffc)) & !0xfff;
        let entry = word(second + (address >> 10 & 0xffc));
        assert!(entry & 1 != 0, "{address:#x} is not mapped");
        (entry & !0xfff | address & 0xfff) as usize
    }

    /// Writes memory, byte by byte past the core.
    pub fn write(&mut self, address: u32, bytes: &[u8]) {
        for (at, byte) in (address..).zip(bytes) {
            let physical = self.physical(at);
            self.machine.bus.memory_mut()[physical] = *byte;
        }
    }

    /// Reads memory past the core.
    pub fn read(&self, address: u32, length: u32) -> Vec<u8> {
        (address..address + length)
            .map(|at| self.machine.bus.memory()[self.physical(at)])
            .collect()
    }

    /// Calls a routine from within the window, and disturbs it.
    pub fn call(&mut self, routine: &str, arguments: &[u32], disturbances: &[Disturbance]) -> Called {
        let (saved, msr) = self.saved.clone().expect("the board stands still");
        self.set_registers(&saved, msr);
        for (index, value) in arguments.iter().enumerate() {
            self.machine.cpu.set_gpr(3 + index, *value);
        }
        // Whatever the routine may not touch must come back.
        for index in 14..32 {
            self.machine.cpu.set_gpr(index, 0xcafe_0000 | index as u32);
        }
        self.machine.cpu.pc = self.symbol(routine);
        let timers = disturbances
            .iter()
            .filter(|d| matches!(d, Disturbance::Timer(_)))
            .count();
        let before = self.machine.cpu.exceptions()[9];
        let mut interrupted = std::mem::take(&mut self.interrupted);
        let mut watch = Watch {
            text: Rc::clone(&self.text),
            return_address: saved.lr,
            kernel_fault: self.function("6kernel12kernel_fault"),
            trap_dispatch: self.symbol("trap_dispatch"),
            points: Vec::new(),
            stop_at: None,
            last: None,
            interrupted: &mut interrupted,
            open_in_handler: false,
        };
        for disturbance in disturbances {
            let (Disturbance::Timer(point) | Disturbance::BusError { point, .. }) = *disturbance;
            watch.stop_at = Some(point);
            self.run(&mut watch);
            let pc = self.machine.cpu.pc;
            assert_eq!(
                watch.points.len(),
                point + 1,
                "{routine} {arguments:x?}: no point {point} at {pc:#x}"
            );
            self.disturb(*disturbance);
        }
        watch.stop_at = None;
        self.run(&mut watch);
        let points = std::mem::take(&mut watch.points);
        assert!(!watch.open_in_handler, "{routine}: the window is open in a handler");
        self.interrupted = interrupted;

        let external = self.machine.bus.external_mut();
        external.faults = BusFaults::default();
        external.generation = external.generation.wrapping_add(1);
        self.console += &self.terminal.take_text();
        let pc = self.machine.cpu.pc;
        let ending = if pc == saved.lr {
            Ending::Return
        } else {
            Ending::KernelFault
        };
        if ending == Ending::Return {
            assert_eq!(self.window(), OPEN, "{routine}: the window after the call");
            let passed = self.machine.cpu.exceptions()[9] - before;
            assert!(passed >= timers as u64, "{routine}: {passed} interrupts for {timers}");
        } else {
            self.machine.cpu.mmu.write(MD_AP, OPEN);
        }
        Called {
            ending,
            registers: self.registers(),
            points,
        }
    }

    fn run(&mut self, watch: &mut Watch<'_>) {
        let stop = self.machine.run_observed(Budget::instructions(2_000_000), watch);
        let pc = self.machine.cpu.pc;
        assert_eq!(stop, Stop::Observer { pc }, "{}", self.console);
    }

    fn disturb(&mut self, disturbance: Disturbance) {
        let now = self.machine.cpu.now();
        match disturbance {
            Disturbance::Timer(_) => {
                self.machine.bus.spr_write(BusSpr::Dec, 1, now);
                self.machine.bus.spr_write(BusSpr::Dec, u32::MAX, now);
            }
            Disturbance::BusError { lasts, .. } => {
                let pc = self.machine.cpu.pc;
                let (address, length) = operand(&self.machine.cpu, self.text[&pc]).expect("an access");
                let first = self.physical(address) as u32;
                // Not beyond the page, behind which another frame is.
                let last = (first + length - 1).min(first | 0xfff);
                let fault = Fault::BusError {
                    range: first..=last,
                    direction: Direction::Either,
                    nth: (!lasts).then_some(1),
                };
                self.machine.bus.inject(fault, now);
            }
        }
    }
}

/// Address and length of what an instruction would access now (Programming Environments Manual, chapter 8).
fn operand(cpu: &Cpu, word: u32) -> Option<(u32, u32)> {
    let gpr = |field: u32| cpu.gpr((word >> field & 31) as usize);
    let base = if word >> 16 & 31 == 0 { 0 } else { gpr(16) };
    let displaced = base.wrapping_add(word as i16 as u32);
    match word >> 26 {
        31 if word >> 1 & 0x3ff == DCBZ => Some((base.wrapping_add(gpr(11)) & !(LINE - 1), LINE)),
        32 | 33 | 36 | 37 => Some((displaced, 4)),
        34 | 35 | 38 | 39 => Some((displaced, 1)),
        40 | 41 | 44 | 45 => Some((displaced, 2)),
        _ => None,
    }
}

/// The instruction at an address of the image.
fn word(elf: &Elf<'_>, address: u32) -> u32 {
    let word = elf.segments.iter().find_map(|segment| {
        let offset = address.checked_sub(segment.virtual_address)? as usize;
        let bytes = elf.segment_bytes(segment).ok()?.get(offset..offset + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    });
    word.unwrap_or_else(|| panic!("nothing at {address:#010x}"))
}
