//! The firmware's `series` on an image, read from its JSON lines.

use std::time::Duration;

use crate::error::Error;
use crate::image::Image;
use crate::machine::Machine;
use crate::start::Start;

/// Time that a series may take.
const LIMIT: Duration = Duration::from_secs(300);

/// What a pair of read and write costs under a preset.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The preset's name.
    pub preset: String,
    /// MB/s as `dd` prints them, of 1048576 bytes.
    pub rate: f64,
    /// Core cycles.
    pub cycles: f64,
}

impl Row {
    fn parse(line: &str) -> Option<Self> {
        let value = |name: &str| {
            let rest = line.split_once(&format!("\"{name}\":"))?.1;
            Some(rest[..rest.find([',', '}'])?].trim_matches('"'))
        };
        Some(Self {
            preset: value("preset")?.to_owned(),
            rate: value("mb_s")?.parse().ok()?,
            cycles: value("cycles")?.parse().ok()?,
        })
    }
}

/// Runs the series on a machine, over `presets`, or those of the mails and the tuned one if there are none.
///
/// # Errors
/// The machine cannot be started, or the command fails; the message shows what it printed.
pub fn run(machine: &dyn Machine, image: &Image, presets: &[String]) -> Result<Vec<Row>, Error> {
    let command = format!("series --json {}", presets.join(" "));
    let transcript = machine
        .start(image, &Start::commands(&[command.trim_end()]))?
        .finish(LIMIT)?;
    let rows: Option<Vec<Row>> = transcript
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(Row::parse)
        .collect();
    match rows {
        Some(rows) if transcript.status == 0 && !rows.is_empty() => Ok(rows),
        _ => Err(Error::failed(format!(
            "{}: {command} ended with status {}:\n{}",
            machine.name(),
            transcript.status,
            transcript.console
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_is_read_from_a_line_of_the_firmware() {
        let line = r#"{"preset":"5.9-rc2","mb_s":69.6,"cycles":925.5,"instructions":null,"layers":"linux iter/plain"}"#;
        let row = Row {
            preset: "5.9-rc2".into(),
            rate: 69.6,
            cycles: 925.5,
        };
        assert_eq!(Row::parse(line), Some(row));
        assert_eq!(Row::parse(r#"{"preset":"x","mb_s":1.0,"cycles":null}"#), None);
    }
}
