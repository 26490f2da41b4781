//! Files: open files, the descriptor table, `vfs_read` and `vfs_write`, and the nodes behind paths.
//!
//! A device is a [`FileOperations`], as in the kernel; which functions it has decides which way a call takes. Operations
//! on the measured path exist once per policy, so an open file carries the operations of the preset that opened it.
#![forbid(unsafe_code)]

pub mod console;
pub mod devices;
pub mod node;
pub mod notify;
pub mod pipe;
#[cfg(target_os = "none")]
pub mod pmem;
pub mod read_write;
pub mod splice;
#[cfg(test)]
mod tests;
pub mod tmp;

use crate::arch::short_way;
use crate::arch::single::Single;
use crate::errno::Errno;
use crate::iter::{Destination, IovIter, Source};
use crate::uaccess::UserRange;
use core::cell::Cell;
use node::Node;
use notify::Inode;
use splice::{SpliceRead, SpliceWrite};

pub use crate::iter::MAX_RW_COUNT;

/// Descriptors of a program.
pub const DESCRIPTORS: usize = short_way::DESCRIPTORS;

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
    /// Moves bytes to a pipe; without it `splice` and `sendfile` refuse the file.
    pub splice_read: Option<SpliceRead>,
    /// Moves bytes from a pipe.
    pub splice_write: Option<SpliceWrite>,
    /// Called when the last descriptor is closed.
    pub release: Option<fn(&OpenFile)>,
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
        splice_read: None,
        splice_write: None,
        release: None,
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
    /// Flags of `open` that last (`f_flags`).
    flags: Cell<u32>,
    position: Cell<u64>,
    /// Descriptors that are it (`f_count`).
    count: Cell<u32>,
    /// `f_pos_lock`.
    is_position_locked: Cell<bool>,
}

/// `FMODE_` bits (include/linux/fs.h), and one of this kernel's own.
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
}

/// What a call may take for granted of a descriptor without a look at its file ([`short_way`]).
pub mod short {
    /// It is `/dev/zero`, open for reading, and nobody watches.
    pub const ZERO_READ: u8 = 1;
    /// It is `/dev/null`, open for writing, and nobody watches.
    pub const NULL_WRITE: u8 = 2;
}

static FILES: Single<[OpenFile; OPEN_FILES]> = Single::new(
    [const {
        OpenFile {
            operations: Cell::new(None),
            inode: Cell::new(None),
            node: Cell::new(Node::Null),
            mode: Cell::new(0),
            flags: Cell::new(0),
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

    /// Whether it is open for reading.
    pub fn may_read(&self) -> bool {
        self.has(mode::READ)
    }

    /// Whether it is open for writing.
    pub fn may_write(&self) -> bool {
        self.has(mode::WRITE)
    }

    /// Whether transfers at a chosen position are possible.
    pub fn is_positional(&self) -> bool {
        self.has(mode::PREAD)
    }

    /// The flags of `open` and `fcntl` that last, access mode included (`F_GETFL`).
    pub fn status_flags(&self) -> u32 {
        self.flags.get()
    }

    /// Sets or takes back the flags that `fcntl` can change (`F_SETFL`).
    pub fn set_status_flags(&self, flags: u32) {
        let kept = self.flags.get() & !open_flags::CHANGEABLE;
        self.flags.set(kept | flags & open_flags::CHANGEABLE);
    }

    /// Whether a call that would have to wait fails instead.
    pub fn is_nonblocking(&self) -> bool {
        self.flags.get() & open_flags::NONBLOCK != 0
    }

    /// How it answers `lseek`.
    pub fn seek_rule(&self) -> Seek {
        self.operations().seek
    }

    fn mode_of(operations: &FileOperations, flags: u32) -> u32 {
        let access = match flags & open_flags::ACCESS_MODE {
            open_flags::READ_ONLY => mode::READ,
            open_flags::WRITE_ONLY => mode::WRITE,
            open_flags::READ_WRITE => mode::READ | mode::WRITE,
            // Open for nothing but controls; the rights of both are asked for all the same.
            _ => 0,
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
    }

    /// What [`short`] ways lead to it.
    fn short_ways(&self) -> u8 {
        match self.node.get() {
            _ if self.has(mode::WATCHED) => 0,
            Node::Zero if self.has(mode::READ) => short::ZERO_READ,
            Node::Null if self.has(mode::WRITE) => short::NULL_WRITE,
            _ => 0,
        }
    }
}

/// Flags of `open` (include/uapi/asm-generic/fcntl.h; powerpc's own values: arch/powerpc/include/uapi/asm/fcntl.h).
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
    /// With [`CREATE`]: fail if it exists.
    pub const EXCLUSIVE: u32 = 0o200;
    /// Used up by the open itself.
    pub const NOCTTY: u32 = 0o400;
    /// Cut an existing file to length 0.
    pub const TRUNCATE: u32 = 0o1000;
    /// Every write goes to the end.
    pub const APPEND: u32 = 0o2000;
    /// Fail instead of waiting.
    pub const NONBLOCK: u32 = 0o4000;
    /// Fail unless it is a directory (powerpc's value).
    pub const DIRECTORY: u32 = 0o40_000;
    /// Sizes beyond 31 bits are expected (powerpc's value).
    pub const LARGEFILE: u32 = 0o200_000;
    /// The descriptor does not survive `exec`.
    pub const CLOEXEC: u32 = 0o2_000_000;
    /// What `F_SETFL` changes.
    pub const CHANGEABLE: u32 = APPEND | NONBLOCK;
    /// What an open file does not remember.
    pub const NOT_KEPT: u32 = CREATE | EXCLUSIVE | NOCTTY | TRUNCATE | CLOEXEC;
}

/// The descriptors of one program.
pub struct FileTable {
    files: [Cell<Option<&'static OpenFile>>; DESCRIPTORS],
    close_on_exec: [Cell<bool>; DESCRIPTORS],
    /// Descriptors from here on are not given out (`RLIMIT_NOFILE`).
    limit: Cell<u32>,
}

impl FileTable {
    /// No descriptors.
    pub const fn new() -> Self {
        Self {
            files: [const { Cell::new(None) }; DESCRIPTORS],
            close_on_exec: [const { Cell::new(false) }; DESCRIPTORS],
            limit: Cell::new(DESCRIPTORS as u32),
        }
    }

    /// Makes a descriptor that is in the table lead to a file, or to none.
    fn set(&self, descriptor: usize, file: Option<&'static OpenFile>) {
        self.files[descriptor].set(file);
        short_way::set(descriptor, file.map_or(0, OpenFile::short_ways));
    }

    /// The open file of a descriptor (`fdget`).
    ///
    /// # Errors
    /// `EBADF`.
    #[inline(always)]
    pub fn fdget(&self, descriptor: u32) -> Result<&'static OpenFile, Errno> {
        self.files
            .get(descriptor as usize)
            .and_then(Cell::get)
            .ok_or(Errno::EBADF)
    }

    /// Number of descriptors that may be in use (`RLIMIT_NOFILE`).
    pub fn limit(&self) -> u32 {
        self.limit.get()
    }

    /// Changes the limit; what is open above it stays open.
    ///
    /// # Errors
    /// `EPERM` above the size of the table.
    pub fn set_limit(&self, limit: u32) -> Result<(), Errno> {
        if limit as usize > DESCRIPTORS {
            return Err(Errno::EPERM);
        }
        self.limit.set(limit);
        Ok(())
    }

    /// The lowest free descriptor from `least` on.
    ///
    /// # Errors
    /// `EMFILE` when there is none below the limit.
    pub fn lowest_free(&self, least: u32) -> Result<u32, Errno> {
        (least..self.limit.get())
            .find(|slot| self.files[*slot as usize].get().is_none())
            .ok_or(Errno::EMFILE)
    }

    /// Puts a file at a descriptor, closing what was there.
    fn install(&self, slot: u32, file: &'static OpenFile, close_on_exec: bool) {
        // Nothing there is no error.
        let _ = self.close(slot);
        self.set(slot as usize, Some(file));
        self.close_on_exec[slot as usize].set(close_on_exec);
    }

    /// Opens `node` on the lowest free descriptor, with the operations that the preset in force gives it.
    ///
    /// # Errors
    /// `EMFILE` and `ENFILE` when a table is full, `EISDIR`, `EROFS` for what the node does not allow.
    pub fn open(&self, node: Node, operations: &'static FileOperations, flags: u32) -> Result<u32, Errno> {
        let slot = self.lowest_free(0)?;
        let mode = OpenFile::mode_of(operations, flags);
        let is_directory = matches!(node, Node::Directory(_));
        if flags & open_flags::DIRECTORY != 0 && !is_directory {
            return Err(Errno::ENOTDIR);
        }
        if flags & (open_flags::ACCESS_MODE | open_flags::TRUNCATE) != 0 {
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
        file.flags.set(flags & !open_flags::NOT_KEPT);
        file.position.set(0);
        file.count.set(1);
        if let Node::Tmp(index) = node {
            tmp::opened(index);
        }
        self.install(slot, file, flags & open_flags::CLOEXEC != 0);
        Ok(slot)
    }

    /// Closes a descriptor.
    ///
    /// # Errors
    /// `EBADF`.
    pub fn close(&self, descriptor: u32) -> Result<(), Errno> {
        let file = self.fdget(descriptor)?;
        self.set(descriptor as usize, None);
        file.count.set(file.count.get() - 1);
        if file.count.get() == 0
            && let Some(release) = file.operations().release
        {
            release(file);
        }
        Ok(())
    }

    /// Makes another descriptor of the file behind `old`: the lowest free one from `least` on.
    ///
    /// # Errors
    /// `EBADF`, `EMFILE`.
    pub fn dup(&self, old: u32, least: u32, close_on_exec: bool) -> Result<u32, Errno> {
        let file = self.fdget(old)?;
        let slot = self.lowest_free(least)?;
        file.count.set(file.count.get() + 1);
        self.install(slot, file, close_on_exec);
        Ok(slot)
    }

    /// Makes `new` another descriptor of the file behind `old`, closing what `new` was.
    ///
    /// # Errors
    /// `EBADF` if `old` is not open or `new` is beyond the limit.
    pub fn dup2(&self, old: u32, new: u32, close_on_exec: bool) -> Result<u32, Errno> {
        let file = self.fdget(old)?;
        if old == new {
            return Ok(new);
        }
        if new >= self.limit.get() {
            return Err(Errno::EBADF);
        }
        file.count.set(file.count.get() + 1);
        self.install(new, file, close_on_exec);
        Ok(new)
    }

    /// Whether a descriptor does not survive `exec` (`FD_CLOEXEC`).
    ///
    /// # Errors
    /// `EBADF`.
    pub fn close_on_exec(&self, descriptor: u32) -> Result<&Cell<bool>, Errno> {
        self.fdget(descriptor)?;
        Ok(&self.close_on_exec[descriptor as usize])
    }

    /// Closes everything, for the next program.
    pub fn close_all(&self) {
        for descriptor in 0..DESCRIPTORS as u32 {
            // A descriptor that is not open is not an error here.
            let _ = self.close(descriptor);
        }
        self.limit.set(DESCRIPTORS as u32);
    }

    /// Descriptors in use.
    pub fn in_use(&self) -> usize {
        self.files.iter().filter(|slot| slot.get().is_some()).count()
    }
}

impl Default for FileTable {
    fn default() -> Self {
        Self::new()
    }
}
