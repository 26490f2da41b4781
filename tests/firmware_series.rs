//! `series`, `bisect`, `curve`: presets side by side on the simulated board, whose clocks repeat.

mod common;

use std::collections::BTreeMap;
use std::time::Duration;

use common::firmware::{Firmware, image, on_every_machine};
use common::json::Json;
use zeronull_image::board::Board;
use zeronull_image::machine::{Machine, Simulator};
use zeronull_image::start::Start;

const LIMIT: Duration = Duration::from_secs(300);

/// What commands print on a freshly started simulated MPC885.
fn run(commands: &[&str]) -> String {
    let simulator = Simulator {
        board: "cmpc885".into(),
        options: Vec::new(),
    };
    let session = simulator.start(&image(Board::Mcr3000), &Start::commands(commands));
    let transcript = session.and_then(|session| session.finish(LIMIT));
    let transcript = transcript.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(transcript.status, 0, "{}", transcript.console);
    transcript.console
}

/// The JSON objects among the lines of a console.
fn objects(console: &str) -> Vec<Json> {
    console
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(Json::parse)
        .collect()
}

/// Tenths, of a number with one decimal.
#[track_caller]
fn tenths(json: &Json, name: &str) -> i64 {
    (json.field(name).number() * 10.0).round() as i64
}

/// Cycles of a pair by preset, in tenths.
fn series(options: &str) -> BTreeMap<String, i64> {
    let console = run(&["accounting tick", &format!("series --json {options}")]);
    let rows = objects(&console);
    let cycles = rows
        .iter()
        .map(|row| (row.field("preset").text().to_owned(), tenths(row, "cycles")));
    cycles.collect()
}

// Equal commands give equal figures, to the tenth of a cycle; what the mails argue about has its price, whatever was
// measured before or after.
#[test]
fn series_repeats_exactly_and_orders_the_patches_by_what_they_change() {
    let first = run(&["accounting tick", "series --rounds 2 --count 2000"]);
    let second = run(&["accounting tick", "series --rounds 2 --count 2000"]);
    assert_eq!(first, second);
    let width = first.lines().map(str::len).max();
    assert!(width <= Some(80), "{first}");
    let cycles = series("--rounds 2 --count 2000");
    let of = |preset: &str| cycles[preset];
    for other in 2..=9 {
        let patch = format!("patch-{other}");
        let off = (of(&patch) - of("patch-1")).abs();
        assert!(
            off <= 5,
            "{patch}: same code as patch-1, {off} tenths of a cycle off: {cycles:?}"
        );
    }
    // write_iter costs, the address limit costs a little, read_iter costs most of what a patch changes.
    assert!(of("patch-1") > of("5.9-rc2") + 300, "{cycles:?}");
    let limit = of("patch-9") - of("patch-10");
    assert!((20..400).contains(&limit), "{cycles:?}");
    let iter = of("patch-10") - of("patch-11");
    assert!(iter > 4 * limit && iter * 100 > of("patch-11") * 8, "{cycles:?}");
    assert!(of("fast") * 2 < of("patch-11"), "{cycles:?}");
}

// Neither the rows before nor the command that measures, whose frames lie below those of the calls on the stack.
#[test]
fn figures_depend_on_nothing_but_the_preset() {
    let forth = series("--rounds 1 fast patch-11 5.9-rc2");
    let back = series("--rounds 1 5.9-rc2 patch-11 fast");
    let console = run(&["accounting tick", "bisect --json --rounds 1 5.9-rc2 fast"]);
    let rows = objects(&console);
    let bisect = rows
        .iter()
        .find(|row| row.field("preset").text() == "fast")
        .expect(&console);
    // The first run of all finds the caches as the start left them.
    let is_near = |preset: &str, cycles: i64| (forth[preset] - cycles).abs() <= 10;
    for (preset, cycles) in back {
        assert!(is_near(&preset, cycles), "{preset}: {cycles}, {forth:?}");
    }
    assert!(is_near("fast", tenths(bisect, "cycles")), "{console}: {forth:?}");
    let console = run(&["accounting tick", "bisect --json --rounds 1 fast 5.9-rc2"]);
    let rows = objects(&console);
    let bisect = rows
        .iter()
        .find(|row| row.field("preset").text() == "5.9-rc2")
        .expect(&console);
    assert!(is_near("5.9-rc2", tenths(bisect, "cycles")), "{console}: {forth:?}");
}

#[test]
fn bisect_names_the_axis_that_makes_the_difference() {
    let steps = |command: &str| {
        let console = run(&["accounting tick", &format!("bisect --json {command}")]);
        let rows = objects(&console);
        let steps = rows
            .iter()
            .map(|row| (row.field("axis").text().to_owned(), tenths(row, "share_percent")));
        steps.collect::<Vec<_>>()
    };
    let copy = steps("--load iops --count 50 --rounds 1 copy-mc-bug fast");
    assert_eq!(copy, [("copy_mc: copy_mc-bug -> copy_mc".to_owned(), 1000)]);
    let all = steps("--count 1000 --rounds 1 5.9-rc2 fast");
    let axes: Vec<&str> = all
        .iter()
        .map(|(axis, _)| axis.split(':').next().expect("a name"))
        .collect();
    assert_eq!(axes, ["address limit", "zero device", "layers"]);
    let sum: i64 = all.iter().map(|(_, share)| share).sum();
    assert!((998..=1002).contains(&sum), "{all:?}");
    let most = all.iter().max_by_key(|(_, share)| *share);
    assert_eq!(
        most.map(|(axis, _)| axis.as_str()),
        Some("layers: linux -> direct"),
        "{all:?}"
    );
    let text = run(&["bisect --count 500 --rounds 1 patch-1 patch-9; bisect --rounds 1 fast fast-no-kuap"]);
    assert!(
        text.contains("bisect: patch-1 and patch-9 have equal values of all axes\n"),
        "{text}"
    );
    assert!(text.contains("\nmost of it: window, -"), "{text}");
}

// U-132: the fast way of one call is no figure for the other; cost grows with bytes and segments and with nothing else.
#[test]
fn curve_grows_by_bytes_and_segments_alone() {
    for preset in ["fast", "patch-10"] {
        let console = run(&[&format!("preset {preset}; curve --json")]);
        let rows = objects(&console);
        let fits: BTreeMap<String, &Json> = rows
            .iter()
            .filter_map(|row| Some((row.get("fit")?.text().to_owned(), row)))
            .collect();
        assert_eq!(fits.len(), 6, "{console}");
        for (name, fit) in &fits {
            assert!(
                tenths(fit, "off_percent") <= 80,
                "{preset}: {name} is no line: {console}"
            );
            assert!(fit.field("slope").number() > 0.0, "{preset}: {name}: {console}");
        }
        // A segment costs the same among few and among many.
        for call in ["readv", "writev"] {
            let slope = |name: String| fits[&name].field("slope").number();
            let (few, many) = (slope(format!("{call} up to 8")), slope(format!("{call} up to 256")));
            assert!(
                (many / few - 1.0).abs() < 0.25,
                "{preset}: {call}: {few} and {many}: {console}"
            );
        }
        let writes = rows.iter().filter_map(|row| row.get("write")).map(Json::number);
        let (least, most) = writes.fold((f64::MAX, 0.0f64), |(l, m), w| (l.min(w), m.max(w)));
        assert!(
            most - least < 6.0,
            "{preset}: a write to null costs the same for any size: {console}"
        );
        let vector = rows.iter().find_map(|row| row.get("readv_percent"));
        assert!(vector.expect(&console).number() > 100.0, "{preset}: {console}");
    }
}

#[test]
fn wrong_words_are_named_on_every_machine() {
    on_every_machine(|firmware: &mut Firmware| {
        for (command, message) in [
            (
                "series nope",
                "series: preset nope does not exist: `preset` lists what does\n",
            ),
            ("series --bs 0", "series: --bs 0: accepted are 1 to 1048576\n"),
            ("series --count", "series: --count : accepted are 1 to 10000000\n"),
            (
                "bisect --load x fast debug",
                "bisect: --load x: accepted are dd, iops\n",
            ),
            ("curve x", "usage: curve [--json]\n"),
        ] {
            firmware.expect(command, 2, message);
        }
        let unknown = firmware.run("series --x");
        assert!(
            unknown.output.starts_with("series: option --x is unknown\noptions: "),
            "{}",
            unknown.output
        );
        assert_eq!((unknown.status, firmware.run("bisect fast").status), (2, 2));
        // The preset in force is that of before.
        firmware.output("preset debug; series --rounds 1 --count 2000 fast patch-11");
        assert!(firmware.output("status").contains("preset    debug\n"));
    });
}
