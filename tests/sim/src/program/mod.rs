//! The command-line program, from its arguments to its exit status.
//!
//! - `options`: the command line. `failure`: what goes wrong outside the board.
//! - `setup`: the board with everything in its memory; `tree`: the device tree that it hands over by default;
//!   `reset_image`: the command line in flash.
//! - `session`: the run. `console`, `script`, `fault`, `time`: what it deals with between two slices.
//! - `tools`: who looks on: `profile`, `trace`. `stacks`: samples of the call stack. `symbols`: names for addresses.
//! - `gdb`: the same machine in the hands of a debugger.
//! - `outcome`: exit status and figures.

mod console;
mod failure;
mod fault;
mod gdb;
mod json;
mod options;
mod outcome;
mod profile;
mod reset_image;
mod script;
mod session;
mod setup;
mod stacks;
mod symbols;
mod time;
mod tools;
mod trace;
mod tree;

use std::ffi::OsString;
use std::fs;
use std::io::Write;

use failure::Failure;
use options::{Destination, Options, Request};
use session::Session;

/// Runs the program with its arguments; gives its exit status.
pub fn main(arguments: impl Iterator<Item = OsString>) -> u8 {
    let result = options::parse(arguments).and_then(|request| match request {
        Request::Help => print(options::HELP),
        Request::ListBoards => print(&options::list_boards()),
        Request::Run(options) => run(&options),
    });
    result.unwrap_or_else(|failure| {
        say(&failure.message);
        failure.status
    })
}

/// A message on standard error.
fn say(message: &str) {
    eprintln!("mpc8xx-sim: {message}");
}

fn print(text: &str) -> Result<u8, Failure> {
    let written = std::io::stdout().write_all(text.as_bytes());
    written.map_err(|cause| Failure::failed(format!("cannot write: {cause}")))?;
    Ok(0)
}

fn run(options: &Options) -> Result<u8, Failure> {
    let mut session = Session::new(options)?;
    let result = match options.gdb {
        Some(port) => gdb::serve(&mut session, port),
        None => session.run(),
    };
    // What the guest has written to its flash stays written, however the run ended.
    session.save_flash()?;
    session.report(options)?;
    let end = result?;
    let (status, reason) = session.status(&end);
    let (nanoseconds, cpu) = (session.nanoseconds(), &session.machine.cpu);
    let figures = options.json.as_ref().map(|destination| {
        let core_hz = session.machine.bus.core_hz();
        (
            destination,
            outcome::statistics(options.board.name, cpu, nanoseconds, core_hz, &end, status),
        )
    });
    let place = format!(
        "pc {:#010x}, lr {:#010x}, msr {:#x}, {} instructions",
        cpu.pc,
        cpu.lr,
        cpu.msr(),
        cpu.instructions()
    );
    // Gives the terminal back before anything else is said.
    drop(session);
    if let Some(reason) = reason {
        say(&format!("{reason} ({place})"));
    }
    if let Some((destination, figures)) = figures {
        report(destination, &format!("{figures}\n"))?;
    }
    Ok(status)
}

/// Writes a report where it belongs.
fn report(destination: &Destination, text: &str) -> Result<(), Failure> {
    match destination {
        Destination::StandardError => {
            eprint!("{text}");
            Ok(())
        }
        Destination::File(path) => fs::write(path, text).map_err(Failure::file("write", path)),
    }
}
