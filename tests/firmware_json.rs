//! Lines of `--json`: one object each, with the fields that README.md documents, on every machine.

mod common;

use common::firmware::{Firmware, on_every_machine};
use common::json::Json;
use zeronull_image::start::Start;
use zeronull_image::testing::machines_with_exact_clocks;

/// Runs a command whose whole output must be objects, one a line; gives them.
#[track_caller]
fn objects(firmware: &mut Firmware, command: &str) -> Vec<Json> {
    let output = firmware.output(command);
    assert!(output.ends_with('\n'), "{command}: {output:?}");
    output.lines().map(Json::parse).collect()
}

#[test]
fn report_of_a_recording_is_one_object_a_function() {
    on_every_machine(|firmware| {
        firmware.output("perf record -F 5000 dd if=/dev/zero of=/dev/null count=30000");
        let rows = objects(firmware, "perf report --json");
        let mut hundredths = 0;
        let mut last = u64::MAX;
        for row in &rows {
            assert_eq!(row.names(), ["percent", "samples", "comm", "dso", "symbol"]);
            hundredths += (row.field("percent").number() * 100.0).round() as u64;
            let samples = row.field("samples").count();
            assert!((1..=last).contains(&samples), "{rows:#?}");
            last = samples;
            assert_eq!(row.field("comm").text(), "dd");
            assert!(["dd", "[kernel]"].contains(&row.field("dso").text()), "{row:?}");
            assert!(!row.field("symbol").text().is_empty());
        }
        // U-197
        assert_eq!(hundredths, 10_000, "{rows:#?}");
    });
}

#[test]
fn counts_of_a_command_are_one_object_an_event() {
    on_every_machine(|firmware| {
        let output = firmware.output("perf stat --json nullcall --json 1000");
        let mut lines = output.lines().map(Json::parse);
        let program = lines.next().expect("the program prints a line");
        assert_eq!(
            program.names(),
            ["program", "call", "count", "elapsed_ns", "ns_per_call"]
        );
        assert_eq!(program.field("count").count(), 1000);
        let events: Vec<Json> = lines.collect();
        let names: Vec<&str> = events.iter().map(|event| event.field("event").text()).collect();
        let expected = [
            "timebase-ticks",
            "core-cycles",
            "user-ticks",
            "system-ticks",
            "system-calls",
            "decrementer-interrupts",
            "fixed-up-faults",
            "user-access-windows",
            "itlb-misses",
            "dtlb-misses",
        ];
        assert_eq!(names, expected);
        let value = |name: &str| {
            let event = events.iter().find(|event| event.field("event").text() == name);
            event.expect("it is listed").field("value").clone()
        };
        assert!(events.iter().all(|event| event.names() == ["event", "value"]));
        let sum = value("user-ticks").count() + value("system-ticks").count();
        assert_eq!(value("timebase-ticks").count(), sum);
        assert!((1000..1100).contains(&value("system-calls").count()), "{events:?}");
        // Counted under preset debug alone.
        assert_eq!(value("user-access-windows"), Json::Null);
        assert!(value("dtlb-misses").count() > 0, "{events:?}");
    });
}

#[test]
fn iops_prints_one_object_with_the_names_of_fio() {
    on_every_machine(|firmware| {
        let command = "iops --filename=/dev/pmem0 --rw=randread --bs=4k --number_ios=200 --json";
        let [report] = &objects(firmware, command)[..] else {
            panic!("{command}: one object is expected")
        };
        assert_eq!(report.names(), ["jobs"]);
        let [job] = report.field("jobs").elements() else {
            panic!("{report:?}")
        };
        assert_eq!(job.names(), ["jobname", "error", "job options", "read"]);
        let options = job.field("job options");
        let names = ["filename", "rw", "bs", "size", "ioengine", "randseed"];
        assert_eq!(options.names(), names);
        let read = job.field("read");
        let names = [
            "io_bytes",
            "io_kbytes",
            "bw_bytes",
            "bw",
            "iops",
            "runtime",
            "elapsed_ns",
            "total_ios",
            "short_ios",
            "clat_ns",
        ];
        assert_eq!(read.names(), names);
        assert_eq!(read.field("io_bytes").count(), 200 * 4096);
        let latency = read.field("clat_ns");
        assert_eq!(latency.names(), ["min", "max", "mean", "N", "percentile"]);
        // U-205
        let [iops, bandwidth] = ["iops", "bw_bytes"].map(|name| read.field(name).number());
        assert!((iops * 4096.0 / bandwidth - 1.0).abs() < 0.005, "{read:?}");
        let seconds = read.field("elapsed_ns").number() / 1e9;
        assert!((iops * seconds / 200.0 - 1.0).abs() < 0.005, "{read:?}");
        let [least, mean, most] = ["min", "mean", "max"].map(|name| latency.field(name).number());
        assert!(least <= mean && mean <= most, "{latency:?}");
        assert_eq!(latency.field("N").count(), 200);
        let mut last = 0.0;
        for name in latency.field("percentile").names() {
            let value = latency.field("percentile").field(name).number();
            assert!((last..=most).contains(&value), "{latency:?}");
            last = value;
        }
    });
}

#[test]
fn selftest_prints_one_object_a_test_and_one_for_all() {
    on_every_machine(|firmware| {
        // Messages of the kernel about what the tests provoke come between; in this suite there are none.
        let mut tests = objects(firmware, "selftest acc --json");
        let summary = tests.pop().expect("a summary");
        assert_eq!(summary.names(), ["preset", "pass", "fail", "skip", "total"]);
        assert_eq!(summary.field("preset").text(), "fast");
        let count = |result: &str| {
            let has_it = |test: &&Json| test.field("result").text() == result;
            tests.iter().filter(has_it).count() as u64
        };
        for result in ["pass", "fail", "skip"] {
            assert_eq!(summary.field(result).count(), count(result), "{tests:#?}");
        }
        assert_eq!(summary.field("total").count(), tests.len() as u64);
        assert!(count("pass") > 0 && count("fail") == 0, "{tests:#?}");
        for test in &tests {
            assert_eq!(test.names(), ["suite", "test", "result", "text"]);
            assert_eq!(test.field("suite").text(), "acc");
        }
    });
}

#[test]
fn series_prints_one_object_a_preset() {
    for machine in machines_with_exact_clocks() {
        let mut firmware = Firmware::boot(machine.as_ref(), &Start::default());
        let rows = objects(
            &mut firmware,
            "series --json --count 1000 --rounds 1 5.9-rc2 patch-1 fast",
        );
        let presets: Vec<&str> = rows.iter().map(|row| row.field("preset").text()).collect();
        assert_eq!(presets, ["5.9-rc2", "patch-1", "fast"]);
        for row in &rows {
            let names = [
                "preset",
                "mb_s",
                "cycles",
                "instructions",
                "spread_percent",
                "change_percent",
                "layers",
            ];
            assert_eq!(row.names(), names);
            let hertz = row.field("mb_s").number() * 1_048_576.0 / 512.0 * row.field("cycles").number();
            assert!((1e8..1e9).contains(&hertz), "{row:?}");
        }
    }
}
