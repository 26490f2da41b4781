//! The copying itself: positions, blocks, conversions, bookkeeping.
#![forbid(unsafe_code)]

use super::operands::{Limit, Operands};
use super::report::Records;
use crate::user::errno::Errno;
use crate::user::sys::{Fd, Sys, Whence, write_all, write_rest};
use alloc::vec::Vec;

/// Why copying stopped early. Which file it concerns is in the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A block buffer of this many bytes could not be had.
    NoMemory(usize),
    /// Reading the input failed.
    Read(Errno),
    /// `conv=noerror`, but the input cannot be moved past the bad block.
    PassBadBlock(Errno),
    /// Writing the output failed.
    Write(Errno),
    /// The output cannot be cut to its starting length.
    Truncate(Errno),
    /// The output cannot be moved to its starting offset.
    Seek(Errno),
    /// `conv=fsync` failed.
    Sync(Errno),
    /// `conv=swab` met an odd block before the last one: this many bytes.
    OddSwab(usize),
}

/// Block buffers of one copy.
pub struct Buffers {
    input: Vec<u8>,
    /// Empty when input and output blocks are of one size: blocks then go out as they came in.
    output: Vec<u8>,
}

impl Buffers {
    /// Allocates what `operands` need.
    ///
    /// # Errors
    /// [`Failure::NoMemory`].
    pub fn new(operands: &Operands<'_>) -> Result<Buffers, Failure> {
        let output_len = if operands.input_block == operands.output_block {
            0
        } else {
            operands.output_block
        };
        Ok(Buffers {
            input: zeroed(operands.input_block)?,
            output: zeroed(output_len)?,
        })
    }
}

fn zeroed(len: usize) -> Result<Vec<u8>, Failure> {
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(len).map_err(|_| Failure::NoMemory(len))?;
    buffer.resize(len, 0);
    Ok(buffer)
}

/// Cuts the output at its starting offset (unless `conv=notrunc`) and moves there.
///
/// # Errors
/// [`Failure::Truncate`] and [`Failure::Seek`].
pub fn seek_output<S: Sys>(sys: &mut S, operands: &Operands<'_>, output: Fd) -> Result<(), Failure> {
    let bytes = operands.seek_bytes;
    if bytes == 0 {
        return Ok(());
    }
    if operands.output.is_some() && !operands.conversions.notrunc {
        match sys.truncate(output, bytes) {
            // What is no regular file has no length to set, and a system without the call has no such files.
            Ok(()) | Err(Errno::EINVAL | Errno::ENOSYS) => {}
            Err(error) => return Err(Failure::Truncate(error)),
        }
    }
    sys.seek(output, bytes.cast_signed(), Whence::Current)
        .map(drop)
        .map_err(Failure::Seek)
}

/// Moves the input past `skip=`, by a seek or else by reading. Returns whether the input was long enough.
///
/// # Errors
/// [`Failure::Read`].
pub fn skip_input<S: Sys>(
    sys: &mut S,
    operands: &Operands<'_>,
    input: Fd,
    buffers: &mut Buffers,
) -> Result<bool, Failure> {
    if operands.skip == 0 {
        return Ok(true);
    }
    let unit = operands.skip_unit();
    // The operands are checked: this is at most the largest offset.
    let distance = operands.skip * unit as u64;
    match seek_within(sys, input, distance) {
        Ok(reached) => Ok(reached),
        Err(_) => skip_by_reading(sys, operands, input, &mut buffers.input),
    }
}

/// Seeks forward; returns false when that is past the end of a file that has one. (A device such as /dev/zero stays at
/// offset 0.)
fn seek_within<S: Sys>(sys: &mut S, fd: Fd, distance: u64) -> Result<bool, Errno> {
    let start = sys.seek(fd, 0, Whence::Current)?;
    let target = start
        .checked_add(distance)
        .and_then(|target| i64::try_from(target).ok())
        .ok_or(Errno::EOVERFLOW)?;
    let end = sys.seek(fd, 0, Whence::End)?;
    let position = sys.seek(fd, target, Whence::Start)?;
    Ok(position != target.cast_unsigned() || position <= end)
}

/// Reads and drops `skip=` blocks, a short read counting as one as everywhere in `dd`, or bytes.
fn skip_by_reading<S: Sys>(
    sys: &mut S,
    operands: &Operands<'_>,
    input: Fd,
    buffer: &mut [u8],
) -> Result<bool, Failure> {
    let mut left = operands.skip;
    while left > 0 {
        let wanted = if operands.input_flags.skip_bytes {
            usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len())
        } else {
            buffer.len()
        };
        let first = sys.read(input, &mut buffer[..wanted]);
        let count = read_rest(sys, input, &mut buffer[..wanted], operands.input_flags.fullblock, first)
            .map_err(Failure::Read)?;
        if count == 0 {
            return Ok(false);
        }
        left -= if operands.input_flags.skip_bytes {
            count as u64
        } else {
            1
        };
    }
    Ok(true)
}

/// Copies block after block up to the limit, the end of the input, or a failure. The records tell what was moved in
/// each case; data that came in before a failure of the input still go out.
///
/// `warn` is called for each bad block that `conv=noerror` passes over.
pub fn copy<S: Sys>(
    sys: &mut S,
    operands: &Operands<'_>,
    files @ (input, output): (Fd, Fd),
    buffers: &mut Buffers,
    mut warn: impl FnMut(&mut S, Errno),
) -> (Records, Result<(), Failure>) {
    let block = operands.input_block;
    let fullblock = operands.input_flags.fullblock;
    let conversions = operands.conversions;
    let reblock = !buffers.output.is_empty();
    // Nothing to be done between a whole block's read and its write.
    let plain = !(reblock || conversions.swab || operands.input_flags.count_bytes);
    // 2^64 - 1 blocks are as good as no limit.
    let (mut left, in_bytes) = match operands.limit {
        Limit::Unlimited => (u64::MAX, false),
        Limit::Blocks(blocks) => (blocks, false),
        Limit::Bytes(bytes) => (bytes, true),
    };
    let mut records = Records::default();
    let mut pending = 0;
    let mut previous = 0;
    let mut outcome = loop {
        if left == 0 {
            break Ok(());
        }
        let wanted = if in_bytes && left < block as u64 {
            left as usize
        } else {
            block
        };
        let mut first_write = None;
        let first_read = if plain {
            let (blocks, other) = move_whole_blocks(sys, files, &mut buffers.input, left);
            left -= blocks;
            records.add_whole(blocks, block);
            match other {
                None => break Ok(()),
                Some(Other::Read(result)) => result,
                Some(Other::Write(result)) => {
                    first_write = Some(result);
                    Ok(block)
                }
            }
        } else {
            sys.read(input, &mut buffers.input[..wanted])
        };
        let mut count = match read_rest(sys, input, &mut buffers.input[..wanted], fullblock, first_read) {
            Ok(0) => break Ok(()),
            Ok(count) => count,
            Err(error) if conversions.noerror => {
                warn(sys, error);
                if let Err(error) = sys.seek(input, block as i64, Whence::Current) {
                    break Err(Failure::PassBadBlock(error));
                }
                // The bad block counts as a read that brought nothing.
                0
            }
            Err(error) => break Err(Failure::Read(error)),
        };
        left -= if in_bytes { count as u64 } else { 1 };
        if conversions.swab {
            if previous % 2 != 0 {
                break Err(Failure::OddSwab(previous));
            }
            previous = count;
            buffers.input[..count]
                .as_chunks_mut()
                .0
                .iter_mut()
                .for_each(|pair: &mut [u8; 2]| pair.swap(0, 1));
        }
        if count == block {
            records.in_full += 1;
        } else {
            records.in_partial += 1;
            if conversions.sync {
                buffers.input[count..].fill(0);
                count = block;
            }
        }
        let data = &buffers.input[..count];
        let written = if reblock {
            write_reblocked(sys, output, data, &mut buffers.output, &mut pending, &mut records)
        } else {
            let written = match first_write {
                Some(first) => write_rest(sys, output, data, first),
                None => write_all(sys, output, data),
            };
            count_write(data, block, &mut records, written)
        };
        if let Err(error) = written {
            pending = 0;
            break Err(Failure::Write(error));
        }
    };
    let rest = &buffers.output[..pending];
    let rest_written = count_write(rest, operands.output_block, &mut records, write_all(sys, output, rest));
    outcome = outcome.and(rest_written.map_err(Failure::Write));
    if conversions.fsync {
        outcome = outcome.and_then(|()| sys.sync(output).map_err(Failure::Sync));
    }
    (records, outcome)
}

/// A call that did not move one whole block, with its result.
enum Other {
    Read(Result<usize, Errno>),
    /// The read before it brought a whole block.
    Write(Result<usize, Errno>),
}

/// The loop that is measured: moves whole blocks, at most `limit`, until a call does anything else. Returns how many
/// went in and out, and that other call; `None` when the limit was reached.
#[inline(never)]
fn move_whole_blocks<S: Sys>(
    sys: &mut S,
    (input, output): (Fd, Fd),
    block: &mut [u8],
    limit: u64,
) -> (u64, Option<Other>) {
    let mut moved = 0;
    while moved < limit {
        // Counting in 64 bits would lengthen the loop by a fifth.
        let run = u32::try_from(limit - moved).unwrap_or(u32::MAX);
        for done in 0..run {
            let result = sys.read(input, block);
            if result != Ok(block.len()) {
                return (moved + u64::from(done), Some(Other::Read(result)));
            }
            let result = sys.write(output, block);
            if result != Ok(block.len()) {
                return (moved + u64::from(done), Some(Other::Write(result)));
            }
        }
        moved += u64::from(run);
    }
    (limit, None)
}

/// Completes a block whose first read gave `first`: with `fullblock`, reads until the buffer is full or the input ends.
/// An error after some bytes shows in the next read.
fn read_rest<S: Sys>(
    sys: &mut S,
    fd: Fd,
    buffer: &mut [u8],
    fullblock: bool,
    first: Result<usize, Errno>,
) -> Result<usize, Errno> {
    let mut done = 0;
    let mut result = first;
    loop {
        match result {
            Ok(0) => return Ok(done),
            Ok(count) => {
                done += count;
                if !fullblock || done >= buffer.len() {
                    return Ok(done);
                }
            }
            Err(Errno::EINTR) => {}
            Err(_) if done > 0 => return Ok(done),
            Err(error) => return Err(error),
        }
        result = sys.read(fd, &mut buffer[done..]);
    }
}

/// Counts the writing of `data`, which is at most one output block of `block` bytes.
fn count_write(
    data: &[u8],
    block: usize,
    records: &mut Records,
    written: Result<(), (usize, Errno)>,
) -> Result<(), Errno> {
    let (done, outcome) = match written {
        Ok(()) => (data.len(), Ok(())),
        Err((done, error)) => (done, Err(error)),
    };
    records.bytes += done as u64;
    if done == block {
        records.out_full += 1;
    } else if done > 0 {
        records.out_partial += 1;
    }
    outcome
}

/// Gathers `data` in `gathered`, of which `pending` bytes are taken, and writes each block that is complete.
fn write_reblocked<S: Sys>(
    sys: &mut S,
    fd: Fd,
    mut data: &[u8],
    gathered: &mut [u8],
    pending: &mut usize,
    records: &mut Records,
) -> Result<(), Errno> {
    while !data.is_empty() {
        let count = data.len().min(gathered.len() - *pending);
        gathered[*pending..*pending + count].copy_from_slice(&data[..count]);
        *pending += count;
        data = &data[count..];
        if *pending == gathered.len() {
            *pending = 0;
            count_write(gathered, gathered.len(), records, write_all(sys, fd, gathered))?;
        }
    }
    Ok(())
}
