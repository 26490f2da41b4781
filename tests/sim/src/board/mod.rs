//! The boards: one small table each, and the state in which a board's U-Boot leaves the chip.
//!
//! A [`Board`] says what is soldered where; [`Board::power_on`] builds the [`Soc`] of it in its reset state, and
//! [`leave_as_u_boot`] stores to its registers what the boot loader would have stored, for starts without one. Sources:
//! U-Boot's board and configuration files, present and deleted, and Linux device trees: \[V\] where a table cites them,
//! \[A\] for what only has to be plausible (power-on clocks, reset words of boards whose straps are not published).

mod u_boot;
pub mod upm;

pub use u_boot::leave_as_u_boot;

use crate::part::{self, Part};
use crate::soc::console::{Console, Unconnected};
use crate::soc::cpm::smc::Port;
use crate::soc::external::{Registers, Socket};
use crate::soc::flash::{AM29LV160DB, AM29LV320DB, Flash, FlashChip};
use crate::soc::memctl::BANKS;
use crate::soc::{Config, ResetWord, Soc};

/// One of the two user-programmable machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upm {
    /// MAMR.
    A,
    /// MBMR.
    B,
}

/// The SDRAM and how it is driven.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Bytes as sold, or as a guest in common use needs.
    pub bytes: u32,
    /// The most that the board's map has room for.
    pub most_bytes: u32,
    /// The chip select it is wired to.
    pub chip_select: usize,
    /// The machine.
    pub upm: Upm,
    /// Its array.
    pub array: &'static upm::Array,
    /// MxMR.
    pub mode: u32,
    /// MPTPR.
    pub mptpr: u16,
    /// The low half of OR; the address mask follows from the size.
    pub option: u32,
}

/// Flash on CS0.
#[derive(Clone, Copy, Debug)]
pub struct FlashFit {
    /// The chip.
    pub chip: FlashChip,
    /// x16 chips side by side.
    pub lanes: usize,
    /// Where the boot loader maps it.
    pub base: u32,
}

/// A byte of the board's registers by which the boot loader learns how much SDRAM is fitted.
#[derive(Clone, Copy, Debug)]
pub struct MemoryStrap {
    /// Chip select of the registers.
    pub chip_select: usize,
    /// Offset of the byte.
    pub offset: usize,
    /// SDRAM from this size on is announced by `value`; below, the byte stays as [`BoardRegisters::reset`] has it.
    pub from_bytes: u32,
    /// See [`MemoryStrap::from_bytes`].
    pub value: u8,
}

/// Registers of the board behind a chip select.
#[derive(Clone, Copy, Debug)]
pub struct BoardRegisters {
    /// Chip select.
    pub chip_select: usize,
    /// Bytes of the block.
    pub bytes: usize,
    /// Bytes that are not zero after reset: (offset, value).
    pub reset: &'static [(usize, u8)],
}

/// A board.
#[derive(Clone, Copy, Debug)]
pub struct Board {
    /// The name that `--board` takes.
    pub name: &'static str,
    /// What it is.
    pub description: &'static str,
    /// Name of the part in [`crate::part::PARTS`].
    pub part: &'static str,
    /// Oscillator in Hz.
    pub oscillator_hz: u32,
    /// Hard reset configuration word.
    pub reset_word: ResetWord,
    /// PLPRCR after power-on.
    pub plprcr_reset: u32,
    /// IMMR base as the boot loader sets it.
    pub immr: u32,
    /// SDRAM.
    pub memory: Memory,
    /// Flash.
    pub flash: FlashFit,
    /// Further registers.
    pub registers: &'static [BoardRegisters],
    /// How the boot loader learns the size of the SDRAM, where it does not probe alone.
    pub memory_strap: Option<MemoryStrap>,
    /// SIUMCR, SYPCR, TBSCR, SCCR, PLPRCR as the boot loader leaves them.
    pub siumcr: u32,
    /// See [`Board::siumcr`].
    pub sypcr: u32,
    /// See [`Board::siumcr`].
    pub tbscr: u16,
    /// See [`Board::siumcr`].
    pub sccr: u32,
    /// See [`Board::siumcr`].
    pub plprcr: u32,
    /// BR and OR of the chip selects other than that of the SDRAM, as the boot loader leaves them: (number, BR, OR).
    pub chip_selects: &'static [(usize, u32, u32)],
    /// Speed of the console on SMC1.
    pub console_baud: u32,
}

/// What a user may choose about a board.
pub struct Options {
    /// SDRAM in bytes instead of what the board is sold with: a power of two from 8 MiB to [`Memory::most_bytes`].
    pub memory_bytes: Option<u32>,
    /// Content of the flash from its first byte; the rest is erased.
    pub flash_content: Vec<u8>,
    /// The terminal on SMC1.
    pub console: Box<dyn Console>,
    /// Speed of that terminal instead of the board's.
    pub terminal_baud: Option<u32>,
    /// Whether that terminal waits for an empty receive buffer before each character.
    pub terminal_waits: bool,
    /// Serial transmission takes no time.
    pub instant_transmission: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            memory_bytes: None,
            flash_content: Vec::new(),
            console: Box::new(Unconnected),
            terminal_baud: None,
            terminal_waits: false,
            instant_transmission: false,
        }
    }
}

/// Why a board cannot be built as asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoardError {
    /// Not a power of two from 8 MiB to what the board has room for: (size, most).
    MemorySize(u32, u32),
    /// More content than the flash holds: (content, flash).
    FlashContent(usize, u32),
}

impl std::fmt::Display for BoardError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::MemorySize(bytes, most) => {
                write!(
                    f,
                    "memory size {bytes} bytes: a power of two from 8 MiB to {} MiB is accepted",
                    most >> 20
                )
            }
            Self::FlashContent(content, flash) => {
                write!(
                    f,
                    "flash content of {content} bytes does not fit the board's flash of {flash} bytes"
                )
            }
        }
    }
}

impl std::error::Error for BoardError {}

/// Hard reset configuration word of a board that boots from a 16-bit port with IMMR at 0xFF00_0000 and vectors at 0.
const BOOT_16_BIT: ResetWord = ResetWord(0x4000_0000 | 0x0800_0000 | 0x0100_0000);
/// The same for a 32-bit port.
const BOOT_32_BIT: ResetWord = ResetWord(0x4000_0000 | 0x0100_0000);

/// PLPRCR for 132 MHz from 10 MHz: MFI 13, MFN 6, MFD 29. \[V\] CMPC885 configuration.
const PLPRCR_132_FROM_10: u32 = 0x374D_4000;
/// PLPRCR for 50 MHz from 10 MHz: MFI 5. \[A\]
const PLPRCR_50_FROM_10: u32 = 0x0005_4000;
/// PLPRCR for 66 MHz from 66 MHz: MFI 5, PDF 4. \[A\]
const PLPRCR_66_FROM_66: u32 = 0x0005_0008;

/// Watchdog off, bus monitor on; what U-Boot stores when no watchdog driver is configured. \[V\]
const SYPCR_WATCHDOG_OFF: u32 = 0xFFFF_FF8B;

/// All boards.
pub const BOARDS: &[Board] = &[
    // Configuration: U-Boot `configs/MCR3000_defconfig`, `board/cssi/MCR3000/MCR3000.c`.
    Board {
        name: "mcr3000",
        description: "CS Group MCR3000: MPC866, 132 MHz core, 66 MHz bus, 32 MiB SDRAM",
        part: "866",
        oscillator_hz: 66_000_000,
        reset_word: BOOT_16_BIT,
        plprcr_reset: PLPRCR_66_FROM_66,
        immr: 0xFF00_0000,
        memory: Memory {
            bytes: 32 << 20,
            most_bytes: 64 << 20,
            chip_select: 1,
            upm: Upm::A,
            array: &upm::MCR3000,
            mode: 0x1490_4000,
            mptpr: 0x0200,
            option: 0x0E00,
        },
        flash: FlashFit {
            chip: AM29LV160DB,
            lanes: 1,
            base: 0x0400_0000,
        },
        registers: &[],
        memory_strap: None,
        siumcr: 0x0060_0400,
        sypcr: SYPCR_WATCHDOG_OFF,
        tbscr: 0x00C3,
        sccr: 0x00C2_0000,
        plprcr: 0x0046_0004,
        chip_selects: &[
            (0, 0x0400_0801, 0xFFC0_0926),
            (2, 0x0800_0801, 0xFFFF_8F2A),
            (3, 0x0C00_0401, 0xFFFF_8142),
            (4, 0x1000_0801, 0xFFFF_8D08),
            (5, 0x1400_0801, 0xFFFF_8916),
            (6, 0x1800_0801, 0xFFFF_0908),
            (7, 0x1C00_0001, 0xFFFF_810A),
        ],
        console_baud: 115_200,
    },
    // Configuration: U-Boot `configs/CMPC885_defconfig`, `board/cssi/cmpc885`.
    Board {
        name: "cmpc885",
        description: "CS Group CMPC885: MPC885, 132 MHz core, 66 MHz bus, 64 MiB SDRAM",
        part: "885",
        oscillator_hz: 10_000_000,
        reset_word: BOOT_16_BIT,
        plprcr_reset: PLPRCR_50_FROM_10,
        immr: 0xFF00_0000,
        memory: Memory {
            bytes: 64 << 20,
            most_bytes: 128 << 20,
            chip_select: 1,
            upm: Upm::A,
            array: &upm::CMPC885,
            mode: 0x2090_4000,
            mptpr: 0x0200,
            option: 0x0E00,
        },
        flash: FlashFit {
            chip: AM29LV320DB,
            lanes: 1,
            base: 0x4000_0000,
        },
        // The CPLD: bits 0x30 of byte 3 tell 64 MiB (0) from 128 MiB; no motherboard is present (halfword 2, 0x0040 =
        // 0).
        registers: &[BoardRegisters {
            chip_select: 5,
            bytes: 0x20,
            reset: &[],
        }],
        memory_strap: Some(MemoryStrap {
            chip_select: 5,
            offset: 3,
            from_bytes: 128 << 20,
            value: 0x10,
        }),
        siumcr: 0x0062_0000,
        sypcr: SYPCR_WATCHDOG_OFF,
        tbscr: 0x00C3,
        sccr: 0x0042_0000,
        plprcr: PLPRCR_132_FROM_10,
        chip_selects: &[
            (0, 0x4000_0801, 0xFFC0_0924),
            (2, 0xC000_0401, 0xFFFF_8142),
            (3, 0xE000_0801, 0xFF00_010A),
            (4, 0xD000_0801, 0xFC00_0D08),
            (5, 0xC800_0801, 0xFFFF_8D10),
            (6, 0x8000_0801, 0xFFFF_8908),
            (7, 0xF000_0001, 0xFFFF_810A),
        ],
        console_baud: 115_200,
    },
    // Configuration: U-Boot's former `include/configs/MPC885ADS.h`, `board/fads`; Linux `mpc885ads.dts`. The SDRAM is
    // sold as 8 MiB; the device trees of Linux kernels want 32 MiB, so that is the default here.
    Board {
        name: "mpc885ads",
        description: "Freescale MPC885ADS: MPC885, 132 MHz core, 66 MHz bus, 32 MiB SDRAM",
        part: "885",
        oscillator_hz: 10_000_000,
        reset_word: BOOT_32_BIT,
        plprcr_reset: PLPRCR_50_FROM_10,
        immr: 0xFF00_0000,
        memory: Memory {
            bytes: 32 << 20,
            most_bytes: 128 << 20,
            chip_select: 4,
            upm: Upm::B,
            array: &upm::MPC885ADS,
            mode: 0x8080_2114,
            mptpr: 0x0400,
            option: 0x0A00,
        },
        flash: FlashFit {
            chip: AM29LV320DB,
            lanes: 2,
            base: 0xFE00_0000,
        },
        // BCSR0 to BCSR4 on CS1; on CS5 the PHY devices with BCSR5 at 0x300. BCSR1 after reset: everything off but
        // flash and BCSR. [R]
        registers: &[
            BoardRegisters {
                chip_select: 1,
                bytes: 0x20,
                reset: &[(4, 0x7F), (5, 0xFF)],
            },
            BoardRegisters {
                chip_select: 5,
                bytes: 0x400,
                reset: &[],
            },
        ],
        memory_strap: None,
        siumcr: 0x0000_0400,
        sypcr: 0xFFFF_FF89,
        tbscr: 0x00C1,
        sccr: 0x0202_0000,
        plprcr: PLPRCR_132_FROM_10,
        chip_selects: &[
            (0, 0xFE00_0001, 0xFF80_0D34),
            (1, 0xFF08_0001, 0xFFFF_8110),
            (5, 0xFF0A_0401, 0xFFFF_8110),
        ],
        console_baud: 115_200,
    },
    // Configuration: U-Boot's former `include/configs/Adder.h`, `board/adder/adder.c`; Linux `adder875-uboot.dts` has
    // the console at 115200.
    Board {
        name: "adder875",
        description: "Analogue & Micro Adder875: MPC875, 132 MHz core, 66 MHz bus, 16 MiB SDRAM",
        part: "875",
        oscillator_hz: 10_000_000,
        reset_word: BOOT_16_BIT,
        plprcr_reset: PLPRCR_50_FROM_10,
        immr: 0xFF00_0000,
        memory: Memory {
            bytes: 16 << 20,
            most_bytes: 128 << 20,
            chip_select: 1,
            upm: Upm::A,
            array: &upm::ADDER875,
            mode: 0x5E80_2114,
            mptpr: 0x0200,
            option: 0x0A00,
        },
        flash: FlashFit {
            chip: AM29LV320DB,
            lanes: 1,
            base: 0xFE00_0000,
        },
        registers: &[],
        memory_strap: None,
        siumcr: 0x0060_0400,
        sypcr: 0xFFFF_FF89,
        tbscr: 0x0003,
        sccr: 0x0082_0000,
        plprcr: PLPRCR_132_FROM_10,
        chip_selects: &[(0, 0xFE00_0801, 0xFF00_0774)],
        console_baud: 115_200,
    },
];

/// The board with this name, if there is one.
pub fn by_name(name: &str) -> Option<&'static Board> {
    BOARDS.iter().find(|board| board.name == name)
}

impl Board {
    /// The part on the board.
    ///
    /// # Panics
    /// Never for a board of [`BOARDS`]: their parts are in the table, which a test checks.
    pub fn part(&self) -> &'static Part {
        part::by_name(self.part).expect("a board's part is in the table of parts")
    }

    /// Bytes of flash.
    pub fn flash_bytes(&self) -> u32 {
        self.flash.chip.bytes() * self.flash.lanes as u32
    }

    /// Bytes of SDRAM with these options.
    ///
    /// # Errors
    /// [`BoardError::MemorySize`].
    pub fn memory_bytes(&self, options: &Options) -> Result<u32, BoardError> {
        let bytes = options.memory_bytes.unwrap_or(self.memory.bytes);
        if bytes.is_power_of_two() && (8 << 20..=self.memory.most_bytes).contains(&bytes) {
            Ok(bytes)
        } else {
            Err(BoardError::MemorySize(bytes, self.memory.most_bytes))
        }
    }

    /// Powers the board on.
    ///
    /// # Errors
    /// [`BoardError`] when the options ask for what cannot be built.
    pub fn power_on(&self, options: Options) -> Result<Soc, BoardError> {
        let memory_bytes = self.memory_bytes(&options)?;
        let flash_bytes = self.flash_bytes();
        let content = options.flash_content;
        if content.len() > flash_bytes as usize {
            return Err(BoardError::FlashContent(content.len(), flash_bytes));
        }
        let flash_offset = memory_bytes as usize;
        let mut store = vec![0; flash_offset + flash_bytes as usize];
        store[flash_offset..][..content.len()].copy_from_slice(&content);
        store[flash_offset + content.len()..].fill(0xFF);
        let mut sockets = [const { Socket::Empty }; BANKS];
        sockets[0] = Socket::Flash(Flash::new(self.flash.chip, self.flash.lanes, flash_offset));
        sockets[self.memory.chip_select] = Socket::Ram {
            offset: 0,
            bytes: memory_bytes,
        };
        for block in self.registers {
            let mut reset = vec![0; block.bytes];
            for (offset, value) in block.reset {
                reset[*offset] = *value;
            }
            if let Some(strap) = self.memory_strap
                && strap.chip_select == block.chip_select
                && memory_bytes >= strap.from_bytes
            {
                reset[strap.offset] = strap.value;
            }
            sockets[block.chip_select] = Socket::Registers(Registers::new(reset));
        }
        let baud = options.terminal_baud.unwrap_or(self.console_baud);
        Ok(Soc::new(Config {
            part: self.part(),
            oscillator_hz: self.oscillator_hz,
            reset_word: self.reset_word,
            plprcr: self.plprcr_reset,
            store,
            sockets,
            ports: [
                Port {
                    waits_for_receiver: options.terminal_waits,
                    ..Port::new(options.console, baud)
                },
                Port::new(Box::new(Unconnected), baud),
            ],
            instant_transmission: options.instant_transmission,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::{Bus, Width};

    #[test]
    fn every_board_can_be_built_and_left_by_its_boot_loader() {
        for board in BOARDS {
            for megabytes in [8, 16, 32, 64, 128]
                .into_iter()
                .filter(|size| size << 20 <= board.memory.most_bytes)
            {
                let options = Options {
                    memory_bytes: Some(megabytes << 20),
                    ..Options::default()
                };
                let mut soc = board.power_on(options).unwrap();
                leave_as_u_boot(&mut soc, board);
                let name = board.name;
                assert_eq!(soc.core_hz(), 132_000_000, "{name}");
                assert_eq!(soc.bus_ratio(), 2, "{name}");
                let top = (megabytes << 20) - 4;
                soc.write(top, Width::Word, 0x600D_CAFE, 0).unwrap();
                assert_eq!(soc.read(top, Width::Word, 0), Ok(0x600D_CAFE), "{name}");
                let above = soc.read(megabytes << 20, Width::Word, 0);
                assert!(
                    above.is_err() || megabytes << 20 == board.flash.base,
                    "{name}: above {megabytes} MiB"
                );
                assert_eq!(
                    soc.read(board.flash.base, Width::Word, 0),
                    Ok(!0),
                    "{name}: erased flash"
                );
                assert!(soc.direct(0).is_some_and(|page| page.writable), "{name}");
            }
        }
    }

    #[test]
    fn reset_vector_fetches_from_the_flash() {
        for board in BOARDS {
            let mut content = vec![0; 0x104];
            content[0x100..].copy_from_slice(&0x4800_0000u32.to_be_bytes());
            let mut soc = board
                .power_on(Options {
                    flash_content: content,
                    ..Options::default()
                })
                .unwrap();
            assert!(!soc.exception_prefix());
            assert_eq!(soc.read(0x100, Width::Word, 0), Ok(0x4800_0000), "{}", board.name);
        }
    }

    #[test]
    fn strap_tells_the_boot_loader_of_the_big_memory() {
        let board = by_name("cmpc885").unwrap();
        for (megabytes, strap) in [(64, 0), (128, 0x10)] {
            let options = Options {
                memory_bytes: Some(megabytes << 20),
                ..Options::default()
            };
            let mut soc = board.power_on(options).unwrap();
            leave_as_u_boot(&mut soc, board);
            assert_eq!(soc.read(0xC800_0003, Width::Byte, 0), Ok(strap), "{megabytes} MiB");
        }
    }

    #[test]
    fn impossible_options_are_refused_with_the_number() {
        let board = by_name("mcr3000").unwrap();
        for bytes in [0, 4 << 20, 33 << 20, 128 << 20] {
            let refused = board.power_on(Options {
                memory_bytes: Some(bytes),
                ..Options::default()
            });
            assert_eq!(refused.err(), Some(BoardError::MemorySize(bytes, 64 << 20)));
        }
        let refused = board.power_on(Options {
            flash_content: vec![0; (2 << 20) + 1],
            ..Options::default()
        });
        assert_eq!(refused.err().unwrap().to_string().split(' ').next(), Some("flash"));
        assert!(by_name("mcr3001").is_none());
    }
}
