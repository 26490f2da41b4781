//! Branches.

use crate::cpu::decode::Decoded;
use crate::cpu::mmu::tlb::Access;
use crate::cpu::registers::msr;
use crate::cpu::{Cpu, Halt, Stop, Trap};

/// BO: the count register is left alone.
const BO_NO_COUNT: u8 = 4;

/// Addresses within the smallest page.
const IN_PAGE: u32 = 0xFFF;
/// The last cache line of such a page.
const LAST_LINE: u32 = 0xFF0;

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
    ///
    /// # Errors
    /// [`Stop::Impossible`] where erratum CPU15 strikes.
    #[inline(always)]
    pub(in crate::cpu) fn branch_conditional(&mut self, d: Decoded, target: u32, link: bool) -> Result<(), Trap> {
        let taken = self.is_taken(d);
        if link {
            self.lr = self.pc.wrapping_add(4);
        }
        if taken { self.take(target) } else { Ok(()) }
    }

    /// A taken branch of the kinds that erratum CPU15 is about.
    #[inline(always)]
    fn take(&mut self, target: u32) -> Result<(), Trap> {
        if self.pc & IN_PAGE == IN_PAGE - 3 {
            self.check_cpu15(target)?;
        }
        self.branch_to(target);
        Ok(())
    }

    /// Erratum CPU15: from the last word of a page into the last cache line of the next one, while the TLB translates
    /// both pages, with an entry each (reference document 8).
    #[cold]
    fn check_cpu15(&self, target: u32) -> Result<(), Trap> {
        let struck_line = self.pc.wrapping_add(4) | LAST_LINE;
        if !self.quirks.cpu15 || self.msr & msr::IR == 0 || target & !(IN_PAGE ^ LAST_LINE) != struck_line {
            return Ok(());
        }
        let [here, there] = [self.pc, target].map(|pc| self.mmu.probe(Access::Fetch, pc, self.problem_state()));
        match (here, there) {
            (Ok((here, _)), Ok((there, _))) if here != there => Err(self
                .impossible(format!(
                    "erratum CPU15: branch in the last word of a page to {target:#010x} in the last line of the next, both in \
                     the instruction TLB"
                ))
                .into()),
            _ => Ok(()),
        }
    }

    /// `bcctr`; in the invalid form that counts down, the target is the new value of CTR (823UM 7.1.7.1).
    ///
    /// # Errors
    /// As [`Cpu::branch_conditional`].
    #[inline(always)]
    pub(in crate::cpu) fn branch_to_count(&mut self, d: Decoded, link: bool) -> Result<(), Trap> {
        let taken = self.is_taken(d);
        if link {
            self.lr = self.pc.wrapping_add(4);
        }
        if taken { self.take(self.ctr & !3) } else { Ok(()) }
    }
}
