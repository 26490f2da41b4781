//! The user programs' files, `nullcall`, and `probe`'s actions as Linux answers them.

mod common;

use common::{emulated, file, finish, run};
use zeronull_image::testing::{output, program};

const SIGILL: i32 = 4;
const SIGSEGV: i32 = 11;

const PROGRAMS: [&str; 6] = ["calls", "dd", "iops", "moves", "nullcall", "probe"];

/// The disassembly's lines of instructions: mnemonic and operands.
fn instructions(name: &str) -> Vec<String> {
    let text = output(
        program("powerpc-linux-gnu-objdump")
            .args(["-d", "--no-show-raw-insn"])
            .arg(file(name)),
    );
    let found: Vec<String> = text
        .lines()
        .filter_map(|line| line.split_once(":\t"))
        .map(|(_, instruction)| instruction.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert!(found.len() > 1000, "{name} has only {} instructions", found.len());
    found
}

fn is_floating_point(instruction: &str) -> bool {
    let mnemonic = instruction.split(' ').next().unwrap_or_default();
    let is_move = mnemonic.starts_with("mffs") || mnemonic.starts_with("mtfs") || mnemonic.starts_with("mcrfs");
    let is_memory = ["lfs", "lfd", "stfs", "stfd", "stfiwx"]
        .iter()
        .any(|memory| mnemonic.starts_with(memory));
    mnemonic.starts_with('f') || is_move || is_memory
}

#[test]
fn programs_hold_no_floating_point_instruction() {
    for name in PROGRAMS {
        let found: Vec<String> = instructions(name)
            .into_iter()
            .filter(|text| is_floating_point(text))
            .collect();
        let wanted: &[&str] = if name == "probe" { &["fadd f1,f1,f1"] } else { &[] };
        assert_eq!(found, wanted, "{name}");
    }
}

#[test]
fn segments_start_on_pages_of_their_own_with_the_least_rights() {
    for name in PROGRAMS {
        let text = output(program("powerpc-linux-gnu-readelf").args(["-lW"]).arg(file(name)));
        let mut rights = Vec::new();
        for line in text.lines().map(str::trim).filter(|line| line.starts_with("LOAD")) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |index: usize| u32::from_str_radix(&words[index][2..], 16).expect(line);
            assert_eq!((number(1) % 0x4000, number(2) % 0x4000), (0, 0), "{name}: {line}");
            rights.push(words[6..words.len() - 1].concat());
        }
        assert_eq!(rights, ["RE", "R", "RW"], "{name}");
        let stack: Vec<&str> = text.lines().filter(|line| line.contains("GNU_STACK")).collect();
        assert!(stack.len() == 1 && stack[0].contains(" RW "), "{name}: {stack:?}");
        assert!(text.contains("Elf file type is EXEC"), "{name}");
    }
}

#[test]
fn symbols_are_kept_and_debug_sections_are_not() {
    let symbols = output(program("powerpc-linux-gnu-nm").arg(file("dd")));
    assert!(
        symbols.contains("move_whole_blocks") && symbols.contains(" _start\n"),
        "{symbols}"
    );
    let sections = output(program("powerpc-linux-gnu-readelf").args(["-SW"]).arg(file("dd")));
    assert!(!sections.contains(".debug"), "{sections}");
}

#[test]
fn nullcall_makes_its_calls_and_prints_one_line_or_one_object() {
    let plain = run("nullcall", &["2000"]).succeeded();
    assert!(
        plain.text().starts_with("2000 getppid calls, 0.") && plain.text().ends_with(" ns per call\n"),
        "{}",
        plain.text()
    );
    let json = run("nullcall", &["--json", "1k"]).succeeded();
    let text = json.text();
    assert!(
        text.starts_with("{\"program\":\"nullcall\",\"call\":\"getppid\",\"count\":1024,\"elapsed_ns\":"),
        "{text}"
    );
    assert!(text.ends_with("}\n"), "{text}");
    let field = |name: &str| -> f64 {
        let rest = text.split_once(&format!("\"{name}\":")).expect(text).1;
        rest.split([',', '}']).next().expect(text).parse().expect(text)
    };
    assert!(
        (field("elapsed_ns") / 1024.0 - field("ns_per_call")).abs() <= 0.01,
        "{text}"
    );

    let traced = finish(program("qemu-ppc").arg("-strace").arg(file("nullcall")).arg("300"), &[]).succeeded();
    assert_eq!(traced.stderr.matches(" getppid(").count(), 300);
    assert_eq!(run("nullcall", &["0"]).status(), 1);
}

// U-063, U-076
#[test]
fn stray_loads_stores_and_jumps_end_the_program() {
    // What lies between the program, the break and the stack is not mapped.
    let addresses = (11..32).map(|bit| 1u32 << bit).filter(|&bit| bit != 1 << 28);
    for address in [0, 0xc000_0000].into_iter().chain(addresses) {
        let address = format!("{address:#x}");
        assert_eq!(run("probe", &["load", &address]).signal(), SIGSEGV, "{address}");
        assert_eq!(run("probe", &["store", &address]).signal(), SIGSEGV, "{address}");
    }
    for address in ["0", "4096", "0xc0000000"] {
        assert_eq!(run("probe", &["jump", address]).signal(), SIGSEGV, "{address}");
    }
    // The file's own header can be read but not written.
    let header = run("probe", &["load", "0x10000000"]).succeeded();
    assert_eq!(header.text(), "probe: loaded 0x7f454c46 from 0x10000000\n");
    assert_eq!(run("probe", &["store", "0x10000000"]).signal(), SIGSEGV);
}

// U-064
#[test]
fn page_rights_decide_over_execution_loads_and_stores() {
    // The emulation, as many machines, lets a page that may be written or executed be read, too. Whether a page with
    // `wx` executes it decides by the rights of the host.
    let table = [
        ("none", false, false, false),
        ("r", false, true, false),
        ("w", false, true, true),
        ("rw", false, true, true),
        ("x", true, true, false),
        ("rx", true, true, false),
        ("rwx", true, true, true),
    ];
    for (rights, executes, loads, stores) in table {
        for (access, passes) in [("jump", executes), ("load", loads), ("store", stores)] {
            let run = run("probe", &["exec-page", rights, access]);
            if passes {
                assert_eq!(run.status(), 0, "{rights} {access}");
                assert!(run.text().starts_with("probe: "), "{rights} {access}");
            } else {
                assert_eq!((run.signal(), run.text()), (SIGSEGV, ""), "{rights} {access}");
            }
        }
    }
    assert_eq!(run("probe", &["exec-page", "xr"]).status(), 1);
}

#[test]
fn what_a_program_must_not_do_is_stopped() {
    for action in ["write-text", "exec-stack", "stack-overflow"] {
        let run = run("probe", &[action]);
        assert_eq!((run.signal(), run.text()), (SIGSEGV, ""), "{action}");
    }
    for action in ["illegal", "privileged"] {
        assert_eq!(run("probe", &[action]).signal(), SIGILL, "{action}");
    }
}

// U-068
#[test]
fn registers_survive_reads_that_fault() {
    let run = run("probe", &["registers"]).succeeded();
    // The emulation refuses a buffer that is bad in part; a kernel fills the good part.
    assert_eq!(
        run.text(),
        "probe: registers kept over 64 reads into the end of a page: 0 short, 64 EFAULT\n"
    );
}

#[test]
fn break_grows_with_zeros_and_shrinks() {
    let run = run("probe", &["brk"]).succeeded();
    assert_eq!(run.text().lines().count(), 9, "{}", run.text());
    assert!(run.text().lines().all(|line| line.ends_with(": yes")), "{}", run.text());
}

#[test]
fn start_stack_has_arguments_environment_and_auxiliary_vector() {
    let mut command = emulated("probe");
    command
        .args(["args", "a b", "", "c"])
        .env_clear()
        .env("NAME", "a value");
    let run = finish(&mut command, &[]).succeeded();
    let lines: Vec<&str> = run.text().lines().collect();
    assert_eq!(lines[1], "argc 5");
    assert_eq!(lines[3..7], ["argv[1] args", "argv[2] a b", "argv[3] ", "argv[4] c"]);
    assert!(lines.contains(&"envp[0] NAME=a value"), "{lines:?}");
    assert!(lines.contains(&"AT_PAGESZ 0x1000"), "{lines:?}");
    let stack = u32::from_str_radix(lines[0].strip_prefix("stack 0x").expect("an address"), 16).expect("an address");
    assert_eq!(stack % 16, 0, "the ABI aligns the start stack to 16 bytes");
}

#[test]
fn bad_calls_give_the_errors_of_linux() {
    let run = run("probe", &["errno"]).succeeded();
    assert_eq!(run.text(), include_str!("common/errno.txt"));
}

#[test]
fn calls_at_the_limits_of_memory_move_whole_buffers_or_fail_under_emulation() {
    let run = run("probe", &["limits"]).succeeded();
    let outcomes: Vec<(&str, &str)> = run.text().lines().filter_map(|line| line.split_once(" = ")).collect();
    assert_eq!(outcomes.len(), run.text().lines().count(), "{}", run.text());
    assert!(outcomes.contains(&("read(zero, edge - 64, 64)", "64")), "{outcomes:?}");
    for refused in [
        "read(zero, edge, 1)",
        "read(zero, KERNEL, 64)",
        "write(null, KERNEL, 64)",
    ] {
        assert!(outcomes.contains(&(refused, "EFAULT")), "{outcomes:?}");
    }
}

#[test]
fn cat_echo_and_exit_do_what_they_say() {
    assert_eq!(run("probe", &["echo", "a", "b  c"]).succeeded().text(), "a b  c\n");
    assert_eq!(run("probe", &["echo"]).succeeded().text(), "\n");
    assert_eq!(
        finish(emulated("probe").arg("cat"), &[b"one", b"two"])
            .succeeded()
            .text(),
        "onetwo"
    );
    let large: Vec<u8> = (0..5000u32).map(|index| index as u8).collect();
    assert_eq!(
        finish(emulated("probe").args(["cat", "/dev/stdin"]), &[&large])
            .succeeded()
            .stdout,
        large
    );
    let run_of = |operands: &[&str]| run("probe", operands);
    let missing = run_of(&["cat", "/missing"]);
    assert_eq!(
        (missing.status(), missing.stderr.as_str()),
        (1, "probe: can't open '/missing': No such file or directory\n")
    );
    assert_eq!(run_of(&["exit", "7"]).status(), 7);
    for operands in [
        &[][..],
        &["bogus"],
        &["exit", "256"],
        &["load"],
        &["load", "0xg"],
        &["load", "-1"],
    ] {
        let run = run_of(operands);
        assert_eq!(run.status(), 1, "{operands:?}");
        assert!(run.stderr.starts_with("probe: "), "{operands:?}: {}", run.stderr);
    }
}
