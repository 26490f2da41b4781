//! The console device: output for everyone, a ring of input bytes.
//!
//! Output lines end in CR LF, made here from the LF that everyone writes. Input is polled: by whoever waits for it, and by
//! the tick, so that Ctrl-C reaches a program that does not read.

use super::line::{Echo, Editor, Line};
use crate::arch::ppc::spr::without_interrupts;
use crate::arch::single::Single;
use crate::board;
use crate::measure::clock;
use core::cell::{Cell, RefCell};
use core::fmt;

/// Ctrl-C.
pub const INTERRUPT: u8 = 0x03;
/// Ctrl-U.
const CLEAR_LINE: u8 = 0x15;

const RING: usize = 256;

struct Input {
    bytes: [Cell<u8>; RING],
    head: Cell<usize>,
    used: Cell<usize>,
    lost: Cell<u32>,
    /// Whether bytes were lost behind those in the ring.
    is_broken: Cell<bool>,
    /// Whether Ctrl-C came and nobody has acted on it.
    is_interrupted: Cell<bool>,
    /// Whether somebody waits for input and empties the ring.
    is_read: Cell<bool>,
}

// SAFETY: one core, and every access is inside `without_interrupts`.
unsafe impl Sync for Input {}

static INPUT: Input = Input {
    bytes: [const { Cell::new(0) }; RING],
    head: Cell::new(0),
    used: Cell::new(0),
    lost: Cell::new(0),
    is_broken: Cell::new(false),
    is_interrupted: Cell::new(false),
    is_read: Cell::new(false),
};

/// Moves received bytes from the device to the ring. Ctrl-C is not stored but noted, and throws away what was typed
/// before it.
///
/// Bytes that find the ring full wait in the device as long as somebody empties the ring; else they are lost, so that a
/// Ctrl-C behind them is seen.
pub fn poll() {
    without_interrupts(|| {
        while INPUT.used.get() < RING || !INPUT.is_read.get() {
            let Some(byte) = board::console_get() else { return };
            if byte == INTERRUPT {
                INPUT.is_interrupted.set(true);
                INPUT.used.set(0);
                INPUT.is_broken.set(false);
            } else if INPUT.used.get() < RING {
                let slot = (INPUT.head.get() + INPUT.used.get()) % RING;
                INPUT.bytes[slot].set(byte);
                INPUT.used.set(INPUT.used.get() + 1);
            } else {
                INPUT.lost.set(INPUT.lost.get() + 1);
                INPUT.is_broken.set(true);
            }
        }
    });
}

/// Whether Ctrl-C came and nobody has acted on it.
pub fn is_interrupted() -> bool {
    without_interrupts(|| INPUT.is_interrupted.get())
}

/// The same, and whoever asks acts on it.
pub fn take_interrupt() -> bool {
    without_interrupts(|| INPUT.is_interrupted.take())
}

/// The next byte of input. Waits for it. Where bytes were lost comes [`CLEAR_LINE`]: what is left of the line is not what
/// was typed, and the next line must not be taken for its end.
fn read_byte() -> u8 {
    loop {
        poll();
        if take_interrupt() {
            return INTERRUPT;
        }
        let byte = without_interrupts(|| {
            if INPUT.used.get() == 0 {
                return INPUT.is_broken.take().then_some(CLEAR_LINE);
            }
            let byte = INPUT.bytes[INPUT.head.get()].get();
            INPUT.head.set((INPUT.head.get() + 1) % RING);
            INPUT.used.set(INPUT.used.get() - 1);
            Some(byte)
        });
        if let Some(byte) = byte {
            return byte;
        }
    }
}

static EDITOR: Single<RefCell<Editor>> = Single::new(RefCell::new(Editor::new()));

/// Reads a line with echo; see [`Line`].
pub fn read_line(line: &mut [u8]) -> Line {
    let mut editor = EDITOR.get().borrow_mut();
    without_interrupts(|| INPUT.is_read.set(true));
    loop {
        let byte = read_byte();
        let now = clock::now();
        let now = u64::from(now.seconds) * 1000 + u64::from(now.nanoseconds / 1_000_000);
        let (echo, done) = editor.feed(line, byte, now);
        match echo {
            Echo::Nothing => {}
            Echo::Byte(byte) => write_bytes(&[byte]),
            Echo::Erase(count) => (0..count).for_each(|_| write_bytes(b"\x08 \x08")),
        }
        if let Some(done) = done {
            without_interrupts(|| INPUT.is_read.set(false));
            write_bytes(if done == Line::Interrupted { b"^C\n" } else { b"\n" });
            return done;
        }
    }
}

/// Input bytes lost because nobody read them in time.
pub fn lost_input() -> u32 {
    without_interrupts(|| INPUT.lost.get())
}

/// Writes bytes, LF as CR LF.
pub fn write_bytes(bytes: &[u8]) {
    for byte in bytes {
        if *byte == b'\n' {
            board::console_put(b'\r');
        }
        board::console_put(*byte);
    }
}

/// The console as a formatter's target.
pub struct Console;

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        write_bytes(text.as_bytes());
        Ok(())
    }
}

/// Prints to the console, without a line end.
#[macro_export]
macro_rules! print {
    ($($arguments:tt)*) => {{
        use core::fmt::Write as _;
        // Writing to the console cannot fail.
        let _ = write!($crate::console::Console, $($arguments)*);
    }};
}

/// Prints a line to the console.
#[macro_export]
macro_rules! println {
    () => { $crate::print!("\n") };
    ($($arguments:tt)*) => { $crate::print!("{}\n", format_args!($($arguments)*)) };
}
