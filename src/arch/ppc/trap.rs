//! From the exception vector to the layer that owns the event.
//!
//! The assembly saves a full [`TrapFrame`], closes the user-access window and calls [`trap_dispatch`]. The family decodes
//! the vector into a [`Cause`]; the upper layers registered [`TrapHooks`] at start-up, so that this file depends on none
//! of them. Whatever a hook changes in the frame takes effect on return.

use super::frame::TrapFrame;
use super::user_context::{CaughtFault, take_catch};
use crate::addr::KERNEL_BASE;
use core::cell::Cell;

/// Why an access was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No translation exists.
    NotMapped,
    /// A translation exists but does not allow this kind of access.
    Protection,
}

impl Refusal {
    /// Two words for reports.
    pub fn describe(self) -> &'static str {
        match self {
            Refusal::NotMapped => "not mapped",
            Refusal::Protection => "access error",
        }
    }
}

/// A refused access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Virtual address, where the hardware gave a valid one.
    pub address: Option<u32>,
    /// Whether it was a store.
    pub store: bool,
    /// Why it was refused.
    pub refusal: Refusal,
}

/// What an exception means, whatever its vector number on this family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A load or store was refused.
    Data(Access),
    /// A fetch was refused; the address is the frame's nip.
    Instruction(Refusal),
    /// The decrementer passed zero.
    Decrementer,
    /// A device asks for service.
    External,
    /// An instruction that does not exist here.
    Illegal,
    /// An instruction that user mode may not execute.
    Privileged,
    /// A trap instruction.
    Trap,
    /// An access that the hardware does not do at this alignment or on this kind of memory.
    Alignment,
    /// A floating-point instruction.
    FloatingPoint,
    /// A bus cycle ended with an error.
    MachineCheck,
    /// A vector that nothing on this family raises.
    Unexpected,
}

impl Cause {
    /// One or two words for reports.
    pub fn describe(&self) -> &'static str {
        match self {
            Cause::Data(_) => "data access",
            Cause::Instruction(_) => "instruction access",
            Cause::Decrementer => "decrementer",
            Cause::External => "external interrupt",
            Cause::Illegal => "illegal instruction",
            Cause::Privileged => "privileged instruction",
            Cause::Trap => "trap instruction",
            Cause::Alignment => "alignment",
            Cause::FloatingPoint => "floating-point instruction",
            Cause::MachineCheck => "machine check",
            Cause::Unexpected => "unexpected exception",
        }
    }
}

/// What became of an exception of the kernel that may be a memory error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryError {
    /// It is none: the exception is what its vector says.
    No,
    /// The frame says where to go on.
    Recovered,
    /// Nothing recovers it: a machine check, whatever the vector.
    Fatal,
}

/// What the upper layers do with exceptions. Every hook runs with interrupts off and the user-access window closed.
#[derive(Clone, Copy)]
pub struct TrapHooks {
    /// The tick; must arm the decrementer again.
    pub tick: fn(&mut TrapFrame),
    /// A device interrupt.
    pub external: fn(&mut TrapFrame),
    /// Anything else that user code caused; usually ends the program.
    pub user: fn(&mut TrapFrame, Cause),
    /// The kernel met a machine check, or was refused its own memory, which may stand for one.
    pub memory_error: fn(&mut TrapFrame, Cause) -> MemoryError,
    /// A kernel access was refused: returns where to go on if the access has a fixup.
    pub fixup: fn(&TrapFrame, &Access) -> Option<u32>,
    /// The kernel accessed memory in a way that the hardware leaves to software: returns where to go on.
    pub alignment: fn(&TrapFrame) -> Option<u32>,
    /// A kernel fault that nothing recovers; ends the firmware with a report.
    pub kernel: fn(&TrapFrame, Cause) -> !,
    /// A kernel fault that a test provoked and [`super::user_context::catch`] recovers.
    pub caught: fn(&TrapFrame, Cause),
}

struct HookCell(Cell<Option<TrapHooks>>);
// SAFETY: one core; written once before interrupts are enabled and before user code runs.
unsafe impl Sync for HookCell {}
static HOOKS: HookCell = HookCell(Cell::new(None));

/// Registers the upper layers' handlers. To be called once, before interrupts are enabled.
pub fn set_hooks(hooks: TrapHooks) {
    HOOKS.0.set(Some(hooks));
}

unsafe extern "C" {
    fn catch_resume();
}

/// The one entry from the assembly. Changes to `frame` take effect on return.
#[unsafe(no_mangle)]
extern "C" fn trap_dispatch(frame: &mut TrapFrame) {
    let cause = crate::arch::family::cause(frame);
    let Some(hooks) = HOOKS.0.get() else {
        crate::arch::halt()
    };
    if frame.from_user() {
        super::accounting::from_user();
    }
    dispatch(frame, cause, &hooks);
    if frame.from_user() {
        super::accounting::to_user();
    }
}

fn dispatch(frame: &mut TrapFrame, mut cause: Cause, hooks: &TrapHooks) {
    match cause {
        Cause::Decrementer => return (hooks.tick)(frame),
        Cause::External => return (hooks.external)(frame),
        _ => {}
    }
    if frame.from_user() {
        return (hooks.user)(frame, cause);
    }
    let may_be_memory_error = match cause {
        Cause::MachineCheck => true,
        Cause::Data(access) => access.address.is_some_and(|address| address >= KERNEL_BASE),
        _ => false,
    };
    if may_be_memory_error {
        match (hooks.memory_error)(frame, cause) {
            MemoryError::No => {}
            MemoryError::Recovered => return,
            MemoryError::Fatal => cause = Cause::MachineCheck,
        }
    }
    let fixup = match &cause {
        Cause::Data(access) => (hooks.fixup)(frame, access),
        Cause::Alignment => (hooks.alignment)(frame),
        _ => None,
    };
    if let Some(fixup) = fixup {
        frame.nip = fixup;
        return;
    }
    let (address, store) = match cause {
        Cause::Data(access) => (access.address.unwrap_or(frame.dar), access.store),
        _ => (frame.nip, false),
    };
    let fault = CaughtFault {
        vector: frame.vector,
        nip: frame.nip,
        address,
        store,
    };
    let Some(buffer) = take_catch(fault) else {
        (hooks.kernel)(frame, cause)
    };
    (hooks.caught)(frame, cause);
    frame.window = 0;
    frame.gpr[3] = buffer as u32;
    frame.gpr[4] = 1;
    frame.nip = catch_resume as *const () as u32;
}
