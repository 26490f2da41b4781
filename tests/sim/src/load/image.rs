//! An image: bytes with physical addresses and an entry point.

use super::{LoadError, elf, load_error, uimage};

/// Bytes that belong at a physical address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Physical address.
    pub address: u32,
    /// Effective address for which it was linked; the physical one where the file says nothing else.
    pub effective: u32,
    /// Content.
    pub bytes: Vec<u8>,
    /// Size in memory; what the content does not cover is zeroed.
    pub memory_bytes: u32,
}

/// An image ready to be placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// What it was, for messages.
    pub kind: &'static str,
    /// Content.
    pub segments: Vec<Segment>,
    /// Physical address of the first instruction.
    pub entry: u32,
}

impl Image {
    /// Recognises `bytes` by their magic: ELF, legacy uImage, or else raw content for `raw_address`, where it is also
    /// entered.
    ///
    /// # Errors
    /// The file is broken, or made for another machine.
    pub fn parse(bytes: &[u8], raw_address: u32) -> Result<Self, LoadError> {
        if bytes.starts_with(elf::MAGIC) {
            elf::image(bytes)
        } else if bytes.starts_with(&uimage::MAGIC.to_be_bytes()) {
            uimage::image(bytes)
        } else {
            Self::raw(bytes, raw_address)
        }
    }

    /// Raw content for `address`, entered at its first byte.
    ///
    /// # Errors
    /// It is empty, or reaches beyond the address space.
    pub fn raw(bytes: &[u8], address: u32) -> Result<Self, LoadError> {
        if bytes.is_empty() {
            return Err(load_error!("image is empty"));
        }
        let memory_bytes = u32::try_from(bytes.len())
            .ok()
            .filter(|length| address.checked_add(length - 1).is_some())
            .ok_or_else(|| load_error!("raw image of {} bytes does not fit above {address:#x}", bytes.len()))?;
        let segment = Segment {
            address,
            effective: address,
            bytes: bytes.to_vec(),
            memory_bytes,
        };
        Ok(Self {
            kind: "raw image",
            segments: vec![segment],
            entry: address,
        })
    }

    /// The first physical address after the image.
    pub fn end(&self) -> u64 {
        self.segments
            .iter()
            .map(|segment| u64::from(segment.address) + u64::from(segment.memory_bytes))
            .max()
            .unwrap_or(0)
    }
}
