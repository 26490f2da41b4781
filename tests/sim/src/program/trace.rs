//! `--trace`: a line for each instruction and exception.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use mpc8xx_sim::cpu::Cpu;
use mpc8xx_sim::cpu::decode::Decoded;
use mpc8xx_sim::cpu::exception::Vector;

use super::failure::Failure;
use super::options::{Destination, Options};

/// A trace and what is left of it.
pub struct Trace {
    output: BufWriter<Box<dyn Write>>,
    /// Waits for this address.
    from: Option<u32>,
    /// Instructions still to be shown.
    left: u64,
    now: u64,
    failure: Option<io::Error>,
}

impl Trace {
    /// Opens the trace that the options ask for, if they do.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn open(options: &Options) -> Result<Option<Self>, Failure> {
        let output: Box<dyn Write> = match &options.trace {
            None => return Ok(None),
            Some(Destination::StandardError) => Box::new(io::stderr()),
            Some(Destination::File(path)) => Box::new(File::create(path).map_err(Failure::file("create", path))?),
        };
        Ok(Some(Self {
            output: BufWriter::new(output),
            from: options.trace_from,
            left: options.trace_count.unwrap_or(u64::MAX),
            now: 0,
            failure: None,
        }))
    }

    /// Before an instruction.
    pub fn before(&mut self, cpu: &Cpu) {
        if self.from == Some(cpu.pc) {
            self.from = None;
        }
        self.now = cpu.now();
    }

    fn is_on(&self) -> bool {
        self.from.is_none() && self.left > 0
    }

    fn line(&mut self, line: std::fmt::Arguments) {
        if let Err(error) = writeln!(self.output, "{:12} {line}", self.now) {
            self.left = 0;
            self.failure = Some(error);
        }
    }

    /// After it.
    pub fn after(&mut self, pc: u32, instruction: Decoded) {
        if self.is_on() {
            self.left -= 1;
            self.line(format_args!(
                "{pc:08x} {:08x} {}",
                instruction.raw,
                instruction.op.mnemonic()
            ));
        }
    }

    /// An exception that interrupted the instruction at `pc`.
    pub fn exception(&mut self, pc: u32, vector: Vector) {
        if self.is_on() {
            self.line(format_args!("{pc:08x} -> {:#06x} {}", vector as u32, vector.name()));
        }
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// What was shown has not all been written.
    pub fn finish(mut self) -> Result<(), Failure> {
        let flushed = self.output.flush();
        match self.failure.map_or(flushed, Err) {
            Ok(()) => Ok(()),
            Err(error) => Err(Failure::failed(format!("cannot write the trace: {error}"))),
        }
    }
}
