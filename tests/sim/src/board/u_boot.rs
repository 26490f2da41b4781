//! The chip as a board's U-Boot leaves it: memory controller, clocks, protection, time base, and the console on SMC1
//! set up for polling, its descriptors in the dual-port RAM. Order and values: U-Boot `arch/powerpc/cpu/mpc8xx/
//! cpu_init.c`, `drivers/serial/serial_mpc8xx.c`. \[V\]

use super::{Board, Upm};
use crate::bus::{Bus, BusSpr, Width};
use crate::soc::Soc;
use crate::soc::timers::KEY;

/// Where U-Boot keeps the descriptors and one-byte buffers of its console, from IMMR+0x2000.
const SERIAL_BASE: u32 = 0x1800;
const PAGE_SMC1: u32 = 0x1E80;
const DPRAM: u32 = 0x2000;

/// Stores to the registers of `soc`, in the reset state of `board`, what the board's U-Boot would have stored. Core
/// clock 0.
pub fn leave_as_u_boot(soc: &mut Soc, board: &Board) {
    soc.spr_write(BusSpr::Immr, board.immr, 0);
    let mut store = |offset: u32, width: Width, value: u32| {
        // The internal memory map answers at every offset used here.
        let stored = soc.write(board.immr + offset, width, value, 0);
        debug_assert!(stored.is_ok(), "IMMR+{offset:#x}");
    };
    store(0x004, Width::Word, board.sypcr);
    store(0x000, Width::Word, board.siumcr);
    store(0x300, Width::Word, KEY);
    store(0x200, Width::Half, u32::from(board.tbscr));
    store(0x30C, Width::Word, KEY);
    store(0x340, Width::Word, KEY);
    store(0x240, Width::Half, 0);
    store(0x380, Width::Word, KEY);
    store(0x280, Width::Word, board.sccr);
    store(0x384, Width::Word, KEY);
    store(0x284, Width::Word, board.plprcr);

    // Bank 0 takes BR before OR, the others OR before BR, as the boot loader must do it.
    for &(bank, base, option) in board.chip_selects {
        let at = 0x100 + 8 * bank as u32;
        let order = if bank == 0 {
            [(at, base), (at + 4, option)]
        } else {
            [(at + 4, option), (at, base)]
        };
        for (offset, value) in order {
            store(offset, Width::Word, value);
        }
    }
    let memory = &board.memory;
    let (upm_bit, mode_register, machine) = match memory.upm {
        Upm::A => (0, 0x170, 0x81),
        Upm::B => (0x0080_0000, 0x174, 0xC1),
    };
    for (index, word) in memory.array.iter().enumerate() {
        store(0x17C, Width::Word, *word);
        store(0x168, Width::Word, upm_bit | index as u32);
    }
    store(0x17A, Width::Half, u32::from(memory.mptpr));
    store(mode_register, Width::Word, memory.mode);

    // CPM reset, then SMC1 as a polled 8N1 console on BRG1.
    store(0x9C0, Width::Half, 0x8001);
    store(
        0x030,
        Width::Word,
        if matches!(board.part, "885" | "875") { 0x40 } else { 1 },
    );
    store(0x908, Width::Byte, 0x83);
    store(0x90C, Width::Byte, 0);
    store(0xABC, Width::Word, 0xC0);
    store(0xAE0, Width::Word, 0);
    let receive_buffer = board.immr + DPRAM + SERIAL_BASE + 0x14;
    let transmit_buffer = receive_buffer + 1;
    store(DPRAM + SERIAL_BASE, Width::Half, 0xA000);
    store(DPRAM + SERIAL_BASE + 2, Width::Half, 0);
    store(DPRAM + SERIAL_BASE + 4, Width::Word, receive_buffer);
    store(DPRAM + SERIAL_BASE + 8, Width::Half, 0x2000);
    store(DPRAM + SERIAL_BASE + 10, Width::Half, 0);
    store(DPRAM + SERIAL_BASE + 12, Width::Word, transmit_buffer);
    store(DPRAM + SERIAL_BASE + 16, Width::Word, 0);
    let page = DPRAM + PAGE_SMC1;
    store(page + 0x3A, Width::Half, 0);
    store(page, Width::Half, SERIAL_BASE);
    store(page + 2, Width::Half, SERIAL_BASE + 8);
    store(page + 4, Width::Byte, 0x10);
    store(page + 5, Width::Byte, 0x10);
    store(page + 6, Width::Half, 1);
    store(page + 0x28, Width::Half, 0);
    store(0xA8A, Width::Byte, 0);
    store(0xA86, Width::Byte, 0xFF);
    store(0x9C0, Width::Half, 0x0091);
    // The SDRAM comes last: its size follows from what is fitted.
    let bank = 0x100 + 8 * memory.chip_select as u32;
    let bytes = soc.memory_bytes();
    let hz = soc.core_hz();
    let divisor = (hz + 8 * u64::from(board.console_baud)) / 16 / u64::from(board.console_baud);
    let mut store = |offset: u32, width: Width, value: u32| {
        let stored = soc.write(board.immr + offset, width, value, 0);
        debug_assert!(stored.is_ok(), "IMMR+{offset:#x}");
    };
    store(bank + 4, Width::Word, !(bytes - 1) | memory.option);
    store(bank, Width::Word, machine);
    store(0x9F0, Width::Word, 0x0001_0000 | ((divisor as u32 - 1) << 1));
    store(0xA82, Width::Half, 0x4823);
}
