//! Injected faults.

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
fn noise_comes_in_before_what_is_typed() {
    let (mut soc, terminal) = booted("cmpc885");
    soc.inject(
        Fault::ConsoleGarbage {
            port: 0,
            at: 0,
            symbols: vec![Symbol::Data(0xE7)],
        },
        0,
    );
    terminal.type_bytes(0, b"a");
    soc.console_changed(0);
    run(&mut soc, SECOND);
    assert_eq!(read(&mut soc, 0x2000 + 0x1814, Width::Byte, SECOND), 0xE7);
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
