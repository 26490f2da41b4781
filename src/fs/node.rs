//! What paths lead to: devices, files of the initial archive, files in `/tmp`, directories.
#![forbid(unsafe_code)]

use super::devices::{self, Operations};
use super::{FileOperations, console, pipe, tmp};
use crate::errno::Errno;
use crate::initrd;
use crate::policy::Policy;
use alloc::vec::Vec;

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
    /// A directory, by its path without a leading slash.
    Directory(&'static [u8]),
    /// A file of `/tmp`.
    Tmp(tmp::Index),
    /// An end of a pipe; which one the mode of the open file says.
    Pipe(pipe::Index),
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
            Node::Directory(_) => &devices::DIRECTORY,
            Node::Tmp(_) => &tmp::OPERATIONS,
            // Ends of pipes are opened with operations of their own and by no path.
            Node::Pipe(_) => &FileOperations::NOTHING,
        }
    }

    /// Bytes, of a file that has an end.
    pub fn size(self) -> u64 {
        match self {
            Node::Bytes(bytes) => bytes.len() as u64,
            Node::Tmp(index) => tmp::size(index),
            #[cfg(target_os = "none")]
            Node::Pmem => crate::mm::pmem::size().into(),
            _ => 0,
        }
    }

    /// # Errors
    /// `EISDIR` or `EROFS` for what cannot be written.
    pub fn check_writable(self) -> Result<(), Errno> {
        match self {
            Node::Directory(_) => Err(Errno::EISDIR),
            Node::Bytes(_) => Err(Errno::EROFS),
            _ => Ok(()),
        }
    }
}

/// The directory of files that can be written.
const TMP: &[u8] = b"tmp";

/// What `name`, a path of plain components without slashes at its ends, leads to.
fn find(name: &[u8]) -> Option<Node> {
    match name {
        b"" => return Some(Node::Directory(b"")),
        b"dev" => return Some(Node::Directory(b"dev")),
        TMP => return Some(Node::Directory(TMP)),
        b"dev/null" => return Some(Node::Null),
        b"dev/zero" => return Some(Node::Zero),
        b"dev/full" => return Some(Node::Full),
        #[cfg(target_os = "none")]
        b"dev/pmem0" if crate::mm::pmem::size() > 0 => return Some(Node::Pmem),
        b"dev/console" | b"dev/tty" | b"dev/stdin" | b"dev/stdout" | b"dev/stderr" => return Some(Node::Console),
        _ => {}
    }
    if let Some(name) = name.strip_prefix(b"tmp/")
        && let Some(index) = tmp::find(name)
    {
        return Some(Node::Tmp(index));
    }
    initrd::find(name).map(|entry| match entry {
        initrd::Entry::File(bytes) => Node::Bytes(bytes),
        initrd::Entry::Directory(name) => Node::Directory(name),
    })
}

/// Where a path leads; its last component need not exist.
pub struct Target {
    /// What is there.
    pub node: Option<Node>,
    /// Its path, in plain components without a leading slash.
    name: Vec<u8>,
    /// Whether the path ends in a name with a slash behind it, so that only a directory will do.
    pub wants_directory: bool,
}

impl Target {
    /// What is there.
    ///
    /// # Errors
    /// `ENOENT`; `ENOTDIR` for a file where the path says that it is a directory.
    pub fn existing(&self) -> Result<Node, Errno> {
        match self.node {
            None => Err(Errno::ENOENT),
            Some(Node::Directory(_)) => self.node.ok_or(Errno::ENOENT),
            Some(_) if self.wants_directory => Err(Errno::ENOTDIR),
            Some(node) => Ok(node),
        }
    }

    /// Makes an empty file there.
    ///
    /// # Errors
    /// `EROFS` outside `/tmp`, and those of [`tmp::create`].
    pub fn create(&self) -> Result<Node, Errno> {
        let name = self.name.strip_prefix(b"tmp/").ok_or(Errno::EROFS)?;
        tmp::create(name).map(Node::Tmp)
    }
}

/// Longest path with its NUL (`PATH_MAX`, include/uapi/linux/limits.h).
pub const PATH_MAX: usize = 4096;

/// Follows `path` from the directory with the path `start`, or from the root if it begins with a slash. Every component
/// but the last must be a directory; `..` of the root is the root.
///
/// # Errors
/// `ENOENT` for an empty path and for a missing directory, `ENOTDIR` for a file in its place, `ENAMETOOLONG` for a
/// component of more than 255 bytes.
pub fn walk(start: &[u8], path: &[u8]) -> Result<Target, Errno> {
    if path.is_empty() {
        return Err(Errno::ENOENT);
    }
    let mut target = Target {
        node: None,
        name: if path[0] == b'/' { Vec::new() } else { start.into() },
        wants_directory: false,
    };
    target.node = find(&target.name);
    let mut is_name = false;
    for component in path.split(|byte| *byte == b'/') {
        if component.is_empty() {
            target.wants_directory = is_name;
            continue;
        }
        is_name = !matches!(component, b"." | b"..");
        target.wants_directory = false;
        match target.node {
            Some(Node::Directory(_)) => {}
            Some(_) => return Err(Errno::ENOTDIR),
            None => return Err(Errno::ENOENT),
        }
        match component {
            b"." => continue,
            b".." => {
                let slash = target.name.iter().rposition(|byte| *byte == b'/');
                target.name.truncate(slash.unwrap_or(0));
            }
            _ => {
                if component.len() > tmp::NAME_MAX {
                    return Err(Errno::ENAMETOOLONG);
                }
                if !target.name.is_empty() {
                    target.name.push(b'/');
                }
                target.name.extend_from_slice(component);
            }
        }
        target.node = find(&target.name);
    }
    Ok(target)
}

/// Finds what `path` names; relative paths start at the root.
///
/// # Errors
/// Those of [`walk`], and `ENOENT`.
pub fn lookup(path: &[u8]) -> Result<Node, Errno> {
    walk(b"", path)?.existing()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_components_are_joined_and_dots_resolved() {
        let normal =
            |path: &str| walk(b"", path.as_bytes()).map(|target| std::string::String::from_utf8(target.name).unwrap());
        assert_eq!(normal("/dev//zero").as_deref(), Ok("dev/zero"));
        assert_eq!(normal("./tmp/../dev/./null").as_deref(), Ok("dev/null"));
        assert_eq!(normal("../..").as_deref(), Ok(""));
        assert_eq!(normal("/").as_deref(), Ok(""));
        assert_eq!(normal(""), Err(Errno::ENOENT));
        assert_eq!(normal("/missing/../dev/zero"), Err(Errno::ENOENT));
        assert_eq!(normal("/dev/zero/../zero"), Err(Errno::ENOTDIR));
        assert_eq!(normal(&"x".repeat(256)), Err(Errno::ENAMETOOLONG));
    }

    #[test]
    fn devices_are_found_and_a_file_is_no_directory() {
        assert_eq!(lookup(b"/dev/zero"), Ok(Node::Zero));
        for path in [&b"/dev/zero/x"[..], b"/dev/zero/", b"/dev/zero/."] {
            assert_eq!(lookup(path), Err(Errno::ENOTDIR));
        }
        assert_eq!(lookup(b"/nonexistent"), Err(Errno::ENOENT));
        assert_eq!(lookup(b"/dev"), Ok(Node::Directory(b"dev")));
        assert_eq!(lookup(b"/dev/"), Ok(Node::Directory(b"dev")));
        let zero = walk(b"dev", b"zero").map(|target| target.node);
        assert_eq!(zero, Ok(Some(Node::Zero)));
    }

    #[test]
    fn new_files_go_to_tmp_alone() {
        let create = |path: &[u8]| walk(b"", path)?.create();
        assert_eq!(create(b"/dev/new"), Err(Errno::EROFS));
        assert_eq!(create(b"new"), Err(Errno::EROFS));
        assert_eq!(create(b"/missing/new"), Err(Errno::ENOENT));
        assert_eq!(create(b"/dev/zero/new"), Err(Errno::ENOTDIR));
        assert_eq!(create(b""), Err(Errno::ENOENT));
        assert_eq!(create(&[b"/tmp/", &[b'n'; 256][..]].concat()), Err(Errno::ENAMETOOLONG));
    }
}
