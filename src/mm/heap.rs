//! The kernel heap: `linked_list_allocator` over the rest of the data region.

use crate::arch::ppc::spr::without_interrupts;
use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ptr::NonNull;
use linked_list_allocator::Heap;

struct KernelHeap(UnsafeCell<Heap>);
// SAFETY: one core, and every access runs with interrupts off, so accesses cannot overlap.
unsafe impl Sync for KernelHeap {}

#[global_allocator]
static HEAP: KernelHeap = KernelHeap(UnsafeCell::new(Heap::empty()));

impl KernelHeap {
    fn with<R>(&self, f: impl FnOnce(&mut Heap) -> R) -> R {
        // SAFETY: see `KernelHeap`: the closure runs with interrupts off and does not come back here.
        without_interrupts(|| f(unsafe { &mut *self.0.get() }))
    }
}

// SAFETY: `Heap` hands out disjoint blocks of the layout asked for; failure is a null pointer.
unsafe impl GlobalAlloc for KernelHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.with(|heap| {
            heap.allocate_first_fit(layout)
                .map_or(core::ptr::null_mut(), NonNull::as_ptr)
        })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if let Some(block) = NonNull::new(block) {
            // SAFETY: the caller returns a block that `alloc` gave for this layout.
            self.with(|heap| unsafe { heap.deallocate(block, layout) });
        }
    }
}

unsafe extern "C" {
    static mut __heap_start: u8;
    static mut __heap_end: u8;
}

/// Gives the allocator its memory. To be called once, before the first allocation.
pub fn init() {
    let start = &raw mut __heap_start;
    let size = (&raw const __heap_end).addr() - start.addr();
    // SAFETY: link.ld reserves the region for the heap alone and asserts its size.
    HEAP.with(|heap| unsafe { heap.init(start, size) });
}

/// Bytes in use and bytes in all.
pub fn usage() -> (usize, usize) {
    HEAP.with(|heap| (heap.used(), heap.size()))
}
