//! fsnotify: watches on files and directories, and what they saw.
//!
//! A watch counts accesses (reads) and modifications (writes) of one file, or of all files in a directory. The layers of
//! the kernel ask on every call, as there, whether anybody watches the file, its parent or the mount
//! (fs/notify/fsnotify.c).
#![forbid(unsafe_code)]

use super::OpenFile;
use super::node::Node;
use crate::arch::single::Single;
use core::cell::Cell;

/// A file was read (include/linux/fsnotify_backend.h).
pub const FS_ACCESS: u32 = 1;
/// A file was written.
pub const FS_MODIFY: u32 = 2;
/// The event came by way of the directory that holds the file.
const FS_EVENT_ON_CHILD: u32 = 0x0800_0000;

/// What fsnotify knows of a file: who watches it, where it is.
pub struct Inode {
    /// Path for people.
    pub path: &'static str,
    parent: Option<usize>,
    /// Events that a watch on it wants (`i_fsnotify_mask`); 0 without a watch.
    mask: Cell<u32>,
    /// Whether its directory is watched (`DCACHE_FSNOTIFY_PARENT_WATCHED`).
    is_parent_watched: Cell<bool>,
    accesses: Cell<u32>,
    modifications: Cell<u32>,
}

const fn inode(path: &'static str, parent: Option<usize>) -> Inode {
    Inode {
        path,
        parent,
        mask: Cell::new(0),
        is_parent_watched: Cell::new(false),
        accesses: Cell::new(0),
        modifications: Cell::new(0),
    }
}

const ROOT: usize = 0;
const DEV: usize = 1;

/// Files of the archive have no watches of their own: their directory is the root.
static INODES: Single<[Inode; 8]> = Single::new([
    inode("/", None),
    inode("/dev", Some(ROOT)),
    inode("/dev/null", Some(DEV)),
    inode("/dev/zero", Some(DEV)),
    inode("/dev/full", Some(DEV)),
    inode("/dev/console", Some(DEV)),
    inode("/dev/pmem0", Some(DEV)),
    inode("/files", Some(ROOT)),
]);

/// Watches on the mount itself (`mnt_fsnotify_mask`); nothing here sets one, the kernel asks all the same.
static MOUNT_MASK: Single<Cell<u32>> = Single::new(Cell::new(0));

impl Node {
    /// What fsnotify knows of it.
    pub(super) fn inode(self) -> &'static Inode {
        let index = match self {
            Node::Directory(_) => ROOT,
            Node::Null => 2,
            Node::Zero => 3,
            Node::Full => 4,
            Node::Console => 5,
            #[cfg(target_os = "none")]
            Node::Pmem => 6,
            Node::Bytes(_) | Node::Tmp(_) | Node::Pipe(_) => 7,
        };
        &INODES.get()[index]
    }
}

/// Everything that can be watched.
pub fn all() -> &'static [Inode] {
    INODES.get()
}

/// Whether anything is watched.
pub(super) fn is_any_watched() -> bool {
    all().iter().any(|inode| inode.mask.get() != 0)
}

impl Inode {
    /// Begins to watch it, with counts of 0, or ends that.
    pub fn watch(&self, wanted: bool) {
        self.mask.set(if wanted { FS_ACCESS | FS_MODIFY } else { 0 });
        self.accesses.set(0);
        self.modifications.set(0);
        for child in all() {
            if child.parent.is_some_and(|parent| core::ptr::eq(&all()[parent], self)) {
                child.is_parent_watched.set(wanted);
            }
        }
    }

    /// Accesses and modifications since the watch began; `None` without a watch.
    pub fn events(&self) -> Option<(u32, u32)> {
        (self.mask.get() != 0).then_some((self.accesses.get(), self.modifications.get()))
    }
}

/// Tells those who watch the directory of the file, then those who watch the file itself.
#[inline(never)]
pub(super) fn __fsnotify_parent(file: &OpenFile, mask: u32) {
    let Some(inode) = file.inode() else {
        return;
    };
    let is_parent_watched = inode.is_parent_watched.get();
    if inode.mask.get() == 0 && MOUNT_MASK.get().get() == 0 && !is_parent_watched {
        return;
    }
    if is_parent_watched && let Some(parent) = inode.parent {
        fsnotify(&all()[parent], mask | FS_EVENT_ON_CHILD);
    }
    fsnotify(inode, mask);
}

/// Hands an event to the watch of a file, if it wants it.
#[inline(never)]
fn fsnotify(inode: &Inode, mask: u32) {
    let wanted = mask & inode.mask.get() & !FS_EVENT_ON_CHILD;
    for (event, count) in [(FS_ACCESS, &inode.accesses), (FS_MODIFY, &inode.modifications)] {
        if wanted & event != 0 {
            count.set(count.get().wrapping_add(1));
        }
    }
}
