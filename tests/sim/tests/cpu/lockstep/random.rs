//! A small generator of pseudo-random numbers, so that a seed names a program for ever.

/// Xorshift with a multiplier.
pub struct Random(u64);

impl Random {
    /// A generator for this seed.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// The next 32 bits.
    pub fn word(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) as u32
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u32) -> u32 {
        ((u64::from(self.word()) * u64::from(limit)) >> 32) as u32
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u32) as usize]
    }

    /// An operand, mostly one at which arithmetic changes its mind.
    pub fn operand(&mut self) -> u32 {
        match self.below(8) {
            0 => self.pick(&[0, 1, u32::MAX, 0x8000_0000, 0x7FFF_FFFF, 0x8000_0001, 0xFFFF_FFFE]),
            1 => self.pick(&[
                0x7F,
                0x80,
                0xFF,
                0x100,
                0x7FFF,
                0x8000,
                0xFFFF,
                0x1_0000,
                0xFFFF_8000,
                0xFFFF_FF80,
            ]),
            2 => 1 << self.below(32),
            3 => u32::MAX << self.below(32),
            4 => self.below(64),
            5 => self.below(64).wrapping_neg(),
            _ => self.word(),
        }
    }
}
