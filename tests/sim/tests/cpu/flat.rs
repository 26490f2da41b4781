//! A flat memory from address 0, one device page, interrupt lines that a test sets by hand.

use mpc8xx_sim::bus::{Bus, BusError, BusSpr, BusTiming, CycleKind, DirectPage, Lines, Width};
use mpc8xx_sim::cpu::{Budget, Stop};
use mpc8xx_sim::machine::Machine;
use mpc8xx_sim::part;

/// A page that answers every load with its address and remembers the last store.
pub const DEVICE: u32 = 0xFF00_0000;

/// Memory and lines.
pub struct Flat {
    pub memory: Vec<u8>,
    pub lines: Lines,
    pub event: u64,
    pub last_store: Option<(u32, Width, u32)>,
    pub decrementer: u32,
    pub checkstop_resets: bool,
    pub map_generation: u32,
    /// Addresses that may be cached but that nothing answers.
    pub phantom: std::ops::Range<u32>,
}

impl Flat {
    pub fn new(bytes: usize) -> Flat {
        Flat {
            memory: vec![0; bytes],
            lines: Lines::default(),
            event: u64::MAX,
            last_store: None,
            decrementer: 0,
            checkstop_resets: false,
            map_generation: 0,
            phantom: 0..0,
        }
    }
}

impl Bus for Flat {
    fn memory(&self) -> &[u8] {
        &self.memory
    }

    fn memory_mut(&mut self) -> &mut [u8] {
        &mut self.memory
    }

    fn direct(&self, address: u32) -> Option<DirectPage> {
        let offset = (address & !0xFFF) as usize;
        (offset < self.memory.len()).then_some(DirectPage { offset, writable: true })
    }

    fn map_generation(&self) -> u32 {
        self.map_generation
    }

    fn cacheable(&self, address: u32) -> bool {
        (address as usize) < self.memory.len() || self.phantom.contains(&address)
    }

    fn read(&mut self, address: u32, _: Width, _: u64) -> Result<u32, BusError> {
        if address & !0xFFF == DEVICE {
            Ok(address)
        } else {
            Err(BusError { address })
        }
    }

    fn write(&mut self, address: u32, width: Width, value: u32, _: u64) -> Result<(), BusError> {
        if address & !0xFFF != DEVICE {
            return Err(BusError { address });
        }
        self.last_store = Some((address, width, value));
        Ok(())
    }

    /// A memory controller programmed as on the CMPC885: 132 MHz core, 66 MHz bus, one bus clock to start a cycle.
    fn timing(&self, _: u32, kind: CycleKind) -> BusTiming {
        let bus = |critical: u32, beat: u32, total: u32| BusTiming {
            critical: 2 * (critical + 1),
            beat: 2 * beat,
            total: 2 * (total + 1),
        };
        match kind {
            CycleKind::SingleRead => bus(4, 0, 6),
            CycleKind::SingleWrite => bus(2, 0, 7),
            CycleKind::BurstRead => bus(4, 1, 8),
            CycleKind::BurstWrite => bus(2, 1, 9),
        }
    }

    fn bus_ratio(&self) -> u32 {
        2
    }

    fn next_event(&self) -> u64 {
        self.event
    }

    fn advance(&mut self, now: u64) {
        if now >= self.event {
            self.event = u64::MAX;
            self.lines.decrementer = true;
        }
    }

    fn lines(&self) -> Lines {
        self.lines
    }

    fn acknowledge_decrementer(&mut self) {
        self.lines.decrementer = false;
    }

    fn acknowledge_nmi(&mut self) {
        self.lines.nmi = false;
    }

    fn spr_read(&mut self, spr: BusSpr, now: u64) -> u32 {
        match spr {
            BusSpr::Tbl => (now / 16) as u32,
            BusSpr::Tbu => (now >> 36) as u32,
            BusSpr::Dec => self.decrementer,
            BusSpr::Immr => DEVICE,
        }
    }

    fn spr_write(&mut self, spr: BusSpr, value: u32, _: u64) {
        if spr == BusSpr::Dec {
            self.decrementer = value;
        }
    }

    fn checkstop(&mut self, _: u64) -> bool {
        self.checkstop_resets
    }

    fn hard_reset(&mut self, _: u64) -> bool {
        self.lines = Lines::default();
        true
    }
}

/// A machine of this part with 4 MiB of memory; both caches and full-speed fetch on, translation off, MSR = ME | RI.
pub fn machine_of(part: &str) -> Machine<Flat> {
    let mut machine = Machine::new(part::by_name(part).unwrap(), Flat::new(4 << 20));
    machine.cpu.enter_image(0x1_0000);
    machine.cpu.write_spr(&mut machine.bus, 568, 0x0200_0000).unwrap();
    // Every vector holds a branch to itself, so that an exception ends the run at its vector.
    for vector in (0x100..0x2000).step_by(0x100) {
        put(&mut machine, vector, &[super::asm::b(0)]);
    }
    machine
}

/// The same for the MPC885.
pub fn machine() -> Machine<Flat> {
    machine_of("885")
}

/// Stores instruction words at a physical address.
pub fn put(machine: &mut Machine<Flat>, address: u32, words: &[u32]) {
    for (index, word) in words.iter().enumerate() {
        let at = address as usize + 4 * index;
        machine.bus.memory[at..at + 4].copy_from_slice(&word.to_be_bytes());
    }
    machine.cpu.forget();
}

/// A word of memory.
pub fn word(machine: &Machine<Flat>, address: u32) -> u32 {
    let at = address as usize;
    u32::from_be_bytes(machine.bus.memory[at..at + 4].try_into().unwrap())
}

/// Puts a program at 0x1_0000 and runs it until something ends it; a branch to itself is added at its end.
pub fn run(machine: &mut Machine<Flat>, words: &[u32]) -> Stop {
    put(machine, 0x1_0000, words);
    put(machine, 0x1_0000 + 4 * words.len() as u32, &[super::asm::b(0)]);
    machine.cpu.pc = 0x1_0000;
    machine.run(Budget::instructions(1_000_000))
}
