//! The caches seen by guest programs (MPC860 User's Manual chapter 8, MPC823e Reference Manual chapters 9 and 10).

use super::asm::*;
use super::flat::{Flat, machine, machine_of, put, run, word};
use mpc8xx_sim::cpu::registers::{msr, spr};
use mpc8xx_sim::cpu::{Budget, Halt, Stop};
use mpc8xx_sim::machine::Machine;
use mpc8xx_sim::part;

/// A page through the data cache, and the same page past it.
const CACHED: u32 = 0xC002_0000;
const ALIAS: u32 = 0xD002_0000;
const PHYSICAL: u32 = 0x2_0000;

fn set(machine: &mut Machine<Flat>, number: u32, value: u32) {
    machine.cpu.write_spr(&mut machine.bus, number, value).unwrap();
}

fn get(machine: &mut Machine<Flat>, number: u32) -> u32 {
    machine.cpu.read_spr(&mut machine.bus, number).unwrap()
}

/// A machine with real caches and both pages mapped; r3 points to the cached page, r4 to its alias.
fn with_alias(write_through: bool) -> Machine<Flat> {
    let mut machine = machine();
    machine.set_timed(true);
    set(&mut machine, spr::MD_AP, 0x5555_5555);
    let through = if write_through { 2 } else { 0 };
    for (index, epn, twc, rpn) in [(0, CACHED, 1 | through, 0x1F5), (1, ALIAS, 1, 0x1F7)] {
        set(&mut machine, spr::MD_CTR, 0x0400_0000 | index << 8);
        set(&mut machine, spr::MD_EPN, epn | 0x200);
        set(&mut machine, spr::MD_TWC, twc);
        set(&mut machine, spr::MD_RPN, PHYSICAL | rpn);
    }
    machine.cpu.write_msr(msr::ME | msr::RI | msr::DR);
    machine.cpu.set_gpr(3, CACHED);
    machine.cpu.set_gpr(4, ALIAS);
    machine.cpu.set_gpr(5, 0x1111);
    machine
}

fn halted_at(pc: u32) -> Stop {
    Stop::Halt {
        pc,
        how: Halt::BranchToItself,
    }
}

/// U-044: an uncached alias sees what was stored only after the flush, and the cache sees what the alias stored only
/// after it has been invalidated.
#[test]
fn uncached_alias_sees_stores_after_the_flush_and_not_before() {
    for flush in [dcbst(0, 3), dcbf(0, 3)] {
        let mut machine = with_alias(false);
        run(&mut machine, &[stw(5, 0, 3), lwz(6, 0, 4), flush, lwz(7, 0, 4)]);
        assert_eq!((machine.cpu.gpr(6), machine.cpu.gpr(7)), (0, 0x1111));
    }
    let mut machine = with_alias(false);
    machine.cpu.set_gpr(6, 0x2222);
    run(
        &mut machine,
        &[lwz(7, 0, 3), stw(6, 0, 4), lwz(7, 0, 3), dcbi(0, 3), lwz(8, 0, 3)],
    );
    assert_eq!((machine.cpu.gpr(7), machine.cpu.gpr(8)), (0, 0x2222));
}

#[test]
fn invalidation_throws_away_what_memory_does_not_have() {
    let mut machine = with_alias(false);
    run(&mut machine, &[stw(5, 0, 3), dcbi(0, 3), lwz(7, 0, 3)]);
    assert_eq!((machine.cpu.gpr(7), word(&machine, PHYSICAL)), (0, 0));
}

#[test]
fn write_through_pages_and_forced_write_through_reach_memory_at_once() {
    let mut machine = with_alias(true);
    run(&mut machine, &[stw(5, 0, 3), lwz(7, 0, 4)]);
    assert_eq!(machine.cpu.gpr(7), 0x1111);
    let mut machine = with_alias(false);
    set(&mut machine, spr::DC_CST, 0x0100_0000);
    assert_eq!(get(&mut machine, spr::DC_CST), 0xC000_0000);
    run(&mut machine, &[lwz(7, 0, 3), stw(5, 0, 3), lwz(7, 0, 4)]);
    assert_eq!(machine.cpu.gpr(7), 0x1111);
}

#[test]
fn least_recently_used_line_is_replaced_and_written_back() {
    let mut machine = machine();
    machine.set_timed(true);
    for (register, address) in [(10, 0x3_0000), (11, 0x3_1000), (12, 0x3_2000)] {
        machine.cpu.set_gpr(register, address);
    }
    machine.cpu.set_gpr(5, 0x77);
    // Two ways of one set; the first is used again before a third line comes.
    let program = [stw(5, 0, 10), stw(5, 0, 11), lwz(6, 0, 10), lwz(7, 0, 12)];
    run(&mut machine, &program);
    assert_eq!((word(&machine, 0x3_0000), word(&machine, 0x3_1000)), (0, 0x77));
}

#[test]
fn flush_command_takes_set_and_way() {
    let mut machine = machine();
    machine.set_timed(true);
    machine.cpu.set_gpr(10, 0x3_0450);
    machine.cpu.set_gpr(5, 0x77);
    run(&mut machine, &[stw(5, 0, 10)]);
    for way in 0..2 {
        set(&mut machine, spr::DC_ADR, way << 12 | 0x450);
        set(&mut machine, spr::DC_CST, 0x0E00_0000);
    }
    assert_eq!(word(&machine, 0x3_0450), 0x77);
}

/// U-Boot counts the lines of a cache by locking until CCER2 says that no way is left.
#[test]
fn locking_ends_with_an_error_when_the_cache_is_full() {
    for part in part::PARTS {
        for timed in [false, true] {
            let mut machine = machine_of(part.name);
            machine.set_timed(timed);
            for (control, address, bytes) in [
                (spr::IC_CST, spr::IC_ADR, part.icache.bytes()),
                (spr::DC_CST, spr::DC_ADR, part.dcache.bytes()),
            ] {
                set(&mut machine, control, 0x0A00_0000);
                set(&mut machine, control, 0x0C00_0000);
                let mut locked = 0;
                loop {
                    set(&mut machine, address, locked);
                    set(&mut machine, control, 0x0600_0000);
                    if get(&mut machine, control) & 0x0010_0000 != 0 {
                        break;
                    }
                    locked += part::LINE;
                }
                assert_eq!(locked, bytes, "{}: SPR {control}", part.name);
                assert_eq!(
                    get(&mut machine, control) & 0x0038_0000,
                    0,
                    "errors are cleared by reading"
                );
            }
        }
    }
}

#[test]
fn locked_lines_survive_invalidation_until_they_are_unlocked() {
    let mut machine = with_alias(false);
    put(&mut machine, PHYSICAL, &[0x55]);
    set(&mut machine, spr::DC_ADR, PHYSICAL);
    set(&mut machine, spr::DC_CST, 0x0600_0000);
    put(&mut machine, PHYSICAL, &[0x66]);
    set(&mut machine, spr::DC_CST, 0x0C00_0000);
    run(&mut machine, &[lwz(7, 0, 3)]);
    assert_eq!(machine.cpu.gpr(7), 0x55);
    set(&mut machine, spr::DC_CST, 0x0A00_0000);
    set(&mut machine, spr::DC_CST, 0x0C00_0000);
    machine.cpu.write_msr(msr::ME | msr::DR);
    run(&mut machine, &[lwz(7, 0, 3)]);
    assert_eq!(machine.cpu.gpr(7), 0x66);
}

/// Modified code runs only after its line has gone to memory and its instruction line is invalidated.
#[test]
fn modified_code_needs_flush_and_icbi() {
    let patched = 0x1_0100;
    let patch = load_immediate(5, li(3, 2));
    for (timed, steps, expected) in [
        (false, vec![], 1),
        (false, vec![icbi(0, 10)], 2),
        (true, vec![], 1),
        (true, vec![dcbst(0, 10)], 1),
        // The fetch reads memory, which does not have the store yet.
        (true, vec![icbi(0, 10)], 1),
        (true, vec![dcbst(0, 10), SYNC, icbi(0, 10), ISYNC], 2),
    ] {
        let mut machine = machine();
        machine.set_timed(timed);
        put(&mut machine, patched, &[li(3, 1), BLR]);
        machine.cpu.set_gpr(10, patched);
        let call = |at: usize| bl(0x100 - 4 * at as i32);
        let mut program = vec![call(0), patch[0], patch[1], stw(5, 0, 10)];
        program.extend(&steps);
        program.push(call(program.len()));
        run(&mut machine, &program);
        assert_eq!(machine.cpu.gpr(3), expected, "cycle model {timed}, {steps:08x?}");
    }
}

#[test]
fn instruction_cache_that_is_off_hides_nothing() {
    for timed in [false, true] {
        let mut machine = machine();
        machine.set_timed(timed);
        set(&mut machine, spr::IC_CST, 0x0400_0000);
        set(&mut machine, spr::DC_CST, 0x0400_0000);
        machine.cpu.set_gpr(10, 0x1_0010);
        let patch = load_immediate(5, li(3, 2));
        run(&mut machine, &[patch[0], patch[1], stw(5, 0, 10), NOP, li(3, 1)]);
        assert_eq!(machine.cpu.gpr(3), 2, "cycle model {timed}");
    }
}

#[test]
fn dcbz_needs_a_copy_back_line_or_raises_alignment() {
    for timed in [false, true] {
        let mut machine = with_alias(false);
        machine.set_timed(timed);
        put(&mut machine, PHYSICAL, &[0xFFFF_FFFF; 12]);
        machine.cpu.set_gpr(6, CACHED + 0x1C);
        run(&mut machine, &[dcbz(0, 6)]);
        machine.set_timed(false);
        let words: Vec<u32> = (0..12).map(|index| word(&machine, PHYSICAL + 4 * index)).collect();
        let expected: Vec<u32> = (0..12)
            .map(|index| if (4..8).contains(&index) { 0 } else { u32::MAX })
            .collect();
        assert_eq!(
            words, expected,
            "16 bytes, whatever the address in the line; cycle model {timed}"
        );

        let inhibited = (ALIAS, 0x0200_0000);
        let cache_off = (CACHED, 0x0400_0000);
        let forced_through = (CACHED, 0x0100_0000);
        for (address, command) in [inhibited, cache_off, forced_through] {
            let mut machine = with_alias(false);
            machine.set_timed(timed);
            set(&mut machine, spr::DC_CST, command);
            put(&mut machine, PHYSICAL, &[0xFFFF_FFFF; 12]);
            machine.cpu.set_gpr(6, address + 0x14);
            assert_eq!(
                run(&mut machine, &[dcbz(0, 6)]),
                halted_at(0x600),
                "command {command:#x}"
            );
            assert_eq!(
                (machine.cpu.dar, word(&machine, PHYSICAL + 16)),
                (address + 0x14, u32::MAX)
            );
            machine.cpu.quirks.dcbz_needs_copy_back = false;
            machine.cpu.write_msr(msr::ME | msr::DR);
            run(&mut machine, &[dcbz(0, 6)]);
            assert_eq!(
                (word(&machine, PHYSICAL + 16), word(&machine, PHYSICAL + 32)),
                (0, u32::MAX)
            );
        }
    }
}

/// A line may not exist in memory; the error comes when it is written back (U-050 is about software that relies on
/// an error at the `dcbz`).
#[test]
fn dcbz_does_not_look_at_memory() {
    let mut machine = machine();
    machine.set_timed(true);
    machine.bus.phantom = 0x0040_0000..0x0040_1000;
    machine.cpu.set_gpr(6, 0x0040_0000);
    assert_eq!(run(&mut machine, &[dcbz(0, 6), lwz(7, 0, 6)]), halted_at(0x1_0008));
    assert_eq!(run(&mut machine, &[dcbst(0, 6)]), halted_at(0x200));
}

#[test]
fn power_on_leaves_garbage_that_start_up_code_must_invalidate() {
    let flat = || Flat::new(4 << 20);
    let mut machine = Machine::new(part::by_name("885").unwrap(), flat());
    let valid_tags = |machine: &mut Machine<Flat>| {
        (0..256u32)
            .filter(|set_index| {
                set(machine, spr::DC_ADR, set_index << 4);
                get(machine, spr::DC_DAT) & 0x200 != 0
            })
            .count()
    };
    assert!(valid_tags(&mut machine) > 50);
    for control in [spr::IC_CST, spr::DC_CST] {
        set(&mut machine, control, 0x0A00_0000);
        set(&mut machine, control, 0x0C00_0000);
    }
    assert_eq!(valid_tags(&mut machine), 0);
    machine.cpu.reset(false);
    assert_eq!(get(&mut machine, spr::DC_CST) & 0x8000_0000, 0);
}

#[test]
fn debuggers_read_and_write_what_the_program_sees() {
    let mut machine = with_alias(false);
    run(&mut machine, &[stw(5, 0, 3)]);
    let mut bytes = [0; 4];
    machine.peek(CACHED, &mut bytes).unwrap();
    assert_eq!((bytes, word(&machine, PHYSICAL)), ([0, 0, 0x11, 0x11], 0));
    machine.poke(CACHED, &[9, 9, 9, 9]).unwrap();
    machine.cpu.pc = 0x1_0000;
    put(&mut machine, 0x1_0000, &[lwz(7, 0, 3)]);
    machine.run(Budget::instructions(1));
    assert_eq!(machine.cpu.gpr(7), 0x0909_0909);
    assert_eq!(machine.peek(0x5000_0000, &mut bytes), None);
}
