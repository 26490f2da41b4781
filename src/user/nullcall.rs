//! `nullcall [COUNT] [--json]`: the time of the smallest system call.
//!
//! A loop of `getppid`, as the null_syscall test of the kernel lists had it until June 2021, timed by two readings of
//! the clock.
#![forbid(unsafe_code)]

use super::errno::Errno;
use super::number::{self, ACCEPTED};
use super::print::{Seconds, Text, complain, print};
use super::start::StartInfo;
use super::sys::{Fd, Sys};

/// Calls made when no COUNT is given.
const DEFAULT_COUNT: u32 = 1_000_000;

const USAGE: &str = "\
usage: nullcall [COUNT] [--json]
Times COUNT calls of getppid (default 1000000, suffixes as dd's) and prints the nanoseconds per call.
";

/// What the command line asks for.
enum Request {
    Help,
    Run { count: u32, json: bool },
}

/// Runs the program; returns its exit status.
pub fn main<S: Sys>(start: &StartInfo<'_>, sys: &mut S) -> u8 {
    let printed = match read_operands(start, sys) {
        None => return 1,
        Some(Request::Help) => print(sys, Fd::STDOUT, format_args!("{USAGE}")),
        Some(Request::Run { count, json }) => match time_calls(sys, count) {
            Ok(elapsed_ns) => print_result(sys, count, elapsed_ns, json),
            Err(error) => {
                complain(sys, format_args!("nullcall: cannot time getppid: {error}\n"));
                return 1;
            }
        },
    };
    match printed {
        Ok(()) => 0,
        Err(error) => {
            complain(
                sys,
                format_args!("nullcall: cannot write to standard output: {error}\n"),
            );
            1
        }
    }
}

fn read_operands<S: Sys>(start: &StartInfo<'_>, sys: &mut S) -> Option<Request> {
    let mut count = None;
    let mut json = false;
    for operand in start.operands() {
        match operand.to_bytes() {
            b"--help" => return Some(Request::Help),
            b"--json" => json = true,
            text if count.is_some() || text.starts_with(b"-") => {
                complain(
                    sys,
                    format_args!("nullcall: unexpected operand '{}'\n{USAGE}", Text(text)),
                );
                return None;
            }
            text => match number::parse(text) {
                Ok(value) => match u32::try_from(value) {
                    Ok(value @ 1..) => count = Some(value),
                    _ => {
                        complain(
                            sys,
                            format_args!("nullcall: number {value} is not in 1..{} range\n", u32::MAX),
                        );
                        return None;
                    }
                },
                Err(error) => {
                    complain(
                        sys,
                        format_args!("nullcall: {error} '{}' (accepted: {ACCEPTED})\n", Text(text)),
                    );
                    return None;
                }
            },
        }
    }
    Some(Request::Run {
        count: count.unwrap_or(DEFAULT_COUNT),
        json,
    })
}

/// Makes `count` calls; returns the nanoseconds they took together.
fn time_calls<S: Sys>(sys: &mut S, count: u32) -> Result<u64, Errno> {
    let begin = sys.monotonic_ns()?;
    for _ in 0..count {
        sys.parent_process()?;
    }
    Ok(sys.monotonic_ns()?.saturating_sub(begin))
}

fn print_result<S: Sys>(sys: &mut S, count: u32, elapsed_ns: u64, json: bool) -> Result<(), Errno> {
    let seconds = Seconds {
        micros: elapsed_ns / 1_000,
    };
    // Hundredths of a nanosecond per call, rounded; `count` is at least 1.
    let hundredths = (u128::from(elapsed_ns) * 100 + u128::from(count) / 2) / u128::from(count);
    let (whole, fraction) = (hundredths / 100, hundredths % 100);
    if json {
        print(
            sys,
            Fd::STDOUT,
            format_args!(
                "{{\"program\":\"nullcall\",\"call\":\"getppid\",\"count\":{count},\"elapsed_ns\":{elapsed_ns},\
                 \"ns_per_call\":{whole}.{fraction:02}}}\n"
            ),
        )
    } else {
        print(
            sys,
            Fd::STDOUT,
            format_args!("{count} getppid calls, {seconds} seconds, {whole}.{fraction:02} ns per call\n"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::fake::{Fake, run};
    use std::string::{String, ToString};
    use std::vec;

    fn nullcall(operands: &[&str], sys: &mut Fake) -> u8 {
        run(main, &[&["nullcall"], operands].concat(), sys)
    }

    #[test]
    fn makes_exactly_the_calls_asked_for_between_two_clock_readings() {
        let mut sys = Fake::default();
        assert_eq!(nullcall(&["3"], &mut sys), 0);
        assert_eq!(sys.calls["parent_process"], 3);
        assert_eq!(sys.calls["clock"], 2);
        assert_eq!(
            sys.stdout(),
            "3 getppid calls, 0.001000 seconds, 333333.33 ns per call\n"
        );
    }

    #[test]
    fn default_count_is_one_million_and_json_is_one_object() {
        let mut sys = Fake {
            clock_step_ns: 1_500_000_004,
            ..Fake::default()
        };
        assert_eq!(nullcall(&["--json"], &mut sys), 0);
        let expected = "{\"program\":\"nullcall\",\"call\":\"getppid\",\"count\":1000000,\"elapsed_ns\":1500000004,\
                        \"ns_per_call\":1500.00}\n";
        assert_eq!(sys.stdout(), expected);
    }

    #[test]
    fn frozen_clock_gives_zero() {
        let mut sys = Fake {
            clock_step_ns: 0,
            ..Fake::default()
        };
        assert_eq!(nullcall(&["1"], &mut sys), 0);
        assert_eq!(sys.stdout(), "1 getppid calls, 0.000000 seconds, 0.00 ns per call\n");
    }

    #[test]
    fn bad_operands_are_named_and_refused() {
        let table = [
            (vec!["0"], "nullcall: number 0 is not in 1..4294967295 range"),
            (vec!["4G"], "nullcall: number 4294967296 is not in 1..4294967295 range"),
            (vec!["12q"], "nullcall: invalid number '12q'"),
            (vec!["1", "2"], "nullcall: unexpected operand '2'"),
            (vec!["-x"], "nullcall: unexpected operand '-x'"),
        ];
        for (operands, message) in table {
            let mut sys = Fake::default();
            assert_eq!(nullcall(&operands, &mut sys), 1, "{operands:?}");
            assert!(sys.stderr().starts_with(message), "{}", sys.stderr());
            assert_eq!(sys.stdout(), String::new());
        }
    }

    #[test]
    fn missing_clock_is_an_error_message() {
        let mut sys = Fake {
            has_clock: false,
            ..Fake::default()
        };
        assert_eq!(nullcall(&["1"], &mut sys), 1);
        assert_eq!(
            sys.stderr(),
            "nullcall: cannot time getppid: Function not implemented\n".to_string()
        );
    }
}
