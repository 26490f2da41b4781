//! Command-line arguments of the programs: options with a value, flags, and the words after `--`.

use std::collections::VecDeque;
use std::ffi::OsString;

use crate::error::Error;

/// The arguments that are still to be read.
pub struct Arguments {
    rest: VecDeque<String>,
    /// The value of `--option=value`, until the option's reader takes it.
    attached: Option<String>,
}

/// What comes next on a command line.
#[derive(Debug, PartialEq, Eq)]
pub enum Argument {
    /// `--name`, given without its dashes' value part; `-h` counts as `--help`.
    Option(String),
    /// A word that is not an option.
    Word(String),
    /// Everything after `--`.
    Rest(Vec<String>),
}

impl Arguments {
    /// Takes over the arguments after the program's name.
    ///
    /// # Errors
    /// An argument is not UTF-8: nothing here has a use for one.
    pub fn new(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, Error> {
        let rest = arguments
            .into_iter()
            .map(|argument| {
                argument
                    .into_string()
                    .map_err(|argument| Error::usage(format!("argument {argument:?} is not valid UTF-8")))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { rest, attached: None })
    }

    /// The next option or word; `None` at the end.
    ///
    /// # Errors
    /// The option before had `=value` attached and takes none.
    pub fn take(&mut self) -> Result<Option<Argument>, Error> {
        if let Some(value) = self.attached.take() {
            return Err(Error::usage(format!(
                "value `{value}` given to an option that takes none"
            )));
        }
        let Some(argument) = self.rest.pop_front() else {
            return Ok(None);
        };
        Ok(Some(match argument.as_str() {
            "--" => Argument::Rest(self.rest.drain(..).collect()),
            "-h" => Argument::Option("--help".into()),
            option if option.starts_with("--") => match option.split_once('=') {
                Some((name, value)) => {
                    self.attached = Some(value.into());
                    Argument::Option(name.into())
                }
                None => Argument::Option(argument),
            },
            option if option.starts_with('-') && option.len() > 1 => Argument::Option(argument),
            _ => Argument::Word(argument),
        }))
    }

    /// The value of the option that [`Arguments::take`] just gave: attached by `=`, or the next argument.
    ///
    /// # Errors
    /// There is no value left, or the next argument is `--`.
    pub fn value(&mut self, option: &str) -> Result<String, Error> {
        if let Some(value) = self.attached.take() {
            return Ok(value);
        }
        match self.rest.pop_front() {
            Some(value) if value != "--" => Ok(value),
            _ => Err(Error::usage(format!("{option} needs a value"))),
        }
    }

    /// The value of an option as a whole number within `accepted`.
    ///
    /// # Errors
    /// No value, not a decimal number, or out of range; the message gives the range.
    pub fn number(&mut self, option: &str, accepted: std::ops::RangeInclusive<u32>) -> Result<u32, Error> {
        let value = self.value(option)?;
        value
            .parse()
            .ok()
            .filter(|number| accepted.contains(number))
            .ok_or_else(|| {
                let (first, last) = (accepted.start(), accepted.end());
                Error::usage(format!(
                    "{option} {value}: accepted is a whole number from {first} to {last}"
                ))
            })
    }
}

/// The error for an option that a program does not know.
pub fn unknown_option(option: &str, program: &str) -> Error {
    Error::usage(format!(
        "unknown option `{option}`; `{program} --help` lists the options"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(words: &[&str]) -> Arguments {
        Arguments::new(words.iter().map(OsString::from)).expect("UTF-8 words")
    }

    #[test]
    fn attached_and_separate_values_read_the_same() {
        for words in [
            &["--board=g3beige", "--", "a", "--b"][..],
            &["--board", "g3beige", "--", "a", "--b"],
        ] {
            let mut arguments = arguments(words);
            assert_eq!(arguments.take(), Ok(Some(Argument::Option("--board".into()))));
            assert_eq!(arguments.value("--board"), Ok("g3beige".into()));
            assert_eq!(
                arguments.take(),
                Ok(Some(Argument::Rest(vec!["a".into(), "--b".into()])))
            );
            assert_eq!(arguments.take(), Ok(None));
        }
    }

    #[test]
    fn missing_value_is_refused_at_the_end_and_before_the_commands() {
        for words in [&["--cpu"][..], &["--cpu", "--", "help"]] {
            let mut arguments = arguments(words);
            arguments.take().expect("an option");
            assert_eq!(
                arguments.value("--cpu").expect_err("no value").message,
                "--cpu needs a value"
            );
        }
    }

    #[test]
    fn value_attached_to_a_flag_is_refused() {
        let mut arguments = arguments(&["--json=yes", "--cpu"]);
        arguments.take().expect("an option");
        assert!(
            arguments
                .take()
                .expect_err("a flag takes no value")
                .message
                .contains("`yes`")
        );
    }

    #[test]
    fn number_out_of_range_names_the_range() {
        for value in ["11", "-1", "1.5", "", "4294967296", "x"] {
            let mut arguments = arguments(&[&format!("--icount={value}")]);
            arguments.take().expect("an option");
            let error = arguments.number("--icount", 0..=10).expect_err("out of range");
            assert_eq!(
                error.message,
                format!("--icount {value}: accepted is a whole number from 0 to 10")
            );
            assert_eq!(error.status, crate::error::STATUS_USAGE);
        }
    }
}
