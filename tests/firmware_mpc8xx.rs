//! What the MPC8xx's own MMU, caches, timers and errata can do to the firmware, brought about at will on the simulator.

#[path = "common/assembled.rs"]
mod assembled;
#[path = "common/simulated.rs"]
mod simulated;

use assembled::executable;
use mpc8xx_sim::board::Options;
use mpc8xx_sim::bus::{Bus, Width};
use mpc8xx_sim::cpu::registers::msr;
use mpc8xx_sim::cpu::{Budget, Stop};
use mpc8xx_sim::soc::console::Symbol;
use simulated::harness::{Board8xx, board, options};
use simulated::{IMMR, PROMPT, archive, device_tree, started, uimage};
use zeronull_image::cpio;

/// Vectors by the place of their count.
const MACHINE_CHECK: usize = 0x02;
const ALIGNMENT: usize = 0x06;
const DECREMENTER: usize = 0x09;
const INSTRUCTION_TLB_MISS: usize = 0x11;
const DATA_TLB_MISS: usize = 0x12;

const DEC: u32 = 22;
const DC_CST: u32 = 568;
const DC_DISABLE: u32 = 0x0400_0000;
const DC_WRITE_THROUGH: u32 = 0x0100_0000;

/// An ordinary run of the device pair, and what it prints besides times.
const DD: &str = "dd if=/dev/zero of=/dev/null bs=777 count=5 status=noxfer";
const DD_OUTPUT: &str = "5+0 records in\r\n5+0 records out\r\n";

/// A board at the firmware's prompt, with programs of the test's own beside the image's. Caches and cycles are modelled.
fn at_prompt(programs: &[(&str, Vec<u8>)]) -> Board8xx {
    at_prompt_with_ram(32, programs)
}

/// The same with so many MiB of RAM.
fn at_prompt_with_ram(mebibytes: u32, programs: &[(&str, Vec<u8>)]) -> Board8xx {
    let mut all = archive().expect("the image has an archive");
    let mut own = cpio::Archive::default();
    for (name, bytes) in programs {
        own.program(&format!("bin/{name}"), bytes);
    }
    all.resize(all.len().next_multiple_of(4), 0);
    all.extend(own.finish());
    let (options, terminal) = options();
    let options = Options {
        memory_bytes: Some(mebibytes << 20),
        ..options
    };
    let mut board = Board8xx::started(
        board("mcr3000"),
        options,
        terminal,
        uimage(),
        device_tree("", Some(all)),
    );
    board.machine.set_timed(true);
    board.expect(PROMPT, 5);
    board
}

/// Types a command; gives what it printed, and lets `between` happen to the machine before each instruction on the way.
fn command_with(board: &mut Board8xx, line: &str, mut between: impl FnMut(&mut Board8xx)) -> String {
    let start = board.output.len();
    board.send(&format!("{line}\r"));
    // A hundred times what the longest of these takes undisturbed.
    for count in 0..400_000_000_u64 {
        between(board);
        let stop = board.machine.step();
        assert_eq!(stop, None, "{line}: {}", board.output);
        if count.is_multiple_of(4096) {
            board.collect();
            if let Some(printed) = printed(&board.output[start..]).map(String::from) {
                board.consume();
                return printed;
            }
        }
    }
    panic!("{line} does not end, pc {:#x}: {}", board.machine.cpu.pc, board.output);
}

/// What stands between the echo of a command and the next prompt.
fn printed(output: &str) -> Option<&str> {
    output.split_once("\r\n")?.1.strip_suffix(PROMPT)
}

/// Types a command and waits for the next prompt; gives what it printed.
fn command(board: &mut Board8xx, line: &str) -> String {
    let start = board.output.len();
    board.send(&format!("{line}\r"));
    board.expect("\r\n", 1);
    board.expect(PROMPT, 60);
    printed(&board.output[start..]).expect("a prompt").into()
}

/// The number behind a name in what a command printed.
fn number(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let value = line.and_then(|rest| rest.trim().split(' ').next()?.parse().ok());
    value.unwrap_or_else(|| panic!("no {name} in {text}"))
}

fn set_spr(board: &mut Board8xx, number: u32, value: u32) {
    let machine = &mut board.machine;
    let written = machine.cpu.write_spr(&mut machine.bus, number, value);
    written.unwrap_or_else(|| panic!("there is no SPR {number}"));
}

/// After everything that a test does: window closed, user limit, no descriptor, no machine check, and a run as ever.
#[track_caller]
fn assert_alive(board: &mut Board8xx) {
    let status = command(board, "status");
    for line in ["window    closed", "limit     user", "files     0 of"] {
        assert!(status.contains(line), "{status}");
    }
    assert_eq!(command(board, DD), DD_OUTPUT);
    assert_eq!(board.machine.cpu.exceptions()[MACHINE_CHECK], 0);
}

/// A program that runs one instruction with r4 = address.
fn at_address(name: &str, address: u32, instruction: &str) -> Vec<u8> {
    let (high, low) = (address >> 16, address & 0xFFFF);
    let source = format!(
        ".globl _start
        _start: lis 4, {high:#x}; ori 4, 4, {low:#x}
        {instruction}
        li 0, 1; li 3, 0; sc\n"
    );
    executable(name, &source)
}

// U-045: cache-block instructions leave the address of the fault before in DAR, and dcbst says that it is a store.
#[test]
fn fault_of_a_cache_block_instruction_has_its_own_address() {
    const HOLE: u32 = 0x3000_0044;
    let cases = [
        ("dcbz", "dcbz 0, 4", "store"),
        ("dcbst", "dcbst 0, 4", "load"),
        ("dcbf", "dcbf 0, 4", "load"),
        ("icbi", "icbi 0, 4", "load"),
        ("indexed", "li 5, 0x100; dcbz 4, 5", "store"),
    ];
    let programs: Vec<_> = cases
        .iter()
        .map(|(name, instruction, _)| (*name, at_address(name, HOLE, instruction)))
        .collect();
    for keeps_dar in [true, false] {
        let mut board = at_prompt(&programs);
        board.machine.cpu.quirks.cache_instructions_keep_dar = keeps_dar;
        for (name, _, access) in cases {
            let before = command(&mut board, "probe load 0x20000000");
            assert!(before.contains("at 0x20000000"), "{before}");
            let address = if name == "indexed" { HOLE + 0x100 } else { HOLE };
            let output = command(&mut board, name);
            let start = format!("{name}: segmentation fault at {address:#010x}, pc 0x100040");
            let end = format!(", {access}, not mapped\r\n");
            assert!(
                output.starts_with(&start) && output.ends_with(&end),
                "{keeps_dar}: {output}"
            );
        }
        // The kernel's clears and copies into pages that are not in the TLB, and into none.
        let tests = command(&mut board, "selftest dcb");
        assert!(tests.contains("ok 1 ") && !tests.contains("not ok"), "{tests}");
        assert_alive(&mut board);
    }
}

// U-046, U-047: memory on which dcbz is an alignment exception, or not, as the part may be.
#[test]
fn data_cache_off_or_written_through_changes_no_result() {
    let undisturbed = command(&mut at_prompt(&[]), "probe limits");
    for setting in [DC_DISABLE, DC_WRITE_THROUGH] {
        for needs_copy_back in [true, false] {
            let mut board = at_prompt(&[]);
            board.machine.cpu.quirks.dcbz_needs_copy_back = needs_copy_back;
            let machine = &mut board.machine;
            machine.cpu.flush_data_cache(&mut machine.bus);
            set_spr(&mut board, DC_CST, setting);
            let before = board.machine.cpu.exceptions()[ALIGNMENT];
            assert_alive(&mut board);
            if needs_copy_back {
                let tests = command(&mut board, "selftest dcb");
                assert!(tests.contains("ok 1 ") && !tests.contains("not ok"), "{tests}");
            }
            assert_eq!(command(&mut board, "probe limits"), undisturbed);
            let taken = board.machine.cpu.exceptions()[ALIGNMENT] - before;
            assert_eq!(
                taken != 0,
                needs_copy_back,
                "{setting:#x}: {taken} alignment exceptions"
            );
            // Each is emulated and counted where it can be seen.
            command(&mut board, "preset debug");
            command(&mut board, "counters reset");
            let before = board.machine.cpu.exceptions()[ALIGNMENT];
            assert_eq!(command(&mut board, DD), DD_OUTPUT);
            let taken = board.machine.cpu.exceptions()[ALIGNMENT] - before;
            assert_eq!(number(&command(&mut board, "counters"), "alignment fixups"), taken);
        }
    }
}

// U-080
#[test]
fn branch_at_the_end_of_a_page_lands_whatever_the_part_has() {
    // The branch stands in the last word of the second page; it goes to the last line of the third or into the fourth, and
    // from there to the first, so that each round leaves the pages in another order of age.
    let source = |target: &str| {
        format!(
            ".globl _start
            .balign 0x1000
            _start: lis 5, 1; ori 5, 5, 0x86a0; mtctr 5; li 6, 0; b second
            round: addi 6, 6, 1; b second
            .balign 0x1000
            second: b last
            .space 0xff4
            last: nop; bdnz {target}
            end: cmpw 6, 7; li 3, 0; beq 1f; li 3, 1
            1:  li 0, 1; sc
            .org second + 0x1ff0
            third: addi 7, 7, 1; b round
            .org second + 0x2000
            fourth: addi 7, 7, 1; b round\n"
        )
    };
    let programs = [
        ("third", executable("third", &source("third"))),
        ("fourth", executable("fourth", &source("fourth"))),
    ];
    for cpu15 in [true, false] {
        let mut board = at_prompt(&programs);
        board.machine.cpu.quirks.cpu15 = cpu15;
        for name in ["third", "fourth"] {
            let before = board.machine.cpu.exceptions()[INSTRUCTION_TLB_MISS];
            assert_eq!(
                command(&mut board, &format!("{name}; status")).lines().next(),
                Some("last      status 0")
            );
            let misses = board.machine.cpu.exceptions()[INSTRUCTION_TLB_MISS] - before;
            assert!(misses > 100_000, "{name}: {misses}: the pages were never together");
        }
        assert_alive(&mut board);
    }
}

/// Commands whose output says whether registers, results and faults are right, with it, undisturbed.
fn expected() -> Vec<(&'static str, String)> {
    let mut board = at_prompt(&[]);
    [
        "probe registers",
        "probe limits",
        "probe errno",
        "probe load 0x2000",
        DD,
    ]
    .into_iter()
    .map(|line| (line, command(&mut board, line)))
    .collect()
}

// U-045, U-068, U-084
#[test]
fn storm_of_tlb_misses_changes_no_result() {
    let expected = expected();
    for period in [61, 37] {
        let mut board = at_prompt(&[]);
        let undisturbed = board.machine.cpu.exceptions()[DATA_TLB_MISS];
        for (line, output) in &expected {
            let mut count = 0_u32;
            let found = command_with(&mut board, line, |board| {
                count += 1;
                if count.is_multiple_of(period) {
                    // All but the pinned entries.
                    board.machine.cpu.mmu.invalidate_all();
                    board.machine.cpu.forget();
                }
            });
            assert_eq!(&found, output, "{line}, all {period} instructions");
        }
        let misses = board.machine.cpu.exceptions()[DATA_TLB_MISS] - undisturbed;
        assert!(misses > 10_000, "{misses}");
        assert_alive(&mut board);
    }
}

// U-068, U-073: a decrementer interrupt before every instruction that runs with the window open.
#[test]
fn interrupt_at_every_instruction_inside_the_window_changes_no_result() {
    let expected = expected();
    let mut board = at_prompt(&[]);
    let closed = board.machine.cpu.mmu.data.groups();
    command(&mut board, "preset debug");
    command(&mut board, "counters reset");
    let mut interrupts = 0_u64;
    for (line, output) in &expected {
        let mut last = 0;
        let found = command_with(&mut board, line, |board| {
            let cpu = &board.machine.cpu;
            let (pc, is_open) = (cpu.pc, cpu.mmu.data.groups() != closed);
            // At the same place again it has come back from the interrupt, and must get on.
            if is_open && pc != last && cpu.msr() & msr::EE != 0 {
                set_spr(board, DEC, 1);
                set_spr(board, DEC, u32::MAX);
                interrupts += 1;
                last = pc;
            }
        });
        assert_eq!(&found, output, "{line}");
    }
    assert!(interrupts > 10_000, "{interrupts}");
    let counters = command(&mut board, "counters");
    assert_eq!(number(&counters, "windows leaked"), 0, "{counters}");
    let counted = number(&counters, "open at interrupt");
    assert!(counted >= interrupts, "{interrupts} were sent: {counters}");
    command(&mut board, "preset fast");
    assert_alive(&mut board);
}

/// A program that reads the clock a thousand times and ends with 0 if it never went back or by more than 10 ms.
fn clock_program() -> Vec<u8> {
    executable(
        "clock",
        ".globl _start
        # r14 count, r15 seconds, r16 nanoseconds of the last reading, r1 + 16 the next
        _start: li 14, 0; li 15, 0; li 16, 0
        1:  li 0, 246; li 3, 1; addi 4, 1, -64; sc
            bso 4f
            lwz 17, -64(1); lwz 18, -60(1)
            cmpwi 14, 0; beq 3f
            subf 19, 15, 17; subf 20, 16, 18
            # nanoseconds since the last reading, of at most one second
            cmplwi 19, 1; bgt 4f
            cmpwi 19, 0; beq 2f
            lis 21, 0x3b9a; ori 21, 21, 0xca00; add 20, 20, 21
        2:  lis 21, 0x98; ori 21, 21, 0x9680
            cmplw 20, 21; bgt 4f
        3:  mr 15, 17; mr 16, 18
            addi 14, 14, 1; cmpwi 14, 1000; blt 1b
            li 3, 0; b 5f
        4:  li 3, 1
        5:  li 0, 1; sc\n",
    )
}

/// Seconds and millionths in `uptime`, as millionths.
fn uptime(board: &mut Board8xx) -> u64 {
    let status = command(board, "status");
    let line = status.lines().find_map(|line| line.strip_prefix("uptime"));
    let time = line.and_then(|line| line.trim().split(' ').next()?.split_once('.'));
    let (seconds, fraction) = time.unwrap_or_else(|| panic!("no uptime in {status}"));
    assert_eq!(fraction.len(), 6, "{status}");
    let [seconds, fraction] = [seconds, fraction].map(|digits| digits.parse::<u64>().expect("digits"));
    seconds * 1_000_000 + fraction
}

// U-190
#[test]
fn time_goes_on_over_a_carry_of_the_time_base() {
    for time_base in [0xFFFF_FF00_u64, 0x7_FFFF_FFF0, 0xFFFF_FFFF_FFFF_FF00] {
        let mut board = at_prompt(&[("clock", clock_program())]);
        let preset = |board: &mut Board8xx, time_base: u64| {
            let now = board.machine.cpu.now();
            board.machine.bus.preset_timers(time_base, 10_000, now);
        };
        // The clock's thousand readings take about 50 000 ticks, the run of dd about 700.
        let last = uptime(&mut board);
        preset(&mut board, time_base - 20_000);
        if time_base >> 40 == 0 {
            let status = command(&mut board, "clock; status");
            assert!(status.contains("last      status 0\r\n"), "{time_base:#x}: {status}");
            assert!(uptime(&mut board) > last);
        }
        preset(&mut board, time_base - 200);
        let output = command(&mut board, "time dd if=/dev/zero of=/dev/null count=1000");
        assert!(
            output.contains("512000 bytes (500.0KB) copied, 0.00"),
            "{time_base:#x}: {output}"
        );
        for line in ["real\t", "user\t", "sys\t"] {
            let value = output
                .lines()
                .find_map(|text| text.strip_prefix(&line.replace('\t', "    ")[..4]))
                .map(str::trim);
            assert!(
                value.is_some_and(|value| value.starts_with("0m 0.0")),
                "{line}: {output}"
            );
        }
        assert_alive(&mut board);
    }
}

// U-191
#[test]
fn ticks_go_on_whatever_the_decrementer_says() {
    for decrementer in [0, 1, 0x8000_0000, 0xC000_0000, u32::MAX] {
        let mut board = at_prompt(&[]);
        // As if interrupts had been off until it says this.
        set_spr(&mut board, DEC, 1);
        set_spr(&mut board, DEC, u32::MAX);
        set_spr(&mut board, DEC, decrementer);
        let before = board.machine.cpu.exceptions()[DECREMENTER];
        assert_eq!(board.machine.run(Budget::clocks(26_400_000)), Stop::Budget);
        let ticks = board.machine.cpu.exceptions()[DECREMENTER] - before;
        assert!((20..=22).contains(&ticks), "{decrementer:#x}: {ticks} ticks in 200 ms");
        assert_alive(&mut board);
    }
}

// U-191
#[test]
fn uptime_is_the_time_base_after_long_calls_and_idle_time() {
    let mut board = at_prompt(&[]);
    let mut last: Option<(u64, u64)> = None;
    for line in [
        "",
        "dd if=/dev/zero of=/dev/null bs=16M count=2",
        "dd if=/dev/zero of=/dev/null count=20000",
    ] {
        command(&mut board, line);
        assert_eq!(board.machine.run(Budget::clocks(66_000_000)), Stop::Budget);
        let (found, now) = (uptime(&mut board), board.machine.cpu.now());
        if let Some((found_before, now_before)) = last {
            let elapsed = (now - now_before) / 132;
            let shown = found - found_before;
            // Both instants lie within the command that shows the first.
            assert!(
                shown.abs_diff(elapsed) < 10_000,
                "{line}: {shown} shown, {elapsed} elapsed"
            );
        }
        last = Some((found, now));
    }
}

// U-173
#[test]
fn frozen_time_base_gives_finite_figures() {
    let mut board = at_prompt(&[]);
    // TBE off; TBSCRK opens TBSCR.
    for (offset, width, value) in [(0x300, Width::Word, 0x55CC_AA33), (0x200, Width::Half, 0x00C2)] {
        let now = board.machine.cpu.now();
        let stored = board.machine.bus.write(IMMR + offset, width, value, now);
        stored.expect("a register");
    }
    board.machine.cpu.forget();
    for operands in ["count=0", "count=1", "bs=1 count=1", "count=1000"] {
        let output = command(&mut board, &format!("time dd if=/dev/zero of=/dev/null {operands}"));
        assert!(output.contains(" copied, 0.000000 seconds"), "{operands}: {output}");
        for word in ["inf", "NaN", "panic"] {
            assert!(!output.contains(word), "{operands}: {output}");
        }
        assert!(output.contains("real    0m 0.00s"), "{operands}: {output}");
    }
    assert!(command(&mut board, "perf stat help").contains(" 0  core-cycles"));
    assert_alive(&mut board);
}

// U-191
#[test]
fn time_base_that_never_ran_is_none() {
    let mut board = started(device_tree("", archive()));
    board.machine.bus.break_time_base(0);
    board.expect("no timebase: times are 0\r\n", 5);
    board.expect(PROMPT, 2);
    let output = command(&mut board, "time dd if=/dev/zero of=/dev/null count=1000");
    assert!(output.contains(" copied, 0.000000 seconds"), "{output}");
    assert!(command(&mut board, "perf stat help").contains("<not counted>  core-cycles"));
    assert_alive(&mut board);
}

// U-081, U-050: all of RAM is cleared, and what is behind it never asked for.
#[test]
fn clearing_up_to_the_end_of_ram_asks_for_nothing_behind_it() {
    let mut board = at_prompt_with_ram(8, &[]);
    let output = command(&mut board, "dd if=/dev/zero of=/dev/null bs=5M count=1 status=noxfer");
    assert_eq!(output, "1+0 records in\r\n1+0 records out\r\n");
    // A line for memory that is not there would be written back sooner or later.
    assert_eq!(board.machine.run(Budget::clocks(13_200_000)), Stop::Budget);
    assert_alive(&mut board);
}

// U-228
#[test]
fn breaks_and_wrong_speeds_on_the_line_do_not_stop_reception() {
    let noise = |board: &mut Board8xx| {
        let now = board.machine.cpu.now();
        for byte in 0..100_u8 {
            // A break, and what bytes of a terminal at another speed look like.
            board.terminal.type_symbol(now, Symbol::Break);
            board
                .terminal
                .type_symbol(now, Symbol::FramingError(byte.wrapping_mul(37)));
        }
        board.machine.bus.console_changed(now);
    };
    let mut board = at_prompt(&[]);
    noise(&mut board);
    // A hundred characters and as many breaks take some 17 ms at 115200 bit/s.
    assert_eq!(board.machine.run(Budget::clocks(6_600_000)), Stop::Budget);
    assert_alive(&mut board);
    board.send("dd if=/dev/zero of=/dev/null count=60000 status=noxfer\r");
    board.expect("\r\n", 1);
    noise(&mut board);
    board.expect("60000+0 records out\r\n", 5);
    board.expect(PROMPT, 1);
    assert_eq!(board.terminal.pending_input(), 0);
    assert_alive(&mut board);
}
