//! read, write and their kin: every descriptor with lists of buffers, vectors, offsets and flags.

use super::ground::{BUFFER_LEN, Descriptor, Ground, KERNEL, MINUS_1, TASK_SIZE, bytes, put_words};
use super::record::{Record, quiet};
use crate::user::linux::number::*;

/// A segment of a vector: address and bytes.
type Segment = (u32, u32);

/// Calls with one buffer; whether they write to the file; whether an offset follows.
const PLAIN: [(&str, u32, bool, bool); 4] = [
    ("read", READ, false, false),
    ("write", WRITE, true, false),
    ("pread64", PREAD64, false, true),
    ("pwrite64", PWRITE64, true, true),
];

/// Calls with a vector; whether they write; whether offset and flags follow.
const VECTOR: [(&str, u32, bool, bool); 4] = [
    ("readv", READV, false, false),
    ("writev", WRITEV, true, false),
    ("preadv", PREADV, false, true),
    ("pwritev", PWRITEV, true, true),
];

const VECTOR2: [(&str, u32, bool); 2] = [("preadv2", PREADV2, false), ("pwritev2", PWRITEV2, true)];

/// Offsets of positional calls: within, at the end, beyond, beyond 32 bits, negative. Files of every system end before
/// the largest, so that nothing is written there.
const OFFSETS: [u64; 10] = [
    0,
    1,
    3990,
    4000,
    5000,
    0x1_0000_0003,
    i64::MAX as u64 - 5,
    i64::MAX as u64,
    u64::MAX,
    1 << 63,
];

/// Whether a write there makes a file too long to be read back.
fn is_far(offset: u64, writes: bool) -> bool {
    writes && (1 << 20..i64::MAX as u64 - 5).contains(&offset)
}

fn high(offset: u64) -> u32 {
    (offset >> 32) as u32
}

/// One transfer: first state, call, digest.
fn transfer<const N: usize>(
    ground: &Ground,
    record: &mut Record,
    descriptor: Descriptor,
    writes: bool,
    number: u32,
    arguments: [u32; N],
) {
    ground.restore(descriptor.kind, !writes);
    // Where nothing is written, only the buffer can change.
    if record.call(number, arguments).is_ok() || !writes {
        ground.digest_buffer(record, if writes { 0 } else { 600 });
    }
    ground.digest_behind(record, descriptor, writes);
}

/// Good buffers, and bad ones where every system has to look at them.
pub fn plain(ground: &Ground, record: &mut Record) {
    for (name, number, writes, has_offset) in PLAIN {
        for &descriptor in &ground.descriptors {
            let buffer = if writes { ground.source } else { ground.buffer };
            record.begin(format_args!("{name} {}", descriptor.name));
            if has_offset {
                for offset in OFFSETS.into_iter().filter(|offset| !is_far(*offset, writes)) {
                    for length in [10, 0] {
                        let arguments = [descriptor.number, buffer, length, 0, high(offset), offset as u32];
                        transfer(ground, record, descriptor, writes, number, arguments);
                    }
                }
            } else {
                let lengths = [0, 1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 100, 255, 256, 511, 512, 513];
                for length in lengths.into_iter().chain([4095, 4096, 4097, BUFFER_LEN]) {
                    transfer(
                        ground,
                        record,
                        descriptor,
                        writes,
                        number,
                        [descriptor.number, buffer, length],
                    );
                }
                for misalignment in [1, 2, 3, 7, 15, 31] {
                    let arguments = [descriptor.number, buffer + misalignment, 77];
                    transfer(ground, record, descriptor, writes, number, arguments);
                }
                let arguments = [descriptor.number, ground.edge - 64, 64];
                transfer(ground, record, descriptor, writes, number, arguments);
            }
            record.end();
        }
        // Files that look at every byte, so that a bad buffer is an error however early a system checks it.
        let names: &[&str] = if writes {
            &["file", "file-a"]
        } else {
            &["zero", "full", "file"]
        };
        for &descriptor in ground.descriptors.iter().filter(|entry| names.contains(&entry.name)) {
            record.begin(format_args!("{name} {} bad buffer", descriptor.name));
            for (address, length) in [
                (0, 0),
                (0, 1),
                (0, 64),
                (ground.hole, 4),
                (ground.hole + 3, 64),
                (ground.edge, 64),
                (MINUS_1, 1),
                (0xffff_f000, 4096),
                (KERNEL, 16),
            ] {
                let arguments = [descriptor.number, address, length, 0, 0, 8];
                transfer(ground, record, descriptor, writes, number, arguments);
            }
            record.end();
        }
    }
}

/// Puts a vector into the table; gives its address and the number of its segments.
fn put_vector(ground: &Ground, segments: &[Segment]) -> (u32, u32) {
    for (index, (base, length)) in segments.iter().enumerate() {
        put_words(ground.table + 64 + 8 * index as u32, &[*base, *length]);
    }
    (ground.table + 64, segments.len() as u32)
}

/// Shapes of vectors: offsets into a good buffer, and bytes.
const SHAPES: [&[Segment]; 12] = [
    &[(0, 0)],
    &[(0, 1)],
    &[(0, 512)],
    &[(0, 100), (100, 0), (150, 50)],
    &[(0, 0), (0, 1)],
    &[(0, 0), (0, 0), (5, 3), (9, 0)],
    &[(0, 1), (2, 1), (4, 1), (6, 1), (8, 1), (10, 1), (12, 1), (14, 1)],
    &[(0, 50), (25, 50)],
    &[(200, 10), (0, 10), (100, 10)],
    &[(3, 7), (17, 129), (200, 1), (211, 64)],
    &[(0, 3), (10, 0), (20, 1)],
    &[(0, 4096), (4096, 4096)],
];

/// A shape laid over the buffer at `base`.
fn at(base: u32, shape: &[Segment]) -> alloc::vec::Vec<Segment> {
    shape.iter().map(|(offset, length)| (base + offset, *length)).collect()
}

/// Good vectors, and bad counts.
pub fn vectors(ground: &Ground, record: &mut Record) {
    for (name, number, writes, has_offset) in VECTOR {
        for &descriptor in &ground.descriptors {
            let base = if writes { ground.source } else { ground.buffer };
            let fd = descriptor.number;
            record.begin(format_args!("{name} {}", descriptor.name));
            for shape in SHAPES {
                let (vector, count) = put_vector(ground, &at(base, shape));
                transfer(ground, record, descriptor, writes, number, [fd, vector, count, 8, 0]);
            }
            if has_offset {
                let (vector, count) = put_vector(ground, &[(base, 10), (base + 20, 5)]);
                for offset in OFFSETS.into_iter().filter(|offset| !is_far(*offset, writes)) {
                    let arguments = [fd, vector, count, offset as u32, high(offset)];
                    transfer(ground, record, descriptor, writes, number, arguments);
                }
            }
            record.end();
        }
        // Bad vectors and counts, where every system has to look at them.
        let names = if writes { ["file", "file-a"] } else { ["zero", "file"] };
        for &descriptor in ground.descriptors.iter().filter(|entry| names.contains(&entry.name)) {
            let base = if writes { ground.source } else { ground.buffer };
            let fd = descriptor.number;
            record.begin(format_args!("{name} {} bad vector", descriptor.name));
            for (vector, count) in [(0, 0), (0, 1), (ground.hole, 1), (KERNEL, 1), (ground.edge, 1)] {
                transfer(ground, record, descriptor, writes, number, [fd, vector, count, 0, 0]);
            }
            let vector = ground.table + 64;
            put_many(ground, 1025, (base, 1));
            for count in [1024, 1025, MINUS_1, 0x8000_0000, 0x4000_0000, 0x2000_0001] {
                transfer(ground, record, descriptor, writes, number, [fd, vector, count, 0, 0]);
            }
            put_many(ground, 1025, (base, 0));
            for count in [1024, 1025] {
                transfer(ground, record, descriptor, writes, number, [fd, vector, count, 0, 0]);
            }
            for segments in [
                &[(ground.hole, 8), (base, 8)][..],
                &[(0, 1)],
                &[(0, 0), (base, 4), (0, 0)],
                &[(base, 0x8000_0000)],
                &[(base, 8), (base, MINUS_1)],
                &[(MINUS_1, 1)],
                &[(KERNEL, 64)],
            ] {
                let (vector, count) = put_vector(ground, segments);
                transfer(ground, record, descriptor, writes, number, [fd, vector, count, 0, 0]);
            }
            record.end();
        }
    }
}

/// Fills the table with equal segments.
fn put_many(ground: &Ground, count: u32, (base, length): Segment) {
    for index in 0..count {
        put_words(ground.table + 64 + 8 * index, &[base, length]);
    }
}

/// Calls that a user-mode emulation answers itself: it looks at buffers before descriptors, takes partly good buffers for
/// bad ones, and knows no kernel addresses.
pub fn limits(ground: &Ground, record: &mut Record) {
    let edge = ground.edge;
    for (name, number, writes, _) in PLAIN {
        for &descriptor in &ground.descriptors {
            let buffer = if writes { ground.source } else { ground.buffer };
            record.begin(format_args!("{name} {} limits", descriptor.name));
            // What earlier reads left there, when they ran over the edge, differs between systems.
            bytes(edge - 2 * ground.page, 2 * ground.page).fill(0x3c);
            for (address, length) in [
                (0, 0),
                (0, 10),
                (ground.hole, 0),
                (ground.hole, 64),
                (edge - 5, 64),
                (edge - 37, 100),
                (edge - 64, 65),
                (edge - 5000, 9000),
                (edge, 0),
                (ground.read_only, 16),
                (TASK_SIZE - 1, 0),
                (TASK_SIZE - 1, 2),
                (KERNEL, 0),
                (KERNEL, 64),
                (MINUS_1, 0),
                (MINUS_1, 1),
                (buffer, 0x7fff_ffff),
                (buffer, 0x8000_0000),
                (buffer, MINUS_1),
                (0, 0x8000_0000),
            ] {
                let arguments = [descriptor.number, address, length, 0, 0, 8];
                transfer(ground, record, descriptor, writes, number, arguments);
            }
            record.end();
        }
    }
    for (name, number, writes, _) in VECTOR {
        for &descriptor in &ground.descriptors {
            let (base, fd) = (if writes { ground.source } else { ground.buffer }, descriptor.number);
            record.begin(format_args!("{name} {} limits", descriptor.name));
            // What earlier reads left there, when they ran over the edge, differs between systems.
            bytes(edge - 2 * ground.page, 2 * ground.page).fill(0x3c);
            for segments in [
                &[][..],
                &[(0, 5), (base, 5)],
                &[(base, 10), (ground.hole, 6)],
                &[(base, 10), (edge - 5, 64), (base + 20, 4)],
                &[(ground.hole, 0), (base, 4)],
                &[(base, 4), (KERNEL, 0)],
                &[(base, 4), (KERNEL, 4)],
                &[(base, MINUS_1)],
                &[(0, 0x7fff_ffff), (0, 0x7fff_ffff)],
            ] {
                let (vector, count) = put_vector(ground, segments);
                transfer(ground, record, descriptor, writes, number, [fd, vector, count, 8, 0]);
            }
            // A vector whose last entry ends where nothing more is.
            let last = edge - 24;
            put_words(last, &[base, 4, base + 4, 0, base + 8, 6]);
            for (vector, count) in [(last, 3), (last, 4), (0, 1), (KERNEL, 0), (0, MINUS_1)] {
                transfer(ground, record, descriptor, writes, number, [fd, vector, count, 8, 0]);
            }
            record.end();
        }
    }
    // Where a range is checked by halves, a read that is too long has run over everything behind the buffer.
    ground.fill_source();
}

/// A write that runs into a bad page must leave alone what the file holds behind the bytes that it counts (U-037): their
/// number is shown.
pub fn behind_a_fault(ground: &Ground, record: &mut Record) {
    let file = ground.fd("file");
    record.begin(format_args!("bytes changed behind a write that faults"));
    for good in [1, 5, 16, 31, 37, 100] {
        ground.restore_file();
        let _ = record.call(WRITE, [file, ground.edge - good, 200]);
        let start = ground.position(file) as u32;
        let room = ground.buffer;
        let changed = match quiet(PREAD64, [file, room, 400, 0, 0, start]) {
            Ok(count) => bytes(room, count)
                .iter()
                .zip(bytes(ground.source + start, count).iter())
                .filter(|(found, wanted)| found != wanted)
                .count(),
            Err(_) => 0,
        };
        record.token(format_args!("+{changed}"));
    }
    record.end();
}

/// Nothing, at the first address above user space: refused by kernels whose limit is the last user address, as long as
/// there was `set_fs`, and good since.
pub fn at_the_limit(ground: &Ground, record: &mut Record) {
    record.begin(format_args!("no bytes at the limit"));
    for (_, number, ..) in PLAIN {
        for name in ["zero", "null"] {
            let _ = record.call(number, [ground.fd(name), TASK_SIZE, 0, 0, 0, 0]);
        }
    }
    record.end();
}

/// The calls with flags, which not every emulation passes on.
pub fn flags(ground: &Ground, record: &mut Record) {
    for (name, number, writes) in VECTOR2 {
        for &descriptor in &ground.descriptors {
            let (base, fd) = (if writes { ground.source } else { ground.buffer }, descriptor.number);
            record.begin(format_args!("{name} {}", descriptor.name));
            let (vector, count) = put_vector(ground, &[(base, 10), (base + 20, 0), (base + 30, 5)]);
            // High priority, data and file synchronised, append, unknown. The third, without waiting, is the file
            // system's choice.
            for flags in [0, 1, 2, 4, 6, 0x10, 0x400, 0x8000_0000] {
                if flags == 0x10 && !writes {
                    continue;
                }
                for offset in [8, u64::MAX] {
                    let arguments = [fd, vector, count, offset as u32, high(offset), flags];
                    transfer(ground, record, descriptor, writes, number, arguments);
                }
            }
            for (vector, count) in [(vector, 0), (vector, 1025), (ground.hole, 1), (vector, MINUS_1)] {
                transfer(ground, record, descriptor, writes, number, [fd, vector, count, 8, 0, 0]);
            }
            record.end();
        }
    }
}
