//! Addresses as types: a user address, a kernel address and a physical address never mix by accident.
//!
//! All three are 32 bits wide whatever machine the code is compiled for, so that the portable layers run unchanged in
//! host tests.

use core::fmt;

/// Bytes of a page, on both families.
pub const PAGE_SIZE: u32 = 4096;

/// Log2 of [`PAGE_SIZE`].
pub const PAGE_SHIFT: u32 = 12;

/// First address that is not user space (`TASK_SIZE`).
pub const TASK_SIZE: u32 = 0x8000_0000;

/// Where the kernel's linear map starts: virtual = physical + `KERNEL_BASE`.
pub const KERNEL_BASE: u32 = 0xC000_0000;

macro_rules! address {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
        #[repr(transparent)]
        pub struct $name(u32);

        impl $name {
            /// Wraps a raw address; proves nothing.
            pub const fn new(raw: u32) -> Self {
                Self(raw)
            }

            /// The raw address.
            pub const fn raw(self) -> u32 {
                self.0
            }

            /// The address rounded down to its page.
            pub const fn page(self) -> Self {
                Self(self.0 & !(PAGE_SIZE - 1))
            }

            /// The address `bytes` further up, or `None` beyond the end of the address space.
            pub fn checked_add(self, bytes: u32) -> Option<Self> {
                self.0.checked_add(bytes).map(Self)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:#010x})"), self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#010x}", self.0)
            }
        }
    };
}

address! {
    /// A user virtual address: a claim made by user code, never dereferenced.
    UserAddr
}
address! {
    /// A physical address.
    PhysAddr
}

/// Rounds `value` up to whole pages; `None` where that exceeds 32 bits.
pub fn page_align_up(value: u32) -> Option<u32> {
    value.checked_add(PAGE_SIZE - 1).map(|v| v & !(PAGE_SIZE - 1))
}
