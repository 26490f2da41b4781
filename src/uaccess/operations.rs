//! The operations of user access under a policy, as a table: what is compiled once and runs under every policy calls
//! through it. The measured path does not.
#![forbid(unsafe_code)]

use super::{
    __get_user, __put_user, Direction, Residue, UserInt, UserRange, access_ok, check_zeroed_user, clear_user,
    copy_from_user, copy_from_user_checked, copy_struct_from_user, copy_to_user, copy_to_user_checked,
    fault_in_readable, fault_in_writeable, get_user, load_unaligned_zeropad, put_user, raw_copy_from_user,
    strncpy_from_user, strnlen_user, user_access_begin,
};
use crate::addr::UserAddr;
use crate::errno::Errno;
use crate::policy::{Access, AddressLimit, Axis, Policy, RangeCheck, WindowControl};

/// The accessors of one integer type.
pub struct Integer<T> {
    /// [`get_user`].
    pub get: fn(UserAddr) -> Result<T, Errno>,
    /// [`__get_user`].
    pub get_at: fn(&UserRange) -> Result<T, Errno>,
    /// [`put_user`].
    pub put: fn(UserAddr, T) -> Result<(), Errno>,
    /// [`__put_user`].
    pub put_at: fn(&UserRange, T) -> Result<(), Errno>,
}

impl<T: UserInt> Integer<T> {
    const fn of<P: Policy>() -> Self {
        Self {
            get: get_user::<P, T>,
            get_at: __get_user::<P, T>,
            put: put_user::<P, T>,
            put_at: __put_user::<P, T>,
        }
    }
}

/// Accesses within a block of [`user_access_begin`]: words at byte offsets in its range.
pub trait Block {
    /// Reads one.
    ///
    /// # Errors
    /// `EFAULT` outside the range or after a fault.
    fn get(&self, offset: u32) -> Result<u32, Errno>;
    /// Writes one.
    ///
    /// # Errors
    /// As [`Block::get`].
    fn put(&self, offset: u32, value: u32) -> Result<(), Errno>;
}

impl<P: Policy> Block for super::UserAccess<'_, P> {
    fn get(&self, offset: u32) -> Result<u32, Errno> {
        Self::get(self, offset)
    }

    fn put(&self, offset: u32, value: u32) -> Result<(), Errno> {
        Self::put(self, offset, value)
    }
}

/// What runs in a block.
pub type InBlock<'a> = &'a mut dyn FnMut(&dyn Block) -> Result<(), Errno>;

fn with_user_access<P: Policy>(range: &UserRange, direction: Direction, action: InBlock<'_>) -> Result<(), Errno> {
    action(&user_access_begin::<P>(range, direction)?)
}

/// Every operation under one policy; each is documented where it is defined.
#[allow(missing_docs, reason = "the names are those of the functions")]
pub struct Operations {
    /// The values of the axes that matter here.
    pub axes: [&'static str; 5],
    /// Whether `set_fs` exists.
    pub has_set_fs: bool,
    /// Whether the window is closed between operations.
    pub has_window: fn() -> bool,
    /// Whether what passes `access_ok` lies within the limit to its last byte.
    pub is_check_exact: bool,
    pub access_ok: fn(UserAddr, u32) -> Result<UserRange, Errno>,
    pub clear_user: fn(&UserRange) -> Residue,
    pub copy_to_user: fn(&UserRange, &[u8]) -> Residue,
    pub copy_to_user_checked: fn(UserAddr, &[u8]) -> Residue,
    pub copy_from_user: fn(&mut [u8], &UserRange) -> Residue,
    pub copy_from_user_checked: fn(&mut [u8], UserAddr) -> Residue,
    pub raw_copy_from_user: fn(&mut [u8], &UserRange) -> Residue,
    pub fault_in_readable: fn(&UserRange) -> Residue,
    pub fault_in_writeable: fn(&UserRange) -> Residue,
    pub u8: Integer<u8>,
    pub u16: Integer<u16>,
    pub u32: Integer<u32>,
    pub u64: Integer<u64>,
    pub load_unaligned_zeropad: fn(UserAddr) -> Result<u32, Errno>,
    pub strncpy_from_user: fn(&mut [u8], UserAddr) -> Result<u32, Errno>,
    pub strnlen_user: fn(UserAddr, u32) -> u32,
    pub check_zeroed_user: fn(&UserRange) -> Result<bool, Errno>,
    pub copy_struct_from_user: fn(&mut [u8], UserAddr, u32) -> Result<(), Errno>,
    /// [`user_access_begin`], an action, and the end.
    pub with_user_access: fn(&UserRange, Direction, InBlock<'_>) -> Result<(), Errno>,
}

impl<T> Integer<T> {
    fn functions(&self) -> [u32; 4] {
        [
            self.get as usize as u32,
            self.get_at as usize as u32,
            self.put as usize as u32,
            self.put_at as usize as u32,
        ]
    }
}

impl Operations {
    /// Addresses of all functions of the table.
    pub fn functions(&self) -> impl Iterator<Item = u32> {
        let integers = [
            self.u8.functions(),
            self.u16.functions(),
            self.u32.functions(),
            self.u64.functions(),
        ];
        let others = [
            self.access_ok as usize,
            self.clear_user as usize,
            self.copy_to_user as usize,
            self.copy_to_user_checked as usize,
            self.copy_from_user as usize,
            self.copy_from_user_checked as usize,
            self.raw_copy_from_user as usize,
            self.fault_in_readable as usize,
            self.fault_in_writeable as usize,
            self.load_unaligned_zeropad as usize,
            self.strncpy_from_user as usize,
            self.strnlen_user as usize,
            self.check_zeroed_user as usize,
            self.copy_struct_from_user as usize,
            self.with_user_access as usize,
        ];
        let others = others.into_iter().map(|address| address as u32);
        integers.into_iter().flatten().chain(others)
    }
}

/// The table of a policy. Policies that agree in all that matters to user access share it.
pub const fn of<P: Policy>() -> &'static Operations {
    &const { table::<Access<P::Limit, P::Check, P::Window, P::Clear, P::Count>>() }
}

const fn table<P: Policy>() -> Operations {
    Operations {
        axes: [
            <P::Limit as Axis>::NAME,
            <P::Check as Axis>::NAME,
            <P::Window as Axis>::NAME,
            <P::Clear as Axis>::NAME,
            <P::Count as Axis>::NAME,
        ],
        has_set_fs: <P::Limit as AddressLimit>::HAS_SET_FS,
        has_window: <P::Window as WindowControl>::is_enabled,
        is_check_exact: <P::Check as RangeCheck>::IS_EXACT,
        access_ok: access_ok::<P>,
        clear_user: clear_user::<P>,
        copy_to_user: copy_to_user::<P>,
        copy_to_user_checked: copy_to_user_checked::<P>,
        copy_from_user: copy_from_user::<P>,
        copy_from_user_checked: copy_from_user_checked::<P>,
        raw_copy_from_user: raw_copy_from_user::<P>,
        fault_in_readable: fault_in_readable::<P>,
        fault_in_writeable: fault_in_writeable::<P>,
        u8: Integer::of::<P>(),
        u16: Integer::of::<P>(),
        u32: Integer::of::<P>(),
        u64: Integer::of::<P>(),
        load_unaligned_zeropad: load_unaligned_zeropad::<P>,
        strncpy_from_user: strncpy_from_user::<P>,
        strnlen_user: strnlen_user::<P>,
        check_zeroed_user: check_zeroed_user::<P>,
        copy_struct_from_user: copy_struct_from_user::<P>,
        with_user_access: with_user_access::<P>,
    }
}
