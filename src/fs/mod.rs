//! Files: open files, the descriptor table, `vfs_read` and `vfs_write`, and the nodes behind paths.
//!
//! A device is a [`FileOperations`], as in the kernel; which functions it has decides which way a call takes. Operations
//! on the measured path exist once per policy, so an open file carries the operations of the preset that opened it.
#![forbid(unsafe_code)]

pub mod console;
pub mod devices;
pub mod node;
pub mod notify;
#[cfg(target_os = "none")]
pub mod pmem;
pub mod read_write;
#[cfg(test)]
mod tests;

use crate::arch::single::Single;
use crate::errno::Errno;
use crate::iter::{Destination, IovIter, Source};
use crate::uaccess::UserRange;
use core::cell::Cell;
use node::Node;
use notify::Inode;

pub use crate::iter::MAX_RW_COUNT;

/// Descriptors of a program.
pub const DESCRIPTORS: usize = 256;

/// Open files in the system.
const OPEN_FILES: usize = 256;

/// Plain `read` and `write` of a device: a checked range of user memory and the file position, which the operation moves.
/// Returns the bytes moved.
pub type ReadWrite = fn(&OpenFile, UserRange, &Cell<u64>) -> Result<u32, Errno>;

/// `read_iter`: as [`ReadWrite`], to wherever the iterator leads.
pub type ReadIter = fn(&Kiocb<'_>, &mut IovIter<'_, Destination>) -> Result<u32, Errno>;

/// `write_iter`: as [`ReadIter`], from wherever the iterator leads.
pub type WriteIter = fn(&Kiocb<'_>, &mut IovIter<'_, Source>) -> Result<u32, Errno>;

/// What a device can do; a missing function is an error of the call that needs it.
pub struct FileOperations {
    /// Reads into user memory.
    pub read: Option<ReadWrite>,
    /// Reads into whatever memory.
    pub read_iter: Option<ReadIter>,
    /// Writes from user memory.
    pub write: Option<ReadWrite>,
    /// Writes from whatever memory.
    pub write_iter: Option<WriteIter>,
    /// How `lseek` behaves.
    pub seek: Seek,
    /// Whether transfers at a position of the caller's choice are possible (`FMODE_PREAD`, `FMODE_PWRITE`).
    pub is_positional: bool,
    /// Whether it never waits, so that `RWF_NOWAIT` is granted (`FMODE_NOWAIT`).
    pub is_nowait: bool,
}

impl FileOperations {
    /// A file that can do nothing.
    pub const NOTHING: Self = Self {
        read: None,
        read_iter: None,
        write: None,
        write_iter: None,
        seek: Seek::No,
        is_positional: false,
        is_nowait: false,
    };
}

/// One transfer to or from a file (`struct kiocb`).
pub struct Kiocb<'a> {
    /// The file.
    pub file: &'a OpenFile,
    /// Where in the file; operations move it.
    pub position: Cell<u64>,
    /// `RWF_` flags of the call.
    pub flags: u32,
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
    operations: Cell<Option<&'static FileOperations>>,
    inode: Cell<Option<&'static Inode>>,
    node: Cell<Node>,
    /// `FMODE_` bits.
    mode: Cell<u32>,
    position: Cell<u64>,
    /// Descriptors that are it (`f_count`).
    count: Cell<u32>,
    /// `f_pos_lock`.
    is_position_locked: Cell<bool>,
}

/// `FMODE_` bits (include/linux/fs.h), and two of this kernel's own.
mod mode {
    /// Open for reading.
    pub const READ: u32 = 1;
    /// Open for writing.
    pub const WRITE: u32 = 2;
    /// Reads at a chosen position are possible.
    pub const PREAD: u32 = 8;
    /// Writes at a chosen position are possible.
    pub const PWRITE: u32 = 0x10;
    /// The position must be locked when the file has more than one descriptor.
    pub const ATOMIC_POS: u32 = 0x8000;
    /// Some read operation exists.
    pub const CAN_READ: u32 = 0x2_0000;
    /// Some write operation exists.
    pub const CAN_WRITE: u32 = 0x4_0000;
    /// `RWF_NOWAIT` is granted.
    pub const NOWAIT: u32 = 0x800_0000;
    /// Something was watched when the file was opened.
    pub const WATCHED: u32 = 0x2000_0000;
    /// `/dev/zero`, open for reading, which nobody watches: its operation may be called without asking which it is.
    pub const ZERO_READ: u32 = 0x4000_0000;
    /// The same for `/dev/null` and writing.
    pub const NULL_WRITE: u32 = 0x8000_0000;
}

static FILES: Single<[OpenFile; OPEN_FILES]> = Single::new(
    [const {
        OpenFile {
            operations: Cell::new(None),
            inode: Cell::new(None),
            node: Cell::new(Node::Null),
            mode: Cell::new(0),
            position: Cell::new(0),
            count: Cell::new(0),
            is_position_locked: Cell::new(false),
        }
    }; OPEN_FILES],
);

impl OpenFile {
    /// What the file is.
    pub fn node(&self) -> Node {
        self.node.get()
    }

    /// The file position.
    #[inline(always)]
    pub fn position(&self) -> &Cell<u64> {
        &self.position
    }

    /// What it can do.
    #[inline(always)]
    pub fn operations(&self) -> &'static FileOperations {
        self.operations.get().unwrap_or(&FileOperations::NOTHING)
    }

    #[inline(always)]
    fn inode(&self) -> Option<&'static Inode> {
        self.inode.get()
    }

    /// Whether all of these `FMODE_` bits are set.
    #[inline(always)]
    fn has(&self, bits: u32) -> bool {
        self.mode.get() & bits == bits
    }

    /// How it answers `lseek`.
    pub fn seek_rule(&self) -> Seek {
        self.operations().seek
    }

    fn mode_of(node: Node, operations: &FileOperations, flags: u32) -> u32 {
        let access = match flags & open_flags::ACCESS_MODE {
            open_flags::READ_ONLY => mode::READ,
            open_flags::WRITE_ONLY => mode::WRITE,
            _ => mode::READ | mode::WRITE,
        };
        let bit = |condition: bool, bit: u32| if condition { bit } else { 0 };
        let is_watched = notify::is_any_watched();
        access
            | bit(operations.is_positional, mode::PREAD | mode::PWRITE)
            | bit(matches!(operations.seek, Seek::Regular), mode::ATOMIC_POS)
            | bit(operations.is_nowait, mode::NOWAIT)
            | bit(is_watched, mode::WATCHED)
            | bit(
                access & mode::READ != 0 && (operations.read.is_some() || operations.read_iter.is_some()),
                mode::CAN_READ,
            )
            | bit(
                access & mode::WRITE != 0 && (operations.write.is_some() || operations.write_iter.is_some()),
                mode::CAN_WRITE,
            )
            | bit(
                !is_watched && node == Node::Zero && access & mode::READ != 0,
                mode::ZERO_READ,
            )
            | bit(
                !is_watched && node == Node::Null && access & mode::WRITE != 0,
                mode::NULL_WRITE,
            )
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

    /// Opens `node` on the lowest free descriptor, with the operations that the preset in force gives it.
    ///
    /// # Errors
    /// `EMFILE` and `ENFILE` when a table is full, `EISDIR`, `EROFS` for what the node does not allow.
    pub fn open(&self, node: Node, operations: &'static FileOperations, flags: u32) -> Result<u32, Errno> {
        let slot = self
            .0
            .iter()
            .position(|slot| slot.get().is_none())
            .ok_or(Errno::EMFILE)?;
        let mode = OpenFile::mode_of(node, operations, flags);
        if flags & open_flags::DIRECTORY != 0 && node != Node::Directory {
            return Err(Errno::ENOTDIR);
        }
        if mode & mode::WRITE != 0 {
            node.check_writable()?;
        }
        let file = FILES
            .get()
            .iter()
            .find(|file| file.count.get() == 0)
            .ok_or(Errno::ENFILE)?;
        file.operations.set(Some(operations));
        file.inode.set(Some(node.inode()));
        file.node.set(node);
        file.mode.set(mode);
        file.position.set(0);
        file.count.set(1);
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
        file.count.set(file.count.get() - 1);
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
            file.count.set(file.count.get() + 1);
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
