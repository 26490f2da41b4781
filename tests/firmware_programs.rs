//! The user programs on the firmware: the benchmark line, `dd` on devices and files of the archive, system calls with bad
//! arguments, and the same output as under Linux.

mod common;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use common::firmware::{Firmware, on_every_machine};
use common::{file, finish};
use zeronull_image::cpio;
use zeronull_image::machine::Qemu;
use zeronull_image::start::Start;
use zeronull_image::testing::{empty_directory, machines, machines_with_exact_clocks, program, skipped};

/// Seconds of a line of `time`, as `real    1m 2.34s`.
#[track_caller]
fn time_of(output: &str, name: &str) -> f64 {
    let line = output.lines().find_map(|line| line.strip_prefix(name)).expect(output);
    let (minutes, seconds) = line.trim_start().split_once("m ").expect(line);
    let seconds = seconds.strip_suffix('s').expect(line);
    assert_eq!(seconds.split_once('.').expect(line).1.len(), 2, "{line}");
    minutes.parse::<f64>().expect(line) * 60.0 + seconds.parse::<f64>().expect(line)
}

/// What the last line of `dd` says.
struct Transfer {
    bytes: u64,
    size: String,
    seconds: f64,
    /// In units of `unit`.
    rate: f64,
    /// Bytes a second.
    unit: f64,
}

impl Transfer {
    /// Takes the line apart and checks its arithmetic: the rate follows from bytes and seconds.
    #[track_caller]
    fn of(output: &str) -> Self {
        let line = output.lines().find(|line| line.contains(" copied, ")).expect(output);
        let (bytes, rest) = line.split_once(" bytes (").expect(line);
        let (size, rest) = rest.split_once("B) copied, ").expect(line);
        let (seconds, rate) = rest.split_once(" seconds, ").expect(line);
        assert_eq!(seconds.split_once('.').expect(line).1.len(), 6, "{line}");
        let rate = rate.strip_suffix("B/s").expect(line);
        let number = rate.trim_end_matches(['K', 'M', 'G']);
        let unit = match &rate[number.len()..] {
            "K" => 1024.0,
            "M" => 1_048_576.0,
            "G" => 1_073_741_824.0,
            _ => 1.0,
        };
        let transfer = Self {
            bytes: bytes.parse().expect(line),
            size: size.into(),
            seconds: seconds.parse().expect(line),
            rate: number.parse().expect(line),
            unit,
        };
        assert!(transfer.seconds.is_finite() && transfer.rate.is_finite(), "{line}");
        if transfer.seconds > 0.001 {
            let expected = transfer.bytes as f64 / transfer.seconds / unit;
            // Below 1 K a second the rate is a whole number; the time is printed to a microsecond.
            let step = if unit == 1.0 { 1.0 } else { 0.1 };
            let tolerance = step + expected * 1e-6 / transfer.seconds;
            assert!((transfer.rate - expected).abs() <= tolerance, "{line}: {expected}");
        }
        transfer
    }
}

// U-166
#[test]
fn benchmark_line_and_its_times_are_consistent() {
    for machine in machines_with_exact_clocks() {
        let mut firmware = Firmware::boot(machine.as_ref(), &Start::default());
        let output = firmware.output("time dd if=/dev/zero of=/dev/null count=1M");
        let lines: Vec<&str> = output.lines().collect();
        assert_eq!(lines.len(), 6, "{output}");
        assert_eq!(lines[..2], ["1048576+0 records in", "1048576+0 records out"]);
        assert!(
            lines[2].starts_with("536870912 bytes (512.0MB) copied, "),
            "{}",
            lines[2]
        );
        for (line, name) in lines[3..].iter().zip(["real    ", "user    ", "sys     "]) {
            assert!(line.starts_with(name), "{line}");
        }
        let transfer = Transfer::of(&output);
        let (real, user, sys) = (
            time_of(&output, "real"),
            time_of(&output, "user"),
            time_of(&output, "sys"),
        );
        assert!((real - transfer.seconds).abs() <= 0.02, "{output}");
        assert!(user + sys <= real + 0.02, "{output}");
        assert!(user > 0.0 && sys > user && user + sys >= real - 0.03, "{output}");
    }
}

// U-166: what is said to be copied was cleared, byte for byte, one window for each read.
#[test]
fn counters_say_that_dd_moved_what_it_says() {
    on_every_machine(|firmware| {
        firmware.output("preset debug");
        // The ALIVE check reads, too, so nothing of it may come between reset and counters.
        for (size, count) in [(512, 1000), (1, 3000), (13, 500), (4096, 200), (5000, 77), (1 << 20, 5)] {
            firmware.type_command("counters reset");
            let command = format!("dd if=/dev/zero of=/dev/null bs={size} count={count}");
            let output = firmware.type_command(&command);
            let counters = firmware.type_command("counters");
            assert_eq!(Transfer::of(&output).bytes, size * count, "{command}");
            let counter = |name: &str| -> u64 {
                let line = counters.lines().find_map(|line| line.strip_prefix(name));
                line.expect(&counters).trim().parse().expect(&counters)
            };
            assert_eq!(counter("bytes cleared"), size * count, "{command}: {counters}");
            // Beside the reads: two paths, two times, the report.
            let others = counter("windows opened") - count;
            assert!((1..=10).contains(&others), "{command}: {counters}");
            assert_eq!((counter("windows nested"), counter("windows leaked")), (0, 0));
        }
        firmware.output("preset fast");
        firmware.output("counters reset");
        let line = "dd if=/dev/zero of=/dev/null count=9 status=none";
        firmware.expect(line, 0, "");
        let counters = firmware.output("counters");
        for name in ["bytes cleared", "bytes copied", "windows opened"] {
            let line = counters.lines().find_map(|line| line.strip_prefix(name));
            assert_eq!(line.map(str::trim), Some("0"), "{name}: {counters}");
        }
    });
}

/// An archive with files that `dd` reads on the firmware, where there are none outside `/tmp`.
fn archive_of_inputs(test: &str) -> Start {
    let mut archive = cpio::Archive::default();
    archive.program("four", b"abcd");
    archive.program("five", b"abcde");
    archive.program("digits", b"0123456789".repeat(10).as_slice());
    let path: PathBuf = empty_directory(&format!("firmware_programs-{test}")).join("inputs.cpio");
    fs::write(&path, archive.finish()).expect("the archive can be written");
    Start {
        initrd: vec![path],
        ..Start::default()
    }
}

fn on_every_machine_with_inputs(test: &str, check: impl Fn(&mut Firmware)) {
    for machine in machines() {
        check(&mut Firmware::boot(machine.as_ref(), &archive_of_inputs(test)));
    }
}

// U-167, U-180
#[test]
fn dd_takes_sizes_with_suffixes_and_refuses_what_is_none() {
    on_every_machine(|firmware| {
        for (size, bytes) in [
            ("1c", 1),
            ("2w", 4),
            ("1b", 512),
            ("1k", 1024),
            ("1K", 1024),
            ("1kB", 1000),
            ("1M", 1_048_576),
            ("1MB", 1_000_000),
            ("2x3", 6),
            ("1x2x4", 8),
        ] {
            let output = firmware.output(&format!("dd if=/dev/zero of=/dev/null count=1 bs={size}"));
            assert_eq!(Transfer::of(&output).bytes, bytes, "{size}");
        }
        for operand in [
            "count=B",
            "count=B1",
            "count=Bx1",
            "count=KBB",
            "count=BB",
            "count=KBb",
            "count=x1",
            "count=1x",
            "count=1xx1",
            "count=",
            "count=-1",
            "count=1.5",
            "count=0x10",
            "count=k",
            "bs=M",
            "bs=0",
            "status=bogus",
            "bogus=1",
        ] {
            let outcome = firmware.run(&format!("dd if=/dev/zero of=/dev/console {operand}"));
            assert_eq!(outcome.status, 1, "{operand}");
            // One line of complaint, and not a byte copied to the console.
            let output = &outcome.output;
            assert!(
                output.starts_with("dd: ") && output.lines().count() == 1,
                "{operand}: {output:?}"
            );
            assert!(!output.contains('\0'), "{operand}: {output:?}");
        }
        let later = "dd if=/dev/full of=/dev/null bs=9 -- count=7 if=/dev/zero bs=2 count=3 status=noxfer";
        firmware.expect(later, 0, "3+0 records in\n3+0 records out\n");
    });
}

// U-169
#[test]
fn dd_says_when_it_cannot_skip_so_far() {
    on_every_machine_with_inputs("skip", |firmware| {
        let output = "dd: '/four': cannot skip to specified offset\n0+0 records in\n0+0 records out\n";
        firmware.expect("dd if=/four bs=1 skip=5 count=0 status=noxfer", 0, output);
    });
}

// U-171
#[test]
fn dd_status_chooses_the_lines_and_the_last_one_wins() {
    on_every_machine(|firmware| {
        let records = "2+0 records in\n2+0 records out\n";
        let line = |status: &str| format!("dd if=/dev/zero of=/dev/null count=2 {status}");
        firmware.expect(&line("status=none"), 0, "");
        firmware.expect(&line("status=noxfer"), 0, records);
        firmware.expect(&line("status=noxfer status=none"), 0, "");
        firmware.expect(&line("status=none status=noxfer"), 0, records);
        let all = firmware.output(&line(""));
        assert!(
            all.starts_with(&format!("{records}1024 bytes (1.0KB) copied, ")),
            "{all}"
        );
    });
}

// U-173
#[test]
fn shortest_transfers_of_dd_have_finite_figures() {
    on_every_machine(|firmware| {
        for (line, bytes) in [("count=0", 0), ("count=1", 512), ("bs=1 count=1", 1)] {
            let output = firmware.output(&format!("dd if=/dev/zero of=/dev/null {line}"));
            let transfer = Transfer::of(&output);
            assert_eq!((transfer.bytes, transfer.size), (bytes, bytes.to_string()), "{line}");
            assert!(transfer.rate * transfer.unit < 1e12, "{output}");
        }
    });
}

// U-174: on one machine; the arithmetic is that of the same program on all, and the simulated board takes minutes.
#[test]
fn dd_counts_eight_gibibytes_in_full() {
    let mut firmware = Firmware::boot(&Qemu::default(), &Start::default());
    let output = firmware.output("dd if=/dev/zero of=/dev/null bs=1M count=8192");
    let transfer = Transfer::of(&output);
    assert_eq!((transfer.bytes, transfer.size.as_str()), (8_589_934_592, "8.0G"));
}

// U-175
#[test]
fn order_of_dd_operands_has_no_effect() {
    on_every_machine_with_inputs("order", |firmware| {
        let operands = ["if=/digits", "bs=16", "count=2", "skip=3", "status=noxfer"];
        let expected = "89012345678901234567890123456789";
        assert_eq!(expected.len(), 32);
        for rotation in 0..5 {
            for is_reversed in [false, true] {
                let mut order = operands;
                order.rotate_left(rotation);
                if is_reversed {
                    order.reverse();
                }
                let output = format!("{expected}2+0 records in\n2+0 records out\n");
                firmware.expect(&format!("dd {}", order.join(" ")), 0, &output);
            }
        }
    });
}

// U-177, U-131
#[test]
fn failed_write_of_dd_gives_status_1_and_counts_what_went() {
    on_every_machine(|firmware| {
        let output = "dd: error writing '/dev/full': No space left on device\n1+0 records in\n0+0 records out\n";
        firmware.expect("dd if=/dev/zero of=/dev/full bs=512 count=3 status=noxfer", 1, output);
    });
}

// U-179
#[test]
fn dd_offsets_that_wrap_are_refused() {
    on_every_machine(|firmware| {
        for line in [
            "skip=36028797018963968",
            "skip=9223372036854775808 bs=1",
            "seek=17592186044416 obs=1M",
            "skip=18446744073709551616",
        ] {
            let outcome = firmware.run(&format!("dd if=/dev/zero of=/dev/console {line}"));
            assert_eq!(outcome.status, 1, "{line}");
            let output = &outcome.output;
            assert!(
                output.contains("too large") && output.lines().count() == 1,
                "{line}: {output:?}"
            );
        }
    });
}

// U-182: the console gives a line at a time.
#[test]
fn short_reads_of_dd_are_gathered_into_output_blocks() {
    on_every_machine(|firmware| {
        let session = firmware.session();
        let mut talk = || {
            session.send("dd ibs=3 obs=6 count=2 status=noxfer\r")?;
            session.expect("noxfer\r\n", common::firmware::BOOT_LIMIT)?;
            session.send("a\r")?;
            session.expect("a\r\n", common::firmware::BOOT_LIMIT)?;
            session.send("b\r")?;
            session.expect("b\r\n", common::firmware::BOOT_LIMIT)?;
            session.expect("zeronull> ", common::firmware::BOOT_LIMIT)
        };
        let output = talk().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(output, "a\nb\n0+2 records in\n0+1 records out\nzeronull> ");
        firmware.output("help");
    });
}

// U-184
#[test]
fn swab_of_dd_keeps_the_odd_last_byte() {
    on_every_machine_with_inputs("swab", |firmware| {
        firmware.expect("dd if=/five conv=swab status=none", 0, "badce");
        let refused = firmware.run("dd if=/digits bs=3 conv=swab");
        assert_eq!(refused.status, 1, "{refused:?}");
        assert!(
            refused.output.starts_with("102dd: can't swab 3 byte buffer\n"),
            "{refused:?}"
        );
    });
}

// U-187
#[test]
fn dd_shows_sizes_in_powers_of_1024() {
    on_every_machine(|firmware| {
        for (line, size) in [("bs=1MB", "976.6K"), ("bs=1M", "1.0M"), ("bs=512", "512")] {
            let output = firmware.output(&format!("dd if=/dev/zero of=/dev/null count=1 {line}"));
            assert_eq!(Transfer::of(&output).size, size, "{line}");
        }
    });
}

// U-169, U-179: files in /tmp; each command's files are gone when the next one is checked.
#[test]
fn dd_writes_files_at_offsets_and_leaves_them_alone_on_errors() {
    on_every_machine_with_inputs("files", |firmware| {
        let copied = "0+1 records in\n0+1 records out\n";
        for (operands, content) in [
            ("if=/four of=/tmp/out status=noxfer", "abcd"),
            (
                "if=/five of=/tmp/out seek=3 bs=2 count=1 conv=notrunc status=none",
                "abcd\0\0ab",
            ),
            (
                "if=/five of=/tmp/out seek=1 bs=1 count=2 conv=notrunc status=none",
                "aabd\0\0ab",
            ),
            ("if=/five of=/tmp/out seek=1 bs=2 count=1 status=none", "aaab"),
            ("if=/five of=/tmp/out seek=18446744073709551615 bs=4k", "aaab"),
            ("if=/missing of=/tmp/out", "aaab"),
        ] {
            let output = firmware.type_command(&format!("dd {operands}"));
            if operands.contains("noxfer") {
                assert_eq!(output, copied, "{operands}");
            }
            let found = firmware.type_command("dd if=/tmp/out status=none");
            assert_eq!(found, content, "{operands}: {output}");
        }
        // The memory that the file has is a file's, not a leak: it is given back with its name.
        firmware.output("rm /tmp/out");
        let missing = "dd: can't open '/tmp/out': No such file or directory\n";
        firmware.expect("dd if=/tmp/out", 1, missing);
    });
}

// U-177: memory for files ends before memory for programs does.
#[test]
fn files_fill_up_and_programs_still_run() {
    on_every_machine(|firmware| {
        let output = firmware.type_command("dd if=/dev/zero of=/tmp/full bs=64k");
        assert!(
            output.starts_with("dd: error writing '/tmp/full': No space left on device\n"),
            "{output}"
        );
        let moved = Transfer::of(&output).bytes;
        let listed = firmware.type_command("files");
        let line = listed.lines().find(|line| line.ends_with("/tmp/full")).expect(&listed);
        // The last block went in part.
        let size: u64 = line
            .split_whitespace()
            .nth(1)
            .and_then(|size| size.parse().ok())
            .expect(line);
        assert_eq!(size, moved, "{output}");
        assert!(size > 8 << 20 && size.is_multiple_of(4096), "{size}");
        // With the same block, since the program's memory counts as well.
        let more = firmware.type_command("dd if=/dev/zero of=/tmp/more bs=64k count=1");
        assert!(
            more.starts_with("dd: error writing '/tmp/more': No space left on device\n"),
            "{more}"
        );
        let zeros = firmware.type_command("dd if=/dev/zero of=/dev/null bs=64k count=3 status=noxfer");
        assert_eq!(zeros, "3+0 records in\n3+0 records out\n");
        // The heap, the page frames and the descriptors are as before.
        firmware.output("rm /tmp/full /tmp/more");
    });
}

// U-132, U-134, U-136: every way moves the same, also where blocks, pages and files end at odd places.
#[test]
fn moves_takes_every_way_between_devices_and_files() {
    on_every_machine(|firmware| {
        for by in ["read", "readv", "sendfile", "splice"] {
            let output = firmware.output(&format!("moves by={by} bs=100000 count=7"));
            assert!(
                output.starts_with("7+0 records in\n7+0 records out\n700000 bytes (683.6KB) copied, "),
                "{by}: {output}"
            );
            Transfer::of(&output);
            firmware.type_command("dd if=/bin/dd of=/tmp/a bs=5000 status=none");
            let output = firmware.type_command(&format!("moves by={by} if=/tmp/a of=/tmp/b bs=7001 count=1000"));
            let there = Transfer::of(&firmware.type_command("dd if=/tmp/b of=/dev/null")).bytes;
            assert_eq!(Transfer::of(&output).bytes, there, "{by}: {output}");
            assert!(there > 20_000, "{by}: {there}");
            let size = firmware.type_command("dd if=/bin/dd of=/dev/null");
            assert_eq!(Transfer::of(&size).bytes, there, "{by}");
            firmware.output("rm /tmp/a /tmp/b");
        }
        let refused = firmware.run("moves by=sendfile of=/dev/full");
        let message = "moves: error moving '/dev/zero': Invalid argument\n";
        assert!(
            refused.status == 1 && refused.output.starts_with(message),
            "{refused:?}"
        );
    });
}

#[test]
fn dd_cases_that_need_more_than_the_firmware_has() {
    skipped(
        "U-185",
        "no device of the firmware fails in the middle; the unit tests of dd have a source that does",
    );
}

#[test]
fn dd_says_when_memory_for_its_buffer_is_short() {
    on_every_machine(|firmware| {
        let outcome = firmware.run("dd if=/dev/zero of=/dev/null bs=1000M count=1");
        assert_eq!(outcome.status, 1, "{outcome:?}");
        assert!(
            outcome
                .output
                .starts_with("dd: can't allocate a buffer of 1048576000 bytes"),
            "{outcome:?}"
        );
    });
}

/// What the 64-bit style of `access_ok` lets pass that the others refuse: ranges that start in user space and are no
/// longer than it. Behind it nothing is mapped, so the copy finds its end; `/dev/null` never looks.
const PASSED_BY_CHECK64: [(&str, &str); 3] = [
    ("read(zero, edge - 2 pages, one byte more)", "8192"),
    ("write(null, NULL, 0x80000000)", "EFAULT"),
    ("write(null, TASK_SIZE - 1, 2)", "2"),
];

// U-002, U-009, U-018, U-037, U-068, U-091, U-092, U-093, U-095, U-102, U-118, U-124, U-126, U-127
#[test]
fn calls_at_the_limits_of_memory_give_the_answers_of_a_kernel_under_every_preset() {
    let limits = include_str!("common/limits.txt");
    on_every_machine(|firmware| {
        let list = firmware.output("preset");
        let presets: Vec<&str> = list
            .lines()
            .step_by(2)
            .filter_map(|line| line[2..].split(' ').next())
            .collect();
        assert!(presets.contains(&"fast") && presets.contains(&"fast-check64"), "{list}");
        for preset in presets {
            firmware.output(&format!("preset {preset}"));
            let mut expected = String::new();
            for line in limits.lines() {
                let (call, mut answer) = line.split_once(" = ").expect(line);
                if preset.contains("check64")
                    && let Some((_, other)) = PASSED_BY_CHECK64.iter().find(|(passed, _)| *passed == call)
                {
                    answer = other;
                }
                expected += &format!("{call} = {answer}\n");
            }
            let output = firmware.output("probe limits");
            assert_eq!(output, expected, "{}: {preset}", firmware.machine);
            firmware.expect("probe errno", 0, include_str!("common/errno.txt"));
            let kept = "probe: registers kept over 64 reads into the end of a page: 63 short, 1 EFAULT\n";
            firmware.expect("probe registers", 0, kept);
        }
        let unknown = firmware.run("preset none");
        assert_eq!(unknown.status, 2);
        let message = "preset none does not exist: accepted are fast, ";
        assert!(unknown.output.starts_with(message), "{unknown:?}");
    });
}

#[test]
fn break_grows_with_zeros_and_shrinks() {
    on_every_machine(|firmware| {
        let output = firmware.output("probe brk");
        assert_eq!(output.lines().count(), 9, "{output}");
        assert!(output.lines().all(|line| line.ends_with(": yes")), "{output}");
    });
}

/// Runs a user program under `qemu-ppc`, with the name and the environment that the firmware gives, both output
/// streams in one; gives status and output.
fn under_linux(line: &str) -> (i32, String) {
    let (name, operands) = line.split_once(' ').unwrap_or((line, ""));
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$@\" 2>&1", "sh"]);
    command.arg(program("qemu-ppc").get_program());
    command.args(["-E", "HOME=/", "-U", "PATH,PWD,OLDPWD,SHLVL,_", "-0", name]);
    command.arg(file(name)).args(operands.split_whitespace());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let run = finish(command.env_clear().env("PATH", path), &[]);
    (run.status(), run.text().into())
}

/// Every number with a decimal point, with its unit's prefix, becomes `#`: times and rates differ from run to run.
fn without_times(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    let mut result = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, number) = rest.split_at(start);
        let end = number.find(|c| !is_part(c)).unwrap_or(number.len());
        let (number, after) = number.split_at(end);
        result += before;
        let is_time = number.contains('.') && !before.ends_with('(');
        result += if is_time { "#" } else { number };
        let prefix = after.starts_with(['K', 'M', 'G']) && is_time;
        rest = &after[usize::from(prefix)..];
    }
    result + rest
}

#[test]
fn programs_print_the_same_as_under_linux() {
    on_every_machine(|firmware| {
        for line in [
            "dd if=/dev/zero of=/dev/null count=1000",
            "dd if=/dev/zero of=/dev/null bs=1M count=20",
            "dd if=/dev/zero of=/dev/null bs=13 count=99",
            "dd if=/dev/zero of=/dev/null ibs=100 obs=700 count=50",
            "dd if=/dev/zero of=/dev/null bs=1 skip=7 count=1 status=noxfer",
            "dd if=/dev/null of=/dev/null",
            "dd if=/dev/zero of=/dev/full count=2",
            "dd if=/missing of=/dev/null",
            "dd if=/dev/zero of=/missing/out count=1",
            "dd if=/dev of=/dev/null",
            "dd if=/dev/zero of=/dev count=1",
            "dd bogus",
            "dd count=1x",
            "dd --help",
            "nullcall 1000",
            "nullcall 0",
            "nullcall x",
            "nullcall --help",
            "iops --filename=/missing",
            "iops --filename=/dev/null",
            "iops --numjobs=2",
            "iops --help",
            "moves by=read bs=1000 count=100",
            "moves by=readv bs=100k segments=1024 count=20",
            "moves by=dma",
            "moves if=/missing",
            "moves --help",
            "calls --help",
            "calls none",
            "probe errno",
            "probe brk",
            "probe echo a b c",
            "probe exit 77",
            "probe exit 256",
            "probe cat /missing",
            "probe load x",
            "probe",
            "probe --help",
        ] {
            let (status, output) = under_linux(line);
            let outcome = firmware.run(line);
            let found = (outcome.status, without_times(&outcome.output));
            assert_eq!(found, (status, without_times(&output)), "{}: {line}", firmware.machine);
        }
    });
}

#[test]
fn start_stack_has_what_linux_puts_there() {
    // What both systems have, and what does not depend on the machine or the user.
    let common = |output: &str| -> Vec<String> {
        let is_common = |line: &&str| {
            let names = [
                "argc",
                "argv",
                "envp",
                "AT_PAGESZ",
                "AT_PH",
                "AT_ENTRY",
                "AT_CLKTCK",
                "AT_SECURE",
            ];
            names.iter().any(|name| line.starts_with(name))
        };
        let mut lines: Vec<String> = output.lines().filter(is_common).map(String::from).collect();
        lines.sort();
        lines
    };
    let (_, expected) = under_linux("probe args a b");
    let expected = common(&expected);
    assert!(expected.len() >= 10, "{expected:?}");
    on_every_machine(|firmware| {
        let output = firmware.output("probe args a b");
        assert_eq!(common(&output), expected);
        let stack = output.lines().next().and_then(|line| line.strip_prefix("stack 0x"));
        let stack = u32::from_str_radix(stack.expect(&output), 16).expect(&output);
        assert_eq!(stack % 16, 0, "the ABI aligns the start stack to 16 bytes");
        let words = firmware.output("probe args 'a b' \"\" c");
        for line in ["argc 5", "argv[2] a b", "argv[3] ", "argv[4] c"] {
            assert!(words.lines().any(|found| found == line), "no {line:?} in {words}");
        }
    });
}

#[test]
fn nullcall_prints_one_object_when_asked() {
    on_every_machine(|firmware| {
        let output = firmware.output("nullcall --json 1k");
        let start = "{\"program\":\"nullcall\",\"call\":\"getppid\",\"count\":1024,\"elapsed_ns\":";
        assert!(output.starts_with(start) && output.ends_with("}\n"), "{output}");
    });
}
