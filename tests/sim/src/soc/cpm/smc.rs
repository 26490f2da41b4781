//! A serial management controller in UART mode.
//!
//! Everything software can see lives in the parameter RAM and the buffer descriptors and is read from there each time:
//! drivers reset a channel by storing to RSTATE, TSTATE and the pointers alone, without a command. Kept here are only
//! the registers and what is on the wire. Sources: U-Boot `cpm_8xx.h` and `serial_mpc8xx.c`, Linux
//! `cpm_uart_core.c`, MPC860 User's Manual ch. 30.

use std::collections::VecDeque;

use super::dpram::DualPortRam;
use super::line::{Framing, Parity, Sampled, transfer, transfer_symbol};
use crate::soc::console::{Console, Symbol};

/// SMCE and SMCM bits.
pub mod event {
    /// End of a break.
    pub const BRKE: u8 = 0x40;
    /// Break received.
    pub const BRK: u8 = 0x10;
    /// A character was lost for want of an empty buffer.
    pub const BSY: u8 = 0x04;
    /// A transmit buffer with I set has been sent.
    pub const TX: u8 = 0x02;
    /// A receive buffer with I set has been closed.
    pub const RX: u8 = 0x01;
}

const SMCMR_SL: u16 = 0x0400;
const SMCMR_PEN: u16 = 0x0200;
const SMCMR_PM: u16 = 0x0100;
const SMCMR_SM: u16 = 0x0030;
const SMCMR_SM_UART: u16 = 0x0020;
const SMCMR_DM: u16 = 0x000C;
const SMCMR_DM_LOOPBACK: u16 = 0x0004;
const SMCMR_DM_ECHO: u16 = 0x0008;
const SMCMR_TEN: u16 = 0x0002;
const SMCMR_REN: u16 = 0x0001;

/// Offsets within the parameter page.
mod parameter {
    pub const RBASE: u32 = 0x00;
    pub const TBASE: u32 = 0x02;
    pub const MRBLR: u32 = 0x06;
    pub const RSTATE: u32 = 0x08;
    pub const RIDP: u32 = 0x0C;
    pub const RBPTR: u32 = 0x10;
    pub const RIBC: u32 = 0x12;
    pub const RTEMP: u32 = 0x14;
    pub const TSTATE: u32 = 0x18;
    pub const TIDP: u32 = 0x1C;
    pub const TBPTR: u32 = 0x20;
    pub const TIBC: u32 = 0x22;
    pub const MAX_IDL: u32 = 0x28;
    pub const IDLC: u32 = 0x2A;
    pub const BRKLN: u32 = 0x2C;
    pub const BRKEC: u32 = 0x2E;
    pub const BRKCR: u32 = 0x30;
    pub const RPBASE: u32 = 0x3A;
}

/// The bit of RSTATE and TSTATE that marks a buffer in progress. The real layout is internal to the CP. \[A\]
const STATE_BUSY: u32 = 0x0080_0000;

/// Buffer descriptor bits.
mod descriptor {
    pub const EMPTY: u16 = 0x8000;
    pub const READY: u16 = 0x8000;
    pub const WRAP: u16 = 0x2000;
    pub const INTERRUPT: u16 = 0x1000;
    pub const CONTINUOUS: u16 = 0x0200;
    pub const IDLE: u16 = 0x0100;
    pub const PREAMBLE: u16 = 0x0100;
    pub const BREAK: u16 = 0x0020;
    pub const FRAMING: u16 = 0x0010;
    pub const PARITY: u16 = 0x0008;
    pub const OVERRUN: u16 = 0x0002;
    pub const BYTES: u32 = 8;
}

/// Core clocks per frame when transmission is to take no time: still above zero, so that a descriptor with CM set
/// cannot stop simulated time.
const INSTANT_FRAME_CLOCKS: u64 = 16;

/// The CP's way to the data buffers.
pub trait BufferAccess {
    /// Loads one byte. `None`: the cycle ended with TEA.
    fn load(&mut self, dpram: &DualPortRam, address: u32, now: u64) -> Option<u8>;
    /// Stores one byte. `None`: the cycle ended with TEA.
    fn store(&mut self, dpram: &mut DualPortRam, address: u32, value: u8, now: u64) -> Option<()>;
}

/// The terminal's side of a port.
pub struct Port {
    /// Who is there.
    pub console: Box<dyn Console>,
    /// The speed at which the terminal sends and listens, 8N1.
    pub baud: u32,
    /// Whether the terminal waits until the receiver has an empty buffer instead of sending at its own pace. Real
    /// terminals on a three-wire line do not.
    pub waits_for_receiver: bool,
    /// Symbols on the line that the terminal has not sent, each with the core clock from which it may start. They come
    /// before the terminal's.
    pub noise: VecDeque<(u64, Symbol)>,
}

impl Port {
    /// A port with this terminal, which sends at its own pace over a quiet line.
    pub fn new(console: Box<dyn Console>, baud: u32) -> Self {
        Self {
            console,
            baud,
            waits_for_receiver: false,
            noise: VecDeque::new(),
        }
    }

    fn arrival(&self) -> Option<u64> {
        self.noise.front().map(|(at, _)| *at).or_else(|| self.console.arrival())
    }

    fn take(&mut self) -> Option<Symbol> {
        self.noise
            .pop_front()
            .map(|(_, symbol)| symbol)
            .or_else(|| self.console.take())
    }
}

/// What an SMC needs from the rest of the chip.
pub struct Surroundings<'a> {
    /// Dual-port and parameter RAM.
    pub dpram: &'a mut DualPortRam,
    /// Data buffers.
    pub buffers: &'a mut dyn BufferAccess,
    /// The terminal.
    pub port: &'a mut Port,
    /// Core clocks per bit from the routed baud-rate generator; `None`: no clock arrives.
    pub bit_clocks: Option<u64>,
    /// GCLK2 in Hz.
    pub core_hz: u64,
    /// Transmission takes no time.
    pub instant: bool,
}

impl Surroundings<'_> {
    fn terminal_framing(&self) -> Framing {
        Framing::eight_n_one((self.core_hz + u64::from(self.port.baud) / 2) / u64::from(self.port.baud.max(1)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wire {
    Character(u16),
    Idle,
    Break,
}

/// One channel.
#[derive(Clone, Debug)]
pub struct Smc {
    /// Offset of the default parameter page in the dual-port RAM.
    page: u32,
    mode: u16,
    event: u8,
    mask: u8,
    sending: Option<(Wire, u64)>,
    transmit_stopped: bool,
    breaks_to_send: u16,
    receiving_until: Option<u64>,
    line_free: u64,
    idle_deadline: Option<u64>,
    break_end: Option<u64>,
    /// A data buffer was out of reach since the last look.
    dma_error: bool,
}

impl Smc {
    /// A channel whose parameter page stands at `page`.
    pub fn new(page: u32) -> Self {
        Self {
            page,
            mode: 0,
            event: 0,
            mask: 0,
            sending: None,
            transmit_stopped: false,
            breaks_to_send: 0,
            receiving_until: None,
            line_free: 0,
            idle_deadline: None,
            break_end: None,
            dma_error: false,
        }
    }

    /// SMCMR.
    pub fn mode(&self) -> u16 {
        self.mode
    }

    /// Stores SMCMR.
    pub fn set_mode(&mut self, mode: u16) {
        self.mode = mode;
        if mode & SMCMR_REN == 0 {
            self.idle_deadline = None;
        }
    }

    /// SMCE.
    pub fn event(&self) -> u8 {
        self.event
    }

    /// Clears events by writing 1.
    pub fn clear_event(&mut self, bits: u8) {
        self.event &= !bits;
    }

    /// SMCM.
    pub fn mask(&self) -> u8 {
        self.mask
    }

    /// Stores SMCM.
    pub fn set_mask(&mut self, mask: u8) {
        self.mask = mask;
    }

    /// Whether an unmasked event stands.
    pub fn interrupts(&self) -> bool {
        self.event & self.mask != 0
    }

    /// Whether a data buffer was out of reach since the last call.
    pub fn take_dma_error(&mut self) -> bool {
        std::mem::take(&mut self.dma_error)
    }

    /// The parameter page in use: relocated when RPBASE is not 0. \[V\] Linux `cpm_uart_core.c`.
    fn parameters(&self, dpram: &DualPortRam) -> u32 {
        match dpram.read16(self.page + parameter::RPBASE) {
            0 => self.page,
            base => u32::from(base),
        }
    }

    /// Executes a CPCR command: INIT RX+TX (0), INIT RX (1), INIT TX (2), ENTER HUNT (3), STOP TX (4, 5), RESTART TX
    /// (6), CLOSE RX BD (7).
    pub fn command(&mut self, opcode: u16, around: &mut Surroundings) {
        let page = self.parameters(around.dpram);
        if matches!(opcode, 0 | 1) {
            around
                .dpram
                .write16(page + parameter::RBPTR, around.dpram.read16(page + parameter::RBASE));
            around.dpram.write32(page + parameter::RSTATE, 0);
            self.idle_deadline = None;
        }
        if matches!(opcode, 0 | 2) {
            around
                .dpram
                .write16(page + parameter::TBPTR, around.dpram.read16(page + parameter::TBASE));
            around.dpram.write32(page + parameter::TSTATE, 0);
            self.transmit_stopped = false;
        }
        match opcode {
            4 | 5 => {
                self.transmit_stopped = true;
                self.breaks_to_send = around.dpram.read16(page + parameter::BRKCR);
            }
            6 => self.transmit_stopped = false,
            7 => self.close_receive_buffer(around, 0),
            _ => {}
        }
    }

    fn framing(&self, around: &Surroundings) -> Option<Framing> {
        if self.mode & SMCMR_SM != SMCMR_SM_UART {
            return None;
        }
        let stop_bits = if self.mode & SMCMR_SL != 0 { 2 } else { 1 };
        let parity = match (self.mode & SMCMR_PEN != 0, self.mode & SMCMR_PM != 0) {
            (false, _) => Parity::None,
            (true, true) => Parity::Even,
            (true, false) => Parity::Odd,
        };
        // CLEN counts start, data, parity and stop bits less one.
        let total = u32::from(self.mode >> 11 & 0xF) + 1;
        let data_bits = total
            .saturating_sub(1 + stop_bits + u32::from(parity != Parity::None))
            .clamp(1, 14);
        Some(Framing {
            bit_clocks: around.bit_clocks?.max(1),
            data_bits,
            parity,
            stop_bits,
        })
    }

    /// Core clock at which [`Smc::step`] has something to do.
    pub fn next_event(&self) -> u64 {
        let sending = self.sending.map(|(_, until)| until);
        [sending, self.receiving_until, self.idle_deadline, self.break_end]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(u64::MAX)
    }

    /// Does everything that is due up to core clock `now`, in order of time, and looks for new work: a transmit buffer
    /// made ready, a symbol at the terminal.
    pub fn step(&mut self, now: u64, around: &mut Surroundings) {
        self.look_for_work(now, around);
        loop {
            let at = self.next_event();
            if at > now {
                break;
            }
            if self.receiving_until == Some(at) {
                self.receiving_until = None;
                self.receive_symbol(at, around);
            } else if self.idle_deadline == Some(at) {
                self.idle_deadline = None;
                self.close_receive_buffer(around, descriptor::IDLE);
            } else if self.break_end == Some(at) {
                self.break_end = None;
                self.event |= event::BRKE;
            } else if let Some((wire, _)) = self.sending.take() {
                self.complete_frame(at, wire, around);
            }
            self.look_for_work(at, around);
        }
    }

    fn look_for_work(&mut self, at: u64, around: &mut Surroundings) {
        self.start_frame(at, around);
        if self.receiving_until.is_none()
            && let Some(arrival) = around.port.arrival()
        {
            let start = arrival.max(self.line_free).max(at);
            self.receiving_until = Some(start + around.terminal_framing().frame_clocks());
        }
    }

    /// Puts the next frame on the wire if there is one and the wire is free.
    fn start_frame(&mut self, at: u64, around: &mut Surroundings) {
        if self.sending.is_some() || self.mode & SMCMR_TEN == 0 {
            return;
        }
        let Some(framing) = self.framing(around) else { return };
        let frame_clocks = if around.instant {
            INSTANT_FRAME_CLOCKS
        } else {
            framing.frame_clocks()
        };
        let Some(wire) = self.next_wire(at, framing, around) else {
            return;
        };
        self.sending = Some((wire, at + frame_clocks));
    }

    /// What to send next: breaks first, then the descriptor at TBPTR.
    fn next_wire(&mut self, at: u64, framing: Framing, around: &mut Surroundings) -> Option<Wire> {
        if self.breaks_to_send > 0 {
            self.breaks_to_send -= 1;
            return Some(Wire::Break);
        }
        if self.transmit_stopped {
            return None;
        }
        let page = self.parameters(around.dpram);
        let bd = u32::from(around.dpram.read16(page + parameter::TBPTR));
        let state = around.dpram.read32(page + parameter::TSTATE);
        if state & STATE_BUSY == 0 {
            let status = around.dpram.read16(bd);
            if status & descriptor::READY == 0 {
                return None;
            }
            let (length, address) = (around.dpram.read16(bd + 2), around.dpram.read32(bd + 4));
            around.dpram.write32(page + parameter::TIDP, address);
            around.dpram.write16(page + parameter::TIBC, length);
            around.dpram.write32(page + parameter::TSTATE, state | STATE_BUSY);
            if length == 0 || status & descriptor::PREAMBLE != 0 {
                return Some(Wire::Idle);
            }
        }
        let unit = buffer_unit(framing);
        let address = around.dpram.read32(page + parameter::TIDP);
        let mut data = 0;
        for byte in 0..unit {
            match around.buffers.load(around.dpram, address.wrapping_add(byte), at) {
                Some(value) => data = data << 8 | u16::from(value),
                None => {
                    self.stop_after_dma_error();
                    return None;
                }
            }
        }
        let left = around.dpram.read16(page + parameter::TIBC).saturating_sub(unit as u16);
        around.dpram.write32(page + parameter::TIDP, address.wrapping_add(unit));
        around.dpram.write16(page + parameter::TIBC, left);
        Some(Wire::Character(data))
    }

    /// A frame has left the wire: the terminal gets it, and a finished buffer is given back.
    fn complete_frame(&mut self, at: u64, wire: Wire, around: &mut Surroundings) {
        let loopback = self.mode & SMCMR_DM == SMCMR_DM_LOOPBACK;
        match (wire, self.framing(around)) {
            (Wire::Character(data), Some(framing)) if loopback => {
                for frame in transfer(data, framing, framing) {
                    self.receive_frame(at, frame, framing, around);
                }
            }
            (Wire::Character(data), Some(framing)) => {
                for frame in transfer(data, framing, around.terminal_framing()) {
                    around.port.console.sent(at, symbol_of(frame));
                }
            }
            (Wire::Break, _) if !loopback => around.port.console.sent(at, Symbol::Break),
            _ => {}
        }
        if wire == Wire::Break {
            return;
        }
        let page = self.parameters(around.dpram);
        let state = around.dpram.read32(page + parameter::TSTATE);
        if state & STATE_BUSY == 0 || around.dpram.read16(page + parameter::TIBC) != 0 {
            return;
        }
        let bd = around.dpram.read16(page + parameter::TBPTR);
        let status = around.dpram.read16(u32::from(bd));
        if status & descriptor::CONTINUOUS == 0 {
            around.dpram.write16(u32::from(bd), status & !descriptor::READY);
        }
        let base = around.dpram.read16(page + parameter::TBASE);
        around
            .dpram
            .write16(page + parameter::TBPTR, next_descriptor(bd, status, base));
        around.dpram.write32(page + parameter::TSTATE, state & !STATE_BUSY);
        if status & descriptor::INTERRUPT != 0 {
            self.event |= event::TX;
        }
    }

    fn stop_after_dma_error(&mut self) {
        self.dma_error = true;
        self.transmit_stopped = true;
    }

    /// The symbol that the terminal sent has gone over the line.
    fn receive_symbol(&mut self, at: u64, around: &mut Surroundings) {
        self.line_free = at;
        if around.port.waits_for_receiver && around.port.noise.is_empty() && !self.has_room(around) {
            return;
        }
        let Some(symbol) = around.port.take() else {
            return;
        };
        let loopback = self.mode & SMCMR_DM == SMCMR_DM_LOOPBACK;
        let Some(framing) = self.framing(around).filter(|_| self.mode & SMCMR_REN != 0 && !loopback) else {
            return;
        };
        let terminal = around.terminal_framing();
        if self.mode & SMCMR_DM == SMCMR_DM_ECHO {
            around.port.console.sent(at, symbol);
        }
        for frame in transfer_symbol(symbol, terminal, framing) {
            self.receive_frame(at, frame, framing, around);
        }
    }

    /// Whether a character would find the receiver on and a buffer.
    fn has_room(&self, around: &Surroundings) -> bool {
        let page = self.parameters(around.dpram);
        let bd = u32::from(around.dpram.read16(page + parameter::RBPTR));
        self.mode & SMCMR_REN != 0
            && (around.dpram.read32(page + parameter::RSTATE) & STATE_BUSY != 0
                || around.dpram.read16(bd) & descriptor::EMPTY != 0)
    }

    fn receive_frame(&mut self, at: u64, frame: Sampled, framing: Framing, around: &mut Surroundings) {
        let page = self.parameters(around.dpram);
        if frame.is_break {
            around
                .dpram
                .write16(page + parameter::BRKLN, framing.frame_bits() as u16);
            let count = around.dpram.read16(page + parameter::BRKEC);
            around.dpram.write16(page + parameter::BRKEC, count.wrapping_add(1));
            self.event |= event::BRK;
            self.break_end = Some(at + framing.frame_clocks());
            self.close_receive_buffer(around, descriptor::BREAK);
            return;
        }
        let bd = u32::from(around.dpram.read16(page + parameter::RBPTR));
        let state = around.dpram.read32(page + parameter::RSTATE);
        if state & STATE_BUSY == 0 {
            if around.dpram.read16(bd) & descriptor::EMPTY == 0 {
                self.event |= event::BSY;
                return;
            }
            let room = around.dpram.read16(page + parameter::MRBLR);
            around
                .dpram
                .write32(page + parameter::RIDP, around.dpram.read32(bd + 4));
            around.dpram.write16(page + parameter::RIBC, room);
            around.dpram.write32(page + parameter::RTEMP, u32::from(room));
            around.dpram.write32(page + parameter::RSTATE, state | STATE_BUSY);
        }
        let unit = buffer_unit(framing);
        let address = around.dpram.read32(page + parameter::RIDP);
        for byte in 0..unit {
            let value = (frame.data >> (8 * (unit - 1 - byte))) as u8;
            if around
                .buffers
                .store(around.dpram, address.wrapping_add(byte), value, at)
                .is_none()
            {
                self.dma_error = true;
                return;
            }
        }
        let room = around.dpram.read16(page + parameter::RIBC).saturating_sub(unit as u16);
        around.dpram.write32(page + parameter::RIDP, address.wrapping_add(unit));
        around.dpram.write16(page + parameter::RIBC, room);
        let max_idle = around.dpram.read16(page + parameter::MAX_IDL);
        around.dpram.write16(page + parameter::IDLC, max_idle);
        self.idle_deadline = (max_idle != 0).then(|| at + u64::from(max_idle) * framing.frame_clocks());
        let mut errors = 0;
        if frame.framing_error {
            errors |= descriptor::FRAMING;
        }
        if frame.parity_error {
            errors |= descriptor::PARITY;
        }
        if room == 0 || errors != 0 {
            self.close_receive_buffer(around, errors);
        }
    }

    /// Gives the buffer in progress back to software, with `status` bits added. Nothing happens when none is.
    fn close_receive_buffer(&mut self, around: &mut Surroundings, status: u16) {
        let page = self.parameters(around.dpram);
        let state = around.dpram.read32(page + parameter::RSTATE);
        self.idle_deadline = None;
        if state & STATE_BUSY == 0 {
            return;
        }
        let bd = around.dpram.read16(page + parameter::RBPTR);
        let at = u32::from(bd);
        let opened = around.dpram.read32(page + parameter::RTEMP) as u16;
        let received = opened.wrapping_sub(around.dpram.read16(page + parameter::RIBC));
        let errors =
            descriptor::IDLE | descriptor::BREAK | descriptor::FRAMING | descriptor::PARITY | descriptor::OVERRUN;
        let mut control = (around.dpram.read16(at) & !errors) | status;
        if control & descriptor::CONTINUOUS == 0 {
            control &= !descriptor::EMPTY;
        }
        around.dpram.write16(at + 2, received);
        around.dpram.write16(at, control);
        let base = around.dpram.read16(page + parameter::RBASE);
        around
            .dpram
            .write16(page + parameter::RBPTR, next_descriptor(bd, control, base));
        around.dpram.write32(page + parameter::RSTATE, state & !STATE_BUSY);
        if control & descriptor::INTERRUPT != 0 {
            self.event |= event::RX;
        }
    }
}

/// Bytes that a character occupies in a buffer: characters of more than eight bits take a halfword.
fn buffer_unit(framing: Framing) -> u32 {
    if framing.data_bits > 8 { 2 } else { 1 }
}

/// The descriptor after `bd`, or the first one when its W bit is set.
fn next_descriptor(bd: u16, status: u16, base: u16) -> u16 {
    if status & descriptor::WRAP != 0 {
        base
    } else {
        bd.wrapping_add(descriptor::BYTES as u16)
    }
}

fn symbol_of(frame: Sampled) -> Symbol {
    let byte = (frame.data & 0xFF) as u8;
    match (frame.is_break, frame.framing_error) {
        (true, _) => Symbol::Break,
        (false, true) => Symbol::FramingError(byte),
        (false, false) => Symbol::Data(byte),
    }
}
