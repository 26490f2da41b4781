//! Short ways of system calls: what a descriptor is known to lead to, as one byte, so that a call on it need not look at
//! its file. The entry by descriptor reads the byte without a stack frame, which a compiled function that may go the long
//! way would have.

use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Descriptors that have a byte.
pub const DESCRIPTORS: usize = 256;

static WAYS: [AtomicU8; DESCRIPTORS] = [const { AtomicU8::new(0) }; DESCRIPTORS];

/// Sets the byte of a descriptor; one that is not in the table has none.
pub fn set(descriptor: usize, ways: u8) {
    if let Some(slot) = WAYS.get(descriptor) {
        slot.store(ways, Relaxed);
    }
}

/// Whether a bit is set for a descriptor.
pub fn is_set(descriptor: u32, way: u8) -> bool {
    WAYS.get(descriptor as usize)
        .is_some_and(|ways| ways.load(Relaxed) & way != 0)
}

/// A system call on a descriptor (r3) with a short and a long way.
#[cfg(target_os = "none")]
pub trait ByDescriptor {
    /// Bit that the short way needs.
    const WAY: u8;
    /// The short way.
    extern "C" fn short(descriptor: u32, buffer: u32, count: u32) -> i32;
    /// The long way.
    extern "C" fn long(descriptor: u32, buffer: u32, count: u32) -> i32;
}

/// Goes the way that the descriptor allows. In: r3–r8 arguments. Clobbers r6, r7, CR0; all else is the chosen way's.
#[cfg(target_os = "none")]
#[unsafe(naked)]
pub extern "C" fn by_descriptor<C: ByDescriptor>(_: u32, _: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    core::arch::naked_asm!(
        "cmplwi 3, {descriptors}",
        "lis 6, {ways}@ha",
        "add 6, 6, 3",
        "bge 1f",
        "lbz 7, {ways}@l(6)",
        "andi. 7, 7, {way}",
        "beq 1f",
        "b {short}",
        "1: b {long}",
        descriptors = const DESCRIPTORS,
        way = const C::WAY,
        ways = sym WAYS,
        short = sym C::short,
        long = sym C::long,
    )
}
