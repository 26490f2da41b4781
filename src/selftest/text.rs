//! Suite `str`: user strings, and kernel memory that may not be there.
#![deny(unsafe_code)]

use super::sandbox::{AREA, EDGE, HOLE, POISON, Rights, Sandbox};
use super::{Report, STEP, Test, acc, settled};
use crate::addr::{PAGE_SIZE, TASK_SIZE, UserAddr};
use crate::check;
use crate::errno::Errno;
use crate::uaccess::operations::Operations;

pub(super) const TESTS: &[Test] = &[
    Test::new("str", "pointers that are nonsense", nonsense),
    Test::new("str", "strncpy_from_user", copies),
    Test::new("str", "strnlen_user", lengths),
    Test::new("str", "every length and offset before a page end", page_end),
    Test::new("str", "addresses of -1 stay silent", silent),
    #[cfg(target_os = "none")]
    Test::new("str", "nofault reads of kernel memory", target::nofault_reads),
    #[cfg(target_os = "none")]
    Test::new("str", "nofault writes of kernel memory", target::nofault_writes),
    #[cfg(target_os = "none")]
    Test::new("str", "kernel address past the check is reported", target::reported).needs(super::Needs::SetFs),
];

/// Kernel space in which nothing is mapped on any board.
#[cfg(target_os = "none")]
pub(super) const UNMAPPED: u32 = 0xe000_0000;

// U-052
fn nonsense(operations: &Operations) -> Report {
    let _sandbox = Sandbox::under(operations)?;
    let addresses = [0, HOLE, EDGE, TASK_SIZE, 0xc000_0000, u32::MAX];
    for address in addresses.map(UserAddr::new) {
        let mut target = [POISON; 16];
        let copied = (operations.strncpy_from_user)(&mut target, address);
        check!(
            copied == Err(Errno::EFAULT) && target == [POISON; 16],
            "{address}: {copied:?}"
        );
        let length = (operations.strnlen_user)(address, 16);
        check!(length == 0, "{address}: length {length}");
        settled(operations)?;
    }
    Ok(alloc::format!("{} pointers", addresses.len()))
}

// U-055, U-058
fn copies(operations: &Operations) -> Report {
    let sandbox = Sandbox::under(operations)?;
    sandbox.map(TASK_SIZE - PAGE_SIZE, Rights::ReadWrite)?;
    sandbox.write(AREA, b"abc\0\xee\xee\xee\xee\xee\xee\xee\xee");
    sandbox.write(EDGE - 8, b"12345678");
    sandbox.write(TASK_SIZE - 4, b"last");
    // Address, bytes asked for, answer, bytes stored.
    type Row = (u32, usize, Result<u32, Errno>, &'static [u8]);
    let rows: [Row; 12] = [
        (AREA, 0, Ok(0), b""),
        (AREA, 10, Ok(3), b"abc\0"),
        (AREA, 4, Ok(3), b"abc\0"),
        (AREA, 3, Ok(3), b"abc"),
        (AREA, 1, Ok(1), b"a"),
        (AREA + 3, 8, Ok(0), b"\0"),
        (EDGE - 8, 8, Ok(8), b"12345678"),
        (EDGE - 8, 9, Err(Errno::EFAULT), b"12345678"),
        (TASK_SIZE - 4, 4, Ok(4), b"last"),
        (TASK_SIZE - 4, 5, Err(Errno::EFAULT), b"last"),
        (TASK_SIZE - 4, 16, Err(Errno::EFAULT), b"last"),
        (TASK_SIZE, 4, Err(Errno::EFAULT), b""),
    ];
    for (address, wanted, expected, stored) in rows {
        let mut target = [POISON; 16];
        let answer = (operations.strncpy_from_user)(&mut target[..wanted], UserAddr::new(address));
        check!(answer == expected, "{wanted} from {address:#x}: {answer:?}");
        let (copied, rest) = target.split_at(stored.len());
        check!(
            copied == stored && rest.iter().all(|byte| *byte == POISON),
            "{wanted} from {address:#x}: {target:?}"
        );
        settled(operations)?;
    }
    Ok(alloc::format!("{} cases", rows.len()))
}

fn lengths(operations: &Operations) -> Report {
    let sandbox = Sandbox::under(operations)?;
    sandbox.map(TASK_SIZE - PAGE_SIZE, Rights::ReadWrite)?;
    sandbox.write(AREA, b"abc\0");
    sandbox.write(EDGE - 4, b"1234");
    sandbox.write(TASK_SIZE - 4, b"last");
    // Address, most, answer: with the NUL, more than `most` if there is none, 0 after a fault.
    let rows = [
        (AREA, 0, 0),
        (AREA, 10, 4),
        (AREA, 4, 4),
        (AREA, 3, 4),
        (AREA, 1, 2),
        (AREA + 3, 1, 1),
        (EDGE - 4, 4, 5),
        (EDGE - 4, 5, 0),
        (TASK_SIZE - 4, 4, 5),
        (TASK_SIZE - 4, 5, 0),
        (TASK_SIZE - 4, u32::MAX, 0),
        (TASK_SIZE, 1, 0),
    ];
    for (address, most, expected) in rows {
        let length = (operations.strnlen_user)(UserAddr::new(address), most);
        check!(length == expected, "{most} at {address:#x}: {length}, not {expected}");
        settled(operations)?;
    }
    Ok(alloc::format!("{} cases", rows.len()))
}

// U-053, for the function; the paths of open have a test of their own.
fn page_end(operations: &Operations) -> Report {
    let sandbox = Sandbox::under(operations)?;
    let mut count = 0;
    for start in (1..=40u32).step_by(STEP) {
        for terminator in 0..=40u32 {
            sandbox.write(EDGE - 40, &[b'x'; 40]);
            let has_end = terminator < start;
            if has_end {
                sandbox.write(EDGE - start + terminator, b"\0");
            }
            for wanted in [1, terminator, terminator + 1, start, start + 1, 48] {
                let mut target = [POISON; 48];
                let room = &mut target[..wanted as usize];
                let answer = (operations.strncpy_from_user)(room, UserAddr::new(EDGE - start));
                let expected = if wanted <= if has_end { terminator } else { start } {
                    Ok(wanted)
                } else if has_end {
                    Ok(terminator)
                } else {
                    Err(Errno::EFAULT)
                };
                check!(
                    answer == expected,
                    "{start} before the end, NUL at {terminator}, {wanted}: {answer:?}"
                );
                let most = (operations.strnlen_user)(UserAddr::new(EDGE - start), wanted);
                let expected = match expected {
                    _ if wanted == 0 => 0,
                    Ok(length) => length + 1,
                    Err(_) => 0,
                };
                check!(
                    most == expected,
                    "{start} before the end, NUL at {terminator}, {wanted}: length {most}"
                );
                count += 2;
            }
        }
    }
    settled(operations)?;
    Ok(alloc::format!("{count} strings"))
}

// U-060
fn silent(operations: &Operations) -> Report {
    let _sandbox = Sandbox::under(operations)?;
    let before = acc::reports();
    for _ in 0..1000 {
        let mut byte = [POISON];
        let length = (operations.strnlen_user)(UserAddr::new(u32::MAX), 1);
        let left = (operations.copy_from_user_checked)(&mut byte, UserAddr::new(u32::MAX)).bytes();
        check!(
            length == 0 && left == 1 && byte == [0],
            "length {length}, residue {left}, {byte:?}"
        );
    }
    check!(acc::reports() == before, "reported");
    Ok("1000 rounds".into())
}

#[cfg(target_os = "none")]
mod target {
    use super::super::{Report, acc, counting, settled};
    use super::UNMAPPED;
    use crate::addr::{TASK_SIZE, UserAddr};
    use crate::arch::window;
    use crate::check;
    use crate::errno::Errno;
    use crate::selftest::sandbox::{AREA, POISON, Sandbox};
    use crate::uaccess::nofault::{
        copy_from_kernel_nofault, copy_to_kernel_nofault, get_kernel_nofault, put_kernel_nofault,
        strncpy_from_kernel_nofault,
    };
    use crate::uaccess::operations::Operations;

    /// User addresses, and ranges that begin or end there or wrap.
    const REFUSED: [(u32, usize); 5] = [
        (AREA, 4),
        (0, 4),
        (TASK_SIZE - 1, 4),
        (TASK_SIZE - 4, 4),
        (u32::MAX - 2, 4),
    ];

    // U-057
    pub(in super::super) fn nofault_reads(operations: &Operations) -> Report {
        let sandbox = Sandbox::under(operations)?;
        sandbox.write(AREA, &[1; 32]);
        let mut memory = [0; 40];
        counting(1, &mut memory);
        let base = memory.as_ptr().addr() as u32;
        for offset in 0..16u32 {
            for length in 0..=17usize {
                let mut target = [POISON; 17];
                let result = copy_from_kernel_nofault(&mut target[..length], base + offset);
                let (copied, rest) = target.split_at(length);
                check!(
                    result.is_ok()
                        && *copied == memory[offset as usize..][..length]
                        && rest.iter().all(|b| *b == POISON),
                    "{length} bytes at {offset}: {result:?}, {target:?}"
                );
            }
            let bytes: [u8; 8] = core::array::from_fn(|i| memory[offset as usize + i]);
            let at = base + offset;
            let is_right = get_kernel_nofault(at) == Ok(bytes[0])
                && get_kernel_nofault(at) == Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
                && get_kernel_nofault(at) == Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
                && get_kernel_nofault(at) == Ok(u64::from_be_bytes(bytes));
            check!(is_right, "integers at {offset}");
            check!(
                !(operations.has_window)() || !window::is_open(),
                "the window was opened"
            );
        }
        for (address, length) in REFUSED {
            let mut target = [POISON; 8];
            let result = copy_from_kernel_nofault(&mut target[..length], address);
            check!(
                result.is_err() && target == [POISON; 8],
                "{length} bytes at {address:#x}: {result:?}"
            );
            check!(get_kernel_nofault::<u32>(address).is_err(), "a word at {address:#x}");
        }
        check!(
            get_kernel_nofault::<u8>(UNMAPPED) == Err(Errno::EFAULT),
            "an unmapped byte"
        );
        check!(
            get_kernel_nofault::<u64>(UNMAPPED) == Err(Errno::EFAULT),
            "an unmapped double word"
        );
        // The string form ends what it gives.
        memory[20] = 0;
        let mut target = [POISON; 12];
        let length = strncpy_from_kernel_nofault(&mut target, base + 15);
        check!(
            length == Ok(6) && target[..6] == memory[15..21] && target[6..] == [POISON; 6],
            "{length:?}, {target:?}"
        );
        let length = strncpy_from_kernel_nofault(&mut target[..4], base + 15);
        check!(
            length == Ok(4) && target[..3] == memory[15..18] && target[3] == 0,
            "{length:?}, {target:?}"
        );
        let length = strncpy_from_kernel_nofault(&mut target, UNMAPPED);
        check!(length == Err(Errno::EFAULT) && target[0] == 0, "{length:?}, {target:?}");
        check!(
            strncpy_from_kernel_nofault(&mut target, AREA) == Err(Errno::ERANGE),
            "a user string"
        );
        settled(operations)?;
        Ok("16 offsets of 18 lengths".into())
    }

    // U-057
    #[allow(unsafe_code, reason = "stores to a raw address are what this is for")]
    pub(in super::super) fn nofault_writes(operations: &Operations) -> Report {
        let sandbox = Sandbox::under(operations)?;
        sandbox.write(AREA, &[POISON; 32]);
        let mut source = [0; 17];
        counting(1, &mut source);
        let mut memory = [0; 40];
        for offset in 0..16usize {
            for length in 0..=17usize {
                memory.fill(POISON);
                let at = memory.as_mut_ptr().expose_provenance() as u32 + offset as u32;
                // SAFETY: the bytes are within `memory`, whose provenance is exposed.
                let result = unsafe { copy_to_kernel_nofault(at, &source[..length]) };
                let bytes = core::hint::black_box(&memory);
                let (before, rest) = bytes.split_at(offset);
                let (written, after) = rest.split_at(length);
                check!(
                    result.is_ok()
                        && *written == source[..length]
                        && before.iter().chain(after).all(|byte| *byte == POISON),
                    "{length} bytes at {offset}: {result:?}, {bytes:?}"
                );
            }
        }
        for (address, length) in REFUSED {
            // SAFETY: nothing is written to user addresses, nor where a range wraps.
            let results = unsafe {
                [
                    copy_to_kernel_nofault(address, &source[..length]),
                    put_kernel_nofault(address, 0u32),
                ]
            };
            check!(
                results.iter().all(|result| result.is_err()),
                "{length} bytes at {address:#x}: {results:?}"
            );
        }
        check!(sandbox.read(AREA, 32) == [POISON; 32], "user memory changed");
        // SAFETY: nothing is mapped there.
        let result = unsafe { put_kernel_nofault(UNMAPPED, 0u64) };
        check!(result == Err(Errno::EFAULT), "an unmapped double word: {result:?}");
        settled(operations)?;
        Ok("16 offsets of 18 lengths".into())
    }

    // U-062
    pub(in super::super) fn reported(operations: &Operations) -> Report {
        let _sandbox = Sandbox::under(operations)?;
        let before = acc::reports();
        let result = {
            let _kernel = acc::KernelLimit::new();
            (operations.u32.get)(UserAddr::new(UNMAPPED))
        };
        check!(result == Err(Errno::EFAULT), "{result:?}");
        check!(acc::reports() == before + 1, "{} reports", acc::reports() - before);
        Ok("one report".into())
    }
}
