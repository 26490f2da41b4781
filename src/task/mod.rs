//! The running program: its name, descriptors, address space; loading and ending it.
//!
//! One program runs at a time, started by the shell, which waits for it. Its kernel side has no life of its own: system
//! calls run on the stack above the shell.

pub mod elf;
pub mod exec;

use crate::addr::UserAddr;
use crate::arch::ppc::trap::{Access, Cause};
use crate::arch::ppc::{TrapFrame, user_context};
use crate::arch::single::Single;
use crate::console;
use crate::fs::FileTable;
use crate::mm::AddressSpace;
use crate::println;
use core::cell::{Cell, RefCell};
use core::sync::atomic::{AtomicBool, Ordering};

/// Status of a program that a signal would have ended: 128 plus the signal number, as shells print it.
pub mod ending {
    /// Illegal instruction.
    pub const ILLEGAL: i32 = 128 + 4;
    /// Trap instruction.
    pub const TRAP: i32 = 128 + 5;
    /// Alignment, machine check.
    pub const BUS: i32 = 128 + 7;
    /// Segmentation fault.
    pub const SEGMENTATION: i32 = 128 + 11;
    /// Ctrl-C.
    pub const INTERRUPT: i32 = 128 + 2;
}

/// What the kernel knows of the program.
pub struct Task {
    name: Cell<&'static str>,
    /// Its descriptors.
    pub files: FileTable,
    /// Its address space, while one is loaded.
    pub space: RefCell<Option<AddressSpace>>,
}

static CURRENT: Single<Task> = Single::new(Task {
    name: Cell::new("none"),
    files: FileTable::new(),
    space: RefCell::new(None),
});

/// Whether user code is loaded and entered, so that the tick may look for Ctrl-C.
static RUNNING: AtomicBool = AtomicBool::new(false);

/// The running program.
#[inline(always)]
pub fn current() -> &'static Task {
    CURRENT.get()
}

/// Ends the program with an exit status, from within a system call.
pub fn exit(status: i32) -> ! {
    user_context::end_program(status)
}

/// The tick's share: sees Ctrl-C, and ends a program that computes in user mode. Returns whether one is in a system call
/// that must be its last.
pub fn tick(frame: &TrapFrame) -> bool {
    if !RUNNING.load(Ordering::Relaxed) {
        return false;
    }
    console::poll();
    if console::is_interrupted() && frame.from_user() {
        end_by_interrupt();
    }
    console::is_interrupted()
}

/// Ends the program because of Ctrl-C.
pub fn end_by_interrupt() -> ! {
    console::take_interrupt();
    println!("^C");
    user_context::end_program(ending::INTERRUPT)
}

/// User code caused an exception that is not an interrupt: reports it and ends the program.
pub fn user_exception(frame: &TrapFrame, cause: Cause) -> ! {
    let task = current();
    let (name, pc) = (task.name.get(), frame.nip);
    // What the program may know of the address is in its page tables, whatever the hardware calls the refusal: a segment
    // or a BAT refuses before any page is looked up.
    let fault = |address: u32, access: &str| {
        let space = task.space.borrow();
        let is_mapped = |space: &AddressSpace| space.lookup(UserAddr::new(address)).is_some();
        let class = if space.as_ref().is_some_and(is_mapped) {
            "access error"
        } else {
            "not mapped"
        };
        println!("{name}: segmentation fault at {address:#010x}, pc {pc:#010x}, {access}, {class}");
        ending::SEGMENTATION
    };
    let status = match cause {
        Cause::Data(Access { address, store, .. }) => {
            fault(address.unwrap_or(frame.dar), if store { "store" } else { "load" })
        }
        Cause::Instruction(_) => fault(pc, "execute"),
        _ => {
            println!("{name}: {} at pc {pc:#010x}", cause.describe());
            match cause {
                Cause::Illegal | Cause::Privileged | Cause::FloatingPoint => ending::ILLEGAL,
                Cause::Trap => ending::TRAP,
                _ => ending::BUS,
            }
        }
    };
    user_context::end_program(status)
}
