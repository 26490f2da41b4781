//! The CPM interrupt controller. Sources: U-Boot `interrupts.c`, Linux `platforms/8xx/cpm1.c`,
//! MPC860 User's Manual ch. 34.

const CICR_IRL_SHIFT: u32 = 13;
const CICR_HP_SHIFT: u32 = 8;
const CICR_IEN: u32 = 0x80;
/// CIVR\[IACK\].
const CIVR_IACK: u32 = 1;

/// Vectors of the sources that this simulator raises.
pub mod vector {
    /// SDMA bus error.
    pub const SDMA_ERROR: u8 = 0x16;
    /// SMC1.
    pub const SMC1: u8 = 0x04;
    /// SMC2.
    pub const SMC2: u8 = 0x03;
}

/// SCC1 to SCC4, the sources whose order CICR programs.
const SCC_VECTORS: [u8; 4] = [0x1E, 0x1D, 0x1C, 0x1B];

/// CICR, CIPR, CIMR, CISR, CIVR.
#[derive(Clone, Debug, Default)]
pub struct Cpic {
    cicr: u32,
    latched: u32,
    /// Sources with an event register: pending while an unmasked event stands.
    following: u32,
    cimr: u32,
    cisr: u32,
    vector: u8,
}

impl Cpic {
    /// A source with an event register has (or no longer has) an unmasked event.
    pub fn follow(&mut self, vector: u8, active: bool) {
        let bit = 1 << vector;
        self.following = if active {
            self.following | bit
        } else {
            self.following & !bit
        };
    }

    /// The level of the SIU that is active, bit 7-k for level k; 0 when none.
    pub fn level(&self) -> u8 {
        if self.cicr & CICR_IEN != 0 && self.candidate().is_some() {
            0x80 >> ((self.cicr >> CICR_IRL_SHIFT) & 7)
        } else {
            0
        }
    }

    fn cipr(&self) -> u32 {
        self.latched | self.following
    }

    /// The place of a source in the order of priority, 0 the highest.
    fn rank(&self, vector: u8) -> u32 {
        if u32::from(vector) == (self.cicr >> CICR_HP_SHIFT) & 0x1F {
            return 0;
        }
        // SCaP is the highest of the four SCC places; each two-bit field names the SCC that stands there.
        let place = (0..4).find(|place| SCC_VECTORS[((self.cicr >> (16 + 2 * place)) & 3) as usize] == vector);
        match place {
            Some(place) => 1 + 0x1F - u32::from(SCC_VECTORS[place as usize]),
            None => 1 + 0x1F - u32::from(vector),
        }
    }

    /// The source to be served now: pending, unmasked, and above everything in service.
    fn candidate(&self) -> Option<u8> {
        let best = |set: u32| {
            (0..32)
                .filter(|vector| set & (1 << vector) != 0)
                .min_by_key(|vector| self.rank(*vector))
        };
        let pending = best(self.cipr() & self.cimr)?;
        match best(self.cisr) {
            Some(serving) if self.rank(serving) <= self.rank(pending) => None,
            _ => Some(pending),
        }
    }

    /// Reads the register at `offset` from IMMR. `None`: no register of this block.
    pub fn read(&self, offset: u32) -> Option<u32> {
        Some(match offset {
            0x930 => u32::from(self.vector) << 11,
            0x940 => self.cicr,
            0x944 => self.cipr(),
            0x948 => self.cimr,
            0x94C => self.cisr,
            _ => return None,
        })
    }

    /// Writes the bits of `mask` in the register at `offset`. Returns whether there is such a register.
    pub fn write(&mut self, offset: u32, value: u32, mask: u32) -> bool {
        let merge = |old: u32| (old & !mask) | (value & mask);
        match offset {
            0x930 if value & mask & CIVR_IACK != 0 => {
                // Vector 0 is the answer when nothing is left to serve; software accepts it as an error.
                self.vector = self.candidate().unwrap_or(0);
                self.cisr |= 1 << self.vector;
                self.latched &= !(1 << self.vector);
            }
            0x930 => {}
            0x940 => self.cicr = merge(self.cicr) & 0x00FF_FF81,
            0x944 => self.latched &= !(value & mask),
            0x948 => self.cimr = merge(self.cimr),
            0x94C => self.cisr &= !(value & mask),
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CICR as Linux sets it: level 2, normal SCC order, highest priority PC15, enabled.
    fn enabled() -> Cpic {
        let mut cpic = Cpic::default();
        cpic.write(0x940, 0x00E4_5F80, !0);
        cpic.write(0x948, !0, !0);
        cpic
    }

    #[test]
    fn acknowledge_moves_the_source_into_service_and_holds_lower_ones() {
        let mut cpic = enabled();
        cpic.follow(vector::SMC1, true);
        cpic.follow(vector::SMC2, true);
        assert_eq!(cpic.level(), 0x20);
        cpic.write(0x930, 1, 0xFFFF);
        assert_eq!(cpic.read(0x930), Some(u32::from(vector::SMC1) << 11));
        assert_eq!(cpic.read(0x94C), Some(1 << vector::SMC1));
        assert_eq!(cpic.level(), 0, "SMC2 and SMC1 itself must wait for the end of service");
        cpic.follow(vector::SMC1, false);
        cpic.write(0x94C, 1 << vector::SMC1, !0);
        assert_eq!(cpic.level(), 0x20);
        cpic.write(0x930, 1, 0xFFFF);
        assert_eq!(cpic.read(0x930), Some(u32::from(vector::SMC2) << 11));
    }

    #[test]
    fn higher_source_interrupts_a_lower_one_in_service() {
        let mut cpic = enabled();
        cpic.follow(vector::SMC2, true);
        cpic.write(0x930, 1, 0xFFFF);
        cpic.follow(vector::SMC1, true);
        assert_eq!(cpic.level(), 0x20);
    }

    #[test]
    fn acknowledge_with_nothing_pending_gives_the_error_vector() {
        let mut cpic = enabled();
        cpic.write(0x930, 1, 0xFFFF);
        assert_eq!(cpic.read(0x930), Some(0));
        assert_eq!(
            cpic.read(0x94C),
            Some(1),
            "the error vector needs its own end of service"
        );
    }

    #[test]
    fn reading_the_vector_without_acknowledge_changes_nothing() {
        let mut cpic = enabled();
        cpic.follow(vector::SMC1, true);
        assert_eq!(cpic.read(0x930), Some(0));
        assert_eq!(cpic.level(), 0x20);
    }

    #[test]
    fn disabled_controller_raises_no_level() {
        let mut cpic = enabled();
        cpic.follow(vector::SMC1, true);
        cpic.write(0x940, 0x00E4_5F00, !0);
        assert_eq!(cpic.level(), 0);
    }

    #[test]
    fn scc_order_follows_the_programming() {
        let mut cpic = enabled();
        cpic.follow(0x1E, true);
        cpic.follow(0x1B, true);
        // SCC4 in place a, SCC1 in place d; HP kept away from both.
        cpic.write(0x940, 0x0027_5F80, !0);
        cpic.write(0x930, 1, 0xFFFF);
        assert_eq!(cpic.read(0x930), Some(0x1B << 11));
    }
}
