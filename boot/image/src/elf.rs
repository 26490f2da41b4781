//! Reader of 32-bit big-endian PowerPC ELF files, as far as images need it.
//!
//! Source of the layout: System V ABI, edition 4.1, chapter 4 (object files), and its PowerPC supplement.

use crate::error::Error;

const HEADER_BYTES: usize = 52;
const SEGMENT_BYTES: usize = 32;
const SECTION_BYTES: usize = 40;
const SYMBOL_BYTES: usize = 16;
const MACHINE_POWERPC: u16 = 20;
const SEGMENT_LOAD: u32 = 1;
const SECTION_SYMBOLS: u32 = 2;
const SECTION_NO_BITS: u32 = 8;
const FLAG_WRITE: u32 = 1;
const FLAG_ALLOCATED: u32 = 2;
const FLAG_EXECUTABLE: u32 = 4;

/// A loadable program header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Where the segment starts in the file, in bytes.
    pub offset: usize,
    /// Address the code was linked for.
    pub virtual_address: u32,
    /// Address the segment is loaded at.
    pub physical_address: u32,
    /// Bytes that the file holds.
    pub file_bytes: u32,
    /// Bytes in memory; what exceeds `file_bytes` is zero.
    pub memory_bytes: u32,
}

/// A section header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The section's name.
    pub name: String,
    /// Virtual address, 0 for a section that is not loaded.
    pub address: u32,
    /// Size in bytes.
    pub size: u32,
    kind: u32,
    flags: u32,
    offset: u32,
    link: u32,
}

/// What a loaded section holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Code.
    Text,
    /// Constants.
    ReadOnly,
    /// Variables with a first value.
    Data,
    /// Variables that start as zero and take no room in the file.
    Bss,
}

impl Section {
    /// What the section holds in memory; `None` when it is not loaded.
    pub fn content(&self) -> Option<Content> {
        if self.flags & FLAG_ALLOCATED == 0 {
            return None;
        }
        Some(if self.flags & FLAG_EXECUTABLE != 0 {
            Content::Text
        } else if self.kind == SECTION_NO_BITS {
            Content::Bss
        } else if self.flags & FLAG_WRITE != 0 {
            Content::Data
        } else {
            Content::ReadOnly
        })
    }
}

/// The kind of a symbol, from the low four bits of `st_info`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolKind {
    /// A label without a type.
    Untyped,
    /// A function.
    Function,
    /// Data, sections, files and everything else.
    Other,
}

/// An entry of the symbol table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// The name as linked (mangled).
    pub name: String,
    /// The symbol's address.
    pub address: u32,
    /// Size in bytes, 0 when unknown.
    pub size: u32,
    /// Function, label or other.
    pub kind: SymbolKind,
    /// True when other object files can refer to it.
    pub is_global: bool,
    /// Index of its section in [`Elf::sections`], when it has one.
    pub section: Option<usize>,
}

/// A parsed executable.
pub struct Elf<'a> {
    data: &'a [u8],
    /// The entry point as the file gives it.
    pub entry: u32,
    /// Its loadable segments, in file order.
    pub segments: Vec<Segment>,
    /// All sections, by their index.
    pub sections: Vec<Section>,
}

impl<'a> Elf<'a> {
    /// Reads the headers of `data`.
    ///
    /// # Errors
    /// Not an ELF file, another class, byte order or machine, or a table or segment that lies outside the file.
    pub fn parse(data: &'a [u8]) -> Result<Self, Error> {
        if data.len() < HEADER_BYTES || data[..4] != *b"\x7fELF" {
            return Err(Error::failed("not an ELF file: no ELF header"));
        }
        if data[4] != 1 || data[5] != 2 {
            return Err(Error::failed("not a 32-bit big-endian ELF file"));
        }
        let machine = half(data, 18)?;
        if machine != MACHINE_POWERPC {
            return Err(Error::failed(format!(
                "ELF machine is {machine}, not {MACHINE_POWERPC} (PowerPC)"
            )));
        }
        let segments = table(
            data,
            word(data, 28)?,
            half(data, 44)?,
            half(data, 42)?,
            SEGMENT_BYTES,
            "program header",
        )?
        .filter(|header| word(header, 0) == Ok(SEGMENT_LOAD))
        .map(|header| {
            let segment = Segment {
                offset: word(header, 4)? as usize,
                virtual_address: word(header, 8)?,
                physical_address: word(header, 12)?,
                file_bytes: word(header, 16)?,
                memory_bytes: word(header, 20)?,
            };
            bytes(data, segment.offset, segment.file_bytes as usize, "a segment")?;
            Ok(segment)
        })
        .collect::<Result<_, Error>>()?;
        let mut elf = Self {
            data,
            entry: word(data, 24)?,
            segments,
            sections: Vec::new(),
        };
        elf.read_sections()?;
        Ok(elf)
    }

    fn read_sections(&mut self) -> Result<(), Error> {
        let data = self.data;
        let headers: Vec<&[u8]> = table(
            data,
            word(data, 32)?,
            half(data, 48)?,
            half(data, 46)?,
            SECTION_BYTES,
            "section header",
        )?
        .collect();
        let names = match headers.get(usize::from(half(data, 50)?)) {
            Some(header) => bytes(
                data,
                word(header, 16)? as usize,
                word(header, 20)? as usize,
                "the section names",
            )?,
            None => &[],
        };
        for header in headers {
            self.sections.push(Section {
                name: text(names, word(header, 0)?)?,
                kind: word(header, 4)?,
                flags: word(header, 8)?,
                address: word(header, 12)?,
                offset: word(header, 16)?,
                size: word(header, 20)?,
                link: word(header, 24)?,
            });
        }
        Ok(())
    }

    /// The first section of that name.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// The bytes of the section with this name.
    ///
    /// # Errors
    /// There is none, or it lies outside the file.
    pub fn named_section_bytes(&self, name: &str) -> Result<&'a [u8], Error> {
        let section = self.section(name);
        self.section_bytes(section.ok_or_else(|| Error::failed(format!("the ELF file has no section {name}")))?)
    }

    /// The bytes of a section; empty for one that takes no room in the file.
    ///
    /// # Errors
    /// The section lies outside the file.
    pub fn section_bytes(&self, section: &Section) -> Result<&'a [u8], Error> {
        if section.kind == SECTION_NO_BITS {
            return Ok(&[]);
        }
        bytes(
            self.data,
            section.offset as usize,
            section.size as usize,
            &format!("section {}", section.name),
        )
    }

    /// The bytes that the file holds of a segment.
    ///
    /// # Errors
    /// The segment lies outside the file.
    pub fn segment_bytes(&self, segment: &Segment) -> Result<&'a [u8], Error> {
        bytes(self.data, segment.offset, segment.file_bytes as usize, "a segment")
    }

    /// The symbol table; empty for a stripped file.
    ///
    /// # Errors
    /// The table or its names lie outside the file.
    pub fn symbols(&self) -> Result<Vec<Symbol>, Error> {
        let Some(section) = self.sections.iter().find(|section| section.kind == SECTION_SYMBOLS) else {
            return Ok(Vec::new());
        };
        let names = match self.sections.get(section.link as usize) {
            Some(names) => self.section_bytes(names)?,
            None => {
                return Err(Error::failed(format!(
                    "the symbol names are in section {}: not there",
                    section.link
                )));
            }
        };
        self.section_bytes(section)?
            .chunks_exact(SYMBOL_BYTES)
            .map(|entry| {
                let section = usize::from(half(entry, 14)?);
                Ok(Symbol {
                    name: text(names, word(entry, 0)?)?,
                    address: word(entry, 4)?,
                    size: word(entry, 8)?,
                    kind: match entry[12] & 0xf {
                        0 => SymbolKind::Untyped,
                        2 => SymbolKind::Function,
                        _ => SymbolKind::Other,
                    },
                    is_global: entry[12] >> 4 != 0,
                    section: (section != 0 && section < self.sections.len()).then_some(section),
                })
            })
            .collect()
    }

    /// The file with other names for its symbols: `rename` gives them. The new names stand at the file's end, where the
    /// section of the names now points.
    ///
    /// # Errors
    /// The table or its names lie outside the file.
    pub fn with_symbol_names(&self, rename: impl Fn(&str) -> String) -> Result<Vec<u8>, Error> {
        let mut file = self.data.to_vec();
        let symbols = self.symbols()?;
        let Some(section) = self.sections.iter().find(|section| section.kind == SECTION_SYMBOLS) else {
            return Ok(file);
        };
        let mut names = vec![0];
        for (index, symbol) in symbols.iter().enumerate().filter(|(_, symbol)| !symbol.name.is_empty()) {
            let at = section.offset as usize + index * SYMBOL_BYTES;
            file[at..at + 4].copy_from_slice(&(names.len() as u32).to_be_bytes());
            names.extend(rename(&symbol.name).into_bytes());
            names.push(0);
        }
        let header = word(self.data, 32)? as usize + section.link as usize * usize::from(half(self.data, 46)?);
        let place = [file.len() as u32, names.len() as u32].map(u32::to_be_bytes);
        file[header + 16..header + 24].copy_from_slice(place.as_flattened());
        file.extend(names);
        Ok(file)
    }

    /// The entry point as a physical address.
    ///
    /// An entry inside the physical range of a segment is taken as it is; one inside a virtual range is translated.
    ///
    /// # Errors
    /// The entry lies in no segment.
    pub fn physical_entry(&self) -> Result<u32, Error> {
        let offset_in = |start: u32, segment: &Segment| {
            self.entry
                .checked_sub(start)
                .filter(|&offset| offset < segment.memory_bytes)
        };
        if self
            .segments
            .iter()
            .any(|segment| offset_in(segment.physical_address, segment).is_some())
        {
            return Ok(self.entry);
        }
        self.segments
            .iter()
            .find_map(|segment| {
                offset_in(segment.virtual_address, segment).map(|offset| segment.physical_address.wrapping_add(offset))
            })
            .ok_or_else(|| Error::failed(format!("entry point {:#010x} lies in no segment", self.entry)))
    }
}

/// Iterates over a header table after checking that it lies in the file and its entries are large enough.
fn table<'a>(
    data: &'a [u8],
    offset: u32,
    count: u16,
    entry_bytes: u16,
    least_bytes: usize,
    what: &str,
) -> Result<std::slice::ChunksExact<'a, u8>, Error> {
    let (count, entry_bytes) = (usize::from(count), usize::from(entry_bytes));
    if count != 0 && entry_bytes < least_bytes {
        return Err(Error::failed(format!(
            "{what}s of {entry_bytes} bytes: {least_bytes} are needed"
        )));
    }
    let table = bytes(data, offset as usize, count * entry_bytes, &format!("the {what} table"))?;
    Ok(table.chunks_exact(entry_bytes.max(1)))
}

fn bytes<'a>(data: &'a [u8], offset: usize, length: usize, what: &str) -> Result<&'a [u8], Error> {
    offset
        .checked_add(length)
        .and_then(|end| data.get(offset..end))
        .ok_or_else(|| {
            Error::failed(format!(
                "{what} ({length} bytes at offset {offset:#x}) lies outside the file of {} bytes",
                data.len()
            ))
        })
}

fn half(data: &[u8], offset: usize) -> Result<u16, Error> {
    let field = bytes(data, offset, 2, "a header field")?;
    Ok(u16::from_be_bytes([field[0], field[1]]))
}

fn word(data: &[u8], offset: usize) -> Result<u32, Error> {
    let field = bytes(data, offset, 4, "a header field")?;
    Ok(u32::from_be_bytes([field[0], field[1], field[2], field[3]]))
}

fn text(names: &[u8], offset: u32) -> Result<String, Error> {
    let name = names.get(offset as usize..).unwrap_or_default();
    let Some(end) = name.iter().position(|&byte| byte == 0) else {
        if names.is_empty() && offset == 0 {
            return Ok(String::new());
        }
        return Err(Error::failed(format!(
            "name at offset {offset:#x} has no end in a table of {} bytes",
            names.len()
        )));
    };
    Ok(String::from_utf8_lossy(&name[..end]).into_owned())
}
