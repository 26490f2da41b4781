//! SMC1 as a UART.

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
