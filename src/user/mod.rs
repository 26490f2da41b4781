//! User programs: what `dd`, `nullcall` and their kin are made of.
//!
//! A program is a static ELF file of the 32-bit PowerPC Linux ABI (`sc`, number in r0, arguments from r3, CR0.SO set on
//! error) without a C library and without a floating-point instruction. The very same file runs under `qemu-ppc` on a
//! Linux host and on the zeronull firmware.
//!
//! ```text
//!   src/bin/NAME.rs      user_program!(…): entry point, panic handler, heap
//!   dd  iops  moves  nullcall   portable programs over the `Sys` trait, tested on the host with a scripted system
//!   print  number        output and the size grammar that programs share
//!   sys  errno           the seam: what a program asks of its system
//!   linux                system calls, start stack, heap: the unsafe part (target builds with feature `user`)
//!   calls                makes thousands of calls and prints their results, to compare systems; unsafe by trade as well
//!   probe                does on purpose what programs must not do; unsafe by trade, on the target only
//! ```
//!
//! Error numbers and call numbers are read from the Linux ABI here once more, not taken from the firmware's own
//! modules: the programs stand for those that the firmware did not write, and must not inherit its mistakes.

pub mod dd;
pub mod errno;
pub mod iops;
pub mod moves;
pub mod nullcall;
pub mod number;
pub mod print;
pub mod start;
pub mod sys;

#[cfg(all(target_arch = "powerpc", feature = "user"))]
pub mod calls;
#[cfg(test)]
mod fake;
#[cfg(all(target_arch = "powerpc", feature = "user"))]
pub mod linux;
#[cfg(all(target_arch = "powerpc", feature = "user"))]
pub mod probe;

/// Makes a binary of a program: `user_program!(path::to::main)` with `fn main(&StartInfo, &mut impl Sys) -> u8`.
///
/// For the target this defines `_start`, the panic handler and the heap. Elsewhere it defines a `main` that refuses to
/// run, so that the binary still passes the host's type check.
#[macro_export]
macro_rules! user_program {
    ($main:path) => {
        #[cfg(target_os = "none")]
        mod program {
            use $crate::user::linux;

            #[global_allocator]
            static HEAP: linux::heap::Heap = linux::heap::Heap::new();

            /// Linux enters with r1 on the argument count; the other registers hold nothing of use. A zero back chain
            /// and a zero LR end every backtrace here.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            extern "C" fn _start() -> ! {
                core::arch::naked_asm!(
                    "mr 3, 1",
                    "clrrwi 1, 1, 4",
                    "li 0, 0",
                    "stwu 0, -16(1)",
                    "mtlr 0",
                    "b {enter}",
                    enter = sym enter,
                )
            }

            extern "C" fn enter(stack: *const u32) -> ! {
                // SAFETY: `_start` passes the stack pointer that the kernel started the process with.
                let start = unsafe { linux::start_info(stack) };
                linux::exit(super::run(&start, &mut linux::Linux))
            }

            #[panic_handler]
            fn panic(info: &core::panic::PanicInfo) -> ! {
                linux::report_panic(env!("CARGO_BIN_NAME"), info)
            }
        }

        #[cfg(target_os = "none")]
        use $main as run;

        #[cfg(not(target_os = "none"))]
        fn main() -> std::process::ExitCode {
            eprintln!("{}: this program is built for powerpc-zeronull-none only", env!("CARGO_BIN_NAME"));
            std::process::ExitCode::FAILURE
        }
    };
}
