//! The far end of a serial line: whoever sits at the terminal. No threads and no wall clock; everything carries the
//! core clock at which it happened or may happen.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// What a line carries, one frame at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symbol {
    /// A character that was framed correctly at the terminal's speed.
    Data(u8),
    /// A frame whose stop bit was missing; the data bits are what was sampled. This is what a wrong baud rate looks
    /// like.
    FramingError(u8),
    /// The line was low for longer than a frame.
    Break,
}

/// A terminal on a serial port of the board.
pub trait Console {
    /// The board has sent `symbol`; it was complete at core clock `at`.
    fn sent(&mut self, at: u64, symbol: Symbol);

    /// Core clock from which the next symbol to the board may start; `None`: nothing is waiting.
    fn arrival(&self) -> Option<u64>;

    /// Takes the symbol that [`Console::arrival`] announced. Called once it has gone over the line.
    fn take(&mut self) -> Option<Symbol>;
}

/// A port with nothing connected.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unconnected;

impl Console for Unconnected {
    fn sent(&mut self, _: u64, _: Symbol) {}

    fn arrival(&self) -> Option<u64> {
        None
    }

    fn take(&mut self) -> Option<Symbol> {
        None
    }
}

#[derive(Debug, Default)]
struct Buffers {
    output: Vec<(u64, Symbol)>,
    input: VecDeque<(u64, Symbol)>,
}

/// A terminal that keeps what it received and sends what it was given. Clones share their buffers, so that one stays
/// with the owner while the other is plugged into the board.
#[derive(Clone, Debug, Default)]
pub struct Terminal(Rc<RefCell<Buffers>>);

impl Terminal {
    /// Queues `bytes`, the first not before core clock `at`. The board must be told by
    /// [`super::Soc::console_changed`].
    pub fn type_bytes(&self, at: u64, bytes: &[u8]) {
        self.0
            .borrow_mut()
            .input
            .extend(bytes.iter().map(|byte| (at, Symbol::Data(*byte))));
    }

    /// Queues any symbol.
    pub fn type_symbol(&self, at: u64, symbol: Symbol) {
        self.0.borrow_mut().input.push_back((at, symbol));
    }

    /// Takes everything received since the last call.
    pub fn take_output(&self) -> Vec<(u64, Symbol)> {
        std::mem::take(&mut self.0.borrow_mut().output)
    }

    /// Takes everything received since the last call as text; frames with errors show as U+FFFD.
    pub fn take_text(&self) -> String {
        let bytes: Vec<u8> = self
            .take_output()
            .into_iter()
            .map(|(_, symbol)| if let Symbol::Data(byte) = symbol { byte } else { 0xFF })
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// How much was received since the last [`Terminal::take_output`].
    pub fn received(&self) -> usize {
        self.0.borrow().output.len()
    }

    /// Symbols that have not yet gone to the board.
    pub fn pending_input(&self) -> usize {
        self.0.borrow().input.len()
    }
}

impl Console for Terminal {
    fn sent(&mut self, at: u64, symbol: Symbol) {
        self.0.borrow_mut().output.push((at, symbol));
    }

    fn arrival(&self) -> Option<u64> {
        self.0.borrow().input.front().map(|(at, _)| *at)
    }

    fn take(&mut self) -> Option<Symbol> {
        self.0.borrow_mut().input.pop_front().map(|(_, symbol)| symbol)
    }
}
