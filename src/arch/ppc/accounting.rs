//! Processor time, user and system.
//!
//! Exact: each stretch of user mode adds the time base at its end to user time and subtracts it at its beginning; the
//! system call path does it in assembly, traps do it in Rust. System time is what is left of the whole, so that the two
//! add up. By ticks: each tick gives its whole period to the mode it hits, and a system call path without the additions
//! is in force.

use super::{SyscallPath, TrapFrame, set_syscall_path, spr};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// What the entry code counts, modulo 2^32; every tick carries it to 64 bits.
#[repr(C, align(16))]
pub struct State {
    /// User time in time base ticks; right in kernel mode.
    pub user: AtomicU32,
    /// System calls, while they are counted.
    pub calls: AtomicU32,
}

#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the assembly names it so")]
static accounting_state: State = State {
    user: AtomicU32::new(0),
    calls: AtomicU32::new(0),
};

static EXACT: AtomicBool = AtomicBool::new(false);

/// 64-bit sums as two words each, low first.
static USER: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
static SYSTEM: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
static CALLS: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
/// Time base at the last settlement.
static SETTLED: AtomicU32 = AtomicU32::new(0);

fn add(sum: &[AtomicU32; 2], value: u32) {
    let (low, carry) = sum[0].load(Relaxed).overflowing_add(value);
    sum[0].store(low, Relaxed);
    sum[1].store(sum[1].load(Relaxed).wrapping_add(carry.into()), Relaxed);
}

fn value(sum: &[AtomicU32; 2]) -> u64 {
    u64::from(sum[1].load(Relaxed)) << 32 | u64::from(sum[0].load(Relaxed))
}

/// A trap came from user mode.
pub(super) fn from_user() {
    if EXACT.load(Relaxed) {
        let user = accounting_state.user.load(Relaxed);
        accounting_state
            .user
            .store(user.wrapping_add(spr::mftb_lower()), Relaxed);
    }
}

/// User mode is about to go on or to begin.
pub fn to_user() {
    if EXACT.load(Relaxed) {
        let user = accounting_state.user.load(Relaxed);
        accounting_state
            .user
            .store(user.wrapping_sub(spr::mftb_lower()), Relaxed);
    }
}

/// Whether accounting is exact.
pub fn is_exact() -> bool {
    EXACT.load(Relaxed)
}

unsafe extern "C" {
    static syscall_path_start: u32;
    static syscall_path_end: u32;
}

/// Chooses exact accounting or accounting by ticks; what was counted stays. In kernel mode with no program loaded.
pub fn set_exact(exact: bool) {
    settle();
    set_syscall_path(if exact {
        SyscallPath::Exact
    } else {
        SyscallPath::ByTicks
    });
    EXACT.store(exact, Relaxed);
}

/// Counts system calls while `f` runs, which makes accounting exact for that time; returns what `f` does.
pub fn with_calls_counted<R>(f: impl FnOnce() -> R) -> R {
    let exact = is_exact();
    set_exact(true);
    set_syscall_path(SyscallPath::Counted);
    let result = f();
    set_exact(exact);
    result
}

/// A tick of `period` time base ticks that interrupted `frame`: the whole of it goes to the mode that it hit, where
/// accounting is by ticks; exact sums are carried on, unless the tick hit the few instructions in which the mode and the
/// sum disagree. The next tick does it then.
pub fn tick(frame: &TrapFrame, period: u32) {
    if !EXACT.load(Relaxed) {
        add(if frame.from_user() { &USER } else { &SYSTEM }, period);
        SETTLED.store(spr::mftb_lower(), Relaxed);
        return;
    }
    let entry_code = (&raw const syscall_path_start).addr() as u32..(&raw const syscall_path_end).addr() as u32;
    if frame.from_user() || !entry_code.contains(&frame.nip) {
        settle();
    }
}

/// Carries what the entry code has gathered to the sums. Called in kernel mode, at every tick at least.
fn settle() {
    spr::without_interrupts(|| {
        let now = spr::mftb_lower();
        let elapsed = now.wrapping_sub(SETTLED.swap(now, Relaxed));
        add(&CALLS, accounting_state.calls.swap(0, Relaxed));
        if EXACT.load(Relaxed) {
            let user = accounting_state.user.swap(0, Relaxed);
            add(&USER, user);
            add(&SYSTEM, elapsed.wrapping_sub(user));
        }
    });
}

/// What has been counted since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// User mode, in time base ticks.
    pub user: u64,
    /// Kernel mode, in time base ticks.
    pub system: u64,
    /// System calls, as far as they were counted.
    pub calls: u64,
}

impl Times {
    /// What was counted since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            user: self.user - earlier.user,
            system: self.system - earlier.system,
            calls: self.calls - earlier.calls,
        }
    }
}

/// The sums up to now.
pub fn times() -> Times {
    settle();
    Times {
        user: value(&USER),
        system: value(&SYSTEM),
        calls: value(&CALLS),
    }
}
