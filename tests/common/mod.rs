//! Running the user programs: here under QEMU's user-mode emulation, where they are ordinary Linux programs, in
//! [`firmware`] on the firmware.

// Each test binary uses a part of this.
#![allow(dead_code, reason = "shared by test binaries that each use a part")]

pub mod firmware;
pub mod json;

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use zeronull_image::{image, testing};

/// A program that has not ended by then never will.
const PATIENCE: Duration = Duration::from_secs(120);

/// Pause between the parts of standard input, long enough for the program to read each part on its own.
const PAUSE: Duration = Duration::from_millis(300);

static PROGRAMS: LazyLock<Vec<PathBuf>> =
    LazyLock::new(|| image::build_user_programs().unwrap_or_else(|error| panic!("{}", error.message)));

/// The file of a user program, built for the target.
pub fn file(name: &str) -> &'static Path {
    let is_wanted = |path: &&PathBuf| path.file_name().is_some_and(|file| file == name);
    PROGRAMS
        .iter()
        .find(is_wanted)
        .unwrap_or_else(|| panic!("no user program {name} was built"))
}

/// What a program did.
#[derive(Debug)]
pub struct Run {
    status: ExitStatus,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: String,
    /// How long it took, start of the emulator included.
    pub elapsed: Duration,
}

impl Run {
    /// The exit status.
    #[track_caller]
    pub fn status(&self) -> i32 {
        self.status
            .code()
            .unwrap_or_else(|| panic!("ended by a signal: {self:?}"))
    }

    /// The number of the signal that ended it.
    #[track_caller]
    pub fn signal(&self) -> i32 {
        self.status
            .signal()
            .unwrap_or_else(|| panic!("not ended by a signal: {self:?}"))
    }

    /// Standard output as text.
    #[track_caller]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("the output is text")
    }

    /// Checks that the program succeeded.
    #[track_caller]
    pub fn succeeded(self) -> Self {
        assert!(self.status.success(), "{self:?}");
        self
    }
}

/// The command that runs a user program under `qemu-ppc`.
pub fn emulated(name: &str) -> Command {
    let mut command = testing::program("qemu-ppc");
    command.arg(file(name));
    command
}

/// Runs a user program with the given operands.
pub fn run(name: &str, operands: &[&str]) -> Run {
    finish(emulated(name).args(operands), &[])
}

/// Runs `command` to its end, in which it reads the parts of `input` one after the other with a pause between them.
pub fn finish(command: &mut Command, input: &[&[u8]]) -> Run {
    let start = Instant::now();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|cause| panic!("cannot run {command:?}: {cause}"));
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let mut stdin = child.stdin.take().expect("standard input is a pipe");
    thread::scope(|scope| {
        scope.spawn(move || {
            for (index, part) in input.iter().enumerate() {
                if index > 0 {
                    thread::sleep(PAUSE);
                }
                // A program may well end without having read everything.
                let _ = stdin.write_all(part);
            }
        });
        let status = wait(&mut child, command);
        Run {
            status,
            stdout: stdout.join().expect("standard output is read"),
            stderr: String::from_utf8_lossy(&stderr.join().expect("standard error is read")).into_owned(),
            elapsed: start.elapsed(),
        }
    })
}

fn collect(stream: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            stream.read_to_end(&mut bytes).expect("a pipe can be read");
        }
        bytes
    })
}

fn wait(child: &mut Child, command: &Command) -> ExitStatus {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().expect("the child can be waited for") {
            return status;
        }
        if Instant::now() > end {
            child.kill().expect("the child can be killed");
            panic!("{command:?} did not end in {PATIENCE:?}");
        }
        thread::sleep(Duration::from_millis(2));
    }
}
