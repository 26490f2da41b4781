//! The MPC8xx: software TLB with table-walk assists, access protection groups, 16-byte cache lines.
//!
//! Assembly: `vectors.s` here, `trap.s` and `uaccess.s` in the common part, the head of the board.
//!
//! Errata: CPU6 (860 before revision C: writes to off-core registers can be mangled) is not handled; such parts are not
//! supported. CPU15 is handled in the instruction TLB miss handler. A DAR that cache-block instructions leave stale is
//! told by a tag, see [`cause`].

pub mod mmu;
pub mod window;

use super::ppc::assemble;
use super::ppc::frame::TrapFrame;
use super::ppc::tlb_misses::Handler;
use super::ppc::trap::{Access, Cause, Refusal};
use crate::addr::KERNEL_BASE;

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

unsafe extern "C" {
    static instruction_miss: u32;
    static data_miss: u32;
    static count_instruction_miss: u32;
    static count_data_miss: u32;
}

/// The handlers of TLB misses.
pub fn tlb_miss_handlers() -> [Handler; 2] {
    // mtspr M_TW, r10; the two halves of the number are swapped.
    const FIRST: u32 = 0x7c00_03a6 | 10 << 21 | (mmu::M_TW & 31) << 16 | mmu::M_TW >> 5 << 11;
    let handler = |start: *const u32, detour: *const u32| Handler {
        start: start.addr(),
        detour: detour.addr(),
        first: FIRST,
    };
    [
        handler(&raw const instruction_miss, &raw const count_instruction_miss),
        handler(&raw const data_miss, &raw const count_data_miss),
    ]
}

assemble!(
    ["../../../boot/head_mcr3000.s", "../../../boot/head_mcr3000_reset.s"],
    DAR_TAG = DAR_TAG,
    WINDOW_CLOSED_HIGH = window::CLOSED >> 16,
    SPR_NRI = 82,
    SPR_ICR = 148,
    SPR_DER = 149,
    SPR_COUNTA = 150,
    SPR_COUNTB = 151,
    SPR_LCTRL1 = 156,
    SPR_LCTRL2 = 157,
    SPR_ICTRL = 158,
    SPR_IC_CST = 560,
    SPR_DC_CST = 568,
    SPR_IMMR = 638,
    SPR_MI_CTR = mmu::MI_CTR,
    SPR_MI_AP = mmu::MI_AP,
    SPR_MI_EPN = mmu::MI_EPN,
    SPR_MI_TWC = mmu::MI_TWC,
    SPR_MI_RPN = mmu::MI_RPN,
    SPR_MD_CTR = mmu::MD_CTR,
    SPR_M_CASID = mmu::M_CASID,
    SPR_MD_AP = window::MD_AP,
    SPR_MD_EPN = mmu::MD_EPN,
    SPR_M_TWB = mmu::M_TWB,
    SPR_MD_TWC = mmu::MD_TWC,
    SPR_MD_RPN = mmu::MD_RPN,
    SPR_M_TW = mmu::M_TW,
    CTR_RESERVE = mmu::CTR_RESERVE,
    MD_CTR_TWAM = mmu::MD_CTR_TWAM,
    CTR_INDEX_28 = mmu::index(28),
    CTR_INDEX_30 = mmu::index(30),
    EPN_VALID = mmu::EPN_VALID,
    TWC_8M = mmu::TWC_8M,
    TWC_512K = mmu::TWC_512K,
    TWC_512K_GUARDED = mmu::TWC_512K_GUARDED,
    RPN_KERNEL = mmu::RPN_KERNEL,
    RPN_DEVICE = mmu::RPN_DEVICE,
    RPN_EXTENDED = mmu::RPN_EXTENDED,
    RPN_SUBPAGES = mmu::RPN_SUBPAGES,
    IMMR_VIRTUAL_HIGH = mmu::IMMR_VIRTUAL >> 16,
    CACHE_ENABLE_HIGH = 0x0200,
    CACHE_DISABLE_HIGH = 0x0400,
    CACHE_UNLOCK_ALL_HIGH = 0x0a00,
    CACHE_INVALIDATE_ALL_HIGH = 0x0c00,
    DC_CLEAR_WRITE_THROUGH_HIGH = 0x0300,
    DC_CLEAR_LITTLE_ENDIAN_HIGH = 0x0700,
);
