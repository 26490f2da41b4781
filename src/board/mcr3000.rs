//! MPC8xx boards: MCR3000 and its kin. SIU, time base, console on SMC1, and what the boot loader tells.
//!
//! The boards differ in the table [`BOARDS`] alone. Whoever started us has set up memory and clocks; the console is
//! taken over as it runs, or set up when nobody did. Source: reference document sections 5 to 7.

mod console;
mod handover;

use super::{COMMAND_LINE_MAX, Handover, Reg};
use crate::arch::mmu::IMMR_VIRTUAL;
use crate::arch::ppc::spr;
use crate::arch::{self, single::Single};
use core::cell::Cell;

pub use console::{console_get, console_put, set_console_speed};
pub use handover::handover;

/// The board's name where one is compiled in.
pub const NAME: &str = "mcr3000";

/// A physical address that no chip select covers on the boards that [`BOARDS`] lists: a load from it ends with TEA from
/// the bus monitor.
pub const UNANSWERED: Option<u32> = Some(0x7000_0000);

/// What differs from board to board.
struct Board {
    name: &'static str,
    /// What a device tree's root `compatible` or `model` contains, in lower case.
    tree: &'static str,
    /// Base and port size of the boot flash as the boot loader programs them into BR0.
    flash: u32,
    /// Core clock, where nobody tells it.
    core_hz: u32,
}

/// Base address and port size in a BR (reference document 5.8).
const BR_PLACE: u32 = 0xffff_8c00;

/// The first is assumed when nothing tells the board. Source: reference document 7.5.
static BOARDS: [Board; 4] = [
    Board {
        name: "mcr3000",
        tree: "mcr3000",
        flash: 0x0400_0800,
        core_hz: 132_000_000,
    },
    Board {
        name: "cmpc885",
        tree: "cmpc885",
        flash: 0x4000_0800,
        core_hz: 132_000_000,
    },
    Board {
        name: "mpc885ads",
        tree: "mpc885ads",
        flash: 0xfe00_0000,
        core_hz: 132_000_000,
    },
    Board {
        name: "adder875",
        tree: "adder",
        flash: 0xfe00_0800,
        core_hz: 132_000_000,
    },
];

const SPR_IMMR: u32 = 638;

const SYPCR: u32 = 0x004;
const SYPCR_WATCHDOG: u32 = 0x4;
const SWSR: u32 = 0x00e;
const SIMASK: u32 = 0x014;
const SIVEC: u32 = 0x01c;
const TESR: u32 = 0x020;
const TESR_IEXT: u32 = 0x2000;
const TESR_ITMT: u32 = 0x1000;
const TESR_DEXT: u32 = 0x0020;
const TESR_DTMT: u32 = 0x0010;
const TESR_PARITY: u32 = 0x0f0f;
const BR0: u32 = 0x100;
const TBSCR: u32 = 0x200;
const SCCR: u32 = 0x280;
const TBSCRK: u32 = 0x300;
const TBK: u32 = 0x30c;
const SCCRK: u32 = 0x380;
const KEY: u32 = 0x55cc_aa33;
/// Time base from the core clock divided by 16.
const SCCR_TBS: u32 = 0x0200_0000;
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

/// What the transfer error status register says of the errors since the last call, which it forgets
/// (MPC860 user's manual 11.6 \[R\]).
pub fn take_transfer_error() -> &'static str {
    let status = reg32(TESR).read();
    reg32(TESR).write(status);
    if status & (TESR_ITMT | TESR_DTMT) != 0 {
        ", bus monitor time-out"
    } else if status & (TESR_IEXT | TESR_DEXT) != 0 {
        ", external TEA"
    } else if status & TESR_PARITY != 0 {
        ", parity error"
    } else {
        ""
    }
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
    console::init();
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

/// Ends the run: there is no power switch, so the core halts for good. A watchdog that is on then resets the board.
pub fn power_off() -> ! {
    console::drain();
    arch::halt()
}
