//! A program's address space: page tables, the heap's end, anonymous mappings.
//!
//! Pages are populated when they are mapped; there is no demand paging, so a fault is always an error.

use super::frames::Frame;
use crate::addr::{PAGE_SIZE, PhysAddr, TASK_SIZE, UserAddr, page_align_up};
use crate::arch::mmu_types::{L2_ENTRIES, Protection, Table};
use crate::arch::{flush_data_range, flush_instruction_range, mmu, phys_to_virt};
use crate::errno::Errno;
use core::cell::Cell;
use core::ops::Range;

/// First page that may be mapped: page 0 never is.
const LOWEST: u32 = PAGE_SIZE;
/// Where mappings without a fixed address are placed: inside the region that may be executable on every family.
const MMAP: Range<u32> = 0x1800_0000..0x2000_0000;
/// Entries of the first level that belong to user space.
const USER_ENTRIES: usize = (TASK_SIZE >> 22) as usize;

/// The address space of one program. Dropping it frees every frame; it must not be active then.
pub struct AddressSpace {
    root: Frame,
    brk_start: Cell<u32>,
    brk: Cell<u32>,
}

fn table(frame: PhysAddr) -> &'static Table {
    let table = phys_to_virt(frame) as *const Table;
    // SAFETY: page-table frames are page aligned, stay allocated as long as the address space that names them, and are
    // only ever used as `Table`, whose entries are cells. Callers keep the reference within that life.
    unsafe { &*table }
}

fn l1_index(page: u32) -> usize {
    (page >> 22) as usize
}

fn l2_index(page: u32) -> usize {
    (page >> 12) as usize % L2_ENTRIES
}

impl AddressSpace {
    /// An address space without user pages; `ENOMEM` when no frame is left.
    ///
    /// # Errors
    /// `ENOMEM`.
    pub fn new() -> Result<Self, Errno> {
        let root = Frame::zeroed().ok_or(Errno::ENOMEM)?;
        let table = table(root.physical());
        for index in USER_ENTRIES..L2_ENTRIES {
            table.set(index, mmu::swapper().get(index));
        }
        Ok(Self {
            root,
            brk_start: Cell::new(0),
            brk: Cell::new(0),
        })
    }

    /// Puts this address space in force.
    pub fn activate(&self) {
        mmu::activate(self.root.physical());
    }

    /// Puts the kernel's own table in force, which has no user pages.
    pub fn deactivate() {
        mmu::activate(mmu::swapper().physical());
    }

    fn entry(&self, page: u32) -> u32 {
        match mmu::l1_table(table(self.root.physical()).get(l1_index(page))) {
            Some(l2) => table(l2).get(l2_index(page)),
            None => 0,
        }
    }

    fn set_entry(&self, page: u32, frame: PhysAddr, protection: Protection) -> Result<(), Errno> {
        let root = table(self.root.physical());
        let l2 = match mmu::l1_table(root.get(l1_index(page))) {
            Some(l2) => l2,
            None => Frame::zeroed().ok_or(Errno::ENOMEM)?.into_raw(),
        };
        root.set(l1_index(page), mmu::l1_entry(l2, protection.write_through));
        let old = table(l2).get(l2_index(page));
        if protection.is_cached_otherwise() || old != 0 && mmu::pte_parts(old).1.is_cached_otherwise() {
            // What the cache holds of the frame, by whatever address, would overwrite later what goes past it, or hide it.
            flush_data_range(phys_to_virt(frame), PAGE_SIZE as usize);
        }
        if protection.execute {
            flush_instruction_range(phys_to_virt(frame), PAGE_SIZE as usize);
        }
        table(l2).set(l2_index(page), mmu::pte(frame, protection));
        // Also where there was no entry: some TLBs remember that.
        mmu::flush_page(page);
        Ok(())
    }

    /// The frame and the rights of the page that holds `address`, if one is mapped.
    pub fn lookup(&self, address: UserAddr) -> Option<(PhysAddr, Protection)> {
        if address.raw() >= TASK_SIZE {
            return None;
        }
        match self.entry(address.page().raw()) {
            0 => None,
            entry => Some(mmu::pte_parts(entry)),
        }
    }

    fn check(start: u32, end: u32, protection: Protection) -> Result<(), Errno> {
        if start < LOWEST || end > TASK_SIZE || start >= end {
            return Err(Errno::EINVAL);
        }
        if protection.execute && !mmu::may_execute(start, end) {
            return Err(Errno::EACCES);
        }
        Ok(())
    }

    /// Maps fresh zero pages over `[start, end)`, page aligned, replacing what was there.
    ///
    /// # Errors
    /// `EINVAL` for a range outside user space or touching page 0, `EACCES` for execution where the MMU cannot give it,
    /// `ENOMEM`; after an error the pages mapped so far stay.
    pub fn map(&self, start: u32, end: u32, protection: Protection) -> Result<(), Errno> {
        Self::check(start, end, protection)?;
        for page in (start..end).step_by(PAGE_SIZE as usize) {
            self.unmap_page(page);
            let frame = Frame::zeroed().ok_or(Errno::ENOMEM)?;
            self.set_entry(page, frame.physical(), protection)?;
            // The entry holds the frame from here on.
            frame.into_raw();
        }
        Ok(())
    }

    /// Changes the rights of mapped pages in `[start, end)`.
    ///
    /// # Errors
    /// `ENOMEM` if a page of the range is not mapped (nothing is changed then), else as [`AddressSpace::map`].
    pub fn protect(&self, start: u32, end: u32, protection: Protection) -> Result<(), Errno> {
        if end > TASK_SIZE
            || (start..end)
                .step_by(PAGE_SIZE as usize)
                .any(|page| self.entry(page) == 0)
        {
            return Err(Errno::ENOMEM);
        }
        Self::check(start, end, protection)?;
        for page in (start..end).step_by(PAGE_SIZE as usize) {
            let (frame, _) = mmu::pte_parts(self.entry(page));
            self.set_entry(page, frame, protection)?;
        }
        Ok(())
    }

    fn unmap_page(&self, page: u32) {
        let entry = self.entry(page);
        if entry == 0 {
            return;
        }
        // The table exists, since it holds the entry: storing 0 cannot fail.
        if let Some(l2) = mmu::l1_table(table(self.root.physical()).get(l1_index(page))) {
            table(l2).set(l2_index(page), 0);
        }
        mmu::flush_page(page);
        // SAFETY: the entry owned the frame; it is gone from the tables and from the TLB.
        drop(unsafe { Frame::from_raw(mmu::pte_parts(entry).0) });
    }

    /// Unmaps `[start, end)`, page aligned, inside user space; holes are fine.
    pub fn unmap(&self, start: u32, end: u32) {
        for page in (start..end.min(TASK_SIZE)).step_by(PAGE_SIZE as usize) {
            self.unmap_page(page);
        }
    }

    /// Finds room for `length` bytes in the area for mappings.
    ///
    /// # Errors
    /// `ENOMEM` when no gap is wide enough.
    pub fn find_gap(&self, length: u32) -> Result<u32, Errno> {
        let mut start = MMAP.start;
        let mut page = start;
        while page < MMAP.end {
            if self.entry(page) != 0 {
                start = page + PAGE_SIZE;
            } else if page + PAGE_SIZE - start >= length {
                return Ok(start);
            }
            page += PAGE_SIZE;
        }
        Err(Errno::ENOMEM)
    }

    /// Sets where the heap starts: behind the program's last byte.
    pub fn set_brk_start(&self, address: u32) {
        let start = page_align_up(address).unwrap_or(TASK_SIZE);
        self.brk_start.set(start);
        self.brk.set(start);
    }

    /// Linux `brk`: moves the end of the heap to `wanted` if that is possible; returns the end then in force.
    pub fn brk(&self, wanted: u32) -> u32 {
        let old = self.brk.get();
        if wanted < self.brk_start.get() || wanted > MMAP.start {
            return old;
        }
        let (Some(old_end), Some(new_end)) = (page_align_up(old), page_align_up(wanted)) else {
            return old;
        };
        if new_end > old_end {
            if (old_end..new_end)
                .step_by(PAGE_SIZE as usize)
                .any(|page| self.entry(page) != 0)
            {
                return old;
            }
            if self.map(old_end, new_end, Protection::READ_WRITE).is_err() {
                self.unmap(old_end, new_end);
                return old;
            }
        } else {
            self.unmap(new_end, old_end);
        }
        self.brk.set(wanted);
        wanted
    }

    /// Does `each` for the parts of `[address, address + length)` that lie in one frame, with their kernel addresses and
    /// offsets in the whole.
    fn spans(
        &self,
        address: u32,
        length: usize,
        mut each: impl FnMut(usize, Range<usize>, Protection),
    ) -> Result<(), Errno> {
        let mut done = 0;
        while done < length {
            let at = address.checked_add(done as u32).ok_or(Errno::EFAULT)?;
            let (frame, protection) = self.lookup(UserAddr::new(at)).ok_or(Errno::EFAULT)?;
            let offset = at % PAGE_SIZE;
            let end = length.min(done + (PAGE_SIZE - offset) as usize);
            each(phys_to_virt(frame) + offset as usize, done..end, protection);
            done = end;
        }
        Ok(())
    }

    /// Writes `bytes` at `address` through the kernel's linear map, whatever the page's rights: for loading programs.
    ///
    /// # Errors
    /// `EFAULT` if a page of the range is not mapped; the bytes before it are written.
    pub fn write(&self, address: u32, bytes: &[u8]) -> Result<(), Errno> {
        self.spans(address, bytes.len(), |target, part, protection| {
            // SAFETY: the frame belongs to this address space, the span stays inside it, and no reference to user frames
            // exists anywhere in the kernel.
            unsafe { (target as *mut u8).copy_from_nonoverlapping(bytes[part.clone()].as_ptr(), part.len()) };
            if protection.execute {
                flush_instruction_range(target, part.len());
            } else {
                flush_data_range(target, part.len());
            }
        })
    }

    /// Reads what memory holds at `address` through the kernel's linear map, whatever the page's rights and however it is
    /// cached.
    ///
    /// # Errors
    /// `EFAULT` if a page of the range is not mapped.
    pub fn read(&self, address: u32, bytes: &mut [u8]) -> Result<(), Errno> {
        self.spans(address, bytes.len(), |source, part, _| {
            flush_data_range(source, part.len());
            // SAFETY: as in `write`.
            unsafe { (source as *const u8).copy_to_nonoverlapping(bytes[part.clone()].as_mut_ptr(), part.len()) };
        })
    }
}

impl Drop for AddressSpace {
    fn drop(&mut self) {
        let root = table(self.root.physical());
        for index in 0..USER_ENTRIES {
            if let Some(l2) = mmu::l1_table(root.get(index)) {
                for slot in 0..L2_ENTRIES {
                    let entry = table(l2).get(slot);
                    if entry != 0 {
                        // SAFETY: the entry owned the frame and the table goes away with it.
                        drop(unsafe { Frame::from_raw(mmu::pte_parts(entry).0) });
                    }
                }
                // SAFETY: the root owned the table; it is freed next.
                drop(unsafe { Frame::from_raw(l2) });
            }
        }
    }
}
