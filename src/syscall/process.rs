//! exit, getpid, getppid, uname.
#![forbid(unsafe_code)]

use super::{enter, result};
use crate::addr::UserAddr;
use crate::errno::Errno;
use crate::policy::General;
use crate::task;
use crate::uaccess::{access_ok, copy_to_user};

/// The program's process number, and its parent's, the shell.
const PID: i32 = 2;
const PARENT: i32 = 1;

pub(super) extern "C" fn sys_exit(status: u32, _: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    task::exit(status as i32 & 0xff)
}

pub(super) extern "C" fn sys_getpid(_: u32, _: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    PID
}

pub(super) extern "C" fn sys_getppid(_: u32, _: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    PARENT
}

/// `struct new_utsname`: six fields of 65 bytes.
pub(super) extern "C" fn sys_uname(buffer: u32, _: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    enter::<General>();
    const FIELD: usize = 65;
    let fields = [
        "zeronull",
        crate::board::NAME,
        env!("CARGO_PKG_VERSION"),
        "#1",
        "ppc",
        "(none)",
    ];
    let mut image = [0u8; 6 * FIELD];
    for (slot, text) in image.chunks_mut(FIELD).zip(fields) {
        slot[..text.len()].copy_from_slice(text.as_bytes());
    }
    let write = || {
        let range = access_ok::<General>(UserAddr::new(buffer), image.len() as u32)?;
        if copy_to_user::<General>(&range, &image).is_done() {
            Ok(0)
        } else {
            Err(Errno::EFAULT)
        }
    };
    result(write())
}
