//! What the PowerPC families share: special registers, the trap frame, exception entry, the uaccess assembly.

pub mod accounting;
pub mod frame;
pub mod load;
pub mod provoke;
pub mod spr;
pub mod stack_protector;
pub mod static_key;
pub mod trap;
pub mod user_context;

pub use frame::TrapFrame;

/// Entries of a system call table; numbers from here on are ENOSYS. Linux 6.1 knows 451, none of which above 403
/// (`clock_gettime64`) has a place here.
pub const SYSCALL_COUNT: usize = 404;

/// A system call as the entry code calls it: r3–r8 in, a count or a negative error number out.
pub type SyscallEntry = extern "C" fn(u32, u32, u32, u32, u32, u32) -> i32;

/// Makes `table` the system call table from the next system call on, by patching its address into the entry code.
pub fn set_syscall_table(table: &'static [SyscallEntry; SYSCALL_COUNT]) {
    unsafe extern "C" {
        static syscall_table_patch_site: [u32; 2];
    }
    let address = table.as_ptr().addr() as u32;
    let site = (&raw const syscall_table_patch_site).addr();
    // addis r12, r12, high adjusted; lwz r12, low(r12)
    let high = address.wrapping_add(0x8000) >> 16;
    super::mmu::patch_instruction(site, 0x3d8c_0000 | high);
    super::mmu::patch_instruction(site + 4, 0x818c_0000 | address & 0xffff);
}

/// MSR bits (Programming Environments Manual, chapter 2).
pub mod msr {
    /// External interrupts enabled.
    pub const EE: u32 = 0x8000;
    /// Problem state (user mode).
    pub const PR: u32 = 0x4000;
    /// Machine check enabled.
    pub const ME: u32 = 0x1000;
    /// Exception prefix: vectors at 0xFFF0_0000.
    pub const IP: u32 = 0x0040;
    /// Instruction translation.
    pub const IR: u32 = 0x0020;
    /// Data translation.
    pub const DR: u32 = 0x0010;
    /// The last exception can be returned from.
    pub const RI: u32 = 0x0002;

    /// Kernel, translation on, interrupts off.
    pub const KERNEL: u32 = ME | IR | DR | RI;
    /// The same while SRR0 and SRR1 are live.
    pub const KERNEL_UNRECOVERABLE: u32 = ME | IR | DR;
    /// Kernel with interrupts on.
    pub const KERNEL_INTERRUPTIBLE: u32 = KERNEL | EE;
    /// User mode.
    pub const USER: u32 = KERNEL_INTERRUPTIBLE | PR;
}
