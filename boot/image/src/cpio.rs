//! Archives in the "newc" format, which the kernel calls an initramfs.
//!
//! Source: Linux `Documentation/driver-api/early-userspace/buffer-format.rst`.

use std::fmt::Write as _;
use std::path::Path;

use crate::error::Error;

const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const DEVICE: u32 = 0o020_666;
const TRAILER: &str = "TRAILER!!!";

/// Alignment in bytes of names, contents and archives that follow each other.
const ALIGNMENT: usize = 4;

/// An archive under construction. Times and owners are zero, so that equal inputs give equal archives.
#[derive(Default)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    /// Adds a directory; its parents must have been added before.
    pub fn directory(&mut self, path: &str) {
        self.entry(path, DIRECTORY, 2, [0; 2], &[]);
    }

    /// Adds a character device with its major and minor number.
    pub fn device(&mut self, path: &str, number: [u32; 2]) {
        self.entry(path, DEVICE, 1, number, &[]);
    }

    /// Adds an executable file.
    pub fn program(&mut self, path: &str, content: &[u8]) {
        self.entry(path, PROGRAM, 1, [0; 2], content);
    }

    /// Ends the archive and gives its bytes, padded to four.
    pub fn finish(mut self) -> Vec<u8> {
        self.entries = 0;
        self.header(TRAILER, 0, 1, [0; 2], 0);
        pad(&mut self.bytes);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, links: u32, device: [u32; 2], content: &[u8]) {
        self.entries += 1;
        self.header(path, mode, links, device, content.len());
        self.bytes.extend_from_slice(content);
        pad(&mut self.bytes);
    }

    /// The header of 110 ASCII bytes and the NUL-terminated name; inode numbers count from 1, the trailer has 0.
    fn header(&mut self, name: &str, mode: u32, links: u32, device: [u32; 2], size: usize) {
        let fields = [
            self.entries,
            mode,
            0,
            0,
            links,
            0,
            size as u32,
            0,
            0,
            device[0],
            device[1],
            name.len() as u32 + 1,
            0,
        ];
        let mut header = String::from("070701");
        for field in fields {
            write!(header, "{field:08X}").expect("writing to a String");
        }
        self.bytes.extend_from_slice(header.as_bytes());
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        pad(&mut self.bytes);
    }
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
}

/// The archives in `paths`, one after the other; entries of a later one replace those of an earlier one when unpacked.
///
/// # Errors
/// A file that cannot be read, or does not start like a newc archive.
pub fn concatenate<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<u8>, Error> {
    let mut all = Vec::new();
    for path in paths {
        let path = path.as_ref();
        let archive = std::fs::read(path).map_err(Error::file("read initrd", path))?;
        if !archive.starts_with(b"070701") && !archive.starts_with(b"070702") {
            return Err(Error::failed(format!(
                "initrd {} is not a newc cpio archive: it does not start with 070701 or 070702",
                path.display()
            )));
        }
        all.extend_from_slice(&archive);
        pad(&mut all);
    }
    Ok(all)
}
