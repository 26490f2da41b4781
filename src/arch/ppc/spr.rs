//! Special-purpose and machine state registers, one safe function per register whose access cannot break memory safety.

use super::msr;
use core::arch::asm;

/// Reads special-purpose register `SPR`.
#[inline(always)]
pub fn mfspr<const SPR: u32>() -> u32 {
    let value;
    // SAFETY: reading a special-purpose register changes no memory. Every `SPR` named in this crate exists on the family
    // that names it.
    unsafe { asm!("mfspr {}, {}", out(reg) value, const SPR, options(nomem, nostack, preserves_flags)) };
    value
}

/// Writes special-purpose register `SPR`.
///
/// # Safety
/// The register must not control translation or control flow in a way that invalidates live Rust objects.
#[inline(always)]
pub unsafe fn mtspr<const SPR: u32>(value: u32) {
    // SAFETY: the caller vouches for this register and value.
    unsafe { asm!("mtspr {}, {}", const SPR, in(reg) value, options(nostack, preserves_flags)) };
}

/// The time base, 64 bits, read so that a carry between the halves cannot tear it.
#[inline]
pub fn timebase() -> u64 {
    loop {
        let upper = mftb_upper();
        let lower = mftb_lower();
        if mftb_upper() == upper {
            return u64::from(upper) << 32 | u64::from(lower);
        }
    }
}

/// The lower half of the time base.
#[inline(always)]
pub fn mftb_lower() -> u32 {
    let value;
    // SAFETY: reading the time base changes nothing; `volatile` semantics (no `pure`) keep each read in place.
    unsafe { asm!("mftb {}", out(reg) value, options(nomem, nostack, preserves_flags)) };
    value
}

#[inline(always)]
fn mftb_upper() -> u32 {
    let value;
    // SAFETY: as in `mftb_lower`.
    unsafe { asm!("mftbu {}", out(reg) value, options(nomem, nostack, preserves_flags)) };
    value
}

/// Loads the decrementer: it interrupts when the count, in time-base ticks, has passed zero.
pub fn set_decrementer(ticks: u32) {
    // SAFETY: the decrementer only times the next interrupt.
    unsafe { mtspr::<22>(ticks) };
}

/// The decrementer's present count.
pub fn decrementer() -> u32 {
    mfspr::<22>()
}

/// The processor version register.
pub fn processor_version() -> u32 {
    mfspr::<287>()
}

/// The machine state register.
#[inline(always)]
pub fn machine_state() -> u32 {
    let value;
    // SAFETY: reading MSR changes nothing.
    unsafe { asm!("mfmsr {}", out(reg) value, options(nomem, nostack, preserves_flags)) };
    value
}

/// Lets decrementer and external interrupts in.
#[inline(always)]
pub fn enable_interrupts() {
    // SAFETY: the kernel's own handlers keep all state of the interrupted code.
    unsafe { asm!("mtmsr {}", in(reg) machine_state() | msr::EE, options(nostack, preserves_flags)) };
}

/// Keeps interrupts out while `f` runs; afterwards they are as before.
pub fn without_interrupts<R>(f: impl FnOnce() -> R) -> R {
    let before = machine_state();
    // SAFETY: clearing EE only delays interrupts.
    unsafe { asm!("mtmsr {}", in(reg) before & !msr::EE, options(nostack, preserves_flags)) };
    let result = f();
    // SAFETY: restores the value read above.
    unsafe { asm!("mtmsr {}", in(reg) before, options(nostack, preserves_flags)) };
    result
}
