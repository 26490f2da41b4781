//! The program behind `cargo image` and `./qemu/run`, and the clippy step of `./tests/run`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use zeronull_image::arguments::Arguments;
use zeronull_image::commands;
use zeronull_image::error::Error;

fn main() -> ExitCode {
    match run() {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("zeronull-image: {error}");
            ExitCode::from(error.status)
        }
    }
}

fn run() -> Result<u8, Error> {
    let mut arguments = std::env::args_os().skip(1);
    let Some(command) = arguments.next() else {
        return Err(Error::usage(
            "no command given: accepted are image, bench-protector, clippy, qemu",
        ));
    };
    match command.to_str() {
        Some("image") => commands::image::run(Arguments::new(arguments)?),
        Some("bench-protector") => commands::bench_protector::run(Arguments::new(arguments)?),
        Some("clippy") => zeronull_image::image::clippy().map(|()| 0),
        Some("qemu") => commands::qemu::run(Arguments::new(arguments)?),
        _ => Err(Error::usage(format!(
            "unknown command {command:?}: accepted are image, bench-protector, clippy, qemu"
        ))),
    }
}
