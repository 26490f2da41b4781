//! SCCR, PLPRCR and RSR: the oscillator, the synthesiser and what is derived from them. Sources:
//! U-Boot `mpc8xx.h` and `speed.c`, Linux `boot/mpc8xx.c`.

const SCCR_TBS: u32 = 0x0200_0000;
const SCCR_RTSEL: u32 = 0x0080_0000;
const SCCR_EBDF: u32 = 0x0006_0000;
const PLPRCR_CSR: u32 = 0x80;

/// RSR bits.
pub mod rsr {
    /// External hard reset.
    pub const EHRS: u32 = 0x8000_0000;
    /// Software watchdog reset.
    pub const SWRS: u32 = 0x1000_0000;
    /// Checkstop reset.
    pub const CSRS: u32 = 0x0800_0000;
}

/// The clock registers and the oscillator behind them.
#[derive(Clone, Debug)]
pub struct Clocks {
    oscillator_hz: u32,
    new_clock: bool,
    sccr: u32,
    plprcr: u32,
    rsr: u32,
    core_hz: u64,
    brgclk_divider: u64,
}

impl Clocks {
    /// The state after power-on. `plprcr` is what MODCK makes of it on this board; `new_clock` tells the synthesiser of
    /// the 866 and 885 families (MFN, MFD, MFI, PDF) from that of the older parts (MF alone).
    pub fn new(oscillator_hz: u32, new_clock: bool, ebdf: u32, plprcr: u32) -> Self {
        let mut clocks = Self {
            oscillator_hz,
            new_clock,
            sccr: ebdf & SCCR_EBDF,
            plprcr,
            rsr: rsr::EHRS,
            core_hz: 1,
            brgclk_divider: 1,
        };
        clocks.derive();
        clocks
    }

    /// Hard reset for the reason `cause` (one of [`rsr`]).
    pub fn reset(&mut self, ebdf: u32, plprcr: u32, cause: u32) {
        self.sccr = ebdf & SCCR_EBDF;
        self.plprcr = plprcr;
        self.rsr |= cause;
        self.derive();
    }

    /// GCLK2 in Hz.
    pub fn core_hz(&self) -> u64 {
        self.core_hz
    }

    /// Core clocks per bus clock: SCCR\[EBDF\] + 1.
    pub fn bus_ratio(&self) -> u32 {
        // The two reserved codes are taken as 1:2. [A]
        if self.sccr & SCCR_EBDF == 0 { 1 } else { 2 }
    }

    /// Core clocks per BRGCLK period: 4 to the power SCCR\[DFBRG\].
    pub fn brgclk_divider(&self) -> u64 {
        self.brgclk_divider
    }

    /// The clock of time base and decrementer as a fraction of the core clock: (ticks, per core clocks).
    pub fn timebase_ratio(&self) -> (u64, u64) {
        if self.sccr & SCCR_TBS != 0 {
            return (1, 16);
        }
        // [V] U-Boot `speed.c`: OSC/4 unless RTSEL selects EXTCLK and the PLL factor is at most 2.
        let factor_above_two = self.core_hz > 2 * u64::from(self.oscillator_hz);
        let divider = if self.sccr & SCCR_RTSEL == 0 || factor_above_two {
            4
        } else {
            16
        };
        (u64::from(self.oscillator_hz), divider * self.core_hz)
    }

    /// Whether a checkstop resets the board (PLPRCR\[CSR\]).
    pub fn checkstop_resets(&self) -> bool {
        self.plprcr & PLPRCR_CSR != 0
    }

    fn derive(&mut self) {
        let oscillator = u64::from(self.oscillator_hz);
        let field = |shift: u32, bits: u32| u64::from((self.plprcr >> shift) & ((1 << bits) - 1));
        let hz = if self.new_clock {
            let (mfn, mfd, s, mfi, pdf) = (field(27, 5), field(22, 5), field(20, 2), field(16, 4), field(1, 4));
            oscillator * (mfi * (mfd + 1) + mfn) / (((mfd + 1) * (pdf + 1)) << s)
        } else {
            oscillator * (field(20, 12) + 1)
        };
        self.core_hz = hz.max(1);
        self.brgclk_divider = 1 << (2 * ((self.sccr >> 11) & 3));
    }

    /// Reads the register at `offset` from IMMR. `None`: no register of this block.
    pub fn read(&self, offset: u32) -> Option<u32> {
        Some(match offset {
            0x280 => self.sccr,
            0x284 => self.plprcr,
            0x288 => self.rsr,
            _ => return None,
        })
    }

    /// Writes the bits of `mask` in the register at `offset`; the caller has checked the key. Returns whether there is
    /// such a register.
    pub fn write(&mut self, offset: u32, value: u32, mask: u32) -> bool {
        let merge = |old: u32| (old & !mask) | (value & mask);
        match offset {
            0x280 => self.sccr = merge(self.sccr),
            0x284 => self.plprcr = merge(self.plprcr),
            0x288 => self.rsr &= !(value & mask),
            _ => return false,
        }
        self.derive();
        true
    }
}
