//! Commands around memory errors and the copies that survive them: `poison`, `inject`, `static_key`, `copy_mc`, `bench`.
#![forbid(unsafe_code)]

use super::commands::{Command, USAGE, is_json, usage};
use super::words::number;
use crate::addr::KERNEL_BASE;
use crate::arch::ppc::{provoke, static_key};
use crate::measure::clock;
use crate::mm::pmem;
use crate::mm::poison::{CAPACITY, PoisonError};
use crate::uaccess::copy_mc;
use crate::{measure, println, selftest};

pub(super) static COMMANDS: [Command; 5] = [
    Command {
        name: "poison",
        usage: "[OFFSET LEN | clear]",
        help: "list or lose bytes of /dev/pmem0, or make all good",
        run: poison,
    },
    Command {
        name: "inject",
        usage: "mce ADDRESS | load ADDRESS | storm [COUNT]",
        help: "lose a byte once; load one; 100000 machine checks",
        run: inject,
    },
    Command {
        name: "static_key",
        usage: "[NAME on|off]",
        help: "list or switch the static branches",
        run: static_key,
    },
    Command {
        name: "copy_mc",
        usage: "[reset]",
        help: "passes, bytes and machine checks of copy_mc",
        run: copy_mc,
    },
    Command {
        name: "bench",
        usage: "copy_mc [BYTES] | uaccess [--json]",
        help: "cost of copy_mc or of user access",
        run: bench,
    },
];

fn poison(words: &[&str]) -> i32 {
    let (size, base) = (pmem::size(), pmem::base());
    match words {
        [] => {
            println!(
                "/dev/pmem0: {size} bytes at {base:#010x}, physical {:#010x}",
                base.wrapping_sub(KERNEL_BASE)
            );
            for range in pmem::lost() {
                println!("poison {:#x} {}", range.start, range.end - range.start);
            }
            0
        }
        ["clear"] => {
            pmem::clear();
            0
        }
        [offset, length] => {
            let (Some(start), Some(bytes)) = (number(offset), number(length)) else {
                println!("poison: {offset} {length}: accepted are decimal or 0x... numbers");
                return USAGE;
            };
            match pmem::poison(start, bytes) {
                Ok(()) => 0,
                Err(error) => refuse(error, start, bytes),
            }
        }
        _ => usage("poison"),
    }
}

fn refuse(error: PoisonError, start: u32, bytes: u32) -> i32 {
    match error {
        PoisonError::OutOfRange => println!(
            "poison: {bytes} bytes at {start:#x}: accepted are 1 byte and more within the {} bytes of /dev/pmem0",
            pmem::size()
        ),
        PoisonError::Full => println!("poison: the list is full: at most {CAPACITY} separate ranges are accepted"),
    }
    USAGE
}

fn inject(words: &[&str]) -> i32 {
    match words {
        ["mce", address] => {
            let base = pmem::base();
            // Kernel or physical, of the device.
            let offset = number(address).and_then(|address| {
                [address.checked_sub(base), address.checked_sub(base - KERNEL_BASE)]
                    .into_iter()
                    .flatten()
                    .find(|offset| *offset < pmem::size())
            });
            match offset.map(pmem::poison_once) {
                Some(Ok(())) => 0,
                _ => {
                    println!(
                        "inject mce {address}: accepted are addresses of /dev/pmem0, {base:#010x} to {:#010x} or physical",
                        base + (pmem::size().max(1) - 1)
                    );
                    USAGE
                }
            }
        }
        ["load", address] => match number(address) {
            Some(address) => {
                // What becomes of a fault is the kernel's business, as for any load of its own: no fixup, the end.
                println!("loaded {:#010x} from {address:#010x}", provoke::load_plainly(address));
                0
            }
            None => {
                println!("inject load {address}: accepted are decimal or 0x... addresses");
                USAGE
            }
        },
        ["storm"] => selftest::storm(selftest::STORM),
        ["storm", count] => match number(count) {
            Some(count) if count > 0 => selftest::storm(count),
            _ => {
                println!("inject storm {count}: accepted are counts from 1");
                USAGE
            }
        },
        _ => usage("inject"),
    }
}

fn static_key(words: &[&str]) -> i32 {
    let state = |enabled| if enabled { "on" } else { "off" };
    match words {
        [] => {
            for key in static_key::KEYS {
                println!(
                    "{:<16} {:<3} {} places: {}",
                    key.name,
                    state(key.is_enabled()),
                    key.site_count(),
                    key.help
                );
            }
            0
        }
        [name, wanted] => {
            let Some(key) = static_key::find(name) else {
                let names: alloc::vec::Vec<&str> = static_key::KEYS.iter().map(|key| key.name).collect();
                println!("static_key {name} does not exist: accepted are {}", names.join(", "));
                return USAGE;
            };
            match *wanted {
                "on" => key.set(true),
                "off" => key.set(false),
                _ => {
                    println!("static_key {name} {wanted}: accepted are on, off");
                    return USAGE;
                }
            }
            0
        }
        _ => usage("static_key"),
    }
}

fn copy_mc(words: &[&str]) -> i32 {
    match words {
        [] => {
            let counts = copy_mc::counts();
            println!("passes fragile    {}", counts.fragile);
            println!("passes generic    {}", counts.generic);
            println!("bytes by engines  {}", counts.bytes);
            println!("machine checks    {}", counts.machine_checks);
            0
        }
        ["reset"] => {
            copy_mc::reset_counts();
            0
        }
        _ => usage("copy_mc"),
    }
}

fn bench(words: &[&str]) -> i32 {
    let bytes = match words {
        ["uaccess"] => return measure::uaccess::run(clock::clocks(), is_json()),
        ["uaccess", "--json"] => return measure::uaccess::run(clock::clocks(), true),
        ["copy_mc"] => Some(4096),
        ["copy_mc", bytes] => number(bytes),
        _ => return usage("bench"),
    };
    match bytes.filter(|bytes| (1..=measure::copy_mc::MOST).contains(bytes)) {
        Some(bytes) => measure::copy_mc::run(bytes),
        None => {
            println!("bench copy_mc: accepted are 1 to {} bytes", measure::copy_mc::MOST);
            USAGE
        }
    }
}
