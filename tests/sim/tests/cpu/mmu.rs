//! The MMU seen by guest programs (MPC885 Reference Manual chapter 8; one test for each rule that software leans on).

use super::asm::*;
use super::flat::{Flat, machine, put, run, word};
use mpc8xx_sim::cpu::registers::{msr, spr};
use mpc8xx_sim::cpu::{Budget, Halt, Stop};
use mpc8xx_sim::machine::Machine;

const SMALL: u32 = 0x1;
const LARGE_512K: u32 = 0x5;
const LARGE_8M: u32 = 0xD;
/// PP = 00, changed, all sub-pages, shared, valid.
const KERNEL: u32 = 0x1F5;

fn set(machine: &mut Machine<Flat>, number: u32, value: u32) {
    machine.cpu.write_spr(&mut machine.bus, number, value).unwrap();
}

fn get(machine: &mut Machine<Flat>, number: u32) -> u32 {
    machine.cpu.read_spr(&mut machine.bus, number).unwrap()
}

/// Loads the entry at `index` of the data TLB.
fn load_data(machine: &mut Machine<Flat>, index: u32, epn: u32, twc: u32, rpn: u32) {
    set(machine, spr::MD_CTR, 0x0400_0000 | index << 8);
    set(machine, spr::MD_EPN, epn | 0x200);
    set(machine, spr::MD_TWC, twc);
    set(machine, spr::MD_RPN, rpn);
}

fn load_instruction(machine: &mut Machine<Flat>, index: u32, epn: u32, twc: u32, rpn: u32) {
    set(machine, spr::MI_CTR, index << 8);
    set(machine, spr::MI_EPN, epn | 0x200);
    set(machine, spr::MI_TWC, twc);
    set(machine, spr::MI_RPN, rpn);
}

/// Data translation on, all groups normal.
fn translated() -> Machine<Flat> {
    let mut machine = machine();
    set(&mut machine, spr::MI_AP, 0x5555_5555);
    set(&mut machine, spr::MD_AP, 0x5555_5555);
    machine.cpu.write_msr(msr::ME | msr::RI | msr::DR);
    machine
}

fn halted_at(pc: u32) -> Stop {
    Stop::Halt {
        pc,
        how: Halt::BranchToItself,
    }
}

#[test]
fn data_miss_writes_md_epn_and_leaves_dar_and_dsisr() {
    let mut machine = translated();
    set(&mut machine, spr::M_CASID, 5);
    machine.cpu.dar = 0xF0;
    machine.cpu.dsisr = 0x77;
    machine.cpu.set_gpr(4, 0xC012_3456);
    machine.cpu.set_gpr(3, 0x99);
    assert_eq!(run(&mut machine, &[lwz(3, 4, 4)]), halted_at(0x1200));
    assert_eq!(get(&mut machine, spr::MD_EPN), 0xC012_3000 | 0x200 | 5);
    assert_eq!(
        (machine.cpu.dar, machine.cpu.dsisr, machine.cpu.gpr(3)),
        (0xF0, 0x77, 0x99)
    );
    assert_eq!(machine.cpu.srr0, 0x1_0000);
    assert_eq!(machine.cpu.srr1, msr::ME | msr::RI | msr::DR);
}

#[test]
fn entry_without_valid_page_gives_an_error_not_a_miss() {
    for (twc, rpn) in [(SMALL, KERNEL & !1), (0, KERNEL)] {
        let mut machine = translated();
        load_data(&mut machine, 3, 0xC000_0000, twc, rpn);
        set(&mut machine, spr::MD_EPN, 0x1111_1200);
        machine.cpu.set_gpr(4, 0xC000_0010);
        assert_eq!(run(&mut machine, &[stw(3, 0, 4)]), halted_at(0x1400));
        assert_eq!((machine.cpu.dar, machine.cpu.dsisr), (0xC000_0010, 0x4200_0000));
        assert_eq!(
            get(&mut machine, spr::MD_EPN),
            0x1111_1200,
            "an error does not write MD_EPN"
        );
    }
}

#[test]
fn protection_error_reports_bit_4_and_the_store() {
    let mut machine = translated();
    load_data(&mut machine, 3, 0xC000_0000, SMALL, KERNEL | 0xC00);
    machine.cpu.set_gpr(4, 0xC000_0010);
    assert_eq!(run(&mut machine, &[lwz(3, 0, 4), stw(3, 0, 4)]), halted_at(0x1400));
    assert_eq!((machine.cpu.srr0, machine.cpu.dsisr), (0x1_0004, 0x0A00_0000));
}

#[test]
fn store_to_an_unchanged_page_reports_only_the_store_and_kills_the_entry() {
    let mut machine = translated();
    load_data(&mut machine, 3, 0xC000_0000, SMALL, KERNEL & !0x100);
    machine.cpu.set_gpr(4, 0xC000_0010);
    assert_eq!(run(&mut machine, &[lwz(3, 0, 4), stw(3, 0, 4)]), halted_at(0x1400));
    assert_eq!((machine.cpu.dar, machine.cpu.dsisr), (0xC000_0010, 0x0200_0000));
    machine.cpu.write_msr(msr::ME | msr::DR);
    assert_eq!(
        run(&mut machine, &[lwz(3, 0, 4)]),
        halted_at(0x1200),
        "the entry is gone for loads as well"
    );
}

#[test]
fn user_state_is_judged_by_its_own_column_and_groups_override_it() {
    let mut machine = translated();
    load_data(&mut machine, 3, 0xC000_0000, SMALL | 2 << 5, KERNEL);
    machine.cpu.set_gpr(4, 0xC000_0000);
    machine.cpu.write_msr(msr::ME | msr::DR | msr::PR);
    assert_eq!(run(&mut machine, &[lwz(3, 0, 4)]), halted_at(0x1400));
    machine.cpu.write_msr(msr::ME | msr::DR | msr::PR);
    // Group 2 to 00: both states by the supervisor column.
    set(&mut machine, spr::MD_AP, 0x5155_5555);
    assert_eq!(run(&mut machine, &[lwz(3, 0, 4), SC]), halted_at(0xC00));
    // Group 2 to 11: both states by the user column, and the supervisor is locked out at once (KUAP).
    machine.cpu.write_msr(msr::ME | msr::DR);
    let locked = load_immediate(5, 0x5D55_5555);
    let program = [lwz(3, 0, 4), locked[0], locked[1], mtspr(spr::MD_AP, 5), lwz(3, 0, 4)];
    assert_eq!(run(&mut machine, &program), halted_at(0x1400));
    assert_eq!((machine.cpu.srr0, machine.cpu.dsisr), (0x1_0010, 0x0800_0000));
}

#[test]
fn page_sizes_translate_their_own_number_of_bits() {
    for (twc, rpn, offset) in [
        (SMALL, KERNEL, 0xFF0),
        (SMALL, KERNEL | 8, 0x3FF0),
        (LARGE_512K, KERNEL, 0x7_FFF0),
        (LARGE_8M, KERNEL, 0x3F_FFF0),
    ] {
        let mut machine = translated();
        load_data(&mut machine, 0, 0xC000_0000, twc, rpn);
        machine.cpu.set_gpr(4, 0xC000_0000 + offset);
        machine.cpu.set_gpr(3, 0x1234_5678);
        run(&mut machine, &[stw(3, 0, 4)]);
        assert_eq!(word(&machine, offset), 0x1234_5678, "TWC {twc:#x} RPN {rpn:#x}");
    }
}

#[test]
fn operand_across_two_pages_faults_before_anything_is_stored() {
    let mut machine = translated();
    load_data(&mut machine, 0, 0xC002_0000, SMALL, 0x2_0000 | KERNEL);
    machine.cpu.set_gpr(4, 0xC002_0FFE);
    machine.cpu.set_gpr(3, 0x1122_3344);
    assert_eq!(run(&mut machine, &[stwu(3, 0, 4)]), halted_at(0x1200));
    assert_eq!(get(&mut machine, spr::MD_EPN) & 0xFFFF_F000, 0xC002_1000);
    assert_eq!(word(&machine, 0x2_0FFC), 0);
    machine.cpu.write_msr(msr::ME | msr::DR);
    load_data(&mut machine, 1, 0xC002_1000, SMALL, 0x3_0000 | KERNEL);
    run(&mut machine, &[stw(3, 0, 4), lwz(5, 0, 4)]);
    assert_eq!(
        (word(&machine, 0x2_0FFC), word(&machine, 0x3_0000)),
        (0x1122, 0x3344_0000)
    );
    assert_eq!(machine.cpu.gpr(5), 0x1122_3344);
}

#[test]
fn multiple_across_two_pages_faults_before_anything_moves() {
    let mut machine = translated();
    load_data(&mut machine, 0, 0xC002_0000, SMALL, 0x2_0000 | KERNEL);
    machine.cpu.set_gpr(4, 0xC002_0FF8);
    machine.cpu.set_gpr(29, 0x11);
    assert_eq!(run(&mut machine, &[stmw(29, 0, 4)]), halted_at(0x1200));
    assert_eq!(word(&machine, 0x2_0FF8), 0);
    machine.cpu.write_msr(msr::ME | msr::DR);
    put(&mut machine, 0x2_0FF8, &[7, 8]);
    assert_eq!(run(&mut machine, &[lmw(29, 0, 4)]), halted_at(0x1200));
    assert_eq!(machine.cpu.gpr(29), 0x11);
}

#[test]
fn fetch_misses_and_errors_have_their_own_vectors_and_bits() {
    let mut machine = machine();
    set(&mut machine, spr::MI_AP, 0x5555_5555);
    put(&mut machine, 0x1_0100, &[li(3, 1), SC]);
    for (twc, rpn, vector, bits) in [
        (SMALL, 0x1_0000 | KERNEL, 0xC00, 0),
        (SMALL, 0x1_0000 | KERNEL & !1, 0x1300, 0x4000_0000),
        (SMALL | 0x10, 0x1_0000 | KERNEL, 0x1300, 0x1000_0000),
        (SMALL, 0x1_0000 | KERNEL | 0x200, 0x1300, 0x0800_0000),
    ] {
        load_instruction(&mut machine, 0, 0xC001_0000, twc, rpn);
        machine.cpu.write_msr(msr::ME | msr::IR);
        machine.cpu.pc = 0xC001_0100;
        assert_eq!(machine.run(Budget::instructions(10)), halted_at(vector));
        assert_eq!(machine.cpu.srr1 & 0x783F_0000, bits);
    }
    machine.cpu.write_msr(msr::ME | msr::IR);
    machine.cpu.pc = 0xC777_7104;
    assert_eq!(machine.run(Budget::instructions(10)), halted_at(0x1100));
    assert_eq!(get(&mut machine, spr::MI_EPN), 0xC777_7200);
    assert_eq!(machine.cpu.srr0, 0xC777_7104);
}

/// Software finds the level-two word of a large segment at the base itself (MPC885 Reference Manual 8.8).
#[test]
fn walk_assists_compose_their_pointers() {
    let mut machine = machine();
    set(&mut machine, spr::MD_CTR, 0x0400_0000);
    set(&mut machine, spr::MD_EPN, 0xC012_3200);
    set(&mut machine, spr::M_TWB, 0x0045_6FFF);
    assert_eq!(get(&mut machine, spr::M_TWB), 0x0045_6000 | 0xC00);
    set(&mut machine, spr::MD_TWC, 0x0078_9001);
    assert_eq!(get(&mut machine, spr::MD_TWC), 0x0078_9000 | 0x123 << 2);
    for page_size in [0x4, 0xC] {
        set(&mut machine, spr::MD_TWC, 0x0078_9001 | page_size);
        assert_eq!(
            get(&mut machine, spr::MD_TWC),
            0x0078_9000,
            "no index for a large segment"
        );
    }
    set(&mut machine, spr::MD_CTR, 0);
    set(&mut machine, spr::MD_TWC, 0x0078_9001);
    assert_eq!(get(&mut machine, spr::M_TWB), 0x0045_4000 | 0xC01 << 2);
    assert_eq!(get(&mut machine, spr::MD_TWC), 0x0078_9000 | 0x08C << 2);
}

#[test]
fn index_counts_down_and_leaves_reserved_entries_alone() {
    let mut machine = translated();
    set(&mut machine, spr::MD_CTR, 0x0C00_0000 | 1 << 8);
    for _ in 0..3 {
        set(&mut machine, spr::MD_RPN, KERNEL);
    }
    assert_eq!(
        get(&mut machine, spr::MD_CTR),
        0x0C00_0000 | 26 << 8,
        "1, 0, 27, then 26"
    );
    set(&mut machine, spr::MD_CTR, 0x0400_0000);
    set(&mut machine, spr::MD_RPN, KERNEL);
    assert_eq!(get(&mut machine, spr::MD_CTR), 0x0400_0000 | 31 << 8);
}

#[test]
fn reserved_entries_survive_tlbia_but_not_tlbie() {
    let mut machine = translated();
    load_data(&mut machine, 30, 0xC000_0000, LARGE_8M, KERNEL);
    load_data(&mut machine, 5, 0xD000_0000, LARGE_8M, KERNEL);
    set(&mut machine, spr::MD_CTR, 0x0C00_0000);
    machine.cpu.set_gpr(4, 0xC000_0000);
    machine.cpu.set_gpr(5, 0xD000_0000);
    assert_eq!(
        run(&mut machine, &[TLBIA, lwz(3, 0, 4), lwz(3, 0, 5)]),
        halted_at(0x1200)
    );
    assert_eq!(machine.cpu.srr0, 0x1_0008);
    machine.cpu.write_msr(msr::ME | msr::DR);
    machine.cpu.set_gpr(6, 0xC07F_FFFF);
    assert_eq!(
        run(&mut machine, &[lwz(3, 0, 4), tlbie(6), lwz(3, 0, 4)]),
        halted_at(0x1200)
    );
    assert_eq!(machine.cpu.srr0, 0x1_0008);
}

#[test]
fn address_space_is_part_of_the_match_unless_shared() {
    let mut machine = translated();
    load_data(&mut machine, 0, 0x1000_0003, SMALL, 0x9F1);
    machine.cpu.set_gpr(4, 0x1000_0000);
    machine.cpu.set_gpr(5, 2);
    set(&mut machine, spr::M_CASID, 3);
    assert_eq!(
        run(&mut machine, &[lwz(3, 0, 4), mtspr(spr::M_CASID, 5), lwz(3, 0, 4)]),
        halted_at(0x1200)
    );
    assert_eq!(machine.cpu.srr0, 0x1_0008);
}

#[test]
fn two_matching_entries_end_the_run_or_the_lower_one_wins() {
    let mut machine = translated();
    load_data(&mut machine, 9, 0xC000_0000, SMALL, 0x3_0000 | KERNEL);
    load_data(&mut machine, 4, 0xC000_0000, LARGE_8M, KERNEL);
    put(&mut machine, 0, &[44]);
    put(&mut machine, 0x3_0000, &[99]);
    machine.cpu.set_gpr(4, 0xC000_0000);
    let stop = run(&mut machine, &[lwz(3, 0, 4)]);
    assert!(
        matches!(&stop, Stop::Impossible { text, .. } if text.contains("entries 4 and 9")),
        "{stop}"
    );
    machine.cpu.mmu.stop_on_duplicate = false;
    run(&mut machine, &[lwz(3, 0, 4)]);
    assert_eq!(machine.cpu.gpr(3), 44);
}

#[test]
fn new_entry_replaces_what_was_remembered_of_the_old_one() {
    let mut machine = translated();
    put(&mut machine, 0x2_0000, &[22]);
    put(&mut machine, 0x3_0000, &[33]);
    load_data(&mut machine, 7, 0xC000_0000, SMALL, 0x2_0000 | KERNEL);
    machine.cpu.set_gpr(4, 0xC000_0000);
    run(&mut machine, &[lwz(3, 0, 4)]);
    load_data(&mut machine, 7, 0xC000_0000, SMALL, 0x3_0000 | KERNEL);
    run(&mut machine, &[lwz(5, 0, 4)]);
    assert_eq!((machine.cpu.gpr(3), machine.cpu.gpr(5)), (22, 33));
}

/// `dcbz` and its kin do not load DAR on an error, and `dcbst` claims to be a store (the kernel's `head_8xx.S`).
#[test]
fn cache_instructions_leave_dar_alone_on_an_error() {
    for (instruction, status) in [
        (dcbz(0, 4), 0x4200_0000),
        (dcbi(0, 4), 0x4200_0000),
        (dcbst(0, 4), 0x4200_0000),
        (dcbf(0, 4), 0x4000_0000),
        (icbi(0, 4), 0x4000_0000),
    ] {
        let mut machine = translated();
        load_data(&mut machine, 3, 0xC000_0000, SMALL, KERNEL & !1);
        machine.cpu.set_gpr(4, 0xC000_0010);
        machine.cpu.dar = 0xF0;
        assert_eq!(run(&mut machine, &[instruction]), halted_at(0x1400));
        assert_eq!(
            (machine.cpu.dar, machine.cpu.dsisr),
            (0xF0, status),
            "{instruction:#010x}"
        );
        machine.cpu.quirks.cache_instructions_keep_dar = false;
        machine.cpu.write_msr(msr::ME | msr::DR);
        run(&mut machine, &[instruction]);
        assert_eq!(machine.cpu.dar, 0xC000_0010);
    }
}

#[test]
fn cache_touches_never_fault() {
    let mut machine = translated();
    machine.cpu.set_gpr(4, 0xC000_0010);
    assert_eq!(
        run(&mut machine, &[x31(0, 0, 4, 278), x31(0, 0, 4, 246)]),
        halted_at(0x1_0008)
    );
}

#[test]
fn read_out_shows_the_selected_entry() {
    let mut machine = machine();
    load_data(&mut machine, 5, 0xC012_3000, SMALL | 3 << 5, 0x0045_6000 | KERNEL);
    set(&mut machine, spr::MD_CTR, 0x0400_0000 | 5 << 8);
    set(&mut machine, spr::MD_CAM, 0);
    assert_eq!(get(&mut machine, spr::MD_CAM), 0xC012_3000 | 0xF << 8 | 1 << 4);
    assert_eq!(get(&mut machine, spr::MD_RAM0), 0x0045_6000 | 0xC << 5);
    let text = machine.cpu.mmu.dump();
    assert!(text.contains("5: c0123000 -> 00456000   4K"), "{text}");
}

#[test]
fn parts_with_small_tlbs_wrap_at_eight() {
    let mut machine = super::flat::machine_of("823");
    set(&mut machine, spr::MI_CTR, 0);
    set(&mut machine, spr::MI_RPN, KERNEL);
    assert_eq!(get(&mut machine, spr::MI_CTR), 7 << 8);
}

/// Erratum CPU15: from the last word of a page into the last line of the next while both are in the TLB.
#[test]
fn branch_that_erratum_cpu15_spoils_ends_the_run_if_the_part_has_it() {
    let landed = halted_at(0x1_1FF0);
    let is_spoiled = |stop: &Stop| matches!(stop, Stop::Impossible { pc: 0x1_0FFC, text } if text.contains("CPU15"));
    // Branch, its target, whether the part has the erratum, whether the next page is in the TLB.
    let outcome = |branch: u32, target: u32, cpu15: bool, resident: bool| {
        let mut machine = machine();
        machine.cpu.quirks.cpu15 = cpu15;
        set(&mut machine, spr::MI_AP, 0x5555_5555);
        load_instruction(&mut machine, 3, 0x1_0000, SMALL, 0x1_0000 | KERNEL);
        if resident {
            load_instruction(&mut machine, 4, 0x1_1000, SMALL, 0x1_1000 | KERNEL);
        }
        put(&mut machine, 0x1_0FFC, &[branch]);
        put(&mut machine, target, &[b(0)]);
        put(&mut machine, 0x1100, &[b(0)]);
        machine.cpu.lr = target;
        machine.cpu.ctr = target;
        machine.cpu.write_msr(msr::ME | msr::RI | msr::IR);
        machine.cpu.pc = 0x1_0FFC;
        machine.run(Budget::instructions(10))
    };
    let always = bc(20, 0, 0xFF4);
    for branch in [always, BLR, bctrl()] {
        assert!(is_spoiled(&outcome(branch, 0x1_1FF0, true, true)), "{branch:#x}");
        assert_eq!(outcome(branch, 0x1_1FF0, false, true), landed, "{branch:#x}");
        assert_eq!(outcome(branch, 0x1_1FF0, true, false), halted_at(0x1100), "{branch:#x}");
    }
    assert_eq!(outcome(b(0xFF4), 0x1_1FF0, true, true), landed, "not conditional");
    assert_eq!(
        outcome(bc(20, 0, 0xFE4), 0x1_1FE0, true, true),
        halted_at(0x1_1FE0),
        "another line"
    );
}
