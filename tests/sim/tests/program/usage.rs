//! Wrong command lines and the lists.

use crate::guest::{directory, elf, simulate};

/// Status 2, and a message that names the mistake and what is accepted.
#[track_caller]
fn refused(arguments: &[&str], words: &[&str]) {
    let run = simulate(arguments).ends_with(2);
    for word in words {
        assert!(
            run.stderr.contains(word),
            "{arguments:?}: {word:?} is missing from: {}",
            run.stderr
        );
    }
    assert!(run.stdout.is_empty(), "{}", run.stdout);
}

#[test]
fn wrong_options_name_what_is_accepted() {
    refused(&[], &["nothing to start", "IMAGE", "--flash FILE"]);
    refused(&["--bored"], &["unknown option `--bored`", "--help"]);
    refused(
        &["--board", "x", "i"],
        &["--board x", "mcr3000, cmpc885, mpc885ads, adder875"],
    );
    refused(&["--board"], &["--board needs a value"]);
    refused(
        &["--memory", "12", elf()],
        &["12582912", "power of two from 8 MiB to 64 MiB"],
    );
    refused(&["--memory", "99999", elf()], &["--memory 99999", "power of two"]);
    refused(&["--exit-on-reset=1", "i"], &["--exit-on-reset takes no value"]);
    refused(&["--console", "tcp:x", "i"], &["stdio, raw, pty, tcp:PORT, none"]);
    refused(&["--max-insns", "-1", "i"], &["--max-insns -1", "0x"]);
    refused(&["--max-seconds", "1e9", "i"], &["--max-seconds 1e9", "seconds"]);
    refused(&["--timing", "maybe", "i"], &["on, off"]);
    refused(&["--timing-set", "dcbz_miss", "i"], &["NAME=CLOCKS"]);
    refused(
        &["--timing-set", "dcbz=1", "i"],
        &["there are", "dcbz_miss", "spr_core"],
    );
    refused(
        &["--inject", "smoke@1", "i"],
        &["bus-error, poison, bit-flip, lost-interrupt, garbage"],
    );
    refused(&["--gdb", "70000", "i"], &["--gdb 70000", "0xffff"]);
    refused(&["--bd-info", "both", "i"], &["old, new"]);
    for quirk in ["cpu15", "cpu15=yes", "cpu6=on", "=on"] {
        refused(
            &["--quirk", quirk, "i"],
            &["stale-dar, dcbz-alignment, cpu15 with =on or =off"],
        );
    }
    refused(&["one", "two"], &["unexpected word `two`"]);
    refused(&["i", "--"], &["no commands after `--`"]);
    refused(&["i", "--", "say \"x\""], &["double quote"]);
    refused(&["i", "--append", "gr\u{fc}n"], &["printable ASCII"]);
    refused(
        &["i", "--append", &"x".repeat(2048), "--", "help"],
        &["of 2069 bytes", "2047"],
    );
}

#[test]
fn options_that_exclude_or_need_each_other_are_refused() {
    refused(&["i", "--start", "go", "--bd-info", "old"], &["exclude each other"]);
    refused(&["i", "--start", "go", "--", "x"], &["--start go and COMMANDS"]);
    refused(&["i", "--dtb", "t", "--bd-info", "new"], &["--dtb and --bd-info"]);
    refused(&["i", "--script", "s", "--", "x"], &["--script and COMMANDS"]);
    refused(&["i", "--trace-from", "0"], &["need --trace"]);
    refused(&["i", "--profile-to", "0"], &["need --profile"]);
    refused(&["--flash", "f", "--dtb", "x"], &["--dtb needs an IMAGE"]);
    refused(
        &["--flash", elf(), "--append", "x"],
        &["--append need an IMAGE", "reset image of zeronull"],
    );
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let directory = directory("usage");
    let empty = directory.join("empty");
    std::fs::write(&empty, "").expect("a file can be written");
    let empty = empty.to_str().expect("the path is UTF-8");
    for arguments in [
        &["/nonexistent"][..],
        &[elf(), "--dtb", "/nonexistent"],
        &[elf(), "--initrd", "/nonexistent"],
        &[elf(), "--script", "/nonexistent"],
        &[elf(), "--profile", "--symbols", "/nonexistent"],
        &["--flash", "/nonexistent"],
        &[elf(), "--trace=/nonexistent/x"],
    ] {
        let run = simulate(arguments).ends_with(1);
        assert!(run.stderr.contains("/nonexistent"), "{arguments:?}: {}", run.stderr);
    }
    let run = simulate(&[empty]).ends_with(1);
    assert!(run.stderr.contains("image is empty"), "{}", run.stderr);
    let run = simulate(&[elf(), "--dtb", empty]).ends_with(1);
    assert!(run.stderr.contains("device tree of 0 bytes"), "{}", run.stderr);
}

#[test]
fn help_and_list_of_boards_are_printed() {
    let help = simulate(&["--help"]).ends_with(0).stdout;
    assert!(help.starts_with("usage: cargo sim "), "{help}");
    let boards = simulate(&["--list-boards"]).ends_with(0).stdout;
    let names: Vec<_> = boards.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["mcr3000", "cmpc885", "mpc885ads", "adder875"]);
}
