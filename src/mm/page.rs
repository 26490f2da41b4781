//! A page of kernel memory as bytes: what pipes and files in memory are made of.

#[cfg(target_os = "none")]
use super::frames::{Frame, usage};
#[cfg(target_os = "none")]
use crate::arch::phys_to_virt;

/// Bytes of a page.
pub const LENGTH: usize = crate::addr::PAGE_SIZE as usize;

/// A page, owned; its memory goes back when it is dropped.
#[cfg(target_os = "none")]
pub struct Page(Frame);

#[cfg(target_os = "none")]
impl Page {
    /// A page of zeros, or `None` when memory has run out. The last eighth of all frames is kept for programs.
    pub fn zeroed() -> Option<Self> {
        Self::is_left().then(Frame::zeroed)?.map(Self)
    }

    /// A page with whatever it held before, for callers that show only what they wrote; see [`Page::zeroed`].
    pub fn unspecified() -> Option<Self> {
        Self::is_left().then(Frame::unspecified)?.map(Self)
    }

    fn is_left() -> bool {
        let (free, total) = usage();
        free > total / 8
    }

    fn start(&self) -> *mut [u8; LENGTH] {
        phys_to_virt(self.0.physical()) as *mut [u8; LENGTH]
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8; LENGTH] {
        // SAFETY: the frame is mapped for the kernel and belongs to this page alone, which is borrowed.
        unsafe { &*self.start() }
    }

    /// Its bytes, to be changed.
    pub fn bytes_mut(&mut self) -> &mut [u8; LENGTH] {
        // SAFETY: as in `bytes`, and the page is borrowed exclusively.
        unsafe { &mut *self.start() }
    }
}

/// The page of host tests.
#[cfg(not(target_os = "none"))]
pub struct Page(alloc::boxed::Box<[u8; LENGTH]>);

#[cfg(not(target_os = "none"))]
impl Page {
    /// A page of zeros.
    pub fn zeroed() -> Option<Self> {
        Some(Self(alloc::boxed::Box::new([0; LENGTH])))
    }

    /// A page that was used before.
    pub fn unspecified() -> Option<Self> {
        Some(Self(alloc::boxed::Box::new([0xee; LENGTH])))
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8; LENGTH] {
        &self.0
    }

    /// Its bytes, to be changed.
    pub fn bytes_mut(&mut self) -> &mut [u8; LENGTH] {
        &mut self.0
    }
}
