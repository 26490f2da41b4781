//! The user's terminal while the firmware's console is on it.

use std::process::{Command, Stdio};

use crate::error::Error;

/// Raw mode: every key goes to the firmware, which does its own echo. Dropping this restores the terminal.
pub struct Raw {
    saved: String,
}

impl Raw {
    /// Switches the terminal on standard input to raw mode; output processing stays as it is.
    ///
    /// # Errors
    /// `stty` is missing or refuses.
    pub fn enter() -> Result<Self, Error> {
        let saved = stty(&["-g"])?.trim().to_owned();
        let raw = Self { saved };
        stty(&[
            "-icanon", "-echo", "-isig", "-iexten", "-icrnl", "-inlcr", "-ixon", "-istrip", "min", "1", "time", "0",
        ])?;
        Ok(raw)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        if let Err(error) = stty(&[&self.saved]) {
            eprintln!("the terminal's settings could not be restored ({error}): `stty sane` does it");
        }
    }
}

fn stty(arguments: &[&str]) -> Result<String, Error> {
    let output = Command::new("stty")
        .args(arguments)
        .stdin(Stdio::inherit())
        .output()
        .map_err(|cause| Error::failed(format!("cannot run stty: {cause}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::failed(format!(
            "stty {} failed: {}",
            arguments.join(" "),
            said.trim_end()
        )));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
