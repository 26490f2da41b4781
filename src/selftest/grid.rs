//! Suite `grid`: every alignment of both sides and every length near a page end, against a model that moves one byte at a
//! time.
#![forbid(unsafe_code)]

use super::sandbox::{EDGE, POISON, Sandbox, range};
use super::{Report, STEP, Test, counting, settled};
use crate::arch::CACHE_LINE;
use crate::check;
use crate::uaccess::operations::Operations;

pub(super) const TESTS: &[Test] = &[
    Test::new("grid", "to user", to_user),
    Test::new("grid", "from user", from_user),
    Test::new("grid", "clear", clear),
];

const LINE: usize = CACHE_LINE;
/// Bytes before the page end that a copy may begin in or cross.
const WINDOW: usize = 3 * LINE;
/// Bytes around both sides that must stay as they are.
const RED: usize = 32;
/// Longest copy.
const MOST: usize = WINDOW + LINE;
/// The kernel's side: red zone, alignment, longest copy, red zone.
const KERNEL: usize = RED + LINE + MOST + RED;
/// The user's side, up to the page end.
const USER: usize = RED + WINDOW;
const START: u32 = EDGE - USER as u32;

/// Kernel alignments, places before the page end, lengths.
fn grid() -> impl Iterator<Item = (usize, usize, usize)> {
    let offsets = |limit: usize| (0..limit).step_by(STEP);
    offsets(LINE).flat_map(move |kernel| {
        offsets(LINE)
            .flat_map(move |user| offsets(MOST + 1).map(move |length| (kernel, WINDOW - 2 * LINE + user, length)))
    })
}

/// One byte after the other until the page end; returns how many.
fn model(source: &[u8], target: &mut [u8], length: usize, good: usize) -> usize {
    let mut done = 0;
    while done < length && done < good {
        target[done] = source[done];
        done += 1;
    }
    done
}

/// The page behind the end is as before.
fn edge_is_untouched(sandbox: &Sandbox) -> bool {
    sandbox.read(EDGE, 2 * MOST as u32).iter().all(|byte| *byte == POISON)
}

// U-021
fn to_user(operations: &Operations) -> Report {
    let sandbox = Sandbox::under(operations)?;
    sandbox.write(EDGE, &[POISON; 2 * MOST]);
    let mut source = [0; KERNEL];
    counting(1, &mut source);
    let mut count = 0;
    for (kernel, user, length) in grid() {
        let from = &source[RED + kernel..];
        let mut expected = [POISON; USER];
        sandbox.write(START, &expected);
        let done = model(from, &mut expected[RED + user..], length, WINDOW - user);
        let target = range(START + (RED + user) as u32, length as u32);
        let left = (operations.copy_to_user)(&target, &from[..length]).bytes() as usize;
        check!(
            left == length - done,
            "{kernel}/{user}/{length}: residue {left}, not {}",
            length - done
        );
        let mut found = [0; USER];
        sandbox.read_into(START, &mut found);
        check!(found == expected, "{kernel}/{user}/{length}: {found:?}");
        count += 1;
    }
    check!(edge_is_untouched(&sandbox), "the page behind the end changed");
    settled(operations)?;
    Ok(alloc::format!("{count} combinations, 0 mismatches, line {LINE}"))
}

// U-021
fn from_user(operations: &Operations) -> Report {
    let sandbox = Sandbox::under(operations)?;
    let mut memory = [0; USER];
    counting(1, &mut memory);
    sandbox.write(START, &memory);
    let mut count = 0;
    for (kernel, user, length) in grid() {
        let mut expected = [POISON; KERNEL];
        let done = model(
            &memory[RED + user..],
            &mut expected[RED + kernel..],
            length,
            WINDOW - user,
        );
        let source = range(START + (RED + user) as u32, length as u32);
        let mut found = [POISON; KERNEL];
        let target = &mut found[RED + kernel..][..length];
        let left = (operations.raw_copy_from_user)(target, &source).bytes() as usize;
        check!(
            left == length - done,
            "{user}/{kernel}/{length}: residue {left}, not {}",
            length - done
        );
        check!(found == expected, "{user}/{kernel}/{length}: {found:?}");
        count += 1;
    }
    let mut after = [0; USER];
    sandbox.read_into(START, &mut after);
    check!(after == memory, "the source changed");
    settled(operations)?;
    Ok(alloc::format!("{count} combinations, 0 mismatches, line {LINE}"))
}

// U-042
fn clear(operations: &Operations) -> Report {
    let sandbox = Sandbox::under(operations)?;
    sandbox.write(EDGE, &[POISON; 2 * MOST]);
    let mut count = 0;
    for user in (0..WINDOW).step_by(STEP) {
        for length in (0..=MOST).step_by(STEP) {
            let mut expected = [POISON; USER];
            sandbox.write(START, &expected);
            let done = model(&[0; MOST], &mut expected[RED + user..], length, WINDOW - user);
            let target = range(START + (RED + user) as u32, length as u32);
            let left = (operations.clear_user)(&target).bytes() as usize;
            check!(
                left == length - done,
                "{user}/{length}: residue {left}, not {}",
                length - done
            );
            let mut found = [0; USER];
            sandbox.read_into(START, &mut found);
            check!(found == expected, "{user}/{length}: {found:?}");
            count += 1;
        }
    }
    check!(edge_is_untouched(&sandbox), "the page behind the end changed");
    settled(operations)?;
    Ok(alloc::format!("{count} combinations, 0 mismatches, line {LINE}"))
}
