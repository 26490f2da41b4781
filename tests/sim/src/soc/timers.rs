//! Time base, decrementer, real-time clock and periodic interrupt timer, and the key registers that guard them.
//!
//! Nothing here counts clock by clock: a `TickClock` turns core clocks into ticks when somebody asks, and each timer
//! says when it will next have something to tell. Sources: MPC823
//! User's Manual 12.6, U-Boot `mpc8xx.h` and `cpu_init.c`, Linux `platforms/8xx/m8xx_setup.c`.

use super::clocks::Clocks;

/// The word that unlocks a guarded register.
pub const KEY: u32 = 0x55CC_AA33;

/// PITRTCLK, the clock of RTC and PIT. \[R\]
const PITRTCLK_HZ: u64 = 8192;

const TBSCR_REFA: u16 = 0x80;
const TBSCR_REFB: u16 = 0x40;
const TBSCR_REFAE: u16 = 0x08;
const TBSCR_REFBE: u16 = 0x04;
const TBSCR_TBE: u16 = 0x01;
const RTCSC_SEC: u16 = 0x80;
const RTCSC_ALR: u16 = 0x40;
const RTCSC_SIE: u16 = 0x08;
const RTCSC_ALE: u16 = 0x04;
const RTCSC_RTE: u16 = 0x01;
const PISCR_PS: u16 = 0x80;
const PISCR_PIE: u16 = 0x04;
const PISCR_PTE: u16 = 0x01;

/// Ticks of a clock that is a fraction of the core clock, without drift.
#[derive(Clone, Debug)]
struct TickClock {
    origin: u64,
    /// Ticks per `denominator` core clocks; 0 while stopped.
    numerator: u64,
    denominator: u64,
    /// Progress towards the next tick at `origin`, in `denominator`ths.
    fraction: u64,
}

impl TickClock {
    fn stopped() -> Self {
        Self {
            origin: 0,
            numerator: 0,
            denominator: 1,
            fraction: 0,
        }
    }

    fn scaled(&self, now: u64) -> u128 {
        u128::from(now.saturating_sub(self.origin)) * u128::from(self.numerator) + u128::from(self.fraction)
    }

    /// Ticks since the last [`TickClock::take`].
    fn ticks(&self, now: u64) -> u64 {
        (self.scaled(now) / u128::from(self.denominator)) as u64
    }

    /// Returns the ticks since the last call and starts to count anew, the fraction kept.
    fn take(&mut self, now: u64) -> u64 {
        let scaled = self.scaled(now);
        self.origin = self.origin.max(now);
        self.fraction = (scaled % u128::from(self.denominator)) as u64;
        (scaled / u128::from(self.denominator)) as u64
    }

    /// Core clock of the `count`th tick from the last [`TickClock::take`].
    fn when(&self, count: u64) -> u64 {
        if self.numerator == 0 {
            return u64::MAX;
        }
        let needed = u128::from(count) * u128::from(self.denominator) - u128::from(self.fraction.min(self.denominator));
        let clocks = needed.div_ceil(u128::from(self.numerator));
        u64::try_from(u128::from(self.origin) + clocks).unwrap_or(u64::MAX)
    }

    /// Changes the rate; the caller has just taken the ticks up to now.
    fn set_rate(&mut self, numerator: u64, denominator: u64) {
        if denominator != self.denominator {
            let fraction = u128::from(self.fraction) * u128::from(denominator) / u128::from(self.denominator);
            self.fraction = fraction as u64;
            self.denominator = denominator;
        }
        self.numerator = numerator;
    }
}

/// A guarded register of the keep-alive power domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the manual's")]
pub enum Guarded {
    Tbscr,
    Tbreff0,
    Tbreff1,
    Tb,
    Rtcsc,
    Rtc,
    Rtsec,
    Rtcal,
    Piscr,
    Pitc,
    Sccr,
    Plprcr,
    Rsr,
}

impl Guarded {
    /// The register whose key stands at `offset` from IMMR.
    fn by_key_offset(offset: u32) -> Option<Self> {
        Some(match offset {
            0x300 => Self::Tbscr,
            0x304 => Self::Tbreff0,
            0x308 => Self::Tbreff1,
            0x30C => Self::Tb,
            0x320 => Self::Rtcsc,
            0x324 => Self::Rtc,
            0x328 => Self::Rtsec,
            0x32C => Self::Rtcal,
            0x340 => Self::Piscr,
            0x344 => Self::Pitc,
            0x380 => Self::Sccr,
            0x384 => Self::Plprcr,
            0x388 => Self::Rsr,
            _ => return None,
        })
    }

    fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// The timers of the SIU.
#[derive(Clone, Debug)]
pub struct Timers {
    /// One bit per [`Guarded`] register that is locked. All start unlocked. \[A\]: it depends on the board's power
    /// domains.
    locked: u16,
    tbscr: u16,
    tbreff: [u32; 2],
    /// TMBCLK never comes.
    broken: bool,
    tmbclk: TickClock,
    time_base: u64,
    decrementer: u32,
    decrementer_pending: bool,
    pitrtclk: TickClock,
    rtcsc: u16,
    rtc: u32,
    rtsec: u32,
    rtcal: u32,
    piscr: u16,
    pitc: u32,
    /// Ticks left before the PIT reaches its end.
    pit: u64,
}

impl Timers {
    /// The state after power-on: everything stopped.
    pub fn new() -> Self {
        Self {
            locked: 0,
            tbscr: 0,
            tbreff: [0; 2],
            broken: false,
            tmbclk: TickClock::stopped(),
            time_base: 0,
            decrementer: 0,
            decrementer_pending: false,
            pitrtclk: TickClock::stopped(),
            rtcsc: 0,
            rtc: 0,
            rtsec: 0,
            rtcal: 0,
            piscr: 0,
            pitc: 0,
            pit: 0,
        }
    }

    /// Presets the time base and the decrementer, as if they had counted to these values.
    pub fn preset(&mut self, time_base: u64, decrementer: u32, now: u64) {
        self.advance(now);
        self.time_base = time_base;
        self.decrementer = decrementer;
    }

    /// From now on time base and decrementer stand still, whatever TBSCR says: a fault. The caller has advanced to now.
    pub fn break_time_base(&mut self, clocks: &Clocks) {
        self.broken = true;
        self.update_rates(clocks);
    }

    /// Hard reset. TB and DEC keep their values and stop; RTC goes on. \[V\] 823UM 12.6.1, \[R\]
    pub fn reset(&mut self, clocks: &Clocks, now: u64) {
        self.advance(now);
        self.locked = 0;
        self.tbscr = 0;
        self.decrementer_pending = false;
        self.piscr = 0;
        self.pitc = 0;
        self.update_rates(clocks);
    }

    /// The clock registers have changed; the caller has advanced to now with the old rates.
    pub fn update_rates(&mut self, clocks: &Clocks) {
        let (numerator, denominator) = clocks.timebase_ratio();
        let runs = self.tbscr & TBSCR_TBE != 0 && !self.broken;
        let numerator = if runs { numerator } else { 0 };
        self.tmbclk.set_rate(numerator, denominator);
        let runs = (self.rtcsc & RTCSC_RTE) | (self.piscr & PISCR_PTE) != 0;
        self.pitrtclk
            .set_rate(if runs { PITRTCLK_HZ } else { 0 }, clocks.core_hz());
    }

    /// The time base at `now`.
    pub fn time_base(&self, now: u64) -> u64 {
        self.time_base.wrapping_add(self.tmbclk.ticks(now))
    }

    /// The decrementer at `now`.
    pub fn decrementer(&self, now: u64) -> u32 {
        self.decrementer.wrapping_sub(self.tmbclk.ticks(now) as u32)
    }

    /// Whether the decrementer exception is pending.
    pub fn decrementer_pending(&self) -> bool {
        self.decrementer_pending
    }

    /// The core has taken the decrementer exception.
    pub fn acknowledge_decrementer(&mut self) {
        self.decrementer_pending = false;
    }

    /// Writes one half of the time base (TBK permitting). `upper` selects TBU.
    pub fn write_time_base(&mut self, upper: bool, value: u32, now: u64) {
        self.advance(now);
        if self.is_unlocked(Guarded::Tb) {
            let (shift, keep) = if upper {
                (32, 0xFFFF_FFFF)
            } else {
                (0, 0xFFFF_FFFF_0000_0000)
            };
            self.time_base = (self.time_base & keep) | u64::from(value) << shift;
        }
    }

    /// Writes the decrementer (TBK permitting). A negative value over a positive one is a 0 to 1 transition of bit 0.
    pub fn write_decrementer(&mut self, value: u32, now: u64) {
        self.advance(now);
        if self.is_unlocked(Guarded::Tb) {
            self.decrementer_pending |= self.decrementer & 0x8000_0000 == 0 && value & 0x8000_0000 != 0;
            self.decrementer = value;
        }
    }

    /// Whether stores to `register` take effect.
    pub fn is_unlocked(&self, register: Guarded) -> bool {
        self.locked & register.bit() == 0
    }

    /// Brings all counters up to core clock `now`.
    pub fn advance(&mut self, now: u64) {
        let ticks = self.tmbclk.take(now);
        if ticks > 0 {
            for (index, flag) in [TBSCR_REFA, TBSCR_REFB].into_iter().enumerate() {
                if ticks >= self.ticks_to_reference(index) {
                    self.tbscr |= flag;
                }
            }
            self.decrementer_pending |= ticks > u64::from(self.decrementer);
            self.time_base = self.time_base.wrapping_add(ticks);
            self.decrementer = self.decrementer.wrapping_sub(ticks as u32);
        }
        let ticks = self.pitrtclk.take(now);
        if ticks > 0 {
            if self.rtcsc & RTCSC_RTE != 0 {
                self.advance_rtc(ticks);
            }
            if self.piscr & PISCR_PTE != 0 {
                self.advance_pit(ticks);
            }
        }
    }

    /// Ticks until TBL equals TBREFF`index` (1 to 2^32).
    fn ticks_to_reference(&self, index: usize) -> u64 {
        match self.tbreff[index].wrapping_sub(self.time_base as u32) {
            0 => 1 << 32,
            distance => u64::from(distance),
        }
    }

    fn advance_rtc(&mut self, ticks: u64) {
        let total = u64::from(self.rtsec) + ticks;
        let seconds = total / PITRTCLK_HZ;
        self.rtsec = (total % PITRTCLK_HZ) as u32;
        if seconds > 0 {
            self.rtcsc |= RTCSC_SEC;
            if u64::from(self.rtcal.wrapping_sub(self.rtc).wrapping_sub(1)) < seconds {
                self.rtcsc |= RTCSC_ALR;
            }
            self.rtc = self.rtc.wrapping_add(seconds as u32);
        }
    }

    fn pit_period(&self) -> u64 {
        u64::from(self.pitc >> 16) + 1
    }

    fn advance_pit(&mut self, ticks: u64) {
        if ticks < self.pit {
            self.pit -= ticks;
        } else {
            self.piscr |= PISCR_PS;
            self.pit = self.pit_period() - (ticks - self.pit) % self.pit_period();
        }
    }

    /// The active interrupt levels, bit 7-k for level k.
    pub fn levels(&self) -> u8 {
        let time_base = (self.tbscr & TBSCR_REFA != 0 && self.tbscr & TBSCR_REFAE != 0)
            || (self.tbscr & TBSCR_REFB != 0 && self.tbscr & TBSCR_REFBE != 0);
        let clock = (self.rtcsc & RTCSC_SEC != 0 && self.rtcsc & RTCSC_SIE != 0)
            || (self.rtcsc & RTCSC_ALR != 0 && self.rtcsc & RTCSC_ALE != 0);
        let periodic = self.piscr & PISCR_PS != 0 && self.piscr & PISCR_PIE != 0;
        let level = |active: bool, register: u16| if active { (register >> 8) as u8 } else { 0 };
        level(time_base, self.tbscr) | level(clock, self.rtcsc) | level(periodic, self.piscr)
    }

    /// Core clock of the next change that a line of the core may depend on.
    pub fn next_event(&self) -> u64 {
        let mut next = u64::MAX;
        if !self.decrementer_pending {
            next = next.min(self.tmbclk.when(u64::from(self.decrementer) + 1));
        }
        for (index, enable) in [TBSCR_REFAE, TBSCR_REFBE].into_iter().enumerate() {
            if self.tbscr & enable != 0 {
                next = next.min(self.tmbclk.when(self.ticks_to_reference(index)));
            }
        }
        if self.rtcsc & RTCSC_RTE != 0 && self.rtcsc & (RTCSC_SIE | RTCSC_ALE) != 0 {
            next = next.min(self.pitrtclk.when(PITRTCLK_HZ - u64::from(self.rtsec)));
        }
        if self.piscr & PISCR_PTE != 0 && self.piscr & PISCR_PIE != 0 {
            next = next.min(self.pitrtclk.when(self.pit));
        }
        next
    }

    /// Reads the register at `offset` from IMMR; the caller has advanced to now. `None`: no register of this block.
    pub fn read(&self, offset: u32) -> Option<u32> {
        Some(match offset {
            0x200 => u32::from(self.tbscr),
            0x204 | 0x208 => self.tbreff[usize::from(offset == 0x208)],
            0x220 => u32::from(self.rtcsc),
            0x224 => self.rtc,
            0x228 => self.rtsec,
            0x22C => self.rtcal,
            0x240 => u32::from(self.piscr),
            0x244 => self.pitc,
            0x248 => (self.pit.saturating_sub(1) as u32) << 16,
            // Key registers hold no data.
            0x300..=0x388 => {
                Guarded::by_key_offset(offset)?;
                0
            }
            _ => return None,
        })
    }

    /// Writes the bits of `mask` in the register at `offset`; the caller has advanced to now. Returns whether there is
    /// such a register. A store to a locked register is ignored.
    pub fn write(&mut self, offset: u32, value: u32, mask: u32, clocks: &Clocks) -> bool {
        let merge = |old: u32| (old & !mask) | (value & mask);
        // Status bits are cleared by writing 1, everything else is stored.
        let status = |old: u16, flags: u16| {
            let written = (value & mask) as u16;
            (merge(u32::from(old)) as u16 & !flags) | (old & flags & !written)
        };
        let guard = match offset {
            0x200 => Guarded::Tbscr,
            0x204 => Guarded::Tbreff0,
            0x208 => Guarded::Tbreff1,
            0x220 => Guarded::Rtcsc,
            0x224 => Guarded::Rtc,
            0x228 => Guarded::Rtsec,
            0x22C => Guarded::Rtcal,
            0x240 => Guarded::Piscr,
            0x244 => Guarded::Pitc,
            0x248 => return true,
            _ => {
                let Some(register) = Guarded::by_key_offset(offset) else {
                    return false;
                };
                if value & mask == KEY {
                    self.locked &= !register.bit();
                } else {
                    self.locked |= register.bit();
                }
                return true;
            }
        };
        if !self.is_unlocked(guard) {
            return true;
        }
        match guard {
            Guarded::Tbscr => self.tbscr = status(self.tbscr, TBSCR_REFA | TBSCR_REFB),
            Guarded::Tbreff0 => self.tbreff[0] = merge(self.tbreff[0]),
            Guarded::Tbreff1 => self.tbreff[1] = merge(self.tbreff[1]),
            Guarded::Rtcsc => self.rtcsc = status(self.rtcsc, RTCSC_SEC | RTCSC_ALR),
            Guarded::Rtc => self.rtc = merge(self.rtc),
            Guarded::Rtsec => self.rtsec = merge(self.rtsec) % PITRTCLK_HZ as u32,
            Guarded::Rtcal => self.rtcal = merge(self.rtcal),
            Guarded::Piscr => {
                let ran = self.piscr & PISCR_PTE != 0;
                self.piscr = status(self.piscr, PISCR_PS);
                if !ran {
                    self.pit = self.pit_period();
                }
            }
            Guarded::Pitc => {
                self.pitc = merge(self.pitc) & 0xFFFF_0000;
                self.pit = self.pit_period();
            }
            Guarded::Tb | Guarded::Sccr | Guarded::Plprcr | Guarded::Rsr => {}
        }
        self.update_rates(clocks);
        true
    }
}

impl Default for Timers {
    fn default() -> Self {
        Self::new()
    }
}
