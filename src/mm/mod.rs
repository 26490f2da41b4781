//! Memory: the kernel heap, page frames, user address spaces, memory that loses bytes.

#[cfg(target_os = "none")]
pub mod address_space;
#[cfg(target_os = "none")]
pub mod frames;
#[cfg(target_os = "none")]
pub mod heap;
pub mod page;
#[cfg(target_os = "none")]
pub mod pmem;
pub mod poison;

#[cfg(target_os = "none")]
pub use address_space::AddressSpace;
