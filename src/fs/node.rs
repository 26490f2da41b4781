//! What paths lead to: devices, files of the initial archive, directories.
#![forbid(unsafe_code)]

use super::devices::{self, Operations};
use super::{FileOperations, console};
use crate::errno::Errno;
use crate::initrd;
use crate::policy::Policy;

/// A file as a path names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// `/dev/null`
    Null,
    /// `/dev/zero`
    Zero,
    /// `/dev/full`
    Full,
    /// `/dev/console`
    Console,
    /// `/dev/pmem0`
    #[cfg(target_os = "none")]
    Pmem,
    /// A file of the archive.
    Bytes(&'static [u8]),
    /// A directory.
    Directory,
}

impl Node {
    /// The operations that policy `P` gives it.
    pub fn operations<P: Policy>(self) -> &'static FileOperations {
        match self {
            Node::Null => &const { Operations::<P>::NULL },
            Node::Zero => &const { Operations::<P>::ZERO },
            Node::Full => &devices::FULL,
            Node::Console => &console::CONSOLE,
            #[cfg(target_os = "none")]
            Node::Pmem => &const { super::pmem::Operations::<P>::PMEM },
            Node::Bytes(_) => &devices::BYTES,
            Node::Directory => &devices::DIRECTORY,
        }
    }

    /// Bytes, of a file that has an end.
    pub fn size(self) -> u32 {
        match self {
            Node::Bytes(bytes) => bytes.len() as u32,
            #[cfg(target_os = "none")]
            Node::Pmem => crate::mm::pmem::size(),
            _ => 0,
        }
    }

    /// # Errors
    /// `EISDIR` or `EROFS` for what cannot be written.
    pub fn check_writable(self) -> Result<(), Errno> {
        match self {
            Node::Directory => Err(Errno::EISDIR),
            Node::Bytes(_) => Err(Errno::EROFS),
            _ => Ok(()),
        }
    }
}

/// Finds what `path` names; relative paths start at the root.
///
/// # Errors
/// `ENOENT`; `ENOTDIR` if a component before the last is a file.
pub fn lookup(path: &[u8]) -> Result<Node, Errno> {
    let mut name = [0u8; PATH_MAX];
    let length = normalize(path, &mut name)?;
    let name = &name[..length];
    match name {
        b"" | b"dev" => return Ok(Node::Directory),
        b"dev/null" => return Ok(Node::Null),
        b"dev/zero" => return Ok(Node::Zero),
        b"dev/full" => return Ok(Node::Full),
        #[cfg(target_os = "none")]
        b"dev/pmem0" if crate::mm::pmem::size() > 0 => return Ok(Node::Pmem),
        b"dev/console" | b"dev/tty" | b"dev/stdin" | b"dev/stdout" | b"dev/stderr" => return Ok(Node::Console),
        _ => {}
    }
    if let Some(entry) = initrd::find(name) {
        return Ok(match entry {
            initrd::Entry::File(bytes) => Node::Bytes(bytes),
            initrd::Entry::Directory => Node::Directory,
        });
    }
    let parent = name
        .iter()
        .rposition(|b| *b == b'/')
        .map_or(&b""[..], |slash| &name[..slash]);
    match initrd::find(parent) {
        Some(initrd::Entry::File(_)) => Err(Errno::ENOTDIR),
        _ if matches!(
            parent,
            b"dev/null" | b"dev/zero" | b"dev/full" | b"dev/console" | b"dev/pmem0"
        ) =>
        {
            Err(Errno::ENOTDIR)
        }
        _ => Err(Errno::ENOENT),
    }
}

/// Why a file that does not exist cannot be made: new files have nowhere to go, but that is said only when their directory
/// exists.
pub fn creation_error(path: &[u8]) -> Errno {
    let Some(slash) = path.iter().rposition(|b| *b == b'/').filter(|slash| *slash > 0) else {
        return if path.is_empty() { Errno::ENOENT } else { Errno::EROFS };
    };
    match lookup(&path[..slash]) {
        Ok(Node::Directory) => Errno::EROFS,
        Ok(_) => Errno::ENOTDIR,
        Err(error) => error,
    }
}

/// Longest path with its NUL (`PATH_MAX`, include/uapi/linux/limits.h).
pub const PATH_MAX: usize = 4096;

/// Writes the components of `path`, joined by single slashes, without `.`; `..` goes up. Returns the length.
///
/// # Errors
/// `ENOENT` for an empty path, `ENAMETOOLONG` for a component of more than 255 bytes.
fn normalize(path: &[u8], name: &mut [u8; PATH_MAX]) -> Result<usize, Errno> {
    if path.is_empty() {
        return Err(Errno::ENOENT);
    }
    let mut length = 0;
    for component in path.split(|b| *b == b'/') {
        match component {
            b"" | b"." => {}
            b".." => length = name[..length].iter().rposition(|b| *b == b'/').unwrap_or(0),
            _ => {
                if component.len() > 255 {
                    return Err(Errno::ENAMETOOLONG);
                }
                if length > 0 {
                    name[length] = b'/';
                    length += 1;
                }
                name[length..length + component.len()].copy_from_slice(component);
                length += component.len();
            }
        }
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_components_are_joined_and_dots_resolved() {
        let normal = |path: &str| {
            let mut name = [0; PATH_MAX];
            normalize(path.as_bytes(), &mut name).map(|n| std::string::String::from_utf8(name[..n].to_vec()).unwrap())
        };
        assert_eq!(normal("/dev//zero").as_deref(), Ok("dev/zero"));
        assert_eq!(normal("./bin/../dev/./null").as_deref(), Ok("dev/null"));
        assert_eq!(normal("../..").as_deref(), Ok(""));
        assert_eq!(normal("/").as_deref(), Ok(""));
        assert_eq!(normal(""), Err(Errno::ENOENT));
        assert_eq!(normal(&"x".repeat(256)), Err(Errno::ENAMETOOLONG));
    }

    #[test]
    fn devices_are_found_and_a_file_is_no_directory() {
        assert_eq!(lookup(b"/dev/zero"), Ok(Node::Zero));
        assert_eq!(lookup(b"/dev/zero/x"), Err(Errno::ENOTDIR));
        assert_eq!(lookup(b"/nonexistent"), Err(Errno::ENOENT));
        assert_eq!(lookup(b"/dev"), Ok(Node::Directory));
    }

    #[test]
    fn new_file_is_refused_for_want_of_its_directory_first() {
        assert_eq!(creation_error(b"/dev/new"), Errno::EROFS);
        assert_eq!(creation_error(b"new"), Errno::EROFS);
        assert_eq!(creation_error(b"/new"), Errno::EROFS);
        assert_eq!(creation_error(b"/missing/new"), Errno::ENOENT);
        assert_eq!(creation_error(b"/dev/zero/new"), Errno::ENOTDIR);
        assert_eq!(creation_error(b""), Errno::ENOENT);
    }
}
