//! The initial archive: one or more concatenated newc cpio archives in memory (kernel:
//! Documentation/driver-api/early-userspace/buffer-format.rst).
#![forbid(unsafe_code)]

use crate::arch::single::Single;
use core::cell::Cell;
use core::fmt;

/// What a name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A regular file with its contents.
    File(&'static [u8]),
    /// A directory with its path.
    Directory(&'static [u8]),
}

/// Why an archive cannot be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// Neither a header nor padding at this offset.
    Magic(usize),
    /// A header field at this offset is not hexadecimal.
    Field(usize),
    /// The archive ends inside the entry that starts at this offset.
    Truncated(usize),
    /// The archive ends without `TRAILER!!!`.
    NoTrailer,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Magic(at) => write!(f, "no newc header (070701) at offset {at}"),
            Error::Field(at) => write!(f, "a header field at offset {at} is not hexadecimal"),
            Error::Truncated(at) => write!(f, "the entry at offset {at} is cut off"),
            Error::NoTrailer => write!(f, "the archive ends without TRAILER!!!"),
        }
    }
}

const HEADER: usize = 110;
const FORMAT_MASK: u32 = 0o170_000;
const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;

/// Walks an archive; after an error there is nothing more.
pub struct Entries<'a> {
    archive: &'a [u8],
    at: usize,
    in_archive: bool,
}

/// One entry of an archive.
pub struct Item<'a> {
    /// The path without a leading `/` or `./`.
    pub name: &'a [u8],
    /// File type and permissions.
    pub mode: u32,
    /// Contents.
    pub data: &'a [u8],
}

/// The entries of concatenated archives.
pub fn entries(archive: &[u8]) -> Entries<'_> {
    Entries {
        archive,
        at: 0,
        in_archive: false,
    }
}

impl<'a> Entries<'a> {
    fn field(&self, index: usize) -> Result<usize, Error> {
        let at = self.at + 6 + index * 8;
        let text = core::str::from_utf8(&self.archive[at..at + 8]).map_err(|_| Error::Field(at))?;
        u32::from_str_radix(text, 16)
            .map(|value| value as usize)
            .map_err(|_| Error::Field(at))
    }

    fn parse(&mut self) -> Result<Option<Item<'a>>, Error> {
        loop {
            // Archives are joined with zero bytes between them.
            while !self.in_archive && self.archive.get(self.at) == Some(&0) {
                self.at += 1;
            }
            let rest = &self.archive[self.at..];
            if rest.is_empty() {
                return if self.in_archive {
                    Err(Error::NoTrailer)
                } else {
                    Ok(None)
                };
            }
            if !rest.starts_with(b"070701") {
                return Err(if b"070701".starts_with(rest) {
                    Error::Truncated(self.at)
                } else {
                    Error::Magic(self.at)
                });
            }
            if rest.len() < HEADER {
                return Err(Error::Truncated(self.at));
            }
            let (mode, size, name_size) = (self.field(1)?, self.field(6)?, self.field(11)?);
            let name_end = HEADER.saturating_add(name_size);
            let data_start = align(name_end);
            let data_end = data_start.saturating_add(size);
            if name_size == 0 || data_end > rest.len() {
                return Err(Error::Truncated(self.at));
            }
            let name = &rest[HEADER..name_end - 1];
            self.in_archive = true;
            self.at = (self.at + align(data_end)).min(self.archive.len());
            if name == b"TRAILER!!!" {
                self.in_archive = false;
                continue;
            }
            let name = name.strip_prefix(b"./").unwrap_or(name);
            let name = name.strip_prefix(b"/").unwrap_or(name);
            return Ok(Some(Item {
                name,
                mode: mode as u32,
                data: &rest[data_start..data_end],
            }));
        }
    }
}

fn align(offset: usize) -> usize {
    offset.saturating_add(3) & !3
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Item<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let result = self.parse().transpose();
        if matches!(result, Some(Err(_))) {
            self.at = self.archive.len();
            self.in_archive = false;
        }
        result
    }
}

static ARCHIVE: Single<Cell<&'static [u8]>> = Single::new(Cell::new(&[]));

/// Makes `archive` the file tree; later archives win over earlier ones. Returns the number of entries.
///
/// # Errors
/// The first fault of the archive; the entries before it can be used.
pub fn mount(archive: &'static [u8]) -> Result<usize, Error> {
    ARCHIVE.get().set(archive);
    let mut count = 0;
    for entry in entries(archive) {
        entry?;
        count += 1;
    }
    Ok(count)
}

/// All entries of the mounted archive that can be read.
pub fn mounted() -> impl Iterator<Item = Item<'static>> {
    entries(ARCHIVE.get().get()).map_while(Result::ok)
}

/// Finds a file or directory by its path without a leading slash; the last entry of that name wins.
pub fn find(name: &[u8]) -> Option<Entry> {
    let item = mounted().filter(|item| item.name == name).last()?;
    match item.mode & FORMAT_MASK {
        REGULAR => Some(Entry::File(item.data)),
        DIRECTORY => Some(Entry::Directory(item.name)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;
    use std::vec::Vec;

    fn entry(name: &str, mode: u32, data: &[u8]) -> Vec<u8> {
        let mut out = format!(
            "070701{:08X}{mode:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}",
            1,
            0,
            0,
            1,
            0,
            data.len(),
            0,
            0,
            0,
            0,
            name.len() + 1,
            0
        )
        .into_bytes();
        out.extend(name.as_bytes());
        out.push(0);
        out.resize(align(out.len()), 0);
        out.extend(data);
        out.resize(align(out.len()), 0);
        out
    }

    fn archive(files: &[(&str, u32, &[u8])]) -> Vec<u8> {
        let mut out: Vec<u8> = files
            .iter()
            .flat_map(|(name, mode, data)| entry(name, *mode, data))
            .collect();
        out.extend(entry("TRAILER!!!", 0, b""));
        out
    }

    #[test]
    fn concatenated_archives_are_one_tree_and_the_last_entry_wins() {
        let mut both = archive(&[("bin", DIRECTORY, b""), ("bin/dd", REGULAR, b"first")]);
        both.extend([0; 512]);
        both.extend(archive(&[("./bin/dd", REGULAR, b"second"), ("/bin/x", REGULAR, b"")]));
        let names: Vec<_> = entries(&both).map(|e| e.unwrap().name.to_vec()).collect();
        assert_eq!(names, [&b"bin"[..], b"bin/dd", b"bin/dd", b"bin/x"]);
        assert_eq!(mount(both.leak()), Ok(4));
        assert_eq!(find(b"bin/dd"), Some(Entry::File(b"second")));
        assert_eq!(find(b"bin"), Some(Entry::Directory(b"bin")));
        assert_eq!(find(b"bin/y"), None);
    }

    #[test]
    fn every_truncation_is_an_error_and_no_panic() {
        let whole = archive(&[("a", REGULAR, b"some bytes"), ("b", REGULAR, b"more")]);
        assert!(entries(&whole).all(|e| e.is_ok()));
        let trailer_data_end = whole.len();
        for length in 1..trailer_data_end {
            assert!(entries(&whole[..length]).any(|e| e.is_err()), "{length} bytes");
        }
    }

    #[test]
    fn garbage_is_named_with_its_offset() {
        let mut bad = archive(&[("a", REGULAR, b"")]);
        bad[0] = b'X';
        assert_eq!(entries(&bad).next().unwrap().err(), Some(Error::Magic(0)));
        let mut bad = archive(&[("a", REGULAR, b"")]);
        bad[14 + 3] = b'g';
        assert_eq!(entries(&bad).next().unwrap().err(), Some(Error::Field(14)));
        let mut bad = archive(&[("a", REGULAR, b"")]);
        bad[6 + 48..6 + 56].copy_from_slice(b"FFFFFFFF");
        assert_eq!(entries(&bad).next().unwrap().err(), Some(Error::Truncated(0)));
    }
}
