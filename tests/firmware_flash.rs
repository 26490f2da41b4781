//! The firmware from the reset vector of the simulated MCR3000, without a boot loader.

#[path = "common/simulated.rs"]
mod simulated;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use mpc8xx_sim::bus::{Bus, Width};
use simulated::harness::{Board8xx, board, options};
use simulated::{device_tree, image, read, started};
use zeronull_image::image::Image;
use zeronull_image::session::{Session, Transcript};
use zeronull_image::start::Initrd;
use zeronull_image::testing::empty_directory;
use zeronull_image::{cargo, flash};

const LIMIT: Duration = Duration::from_secs(60);
const DD: &str = "time dd if=/dev/zero of=/dev/null count=10k; poweroff";
/// Where the pieces lie in the flash.
const COMMAND_LINE: usize = 0x4000;
const FIRMWARE: usize = 0x8000;

fn flash_file(image: &Image) -> PathBuf {
    image.flash().expect("the board has a reset image")
}

/// Runs the simulator with arguments of a test; gives the console and the status.
fn simulate(arguments: &[&str]) -> Transcript {
    let mut command = Command::new(cargo::simulator().unwrap_or_else(|error| panic!("{error}")));
    command.args(["--console", "raw"]).args(arguments);
    Session::start(command, "simulated mcr3000".into(), Initrd::kept(PathBuf::new()))
        .and_then(|session| session.finish(LIMIT))
        .unwrap_or_else(|error| panic!("{error}"))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the path is UTF-8")
}

/// A flash with this content, in a file of its own.
fn file_with(test: &str, content: &[u8]) -> PathBuf {
    let path = empty_directory(test).join("flash");
    fs::write(&path, content).expect("a file can be written");
    path
}

#[test]
fn reset_image_gives_the_console_of_the_boot_loaders_start() {
    let image = image();
    let flash = flash_file(image);
    let content = read(&flash);
    let from_reset = simulate(&["--flash", text(&flash), "--", DD]);
    let from_loader = simulate(&[text(&image.uimage()), "--", DD]);
    let without_times = |transcript: &Transcript| -> Vec<String> {
        let lines = transcript.console.lines();
        let is_time = |line: &str| {
            ["copied,", "real", "user", "sys"]
                .iter()
                .any(|word| line.contains(word))
        };
        lines.filter(|line| !is_time(line)).map(String::from).collect()
    };
    assert_eq!(without_times(&from_reset), without_times(&from_loader));
    assert!(from_reset.console.contains("5242880 bytes (5.0MB) copied, "));
    assert_eq!((from_reset.status, from_loader.status), (0, 0));
    assert_eq!(read(&flash), content, "the commands are in a copy");
}

// U-081
#[test]
fn size_of_ram_is_found_without_anybody_telling_it() {
    for mebibytes in ["8", "16", "32"] {
        let image = image();
        let commands = "dd if=/dev/zero of=/dev/null bs=1M count=2";
        let transcript = simulate(&[
            "--memory",
            mebibytes,
            "--flash",
            text(&flash_file(image)),
            "--",
            commands,
        ]);
        let console = transcript.console;
        assert!(console.contains(&format!(", {mebibytes} MiB RAM\n")), "{console}");
        assert!(console.contains("2097152 bytes (2.0MB) copied, "), "{console}");
        assert_eq!(transcript.status, 0, "{console}");
    }
}

#[test]
fn command_line_in_flash_is_taken_and_an_erased_one_is_none() {
    let image = image();
    let mut content = read(&flash_file(image));
    let line = b"run=\"help; poweroff 5\"";
    content[COMMAND_LINE..][..line.len()].copy_from_slice(line);
    // Behind the text lies erased flash, as after writing the sector anew.
    content[COMMAND_LINE + line.len()..FIRMWARE].fill(0xFF);
    let transcript = simulate(&["--flash", text(&file_with("flash_line", &content))]);
    assert!(transcript.console.contains("commands:"), "{}", transcript.console);
    assert_eq!(transcript.status, 5);

    content[COMMAND_LINE..FIRMWARE].fill(0xFF);
    let mut board = at_reset(content);
    board.expect("zeronull> ", 2);
    assert!(!board.output.contains("unknown"), "{}", board.output);
}

#[test]
fn longest_command_line_arrives_whole() {
    let image = image();
    let reset = [0x4800_0000_u32.to_be_bytes()].concat();
    let line = format!("{} run=poweroff", "x".repeat(2047 - " run=poweroff".len()));
    let packed = flash::pack(&reset, &[], &[], &line).expect("it fits");
    let mut content = read(&flash_file(image));
    content[COMMAND_LINE..FIRMWARE].copy_from_slice(&packed[COMMAND_LINE..FIRMWARE]);
    let transcript = simulate(&["--flash", text(&file_with("longest_line", &content))]);
    assert!(
        transcript.console.contains("xxx is unknown and ignored"),
        "{}",
        transcript.console
    );
    assert_eq!(transcript.status, 0);
}

#[test]
fn damaged_archive_is_named_and_ignored() {
    let image = image();
    let mut content = read(&flash_file(image));
    let last = content.len() - 1;
    content[last] ^= 1;
    let transcript = simulate(&["--flash", text(&file_with("damaged", &content)), "--", "dd"]);
    let console = transcript.console;
    assert!(
        console.contains("zeronull: flash: the words of firmware and archive add up to "),
        "{console}"
    );
    assert!(
        console.contains("no initial archive: there are no programs"),
        "{console}"
    );
    assert_eq!(transcript.status, 127, "{console}");
}

fn at_reset(content: Vec<u8>) -> Board8xx {
    let (mut options, terminal) = options();
    options.flash_content = content;
    Board8xx::at_reset(board("mcr3000"), options, terminal)
}

/// What the board's U-Boot leaves in the registers, seen from the firmware's prompt: the simulator has these values from
/// another reading of the same sources.
#[test]
fn registers_are_as_the_boards_own_boot_loader_sets_them() {
    let image = image();
    let mut from_reset = at_reset(read(&flash_file(image)));
    let mut from_loader = started(device_tree("", None));
    for board in [&mut from_reset, &mut from_loader] {
        board.expect("zeronull> ", 2);
    }
    let register = |board: &mut Board8xx, offset: u32, width: Width| {
        let now = board.machine.cpu.now();
        board
            .machine
            .bus
            .read(0xFF00_0000 + offset, width, now)
            .expect("a register")
    };
    let words = [0x000, 0x030, 0x100, 0x104, 0x108, 0x10C, 0x170, 0x280, 0x284, 0x9F0];
    for offset in words {
        let [found, expected] = [&mut from_reset, &mut from_loader].map(|board| register(board, offset, Width::Word));
        assert_eq!(found, expected, "IMMR+{offset:#x}");
    }
    for offset in [0x17A, 0x200] {
        let [found, expected] = [&mut from_reset, &mut from_loader].map(|board| register(board, offset, Width::Half));
        assert_eq!(found, expected, "IMMR+{offset:#x}");
    }
    // SWE off, so SWRI and SWP have nothing to say.
    let [found, expected] = [&mut from_reset, &mut from_loader].map(|board| register(board, 0x004, Width::Word) & !3);
    assert_eq!((found, found & 4), (expected, 0), "SYPCR");
    for index in 0..64 {
        let [found, expected] = [&mut from_reset, &mut from_loader].map(|board| {
            let now = board.machine.cpu.now();
            let command = 0x4000_0000 | index;
            let sent = board.machine.bus.write(0xFF00_0168, Width::Word, command, now);
            sent.expect("MCR is a register");
            register(board, 0x17C, Width::Word)
        });
        assert_eq!(found, expected, "UPMA word {index:#x}");
        assert_ne!(found, 0, "UPMA word {index:#x}");
    }
}
