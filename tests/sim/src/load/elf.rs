//! ELF executables for 32-bit big-endian PowerPC. Source: System V ABI, PowerPC Processor Supplement.

use super::{Image, LoadError, Segment, half_at, load_error, word_at};

/// The first bytes of every ELF file.
pub const MAGIC: &[u8] = b"\x7FELF";

const CLASS_32: u8 = 1;
const DATA_BIG_ENDIAN: u8 = 2;
const TYPE_EXECUTABLE: u16 = 2;
const MACHINE_PPC: u16 = 20;
const PT_LOAD: u32 = 1;
const SHT_SYMTAB: u32 = 2;
const STT_NOTYPE: u8 = 0;
const STT_FUNC: u8 = 2;
const SHN_UNDEF: u16 = 0;
/// From here on a section number is no section: absolute values, common blocks.
const SHN_LORESERVE: u16 = 0xFF00;

/// A named place in the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Name.
    pub name: String,
    /// Effective address.
    pub address: u32,
    /// Bytes; 0 when the file does not say.
    pub size: u32,
}

fn field(bytes: &[u8], offset: usize, what: &str) -> Result<u32, LoadError> {
    word_at(bytes, offset).ok_or_else(|| load_error!("ELF file of {} bytes ends inside its {what}", bytes.len()))
}

fn half(bytes: &[u8], offset: usize, what: &str) -> Result<u16, LoadError> {
    half_at(bytes, offset).ok_or_else(|| load_error!("ELF file of {} bytes ends inside its {what}", bytes.len()))
}

fn check_header(bytes: &[u8]) -> Result<(), LoadError> {
    if !bytes.starts_with(MAGIC) {
        return Err(load_error!("not an ELF file"));
    }
    let (class, data) = (bytes.get(4).copied(), bytes.get(5).copied());
    if class != Some(CLASS_32) || data != Some(DATA_BIG_ENDIAN) {
        return Err(load_error!(
            "ELF file is not 32-bit big-endian (class {class:?}, data {data:?})"
        ));
    }
    let machine = half(bytes, 18, "header")?;
    if machine != MACHINE_PPC {
        return Err(load_error!(
            "ELF file is for machine {machine}: {MACHINE_PPC} (PowerPC) is accepted"
        ));
    }
    Ok(())
}

/// The loadable segments by their physical addresses. The entry point, an effective address, is taken to the physical
/// one through the segment that holds it.
///
/// # Errors
/// The file is not a PowerPC executable, or its tables point outside of it.
pub fn image(bytes: &[u8]) -> Result<Image, LoadError> {
    check_header(bytes)?;
    let kind = half(bytes, 16, "header")?;
    if kind != TYPE_EXECUTABLE {
        return Err(load_error!(
            "ELF file has type {kind}: {TYPE_EXECUTABLE} (executable) is accepted"
        ));
    }
    let entry = field(bytes, 24, "header")?;
    let table = field(bytes, 28, "header")? as usize;
    let (entry_bytes, count) = (half(bytes, 42, "header")? as usize, half(bytes, 44, "header")? as usize);
    if entry_bytes < 32 {
        return Err(load_error!(
            "ELF program header entries have {entry_bytes} bytes: 32 are needed"
        ));
    }
    let mut segments = Vec::new();
    let mut in_physical = false;
    let mut physical_entry = None;
    for index in 0..count {
        let header = table.saturating_add(index * entry_bytes);
        let word = |offset: usize| field(bytes, header.saturating_add(offset), "program headers");
        if word(0)? != PT_LOAD {
            continue;
        }
        let (offset, virtual_address, address) = (word(4)? as usize, word(8)?, word(12)?);
        let (file_bytes, memory_bytes) = (word(16)? as usize, word(20)?);
        if memory_bytes == 0 {
            continue;
        }
        let content = offset
            .checked_add(file_bytes)
            .and_then(|end| bytes.get(offset..end))
            .ok_or_else(|| {
                load_error!("ELF segment {index}: {file_bytes} bytes at {offset:#x} lie outside the file")
            })?;
        if file_bytes > memory_bytes as usize {
            return Err(load_error!(
                "ELF segment {index}: {file_bytes} bytes in the file, {memory_bytes} in memory"
            ));
        }
        if address.checked_add(memory_bytes - 1).is_none() {
            return Err(load_error!(
                "ELF segment {index}: {memory_bytes} bytes do not fit above {address:#x}"
            ));
        }
        if entry.wrapping_sub(virtual_address) < memory_bytes {
            physical_entry = Some(entry.wrapping_sub(virtual_address).wrapping_add(address));
        }
        in_physical |= entry.wrapping_sub(address) < memory_bytes;
        segments.push(Segment {
            address,
            effective: virtual_address,
            bytes: content.to_vec(),
            memory_bytes,
        });
    }
    if segments.is_empty() {
        return Err(load_error!("ELF file has no loadable segment"));
    }
    // Bare-metal images often name the entry by its physical address, which is also what U-Boot's bootelf jumps to.
    let physical_entry = physical_entry.or(in_physical.then_some(entry));
    let entry = physical_entry.ok_or_else(|| load_error!("ELF entry point {entry:#x} lies in no segment"))?;
    Ok(Image {
        kind: "ELF file",
        segments,
        entry,
    })
}

/// The code symbols of an ELF file, sorted by address. Data objects, constants and undefined symbols
/// are left out.
///
/// # Errors
/// The file is not a PowerPC ELF file, or its tables point outside of it.
pub fn symbols(bytes: &[u8]) -> Result<Vec<Symbol>, LoadError> {
    check_header(bytes)?;
    let table = field(bytes, 32, "header")? as usize;
    let (entry_bytes, count) = (half(bytes, 46, "header")? as usize, half(bytes, 48, "header")? as usize);
    let section = |index: usize, offset: usize| {
        field(
            bytes,
            table.saturating_add(index * entry_bytes).saturating_add(offset),
            "section headers",
        )
    };
    let content = |index: usize| -> Result<&[u8], LoadError> {
        let (start, length) = (section(index, 16)? as usize, section(index, 20)? as usize);
        start
            .checked_add(length)
            .and_then(|end| bytes.get(start..end))
            .ok_or_else(|| load_error!("ELF section {index}: {length} bytes at {start:#x} lie outside the file"))
    };
    let mut symbols = Vec::new();
    for index in 0..count {
        if section(index, 4)? != SHT_SYMTAB {
            continue;
        }
        let strings = section(index, 24)? as usize;
        if strings >= count {
            return Err(load_error!(
                "ELF symbol table names section {strings} of {count} as its strings"
            ));
        }
        let names = content(strings)?;
        for entry in content(index)?.chunks_exact(16) {
            let word = |offset| word_at(entry, offset).unwrap_or(0);
            let section_index = half_at(entry, 14).unwrap_or(SHN_UNDEF);
            let is_placed = (SHN_UNDEF + 1..SHN_LORESERVE).contains(&section_index);
            if !matches!(entry[12] & 0xF, STT_NOTYPE | STT_FUNC) || !is_placed {
                continue;
            }
            let name = names.get(word(0) as usize..).unwrap_or(&[]);
            let name = name.split(|byte| *byte == 0).next().unwrap_or(&[]);
            if !name.is_empty() {
                let name = String::from_utf8_lossy(name).into_owned();
                symbols.push(Symbol {
                    name,
                    address: word(4),
                    size: word(8),
                });
            }
        }
    }
    symbols.sort_by(|a, b| (a.address, &a.name).cmp(&(b.address, &b.name)));
    Ok(symbols)
}
