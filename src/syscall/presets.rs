//! The presets: names for policies, and why each exists.
//!
//! Patches of the series that leave the measured path alone share a policy, so that their figures are equal to the cycle;
//! in the mails they were not, and nobody knew why.
#![forbid(unsafe_code)]

use super::read_write::{Calls, calls};
use crate::fs::FileOperations;
use crate::fs::node::Node;
use crate::policy::{
    self, AddressLimit, CopyMcBug, Debug, Fast, FastBytes, FastCheck64, FastLinux, FastNoKuap, FastReadIter, FastSetFs,
    FastWords, FastWriteIter, Linux59, Linux59NoSetFs, LinuxIter, LinuxNoSetFs, LinuxRead, Policy,
};
use crate::uaccess::operations::{self, Operations};
use alloc::vec::Vec;

/// What is compiled for one policy.
pub struct Machinery {
    /// The calls on the measured path.
    pub(super) calls: Calls,
    /// The operations of the devices.
    pub(super) operations: fn(Node) -> &'static FileOperations,
    /// Puts in force what all other calls ask for.
    pub(super) set_chosen: fn(),
    /// The values of the axes, in the order of [`policy::AXES`].
    pub values: [&'static str; policy::AXES.len()],
    /// Whether there is an address limit that `set_fs` changes.
    pub has_set_fs: bool,
    /// User access, for what is compiled once and runs under every preset.
    pub user_access: &'static Operations,
}

impl Machinery {
    /// Addresses of the functions that are compiled for the policy and reached through tables.
    pub fn functions(&self) -> Vec<u32> {
        let calls = self.calls.iter().map(|(_, entry)| *entry as usize as u32);
        let devices = [Node::Zero, Node::Null].map(|node| (self.operations)(node));
        let devices = devices.iter().flat_map(|operations| {
            let by_range = [operations.read, operations.write].map(|function| function.map(|f| f as usize as u32));
            let by_iterator = [
                operations.read_iter.map(|f| f as usize as u32),
                operations.write_iter.map(|f| f as usize as u32),
            ];
            by_range.into_iter().chain(by_iterator).flatten()
        });
        calls.chain(devices).chain(self.user_access.functions()).collect()
    }
}

const fn machinery<P: Policy>() -> Machinery {
    Machinery {
        calls: calls::<P>(),
        operations: Node::operations::<P>,
        set_chosen: policy::set_chosen::<P>,
        values: P::VALUES,
        has_set_fs: <P::Limit as AddressLimit>::HAS_SET_FS,
        user_access: operations::of::<P>(),
    }
}

/// A policy with a name.
pub struct Preset {
    /// Name on the command line and the console.
    pub name: &'static str,
    /// Why it exists.
    pub reason: &'static str,
    /// What it runs. Presets with equal values of all axes share it.
    pub machinery: &'static Machinery,
}

const fn preset<P: Policy>(name: &'static str, reason: &'static str) -> Preset {
    Preset {
        name,
        reason,
        machinery: &const { machinery::<P>() },
    }
}

/// All presets; the first is the default.
pub static PRESETS: [Preset; 24] = [
    preset::<Fast>("fast", "everything tuned"),
    preset::<Debug>("debug", "fast with byte and window counters"),
    preset::<Linux59>("5.9-rc2", "Linux before the series"),
    preset::<LinuxIter>(
        "patch-1",
        "kernel reads and writes need iter ops; null loses its plain write",
    ),
    preset::<LinuxIter>("patch-2", "splice needs explicit ops: not on this path"),
    preset::<LinuxIter>("patch-3", "set_fs() becomes an option, which powerpc still sets"),
    preset::<LinuxIter>("patch-4", "test_bitmap skips its set_fs tests: not on this path"),
    preset::<LinuxIter>("patch-5", "lkdtm expects set_fs tests to fail: not on this path"),
    preset::<LinuxIter>("patch-6", "x86 alone"),
    preset::<LinuxIter>("patch-7", "x86 alone"),
    preset::<LinuxIter>("patch-8", "x86 alone"),
    preset::<LinuxIter>("patch-9", "nofault access without set_fs: not on this path"),
    preset::<LinuxNoSetFs>("patch-10", "no addr_limit: access_ok compares with a constant"),
    preset::<LinuxRead>("patch-11", "/dev/zero has a plain read again"),
    preset::<Linux59NoSetFs>("5.9-no-set_fs", "5.9-rc2 without addr_limit"),
    preset::<FastLinux>("fast-linux", "fast with the layers of the kernel"),
    preset::<FastSetFs>("fast-set_fs", "fast with a per-thread addr_limit"),
    preset::<FastCheck64>("fast-check64", "fast with the 64-bit style of access_ok"),
    preset::<FastReadIter>("fast-read_iter", "fast, /dev/zero with read_iter alone"),
    preset::<FastWriteIter>("fast-write_iter", "fast, /dev/null with write_iter alone"),
    preset::<FastNoKuap>("fast-no-kuap", "fast without the user-access window"),
    preset::<FastWords>("fast-words", "fast, clearing by words"),
    preset::<FastBytes>("fast-bytes", "fast, clearing by bytes"),
    preset::<CopyMcBug>("copy-mc-bug", "fast, machine-check-safe copies without the else"),
];
