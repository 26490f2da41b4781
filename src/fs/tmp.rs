//! Files in memory that can be written: the directory `/tmp`, which holds no other directories.
//!
//! Memory for files ends before memory for programs does, and at 32 MiB; then the answer is `ENOSPC`.
//!
//! A file has pages where something was written and reads as zeros elsewhere. It lives as long as it has its name or is
//! open.
#![forbid(unsafe_code)]

use super::node::Node;
use super::pipe::copy_exactly;
use super::{FileOperations, Kiocb, OpenFile, Seek, open_flags, read_write, splice};
use crate::arch::single::Single;
use crate::errno::Errno;
use crate::iter::{Destination, IovIter, Source, copy_to_iter, iov_iter_zero};
use crate::mm::page::{self, Page};
use crate::policy::General;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

/// Files in the directory, those without a name included.
const FILES: usize = 64;

/// Longest name (`NAME_MAX`).
pub const NAME_MAX: usize = 255;

/// End of the largest file: as many pages as a word can number.
pub const MAX_BYTES: u64 = page::LENGTH as u64 * u32::MAX as u64;

/// Bytes that a file opened without `O_LARGEFILE` can have (`MAX_NON_LFS`).
const MAX_NON_LFS: u64 = i32::MAX as u64;

/// Pages that all files together can have, 32 MiB: their numbers are kept in the kernel's heap, which must not run out.
const PAGES_MAX: u32 = 8192;

/// Pages that the files have.
static PAGES: Single<Cell<u32>> = Single::new(Cell::new(0));

/// A page of a file, which counts.
struct FilePage(Page);

impl FilePage {
    /// A page of zeros, or `None` when there is no memory for more files.
    fn zeroed() -> Option<Self> {
        let count = PAGES.get();
        if count.get() == PAGES_MAX {
            return None;
        }
        let page = Page::zeroed()?;
        count.set(count.get() + 1);
        Some(Self(page))
    }
}

impl Drop for FilePage {
    fn drop(&mut self) {
        let count = PAGES.get();
        count.set(count.get() - 1);
    }
}

struct File {
    /// Name in the directory; `None` when it was removed or never made.
    name: RefCell<Option<Vec<u8>>>,
    /// Open files that are it.
    opens: Cell<u32>,
    size: Cell<u64>,
    pages: RefCell<BTreeMap<u32, FilePage>>,
}

static TABLE: Single<[File; FILES]> = Single::new(
    [const {
        File {
            name: RefCell::new(None),
            opens: Cell::new(0),
            size: Cell::new(0),
            pages: RefCell::new(BTreeMap::new()),
        }
    }; FILES],
);

/// Which file of the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index(u8);

/// A file of `/tmp`.
pub static OPERATIONS: FileOperations = FileOperations {
    read_iter: Some(read_iter),
    write_iter: Some(write_iter),
    splice_read: Some(splice::copy_splice_read),
    splice_write: Some(splice::iter_file_splice_write),
    release: Some(release),
    seek: Seek::Regular,
    is_positional: true,
    ..FileOperations::NOTHING
};

fn file(Index(index): Index) -> &'static File {
    &TABLE.get()[usize::from(index)]
}

fn of(file: &OpenFile) -> Result<&'static File, Errno> {
    match file.node() {
        Node::Tmp(index) => Ok(self::file(index)),
        _ => Err(Errno::EIO),
    }
}

/// The file with this name.
pub fn find(name: &[u8]) -> Option<Index> {
    let named = |file: &File| file.name.borrow().as_deref() == Some(name);
    TABLE.get().iter().position(named).map(|index| Index(index as u8))
}

/// Shows every file that has a name, with its size in bytes.
pub fn for_each(mut show: impl FnMut(&[u8], u64)) {
    for file in TABLE.get() {
        if let Some(name) = file.name.borrow().as_deref() {
            show(name, file.size.get());
        }
    }
}

/// Makes an empty file; the name is not in use.
///
/// # Errors
/// `ENAMETOOLONG`, and `ENOSPC` when the directory is full.
pub fn create(name: &[u8]) -> Result<Index, Errno> {
    if name.len() > NAME_MAX {
        return Err(Errno::ENAMETOOLONG);
    }
    let is_unused = |file: &File| file.name.borrow().is_none() && file.opens.get() == 0;
    let index = TABLE.get().iter().position(is_unused).ok_or(Errno::ENOSPC)?;
    *TABLE.get()[index].name.borrow_mut() = Some(name.into());
    Ok(Index(index as u8))
}

/// Takes the name from a file.
pub fn unlink(index: Index) {
    file(index).name.take();
    file(index).drop_if_unused();
}

/// One more open file is it.
pub fn opened(index: Index) {
    let opens = &file(index).opens;
    opens.set(opens.get() + 1);
}

fn release(open: &OpenFile) {
    if let Ok(file) = of(open) {
        file.opens.set(file.opens.get() - 1);
        file.drop_if_unused();
    }
}

/// Its size in bytes.
pub fn size(index: Index) -> u64 {
    file(index).size.get()
}

/// Pages that it has, 4096 bytes each.
pub fn pages(index: Index) -> u32 {
    file(index).pages.borrow().len() as u32
}

/// Gives it a size; what is behind a smaller one is lost.
///
/// # Errors
/// `EFBIG`.
pub fn truncate(index: Index, size: u64) -> Result<(), Errno> {
    let file = file(index);
    if size > MAX_BYTES {
        return Err(Errno::EFBIG);
    }
    if size < file.size.get() {
        let mut pages = file.pages.borrow_mut();
        let (last, offset) = place(size);
        pages.split_off(&(last + u32::from(offset > 0)));
        if let Some(page) = pages.get_mut(&last) {
            page.0.bytes_mut()[offset..].fill(0);
        }
    }
    file.size.set(size);
    Ok(())
}

/// Page and offset of a byte.
fn place(position: u64) -> (u32, usize) {
    let length = page::LENGTH as u64;
    ((position / length) as u32, (position % length) as usize)
}

impl File {
    fn drop_if_unused(&self) {
        if self.opens.get() == 0 && self.name.borrow().is_none() {
            self.pages.take();
            self.size.set(0);
        }
    }

    /// The first position from `position` on that is data, or a hole (`SEEK_DATA`, `SEEK_HOLE`); the end is a hole.
    fn next(&self, position: u64, data: bool) -> Result<u64, Errno> {
        let size = self.size.get();
        if position >= size {
            return Err(Errno::ENXIO);
        }
        let pages = self.pages.borrow();
        let mut at = position;
        while at < size {
            let page = place(at).0;
            if pages.contains_key(&page) == data {
                return Ok(at);
            }
            // Over a hole to the next page that is there, over a page to the next one.
            at = match pages.range(page..).next() {
                Some((next, _)) if data => u64::from(*next) * page::LENGTH as u64,
                None if data => size,
                _ => u64::from(page + 1) * page::LENGTH as u64,
            };
        }
        if data { Err(Errno::ENXIO) } else { Ok(size) }
    }
}

/// Where data or a hole begins; see `SEEK_DATA` and `SEEK_HOLE` of lseek(2).
///
/// # Errors
/// `ENXIO` at and behind the end, and where no data follow.
pub fn seek_next(index: Index, position: u64, data: bool) -> Result<u64, Errno> {
    file(index).next(position, data)
}

fn read_iter(kiocb: &Kiocb<'_>, iter: &mut IovIter<'_, Destination>) -> Result<u32, Errno> {
    let file = of(kiocb.file)?;
    let position = &kiocb.position;
    let left = file.size.get().saturating_sub(position.get());
    let wanted = u32::try_from(left).unwrap_or(u32::MAX).min(iter.count());
    let pages = file.pages.borrow();
    let mut done = 0;
    while done < wanted {
        let (page, offset) = place(position.get());
        let length = (page::LENGTH - offset).min((wanted - done) as usize);
        let moved = match pages.get(&page) {
            Some(page) => copy_to_iter::<General>(&page.0.bytes()[offset..offset + length], iter),
            None => iov_iter_zero::<General>(length as u32, iter),
        };
        position.set(position.get() + u64::from(moved));
        done += moved;
        if (moved as usize) < length {
            break;
        }
    }
    if done == 0 && wanted > 0 {
        Err(Errno::EFAULT)
    } else {
        Ok(done)
    }
}

fn write_iter(kiocb: &Kiocb<'_>, iter: &mut IovIter<'_, Source>) -> Result<u32, Errno> {
    let file = of(kiocb.file)?;
    if iter.count() == 0 {
        return Ok(0);
    }
    let position = &kiocb.position;
    let flags = kiocb.file.status_flags();
    if flags & open_flags::APPEND != 0 || kiocb.flags & read_write::rwf::APPEND != 0 {
        position.set(file.size.get());
    }
    let end = if flags & open_flags::LARGEFILE != 0 {
        MAX_BYTES
    } else {
        MAX_NON_LFS
    };
    let room = end
        .checked_sub(position.get())
        .filter(|room| *room > 0)
        .ok_or(Errno::EFBIG)?;
    let wanted = u32::try_from(room).unwrap_or(u32::MAX).min(iter.count());
    let mut pages = file.pages.borrow_mut();
    let mut done = 0;
    let mut outcome = Errno::EFAULT;
    while done < wanted {
        let (number, offset) = place(position.get());
        let length = (page::LENGTH - offset).min((wanted - done) as usize);
        let is_new = !pages.contains_key(&number);
        if is_new {
            let Some(page) = FilePage::zeroed() else {
                outcome = Errno::ENOSPC;
                break;
            };
            pages.insert(number, page);
        }
        let Some(page) = pages.get_mut(&number) else {
            break;
        };
        let moved = copy_exactly(&mut page.0.bytes_mut()[offset..offset + length], iter);
        if moved == 0 {
            if is_new {
                pages.remove(&number);
            }
            break;
        }
        position.set(position.get() + moved as u64);
        file.size.set(file.size.get().max(position.get()));
        done += moved as u32;
        if moved < length {
            break;
        }
    }
    if done == 0 { Err(outcome) } else { Ok(done) }
}
