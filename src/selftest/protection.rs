//! What the MMU must refuse: the kernel's reach into user memory with the window closed, execution of user pages, stores to
//! read-only kernel memory, a stack that overflows.

use super::Test;
use super::sandbox::{AREA, EDGE, Sandbox, range};
use crate::addr::PAGE_SIZE;
use crate::arch::mmu_types::Protection;
use crate::arch::ppc::provoke;
use crate::arch::ppc::user_context::CaughtFault;
use crate::arch::{self, window};
use crate::check;
use crate::policy::Fast;
use crate::uaccess::clear_user;
use alloc::string::String;

pub(super) static TESTS: &[Test] = &[
    Test {
        suite: "protection",
        name: "kernel load of user memory is stopped",
        run: raw_load,
    },
    Test {
        suite: "protection",
        name: "kernel store to user memory is stopped",
        run: raw_store,
    },
    Test {
        suite: "protection",
        name: "window closes after a fault inside it",
        run: window_after_fault,
    },
    Test {
        suite: "protection",
        name: "kernel does not execute user pages",
        run: execute_user,
    },
    Test {
        suite: "protection",
        name: "null pointers fault in the kernel too",
        run: null_pointers,
    },
    Test {
        suite: "protection",
        name: "kernel text and constants are read-only",
        run: read_only,
    },
    Test {
        suite: "protection",
        name: "kernel data is not executable",
        run: execute_data,
    },
    Test {
        suite: "protection",
        name: "kernel stack overflow is found",
        run: stack_overflow,
    },
];

fn expect(result: Result<(), CaughtFault>, what: &str, address: u32, store: bool) -> Result<(), String> {
    match result {
        Ok(()) => Err(alloc::format!("{what} at {address:#x} was not stopped")),
        Err(fault) if fault.address == address && fault.store == store => Ok(()),
        Err(fault) => Err(alloc::format!("{what} at {address:#x} gave {fault:x?}")),
    }
}

/// A store that must be refused, to memory of the tests themselves.
#[allow(unsafe_code, reason = "the one place where the tests store through raw addresses")]
fn store(address: u32) -> Result<(), CaughtFault> {
    // SAFETY: callers name user memory of the sandbox, page 0, or read-only kernel words whose value they give again.
    unsafe { provoke::store(address, 0x600d_600d) }
}

/// A call that must be refused.
#[allow(unsafe_code, reason = "the one place where the tests jump to raw addresses")]
fn call(address: u32) -> Result<(), CaughtFault> {
    // SAFETY: callers put a return instruction there, or nothing is mapped.
    unsafe { provoke::call(address) }
}

/// `blr`.
const RETURN: [u8; 4] = [0x4e, 0x80, 0x00, 0x20];

fn raw_load() -> Result<String, String> {
    let sandbox = Sandbox::new()?;
    sandbox.write(AREA, b"user");
    expect(provoke::load(AREA).map(drop), "load", AREA, false)?;
    check!(!window::is_open(), "window is open");
    Ok("load with the window closed".into())
}

fn raw_store() -> Result<String, String> {
    let sandbox = Sandbox::new()?;
    sandbox.write(AREA, b"user");
    expect(store(AREA), "store", AREA, true)?;
    check!(sandbox.read(AREA, 4) == b"user", "the word changed");
    Ok("store with the window closed".into())
}

fn window_after_fault() -> Result<String, String> {
    let _sandbox = Sandbox::new()?;
    for length in 1..64 {
        check!(
            clear_user::<Fast>(&range(EDGE, length)).bytes() == length,
            "clear of {length} bytes"
        );
        check!(!window::is_open(), "window is open after a fault");
    }
    expect(provoke::load(AREA).map(drop), "load", AREA, false)?;
    Ok("63 faults".into())
}

fn execute_user() -> Result<String, String> {
    let sandbox = Sandbox::new()?;
    let page = AREA;
    sandbox.write(page, &RETURN);
    let protection = Protection {
        read: true,
        write: false,
        execute: true,
        uncached: false,
    };
    sandbox
        .space()
        .protect(page, page + PAGE_SIZE, protection)
        .map_err(|e| alloc::format!("protect: {}", e.name()))?;
    expect(call(page), "call", page, false)?;
    Ok("executable user page".into())
}

fn null_pointers() -> Result<String, String> {
    let _sandbox = Sandbox::new()?;
    expect(provoke::load(0).map(drop), "load", 0, false)?;
    expect(store(0), "store", 0, true)?;
    expect(call(0), "call", 0, false)?;
    Ok("load, store, call".into())
}

fn read_only() -> Result<String, String> {
    static CONSTANT: u32 = 0x600d_600d;
    let constant = (&raw const CONSTANT).addr() as u32;
    let text = arch::text().start;
    let before = provoke::load(text).map_err(|fault| alloc::format!("text cannot be read: {fault:x?}"))?;
    expect(store(constant), "store", constant, true)?;
    expect(store(text), "store", text, true)?;
    check!(provoke::load(text) == Ok(before), "text changed");
    Ok("a constant and the first instruction".into())
}

fn execute_data() -> Result<String, String> {
    let code = alloc::boxed::Box::new(u32::from_be_bytes(RETURN));
    let address = (&raw const *code).addr() as u32;
    arch::flush_instruction_range(address as usize, 4);
    expect(call(address), "call", address, false)?;
    Ok("heap".into())
}

fn stack_overflow() -> Result<String, String> {
    match provoke::exhaust_stack() {
        Err(fault) if arch::is_stack_guard(fault.address) => Ok(alloc::format!("fault at {:#x}", fault.address)),
        other => Err(alloc::format!("{other:x?}")),
    }
}
