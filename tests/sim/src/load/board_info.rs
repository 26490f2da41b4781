//! `bd_info`, what U-Boot hands to software that takes no device tree. Two layouts exist and neither says which it is:
//! U-Boot's `asm/u-boot.h` before 2022 and `asm-generic/u-boot.h` since. \[V\]

/// The order of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The `bd_t` of MPC8xx U-Boots before 2022: memory first.
    Old,
    /// The unified `struct bd_info`: flash first.
    New,
}

/// What the structure tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoardInfo {
    /// Bytes of RAM, from 0.
    pub memory_bytes: u32,
    /// Physical address of the flash.
    pub flash_start: u32,
    /// Bytes of flash.
    pub flash_bytes: u32,
    /// Base of the internal memory map.
    pub immr_base: u32,
    /// Core clock.
    pub core_hz: u32,
    /// Bus clock.
    pub bus_hz: u32,
    /// Console speed.
    pub baud: u32,
}

impl BoardInfo {
    /// The structure as it lies in memory.
    pub fn to_bytes(&self, layout: Layout) -> Vec<u8> {
        // Flash offset, boot flags, IP address, Ethernet address and speed are zero: no monitor lies in the flash, and
        // no network is configured.
        let words: &[u32] = match layout {
            Layout::Old => &[
                0,
                self.memory_bytes,
                self.flash_start,
                self.flash_bytes,
                0,
                0,
                0,
                self.immr_base,
                0,
                0,
                0,
                0,
                self.core_hz,
                self.bus_hz,
                self.baud,
            ],
            Layout::New => &[
                self.flash_start,
                self.flash_bytes,
                0,
                self.immr_base,
                0,
                0,
                0,
                self.core_hz,
                self.bus_hz,
                0,
                0,
            ],
        };
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }
}
