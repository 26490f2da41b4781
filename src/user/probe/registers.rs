//! What a system call must leave alone, also one that faults inside the kernel and is fixed up there.

use super::memory::{map_pages, protect};
use super::{page_size, say};
use crate::user::errno::Errno;
use crate::user::linux::{Linux, number};
use crate::user::print::complain;
use crate::user::start::StartInfo;
use crate::user::sys::{Fd, Sys, open_flags};
use core::arch::global_asm;

/// Registers r13 to r31, then r2, CR and LR.
const COUNT: usize = 22;
const R2: usize = 19;
const CR: usize = 20;
const LR: usize = 21;

/// CR0 changes with every call; its SO bit says that the result is an error number.
const CR0: u32 = 0xf000_0000;
const CR0_SO: u32 = 0x1000_0000;

/// Distances of the buffer's start from the bad page, in bytes: 0 to this, exclusive.
const ALIGNMENTS: u32 = 64;
/// Bytes asked for each time, so that every read runs into the bad page.
const READ_LEN: u32 = 2 * ALIGNMENTS;
/// What the good page holds before each read.
const POISON: u8 = 0xa5;

/// What `probe_call` loads before the call and finds after it. The assembly below knows the layout.
#[repr(C)]
struct Record {
    before: [u32; COUNT],
    after: [u32; COUNT],
    result: u32,
}

// probe_call(r3 to r5: the call's arguments, r6: its number, r7: record)
//
// Loads the registers of `record.before`, makes the call, stores them to `record.after` and r3 to `record.result`.
// Frame of 96 bytes: 8 r2, 12 CR, 16 r13 to r31, 92 record.
global_asm!(
    ".text",
    ".balign 4",
    ".globl probe_call",
    ".type probe_call, @function",
    "probe_call:",
    "stwu 1, -96(1)",
    "mflr 0",
    "stw 0, 100(1)",
    "mfcr 0",
    "stw 0, 12(1)",
    "stw 2, 8(1)",
    "stmw 13, 16(1)",
    "stw 7, 92(1)",
    "lmw 13, 0(7)",
    "lwz 2, 76(7)",
    "lwz 0, 80(7)",
    "mtcr 0",
    "lwz 0, 84(7)",
    "mtlr 0",
    "mr 0, 6",
    "sc",
    "lwz 12, 92(1)",
    "stmw 13, 88(12)",
    "stw 2, 164(12)",
    "mfcr 0",
    "stw 0, 168(12)",
    "mflr 0",
    "stw 0, 172(12)",
    "stw 3, 176(12)",
    "lmw 13, 16(1)",
    "lwz 2, 8(1)",
    "lwz 0, 12(1)",
    "mtcr 0",
    "lwz 0, 100(1)",
    "mtlr 0",
    "addi 1, 1, 96",
    "blr",
    ".size probe_call, . - probe_call",
);

unsafe extern "C" {
    /// Makes the call `number` with three arguments and the registers of `record`.
    ///
    /// # Safety
    /// As for a system call; `record` points to a [`Record`].
    fn probe_call(first: u32, second: u32, third: u32, number: u32, record: *mut Record);
}

/// Reads from /dev/zero into the end of a page with none behind it, from 64 alignments, with known values in all
/// registers that the call must keep.
pub fn check(sys: &mut Linux, start: &StartInfo<'_>) -> u8 {
    match reads_at_the_end_of_a_page(sys, page_size(start)) {
        Ok(Some([short, failed])) => say(
            sys,
            format_args!(
                "probe: registers kept over {ALIGNMENTS} reads into the end of a page: {short} short, {failed} EFAULT\n"
            ),
        ),
        Ok(None) => 1,
        Err(error) => {
            complain(sys, format_args!("probe: registers: cannot prepare: {error}\n"));
            1
        }
    }
}

/// Returns how many reads came back short and how many failed with EFAULT; complains and returns `None` on the first
/// that did anything wrong.
fn reads_at_the_end_of_a_page(sys: &mut Linux, page_size: u32) -> Result<Option<[u32; 2]>, Errno> {
    let Fd(zero) = sys.open(c"/dev/zero", open_flags::O_RDONLY, 0)?;
    let start = map_pages(2 * page_size)?;
    let end = start + page_size;
    protect(end, page_size, 0)?;
    // SAFETY: the page was just mapped and nothing else knows of it.
    let page = unsafe { core::slice::from_raw_parts_mut(start as *mut u8, page_size as usize) };
    let (mut short, mut failed) = (0, 0);
    for room in 0..ALIGNMENTS {
        page.fill(POISON);
        let mut record = Record {
            before: patterns(room),
            after: [0; COUNT],
            result: 0,
        };
        // SAFETY: the kernel may write from `end - room` on, which `page` covers up to the page without rights.
        unsafe {
            probe_call(
                zero.cast_unsigned(),
                end - room,
                READ_LEN,
                number::READ,
                &raw mut record,
            )
        };
        if let Some(register) = (0..COUNT).find(|&register| !kept(&record, register)) {
            let (before, after) = (record.before[register], record.after[register]);
            complain(
                sys,
                format_args!(
                    "probe: registers: {} was {before:#010x}, is {after:#010x} \
                     after a read {room} bytes before the end of a page\n",
                    Name(register)
                ),
            );
            return Ok(None);
        }
        let is_error = record.after[CR] & CR0_SO != 0;
        let done = if is_error { 0 } else { record.result };
        let outcome_is_right = match is_error {
            true => record.result == Errno::EFAULT.0.cast_unsigned(),
            false => done == room && room > 0,
        };
        let (untouched, cleared) = page.split_at((page_size - done) as usize);
        if !outcome_is_right || untouched.iter().any(|&byte| byte != POISON) || cleared.iter().any(|&byte| byte != 0) {
            complain(
                sys,
                format_args!(
                    "probe: registers: a read {room} bytes before the end of a page gave {}{}, {} bytes changed\n",
                    if is_error { "error " } else { "" },
                    record.result,
                    page.iter().filter(|&&byte| byte != POISON).count(),
                ),
            );
            return Ok(None);
        }
        if is_error { failed += 1 } else { short += 1 }
    }
    Ok(Some([short, failed]))
}

/// Values that differ between registers and rounds.
fn patterns(round: u32) -> [u32; COUNT] {
    core::array::from_fn(|register| 0x9e37_79b9_u32.wrapping_mul(round * COUNT as u32 + register as u32 + 1))
}

fn kept(record: &Record, register: usize) -> bool {
    let ignored = if register == CR { CR0 } else { 0 };
    (record.before[register] ^ record.after[register]) & !ignored == 0
}

/// The name of a register in a [`Record`].
struct Name(usize);

impl core::fmt::Display for Name {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0 {
            R2 => f.write_str("r2"),
            CR => f.write_str("CR"),
            LR => f.write_str("LR"),
            index => write!(f, "r{}", index + 13),
        }
    }
}
