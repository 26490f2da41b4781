//! The kernels, and runs of them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The kernels with the measuring init program.
pub const KERNELS: [&str; 3] = ["vmlinux-16k", "vmlinux-4k", "vmlinux-lean"];

/// What begins the lines of the init program that measure one operation, a pair of `read` and `write` first.
pub const OPERATIONS: [&str; 5] = ["dd bs=64 ", "dd bs=512 ", "dd bs=4096 ", "dd bs=65536 ", "getppid "];

/// Where the kernels are.
pub struct Guest {
    directory: PathBuf,
}

/// What a run came to.
pub struct Run {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Guest {
    /// The kernels, built if need be; where they cannot be built, ready-made ones beside the checkout. `None`, and a line
    /// that says why, when there are none.
    pub fn find() -> Option<Self> {
        static FOUND: OnceLock<Result<PathBuf, String>> = OnceLock::new();
        match FOUND.get_or_init(find) {
            Ok(directory) => {
                println!("kernels: {}", directory.display());
                Some(Self {
                    directory: directory.clone(),
                })
            }
            Err(why) => {
                println!("skipped: no Linux kernels: {why}");
                None
            }
        }
    }

    /// Whether this kernel is there.
    pub fn has(&self, kernel: &str) -> bool {
        self.directory.join(kernel).exists()
    }

    /// Runs a kernel on a board with further words on its command line and options of the program.
    pub fn run(&self, board: &str, kernel: &str, tree: &str, words: &str, options: &[&str]) -> Run {
        let output = Command::new(env!("CARGO_BIN_EXE_mpc8xx-sim"))
            .args(["--board", board, "--json", "--max-seconds", "600", "--dtb"])
            .arg(self.directory.join(tree))
            .args(["--append", &format!("console=ttyCPM0,115200 {words}")])
            .args(options)
            .arg(self.directory.join(kernel))
            .stdin(Stdio::null())
            .output()
            .expect("the program can be run");
        Run {
            status: output.status.code().expect("the program is not killed by a signal"),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

fn find() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let directory = root.join("target/linux");
    // A finished build is kept, so that this takes no time from the second run on.
    let built = Command::new(root.join("tests/linux/build"))
        .arg(&directory)
        .output()
        .map_err(|cause| format!("tests/linux/build cannot run: {cause}"))?;
    if built.status.success() {
        return Ok(directory);
    }
    let ready_made = root.join("../shared/linux/8xx");
    if KERNELS.iter().all(|kernel| ready_made.join(kernel).exists()) {
        return Ok(ready_made);
    }
    Err(String::from_utf8_lossy(&built.stderr).trim().to_owned())
}

impl Run {
    /// The whole run, for messages.
    pub fn report(&self) -> String {
        format!(
            "status {}\nstdout:\n{}\nstderr:\n{}",
            self.status, self.stdout, self.stderr
        )
    }

    /// The line of the console that begins with `start`.
    pub fn line(&self, start: &str) -> Option<&str> {
        self.stdout.lines().find(|line| line.starts_with(start))
    }

    /// Nanoseconds per operation, from the line that begins with `operation`.
    #[track_caller]
    pub fn nanoseconds(&self, operation: &str) -> f64 {
        let figure = self.line(operation).and_then(|line| line.split("ns/op ").nth(1));
        let figure = figure.and_then(|rest| rest.split(' ').next()?.parse().ok());
        figure.unwrap_or_else(|| panic!("{operation}: no figure: {}", self.report()))
    }

    /// A number of the statistics.
    #[track_caller]
    pub fn figure(&self, name: &str) -> u64 {
        let rest = self.stderr.split(&format!("\"{name}\":")).nth(1);
        let figure = rest.and_then(|rest| rest.split([',', '}']).next()?.parse().ok());
        figure.unwrap_or_else(|| panic!("no {name} in {}", self.stderr))
    }

    /// How many exceptions of a kind were taken.
    pub fn exceptions(&self, name: &str) -> u64 {
        if self.stderr.contains(&format!("\"{name}\":")) {
            self.figure(name)
        } else {
            0
        }
    }
}
