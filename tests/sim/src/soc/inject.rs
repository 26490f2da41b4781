//! Faults on order: bus errors, poisoned pages, flipped bits, lost interrupts, line noise. Deterministic: every fault
//! names its place and the access or the core clock at which it strikes.

use std::ops::RangeInclusive;

use super::console::Symbol;

/// Which accesses a bus fault concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Loads and instruction fetches.
    Read,
    /// Stores.
    Write,
    /// Both.
    Either,
}

/// One fault to inject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Accesses to a range of physical addresses end with TEA: all of them, or only the `nth` (1 is the next one).
    BusError {
        /// Physical addresses.
        range: RangeInclusive<u32>,
        /// Accesses concerned.
        direction: Direction,
        /// `None`: every access.
        nth: Option<u64>,
    },
    /// Every access to the 4 KiB physical page ends with TEA, as memory with an uncorrectable error would.
    Poison {
        /// Any address within the page.
        address: u32,
    },
    /// One bit of the RAM or flash content changes.
    BitFlip {
        /// Physical address of the byte.
        address: u32,
        /// 0 is the most significant bit, as everywhere on this family.
        bit: u8,
        /// Core clock.
        at: u64,
    },
    /// The `nth` (1 is the next one) activation of an interrupt source of the SIU is not seen.
    LostInterrupt {
        /// Bit number in SIPEND: 2k is IRQk, 2k+1 is level k; `None`: any source.
        source: Option<u8>,
        /// Which activation is lost.
        nth: u64,
    },
    /// Symbols that nobody typed come in on a serial port.
    ConsoleGarbage {
        /// 0 for SMC1, 1 for SMC2.
        port: usize,
        /// Core clock from which the first may start.
        at: u64,
        /// What comes in, one after another.
        symbols: Vec<Symbol>,
    },
}

/// The armed bus faults.
#[derive(Clone, Debug, Default)]
pub struct BusFaults {
    armed: Vec<Fault>,
    spent: Vec<u64>,
}

impl BusFaults {
    /// Arms a [`Fault::BusError`] or [`Fault::Poison`].
    pub fn arm(&mut self, fault: Fault) {
        self.armed.push(fault);
        self.spent.push(0);
    }

    /// Whether a fault watches any address of the 4 KiB page of `address`, so that the page must not be accessed
    /// directly: (loads, stores).
    pub fn watches_page(&self, address: u32) -> (bool, bool) {
        let (first, last) = (address & !0xFFF, address | 0xFFF);
        let mut watched = (false, false);
        for fault in &self.armed {
            match fault {
                Fault::BusError { range, direction, .. } if *range.start() <= last && *range.end() >= first => {
                    watched.0 |= *direction != Direction::Write;
                    watched.1 |= *direction != Direction::Read;
                }
                Fault::Poison { address: page } if page & !0xFFF == first => watched = (true, true),
                _ => {}
            }
        }
        watched
    }

    /// Whether the access of `bytes` bytes at `address` is to fail. Counts it for the faults that wait for their nth.
    pub fn strikes(&mut self, address: u32, bytes: u32, write: bool) -> bool {
        let last = address.saturating_add(bytes - 1);
        let mut strikes = false;
        for (fault, spent) in self.armed.iter().zip(&mut self.spent) {
            match fault {
                Fault::BusError { range, direction, nth } => {
                    let concerned = *range.start() <= last
                        && *range.end() >= address
                        && match direction {
                            Direction::Read => !write,
                            Direction::Write => write,
                            Direction::Either => true,
                        };
                    if concerned {
                        *spent += 1;
                        strikes |= nth.is_none_or(|nth| nth == *spent);
                    }
                }
                Fault::Poison { address: page } => strikes |= page & !0xFFF == address & !0xFFF,
                Fault::BitFlip { .. } | Fault::LostInterrupt { .. } | Fault::ConsoleGarbage { .. } => {}
            }
        }
        strikes
    }

    /// Whether nothing is armed.
    pub fn is_empty(&self) -> bool {
        self.armed.is_empty()
    }
}
