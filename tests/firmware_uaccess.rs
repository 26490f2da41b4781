//! The user-access core on the firmware, under every preset.

mod common;

use std::collections::BTreeSet;

use common::firmware::Firmware;
use common::json::Json;
use zeronull_image::board::Board;
use zeronull_image::machine::{Machine, Qemu, Simulator};
use zeronull_image::start::Start;
use zeronull_image::testing::machines;

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

/// The cycles of a row of `bench uaccess` for so many bytes at an offset, in tenths.
fn tenths(rows: &[Json], routine: &str, bytes: u32, offset: u32) -> u32 {
    let is_it = |row: &&Json| {
        *row.field("routine") == Json::String(routine.into())
            && *row.field("bytes") == Json::Number(bytes.to_string())
            && *row.field("offset") == Json::Number(offset.to_string())
    };
    let row = rows.iter().find(is_it);
    let row = row.unwrap_or_else(|| panic!("no row {routine} {bytes} {offset}"));
    match row.field("cycles") {
        Json::Number(text) => text.replace('.', "").parse().expect(text),
        other => panic!("{other:?}"),
    }
}

#[test]
fn bench_tells_every_primitive_and_what_the_cycle_model_promises() {
    for machine in machines() {
        let mut firmware = Firmware::boot(machine.as_ref(), &Start::default());
        let table = firmware.output("bench uaccess");
        assert!(table.lines().all(|line| line.len() <= 80), "{table}");
        for routine in [
            "clear_user dcbz",
            "copy_from_user",
            "strnlen_user",
            "get_user 8",
            "put_user 1",
        ] {
            assert!(table.lines().any(|line| line.starts_with(routine)), "{table}");
        }
        let rows: Vec<Json> = firmware
            .output("bench uaccess --json")
            .lines()
            .map(Json::parse)
            .collect();
        // Seven bulk rows of six values, nine single ones of two.
        assert_eq!(rows.len(), 7 * 6 + 9 * 2);
        let names = ["bench", "routine", "bytes", "offset", "cycles", "text"];
        assert!(rows.iter().all(|row| row.names() == names), "{rows:?}");
        if firmware.board == Board::Mcr3000 {
            // A line of 16 bytes takes two clocks, and four of them one more; the rest is the tick and what it costs in the cache.
            let more = tenths(&rows, "clear_user dcbz", 4096, 0) - tenths(&rows, "clear_user dcbz", 512, 0);
            let lines = (4096 - 512) / 16;
            assert!(more <= lines * 10 * 9 / 4 + 150, "{rows:?}");
            assert!(tenths(&rows, "clear_user dcbz", 512, 0) <= 1320, "{rows:?}");
            assert!(tenths(&rows, "copy_to_user", 512, 0) <= 3920, "{rows:?}");
        }
    }
}

#[test]
fn policy_tells_every_value_of_every_axis_and_what_it_costs() {
    for machine in machines() {
        let mut firmware = Firmware::boot(machine.as_ref(), &Start::default());
        let table = firmware.output("policy");
        assert!(table.lines().all(|line| line.len() <= 80), "{table}");
        let presets = firmware.presets();
        let rows: Vec<Json> = firmware.output("policy --json").lines().map(Json::parse).collect();
        // Each preset has one value of each axis, the one that `preset` shows.
        for (name, values) in &presets {
            let has_it = |row: &&Json| row.field("presets").elements().contains(&Json::String(name.clone()));
            let mut found: Vec<&Json> = rows.iter().filter(has_it).map(|row| row.field("value")).collect();
            let mut expected: Vec<Json> = values.iter().cloned().map(Json::String).collect();
            found.sort_by_key(|value| format!("{value:?}"));
            expected.sort_by_key(|value| format!("{value:?}"));
            assert!(found.into_iter().eq(&expected), "{name}: {expected:?}");
        }
        let cost = |value: &str| -> i32 {
            let is_it = |row: &&Json| *row.field("value") == Json::String(value.into());
            match rows.iter().find(is_it).expect(value).field("text") {
                Json::Number(text) => text.parse().expect(text),
                other => panic!("{value}: {other:?}"),
            }
        };
        // A limit that must be loaded costs something, a window that is never opened saves something.
        let machine = &firmware.machine;
        assert!(
            cost("set_fs") > 0 && cost("no-kuap") < 0 && cost("counted") > 0,
            "{machine}: {table}"
        );
        assert_eq!(
            (cost("check32"), cost("kuap"), cost("dcbz")),
            (0, 0, 0),
            "{machine}: {table}"
        );
        firmware.expect("policy all", 2, "usage: policy [--json]\n");
    }
}
