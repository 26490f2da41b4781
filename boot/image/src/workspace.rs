//! Where things are in the checkout, and finding and running other programs.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::error::Error;

/// How long a program may work before the person waiting is told what is going on.
const PATIENCE: Duration = Duration::from_secs(2);

/// The root of the checkout that this crate was built in.
pub fn root() -> PathBuf {
    let crate_directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_directory
        .ancestors()
        .nth(2)
        .unwrap_or(crate_directory)
        .to_path_buf()
}

/// Looks for an executable in the directories of `PATH`.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(name))
        .find(|candidate| is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Runs a program to its end with its output captured; if that takes more than two seconds, says `progress` on
/// standard error.
///
/// # Errors
/// The program cannot be started; its own failure is in the result.
pub fn capture(command: &mut Command, progress: &str) -> Result<Output, Error> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |cause: std::io::Error| Error::failed(format!("cannot run {program}: {cause}"));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let (done, is_done) = mpsc::channel();
    let stdout = collect(child.stdout.take(), done.clone());
    let stderr = collect(child.stderr.take(), done);
    // Both streams are closed when the program and all that it started have ended.
    if is_done.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
        eprintln!("{progress}");
    }
    let output = |collector: thread::JoinHandle<Vec<u8>>| collector.join().unwrap_or_default();
    let (stdout, stderr) = (output(stdout), output(stderr));
    Ok(Output {
        status: child.wait().map_err(failed)?,
        stdout,
        stderr,
    })
}

fn collect(stream: Option<impl Read + Send + 'static>, done: mpsc::Sender<()>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            // A stream that breaks off has ended; the exit status tells whether that was right.
            let _ = stream.read_to_end(&mut bytes);
        }
        // The receiver is gone when the other stream ended first: nobody waits for a second message.
        let _ = done.send(());
        bytes
    })
}
