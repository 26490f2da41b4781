//! `cargo run-qemu`, the program behind `./qemu/run`: boots an image on QEMU.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use crate::arguments::{Argument, Arguments, unknown_option};
use crate::error::Error;
use crate::image::{self, ImageOptions};
use crate::machine::{Console, DEFAULT_TIME_LIMIT, Machine, Qemu, QemuStart};
use crate::session::{Session, Transcript};
use crate::start::Start;
use crate::terminal::Raw;

/// What runs when no commands are given: the benchmark line of the mails.
const DEFAULT_COMMAND: &str = "time dd if=/dev/zero of=/dev/null count=1M";

const HELP: &str = "\
usage: ./qemu/run [OPTIONS] [-- COMMANDS]

Builds the firmware and boots it on QEMU. On a terminal and without COMMANDS: runs the default
benchmark, then gives you the prompt (`poweroff` ends the firmware, Ctrl-A X ends QEMU).
Otherwise: runs COMMANDS (`;` between them), powers off, and exits with the firmware's status,
or 124 when it takes too long, or 125 when QEMU ends without the firmware's verdict.

  --cpu C           603e (the default), g2, g2le, e300c3, 750 (the default with OpenBIOS), 7400
  --append LINE     more words for the kernel command line
  --initrd CPIO     a newc archive with your own static Linux programs, run by name; may be repeated
  --preset P        the kernel configuration to begin with
  --icount N        one instruction takes 2^N ns of the machine's time, N from 0 to 10
  --json            the commands print JSON lines
  --start S         loader (the default: as from reset) or openbios (as a kernel, through OpenBIOS,
                    which runs on 750 and 7400 only)
  --memory MIB      RAM, 16 to 2047 (128)
  --timeout S       seconds that a run with COMMANDS may take, 1 to 86400 (300)
  --help            this text
";

/// The longest time limit in seconds that can be asked for: a day.
const TIME_LIMIT_SECONDS: u32 = 86_400;

struct Options {
    machine: Qemu,
    start: Start,
    commands: Option<String>,
    time_limit: Duration,
}

/// Runs the program; gives the firmware's status.
///
/// # Errors
/// A wrong command line, whatever stops the build, or a run without a verdict.
pub fn run(arguments: Arguments) -> Result<u8, Error> {
    let Some(mut options) = parse(arguments)? else {
        print!("{HELP}");
        return Ok(0);
    };
    let is_interactive = options.commands.is_none() && io::stdin().is_terminal() && io::stdout().is_terminal();
    let command = options.commands.take().unwrap_or_else(|| DEFAULT_COMMAND.into());
    options.start.run = if is_interactive {
        Some(command)
    } else {
        Start::commands(&[&command]).run
    };

    options.start.check()?;
    options.machine.check()?;
    Qemu::find_program()?;
    let image = image::build(&ImageOptions::new(options.machine.board()))?;
    let initrd = options.start.initrd(&image)?;
    let console = if is_interactive {
        Console::Terminal
    } else {
        Console::Pipes
    };
    let mut process = options
        .machine
        .command(&image, &options.start.command_line()?, initrd.path(), console)?;
    process.stdin(if is_interactive {
        Stdio::inherit()
    } else {
        Stdio::null()
    });

    let _raw = if is_interactive { Some(Raw::enter()?) } else { None };
    let session = Session::spawn(process, options.machine.name(), initrd)?;
    let time_limit = (!is_interactive).then_some(options.time_limit);
    Ok(show(session, time_limit)?.status)
}

/// Copies the console to standard output with plain line ends; a terminal adds its `\r` itself.
fn show(session: Session, time_limit: Option<Duration>) -> Result<Transcript, Error> {
    let mut held_back = false;
    session.finish_showing(time_limit, |chunk| {
        let mut text = Vec::with_capacity(chunk.len() + 1);
        for &byte in chunk {
            // A `\r` waits for what follows it.
            if held_back && byte != b'\n' {
                text.push(b'\r');
            }
            held_back = byte == b'\r';
            if !held_back {
                text.push(byte);
            }
        }
        let mut output = io::stdout().lock();
        output
            .write_all(&text)
            .and_then(|()| output.flush())
            .map_err(|cause| Error::failed(format!("cannot write the console: {cause}")))
    })
}

fn parse(mut arguments: Arguments) -> Result<Option<Options>, Error> {
    let mut options = Options {
        machine: Qemu::default(),
        start: Start::default(),
        commands: None,
        time_limit: DEFAULT_TIME_LIMIT,
    };
    let mut cpu = None;
    while let Some(argument) = arguments.take()? {
        match argument {
            Argument::Option(option) => match option.as_str() {
                "--help" => return Ok(None),
                "--cpu" => cpu = Some(arguments.value(&option)?),
                "--append" => options.start.append = Some(arguments.value(&option)?),
                "--initrd" => options.start.initrd.push(PathBuf::from(arguments.value(&option)?)),
                "--preset" => options.start.preset = Some(preset(arguments.value(&option)?)?),
                "--icount" => options.machine.icount = Some(arguments.number(&option, Qemu::ICOUNT_RANGE)?),
                "--json" => options.start.json = true,
                "--start" => options.machine.start = start(&arguments.value(&option)?)?,
                "--memory" => options.machine.memory = arguments.number(&option, Qemu::MEMORY_RANGE)?,
                "--timeout" => {
                    let seconds = arguments.number(&option, 1..=TIME_LIMIT_SECONDS)?;
                    options.time_limit = Duration::from_secs(seconds.into());
                }
                _ => return Err(unknown_option(&option, "./qemu/run")),
            },
            Argument::Word(word) => {
                return Err(Error::usage(format!(
                    "unexpected word `{word}`: commands go after `--`"
                )));
            }
            Argument::Rest(words) => {
                let commands = words.join(" ");
                if commands.trim().is_empty() {
                    return Err(Error::usage("no commands after `--`"));
                }
                options.commands = Some(commands);
            }
        }
    }
    options.machine.cpu = cpu.unwrap_or_else(|| options.machine.start.default_cpu().into());
    Ok(Some(options))
}

/// A preset is one word; which ones there are, the firmware knows.
fn preset(name: String) -> Result<String, Error> {
    if name.is_empty() || name.contains([' ', '"']) {
        return Err(Error::usage(format!("preset `{name}`: accepted is one word")));
    }
    Ok(name)
}

fn start(name: &str) -> Result<QemuStart, Error> {
    match name {
        "loader" => Ok(QemuStart::Loader),
        "openbios" => Ok(QemuStart::OpenBios),
        _ => Err(Error::usage(format!(
            "unknown start `{name}`: accepted are loader, openbios"
        ))),
    }
}
