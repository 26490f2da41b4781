//! The stand-in family for host tests: user memory as a byte array with scriptable faults.
#![allow(missing_docs)]
use crate::addr::PhysAddr;
pub const CACHE_LINE: usize = 16;
pub fn virt_to_phys(a: usize) -> PhysAddr {
    PhysAddr::new(a as u32)
}
pub mod window {}
