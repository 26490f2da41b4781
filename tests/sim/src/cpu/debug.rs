//! Development support: comparators on instruction and data addresses, ICR, DER.
//!
//! What is modelled: CMPA to CMPD through ICTRL (software breakpoints, vector 0x1D00), CMPE and CMPF through LCTRL1
//! and LCTRL2 (data address breakpoints, vector 0x1C00 after the access, BAR), ICR and DER. The data-value
//! comparators CMPG and CMPH, the byte masks and the counters COUNTA and COUNTB are registers that hold what was
//! written; a match condition that would use them never comes true.
//!
//! Without a debugger on the development port the core never enters debug mode, whatever DER says; the switch
//! [`Debug::debug_mode`] stands for that debugger, and entering debug mode then ends the run.
//!
//! Sources: MPC860 User's Manual, chapter on development support \[R\]; field codes of LCTRL1 and LCTRL2 from the
//! kernel's `reg_8xx.h` and `set_breakpoint_8xx` \[V\], which fix the compare codes for ICTRL too.

use super::registers::{msr, spr};

/// LCTRL2: this watchpoint is enabled.
const LW0EN: u32 = 0x8000_0000;
const LW1EN: u32 = 0x0020_0000;
/// LCTRL2: the data address takes part in the condition.
const LW0LADC: u32 = 0x0200_0000;
const LW1LADC: u32 = 0x0000_8000;
/// LCTRL2: the watchpoint raises a software breakpoint.
const SLW0EN: u32 = 0x0000_0002;
const SLW1EN: u32 = 0x0000_0001;
/// LCTRL2: breakpoints are recognised even with MSR\[RI\] = 0.
const BRKNOMSK: u32 = 0x0000_0800;
/// ICTRL: instruction watchpoint n raises a software breakpoint.
const SIW0EN: u32 = 0x0000_0800;

/// The registers of development support.
#[derive(Clone, Debug, Default)]
pub struct Debug {
    /// A debugger sits on the development port: causes that DER selects end the run.
    pub debug_mode: bool,
    icr: u32,
    der: u32,
    /// SPR 144 to 159 by number, without ICR and DER.
    registers: [u32; 16],
    dpdr: u32,
}

impl Debug {
    /// Hard reset: every register 0, the debugger stays where it is.
    pub fn reset(&mut self) {
        *self = Debug {
            debug_mode: self.debug_mode,
            ..Debug::default()
        };
    }

    fn register(&self, number: u32) -> u32 {
        self.registers[(number & 15) as usize]
    }

    /// Reads one of SPR 144 to 159 or 630; reading ICR clears it.
    pub fn read(&mut self, number: u32) -> Option<u32> {
        Some(match number {
            spr::ICR => std::mem::take(&mut self.icr),
            spr::DER => self.der,
            spr::DPDR => self.dpdr,
            spr::CMPA..=spr::BAR => self.register(number),
            _ => return None,
        })
    }

    /// Writes one of SPR 144 to 159 or 630.
    pub fn write(&mut self, number: u32, value: u32) -> Option<()> {
        match number {
            spr::ICR => {}
            spr::DER => self.der = value,
            spr::DPDR => self.dpdr = value,
            spr::CMPA..=spr::BAR => self.registers[(number & 15) as usize] = value,
            _ => return None,
        }
        Some(())
    }

    /// Notes the cause of an exception in ICR.
    pub fn record_cause(&mut self, cause: u32) {
        self.icr |= cause;
    }

    /// Whether this cause stops the core for the debugger.
    pub fn enters_debug_mode(&self, cause: u32) -> bool {
        self.debug_mode && self.der & cause != 0
    }

    /// The low bits of ICTRL: 7 fetches at full speed, 0 serialises every fetch.
    pub fn fetch_is_serialised(&self) -> bool {
        self.register(spr::ICTRL) & 7 != 7
    }

    /// Writes 7 to the low bits of ICTRL.
    pub fn fetch_at_full_speed(&mut self) {
        self.registers[(spr::ICTRL & 15) as usize] |= 7;
    }

    /// Whether any instruction address breakpoint is armed.
    pub fn watches_instructions(&self) -> bool {
        self.register(spr::ICTRL) & (SIW0EN | SIW0EN >> 1 | SIW0EN >> 2 | SIW0EN >> 3) != 0
    }

    /// Whether any data address breakpoint is armed.
    pub fn watches_data(&self) -> bool {
        let control = self.register(spr::LCTRL2);
        control & (LW0EN | SLW0EN) == LW0EN | SLW0EN || control & (LW1EN | SLW1EN) == LW1EN | SLW1EN
    }

    fn is_masked(&self, state: u32) -> bool {
        state & msr::RI == 0 && self.register(spr::LCTRL2) & BRKNOMSK == 0
    }

    /// Whether the instruction at `pc` hits an armed breakpoint.
    pub fn breaks_at(&self, pc: u32, state: u32) -> bool {
        if self.is_masked(state) {
            return false;
        }
        let control = self.register(spr::ICTRL);
        let compare: [bool; 4] =
            std::array::from_fn(|n| condition(control >> (29 - 3 * n) & 7, pc, self.register(spr::CMPA + n as u32)));
        // Each watchpoint: 1 its own comparator, 2 both of its pair, 3 either of its pair.
        (0..4).filter(|n| control & SIW0EN >> n != 0).any(|n| {
            let (own, other) = (compare[n], compare[n ^ 1]);
            match control >> (18 - 2 * n) & 3 {
                1 => own,
                2 => own && other,
                3 => own || other,
                _ => false,
            }
        })
    }

    /// Whether a data access hits an armed breakpoint.
    pub fn breaks_on_data(&self, address: u32, store: bool, state: u32) -> bool {
        if self.is_masked(state) {
            return false;
        }
        let (control1, control2) = (self.register(spr::LCTRL1), self.register(spr::LCTRL2));
        // The kernel writes 1 for reads, the manual is recalled to say 2; both mean the same here.
        let direction = |code: u32| match code {
            3 => store,
            1 | 2 => !store,
            _ => true,
        };
        let matches = |compare_shift: u32, direction_shift: u32, number: u32| {
            condition(control1 >> compare_shift & 7, address & !3, self.register(number))
                && direction(control1 >> direction_shift & 3)
        };
        let (e, f) = (matches(29, 18, spr::CMPE), matches(26, 16, spr::CMPF));
        let selected = |code: u32| match code {
            0 => e,
            1 => f,
            2 => e && f,
            _ => e || f,
        };
        let first = control2 & (LW0EN | LW0LADC | SLW0EN) == LW0EN | LW0LADC | SLW0EN;
        let second = control2 & (LW1EN | LW1LADC | SLW1EN) == LW1EN | LW1LADC | SLW1EN;
        first && selected(control2 >> 26 & 3) || second && selected(control2 >> 16 & 3)
    }

    /// BAR after a data breakpoint.
    pub fn set_bar(&mut self, address: u32) {
        self.registers[(spr::BAR & 15) as usize] = address;
    }
}

/// A compare code against an address: 4 equal, 5 less than, 6 greater than, 7 not equal.
fn condition(code: u32, address: u32, comparator: u32) -> bool {
    match code {
        4 => address == comparator,
        5 => address < comparator,
        6 => address > comparator,
        7 => address != comparator,
        _ => false,
    }
}
