//! Loads, stores and jumps where they do not belong.

use super::{not_stopped, page_size, refuse, say};
use crate::user::errno::Errno;
use crate::user::linux::{Linux, number, syscall1, syscall2, syscall3, syscall6};
use crate::user::print::complain;
use crate::user::start::StartInfo;
use core::arch::asm;
use core::hint::black_box;

/// `nop` (ori 0,0,0).
const NOP: u32 = 0x6000_0000;
/// `blr`.
const BLR: u32 = 0x4e80_0020;

/// Rights of `mmap2` and `mprotect` (kernel `include/uapi/asm-generic/mman-common.h`).
pub const PROT_READ: u32 = 1;
/// As [`PROT_READ`].
pub const PROT_WRITE: u32 = 2;
/// As [`PROT_READ`].
const PROT_EXEC: u32 = 4;
/// Private pages without a file (kernel `mman-common.h`: MAP_PRIVATE, MAP_ANONYMOUS).
pub const MAP_PRIVATE_ANONYMOUS: u32 = 0x22;
/// The file descriptor of a mapping without a file.
pub const NO_FILE: u32 = u32::MAX;

/// Loads the word at `address` and prints it.
pub fn load(sys: &mut Linux, address: u32) -> u8 {
    let value = load_word(address);
    say(sys, format_args!("probe: loaded {value:#010x} from {address:#010x}\n"))
}

/// Stores a word at `address`.
pub fn store(sys: &mut Linux, address: u32) -> u8 {
    store_word(address, 0x5a5a_5a5a);
    say(sys, format_args!("probe: stored to {address:#010x}\n"))
}

/// Calls `address` as a function.
pub fn jump(sys: &mut Linux, address: u32) -> u8 {
    call(address);
    say(sys, format_args!("probe: returned from {address:#010x}\n"))
}

/// Overwrites an instruction of its own with itself.
pub fn write_text(sys: &mut Linux) -> u8 {
    let address = write_text as fn(&mut Linux) -> u8 as usize as u32;
    store_word(address, load_word(address));
    not_stopped(sys, "a store to the program's code")
}

/// Calls a function that it wrote to its stack.
pub fn exec_stack(sys: &mut Linux) -> u8 {
    let code = black_box([BLR; 8]);
    let address = code.as_ptr().addr() as u32;
    make_executable(address, size_of_val(&code) as u32);
    call(address);
    not_stopped(sys, "execution of the stack")
}

/// Fills a page with `nop`s and a final `blr`, gives it `rights`, then touches its first word by `access`.
pub fn exec_page(sys: &mut Linux, start: &StartInfo<'_>, rights: &[u8], access: &[u8]) -> u8 {
    let mut protection = 0;
    for (index, right) in rights.iter().enumerate() {
        protection |= match right {
            b'r' if index == 0 => PROT_READ,
            b'w' if rights[..index].iter().all(|&before| before == b'r') => PROT_WRITE,
            b'x' if !rights[..index].contains(&b'x') => PROT_EXEC,
            _ if rights == b"none" => 0,
            _ => return refuse(sys, "one of the rights none r w rw x rx wx rwx", rights),
        };
    }
    let action = match access {
        b"load" => load,
        b"store" => store,
        b"jump" => jump,
        _ => return refuse(sys, "one of load store jump", access),
    };
    let len = page_size(start);
    let page = match map_pages(len) {
        Ok(page) => page,
        Err(error) => {
            complain(sys, format_args!("probe: cannot map a page: {error}\n"));
            return 1;
        }
    };
    for offset in (0..len - 4).step_by(4) {
        store_word(page + offset, NOP);
    }
    store_word(page + len - 4, BLR);
    make_executable(page, len);
    if let Err(error) = protect(page, len, protection) {
        complain(sys, format_args!("probe: cannot protect the page: {error}\n"));
        return 1;
    }
    action(sys, page)
}

/// Uses stack until there is none.
pub fn overflow_stack(sys: &mut Linux) -> u8 {
    black_box(descend(black_box(u32::MAX)));
    not_stopped(sys, "the use of 2^32 stack frames")
}

#[inline(never)]
fn descend(depth: u32) -> u32 {
    let frame = black_box([depth; 64]);
    if depth == 0 {
        0
    } else {
        descend(depth - 1) + frame[63] % 2
    }
}

/// Moves the break up and back, with a look at the memory that it brings.
pub fn grow_break(sys: &mut Linux) -> u8 {
    const STEP: u32 = 1 << 20;
    let old = set_break(0);
    let mut failed = 0;
    let mut check = |what: &str, holds: bool| {
        failed |= u8::from(!holds);
        failed |= say(
            sys,
            format_args!("break {what}: {}\n", if holds { "yes" } else { "NO" }),
        );
    };
    check("is above the program", old > 0x1000_0000);
    check("grows by 1 MiB", set_break(old + STEP) == old + STEP);
    check(
        "brings zeros",
        (old..old + STEP).step_by(4096).all(|address| load_word(address) == 0),
    );
    (old..old + STEP)
        .step_by(4096)
        .for_each(|address| store_word(address, address));
    check(
        "keeps what is stored",
        (old..old + STEP)
            .step_by(4096)
            .all(|address| load_word(address) == address),
    );
    check("shrinks again", set_break(old) == old);
    check("grows once more", set_break(old + STEP) == old + STEP);
    check(
        "brings zeros again",
        (old..old + STEP).step_by(4096).all(|address| load_word(address) == 0),
    );
    check("stays when asked below its start", set_break(0x1000) == old + STEP);
    check(
        "stays when asked for the whole address space",
        set_break(0xffff_f000) == old + STEP,
    );
    failed
}

/// Moves the break to `wanted` if the system agrees; returns where it is then.
fn set_break(wanted: u32) -> u32 {
    // SAFETY: the break only comes back to where it was found, so no memory of the heap goes away.
    unsafe { syscall1(number::BRK, wanted) }.unwrap_or(0)
}

/// Maps `len` bytes of fresh pages, readable and writable.
///
/// # Errors
/// As `mmap2(2)`.
pub fn map_pages(len: u32) -> Result<u32, Errno> {
    // SAFETY: without a fixed address the system chooses one where nothing is.
    unsafe {
        syscall6(
            number::MMAP2,
            0,
            len,
            PROT_READ | PROT_WRITE,
            MAP_PRIVATE_ANONYMOUS,
            NO_FILE,
            0,
        )
    }
}

/// Changes the rights of pages that [`map_pages`] gave.
///
/// # Errors
/// As `mprotect(2)`.
pub fn protect(address: u32, len: u32, protection: u32) -> Result<(), Errno> {
    // SAFETY: nothing but the probe itself uses these pages.
    unsafe { syscall3(number::MPROTECT, address, len, protection) }.map(drop)
}

/// Unmaps pages that [`map_pages`] gave.
///
/// # Errors
/// As `munmap(2)`.
pub fn unmap(address: u32, len: u32) -> Result<(), Errno> {
    // SAFETY: nothing but the probe itself uses these pages.
    unsafe { syscall2(number::MUNMAP, address, len) }.map(drop)
}

/// One `lwz`, wherever it leads.
pub fn load_word(address: u32) -> u32 {
    let value;
    // SAFETY: the load changes nothing; that it may end the process is what it is for.
    unsafe {
        asm!(
            "lwz {value}, 0({address})",
            address = in(reg_nonzero) address,
            value = out(reg) value,
            options(nostack, readonly),
        )
    };
    value
}

/// One `stw`, wherever it leads.
pub fn store_word(address: u32, value: u32) {
    // SAFETY: the callers aim at pages of their own, or at memory whose protection they test; in the second case a
    // store that passes may break the process, which is reported and ends.
    unsafe {
        asm!("stw {value}, 0({address})", address = in(reg_nonzero) address, value = in(reg) value, options(nostack))
    };
}

/// Makes stores to `len` bytes at `address` visible to instruction fetch, in steps that suit every cache line size.
fn make_executable(address: u32, len: u32) {
    for line in (address..address + len).step_by(16) {
        // SAFETY: dcbst and icbi change no memory.
        unsafe { asm!("dcbst 0, {line}", "sync", "icbi 0, {line}", line = in(reg) line, options(nostack)) };
    }
    // SAFETY: barriers only.
    unsafe { asm!("sync", "isync", options(nostack)) };
}

/// Calls `address` as a function without arguments.
fn call(address: u32) {
    // SAFETY: where there is no function, the process ends here, which is what the call is for; the functions that the
    // probe places itself return at once. The registers are those that a function may change, without the
    // floating-point ones, which this target has not.
    unsafe {
        asm!(
            "mtctr 3",
            "bctrl",
            inout("r3") address => _,
            out("r0") _, out("r4") _, out("r5") _, out("r6") _, out("r7") _, out("r8") _,
            out("r9") _, out("r10") _, out("r11") _, out("r12") _,
            out("cr0") _, out("cr1") _, out("cr5") _, out("cr6") _, out("cr7") _,
            out("ctr") _, out("lr") _, out("xer") _,
        )
    };
}
