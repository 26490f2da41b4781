//! The boundary to the assembly: the only unsafe code of user access.
//!
//! Every function here presumes that the caller has checked the range and opened the window; the callers are in the parent
//! module alone. On the host the fake family stands in.

#[cfg(target_os = "none")]
mod imp {
    use crate::uaccess::copy_mc::McSource;
    use crate::uaccess::extable::Entry;
    use core::arch::asm;

    unsafe extern "C" {
        fn __copy_tofrom_user(to: u32, from: u32, length: u32) -> u32;
        fn __arch_clear_user(to: u32, length: u32) -> u32;
        fn __clear_user_words(to: u32, length: u32) -> u32;
        fn __clear_user_bytes(to: u32, length: u32) -> u32;
        fn __get_user_1(address: u32) -> u64;
        fn __get_user_2(address: u32) -> u64;
        fn __get_user_4(address: u32) -> u64;
        fn __put_user_1(address: u32, value: u32) -> u32;
        fn __put_user_2(address: u32, value: u32) -> u32;
        fn __put_user_4(address: u32, value: u32) -> u32;
        fn __strncpy_from_user(to: u32, from: u32, count: u32) -> u32;
        fn __strnlen_user(from: u32, count: u32) -> u32;
        fn __load_unaligned_zeropad(address: u32) -> u64;
        fn __get_kernel_nofault_1(address: u32) -> u64;
        fn __get_kernel_nofault_2(address: u32) -> u64;
        fn __get_kernel_nofault_4(address: u32) -> u64;
        fn __put_kernel_nofault_1(address: u32, value: u32) -> u32;
        fn __put_kernel_nofault_2(address: u32, value: u32) -> u32;
        fn __put_kernel_nofault_4(address: u32, value: u32) -> u32;
        fn copy_mc_fragile(to: u32, from: u32, length: u32) -> u64;
        fn copy_mc_generic(to: u32, from: u32, length: u32) -> u64;
        static __ex_table_mc_start: Entry;
        static __ex_table_mc_end: Entry;
        static __ex_table_start: Entry;
        static __ex_table_end: Entry;
        static __ex_table_nofault_start: Entry;
        static __ex_table_nofault_end: Entry;
    }

    /// Entries of accesses to user memory.
    pub fn exception_table() -> &'static [Entry] {
        table(&raw const __ex_table_start, &raw const __ex_table_end)
    }

    /// Entries of accesses to kernel memory that may not be there.
    pub fn nofault_table() -> &'static [Entry] {
        table(&raw const __ex_table_nofault_start, &raw const __ex_table_nofault_end)
    }

    /// Entries of loads that may meet a memory error.
    pub fn machine_check_table() -> &'static [Entry] {
        table(&raw const __ex_table_mc_start, &raw const __ex_table_mc_end)
    }

    fn table(start: *const Entry, end: *const Entry) -> &'static [Entry] {
        let count = (end.addr() - start.addr()) / size_of::<Entry>();
        // SAFETY: link.ld puts whole entries between the two symbols, in read-only memory.
        unsafe { core::slice::from_raw_parts(start, count) }
    }

    /// Calls the assembly without a stack frame: the link register waits in a register that the routine leaves alone, and
    /// so may all that it does not clobber (uaccess.s states what it does).
    #[inline(always)]
    pub fn clear_user(to: u32, length: u32) -> u32 {
        let residue;
        // SAFETY: the range is user space, where no Rust object lives; faults are fixed up. LR is as before at the end.
        unsafe {
            asm!(
                "mflr 11",
                "bl {clear}",
                "mtlr 11",
                clear = sym __arch_clear_user,
                inlateout("r3") to => residue,
                inlateout("r4") length => _,
                out("r0") _, out("r5") _, out("r6") _, out("r7") _, out("r8") _, out("r9") _, out("r11") _,
                out("ctr") _, out("cr0") _, out("cr1") _,
                options(nostack),
            );
        }
        residue
    }

    pub fn clear_user_words(to: u32, length: u32) -> u32 {
        // SAFETY: as in `clear_user`.
        unsafe { __clear_user_words(to, length) }
    }

    pub fn clear_user_bytes(to: u32, length: u32) -> u32 {
        // SAFETY: as in `clear_user`.
        unsafe { __clear_user_bytes(to, length) }
    }

    pub fn copy_to_user(to: u32, source: &[u8]) -> u32 {
        // SAFETY: the source is a live slice; the target is user space; faults on it are fixed up.
        unsafe { __copy_tofrom_user(to, source.as_ptr().addr() as u32, source.len() as u32) }
    }

    pub fn copy_from_user(target: &mut [u8], from: u32) -> u32 {
        // SAFETY: the target is a live, exclusive slice; the source is user space; faults on it are fixed up.
        unsafe { __copy_tofrom_user(target.as_mut_ptr().addr() as u32, from, target.len() as u32) }
    }

    /// Residue and address of the first lost byte, as `copy_mc.s` gives them.
    fn with_loss(result: u64) -> (u32, u32) {
        ((result >> 32) as u32, result as u32)
    }

    #[inline(always)]
    pub fn copy_mc_fragile_to_user(to: u32, source: &McSource) -> (u32, u32) {
        // SAFETY: the source may be loaded from; the target is user space; faults and machine checks are fixed up.
        with_loss(unsafe { copy_mc_fragile(to, source.start(), source.len()) })
    }

    #[inline(always)]
    pub fn copy_mc_generic_to_user(to: u32, source: &McSource) -> (u32, u32) {
        // SAFETY: as in `copy_mc_fragile_to_user`.
        with_loss(unsafe { copy_mc_generic(to, source.start(), source.len()) })
    }

    pub fn copy_mc_fragile_to_kernel(target: &mut [u8], source: &McSource) -> (u32, u32) {
        let length = source.len().min(target.len() as u32);
        // SAFETY: the source may be loaded from; the target is a live, exclusive slice; machine checks are fixed up.
        with_loss(unsafe { copy_mc_fragile(target.as_mut_ptr().addr() as u32, source.start(), length) })
    }

    pub fn copy_mc_generic_to_kernel(target: &mut [u8], source: &McSource) -> (u32, u32) {
        let length = source.len().min(target.len() as u32);
        // SAFETY: as in `copy_mc_fragile_to_kernel`.
        with_loss(unsafe { copy_mc_generic(target.as_mut_ptr().addr() as u32, source.start(), length) })
    }

    fn got(result: u64) -> Option<u32> {
        (result >> 32 == 0).then_some(result as u32)
    }

    pub fn get_user_1(address: u32) -> Option<u8> {
        // SAFETY: a load from user space; a fault is fixed up.
        got(unsafe { __get_user_1(address) }).map(|value| value as u8)
    }

    pub fn get_user_2(address: u32) -> Option<u16> {
        // SAFETY: as in `get_user_1`.
        got(unsafe { __get_user_2(address) }).map(|value| value as u16)
    }

    pub fn get_user_4(address: u32) -> Option<u32> {
        // SAFETY: as in `get_user_1`.
        got(unsafe { __get_user_4(address) })
    }

    pub fn put_user_1(address: u32, value: u8) -> bool {
        // SAFETY: a store to user space; a fault is fixed up.
        unsafe { __put_user_1(address, value.into()) == 0 }
    }

    pub fn put_user_2(address: u32, value: u16) -> bool {
        // SAFETY: as in `put_user_1`.
        unsafe { __put_user_2(address, value.into()) == 0 }
    }

    pub fn put_user_4(address: u32, value: u32) -> bool {
        // SAFETY: as in `put_user_1`.
        unsafe { __put_user_4(address, value) == 0 }
    }

    /// `None` after a fault; more than `count` if there is no NUL.
    pub fn strnlen_user(from: u32, count: u32) -> Option<u32> {
        // SAFETY: loads from user space; faults are fixed up.
        let length = unsafe { __strnlen_user(from, count) };
        (length != 0).then_some(length)
    }

    pub fn load_unaligned_zeropad(address: u32) -> Option<u32> {
        // SAFETY: loads from user space; faults are fixed up.
        got(unsafe { __load_unaligned_zeropad(address) })
    }

    pub fn get_kernel_nofault_1(address: u32) -> Option<u8> {
        // SAFETY: a load whose fault is fixed up; the value is plain bytes.
        got(unsafe { __get_kernel_nofault_1(address) }).map(|value| value as u8)
    }

    pub fn get_kernel_nofault_2(address: u32) -> Option<u16> {
        // SAFETY: as in `get_kernel_nofault_1`.
        got(unsafe { __get_kernel_nofault_2(address) }).map(|value| value as u16)
    }

    pub fn get_kernel_nofault_4(address: u32) -> Option<u32> {
        // SAFETY: as in `get_kernel_nofault_1`.
        got(unsafe { __get_kernel_nofault_4(address) })
    }

    /// # Safety
    /// If the byte is there, it must not belong to code or to an object that relies on its value.
    pub unsafe fn put_kernel_nofault_1(address: u32, value: u8) -> bool {
        // SAFETY: promised by the caller; a fault is fixed up.
        unsafe { __put_kernel_nofault_1(address, value.into()) == 0 }
    }

    /// # Safety
    /// As [`put_kernel_nofault_1`].
    pub unsafe fn put_kernel_nofault_2(address: u32, value: u16) -> bool {
        // SAFETY: as in `put_kernel_nofault_1`.
        unsafe { __put_kernel_nofault_2(address, value.into()) == 0 }
    }

    /// # Safety
    /// As [`put_kernel_nofault_1`].
    pub unsafe fn put_kernel_nofault_4(address: u32, value: u32) -> bool {
        // SAFETY: as in `put_kernel_nofault_1`.
        unsafe { __put_kernel_nofault_4(address, value) == 0 }
    }

    pub fn strncpy_from_user(target: &mut [u8], from: u32) -> Option<u32> {
        // SAFETY: the target is a live, exclusive slice of `count` bytes; the source is user space; faults are fixed up.
        let length = unsafe { __strncpy_from_user(target.as_mut_ptr().addr() as u32, from, target.len() as u32) };
        (length != u32::MAX).then_some(length)
    }
}

#[cfg(not(target_os = "none"))]
use crate::arch::host::raw as imp;

pub(super) use imp::*;
