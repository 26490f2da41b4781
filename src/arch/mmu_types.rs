//! Page tables as both families have them: two levels of 1024 words, one page each.

use crate::addr::PhysAddr;
use core::cell::UnsafeCell;

/// Entries of a table of either level.
pub const L2_ENTRIES: usize = 1024;

/// What a mapping allows. User and kernel mappings are told apart by address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Protection {
    /// Loads.
    pub read: bool,
    /// Stores; implies loads, as on every supported MMU.
    pub write: bool,
    /// Fetches.
    pub execute: bool,
    /// Not held by a cache, accesses in order.
    pub uncached: bool,
    /// Stores go to memory at once. Where a family has the attribute for more than a page at a time, it holds for the
    /// neighbours too: on the MPC8xx for all that one first-level entry covers, 4 MiB.
    pub write_through: bool,
}

impl Protection {
    /// Loads and stores.
    pub const READ_WRITE: Self = Self {
        read: true,
        write: true,
        execute: false,
        uncached: false,
        write_through: false,
    };
    /// Loads alone.
    pub const READ_ONLY: Self = Self {
        read: true,
        write: false,
        execute: false,
        uncached: false,
        write_through: false,
    };

    /// Whether the caches treat the page otherwise than RAM is usually treated.
    pub fn is_cached_otherwise(self) -> bool {
        self.uncached || self.write_through
    }

    /// Whether nothing is allowed: the page exists, but every access faults.
    pub fn is_none(self) -> bool {
        !self.read && !self.write && !self.execute
    }
}

/// One table of either level, exactly a page.
#[repr(C, align(4096))]
pub struct Table(UnsafeCell<[u32; L2_ENTRIES]>);
// SAFETY: one core; entries are single words, written by thread context and read by the miss handlers, which see
// either the old or the new word.
unsafe impl Sync for Table {}

impl Table {
    /// A table without mappings.
    pub const fn new() -> Self {
        Self(UnsafeCell::new([0; L2_ENTRIES]))
    }

    /// The entry at `index`.
    pub fn get(&self, index: usize) -> u32 {
        assert!(index < L2_ENTRIES);
        // SAFETY: in bounds; no reference to the array is ever handed out.
        unsafe { self.0.get().cast::<u32>().add(index).read_volatile() }
    }

    /// Stores an entry. The caller flushes cached translations where the old entry was not 0.
    pub fn set(&self, index: usize, entry: u32) {
        assert!(index < L2_ENTRIES);
        // SAFETY: in bounds; no reference to the array is ever handed out.
        unsafe { self.0.get().cast::<u32>().add(index).write_volatile(entry) }
    }

    /// Physical address of the table, which lies in the kernel's linear map.
    pub fn physical(&self) -> PhysAddr {
        super::virt_to_phys((&raw const *self).addr())
    }
}

impl Default for Table {
    fn default() -> Self {
        Self::new()
    }
}
