//! Running a program: a fresh address space, the segments with their own rights, a Linux start stack.
#![forbid(unsafe_code)]

use super::elf::{ElfError, HEADER_SIZE, PF_R, PF_W, PF_X, Program};
use super::{RUNNING, current};
use crate::addr::{PAGE_SIZE, TASK_SIZE};
use crate::arch::mmu_types::Protection;
use crate::arch::ppc::{accounting, user_context};
use crate::arch::{CACHE_LINE, window};
use crate::console;
use crate::errno::Errno;
use crate::fs::{node::Node, open_flags};
use crate::measure::clock::TICK_HZ;
use crate::mm::AddressSpace;
use crate::policy::{General, Policy, WindowControl};
use crate::uaccess;
use crate::uaccess::limit::{self, USER_DS};
use alloc::vec::Vec;
use core::fmt;
use core::sync::atomic::Ordering;

/// Top of the user stack: the last page of user space stays unmapped.
const STACK_TOP: u32 = TASK_SIZE - PAGE_SIZE;
/// Bytes of user stack.
const STACK_SIZE: u32 = 128 << 10;
/// Most bytes of arguments and environment.
const ARGUMENTS_MAX: usize = 64 << 10;

/// Why a program did not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecError {
    /// The file is no program.
    Elf(ElfError),
    /// Memory ran out, or a segment asks for what the MMU cannot give.
    Memory(Errno),
    /// Too many bytes of arguments.
    Arguments(usize),
}

impl fmt::Display for ExecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExecError::Elf(error) => error.fmt(f),
            ExecError::Memory(error) => write!(f, "cannot map the program: {}", error.message()),
            ExecError::Arguments(bytes) => {
                write!(f, "arguments of {bytes} bytes: at most {ARGUMENTS_MAX} are accepted")
            }
        }
    }
}

impl From<Errno> for ExecError {
    fn from(error: Errno) -> Self {
        ExecError::Memory(error)
    }
}

/// Loads `file` and runs it under the preset in force until it ends, with its standard output going to `output`; returns its
/// exit status, or 128 plus a signal's number.
///
/// # Errors
/// Why it did not start; nothing of it remains then.
pub fn run(name: &'static str, file: &[u8], arguments: &[&str], output: Node) -> Result<i32, ExecError> {
    let program = Program::parse(file).map_err(ExecError::Elf)?;
    let space = AddressSpace::new()?;
    let mut end = 0;
    for segment in program.segments() {
        let first = segment.address & !(PAGE_SIZE - 1);
        let last = (segment.address + segment.size).next_multiple_of(PAGE_SIZE);
        space.map(first, last, Protection::READ_WRITE)?;
        space.write(segment.address, segment.data)?;
        end = end.max(segment.address + segment.size);
    }
    for segment in program.segments() {
        let first = segment.address & !(PAGE_SIZE - 1);
        let last = (segment.address + segment.size).next_multiple_of(PAGE_SIZE);
        space.protect(first, last, protection(segment.flags))?;
    }
    space.set_brk_start(end);
    space.map(STACK_TOP - STACK_SIZE, STACK_TOP, Protection::READ_WRITE)?;
    let stack = start_stack(&space, &program, arguments)?;

    let task = current();
    task.name.set(name);
    for (node, flags) in [
        (Node::Console, open_flags::READ_ONLY),
        (output, open_flags::WRITE_ONLY),
        (Node::Console, open_flags::WRITE_ONLY),
    ] {
        task.files.open(node, node.operations::<General>(), flags)?;
    }
    space.activate();
    *task.space.borrow_mut() = Some(space);
    // A Ctrl-C from before was not meant for this program.
    console::take_interrupt();
    RUNNING.store(true, Ordering::Relaxed);
    let has_kuap = <General as Policy>::Window::is_enabled();
    if !has_kuap {
        window::set_kuap(false);
    }
    accounting::to_user();
    let status = user_context::run_user(program.entry, stack);
    if !has_kuap {
        window::set_kuap(true);
    }
    RUNNING.store(false, Ordering::Relaxed);
    uaccess::close_leaked();
    limit::set_fs(USER_DS);
    task.files.close_all();
    AddressSpace::deactivate();
    *task.space.borrow_mut() = None;
    Ok(status)
}

fn protection(flags: u32) -> Protection {
    Protection {
        read: flags & (PF_R | PF_W | PF_X) != 0,
        write: flags & PF_W != 0,
        execute: flags & PF_X != 0,
        ..Protection::default()
    }
}

/// Writes argc, argv, envp and the auxiliary vector below the strings; returns the initial stack pointer (16-aligned, as
/// the ABI asks).
fn start_stack(space: &AddressSpace, program: &Program<'_>, arguments: &[&str]) -> Result<u32, ExecError> {
    const ENVIRONMENT: [&str; 1] = ["HOME=/"];
    let bytes: usize = arguments.iter().chain(&ENVIRONMENT).map(|s| s.len() + 1).sum();
    if bytes > ARGUMENTS_MAX {
        return Err(ExecError::Arguments(bytes));
    }
    let mut at = STACK_TOP;
    let mut push = |text: &str| -> Result<u32, Errno> {
        at -= text.len() as u32 + 1;
        space.write(at, text.as_bytes())?;
        Ok(at)
    };
    let arguments = arguments.iter().map(|text| push(text)).collect::<Result<Vec<_>, _>>()?;
    let environment = ENVIRONMENT
        .iter()
        .map(|text| push(text))
        .collect::<Result<Vec<_>, _>>()?;
    let random = (at - 16) & !15;

    let header_address = program.segments().find_map(|segment| {
        // Program headers are in memory when the first segment starts with the file's own first byte.
        (segment.data.starts_with(b"\x7fELF")).then_some(segment.address + program.headers)
    });
    let mut words = Vec::new();
    words.push(arguments.len() as u32);
    words.extend(arguments.iter().copied().chain([0]));
    words.extend(environment.iter().copied().chain([0]));
    let line = CACHE_LINE as u32;
    // AT_DCACHEBSIZE 19, AT_ICACHEBSIZE 20, AT_UCACHEBSIZE 21, AT_PAGESZ 6, AT_CLKTCK 17, AT_ENTRY 9, AT_UID to AT_EGID
    // 11–14, AT_SECURE 23, AT_RANDOM 25 (include/uapi/linux/auxvec.h, arch/powerpc/include/uapi/asm/auxvec.h).
    let mut auxiliary = alloc::vec![
        (19, line),
        (20, line),
        (21, 0),
        (6, PAGE_SIZE),
        (17, TICK_HZ),
        (9, program.entry),
        (11, 0),
        (12, 0),
        (13, 0),
        (14, 0),
        (23, 0),
        (25, random),
    ];
    if let Some(address) = header_address {
        auxiliary.extend([(3, address), (4, HEADER_SIZE.into()), (5, program.count.into())]);
    }
    words.extend(
        auxiliary
            .iter()
            .chain(&[(0, 0)])
            .flat_map(|&(kind, value)| [kind, value]),
    );
    let stack = (random - words.len() as u32 * 4) & !15;
    let image: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    space.write(stack, &image)?;
    Ok(stack)
}
