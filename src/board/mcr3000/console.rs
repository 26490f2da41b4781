//! The console: SMC1 as a UART, polled, its descriptors and buffers in the dual-port RAM.
//!
//! Source: reference document section 6; MPC885 reference manual, chapter on the serial management controllers.

use super::{BOARD, SCCR, STATE, immr_physical, reg8, reg16, reg32};

/// Speed where we set the port up ourselves and nobody gave another.
const BAUD: u32 = 115_200;

const SDSR: u32 = 0x908;
const SDMR: u32 = 0x90c;
const CPCR: u32 = 0x9c0;
const CPCR_FLG: u16 = 0x0001;
const BRGC1: u32 = 0x9f0;
const SMCMR1: u32 = 0xa82;
const SMCE1: u32 = 0xa86;
const SMCM1: u32 = 0xa8a;
const PBDIR: u32 = 0xab8;
const PBPAR: u32 = 0xabc;
const PBODR: u32 = 0xac2;
const SIMODE: u32 = 0xae0;
/// SMC1 as a port of its own, and the clock that it takes: 0 to 3 are the baud rate generators.
const SIMODE_SMC1: u32 = 0x0000_f000;
const DPRAM: u32 = 0x2000;
/// Parameter RAM of SMC1, from the start of the dual-port RAM.
const SMC1_PAGE: u32 = 0x1e80;
const RPBASE: u32 = 0x3a;

/// 8 data bits, no parity, one stop bit, UART.
const SMCMR_8N1: u16 = 0x4820;
const SMCMR_ENABLE: u16 = 0x0003;

const BD_READY: u16 = 0x8000;
const BD_WRAP: u16 = 0x2000;
const BD_BROKEN: u16 = 0x0038;

/// Our descriptors and buffers in dual-port RAM, where U-Boot has its own: 8 receive descriptors, one to transmit.
const BD_BASE: u32 = 0x0800;
const RX_COUNT: u32 = 8;
const RX_SIZE: u32 = 32;
const TX_BD: u32 = BD_BASE + RX_COUNT * 8;
const RX_BUFFERS: u32 = 0x0900;
const TX_BUFFER: u32 = RX_BUFFERS + RX_COUNT * RX_SIZE;

fn parameter(offset: u32) -> u32 {
    let moved = reg16(DPRAM + SMC1_PAGE + RPBASE).read();
    DPRAM + if moved == 0 { SMC1_PAGE } else { u32::from(moved) } + offset
}

pub(super) fn init() {
    let running = reg16(SMCMR1).read() & SMCMR_ENABLE == SMCMR_ENABLE;
    if running {
        // The loader's last byte may still be on its way: its descriptor is the one that TBPTR names.
        let descriptor = DPRAM + u32::from(reg16(parameter(0x20)).read() & 0x1ff8);
        for _ in 0..100_000 {
            if reg16(descriptor).read() & BD_READY == 0 {
                break;
            }
        }
    } else {
        cold_start_console();
    }
    reg16(SMCMR1).write(reg16(SMCMR1).read() & !SMCMR_ENABLE);
    reg8(SMCM1).write(0);
    reg8(SMCE1).write(0xff);
    let buffers = immr_physical() + DPRAM;
    for index in 0..RX_COUNT {
        let descriptor = DPRAM + BD_BASE + index * 8;
        let wrap = if index == RX_COUNT - 1 { BD_WRAP } else { 0 };
        reg32(descriptor + 4).write(buffers + RX_BUFFERS + index * RX_SIZE);
        reg16(descriptor + 2).write(0);
        reg16(descriptor).write(BD_READY | wrap);
    }
    reg32(DPRAM + TX_BD + 4).write(buffers + TX_BUFFER);
    reg16(DPRAM + TX_BD).write(BD_WRAP);
    for (offset, value) in [
        (0x00, BD_BASE),
        (0x02, TX_BD),
        (0x06, RX_SIZE),
        (0x10, BD_BASE),
        (0x20, TX_BD),
    ] {
        reg16(parameter(offset)).write(value as u16);
    }
    // Big-endian buffers; a buffer is closed after two idle characters; a break is one character long.
    reg8(parameter(0x04)).write(0x10);
    reg8(parameter(0x05)).write(0x10);
    for offset in [0x08, 0x18] {
        reg32(parameter(offset)).write(0);
    }
    for (offset, value) in [(0x28, 2), (0x2c, 0), (0x2e, 0), (0x30, 1)] {
        reg16(parameter(offset)).write(value);
    }
    reg16(SMCMR1).write(SMCMR_8N1);
    reg16(SMCMR1).write(SMCMR_8N1 | SMCMR_ENABLE);
}

/// Everything that a running console presumes: CPM, pins, clock, baud rate (reference document 6.7).
fn cold_start_console() {
    reg16(CPCR).write(0x8000 | CPCR_FLG);
    for _ in 0..100_000 {
        if reg16(CPCR).read() & CPCR_FLG == 0 {
            break;
        }
    }
    reg8(SDSR).write(0x83);
    reg8(SDMR).write(0);
    reg32(PBPAR).write(reg32(PBPAR).read() | 0xc0);
    reg32(PBDIR).write(reg32(PBDIR).read() & !0xc0);
    reg16(PBODR).write(reg16(PBODR).read() & !0xc0);
    reg32(SIMODE).write(reg32(SIMODE).read() & !SIMODE_SMC1);
    reg32(BRGC1).write(generator(BOARD.get().get().core_hz, BAUD));
}

/// BRGC of a baud rate generator for a speed, 16 clocks a bit: BRGCLK is the core clock divided by 4 to the power of DFBRG
/// (reference document 5.7 and 6.5).
fn generator(core_hz: u32, baud: u32) -> u32 {
    let clock = core_hz >> (2 * (reg32(SCCR).read() >> 11 & 3)) >> 4;
    let divider = (clock + baud / 2) / baud;
    0x0001_0000 | (divider.clamp(1, 4096) - 1) << 1
}

/// Sets the console to a speed in bit/s, for a core that runs at `core_hz`. A port whose clock comes from outside stays as it
/// is.
pub fn set_console_speed(core_hz: u32, baud: u32) {
    let source = (reg32(SIMODE).read() & SIMODE_SMC1) >> 12;
    if source < 4 && baud != 0 {
        drain();
        reg32(BRGC1 + source * 4).write(generator(core_hz, baud));
    }
}

/// Waits until the last byte has left, if the transmitter works.
pub(super) fn drain() {
    for _ in 0..1_000_000 {
        if reg16(DPRAM + TX_BD).read() & BD_READY == 0 || STATE.0.stuck.get() {
            break;
        }
    }
}

/// Sends one byte. The wait for the transmitter is bounded: a dead port costs output, never the boot.
pub fn console_put(byte: u8) {
    let descriptor = reg16(DPRAM + TX_BD);
    let limit = if STATE.0.stuck.get() { 1 } else { 1_000_000 };
    let free = (0..limit).any(|_| descriptor.read() & BD_READY == 0);
    STATE.0.stuck.set(!free);
    if free {
        reg8(DPRAM + TX_BUFFER).write(byte);
        reg16(DPRAM + TX_BD + 2).write(1);
        descriptor.write(BD_READY | BD_WRAP);
    }
}

/// Takes one received byte, if there is one. Buffers with a break, a framing or a parity error are thrown away whole.
pub fn console_get() -> Option<u8> {
    loop {
        let (index, at) = STATE.0.receive.get();
        let descriptor = DPRAM + BD_BASE + index * 8;
        let status = reg16(descriptor).read();
        if status & BD_READY != 0 {
            return None;
        }
        let length = u32::from(reg16(descriptor + 2).read()).min(RX_SIZE);
        if at < length && status & BD_BROKEN == 0 {
            STATE.0.receive.set((index, at + 1));
            return Some(reg8(DPRAM + RX_BUFFERS + index * RX_SIZE + at).read());
        }
        reg16(descriptor).write(BD_READY | status & BD_WRAP);
        STATE.0.receive.set(((index + 1) % RX_COUNT, 0));
    }
}
