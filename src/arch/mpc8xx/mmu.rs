//! Translation on the MPC8xx: page table entries in the hardware's own format, the kernel's map, TLB maintenance.
//!
//! Two levels of 1024 words; M_TWB and MD_TWC compose the addresses of their entries. A first-level word is what goes into
//! MD_TWC, a second-level word what goes into MD_RPN, except bits 24–27, which the miss handlers set and the tables use
//! for software. Source: reference document section 2, MPC885 reference manual chapter 8.

use super::super::mmu_types::{L2_ENTRIES, Protection, Table};
use super::super::ppc::spr;
use super::super::{phys_to_virt, virt_to_phys};
use crate::addr::{KERNEL_BASE, PAGE_SIZE, PhysAddr, TASK_SIZE};
use core::arch::asm;

/// Instruction MMU control.
pub const MI_CTR: u32 = 784;
/// Instruction access protection groups.
pub const MI_AP: u32 = 786;
/// Instruction effective page number.
pub const MI_EPN: u32 = 787;
/// Instruction tablewalk control.
pub const MI_TWC: u32 = 789;
/// Instruction real page number; writing it loads an entry.
pub const MI_RPN: u32 = 790;
/// Data MMU control.
pub const MD_CTR: u32 = 792;
/// Current address space.
pub const M_CASID: u32 = 793;
/// Data effective page number.
pub const MD_EPN: u32 = 795;
/// Tablewalk base.
pub const M_TWB: u32 = 796;
/// Data tablewalk control.
pub const MD_TWC: u32 = 797;
/// Data real page number; writing it loads an entry.
pub const MD_RPN: u32 = 798;
/// Scratch.
pub const M_TW: u32 = 799;

/// CTR: entries 28–31 are not victims of misses and survive tlbia.
pub const CTR_RESERVE: u32 = 0x0800_0000;
/// MD_CTR: walk tables of 4 KiB pages.
pub const MD_CTR_TWAM: u32 = 0x0400_0000;
/// EPN: the entry is valid.
pub const EPN_VALID: u32 = 0x200;
const TWC_VALID: u32 = 0x1;
/// Access protection group 1, user pages.
const TWC_USER: u32 = 0x20;
/// Stores go to memory at once.
const TWC_WRITE_THROUGH: u32 = 0x2;
/// TWC: 8 MiB page, group 0.
pub const TWC_8M: u32 = 0xc | TWC_VALID;
/// TWC: 512 KiB page, group 0.
pub const TWC_512K: u32 = 0x4 | TWC_VALID;
/// TWC: the same, guarded.
pub const TWC_512K_GUARDED: u32 = TWC_512K | 0x10;

const RPN_VALID: u32 = 0x1;
const RPN_INHIBIT: u32 = 0x2;
/// Matches in every address space.
const RPN_SHARED: u32 = 0x4;
/// 16 KiB or more; Linux sets it for large pages as well.
const RPN_LARGE: u32 = 0x8;
/// Bits 24–27, without which an entry matches nothing.
pub const RPN_SUBPAGES: u32 = 0xf0;
const RPN_CHANGED: u32 = 0x100;
/// Extended protection codes.
pub const RPN_EXTENDED: u32 = 0x200;
const RPN_PP_01: u32 = 0x400;
/// Large kernel page, read-write for the supervisor alone.
pub const RPN_KERNEL: u32 = RPN_CHANGED | RPN_SUBPAGES | RPN_LARGE | RPN_SHARED | RPN_VALID;
const RPN_KERNEL_READ_ONLY: u32 = RPN_KERNEL | RPN_EXTENDED | RPN_PP_01;
/// Large device page.
pub const RPN_DEVICE: u32 = RPN_KERNEL | RPN_INHIBIT;

/// Software bit in bit 25: fetches are allowed.
const PTE_EXECUTE: u32 = 0x40;

/// Virtual address of the 512 KiB that hold the internal memory map.
pub const IMMR_VIRTUAL: u32 = 0xFF00_0000;

/// The index field of a CTR.
pub const fn index(entry: u32) -> u32 {
    entry << 8
}

#[unsafe(link_section = ".bss.page_tables")]
static SWAPPER: Table = Table::new();
/// The first 8 MiB of RAM, in pages: the stack's guard needs a hole there, and 8 MiB pages would overlap the pinned ones.
#[unsafe(link_section = ".bss.page_tables")]
static KERNEL_PAGES: [Table; 2] = [Table::new(), Table::new()];

/// There is one way to walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// An exception; our handlers load the TLB.
    Software,
}

/// The CPUs that this board's image runs on.
pub const SUPPORTED: &str = "MPC8xx (processor version 0x0050)";

/// Identifies the CPU by its version and the part number in IMMR (reference document 0.3).
///
/// # Errors
/// The processor version, when it is no MPC8xx.
pub fn identify() -> Result<(&'static str, Walk), u32> {
    let version = spr::processor_version();
    if version >> 16 != 0x0050 {
        return Err(version);
    }
    let name = match spr::mfspr::<638>() & 0xffff {
        0x0900..0x2000 => "MPC885",
        0x0800..0x0900 => "MPC866",
        0x0600..0x0800 => "MPC862",
        0x2000..0x2200 => "MPC823",
        _ => "MPC860",
    };
    Ok((name, Walk::Software))
}

/// Bytes of RAM that the MMU needs for itself at the top of RAM.
pub fn reserved(_: Walk) -> u32 {
    0
}

/// Builds the page table entry for `frame`. All rights stand in the supervisor column; see `vectors.s`.
pub fn pte(frame: PhysAddr, protection: Protection) -> u32 {
    let mut entry = frame.raw() & !(PAGE_SIZE - 1) | RPN_CHANGED | RPN_SHARED | RPN_VALID;
    if protection.uncached {
        entry |= RPN_INHIBIT;
    }
    if protection.execute {
        entry |= PTE_EXECUTE;
    }
    // E = 0, PP = 00: read-write; E = 1, PP = 01: read-only; E = 1, PP = 00: nothing.
    if !protection.write {
        entry |= RPN_EXTENDED | if protection.is_none() { 0 } else { RPN_PP_01 };
    }
    entry
}

/// The frame and the rights of a non-zero entry.
pub fn pte_parts(entry: u32) -> (PhysAddr, Protection) {
    let write = entry & RPN_EXTENDED == 0;
    let protection = Protection {
        read: write || entry & RPN_PP_01 != 0,
        write,
        execute: entry & PTE_EXECUTE != 0,
        uncached: entry & RPN_INHIBIT != 0,
        // Stands in the first level.
        write_through: false,
    };
    (PhysAddr::new(entry & !(PAGE_SIZE - 1)), protection)
}

/// First-level entry for a second-level table of user pages.
pub fn l1_entry(table: PhysAddr, write_through: bool) -> u32 {
    table.raw() | TWC_USER | TWC_VALID | if write_through { TWC_WRITE_THROUGH } else { 0 }
}

/// The second-level table of a first-level entry, if it has one.
pub fn l1_table(entry: u32) -> Option<PhysAddr> {
    (entry & 0xc == 0 && entry & TWC_VALID != 0).then(|| PhysAddr::new(entry & !(PAGE_SIZE - 1)))
}

/// Physical address of the frame behind a user page, by the tables in force.
pub(super) fn walk(address: u32) -> Option<PhysAddr> {
    if address >= TASK_SIZE {
        return None;
    }
    let word = |address: u32| {
        let pointer = phys_to_virt(PhysAddr::new(address)) as *const u32;
        // SAFETY: tables in force lie in RAM, in the linear map.
        unsafe { pointer.read_volatile() }
    };
    let root = spr::mfspr::<M_TWB>() & !(PAGE_SIZE - 1);
    let table = l1_table(word(root + (address >> 20 & 0xffc)))?;
    let entry = word(table.raw() + (address >> 10 & 0xffc));
    (entry & RPN_VALID != 0).then(|| PhysAddr::new(entry & !(PAGE_SIZE - 1)))
}

unsafe extern "C" {
    static __kernel_stack_limit: u8;
    static __page_pool_start: u8;
}

/// Replaces the boot mapping by the kernel's own. Returns the first physical address that the map leaves free.
///
/// Pinned: 512 KiB of text and constants, 512 KiB of data, the internal memory map. By tables: the rest of the first 8 MiB
/// in pages, with a hole below the stack, and everything above in 8 MiB pages.
pub fn map_kernel(ram: u32, _: Walk) -> PhysAddr {
    let pinned = 0..0x10_0000;
    let guard_end = (&raw const __kernel_stack_limit).addr() as u32 - KERNEL_BASE;
    let guard = guard_end - 0x4000..guard_end;
    let first = (KERNEL_BASE >> 22) as usize;
    for (number, table) in KERNEL_PAGES.iter().enumerate() {
        for index in 0..L2_ENTRIES {
            let frame = (number * L2_ENTRIES + index) as u32 * PAGE_SIZE;
            if frame < ram && !pinned.contains(&frame) && !guard.contains(&frame) {
                table.set(index, pte(PhysAddr::new(frame), Protection::READ_WRITE));
            }
        }
        SWAPPER.set(first + number, table.physical().raw() | TWC_VALID);
    }
    // For a large page the hardware takes the second-level word from the table's first place, whatever the address.
    let mut free = virt_to_phys((&raw const __page_pool_start).addr());
    for block in 1..ram.div_ceil(8 << 20) {
        let word = phys_to_virt(free) as *mut u32;
        // SAFETY: the frame is RAM above all that the image occupies, mapped since the head, and nobody has it yet.
        unsafe { word.write_volatile(block << 23 | RPN_KERNEL) };
        for half in 0..2 {
            SWAPPER.set(first + block as usize * 2 + half, free.raw() | TWC_8M);
        }
        free = PhysAddr::new(free.raw() + PAGE_SIZE);
    }
    activate(SWAPPER.physical());
    pin(
        28,
        KERNEL_BASE,
        RPN_KERNEL,
        29,
        KERNEL_BASE + 0x8_0000,
        0x8_0000 | RPN_KERNEL,
    );
    free
}

/// Puts `entry` behind a page of the kernel's linear map instead of its own: a [`pte`], or 0 for nothing.
///
/// # Panics
/// The page is not among the first 8 MiB, which alone are mapped page by page.
pub fn set_linear_page(page: u32, entry: u32) {
    let number = ((page - KERNEL_BASE) / PAGE_SIZE) as usize;
    KERNEL_PAGES[number / L2_ENTRIES].set(number % L2_ENTRIES, entry);
    flush_page(page);
}

/// Bytes of the linear map for which [`set_linear_page`] works.
pub const LINEAR_PAGES: u32 = 2 * L2_ENTRIES as u32 * PAGE_SIZE;

/// Whether software reloads the TLB.
pub fn reloads_by_software() -> bool {
    true
}

/// Makes text, constants and `ro_after_init` read-only. To be called once, when start-up has written all it had to.
pub fn seal() {
    pin_image(RPN_KERNEL_READ_ONLY);
}

/// Pins the image with these rights, and the data behind it.
fn pin_image(rpn: u32) {
    pin(28, KERNEL_BASE, rpn, 29, KERNEL_BASE + 0x8_0000, 0x8_0000 | RPN_KERNEL);
}

/// Replaces one instruction of the kernel's text, or one word of its constants (code patching, arch/powerpc/lib/code-patching.c): makes the image
/// writable for one store, then carries the line to memory and out of the instruction cache.
pub fn patch_instruction(address: usize, instruction: u32) {
    assert!(
        super::super::is_image_constant(address as u32),
        "patch at {address:#x} outside the kernel's text and constants"
    );
    spr::without_interrupts(|| {
        pin_image(RPN_KERNEL);
        // SAFETY: the word is an instruction of the kernel that is not being executed (interrupts are off, and this function
        // is not what is patched), or a constant that only assembly reads.
        unsafe { core::ptr::without_provenance_mut::<u32>(address).write_volatile(instruction) };
        super::super::flush_instruction_range(address, 4);
        pin_image(RPN_KERNEL_READ_ONLY);
    });
}

/// Loads two reserved data entries with 512 KiB pages. No memory is touched between the two, so that the stack and the
/// data may be among what changes.
fn pin(first: u32, first_page: u32, first_rpn: u32, second: u32, second_page: u32, second_rpn: u32) {
    let control = CTR_RESERVE | MD_CTR_TWAM;
    spr::without_interrupts(|| {
        // SAFETY: callers map the same memory at the same addresses as before, with rights that allow all that is still
        // done there.
        unsafe {
            asm!(
                "mtspr 792, {c1}",
                "mtspr 795, {e1}",
                "mtspr 797, {t}",
                "mtspr 798, {r1}",
                "mtspr 792, {c2}",
                "mtspr 795, {e2}",
                "mtspr 797, {t}",
                "mtspr 798, {r2}",
                "mtspr 792, {c}",
                "isync",
                c1 = in(reg) control | index(first),
                e1 = in(reg) first_page | EPN_VALID,
                r1 = in(reg) first_rpn,
                c2 = in(reg) control | index(second),
                e2 = in(reg) second_page | EPN_VALID,
                r2 = in(reg) second_rpn,
                t = in(reg) TWC_512K,
                c = in(reg) control,
                options(nostack, preserves_flags),
            );
        }
    });
}

/// The kernel's own table, active while no program exists. User tables copy its upper part.
pub fn swapper() -> &'static Table {
    &SWAPPER
}

/// Walks tables from `root` for all addresses from now on.
pub fn activate(root: PhysAddr) {
    // SAFETY: the kernel half of every table is the same, so no mapping that Rust code relies on changes.
    unsafe { spr::mtspr::<M_TWB>(root.raw()) };
    flush_user();
}

/// Forgets cached translations of the page at virtual address `page`, also that there was none: a miss on an absent page
/// leaves an invalid entry in the TLB.
pub fn flush_page(page: u32) {
    // SAFETY: invalidation only makes the next access walk the tables again.
    unsafe { asm!("tlbie {}", "isync", in(reg) page, options(nostack, preserves_flags)) };
}

/// Forgets all cached translations but the pinned ones.
pub fn flush_user() {
    // SAFETY: as in `flush_page`; the pinned entries survive while RSV4 is set, which it always is.
    unsafe { asm!("tlbia", "isync", options(nostack, preserves_flags)) };
}

/// Every user page may be executable.
pub fn may_execute(start: u32, end: u32) -> bool {
    start < end && end <= TASK_SIZE
}
