//! The 603 family: segments, BATs, software TLB reload; also 750 and 7400 with their hardware walk.
//!
//! Assembly: `vectors.s` (vectors, TLB miss, segment macros) here, `trap.s` and `uaccess.s` in the common part, the head of
//! the board.

pub mod mmu;
pub mod window;

use super::ppc::assemble;
use super::ppc::frame::TrapFrame;
use super::ppc::msr;
use super::ppc::tlb_misses::Handler;
use super::ppc::trap::{Access, Cause, Refusal};
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

/// The registers that hold the address that missed.
const SPR_DMISS: u32 = 976;
const SPR_IMISS: u32 = 980;

unsafe extern "C" {
    static instruction_miss: u32;
    static load_miss: u32;
    static store_miss: u32;
    static count_instruction_miss: u32;
    static count_load_miss: u32;
    static count_store_miss: u32;
}

/// The handlers of TLB misses.
pub fn tlb_miss_handlers() -> [Handler; 3] {
    // mfspr r3, the register of the address; the two halves of the number are swapped.
    let handler = |start: *const u32, detour: *const u32, spr: u32| Handler {
        start: start.addr(),
        detour: detour.addr(),
        first: 0x7c00_02a6 | 3 << 21 | (spr & 31) << 16 | spr >> 5 << 11,
    };
    [
        handler(
            &raw const instruction_miss,
            &raw const count_instruction_miss,
            SPR_IMISS,
        ),
        handler(&raw const load_miss, &raw const count_load_miss, SPR_DMISS),
        handler(&raw const store_miss, &raw const count_store_miss, SPR_DMISS),
    ]
}

assemble!(
    ["../../../boot/head_g3beige.s"],
    MSR_IP = msr::IP,
    SEGMENT1_KERNEL_HIGH = window::CLOSED >> 16 | 1,
    SEGMENT1_USER_HIGH = window::USER_EXECUTABLE >> 16 | 1,
    SEGMENT_CLOSED_HIGH = window::CLOSED >> 16,
    SEGMENT_OPEN_HIGH = window::OPEN >> 16,
    SEGMENT_NOBODY_HIGH = mmu::SEGMENT_NOBODY >> 16,
    SEGMENT_KERNEL_HIGH = mmu::SEGMENT_KERNEL >> 16,
    SPR_DMISS = SPR_DMISS,
    SPR_IMISS = SPR_IMISS,
    SPR_RPA = 982,
    L1_LINEAR = mmu::L1_LINEAR,
    PTE_LINEAR = mmu::PTE_LINEAR,
    PTE_PRESENT = mmu::PTE_PRESENT,
    PTE_EXECUTE = mmu::PTE_EXECUTE,
    DSISR_NOT_FOUND = DSISR_NOT_FOUND,
    SRR1_NOT_FOUND = SRR1_NOT_FOUND,
    SRR1_NO_EXECUTE = SRR1_NO_EXECUTE,
    HASH_TABLE = offset_of!(mmu::HashState, table),
    HASH_SLOT = offset_of!(mmu::HashState, slot),
    HASH_CR = offset_of!(mmu::HashState, cr),
    HASH_R3 = offset_of!(mmu::HashState, saved),
    HASH_R4 = offset_of!(mmu::HashState, saved) + 4,
    HASH_R5 = offset_of!(mmu::HashState, saved) + 8,
    HASH_R6 = offset_of!(mmu::HashState, saved) + 12,
    HASH_R7 = offset_of!(mmu::HashState, saved) + 16,
    BAT_RAM_LOWER = mmu::BAT_RAM_LOWER,
    BAT_READ_ONLY_LOWER = mmu::BAT_READ_ONLY_LOWER,
    BAT_DEVICE_LOWER = mmu::BAT_DEVICE_LOWER,
    BAT_512K = mmu::BAT_512K,
    BAT_256M = mmu::BAT_256M,
    BAT_SUPERVISOR = mmu::BAT_SUPERVISOR,
    DEVICE_BASE_HIGH = mmu::DEVICE_BASE >> 16,
);
