//! The command line in a reset image of zeronull, which starts from flash without a boot loader: the header at its first
//! byte says where it lies (`boot/image/src/flash.rs` has the format).

const MAGIC: u32 = 0x7A4E_756C;
/// Offsets in the header: where the command line lies in the flash, and its length.
const COMMAND_LINE: usize = 0x20;
const COMMAND_LINE_BYTES: usize = 0x28;

/// Replaces the command line of the image in `flash`, the content of a flash.
///
/// # Errors
/// There is no such image, or its command line has no room for `line`.
pub fn set_command_line(flash: &mut [u8], line: &str) -> Result<(), String> {
    let word = |offset: usize| {
        let bytes = flash.get(offset..offset + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    };
    if word(0) != Some(MAGIC) {
        return Err(
            "COMMANDS and --append need an IMAGE, or a flash that starts with a reset image of zeronull: what else is in \
             flash decides by itself what it runs"
                .into(),
        );
    }
    let place = word(COMMAND_LINE).zip(word(COMMAND_LINE_BYTES));
    let place = place.and_then(|(offset, bytes)| flash.get_mut(offset as usize..)?.get_mut(..bytes as usize));
    let Some(place) = place else {
        return Err("the reset image is cut off before its command line".into());
    };
    if line.len() >= place.len() {
        return Err(format!(
            "command line of {} bytes: the reset image has room for {}",
            line.len(),
            place.len().saturating_sub(1)
        ));
    }
    place.fill(0);
    place[..line.len()].copy_from_slice(line.as_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header with the command line at 0x40, 8 bytes long.
    fn image() -> Vec<u8> {
        let mut image = vec![0xFF; 0x50];
        for (offset, word) in [(0, MAGIC), (COMMAND_LINE, 0x40), (COMMAND_LINE_BYTES, 8)] {
            image[offset..offset + 4].copy_from_slice(&word.to_be_bytes());
        }
        image
    }

    #[test]
    fn line_replaces_what_was_there_and_nothing_else() {
        let mut flash = image();
        assert_eq!(set_command_line(&mut flash, "quiet x"), Ok(()));
        assert_eq!(set_command_line(&mut flash, "json"), Ok(()));
        assert_eq!(&flash[0x40..], b"json\0\0\0\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF");
        assert_eq!(flash[..0x40], image()[..0x40]);
    }

    #[test]
    fn other_content_and_too_little_room_are_refused() {
        let refused = |mut flash: Vec<u8>, line: &str| set_command_line(&mut flash, line).expect_err("refused");
        assert!(refused(Vec::new(), "x").contains("need an IMAGE"));
        assert!(refused(vec![0xFF; 0x50], "x").contains("need an IMAGE"));
        assert!(refused(image()[..0x47].to_vec(), "x").contains("cut off"));
        assert_eq!(
            refused(image(), "quiet xy"),
            "command line of 8 bytes: the reset image has room for 7"
        );
    }
}
