//! Instruction fetch and the store of decoded instructions.
//!
//! Without the cycle model the store stands for an instruction cache without limit: it keeps decoded lines of plain
//! memory by page, and forgets them only when the hardware would (`icbi`, commands to IC_CST). So software that
//! forgets to invalidate sees stale instructions, as on the hardware. With the cycle model the lines are those of the
//! instruction cache itself. With the cache off, or from a page that is cache inhibited, every word is fetched anew.
//!
//! The fast path sees one page, or one cache line, through a window; whatever changes translation or content closes it.

use super::cache::NoLine;
use super::decode::{Decoded, Op, decode};
use super::exception::{Exception, Resume, Trap, Vector};
use super::memory::kept_from_cache;
use super::mmu::page_cache::Page;
use super::mmu::tlb::Access;
use super::mmu::{Refusal, Translation};
use super::observer::Observer;
use super::registers::{msr, srr1};
use super::{Cpu, Env};
use crate::bus::{Bus, Width};
use crate::part::LINE;

/// Instructions in a page.
const WORDS: usize = 1024;
/// Decoded pages that are kept at most (32 MiB of host memory); beyond that all are dropped.
const PAGES: usize = 2048;
/// A window that no address falls into.
const CLOSED: u32 = 1;

/// Decoded pages, and the window through which the fast path sees one of them.
#[derive(Clone, Debug)]
pub struct CodeStore {
    slots: Vec<Decoded>,
    /// Slot of each page of the bus's memory, plus one; 0 is none.
    by_page: Vec<u32>,
    /// Effective address of the page or line that the window shows.
    window: u32,
    /// First slot of the page, or index of the cache line.
    window_base: usize,
    /// Effective and physical address of the page that the window lies in, with the cycle model.
    page: u32,
    page_physical: u32,
}

impl Default for CodeStore {
    fn default() -> Self {
        CodeStore {
            slots: Vec::new(),
            by_page: Vec::new(),
            window: CLOSED,
            window_base: 0,
            page: CLOSED,
            page_physical: 0,
        }
    }
}

impl CodeStore {
    /// The next fetch goes the slow way.
    pub fn close_window(&mut self) {
        self.window = CLOSED;
        self.page = CLOSED;
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.by_page.clear();
        self.close_window();
    }

    /// Forgets the line at this offset of the bus's memory.
    pub fn forget_line(&mut self, offset: usize) {
        if let Some(&slot) = self.by_page.get(offset >> 12).filter(|&&slot| slot != 0) {
            let at = (slot - 1) as usize * WORDS + (offset & 0xFF0) / 4;
            self.slots[at..at + (LINE / 4) as usize].fill(Decoded::UNFILLED);
        }
    }

    /// Index of the first slot of the page at this offset of the bus's memory.
    fn page(&mut self, offset: usize) -> usize {
        let page = offset >> 12;
        if self.by_page.get(page).is_none_or(|&slot| slot == 0) {
            if self.slots.len() >= PAGES * WORDS {
                self.clear();
            }
            if self.by_page.len() <= page {
                self.by_page.resize(page + 1, 0);
            }
            self.by_page[page] = (self.slots.len() / WORDS) as u32 + 1;
            self.slots.resize(self.slots.len() + WORDS, Decoded::UNFILLED);
        }
        (self.by_page[page] - 1) as usize * WORDS
    }

    /// Decodes one line from memory into its slots.
    fn fill_line(&mut self, at: usize, memory: &[u8]) {
        for (slot, bytes) in self.slots[at..].iter_mut().zip(memory.chunks_exact(4)) {
            *slot = decode(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        }
    }
}

impl Cpu {
    /// Whether the window shows the instruction at `pc`, after moving it there if that is cheap.
    #[inline(always)]
    pub(super) fn is_in_window<const TIMED: bool>(&mut self) -> bool {
        if !TIMED {
            return self.pc & 0xFFFF_F000 == self.code.window;
        }
        if self.pc & !(LINE - 1) != self.code.window {
            if self.pc & 0xFFFF_F000 != self.code.page {
                return false;
            }
            let physical = self.code.page_physical | self.pc & 0xFFF;
            let Some(index) = self.caches.instruction.lookup(physical) else {
                return false;
            };
            self.code.window = self.pc & !(LINE - 1);
            self.code.window_base = index;
        }
        self.wait_for_fetch();
        true
    }

    /// The instruction at `pc`, which the window shows. Without the cycle model its slot may still be unfilled.
    #[inline(always)]
    pub(super) fn window_slot<const TIMED: bool>(&self) -> &Decoded {
        if TIMED {
            &self.caches.instruction.line(self.code.window_base)[(self.pc >> 2 & 3) as usize]
        } else {
            &self.code.slots[self.code.window_base + (self.pc >> 2) as usize % WORDS]
        }
    }

    /// The instruction at `pc`, wherever it is.
    ///
    /// # Errors
    /// ITLB miss, ITLB error, machine check of the fetch.
    #[inline(never)]
    pub(super) fn fetch_slowly<B: Bus, O: Observer, const TIMED: bool>(
        &mut self,
        env: &mut Env<'_, B, O>,
    ) -> Result<Decoded, Trap> {
        let pc = self.pc;
        let page = *self.fetch_pages.slot(0, pc);
        let (translation, offset) = if page.tag == pc & 0xFFFF_F000 {
            let translation = Translation {
                physical: page.physical | pc & 0xFFF,
                attributes: page.attributes,
            };
            (translation, Some(page.offset as usize))
        } else {
            let translation = kept_from_cache(env.bus, self.translate_fetch(pc)?);
            let direct = env.bus.direct(translation.physical);
            if let Some(direct) = direct {
                let page = Page {
                    tag: pc & 0xFFFF_F000,
                    offset: direct.offset as u32,
                    physical: translation.physical & 0xFFFF_F000,
                    attributes: translation.attributes,
                };
                self.fetch_pages.insert(0, page);
            }
            (translation, direct.map(|direct| direct.offset))
        };
        let cached = self.caches.instruction.is_enabled() && !translation.attributes.cache_inhibited;
        if TIMED {
            return self.fetch_timed(env, translation, cached);
        }
        match offset {
            Some(page_offset) if cached => Ok(self.fetch_decoded(env.bus, page_offset)),
            _ => self.fetch_uncached(env, translation),
        }
    }

    /// From the store of decoded pages.
    fn fetch_decoded<B: Bus>(&mut self, bus: &B, page_offset: usize) -> Decoded {
        let base = self.code.page(page_offset);
        self.code.window = self.pc & 0xFFFF_F000;
        self.code.window_base = base;
        let at = base + (self.pc >> 2) as usize % WORDS;
        if self.code.slots[at].op == Op::Unfilled {
            let line = page_offset + (self.pc & 0xFF0) as usize;
            self.code.fill_line(at & !3, &bus.memory()[line..line + LINE as usize]);
        }
        self.code.slots[at]
    }

    /// Through the instruction cache.
    fn fetch_timed<B: Bus, O: Observer>(
        &mut self,
        env: &mut Env<'_, B, O>,
        translation: Translation,
        cached: bool,
    ) -> Result<Decoded, Trap> {
        if cached {
            match self.instruction_line(env, translation.physical) {
                Ok(index) => {
                    self.code.window = self.pc & !(LINE - 1);
                    self.code.window_base = index;
                    self.code.page = self.pc & 0xFFFF_F000;
                    self.code.page_physical = translation.physical & 0xFFFF_F000;
                    self.wait_for_fetch();
                    return Ok(self.caches.instruction.line(index)[(self.pc >> 2 & 3) as usize]);
                }
                Err(NoLine::Bus(_)) => return Err(machine_check_fetch().into()),
                // Every way is locked: the word comes past the cache.
                Err(NoLine::NoWay) => {}
            }
        }
        self.fetch_word_timed(env.bus, translation);
        self.fetch_uncached(env, translation)
    }

    /// One word from the bus.
    fn fetch_uncached<B: Bus, O: Observer>(
        &mut self,
        env: &mut Env<'_, B, O>,
        translation: Translation,
    ) -> Result<Decoded, Trap> {
        let physical = translation.physical;
        if let Some(direct) = env.bus.direct(physical) {
            let at = direct.offset + (physical & 0xFFC) as usize;
            let bytes = &env.bus.memory()[at..at + 4];
            return Ok(decode(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])));
        }
        let result = env.bus.read(physical, Width::Word, self.now);
        self.after_device(env.bus);
        let word = result.map_err(|_| machine_check_fetch())?;
        Ok(decode(word))
    }

    /// Translates the address of a fetch, with the side effects that a refusal has on the MMU.
    fn translate_fetch(&mut self, address: u32) -> Result<Translation, Trap> {
        if self.msr & msr::IR == 0 {
            return Ok(Translation {
                physical: address,
                attributes: self.mmu.instruction.real_mode_attributes(),
            });
        }
        match self.mmu.probe(Access::Fetch, address, self.problem_state()) {
            Ok((_, translation)) => Ok(translation),
            Err(Refusal::Miss) => {
                self.mmu.record_miss(Access::Fetch, address);
                Err(Exception::plain(Vector::InstructionTlbMiss, Resume::Here).into())
            }
            Err(Refusal::Error(bits)) => Err(Exception {
                srr1: bits,
                ..Exception::plain(Vector::InstructionTlbError, Resume::Here)
            }
            .into()),
            Err(Refusal::Duplicate(first, second)) => Err(self
                .impossible(format!(
                    "instruction TLB entries {first} and {second} both match {address:#010x}"
                ))
                .into()),
        }
    }

    /// Whether the instruction at `pc` can be fetched at all, which comes before its breakpoint.
    pub(super) fn fetch_permitted(&self) -> bool {
        self.msr & msr::IR == 0 || self.mmu.probe(Access::Fetch, self.pc, self.problem_state()).is_ok()
    }
}

/// A bus error during an instruction fetch.
fn machine_check_fetch() -> Exception {
    Exception {
        srr1: srr1::FETCH,
        ..Exception::plain(Vector::MachineCheck, Resume::Here)
    }
}
