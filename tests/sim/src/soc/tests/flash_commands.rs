//! The command set of the flash, through the bus.

use super::*;

const FLASH: u32 = 0x4000_0000;
const MICROSECOND: u64 = 132;

fn command(soc: &mut Soc, word: u32, value: u32, now: u64) {
    soc.write(FLASH + 2 * word, Width::Half, value, now).unwrap();
}

fn unlocked(soc: &mut Soc, value: u32, now: u64) {
    command(soc, 0x555, 0xAA, now);
    command(soc, 0x2AA, 0x55, now);
    command(soc, 0x555, value, now);
}

fn half(soc: &mut Soc, word: u32, now: u64) -> u32 {
    soc.read(FLASH + 2 * word, Width::Half, now).unwrap()
}

#[test]
fn query_answers_until_reset() {
    let (mut soc, _) = booted("cmpc885");
    assert!(soc.direct(FLASH).is_some_and(|page| !page.writable));
    let generation = soc.map_generation();
    command(&mut soc, 0x55, 0x98, 0);
    assert!(soc.direct(FLASH).is_none() && soc.map_generation() != generation);
    let answer: Vec<u32> = (0x10..0x14).map(|word| half(&mut soc, word, 0)).collect();
    assert_eq!(answer, [0x51, 0x52, 0x59, 0x02]);
    assert_eq!(half(&mut soc, 0x27, 0), 22, "2^22 bytes");
    let regions: Vec<u32> = (0x2C..0x35).map(|word| half(&mut soc, word, 0)).collect();
    assert_eq!(
        regions,
        [2, 7, 0, 0x20, 0, 62, 0, 0, 1],
        "8 of 0x20 * 256 bytes, 63 of 0x100 * 256"
    );
    command(&mut soc, 0, 0xF0, 0);
    assert_eq!(half(&mut soc, 0x10, 0), 0xFFFF);
    assert!(soc.direct(FLASH).is_some());
}

#[test]
fn autoselect_names_the_chip() {
    let (mut soc, _) = booted("cmpc885");
    unlocked(&mut soc, 0x90, 0);
    assert_eq!(
        [half(&mut soc, 0, 0), half(&mut soc, 1, 0), half(&mut soc, 2, 0)],
        [0x0001, 0x22F9, 0]
    );
    command(&mut soc, 0, 0xF0, 0);
    assert_eq!(half(&mut soc, 0, 0), 0xFFFF);
}

#[test]
fn program_clears_bits_and_toggles_until_done() {
    let (mut soc, _) = booted("cmpc885");
    unlocked(&mut soc, 0xA0, 0);
    command(&mut soc, 0x1000, 0x1234, 0);
    let (first, second) = (half(&mut soc, 0x1000, 100), half(&mut soc, 0x1000, 100));
    assert_eq!(first & 0x80, 0x80, "DQ7 is the complement of the datum's");
    assert_eq!((first ^ second) & 0x40, 0x40, "DQ6 toggles");
    assert!(soc.direct(FLASH).is_none());
    let done = 16 * MICROSECOND;
    assert_eq!(
        [half(&mut soc, 0x1000, done), half(&mut soc, 0x1000, done)],
        [0x1234; 2]
    );
    assert!(soc.direct(FLASH).is_some());
    assert!(soc.external().flash_content().unwrap().1, "dirty");
    unlocked(&mut soc, 0xA0, done);
    command(&mut soc, 0x1000, 0xF0F0, done);
    assert_eq!(half(&mut soc, 0x1000, 2 * done), 0x1030);
}

#[test]
fn word_store_on_a_16_bit_port_is_two_commands() {
    let (mut soc, _) = booted("cmpc885");
    soc.write(FLASH + 0xAA8, Width::Word, 0x0000_00AA, 0).unwrap();
    command(&mut soc, 0x2AA, 0x55, 0);
    command(&mut soc, 0x555, 0x90, 0);
    assert_eq!(half(&mut soc, 1, 0), 0x22F9);
}

#[test]
fn erase_takes_one_sector_and_its_time() {
    let (mut soc, _) = booted("cmpc885");
    for word in [0, 0x1000, 0x1FFF, 0x8000] {
        soc.memory_mut()[(64 << 20) + 2 * word] = 0;
    }
    unlocked(&mut soc, 0x80, 0);
    command(&mut soc, 0x555, 0xAA, 0);
    command(&mut soc, 0x2AA, 0x55, 0);
    command(&mut soc, 0x1000, 0x30, 0);
    assert_eq!(
        half(&mut soc, 0x1000, 0) & 0x88,
        0,
        "DQ7 0, the window for more sectors is open"
    );
    assert_eq!(
        half(&mut soc, 0x1000, 60 * MICROSECOND) & 0x08,
        0x08,
        "DQ3: the window is closed"
    );
    let done = 512_050 * MICROSECOND;
    assert_ne!(half(&mut soc, 0x1000, done - 1), 0xFFFF);
    assert_eq!(half(&mut soc, 0x1000, done), 0xFFFF);
    assert_eq!(half(&mut soc, 0x1FFF, done), 0xFFFF);
    assert_eq!(
        [half(&mut soc, 0, done), half(&mut soc, 0x8000, done)],
        [0x00FF; 2],
        "the neighbours are kept"
    );
}

#[test]
fn broken_sequences_do_nothing() {
    let (mut soc, _) = booted("cmpc885");
    for sequence in [
        &[(0x555, 0xAA), (0x2AA, 0x54), (0x555, 0xA0), (0x1000, 0)][..],
        &[(0x555, 0xAA), (0x2AB, 0x55), (0x555, 0xA0), (0x1000, 0)],
        &[(0x555, 0xA0), (0x1000, 0)],
        &[
            (0x555, 0xAA),
            (0x2AA, 0x55),
            (0x556, 0x80),
            (0x555, 0xAA),
            (0x2AA, 0x55),
            (0x1000, 0x30),
        ],
    ] {
        for (word, value) in sequence {
            command(&mut soc, *word, *value, 0);
        }
        command(&mut soc, 0, 0xF0, 0);
        assert_eq!(half(&mut soc, 0x1000, 0), 0xFFFF, "{sequence:x?}");
    }
    assert!(!soc.external().flash_content().unwrap().1);
}

#[test]
fn two_chips_side_by_side_answer_on_both_lanes() {
    let (mut soc, _) = booted("mpc885ads");
    let base = 0xFE00_0000;
    soc.write(base + 4 * 0x55, Width::Word, 0x0098_0098, 0).unwrap();
    assert_eq!(soc.read(base + 4 * 0x10, Width::Word, 0), Ok(0x0051_0051));
    soc.write(base, Width::Word, 0x00F0_00F0, 0).unwrap();
    for (word, value) in [
        (0x555, 0x00AA_00AA),
        (0x2AA, 0x0055_0055),
        (0x555, 0x00A0_00A0),
        (0, 0x1234_5678),
    ] {
        soc.write(base + 4 * word, Width::Word, value, 0).unwrap();
    }
    assert_eq!(soc.read(base, Width::Word, 16 * MICROSECOND), Ok(0x1234_5678));
}

#[test]
fn buffer_program_writes_a_page_where_the_chip_has_one() {
    let mut store = vec![0xFF; 4 << 20];
    let mut flash = flash::Flash::new(flash::S29GL032N, 1, 0);
    flash.set_clock(132_000_000);
    let mut put = |flash: &mut flash::Flash, word: u32, value| flash.write(&mut store, 2 * word, 2, value, 0);
    for (word, value) in [(0x555, 0xAA), (0x2AA, 0x55), (0x100, 0x25), (0x100, 3)] {
        put(&mut flash, word, value);
    }
    for word in 0..4 {
        put(&mut flash, 0x100 + word, 0xA000 + word);
    }
    put(&mut flash, 0x100, 0x29);
    assert_eq!(flash.read(&store, 0x200, 4, SECOND), 0xA000_A001);
    assert_eq!(flash.read(&store, 0x204, 4, SECOND), 0xA002_A003);
    assert_eq!(flash.read(&store, 0x208, 4, SECOND), 0xFFFF_FFFF);
}
