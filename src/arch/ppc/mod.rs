//! What the PowerPC families share: special registers, the trap frame, exception entry, the uaccess assembly.

pub mod accounting;
pub mod frame;
pub mod load;
pub mod provoke;
pub mod spr;
pub mod stack_protector;
pub mod static_key;
pub mod tlb_misses;
pub mod trap;
pub mod user_context;

pub use frame::TrapFrame;

use crate::errno::Errno;
use core::cell::UnsafeCell;

/// Entries of a system call table; numbers from here on are ENOSYS. Linux 6.1 knows 451, none of which above 403
/// (`clock_gettime64`) has a place here.
pub const SYSCALL_COUNT: usize = 404;

/// A system call as the entry code calls it: r3–r8 in, a count or a negative error number out.
pub type SyscallEntry = extern "C" fn(u32, u32, u32, u32, u32, u32) -> i32;

/// The system call table: constant memory of which single entries are replaced as code is patched.
struct SyscallTable(UnsafeCell<[SyscallEntry; SYSCALL_COUNT]>);

// SAFETY: Rust never reads the entries, the entry code loads whole words, and replacing one stores a whole word.
unsafe impl Sync for SyscallTable {}

extern "C" fn sys_ni_syscall(_: u32, _: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    -(Errno::ENOSYS.raw() as i32)
}

#[unsafe(link_section = ".ro_after_init")]
static SYSCALL_TABLE: SyscallTable = SyscallTable(UnsafeCell::new([sys_ni_syscall; SYSCALL_COUNT]));

/// Makes `entry` answer system call `number` from now on; panics for a number that the table does not have.
pub fn set_syscall(number: usize, entry: SyscallEntry) {
    assert!(number < SYSCALL_COUNT, "system call {number} is not in the table");
    let address = SYSCALL_TABLE.0.get().addr() + number * size_of::<SyscallEntry>();
    super::mmu::patch_instruction(address, entry as usize as u32);
}

/// Makes the entries of `table` answer system calls until [`restore_syscalls`].
pub fn use_syscalls(table: &'static [SyscallEntry; SYSCALL_COUNT]) {
    set_syscall_table(table.as_ptr().addr());
}

/// Makes the entries of [`set_syscall`] answer system calls.
pub fn restore_syscalls() {
    set_syscall_table(SYSCALL_TABLE.0.get().addr());
}

unsafe extern "C" {
    static syscall_entry_site: [u32; 2];
    static transfer_to_syscall: u32;
    static transfer_to_syscall_by_ticks: u32;
    static transfer_to_syscall_counted: u32;
    static syscall_table_site: [u32; 2];
    static syscall_table_site_by_ticks: [u32; 2];
    static syscall_table_site_counted: [u32; 2];
}

/// Makes the table at `address` the one in force from the next system call on, by patching its address into the entry code.
fn set_syscall_table(address: usize) {
    for site in [
        &raw const syscall_table_site,
        &raw const syscall_table_site_by_ticks,
        &raw const syscall_table_site_counted,
    ] {
        // addis r12, r12, high adjusted; lwz r12, low(r12)
        patch_address(site.addr(), [0x3d8c_0000, 0x818c_0000], address as u32);
    }
}

/// The system call paths of trap.s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SyscallPath {
    /// Keeps no times: the tick does.
    ByTicks,
    /// Keeps exact times.
    Exact,
    /// Keeps exact times and counts the calls.
    Counted,
}

/// Chooses the path of the next system call, by patching its address into the vector.
fn set_syscall_path(path: SyscallPath) {
    let entry = match path {
        SyscallPath::ByTicks => &raw const transfer_to_syscall_by_ticks,
        SyscallPath::Exact => &raw const transfer_to_syscall,
        SyscallPath::Counted => &raw const transfer_to_syscall_counted,
    };
    // lis r9, high adjusted; addi r9, r9, low
    patch_address(
        (&raw const syscall_entry_site).addr(),
        [0x3d20_0000, 0x3929_0000],
        entry.addr() as u32,
    );
}

/// Puts the two halves of an address into two instructions, of which the second adds its half as a signed number.
fn patch_address(site: usize, [first, second]: [u32; 2], address: u32) {
    super::mmu::patch_instruction(site, first | address.wrapping_add(0x8000) >> 16);
    super::mmu::patch_instruction(site + 4, second | address & 0xffff);
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

/// Assembles a family: the common files, its own `vectors.s`, the heads of its boards, as one unit, so that macros and
/// constants have one home. Every file sees the constants listed here and those that the family adds.
///
/// Paths are those of a family's `mod.rs`, in which this is used; that module has `CACHE_LINE` and `window::CLOSED`.
macro_rules! assemble {
    ([$($head:literal),+], $($name:ident = $value:expr),+ $(,)?) => {
        core::arch::global_asm!(
            include_str!("../ppc/macros.s"),
            include_str!("vectors.s"),
            include_str!("../ppc/trap.s"),
            include_str!("../ppc/uaccess.s"),
            include_str!("../ppc/copy_mc.s"),
            include_str!("../../../boot/head_common.s"),
            $(include_str!($head),)+
            KERNEL_BASE = const $crate::addr::KERNEL_BASE,
            KERNEL_BASE_HIGH = const $crate::addr::KERNEL_BASE >> 16,
            TO_PHYSICAL = const 0x4000,
            TO_VIRTUAL = const -0x4000,
            LINE = const CACHE_LINE,
            LINE_SHIFT = const CACHE_LINE.trailing_zeros(),
            FRAME_SIZE = const $crate::arch::ppc::frame::FRAME_SIZE,
            FRAME_GPR = const core::mem::offset_of!($crate::arch::ppc::frame::TrapFrame, gpr),
            FRAME_NIP = const core::mem::offset_of!($crate::arch::ppc::frame::TrapFrame, nip),
            FRAME_MSR = const core::mem::offset_of!($crate::arch::ppc::frame::TrapFrame, msr),
            FRAME_LR = const core::mem::offset_of!($crate::arch::ppc::frame::TrapFrame, lr),
            FRAME_CTR = const core::mem::offset_of!($crate::arch::ppc::frame::TrapFrame, ctr),
            FRAME_XER = const core::mem::offset_of!($crate::arch::ppc::frame::TrapFrame, xer),
            FRAME_CR = const core::mem::offset_of!($crate::arch::ppc::frame::TrapFrame, cr),
            FRAME_DAR = const core::mem::offset_of!($crate::arch::ppc::frame::TrapFrame, dar),
            FRAME_DSISR = const core::mem::offset_of!($crate::arch::ppc::frame::TrapFrame, dsisr),
            FRAME_VECTOR = const core::mem::offset_of!($crate::arch::ppc::frame::TrapFrame, vector),
            FRAME_WINDOW = const core::mem::offset_of!($crate::arch::ppc::frame::TrapFrame, window),
            SYSCALL_SIZE = const $crate::arch::ppc::frame::SYSCALL_SIZE,
            SYSCALL_R1 = const core::mem::offset_of!($crate::arch::ppc::frame::SyscallFrame, r1),
            SYSCALL_NIP = const core::mem::offset_of!($crate::arch::ppc::frame::SyscallFrame, nip),
            SYSCALL_CR = const core::mem::offset_of!($crate::arch::ppc::frame::SyscallFrame, cr),
            SYSCALL_LR = const core::mem::offset_of!($crate::arch::ppc::frame::SyscallFrame, lr),
            SYSCALL_COUNT = const $crate::arch::ppc::SYSCALL_COUNT,
            ACCOUNT_USER = const core::mem::offset_of!($crate::arch::ppc::accounting::State, user),
            ACCOUNT_CALLS = const core::mem::offset_of!($crate::arch::ppc::accounting::State, calls),
            MAX_ERRNO = const $crate::errno::Errno::MAX,
            ENOSYS = const $crate::errno::Errno::ENOSYS.raw(),
            MSR_PR = const $crate::arch::ppc::msr::PR,
            MSR_ME = const $crate::arch::ppc::msr::ME,
            MSR_RI = const $crate::arch::ppc::msr::RI,
            MSR_KERNEL = const $crate::arch::ppc::msr::KERNEL,
            MSR_KERNEL_UNRECOVERABLE = const $crate::arch::ppc::msr::KERNEL_UNRECOVERABLE,
            MSR_KERNEL_INTERRUPTIBLE = const $crate::arch::ppc::msr::KERNEL_INTERRUPTIBLE,
            MSR_USER = const $crate::arch::ppc::msr::USER,
            // The low halves are negative as immediates; all upper bits are 0.
            MSR_USER_HIGH_ADJUSTED = const 1,
            MSR_KERNEL_HIGH_ADJUSTED = const 1,
            $($name = const $value,)+
        );
    };
}
pub(super) use assemble;
