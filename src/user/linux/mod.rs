//! The programs' side of the system call interface of 32-bit PowerPC Linux, and the only unsafe code in them.
//!
//! `sc` with the number in r0 and arguments from r3; the result comes in r3, and CR0.SO says that it is an error
//! number. 64-bit arguments take two registers of which the first is odd (r3, r5, r7), high half first. Registers r0,
//! r3 to r12, CR0, CTR and XER may change. Source: kernel `arch/powerpc/kernel/entry_32.S`, call numbers from
//! `arch/powerpc/kernel/syscalls/syscall.tbl`.

pub mod heap;

use super::errno::Errno;
use super::print::complain;
use super::start::StartInfo;
use super::sys::{Fd, IoVector, Sys, Whence};
use alloc::vec::Vec;
use core::arch::asm;
use core::ffi::{CStr, c_char};
use core::panic::PanicInfo;

/// Call numbers, named as in the kernel's table.
pub mod number {
    #![expect(missing_docs, reason = "the names are the calls' own")]
    pub const READ: u32 = 3;
    pub const WRITE: u32 = 4;
    pub const OPEN: u32 = 5;
    pub const CLOSE: u32 = 6;
    pub const CREAT: u32 = 8;
    pub const UNLINK: u32 = 10;
    pub const LSEEK: u32 = 19;
    pub const GETPID: u32 = 20;
    pub const DUP: u32 = 41;
    pub const PIPE: u32 = 42;
    pub const TIMES: u32 = 43;
    pub const BRK: u32 = 45;
    pub const IOCTL: u32 = 54;
    pub const FCNTL: u32 = 55;
    pub const DUP2: u32 = 63;
    pub const GETPPID: u32 = 64;
    pub const SETRLIMIT: u32 = 75;
    pub const GETRUSAGE: u32 = 77;
    pub const GETTIMEOFDAY: u32 = 78;
    pub const MUNMAP: u32 = 91;
    pub const FSYNC: u32 = 118;
    pub const UNAME: u32 = 122;
    pub const MPROTECT: u32 = 125;
    pub const LLSEEK: u32 = 140;
    pub const READV: u32 = 145;
    pub const WRITEV: u32 = 146;
    pub const FDATASYNC: u32 = 148;
    pub const POLL: u32 = 167;
    pub const RT_SIGACTION: u32 = 173;
    pub const PREAD64: u32 = 179;
    pub const PWRITE64: u32 = 180;
    pub const UGETRLIMIT: u32 = 190;
    pub const MMAP2: u32 = 192;
    pub const TRUNCATE64: u32 = 193;
    pub const FTRUNCATE64: u32 = 194;
    pub const STAT64: u32 = 195;
    pub const LSTAT64: u32 = 196;
    pub const FSTAT64: u32 = 197;
    pub const FCNTL64: u32 = 204;
    pub const SENDFILE64: u32 = 226;
    pub const EXIT_GROUP: u32 = 234;
    pub const CLOCK_GETTIME: u32 = 246;
    pub const CLOCK_GETRES: u32 = 247;
    pub const SPLICE: u32 = 283;
    pub const TEE: u32 = 284;
    pub const VMSPLICE: u32 = 285;
    pub const OPENAT: u32 = 286;
    pub const FSTATAT64: u32 = 291;
    pub const UNLINKAT: u32 = 292;
    pub const DUP3: u32 = 316;
    pub const PIPE2: u32 = 317;
    pub const PREADV: u32 = 320;
    pub const PWRITEV: u32 = 321;
    pub const PREADV2: u32 = 380;
    pub const PWRITEV2: u32 = 381;
}

/// Clock number of `CLOCK_MONOTONIC` (kernel `include/uapi/linux/time.h`).
const CLOCK_MONOTONIC: u32 = 1;

/// Exit status of a program that panicked, as Rust programs have it on Linux.
const PANIC_STATUS: u8 = 101;

/// Defines a call with a fixed number of arguments, so that a call loads no register that it does not need.
macro_rules! system_call {
    ($name:ident($first:ident $(, $argument:ident = $register:tt)*), changes $($changed:tt)*) => {
        /// Makes one system call.
        ///
        /// # Errors
        /// The error number, where the kernel set CR0.SO.
        ///
        /// # Safety
        /// The call must leave alone all memory that Rust code uses, except what its arguments give it by pointer with
        /// the rights needed.
        #[inline(always)]
        pub unsafe fn $name(number: u32, $first: u32 $(, $argument: u32)*) -> Result<u32, Errno> {
            let result: u32;
            // SAFETY: the caller vouches for the memory; every register that the ABI lets the kernel change is
            // declared.
            unsafe {
                asm!(
                    "sc",
                    "bso {error}",
                    inlateout("r0") number => _,
                    inlateout("r3") $first => result,
                    $(inlateout($register) $argument => _,)*
                    $(lateout($changed) _,)*
                    lateout("r9") _,
                    lateout("r10") _,
                    lateout("r11") _,
                    lateout("r12") _,
                    lateout("cr0") _,
                    lateout("ctr") _,
                    lateout("xer") _,
                    error = label { return Err(Errno(result.cast_signed())) },
                    options(nostack),
                );
            }
            Ok(result)
        }
    };
}

system_call!(syscall1(a), changes "r4" "r5" "r6" "r7" "r8");
system_call!(syscall2(a, b = "r4"), changes "r5" "r6" "r7" "r8");
system_call!(syscall3(a, b = "r4", c = "r5"), changes "r6" "r7" "r8");
system_call!(syscall4(a, b = "r4", c = "r5", d = "r6"), changes "r7" "r8");
system_call!(syscall5(a, b = "r4", c = "r5", d = "r6", e = "r7"), changes "r8");

system_call!(syscall6(a, b = "r4", c = "r5", d = "r6", e = "r7", f = "r8"), changes);

/// Makes a system call with the arguments of a list; those that it lacks are 0.
///
/// # Errors
/// The error number, where the kernel set CR0.SO.
///
/// # Safety
/// As [`syscall6`].
pub unsafe fn syscall(number: u32, arguments: &[u32]) -> Result<u32, Errno> {
    let argument = |index: usize| arguments.get(index).copied().unwrap_or(0);
    // SAFETY: the caller vouches for the memory.
    unsafe {
        syscall6(
            number,
            argument(0),
            argument(1),
            argument(2),
            argument(3),
            argument(4),
            argument(5),
        )
    }
}

/// Ends the process with `status`.
pub fn exit(status: u8) -> ! {
    // SAFETY: exit_group touches no memory of the process and does not return.
    unsafe { asm!("sc", "trap", in("r0") number::EXIT_GROUP, in("r3") u32::from(status), options(noreturn)) }
}

/// Reports a panic of `program` on standard error and ends the process.
pub fn report_panic(program: &str, info: &PanicInfo<'_>) -> ! {
    complain(&mut Linux, format_args!("{program}: {info}\n"));
    exit(PANIC_STATUS)
}

/// Reads the start stack: argument count, argument pointers, 0, environment pointers, 0, auxiliary pairs up to type 0.
///
/// # Safety
/// `stack` is the stack pointer that the kernel started this process with, and nothing has been written at or above it
/// since.
pub unsafe fn start_info(stack: *const u32) -> StartInfo<'static> {
    let word = |index: usize| {
        // SAFETY: the callers below stop at the end marks, so every word read belongs to the start stack.
        unsafe { stack.add(index).read() }
    };
    let text = |index: usize| {
        // SAFETY: the kernel placed a terminated string for each pointer; they lie above the stack and stay for good.
        unsafe { CStr::from_ptr(word(index) as *const c_char) }
    };
    let mut next = 1;
    let mut texts_up_to_null = || {
        let mut texts = Vec::new();
        while word(next) != 0 {
            texts.push(text(next));
            next += 1;
        }
        next += 1;
        texts
    };
    let arguments = texts_up_to_null();
    let environment = texts_up_to_null();
    let mut auxiliary = Vec::new();
    while word(next) != 0 {
        auxiliary.push((word(next), word(next + 1)));
        next += 2;
    }
    StartInfo {
        arguments,
        environment,
        auxiliary,
        stack: stack.addr() as u32,
    }
}

/// The system as Linux programs see it.
#[derive(Debug)]
pub struct Linux;

/// The address of a pointer as a call argument.
#[inline(always)]
fn address<T: ?Sized>(pointer: *const T) -> u32 {
    pointer.addr() as u32
}

impl Sys for Linux {
    fn open(&mut self, path: &CStr, flags: u32, mode: u32) -> Result<Fd, Errno> {
        // SAFETY: `path` is readable up to its terminator.
        unsafe { syscall3(number::OPEN, address(path.as_ptr()), flags, mode) }.map(|fd| Fd(fd.cast_signed()))
    }

    fn close(&mut self, fd: Fd) -> Result<(), Errno> {
        // SAFETY: no memory is involved.
        unsafe { syscall1(number::CLOSE, fd.0.cast_unsigned()) }.map(drop)
    }

    #[inline(always)]
    fn read(&mut self, fd: Fd, buffer: &mut [u8]) -> Result<usize, Errno> {
        // SAFETY: the kernel writes only within `buffer`, which is borrowed exclusively.
        unsafe {
            syscall3(
                number::READ,
                fd.0.cast_unsigned(),
                address(buffer.as_mut_ptr()),
                buffer.len() as u32,
            )
        }
        .map(|count| count as usize)
    }

    #[inline(always)]
    fn read_at(&mut self, fd: Fd, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let (high, low) = halves(offset);
        // r6 stays unused: a 64-bit argument starts in an odd register.
        // SAFETY: the kernel writes only within `buffer`, which is borrowed exclusively.
        unsafe {
            syscall6(
                number::PREAD64,
                fd.0.cast_unsigned(),
                address(buffer.as_mut_ptr()),
                buffer.len() as u32,
                0,
                high,
                low,
            )
        }
        .map(|count| count as usize)
    }

    #[inline(always)]
    fn read_vector(&mut self, fd: Fd, vector: &mut IoVector) -> Result<usize, Errno> {
        let (array, length) = vector.array();
        // SAFETY: the array leads to the vector's own memory, which is borrowed exclusively.
        unsafe { syscall3(number::READV, fd.0.cast_unsigned(), address(array), length as u32) }
            .map(|count| count as usize)
    }

    #[inline(always)]
    fn write_vector(&mut self, fd: Fd, vector: &IoVector) -> Result<usize, Errno> {
        let (array, length) = vector.array();
        // SAFETY: the kernel only reads, within the vector's own memory.
        unsafe { syscall3(number::WRITEV, fd.0.cast_unsigned(), address(array), length as u32) }
            .map(|count| count as usize)
    }

    #[inline(always)]
    fn send_file(&mut self, to: Fd, from: Fd, count: usize) -> Result<usize, Errno> {
        let (to, from) = (to.0.cast_unsigned(), from.0.cast_unsigned());
        // SAFETY: no memory is involved; the offset is none.
        unsafe { syscall4(number::SENDFILE64, to, from, 0, count as u32) }.map(|count| count as usize)
    }

    #[inline(always)]
    fn splice(&mut self, from: Fd, to: Fd, count: usize) -> Result<usize, Errno> {
        let (from, to) = (from.0.cast_unsigned(), to.0.cast_unsigned());
        // SAFETY: no memory is involved; the offsets are none.
        unsafe { syscall6(number::SPLICE, from, 0, to, 0, count as u32, 0) }.map(|count| count as usize)
    }

    fn pipe(&mut self) -> Result<[Fd; 2], Errno> {
        let mut ends = [0u32; 2];
        // SAFETY: the kernel writes the two words of `ends` only.
        unsafe { syscall1(number::PIPE, address(&raw mut ends)) }?;
        Ok(ends.map(|end| Fd(end.cast_signed())))
    }

    #[inline(always)]
    fn write(&mut self, fd: Fd, bytes: &[u8]) -> Result<usize, Errno> {
        // SAFETY: the kernel only reads, within `bytes`.
        unsafe {
            syscall3(
                number::WRITE,
                fd.0.cast_unsigned(),
                address(bytes.as_ptr()),
                bytes.len() as u32,
            )
        }
        .map(|count| count as usize)
    }

    fn seek(&mut self, fd: Fd, offset: i64, whence: Whence) -> Result<u64, Errno> {
        let mut position = 0u64;
        let (high, low) = halves(offset.cast_unsigned());
        // SAFETY: the kernel writes the 8 bytes of `position` only.
        unsafe {
            syscall5(
                number::LLSEEK,
                fd.0.cast_unsigned(),
                high,
                low,
                address(&raw mut position),
                whence as u32,
            )
        }
        .map(|_| position)
    }

    fn truncate(&mut self, fd: Fd, length: u64) -> Result<(), Errno> {
        let (high, low) = halves(length);
        // r4 stays unused: a 64-bit argument starts in an odd register.
        // SAFETY: no memory is involved.
        unsafe { syscall4(number::FTRUNCATE64, fd.0.cast_unsigned(), 0, high, low) }.map(drop)
    }

    fn sync(&mut self, fd: Fd) -> Result<(), Errno> {
        // SAFETY: no memory is involved.
        unsafe { syscall1(number::FSYNC, fd.0.cast_unsigned()) }.map(drop)
    }

    #[inline(always)]
    fn parent_process(&mut self) -> Result<u32, Errno> {
        // SAFETY: no memory is involved. The call takes no argument.
        unsafe { syscall1(number::GETPPID, 0) }
    }

    fn monotonic_ns(&mut self) -> Result<u64, Errno> {
        // `struct old_timespec32`: seconds, nanoseconds.
        let mut time = [0u32; 2];
        // SAFETY: the kernel writes the 8 bytes of `time` only.
        unsafe { syscall2(number::CLOCK_GETTIME, CLOCK_MONOTONIC, address(&raw mut time)) }?;
        Ok(u64::from(time[0]) * 1_000_000_000 + u64::from(time[1]))
    }

    #[inline(always)]
    fn ticks(&mut self) -> u64 {
        loop {
            let (upper, lower, again): (u32, u32, u32);
            // SAFETY: reading the time base changes nothing.
            unsafe {
                asm!("mftbu {0}", "mftb {1}", "mftbu {2}", out(reg) upper, out(reg) lower, out(reg) again,
                     options(nomem, nostack, preserves_flags));
            }
            if upper == again {
                return u64::from(upper) << 32 | u64::from(lower);
            }
        }
    }
}

/// High and low half of a 64-bit argument.
fn halves(value: u64) -> (u32, u32) {
    ((value >> 32) as u32, value as u32)
}
