//! `bench copy_mc`: each engine of the machine-check-safe copy alone, and what the dispatcher makes of them.
//!
//! The lesson of the mails: the careful engine measured alone may be as good as it likes, while the path that calls it
//! halves the speed, because it runs both.
#![forbid(unsafe_code)]

use super::clock::{NANOSECONDS, timebase_hz};
use crate::addr::UserAddr;
use crate::arch::mmu_types::Protection;
use crate::arch::ppc::spr::timebase;
use crate::arch::ppc::static_key::COPY_MC_FRAGILE;
use crate::mm::{AddressSpace, pmem};
use crate::policy::{CopyMcBug, Fast};
use crate::println;
use crate::uaccess::copy_mc::{Engine, McResidue, McSource, copy_by_engine, copy_mc_to_user};
use crate::uaccess::{UserRange, access_ok};

/// Bytes of a copy at most.
pub const MOST: u32 = 64 << 10;

/// Bytes that each row copies in all, at least one copy.
const TOTAL: u32 = 4 << 20;

const TARGET: u32 = 0x1000_0000;

/// Prints a row per engine and per composition, for copies of `bytes` bytes from all over the device. Returns 0, or 1 if
/// there is no memory for it or a copy met an error.
pub fn run(bytes: u32) -> i32 {
    let Some((space, range)) = target(bytes) else {
        println!("bench copy_mc: no memory for {bytes} bytes");
        return 1;
    };
    space.activate();
    let was_fragile = COPY_MC_FRAGILE.is_enabled();
    println!("copy_mc of {bytes} bytes, nanoseconds a copy");
    let mut failed = false;
    let mut row = |name: &str, fragile: bool, copy: fn(&UserRange, &McSource) -> McResidue| {
        COPY_MC_FRAGILE.set(fragile);
        match measure(bytes, &range, copy) {
            Some(nanoseconds) => println!("{name:<34} {nanoseconds:>9}"),
            None => {
                println!("{name:<34} met an error: `poison` lists what is lost");
                failed = true;
            }
        }
    };
    row("engine fragile alone", true, |range, source| {
        copy_by_engine::<Fast>(Engine::Fragile, range, source)
    });
    row("engine generic alone", true, |range, source| {
        copy_by_engine::<Fast>(Engine::Generic, range, source)
    });
    row("copy_mc_to_user, fragile on", true, copy_mc_to_user::<Fast>);
    row("copy_mc_to_user, fragile off", false, copy_mc_to_user::<Fast>);
    row("without the else, fragile on", true, copy_mc_to_user::<CopyMcBug>);
    row("without the else, fragile off", false, copy_mc_to_user::<CopyMcBug>);
    COPY_MC_FRAGILE.set(was_fragile);
    AddressSpace::deactivate();
    failed.into()
}

fn target(bytes: u32) -> Option<(AddressSpace, UserRange)> {
    let space = AddressSpace::new().ok()?;
    space.map(TARGET, TARGET + MOST, Protection::READ_WRITE).ok()?;
    let range = access_ok::<Fast>(UserAddr::new(TARGET), bytes).ok()?;
    Some((space, range))
}

fn measure(bytes: u32, range: &UserRange, copy: fn(&UserRange, &McSource) -> McResidue) -> Option<u64> {
    let blocks = pmem::size() / bytes;
    let count = (TOTAL / bytes).clamp(1, 4096);
    let start = timebase();
    for index in 0..count {
        // A stride that is no divisor, so that no block is in the cache from the turn before.
        let block = index.wrapping_mul(7) % blocks.max(1);
        if copy(range, &McSource::pmem(block * bytes, bytes)).bytes() != 0 {
            return None;
        }
    }
    let ticks = timebase() - start;
    let hz = u64::from(timebase_hz()).max(1);
    Some(ticks * NANOSECONDS / hz / u64::from(count))
}
