//! Branches.

use crate::cpu::decode::Decoded;
use crate::cpu::registers::msr;
use crate::cpu::{Cpu, Halt, Stop, Trap};

/// BO: the count register is left alone.
const BO_NO_COUNT: u8 = 4;

impl Cpu {
    /// Evaluates BO and BI, counting CTR down if BO asks for it.
    #[inline(always)]
    fn is_taken(&mut self, d: Decoded) -> bool {
        let bo = d.d;
        let count_says = if bo & BO_NO_COUNT != 0 {
            true
        } else {
            self.ctr = self.ctr.wrapping_sub(1);
            (self.ctr != 0) == (bo & 2 == 0)
        };
        let condition_says = bo & 16 != 0 || self.cr_bit(d.a) == (bo & 8 != 0);
        count_says && condition_says
    }

    /// `b` in its four forms.
    ///
    /// # Errors
    /// [`Stop::Halt`] for a branch to itself that nothing can end.
    #[inline(always)]
    pub(in crate::cpu) fn branch(
        &mut self,
        target: u32,
        link: bool,
        nothing_comes: impl Fn() -> bool,
    ) -> Result<(), Trap> {
        if target == self.pc && !link {
            self.halt_check(nothing_comes)?;
        }
        if link {
            self.lr = self.pc.wrapping_add(4);
        }
        self.branch_to(target);
        Ok(())
    }

    /// A branch to itself is an endless halt when interrupts are off, or when none can ever come.
    #[cold]
    fn halt_check(&self, nothing_comes: impl Fn() -> bool) -> Result<(), Trap> {
        if self.msr & msr::EE == 0 || nothing_comes() {
            return Err(Stop::Halt {
                pc: self.pc,
                how: Halt::BranchToItself,
            }
            .into());
        }
        Ok(())
    }

    /// `bc` and `bclr`; the target was read before the link register changes.
    #[inline(always)]
    pub(in crate::cpu) fn branch_conditional(&mut self, d: Decoded, target: u32, link: bool) {
        let taken = self.is_taken(d);
        if link {
            self.lr = self.pc.wrapping_add(4);
        }
        if taken {
            self.branch_to(target);
        }
    }

    /// `bcctr`; in the invalid form that counts down, the target is the new value of CTR (823UM 7.1.7.1).
    #[inline(always)]
    pub(in crate::cpu) fn branch_to_count(&mut self, d: Decoded, link: bool) {
        let taken = self.is_taken(d);
        if link {
            self.lr = self.pc.wrapping_add(4);
        }
        if taken {
            self.branch_to(self.ctr & !3);
        }
    }
}
