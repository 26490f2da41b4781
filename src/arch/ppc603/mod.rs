//! The 603 family: segments, BATs, software TLB reload; also 750 and 7400 with their hardware walk.
//!
//! Assembly: `vectors.s` (vectors, TLB miss, segment macros) here, `trap.s` and `uaccess.s` in the common part, the head of
//! the board. All of it is one unit so that macros and constants have one home.

pub mod mmu;
pub mod window;

use super::ppc::frame::{FRAME_SIZE, SYSCALL_SIZE, SyscallFrame, TrapFrame};
use super::ppc::trap::{Access, Cause, Refusal};
use super::ppc::{SYSCALL_COUNT, accounting, msr};
use crate::addr::KERNEL_BASE;
use crate::errno::Errno;
use core::arch::global_asm;
use core::mem::offset_of;

/// Bytes of a cache block, what `dcbz` clears (603e user's manual, chapter 3).
pub const CACHE_LINE: usize = 32;

const DSISR_NOT_FOUND: u32 = 0x4000_0000;
const DSISR_STORE: u32 = 0x0200_0000;
const SRR1_NOT_FOUND: u32 = 0x4000_0000;
const SRR1_NO_EXECUTE: u32 = 0x1000_0000;
const SRR1_PRIVILEGED: u32 = 0x0004_0000;
/// Machine check: MCP#, TEA, data parity, address parity.
const SRR1_MACHINE_CHECK: u32 = 0x000f_0000;
const SRR1_TRAP: u32 = 0x0002_0000;

/// Decodes the vector (603e user's manual, table 4-2).
pub fn cause(frame: &TrapFrame) -> Cause {
    match frame.vector {
        0x200 => Cause::MachineCheck,
        0x300 => {
            let refusal = if frame.dsisr & DSISR_NOT_FOUND != 0 {
                Refusal::NotMapped
            } else {
                Refusal::Protection
            };
            Cause::Data(Access {
                address: Some(frame.dar),
                store: frame.dsisr & DSISR_STORE != 0,
                refusal,
            })
        }
        0x400 => Cause::Instruction(if frame.msr & SRR1_NOT_FOUND != 0 {
            Refusal::NotMapped
        } else {
            Refusal::Protection
        }),
        0x500 => Cause::External,
        0x600 => Cause::Alignment,
        0x700 if frame.msr & SRR1_PRIVILEGED != 0 => Cause::Privileged,
        0x700 if frame.msr & SRR1_TRAP != 0 => Cause::Trap,
        0x700 => Cause::Illegal,
        0x800 => Cause::FloatingPoint,
        0x900 => Cause::Decrementer,
        _ => Cause::Unexpected,
    }
}

/// What a machine check says of itself (arch/powerpc/kernel/traps.c, `machine_check_generic`; 603e user's manual, 4.5.2).
/// The address is not told.
pub fn describe_machine_check(frame: &TrapFrame) -> (&'static str, Option<u32>) {
    let reason = match frame.msr & SRR1_MACHINE_CHECK {
        0x8_0000 => "machine check signal",
        0x4_0000 => "transfer error acknowledge",
        0x2_0000 => "data parity error",
        0x1_0000 => "address parity error",
        _ => "no reason given",
    };
    (reason, None)
}

global_asm!(
    include_str!("../ppc/macros.s"),
    include_str!("vectors.s"),
    include_str!("../ppc/trap.s"),
    include_str!("../ppc/uaccess.s"),
    include_str!("../ppc/copy_mc.s"),
    include_str!("../../../boot/head_g3beige.s"),
    KERNEL_BASE = const KERNEL_BASE,
    KERNEL_BASE_HIGH = const KERNEL_BASE >> 16,
    TO_PHYSICAL = const 0x4000,
    TO_VIRTUAL = const -0x4000,
    LINE = const CACHE_LINE,
    LINE_SHIFT = const CACHE_LINE.trailing_zeros(),
    FRAME_SIZE = const FRAME_SIZE,
    FRAME_GPR = const offset_of!(TrapFrame, gpr),
    FRAME_NIP = const offset_of!(TrapFrame, nip),
    FRAME_MSR = const offset_of!(TrapFrame, msr),
    FRAME_LR = const offset_of!(TrapFrame, lr),
    FRAME_CTR = const offset_of!(TrapFrame, ctr),
    FRAME_XER = const offset_of!(TrapFrame, xer),
    FRAME_CR = const offset_of!(TrapFrame, cr),
    FRAME_DAR = const offset_of!(TrapFrame, dar),
    FRAME_DSISR = const offset_of!(TrapFrame, dsisr),
    FRAME_VECTOR = const offset_of!(TrapFrame, vector),
    FRAME_WINDOW = const offset_of!(TrapFrame, window),
    SYSCALL_SIZE = const SYSCALL_SIZE,
    SYSCALL_R1 = const offset_of!(SyscallFrame, r1),
    SYSCALL_NIP = const offset_of!(SyscallFrame, nip),
    SYSCALL_CR = const offset_of!(SyscallFrame, cr),
    SYSCALL_LR = const offset_of!(SyscallFrame, lr),
    SYSCALL_COUNT = const SYSCALL_COUNT,
    ACCOUNT_USER = const offset_of!(accounting::State, user),
    ACCOUNT_CALLS = const offset_of!(accounting::State, calls),
    MAX_ERRNO = const Errno::MAX,
    ENOSYS = const Errno::ENOSYS.raw(),
    MSR_PR = const msr::PR,
    MSR_ME = const msr::ME,
    MSR_RI = const msr::RI,
    MSR_IP = const msr::IP,
    MSR_KERNEL = const msr::KERNEL,
    MSR_KERNEL_UNRECOVERABLE = const msr::KERNEL_UNRECOVERABLE,
    MSR_KERNEL_INTERRUPTIBLE = const msr::KERNEL_INTERRUPTIBLE,
    MSR_USER = const msr::USER,
    // The low halves are negative as immediates; all upper bits are 0.
    MSR_USER_HIGH_ADJUSTED = const 1,
    MSR_KERNEL_HIGH_ADJUSTED = const 1,
    SEGMENT1_KERNEL_HIGH = const window::CLOSED >> 16 | 1,
    SEGMENT1_USER_HIGH = const window::USER_EXECUTABLE >> 16 | 1,
    SEGMENT_CLOSED_HIGH = const window::CLOSED >> 16,
    SEGMENT_OPEN_HIGH = const window::OPEN >> 16,
    SEGMENT_NOBODY_HIGH = const mmu::SEGMENT_NOBODY >> 16,
    SEGMENT_KERNEL_HIGH = const mmu::SEGMENT_KERNEL >> 16,
    SPR_DMISS = const 976,
    SPR_IMISS = const 980,
    SPR_RPA = const 982,
    L1_LINEAR = const mmu::L1_LINEAR,
    PTE_LINEAR = const mmu::PTE_LINEAR,
    PTE_PRESENT = const mmu::PTE_PRESENT,
    PTE_EXECUTE = const mmu::PTE_EXECUTE,
    DSISR_NOT_FOUND = const DSISR_NOT_FOUND,
    SRR1_NOT_FOUND = const SRR1_NOT_FOUND,
    SRR1_NO_EXECUTE = const SRR1_NO_EXECUTE,
    HASH_TABLE = const offset_of!(mmu::HashState, table),
    HASH_SLOT = const offset_of!(mmu::HashState, slot),
    HASH_CR = const offset_of!(mmu::HashState, cr),
    HASH_R3 = const offset_of!(mmu::HashState, saved),
    HASH_R4 = const offset_of!(mmu::HashState, saved) + 4,
    HASH_R5 = const offset_of!(mmu::HashState, saved) + 8,
    HASH_R6 = const offset_of!(mmu::HashState, saved) + 12,
    HASH_R7 = const offset_of!(mmu::HashState, saved) + 16,
    BAT_RAM_LOWER = const mmu::BAT_RAM_LOWER,
    BAT_READ_ONLY_LOWER = const mmu::BAT_READ_ONLY_LOWER,
    BAT_DEVICE_LOWER = const mmu::BAT_DEVICE_LOWER,
    BAT_512K = const mmu::BAT_512K,
    BAT_256M = const mmu::BAT_256M,
    BAT_SUPERVISOR = const mmu::BAT_SUPERVISOR,
    DEVICE_BASE_HIGH = const mmu::DEVICE_BASE >> 16,
);
