//! System calls: Linux numbers, argument order and error numbers of 32-bit PowerPC.
//!
//! Each preset has a table of its own, compiled for its policy; the entry code loads the table's address on every call
//! and branches through it, so a call costs the same in every preset but for the policy itself.
//! Source of the numbers: arch/powerpc/kernel/syscalls/syscall.tbl.
#![forbid(unsafe_code)]

mod file;
mod memory;
mod process;
mod time;

use crate::arch::ppc::{SYSCALL_COUNT, SyscallEntry, set_syscall_table};
use crate::arch::single::Single;
use crate::errno::Errno;
use crate::policy::{
    AddressLimit, CopyMcBug, Debug, Fast, FastBytes, FastCheck64, FastNoKuap, FastSetFs, FastWords, Policy,
};
use crate::task;
use crate::task::exec::{self, ExecError};
use crate::uaccess::limit::{self, USER_DS};
use core::cell::Cell;

type Table = [SyscallEntry; SYSCALL_COUNT];

/// What a system call leaves in r3: a count, or a negative error number.
#[inline(always)]
fn result(result: Result<u32, Errno>) -> i32 {
    match result {
        Ok(value) => value as i32,
        Err(error) => -(error.raw() as i32),
    }
}

/// Kernel entry under a policy with `set_fs`: whatever limit was left, the call starts with the user limit. Policies
/// without it have nothing to do.
#[inline(always)]
fn enter<P: Policy>() {
    if P::Limit::HAS_SET_FS {
        limit::set_fs(USER_DS);
    }
}

extern "C" fn sys_ni_syscall(_: u32, _: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    result(Err(Errno::ENOSYS))
}

const fn table<P: Policy>() -> Table {
    let mut table: Table = [sys_ni_syscall; SYSCALL_COUNT];
    table[1] = process::sys_exit;
    table[3] = file::sys_read::<P>;
    table[4] = file::sys_write::<P>;
    table[5] = file::sys_open::<P>;
    table[6] = file::sys_close;
    table[19] = file::sys_lseek;
    table[20] = process::sys_getpid;
    table[43] = time::sys_times::<P>;
    table[45] = memory::sys_brk;
    table[63] = file::sys_dup2;
    table[64] = process::sys_getppid;
    table[78] = time::sys_gettimeofday::<P>;
    table[90] = memory::sys_mmap_bytes;
    table[91] = memory::sys_munmap;
    table[122] = process::sys_uname::<P>;
    table[125] = memory::sys_mprotect;
    table[140] = file::sys_llseek::<P>;
    table[145] = file::sys_readv::<P>;
    table[146] = file::sys_writev::<P>;
    table[179] = file::sys_pread64::<P>;
    table[192] = memory::sys_mmap2;
    table[234] = process::sys_exit;
    table[246] = time::sys_clock_gettime::<P>;
    table[286] = file::sys_openat::<P>;
    table
}

extern "C" fn sys_interrupted(_: u32, _: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    task::end_by_interrupt()
}

/// In force when Ctrl-C came during a system call: a program that makes long calls is hardly ever found outside them, and
/// this costs nothing as long as nobody types it.
static INTERRUPTED: Table = [sys_interrupted; SYSCALL_COUNT];

/// Makes the running program's next system call its last.
pub fn interrupt_program() {
    set_syscall_table(&INTERRUPTED);
}

type RunProgram = fn(&'static str, &[u8], &[&str]) -> Result<i32, ExecError>;

/// A policy with its table.
pub struct Preset {
    /// Name on the command line and the console.
    pub name: &'static str,
    /// Why it exists.
    pub reason: &'static str,
    /// The values of its axes.
    pub axes: [&'static str; 6],
    /// Whether it has an address limit that `set_fs` changes.
    pub has_set_fs: bool,
    table: &'static Table,
    run: RunProgram,
}

const fn preset<P: Policy>() -> Preset {
    Preset {
        name: P::NAME,
        reason: P::REASON,
        axes: P::AXES,
        has_set_fs: <P::Limit as AddressLimit>::HAS_SET_FS,
        table: &const { table::<P>() },
        run: exec::run::<P>,
    }
}

/// All presets; the first is the default.
pub static PRESETS: [Preset; 8] = [
    preset::<Fast>(),
    preset::<Debug>(),
    preset::<FastSetFs>(),
    preset::<FastCheck64>(),
    preset::<FastNoKuap>(),
    preset::<FastWords>(),
    preset::<FastBytes>(),
    preset::<CopyMcBug>(),
];

static CHOSEN: Single<Cell<usize>> = Single::new(Cell::new(0));

/// The preset in force.
pub fn chosen() -> &'static Preset {
    &PRESETS[CHOSEN.get().get()]
}

/// Puts a preset in force; `None` if there is no such name.
pub fn choose(name: &str) -> Option<&'static Preset> {
    let index = PRESETS.iter().position(|preset| preset.name == name)?;
    CHOSEN.get().set(index);
    set_syscall_table(PRESETS[index].table);
    Some(&PRESETS[index])
}

/// Runs a program under the preset in force; see [`exec::run`].
///
/// # Errors
/// Why it did not start.
pub fn run_program(name: &'static str, file: &[u8], arguments: &[&str]) -> Result<i32, ExecError> {
    set_syscall_table(chosen().table);
    (chosen().run)(name, file, arguments)
}
