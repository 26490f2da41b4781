//! User memory for the selftests: an address space of their own, in force as long as it lives. On the host it is the fake
//! family's.
//!
//! The tests look at it and prepare it past user access, so that nothing vouches for itself.
#![forbid(unsafe_code)]

use crate::addr::{PAGE_SIZE, UserAddr};
use crate::arch::window;
use crate::policy::Fast;
use crate::uaccess::operations::Operations;
use crate::uaccess::{UserRange, access_ok};
use alloc::string::String;
use alloc::vec::Vec;

#[cfg(not(target_os = "none"))]
use crate::arch::host;
#[cfg(target_os = "none")]
use crate::{arch::mmu, arch::mmu_types::Protection, mm::AddressSpace};

/// First page of the area: two read-write pages, then one without access.
pub const AREA: u32 = 0x1000_0000;
/// First byte of the page without access.
pub const EDGE: u32 = AREA + 2 * PAGE_SIZE;
/// Where nothing is mapped.
pub const HOLE: u32 = 0x2000_0000;
/// What memory is filled with before a test.
pub const POISON: u8 = 0xa5;

/// What a page of the sandbox allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// It is there, but every access faults.
    Nothing,
    /// Loads.
    Read,
    /// Loads and stores.
    ReadWrite,
}

/// How a page of the sandbox is cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caching {
    /// As memory usually is.
    WriteBack,
    /// Stores go to memory at once.
    WriteThrough,
    /// Not at all.
    Inhibited,
}

/// The active address space of a test.
pub struct Sandbox {
    #[cfg(target_os = "none")]
    space: AddressSpace,
    is_without_kuap: bool,
}

impl Sandbox {
    /// Maps the area and makes it accessible.
    pub fn new() -> Result<Self, String> {
        #[cfg(target_os = "none")]
        let sandbox = {
            let space = AddressSpace::new().map_err(|error| alloc::format!("address space: {}", error.name()))?;
            space.activate();
            Self {
                space,
                is_without_kuap: false,
            }
        };
        #[cfg(not(target_os = "none"))]
        let sandbox = {
            host::reset();
            Self { is_without_kuap: false }
        };
        sandbox.map(AREA, Rights::ReadWrite)?;
        sandbox.map(AREA + PAGE_SIZE, Rights::ReadWrite)?;
        sandbox.map(EDGE, Rights::Nothing)?;
        Ok(sandbox)
    }

    /// The same, with the kernel's own reach as the policy wants it.
    pub fn under(operations: &Operations) -> Result<Self, String> {
        let mut sandbox = Self::new()?;
        sandbox.is_without_kuap = !(operations.has_window)();
        if sandbox.is_without_kuap {
            window::set_kuap(false);
        }
        Ok(sandbox)
    }

    /// Writes bytes at a user address, whatever the rights there.
    pub fn write(&self, address: u32, bytes: &[u8]) {
        #[cfg(target_os = "none")]
        assert!(
            self.space.write(address, bytes).is_ok(),
            "write of {} bytes at {address:#x}",
            bytes.len()
        );
        #[cfg(not(target_os = "none"))]
        (address..).zip(bytes).for_each(|(at, byte)| host::poke(at, *byte));
    }

    /// Reads what memory holds at a user address, whatever the rights there.
    pub fn read_into(&self, address: u32, bytes: &mut [u8]) {
        #[cfg(target_os = "none")]
        assert!(
            self.space.read(address, bytes).is_ok(),
            "read of {} bytes at {address:#x}",
            bytes.len()
        );
        #[cfg(not(target_os = "none"))]
        (address..).zip(bytes).for_each(|(at, byte)| *byte = host::peek(at));
    }

    /// The same, as a vector.
    pub fn read(&self, address: u32, length: u32) -> Vec<u8> {
        let mut bytes = alloc::vec![0; length as usize];
        self.read_into(address, &mut bytes);
        bytes
    }
}

#[cfg(target_os = "none")]
impl Sandbox {
    /// Its address space.
    pub fn space(&self) -> &AddressSpace {
        &self.space
    }

    /// Maps a page of zeros.
    pub fn map(&self, page: u32, rights: Rights) -> Result<(), String> {
        let result = self
            .space
            .map(page, page + PAGE_SIZE, protection(rights, Caching::WriteBack));
        result.map_err(|error| alloc::format!("map {page:#x}: {}", error.name()))
    }

    /// Changes how a mapped page can be accessed.
    pub fn protect(&self, page: u32, rights: Rights, caching: Caching) -> Result<(), String> {
        let result = self.space.protect(page, page + PAGE_SIZE, protection(rights, caching));
        result.map_err(|error| alloc::format!("protect {page:#x}: {}", error.name()))
    }

    /// Takes a page away.
    pub fn unmap(&self, page: u32) {
        self.space.unmap(page, page + PAGE_SIZE);
    }

    /// Makes the next access to each page a TLB miss.
    pub fn forget_translations(&self) {
        mmu::flush_user();
    }
}

#[cfg(target_os = "none")]
fn protection(rights: Rights, caching: Caching) -> Protection {
    Protection {
        read: rights != Rights::Nothing,
        write: rights == Rights::ReadWrite,
        execute: false,
        uncached: caching == Caching::Inhibited,
        write_through: caching == Caching::WriteThrough,
    }
}

#[cfg(not(target_os = "none"))]
impl Sandbox {
    /// Maps a page of zeros.
    pub fn map(&self, page: u32, rights: Rights) -> Result<(), String> {
        host::map(page, true, 0);
        self.protect(page, rights, Caching::WriteBack)
    }

    /// Changes how a mapped page can be accessed; the fake family has no caches.
    pub fn protect(&self, page: u32, rights: Rights, _: Caching) -> Result<(), String> {
        host::protect(page, rights != Rights::Nothing, rights == Rights::ReadWrite);
        Ok(())
    }

    /// Takes a page away.
    pub fn unmap(&self, page: u32) {
        host::unmap(page);
    }

    /// The fake family has no TLB.
    pub fn forget_translations(&self) {}
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if self.is_without_kuap {
            window::set_kuap(true);
        }
        #[cfg(target_os = "none")]
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
