//! Starting the firmware: from every machine and CPU that it is for, and with everything that a start can get wrong.

mod common;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use common::firmware::Firmware;
use zeronull_image::board::Board;
use zeronull_image::cargo::Build;
use zeronull_image::image::{self, Image, ImageOptions};
use zeronull_image::machine::{Console, Machine, Qemu, QemuStart};
use zeronull_image::session::{Session, Transcript};
use zeronull_image::start::{COMMAND_LINE_LIMIT, Initrd, Start};
use zeronull_image::testing::{empty_directory, machines, output, program};
use zeronull_image::{cpio, workspace};

const LIMIT: Duration = Duration::from_secs(60);
/// Time in which a machine must have shown the banner.
const BANNER_LIMIT: Duration = Duration::from_secs(10);
const BANNER: &str = "zeronull 0";

fn image(board: Board) -> Image {
    image::build(&ImageOptions::new(board)).unwrap_or_else(|error| panic!("{error}"))
}

fn run(machine: &dyn Machine, start: &Start) -> Transcript {
    machine
        .start(&image(machine.board()), start)
        .and_then(|session| session.finish(LIMIT))
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Runs with a command line and an archive that no check has seen before.
fn run_unchecked(machine: &dyn Machine, command_line: &str, initrd: PathBuf) -> Transcript {
    let image = image(machine.board());
    machine
        .command(&image, command_line, &initrd, Console::Pipes)
        .and_then(|command| Session::start(command, machine.name(), Initrd::kept(initrd)))
        .and_then(|session| session.finish(LIMIT))
        .unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn assert_ended(transcript: &Transcript, status: u8, part: &str) {
    let console = &transcript.console;
    assert!(console.contains(part), "no `{part}` in:\n{console}");
    assert_eq!(transcript.status, status, "{console}");
}

// U-217
#[test]
fn every_listed_cpu_shows_the_banner_from_reset() {
    for cpu in Qemu::CPUS {
        assert_boots(&Qemu {
            cpu: cpu.into(),
            ..Qemu::default()
        });
    }
}

// U-217
#[test]
fn cpus_that_openbios_runs_on_show_the_banner_through_it() {
    let start = QemuStart::OpenBios;
    for cpu in Qemu::CPUS {
        let machine = Qemu {
            cpu: cpu.into(),
            start,
            ..Qemu::default()
        };
        if machine.check().is_ok() {
            assert_boots(&machine);
        }
    }
}

fn assert_boots(machine: &Qemu) {
    let transcript = machine
        .start(&image(machine.board()), &Start::commands(&["help"]))
        .and_then(|mut session| {
            session.expect(BANNER, BANNER_LIMIT)?;
            session.finish(LIMIT)
        })
        .unwrap_or_else(|error| panic!("{error}"));
    assert_ended(&transcript, 0, "end with STATUS");
    // The version register tells the core, not its variant.
    let cpu = machine.cpu.trim_end_matches("le").trim_end_matches("c3");
    assert_ended(&transcript, 0, &format!("cpu {cpu}"));
}

// U-217
#[test]
fn console_is_on_standard_output_with_nographic_too() {
    let image = image(Board::G3beige);
    let mut command = Command::new(Qemu::find_program().unwrap_or_else(|error| panic!("{error}")));
    command.args([
        "-M",
        "g3beige",
        "-cpu",
        "603e",
        "-vga",
        "none",
        "-nic",
        "none",
        "-nographic",
        "-no-reboot",
    ]);
    command
        .arg("-device")
        .arg(format!("loader,file={},cpu-num=0", image.elf().display()));
    command.args(["-fw_cfg", "name=opt/zeronull/cmdline,string=run=poweroff"]);
    let transcript = Session::start(command, "qemu -nographic".into(), Initrd::kept(image.initrd()))
        .and_then(|session| session.finish(LIMIT))
        .unwrap_or_else(|error| panic!("{error}"));
    assert_ended(&transcript, 0, BANNER);
}

/// QEMU with the raw image, entered from code that brings about a state of the core.
fn enter_on_qemu(image: &Image, name: &str, code: &str, msr: u32) -> Transcript {
    const IMAGE: u32 = 0x30_0000;
    const CODE: u32 = 0x70_0000;
    let directory = empty_directory(&format!("boot-{name}"));
    let path = |file: &str| directory.join(file);
    let source = format!(
        "{code}
        lis 10, {IMAGE:#x} >> 16; mtsrr0 10
        lis 11, {msr} >> 16; ori 11, 11, {msr} & 0xffff; mtsrr1 11
        rfi\n"
    );
    fs::write(path("code.s"), source).expect("the source can be written");
    output(
        program("powerpc-linux-gnu-as")
            .args(["-m603", "-mregnames", "-o"])
            .args([path("code.o"), path("code.s")]),
    );
    output(
        program("powerpc-linux-gnu-objcopy")
            .args(["-O", "binary", "-j", ".text"])
            .args([path("code.o"), path("code.bin")]),
    );
    let mut command = Command::new(Qemu::find_program().unwrap_or_else(|error| panic!("{error}")));
    command.args([
        "-M", "g3beige", "-cpu", "603e", "-vga", "none", "-nic", "none", "-display", "none",
    ]);
    command.args(["-serial", "stdio", "-monitor", "none", "-no-reboot"]);
    for loader in [
        format!("loader,file={},addr={IMAGE:#x},force-raw=on", image.bin().display()),
        format!("loader,file={},addr={CODE:#x},force-raw=on", path("code.bin").display()),
        format!("loader,addr={CODE:#x},cpu-num=0"),
    ] {
        command.args(["-device", &loader]);
    }
    command.args(["-fw_cfg", "name=opt/zeronull/cmdline,string=run=poweroff"]);
    Session::start(command, format!("qemu with {name}"), Initrd::kept(image.initrd()))
        .and_then(|session| session.finish(LIMIT))
        .unwrap_or_else(|error| panic!("{error}"))
}

// U-210; the simulated board's states are in firmware_hand_over.rs.
#[test]
fn state_of_qemus_core_at_entry_does_not_matter() {
    let image = image(Board::G3beige);
    // All of memory mapped to itself by block 0, for both sides.
    let identity = "
        li 10, 0x2; mtspr 529, 10; mtspr 537, 10
        li 10, 0x1ffe; mtspr 528, 10; mtspr 536, 10
        isync\n";
    let garbage = "
        li 10, -1
        mtctr 10; mtlr 10; mtxer 10; mtcrf 0xff, 10; mtdar 10; mtdsisr 10
        mtsprg 0, 10; mtsprg 1, 10; mtsprg 2, 10; mtsprg 3, 10
        mtspr 531, 10; mtspr 539, 10; mtspr 25, 10
        lis 1, 0x30; lis 2, 0xdead; lis 3, 0xdead; mr 4, 10; mr 30, 10; mr 31, 10
        lis 12, 0x2000; li 11, 16; mtctr 11; li 13, 0
    1:  mtsrin 12, 13; addis 13, 13, 0x1000
        bdnz 1b\n";
    let caches = "mfspr 10, 1008; ori 10, 10, 0xcc00; mtspr 1008, 10; isync\n";
    let decrementer = "li 10, 1000; mtdec 10\n";
    let everything = [garbage, identity, caches, decrementer].concat();
    for (name, code, msr) in [
        ("interrupts on", decrementer, 0x9002),
        ("a decrementer interrupt pending", "li 10, -1; mtdec 10\n", 0x1002),
        ("vectors high", "", 0x1042),
        ("machine check off", "", 0),
        ("caches on", caches, 0x1002),
        ("translation on", identity, 0x1032),
        ("garbage in the registers", garbage, 0x1002),
        ("everything", &everything, 0x9072),
    ] {
        let transcript = enter_on_qemu(&image, &name.replace(' ', "-"), code, msr);
        assert_ended(&transcript, 0, BANNER);
    }
}

// U-081; the simulated boards' sizes are in firmware_hand_over.rs.
#[test]
fn every_size_of_qemus_ram_is_found_and_can_be_used_to_its_end() {
    for memory in [16, 64, 128, 256] {
        let machine = Qemu {
            memory,
            ..Qemu::default()
        };
        // A program's break does not go beyond 128 MiB.
        let buffer = (memory - 4).min(120);
        let dd = format!("dd if=/dev/zero of=/dev/null bs={buffer}M count=1");
        let transcript = run(&machine, &Start::commands(&[&dd]));
        assert_ended(&transcript, 0, &format!(", {memory} MiB RAM\n"));
        assert_ended(&transcript, 0, &format!("{} bytes (", buffer << 20));
    }
}

/// What machines may differ in: their own lines in the banner and in `status`, the numbers behind a test, which depend on
/// the length of a cache line, addresses and offsets of the kernel's code and data, how often a static branch was inlined.
fn without_machine(console: &str) -> Vec<String> {
    let is_banner = |line: &str| {
        ["zeronull 0", "image 0x", "core "]
            .iter()
            .any(|start| line.starts_with(start))
    };
    let lines = console.lines().filter(|line| !is_banner(line));
    lines
        .map(|line| {
            let kept = match line.split_once(" # ") {
                Some((test, _)) => test,
                None => line.split_once(" physical 0x").map_or(line, |(text, _)| text),
            };
            let is_status = ["heap ", "frames ", "uptime "]
                .iter()
                .any(|start| kept.starts_with(start))
                || kept.contains(" places: ");
            let mut words = Vec::new();
            for word in kept.split(' ') {
                let (text, offset) = word.split_once("+0x").unwrap_or((word, ""));
                let is_kernel = text.starts_with("0xc0");
                let is_number = is_status && text.starts_with(|first: char| first.is_ascii_digit());
                words.push(match (is_kernel || is_number, offset) {
                    (true, _) => "N",
                    (false, "") => word,
                    (false, _) => text,
                });
            }
            words.join(" ")
        })
        .collect()
}

// U-211
#[test]
fn all_machines_give_the_same_transcript() {
    let commands = [
        "help",
        "status",
        "files",
        "preset",
        "accounting",
        "static_key",
        "poison",
        "dd if=/dev/zero of=/dev/null count=1000 status=noxfer",
        "dd if=/dev/zero of=/dev/null bs=1M count=3 status=noxfer",
        "dd if=/dev/zero of=/dev/full count=1 status=noxfer",
        "dd if=/nothing",
        "dd bs=0",
        "dd --help",
        "nullcall --help",
        "probe load 0",
        "probe store 0x80000000",
        "probe jump 0xc0000000",
        "lkdtm",
        "no-such-command",
        "poison 100 8; dd if=/dev/pmem0 of=/dev/null bs=64 count=2 status=noxfer; poison clear",
        "selftest",
        "status",
    ];
    let texts: Vec<_> = machines()
        .iter()
        .map(|machine| {
            let mut firmware = Firmware::boot(machine.as_ref(), &Start::default());
            let mut text = without_machine(&firmware.banner);
            for command in commands {
                text.push(command.into());
                text.extend(without_machine(&firmware.type_command(command)));
            }
            (machine.name(), text)
        })
        .collect();
    let (first, expected) = &texts[0];
    assert!(expected.len() > 100, "{expected:#?}");
    for (name, text) in &texts[1..] {
        for (found, wanted) in text.iter().zip(expected) {
            assert_eq!(found, wanted, "{name} against {first}");
        }
        assert_eq!(text.len(), expected.len(), "{name} against {first}");
    }
}

#[test]
fn cpu_of_another_kind_is_named_and_refused() {
    let machine = Qemu {
        cpu: "604".into(),
        ..Qemu::default()
    };
    assert_ended(
        &run(&machine, &Start::commands(&["help"])),
        1,
        "is not supported: accepted are 603e, g2",
    );
}

#[test]
fn status_of_the_firmware_is_that_of_poweroff_or_of_the_last_command() {
    for machine in machines() {
        for (command, status) in [
            ("poweroff 42", 42),
            ("help", 0),
            ("no-such-command", 127),
            ("help; x; help", 0),
        ] {
            let transcript = run(machine.as_ref(), &Start::commands(&[command]));
            assert_eq!(transcript.status, status, "{command}: {}", transcript.console);
        }
    }
}

#[test]
fn over_long_command_line_is_refused_by_the_firmware_too() {
    for machine in machines() {
        let initrd = image(machine.board()).initrd();
        let run_line = "run=poweroff";
        let filled = format!("{} {run_line}", "x".repeat(COMMAND_LINE_LIMIT - 1 - run_line.len()));
        let transcript = run_unchecked(machine.as_ref(), &filled, initrd.clone());
        assert_ended(&transcript, 0, BANNER);
        let transcript = run_unchecked(machine.as_ref(), &format!("x{filled}"), initrd);
        assert_ended(&transcript, 1, "command line of 2048 bytes is too long: at most 2047");
    }
}

#[test]
fn command_line_words_arrive_as_they_were_given() {
    for machine in machines() {
        let start = Start {
            append: Some("odd=a,b,,c=d".into()),
            ..Start::commands(&["help"])
        };
        assert_ended(
            &run(machine.as_ref(), &start),
            0,
            "command line word odd=a,b,,c=d is unknown and ignored",
        );
    }
}

#[test]
fn unknown_preset_is_named_and_refused() {
    for machine in machines() {
        let start = Start {
            preset: Some("patch-99".into()),
            ..Start::commands(&["help"])
        };
        assert_ended(&run(machine.as_ref(), &start), 1, "preset=patch-99 does not exist");
    }
}

#[test]
fn truncated_archive_is_refused_with_the_place() {
    for machine in machines() {
        let directory = empty_directory("truncated_archive");
        let whole = fs::read(image(machine.board()).initrd()).expect("the image has an initrd");
        for (length, part) in [
            (whole.len() / 2, "is cut off"),
            (50, "the entry at offset 0 is cut off"),
            (whole.len() - 124, "the archive ends without TRAILER!!!"),
        ] {
            let path = directory.join(format!("{length}.cpio"));
            fs::write(&path, &whole[..length]).expect("the archive can be written");
            assert_ended(
                &run_unchecked(machine.as_ref(), "run=\"help; poweroff\"", path),
                1,
                part,
            );
        }
    }
}

#[test]
fn program_of_an_archive_of_ones_own_runs_by_name() {
    for machine in machines() {
        let path = empty_directory("own_archive").join("own,1.cpio");
        let mut archive = cpio::Archive::default();
        archive.program("bin/mine", &user_program(&image(machine.board()), "dd"));
        fs::write(&path, archive.finish()).expect("the archive can be written");
        let command = "mine if=/dev/zero of=/dev/null bs=4k count=3; dd if=/dev/zero of=/dev/null count=5";
        let start = Start {
            initrd: vec![path],
            ..Start::commands(&[command])
        };
        let transcript = run(machine.as_ref(), &start);
        assert_ended(&transcript, 0, "\n3+0 records out\n");
        assert_ended(&transcript, 0, "\n5+0 records out\n");
    }
}

#[test]
fn broken_program_is_named_and_the_shell_goes_on() {
    for machine in machines() {
        let path = empty_directory("broken_programs").join("broken.cpio");
        let dd = user_program(&image(machine.board()), "dd");
        let changed = |offset: usize, value: u8| {
            let mut program = dd.clone();
            program[offset] = value;
            program
        };
        let programs = [
            ("empty", Vec::new()),
            ("text", b"hello\n".to_vec()),
            ("cut", dd[..dd.len() / 2].to_vec()),
            ("header-only", dd[..52].to_vec()),
            ("little-endian", changed(5, 1)),
            ("other-machine", changed(19, 62)),
        ];
        let mut archive = cpio::Archive::default();
        for (name, program) in &programs {
            archive.program(&format!("bin/{name}"), program);
        }
        fs::write(&path, archive.finish()).expect("the archive can be written");
        for (name, _) in &programs {
            let start = Start {
                initrd: vec![path.clone()],
                ..Start::commands(&["help", name])
            };
            assert_ended(&run(machine.as_ref(), &start), 126, &format!("\n{name}: "));
        }
    }
}

fn user_program(image: &Image, name: &str) -> Vec<u8> {
    let directory = empty_directory(&format!(
        "unpacked_{}_{name}",
        std::thread::current().name().unwrap_or_default()
    ));
    let archive = fs::File::open(image.initrd()).expect("the image has an initrd");
    output(
        program("cpio")
            .args(["-i", "-d"])
            .current_dir(&directory)
            .stdin(archive),
    );
    fs::read(directory.join("bin").join(name)).expect("the program is in the initrd")
}

#[test]
fn unknown_board_feature_is_refused_by_name() {
    let build = Build {
        what: "the firmware",
        feature: "board-pc",
        profile: "firmware",
        rustflags: "",
        environment: &[],
        target_directory: &workspace::root().join("target").join("tests").join("no-board"),
    };
    let error = build.run().expect_err("there is no such board");
    assert!(error.message.contains("board-pc"), "{error}");
    assert_ne!(error.status, 0);
}
