//! What a kernel must not do, done on purpose, under the names that Linux gives such tests (drivers/misc/lkdtm): the
//! machine must stop each access and the report must name it.
//!
//! The fault is recovered and the prompt comes back, or, on request, left to the report that ends the firmware.
#![deny(unsafe_code)]

use crate::addr::PAGE_SIZE;
use crate::arch::mmu_types::Protection;
use crate::arch::ppc::user_context::{CaughtFault, set_faults_fatal};
use crate::arch::ppc::{provoke, stack_protector};
use crate::arch::single::Single;
use crate::arch::{self, window};
use crate::check;
use crate::selftest::sandbox::{AREA, Sandbox};
use crate::uaccess::limit::{KERNEL_DS, set_fs, uaccess_kernel};
use crate::{println, syscall};
use alloc::string::String;
use core::cell::Cell;

/// One thing that must be stopped.
pub struct Provocation {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub what: &'static str,
    /// Does it; returns how it was stopped.
    ///
    /// # Errors
    /// What was not stopped, or done although it was.
    pub run: fn() -> Result<String, String>,
}

/// All of them.
pub static PROVOCATIONS: [Provocation; 12] = [
    Provocation {
        name: "ACCESS_USERSPACE",
        what: "load and store user memory with the window closed",
        run: access_userspace,
    },
    Provocation {
        name: "EXEC_USERSPACE",
        what: "call an executable page of user memory",
        run: exec_userspace,
    },
    Provocation {
        name: "ACCESS_NULL",
        what: "load and store at address 0",
        run: access_null,
    },
    Provocation {
        name: "EXEC_NULL",
        what: "call address 0",
        run: exec_null,
    },
    Provocation {
        name: "EXEC_DATA",
        what: "call an instruction on the heap",
        run: exec_data,
    },
    Provocation {
        name: "WRITE_RO",
        what: "store to a constant",
        run: write_ro,
    },
    Provocation {
        name: "WRITE_RO_AFTER_INIT",
        what: "store to what start-up alone may write",
        run: write_ro_after_init,
    },
    Provocation {
        name: "WRITE_KERN",
        what: "store to the kernel's code",
        run: write_kern,
    },
    Provocation {
        name: CORRUPT_USER_DS,
        what: "fault with the address limit of the kernel in force",
        run: corrupt_user_ds,
    },
    Provocation {
        name: "EXHAUST_STACK",
        what: "call ever deeper until the stack is used up",
        run: exhaust_stack,
    },
    Provocation {
        name: "BUG",
        what: "execute a trap instruction",
        run: bug,
    },
    Provocation {
        name: "ILLEGAL",
        what: "execute an instruction that does not exist",
        run: illegal,
    },
];

/// Those that nothing recovers, with what they do.
const FATAL: [(&str, &str); 3] = [
    (PANIC, "panic"),
    (CORRUPT_STACK, "write beyond a buffer on the stack"),
    (CORRUPT_STACK_ZEROS, "the same with zeros"),
];
const PANIC: &str = "PANIC";
const CORRUPT_STACK: &str = "CORRUPT_STACK";
const CORRUPT_STACK_ZEROS: &str = "CORRUPT_STACK_ZEROS";
/// The one that only shows what the stack protector compares with.
const REPORT_STACK_CANARY: &str = "REPORT_STACK_CANARY";
/// The one that needs a preset with an address limit.
const CORRUPT_USER_DS: &str = "CORRUPT_USER_DS";

impl Provocation {
    /// Why it cannot be done under the preset in force.
    pub fn excuse(&self) -> Option<&'static str> {
        (self.name == CORRUPT_USER_DS && !syscall::chosen().machinery.has_set_fs)
            .then_some("the preset has no address limit")
    }
}

/// Lists what there is.
pub fn list() {
    for Provocation { name, what, .. } in &PROVOCATIONS {
        println!("  {name:<20} {what}");
    }
    for (name, what) in FATAL {
        println!("  {name:<20} {what}; always fatal");
    }
    println!("  {REPORT_STACK_CANARY:<20} show the stack protector's canary");
}

/// Writes beyond a buffer on the stack, which ends the firmware where there is a stack protector.
fn corrupt_stack(name: &str, fill: u8) -> i32 {
    if stack_protector::VARIANT == "none" {
        return unprotected(name);
    }
    provoke::corrupt_stack(fill);
    println!("lkdtm: {name}: FAIL: the write was not noticed");
    1
}

/// Says that the image has no stack protector.
fn unprotected(name: &str) -> i32 {
    println!("lkdtm: {name}: XFAIL: the image is built without stack protector");
    0
}

/// Does one of them and says how it went: 0 if it was stopped or cannot be done, 1 if it was not stopped, 2 if there is no
/// such name. With `is_fatal` the first fault ends the firmware as one that nobody provoked would.
pub fn run(name: &str, is_fatal: bool) -> i32 {
    match name {
        PANIC => panic!("lkdtm {PANIC}"),
        CORRUPT_STACK => return corrupt_stack(name, b'A'),
        CORRUPT_STACK_ZEROS => return corrupt_stack(name, 0),
        REPORT_STACK_CANARY if stack_protector::VARIANT == "none" => return unprotected(name),
        REPORT_STACK_CANARY => {
            println!("lkdtm: {name}: {:#010x}", stack_protector::canary());
            return 0;
        }
        _ => {}
    }
    let Some(provocation) = PROVOCATIONS.iter().find(|provocation| provocation.name == name) else {
        println!("lkdtm: {name} does not exist: `lkdtm` lists what does");
        return 2;
    };
    if let Some(excuse) = provocation.excuse() {
        println!("lkdtm: {name}: XFAIL: {excuse}");
        return 0;
    }
    set_faults_fatal(is_fatal);
    let result = (provocation.run)();
    set_faults_fatal(false);
    match result {
        Ok(how) => {
            println!("lkdtm: {name}: stopped: {how}");
            0
        }
        Err(what) => {
            println!("lkdtm: {name}: FAIL: {what}");
            1
        }
    }
}

/// The value of words that a store must not change.
const BEFORE: u32 = 0x600d_600d;
/// What the stores would make of them.
const AFTER: u32 = 0x0bad_0bad;

static CONSTANT: u32 = BEFORE;

#[allow(unsafe_code, reason = "a section is named, which no other item has a say in")]
#[unsafe(link_section = ".ro_after_init")]
static WRITTEN_AT_START: Single<Cell<u32>> = Single::new(Cell::new(AFTER));

/// Writes what can be written before the kernel's constants are sealed only.
pub fn init() {
    WRITTEN_AT_START.get().set(BEFORE);
}

/// A store that must be refused.
#[allow(unsafe_code, reason = "stores to a raw address are what this is for")]
fn store(address: u32) -> Result<(), CaughtFault> {
    // SAFETY: callers name user memory of the sandbox, page 0, or read-only kernel words; when one of those is not
    // refused, the caller reports that.
    unsafe { provoke::store(address, AFTER) }
}

/// A call that must be refused.
#[allow(unsafe_code, reason = "calls of a raw address are what this is for")]
fn call(address: u32) -> Result<(), CaughtFault> {
    // SAFETY: callers put a return instruction there, or nothing is mapped.
    unsafe { provoke::call(address) }
}

/// Checks that a fault was at `address`, by a store or not.
fn expect(result: Result<(), CaughtFault>, what: &str, address: u32, store: bool) -> Result<(), String> {
    check!(!window::is_open(), "window is open");
    match result {
        Ok(()) => Err(alloc::format!("{what} at {address:#010x} was not stopped")),
        Err(fault) if fault.address == address && fault.store == store => Ok(()),
        Err(fault) => Err(alloc::format!("{what} at {address:#010x} gave {fault:x?}")),
    }
}

/// A store to a kernel word that must keep its value.
fn refuse_store(address: u32) -> Result<(), String> {
    let before = provoke::load(address).map_err(|fault| alloc::format!("cannot be read: {fault:x?}"))?;
    expect(store(address), "store", address, true)?;
    check!(
        provoke::load(address) == Ok(before),
        "the word at {address:#010x} changed"
    );
    Ok(())
}

/// `blr`.
const RETURN: [u8; 4] = [0x4e, 0x80, 0x00, 0x20];

fn access_userspace() -> Result<String, String> {
    let sandbox = Sandbox::new()?;
    sandbox.write(AREA, b"user");
    expect(provoke::load(AREA).map(drop), "load", AREA, false)?;
    expect(store(AREA), "store", AREA, true)?;
    check!(sandbox.read(AREA, 4) == b"user", "the word changed");
    Ok("load and store, the word is unchanged".into())
}

fn exec_userspace() -> Result<String, String> {
    let sandbox = Sandbox::new()?;
    sandbox.write(AREA, &RETURN);
    let protection = Protection {
        read: true,
        write: false,
        execute: true,
        ..Protection::default()
    };
    sandbox
        .space()
        .protect(AREA, AREA + PAGE_SIZE, protection)
        .map_err(|error| alloc::format!("protect: {}", error.name()))?;
    expect(call(AREA), "call", AREA, false)?;
    Ok("call of an executable user page".into())
}

fn access_null() -> Result<String, String> {
    let _sandbox = Sandbox::new()?;
    expect(provoke::load(0).map(drop), "load", 0, false)?;
    expect(store(0), "store", 0, true)?;
    Ok("load and store".into())
}

fn exec_null() -> Result<String, String> {
    let _sandbox = Sandbox::new()?;
    expect(call(0), "call", 0, false)?;
    Ok("call".into())
}

fn exec_data() -> Result<String, String> {
    let code = alloc::boxed::Box::new(u32::from_be_bytes(RETURN));
    let address = (&raw const *code).addr() as u32;
    arch::flush_instruction_range(address as usize, 4);
    expect(call(address), "call", address, false)?;
    Ok("call of the heap".into())
}

fn write_ro() -> Result<String, String> {
    refuse_store((&raw const CONSTANT).addr() as u32)?;
    Ok("a constant is unchanged".into())
}

fn write_ro_after_init() -> Result<String, String> {
    check!(
        WRITTEN_AT_START.get().get() == BEFORE,
        "void: start-up did not write the word"
    );
    refuse_store((&raw const WRITTEN_AT_START).addr() as u32)?;
    Ok("written at start, unchanged since".into())
}

fn write_kern() -> Result<String, String> {
    refuse_store(arch::text().start)?;
    Ok("the first instruction is unchanged".into())
}

fn corrupt_user_ds() -> Result<String, String> {
    let _sandbox = Sandbox::new()?;
    set_fs(KERNEL_DS);
    let result = provoke::load(0).map(drop);
    check!(!uaccess_kernel(), "the limit of the kernel is left in force");
    expect(result, "load", 0, false)?;
    Ok("the limit is that of user space again".into())
}

fn exhaust_stack() -> Result<String, String> {
    match provoke::exhaust_stack() {
        Err(fault) if arch::is_stack_guard(fault.address) => {
            Ok(alloc::format!("the guard was hit at {:#010x}", fault.address))
        }
        other => Err(alloc::format!("{other:x?}")),
    }
}

/// Checks that an instruction did not pass.
fn expect_stop(result: Result<(), CaughtFault>, what: &str) -> Result<String, String> {
    match result {
        Ok(()) => Err(alloc::format!("{what} was executed")),
        Err(fault) if arch::text().contains(&fault.nip) => Ok(what.into()),
        Err(fault) => Err(alloc::format!("{what} gave {fault:x?}")),
    }
}

fn bug() -> Result<String, String> {
    expect_stop(provoke::trap(), "a trap instruction")
}

fn illegal() -> Result<String, String> {
    expect_stop(provoke::illegal(), "an instruction that does not exist")
}
