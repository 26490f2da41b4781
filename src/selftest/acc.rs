//! Suite `acc`: the limit and the one range check.
#![forbid(unsafe_code)]

use super::sandbox::{AREA, EDGE, HOLE, POISON, Rights, Sandbox};
use super::{Needs, Report, Test, settled};
use crate::addr::{KERNEL_BASE, PAGE_SIZE, TASK_SIZE, UserAddr};
use crate::check;
use crate::errno::Errno;
use crate::uaccess::limit::{KERNEL_DS, USER_DS, force_uaccess_begin, set_fs, uaccess_kernel};
use crate::uaccess::operations::Operations;
use crate::uaccess::{UserRange, counters};
use alloc::string::String;
use alloc::vec::Vec;

pub(super) const TESTS: &[Test] = &[
    Test::new("acc", "limit table", limit_table),
    Test::new("acc", "limit table under the kernel's limit", kernel_limit_table).needs(Needs::SetFs),
    Test::new("acc", "sections with the user limit", user_sections).needs(Needs::SetFs),
    Test::new("acc", "length 0", length_0),
    Test::new("acc", "address plus length that wraps", wrapping),
    Test::new("acc", "lengths beyond 16 bits", long_lengths),
    Test::new("acc", "kernel memory as source and target", kernel_memory),
    Test::new("acc", "addresses of nobody", nobody),
    Test::new("acc", "ranges over the end of user space", over_the_end),
    Test::new(
        "acc",
        "ranges over the end under the kernel's limit",
        over_the_end_of_kernel_limit,
    )
    .needs(Needs::SetFs),
];

const LAST_PAGE: u32 = TASK_SIZE - PAGE_SIZE;

/// The limit of the kernel for as long as this lives.
pub(super) struct KernelLimit;

impl KernelLimit {
    pub(super) fn new() -> Self {
        set_fs(KERNEL_DS);
        Self
    }
}

impl Drop for KernelLimit {
    fn drop(&mut self) {
        set_fs(USER_DS);
    }
}

/// Reports of kernel addresses that slipped past the check.
pub(super) fn reports() -> u64 {
    let all = counters().all();
    let count = all.iter().find(|(name, _)| *name == "kernel addresses");
    count.map_or(0, |(_, count)| *count)
}

fn checked(operations: &Operations, address: u32, length: u32) -> Result<UserRange, String> {
    (operations.access_ok)(UserAddr::new(address), length)
        .map_err(|error| alloc::format!("access_ok({address:#x}, {length:#x}): {}", error.name()))
}

/// Compares `access_ok` with rows of address, size and the exact answer. A check that is not exact must accept what the
/// exact one does, and what it accepts beyond that must start and be as long as it promises.
fn compare(operations: &Operations, limit: u32, rows: &[(u32, u32, bool)]) -> Report {
    for &(address, size, exact) in rows {
        let expected = if operations.is_check_exact {
            exact
        } else {
            address <= limit && size <= limit
        };
        let answer = (operations.access_ok)(UserAddr::new(address), size);
        check!(
            answer.is_ok() == expected && (!exact || expected),
            "access_ok({address:#x}, {size:#x}): {answer:?}"
        );
        check!(expected || answer == Err(Errno::EFAULT), "{answer:?}");
    }
    Ok(alloc::format!("{} rows", rows.len()))
}

// U-001
fn limit_table(operations: &Operations) -> Report {
    let ts = TASK_SIZE;
    let rows = [
        (0, 0, true),
        (0, 1, true),
        (ts - 1, 0, true),
        (ts - 1, 1, true),
        (ts - 1, 2, false),
        (ts, 0, false),
        (ts, 1, false),
        (0, ts - 1, true),
        (0, ts + 1, false),
        (1, ts, false),
        (1, ts - 1, true),
        (2, ts - 1, false),
        (u32::MAX, 0, false),
        (u32::MAX, 1, false),
        (0xffff_f000, 0x1000, false),
        (0xffff_f000, 0x2000, false),
        (1, u32::MAX, false),
        (0x1000, 0xffff_f000, false),
    ];
    let report = compare(operations, ts - 1, &rows)?;
    // All of user space at once: `size <= limit` is one byte short of it.
    let whole = (operations.access_ok)(UserAddr::new(0), ts);
    check!(
        whole.is_ok() == operations.is_check_exact,
        "all of user space: {whole:?}"
    );
    Ok(report)
}

// U-002
fn kernel_limit_table(operations: &Operations) -> Report {
    let kernel = KernelLimit::new();
    let report = compare(
        operations,
        u32::MAX,
        &[
            (KERNEL_BASE, 16, true),
            (u32::MAX, 0, true),
            (u32::MAX, 1, true),
            (u32::MAX, 2, false),
            (0xffff_f000, 0x1000, true),
            (0xffff_f000, 0x1001, false),
            (0, u32::MAX, true),
        ],
    )?;
    drop(kernel);
    check!(
        (operations.access_ok)(UserAddr::new(KERNEL_BASE), 16).is_err(),
        "the kernel is within the user limit"
    );
    Ok(report)
}

fn user_sections(operations: &Operations) -> Report {
    let _kernel = KernelLimit::new();
    check!(uaccess_kernel(), "set_fs(KERNEL_DS) is not in force");
    {
        let _user = force_uaccess_begin();
        check!(!uaccess_kernel(), "the section has the kernel's limit");
        check!(checked(operations, KERNEL_BASE, 1).is_err(), "the kernel is accepted");
    }
    check!(uaccess_kernel(), "the section did not give the limit back");
    checked(operations, KERNEL_BASE, 1)?;
    Ok("one section".into())
}

// U-009
fn length_0(operations: &Operations) -> Report {
    let _sandbox = Sandbox::under(operations)?;
    let good = [0, 1, AREA, EDGE, HOLE, TASK_SIZE - 1];
    for address in good {
        let range = checked(operations, address, 0)?;
        let left = [
            (operations.clear_user)(&range),
            (operations.copy_to_user)(&range, &[]),
            (operations.copy_from_user)(&mut [], &range),
        ];
        check!(
            left.iter().all(|left| left.is_done()),
            "0 bytes at {address:#x}: {left:?}"
        );
    }
    for address in [TASK_SIZE, KERNEL_BASE, u32::MAX] {
        check!(checked(operations, address, 0).is_err(), "{address:#x} is accepted");
    }
    settled(operations)?;
    Ok(alloc::format!("{} addresses", good.len() + 3))
}

// U-010
fn wrapping(operations: &Operations) -> Report {
    let rows = [
        (0x1000, 0xffff_f800),
        (TASK_SIZE - 16, 0xffff_fff8),
        (AREA, u32::MAX),
        (AREA, 0u32.wrapping_sub(AREA)),
        (AREA, 1u32.wrapping_sub(AREA)),
    ];
    for (address, length) in rows {
        check!(
            checked(operations, address, length).is_err(),
            "{length:#x} bytes at {address:#x} are accepted"
        );
    }
    Ok(alloc::format!("{} ranges", rows.len()))
}

// U-013
fn long_lengths(operations: &Operations) -> Report {
    let sandbox = Sandbox::under(operations)?;
    let lengths = [0x1_0000, 0x1_0010, 0x100_0010];
    for length in lengths {
        sandbox.write(EDGE - 128, &[POISON; 128]);
        let left = (operations.clear_user)(&checked(operations, EDGE - 64, length)?).bytes();
        check!(left == length - 64, "clear of {length:#x}: residue {left:#x}");
        let bytes = sandbox.read(EDGE - 128, 128);
        check!(
            bytes[..64] == [POISON; 64] && bytes[64..] == [0; 64],
            "clear of {length:#x}: {bytes:?}"
        );
        sandbox.write(EDGE - 64, &[POISON; 64]);
        let end = (operations.strnlen_user)(UserAddr::new(EDGE - 64), length);
        check!(end == 0, "a string of {length:#x}: {end:#x}");
    }
    check!(sandbox.read(EDGE, 64) == [0; 64], "the page behind the edge changed");
    Ok(alloc::format!("{} lengths", lengths.len()))
}

/// A page of kernel memory and its address; on the host, where the kernel's own memory is elsewhere, just an address.
fn kernel_page() -> (Vec<u8>, u32) {
    let page = alloc::vec![POISON; PAGE_SIZE as usize];
    let address = if cfg!(target_os = "none") {
        page.as_ptr().addr() as u32
    } else {
        KERNEL_BASE + 0x10_0000
    };
    (page, address)
}

// U-004, U-005
fn kernel_memory(operations: &Operations) -> Report {
    let _sandbox = Sandbox::under(operations)?;
    let (page, address) = kernel_page();
    let mut target = alloc::vec![0x5a; PAGE_SIZE as usize];
    let left = (operations.copy_from_user_checked)(&mut target, UserAddr::new(address)).bytes();
    check!(left == PAGE_SIZE, "from {address:#x}: residue {left}");
    check!(target.iter().all(|byte| *byte == 0), "stale bytes in the target");
    let left = (operations.copy_to_user_checked)(UserAddr::new(address), &target).bytes();
    check!(left == PAGE_SIZE, "to {address:#x}: residue {left}");
    check!(
        (operations.u32.put)(UserAddr::new(address), 0).is_err()
            && (operations.u32.get)(UserAddr::new(address)).is_err(),
        "an integer at {address:#x} is accepted"
    );
    check!(page.iter().all(|byte| *byte == POISON), "the kernel's page changed");
    settled(operations)?;
    Ok("a page each way".into())
}

// U-018
fn nobody(operations: &Operations) -> Report {
    let _sandbox = Sandbox::under(operations)?;
    let before = reports();
    let addresses = [TASK_SIZE, TASK_SIZE + PAGE_SIZE, KERNEL_BASE - PAGE_SIZE];
    for address in addresses.map(UserAddr::new) {
        let mut bytes = [POISON; 16];
        let refusals = [
            (operations.u32.get)(address).is_err(),
            (operations.u64.put)(address, 0).is_err(),
            (operations.strncpy_from_user)(&mut bytes, address).is_err(),
            (operations.strnlen_user)(address, 16) == 0,
            (operations.copy_to_user_checked)(address, &bytes).bytes() == 16,
            (operations.copy_from_user_checked)(&mut bytes, address).bytes() == 16,
            (operations.load_unaligned_zeropad)(address).is_err(),
        ];
        check!(refusals.iter().all(|refused| *refused), "{address}: {refusals:?}");
        settled(operations)?;
    }
    check!(
        reports() == before,
        "{} were reported as the kernel's",
        reports() - before
    );
    Ok(alloc::format!("{} addresses", addresses.len()))
}

// U-014: a range that the check lets through although its end is nobody's ends there, like one that meets an unmapped page.
fn over_the_end(operations: &Operations) -> Report {
    let sandbox = Sandbox::under(operations)?;
    sandbox.map(LAST_PAGE, Rights::ReadWrite)?;
    let rows = [(8, 64), (1, TASK_SIZE - 1), (1, 2), (40, TASK_SIZE - 1)];
    for (inside, length) in rows {
        let before = reports();
        sandbox.write(TASK_SIZE - 64, &[POISON; 64]);
        let address = TASK_SIZE - inside;
        let range = checked(operations, address, length);
        check!(
            range.is_ok() != operations.is_check_exact,
            "{length:#x} bytes at {address:#x}: {range:?}"
        );
        if let Ok(range) = range {
            run_over_the_end(operations, &sandbox, &range, inside)?;
        }
        check!(reports() == before, "reported as a kernel address");
        settled(operations)?;
    }
    // The two halves of an integer.
    sandbox.write(TASK_SIZE - 64, &[POISON; 64]);
    let put = (operations.u64.put)(UserAddr::new(TASK_SIZE - 4), 0);
    check!(put == Err(Errno::EFAULT), "put_user over the end: {put:?}");
    let bytes = sandbox.read(TASK_SIZE - 64, 64);
    check!(bytes[..60] == [POISON; 60], "bytes before the integer changed");
    let get = (operations.u64.get)(UserAddr::new(TASK_SIZE - 4));
    check!(get == Err(Errno::EFAULT), "get_user over the end: {get:?}");
    settled(operations)?;
    Ok(alloc::format!("{} ranges", rows.len()))
}

// What `set_fs(KERNEL_DS)` lets through from below the end must not open the kernel's own segments to the window.
fn over_the_end_of_kernel_limit(operations: &Operations) -> Report {
    let sandbox = Sandbox::under(operations)?;
    sandbox.map(LAST_PAGE, Rights::ReadWrite)?;
    sandbox.write(TASK_SIZE - 64, &[POISON; 64]);
    {
        let _kernel = KernelLimit::new();
        for (inside, length) in [(8, 64), (1, 0xffff_ffff - TASK_SIZE)] {
            let range = checked(operations, TASK_SIZE - inside, length)?;
            run_over_the_end(operations, &sandbox, &range, inside)?;
            settled(operations)?;
        }
        // The kernel's own memory needs no window.
        #[cfg(target_os = "none")]
        {
            let (page, address) = kernel_page();
            let range = checked(operations, address, 64)?;
            let left = (operations.copy_to_user)(&range, &[7; 64]).bytes();
            check!(
                left == 0 && core::hint::black_box(&page)[..64] == [7; 64],
                "residue {left}"
            );
            let word = (operations.u32.get)(UserAddr::new(address));
            check!(word == Ok(0x0707_0707), "{word:?}");
        }
    }
    Ok("2 ranges".into())
}

fn run_over_the_end(operations: &Operations, sandbox: &Sandbox, range: &UserRange, inside: u32) -> Result<(), String> {
    let (start, length) = (range.start(), range.len());
    let left = (operations.clear_user)(range).bytes();
    check!(left == length - inside, "clear at {start:#x}: residue {left:#x}");
    let bytes = sandbox.read(TASK_SIZE - 64, 64);
    let (before, cleared) = bytes.split_at((64 - inside) as usize);
    check!(
        before.iter().all(|byte| *byte == POISON) && cleared.iter().all(|byte| *byte == 0),
        "clear at {start:#x}: {bytes:?}"
    );
    let part = range.truncate(96);
    let left = (operations.copy_to_user)(&part, &[POISON; 96]).bytes();
    check!(left == part.len() - inside, "copy to {start:#x}: residue {left:#x}");
    let mut target = [1; 96];
    let left = (operations.copy_from_user)(&mut target, &part).bytes();
    check!(left == part.len() - inside, "copy from {start:#x}: residue {left:#x}");
    let (copied, tail) = target[..part.len() as usize].split_at(inside as usize);
    check!(
        copied.iter().all(|byte| *byte == POISON) && tail.iter().all(|byte| *byte == 0),
        "copy from {start:#x}: {target:?}"
    );
    Ok(())
}
