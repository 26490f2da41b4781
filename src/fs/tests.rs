mod moves;

use super::read_write::{
    Vector, do_readv, do_writev, kernel_read, kernel_write, ksys_pread64, ksys_pwrite64, ksys_read, ksys_write,
    read_zero_directly, rwf, write_null_directly,
};
use super::*;
use crate::addr::{PAGE_SIZE, TASK_SIZE};
use crate::arch::host;
use crate::console as host_console;
use crate::policy::{
    Fast, FastLinux, FastReadIter, FastWriteIter, Layers, Linux59, LinuxIter, LinuxNoSetFs, LinuxRead, Policy,
};
use open_flags::{READ_ONLY, READ_WRITE, WRITE_ONLY};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::vec::Vec;

const AREA: u32 = 0x1000_0000;
/// Two good pages lie before it, nothing behind.
const END: u32 = AREA + 2 * PAGE_SIZE;
const HOLE: u32 = 0x2000_0000;
const KERNEL: u32 = 0xc000_0000;
const POISON: u8 = 0xa5;

/// Open files are the system's, not the thread's: tests take turns.
static TURN: Mutex<()> = Mutex::new(());

/// Descriptors of one test, with the devices of a policy.
struct Files<P: Policy> {
    table: FileTable,
    policy: core::marker::PhantomData<P>,
    _turn: MutexGuard<'static, ()>,
}

impl<P: Policy> Files<P> {
    fn new() -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        host::reset();
        host::map(AREA, true, POISON);
        host::map(AREA + PAGE_SIZE, true, POISON);
        Self {
            table: FileTable::new(),
            policy: core::marker::PhantomData,
            _turn: turn,
        }
    }

    fn open(&self, node: Node, flags: u32) -> u32 {
        self.table
            .open(node, node.operations::<P>(), flags)
            .expect("it can be opened")
    }

    fn read(&self, fd: u32, address: u32, count: u32) -> Result<u32, Errno> {
        let result = if !P::Layers::ARE_LINUX && short_way::is_set(fd, short::ZERO_READ) {
            read_zero_directly::<P>(address, count)
        } else {
            ksys_read::<P>(&self.table, fd, address, count)
        };
        assert!(result.is_err() || result.is_ok_and(|done| done <= count));
        result
    }

    fn write(&self, fd: u32, address: u32, count: u32) -> Result<u32, Errno> {
        let result = if !P::Layers::ARE_LINUX && short_way::is_set(fd, short::NULL_WRITE) {
            write_null_directly::<P>(address, count)
        } else {
            ksys_write::<P>(&self.table, fd, address, count)
        };
        assert!(result.is_err() || result.is_ok_and(|done| done <= count));
        result
    }

    fn pread(&self, fd: u32, address: u32, count: u32, offset: u64) -> Result<u32, Errno> {
        ksys_pread64::<P>(&self.table, fd, address, count, offset)
    }

    fn pwrite(&self, fd: u32, address: u32, count: u32, offset: u64) -> Result<u32, Errno> {
        ksys_pwrite64::<P>(&self.table, fd, address, count, offset)
    }

    /// Puts an array at the start of the area.
    fn vector(&self, entries: &[(u32, u32)]) -> Vector {
        let words = entries.iter().flat_map(|(base, length)| [base, length]);
        for (index, byte) in words.flat_map(|word| word.to_be_bytes()).enumerate() {
            host::poke(AREA + index as u32, byte);
        }
        Vector {
            address: AREA,
            count: entries.len() as u32,
            flags: 0,
        }
    }

    fn readv(&self, fd: u32, entries: &[(u32, u32)]) -> Result<u32, Errno> {
        do_readv::<P>(&self.table, fd, self.vector(entries), None)
    }

    fn writev(&self, fd: u32, entries: &[(u32, u32)]) -> Result<u32, Errno> {
        do_writev::<P>(&self.table, fd, self.vector(entries), None)
    }
}

impl<P: Policy> Drop for Files<P> {
    fn drop(&mut self) {
        self.table.close_all();
    }
}

fn bytes(start: u32, length: u32) -> Vec<u8> {
    (start..start + length).map(host::peek).collect()
}

/// Runs a check under every way that devices and layers can be built.
macro_rules! under_every_policy {
    ($check:ident) => {
        $check::<Fast>();
        $check::<FastReadIter>();
        $check::<FastWriteIter>();
        $check::<FastLinux>();
        $check::<Linux59>();
        $check::<LinuxIter>();
        $check::<LinuxNoSetFs>();
        $check::<LinuxRead>();
    };
}

fn zero_reads<P: Policy>() {
    let files = Files::<P>::new();
    let fd = files.open(Node::Zero, READ_WRITE);
    assert_eq!(files.read(fd, AREA, 5000), Ok(5000));
    assert_eq!(bytes(AREA, 5001)[4999..], [0, POISON]);
    assert_eq!(files.read(fd, AREA + 5001, 0), Ok(0));
    assert_eq!(bytes(AREA + 5001, 1), [POISON]);
    assert_eq!(files.pread(fd, AREA + 6000, 3, 1 << 40), Ok(3));
    assert_eq!(bytes(AREA + 5999, 5), [POISON, 0, 0, 0, POISON]);
    assert_eq!(files.table.fdget(fd).map(|file| file.position().get()), Ok(0));
}

// U-122
#[test]
fn zero_device_reads_as_zeros_without_a_position() {
    under_every_policy!(zero_reads);
}

fn zero_reads_to_the_end_of_memory<P: Policy>() {
    let files = Files::<P>::new();
    let fd = files.open(Node::Zero, READ_ONLY);
    assert_eq!(files.read(fd, END - 5, 123), Ok(5));
    assert_eq!(bytes(END - 6, 6), [POISON, 0, 0, 0, 0, 0]);
    assert_eq!(files.read(fd, END - 5000, 9000), Ok(5000));
    assert_eq!(files.read(fd, END, 1), Err(Errno::EFAULT));
    let most = (TASK_SIZE - (END - 5000)).min(i32::MAX as u32);
    assert_eq!(files.read(fd, END - 5000, most), Ok(5000));
    assert_eq!(files.read(fd, END - 5000, most + 1), Err(Errno::EFAULT));
}

// U-126, U-102
#[test]
fn partial_pages_count_to_the_byte() {
    under_every_policy!(zero_reads_to_the_end_of_memory);
}

fn counts<P: Policy>() {
    let files = Files::<P>::new();
    let (zero, null) = (files.open(Node::Zero, READ_ONLY), files.open(Node::Null, WRITE_ONLY));
    for count in [0x8000_0000, 0x8000_0001, u32::MAX] {
        assert_eq!(files.read(zero, AREA, count), Err(Errno::EFAULT), "{count:#x}");
    }
    // From address 0 on all of user space is 2 GiB, one more than a signed count can say.
    assert_eq!(files.read(zero, 0, 0x8000_0000), Err(Errno::EINVAL));
    assert_eq!(files.write(null, 0, 0x8000_0000), Err(Errno::EINVAL));
    for count in [MAX_RW_COUNT, MAX_RW_COUNT + 1, 0x7fff_ffff] {
        assert_eq!(files.write(null, 0, count), Ok(MAX_RW_COUNT), "{count:#x}");
    }
    let huge = [(0, 0x7fff_ffff), (0, 0x7fff_ffff)];
    assert_eq!(files.writev(null, &huge), Ok(MAX_RW_COUNT));
}

// U-092, U-118
#[test]
fn counts_are_cut_at_the_most_of_a_call_and_never_become_negative() {
    under_every_policy!(counts);
}

fn buffers_nobody_looks_at<P: Policy>() {
    let files = Files::<P>::new();
    for node in [Node::Null, Node::Zero] {
        let fd = files.open(node, READ_WRITE);
        assert_eq!(files.write(fd, 0, 10), Ok(10));
        assert_eq!(files.write(fd, HOLE, 4096), Ok(4096));
        assert_eq!(files.write(fd, KERNEL, 10), Err(Errno::EFAULT));
        assert_eq!(files.read(fd, KERNEL, 1), Err(Errno::EFAULT));
        assert_eq!(files.write(fd, TASK_SIZE - 1, 2), Err(Errno::EFAULT));
        assert_eq!(files.pwrite(fd, HOLE, 7, 1 << 40), Ok(7));
    }
    let null = files.open(Node::Null, READ_WRITE);
    assert_eq!(files.read(null, 0, 10), Ok(0));
    assert_eq!(files.read(null, AREA, 1), Ok(0));
    assert_eq!(files.readv(null, &[(HOLE, 5)]), Ok(0));
    assert_eq!(bytes(AREA + 64, 1), [POISON]);
}

// U-122, U-124
#[test]
fn devices_that_never_look_at_the_buffer_still_have_its_range_checked() {
    under_every_policy!(buffers_nobody_looks_at);
}

fn empty_transfers<P: Policy>() {
    let files = Files::<P>::new();
    for node in [Node::Zero, Node::Null, Node::Full, Node::Bytes(b"hello world")] {
        let fd = files.open(node, READ_ONLY);
        for _ in 0..2 {
            for address in [AREA, 0, HOLE, TASK_SIZE - 1] {
                assert_eq!(files.read(fd, address, 0), Ok(0), "{node:?} {address:#x}");
            }
            assert_eq!(files.read(fd, KERNEL, 0), Err(Errno::EFAULT), "{node:?}");
            let _ = files.read(fd, HOLE, 10);
        }
        assert_eq!(files.readv(fd, &[]), Ok(0));
        assert_eq!(files.readv(fd, &[(AREA, 0), (0, 0)]), Ok(0));
    }
}

// U-127
#[test]
fn empty_transfers_succeed_wherever_the_address_may_be() {
    under_every_policy!(empty_transfers);
}

fn full_device<P: Policy>() {
    let files = Files::<P>::new();
    let fd = files.open(Node::Full, READ_WRITE);
    assert_eq!(files.read(fd, AREA, 100), Ok(100));
    assert_eq!(bytes(AREA, 101)[99..], [0, POISON]);
    for count in [0, 1, 100] {
        assert_eq!(files.write(fd, AREA, count), Err(Errno::ENOSPC), "{count}");
        assert_eq!(files.pwrite(fd, AREA, count, 5), Err(Errno::ENOSPC), "{count}");
    }
    assert_eq!(files.writev(fd, &[(AREA, 5)]), Err(Errno::ENOSPC));
    assert_eq!(files.writev(fd, &[(AREA, 0)]), Ok(0));
}

// U-131
#[test]
fn full_device_is_full_even_for_nothing() {
    under_every_policy!(full_device);
}

fn errors_of_descriptors<P: Policy>() {
    let files = Files::<P>::new();
    let closed = files.open(Node::Zero, READ_ONLY);
    assert_eq!(files.table.close(closed), Ok(()));
    assert_eq!(files.table.close(closed), Err(Errno::EBADF));
    for fd in [
        closed,
        DESCRIPTORS as u32,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ff00,
        u32::MAX,
    ] {
        assert_eq!(files.read(fd, AREA, 1), Err(Errno::EBADF), "{fd:#x}");
        assert_eq!(files.write(fd, AREA, 1), Err(Errno::EBADF), "{fd:#x}");
        assert_eq!(files.readv(fd, &[(AREA, 1)]), Err(Errno::EBADF), "{fd:#x}");
        assert_eq!(files.writev(fd, &[(AREA, 1)]), Err(Errno::EBADF), "{fd:#x}");
        assert_eq!(files.pread(fd, AREA, 1, 0), Err(Errno::EBADF), "{fd:#x}");
    }
    let (readable, writable) = (files.open(Node::Zero, READ_ONLY), files.open(Node::Null, WRITE_ONLY));
    // The mode comes before the buffer.
    for address in [AREA, HOLE, KERNEL] {
        assert_eq!(files.read(writable, address, 1), Err(Errno::EBADF));
        assert_eq!(files.write(readable, address, 1), Err(Errno::EBADF));
        assert_eq!(files.pread(writable, address, 1, 0), Err(Errno::EBADF));
        assert_eq!(files.pwrite(readable, address, 1, 0), Err(Errno::EBADF));
    }
    assert_eq!(files.readv(writable, &[(AREA, 1)]), Err(Errno::EBADF));
    assert_eq!(files.writev(readable, &[(AREA, 1)]), Err(Errno::EBADF));
    let directory = files.open(Node::Directory(b"dev"), READ_ONLY);
    assert_eq!(files.read(directory, AREA, 1), Err(Errno::EISDIR));
    assert_eq!(files.readv(directory, &[(AREA, 1)]), Err(Errno::EISDIR));
    assert_eq!(files.pread(directory, AREA, 1, 0), Err(Errno::EISDIR));
    let console = files.open(Node::Console, READ_ONLY);
    assert_eq!(files.pread(console, AREA, 1, 0), Err(Errno::ESPIPE));
}

// U-103, U-104, U-106, U-120
#[test]
fn descriptors_and_modes_are_checked_before_buffers() {
    under_every_policy!(errors_of_descriptors);
}

fn vectors<P: Policy>() {
    let files = Files::<P>::new();
    let (zero, null) = (files.open(Node::Zero, READ_ONLY), files.open(Node::Null, WRITE_ONLY));
    let at = |offset: u32| AREA + 0x1000 + offset;
    assert_eq!(files.readv(zero, &[(at(0), 0), (at(0), 1)]), Ok(1));
    assert_eq!(files.readv(zero, &[(at(0), 0)]), Ok(0));
    assert_eq!(
        files.readv(zero, &[(at(16), 100), (at(200), 0), (at(300), 50)]),
        Ok(150)
    );
    assert_eq!(bytes(at(300), 51)[49..], [0, POISON]);
    assert_eq!(files.readv(zero, &[(0, 0), (at(400), 3)]), Ok(3));
    assert_eq!(files.readv(zero, &[(0, 5), (at(500), 3)]), Err(Errno::EFAULT));
    assert_eq!(files.readv(zero, &[(at(500), 3), (HOLE, 5), (at(600), 3)]), Ok(3));
    assert_eq!(bytes(at(600), 1), [POISON]);
    assert_eq!(files.readv(zero, &[(at(700), 3), (KERNEL, 0)]), Err(Errno::EFAULT));
    assert_eq!(
        files.readv(zero, &[(at(700), 3), (at(800), u32::MAX)]),
        Err(Errno::EINVAL)
    );
    assert_eq!(bytes(at(700), 1), [POISON]);
    let table = [(AREA, 64), (AREA + 64, 0), (0, 0), (0, 0)];
    assert_eq!(files.writev(null, &table), Ok(64));
    assert_eq!(files.writev(null, &[]), Ok(0));
    let bad = Vector {
        address: HOLE,
        count: 1,
        flags: 0,
    };
    assert_eq!(do_readv::<P>(&files.table, zero, bad, None), Err(Errno::EFAULT));
    let negative = Vector {
        address: AREA,
        count: u32::MAX,
        flags: 0,
    };
    assert_eq!(do_writev::<P>(&files.table, null, negative, None), Err(Errno::EINVAL));
    let straddling = Vector {
        address: END - 8,
        count: 2,
        flags: 0,
    };
    assert_eq!(do_writev::<P>(&files.table, null, straddling, None), Err(Errno::EFAULT));
}

// U-087, U-088, U-091, U-094, U-098
#[test]
fn vectors_move_what_their_segments_hold_up_to_the_first_fault() {
    under_every_policy!(vectors);
}

fn files_and_positions<P: Policy>() {
    const TEXT: &[u8] = b"hello world";
    let files = Files::<P>::new();
    let fd = files.open(Node::Bytes(TEXT), READ_ONLY);
    let position = || files.table.fdget(fd).map(|file| file.position().get());
    assert_eq!((files.read(fd, AREA, 2), bytes(AREA, 2)), (Ok(2), b"he".to_vec()));
    assert_eq!(
        (files.pread(fd, AREA, 10, 6), bytes(AREA, 5)),
        (Ok(5), b"world".to_vec())
    );
    assert_eq!(files.pread(fd, HOLE, 10, 5), Err(Errno::EFAULT));
    assert_eq!(position(), Ok(2));
    assert_eq!(files.read(fd, HOLE, 1), Err(Errno::EFAULT));
    assert_eq!((files.read(fd, AREA, 2), bytes(AREA, 2)), (Ok(2), b"ll".to_vec()));
    // One valid byte before the end of memory.
    assert_eq!(
        (files.pread(fd, END - 1, 10, 0), bytes(END - 1, 1)),
        (Ok(1), b"h".to_vec())
    );
    assert_eq!((files.read(fd, END - 1, 10), position()), (Ok(1), Ok(5)));
    for (offset, expected) in [
        (1 << 32, Ok(0)),
        (11, Ok(0)),
        (3, Ok(1)),
        (i64::MAX as u64 - 5, Err(Errno::EINVAL)),
        (1 << 63, Err(Errno::EINVAL)),
        (u64::MAX, Err(Errno::EINVAL)),
    ] {
        let count = if offset == 3 { 1 } else { 10 };
        assert_eq!(files.pread(fd, AREA, count, offset), expected, "{offset:#x}");
        let vector = files.vector(&[(AREA + 64, count)]);
        assert_eq!(
            do_readv::<P>(&files.table, fd, vector, Some(offset)),
            expected,
            "{offset:#x}"
        );
    }
    assert_eq!(files.pread(fd, 0, 0, 0), Ok(0));
    assert_eq!(files.pread(fd, AREA, 0, 1 << 63), Err(Errno::EINVAL));
    assert_eq!(position(), Ok(5));
    let each_byte: Vec<(u32, u32)> = (0..6).map(|i| (AREA + 0x800 + 2 * i, 1)).collect();
    assert_eq!(files.readv(fd, &each_byte), Ok(6));
    assert_eq!(bytes(AREA + 0x800, 4), [b' ', POISON, b'w', POISON]);
    assert_eq!((files.readv(fd, &each_byte), position()), (Ok(0), Ok(11)));
}

// U-103, U-106, U-110, U-114, U-115, U-117
#[test]
fn positions_move_by_what_was_read_and_by_nothing_else() {
    under_every_policy!(files_and_positions);
}

fn flags_of_vectors<P: Policy>() {
    let files = Files::<P>::new();
    let zero = files.open(Node::Zero, READ_ONLY);
    let full = files.open(Node::Full, READ_WRITE);
    let entries = [(AREA + 64, 5)];
    let read = |fd, flags| {
        let vector = Vector {
            flags,
            ..files.vector(&entries)
        };
        do_readv::<P>(&files.table, fd, vector, Some(0))
    };
    for flags in [0, rwf::HIPRI, rwf::NOWAIT, rwf::SUPPORTED] {
        assert_eq!(read(zero, flags), Ok(5), "{flags:#x}");
    }
    for flags in [0x20, u32::MAX] {
        assert_eq!(read(zero, flags), Err(Errno::EOPNOTSUPP), "{flags:#x}");
    }
    // Nobody promised that this one never waits, and its write is a plain one, which knows no flags.
    assert_eq!(read(full, rwf::NOWAIT), Err(Errno::EOPNOTSUPP));
    let vector = Vector {
        flags: rwf::SYNC,
        ..files.vector(&entries)
    };
    assert_eq!(do_writev::<P>(&files.table, full, vector, None), Err(Errno::EOPNOTSUPP));
}

#[test]
fn flags_of_preadv2_are_granted_or_refused_by_the_file() {
    under_every_policy!(flags_of_vectors);
}

fn count_plain(_: &OpenFile, range: UserRange, position: &Cell<u64>) -> Result<u32, Errno> {
    position.set(position.get() + 1);
    Ok(range.len())
}

fn count_read_iter(kiocb: &Kiocb<'_>, iter: &mut IovIter<'_, Destination>) -> Result<u32, Errno> {
    kiocb.position.set(kiocb.position.get() + 1000);
    let count = iter.count();
    iter.advance(count);
    Ok(count)
}

fn count_write_iter(kiocb: &Kiocb<'_>, iter: &mut IovIter<'_, Source>) -> Result<u32, Errno> {
    kiocb.position.set(kiocb.position.get() + 1000);
    let count = iter.count();
    iter.advance(count);
    Ok(count)
}

static BUILDS: [FileOperations; 4] = {
    let plain = FileOperations {
        read: Some(count_plain),
        write: Some(count_plain),
        ..FileOperations::NOTHING
    };
    let iter = FileOperations {
        read_iter: Some(count_read_iter),
        write_iter: Some(count_write_iter),
        ..FileOperations::NOTHING
    };
    let both = FileOperations {
        read: plain.read,
        write: plain.write,
        ..iter
    };
    [plain, iter, both, FileOperations::NOTHING]
};

/// Position after a call: 1 for each plain operation, 1000 for each of an iterator.
fn ways_of_calls<P: Policy>() {
    let files = Files::<P>::new();
    let table = [(1, 2), (1000, 1000), (1, 1000)];
    for (operations, (plain, vector)) in BUILDS.iter().zip(table) {
        for call in [Files::<P>::read, Files::<P>::write] {
            let fd = files.table.open(Node::Full, operations, READ_WRITE).unwrap();
            assert_eq!(call(&files, fd, AREA, 7), Ok(7));
            assert_eq!(files.table.fdget(fd).unwrap().position().get(), plain);
        }
        let fd = files.table.open(Node::Full, operations, READ_WRITE).unwrap();
        assert_eq!(files.readv(fd, &[(AREA, 3), (AREA, 0), (AREA, 4)]), Ok(7));
        assert_eq!(files.table.fdget(fd).unwrap().position().get(), vector);
        assert_eq!(files.writev(fd, &[(AREA, 3), (AREA, 0), (AREA, 4)]), Ok(7));
        assert_eq!(files.table.fdget(fd).unwrap().position().get(), 2 * vector);
    }
    let fd = files.table.open(Node::Full, &BUILDS[3], READ_WRITE).unwrap();
    assert_eq!(files.read(fd, AREA, 1), Err(Errno::EINVAL));
    assert_eq!(files.write(fd, AREA, 1), Err(Errno::EINVAL));
    assert_eq!(files.readv(fd, &[(AREA, 1)]), Err(Errno::EINVAL));
    assert_eq!(files.writev(fd, &[(AREA, 1)]), Err(Errno::EINVAL));
}

// U-113
#[test]
fn plain_operations_serve_plain_calls_and_iterators_serve_vectors() {
    under_every_policy!(ways_of_calls);
}

// U-130, U-138
#[test]
fn kernel_reads_only_files_that_have_iterators_alone() {
    fn outcome<P: Policy>() -> [Result<u32, Errno>; 3] {
        let files = Files::<P>::new();
        let file = |node, flags| files.table.fdget(files.open(node, flags)).unwrap();
        let (zero, null) = (file(Node::Zero, READ_ONLY), file(Node::Null, WRITE_ONLY));
        let mut buffer = [POISON; 8];
        host_console::take_output();
        let read = kernel_read(zero, &mut buffer, &Cell::new(0));
        let said = std::string::String::from_utf8(host_console::take_output()).unwrap();
        if read.is_ok() {
            assert_eq!((buffer, said.as_str()), ([0; 8], ""));
        } else {
            assert_eq!(buffer, [POISON; 8]);
            assert_eq!(said, "zeronull: kernel read not supported for file /dev/zero\n");
        }
        let write = kernel_write(null, &buffer, &Cell::new(0));
        assert_eq!(kernel_read(null, &mut buffer, &Cell::new(0)), Err(Errno::EBADF));
        let text = file(Node::Bytes(b"text"), READ_ONLY);
        let (mut part, position) = ([0; 3], Cell::new(1));
        let contents = kernel_read(text, &mut part, &position);
        assert_eq!((part, position.get()), (*b"ext", 4));
        assert_eq!(kernel_write(text, b"x", &Cell::new(0)), Err(Errno::EBADF));
        [read, write, contents]
    }
    let refused = Err(Errno::EINVAL);
    assert_eq!(outcome::<LinuxNoSetFs>(), [Ok(8), Ok(8), Ok(3)]);
    assert_eq!(outcome::<LinuxRead>(), [refused, Ok(8), Ok(3)]);
    assert_eq!(outcome::<Linux59>(), [Ok(8), refused, Ok(3)]);
    assert_eq!(outcome::<Fast>(), [refused, refused, Ok(3)]);
}

fn watches<P: Policy>() {
    let files = Files::<P>::new();
    let inode = |path| notify::all().iter().find(|inode| inode.path == path).unwrap();
    let (zero, dev) = (inode("/dev/zero"), inode("/dev"));
    assert_eq!(zero.events(), None);
    zero.watch(true);
    dev.watch(true);
    let (reader, writer) = (files.open(Node::Zero, READ_WRITE), files.open(Node::Null, WRITE_ONLY));
    for count in [512, 1, 0] {
        assert_eq!(files.read(reader, AREA, count), Ok(count));
    }
    assert_eq!(files.read(reader, HOLE, 1), Err(Errno::EFAULT));
    assert_eq!(files.readv(reader, &[(AREA + 64, 5), (AREA + 80, 5)]), Ok(10));
    assert_eq!(files.write(reader, AREA, 1), Ok(1));
    assert_eq!(files.write(writer, AREA, 1), Ok(1));
    assert_eq!(zero.events(), Some((3, 1)));
    assert_eq!(dev.events(), Some((3, 2)));
    zero.watch(false);
    dev.watch(false);
    assert_eq!((zero.events(), dev.events()), (None, None));
}

#[test]
fn watches_see_what_was_read_and_written_in_every_weight_of_layers() {
    under_every_policy!(watches);
}

// A second descriptor of a file with positions takes the lock of the position for the call and gives it back.
#[test]
fn shared_position_is_locked_for_a_call_alone() {
    let files = Files::<Linux59>::new();
    let fd = files.open(Node::Bytes(b"hello"), READ_ONLY);
    assert_eq!(files.table.dup2(fd, 9, false), Ok(9));
    assert_eq!((files.read(fd, AREA, 2), files.read(9, AREA, 2)), (Ok(2), Ok(2)));
    assert_eq!(bytes(AREA, 2), b"ll");
    assert!(!files.table.fdget(9).unwrap().is_position_locked.get());
}
