//! The system interface unit: configuration, the write-once protection register with watchdog and bus monitor, and the
//! interrupt controller. Sources: Linux `platforms/8xx/pic.c`, U-Boot `mpc8xx.h` and `interrupts.c`, RTEMS
//! `cpuinit.c`, MPC860 User's Manual ch. 11 and 12.

const SYPCR_SWE: u32 = 0x04;
const SYPCR_SWRI: u32 = 0x02;
const SYPCR_SWP: u32 = 0x01;
/// SYPCR after hard reset: watchdog on with the longest period, reset mode. \[R\]
const SYPCR_RESET: u32 = 0xFFFF_FF07;

/// The two stores to SWSR that service the watchdog, in order. \[V\] U-Boot `mpc8xxx_wdt.c`.
const SERVICE: [u16; 2] = [0x556C, 0xAA39];

/// TESR bits: the kind of cycle that ended with TEA. \[R\] MPC860 User's Manual 11.6.
const TESR_IEXT: u32 = 0x2000;
const TESR_ITMT: u32 = 0x1000;
const TESR_DEXT: u32 = 0x0020;
const TESR_DTMT: u32 = 0x0010;

/// The source number that SIVEC shows when nothing is pending. \[V\] Linux `platforms/8xx/pic.c` treats it as spurious.
const SIVEC_NONE: u32 = 15;

/// Bits of SIPEND that belong to pins; the others are internal levels.
const PIN_BITS: u32 = 0xAAAA_0000;

/// What happened to the watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchdogExpiry {
    /// SYPCR\[SWRI\] = 1.
    Reset,
    /// SYPCR\[SWRI\] = 0.
    NonMaskable,
}

/// Registers 0x000 to 0x030 and the state behind them.
#[derive(Clone, Debug)]
pub struct Siu {
    siumcr: u32,
    sypcr: u32,
    sypcr_written: bool,
    service_step: usize,
    watchdog_deadline: Option<u64>,
    simask: u32,
    siel: u32,
    tesr: u32,
    sdcr: u32,
    /// Asserted IRQ pins, bit 2k of SIPEND for IRQk.
    pins: u32,
    /// Latched edges of pins in edge mode.
    edges: u32,
    /// Active internal levels, bit 2k+1 of SIPEND for level k.
    levels: u32,
    /// Sources whose present activation is lost, until they become inactive.
    lost: u32,
    losses: Vec<(u32, u64)>,
    nmi_pin_edge: bool,
}

impl Siu {
    /// The state after hard reset at core clock `now`. `debug_pins` is HRCW\[DBGC, DBPC\] in place of SIUMCR.
    pub fn new(debug_pins: u32, now: u64) -> Self {
        let mut siu = Self {
            siumcr: debug_pins & 0x0078_0000,
            sypcr: SYPCR_RESET,
            sypcr_written: false,
            service_step: 0,
            watchdog_deadline: None,
            simask: 0,
            siel: 0,
            tesr: 0,
            sdcr: 0,
            pins: 0,
            edges: 0,
            levels: 0,
            lost: 0,
            losses: Vec::new(),
            nmi_pin_edge: false,
        };
        siu.restart_watchdog(now);
        siu
    }

    /// Hard reset: pins keep their levels, armed losses stay armed.
    pub fn reset(&mut self, debug_pins: u32, now: u64) {
        let pins = self.pins;
        let losses = std::mem::take(&mut self.losses);
        *self = Self {
            pins,
            losses,
            ..Self::new(debug_pins, now)
        };
    }

    /// Core clocks until the bus monitor ends a cycle: SYPCR\[BMT\] times eight system clocks.
    pub fn bus_monitor_clocks(&self) -> u32 {
        ((self.sypcr >> 8) & 0xFF) * 8
    }

    /// Records a cycle that ended with TEA: by time-out or by an external TEA.
    pub fn note_transfer_error(&mut self, timeout: bool, fetch: bool) {
        self.tesr |= match (timeout, fetch) {
            (true, true) => TESR_ITMT,
            (true, false) => TESR_DTMT,
            (false, true) => TESR_IEXT,
            (false, false) => TESR_DEXT,
        };
    }

    /// Sets the active internal levels; bit 7-k of `levels` is level k.
    pub fn set_levels(&mut self, levels: u8) {
        let mut pending = 0;
        for level in 0..8 {
            if levels & (0x80 >> level) != 0 {
                pending |= 0x4000_0000 >> (2 * level);
            }
        }
        let rising = pending & !self.levels;
        self.levels = pending;
        self.lose(rising);
        self.lost &= self.levels | self.pins;
    }

    /// Drives IRQ`pin`; `asserted` means low at the package.
    pub fn set_pin(&mut self, pin: u8, asserted: bool) {
        let bit = 0x8000_0000u32 >> (2 * (pin & 7));
        let was = self.pins & bit != 0;
        if asserted {
            self.pins |= bit;
        } else {
            self.pins &= !bit;
        }
        if asserted && !was {
            self.edges |= bit & self.siel;
            self.nmi_pin_edge |= pin == 0;
            self.lose(bit);
            self.edges &= !self.lost;
        }
        self.lost &= self.levels | self.pins;
    }

    /// Arms the loss of the `nth` activation of SIPEND bit `source`, or of any.
    pub fn lose_activation(&mut self, source: Option<u8>, nth: u64) {
        let sources = source.map_or(!0, |source| 0x8000_0000 >> (source & 31));
        self.losses.push((sources, nth));
    }

    fn lose(&mut self, rising: u32) {
        for (sources, nth) in &mut self.losses {
            if rising & *sources != 0 {
                *nth = nth.saturating_sub(1);
                if *nth == 0 {
                    self.lost |= rising & *sources;
                }
            }
        }
        self.losses.retain(|(_, nth)| *nth > 0);
    }

    /// SIPEND: pins in level mode follow the pin, in edge mode the latch; internal levels follow their source.
    fn sipend(&self) -> u32 {
        let edge_mode = self.siel & PIN_BITS;
        ((self.edges & edge_mode) | (self.pins & !edge_mode) | self.levels) & !self.lost
    }

    /// Whether the external interrupt of the core is active. IRQ0 is not among its sources: it is the NMI. \[R\]
    pub fn external(&self) -> bool {
        self.sipend() & self.simask & 0x7FFF_0000 != 0
    }

    /// Takes the latched falling edge of IRQ0.
    pub fn take_nmi_edge(&mut self) -> bool {
        std::mem::take(&mut self.nmi_pin_edge)
    }

    fn sivec(&self) -> u32 {
        let active = self.sipend() & self.simask & 0x7FFF_0000;
        let number = if active == 0 {
            SIVEC_NONE
        } else {
            active.leading_zeros()
        };
        number << 26
    }

    fn watchdog_period(&self) -> u64 {
        let count = u64::from(self.sypcr >> 16).max(1);
        count * if self.sypcr & SYPCR_SWP != 0 { 2048 } else { 1 }
    }

    fn restart_watchdog(&mut self, now: u64) {
        self.watchdog_deadline = (self.sypcr & SYPCR_SWE != 0).then(|| now + self.watchdog_period());
    }

    /// Core clock at which the watchdog expires.
    pub fn next_event(&self) -> u64 {
        self.watchdog_deadline.unwrap_or(u64::MAX)
    }

    /// Checks the watchdog at core clock `now`. After an NMI it counts again.
    pub fn advance(&mut self, now: u64) -> Option<WatchdogExpiry> {
        if self.watchdog_deadline.is_none_or(|deadline| now < deadline) {
            return None;
        }
        self.restart_watchdog(now);
        Some(if self.sypcr & SYPCR_SWRI != 0 {
            WatchdogExpiry::Reset
        } else {
            WatchdogExpiry::NonMaskable
        })
    }

    /// Reads the register at `offset` from IMMR. `None`: no register of this block.
    pub fn read(&self, offset: u32) -> Option<u32> {
        Some(match offset {
            0x000 => self.siumcr,
            0x004 => self.sypcr,
            0x00E => 0,
            0x010 => self.sipend(),
            0x014 => self.simask,
            0x018 => self.siel,
            0x01C => self.sivec(),
            0x020 => self.tesr,
            0x030 => self.sdcr,
            _ => return None,
        })
    }

    /// Writes the bits of `mask` in the register at `offset` at core clock `now`. Returns whether there is such a
    /// register.
    pub fn write(&mut self, offset: u32, value: u32, mask: u32, now: u64) -> bool {
        let merge = |old: u32| (old & !mask) | (value & mask);
        match offset {
            0x000 => self.siumcr = merge(self.siumcr),
            // Write once after reset. [V] RTEMS `cpuinit.c`.
            0x004 if !self.sypcr_written => {
                self.sypcr = merge(self.sypcr);
                self.sypcr_written = true;
                self.restart_watchdog(now);
            }
            0x004 => {}
            0x00E => {
                let word = (value & mask) as u16;
                if word == SERVICE[self.service_step] {
                    self.service_step += 1;
                    if self.service_step == SERVICE.len() {
                        self.service_step = 0;
                        self.restart_watchdog(now);
                    }
                } else {
                    self.service_step = usize::from(word == SERVICE[0]);
                }
            }
            0x010 => self.edges &= !(value & mask),
            0x014 => self.simask = merge(self.simask) & 0xFFFF_0000,
            0x018 => {
                self.siel = merge(self.siel) & 0xFFFF_0000;
                self.edges &= self.siel;
            }
            0x01C => {}
            0x020 => self.tesr &= !(value & mask),
            0x030 => self.sdcr = merge(self.sdcr),
            _ => return false,
        }
        true
    }
}
