//! Text inside lines of JSON.
#![forbid(unsafe_code)]

use core::fmt::{self, Write};

/// A string of JSON, quotes included (RFC 8259, section 7).
pub struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for character in self.0.chars() {
            match character {
                '"' | '\\' => write!(f, "\\{character}")?,
                '\0'..' ' => write!(f, "\\u{:04x}", u32::from(character))?,
                _ => f.write_char(character)?,
            }
        }
        f.write_char('"')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    #[test]
    fn what_would_end_the_string_is_escaped() {
        assert_eq!(format!("{}", Quoted("a \"b\\c\n")), r#""a \"b\\c\u000a""#);
    }
}
