//! The legacy image container of U-Boot: a 64-byte header before the payload.
//!
//! Source: U-Boot `include/image.h` (`struct legacy_img_hdr` and the `IH_*` numbers).

const MAGIC: u32 = 0x2705_1956;
/// Linux: U-Boot hands over the device tree or the board information as it does to a kernel.
const OS_LINUX: u8 = 5;
const ARCHITECTURE_POWERPC: u8 = 7;
const TYPE_KERNEL: u8 = 2;
const COMPRESSION_NONE: u8 = 0;
const NAME_BYTES: usize = 32;

/// Size of the header in bytes.
pub const HEADER_BYTES: usize = 64;

/// `payload` with its header: an uncompressed PowerPC kernel, loaded at `load`, started at `entry` (both physical).
///
/// The header's size and data CRC cover the payload alone. `time` is in UNIX seconds. A `name` longer than 32 bytes is cut.
pub fn pack(payload: &[u8], name: &str, load: u32, entry: u32, time: u32) -> Vec<u8> {
    let mut image = Vec::with_capacity(HEADER_BYTES + payload.len());
    for word in [MAGIC, 0, time, payload.len() as u32, load, entry, crc32(payload)] {
        image.extend_from_slice(&word.to_be_bytes());
    }
    image.extend_from_slice(&[OS_LINUX, ARCHITECTURE_POWERPC, TYPE_KERNEL, COMPRESSION_NONE]);
    image.extend(name.bytes().take(NAME_BYTES));
    image.resize(HEADER_BYTES, 0);
    // The header's own CRC is taken while its field is still zero.
    let header_crc = crc32(&image);
    image[4..8].copy_from_slice(&header_crc.to_be_bytes());
    image.extend_from_slice(payload);
    image
}

/// The CRC of zlib: reflected polynomial 0xEDB88320, all ones before and after.
fn crc32(data: &[u8]) -> u32 {
    !data.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            if crc & 1 != 0 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc_of_the_check_string_is_the_published_one() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(crc32(b""), 0);
    }
}
