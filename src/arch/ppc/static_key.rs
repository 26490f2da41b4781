//! Static branches: a condition that changes rarely costs one `nop` where it is asked, or one branch, because the
//! instruction itself is what changes (include/linux/jump_label.h).
//!
//! Every place that asks emits an entry of `.jump_table`: its address, where to branch, and the key. Switching a key
//! patches all its places through [`mmu::patch_instruction`], which does the cache maintenance that this takes.

use crate::arch::mmu;
use core::sync::atomic::{AtomicBool, Ordering};

/// A condition with a name.
pub struct StaticKey {
    /// Name on the console.
    pub name: &'static str,
    /// What it decides.
    pub help: &'static str,
    enabled: AtomicBool,
}

/// One place that asks, as the assembler emits it.
#[repr(C)]
struct Site {
    code: u32,
    target: u32,
    key: u32,
}

unsafe extern "C" {
    static __jump_table_start: Site;
    static __jump_table_end: Site;
}

/// `ori r0, r0, 0`
const NOP: u32 = 0x6000_0000;

/// `b target` at `code`; the image is much smaller than the 32 MiB that a branch reaches.
fn branch(code: u32, target: u32) -> u32 {
    0x4800_0000 | target.wrapping_sub(code) & 0x03ff_fffc
}

fn sites() -> &'static [Site] {
    let start = &raw const __jump_table_start;
    let count = ((&raw const __jump_table_end).addr() - start.addr()) / size_of::<Site>();
    // SAFETY: link.ld puts whole entries between the two symbols, in read-only memory.
    unsafe { core::slice::from_raw_parts(start, count) }
}

impl StaticKey {
    /// Whether it is on; where speed matters, ask by the function of the key instead.
    pub fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Relaxed)
    }

    /// Places in the code that ask.
    pub fn site_count(&'static self) -> usize {
        self.sites().count()
    }

    fn sites(&'static self) -> impl Iterator<Item = &'static Site> {
        let key = (&raw const *self).addr() as u32;
        sites().iter().filter(move |site| site.key == key)
    }

    /// Switches it, at every place that asks.
    ///
    /// # Panics
    /// A place holds neither of the two instructions: the code is not what was linked.
    pub fn set(&'static self, enabled: bool) {
        for site in self.sites() {
            let (off, on) = (NOP, branch(site.code, site.target));
            // SAFETY: an instruction of the kernel's text, which is always mapped.
            let present = unsafe { core::ptr::without_provenance::<u32>(site.code as usize).read_volatile() };
            assert!(
                present == off || present == on,
                "static branch at {:#010x} holds {present:#010x}",
                site.code
            );
            mmu::patch_instruction(site.code as usize, if enabled { on } else { off });
        }
        self.enabled.store(enabled, Ordering::Relaxed);
    }
}

macro_rules! keys {
    ($($(#[$doc:meta])* $key:ident $name:ident $help:literal;)*) => {
        /// All keys; each starts off.
        pub static KEYS: [&StaticKey; [$(stringify!($name)),*].len()] = [$(&$key),*];

        $(
            $(#[$doc])*
            pub static $key: StaticKey = StaticKey {
                name: stringify!($name),
                help: $help,
                enabled: AtomicBool::new(false),
            };

            $(#[$doc])*
            ///
            /// One instruction: see the module.
            #[inline(always)]
            pub fn $name() -> bool {
                // SAFETY: as written, the instruction does nothing; patched, it goes where the compiler expects that it may.
                unsafe {
                    core::arch::asm!(
                        "9: nop",
                        ".pushsection .jump_table, \"a\"",
                        ".balign 4",
                        ".long 9b, {target}, {key}",
                        ".popsection",
                        target = label { return true },
                        key = sym $key,
                        options(nomem, nostack, preserves_flags),
                    );
                }
                false
            }
        )*
    };
}

keys! {
    /// Whether [`crate::uaccess::copy_mc`] copies by its careful engine.
    COPY_MC_FRAGILE copy_mc_fragile "copy_mc by the careful engine";
}

/// The key with this name.
pub fn find(name: &str) -> Option<&'static StaticKey> {
    KEYS.iter().copied().find(|key| key.name == name)
}
