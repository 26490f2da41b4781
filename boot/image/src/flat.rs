//! The images that have no structure of their own: raw bytes by physical address, and Motorola S-records.

use std::fmt::Write as _;

use crate::elf::{Elf, Segment};
use crate::error::Error;

/// Highest physical address, exclusive, that an image may reach; the smallest board of the class has 8 MiB of RAM.
pub const PHYSICAL_LIMIT: u32 = 8 << 20;

/// Data bytes per S-record: 32 keeps the lines within 80 columns.
const RECORD_BYTES: usize = 32;

/// The segments that have bytes in the file, by rising physical address; at least one.
///
/// # Errors
/// None at all, one beyond [`PHYSICAL_LIMIT`], or two that overlap.
fn loaded<'e>(elf: &'e Elf<'_>) -> Result<Vec<&'e Segment>, Error> {
    let mut segments: Vec<&Segment> = elf.segments.iter().filter(|segment| segment.file_bytes != 0).collect();
    segments.sort_by_key(|segment| segment.physical_address);
    if segments.is_empty() {
        return Err(Error::failed("the ELF file has nothing to load"));
    }
    let mut end = 0;
    for segment in &segments {
        let start = segment.physical_address;
        if start < end {
            return Err(Error::failed(format!(
                "segments overlap at physical address {start:#010x}"
            )));
        }
        end = start
            .checked_add(segment.file_bytes)
            .filter(|&end| end <= PHYSICAL_LIMIT)
            .ok_or_else(|| {
                Error::failed(format!(
                    "segment at physical address {start:#010x}, {} bytes, reaches beyond {PHYSICAL_LIMIT:#x}",
                    segment.file_bytes
                ))
            })?;
    }
    Ok(segments)
}

/// The memory from the first loaded byte to the last, gaps zero, and the physical address of the first.
///
/// # Errors
/// See [`PHYSICAL_LIMIT`]; also overlapping segments and a file with nothing to load.
pub fn raw(elf: &Elf<'_>) -> Result<(u32, Vec<u8>), Error> {
    let segments = loaded(elf)?;
    let load = segments[0].physical_address;
    let mut image = Vec::new();
    for segment in segments {
        image.resize((segment.physical_address - load) as usize, 0);
        image.extend_from_slice(elf.segment_bytes(segment)?);
    }
    Ok((load, image))
}

/// S-records with 32-bit physical addresses: one S0 with `name`, S3 data, S7 with the physical entry point.
///
/// # Errors
/// As [`raw`], and an entry point in no segment.
pub fn s_records(elf: &Elf<'_>, name: &str) -> Result<String, Error> {
    let mut text = String::new();
    record(&mut text, '0', &[0, 0], name.as_bytes());
    for segment in loaded(elf)? {
        let mut address = segment.physical_address;
        for data in elf.segment_bytes(segment)?.chunks(RECORD_BYTES) {
            record(&mut text, '3', &address.to_be_bytes(), data);
            address += data.len() as u32;
        }
    }
    record(&mut text, '7', &elf.physical_entry()?.to_be_bytes(), &[]);
    Ok(text)
}

/// One record: count and checksum cover address and data; the checksum is the complement of the sum's low byte.
fn record(text: &mut String, kind: char, address: &[u8], data: &[u8]) {
    let count = (address.len() + data.len() + 1) as u8;
    let mut sum = count;
    write!(text, "S{kind}{count:02X}").expect("writing to a String");
    for &byte in address.iter().chain(data) {
        sum = sum.wrapping_add(byte);
        write!(text, "{byte:02X}").expect("writing to a String");
    }
    writeln!(text, "{:02X}", !sum).expect("writing to a String");
}
