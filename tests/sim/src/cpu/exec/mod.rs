//! Execution of one decoded instruction.
//!
//! - `integer`: arithmetic, logic, compares, condition register.
//! - `branch`: branches.
//! - `storage`: loads and stores of every kind.
//! - `cache`: cache and TLB instructions.
//! - `system`: `sc`, `rfi`, MSR and SPR moves.
//!
//! An instruction changes architectural state only after its last step that can fail, so every exception is precise.

pub mod branch;
pub mod cache;
pub mod integer;
pub mod storage;
pub mod system;

use super::decode::{Decoded, Op};
use super::exception::{Exception, Resume, Trap, Vector};
use super::observer::Observer;
use super::registers::srr1;
use super::{Cpu, Env};
use crate::bus::{Bus, Width};
use integer as int;

/// Executes `d`, which was fetched from `cpu.pc`; `cpu.next_pc` is where to go on.
///
/// # Errors
/// The exception that the instruction raises, or the end of the simulation.
#[inline(always)]
pub(super) fn exec<B: Bus, O: Observer, const TIMED: bool>(
    cpu: &mut Cpu,
    env: &mut Env<'_, B, O>,
    d: Decoded,
) -> Result<(), Trap> {
    match d.op {
        Op::Addi | Op::Addis => {
            let sum = cpu.get(d.a).wrapping_add(d.imm);
            cpu.set(d.d, sum);
        }
        Op::Lwz => cpu.exec_load::<_, _, TIMED>(env, d, cpu.ea_immediate(d), Width::Word, |v| v)?,
        Op::Stw => cpu.exec_store::<_, _, TIMED>(env, d, cpu.ea_immediate(d), Width::Word, |v| v)?,
        Op::Ori => cpu.set(d.a, cpu.get(d.d) | d.imm),
        Op::Oris => cpu.set(d.a, cpu.get(d.d) | d.imm),
        Op::Xori | Op::Xoris => cpu.set(d.a, cpu.get(d.d) ^ d.imm),
        Op::Andi | Op::Andis => {
            let result = cpu.get(d.d) & d.imm;
            cpu.record(result);
            cpu.set(d.a, result);
        }
        Op::Cmpi => cpu.compare_signed(d, cpu.get(d.a), d.imm),
        Op::Cmpli => cpu.compare_unsigned(d, cpu.get(d.a), d.imm),
        Op::Cmp => cpu.compare_signed(d, cpu.get(d.a), cpu.get(d.b)),
        Op::Cmpl => cpu.compare_unsigned(d, cpu.get(d.a), cpu.get(d.b)),
        Op::Rlwinm => cpu.logical(d, cpu.get(d.d).rotate_left(u32::from(d.b)) & d.imm),
        Op::Rlwnm => cpu.logical(d, cpu.get(d.d).rotate_left(cpu.get(d.b) & 31) & d.imm),
        Op::Rlwimi => {
            let rotated = cpu.get(d.d).rotate_left(u32::from(d.b));
            cpu.logical(d, rotated & d.imm | cpu.get(d.a) & !d.imm);
        }

        Op::Bc => cpu.branch_conditional(d, cpu.pc.wrapping_add(d.imm), false)?,
        Op::Bcl => cpu.branch_conditional(d, cpu.pc.wrapping_add(d.imm), true)?,
        Op::Bca => cpu.branch_conditional(d, d.imm, false)?,
        Op::Bcla => cpu.branch_conditional(d, d.imm, true)?,
        Op::B => cpu.branch(cpu.pc.wrapping_add(d.imm), false, || env.bus.next_event() == u64::MAX)?,
        Op::Bl => cpu.branch(cpu.pc.wrapping_add(d.imm), true, || false)?,
        Op::Ba => cpu.branch(d.imm, false, || env.bus.next_event() == u64::MAX)?,
        Op::Bla => cpu.branch(d.imm, true, || false)?,
        Op::Bclr => cpu.branch_conditional(d, cpu.lr & !3, false)?,
        Op::Bclrl => cpu.branch_conditional(d, cpu.lr & !3, true)?,
        Op::Bcctr => cpu.branch_to_count(d, false)?,
        Op::Bcctrl => cpu.branch_to_count(d, true)?,

        Op::Add => cpu.add(d, cpu.get(d.a), cpu.get(d.b), 0),
        Op::Subf => cpu.add(d, !cpu.get(d.a), cpu.get(d.b), 1),
        Op::Neg => cpu.add(d, !cpu.get(d.a), 0, 1),
        Op::Addc => cpu.add_carrying(d, cpu.get(d.a), cpu.get(d.b), 0),
        Op::Subfc => cpu.add_carrying(d, !cpu.get(d.a), cpu.get(d.b), 1),
        Op::Adde => cpu.add_extended(d, cpu.get(d.a), cpu.get(d.b)),
        Op::Subfe => cpu.add_extended(d, !cpu.get(d.a), cpu.get(d.b)),
        Op::Addme => cpu.add_extended(d, cpu.get(d.a), u32::MAX),
        Op::Subfme => cpu.add_extended(d, !cpu.get(d.a), u32::MAX),
        Op::Addze => cpu.add_extended(d, cpu.get(d.a), 0),
        Op::Subfze => cpu.add_extended(d, !cpu.get(d.a), 0),
        Op::Addic => {
            cpu.add_immediate_carrying(d, cpu.get(d.a), 0);
        }
        Op::AddicRecord => {
            let result = cpu.add_immediate_carrying(d, cpu.get(d.a), 0);
            cpu.record(result);
        }
        Op::Subfic => {
            cpu.add_immediate_carrying(d, !cpu.get(d.a), 1);
        }
        Op::Mulli => cpu.set(d.d, cpu.get(d.a).wrapping_mul(d.imm)),
        Op::Mullw => cpu.multiply_low(d),
        Op::Mulhw => {
            let wide = i64::from(cpu.get(d.a) as i32) * i64::from(cpu.get(d.b) as i32);
            let result = (wide >> 32) as u32;
            if d.rc() {
                cpu.record(result);
            }
            cpu.set(d.d, result);
        }
        Op::Mulhwu => {
            let wide = u64::from(cpu.get(d.a)) * u64::from(cpu.get(d.b));
            let result = (wide >> 32) as u32;
            if d.rc() {
                cpu.record(result);
            }
            cpu.set(d.d, result);
        }
        Op::Divw => cpu.divide_signed(d),
        Op::Divwu => cpu.divide_unsigned(d),

        Op::And => cpu.logical(d, cpu.get(d.d) & cpu.get(d.b)),
        Op::Andc => cpu.logical(d, cpu.get(d.d) & !cpu.get(d.b)),
        Op::Or => cpu.logical(d, cpu.get(d.d) | cpu.get(d.b)),
        Op::Orc => cpu.logical(d, cpu.get(d.d) | !cpu.get(d.b)),
        Op::Xor => cpu.logical(d, cpu.get(d.d) ^ cpu.get(d.b)),
        Op::Nor => cpu.logical(d, !(cpu.get(d.d) | cpu.get(d.b))),
        Op::Nand => cpu.logical(d, !(cpu.get(d.d) & cpu.get(d.b))),
        Op::Eqv => cpu.logical(d, !(cpu.get(d.d) ^ cpu.get(d.b))),
        Op::Cntlzw => cpu.logical(d, cpu.get(d.d).leading_zeros()),
        Op::Extsb => cpu.logical(d, cpu.get(d.d) as i8 as u32),
        Op::Extsh => cpu.logical(d, cpu.get(d.d) as i16 as u32),
        Op::Slw => cpu.logical(d, int::shift(cpu.get(d.d), cpu.get(d.b), false)),
        Op::Srw => cpu.logical(d, int::shift(cpu.get(d.d), cpu.get(d.b), true)),
        Op::Sraw => cpu.shift_arithmetic(d, cpu.get(d.b)),
        Op::Srawi => cpu.shift_arithmetic(d, u32::from(d.b)),

        Op::Mcrf => cpu.set_field(u32::from(d.d >> 2), cpu.cr >> (28 - (d.a & 0x1C)) & 0xF),
        Op::Crnor => cpu.cr_logical(d, |x, y| !(x || y)),
        Op::Crandc => cpu.cr_logical(d, |x, y| x && !y),
        Op::Crxor => cpu.cr_logical(d, |x, y| x != y),
        Op::Crnand => cpu.cr_logical(d, |x, y| !(x && y)),
        Op::Crand => cpu.cr_logical(d, |x, y| x && y),
        Op::Creqv => cpu.cr_logical(d, |x, y| x == y),
        Op::Crorc => cpu.cr_logical(d, |x, y| x || !y),
        Op::Cror => cpu.cr_logical(d, |x, y| x || y),
        Op::Mfcr => cpu.set(d.d, cpu.cr),
        Op::Mtcrf => cpu.cr = cpu.cr & !d.imm | cpu.get(d.d) & d.imm,
        Op::Mcrxr => {
            cpu.set_field(u32::from(d.d >> 2), cpu.xer >> 28);
            cpu.xer &= 0x0FFF_FFFF;
        }

        Op::Lbz => cpu.exec_load::<_, _, TIMED>(env, d, cpu.ea_immediate(d), Width::Byte, |v| v)?,
        Op::Lhz => cpu.exec_load::<_, _, TIMED>(env, d, cpu.ea_immediate(d), Width::Half, |v| v)?,
        Op::Lha => cpu.exec_load::<_, _, TIMED>(env, d, cpu.ea_immediate(d), Width::Half, storage::extend)?,
        Op::Stb => cpu.exec_store::<_, _, TIMED>(env, d, cpu.ea_immediate(d), Width::Byte, |v| v)?,
        Op::Sth => cpu.exec_store::<_, _, TIMED>(env, d, cpu.ea_immediate(d), Width::Half, |v| v)?,
        Op::Lwzu => cpu.exec_load_update::<_, _, TIMED>(env, d, cpu.ea_immediate(d), Width::Word, |v| v)?,
        Op::Lbzu => cpu.exec_load_update::<_, _, TIMED>(env, d, cpu.ea_immediate(d), Width::Byte, |v| v)?,
        Op::Lhzu => cpu.exec_load_update::<_, _, TIMED>(env, d, cpu.ea_immediate(d), Width::Half, |v| v)?,
        Op::Lhau => {
            cpu.exec_load_update::<_, _, TIMED>(env, d, cpu.ea_immediate(d), Width::Half, storage::extend)?;
        }
        Op::Stwu => cpu.exec_store_update::<_, _, TIMED>(env, d, cpu.ea_immediate(d), Width::Word)?,
        Op::Stbu => cpu.exec_store_update::<_, _, TIMED>(env, d, cpu.ea_immediate(d), Width::Byte)?,
        Op::Sthu => cpu.exec_store_update::<_, _, TIMED>(env, d, cpu.ea_immediate(d), Width::Half)?,
        Op::Lwzx => cpu.exec_load::<_, _, TIMED>(env, d, cpu.ea_indexed(d), Width::Word, |v| v)?,
        Op::Lbzx => cpu.exec_load::<_, _, TIMED>(env, d, cpu.ea_indexed(d), Width::Byte, |v| v)?,
        Op::Lhzx => cpu.exec_load::<_, _, TIMED>(env, d, cpu.ea_indexed(d), Width::Half, |v| v)?,
        Op::Lhax => cpu.exec_load::<_, _, TIMED>(env, d, cpu.ea_indexed(d), Width::Half, storage::extend)?,
        Op::Lwzux => cpu.exec_load_update::<_, _, TIMED>(env, d, cpu.ea_indexed(d), Width::Word, |v| v)?,
        Op::Lbzux => cpu.exec_load_update::<_, _, TIMED>(env, d, cpu.ea_indexed(d), Width::Byte, |v| v)?,
        Op::Lhzux => cpu.exec_load_update::<_, _, TIMED>(env, d, cpu.ea_indexed(d), Width::Half, |v| v)?,
        Op::Lhaux => {
            cpu.exec_load_update::<_, _, TIMED>(env, d, cpu.ea_indexed(d), Width::Half, storage::extend)?;
        }
        Op::Stwx => cpu.exec_store::<_, _, TIMED>(env, d, cpu.ea_indexed(d), Width::Word, |v| v)?,
        Op::Stbx => cpu.exec_store::<_, _, TIMED>(env, d, cpu.ea_indexed(d), Width::Byte, |v| v)?,
        Op::Sthx => cpu.exec_store::<_, _, TIMED>(env, d, cpu.ea_indexed(d), Width::Half, |v| v)?,
        Op::Stwux => cpu.exec_store_update::<_, _, TIMED>(env, d, cpu.ea_indexed(d), Width::Word)?,
        Op::Stbux => cpu.exec_store_update::<_, _, TIMED>(env, d, cpu.ea_indexed(d), Width::Byte)?,
        Op::Sthux => cpu.exec_store_update::<_, _, TIMED>(env, d, cpu.ea_indexed(d), Width::Half)?,
        Op::Lwbrx => cpu.exec_load::<_, _, TIMED>(env, d, cpu.ea_indexed(d), Width::Word, u32::swap_bytes)?,
        Op::Lhbrx => cpu.exec_load::<_, _, TIMED>(env, d, cpu.ea_indexed(d), Width::Half, storage::swap_half)?,
        Op::Stwbrx => cpu.exec_store::<_, _, TIMED>(env, d, cpu.ea_indexed(d), Width::Word, u32::swap_bytes)?,
        Op::Sthbrx => cpu.exec_store::<_, _, TIMED>(env, d, cpu.ea_indexed(d), Width::Half, storage::swap_half)?,
        Op::Lmw => cpu.exec_load_multiple::<_, _, TIMED>(env, d)?,
        Op::Stmw => cpu.exec_store_multiple::<_, _, TIMED>(env, d)?,
        Op::Lswi => cpu.exec_load_string::<_, _, TIMED>(env, d, cpu.get(d.a), u32::from(d.b))?,
        Op::Lswx => cpu.exec_load_string::<_, _, TIMED>(env, d, cpu.ea_indexed(d), cpu.string_count())?,
        Op::Stswi => cpu.exec_store_string::<_, _, TIMED>(env, d, cpu.get(d.a), u32::from(d.b))?,
        Op::Stswx => cpu.exec_store_string::<_, _, TIMED>(env, d, cpu.ea_indexed(d), cpu.string_count())?,
        Op::Lwarx => cpu.exec_load_reserve::<_, _, TIMED>(env, d)?,
        Op::Stwcx => cpu.exec_store_conditional::<_, _, TIMED>(env, d)?,

        Op::Twi => trap(d, cpu.get(d.a), d.imm)?,
        Op::Tw => trap(d, cpu.get(d.a), cpu.get(d.b))?,
        Op::Sc => return Err(Exception::plain(Vector::SystemCall, Resume::Next).into()),
        Op::Rfi => cpu.rfi()?,
        Op::Mfmsr => cpu.mfmsr(d)?,
        Op::Mtmsr => cpu.mtmsr(d)?,
        Op::Mfspr => cpu.mfspr(env.bus, d)?,
        Op::Mtspr => cpu.mtspr(env.bus, d)?,
        Op::Mftb => cpu.mftb(env.bus, d)?,

        // One core, in order, caches that only it uses: nothing is left to order.
        Op::Sync | Op::Eieio => {
            if TIMED {
                cpu.drain_stores_timed();
            }
        }
        Op::Isync | Op::Tlbsync => {}
        // A touch never faults; the caches of the 8xx may ignore it \[A\].
        Op::Dcbt | Op::Dcbtst => {}
        Op::Dcbst => cpu.dcbst::<_, _, TIMED>(env, d)?,
        Op::Dcbf => cpu.dcbf::<_, _, TIMED>(env, d)?,
        Op::Dcbi => cpu.dcbi::<_, _, TIMED>(env, d)?,
        Op::Dcbz => cpu.dcbz::<_, _, TIMED>(env, d)?,
        Op::Icbi => cpu.icbi::<_, _, TIMED>(env, d)?,
        Op::Tlbie => cpu.tlbie(d)?,
        Op::Tlbia => cpu.tlbia()?,

        Op::Illegal | Op::Unfilled => return Err(Exception::software_emulation().into()),
    }
    Ok(())
}

#[inline(always)]
fn trap(d: Decoded, x: u32, y: u32) -> Result<(), Trap> {
    if int::trap_condition(d.d, x, y) {
        return Err(Exception::program(srr1::TRAP).into());
    }
    Ok(())
}
