//! Starting the firmware: from every machine and CPU that it is for, and with everything that a start can get wrong.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use zeronull_image::board::Board;
use zeronull_image::cargo::Build;
use zeronull_image::image::{self, Image, ImageOptions};
use zeronull_image::machine::{Console, Machine, Qemu, QemuStart};
use zeronull_image::session::{Session, Transcript};
use zeronull_image::start::{COMMAND_LINE_LIMIT, Initrd, Start};
use zeronull_image::testing::{empty_directory, machines, output, program, skipped};
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

// U-210
#[test]
fn hand_over_state_does_not_matter() {
    skipped(
        "U-210",
        "QEMU has two states to start in, which the U-217 tests use; the others need the simulated board",
    );
}

// U-211
#[test]
fn all_machines_give_the_same_transcript() {
    let machines = machines();
    if machines.len() < 2 {
        skipped("U-211", "there is one machine to run on");
        return;
    }
    let help = |console: String| console.split_once("commands:").map(|(_, help)| help.to_owned());
    let texts: Vec<_> = machines
        .iter()
        .map(|machine| help(run(machine.as_ref(), &Start::commands(&["help"])).console))
        .collect();
    assert!(
        texts.iter().all(|text| text.is_some() && text == &texts[0]),
        "{texts:#?}"
    );
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
