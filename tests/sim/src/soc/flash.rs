//! CFI flash with the AMD command set: query, autoselect, word and buffer program, sector and chip erase, erase
//! suspend as a no-op, and the status bits DQ7, DQ6, DQ5, DQ3, DQ2 while an algorithm runs.
//!
//! One x16 chip on a 16-bit port, or two of them side by side on a 32-bit port. Facts: JEDEC CFI publication 100 and
//! AMD Am29LV320D data sheet \[R\]; the sequences that software sends: U-Boot `drivers/mtd/cfi_flash.c`, Linux
//! `cfi_cmdset_0002.c` \[V\]. The content lives in the board's store; this file holds the state machine only.

/// What a chip is: geometry and identification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashChip {
    /// The name on the package.
    pub name: &'static str,
    /// Autoselect manufacturer code.
    pub manufacturer: u16,
    /// Autoselect device code.
    pub device: u16,
    /// Regions of equal sectors from the bottom: (sectors, bytes per sector), per x16 chip.
    pub regions: &'static [(u32, u32)],
    /// log2 of the write buffer in bytes per chip; 0: no buffer program.
    pub buffer_log2: u8,
}

/// 2 MiB, bottom boot: sectors of 16, 8, 8 and 32 KiB, then 31 of 64 KiB.
pub const AM29LV160DB: FlashChip = FlashChip {
    name: "Am29LV160DB",
    manufacturer: 0x0001,
    device: 0x2249,
    regions: &[(1, 0x4000), (2, 0x2000), (1, 0x8000), (31, 0x1_0000)],
    buffer_log2: 0,
};

/// 4 MiB, bottom boot: eight sectors of 8 KiB and 63 of 64 KiB.
pub const AM29LV320DB: FlashChip = FlashChip {
    name: "Am29LV320DB",
    manufacturer: 0x0001,
    device: 0x22F9,
    regions: &[(8, 0x2000), (63, 0x1_0000)],
    buffer_log2: 0,
};

/// 4 MiB with a 32-byte write buffer, uniform sectors of 64 KiB.
pub const S29GL032N: FlashChip = FlashChip {
    name: "S29GL032N",
    manufacturer: 0x0001,
    device: 0x227E,
    regions: &[(64, 0x1_0000)],
    buffer_log2: 5,
};

impl FlashChip {
    /// Bytes per chip.
    pub fn bytes(&self) -> u32 {
        self.regions.iter().map(|(count, size)| count * size).sum()
    }
}

/// Typical durations in microseconds, as the CFI table below announces them (powers of two). \[A\] in the range of the
/// Am29LV320D data sheet.
const PROGRAM_US: u64 = 1 << PROGRAM_LOG2_US;
const PROGRAM_LOG2_US: u8 = 4;
const SECTOR_ERASE_LOG2_MS: u8 = 9;
const SECTOR_ERASE_US: u64 = 1000 << SECTOR_ERASE_LOG2_MS;
/// The window in which further sectors may be added to an erase. \[R\]
const ERASE_WINDOW_US: u64 = 50;

const DQ7: u16 = 0x80;
const DQ6: u16 = 0x40;
const DQ3: u16 = 0x08;
const DQ2: u16 = 0x04;

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    ReadArray,
    Unlock1,
    Unlock2,
    Autoselect,
    Query,
    ProgramData,
    EraseSetup,
    EraseUnlock1,
    EraseUnlock2,
    BufferCount {
        sector: u32,
    },
    BufferData {
        sector: u32,
        remaining: u32,
        words: Vec<(u32, u16)>,
    },
    BufferConfirm {
        sector: u32,
        words: Vec<(u32, u16)>,
    },
    /// An algorithm runs until `until`; DQ7 shows the complement of `dq7`.
    Programming {
        until: u64,
        dq7: u16,
    },
    Erasing {
        window: u64,
        until: u64,
        sectors: Vec<u32>,
    },
}

/// One or two x16 chips on a port, in lock step unless software addresses a single lane.
#[derive(Clone, Debug)]
pub struct Flash {
    /// The kind of chip.
    pub chip: FlashChip,
    /// Byte offset of the content in the board's store.
    pub offset: usize,
    lanes: Vec<State>,
    toggle: bool,
    dirty: bool,
    clocks_per_us: u64,
}

impl Flash {
    /// `lanes` x16 chips whose content starts at `offset` of the store.
    pub fn new(chip: FlashChip, lanes: usize, offset: usize) -> Self {
        Self {
            chip,
            offset,
            lanes: vec![State::ReadArray; lanes],
            toggle: false,
            dirty: false,
            clocks_per_us: 1,
        }
    }

    /// Bytes on the port, all lanes together.
    pub fn bytes(&self) -> u32 {
        self.chip.bytes() * self.lanes.len() as u32
    }

    /// Tells the chips how many core clocks a microsecond lasts.
    pub fn set_clock(&mut self, core_hz: u64) {
        self.clocks_per_us = (core_hz / 1_000_000).max(1);
    }

    /// Whether loads return the content.
    pub fn is_read_array(&self) -> bool {
        self.lanes.iter().all(|state| *state == State::ReadArray)
    }

    /// Whether the content has changed since [`Flash::clear_dirty`].
    pub fn is_dirty(&self) -> bool {
        self.dirty
    }

    /// The content has been saved.
    pub fn clear_dirty(&mut self) {
        self.dirty = false;
    }

    /// Reset: RESET# of the chips is wired to HRESET, which also ends a running algorithm.
    pub fn reset(&mut self) {
        self.lanes.fill(State::ReadArray);
    }

    /// Reads the 16-bit `lane` at word `index` of that chip; `array` is its content there.
    fn read_lane(&mut self, lane: usize, index: u32, array: u16, now: u64) -> u16 {
        self.settle(lane, now);
        match &self.lanes[lane] {
            State::Autoselect | State::Query => self.table_word(lane, index),
            State::Programming { dq7, .. } => {
                let status = (*dq7 ^ DQ7) & DQ7;
                self.toggle = !self.toggle;
                status | if self.toggle { DQ6 } else { 0 }
            }
            State::Erasing { window, .. } => {
                let status = if now >= *window { DQ3 } else { 0 };
                self.toggle = !self.toggle;
                status | if self.toggle { DQ6 | DQ2 } else { 0 }
            }
            _ => array,
        }
    }

    fn table_word(&self, lane: usize, index: u32) -> u16 {
        if self.lanes[lane] == State::Query {
            return self.query_byte(index);
        }
        match index & 0xFF {
            0 => self.chip.manufacturer,
            1 => self.chip.device,
            // Sector protection: none is protected.
            _ => 0,
        }
    }

    /// One byte of the CFI query table by its word address.
    fn query_byte(&self, index: u32) -> u16 {
        let size_log2 = self.chip.bytes().trailing_zeros() as u16;
        let region = |field: u32| {
            let Some((count, size)) = self.chip.regions.get((field / 4) as usize) else {
                return 0;
            };
            let word = (size / 256) << 16 | (count - 1);
            (word >> (8 * (field % 4))) as u16 & 0xFF
        };
        match index {
            0x10 => u16::from(b'Q'),
            0x11 => u16::from(b'R'),
            0x12 => u16::from(b'Y'),
            // Primary command set 2 (AMD/Fujitsu), its table at 0x40.
            0x13 => 0x02,
            0x15 => 0x40,
            // Vcc 2.7 to 3.6 V.
            0x1B => 0x27,
            0x1C => 0x36,
            0x1F => u16::from(PROGRAM_LOG2_US),
            0x20 => u16::from(if self.chip.buffer_log2 == 0 {
                0
            } else {
                PROGRAM_LOG2_US + 2
            }),
            0x21 => u16::from(SECTOR_ERASE_LOG2_MS),
            // Maximum: 2^n times the typical value.
            0x23 => 5,
            0x24 => u16::from(if self.chip.buffer_log2 == 0 { 0 } else { 5u8 }),
            0x25 => 4,
            0x27 => size_log2,
            // Interface: x8/x16.
            0x28 => 0x02,
            0x2A => u16::from(self.chip.buffer_log2),
            0x2C => self.chip.regions.len() as u16,
            0x2D..=0x3C => region(index - 0x2D),
            0x40 => u16::from(b'P'),
            0x41 => u16::from(b'R'),
            0x42 => u16::from(b'I'),
            0x43 => u16::from(b'1'),
            0x44 => u16::from(b'1'),
            // Erase suspend: read and write; sector protection groups of one; no simultaneous operation.
            0x46 => 2,
            0x47 => 1,
            // Boot sectors at the bottom; 0, the default, is uniform.
            0x4F if self.chip.regions.len() > 1 => 2,
            _ => 0,
        }
    }

    /// Ends an algorithm whose time is over.
    fn settle(&mut self, lane: usize, now: u64) {
        if let State::Programming { until, .. } | State::Erasing { until, .. } = self.lanes[lane]
            && now >= until
        {
            self.lanes[lane] = State::ReadArray;
        }
    }

    /// Reads `bytes` (1, 2 or 4) at `offset` of the port. `store` is the whole store of the board. A bus cycle reads
    /// each halfword once, so that the toggle bits move once for its two bytes.
    pub fn read(&mut self, store: &[u8], offset: u32, bytes: u32, now: u64) -> u32 {
        let mut value = 0;
        let mut last = None;
        for byte in offset..offset + bytes {
            let byte = byte % self.bytes();
            let word = match last {
                Some((at, word)) if at == byte & !1 => word,
                _ => {
                    let (lane, index) = self.locate(byte);
                    let at = self.offset + (byte & !1) as usize;
                    let array = u16::from_be_bytes([store[at], store[at + 1]]);
                    self.read_lane(lane, index, array, now)
                }
            };
            last = Some((byte & !1, word));
            value = value << 8 | u32::from(if byte & 1 == 0 { word >> 8 } else { word & 0xFF });
        }
        value
    }

    /// Writes `bytes` (1, 2 or 4) at `offset` of the port.
    pub fn write(&mut self, store: &mut [u8], offset: u32, bytes: u32, value: u32, now: u64) {
        let mut byte = offset;
        while byte < offset + bytes {
            let (lane, index) = self.locate(byte % self.bytes());
            let remaining = offset + bytes - byte;
            // A byte store drives one byte lane; the chip in x16 mode takes the command from the low one.
            let (data, step) = if byte & 1 == 0 && remaining >= 2 {
                ((value >> (8 * (remaining - 2))) as u16, 2)
            } else {
                ((value >> (8 * (remaining - 1))) as u16 & 0xFF, 1)
            };
            self.write_lane(store, lane, index, data, now);
            byte += step;
        }
    }

    /// The lane and the chip's word address of a byte offset.
    fn locate(&self, byte: u32) -> (usize, u32) {
        let port_bytes = 2 * self.lanes.len() as u32;
        ((byte % port_bytes / 2) as usize, byte / port_bytes)
    }

    /// The byte position in the store of word `index` of `lane`.
    fn store_position(&self, lane: usize, index: u32) -> usize {
        self.offset + index as usize * 2 * self.lanes.len() + 2 * lane
    }

    /// The first word and the number of words of the sector that holds word `index`.
    fn sector(&self, index: u32) -> (u32, u32) {
        let mut start = 0;
        for (count, size) in self.chip.regions {
            let (words, region) = (size / 2, count * size / 2);
            if index < start + region {
                return (start + (index - start) / words * words, words);
            }
            start += region;
        }
        (index, 1)
    }

    fn write_lane(&mut self, store: &mut [u8], lane: usize, index: u32, data: u16, now: u64) {
        self.settle(lane, now);
        let command = data & 0xFF;
        let unlock_address = index & 0x7FF;
        let state = std::mem::replace(&mut self.lanes[lane], State::ReadArray);
        self.lanes[lane] = match state {
            // A running algorithm ignores everything but an erase suspend, which needs no time here, and further
            // sectors inside the window.
            State::Programming { .. } => state,
            State::Erasing {
                window,
                until,
                mut sectors,
            } => {
                if command == 0x30 && now < window {
                    let sector = self.sector(index).0;
                    if !sectors.contains(&sector) {
                        self.erase(store, lane, index);
                        sectors.push(sector);
                        let until = until + SECTOR_ERASE_US * self.clocks_per_us;
                        State::Erasing {
                            window: now + ERASE_WINDOW_US * self.clocks_per_us,
                            until,
                            sectors,
                        }
                    } else {
                        State::Erasing { window, until, sectors }
                    }
                } else {
                    State::Erasing { window, until, sectors }
                }
            }
            State::ProgramData => {
                self.program(store, lane, index, data);
                State::Programming {
                    until: now + PROGRAM_US * self.clocks_per_us,
                    dq7: data & DQ7,
                }
            }
            State::BufferCount { sector } => {
                let remaining = u32::from(command) + 1;
                if remaining * 2 > 1 << self.chip.buffer_log2 {
                    State::ReadArray
                } else {
                    State::BufferData {
                        sector,
                        remaining,
                        words: Vec::new(),
                    }
                }
            }
            State::BufferData {
                sector,
                remaining,
                mut words,
            } => {
                words.push((index, data));
                match remaining - 1 {
                    0 => State::BufferConfirm { sector, words },
                    remaining => State::BufferData {
                        sector,
                        remaining,
                        words,
                    },
                }
            }
            State::BufferConfirm { sector, words } if command == 0x29 && self.sector(index).0 == sector => {
                let dq7 = words.last().map_or(0, |(_, data)| data & DQ7);
                let until = now + PROGRAM_US * words.len() as u64 * self.clocks_per_us;
                for (index, data) in words {
                    self.program(store, lane, index, data);
                }
                State::Programming { until, dq7 }
            }
            _ if command == 0xF0 => State::ReadArray,
            State::ReadArray | State::Autoselect if command == 0x98 && unlock_address & 0xFF == 0x55 => State::Query,
            State::ReadArray | State::Autoselect if command == 0xAA && unlock_address == 0x555 => State::Unlock1,
            State::Autoselect => State::Autoselect,
            State::Query => State::Query,
            State::Unlock1 if command == 0x55 && unlock_address == 0x2AA => State::Unlock2,
            State::Unlock2 => match command {
                0x90 if unlock_address == 0x555 => State::Autoselect,
                0xA0 if unlock_address == 0x555 => State::ProgramData,
                0x80 if unlock_address == 0x555 => State::EraseSetup,
                0x25 if self.chip.buffer_log2 != 0 => State::BufferCount {
                    sector: self.sector(index).0,
                },
                _ => State::ReadArray,
            },
            State::EraseSetup if command == 0xAA && unlock_address == 0x555 => State::EraseUnlock1,
            State::EraseUnlock1 if command == 0x55 && unlock_address == 0x2AA => State::EraseUnlock2,
            State::EraseUnlock2 if command == 0x30 => {
                self.erase(store, lane, index);
                let window = now + ERASE_WINDOW_US * self.clocks_per_us;
                let until = window + SECTOR_ERASE_US * self.clocks_per_us;
                State::Erasing {
                    window,
                    until,
                    sectors: vec![self.sector(index).0],
                }
            }
            State::EraseUnlock2 if command == 0x10 && unlock_address == 0x555 => {
                let mut word = 0;
                let mut sectors = 0;
                while word < self.chip.bytes() / 2 {
                    self.erase(store, lane, word);
                    word += self.sector(word).1;
                    sectors += 1;
                }
                let until = now + sectors * SECTOR_ERASE_US * self.clocks_per_us;
                State::Erasing {
                    window: now,
                    until,
                    sectors: Vec::new(),
                }
            }
            _ => State::ReadArray,
        };
    }

    /// Programming clears bits only.
    fn program(&mut self, store: &mut [u8], lane: usize, index: u32, data: u16) {
        let at = self.store_position(lane, index);
        let [high, low] = data.to_be_bytes();
        store[at] &= high;
        store[at + 1] &= low;
        self.dirty = true;
    }

    fn erase(&mut self, store: &mut [u8], lane: usize, index: u32) {
        let (first, words) = self.sector(index);
        for word in first..first + words {
            let at = self.store_position(lane, word);
            store[at..at + 2].fill(0xFF);
        }
        self.dirty = true;
    }
}
