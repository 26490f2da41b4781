//! brk, mmap2 (anonymous), munmap, mprotect.
#![forbid(unsafe_code)]

use super::result;
use crate::addr::{PAGE_SIZE, TASK_SIZE, page_align_up};
use crate::arch::mmu_types::Protection;
use crate::errno::Errno;
use crate::mm::AddressSpace;
use crate::task;

const MAP_SHARED: u32 = 0x01;
const MAP_PRIVATE: u32 = 0x02;
const MAP_FIXED: u32 = 0x10;
const MAP_ANONYMOUS: u32 = 0x20;

fn with_space(f: impl FnOnce(&AddressSpace) -> Result<u32, Errno>) -> i32 {
    let space = task::current().space.borrow();
    result(space.as_ref().ok_or(Errno::ENOMEM).and_then(f))
}

/// `PROT_READ` 1, `PROT_WRITE` 2, `PROT_EXEC` 4; write and execute imply read, as the MMU has it.
fn protection(bits: u32) -> Result<Protection, Errno> {
    if bits & !7 != 0 {
        return Err(Errno::EINVAL);
    }
    Ok(Protection {
        read: bits != 0,
        write: bits & 2 != 0,
        execute: bits & 4 != 0,
        ..Protection::default()
    })
}

pub(super) extern "C" fn sys_brk(wanted: u32, _: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    with_space(|space| Ok(space.brk(wanted)))
}

fn mmap(address: u32, length: u32, bits: u32, flags: u32, fd: u32, offset: u32) -> i32 {
    with_space(|space| {
        let protection = protection(bits)?;
        let kind = flags & (MAP_SHARED | MAP_PRIVATE);
        if length == 0 || kind == 0 || kind == MAP_SHARED | MAP_PRIVATE {
            return Err(Errno::EINVAL);
        }
        if flags & MAP_ANONYMOUS == 0 {
            // No file here can be mapped; a bad descriptor is the more telling error.
            task::current().files.fdget(fd)?;
            return Err(if offset.is_multiple_of(PAGE_SIZE) {
                Errno::EACCES
            } else {
                Errno::EINVAL
            });
        }
        let length = page_align_up(length)
            .filter(|length| *length <= TASK_SIZE)
            .ok_or(Errno::ENOMEM)?;
        let start = if flags & MAP_FIXED != 0 {
            if !address.is_multiple_of(PAGE_SIZE) {
                return Err(Errno::EINVAL);
            }
            if address == 0 {
                return Err(Errno::EPERM);
            }
            if address > TASK_SIZE - length {
                return Err(Errno::ENOMEM);
            }
            address
        } else {
            space.find_gap(length)?
        };
        if let Err(error) = space.map(start, start + length, protection) {
            space.unmap(start, start + length);
            return Err(error);
        }
        Ok(start)
    })
}

/// The offset counts units of 4096 bytes.
pub(super) extern "C" fn sys_mmap2(address: u32, length: u32, bits: u32, flags: u32, fd: u32, offset: u32) -> i32 {
    mmap(address, length, bits, flags, fd, offset.wrapping_mul(PAGE_SIZE))
}

/// The offset counts bytes.
pub(super) extern "C" fn sys_mmap_bytes(address: u32, length: u32, bits: u32, flags: u32, fd: u32, offset: u32) -> i32 {
    mmap(address, length, bits, flags, fd, offset)
}

fn page_range(address: u32, length: u32) -> Result<(u32, u32), Errno> {
    if !address.is_multiple_of(PAGE_SIZE) {
        return Err(Errno::EINVAL);
    }
    let end = page_align_up(length)
        .and_then(|length| address.checked_add(length))
        .ok_or(Errno::EINVAL)?;
    if end > TASK_SIZE {
        Err(Errno::EINVAL)
    } else {
        Ok((address, end))
    }
}

pub(super) extern "C" fn sys_munmap(address: u32, length: u32, _: u32, _: u32, _: u32, _: u32) -> i32 {
    with_space(|space| {
        let (start, end) = page_range(address, length)?;
        if start == end {
            return Err(Errno::EINVAL);
        }
        space.unmap(start, end);
        Ok(0)
    })
}

pub(super) extern "C" fn sys_mprotect(address: u32, length: u32, bits: u32, _: u32, _: u32, _: u32) -> i32 {
    with_space(|space| {
        let protection = protection(bits)?;
        let (start, end) = page_range(address, length).map_err(|error| {
            if address.is_multiple_of(PAGE_SIZE) {
                Errno::ENOMEM
            } else {
                error
            }
        })?;
        if start < end {
            space.protect(start, end, protection)?;
        }
        Ok(0)
    })
}
