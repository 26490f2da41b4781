//! `/dev/console`: the serial line as a file. Reading gives one edited line at a time, Ctrl-D at its start the end of
//! the file.
#![forbid(unsafe_code)]

use super::{FileOperations, OpenFile};
use crate::console::line::{self, Line};
use crate::errno::Errno;
use crate::policy::General;
use crate::uaccess::{UserRange, copy_from_user, copy_to_user};
use core::cell::Cell;

/// `/dev/console`.
pub static CONSOLE: FileOperations = FileOperations {
    read: Some(read_console),
    write: Some(write_console),
    ..FileOperations::NOTHING
};

/// Reads a line with its line end; a line longer than the range loses its tail, one longer than the
/// editor's buffer is an input error.
fn read_console(_: &OpenFile, range: UserRange, _: &Cell<u64>) -> Result<u32, Errno> {
    if range.is_empty() {
        return Ok(0);
    }
    let mut buffer = [0; line::CAPACITY + 1];
    match crate::console::read_line(&mut buffer[..line::CAPACITY]) {
        Line::Complete(length) => {
            buffer[length] = b'\n';
            let range = range.truncate(length as u32 + 1);
            copy_to_user::<General>(&range, &buffer).count(range.len())
        }
        Line::Interrupted => Err(Errno::EINTR),
        Line::TooLong(_) => Err(Errno::EIO),
        Line::End => Ok(0),
    }
}

/// Prints in portions, so that the window is never open while the device is slow.
fn write_console(_: &OpenFile, range: UserRange, _: &Cell<u64>) -> Result<u32, Errno> {
    let mut rest = range;
    let mut portion = [0; 256];
    while !rest.is_empty() {
        let wanted = rest.len().min(portion.len() as u32);
        let done = wanted - copy_from_user::<General>(&mut portion[..wanted as usize], &rest).bytes();
        crate::console::write_bytes(&portion[..done as usize]);
        rest = rest.advance(done);
        if done < wanted {
            break;
        }
    }
    let moved = range.len() - rest.len();
    if moved == 0 && !range.is_empty() {
        Err(Errno::EFAULT)
    } else {
        Ok(moved)
    }
}
