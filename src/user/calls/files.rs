//! Paths, and files that can be written.

use super::ground::{
    FILE_LEN, Ground, KERNEL, MINUS_1, O_APPEND, O_CLOEXEC, O_CREAT, O_DIRECTORY, O_EXCL, O_LARGEFILE, O_RDWR, O_TRUNC,
    O_WRONLY, TASK_SIZE, address, bytes, text,
};
use super::record::{Record, quiet};
use crate::user::linux::number::*;
use alloc::vec::Vec;
use core::ffi::CStr;

/// `AT_FDCWD`.
const HERE: u32 = (-100i32).cast_unsigned();
const F_GETFD: u32 = 1;

/// Opens, shows what came of it, and closes.
fn open(record: &mut Record, path: u32, flags: u32) {
    if let Ok(fd) = record.call(OPEN, [path, flags, 0o644]) {
        let _ = quiet(CLOSE, [fd]);
    }
}

/// open, openat, creat: paths and flags.
pub fn paths(ground: &Ground, record: &mut Record) {
    let all_flags = [
        0,
        O_WRONLY,
        O_RDWR,
        O_APPEND | O_RDWR,
        O_TRUNC,
        O_TRUNC | O_RDWR,
        O_DIRECTORY,
        O_DIRECTORY | O_RDWR,
        O_CREAT,
        O_CREAT | O_RDWR,
        O_CREAT | O_EXCL | O_RDWR,
        O_CREAT | O_TRUNC | O_WRONLY,
    ];
    for path in [
        ground.path,
        c"/dev/zero",
        c"/dev/null",
        c"/dev/full",
        c"/dev",
        c"/dev/",
        c"/",
        c"/dev/.",
        c"/dev/..",
        c"/dev/zero/",
        c"/dev/zero/.",
        c"/dev/zero/x",
        c"//dev///zero",
        c"/dev/../dev/./zero",
        c"/../../dev/zero",
        c"",
        c"/missing/x",
        c"/missing/../dev/zero",
        c"/missing/",
    ] {
        ground.restore_file();
        record.begin(format_args!("open {}", shown(ground, path)));
        for flags in all_flags {
            open(record, text(path), flags | O_LARGEFILE);
        }
        record.end();
    }
    record.begin(format_args!("open without creation"));
    for flags in [0, O_WRONLY, O_RDWR, O_TRUNC | O_RDWR, O_DIRECTORY, O_EXCL] {
        open(record, text(c"/missing"), flags);
        open(record, text(c"/dev/missing"), flags);
        open(record, text(c"missing"), flags);
    }
    record.end();
    let name = |length: usize| -> Vec<u8> { [&b"/"[..], &b"n".repeat(length), b"\0"].concat() };
    record.begin(format_args!("open long names"));
    for length in [254, 255, 256, 4000, 4093, 4094, 4095, 5000] {
        open(record, address(&name(length)), 0);
    }
    let slashes = |count: usize| -> Vec<u8> { [&b"/".repeat(count)[..], b"dev/zero\0"].concat() };
    for count in [4000, 4086, 4087, 4088, 4096] {
        open(record, address(&slashes(count)), 0);
    }
    record.end();
    record.begin(format_args!("open bad addresses"));
    for path in [0, 1, ground.hole, ground.edge, TASK_SIZE, KERNEL, MINUS_1] {
        for flags in [0, O_RDWR | O_CREAT, MINUS_1] {
            open(record, path, flags);
        }
    }
    // A path that ends at the last good byte, and one that goes on behind it.
    let end = ground.edge;
    for path in [&b"/dev/zero\0"[..], b"/dev/zero", b"/", b"\0"] {
        let start = end - path.len() as u32;
        bytes(start, path.len() as u32).copy_from_slice(path);
        open(record, start, 0);
    }
    record.end();
    record.begin(format_args!("openat"));
    for (directory, path) in [
        (HERE, c"/dev/zero"),
        (MINUS_1, c"/dev/zero"),
        (ground.fd("closed"), c"/dev/zero"),
        (MINUS_1, c"zero"),
        (ground.fd("closed"), c"zero"),
        (ground.fd("dir"), c"zero"),
        (ground.fd("dir"), c"./zero"),
        (ground.fd("dir"), c"../dev/zero"),
        (ground.fd("dir"), c"missing"),
        (ground.fd("dir"), c""),
        (ground.fd("zero"), c"zero"),
        (ground.fd("file"), c"zero"),
        (ground.fd("pipe-r"), c"zero"),
        (ground.fd("closed"), c""),
    ] {
        if let Ok(fd) = record.call(OPENAT, [directory, text(path), 0, 0]) {
            let _ = quiet(CLOSE, [fd]);
        }
    }
    for path in [0, ground.hole] {
        let _ = record.call(OPENAT, [HERE, path, 0, 0]);
    }
    record.end();
    record.begin(format_args!("open with close on exec"));
    for flags in [0, O_CLOEXEC] {
        if let Ok(fd) = record.call(OPEN, [text(c"/dev/zero"), flags, 0]) {
            let _ = record.call(FCNTL64, [fd, F_GETFD]);
            let _ = record.call(CLOSE, [fd]);
        }
    }
    record.end();
}

/// Opening for neither reading nor writing, which an emulation makes reading.
pub fn nothing(ground: &Ground, record: &mut Record) {
    record.begin(format_args!("open for nothing"));
    for path in [c"/dev/zero", c"/dev", c"/tmp", ground.path, c"/missing"] {
        if let Ok(fd) = record.call(OPEN, [text(path), 3, 0]) {
            let _ = record.call(READ, [fd, ground.buffer, 1]);
            let _ = record.call(WRITE, [fd, ground.source, 1]);
            let _ = record.call(LSEEK, [fd, 0, 0]);
            let _ = record.call(FCNTL64, [fd, 3]);
            let _ = record.call(CLOSE, [fd]);
        }
    }
    record.end();
}

/// The path as rows name it: the test file lies elsewhere on each system.
fn shown<'a>(ground: &Ground, path: &'a CStr) -> &'a str {
    match path.to_str() {
        _ if path == ground.path => "file",
        Ok("") => "\"\"",
        Ok(path) => path,
        Err(_) => "?",
    }
}

/// Creation, truncation, appending, holes, removal.
pub fn files(ground: &Ground, record: &mut Record) {
    let (path, file) = (text(ground.path), ground.fd("file"));
    let other = [ground.path.to_bytes(), b".other\0"].concat();
    let other = address(&other);
    let _ = quiet(UNLINK, [other]);
    record.begin(format_args!("creation"));
    open(record, other, O_RDWR | O_LARGEFILE);
    open(record, other, O_RDWR | O_CREAT | O_EXCL | O_LARGEFILE);
    open(record, other, O_RDWR | O_CREAT | O_EXCL | O_LARGEFILE);
    open(record, other, O_RDWR | O_LARGEFILE);
    if let Ok(fd) = record.call(CREAT, [other, 0o644]) {
        let _ = record.call(READ, [fd, ground.buffer, 1]);
        let _ = record.call(WRITE, [fd, ground.source, 1000]);
        let _ = record.call(UNLINK, [other]);
        let _ = record.call(UNLINK, [other]);
        open(record, other, O_RDWR | O_LARGEFILE);
        // The open file lives on without its name.
        let _ = record.call(WRITE, [fd, ground.source, 10]);
        let _ = record.call(LSEEK, [fd, 0, 2]);
        let _ = record.call(CLOSE, [fd]);
    }
    for path in [
        text(c""),
        text(c"/missing"),
        text(c"/missing/x"),
        text(c"/dev/zero/x"),
        0,
        ground.hole,
    ] {
        let _ = record.call(UNLINK, [path]);
    }
    let _ = record.call(CREAT, [text(c"/missing/x"), 0o644]);
    let _ = record.call(CREAT, [text(c"/dev"), 0o644]);
    let _ = record.call(CREAT, [0, 0o644]);
    let _ = record.call(UNLINKAT, [HERE, text(c"/missing"), 0]);
    let _ = record.call(UNLINKAT, [HERE, text(c"/missing"), 1]);
    record.end();

    record.begin(format_args!("ftruncate64"));
    for &descriptor in &ground.descriptors {
        for (high, low) in [(0, 100), (0, 0), (MINUS_1, MINUS_1), (0x8000_0000, 0)] {
            ground.restore_file();
            let _ = record.call(FTRUNCATE64, [descriptor.number, 0, high, low]);
            ground.digest_file(record);
        }
    }
    record.end();
    record.begin(format_args!("truncate64"));
    ground.restore_file();
    for (path, high, low) in [
        (path, 0, 5000),
        (path, 0, 7),
        (path, MINUS_1, 0),
        (text(c"/dev"), 0, 0),
        (text(c"/dev/zero"), 0, 0),
        (text(c"/missing"), 0, 0),
        (text(c""), 0, 0),
        (0, 0, 0),
    ] {
        let _ = record.call(TRUNCATE64, [path, 0, high, low]);
        ground.digest_file(record);
    }
    record.end();

    record.begin(format_args!("O_TRUNC"));
    for flags in [
        O_RDWR,
        O_RDWR | O_TRUNC,
        O_WRONLY | O_APPEND,
        O_WRONLY | O_APPEND | O_TRUNC,
    ] {
        ground.restore_file();
        open(record, path, flags | O_LARGEFILE);
        ground.digest_file(record);
    }
    record.end();

    // U-109
    record.begin(format_args!("O_APPEND"));
    ground.restore_file();
    let append = ground.fd("file-a");
    for (offset, length) in [(1024, 1024), (0, 1), (9000, 10), (100, 0)] {
        let _ = record.call(LSEEK, [append, offset, 0]);
        let _ = record.call(WRITE, [append, ground.source, length]);
        let _ = record.call(LSEEK, [append, 0, 1]);
        let _ = record.call(PWRITE64, [append, ground.source, length, 0, 0, 5]);
        let _ = record.call(LSEEK, [append, 0, 1]);
        ground.digest_file(record);
    }
    record.end();

    record.begin(format_args!("holes"));
    ground.restore_file();
    for offset in [FILE_LEN, 8191, 20_000, 12_288, 65_535] {
        let _ = record.call(PWRITE64, [file, ground.source, 3, 0, 0, offset]);
        ground.digest_file(record);
    }
    let _ = record.call(FTRUNCATE64, [file, 0, 0, 13_000]);
    let _ = record.call(FTRUNCATE64, [file, 0, 0, 30_000]);
    ground.digest_file(record);
    record.end();

    record.begin(format_args!("sync"));
    for &descriptor in &ground.descriptors {
        // A directory's device may or may not be one that can be synchronised.
        if descriptor.name != "dir" {
            let _ = record.call(FSYNC, [descriptor.number]);
            let _ = record.call(FDATASYNC, [descriptor.number]);
        }
    }
    record.end();
    // U-104: a write that fails leaves everything as it was, a thousand times.
    record.begin(format_args!("a thousand bad writes"));
    ground.restore_file();
    let _ = record.call(WRITE, [file, ground.source, 100]);
    let mut outcome = record.call(WRITE, [file, ground.hole, 100]);
    for _ in 0..999 {
        let next = quiet(WRITE, [file, ground.hole, 100]);
        outcome = if next == outcome { outcome } else { next };
    }
    record.calls += 999;
    record.token(format_args!("{}", super::record::Outcome(outcome)));
    let _ = record.call(LSEEK, [file, 0, 1]);
    ground.digest_file(record);
    record.end();
}
