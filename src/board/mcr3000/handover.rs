//! What the boot loader tells. Source: reference document section 7.

use super::{BOARD, BOARDS, BR_PLACE, BR0, Board, COMMAND_LINE_MAX, Handover, immr_physical, reg32};
use crate::addr::{PAGE_SIZE, PhysAddr};
use crate::arch;
use crate::fdt::{self, Tree};
use crate::println;
use core::arch::asm;

/// RAM that every board has at least.
const RAM_DEFAULT: u32 = 8 << 20;

/// What the head has mapped.
const BOOT_MAP: u32 = 128 << 20;

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

/// First word of the header of a reset image. Its copy in RAM is what the reset code hands over
/// (`boot/image/src/flash.rs`, `boot/head_mcr3000_reset.s`).
const RESET_MAGIC: u32 = 0x7a4e_756c;

/// Finds out who started us and what was handed over: the reset image's header, a device tree, a bd_info of either layout, the arguments of U-Boot's
/// `go` or `bootelf`, or nothing. What is wrong with it is said on the console, and defaults take its place.
pub fn handover(line: &mut [u8; COMMAND_LINE_MAX], _reserved: u32) -> (Handover, usize) {
    // SAFETY: written once by the head, before any Rust code ran.
    let [r3, r4, r5, r6, r7, ..] = unsafe { head_arguments };
    let window = ram_window().unwrap_or(RAM_DEFAULT).min(BOOT_MAP);
    let mut line = Line {
        buffer: line,
        length: 0,
    };
    // What is not told stays 0.
    let mut told = Handover::default();
    let flash = reg32(BR0).read() & BR_PLACE;
    if let Some(board) = BOARDS.iter().find(|board| board.flash == flash) {
        BOARD.get().set(board);
    }
    if ram_word(r3, window) == Some(RESET_MAGIC) {
        from_reset_image(r3, (r4, r5), window, &mut told, &mut line);
    } else if ram_word(r3, window) == Some(fdt::MAGIC) {
        let size = ram_word(r3 + 4, window).unwrap_or(0).min(TREE_MAX);
        match ram_bytes(r3, size, window).map(Tree::new) {
            Some(Ok(tree)) => from_tree(&tree, window, &mut told, &mut line),
            Some(Err(error)) => println!("zeronull: device tree at {r3:#010x}: {error}: ignored"),
            None => println!("zeronull: device tree at {r3:#010x}: {size} bytes reach beyond RAM: ignored"),
        }
    } else if from_board_info(r3, window, &mut told) {
        match (r4, r5) {
            (0, _) => {}
            (start, end) if end > start => told.initrd = Some((start, end - start)),
            (start, end) => println!("zeronull: initial archive from {start:#010x} to {end:#010x}: ignored"),
        }
        match (r6, r7) {
            (0, _) => {}
            (start, end) if end >= start && ram_bytes(start, end - start, window).is_some() => {
                line.push(ram_text(start, end, window));
            }
            (start, end) => println!("zeronull: command line from {start:#010x} to {end:#010x}: ignored"),
        }
    } else if !from_arguments(r3, r4, window, &mut line) {
        println!("zeronull: no device tree, bd_info or arguments in r3 ({r3:#010x}): defaults are used");
    }
    let board = BOARD.get().get();
    if told.core_hz == 0 {
        println!("zeronull: core clock unknown: {} Hz assumed", board.core_hz);
        told.core_hz = board.core_hz;
    }
    if told.ram == 0 {
        told.ram = probe_ram(window);
        println!("zeronull: size of RAM unknown: {:#x} bytes found", told.ram);
    }
    let handover = Handover {
        board: board.name,
        timebase_hz: told.core_hz / 16,
        free_top: told.ram & !(PAGE_SIZE - 1),
        ..told
    };
    (handover, line.length)
}

/// The size of the memory behind a chip select that reaches `window` bytes far: the first power of two, from 8 MiB, above
/// which the window shows nothing or the same again.
fn probe_ram(window: u32) -> u32 {
    let mut size = RAM_DEFAULT;
    while size < window && is_memory_of_its_own(size) {
        size <<= 1;
    }
    size.min(window)
}

/// Whether a word `distance` above the first free one holds a value of its own. Both keep what they had.
fn is_memory_of_its_own(distance: u32) -> bool {
    let low = arch::phys_to_virt(arch::pool_start()) as *mut u32;
    let high = low.wrapping_byte_add(distance as usize);
    // SAFETY: both words lie in the chip select's window and the boot mapping, in RAM that no Rust object uses yet.
    unsafe {
        let (kept_low, kept_high) = (low.read_volatile(), high.read_volatile());
        high.write_volatile(0x5aa5_c33c);
        write_back(high);
        low.write_volatile(0xa55a_3cc3);
        write_back(low);
        let is_own = high.read_volatile() == 0x5aa5_c33c;
        high.write_volatile(kept_high);
        write_back(high);
        low.write_volatile(kept_low);
        write_back(low);
        is_own
    }
}

/// Writes the cache line at `address` to memory and forgets it.
fn write_back(address: *mut u32) {
    // SAFETY: changes no data; callers give mapped addresses.
    unsafe { asm!("dcbf 0, {}", "sync", in(reg) address, options(nostack, preserves_flags)) };
}

/// The words of `go ADDRESS WORDS` or `bootelf ADDRESS WORDS`, if that is what lies at `vector`; the former passes the
/// address as well.
fn from_arguments(count: u32, vector: u32, ram: u32, line: &mut Line<'_>) -> bool {
    let argument = |index: u32| {
        let at = ram_word(vector.checked_add(index * 4)?, ram).filter(|at| *at != 0)?;
        let text = ram_text(at, at.saturating_add(4096), ram);
        text.iter().all(|byte| matches!(byte, b' '..=b'~')).then_some(text)
    };
    if !(1..=64).contains(&count) || (0..count).any(|index| argument(index).is_none()) {
        return false;
    }
    for (index, text) in (0..count).filter_map(argument).enumerate() {
        let is_address = !text.is_empty()
            && text
                .strip_prefix(b"0x")
                .unwrap_or(text)
                .iter()
                .all(u8::is_ascii_hexdigit);
        if index == 0 && is_address {
            continue;
        }
        if line.length != 0 {
            line.push(b" ");
        }
        // The loader's shell has taken the quotes off.
        let quote: &[u8] = match (text.contains(&b' '), text.contains(&b'"')) {
            (false, _) => b"",
            (true, false) => b"\"",
            (true, true) => b"'",
        };
        line.push(quote);
        line.push(text);
        line.push(quote);
    }
    true
}

fn from_tree(tree: &Tree<'_>, window: u32, told: &mut Handover, line: &mut Line<'_>) {
    for name in ["compatible", "model"] {
        let Some(property) = tree.find(&[], name) else {
            continue;
        };
        let names = |board: &&Board| {
            let wanted = board.tree.as_bytes();
            let mut places = property.value.windows(wanted.len());
            places.any(|place| place.eq_ignore_ascii_case(wanted))
        };
        if let Some(board) = BOARDS.iter().find(names) {
            BOARD.get().set(board);
        }
    }
    match tree
        .find(&["memory"], "reg")
        .and_then(|reg| Some((reg.cell(0)?, reg.cell(1)?)))
    {
        Some((0, size)) if size != 0 && size <= window => told.ram = size,
        Some((start, size)) => println!(
            "zeronull: device tree: memory of {size:#x} bytes at {start:#x}: ignored, accepted is up to {window:#x} at 0"
        ),
        None => println!("zeronull: device tree: no memory node"),
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
        told.initrd = Some((start, end - start));
    }
    let clock = tree
        .properties()
        .find(|property| property.name == "clock-frequency" && property.in_node_below("cpus"));
    if let Some(hz) = clock
        .and_then(|property| property.number())
        .and_then(|hz| u32::try_from(hz).ok())
    {
        told.core_hz = hz;
    }
}

/// The header of the reset image at `header`, with the sum of the words that were copied and the core clock.
fn from_reset_image(header: u32, (sum, core_hz): (u32, u32), window: u32, told: &mut Handover, line: &mut Line<'_>) {
    let word = |index: u32| ram_word(header + 4 * index, window).unwrap_or(0);
    let (archive, archive_bytes) = (word(6), word(7));
    let (text, text_bytes) = (word(9), word(10));
    told.core_hz = core_hz;
    told.ram = probe_ram(window);
    if sum == word(1) {
        told.initrd = (archive_bytes != 0).then_some((archive, archive_bytes));
    } else {
        println!(
            "zeronull: flash: the words of firmware and archive add up to {sum:#010x}, not {:#010x}: archive ignored",
            word(1)
        );
    }
    let text = ram_text(text, text.saturating_add(text_bytes), window);
    // An erased sector is no command line.
    line.push(text.split(|byte| *byte == 0xff).next().unwrap_or(&[]));
}

/// Where a layout of bd_info has IMMR, the core clock with the bus clock behind it, and the first bank of memory. Nothing in
/// the structure says which it is.
struct Layout {
    immr: u32,
    clocks: u32,
    memory: u32,
}

/// Before 2022; U-Boot 2023.01, which has two words of static RAM; later ones, which lack them (U-Boot `asm/u-boot.h`,
/// `asm-generic/u-boot.h`; reference document 7.3).
const LAYOUTS: [Layout; 3] = [
    Layout {
        immr: 0x1c,
        clocks: 0x30,
        memory: 0x00,
    },
    Layout {
        immr: 0x14,
        clocks: 0x24,
        memory: 0x34,
    },
    Layout {
        immr: 0x0c,
        clocks: 0x1c,
        memory: 0x2c,
    },
];

/// A bd_info, if one lies at `address`: IMMR is what it is, or 0, as some versions leave it on this family, and the clocks
/// are such as the parts have.
fn from_board_info(address: u32, window: u32, told: &mut Handover) -> bool {
    if address == 0 || !address.is_multiple_of(4) {
        return false;
    }
    let word = |offset: u32| {
        address
            .checked_add(offset)
            .and_then(|at| ram_word(at, window))
            .unwrap_or(0)
    };
    // Some loaders give MHz.
    let clock = |offset: u32| match word(offset) {
        mhz @ 1..1000 => mhz * 1_000_000,
        hz => hz,
    };
    let fits = |layout: &&Layout| {
        let (core, bus) = (clock(layout.clocks), clock(layout.clocks + 4));
        [immr_physical(), 0].contains(&word(layout.immr))
            && (1_000_000..=200_000_000).contains(&core)
            && (bus == core || bus == core / 2)
    };
    let Some(layout) = LAYOUTS.iter().find(fits) else {
        return false;
    };
    told.core_hz = clock(layout.clocks);
    match (word(layout.memory), word(layout.memory + 4)) {
        (0, size) if size >= RAM_DEFAULT && size <= window => told.ram = size,
        (0, 0) => {}
        (start, size) => println!(
            "zeronull: bd_info: memory of {size:#x} bytes at {start:#x}: ignored, accepted is up to {window:#x} at 0"
        ),
    }
    true
}
