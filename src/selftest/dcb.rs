//! Suite `dcb`: `clear_user`, and memory that is cached otherwise or not at all.
#![forbid(unsafe_code)]

use super::sandbox::{AREA, Caching, EDGE, HOLE, POISON, Rights, Sandbox, range};
use super::{Report, STEP, Test, acc, counting, settled};
use crate::addr::{PAGE_SIZE, UserAddr};
use crate::arch::CACHE_LINE;
use crate::check;
use crate::uaccess::counters;
use crate::uaccess::operations::Operations;
use alloc::string::String;

pub(super) const TESTS: &[Test] = &[
    Test::new("dcb", "clear_user with guards", guards),
    Test::new("dcb", "clear_user up to a page end", page_end),
    Test::new("dcb", "pages that are not cached", inhibited),
    Test::new("dcb", "pages that are written through", write_through),
    Test::new("dcb", "cached and not cached in turn", alias),
    Test::new("dcb", "first access to a page", first_access),
    Test::new("dcb", "fault behind a fault elsewhere", after_another_fault),
    Test::new("dcb", "last line before a hole", before_a_hole),
];

const LINE: u32 = CACHE_LINE as u32;
const SPAN: usize = 3 * CACHE_LINE + 64 + 2 * CACHE_LINE;

/// Clears `length` bytes at `offset` of the area and checks every byte around.
fn clear(operations: &Operations, sandbox: &Sandbox, offset: u32, length: u32) -> Result<(), String> {
    let mut bytes = [POISON; SPAN];
    sandbox.write(AREA, &bytes);
    let left = (operations.clear_user)(&range(AREA + offset, length)).bytes();
    check!(left == 0, "offset {offset} length {length}: residue {left}");
    sandbox.read_into(AREA, &mut bytes);
    let (before, rest) = bytes.split_at(offset as usize);
    let (cleared, after) = rest.split_at(length as usize);
    check!(
        cleared.iter().all(|byte| *byte == 0) && before.iter().chain(after).all(|byte| *byte == POISON),
        "offset {offset} length {length}: {bytes:?}"
    );
    Ok(())
}

// U-041
fn guards(operations: &Operations) -> Report {
    let sandbox = Sandbox::under(operations)?;
    let mut count = 0;
    for offset in (0..2 * LINE).step_by(STEP) {
        for length in 0..3 * LINE + 6 {
            clear(operations, &sandbox, offset, length)?;
            count += 1;
        }
    }
    for length in [511, 512, 513, 4095, 4096, 4097, 8191] {
        sandbox.write(AREA, &alloc::vec![POISON; 2 * PAGE_SIZE as usize]);
        let left = (operations.clear_user)(&range(EDGE - length, length)).bytes();
        let bytes = sandbox.read(AREA, 2 * PAGE_SIZE);
        let (before, cleared) = bytes.split_at((2 * PAGE_SIZE - length) as usize);
        check!(
            left == 0 && before.iter().all(|byte| *byte == POISON) && cleared.iter().all(|byte| *byte == 0),
            "length {length}: residue {left}"
        );
        count += 1;
    }
    settled(operations)?;
    Ok(alloc::format!("{count} combinations, line {LINE}"))
}

// U-042
fn page_end(operations: &Operations) -> Report {
    let sandbox = Sandbox::under(operations)?;
    let mut count = 0;
    let mut bytes = [0; 4 * CACHE_LINE];
    for good in (0..=3 * LINE).step_by(STEP) {
        for length in good..=good + 2 * LINE {
            sandbox.write(EDGE - 4 * LINE, &[POISON; 4 * CACHE_LINE]);
            let left = (operations.clear_user)(&range(EDGE - good, length)).bytes();
            check!(left == length - good, "{good} good of {length}: residue {left}");
            sandbox.read_into(EDGE - 4 * LINE, &mut bytes);
            let (before, cleared) = bytes.split_at((4 * LINE - good) as usize);
            check!(
                before.iter().all(|byte| *byte == POISON) && cleared.iter().all(|byte| *byte == 0),
                "{good} good of {length}: {bytes:?}"
            );
            count += 1;
        }
    }
    settled(operations)?;
    Ok(alloc::format!("{count} combinations, line {LINE}"))
}

fn alignment_fixups() -> u64 {
    let all = counters().all();
    let count = all.iter().find(|(name, _)| *name == "alignment fixups");
    count.map_or(0, |(_, count)| *count)
}

/// Clears and copies on a page that `dcbz` may not be done on; where the hardware refuses it, each refusal is counted.
fn cached_otherwise(operations: &Operations, caching: Caching) -> Report {
    let sandbox = Sandbox::under(operations)?;
    sandbox.protect(AREA, Rights::ReadWrite, caching)?;
    let before = alignment_fixups();
    let mut count = 0;
    for offset in (0..LINE).step_by(3).chain([LINE - 1]) {
        for length in (0..3 * LINE + 6).step_by(5).chain([LINE, 2 * LINE, 3 * LINE]) {
            clear(operations, &sandbox, offset, length)?;
            count += 1;
        }
    }
    let mut source = [0; 100];
    counting(9, &mut source);
    for offset in 0..LINE {
        sandbox.write(AREA, &[POISON; 160]);
        let target = range(AREA + offset, 100);
        let left = (operations.copy_to_user)(&target, &source).bytes();
        check!(left == 0, "copy to offset {offset}: residue {left}");
        let mut back = [0; 100];
        let left = (operations.copy_from_user)(&mut back, &target).bytes();
        check!(
            left == 0 && back == source && sandbox.read(AREA + offset, 100) == source,
            "copy from offset {offset}: residue {left}, {back:?}"
        );
        count += 2;
    }
    let fixups = alignment_fixups() - before;
    sandbox.protect(AREA, Rights::ReadWrite, Caching::WriteBack)?;
    clear(operations, &sandbox, 1, 2 * LINE)?;
    settled(operations)?;
    Ok(alloc::format!("{count} operations, {fixups} alignment fixups"))
}

// U-046
fn inhibited(operations: &Operations) -> Report {
    cached_otherwise(operations, Caching::Inhibited)
}

// U-047
fn write_through(operations: &Operations) -> Report {
    cached_otherwise(operations, Caching::WriteThrough)
}

// U-044
fn alias(operations: &Operations) -> Report {
    let sandbox = Sandbox::under(operations)?;
    let words = || (AREA..AREA + PAGE_SIZE).step_by(4).map(UserAddr::new);
    for round in 1..=4 {
        sandbox.write(AREA, &alloc::vec![POISON; PAGE_SIZE as usize]);
        let left = (operations.clear_user)(&range(AREA, PAGE_SIZE)).bytes();
        check!(left == 0, "residue {left}");
        sandbox.protect(AREA, Rights::ReadWrite, Caching::Inhibited)?;
        check!(
            words().all(|at| (operations.u32.get)(at) == Ok(0)),
            "round {round}: memory is not zero"
        );
        for at in words() {
            check!(
                (operations.u32.put)(at, at.raw() ^ round).is_ok(),
                "round {round}: {at}"
            );
        }
        sandbox.protect(AREA, Rights::ReadWrite, Caching::WriteBack)?;
        check!(
            words().all(|at| (operations.u32.get)(at) == Ok(at.raw() ^ round)),
            "round {round}: the cache holds something else"
        );
    }
    Ok("4 rounds of a page".into())
}

// U-045
fn first_access(operations: &Operations) -> Report {
    let sandbox = Sandbox::under(operations)?;
    let before = acc::reports();
    let rounds = 4 * LINE;
    for offset in 0..rounds {
        sandbox.forget_translations();
        clear(operations, &sandbox, offset % LINE, 2 * LINE + 3)?;
        sandbox.forget_translations();
        let left = (operations.clear_user)(&range(EDGE - offset, 4 * LINE)).bytes();
        check!(left == 4 * LINE - offset, "{offset} before the edge: residue {left}");
    }
    check!(acc::reports() == before, "reported as a kernel address");
    Ok(alloc::format!("{rounds} rounds"))
}

// U-045: what DAR holds of a fault of the kernel's own address must not be taken for the address of the next.
fn after_another_fault(operations: &Operations) -> Report {
    let _sandbox = Sandbox::under(operations)?;
    let before = acc::reports();
    for offset in 0..4 * LINE {
        #[cfg(target_os = "none")]
        check!(
            crate::uaccess::nofault::get_kernel_nofault::<u32>(super::text::UNMAPPED).is_err(),
            "{:#x} is mapped",
            super::text::UNMAPPED
        );
        check!(
            (operations.u32.get)(UserAddr::new(EDGE)).is_err(),
            "the edge can be read"
        );
        let left = (operations.clear_user)(&range(HOLE + offset, 4 * LINE)).bytes();
        check!(left == 4 * LINE, "at {offset} in the hole: residue {left}");
        settled(operations)?;
    }
    check!(acc::reports() == before, "reported as a kernel address");
    Ok(alloc::format!("{} faults", 4 * LINE))
}

// U-050
fn before_a_hole(operations: &Operations) -> Report {
    let sandbox = Sandbox::under(operations)?;
    sandbox.unmap(EDGE);
    for good in 1..=2 * LINE {
        sandbox.write(EDGE - 2 * LINE, &[POISON; 2 * CACHE_LINE]);
        let left = (operations.clear_user)(&range(EDGE - good, 4 * LINE)).bytes();
        check!(left == 4 * LINE - good, "{good} before the hole: residue {left}");
        let bytes = sandbox.read(EDGE - good, good);
        check!(bytes.iter().all(|byte| *byte == 0), "{good} before the hole: {bytes:?}");
    }
    settled(operations)?;
    Ok(alloc::format!("{} distances", 2 * LINE))
}
