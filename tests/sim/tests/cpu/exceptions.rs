//! Vectors, saved state, and what each exception leaves in DAR and DSISR (MPC801 User's Manual chapter 7).

use super::asm::*;
use super::flat::{DEVICE, machine, put, run, word};
use mpc8xx_sim::bus::Width;
use mpc8xx_sim::cpu::registers::{msr, spr};
use mpc8xx_sim::cpu::{Budget, Halt, Stop};

fn halted_at(pc: u32) -> Stop {
    Stop::Halt {
        pc,
        how: Halt::BranchToItself,
    }
}

#[test]
fn branch_to_itself_with_interrupts_off_is_an_endless_halt() {
    let mut machine = machine();
    assert_eq!(run(&mut machine, &[li(3, 5), addi(3, 3, 2)]), halted_at(0x1_0008));
    assert_eq!(machine.cpu.gpr(3), 7);
    assert_eq!(machine.cpu.instructions(), 2);
}

#[test]
fn system_call_saves_the_next_address_and_turns_everything_off_but_me() {
    let mut machine = machine();
    machine.cpu.write_msr(msr::ME | msr::RI | msr::PR);
    assert_eq!(run(&mut machine, &[SC]), halted_at(0xC00));
    assert_eq!(machine.cpu.srr0, 0x1_0004);
    assert_eq!(machine.cpu.srr1, msr::ME | msr::RI | msr::PR);
    assert_eq!(machine.cpu.msr(), msr::ME);
}

#[test]
fn vectors_are_high_with_ip() {
    let mut machine = machine();
    machine.cpu.write_msr(msr::IP);
    put(&mut machine, 0x1_0000, &[SC]);
    machine.cpu.pc = 0x1_0000;
    assert_eq!(machine.run(Budget::instructions(1)), Stop::Budget);
    assert_eq!(machine.cpu.pc, 0xFFF0_0C00);
    assert_eq!(machine.cpu.msr(), msr::IP);
}

#[test]
fn floating_point_goes_to_software_emulation_and_touches_no_status() {
    let mut machine = machine();
    machine.cpu.dar = 0x1234;
    machine.cpu.dsisr = 0x5678;
    // lfd f1,0(r3)
    assert_eq!(run(&mut machine, &[0xC823_0000]), halted_at(0x1000));
    assert_eq!((machine.cpu.srr0, machine.cpu.srr1), (0x1_0000, msr::ME | msr::RI));
    assert_eq!((machine.cpu.dar, machine.cpu.dsisr), (0x1234, 0x5678));
}

#[test]
fn traps_and_privileged_instructions_are_told_apart_by_srr1() {
    let mut machine = machine();
    assert_eq!(run(&mut machine, &[tw(31, 0, 0)]), halted_at(0x700));
    assert_eq!(machine.cpu.srr1 & 0x783F_0000, 0x0002_0000);
    for instruction in [
        mtmsr(3),
        mfmsr(3),
        RFI,
        mtspr(spr::SRR0, 3),
        mfspr(3, spr::MD_AP),
        TLBIA,
        tlbie(3),
        dcbi(0, 3),
    ] {
        let mut machine = super::flat::machine();
        machine.cpu.write_msr(msr::ME | msr::PR);
        assert_eq!(
            run(&mut machine, &[instruction]),
            halted_at(0x700),
            "{instruction:#010x}"
        );
        assert_eq!(machine.cpu.srr1 & 0x783F_0000, 0x0004_0000, "{instruction:#010x}");
        assert_eq!(machine.cpu.srr0, 0x1_0000);
    }
}

#[test]
fn unknown_spr_numbers_go_to_software_emulation_in_supervisor_state() {
    for number in [1008, 528, 976, spr::EIE] {
        let mut machine = machine();
        assert_eq!(
            run(&mut machine, &[mfspr(3, number)]),
            halted_at(0x1000),
            "SPR {number}"
        );
    }
}

#[test]
fn misaligned_multiple_raises_alignment_with_the_instruction_in_dsisr() {
    let mut machine = machine();
    machine.cpu.set_gpr(1, 0x2_0000);
    machine.cpu.set_gpr(20, 0x77);
    assert_eq!(run(&mut machine, &[lmw(13, 6, 1)]), halted_at(0x600));
    assert_eq!(machine.cpu.dar, 0x2_0006);
    assert_eq!(machine.cpu.dsisr, 0b0_0111 << 10 | 13 << 5 | 1);
    assert_eq!(machine.cpu.gpr(20), 0x77);
}

#[test]
fn misaligned_words_are_done_by_the_hardware() {
    let mut machine = machine();
    machine.cpu.set_gpr(4, 0x2_0001);
    machine.cpu.set_gpr(5, 0x1122_3344);
    run(&mut machine, &[stw(5, 0, 4), lwz(6, 0, 4), lwz(7, -1, 4)]);
    assert_eq!(machine.cpu.gpr(6), 0x1122_3344);
    assert_eq!(machine.cpu.gpr(7), 0x0011_2233);
}

#[test]
fn bus_error_of_a_load_is_a_machine_check_with_the_address() {
    let mut machine = machine();
    machine.cpu.set_gpr(4, 0x8000_0000);
    machine.cpu.set_gpr(5, 0x77);
    assert_eq!(run(&mut machine, &[lwzu(5, 16, 4)]), halted_at(0x200));
    assert_eq!((machine.cpu.srr0, machine.cpu.dar), (0x1_0000, 0x8000_0010));
    assert_eq!(machine.cpu.srr1 & 0x4000_0000, 0);
    assert_eq!(machine.cpu.msr() & msr::ME, 0);
    assert_eq!(
        (machine.cpu.gpr(4), machine.cpu.gpr(5)),
        (0x8000_0000, 0x77),
        "update form leaves its registers"
    );
}

#[test]
fn bus_error_of_a_fetch_is_marked_in_srr1() {
    let mut machine = machine();
    machine.cpu.pc = 0x8000_0000;
    assert_eq!(machine.run(Budget::instructions(10)), halted_at(0x200));
    assert_eq!(
        (machine.cpu.srr0, machine.cpu.srr1 & 0x4000_0000),
        (0x8000_0000, 0x4000_0000)
    );
}

#[test]
fn machine_check_with_me_off_is_a_checkstop_or_a_reset() {
    let mut machine = machine();
    machine.cpu.write_msr(0);
    machine.cpu.set_gpr(4, 0x8000_0000);
    assert_eq!(
        run(&mut machine, &[lwz(5, 0, 4)]),
        Stop::Checkstop {
            pc: 0x1_0000,
            address: Some(0x8000_0000)
        }
    );
    machine.bus.checkstop_resets = true;
    machine.cpu.quirks.stop_on_reset = true;
    assert_eq!(machine.run(Budget::instructions(1)), Stop::Reset);
    assert_eq!((machine.cpu.pc, machine.cpu.msr()), (0xFFF0_0100, msr::IP));
}

#[test]
fn device_accesses_reach_the_bus_in_their_own_width() {
    let mut machine = machine();
    machine.cpu.set_gpr(4, DEVICE);
    machine.cpu.set_gpr(5, 0xAABB_CCDD);
    run(&mut machine, &[lwz(6, 0x24, 4), stb(5, 3, 4)]);
    assert_eq!(machine.cpu.gpr(6), DEVICE + 0x24);
    assert_eq!(machine.bus.last_store, Some((DEVICE + 3, Width::Byte, 0xDD)));
}

#[test]
fn eie_eid_and_nri_set_ee_and_ri_whatever_is_written() {
    let mut machine = machine();
    machine.cpu.set_gpr(3, 0x1234);
    for (number, expected) in [(spr::EIE, msr::EE | msr::RI), (spr::NRI, 0), (spr::EID, msr::RI)] {
        machine.cpu.write_msr(msr::ME);
        machine.bus.event = u64::MAX - 1;
        put(&mut machine, 0x1_0000, &[mtspr(number, 3)]);
        machine.cpu.pc = 0x1_0000;
        machine.run(Budget::instructions(1));
        assert_eq!(machine.cpu.msr(), msr::ME | expected, "SPR {number}");
    }
}

#[test]
fn external_interrupt_waits_for_ee_and_wins_over_the_decrementer() {
    let mut machine = machine();
    machine.bus.lines.external = true;
    machine.bus.lines.decrementer = true;
    assert_eq!(run(&mut machine, &[NOP, mtspr(spr::EIE, 0), NOP]), halted_at(0x500));
    assert_eq!(machine.cpu.srr0, 0x1_0008);
    machine.bus.lines.external = false;
    assert_eq!(run(&mut machine, &[mtspr(spr::EIE, 0)]), halted_at(0x900));
    assert!(
        !machine.bus.lines.decrementer,
        "the decrementer exception is acknowledged when taken"
    );
}

#[test]
fn non_maskable_interrupt_needs_no_ee() {
    let mut machine = machine();
    machine.bus.lines.nmi = true;
    assert_eq!(run(&mut machine, &[NOP]), halted_at(0x100));
}

#[test]
fn device_event_is_taken_at_its_clock() {
    let mut machine = machine();
    machine.cpu.write_msr(msr::ME | msr::RI | msr::EE);
    machine.bus.event = machine.cpu.now() + 10;
    let program = [addi(3, 3, 1), b(-4)];
    assert_eq!(run(&mut machine, &program), halted_at(0x900));
    assert_eq!(machine.cpu.gpr(3), 5);
    assert_eq!(machine.cpu.srr0, 0x1_0000);
}

#[test]
fn rfi_ignores_the_upper_half_of_srr1() {
    let mut machine = machine();
    machine.cpu.srr0 = 0x1_0103;
    machine.cpu.srr1 = 0xFFFF_0000 | msr::ME;
    put(&mut machine, 0x1_0100, &[b(0)]);
    assert_eq!(run(&mut machine, &[RFI]), halted_at(0x1_0100));
    assert_eq!(machine.cpu.msr(), msr::ME);
}

#[test]
fn trace_follows_each_instruction_but_rfi() {
    let mut machine = machine();
    machine.cpu.srr0 = 0x1_0100;
    machine.cpu.srr1 = msr::ME | msr::SE;
    put(&mut machine, 0x1_0100, &[li(3, 1), li(3, 2)]);
    assert_eq!(run(&mut machine, &[RFI]), halted_at(0xD00));
    assert_eq!((machine.cpu.srr0, machine.cpu.gpr(3)), (0x1_0104, 1));
}

#[test]
fn branch_trace_follows_taken_branches_only() {
    let mut machine = machine();
    machine.cpu.write_msr(msr::ME | msr::BE);
    let program = [li(3, 1), bc(4, 2, 8), b(8), NOP, NOP];
    machine.cpu.cr = 0x2000_0000;
    assert_eq!(run(&mut machine, &program), halted_at(0xD00));
    assert_eq!(machine.cpu.srr0, 0x1_0010);
}

#[test]
fn instruction_comparator_breaks_before_its_instruction() {
    let mut machine = machine();
    let address = load_immediate(5, 0x1_0018);
    // CTA = equal, watchpoint 0 from comparator A, software trap on watchpoint 0, fetch at full speed.
    let control = load_immediate(6, 0x8000_0000 | 1 << 18 | 0x800 | 7);
    let program = [
        address[0],
        address[1],
        control[0],
        control[1],
        mtspr(spr::CMPA, 5),
        mtspr(spr::ICTRL, 6),
        li(7, 1),
    ];
    assert_eq!(run(&mut machine, &program), halted_at(0x1D00));
    assert_eq!((machine.cpu.srr0, machine.cpu.gpr(7)), (0x1_0018, 0));
}

/// The values are those that the kernel's `set_breakpoint_8xx` writes.
#[test]
fn data_comparators_break_after_the_access_and_load_bar() {
    let mut machine = machine();
    machine.cpu.set_gpr(10, 0x2_0000);
    machine.cpu.dar = 0x55;
    for (number, value) in [
        (spr::CMPE, 0x2_0003),
        (spr::CMPF, 0x2_0008),
        (spr::LCTRL1, 0xC000_0000 | 0x1400_0000 | 0x000C_0000 | 0x0003_0000),
        (spr::LCTRL2, 0x8000_0000 | 0x0800_0000 | 0x0200_0000 | 2),
    ] {
        machine.cpu.write_spr(&mut machine.bus, number, value).unwrap();
    }
    let program = [stw(3, 0, 10), lwz(4, 4, 10), stw(3, 8, 10), stw(10, 4, 10), li(7, 1)];
    assert_eq!(run(&mut machine, &program), halted_at(0x1C00));
    assert_eq!((machine.cpu.srr0, machine.cpu.gpr(7)), (0x1_0010, 0));
    assert_eq!(machine.cpu.read_spr(&mut machine.bus, spr::BAR), Some(0x2_0004));
    assert_eq!((word(&machine, 0x2_0004), machine.cpu.dar), (0x2_0000, 0x55));
}

#[test]
fn icr_names_the_cause_and_is_cleared_by_reading() {
    let mut machine = machine();
    run(&mut machine, &[SC]);
    assert_eq!(machine.cpu.read_spr(&mut machine.bus, spr::ICR), Some(0x0004_0000));
    assert_eq!(machine.cpu.read_spr(&mut machine.bus, spr::ICR), Some(0));
}

#[test]
fn der_stops_the_core_only_for_a_debugger() {
    let mut machine = machine();
    machine.cpu.write_spr(&mut machine.bus, spr::DER, 0x0004_0000).unwrap();
    assert_eq!(run(&mut machine, &[SC]), halted_at(0xC00));
    machine.cpu.debug.debug_mode = true;
    assert_eq!(
        run(&mut machine, &[SC]),
        Stop::DebugMode {
            pc: 0x1_0004,
            cause: "system call"
        }
    );
}

#[test]
fn store_conditional_needs_a_reservation_and_spends_it() {
    let mut machine = machine();
    machine.cpu.set_gpr(4, 0x2_0000);
    machine.cpu.set_gpr(5, 0x1111);
    run(&mut machine, &[stwcx(5, 0, 4)]);
    assert_eq!((machine.cpu.cr >> 28, word(&machine, 0x2_0000)), (0, 0));
    run(
        &mut machine,
        &[lwarx(6, 0, 4), stwcx(5, 0, 4), x31(3, 0, 0, 19), stwcx(6, 0, 4)],
    );
    assert_eq!(
        (machine.cpu.gpr(3) >> 28, machine.cpu.cr >> 28, word(&machine, 0x2_0000)),
        (2, 0, 0x1111)
    );
}

#[test]
fn little_endian_mode_is_a_named_stop() {
    let mut machine = machine();
    machine.cpu.write_msr(msr::ME | msr::LE);
    let stop = run(&mut machine, &[NOP]);
    assert!(
        matches!(&stop, Stop::Impossible { text, .. } if text.contains("little-endian")),
        "{stop}"
    );
}

#[test]
fn power_down_without_a_wake_up_is_an_endless_halt() {
    let mut machine = machine();
    let state = load_immediate(3, msr::POW | msr::ME);
    assert_eq!(
        run(&mut machine, &[state[0], state[1], mtmsr(3)]),
        Stop::Halt {
            pc: 0x1_0008,
            how: Halt::PowerDown
        }
    );
}

#[test]
fn power_down_sleeps_until_the_next_event() {
    let mut machine = machine();
    machine.bus.event = 100_000;
    let state = load_immediate(3, msr::POW | msr::ME | msr::EE);
    assert_eq!(run(&mut machine, &[state[0], state[1], mtmsr(3)]), halted_at(0x900));
    assert!(machine.cpu.now() >= 100_000 && machine.cpu.instructions() < 10);
    assert_eq!(machine.cpu.srr1 & msr::POW, 0);
}
