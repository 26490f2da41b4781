//! Everything outside the chip: what is soldered behind each chip select, the store that holds memory content, and the
//! faults injected there.

use super::cpm::dpram::DualPortRam;
use super::cpm::smc::BufferAccess;
use super::flash::Flash;
use super::inject::BusFaults;
use super::memctl::{BANKS, MemoryController};
use crate::bus::{CycleKind, DirectPage, Width};

const PAGE: u32 = 0x1000;

/// What a chip select is wired to.
#[derive(Clone, Debug)]
pub enum Socket {
    /// Nothing: loads float high, stores vanish.
    Empty,
    /// Memory of `bytes` bytes whose content starts at `offset` of the store. It does not repeat above its size.
    Ram {
        /// Byte offset in the store.
        offset: usize,
        /// Size.
        bytes: u32,
    },
    /// Flash; it repeats above its size, as its address lines do.
    Flash(Flash),
    /// Board registers: they hold what is stored and repeat above their size.
    Registers(Registers),
}

/// A small block of board registers.
#[derive(Clone, Debug)]
pub struct Registers {
    /// Content after reset; its length is a power of two.
    pub reset: Vec<u8>,
    bytes: Vec<u8>,
}

impl Registers {
    /// Registers with this content after reset. The length is rounded up to a power of two.
    pub fn new(mut reset: Vec<u8>) -> Self {
        reset.resize(reset.len().next_power_of_two(), 0);
        Self {
            bytes: reset.clone(),
            reset,
        }
    }

    fn read(&self, offset: u32, bytes: u32) -> u32 {
        (0..bytes).fold(0, |value, index| {
            value << 8 | u32::from(self.bytes[self.position(offset, index)])
        })
    }

    fn write(&mut self, offset: u32, bytes: u32, value: u32) {
        for index in 0..bytes {
            let at = self.position(offset, index);
            self.bytes[at] = (value >> (8 * (bytes - 1 - index))) as u8;
        }
    }

    fn position(&self, offset: u32, index: u32) -> usize {
        offset.wrapping_add(index) as usize % self.bytes.len()
    }
}

/// Why a cycle ended with TEA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferError {
    /// Nothing answered.
    Timeout,
    /// A store to a write-protected bank, or an injected fault.
    External,
}

/// The board's side of the bus.
pub struct ExternalBus {
    /// Chip selects and machines.
    pub memctl: MemoryController,
    /// RAM, then flash.
    pub store: Vec<u8>,
    /// By chip select.
    pub sockets: [Socket; BANKS],
    /// Armed bus faults.
    pub faults: BusFaults,
    /// Counts changes of what [`ExternalBus::direct`] answers.
    pub generation: u32,
}

impl ExternalBus {
    /// The bank that answers a cycle at `address`; `None`: the cycle is never acknowledged.
    fn answering(&self, address: u32, write: bool) -> Option<usize> {
        let bank = self.memctl.bank(address)?;
        let kind = if write {
            CycleKind::SingleWrite
        } else {
            CycleKind::SingleRead
        };
        let acknowledged = self.memctl.acknowledges(bank, kind)
            && !(self.memctl.external_acknowledge(bank) && matches!(self.sockets[bank], Socket::Empty));
        acknowledged.then_some(bank)
    }

    /// Whether the page that holds `address` is plain memory now.
    pub fn direct(&self, address: u32) -> Option<DirectPage> {
        let page = address & !(PAGE - 1);
        let bank = self.answering(page, false)?;
        let (loads_watched, stores_watched) = if self.faults.is_empty() {
            (false, false)
        } else {
            self.faults.watches_page(page)
        };
        if loads_watched {
            return None;
        }
        let at = self.memctl.device_offset(bank, page);
        match &self.sockets[bank] {
            Socket::Ram { offset, bytes } if at.checked_add(PAGE)? <= *bytes => Some(DirectPage {
                offset: offset + at as usize,
                writable: !stores_watched
                    && !self.memctl.write_protected(bank)
                    && self.memctl.acknowledges(bank, CycleKind::SingleWrite),
            }),
            Socket::Flash(flash) if flash.is_read_array() => Some(DirectPage {
                offset: flash.offset + (at % flash.bytes()) as usize,
                writable: false,
            }),
            _ => None,
        }
    }

    /// One load.
    pub fn read(&mut self, address: u32, width: Width, now: u64) -> Result<u32, TransferError> {
        let bytes = width as u32;
        if !self.faults.is_empty() && self.faults.strikes(address, bytes, false) {
            return Err(TransferError::External);
        }
        let bank = self.answering(address, false).ok_or(TransferError::Timeout)?;
        let at = self.memctl.device_offset(bank, address);
        let floating = u32::MAX >> (32 - 8 * bytes);
        match &mut self.sockets[bank] {
            Socket::Empty => Ok(floating),
            Socket::Ram { offset, bytes: size } => {
                if at.checked_add(bytes).is_none_or(|end| end > *size) {
                    return Ok(floating);
                }
                let start = *offset + at as usize;
                Ok(self.store[start..start + bytes as usize]
                    .iter()
                    .fold(0, |value, byte| value << 8 | u32::from(*byte)))
            }
            Socket::Flash(flash) => {
                let was_array = flash.is_read_array();
                let value = flash.read(&self.store, at % flash.bytes(), bytes, now);
                self.generation = self
                    .generation
                    .wrapping_add(u32::from(was_array != flash.is_read_array()));
                Ok(value)
            }
            Socket::Registers(registers) => Ok(registers.read(at, bytes)),
        }
    }

    /// One store.
    pub fn write(&mut self, address: u32, width: Width, value: u32, now: u64) -> Result<(), TransferError> {
        let bytes = width as u32;
        if !self.faults.is_empty() && self.faults.strikes(address, bytes, true) {
            return Err(TransferError::External);
        }
        let bank = self.answering(address, true).ok_or(TransferError::Timeout)?;
        if self.memctl.write_protected(bank) {
            self.memctl.note_write_protect_error();
            return Err(TransferError::External);
        }
        let at = self.memctl.device_offset(bank, address);
        match &mut self.sockets[bank] {
            Socket::Empty => {}
            Socket::Ram { offset, bytes: size } => {
                if at.checked_add(bytes).is_some_and(|end| end <= *size) {
                    let start = *offset + at as usize;
                    let big_endian = value.to_be_bytes();
                    self.store[start..start + bytes as usize].copy_from_slice(&big_endian[4 - bytes as usize..]);
                }
            }
            Socket::Flash(flash) => {
                flash.write(&mut self.store, at % flash.bytes(), bytes, value, now);
                self.generation = self.generation.wrapping_add(1);
            }
            Socket::Registers(registers) => registers.write(at, bytes, value),
        }
        Ok(())
    }

    /// The position in the store of the memory byte at `address`, if memory answers there.
    pub fn position(&self, address: u32) -> Option<usize> {
        let bank = self.memctl.bank(address)?;
        let at = self.memctl.device_offset(bank, address);
        match &self.sockets[bank] {
            Socket::Ram { offset, bytes } if at < *bytes => Some(offset + at as usize),
            Socket::Flash(flash) => Some(flash.offset + (at % flash.bytes()) as usize),
            _ => None,
        }
    }

    /// Stores `bytes` in the memories from `address` on, without a bus cycle.
    ///
    /// # Errors
    /// The first address at which no memory answers; what lies below it has been stored.
    pub fn place(&mut self, address: u32, bytes: &[u8]) -> Result<(), u32> {
        let mut done = 0;
        while done < bytes.len() {
            let at = u32::try_from(done)
                .ok()
                .and_then(|done| address.checked_add(done))
                .ok_or(u32::MAX)?;
            let position = self.position(at).ok_or(at)?;
            // Memory is contiguous within a page of the store.
            let count = (PAGE - at % PAGE) as usize;
            let count = count.min(bytes.len() - done);
            self.store[position..position + count].copy_from_slice(&bytes[done..done + count]);
            done += count;
        }
        self.generation = self.generation.wrapping_add(1);
        Ok(())
    }

    /// The flash chips, with the chip select each is wired to.
    pub fn flashes(&mut self) -> impl Iterator<Item = (usize, &mut Flash)> {
        self.sockets
            .iter_mut()
            .enumerate()
            .filter_map(|(bank, socket)| match socket {
                Socket::Flash(flash) => Some((bank, flash)),
                _ => None,
            })
    }

    /// The content of the flash on CS0, and whether software has changed it since it was last saved.
    pub fn flash_content(&self) -> Option<(&[u8], bool)> {
        match &self.sockets[0] {
            Socket::Flash(flash) => {
                let content = &self.store[flash.offset..][..flash.bytes() as usize];
                Some((content, flash.is_dirty()))
            }
            _ => None,
        }
    }

    /// Hard reset of what is wired to HRESET; memory keeps its content.
    pub fn reset(&mut self, boot_port: u32, boot_enabled: bool) {
        let passes_of_timer_loop_0 = self.memctl.passes_of_timer_loop_0;
        self.memctl = MemoryController::new(boot_port, boot_enabled);
        self.memctl.passes_of_timer_loop_0 = passes_of_timer_loop_0;
        for socket in &mut self.sockets {
            match socket {
                Socket::Flash(flash) => flash.reset(),
                Socket::Registers(registers) => registers.bytes.clone_from(&registers.reset),
                Socket::Empty | Socket::Ram { .. } => {}
            }
        }
        self.generation = self.generation.wrapping_add(1);
    }
}

/// The CP's way to data buffers: dual-port RAM inside the chip, everything else over the external bus.
pub struct CpBuffers<'a> {
    /// The external bus.
    pub external: &'a mut ExternalBus,
    /// Base of the internal memory map.
    pub immr_base: u32,
}

/// Offset of the dual-port RAM in the internal memory map.
const DPRAM_OFFSET: u32 = 0x2000;

impl CpBuffers<'_> {
    fn dpram_offset(&self, address: u32) -> Option<u32> {
        let offset = address.wrapping_sub(self.immr_base);
        (DPRAM_OFFSET..2 * DPRAM_OFFSET)
            .contains(&offset)
            .then_some(offset - DPRAM_OFFSET)
    }
}

impl BufferAccess for CpBuffers<'_> {
    fn load(&mut self, dpram: &DualPortRam, address: u32, now: u64) -> Option<u8> {
        match self.dpram_offset(address) {
            Some(offset) => Some(dpram.read8(offset)),
            None => self
                .external
                .read(address, Width::Byte, now)
                .ok()
                .map(|value| value as u8),
        }
    }

    fn store(&mut self, dpram: &mut DualPortRam, address: u32, value: u8, now: u64) -> Option<()> {
        match self.dpram_offset(address) {
            Some(offset) => {
                dpram.write8(offset, value);
                Some(())
            }
            None => self.external.write(address, Width::Byte, u32::from(value), now).ok(),
        }
    }
}
