//! The firmware binary.
#![no_std]
#![no_main]
use zeronull as _;

#[unsafe(no_mangle)]
extern "C" fn kernel_main() -> ! {
    zeronull::board::init();
    for b in b"hello\n" {
        zeronull::board::console_put(*b);
    }
    zeronull::board::power_off()
}
#[unsafe(no_mangle)]
static __emergency_stack_top: u32 = 0;
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
