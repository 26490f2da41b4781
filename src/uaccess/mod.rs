//! User access: the limit (`access_ok`), the window (KUAP) and the fixup (exception table), behind one safe interface.
//!
//! The only way to user memory:
//! 1. a claim `(address, length)` becomes a [`UserRange`] by [`access_ok`], written once, which never computes
//!    `address + length`;
//! 2. a copy opens the [`window`](crate::arch::window) in one direction around the assembly and nothing else;
//! 3. an access inside it that faults goes on at its fixup, and the [`Residue`] says how many bytes were not done.
//!
//! Promises, each with its test: length 0 succeeds for every address up to the limit and fails above it; `done` never
//! exceeds what moved and is exact to the byte; [`copy_from_user`] zeroes the tail that it could not fill; a user address
//! with the window closed is never fixed up; a kernel address that slipped past the check is reported.
//!
//! [`limit`] is the per-thread `addr_limit`, [`nofault`] reads kernel memory that may not be there.

mod copy;
#[cfg(target_os = "none")]
pub mod copy_mc;
pub mod extable;
mod integer;
pub mod limit;
pub mod nofault;
pub mod operations;
mod range;
mod raw;
mod string;
mod window;

pub use copy::{
    Residue, clear_user, copy_from_user, copy_from_user_checked, copy_to_user, copy_to_user_checked, fault_in_readable,
    fault_in_writeable, raw_copy_from_user,
};
pub use integer::{__get_user, __put_user, UserInt, get_user, load_unaligned_zeropad, put_user};
pub use range::{UserRange, access_ok};
pub use string::{check_zeroed_user, copy_struct_from_user, strncpy_from_user, strnlen_user};
pub use window::{Direction, UserAccess, user_access_begin};

use crate::addr::{KERNEL_BASE, TASK_SIZE};
use crate::arch;
use core::sync::atomic::{AtomicU32, Ordering};

/// Debug counters. Bytes and windows are counted by the policies that do so, the rest always, since it never happens on
/// the measured path.
pub struct Counters {
    cleared: [AtomicU32; 2],
    copied: [AtomicU32; 2],
    opened: AtomicU32,
    nested: AtomicU32,
    leaked: AtomicU32,
    at_interrupt: AtomicU32,
    alignment: AtomicU32,
    kernel_address: AtomicU32,
}

static COUNTERS: Counters = Counters {
    cleared: [const { AtomicU32::new(0) }; 2],
    copied: [const { AtomicU32::new(0) }; 2],
    opened: AtomicU32::new(0),
    nested: AtomicU32::new(0),
    leaked: AtomicU32::new(0),
    at_interrupt: AtomicU32::new(0),
    alignment: AtomicU32::new(0),
    kernel_address: AtomicU32::new(0),
};

/// The debug counters.
pub fn counters() -> &'static Counters {
    &COUNTERS
}

fn bump(counter: &AtomicU32) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

/// Adds to a 64-bit count kept as two words, low first; only thread context counts bytes.
fn add(counter: &[AtomicU32; 2], bytes: u32) {
    let (low, carry) = counter[0].load(Ordering::Relaxed).overflowing_add(bytes);
    counter[0].store(low, Ordering::Relaxed);
    if carry {
        bump(&counter[1]);
    }
}

impl Counters {
    fn cleared(&self, bytes: u32) {
        add(&self.cleared, bytes);
    }

    fn copied(&self, bytes: u32) {
        add(&self.copied, bytes);
    }

    fn opened(&self, already_open: bool) {
        bump(&self.opened);
        if already_open {
            self.nested();
        }
    }

    fn nested(&self) {
        bump(&self.nested);
    }

    /// An interrupt came while the window was open.
    pub fn interrupted(&self) {
        bump(&self.at_interrupt);
    }

    /// Windows opened, as far as they were counted, modulo 2^32.
    pub fn windows_opened(&self) -> u32 {
        self.opened.load(Ordering::Relaxed)
    }

    /// Name and value of each.
    pub fn all(&self) -> [(&'static str, u64); 8] {
        let one = |counter: &AtomicU32| u64::from(counter.load(Ordering::Relaxed));
        let two = |counter: &[AtomicU32; 2]| one(&counter[1]) << 32 | one(&counter[0]);
        [
            ("bytes cleared", two(&self.cleared)),
            ("bytes copied", two(&self.copied)),
            ("windows opened", one(&self.opened)),
            ("windows nested", one(&self.nested)),
            ("windows leaked", one(&self.leaked)),
            ("open at interrupt", one(&self.at_interrupt)),
            ("alignment fixups", one(&self.alignment)),
            ("kernel addresses", one(&self.kernel_address)),
        ]
    }

    /// All back to 0.
    pub fn reset(&self) {
        for pair in [&self.cleared, &self.copied] {
            pair.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        }
        for counter in [
            &self.opened,
            &self.nested,
            &self.leaked,
            &self.at_interrupt,
            &self.alignment,
            &self.kernel_address,
        ] {
            counter.store(0, Ordering::Relaxed);
        }
    }
}

/// Closes a window that something left open, and counts it: called where none can be.
pub fn close_leaked() {
    if arch::window::is_open() {
        bump(&COUNTERS.leaked);
        arch::window::reset();
    }
}

/// A refused access of the kernel.
pub struct Refused {
    /// pc of the access.
    pub nip: u32,
    /// The address, where the hardware gave a valid one.
    pub address: Option<u32>,
    /// The window as the trap entry found it.
    pub window: u32,
    /// Whether it was a store.
    pub store: bool,
}

/// What becomes of a refused access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Go on here.
    Fixup(u32),
    /// Go on here, and report: a user-access routine met a kernel address, which the range check should have refused.
    Report(u32),
    /// Nothing knows this access: a fault of the kernel.
    None,
}

/// Decides by pc, address and window. A user address needs an entry of the user table and the window open over it; a
/// kernel address an entry of the nofault table, or is reported. In between lies what belongs to nobody: a range that
/// [`Check64`](crate::policy::Check64) let through ends there like one that ends in an unmapped page.
pub fn recover(access: &Refused) -> Recovery {
    let is_beyond = access.address.is_some_and(|address| address >= TASK_SIZE);
    if is_beyond && let Some(fixup) = extable::search(raw::nofault_table(), access.nip) {
        return Recovery::Fixup(fixup);
    }
    let Some(fixup) = extable::search(raw::exception_table(), access.nip) else {
        return Recovery::None;
    };
    let is_kernel = access.address.is_some_and(|address| address >= KERNEL_BASE);
    let is_covered = match access.address {
        // What goes beyond the limit came from below it, so the window that counts is the one over the last user address.
        Some(address) => arch::window::covers(access.window, address.min(TASK_SIZE - 1), access.store),
        None => access.window != 0,
    };
    if is_covered && !is_kernel {
        Recovery::Fixup(fixup)
    } else if is_beyond {
        bump(&COUNTERS.kernel_address);
        Recovery::Report(fixup)
    } else {
        Recovery::None
    }
}

/// A bus error of the very access at `nip`: in user memory with the window open over it the copy ends as at any refused
/// access; a probe of kernel memory that may not be there finds nothing. An error in the kernel's own memory is never
/// hidden.
pub fn recover_bus_error(access: &Refused) -> Option<u32> {
    let address = access.address?;
    if address >= TASK_SIZE {
        extable::search(raw::nofault_table(), access.nip)
    } else if arch::window::covers(access.window, address, access.store) {
        extable::search(raw::exception_table(), access.nip)
    } else {
        None
    }
}

/// An alignment exception: a cache-block clear on memory that is not cached, or not by write-back, goes on bytewise.
pub fn recover_alignment(nip: u32) -> Option<u32> {
    let tables = [raw::exception_table(), raw::nofault_table()];
    let fixup = tables.iter().find_map(|table| extable::search(table, nip))?;
    bump(&COUNTERS.alignment);
    Some(fixup)
}
