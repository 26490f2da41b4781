//! Wrong use of the programs: each has its own message and a status that is not 0, and nothing panics.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use zeronull_image::testing::empty_directory;
use zeronull_image::workspace::{find_program, root};

/// Status, standard output and standard error of a command.
fn outcome(command: &mut Command) -> (i32, String, String) {
    let output = command.output().expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let status = output.status.code().expect("the program ends by itself");
    (status, text(&output.stdout), text(&output.stderr))
}

fn tool(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zeronull-image"));
    command.args(arguments);
    command
}

#[track_caller]
fn assert_refused(command: &mut Command, status: i32, message: &str) {
    let (actual, stdout, stderr) = outcome(command);
    assert_eq!(stderr.trim_end(), format!("zeronull-image: {message}"));
    assert_eq!((actual, stdout.as_str()), (status, ""));
}

#[test]
fn wrong_command_lines_are_refused_with_what_is_accepted() {
    for (arguments, message) in [
        (
            &[][..],
            "no command given: accepted are image, bench-protector, clippy, qemu",
        ),
        (
            &["boot"],
            "unknown command \"boot\": accepted are image, bench-protector, clippy, qemu",
        ),
        (
            &["image", "--board", "pc"],
            "unknown board `pc`: accepted are g3beige, mcr3000",
        ),
        (&["image", "--board"], "--board needs a value"),
        (
            &["image", "--stack-protector=some"],
            "unknown stack protector `some`: accepted are none, strong, all",
        ),
        (
            &["image", "--shuffle", "0"],
            "--shuffle 0: accepted is a whole number from 1 to 4294967295",
        ),
        (
            &["image", "--fast"],
            "unknown option `--fast`; `cargo image --help` lists the options",
        ),
        (
            &["image", "--command-line", "quiet"],
            "--command-line: an image for g3beige has no place for one",
        ),
        (
            &["image", "--board", "mcr3000", "--command-line", "grün"],
            "kernel command line contains 'ü': accepted are printable ASCII characters",
        ),
        (&["image", "g3beige"], "unexpected word `g3beige`"),
        (&["image", "--", "help"], "cargo image takes no commands"),
        (
            &["qemu", "--icount", "11"],
            "--icount 11: accepted is a whole number from 0 to 10",
        ),
        (
            &["qemu", "--icount=many"],
            "--icount many: accepted is a whole number from 0 to 10",
        ),
        (
            &["qemu", "--memory", "8"],
            "--memory 8: accepted is a whole number from 16 to 2047",
        ),
        (
            &["qemu", "--timeout", "0"],
            "--timeout 0: accepted is a whole number from 1 to 86400",
        ),
        (
            &["qemu", "--start", "bios"],
            "unknown start `bios`: accepted are loader, openbios",
        ),
        (
            &["qemu", "--start", "openbios", "--cpu", "603e"],
            "OpenBIOS does not run on cpu 603e: accepted with it are 750, 7400",
        ),
        (&["qemu", "--preset", "a b"], "preset `a b`: accepted is one word"),
        (&["qemu", "--json=1"], "value `1` given to an option that takes none"),
        (
            &["qemu", "--speed"],
            "unknown option `--speed`; `./qemu/run --help` lists the options",
        ),
        (&["qemu", "help"], "unexpected word `help`: commands go after `--`"),
        (&["qemu", "--"], "no commands after `--`"),
        (
            &["qemu", "--", "echo", "\"'\"'"],
            "commands contain both kinds of quotes: accepted is one of them",
        ),
    ] {
        assert_refused(&mut tool(arguments), 2, message);
    }
}

#[test]
fn over_long_command_line_is_refused_before_anything_starts() {
    let commands = "x".repeat(2048 - "run=\"; poweroff\"".len());
    let message = "kernel command line of 2048 bytes is too long: the firmware accepts 2047";
    assert_refused(&mut tool(&["qemu", "--", &commands]), 2, message);
}

#[test]
fn unusable_initrd_is_named() {
    let directory = empty_directory("initrd");
    let missing = directory.join("missing.cpio");
    assert_refused(
        tool(&["qemu", "--initrd"]).arg(&missing).args(["--", "help"]),
        1,
        &format!(
            "cannot read initrd {}: No such file or directory (os error 2)",
            missing.display()
        ),
    );
    let text = directory.join("text");
    fs::write(&text, "hello").expect("the file can be written");
    assert_refused(
        tool(&["qemu", "--initrd"]).arg(&text).args(["--", "help"]),
        1,
        &format!(
            "initrd {} is not a newc cpio archive: it does not start with 070701 or 070702",
            text.display()
        ),
    );
}

#[test]
fn missing_qemu_is_named_with_its_package() {
    let directory = empty_directory("no_qemu");
    assert_refused(
        tool(&["qemu", "--", "help"]).env("PATH", &directory),
        1,
        "qemu-system-ppc not found in PATH: install the Debian package qemu-system-ppc",
    );
}

#[test]
fn help_is_given_with_status_0() {
    for command in ["image", "qemu"] {
        for option in ["--help", "-h"] {
            let (status, stdout, stderr) = outcome(&mut tool(&[command, option]));
            assert_eq!((status, stderr.as_str()), (0, ""));
            assert!(stdout.starts_with("usage: "), "{stdout}");
        }
    }
}

/// A directory for `PATH` with the given programs of the system and the given scripts, and nothing else.
fn path_with(test: &str, programs: &[&str], scripts: &[(&str, &str)]) -> std::path::PathBuf {
    let directory = empty_directory(test);
    for name in programs {
        symlink(
            find_program(name).expect("a program of every system"),
            directory.join(name),
        )
        .expect("a new link");
    }
    for (name, text) in scripts {
        let path = directory.join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("the script can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("own file");
    }
    directory
}

/// `qemu/run` with nothing in `PATH` but that directory.
fn qemu_run(path: &Path) -> (i32, String, String) {
    outcome(Command::new(root().join("qemu/run")).arg("--help").env("PATH", path))
}

const SYSTEM: [&str; 3] = ["dirname", "sed", "cc"];

#[test]
fn set_up_without_qemu_and_without_apt_says_what_to_install() {
    let path = path_with("no_apt", &SYSTEM, &[]);
    let (status, _, stderr) = qemu_run(&path);
    let message =
        "run: missing: qemu-system-ppc (Debian's names); there is no apt-get here: install them, then run this again\n";
    assert_eq!((status, stderr.as_str()), (1, message));
}

#[test]
fn set_up_without_qemu_and_without_root_says_what_to_run() {
    let path = path_with("no_root", &SYSTEM, &[("apt-get", "exit 99"), ("id", "echo 1000")]);
    let (status, _, stderr) = qemu_run(&path);
    let message = "run: missing packages, and this is not root: run 'apt-get install qemu-system-ppc' as root, then run this again\n";
    assert_eq!((status, stderr.as_str()), (1, message));
}

#[test]
fn set_up_with_failing_apt_says_so() {
    let path = path_with("bad_apt", &SYSTEM, &[("apt-get", "exit 100"), ("id", "echo 0")]);
    let (status, _, stderr) = qemu_run(&path);
    let message = "run: installing qemu-system-ppc\n\
        run: 'apt-get install qemu-system-ppc' failed: check the network, then run this again\n";
    assert_eq!((status, stderr.as_str()), (1, message));
}

#[test]
fn set_up_without_rustup_says_what_to_install() {
    let path = path_with("no_rustup", &SYSTEM, &[("qemu-system-ppc", "exit 99")]);
    let (status, _, stderr) = qemu_run(&path);
    let message = "run: rustup not found in PATH: install it (https://rustup.rs), then run this again\n";
    assert_eq!((status, stderr.as_str()), (1, message));
}

#[test]
fn set_up_without_network_names_the_toolchain() {
    let scripts = [
        ("qemu-system-ppc", "exit 99"),
        ("rustup", "[ \"$1\" = component ] && exit 1; exit 7"),
    ];
    let (status, _, stderr) = qemu_run(&path_with("no_network", &SYSTEM, &scripts));
    assert_eq!(status, 1);
    let last = stderr.lines().last().expect("a message");
    assert!(last.starts_with("run: the Rust toolchain nightly-"), "{stderr}");
    assert!(
        last.ends_with("could not be installed: check the network, then run this again"),
        "{stderr}"
    );
}

#[test]
fn tests_run_refuses_wrong_arguments() {
    for (arguments, part) in [
        (&["--fast"][..], "unknown option"),
        (&[""], "empty filter"),
        (&["a", "b"], "2 given"),
    ] {
        let (status, stdout, stderr) = outcome(Command::new(root().join("tests/run")).args(arguments));
        assert_eq!((status, stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(stderr.contains(part), "{stderr}");
    }
}
