//! Splitting a command line: commands by `;`, words by blanks, quotes keep both.
#![forbid(unsafe_code)]

use alloc::string::String;
use alloc::vec::Vec;

/// Splits a line into commands, each a list of words; empty commands are left out.
///
/// # Errors
/// The quote character that is not closed.
pub fn split(line: &str) -> Result<Vec<Vec<String>>, char> {
    let mut commands = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in line.chars() {
        match (quote, character) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, ' ' | '\t') => words.extend(word.take()),
            (None, ';') => {
                words.extend(word.take());
                commands.push(core::mem::take(&mut words));
            }
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    if let Some(open) = quote {
        return Err(open);
    }
    words.extend(word);
    commands.push(words);
    commands.retain(|words| !words.is_empty());
    Ok(commands)
}

/// The settings of a kernel command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `run="..."`: commands to run.
    pub run: Option<String>,
    /// `preset=NAME`.
    pub preset: Option<String>,
    /// `initrd=ADDRESS,SIZE`, physical, in bytes.
    pub initrd: Option<(u32, u32)>,
    /// `quiet`: no banner.
    pub quiet: bool,
    /// `json`: commands print JSON lines where they can.
    pub json: bool,
    /// Words that mean nothing here.
    pub unknown: Vec<String>,
}

/// Reads a kernel command line.
///
/// # Errors
/// A message that names the word that cannot be understood.
pub fn settings(line: &str) -> Result<Settings, String> {
    let mut settings = Settings::default();
    let line = line.replace(';', "\u{1}");
    let commands = split(&line).map_err(|quote| alloc::format!("command line: {quote} is not closed"))?;
    for word in commands.into_iter().flatten() {
        let word = word.replace('\u{1}', ";");
        let (name, value) = word
            .split_once('=')
            .map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        match (name, value) {
            ("run", Some(value)) => settings.run = Some(value.into()),
            ("preset", Some(value)) => settings.preset = Some(value.into()),
            ("initrd", Some(value)) => settings.initrd = Some(initrd(value)?),
            ("quiet", None) => settings.quiet = true,
            ("json", None) => settings.json = true,
            // The console's speed and device are for machines that have a choice.
            ("console", Some(_)) => {}
            _ => settings.unknown.push(word),
        }
    }
    Ok(settings)
}

fn initrd(value: &str) -> Result<(u32, u32), String> {
    let parsed = value
        .split_once(',')
        .and_then(|(address, size)| Some((number(address)?, number(size)?)));
    parsed.ok_or_else(|| alloc::format!("initrd={value}: accepted is initrd=ADDRESS,SIZE in bytes, decimal or 0x..."))
}

/// A decimal or 0x... number of 32 bits.
pub fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    #[test]
    fn commands_and_words_are_split_and_quotes_keep_blanks() {
        let split = |line| split(line).unwrap();
        assert_eq!(split("a  b; c;;"), [vec!["a", "b"], vec!["c"]]);
        assert_eq!(split("echo 'a; b' \"c d\"e ''"), [vec!["echo", "a; b", "c de", ""]]);
        assert_eq!(split("  "), Vec::<Vec<String>>::new());
        assert_eq!(super::split("echo 'x"), Err('\''));
    }

    #[test]
    fn kernel_command_line_is_read_word_by_word() {
        let line = "quiet run=\"time dd count=1; poweroff\" preset=debug initrd=0x100000,4096 foo=1";
        let expected = Settings {
            run: Some("time dd count=1; poweroff".into()),
            preset: Some("debug".into()),
            initrd: Some((0x10_0000, 4096)),
            quiet: true,
            json: false,
            unknown: vec!["foo=1".into()],
        };
        assert_eq!(settings(line), Ok(expected));
        assert!(settings("initrd=5").unwrap_err().contains("initrd=5"));
        assert!(settings("run=\"x").unwrap_err().contains("not closed"));
    }
}
