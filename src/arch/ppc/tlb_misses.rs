//! TLB misses, counted on request.
//!
//! The miss handlers touch no memory but the page tables. While misses are counted, a branch at each handler's start leads
//! over a detour that adds one to a word of memory; see `vectors.s`.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// What the detours count, modulo 2^32.
#[repr(C, align(16))]
struct State {
    instruction: AtomicU32,
    data: AtomicU32,
}

#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the assembly names it so")]
static tlb_miss_state: State = State {
    instruction: AtomicU32::new(0),
    data: AtomicU32::new(0),
};

/// Misses of the two TLBs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TlbMisses {
    /// Of fetches.
    pub instruction: u32,
    /// Of loads and stores.
    pub data: u32,
}

/// Counts misses while `f` runs; `None` on a CPU that reloads its TLB without software.
pub fn count<R>(f: impl FnOnce() -> R) -> (R, Option<TlbMisses>) {
    if !crate::arch::mmu::reloads_by_software() {
        return (f(), None);
    }
    begin();
    let result = f();
    (result, Some(end()))
}

/// Counting begins. A function of its own, like [`end`], so that a profile of another kind can be limited to what lies
/// between the two.
#[inline(never)]
fn begin() {
    tlb_miss_state.instruction.store(0, Relaxed);
    tlb_miss_state.data.store(0, Relaxed);
    each_handler(|[handler, detour], _| branch(handler, detour));
}

/// Counting ends.
#[inline(never)]
fn end() -> TlbMisses {
    each_handler(|_, first| first);
    TlbMisses {
        instruction: tlb_miss_state.instruction.load(Relaxed),
        data: tlb_miss_state.data.load(Relaxed),
    }
}

/// `b`.
fn branch(from: usize, to: usize) -> u32 {
    0x4800_0000 | to.wrapping_sub(from) as u32 & 0x03ff_fffc
}

/// Patches the first instruction of every handler to what `instruction` makes of handler and detour, and of what the
/// instruction is without counting.
fn each_handler(instruction: impl Fn([usize; 2], u32) -> u32) {
    for handler in super::super::family::tlb_miss_handlers() {
        let first = instruction([handler.start, handler.detour], handler.first);
        super::super::mmu::patch_instruction(handler.start, first);
    }
}

/// A handler of TLB misses.
#[derive(Clone, Copy, Debug)]
pub struct Handler {
    /// Its first instruction.
    pub start: usize,
    /// Where that leads while misses are counted.
    pub detour: usize,
    /// What it is otherwise: an instruction that the detour does too.
    pub first: u32,
}
