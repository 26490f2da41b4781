//! `dd` as a whole over a scripted system.

use super::main;
use crate::user::errno::Errno;
use crate::user::fake::{Fake, File, run};
use crate::user::sys::open_flags;
use std::vec;
use std::vec::Vec;

fn dd(line: &str, sys: &mut Fake) -> u8 {
    let arguments: Vec<&str> = ["dd"].into_iter().chain(line.split_whitespace()).collect();
    run(main, &arguments, sys)
}

/// A system whose standard input is a pipe that gives these items, one per read.
fn piped(items: &[&[u8]]) -> Fake {
    let mut sys = Fake::default();
    sys.set_stdin(File::Pipe(items.iter().map(|item| Ok(item.to_vec())).collect()));
    sys
}

/// Checks status, standard output and the report's two lines of records.
#[track_caller]
fn assert_copies(mut sys: Fake, line: &str, output: &[u8], records_in: &str, records_out: &str) {
    assert_eq!(
        dd(&std::format!("{line} status=noxfer"), &mut sys),
        0,
        "{}",
        sys.stderr()
    );
    assert_eq!(sys.content("<stdout>"), output);
    assert_eq!(
        sys.stderr(),
        std::format!("{records_in} records in\n{records_out} records out\n")
    );
}

/// A file of `len` bytes in which no two neighbours and no two blocks are equal.
fn pattern(len: usize) -> Vec<u8> {
    (0..len)
        .map(|index| (index % 251) as u8 ^ (index / 512) as u8)
        .collect()
}

// U-166
#[test]
fn each_block_costs_one_read_and_one_write_and_the_clock_is_read_twice() {
    let mut sys = Fake {
        clock_step_ns: 1_580_880_000,
        ..Fake::default()
    };
    assert_eq!(dd("if=/dev/zero of=/dev/null count=1k", &mut sys), 0);
    assert_eq!(
        sys.stderr(),
        "1024+0 records in\n1024+0 records out\n524288 bytes (512.0KB) copied, 1.580880 seconds, 323.9KB/s\n"
    );
    assert_eq!((sys.calls["read"], sys.calls["clock"]), (1024, 2));
    // One more write brings the report.
    assert_eq!(sys.calls["write"], 1025);
    assert_eq!(sys.stdout(), "");
}

// U-167
#[test]
fn bad_operand_copies_nothing() {
    for line in [
        "count=B",
        "count=1.5",
        "count=",
        "bs=0",
        "nothing",
        "status=bogus",
        "conv=bogus",
        "count=0x10",
    ] {
        let mut sys = Fake::default();
        assert_eq!(dd(&std::format!("if=/dev/zero of=out {line}"), &mut sys), 1, "{line}");
        assert!(
            sys.stderr().starts_with("dd: ") && sys.stderr().ends_with(")\n") || line == "bs=0",
            "{}",
            sys.stderr()
        );
        assert!(sys.opened_flags.is_empty(), "{line}");
    }
}

// U-169
#[test]
fn skip_past_the_end_says_so_and_succeeds() {
    let mut sys = Fake::default();
    sys.add_regular("four", b"abcd");
    assert_eq!(dd("if=four bs=1 skip=5 count=0 status=noxfer", &mut sys), 0);
    assert_eq!(
        sys.stderr(),
        "dd: 'four': cannot skip to specified offset\n0+0 records in\n0+0 records out\n"
    );

    let mut sys = Fake::default();
    sys.add_regular("four", b"abcd");
    assert_copies(sys, "if=four bs=1 skip=4", b"", "0+0", "0+0");
}

// U-169
#[test]
fn seek_past_the_end_extends_the_file() {
    let mut sys = Fake::default();
    sys.add_regular("four", b"abcd");
    assert_eq!(dd("of=four bs=1 seek=5 count=0 status=noxfer", &mut sys), 0);
    assert_eq!(sys.content("four"), b"abcd\0");
    assert_eq!(sys.stderr(), "0+0 records in\n0+0 records out\n");
}

#[test]
fn skip_on_a_pipe_reads_and_on_dev_zero_seeks() {
    assert_copies(
        piped(&[b"aa", b"b", b"cc", b"dd"]),
        "bs=2 skip=2",
        b"ccdd",
        "2+0",
        "2+0",
    );
    assert_copies(
        piped(&[b"aa", b"b", b"cc", b"dd"]),
        "bs=2 skip=2 iflag=fullblock",
        b"cdd",
        "1+1",
        "1+1",
    );
    assert_copies(
        piped(&[b"aa", b"b", b"cc", b"dd"]),
        "bs=2 skip=4 iflag=skip_bytes",
        b"cdd",
        "1+1",
        "1+1",
    );
    assert_copies(
        Fake::default(),
        "if=/dev/zero bs=2 skip=1G count=1",
        b"\0\0",
        "1+0",
        "1+0",
    );

    let mut sys = piped(&[b"ab"]);
    assert_eq!(dd("bs=1 skip=5", &mut sys), 0);
    assert!(
        sys.stderr()
            .starts_with("dd: 'standard input': cannot skip to specified offset\n0+0 records in\n"),
        "{}",
        sys.stderr()
    );
}

#[test]
fn skip_and_seek_move_by_blocks_or_bytes() {
    let mut sys = Fake::default();
    sys.add_regular("in", b"0123456789");
    sys.add_regular("out", b"abcdefghij");
    assert_eq!(dd("if=in of=out bs=2 skip=2 seek=1 count=1 conv=notrunc", &mut sys), 0);
    assert_eq!(sys.content("out"), b"ab45efghij");
    assert_eq!(
        dd(
            "if=in of=out bs=2 skip=1 seek=1 iflag=skip_bytes,count_bytes oflag=seek_bytes count=3",
            &mut sys
        ),
        0
    );
    assert_eq!(sys.content("out"), b"a123");
    // Without seek and notrunc the output is cut at the opening.
    assert_eq!(dd("if=in of=out bs=1 count=1", &mut sys), 0);
    assert_eq!(sys.content("out"), b"0");
}

// U-171
#[test]
fn status_none_silences_the_report_but_not_errors() {
    let mut sys = Fake::default();
    assert_eq!(dd("if=/dev/zero of=/dev/null count=3 status=none", &mut sys), 0);
    assert_eq!(sys.stderr(), "");
    assert_eq!(dd("if=/dev/zero of=/dev/full status=none", &mut sys), 1);
    assert_eq!(sys.stderr(), "dd: error writing '/dev/full': No space left on device\n");
}

// U-173
#[test]
fn frozen_or_missing_clock_gives_finite_figures() {
    for line in ["count=0", "count=1", "bs=1 count=1"] {
        let mut sys = Fake {
            clock_step_ns: 0,
            ..Fake::default()
        };
        assert_eq!(dd(&std::format!("if=/dev/zero of=/dev/null {line}"), &mut sys), 0);
        assert!(
            sys.stderr().ends_with("B) copied, 0.000000 seconds, 0B/s\n"),
            "{}",
            sys.stderr()
        );

        let mut sys = Fake {
            has_clock: false,
            ..Fake::default()
        };
        assert_eq!(dd(&std::format!("if=/dev/zero of=/dev/null {line}"), &mut sys), 0);
        assert!(sys.stderr().ends_with("B) copied\n"), "{}", sys.stderr());
    }
}

// U-177
#[test]
fn failed_write_gives_status_1_and_counts_what_went() {
    let mut sys = Fake::default();
    assert_eq!(
        dd("if=/dev/zero of=/dev/full bs=512 count=3 status=noxfer", &mut sys),
        1
    );
    assert_eq!(
        sys.stderr(),
        "dd: error writing '/dev/full': No space left on device\n1+0 records in\n0+0 records out\n"
    );

    for conversion in ["", "conv=swab", "ibs=256 obs=512"] {
        let mut sys = Fake::default();
        sys.add(
            "small",
            File::Limited {
                room: 768,
                content: Vec::new(),
            },
        );
        let line = std::format!("if=/dev/zero of=small bs=512 count=3 status=noxfer {conversion}");
        assert_eq!(dd(&line, &mut sys), 1);
        assert_eq!(
            sys.stderr(),
            "dd: error writing 'small': No space left on device\n2+0 records in\n1+1 records out\n",
            "{line}"
        );
        assert_eq!(sys.content("small").len(), 768);
    }
}

// U-179
#[test]
fn too_large_an_offset_leaves_the_output_untouched() {
    for line in [
        "skip=36028797018963968",
        "skip=9223372036854775808 bs=1",
        "seek=17592186044416 obs=1M",
    ] {
        let mut sys = Fake::default();
        sys.add_regular("out", b"kept");
        assert_eq!(dd(&std::format!("if=/dev/zero of=out {line}"), &mut sys), 1);
        assert!(sys.stderr().contains("too large"), "{}", sys.stderr());
        assert_eq!(sys.content("out"), b"kept");
    }
}

// U-182
#[test]
fn short_reads_are_gathered_into_output_blocks() {
    assert_copies(piped(&[b"ab", b"cd"]), "ibs=3 obs=6", b"abcd", "0+2", "0+1");
    assert_copies(piped(&[b"abc", b"d", b"efg"]), "ibs=3 obs=2", b"abcdefg", "2+1", "3+1");
    // Blocks of one size go out as they came in.
    assert_copies(piped(&[b"ab", b"cd"]), "bs=3", b"abcd", "0+2", "0+2");
}

#[test]
fn every_pair_of_block_sizes_keeps_the_bytes_and_counts_blocks() {
    let content = pattern(1000);
    for input_block in [1usize, 2, 3, 7, 64, 999, 1000, 1001] {
        for output_block in [1usize, 2, 5, 64, 512, 1000, 4096] {
            let mut sys = Fake::default();
            sys.add_regular("in", &content);
            let count = |block: usize| std::format!("{}+{}", 1000 / block, usize::from(1000 % block != 0));
            let line = std::format!("if=in ibs={input_block} obs={output_block}");
            assert_copies(sys, &line, &content, &count(input_block), &count(output_block));
        }
    }
}

#[test]
fn short_writes_are_completed() {
    let content = pattern(2048);
    for line in ["if=in of=out", "if=in of=out ibs=100 obs=1k", "if=in of=out conv=swab"] {
        let mut sys = Fake {
            largest_write: 100,
            ..Fake::default()
        };
        sys.add_regular("in", &content);
        assert_eq!(dd(line, &mut sys), 0);
        assert_eq!(sys.content("out").len(), 2048);
        if !line.contains("swab") {
            assert_eq!(sys.content("out"), content, "{line}");
        }
        assert!(
            sys.stderr().contains("+0 records out\n2048 bytes (2.0KB) copied"),
            "{}",
            sys.stderr()
        );
    }
}

#[test]
fn interrupted_calls_are_repeated() {
    for line in ["if=in", "if=in conv=swab", "if=in ibs=3"] {
        for interrupts in [1, 2, 5] {
            let mut sys = Fake {
                interrupts,
                ..Fake::default()
            };
            sys.add_regular("in", b"xyxy");
            assert_eq!(dd(line, &mut sys), 0, "{}", sys.stderr());
            assert_eq!(sys.content("<stdout>").len(), 4);
        }
    }
}

#[test]
fn fullblock_fills_each_block_and_count_bytes_stops_inside_one() {
    assert_copies(
        piped(&[b"ab", b"c", b"def", b"g"]),
        "bs=3 iflag=fullblock",
        b"abcdefg",
        "2+1",
        "2+1",
    );
    assert_copies(
        piped(&[b"abcdefgh"]),
        "bs=3 count=7 iflag=count_bytes",
        b"abcdefg",
        "2+1",
        "2+1",
    );
    assert_copies(piped(&[b"abcdefgh"]), "bs=3 count=2", b"abcdef", "2+0", "2+0");
}

// U-184
#[test]
fn swab_keeps_the_odd_last_byte_and_refuses_an_odd_block_before_more() {
    assert_copies(piped(&[b"abcde"]), "conv=swab", b"badce", "0+1", "0+1");
    assert_copies(piped(&[b"abcd", b"efg"]), "conv=swab bs=4", b"badcfeg", "1+1", "1+1");

    let mut sys = piped(&[b"abc", b"def"]);
    assert_eq!(dd("conv=swab bs=3", &mut sys), 1);
    assert_eq!(sys.stdout(), "bac");
    assert!(
        sys.stderr().starts_with("dd: can't swab 3 byte buffer\n"),
        "{}",
        sys.stderr()
    );
}

#[test]
fn sync_pads_short_blocks_with_zeros() {
    assert_copies(piped(&[b"abcd", b"e"]), "bs=4 conv=sync", b"abcde\0\0\0", "1+1", "2+0");
    assert_copies(
        piped(&[b"abc", b"d"]),
        "ibs=3 obs=4 conv=sync",
        b"abcd\0\0",
        "1+1",
        "1+1",
    );
}

// U-185
#[test]
fn noerror_passes_bad_blocks_and_pads_them_only_with_sync() {
    let content = pattern(2048);
    let bad_source = || {
        let mut sys = Fake::default();
        sys.add(
            "in",
            File::Regular {
                content: content.clone(),
                bad: vec![1],
            },
        );
        sys
    };
    let error = "dd: error reading 'in': Input/output error\n";

    let mut sys = bad_source();
    assert_eq!(dd("if=in of=out conv=noerror status=noxfer", &mut sys), 0);
    assert_eq!(sys.content("out"), [&content[..512], &content[1024..]].concat());
    assert_eq!(sys.stderr(), std::format!("{error}3+1 records in\n3+0 records out\n"));

    let mut sys = bad_source();
    assert_eq!(dd("if=in of=out conv=noerror,sync status=noxfer", &mut sys), 0);
    assert_eq!(
        sys.content("out"),
        [&content[..512], &[0; 512], &content[1024..]].concat()
    );
    assert_eq!(sys.stderr(), std::format!("{error}3+1 records in\n4+0 records out\n"));

    let mut sys = bad_source();
    assert_eq!(dd("if=in of=out obs=1k status=noxfer", &mut sys), 1);
    assert_eq!(
        sys.content("out"),
        &content[..512],
        "what came in before the error goes out"
    );
    assert_eq!(sys.stderr(), std::format!("{error}1+0 records in\n0+1 records out\n"));
}

#[test]
fn noerror_ends_where_the_input_cannot_be_moved_past_the_error() {
    let mut sys = Fake::default();
    sys.set_stdin(File::Pipe(
        [Ok(b"a".to_vec()), Err(Errno::EIO), Ok(b"b".to_vec())].into(),
    ));
    assert_eq!(dd("bs=1 conv=noerror status=noxfer", &mut sys), 1);
    assert_eq!(
        sys.stderr(),
        "dd: error reading 'standard input': Input/output error\n\
         dd: can't pass the bad block of 'standard input': Illegal seek\n1+0 records in\n1+0 records out\n"
    );
}

#[test]
fn flags_reach_open_and_fsync_is_called_once() {
    let mut sys = Fake::default();
    sys.add_regular("in", &pattern(1024));
    assert_eq!(
        dd(
            "if=in of=out oflag=append,direct iflag=direct conv=fsync,notrunc",
            &mut sys
        ),
        0
    );
    let large = open_flags::O_LARGEFILE;
    let expected_out = large | open_flags::O_WRONLY | open_flags::O_CREAT | open_flags::O_APPEND | open_flags::O_DIRECT;
    assert_eq!(
        sys.opened_flags,
        [
            ("in".into(), large | open_flags::O_DIRECT),
            ("out".into(), expected_out)
        ]
    );
    assert_eq!(sys.calls["sync"], 1);

    assert_eq!(dd("if=in of=/dev/null conv=fsync status=none", &mut sys), 1);
    assert!(
        sys.stderr().ends_with("dd: can't sync '/dev/null': Invalid argument\n"),
        "{}",
        sys.stderr()
    );
}

#[test]
fn file_that_cannot_be_opened_is_named() {
    let mut sys = Fake::default();
    assert_eq!(dd("if=x of=/dev/null", &mut sys), 1);
    assert_eq!(sys.stderr(), "dd: can't open 'x': No such file or directory\n");
}

#[test]
fn seek_on_a_pipe_fails_before_anything_is_copied() {
    let mut sys = Fake::default();
    assert_eq!(dd("if=/dev/zero count=1 seek=1", &mut sys), 1);
    assert_eq!(
        (sys.stderr().as_str(), sys.stdout().as_str()),
        ("dd: can't seek 'standard output': Illegal seek\n", "")
    );
}

#[test]
fn help_goes_to_standard_output() {
    let mut sys = Fake::default();
    assert_eq!(dd("if=x --help", &mut sys), 0);
    assert!(sys.stdout().starts_with("usage: dd "));
    assert_eq!(sys.stderr(), "");
}
