//! The command line.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use mpc8xx_sim::board::{self, BOARDS, Board};
use mpc8xx_sim::cpu::Quirks;
use mpc8xx_sim::cpu::timing::Timing;
use mpc8xx_sim::load::board_info::Layout;

use super::failure::Failure;
use super::fault::{self, Order};

/// Longest kernel command line in bytes, as Linux's `COMMAND_LINE_SIZE` less the final NUL.
const COMMAND_LINE_LIMIT: usize = 2047;

pub const HELP: &str = "\
usage: cargo sim [OPTIONS] [IMAGE] [-- COMMANDS]

Starts IMAGE (ELF, U-Boot's legacy uImage, or raw) on a simulated MPC8xx board, as the board's U-Boot would,
or what is in the flash when there is no IMAGE. COMMANDS become run=\"COMMANDS; poweroff\" on the kernel command
line (in flash: of zeronull.flash); without them the console is yours (on a terminal Ctrl-A X ends the simulator).

Status: that of the guest (the last line `zeronull: done, status N`; 0 for any other guest that halts for good),
1 script or file failed, 2 wrong command line, 124 budget used up, 125 undefined or unmodelled state.

board
  --board B              mcr3000 (the default), cmpc885, mpc885ads, adder875; --list-boards describes them
  --memory MIB           SDRAM, a power of two from 8
  --flash FILE           content of the flash; written back when the guest has changed it
  --tb N, --dec N        time base and decrementer at the start
  --serial instant|real  whether a transmitted character takes its time on the line (instant); guests that halt
                         without waiting for their output lose its end on a real line
  --typing patient|real  whether the terminal waits for the receiver before each character (patient)
start
  --start bootm|go       Linux hand-over (bootm), or a C call with the words of --append as arguments
  --bd-info old|new      bootm with U-Boot's bd_info (before 2022, since) instead of a device tree
  --dtb FILE             the device tree; otherwise one is made from the board
  --initrd FILE          initial RAM disk; may be repeated; without it, initrd.cpio beside IMAGE
  --append LINE          kernel command line
  --load ADDRESS         where a raw image belongs (0)
  --exit-on-reset        a hard reset is an orderly end
console
  --console C            stdio (the default; plain line ends where it is no terminal), raw (every byte as sent),
                         pty, tcp:PORT (waits for a connection on 127.0.0.1), none
  --script FILE          a dialogue with the console, times in simulated seconds, one line each:
                         expect \"TEXT\" [SECONDS], send \"TEXT\", wait SECONDS, break, garbage N, finish [SECONDS], # comment
time
  --max-insns N          instructions after which the run ends with status 124
  --max-seconds S        the same in simulated seconds
  --timing on|off        the cycle model (on); off, an instruction takes one clock, and the simulator is faster
  --timing-set NAME=N    a constant of the cycle model, in core clocks; a wrong NAME lists them; may be repeated
  --quirk NAME=on|off    what parts differ in (all on): stale-dar (cache-block instructions that fault leave DAR alone),
                         dcbz-alignment (dcbz needs copy-back memory), cpu15 (erratum CPU15 ends the run); may be repeated
looking on
  --json[=FILE]          what the run came to as one line of JSON, on standard error or in FILE
  --profile[=FILE]       instructions, cycles, cache and TLB misses by function: a table on standard error, or JSON in FILE
  --profile-from PLACE   profiles from each time that an address or function is reached
  --profile-to PLACE     until that one is
  --profile-addresses    adds what each address has cost to the JSON
  --folded FILE          call stacks sampled from the back chains, as flame graph tools read them
  --symbols FILE         more symbols: an ELF file of a user program, or lines `address size name`; may be repeated
  --trace[=FILE]         clock, address, word and mnemonic of each instruction, on standard error or in FILE
  --trace-from ADDRESS   starts the trace when that address is reached
  --trace-count N        ends the trace after N instructions
  --gdb PORT             waits for `target remote localhost:PORT` of gdb-multiarch; `monitor help` lists more
faults
  --inject KIND@WHEN     may be repeated:
                         bus-error@ADDRESS[,LENGTH][,read|write][,nth=N][,cycle=N]   bus-error@nth=N[,read|write]
                         poison@ADDRESS[,cycle=N]   bit-flip@ADDRESS.BIT,cycle=N
                         lost-interrupt@[irqK|levelK,]nth=N   garbage@cycle=N,count=M

  --help                 this text
";

/// Where the console goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsoleChoice {
    /// Standard streams; line ends as the host has them unless a terminal wants them as they are.
    Stdio,
    /// Standard streams, every byte as sent.
    Raw,
    /// A pseudo-terminal.
    Pty,
    /// A TCP port of this host.
    Tcp(u16),
    /// Nowhere.
    None,
}

/// How an image is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartChoice {
    /// U-Boot's `bootm`.
    Bootm,
    /// U-Boot's `go`.
    Go,
}

/// Where a report goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Standard error.
    StandardError,
    /// A file.
    File(PathBuf),
}

/// Everything that the command line says.
#[derive(Clone, Debug)]
pub struct Options {
    pub board: &'static Board,
    pub memory_bytes: Option<u32>,
    pub image: Option<PathBuf>,
    pub load_address: u32,
    pub start: StartChoice,
    pub board_info: Option<Layout>,
    pub dtb: Option<PathBuf>,
    pub initrd: Vec<PathBuf>,
    pub append: Option<String>,
    pub commands: Option<String>,
    pub flash: Option<PathBuf>,
    pub exit_on_reset: bool,
    pub console: ConsoleChoice,
    pub script: Option<PathBuf>,
    pub instant_serial: bool,
    pub patient_terminal: bool,
    pub max_instructions: Option<u64>,
    pub max_seconds: Option<f64>,
    pub timed: bool,
    pub timing: Timing,
    pub quirks: Quirks,
    pub time_base: Option<u64>,
    pub decrementer: Option<u32>,
    pub profile: Option<Destination>,
    pub profile_from: Option<String>,
    pub profile_to: Option<String>,
    pub profile_addresses: bool,
    pub folded: Option<PathBuf>,
    pub symbols: Vec<PathBuf>,
    pub trace: Option<Destination>,
    pub trace_from: Option<u32>,
    pub trace_count: Option<u64>,
    pub gdb: Option<u16>,
    pub faults: Vec<Order>,
    pub json: Option<Destination>,
}

/// What the command line asks for.
pub enum Request {
    /// A run.
    Run(Box<Options>),
    /// `--help`.
    Help,
    /// `--list-boards`.
    ListBoards,
}

/// Arguments that are still to be read.
struct Arguments {
    rest: VecDeque<String>,
    attached: Option<String>,
}

impl Arguments {
    /// The value of `option`: attached by `=`, or the next argument.
    fn value(&mut self, option: &str) -> Result<String, Failure> {
        if let Some(value) = self.attached.take() {
            return Ok(value);
        }
        match self.rest.pop_front() {
            Some(value) if value != "--" => Ok(value),
            _ => Err(Failure::usage(format!("{option} needs a value"))),
        }
    }

    fn number<N: Number>(&mut self, option: &str) -> Result<N, Failure> {
        let value = self.value(option)?;
        number(&value).ok_or_else(|| {
            Failure::usage(format!(
                "{option} {value}: accepted is a number up to {:#x}, decimal or 0x...",
                N::MOST
            ))
        })
    }

    /// The value of an option that takes one of a few words.
    fn word<T: Copy>(&mut self, option: &str, accepted: &[(&str, T)]) -> Result<T, Failure> {
        let value = self.value(option)?;
        match accepted.iter().find(|(word, _)| *word == value) {
            Some((_, meaning)) => Ok(*meaning),
            None => {
                let words: Vec<&str> = accepted.iter().map(|(word, _)| *word).collect();
                Err(Failure::usage(format!(
                    "{option} {value}: accepted are {}",
                    words.join(", ")
                )))
            }
        }
    }

    fn destination(&mut self) -> Destination {
        match self.attached.take() {
            Some(file) => Destination::File(file.into()),
            None => Destination::StandardError,
        }
    }
}

/// Unsigned numbers that options take.
pub trait Number: FromStr + Sized {
    /// The largest.
    const MOST: u64;
    /// The same value, if it fits.
    fn narrow(wide: u64) -> Option<Self>;
}

macro_rules! numbers {
    ($($name:ty),*) => {
        $(impl Number for $name {
            const MOST: u64 = <$name>::MAX as u64;
            fn narrow(wide: u64) -> Option<Self> {
                Self::try_from(wide).ok()
            }
        })*
    };
}
numbers!(u8, u16, u32, u64);

/// Reads a number, decimal or hexadecimal with `0x`.
pub fn number<N: Number>(text: &str) -> Option<N> {
    let wide = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        // `from_str_radix` would take a sign.
        Some(digits) if digits.starts_with(['+', '-']) => None,
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None if text.starts_with('+') => None,
        None => text.parse().ok(),
    };
    wide.and_then(N::narrow)
}

/// Reads a positive number of seconds with a fraction.
pub fn seconds(text: &str) -> Option<f64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    // Above a million years the product with the clock leaves what can be counted.
    text.parse()
        .ok()
        .filter(|seconds: &f64| is_plain && (0.0..=1e6).contains(seconds))
}

/// Reads the command line.
///
/// # Errors
/// Anything that is not understood, with what would be.
pub fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Request, Failure> {
    let rest = arguments
        .map(|argument| {
            argument
                .into_string()
                .map_err(|argument| Failure::usage(format!("argument {argument:?} is not valid UTF-8")))
        })
        .collect::<Result<_, _>>()?;
    let mut arguments = Arguments { rest, attached: None };
    let mut options = Options {
        board: &BOARDS[0],
        memory_bytes: None,
        image: None,
        load_address: 0,
        start: StartChoice::Bootm,
        board_info: None,
        dtb: None,
        initrd: Vec::new(),
        append: None,
        commands: None,
        flash: None,
        exit_on_reset: false,
        console: ConsoleChoice::Stdio,
        script: None,
        instant_serial: true,
        patient_terminal: true,
        max_instructions: None,
        max_seconds: None,
        timed: true,
        timing: Timing::default(),
        quirks: Quirks::default(),
        time_base: None,
        decrementer: None,
        profile: None,
        profile_from: None,
        profile_to: None,
        profile_addresses: false,
        folded: None,
        symbols: Vec::new(),
        trace: None,
        trace_from: None,
        trace_count: None,
        gdb: None,
        faults: Vec::new(),
        json: None,
    };
    while let Some(argument) = arguments.rest.pop_front() {
        if argument == "--" {
            let commands = arguments.rest.drain(..).collect::<Vec<_>>().join(" ");
            if commands.trim().is_empty() {
                return Err(Failure::usage("no commands after `--`"));
            }
            options.commands = Some(commands);
        } else if argument.starts_with('-') && argument.len() > 1 {
            let name = match argument.split_once('=') {
                Some((name, value)) => {
                    arguments.attached = Some(value.to_owned());
                    name
                }
                None => &argument,
            };
            match name {
                "--help" | "-h" => return Ok(Request::Help),
                "--list-boards" => return Ok(Request::ListBoards),
                _ => option(name, &mut arguments, &mut options)?,
            }
            if let Some(value) = arguments.attached.take() {
                return Err(Failure::usage(format!("{name} takes no value, `{value}` is given")));
            }
        } else if options.image.is_none() {
            options.image = Some(argument.into());
        } else {
            return Err(Failure::usage(format!(
                "unexpected word `{argument}`: one IMAGE is accepted, commands go after `--`"
            )));
        }
    }
    check(&options)?;
    Ok(Request::Run(Box::new(options)))
}

/// Reads one option that starts with `name`.
fn option(name: &str, arguments: &mut Arguments, options: &mut Options) -> Result<(), Failure> {
    let on_off = [("on", true), ("off", false)];
    match name {
        "--board" => {
            let choices: Vec<_> = BOARDS.iter().map(|board| (board.name, board)).collect();
            options.board = arguments.word(name, &choices)?;
        }
        "--memory" => {
            let mebibytes: u32 = arguments.number(name)?;
            // What the board takes is its own to say; here it must only fit the unit.
            let bytes = mebibytes.checked_mul(1 << 20);
            options.memory_bytes = Some(bytes.ok_or_else(|| {
                Failure::usage(format!(
                    "--memory {mebibytes}: accepted is a power of two from 8, in MiB"
                ))
            })?);
        }
        "--load" => options.load_address = arguments.number(name)?,
        "--start" => {
            options.start = arguments.word(name, &[("bootm", StartChoice::Bootm), ("go", StartChoice::Go)])?;
        }
        "--bd-info" => {
            options.board_info = Some(arguments.word(name, &[("old", Layout::Old), ("new", Layout::New)])?);
        }
        "--dtb" => options.dtb = Some(arguments.value(name)?.into()),
        "--initrd" => options.initrd.push(arguments.value(name)?.into()),
        "--append" => options.append = Some(arguments.value(name)?),
        "--flash" => options.flash = Some(arguments.value(name)?.into()),
        "--exit-on-reset" => options.exit_on_reset = true,
        "--console" => options.console = console(&arguments.value(name)?)?,
        "--script" => options.script = Some(arguments.value(name)?.into()),
        "--serial" => options.instant_serial = arguments.word(name, &[("instant", true), ("real", false)])?,
        "--typing" => options.patient_terminal = arguments.word(name, &[("patient", true), ("real", false)])?,
        "--max-insns" => options.max_instructions = Some(arguments.number(name)?),
        "--max-seconds" => {
            let value = arguments.value(name)?;
            let accepted = || Failure::usage(format!("{name} {value}: accepted are seconds, such as 10 or 0.5"));
            options.max_seconds = Some(seconds(&value).ok_or_else(accepted)?);
        }
        "--timing" => options.timed = arguments.word(name, &on_off)?,
        "--timing-set" => {
            let value = arguments.value(name)?;
            let setting = value
                .split_once('=')
                .and_then(|(name, clocks)| Some((name, number(clocks)?)));
            let (constant, clocks) =
                setting.ok_or_else(|| Failure::usage(format!("{name} {value}: accepted is NAME=CLOCKS")))?;
            let set = options.timing.set(constant, clocks);
            set.map_err(|message| Failure::usage(format!("{name} {value}: {message}")))?;
        }
        "--quirk" => {
            let value = arguments.value(name)?;
            let switch = match value.split_once('=') {
                Some(("stale-dar", state)) => Some((&mut options.quirks.cache_instructions_keep_dar, state)),
                Some(("dcbz-alignment", state)) => Some((&mut options.quirks.dcbz_needs_copy_back, state)),
                Some(("cpu15", state)) => Some((&mut options.quirks.cpu15, state)),
                _ => None,
            };
            match switch {
                Some((switch, "on")) => *switch = true,
                Some((switch, "off")) => *switch = false,
                _ => {
                    return Err(Failure::usage(format!(
                        "{name} {value}: accepted are stale-dar, dcbz-alignment, cpu15 with =on or =off"
                    )));
                }
            }
        }
        "--tb" => options.time_base = Some(arguments.number(name)?),
        "--dec" => options.decrementer = Some(arguments.number(name)?),
        "--profile" => options.profile = Some(arguments.destination()),
        "--profile-from" => options.profile_from = Some(arguments.value(name)?),
        "--profile-to" => options.profile_to = Some(arguments.value(name)?),
        "--profile-addresses" => options.profile_addresses = true,
        "--folded" => options.folded = Some(arguments.value(name)?.into()),
        "--symbols" => options.symbols.push(arguments.value(name)?.into()),
        "--trace" => options.trace = Some(arguments.destination()),
        "--trace-from" => options.trace_from = Some(arguments.number(name)?),
        "--trace-count" => options.trace_count = Some(arguments.number(name)?),
        "--gdb" => options.gdb = Some(arguments.number(name)?),
        "--inject" => options.faults.push(fault::parse(&arguments.value(name)?)?),
        "--json" => options.json = Some(arguments.destination()),
        _ => {
            return Err(Failure::usage(format!(
                "unknown option `{name}`; `cargo sim --help` lists the options"
            )));
        }
    }
    Ok(())
}

fn console(value: &str) -> Result<ConsoleChoice, Failure> {
    Ok(match value {
        "stdio" => ConsoleChoice::Stdio,
        "raw" => ConsoleChoice::Raw,
        "pty" => ConsoleChoice::Pty,
        "none" => ConsoleChoice::None,
        _ => match value.strip_prefix("tcp:").and_then(number) {
            Some(port) => ConsoleChoice::Tcp(port),
            None => {
                return Err(Failure::usage(format!(
                    "--console {value}: accepted are stdio, raw, pty, tcp:PORT, none"
                )));
            }
        },
    })
}

/// Refuses what does not go together, before anything is started.
fn check(options: &Options) -> Result<(), Failure> {
    if options.image.is_none() {
        if options.flash.is_none() {
            return Err(Failure::usage(
                "nothing to start: give an IMAGE, or the content of the flash with --flash FILE",
            ));
        }
        let needs_image = [
            ("--dtb", options.dtb.is_some()),
            ("--initrd", !options.initrd.is_empty()),
            ("--bd-info", options.board_info.is_some()),
            ("--start go", options.start == StartChoice::Go),
        ];
        if let Some((what, _)) = needs_image.iter().find(|(_, given)| *given) {
            return Err(Failure::usage(format!(
                "{what} needs an IMAGE: from the reset vector the guest's own boot loader decides"
            )));
        }
    }
    let exclusive = [
        (
            options.start == StartChoice::Go && options.board_info.is_some(),
            "--start go and --bd-info",
        ),
        (
            options.start == StartChoice::Go && options.commands.is_some(),
            "--start go and COMMANDS",
        ),
        (
            options.start == StartChoice::Go && !options.initrd.is_empty(),
            "--start go and --initrd",
        ),
        (
            options.dtb.is_some() && options.board_info.is_some(),
            "--dtb and --bd-info",
        ),
        (
            options.dtb.is_some() && options.start == StartChoice::Go,
            "--dtb and --start go",
        ),
        (
            options.script.is_some() && options.commands.is_some(),
            "--script and COMMANDS",
        ),
    ];
    if let Some((_, pair)) = exclusive.iter().find(|(both, _)| *both) {
        return Err(Failure::usage(format!("{pair} exclude each other")));
    }
    if options.trace.is_none() && (options.trace_from.is_some() || options.trace_count.is_some()) {
        return Err(Failure::usage("--trace-from and --trace-count need --trace"));
    }
    let has_limits = options.profile_from.is_some() || options.profile_to.is_some();
    if options.profile.is_none() && (has_limits || options.profile_addresses) {
        return Err(Failure::usage(
            "--profile-from, --profile-to and --profile-addresses need --profile",
        ));
    }
    options.command_line().map(|_| ())
}

impl Options {
    /// The kernel command line; `None`: nothing was said about it.
    ///
    /// # Errors
    /// It cannot be passed: too long, not printable ASCII, or a double quote inside COMMANDS.
    pub fn command_line(&self) -> Result<Option<String>, Failure> {
        let mut words = Vec::new();
        words.extend(self.append.clone());
        if let Some(commands) = &self.commands {
            if commands.contains('"') {
                return Err(Failure::usage(
                    "COMMANDS must not contain a double quote: run=\"...\" has no way to hold one",
                ));
            }
            words.push(format!("run=\"{commands}; poweroff\""));
        }
        if words.is_empty() {
            return Ok(None);
        }
        let line = words.join(" ");
        if let Some(character) = line.chars().find(|character| !matches!(character, ' '..='~')) {
            return Err(Failure::usage(format!(
                "kernel command line contains {character:?}: accepted are printable ASCII characters"
            )));
        }
        // A guest that cuts its command line would lose the last of the commands; words alone are its own business.
        if self.commands.is_some() && line.len() > COMMAND_LINE_LIMIT {
            return Err(Failure::usage(format!(
                "kernel command line of {} bytes is too long: {COMMAND_LINE_LIMIT} are accepted",
                line.len()
            )));
        }
        Ok(Some(line))
    }

    /// Whether somebody may type at the console.
    pub fn takes_input(&self) -> bool {
        self.commands.is_none() && self.script.is_none()
    }
}

/// The boards as text, for `--list-boards`.
pub fn list_boards() -> String {
    let line = |board: &Board| {
        let part = board.part();
        format!(
            "{:<10} {}, {} MiB flash at {:#010x}, I cache {} KiB, D cache {} KiB, console SMC1 at {} baud\n",
            board.name,
            board.description,
            board.flash_bytes() >> 20,
            board.flash.base,
            part.icache.bytes() >> 10,
            part.dcache.bytes() >> 10,
            board.console_baud
        )
    };
    board::BOARDS.iter().map(line).collect()
}
