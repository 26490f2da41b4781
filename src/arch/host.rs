//! The stand-in family for host tests: user memory as pages of bytes, faults where no page is, a window that must be open.
//!
//! Every access goes byte by byte, so this is also the oracle for residues.

use crate::addr::TASK_SIZE;
use std::boxed::Box;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// As on an 8xx.
pub const CACHE_LINE: usize = 16;

const PAGE: u32 = crate::addr::PAGE_SIZE;

struct Page {
    bytes: Box<[u8; PAGE as usize]>,
    read: bool,
    write: bool,
}

#[derive(Default)]
struct Memory {
    pages: BTreeMap<u32, Page>,
    window: Option<(u32, u32, bool)>,
    is_without_kuap: bool,
}

std::thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

/// Gives each test an empty user space.
pub fn reset() {
    MEMORY.with_borrow_mut(|memory| *memory = Memory::default());
}

/// Maps a page, filled with `fill`.
pub fn map(page: u32, writable: bool, fill: u8) {
    assert_eq!(page % PAGE, 0);
    let new = Page {
        bytes: Box::new([fill; PAGE as usize]),
        read: true,
        write: writable,
    };
    MEMORY.with_borrow_mut(|memory| memory.pages.insert(page, new));
}

/// Changes the rights of a page.
pub fn protect(page: u32, read: bool, write: bool) {
    MEMORY.with_borrow_mut(|memory| {
        let page = memory.pages.get_mut(&page).expect("page is mapped");
        (page.read, page.write) = (read, write);
    });
}

/// Takes a page away.
pub fn unmap(page: u32) {
    MEMORY.with_borrow_mut(|memory| memory.pages.remove(&page));
}

fn with_byte<R>(address: u32, action: impl FnOnce(&mut u8, bool, bool) -> R) -> Option<R> {
    MEMORY.with_borrow_mut(|memory| {
        let page = memory.pages.get_mut(&(address & !(PAGE - 1)))?;
        Some(action(
            &mut page.bytes[(address % PAGE) as usize],
            page.read,
            page.write,
        ))
    })
}

/// Reads a byte of user memory, whatever its rights.
pub fn peek(address: u32) -> u8 {
    with_byte(address, |byte, _, _| *byte).expect("page is mapped")
}

/// Writes a byte of user memory, whatever its rights.
pub fn poke(address: u32, value: u8) {
    with_byte(address, |byte, _, _| *byte = value).expect("page is mapped")
}

/// An access of the kernel, which the window must cover as far as it lies in user space.
fn assert_open(address: u32, wants_write: bool) {
    MEMORY.with_borrow(|memory| {
        if memory.is_without_kuap || address >= TASK_SIZE {
            return;
        }
        let (start, length, write) = memory.window.expect("the window is open during an access");
        assert!(
            write == wants_write && address.wrapping_sub(start) < length,
            "access to {address:#x} outside the window of {length} bytes at {start:#x}"
        );
    });
}

fn load(address: u32) -> Option<u8> {
    assert_open(address, false);
    with_byte(address, |byte, read, _| read.then_some(*byte)).flatten()
}

fn store(address: u32, value: u8) -> bool {
    assert_open(address, true);
    let store = |byte: &mut u8, _, write: bool| {
        if write {
            *byte = value;
        }
        write
    };
    with_byte(address, store).unwrap_or(false)
}

/// The user-access window; see the families.
pub mod window {
    use super::MEMORY;

    /// Opens `[start, start + length)`.
    pub fn open(start: u32, length: u32, write: bool) {
        MEMORY.with_borrow_mut(|memory| {
            assert!(
                memory.window.replace((start, length, write)).is_none(),
                "the window is open already"
            );
        });
    }

    /// Closes it.
    pub fn close() {
        MEMORY.with_borrow_mut(|memory| memory.window = None);
    }

    /// Closes it.
    pub fn reset() {
        close();
    }

    /// Whether it is open.
    pub fn is_open() -> bool {
        MEMORY.with_borrow(|memory| memory.window.is_some())
    }

    /// Makes user memory unreachable outside a window, or reachable always.
    pub fn set_kuap(enabled: bool) {
        MEMORY.with_borrow_mut(|memory| memory.is_without_kuap = !enabled);
    }

    /// A word that is not 0 covers everything here.
    pub fn covers(word: u32, _address: u32, _store: bool) -> bool {
        word != 0
    }
}

/// What the families do in assembly.
pub mod raw {
    use super::{load, store};
    use crate::uaccess::extable::Entry;

    /// There is no code to fix up.
    pub fn exception_table() -> &'static [Entry] {
        &[]
    }

    /// Clears bytes; returns the residue.
    pub fn clear_user(to: u32, length: u32) -> u32 {
        (0..length).find(|i| !store(to + i, 0)).map_or(0, |done| length - done)
    }

    /// There is no code to fix up.
    pub fn nofault_table() -> &'static [Entry] {
        &[]
    }

    /// As [`clear_user`].
    pub fn clear_user_words(to: u32, length: u32) -> u32 {
        clear_user(to, length)
    }

    /// As [`clear_user`].
    pub fn clear_user_bytes(to: u32, length: u32) -> u32 {
        clear_user(to, length)
    }

    /// The length with the NUL, `count + 1` without one, `None` after a fault.
    pub fn strnlen_user(from: u32, count: u32) -> Option<u32> {
        for index in 0..count {
            if load(from + index)? == 0 {
                return Some(index + 1);
            }
        }
        Some(count + 1)
    }

    /// The word with zeros for what cannot be read.
    pub fn load_unaligned_zeropad(address: u32) -> Option<u32> {
        let first = load(address)?;
        let mut bytes = [first, 0, 0, 0];
        for (offset, slot) in bytes.iter_mut().enumerate().skip(1) {
            match load(address + offset as u32) {
                Some(byte) => *slot = byte,
                None => break,
            }
        }
        Some(u32::from_be_bytes(bytes))
    }

    /// Kernel memory of a host test cannot be read by number.
    pub fn get_kernel_nofault_1(_: u32) -> Option<u8> {
        None
    }

    /// Kernel memory of a host test cannot be read by number.
    pub fn get_kernel_nofault_2(_: u32) -> Option<u16> {
        None
    }

    /// Kernel memory of a host test cannot be read by number.
    pub fn get_kernel_nofault_4(_: u32) -> Option<u32> {
        None
    }

    /// Kernel memory of a host test cannot be written by number.
    ///
    /// # Safety
    /// Nothing happens.
    pub unsafe fn put_kernel_nofault_1(_: u32, _: u8) -> bool {
        false
    }

    /// Kernel memory of a host test cannot be written by number.
    ///
    /// # Safety
    /// Nothing happens.
    pub unsafe fn put_kernel_nofault_2(_: u32, _: u16) -> bool {
        false
    }

    /// Kernel memory of a host test cannot be written by number.
    ///
    /// # Safety
    /// Nothing happens.
    pub unsafe fn put_kernel_nofault_4(_: u32, _: u32) -> bool {
        false
    }

    /// Copies bytes; returns the residue.
    pub fn copy_to_user(to: u32, source: &[u8]) -> u32 {
        let failed = source
            .iter()
            .enumerate()
            .find(|(i, byte)| !store(to + *i as u32, **byte));
        failed.map_or(0, |(done, _)| (source.len() - done) as u32)
    }

    /// Copies bytes; returns the residue.
    pub fn copy_from_user(target: &mut [u8], from: u32) -> u32 {
        for done in 0..target.len() {
            match load(from + done as u32) {
                Some(byte) => target[done] = byte,
                None => return (target.len() - done) as u32,
            }
        }
        0
    }

    fn get<const N: usize>(address: u32) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        (copy_from_user(&mut bytes, address) == 0).then_some(bytes)
    }

    /// One byte, or `None` after a fault.
    pub fn get_user_1(address: u32) -> Option<u8> {
        get(address).map(u8::from_be_bytes)
    }

    /// Two bytes.
    pub fn get_user_2(address: u32) -> Option<u16> {
        get(address).map(u16::from_be_bytes)
    }

    /// Four bytes.
    pub fn get_user_4(address: u32) -> Option<u32> {
        get(address).map(u32::from_be_bytes)
    }

    /// One byte; `false` after a fault.
    pub fn put_user_1(address: u32, value: u8) -> bool {
        copy_to_user(address, &[value]) == 0
    }

    /// Two bytes.
    pub fn put_user_2(address: u32, value: u16) -> bool {
        copy_to_user(address, &value.to_be_bytes()) == 0
    }

    /// Four bytes.
    pub fn put_user_4(address: u32, value: u32) -> bool {
        copy_to_user(address, &value.to_be_bytes()) == 0
    }

    /// The length without the NUL, or `None` after a fault.
    pub fn strncpy_from_user(target: &mut [u8], from: u32) -> Option<u32> {
        for (done, slot) in target.iter_mut().enumerate() {
            *slot = load(from + done as u32)?;
            if *slot == 0 {
                return Some(done as u32);
            }
        }
        Some(target.len() as u32)
    }
}
