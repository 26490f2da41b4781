//! The machines that can start an image, behind one interface, so that one list of tests runs on all of them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::board::Board;
use crate::cargo;
use crate::error::Error;
use crate::image::{Image, ImageOptions};
use crate::session::{Session, Transcript};
use crate::start::Start;
use crate::workspace;

/// Time a run may take when nothing else is said.
pub const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(300);

/// Where the firmware's console goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Console {
    /// To the standard streams of the machine's process, which are pipes.
    Pipes,
    /// The same with a terminal as standard input: control characters belong to the firmware.
    Terminal,
}

/// A machine: something that can turn an image and a command line into a process whose standard streams are the console.
pub trait Machine {
    /// Name for messages and for tests that list their machines.
    fn name(&self) -> String;

    /// The board whose image it starts.
    fn board(&self) -> Board;

    /// The process to start.
    ///
    /// # Errors
    /// The machine's program is not there.
    fn command(&self, image: &Image, command_line: &str, initrd: &Path, console: Console) -> Result<Command, Error>;

    /// Starts the image with a console that the caller reads and writes.
    ///
    /// # Errors
    /// A bad command line, an unreadable initrd, or a program that cannot be started.
    fn start(&self, image: &Image, start: &Start) -> Result<Session, Error> {
        let initrd = start.initrd(image)?;
        let command = self.command(image, &start.command_line()?, initrd.path(), Console::Pipes)?;
        Session::start(command, self.name(), initrd)
    }

    /// Builds the plain image of the machine's board, runs `commands` in it and waits for the verdict.
    ///
    /// # Errors
    /// As [`Machine::start`] and [`Session::finish`]; a firmware status other than 0 is no error.
    fn run(&self, commands: &[&str]) -> Result<Transcript, Error> {
        let image = crate::image::build(&ImageOptions::new(self.board()))?;
        self.start(&image, &Start::commands(commands))?
            .finish(DEFAULT_TIME_LIMIT)
    }
}

/// How QEMU gets the image into memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum QemuStart {
    /// The loader device fills the memory and sets the start address: the state after a reset, nothing ran before.
    #[default]
    Loader,
    /// OpenBIOS runs first and starts the image as a kernel. It has no handlers for a software TLB: on the CPUs of the
    /// 603 family it ends in its own first TLB miss, before it prints anything.
    OpenBios,
}

impl QemuStart {
    /// The CPU to use when none is asked for: one on which this start works.
    pub fn default_cpu(self) -> &'static str {
        match self {
            Self::Loader => "603e",
            Self::OpenBios => "750",
        }
    }
}

/// QEMU's `g3beige`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Qemu {
    /// CPU model as `qemu-system-ppc -cpu help` lists it.
    pub cpu: String,
    /// RAM in MiB.
    pub memory: u32,
    /// One instruction takes 2 to this power nanoseconds of the machine's time; `None` lets that time follow the host's.
    pub icount: Option<u32>,
    /// How the image starts.
    pub start: QemuStart,
}

impl Qemu {
    /// The program.
    pub const PROGRAM: &str = "qemu-system-ppc";
    /// What the machine can hold in MiB; below 16 OpenBIOS does not start.
    pub const MEMORY_RANGE: std::ops::RangeInclusive<u32> = 16..=2047;
    /// The shifts that QEMU accepts for `-icount`.
    pub const ICOUNT_RANGE: std::ops::RangeInclusive<u32> = 0..=10;

    /// The CPUs of [`Qemu::CPUS`] with a hash table that the hardware walks.
    const HASH_TABLE_CPUS: [&str; 2] = ["750", "7400"];
    /// The CPU models that the firmware is for.
    pub const CPUS: [&str; 6] = ["603e", "g2", "g2le", "e300c3", "750", "7400"];

    /// Refuses what cannot work: OpenBIOS on a CPU with a software TLB.
    ///
    /// # Errors
    /// Names the CPU and those that work.
    pub fn check(&self) -> Result<(), Error> {
        let cpu = self.cpu.as_str();
        let is_soft = Self::CPUS.contains(&cpu) && !Self::HASH_TABLE_CPUS.contains(&cpu);
        if self.start == QemuStart::OpenBios && is_soft {
            let accepted = Self::HASH_TABLE_CPUS.join(", ");
            return Err(Error::usage(format!(
                "OpenBIOS does not run on cpu {cpu}: accepted with it are {accepted}"
            )));
        }
        Ok(())
    }

    /// Where the program is.
    ///
    /// # Errors
    /// It is in no directory of `PATH`; the message says what to install.
    pub fn find_program() -> Result<PathBuf, Error> {
        workspace::find_program(Self::PROGRAM).ok_or_else(|| {
            Error::failed(format!(
                "{} not found in PATH: install the Debian package {0}",
                Self::PROGRAM
            ))
        })
    }
}

impl Default for Qemu {
    fn default() -> Self {
        let start = QemuStart::default();
        Self {
            cpu: start.default_cpu().into(),
            memory: 128,
            icount: None,
            start,
        }
    }
}

impl Machine for Qemu {
    fn name(&self) -> String {
        match self.start {
            QemuStart::Loader => format!("qemu g3beige {}", self.cpu),
            QemuStart::OpenBios => format!("qemu g3beige {} through OpenBIOS", self.cpu),
        }
    }

    fn board(&self) -> Board {
        Board::G3beige
    }

    fn command(&self, image: &Image, command_line: &str, initrd: &Path, console: Console) -> Result<Command, Error> {
        let mut command = dying_with_its_parent(Self::find_program()?);
        // The default VGA and network cards need option ROMs that Debian packages elsewhere.
        command.args([
            "-M", "g3beige", "-cpu", &self.cpu, "-vga", "none", "-nic", "none", "-display", "none",
        ]);
        command.args(["-m", &self.memory.to_string(), "-monitor", "none", "-no-reboot"]);
        match console {
            Console::Pipes => command.args(["-serial", "stdio"]),
            // With signal=off ^C reaches the firmware; mux=on leaves ^A X as the way out.
            Console::Terminal => command.args([
                "-chardev",
                "stdio,id=console,mux=on,signal=off",
                "-serial",
                "chardev:console",
            ]),
        };
        if let Some(shift) = self.icount {
            command.arg("-icount").arg(format!("shift={shift},sleep=off"));
        }
        match self.start {
            QemuStart::Loader => {
                command
                    .arg("-device")
                    .arg(format!("loader,file={},cpu-num=0", option_value(&image.elf())));
                let initrd = option_value(initrd);
                command
                    .arg("-fw_cfg")
                    .arg(format!("name=opt/zeronull/initrd,file={initrd}"));
                if !command_line.is_empty() {
                    let line = command_line.replace(',', ",,");
                    command
                        .arg("-fw_cfg")
                        .arg(format!("name=opt/zeronull/cmdline,string={line}"));
                }
            }
            QemuStart::OpenBios => {
                command
                    .arg("-kernel")
                    .arg(image.elf())
                    .arg("-initrd")
                    .arg(initrd)
                    .args(["-append", command_line]);
            }
        }
        Ok(command)
    }
}

/// The board of `cargo sim`, started with the uImage as its U-Boot would.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simulator {
    /// Board as `cargo sim --list-boards` has it.
    pub board: String,
    /// More options of the program.
    pub options: Vec<String>,
}

impl Default for Simulator {
    fn default() -> Self {
        Self {
            board: Board::Mcr3000.name().into(),
            options: Vec::new(),
        }
    }
}

impl Machine for Simulator {
    fn name(&self) -> String {
        let words = [&["simulated".to_owned(), self.board.clone()], &self.options[..]].concat();
        words.join(" ")
    }

    fn board(&self) -> Board {
        Board::Mcr3000
    }

    fn command(&self, image: &Image, command_line: &str, initrd: &Path, console: Console) -> Result<Command, Error> {
        let mut command = dying_with_its_parent(cargo::simulator()?);
        let console = match console {
            Console::Pipes => "raw",
            Console::Terminal => "stdio",
        };
        command.args(["--board", &self.board, "--console", console]);
        command
            .arg("--initrd")
            .arg(initrd)
            .arg(format!("--append={command_line}"));
        command.args(&self.options).arg(image.uimage());
        Ok(command)
    }
}

/// A path inside one of QEMU's comma-separated options, where a comma is written twice.
fn option_value(path: &Path) -> String {
    path.to_string_lossy().replace(',', ",,")
}

/// A command for `program` that the kernel kills when this process dies, where util-linux offers that: a machine whose
/// test was killed would otherwise compute for ever. It is tied to the thread that starts it.
fn dying_with_its_parent(program: PathBuf) -> Command {
    match workspace::find_program("setpriv") {
        Some(setpriv) => {
            let mut command = Command::new(setpriv);
            command.args(["--pdeathsig", "KILL", "--"]).arg(program);
            command
        }
        None => Command::new(program),
    }
}
