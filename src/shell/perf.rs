//! `perf`: record, report, script, annotate, stat.
#![forbid(unsafe_code)]

use super::commands::{is_json, run};
use crate::addr::TASK_SIZE;
use crate::arch::single::Single;
use crate::json::Quoted;
use crate::kernel::Location;
use crate::measure::clock::{self, to_time};
use crate::measure::series::Clocks;
use crate::perf::{self, Profile};
use crate::task::elf::Program;
use crate::{println, symbols::Symbols};
use alloc::string::{String, ToString};
use core::cell::Cell;

/// The program that was recorded: its name, and its file for symbols.
static RECORDED: Single<Cell<(&'static str, &'static [u8])>> = Single::new(Cell::new(("none", &[])));

/// How to call it.
pub const USAGE: &str = "record|report|script|annotate|bench|stat ...";

/// Loops of `perf bench` at most: a minute.
const MOST_LOOPS: u32 = 60_000;

/// Runs a subcommand; returns its status, or `None` when it was called wrongly.
pub fn perf(words: &[&str]) -> Option<i32> {
    match words {
        ["record", "-F", hz, command @ ..] if !command.is_empty() => {
            let hz = hz.parse().ok().filter(|hz| (1..=perf::MAX_HZ).contains(hz));
            let Some(hz) = hz else {
                println!(
                    "perf record: -F {}: accepted are 1 to {} samples a second",
                    words[2],
                    perf::MAX_HZ
                );
                return Some(2);
            };
            Some(record(hz, command))
        }
        ["record", command @ ..] if !command.is_empty() && !command[0].starts_with('-') => {
            Some(record(perf::DEFAULT_HZ, command))
        }
        ["report"] => Some(report(is_json())),
        ["report", "--json"] => Some(report(true)),
        ["script"] => Some(script()),
        ["annotate", symbol] => Some(annotate(symbol)),
        ["bench", what @ ("open" | "masked"), loops] => match loops.parse() {
            Ok(loops @ 1..=MOST_LOOPS) => {
                perf::bench(loops, *what == "masked");
                Some(0)
            }
            _ => {
                println!("perf bench {what} {loops}: accepted are 1 to {MOST_LOOPS} loops");
                Some(2)
            }
        },
        ["stat", "--json", command @ ..] if !command.is_empty() => Some(stat(command, true)),
        ["stat", command @ ..] if !command.is_empty() => Some(stat(command, is_json())),
        _ => {
            println!(
                "perf record [-F HZ] COMMAND  sample COMMAND, {} times a second at most",
                perf::MAX_HZ
            );
            println!("perf report [--json]         functions by share of the samples");
            println!("perf script                  the same as folded stacks for flame graphs");
            println!("perf annotate SYMBOL         samples by instruction in one function");
            println!("perf bench open|masked LOOPS compute for LOOPS times 1 ms, with interrupts on or off");
            println!("perf stat [--json] COMMAND   time, system calls, interrupts and faults of COMMAND");
            None
        }
    }
}

fn record(hz: u32, command: &[&str]) -> i32 {
    if clock::timebase_hz() == 0 {
        println!("perf: profiling not available: no timebase");
        return 1;
    }
    let (name, file) = match super::commands::find_program(command[0]) {
        Some(found) => found,
        None => ("kernel", &[][..]),
    };
    RECORDED.get().set((name, file));
    let status = perf::record(hz, || run(command));
    if let Some(summary) = perf::summary() {
        println!(
            "perf: {} samples, {} lost, {} late, overhead {}",
            summary.samples,
            summary.lost,
            summary.late,
            Overhead(&summary)
        );
    }
    status
}

/// The share of the recording that sampling itself took.
struct Overhead<'a>(&'a perf::Summary);

impl core::fmt::Display for Overhead<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let share = u64::from(self.0.overhead) * 10_000 / u64::from(self.0.duration.max(1));
        write!(f, "{}.{:02}%", share / 100, share % 100)
    }
}

/// `sc`.
const SYSTEM_CALL: u32 = 0x4400_0002;

/// The function that a sample at `pc` belongs to, and whether it is user code.
///
/// An interrupt that comes while interrupts are off is taken at the first instruction that lets it in. On the way of a
/// system call two such places are known, and what has kept the interrupt waiting there gets the sample: the vector in
/// front of the first instruction of `transfer_to_syscall`, `ret_from_syscall` in front of what follows `sc`. Each of the
/// two has one name, whatever the accounting.
fn symbol_of(pc: u32) -> (String, bool) {
    if pc < TASK_SIZE {
        let (_, file) = RECORDED.get().get();
        let program = Program::parse(file).ok();
        if program.and_then(|program| program.word(pc - 4)) == Some(SYSTEM_CALL) {
            return ("ret_from_syscall".to_string(), false);
        }
        let name = program.and_then(|program| program.symbol(pc));
        return (perf::short_name(name.unwrap_or("[unknown]")), true);
    }
    let found = Symbols::new(crate::arch::symbol_blob()).and_then(|symbols| symbols.find(pc));
    let (name, offset) = found.unwrap_or(("[unknown]", 0));
    let path = ["transfer_to_syscall", "ret_from_syscall"]
        .into_iter()
        .find(|path| name.starts_with(path));
    let name = match path {
        Some("transfer_to_syscall") if offset == 0 => "SystemCall".to_string(),
        Some(path) => path.to_string(),
        None => perf::short_name(name),
    };
    (name, false)
}

fn profile() -> Option<(perf::Summary, Profile)> {
    let summary = perf::summary();
    if summary.is_none() {
        println!("perf: nothing recorded: perf record COMMAND comes first");
    }
    Some((summary?, Profile::new(perf::samples(), symbol_of)))
}

fn report(json: bool) -> i32 {
    let Some((summary, profile)) = profile() else { return 1 };
    let (name, _) = RECORDED.get().get();
    if !json {
        println!(
            "# {} samples at {} Hz, {} lost, {} late, overhead {}",
            summary.samples,
            summary.hz,
            summary.lost,
            summary.late,
            Overhead(&summary)
        );
    }
    for row in &profile.rows {
        let (percent, hundredths) = (row.share / 100, row.share % 100);
        let (object, mark) = if row.is_user { (name, '.') } else { ("[kernel]", 'k') };
        if json {
            println!(
                "{{\"percent\":{percent}.{hundredths:02},\"samples\":{},\"comm\":{},\"dso\":{},\"symbol\":{}}}",
                row.samples,
                Quoted(name),
                Quoted(object),
                Quoted(&row.symbol)
            );
        } else {
            println!(
                "{percent:>5}.{hundredths:02}%  {name:<8} {object:<9} [{mark}] {}",
                row.symbol
            );
        }
    }
    0
}

/// One line a function, `COMM;SYMBOL COUNT`, as flame graph tools read it.
fn script() -> i32 {
    let Some((_, profile)) = profile() else { return 1 };
    let (name, _) = RECORDED.get().get();
    for row in &profile.rows {
        let space = if row.is_user { "user" } else { "kernel" };
        println!("{name};{space};{} {}", row.symbol, row.samples);
    }
    0
}

/// Samples by instruction within a function.
fn annotate(symbol: &str) -> i32 {
    if perf::summary().is_none() {
        println!("perf: nothing recorded: perf record COMMAND comes first");
        return 1;
    }
    let mut pcs: alloc::vec::Vec<u32> = perf::samples().filter(|pc| symbol_of(*pc).0 == symbol).collect();
    if pcs.is_empty() {
        println!("perf annotate: no samples in {symbol}: perf report lists the functions");
        return 1;
    }
    pcs.sort_unstable();
    for group in pcs.chunk_by(|a, b| a == b) {
        println!("{:>6}  {}", group.len(), Location(group[0]));
    }
    0
}

fn stat(command: &[&str], json: bool) -> i32 {
    let (status, counts) = perf::stat(|| run(command));
    let Clocks {
        core_hz,
        timebase_hz: hz,
    } = clock::clocks();
    let times = counts.times;
    let ticks = times.user + times.system;
    let time = to_time(ticks, hz);
    let misses = counts.tlb_misses;
    let cycles = (u128::from(ticks) * u128::from(core_hz)).checked_div(hz.into());
    let rows = [
        ("timebase-ticks", Some(ticks)),
        ("core-cycles", cycles.map(|cycles| cycles as u64)),
        ("user-ticks", Some(times.user)),
        ("system-ticks", Some(times.system)),
        ("system-calls", Some(times.calls)),
        ("decrementer-interrupts", Some(counts.interrupts.into())),
        ("fixed-up-faults", Some(counts.fixups.into())),
        ("user-access-windows", counts.windows.map(u64::from)),
        ("itlb-misses", misses.map(|misses| misses.instruction.into())),
        ("dtlb-misses", misses.map(|misses| misses.data.into())),
    ];
    for (name, value) in rows {
        match (value, json) {
            (Some(value), true) => println!("{{\"event\":\"{name}\",\"value\":{value}}}"),
            (None, true) => println!("{{\"event\":\"{name}\",\"value\":null}}"),
            (Some(value), false) => println!("{value:>16}  {name}"),
            (None, false) => println!("{:>16}  {name}", "<not counted>"),
        }
    }
    if !json {
        println!(
            "{:>9}.{:06}  seconds, time base {hz} Hz, core {core_hz} Hz",
            time.seconds,
            time.nanoseconds / 1000
        );
    }
    status
}
