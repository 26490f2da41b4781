//! SYPCR, watchdog, checkstop, reset.

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
