//! A long sequence of calls drawn from a generator: what one leaves, the next finds.

use super::ground::{Ground, Kind, bytes, put_words};
use super::record::Record;
use crate::user::linux::number::*;

/// Rows, and calls of a row.
const ROWS: u32 = 250;
const CALLS: u32 = 8;

/// Offsets of writes end here, so that the file stays short.
const FILE_MOST: u32 = 20_000;

/// A linear congruential generator (constants of Numerical Recipes); the low bits are not used.
struct Generator(u32);

impl Generator {
    /// A number below `most`.
    fn below(&mut self, most: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) % most
    }

    /// A length: mostly short, sometimes around a page.
    fn length(&mut self) -> u32 {
        let most = [4, 40, 600, 4200][self.below(4) as usize];
        self.below(most)
    }
}

/// Draws calls on files, devices and a pipe.
pub fn mixed(ground: &Ground, record: &mut Record) {
    let mut random = Generator(2020);
    let names = [
        "zero", "null", "full", "file", "file-r", "file-w", "file-a", "pipe-r", "pipe-w",
    ];
    ground.restore(Kind::File, false);
    ground.restore(Kind::PipeReader, false);
    for row in 0..ROWS {
        record.begin(format_args!("mixed {row}"));
        bytes(ground.buffer, 4400).fill(0xa5);
        for _ in 0..CALLS {
            let fd = ground.fd(names[random.below(names.len() as u32) as usize]);
            let (length, offset) = (random.length(), random.below(FILE_MOST));
            let (target, source) = (ground.buffer + random.below(64), ground.source + random.below(64));
            let _ = match random.below(12) {
                0 | 1 => record.call(READ, [fd, target, length]),
                2 | 3 => record.call(WRITE, [fd, source, length]),
                4 => record.call(PREAD64, [fd, target, length, 0, 0, offset]),
                5 => record.call(PWRITE64, [fd, source, length, 0, 0, offset]),
                6 => record.call(LSEEK, [fd, offset, 0]),
                7 => record.call(LSEEK, [fd, (random.below(200) as i32 - 100).cast_unsigned(), 1]),
                8 => record.call(FTRUNCATE64, [fd, 0, 0, offset]),
                kind => {
                    let vector = ground.table + 64;
                    // Never none: an emulation takes that for done before it looks at the descriptor.
                    let count = 1 + random.below(6);
                    let base = if kind % 2 == 0 { target } else { source };
                    for index in 0..count {
                        let segment = [base + random.below(200), random.below(300)];
                        put_words(vector + 8 * index, &segment);
                    }
                    match kind {
                        9 => record.call(WRITEV, [fd, vector, count]),
                        10 => record.call(READV, [fd, vector, count]),
                        _ => record.call(PWRITEV, [fd, vector, count, offset, 0]),
                    }
                }
            };
        }
        ground.digest_buffer(record, 4400);
        ground.digest_file(record);
        record.end();
    }
}
