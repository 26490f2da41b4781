//! The program around the simulator: `cargo sim [OPTIONS] [IMAGE] [-- COMMANDS]`.
#![forbid(unsafe_code)]

mod program;

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(program::main(std::env::args_os().skip(1)))
}
