//! The memory behind `/dev/pmem0`: RAM at the start of what the kernel's map leaves free, with a poison list.
//!
//! A page with lost bytes is withheld: the kernel's map leads nowhere, or, on a board where some physical address gets
//! no answer, to that address, so that every load of the page is a bus error and a real machine check. The handler comes
//! here to learn what the load met: [`Meeting`]. The copies themselves know nothing of the list.

use super::poison::{PoisonError, PoisonList};
use crate::addr::{KERNEL_BASE, PAGE_SIZE, PhysAddr};
use crate::arch::mmu;
use crate::arch::mmu_types::Protection;
use crate::arch::ppc::TrapFrame;
use crate::arch::ppc::load::Load;
use crate::board;
use core::cell::Cell;
use core::ops::Range;

/// Bytes of the device: many times the data cache of every supported part.
pub const SIZE: u32 = 256 << 10;

struct Device {
    base: Cell<u32>,
    lost: PoisonList,
    /// An address whose next load is lost once, 0 for none.
    once: Cell<u32>,
}
// SAFETY: one core. Traps read the cells only for a load of the device by a copy, and no copy runs while thread
// context changes them.
unsafe impl Sync for Device {}

static DEVICE: Device = Device {
    base: Cell::new(0),
    lost: PoisonList::new(),
    once: Cell::new(0),
};

/// What a load of the kernel met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// Not this device, or a page that is not withheld.
    Elsewhere,
    /// Good bytes of a withheld page: the load has been done for the frame.
    Done,
    /// A lost byte: its address.
    Lost(u32),
}

/// Takes the device's memory from the free RAM in `[free, top)`; returns what is left. Without room there is no device.
/// Its bytes are not touched: like persistent memory it holds what it held before, errors too.
pub fn reserve(free: PhysAddr, top: u32) -> PhysAddr {
    let end = free.raw() + SIZE;
    if end > top || end > mmu::LINEAR_PAGES {
        return free;
    }
    DEVICE.base.set(free.raw() + KERNEL_BASE);
    PhysAddr::new(end)
}

/// Kernel address of the first byte; 0 without a device.
pub fn base() -> u32 {
    DEVICE.base.get()
}

/// Bytes of the device: [`SIZE`], or 0 without one.
pub fn size() -> u32 {
    if base() == 0 { 0 } else { SIZE }
}

/// Kernel addresses of up to `length` bytes from `offset` on.
pub fn addresses(offset: u32, length: u32) -> Range<u32> {
    let start = base() + offset.min(size());
    start..start + length.min(base() + size() - start)
}

/// The lost ranges.
pub fn lost() -> impl Iterator<Item = Range<u32>> {
    DEVICE.lost.ranges()
}

/// Loses `length` bytes from `offset` on.
///
/// # Errors
/// See [`PoisonError`]; nothing changed then.
pub fn poison(offset: u32, length: u32) -> Result<(), PoisonError> {
    let end = offset.checked_add(length).ok_or(PoisonError::OutOfRange)?;
    DEVICE.lost.add(offset..end, size())?;
    each_page(&(offset..end), update);
    Ok(())
}

/// Makes the next load of the byte at `offset` lose it, and only that one.
///
/// # Errors
/// [`PoisonError::OutOfRange`].
pub fn poison_once(offset: u32) -> Result<(), PoisonError> {
    if offset >= size() {
        return Err(PoisonError::OutOfRange);
    }
    forget_once();
    DEVICE.once.set(base() + offset);
    update(page_of(base() + offset));
    Ok(())
}

fn forget_once() {
    let address = DEVICE.once.replace(0);
    if address != 0 {
        update(page_of(address));
    }
}

/// Nothing is lost any more; the bytes have the values that they had.
pub fn clear() {
    forget_once();
    DEVICE.lost.clear();
    each_page(&(0..size()), update);
}

/// The first lost byte of a range of offsets.
pub fn first_lost(span: Range<u32>) -> Option<u32> {
    DEVICE.lost.first_in(span)
}

/// Gives `change` the bytes from `offset` on, at most `length`, lost or not: pages that are withheld are mapped meanwhile.
pub fn with_bytes<R>(offset: u32, length: u32, change: impl FnOnce(&mut [u8]) -> R) -> R {
    let addresses = addresses(offset, length);
    let span = addresses.start - base()..addresses.end - base();
    each_page(&span, give);
    // SAFETY: the bytes are the device's, nobody else holds a reference to them, since the closure cannot come here again
    // in a way that overlaps but by its own doing in thread context, and their pages have just been given back.
    let bytes = unsafe {
        let start = core::ptr::without_provenance_mut::<u8>(addresses.start as usize);
        core::slice::from_raw_parts_mut(start, addresses.len())
    };
    let result = change(bytes);
    each_page(&span, update);
    result
}

/// The bytes of `found` are good again.
///
/// # Errors
/// [`PoisonError::Full`]; nothing changed then.
pub fn heal(found: Range<u32>) -> Result<(), PoisonError> {
    DEVICE.lost.remove(found.clone())?;
    each_page(&found, update);
    Ok(())
}

fn page_of(address: u32) -> u32 {
    address & !(PAGE_SIZE - 1)
}

fn each_page(span: &Range<u32>, mut action: impl FnMut(u32)) {
    if span.is_empty() {
        return;
    }
    let last = page_of(base() + span.end - 1);
    for page in (page_of(base() + span.start)..=last).step_by(PAGE_SIZE as usize) {
        action(page);
    }
}

fn is_withheld(page: u32) -> bool {
    let start = page - base();
    page_of(DEVICE.once.get()) == page || DEVICE.lost.first_in(start..start + PAGE_SIZE).is_some()
}

/// Maps a page as it should be.
fn update(page: u32) {
    if is_withheld(page) { withhold(page) } else { give(page) }
}

fn withhold(page: u32) {
    let entry = board::UNANSWERED.map_or(0, |address| {
        let protection = Protection {
            uncached: true,
            ..Protection::READ_WRITE
        };
        mmu::pte(PhysAddr::new(address), protection)
    });
    mmu::set_linear_page(page, entry);
}

fn give(page: u32) {
    let frame = PhysAddr::new(page - KERNEL_BASE);
    mmu::set_linear_page(page, mmu::pte(frame, Protection::READ_WRITE));
}

/// What an interrupted load met.
pub fn meet(frame: &mut TrapFrame, load: &Load) -> Meeting {
    let Some(offset) = load.address.checked_sub(base()).filter(|offset| *offset < size()) else {
        return Meeting::Elsewhere;
    };
    let span = offset..(offset + load.width).min(size());
    let mut withheld = false;
    each_page(&span, |page| withheld |= is_withheld(page));
    if !withheld {
        return Meeting::Elsewhere;
    }
    let once = DEVICE.once.get().wrapping_sub(base());
    let once = span.contains(&once).then_some(once);
    if once.is_some() {
        forget_once();
    }
    if let Some(lost) = DEVICE.lost.first_in(span.clone()).into_iter().chain(once).min() {
        return Meeting::Lost(base() + lost);
    }
    if offset + load.width > size() {
        return Meeting::Elsewhere;
    }
    // SAFETY: the bytes are the device's RAM; a trap handler runs with interrupts off.
    match unsafe { load.perform_at(load.address - KERNEL_BASE) } {
        Ok(value) => {
            load.complete(frame, value);
            Meeting::Done
        }
        Err(index) => Meeting::Lost(load.address + index),
    }
}
