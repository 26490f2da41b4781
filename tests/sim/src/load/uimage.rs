//! Legacy uImages, as `mkimage` writes and U-Boot's `bootm` reads them. Source: U-Boot `include/image.h`.

use super::{Image, LoadError, Segment, load_error, word_at};

/// The first word.
pub const MAGIC: u32 = 0x2705_1956;
/// Bytes of the header.
pub const HEADER_BYTES: usize = 64;

const HEADER_CRC: usize = 4;
const ARCHITECTURE_PPC: u8 = 7;
const TYPE_STANDALONE: u8 = 1;
const TYPE_KERNEL: u8 = 2;
const TYPE_FIRMWARE: u8 = 5;

const COMPRESSIONS: [&str; 7] = ["none", "gzip", "bzip2", "lzma", "lzo", "lz4", "zstd"];

/// The checked header of a uImage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes of payload.
    pub size: u32,
    /// Where the payload belongs.
    pub load: u32,
    /// Where it is entered.
    pub entry: u32,
    /// Operating system code: 5 Linux, 17 U-Boot firmware, …
    pub operating_system: u8,
    /// Image type: 2 kernel, 3 ramdisk, 8 flat device tree, …
    pub kind: u8,
    /// Name given by whoever made it.
    pub name: String,
}

/// The CRC-32 of zlib, which both checksums of the header use.
pub fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
        }
    }
    !crc
}

/// Checks header and payload.
///
/// # Errors
/// Wrong magic, checksum, size, architecture or compression; the message gives both numbers.
pub fn check(bytes: &[u8]) -> Result<(Header, &[u8]), LoadError> {
    if bytes.len() < HEADER_BYTES {
        return Err(load_error!(
            "uImage of {} bytes is shorter than its header of {HEADER_BYTES}",
            bytes.len()
        ));
    }
    let word = |offset| word_at(bytes, offset).unwrap_or(0);
    if word(0) != MAGIC {
        return Err(load_error!("uImage magic {:#010x}: {MAGIC:#010x} is expected", word(0)));
    }
    let mut header = bytes[..HEADER_BYTES].to_vec();
    header[HEADER_CRC..HEADER_CRC + 4].fill(0);
    let computed = crc32(&header);
    if computed != word(HEADER_CRC) {
        return Err(load_error!(
            "uImage header checksum {:#010x}: computed {computed:#010x}",
            word(HEADER_CRC)
        ));
    }
    let size = word(12);
    let payload = bytes[HEADER_BYTES..].get(..size as usize).ok_or_else(|| {
        load_error!(
            "uImage says {size} bytes of payload, {} are there",
            bytes.len() - HEADER_BYTES
        )
    })?;
    let computed = crc32(payload);
    if computed != word(24) {
        return Err(load_error!(
            "uImage payload checksum {:#010x}: computed {computed:#010x}",
            word(24)
        ));
    }
    let [operating_system, architecture, kind, compression] = word(28).to_be_bytes();
    if architecture != ARCHITECTURE_PPC {
        return Err(load_error!(
            "uImage is for architecture {architecture}: {ARCHITECTURE_PPC} (PowerPC) is accepted"
        ));
    }
    if compression != 0 {
        let name = COMPRESSIONS.get(usize::from(compression)).copied().unwrap_or("unknown");
        return Err(load_error!(
            "uImage payload is compressed ({name}, code {compression}): only none is accepted here"
        ));
    }
    let name = bytes[32..HEADER_BYTES].split(|byte| *byte == 0).next().unwrap_or(&[]);
    let name = String::from_utf8_lossy(name).into_owned();
    Ok((
        Header {
            size,
            load: word(16),
            entry: word(20),
            operating_system,
            kind,
            name,
        },
        payload,
    ))
}

/// The image inside a uImage of a kernel, a standalone program or firmware.
///
/// # Errors
/// As [`check`], and for other types, and for an empty payload or an entry outside of it.
pub fn image(bytes: &[u8]) -> Result<Image, LoadError> {
    let (header, payload) = check(bytes)?;
    if !matches!(header.kind, TYPE_STANDALONE | TYPE_KERNEL | TYPE_FIRMWARE) {
        return Err(load_error!(
            "uImage has type {}: 1 (standalone), 2 (kernel) and 5 (firmware) are accepted",
            header.kind
        ));
    }
    if header.size == 0 || header.load.checked_add(header.size - 1).is_none() {
        return Err(load_error!(
            "uImage payload of {} bytes does not fit above {:#x}",
            header.size,
            header.load
        ));
    }
    if header.entry.wrapping_sub(header.load) >= header.size {
        return Err(load_error!(
            "uImage entry point {:#x} lies outside the payload at {:#x}",
            header.entry,
            header.load
        ));
    }
    let segment = Segment {
        address: header.load,
        effective: header.load,
        bytes: payload.to_vec(),
        memory_bytes: header.size,
    };
    Ok(Image {
        kind: "uImage",
        segments: vec![segment],
        entry: header.entry,
    })
}
