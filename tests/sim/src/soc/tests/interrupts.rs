//! The interrupt controller of the SIU.

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
    soc.inject(
        Fault::LostInterrupt {
            source: Some(6),
            nth: 2,
        },
        0,
    );
    for (activation, seen) in [(1, true), (2, false), (3, true)] {
        soc.drive_irq(3, true, 0);
        assert_eq!(soc.lines().external, seen, "activation {activation}");
        soc.drive_irq(3, false, 0);
    }
}
