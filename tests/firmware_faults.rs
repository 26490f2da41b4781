//! What the firmware does when a program, or the kernel itself, touches what it must not.

mod common;

use common::firmware::{Fault, Firmware, instruction, on_every_machine};
use zeronull_image::machine::Qemu;
use zeronull_image::start::Start;

/// First address above user space, and the start of the kernel.
const TASK_SIZE: u32 = 0x8000_0000;
const KERNEL: u32 = 0xc000_0000;
const PAGE: u32 = 0x1000;
/// Where programs are loaded.
const PROGRAM: u32 = 0x1000_0000;
/// The stack of a program: its top and its size, which never grows.
const STACK_TOP: u32 = TASK_SIZE - PAGE;
const STACK_SIZE: u32 = 128 << 10;

/// Statuses of programs that a signal would have ended: 128 plus SIGILL, SIGSEGV.
const ILLEGAL: i32 = 132;
const SEGMENTATION: i32 = 139;

/// Primary opcodes of `lwz`, `stw` and `stwu` (Programming Environments Manual, appendix A).
const LOADS: [u32; 1] = [32];
const STORES: [u32; 2] = [36, 37];

/// Runs an action of `probe` that must end in a fault; gives the fault, checked to be at the instruction that it says.
#[track_caller]
fn fault(firmware: &mut Firmware, action: &str) -> Fault {
    let outcome = firmware.run(&format!("probe {action}"));
    let fault = Fault::of("probe", &outcome.output);
    assert_eq!(outcome.status, SEGMENTATION, "{action}");
    let opcode = || instruction("probe", fault.pc) >> 26;
    let is_at_its_instruction = match fault.access.as_str() {
        "load" => LOADS.contains(&opcode()),
        "store" => STORES.contains(&opcode()),
        access => access == "execute" && fault.pc == fault.address,
    };
    assert!(is_at_its_instruction, "{action}: {fault:x?}");
    fault
}

#[track_caller]
fn assert_fault(firmware: &mut Firmware, action: &str, address: u32, access: &str, class: &str) {
    let fault = fault(firmware, action);
    let found = (fault.address, fault.access.as_str(), fault.class.as_str());
    assert_eq!(found, (address, access, class), "{}: {action}", firmware.machine);
}

// U-063
#[test]
fn stray_load_or_store_ends_the_program_at_its_exact_address() {
    on_every_machine(|firmware| {
        for base in [0, 0x2000_0000, KERNEL] {
            for bit in 11..32 {
                let address = base | 1 << bit;
                if address == PROGRAM {
                    continue;
                }
                assert_fault(firmware, &format!("load {address:#x}"), address, "load", "not mapped");
                assert_fault(firmware, &format!("store {address:#x}"), address, "store", "not mapped");
            }
        }
    });
}

// U-063
#[test]
fn page_without_rights_is_an_access_error_and_not_unmapped() {
    on_every_machine(|firmware| {
        for access in ["load", "store"] {
            let fault = fault(firmware, &format!("exec-page none {access}"));
            assert_eq!((fault.access.as_str(), fault.class.as_str()), (access, "access error"));
            assert_eq!(fault.address % PAGE, 0, "{fault:x?}");
        }
    });
}

// U-076
#[test]
fn null_pointer_of_a_program_ends_the_program() {
    on_every_machine(|firmware| {
        assert_fault(firmware, "load 0", 0, "load", "not mapped");
        assert_fault(firmware, "store 0", 0, "store", "not mapped");
        assert_fault(firmware, "jump 0", 0, "execute", "not mapped");
    });
}

// U-018
#[test]
fn addresses_between_user_space_and_kernel_belong_to_nobody() {
    on_every_machine(|firmware| {
        for address in [TASK_SIZE, TASK_SIZE + PAGE, KERNEL - PAGE] {
            for (action, access) in [("load", "load"), ("store", "store"), ("jump", "execute")] {
                let action = format!("{action} {address:#x}");
                assert_fault(firmware, &action, address, access, "not mapped");
            }
        }
    });
}

#[test]
fn kernel_is_out_of_reach_of_programs() {
    on_every_machine(|firmware| {
        // The vectors, and data that the kernel writes.
        for address in [KERNEL, KERNEL + 0x8_0000] {
            for (action, access) in [("load", "load"), ("store", "store"), ("jump", "execute")] {
                let action = format!("{action} {address:#x}");
                assert_fault(firmware, &action, address, access, "not mapped");
            }
        }
    });
}

#[test]
fn own_code_is_read_only_and_the_stack_is_not_executable() {
    on_every_machine(|firmware| {
        let header = "probe: loaded 0x7f454c46 from 0x10000000\n";
        firmware.expect(&format!("probe load {PROGRAM:#x}"), 0, header);
        assert_fault(
            firmware,
            &format!("store {PROGRAM:#x}"),
            PROGRAM,
            "store",
            "access error",
        );
        let fault_in_code = fault(firmware, "write-text");
        assert_eq!(
            (fault_in_code.access.as_str(), fault_in_code.class.as_str()),
            ("store", "access error")
        );
        let fault = fault(firmware, "exec-stack");
        assert_eq!(
            (fault.access.as_str(), fault.class.as_str()),
            ("execute", "access error")
        );
        assert!(
            (STACK_TOP - STACK_SIZE..STACK_TOP).contains(&fault.address),
            "{fault:x?}"
        );
    });
}

// U-067
#[test]
fn user_stack_does_not_grow_into_what_lies_below() {
    on_every_machine(|firmware| {
        let fault = fault(firmware, "stack-overflow");
        assert_eq!((fault.access.as_str(), fault.class.as_str()), ("store", "not mapped"));
        let end = STACK_TOP - STACK_SIZE;
        assert!((end - PAGE..end).contains(&fault.address), "{fault:x?}");
        assert_fault(
            firmware,
            &format!("store {:#x}", end - 4),
            end - 4,
            "store",
            "not mapped",
        );
    });
}

// U-064
#[test]
fn page_rights_decide_over_execution_loads_and_stores() {
    on_every_machine(exec_matrix);
}

/// Where rights give more than was asked for, on every machine here alike: the MMUs cannot forbid loads of a page that
/// may be executed or written, so the kernel says beforehand that these rights include `r`.
const IMPLIED: [(&str, &str); 3] = [("x", "load"), ("wx", "load"), ("w", "load")];

fn exec_matrix(firmware: &mut Firmware) {
    for rights in ["none", "r", "w", "rw", "x", "rx", "wx", "rwx"] {
        for (access, right) in [("jump", 'x'), ("load", 'r'), ("store", 'w')] {
            let action = format!("exec-page {rights} {access}");
            let passes = rights != "none" && rights.contains(right) || IMPLIED.contains(&(rights, access));
            if passes {
                let output = firmware.output(&format!("probe {action}"));
                assert!(
                    output.starts_with("probe: "),
                    "{}: {action}: {output}",
                    firmware.machine
                );
                continue;
            }
            let fault = fault(firmware, &action);
            let access = if access == "jump" { "execute" } else { access };
            assert_eq!((fault.access.as_str(), fault.class.as_str()), (access, "access error"));
            assert_eq!(fault.address % PAGE, 0, "{action}: {fault:x?}");
        }
    }
}

// U-077
#[test]
fn instructions_that_programs_may_not_execute_end_the_program() {
    on_every_machine(|firmware| {
        for (action, what, is_it) in [
            ("illegal", "illegal instruction", (|word| word == 0) as fn(u32) -> bool),
            ("fp", "floating-point instruction", |word| word == 0xfc21_082a),
            ("privileged", "privileged instruction", |word| {
                word & 0xfc00_07fe == 0x7c00_00a6
            }),
        ] {
            let outcome = firmware.run(&format!("probe {action}"));
            let pc = outcome.output.strip_prefix(&format!("probe: {what} at pc 0x"));
            let pc = pc.and_then(|pc| u32::from_str_radix(pc.strip_suffix('\n')?, 16).ok());
            let pc = pc.unwrap_or_else(|| panic!("{action}: {outcome:?}"));
            let word = instruction("probe", pc);
            assert!(is_it(word), "{action}: pc {pc:#x} has {word:#010x}");
            assert_eq!(outcome.status, ILLEGAL, "{action}");
        }
    });
}

// U-068
#[test]
fn registers_survive_system_calls_that_fault() {
    on_every_machine(|firmware| {
        let kept = "probe: registers kept over 64 reads into the end of a page: 63 short, 1 EFAULT\n";
        firmware.expect("probe registers", 0, kept);
    });
}

/// Checks the lines of a selftest: a plan, a result for each number, nothing failed.
fn assert_selftest_passes(firmware: &mut Firmware) {
    let output = firmware.output("selftest");
    let machine = &firmware.machine;
    let results: Vec<&str> = output
        .lines()
        .filter(|line| line.starts_with("ok ") || line.starts_with("not ok "))
        .collect();
    let plan = output.lines().nth(1).and_then(|line| line.strip_prefix("1.."));
    let count: usize = plan
        .and_then(|plan| plan.parse().ok())
        .unwrap_or_else(|| panic!("{output}"));
    assert!(count >= 15 && results.len() == count, "{machine}: {output}");
    for (number, line) in (1..).zip(&results) {
        assert!(line.starts_with(&format!("ok {number} - ")), "{machine}: {line}");
    }
    let total = format!("# pass:{count} fail:0 skip:0 total:{count}");
    assert_eq!(output.lines().last(), Some(total.as_str()), "{machine}");
}

// U-163: a protection that is missing on one CPU is a failure there.
#[test]
fn selftest_and_rights_hold_on_every_machine_and_cpu() {
    on_every_machine(assert_selftest_passes);
    for cpu in Qemu::CPUS {
        let machine = Qemu {
            cpu: cpu.into(),
            ..Qemu::default()
        };
        let mut firmware = Firmware::boot(&machine, &Start::default());
        assert_selftest_passes(&mut firmware);
        exec_matrix(&mut firmware);
        assert_fault(&mut firmware, "load 0xc0000000", KERNEL, "load", "not mapped");
        assert_fault(&mut firmware, "jump 0", 0, "execute", "not mapped");
    }
}

#[test]
fn selftest_refuses_a_suite_that_does_not_exist() {
    on_every_machine(|firmware| {
        let message = "selftest: suite none does not exist: accepted are uaccess, protection, mc\n";
        firmware.expect("selftest none", 2, message);
        firmware.expect("selftest uaccess twice", 2, "usage: selftest [SUITE]\n");
    });
}
