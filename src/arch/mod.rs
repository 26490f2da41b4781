//! The machine contract: what every family offers to the layers above, under the same names.
//!
//! - [`CACHE_LINE`], [`mmu`], [`window`]: cache block, page tables, user-access window of the family;
//! - [`ppc`]: registers, frames, traps, entering user mode, common to all PowerPC families;
//! - the raw user copies in `uaccess::raw` bind to the family's assembly.
//!
//! On the host [`host`] stands in: user memory as a byte array with scriptable faults, so that everything above runs its
//! unit tests there. Choosing a board chooses the family.

#[cfg(target_os = "none")]
#[cfg_attr(feature = "board-g3beige", path = "ppc603/mod.rs")]
pub mod family;
#[cfg(not(target_os = "none"))]
pub mod host;
pub mod mmu_types;
#[cfg(target_os = "none")]
pub mod ppc;

#[cfg(target_os = "none")]
pub use family::{CACHE_LINE, mmu, window};
#[cfg(not(target_os = "none"))]
pub use host::{CACHE_LINE, virt_to_phys, window};

#[cfg(target_os = "none")]
mod linear {
    use crate::addr::{KERNEL_BASE, PhysAddr};

    /// Physical address of a kernel virtual address in the linear map.
    pub fn virt_to_phys(address: usize) -> PhysAddr {
        PhysAddr::new((address as u32).wrapping_sub(KERNEL_BASE))
    }

    /// Kernel virtual address of a physical address.
    pub fn phys_to_virt(address: PhysAddr) -> usize {
        address.raw().wrapping_add(KERNEL_BASE) as usize
    }

    /// Makes instructions just written at kernel addresses `[start, start + length)` visible to fetches, under whatever
    /// address they are mapped (PEM, 5.1.5.2: store, dcbst, sync, icbi, isync).
    pub fn flush_instruction_range(start: usize, length: usize) {
        let first = start & !(super::CACHE_LINE - 1);
        for line in (first..start + length).step_by(super::CACHE_LINE) {
            // SAFETY: writing back and invalidating cache lines of mapped memory changes no data.
            unsafe { core::arch::asm!("dcbst 0, {0}", "sync", "icbi 0, {0}", in(reg) line, options(nostack)) };
        }
        // SAFETY: context synchronization changes no state.
        unsafe { core::arch::asm!("sync", "isync", options(nostack, preserves_flags)) };
    }

    /// Stops the core for good.
    pub fn halt() -> ! {
        super::ppc::spr::without_interrupts(|| {
            loop {
                core::hint::spin_loop();
            }
        })
    }
}
#[cfg(target_os = "none")]
pub use linear::{flush_instruction_range, halt, phys_to_virt, virt_to_phys};
