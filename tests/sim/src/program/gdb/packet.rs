//! Packets of the remote serial protocol over TCP (GDB manual, appendix E).

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::TcpStream;

/// The largest packet that is taken, as told to the debugger: enough for all registers and a page of memory.
pub const PACKET_BYTES: usize = 0x4000;

/// The byte by which the debugger interrupts a running target.
const INTERRUPT: u8 = 3;

/// A connection to a debugger.
pub struct Connection {
    stream: TcpStream,
    received: VecDeque<u8>,
    acknowledges: bool,
    last_reply: Vec<u8>,
}

impl Connection {
    /// Takes over a connected stream.
    ///
    /// # Errors
    /// The stream cannot be prepared.
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            received: VecDeque::new(),
            acknowledges: true,
            last_reply: Vec::new(),
        })
    }

    /// The next byte; waits for it.
    fn byte(&mut self) -> io::Result<u8> {
        loop {
            if let Some(byte) = self.received.pop_front() {
                return Ok(byte);
            }
            if self.receive()? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    fn receive(&mut self) -> io::Result<usize> {
        let mut buffer = [0; 4096];
        let count = self.stream.read(&mut buffer)?;
        self.received.extend(&buffer[..count]);
        Ok(count)
    }

    /// The next packet; waits for it. `None`: an interrupt came while nothing ran.
    ///
    /// # Errors
    /// The debugger has gone.
    pub fn packet(&mut self) -> io::Result<Option<String>> {
        loop {
            match self.byte()? {
                b'$' => {}
                b'-' => {
                    let last = std::mem::take(&mut self.last_reply);
                    self.stream.write_all(&last)?;
                    self.last_reply = last;
                    continue;
                }
                INTERRUPT => return Ok(None),
                _ => continue,
            }
            let mut content = Vec::new();
            let is_complete = loop {
                match self.byte()? {
                    b'#' => break true,
                    _ if content.len() == PACKET_BYTES => break false,
                    byte => content.push(byte),
                }
            };
            let digits = [self.byte()?, self.byte()?];
            let expected = std::str::from_utf8(&digits)
                .ok()
                .and_then(|digits| u8::from_str_radix(digits, 16).ok());
            let is_good = is_complete && expected == Some(checksum(&content));
            if self.acknowledges {
                self.stream.write_all(if is_good { b"+" } else { b"-" })?;
            }
            if is_good {
                // What is not text is a packet that was never offered; it gets the empty reply.
                return Ok(Some(String::from_utf8(content).unwrap_or_default()));
            }
        }
    }

    /// Whether the debugger has interrupted the running target. Does not wait.
    ///
    /// # Errors
    /// The debugger has gone.
    pub fn is_interrupted(&mut self) -> io::Result<bool> {
        self.stream.set_nonblocking(true)?;
        let received = self.receive();
        self.stream.set_nonblocking(false)?;
        match received {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            _ => {}
        }
        let interrupt = self.received.iter().position(|byte| *byte == INTERRUPT);
        Ok(interrupt.map(|at| self.received.drain(..=at)).is_some())
    }

    /// Sends a reply.
    ///
    /// # Errors
    /// The debugger has gone.
    pub fn reply(&mut self, content: &str) -> io::Result<()> {
        self.last_reply = format!("${content}#{:02x}", checksum(content.as_bytes())).into_bytes();
        self.stream.write_all(&self.last_reply)
    }

    /// From here on the stream is trusted not to lose anything.
    pub fn stop_acknowledging(&mut self) {
        self.acknowledges = false;
    }
}

fn checksum(content: &[u8]) -> u8 {
    content.iter().fold(0, |sum, byte| sum.wrapping_add(*byte))
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Hexadecimal digits as bytes.
pub fn unhex(digits: &str) -> Option<Vec<u8>> {
    if !digits.len().is_multiple_of(2) || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let pairs = (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok());
    pairs.collect()
}

/// A hexadecimal number.
pub fn number(digits: &str) -> Option<u32> {
    let is_plain = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_plain.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
}

/// Two hexadecimal numbers with a comma between them.
pub fn pair(text: &str) -> Option<(u32, u32)> {
    let (first, second) = text.split_once(',')?;
    Some((number(first)?, number(second)?))
}
