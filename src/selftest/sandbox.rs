//! User memory for the selftests: an address space of their own, active as long as it lives.
#![forbid(unsafe_code)]

use crate::addr::{PAGE_SIZE, UserAddr};
use crate::arch::mmu_types::Protection;
use crate::mm::AddressSpace;
use crate::policy::Fast;
use crate::uaccess::{UserRange, access_ok, copy_from_user, copy_to_user};
use alloc::string::String;
use alloc::vec::Vec;

/// First page of the area: two read-write pages, then one without access.
pub const AREA: u32 = 0x1000_0000;
/// First byte of the page without access.
pub const EDGE: u32 = AREA + 2 * PAGE_SIZE;
/// What memory is filled with before a test.
pub const POISON: u8 = 0xa5;

/// The active address space of a test.
pub struct Sandbox {
    space: AddressSpace,
}

impl Sandbox {
    /// Maps the area and makes it accessible.
    pub fn new() -> Result<Self, String> {
        let space = AddressSpace::new().map_err(|error| alloc::format!("address space: {}", error.name()))?;
        let map = |start: u32, pages: u32, protection| space.map(start, start + pages * PAGE_SIZE, protection);
        map(AREA, 2, Protection::READ_WRITE)
            .and_then(|()| map(EDGE, 1, Protection::default()))
            .map_err(|error| alloc::format!("map: {}", error.name()))?;
        space.activate();
        Ok(Self { space })
    }

    /// Its address space.
    pub fn space(&self) -> &AddressSpace {
        &self.space
    }

    /// Writes bytes at a user address.
    pub fn write(&self, address: u32, bytes: &[u8]) {
        let left = copy_to_user::<Fast>(&range(address, bytes.len() as u32), bytes);
        assert!(left.is_done(), "write of {} bytes at {address:#x}", bytes.len());
    }

    /// Reads bytes at a user address.
    pub fn read(&self, address: u32, length: u32) -> Vec<u8> {
        let mut bytes = alloc::vec![0; length as usize];
        let left = copy_from_user::<Fast>(&mut bytes, &range(address, length));
        assert!(left.is_done(), "read of {length} bytes at {address:#x}");
        bytes
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        AddressSpace::deactivate();
    }
}

/// A range that is known to be user space.
pub fn range(address: u32, length: u32) -> UserRange {
    match access_ok::<Fast>(UserAddr::new(address), length) {
        Ok(range) => range,
        Err(_) => panic!("test range {address:#x}+{length:#x} is not user space"),
    }
}
