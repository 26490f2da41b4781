//! Building for the PowerPC target with Cargo.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::error::Error;
use crate::workspace;

const TARGET: &str = "boot/powerpc-zeronull-none.json";

/// One build of the package `zeronull` for the PowerPC target.
pub struct Build<'a> {
    /// What is being built, for messages.
    pub what: &'a str,
    /// The Cargo feature that selects what is built.
    pub feature: &'a str,
    /// The Cargo profile.
    pub profile: &'a str,
    /// Flags for the compiler, for the standard library's crates too.
    pub rustflags: &'a str,
    /// Variables for the build script; `None` makes sure that a variable is not set.
    pub environment: &'a [(&'a str, Option<&'a OsStr>)],
    /// The build's own target directory.
    pub target_directory: &'a Path,
}

impl Build<'_> {
    /// Builds what is out of date and gives the paths of all executables of this build.
    ///
    /// # Errors
    /// Cargo cannot be run or fails; the message then carries what Cargo and the compiler said.
    pub fn run(&self) -> Result<Vec<PathBuf>, Error> {
        let mut command = self.cargo("build");
        command.args(["--bins", "--message-format=json-render-diagnostics"]);
        let progress = format!("building {} (the first build takes about a minute)", self.what);
        let output = workspace::capture(&mut command, &progress)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(Error::failed(format!(
                "building {} failed:\n{}",
                self.what,
                said.trim_end()
            )));
        }
        Ok(executables(&String::from_utf8_lossy(&output.stdout)))
    }

    /// Runs clippy on the same code with the same flags; every finding is an error.
    ///
    /// # Errors
    /// Cargo cannot be run, or clippy found something, which the message carries.
    pub fn clippy(&self) -> Result<(), Error> {
        let mut command = self.cargo("clippy");
        command.args(["--quiet", "--lib", "--bins", "--", "-Dwarnings"]);
        let output = workspace::capture(&mut command, &format!("checking {}", self.what))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(Error::failed(format!(
                "clippy on {} failed:\n{}",
                self.what,
                said.trim_end()
            )));
        }
        Ok(())
    }

    fn cargo(&self, verb: &str) -> Command {
        let mut command = cargo();
        command
            .args([
                verb,
                "--package",
                "zeronull",
                "--features",
                self.feature,
                "--profile",
                self.profile,
            ])
            .args(["--target", TARGET, "-Zjson-target-spec", "-Zbuild-std=core,alloc"])
            .args([
                "-Zbuild-std-features=compiler-builtins-mem,optimize_for_size",
                "--target-dir",
            ])
            .arg(self.target_directory)
            // The encoded form of another Cargo around this one would win over RUSTFLAGS.
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .env("RUSTFLAGS", self.rustflags);
        for (name, value) in self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }
}

fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace::root());
    command
}

/// Builds the simulator of the MPC8xx boards as `cargo sim` does, once in this process, and gives the path of its program.
///
/// # Errors
/// Cargo cannot be run or fails.
pub fn simulator() -> Result<PathBuf, Error> {
    static PROGRAM: OnceLock<Result<PathBuf, Error>> = OnceLock::new();
    PROGRAM.get_or_init(build_simulator).clone()
}

fn build_simulator() -> Result<PathBuf, Error> {
    let mut command = cargo();
    command.args(["build", "--quiet", "--release", "--package", "mpc8xx-sim", "--bins"]);
    command.arg("--message-format=json-render-diagnostics");
    let output = workspace::capture(&mut command, "building the simulator")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::failed(format!(
            "building the simulator failed:\n{}",
            said.trim_end()
        )));
    }
    executables(&String::from_utf8_lossy(&output.stdout))
        .pop()
        .ok_or_else(|| Error::failed("the simulator's build gave no program"))
}

/// The executables in Cargo's JSON messages, one message a line.
fn executables(messages: &str) -> Vec<PathBuf> {
    messages
        .lines()
        .filter_map(|line| json_string(line, "\"executable\":"))
        .map(PathBuf::from)
        .collect()
}

/// The string after `key` in a line of JSON; `None` when the key is missing or its value is not a string.
///
/// Cargo escapes only quotes and backslashes in paths that are valid UTF-8 without control characters.
fn json_string(line: &str, key: &str) -> Option<String> {
    let start = line.find(key)? + key.len();
    let mut characters = line[start..].strip_prefix('"')?.chars();
    let mut text = String::new();
    loop {
        match characters.next()? {
            '"' => return Some(text),
            '\\' => text.push(characters.next()?),
            other => text.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executables_are_read_from_the_messages_that_have_one() {
        let messages = r#"{"reason":"compiler-artifact","executable":null,"fresh":true}
{"reason":"compiler-artifact","filenames":["/t/a"],"executable":"/t/with \"quote\" and \\","fresh":false}
{"reason":"build-finished","success":true}"#;
        assert_eq!(executables(messages), [PathBuf::from(r#"/t/with "quote" and \"#)]);
    }
}
