//! Who answers where.

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
