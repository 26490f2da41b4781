//! Memory: the kernel heap, page frames, user address spaces.

pub mod address_space;
pub mod frames;
pub mod heap;

pub use address_space::AddressSpace;
