//! Starts, ends and their status.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::Duration;

use crate::guest::{directory, elf, go, program, simulate};

#[test]
fn every_board_starts_an_image_and_ends_when_it_halts() {
    for board in ["mcr3000", "cmpc885", "mpc885ads", "adder875"] {
        for timing in ["on", "off"] {
            let run = go("h", &["--board", board, "--timing", timing]).ends_with(0);
            assert_eq!(run.stdout, "hello\n", "{board}");
            assert!(
                run.stderr.contains("endless halt: branch to itself at"),
                "{}",
                run.stderr
            );
        }
    }
}

#[test]
fn bytes_reach_a_pipe_as_sent_when_asked_for() {
    assert_eq!(go("h", &["--console", "raw"]).ends_with(0).stdout, "hello\r\n");
    assert_eq!(go("h", &["--console", "none"]).ends_with(0).stdout, "");
}

#[test]
fn output_is_not_lost_at_the_halt_of_a_real_line() {
    assert_eq!(go("h", &["--serial", "real"]).ends_with(0).stdout, "hello\n");
}

#[test]
fn verdict_of_the_guest_is_the_status() {
    let run = go("v", &[]).ends_with(3);
    assert_eq!(run.stderr, "");
}

#[test]
fn commands_reach_the_command_line_of_the_tree_and_of_bd_info() {
    let expected = "quiet run=\"time dd count=1; help; poweroff\"";
    for hand_over in [&[][..], &["--bd-info", "old"], &["--bd-info", "new"]] {
        let mut arguments = vec![elf(), "--append", "quiet"];
        arguments.extend(hand_over);
        arguments.extend(["--", "time", "dd", "count=1;", "help"]);
        let run = simulate(&arguments).ends_with(3);
        assert!(run.stdout.contains(expected), "{hand_over:?}: {}", run.stdout);
    }
}

#[test]
fn initrd_beside_the_image_is_handed_over_unless_another_is_named() {
    let directory = directory("initrd");
    let image = directory.join("image.elf");
    std::fs::copy(elf(), &image).expect("the guest can be copied");
    let image = image.to_str().expect("the path is UTF-8");
    let has_initrd = |options: &[&str]| {
        let tree = simulate(&[&[image], options].concat()).ends_with(3).stdout;
        tree.contains("linux,initrd-start")
    };
    assert!(!has_initrd(&[]));
    std::fs::write(directory.join("initrd.cpio"), "archive").expect("the archive can be written");
    assert!(has_initrd(&[]));
    assert!(has_initrd(&["--", "help"]));
    let empty = directory.join("empty");
    std::fs::write(&empty, "").expect("the archive can be written");
    assert!(!has_initrd(&["--initrd", empty.to_str().expect("the path is UTF-8")]));
}

#[test]
fn commands_without_a_verdict_are_not_carried_out() {
    // The tree begins with its magic, which as a raw image is entered at 0x00200000 and not understood.
    let directory = directory("no-verdict");
    let image = directory.join("halt.bin");
    std::fs::write(&image, 0x4800_0000u32.to_be_bytes()).expect("the image can be written");
    let image = image.to_str().expect("the path is UTF-8");
    let run = simulate(&[image, "--load", "0x200000", "--", "help"]).ends_with(125);
    assert!(
        run.stderr
            .contains("at 0x00200000, without the last line `zeronull: done, status N`"),
        "{}",
        run.stderr
    );
    simulate(&[image, "--load", "0x200000"]).ends_with(0);
}

#[test]
fn budgets_end_the_run_with_status_124() {
    let run = go("f", &["--max-insns", "1000"]).ends_with(124);
    assert!(run.stderr.contains("budget of instructions used up"), "{}", run.stderr);
    assert!(run.stderr.contains(" 1000 instructions)"), "{}", run.stderr);
    let run = go("f", &["--max-seconds", "0.01"]).ends_with(124);
    assert!(
        run.stderr.contains("budget of simulated seconds used up"),
        "{}",
        run.stderr
    );
}

#[test]
fn states_that_are_not_modelled_end_the_run_with_status_125() {
    let run = go("l", &[]).ends_with(125);
    assert!(
        run.stderr.contains("little-endian mode is not modelled"),
        "{}",
        run.stderr
    );
    let run = go("n", &[]).ends_with(125);
    assert!(
        run.stderr.contains("bus error at 0xa0000000 with MSR[ME] off"),
        "{}",
        run.stderr
    );
}

#[test]
fn reset_ends_a_run_that_nothing_can_start_again() {
    let run = go("r", &[]).ends_with(125);
    assert!(
        run.stderr.contains("hard reset, and there is no --flash to start from"),
        "{}",
        run.stderr
    );
    let run = go("r", &["--exit-on-reset"]).ends_with(0);
    assert!(run.stderr.contains("hard reset"), "{}", run.stderr);
    go("n", &["--exit-on-reset"]).ends_with(0);
}

#[test]
fn runs_repeat_to_the_clock() {
    let figures = || go("p", &["--json"]).ends_with(3).stderr;
    let first = figures();
    assert!(
        first.starts_with("{\"board\":\"mcr3000\",\"status\":3,\"end\":\"endless halt"),
        "{first}"
    );
    for _ in 0..2 {
        assert_eq!(figures(), first);
    }
}

#[test]
fn timing_constants_and_presets_of_the_timers_have_their_effect() {
    let cycles = |options: &[&str]| -> u64 {
        let mut all = vec!["--json"];
        all.extend(options);
        let figures = go("p", &all).ends_with(3).stderr;
        let cycles = figures
            .split("\"cycles\":")
            .nth(1)
            .and_then(|rest| rest.split(',').next());
        cycles
            .and_then(|cycles| cycles.parse().ok())
            .expect("the figures have cycles")
    };
    let usual = cycles(&[]);
    assert!(cycles(&["--timing-set", "branch_bubble=5"]) > usual + 30_000);
    assert!(cycles(&["--timing", "off"]) < usual);
    // A decrementer that runs out raises its exception only once interrupts are on; here they never are.
    assert_eq!(cycles(&["--tb", "0x100000000", "--dec", "1"]), usual);
}

#[test]
fn flash_file_is_made_written_back_and_started_from() {
    let directory = directory("flash");
    let flash = directory.join("flash.bin");
    let path = flash.to_str().expect("the path is UTF-8");
    go("h", &["--flash", path]).ends_with(0);
    assert!(!flash.exists(), "a flash that was not changed is not written");
    go("w", &["--flash", path]).ends_with(3);
    let content = std::fs::read(&flash).expect("the flash was written");
    assert_eq!(content.len(), 2 << 20);
    assert_eq!(content[0x1_0000..0x1_0002], [0xCA, 0xFE]);
    assert!(content[..0x1_0000].iter().all(|byte| *byte == 0xFF));
    // `b .` at the reset vector.
    let mut content = content;
    content[0x100..0x104].copy_from_slice(&0x4800_0000u32.to_be_bytes());
    std::fs::write(&flash, &content).expect("the flash can be written");
    let run = simulate(&["--flash", path]).ends_with(0);
    assert!(run.stderr.contains("branch to itself at 0x00000100"), "{}", run.stderr);
}

#[test]
fn typing_on_standard_input_reaches_the_guest() {
    let mut child = program()
        .args([elf(), "--start", "go", "--append", "e"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program can be run");
    let mut input = child.stdin.take().expect("standard input is a pipe");
    input.write_all(b"abcq").expect("the guest listens");
    let output = child.wait_with_output().expect("the guest ends");
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "> abc\nzeronull: done, status 3\n"
    );
}

/// Reads from standard error until a line begins with `start`; gives the rest of the line.
fn line_after(stream: &mut impl Read, start: &str) -> String {
    let mut line = Vec::new();
    loop {
        let mut byte = [0];
        stream
            .read_exact(&mut byte)
            .expect("the program says where its console is");
        if byte[0] != b'\n' {
            line.push(byte[0]);
            continue;
        }
        let text = String::from_utf8_lossy(&line).into_owned();
        if let Some(rest) = text.strip_prefix(start) {
            return rest.to_owned();
        }
        line.clear();
    }
}

/// Talks to the echoing guest until it has said its verdict.
fn converse(mut stream: impl Read + Write) {
    let mut said = Vec::new();
    let mut expect = |stream: &mut dyn Read, text: &str| {
        while !String::from_utf8_lossy(&said).contains(text) {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("the guest goes on talking");
            said.push(byte[0]);
        }
    };
    expect(&mut stream, "> ");
    stream.write_all(b"xyz").expect("the guest listens");
    expect(&mut stream, "xyz");
    stream.write_all(b"q").expect("the guest listens");
    expect(&mut stream, "status 3\r\n");
}

#[test]
fn console_is_reached_through_a_tcp_port() {
    let mut child = program()
        .args([elf(), "--start", "go", "--append", "e", "--console", "tcp:0"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be run");
    let mut stderr = child.stderr.take().expect("standard error is a pipe");
    let rest = line_after(&mut stderr, "console on ");
    let address = rest.split(',').next().expect("an address");
    let stream = TcpStream::connect(address).expect("the console accepts a connection");
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .expect("a time limit can be set");
    converse(stream);
    assert_eq!(child.wait().expect("the guest ends").code(), Some(3));
}

#[test]
fn console_is_reached_through_a_pseudo_terminal() {
    let mut child = program()
        .args([elf(), "--start", "go", "--append", "e", "--console", "pty"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be run");
    let mut stderr = child.stderr.take().expect("standard error is a pipe");
    let path = line_after(&mut stderr, "console on ");
    let terminal = std::fs::OpenOptions::new().read(true).write(true).open(&path);
    converse(terminal.expect("the terminal can be opened"));
    assert_eq!(child.wait().expect("the guest ends").code(), Some(3));
}

#[test]
fn quirk_of_the_part_can_be_switched_off() {
    let path = directory("quirk").join("dcbz.bin");
    // dcbz 0, r3, with the data cache off as U-Boot leaves it; b .
    let words = [0x7C00_1FEC_u32, 0x4800_0000].map(u32::to_be_bytes).concat();
    std::fs::write(&path, words).expect("a file can be written");
    let run = |quirk: &str, status: i32| {
        let image = path.to_str().expect("the path is UTF-8");
        let limit = ["--load", "0x10000", "--max-seconds", "0.001"];
        simulate(&[&["--quirk", quirk][..], &limit, &[image]].concat()).ends_with(status)
    };
    run("dcbz-alignment=off", 0);
    // The exception finds no handler.
    run("dcbz-alignment=on", 124);
}
