//! Copies from memory that may hold uncorrectable errors (`copy_mc_to_user`, `copy_mc_to_kernel`; lib/iov_iter.c,
//! arch/x86/lib/copy_mc.c).
//!
//! Two engines: *fragile* reads word by word, each load finished before the next begins, for machines on which a lost
//! word is survivable only that way; *generic* is the fast copy with fixups. A static branch chooses between them.
//!
//! Residues are exact to the byte where the lost byte is known, as for the poison list of `/dev/pmem0`. A machine check
//! that names only the access (the word, or the cache line that was being filled for it) makes the copy stop at that
//! word: up to 3 good bytes before the lost one, or up to a line, count as not copied; a lost byte never counts as copied.
//! One call meets one machine check at most: nothing goes back to what failed.
#![forbid(unsafe_code)]

use super::window::{Direction, Window};
use super::{UserRange, extable, raw};
use crate::arch::ppc::static_key;
use crate::arch::single::Single;
use crate::errno::Errno;
use crate::mm::pmem;
use crate::policy::{CopyMachineCheck, Policy};
use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering};

/// Kernel memory that may hold errors: only copies of this module load from it, so no Rust reference to it exists.
#[derive(Clone, Copy, Debug)]
pub struct McSource {
    start: u32,
    length: u32,
}

impl McSource {
    /// Up to `length` bytes of the device memory behind `/dev/pmem0`, from `offset` on.
    pub fn pmem(offset: u32, length: u32) -> Self {
        let addresses = pmem::addresses(offset, length);
        Self {
            start: addresses.start,
            length: addresses.end - addresses.start,
        }
    }

    /// First address.
    pub fn start(&self) -> u32 {
        self.start
    }

    /// Length in bytes.
    pub fn len(&self) -> u32 {
        self.length
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The first `length` bytes, or all of it.
    pub fn truncate(&self, length: u32) -> Self {
        Self {
            length: self.length.min(length),
            ..*self
        }
    }
}

/// How a copy ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "ignoring the residue claims bytes that were never moved"]
pub struct McResidue {
    residue: u32,
    is_lost: bool,
}

impl McResidue {
    /// Bytes that were not copied.
    pub fn bytes(self) -> u32 {
        self.residue
    }

    /// Whether the first byte that was not copied is one that memory has lost; otherwise the target refused it.
    pub fn is_lost(self) -> bool {
        self.is_lost
    }

    /// What a system call answers for a transfer of `length` bytes: the bytes moved, or why there are none.
    ///
    /// # Errors
    /// `EIO` for lost memory, `EFAULT` for a target that cannot be written.
    pub fn count(self, length: u32) -> Result<u32, Errno> {
        match self.residue {
            residue if residue == 0 || residue < length => Ok(length - residue),
            _ if self.is_lost => Err(Errno::EIO),
            _ => Err(Errno::EFAULT),
        }
    }
}

/// What the engines did since the last reset. A pass is one run of one engine.
pub struct Passes {
    fragile: Cell<u64>,
    generic: Cell<u64>,
    bytes: Cell<u64>,
}

static PASSES: Single<Passes> = Single::new(Passes {
    fragile: Cell::new(0),
    generic: Cell::new(0),
    bytes: Cell::new(0),
});

/// Machine checks that copies recovered from. The handler counts.
static RECOVERED: AtomicU32 = AtomicU32::new(0);

/// Passes of the fragile and the generic engine, bytes that they moved, machine checks that they recovered from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Runs of the careful engine.
    pub fragile: u64,
    /// Runs of the fast engine.
    pub generic: u64,
    /// Bytes moved by both.
    pub bytes: u64,
    /// Machine checks.
    pub machine_checks: u32,
}

/// The counts since the last [`reset_counts`].
pub fn counts() -> Counts {
    let passes = PASSES.get();
    Counts {
        fragile: passes.fragile.get(),
        generic: passes.generic.get(),
        bytes: passes.bytes.get(),
        machine_checks: RECOVERED.load(Ordering::Relaxed),
    }
}

/// All counts back to 0.
pub fn reset_counts() {
    let passes = PASSES.get();
    for cell in [&passes.fragile, &passes.generic, &passes.bytes] {
        cell.set(0);
    }
    RECOVERED.store(0, Ordering::Relaxed);
}

/// Where execution goes on after a machine check at `nip`, if it has an entry of the machine-check kind. A copy that is
/// told so counts the event.
pub fn recover(nip: u32) -> Option<u32> {
    let fixup = extable::search(raw::machine_check_table(), nip)?;
    RECOVERED.store(RECOVERED.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    Some(fixup)
}

type Ended = (u32, u32);

/// The routines behind a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// `copy_mc_fragile`.
    Fragile,
    /// `copy_mc_generic`.
    Generic,
}

/// Has `run` copy `length` bytes by the engine that the static branch chooses.
#[inline(always)]
fn choose<P: Policy>(length: u32, mut run: impl FnMut(Engine) -> Ended) -> Ended {
    let passes = PASSES.get();
    let mut pass = |engine, count: &Cell<u64>| {
        let ended = run(engine);
        count.set(count.get() + 1);
        passes.bytes.set(passes.bytes.get() + u64::from(length - ended.0));
        ended
    };
    if static_key::copy_mc_fragile() {
        let ended = pass(Engine::Fragile, &passes.fragile);
        if !P::CopyMc::IS_ELSE_MISSING {
            return ended;
        }
    }
    pass(Engine::Generic, &passes.generic)
}

fn ended(source: &McSource, (residue, lost): Ended) -> McResidue {
    McResidue {
        residue,
        is_lost: residue != 0 && lost == source.start.wrapping_add(source.length - residue),
    }
}

/// One engine alone, without the choice and without counters: what an isolated benchmark measures.
pub fn copy_by_engine<P: Policy>(engine: Engine, range: &UserRange, source: &McSource) -> McResidue {
    let source = source.truncate(range.len());
    let range = range.truncate(source.len());
    let open = Window::<P>::open(&range, Direction::Write);
    let result = match engine {
        Engine::Fragile => raw::copy_mc_fragile_to_user(open.start(), &source),
        Engine::Generic => raw::copy_mc_generic_to_user(open.start(), &source),
    };
    drop(open);
    ended(&source, result)
}

/// Copies `source` to the start of `range`; the shorter of the two sets the length.
#[inline(always)]
pub fn copy_mc_to_user<P: Policy>(range: &UserRange, source: &McSource) -> McResidue {
    let source = source.truncate(range.len());
    let range = range.truncate(source.len());
    if range.is_empty() {
        return ended(&source, (0, 0));
    }
    let open = Window::<P>::open(&range, Direction::Write);
    let result = choose::<P>(source.len(), |engine| match engine {
        Engine::Fragile => raw::copy_mc_fragile_to_user(open.start(), &source),
        Engine::Generic => raw::copy_mc_generic_to_user(open.start(), &source),
    });
    drop(open);
    ended(&source, result)
}

/// Copies `source` to `target`; the shorter of the two sets the length. Bytes of the target that were not copied keep
/// their values.
pub fn copy_mc_to_kernel<P: Policy>(target: &mut [u8], source: &McSource) -> McResidue {
    let source = source.truncate(u32::try_from(target.len()).unwrap_or(u32::MAX));
    if source.is_empty() {
        return ended(&source, (0, 0));
    }
    let result = choose::<P>(source.len(), |engine| match engine {
        Engine::Fragile => raw::copy_mc_fragile_to_kernel(target, &source),
        Engine::Generic => raw::copy_mc_generic_to_kernel(target, &source),
    });
    ended(&source, result)
}
