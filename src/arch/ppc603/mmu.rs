//! Translation on the 603 family: page table entries, the kernel's map, BATs, TLB and hash-table maintenance.
//!
//! Two levels of 1024 words each, walked by the TLB-miss handlers in `vectors.s`. A second-level entry is the second word
//! of a hardware PTE (what RPA takes), with software bits in the reserved places.

use super::super::mmu_types::{L2_ENTRIES, Protection, Table};
use super::super::ppc::spr;
use super::super::virt_to_phys;
use crate::addr::{KERNEL_BASE, PAGE_SIZE, PhysAddr, TASK_SIZE};
use core::arch::asm;
use core::cell::UnsafeCell;

/// Segments 8–11: key 1 for both states, no execution.
pub const SEGMENT_NOBODY: u32 = 0x7000_0000;
/// Segments 12–15: key 0 for the kernel, 1 for user code, no execution (kernel text comes from an instruction BAT).
pub const SEGMENT_KERNEL: u32 = 0x3000_0000;

/// First-level entry: a 4 MiB linear kernel mapping instead of a table.
pub const L1_LINEAR: u32 = 0x1;

/// Software bit: the translation may be loaded.
pub const PTE_PRESENT: u32 = 0x400;
/// Software bit: fetches are allowed.
pub const PTE_EXECUTE: u32 = 0x800;
const PTE_REFERENCED_CHANGED: u32 = 0x180;
const PTE_COHERENT: u32 = 0x10;
const PTE_UNCACHED_GUARDED: u32 = 0x28;
const PTE_WRITE_THROUGH: u32 = 0x40;
const PP_READ_WRITE: u32 = 0;
const PP_READ_ONLY: u32 = 3;
/// Low bits of the entry that a linear first-level entry stands for.
pub const PTE_LINEAR: u32 = PTE_PRESENT | PTE_REFERENCED_CHANGED | PTE_COHERENT | PP_READ_WRITE;

/// Smallest hash table: 1024 groups of 8 entries.
const HASH_TABLE_SIZE: u32 = 64 << 10;

/// BAT lower word for RAM: physical 0, coherent, read-write.
pub const BAT_RAM_LOWER: u32 = 0x12;
/// BAT lower bits for devices: inhibited, guarded, read-write.
pub const BAT_DEVICE_LOWER: u32 = 0x2a;
/// BAT lower word for the image: physical 0, coherent, read-only.
pub const BAT_READ_ONLY_LOWER: u32 = 0x11;
/// BAT upper bits: block of 512 KiB.
pub const BAT_512K: u32 = 0x3 << 2;
/// BAT upper bits: block of 256 MiB.
pub const BAT_256M: u32 = 0x7ff << 2;
/// BAT upper bits: valid for the kernel alone.
pub const BAT_SUPERVISOR: u32 = 2;
/// Devices, virtual = physical.
pub const DEVICE_BASE: u32 = 0xF000_0000;

/// Where user pages may be executable: segment 1 alone. Segment registers are the only place where the family can
/// forbid execution, and only this one is switched at kernel entry and exit.
pub const EXECUTABLE: core::ops::Range<u32> = 0x1000_0000..0x2000_0000;

/// What the hash-table fill in `vectors.s` needs; all physical, used with translation off.
#[repr(C)]
pub struct HashState {
    /// Physical address of the 64 KiB table, 0 on a CPU with software reload.
    pub table: u32,
    /// Next slot to replace, as a byte offset in its group.
    pub slot: u32,
    /// CR of the interrupted code.
    pub cr: u32,
    /// r3–r7 of the interrupted code.
    pub saved: [u32; 5],
}

#[repr(transparent)]
struct Shared<T>(UnsafeCell<T>);
// SAFETY: one core; the assembly uses its part with interrupts off, Rust writes at start-up or with interrupts off.
unsafe impl<T> Sync for Shared<T> {}

#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the assembly names it so")]
static hash_state: Shared<HashState> = Shared(UnsafeCell::new(HashState {
    table: 0,
    slot: 0,
    cr: 0,
    saved: [0; 5],
}));

#[unsafe(link_section = ".bss.page_tables")]
static SWAPPER: Table = Table::new();
#[unsafe(link_section = ".bss.page_tables")]
static KERNEL_PAGES: Table = Table::new();

/// How a CPU of this family finds a translation that its TLB lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// An exception; our handlers load the TLB.
    Software,
    /// A hash table in memory.
    Hash,
}

/// The CPUs that this board's image runs on, by processor version (QEMU 7.2's definitions).
pub const SUPPORTED: &str = "603e, g2, g2le, e300c3 (software TLB); 750, 7400 (hash table)";

/// Identifies the CPU.
///
/// # Errors
/// The processor version, when the CPU is not one of [`SUPPORTED`].
pub fn identify() -> Result<(&'static str, Walk), u32> {
    let version = spr::processor_version();
    match version >> 16 {
        0x0006 => Ok(("603e", Walk::Software)),
        0x0007 => Ok(("603e7", Walk::Software)),
        0x0081 => Ok(("g2", Walk::Software)),
        0x8081 | 0x8082 => Ok(("g2", Walk::Software)),
        0x0082..=0x0086 => Ok(("e300", Walk::Software)),
        0x0008 => Ok(("750", Walk::Hash)),
        0x000c => Ok(("7400", Walk::Hash)),
        _ => Err(version),
    }
}

/// Builds the page table entry for `frame`.
pub fn pte(frame: PhysAddr, protection: Protection) -> u32 {
    let mut entry = frame.raw() & !(PAGE_SIZE - 1) | PTE_REFERENCED_CHANGED | PTE_COHERENT;
    if protection.uncached {
        entry |= PTE_UNCACHED_GUARDED;
    }
    if protection.write_through {
        entry |= PTE_WRITE_THROUGH;
    }
    if protection.execute {
        entry |= PTE_EXECUTE;
    }
    if !protection.is_none() {
        entry |= PTE_PRESENT;
    }
    entry | if protection.write { PP_READ_WRITE } else { PP_READ_ONLY }
}

/// The frame and the rights of a non-zero entry.
pub fn pte_parts(entry: u32) -> (PhysAddr, Protection) {
    let present = entry & PTE_PRESENT != 0;
    let protection = Protection {
        read: present,
        write: present && entry & 3 == PP_READ_WRITE,
        execute: present && entry & PTE_EXECUTE != 0,
        uncached: entry & PTE_UNCACHED_GUARDED != 0,
        write_through: entry & PTE_WRITE_THROUGH != 0,
    };
    (PhysAddr::new(entry & !(PAGE_SIZE - 1)), protection)
}

/// First-level entry for a second-level table.
pub fn l1_entry(table: PhysAddr, _write_through: bool) -> u32 {
    table.raw()
}

/// The second-level table of a first-level entry, if it has one.
pub fn l1_table(entry: u32) -> Option<PhysAddr> {
    (entry != 0 && entry & L1_LINEAR == 0).then(|| PhysAddr::new(entry & !(PAGE_SIZE - 1)))
}

/// Bytes of RAM that the MMU needs for itself at the top of RAM: the hash table of a CPU with a hardware walk.
pub fn reserved(walk: Walk) -> u32 {
    match walk {
        Walk::Software => 0,
        Walk::Hash => HASH_TABLE_SIZE,
    }
}

unsafe extern "C" {
    static __text_end: u8;
    static __kernel_stack_limit: u8;
    static __page_pool_start: u8;
}

/// Replaces the boot mapping by the kernel's own: image by BATs, everything else by pages, a hole below the stack.
/// Returns the first physical address that the map leaves free.
///
/// `ram` is the size of RAM in bytes, of which [`reserved`] bytes at the top are ours.
pub fn map_kernel(ram: u32, walk: Walk) -> PhysAddr {
    let read_only = 0x8_0000;
    let guard_end = (&raw const __kernel_stack_limit).addr() as u32 - KERNEL_BASE;
    let guard = guard_end - 0x4000..guard_end;
    for index in 0..L2_ENTRIES {
        let frame = index as u32 * PAGE_SIZE;
        if frame >= read_only && frame < ram && !guard.contains(&frame) {
            KERNEL_PAGES.set(index, pte(PhysAddr::new(frame), Protection::READ_WRITE));
        }
    }
    let first = (KERNEL_BASE >> 22) as usize;
    SWAPPER.set(first, l1_entry(KERNEL_PAGES.physical(), false));
    for chunk in 1..ram.div_ceil(1 << 22) {
        SWAPPER.set(first + chunk as usize, chunk << 22 | L1_LINEAR);
    }
    if walk == Walk::Hash {
        let hash = (ram - HASH_TABLE_SIZE) & !(HASH_TABLE_SIZE - 1);
        // SAFETY: translation of all that runs here is by BAT, so the table is not in use; SDR1 with mask 0 gives it 1024
        // groups. `activate` empties it before anything can be found in it.
        unsafe {
            (*hash_state.0.get()).table = hash;
            spr::mtspr::<25>(hash);
        }
    }
    activate(SWAPPER.physical());

    let text_end = (&raw const __text_end).addr() as u32 - KERNEL_BASE;
    let block = text_end.next_power_of_two().max(0x2_0000);
    // SAFETY: the new blocks map the same physical memory at the same addresses: the instruction block covers all text,
    // the data block all constants; the rest is in the page tables that `activate` has just put in force.
    unsafe {
        spr::mtspr::<528>(KERNEL_BASE | (block / 0x2_0000 - 1) << 2 | BAT_SUPERVISOR);
        synchronize();
        spr::mtspr::<536>(KERNEL_BASE | BAT_512K | BAT_SUPERVISOR);
        synchronize();
    }
    virt_to_phys((&raw const __page_pool_start).addr())
}

/// Whether software reloads the TLB, not the CPU from its hash table.
pub fn reloads_by_software() -> bool {
    matches!(identify(), Ok((_, Walk::Software)))
}

/// Makes text, constants and `ro_after_init` read-only. To be called once, when start-up has written all it had to.
pub fn seal() {
    set_image_block(BAT_READ_ONLY_LOWER);
}

/// Sets the rights of the data block over the image.
fn set_image_block(lower: u32) {
    // SAFETY: same block, same memory; callers write there only what they may. The block is off for two instructions
    // that touch no memory: QEMU drops cached translations only when an upper word changes.
    unsafe {
        asm!(
            "sync",
            "mtspr 536, {off}",
            "mtspr 537, {lower}",
            "mtspr 536, {upper}",
            "isync",
            off = in(reg) 0,
            lower = in(reg) lower,
            upper = in(reg) KERNEL_BASE | BAT_512K | BAT_SUPERVISOR,
            options(nostack, preserves_flags),
        );
    }
}

/// Puts `entry` behind a page of the kernel's linear map instead of its own: a [`pte`], or 0 for nothing.
///
/// # Panics
/// The page is not among the first 4 MiB, which alone are mapped page by page.
pub fn set_linear_page(page: u32, entry: u32) {
    KERNEL_PAGES.set(((page - KERNEL_BASE) / PAGE_SIZE) as usize, entry);
    flush_page(page);
}

/// Bytes of the linear map for which [`set_linear_page`] works.
pub const LINEAR_PAGES: u32 = L2_ENTRIES as u32 * PAGE_SIZE;

/// Replaces one instruction of the kernel's text, or one word of its constants (code patching, arch/powerpc/lib/code-patching.c): makes the image
/// writable for one store, then carries the line to memory and out of the instruction cache.
pub fn patch_instruction(address: usize, instruction: u32) {
    assert!(
        super::super::is_image_constant(address as u32),
        "patch at {address:#x} outside the kernel's text and constants"
    );
    spr::without_interrupts(|| {
        set_image_block(BAT_RAM_LOWER);
        // SAFETY: the word is an instruction of the kernel that is not being executed (interrupts are off, and this function
        // is not what is patched), or a constant that only assembly reads.
        unsafe { core::ptr::without_provenance_mut::<u32>(address).write_volatile(instruction) };
        super::super::flush_instruction_range(address, 4);
        set_image_block(BAT_READ_ONLY_LOWER);
    });
}

/// The kernel's own table, active while no program exists. User tables copy its upper part.
pub fn swapper() -> &'static Table {
    &SWAPPER
}

/// Walks tables from `root` for all addresses from now on.
pub fn activate(root: PhysAddr) {
    flush_user();
    // SAFETY: the kernel half of every table is the same, so no mapping that Rust code relies on changes.
    unsafe { spr::mtspr::<275>(root.raw()) };
}

/// Forgets cached translations of the page at virtual address `page`.
pub fn flush_page(page: u32) {
    spr::without_interrupts(|| {
        // SAFETY: invalidation only makes the next access walk the tables again.
        unsafe {
            let state = &*hash_state.0.get();
            if state.table != 0 {
                evict(state.table, page);
            }
            asm!("tlbie {}", "sync", "isync", in(reg) page, options(nostack, preserves_flags));
        }
    });
}

/// Forgets all cached translations of user pages.
pub fn flush_user() {
    // SAFETY: as in `flush_page`; the hash table is plain memory that only the walk and the fill code use, and they
    // cope with an empty one.
    unsafe {
        let state = &*hash_state.0.get();
        if state.table != 0 {
            let table = (state.table + KERNEL_BASE) as *mut u32;
            for word in 0..16384 {
                table.add(word).write_volatile(0);
            }
        }
        // 64 entries cover all congruence classes of every supported CPU (32 sets on a 603e, 64 on a 750).
        for set in 0..64 {
            asm!("tlbie {}", in(reg) set * PAGE_SIZE, options(nostack, preserves_flags));
        }
        asm!("sync", "isync", options(nostack, preserves_flags));
    }
}

/// Takes the entry of `page` out of the hash table.
///
/// # Safety
/// `table` is the physical address of the hash table; interrupts are off.
unsafe fn evict(table: u32, page: u32) {
    let vsid = page >> 28 << 16;
    let group = (vsid ^ page >> 12 & 0xffff) & 0x3ff;
    let wanted = 0x8000_0000 | vsid << 7 | page >> 22 & 0x3f;
    let slots = (table + KERNEL_BASE + group * 64) as *mut u32;
    for slot in 0..8 {
        // SAFETY: eight entries of two words each make up a group.
        unsafe {
            let word = slots.add(slot * 2);
            if word.read_volatile() == wanted {
                word.write_volatile(0);
            }
        }
    }
}

/// Whether a user address range may be made executable.
pub fn may_execute(start: u32, end: u32) -> bool {
    debug_assert!(end <= TASK_SIZE);
    start >= EXECUTABLE.start && end <= EXECUTABLE.end
}

fn synchronize() {
    // SAFETY: context synchronization changes no state.
    unsafe { asm!("sync", "isync", options(nostack, preserves_flags)) };
}
