use super::*;
use crate::addr::{PAGE_SIZE, UserAddr};
use crate::arch::host;
use crate::errno::Errno;
use crate::policy::{Debug, General};
use crate::uaccess::access_ok;
use std::vec;
use std::vec::Vec;

const AREA: u32 = 0x1000_0000;
/// The holes and empty entries of U-085.
const TABLE: [(usize, usize); 8] = [
    (2, 2),
    (0x27, 0x300),
    (0x519, 0x1879),
    (0x2000, 0x2000),
    (0x2000, 0x2400),
    (0x2400, 0x2701),
    (0x2900, 0x3ffb),
    (0x3ffd, 0x3ffe),
];
const SIZE: usize = 0x4000;

/// `pages` writable pages at [`AREA`], then nothing.
fn map(pages: u32, fill: u8) {
    host::reset();
    for page in 0..pages {
        host::map(AREA + page * PAGE_SIZE, true, fill);
    }
}

fn range(address: u32, length: u32) -> UserRange {
    access_ok::<General>(UserAddr::new(address), length).expect("user space")
}

fn counter(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index % 251) as u8 + 1).collect()
}

fn total() -> usize {
    TABLE.iter().map(|(from, to)| to - from).sum()
}

/// What the buffer holds when the pattern went into the segments.
fn image() -> Vec<u8> {
    let mut image = vec![0; SIZE];
    let mut pattern = counter(total()).into_iter();
    for (from, to) in TABLE {
        for slot in &mut image[from..to] {
            *slot = pattern.next().expect("the pattern is as long as the segments");
        }
    }
    image
}

/// Kernel segments of the table, cut out of a buffer.
fn cut(mut buffer: &mut [u8]) -> Vec<&mut [u8]> {
    let mut at = 0;
    let mut segments = Vec::new();
    for (from, to) in TABLE {
        let (_, rest) = buffer.split_at_mut(from - at);
        let (segment, rest) = rest.split_at_mut(to - from);
        segments.push(segment);
        buffer = rest;
        at = to;
    }
    segments
}

const STEPS: [usize; 5] = [1, 7, 100, 4096, usize::MAX];

// U-085
#[test]
fn pattern_is_scattered_into_kernel_segments_in_any_steps() {
    for step in STEPS {
        let mut buffer = vec![0; SIZE];
        let mut segments = cut(&mut buffer);
        let mut iter = IovIter::<Destination>::kernel(&mut segments);
        for part in counter(total()).chunks(step.min(total())) {
            assert_eq!(
                copy_to_iter::<General>(part, &mut iter),
                part.len() as u32,
                "steps of {step}"
            );
        }
        assert_eq!((iter.count(), copy_to_iter::<General>(&[1], &mut iter)), (0, 0));
        assert!(buffer == image(), "steps of {step}");
    }
}

// U-085
#[test]
fn pattern_is_gathered_from_kernel_segments_in_any_steps() {
    let mut buffer = image();
    for step in STEPS {
        let mut writable = cut(&mut buffer);
        let mut segments: Vec<&[u8]> = writable.iter_mut().map(|segment| &segment[..]).collect();
        let mut iter = IovIter::<Source>::kernel(&mut segments);
        let mut found = vec![0; total()];
        for part in found.chunks_mut(step.min(total())) {
            assert_eq!(
                copy_from_iter::<General>(part, &mut iter),
                part.len() as u32,
                "steps of {step}"
            );
        }
        assert_eq!(iter.count(), 0);
        assert!(found == counter(total()), "steps of {step}");
    }
}

fn user_table() -> Vec<UserRange> {
    let segments = TABLE.iter();
    segments
        .map(|(from, to)| range(AREA + *from as u32, (to - from) as u32))
        .collect()
}

// U-085
#[test]
fn user_segments_are_scattered_and_gathered_like_kernel_ones() {
    for step in STEPS {
        map(4, 0);
        let segments = user_table();
        let mut iter = IovIter::<Destination>::vector(&segments);
        for part in counter(total()).chunks(step.min(total())) {
            assert_eq!(
                copy_to_iter::<General>(part, &mut iter),
                part.len() as u32,
                "steps of {step}"
            );
        }
        assert_eq!(iter.count(), 0);
        let found: Vec<u8> = (0..SIZE as u32).map(|offset| host::peek(AREA + offset)).collect();
        assert!(found == image(), "steps of {step}");
        let mut iter = IovIter::<Source>::vector(&segments);
        let mut back = vec![0; total()];
        for part in back.chunks_mut(step.min(total())) {
            assert_eq!(
                copy_from_iter::<General>(part, &mut iter),
                part.len() as u32,
                "steps of {step}"
            );
        }
        assert!(back == counter(total()), "steps of {step}");
        let mut iter = IovIter::<Destination>::vector(&segments);
        while iter.count() > 0 {
            assert!(iov_iter_zero::<General>(step.min(total()) as u32, &mut iter) > 0);
        }
        assert!((0..SIZE as u32).all(|offset| host::peek(AREA + offset) == 0));
    }
}

// U-097
#[test]
fn every_triple_of_small_and_empty_segments_moves_its_sum() {
    for lengths in (0..27).map(|n| [n % 3, n / 3 % 3, n / 9].map(|i: usize| [0, 1, 3][i])) {
        map(1, 0xff);
        let segments = [0, 1, 2].map(|i| range(AREA + 16 * i, lengths[i as usize]));
        let sum: u32 = lengths.iter().sum();
        let mut iter = IovIter::<Destination>::vector(&segments);
        assert_eq!(iov_iter_zero::<Debug>(u32::MAX, &mut iter), sum, "{lengths:?}");
        for i in 0..3 {
            for offset in 0..16 {
                let cleared = host::peek(AREA + 16 * i + offset) == 0;
                assert_eq!(cleared, offset < lengths[i as usize], "{lengths:?} at {i}, {offset}");
            }
        }
    }
}

// U-094
#[test]
fn empty_segments_before_a_full_one_are_passed() {
    map(1, 0xff);
    let mut segments = vec![range(AREA, 0); 1023];
    let mut iter = IovIter::<Destination>::vector(&segments);
    assert_eq!((iter.count(), iov_iter_zero::<General>(1, &mut iter)), (0, 0));
    assert_eq!(iter.user_segment(), None);
    segments.push(range(AREA, 1));
    let mut iter = IovIter::<Destination>::vector(&segments);
    assert_eq!(iov_iter_zero::<General>(5, &mut iter), 1);
}

// U-099
#[test]
fn cursor_goes_back_as_far_as_it_went_and_never_beyond_either_end() {
    map(4, 0);
    let segments = user_table();
    let mut iter = IovIter::<Source>::vector(&segments);
    let all = iter.count();
    let mut at = 0;
    for step in [1, 0x2d8, 5, 0x1000, 0, 77] {
        iter.advance(step);
        at += step;
        assert_eq!(iter.count(), all - at);
    }
    let here = iter.user_segment();
    for back in [1, 100, 0x1000] {
        iter.revert(back);
        assert_eq!(iter.count(), all - at + back);
        iter.advance(back);
        assert_eq!(iter.user_segment(), here, "{back} back and forth");
    }
    iter.advance(u32::MAX);
    assert_eq!((iter.count(), iter.user_segment()), (0, None));
    iter.revert(u32::MAX);
    assert_eq!(iter.count(), all);
    assert_eq!(iter.user_segment(), Some(segments[1]));
    iter.truncate(3);
    assert_eq!((iter.count(), iter.user_segment().map(|s| s.len())), (3, Some(3)));
}

/// Writes an iovec array so that it ends at `end`; returns its address.
fn array_ending_at(end: u32, entries: &[(u32, u32)]) -> UserAddr {
    let start = end - 8 * entries.len() as u32;
    let bytes = entries.iter().flat_map(|(base, length)| [base, length]);
    for (index, byte) in bytes.flat_map(|word| word.to_be_bytes()).enumerate() {
        host::poke(start + index as u32, byte);
    }
    UserAddr::new(start)
}

fn import(address: UserAddr, count: u32) -> Result<u32, Errno> {
    let mut array = IovecArray::default();
    import_iovec::<General>(&mut array, address, count).map(|()| array.iter::<Source>().count())
}

// U-095
#[test]
fn array_that_ends_where_memory_ends_is_read_to_its_last_entry_and_no_further() {
    map(3, 0);
    let end = AREA + 3 * PAGE_SIZE;
    for count in [1, 7, 8, 9, 64, 1024] {
        let entries: Vec<(u32, u32)> = (0..count).map(|i| (AREA + i, 1)).collect();
        let address = array_ending_at(end, &entries);
        assert_eq!(import(address, count), Ok(count));
        assert_eq!(
            import(address, count + 1),
            Err(if count == 1024 { Errno::EINVAL } else { Errno::EFAULT })
        );
    }
}

// U-093
#[test]
fn count_of_entries_has_its_limit() {
    map(3, 0);
    let address = array_ending_at(AREA + 3 * PAGE_SIZE, &[(AREA, 1); 1024]);
    assert_eq!(import(address, 1024), Ok(1024));
    for count in [1025, 0x2000_0000, 0x4000_0000, u32::MAX] {
        assert_eq!(import(address, count), Err(Errno::EINVAL), "{count:#x}");
    }
    assert_eq!(import(UserAddr::new(0xc000_0000), 0), Ok(0));
    assert_eq!(import(UserAddr::new(0xc000_0000), 1), Err(Errno::EFAULT));
    assert_eq!(import(UserAddr::new(0), 1), Err(Errno::EFAULT));
}

// U-087, U-091
#[test]
fn lengths_are_judged_before_ranges_and_the_array_before_both() {
    map(1, 0);
    let end = AREA + PAGE_SIZE;
    let kernel = 0xc000_0000;
    type Case<'a> = (&'a [(u32, u32)], Result<u32, Errno>);
    let table: [Case<'_>; 6] = [
        (&[(AREA, u32::MAX), (AREA, 1)], Err(Errno::EINVAL)),
        (&[(kernel, 1), (AREA, 0x8000_0000)], Err(Errno::EINVAL)),
        (&[(AREA, 1), (kernel, 0)], Err(Errno::EFAULT)),
        (&[(0, 5), (AREA, 5)], Ok(10)),
        (&[(0, 0), (AREA, 64), (0, 0)], Ok(64)),
        (&[(0x7fff_ffff, 1), (0x7fff_ffff, 2)], Err(Errno::EFAULT)),
    ];
    for (entries, expected) in table {
        let address = array_ending_at(end, entries);
        assert_eq!(import(address, entries.len() as u32), expected, "{entries:x?}");
    }
    // The part behind the end of memory is not there, whatever the first entry says.
    let address = array_ending_at(end, &[(AREA, u32::MAX)]);
    assert_eq!(import(address, 2), Err(Errno::EFAULT));
}

// U-092
#[test]
fn sum_of_lengths_is_cut_at_the_most_of_a_call() {
    map(1, 0);
    let entries = [(0, 0x7fff_ffff), (0, 0x7fff_ffff), (AREA, 1)];
    let address = array_ending_at(AREA + PAGE_SIZE, &entries);
    assert_eq!(import(address, 3), Ok(MAX_RW_COUNT));
    let mut array = IovecArray::default();
    import_iovec::<General>(&mut array, address, 3).unwrap();
    let mut iter = array.iter::<Source>();
    iter.advance(MAX_RW_COUNT - 1);
    assert_eq!(iter.user_segment(), Some(range(MAX_RW_COUNT - 1, 1)));
}

// What a fault left stands behind the cursor.
#[test]
fn fault_in_a_segment_ends_the_transfer_at_its_byte() {
    map(1, 0xff);
    let end = AREA + PAGE_SIZE;
    let segments = [range(AREA, 3), range(end - 5, 9), range(AREA + 100, 7)];
    let mut iter = IovIter::<Destination>::vector(&segments);
    assert_eq!(iov_iter_zero::<General>(u32::MAX, &mut iter), 8);
    assert_eq!(iter.count(), 11);
    assert_eq!(iter.user_segment(), Some(range(end, 4)));
    assert_eq!(host::peek(AREA + 100), 0xff);
    assert_eq!(iov_iter_zero::<General>(u32::MAX, &mut iter), 0);
    let mut target = [0xee; 12];
    let mut iter = IovIter::<Source>::vector(&segments);
    assert_eq!(copy_from_iter::<General>(&mut target, &mut iter), 8);
    assert_eq!(target[8..], [0; 4]);
}
