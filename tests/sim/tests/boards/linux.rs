//! Linux 6.1 for 8xx, unmodified, on the boards. The kernels are those that `tests/linux/build` makes of the
//! distribution's source; their init program runs eight small measurements and powers off. Ready-made ones in
//! `shared/linux/8xx` beside the checkout serve as well.

use std::path::{Path, PathBuf};

use mpc8xx_sim::cpu::{Halt, Stop};
use mpc8xx_sim::load::fdt::Tree;
use mpc8xx_sim::load::{HandOver, Image};

use crate::harness::{Board8xx, board, options};

const KERNELS: [&str; 3] = ["vmlinux-16k", "vmlinux-4k", "vmlinux-lean"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The directory of the kernels; `None`, and a line that says so, when there is none.
pub fn kernels() -> Option<PathBuf> {
    let found = [root().join("target/linux"), root().join("../shared/linux/8xx")]
        .into_iter()
        .find(|directory| KERNELS.iter().all(|kernel| directory.join(kernel).exists()));
    if found.is_none() {
        println!("skipped: no Linux kernels; `tests/linux/build target/linux` builds them");
    }
    found
}

/// A board that its U-Boot has left for this kernel. Transmission takes no time, because the init program powers off
/// without waiting for its output to leave the wire.
fn boot(directory: &Path, board_name: &str, kernel: &str, tree: &str, arguments: &str) -> Board8xx {
    let read = |name: &str| std::fs::read(directory.join(name)).expect("the file can be read");
    let image = Image::parse(&read(kernel), 0).expect("the kernel is an image");
    let tree = Tree::parse(&read(tree)).expect("the tree is well formed");
    let (mut options, terminal) = options();
    options.instant_transmission = true;
    let hand_over = HandOver::DeviceTree {
        tree,
        bootargs: Some(arguments.to_owned()),
        initrd: None,
    };
    Board8xx::started(board(board_name), options, terminal, &image, hand_over)
}

/// The lines that the init program prints, by their beginnings.
const TESTS: [&str; 8] = [
    "dd bs=512 ",
    "dd bs=64 ",
    "dd bs=4096 ",
    "dd bs=65536 ",
    "getppid ",
    "write(/dev/null) ",
    "read(/dev/zero) ",
    "nop2loop ",
];

fn runs_all_tests(directory: &Path, board_name: &str, kernel: &str, tree: &str) {
    let arguments = "console=ttyCPM0,115200 n=20 runs=1 sel=255 halt=1";
    let mut board = boot(directory, board_name, kernel, tree, arguments);
    let stop = board.run_to_end(60);
    assert!(
        matches!(
            stop,
            Stop::Halt {
                how: Halt::BranchToItself,
                ..
            }
        ),
        "{stop}; output:\n{}",
        board.output
    );
    for test in TESTS {
        assert!(
            board.output.lines().any(|line| line.starts_with(test)),
            "{test}: output:\n{}",
            board.output
        );
    }
    assert!(board.output.contains("\nDONE\r\n"), "output:\n{}", board.output);
    println!(
        "{board_name} {kernel} {tree}: {} instructions",
        board.machine.cpu.instructions()
    );
}

#[test]
fn every_kernel_runs_its_tests_and_halts_on_the_ads() {
    let Some(directory) = kernels() else { return };
    for kernel in KERNELS {
        for tree in ["mpc885ads-min.dtb", "mpc885ads.dtb"] {
            runs_all_tests(&directory, "mpc885ads", kernel, tree);
        }
    }
}

#[test]
fn kernel_runs_its_tests_on_the_other_boards() {
    let Some(directory) = kernels() else { return };
    for name in ["cmpc885", "mcr3000"] {
        runs_all_tests(&directory, name, "vmlinux-16k", "mpc885ads-min.dtb");
    }
}

/// Nanoseconds per operation, from the line of the init program that begins with `test`.
fn nanoseconds(output: &str, test: &str) -> f64 {
    let line = output
        .lines()
        .find(|line| line.starts_with(test))
        .expect("the test has run");
    let figure = line.split("ns/op ").nth(1).and_then(|rest| rest.split(' ').next());
    figure
        .and_then(|figure| figure.parse().ok())
        .expect("the line has a figure")
}

#[test]
fn instructions_per_pair_agree_with_an_independent_count() {
    let Some(directory) = kernels() else { return };
    // Without the cycle model an instruction takes one clock of 132 MHz. The figures come from interpreting the
    // kernel's code path alone, without MMU, caches or devices.
    for (kernel, expected) in [("vmlinux-16k", 993.0), ("vmlinux-4k", 965.0), ("vmlinux-lean", 934.0)] {
        let arguments = "console=ttyCPM0,115200 n=20000 runs=1 sel=1 halt=1";
        let mut board = boot(&directory, "mpc885ads", kernel, "mpc885ads-min.dtb", arguments);
        board.run_to_end(60);
        let counted = nanoseconds(&board.output, "dd bs=512 ") * 0.132;
        println!("{kernel}: {counted:.1} instructions per pair of 512 bytes, {expected} expected");
        assert!(
            (counted / expected - 1.0).abs() < 0.03,
            "{kernel}: {counted:.1}, {expected} expected"
        );
    }
}

#[test]
fn real_transmission_time_paces_the_console() {
    let Some(directory) = kernels() else { return };
    let mut board = boot(
        &directory,
        "mpc885ads",
        "vmlinux-16k",
        "mpc885ads-min.dtb",
        "console=ttyCPM0,115200",
    );
    board.machine.bus.set_instant_transmission(false);
    board.expect("console [ttyCPM0] enabled", 5);
    let first = board.machine.cpu.now();
    let characters = board.output.len() as u64;
    board.expect("Run /init as init process", 5);
    let characters = board.output.len() as u64 - characters;
    let per_character = (board.machine.cpu.now() - first) / characters;
    assert!(
        (11_000..20_000).contains(&per_character),
        "{per_character} core clocks per character"
    );
}
