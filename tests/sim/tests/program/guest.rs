//! The program under test and the guest that it runs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

/// A directory of its own for each name, empty at the start.
pub fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("program").join(name);
    if path.exists() {
        std::fs::remove_dir_all(&path).expect("an old directory can be removed");
    }
    std::fs::create_dir_all(&path).expect("a directory can be made");
    path
}

/// Runs a program of the distribution in a directory.
pub fn run(program: &str, arguments: &[&str], directory: &Path) {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap_or_else(|cause| panic!("{program} cannot be run: {cause}; ./tests/run installs it"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
}

static GUEST: LazyLock<PathBuf> = LazyLock::new(|| {
    let directory = directory("guest");
    std::fs::write(directory.join("guest.s"), include_str!("guest.s")).expect("the source can be written");
    let assemble = ["-mregnames", "-m860", "-o", "guest.o", "guest.s"];
    run("powerpc-linux-gnu-as", &assemble, &directory);
    let link = ["-Ttext=0x10000", "-z", "max-page-size=16", "-o", "guest.elf", "guest.o"];
    run("powerpc-linux-gnu-ld", &link, &directory);
    directory.join("guest.elf")
});

/// The guest's ELF file.
pub fn elf() -> &'static str {
    GUEST.to_str().expect("the path is UTF-8")
}

/// The program, ready for more arguments.
pub fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_mpc8xx-sim"))
}

/// What the program did.
pub struct Run {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code().expect("the program is not killed by a signal"),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Run {
    /// Checks the status.
    #[track_caller]
    pub fn ends_with(self, status: i32) -> Self {
        assert_eq!(
            self.status, status,
            "stdout:\n{}\nstderr:\n{}",
            self.stdout, self.stderr
        );
        self
    }
}

/// Runs the program with these arguments, nobody typing.
pub fn simulate(arguments: &[&str]) -> Run {
    let output = program()
        .args(arguments)
        .stdin(std::process::Stdio::null())
        .output()
        .expect("the program can be run");
    output.into()
}

/// Runs the guest by `go` with this letter, and further options. Whatever goes wrong, it ends after a second.
pub fn go(letter: &str, options: &[&str]) -> Run {
    let mut arguments = vec![elf(), "--start", "go", "--append", letter, "--max-seconds", "1"];
    arguments.extend(options);
    simulate(&arguments)
}
