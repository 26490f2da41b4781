//! What a bus cycle costs.

use super::*;

/// (single read, burst read, single write, burst write) as (first TA, total) in bus clocks.
fn clocks(name: &str) -> [(u32, u32); 4] {
    let table = board::by_name(name).unwrap();
    let (soc, _) = booted(name);
    [
        CycleKind::SingleRead,
        CycleKind::BurstRead,
        CycleKind::SingleWrite,
        CycleKind::BurstWrite,
    ]
    .map(|kind| {
        let clocks = soc.external().memctl.clocks(table.memory.chip_select, kind).unwrap();
        (clocks.first, clocks.total)
    })
}

#[test]
fn sdram_cycles_follow_the_upm_words() {
    // (first acknowledge, total) of single read, burst read, single write, burst write, read off the words by hand.
    assert_eq!(clocks("cmpc885"), [(4, 6), (4, 8), (2, 7), (2, 9)]);
    assert_eq!(clocks("mcr3000"), [(4, 5), (4, 8), (2, 6), (2, 9)]);
    assert_eq!(clocks("mpc885ads"), [(4, 5), (4, 8), (2, 4), (2, 7)]);
    assert_eq!(clocks("adder875"), [(4, 6), (4, 9), (3, 4), (2, 7)]);
}

#[test]
fn core_clocks_count_arbitration_and_the_bus_ratio() {
    let (mut soc, _) = booted("cmpc885");
    assert_eq!(
        soc.timing(0x1000, CycleKind::BurstRead),
        BusTiming {
            critical: 10,
            beat: 2,
            total: 18
        }
    );
    assert_eq!(
        soc.timing(0x1000, CycleKind::SingleRead),
        BusTiming {
            critical: 10,
            beat: 0,
            total: 14
        }
    );
    // EBDF = 00: the bus at the core's clock.
    write(&mut soc, 0x280, Width::Word, 0x0040_0000, 0);
    assert_eq!(
        soc.timing(0x1000, CycleKind::BurstRead),
        BusTiming {
            critical: 5,
            beat: 1,
            total: 9
        }
    );
}

#[test]
fn flash_word_takes_two_relaxed_halfword_cycles() {
    let (soc, _) = booted("cmpc885");
    // OR0 0xFFC0_0924: SCY 2, TRLX, 16-bit port: 6 clocks a halfword, two of them, one for arbitration.
    assert_eq!(
        soc.timing(0x4000_0000, CycleKind::SingleRead),
        BusTiming {
            critical: 26,
            beat: 0,
            total: 26
        }
    );
    // Four words: no bursts through the general-purpose machine.
    assert_eq!(
        soc.timing(0x4000_0000, CycleKind::BurstRead),
        BusTiming {
            critical: 26,
            beat: 24,
            total: 98
        }
    );
}

#[test]
fn burst_inhibit_makes_single_beats() {
    let (mut soc, _) = booted("cmpc885");
    write(&mut soc, 0x10C, Width::Word, 0xFC00_0F00, 0);
    assert_eq!(
        soc.timing(0, CycleKind::BurstRead),
        BusTiming {
            critical: 10,
            beat: 12,
            total: 50
        }
    );
}

#[test]
fn loop_words_repeat_as_the_mode_register_says() {
    let (mut soc, _) = booted("mpc885ads");
    // Refresh of the ADS: five words in the loop, one after it; TLFB = 4.
    let [_, Some(program)] = soc.external().memctl.refresh() else {
        panic!("UPMB refreshes")
    };
    assert_eq!((program.period_brgclk, program.busy_bus_clocks), (0x80 * 16, 21));
    write(&mut soc, 0x174, Width::Word, 0x8080_2110, 0);
    let [_, Some(program)] = soc.external().memctl.refresh() else {
        panic!("UPMB refreshes")
    };
    assert_eq!(program.busy_bus_clocks, memctl::PASSES_OF_TIMER_LOOP_0 * 5 + 1);
    soc.external_mut().memctl.passes_of_timer_loop_0 = 16;
    let [_, Some(program)] = soc.external().memctl.refresh() else {
        panic!("UPMB refreshes")
    };
    assert_eq!(program.busy_bus_clocks, 16 * 5 + 1);
    write(&mut soc, 0x174, Width::Word, 0x8000_2114, 0);
    assert_eq!(soc.external().memctl.refresh(), [None, None], "PTBE gates it");
}

#[test]
fn refresh_of_the_cs_boards_is_one_pass_in_core_clocks() {
    // PTA 32 * 32 of BRGCLK, eight words at half the core clock.
    let (soc, _) = booted("cmpc885");
    let [refresh, none] = soc.refresh();
    assert_eq!((refresh.period, refresh.busy, none.period), (1024, 16, 0));
    let (soc, _) = booted("mcr3000");
    assert_eq!((soc.refresh()[0].period, soc.refresh()[0].busy), (640, 14));
}

#[test]
fn internal_registers_have_their_own_price() {
    let (soc, _) = booted("mcr3000");
    let total = INTERNAL_ACCESS_CLOCKS;
    assert_eq!(
        soc.timing(IMMR, CycleKind::SingleRead),
        BusTiming {
            critical: total,
            beat: 0,
            total
        }
    );
}
