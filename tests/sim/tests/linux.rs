//! Linux 6.1 for 8xx, unmodified, under `mpc8xx-sim`: `./tests/run linux`.
//!
//! The kernels are built from the distribution's source by `tests/linux/build` and kept under `target/linux`. Their init
//! program runs eight small measurements and powers off; one kernel carries the BPF tests instead, whose results on a
//! real board were published.

#[path = "linux/bpf.rs"]
mod bpf;
#[path = "linux/guest.rs"]
mod guest;

use guest::{Guest, KERNELS, OPERATIONS};
use mpc8xx_sim::cpu::timing::Timing;

/// The time base's clock, which the kernels take from the device tree.
const CORE_MHZ: f64 = 132.0;

/// Instructions per operation in the order of [`OPERATIONS`], counted by interpreting the kernels' own code paths without
/// MMU, caches or devices. The count of `getppid` leaves out 10 to 20 instructions of the path.
const COUNTED: [(&str, [f64; 5]); 3] = [
    ("vmlinux-16k", [909.0, 993.0, 1665.0, 13398.0, 175.0]),
    ("vmlinux-4k", [881.0, 965.0, 1637.0, 14222.0, 161.0]),
    ("vmlinux-lean", [850.0, 934.0, 1606.0, 13315.0, 156.0]),
];

/// How far a count may be from the independent one.
const TOLERANCE: f64 = 0.03;

#[test]
#[ignore = "builds Linux from the distribution's source, about half an hour the first time"]
fn kernels_boot_run_all_their_tests_and_halt() {
    let Some(guest) = Guest::find() else { return };
    for kernel in KERNELS {
        for tree in ["mpc885ads-min.dtb", "mpc885ads.dtb"] {
            let run = guest.run("mpc885ads", kernel, tree, "n=20 runs=1 sel=255 halt=1", &[]);
            assert_eq!(run.status, 0, "{kernel} {tree}: {}", run.report());
            for line in OPERATIONS
                .iter()
                .chain(&["write(/dev/null) ", "read(/dev/zero) ", "nop2loop "])
            {
                assert!(
                    run.line(line).is_some(),
                    "{kernel} {tree}: {line} is missing: {}",
                    run.report()
                );
            }
            assert!(run.stdout.contains("\nDONE\n"), "{kernel} {tree}: {}", run.report());
            assert!(
                run.stderr.contains("endless halt: branch to itself"),
                "{kernel} {tree}: {}",
                run.report()
            );
            for exception in ["decrementer", "system call", "data TLB miss"] {
                assert!(
                    run.exceptions(exception) > 0,
                    "{kernel} {tree}: no {exception}: {}",
                    run.report()
                );
            }
            println!(
                "{kernel} {tree}: {} instructions, {} cycles to the halt",
                run.figure("instructions"),
                run.figure("cycles")
            );
        }
    }
}

#[test]
#[ignore = "builds Linux from the distribution's source, about half an hour the first time"]
fn console_works_by_interrupts_at_the_speed_of_the_line() {
    let Some(guest) = Guest::find() else { return };
    for kernel in KERNELS {
        let run = guest.run(
            "mpc885ads",
            kernel,
            "mpc885ads-min.dtb",
            "n=20000 runs=1 sel=1 halt=1",
            &["--serial", "real"],
        );
        assert!(run.line("dd bs=512 ").is_some(), "{kernel}: {}", run.report());
        assert!(run.exceptions("external interrupt") > 3, "{kernel}: {}", run.report());
        // Every character of the log before that took ten bits of 115200 a second.
        let bits = 10 * run.stdout.len() as u64;
        assert!(
            run.figure("cycles") > bits * 132_000_000 / 115_200,
            "{kernel}: {}",
            run.report()
        );
    }
}

#[test]
#[ignore = "builds Linux from the distribution's source, about half an hour the first time"]
fn instructions_per_operation_agree_with_an_independent_count() {
    let Some(guest) = Guest::find() else { return };
    println!("instructions per operation (read and write a block, or one call): counted here / independently");
    println!(
        "{:14} {:>16} {:>16} {:>16} {:>18} {:>14}",
        "kernel", "dd 64", "dd 512", "dd 4096", "dd 65536", "getppid"
    );
    let mut wrong = Vec::new();
    for (kernel, expected) in COUNTED {
        // Without the cycle model an instruction takes one clock.
        let arguments = "n=20000 runs=1 sel=31 halt=1";
        let run = guest.run(
            "mpc885ads",
            kernel,
            "mpc885ads-min.dtb",
            arguments,
            &["--timing", "off"],
        );
        let counted = OPERATIONS.map(|operation| run.nanoseconds(operation) * CORE_MHZ / 1000.0);
        let cells: Vec<String> = counted
            .iter()
            .zip(expected)
            .map(|(a, b)| format!("{a:.1} / {b}"))
            .collect();
        println!(
            "{kernel:14} {:>16} {:>16} {:>16} {:>18} {:>14}",
            cells[0], cells[1], cells[2], cells[3], cells[4]
        );
        for ((operation, counted), expected) in OPERATIONS.iter().zip(counted).zip(expected) {
            let missing = if *operation == "getppid " {
                10.0..=20.0
            } else {
                0.0..=0.0
            };
            let (least, most) = (expected + missing.start(), expected + missing.end());
            if counted < least * (1.0 - TOLERANCE) || counted > most * (1.0 + TOLERANCE) {
                wrong.push(format!("{kernel} {operation}: {counted:.1}, {expected} expected"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
#[ignore = "builds Linux from the distribution's source, about half an hour the first time"]
fn cycles_per_operation_are_a_plausible_multiple_of_the_instructions() {
    let Some(guest) = Guest::find() else { return };
    println!("core clocks per operation, and MB/s (1048576 bytes) of dd, at 132 MHz");
    println!(
        "{:10} {:14} {:>17} {:>17} {:>17} {:>19} {:>8}",
        "board", "kernel", "dd 64", "dd 512", "dd 4096", "dd 65536", "getppid"
    );
    for board in ["cmpc885", "mcr3000", "mpc885ads"] {
        for (kernel, instructions) in COUNTED {
            let run = guest.run(board, kernel, "mpc885ads-min.dtb", "n=20000 runs=1 sel=31 halt=1", &[]);
            let clocks = OPERATIONS.map(|operation| run.nanoseconds(operation) * CORE_MHZ / 1000.0);
            let rate = |index: usize, bytes: f64| bytes * CORE_MHZ * 1e6 / clocks[index] / 1_048_576.0;
            let cell = |index: usize, bytes: f64| format!("{:.0} ({:.1})", clocks[index], rate(index, bytes));
            println!(
                "{board:10} {kernel:14} {:>17} {:>17} {:>17} {:>19} {:>8.0}",
                cell(0, 64.0),
                cell(1, 512.0),
                cell(2, 4096.0),
                cell(3, 65536.0),
                clocks[4]
            );
            for (index, (clocks, instructions)) in clocks.iter().zip(instructions).enumerate() {
                // A core that issues at most one instruction a clock, folded branches aside, cannot be faster; 64 KiB
                // go through an 8 KiB cache, one line of 16 bytes at a time.
                let most = if index == 3 { 10.0 } else { 4.0 };
                assert!(
                    *clocks > instructions && *clocks < most * instructions,
                    "{board} {kernel} {}: {clocks} clocks for {instructions} instructions",
                    OPERATIONS[index]
                );
            }
        }
    }
    let options = ["--profile"];
    let run = guest.run(
        "cmpc885",
        "vmlinux-16k",
        "mpc885ads-min.dtb",
        "n=100000 runs=1 sel=1 halt=1",
        &options,
    );
    let profile = run
        .stderr
        .lines()
        .skip_while(|line| !line.contains("function"))
        .take(21);
    println!("profile of vmlinux-16k on cmpc885: start and 100000 pairs of 512 bytes");
    profile.for_each(|line| println!("{line}"));
}

#[test]
#[ignore = "builds Linux from the distribution's source, about half an hour the first time"]
fn no_constant_of_the_cycle_model_decides_the_pair() {
    let Some(guest) = Guest::find() else { return };
    let pair = |options: &[&str]| {
        let run = guest.run(
            "cmpc885",
            "vmlinux-16k",
            "mpc885ads-min.dtb",
            "n=2000 runs=1 sel=1 halt=1",
            options,
        );
        run.nanoseconds("dd bs=512 ") * CORE_MHZ / 1000.0
    };
    let usual = pair(&[]);
    println!("a pair of 512 bytes takes {usual:.0} clocks; with one constant less or more by 1:");
    let defaults = Timing::default();
    for name in Timing::NAMES {
        let value = defaults.get(name).expect("the name is in the list");
        let changed = |value: u32| pair(&["--timing-set", &format!("{name}={value}")]) - usual;
        let less = value.checked_sub(1).map_or(0.0, changed);
        let more = changed(value + 1);
        println!("  {name:22} {less:+6.0} {more:+6.0}");
        let worst = less.abs().max(more.abs()) / usual;
        assert!(worst < 0.2, "{name}: {:.1} % of the pair", 100.0 * worst);
    }
}

#[test]
#[ignore = "builds Linux from the distribution's source, about half an hour the first time"]
fn bpf_tests_take_the_cycles_that_a_real_board_takes() {
    let Some(guest) = Guest::find() else { return };
    bpf::compare(&guest);
}
