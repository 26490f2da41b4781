//! Asynchronous frames as wave forms: what a receiver at one speed makes of a sender at another.

use crate::soc::console::Symbol;

/// Parity of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parity {
    /// No parity bit.
    None,
    /// The bit makes the number of ones odd.
    Odd,
    /// The bit makes the number of ones even.
    Even,
}

/// The format of a frame and the length of its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Core clocks per bit, at least 1.
    pub bit_clocks: u64,
    /// Data bits, 1 to 14.
    pub data_bits: u32,
    /// Parity bit.
    pub parity: Parity,
    /// Stop bits, 1 or 2.
    pub stop_bits: u32,
}

impl Framing {
    /// 8N1 at `bit_clocks` core clocks per bit.
    pub fn eight_n_one(bit_clocks: u64) -> Self {
        Self {
            bit_clocks: bit_clocks.max(1),
            data_bits: 8,
            parity: Parity::None,
            stop_bits: 1,
        }
    }

    /// Bits of one frame with start, parity and stop bits.
    pub fn frame_bits(&self) -> u32 {
        1 + self.data_bits + u32::from(self.parity != Parity::None) + self.stop_bits
    }

    /// Core clocks of one frame.
    pub fn frame_clocks(&self) -> u64 {
        self.bit_clocks * u64::from(self.frame_bits())
    }

    fn parity_bit(&self, data: u16) -> bool {
        let odd_ones = data.count_ones() % 2 == 1;
        if self.parity == Parity::Even {
            odd_ones
        } else {
            !odd_ones
        }
    }

    /// The levels of a frame, bit by bit.
    fn levels(&self, data: u16) -> Vec<bool> {
        let mut levels = vec![false];
        levels.extend((0..self.data_bits).map(|bit| data >> bit & 1 == 1));
        if self.parity != Parity::None {
            levels.push(self.parity_bit(data & ((1 << self.data_bits) - 1)));
        }
        levels.extend((0..self.stop_bits).map(|_| true));
        levels
    }
}

/// A frame as sampled by a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampled {
    /// Data bits.
    pub data: u16,
    /// The parity bit was wrong.
    pub parity_error: bool,
    /// The stop bit was low.
    pub framing_error: bool,
    /// Everything up to and including the stop bit was low.
    pub is_break: bool,
}

/// What a receiver with framing `to` samples of one character sent with framing `from`, the line idle before and
/// after. Usually one frame; more when the sender is much slower, none when it is too fast to be seen.
pub fn transfer(data: u16, from: Framing, to: Framing) -> Vec<Sampled> {
    sample(&from.levels(data), from.bit_clocks, to)
}

/// What a receiver with framing `to` samples of a symbol that an 8N1 sender puts on the line.
pub fn transfer_symbol(symbol: Symbol, from: Framing, to: Framing) -> Vec<Sampled> {
    match symbol {
        Symbol::Data(byte) => transfer(u16::from(byte), from, to),
        Symbol::FramingError(byte) => {
            let mut levels = from.levels(u16::from(byte));
            let stop = levels.len() - 1;
            levels[stop] = false;
            sample(&levels, from.bit_clocks, to)
        }
        Symbol::Break => vec![Sampled {
            data: 0,
            parity_error: false,
            framing_error: true,
            is_break: true,
        }],
    }
}

fn sample(levels: &[bool], bit_clocks: u64, to: Framing) -> Vec<Sampled> {
    let end = bit_clocks * levels.len() as u64;
    let level = |at: u64| levels.get((at / bit_clocks) as usize).copied().unwrap_or(true);
    let mut frames = Vec::new();
    let mut at = 0;
    while let Some(start) = next_low(&level, at, end, bit_clocks) {
        let bit = |index: u32| level(start + (2 * u64::from(index) + 1) * to.bit_clocks / 2);
        if bit(0) {
            // Shorter than half a bit: a receiver takes it for noise.
            at = start + to.bit_clocks / 2;
            continue;
        }
        let data = (0..to.data_bits).fold(0, |data, index| data | u16::from(bit(1 + index)) << index);
        let mut index = 1 + to.data_bits;
        let mut parity_error = false;
        if to.parity != Parity::None {
            parity_error = bit(index) != to.parity_bit(data);
            index += 1;
        }
        let framing_error = !bit(index);
        frames.push(Sampled {
            data,
            parity_error,
            framing_error,
            is_break: framing_error && data == 0,
        });
        at = start + (2 * u64::from(index) + 1) * to.bit_clocks / 2;
        if framing_error {
            // The receiver looks for the next falling edge, so the line must have gone high first.
            while at < end && !level(at) {
                at += bit_clocks - at % bit_clocks;
            }
        }
    }
    frames
}

/// The first instant from `at` at which the line is low.
fn next_low(level: &impl Fn(u64) -> bool, mut at: u64, end: u64, bit_clocks: u64) -> Option<u64> {
    while at < end {
        if !level(at) {
            return Some(at);
        }
        at += bit_clocks - at % bit_clocks;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_speed_returns_every_character() {
        let line = Framing::eight_n_one(1146);
        for data in 0..=255 {
            let expected = Sampled {
                data,
                parity_error: false,
                framing_error: false,
                is_break: false,
            };
            assert_eq!(transfer(data, line, line), [expected], "character {data:#x}");
        }
    }

    #[test]
    fn two_percent_off_is_still_read() {
        let (slow, nominal) = (Framing::eight_n_one(1170), Framing::eight_n_one(1146));
        assert!((0..=255).all(|data| transfer(data, slow, nominal).iter().all(|frame| frame.data == data)));
    }

    #[test]
    fn double_speed_garbles() {
        let (fast, nominal) = (Framing::eight_n_one(573), Framing::eight_n_one(1146));
        let intact =
            (0..=255u16).filter(|data| matches!(transfer(*data, fast, nominal)[..], [frame] if frame.data == *data));
        assert!(intact.count() < 8);
    }

    #[test]
    fn quarter_speed_gives_several_frames() {
        let (slow, nominal) = (Framing::eight_n_one(4584), Framing::eight_n_one(1146));
        assert!(transfer(0x55, slow, nominal).len() > 1);
    }

    #[test]
    fn wrong_parity_is_reported() {
        let odd = Framing {
            parity: Parity::Odd,
            ..Framing::eight_n_one(100)
        };
        let even = Framing {
            parity: Parity::Even,
            ..odd
        };
        assert!(transfer(0x41, odd, even)[0].parity_error);
        assert!(!transfer(0x41, odd, odd)[0].parity_error);
    }

    #[test]
    fn missing_stop_bit_is_a_framing_error() {
        let line = Framing::eight_n_one(100);
        let frames = transfer_symbol(Symbol::FramingError(0x41), line, line);
        assert_eq!(
            frames,
            [Sampled {
                data: 0x41,
                parity_error: false,
                framing_error: true,
                is_break: false
            }]
        );
    }
}
