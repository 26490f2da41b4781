//! Accesses that break a rule on purpose: what shows that the rule holds.

use super::user_context::{CaughtFault, catch};
use core::arch::asm;

/// Loads a word from `address` as the kernel, with whatever translation and window are in force.
///
/// # Errors
/// The fault, if the access was refused.
pub fn load(address: u32) -> Result<u32, CaughtFault> {
    let mut value = 0;
    catch(|| {
        // SAFETY: the load has no effect but its value, and a fault abandons it; callers name no device register.
        value = unsafe { core::ptr::without_provenance::<u32>(address as usize).read_volatile() };
    })?;
    Ok(value)
}

/// Stores a word to `address` as the kernel.
///
/// # Safety
/// If the store is not refused, the word must not belong to a Rust object or to code that matters.
///
/// # Errors
/// The fault, if the access was refused.
pub unsafe fn store(address: u32, value: u32) -> Result<(), CaughtFault> {
    catch(|| {
        // SAFETY: promised by the caller.
        unsafe { core::ptr::without_provenance_mut::<u32>(address as usize).write_volatile(value) };
    })
}

/// Calls the code at `address` as the kernel.
///
/// # Safety
/// If the jump is not refused, a function without arguments that returns must be there.
///
/// # Errors
/// The fault, if the fetch was refused.
pub unsafe fn call(address: u32) -> Result<(), CaughtFault> {
    catch(|| {
        // SAFETY: promised by the caller.
        let function: extern "C" fn() = unsafe { core::mem::transmute(address as usize) };
        function();
    })
}

/// Executes a trap instruction as the kernel.
///
/// # Errors
/// The fault; there always is one.
pub fn trap() -> Result<(), CaughtFault> {
    catch(|| {
        // SAFETY: the exception changes nothing but the flow of control, which `catch` recovers.
        unsafe { asm!("trap", options(nomem, nostack)) }
    })
}

/// Executes the word 0 as the kernel, which is no instruction of any family.
///
/// # Errors
/// The fault; there always is one.
pub fn illegal() -> Result<(), CaughtFault> {
    catch(|| {
        // SAFETY: as in `trap`.
        unsafe { asm!(".long 0", options(nomem, nostack)) }
    })
}

/// Uses up the kernel stack until its guard is hit.
///
/// # Errors
/// The fault; there always is one.
pub fn exhaust_stack() -> Result<(), CaughtFault> {
    fn deeper(depth: u32) -> u32 {
        let mut block = [depth; 64];
        core::hint::black_box(&mut block);
        if depth == u32::MAX {
            block[0]
        } else {
            deeper(depth + 1).wrapping_add(block[1])
        }
    }
    catch(|| {
        core::hint::black_box(deeper(0));
    })
}

/// Fills a buffer on the stack and 64 bytes behind it. With a stack protector it does not return.
#[inline(never)]
pub fn corrupt_stack(fill: u8) {
    let mut buffer = [0u8; 16];
    // SAFETY: there is none: the stores leave the buffer and destroy what the callers keep on the stack. They go upwards,
    // so the canary is overwritten before anything that is needed to notice it, and whoever calls this on an image that
    // does not notice gives up the firmware.
    unsafe {
        asm!(
            "0: stbu {fill}, 1({at})",
            "cmplw {at}, {end}",
            "blt 0b",
            fill = in(reg) fill,
            at = inout(reg_nonzero) buffer.as_mut_ptr().wrapping_sub(1) => _,
            end = in(reg) buffer.as_mut_ptr().wrapping_add(buffer.len() + 63),
            out("cr0") _,
            options(nostack),
        );
    }
    core::hint::black_box(&mut buffer);
}

/// Loads a word from `address` as the kernel; a fault is the kernel's own.
pub fn load_plainly(address: u32) -> u32 {
    // SAFETY: the load has no effect but its value; callers name no device register.
    unsafe { core::ptr::without_provenance::<u32>(address as usize).read_volatile() }
}
