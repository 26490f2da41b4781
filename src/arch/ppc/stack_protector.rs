//! What `-Z stack-protector` images need: the canary and what happens when one is overwritten.
//!
//! The canary is drawn once at start-up and read-only from then on. Its first byte is not 0, so that an overflow of zeros
//! is seen as well as one of anything else.
//!
//! The seed is what the hardware of these machines has: time base and decrementer, which count from power-on. On a board
//! they tell starts apart by what the boot loader took (network, a person's keys), on QEMU by the host's clock; a machine
//! whose clock follows its instructions draws the same canary at every start.

use super::spr;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

#[unsafe(no_mangle)]
#[unsafe(link_section = ".ro_after_init")]
#[allow(non_upper_case_globals, reason = "the compiler names it so")]
static __stack_chk_guard: AtomicU32 = AtomicU32::new(0);

/// Draws the canary from time base, decrementer and processor version, mixed so that all bits depend on all (the
/// finalizer of MurmurHash3). To be called from a function that never returns, before anything that does; always inlined,
/// because it would itself be protected otherwise and find the canary changed.
#[inline(always)]
pub fn seed() {
    let mut value = spr::mftb_lower() ^ spr::decrementer().rotate_left(16) ^ spr::processor_version();
    value = (value ^ value >> 16).wrapping_mul(0x85eb_ca6b);
    value = (value ^ value >> 13).wrapping_mul(0xc2b2_ae35);
    value ^= value >> 16;
    __stack_chk_guard.store(value | 0x0100_0000, Relaxed);
}

/// The canary, for tests.
pub fn canary() -> u32 {
    __stack_chk_guard.load(Relaxed)
}

/// The name of the variant that this image was built as.
pub const VARIANT: &str = match option_env!("ZERONULL_STACK_PROTECTOR") {
    Some(variant) => variant,
    None => "none",
};

/// Called by the compiler's code when a canary has changed.
#[unsafe(no_mangle)]
extern "C" fn __stack_chk_fail() -> ! {
    panic!("stack smashing detected: a canary on the kernel stack was overwritten")
}
