//! `bench uaccess`: what each primitive of user access costs by itself, under the preset in force and with every engine of
//! `clear_user`.
#![forbid(unsafe_code)]

use super::series::{Clocks, Tenths};
use crate::addr::UserAddr;
use crate::arch;
use crate::arch::ppc::spr::timebase;
use crate::policy::{Fast, FastBytes, FastWords};
use crate::println;
use crate::selftest::sandbox::{AREA, Sandbox, range};
use crate::symbols::Symbols;
use crate::syscall;
use crate::uaccess::UserRange;
use crate::uaccess::operations::{self, Operations};
use alloc::string::String;
use alloc::vec::Vec;

/// Bytes of the bulk primitives.
const SIZES: [u32; 3] = [64, 512, 4096];
/// Distance from an aligned address in the second half of the table, on the user's side.
const MISALIGNMENT: u32 = 1;
/// Bytes that each measurement moves in all, so that a tick of the time base does not matter.
const TOTAL: u32 = 1 << 20;
/// Turns of the primitives that move an integer.
const TURNS: u32 = 20_000;

/// Moves or looks at all bytes of a range, and says whether it did.
type Bulk = fn(&Operations, &UserRange, &mut [u8]) -> bool;
/// Moves one integer.
type Single = fn(&Operations, UserAddr) -> bool;

/// A row: name, the assembly that does the work, how to call it.
const BULK: [(&str, &str, Bulk); 5] = [
    ("clear_user", "", |operations, range, _| {
        (operations.clear_user)(range).is_done()
    }),
    ("copy_to_user", "__copy_tofrom_user", |operations, range, kernel| {
        (operations.copy_to_user)(range, kernel).is_done()
    }),
    ("copy_from_user", "__copy_tofrom_user", |operations, range, kernel| {
        (operations.copy_from_user)(kernel, range).is_done()
    }),
    (
        "strncpy_from_user",
        "__strncpy_from_user",
        |operations, range, kernel| {
            (operations.strncpy_from_user)(kernel, UserAddr::new(range.start())) == Ok(range.len())
        },
    ),
    ("strnlen_user", "__strnlen_user", |operations, range, _| {
        (operations.strnlen_user)(UserAddr::new(range.start()), range.len()) == range.len() + 1
    }),
];

const SINGLE: [(&str, &str, Single); 9] = [
    ("get_user 1", "__get_user_1", |operations, at| {
        (operations.u8.get)(at).is_ok()
    }),
    ("get_user 2", "__get_user_2", |operations, at| {
        (operations.u16.get)(at).is_ok()
    }),
    ("get_user 4", "__get_user_4", |operations, at| {
        (operations.u32.get)(at).is_ok()
    }),
    ("get_user 8", "__get_user_4", |operations, at| {
        (operations.u64.get)(at).is_ok()
    }),
    ("put_user 1", "__put_user_1", |operations, at| {
        (operations.u8.put)(at, 1).is_ok()
    }),
    ("put_user 2", "__put_user_2", |operations, at| {
        (operations.u16.put)(at, 1).is_ok()
    }),
    ("put_user 4", "__put_user_4", |operations, at| {
        (operations.u32.put)(at, 1).is_ok()
    }),
    ("put_user 8", "__put_user_4", |operations, at| {
        (operations.u64.put)(at, 1).is_ok()
    }),
    (
        "load_unaligned_zeropad",
        "__load_unaligned_zeropad",
        |operations, at| (operations.load_unaligned_zeropad)(at).is_ok(),
    ),
];

/// The engines of `clear_user`: name, assembly, operations.
fn engines() -> [(&'static str, &'static str, &'static Operations); 3] {
    [
        ("clear_user dcbz", "__arch_clear_user", operations::of::<Fast>()),
        ("clear_user words", "__clear_user_words", operations::of::<FastWords>()),
        ("clear_user bytes", "__clear_user_bytes", operations::of::<FastBytes>()),
    ]
}

/// Cycles of one turn; `None` if one did not do its work.
fn cycles(clocks: Clocks, turns: u32, mut turn: impl FnMut() -> bool) -> Option<Tenths> {
    // The first one fills the caches.
    let mut is_done = turn();
    let start = timebase();
    for _ in 0..turns {
        is_done &= turn();
    }
    let ticks = u128::from(timebase() - start);
    let tenths = ticks * u128::from(clocks.core_hz) * 10 / (u128::from(clocks.timebase_hz) * u128::from(turns));
    is_done.then_some(Tenths(tenths as i64))
}

/// One line of output.
struct Row<'a> {
    name: &'a str,
    text: u32,
    values: Vec<(u32, u32, Tenths)>,
}

impl Row<'_> {
    fn print(&self, json: bool) {
        let Self { name, text, values } = self;
        if json {
            for (bytes, offset, cycles) in values {
                println!(
                    "{{\"bench\":\"uaccess\",\"routine\":\"{name}\",\"bytes\":{bytes},\"offset\":{offset},\
                     \"cycles\":{cycles},\"text\":{text}}}"
                );
            }
            return;
        }
        let columns: String = values
            .iter()
            .map(|(_, _, cycles)| alloc::format!("{cycles:>8}"))
            .collect();
        println!("{name:<23}{text:>5}{columns}");
    }
}

/// Bytes of a routine's text, 0 in an image without symbols.
fn text(symbols: Option<&Symbols<'_>>, routine: &str) -> u32 {
    symbols.and_then(|symbols| symbols.size(routine)).unwrap_or(0)
}

/// Prints the cycles of every primitive. Returns 0, or 1 if there is no memory or a primitive failed.
pub fn run(clocks: Clocks, json: bool) -> i32 {
    match rows(clocks, json) {
        Ok(()) => 0,
        Err(error) => {
            println!("bench uaccess: {error}");
            1
        }
    }
}

fn rows(clocks: Clocks, json: bool) -> Result<(), String> {
    if clocks.timebase_hz == 0 {
        return Err("the rate of the time base is unknown".into());
    }
    let chosen = syscall::chosen();
    let symbols = Symbols::new(arch::symbol_blob());
    let symbols = symbols.as_ref();
    if !json {
        println!("cycles of a core of {} Hz, preset {}", clocks.core_hz, chosen.name);
        println!(
            "{:<23}{:>5}{:>24}{:>24}",
            "", "text", "bytes, aligned", "bytes, offset 1"
        );
        let sizes: String = SIZES
            .iter()
            .chain(&SIZES)
            .map(|size| alloc::format!("{size:>8}"))
            .collect();
        println!("{:<28}{sizes}", "");
    }
    for (name, routine, operations) in engines() {
        bulk(clocks, name, text(symbols, routine), operations, BULK[0].2)?.print(json);
    }
    let operations = chosen.machinery.user_access;
    for (name, routine, run) in &BULK[1..] {
        bulk(clocks, name, text(symbols, routine), operations, *run)?.print(json);
    }
    if !json {
        println!("{:<28}{:>8}{:>8}", "", "offset 0", "1");
    }
    for (name, routine, run) in SINGLE {
        let row = single(clocks, name, text(symbols, routine), operations, run)?;
        row.print(json);
    }
    Ok(())
}

fn bulk<'a>(clocks: Clocks, name: &'a str, text: u32, operations: &Operations, run: Bulk) -> Result<Row<'a>, String> {
    let sandbox = Sandbox::under(operations)?;
    let mut kernel = alloc::vec![b'x'; 4096];
    sandbox.write(AREA, &alloc::vec![b'x'; 8192]);
    let mut values = Vec::new();
    for offset in [0, MISALIGNMENT] {
        for bytes in SIZES {
            let (range, kernel) = (range(AREA + offset, bytes), &mut kernel[..bytes as usize]);
            let cycles = cycles(clocks, TOTAL / (bytes + 64), || run(operations, &range, kernel));
            let cycles = cycles.ok_or_else(|| alloc::format!("{name} of {bytes} bytes at offset {offset} failed"))?;
            values.push((bytes, offset, cycles));
        }
    }
    Ok(Row { name, text, values })
}

fn single<'a>(
    clocks: Clocks,
    name: &'a str,
    text: u32,
    operations: &Operations,
    run: Single,
) -> Result<Row<'a>, String> {
    let _sandbox = Sandbox::under(operations)?;
    let mut values = Vec::new();
    for offset in [0, MISALIGNMENT] {
        let at = UserAddr::new(AREA + offset);
        let cycles = cycles(clocks, TURNS, || run(operations, at));
        values.push((0, offset, cycles.ok_or_else(|| alloc::format!("{name} failed"))?));
    }
    Ok(Row { name, text, values })
}
