//! Where the board's console goes on the host: standard streams, a pseudo-terminal, a TCP port, nowhere.
//!
//! Readers and writers that may block have threads of their own; the simulation only ever looks into channels. What is
//! typed by hand comes at the host's time and is the one thing here that does not repeat; scripts do.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread;
use std::time::Duration;

use super::failure::Failure;
use super::options::ConsoleChoice;

/// Ctrl-A, after which X ends the simulator and another Ctrl-A is passed on.
const ESCAPE: u8 = 1;
/// How long the end of the program waits for a reader of a pseudo-terminal or TCP port.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// What the person at the console has done.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    /// Nothing new.
    Nothing,
    /// Typed this.
    Bytes(Vec<u8>),
    /// Ended the simulator.
    Quit,
}

/// The host's end of the console.
pub struct Console {
    output: Output,
    input: Option<Receiver<Vec<u8>>>,
    line_ends: Option<PlainLineEnds>,
    escape: Option<Escape>,
    is_live: bool,
    _raw: Option<RawTerminal>,
    /// While the program holds this end open too, reading the other one does not fail for want of a reader.
    _terminal: Option<File>,
}

enum Output {
    Direct(Box<dyn Write>),
    Thread { queue: Sender<Vec<u8>>, done: Receiver<()> },
}

impl Console {
    /// Opens the console that was asked for; `takes_input` says whether anybody may type.
    ///
    /// # Errors
    /// The host refuses; for a pseudo-terminal, perl or stty is missing.
    pub fn open(choice: ConsoleChoice, takes_input: bool) -> Result<Self, Failure> {
        match choice {
            ConsoleChoice::Stdio | ConsoleChoice::Raw => Self::standard_streams(choice, takes_input),
            ConsoleChoice::None => Ok(Self {
                output: Output::Direct(Box::new(io::sink())),
                input: None,
                line_ends: None,
                escape: None,
                is_live: false,
                _raw: None,
                _terminal: None,
            }),
            ConsoleChoice::Tcp(port) => Self::tcp(port, takes_input),
            ConsoleChoice::Pty => Self::pseudo_terminal(takes_input),
        }
    }

    fn standard_streams(choice: ConsoleChoice, takes_input: bool) -> Result<Self, Failure> {
        let is_terminal = io::stdout().is_terminal();
        let is_live = takes_input && io::stdin().is_terminal();
        let raw = if is_live && is_terminal {
            Some(RawTerminal::enter()?)
        } else {
            None
        };
        Ok(Self {
            output: Output::Direct(Box::new(io::stdout())),
            input: takes_input.then(|| reading(io::stdin())),
            line_ends: (choice == ConsoleChoice::Stdio && !is_terminal).then(PlainLineEnds::default),
            escape: raw.is_some().then(Escape::default),
            is_live,
            _raw: raw,
            _terminal: None,
        })
    }

    fn tcp(port: u16, takes_input: bool) -> Result<Self, Failure> {
        let failed = |what: &str| {
            let what = format!("cannot {what} port {port} of localhost");
            move |cause: io::Error| Failure::failed(format!("{what}: {cause}"))
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed("listen on"))?;
        let address = listener.local_addr().map_err(failed("listen on"))?;
        eprintln!("console on {address}, waiting for a connection");
        let (stream, _) = listener.accept().map_err(failed("accept a connection on"))?;
        let reader = stream.try_clone().map_err(failed("read from"))?;
        Ok(Self {
            output: writing(stream),
            input: takes_input.then(|| reading(reader)),
            line_ends: None,
            escape: None,
            is_live: true,
            _raw: None,
            _terminal: None,
        })
    }

    /// The standard library can open a pseudo-terminal but not unlock it, which takes an `ioctl`. The perl that every
    /// Debian has does that on the file it inherits, and says the number.
    fn pseudo_terminal(takes_input: bool) -> Result<Self, Failure> {
        let multiplexer = "/dev/ptmx";
        let failed = |what: &'static str| move |cause: io::Error| Failure::failed(format!("{what}: {cause}"));
        let master = OpenOptions::new()
            .read(true)
            .write(true)
            .open(multiplexer)
            .map_err(failed("cannot open /dev/ptmx"))?;
        // TIOCSPTLCK with 0, TIOCGPTN: Linux, asm-generic/ioctls.h.
        let unlock = "my $z = pack('i', 0); ioctl(STDIN, 0x40045431, $z) or die \"unlock: $!\\n\"; my $n = pack('I', 0); \
                      ioctl(STDIN, 0x80045430, $n) or die \"number: $!\\n\"; print unpack('I', $n);";
        let inherited = master.try_clone().map_err(failed("cannot share /dev/ptmx"))?;
        let number = output_of(Command::new("perl").args(["-e", unlock]).stdin(inherited))?;
        let path = format!("/dev/pts/{}", number.trim());
        let terminal = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .map_err(Failure::file("open", path.as_ref()))?;
        output_of(Command::new("stty").args(["-F", &path, "raw", "-echo"]))?;
        eprintln!("console on {path}");
        let reader = master.try_clone().map_err(failed("cannot share /dev/ptmx"))?;
        Ok(Self {
            output: writing(master),
            input: takes_input.then(|| reading(reader)),
            line_ends: None,
            escape: None,
            is_live: true,
            _raw: None,
            _terminal: Some(terminal),
        })
    }

    /// Whether a person sits there, for whom simulated time should not run ahead of real time.
    pub fn is_live(&self) -> bool {
        self.is_live
    }

    /// Shows what the board has sent.
    ///
    /// # Errors
    /// The host's stream is closed.
    pub fn show(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if bytes.is_empty() {
            return Ok(());
        }
        let plain;
        let bytes = match &mut self.line_ends {
            Some(line_ends) => {
                plain = line_ends.filter(bytes);
                &plain
            }
            None => bytes,
        };
        match &mut self.output {
            Output::Direct(output) => output
                .write_all(bytes)
                .and_then(|()| output.flush())
                .map_err(|cause| Failure::failed(format!("cannot write the console: {cause}"))),
            Output::Thread { queue, .. } => {
                // Whoever was there has gone; the board does not notice.
                let _ = queue.send(bytes.to_vec());
                Ok(())
            }
        }
    }

    /// What was typed since the last call; waits at most `patience` for it.
    pub fn typed(&mut self, patience: Duration) -> Typed {
        let Some(input) = &self.input else {
            thread::sleep(patience);
            return Typed::Nothing;
        };
        let first = if patience.is_zero() {
            input.try_recv().map_err(|error| error == TryRecvError::Disconnected)
        } else {
            input
                .recv_timeout(patience)
                .map_err(|error| error == RecvTimeoutError::Disconnected)
        };
        let mut bytes = match first {
            Ok(bytes) => bytes,
            Err(is_closed) => {
                if is_closed {
                    self.input = None;
                }
                return Typed::Nothing;
            }
        };
        bytes.extend(input.try_iter().flatten());
        match &mut self.escape {
            Some(escape) => escape.filter(bytes),
            None => Typed::Bytes(bytes),
        }
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        if let Some(line_ends) = &mut self.line_ends {
            let rest = line_ends.rest();
            if let Output::Direct(output) = &mut self.output {
                // Nobody is left to be told of a stream that is closed.
                let _ = output.write_all(rest).and_then(|()| output.flush());
            }
        }
        let closed = Output::Direct(Box::new(io::sink()));
        if let Output::Thread { queue, done } = std::mem::replace(&mut self.output, closed) {
            drop(queue);
            // A reader that is not there must not hold up the end.
            let _ = done.recv_timeout(LAST_WORDS);
        }
    }
}

/// Reads on a thread of its own until the stream ends.
fn reading(mut stream: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => return,
                Ok(count) => {
                    if sender.send(buffer[..count].to_vec()).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    });
    receiver
}

/// Writes on a thread of its own.
fn writing(mut stream: impl Write + Send + 'static) -> Output {
    let (queue, queued) = mpsc::channel::<Vec<u8>>();
    let (finished, done) = mpsc::channel();
    thread::spawn(move || {
        while let Ok(bytes) = queued.recv() {
            if stream.write_all(&bytes).and_then(|()| stream.flush()).is_err() {
                break;
            }
        }
        // The program may have ended without waiting.
        let _ = finished.send(());
    });
    Output::Thread { queue, done }
}

/// Runs a small program of the host; gives what it printed.
fn output_of(command: &mut Command) -> Result<String, Failure> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|cause| Failure::failed(format!("cannot run {program}: {cause}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::failed(format!("{program} failed: {}", said.trim_end())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The user's terminal in raw mode: every key goes to the board, which does its own echo.
struct RawTerminal {
    saved: String,
}

impl RawTerminal {
    fn enter() -> Result<Self, Failure> {
        let stty = |arguments: &[&str]| output_of(Command::new("stty").args(arguments).stdin(Stdio::inherit()));
        let raw = Self {
            saved: stty(&["-g"])?.trim().to_owned(),
        };
        stty(&[
            "-icanon", "-echo", "-isig", "-iexten", "-icrnl", "-inlcr", "-ixon", "-istrip", "min", "1", "time", "0",
        ])?;
        Ok(raw)
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        if let Err(failure) = output_of(Command::new("stty").arg(&self.saved).stdin(Stdio::inherit())) {
            eprintln!(
                "the terminal's settings could not be restored ({}): `stty sane` does it",
                failure.message
            );
        }
    }
}

/// `\r\n` becomes `\n`; any other `\r` stays.
#[derive(Default)]
struct PlainLineEnds {
    held: bool,
}

impl PlainLineEnds {
    fn filter(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut plain = Vec::with_capacity(bytes.len() + 1);
        for &byte in bytes {
            if self.held && byte != b'\n' {
                plain.push(b'\r');
            }
            self.held = byte == b'\r';
            if !self.held {
                plain.push(byte);
            }
        }
        plain
    }

    fn rest(&mut self) -> &'static [u8] {
        if std::mem::take(&mut self.held) { b"\r" } else { b"" }
    }
}

/// Watches for Ctrl-A X.
#[derive(Default)]
struct Escape {
    pending: bool,
}

impl Escape {
    fn filter(&mut self, bytes: Vec<u8>) -> Typed {
        let mut passed = Vec::new();
        for byte in bytes {
            match (std::mem::take(&mut self.pending), byte) {
                (true, b'x' | b'X') => return Typed::Quit,
                (true, byte) => passed.push(byte),
                (false, ESCAPE) => self.pending = true,
                (false, byte) => passed.push(byte),
            }
        }
        if passed.is_empty() {
            Typed::Nothing
        } else {
            Typed::Bytes(passed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_become_plain_wherever_the_pieces_are_cut() {
        let sent = b"a\r\nb\rc\r\r\n\nd\r";
        for cut in 0..sent.len() {
            let mut filter = PlainLineEnds::default();
            let mut plain = filter.filter(&sent[..cut]);
            plain.extend(filter.filter(&sent[cut..]));
            plain.extend(filter.rest());
            assert_eq!(plain, b"a\nb\rc\r\n\nd\r", "cut at {cut}");
        }
    }

    #[test]
    fn escape_quits_passes_itself_on_and_survives_a_cut() {
        let mut escape = Escape::default();
        assert_eq!(escape.filter(b"ab".to_vec()), Typed::Bytes(b"ab".to_vec()));
        assert_eq!(escape.filter(vec![ESCAPE]), Typed::Nothing);
        assert_eq!(escape.filter(vec![ESCAPE, b'x']), Typed::Bytes(vec![ESCAPE, b'x']));
        assert_eq!(escape.filter(vec![b'y', ESCAPE]), Typed::Bytes(b"y".to_vec()));
        assert_eq!(escape.filter(b"x".to_vec()), Typed::Quit);
    }
}
