//! Reading an ELF program: the headers of a static big-endian PowerPC executable, every field checked before use.
#![forbid(unsafe_code)]

use crate::addr::TASK_SIZE;
use core::fmt;

/// Why a file is not a program that can run here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElfError {
    /// No ELF magic.
    NotElf,
    /// Not 32-bit big-endian (class, data).
    Format(u8, u8),
    /// Not for PowerPC.
    Machine(u16),
    /// Not a static executable (ET_EXEC).
    Type(u16),
    /// Shorter than its own headers say: bytes needed, bytes there.
    Truncated(u32, u32),
    /// A program header size other than 32.
    HeaderSize(u16),
    /// It wants an interpreter: dynamically linked.
    Interpreter,
    /// A segment outside user space: address and size in memory.
    Segment(u32, u32),
    /// A segment larger in the file than in memory: file and memory sizes.
    SegmentSize(u32, u32),
    /// The entry point is in no executable segment.
    Entry(u32),
    /// No loadable segment.
    Empty,
}

impl fmt::Display for ElfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ElfError::NotElf => write!(f, "not an ELF file"),
            ElfError::Format(class, data) => {
                write!(
                    f,
                    "ELF class {class}, data {data}: accepted is 32-bit (1) big-endian (2)"
                )
            }
            ElfError::Machine(machine) => write!(f, "ELF machine {machine}: accepted is PowerPC (20)"),
            ElfError::Type(kind) => write!(f, "ELF type {kind}: accepted is a static executable (2)"),
            ElfError::Truncated(needed, there) => {
                write!(f, "ELF file is cut off: {needed} bytes needed, {there} there")
            }
            ElfError::HeaderSize(size) => write!(f, "ELF program headers of {size} bytes: accepted is 32"),
            ElfError::Interpreter => write!(f, "dynamically linked: accepted is a static executable"),
            ElfError::Segment(address, size) => {
                write!(f, "segment of {size} bytes at {address:#010x} is outside user space")
            }
            ElfError::SegmentSize(file, memory) => {
                write!(f, "segment has {file} bytes in the file but {memory} in memory")
            }
            ElfError::Entry(entry) => write!(f, "entry point {entry:#010x} is in no executable segment"),
            ElfError::Empty => write!(f, "no loadable segment"),
        }
    }
}

/// A loadable segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// User address of the first byte.
    pub address: u32,
    /// Bytes in memory.
    pub size: u32,
    /// What the file holds of them; the rest is zero.
    pub data: &'a [u8],
    /// `PF_X` 1, `PF_W` 2, `PF_R` 4.
    pub flags: u32,
}

/// Executable.
pub const PF_X: u32 = 1;
/// Writable.
pub const PF_W: u32 = 2;
/// Readable.
pub const PF_R: u32 = 4;

/// A checked program.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    file: &'a [u8],
    /// Entry point.
    pub entry: u32,
    /// Offset of the program headers in the file.
    pub headers: u32,
    /// Number of program headers.
    pub count: u16,
}

const PT_LOAD: u32 = 1;
const PT_INTERP: u32 = 3;

/// Size of a program header.
pub const HEADER_SIZE: u16 = 32;

fn half(file: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*file.get(at..)?.first_chunk()?))
}

fn word(file: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*file.get(at..)?.first_chunk()?))
}

impl<'a> Program<'a> {
    /// Checks all headers.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn parse(file: &'a [u8]) -> Result<Self, ElfError> {
        let there = file.len() as u32;
        if !file.starts_with(b"\x7fELF") {
            return Err(ElfError::NotElf);
        }
        if file.len() < 52 {
            return Err(ElfError::Truncated(52, there));
        }
        if (file[4], file[5]) != (1, 2) {
            return Err(ElfError::Format(file[4], file[5]));
        }
        let half_at = |at| half(file, at).unwrap_or(0);
        let word_at = |at| word(file, at).unwrap_or(0);
        if half_at(18) != 20 {
            return Err(ElfError::Machine(half_at(18)));
        }
        if half_at(16) != 2 {
            return Err(ElfError::Type(half_at(16)));
        }
        let (headers, size, count) = (word_at(28), half_at(42), half_at(44));
        if count != 0 && size != HEADER_SIZE {
            return Err(ElfError::HeaderSize(size));
        }
        let end = u64::from(headers) + u64::from(count) * u64::from(HEADER_SIZE);
        if end > file.len() as u64 {
            return Err(ElfError::Truncated(end.min(u64::from(u32::MAX)) as u32, there));
        }
        let program = Self {
            file,
            entry: word_at(24),
            headers,
            count,
        };
        let mut has_entry = false;
        let mut loads = 0;
        for index in 0..count {
            if program.header(index, 0) == PT_INTERP {
                return Err(ElfError::Interpreter);
            }
            let Some(segment) = program.segment(index)? else {
                continue;
            };
            loads += 1;
            has_entry |= segment.flags & PF_X != 0 && program.entry.wrapping_sub(segment.address) < segment.size;
        }
        if loads == 0 {
            return Err(ElfError::Empty);
        }
        if has_entry {
            Ok(program)
        } else {
            Err(ElfError::Entry(program.entry))
        }
    }

    fn header(&self, index: u16, field: u32) -> u32 {
        let at = self.headers + u32::from(index) * u32::from(HEADER_SIZE) + field * 4;
        word(self.file, at as usize).unwrap_or(0)
    }

    fn segment(&self, index: u16) -> Result<Option<Segment<'a>>, ElfError> {
        let field = |field| self.header(index, field);
        let (offset, address, in_file, size) = (field(1), field(2), field(4), field(5));
        if field(0) != PT_LOAD || size == 0 {
            return Ok(None);
        }
        if in_file > size {
            return Err(ElfError::SegmentSize(in_file, size));
        }
        if address < crate::addr::PAGE_SIZE || u64::from(address) + u64::from(size) > u64::from(TASK_SIZE) {
            return Err(ElfError::Segment(address, size));
        }
        let end = u64::from(offset) + u64::from(in_file);
        let data = usize::try_from(end)
            .ok()
            .and_then(|end| self.file.get(offset as usize..end))
            .ok_or(ElfError::Truncated(
                end.min(u64::from(u32::MAX)) as u32,
                self.file.len() as u32,
            ))?;
        Ok(Some(Segment {
            address,
            size,
            data,
            flags: field(6),
        }))
    }

    /// The function around `address`, from the file's own symbol table, if it has one.
    pub fn symbol(&self, address: u32) -> Option<&'a str> {
        let file = self.file;
        let at = |offset: u32| word(file, offset as usize);
        let (sections, count) = (at(32)?, half(file, 48)?);
        let section =
            |index: u32, field: u32| at(sections.checked_add(index.checked_mul(40)?)?.checked_add(field * 4)?);
        // SHT_SYMTAB 2; its link names the string table. A symbol: name, value, size, then its type in the low bits.
        let table = (0..u32::from(count)).find(|index| section(*index, 1) == Some(2))?;
        let (start, size, strings) = (section(table, 4)?, section(table, 5)?, section(section(table, 6)?, 4)?);
        let mut best: Option<(u32, u32)> = None;
        for symbol in (start..start.checked_add(size)?).step_by(16) {
            let (name, value) = (at(symbol)?, at(symbol + 4)?);
            let kind = file.get(symbol as usize + 12)? & 15;
            if kind <= 2 && kind != 1 && value <= address && best.is_none_or(|(_, old)| value >= old) && name != 0 {
                best = Some((name, value));
            }
        }
        let name = file.get(strings.checked_add(best?.0)? as usize..)?;
        core::str::from_utf8(name.split(|byte| *byte == 0).next()?).ok()
    }

    /// The word at a user address, as the file has it.
    pub fn word(&self, address: u32) -> Option<u32> {
        self.segments()
            .find_map(|segment| word(segment.data, address.checked_sub(segment.address)? as usize))
    }

    /// The loadable segments, in the order of the headers.
    pub fn segments(&self) -> impl Iterator<Item = Segment<'a>> {
        (0..self.count).filter_map(|index| self.segment(index).ok().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn program() -> Vec<u8> {
        let mut file = std::vec![0u8; 0x100];
        file[..7].copy_from_slice(b"\x7fELF\x01\x02\x01");
        let half = |file: &mut Vec<u8>, at: usize, v: u16| file[at..at + 2].copy_from_slice(&v.to_be_bytes());
        let word = |file: &mut Vec<u8>, at: usize, v: u32| file[at..at + 4].copy_from_slice(&v.to_be_bytes());
        half(&mut file, 16, 2);
        half(&mut file, 18, 20);
        word(&mut file, 24, 0x1000_0040);
        word(&mut file, 28, 52);
        half(&mut file, 42, 32);
        half(&mut file, 44, 1);
        for (index, value) in [1, 0, 0x1000_0000, 0, 0x100, 0x200, 5, 0x1000].into_iter().enumerate() {
            word(&mut file, 52 + index * 4, value);
        }
        file
    }

    #[test]
    fn static_program_parses_with_its_segment() {
        let file = program();
        let parsed = Program::parse(&file).unwrap();
        let segments: Vec<_> = parsed.segments().collect();
        assert_eq!(segments.len(), 1);
        assert_eq!(
            (segments[0].address, segments[0].size, segments[0].data.len()),
            (0x1000_0000, 0x200, 0x100)
        );
    }

    #[test]
    fn each_broken_field_has_its_own_error() {
        let broken = |at: usize, bytes: &[u8]| {
            let mut file = program();
            file[at..at + bytes.len()].copy_from_slice(bytes);
            Program::parse(&file).unwrap_err()
        };
        assert_eq!(broken(0, b"x"), ElfError::NotElf);
        assert_eq!(broken(5, &[1]), ElfError::Format(1, 1));
        assert_eq!(broken(18, &[0, 62]), ElfError::Machine(62));
        assert_eq!(broken(16, &[0, 3]), ElfError::Type(3));
        assert_eq!(broken(42, &[0, 16]), ElfError::HeaderSize(16));
        assert_eq!(broken(44, &[0xff, 0xff]), ElfError::Truncated(52 + 0xffff * 32, 0x100));
        assert_eq!(broken(52, &[0, 0, 0, 3]), ElfError::Interpreter);
        assert_eq!(broken(52, &[0, 0, 0, 9]), ElfError::Empty);
        assert_eq!(
            broken(60, &[0x7f, 0xff, 0xff, 0]),
            ElfError::Segment(0x7fff_ff00, 0x200)
        );
        assert_eq!(broken(60, &[0, 0, 0, 0]), ElfError::Segment(0, 0x200));
        assert_eq!(broken(68, &[0, 0, 3, 0]), ElfError::SegmentSize(0x300, 0x200));
        assert_eq!(
            broken(56, &[0xff, 0xff, 0xff, 0xff]),
            ElfError::Truncated(u32::MAX, 0x100)
        );
        assert_eq!(broken(24, &[0]), ElfError::Entry(0x40));
    }

    #[test]
    fn every_truncation_is_an_error_and_no_panic() {
        let file = program();
        for length in 0..file.len() {
            assert!(Program::parse(&file[..length]).is_err(), "{length} bytes");
        }
    }
}
