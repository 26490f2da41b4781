//! Boards: what differs between machines outside the core. Exactly one is compiled in.
//!
//! Every board module offers the same items: `NAME`, `UNANSWERED`, `take_transfer_error`, `init`, `console_put`,
//! `console_get`, `set_console_speed`, `handover`, `power_off`, `tick`, `external_interrupt`.

#[cfg(feature = "board-g3beige")]
mod g3beige;
#[cfg(feature = "board-g3beige")]
pub use g3beige::*;

#[cfg(feature = "board-mcr3000")]
mod mcr3000;
#[cfg(feature = "board-mcr3000")]
pub use mcr3000::*;

use crate::addr::{PAGE_SIZE, PhysAddr};
use crate::arch;
use core::marker::PhantomData;

/// What the boot loader or the machine told us; what it did not say is `None` or empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct Handover {
    /// The machine's name.
    pub board: &'static str,
    /// Bytes of RAM from physical 0.
    pub ram: u32,
    /// Time base ticks per second.
    pub timebase_hz: u32,
    /// Core clocks per second.
    pub core_hz: u32,
    /// Where the initial archive lies: physical address and length in bytes.
    pub initrd: Option<(u32, u32)>,
    /// End of the RAM that nothing occupies: physical address, page aligned.
    pub free_top: u32,
}

impl Handover {
    /// Takes an archive out of the free RAM, moved to its end where that leaves more in one piece. To be called before
    /// anybody uses free RAM. Returns the archive's place, or `None` when it does not lie in RAM above the firmware.
    pub fn reserve(&mut self, start: u32, size: u32) -> Option<u32> {
        let archive = arch::physical_bytes(PhysAddr::new(start), size, self.ram)?;
        if start >= self.free_top {
            return Some(start);
        }
        let place = self.free_top.saturating_sub(size) & !(PAGE_SIZE - 1);
        if place <= start || start + size > self.free_top {
            self.free_top = start & !(PAGE_SIZE - 1);
            return Some(start);
        }
        let target = arch::phys_to_virt(PhysAddr::new(place)) as *mut u8;
        // SAFETY: source and target are RAM above all that the firmware has in use at start-up; they may overlap.
        unsafe { target.copy_from(archive.as_ptr(), archive.len()) };
        self.free_top = place;
        Some(place)
    }
}

/// Longest kernel command line in bytes.
pub const COMMAND_LINE_MAX: usize = 2047;

/// A device register of type `T` at a fixed address, accessed by single volatile loads and stores of that width.
#[derive(Clone, Copy)]
struct Reg<T> {
    address: usize,
    access: PhantomData<*mut T>,
}

impl<T: Copy> Reg<T> {
    /// # Safety
    /// `address` is a device register of this width, mapped uncached for the kernel, and no Rust object.
    const unsafe fn new(address: u32) -> Self {
        Self {
            address: address as usize,
            access: PhantomData,
        }
    }

    fn read(self) -> T {
        let register = core::ptr::without_provenance::<T>(self.address);
        // SAFETY: promised by the caller of `new`.
        let value = unsafe { register.read_volatile() };
        order();
        value
    }

    fn write(self, value: T) {
        let register = core::ptr::without_provenance_mut::<T>(self.address);
        // SAFETY: promised by the caller of `new`.
        unsafe { register.write_volatile(value) };
        order();
    }
}

/// Keeps device accesses in program order.
fn order() {
    // SAFETY: `eieio` changes no state.
    unsafe { core::arch::asm!("eieio", options(nostack, preserves_flags)) };
}
