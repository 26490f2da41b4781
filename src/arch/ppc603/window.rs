//! The user-access window by segment registers (KUAP): user segments carry Ks = 1 while the kernel runs, and user pages
//! give key 1 nothing, so the kernel cannot touch them. Opening clears Ks in the segments that the range covers.
//!
//! The family cannot tell directions apart: an open window admits loads and stores. Read-only user pages (PP = 11) stay
//! readable by the kernel with the window closed, for no PP code gives key 0 "read" and key 1 "nothing".

use crate::addr::TASK_SIZE;
use core::arch::asm;
use core::cell::UnsafeCell;
use core::hint::cold_path;
use core::sync::atomic::{AtomicBool, Ordering};

/// Segment value while the kernel runs: Ks = 1, Kp = 0, N = 1; the segment number goes into the VSID's upper half.
pub const CLOSED: u32 = 0x5000_0000;
/// The same with Ks = 0.
pub const OPEN: u32 = 0x1000_0000;
/// Key 1 for the kernel.
const KS: u32 = 0x4000_0000;
/// Segment 1 while user code runs: not N, so that programs can execute.
pub const USER_EXECUTABLE: u32 = 0x4000_0000;

/// Which accesses an open window admits; see the module text.
pub const TELLS_DIRECTIONS: bool = false;

/// 0 when closed, else `FLAG | last << 4 | first` in segments. The exception entry saves and restores it.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the assembly names it so")]
static user_access_window: State = State(UnsafeCell::new(0));

#[repr(transparent)]
struct State(UnsafeCell<u32>);
// SAFETY: one core; an exception between two accesses leaves the word as it found it.
unsafe impl Sync for State {}

const FLAG: u32 = 0x100;
/// The segment that user space ends with.
const LAST_SEGMENT: u32 = (TASK_SIZE - 1) >> 28;

/// Opens `[start, start + length)`, a non-empty range of user addresses.
#[inline(always)]
pub fn open(start: u32, length: u32, _write: bool) {
    let first = start >> 28;
    let last = (start + (length - 1)) >> 28;
    // SAFETY: see `State`. The word goes first: an exception in between closes and reopens segments that are closed still.
    unsafe { user_access_window.0.get().write_volatile(FLAG | last << 4 | first) };
    write_segments(first, last, OPEN);
}

/// Closes whatever is open.
#[inline(always)]
pub fn close() {
    // SAFETY: see `State`.
    let word = unsafe { user_access_window.0.get().read_volatile() };
    // SAFETY: see `State`. The word goes first: an exception behind a segment that is closed already would open it again
    // on its way back, and nothing would close it then.
    unsafe { user_access_window.0.get().write_volatile(0) };
    write_segments(word & 15, word >> 4 & 15, CLOSED);
}

/// Closes all user segments, whatever the word says of them.
pub fn reset() {
    // SAFETY: see `State`.
    unsafe { user_access_window.0.get().write_volatile(0) };
    write_segments(0, LAST_SEGMENT, CLOSED);
}

/// Whether the kernel is one without KUAP; its copies fault and are fixed up without a window.
static IS_ALWAYS_OPEN: AtomicBool = AtomicBool::new(false);

/// Makes user memory unreachable outside a window (the rule), or reachable always, for kernels without KUAP: what system
/// calls set segment 1 to is patched. Not for use while a window is open.
pub fn set_kuap(enabled: bool) {
    unsafe extern "C" {
        static kuap_patch_site: u32;
    }
    IS_ALWAYS_OPEN.store(!enabled, Ordering::Relaxed);
    let value = if enabled { CLOSED } else { OPEN };
    write_segments(0, LAST_SEGMENT, value);
    // lis r10, value
    let instruction = 0x3d40_0000 | value >> 16 | 1;
    super::mmu::patch_instruction((&raw const kuap_patch_site).addr(), instruction);
}

/// Whether a window is open, by the word or by the segment registers themselves.
pub fn is_open() -> bool {
    // SAFETY: see `State`.
    let word = unsafe { user_access_window.0.get().read_volatile() };
    word != 0 || (0..=LAST_SEGMENT).any(|segment| read_segment(segment) & KS == 0)
}

/// Whether the window word that a trap frame holds covers `address`, for a store or a load.
pub fn covers(word: u32, address: u32, _store: bool) -> bool {
    IS_ALWAYS_OPEN.load(Ordering::Relaxed) || word != 0 && (word & 15..=word >> 4 & 15).contains(&(address >> 28))
}

fn read_segment(segment: u32) -> u32 {
    let value;
    // SAFETY: reading a segment register changes nothing.
    unsafe { asm!("mfsrin {}, {}", out(reg) value, in(reg) segment << 28, options(nomem, nostack, preserves_flags)) };
    value
}

/// Writes Ks of segments `first` to `last`. Nearly always they are one.
#[inline(always)]
fn write_segments(first: u32, last: u32, value: u32) {
    write_segment(first, value);
    if first < last {
        cold_path();
        for segment in first + 1..=last {
            write_segment(segment, value);
        }
    }
    // SAFETY: context synchronization changes no state.
    unsafe { asm!("isync", options(nostack, preserves_flags)) };
}

#[inline(always)]
fn write_segment(segment: u32, value: u32) {
    // SAFETY: only Ks of a user segment changes; no Rust object lives in user space. The caller's `isync` orders it before
    // the accesses that follow.
    unsafe {
        asm!("mtsrin {}, {}", in(reg) value | segment << 16, in(reg) segment << 28, options(nostack, preserves_flags));
    }
}
