//! Descriptors themselves: positions, copies, flags, status, controls, readiness.

use super::ground::{
    CLOSED, DESCRIPTORS, FILE_LEN, Ground, Kind, MINUS_1, O_APPEND, O_CLOEXEC, O_LARGEFILE, O_NONBLOCK, bytes,
    put_words, text, word,
};
use super::record::{Outcome, Record, quiet};
use crate::user::linux::number::*;

const F_DUPFD: u32 = 0;
const F_GETFD: u32 = 1;
const F_SETFD: u32 = 2;
const F_GETFL: u32 = 3;
const F_SETFL: u32 = 4;
const F_DUPFD_CLOEXEC: u32 = 1030;
const F_SETPIPE_SZ: u32 = 1031;
const F_GETPIPE_SZ: u32 = 1032;

/// `TCGETS`, `FIONREAD`, `FIONBIO`, `FIOCLEX`, `FIONCLEX` of 32-bit PowerPC (kernel
/// `arch/powerpc/include/uapi/asm/ioctls.h`).
const TCGETS: u32 = 0x402c_7413;
const FIONREAD: u32 = 0x4004_667f;
const FIONBIO: u32 = 0x8004_667e;
const FIOCLEX: u32 = 0x2000_6601;
const FIONCLEX: u32 = 0x2000_6602;

/// lseek and _llseek over all descriptors.
pub fn positions(ground: &Ground, record: &mut Record) {
    let result = ground.table;
    for &descriptor in ground.descriptors.iter().filter(|entry| entry.kind != Kind::Directory) {
        let fd = descriptor.number;
        record.begin(format_args!("lseek {}", descriptor.name));
        for whence in [0, 1, 2, 5, 7, MINUS_1] {
            for offset in [0, 1, 123, -1, -10, -4000, -4001, i32::MIN] {
                ground.restore(descriptor.kind, false);
                let _ = record.call(LSEEK, [fd, i32::cast_unsigned(offset), whence]);
                if descriptor.kind == Kind::File {
                    record.digest_number(ground.position(fd));
                }
            }
        }
        record.end();
        record.begin(format_args!("_llseek {}", descriptor.name));
        for whence in [0, 1, 2, 9] {
            for offset in [0i64, 5, -5, 1 << 32, 0x12_3456_789a, -(1 << 40)] {
                ground.restore(descriptor.kind, false);
                put_words(result, &[0xa5a5_a5a5; 2]);
                let (high, low) = ((offset >> 32) as u32, offset as u32);
                let _ = record.call(LLSEEK, [fd, high, low, result, whence]);
                record.digest(bytes(result, 8));
            }
        }
        for place in [0, ground.hole, ground.read_only] {
            let _ = record.call(LLSEEK, [fd, 0, 7, place, 0]);
            let _ = record.call(LLSEEK, [fd, 0, 7, place, 9]);
        }
        record.end();
    }
    ground.restore_file();
    record.begin(format_args!("lseek data and holes"));
    for name in ["zero", "null", "full", "file"] {
        for whence in [3, 4] {
            for offset in [0, 100, FILE_LEN - 1, FILE_LEN, 5000, MINUS_1] {
                let _ = record.call(LSEEK, [ground.fd(name), offset, whence]);
            }
        }
    }
    record.end();
    // U-108: a gap behind the end reads as zeros.
    record.begin(format_args!("lseek beyond the end"));
    let file = ground.fd("file");
    let _ = record.call(LSEEK, [file, 3, 2]);
    let _ = record.call(WRITE, [file, ground.source, 5]);
    ground.digest_file(record);
    let _ = record.call(LSEEK, [file, (-2i32).cast_unsigned(), 2]);
    let _ = record.call(READ, [file, ground.buffer, 10]);
    ground.digest_buffer(record, 64);
    record.end();
    // U-117: positional calls leave the position alone.
    for (number, name) in [(PREAD64, "pread64"), (PWRITE64, "pwrite64")] {
        record.begin(format_args!("position around {name}"));
        ground.restore(Kind::File, true);
        let _ = record.call(READ, [file, ground.buffer, 2]);
        let _ = record.call(number, [file, ground.buffer + 100, 10, 0, 0, 5]);
        let _ = record.call(number, [file, 0, 10, 0, 0, 5]);
        let _ = record.call(READ, [file, ground.buffer + 2, 2]);
        let _ = record.call(LSEEK, [file, 0, 1]);
        ground.digest_buffer(record, 200);
        ground.digest_file(record);
        record.end();
    }
}

/// dup, dup2, dup3, close.
pub fn copies(ground: &Ground, record: &mut Record) {
    for &descriptor in &ground.descriptors {
        let fd = descriptor.number;
        record.begin(format_args!("dup {}", descriptor.name));
        if let Ok(new) = record.call(DUP, [fd]) {
            let _ = record.call(CLOSE, [new]);
            let _ = record.call(CLOSE, [new]);
        }
        for target in [10, fd, DESCRIPTORS - 1, DESCRIPTORS, MINUS_1, 0x7fff_ffff, 0x8000_0000] {
            let made = record.call(DUP2, [fd, target]);
            if let Ok(new) = made
                && new != fd
            {
                let _ = record.call(FCNTL64, [new, F_GETFD]);
                let _ = record.call(CLOSE, [new]);
            }
        }
        for flags in [0, O_CLOEXEC, 1, O_NONBLOCK, MINUS_1] {
            for target in [10, fd, DESCRIPTORS] {
                let made = record.call(DUP3, [fd, target, flags]);
                if let Ok(new) = made
                    && new != fd
                {
                    let _ = record.call(FCNTL64, [new, F_GETFD]);
                    let _ = record.call(CLOSE, [new]);
                }
            }
        }
        record.end();
    }
    record.begin(format_args!("close"));
    for fd in [
        CLOSED,
        DESCRIPTORS,
        DESCRIPTORS + 1,
        MINUS_1,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ff00,
    ] {
        let _ = record.call(CLOSE, [fd]);
        let _ = record.call(READ, [fd, ground.buffer, 1]);
        let _ = record.call(WRITE, [fd, ground.source, 1]);
        let _ = record.call(LSEEK, [fd, 0, 9]);
    }
    record.end();
    // A copy shares the position; another open does not.
    record.begin(format_args!("shared position"));
    ground.restore_file();
    let file = ground.fd("file");
    if let Ok(copy) = record.call(DUP, [file]) {
        let _ = record.call(READ, [copy, ground.buffer, 10]);
        let _ = record.call(LSEEK, [file, 0, 1]);
        let _ = record.call(LSEEK, [ground.fd("file-r"), 0, 1]);
        let _ = record.call(LSEEK, [file, 7, 0]);
        let _ = record.call(LSEEK, [copy, 0, 1]);
        let _ = record.call(CLOSE, [copy]);
    }
    let _ = record.call(LSEEK, [file, 0, 1]);
    record.end();
}

/// The table of descriptors filled up; an emulation keeps some for itself.
pub fn full_table(ground: &Ground, record: &mut Record) {
    // The table full: the lowest free descriptor each time, then none.
    record.begin(format_args!("dup until none is left"));
    let zero = ground.fd("zero");
    let mut made = 0;
    let last = loop {
        match quiet(DUP, [zero]) {
            Ok(new) if made < DESCRIPTORS => {
                record.digest_number(new.into());
                made += 1;
            }
            other => break other,
        }
    };
    record.token(format_args!("{made} {}", Outcome(last)));
    let _ = record.call(OPEN, [text(c"/dev/zero"), 0, 0]);
    let _ = record.call(PIPE, [ground.table]);
    let _ = record.call(FCNTL64, [zero, F_DUPFD, 0]);
    let _ = record.call(FCNTL64, [zero, F_DUPFD, DESCRIPTORS - 1]);
    let _ = record.call(DUP2, [zero, CLOSED]);
    let _ = record.call(CLOSE, [100]);
    let _ = record.call(PIPE, [ground.table]);
    let _ = record.call(OPEN, [text(c"/dev/zero"), 0, 0]);
    let kept = |fd: u32| {
        ground
            .descriptors
            .iter()
            .any(|entry| entry.number == fd && fd != CLOSED)
    };
    for fd in (3..DESCRIPTORS).filter(|fd| !kept(*fd)) {
        let _ = quiet(CLOSE, [fd]);
    }
    let _ = record.call(DUP, [zero]);
    let _ = record.call(CLOSE, [3]);
    record.end();
}

/// fcntl and fcntl64.
pub fn controls(ground: &Ground, record: &mut Record) {
    for &descriptor in &ground.descriptors {
        let fd = descriptor.number;
        record.begin(format_args!("fcntl {}", descriptor.name));
        for number in [FCNTL, FCNTL64] {
            for command in [F_DUPFD, F_DUPFD_CLOEXEC] {
                for least in [0, 30, DESCRIPTORS - 1, DESCRIPTORS, MINUS_1] {
                    if let Ok(new) = record.call(number, [fd, command, least]) {
                        let _ = record.call(number, [new, F_GETFD]);
                        let _ = record.call(CLOSE, [new]);
                    }
                }
            }
            for flags in [1, 0, 3, 2] {
                let _ = record.call(number, [fd, F_SETFD, flags]);
                let _ = record.call(number, [fd, F_GETFD]);
            }
            for flags in [0, O_APPEND, O_NONBLOCK, O_APPEND | O_NONBLOCK, 1, 0] {
                let _ = record.call(number, [fd, F_SETFL, flags]);
                status_flags(record, number, fd);
            }
        }
        // As it was.
        let flags = match descriptor.name {
            "file-a" => O_APPEND | O_NONBLOCK,
            _ => O_NONBLOCK,
        };
        let _ = quiet(FCNTL64, [fd, F_SETFL, flags]);
        status_flags(record, FCNTL64, fd);
        record.end();
    }
    record.begin(format_args!("fcntl unknown"));
    for name in ["zero", "file", "pipe-r", "dir"] {
        for command in [99, 500, 2000, MINUS_1] {
            let _ = record.call(FCNTL64, [ground.fd(name), command, 0]);
        }
    }
    record.end();
    // What the flags do.
    record.begin(format_args!("append by fcntl"));
    ground.restore_file();
    let file = ground.fd("file");
    for flags in [O_APPEND, 0] {
        let _ = record.call(FCNTL64, [file, F_SETFL, flags]);
        let _ = record.call(LSEEK, [file, 10, 0]);
        let _ = record.call(WRITE, [file, ground.source, 3]);
        let _ = record.call(LSEEK, [file, 0, 1]);
        let _ = record.call(PWRITE64, [file, ground.source, 3, 0, 0, 1]);
        ground.digest_file(record);
    }
    let _ = record.call(FCNTL64, [file, F_SETFL, O_NONBLOCK]);
    record.end();
    record.begin(format_args!("fcntl pipe size"));
    for name in ["pipe-r", "pipe-w", "zero", "file", "closed"] {
        let _ = record.call(FCNTL64, [ground.fd(name), F_GETPIPE_SZ]);
    }
    let _ = record.call(FCNTL64, [ground.fd("zero"), F_SETPIPE_SZ, 4096]);
    record.end();
}

/// Shows the flags of a file without `O_LARGEFILE`, which 64-bit systems do not report.
fn status_flags(record: &mut Record, number: u32, fd: u32) {
    record.calls += 1;
    match quiet(number, [fd, F_GETFL]) {
        Ok(flags) => record.token(format_args!("{:#o}", flags & !O_LARGEFILE)),
        failed => record.token(format_args!("{}", Outcome(failed))),
    }
}

/// `struct stat64` of 32-bit PowerPC: offsets of the mode, the device number and the size in bytes (kernel
/// `arch/powerpc/include/uapi/asm/stat.h`).
const STAT_LEN: u32 = 104;
const ST_MODE: u32 = 16;
const ST_RDEV: u32 = 32;
const ST_SIZE: u32 = 48;
/// Mask of the kind of file in a mode.
const S_IFMT: u32 = 0o170_000;

/// Kind, device number and size, which do not depend on who made the file and when.
fn show_status(record: &mut Record, status: u32) {
    let (kind, device) = (word(status + ST_MODE) & S_IFMT, word(status + ST_RDEV + 4));
    match kind {
        0o020_000 => record.token(format_args!("{kind:o}-{}:{}", device >> 8, device & 255)),
        // What a directory's or a pipe's size means is the file system's own.
        0o040_000 => record.token(format_args!("{kind:o}")),
        _ => record.token(format_args!("{kind:o}-{}", word(status + ST_SIZE + 4))),
    }
}

/// fstat64, stat64, lstat64, fstatat64.
pub fn status(ground: &Ground, record: &mut Record) {
    ground.restore_file();
    ground.drain();
    let place = ground.table;
    record.begin(format_args!("fstat64"));
    for &descriptor in &ground.descriptors {
        if record.call(FSTAT64, [descriptor.number, place]).is_ok() {
            show_status(record, place);
        }
    }
    record.end();
    for (name, number) in [("stat64", STAT64), ("lstat64", LSTAT64)] {
        record.begin(format_args!("{name}"));
        for path in [
            ground.path,
            c"/dev/zero",
            c"/dev/null",
            c"/dev/full",
            c"/dev//./zero",
            c"/dev/../dev/null",
            c"/dev",
            c"/",
            c"/tmp",
            c"",
            c"/missing",
            c"/missing/file",
            c"/dev/zero/file",
            c"/dev/zero/",
        ] {
            if record.call(number, [text(path), place]).is_ok() {
                show_status(record, place);
            }
        }
        for path in [0, ground.hole, KERNEL_PATH] {
            let _ = record.call(number, [path, place]);
        }
        let _ = record.call(number, [text(c"/dev/zero"), 0]);
        let _ = record.call(number, [text(c"/dev/zero"), ground.hole]);
        record.end();
    }
    record.begin(format_args!("fstatat64"));
    let here = (-100i32).cast_unsigned();
    for (directory, path, flags) in [
        (here, c"/dev/zero", 0),
        (here, c"/dev/zero", 0x100),
        (here, c"/dev/zero", 1),
        (MINUS_1, c"/dev/zero", 0),
        (MINUS_1, c"zero", 0),
        (ground.fd("dir"), c"zero", 0),
        (ground.fd("dir"), c"missing", 0),
        (ground.fd("zero"), c"zero", 0),
        (ground.fd("file"), c"", 0x1000),
        (ground.fd("zero"), c"", 0x1000),
        (ground.fd("zero"), c"", 0),
        (here, c"", 0),
    ] {
        if record.call(FSTATAT64, [directory, text(path), place, flags]).is_ok() {
            show_status(record, place);
        }
    }
    record.end();
    record.begin(format_args!("size follows the file"));
    let file = ground.fd("file");
    for length in [0, 1, 4096, 10_000, 100] {
        let _ = record.call(FTRUNCATE64, [file, 0, 0, length]);
        if record.call(FSTAT64, [file, place]).is_ok() {
            show_status(record, place);
        }
        ground.digest_file(record);
    }
    bytes(place, STAT_LEN).fill(0);
    record.end();
}

/// An address in the kernel, as a path.
const KERNEL_PATH: u32 = super::ground::KERNEL;

/// ioctl.
pub fn ioctls(ground: &Ground, record: &mut Record) {
    let place = ground.table;
    for &descriptor in &ground.descriptors {
        record.begin(format_args!("ioctl {}", descriptor.name));
        ground.restore(descriptor.kind, true);
        let fd = descriptor.number;
        let _ = record.call(IOCTL, [fd, TCGETS, place]);
        // What is left to read is known of files and pipes.
        put_words(place, &[0]);
        if record.call(IOCTL, [fd, FIONREAD, place]).is_ok() {
            record.token(format_args!("{}", word(place)));
        }
        for value in [1, 0] {
            put_words(place, &[value]);
            let _ = record.call(IOCTL, [fd, FIONBIO, place]);
            status_flags(record, FCNTL64, fd);
        }
        put_words(place, &[1]);
        let _ = quiet(IOCTL, [fd, FIONBIO, place]);
        for request in [FIOCLEX, FIONCLEX] {
            let _ = record.call(IOCTL, [fd, request]);
            let _ = record.call(FCNTL64, [fd, F_GETFD]);
        }
        record.end();
    }
}

/// Events of `poll`, `revents` included.
const EVENTS: [u16; 5] = [0, 1, 4, 5, 0x3f];

/// poll.
pub fn readiness(ground: &Ground, record: &mut Record) {
    let place = ground.table;
    let poll = |record: &mut Record, entries: &[(u32, u16)]| {
        for (index, (fd, events)) in entries.iter().enumerate() {
            put_words(place + 8 * index as u32, &[*fd, u32::from(*events) << 16 | 0xa5a5]);
        }
        let made = record.call(POLL, [place, entries.len() as u32, 0]);
        for index in 0..entries.len() as u32 {
            if made.is_ok() {
                record.token(format_args!("{:x}", word(place + 8 * index + 4) & 0xffff));
            }
        }
    };
    for &descriptor in ground.descriptors.iter().filter(|entry| entry.kind != Kind::Directory) {
        record.begin(format_args!("poll {}", descriptor.name));
        for filled in [false, true] {
            ground.restore(descriptor.kind, filled);
            for events in EVENTS {
                poll(record, &[(descriptor.number, events)]);
            }
        }
        record.end();
    }
    record.begin(format_args!("poll lists"));
    poll(record, &[]);
    let (zero, null, closed) = (ground.fd("zero"), ground.fd("null"), CLOSED);
    poll(record, &[(zero, 5), (null, 5), (closed, 5), (MINUS_1, 5)]);
    poll(record, &[(MINUS_1, 5), (zero, 0)]);
    let many = [(zero, 1); 100];
    poll(record, &many);
    for (address, count) in [
        (0, 0),
        (0, 1),
        (ground.hole, 1),
        (ground.hole, 0),
        (place, DESCRIPTORS + 1),
        (place, MINUS_1),
    ] {
        let _ = record.call(POLL, [address, count, 0]);
    }
    record.end();
}
