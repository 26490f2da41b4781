//! What the simulator remembers of translations of plain memory, so that most accesses need no TLB search.
//!
//! A direct-mapped table in front of each TLB, one bank for each recent context (translation on or off, privilege
//! state, groups, modes, address space): Linux changes its groups around every user copy, and the banks make that a
//! change of index instead of a flush. Everything here can be forgotten at any time without a change of behaviour.

use super::Attributes;
use super::tlb::PageSize;

/// Pages per bank and kind of access, a power of two.
const PAGES: usize = 128;
/// Contexts that are remembered.
const BANKS: usize = 8;
/// A tag that no access can have: the low bits of a compared address are at most those of a misaligned word.
const NO_PAGE: u32 = 0xFFF;

/// One remembered page of 4 KiB.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// Effective address of the page, or a value that matches nothing.
    pub tag: u32,
    /// Byte offset of the page in the memory of the bus.
    pub offset: u32,
    /// Physical address of the page.
    pub physical: u32,
    /// Attributes of the page.
    pub attributes: Attributes,
}

impl Page {
    const NONE: Page = Page {
        tag: NO_PAGE,
        offset: 0,
        physical: 0,
        attributes: Attributes {
            cache_inhibited: false,
            write_through: false,
            guarded: false,
        },
    };
}

/// Everything but the TLB itself that the translation of an address depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Context {
    /// Translation is on.
    pub translated: bool,
    /// MSR\[PR\].
    pub problem_state: bool,
    /// Mx_CTR without the index.
    pub control: u32,
    /// Mx_AP; 0 while translation is off.
    pub groups: u32,
    /// M_CASID; 0 while translation is off.
    pub casid: u32,
}

#[derive(Clone, Debug)]
struct Bank<const KINDS: usize> {
    context: Option<Context>,
    pages: [[Page; PAGES]; KINDS],
}

/// Banks of remembered pages for `KINDS` kinds of access.
#[derive(Clone, Debug)]
pub struct PageCache<const KINDS: usize> {
    banks: Vec<Bank<KINDS>>,
    current: usize,
    victim: usize,
}

impl<const KINDS: usize> Default for PageCache<KINDS> {
    fn default() -> Self {
        let empty = Bank {
            context: None,
            pages: [[Page::NONE; PAGES]; KINDS],
        };
        PageCache {
            banks: vec![empty; BANKS],
            current: 0,
            victim: 0,
        }
    }
}

impl<const KINDS: usize> PageCache<KINDS> {
    /// Makes the bank of `context` the current one.
    pub fn select(&mut self, context: Context) {
        if self.banks[self.current].context == Some(context) {
            return;
        }
        if let Some(index) = self.banks.iter().position(|bank| bank.context == Some(context)) {
            self.current = index;
            return;
        }
        self.victim = (self.victim + 1) % BANKS;
        self.current = self.victim;
        let bank = &mut self.banks[self.victim];
        bank.context = Some(context);
        bank.pages = [[Page::NONE; PAGES]; KINDS];
    }

    /// The slot that `address` maps to; it holds the page only if its tag says so.
    #[inline(always)]
    pub fn slot(&self, kind: usize, address: u32) -> &Page {
        &self.banks[self.current].pages[kind][(address >> 12) as usize % PAGES]
    }

    /// Remembers a page in the current bank.
    pub fn insert(&mut self, kind: usize, page: Page) {
        self.banks[self.current].pages[kind][(page.tag >> 12) as usize % PAGES] = page;
    }

    /// Forgets everything: the map of memory changed, or a TLB as a whole.
    pub fn clear(&mut self) {
        for bank in self.banks.iter_mut().filter(|bank| bank.context.is_some()) {
            bank.pages = [[Page::NONE; PAGES]; KINDS];
        }
    }

    /// Forgets what lies in the page of this size at `base`, in every translated context.
    pub fn forget(&mut self, base: u32, size: PageSize) {
        let mask = size.mask();
        let translated = |bank: &&mut Bank<KINDS>| bank.context.is_some_and(|context| context.translated);
        for pages in self
            .banks
            .iter_mut()
            .filter(translated)
            .flat_map(|bank| &mut bank.pages)
        {
            match size {
                PageSize::Small4K | PageSize::Small16K => {
                    for page in 0..=(!mask >> 12) {
                        let tag = base & mask | page << 12;
                        let slot = &mut pages[(tag >> 12) as usize % PAGES];
                        if slot.tag == tag {
                            slot.tag = NO_PAGE;
                        }
                    }
                }
                PageSize::Large512K | PageSize::Large8M => {
                    for slot in pages.iter_mut().filter(|slot| slot.tag & mask == base & mask) {
                        slot.tag = NO_PAGE;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(tag: u32) -> Page {
        Page { tag, ..Page::NONE }
    }

    #[test]
    fn contexts_do_not_see_each_other_and_forgetting_reaches_all_translated_ones() {
        let mut cache = PageCache::<1>::default();
        let kernel = Context {
            translated: true,
            ..Context::default()
        };
        let user = Context {
            translated: true,
            problem_state: true,
            ..Context::default()
        };
        cache.select(kernel);
        cache.insert(0, page(0x5000));
        cache.select(user);
        assert_ne!(cache.slot(0, 0x5000).tag, 0x5000);
        cache.insert(0, page(0x5000));
        cache.select(kernel);
        assert_eq!(cache.slot(0, 0x5000).tag, 0x5000);
        cache.forget(0x4000, PageSize::Small16K);
        for context in [kernel, user] {
            cache.select(context);
            assert_ne!(cache.slot(0, 0x5000).tag, 0x5000);
        }
    }

    #[test]
    fn forgetting_a_large_page_keeps_its_neighbour() {
        let mut cache = PageCache::<1>::default();
        cache.select(Context {
            translated: true,
            ..Context::default()
        });
        cache.insert(0, page(0x0080_3000));
        cache.insert(0, page(0x0100_5000));
        cache.forget(0x0080_0000, PageSize::Large8M);
        assert_ne!(cache.slot(0, 0x0080_3000).tag, 0x0080_3000);
        assert_eq!(cache.slot(0, 0x0100_5000).tag, 0x0100_5000);
    }
}
