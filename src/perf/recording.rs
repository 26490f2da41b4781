//! The sample buffer, and counts around a command.
#![forbid(unsafe_code)]

use crate::arch::ppc::accounting::Times;
use crate::arch::ppc::tlb_misses::{self, TlbMisses};
use crate::arch::ppc::{TrapFrame, accounting, spr};
use crate::measure::clock;
use crate::policy::{AsChosen, Counting};
use crate::{kernel, uaccess};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// Samples that are kept.
const CAPACITY: usize = 8192;

/// Samples a second when nothing else is said.
pub const DEFAULT_HZ: u32 = 1000;
/// Most samples a second: a period must leave room for the handler.
pub const MAX_HZ: u32 = 20_000;

/// A sample that comes later than this was held off by code that runs with interrupts off, not by a system call's vector.
pub const LATE_MICROSECONDS: u32 = 20;

struct Recording {
    pcs: [AtomicU32; CAPACITY],
    used: AtomicU32,
    lost: AtomicU32,
    /// Samples that were held off for more than [`LATE_MICROSECONDS`].
    late: AtomicU32,
    is_on: AtomicBool,
    /// Time base ticks spent in sampling.
    overhead: AtomicU32,
    /// Time base ticks of the recording.
    duration: AtomicU32,
    hz: AtomicU32,
}

static RECORDING: Recording = Recording {
    pcs: [const { AtomicU32::new(0) }; CAPACITY],
    used: AtomicU32::new(0),
    lost: AtomicU32::new(0),
    late: AtomicU32::new(0),
    is_on: AtomicBool::new(false),
    overhead: AtomicU32::new(0),
    duration: AtomicU32::new(0),
    hz: AtomicU32::new(0),
};

/// The tick's share: keeps the pc that was interrupted. `start` is the time base at the beginning of the tick, `late` how
/// many of its ticks the interrupt was held off.
pub fn sample(frame: &TrapFrame, start: u32, late: u32) {
    let recording = &RECORDING;
    if !recording.is_on.load(Relaxed) {
        return;
    }
    let used = recording.used.load(Relaxed);
    match recording.pcs.get(used as usize) {
        Some(slot) => {
            slot.store(frame.nip, Relaxed);
            recording.used.store(used + 1, Relaxed);
        }
        None => recording.lost.store(recording.lost.load(Relaxed) + 1, Relaxed),
    }
    if late > clock::timebase_hz() / (1_000_000 / LATE_MICROSECONDS) {
        recording.late.store(recording.late.load(Relaxed) + 1, Relaxed);
    }
    // The decrementer counts in steps of several core clocks. Without a pause of less than such a step a loop whose length
    // is a multiple of it would be interrupted at the same few instructions only.
    for _ in 0..clock::random() % 16 {
        core::hint::spin_loop();
    }
    let spent = spr::mftb_lower().wrapping_sub(start);
    recording
        .overhead
        .store(recording.overhead.load(Relaxed).wrapping_add(spent), Relaxed);
}

/// Records while `f` runs, `hz` samples a second; replaces what was recorded before.
pub fn record<R>(hz: u32, f: impl FnOnce() -> R) -> R {
    let recording = &RECORDING;
    for counter in [&recording.used, &recording.lost, &recording.late, &recording.overhead] {
        counter.store(0, Relaxed);
    }
    recording.hz.store(hz, Relaxed);
    let start = enable(hz);
    let result = f();
    recording.duration.store(disable().wrapping_sub(start), Relaxed);
    result
}

/// Sampling begins; returns the time base. A function of its own, like [`disable`], so that a profile of another kind can
/// be limited to what lies between the two.
#[inline(never)]
fn enable(hz: u32) -> u32 {
    clock::set_sample_rate(hz);
    RECORDING.is_on.store(true, Relaxed);
    spr::mftb_lower()
}

/// Sampling ends; returns the time base.
#[inline(never)]
fn disable() -> u32 {
    RECORDING.is_on.store(false, Relaxed);
    clock::set_sample_rate(0);
    spr::mftb_lower()
}

/// Computes for a millisecond, `loops` times, with interrupts on or off: something known for a recording to find. Without
/// a time base it does nothing.
pub fn bench(loops: u32, is_masked: bool) {
    let ticks = clock::timebase_hz() / 1000;
    for _ in 0..loops {
        if is_masked {
            bench_masked(ticks)
        } else {
            bench_open(ticks)
        }
    }
}

#[inline(never)]
fn bench_open(ticks: u32) {
    let start = spr::mftb_lower();
    while spr::mftb_lower().wrapping_sub(start) < ticks {}
}

#[inline(never)]
fn bench_masked(ticks: u32) {
    spr::without_interrupts(|| {
        let start = spr::mftb_lower();
        while spr::mftb_lower().wrapping_sub(start) < ticks {}
    });
}

/// What the last recording was.
#[derive(Clone, Copy, Debug)]
pub struct Summary {
    /// Samples kept.
    pub samples: u32,
    /// Samples for which there was no room.
    pub lost: u32,
    /// Samples that were held off for more than [`LATE_MICROSECONDS`]: what ran then was not interruptible.
    pub late: u32,
    /// Samples asked for, a second.
    pub hz: u32,
    /// Time base ticks that it lasted.
    pub duration: u32,
    /// Time base ticks that sampling took.
    pub overhead: u32,
}

/// The last recording; `None` if there is none.
pub fn summary() -> Option<Summary> {
    let recording = &RECORDING;
    let hz = recording.hz.load(Relaxed);
    (hz != 0).then(|| Summary {
        samples: recording.used.load(Relaxed),
        lost: recording.lost.load(Relaxed),
        late: recording.late.load(Relaxed),
        hz,
        duration: recording.duration.load(Relaxed),
        overhead: recording.overhead.load(Relaxed),
    })
}

/// The pcs of the last recording, in order.
pub fn samples() -> impl Iterator<Item = u32> {
    let used = RECORDING.used.load(Relaxed) as usize;
    RECORDING.pcs[..used].iter().map(|pc| pc.load(Relaxed))
}

/// Counts around a command.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// User and system time, which are exact, and system calls.
    pub times: Times,
    /// Interrupts of the decrementer.
    pub interrupts: u32,
    /// Refused accesses that had a fixup.
    pub fixups: u32,
    /// TLB misses; `None` where no software sees them.
    pub tlb_misses: Option<TlbMisses>,
    /// User-access windows opened; `None` under a preset that does not count them.
    pub windows: Option<u32>,
}

/// Counts while `f` runs.
pub fn stat<R>(f: impl FnOnce() -> R) -> (R, Counts) {
    let now = || {
        let windows = uaccess::counters().windows_opened();
        (accounting::times(), clock::interrupts(), kernel::fixups(), windows)
    };
    accounting::with_calls_counted(|| {
        let ((result, before, after), tlb_misses) = tlb_misses::count(|| {
            let before = now();
            let result = f();
            (result, before, now())
        });
        let counts = Counts {
            times: after.0.since(&before.0),
            interrupts: after.1.wrapping_sub(before.1),
            fixups: after.2.wrapping_sub(before.2),
            windows: AsChosen::is_enabled().then(|| after.3.wrapping_sub(before.3)),
            tlb_misses,
        };
        (result, counts)
    })
}
