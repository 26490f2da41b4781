//! Entering and leaving user mode, and recovering from a kernel fault that a test provokes.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

unsafe extern "C" {
    fn enter_user(pc: u32, stack: u32) -> i32;
    fn leave_user(value: i32) -> !;
    fn catch_call(function: extern "C" fn(*mut ()), argument: *mut (), buffer: *mut CatchBuffer) -> u32;
}

/// Stack pointer in `enter_user`'s frame; written and read by the assembly.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the assembly names it so")]
static user_caller_stack: Word = Word(UnsafeCell::new(0));

#[repr(transparent)]
struct Word(UnsafeCell<u32>);
// SAFETY: one core; only the entry and exit assembly touches the word, with interrupts off.
unsafe impl Sync for Word {}

/// Runs user code from `pc` with `stack` as its r1 (both user addresses, mapped by the active address space) until the
/// program ends; returns what [`end_program`] was given.
///
/// The caller must not hold a borrow that a system call handler needs: handlers run above this frame.
pub fn run_user(pc: u32, stack: u32) -> i32 {
    // SAFETY: the assembly saves the callee-saved registers and restores them before it returns; user code cannot touch
    // kernel memory, and traps come back on the stack below this frame.
    unsafe { enter_user(pc, stack) }
}

/// Ends the running user program from within a system call or trap: [`run_user`] returns `value`.
///
/// Destructors of frames between here and `run_user` do not run; callers are at the top of a handler and own nothing.
pub fn end_program(value: i32) -> ! {
    // SAFETY: a user program is running, otherwise no user trap or system call could have led here, so the saved stack
    // pointer is that of a live `enter_user` frame.
    unsafe { leave_user(value) }
}

/// Registers of a caller of [`catch`].
#[repr(C)]
pub(super) struct CatchBuffer([u32; 22]);

/// A kernel fault that [`catch`] recovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaughtFault {
    /// Exception vector.
    pub vector: u32,
    /// pc of the access.
    pub nip: u32,
    /// The address, where the hardware gave one.
    pub address: u32,
    /// Whether a store was refused.
    pub store: bool,
}

struct Armed(UnsafeCell<Option<(*mut CatchBuffer, Option<CaughtFault>)>>);
// SAFETY: one core; the trap handler touches the cell only for a synchronous fault of the very code that armed it.
unsafe impl Sync for Armed {}
static ARMED: Armed = Armed(UnsafeCell::new(None));

/// Calls `f`; a kernel fault inside it abandons the call and is returned instead of ending the firmware.
///
/// For tests that provoke faults. `f` must own nothing that a skipped destructor would leak harmfully; the user-access
/// window is closed afterwards whatever `f` did. Calls do not nest.
///
/// # Errors
/// The fault, when there was one.
pub fn catch(mut f: impl FnMut()) -> Result<(), CaughtFault> {
    extern "C" fn call<F: FnMut()>(f: *mut ()) {
        // SAFETY: `catch` passes a pointer to its own `f`, alive and unaliased for the call.
        unsafe { (*f.cast::<F>())() }
    }
    fn entry<F: FnMut()>(_: &F) -> extern "C" fn(*mut ()) {
        call::<F>
    }
    let mut buffer = CatchBuffer([0; 22]);
    let function = entry(&f);
    // SAFETY: the buffer and the closure outlive the call; ARMED is read by the trap handler of this same core only.
    unsafe {
        assert!((*ARMED.0.get()).is_none(), "catch does not nest");
        *ARMED.0.get() = Some((&raw mut buffer, None));
        catch_call(function, (&raw mut f).cast(), &raw mut buffer);
        match (*ARMED.0.get()).take() {
            Some((_, Some(fault))) => Err(fault),
            _ => Ok(()),
        }
    }
}

/// Whether faults inside [`catch`] are left to end the firmware.
static ARE_FAULTS_FATAL: AtomicBool = AtomicBool::new(false);

/// Makes [`catch`] recover faults (`false`, the state at start) or leave them to the report that ends the firmware.
pub fn set_faults_fatal(are_fatal: bool) {
    ARE_FAULTS_FATAL.store(are_fatal, Ordering::Relaxed);
}

/// Called by the trap handler for a kernel fault: if [`catch`] is armed, notes the fault and says where to resume.
pub(super) fn take_catch(fault: CaughtFault) -> Option<*mut CatchBuffer> {
    // SAFETY: see `Armed`.
    let armed = unsafe { &mut *ARMED.0.get() };
    match armed {
        Some((buffer, slot @ None)) if !ARE_FAULTS_FATAL.load(Ordering::Relaxed) => {
            *slot = Some(fault);
            Some(*buffer)
        }
        _ => None,
    }
}
