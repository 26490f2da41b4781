//! Suite `exc`: faults, TLB misses and interrupts around the window.
#![forbid(unsafe_code)]

use super::sandbox::{AREA, EDGE, HOLE, POISON, Rights, Sandbox, range};
use super::{Report, Test, counting, settled};
use crate::addr::PAGE_SIZE;
use crate::check;
use crate::uaccess::operations::Operations;

pub(super) const TESTS: &[Test] = &[
    Test::new("exc", "copies over a boundary of 256 MiB", boundary),
    Test::new("exc", "window closes after a fault inside it", after_a_fault),
    Test::new("exc", "fault behind a TLB miss", behind_a_miss),
    #[cfg(target_os = "none")]
    Test::new("exc", "kernel access with the window closed", target::closed).needs(super::Needs::Window),
    #[cfg(target_os = "none")]
    Test::new("exc", "window under interrupts", target::interrupts).needs(super::Needs::Window),
];

// U-069
fn boundary(operations: &Operations) -> Report {
    let sandbox = Sandbox::under(operations)?;
    sandbox.map(AREA - PAGE_SIZE, Rights::ReadWrite)?;
    sandbox.map(HOLE - PAGE_SIZE, Rights::ReadWrite)?;
    let mut source = [0; 64];
    counting(7, &mut source);
    // In front of the boundary everything is mapped; behind the first too, behind the second nothing is.
    for (edge, behind) in [(AREA, 64), (HOLE, 0)] {
        for before in 0..=64u32 {
            let target = range(edge - before, 64);
            let good = 64.min(before + behind);
            sandbox.write(edge - before, &[POISON; 64][..good as usize]);
            let left = (operations.copy_to_user)(&target, &source).bytes();
            check!(left == 64 - good, "to {before} before {edge:#x}: residue {left}");
            check!(
                sandbox.read(edge - before, good) == source[..good as usize],
                "to {before} before {edge:#x}"
            );
            let mut back = [0; 64];
            let left = (operations.copy_from_user)(&mut back, &target).bytes();
            check!(
                left == 64 - good && back[..good as usize] == source[..good as usize],
                "from {before} before {edge:#x}: residue {left}"
            );
            let left = (operations.clear_user)(&target).bytes();
            check!(
                left == 64 - good && sandbox.read(edge - before, good).iter().all(|byte| *byte == 0),
                "clear {before} before {edge:#x}: residue {left}"
            );
            settled(operations)?;
        }
    }
    Ok("2 boundaries".into())
}

// U-070
fn after_a_fault(operations: &Operations) -> Report {
    let _sandbox = Sandbox::under(operations)?;
    for length in 1..64 {
        let target = range(EDGE, length);
        let mut bytes = [0; 64];
        let left = [
            (operations.clear_user)(&target).bytes(),
            (operations.copy_to_user)(&target, &bytes).bytes(),
            (operations.copy_from_user)(&mut bytes, &target).bytes(),
        ];
        check!(left == [length; 3], "{length} bytes: residues {left:?}");
        settled(operations)?;
    }
    Ok("189 faults".into())
}

// U-084: the translation of the page, and of its table, must be loaded within the access that then faults.
fn behind_a_miss(operations: &Operations) -> Report {
    let sandbox = Sandbox::under(operations)?;
    let rounds = if cfg!(target_os = "none") { 10_000 } else { 100 };
    let mut bytes = [0; 64];
    for round in 0..rounds {
        let good = round % 64;
        sandbox.forget_translations();
        let left = (operations.copy_from_user)(&mut bytes, &range(EDGE - good, 64)).bytes();
        check!(left == 64 - good, "round {round}: residue {left}");
    }
    settled(operations)?;
    Ok(alloc::format!("{rounds} rounds"))
}

#[cfg(target_os = "none")]
mod target {
    use super::super::{Report, settled};
    use crate::arch::CACHE_LINE;
    use crate::arch::ppc::provoke;
    use crate::check;
    use crate::measure::clock;
    use crate::selftest::sandbox::{AREA, Sandbox, range};
    use crate::uaccess::counters;
    use crate::uaccess::operations::Operations;

    /// Ticks in a second while the window is opened and closed.
    const RATE: u32 = 20_000;
    const ROUNDS: u32 = 200_000;

    // U-075: refused once, then over; a page that the program owns is no reason to try again.
    pub(in super::super) fn closed(operations: &Operations) -> Report {
        let sandbox = Sandbox::under(operations)?;
        sandbox.write(AREA, &[7; 4]);
        let fault = provoke::load(AREA);
        check!(
            fault.is_err_and(|fault| fault.address == AREA && !fault.store),
            "{fault:x?}"
        );
        let word = (operations.u32.get)(crate::addr::UserAddr::new(AREA));
        check!(word == Ok(0x0707_0707), "user access afterwards: {word:x?}");
        settled(operations)?;
        Ok("one fault".into())
    }

    // U-073
    pub(in super::super) fn interrupts(operations: &Operations) -> Report {
        let _sandbox = Sandbox::under(operations)?;
        let at_interrupt = || counters().all()[5].1;
        let (before, ticks) = (at_interrupt(), clock::interrupts());
        clock::set_sample_rate(RATE);
        let target = range(AREA, CACHE_LINE as u32);
        let mut result = Ok(());
        for round in 0..ROUNDS {
            let left = (operations.clear_user)(&target).bytes();
            result = settled(operations).map_err(|text| alloc::format!("round {round}: {text}"));
            if left != 0 || result.is_err() {
                break;
            }
        }
        clock::set_sample_rate(0);
        result?;
        Ok(alloc::format!(
            "{ROUNDS} windows, {} interrupts, {} of them in one",
            clock::interrupts().wrapping_sub(ticks),
            at_interrupt() - before
        ))
    }
}
