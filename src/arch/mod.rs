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
#[cfg_attr(feature = "board-mcr3000", path = "mpc8xx/mod.rs")]
pub mod family;
#[cfg(not(target_os = "none"))]
pub mod host;
#[cfg(target_os = "none")]
pub mod mmu_types;
#[cfg(target_os = "none")]
pub mod ppc;
pub mod short_way;
pub mod single;

#[cfg(target_os = "none")]
pub use family::{CACHE_LINE, mmu, window};
#[cfg(not(target_os = "none"))]
pub use host::{CACHE_LINE, window};

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

    /// Carries what the data cache holds of kernel addresses `[start, start + length)` to memory and out of the cache:
    /// before the memory is accessed past the cache, since neither family looks into it then.
    pub fn flush_data_range(start: usize, length: usize) {
        let first = start & !(super::CACHE_LINE - 1);
        for line in (first..start + length).step_by(super::CACHE_LINE) {
            // SAFETY: writing back and dropping cache lines of mapped memory changes no data.
            unsafe { core::arch::asm!("dcbf 0, {}", in(reg) line, options(nostack, preserves_flags)) };
        }
        // SAFETY: ordering changes no state.
        unsafe { core::arch::asm!("sync", options(nostack, preserves_flags)) };
    }

    unsafe extern "C" {
        static __image_end: u8;
        static __symbols_start: u8;
        static __symbols_end: u8;
        static __kernel_stack_limit: u8;
        static __kernel_stack_top: u8;
        static __page_pool_start: u8;
        static __text_start: u8;
        static __text_end: u8;
        static __read_only_end: u8;
    }

    /// End of the packed image as it was loaded at physical 0.
    pub fn image_end() -> PhysAddr {
        // link.ld gives the symbol its physical value.
        PhysAddr::new((&raw const __image_end).addr() as u32)
    }

    /// Bounds of the kernel's text.
    pub fn text() -> core::ops::Range<u32> {
        (&raw const __text_start).addr() as u32..(&raw const __text_end).addr() as u32
    }

    /// Whether an address is an instruction of the image: vectors, head or text.
    pub fn is_image_text(address: u32) -> bool {
        (KERNEL_BASE..text().end).contains(&address) && address.is_multiple_of(4)
    }

    /// Whether an address is a word of what is read-only after start-up: text or constants.
    pub fn is_image_constant(address: u32) -> bool {
        let end = (&raw const __read_only_end).addr() as u32;
        (KERNEL_BASE..end).contains(&address) && address.is_multiple_of(4)
    }

    /// Section `.symbols`; empty in an image of a single link pass.
    pub fn symbol_blob() -> &'static [u8] {
        let start = &raw const __symbols_start;
        let length = (&raw const __symbols_end).addr() - start.addr();
        // SAFETY: link.ld puts the section between the two symbols, in memory that is never written.
        unsafe { core::slice::from_raw_parts(start, length) }
    }

    /// Physical address of the first byte that neither image, data, heap nor stacks use.
    pub fn pool_start() -> PhysAddr {
        virt_to_phys((&raw const __page_pool_start).addr())
    }

    /// Memory that the boot loader filled, as bytes; `None` unless it lies in RAM above the page pool's start. The caller
    /// keeps the range out of the page pool.
    pub fn physical_bytes(start: PhysAddr, length: u32, ram: u32) -> Option<&'static [u8]> {
        let end = start.checked_add(length)?;
        if start < pool_start() || end.raw() > ram {
            return None;
        }
        // SAFETY: the range is RAM in the linear map; nothing writes it, since it belongs to no allocator.
        Some(unsafe { core::slice::from_raw_parts(phys_to_virt(start) as *const u8, length as usize) })
    }

    /// Whether an address lies in the hole below the kernel stack.
    pub fn is_stack_guard(address: u32) -> bool {
        let limit = (&raw const __kernel_stack_limit).addr() as u32;
        let size = (&raw const __kernel_stack_top).addr() as u32 - limit;
        (limit - size..limit).contains(&address)
    }

    /// The present stack pointer.
    pub fn stack_pointer() -> u32 {
        let value;
        // SAFETY: reading r1 changes nothing.
        unsafe { core::arch::asm!("mr {}, 1", out(reg) value, options(nomem, nostack, preserves_flags)) };
        value
    }

    /// Return addresses found by walking back chains from `stack`, at most 32; stops at the first that is not a frame of the
    /// kernel stack.
    pub fn backtrace(stack: u32) -> impl Iterator<Item = u32> {
        let bounds = (&raw const __kernel_stack_limit).addr() as u32..(&raw const __kernel_stack_top).addr() as u32 - 8;
        let word = move |address: u32| {
            (bounds.contains(&address) && address.is_multiple_of(4)).then(|| {
                // SAFETY: the word lies inside the kernel stack, which is always mapped.
                unsafe { core::ptr::without_provenance::<u32>(address as usize).read_volatile() }
            })
        };
        let mut frame = stack;
        core::iter::from_fn(move || {
            let next = word(frame).filter(|next| *next > frame)?;
            frame = next;
            word(next + 4).filter(|address| text().contains(address))
        })
        .take(32)
    }

    /// Stops the core for good: a branch to itself with interrupts off, which simulators and debuggers know.
    pub fn halt() -> ! {
        super::ppc::spr::without_interrupts(|| {
            // SAFETY: nothing follows.
            unsafe { core::arch::asm!("0: b 0b", options(noreturn)) }
        })
    }
}
#[cfg(target_os = "none")]
pub use linear::*;
