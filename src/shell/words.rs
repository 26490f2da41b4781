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
    /// `console=DEVICE,SPEED`: the speed in bit/s.
    pub console_speed: Option<u32>,
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
            // There is one device.
            ("console", Some(value)) => settings.console_speed = console_speed(value)?,
            _ => settings.unknown.push(word),
        }
    }
    Ok(settings)
}

/// The speed in `DEVICE,115200N8`, as Linux has it; a device alone leaves the speed.
fn console_speed(value: &str) -> Result<Option<u32>, String> {
    let Some((_, mode)) = value.split_once(',') else {
        return Ok(None);
    };
    let digits = mode.len() - mode.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let speed = mode[..digits]
        .parse()
        .ok()
        .filter(|speed| (300..=1_000_000).contains(speed));
    speed
        .map(Some)
        .filter(|_| matches!(&mode[digits..], "" | "n" | "N" | "n8" | "N8"))
        .ok_or_else(|| {
            alloc::format!("console={value}: accepted is console=DEVICE[,SPEED[N8]] with 300 to 1000000 bit/s")
        })
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
            console_speed: None,
            quiet: true,
            json: false,
            unknown: vec!["foo=1".into()],
        };
        assert_eq!(settings(line), Ok(expected));
        assert!(settings("initrd=5").unwrap_err().contains("initrd=5"));
        let speed =
            |console: &str| settings(&alloc::format!("console={console}")).map(|settings| settings.console_speed);
        assert_eq!(speed("ttyCPM0"), Ok(None));
        for mode in ["38400", "38400n", "38400N8"] {
            assert_eq!(speed(&alloc::format!("ttyCPM0,{mode}")), Ok(Some(38_400)));
        }
        for mode in ["", "N8", "299", "1000001", "9600e7", "9600N8r", "4294967297"] {
            let refused = speed(&alloc::format!("ttyCPM0,{mode}")).unwrap_err();
            assert!(refused.contains("300 to 1000000 bit/s"), "{refused}");
        }
        assert!(settings("run=\"x").unwrap_err().contains("not closed"));
    }
}
