//! The programs' heap: a break that only grows.

use super::{number, syscall1};
use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::ptr;

/// Blocks are aligned to their size up to this, so that an I/O buffer covers no more pages and cache lines than it
/// must: the smallest page of the machines, in bytes.
const LARGEST_NATURAL_ALIGNMENT: usize = 4096;

/// Smallest alignment of a block: what the ABI asks of the stack, enough for every basic type.
const SMALLEST_ALIGNMENT: usize = 16;

/// The break is moved in steps of this many bytes, to spare system calls.
const STEP: usize = 64 * 1024;

/// Hands out memory from the program break and never takes any back.
///
/// The programs allocate their few buffers once and end, so freed memory would hardly be used again; in return every
/// block is fresh from the kernel, hence zero, and `alloc_zeroed` costs nothing.
#[derive(Debug)]
pub struct Heap {
    /// First free address; 0 before the first use.
    next: Cell<usize>,
    /// The break: the end of what the kernel has granted.
    end: Cell<usize>,
}

// SAFETY: the programs have one thread and no signal handlers, so the cells are never used from two places at once.
unsafe impl Sync for Heap {}

impl Heap {
    /// A heap that asks the kernel for its place at first use.
    pub const fn new() -> Heap {
        Heap {
            next: Cell::new(0),
            end: Cell::new(0),
        }
    }

    /// The address of a fresh block, or `None` when the kernel grants no more.
    fn allocate(&self, layout: Layout) -> Option<usize> {
        if self.end.get() == 0 {
            let start = set_break(0);
            self.next.set(start);
            self.end.set(start);
        }
        let natural = layout
            .size()
            .checked_next_power_of_two()?
            .clamp(SMALLEST_ALIGNMENT, LARGEST_NATURAL_ALIGNMENT);
        let block = self.next.get().checked_next_multiple_of(layout.align().max(natural))?;
        let block_end = block.checked_add(layout.size())?;
        if block_end > self.end.get() {
            let wanted = block_end.checked_next_multiple_of(STEP)?;
            if set_break(wanted) != wanted {
                return None;
            }
            self.end.set(wanted);
        }
        self.next.set(block_end);
        Some(block)
    }
}

impl Default for Heap {
    fn default() -> Self {
        Heap::new()
    }
}

/// Asks for the break at `wanted`; returns where it is now, which is the old place when the kernel refused.
fn set_break(wanted: usize) -> usize {
    // SAFETY: the break only ever grows, so no memory in use is touched.
    unsafe { syscall1(number::BRK, wanted as u32) }.map_or(0, |end| end as usize)
}

// SAFETY: each block is a fresh range of the break, aligned as asked and given out once.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.allocate(layout)
            .map_or(ptr::null_mut(), ptr::with_exposed_provenance_mut)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`, which is the same. Fresh memory of the break is zero.
        unsafe { self.alloc(layout) }
    }

    unsafe fn dealloc(&self, _block: *mut u8, _layout: Layout) {}
}
