//! The chip around the core, and the board around the chip, behind the [`Bus`] trait.
//!
//! ```text
//!                     cpu ── Bus ── Soc
//!        ┌──────────┬─────────┬──────┴──────┬───────────┬─────────┐
//!      siu       timers     clocks      cpm (smc,     ports     external
//!   interrupts,  TB, DEC,   SCCR,       cpic, line,   fec       memctl: chip selects, UPM, GPCM
//!   watchdog     RTC, PIT   PLPRCR,     dpram)                  sockets: RAM, flash, board registers
//!                           RSR            └── console          inject: faults
//! ```
//!
//! A cycle goes first to the internal memory map (64 KiB at IMMR, which wins over the chip selects), then to the
//! memory controller. Time is the core clock; nothing runs between two events: every device says when it will next
//! change something the core can see, [`Bus::next_event`] is the minimum, and [`Bus::advance`] carries all of them
//! there. Register accesses first advance to their own instant.
//!
//! Facts carry a tag where it matters: \[V\] read in a source, \[R\] recalled from a manual, \[M\] measured on real
//! boards, \[A\] assumed.
//!
//! Start reading at `Soc::read_register` for the map of the internal registers, at [`external`] for memory, and at
//! [`memctl`] for where a cycle's price comes from.

pub mod chip;
pub mod clocks;
pub mod console;
pub mod cpm;
pub mod external;
pub mod fec;
pub mod flash;
pub mod inject;
pub mod memctl;
pub mod ports;
pub mod registers;
pub mod siu;
pub mod timers;

#[cfg(test)]
mod tests;

use crate::bus::{Bus, BusError, BusSpr, BusTiming, CycleKind, DirectPage, Lines, Refresh, Width};
use crate::part::Part;
use clocks::{Clocks, rsr};
use cpm::smc::Port;
use cpm::{Cpm, Environment};
use external::{CpBuffers, ExternalBus, Socket, TransferError};
use fec::Fec;
use inject::Fault;
use memctl::{BANKS, MemoryController};
use ports::{PortName, Ports};
use registers::RegisterFile;
use siu::{Siu, WatchdogExpiry};
use timers::{Guarded, Timers};

/// Core clocks of an access to the internal memory map (registers and dual-port RAM): 3 to 5. \[A\]
pub const INTERNAL_ACCESS_CLOCKS: u32 = 4;

/// Bus clocks from the core's request to the start of the memory controller's cycle: arbitration and TS. \[A\]
pub const ARBITRATION_BUS_CLOCKS: u32 = 1;

/// The internal memory map as it is decoded.
const INTERNAL_MAP_BYTES: u32 = 0x1_0000;

/// The hard reset configuration word. Positions \[V\] MPC8xxFADS BCSR0, encodings \[R\] MPC860 User's Manual 11.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResetWord(pub u32);

impl ResetWord {
    /// MSR\[IP\] after reset: IIP inverted.
    pub fn exception_prefix(self) -> bool {
        self.0 & 0x4000_0000 == 0
    }

    fn boot_enabled(self) -> bool {
        self.0 & 0x1000_0000 == 0
    }

    /// BPS in the position of BR\[PS\].
    fn boot_port(self) -> u32 {
        (self.0 >> 16) & memctl::BR_PS
    }

    fn immr_base(self) -> u32 {
        [0x0000_0000, 0x00F0_0000, 0xFF00_0000, 0xFFF0_0000][(self.0 >> 23 & 3) as usize]
    }

    /// DBGC and DBPC in the position of SIUMCR.
    fn debug_pins(self) -> u32 {
        self.0 & 0x0078_0000
    }

    /// EBDF in the position of SCCR.
    fn ebdf(self) -> u32 {
        self.0 & 0x0006_0000
    }
}

/// What a chip on its board is made of.
pub struct Config {
    /// The part.
    pub part: &'static Part,
    /// Oscillator in Hz.
    pub oscillator_hz: u32,
    /// Hard reset configuration word.
    pub reset_word: ResetWord,
    /// PLPRCR as MODCK sets it at power-on.
    pub plprcr: u32,
    /// The content of all memories, RAM first.
    pub store: Vec<u8>,
    /// What each chip select is wired to.
    pub sockets: [Socket; BANKS],
    /// The terminals on SMC1 and SMC2.
    pub ports: [Port; 2],
    /// Serial transmission takes no time.
    pub instant_transmission: bool,
}

/// The chip and its board.
pub struct Soc {
    part: &'static Part,
    reset_word: ResetWord,
    plprcr_reset: u32,
    immr_base: u32,
    external: ExternalBus,
    siu: Siu,
    timers: Timers,
    clocks: Clocks,
    cpm: Cpm,
    ports: Ports,
    fec: Vec<Fec>,
    plain: RegisterFile,
    consoles: [Port; 2],
    instant: bool,
    bit_flips: Vec<(u64, u32, u8)>,
    nmi: bool,
    reset_cause: Option<u32>,
    next_event: u64,
    lines: Lines,
}

impl Soc {
    /// Powers the board on; the hard reset configuration word is in force.
    pub fn new(config: Config) -> Self {
        let word = config.reset_word;
        let blocks = chip::blocks(config.part);
        let clocks = Clocks::new(config.oscillator_hz, config.part.new_clock, word.ebdf(), config.plprcr);
        let mut soc = Self {
            part: config.part,
            reset_word: word,
            plprcr_reset: config.plprcr,
            immr_base: word.immr_base(),
            external: ExternalBus {
                memctl: MemoryController::new(word.boot_port(), word.boot_enabled()),
                store: config.store,
                sockets: config.sockets,
                faults: inject::BusFaults::default(),
                generation: 0,
            },
            siu: Siu::new(word.debug_pins(), 0),
            timers: Timers::new(),
            clocks,
            cpm: Cpm::new(config.part.dpram_bytes, config.part.rev_num),
            ports: Ports::new(blocks.port_e),
            fec: vec![Fec::new(); blocks.fast_ethernet_controllers],
            plain: RegisterFile::new(),
            consoles: config.ports,
            instant: config.instant_transmission,
            bit_flips: Vec::new(),
            nmi: false,
            reset_cause: None,
            next_event: 0,
            lines: Lines::default(),
        };
        soc.clocks_changed();
        soc.reschedule(0);
        soc
    }

    /// The part.
    pub fn part(&self) -> &'static Part {
        self.part
    }

    /// GCLK2 in Hz.
    pub fn core_hz(&self) -> u64 {
        self.clocks.core_hz()
    }

    /// Core clocks per bus clock.
    pub fn bus_ratio(&self) -> u32 {
        self.clocks.bus_ratio()
    }

    /// Bytes of RAM: those of the first chip select that has any.
    pub fn memory_bytes(&self) -> u32 {
        let ram = |socket: &Socket| {
            if let Socket::Ram { bytes, .. } = socket {
                Some(*bytes)
            } else {
                None
            }
        };
        self.external.sockets.iter().find_map(ram).unwrap_or(0)
    }

    /// MSR\[IP\] after reset.
    pub fn exception_prefix(&self) -> bool {
        self.reset_word.exception_prefix()
    }

    /// What is wired to the chip selects, and their content.
    pub fn external(&self) -> &ExternalBus {
        &self.external
    }

    /// The same, to load content or to look at the flash.
    pub fn external_mut(&mut self) -> &mut ExternalBus {
        &mut self.external
    }

    /// The terminal's side of SMC1 (0) or SMC2 (1). Call [`Soc::console_changed`] after giving it input.
    pub fn console_mut(&mut self, port: usize) -> &mut Port {
        &mut self.consoles[port]
    }

    /// Chooses whether serial transmission takes no time.
    pub fn set_instant_transmission(&mut self, instant: bool) {
        self.instant = instant;
    }

    /// A terminal has new input at core clock `now`.
    pub fn console_changed(&mut self, now: u64) {
        self.step_cpm(now);
        self.reschedule(now);
    }

    /// Drives the pins of a parallel port from the board.
    pub fn drive_port(&mut self, port: PortName, levels: u32) {
        self.ports.drive(port, levels);
    }

    /// Drives IRQ`pin` at core clock `now`; `asserted` means low at the package. IRQ0 is the NMI.
    pub fn drive_irq(&mut self, pin: u8, asserted: bool, now: u64) {
        self.advance(now);
        self.siu.set_pin(pin, asserted);
        self.reschedule(now);
    }

    /// Presets time base and decrementer as if they had counted there.
    pub fn preset_timers(&mut self, time_base: u64, decrementer: u32, now: u64) {
        self.timers.preset(time_base, decrementer, now);
        self.reschedule(now);
    }

    /// From core clock `now` on time base and decrementer stand still, whatever TBSCR says: a fault.
    pub fn break_time_base(&mut self, now: u64) {
        self.advance(now);
        self.timers.break_time_base(&self.clocks);
        self.reschedule(now);
    }

    /// Arms a fault at core clock `now`.
    pub fn inject(&mut self, fault: Fault, now: u64) {
        match fault {
            Fault::BusError { .. } | Fault::Poison { .. } => {
                self.external.faults.arm(fault);
                self.external.generation = self.external.generation.wrapping_add(1);
            }
            Fault::BitFlip { address, bit, at } => self.bit_flips.push((at, address, bit)),
            Fault::LostInterrupt { source, nth } => self.siu.lose_activation(source, nth),
            Fault::ConsoleGarbage { port, at, symbols } => {
                if let Some(port) = self.consoles.get_mut(port) {
                    port.noise.extend(symbols.into_iter().map(|symbol| (at, symbol)));
                }
            }
        }
        self.advance(now);
        self.reschedule(now);
    }

    /// The offset of `address` in the internal memory map.
    fn internal(&self, address: u32) -> Option<u32> {
        let offset = address.wrapping_sub(self.immr_base);
        (offset < INTERNAL_MAP_BYTES).then_some(offset)
    }

    fn step_cpm(&mut self, now: u64) {
        let mut buffers = CpBuffers {
            external: &mut self.external,
            immr_base: self.immr_base,
        };
        let mut environment = Environment {
            buffers: &mut buffers,
            ports: &mut self.consoles,
            clocks: &self.clocks,
            instant: self.instant,
        };
        self.cpm.step(now, &mut environment);
    }

    /// Tells everybody that the clock registers have changed; all have been advanced to now.
    fn clocks_changed(&mut self) {
        self.timers.update_rates(&self.clocks);
        let core_hz = self.clocks.core_hz();
        for (_, flash) in self.external.flashes() {
            flash.set_clock(core_hz);
        }
        self.external.generation = self.external.generation.wrapping_add(1);
    }

    /// Collects the interrupt levels and the time of the next event after anything has changed.
    fn reschedule(&mut self, now: u64) {
        self.siu.set_levels(self.timers.levels() | self.cpm.level());
        self.nmi |= self.siu.take_nmi_edge();
        self.lines = Lines {
            external: self.siu.external(),
            decrementer: self.timers.decrementer_pending(),
            nmi: self.nmi,
            reset: self.reset_cause.is_some(),
        };
        let flips = self.bit_flips.iter().map(|(at, ..)| *at).min().unwrap_or(u64::MAX);
        self.next_event = self
            .siu
            .next_event()
            .min(self.timers.next_event())
            .min(self.cpm.next_event())
            .min(flips)
            .max(now.saturating_add(1));
    }

    fn flip_bits(&mut self, now: u64) {
        let external = &mut self.external;
        self.bit_flips.retain(|(at, address, bit)| {
            if *at > now {
                return true;
            }
            if let Some(position) = external.position(*address) {
                external.store[position] ^= 0x80 >> (bit & 7);
                external.generation = external.generation.wrapping_add(1);
            }
            false
        });
    }

    /// Reads the register whose natural place is `offset`. The order of the blocks does not matter: each knows its own.
    fn read_register(&self, offset: u32) -> u32 {
        self.siu
            .read(offset)
            .or_else(|| self.external.memctl.read(offset))
            .or_else(|| self.timers.read(offset))
            .or_else(|| self.clocks.read(offset))
            .or_else(|| self.cpm.read(offset))
            .or_else(|| self.ports.read(offset))
            .or_else(|| {
                self.fec_register(offset)
                    .map(|(index, at)| self.fec.get(index).map_or(0, |fec| fec.read(at)))
            })
            .unwrap_or_else(|| self.plain.read(offset))
    }

    /// The controller and the offset in its block.
    fn fec_register(&self, offset: u32) -> Option<(usize, u32)> {
        match offset {
            0xE00..=0xFFF => Some((0, offset - 0xE00)),
            0x1E00..=0x1FFF => Some((1, offset - 0x1E00)),
            _ => None,
        }
    }

    /// Writes the bits of `mask` in the register at `offset`.
    fn write_register(&mut self, offset: u32, value: u32, mask: u32, now: u64) {
        if self.siu.write(offset, value, mask, now) {
            return;
        }
        if self.external.memctl.write(offset, value, mask) {
            self.external.generation = self.external.generation.wrapping_add(1);
            return;
        }
        let guard = match offset {
            0x280 => Some(Guarded::Sccr),
            0x284 => Some(Guarded::Plprcr),
            0x288 => Some(Guarded::Rsr),
            _ => None,
        };
        if let Some(guard) = guard {
            if self.timers.is_unlocked(guard) && self.clocks.write(offset, value, mask) {
                self.clocks_changed();
            }
            return;
        }
        if self.timers.write(offset, value, mask, &self.clocks) || self.ports.write(offset, value, mask) {
            return;
        }
        if let Some((index, at)) = self.fec_register(offset) {
            if let Some(fec) = self.fec.get_mut(index) {
                fec.write(at, value, mask);
            }
            return;
        }
        let mut buffers = CpBuffers {
            external: &mut self.external,
            immr_base: self.immr_base,
        };
        let mut environment = Environment {
            buffers: &mut buffers,
            ports: &mut self.consoles,
            clocks: &self.clocks,
            instant: self.instant,
        };
        if !self.cpm.write(offset, value, mask, &mut environment) {
            self.plain.write(offset, value, mask);
        }
    }

    /// One load from the internal memory map.
    fn read_internal(&mut self, offset: u32, width: Width) -> Result<u32, TransferError> {
        if registers::is_hole(offset) {
            return Err(TransferError::Timeout);
        }
        let bytes = width as u32;
        let mut value = 0;
        for at in offset..offset + bytes {
            value = value << 8 | u32::from(self.read_internal_byte(at));
        }
        Ok(value)
    }

    fn read_internal_byte(&self, offset: u32) -> u8 {
        if let Some(at) = registers::dual_port_ram(offset) {
            return self.cpm.dpram.read8(at);
        }
        let (start, size) = registers::register_at(offset);
        (self.read_register(start) >> (8 * (start + size - 1 - offset))) as u8
    }

    /// One store to the internal memory map: cut into the registers that it touches, each with the mask of the bytes
    /// written, so that a wide store to narrow registers and a narrow store to a wide one both do what the byte lanes
    /// say.
    fn write_internal(&mut self, offset: u32, width: Width, value: u32, now: u64) -> Result<(), TransferError> {
        if registers::is_hole(offset) {
            return Err(TransferError::Timeout);
        }
        let end = offset + width as u32;
        let byte_at = |at: u32| (value >> (8 * (end - 1 - at))) & 0xFF;
        let mut at = offset;
        while at < end {
            if let Some(dpram) = registers::dual_port_ram(at) {
                self.cpm.dpram.write8(dpram, byte_at(at) as u8);
                at += 1;
                continue;
            }
            let (start, size) = registers::register_at(at);
            let (mut bits, mut mask) = (0, 0);
            while at < end && at < start + size {
                let shift = 8 * (start + size - 1 - at);
                bits |= byte_at(at) << shift;
                mask |= 0xFF << shift;
                at += 1;
            }
            self.write_register(start, bits, mask, now);
        }
        self.step_cpm(now);
        self.reschedule(now);
        Ok(())
    }

    /// A cycle ended with TEA. With SYPCR\[BME\] = 0 a cycle that nothing answers would hang the bus for ever; there is
    /// nothing to gain from that here, so it ends like one with the monitor on. \[A\]
    fn fail(&mut self, address: u32, error: TransferError) -> BusError {
        self.siu.note_transfer_error(error == TransferError::Timeout, false);
        BusError { address }
    }
}

impl Bus for Soc {
    fn memory(&self) -> &[u8] {
        &self.external.store
    }

    fn memory_mut(&mut self) -> &mut [u8] {
        &mut self.external.store
    }

    fn direct(&self, address: u32) -> Option<DirectPage> {
        match self.internal(address) {
            Some(_) => None,
            None => self.external.direct(address),
        }
    }

    fn map_generation(&self) -> u32 {
        self.external.generation
    }

    fn cacheable(&self, address: u32) -> bool {
        self.internal(address).is_none()
    }

    fn read(&mut self, address: u32, width: Width, now: u64) -> Result<u32, BusError> {
        if now >= self.next_event {
            self.advance(now);
        }
        let result = match self.internal(address) {
            Some(offset) => {
                self.timers.advance(now);
                self.read_internal(offset, width)
            }
            None => self.external.read(address, width, now),
        };
        result.map_err(|error| self.fail(address, error))
    }

    fn write(&mut self, address: u32, width: Width, value: u32, now: u64) -> Result<(), BusError> {
        if now >= self.next_event {
            self.advance(now);
        }
        let result = match self.internal(address) {
            Some(offset) => {
                self.timers.advance(now);
                self.write_internal(offset, width, value, now)
            }
            None => self.external.write(address, width, value, now),
        };
        result.map_err(|error| self.fail(address, error))
    }

    fn timing(&self, address: u32, kind: CycleKind) -> BusTiming {
        if self.internal(address).is_some() {
            let beats = if matches!(kind, CycleKind::BurstRead | CycleKind::BurstWrite) {
                4
            } else {
                1
            };
            return BusTiming {
                critical: INTERNAL_ACCESS_CLOCKS,
                beat: if beats == 1 { 0 } else { INTERNAL_ACCESS_CLOCKS },
                total: INTERNAL_ACCESS_CLOCKS * beats,
            };
        }
        let memctl = &self.external.memctl;
        let Some(clocks) = memctl.bank(address).and_then(|bank| memctl.clocks(bank, kind)) else {
            let monitor = self.siu.bus_monitor_clocks();
            return BusTiming {
                critical: monitor,
                beat: 0,
                total: monitor,
            };
        };
        let ratio = self.clocks.bus_ratio();
        let intervals = clocks.acknowledges.saturating_sub(1);
        BusTiming {
            critical: (ARBITRATION_BUS_CLOCKS + clocks.first) * ratio,
            beat: if intervals == 0 {
                0
            } else {
                (clocks.last - clocks.first).div_ceil(intervals) * ratio
            },
            total: (ARBITRATION_BUS_CLOCKS + clocks.total) * ratio,
        }
    }

    fn bus_ratio(&self) -> u32 {
        self.clocks.bus_ratio()
    }

    fn refresh(&self) -> [Refresh; 2] {
        let (brgclk, ratio) = (self.clocks.brgclk_divider() as u32, self.clocks.bus_ratio());
        self.external.memctl.refresh().map(|program| match program {
            Some(program) => Refresh {
                period: program.period_brgclk.saturating_mul(brgclk),
                busy: program.busy_bus_clocks * ratio,
            },
            None => Refresh::default(),
        })
    }

    fn next_event(&self) -> u64 {
        self.next_event
    }

    fn advance(&mut self, now: u64) {
        self.timers.advance(now);
        match self.siu.advance(now) {
            Some(WatchdogExpiry::Reset) => self.reset_cause = Some(rsr::SWRS),
            Some(WatchdogExpiry::NonMaskable) => self.nmi = true,
            None => {}
        }
        self.step_cpm(now);
        if !self.bit_flips.is_empty() {
            self.flip_bits(now);
        }
        self.reschedule(now);
    }

    fn lines(&self) -> Lines {
        self.lines
    }

    fn acknowledge_decrementer(&mut self) {
        self.timers.acknowledge_decrementer();
        self.lines.decrementer = false;
        self.next_event = self.next_event.min(self.timers.next_event());
    }

    fn acknowledge_nmi(&mut self) {
        self.nmi = false;
        self.lines.nmi = false;
    }

    fn spr_read(&mut self, spr: BusSpr, now: u64) -> u32 {
        match spr {
            BusSpr::Tbl => self.timers.time_base(now) as u32,
            BusSpr::Tbu => (self.timers.time_base(now) >> 32) as u32,
            BusSpr::Dec => self.timers.decrementer(now),
            BusSpr::Immr => self.immr_base | u32::from(self.part.immr_low),
        }
    }

    fn spr_write(&mut self, spr: BusSpr, value: u32, now: u64) {
        match spr {
            BusSpr::Tbl => self.timers.write_time_base(false, value, now),
            BusSpr::Tbu => self.timers.write_time_base(true, value, now),
            BusSpr::Dec => self.timers.write_decrementer(value, now),
            BusSpr::Immr => {
                self.immr_base = value & 0xFFFF_0000;
                self.external.generation = self.external.generation.wrapping_add(1);
            }
        }
        self.reschedule(now);
    }

    fn checkstop(&mut self, now: u64) -> bool {
        let resets = self.clocks.checkstop_resets();
        if resets {
            self.reset_cause = Some(rsr::CSRS);
            self.reschedule(now);
        }
        resets
    }

    fn hard_reset(&mut self, now: u64) -> bool {
        let word = self.reset_word;
        let cause = self.reset_cause.take().unwrap_or(rsr::EHRS);
        self.clocks.reset(word.ebdf(), self.plprcr_reset, cause);
        self.timers.reset(&self.clocks, now);
        self.siu.reset(word.debug_pins(), now);
        self.external.reset(word.boot_port(), word.boot_enabled());
        self.cpm.reset();
        self.ports.reset();
        self.fec.fill(Fec::new());
        self.plain = RegisterFile::new();
        self.immr_base = word.immr_base();
        self.nmi = false;
        self.clocks_changed();
        self.reschedule(now);
        word.exception_prefix()
    }
}
