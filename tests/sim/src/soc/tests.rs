//! The registers, rule by rule, through the bus as the core sees it.

use super::console::{Symbol, Terminal};
use super::inject::Direction;
use super::timers::KEY;
use super::*;
use crate::board::{self, Options, leave_as_u_boot};

const IMMR: u32 = 0xFF00_0000;
const SECOND: u64 = 132_000_000;

/// A board in its reset state, except that IMMR is where [`IMMR`] says.
fn at_reset(name: &str) -> (Soc, Terminal) {
    let terminal = Terminal::default();
    let options = Options {
        console: Box::new(terminal.clone()),
        ..Options::default()
    };
    let soc = board::by_name(name).unwrap().power_on(options).unwrap();
    (soc, terminal)
}

/// A board as its U-Boot leaves it.
fn booted(name: &str) -> (Soc, Terminal) {
    let (mut soc, terminal) = at_reset(name);
    leave_as_u_boot(&mut soc, board::by_name(name).unwrap());
    (soc, terminal)
}

fn read(soc: &mut Soc, offset: u32, width: Width, now: u64) -> u32 {
    soc.read(IMMR + offset, width, now).expect("the register answers")
}

fn write(soc: &mut Soc, offset: u32, width: Width, value: u32, now: u64) {
    soc.write(IMMR + offset, width, value, now)
        .expect("the register answers");
}

/// Runs the devices up to `until` as the core's loop does.
fn run(soc: &mut Soc, until: u64) {
    while soc.next_event() <= until {
        let next = soc.next_event();
        soc.advance(next);
    }
    soc.advance(until);
}

mod memory_map {
    use super::*;

    #[test]
    fn cs0_answers_everywhere_at_reset_but_not_over_immr() {
        let (mut soc, _) = at_reset("cmpc885");
        soc.memory_mut()[64 << 20] = 0x5A;
        for address in [0, 0x0040_0000, 0x4000_0000, 0xF000_0000] {
            assert_eq!(soc.read(address, Width::Byte, 0), Ok(0x5A), "{address:#x}");
        }
        assert_ne!(read(&mut soc, 0, Width::Byte, 0), 0x5A);
    }

    #[test]
    fn narrowing_or0_leaves_one_window_and_unmapped_space_ends_with_tea() {
        let (mut soc, _) = booted("cmpc885");
        assert_eq!(soc.read(0x4000_0000, Width::Word, 0), Ok(0xFFFF_FFFF));
        assert_eq!(
            soc.read(0x5000_0000, Width::Word, 0),
            Err(BusError { address: 0x5000_0000 })
        );
        assert_eq!(
            read(&mut soc, 0x020, Width::Word, 0),
            0x10,
            "TESR: data cycle, monitor time-out"
        );
        write(&mut soc, 0x020, Width::Word, 0x10, 0);
        assert_eq!(read(&mut soc, 0x020, Width::Word, 0), 0);
    }

    #[test]
    fn immr_moves_at_once_and_reports_the_part() {
        let (mut soc, _) = booted("mpc885ads");
        soc.spr_write(BusSpr::Immr, 0x2000_5678, 0);
        assert_eq!(soc.spr_read(BusSpr::Immr, 0), 0x2000_0900);
        assert_eq!(soc.read(0x2000_0004, Width::Word, 0), Ok(0xFFFF_FF89));
        assert!(
            soc.read(IMMR + 4, Width::Word, 0).is_err(),
            "nothing is left at the old place"
        );
        assert!(!soc.cacheable(0x2000_0004) && soc.direct(0x2000_0000).is_none());
    }

    #[test]
    fn immr_wins_over_a_chip_select() {
        let (mut soc, _) = booted("cmpc885");
        soc.spr_write(BusSpr::Immr, 0x0010_0000, 0);
        assert_eq!(soc.read(0x0010_0014, Width::Word, 0), Ok(0));
        soc.write(0x0010_0014, Width::Word, 0x0400_0000, 0).unwrap();
        assert_eq!(soc.read(0x0010_0014, Width::Word, 0), Ok(0x0400_0000));
        assert!(soc.direct(0x0010_0000).is_none() && soc.direct(0x0011_0000).is_some());
    }

    #[test]
    fn lowest_bank_wins() {
        let (mut soc, _) = booted("cmpc885");
        soc.write(0, Width::Word, 0x1234_5678, 0).unwrap();
        // Bank 0 over the SDRAM of bank 1.
        write(&mut soc, 0x100, Width::Word, 0x0000_0801, 0);
        assert_eq!(soc.read(0, Width::Word, 0), Ok(0xFFFF_FFFF));
        write(&mut soc, 0x100, Width::Word, 0x4000_0801, 0);
        assert_eq!(soc.read(0, Width::Word, 0), Ok(0x1234_5678));
    }

    #[test]
    fn memory_does_not_repeat_above_its_size() {
        // The alias probe of a boot loader: the chip select covers 64 MiB, 16 MiB are fitted.
        let options = Options {
            memory_bytes: Some(16 << 20),
            ..Options::default()
        };
        let table = board::by_name("cmpc885").unwrap();
        let mut soc = table.power_on(options).unwrap();
        leave_as_u_boot(&mut soc, table);
        write(&mut soc, 0x10C, Width::Word, 0xFC00_0E00, 0);
        soc.write(0, Width::Word, 0, 0).unwrap();
        for shift in 20..26 {
            soc.write(1 << shift, Width::Word, !shift, 0).unwrap();
        }
        assert_eq!(soc.read(0, Width::Word, 0), Ok(0), "no alias has overwritten address 0");
        for shift in 20..26 {
            let found = soc.read(1 << shift, Width::Word, 0).unwrap() == !shift;
            assert_eq!(found, shift < 24, "1 << {shift}");
        }
    }

    #[test]
    fn memory_repeats_when_the_chip_select_does_not_compare_a_bit() {
        let (mut soc, _) = booted("cmpc885");
        // Bit 4 (0x0800_0000) left out of the mask.
        write(&mut soc, 0x10C, Width::Word, 0xF400_0E00, 0);
        soc.write(0x0000_0100, Width::Word, 0xCAFE_F00D, 0).unwrap();
        assert_eq!(soc.read(0x0800_0100, Width::Word, 0), Ok(0xCAFE_F00D));
    }

    #[test]
    fn write_protected_bank_refuses_stores_and_notes_it() {
        let (mut soc, _) = booted("cmpc885");
        write(&mut soc, 0x108, Width::Word, 0x0000_0181, 0);
        assert!(!soc.direct(0).unwrap().writable);
        assert!(soc.write(0, Width::Word, 1, 0).is_err());
        assert_eq!(soc.read(0, Width::Word, 0), Ok(0));
        assert_eq!(read(&mut soc, 0x178, Width::Half, 0), 0x0080);
        write(&mut soc, 0x178, Width::Half, 0x0080, 0);
        assert_eq!(read(&mut soc, 0x178, Width::Half, 0), 0);
    }

    #[test]
    fn memory_on_an_unprogrammed_upm_does_not_answer() {
        let (mut soc, _) = at_reset("cmpc885");
        write(&mut soc, 0x100, Width::Word, 0x4000_0801, 0);
        write(&mut soc, 0x104, Width::Word, 0xFFC0_0924, 0);
        write(&mut soc, 0x10C, Width::Word, 0xFC00_0E00, 0);
        write(&mut soc, 0x108, Width::Word, 0x0000_0081, 0);
        assert!(soc.read(0, Width::Word, 0).is_err());
        assert!(soc.direct(0).is_none());
    }

    #[test]
    fn upm_array_reads_back_through_mdr() {
        let (mut soc, _) = booted("cmpc885");
        write(&mut soc, 0x168, Width::Word, 0x4000_0003, 0);
        assert_eq!(read(&mut soc, 0x17C, Width::Word, 0), 0x0FFF_EC00);
        write(&mut soc, 0x168, Width::Word, 0x4080_0003, 0);
        assert_eq!(
            read(&mut soc, 0x17C, Width::Word, 0),
            0xFFFF_FFFF,
            "UPMB is another array"
        );
    }

    #[test]
    fn hole_above_rsr_is_a_bus_error() {
        let (mut soc, _) = booted("mcr3000");
        assert!(soc.read(IMMR + 0x28C, Width::Word, 0).is_err());
        assert!(soc.write(IMMR + 0x28C, Width::Word, 0, 0).is_err());
    }

    #[test]
    fn board_registers_hold_what_is_stored_until_reset() {
        let (mut soc, _) = booted("mpc885ads");
        assert_eq!(soc.read(0xFF08_0004, Width::Word, 0), Ok(0x7FFF_0000));
        soc.write(0xFF08_0004, Width::Word, 0x7EFF_0000, 0).unwrap();
        assert_eq!(soc.read(0xFF08_0004, Width::Word, 0), Ok(0x7EFF_0000));
        soc.write(0xFF0A_0300, Width::Byte, 0x42, 0).unwrap();
        assert_eq!(soc.read(0xFF0A_0300, Width::Byte, 0), Ok(0x42));
        soc.hard_reset(0);
        leave_as_u_boot(&mut soc, board::by_name("mpc885ads").unwrap());
        assert_eq!(soc.read(0xFF08_0004, Width::Word, 0), Ok(0x7FFF_0000));
    }

    #[test]
    fn narrow_and_wide_accesses_see_the_same_register() {
        let (mut soc, _) = booted("cmpc885");
        write(&mut soc, 0x014, Width::Word, 0x1234_0000, 0);
        assert_eq!(read(&mut soc, 0x014, Width::Byte, 0), 0x12);
        assert_eq!(read(&mut soc, 0x014, Width::Half, 0), 0x1234);
        write(&mut soc, 0x015, Width::Byte, 0x56, 0);
        assert_eq!(read(&mut soc, 0x014, Width::Word, 0), 0x1256_0000);
        write(&mut soc, 0x950, Width::Word, 0xAAAA_5555, 0);
        assert_eq!(
            (
                read(&mut soc, 0x950, Width::Half, 0),
                read(&mut soc, 0x952, Width::Half, 0)
            ),
            (0xAAAA, 0x5555)
        );
    }

    #[test]
    fn every_offset_of_the_map_survives_every_access() {
        let (mut soc, _) = booted("mpc885ads");
        for offset in (0..0x1_0000).chain([0xFFFF]) {
            for width in [Width::Byte, Width::Half, Width::Word] {
                let _ = soc.read(IMMR + offset, width, 1);
            }
        }
        for value in [0, !0, 0x5555_5555] {
            for offset in 0..0x1_0000 {
                for width in [Width::Byte, Width::Half, Width::Word] {
                    let _ = soc.write(IMMR + offset, width, value, 2);
                }
            }
        }
        run(&mut soc, 3_000);
    }
}

mod timing {
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
        // mpc8xx.md section 4.4.
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
        assert_eq!(program.busy_bus_clocks, 16 * 5 + 1, "a loop field of 0 means 16");
        write(&mut soc, 0x174, Width::Word, 0x8000_2114, 0);
        assert_eq!(soc.external().memctl.refresh(), [None, None], "PTBE gates it");
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
}

mod clock_registers {
    use super::*;

    #[test]
    fn core_clock_follows_the_synthesiser() {
        assert_eq!(booted("cmpc885").0.core_hz(), 132_000_000);
        assert_eq!(booted("mcr3000").0.core_hz(), 132_000_000);
        assert_eq!(at_reset("mcr3000").0.core_hz(), 66_000_000);
        assert_eq!(at_reset("cmpc885").0.core_hz(), 50_000_000);
    }

    #[test]
    fn locked_registers_ignore_stores() {
        let (mut soc, _) = booted("cmpc885");
        write(&mut soc, 0x380, Width::Word, !KEY, 0);
        write(&mut soc, 0x280, Width::Word, 0, 0);
        assert_eq!(read(&mut soc, 0x280, Width::Word, 0), 0x0042_0000);
        write(&mut soc, 0x380, Width::Word, KEY, 0);
        write(&mut soc, 0x280, Width::Word, 0x0242_0000, 0);
        assert_eq!(read(&mut soc, 0x280, Width::Word, 0), 0x0242_0000);
        assert_eq!(read(&mut soc, 0x380, Width::Word, 0), 0, "key registers hold nothing");
    }

    #[test]
    fn one_lock_guards_time_base_and_decrementer() {
        let (mut soc, _) = booted("cmpc885");
        write(&mut soc, 0x30C, Width::Word, 0, 0);
        soc.spr_write(BusSpr::Dec, 1234, 0);
        soc.spr_write(BusSpr::Tbu, 7, 0);
        assert_eq!((soc.spr_read(BusSpr::Dec, 0), soc.spr_read(BusSpr::Tbu, 0)), (0, 0));
        write(&mut soc, 0x30C, Width::Word, KEY, 0);
        soc.spr_write(BusSpr::Dec, 1234, 0);
        assert_eq!(soc.spr_read(BusSpr::Dec, 0), 1234);
    }

    #[test]
    fn tbe_gates_time_base_and_decrementer() {
        let (mut soc, _) = at_reset("cmpc885");
        soc.spr_write(BusSpr::Dec, 10, 0);
        run(&mut soc, SECOND);
        assert_eq!(
            (soc.spr_read(BusSpr::Tbl, SECOND), soc.spr_read(BusSpr::Dec, SECOND)),
            (0, 10)
        );
        assert!(!soc.lines().decrementer);
        write(&mut soc, 0x200, Width::Half, 0x00C3, SECOND);
        assert_ne!(soc.next_event(), u64::MAX);
        run(&mut soc, 2 * SECOND);
        assert!(soc.lines().decrementer && soc.spr_read(BusSpr::Tbl, 2 * SECOND) > 0);
    }

    #[test]
    fn timebase_source_select_changes_the_rate() {
        let (mut soc, _) = booted("cmpc885");
        // TBS = 0, RTSEL = 0: 10 MHz / 4.
        assert_eq!(soc.spr_read(BusSpr::Tbl, SECOND), 2_500_000);
        write(&mut soc, 0x280, Width::Word, 0x0242_0000, SECOND);
        assert_eq!(soc.spr_read(BusSpr::Tbl, 2 * SECOND), 2_500_000 + 8_250_000);
        // RTSEL = 1 with a factor of 2: 66 MHz / 16.
        let (mut soc, _) = booted("mcr3000");
        assert_eq!(soc.spr_read(BusSpr::Tbl, SECOND), 4_125_000);
    }

    #[test]
    fn decrementer_fires_on_the_change_of_sign_only() {
        let (mut soc, _) = booted("mcr3000");
        write(&mut soc, 0x280, Width::Word, 0x02C2_0000, 0);
        soc.spr_write(BusSpr::Dec, 99, 0);
        assert_eq!(soc.next_event(), 1600, "the hundredth tick makes it negative");
        run(&mut soc, 1599);
        assert!(!soc.lines().decrementer);
        run(&mut soc, 1600);
        assert!(soc.lines().decrementer);
        assert_eq!(soc.spr_read(BusSpr::Dec, 1600), 0xFFFF_FFFF);
        soc.acknowledge_decrementer();
        run(&mut soc, SECOND);
        assert!(!soc.lines().decrementer, "it stays negative for 2^31 ticks");
    }

    #[test]
    fn storing_a_negative_decrementer_over_a_positive_one_fires() {
        let (mut soc, _) = booted("mcr3000");
        soc.spr_write(BusSpr::Dec, 0x7FFF_FFFF, 0);
        assert!(!soc.lines().decrementer);
        soc.spr_write(BusSpr::Dec, 0x8000_0000, 0);
        assert!(soc.lines().decrementer);
        soc.acknowledge_decrementer();
        soc.spr_write(BusSpr::Dec, 0xFFFF_0000, 0);
        assert!(!soc.lines().decrementer, "negative over negative is no change of sign");
    }

    #[test]
    fn preset_time_base_carries_into_the_upper_half() {
        let (mut soc, _) = booted("mcr3000");
        write(&mut soc, 0x280, Width::Word, 0x02C2_0000, 0);
        soc.preset_timers(0x0000_0007_FFFF_FFF0, 5, 0);
        assert_eq!(
            (soc.spr_read(BusSpr::Tbu, 0), soc.spr_read(BusSpr::Tbl, 0)),
            (7, 0xFFFF_FFF0)
        );
        assert_eq!((soc.spr_read(BusSpr::Tbu, 256), soc.spr_read(BusSpr::Tbl, 256)), (8, 0));
    }

    #[test]
    fn reference_match_raises_its_level_until_cleared() {
        let (mut soc, _) = booted("mcr3000");
        write(&mut soc, 0x280, Width::Word, 0x02C2_0000, 0);
        write(&mut soc, 0x204, Width::Word, 10, 0);
        write(&mut soc, 0x014, Width::Word, 0x0001_0000, 0);
        // Level 7, REFAE, TBE.
        write(&mut soc, 0x200, Width::Half, 0x01C9, 0);
        run(&mut soc, 159);
        assert!(!soc.lines().external);
        run(&mut soc, 160);
        assert!(soc.lines().external);
        assert_eq!(
            read(&mut soc, 0x01C, Width::Word, 160) >> 26,
            15,
            "the same code as spurious"
        );
        write(&mut soc, 0x200, Width::Half, 0x0189, 160);
        assert!(!soc.lines().external);
    }

    #[test]
    fn periodic_timer_interrupts_at_its_rate() {
        let (mut soc, _) = booted("mcr3000");
        write(&mut soc, 0x014, Width::Word, !0, 0);
        // 8192 counts of 8192 Hz: one second.
        write(&mut soc, 0x244, Width::Word, 8191 << 16, 0);
        write(&mut soc, 0x240, Width::Half, 0x8005, 0);
        run(&mut soc, SECOND - 1);
        assert!(!soc.lines().external);
        run(&mut soc, SECOND);
        assert_eq!(read(&mut soc, 0x01C, Width::Word, SECOND) >> 26, 1, "level 0");
        write(&mut soc, 0x240, Width::Half, 0x8085, SECOND);
        assert!(!soc.lines().external);
        run(&mut soc, 2 * SECOND);
        assert!(soc.lines().external);
    }

    #[test]
    fn real_time_clock_counts_seconds_and_alarms() {
        let (mut soc, _) = booted("mcr3000");
        write(&mut soc, 0x014, Width::Word, !0, 0);
        write(&mut soc, 0x224, Width::Word, 1_000_000, 0);
        write(&mut soc, 0x22C, Width::Word, 1_000_003, 0);
        write(&mut soc, 0x220, Width::Half, 0x4005, 0);
        assert!(!soc.lines().external);
        run(&mut soc, 3 * SECOND);
        assert_eq!(read(&mut soc, 0x224, Width::Word, 3 * SECOND), 1_000_003);
        assert_eq!(
            read(&mut soc, 0x220, Width::Half, 3 * SECOND) & 0xC0,
            0xC0,
            "SEC and ALR"
        );
        write(&mut soc, 0x220, Width::Half, 0x40CD, 3 * SECOND);
        assert_eq!(read(&mut soc, 0x220, Width::Half, 3 * SECOND) & 0xC0, 0);
        write(&mut soc, 0x22C, Width::Word, 1_000_005, 3 * SECOND);
        run(&mut soc, 5 * SECOND);
        assert_eq!(read(&mut soc, 0x220, Width::Half, 5 * SECOND) & 0x40, 0x40);
    }
}

mod protection {
    use super::*;

    #[test]
    fn sypcr_takes_the_first_store_only() {
        let (mut soc, _) = at_reset("cmpc885");
        assert_eq!(read(&mut soc, 0x004, Width::Word, 0), 0xFFFF_FF07);
        write(&mut soc, 0x004, Width::Word, 0xFFFF_FF88, 0);
        write(&mut soc, 0x004, Width::Word, 0xFFFF_FF8F, 0);
        assert_eq!(read(&mut soc, 0x004, Width::Word, 0), 0xFFFF_FF88);
        soc.hard_reset(0);
        write(&mut soc, 0x004, Width::Word, 0x1234_5680, 0);
        assert_eq!(read(&mut soc, 0x004, Width::Word, 0), 0x1234_5680);
    }

    #[test]
    fn watchdog_resets_a_board_that_does_nothing() {
        let (mut soc, _) = at_reset("cmpc885");
        let expiry = 0xFFFF * 2048;
        assert_eq!(soc.next_event(), expiry);
        run(&mut soc, expiry - 1);
        assert!(!soc.lines().reset);
        run(&mut soc, expiry);
        assert!(soc.lines().reset);
        soc.hard_reset(expiry);
        assert!(!soc.lines().reset);
        assert_eq!(
            read(&mut soc, 0x288, Width::Word, expiry) & 0x1000_0000,
            0x1000_0000,
            "RSR[SWRS]"
        );
    }

    #[test]
    fn watchdog_is_fed_by_both_words_in_order() {
        let (mut soc, _) = at_reset("cmpc885");
        write(&mut soc, 0x004, Width::Word, 0x0010_FF07, 0);
        let period = 0x10 * 2048;
        write(&mut soc, 0x00E, Width::Half, 0x556C, 100);
        write(&mut soc, 0x00E, Width::Half, 0xAA39, 200);
        assert_eq!(soc.next_event(), 200 + period);
        write(&mut soc, 0x00E, Width::Half, 0xAA39, 300);
        write(&mut soc, 0x00E, Width::Half, 0x556C, 400);
        write(&mut soc, 0x00E, Width::Half, 0x1111, 500);
        write(&mut soc, 0x00E, Width::Half, 0xAA39, 600);
        assert_eq!(soc.next_event(), 200 + period, "a broken sequence counts for nothing");
    }

    #[test]
    fn watchdog_without_reset_is_an_nmi() {
        let (mut soc, _) = at_reset("cmpc885");
        write(&mut soc, 0x004, Width::Word, 0x0010_FF85, 0);
        run(&mut soc, 0x10 * 2048);
        assert!(soc.lines().nmi && !soc.lines().reset);
        soc.acknowledge_nmi();
        assert!(!soc.lines().nmi);
    }

    #[test]
    fn checkstop_resets_only_with_csr() {
        let (mut soc, _) = booted("cmpc885");
        assert!(!soc.checkstop(0));
        write(&mut soc, 0x284, Width::Word, 0x374D_4080, 0);
        assert!(soc.checkstop(0) && soc.lines().reset);
        assert!(!soc.hard_reset(0), "MSR[IP] from the reset word of the board");
        assert_eq!(soc.spr_read(BusSpr::Immr, 0), 0xFF00_0900);
        assert_eq!(
            read(&mut soc, 0x288, Width::Word, 0) & 0x0800_0000,
            0x0800_0000,
            "RSR[CSRS]"
        );
        write(&mut soc, 0x288, Width::Word, 0x0800_0000, 0);
        assert_eq!(read(&mut soc, 0x288, Width::Word, 0) & 0x0800_0000, 0);
    }

    #[test]
    fn memory_and_time_base_survive_a_reset() {
        let (mut soc, _) = booted("cmpc885");
        soc.write(0x1000, Width::Word, 0xDEAD_BEEF, 0).unwrap();
        soc.preset_timers(42, 77, 0);
        soc.hard_reset(0);
        assert_eq!(
            (soc.spr_read(BusSpr::Tbl, 1000), soc.spr_read(BusSpr::Dec, 1000)),
            (42, 77)
        );
        leave_as_u_boot(&mut soc, board::by_name("cmpc885").unwrap());
        assert_eq!(soc.read(0x1000, Width::Word, 0), Ok(0xDEAD_BEEF));
    }
}

mod interrupts {
    use super::*;

    #[test]
    fn nothing_pending_reads_as_source_15() {
        let (mut soc, _) = booted("cmpc885");
        assert_eq!(read(&mut soc, 0x01C, Width::Word, 0), 0x3C00_0000);
        assert_eq!(read(&mut soc, 0x01C, Width::Byte, 0), 0x3C);
    }

    #[test]
    fn level_pin_follows_and_edge_pin_latches() {
        let (mut soc, _) = booted("cmpc885");
        write(&mut soc, 0x014, Width::Word, 0xFFFF_0000, 0);
        soc.drive_irq(3, true, 0);
        assert!(soc.lines().external);
        assert_eq!(read(&mut soc, 0x01C, Width::Word, 0) >> 26, 6);
        soc.drive_irq(3, false, 0);
        assert!(!soc.lines().external);
        // IRQ3 by edge.
        write(&mut soc, 0x018, Width::Word, 0x0200_0000, 0);
        soc.drive_irq(3, true, 0);
        soc.drive_irq(3, false, 0);
        assert!(soc.lines().external);
        write(&mut soc, 0x010, Width::Word, 0x0200_0000, 0);
        assert!(!soc.lines().external);
    }

    #[test]
    fn masked_sources_stay_pending_without_a_line() {
        let (mut soc, _) = booted("cmpc885");
        soc.drive_irq(2, true, 0);
        assert!(!soc.lines().external);
        assert_eq!(read(&mut soc, 0x010, Width::Word, 0), 0x0800_0000);
    }

    #[test]
    fn irq0_is_the_nmi() {
        let (mut soc, _) = booted("cmpc885");
        soc.drive_irq(0, true, 0);
        assert!(soc.lines().nmi && !soc.lines().external);
    }

    #[test]
    fn lost_interrupt_is_one_activation() {
        let (mut soc, _) = booted("cmpc885");
        write(&mut soc, 0x014, Width::Word, 0xFFFF_0000, 0);
        soc.inject(Fault::LostInterrupt { source: 6, nth: 2 }, 0);
        for (activation, seen) in [(1, true), (2, false), (3, true)] {
            soc.drive_irq(3, true, 0);
            assert_eq!(soc.lines().external, seen, "activation {activation}");
            soc.drive_irq(3, false, 0);
        }
    }
}

mod serial {
    use super::*;

    /// BRG, SMC and dual-port RAM layout of the console that U-Boot leaves.
    const RX_BD: u32 = 0x2000 + 0x1800;
    const TX_BD: u32 = RX_BD + 8;
    const RX_BUFFER: u32 = RX_BD + 0x14;
    const TX_BUFFER: u32 = RX_BD + 0x15;
    const PAGE: u32 = 0x2000 + 0x1E80;
    const CHARACTER: u64 = 10 * 16 * 72;

    fn put(soc: &mut Soc, byte: u8, now: u64) {
        write(soc, TX_BUFFER, Width::Byte, u32::from(byte), now);
        write(soc, TX_BD + 2, Width::Half, 1, now);
        let status = read(soc, TX_BD, Width::Half, now);
        write(soc, TX_BD, Width::Half, status | 0x8000, now);
    }

    fn is_sent(soc: &mut Soc, now: u64) -> bool {
        read(soc, TX_BD, Width::Half, now) & 0x8000 == 0
    }

    #[test]
    fn a_character_takes_ten_bit_times() {
        let (mut soc, terminal) = booted("cmpc885");
        soc.spr_write(BusSpr::Dec, 0x7FFF_FFFF, 0);
        put(&mut soc, b'A', 0);
        assert_eq!(soc.next_event(), CHARACTER);
        assert!(!is_sent(&mut soc, CHARACTER - 1));
        run(&mut soc, CHARACTER);
        assert!(is_sent(&mut soc, CHARACTER));
        assert_eq!(terminal.take_output(), [(CHARACTER, Symbol::Data(b'A'))]);
    }

    #[test]
    fn instant_transmission_keeps_the_order() {
        let terminal = Terminal::default();
        let options = Options {
            console: Box::new(terminal.clone()),
            instant_transmission: true,
            ..Options::default()
        };
        let table = board::by_name("cmpc885").unwrap();
        let mut soc = table.power_on(options).unwrap();
        leave_as_u_boot(&mut soc, table);
        for (index, byte) in b"hello".iter().enumerate() {
            put(&mut soc, *byte, index as u64 * 100);
            run(&mut soc, index as u64 * 100 + 99);
        }
        assert_eq!(terminal.take_text(), "hello");
    }

    #[test]
    fn wrong_divisor_is_garbage_at_the_terminal() {
        let (mut soc, terminal) = booted("cmpc885");
        // 9600 baud instead of 115200.
        write(&mut soc, 0x9F0, Width::Word, 0x0001_06B4, 0);
        put(&mut soc, b'A', 0);
        run(&mut soc, SECOND);
        let output = terminal.take_output();
        assert!(
            output.iter().all(|(_, symbol)| *symbol != Symbol::Data(b'A')),
            "{output:?}"
        );
        // The right divisor for half the speed, read by a terminal at full speed.
        write(&mut soc, 0x9F0, Width::Word, 0x0001_011E, SECOND);
        put(&mut soc, b'A', SECOND);
        run(&mut soc, 2 * SECOND);
        assert!(
            terminal
                .take_output()
                .iter()
                .all(|(_, symbol)| *symbol != Symbol::Data(b'A'))
        );
    }

    #[test]
    fn disabled_transmitter_sends_nothing() {
        let (mut soc, terminal) = booted("cmpc885");
        write(&mut soc, 0xA82, Width::Half, 0x4820, 0);
        put(&mut soc, b'A', 0);
        run(&mut soc, SECOND);
        assert!(!is_sent(&mut soc, SECOND));
        assert_eq!(terminal.take_output(), []);
        write(&mut soc, 0xA82, Width::Half, 0x4823, SECOND);
        run(&mut soc, 2 * SECOND);
        assert_eq!(terminal.take_text(), "A");
    }

    #[test]
    fn stopped_generator_sends_nothing() {
        for brgc in [0x0000_008E, 0x0003_008E, 0x0001_408E] {
            let (mut soc, terminal) = booted("cmpc885");
            write(&mut soc, 0x9F0, Width::Word, brgc, 0);
            put(&mut soc, b'A', 0);
            run(&mut soc, SECOND);
            assert_eq!(terminal.take_output(), [], "BRGC {brgc:#x}");
        }
    }

    #[test]
    fn clock_routing_selects_the_generator() {
        let (mut soc, terminal) = booted("cmpc885");
        // SMC1 on BRG3, which is off; then on BRG3 with the right divisor; then on a clock pin.
        write(&mut soc, 0xAE0, Width::Word, 0x2000, 0);
        put(&mut soc, b'A', 0);
        run(&mut soc, 10 * CHARACTER);
        assert_eq!(terminal.take_output(), []);
        write(&mut soc, 0x9F8, Width::Word, 0x0001_008E, 10 * CHARACTER);
        run(&mut soc, 20 * CHARACTER);
        assert_eq!(terminal.take_text(), "A");
        write(&mut soc, 0xAE0, Width::Word, 0x4000, 20 * CHARACTER);
        put(&mut soc, b'B', 20 * CHARACTER);
        run(&mut soc, SECOND);
        assert_eq!(terminal.take_output(), []);
    }

    #[test]
    fn polled_receive_returns_every_character() {
        let (mut soc, terminal) = booted("cmpc885");
        terminal.type_bytes(1000, b"go\r");
        soc.console_changed(0);
        let mut received = Vec::new();
        for step in 0..100 {
            let now = step * CHARACTER / 2;
            run(&mut soc, now);
            if read(&mut soc, RX_BD, Width::Half, now) & 0x8000 == 0 {
                assert_eq!(read(&mut soc, RX_BD + 2, Width::Half, now), 1);
                received.push(read(&mut soc, RX_BUFFER, Width::Byte, now) as u8);
                write(&mut soc, RX_BD, Width::Half, 0xA000, now);
            }
        }
        assert_eq!(received, b"go\r");
    }

    #[test]
    fn character_without_a_buffer_is_lost_and_reported() {
        let (mut soc, terminal) = booted("cmpc885");
        terminal.type_bytes(0, b"ab");
        soc.console_changed(0);
        run(&mut soc, SECOND);
        assert_eq!(read(&mut soc, RX_BUFFER, Width::Byte, SECOND), u32::from(b'a'));
        assert_eq!(read(&mut soc, 0xA86, Width::Byte, SECOND) & 0x04, 0x04, "BSY");
        write(&mut soc, 0xA86, Width::Byte, 0x04, SECOND);
        assert_eq!(read(&mut soc, 0xA86, Width::Byte, SECOND) & 0x04, 0);
        assert_eq!(terminal.pending_input(), 0);
    }

    #[test]
    fn patient_terminal_waits_for_a_buffer() {
        let (mut soc, terminal) = booted("cmpc885");
        soc.console_mut(0).waits_for_receiver = true;
        terminal.type_bytes(0, b"ab");
        soc.console_changed(0);
        run(&mut soc, SECOND);
        assert_eq!(
            (terminal.pending_input(), read(&mut soc, 0xA86, Width::Byte, SECOND) & 4),
            (1, 0)
        );
        write(&mut soc, RX_BD, Width::Half, 0xA000, SECOND);
        run(&mut soc, 2 * SECOND);
        assert_eq!(read(&mut soc, RX_BUFFER, Width::Byte, 2 * SECOND), u32::from(b'b'));
    }

    /// Two receive descriptors of eight bytes in RAM, I set, MAX_IDL as given, all events unmasked to level 2.
    fn with_receive_ring(max_idl: u32) -> (Soc, Terminal) {
        let (mut soc, terminal) = booted("cmpc885");
        write(&mut soc, 0xA82, Width::Half, 0x4820, 0);
        write(&mut soc, PAGE, Width::Half, 0x0100, 0);
        write(&mut soc, PAGE + 0x10, Width::Half, 0x0100, 0);
        write(&mut soc, PAGE + 8, Width::Word, 0, 0);
        write(&mut soc, PAGE + 6, Width::Half, 8, 0);
        write(&mut soc, PAGE + 0x28, Width::Half, max_idl, 0);
        for (index, status) in [(0, 0x9000), (1, 0xB000)] {
            write(&mut soc, 0x2100 + 8 * index, Width::Half, status, 0);
            write(
                &mut soc,
                0x2104 + 8 * index,
                Width::Word,
                0x0001_0000 + 0x100 * index,
                0,
            );
        }
        write(&mut soc, 0xA86, Width::Byte, 0xFF, 0);
        write(&mut soc, 0xA8A, Width::Byte, 0x17, 0);
        write(&mut soc, 0x940, Width::Word, 0x00E4_5F80, 0);
        write(&mut soc, 0x948, Width::Word, 0x10, 0);
        write(&mut soc, 0x014, Width::Word, 0x0400_0000, 0);
        write(&mut soc, 0xA82, Width::Half, 0x4823, 0);
        (soc, terminal)
    }

    #[test]
    fn idle_line_closes_a_partly_filled_buffer() {
        let (mut soc, terminal) = with_receive_ring(4);
        terminal.type_bytes(0, b"abc");
        soc.console_changed(0);
        run(&mut soc, 3 * CHARACTER + 3 * CHARACTER);
        assert!(!soc.lines().external, "three idle characters are not enough");
        run(&mut soc, 8 * CHARACTER);
        assert!(soc.lines().external);
        assert_eq!(
            read(&mut soc, 0x2100, Width::Half, 8 * CHARACTER),
            0x1100,
            "E clear, ID set"
        );
        assert_eq!(read(&mut soc, 0x2102, Width::Half, 8 * CHARACTER), 3);
        assert_eq!(soc.read(0x0001_0000, Width::Word, 0).unwrap() >> 8, 0x0061_6263);
        assert_eq!(read(&mut soc, PAGE + 0x10, Width::Half, 8 * CHARACTER), 0x0108, "RBPTR");
    }

    #[test]
    fn max_idl_zero_never_closes() {
        let (mut soc, terminal) = with_receive_ring(0);
        terminal.type_bytes(0, b"abc");
        soc.console_changed(0);
        run(&mut soc, SECOND);
        assert_eq!(read(&mut soc, 0x2100, Width::Half, SECOND), 0x9000);
    }

    #[test]
    fn full_buffers_wrap_and_interrupt_through_both_controllers() {
        let (mut soc, terminal) = with_receive_ring(1);
        terminal.type_bytes(0, b"12345678abcdefgh");
        soc.console_changed(0);
        let full = 9 * CHARACTER;
        run(&mut soc, full);
        assert!(soc.lines().external);
        assert_eq!(read(&mut soc, 0x01C, Width::Word, full), 0x1400_0000, "level 2");
        assert_eq!(read(&mut soc, 0x944, Width::Word, full), 0x10);
        write(&mut soc, 0x930, Width::Half, 1, full);
        assert_eq!(read(&mut soc, 0x930, Width::Half, full), 4 << 11);
        assert!(!soc.lines().external, "in service");
        write(&mut soc, 0xA86, Width::Byte, 0x01, full);
        write(&mut soc, 0x94C, Width::Word, 0x10, full);
        assert!(!soc.lines().external);
        run(&mut soc, 18 * CHARACTER);
        assert!(soc.lines().external);
        assert_eq!(
            read(&mut soc, PAGE + 0x10, Width::Half, 18 * CHARACTER),
            0x0100,
            "wrapped"
        );
        assert_eq!(soc.read(0x0001_0104, Width::Word, 0), Ok(0x6566_6768));
    }

    #[test]
    fn clearing_rstate_and_the_pointer_restarts_the_receiver() {
        let (mut soc, terminal) = with_receive_ring(0);
        terminal.type_bytes(0, b"abc");
        soc.console_changed(0);
        run(&mut soc, 10 * CHARACTER);
        write(&mut soc, PAGE + 8, Width::Word, 0, 10 * CHARACTER);
        write(&mut soc, PAGE + 0x10, Width::Half, 0x0108, 10 * CHARACTER);
        terminal.type_bytes(10 * CHARACTER, b"z");
        soc.console_changed(10 * CHARACTER);
        run(&mut soc, 12 * CHARACTER);
        assert_eq!(soc.read(0x0001_0100, Width::Byte, 0), Ok(u32::from(b'z')));
    }

    #[test]
    fn framing_error_and_break_close_the_buffer_with_their_bits() {
        let (mut soc, terminal) = with_receive_ring(0);
        terminal.type_bytes(0, b"a");
        terminal.type_symbol(0, Symbol::FramingError(b'b'));
        soc.console_changed(0);
        run(&mut soc, 5 * CHARACTER);
        assert_eq!(read(&mut soc, 0x2100, Width::Half, 5 * CHARACTER), 0x1010);
        assert_eq!(read(&mut soc, 0x2102, Width::Half, 5 * CHARACTER), 2);
        terminal.type_bytes(0, b"c");
        terminal.type_symbol(0, Symbol::Break);
        soc.console_changed(5 * CHARACTER);
        run(&mut soc, 10 * CHARACTER);
        assert_eq!(read(&mut soc, 0x2108, Width::Half, 10 * CHARACTER), 0x3020);
        assert_eq!(
            read(&mut soc, 0xA86, Width::Byte, 10 * CHARACTER) & 0x50,
            0x50,
            "BRK and BRKE"
        );
        assert_eq!(read(&mut soc, PAGE + 0x2E, Width::Half, 10 * CHARACTER), 1, "BRKEC");
    }

    #[test]
    fn continuous_mode_keeps_the_buffer_empty() {
        let (mut soc, terminal) = with_receive_ring(1);
        write(&mut soc, 0x2100, Width::Half, 0x9200, 0);
        terminal.type_bytes(0, b"x");
        soc.console_changed(0);
        run(&mut soc, 5 * CHARACTER);
        assert_eq!(read(&mut soc, 0x2100, Width::Half, 5 * CHARACTER), 0x9300);
        assert_eq!(read(&mut soc, 0x2102, Width::Half, 5 * CHARACTER), 1);
    }

    #[test]
    fn transmit_ring_interrupts_where_asked() {
        let (mut soc, terminal) = with_receive_ring(0);
        write(&mut soc, PAGE + 2, Width::Half, 0x0200, 0);
        write(&mut soc, PAGE + 0x20, Width::Half, 0x0200, 0);
        write(&mut soc, PAGE + 0x18, Width::Word, 0, 0);
        soc.write(0x2_0000, Width::Word, u32::from_be_bytes(*b"tick"), 0)
            .unwrap();
        for (index, status) in [(0, 0x8000), (1, 0xB000)] {
            write(&mut soc, 0x2202 + 8 * index, Width::Half, 2, 0);
            write(&mut soc, 0x2204 + 8 * index, Width::Word, 0x2_0000 + 2 * index, 0);
            write(&mut soc, 0x2200 + 8 * index, Width::Half, status, 0);
        }
        run(&mut soc, 3 * CHARACTER);
        assert!(!soc.lines().external);
        run(&mut soc, 4 * CHARACTER);
        assert_eq!(terminal.take_text(), "tick");
        assert_eq!(read(&mut soc, 0xA86, Width::Byte, 4 * CHARACTER), 0x02);
        assert!(soc.lines().external);
        assert_eq!(
            read(&mut soc, PAGE + 0x20, Width::Half, 4 * CHARACTER),
            0x0200,
            "TBPTR has wrapped"
        );
    }

    #[test]
    fn stop_transmit_sends_the_breaks_asked_for_and_restart_goes_on() {
        let (mut soc, terminal) = booted("cmpc885");
        write(&mut soc, PAGE + 0x30, Width::Half, 2, 0);
        write(&mut soc, 0x9C0, Width::Half, 0x0491, 0);
        put(&mut soc, b'A', 0);
        run(&mut soc, SECOND);
        let symbols = |terminal: &Terminal| terminal.take_output().into_iter().map(|(_, s)| s).collect::<Vec<_>>();
        assert_eq!(symbols(&terminal), [Symbol::Break, Symbol::Break]);
        write(&mut soc, 0x9C0, Width::Half, 0x0691, SECOND);
        run(&mut soc, 2 * SECOND);
        assert_eq!(symbols(&terminal), [Symbol::Data(b'A')]);
    }

    #[test]
    fn relocated_parameter_page_is_honoured() {
        let (mut soc, terminal) = booted("cmpc885");
        for offset in 0..0x3A {
            let byte = read(&mut soc, PAGE + offset, Width::Byte, 0);
            write(&mut soc, 0x2000 + 0x0400 + offset, Width::Byte, byte, 0);
            write(&mut soc, PAGE + offset, Width::Byte, 0, 0);
        }
        write(&mut soc, PAGE + 0x3A, Width::Half, 0x0400, 0);
        put(&mut soc, b'R', 0);
        run(&mut soc, SECOND);
        assert_eq!(terminal.take_text(), "R");
    }

    #[test]
    fn buffer_out_of_reach_is_an_sdma_error() {
        let (mut soc, terminal) = booted("cmpc885");
        write(&mut soc, 0x908, Width::Byte, 0x80, 0);
        write(&mut soc, TX_BD + 4, Width::Word, 0x5000_0000, 0);
        put(&mut soc, b'A', 0);
        run(&mut soc, SECOND);
        assert_eq!(terminal.take_output(), []);
        assert_eq!(read(&mut soc, 0x908, Width::Byte, SECOND) & 0x80, 0x80);
    }

    #[test]
    fn loopback_returns_what_is_sent_and_keeps_it_inside() {
        let (mut soc, terminal) = booted("cmpc885");
        write(&mut soc, 0xA82, Width::Half, 0x4827, 0);
        put(&mut soc, b'L', 0);
        run(&mut soc, SECOND);
        assert_eq!(terminal.take_output(), []);
        assert_eq!(read(&mut soc, RX_BUFFER, Width::Byte, SECOND), u32::from(b'L'));
    }
}

mod blocks {
    use super::*;

    #[test]
    fn ethernet_presence_test_depends_on_the_part() {
        let (mut soc, _) = booted("cmpc885");
        for block in [0xE00, 0x1E00] {
            write(&mut soc, block, Width::Word, 0x1234_5678, 0);
            assert_eq!(read(&mut soc, block, Width::Word, 0), 0x1234_5678);
        }
        let (mut soc, _) = booted("mcr3000");
        write(&mut soc, 0x1E00, Width::Word, 0x1234_5678, 0);
        assert_eq!(read(&mut soc, 0x1E00, Width::Word, 0), 0, "an 866 has one controller");
    }

    #[test]
    fn management_interface_finds_no_phy() {
        let (mut soc, _) = booted("cmpc885");
        write(&mut soc, 0xE80, Width::Word, 0x6002_0000, 0);
        assert_eq!(read(&mut soc, 0xE44, Width::Word, 0), 0x0080_0000);
        assert_eq!(read(&mut soc, 0xE80, Width::Word, 0) & 0xFFFF, 0xFFFF);
        write(&mut soc, 0xE44, Width::Word, 0x0080_0000, 0);
        assert_eq!(read(&mut soc, 0xE44, Width::Word, 0), 0);
    }

    #[test]
    fn port_inputs_come_from_the_board_and_outputs_from_the_latch() {
        let (mut soc, _) = booted("mcr3000");
        assert_eq!(
            read(&mut soc, 0x966, Width::Half, 0) & 4,
            4,
            "a button that is not pressed"
        );
        soc.drive_port(PortName::C, !4);
        assert_eq!(read(&mut soc, 0x966, Width::Half, 0) & 4, 0);
        write(&mut soc, 0xAB8, Width::Word, 0x0002_0000, 0);
        write(&mut soc, 0xAC4, Width::Word, 0x0002_0000, 0);
        assert_eq!(soc.ports.outputs(PortName::B), (0x0002_0000, 0x0002_0000));
        assert_eq!(read(&mut soc, 0xAC4, Width::Word, 0) & 0x0002_0000, 0x0002_0000);
    }

    #[test]
    fn command_register_is_never_seen_busy() {
        let (mut soc, _) = booted("mcr3000");
        write(&mut soc, 0x9C0, Width::Half, 0x8001, 0);
        assert_eq!(read(&mut soc, 0x9C0, Width::Half, 0), 0);
    }

    #[test]
    fn microcode_revision_is_the_part_s() {
        let (mut soc, _) = booted("mcr3000");
        assert_eq!(read(&mut soc, 0x3CB0, Width::Half, 0), 4);
        let (mut soc, _) = booted("cmpc885");
        assert_eq!(read(&mut soc, 0x3CB0, Width::Half, 0), 0);
    }
}

mod faults {
    use super::*;

    #[test]
    fn bus_error_on_a_range_takes_its_page_out_of_direct_memory() {
        let (mut soc, _) = booted("cmpc885");
        let generation = soc.map_generation();
        let fault = Fault::BusError {
            range: 0x2010..=0x2013,
            direction: Direction::Read,
            nth: None,
        };
        soc.inject(fault, 0);
        assert_ne!(soc.map_generation(), generation);
        assert!(soc.direct(0x2000).is_none() && soc.direct(0x3000).is_some());
        assert!(soc.read(0x2010, Width::Word, 0).is_err());
        assert!(soc.read(0x2014, Width::Word, 0).is_ok());
        assert!(soc.write(0x2010, Width::Word, 1, 0).is_ok());
        assert_eq!(
            read(&mut soc, 0x020, Width::Word, 0),
            0x20,
            "TESR: data cycle, external TEA"
        );
    }

    #[test]
    fn nth_access_fails_once() {
        let (mut soc, _) = booted("cmpc885");
        let fault = Fault::BusError {
            range: 0x2000..=0x2FFF,
            direction: Direction::Either,
            nth: Some(3),
        };
        soc.inject(fault, 0);
        let results: Vec<bool> = (0..5).map(|_| soc.read(0x2000, Width::Word, 0).is_ok()).collect();
        assert_eq!(results, [true, true, false, true, true]);
    }

    #[test]
    fn poisoned_page_fails_in_both_directions() {
        let (mut soc, _) = booted("cmpc885");
        soc.inject(Fault::Poison { address: 0x5123 }, 0);
        assert!(soc.direct(0x5000).is_none());
        assert!(soc.read(0x5FFC, Width::Word, 0).is_err() && soc.write(0x5000, Width::Byte, 0, 0).is_err());
        assert!(soc.read(0x6000, Width::Word, 0).is_ok());
    }

    #[test]
    fn bit_flips_at_its_time() {
        let (mut soc, _) = booted("cmpc885");
        soc.spr_write(BusSpr::Dec, 0x7FFF_FFFF, 0);
        soc.inject(
            Fault::BitFlip {
                address: 0x1001,
                bit: 0,
                at: 5000,
            },
            0,
        );
        assert_eq!(soc.next_event(), 5000);
        run(&mut soc, 4999);
        assert_eq!(soc.read(0x1000, Width::Word, 4999), Ok(0));
        run(&mut soc, 5000);
        assert_eq!(soc.read(0x1000, Width::Word, 5000), Ok(0x0080_0000));
    }
}

mod flash_commands {
    use super::*;

    const FLASH: u32 = 0x4000_0000;

    #[test]
    fn query_answers_through_the_bus() {
        let (mut soc, _) = booted("cmpc885");
        assert!(soc.direct(FLASH).is_some());
        soc.write(FLASH + 0xAA, Width::Half, 0x98, 0).unwrap();
        assert!(soc.direct(FLASH).is_none());
        let answer: Vec<u32> = (0x10..0x13)
            .map(|word| soc.read(FLASH + 2 * word, Width::Half, 0).unwrap())
            .collect();
        assert_eq!(answer, [0x51, 0x52, 0x59]);
    }
}
