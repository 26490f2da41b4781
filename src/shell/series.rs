//! `series`, `bisect`: presets side by side under one load.
#![forbid(unsafe_code)]

use super::commands::{Command, USAGE, find_program, is_json, usage};
use super::words::number;
use crate::arch::ppc::{accounting, spr};
use crate::measure::series::{Change, Clocks, Runs, Tenths, chain};
use crate::measure::{self, clock};
use crate::policy::AXES;
use crate::syscall::presets::{PRESETS, Preset};
use crate::{print, println, syscall};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};

pub(super) static COMMANDS: [Command; 3] = [
    Command {
        name: "series",
        usage: "[OPTION...] [PRESET...]",
        help: "dd's loop under each preset in turn, a table",
        run: series,
    },
    Command {
        name: "bisect",
        usage: "[OPTION...] PRESET PRESET",
        help: "which axis makes the difference of two presets",
        run: bisect,
    },
    Command {
        name: "curve",
        usage: "[--json]",
        help: "cost of calls by bytes and by segments",
        run: curve,
    },
];

const OPTIONS: &str = "\
options: --load dd|iops  read /dev/zero, write /dev/null; or read /dev/pmem0 (dd)
         --bs BYTES      bytes of a block, 1 to 1048576 (512; iops: 8192)
         --count N       operations of a round, 1 to 10000000 (4000; iops: 200)
         --rounds N      turns of each preset, 1 to 100 (3)
         --json          one line of JSON for each row";

/// Ticks of the time base that a round must take, so that one of them is no more than a percent.
const LEAST_TICKS: u64 = 100;

/// The rows when none are named: the series of the mails, and what is left when everything is tuned.
const DEFAULT_ROWS: [&str; 13] = [
    "5.9-rc2", "patch-1", "patch-2", "patch-3", "patch-4", "patch-5", "patch-6", "patch-7", "patch-8", "patch-9",
    "patch-10", "patch-11", "fast",
];

/// A program that makes some number of equal operations.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Load {
    /// Pairs of read and write.
    Dd,
    /// Reads that survive memory errors.
    Iops,
}

/// What a command line asks for.
struct Request<'a> {
    load: Load,
    block: u32,
    count: u32,
    rounds: u32,
    is_json: bool,
    presets: Vec<&'a str>,
}

impl<'a> Request<'a> {
    fn read(command: &str, words: &[&'a str]) -> Result<Self, i32> {
        let mut request = Self {
            load: Load::Dd,
            block: 0,
            count: 0,
            rounds: 3,
            is_json: is_json(),
            presets: Vec::new(),
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = |least: u32, most: u32| {
                let text = words.next().copied().unwrap_or("");
                let value = number(text).filter(|value| (least..=most).contains(value));
                value.ok_or_else(|| {
                    println!("{command}: {word} {text}: accepted are {least} to {most}");
                    USAGE
                })
            };
            match *word {
                "--bs" => request.block = value(1, 1 << 20)?,
                "--count" => request.count = value(1, 10_000_000)?,
                "--rounds" => request.rounds = value(1, 100)?,
                "--json" => request.is_json = true,
                "--load" => {
                    request.load = match words.next() {
                        Some(&"dd") => Load::Dd,
                        Some(&"iops") => Load::Iops,
                        other => {
                            println!("{command}: --load {}: accepted are dd, iops", other.unwrap_or(&""));
                            return Err(USAGE);
                        }
                    }
                }
                option if option.starts_with('-') => {
                    println!("{command}: option {option} is unknown");
                    println!("{OPTIONS}");
                    return Err(usage(command));
                }
                name => request.presets.push(name),
            }
        }
        let (block, count) = match request.load {
            Load::Dd => (512, 4000),
            Load::Iops => (8192, 200),
        };
        if request.block == 0 {
            request.block = block;
        }
        if request.count == 0 {
            request.count = count;
        }
        Ok(request)
    }

    /// The program's arguments for `operations` operations.
    fn arguments(&self, operations: u32) -> Vec<String> {
        match self.load {
            Load::Dd => vec![
                "dd".to_string(),
                "if=/dev/zero".to_string(),
                "of=/dev/null".to_string(),
                format!("bs={}", self.block),
                format!("count={operations}"),
                "status=none".to_string(),
            ],
            Load::Iops => vec![
                "iops".to_string(),
                "--filename=/dev/pmem0".to_string(),
                "--rw=randread".to_string(),
                format!("--bs={}", self.block),
                format!("--number_ios={operations}"),
            ],
        }
    }

    fn describe(&self) -> String {
        let operation = match self.load {
            Load::Dd => "pairs of read and write",
            Load::Iops => "reads of /dev/pmem0",
        };
        let accounting = if accounting::is_exact() { "exact" } else { "by ticks" };
        format!(
            "{} {operation}, {} bytes, {} rounds, accounting {accounting}",
            self.count, self.block, self.rounds
        )
    }

    /// Time base ticks of a run of `operations` operations, from before the program is loaded until it is gone.
    fn run(&self, operations: u32) -> Result<u64, i32> {
        let arguments = self.arguments(operations);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let Some((name, file)) = find_program(arguments[0]) else {
            println!("{}: there is no such program: an initial archive has it", arguments[0]);
            return Err(1);
        };
        clock::restart_tick();
        let start = spr::timebase();
        let status = syscall::run_program_silently(name, file, &arguments);
        let ticks = spr::timebase() - start;
        match status {
            Ok(0) => Ok(ticks),
            Ok(status) => {
                println!("{} failed, status {status}", arguments.join(" "));
                Err(status)
            }
            Err(error) => {
                println!("{name}: {error}");
                Err(1)
            }
        }
    }

    /// Runs every preset once a round, in turn, so that what changes in the course of time falls on all of them alike. A
    /// round is a difference of two runs, in which starting and ending the program cancels out.
    fn measure(&self, presets: &[&'static Preset]) -> Result<Vec<Runs>, i32> {
        let least = (self.count / 16).max(1);
        let before = syscall::chosen().name;
        let mut runs = vec![
            Runs {
                ticks: Vec::new(),
                operations: self.count,
                bytes: self.block,
            };
            presets.len()
        ];
        let mut outcome = Ok(());
        'rounds: for round in 1..=self.rounds {
            if !self.is_json {
                print!("round {round} of {} ", self.rounds);
            }
            for (preset, runs) in presets.iter().zip(&mut runs) {
                syscall::choose(preset.name);
                let both = self
                    .run(least)
                    .and_then(|less| Ok((less, self.run(least + self.count)?)));
                match both {
                    Ok((less, more)) if more.saturating_sub(less) < LEAST_TICKS => {
                        if !self.is_json {
                            println!();
                        }
                        println!(
                            "--count {}: the time of so few operations under {} cannot be told: accepted is more",
                            self.count, preset.name
                        );
                        outcome = Err(1);
                        break 'rounds;
                    }
                    Ok((less, more)) => runs.ticks.push(more - less),
                    Err(status) => {
                        outcome = Err(status);
                        break 'rounds;
                    }
                }
                if !self.is_json {
                    print!(".");
                }
            }
            if !self.is_json {
                println!();
            }
        }
        syscall::choose(before);
        outcome.map(|()| runs)
    }
}

/// The presets of these names, or what to say of the first that does not exist.
fn find(command: &str, names: &[&str]) -> Result<Vec<&'static Preset>, i32> {
    let find = |name: &&str| {
        PRESETS.iter().find(|preset| preset.name == *name).ok_or_else(|| {
            println!("{command}: preset {name} does not exist: `preset` lists what does");
            USAGE
        })
    };
    names.iter().map(find).collect()
}

fn clocks(command: &str) -> Result<Clocks, i32> {
    let clocks = clock::clocks();
    if clocks.timebase_hz == 0 || clocks.core_hz == 0 {
        println!("{command}: not available: no timebase");
        return Err(1);
    }
    Ok(clocks)
}

/// The layers of a preset, how zero and null work in it, and whether it has an address limit, in few words.
fn way(preset: &Preset) -> String {
    let [limit, _, zero, null, _, _, _, layers, _] = preset.machinery.values;
    let short = |operation: &str| if operation.ends_with("_iter") { "iter" } else { "plain" };
    let limit = if limit == "set_fs" { " set_fs" } else { "" };
    format!("{layers} {}/{}{limit}", short(zero), short(null))
}

fn series(words: &[&str]) -> i32 {
    match try_series(words) {
        Ok(()) => 0,
        Err(status) => status,
    }
}

fn try_series(words: &[&str]) -> Result<(), i32> {
    let mut request = Request::read("series", words)?;
    let clocks = clocks("series")?;
    if request.presets.is_empty() {
        request.presets = DEFAULT_ROWS.to_vec();
    }
    let presets = find("series", &request.presets)?;
    if !request.is_json {
        println!("{}", request.describe());
    }
    let runs = request.measure(&presets)?;
    if !request.is_json {
        // No part of these families counts instructions for programs: the host's `cargo sim --profile` does.
        println!("preset            MB/s   cycles  insns  spread   change  layers zero/null");
    }
    for (preset, row) in presets.iter().zip(&runs) {
        let (rate, cycles, spread) = (row.rate(clocks), row.cycles(clocks), row.spread());
        let change = row.change(&runs[0]);
        if request.is_json {
            println!(
                "{{\"preset\":\"{}\",\"mb_s\":{rate},\"cycles\":{cycles},\"instructions\":null,\"spread_percent\":{spread},\
                 \"change_percent\":{},\"layers\":\"{}\"}}",
                preset.name,
                change.0,
                way(preset)
            );
        } else {
            let way = way(preset);
            println!(
                "{:<15} {rate:>6} {cycles:>8}      - {spread:>6}% {change:>8}  {way}",
                preset.name
            );
        }
    }
    if !request.is_json {
        println!("insns: nothing here counts them; the simulator's --profile does");
    }
    Ok(())
}

fn bisect(words: &[&str]) -> i32 {
    match try_bisect(words) {
        Ok(()) => 0,
        Err(status) => status,
    }
}

fn curve(words: &[&str]) -> i32 {
    let json = match words {
        [] => is_json(),
        ["--json"] => true,
        _ => return usage("curve"),
    };
    match clocks("curve") {
        Ok(clocks) => measure::curve::run(clocks, json),
        Err(status) => status,
    }
}

/// The names of the axes in which two presets differ, with their values.
fn differences(from: &Preset, to: &Preset) -> Vec<(&'static str, &'static str, &'static str)> {
    let values = from.machinery.values.iter().zip(to.machinery.values);
    let axes = AXES.iter().zip(values).filter(|(_, (a, b))| *a != b);
    axes.map(|(axis, (a, b))| (*axis, *a, b)).collect()
}

fn try_bisect(words: &[&str]) -> Result<(), i32> {
    let request = Request::read("bisect", words)?;
    let clocks = clocks("bisect")?;
    let ends = find("bisect", &request.presets)?;
    let [from, to] = ends[..] else {
        println!("{OPTIONS}");
        return Err(usage("bisect"));
    };
    let index = |wanted: &Preset| {
        PRESETS
            .iter()
            .position(|preset| preset.name == wanted.name)
            .unwrap_or(0)
    };
    let values: Vec<_> = PRESETS.iter().map(|preset| preset.machinery.values).collect();
    let way: Vec<&'static Preset> = chain(&values, index(from), index(to))
        .into_iter()
        .map(|index| &PRESETS[index])
        .collect();
    if way.len() < 2 {
        println!("bisect: {} and {} have equal values of all axes", from.name, to.name);
        return Ok(());
    }
    if !request.is_json {
        println!("{}", request.describe());
    }
    let runs = request.measure(&way)?;
    let cycles = |place: usize| runs[place].cycles(clocks);
    let whole = cycles(way.len() - 1).0 - cycles(0).0;
    if !request.is_json {
        println!("{:<44} {:>8} {:>8} {:>8}", "axis", "cycles", "differ", "of all");
        println!("{:<44} {:>8}", from.name, cycles(0));
    }
    let mut most = (0, String::new());
    for place in 1..way.len() {
        let axes = differences(way[place - 1], way[place]);
        let text: Vec<String> = axes.iter().map(|(axis, a, b)| format!("{axis}: {a} -> {b}")).collect();
        let text = text.join(", ");
        let step = cycles(place).0 - cycles(place - 1).0;
        let share = measure::series::percent(step, whole);
        if request.is_json {
            println!(
                "{{\"axis\":\"{text}\",\"preset\":\"{}\",\"cycles\":{},\"difference\":{},\"share_percent\":{share}}}",
                way[place].name,
                cycles(place),
                Tenths(step)
            );
        } else {
            println!("{text:<44} {:>8} {:>8} {share:>7}%", cycles(place), Signed(step));
        }
        if step.abs() > i64::abs(most.0) {
            let names: Vec<&str> = axes.iter().map(|(axis, ..)| *axis).collect();
            most = (step, names.join(" and "));
        }
    }
    if !request.is_json {
        let change = runs[way.len() - 1].change(&runs[0]);
        println!("{}: {} cycles, throughput {}", to.name, Signed(whole), Change(change.0));
        if most.0 != 0 {
            println!("most of it: {}, {} cycles", most.1, Signed(most.0));
        }
    }
    Ok(())
}

/// A difference in tenths, always with its sign.
struct Signed(i64);

impl core::fmt::Display for Signed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let sign = if self.0 >= 0 { "+" } else { "" };
        f.pad(&format!("{sign}{}", Tenths(self.0)))
    }
}
