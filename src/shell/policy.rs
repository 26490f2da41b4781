//! `policy`: the axes, which preset has which value of each, and what a value costs in text.
#![forbid(unsafe_code)]

use super::commands::{Command, is_json, usage};
use crate::arch;
use crate::policy::AXES;
use crate::println;
use crate::symbols::Symbols;
use crate::syscall::{PRESETS, Preset};
use crate::uaccess::nofault::get_kernel_nofault;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

pub(super) static COMMANDS: [Command; 1] = [Command {
    name: "policy",
    usage: "[--json]",
    help: "axes, values, presets, bytes of text",
    run: policy,
}];

/// Columns of the console.
const WIDTH: usize = 80;
/// Where the names of the presets begin.
const INDENT: usize = 36;

/// Bytes of all functions that the tables of a preset lead to by direct calls: its calls, its devices, its user access.
/// What is called through a pointer is not followed.
fn text(symbols: &Symbols<'_>, preset: &Preset) -> u32 {
    let mut known = BTreeMap::new();
    let mut pending = preset.machinery.functions();
    while let Some(address) = pending.pop() {
        let Some(bounds) = symbols
            .bounds(address)
            .filter(|bounds| !known.contains_key(&bounds.start))
        else {
            continue;
        };
        known.insert(bounds.start, bounds.end);
        let branches = bounds.clone().step_by(4).filter_map(branch);
        pending.extend(branches.filter(|target| arch::text().contains(target) && !bounds.contains(target)));
    }
    known.iter().map(|(start, end)| end - start).sum()
}

/// Where an unconditional branch or call at `address` goes (Programming Environments Manual, chapter 8: b, bl).
fn branch(address: u32) -> Option<u32> {
    let word: u32 = get_kernel_nofault(address).ok()?;
    let offset = ((word << 6) as i32 >> 6) as u32 & !3;
    (word >> 26 == 18 && word & 2 == 0).then(|| address.wrapping_add(offset))
}

/// The preset that has this value and is `base` in all else.
fn variant(base: &Preset, axis: usize, value: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| {
        let values = preset.machinery.values.iter().zip(&base.machinery.values);
        preset.machinery.values[axis] == value
            && values.enumerate().all(|(at, (one, other))| at == axis || one == other)
    })
}

fn policy(words: &[&str]) -> i32 {
    let json = match words {
        [] => is_json(),
        ["--json"] => true,
        _ => return usage("policy"),
    };
    let Some(symbols) = Symbols::new(arch::symbol_blob()) else {
        println!("policy: the image has no symbols, which tell the bytes of text");
        return 1;
    };
    let base = &PRESETS[0];
    let base_text = text(&symbols, base);
    if !json {
        println!("text: bytes that a preset's calls, devices and user access, with all that they");
        println!(
            "call, gain with this value, from {base_text} of {}; -: no such preset",
            base.name
        );
        println!("{:<16}{:<12}{:>6}  presets", "axis", "value", "text");
    }
    for (axis, name) in AXES.iter().enumerate() {
        let mut values: Vec<&str> = PRESETS.iter().map(|preset| preset.machinery.values[axis]).collect();
        values.sort_unstable();
        values.dedup();
        for value in values {
            let change =
                variant(base, axis, value).map(|preset| i64::from(text(&symbols, preset)) - i64::from(base_text));
            let (have, lack): (Vec<&Preset>, Vec<&Preset>) = PRESETS
                .iter()
                .partition(|preset| preset.machinery.values[axis] == value);
            if json {
                let change = change.map_or("null".into(), |change| alloc::format!("{change}"));
                let names: Vec<String> = have
                    .iter()
                    .map(|preset| alloc::format!("\"{}\"", preset.name))
                    .collect();
                let names = names.join(",");
                println!("{{\"axis\":\"{name}\",\"value\":\"{value}\",\"text\":{change},\"presets\":[{names}]}}");
            } else {
                let change = change.map_or("-".into(), |change| alloc::format!("{change:+}"));
                print_row(&alloc::format!("{name:<16}{value:<12}{change:>6}  "), &have, &lack);
            }
        }
    }
    0
}

/// One value with the names of its presets, or of those that lack it where these are fewer.
fn print_row(start: &str, have: &[&Preset], lack: &[&Preset]) {
    let (first, names) = match lack {
        [] => ("all", lack),
        _ if lack.len() < have.len() => ("all but", lack),
        _ => ("", have),
    };
    let mut line = String::from(start);
    for name in Some(first).into_iter().chain(names.iter().map(|preset| preset.name)) {
        if name.is_empty() {
            continue;
        }
        if line.len() + 1 + name.len() > WIDTH {
            println!("{}", line.trim_end());
            line = alloc::format!("{:INDENT$}", "");
        }
        line += name;
        line.push(' ');
    }
    println!("{}", line.trim_end());
}
