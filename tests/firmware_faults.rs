//! What the firmware does when a program, or the kernel itself, touches what it must not.

mod common;

use common::firmware::{Fault, Firmware, instruction, on_every_machine};
use zeronull_image::machine::{Machine, Qemu};
use zeronull_image::start::Start;
use zeronull_image::testing::{machines, skipped};

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
        for base in [0, KERNEL] {
            for bit in 11..32 {
                let address = base | 1 << bit;
                if address == PROGRAM {
                    continue;
                }
                for access in ["load", "store"] {
                    let output = firmware.type_command(&format!("probe {access} {address:#x}"));
                    let fault = Fault::of("probe", &output);
                    let found = (fault.address, fault.access.as_str(), fault.class.as_str());
                    assert_eq!(found, (address, access, "not mapped"), "{}", firmware.machine);
                }
            }
        }
        assert_fault(firmware, "load 0x800", 0x800, "load", "not mapped");
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

// U-162; U-163: a protection that is missing on one CPU is a failure there.
#[test]
fn selftest_and_rights_hold_on_every_machine_and_cpu() {
    // Without an address limit these have no subject.
    const SKIPPED: usize = 5;
    on_every_machine(|firmware| {
        firmware.selftest("selftest", SKIPPED);
        firmware.output("preset fast-set_fs");
        firmware.selftest("selftest protection", 0);
    });
    let default_cpu = Qemu::default().cpu;
    for cpu in Qemu::CPUS.into_iter().filter(|cpu| *cpu != default_cpu) {
        let machine = Qemu {
            cpu: cpu.into(),
            ..Qemu::default()
        };
        let mut firmware = Firmware::boot(&machine, &Start::default());
        firmware.selftest("selftest", SKIPPED);
        exec_matrix(&mut firmware);
        assert_fault(&mut firmware, "load 0xc0000000", KERNEL, "load", "not mapped");
        assert_fault(&mut firmware, "jump 0", 0, "execute", "not mapped");
    }
}

#[test]
fn selftest_refuses_a_suite_that_does_not_exist() {
    on_every_machine(|firmware| {
        let message =
            "selftest: suite none does not exist: accepted are acc, cpy, dcb, str, exc, grid, mc, protection\n";
        firmware.expect("selftest none", 2, message);
        firmware.expect("selftest acc twice", 2, "usage: selftest [SUITE] [--json]\n");
    });
}

/// What `lkdtm` can do, with what the machine says each time; `#` stands for an address.
const PROVOCATIONS: [(&str, &[&str]); 12] = [
    (
        "ACCESS_USERSPACE",
        &[
            "load from user address #, access error",
            "store to user address #, access error",
        ],
    ),
    ("EXEC_USERSPACE", &["execution at #"]),
    (
        "ACCESS_NULL",
        &[
            "load from user address #, not mapped",
            "store to user address #, not mapped",
        ],
    ),
    ("EXEC_NULL", &["execution at #"]),
    ("EXEC_DATA", &["execution at #"]),
    ("WRITE_RO", &["store to kernel address #"]),
    ("WRITE_RO_AFTER_INIT", &["store to kernel address #"]),
    ("WRITE_KERN", &["store to kernel address #"]),
    ("CORRUPT_USER_DS", &["load from user address #, not mapped"]),
    ("EXHAUST_STACK", &["store to kernel address #, kernel stack overflow"]),
    ("BUG", &["trap instruction at #"]),
    ("ILLEGAL", &["illegal instruction at #"]),
];

/// What comes after those in the list.
const OTHERS: [&str; 4] = ["PANIC", "CORRUPT_STACK", "CORRUPT_STACK_ZEROS", "REPORT_STACK_CANARY"];

/// Replaces each address, with the place in the code that follows it, by `#`.
fn without_addresses(line: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in line.split(' ') {
        let (text, comma) = match word.strip_suffix(',') {
            Some(text) => (text, ","),
            None => (word, ""),
        };
        let is_place = text.contains("+0x");
        if text.starts_with("0x") {
            words.push(format!("#{comma}"));
        } else if is_place {
            let last = words.last_mut().expect("a place follows its address");
            last.push_str(comma);
        } else {
            words.push(word.into());
        }
    }
    // A data access has both the address and the place.
    words.join(" ").replace("# at #", "#")
}

// U-017, U-067, U-077, U-156, U-157, U-159
#[test]
fn kernel_fault_is_reported_and_the_prompt_comes_back() {
    on_every_machine(|firmware| {
        let list = firmware.output("lkdtm");
        let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
        let known: Vec<&str> = PROVOCATIONS.iter().map(|(name, _)| *name).chain(OTHERS).collect();
        assert_eq!(names, known);
        // U-162: on a build without an address limit this says why it does nothing.
        let excuse = "lkdtm: CORRUPT_USER_DS: XFAIL: the preset has no address limit\n";
        firmware.expect("lkdtm CORRUPT_USER_DS", 0, excuse);
        firmware.output("preset fast-set_fs");
        for (name, reports) in PROVOCATIONS {
            let output = firmware.output(&format!("lkdtm {name}"));
            let machine = &firmware.machine;
            let mut lines: Vec<String> = output.lines().map(without_addresses).collect();
            let verdict = lines.pop().expect(&output);
            assert!(
                verdict.starts_with(&format!("lkdtm: {name}: stopped: ")),
                "{machine}: {output}"
            );
            let expected: Vec<String> = reports
                .iter()
                .map(|report| format!("zeronull: kernel fault caught: {report}"))
                .collect();
            assert_eq!(lines, expected, "{machine}: {output}");
        }
        let unknown = "lkdtm: NONE does not exist: `lkdtm` lists what does\n";
        firmware.expect("lkdtm NONE", 2, unknown);
        firmware.expect("lkdtm BUG gently", 2, "usage: lkdtm [NAME [fatal]]\n");
    });
}

// U-017
#[test]
fn hundred_faults_leave_nothing_behind() {
    on_every_machine(|firmware| {
        firmware.output("preset fast-set_fs");
        let before = firmware.output("lkdtm CORRUPT_USER_DS");
        for _ in 0..100 {
            assert_eq!(firmware.type_command("lkdtm CORRUPT_USER_DS"), before);
        }
        firmware.output("lkdtm CORRUPT_USER_DS");
        assert!(
            firmware
                .output("probe limits")
                .contains("read(zero, KERNEL, 64) = EFAULT\n")
        );
    });
}

/// The block from `zeronull: panic:` to the end of the console.
#[track_caller]
fn panic_block(command: &str, machine: &dyn Machine) -> Vec<String> {
    let transcript = Firmware::boot(machine, &Start::default()).end_with(command);
    let console = &transcript.console;
    assert_eq!(transcript.status, 101, "{console}");
    let lines: Vec<String> = console.lines().map(String::from).collect();
    let start = lines.iter().position(|line| line.starts_with("zeronull: panic: "));
    let block = lines[start.unwrap_or_else(|| panic!("no block in {console}"))..].to_vec();
    assert_eq!(block.last().map(String::as_str), Some("zeronull: done, status 101"));
    // It starts on a line of its own, and no other is inside.
    assert_eq!(console.matches("zeronull: panic:").count(), 1, "{console}");
    block
}

/// Checks the backtrace: an address and a function of ours in each line, from `first` on, down to the start.
#[track_caller]
fn assert_backtrace(block: &[String], first: &str, functions: &[&str]) {
    let start = block.iter().position(|line| line == "backtrace:").expect("a backtrace");
    let calls = &block[start + 1..block.len() - 1];
    let names: Vec<&str> = calls
        .iter()
        .map(|line| {
            let place = line.strip_prefix("  0xc").and_then(|line| line.split_once(' '));
            let (name, _) = place.and_then(|(_, place)| place.rsplit_once("+0x")).expect(line);
            name
        })
        .collect();
    assert!(
        names[0].contains(first),
        "the first is {}, not {first}: {block:#?}",
        names[0]
    );
    let mut rest = names.iter();
    for function in functions {
        assert!(rest.any(|name| name == function), "{function} is missing in {block:#?}");
    }
}

/// What every report has at its end.
const TO_THE_START: [&str; 3] = ["zeronull::lkdtm::run", "zeronull::kernel::start", "kernel_main"];

// U-231
#[test]
fn fatal_kernel_fault_ends_with_a_complete_report() {
    for machine in machines() {
        let block = panic_block("lkdtm ACCESS_NULL fatal", machine.as_ref());
        assert_eq!(
            without_addresses(&block[0]),
            "zeronull: panic: load from user address #, not mapped"
        );
        // Vector and machine state, then the address registers, then r0 to r31 in rows of four.
        for (line, start) in block[1..].iter().zip(["vector 0x", "ctr ", "dar 00000000  dsisr "]) {
            assert!(line.starts_with(start), "{block:#?}");
        }
        for (row, line) in block[4..12].iter().enumerate() {
            let mut words = line.split_whitespace();
            assert_eq!(words.next(), Some(format!("r{}", row * 4).as_str()), "{block:#?}");
            assert_eq!(
                words
                    .filter(|word| word.len() == 8 && u32::from_str_radix(word, 16).is_ok())
                    .count(),
                4
            );
        }
        assert_backtrace(&block, "catch", &TO_THE_START);
    }
}

// U-067: the report comes although the stack that it would need is used up.
#[test]
fn fatal_stack_overflow_ends_with_a_complete_report() {
    for machine in machines() {
        let block = panic_block("lkdtm EXHAUST_STACK fatal", machine.as_ref());
        let first = without_addresses(&block[0]);
        let expected = "zeronull: panic: store to kernel address #, kernel stack overflow";
        assert_eq!(first, expected);
        assert_backtrace(&block, "deeper", &[]);
    }
}

// U-231
#[test]
fn panic_ends_with_a_report_of_its_place() {
    for machine in machines() {
        let block = panic_block("lkdtm PANIC", machine.as_ref());
        assert_eq!(block[0], "zeronull: panic: lkdtm PANIC");
        assert!(block[1].starts_with("at src/lkdtm.rs:"), "{block:#?}");
        assert_backtrace(&block, "panic", &TO_THE_START);
    }
}

#[test]
fn provocations_that_need_what_the_firmware_has_not() {
    skipped("U-161", "the firmware has no check of the bounds of kernel objects yet");
}
