//! The real debugger against `--gdb`.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::guest::{Run, elf, program};

/// Runs the guest under the debugger with these commands; gives what the debugger said and how the program ended.
fn debug(letter: &str, commands: &[&str]) -> (String, Run) {
    let mut child = program()
        .args([
            elf(),
            "--start",
            "go",
            "--append",
            letter,
            "--gdb",
            "0",
            "--max-seconds",
            "3",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be run");
    let mut stderr = BufReader::new(child.stderr.take().expect("standard error is a pipe"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("the program says where it listens");
    let target = line
        .trim()
        .trim_start_matches("waiting for `")
        .trim_end_matches('`')
        .to_owned();
    let mut debugger = Command::new("gdb-multiarch");
    debugger.args([
        "-nx",
        "-q",
        "-batch",
        "-ex",
        "set confirm off",
        "-ex",
        &format!("file {}", elf()),
    ]);
    debugger.args(["-ex", &target]);
    for command in commands {
        debugger.args(["-ex", command]);
    }
    let output = debugger
        .output()
        .expect("gdb-multiarch can be run; ./tests/run installs it");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let mut run = Run::from(child.wait_with_output().expect("the program ends"));
    std::io::Read::read_to_string(&mut stderr, &mut run.stderr).expect("standard error can be read");
    (said, run)
}

#[track_caller]
fn assert_in_order(said: &str, parts: &[&str]) {
    let mut rest = said;
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => panic!("{part:?} is missing or out of order in:\n{said}"),
        }
    }
}

#[test]
fn breakpoints_registers_steps_and_back_traces_work() {
    let commands = [
        "print $pc",
        "break inner",
        "continue",
        "backtrace",
        "print $r30",
        "stepi",
        "print/x $pc",
        "print $r9",
        "set $r9 = 2",
        "print $r9",
        "delete",
        "continue",
    ];
    let (said, run) = debug("p", &commands);
    let inner = "in inner ()";
    assert_in_order(
        &said,
        &[
            "0x10000 <_start>",
            "Breakpoint 1",
            inner,
            "#1",
            "in outer ()",
            "= 1000",
            inner,
            "= 10",
            "= 2",
        ],
    );
    assert_in_order(&said, &["exited with code 03"]);
    run.ends_with(3);
}

#[test]
fn memory_is_read_and_written_and_watched() {
    let commands = [
        "x/2xw &counter",
        "set var *(int *)&counter = 77",
        "watch *(int *)&counter",
        "continue",
        "continue",
        "delete",
        "rwatch *(int *)&counter",
        "continue",
        "delete",
        "continue",
    ];
    let (said, run) = debug("p", &commands);
    let stores = [
        "0x00000000",
        "Old value = 77",
        "New value = 78",
        "Old value = 78",
        "New value = 79",
    ];
    assert_in_order(&said, &stores);
    assert_in_order(
        &said,
        &["New value = 79", "read watchpoint", "Value = 79", "exited with code 03"],
    );
    run.ends_with(3);
    let (said, _) = debug("p", &["x/xb 0xff000000", "kill"]);
    assert_in_order(&said, &["Cannot access memory at address 0xff000000"]);
}

#[test]
fn monitor_commands_answer() {
    let commands = [
        "monitor help",
        "monitor tlb",
        "monitor cycles",
        "monitor nonsense",
        "stepi",
        "monitor reset",
        "maintenance flush register-cache",
        "print/x $pc",
        "kill",
    ];
    let (said, run) = debug("p", &commands);
    for part in [
        "monitor tlb ",
        "itlb: ctr",
        "dtlb: ctr",
        "0 core clocks, 0 instructions",
        "unknown command `nonsense`",
    ] {
        assert_in_order(&said, &[part]);
    }
    assert_in_order(&said, &["reset, pc 0x00000100"]);
    assert_in_order(&said, &["= 0x100\n"]);
    run.ends_with(0);
}

#[test]
fn interrupt_stops_a_running_guest_and_detaching_lets_it_go_on() {
    let commands = [
        "shell (sleep 1; kill -INT $PPID) &",
        "continue",
        "print/x $pc",
        "detach",
    ];
    let (said, run) = debug("f", &commands);
    assert_in_order(&said, &["SIGINT", "in forever ()", "detached"]);
    run.ends_with(124);
}
