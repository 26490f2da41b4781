//! The user-access core against a byte-at-a-time model.
#![forbid(unsafe_code)]

use super::Test;
use super::sandbox::{AREA, EDGE, POISON, Sandbox, range};
use crate::addr::{TASK_SIZE, UserAddr};
use crate::arch::ppc::provoke;
use crate::arch::{CACHE_LINE, window};
use crate::check;
use crate::errno::Errno;
use crate::policy::Fast;
use crate::uaccess::{
    UserInt, access_ok, clear_user, copy_from_user, copy_to_user, get_user, put_user, raw_copy_from_user,
    strncpy_from_user,
};
use alloc::string::String;
use alloc::vec::Vec;

const LINE: u32 = CACHE_LINE as u32;

pub(super) static TESTS: &[Test] = &[
    Test {
        suite: "uaccess",
        name: "limit table",
        run: limit_table,
    },
    Test {
        suite: "uaccess",
        name: "clear_user grid with guards",
        run: clear_grid,
    },
    Test {
        suite: "uaccess",
        name: "clear_user residue at a page end",
        run: clear_residue,
    },
    Test {
        suite: "uaccess",
        name: "copy grid with red zones",
        run: copy_grid,
    },
    Test {
        suite: "uaccess",
        name: "copy residue at a page end",
        run: copy_residue,
    },
    Test {
        suite: "uaccess",
        name: "zeroed tail of copy_from_user",
        run: zeroed_tail,
    },
    Test {
        suite: "uaccess",
        name: "kernel addresses are refused",
        run: kernel_addresses,
    },
    Test {
        suite: "uaccess",
        name: "get_user and put_user",
        run: integers,
    },
    Test {
        suite: "uaccess",
        name: "strncpy_from_user",
        run: strings,
    },
    Test {
        suite: "uaccess",
        name: "window closes after a fault inside it",
        run: window_after_fault,
    },
];

// U-001
fn limit_table() -> Result<String, String> {
    let ts = TASK_SIZE;
    let table = [
        (0, 0, true),
        (0, 1, true),
        (ts - 1, 0, true),
        (ts - 1, 1, true),
        (ts - 1, 2, false),
        (ts, 0, false),
        (ts, 1, false),
        (0, ts, true),
        (0, ts + 1, false),
        (1, ts, false),
        (1, ts - 1, true),
        (u32::MAX, 0, false),
        (u32::MAX, 1, false),
        (0xffff_f000, 0x1000, false),
        (0xffff_f000, 0x2000, false),
        (1, u32::MAX, false),
        (0x1000, 0xffff_f000, false),
    ];
    for (address, size, expected) in table {
        let answer = access_ok::<Fast>(UserAddr::new(address), size).is_ok();
        check!(answer == expected, "access_ok({address:#x}, {size:#x}) = {answer}");
    }
    Ok(alloc::format!("{} rows", table.len()))
}

// U-041
fn clear_grid() -> Result<String, String> {
    let sandbox = Sandbox::new()?;
    let span = 3 * LINE + 64 + 2 * LINE;
    let mut count = 0;
    for offset in 0..2 * LINE {
        for length in 0..3 * LINE + 6 {
            sandbox.write(AREA, &alloc::vec![POISON; span as usize]);
            let residue = clear_user::<Fast>(&range(AREA + offset, length));
            check!(
                residue.is_done(),
                "offset {offset} length {length}: residue {}",
                residue.bytes()
            );
            let bytes = sandbox.read(AREA, span);
            let wrong = (0..span).find(|i| {
                let inside = (offset..offset + length).contains(i);
                bytes[*i as usize] != if inside { 0 } else { POISON }
            });
            check!(wrong.is_none(), "offset {offset} length {length}: byte {wrong:?}");
            count += 1;
        }
    }
    Ok(alloc::format!("{count} combinations, line {LINE}"))
}

// U-042
fn clear_residue() -> Result<String, String> {
    let sandbox = Sandbox::new()?;
    let mut count = 0;
    for good in 0..=3 * LINE {
        for length in good..=good + 2 * LINE {
            sandbox.write(EDGE - 4 * LINE, &alloc::vec![POISON; 4 * CACHE_LINE]);
            let residue = clear_user::<Fast>(&range(EDGE - good, length)).bytes();
            check!(residue == length - good, "{good} good of {length}: residue {residue}");
            let bytes = sandbox.read(EDGE - 4 * LINE, 4 * LINE);
            let (before, cleared) = bytes.split_at((4 * LINE - good) as usize);
            check!(
                before.iter().all(|b| *b == POISON),
                "{good} good of {length}: byte before the range changed"
            );
            check!(
                cleared.iter().all(|b| *b == 0),
                "{good} good of {length}: byte in the range not cleared"
            );
            count += 1;
        }
    }
    Ok(alloc::format!("{count} combinations"))
}

fn pattern(length: u32, seed: u32) -> Vec<u8> {
    (0..length).map(|i| (i + seed) as u8).collect()
}

// U-020
fn copy_grid() -> Result<String, String> {
    let sandbox = Sandbox::new()?;
    let lengths: Vec<u32> = (1..=80).chain([127, 128, 129, 255, 256, 257, 511, 512, 513]).collect();
    let mut count = 0;
    let mut kernel = alloc::vec![0; 1024];
    for source in 0..16 {
        for target in 0..16 {
            for &length in &lengths {
                let whole = pattern(length + 16, source);
                let data = &whole[source as usize..(source + length) as usize];
                sandbox.write(AREA, &alloc::vec![POISON; (target + length + 256) as usize]);
                let residue = copy_to_user::<Fast>(&range(AREA + 128 + target, length), data);
                check!(
                    residue.is_done(),
                    "to user {source}/{target}/{length}: residue {}",
                    residue.bytes()
                );
                let bytes = sandbox.read(AREA, target + length + 256);
                let inside = 128 + target as usize..128 + (target + length) as usize;
                check!(
                    &bytes[inside.clone()] == data,
                    "to user {source}/{target}/{length}: data differ"
                );
                let guards = bytes[..inside.start].iter().chain(&bytes[inside.end..]);
                check!(
                    guards.clone().all(|b| *b == POISON),
                    "to user {source}/{target}/{length}: guard changed"
                );

                kernel.fill(POISON);
                let start = 128 + source as usize;
                let end = start + length as usize;
                let residue = copy_from_user::<Fast>(&mut kernel[start..end], &range(AREA + 128 + target, length));
                check!(
                    residue.is_done(),
                    "from user {target}/{source}/{length}: residue {}",
                    residue.bytes()
                );
                check!(
                    &kernel[start..end] == data,
                    "from user {target}/{source}/{length}: data differ"
                );
                let guards = kernel[..start].iter().chain(&kernel[end..]);
                check!(
                    guards.clone().all(|b| *b == POISON),
                    "from user {target}/{source}/{length}: guard changed"
                );
                count += 2;
            }
        }
    }
    Ok(alloc::format!("{count} copies"))
}

// U-021
fn copy_residue() -> Result<String, String> {
    let sandbox = Sandbox::new()?;
    let mut count = 0;
    for source in 0..16u32 {
        for target in 0..16u32 {
            for length in 0..=80u32 {
                let start = EDGE - 64;
                let from = &pattern(160, 3)[source as usize..(source + length) as usize];
                sandbox.write(start, &[POISON; 64]);
                let residue = copy_to_user::<Fast>(&range(start + target, length), from).bytes();
                let expected = length - length.min(64 - target);
                check!(
                    residue == expected,
                    "to user {source}/{target}/{length}: residue {residue}, not {expected}"
                );
                let bytes = sandbox.read(start, 64);
                let done = (length - residue) as usize;
                let at = target as usize;
                check!(
                    bytes[at..at + done] == from[..done],
                    "to user {source}/{target}/{length}: data differ"
                );
                check!(
                    bytes[..at].iter().all(|b| *b == POISON),
                    "to user {source}/{target}/{length}: guard changed"
                );

                let mut kernel = [POISON; 128];
                let slot = &mut kernel[source as usize..(source + length) as usize];
                let residue = raw_copy_from_user::<Fast>(slot, &range(start + target, length)).bytes();
                check!(
                    residue == expected,
                    "from user {target}/{source}/{length}: residue {residue}, not {expected}"
                );
                check!(
                    slot[..done] == bytes[at..at + done],
                    "from user {target}/{source}/{length}: data differ"
                );
                check!(
                    slot[done..].iter().all(|b| *b == POISON),
                    "from user {target}/{source}/{length}: tail changed"
                );
                count += 2;
            }
        }
    }
    Ok(alloc::format!("{count} copies"))
}

// U-033
fn zeroed_tail() -> Result<String, String> {
    let sandbox = Sandbox::new()?;
    sandbox.write(EDGE - 10, &[1; 10]);
    let mut kernel = [POISON; 96];
    let residue = copy_from_user::<Fast>(&mut kernel[..64], &range(EDGE - 10, 64)).bytes();
    check!(residue == 54, "residue {residue}");
    let good = kernel[..10] == [1; 10] && kernel[10..64] == [0; 54] && kernel[64..] == [POISON; 32];
    check!(good, "buffer {kernel:?}");
    let mut kernel = [POISON; 64];
    let residue = raw_copy_from_user::<Fast>(&mut kernel, &range(EDGE - 10, 64)).bytes();
    check!(
        residue == 54 && kernel[10..] == [POISON; 54],
        "the raw variant zeroed the tail"
    );
    Ok("10 of 64 bytes".into())
}

// U-004, U-005
fn kernel_addresses() -> Result<String, String> {
    for address in [TASK_SIZE, 0xc000_0000, 0xc008_0000, u32::MAX] {
        for length in [1, 4, 4096] {
            let answer = access_ok::<Fast>(UserAddr::new(address), length);
            check!(answer == Err(Errno::EFAULT), "{address:#x}+{length}: accepted");
        }
        check!(
            get_user::<Fast, u32>(UserAddr::new(address)).is_err(),
            "get_user({address:#x})"
        );
        check!(
            put_user::<Fast, u32>(UserAddr::new(address), 0).is_err(),
            "put_user({address:#x})"
        );
    }
    Ok("4 addresses".into())
}

fn round_trip<T: UserInt + PartialEq + core::fmt::LowerHex>(
    sandbox: &Sandbox,
    value: T,
    big_endian: &[u8],
) -> Result<(), String> {
    let width = size_of::<T>() as u32;
    for offset in 0..16 {
        let address = AREA + 64 + offset;
        check!(
            put_user::<Fast, T>(UserAddr::new(address), value).is_ok(),
            "put {value:#x} at {address:#x}"
        );
        check!(
            sandbox.read(address, width) == big_endian,
            "bytes of {value:#x} at {address:#x}"
        );
        check!(
            get_user::<Fast, T>(UserAddr::new(address)) == Ok(value),
            "get {value:#x} at {address:#x}"
        );
    }
    for inside in 0..width {
        let address = UserAddr::new(EDGE - inside);
        check!(
            get_user::<Fast, T>(address).is_err(),
            "get at {address} beyond the edge"
        );
        check!(
            put_user::<Fast, T>(address, value).is_err(),
            "put at {address} beyond the edge"
        );
    }
    Ok(())
}

// U-025, U-035
fn integers() -> Result<String, String> {
    let sandbox = Sandbox::new()?;
    round_trip(&sandbox, 0x5a_u8, &[0x5a])?;
    round_trip(&sandbox, 0x5a5b_u16, &[0x5a, 0x5b])?;
    round_trip(&sandbox, 0x5a5b_5c5d_u32, &[0x5a, 0x5b, 0x5c, 0x5d])?;
    round_trip(&sandbox, 0x0102_0304_0506_0708_u64, &[1, 2, 3, 4, 5, 6, 7, 8])?;
    Ok("4 widths".into())
}

// U-055, U-058
fn strings() -> Result<String, String> {
    let sandbox = Sandbox::new()?;
    sandbox.write(AREA, b"abc\0\xee\xee\xee");
    let copy = |address: u32, length: usize| {
        let mut target = [POISON; 16];
        strncpy_from_user::<Fast>(&mut target[..length], UserAddr::new(address)).map(|n| (n, target))
    };
    for (length, expected, stored) in [(0, 0, 0), (10, 3, 4), (3, 3, 3), (4, 3, 4)] {
        let (n, target) = copy(AREA, length).map_err(|e| alloc::format!("length {length}: {}", e.name()))?;
        check!(n == expected, "length {length}: {n}");
        check!(target[..stored] == b"abc\0"[..stored], "length {length}: {target:?}");
        check!(
            target[stored..].iter().all(|b| *b == POISON),
            "length {length}: bytes behind the end changed"
        );
    }
    sandbox.write(EDGE - 8, b"12345678");
    check!(
        copy(EDGE - 8, 8).map(|c| c.0) == Ok(8),
        "unterminated string that just fits"
    );
    check!(
        copy(EDGE - 8, 9).map(|c| c.0) == Err(Errno::EFAULT),
        "unterminated string that does not fit"
    );
    sandbox.write(AREA + 100, b"\0");
    check!(copy(AREA + 100, 8).map(|c| c.0) == Ok(0), "empty string");
    check!(
        copy(TASK_SIZE, 8).is_err() && copy(u32::MAX, 8).is_err(),
        "kernel addresses"
    );
    Ok("9 cases".into())
}

// U-070
fn window_after_fault() -> Result<String, String> {
    let _sandbox = Sandbox::new()?;
    for length in 1..64 {
        check!(
            clear_user::<Fast>(&range(EDGE, length)).bytes() == length,
            "clear of {length} bytes"
        );
        check!(!window::is_open(), "window is open after a fault");
    }
    check!(
        provoke::load(AREA).is_err(),
        "a load with the window closed was not stopped"
    );
    Ok("63 faults".into())
}
