//! The dual-port RAM with the parameter RAM: 8 KiB at IMMR+0x2000, addressed by offset from there.

/// Bytes of the window at IMMR+0x2000.
pub const WINDOW: usize = 0x2000;
/// Offset of the parameter RAM.
pub const PARAMETER_RAM: u32 = 0x1C00;

/// The memory. Parts with less dual-port RAM have a gap below the parameter RAM that reads 0 and ignores stores.
#[derive(Clone, Debug)]
pub struct DualPortRam {
    bytes: Vec<u8>,
    implemented: u32,
}

impl DualPortRam {
    /// `bytes` of memory, the parameter RAM included.
    pub fn new(bytes: u32) -> Self {
        let parameter_ram = WINDOW as u32 - PARAMETER_RAM;
        Self {
            bytes: vec![0; WINDOW],
            implemented: bytes.saturating_sub(parameter_ram).min(PARAMETER_RAM),
        }
    }

    fn exists(&self, offset: u32) -> bool {
        offset < self.implemented || offset >= PARAMETER_RAM
    }

    /// One byte; offsets wrap at the window.
    pub fn read8(&self, offset: u32) -> u8 {
        self.bytes[offset as usize % WINDOW]
    }

    /// A big-endian halfword.
    pub fn read16(&self, offset: u32) -> u16 {
        u16::from_be_bytes([self.read8(offset), self.read8(offset.wrapping_add(1))])
    }

    /// A big-endian word.
    pub fn read32(&self, offset: u32) -> u32 {
        u32::from(self.read16(offset)) << 16 | u32::from(self.read16(offset.wrapping_add(2)))
    }

    /// Stores one byte.
    pub fn write8(&mut self, offset: u32, value: u8) {
        let offset = offset % WINDOW as u32;
        if self.exists(offset) {
            self.bytes[offset as usize] = value;
        }
    }

    /// Stores a halfword.
    pub fn write16(&mut self, offset: u32, value: u16) {
        for (index, byte) in value.to_be_bytes().into_iter().enumerate() {
            self.write8(offset.wrapping_add(index as u32), byte);
        }
    }

    /// Stores a word.
    pub fn write32(&mut self, offset: u32, value: u32) {
        for (index, byte) in value.to_be_bytes().into_iter().enumerate() {
            self.write8(offset.wrapping_add(index as u32), byte);
        }
    }
}
