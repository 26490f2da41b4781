//! QEMU's g3beige ("heathrow" Power Macintosh): grackle bridge, macio with ESCC and CUDA, fw_cfg.
//!
//! Facts from QEMU's hw/ppc/mac_oldworld.c and measurements on QEMU 7.2; nothing is expected to be set up by firmware.

use super::{COMMAND_LINE_MAX, Handover, Reg};
use crate::addr::PhysAddr;
use crate::arch;
use crate::println;

/// The board's name on the console.
pub const NAME: &str = "g3beige";

/// No physical address raises a machine check here: QEMU answers loads from where nothing is with zeros.
pub const UNANSWERED: Option<u32> = None;

/// What the bus says of its last errors; there is no such register.
pub fn take_transfer_error() -> &'static str {
    ""
}

const GRACKLE_ADDRESS: u32 = 0xFEC0_0000;
const GRACKLE_DATA: u32 = 0xFEE0_0000;
const FW_CFG_SELECT: u32 = 0xF000_0510;
const FW_CFG_DATA: u32 = 0xF000_0512;
/// Where we put macio's 512 KiB, inside the PCI window and inside the device mapping.
const MACIO: u32 = 0xF300_0000;
const ESCC_A_CONTROL: u32 = MACIO + 0x1_3020;
const ESCC_A_DATA: u32 = MACIO + 0x1_3030;
const CUDA: u32 = MACIO + 0x1_6000;

/// What the block that maps RAM at the start covers: the largest that the CPU has.
const RAM_LIMIT: u32 = 256 << 20;

fn reg8(address: u32) -> Reg<u8> {
    // SAFETY: every caller names a register of the tables above, inside the 256 MiB device block.
    unsafe { Reg::new(address) }
}

fn reg16(address: u32) -> Reg<u16> {
    // SAFETY: as in `reg8`.
    unsafe { Reg::new(address) }
}

fn reg32(address: u32) -> Reg<u32> {
    // SAFETY: as in `reg8`.
    unsafe { Reg::new(address) }
}

/// Makes macio answer and switches the console's transmitter and receiver on.
pub fn init() {
    // PCI device 16, function 0: BAR0, then memory space and bus master. The bridge's registers are little-endian.
    let select = |register: u32| reg32(GRACKLE_ADDRESS).write((0x8000_8000 | register).swap_bytes());
    select(0x10);
    reg32(GRACKLE_DATA).write(MACIO.swap_bytes());
    select(0x04);
    reg32(GRACKLE_DATA).write(0x0000_0006_u32.swap_bytes());
    for (register, value) in [(3, 0xc1), (5, 0x68)] {
        reg8(ESCC_A_CONTROL).write(register);
        reg8(ESCC_A_CONTROL).write(value);
    }
}

/// Sends one byte. The wait for the transmitter is bounded: a dead port costs output, never the boot.
pub fn console_put(byte: u8) {
    for _ in 0..100_000 {
        if reg8(ESCC_A_CONTROL).read() & 0x04 != 0 {
            break;
        }
    }
    reg8(ESCC_A_DATA).write(byte);
}

/// Takes one received byte, if there is one.
pub fn console_get() -> Option<u8> {
    if reg8(ESCC_A_CONTROL).read() & 0x01 == 0 {
        return None;
    }
    let byte = reg8(ESCC_A_DATA).read();
    // Read register 1: framing or overrun error; reset it so that reception goes on, and drop a broken byte.
    reg8(ESCC_A_CONTROL).write(1);
    let status = reg8(ESCC_A_CONTROL).read();
    if status & 0x70 != 0 {
        reg8(ESCC_A_CONTROL).write(0x30);
    }
    Some(byte)
}

/// The emulated port has no speed.
pub fn set_console_speed(_core_hz: u32, _baud: u32) {}

/// Nothing here wants to be served regularly.
pub fn tick() {}

/// No device interrupts are enabled on this board.
pub fn external_interrupt() {}

const KEY_RAM_SIZE: u16 = 0x03;
const KEY_INITRD_ADDRESS: u16 = 0x0a;
const KEY_INITRD_SIZE: u16 = 0x0b;
const KEY_COMMAND_LINE: u16 = 0x09;
const KEY_DIRECTORY: u16 = 0x19;
const KEY_TIMEBASE: u16 = 0x8003;
const KEY_CPU_CLOCK: u16 = 0x8004;

fn fw_cfg_select(key: u16) {
    reg16(FW_CFG_SELECT).write(key);
}

fn fw_cfg_bytes<const N: usize>() -> [u8; N] {
    core::array::from_fn(|_| reg8(FW_CFG_DATA).read())
}

fn fw_cfg_u32(key: u16) -> u32 {
    fw_cfg_select(key);
    u32::from_le_bytes(fw_cfg_bytes())
}

/// Finds a named file: its key and its size in bytes.
fn fw_cfg_file(name: &str) -> Option<(u16, u32)> {
    fw_cfg_select(KEY_DIRECTORY);
    let count = u32::from_be_bytes(fw_cfg_bytes());
    // Entry: size 32, key 16, reserved 16, name 56 bytes; big-endian. The directory is read in one go from the top.
    let mut found = None;
    for _ in 0..count.min(4096) {
        let size = u32::from_be_bytes(fw_cfg_bytes());
        let key = u16::from_be_bytes(fw_cfg_bytes());
        let _reserved: [u8; 2] = fw_cfg_bytes();
        let entry: [u8; 56] = fw_cfg_bytes();
        let length = entry.iter().position(|b| *b == 0).unwrap_or(entry.len());
        if &entry[..length] == name.as_bytes() {
            found = Some((key, size));
        }
    }
    found
}

/// Copies a named file to the top of the free RAM below `top`; returns its place and length.
fn fw_cfg_load(name: &str, top: &mut u32) -> Option<(u32, u32)> {
    let (key, size) = fw_cfg_file(name)?;
    let start = top.checked_sub(size)? & !0xfff;
    if start < 0x20_0000 {
        return None;
    }
    fw_cfg_select(key);
    let target = arch::phys_to_virt(PhysAddr::new(start)) as *mut u8;
    for offset in 0..size as usize {
        let byte = reg8(FW_CFG_DATA).read();
        // SAFETY: `[start, start + size)` lies in RAM above everything that the firmware has in use at start-up.
        unsafe { target.add(offset).write(byte) };
    }
    *top = start;
    Some((start, size))
}

/// Reads the command line: from the named file, or from memory where the machine put that of `-append`. Returns its length,
/// which may exceed the buffer's.
fn command_line(line: &mut [u8; COMMAND_LINE_MAX]) -> usize {
    let mut store = |index: usize, byte: u8| {
        if let Some(slot) = line.get_mut(index) {
            *slot = byte;
        }
    };
    if let Some((key, size)) = fw_cfg_file("opt/zeronull/cmdline") {
        fw_cfg_select(key);
        for index in 0..size as usize {
            store(index, reg8(FW_CFG_DATA).read());
        }
        return size as usize;
    }
    let address = fw_cfg_u32(KEY_COMMAND_LINE);
    if address == 0 {
        return 0;
    }
    let text = arch::phys_to_virt(PhysAddr::new(address)) as *const u8;
    for index in 0..4096 {
        // SAFETY: the machine wrote a NUL-terminated string into RAM behind the image it loaded.
        match unsafe { text.add(index).read() } {
            0 => return index,
            byte => store(index, byte),
        }
    }
    4096
}

/// Asks fw_cfg for everything. The command line goes into `line`; its full length is returned, even if it is longer than
/// the buffer. `reserved` bytes at the top of RAM stay free.
pub fn handover(line: &mut [u8; COMMAND_LINE_MAX], reserved: u32) -> (Handover, usize) {
    let found = fw_cfg_u32(KEY_RAM_SIZE);
    let ram = found.min(RAM_LIMIT);
    if ram < found {
        println!(
            "zeronull: {} MiB of RAM: only the first {} are used",
            found >> 20,
            ram >> 20
        );
    }
    let mut top = ram.saturating_sub(reserved) & !0xffff;
    let used = command_line(line);
    // The loader's archive lies where the machine put it; without a loader it travels as a named file.
    let loader_initrd = match (fw_cfg_u32(KEY_INITRD_ADDRESS), fw_cfg_u32(KEY_INITRD_SIZE)) {
        (_, 0) => None,
        (address, size) => {
            top = top.min(address & !0xfff);
            Some((address, size))
        }
    };
    let initrd = fw_cfg_load("opt/zeronull/initrd", &mut top).or(loader_initrd);
    let handover = Handover {
        board: NAME,
        ram,
        timebase_hz: fw_cfg_u32(KEY_TIMEBASE),
        core_hz: fw_cfg_u32(KEY_CPU_CLOCK),
        initrd,
        free_top: top,
    };
    (handover, used)
}

/// Switches the machine off through CUDA: packet {1, 0x0A}, byte by byte over the 6522's shift register. QEMU's exit
/// status is 0 whatever happens; the verdict is the last console line.
pub fn power_off() -> ! {
    let via = |register: u32| reg8(CUDA + register * 0x200);
    let (b, ddrb, shift, acr) = (via(0), via(2), via(10), via(11));
    let pause = || {
        for _ in 0..2000 {
            let _ = via(0).read();
        }
    };
    ddrb.write(0x30);
    b.write(0x30);
    acr.write(0x1c);
    shift.write(0x01);
    b.write(0x10);
    pause();
    shift.write(0x0a);
    b.write(0x00);
    pause();
    b.write(0x30);
    arch::halt()
}
