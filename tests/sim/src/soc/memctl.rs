//! The memory controller: chip selects, the two user-programmable machines, the general-purpose machine, and the price
//! of a bus cycle that follows from their programming.
//!
//! Bank matching and register fields: mpc8xx U-Boot `include/mpc8xx.h` \[V\]; MPC860 User's Manual ch. 15. The low half
//! of a UPM word carries LOOP 0x80, UTA 0x04 (0: TA is driven) and LAST 0x01. One UPM word lasts one bus clock.

use crate::bus::CycleKind;

/// Number of chip selects.
pub const BANKS: usize = 8;

/// BR\[V\]: the bank is enabled.
pub const BR_V: u32 = 0x0000_0001;
/// BR\[WP\]: stores end with TEA.
pub const BR_WP: u32 = 0x0000_0100;
/// BR\[MS\]: machine select.
const BR_MS: u32 = 0x0000_00C0;
const BR_MS_UPMA: u32 = 0x0000_0080;
const BR_MS_UPMB: u32 = 0x0000_00C0;
/// BR\[PS\]: port size.
pub const BR_PS: u32 = 0x0000_0C00;
const BR_BA: u32 = 0xFFFF_8000;

const OR_AM: u32 = 0xFFFF_8000;
const OR_CSNT: u32 = 0x0000_0800;
const OR_ACS: u32 = 0x0000_0600;
const OR_BI: u32 = 0x0000_0100;
const OR_SCY_SHIFT: u32 = 4;
const OR_SETA: u32 = 0x0000_0008;
const OR_TRLX: u32 = 0x0000_0004;
const OR_EHTR: u32 = 0x0000_0002;

/// OR0 after hard reset: AM = 0, so that bank 0 answers everywhere. \[R\] MPC860 User's Manual 15.3.
const OR0_RESET: u32 = 0x0000_0FF4;

const UPM_LOOP: u32 = 0x80;
const UPM_UTA: u32 = 0x04;
const UPM_LAST: u32 = 0x01;
const UPM_WORDS: usize = 64;
/// An array word before it is programmed: no TA, last. The silicon's content is undefined; a board that forgets to
/// program the array must not work here. \[A\]
const UPM_UNPROGRAMMED: u32 = 0xFFFF_FFFF;

/// Start addresses of the patterns in the array. \[V\] U-Boot board files, MPC860 User's Manual 15.6.
const START_SINGLE_READ: usize = 0x00;
const START_BURST_READ: usize = 0x08;
const START_SINGLE_WRITE: usize = 0x18;
const START_BURST_WRITE: usize = 0x20;
const START_REFRESH: usize = 0x30;

/// Passes of the refresh loop when MxMR\[TLF\] is 0, unless a board is told otherwise.
///
/// U-Boot's names (\[V\] `MAMR_TLFA_16X`) say 16, as for the other loops. The CMPC885 leaves the field 0, with a timer
/// that suits one refresh per period, and there lines fetched in sequence were measured at 18.6 core clocks each: 16
/// passes take 19 % of the bus and would make a bare 16-clock burst 19.8. So the loop cannot run 16 times there. \[M\]
pub const PASSES_OF_TIMER_LOOP_0: u32 = 1;
/// Passes of a read or write loop when its field is 0. \[V\] U-Boot `MAMR_RLFA_16X`.
const PASSES_OF_LOOP_0: u32 = 16;

const MXMR_PTE: u32 = 0x0080_0000;

const MSTAT_WPER: u16 = 0x0080;

/// The length of a cycle in bus clocks, counted from the clock in which the machine starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusClocks {
    /// The clock in which the first TA is sampled.
    pub first: u32,
    /// The clock in which the last TA is sampled.
    pub last: u32,
    /// Transfer acknowledges seen.
    pub acknowledges: u32,
    /// The clock after which the machine is idle.
    pub total: u32,
}

/// The machine that drives a bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Machine {
    General,
    Upm(usize),
}

/// One bank, decoded from BR and OR whenever they change.
#[derive(Clone, Copy, Debug)]
struct Bank {
    base: u32,
    mask: u32,
    valid: bool,
    write_protected: bool,
    external_acknowledge: bool,
    port_bytes: u32,
    machine: Machine,
    /// By [`CycleKind`]; `None` when the pattern never drives TA.
    clocks: [Option<BusClocks>; 4],
}

/// How the refresh of one UPM occupies the bus, in its own units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefreshProgram {
    /// BRGCLK periods between two refresh services.
    pub period_brgclk: u32,
    /// Bus clocks one service lasts.
    pub busy_bus_clocks: u32,
}

/// BR0-7, OR0-7, MCR, MDR, MAMR, MBMR, MPTPR, MSTAT, MAR and the arrays.
#[derive(Clone, Debug)]
pub struct MemoryController {
    br: [u32; BANKS],
    or: [u32; BANKS],
    array: [[u32; UPM_WORDS]; 2],
    mode: [u32; 2],
    mar: u32,
    mcr: u32,
    mdr: u32,
    mptpr: u16,
    mstat: u16,
    /// See [`PASSES_OF_TIMER_LOOP_0`].
    pub passes_of_timer_loop_0: u32,
    banks: [Bank; BANKS],
}

impl MemoryController {
    /// The state after hard reset; `boot_port` is HRCW\[BPS\] in the position of BR\[PS\], `boot_enabled` is
    /// !HRCW\[BDIS\].
    pub fn new(boot_port: u32, boot_enabled: bool) -> Self {
        let mut br = [0; BANKS];
        let mut or = [0; BANKS];
        br[0] = (boot_port & BR_PS) | if boot_enabled { BR_V } else { 0 };
        or[0] = OR0_RESET;
        let idle = Bank {
            base: 0,
            mask: 0,
            valid: false,
            write_protected: false,
            external_acknowledge: false,
            port_bytes: 4,
            machine: Machine::General,
            clocks: [None; 4],
        };
        let mut controller = Self {
            br,
            or,
            array: [[UPM_UNPROGRAMMED; UPM_WORDS]; 2],
            mode: [0; 2],
            mar: 0,
            mcr: 0,
            mdr: 0,
            mptpr: 0x0200,
            mstat: 0,
            passes_of_timer_loop_0: PASSES_OF_TIMER_LOOP_0,
            banks: [idle; BANKS],
        };
        controller.decode();
        controller
    }

    /// The bank that answers `address`, lowest number first, whether or not it ever drives TA.
    pub fn bank(&self, address: u32) -> Option<usize> {
        self.banks
            .iter()
            .position(|bank| bank.valid && (address ^ bank.base) & bank.mask == 0)
    }

    /// The address as the device on `bank` sees it: the contiguous low bits that the bank does not compare.
    pub fn device_offset(&self, bank: usize, address: u32) -> u32 {
        match self.banks[bank].mask {
            0 => address,
            mask => address & ((1 << mask.trailing_zeros()) - 1),
        }
    }

    /// Whether stores to `bank` end with TEA.
    pub fn write_protected(&self, bank: usize) -> bool {
        self.banks[bank].write_protected
    }

    /// Whether the machine of `bank` waits for a TA from the board (OR\[SETA\]).
    pub fn external_acknowledge(&self, bank: usize) -> bool {
        self.banks[bank].external_acknowledge
    }

    /// Whether a cycle of `kind` on `bank` is ever acknowledged.
    pub fn acknowledges(&self, bank: usize, kind: CycleKind) -> bool {
        self.banks[bank].clocks[kind as usize].is_some()
    }

    /// The length of a cycle on `bank`.
    pub fn clocks(&self, bank: usize, kind: CycleKind) -> Option<BusClocks> {
        self.banks[bank].clocks[kind as usize]
    }

    /// How refresh occupies the bus, per UPM with MxMR\[PTE\] set.
    pub fn refresh(&self) -> [Option<RefreshProgram>; 2] {
        let prescale = match self.mptpr & 0x3F00 {
            0x2000 => 2,
            0x1000 => 4,
            0x0800 => 8,
            0x0400 => 16,
            0x0200 => 32,
            0x0100 => 64,
            _ => return [None; 2],
        };
        let program = |upm: usize| {
            let timer = self.mode[upm] >> 24;
            (self.mode[upm] & MXMR_PTE != 0 && timer != 0).then(|| RefreshProgram {
                period_brgclk: timer * prescale,
                busy_bus_clocks: self
                    .run_pattern(upm, START_REFRESH, passes(self.mode[upm], self.passes_of_timer_loop_0))
                    .total,
            })
        };
        [program(0), program(1)]
    }

    /// Records a store to a write-protected bank.
    pub fn note_write_protect_error(&mut self) {
        self.mstat |= MSTAT_WPER;
    }

    /// Reads the register at `offset` from IMMR. `None`: no register of this block.
    pub fn read(&self, offset: u32) -> Option<u32> {
        Some(match offset {
            0x100..=0x13C if offset & 4 == 0 => self.br[(offset as usize - 0x100) / 8],
            0x100..=0x13C => self.or[(offset as usize - 0x100) / 8],
            0x164 => self.mar,
            0x168 => self.mcr,
            0x170 => self.mode[0],
            0x174 => self.mode[1],
            0x178 => u32::from(self.mstat),
            0x17A => u32::from(self.mptpr),
            0x17C => self.mdr,
            _ => return None,
        })
    }

    /// Writes the bits of `mask` in the register at `offset`. Returns whether there is such a register.
    pub fn write(&mut self, offset: u32, value: u32, mask: u32) -> bool {
        let merge = |old: u32| (old & !mask) | (value & mask);
        match offset {
            0x100..=0x13C => {
                let bank = (offset as usize - 0x100) / 8;
                let register = if offset & 4 == 0 {
                    &mut self.br[bank]
                } else {
                    &mut self.or[bank]
                };
                *register = merge(*register);
                self.decode();
            }
            0x164 => self.mar = merge(self.mar),
            0x168 => {
                self.mcr = merge(self.mcr);
                self.command();
            }
            0x170 | 0x174 => {
                let upm = usize::from(offset == 0x174);
                self.mode[upm] = merge(self.mode[upm]);
                self.decode();
            }
            0x178 => self.mstat &= !(value & mask) as u16,
            0x17A => self.mptpr = merge(u32::from(self.mptpr)) as u16,
            0x17C => self.mdr = merge(self.mdr),
            _ => return false,
        }
        true
    }

    /// Executes the command in MCR: OP in bits 0-1, UM bit 8, MAD in bits 26-31.
    fn command(&mut self) {
        let upm = usize::from(self.mcr & 0x0080_0000 != 0);
        let index = (self.mcr & 0x3F) as usize;
        match self.mcr >> 30 {
            0 => {
                self.array[upm][index] = self.mdr;
                self.decode();
            }
            1 => self.mdr = self.array[upm][index],
            // RUN drives the pattern once for its effect on the memory chips, which need none here.
            _ => {}
        }
    }

    fn decode(&mut self) {
        for index in 0..BANKS {
            let (br, or) = (self.br[index], self.or[index]);
            let machine = match br & BR_MS {
                BR_MS_UPMA => Machine::Upm(0),
                BR_MS_UPMB => Machine::Upm(1),
                _ => Machine::General,
            };
            let mut bank = Bank {
                base: br & BR_BA,
                mask: or & OR_AM,
                valid: br & BR_V != 0,
                write_protected: br & BR_WP != 0,
                external_acknowledge: machine == Machine::General && or & OR_SETA != 0,
                port_bytes: match br & BR_PS {
                    0x0400 => 1,
                    0x0800 => 2,
                    _ => 4,
                },
                machine,
                clocks: [None; 4],
            };
            for kind in [
                CycleKind::SingleRead,
                CycleKind::SingleWrite,
                CycleKind::BurstRead,
                CycleKind::BurstWrite,
            ] {
                bank.clocks[kind as usize] = self.cycle(&bank, or, kind);
            }
            self.banks[index] = bank;
        }
    }

    /// One cycle of 4 bytes (single) or 16 bytes (burst) through the bank's port.
    fn cycle(&self, bank: &Bank, or: u32, kind: CycleKind) -> Option<BusClocks> {
        let burst = matches!(kind, CycleKind::BurstRead | CycleKind::BurstWrite);
        let write = matches!(kind, CycleKind::SingleWrite | CycleKind::BurstWrite);
        let transfers_per_word = 4 / bank.port_bytes;
        let beats = if burst { 4 } else { 1 };
        match bank.machine {
            // The general-purpose machine does not burst: the core's burst becomes single beats.
            Machine::General => {
                let one = general_purpose_clocks(or, write);
                Some(repeat(one_word(one, transfers_per_word), beats))
            }
            Machine::Upm(upm) if burst && or & OR_BI == 0 => {
                let start = if write { START_BURST_WRITE } else { START_BURST_READ };
                let clocks = self.run_pattern(upm, start, self.loops(upm, write));
                (clocks.acknowledges >= 4 * transfers_per_word).then_some(clocks)
            }
            Machine::Upm(upm) => {
                let start = if write { START_SINGLE_WRITE } else { START_SINGLE_READ };
                let clocks = self.run_pattern(upm, start, self.loops(upm, write));
                (clocks.acknowledges > 0).then(|| repeat(one_word(clocks, transfers_per_word), beats))
            }
        }
    }

    /// Passes of the loop in a pattern that reads or writes: MxMR\[RLF\] or MxMR\[WLF\].
    fn loops(&self, upm: usize, write: bool) -> u32 {
        passes(self.mode[upm] >> if write { 4 } else { 8 }, PASSES_OF_LOOP_0)
    }

    /// Walks the array from `start` to LAST, `passes` times over the words between two LOOP words.
    fn run_pattern(&self, upm: usize, start: usize, passes: u32) -> BusClocks {
        let mut clocks = BusClocks {
            first: 0,
            last: 0,
            acknowledges: 0,
            total: 0,
        };
        let mut loop_start = None;
        let mut passes_done = 0;
        let mut index = start;
        while index < UPM_WORDS {
            let word = self.array[upm][index];
            clocks.total += 1;
            if word & UPM_UTA == 0 {
                clocks.acknowledges += 1;
                clocks.last = clocks.total;
                if clocks.first == 0 {
                    clocks.first = clocks.total;
                }
            }
            if word & UPM_LOOP != 0 {
                match loop_start {
                    None => loop_start = Some(index),
                    // The opening word of a further pass.
                    Some(first) if first == index => {}
                    Some(first) => {
                        passes_done += 1;
                        if passes_done < passes {
                            index = first;
                            continue;
                        }
                        loop_start = None;
                        passes_done = 0;
                    }
                }
            }
            if word & UPM_LAST != 0 {
                break;
            }
            index += 1;
        }
        clocks
    }
}

/// A loop field as a number of passes.
fn passes(field: u32, of_zero: u32) -> u32 {
    match field & 0xF {
        0 => of_zero,
        passes => passes,
    }
}

/// The general-purpose machine: 2 clocks and SCY wait states; TRLX doubles the wait states and, with address set-up
/// (ACS other than 00), adds a clock; a store with CSNT under TRLX ends one clock later; EHTR holds the bus one clock
/// after a read. \[R\] MPC860 User's Manual, table of GPCM strobe timing.
fn general_purpose_clocks(or: u32, write: bool) -> BusClocks {
    let scy = (or >> OR_SCY_SHIFT) & 0xF;
    let relaxed = or & OR_TRLX != 0;
    let mut total = 2 + scy;
    if relaxed {
        total += scy;
        total += u32::from(or & OR_ACS != 0);
        total += u32::from(write && or & OR_CSNT != 0);
    }
    let acknowledge = total;
    if !write && or & OR_EHTR != 0 {
        total += 1;
    }
    BusClocks {
        first: acknowledge,
        last: acknowledge,
        acknowledges: 1,
        total,
    }
}

/// The transfers of one word through a port of 1, 2 or 4 bytes, seen as one acknowledge when the last has ended.
fn one_word(one: BusClocks, transfers: u32) -> BusClocks {
    let acknowledge = one.total * (transfers - 1) + one.last;
    BusClocks {
        first: acknowledge,
        last: acknowledge,
        acknowledges: 1,
        total: one.total * transfers,
    }
}

/// `beats` equal words one after another.
fn repeat(word: BusClocks, beats: u32) -> BusClocks {
    BusClocks {
        first: word.first,
        last: word.total * (beats - 1) + word.last,
        acknowledges: beats,
        total: word.total * beats,
    }
}
