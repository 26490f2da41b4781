//! A line of input with the usual erase keys, from any terminal's idea of a line end.
#![forbid(unsafe_code)]

/// Longest line in bytes.
pub const CAPACITY: usize = 1023;

/// How long after a line end its partner (LF after CR and so on) still belongs to it, in milliseconds. Separate key
/// presses are further apart, bytes of one paste are closer.
const PAIR_MILLISECONDS: u64 = 50;

/// What reading a line gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// A line of this many bytes, without its end.
    Complete(usize),
    /// Ctrl-C: the line was given up.
    Interrupted,
    /// Ctrl-D on an empty line.
    End,
    /// The line had this many bytes, more than fit; it was thrown away whole.
    TooLong(usize),
}

/// What a key asks the terminal to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// Nothing.
    Nothing,
    /// The key itself.
    Byte(u8),
    /// Take this many characters back.
    Erase(usize),
}

/// The state of line editing.
pub struct Editor {
    length: usize,
    lost: usize,
    /// The byte that would complete a two-byte line end, and until when.
    partner: Option<(u8, u64)>,
}

impl Editor {
    /// An empty line.
    pub const fn new() -> Self {
        Self {
            length: 0,
            lost: 0,
            partner: None,
        }
    }

    /// Takes one byte received at `now` (milliseconds of any clock) into `line`; says what to echo, and the line when it
    /// is complete.
    pub fn feed(&mut self, line: &mut [u8], byte: u8, now: u64) -> (Echo, Option<Line>) {
        if let Some((partner, until)) = self.partner.take()
            && now <= until
            && (byte == partner || (partner == b'\n' && byte == 0))
        {
            return (Echo::Nothing, None);
        }
        match byte {
            b'\r' | b'\n' => {
                let partner = if byte == b'\r' { b'\n' } else { b'\r' };
                self.partner = Some((partner, now + PAIR_MILLISECONDS));
                let length = core::mem::take(&mut self.length);
                let lost = core::mem::take(&mut self.lost);
                let result = if lost > 0 {
                    Line::TooLong(length + lost)
                } else {
                    Line::Complete(length)
                };
                (Echo::Nothing, Some(result))
            }
            0x03 => {
                (self.length, self.lost) = (0, 0);
                (Echo::Nothing, Some(Line::Interrupted))
            }
            0x04 if self.length == 0 => (Echo::Nothing, Some(Line::End)),
            0x08 | 0x7f => {
                if self.lost > 0 {
                    self.lost -= 1;
                    (Echo::Nothing, None)
                } else if self.length > 0 {
                    self.length -= 1;
                    (Echo::Erase(1), None)
                } else {
                    (Echo::Nothing, None)
                }
            }
            0x15 => {
                let erased = core::mem::take(&mut self.length);
                self.lost = 0;
                (Echo::Erase(erased), None)
            }
            b'\t' => self.insert(line, b' '),
            0x20..=0x7e => self.insert(line, byte),
            _ => (Echo::Nothing, None),
        }
    }

    fn insert(&mut self, line: &mut [u8], byte: u8) -> (Echo, Option<Line>) {
        match line.get_mut(self.length) {
            Some(slot) => {
                *slot = byte;
                self.length += 1;
                (Echo::Byte(byte), None)
            }
            None => {
                self.lost += 1;
                (Echo::Nothing, None)
            }
        }
    }
}

impl Default for Editor {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::String;
    use std::vec::Vec;

    fn type_in(keys: &[(u8, u64)]) -> (Vec<String>, Vec<Line>) {
        let mut editor = Editor::new();
        let mut line = [0; 16];
        let (mut texts, mut others) = (Vec::new(), Vec::new());
        for (byte, now) in keys {
            match editor.feed(&mut line, *byte, *now).1 {
                Some(Line::Complete(n)) => texts.push(String::from_utf8(line[..n].to_vec()).unwrap()),
                Some(other) => others.push(other),
                None => {}
            }
        }
        (texts, others)
    }

    fn at_once(text: &str) -> Vec<(u8, u64)> {
        text.bytes().map(|b| (b, 0)).collect()
    }

    // U-223
    #[test]
    fn every_kind_of_line_end_ends_one_line() {
        for end in ["\r", "\n", "\r\n", "\n\r", "\r\0"] {
            let keys = at_once(&std::format!("help{end}dd{end}"));
            assert_eq!(type_in(&keys).0, ["help", "dd"], "{end:?}");
        }
        let separate: Vec<_> = b"\r\n\r\n".iter().copied().zip((0..).map(|i| i * 200)).collect();
        assert_eq!(type_in(&separate).0, ["", "", "", ""]);
    }

    // U-224
    #[test]
    fn erase_keys_take_back_what_was_typed_and_nothing_more() {
        assert_eq!(type_in(&at_once("ddx\x7f\r")).0, ["dd"]);
        assert_eq!(type_in(&at_once("dx\x08d\r")).0, ["dd"]);
        let many = std::format!("{}help\r", "\x7f".repeat(300));
        assert_eq!(type_in(&at_once(&many)).0, ["help"]);
        assert_eq!(type_in(&at_once("rubbish\x15dd\r")).0, ["dd"]);
        let mut editor = Editor::new();
        let mut line = [0; 16];
        assert_eq!(editor.feed(&mut line, 0x08, 0).0, Echo::Nothing);
        editor.feed(&mut line, b'a', 0);
        assert_eq!(editor.feed(&mut line, 0x7f, 0).0, Echo::Erase(1));
    }

    #[test]
    fn interrupt_abandons_the_line_and_end_counts_only_when_it_is_empty() {
        assert_eq!(
            type_in(&at_once("dd\x03help\r")),
            (std::vec!["help".into()], std::vec![Line::Interrupted])
        );
        assert_eq!(
            type_in(&at_once("a\x04\r\x04")),
            (std::vec!["a".into()], std::vec![Line::End])
        );
    }

    #[test]
    fn line_beyond_the_buffer_is_refused_whole_with_its_length() {
        let keys = at_once(&std::format!("{}\rdd\r", "x".repeat(20)));
        assert_eq!(type_in(&keys), (std::vec!["dd".into()], std::vec![Line::TooLong(20)]));
    }
}
