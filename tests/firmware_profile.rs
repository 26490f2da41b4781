//! The firmware's sampling profile against the simulator's exact one.

#[path = "common/assembled.rs"]
mod assembled;
mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use assembled::executable;
use common::firmware::{Firmware, image};
use common::json::Json;
use zeronull_image::board::Board;
use zeronull_image::cpio;
use zeronull_image::demangle::demangle;
use zeronull_image::elf::{Elf, SymbolKind};
use zeronull_image::image::readable_program;
use zeronull_image::machine::{Machine, Qemu, Simulator};
use zeronull_image::session::Transcript;
use zeronull_image::start::Start;
use zeronull_image::testing::{empty_directory, machines_with_exact_clocks};

/// Simulating a load may take that long on a busy host.
const LIMIT: Duration = Duration::from_secs(300);
const KERNEL: u32 = 0xc000_0000;
/// `sc`.
const SYSTEM_CALL: u32 = 0x4400_0002;

/// A share of the time by function; `true` marks user code.
type Shares = BTreeMap<(bool, String), f64>;

/// What a recording came to.
struct Recording {
    console: String,
    samples: f64,
    /// What `perf report` says.
    sampled: Shares,
    /// The simulator's exact profile of the same interval, without the sampler itself.
    exact: Shares,
    /// The same as a perfect sampler would see it: see `as_sampled`.
    visible: Shares,
}

/// Code symbols by address.
struct Symbols(BTreeMap<u32, String>);

impl Symbols {
    /// Those of the firmware.
    fn of_firmware() -> Self {
        let text = fs::read_to_string(image(Board::Mcr3000).sym()).expect("the image has a list of symbols");
        let symbol = |line: &str| {
            let mut words = line.splitn(3, ' ');
            let address = u32::from_str_radix(words.next()?, 16).ok()?;
            Some((address, words.nth(1)?.to_owned()))
        };
        Self(
            text.lines()
                .map(|line| symbol(line).expect("address, size, name"))
                .collect(),
        )
    }

    /// Those of a user program.
    fn of_program(elf: &Elf) -> Self {
        let symbols = elf.symbols().unwrap_or_else(|error| panic!("{error}")).into_iter();
        let code = symbols.filter(|symbol| symbol.kind == SymbolKind::Function && symbol.section.is_some());
        Self(code.map(|symbol| (symbol.address, demangle(&symbol.name))).collect())
    }

    /// The symbol at or below an address, and whether it is right there.
    fn find(&self, address: u32) -> (&str, bool) {
        let (start, name) = self.0.range(..=address).next_back().expect("code has symbols");
        (name, *start == address)
    }
}

fn word(elf: &Elf, address: u32) -> Option<u32> {
    elf.segments.iter().find_map(|segment| {
        let offset = address.checked_sub(segment.virtual_address)? as usize;
        let bytes = elf.segment_bytes(segment).ok()?.get(offset..offset + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    })
}

/// The name of a function in a report: without modules; the ways into and out of a system call have several versions.
fn role(name: &str) -> String {
    let without_modules = |name: &str| {
        let is_module = |part: &&str| part.starts_with(|first: char| first.is_lowercase() || first == '_');
        let modules: usize = name.split("::").take_while(is_module).map(|part| part.len() + 2).sum();
        name.get(modules..)
            .or(name.rsplit("::").next())
            .unwrap_or(name)
            .to_owned()
    };
    let paths = ["transfer_to_syscall", "ret_from_syscall"];
    if let Some(path) = paths.into_iter().find(|path| name.starts_with(path)) {
        return path.to_owned();
    }
    match name.strip_prefix('<').and_then(|rest| rest.split_once(" as ")) {
        Some((kind, rest)) => format!(
            "{}::{}",
            without_modules(kind),
            rest.rsplit(">::").next().expect("a method")
        ),
        None => without_modules(name),
    }
}

/// Clocks as shares in percent.
fn shares(clocks: BTreeMap<(bool, String), u64>) -> Shares {
    let total: u64 = clocks.values().sum();
    let share = |clocks: u64| 100.0 * clocks as f64 / total as f64;
    clocks.into_iter().map(|(key, clocks)| (key, share(clocks))).collect()
}

/// Runs `commands` on the simulated board; writes its exact profile between two places to a file and reads it.
fn profiled(profile: &Path, [from, to]: [&str; 2], options: &[String], commands: &[&str]) -> (Transcript, Json) {
    let own = [
        format!("--profile={}", profile.display()),
        format!("--profile-from={from}"),
        format!("--profile-to={to}"),
    ];
    let simulator = Simulator {
        options: [&own, options].concat(),
        ..Simulator::default()
    };
    let session = simulator.start(&image(Board::Mcr3000), &Start::commands(commands));
    let transcript = session.and_then(|session| session.finish(LIMIT));
    let transcript = transcript.unwrap_or_else(|error| panic!("{error}"));
    let profile = fs::read_to_string(profile).expect("the profile was written");
    (transcript, Json::parse(&profile))
}

/// Records `load`, a call of the user program `program`, with both profilers.
fn record(test: &str, setup: &str, program: &str, load: &str) -> Recording {
    let directory = empty_directory(test);
    let (profile, symbols) = (directory.join("profile.json"), directory.join(program));
    fs::write(
        &symbols,
        readable_program(common::file(program)).unwrap_or_else(|error| panic!("{error}")),
    )
    .expect("the program can be written");
    let record = format!("perf record -F 20000 {load}");
    let (transcript, exact) = profiled(
        &profile,
        ["recording::enable", "recording::disable"],
        &["--profile-addresses".into(), format!("--symbols={}", symbols.display())],
        &[setup, &record, "perf report --json"],
    );
    assert_eq!(transcript.status, 0, "{}", transcript.console);
    let rows: Vec<Json> = transcript
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(Json::parse)
        .collect();
    let sampled: BTreeMap<(bool, String), u64> = rows
        .iter()
        .map(|row| {
            let is_user = row.field("dso").text() == program;
            (
                (is_user, row.field("symbol").text().to_owned()),
                row.field("samples").count(),
            )
        })
        .collect();

    let mut clocks = BTreeMap::new();
    for function in exact.field("functions").elements() {
        let (space, name) = (function.field("space").text(), function.field("function").text());
        let key = (space == "u", role(name));
        let thread = function.field("cycles").count() - function.field("serving_cycles").count();
        *clocks.entry(key).or_default() += thread;
    }
    Recording {
        samples: sampled.values().sum::<u64>() as f64,
        sampled: shares(sampled),
        exact: shares(clocks),
        visible: shares(as_sampled(
            &exact,
            &fs::read(&symbols).expect("the program was written"),
        )),
        console: transcript.console,
    }
}

/// The exact profile as interrupts show it: the time of an instruction counts for the next one at which interrupts are
/// on, except that what keeps them off on the way into and out of a system call counts for itself.
fn as_sampled(exact: &Json, program: &[u8]) -> BTreeMap<(bool, String), u64> {
    let program = Elf::parse(program).unwrap_or_else(|error| panic!("{error}"));
    let (kernel, user) = (Symbols::of_firmware(), Symbols::of_program(&program));
    let mut clocks = BTreeMap::new();
    for place in exact.field("addresses").elements() {
        let address = place.field("address").count() as u32;
        let (is_user, name) = match place.field("space").text() {
            "u" if word(&program, address - 4) == Some(SYSTEM_CALL) => (false, "ret_from_syscall".to_owned()),
            "u" => (true, role(user.find(address).0)),
            _ => match kernel.find(address | KERNEL) {
                (name, true) if role(name) == "transfer_to_syscall" => (false, "SystemCall".to_owned()),
                (name, _) => (false, role(name)),
            },
        };
        *clocks.entry((is_user, name)).or_default() += place.field("interruptible_cycles").count();
    }
    clocks.retain(|_, clocks| *clocks > 0);
    clocks
}

/// The functions above 1 % whose sampled share is more than three standard errors from what interrupts can show.
fn outliers(recording: &Recording) -> Vec<String> {
    let Recording {
        samples,
        sampled,
        visible,
        ..
    } = recording;
    let mut outliers = Vec::new();
    for (key, share) in visible.iter().chain(sampled).filter(|(_, share)| **share > 1.0) {
        let expected = visible.get(key).copied().unwrap_or(0.0);
        let found = sampled.get(key).copied().unwrap_or(0.0);
        let part = share / 100.0;
        let standard_error = 100.0 * (part * (1.0 - part) / samples).sqrt();
        if (found - expected).abs() > 3.0 * standard_error {
            outliers.push(format!("{key:?}"));
        }
    }
    outliers.sort();
    outliers.dedup();
    outliers
}

/// The three profiles beside one another.
fn table(recording: &Recording) -> String {
    let share = |shares: &Shares, key| shares.get(key).copied().unwrap_or(0.0);
    let mut text = "  exact visible sampled\n".to_owned();
    for (key, exact) in recording.exact.iter().filter(|(_, share)| **share > 0.5) {
        let (visible, sampled) = (share(&recording.visible, key), share(&recording.sampled, key));
        text += &format!("{exact:7.2} {visible:7.2} {sampled:7.2} {}\n", key.1);
    }
    text
}

/// Checks that sampled and exact profile agree. Of some ten functions one lies beyond three standard errors in every
/// fortieth recording by chance, so a recording with an outlier is followed by a second one, which must not have the same.
fn check(test: &str, setup: &str, program: &str, load: impl Fn(u32) -> String) {
    let first = record(test, setup, program, &load(0));
    assert!(first.samples > 5000.0, "{}", first.console);
    assert!(first.console.contains(" 0 lost"), "{}", first.console);
    println!("{}{}", first.console, table(&first));
    let mut outliers_of_both = outliers(&first);
    if !outliers_of_both.is_empty() {
        let second = record(test, setup, program, &load(1));
        println!("{}{}", second.console, table(&second));
        let again = outliers(&second);
        outliers_of_both.retain(|key| again.contains(key));
    }
    assert!(outliers_of_both.is_empty(), "{outliers_of_both:?} in {}", table(&first));
    // What the sampler cannot know: which instruction came before the one that it sees.
    for (key, exact) in first.exact.iter().filter(|(_, share)| **share > 1.0) {
        let visible = first.visible.get(key).copied().unwrap_or(0.0);
        assert!((visible - exact).abs() < 1.0, "{key:?} in {}", table(&first));
    }
}

#[test]
fn samples_of_small_reads_agree_with_the_exact_profile() {
    check("profile_small", "preset fast", "dd", |turn| {
        format!("dd if=/dev/zero of=/dev/null count={}", 100_000 + turn)
    });
}

#[test]
fn samples_of_large_reads_agree_with_the_exact_profile() {
    check("profile_large", "preset fast", "dd", |turn| {
        format!("dd if=/dev/zero of=/dev/null bs=64k count={}", 500 + turn)
    });
}

#[test]
fn samples_of_null_calls_agree_with_the_exact_profile() {
    check("profile_null", "accounting tick", "nullcall", |turn| {
        format!("nullcall {}", 650_000 + turn)
    });
}

#[test]
fn tlb_misses_are_those_that_the_simulator_counts() {
    for load in ["dd if=/dev/zero of=/dev/null bs=64k count=20", "nullcall 100"] {
        let command = format!("perf stat --json {load}");
        let profile = empty_directory("tlb_misses").join("profile.json");
        let (transcript, exact) = profiled(&profile, ["tlb_misses::begin", "tlb_misses::end"], &[], &[&command]);
        let events: Vec<Json> = transcript
            .lines()
            .filter(|line| line.starts_with('{'))
            .map(Json::parse)
            .collect();
        for (event, field) in [("itlb-misses", "itlb_misses"), ("dtlb-misses", "dtlb_misses")] {
            let found = events.iter().find(|line| line.field("event").text() == event);
            let found = found
                .unwrap_or_else(|| panic!("no {event} in {}", transcript.console))
                .field("value")
                .count();
            let functions = exact.field("functions").elements().iter();
            let expected: u64 = functions.map(|function| function.field(field).count()).sum();
            assert!(expected > 20, "{load}: {event} {expected}");
            // The first misses may come before the handler is patched.
            assert!(
                expected.abs_diff(found) <= 2,
                "{load}: {event} {found}, {expected} by the simulator"
            );
        }
    }
}

/// A firmware with programs `first` and `second`, of which each has two loops and runs the one of its name for some tenths
/// of a second.
fn with_spinning_programs(machine: &dyn Machine) -> Firmware {
    let (name, loops) = match machine.board() {
        Board::G3beige => ("profile_spin_g3beige", 300),
        Board::Mcr3000 => ("profile_spin_mcr3000", 20),
    };
    let mut archive = cpio::Archive::default();
    for program in ["first", "second"] {
        let source = format!(
            ".globl _start
            _start: li 31, {loops}
            1:  bl {program}_loop
            addic. 31, 31, -1
            bne 1b
            li 0, 1; li 3, 0; sc
            .type first_loop, @function
            first_loop: lis 4, 10; mtctr 4
            2:  bdnz 2b
            blr
            .size first_loop, . - first_loop
            .type second_loop, @function
            second_loop: lis 4, 10; mtctr 4
            3:  bdnz 3b
            blr
            .size second_loop, . - second_loop\n"
        );
        archive.program(
            &format!("bin/{program}"),
            &executable(&format!("{name}_{program}"), &source),
        );
    }
    let path = empty_directory(name).join("spin.cpio");
    fs::write(&path, archive.finish()).expect("the archive can be written");
    let start = Start {
        initrd: vec![path],
        ..Start::default()
    };
    Firmware::boot(machine, &start)
}

/// The number in front of ` WORD` in the line that `perf record` ends with.
fn figure(output: &str, word: &str) -> f64 {
    let line = output.lines().find(|line| line.starts_with("perf: ")).expect(output);
    let before = line.split_once(&format!(" {word}")).expect(line).0;
    before
        .rsplit(' ')
        .next()
        .and_then(|number| number.parse().ok())
        .expect(line)
}

/// The rows of a report: program or `[kernel]`, symbol, percent.
fn rows(firmware: &mut Firmware) -> Vec<(String, String, f64)> {
    let report = firmware.output("perf report --json");
    let row = |row: Json| {
        let text = |name: &str| row.field(name).text().to_owned();
        (text("dso"), text("symbol"), row.field("percent").number())
    };
    report.lines().map(|line| row(Json::parse(line))).collect()
}

// U-199, U-203
#[test]
fn samples_fall_into_the_loop_that_runs_and_none_into_the_sampler() {
    for machine in machines_with_exact_clocks() {
        let mut firmware = with_spinning_programs(machine.as_ref());
        for program in ["first", "second"] {
            let output = firmware.output(&format!("perf record {program}"));
            assert!(figure(&output, "samples") > 100.0, "{output}");
            let rows = rows(&mut firmware);
            let (dso, symbol, percent) = &rows[0];
            assert_eq!(
                (dso.as_str(), symbol.as_str()),
                (program, format!("{program}_loop").as_str()),
                "{rows:?}"
            );
            assert!(*percent > 90.0, "{rows:?}");
            let names = ["tick", "trap", "sample", "dispatch"];
            let is_interrupt = |symbol: &str| names.iter().any(|name| symbol.contains(name));
            let interrupts: f64 = rows.iter().filter(|row| is_interrupt(&row.1)).map(|row| row.2).sum();
            assert!(interrupts < 2.0, "{rows:?}");
        }
    }
}

// U-200
#[test]
fn code_with_interrupts_off_counts_once_a_turn_and_its_samples_are_called_late() {
    const TURNS: u32 = 200;
    for machine in machines_with_exact_clocks() {
        let mut firmware = Firmware::boot(machine.as_ref(), &Start::default());
        for (what, symbol) in [("open", "bench_open"), ("masked", "bench_masked")] {
            let output = firmware.output(&format!("perf record -F 4000 perf bench {what} {TURNS}"));
            let (samples, late) = (figure(&output, "samples"), figure(&output, "late"));
            let rows = rows(&mut firmware);
            assert_eq!(rows[0].1, symbol, "{rows:?}");
            assert!(rows[0].2 > 90.0, "{rows:?}");
            if what == "masked" {
                // Four are due in each turn; the one that comes is nearly always late.
                assert!(
                    samples <= f64::from(TURNS) + 5.0 && late > 0.9 * f64::from(TURNS),
                    "{output}"
                );
            } else {
                assert!(samples > 3.5 * f64::from(TURNS) && late < 0.01 * samples, "{output}");
            }
        }
        // Whatever the samples say, the times add up.
        let output = firmware.output("time perf bench masked 200");
        let seconds = |name: &str| -> f64 {
            let line = output.lines().find_map(|line| line.strip_prefix(name)).expect(&output);
            let value = line
                .trim()
                .strip_prefix("0m ")
                .and_then(|value| value.strip_suffix('s'))
                .expect(line);
            value.parse().expect(line)
        };
        let (real, user, system) = (seconds("real"), seconds("user"), seconds("sys"));
        assert!(
            (0.2..0.23).contains(&real) && (real - user - system).abs() < 1e-9,
            "{output}"
        );
    }
}

// U-202
#[test]
fn every_machine_takes_samples() {
    let simulated = ["mcr3000", "cmpc885", "mpc885ads", "adder875"].map(|board| -> Box<dyn Machine> {
        Box::new(Simulator {
            board: board.into(),
            ..Simulator::default()
        })
    });
    let emulated = Qemu::CPUS.map(|cpu| -> Box<dyn Machine> {
        Box::new(Qemu {
            cpu: cpu.into(),
            icount: Some(0),
            ..Qemu::default()
        })
    });
    for machine in simulated.into_iter().chain(emulated) {
        let start = Start::commands(&["perf record perf bench open 50"]);
        let session = machine.start(&image(machine.board()), &start);
        let transcript = session.and_then(|session| session.finish(LIMIT));
        let console = transcript.unwrap_or_else(|error| panic!("{error}")).console;
        assert!(figure(&console, "samples") > 40.0, "{}: {console}", machine.name());
    }
}

// U-197
#[test]
fn profile_of_the_mails_has_its_roles_and_all_its_samples() {
    let mut firmware = Firmware::boot(&Simulator::default(), &Start::default());
    firmware.output("preset 5.9-rc2");
    for (operands, roles) in [
        ("count=40000", &MAILS[..]),
        ("bs=4k count=20000", &["__arch_clear_user"][..]),
    ] {
        let load = format!("dd if=/dev/zero of=/dev/null {operands}");
        let output = firmware.output(&format!("perf record -F 10000 {load}"));
        let seconds: f64 = output
            .split_once(" copied, ")
            .and_then(|(_, rest)| rest.split(' ').next()?.parse().ok())
            .expect(&output);
        assert!(figure(&output, "samples") > 0.9 * 10_000.0 * seconds, "{output}");
        let rows = rows(&mut firmware);
        for role in roles {
            assert!(
                rows.iter().any(|row| row.1 == *role && row.0 == "[kernel]"),
                "no {role} in {rows:?}"
            );
        }
        assert!(!rows.iter().any(|row| row.1 == "[unknown]"), "{rows:?}");
        if operands.starts_with("bs=") {
            assert!(rows[..2].iter().any(|row| row.1 == "__arch_clear_user"), "{rows:?}");
        }
    }
}

/// The functions of the profile in the mails, without the series.
const MAILS: [&str; 14] = [
    "__arch_clear_user",
    "transfer_to_syscall",
    "__fsnotify_parent",
    "iov_iter_zero",
    "new_sync_read",
    "vfs_write",
    "vfs_read",
    "ksys_write",
    "ksys_read",
    "__fget_light",
    "__fdget_pos",
    "memset",
    "rw_verify_area",
    "read_iter_zero",
];
