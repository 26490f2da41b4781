//! The user program `calls` on every system there is: thousands of system calls, compared row by row.
//!
//! Its usual groups must answer alike under `qemu-ppc`, on the firmware, and on Linux for 8xx. Further groups ask what a
//! user-mode emulation answers itself: addresses at the limits of user space, partly good buffers, calls that it does not
//! know. `common/calls.txt` holds the firmware's answers to those; [`linux_on_the_simulated_board`] shows that Linux 6.1
//! for 8xx gives the same.
//!
//! [`DIFFERENCES`] is the whole list of rows that differ, each with its reason.
//!
//! U-007, U-008, U-040, U-085, U-087, U-088, U-091, U-092, U-093, U-098, U-099, U-102 to U-104, U-106, U-108 to U-110,
//! U-114, U-115, U-117, U-118, U-120 to U-122, U-124, U-126, U-127, U-131, U-133, U-134, U-136, U-137, U-145.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::firmware::{Firmware, on_every_machine};
use common::{emulated, file, finish};
use zeronull_image::cargo;
use zeronull_image::cpio;
use zeronull_image::machine::Qemu;
use zeronull_image::start::Start;
use zeronull_image::testing::{empty_directory, skipped};

/// The systems whose answers are compared with the firmware's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum System {
    /// Linux of the host under `qemu-ppc`.
    Emulated,
    /// The same, where the host's kernel is older than 6.7.
    EmulatedOnOldKernel,
    /// Linux 6.1 for 8xx with 4 KiB pages on the simulated board.
    Board,
}

/// Rows that differ: which, on which systems, and why.
struct Difference {
    /// What a row's name begins with, one of these, and what it ends with.
    rows: (&'static [&'static str], &'static str),
    systems: &'static [System],
    reason: &'static str,
}

const DIFFERENCES: [Difference; 9] = [
    Difference {
        rows: (&["splice, then write to the file"], ""),
        systems: &[System::Emulated, System::EmulatedOnOldKernel, System::Board],
        reason: "a pipe holds a copy of what came from a file, on Linux a reference to the file's page (U-147)",
    },
    Difference {
        rows: (
            &[
                "splice from zero",
                "splice from full",
                "splice from pipe-r",
                "sendfile64 from ",
            ],
            "",
        ),
        systems: &[System::EmulatedOnOldKernel, System::Board],
        reason: "zero, null and full have splice operations as since Linux 6.7; before, only null could be written to",
    },
    Difference {
        rows: (
            &["read zero", "read full", "pread64 zero", "pread64 full"],
            " bad buffer",
        ),
        systems: &[System::Board],
        reason: "a clear that faults reports up to four bytes too many as left over, and EPERM for less than four",
    },
    Difference {
        rows: (
            &[
                "read zero",
                "read full",
                "pread64 zero",
                "pread64 full",
                "readv zero",
                "readv full",
                "preadv zero",
                "preadv full",
            ],
            " limits",
        ),
        systems: &[System::Board],
        reason: "the same",
    },
    Difference {
        rows: (&["readv zero", "preadv zero"], " bad vector"),
        systems: &[System::Board],
        reason: "the same",
    },
    Difference {
        rows: (
            &["write file", "pwrite64 file", "writev file", "pwritev file"],
            " limits",
        ),
        systems: &[System::Board],
        reason: "a copy that faults clears what is behind its last byte, up to the end of the cache line",
    },
    Difference {
        rows: (&["bytes changed behind a write that faults"], ""),
        systems: &[System::Board],
        reason: "the same, counted",
    },
    Difference {
        rows: (&["no bytes at the limit"], ""),
        systems: &[System::Board],
        reason: "the limit is the last user address, as in Linux 5.9; since 5.10 it is the first one behind",
    },
    Difference {
        rows: (&["memory bounds"], ""),
        systems: &[System::Board],
        reason: "page 0 is never mapped, not even by root",
    },
];

impl Difference {
    fn covers(&self, row: &str) -> bool {
        let (starts, end) = self.rows;
        starts.iter().any(|start| row.starts_with(start)) && row.ends_with(end)
    }
}

/// A program's output: rows by name, continuation lines joined, and the number of calls.
struct Answers {
    rows: BTreeMap<String, String>,
    calls: u32,
}

impl Answers {
    #[track_caller]
    fn of(output: &str) -> Self {
        let mut rows = BTreeMap::<String, String>::new();
        let mut calls = None;
        for line in output.lines() {
            let (name, words) = line.split_once(": ").unwrap_or((line.trim_end_matches(':'), ""));
            if name == "calls" {
                calls = words.parse().ok();
                continue;
            }
            let row = match name.rsplit_once(" +") {
                Some((row, number)) if number.parse::<u32>().is_ok() => row,
                _ => name,
            };
            let all = rows.entry(row.to_owned()).or_default();
            *all = format!("{all} {words}");
        }
        Self {
            rows,
            calls: calls.unwrap_or_else(|| panic!("the output has no count of calls: {output}")),
        }
    }

    /// Compares with the firmware's answers; gives the rows that differ although no [`DIFFERENCES`] says so, and prints
    /// those that may.
    fn compare(&self, firmware: &Self, system: System) -> Vec<String> {
        let mut unexpected = Vec::new();
        for (name, theirs) in &self.rows {
            let ours = firmware.rows.get(name).map_or("(no such row)", String::as_str);
            if theirs == ours {
                continue;
            }
            let is_known = |difference: &&Difference| difference.systems.contains(&system) && difference.covers(name);
            match DIFFERENCES.iter().find(is_known) {
                Some(difference) => println!("differs: {name}: {}", difference.reason),
                None => unexpected.push(format!("{name}:\n    {theirs}\n    {ours}")),
            }
        }
        if self.rows.len() != firmware.rows.len() || self.calls != firmware.calls {
            let (theirs, ours) = (self.rows.len(), firmware.rows.len());
            unexpected.push(format!(
                "{theirs} rows of {} calls, {ours} of {} on the firmware",
                self.calls, firmware.calls
            ));
        }
        unexpected
    }

    #[track_caller]
    fn must_equal(&self, firmware: &Self, system: System, machine: &str) {
        let unexpected = self.compare(firmware, system);
        assert!(
            unexpected.is_empty(),
            "{machine}: {} rows differ:\n{}",
            unexpected.len(),
            unexpected.join("\n")
        );
        println!("{machine}: {} calls in {} rows compared", self.calls, self.rows.len());
    }
}

/// Whether the host's kernel has splice operations for the memory devices.
fn emulated_system() -> System {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release
        .split(['.', '-'])
        .map_while(|number| number.trim().parse::<u32>().ok());
    if (numbers.next(), numbers.next()) >= (Some(6), Some(7)) {
        System::Emulated
    } else {
        System::EmulatedOnOldKernel
    }
}

/// The program's answers under `qemu-ppc`.
fn under_emulation(test: &str) -> Answers {
    let path = empty_directory(&format!("calls-{test}")).join("file");
    let run = finish(emulated("calls").arg(format!("--file={}", path.display())), &[]).succeeded();
    assert!(!path.exists(), "the program left its file behind");
    Answers::of(run.text())
}

#[test]
fn firmware_answers_thousands_of_calls_as_linux_does() {
    let linux = under_emulation("machines");
    assert!(linux.calls > 19_000, "{} calls", linux.calls);
    on_every_machine(|firmware| {
        let answers = Answers::of(&firmware.output("calls"));
        linux.must_equal(&answers, emulated_system(), &firmware.machine);
        // Nothing is left of it: the same calls find the same again.
        assert_eq!(answers.rows, Answers::of(&firmware.output("calls")).rows);
    });
}

/// Rows that the 64-bit style of `access_ok` answers otherwise: what starts in user space and is no longer than it passes,
/// and ends where nothing is mapped. The test of `probe limits` names these calls one by one.
fn is_passed_by_check64(row: &str) -> bool {
    row.ends_with(" limits")
}

#[test]
fn firmware_answers_what_an_emulation_decides_itself_as_recorded() {
    let recorded = Answers::of(include_str!("common/calls.txt"));
    assert!(recorded.calls > 3000, "{} calls", recorded.calls);
    on_every_machine(|firmware| {
        let answers = Answers::of(&firmware.output("calls --kernel"));
        answers.must_equal(&recorded, System::Emulated, &firmware.machine);
    });
}

// U-113: devices with a plain operation, with an iterator operation, with both; layers of both weights.
#[test]
fn every_preset_gives_the_same_answers() {
    let linux = under_emulation("presets");
    let recorded = Answers::of(include_str!("common/calls.txt"));
    let mut firmware = Firmware::boot(&Qemu::default(), &Start::default());
    let list = firmware.output("preset");
    let lines: Vec<&str> = list.lines().collect();
    // Presets with the same values of all axes are the same code.
    let by_axes: BTreeMap<&str, &str> = lines
        .as_chunks::<2>()
        .0
        .iter()
        .filter_map(|[name, axes]| Some((*axes, name[2..].split(' ').next()?)))
        .collect();
    let presets: Vec<&str> = by_axes.into_values().collect();
    assert!(presets.contains(&"fast") && presets.contains(&"fast-check64"), "{list}");
    for preset in presets {
        firmware.output(&format!("preset {preset}"));
        let answers = Answers::of(&firmware.output("calls"));
        linux.must_equal(&answers, emulated_system(), preset);
        let mut answers = Answers::of(&firmware.output("calls --kernel"));
        if preset.contains("check64") {
            for (name, row) in &recorded.rows {
                if is_passed_by_check64(name) {
                    answers.rows.insert(name.clone(), row.clone());
                }
            }
        }
        answers.must_equal(&recorded, System::Emulated, preset);
    }
}

/// The kernel with 4 KiB pages and the small device tree: built, or ready-made beside the checkout.
fn linux_kernel() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let directory = root.join("target/linux");
    let built = Command::new(root.join("tests/linux/build")).arg(&directory).output();
    let why = match built {
        Ok(run) if run.status.success() => return Ok(directory),
        Ok(run) => String::from_utf8_lossy(&run.stderr).trim().to_owned(),
        Err(cause) => format!("tests/linux/build cannot run: {cause}"),
    };
    let ready_made = root.join("../shared/linux/8xx");
    if ready_made.join("vmlinux-4k").exists() {
        Ok(ready_made)
    } else {
        Err(why)
    }
}

/// Runs the program as the first process of Linux on the simulated board.
fn on_linux(directory: &Path, option: &str) -> Answers {
    let mut archive = cpio::Archive::default();
    for path in ["dev", "tmp", "bin"] {
        archive.directory(path);
    }
    for (path, minor) in [("dev/null", 3), ("dev/zero", 5), ("dev/full", 7)] {
        archive.device(path, [1, minor]);
    }
    archive.device("dev/console", [5, 1]);
    archive.program(
        "bin/calls",
        &std::fs::read(file("calls")).expect("the program can be read"),
    );
    let initrd = empty_directory(&format!("calls-linux{option}")).join("initrd.cpio");
    std::fs::write(&initrd, archive.finish()).expect("the archive can be written");
    let simulator = cargo::simulator().unwrap_or_else(|error| panic!("{error}"));
    // The kernel reboots when its first process ends, which is the end of the run.
    let words = format!("console=ttyCPM0,115200 quiet panic=-1 rdinit=/bin/calls -- {option}");
    let run = finish(
        Command::new(simulator)
            .args([
                "--board",
                "mpc885ads",
                "--timing",
                "off",
                "--max-seconds",
                "600",
                "--exit-on-reset",
            ])
            .arg("--dtb")
            .arg(directory.join("mpc885ads-min.dtb"))
            .arg("--initrd")
            .arg(initrd)
            .args(["--append", &words])
            .arg(directory.join("vmlinux-4k")),
        &[],
    );
    let text = String::from_utf8_lossy(&run.stdout).replace('\r', "");
    // Messages of the kernel begin with their time.
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('[')).collect();
    Answers::of(&lines.join("\n"))
}

#[test]
#[ignore = "builds Linux from the distribution's source, about half an hour the first time"]
fn linux_on_the_simulated_board() {
    let directory = match linux_kernel() {
        Ok(directory) => directory,
        Err(why) => return skipped("calls on Linux for 8xx", &why),
    };
    let recorded = Answers::of(include_str!("common/calls.txt"));
    let mut firmware = Firmware::boot(&Qemu::default(), &Start::default());
    let answers = Answers::of(&firmware.output("calls"));
    on_linux(&directory, "").must_equal(&answers, System::Board, "Linux 6.1, usual groups");
    on_linux(&directory, "--kernel").must_equal(&recorded, System::Board, "Linux 6.1, further groups");
}
