//! What a machine starts the firmware with: the kernel command line and the initrd.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::cpio;
use crate::error::Error;
use crate::image::Image;
use crate::workspace;

/// Longest kernel command line in bytes that the firmware accepts, as Linux's `COMMAND_LINE_SIZE` less the final NUL.
pub const COMMAND_LINE_LIMIT: usize = 2047;

/// Refuses a kernel command line that the firmware would not take.
///
/// # Errors
/// Longer than [`COMMAND_LINE_LIMIT`], or not printable ASCII.
pub fn check_command_line(line: &str) -> Result<(), Error> {
    if let Some(character) = line.chars().find(|character| !matches!(character, ' '..='~')) {
        return Err(Error::usage(format!(
            "kernel command line contains {character:?}: accepted are printable ASCII characters"
        )));
    }
    if line.len() > COMMAND_LINE_LIMIT {
        return Err(Error::usage(format!(
            "kernel command line of {} bytes is too long: the firmware accepts {COMMAND_LINE_LIMIT}",
            line.len()
        )));
    }
    Ok(())
}

/// What the firmware is told to do. The default is an interactive start with nothing on the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Start {
    /// Shell commands to run before the first prompt.
    pub run: Option<String>,
    /// The preset of kernel configurations to begin with.
    pub preset: Option<String>,
    /// Ask the commands for JSON lines.
    pub json: bool,
    /// More words for the command line.
    pub append: Option<String>,
    /// Archives of the user, unpacked after the image's own.
    pub initrd: Vec<PathBuf>,
}

impl Start {
    /// Runs `commands` in order, then powers off.
    pub fn commands(commands: &[&str]) -> Self {
        let mut commands = commands.to_vec();
        commands.push("poweroff");
        Self {
            run: Some(commands.join("; ")),
            ..Self::default()
        }
    }

    /// The kernel command line.
    ///
    /// # Errors
    /// Longer than [`COMMAND_LINE_LIMIT`], not printable ASCII, or commands with both kinds of quotes or one
    /// that is not closed.
    pub fn command_line(&self) -> Result<String, Error> {
        let mut words = Vec::new();
        if let Some(preset) = &self.preset {
            words.push(format!("preset={preset}"));
        }
        if self.json {
            words.push("json".to_owned());
        }
        words.extend(self.append.clone());
        if let Some(run) = &self.run {
            // Unclosed, it would swallow the final `poweroff`, and the firmware would wait at its prompt.
            if let Some(quote) = ['"', '\'']
                .into_iter()
                .find(|&quote| run.matches(quote).count() % 2 != 0)
            {
                return Err(Error::usage(format!("commands contain a {quote} that is not closed")));
            }
            // The firmware takes either quote around a word, and no escapes inside.
            let quote = match (run.contains('"'), run.contains('\'')) {
                (false, _) => '"',
                (true, false) => '\'',
                (true, true) => {
                    return Err(Error::usage(
                        "commands contain both kinds of quotes: accepted is one of them",
                    ));
                }
            };
            words.push(format!("run={quote}{run}{quote}"));
        }
        let line = words.join(" ");
        check_command_line(&line)?;
        Ok(line)
    }

    /// Checks everything that does not need an image, so that a mistake shows before a build that may take a minute.
    ///
    /// # Errors
    /// Those of [`Start::command_line`], and an archive of the user that cannot be read or is not in the newc format.
    pub fn check(&self) -> Result<(), Error> {
        self.command_line()?;
        cpio::concatenate(&self.initrd)?;
        Ok(())
    }

    /// The archive to hand over: the image's own, or a temporary file with the user's archives after it.
    ///
    /// # Errors
    /// An archive cannot be read or is not in the newc format.
    pub fn initrd(&self, image: &Image) -> Result<Initrd, Error> {
        if self.initrd.is_empty() {
            return Ok(Initrd {
                path: image.initrd(),
                is_temporary: false,
            });
        }
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let mut archives = vec![image.initrd()];
        archives.extend(self.initrd.iter().cloned());
        let content = cpio::concatenate(&archives)?;
        let directory = workspace::root().join("target").join("run");
        fs::create_dir_all(&directory).map_err(Error::file("create", &directory))?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!("initrd-{}-{number}.cpio", std::process::id()));
        fs::write(&path, content).map_err(Error::file("write", &path))?;
        Ok(Initrd {
            path,
            is_temporary: true,
        })
    }
}

/// An initrd file for one start; a temporary one is removed when this is dropped.
#[derive(Debug)]
pub struct Initrd {
    path: PathBuf,
    is_temporary: bool,
}

impl Initrd {
    /// A file that stays when this is dropped.
    pub fn kept(path: PathBuf) -> Self {
        Self {
            path,
            is_temporary: false,
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Initrd {
    fn drop(&mut self) {
        if self.is_temporary {
            // Left behind it only wastes room under target/.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_has_all_parts_with_the_commands_last() {
        let mut start = Start::commands(&["time dd count=1", "help"]);
        start.preset = Some("patch-1".into());
        start.json = true;
        start.append = Some("quiet".into());
        let line = start.command_line().expect("a good line");
        assert_eq!(
            line,
            "preset=patch-1 json quiet run=\"time dd count=1; help; poweroff\""
        );
        assert_eq!(Start::default().command_line(), Ok(String::new()));
    }

    #[test]
    fn command_line_is_accepted_up_to_the_limit_and_refused_above() {
        let append = |length| Start {
            append: Some("x".repeat(length)),
            ..Start::default()
        };
        assert_eq!(
            append(COMMAND_LINE_LIMIT).command_line().expect("just fits").len(),
            COMMAND_LINE_LIMIT
        );
        let error = append(COMMAND_LINE_LIMIT + 1).command_line().expect_err("one too long");
        assert_eq!(
            error.message,
            "kernel command line of 2048 bytes is too long: the firmware accepts 2047"
        );
    }

    #[test]
    fn commands_with_quotes_are_put_in_the_other_kind() {
        let line = |command| {
            Start {
                run: Some(String::from(command)),
                ..Start::default()
            }
            .command_line()
        };
        assert_eq!(line("echo 'a b'"), Ok("run=\"echo 'a b'\"".into()));
        assert_eq!(line("echo \"a b\""), Ok("run='echo \"a b\"'".into()));
    }

    #[test]
    fn commands_that_cannot_be_passed_are_refused() {
        for (command, message) in [
            (
                "echo \"a\" 'b'",
                "commands contain both kinds of quotes: accepted is one of them",
            ),
            ("echo 'a", "commands contain a ' that is not closed"),
            (
                "a\nb",
                "kernel command line contains '\\n': accepted are printable ASCII characters",
            ),
            (
                "grün",
                "kernel command line contains 'ü': accepted are printable ASCII characters",
            ),
        ] {
            let error = Start::commands(&[command]).command_line().expect_err(command);
            assert_eq!(error.message, message);
        }
    }
}
