//! The console of host tests: output is kept, input is at its end.

use super::line::Line;
use std::cell::RefCell;
use std::vec::Vec;

std::thread_local! {
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Keeps the bytes.
pub fn write_bytes(bytes: &[u8]) {
    OUTPUT.with_borrow_mut(|output| output.extend(bytes));
}

/// What was written since the last call.
pub fn take_output() -> Vec<u8> {
    OUTPUT.take()
}

/// There is no input.
pub fn read_line(_: &mut [u8]) -> Line {
    Line::End
}

/// Prints to the console that keeps its output.
#[macro_export]
macro_rules! println {
    ($($arguments:tt)*) => {{
        $crate::console::write_bytes(std::format!($($arguments)*).as_bytes());
        $crate::console::write_bytes(b"\n");
    }};
}
