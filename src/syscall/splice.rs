//! splice, tee, vmsplice, sendfile64.
#![forbid(unsafe_code)]

use super::{enter, result};
use crate::addr::UserAddr;
use crate::errno::Errno;
use crate::fs::pipe;
use crate::fs::splice::{self, End, check_flags};
use crate::iter::{IovecArray, import_iovec};
use crate::policy::General;
use crate::task;
use core::cell::Cell;

pub(super) extern "C" fn sys_splice(
    input: u32,
    input_offset: u32,
    output: u32,
    output_offset: u32,
    count: u32,
    flags: u32,
) -> i32 {
    enter::<General>();
    let files = &task::current().files;
    let move_bytes = || {
        if count == 0 {
            return Ok(0);
        }
        check_flags(flags)?;
        let end = |fd, offset| files.fdget(fd).map(|file| End { file, offset });
        splice::do_splice(end(input, input_offset)?, end(output, output_offset)?, count, flags)
    };
    result(move_bytes())
}

pub(super) extern "C" fn sys_tee(input: u32, output: u32, count: u32, flags: u32, _: u32, _: u32) -> i32 {
    let files = &task::current().files;
    let copy = || {
        check_flags(flags)?;
        if count == 0 {
            return Ok(0);
        }
        splice::do_tee(files.fdget(input)?, files.fdget(output)?, count, flags)
    };
    result(copy())
}

pub(super) extern "C" fn sys_vmsplice(fd: u32, vector: u32, count: u32, flags: u32, _: u32, _: u32) -> i32 {
    enter::<General>();
    let move_bytes = || {
        check_flags(flags)?;
        let file = task::current().files.fdget(fd)?;
        if !file.may_read() && !file.may_write() {
            return Err(Errno::EBADF);
        }
        let mut array = IovecArray::default();
        import_iovec::<General>(&mut array, UserAddr::new(vector), count)?;
        if array.iter::<crate::iter::Source>().count() == 0 {
            return Ok(0);
        }
        let pipe = pipe::of(file).ok_or(Errno::EBADF)?;
        let is_nonblocking = flags & splice::NONBLOCK != 0 || file.is_nonblocking();
        if file.may_write() {
            splice::vmsplice_to_pipe(pipe, array.segments(), is_nonblocking)
        } else {
            splice::vmsplice_to_user(pipe, array.segments(), is_nonblocking)
        }
    };
    result(move_bytes())
}

/// An offset at a user address stands for the position of the input and is written back.
pub(super) extern "C" fn sys_sendfile64(output: u32, input: u32, offset: u32, count: u32, _: u32, _: u32) -> i32 {
    enter::<General>();
    let files = &task::current().files;
    let send = || {
        let given = if offset == 0 {
            None
        } else {
            Some(splice::read_offset(offset)?)
        };
        let file = files.fdget(input);
        let start = match (given, &file) {
            (Some(given), _) => given,
            (None, Ok(file)) => file.position().get(),
            (None, Err(_)) => 0,
        };
        let position = Cell::new(start);
        let send = || splice::do_sendfile(file?, files.fdget(output), &position, given.is_some(), count);
        let sent = send();
        if given.is_some() {
            splice::write_offset(offset, position.get())?;
        } else if sent.is_ok()
            && let Ok(file) = file
        {
            file.position().set(position.get());
        }
        sent
    };
    result(send())
}
