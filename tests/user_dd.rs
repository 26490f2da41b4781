//! `dd` as the very file that the firmware runs, under `qemu-ppc` and beside busybox.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Run, emulated, finish};
use zeronull_image::testing::{empty_directory, program};

/// Runs `dd` with the operands of `line` in `directory`; standard input arrives in parts.
fn dd_in(directory: &Path, line: &str, input: &[&[u8]]) -> Run {
    finish(
        emulated("dd").args(line.split_whitespace()).current_dir(directory),
        input,
    )
}

fn dd(line: &str) -> Run {
    dd_in(Path::new("/"), line, &[])
}

/// A directory with a file `in` of `len` bytes whose blocks differ.
fn directory_with_input(test: &str, len: usize) -> (PathBuf, Vec<u8>) {
    let directory = empty_directory(&format!("user_dd-{test}"));
    let content: Vec<u8> = (0..len)
        .map(|index| (index % 251) as u8 ^ (index / 512) as u8)
        .collect();
    fs::write(directory.join("in"), &content).expect("the input can be written");
    (directory, content)
}

fn read(directory: &Path, name: &str) -> Vec<u8> {
    fs::read(directory.join(name)).unwrap_or_else(|cause| panic!("cannot read {name}: {cause}"))
}

/// The line of bytes, time and rate, taken apart: bytes, size, seconds, rate.
#[track_caller]
fn transfer(stderr: &str) -> (u64, String, f64, String) {
    let line = stderr.lines().last().expect("there is a report");
    let (bytes, rest) = line.split_once(" bytes (").expect(line);
    let (size, rest) = rest.split_once("B) copied, ").expect(line);
    let (seconds, rate) = rest.split_once(" seconds, ").expect(line);
    let decimals = seconds.split_once('.').expect(line).1;
    assert_eq!(decimals.len(), 6, "{line}");
    (
        bytes.parse().expect(line),
        size.into(),
        seconds.parse().expect(line),
        rate.strip_suffix("B/s").expect(line).into(),
    )
}

// U-166
#[test]
fn benchmark_line_has_its_form_and_a_rate_that_follows_from_the_time() {
    let run = dd("if=/dev/zero of=/dev/null count=1M").succeeded();
    let lines: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(lines[..2], ["1048576+0 records in", "1048576+0 records out"]);
    assert!(
        lines[2].starts_with("536870912 bytes (512.0MB) copied, "),
        "{}",
        lines[2]
    );
    assert_eq!((lines.len(), run.text()), (3, ""));
    let (bytes, _, seconds, rate) = transfer(&run.stderr);
    let rate: f64 = rate
        .strip_suffix('M')
        .expect("the rate is in MB/s")
        .parse()
        .expect("a number");
    assert!(
        (rate - bytes as f64 / seconds / 1_048_576.0).abs() <= 0.1,
        "{}",
        run.stderr
    );
    // The whole process takes what dd says it took, and the emulator's start.
    let real = run.elapsed.as_secs_f64();
    assert!(seconds <= real && real - seconds < 1.0, "{real} s for {}", run.stderr);
}

// U-166
#[test]
fn each_block_is_one_read_and_one_write_and_nothing_else() {
    let calls = |count: usize| {
        let mut command = program("qemu-ppc");
        let operands = ["if=/dev/zero", "of=/dev/null", "status=none", &format!("count={count}")];
        let run = finish(command.arg("-strace").arg(common::file("dd")).args(operands), &[]).succeeded();
        let count_of = |name: &str| run.stderr.matches(&format!(" {name}(")).count();
        (
            count_of("read"),
            count_of("write"),
            count_of("clock_gettime"),
            run.stderr.lines().count(),
        )
    };
    let (reads, writes, clocks, all) = calls(10);
    assert_eq!((reads, writes, clocks), (10, 10, 2));
    assert_eq!(calls(500), (500, 500, 2, all + 2 * 490));
}

// U-167
#[test]
fn sizes_mean_what_their_suffixes_say() {
    let table = [
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
    ];
    for (size, bytes) in table {
        let run = dd(&format!("if=/dev/zero bs={size} count=1")).succeeded();
        assert_eq!(run.stdout.len(), bytes, "{size}");
        assert!(run.stdout.iter().all(|&byte| byte == 0), "{size}");
    }
    // The later operand of a name wins, and -- is no operand.
    assert_eq!(
        dd("if=/dev/null bs=9 -- count=7 if=/dev/zero bs=2 count=3")
            .succeeded()
            .stdout
            .len(),
        6
    );
}

// U-167, U-180
#[test]
fn bad_operands_end_with_status_1_and_copy_nothing() {
    let (directory, _) = directory_with_input("operands", 512);
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
        "ibs=0",
        "obs=3221225472",
        "conv=bogus",
        "iflag=bogus",
        "oflag=bogus",
        "status=bogus",
        "bogus=1",
        "bogus",
        "-x",
    ] {
        let run = dd_in(&directory, &format!("if=in of=out {operand}"), &[]);
        assert_eq!(run.status(), 1, "{operand}");
        assert!(
            run.stderr.starts_with("dd: ") && run.stderr.lines().count() == 1,
            "{operand}: {}",
            run.stderr
        );
        let value = operand.split_once('=').map_or(operand, |(_, value)| value);
        assert!(run.stderr.contains(value), "{operand}: {}", run.stderr);
        assert!(!directory.join("out").exists(), "{operand}");
    }
}

// U-169
#[test]
fn skip_past_the_end_is_said_and_seek_past_it_extends() {
    let directory = empty_directory("user_dd-past-the-end");
    fs::write(directory.join("four"), "abcd").expect("the file can be written");
    let run = dd_in(&directory, "if=four bs=1 skip=5 count=0 status=noxfer", &[]).succeeded();
    assert_eq!(
        run.stderr,
        "dd: 'four': cannot skip to specified offset\n0+0 records in\n0+0 records out\n"
    );
    let run = dd_in(
        &directory,
        "if=/dev/null of=four bs=1 seek=5 count=0 status=noxfer",
        &[],
    )
    .succeeded();
    assert_eq!(run.stderr, "0+0 records in\n0+0 records out\n");
    assert_eq!(read(&directory, "four"), b"abcd\0");
}

// U-171
#[test]
fn status_chooses_the_lines_and_the_last_one_wins() {
    let stderr = |status: &str| {
        dd(&format!("if=/dev/zero of=/dev/null count=2 {status}"))
            .succeeded()
            .stderr
    };
    let records = "2+0 records in\n2+0 records out\n";
    assert_eq!(stderr("status=none"), "");
    assert_eq!(stderr("status=noxfer"), records);
    assert_eq!(stderr("status=noxfer status=none"), "");
    assert_eq!(stderr("status=none status=noxfer"), records);
    assert!(stderr("").starts_with(&format!("{records}1024 bytes (1.0KB) copied, ")));
}

// U-173
#[test]
fn shortest_transfers_have_finite_figures() {
    for (line, bytes) in [("count=0", 0), ("count=1", 512), ("bs=1 count=1", 1)] {
        let run = dd(&format!("if=/dev/zero of=/dev/null {line}")).succeeded();
        let (moved, size, seconds, rate) = transfer(&run.stderr);
        assert_eq!((moved, size), (bytes, bytes.to_string()));
        assert!(seconds < 10.0, "{}", run.stderr);
        let digits = rate.trim_end_matches(['K', 'M', 'G']);
        assert!(digits.parse::<f64>().is_ok_and(f64::is_finite), "{}", run.stderr);
    }
}

// U-174
#[test]
fn eight_gibibytes_are_counted_in_full() {
    let run = dd("if=/dev/zero of=/dev/null bs=1M count=8192").succeeded();
    let (bytes, size, seconds, rate) = transfer(&run.stderr);
    assert_eq!((bytes, size.as_str()), (8_589_934_592, "8.0G"));
    let (number, unit) = rate.split_at(rate.len() - 1);
    let unit = if unit == "G" { 1_073_741_824.0 } else { 1_048_576.0 };
    let rate: f64 = number.parse().expect("a rate");
    assert!((rate - bytes as f64 / seconds / unit).abs() <= 0.1, "{}", run.stderr);
}

// U-174
#[test]
#[ignore = "moves 8388609 blocks, about 10 s"]
fn more_than_four_gibibytes_in_small_blocks_are_counted_in_full() {
    let run = dd("if=/dev/zero of=/dev/null count=8388609").succeeded();
    assert!(
        run.stderr
            .starts_with("8388609+0 records in\n8388609+0 records out\n4294967808 bytes (4.0GB) copied, ")
    );
}

// U-175
#[test]
fn order_of_operands_has_no_effect() {
    let (directory, content) = directory_with_input("order", 2048);
    let operands = ["if=in", "bs=16", "count=5", "skip=3", "status=noxfer"];
    let mut orders = 0;
    for order in 0..3125usize {
        let indexes: Vec<usize> = (0..5).map(|place| order / 5usize.pow(place) % 5).collect();
        if (0..5).any(|index| !indexes.contains(&index)) {
            continue;
        }
        orders += 1;
        // Every sixth of the 120 orders is enough here; the unit tests have them all.
        if orders % 6 != 0 {
            continue;
        }
        let line: Vec<&str> = indexes.iter().map(|&index| operands[index]).collect();
        let run = dd_in(&directory, &line.join(" "), &[]).succeeded();
        assert_eq!(run.stdout, content[48..128], "{line:?}");
        assert_eq!(run.stderr, "5+0 records in\n5+0 records out\n", "{line:?}");
    }
    assert_eq!(orders, 120);
}

// U-177
#[test]
fn failed_write_gives_status_1_and_counts_what_went() {
    let run = dd("if=/dev/zero of=/dev/full bs=512 count=3 status=noxfer");
    assert_eq!(run.status(), 1);
    assert_eq!(
        run.stderr,
        "dd: error writing '/dev/full': No space left on device\n1+0 records in\n0+0 records out\n"
    );

    // Room for one block and a half.
    let directory = empty_directory("user_dd-room");
    let script = "trap '' XFSZ; exec prlimit --fsize=768 \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]);
    let dd = emulated("dd");
    command
        .arg(dd.get_program())
        .args(dd.get_args())
        .current_dir(&directory);
    let run = finish(
        command.args(["if=/dev/zero", "of=out", "count=3", "status=noxfer"]),
        &[],
    );
    assert_eq!(run.status(), 1);
    assert_eq!(
        run.stderr,
        "dd: error writing 'out': File too large\n2+0 records in\n1+1 records out\n"
    );
    assert_eq!(read(&directory, "out").len(), 768);
}

// U-179
#[test]
fn offsets_that_wrap_are_refused_before_the_output_is_touched() {
    let (directory, _) = directory_with_input("wrap", 512);
    for line in [
        "skip=36028797018963968",
        "skip=9223372036854775808 bs=1",
        "seek=17592186044416 obs=1M",
        "skip=18446744073709551616",
    ] {
        fs::write(directory.join("out"), "kept").expect("the output can be written");
        let run = dd_in(&directory, &format!("if=in of=out {line}"), &[]);
        assert_eq!(run.status(), 1, "{line}");
        assert!(run.stderr.contains("too large"), "{line}: {}", run.stderr);
        assert_eq!(read(&directory, "out"), b"kept", "{line}");
    }
}

#[test]
fn offsets_beyond_four_gibibytes_reach_the_file() {
    let (directory, content) = directory_with_input("sparse", 512);
    dd_in(&directory, "if=in of=big seek=8388609 status=none", &[]).succeeded();
    let length = fs::metadata(directory.join("big")).expect("the file is there").len();
    assert_eq!(length, 4_294_968_320);
    let run = dd_in(&directory, "if=big skip=8388609 status=noxfer", &[]).succeeded();
    assert_eq!(run.stdout, content);
    assert_eq!(run.stderr, "1+0 records in\n1+0 records out\n");
    fs::remove_file(directory.join("big")).expect("the file can be removed");
}

// U-182
#[test]
fn short_reads_are_gathered_into_output_blocks() {
    let run = dd_in(Path::new("/"), "ibs=3 obs=6 status=noxfer", &[b"ab", b"cd"]).succeeded();
    assert_eq!(run.text(), "abcd");
    assert_eq!(run.stderr, "0+2 records in\n0+1 records out\n");
}

#[test]
fn fullblock_waits_for_whole_blocks() {
    let run = dd_in(Path::new("/"), "bs=3 iflag=fullblock status=noxfer", &[b"ab", b"cd"]).succeeded();
    assert_eq!(run.text(), "abcd");
    assert_eq!(run.stderr, "1+1 records in\n1+1 records out\n");
}

// U-184
#[test]
fn swab_keeps_the_odd_last_byte_and_refuses_an_odd_block_before_more() {
    assert_eq!(
        dd_in(Path::new("/"), "conv=swab", &[b"abcde"]).succeeded().text(),
        "badce"
    );
    let run = dd_in(Path::new("/"), "conv=swab bs=3", &[b"abcdef"]);
    assert_eq!((run.status(), run.text()), (1, "bac"));
    assert!(
        run.stderr.starts_with("dd: can't swab 3 byte buffer\n"),
        "{}",
        run.stderr
    );
}

// U-187
#[test]
fn sizes_are_shown_in_powers_of_1024() {
    for (line, size) in [
        ("bs=1MB", "976.6K"),
        ("bs=1M", "1.0M"),
        ("bs=512", "512"),
        ("bs=1023", "1023"),
        ("bs=1MB count=1000", "953.7M"),
    ] {
        let run = dd(&format!("if=/dev/zero of=/dev/null count=1 {line}")).succeeded();
        assert_eq!(transfer(&run.stderr).1, size);
    }
}

#[test]
fn buffer_that_cannot_be_had_is_an_error_not_a_panic() {
    let run = dd("if=/dev/zero of=/dev/null ibs=2147483647 obs=2147483646 count=1");
    assert_eq!(run.status(), 1);
    assert!(
        run.stderr.starts_with("dd: can't allocate a buffer of 214748364"),
        "{}",
        run.stderr
    );
}

#[test]
fn closed_standard_error_still_gives_the_status() {
    let dd = emulated("dd");
    let mut command = Command::new("sh");
    command
        .args(["-c", "exec \"$@\" 2>&-", "sh"])
        .arg(dd.get_program())
        .args(dd.get_args());
    let run = finish(command.args(["if=/dev/zero", "of=/dev/full", "count=1"]), &[]);
    assert_eq!((run.status(), run.stderr.as_str()), (1, ""));
}

/// Command lines that busybox 1.35 and ours must answer alike: status, output, records, messages about files.
const SAME_AS_BUSYBOX: &[&str] = &[
    "if=in of=out",
    "if=in of=out bs=1000",
    "if=in of=out bs=100 count=7",
    "if=in of=out ibs=100 obs=700",
    "if=in of=out ibs=700 obs=100",
    "if=in of=out ibs=512 obs=4096 count=3",
    "if=in of=out bs=3000",
    "if=in of=out bs=64 skip=3",
    "if=in of=out bs=64 seek=3",
    "if=in of=out bs=64 seek=3 skip=30 count=2",
    "if=in of=out bs=64 seek=3 conv=notrunc",
    "if=in of=out bs=64 skip=100 iflag=skip_bytes count=100",
    "if=in of=out bs=64 count=100 iflag=count_bytes",
    "if=in of=out bs=64 seek=100 oflag=seek_bytes count=1",
    "if=in of=out bs=64 count=2 oflag=append conv=notrunc",
    "if=in of=out bs=600 conv=sync",
    "if=in of=out ibs=600 obs=1000 conv=sync",
    "if=in of=out bs=600 conv=swab",
    "if=in of=out conv=swab,sync bs=700",
    "if=in of=out conv=fsync",
    "if=in of=out conv=noerror,sync bs=2500",
    "if=in of=out status=none",
    "if=in of=out status=noxfer",
    "if=in of=out count=0",
    "if=in bs=300",
    "if=in bs=1kB count=1 -- bs=1kB",
    "if=/dev/null of=out",
    "if=/dev/zero of=/dev/full count=2",
    "if=/dev/zero of=/dev/full ibs=100 obs=300 count=5",
    "if=missing of=out",
    "if=in of=missing/out",
    "if=in of=/dev/null bs=1b count=2",
    "if=in of=/dev/null bs=2w",
    "count=1 bs=5",
    "bs=100 skip=2",
    "ibs=7 obs=3",
    "bs=100 iflag=fullblock",
];

#[test]
fn statuses_records_and_outputs_are_those_of_busybox() {
    let version = String::from_utf8_lossy(&program("busybox").output().expect("busybox runs").stdout).into_owned();
    println!("beside {}", version.lines().next().unwrap_or("an unknown busybox"));
    let input: Vec<u8> = (0..2000u32).map(|index| (index * 7 % 256) as u8).collect();
    for line in SAME_AS_BUSYBOX {
        let outcome = |name: &str, command: &mut Command| {
            let (directory, _) = directory_with_input(&format!("beside-{name}"), 2500);
            fs::write(directory.join("out"), [b'o'; 700]).expect("the output can be written");
            let run = finish(command.args(line.split_whitespace()).current_dir(&directory), &[&input]);
            // Debian's busybox is built without the line of bytes and rate.
            let said: Vec<String> = run
                .stderr
                .lines()
                .filter(|line| !line.contains(" copied, "))
                .map(String::from)
                .collect();
            let written = fs::read(directory.join("out")).ok();
            ((run.status(), said), (run.stdout, written))
        };
        let (ours, our_output) = outcome("ours", &mut emulated("dd"));
        let (theirs, their_output) = outcome("theirs", program("busybox").arg("dd"));
        assert_eq!(ours, theirs, "dd {line}");
        assert!(our_output == their_output, "dd {line}: the outputs differ");
    }
}
