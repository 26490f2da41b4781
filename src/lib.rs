//! zeronull: the user-access core of a kernel, on bare metal.
//!
//! ```text
//!   shell   measure   selftest
//!        syscall   (Linux numbers, Linux errno)
//!        fs        file table, vfs_read/write, zero, null, console
//!        uaccess   access_ok · window (KUAP) · copy/clear/get/put · exception table
//!        mm        address space, page tables, heap          task
//!        arch      ppc (common) + ppc603 | mpc8xx            board   g3beige | mcr3000
//! ```
//!
//! Arrows point down only. Everything above `arch` and `board` is portable and runs its unit tests on the host. Unsafe
//! code is allowed in `arch`, `board`, `mm`, `uaccess::raw`, `task`, `user::linux` and `user::probe`; every other
//! module forbids it.
//!
//! `user` is the other side of the system call: the runtime and the portable logic of the user programs in `src/bin`.
#![no_std]

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

#[cfg(any(feature = "firmware", not(target_os = "none")))]
pub mod arch;
#[cfg(all(target_os = "none", feature = "firmware"))]
pub mod board;
#[cfg(all(target_os = "none", feature = "firmware"))]
pub mod mm;
pub mod user;
