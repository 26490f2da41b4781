//! The commands, and the loop that reads them.
#![forbid(unsafe_code)]

use super::{faults, perf, policy, series, words};
use crate::arch::ppc::{accounting, spr};
use crate::arch::single::Single;
use crate::console;
use crate::console::line::{self, Line};
use crate::fs::node::{self, Node};
use crate::fs::{notify, tmp};
use crate::initrd::{self, Entry};
use crate::measure::clock::{self, to_time};
use crate::measure::series::Clocks;
use crate::{board, fs, lkdtm, mm, print, println, selftest, syscall, task, uaccess};
use alloc::vec::Vec;
use core::cell::Cell;

/// Status of a command that does not exist, as in shells.
const NOT_FOUND: i32 = 127;
/// Status of a program that cannot be started.
const NOT_STARTED: i32 = 126;
/// Status of a command used wrongly.
pub(super) const USAGE: i32 = 2;

pub(super) struct Command {
    pub(super) name: &'static str,
    pub(super) usage: &'static str,
    pub(super) help: &'static str,
    pub(super) run: fn(&[&str]) -> i32,
}

static COMMANDS: &[Command] = &[
    Command {
        name: "help",
        usage: "",
        help: "this list",
        run: help,
    },
    Command {
        name: "time",
        usage: "COMMAND...",
        help: "run a command, print real, user and system time",
        run: time,
    },
    Command {
        name: "selftest",
        usage: "[SUITE] [--json]",
        help: "check the user-access core, print KTAP",
        run: selftest,
    },
    Command {
        name: "lkdtm",
        usage: "[NAME [fatal]]",
        help: "do what a kernel must not do; alone: list the names",
        run: provoke,
    },
    Command {
        name: "preset",
        usage: "[NAME]",
        help: "show or choose the policy preset",
        run: preset,
    },
    Command {
        name: "watch",
        usage: "[PATH [off]]",
        help: "count reads and writes of a file or directory",
        run: watch,
    },
    Command {
        name: "accounting",
        usage: "[exact|tick|cost]",
        help: "show or choose how user and system time are kept, or its cost",
        run: accounting_command,
    },
    Command {
        name: "perf",
        usage: perf::USAGE,
        help: "sample where the time goes, or count around a command",
        run: |words| perf::perf(words).unwrap_or_else(|| usage("perf")),
    },
    Command {
        name: "counters",
        usage: "[reset]",
        help: "bytes and windows counted by preset debug",
        run: counters,
    },
    Command {
        name: "status",
        usage: "",
        help: "last command, memory, window, limit, descriptors, clock",
        run: status,
    },
    Command {
        name: "files",
        usage: "",
        help: "list the initial archive and /tmp",
        run: files,
    },
    Command {
        name: "rm",
        usage: "PATH...",
        help: "remove files from /tmp",
        run: remove,
    },
    Command {
        name: "poweroff",
        usage: "[STATUS]",
        help: "end with STATUS, or that of the last command",
        run: power_off,
    },
];

static JSON: Single<Cell<bool>> = Single::new(Cell::new(false));

/// Makes commands print JSON lines where they can.
pub fn set_json(json: bool) {
    JSON.get().set(json);
}

/// Whether commands are asked for JSON lines.
pub(super) fn is_json() -> bool {
    JSON.get().get()
}

/// Every command: those of this file, then those of the others.
fn commands() -> impl Iterator<Item = &'static Command> {
    let others = series::COMMANDS
        .iter()
        .chain(&policy::COMMANDS)
        .chain(&faults::COMMANDS);
    COMMANDS.iter().chain(others)
}

static LAST_STATUS: Single<Cell<i32>> = Single::new(Cell::new(0));

/// Ends the firmware: the verdict line, then power off.
pub fn finish(status: i32) -> ! {
    println!("zeronull: done, status {status}");
    board::power_off()
}

/// Prompt, line, command, for ever.
pub fn interactive() -> ! {
    let mut buffer = [0; line::CAPACITY];
    loop {
        print!("zeronull> ");
        match console::read_line(&mut buffer) {
            Line::Complete(length) => match core::str::from_utf8(&buffer[..length]) {
                Ok(text) => run_line(text),
                Err(_) => println!("line is not ASCII text"),
            },
            Line::TooLong(length) => println!(
                "line of {length} bytes is too long: at most {} are accepted",
                line::CAPACITY
            ),
            Line::Interrupted | Line::End => {}
        }
    }
}

/// Runs the commands of a line.
pub fn run_line(line: &str) {
    let commands = match words::split(line) {
        Ok(commands) => commands,
        Err(quote) => {
            println!("{quote} is not closed");
            LAST_STATUS.get().set(USAGE);
            return;
        }
    };
    for command in commands {
        let command: Vec<&str> = command.iter().map(|word| word.as_str()).collect();
        let status = run(&command);
        LAST_STATUS.get().set(status);
        if status == task::ending::INTERRUPT {
            break;
        }
    }
}

/// Runs one command; returns its status.
pub(super) fn run(words: &[&str]) -> i32 {
    let Some((name, arguments)) = words.split_first() else {
        return 0;
    };
    if let Some(command) = commands().find(|command| command.name == *name) {
        return (command.run)(arguments);
    }
    let Some((path, file)) = find_program(name) else {
        println!("{name}: unknown command: help lists what there is");
        return NOT_FOUND;
    };
    match syscall::run_program(path, file, words) {
        Ok(status) => status,
        Err(error) => {
            println!("{name}: {error}");
            NOT_STARTED
        }
    }
}

/// A program of the archive: `bin/NAME`, `sbin/NAME`, or a path. Gives the name for messages, which lives in the archive.
pub(super) fn find_program(name: &str) -> Option<(&'static str, &'static [u8])> {
    let wanted = name.trim_start_matches('/');
    let item = initrd::mounted()
        .filter(|item| {
            let path = item.name;
            path == wanted.as_bytes()
                || [&b"bin/"[..], b"sbin/", b"usr/bin/"]
                    .iter()
                    .any(|d| path.strip_prefix(*d) == Some(wanted.as_bytes()))
        })
        .last()?;
    match initrd::find(item.name)? {
        Entry::File(file) => {
            let path = core::str::from_utf8(item.name).ok()?;
            Some((path.rsplit('/').next().unwrap_or(path), file))
        }
        Entry::Directory(_) => None,
    }
}

pub(super) fn usage(name: &str) -> i32 {
    if let Some(command) = commands().find(|command| command.name == name) {
        println!("usage: {} {}", command.name, command.usage);
    }
    USAGE
}

fn help(_: &[&str]) -> i32 {
    println!("commands:");
    for command in commands() {
        let call = alloc::format!("{} {}", command.name, command.usage);
        println!("  {call:<22} {}", command.help);
    }
    println!("programs (NAME --help says more):");
    for item in initrd::mounted() {
        if let (Some(name), Some(Entry::File(_))) = (item.name.strip_prefix(b"bin/"), initrd::find(item.name)) {
            println!("  {:<22} {} bytes", name.escape_ascii(), item.data.len());
        }
    }
    println!("commands are separated by `;`, quotes keep blanks, Ctrl-C ends a program.");
    0
}

fn time(words: &[&str]) -> i32 {
    let before = (clock::now(), accounting::times());
    let status = run(words);
    let after = (clock::now(), accounting::times());
    let times = after.1.since(&before.1);
    let span = |ticks: u64| to_time(ticks, clock::timebase_hz());
    let (real, user, sys) = if accounting::is_exact() {
        // Of the three numbers as they are printed the last is the difference of the others, so that they add up.
        let (real, user) = (
            span(times.user + times.system).hundredths(),
            span(times.user).hundredths(),
        );
        (real, user, real.since(user))
    } else {
        (after.0.since(before.0), span(times.user), span(times.system))
    };
    println!("real    {}", real.minutes());
    println!("user    {}", user.minutes());
    println!("sys     {}", sys.minutes());
    status
}

fn accounting_command(words: &[&str]) -> i32 {
    match words {
        [] => {
            println!(
                "accounting is {}",
                if accounting::is_exact() { "exact" } else { "by ticks" }
            );
            0
        }
        ["exact"] => {
            accounting::set_exact(true);
            0
        }
        ["tick"] => {
            accounting::set_exact(false);
            0
        }
        ["cost"] => accounting_cost(),
        _ => usage("accounting"),
    }
}

/// Runs the same system calls with each way to keep times; the difference is what the exact one costs.
fn accounting_cost() -> i32 {
    const CALLS: u32 = 100_000;
    let Clocks { core_hz, timebase_hz } = clock::clocks();
    if timebase_hz == 0 {
        println!("accounting cost: no timebase");
        return 1;
    }
    let was_exact = accounting::is_exact();
    let measure = |is_exact| {
        accounting::set_exact(is_exact);
        let start = spr::timebase();
        let status = run(&["nullcall", "100000"]);
        (status == 0).then(|| spr::timebase() - start)
    };
    let (by_ticks, exact) = (measure(false), measure(true));
    accounting::set_exact(was_exact);
    let (Some(by_ticks), Some(exact)) = (by_ticks, exact) else {
        println!("accounting cost: nullcall cannot be run");
        return 1;
    };
    let tenths = i128::from(exact) - i128::from(by_ticks);
    let tenths = tenths * 10 * i128::from(core_hz) / i128::from(timebase_hz) / i128::from(CALLS);
    let sign = if tenths < 0 { "-" } else { "" };
    let tenths = tenths.unsigned_abs();
    println!(
        "exact accounting: {sign}{}.{} core cycles a system call",
        tenths / 10,
        tenths % 10
    );
    0
}

fn selftest(words: &[&str]) -> i32 {
    let (json, words) = match words {
        ["--json", rest @ ..] | [rest @ .., "--json"] => (true, rest),
        _ => (is_json(), words),
    };
    match words {
        [] => selftest::run(None, json),
        [suite] => selftest::run(Some(suite), json),
        _ => usage("selftest"),
    }
}

fn provoke(words: &[&str]) -> i32 {
    match words {
        [] => {
            lkdtm::list();
            0
        }
        [name] => lkdtm::run(name, false),
        [name, "fatal"] => lkdtm::run(name, true),
        _ => usage("lkdtm"),
    }
}

fn preset(words: &[&str]) -> i32 {
    match words {
        [] => {
            for preset in &syscall::PRESETS {
                let mark = if core::ptr::eq(preset, syscall::chosen()) {
                    '*'
                } else {
                    ' '
                };
                println!("{mark} {:<15} {}", preset.name, preset.reason);
                println!("           {}", preset.machinery.values.join(" "));
            }
            0
        }
        [name] => {
            if syscall::choose(name).is_none() {
                let names: Vec<&str> = syscall::PRESETS.iter().map(|preset| preset.name).collect();
                println!("preset {name} does not exist: accepted are {}", names.join(", "));
                return USAGE;
            }
            0
        }
        _ => usage("preset"),
    }
}

fn watch(words: &[&str]) -> i32 {
    let (path, wanted) = match words {
        [] => {
            for inode in notify::all() {
                match inode.events() {
                    Some((accesses, modifications)) => {
                        println!("{:<14} {accesses} accesses, {modifications} modifications", inode.path);
                    }
                    None => println!("{:<14} not watched", inode.path),
                }
            }
            return 0;
        }
        [path] => (path, true),
        [path, "off"] => (path, false),
        _ => return usage("watch"),
    };
    let Some(inode) = notify::all().iter().find(|inode| inode.path == *path) else {
        println!("watch: {path} cannot be watched: `watch` lists what can");
        return USAGE;
    };
    inode.watch(wanted);
    0
}

fn counters(words: &[&str]) -> i32 {
    match words {
        [] => {
            for (name, value) in uaccess::counters().all() {
                println!("{name:<17} {value}");
            }
            0
        }
        ["reset"] => {
            uaccess::counters().reset();
            0
        }
        _ => usage("counters"),
    }
}

fn status(_: &[&str]) -> i32 {
    let (used, size) = mm::heap::usage();
    let (free, total) = mm::frames::usage();
    let now = clock::now();
    println!("last      status {}", LAST_STATUS.get().get());
    println!("heap      {used} of {size} bytes in use");
    println!("frames    {free} of {total} free");
    println!(
        "window    {}",
        if crate::arch::window::is_open() {
            "open"
        } else {
            "closed"
        }
    );
    println!(
        "limit     {}",
        if uaccess::limit::uaccess_kernel() {
            "kernel"
        } else {
            "user"
        }
    );
    println!(
        "files     {} of {} descriptors in use",
        task::current().files.in_use(),
        fs::DESCRIPTORS
    );
    println!(
        "uptime    {}.{:06} s, time base {} Hz",
        now.seconds,
        now.nanoseconds / 1000,
        clock::timebase_hz()
    );
    println!("console   {} bytes of input lost", console::lost_input());
    println!("preset    {}", syscall::chosen().name);
    0
}

fn files(_: &[&str]) -> i32 {
    for item in initrd::mounted() {
        println!(
            "{:06o} {:>9}  /{}",
            item.mode,
            item.data.len(),
            item.name.escape_ascii()
        );
    }
    tmp::for_each(|name, size| println!("{:06o} {size:>9}  /tmp/{}", 0o100_644, name.escape_ascii()));
    0
}

fn remove(words: &[&str]) -> i32 {
    if words.is_empty() {
        return usage("rm");
    }
    let mut status = 0;
    for path in words {
        match node::lookup(path.as_bytes()) {
            Ok(Node::Tmp(index)) => tmp::unlink(index),
            Ok(_) => {
                println!("rm: {path} is not a file of /tmp, only those can be removed");
                status = 1;
            }
            Err(error) => {
                println!("rm: {path}: {}", error.message());
                status = 1;
            }
        }
    }
    status
}

fn power_off(words: &[&str]) -> i32 {
    match words {
        [] => finish(LAST_STATUS.get().get()),
        [status] => match status.parse::<u8>() {
            Ok(status) => finish(status.into()),
            Err(_) => {
                println!("poweroff: status {status}: accepted are 0 to 255");
                USAGE
            }
        },
        _ => usage("poweroff"),
    }
}
