//! Start-up, and what happens when the kernel itself is at fault.
#![forbid(unsafe_code)]

use crate::addr::{KERNEL_BASE, PhysAddr, TASK_SIZE};
use crate::arch::ppc::load::{Load, operand};
use crate::arch::ppc::trap::{Access, Cause, MemoryError, TrapHooks, set_hooks};
use crate::arch::ppc::{TrapFrame, accounting, msr, spr, stack_protector, static_key};
use crate::arch::{family, mmu};
use crate::board::{self, COMMAND_LINE_MAX};
use crate::measure::clock;
use crate::measure::series::Clocks;
use crate::mm::pmem::{self, Meeting};
use crate::mm::{frames, heap};
use crate::shell::{self, words};
use crate::symbols::Symbols;
use crate::uaccess::limit::{self, USER_DS};
use crate::uaccess::{Recovery, Refused};
use crate::{arch, initrd, lkdtm, perf, println, syscall, task, uaccess};
use core::fmt;
use core::sync::atomic::{AtomicU32, Ordering};

/// Status of a firmware that ends by its own fault.
const PANIC_STATUS: i32 = 101;

/// The seed of the functions' order, or that they stand as the compiler put them.
const LAYOUT: &str = match option_env!("ZERONULL_SHUFFLE") {
    Some(seed) => seed,
    None => "unshuffled",
};

/// Vector of the machine check.
const MACHINE_CHECK: u32 = 0x200;

/// Bytes of RAM that the firmware needs at least.
const RAM_MIN: u32 = 8 << 20;

/// Everything from the first Rust instruction to the prompt.
pub fn start() -> ! {
    set_hooks(TrapHooks {
        tick,
        external,
        user: user_exception,
        memory_error,
        fixup,
        alignment: |frame| uaccess::recover_alignment(frame.nip),
        kernel: kernel_fault,
        caught,
    });
    board::init();
    heap::init();
    let (cpu, walk) = match mmu::identify() {
        Ok(found) => found,
        Err(version) => {
            println!(
                "zeronull: cpu with version {version:#010x} is not supported: accepted are {}",
                mmu::SUPPORTED
            );
            shell::finish(1)
        }
    };
    let mut line = [0; COMMAND_LINE_MAX];
    let (mut handover, length) = board::handover(&mut line, mmu::reserved(walk));
    if handover.ram < RAM_MIN {
        println!("zeronull: {} bytes of RAM: at least {RAM_MIN} are needed", handover.ram);
        shell::finish(1);
    }
    let settings = match read_command_line(&line, length) {
        Ok(settings) => settings,
        Err(message) => {
            println!("zeronull: {message}");
            shell::finish(1)
        }
    };
    if let Some(baud) = settings.console_speed {
        board::set_console_speed(handover.core_hz, baud);
    }
    let archive = settings.initrd.or(handover.initrd).map(|(address, size)| {
        let Some(place) = handover.reserve(address, size) else {
            println!("zeronull: initial archive of {size} bytes at {address:#010x} is not in RAM above the firmware");
            shell::finish(1);
        };
        (place, size)
    });
    let free = mmu::map_kernel(handover.ram, walk);
    let free = pmem::reserve(free, handover.free_top);
    frames::init(free, PhysAddr::new(handover.free_top));
    lkdtm::init();
    mmu::seal();
    // Neither family's manual promises that an error within the burst of a line is reported at the load that caused it.
    static_key::COPY_MC_FRAGILE.set(true);
    clock::init(Clocks {
        core_hz: handover.core_hz,
        timebase_hz: handover.timebase_hz,
    });
    accounting::set_exact(true);
    spr::enable_interrupts();
    syscall::init();

    if !settings.quiet {
        banner(cpu, &handover);
    }
    for word in &settings.unknown {
        println!("zeronull: command line word {word} is unknown and ignored");
    }
    if let Some((address, size)) = archive {
        mount(address, size, handover.ram);
    } else {
        println!("zeronull: no initial archive: there are no programs");
    }
    if let Some(name) = &settings.preset
        && syscall::choose(name).is_none()
    {
        println!("zeronull: preset={name} does not exist: `preset` lists what does");
        shell::finish(1);
    }
    shell::set_json(settings.json);
    if let Some(run) = &settings.run {
        shell::run_line(run);
    }
    shell::interactive()
}

fn read_command_line(line: &[u8; COMMAND_LINE_MAX], length: usize) -> Result<words::Settings, alloc::string::String> {
    let line = line
        .get(..length)
        .ok_or_else(|| alloc::format!("command line of {length} bytes is too long: at most {COMMAND_LINE_MAX}"))?;
    words::settings(core::str::from_utf8(line).map_err(|_| "command line is not ASCII text")?)
}

fn banner(cpu: &str, handover: &board::Handover) {
    let image = arch::image_end().raw();
    println!(
        "zeronull {} on {}, cpu {cpu}, {} MiB RAM",
        env!("CARGO_PKG_VERSION"),
        handover.board,
        handover.ram >> 20
    );
    println!(
        "image {:#010x}-{:#010x}, cache line {}, task size {:#010x}",
        KERNEL_BASE,
        KERNEL_BASE + image,
        arch::CACHE_LINE,
        TASK_SIZE
    );
    println!("stack protector {}, layout {}", stack_protector::VARIANT, LAYOUT);
    match clock::timebase_hz() {
        0 => println!("no timebase: times are 0"),
        hz => println!("core {} Hz, time base {hz} Hz", handover.core_hz),
    }
}

fn mount(address: u32, size: u32, ram: u32) {
    let Some(bytes) = arch::physical_bytes(PhysAddr::new(address), size, ram) else {
        println!("zeronull: initial archive of {size} bytes at {address:#010x} is not in RAM above the firmware");
        shell::finish(1);
    };
    if let Err(error) = initrd::mount(bytes) {
        println!("zeronull: initial archive: {error}");
        shell::finish(1);
    }
}

fn external(_: &mut TrapFrame) {
    let _limit = limit::force_uaccess_begin();
    board::external_interrupt();
}

static FIXUPS: AtomicU32 = AtomicU32::new(0);

/// Refused accesses that went on at a fixup, since the start.
pub fn fixups() -> u32 {
    FIXUPS.load(Ordering::Relaxed)
}

fn tick(frame: &mut TrapFrame) {
    let (start, late) = (spr::mftb_lower(), clock::late());
    let _limit = limit::force_uaccess_begin();
    if frame.window != 0 {
        uaccess::counters().interrupted();
    }
    clock::tick(frame);
    board::tick();
    perf::sample(frame, start, late);
    if task::tick(frame) {
        syscall::interrupt_program();
    }
}

fn fixup(frame: &TrapFrame, access: &Access) -> Option<u32> {
    let refused = Refused {
        nip: frame.nip,
        address: access.address,
        window: frame.window,
        store: access.store,
    };
    FIXUPS.store(fixups().wrapping_add(1), Ordering::Relaxed);
    match uaccess::recover(&refused) {
        Recovery::Fixup(fixup) => Some(fixup),
        Recovery::Report(fixup) => {
            let cause = Cause::Data(*access);
            println!(
                "zeronull: warning: user-access routine: {}",
                Description { frame, cause }
            );
            Some(fixup)
        }
        Recovery::None => None,
    }
}

/// A program's own exception; what the bus says of a machine check is taken here, so that the next one starts anew.
fn user_exception(frame: &mut TrapFrame, cause: Cause) {
    if cause == Cause::MachineCheck {
        println!("zeronull: {}", Description { frame, cause });
    }
    task::user_exception(frame, cause)
}

/// A machine check of the kernel, or its own memory refused, which stands for one where the machine has none.
///
/// The lost byte is known if a withheld page of `/dev/pmem0` was met, otherwise the address of the load is what is known.
fn memory_error(frame: &mut TrapFrame, cause: Cause) -> MemoryError {
    let load = Load::interrupted(frame);
    let lost = match load.map(|load| (load.address, pmem::meet(frame, &load))) {
        Some((_, Meeting::Done)) => {
            board::take_transfer_error();
            return MemoryError::Recovered;
        }
        Some((_, Meeting::Lost(address))) => address,
        _ if cause != Cause::MachineCheck => return MemoryError::No,
        Some((address, Meeting::Elsewhere)) => address,
        None => 0,
    };
    if frame.msr & msr::RI == 0 {
        return MemoryError::Fatal;
    }
    frame.nip = if let Some(fixup) = uaccess::copy_mc::recover(frame.nip) {
        board::take_transfer_error();
        // r12: see copy_mc.s.
        frame.gpr[12] = lost;
        fixup
    } else if let Some(fixup) = bus_error_fixup(frame) {
        println!("zeronull: {}", Description { frame, cause });
        fixup
    } else {
        return MemoryError::Fatal;
    };
    MemoryError::Recovered
}

/// Where a user-access routine goes on after a bus error, if it was an access of the instruction at the pc that met it:
/// one that is reported late may lie behind what counts as done already.
fn bus_error_fixup(frame: &TrapFrame) -> Option<u32> {
    let (_, address) = family::describe_machine_check(frame);
    let is_its_own = |address: &u32| operand(frame).is_some_and(|operand| operand.contains(address));
    let address = address.filter(|address| frame.vector == MACHINE_CHECK && is_its_own(address));
    uaccess::recover_bus_error(&Refused {
        nip: frame.nip,
        address,
        window: frame.window,
        store: Load::interrupted(frame).is_none(),
    })
}

fn caught(frame: &TrapFrame, cause: Cause) {
    limit::set_fs(USER_DS);
    println!("zeronull: kernel fault caught: {}", Description { frame, cause });
}

/// What went wrong, in a line.
struct Description<'a> {
    frame: &'a TrapFrame,
    cause: Cause,
}

impl fmt::Display for Description<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pc = Location(self.frame.nip);
        match self.cause {
            Cause::Data(access) => {
                let kind = if access.store { "store to" } else { "load from" };
                let address = access.address.unwrap_or(self.frame.dar);
                if address < TASK_SIZE {
                    // With the window closed a page that is there is refused too: the class tells the two apart. For kernel
                    // addresses the hardware's word depends on what maps them.
                    let class = access.refusal.describe();
                    return write!(f, "{kind} user address {address:#010x} at {pc}, {class}");
                }
                write!(f, "{kind} kernel address {address:#010x} at {pc}")?;
                if arch::is_stack_guard(address) {
                    write!(f, ", kernel stack overflow")?;
                }
                Ok(())
            }
            Cause::MachineCheck if self.frame.vector == MACHINE_CHECK => {
                let (kind, address) = family::describe_machine_check(self.frame);
                write!(f, "machine check: {kind}{}", board::take_transfer_error())?;
                if let Some(address) = address {
                    write!(f, ", address {address:#010x}")?;
                }
                write!(f, " at {pc}")
            }
            Cause::MachineCheck => write!(
                f,
                "machine check: lost memory at address {:#010x} at {pc}",
                self.frame.dar
            ),
            Cause::Instruction(_) => write!(f, "execution at {pc}"),
            _ => write!(f, "{} at {pc}", self.cause.describe()),
        }
    }
}

/// A code address with the function around it.
pub struct Location(pub u32);

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}", self.0)?;
        let symbols = Symbols::new(arch::symbol_blob()).filter(|_| arch::text().contains(&self.0));
        match symbols.and_then(|symbols| symbols.find(self.0)) {
            Some((name, offset)) => write!(f, " {name}+{offset:#x}"),
            None => Ok(()),
        }
    }
}

fn backtrace(pc: u32, stack: u32) {
    println!("backtrace:");
    println!("  {}", Location(pc));
    for address in arch::backtrace(stack) {
        // The call, not what follows it: behind a call that never returns another function may start.
        println!("  {}", Location(address - 4));
    }
}

/// An exception that nothing recovers: the report, then the end.
fn kernel_fault(frame: &TrapFrame, cause: Cause) -> ! {
    println!("\nzeronull: panic: {}", Description { frame, cause });
    println!("{frame}");
    backtrace(frame.nip, frame.gpr[1]);
    shell::finish(PANIC_STATUS)
}

/// A panic of the kernel's own code: the report, then the end.
pub fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    println!("\nzeronull: panic: {}", info.message());
    if let Some(location) = info.location() {
        println!("at {location}");
    }
    backtrace(panic as *const () as usize as u32, arch::stack_pointer());
    shell::finish(PANIC_STATUS)
}
