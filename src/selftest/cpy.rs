//! Suite `cpy`: integers and bulk copies.
#![forbid(unsafe_code)]

use super::sandbox::{AREA, Caching, EDGE, HOLE, POISON, Rights, Sandbox, range};
use super::{Needs, Report, STEP, Test, counting, settled};
use crate::addr::{PAGE_SIZE, TASK_SIZE, UserAddr};
use crate::check;
use crate::errno::Errno;
use crate::uaccess::operations::{Integer, Operations};
use crate::uaccess::{Direction, UserInt};
use alloc::string::String;

pub(super) const TESTS: &[Test] = &[
    Test::new("cpy", "copies with red zones", red_zones),
    Test::new("cpy", "as much as possible, never more", as_much_as_possible),
    Test::new("cpy", "zeroed tail of copy_from_user", zeroed_tail),
    Test::new("cpy", "get_user and put_user", integers),
    Test::new("cpy", "word load over a page end", word_over_an_edge),
    Test::new("cpy", "versioned structures", structures),
    Test::new("cpy", "check_zeroed_user", zeroed),
    Test::new("cpy", "read-only pages", read_only),
    Test::new("cpy", "fault_in", fault_in),
    Test::new("cpy", "blocks of accesses", blocks),
    Test::new("cpy", "blocks in blocks", nested).needs(Needs::Window),
];

/// Guard bytes on both sides of a copy.
const GUARD: usize = 128;
/// Bytes around and in the longest copy.
const SPAN: usize = GUARD + 16 + 513 + GUARD;

// U-020
fn red_zones(operations: &Operations) -> Report {
    let sandbox = Sandbox::under(operations)?;
    let mut buffers = [[0; SPAN]; 2];
    let mut count = 0;
    for source in 0..16 {
        for target in 0..16 {
            for length in (1..81).step_by(STEP) {
                one_copy(operations, &sandbox, source, target, length, &mut buffers)?;
                count += 2;
            }
        }
    }
    for source in [0, 1, 2, 3, 4, 15] {
        for target in [0, 1, 2, 3, 4, 15] {
            for length in (81..301).step_by(STEP).chain(511..514) {
                one_copy(operations, &sandbox, source, target, length, &mut buffers)?;
                count += 2;
            }
        }
    }
    for length in [4095, 4096, 4097, 8191] {
        long_copy(operations, &sandbox, length)?;
        count += 2;
    }
    settled(operations)?;
    Ok(alloc::format!("{count} copies"))
}

/// One copy each way between offsets `source` and `target` of otherwise aligned places.
fn one_copy(
    operations: &Operations,
    sandbox: &Sandbox,
    source: usize,
    target: usize,
    length: usize,
    [kernel, user]: &mut [[u8; SPAN]; 2],
) -> Result<(), String> {
    let case = || alloc::format!("{source}/{target}/{length}");
    let span = GUARD + 16 + length + GUARD;
    let (from, to) = (
        GUARD + source..GUARD + source + length,
        GUARD + target..GUARD + target + length,
    );
    counting(source as u32, &mut kernel[..span]);
    sandbox.write(AREA, &[POISON; SPAN][..span]);
    let address = range(AREA + to.start as u32, length as u32);
    let left = (operations.copy_to_user)(&address, &kernel[from.clone()]);
    sandbox.read_into(AREA, &mut user[..span]);
    check!(left.is_done(), "to user {}: residue {}", case(), left.bytes());
    check!(
        user[to.clone()] == kernel[from.clone()],
        "to user {}: data differ",
        case()
    );
    check!(is_poison(&user[..span], &to), "to user {}: guard changed", case());

    kernel[..span].fill(POISON);
    let left = (operations.copy_from_user)(&mut kernel[from.clone()], &address);
    check!(left.is_done(), "from user {}: residue {}", case(), left.bytes());
    check!(user[to] == kernel[from.clone()], "from user {}: data differ", case());
    check!(is_poison(&kernel[..span], &from), "from user {}: guard changed", case());
    Ok(())
}

fn is_poison(bytes: &[u8], except: &core::ops::Range<usize>) -> bool {
    let [before, after] = [&bytes[..except.start], &bytes[except.end..]];
    before.iter().chain(after).all(|byte| *byte == POISON)
}

fn long_copy(operations: &Operations, sandbox: &Sandbox, length: u32) -> Result<(), String> {
    let mut bytes = alloc::vec![0; length as usize];
    counting(3, &mut bytes);
    sandbox.write(AREA, &alloc::vec![POISON; 2 * PAGE_SIZE as usize]);
    // To the very end of what can be written.
    let address = range(EDGE - length, length);
    let left = (operations.copy_to_user)(&address, &bytes).bytes();
    check!(left == 0, "{length} bytes to user: residue {left}");
    check!(
        sandbox.read(EDGE - length, length) == bytes,
        "{length} bytes to user: data differ"
    );
    let before = sandbox.read(AREA, 2 * PAGE_SIZE - length);
    check!(
        before.iter().all(|byte| *byte == POISON),
        "{length} bytes to user: guard changed"
    );
    let mut back = alloc::vec![POISON; length as usize + 1];
    let left = (operations.copy_from_user)(&mut back[1..], &address).bytes();
    check!(
        left == 0 && back[1..] == bytes,
        "{length} bytes from user: residue {left}"
    );
    Ok(())
}

// U-029, U-030
fn as_much_as_possible(operations: &Operations) -> Report {
    let sandbox = Sandbox::under(operations)?;
    let mut page = [0; 64];
    counting(1, &mut page);
    let mut source = [0; 80];
    counting(101, &mut source);
    let mut count = 0;
    for good in (0..=64u32).step_by(STEP) {
        for length in 1..=80u32 {
            let expected = good.min(length);
            sandbox.write(EDGE - 64, &page);
            let address = range(EDGE - good, length);
            let mut target = [POISON; 80];
            let left = (operations.raw_copy_from_user)(&mut target[..length as usize], &address).bytes();
            check!(
                left == length - expected,
                "from user, {good} of {length}: residue {left}"
            );
            let (copied, rest) = target.split_at(expected as usize);
            check!(
                *copied == page[64 - good as usize..][..copied.len()] && rest.iter().all(|byte| *byte == POISON),
                "from user, {good} of {length}: {target:?}"
            );
            let left = (operations.copy_to_user)(&address, &source[..length as usize]).bytes();
            check!(left == length - expected, "to user, {good} of {length}: residue {left}");
            let after = sandbox.read(EDGE - 64, 64);
            let (before, written) = after.split_at(64 - good as usize);
            let (copied, rest) = written.split_at(expected as usize);
            check!(
                before == &page[..before.len()]
                    && copied == &source[..copied.len()]
                    && rest == &page[64 - rest.len()..],
                "to user, {good} of {length}: {after:?}"
            );
            count += 2;
        }
    }
    settled(operations)?;
    Ok(alloc::format!("{count} copies"))
}

// U-033
fn zeroed_tail(operations: &Operations) -> Report {
    let sandbox = Sandbox::under(operations)?;
    sandbox.write(EDGE - 10, &[1; 10]);
    let mut kernel = [POISON; 96];
    let left = (operations.copy_from_user)(&mut kernel[..64], &range(EDGE - 10, 64)).bytes();
    check!(left == 54, "residue {left}");
    let is_right = kernel[..10] == [1; 10] && kernel[10..64] == [0; 54] && kernel[64..] == [POISON; 32];
    check!(is_right, "buffer {kernel:?}");

    let mut kernel = [POISON; 96];
    let left = (operations.copy_from_user_checked)(&mut kernel[..64], UserAddr::new(0xc000_0000)).bytes();
    check!(left == 64, "from the kernel: residue {left}");
    check!(
        kernel[..64] == [0; 64] && kernel[64..] == [POISON; 32],
        "from the kernel: buffer {kernel:?}"
    );

    let mut kernel = [POISON; 64];
    let left = (operations.raw_copy_from_user)(&mut kernel, &range(EDGE - 10, 64)).bytes();
    check!(
        left == 54 && kernel[10..] == [POISON; 54],
        "the raw variant zeroed the tail"
    );
    Ok("10 of 64 bytes".into())
}

fn round_trip<T: UserInt + PartialEq + core::fmt::LowerHex>(
    sandbox: &Sandbox,
    integer: &Integer<T>,
    value: T,
    big_endian: &[u8],
) -> Result<(), String> {
    let width = size_of::<T>() as u32;
    let over_a_page = AREA + PAGE_SIZE - 8..AREA + PAGE_SIZE + 1;
    for address in (AREA + 64..AREA + 80).chain(over_a_page) {
        sandbox.write(address - 8, &[POISON; 24]);
        let at = UserAddr::new(address);
        check!((integer.put)(at, value).is_ok(), "put {value:#x} at {at}");
        let bytes = sandbox.read(address - 8, 24);
        let is_right = bytes[8..8 + width as usize] == *big_endian
            && bytes[..8] == [POISON; 8]
            && bytes[8 + width as usize..].iter().all(|byte| *byte == POISON);
        check!(is_right, "bytes of {value:#x} at {at}: {bytes:?}");
        check!((integer.get)(at) == Ok(value), "get {value:#x} at {at}");
        let exact = range(address, width);
        check!((integer.get_at)(&exact) == Ok(value), "__get_user {value:#x} at {at}");
        check!((integer.put_at)(&exact, value).is_ok(), "__put_user {value:#x} at {at}");
        let short = range(address, width - 1);
        check!(
            (integer.get_at)(&short).is_err() && (integer.put_at)(&short, value).is_err(),
            "{value:#x} in a range of {} bytes",
            width - 1
        );
    }
    for inside in 0..width {
        let at = UserAddr::new(EDGE - inside);
        check!(
            matches!((integer.get)(at), Err(Errno::EFAULT)),
            "get at {at} beyond the edge"
        );
        check!((integer.put)(at, value).is_err(), "put at {at} beyond the edge");
    }
    Ok(())
}

// U-025, U-035
fn integers(operations: &Operations) -> Report {
    let sandbox = Sandbox::under(operations)?;
    round_trip(&sandbox, &operations.u8, 0x5a, &[0x5a])?;
    round_trip(&sandbox, &operations.u16, 0x5a5b, &[0x5a, 0x5b])?;
    round_trip(&sandbox, &operations.u32, 0x5a5b_5c5d, &[0x5a, 0x5b, 0x5c, 0x5d])?;
    round_trip(
        &sandbox,
        &operations.u64,
        0x0102_0304_0506_0708,
        &[1, 2, 3, 4, 5, 6, 7, 8],
    )?;
    // A page each way.
    let page = alloc::vec![0x3a; PAGE_SIZE as usize];
    let left = (operations.copy_to_user_checked)(UserAddr::new(AREA), &page).bytes();
    let mut back = alloc::vec![0; PAGE_SIZE as usize];
    let left = left + (operations.copy_from_user_checked)(&mut back, UserAddr::new(AREA)).bytes();
    check!(left == 0 && back == page, "a page: residue {left}");
    settled(operations)?;
    Ok("4 widths".into())
}

// U-024
fn word_over_an_edge(operations: &Operations) -> Report {
    let sandbox = Sandbox::under(operations)?;
    // Over the end of a page, of a segment of 256 MiB, and of user space.
    let edges = [EDGE, HOLE, TASK_SIZE];
    for edge in edges {
        if edge != EDGE {
            sandbox.map(edge - PAGE_SIZE, Rights::ReadWrite)?;
        }
        let mut bytes = [0; 12];
        counting(1, &mut bytes[..8]);
        sandbox.write(edge - 8, &bytes[..8]);
        for offset in 0..8 {
            let at = UserAddr::new(edge - 8 + offset as u32);
            let expected = u32::from_be_bytes([bytes[offset], bytes[offset + 1], bytes[offset + 2], bytes[offset + 3]]);
            let word = (operations.load_unaligned_zeropad)(at);
            check!(word == Ok(expected), "{at}: {word:x?}, not {expected:#x}");
            settled(operations)?;
        }
        let beyond = (operations.load_unaligned_zeropad)(UserAddr::new(edge));
        check!(beyond == Err(Errno::EFAULT), "{edge:#x}: {beyond:x?}");
    }
    // A plain load with the pages opened and zero gives the same.
    for edge in [EDGE, HOLE] {
        sandbox.map(edge, Rights::ReadWrite)?;
        for back in 1..=8 {
            let at = UserAddr::new(edge - back);
            let (padded, plain) = ((operations.load_unaligned_zeropad)(at), (operations.u32.get)(at));
            check!(padded.is_ok() && padded == plain, "{at}: {padded:x?}, {plain:x?}");
        }
    }
    Ok(alloc::format!("{} edges", edges.len()))
}

// U-027
fn structures(operations: &Operations) -> Report {
    const SIZE: usize = 32;
    let sandbox = Sandbox::under(operations)?;
    let copy = |address: u32, size: u32| {
        let mut target = [POISON; SIZE];
        (operations.copy_struct_from_user)(&mut target, UserAddr::new(address), size)
            .map(|()| target)
            .map_err(|error| (error, target))
    };
    sandbox.write(AREA, &[0x3e; 2 * SIZE]);
    check!(copy(AREA, 32) == Ok([0x3e; SIZE]), "equal sizes");
    let half = copy(AREA, 16);
    check!(
        half.is_ok_and(|target| target[..16] == [0x3e; 16] && target[16..] == [0; 16]),
        "a shorter one: {half:?}"
    );
    check!(copy(AREA, 0) == Ok([0; SIZE]), "an empty one");
    check!(
        copy(AREA, 64) == Err((Errno::E2BIG, [POISON; SIZE])),
        "a longer one with more in it"
    );
    sandbox.write(AREA + 63, &[0]);
    for last in 32..63 {
        sandbox.write(AREA + 32, &[0; 32]);
        sandbox.write(AREA + last, &[1]);
        check!(
            copy(AREA, 64) == Err((Errno::E2BIG, [POISON; SIZE])),
            "one byte at {last}"
        );
    }
    sandbox.write(AREA + 32, &[0; 32]);
    check!(copy(AREA, 64) == Ok([0x3e; SIZE]), "a longer one of zeros");
    sandbox.write(EDGE - 32, &[0x3e; 32]);
    check!(
        copy(EDGE - 32, 64).is_err_and(|(error, _)| error == Errno::EFAULT),
        "the rest in a page without access"
    );
    check!(
        copy(EDGE, 32).is_err_and(|(error, _)| error == Errno::EFAULT),
        "a page without access"
    );
    settled(operations)?;
    Ok("8 shapes".into())
}

fn zeroed(operations: &Operations) -> Report {
    let sandbox = Sandbox::under(operations)?;
    let is_zero = |address: u32, length: u32| (operations.check_zeroed_user)(&range(address, length));
    for length in 0..200 {
        check!(is_zero(AREA + 1, length) == Ok(true), "{length} zeros");
    }
    for place in 0..200 {
        sandbox.write(AREA + place, &[1]);
        check!(is_zero(AREA, 200) == Ok(false), "a byte at {place}");
        check!(is_zero(AREA, place) == Ok(true), "a byte behind {place} zeros");
        sandbox.write(AREA + place, &[0]);
    }
    check!(
        is_zero(EDGE - 3, 4) == Err(Errno::EFAULT),
        "zeros up to the edge and more"
    );
    sandbox.write(EDGE - 1, &[1]);
    check!(is_zero(EDGE - 3, 4) == Ok(false), "a byte before the edge");
    settled(operations)?;
    Ok("400 ranges".into())
}

// U-036, U-082
fn read_only(operations: &Operations) -> Report {
    let sandbox = Sandbox::under(operations)?;
    sandbox.write(AREA, &[POISON; 64]);
    sandbox.protect(AREA, Rights::Read, Caching::WriteBack)?;
    let (at, whole) = (UserAddr::new(AREA), range(AREA, 64));
    let refusals = [
        (operations.u8.put)(at, 0).is_err(),
        (operations.u16.put)(at, 0).is_err(),
        (operations.u32.put)(at, 0).is_err(),
        (operations.u64.put)(at, 0).is_err(),
        (operations.clear_user)(&whole).bytes() == 64,
        (operations.copy_to_user)(&whole, &[0; 64]).bytes() == 64,
        (operations.fault_in_writeable)(&whole).bytes() == 64,
    ];
    check!(refusals.iter().all(|refused| *refused), "stores: {refusals:?}");
    let mut target = [0; 64];
    let left = (operations.copy_from_user)(&mut target, &whole).bytes();
    check!(
        left == 0 && target == [POISON; 64],
        "a copy from it: residue {left}, {target:?}"
    );
    check!((operations.fault_in_readable)(&whole).is_done(), "fault_in_readable");
    settled(operations)?;
    Ok("7 stores".into())
}

fn fault_in(operations: &Operations) -> Report {
    let sandbox = Sandbox::under(operations)?;
    sandbox.write(AREA, &[POISON; 8]);
    for fault_in in [operations.fault_in_readable, operations.fault_in_writeable] {
        for (address, length, expected) in [
            (AREA, 2 * PAGE_SIZE, 0),
            (AREA + 5, 2 * PAGE_SIZE, 5),
            (EDGE - 1, 1, 0),
            (EDGE - 1, 2, 1),
            (EDGE, 3, 3),
            (AREA, 0, 0),
        ] {
            let left = fault_in(&range(address, length)).bytes();
            check!(left == expected, "{length} bytes at {address:#x}: residue {left}");
        }
    }
    check!(sandbox.read(AREA, 8) == [POISON; 8], "a byte changed");
    settled(operations)?;
    Ok("12 ranges".into())
}

fn blocks(operations: &Operations) -> Report {
    let sandbox = Sandbox::under(operations)?;
    let whole = range(AREA, 16);
    let result = (operations.with_user_access)(&whole, Direction::ReadWrite, &mut |block| {
        block.put(0, 0x0102_0304)?;
        block.put(12, 0x0506_0708)
    });
    check!(result.is_ok(), "two words: {result:?}");
    check!(
        sandbox.read(AREA, 4) == [1, 2, 3, 4] && sandbox.read(AREA + 12, 4) == [5, 6, 7, 8],
        "two words"
    );
    for offset in [13, 16, u32::MAX] {
        let mut after = Ok(0);
        let result = (operations.with_user_access)(&whole, Direction::Read, &mut |block| {
            let refused = block.get(offset).map(drop);
            after = block.get(12);
            refused
        });
        check!(
            result == Err(Errno::EFAULT) && after == Ok(0x0506_0708),
            "a word at {offset}: {result:?}, then {after:x?}"
        );
    }
    let result = (operations.with_user_access)(&range(EDGE - 4, 8), Direction::Read, &mut |block| {
        block.get(4).map(drop)
    });
    check!(result == Err(Errno::EFAULT), "a word behind the edge: {result:?}");
    let result = (operations.with_user_access)(&range(AREA, 0), Direction::Read, &mut |_| Ok(()));
    check!(result == Err(Errno::EFAULT), "an empty range: {result:?}");
    settled(operations)?;
    Ok("6 blocks".into())
}

/// The window that is open stays, a second one is refused.
fn nested(operations: &Operations) -> Report {
    let sandbox = Sandbox::under(operations)?;
    sandbox.write(AREA, &[7; 16]);
    let whole = range(AREA, 16);
    let mut inner = Ok(());
    let mut word = Ok(0);
    let outer = (operations.with_user_access)(&whole, Direction::Read, &mut |block| {
        inner = (operations.with_user_access)(&whole, Direction::Read, &mut |_| Ok(()));
        word = block.get(12);
        Ok(())
    });
    check!(
        inner == Err(Errno::EINVAL) && outer.is_ok() && word == Ok(0x0707_0707),
        "inner {inner:?}, outer {outer:?}, {word:x?}"
    );
    settled(operations)?;
    Ok("one in another".into())
}
