//! Images with a stack protector: a smashed stack ends the firmware, and the canary is worth comparing with.

mod common;

use std::time::Duration;

use zeronull_image::board::Board;
use zeronull_image::image::{self, Image, ImageOptions, StackProtector};
use zeronull_image::machine::{Machine, Simulator};
use zeronull_image::session::Transcript;
use zeronull_image::start::Start;
use zeronull_image::testing::machines;

const LIMIT: Duration = Duration::from_secs(60);

fn build(board: Board, stack_protector: StackProtector) -> Image {
    let options = ImageOptions {
        stack_protector,
        ..ImageOptions::new(board)
    };
    image::build(&options).unwrap_or_else(|error| panic!("{error}"))
}

fn run(machine: &dyn Machine, image: &Image, command: &str) -> Transcript {
    let session = machine.start(image, &Start::commands(&[command]));
    let transcript = session.and_then(|session| session.finish(LIMIT));
    transcript.unwrap_or_else(|error| panic!("{}: {error}", machine.name()))
}

// U-219
#[test]
fn smashed_stack_is_caught_and_reported_whatever_it_is_filled_with() {
    for machine in machines() {
        for variant in [StackProtector::Strong, StackProtector::All] {
            let image = build(machine.board(), variant);
            for command in ["lkdtm CORRUPT_STACK", "lkdtm CORRUPT_STACK_ZEROS"] {
                let transcript = run(machine.as_ref(), &image, command);
                let console = &transcript.console;
                assert_eq!(transcript.status, 101, "{console}");
                let expected =
                    "\nzeronull: panic: stack smashing detected: a canary on the kernel stack was overwritten\n";
                assert!(console.contains(expected), "{console}");
                assert!(console.contains(" __stack_chk_fail+0x"), "{console}");
                assert!(
                    console.contains(" zeronull::arch::ppc::provoke::corrupt_stack+0x"),
                    "{console}"
                );
            }
        }
    }
}

#[test]
fn image_without_stack_protector_says_so_and_does_no_harm() {
    for machine in machines() {
        let image = build(machine.board(), StackProtector::None);
        for name in ["CORRUPT_STACK", "CORRUPT_STACK_ZEROS", "REPORT_STACK_CANARY"] {
            let transcript = run(machine.as_ref(), &image, &format!("lkdtm {name}"));
            let expected = format!("\nlkdtm: {name}: XFAIL: the image is built without stack protector\n");
            assert!(transcript.console.contains(&expected), "{}", transcript.console);
            assert_eq!(transcript.status, 0);
        }
    }
}

/// The canary of one start.
fn canary(machine: &dyn Machine, image: &Image) -> u32 {
    let console = run(machine, image, "lkdtm REPORT_STACK_CANARY").console;
    let value = console
        .lines()
        .find_map(|line| line.strip_prefix("lkdtm: REPORT_STACK_CANARY: 0x"));
    let value = value.and_then(|value| u32::from_str_radix(value, 16).ok());
    value.unwrap_or_else(|| panic!("{console}"))
}

// U-219: the time base is the seed.
#[test]
fn canary_follows_the_time_base_and_never_starts_with_a_zero_byte() {
    let image = build(Board::Mcr3000, StackProtector::Strong);
    let started_at = |time_base: u64| Simulator {
        options: vec![format!("--tb={time_base}")],
        ..Simulator::default()
    };
    let canaries: Vec<u32> = (0..8)
        .map(|start| canary(&started_at(1_000_003 * start), &image))
        .collect();
    for (index, value) in canaries.iter().enumerate() {
        assert_ne!(value >> 24, 0, "{canaries:x?}");
        assert!(!canaries[..index].contains(value), "{canaries:x?}");
    }
    // Nothing but the seed goes in.
    assert_eq!(canary(&started_at(0), &image), canaries[0]);
}

// U-219: QEMU's time base follows the host's clock.
#[test]
fn canary_differs_between_starts_where_the_clock_does() {
    let machines = machines();
    let machine = machines
        .iter()
        .find(|machine| machine.board() == Board::G3beige)
        .expect("QEMU is a machine");
    let image = build(Board::G3beige, StackProtector::Strong);
    let canaries: Vec<u32> = (0..4).map(|_| canary(machine.as_ref(), &image)).collect();
    assert!(canaries.iter().any(|value| *value != canaries[0]), "{canaries:x?}");
    assert!(canaries.iter().all(|value| value >> 24 != 0), "{canaries:x?}");
}
