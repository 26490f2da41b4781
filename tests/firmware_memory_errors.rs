//! Memory errors on the firmware: machine checks, the copies that survive them, `/dev/pmem0`, and `iops` over it.

mod common;

use std::collections::BTreeMap;

use common::firmware::{Firmware, on_every_machine};
use common::json::Json;
use zeronull_image::board::Board;
use zeronull_image::machine::Simulator;
use zeronull_image::start::Start;
use zeronull_image::testing::machines;

/// Where the list of what is lost says that the device lies: kernel address.
fn base_of(firmware: &mut Firmware) -> u32 {
    let output = firmware.output("poison");
    let rest = output.strip_prefix("/dev/pmem0: 262144 bytes at 0x").expect(&output);
    u32::from_str_radix(&rest[..8], 16).expect(&output)
}

/// Passes, bytes and machine checks of `command` alone.
fn counted(firmware: &mut Firmware, command: &str) -> (String, BTreeMap<String, u64>) {
    // The check that follows each command of `run` reads no pmem, so it adds nothing.
    firmware.output("copy_mc reset");
    let output = firmware.run(command).output;
    let counts = firmware.output("copy_mc");
    let counts = counts.lines().map(|line| {
        let (name, value) = line.rsplit_once(' ').expect(line);
        (name.trim().to_owned(), value.parse().expect(line))
    });
    (output, counts.collect())
}

#[test]
fn selftest_of_copies_passes_and_a_storm_leaks_nothing() {
    on_every_machine(|firmware| {
        let output = firmware.output("selftest mc");
        assert!(output.ends_with("# pass:6 fail:0 skip:0 total:6\n"), "{output}");
        let output = firmware.output("inject storm");
        let start = "storm: 100000 machine checks recovered; heap ";
        assert!(
            output.starts_with(start) && output.ends_with("window closed, as before\n"),
            "{output}"
        );
    });
}

// U-148, U-153
#[test]
fn read_that_meets_poison_is_short_then_fails_and_the_rest_stays_readable() {
    on_every_machine(|firmware| {
        firmware.output("poison 1000 8");
        let read = "dd if=/dev/pmem0 of=/dev/null bs=4096 count=2 status=noxfer";
        for key in ["on", "off"] {
            firmware.output(&format!("static_key copy_mc_fragile {key}"));
            let (output, counts) = counted(firmware, read);
            let expected = "dd: error reading '/dev/pmem0': Input/output error\n0+1 records in\n0+1 records out\n";
            assert_eq!(output, expected, "{}", firmware.machine);
            // One machine check for the short read, one for the failed one.
            assert_eq!(
                (counts["machine checks"], counts["bytes by engines"]),
                (2, 1000),
                "{}: fragile {key}",
                firmware.machine
            );
        }
        let rest = "dd if=/dev/pmem0 of=/dev/null bs=1008 skip=1 count=2 status=noxfer";
        firmware.expect(rest, 0, "2+0 records in\n2+0 records out\n");
        // A write of whole lines makes them good, one of parts of them cannot.
        let part = "dd if=/dev/zero of=/dev/pmem0 bs=1004 count=1 conv=notrunc status=noxfer";
        let outcome = firmware.run(part);
        assert_eq!(outcome.status, 1, "{}: {}", firmware.machine, outcome.output);
        firmware.expect(
            "dd if=/dev/zero of=/dev/pmem0 bs=1024 count=1 conv=notrunc status=noxfer",
            0,
            "1+0 records in\n1+0 records out\n",
        );
        firmware.expect(read, 0, "2+0 records in\n2+0 records out\n");
        assert_eq!(firmware.output("poison").lines().count(), 1);
    });
}

#[test]
fn byte_lost_once_is_lost_once() {
    on_every_machine(|firmware| {
        let base = base_of(firmware);
        for address in [base + 77, base - 0xc000_0000 + 77] {
            firmware.output(&format!("inject mce {address:#x}"));
            let read = "dd if=/dev/pmem0 of=/dev/null bs=512 count=1 status=noxfer";
            firmware.expect(read, 0, "0+1 records in\n0+1 records out\n");
            firmware.expect(read, 0, "1+0 records in\n1+0 records out\n");
        }
    });
}

#[test]
fn bad_addresses_keys_and_ranges_are_refused_by_name() {
    on_every_machine(|firmware| {
        let base = base_of(firmware);
        let last = base + 0x3_ffff;
        for (command, message) in [
            (
                "static_key none on",
                "static_key none does not exist: accepted are copy_mc_fragile\n".to_owned(),
            ),
            (
                "static_key copy_mc_fragile maybe",
                "static_key copy_mc_fragile maybe: accepted are on, off\n".to_owned(),
            ),
            (
                "poison 262144 1",
                "poison: 1 bytes at 0x40000: accepted are 1 byte and more within the 262144 bytes of /dev/pmem0\n"
                    .to_owned(),
            ),
            (
                "poison x 1",
                "poison: x 1: accepted are decimal or 0x... numbers\n".to_owned(),
            ),
            (
                "inject mce 0xc0000000",
                format!(
                    "inject mce 0xc0000000: accepted are addresses of /dev/pmem0, {base:#010x} to {last:#010x} or physical\n"
                ),
            ),
            (
                "inject storm 0",
                "inject storm 0: accepted are counts from 1\n".to_owned(),
            ),
            (
                "bench copy_mc 0",
                "bench copy_mc: accepted are 1 to 65536 bytes\n".to_owned(),
            ),
        ] {
            firmware.expect(command, 2, &message);
        }
    });
}

#[test]
fn machine_check_outside_a_safe_copy_ends_the_firmware_with_its_cause() {
    for machine in machines() {
        let mut firmware = Firmware::boot(machine.as_ref(), &Start::default());
        let lost = base_of(&mut firmware) + 64;
        firmware.output("poison 64 1");
        let cause = match firmware.board {
            Board::G3beige => format!("machine check: lost memory at address {lost:#010x} at "),
            Board::Mcr3000 => format!("machine check: data access, bus monitor time-out, address {lost:#010x} at "),
        };
        let good = format!("inject load {:#x}", lost - 64);
        let end = firmware.end_with(&format!("{good}; inject load {lost:#x}"));
        assert!(
            end.console.contains(&format!("zeronull: panic: {cause}")),
            "{}",
            end.console
        );
        assert_eq!(end.status, 101);
    }
}

// U-207, U-151
#[test]
fn bytes_by_the_engines_are_those_that_iops_read_unless_the_else_is_missing() {
    on_every_machine(|firmware| {
        let command = "iops --filename=/dev/pmem0 --rw=randread --bs=4k --number_ios=200 --json";
        for (preset, key, passes) in [
            ("fast", "on", (200, 0)),
            ("fast", "off", (0, 200)),
            ("copy-mc-bug", "on", (200, 200)),
            ("copy-mc-bug", "off", (0, 200)),
        ] {
            firmware.output(&format!("preset {preset}; static_key copy_mc_fragile {key}"));
            let (output, counts) = counted(firmware, command);
            assert!(output.contains("\"total_ios\":200,"), "{output}");
            let found = (counts["passes fragile"], counts["passes generic"]);
            assert_eq!(found, passes, "{}: {preset}, fragile {key}", firmware.machine);
            let bytes = (passes.0 + passes.1) * 4096;
            assert_eq!(counts["bytes by engines"], bytes, "{}: {preset}", firmware.machine);
        }
    });
}

/// IOPS that a run printed, whole ones.
fn iops_of(output: &str) -> u64 {
    let at = output.find("\"iops\":").expect(output) + 7;
    output[at..]
        .split('.')
        .next()
        .and_then(|digits| digits.parse().ok())
        .expect(output)
}

// The regression of the mails, by the cycles of the simulated board.
#[test]
fn missing_else_halves_iops_on_the_simulated_board() {
    let mut firmware = Firmware::boot(&Simulator::default(), &Start::default());
    let mut measure = |preset: &str| {
        firmware.output(&format!("preset {preset}"));
        iops_of(&firmware.output("iops --filename=/dev/pmem0 --rw=randread --bs=16k --number_ios=300 --json"))
    };
    let (fixed, bug) = (measure("fast"), measure("copy-mc-bug"));
    let left = bug * 1000 / fixed;
    assert!((450..650).contains(&left), "{bug} of {fixed} IOPS: {left} of 1000");
}

// The page of a real error is withheld as well, so its loads are done by the handler, which meets the error in turn.
#[test]
fn bus_error_in_a_page_with_poison_ends_the_copy_as_in_any_other() {
    let physical = base_of(&mut Firmware::boot(&Simulator::default(), &Start::default())) - 0xc000_0000;
    let machine = Simulator {
        options: vec![
            "--inject".to_owned(),
            format!("bus-error@{:#x},1,read,cycle={ARMED}", physical + 1000),
        ],
        ..Simulator::default()
    };
    let mut firmware = Firmware::boot(&machine, &Start::default());
    firmware.output(PASS_TIME);
    firmware.output("poison 3000 1; poison 200 1");
    for key in ["on", "off"] {
        firmware.output(&format!("static_key copy_mc_fragile {key}"));
        for (block, good) in [(0, 200), (1, 400), (2, 200), (3, 400), (6, 400), (7, 200)] {
            let read = format!("dd if=/dev/pmem0 of=/dev/null bs=400 skip={block} count=1");
            let (output, counts) = counted(&mut firmware, &read);
            // Of a bus error the whole line counts as lost, of poison the byte.
            let least = if block == 2 { good / 16 * 16 } else { good };
            let done = counts["bytes by engines"];
            assert!(
                (least..=good).contains(&done),
                "fragile {key}, block {block}: {done} bytes, {output}"
            );
        }
    }
}

// U-207: where the time goes under the preset that lacks the else.
#[test]
fn profile_of_iops_shows_the_second_copy() {
    let mut firmware = Firmware::boot(&Simulator::default(), &Start::default());
    let mut share = |preset: &str| {
        firmware.output(&format!("preset {preset}"));
        firmware.output("perf record -F 10000 iops --filename=/dev/pmem0 --rw=randread --bs=16k --number_ios=300");
        let report = firmware.output("perf report --json");
        let rows: Vec<Json> = report.lines().map(Json::parse).collect();
        ["copy_mc_fragile", "copy_mc_generic"].map(|symbol| {
            let row = rows.iter().find(|row| row.field("symbol").text() == symbol);
            row.map_or(0.0, |row| row.field("percent").number())
        })
    };
    let ([fragile, generic], [bug_fragile, bug_generic]) = (share("fast"), share("copy-mc-bug"));
    assert!(
        fragile > 80.0 && generic == 0.0,
        "fast: {fragile} and {generic} percent"
    );
    assert!(
        bug_fragile > 40.0 && bug_generic > 40.0,
        "copy-mc-bug: {bug_fragile} and {bug_generic} percent"
    );
}

/// Core clocks from power-on after which the prompt is long there.
const ARMED: u64 = 30_000_000;
/// A command that takes more core clocks than that.
const PASS_TIME: &str = "nullcall 600000";

// U-148, U-153: bus errors of the board itself, which name the access and not the byte.
#[test]
fn bus_error_of_the_board_ends_the_copy_at_its_line_and_loses_nothing_before() {
    let mut firmware = Firmware::boot(&Simulator::default(), &Start::default());
    let physical = base_of(&mut firmware) - 0xc000_0000;
    drop(firmware);
    let line = 16;
    for offset in [0u32, 1, 15, 16, 100, 515, 4095, 4096, 8191] {
        // Armed after the start: the loaded image lies where the device will be.
        let order = format!("bus-error@{:#x},1,read,cycle={ARMED}", physical + offset);
        let options = vec!["--inject".to_owned(), order];
        let machine = Simulator {
            options,
            ..Simulator::default()
        };
        let mut firmware = Firmware::boot(&machine, &Start::default());
        firmware.output(PASS_TIME);
        for key in ["on", "off"] {
            firmware.output(&format!("static_key copy_mc_fragile {key}"));
            let read = "dd if=/dev/pmem0 of=/dev/null bs=12288 count=2";
            let (output, counts) = counted(&mut firmware, read);
            assert!(
                output.starts_with("dd: error reading '/dev/pmem0': Input/output error\n"),
                "{output}"
            );
            let events = if offset < line { 1 } else { 2 };
            assert_eq!(counts["machine checks"], events, "{offset}, fragile {key}");
            let done = counts["bytes by engines"];
            let whole_lines = u64::from(offset / line * line);
            assert!(
                (whole_lines..=offset.into()).contains(&done),
                "{offset}, fragile {key}: {done} bytes"
            );
            let behind = format!(
                "dd if=/dev/pmem0 of=/dev/null bs={} skip=1 count=2 status=noxfer",
                offset + line
            );
            firmware.expect(&behind, 0, "2+0 records in\n2+0 records out\n");
        }
    }
}
