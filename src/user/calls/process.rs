//! Memory, clocks, identity, calls that no system has; and bad addresses for all the small results.

use super::ground::{ANONYMOUS, Ground, KERNEL, MINUS_1, TASK_SIZE, bytes, text, word};
use super::record::{Record, quiet};
use crate::user::linux::number::*;

const READ_WRITE: u32 = 3;
const MAP_FIXED: u32 = 0x10;

/// Moves the break and shows whether it went.
fn brk(record: &mut Record, wanted: u32) {
    record.calls += 1;
    let moved = quiet(BRK, [wanted]) == Ok(wanted);
    record.token(format_args!("{}", if moved { "moved" } else { "kept" }));
}

/// brk, mmap2, munmap, mprotect.
pub fn memory(ground: &Ground, record: &mut Record) {
    let (page, hole) = (ground.page, ground.hole);
    record.begin(format_args!("brk"));
    if let Ok(now) = quiet(BRK, [0]) {
        for wanted in [
            now,
            1,
            0x1000,
            now + 1,
            now + page,
            now + 3 * page + 5,
            now,
            KERNEL,
            MINUS_1,
        ] {
            brk(record, wanted);
        }
    }
    record.end();
    record.begin(format_args!("brk gives zeros"));
    if let Ok(now) = quiet(BRK, [0]) {
        let start = now.next_multiple_of(page);
        for _ in 0..2 {
            brk(record, start + 2 * page);
            record.digest(bytes(start, 2 * page));
            bytes(start, 2 * page).fill(0x5a);
            brk(record, now);
        }
    }
    record.end();
    record.begin(format_args!("mmap2"));
    for (address, length, rights, flags, fd) in [
        (0, 0, READ_WRITE, ANONYMOUS, MINUS_1),
        (0, page, READ_WRITE, 0x20, MINUS_1),
        (0, page, READ_WRITE, 0x02, MINUS_1),
        (0, page, READ_WRITE, 0x01, ground.fd("closed")),
        (0, MINUS_1, READ_WRITE, ANONYMOUS, MINUS_1),
        (0, 0xffff_f000, READ_WRITE, ANONYMOUS, MINUS_1),
        (hole + 1, page, READ_WRITE, ANONYMOUS | MAP_FIXED, MINUS_1),
        (hole, 0, READ_WRITE, ANONYMOUS | MAP_FIXED, MINUS_1),
    ] {
        let _ = record.call_ok(MMAP2, [address, length, rights, flags, fd, 0]);
    }
    record.end();
    record.begin(format_args!("fixed mapping"));
    for (length, rights) in [(1, READ_WRITE), (page, 1), (page, READ_WRITE), (page, 0)] {
        let arguments = [hole, length, rights, ANONYMOUS | MAP_FIXED, MINUS_1, 0];
        if record.call_ok(MMAP2, arguments) == Ok(hole) {
            let _ = record.call(READ, [ground.fd("zero"), hole, 8]);
            let _ = record.call(WRITE, [ground.fd("file"), hole, 8]);
        }
    }
    let _ = record.call(MUNMAP, [hole, page]);
    let _ = record.call(READ, [ground.fd("zero"), hole, 8]);
    record.end();
    record.begin(format_args!("munmap"));
    for (address, length) in [
        (hole + 1, page),
        (hole, 0),
        (hole, page),
        (hole, 1),
        (0, MINUS_1),
        (page, MINUS_1),
        (0xffff_f000, page),
        (0xffff_f000, 2 * page),
    ] {
        let _ = record.call(MUNMAP, [address, length]);
    }
    record.end();
    record.begin(format_args!("mprotect"));
    if let Ok(pages) = quiet(MMAP2, [0, 3 * page, READ_WRITE, ANONYMOUS, MINUS_1, 0]) {
        for (offset, length, rights) in [
            (0, page, 1),
            (0, page, READ_WRITE),
            (1, page, 1),
            (page, 1, 0),
            (page, page, READ_WRITE),
            (0, 3 * page, 0x100),
        ] {
            let _ = record.call(MPROTECT, [pages + offset, length, rights]);
            let _ = record.call(READ, [ground.fd("zero"), pages + offset, 8]);
        }
        // A hole in the middle.
        let _ = record.call(MUNMAP, [pages + page, page]);
        let _ = record.call(READ, [ground.fd("zero"), pages + page, 8]);
        let _ = record.call(READ, [ground.fd("zero"), pages + 2 * page, 8]);
        let _ = record.call(MUNMAP, [pages, 3 * page]);
        let _ = record.call(MUNMAP, [pages, 3 * page]);
    }
    record.end();
}

/// Whether what a clock gave is a time: nanoseconds (or microseconds) in range.
fn show_time(record: &mut Record, place: u32, units: u32) {
    let is_valid = word(place + 4) < units;
    record.token(format_args!("{}", if is_valid { "valid" } else { "no time" }));
}

/// Clocks, accounting, identity, and numbers that are no calls.
pub fn process(ground: &Ground, record: &mut Record) {
    let place = ground.table;
    record.begin(format_args!("clock_gettime"));
    for clock in [0, 1, 2, 3, 4, 5, 6, 7, 10, 16, 99, 0x8000_0000] {
        bytes(place, 8).fill(0xff);
        if record.call(CLOCK_GETTIME, [clock, place]).is_ok() {
            show_time(record, place, 1_000_000_000);
        }
    }
    for clock in [1, 99] {
        for address in [0, ground.hole, KERNEL] {
            let _ = record.call(CLOCK_GETTIME, [clock, address]);
        }
    }
    record.end();
    record.begin(format_args!("gettimeofday"));
    bytes(place, 8).fill(0xff);
    if record.call(GETTIMEOFDAY, [place, 0]).is_ok() {
        show_time(record, place, 1_000_000);
    }
    let _ = record.call(GETTIMEOFDAY, [0, 0]);
    let _ = record.call(GETTIMEOFDAY, [ground.hole, 0]);
    record.end();
    record.begin(format_args!("times"));
    let _ = record.call_ok(TIMES, [place]);
    let _ = record.call_ok(TIMES, [0]);
    let _ = record.call_ok(TIMES, [ground.hole]);
    record.end();
    record.begin(format_args!("getrusage"));
    for who in [0, MINUS_1, 1, 2, 99] {
        bytes(place, 72).fill(0xff);
        if record.call(GETRUSAGE, [who, place]).is_ok() {
            show_time(record, place, 1_000_000);
            show_time(record, place + 8, 1_000_000);
        }
    }
    for address in [0, ground.hole, KERNEL] {
        let _ = record.call(GETRUSAGE, [0, address]);
    }
    record.end();
    record.begin(format_args!("accounting moves forward"));
    // Times in microseconds, user and system together, before and after some work.
    let spent = || match quiet(GETRUSAGE, [0, place]) {
        Ok(_) => (word(place) + word(place + 8)) * 1_000_000 + word(place + 4) + word(place + 12),
        Err(_) => 0,
    };
    let before = spent();
    for _ in 0..1000 {
        record.calls += 1;
        if quiet(READ, [ground.fd("zero"), ground.buffer, 512]) != Ok(512) {
            record.token(format_args!("short"));
        }
    }
    record.token(format_args!("{}", if spent() >= before { "yes" } else { "no" }));
    record.end();
    record.begin(format_args!("limits of descriptors"));
    bytes(place, 8).fill(0xff);
    if record.call(UGETRLIMIT, [7, place]).is_ok() {
        record.token(format_args!("{} {}", word(place), word(place + 4)));
    }
    for resource in [16, 99, MINUS_1] {
        let _ = record.call(UGETRLIMIT, [resource, place]);
    }
    record.end();
    record.begin(format_args!("identity"));
    let _ = record.call_ok(GETPID, []);
    let _ = record.call_ok(GETPPID, []);
    let _ = record.call(UNAME, [place]);
    let _ = record.call(UNAME, [0]);
    let _ = record.call(UNAME, [ground.hole]);
    record.end();
    record.begin(format_args!("unknown calls"));
    for number in [
        17,
        31,
        32,
        35,
        44,
        53,
        56,
        58,
        600,
        1000,
        4095,
        9999,
        0xffff,
        0x8000_0000,
        MINUS_1,
    ] {
        let _ = record.call(number, [1, 2, 3, 4, 5, 6]);
    }
    record.end();
}

/// A row of calls with a bad address: name, number, arguments around the address.
type BadAddress<'a> = (&'a str, u32, &'a dyn Fn(u32) -> [u32; 6]);

/// Bad addresses for results that a user-mode emulation copies itself, and answers that come before it looks.
pub fn bounds(ground: &Ground, record: &mut Record) {
    let addresses = [
        0,
        1,
        ground.hole,
        ground.read_only,
        ground.edge - 4,
        TASK_SIZE - 4,
        TASK_SIZE,
        KERNEL,
        MINUS_1,
    ];
    let zero = ground.fd("zero");
    let rows: [BadAddress<'_>; 16] = [
        ("pipe", PIPE, &|bad| [bad, 0, 0, 0, 0, 0]),
        ("pipe2", PIPE2, &|bad| [bad, 0, 0, 0, 0, 0]),
        ("fstat64", FSTAT64, &|bad| [zero, bad, 0, 0, 0, 0]),
        ("fstat64 closed", FSTAT64, &|bad| [99, bad, 0, 0, 0, 0]),
        ("stat64", STAT64, &|bad| [text(c"/dev/zero"), bad, 0, 0, 0, 0]),
        ("stat64 path", STAT64, &|bad| [bad, 0, 0, 0, 0, 0]),
        ("open", OPEN, &|bad| [bad, 0, 0, 0, 0, 0]),
        ("openat", OPENAT, &|bad| [99, bad, 0, 0, 0, 0]),
        ("unlink", UNLINK, &|bad| [bad, 0, 0, 0, 0, 0]),
        ("_llseek", LLSEEK, &|bad| [zero, 0, 0, bad, 0, 0]),
        ("poll", POLL, &|bad| [bad, 1, 0, 0, 0, 0]),
        ("clock_gettime", CLOCK_GETTIME, &|bad| [1, bad, 0, 0, 0, 0]),
        ("gettimeofday", GETTIMEOFDAY, &|bad| [bad, 0, 0, 0, 0, 0]),
        ("times", TIMES, &|bad| [bad, 0, 0, 0, 0, 0]),
        ("getrusage", GETRUSAGE, &|bad| [0, bad, 0, 0, 0, 0]),
        ("uname", UNAME, &|bad| [bad, 0, 0, 0, 0, 0]),
    ];
    for (name, number, arguments) in rows {
        record.begin(format_args!("{name} bad addresses"));
        for address in addresses {
            let _ = record.call_ok(number, arguments(address));
        }
        record.end();
    }
    let file = ground.fd("file-r");
    let (null, writer) = (ground.fd("null"), ground.fd("pipe-w"));
    record.begin(format_args!("sendfile64 bad addresses"));
    for address in addresses {
        ground.restore_file();
        let _ = record.call(SENDFILE64, [null, file, address, 10]);
    }
    record.end();
    record.begin(format_args!("splice bad addresses"));
    for address in addresses {
        ground.restore_file();
        ground.drain();
        let _ = record.call(SPLICE, [file, address, writer, 0, 10, 2]);
        let _ = record.call(SPLICE, [ground.fd("pipe-r"), 0, ground.fd("file"), address, 10, 2]);
    }
    record.end();
    record.begin(format_args!("vmsplice bad addresses"));
    for address in addresses {
        ground.drain();
        let _ = record.call(VMSPLICE, [writer, address, 1, 2]);
    }
    record.end();
    record.begin(format_args!("memory bounds"));
    for (address, length) in [(0, 4096), (TASK_SIZE, 4096), (TASK_SIZE - 4096, 8192), (KERNEL, 4096)] {
        let _ = record.call_ok(MMAP2, [address, length, READ_WRITE, ANONYMOUS | MAP_FIXED, MINUS_1, 0]);
        let _ = record.call(MUNMAP, [address, length]);
        let _ = record.call(MPROTECT, [address, length, 1]);
    }
    let _ = record.call(MPROTECT, [ground.hole, 0, 1]);
    record.end();
}
