//! The core as the master of the bus: one cycle after the other, at the length that the memory controller gives them.

use crate::bus::{Bus, BusTiming, CycleKind, Refresh};
use crate::part::LINE;

/// A burst that is filling a cache line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fill {
    /// Physical address of the line, or the effective one on the instruction side.
    pub(super) line: u32,
    /// Word that came first.
    first: u32,
    /// Its arrival.
    pub(super) critical: u64,
    beat: u32,
    /// Arrival of the last word.
    pub(super) done: u64,
}

impl Fill {
    pub(super) fn new(address: u32, start: u64, timing: BusTiming) -> Fill {
        let critical = start + u64::from(timing.critical);
        Fill {
            line: address & !(LINE - 1),
            first: address >> 2 & 3,
            critical,
            beat: timing.beat,
            done: critical + 3 * u64::from(timing.beat),
        }
    }

    /// When the word at `address` of this line has arrived.
    pub(super) fn arrival(&self, address: u32) -> u64 {
        let order = (address >> 2).wrapping_sub(self.first) & 3;
        self.critical + u64::from(order * self.beat)
    }
}

/// Bus cycle lengths that were asked for, by region of the smallest chip select.
#[derive(Clone, Copy, Debug)]
struct KnownTiming {
    region: u32,
    kind: CycleKind,
    timing: BusTiming,
}

const KNOWN: usize = 64;

/// When the bus is free, and what its cycles cost.
#[derive(Clone, Debug)]
pub(super) struct BusMaster {
    free: u64,
    ratio: u64,
    refresh: [Refresh; 2],
    next_refresh: [u64; 2],
    known: Vec<Option<KnownTiming>>,
}

impl Default for BusMaster {
    fn default() -> Self {
        BusMaster {
            free: 0,
            ratio: 1,
            refresh: [Refresh::default(); 2],
            next_refresh: [u64::MAX; 2],
            known: vec![None; KNOWN],
        }
    }
}

impl BusMaster {
    /// Follows a change of clocks, refresh or memory controller.
    pub(super) fn follow_map<B: Bus>(&mut self, bus: &B, now: u64) {
        self.known.fill(None);
        self.ratio = u64::from(bus.bus_ratio().max(1));
        self.refresh = bus.refresh();
        for (next, refresh) in self.next_refresh.iter_mut().zip(self.refresh) {
            *next = match refresh.period {
                0 => u64::MAX,
                period => now.next_multiple_of(u64::from(period)),
            };
        }
    }

    fn timing<B: Bus>(&mut self, bus: &B, address: u32, kind: CycleKind) -> BusTiming {
        let region = address >> 15;
        let slot = (region as usize * 4 + kind as usize) % KNOWN;
        match self.known[slot] {
            Some(known) if known.region == region && known.kind == kind => known.timing,
            _ => {
                let timing = bus.timing(address, kind);
                self.known[slot] = Some(KnownTiming { region, kind, timing });
                timing
            }
        }
    }

    /// Puts a cycle on the bus, no earlier than `earliest`; returns its start.
    pub(super) fn cycle<B: Bus>(&mut self, bus: &B, address: u32, kind: CycleKind, earliest: u64) -> (u64, BusTiming) {
        let timing = self.timing(bus, address, kind);
        let mut start = earliest.max(self.free);
        for (next, refresh) in self.next_refresh.iter_mut().zip(self.refresh) {
            let (period, busy) = (u64::from(refresh.period), u64::from(refresh.busy));
            if *next <= start {
                // Services that fell into an idle time are over, except perhaps the last one.
                let last = *next + (start - *next) / period * period;
                start = start.max(last.max(self.free) + busy);
                *next = last + period;
            }
        }
        start = start.next_multiple_of(self.ratio);
        self.free = start + u64::from(timing.total);
        (start, timing)
    }
}
