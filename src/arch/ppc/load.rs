//! Accesses of instructions that were interrupted: what they wanted, and doing a load in its place.

use super::frame::TrapFrame;
use crate::arch::{CACHE_LINE, is_image_text};
use core::ops::Range;

/// Addresses of what the instruction at the frame's pc accesses, for those that user-access assembly is made of: lbz, lwz,
/// lhz, stb, stw, sth and dcbz, whose operand is its line.
pub fn operand(frame: &TrapFrame) -> Option<Range<u32>> {
    if let Some(load) = Load::interrupted(frame) {
        return Some(load.address..load.address.wrapping_add(load.width));
    }
    let word = instruction(frame)?;
    let gpr = |field: u32| frame.gpr[(word >> field & 31) as usize];
    let base = if word >> 16 & 31 == 0 { 0 } else { gpr(16) };
    let width = match (word >> 26, word >> 1 & 0x3ff) {
        (31, 1014) => {
            let line = base.wrapping_add(gpr(11)) & !(CACHE_LINE as u32 - 1);
            return Some(line..line.wrapping_add(CACHE_LINE as u32));
        }
        (36 | 37, _) => 4,
        (38 | 39, _) => 1,
        (44 | 45, _) => 2,
        _ => return None,
    };
    let address = base.wrapping_add(word as i16 as u32);
    Some(address..address.wrapping_add(width))
}

/// The instruction of the kernel's text at the frame's pc.
fn instruction(frame: &TrapFrame) -> Option<u32> {
    // SAFETY: an instruction of the kernel's text, which is always mapped.
    is_image_text(frame.nip)
        .then(|| unsafe { core::ptr::without_provenance::<u32>(frame.nip as usize).read_volatile() })
}

unsafe extern "C" {
    /// See copy_mc.s.
    fn copy_mc_load_physical(address: u32) -> i32;
}

/// A load of the kernel's code: the D-forms that user-access assembly uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Effective address.
    pub address: u32,
    /// Bytes: 1, 2 or 4.
    pub width: u32,
    target: usize,
    updated: Option<usize>,
}

impl Load {
    /// The load at the frame's pc, if that is one (Programming Environments Manual, chapter 8: lwz 32, lwzu 33, lbz 34,
    /// lbzu 35, lhz 40, lhzu 41).
    pub fn interrupted(frame: &TrapFrame) -> Option<Self> {
        let word = instruction(frame)?;
        let (width, has_update) = match word >> 26 {
            32 => (4, false),
            33 => (4, true),
            34 => (1, false),
            35 => (1, true),
            40 => (2, false),
            41 => (2, true),
            _ => return None,
        };
        let base = (word >> 16 & 31) as usize;
        let start = if base == 0 { 0 } else { frame.gpr[base] };
        Some(Self {
            address: start.wrapping_add(word as i16 as u32),
            width,
            target: (word >> 21 & 31) as usize,
            updated: has_update.then_some(base),
        })
    }

    /// Does the load at physical address `start` instead of where the pages lead; gives the value.
    ///
    /// # Errors
    /// The index of the first byte whose load is a machine check.
    ///
    /// # Safety
    /// All bytes of the load are RAM there, and nobody holds an exclusive reference to them. Interrupts are off.
    pub unsafe fn perform_at(&self, start: u32) -> Result<u32, u32> {
        (0..self.width).try_fold(0, |value, index| {
            // SAFETY: the load is from RAM, as promised by the caller.
            match u32::try_from(unsafe { copy_mc_load_physical(start + index) }) {
                Ok(byte) => Ok(value << 8 | byte),
                Err(_) => Err(index),
            }
        })
    }

    /// Makes the frame look as if the load had happened and given `value`.
    pub fn complete(&self, frame: &mut TrapFrame, value: u32) {
        frame.gpr[self.target] = value;
        if let Some(base) = self.updated {
            frame.gpr[base] = self.address;
        }
        frame.nip += 4;
    }
}
