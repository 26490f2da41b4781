//! What `time` and the clocks say, on machines whose clocks follow their instructions.

#[path = "common/assembled.rs"]
mod assembled;
mod common;

use std::fs;

use assembled::executable;
use common::firmware::{Firmware, image};
use zeronull_image::board::Board;
use zeronull_image::cpio;
use zeronull_image::start::Start;
use zeronull_image::testing::{empty_directory, machines_with_exact_clocks};

/// The step of what `time` prints.
const STEP: f64 = 0.01;

/// The three times of a command, in seconds.
#[derive(Clone, Copy, Debug)]
struct Times {
    real: f64,
    user: f64,
    system: f64,
}

impl Times {
    /// Reads the last three lines of what `time` printed, and checks what holds for every command.
    #[track_caller]
    fn of(output: &str) -> Self {
        let field = |name: &str| {
            let line = output.lines().find_map(|line| line.strip_prefix(name));
            let value = line.unwrap_or_else(|| panic!("no {name} in {output}"));
            let (minutes, seconds) = value.trim().split_once("m ").expect(output);
            let seconds = seconds.strip_suffix('s').expect(output);
            assert_eq!(seconds.split_once('.').expect(output).1.len(), 2, "{output}");
            let number = |text: &str| -> f64 { text.parse().expect(output) };
            number(minutes) * 60.0 + number(seconds)
        };
        let times = Self {
            real: field("real"),
            user: field("user"),
            system: field("sys"),
        };
        // Each is cut off after its last digit.
        assert!(times.user + times.system <= times.real + 2.5 * STEP, "{times:?}");
        assert!(times.user >= 0.0 && times.system >= 0.0, "{times:?}");
        times
    }
}

/// A firmware with a program `spin` that only computes, for some tenths of a second.
fn on_every_machine(test: &str, check: impl Fn(&mut Firmware)) {
    for machine in machines_with_exact_clocks() {
        // An instruction takes a nanosecond, or two clocks of 7.6.
        let rounds = match machine.board() {
            Board::G3beige => 200_000_000,
            Board::Mcr3000 => 10_000_000_u32,
        };
        let (high, low) = (rounds >> 16, rounds & 0xFFFF);
        let source = format!(
            ".globl _start
            _start: lis 4, {high:#x}; ori 4, 4, {low:#x}; mtctr 4
            1:  bdnz 1b
            li 0, 1; li 3, 0; sc\n"
        );
        let name = format!("firmware_time-{test}-{}", machine.board());
        let mut archive = cpio::Archive::default();
        archive.program("bin/spin", &executable(&name, &source));
        let path = empty_directory(&name).join("spin.cpio");
        fs::write(&path, archive.finish()).expect("the archive can be written");
        let start = Start {
            initrd: vec![path],
            ..Start::default()
        };
        // Built before the clock of any test runs.
        image(machine.board());
        check(&mut Firmware::boot(machine.as_ref(), &start));
    }
}

/// A command that works in the kernel for some tenths of a second.
fn copy(firmware: &Firmware) -> String {
    let count = match firmware.board {
        Board::G3beige => 40_000,
        Board::Mcr3000 => 300,
    };
    format!("dd if=/dev/zero of=/dev/null bs=64k count={count}")
}

// U-193
#[test]
fn short_commands_have_times_within_their_real_time() {
    on_every_machine("short", |firmware| {
        for command in [
            "status",
            "dd if=/dev/zero of=/dev/null count=1",
            "dd if=/dev/zero of=/dev/null count=0",
        ] {
            for _ in 0..5 {
                let times = Times::of(&firmware.type_command(&format!("time {command}")));
                assert!(times.real < 1.0, "{command}: {times:?}");
            }
        }
        let output = firmware.type_command(&["time nullcall 1"; 10].join("; "));
        let runs: Vec<_> = output.split_inclusive("\nsys ").collect();
        assert_eq!(runs.len(), 11, "{output}");
        for (run, next) in runs.iter().zip(&runs[1..]) {
            let times = Times::of(&format!("{run}{next}"));
            assert!(times.real < 1.0, "{times:?}");
        }
    });
}

// U-196
#[test]
fn time_in_programs_and_in_the_kernel_is_told_apart() {
    on_every_machine("told_apart", |firmware| {
        for accounting in ["exact", "tick"] {
            firmware.type_command(&format!("accounting {accounting}"));
            let spin = Times::of(&firmware.type_command("time spin"));
            assert!(spin.real > 0.1, "{spin:?}");
            assert!(
                spin.user > 0.9 * spin.real && spin.system <= 0.1 * spin.real,
                "{accounting}: {spin:?}"
            );
            let copy = format!("time {}", copy(firmware));
            let runs = [&copy; 2].map(|copy| Times::of(&firmware.type_command(copy)));
            for run in runs {
                assert!(run.real > 0.1, "{run:?}");
                assert!(run.system > run.user, "{accounting}: {run:?}");
            }
            let [first, second] = runs.map(|run| run.system);
            assert!(
                (first - second).abs() <= 0.05 * first + 2.0 * STEP,
                "{accounting}: {runs:?}"
            );
        }
        firmware.type_command("accounting exact");
    });
}

// U-192
#[test]
fn different_commands_measure_the_same_time() {
    on_every_machine("same", |firmware| {
        let real = Times::of(&firmware.type_command("time spin")).real;
        assert!(real > 0.1, "{real}");
        let stat = firmware.type_command("perf stat spin");
        let seconds = stat
            .lines()
            .find_map(|line| line.split_once("  seconds, ")?.0.trim().parse::<f64>().ok());
        let seconds = seconds.unwrap_or_else(|| panic!("no seconds in {stat}"));
        assert!((real - seconds).abs() <= 0.01 * real + STEP, "{real}: {stat}");
        let count = |name: &str| {
            let value = stat
                .lines()
                .find_map(|line| line.strip_suffix(name)?.trim().parse::<u64>().ok());
            value.unwrap_or_else(|| panic!("no {name} in {stat}"))
        };
        // The rates on the last line turn ticks into seconds and into clocks of the core.
        let rate = |name: &str| {
            let rest = stat.split_once(name).unwrap_or_else(|| panic!("no {name} in {stat}")).1;
            rest.split(' ')
                .next()
                .and_then(|hz| hz.parse::<u64>().ok())
                .expect("a rate")
        };
        let (ticks, hz, core_hz) = (count("  timebase-ticks"), rate("time base "), rate("core "));
        assert!((ticks as f64 / hz as f64 - seconds).abs() < 2e-6, "{stat}");
        assert_eq!(
            count("  core-cycles"),
            (u128::from(ticks) * u128::from(core_hz) / u128::from(hz)) as u64
        );
        // What dd measures itself lies within what is measured around it.
        let output = firmware.type_command(&format!("time {}", copy(firmware)));
        let own = output
            .split_once(" copied, ")
            .and_then(|(_, rest)| rest.split(' ').next()?.parse::<f64>().ok());
        let (own, real) = (own.expect("dd says"), Times::of(&output).real);
        assert!(own <= real + STEP && real - own < 0.05, "{output}");
    });
}

/// Reads the clock 196608 times; its status is 1 if that went backwards, 2 if a step was longer than 100 microseconds.
const READINGS: &str = ".globl _start
    _start: addi 1, 1, -64
    bl read
    mr 30, 5; mr 29, 6
    lis 31, 3
    1:  bl read
    subf 7, 30, 5
    cmplwi 7, 1
    bgt backwards
    lis 8, 1000000000@h; ori 8, 8, 1000000000@l
    mullw 7, 7, 8
    add 7, 7, 6
    subf. 7, 29, 7
    blt backwards
    lis 8, 100000@h; ori 8, 8, 100000@l
    cmpw 7, 8
    bgt jump
    mr 30, 5; mr 29, 6
    addic. 31, 31, -1
    bne 1b
    li 3, 0
    b exit
    backwards: li 3, 1
    b exit
    jump: li 3, 2
    exit: li 0, 1; sc
    read: li 0, 246; li 3, 1; mr 4, 1; sc
    lwz 5, 0(1); lwz 6, 4(1)
    blr\n";

// U-188
#[test]
fn clock_only_moves_forward_in_small_steps_at_the_rate_of_the_machine() {
    for machine in machines_with_exact_clocks() {
        let name = format!("firmware_time-readings-{}", machine.board());
        let mut archive = cpio::Archive::default();
        archive.program("bin/readings", &executable(&name, READINGS));
        let path = empty_directory(&name).join("readings.cpio");
        fs::write(&path, archive.finish()).expect("the archive can be written");
        let start = Start {
            initrd: vec![path],
            ..Start::default()
        };
        let mut firmware = Firmware::boot(machine.as_ref(), &start);
        firmware.expect("readings", 0, "");
        let rate = match firmware.board {
            Board::G3beige => "time base 16600000 Hz",
            Board::Mcr3000 => "time base 8250000 Hz",
        };
        assert!(firmware.banner.contains(rate), "{}", firmware.banner);
    }
}

#[test]
fn cost_of_exact_accounting_is_shown_and_leaves_the_accounting_as_it_was() {
    for machine in machines_with_exact_clocks() {
        let mut firmware = Firmware::boot(machine.as_ref(), &Start::default());
        for accounting in ["exact", "by ticks"] {
            let output = firmware.output("accounting cost");
            let line = output
                .lines()
                .last()
                .and_then(|line| line.strip_prefix("exact accounting: "));
            let cycles = line.and_then(|line| line.strip_suffix(" core cycles a system call"));
            let cycles: f64 = cycles.and_then(|cycles| cycles.parse().ok()).expect(&output);
            assert!((1.0..40.0).contains(&cycles), "{output}");
            firmware.expect("accounting", 0, &format!("accounting is {accounting}\n"));
            firmware.output("accounting tick");
        }
    }
}
