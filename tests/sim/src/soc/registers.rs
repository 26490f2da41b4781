//! The geometry of the internal memory map: where registers begin, how wide they are, and the registers that do
//! nothing but hold a value. Source: U-Boot `immap_8xx.h`.

/// Start and size in bytes of the register that holds `offset`. What is not listed is a row of byte registers.
pub fn register_at(offset: u32) -> (u32, u32) {
    let size = match offset {
        0x000..=0x00B | 0x010..=0x0BF | 0x100..=0x13F | 0x164..=0x177 | 0x17C..=0x17F => 4,
        0x00C..=0x00F | 0x178..=0x17B | 0x200..=0x203 | 0x220..=0x223 | 0x240..=0x243 => 2,
        0x204..=0x20B | 0x224..=0x22F | 0x244..=0x24B | 0x280..=0x28B | 0x300..=0x38F => 4,
        0x904..=0x907 => 4,
        0x930..=0x933 | 0x950..=0x977 | 0x980..=0x9C3 => 2,
        0x940..=0x94F | 0x9F0..=0x9FF => 4,
        0x9D6..=0x9D7 | 0x9DA..=0x9DB => 2,
        0xA00..=0xA7F => {
            // GSMR_L, GSMR_H, then halfwords, with SCCS in the last byte.
            if offset % 0x20 < 8 {
                4
            } else if offset % 0x20 == 0x17 {
                1
            } else {
                2
            }
        }
        0xA82..=0xA83 | 0xA92..=0xA93 | 0xAA0..=0xAA1 | 0xAC2..=0xAC3 => 2,
        0xAB8..=0xABF | 0xAC4..=0xADB | 0xAE0..=0xAE3 | 0xAEC..=0xAF3 => 4,
        0xE00..=0xFFF | 0x1E00..=0x1FFF => 4,
        _ => 1,
    };
    (offset & !(size - 1), size)
}

/// Whether nothing answers at `offset`: the gap above RSR, which Linux reads to provoke a machine check, and the part
/// of the decoded 64 KiB that the chip does not use \[A\].
pub fn is_hole(offset: u32) -> bool {
    matches!(offset, 0x28C..=0x2FF | 0x4000..)
}

/// The offset in the dual-port RAM.
pub fn dual_port_ram(offset: u32) -> Option<u32> {
    (0x2000..0x4000).contains(&offset).then(|| offset - 0x2000)
}

/// Event registers of blocks that have no behaviour here: writing 1 clears. RTER, TER1-4, SCCE1-4, SPIE, I2CER, the
/// PCMCIA's PSCR.
const WRITE_ONE_TO_CLEAR: &[u32] = &[
    0x0E8, 0x870, 0x9B0, 0x9B2, 0x9B4, 0x9B6, 0x9D6, 0xA10, 0xA30, 0xA50, 0xA70, 0xAA6,
];

/// Registers without behaviour. Offsets beyond the block (a misaligned access at its end) read 0.
#[derive(Clone, Debug)]
pub struct RegisterFile {
    bytes: Vec<u8>,
}

impl RegisterFile {
    /// All zero.
    pub fn new() -> Self {
        Self { bytes: vec![0; 0x2000] }
    }

    /// Reads the register that starts at `offset`.
    pub fn read(&self, offset: u32) -> u32 {
        let (start, size) = register_at(offset);
        (start..start + size).fold(0, |value, at| {
            value << 8 | u32::from(self.bytes.get(at as usize).copied().unwrap_or(0))
        })
    }

    /// Writes the bits of `mask` in the register that starts at `offset`.
    pub fn write(&mut self, offset: u32, value: u32, mask: u32) {
        let (start, size) = register_at(offset);
        let old = self.read(start);
        let new = if WRITE_ONE_TO_CLEAR.contains(&start) {
            old & !(value & mask)
        } else {
            (old & !mask) | (value & mask)
        };
        for index in 0..size {
            if let Some(byte) = self.bytes.get_mut((start + index) as usize) {
                *byte = (new >> (8 * (size - 1 - index))) as u8;
            }
        }
    }
}

impl Default for RegisterFile {
    fn default() -> Self {
        Self::new()
    }
}
