//! The firmware binary: what the linker must find, over the library.
#![no_std]
#![no_main]

use core::arch::global_asm;
use zeronull::kernel;

/// Entered by the head with translation on and interrupts off, on the kernel stack.
#[unsafe(no_mangle)]
extern "C" fn kernel_main() -> ! {
    zeronull::arch::ppc::stack_protector::seed();
    kernel::start()
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    kernel::panic(info)
}

// The symbol table that the first link pass yielded; empty in an image of one pass.
global_asm!(
    ".section .symbols, \"a\"",
    concat!(".incbin \"", env!("ZERONULL_SYMBOL_BLOB"), "\""),
    ".previous"
);
