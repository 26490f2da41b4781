//! Pipes, and what moves bytes without user memory: splice, tee, vmsplice, sendfile64.

use super::ground::{CLOSED, Ground, KERNEL, Kind, MINUS_1, O_CLOEXEC, O_NONBLOCK, bytes, put_words, word};
use super::record::{Record, quiet};
use crate::user::errno::Errno;
use crate::user::linux::number::*;

/// `FIONREAD` of 32-bit PowerPC.
const FIONREAD: u32 = 0x4004_667f;
const F_GETFD: u32 = 1;
const F_GETFL: u32 = 3;
/// `SPLICE_F_NONBLOCK`.
const NONBLOCK: u32 = 2;

/// A pipe that never blocks.
fn make_pipe(ground: &Ground) -> Result<[u32; 2], Errno> {
    quiet(PIPE2, [ground.table, O_NONBLOCK])?;
    Ok([word(ground.table), word(ground.table + 4)])
}

fn close(ends: [u32; 2]) {
    for end in ends {
        let _ = quiet(CLOSE, [end]);
    }
}

/// Reads a pipe empty; shows how much came, and takes it into the digest.
fn drain(ground: &Ground, record: &mut Record, reader: u32) {
    let room = ground.buffer;
    while let Ok(count @ 1..) = record.call(READ, [reader, room, 5000]) {
        record.digest(bytes(room, count));
    }
}

/// pipe, pipe2, and reads and writes of pipes.
pub fn pipes(ground: &Ground, record: &mut Record) {
    record.begin(format_args!("pipe2 flags"));
    for flags in [0, O_NONBLOCK, O_CLOEXEC, O_NONBLOCK | O_CLOEXEC, 1, 2] {
        if record.call(PIPE2, [ground.table, flags]).is_ok() {
            let ends = [word(ground.table), word(ground.table + 4)];
            for end in ends {
                record.token(format_args!("{end}"));
                let _ = record.call(FCNTL64, [end, F_GETFD]);
                let _ = record.call(FCNTL64, [end, F_GETFL]);
            }
            close(ends);
        }
    }
    if record.call(PIPE, [ground.table]).is_ok() {
        close([word(ground.table), word(ground.table + 4)]);
    }
    record.end();

    record.begin(format_args!("pipe ends"));
    if let Ok([reader, writer]) = make_pipe(ground) {
        let _ = record.call(READ, [reader, ground.buffer, 1]);
        let _ = record.call(READ, [reader, ground.buffer, 0]);
        let _ = record.call(READ, [writer, ground.buffer, 1]);
        let _ = record.call(WRITE, [reader, ground.source, 1]);
        let _ = record.call(WRITE, [writer, ground.source, 0]);
        let _ = record.call(WRITE, [writer, ground.source, 5]);
        let _ = record.call(READ, [reader, ground.buffer, 3]);
        let _ = record.call(CLOSE, [writer]);
        let _ = record.call(READ, [reader, ground.buffer, 9]);
        let _ = record.call(READ, [reader, ground.buffer, 9]);
        let _ = record.call(CLOSE, [reader]);
        let _ = record.call(READ, [reader, ground.buffer, 9]);
    }
    if let Ok([reader, writer]) = make_pipe(ground) {
        let _ = record.call(WRITE, [writer, ground.source, 5]);
        let _ = record.call(CLOSE, [reader]);
        let _ = record.call(WRITE, [writer, ground.source, 5]);
        let _ = record.call(WRITE, [writer, ground.source, 0]);
        let _ = record.call(PWRITE64, [writer, ground.source, 5, 0, 0, 0]);
        let _ = record.call(CLOSE, [writer]);
    }
    record.end();

    // How much goes in before a pipe is full, by the size of the writes.
    for size in [1, 100, 512, 1000, 2048, 3000, 4095, 4096, 4097, 5000, 8192] {
        record.begin(format_args!("pipe filled by {size}"));
        if let Ok([reader, writer]) = make_pipe(ground) {
            let (mut total, mut count, mut last) = (0, 0u32, 0);
            while count < 5000
                && let Ok(written) = quiet(WRITE, [writer, ground.source, size])
            {
                (total, count, last) = (total + written, count + 1, written);
            }
            record.calls += count + 1;
            record.token(format_args!("{count} {total} {last}"));
            let _ = record.call(WRITE, [writer, ground.source, 1]);
            let _ = record.call(READ, [reader, ground.buffer, 1]);
            let _ = record.call(WRITE, [writer, ground.source, 1]);
            let _ = record.call(READ, [reader, ground.buffer, 4095]);
            let _ = record.call(WRITE, [writer, ground.source, 3]);
            let _ = record.call(WRITE, [writer, ground.source, 8000]);
            if record.call(IOCTL, [reader, FIONREAD, ground.table]).is_ok() {
                record.token(format_args!("{}", word(ground.table)));
            }
            drain(ground, record, reader);
            close([reader, writer]);
        }
        record.end();
    }

    // A sequence of uneven sizes, so that pages of the pipe are shared and cut in many ways.
    let Ok([reader, writer]) = make_pipe(ground) else {
        return;
    };
    let mut seed = 12345u32;
    let mut next = |most: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) % most
    };
    for round in 0..40 {
        record.begin(format_args!("pipe sequence {round}"));
        for _ in 0..10 {
            let most = [16, 200, 4096, 8192][next(4) as usize];
            let size = next(most) + 1;
            if next(2) == 0 {
                let _ = record.call(WRITE, [writer, ground.source + next(31), size.min(8000)]);
            } else if let Ok(count) = record.call(READ, [reader, ground.buffer, size]) {
                record.digest(bytes(ground.buffer, count));
            }
        }
        record.end();
    }
    close([reader, writer]);
}

/// Offsets that a call may be given.
enum Offset {
    Null,
    At(u64),
}

/// Puts the offset at `place`; gives the pointer that the call gets.
fn put_offset(place: u32, offset: &Offset) -> u32 {
    match offset {
        Offset::Null => 0,
        Offset::At(value) => {
            put_words(place, &[(value >> 32) as u32, *value as u32]);
            place
        }
    }
}

/// What is left to see after a move: the offsets, the pipe, the file.
fn digest_after(ground: &Ground, record: &mut Record) {
    record.digest(bytes(ground.table + 32, 16));
    while let Ok(count @ 1..) = quiet(READ, [ground.fd("pipe-r"), ground.buffer, 8192]) {
        record.digest(bytes(ground.buffer, count));
    }
    for name in ["file", "file-r", "file-w"] {
        record.digest_number(ground.position(ground.fd(name)));
    }
    ground.digest_file(record);
}

/// splice with every pair of descriptors.
fn splice_pairs(ground: &Ground, record: &mut Record) {
    let (place_in, place_out) = (ground.table + 32, ground.table + 40);
    for &input in &ground.descriptors {
        record.begin(format_args!("splice from {}", input.name));
        for &output in &ground.descriptors {
            put_words(place_in, &[0; 4]);
            ground.restore(Kind::File, false);
            ground.restore(Kind::PipeReader, input.kind == Kind::PipeReader);
            let arguments = [input.number, 0, output.number, 0, 100, NONBLOCK];
            let _ = record.call(SPLICE, arguments);
            digest_after(ground, record);
        }
        record.end();
    }
    // Offsets and lengths.
    for (input, output) in [
        ("file", "pipe-w"),
        ("pipe-r", "file"),
        ("pipe-r", "null"),
        ("pipe-r", "file-a"),
    ] {
        record.begin(format_args!("splice {input} to {output}"));
        for length in [0, 1, 100, 5000, 0x7fff_ffff] {
            for (from, to) in [
                (Offset::Null, Offset::Null),
                (Offset::At(5), Offset::Null),
                (Offset::Null, Offset::At(5)),
                (Offset::At(u64::MAX), Offset::Null),
                (Offset::Null, Offset::At(u64::MAX)),
                (Offset::At(3999), Offset::Null),
                (Offset::At(4000), Offset::Null),
                (Offset::At(5000), Offset::Null),
            ] {
                put_words(place_in, &[0; 4]);
                ground.restore(Kind::File, false);
                ground.restore(Kind::PipeReader, input == "pipe-r");
                let (from, to) = (put_offset(place_in, &from), put_offset(place_out, &to));
                let arguments = [ground.fd(input), from, ground.fd(output), to, length, NONBLOCK];
                let _ = record.call(SPLICE, arguments);
                digest_after(ground, record);
            }
        }
        record.end();
    }
    record.begin(format_args!("splice flags"));
    for flags in [0, 1, 2, 4, 8, 15, 16, 0x8000_0000] {
        for (input, length) in [("file", 10), ("file", 0), ("closed", 0), ("closed", 10)] {
            ground.restore(Kind::File, false);
            ground.restore(Kind::PipeReader, false);
            let arguments = [ground.fd(input), 0, ground.fd("pipe-w"), 0, length, flags | NONBLOCK];
            let _ = record.call(SPLICE, arguments);
            digest_after(ground, record);
        }
    }
    record.end();
}

/// A second pipe: splices and tees between the two.
fn pipe_to_pipe(ground: &Ground, record: &mut Record) {
    let Ok([reader, writer]) = make_pipe(ground) else {
        return;
    };
    let (first_reader, first_writer) = (ground.fd("pipe-r"), ground.fd("pipe-w"));
    for (name, number) in [("splice", SPLICE), ("tee", TEE)] {
        record.begin(format_args!("{name} between pipes"));
        for length in [1, 20, 32, 100, 0] {
            ground.restore(Kind::PipeReader, true);
            let _ = match number {
                TEE => record.call(TEE, [first_reader, writer, length, NONBLOCK]),
                _ => record.call(SPLICE, [first_reader, 0, writer, 0, length, NONBLOCK]),
            };
            drain(ground, record, reader);
            drain(ground, record, first_reader);
        }
        record.end();
    }
    record.begin(format_args!("tee errors"));
    ground.restore(Kind::PipeReader, true);
    for (input, output) in [
        (first_reader, first_writer),
        (first_writer, writer),
        (first_reader, reader),
        (ground.fd("zero"), writer),
        (first_reader, ground.fd("zero")),
        (ground.fd("file"), writer),
        (CLOSED, writer),
        (first_reader, CLOSED),
        (MINUS_1, MINUS_1),
    ] {
        for (length, flags) in [(10, NONBLOCK), (0, NONBLOCK), (10, 16)] {
            let _ = record.call(TEE, [input, output, length, flags]);
        }
    }
    record.end();
    // From an empty pipe, into a full one, and where the other end is gone.
    record.begin(format_args!("empty and full pipes"));
    let _ = quiet(READ, [reader, ground.buffer, 8192]);
    ground.restore(Kind::PipeReader, false);
    let _ = record.call(SPLICE, [first_reader, 0, writer, 0, 10, NONBLOCK]);
    let _ = record.call(TEE, [first_reader, writer, 10, NONBLOCK]);
    let _ = record.call(SPLICE, [first_reader, 0, ground.fd("null"), 0, 10, NONBLOCK]);
    while quiet(WRITE, [writer, ground.source, 4096]).is_ok() {}
    ground.restore(Kind::PipeReader, true);
    let _ = record.call(SPLICE, [first_reader, 0, writer, 0, 10, NONBLOCK]);
    let _ = record.call(TEE, [first_reader, writer, 10, NONBLOCK]);
    let _ = record.call(SPLICE, [ground.fd("file"), 0, writer, 0, 10, NONBLOCK]);
    let _ = record.call(SENDFILE64, [writer, ground.fd("file"), 0, 10]);
    let _ = quiet(CLOSE, [reader]);
    let _ = record.call(SPLICE, [first_reader, 0, writer, 0, 10, NONBLOCK]);
    let _ = record.call(TEE, [first_reader, writer, 10, NONBLOCK]);
    let _ = record.call(SPLICE, [ground.fd("file"), 0, writer, 0, 10, NONBLOCK]);
    let _ = record.call(SENDFILE64, [writer, ground.fd("file"), 0, 10]);
    let _ = quiet(CLOSE, [writer]);
    if let Ok([reader, writer]) = make_pipe(ground) {
        let _ = quiet(CLOSE, [writer]);
        ground.restore(Kind::PipeReader, false);
        let _ = record.call(SPLICE, [reader, 0, first_writer, 0, 10, NONBLOCK]);
        let _ = record.call(TEE, [reader, first_writer, 10, NONBLOCK]);
        let _ = record.call(SPLICE, [reader, 0, ground.fd("file"), 0, 10, NONBLOCK]);
        let _ = quiet(CLOSE, [reader]);
    }
    record.end();
}

/// vmsplice.
fn from_memory(ground: &Ground, record: &mut Record) {
    let vector = ground.table + 64;
    record.begin(format_args!("vmsplice"));
    for &descriptor in &ground.descriptors {
        ground.restore(Kind::PipeReader, descriptor.kind == Kind::PipeReader);
        let base = if descriptor.kind == Kind::PipeReader {
            ground.buffer
        } else {
            ground.source
        };
        put_words(vector, &[base, 10, base + 100, 0, base + 200, 5]);
        for (count, flags) in [(3, NONBLOCK), (1025, NONBLOCK), (3, 16)] {
            // Which of two errors comes first an emulation decides otherwise.
            if count > 3 && descriptor.kind == Kind::None {
                continue;
            }
            let _ = record.call(VMSPLICE, [descriptor.number, vector, count, flags]);
            ground.digest_buffer(record, 300);
        }
        drain(ground, record, ground.fd("pipe-r"));
    }
    record.end();
}

/// sendfile64.
fn sendfiles(ground: &Ground, record: &mut Record) {
    let place = ground.table + 32;
    for &input in &ground.descriptors {
        record.begin(format_args!("sendfile64 from {}", input.name));
        for &output in &ground.descriptors {
            put_words(place, &[0; 4]);
            ground.restore(Kind::File, false);
            ground.restore(Kind::PipeReader, input.kind == Kind::PipeReader);
            let _ = record.call(SENDFILE64, [output.number, input.number, 0, 100]);
            digest_after(ground, record);
        }
        record.end();
    }
    for output in ["null", "pipe-w", "file-a", "full"] {
        record.begin(format_args!("sendfile64 file to {output}"));
        for count in [0, 1, 100, 4000, 5000, 0x7fff_ffff] {
            for offset in [
                Offset::Null,
                Offset::At(0),
                Offset::At(5),
                Offset::At(3999),
                Offset::At(5000),
                Offset::At(u64::MAX),
                Offset::At(i64::MAX as u64),
            ] {
                put_words(place, &[0; 4]);
                ground.restore(Kind::File, false);
                ground.restore(Kind::PipeReader, false);
                let offset = put_offset(place, &offset);
                let arguments = [ground.fd(output), ground.fd("file-r"), offset, count];
                let _ = record.call(SENDFILE64, arguments);
                digest_after(ground, record);
            }
        }
        record.end();
    }
    record.begin(format_args!("sendfile64 bad offsets"));
    for offset in [ground.hole, KERNEL, MINUS_1] {
        ground.restore(Kind::File, false);
        let arguments = [ground.fd("null"), ground.fd("file-r"), offset, 10];
        let _ = record.call(SENDFILE64, arguments);
        digest_after(ground, record);
    }
    record.end();
}

/// What a pipe holds of a file, when the file changes before the pipe is read.
fn later_changes(ground: &Ground, record: &mut Record) {
    let (reader, writer, file) = (ground.fd("pipe-r"), ground.fd("pipe-w"), ground.fd("file"));
    // U-145: bytes written behind a page of the file do not go into the page.
    record.begin(format_args!("splice, then write to the pipe"));
    ground.restore(Kind::File, false);
    ground.restore(Kind::PipeReader, false);
    while quiet(WRITE, [writer, ground.source, 4096]).is_ok() {}
    ground.drain();
    let _ = record.call(SPLICE, [file, 0, writer, 0, 1, NONBLOCK]);
    let _ = record.call(WRITE, [writer, ground.source, 16]);
    ground.digest_file(record);
    drain(ground, record, reader);
    record.end();
    // U-147
    record.begin(format_args!("splice, then write to the file"));
    ground.restore(Kind::File, false);
    let _ = record.call(SPLICE, [file, 0, writer, 0, 16, NONBLOCK]);
    let _ = record.call(PWRITE64, [file, ground.read_only, 16, 0, 0, 100]);
    drain(ground, record, reader);
    record.end();
}

/// All of them.
pub fn splices(ground: &Ground, record: &mut Record) {
    splice_pairs(ground, record);
    pipe_to_pipe(ground, record);
    from_memory(ground, record);
    sendfiles(ground, record);
    later_changes(ground, record);
}
