//! U-Boot for the MCR3000, as `tests/build-u-boot` builds it from the distribution's source, started from the reset
//! vector in flash.

use mpc8xx_sim::load::fdt::Tree;
use mpc8xx_sim::load::{Image, uimage};
use mpc8xx_sim::soc::external::Socket;

use crate::harness::{Board8xx, board, options};
use crate::linux::kernels;
use crate::loader::{PROMPT, at_prompt, command, u_boot};

/// A uImage of type kernel for Linux.
fn kernel_uimage(payload: &[u8], load: u32, entry: u32) -> Vec<u8> {
    let mut header = vec![0; uimage::HEADER_BYTES];
    let mut put = |offset: usize, value: u32| header[offset..offset + 4].copy_from_slice(&value.to_be_bytes());
    put(0, uimage::MAGIC);
    put(12, payload.len() as u32);
    put(16, load);
    put(20, entry);
    put(24, uimage::crc32(payload));
    put(28, u32::from_be_bytes([5, 7, 2, 0]));
    let checksum = uimage::crc32(&header);
    header[4..8].copy_from_slice(&checksum.to_be_bytes());
    header.extend(payload);
    header
}

#[test]
fn banner_names_what_was_found() {
    let Some(board) = at_prompt() else { return };
    for line in [
        "CPU:   MPC866",
        " at 132 MHz: 16 KiB I-Cache 8 KiB D-Cache",
        "BOARD: MCR3000 CSSI",
        "size 32 MiB",
        "Flash: 2 MiB",
        "Loading Environment from Flash... OK",
    ] {
        assert!(
            board.output.contains(line),
            "{line:?} is missing from:\n{}",
            board.output
        );
    }
}

#[test]
fn countdown_lasts_its_five_seconds() {
    let (mut options, terminal) = options();
    let Some(image) = u_boot() else { return };
    options.flash_content = image.to_vec();
    let mut board = Board8xx::at_reset(board("mcr3000"), options, terminal);
    board.expect("autoboot in 5 sec", 20);
    let start = board.machine.cpu.now();
    board.expect("Wrong Image Format", 10);
    let seconds = (board.machine.cpu.now() - start) as f64 / 132e6;
    assert!((4.95..5.1).contains(&seconds), "{seconds} s by the core clock");
}

#[test]
fn memory_and_environment_commands_work() {
    let Some(mut board) = at_prompt() else { return };
    assert!(command(&mut board, "printenv bootcmd", 5).contains("bootcmd=run flashboot"));
    command(&mut board, "mw.l 100000 cafebabe 2", 5);
    assert!(command(&mut board, "md.l 100000 2", 5).contains("00100000: cafebabe cafebabe"));
    assert!(command(&mut board, "md.l 4000000 1", 5).contains("04000000: 27051956"));
}

#[test]
fn flash_is_identified_written_and_survives_a_reset() {
    let Some(mut board) = at_prompt() else { return };
    let info = command(&mut board, "flinfo", 10);
    assert!(
        info.contains("Bank # 1: CFI conformant flash (16 x 16)  Size: 2 MB in 35 Sectors"),
        "{info}"
    );
    assert!(info.contains("Manufacturer ID: 0x01, Device ID: 0x2249"), "{info}");
    command(&mut board, "setenv kept across", 5);
    let saved = command(&mut board, "saveenv", 60);
    assert!(saved.contains("OK"), "{saved}");
    let flash_is_dirty =
        |board: &Board8xx| matches!(&board.machine.bus.external().sockets[0], Socket::Flash(flash) if flash.is_dirty());
    assert!(flash_is_dirty(&board));
    // `reset` runs into the checkstop with PLPRCR[CSR] set.
    board.send("reset\r");
    board.expect("U-Boot 20", 10);
    board.expect("autoboot in 5 sec", 20);
    board.send("root");
    board.expect(PROMPT, 6);
    assert!(command(&mut board, "printenv kept", 5).contains("kept=across"));
    let erased = command(&mut board, "erase 41f0000 41fffff", 60);
    assert!(erased.contains("done"), "{erased}");
    command(&mut board, "mw.l 100000 01234567 4", 5);
    let copied = command(&mut board, "cp.b 100000 41f0000 10", 60);
    assert!(copied.contains("done"), "{copied}");
    assert!(command(&mut board, "md.l 41f0000 4", 5).contains("01234567 01234567 01234567 01234567"));
}

#[test]
fn bootm_starts_linux_from_memory_with_a_device_tree() {
    let Some(directory) = kernels() else { return };
    let Some(mut board) = at_prompt() else { return };
    let read = |name: &str| std::fs::read(directory.join(name)).expect("the file can be read");
    let kernel = Image::parse(&read("vmlinux-16k"), 0).expect("the kernel is an image");
    let mut flat = vec![0; kernel.end() as usize];
    for segment in &kernel.segments {
        flat[segment.address as usize..][..segment.bytes.len()].copy_from_slice(&segment.bytes);
    }
    let tree = Tree::parse(&read("mpc885ads-min.dtb")).expect("the tree is well formed");
    // Room for what U-Boot adds to the tree.
    let mut blob = tree.to_bytes();
    let padded = blob.len() + 0x1000;
    blob.resize(padded, 0);
    blob[4..8].copy_from_slice(&(padded as u32).to_be_bytes());
    // As `loadb` or `tftp` would have left them.
    let external = board.machine.bus.external_mut();
    external
        .place(0x0080_0000, &kernel_uimage(&flat, 0, 0))
        .expect("the image fits");
    external.place(0x00F0_0000, &blob).expect("the tree fits");
    board.machine.cpu.forget();
    command(
        &mut board,
        "setenv bootargs console=ttyCPM0,115200 n=20 runs=1 sel=17 halt=0",
        5,
    );
    board.send("bootm 800000 - f00000\r");
    board.expect("Verifying Checksum ... OK", 20);
    board.expect("Linux version 6.1", 20);
    board.expect("Run /init as init process", 20);
    board.expect("INIT Linux", 20);
}

#[test]
fn bootm_starts_a_bare_program_from_flash() {
    let Some(mut board) = at_prompt() else { return };
    // Sends "~" through the descriptor that U-Boot's console has left at IMMR+0x3808, then halts: lis r4,0xFF00;
    // ori r4,r4,0x3800; li r5,'~'; stb r5,0x15(r4); li r5,1; sth r5,10(r4); li r5,0xA000; sth r5,8(r4); b .
    let words = [
        0x3C80_FF00u32,
        0x6084_3800,
        0x38A0_007E,
        0x98A4_0015,
        0x38A0_0001,
        0xB0A4_000A,
        0x38A0_A000,
        0xB0A4_0008,
        0x4800_0000,
    ];
    let code: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    let image = kernel_uimage(&code, 0x0040_0000, 0x0040_0000);
    board
        .machine
        .bus
        .external_mut()
        .place(0x0418_0000, &image)
        .expect("the image fits");
    board.machine.cpu.forget();
    board.send("bootm 4180000\r");
    board.expect("Verifying Checksum ... OK", 10);
    board.expect("~", 10);
}

#[test]
fn bootm_refuses_a_corrupt_image() {
    let Some(mut board) = at_prompt() else { return };
    let mut image = kernel_uimage(&[0x60; 4096], 0x0040_0000, 0x0040_0000);
    image[2000] ^= 1;
    board
        .machine
        .bus
        .external_mut()
        .place(0x0080_0000, &image)
        .expect("the image fits");
    board.machine.cpu.forget();
    let refused = command(&mut board, "bootm 800000", 10);
    assert!(refused.contains("Bad Data CRC"), "{refused}");
}

#[test]
fn go_calls_with_argc_and_argv_and_gets_the_return_value() {
    let Some(mut board) = at_prompt() else { return };
    // mulli r3,r3,100; lwz r4,4(r4); lbz r4,0(r4); add r3,r3,r4; blr: 100 * argc and the first letter of argv[1].
    let words = [0x1C63_0064u32, 0x8084_0004, 0x8884_0000, 0x7C63_2214, 0x4E80_0020];
    let code: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    board
        .machine
        .bus
        .external_mut()
        .place(0x0040_0000, &code)
        .expect("the code fits");
    board.machine.cpu.forget();
    let output = command(&mut board, "go 400000 A", 10);
    assert!(output.contains("## Application terminated, rc = 0x109"), "{output}");
}
