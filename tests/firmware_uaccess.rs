//! The user-access core on the firmware, under every preset.

mod common;

use std::collections::BTreeSet;

use common::firmware::Firmware;
use zeronull_image::board::Board;
use zeronull_image::machine::{Machine, Qemu, Simulator};
use zeronull_image::start::Start;

/// The suites, with how many of their tests need an address limit and how many a window.
const SUITES: [(&str, usize, usize); 6] = [
    ("acc", 3, 0),
    ("cpy", 0, 1),
    ("dcb", 0, 0),
    ("str", 1, 0),
    ("exc", 0, 2),
    ("grid", 0, 0),
];

/// The values of the axes of user access.
const ACCESS: [&str; 11] = [
    "set_fs",
    "no-set_fs",
    "check32",
    "check64",
    "kuap",
    "no-kuap",
    "dcbz",
    "words",
    "bytes",
    "uncounted",
    "counted",
];

/// The machines; the simulated one without its cycle model, which has no say in what is right, but for the caches that it
/// brings with it: the tests of one preset run with it elsewhere.
fn fast_machines() -> [Box<dyn Machine>; 2] {
    let simulator = Simulator {
        options: ["--timing".to_owned(), "off".to_owned()].into(),
        ..Simulator::default()
    };
    [Box::new(Qemu::default()), Box::new(simulator)]
}

/// The number of combinations that a line of `grid` tells.
fn combinations(line: &str) -> usize {
    let (_, text) = line.split_once(" # ").expect("what the test did");
    let (count, rest) = text.split_once(" combinations, 0 mismatches").expect(line);
    assert!(rest.starts_with(", line "), "{line}");
    count.parse().expect(line)
}

// U-162
#[test]
fn suites_pass_under_every_preset_and_skip_only_what_it_has_no_subject_for() {
    for machine in fast_machines() {
        let mut firmware = Firmware::boot(machine.as_ref(), &Start::default());
        let line = match firmware.board {
            Board::G3beige => 32,
            Board::Mcr3000 => 16,
        };
        let presets = firmware.presets();
        assert!(presets.len() >= 8, "{presets:?}");
        let mut done_for = BTreeSet::new();
        for (preset, axes) in presets {
            // What other axes say does not matter to user access.
            let access: Vec<String> = axes
                .iter()
                .filter(|axis| ACCESS.contains(&axis.as_str()))
                .cloned()
                .collect();
            assert_eq!(access.len(), 5, "{preset}: {axes:?}");
            if !done_for.insert(access) {
                continue;
            }
            firmware.output(&format!("preset {preset}"));
            let has = |value: &str| axes.iter().any(|axis| axis == value);
            let mut done = Vec::new();
            for (suite, need_set_fs, need_window) in SUITES {
                let skips = usize::from(has("no-set_fs")) * need_set_fs + usize::from(has("no-kuap")) * need_window;
                let results = firmware.selftest(&format!("selftest {suite}"), skips);
                if suite == "grid" {
                    done = results.iter().map(|line| combinations(line)).collect();
                }
            }
            println!("{}: {preset}: {done:?} combinations, no mismatch", firmware.machine);
            let copies = line * line * (4 * line + 1);
            assert_eq!(done, [copies, copies, 3 * line * (4 * line + 1)]);
        }
    }
}
