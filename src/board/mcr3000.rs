//! MPC8xx boards: MCR3000 and its kin. SIU, time base, console on SMC1, and what the boot loader tells.
//!
//! The boards differ in the table [`BOARDS`] alone. Whoever started us has set up memory and clocks; the console is
//! taken over as it runs, or set up when nobody did. Source: reference document sections 5 to 7.

use super::{COMMAND_LINE_MAX, Handover, Reg};
use crate::addr::PhysAddr;
use crate::arch::mmu::IMMR_VIRTUAL;
use crate::arch::ppc::spr;
use crate::arch::{self, single::Single};
use crate::fdt::{self, Tree};
use crate::println;
use core::cell::Cell;

/// The board's name where one is compiled in.
pub const NAME: &str = "mcr3000";

/// What differs from board to board.
struct Board {
    name: &'static str,
    /// Start of a device tree's root `compatible` or `model`.
    tree: &'static [&'static str],
    /// Core clock, where nobody tells it.
    core_hz: u32,
}

/// The first is assumed when nothing tells the board.
static BOARDS: [Board; 4] = [
    Board {
        name: "mcr3000",
        tree: &["MCR3000", "cssi,mcr3000", "fsl,mcr3000"],
        core_hz: 132_000_000,
    },
    Board {
        name: "cmpc885",
        tree: &["CMPC885", "cssi,cmpc885", "fsl,cmpc885"],
        core_hz: 132_000_000,
    },
    Board {
        name: "mpc885ads",
        tree: &["MPC885ADS", "fsl,mpc885ads"],
        core_hz: 132_000_000,
    },
    Board {
        name: "adder875",
        tree: &["Adder", "analogue-and-micro,adder875"],
        core_hz: 132_000_000,
    },
];

/// Console speed where we set the port up ourselves.
const BAUD: u32 = 115_200;

const SPR_IMMR: u32 = 638;

const SYPCR: u32 = 0x004;
const SYPCR_WATCHDOG: u32 = 0x4;
const SWSR: u32 = 0x00e;
const SIMASK: u32 = 0x014;
const SIVEC: u32 = 0x01c;
const BR0: u32 = 0x100;
const TBSCR: u32 = 0x200;
const SCCR: u32 = 0x280;
const TBSCRK: u32 = 0x300;
const TBK: u32 = 0x30c;
const SCCRK: u32 = 0x380;
const KEY: u32 = 0x55cc_aa33;
/// Time base from the core clock divided by 16.
const SCCR_TBS: u32 = 0x0200_0000;
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

struct State {
    /// Virtual address of the internal memory map.
    immr: Cell<u32>,
    /// Receive descriptor whose bytes are being read, and the next byte in it.
    receive: Cell<(u32, u32)>,
    /// The transmitter did not take the last byte in time: do not wait for it again.
    stuck: Cell<bool>,
    /// The watchdog is on and wants to be served.
    watchdog: Cell<bool>,
    spurious: Cell<u32>,
}

struct Shared(State);
// SAFETY: one core. Cells are single words; the tick reads `immr` and `watchdog`, which only `init` writes, and the
// console's cells are touched with interrupts off or in thread context between whole operations.
unsafe impl Sync for Shared {}

static STATE: Shared = Shared(State {
    immr: Cell::new(IMMR_VIRTUAL),
    receive: Cell::new((0, 0)),
    stuck: Cell::new(false),
    watchdog: Cell::new(false),
    spurious: Cell::new(0),
});

static BOARD: Single<Cell<&'static Board>> = Single::new(Cell::new(&BOARDS[0]));

fn reg8(offset: u32) -> Reg<u8> {
    // SAFETY: every caller names a register or dual-port RAM inside the 16 KiB of the internal memory map.
    unsafe { Reg::new(STATE.0.immr.get() + offset) }
}

fn reg16(offset: u32) -> Reg<u16> {
    // SAFETY: as in `reg8`.
    unsafe { Reg::new(STATE.0.immr.get() + offset) }
}

fn reg32(offset: u32) -> Reg<u32> {
    // SAFETY: as in `reg8`.
    unsafe { Reg::new(STATE.0.immr.get() + offset) }
}

fn immr_physical() -> u32 {
    spr::mfspr::<SPR_IMMR>() & 0xffff_0000
}

/// Interrupt sources off, time base on from the core clock, console taken over or set up.
pub fn init() {
    STATE.0.immr.set(IMMR_VIRTUAL | (immr_physical() & 0x7_ffff));
    reg32(SIMASK).write(0);
    STATE.0.watchdog.set(reg32(SYPCR).read() & SYPCR_WATCHDOG != 0);
    tick();
    // A key register opens its register until the next write of something else; the first write makes sure that the key
    // is not taken for that.
    for key in [SCCRK, TBSCRK, TBK] {
        reg32(key).write(!KEY);
        reg32(key).write(KEY);
    }
    reg32(SCCR).write(reg32(SCCR).read() | SCCR_TBS);
    reg16(TBSCR).write(0x00c3);
    init_console();
}

fn parameter(offset: u32) -> u32 {
    let moved = reg16(DPRAM + SMC1_PAGE + RPBASE).read();
    DPRAM + if moved == 0 { SMC1_PAGE } else { u32::from(moved) } + offset
}

fn init_console() {
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
    reg32(SIMODE).write(reg32(SIMODE).read() & !0x0000_f000);
    let divider = (BOARDS[0].core_hz / 16 + BAUD / 2) / BAUD;
    reg32(BRGC1).write(0x0001_0000 | (divider - 1) << 1);
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

/// Serves the watchdog, if it is on.
pub fn tick() {
    if STATE.0.watchdog.get() {
        reg16(SWSR).write(0x556c);
        reg16(SWSR).write(0xaa39);
    }
}

/// No source is enabled, so every external interrupt is spurious; SIVEC then names source 15.
pub fn external_interrupt() {
    let source = reg32(SIVEC).read() >> 26;
    STATE.0.spurious.set(STATE.0.spurious.get() + 1);
    if source != 15 {
        reg32(SIMASK).write(0);
    }
}

/// Ends the run: there is no power switch, so the core halts for good.
pub fn power_off() -> ! {
    // The last byte leaves before the core stops.
    for _ in 0..1_000_000 {
        if reg16(DPRAM + TX_BD).read() & BD_READY == 0 || STATE.0.stuck.get() {
            break;
        }
    }
    arch::halt()
}

unsafe extern "C" {
    /// r3–r9 at entry; written by the head.
    static head_arguments: [u32; 7];
}

/// Window of the chip select that answers at physical 0: an upper bound of RAM.
fn ram_window() -> Option<u32> {
    (0..8).find_map(|bank| {
        let (base, option) = (reg32(BR0 + bank * 8).read(), reg32(BR0 + 4 + bank * 8).read());
        let mask = option & 0xffff_8000;
        (base & 1 != 0 && mask != 0 && base & mask == 0).then(|| (!mask).wrapping_add(1))
    })
}

/// Bytes of RAM that the boot mapping reaches, as far as they exist.
fn ram_bytes(start: u32, length: u32, ram: u32) -> Option<&'static [u8]> {
    start.checked_add(length).filter(|end| *end <= ram)?;
    let address = arch::phys_to_virt(PhysAddr::new(start)) as *const u8;
    // SAFETY: the range is RAM and mapped; it is read before anything of ours is put there.
    Some(unsafe { core::slice::from_raw_parts(address, length as usize) })
}

fn ram_word(address: u32, ram: u32) -> Option<u32> {
    Some(u32::from_be_bytes(*ram_bytes(address, 4, ram)?.first_chunk()?))
}

/// The text at `start`, up to a NUL, `end` or the end of RAM.
fn ram_text(start: u32, end: u32, ram: u32) -> &'static [u8] {
    let length = end.min(ram).saturating_sub(start);
    let bytes = ram_bytes(start, length, ram).unwrap_or(&[]);
    bytes.split(|b| *b == 0).next().unwrap_or(&[])
}

/// The command line being put together; bytes beyond the buffer are counted only.
struct Line<'a> {
    buffer: &'a mut [u8; COMMAND_LINE_MAX],
    length: usize,
}

impl Line<'_> {
    fn push(&mut self, text: &[u8]) {
        for byte in text {
            if let Some(slot) = self.buffer.get_mut(self.length) {
                *slot = *byte;
            }
            self.length += 1;
        }
    }
}

/// Longest device tree that is believed.
const TREE_MAX: u32 = 1 << 20;

/// Finds out who started us and what was handed over: a device tree, a bd_info of either layout, the arguments of U-Boot's
/// `go`, or nothing. What is wrong with it is said on the console, and defaults take its place.
pub fn handover(line: &mut [u8; COMMAND_LINE_MAX], _reserved: u32) -> (Handover, usize) {
    // SAFETY: written once by the head, before any Rust code ran.
    let [r3, r4, r5, r6, r7, ..] = unsafe { head_arguments };
    let window = ram_window().unwrap_or(8 << 20).min(128 << 20);
    let mut line = Line {
        buffer: line,
        length: 0,
    };
    let mut handover = Handover {
        ram: window,
        ..Handover::default()
    };
    if ram_word(r3, window) == Some(fdt::MAGIC) {
        let size = ram_word(r3 + 4, window).unwrap_or(0).min(TREE_MAX);
        match ram_bytes(r3, size, window).map(Tree::new) {
            Some(Ok(tree)) => from_tree(&tree, &mut handover, &mut line),
            Some(Err(error)) => println!("zeronull: device tree at {r3:#010x}: {error}: ignored"),
            None => println!("zeronull: device tree at {r3:#010x}: {size} bytes reach beyond RAM: ignored"),
        }
    } else if (1..=64).contains(&r3) && ram_word(r4, window).is_some() {
        for index in 1..r3 {
            if index > 1 {
                line.push(b" ");
            }
            let argument = ram_word(r4.wrapping_add(index * 4), window).unwrap_or(0);
            line.push(ram_text(argument, argument.saturating_add(4096), window));
        }
    } else if from_board_info(r3, &mut handover) {
        if r4 != 0 && r5 > r4 {
            handover.initrd = Some((r4, r5 - r4));
        }
        if r6 != 0 && r7 > r6 {
            line.push(ram_text(r6, r7, window));
        }
    } else {
        println!("zeronull: no device tree, bd_info or arguments in r3 ({r3:#010x}): defaults are used");
    }
    if handover.core_hz == 0 {
        handover.core_hz = BOARD.get().get().core_hz;
        println!("zeronull: core clock unknown: {} Hz assumed", handover.core_hz);
    }
    handover.board = BOARD.get().get().name;
    handover.timebase_hz = handover.core_hz / 16;
    handover.free_top = handover.ram & !0xfff;
    if let Some((start, size)) = handover.initrd {
        match lift_archive(start, size, handover.ram) {
            Some(place) => {
                handover.initrd = Some((place, size));
                handover.free_top = place;
            }
            None => {
                println!("zeronull: initial archive of {size} bytes at {start:#010x} is not in RAM: ignored");
                handover.initrd = None;
            }
        }
    }
    (handover, line.length)
}

fn from_tree(tree: &Tree<'_>, handover: &mut Handover, line: &mut Line<'_>) {
    for name in ["compatible", "model"] {
        let Some(text) = tree.find(&[], name).and_then(|property| property.text()) else {
            continue;
        };
        if let Some(board) = BOARDS
            .iter()
            .find(|board| board.tree.iter().any(|start| text.starts_with(start)))
        {
            BOARD.get().set(board);
        }
    }
    match tree
        .find(&["memory"], "reg")
        .and_then(|reg| Some((reg.cell(0)?, reg.cell(1)?)))
    {
        Some((0, size)) if size != 0 && size <= handover.ram => handover.ram = size,
        Some((start, size)) => println!(
            "zeronull: device tree: memory of {size:#x} bytes at {start:#x}: accepted is up to {:#x} at 0",
            handover.ram
        ),
        None => println!(
            "zeronull: device tree: no memory node: {:#x} bytes assumed",
            handover.ram
        ),
    }
    let chosen = |name| tree.find(&["chosen"], name);
    if let Some(arguments) = chosen("bootargs") {
        line.push(arguments.text().unwrap_or("").as_bytes());
    }
    let number = |name| {
        chosen(name)
            .and_then(|property| property.number())
            .and_then(|value| u32::try_from(value).ok())
    };
    if let (Some(start), Some(end)) = (number("linux,initrd-start"), number("linux,initrd-end"))
        && end > start
    {
        handover.initrd = Some((start, end - start));
    }
    let clock = tree
        .properties()
        .find(|property| property.name == "clock-frequency" && property.in_node_below("cpus"));
    if let Some(hz) = clock
        .and_then(|property| property.number())
        .and_then(|hz| u32::try_from(hz).ok())
    {
        handover.core_hz = hz;
    }
}

/// A bd_info of the layout before 2022 or the present one, told apart by where IMMR stands in it (reference document 7.3).
fn from_board_info(address: u32, handover: &mut Handover) -> bool {
    let ram = handover.ram;
    let word = |offset: u32| {
        address
            .checked_add(offset)
            .and_then(|at| ram_word(at, ram))
            .unwrap_or(0)
    };
    if address == 0 || !address.is_multiple_of(4) {
        return false;
    }
    let immr = immr_physical();
    let clock = if word(0x1c) == immr {
        let size = word(4);
        if word(0) == 0 && size != 0 && size <= ram {
            handover.ram = size;
        }
        word(0x30)
    } else if word(0x0c) == immr {
        word(0x1c)
    } else {
        return false;
    };
    // Some loaders give MHz.
    handover.core_hz = if clock < 1000 { clock * 1_000_000 } else { clock };
    true
}

/// Moves the archive to the top of RAM, so that all pages below it are in one piece. Returns its place.
fn lift_archive(start: u32, size: u32, ram: u32) -> Option<u32> {
    let source = ram_bytes(start, size, ram)?;
    let place = (ram.checked_sub(size)?) & !0xfff;
    if start < crate::addr::PAGE_SIZE || place < start {
        return (start >= 0x20_0000)
            .then_some(start & !0xfff)
            .filter(|page| *page == start);
    }
    let target = arch::phys_to_virt(PhysAddr::new(place)) as *mut u8;
    // SAFETY: source and target are RAM outside image, data and stack; `copy` allows them to overlap.
    unsafe { target.copy_from(source.as_ptr(), source.len()) };
    Some(place)
}
