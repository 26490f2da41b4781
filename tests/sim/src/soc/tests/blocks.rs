//! What registers without traffic read back.

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
