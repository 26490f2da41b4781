//! zeronull: the user-access core of a kernel, on bare metal.
//!
//! ```text
//!   shell   measure   selftest   lkdtm
//!        syscall   (Linux numbers, Linux errno)
//!        fs        file table, vfs_read/write, fsnotify, zero, null, console
//!        iter      iov_iter
//!        uaccess   access_ok · window (KUAP) · copy/clear/get/put · exception table
//!        mm        address space, page tables, heap          task
//!        arch      ppc (common) + ppc603 | mpc8xx            board   g3beige | mcr3000
//! ```
//!
//! Arrows point down only. Everything above `arch` and `board` is portable and runs its unit tests on the host. Unsafe
//! code is allowed in `arch`, `board`, `mm`, `uaccess::raw`, `uaccess::nofault`, `task`, `user::linux`, `user::calls` and
//! `user::probe`; every other module forbids it.
//!
//! `user` is the other side of the system call: the runtime and the portable logic of the user programs in `src/bin`.
#![no_std]
#![cfg_attr(all(target_arch = "powerpc", feature = "user"), feature(asm_goto_with_outputs))]

extern crate alloc;
#[cfg(test)]
extern crate std;

#[cfg(all(target_os = "none", feature = "board-g3beige", feature = "board-mcr3000"))]
compile_error!("both board features are chosen: choose one of board-g3beige, board-mcr3000");
#[cfg(all(
    target_os = "none",
    feature = "firmware",
    not(any(feature = "board-g3beige", feature = "board-mcr3000"))
))]
compile_error!("no board is chosen: choose one of the features board-g3beige, board-mcr3000");

pub mod addr;
pub mod errno;

#[cfg(any(all(target_os = "none", feature = "firmware"), test))]
pub mod arch;
#[cfg(all(target_os = "none", feature = "firmware"))]
pub mod board;
#[cfg(any(all(target_os = "none", feature = "firmware"), test))]
pub mod console;
#[cfg(any(all(target_os = "none", feature = "board-mcr3000"), test))]
pub mod fdt;
#[cfg(any(all(target_os = "none", feature = "firmware"), test))]
pub mod fs;
#[cfg(any(all(target_os = "none", feature = "firmware"), test))]
pub mod initrd;
#[cfg(any(all(target_os = "none", feature = "firmware"), test))]
pub mod iter;
#[cfg(any(all(target_os = "none", feature = "firmware"), test))]
pub mod json;
#[cfg(all(target_os = "none", feature = "firmware"))]
pub mod kernel;
#[cfg(all(target_os = "none", feature = "firmware"))]
pub mod lkdtm;
#[cfg(any(all(target_os = "none", feature = "firmware"), test))]
pub mod measure;
#[cfg(any(all(target_os = "none", feature = "firmware"), test))]
pub mod mm;
#[cfg(any(all(target_os = "none", feature = "firmware"), test))]
pub mod perf;
#[cfg(any(all(target_os = "none", feature = "firmware"), test))]
pub mod policy;
#[cfg(any(all(target_os = "none", feature = "firmware"), test))]
pub mod selftest;
#[cfg(any(all(target_os = "none", feature = "firmware"), test))]
pub mod shell;
#[cfg(any(all(target_os = "none", feature = "firmware"), test))]
pub mod symbols;
#[cfg(all(target_os = "none", feature = "firmware"))]
pub mod syscall;
#[cfg(all(target_os = "none", feature = "firmware"))]
pub mod task;
#[cfg(any(all(target_os = "none", feature = "firmware"), test))]
pub mod uaccess;
pub mod user;
