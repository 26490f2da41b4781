//! `cargo bench-protector`: the series of the mails on images with each stack protector, its effect isolated.

use crate::arguments::{Argument, Arguments, unknown_option};
use crate::board::Board;
use crate::error::Error;
use crate::image::{self, ImageOptions, StackProtector};
use crate::machine::{Machine, Simulator};
use crate::series::{self, Row};

const HELP: &str = "\
usage: cargo bench-protector [--simulate B] [--shuffle SEED] [--json] [PRESET...]

Builds the firmware with each stack protector and runs its `series` on the simulated board:
the benchmark of the mails under each PRESET, or under those of the mails and `fast`. Prints
MB/s and core cycles of a pair of 512-byte calls. The same in every run.

  --simulate B     mcr3000 (the default) or another board of `cargo sim --list-boards`
  --shuffle SEED   images whose sections the linker has shuffled, SEED from 1 to 4294967295
  --json           one object a line: preset, stack_protector, mb_s, cycles
  --help           this text
";

const VARIANTS: [StackProtector; 3] = [StackProtector::None, StackProtector::Strong, StackProtector::All];

/// Runs the program; gives its exit status.
///
/// # Errors
/// A wrong command line, whatever stops a build, a preset or a board that does not exist.
pub fn run(mut arguments: Arguments) -> Result<u8, Error> {
    let (mut simulator, mut presets, mut shuffle, mut json) = (Simulator::default(), Vec::new(), None, false);
    while let Some(argument) = arguments.take()? {
        match argument {
            Argument::Option(option) => match option.as_str() {
                "--help" => {
                    print!("{HELP}");
                    return Ok(0);
                }
                "--simulate" => simulator.board = arguments.value(&option)?,
                "--shuffle" => shuffle = Some(arguments.number(&option, 1..=u32::MAX)?),
                "--json" => json = true,
                _ => return Err(unknown_option(&option, "cargo bench-protector")),
            },
            Argument::Word(preset) => presets.push(preset),
            Argument::Rest(_) => return Err(Error::usage("cargo bench-protector takes no commands")),
        }
    }
    let mut columns = Vec::new();
    for stack_protector in VARIANTS {
        eprintln!("stack protector {}", stack_protector.name());
        let image = image::build(&ImageOptions {
            stack_protector,
            shuffle,
            ..ImageOptions::new(Board::Mcr3000)
        })?;
        columns.push(series::run(&simulator, &image, &presets)?);
    }
    if json {
        print!("{}", lines(&columns));
    } else {
        print!(
            "{}, pairs of 512-byte read and write\n{}",
            simulator.name(),
            table(&columns)
        );
    }
    Ok(0)
}

fn lines(columns: &[Vec<Row>]) -> String {
    let mut text = String::new();
    for (variant, rows) in VARIANTS.iter().zip(columns) {
        for Row { preset, rate, cycles } in rows {
            text += &format!(
                "{{\"preset\":\"{preset}\",\"stack_protector\":\"{}\",\"mb_s\":{rate},\"cycles\":{cycles}}}\n",
                variant.name()
            );
        }
    }
    text
}

/// MB/s and cycles by image, and how many cycles the protector has added.
fn table(columns: &[Vec<Row>]) -> String {
    let mut text = "protector           none           strong                     all\n\
                    preset      MB/s  cycles    MB/s  cycles    more    MB/s  cycles    more\n"
        .to_owned();
    for (index, plain) in columns[0].iter().enumerate() {
        text += &format!("{:<8} {:>7.1} {:>7.0}", plain.preset, plain.rate, plain.cycles);
        for Row { rate, cycles, .. } in columns[1..].iter().map(|rows| &rows[index]) {
            // Of whole cycles; as a float it could be a negative zero.
            let more = (cycles - plain.cycles).round() as i64;
            text += &format!(" {rate:>7.1} {cycles:>7.0} {more:>7}");
        }
        text += "\n";
    }
    text
}
