//! A Fast Ethernet controller without a network: its registers read back, and its management interface answers that no
//! PHY is there. Source: MPC860T supplement \[R\]; U-Boot `drivers/net/mpc8xx_fec.c` for the presence test and the
//! order of accesses \[V\].

const BYTES: usize = 0x200;

const ECNTRL: u32 = 0x040;
const ECNTRL_RESET: u32 = 0x0000_0001;
const IEVENT: u32 = 0x044;
const IEVENT_MII: u32 = 0x0080_0000;
const MII_DATA: u32 = 0x080;
/// What the management data line reads when nothing answers.
const MII_NO_PHY: u32 = 0xFFFF;

/// The register block.
#[derive(Clone, Debug)]
pub struct Fec {
    registers: Vec<u32>,
}

impl Fec {
    /// The state after reset.
    pub fn new() -> Self {
        Self {
            registers: vec![0; BYTES / 4],
        }
    }

    /// Reads the word at `offset` from the block.
    pub fn read(&self, offset: u32) -> u32 {
        self.registers[offset as usize / 4 % self.registers.len()]
    }

    /// Writes the bits of `mask` in the word at `offset` from the block.
    pub fn write(&mut self, offset: u32, value: u32, mask: u32) {
        let index = offset as usize / 4 % self.registers.len();
        let merged = (self.registers[index] & !mask) | (value & mask);
        match offset {
            ECNTRL => self.registers[index] = merged & !ECNTRL_RESET,
            IEVENT => self.registers[index] &= !(value & mask),
            MII_DATA => {
                self.registers[index] = merged | MII_NO_PHY;
                self.registers[IEVENT as usize / 4] |= IEVENT_MII;
            }
            _ => self.registers[index] = merged,
        }
    }
}

impl Default for Fec {
    fn default() -> Self {
        Self::new()
    }
}
