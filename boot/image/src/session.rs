//! A running machine: its console as text to wait for and to write to, and the verdict at its end.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::start::Initrd;

/// Time from the start in which the first output must come; the firmware's banner takes milliseconds, OpenBIOS a second.
const SILENCE_LIMIT: Duration = Duration::from_secs(30);
/// Time from the verdict in which the machine must have ended.
const POWER_OFF_LIMIT: Duration = Duration::from_secs(5);
/// Time that a machine with nobody to type may stay at its prompt.
const PROMPT_LIMIT: Duration = Duration::from_secs(5);
/// Time for the last messages of a program that has ended; more would only pass when its children hold the pipe.
const MESSAGES_LIMIT: Duration = Duration::from_millis(500);
/// Lines of the console that an error shows.
const TAIL_LINES: usize = 25;
/// The shell's prompt.
pub const PROMPT: &str = "zeronull> ";
/// What the verdict's line starts with; the status follows.
const VERDICT: &str = "zeronull: done, status ";

/// The record of a run that ended with a verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// Every byte that the console sent.
    pub raw: Vec<u8>,
    /// The console as text, with `\n` alone as line end.
    pub console: String,
    /// The firmware's status.
    pub status: u8,
    /// Wall-clock time from the start of the machine's process to its end.
    pub duration: Duration,
}

impl Transcript {
    /// The lines of the console.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.console.lines()
    }
}

/// A machine that runs. Dropping it kills the machine.
#[derive(Debug)]
pub struct Session {
    machine: String,
    child: Child,
    input: Option<ChildStdin>,
    output: mpsc::Receiver<Vec<u8>>,
    /// What the machine's program says itself, on its standard error.
    messages: mpsc::Receiver<Vec<u8>>,
    /// Everything the console sent so far.
    raw: Vec<u8>,
    /// How far [`Session::expect`] has consumed it.
    consumed: usize,
    started: Instant,
    _initrd: Initrd,
}

impl Session {
    /// Starts `command`, whose standard streams are the console of `machine`.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(mut command: Command, machine: String, initrd: Initrd) -> Result<Self, Error> {
        command.stdin(Stdio::piped());
        Self::spawn(command, machine, initrd)
    }

    /// As [`Session::start`], with the standard input of `command` left as the caller set it.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn spawn(mut command: Command, machine: String, initrd: Initrd) -> Result<Self, Error> {
        let started = Instant::now();
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|cause| Error::failed(format!("cannot start {machine}: {cause}")))?;
        let output = forward(child.stdout.take());
        let messages = forward(child.stderr.take());
        Ok(Self {
            machine,
            input: child.stdin.take(),
            child,
            output,
            messages,
            raw: Vec::new(),
            consumed: 0,
            started,
            _initrd: initrd,
        })
    }

    /// Types `text` on the console.
    ///
    /// # Errors
    /// The machine has ended or closed its input.
    pub fn send(&mut self, text: &str) -> Result<(), Error> {
        let Some(input) = &mut self.input else {
            return Err(Error::failed(format!(
                "{} takes no input from this program",
                self.machine
            )));
        };
        input
            .write_all(text.as_bytes())
            .and_then(|()| input.flush())
            .map_err(|cause| Error::failed(format!("cannot send to {}: {cause}\n{}", self.machine, tail(&self.raw))))
    }

    /// Waits until the console has sent `text` after what the last call consumed; gives what came up to its end, with
    /// `\n` alone as line end.
    ///
    /// # Errors
    /// `limit` passes or the machine ends first; the message shows the end of the console.
    pub fn expect(&mut self, text: &str, limit: Duration) -> Result<String, Error> {
        let deadline = Instant::now() + limit;
        // Where a match that nobody saw yet may start.
        let mut from = self.consumed;
        loop {
            let fresh = &self.raw[from..];
            if let Some(position) = fresh.windows(text.len()).position(|window| window == text.as_bytes()) {
                let end = from + position + text.len();
                let found = console_text(&self.raw[self.consumed..end]);
                self.consumed = end;
                return Ok(found);
            }
            from = from.max((self.raw.len() + 1).saturating_sub(text.len()));
            match self
                .output
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(chunk) => self.raw.extend_from_slice(&chunk),
                Err(RecvTimeoutError::Timeout) => {
                    let how = format!("did not send {text:?} within {} s", limit.as_secs_f32());
                    return Err(Error::time_out(self.report(&how)));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let ended = self.wait_for_end()?;
                    return Err(Error::no_verdict(
                        self.report(&format!("ended without sending {text:?} ({ended})")),
                    ));
                }
            }
        }
    }

    /// Types a command at the prompt and waits for the next prompt; gives what came between, without the echo.
    ///
    /// The first prompt must have been consumed by [`Session::expect`] before.
    ///
    /// # Errors
    /// As [`Session::send`] and [`Session::expect`]; also when the echo is not the command.
    pub fn command(&mut self, command: &str, limit: Duration) -> Result<String, Error> {
        self.send(&format!("{command}\r"))?;
        self.expect(&format!("{command}\r\n"), limit)?;
        let mut output = self.expect(PROMPT, limit)?;
        output.truncate(output.len() - PROMPT.len());
        Ok(output)
    }

    /// Waits until the machine has ended and gives the record with the firmware's status.
    ///
    /// # Errors
    /// No end within `limit` of the start, no first output within 30 s, 5 s at the prompt, no end within 5 s of the verdict: status 124.
    /// A console that does not end with the verdict: status 125.
    pub fn finish(self, limit: Duration) -> Result<Transcript, Error> {
        self.finish_showing(Some(limit), |_| Ok(()))
    }

    /// As [`Session::finish`], handing every piece of output to `show` as it comes; without a limit the machine may
    /// run, and stay silent, for ever.
    ///
    /// # Errors
    /// As [`Session::finish`], and those of `show`.
    pub fn finish_showing(
        mut self,
        limit: Option<Duration>,
        mut show: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<Transcript, Error> {
        let mut done_at = None;
        let mut last_output = Instant::now();
        // Nobody types any more.
        self.input = None;
        show(&self.raw)?;
        loop {
            let (deadline, reason) = self.deadline(limit, done_at, last_output);
            let received = match deadline {
                Some(deadline) => self
                    .output
                    .recv_timeout(deadline.saturating_duration_since(Instant::now())),
                None => self.output.recv().map_err(RecvTimeoutError::from),
            };
            match received {
                Ok(chunk) => {
                    last_output = Instant::now();
                    show(&chunk)?;
                    self.raw.extend_from_slice(&chunk);
                    done_at = verdict(&self.raw)
                        .is_some()
                        .then(|| done_at.unwrap_or_else(Instant::now));
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(Error::time_out(self.report(&reason)));
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let ended = self.wait_for_end()?;
        let Some(status) = verdict(&self.raw) else {
            let how = format!("ended without the last line `{VERDICT}N` ({ended})");
            return Err(Error::no_verdict(self.report(&how)));
        };
        Ok(Transcript {
            console: console_text(&self.raw),
            raw: std::mem::take(&mut self.raw),
            status,
            duration: self.started.elapsed(),
        })
    }

    /// The next point in time at which waiting is over, and what to say then.
    fn deadline(
        &self,
        limit: Option<Duration>,
        done_at: Option<Instant>,
        last_output: Instant,
    ) -> (Option<Instant>, String) {
        if let Some(done_at) = done_at {
            let reason = format!(
                "did not power off within {} s of its verdict",
                POWER_OFF_LIMIT.as_secs()
            );
            return (Some(done_at + POWER_OFF_LIMIT), reason);
        }
        let Some(limit) = limit else {
            return (None, String::new());
        };
        if self.raw.is_empty() && SILENCE_LIMIT < limit {
            let reason = format!("sent nothing within {} s", SILENCE_LIMIT.as_secs());
            return (Some(self.started + SILENCE_LIMIT), reason);
        }
        if self.raw.ends_with(PROMPT.as_bytes()) && PROMPT_LIMIT < limit {
            return (
                Some(last_output + PROMPT_LIMIT),
                "waits at its prompt for somebody to type".into(),
            );
        }
        (
            Some(self.started + limit),
            format!("did not end within {} s", limit.as_secs_f32()),
        )
    }

    fn wait_for_end(&mut self) -> Result<ExitStatus, Error> {
        self.child
            .wait()
            .map_err(|cause| Error::failed(format!("cannot wait for {}: {cause}", self.machine)))
    }

    /// Ends the machine and says how it went wrong, with what its program said and the end of the console.
    fn report(&mut self, how: &str) -> String {
        self.kill();
        let mut said = Vec::new();
        while let Ok(chunk) = self.messages.recv_timeout(MESSAGES_LIMIT) {
            said.extend_from_slice(&chunk);
        }
        let said = String::from_utf8_lossy(&said).trim_end().to_owned();
        let mut message = format!("{} {how}", self.machine);
        if !said.is_empty() {
            message += &format!("; its program says:\n{said}");
        }
        message + &format!("\nthe console ends with:\n{}", tail(&self.raw))
    }

    fn kill(&mut self) {
        // Both fail only when the machine has ended already, which is all that is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Reads a stream to its end on a thread of its own.
fn forward(stream: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let Some(mut stream) = stream else { return };
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = stream.read(&mut buffer) {
            if sender.send(buffer[..length].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}

/// The status in the last line that is not empty, if that line is a complete verdict.
fn verdict(raw: &[u8]) -> Option<u8> {
    if !raw.ends_with(b"\n") {
        return None;
    }
    let end = raw.trim_ascii_end();
    let start = end
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |newline| newline + 1);
    std::str::from_utf8(&end[start..])
        .ok()?
        .trim_start_matches('\r')
        .strip_prefix(VERDICT)?
        .parse()
        .ok()
}

/// Console bytes as text, `\r` before `\n` left out.
fn console_text(raw: &[u8]) -> String {
    String::from_utf8_lossy(raw).replace("\r\n", "\n")
}

/// The last lines of the console, indented, for the end of a message.
fn tail(raw: &[u8]) -> String {
    if raw.is_empty() {
        return "  (no output)".into();
    }
    let text = console_text(raw);
    let lines: Vec<String> = text.lines().map(|line| format!("  {line}")).collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdict_is_only_the_whole_last_line() {
        for (console, expected) in [
            ("zeronull: done, status 0\r\n", Some(0)),
            ("a\nzeronull: done, status 101\n\r\n", Some(101)),
            ("zeronull: done, status 0\r\nmore\r\n", None),
            ("zeronull: done, status 256\n", None),
            ("zeronull: done, status \n", None),
            ("zeronull: done, status 1", None),
            ("x zeronull: done, status 0\n", None),
            ("", None),
        ] {
            assert_eq!(verdict(console.as_bytes()), expected, "{console:?}");
        }
    }
}
