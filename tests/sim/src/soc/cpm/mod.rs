//! The communications processor module: commands, baud-rate generators, interrupt controller, dual-port RAM and the
//! two serial management controllers. SCCs, SPI, I2C, timers and the other blocks are registers that hold what was
//! stored (see [`crate::soc`]); no traffic goes through them.

pub mod cpic;
pub mod dpram;
pub mod line;
pub mod smc;

use super::clocks::Clocks;
use cpic::{Cpic, vector};
use dpram::DualPortRam;
use smc::{BufferAccess, Port, Smc, Surroundings};

const CPCR_RST: u32 = 0x8000;
const CPCR_FLG: u32 = 0x0001;
const CHANNEL_SMC1: u32 = 9;
const CHANNEL_SMC2: u32 = 0xD;

const BRGC_RST: u32 = 0x0002_0000;
const BRGC_EN: u32 = 0x0001_0000;
const BRGC_EXTC: u32 = 0x0000_C000;
const BRGC_DIV16: u32 = 0x0000_0001;
/// Over-sampling of an SMC in UART mode.
const UART_OVERSAMPLING: u64 = 16;

/// Default parameter pages.
const PAGE_SMC1: u32 = 0x1E80;
const PAGE_SMC2: u32 = 0x1F80;
/// REV_NUM, from IMMR+0x2000.
const REV_NUM: u32 = 0x1CB0;

/// SDSR\[SBER\]: an SDMA cycle ended with TEA.
const SDSR_SBER: u8 = 0x80;

/// The module.
#[derive(Clone, Debug)]
pub struct Cpm {
    /// Dual-port and parameter RAM.
    pub dpram: DualPortRam,
    cpic: Cpic,
    brgc: [u32; 4],
    simode: u32,
    smc: [Smc; 2],
    sdsr: u8,
    sdmr: u8,
    microcode_revision: u16,
    dpram_bytes: u32,
}

/// What the module needs from the rest of the chip and of the board.
pub struct Environment<'a> {
    /// Data buffers outside the dual-port RAM.
    pub buffers: &'a mut dyn BufferAccess,
    /// The terminals on SMC1 and SMC2.
    pub ports: &'a mut [Port; 2],
    /// Clocks.
    pub clocks: &'a Clocks,
    /// Transmission takes no time.
    pub instant: bool,
}

impl Cpm {
    /// The state after hard reset. `dpram_bytes` counts the dual-port RAM with the parameter RAM.
    pub fn new(dpram_bytes: u32, microcode_revision: u16) -> Self {
        let mut dpram = DualPortRam::new(dpram_bytes);
        dpram.write16(REV_NUM, microcode_revision);
        Self {
            dpram,
            cpic: Cpic::default(),
            brgc: [0; 4],
            simode: 0,
            smc: [Smc::new(PAGE_SMC1), Smc::new(PAGE_SMC2)],
            sdsr: 0,
            sdmr: 0,
            microcode_revision,
            dpram_bytes,
        }
    }

    /// Hard reset: registers only; the dual-port RAM keeps its content but for REV_NUM.
    pub fn reset(&mut self) {
        let mut fresh = Self::new(self.dpram_bytes, self.microcode_revision);
        std::mem::swap(&mut fresh.dpram, &mut self.dpram);
        fresh.dpram.write16(REV_NUM, self.microcode_revision);
        *self = fresh;
    }

    /// CPCR\[RST\]: the channels stop, the interrupt controller and the generators stay. The microcode starts again and
    /// puts its revision where it belongs, which software may have cleared with the rest of the memory: U-Boot does,
    /// and reads the revision afterwards. \[A\]
    fn reset_channels(&mut self) {
        self.dpram.write16(REV_NUM, self.microcode_revision);
        self.smc = [Smc::new(PAGE_SMC1), Smc::new(PAGE_SMC2)];
    }

    /// Core clocks per UART bit of SMC`index`; `None`: its clock is a pin, or the generator stands still.
    fn bit_clocks(&self, index: usize, clocks: &Clocks) -> Option<u64> {
        let source = (self.simode >> if index == 0 { 12 } else { 28 }) & 7;
        let brgc = *self.brgc.get(source as usize)?;
        if brgc & BRGC_EN == 0 || brgc & (BRGC_RST | BRGC_EXTC) != 0 {
            return None;
        }
        let divider = u64::from((brgc >> 1) & 0xFFF) + 1;
        let prescale = if brgc & BRGC_DIV16 != 0 { 16 } else { 1 };
        Some(divider * prescale * UART_OVERSAMPLING * clocks.brgclk_divider())
    }

    /// Does everything that is due up to core clock `now`.
    pub fn step(&mut self, now: u64, environment: &mut Environment) {
        for index in 0..2 {
            let bit_clocks = self.bit_clocks(index, environment.clocks);
            let mut around = Surroundings {
                dpram: &mut self.dpram,
                buffers: environment.buffers,
                port: &mut environment.ports[index],
                bit_clocks,
                core_hz: environment.clocks.core_hz(),
                instant: environment.instant,
            };
            self.smc[index].step(now, &mut around);
            if self.smc[index].take_dma_error() {
                self.sdsr |= SDSR_SBER;
            }
        }
        self.cpic.follow(vector::SMC1, self.smc[0].interrupts());
        self.cpic.follow(vector::SMC2, self.smc[1].interrupts());
        self.cpic
            .follow(vector::SDMA_ERROR, self.sdsr & self.sdmr & SDSR_SBER != 0);
    }

    /// The terminal of a port has new symbols, or none any more.
    pub fn next_event(&self) -> u64 {
        self.smc[0].next_event().min(self.smc[1].next_event())
    }

    /// The active interrupt level, bit 7-k for level k.
    pub fn level(&self) -> u8 {
        self.cpic.level()
    }

    /// Reads the register at `offset` from IMMR; the caller has stepped to now. `None`: no register of this block.
    pub fn read(&self, offset: u32) -> Option<u32> {
        Some(match offset {
            0x908 => u32::from(self.sdsr),
            0x90C => u32::from(self.sdmr),
            // A command is executed at once: FLG is never seen set.
            0x9C0 => 0,
            0x9F0..=0x9FC => self.brgc[(offset as usize - 0x9F0) / 4],
            0xA82 => u32::from(self.smc[0].mode()),
            0xA86 => u32::from(self.smc[0].event()),
            0xA8A => u32::from(self.smc[0].mask()),
            0xA92 => u32::from(self.smc[1].mode()),
            0xA96 => u32::from(self.smc[1].event()),
            0xA9A => u32::from(self.smc[1].mask()),
            0xAE0 => self.simode,
            _ => return self.cpic.read(offset),
        })
    }

    /// Writes the bits of `mask` in the register at `offset`; the caller has stepped to now and
    /// steps again afterwards. Returns whether there is such a register.
    pub fn write(&mut self, offset: u32, value: u32, mask: u32, environment: &mut Environment) -> bool {
        let merge = |old: u32| (old & !mask) | (value & mask);
        let index = usize::from(offset & 0x10 != 0);
        match offset {
            0x908 => self.sdsr &= !(value & mask) as u8,
            0x90C => self.sdmr = merge(u32::from(self.sdmr)) as u8,
            0x9C0 => self.command(value & mask, environment),
            0x9F0..=0x9FC => {
                let register = &mut self.brgc[(offset as usize - 0x9F0) / 4];
                *register = merge(*register);
            }
            0xA82 | 0xA92 => {
                let mode = merge(u32::from(self.smc[index].mode()));
                self.smc[index].set_mode(mode as u16);
            }
            0xA86 | 0xA96 => self.smc[index].clear_event((value & mask) as u8),
            0xA8A | 0xA9A => {
                let mask = merge(u32::from(self.smc[index].mask()));
                self.smc[index].set_mask(mask as u8);
            }
            0xAE0 => self.simode = merge(self.simode),
            _ => return self.cpic.write(offset, value, mask),
        }
        true
    }

    fn command(&mut self, value: u32, environment: &mut Environment) {
        if value & CPCR_RST != 0 {
            self.reset_channels();
            return;
        }
        let index = match (value >> 4) & 0xF {
            CHANNEL_SMC1 => 0,
            CHANNEL_SMC2 => 1,
            // The other channels have no state to initialise.
            _ => return,
        };
        if value & CPCR_FLG == 0 {
            return;
        }
        let bit_clocks = self.bit_clocks(index, environment.clocks);
        let mut around = Surroundings {
            dpram: &mut self.dpram,
            buffers: environment.buffers,
            port: &mut environment.ports[index],
            bit_clocks,
            core_hz: environment.clocks.core_hz(),
            instant: environment.instant,
        };
        self.smc[index].command(((value >> 8) & 0xF) as u16, &mut around);
    }
}
