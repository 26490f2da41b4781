use super::*;
use crate::user::fake::{Fake, File, run};
use std::string::String;
use std::vec::Vec;

fn moves(operands: &[&str], sys: &mut Fake) -> u8 {
    run(main, &[&["moves"], operands].concat(), sys)
}

#[test]
fn every_way_moves_the_same_bytes_and_says_so() {
    for by in ["read", "readv", "sendfile", "splice"] {
        let mut sys = Fake::default();
        let content: Vec<u8> = (0..1000u32).map(|index| index as u8).collect();
        sys.add_regular("in", &content);
        let operands = [&*std::format!("by={by}"), "if=in", "of=out", "bs=300", "count=9"];
        assert_eq!(moves(&operands, &mut sys), 0, "{by}: {}", sys.stderr());
        assert_eq!(sys.content("out"), content, "{by}");
        let expected = "3+1 records in\n3+1 records out\n1000 bytes (1000B) copied, 0.001000 seconds, 976.6KB/s\n";
        assert_eq!(sys.stdout(), expected, "{by}");
    }
}

#[test]
fn count_ends_a_run_and_json_is_one_object() {
    let mut sys = Fake::default();
    assert_eq!(
        moves(&["by=readv", "segments=7", "bs=1k", "count=5", "--json"], &mut sys),
        0
    );
    let expected = "{\"program\":\"moves\",\"by\":\"readv\",\"bs\":1024,\"segments\":7,\"blocks\":5,\"bytes\":5120,\
                    \"elapsed_ns\":1000000}\n";
    assert_eq!(sys.stdout(), expected);
}

#[test]
fn segments_cover_the_block_without_gaps() {
    for (block, segments) in [(1, 1), (1024, 1), (1000, 7), (1024, 1024)] {
        let vector = IoVector::new(block, segments);
        assert_eq!(vector.segments().count(), segments);
        assert_eq!(vector.segments().sum::<usize>(), block, "{block} in {segments}");
        assert!(vector.segments().all(|length| length > 0));
    }
}

#[test]
fn failed_moves_are_named_and_what_went_before_is_reported() {
    let mut sys = Fake::default();
    sys.add(
        "small",
        File::Limited {
            room: 1000,
            content: Vec::new(),
        },
    );
    assert_eq!(moves(&["of=small", "bs=400", "count=9"], &mut sys), 1);
    assert_eq!(
        sys.stderr(),
        "moves: error moving '/dev/zero': No space left on device\n"
    );
    assert_eq!(
        sys.stdout(),
        "2+0 records in\n2+0 records out\n800 bytes (800B) copied\n"
    );
}

#[test]
fn bad_operands_are_named_and_refused() {
    let table = [
        ("by=dma", "moves: by=dma: accepted are read, readv, sendfile, splice\n"),
        ("bs=0", "moves: bs=0: accepted are 1 to 67108864\n"),
        ("count=x", "moves: count: invalid number 'x'"),
        ("segments=1025", "moves: segments=1025: accepted are 1 to 1024\n"),
        ("segments=2", "moves: segments=2 needs by=readv\n"),
        ("of=", "moves: of names no file\n"),
        ("ibs=5", "moves: unknown operand 'ibs'"),
        ("fast", "moves: unexpected operand 'fast'"),
        (
            "if=missing",
            "moves: cannot open 'missing': No such file or directory\n",
        ),
    ];
    for (operand, message) in table {
        let mut sys = Fake::default();
        assert_eq!(moves(&[operand], &mut sys), 1, "{operand}");
        assert!(sys.stderr().starts_with(message), "{operand}: {}", sys.stderr());
        assert!(sys.stdout().is_empty() || operand.starts_with("if"), "{operand}");
    }
    let mut sys = Fake::default();
    assert_eq!(moves(&["--help"], &mut sys), 0);
    assert!(sys.stdout().starts_with("usage: moves") && sys.stderr() == String::new());
}
