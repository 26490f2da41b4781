//! What a boot loader may hand over, well or badly, and the state in which it may leave the core: on the simulated board,
//! which can be put into any state.

#[path = "common/assembled.rs"]
mod assembled;
#[path = "common/simulated.rs"]
mod simulated;

use assembled::code;
use mpc8xx_sim::board::Options;
use mpc8xx_sim::bus::{Bus, Width};
use mpc8xx_sim::cpu::{Halt, Stop};
use mpc8xx_sim::load::HandOver;
use mpc8xx_sim::load::board_info::{BoardInfo, Layout};
use mpc8xx_sim::load::fdt::Node;
use simulated::harness::{Board8xx, board, options};
use simulated::{CORE_HZ, IMMR, PROMPT, archive, device_tree, started, tree, uimage};

/// Where the image is loaded and entered, and where a test's own code and data lie above it.
const IMAGE: u32 = 0x10_0000;
const TRAMPOLINE: u32 = 0x70_0000;
const SCRATCH: u32 = 0x60_0000;
/// Start and length of a part of the image that lies in no other way than as the tests leave it.
const CODE: std::ops::Range<u32> = IMAGE + 0x800..IMAGE + 0x1000;

const DD: &str = "dd if=/dev/zero of=/dev/null count=100";
const DD_OUTPUT: &str = "51200 bytes (50.0KB) copied, ";

fn board_info(layout: Layout) -> HandOver {
    HandOver::BoardInfo {
        layout,
        bootargs: "odd=1".into(),
        initrd: archive(),
    }
}

fn place(board: &mut Board8xx, address: u32, bytes: &[u8]) {
    let placed = board.machine.bus.external_mut().place(address, bytes);
    placed.unwrap_or_else(|at| panic!("no memory at {at:#x}"));
    board.machine.cpu.forget();
}

fn bytes(board: &Board8xx, address: u32, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    board.machine.peek(address, &mut bytes).expect("there is memory");
    bytes
}

/// A state of the core at the entry of the image: code that brings it about with r10 and above, and the MSR.
struct State {
    name: &'static str,
    code: &'static str,
    msr: u32,
}

/// ME and RI, as U-Boot has it.
const MSR: u32 = 0x1002;
const EE: u32 = 0x8000;
const IP: u32 = 0x40;
const IR_DR: u32 = 0x30;

/// Data cache on; [`CODE`] is right in the cache alone, in lines of which the first cannot be thrown out; in memory it stands
/// inverted.
const DIRTY: &str = "
    lis 10, 0x0a00; mtspr 568, 10
    lis 10, 0x0c00; mtspr 568, 10
    lis 10, 0x0200; mtspr 568, 10
    lis 10, 0x10; ori 10, 10, 0x800
    mtspr 569, 10
    lis 11, 0x0600; mtspr 568, 11
    li 11, 0x800 / 4; mtctr 11
    addi 10, 10, -4
1:  lwzu 11, 4(10); not 11, 11; stw 11, 0(10)
    bdnz 1b
";

/// The first 32 MiB mapped to themselves for both sides.
const IDENTITY: &str = "
    lis 10, 0x0400; mtspr 792, 10
    li 10, 0; mtspr 784, 10; mtspr 793, 10
    lis 10, 0x5555; ori 10, 10, 0x5555; mtspr 786, 10; mtspr 794, 10
    tlbia
    li 11, 4; mtctr 11
    li 12, 0x200; li 13, 0xd; li 14, 0x1fd
2:  mtspr 787, 12; mtspr 789, 13; mtspr 790, 14
    mtspr 795, 12; mtspr 797, 13; mtspr 798, 14
    addis 12, 12, 0x80; addis 14, 14, 0x80
    bdnz 2b
";

/// Entries that nothing throws out, for the kernel's own addresses, and to the wrong place.
const PINNED: &str = "
    lis 10, 0x0c00; ori 10, 10, 0x1c00; mtspr 792, 10
    lis 10, 0x0800; ori 10, 10, 0x1c00; mtspr 784, 10
    li 11, 4; mtctr 11
    lis 12, 0xc000; ori 12, 12, 0x20f; li 13, 0xd; lis 14, 0x80; ori 14, 14, 0x1fd
3:  mtspr 787, 12; mtspr 789, 13; mtspr 790, 14
    mtspr 795, 12; mtspr 797, 13; mtspr 798, 14
    addis 12, 12, 0x80
    bdnz 3b
    li 10, 15; mtspr 793, 10
    li 10, -1; mtspr 786, 10; mtspr 794, 10; mtspr 796, 10; mtspr 799, 10
";

const GARBAGE: &str = "
    li 10, -1
    mtctr 10; mtlr 10; mtxer 10; mtcrf 0xff, 10
    mtsprg 0, 10; mtsprg 1, 10; mtsprg 2, 10; mtsprg 3, 10; mtdar 10; mtdsisr 10
    lis 1, 0x10; ori 1, 1, 0x100; lis 2, 0xdead
    mr 16, 10; mr 17, 10; mr 18, 10; mr 19, 10; mr 20, 10; mr 24, 10; mr 29, 10; mr 30, 10; mr 31, 10
";

/// The decrementer expires while the head moves the image.
const DECREMENTER: &str = "li 10, 1000; mtdec 10\n";

const STATES: [State; 11] = [
    State {
        name: "as U-Boot leaves it",
        code: "",
        msr: MSR,
    },
    State {
        name: "interrupts on, the decrementer about to fire",
        code: DECREMENTER,
        msr: MSR | EE,
    },
    State {
        name: "a decrementer interrupt pending",
        code: "li 10, 0; mtdec 10; li 10, -1; mtdec 10\n",
        msr: MSR,
    },
    State {
        name: "vectors high",
        code: "",
        msr: MSR | IP,
    },
    State {
        name: "machine check off, not recoverable",
        code: "",
        msr: 0,
    },
    State {
        name: "caches off, fetches serialized",
        code: "lis 10, 0x0400; mtspr 560, 10; mtspr 568, 10; li 10, 0; mtspr 158, 10\n",
        msr: MSR,
    },
    State {
        name: "data cache write-through",
        code: "lis 10, 0x0c00; mtspr 568, 10; lis 10, 0x0100; mtspr 568, 10; lis 10, 0x0200; mtspr 568, 10\n",
        msr: MSR,
    },
    State {
        name: "the image in a dirty and locked data cache",
        code: DIRTY,
        msr: MSR,
    },
    State {
        name: "translation on",
        code: IDENTITY,
        msr: MSR | IR_DR,
    },
    State {
        name: "pinned entries in the TLBs",
        code: PINNED,
        msr: MSR,
    },
    State {
        name: "garbage in the registers",
        code: GARBAGE,
        msr: MSR,
    },
];

/// Lets the core run into the state and from there into the image, with the registers as they are.
fn enter_in(board: &mut Board8xx, state: &State) {
    let State { name, code: setup, msr } = state;
    let source = format!(
        "{setup}
        lis 10, {IMAGE:#x} >> 16; mtsrr0 10
        lis 11, {msr} >> 16; ori 11, 11, {msr} & 0xffff; mtsrr1 11
        rfi\n"
    );
    place(board, TRAMPOLINE, &code(&name.replace([' ', ','], "-"), &source));
    if source.contains(DIRTY) {
        let inverted: Vec<u8> = bytes(board, CODE.start, CODE.len()).iter().map(|byte| !byte).collect();
        place(board, CODE.start, &inverted);
    }
    // An interrupt that the head lets in ends here, as no loader's handler is there.
    for vector in [0x500, 0x900] {
        place(board, vector, &0x4800_0000_u32.to_be_bytes());
    }
    board.machine.cpu.pc = TRAMPOLINE;
    // Otherwise the data cache would be transparent.
    board.machine.set_timed(true);
}

/// Boots into the prompt and runs a program, or finds out that there is none.
#[track_caller]
fn assert_boots(mut board: Board8xx, name: &str, has_programs: bool) -> String {
    board.expect("zeronull 0", 5);
    board.expect(PROMPT, 2);
    board.send(&format!("{DD}\r"));
    board.expect(if has_programs { DD_OUTPUT } else { "dd: unknown command" }, 2);
    board.expect(PROMPT, 1);
    board.send("poweroff 7\r");
    board.expect("zeronull: done, status 7\r\n", 1);
    assert!(!board.output.contains("panic"), "{name}: {}", board.output);
    board.output
}

// U-210
#[test]
fn every_state_of_the_core_at_entry_will_do() {
    for state in &STATES {
        let mut board = started(device_tree("odd=1", archive()));
        enter_in(&mut board, state);
        let output = assert_boots(board, state.name, true);
        assert!(output.contains("word odd=1 is unknown"), "{}: {output}", state.name);
        for word in ["assumed", "unknown:", "defaults"] {
            assert!(!output.contains(word), "{}: {output}", state.name);
        }
    }
}

// U-210
#[test]
fn all_states_of_the_core_at_once_will_do_with_every_hand_over() {
    // The decrementer of the board comes from reset: it must not expire in here, where no loader's handler takes it.
    let code = [
        "lis 10, 0x7fff; mtdec 10\n",
        GARBAGE,
        PINNED,
        IDENTITY,
        DIRTY,
        DECREMENTER,
    ]
    .concat();
    let state = State {
        name: "everything",
        code: Box::leak(code.into_boxed_str()),
        msr: MSR | EE | IP | IR_DR,
    };
    for (name, hand_over) in [
        ("tree", device_tree("odd=1", archive())),
        ("old bd_info", board_info(Layout::Old)),
        ("new bd_info", board_info(Layout::New)),
    ] {
        let mut board = started(hand_over);
        enter_in(&mut board, &state);
        let output = assert_boots(board, name, true);
        assert!(output.contains("word odd=1 is unknown"), "{name}: {output}");
    }
    for r3 in [
        0,
        0xDEAD_BEEF,
        3,
        SCRATCH,
        SCRATCH + 1,
        0x01FF_FFFD,
        0x7FFF_FFFC,
        u32::MAX,
    ] {
        let mut board = started(device_tree("", None));
        for register in 3..10 {
            board
                .machine
                .cpu
                .set_gpr(register, r3.wrapping_mul(register as u32 - 2));
        }
        enter_in(&mut board, &state);
        let output = assert_boots(board, &format!("{r3:#x}"), false);
        let message = format!("zeronull: no device tree, bd_info or arguments in r3 ({r3:#010x}): defaults are used");
        assert!(output.contains(&message), "{output}");
        assert!(output.contains("core clock unknown: 132000000 Hz assumed"), "{output}");
        assert!(
            output.contains("size of RAM unknown: 0x2000000 bytes found"),
            "{output}"
        );
    }
}

/// The board entered with one thing in memory, at r3 and nothing in the registers behind it; gives the output up to the
/// prompt.
fn output_with(r3: &[u8], registers: &[(usize, u32)]) -> String {
    let mut board = started(device_tree("", None));
    place(&mut board, SCRATCH, r3);
    for register in 4..10 {
        board.machine.cpu.set_gpr(register, 0);
    }
    board.machine.cpu.set_gpr(3, SCRATCH);
    for (register, value) in registers {
        board.machine.cpu.set_gpr(*register, *value);
    }
    board.expect(PROMPT, 5);
    assert!(board.output.contains("zeronull 0"), "{}", board.output);
    board.output
}

#[test]
fn broken_device_tree_is_named_and_ignored() {
    let good = {
        let mut tree = tree();
        tree.set_memory(32 << 20);
        tree.set_bootargs("odd=1");
        tree.to_bytes()
    };
    let output = output_with(&good, &[]);
    assert!(output.contains("word odd=1 is unknown"), "{output}");
    assert!(!output.contains("device tree"), "{output}");

    let total = good.len() as u32;
    let word = |index: usize| u32::from_be_bytes(good[4 * index..][..4].try_into().expect("four bytes"));
    let (structure, strings) = (word(2), word(3));
    let end = structure + word(9) - 4;
    for (what, offset, value, message) in [
        ("size beyond RAM", 4, 0x7FFF_FFFF, "in the header, 1048576 bytes there"),
        ("size of the header", 4, 39, "size 39 in the header, 39 bytes there"),
        ("cut off", 4, total - 1, "reaches beyond its end"),
        ("version", 24, 18, "last compatible version 18: accepted is up to 17"),
        ("structure outside", 8, total, "reaches beyond its end"),
        ("structure wraps", 8, u32::MAX, "reaches beyond its end"),
        ("strings outside", 12, total, "reaches beyond its end"),
        ("strings too long", 32, total - strings + 1, "reaches beyond its end"),
        ("first token", structure, 7, "broken structure at offset 0"),
        ("last token", end, 2, "broken structure at offset"),
        (
            "length of a property",
            structure + 12,
            u32::MAX,
            "broken structure at offset",
        ),
        (
            "name of a property",
            structure + 16,
            u32::MAX,
            "broken structure at offset",
        ),
    ] {
        let mut bad = good.clone();
        bad[offset as usize..][..4].copy_from_slice(&value.to_be_bytes());
        let output = output_with(&bad, &[]);
        assert!(
            output.contains("zeronull: device tree at 0x00600000: "),
            "{what}: {output}"
        );
        assert!(output.contains(message), "{what}: no {message:?} in {output}");
        assert!(output.contains(": ignored"), "{what}: {output}");
        assert!(!output.contains("odd=1"), "{what}: {output}");
        assert!(output.contains("32 MiB RAM"), "{what}: {output}");
    }
    let mut bad = good.clone();
    bad[3] ^= 1;
    let output = output_with(&bad, &[]);
    assert!(
        output.contains("no device tree, bd_info or arguments in r3 (0x00600000)"),
        "{output}"
    );
}

#[test]
fn tree_at_the_very_end_of_ram_is_not_read_beyond_it() {
    for length in [4, 8, 40, 64] {
        let mut board = started(device_tree("", None));
        let mut header = vec![0; length];
        header[..4].copy_from_slice(&0xD00D_FEED_u32.to_be_bytes());
        if length >= 8 {
            header[4..8].copy_from_slice(&0x1000_u32.to_be_bytes());
        }
        let at = (32 << 20) - length as u32;
        place(&mut board, at, &header);
        board.machine.cpu.set_gpr(3, at);
        board.expect(PROMPT, 5);
        let message = format!("zeronull: device tree at {at:#010x}: ");
        assert!(board.output.contains(&message), "{length}: {}", board.output);
        assert!(board.output.contains("ignored"), "{length}: {}", board.output);
    }
}

#[test]
fn impossible_content_of_a_good_tree_is_named_and_replaced() {
    let changed = |change: &dyn Fn(&mut Node)| {
        let mut tree = tree();
        tree.set_memory(32 << 20);
        change(&mut tree.root);
        output_with(&tree.to_bytes(), &[])
    };
    let words = |values: &[u32]| values.iter().flat_map(|value| value.to_be_bytes()).collect::<Vec<_>>();
    let memory = |root: &mut Node, reg: &[u32]| {
        let name = root.children.iter().find(|child| child.name.starts_with("memory"));
        let name = name.expect("the loader has set it").name.clone();
        root.child_or_new(&name).set("reg", words(reg));
    };
    for (reg, message) in [
        (
            &[0, 64 << 20][..],
            "memory of 0x4000000 bytes at 0x0: ignored, accepted is up to 0x2000000 at 0",
        ),
        (
            &[0x100_0000, 16 << 20],
            "memory of 0x1000000 bytes at 0x1000000: ignored",
        ),
        (&[0, 0], "memory of 0x0 bytes at 0x0: ignored"),
        (&[0], "no memory node"),
    ] {
        let output = changed(&|root| memory(root, reg));
        assert!(output.contains(message), "{output}");
        assert!(
            output.contains("size of RAM unknown: 0x2000000 bytes found"),
            "{output}"
        );
    }
    let output = changed(&|root| {
        let cpus = root.child_or_new("cpus").child_or_new("PowerPC,866@0");
        cpus.remove("clock-frequency");
    });
    assert!(output.contains("core clock unknown: 132000000 Hz assumed"), "{output}");
    for bootargs in [&b"\xFF\xFE\0"[..], b"", b"\0"] {
        let output = changed(&|root| root.child_or_new("chosen").set("bootargs", bootargs.to_vec()));
        assert!(!output.contains("command line"), "{output}");
    }
}

/// Boots with an archive at a place; gives the output to its end or to the prompt.
fn output_with_initrd(start: u32, end: u32) -> (String, bool) {
    let mut tree = tree();
    tree.set_memory(32 << 20);
    let chosen = tree.root.child_or_new("chosen");
    chosen.set("linux,initrd-start", start.to_be_bytes().to_vec());
    chosen.set("linux,initrd-end", end.to_be_bytes().to_vec());
    let mut board = started(device_tree("", None));
    place(&mut board, SCRATCH, &tree.to_bytes());
    board.machine.cpu.set_gpr(3, SCRATCH);
    let has_ended = matches!(board.run_to_end(1), Stop::Halt { .. });
    (board.output, has_ended)
}

#[test]
fn archive_outside_of_free_ram_ends_the_start_with_its_address() {
    for (start, end) in [
        (0x0200_0000, 0x0200_1000),
        (0x01FF_F000, 0x0200_0001),
        (0x1000, 0x2000),
        (0x4000_0000, 0xFFFF_FFFF),
    ] {
        let (output, has_ended) = output_with_initrd(start, end);
        let message = format!(
            "zeronull: initial archive of {} bytes at {start:#010x} is not in RAM above the firmware",
            end - start
        );
        assert!(output.contains(&message) && has_ended, "{output}");
        assert!(output.ends_with("zeronull: done, status 1\r\n"), "{output}");
    }
    // No archive at all, whatever the start says.
    let (output, _) = output_with_initrd(0x80_0000, 0x80_0000);
    assert!(
        output.contains("no initial archive") && output.ends_with(PROMPT),
        "{output}"
    );
}

fn info() -> BoardInfo {
    BoardInfo {
        memory_bytes: 32 << 20,
        flash_start: 0x0400_0000,
        flash_bytes: 2 << 20,
        immr_base: IMMR,
        core_hz: CORE_HZ,
        bus_hz: CORE_HZ / 2,
        baud: 115_200,
    }
}

#[test]
fn board_information_that_cannot_be_is_none() {
    for (what, bad) in [
        (
            "IMMR",
            BoardInfo {
                immr_base: 0xFFF0_0000,
                ..info()
            },
        ),
        ("no core clock", BoardInfo { core_hz: 0, ..info() }),
        (
            "core clock",
            BoardInfo {
                core_hz: 999_999_999,
                ..info()
            },
        ),
        (
            "bus clock",
            BoardInfo {
                bus_hz: CORE_HZ / 3,
                ..info()
            },
        ),
    ] {
        for layout in [Layout::Old, Layout::New] {
            let output = output_with(&bad.to_bytes(layout), &[]);
            let message = "no device tree, bd_info or arguments in r3 (0x00600000): defaults are used";
            assert!(output.contains(message), "{what}, {layout:?}: {output}");
        }
    }
    for (memory_bytes, message) in [
        (
            64 << 20,
            "bd_info: memory of 0x4000000 bytes at 0x0: ignored, accepted is up to 0x2000000 at 0",
        ),
        (4 << 20, "bd_info: memory of 0x400000 bytes at 0x0: ignored"),
    ] {
        let output = output_with(&BoardInfo { memory_bytes, ..info() }.to_bytes(Layout::Old), &[]);
        assert!(output.contains(message), "{output}");
        assert!(output.contains("32 MiB RAM"), "{output}");
    }
}

#[test]
fn bad_registers_beside_the_board_information_are_named_and_ignored() {
    let good = info().to_bytes(Layout::Old);
    for (registers, message) in [
        (
            &[(4, 0x80_1000), (5, 0x80_0000)][..],
            "initial archive from 0x00801000 to 0x00800000: ignored",
        ),
        (
            &[(6, 0x80_1000), (7, 0x80_0000)],
            "command line from 0x00801000 to 0x00800000: ignored",
        ),
        (
            &[(6, 0x01FF_FFF0), (7, 0x0200_0001)],
            "command line from 0x01fffff0 to 0x02000001: ignored",
        ),
        (
            &[(6, 0x80_0000), (7, 0xFFFF_FFFF)],
            "command line from 0x00800000 to 0xffffffff: ignored",
        ),
    ] {
        let output = output_with(&good, registers);
        assert!(output.contains(message), "{output}");
        assert!(!output.contains("defaults are used"), "{output}");
    }
}

// U-081
#[test]
fn every_size_of_ram_is_told_or_found_and_can_be_used_to_its_end() {
    for (name, mebibytes) in [
        ("mcr3000", &[8, 16, 32, 64][..]),
        ("cmpc885", &[128]),
        ("mpc885ads", &[8, 16]),
        ("adder875", &[8, 16]),
    ] {
        for mebibytes in mebibytes {
            for tells in [true, false] {
                let board = board(name);
                let (options, terminal) = options();
                let options = Options {
                    memory_bytes: Some(mebibytes << 20),
                    ..options
                };
                let hand_over = device_tree("", archive());
                let mut board = Board8xx::started(board, options, terminal, uimage(), hand_over);
                if !tells {
                    board.machine.cpu.set_gpr(3, 0);
                }
                board.expect(&format!("zeronull 0.1.0 on {name}, "), 5);
                board.expect(&format!(", {mebibytes} MiB RAM\r\n"), 1);
                board.expect(PROMPT, 2);
                let is_found = board.output.contains("size of RAM unknown: ");
                assert_eq!(is_found, !tells, "{}", board.output);
                if tells {
                    // All of it but what firmware, archive and programs need; the machine would name a bus error.
                    let buffer = mebibytes - 3;
                    board.send(&format!("dd if=/dev/zero of=/dev/null bs={buffer}M count=1\r"));
                    board.expect(&format!("{} bytes (", buffer << 20), 30);
                    board.expect(PROMPT, 1);
                }
            }
        }
    }
}

#[test]
fn watchdog_that_the_loader_left_on_is_served() {
    let (options, terminal) = options();
    let mcr3000 = board("mcr3000");
    let mut soc = mcr3000.power_on(options).expect("the board can be built");
    // 65535 times 2048 clocks: a second. SWE, SWRI, SWP. SYPCR can be written once, so U-Boot's value comes too late.
    let sypcr = 0xFFFF_FF8F;
    let stored = soc.write(IMMR + 4, Width::Word, sypcr, 0);
    stored.expect("SYPCR is a register");
    let mut board = Board8xx::left(mcr3000, soc, terminal, uimage(), device_tree("", archive()));
    board.machine.cpu.quirks.stop_on_reset = true;
    let now = board.machine.cpu.now();
    assert_eq!(board.machine.bus.read(IMMR + 4, Width::Word, now), Ok(sypcr));
    board.expect(PROMPT, 2);
    // Idle for longer than the watchdog waits, then in one system call for as long.
    assert_eq!(board.run_to_end(3), Stop::Budget, "{}", board.output);
    board.send("dd if=/dev/zero of=/dev/null bs=27M count=1\r");
    board.expect("28311552 bytes (27.0MB) copied, ", 20);
    board.expect(PROMPT, 1);
}

/// The parameters of SMC1 lie elsewhere if the word at 0x3A of their usual page says so.
const SMC1_PAGE: u32 = IMMR + 0x2000 + 0x1E80;
const BRGC1: u32 = IMMR + 0x9F0;

fn store(board: &mut Board8xx, address: u32, width: Width, value: u32) {
    let now = board.machine.cpu.now();
    let stored = board.machine.bus.write(address, width, value, now);
    stored.unwrap_or_else(|error| panic!("{address:#x}: {error:?}"));
}

// U-232
#[test]
fn console_works_where_its_parameters_have_been_moved() {
    let mut board = started(device_tree("", archive()));
    let moved = 0x1C00;
    for offset in (0..0x38).step_by(4) {
        let now = board.machine.cpu.now();
        let word = board
            .machine
            .bus
            .read(SMC1_PAGE + offset, Width::Word, now)
            .expect("memory");
        store(&mut board, IMMR + 0x2000 + moved + offset, Width::Word, word);
        store(&mut board, SMC1_PAGE + offset, Width::Word, 0xDEAD_BEEF);
    }
    store(&mut board, SMC1_PAGE + 0x3A, Width::Half, moved);
    assert_boots(board, "moved parameters", true);
}

// U-232
#[test]
fn console_whose_clock_stands_still_costs_output_but_not_the_start() {
    let (options, terminal) = options();
    let mut options = options;
    // With instant transmission a stopped clock would not be noticed.
    options.instant_transmission = false;
    let commands = "run=\"dd if=/dev/zero of=/dev/null count=1000; help; poweroff\"";
    let hand_over = device_tree(commands, archive());
    let mut board = Board8xx::started(board("mcr3000"), options, terminal, uimage(), hand_over);
    store(&mut board, BRGC1, Width::Word, 0);
    let end = board.run_to_end(5);
    assert!(
        matches!(
            end,
            Stop::Halt {
                how: Halt::BranchToItself,
                ..
            }
        ),
        "{end:?}: {}",
        board.output
    );
    assert!(!board.output.contains("zeronull"), "{}", board.output);
}
