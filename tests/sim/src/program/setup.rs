//! From the options to a board that is about to execute its first instruction.

use std::fs;
use std::path::{Path, PathBuf};

use mpc8xx_sim::board::{self, leave_as_u_boot};
use mpc8xx_sim::load::board_info::Layout;
use mpc8xx_sim::load::fdt::Tree;
use mpc8xx_sim::load::{Entry, HandOver, Image, LoadError, start};
use mpc8xx_sim::machine::Machine;
use mpc8xx_sim::soc::Soc;
use mpc8xx_sim::soc::console::Terminal;

use super::failure::Failure;
use super::options::{Options, StartChoice};
use super::{reset_image, tree};

/// Where the firmware's build puts the archive of its user programs: beside the image.
const INITRD_BESIDE_IMAGE: &str = "initrd.cpio";

/// A board that stands at its first instruction.
pub struct Board {
    /// The machine.
    pub machine: Machine<Soc>,
    /// The terminal on SMC1.
    pub terminal: Terminal,
}

/// Reads a file whole.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(Failure::file("read", path))
}

/// Builds the board and places what is to be started.
///
/// # Errors
/// A file cannot be read or is broken, or the board cannot hold what is asked for.
pub fn board(options: &Options) -> Result<Board, Failure> {
    let terminal = Terminal::default();
    let mut flash_content = match &options.flash {
        // A flash that has never been written has no file yet.
        Some(path) if options.image.is_some() && !path.exists() => Vec::new(),
        Some(path) => read(path)?,
        None => Vec::new(),
    };
    if options.image.is_none()
        && let Some(path) = &options.flash
        && let Some(line) = options.command_line()?
    {
        reset_image::set_command_line(&mut flash_content, &line)
            .map_err(|message| Failure::usage(format!("{}: {message}", path.display())))?;
    }
    let board = options.board;
    let mut soc = board
        .power_on(board::Options {
            memory_bytes: options.memory_bytes,
            flash_content,
            console: Box::new(terminal.clone()),
            terminal_baud: None,
            terminal_waits: options.patient_terminal,
            instant_transmission: options.instant_serial,
        })
        .map_err(|error| Failure::usage(format!("board {}: {error}", board.name)))?;
    let entry = match &options.image {
        Some(path) => Some(place(options, &mut soc, path)?),
        None => None,
    };
    if options.time_base.is_some() || options.decrementer.is_some() {
        soc.preset_timers(
            options.time_base.unwrap_or(0),
            options.decrementer.unwrap_or(u32::MAX),
            0,
        );
    }
    let vectors_high = soc.exception_prefix();
    let mut machine = Machine::new(board.part(), soc);
    machine.cpu.reset(vectors_high);
    if let Some(Entry { pc, msr, gpr, lr }) = entry {
        machine.cpu.enter_image(pc);
        machine.cpu.write_msr(msr);
        machine.cpu.lr = lr;
        for (number, value) in gpr {
            machine.cpu.set_gpr(number, value);
        }
    }
    machine.cpu.set_timing(&machine.bus, options.timing.clone());
    machine.set_timed(options.timed);
    // Without content in the flash there is nothing that a reset could start again.
    machine.cpu.quirks = options.quirks;
    machine.cpu.quirks.stop_on_reset = options.exit_on_reset || options.flash.is_none();
    Ok(Board { machine, terminal })
}

/// Recognises the image in `bytes`, the content of `path`.
///
/// # Errors
/// It is broken, or made for another machine.
pub fn image(options: &Options, path: &Path, bytes: &[u8]) -> Result<Image, Failure> {
    Image::parse(bytes, options.load_address).map_err(|error| named(path, &error))
}

fn named(path: &Path, error: &LoadError) -> Failure {
    Failure::failed(format!("{}: {error}", path.display()))
}

/// Places the image and what it is handed in the memory of the board.
fn place(options: &Options, soc: &mut Soc, path: &Path) -> Result<Entry, Failure> {
    let image = image(options, path, &read(path)?)?;
    leave_as_u_boot(soc, options.board);
    let command_line = options.command_line()?;
    let hand_over = if options.start == StartChoice::Go {
        let mut arguments = vec![format!("{:x}", image.entry)];
        arguments.extend(
            command_line
                .iter()
                .flat_map(|line| line.split(' '))
                .filter(|word| !word.is_empty())
                .map(String::from),
        );
        HandOver::Go { arguments }
    } else if let Some(layout) = options.board_info {
        board_info(options, path, layout, command_line)?
    } else {
        let tree = match &options.dtb {
            Some(path) => Tree::parse(&read(path)?).map_err(|error| named(path, &error))?,
            None => {
                let core_hz = soc.core_hz() as u32;
                tree::of(options.board, core_hz, core_hz / soc.bus_ratio())
            }
        };
        HandOver::DeviceTree {
            tree,
            bootargs: command_line,
            initrd: initrd(options, path)?,
        }
    };
    start(soc, options.board, &image, hand_over).map_err(|error| named(path, &error))
}

fn board_info(
    options: &Options,
    image: &Path,
    layout: Layout,
    command_line: Option<String>,
) -> Result<HandOver, Failure> {
    Ok(HandOver::BoardInfo {
        layout,
        bootargs: command_line.unwrap_or_default(),
        initrd: initrd(options, image)?,
    })
}

/// The initial RAM disk: the files one after the other, each from a multiple of four on, as the kernel takes
/// concatenated archives.
fn initrd(options: &Options, image: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let mut files: Vec<PathBuf> = options.initrd.clone();
    if files.is_empty() {
        files.extend(Some(image.with_file_name(INITRD_BESIDE_IMAGE)).filter(|path| path.is_file()));
    }
    let mut content = Vec::new();
    for path in &files {
        content.resize(content.len().next_multiple_of(4), 0);
        content.extend(read(path)?);
    }
    Ok((!content.is_empty()).then_some(content))
}
