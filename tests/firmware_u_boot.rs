//! The firmware started by a real U-Boot, which runs from the flash of the simulated MCR3000.

#[path = "sim/tests/boards/harness.rs"]
#[allow(dead_code, reason = "the tests of the boards use all of it")]
mod harness;
#[path = "sim/tests/boards/loader.rs"]
#[allow(dead_code, reason = "the tests of the boards use all of it")]
mod loader;

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use harness::Board8xx;
use loader::{at_prompt, command};
use mpc8xx_sim::bus::{Bus, Width};
use zeronull_image::board::Board;
use zeronull_image::image::{self, Image, ImageOptions};

/// Where U-Boot's scripts for this board put a kernel, a device tree, and here a RAM disk (`include/configs/MCR3000.h`).
const STAGING: u32 = 0x0040_0000;
const TREE: u32 = 0x00F0_0000;
const RAMDISK: u32 = 0x00A0_0000;
/// The image's own load address.
const LOAD: u32 = 0x0010_0000;
/// The baud rate generator of the console: its register in the internal memory map.
const BRGC1: u32 = 0xFF00_09F0;

/// Type and operating system of a RAM disk in a legacy image header.
const TYPE_RAMDISK: u8 = 3;

fn image() -> &'static Image {
    static IMAGE: OnceLock<Image> = OnceLock::new();
    IMAGE.get_or_init(|| image::build(&ImageOptions::new(Board::Mcr3000)).unwrap_or_else(|error| panic!("{error}")))
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|cause| panic!("cannot read {}: {cause}", path.display()))
}

/// Puts bytes into memory as `tftp` would have.
fn place(board: &mut Board8xx, address: u32, bytes: &[u8]) {
    let placed = board.machine.bus.external_mut().place(address, bytes);
    placed.unwrap_or_else(|at| panic!("no memory at {at:#x}"));
    board.machine.cpu.forget();
}

/// The archive of programs as a RAM disk for `bootm`.
fn ramdisk() -> Vec<u8> {
    let mut container = zeronull_image::uimage::pack(&read(&image().initrd()), "programs", 0, 0, 0);
    container[30] = TYPE_RAMDISK;
    container[4..8].fill(0);
    let checksum = mpc8xx_sim::load::uimage::crc32(&container[..64]);
    container[4..8].copy_from_slice(&checksum.to_be_bytes());
    container
}

/// A device tree with nothing but what U-Boot needs to fill in the rest.
fn tree() -> Vec<u8> {
    use mpc8xx_sim::load::fdt::{Node, Tree};
    let mut root = Node::default();
    for (name, value) in [("#address-cells", 1_u32), ("#size-cells", 1)] {
        root.set(name, value.to_be_bytes().to_vec());
    }
    root.set("model", b"MCR3000\0".to_vec());
    let mut cpus = Node {
        name: "cpus".into(),
        ..Node::default()
    };
    let mut cpu = Node {
        name: "PowerPC,866@0".into(),
        ..Node::default()
    };
    cpu.set("device_type", b"cpu\0".to_vec());
    cpus.children.push(cpu);
    root.children.push(cpus);
    let tree = Tree {
        root,
        ..Tree::default()
    };
    let mut blob = tree.to_bytes();
    // Room for what U-Boot adds.
    blob.resize(0x2000, 0);
    blob[4..8].copy_from_slice(&0x2000_u32.to_be_bytes());
    blob
}

fn brg(board: &mut Board8xx) -> u32 {
    let now = board.machine.cpu.now();
    board.machine.bus.read(BRGC1, Width::Word, now).expect("a register")
}

/// Starts what the boot command starts, checks the banner and that the console goes on at its speed, runs a command that
/// gives status 0 and ends the firmware. Gives the output.
fn assert_starts(mut board: Board8xx, boot: &str, banner: &str, proof: (&str, &str)) -> String {
    let speed = brg(&mut board);
    board.send(&format!("{boot}\r"));
    board.expect("zeronull 0", 30);
    board.expect(banner, 5);
    board.expect("zeronull> ", 5);
    board.send(&format!("{}\r", proof.0));
    board.expect(proof.1, 20);
    board.expect("zeronull> ", 5);
    assert_eq!(brg(&mut board), speed, "the console keeps its speed");
    board.send("poweroff 7\r");
    board.expect("zeronull: done, status 7\r\n", 5);
    assert!(
        !board.output.contains('\u{fffd}'),
        "broken characters:\n{}",
        board.output
    );
    board.output
}

const DD: (&str, &str) = (
    "dd if=/dev/zero of=/dev/null count=100",
    "51200 bytes (50.0KB) copied, ",
);

#[test]
fn bootm_with_a_ramdisk_and_a_device_tree_runs_programs() {
    let Some(mut board) = at_prompt() else { return };
    place(&mut board, STAGING, &read(&image().uimage()));
    place(&mut board, RAMDISK, &ramdisk());
    place(&mut board, TREE, &tree());
    command(&mut board, "setenv bootargs console=ttyCPM0,115200N8 odd=1", 5);
    let boot = format!("bootm {STAGING:x} {RAMDISK:x} {TREE:x}");
    board.send("\r");
    board.expect(loader::PROMPT, 5);
    assert_starts(board, &boot, "word odd=1 is unknown", DD);
}

#[test]
fn bootm_with_a_device_tree_alone_reaches_the_prompt() {
    let Some(mut board) = at_prompt() else { return };
    place(&mut board, STAGING, &read(&image().uimage()));
    place(&mut board, TREE, &tree());
    let boot = format!("bootm {STAGING:x} - {TREE:x}");
    assert_starts(board, &boot, "no initial archive", ("status", "last      status 0"));
}

#[test]
fn bootm_without_a_device_tree_takes_the_board_information() {
    let Some(mut board) = at_prompt() else { return };
    place(&mut board, STAGING, &read(&image().uimage()));
    place(&mut board, RAMDISK, &ramdisk());
    command(&mut board, "setenv bootargs odd=2", 5);
    let boot = format!("bootm {STAGING:x} {RAMDISK:x}");
    let output = assert_starts(board, &boot, "word odd=2 is unknown", DD);
    assert!(!output.contains("assumed") && !output.contains("unknown:"), "{output}");
}

#[test]
fn bootm_of_the_image_alone_reaches_the_prompt() {
    let Some(mut board) = at_prompt() else { return };
    place(&mut board, STAGING, &read(&image().uimage()));
    let boot = format!("bootm {STAGING:x}");
    assert_starts(board, &boot, "no initial archive", ("status", "last      status 0"));
}

// U-214: the header at the load address, the payload behind it, where it is moved down over its own header.
#[test]
fn bootm_of_an_image_staged_where_it_is_loaded_starts_it() {
    let Some(mut board) = at_prompt() else { return };
    place(&mut board, LOAD, &read(&image().uimage()));
    let boot = format!("bootm {LOAD:x}");
    assert_starts(board, &boot, "no initial archive", ("status", "last      status 0"));
}

// U-213
#[test]
fn image_damaged_in_memory_is_refused() {
    let Some(mut board) = at_prompt() else { return };
    place(&mut board, STAGING, &read(&image().uimage()));
    let info = |board: &mut Board8xx| command(board, &format!("bootm start {STAGING:x}"), 20);
    let good = info(&mut board);
    assert!(good.contains("Verifying Checksum ... OK"), "{good}");
    let damaged = read(&image().uimage())[5000] ^ 1;
    place(&mut board, STAGING + 5000, &[damaged]);
    let bad = info(&mut board);
    assert!(bad.contains("Bad Data CRC"), "{bad}");
}

#[test]
fn go_passes_the_words_behind_the_address() {
    for place_at in [LOAD, 0x0080_0000] {
        let Some(mut board) = at_prompt() else { return };
        place(&mut board, place_at, &read(&image().bin()));
        let archive = read(&image().initrd());
        place(&mut board, RAMDISK, &archive);
        let boot = format!(
            "go {place_at:x} initrd=0x{RAMDISK:x},{} 'run=help;  status' odd=3",
            archive.len()
        );
        assert_starts(board, &boot, "word odd=3 is unknown", DD);
    }
}

#[test]
fn bootelf_loads_the_segments_and_passes_the_words() {
    let Some(mut board) = at_prompt() else { return };
    let archive = read(&image().initrd());
    place(&mut board, 0x0080_0000, &read(&image().elf()));
    place(&mut board, RAMDISK, &archive);
    command(&mut board, "setenv autostart yes", 5);
    let boot = format!("bootelf -p 800000 odd=4 initrd=0x{RAMDISK:x},{}", archive.len());
    assert_starts(board, &boot, "word odd=4 is unknown", DD);
}

// The commands of the README.
#[test]
fn reset_image_that_the_loader_has_written_over_itself_starts_without_it() {
    let Some(mut board) = at_prompt() else { return };
    let flash = read(&image().flash().expect("the board has a reset image"));
    place(&mut board, STAGING, &flash);
    // As tftp leaves it.
    command(&mut board, &format!("setenv filesize {:x}", flash.len()), 5);
    command(&mut board, "protect off 4000000 +$filesize", 5);
    let erased = command(&mut board, "erase 4000000 +$filesize", 60);
    assert!(erased.contains("Erased ") && erased.contains(" sectors"), "{erased}");
    command(&mut board, &format!("cp.b {STAGING:x} 4000000 $filesize"), 60);
    let compared = command(&mut board, &format!("cmp.b {STAGING:x} 4000000 $filesize"), 60);
    assert!(
        compared.contains(&format!("Total of {} byte(s) were the same", flash.len())),
        "{compared}"
    );
    board.send("reset\r");
    board.expect("zeronull 0", 5);
    board.expect("zeronull> ", 5);
    assert!(!board.output.contains("flash: the words"), "{}", board.output);
    board.send(&format!("{}\r", DD.0));
    board.expect(DD.1, 5);
    board.send("poweroff 7\r");
    board.expect("zeronull: done, status 7\r\n", 5);
}
