//! The registers, rule by rule, through the bus as the core sees it.

mod blocks;
mod clock_registers;
mod faults;
mod flash_commands;
mod fuzz;
mod interrupts;
mod memory_map;
mod protection;
mod serial;
mod timing;

use super::console::{Symbol, Terminal};
use super::inject::Direction;
use super::timers::KEY;
use super::*;
use crate::board::{self, Options, leave_as_u_boot};

const IMMR: u32 = 0xFF00_0000;
const SECOND: u64 = 132_000_000;

/// A board in its reset state, except that IMMR is where [`IMMR`] says.
fn at_reset(name: &str) -> (Soc, Terminal) {
    let terminal = Terminal::default();
    let options = Options {
        console: Box::new(terminal.clone()),
        ..Options::default()
    };
    let soc = board::by_name(name).unwrap().power_on(options).unwrap();
    (soc, terminal)
}

/// A board as its U-Boot leaves it.
fn booted(name: &str) -> (Soc, Terminal) {
    let (mut soc, terminal) = at_reset(name);
    leave_as_u_boot(&mut soc, board::by_name(name).unwrap());
    (soc, terminal)
}

fn read(soc: &mut Soc, offset: u32, width: Width, now: u64) -> u32 {
    soc.read(IMMR + offset, width, now).expect("the register answers")
}

fn write(soc: &mut Soc, offset: u32, width: Width, value: u32, now: u64) {
    soc.write(IMMR + offset, width, value, now)
        .expect("the register answers");
}

/// Runs the devices up to `until` as the core's loop does.
fn run(soc: &mut Soc, until: u64) {
    while soc.next_event() <= until {
        let next = soc.next_event();
        soc.advance(next);
    }
    soc.advance(until);
}
