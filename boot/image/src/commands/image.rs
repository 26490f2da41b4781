//! `cargo image`: builds an image and says how large everything became.

use std::path::Path;

use crate::arguments::{Argument, Arguments, unknown_option};
use crate::board::Board;
use crate::error::Error;
use crate::image::{self, Image, ImageOptions};
use crate::start::check_command_line;

const HELP: &str = "\
usage: cargo image [--board B] [--stack-protector S] [--shuffle SEED] [--command-line LINE]

Builds the firmware and the user programs and writes
target/image/<board>/zeronull.{elf,bin,uimage,srec,sym} and initrd.cpio;
for mcr3000 also zeronull.flash, which starts that board from its reset vector.

  --board B            g3beige (QEMU, the default) or mcr3000 (MPC8xx)
  --stack-protector S  none (the default), strong or all; adds -S to the directory's name
  --shuffle SEED       lets the linker shuffle the sections, SEED from 1 to 4294967295;
                       adds -S-SEED to the directory's name
  --command-line LINE  the kernel command line in zeronull.flash
  --help               this text
";

/// Runs the program; gives its exit status.
///
/// # Errors
/// A wrong command line, or whatever stops the build.
pub fn run(mut arguments: Arguments) -> Result<u8, Error> {
    let mut options = ImageOptions::new(Board::G3beige);
    while let Some(argument) = arguments.take()? {
        match argument {
            Argument::Option(option) => match option.as_str() {
                "--help" => {
                    print!("{HELP}");
                    return Ok(0);
                }
                "--board" => options.board = arguments.value(&option)?.parse()?,
                "--stack-protector" => options.stack_protector = arguments.value(&option)?.parse()?,
                "--shuffle" => options.shuffle = Some(arguments.number(&option, 1..=u32::MAX)?),
                "--command-line" => options.command_line = arguments.value(&option)?,
                _ => return Err(unknown_option(&option, "cargo image")),
            },
            Argument::Word(word) => return Err(Error::usage(format!("unexpected word `{word}`"))),
            Argument::Rest(_) => return Err(Error::usage("cargo image takes no commands")),
        }
    }
    check_command_line(&options.command_line)?;
    if !options.command_line.is_empty() && !options.board.has_reset_image() {
        return Err(Error::usage(format!(
            "--command-line: an image for {} has no place for one",
            options.board
        )));
    }
    let image = image::build(&options)?;
    print!("{}", table(&image)?);
    Ok(0)
}

/// The files with their sizes, then what the firmware takes in memory.
fn table(image: &Image) -> Result<String, Error> {
    let mut text = format!("{}\n", image.directory.display());
    for path in image.files() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        text += &format!("{name:<20} {:>10} bytes\n", file_bytes(&path)?);
    }
    let memory = image.memory;
    for (name, bytes) in [
        ("text", memory.text),
        ("rodata", memory.rodata),
        ("data", memory.data),
        ("bss", memory.bss),
    ] {
        text += &format!("{name:<20} {bytes:>10} bytes\n");
    }
    Ok(text)
}

fn file_bytes(path: &Path) -> Result<u64, Error> {
    Ok(path.metadata().map_err(Error::file("examine", path))?.len())
}
