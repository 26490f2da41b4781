//! Files: open files, the descriptor table, `vfs_read` and `vfs_write`, and the nodes behind paths.
//!
//! A device is a [`FileOperations`], as in the kernel; which functions it has decides which way a call takes. Operations
//! that touch user memory exist once per policy, so an open file carries the operations of the policy that opened it.
#![forbid(unsafe_code)]

pub mod console;
pub mod devices;
pub mod node;
#[cfg(target_os = "none")]
pub mod pmem;

use crate::arch::single::Single;
use crate::errno::Errno;
use crate::policy::Policy;
use crate::uaccess::{UserRange, access_ok};
use core::cell::Cell;
use node::Node;

/// Most bytes that one call moves: `INT_MAX` rounded down to a page (`MAX_RW_COUNT`, include/linux/fs.h).
pub const MAX_RW_COUNT: u32 = 0x7fff_f000;

/// Descriptors of a program.
pub const DESCRIPTORS: usize = 256;

/// Open files in the system.
const OPEN_FILES: usize = 256;

/// `read` and `write` of a device: a checked range of user memory and the file position, which the operation moves.
/// Returns the bytes moved.
pub type ReadWrite = fn(&OpenFile, UserRange, &Cell<u64>) -> Result<u32, Errno>;

/// What a device can do; a missing function is an error of the call that needs it.
pub struct FileOperations {
    /// Reads into user memory.
    pub read: Option<ReadWrite>,
    /// Writes from user memory.
    pub write: Option<ReadWrite>,
    /// How `lseek` behaves.
    pub seek: Seek,
}

/// How a file answers `lseek`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seek {
    /// Position 0 whatever is asked (`null_lseek`).
    Null,
    /// Within and beyond the contents of a file.
    Regular,
    /// `ESPIPE`.
    No,
}

/// An open file: shared by the descriptors that `dup2` made of one `open`.
pub struct OpenFile {
    operations: Cell<&'static FileOperations>,
    node: Cell<Node>,
    flags: Cell<u32>,
    position: Cell<u64>,
    descriptors: Cell<u32>,
}

/// Open for reading.
const MODE_READ: u32 = 1;
/// Open for writing.
const MODE_WRITE: u32 = 2;

static FILES: Single<[OpenFile; OPEN_FILES]> = Single::new(
    [const {
        OpenFile {
            operations: Cell::new(&devices::NOTHING),
            node: Cell::new(Node::Null),
            flags: Cell::new(0),
            position: Cell::new(0),
            descriptors: Cell::new(0),
        }
    }; OPEN_FILES],
);

impl OpenFile {
    /// What the file is.
    pub fn node(&self) -> Node {
        self.node.get()
    }

    /// The file position.
    pub fn position(&self) -> &Cell<u64> {
        &self.position
    }

    /// Whether it is open for reading.
    #[inline(always)]
    pub fn may_read(&self) -> bool {
        self.flags.get() & MODE_READ != 0
    }

    /// Whether it is open for writing.
    #[inline(always)]
    pub fn may_write(&self) -> bool {
        self.flags.get() & MODE_WRITE != 0
    }

    /// How it answers `lseek`.
    pub fn seek_rule(&self) -> Seek {
        self.operations.get().seek
    }
}

/// `O_ACCMODE` and its values, `O_CREAT` (include/uapi/asm-generic/fcntl.h; powerpc's own values differ elsewhere).
pub mod open_flags {
    /// Mask of the access mode.
    pub const ACCESS_MODE: u32 = 3;
    /// Reading only.
    pub const READ_ONLY: u32 = 0;
    /// Writing only.
    pub const WRITE_ONLY: u32 = 1;
    /// Both.
    pub const READ_WRITE: u32 = 2;
    /// Create the file if it does not exist.
    pub const CREATE: u32 = 0o100;
    /// Fail unless it is a directory (powerpc's value).
    pub const DIRECTORY: u32 = 0o40000;
}

/// The descriptors of one program.
pub struct FileTable([Cell<Option<&'static OpenFile>>; DESCRIPTORS]);

impl FileTable {
    /// No descriptors.
    pub const fn new() -> Self {
        Self([const { Cell::new(None) }; DESCRIPTORS])
    }

    /// The open file of a descriptor (`fdget`).
    ///
    /// # Errors
    /// `EBADF`.
    #[inline(always)]
    pub fn fdget(&self, descriptor: u32) -> Result<&'static OpenFile, Errno> {
        self.0.get(descriptor as usize).and_then(Cell::get).ok_or(Errno::EBADF)
    }

    /// Opens `node` on the lowest free descriptor, with the operations of policy `P`.
    ///
    /// # Errors
    /// `EMFILE` and `ENFILE` when a table is full, `EISDIR`, `EROFS` for what the node does not allow.
    pub fn open<P: Policy>(&self, node: Node, flags: u32) -> Result<u32, Errno> {
        let slot = self
            .0
            .iter()
            .position(|slot| slot.get().is_none())
            .ok_or(Errno::EMFILE)?;
        let mode = match flags & open_flags::ACCESS_MODE {
            open_flags::READ_ONLY => MODE_READ,
            open_flags::WRITE_ONLY => MODE_WRITE,
            _ => MODE_READ | MODE_WRITE,
        };
        if flags & open_flags::DIRECTORY != 0 && node != Node::Directory {
            return Err(Errno::ENOTDIR);
        }
        if mode & MODE_WRITE != 0 {
            node.check_writable()?;
        }
        let file = FILES
            .get()
            .iter()
            .find(|file| file.descriptors.get() == 0)
            .ok_or(Errno::ENFILE)?;
        file.operations.set(node.operations::<P>());
        file.node.set(node);
        file.flags.set(mode);
        file.position.set(0);
        file.descriptors.set(1);
        self.0[slot].set(Some(file));
        Ok(slot as u32)
    }

    /// Closes a descriptor.
    ///
    /// # Errors
    /// `EBADF`.
    pub fn close(&self, descriptor: u32) -> Result<(), Errno> {
        let file = self.fdget(descriptor)?;
        self.0[descriptor as usize].set(None);
        file.descriptors.set(file.descriptors.get() - 1);
        Ok(())
    }

    /// Makes `new` another descriptor of the file behind `old`, closing what `new` was.
    ///
    /// # Errors
    /// `EBADF` if `old` is not open or `new` is out of the table.
    pub fn dup2(&self, old: u32, new: u32) -> Result<u32, Errno> {
        let file = self.fdget(old)?;
        let slot = self.0.get(new as usize).ok_or(Errno::EBADF)?;
        if old != new {
            if slot.get().is_some() {
                self.close(new)?;
            }
            file.descriptors.set(file.descriptors.get() + 1);
            slot.set(Some(file));
        }
        Ok(new)
    }

    /// Closes everything.
    pub fn close_all(&self) {
        for descriptor in 0..DESCRIPTORS as u32 {
            // A descriptor that is not open is not an error here.
            let _ = self.close(descriptor);
        }
    }

    /// Descriptors in use.
    pub fn in_use(&self) -> usize {
        self.0.iter().filter(|slot| slot.get().is_some()).count()
    }
}

impl Default for FileTable {
    fn default() -> Self {
        Self::new()
    }
}

/// Checks and clamps a count (`rw_verify_area`): one with the top bit set is negative.
///
/// # Errors
/// `EINVAL`.
#[inline(always)]
pub fn rw_verify_area(range: UserRange) -> Result<UserRange, Errno> {
    if range.len() > i32::MAX as u32 {
        return Err(Errno::EINVAL);
    }
    Ok(range.truncate(MAX_RW_COUNT))
}

/// Reads from an open file to user memory, in the kernel's order of checks: mode, operation, range, count.
///
/// # Errors
/// `EBADF`, `EINVAL`, `EFAULT` and the operation's own.
#[inline(always)]
pub fn vfs_read<P: Policy>(file: &OpenFile, address: u32, length: u32, position: &Cell<u64>) -> Result<u32, Errno> {
    if !file.may_read() {
        return Err(Errno::EBADF);
    }
    let read = file
        .operations
        .get()
        .read
        .ok_or_else(|| file.node.get().missing_read())?;
    let range = access_ok::<P>(crate::addr::UserAddr::new(address), length)?;
    read(file, rw_verify_area(range)?, position)
}

/// Writes user memory to an open file; see [`vfs_read`].
///
/// # Errors
/// As [`vfs_read`].
#[inline(always)]
pub fn vfs_write<P: Policy>(file: &OpenFile, address: u32, length: u32, position: &Cell<u64>) -> Result<u32, Errno> {
    if !file.may_write() {
        return Err(Errno::EBADF);
    }
    let write = file.operations.get().write.ok_or(Errno::EINVAL)?;
    let range = access_ok::<P>(crate::addr::UserAddr::new(address), length)?;
    write(file, rw_verify_area(range)?, position)
}
