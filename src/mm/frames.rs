//! Page frames: the RAM above the kernel stack, handed out page by page.
//!
//! Free frames form a list through their own first words, reached by the linear map.

use crate::addr::{PAGE_SIZE, PhysAddr};
use crate::arch::phys_to_virt;
use core::cell::Cell;

struct Pool {
    free: Cell<u32>,
    count: Cell<u32>,
    total: Cell<u32>,
}
// SAFETY: one core; only thread context uses the pool.
unsafe impl Sync for Pool {}

static POOL: Pool = Pool {
    free: Cell::new(0),
    count: Cell::new(0),
    total: Cell::new(0),
};

/// One page frame, owned. Dropping it returns it to the pool.
#[derive(Debug, PartialEq, Eq)]
pub struct Frame(PhysAddr);

/// Takes over the RAM from `start` up to `top`.
pub fn init(start: PhysAddr, top: PhysAddr) {
    let mut frame = top.page().raw();
    while frame > start.raw() {
        frame -= PAGE_SIZE;
        release(PhysAddr::new(frame));
        POOL.total.set(POOL.total.get() + 1);
    }
}

fn release(frame: PhysAddr) {
    let link = phys_to_virt(frame) as *mut u32;
    // SAFETY: the frame is free: nothing else refers to it, and the linear map covers it.
    unsafe { link.write(POOL.free.get()) };
    POOL.free.set(frame.raw());
    POOL.count.set(POOL.count.get() + 1);
}

impl Frame {
    /// A frame full of zeros, or `None` when memory has run out.
    pub fn zeroed() -> Option<Self> {
        let frame = Self::unspecified()?;
        let page = phys_to_virt(frame.0) as *mut u32;
        // SAFETY: the frame is ours and the linear map covers it.
        unsafe { page.write_bytes(0, PAGE_SIZE as usize / 4) };
        Some(frame)
    }

    /// A frame that holds whatever was there before, or `None` when memory has run out.
    pub fn unspecified() -> Option<Self> {
        let frame = POOL.free.get();
        if frame == 0 {
            return None;
        }
        // SAFETY: the first word of a free frame is the link to the next; the frame is ours from here on.
        POOL.free
            .set(unsafe { (phys_to_virt(PhysAddr::new(frame)) as *const u32).read() });
        POOL.count.set(POOL.count.get() - 1);
        Some(Self(PhysAddr::new(frame)))
    }

    /// Its physical address.
    pub fn physical(&self) -> PhysAddr {
        self.0
    }

    /// Gives up ownership: the page tables now hold the frame by its address.
    pub fn into_raw(self) -> PhysAddr {
        let frame = self.0;
        core::mem::forget(self);
        frame
    }

    /// Takes ownership back.
    ///
    /// # Safety
    /// `frame` came from [`Frame::into_raw`] and this is the only call for it.
    pub unsafe fn from_raw(frame: PhysAddr) -> Self {
        Self(frame)
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        release(self.0);
    }
}

/// Free frames and all frames.
pub fn usage() -> (u32, u32) {
    (POOL.count.get(), POOL.total.get())
}
