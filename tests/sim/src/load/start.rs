//! Starts without a boot loader: place the image and what belongs to it, and say with which registers it is entered.
//!
//! The conventions are those of U-Boot's `bootm` and `go` (`arch/powerpc/lib/bootm.c`): a device tree in r3, or a
//! `bd_info` in r3 with the RAM disk and the command line in r4 to r7, or a C call with argc and argv.

use super::board_info::{BoardInfo, Layout};
use super::fdt::Tree;
use super::{Image, LoadError, load_error};
use crate::board::Board;
use crate::soc::Soc;

/// r6 of a `bootm` with a device tree on a part that is not Book E.
const EPAPR_MAGIC: u32 = 0x6550_4150;
/// r7: the memory that the kernel may expect to be mapped at the start. \[V\] `env_get_bootm_mapsize` of the CS boards.
const BOOT_MAP_BYTES: u32 = 32 << 20;
/// MSR at the hand-over: ME and RI; translation and interrupts off.
const MSR_HAND_OVER: u32 = 0x0000_1002;
/// `b .`, for whoever returns to a boot loader that is not there.
const BRANCH_TO_SELF: u32 = 0x4800_0000;
/// What lies between two things placed in memory starts at a multiple of this.
const ALIGNMENT: u32 = 0x1000;
/// Room for U-Boot's stack, global data and arguments below the top of memory.
const LOADER_ROOM: u32 = 0x1_0000;

/// What the image is handed.
#[derive(Clone, Debug)]
pub enum HandOver {
    /// `bootm` with a device tree.
    DeviceTree {
        /// The tree; its memory node is set to the memory of the board.
        tree: Tree,
        /// `/chosen/bootargs`; `None` leaves what the tree has.
        bootargs: Option<String>,
        /// Initial RAM disk.
        initrd: Option<Vec<u8>>,
    },
    /// `bootm` without one.
    BoardInfo {
        /// Order of the fields.
        layout: Layout,
        /// Command line.
        bootargs: String,
        /// Initial RAM disk.
        initrd: Option<Vec<u8>>,
    },
    /// `go ADDRESS ARGUMENTS`: a C call.
    Go {
        /// Arguments; the first one is usually the address as typed.
        arguments: Vec<String>,
    },
}

/// The registers with which the image is entered; those not named are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Physical address of the first instruction.
    pub pc: u32,
    /// MSR.
    pub msr: u32,
    /// General-purpose registers: (number, value).
    pub gpr: Vec<(usize, u32)>,
    /// Link register: where a return would go.
    pub lr: u32,
}

/// Places `image` and what `hand_over` needs in the memory of `soc`, which stands as [`crate::board::leave_as_u_boot`]
/// leaves it.
///
/// # Errors
/// Something does not fit into the memory of the board, or its place is taken.
pub fn start(soc: &mut Soc, board: &Board, image: &Image, hand_over: HandOver) -> Result<Entry, LoadError> {
    let memory_bytes = soc.memory_bytes();
    for segment in &image.segments {
        let what = format!("{} segment", image.kind);
        place(soc, &what, segment.address, &segment.bytes)?;
        let mut at = segment.address.wrapping_add(segment.bytes.len() as u32);
        let mut left = segment.memory_bytes - segment.bytes.len() as u32;
        while left > 0 {
            let zeros = &[0; ALIGNMENT as usize][..left.min(ALIGNMENT) as usize];
            place(soc, &what, at, zeros)?;
            at = at.wrapping_add(zeros.len() as u32);
            left -= zeros.len() as u32;
        }
    }
    // An image in flash leaves all of memory free.
    let end = if image.end() > u64::from(memory_bytes) {
        0
    } else {
        image.end() as u32
    };
    let mut room = Room {
        floor: end,
        limit: memory_bytes - LOADER_ROOM,
        image: image.kind,
    };
    // The boot loader's stack and, above it, the place where a return would end.
    let trap = memory_bytes - 0x100;
    place(soc, "return address", trap, &BRANCH_TO_SELF.to_be_bytes())?;
    let stack = memory_bytes - 0x1000;
    let entry = |gpr: Vec<(usize, u32)>| {
        let mut gpr = gpr;
        gpr.insert(0, (1, stack));
        Entry {
            pc: image.entry,
            msr: MSR_HAND_OVER,
            gpr,
            lr: trap,
        }
    };
    match hand_over {
        HandOver::DeviceTree {
            mut tree,
            bootargs,
            initrd,
        } => {
            room.limit = room.limit.min(BOOT_MAP_BYTES);
            if let Some(bootargs) = &bootargs {
                tree.set_bootargs(bootargs);
            }
            tree.set_memory(memory_bytes);
            let initrd = place_initrd(soc, &mut room, initrd)?;
            tree.set_initrd(initrd);
            let blob = tree.to_bytes();
            let at = room.take("device tree", blob.len())?;
            place(soc, "device tree", at, &blob)?;
            let mapped = BOOT_MAP_BYTES.min(memory_bytes);
            Ok(entry(vec![
                (3, at),
                (4, 0),
                (5, 0),
                (6, EPAPR_MAGIC),
                (7, mapped),
                (8, 0),
                (9, 0),
            ]))
        }
        HandOver::BoardInfo {
            layout,
            bootargs,
            initrd,
        } => {
            room.limit = room.limit.min(BOOT_MAP_BYTES);
            let initrd = place_initrd(soc, &mut room, initrd)?.unwrap_or(0..0);
            let info = BoardInfo {
                memory_bytes,
                flash_start: board.flash.base,
                flash_bytes: board.flash_bytes(),
                immr_base: board.immr,
                core_hz: soc.core_hz() as u32,
                bus_hz: (soc.core_hz() / u64::from(soc.bus_ratio())) as u32,
                baud: board.console_baud,
            }
            .to_bytes(layout);
            let at = room.take("bd_info", info.len())?;
            place(soc, "bd_info", at, &info)?;
            let mut line = bootargs.into_bytes();
            let length = line.len() as u32;
            line.push(0);
            let command_line = room.take("command line", line.len())?;
            place(soc, "command line", command_line, &line)?;
            let command_line = (command_line, command_line + length);
            let gpr = vec![
                (3, at),
                (4, initrd.start),
                (5, initrd.end),
                (6, command_line.0),
                (7, command_line.1),
            ];
            Ok(entry(gpr))
        }
        HandOver::Go { arguments } => {
            // argv lies in the loader's room, below its stack.
            let base = memory_bytes - LOADER_ROOM;
            let mut strings = Vec::new();
            let mut vector = Vec::new();
            let vector_bytes = 4 * (arguments.len() + 1);
            for argument in &arguments {
                vector.extend((base + (vector_bytes + strings.len()) as u32).to_be_bytes());
                strings.extend(argument.as_bytes());
                strings.push(0);
            }
            vector.extend([0; 4]);
            vector.extend(strings);
            if vector.len() > 0x8000 {
                return Err(load_error!(
                    "arguments of {} bytes: at most {} are accepted",
                    vector.len(),
                    0x8000
                ));
            }
            place(soc, "arguments", base, &vector)?;
            // r2 points at the loader's global data, here a row of zeros that must be left alone.
            Ok(entry(vec![(2, base + 0x8000), (3, arguments.len() as u32), (4, base)]))
        }
    }
}

/// Free memory above the image, taken from the top down as U-Boot does: images without a header for their zeroed data
/// find the room behind their last byte empty.
struct Room {
    floor: u32,
    limit: u32,
    image: &'static str,
}

impl Room {
    fn take(&mut self, what: &str, bytes: usize) -> Result<u32, LoadError> {
        let at = u32::try_from(bytes)
            .ok()
            .and_then(|bytes| self.limit.checked_sub(bytes));
        match at.map(|at| at & !(ALIGNMENT - 1)).filter(|at| *at >= self.floor) {
            Some(at) => {
                self.limit = at;
                Ok(at)
            }
            None => Err(load_error!(
                "{what} of {bytes} bytes does not fit between the {} (up to {:#x}) and {:#x}",
                self.image,
                self.floor,
                self.limit
            )),
        }
    }
}

fn place_initrd(
    soc: &mut Soc,
    room: &mut Room,
    initrd: Option<Vec<u8>>,
) -> Result<Option<std::ops::Range<u32>>, LoadError> {
    let Some(initrd) = initrd else { return Ok(None) };
    let at = room.take("initial RAM disk", initrd.len())?;
    place(soc, "initial RAM disk", at, &initrd)?;
    Ok(Some(at..at + initrd.len() as u32))
}

/// Stores `bytes` at a physical address, in RAM or as a flash programmer would.
fn place(soc: &mut Soc, what: &str, address: u32, bytes: &[u8]) -> Result<(), LoadError> {
    soc.external_mut().place(address, bytes).map_err(|at| {
        load_error!(
            "{what} of {} bytes at {address:#x}: no memory answers at {at:#x}",
            bytes.len()
        )
    })
}
