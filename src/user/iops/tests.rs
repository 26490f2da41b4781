//! `iops` as a whole over a scripted system.

use super::main;
use super::report::Change;
use crate::user::fake::{Fake, File, run};
use std::string::{String, ToString};
use std::vec::Vec;

fn iops(line: &str, sys: &mut Fake) -> u8 {
    let arguments: Vec<&str> = ["iops"].into_iter().chain(line.split_whitespace()).collect();
    run(main, &arguments, sys)
}

fn with_file(bytes: usize) -> Fake {
    let mut sys = Fake::default();
    sys.add_regular("f", &std::vec![7; bytes]);
    sys
}

/// The number behind `"name":` in JSON, without what is behind a decimal point.
fn field(json: &str, name: &str) -> u64 {
    let at = json
        .find(&std::format!("\"{name}\":"))
        .unwrap_or_else(|| panic!("no {name} in {json}"));
    let digits = &json[at + name.len() + 3..];
    digits
        .split(|c: char| !c.is_ascii_digit())
        .next()
        .unwrap()
        .parse()
        .unwrap()
}

// U-205
#[test]
fn figures_hang_together() {
    for line in [
        "--rw=read --bs=512",
        "--rw=randread --bs=4k --number_ios=777",
        "--bs=1000 --loops=3",
    ] {
        let mut sys = with_file(1 << 16);
        assert_eq!(iops(&std::format!("--filename=f --json {line}"), &mut sys), 0, "{line}");
        let json = sys.stdout();
        let (iops, bandwidth) = (field(&json, "iops"), field(&json, "bw_bytes"));
        let (total, bytes) = (field(&json, "total_ios"), field(&json, "io_bytes"));
        let block = bytes / total;
        assert_eq!(total, sys.calls["read_at"], "{line}");
        let close = |a: u64, b: u64| a.abs_diff(b) * 200 <= a.max(b) + 200;
        assert!(close(iops * block, bandwidth), "{json}");
        assert!(
            close(iops * field(&json, "elapsed_ns") / 1_000_000_000, total),
            "{json}"
        );
        let (least, mean, most) = (field(&json, "min"), field(&json, "mean"), field(&json, "max"));
        assert!(least > 0 && least <= mean && mean <= most, "{json}");
        assert_eq!(field(&json, "N"), total, "sum of the histogram: {json}");
    }
}

// U-205
#[test]
fn change_has_its_sign_and_is_rounded() {
    let change = |base, now| Change { base, now }.to_string();
    assert_eq!(change(1000, 567), "-43.3%");
    assert_eq!(change(567, 1000), "+76.4%");
    assert_eq!(change(1000, 1000), "+0.0%");
    assert_eq!(change(1_000_000, 999_999), "+0.0%");
    assert_eq!(change(1, u64::MAX).len(), "+1844674407370955161400.0%".len());
    assert_eq!(change(1000, 0), "-100.0%");
    let mut sys = with_file(4096);
    assert_eq!(iops("--filename=f --base=1000000.5", &mut sys), 0);
    assert!(
        sys.stdout().contains("  against 1000000.500 IOPS: -"),
        "{}",
        sys.stdout()
    );
}

// U-206
#[test]
fn odd_parameters_are_refused_by_name() {
    for (line, message) in [
        ("", "no --filename=FILE"),
        ("--filename=", "no --filename=FILE"),
        ("f", "unexpected operand 'f'"),
        ("--filename=f --runtime=0", "--runtime=0: accepted are 1 to 86400"),
        ("--filename=f --size=0", "--size=0: accepted are 1 to"),
        ("--filename=f --bs=0", "--bs=0: accepted are 1 to"),
        ("--filename=f --number_ios=0", "--number_ios=0: accepted are 1 to"),
        ("--filename=f --loops=0", "--loops=0: accepted are 1 to"),
        ("--filename=f --bs=x", "--bs: invalid number 'x'"),
        ("--filename=f --ioengine=libaio", "--ioengine=libaio: accepted is psync"),
        ("--filename=f --numjobs=0", "--numjobs=0: accepted is 1"),
        ("--filename=f --rw=write", "--rw=write: accepted are read, randread"),
        (
            "--filename=f --output-format=csv",
            "--output-format=csv: accepted are normal, json",
        ),
        ("--filename=f --base=0", "--base=0: accepted are IOPS above 0"),
        ("--filename=f --base=1.2345", "--base=1.2345: accepted are"),
        ("--filename=f --verify=1", "unknown option --verify"),
        ("--filename=f --bs", "option --bs has no value"),
    ] {
        let mut sys = with_file(4096);
        assert_eq!(iops(line, &mut sys), 2, "{line}");
        let said = sys.stderr();
        assert!(said.starts_with("iops: ") && said.contains(message), "{line}: {said}");
        assert_eq!(sys.stdout(), "", "{line}");
    }
    for (line, message) in [
        ("--filename=g", "can't open 'g': No such file"),
        ("--filename=f --bs=8k", "--bs=8192 is larger than the size, 4096 bytes"),
        ("--filename=f --offset=4096", "--offset=4096 is beyond the end"),
        (
            "--filename=f --offset=1 --size=4096",
            "--size=4096 from 1 on is more than the 4096 bytes",
        ),
        ("--filename=/dev/zero", "has no size of its own: give --size=N"),
    ] {
        let mut sys = with_file(4096);
        assert_eq!(iops(line, &mut sys), 1, "{line}");
        assert!(sys.stderr().contains(message), "{line}: {}", sys.stderr());
    }
}

// U-206
#[test]
fn smallest_and_largest_blocks_give_their_operation_counts() {
    for (line, expected) in [
        ("--bs=1", 3 << 20),
        ("--bs=1M", 3),
        ("--bs=1M --loops=4", 12),
        ("--bs=1M --number_ios=7", 7),
    ] {
        let mut sys = with_file(3 << 20);
        assert_eq!(iops(&std::format!("--filename=f --json {line}"), &mut sys), 0, "{line}");
        assert_eq!(field(&sys.stdout(), "total_ios"), expected, "{line}");
    }
    let mut sys = with_file(1000);
    assert_eq!(iops("--filename=f --bs=300 --json", &mut sys), 0);
    assert_eq!(field(&sys.stdout(), "total_ios"), 3);
    assert!(
        sys.stderr().contains("its last 100 bytes are not read"),
        "{}",
        sys.stderr()
    );
}

#[test]
fn run_by_the_clock_ends_by_it() {
    let mut sys = with_file(4096);
    assert_eq!(iops("--filename=f --bs=512 --runtime=2 --json", &mut sys), 0);
    let elapsed = field(&sys.stdout(), "elapsed_ns");
    assert!((2_000_000_000..2_200_000_000).contains(&elapsed), "{elapsed}");
}

#[test]
fn same_seed_gives_the_same_order_and_another_seed_another() {
    let order = |seed: u32| {
        let mut sys = with_file(1 << 16);
        let line = std::format!("--filename=f --rw=randread --bs=512 --number_ios=256 --seed={seed}");
        assert_eq!(iops(&line, &mut sys), 0);
        sys.read_offsets
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
    let offsets = order(0);
    assert!(offsets.iter().all(|at| at % 512 == 0 && *at < 1 << 16));
    let distinct: std::collections::BTreeSet<_> = offsets.iter().collect();
    assert!(distinct.len() > 90, "{} of 128 blocks", distinct.len());
}

#[test]
fn read_error_is_reported_with_its_place_and_what_was_done_before() {
    let mut sys = Fake::default();
    sys.add(
        "f",
        File::Regular {
            content: std::vec![0; 4096],
            bad: std::vec![2],
        },
    );
    assert_eq!(iops("--filename=f --bs=512", &mut sys), 1);
    assert!(
        sys.stderr()
            .contains("iops: error reading 'f' at 1024: Input/output error")
    );
    let table: String = sys.stdout();
    assert!(table.contains(" 2 ios (0 short), 1024 bytes"), "{table}");
}

#[test]
fn system_without_a_clock_is_refused() {
    let mut sys = with_file(4096);
    sys.has_clock = false;
    assert_eq!(iops("--filename=f", &mut sys), 1);
    assert!(sys.stderr().contains("iops: cannot read the clock"), "{}", sys.stderr());
}
