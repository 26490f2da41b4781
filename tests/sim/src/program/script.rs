//! `--script`: a dialogue with the console, written down. All times are simulated, so a script either always passes or
//! always fails.
//!
//! One step on each line; empty lines and lines that start with `#` are left out:
//!
//! | step | does |
//! | --- | --- |
//! | `expect "TEXT" [SECONDS]` | waits until TEXT comes after what the last `expect` found; at most 10 s if not said otherwise |
//! | `send "TEXT"` | types TEXT; nothing is added to it |
//! | `wait SECONDS` | lets time pass |
//! | `break` | sends a break |
//! | `garbage N` | sends N symbols of noise |
//! | `finish [SECONDS]` | waits for the guest to end by itself; at most 60 s if not said otherwise |
//!
//! TEXT knows `\r \n \t \e \\ \"` and `\xHH`. After the last step the guest has one more second to end by itself, so
//! that its own status counts; if it does not, the run has passed.

use std::path::Path;

use mpc8xx_sim::soc::console::Symbol;

use super::failure::Failure;
use super::fault::garbage;
use super::options::{number, seconds};
use super::time::{SECOND, from_seconds, to_seconds};

const EXPECT_LIMIT: u64 = 10 * SECOND;
const FINISH_LIMIT: u64 = 60 * SECOND;
/// What the guest gets to end by itself after the last step.
const GRACE: u64 = SECOND;
const MOST_GARBAGE: u32 = 65_536;
const ACCEPTED: &str = "accepted are expect \"TEXT\" [SECONDS], send \"TEXT\", wait SECONDS, break, garbage N up to 65536, \
                        finish [SECONDS], # comment";

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Expect { text: Vec<u8>, limit: u64 },
    Send(Vec<u8>),
    Wait(u64),
    Break,
    Garbage(usize),
    Finish(u64),
}

/// A script and how far it has come.
#[derive(Debug)]
pub struct Script {
    name: String,
    steps: Vec<(usize, Step)>,
    next: usize,
    /// When the step that is being waited on began, in simulated nanoseconds.
    began: u64,
    /// What the console has said since the last `expect` found something.
    unmatched: Vec<u8>,
}

/// What a script wants done.
#[derive(Debug, PartialEq, Eq)]
pub enum Wish {
    /// Look again after more output, or at this simulated time.
    Wait {
        /// Nanoseconds.
        until: u64,
    },
    /// Type this, then look again at once.
    Type(Vec<Symbol>),
    /// The script has passed and the guest goes on.
    Done,
}

impl Script {
    /// Reads a script; `path` is for messages.
    ///
    /// # Errors
    /// The first line that is no step, with its number.
    pub fn parse(path: &Path, text: &str) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let mut steps = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let step = step(line)
                .ok_or_else(|| Failure::failed(format!("script {name} line {}: `{line}`: {ACCEPTED}", index + 1)))?;
            steps.push((index + 1, step));
        }
        Ok(Self {
            name,
            steps,
            next: 0,
            began: 0,
            unmatched: Vec::new(),
        })
    }

    /// Takes what the console has said.
    pub fn heard(&mut self, bytes: &[u8]) {
        self.unmatched.extend_from_slice(bytes);
    }

    /// Goes on as far as it can at simulated time `now` in nanoseconds.
    ///
    /// # Errors
    /// The time of a step is over; `tail` gives the end of the console.
    pub fn advance(&mut self, now: u64, tail: impl FnOnce() -> String) -> Result<Wish, Failure> {
        loop {
            let Some((line, step)) = self.steps.get(self.next) else {
                let until = self.began + GRACE;
                return Ok(if now < until { Wish::Wait { until } } else { Wish::Done });
            };
            let until = match step {
                Step::Expect { text, limit } => {
                    if let Some(end) = find(&self.unmatched, text) {
                        self.unmatched.drain(..end);
                        self.step_done(now);
                        continue;
                    }
                    let until = self.began + limit;
                    if now >= until {
                        let text = String::from_utf8_lossy(text);
                        return Err(self.failure(
                            *line,
                            &format!("{text:?} did not come within {} s", to_seconds(*limit)),
                            &tail(),
                        ));
                    }
                    until
                }
                Step::Wait(time) => {
                    let until = self.began + time;
                    if now >= until {
                        self.step_done(now);
                        continue;
                    }
                    until
                }
                Step::Finish(limit) => {
                    let until = self.began + limit;
                    if now >= until {
                        let what = format!("the guest did not end within {} s", to_seconds(*limit));
                        return Err(self.failure(*line, &what, &tail()));
                    }
                    until
                }
                Step::Send(bytes) => {
                    let symbols = bytes.iter().map(|byte| Symbol::Data(*byte)).collect();
                    self.step_done(now);
                    return Ok(Wish::Type(symbols));
                }
                Step::Break => {
                    self.step_done(now);
                    return Ok(Wish::Type(vec![Symbol::Break]));
                }
                Step::Garbage(count) => {
                    let symbols = garbage(*count);
                    self.step_done(now);
                    return Ok(Wish::Type(symbols));
                }
            };
            return Ok(Wish::Wait { until });
        }
    }

    /// The guest has ended, as `how` says, after everything it said was taken.
    ///
    /// # Errors
    /// There are steps left that wait for more than that.
    pub fn ended(&mut self, now: u64, how: &str, tail: impl FnOnce() -> String) -> Result<(), Failure> {
        while let Some((line, step)) = self.steps.get(self.next) {
            match step {
                Step::Expect { text, .. } => match find(&self.unmatched, text) {
                    Some(end) => {
                        self.unmatched.drain(..end);
                    }
                    None => {
                        let text = String::from_utf8_lossy(text);
                        let what = format!("the guest ended ({how}) before {text:?} came");
                        return Err(self.failure(*line, &what, &tail()));
                    }
                },
                Step::Finish(_) | Step::Wait(_) => {}
                Step::Send(_) | Step::Break | Step::Garbage(_) => {
                    let what = format!("the guest ended ({how}) before this could be sent");
                    return Err(self.failure(*line, &what, &tail()));
                }
            }
            self.step_done(now);
        }
        Ok(())
    }

    fn step_done(&mut self, now: u64) {
        self.next += 1;
        self.began = now;
    }

    fn failure(&self, line: usize, what: &str, tail: &str) -> Failure {
        Failure::failed(format!(
            "script {} line {line}: {what}; the console ends with:\n{tail}",
            self.name
        ))
    }
}

/// The end of the first `text` in `bytes`.
fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    let at = bytes.windows(text.len()).position(|window| window == text)?;
    Some(at + text.len())
}

fn step(line: &str) -> Option<Step> {
    let (verb, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let time = |text: &str, default: Option<u64>| match text {
        "" => default,
        _ => seconds(text).map(from_seconds),
    };
    Some(match verb {
        "expect" => {
            let (text, rest) = quoted(rest)?;
            Step::Expect {
                text: Some(text).filter(|text| !text.is_empty())?,
                limit: time(rest, Some(EXPECT_LIMIT))?,
            }
        }
        "send" => {
            let (text, rest) = quoted(rest)?;
            rest.is_empty().then_some(Step::Send(text))?
        }
        "wait" => Step::Wait(time(rest, None)?),
        "break" => rest.is_empty().then_some(Step::Break)?,
        "garbage" => Step::Garbage(number(rest).filter(|count: &u32| *count <= MOST_GARBAGE)? as usize),
        "finish" => Step::Finish(time(rest, Some(FINISH_LIMIT))?),
        _ => return None,
    })
}

/// The bytes of a quoted text, and what follows it.
fn quoted(text: &str) -> Option<(Vec<u8>, &str)> {
    let mut bytes = Vec::new();
    let mut rest = text.strip_prefix('"')?.chars();
    loop {
        match rest.next()? {
            '"' => return Some((bytes, rest.as_str().trim())),
            '\\' => bytes.push(match rest.next()? {
                'r' => b'\r',
                'n' => b'\n',
                't' => b'\t',
                'e' => 0x1B,
                '\\' => b'\\',
                '"' => b'"',
                'x' => {
                    let digits = rest.as_str().get(..2).filter(|digits| !digits.starts_with('+'))?;
                    let byte = u8::from_str_radix(digits, 16).ok()?;
                    rest = rest.as_str().get(2..)?.chars();
                    byte
                }
                _ => return None,
            }),
            character => bytes.extend(character.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str) -> Script {
        Script::parse(Path::new("test"), text).expect("a good script")
    }

    fn typed(bytes: &[u8]) -> Wish {
        Wish::Type(bytes.iter().map(|byte| Symbol::Data(*byte)).collect())
    }

    #[test]
    fn steps_follow_each_other_and_text_is_found_once() {
        let mut script = script("# a dialogue\n\nexpect \"> \" 2\nsend \"a\\r\\x41\\\"\"\nexpect \"> \"\n");
        let tail = String::new;
        assert_eq!(script.advance(0, tail), Ok(Wish::Wait { until: 2 * SECOND }));
        script.heard(b"boot\r\n>");
        assert_eq!(script.advance(SECOND, tail), Ok(Wish::Wait { until: 2 * SECOND }));
        script.heard(b" ");
        assert_eq!(script.advance(SECOND, tail), Ok(typed(b"a\rA\"")));
        assert_eq!(script.advance(SECOND, tail), Ok(Wish::Wait { until: 11 * SECOND }));
        script.heard(b"ok\r\n> ");
        assert_eq!(script.advance(5 * SECOND, tail), Ok(Wish::Wait { until: 6 * SECOND }));
        assert_eq!(script.advance(6 * SECOND, tail), Ok(Wish::Done));
    }

    #[test]
    fn time_out_names_line_text_and_tail() {
        let mut script = script("\nexpect \"never\" 0.5\n");
        let failure = script
            .advance(SECOND / 2, || "  last words".into())
            .expect_err("no such text");
        assert_eq!(failure.status, 1);
        assert_eq!(
            failure.message,
            "script test line 2: \"never\" did not come within 0.5 s; the console ends with:\n  last words"
        );
    }

    #[test]
    fn end_of_the_guest_is_a_failure_while_something_is_awaited() {
        let tail = String::new;
        let mut waiting = script("expect \"a\"\nfinish\n");
        waiting.heard(b"a");
        assert_eq!(waiting.ended(0, "endless halt", tail), Ok(()));
        for text in ["expect \"a\"\n", "send \"a\"\n", "break\n", "garbage 1\n"] {
            let failure = script(text).ended(0, "endless halt", tail).expect_err("a step is left");
            assert!(failure.message.contains("ended (endless halt)"), "{}", failure.message);
        }
    }

    #[test]
    fn lines_that_are_no_steps_are_refused_with_their_number() {
        for line in [
            "expect",
            "expect x",
            "expect \"x",
            "expect \"\"",
            "expect \"x\" y",
            "expect \"x\" -1",
            "send",
            "send \"x\" 1",
            "send \"\\q\"",
            "send \"\\x4\"",
            "send \"\\xé\"",
            "send \"\\x+1\"",
            "wait",
            "wait x",
            "break 1",
            "garbage",
            "garbage 65537",
            "finish x",
            "sleep 1",
        ] {
            let failure = Script::parse(Path::new("test"), &format!("\n{line}\n")).expect_err(line);
            assert!(
                failure.message.starts_with("script test line 2: "),
                "{}",
                failure.message
            );
        }
    }
}
