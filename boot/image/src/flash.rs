//! The reset image: everything that an MCR3000 needs in its flash to start without a boot loader.
//!
//! | offset | content | sector of an AM29LV160DB, bottom boot |
//! | --- | --- | --- |
//! | 0x0000 | the header | 16 KiB |
//! | 0x0100 | `boot/head_mcr3000_reset.s`, where the core starts | the same |
//! | 0x4000 | the kernel command line: text up to the first NUL or erased byte | 8 KiB |
//! | 0x8000 | the firmware, as in `zeronull.bin` | 32 KiB, 64 KiB |
//! | next multiple of 0x10000 | the archive of programs | 64 KiB |
//!
//! The command line has a sector of its own, so it can be written anew without the rest.
//!
//! The header consists of 32-bit big-endian words: 0x7A4E756C ("zNul"); the sum of all words of firmware and archive, modulo
//! 2^32; then four pieces (firmware, archive, command line, the header itself), each as offset in flash, physical address in
//! RAM, length in bytes. The reset code copies the pieces and hands over the header's copy; the firmware is entered at its
//! first byte.

use crate::error::Error;

/// The section of the firmware that holds the reset code.
pub const SECTION: &str = ".reset";

const MAGIC: u32 = 0x7A4E_756C;
const CODE: usize = 0x100;
const COMMAND_LINE: usize = 0x4000;
const FIRMWARE: usize = 0x8000;
const ARCHIVE_ALIGNMENT: usize = 0x1_0000;
/// Bytes of the command line that are copied: the longest with its NUL.
const COMMAND_LINE_BYTES: usize = 0x800;
/// What the board's flash holds.
const FLASH_BYTES: usize = 2 << 20;

/// Where the archive goes: the smallest board has 8 MiB, and everything below belongs to the firmware. Header and command
/// line lie below it.
const ARCHIVE_ADDRESS: u32 = 0x40_0000;
const COMMAND_LINE_ADDRESS: u32 = 0x3F_F000;
const HEADER_ADDRESS: u32 = 0x3F_E000;
/// Most bytes of the archive: the firmware must be able to move it to the end of the smallest RAM.
const ARCHIVE_LIMIT: usize = 2 << 20;

/// The content of the flash from its first byte: `reset` is the code for the reset vector, `firmware` the raw image,
/// `archive` the programs, `line` a kernel command line that [`crate::start::check_command_line`] has seen.
///
/// # Errors
/// Something does not fit its place; the message gives both sizes.
pub fn pack(reset: &[u8], firmware: &[u8], archive: &[u8], line: &str) -> Result<Vec<u8>, Error> {
    let mut image = Vec::new();
    let mut put = |what: &str, offset: usize, bytes: &[u8], limit: usize| {
        if bytes.len() > limit {
            return Err(Error::failed(format!(
                "reset image: {what} of {} bytes: {limit} have room",
                bytes.len()
            )));
        }
        // Gaps are as erased flash is.
        image.resize(offset, 0xFF);
        image.extend_from_slice(bytes);
        image.resize(image.len().next_multiple_of(4), 0);
        Ok((offset, image.len() - offset))
    };
    let archive_at = (FIRMWARE + firmware.len()).next_multiple_of(ARCHIVE_ALIGNMENT);
    let archive_limit = FLASH_BYTES.saturating_sub(archive_at).min(ARCHIVE_LIMIT);
    put("code", CODE, reset, COMMAND_LINE - CODE)?;
    put(
        "command line",
        COMMAND_LINE,
        &[line.as_bytes(), &[0]].concat(),
        COMMAND_LINE_BYTES,
    )?;
    let firmware = put("firmware", FIRMWARE, firmware, FLASH_BYTES - FIRMWARE)?;
    let archive = put("archive", archive_at, archive, archive_limit)?;

    let words = |(offset, bytes): (usize, usize)| image[offset..offset + bytes].chunks_exact(4);
    let sum = words(firmware).chain(words(archive)).fold(0_u32, |sum, word| {
        sum.wrapping_add(u32::from_be_bytes(word.try_into().expect("four bytes")))
    });
    let mut header = vec![MAGIC, sum];
    for ((offset, bytes), address) in [
        (firmware, 0),
        (archive, ARCHIVE_ADDRESS),
        ((COMMAND_LINE, COMMAND_LINE_BYTES), COMMAND_LINE_ADDRESS),
        ((0, CODE), HEADER_ADDRESS),
    ] {
        header.extend([offset as u32, address, bytes as u32]);
    }
    for (index, word) in header.into_iter().enumerate() {
        image[4 * index..][..4].copy_from_slice(&word.to_be_bytes());
    }
    Ok(image)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(image: &[u8], offset: usize) -> u32 {
        u32::from_be_bytes(image[offset..][..4].try_into().expect("four bytes"))
    }

    #[test]
    fn header_names_every_piece_and_the_sum() {
        let image = pack(&[1, 2], &[0xFF, 0xFF, 0xFF, 0xFF, 7], b"abcd", "quiet").expect("it fits");
        assert_eq!((word(&image, 0), image[0x100], image[0x101]), (MAGIC, 1, 2));
        assert_eq!(&image[0x4000..0x4006], b"quiet\0");
        assert_eq!((word(&image, 8), word(&image, 12), word(&image, 16)), (0x8000, 0, 8));
        assert_eq!((word(&image, 20), word(&image, 28)), (0x1_0000, 4));
        assert_eq!(&image[0x1_0000..], b"abcd");
        // 0xFFFFFFFF wraps to -1.
        let sum = 0x0700_0000_u32
            .wrapping_sub(1)
            .wrapping_add(u32::from_be_bytes(*b"abcd"));
        assert_eq!(word(&image, 4), sum);
        assert!(image[0x4008..0x8000].iter().all(|byte| *byte == 0xFF));
    }

    #[test]
    fn archive_starts_in_a_sector_of_its_own() {
        for (bytes, offset) in [(0x8000, 0x1_0000), (0x8001, 0x2_0000)] {
            let image = pack(&[], &vec![0; bytes], b"abcd", "").expect("it fits");
            assert_eq!(word(&image, 20), offset);
        }
    }

    #[test]
    fn what_does_not_fit_is_named_with_both_sizes() {
        let refused = |code: usize, firmware: usize, archive: usize| {
            let bytes = vec![0; code.max(firmware).max(archive)];
            let result = pack(&bytes[..code], &bytes[..firmware], &bytes[..archive], "");
            result.expect_err("too large").message
        };
        assert_eq!(
            refused(0x3F01, 0, 0),
            "reset image: code of 16129 bytes: 16128 have room"
        );
        assert_eq!(
            refused(0, 0, (2 << 20) - 0xFFFF),
            "reset image: archive of 2031617 bytes: 2031616 have room"
        );
        assert!(refused(0, 2 << 20, 0).starts_with("reset image: firmware of 2097152 bytes"));
    }
}
