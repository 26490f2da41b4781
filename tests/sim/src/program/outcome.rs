//! What a run came to: the exit status, its reason, and the figures for `--json`.

use mpc8xx_sim::cpu::exception::Vector;
use mpc8xx_sim::cpu::{Cpu, Stop};

use super::failure::{STATUS_BUDGET, STATUS_IMPOSSIBLE};
use super::json;
use super::time::to_seconds;

/// What the last line of a zeronull console starts with; the status follows.
const VERDICT: &str = "zeronull: done, status ";

/// Lines of the console that a message shows.
const TAIL_LINES: usize = 25;

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The guest or the machine ended it.
    Guest(Stop),
    /// The person at the console or at the debugger ended it.
    Quit,
    /// The script has passed, and the guest went on.
    Script,
    /// `--max-insns`.
    Instructions,
    /// `--max-seconds`.
    Seconds,
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Guest(stop) => write!(f, "{stop}"),
            End::Quit => write!(f, "ended by the user"),
            End::Script => write!(f, "end of the script"),
            End::Instructions => write!(f, "budget of instructions used up"),
            End::Seconds => write!(f, "budget of simulated seconds used up"),
        }
    }
}

/// What the command line says about the end that is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Expectation {
    /// The guest was given commands: without its verdict they have not been carried out.
    pub needs_verdict: bool,
    /// A hard reset or a checkstop is an orderly end.
    pub exit_on_reset: bool,
}

/// The status of the program, and what to say about it if anything.
pub fn status(end: &End, expectation: Expectation, console: &[u8]) -> (u8, Option<String>) {
    let stop = match end {
        End::Instructions | End::Seconds => return (STATUS_BUDGET, Some(end.to_string())),
        End::Quit | End::Script => return (0, None),
        End::Guest(stop) => stop,
    };
    if matches!(stop, Stop::Impossible { .. } | Stop::DebugMode { .. }) {
        return (STATUS_IMPOSSIBLE, Some(end.to_string()));
    }
    if let Some(status) = verdict(console) {
        return (status, None);
    }
    let is_orderly = matches!(stop, Stop::Halt { .. }) || expectation.exit_on_reset;
    if is_orderly && expectation.needs_verdict {
        return (
            STATUS_IMPOSSIBLE,
            Some(format!("{end}, without the last line `{VERDICT}N`")),
        );
    }
    if is_orderly {
        return (0, Some(end.to_string()));
    }
    let mut reason = end.to_string();
    if *stop == Stop::Reset {
        reason += ", and there is no --flash to start from";
    }
    (STATUS_IMPOSSIBLE, Some(reason))
}

/// The status in the last line that is not empty, if that line is a complete verdict.
fn verdict(console: &[u8]) -> Option<u8> {
    if !console.ends_with(b"\n") {
        return None;
    }
    let end = console.trim_ascii_end();
    let start = end
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |newline| newline + 1);
    let line = std::str::from_utf8(&end[start..]).ok()?;
    line.trim_start_matches('\r').strip_prefix(VERDICT)?.parse().ok()
}

/// The last lines of the console, indented.
pub fn tail(console: &[u8]) -> String {
    if console.is_empty() {
        return "  (no output)".into();
    }
    let text = String::from_utf8_lossy(console).replace("\r\n", "\n");
    let lines: Vec<String> = text.lines().map(|line| format!("  {line}")).collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}

/// The figures of a run as one line of JSON.
pub fn statistics(board: &str, cpu: &Cpu, nanoseconds: u64, core_hz: u64, end: &End, status: u8) -> String {
    let exceptions: Vec<String> = Vector::ALL
        .iter()
        .map(|vector| (vector, cpu.exceptions()[(*vector as usize) >> 8]))
        .filter(|(_, count)| *count > 0)
        .map(|(vector, count)| format!("{}:{count}", json::string(vector.name())))
        .collect();
    format!(
        "{{\"board\":{},\"status\":{status},\"end\":{},\"instructions\":{},\"cycles\":{},\"seconds\":{},\"core_hz\":{core_hz},\"exceptions\":{{{}}}}}",
        json::string(board),
        json::string(&end.to_string()),
        cpu.instructions(),
        cpu.now(),
        to_seconds(nanoseconds),
        exceptions.join(",")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpc8xx_sim::cpu::Halt;

    const HALT: Stop = Stop::Halt {
        pc: 0,
        how: Halt::BranchToItself,
    };
    const PLAIN: Expectation = Expectation {
        needs_verdict: false,
        exit_on_reset: false,
    };
    const COMMANDS: Expectation = Expectation {
        needs_verdict: true,
        ..PLAIN
    };
    const RESET: Expectation = Expectation {
        exit_on_reset: true,
        ..PLAIN
    };

    fn status_of(stop: Stop, expectation: Expectation, console: &str) -> u8 {
        status(&End::Guest(stop), expectation, console.as_bytes()).0
    }

    #[test]
    fn verdict_counts_whichever_way_the_guest_ends() {
        let console = "banner\r\nzeronull: done, status 7\r\n";
        let checkstop = Stop::Checkstop { pc: 0, address: None };
        for stop in [HALT, checkstop, Stop::Reset] {
            for expectation in [PLAIN, COMMANDS, RESET] {
                assert_eq!(status_of(stop.clone(), expectation, console), 7);
            }
        }
        let impossible = Stop::Impossible {
            pc: 0,
            text: "x".into(),
        };
        assert_eq!(status_of(impossible, PLAIN, console), 125);
    }

    #[test]
    fn without_a_verdict_only_an_orderly_end_is_good() {
        for console in [
            "",
            "zeronull: done, status 7",
            "zeronull: done, status 256\n",
            "zeronull: done, status 7\nx\n",
        ] {
            assert_eq!(status_of(HALT, PLAIN, console), 0, "{console:?}");
            assert_eq!(status_of(HALT, COMMANDS, console), 125, "{console:?}");
        }
        for stop in [Stop::Reset, Stop::Checkstop { pc: 0, address: None }] {
            assert_eq!(status_of(stop.clone(), PLAIN, ""), 125);
            assert_eq!(status_of(stop, RESET, ""), 0);
        }
        for end in [End::Instructions, End::Seconds] {
            assert_eq!(status(&end, PLAIN, b"zeronull: done, status 0\n").0, 124);
        }
    }
}
