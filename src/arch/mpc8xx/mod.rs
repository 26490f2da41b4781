//! The MPC8xx: software TLB with table-walk assists, access protection groups, 16-byte cache lines.
//!
//! Assembly: `vectors.s` here, `trap.s` and `uaccess.s` in the common part, the head of the board.
//!
//! Errata: CPU6 (860 before revision C: writes to off-core registers can be mangled) is not handled; such parts are not
//! supported. CPU15 is handled in the instruction TLB miss handler. A DAR that cache-block instructions leave stale is
//! told by a tag, see [`cause`].

pub mod mmu;
pub mod window;

use super::ppc::frame::{FRAME_SIZE, SYSCALL_SIZE, SyscallFrame, TrapFrame};
use super::ppc::trap::{Access, Cause, Refusal};
use super::ppc::{SYSCALL_COUNT, accounting, msr};
use crate::addr::KERNEL_BASE;
use crate::errno::Errno;
use core::arch::global_asm;
use core::mem::offset_of;

/// Bytes of a cache block, what `dcbz` clears, on every 8xx (reference document 3.1).
pub const CACHE_LINE: usize = 16;

/// What exception entry leaves in DAR: an address in page 0, which is never mapped.
const DAR_TAG: u32 = 0xf0;

const DSISR_NOT_MAPPED: u32 = 0x4000_0000;
const DSISR_STORE: u32 = 0x0200_0000;
const SRR1_NOT_MAPPED: u32 = 0x4000_0000;
/// Machine check: of a fetch.
const SRR1_FETCH: u32 = 0x4000_0000;
const SRR1_PRIVILEGED: u32 = 0x0004_0000;

/// Decodes the vector (reference document 1.1 and 1.3).
pub fn cause(frame: &TrapFrame) -> Cause {
    match frame.vector {
        0x200 => Cause::MachineCheck,
        0x500 => Cause::External,
        0x600 => Cause::Alignment,
        0x700 if frame.msr & SRR1_PRIVILEGED != 0 => Cause::Privileged,
        0x700 => Cause::Trap,
        0x900 => Cause::Decrementer,
        0x1000 if instruction(frame).is_some_and(is_floating_point) => Cause::FloatingPoint,
        0x1000 => Cause::Illegal,
        0x1300 => Cause::Instruction(if frame.msr & SRR1_NOT_MAPPED != 0 {
            Refusal::NotMapped
        } else {
            Refusal::Protection
        }),
        0x1400 => Cause::Data(data_access(frame)),
        _ => Cause::Unexpected,
    }
}

/// What a machine check says of itself: which side of the core ran the bus cycle, and its address
/// (arch/powerpc/platforms/8xx/machine_check.c; reference document 1.1).
pub fn describe_machine_check(frame: &TrapFrame) -> (&'static str, Option<u32>) {
    if frame.msr & SRR1_FETCH != 0 {
        ("instruction fetch", Some(frame.nip))
    } else {
        ("data access", Some(frame.dar))
    }
}

/// The word at the frame's pc, through the tables in force for user code.
fn instruction(frame: &TrapFrame) -> Option<u32> {
    let pc = frame.nip & !3;
    let address = if pc >= KERNEL_BASE {
        super::text().contains(&pc).then_some(pc as usize)?
    } else {
        super::phys_to_virt(mmu::walk(pc)?) + (pc & 0xfff) as usize
    };
    // SAFETY: kernel text, or a frame of RAM in the linear map.
    Some(unsafe { core::ptr::without_provenance::<u32>(address).read_volatile() })
}

/// Loads and stores of the floating-point unit, and its two arithmetic opcodes.
fn is_floating_point(word: u32) -> bool {
    match word >> 26 {
        48..=55 | 59 | 63 => true,
        // lfsx, lfsux, lfdx, lfdux, stfsx, stfsux, stfdx, stfdux, stfiwx
        31 => matches!(word >> 1 & 0x3ff, 535 | 567 | 599 | 631 | 663 | 695 | 727 | 759 | 983),
        _ => false,
    }
}

/// A data TLB error. If DAR holds the tag, a cache-block instruction faulted: its address comes from its operands, and
/// dcbst is no store although DSISR says so (reference document 1.4).
fn data_access(frame: &TrapFrame) -> Access {
    let refusal = if frame.dsisr & DSISR_NOT_MAPPED != 0 {
        Refusal::NotMapped
    } else {
        Refusal::Protection
    };
    let mut store = frame.dsisr & DSISR_STORE != 0;
    let mut address = Some(frame.dar);
    if frame.dar == DAR_TAG {
        address = instruction(frame).map(|word| {
            let gpr = |field: u32| frame.gpr[(word >> field & 31) as usize];
            let base = if word >> 16 & 31 == 0 { 0 } else { gpr(16) };
            let effective = base.wrapping_add(gpr(11));
            match (word >> 26, word >> 1 & 0x3ff) {
                // dcbz, dcbi, dcbf, icbi
                (31, 1014 | 470 | 86 | 982) => effective,
                // dcbst
                (31, 54) => {
                    store = false;
                    effective
                }
                // An ordinary access to the tag's own address.
                _ => DAR_TAG,
            }
        });
    }
    Access {
        address,
        store,
        refusal,
    }
}

global_asm!(
    include_str!("../ppc/macros.s"),
    include_str!("vectors.s"),
    include_str!("../ppc/trap.s"),
    include_str!("../ppc/uaccess.s"),
    include_str!("../ppc/copy_mc.s"),
    include_str!("../../../boot/head_mcr3000.s"),
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
    MSR_KERNEL = const msr::KERNEL,
    MSR_KERNEL_UNRECOVERABLE = const msr::KERNEL_UNRECOVERABLE,
    MSR_KERNEL_INTERRUPTIBLE = const msr::KERNEL_INTERRUPTIBLE,
    MSR_USER = const msr::USER,
    // The low halves are negative as immediates; all upper bits are 0.
    MSR_USER_HIGH_ADJUSTED = const 1,
    MSR_KERNEL_HIGH_ADJUSTED = const 1,
    DAR_TAG = const DAR_TAG,
    WINDOW_CLOSED_HIGH = const window::CLOSED >> 16,
    SPR_NRI = const 82,
    SPR_ICR = const 148,
    SPR_LCTRL1 = const 156,
    SPR_LCTRL2 = const 157,
    SPR_ICTRL = const 158,
    SPR_IC_CST = const 560,
    SPR_DC_CST = const 568,
    SPR_IMMR = const 638,
    SPR_MI_CTR = const mmu::MI_CTR,
    SPR_MI_AP = const mmu::MI_AP,
    SPR_MI_EPN = const mmu::MI_EPN,
    SPR_MI_TWC = const mmu::MI_TWC,
    SPR_MI_RPN = const mmu::MI_RPN,
    SPR_MD_CTR = const mmu::MD_CTR,
    SPR_M_CASID = const mmu::M_CASID,
    SPR_MD_AP = const window::MD_AP,
    SPR_MD_EPN = const mmu::MD_EPN,
    SPR_M_TWB = const mmu::M_TWB,
    SPR_MD_TWC = const mmu::MD_TWC,
    SPR_MD_RPN = const mmu::MD_RPN,
    SPR_M_TW = const mmu::M_TW,
    CTR_RESERVE = const mmu::CTR_RESERVE,
    MD_CTR_TWAM = const mmu::MD_CTR_TWAM,
    CTR_INDEX_28 = const mmu::index(28),
    CTR_INDEX_30 = const mmu::index(30),
    EPN_VALID = const mmu::EPN_VALID,
    TWC_8M = const mmu::TWC_8M,
    TWC_512K = const mmu::TWC_512K,
    TWC_512K_GUARDED = const mmu::TWC_512K_GUARDED,
    RPN_KERNEL = const mmu::RPN_KERNEL,
    RPN_DEVICE = const mmu::RPN_DEVICE,
    RPN_EXTENDED = const mmu::RPN_EXTENDED,
    RPN_SUBPAGES = const mmu::RPN_SUBPAGES,
    IMMR_VIRTUAL_HIGH = const mmu::IMMR_VIRTUAL >> 16,
    CACHE_ENABLE_HIGH = const 0x0200,
    CACHE_DISABLE_HIGH = const 0x0400,
    CACHE_UNLOCK_ALL_HIGH = const 0x0a00,
    CACHE_INVALIDATE_ALL_HIGH = const 0x0c00,
    DC_CLEAR_WRITE_THROUGH_HIGH = const 0x0300,
);
