//! System calls: Linux numbers, argument order and error numbers of 32-bit PowerPC.
//!
//! There is one table; choosing a preset replaces the calls on the measured path in it, which exist once for each policy.
//! The entry code branches through the table, so a call costs the same in every preset but for the policy itself.
//! Source of the numbers: arch/powerpc/kernel/syscalls/syscall.tbl.
#![forbid(unsafe_code)]

mod descriptor;
mod file;
mod memory;
pub mod presets;
mod process;
mod read_write;
mod splice;
mod time;
mod user;

use crate::arch::ppc::{SYSCALL_COUNT, SyscallEntry, restore_syscalls, set_syscall, use_syscalls};
use crate::arch::single::Single;
use crate::errno::Errno;
use crate::fs::FileOperations;
use crate::fs::node::Node;
use crate::policy::{AddressLimit, Policy};
use crate::task;
use crate::task::exec::{self, ExecError};
use crate::uaccess::limit::{self, USER_DS};
use core::cell::Cell;
pub use presets::{PRESETS, Preset};

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

/// The calls that are the same under every preset.
static COMMON: [(usize, SyscallEntry); 45] = [
    (1, process::sys_exit),
    (5, file::sys_open),
    (6, file::sys_close),
    (8, file::sys_creat),
    (10, file::sys_unlink),
    (19, file::sys_lseek),
    (20, process::sys_getpid),
    (41, descriptor::sys_dup),
    (42, descriptor::sys_pipe),
    (43, time::sys_times),
    (45, memory::sys_brk),
    (54, descriptor::sys_ioctl),
    (55, descriptor::sys_fcntl),
    (63, descriptor::sys_dup2),
    (64, process::sys_getppid),
    (75, descriptor::sys_setrlimit),
    (77, time::sys_getrusage),
    (78, time::sys_gettimeofday),
    (90, memory::sys_mmap_bytes),
    (91, memory::sys_munmap),
    (118, file::sys_fsync),
    (122, process::sys_uname),
    (125, memory::sys_mprotect),
    (140, file::sys_llseek),
    (148, file::sys_fsync),
    (167, descriptor::sys_poll),
    (190, descriptor::sys_getrlimit),
    (192, memory::sys_mmap2),
    (193, file::sys_truncate64),
    (194, file::sys_ftruncate64),
    (195, descriptor::sys_stat64),
    (196, descriptor::sys_stat64),
    (197, descriptor::sys_fstat64),
    (204, descriptor::sys_fcntl),
    (226, splice::sys_sendfile64),
    (234, process::sys_exit),
    (246, time::sys_clock_gettime),
    (283, splice::sys_splice),
    (284, splice::sys_tee),
    (285, splice::sys_vmsplice),
    (286, file::sys_openat),
    (291, descriptor::sys_fstatat64),
    (292, file::sys_unlinkat),
    (316, descriptor::sys_dup3),
    (317, descriptor::sys_pipe2),
];

/// Fills the table. To be called once, before any program runs.
pub fn init() {
    for (number, entry) in &COMMON {
        set_syscall(*number, *entry);
    }
    choose(PRESETS[0].name);
}

extern "C" fn sys_interrupted(_: u32, _: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    task::end_by_interrupt()
}

/// In force when Ctrl-C came during a system call: a program that makes long calls is hardly ever found outside them, and
/// this costs nothing as long as nobody types it.
static INTERRUPTED: [SyscallEntry; SYSCALL_COUNT] = [sys_interrupted; SYSCALL_COUNT];

/// Makes the running program's next system call its last.
pub fn interrupt_program() {
    use_syscalls(&INTERRUPTED);
}

static CHOSEN: Single<Cell<usize>> = Single::new(Cell::new(0));

/// The preset in force.
pub fn chosen() -> &'static Preset {
    &PRESETS[CHOSEN.get().get()]
}

/// Puts a preset in force; `None` if there is no such name.
pub fn choose(name: &str) -> Option<&'static Preset> {
    let index = PRESETS.iter().position(|preset| preset.name == name)?;
    CHOSEN.get().set(index);
    let machinery = PRESETS[index].machinery;
    for (number, entry) in &machinery.calls {
        set_syscall(*number, *entry);
    }
    (machinery.set_chosen)();
    Some(&PRESETS[index])
}

/// Runs a program under the preset in force; see [`exec::run`].
///
/// # Errors
/// Why it did not start.
pub fn run_program(name: &'static str, file: &[u8], arguments: &[&str]) -> Result<i32, ExecError> {
    restore_syscalls();
    exec::run(name, file, arguments, Node::Console)
}

/// [`run_program`] without what the program writes to its standard output.
///
/// # Errors
/// Why it did not start.
pub fn run_program_silently(name: &'static str, file: &[u8], arguments: &[&str]) -> Result<i32, ExecError> {
    restore_syscalls();
    exec::run(name, file, arguments, Node::Null)
}

/// The function that answers system call `number` under the preset in force, if it is on the measured path.
pub fn measured_call(number: usize) -> Option<SyscallEntry> {
    let mut calls = chosen().machinery.calls.iter();
    calls.find(|(known, _)| *known == number).map(|(_, entry)| *entry)
}

/// The operations that the preset in force gives a node.
pub fn operations(node: Node) -> &'static FileOperations {
    (chosen().machinery.operations)(node)
}
