//! Machine-check-safe copies from `/dev/pmem0`'s memory, against what its poison list says.
//!
//! The tests take the device over: its bytes are a pattern and its poison list is empty afterwards.
#![forbid(unsafe_code)]

use super::Test;
use super::sandbox::{AREA, EDGE, POISON, Sandbox, range};
use crate::addr::PAGE_SIZE;
use crate::arch::CACHE_LINE;
use crate::arch::ppc::static_key::COPY_MC_FRAGILE;
use crate::arch::window;
use crate::mm::{frames, heap, pmem};
use crate::policy::{CopyMcBug, Fast};
use crate::uaccess::copy_mc::{Counts, McSource, copy_mc_to_kernel, copy_mc_to_user, counts};
use crate::{check, println, task};
use alloc::string::String;

const LINE: u32 = CACHE_LINE as u32;

/// Bytes that the tests use: three pages.
const SPAN: u32 = 3 * PAGE_SIZE;

/// Machine checks of a storm when nothing else is asked for.
pub const STORM: u32 = 100_000;

pub(super) const TESTS: &[Test] = &[
    Test::new("mc", "good memory is copied whole", |_| good_memory()),
    Test::new("mc", "poison at every offset of three pages", |_| every_offset()),
    Test::new("mc", "poison and a refused target in one copy", |_| poison_and_fault()),
    Test::new("mc", "one engine a copy, also when toggled", |_| passes()),
    Test::new("mc", "copies without the else run both engines", |_| missing_else()),
    Test::new("mc", "what is not lost stays readable", |_| rest_is_readable()),
];

/// The device while a test has it.
struct Device {
    was_fragile: bool,
}

impl Device {
    fn new() -> Result<Self, String> {
        check!(pmem::size() >= SPAN, "no device memory");
        pmem::clear();
        pmem::with_bytes(0, SPAN, |bytes| {
            for (offset, byte) in (0..).zip(bytes) {
                *byte = pattern(offset);
            }
        });
        Ok(Self {
            was_fragile: COPY_MC_FRAGILE.is_enabled(),
        })
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        pmem::clear();
        COPY_MC_FRAGILE.set(self.was_fragile);
    }
}

/// What the device holds: never the value of untouched memory.
fn pattern(offset: u32) -> u8 {
    match (offset ^ offset >> 8) as u8 {
        POISON => 0,
        value => value,
    }
}

fn is_pattern(bytes: &[u8], offset: u32) -> bool {
    (offset..).zip(bytes).all(|(offset, byte)| *byte == pattern(offset))
}

fn lose(offset: u32) -> Result<(), String> {
    pmem::poison(offset, 1).map_err(|error| alloc::format!("poison {offset:#x}: {error:?}"))
}

fn heal(offset: u32) -> Result<(), String> {
    pmem::heal(offset..offset + 1).map_err(|error| alloc::format!("heal {offset:#x}: {error:?}"))
}

/// Both engines, as the static branch gives them.
fn each_engine(mut check: impl FnMut(&str) -> Result<(), String>) -> Result<(), String> {
    for (name, is_fragile) in [("fragile", true), ("generic", false)] {
        COPY_MC_FRAGILE.set(is_fragile);
        check(name)?;
    }
    Ok(())
}

fn since(before: Counts) -> Counts {
    let now = counts();
    Counts {
        fragile: now.fragile - before.fragile,
        generic: now.generic - before.generic,
        bytes: now.bytes - before.bytes,
        machine_checks: now.machine_checks.wrapping_sub(before.machine_checks),
    }
}

// U-150
fn good_memory() -> Result<String, String> {
    let _device = Device::new()?;
    let sandbox = Sandbox::new()?;
    let mut count = 0;
    each_engine(|engine| {
        for from in 0..8 {
            for to in 0..8 {
                for length in (0..70).chain([PAGE_SIZE - 1, PAGE_SIZE, PAGE_SIZE + 1]) {
                    sandbox.write(AREA, &alloc::vec![POISON; (to + length + 8) as usize]);
                    let before = counts();
                    let residue = copy_mc_to_user::<Fast>(&range(AREA + to, length), &McSource::pmem(from, length));
                    let events = since(before).machine_checks;
                    check!(
                        residue.bytes() == 0 && events == 0,
                        "{engine} {from}/{to}/{length}: residue {}, {events} machine checks",
                        residue.bytes()
                    );
                    let bytes = sandbox.read(AREA, to + length + 8);
                    let (guard, rest) = bytes.split_at(to as usize);
                    let (copied, tail) = rest.split_at(length as usize);
                    check!(is_pattern(copied, from), "{engine} {from}/{to}/{length}: data differ");
                    check!(
                        guard.iter().chain(tail).all(|byte| *byte == POISON),
                        "{engine} {from}/{to}/{length}: guard changed"
                    );
                    count += 1;
                }
            }
        }
        Ok(())
    })?;
    Ok(alloc::format!("{count} copies"))
}

/// Copies `length` bytes from `start` with byte `lost` of the device lost, and checks all that is promised.
fn copy_into_poison(engine: &str, sandbox: &Sandbox, lost: u32, start: u32, length: u32) -> Result<(), String> {
    let case = || alloc::format!("{engine} {length} bytes from {start:#x}, lost {lost:#x}");
    let good = if (start..start + length).contains(&lost) {
        lost - start
    } else {
        length
    };
    let hit = good < length;
    let to = AREA + lost % 4;
    sandbox.write(AREA, &[POISON; 160][..length as usize + 8]);
    let before = counts();
    let residue = copy_mc_to_user::<Fast>(&range(to, length), &McSource::pmem(start, length));
    let events = since(before).machine_checks;
    check!(
        residue.bytes() == length - good,
        "{}: residue {}, not {}",
        case(),
        residue.bytes(),
        length - good
    );
    check!(events == u32::from(hit), "{}: {events} machine checks", case());
    check!(residue.is_lost() == hit, "{}: told apart wrongly", case());
    check!(!window::is_open(), "{}: the window is open", case());
    let bytes = sandbox.read(to, length);
    let (copied, rest) = bytes.split_at(good as usize);
    check!(is_pattern(copied, start), "{}: data differ", case());
    check!(
        rest.iter().all(|byte| *byte == POISON),
        "{}: bytes delivered from the lost one on",
        case()
    );

    if lost % 4 == 1 {
        copy_into_poison_to_kernel(start, length, good).map_err(|error| alloc::format!("{}: {error}", case()))?;
    }
    Ok(())
}

fn copy_into_poison_to_kernel(start: u32, length: u32, good: u32) -> Result<(), String> {
    let mut kernel = [POISON; 160];
    let before = counts();
    let residue = copy_mc_to_kernel::<Fast>(&mut kernel[..length as usize], &McSource::pmem(start, length));
    let events = since(before).machine_checks;
    check!(
        residue.bytes() == length - good && events == u32::from(good < length),
        "to kernel: residue {}, {events} machine checks",
        residue.bytes()
    );
    let (copied, rest) = kernel.split_at(good as usize);
    check!(
        is_pattern(copied, start) && rest.iter().all(|byte| *byte == POISON),
        "to kernel: data differ"
    );
    Ok(())
}

// U-148, U-153
fn every_offset() -> Result<String, String> {
    let _device = Device::new()?;
    let sandbox = Sandbox::new()?;
    let mut count = 0u32;
    each_engine(|engine| {
        for lost in 0..SPAN {
            lose(lost)?;
            let (line, page) = (lost / LINE * LINE, lost / PAGE_SIZE * PAGE_SIZE);
            // Over the line's end; now and then from a changing offset before to one that may not reach it; near the ends of a
            // page over those.
            let before = (1 + lost % (2 * LINE + 1)).min(lost);
            let more = if lost - page < 8 && page > 0 {
                (page - 5, 5 + LINE)
            } else if page + PAGE_SIZE - lost < 8 && lost + LINE < SPAN {
                (lost - 3, LINE)
            } else if lost % 4 == 0 {
                (lost - before, before + lost % 7)
            } else {
                (lost, 0)
            };
            for (start, length) in [(line, LINE + 1), more] {
                if length > 0 {
                    copy_into_poison(engine, &sandbox, lost, start, length.min(SPAN - start))?;
                    count += 1;
                }
            }
            // The first lines also from every alignment.
            for start in 0..if lost < 4 * LINE { 16 } else { 0 } {
                copy_into_poison(engine, &sandbox, lost, start, 4 * LINE)?;
                count += 1;
            }
            heal(lost)?;
        }
        Ok(())
    })?;
    Ok(alloc::format!("{count} copies"))
}

// U-149
fn poison_and_fault() -> Result<String, String> {
    let _device = Device::new()?;
    let sandbox = Sandbox::new()?;
    let mut count = 0;
    each_engine(|engine| {
        for from in 0..4u32 {
            for lost in 0..36u32 {
                lose(from + lost)?;
                for good in 0..36u32 {
                    let length = 40;
                    sandbox.write(EDGE - 64, &[POISON; 64]);
                    let target = range(EDGE - good, length);
                    let residue = copy_mc_to_user::<Fast>(&target, &McSource::pmem(from, length));
                    let first = lost.min(good);
                    check!(
                        residue.bytes() == length - first && residue.is_lost() == (lost <= good),
                        "{engine} from {from}, lost at {lost}, target of {good}: {residue:?}"
                    );
                    check!(!window::is_open(), "the window is open");
                    let bytes = sandbox.read(EDGE - good, good);
                    check!(
                        is_pattern(&bytes[..first as usize], from),
                        "{engine} from {from}, lost at {lost}, target of {good}: data differ"
                    );
                    check!(
                        bytes[first as usize..].iter().all(|byte| *byte == POISON),
                        "{engine} from {from}, lost at {lost}, target of {good}: bytes from the lost one on"
                    );
                    count += 1;
                }
                heal(from + lost)?;
            }
        }
        Ok(())
    })?;
    Ok(alloc::format!("{count} copies"))
}

// U-151
fn passes() -> Result<String, String> {
    let _device = Device::new()?;
    let _sandbox = Sandbox::new()?;
    let target = range(AREA, PAGE_SIZE);
    let source = McSource::pmem(0, PAGE_SIZE);
    for turn in 0..1000 {
        let is_fragile = turn % 2 == 0;
        COPY_MC_FRAGILE.set(is_fragile);
        let before = counts();
        let residue = copy_mc_to_user::<Fast>(&target, &source).bytes();
        let expected = Counts {
            fragile: is_fragile.into(),
            generic: (!is_fragile).into(),
            bytes: PAGE_SIZE.into(),
            machine_checks: 0,
        };
        let found = since(before);
        check!(residue == 0 && found == expected, "turn {turn}: {found:?}");
    }
    COPY_MC_FRAGILE.set(true);
    lose(100)?;
    let before = counts();
    let residue = copy_mc_to_user::<Fast>(&target, &source).bytes();
    let found = since(before);
    check!(
        residue == PAGE_SIZE - 100 && found.generic == 0 && found.machine_checks == 1,
        "poison at 100: residue {residue}, {found:?}"
    );
    Ok("1000 turns".into())
}

// U-151: what the regression looks like in the counters.
fn missing_else() -> Result<String, String> {
    let _device = Device::new()?;
    let _sandbox = Sandbox::new()?;
    for (is_fragile, bytes) in [(true, 2 * PAGE_SIZE), (false, PAGE_SIZE)] {
        COPY_MC_FRAGILE.set(is_fragile);
        let before = counts();
        let residue = copy_mc_to_user::<CopyMcBug>(&range(AREA, PAGE_SIZE), &McSource::pmem(0, PAGE_SIZE)).bytes();
        let found = since(before);
        check!(
            residue == 0 && found.generic == 1 && found.fragile == u64::from(is_fragile) && found.bytes == bytes.into(),
            "fragile {is_fragile}: residue {residue}, {found:?}"
        );
    }
    Ok("8192 bytes moved for 4096".into())
}

fn rest_is_readable() -> Result<String, String> {
    let _device = Device::new()?;
    let _sandbox = Sandbox::new()?;
    let lost = [0, 1, LINE - 1, PAGE_SIZE - 1, PAGE_SIZE, SPAN - 1];
    for offset in lost {
        lose(offset)?;
    }
    each_engine(|engine| {
        let mut byte = [0];
        for offset in 0..SPAN {
            let residue = copy_mc_to_kernel::<Fast>(&mut byte, &McSource::pmem(offset, 1));
            let expected = u32::from(lost.contains(&offset));
            check!(
                residue.bytes() == expected && (expected == 1 || byte[0] == pattern(offset)),
                "{engine} byte {offset:#x}: residue {}, value {}",
                residue.bytes(),
                byte[0]
            );
        }
        Ok(())
    })?;
    Ok(alloc::format!("{} bytes around {} lost ones", SPAN, lost.len()))
}

/// What must be as before after a storm.
fn vitals() -> (usize, u32, usize, bool) {
    let descriptors = task::current().files.in_use();
    (heap::usage().0, frames::usage().0, descriptors, window::is_open())
}

/// Meets `count` machine checks in copies, all of which must be recovered and leak nothing; prints what happened. Returns
/// 0, or 1 with the first difference.
pub fn storm(count: u32) -> i32 {
    let before = vitals();
    match run_storm(count) {
        Ok(()) if vitals() == before => {
            let (heap, frames, descriptors, _) = before;
            println!(
                "storm: {count} machine checks recovered; heap {heap} bytes, frames {frames} free, \
                 descriptors {descriptors}, window closed, as before"
            );
            0
        }
        Ok(()) => {
            println!(
                "storm: (heap, frames, descriptors, window) {before:?} became {:?}",
                vitals()
            );
            1
        }
        Err(text) => {
            println!("storm: {text}");
            1
        }
    }
}

fn run_storm(count: u32) -> Result<(), String> {
    let _device = Device::new()?;
    let sandbox = Sandbox::new()?;
    // Xorshift, Marsaglia 2003.
    let mut state = 0x2545_f491u32;
    let mut below = |limit: u32| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state % limit
    };
    let start = counts();
    for turn in 0..count {
        if turn % 1000 == 0 {
            COPY_MC_FRAGILE.set(turn / 1000 % 2 == 0);
        }
        let lost = below(SPAN);
        let from = lost - below(LINE).min(lost);
        let length = (lost - from + 1 + below(LINE)).min(SPAN - from);
        lose(lost)?;
        let residue = copy_mc_to_user::<Fast>(&range(AREA + below(8), length), &McSource::pmem(from, length));
        check!(
            residue.bytes() == length - (lost - from) && residue.is_lost(),
            "turn {turn}: {length} bytes from {from:#x}, lost {lost:#x}: {residue:?}"
        );
        heal(lost)?;
    }
    let events = since(start).machine_checks;
    check!(events == count, "{events} machine checks in {count} copies");
    drop(sandbox);
    Ok(())
}
