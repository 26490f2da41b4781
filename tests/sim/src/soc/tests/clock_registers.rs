//! Clock registers, keys, time base, decrementer, RTC and PIT.

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
