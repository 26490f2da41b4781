//! A firmware that waits at its prompt, on every machine there is; after each command it must still be alive.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use zeronull_image::board::Board;
use zeronull_image::elf::Elf;
use zeronull_image::image::{self, Image, ImageOptions};
use zeronull_image::machine::Machine;
use zeronull_image::session::{PROMPT, Session, Transcript};
use zeronull_image::start::Start;
use zeronull_image::testing::machines;

/// A command that has not ended by then never will; the slowest moves eight gibibytes, which takes the simulated board
/// more than a minute of this host's time.
pub const LIMIT: Duration = Duration::from_secs(600);
/// Time in which the first prompt must be there.
pub const BOOT_LIMIT: Duration = Duration::from_secs(30);

/// A command that reads 64 bytes of zeros into user memory, and what it prints when that works.
const READ_ZEROS: &str = "dd if=/dev/zero of=/dev/null bs=64 count=1 status=noxfer";
const ZEROS_READ: &str = "1+0 records in\n1+0 records out\n";

/// The plain image of a board, built once for all tests of this program.
pub fn image(board: Board) -> Arc<Image> {
    static IMAGES: LazyLock<Mutex<BTreeMap<Board, Arc<Image>>>> = LazyLock::new(Mutex::default);
    let mut images = IMAGES
        .lock()
        .expect("a test that panics holds no lock: building happens first");
    let build = || Arc::new(image::build(&ImageOptions::new(board)).unwrap_or_else(|error| panic!("{error}")));
    Arc::clone(images.entry(board).or_insert_with(build))
}

/// Does `check` on every machine, each time with a freshly started firmware.
pub fn on_every_machine(check: impl Fn(&mut Firmware)) {
    for machine in machines() {
        check(&mut Firmware::boot(machine.as_ref(), &Start::default()));
    }
}

/// What a command did.
#[derive(Debug)]
pub struct Outcome {
    /// What the console showed, `\n` alone as line end.
    pub output: String,
    /// The status that the shell notes.
    pub status: i32,
}

/// What must be as before when a command has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Vitals {
    heap_used: u32,
    frames_free: u32,
    frames: u32,
    window: String,
    limit: String,
    descriptors: u32,
}

/// A firmware at its prompt.
pub struct Firmware {
    /// The board that it runs on.
    pub board: Board,
    /// Name of the machine.
    pub machine: String,
    /// Everything from the start to the first prompt.
    pub banner: String,
    session: Session,
    at_start: Option<Vitals>,
}

impl Firmware {
    /// Starts a machine and waits for the prompt.
    pub fn boot(machine: &dyn Machine, start: &Start) -> Self {
        let session = machine.start(&image(machine.board()), start);
        let session = session.unwrap_or_else(|error| panic!("{error}"));
        Self::attach(machine.board(), machine.name(), session)
    }

    /// Takes over a session that has not shown its prompt yet.
    pub fn attach(board: Board, machine: String, mut session: Session) -> Self {
        let banner = session
            .expect(PROMPT, BOOT_LIMIT)
            .unwrap_or_else(|error| panic!("{error}"));
        let mut firmware = Self {
            board,
            machine,
            banner,
            session,
            at_start: None,
        };
        let (_, vitals) = firmware.vitals();
        assert_eq!(vitals.frames_free, vitals.frames, "{}: memory in use", firmware.machine);
        firmware.at_start = Some(vitals);
        firmware
    }

    /// The session, for tests of the console itself.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Types a command and waits for the next prompt; gives what came between.
    pub fn type_command(&mut self, command: &str) -> String {
        self.session
            .command(command, LIMIT)
            .unwrap_or_else(|error| panic!("{command}: {error}"))
    }

    /// Runs a command, then checks that the firmware is alive: user memory can be read into, the window is closed, the
    /// address limit that of user space, no descriptor and no memory is missing.
    pub fn run(&mut self, command: &str) -> Outcome {
        let output = self.type_command(command);
        let (status, vitals) = self.vitals();
        let machine = &self.machine;
        assert_eq!(Some(vitals), self.at_start, "{machine}: after {command}: {output}");
        let zeros = self.type_command(READ_ZEROS);
        assert_eq!(zeros, ZEROS_READ, "{}: after {command}", self.machine);
        Outcome { output, status }
    }

    /// Runs a command that must succeed; gives what it printed.
    #[track_caller]
    pub fn output(&mut self, command: &str) -> String {
        let Outcome { output, status } = self.run(command);
        assert_eq!(status, 0, "{}: {command}: {output}", self.machine);
        output
    }

    /// Runs a command and compares status and output.
    #[track_caller]
    pub fn expect(&mut self, command: &str, status: i32, output: &str) {
        let outcome = self.run(command);
        let (machine, found) = (&self.machine, (outcome.status, outcome.output.as_str()));
        assert_eq!(found, (status, output), "{machine}: {command}");
    }

    /// Runs a selftest that must pass and checks its lines: a plan, a result for each number, nothing failed, `skips` of
    /// them not done, the sum of the last line. Gives the lines of results.
    #[track_caller]
    pub fn selftest(&mut self, command: &str, skips: usize) -> Vec<String> {
        let output = self.output(command);
        let machine = &self.machine;
        let results: Vec<String> = output
            .lines()
            .filter(|line| line.starts_with("ok ") || line.starts_with("not ok "))
            .map(String::from)
            .collect();
        let plan = output.lines().nth(1).and_then(|line| line.strip_prefix("1.."));
        let count: usize = plan
            .and_then(|plan| plan.parse().ok())
            .unwrap_or_else(|| panic!("{machine}: {output}"));
        assert!(count > 0 && results.len() == count, "{machine}: {output}");
        for (number, line) in (1..).zip(&results) {
            assert!(line.starts_with(&format!("ok {number} - ")), "{machine}: {line}");
        }
        let skipped: Vec<&String> = results.iter().filter(|line| line.contains("# SKIP ")).collect();
        assert_eq!(skipped.len(), skips, "{machine}: {command}: {skipped:?}");
        let total = format!("# pass:{} fail:0 skip:{skips} total:{count}", count - skips);
        assert_eq!(output.lines().last(), Some(total.as_str()), "{machine}");
        results
    }

    /// The presets as `preset` lists them: name and values of the axes.
    pub fn presets(&mut self) -> Vec<(String, Vec<String>)> {
        let output = self.output("preset");
        let lines: Vec<&str> = output.lines().collect();
        let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
        let presets = lines.chunks_exact(2).map(|pair| {
            let name = words(pair[0].trim_start_matches('*'))[0].clone();
            (name, words(pair[1]))
        });
        presets.collect()
    }

    /// The last command's status, and what `status` says of the rest.
    fn vitals(&mut self) -> (i32, Vitals) {
        let text = self.type_command("status");
        let field = |name: &str| -> Vec<&str> {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            let line = line.unwrap_or_else(|| panic!("{}: no {name} in {text}", self.machine));
            line.split_whitespace().collect()
        };
        let number = |text: &str| -> u32 { text.parse().unwrap_or_else(|_| panic!("{text} is no number")) };
        let (heap, frames) = (field("heap"), field("frames"));
        let status = field("last")[1].parse().expect("the status is a number");
        let vitals = Vitals {
            heap_used: number(heap[0]),
            frames_free: number(frames[0]),
            frames: number(frames[2]),
            window: field("window").join(" "),
            limit: field("limit").join(" "),
            descriptors: number(field("files")[0]),
        };
        let found = (vitals.window.as_str(), vitals.limit.as_str(), vitals.descriptors);
        assert_eq!(found, ("closed", "user", 0), "{}", self.machine);
        (status, vitals)
    }

    /// Types a last command and waits for the end of the machine.
    pub fn end_with(mut self, command: &str) -> Transcript {
        self.session
            .send(&format!("{command}\r"))
            .and_then(|()| self.session.finish(LIMIT))
            .unwrap_or_else(|error| panic!("{command}: {error}"))
    }
}

/// A program that was ended for touching what it must not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The address that it touched.
    pub address: u32,
    /// Where it did that.
    pub pc: u32,
    /// `load`, `store` or `execute`.
    pub access: String,
    /// `not mapped` or `access error`.
    pub class: String,
}

impl Fault {
    /// Reads the one line that the firmware prints; panics when `output` is anything else.
    #[track_caller]
    pub fn of(program: &str, output: &str) -> Self {
        let hexadecimal = |text: &str| u32::from_str_radix(text.strip_prefix("0x")?, 16).ok();
        let parse = || {
            let rest = output.strip_prefix(&format!("{program}: segmentation fault at "))?;
            let mut parts = rest.strip_suffix('\n')?.split(", ");
            Some(Self {
                address: hexadecimal(parts.next()?)?,
                pc: hexadecimal(parts.next()?.strip_prefix("pc ")?)?,
                access: parts.next()?.into(),
                class: parts.next()?.into(),
            })
        };
        let fault = parse().unwrap_or_else(|| panic!("no fault of {program}: {output:?}"));
        let Self {
            address,
            pc,
            access,
            class,
        } = &fault;
        let line = format!("{program}: segmentation fault at {address:#010x}, pc {pc:#010x}, {access}, {class}\n");
        assert_eq!(output, line);
        fault
    }
}

/// The instruction at a virtual address of a user program's file.
pub fn instruction(program: &str, address: u32) -> u32 {
    let file = std::fs::read(super::file(program)).expect("the program can be read");
    let elf = Elf::parse(&file).unwrap_or_else(|error| panic!("{error}"));
    let word = elf.segments.iter().find_map(|segment| {
        let offset = address.checked_sub(segment.virtual_address)? as usize;
        let bytes = elf.segment_bytes(segment).ok()?.get(offset..offset + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    });
    word.unwrap_or_else(|| panic!("{program} has nothing at {address:#010x}"))
}
