//! Pipes, splice and its kin, files of /tmp: what `calls` cannot see from outside, or only on some systems.

use super::*;
use node::walk;
use pipe::{BUFFERS, Pipe};
use splice::{End, NONBLOCK, do_sendfile, do_splice, do_tee, vmsplice_to_pipe, vmsplice_to_user};

type Moves = Files<Fast>;

impl Moves {
    /// Reading and writing end of a new pipe.
    fn pipe(&self, flags: u32) -> [u32; 2] {
        let node = Node::Pipe(pipe::create().expect("a pipe is free"));
        let open = |operations, mode| {
            self.table
                .open(node, operations, mode | flags)
                .expect("a descriptor is free")
        };
        [open(&pipe::READER, READ_ONLY), open(&pipe::WRITER, WRITE_ONLY)]
    }

    /// A new file of /tmp without a name, open for both, with these contents.
    fn tmp(&self, contents: &[u8]) -> u32 {
        let node = walk(b"tmp", b"moves")
            .and_then(|target| target.create())
            .expect("there is room");
        let fd = self.open(node, READ_WRITE | open_flags::LARGEFILE);
        let Node::Tmp(index) = node else { unreachable!() };
        tmp::unlink(index);
        self.put(contents);
        assert_eq!(
            self.pwrite(fd, AREA, contents.len() as u32, 0),
            Ok(contents.len() as u32)
        );
        fd
    }

    fn file(&self, fd: u32) -> &'static OpenFile {
        self.table.fdget(fd).expect("it is open")
    }

    /// Puts bytes at the start of the area.
    fn put(&self, contents: &[u8]) {
        for (index, byte) in contents.iter().enumerate() {
            host::poke(AREA + index as u32, *byte);
        }
    }

    /// Reads up to `count` bytes.
    fn contents(&self, fd: u32, count: u32) -> Result<Vec<u8>, Errno> {
        self.read(fd, AREA, count).map(|done| bytes(AREA, done))
    }

    fn splice(&self, input: u32, output: u32, count: u32) -> Result<u32, Errno> {
        let end = |fd| End {
            file: self.file(fd),
            offset: 0,
        };
        do_splice(end(input), end(output), count, NONBLOCK)
    }

    fn sendfile(&self, input: u32, output: u32, count: u32) -> Result<u32, Errno> {
        let position = self.file(input).position();
        do_sendfile(self.file(input), Ok(self.file(output)), position, false, count)
    }
}

fn range(start: u32, length: u32) -> UserRange {
    crate::uaccess::access_ok::<Fast>(crate::addr::UserAddr::new(start), length).expect("user space")
}

// U-088, U-104
#[test]
fn pipe_without_its_other_end_is_broken_or_at_its_end() {
    let files = Moves::new();
    let [reader, writer] = files.pipe(0);
    files.put(b"abc");
    assert_eq!(files.write(writer, AREA, 3), Ok(3));
    files.table.close(writer).unwrap();
    assert_eq!(files.contents(reader, 10).as_deref(), Ok(&b"abc"[..]));
    assert_eq!(files.contents(reader, 10).as_deref(), Ok(&b""[..]));
    let [reader, writer] = files.pipe(0);
    files.table.close(reader).unwrap();
    assert_eq!(files.write(writer, AREA, 3), Err(Errno::EPIPE));
    assert_eq!(files.writev(writer, &[(AREA + 100, 3)]), Err(Errno::EPIPE));
    assert_eq!(files.write(writer, AREA, 0), Ok(0));
}

// What Linux would wait for, and nobody can bring: the documented answer, and the one under O_NONBLOCK.
#[test]
fn calls_that_would_wait_for_ever_fail() {
    for (flags, error) in [(0, Errno::EDEADLK), (open_flags::NONBLOCK, Errno::EAGAIN)] {
        let files = Moves::new();
        let [reader, writer] = files.pipe(flags);
        assert_eq!(files.read(reader, AREA, 1), Err(error));
        let mut total = 0;
        let full = loop {
            match files.write(writer, AREA, PAGE_SIZE) {
                Ok(done) => total += done,
                full => break full,
            }
        };
        assert_eq!((total, full), (BUFFERS as u32 * PAGE_SIZE, Err(error)));
        assert_eq!(files.read(reader, AREA, 2 * PAGE_SIZE), Ok(2 * PAGE_SIZE));
        assert_eq!(files.write(writer, AREA, 2 * PAGE_SIZE), Ok(2 * PAGE_SIZE));
    }
}

// U-098
#[test]
fn vector_with_an_empty_segment_goes_through_a_pipe_whole() {
    let files = Moves::new();
    let [reader, writer] = files.pipe(0);
    let segments = [(AREA + 100, 100), (AREA, 0), (AREA + 200, 50)];
    assert_eq!(files.writev(writer, &segments), Ok(150));
    assert_eq!(files.read(reader, AREA, 500), Ok(150));
}

// U-037, U-110: a fault in the middle of a source must not reach what the file holds behind it.
#[test]
fn write_that_faults_changes_exactly_the_bytes_that_it_counts() {
    let files = Moves::new();
    let fd = files.tmp(&[7; 200]);
    for good in [1, 5, 16, 31, 32, 100] {
        let before: Vec<u8> = {
            assert_eq!(files.pread(fd, AREA, 200, 0), Ok(200));
            bytes(AREA, 200)
        };
        for index in 0..good {
            host::poke(END - good + index, index as u8 + 100);
        }
        assert_eq!(files.pwrite(fd, END - good, 150, 20), Ok(good));
        assert_eq!(files.pread(fd, AREA, 200, 0), Ok(200));
        let after = bytes(AREA, 200);
        assert_eq!(
            (&after[..20], &after[20 + good as usize..]),
            (&before[..20], &before[20 + good as usize..])
        );
        assert!((0..good).all(|index| after[20 + index as usize] == index as u8 + 100));
    }
    assert_eq!(files.pwrite(fd, HOLE, 10, 0), Err(Errno::EFAULT));
    // A new page that nothing came to is not there.
    let Node::Tmp(index) = files.file(fd).node() else {
        unreachable!()
    };
    assert_eq!(files.pwrite(fd, HOLE, 10, 1 << 20), Err(Errno::EFAULT));
    assert_eq!((tmp::pages(index), tmp::size(index)), (1, 200));
}

// U-108, U-109
#[test]
fn files_have_holes_ends_and_largest_sizes() {
    let files = Moves::new();
    let fd = files.tmp(b"start");
    let Node::Tmp(index) = files.file(fd).node() else {
        unreachable!()
    };
    files.put(b"end");
    assert_eq!(files.pwrite(fd, AREA, 3, 0x12_3456_789a), Ok(3));
    assert_eq!((tmp::pages(index), tmp::size(index)), (2, 0x12_3456_789d));
    assert_eq!(tmp::seek_next(index, 0, true), Ok(0));
    assert_eq!(tmp::seek_next(index, 0, false), Ok(PAGE_SIZE.into()));
    assert_eq!(tmp::seek_next(index, PAGE_SIZE.into(), true), Ok(0x12_3456_7000));
    assert_eq!(tmp::seek_next(index, 0x12_3456_789d, true), Err(Errno::ENXIO));
    assert_eq!(files.pread(fd, AREA, 10, 0x12_3456_7898), Ok(5));
    assert_eq!(bytes(AREA, 5), *b"\0\0end");
    tmp::truncate(index, 3).unwrap();
    tmp::truncate(index, 5).unwrap();
    assert_eq!(files.pread(fd, AREA, 10, 0), Ok(5));
    assert_eq!(bytes(AREA, 5), *b"sta\0\0");
    assert_eq!(files.pwrite(fd, AREA, 1, tmp::MAX_BYTES), Err(Errno::EFBIG));
    assert_eq!(files.pwrite(fd, AREA, 2, tmp::MAX_BYTES - 1), Ok(1));
    // Without O_LARGEFILE a file ends at 2 GiB.
    let small = files.open(Node::Tmp(index), WRITE_ONLY);
    assert_eq!(files.pwrite(small, AREA, 1, i32::MAX as u64), Err(Errno::EFBIG));
    assert_eq!(files.pwrite(small, AREA, 5, i32::MAX as u64 - 2), Ok(2));
}

// U-134, U-139, U-143
#[test]
fn splice_takes_files_with_operations_of_their_own_alone() {
    let files = Moves::new();
    let [reader, writer] = files.pipe(open_flags::NONBLOCK);
    for node in [Node::Zero, Node::Full, Node::Bytes(&[0; 9000])] {
        let source = files.open(node, READ_ONLY);
        for count in (1..=8).map(|n| 1009 * n) {
            assert_eq!(files.splice(source, writer, count), Ok(count), "{node:?}");
            let mut left = count;
            while left > 0 {
                let got = files.contents(reader, left.min(8000)).unwrap();
                assert!(!got.is_empty() && got.iter().all(|byte| *byte == 0));
                left -= got.len() as u32;
            }
            files.file(source).position().set(0);
        }
    }
    for node in [Node::Null, Node::Zero] {
        let sink = files.open(node, WRITE_ONLY);
        assert_eq!(files.write(writer, AREA, 1024), Ok(1024));
        assert_eq!(files.splice(reader, sink, 2000), Ok(1024), "{node:?}");
        assert_eq!(files.splice(reader, sink, 1), Err(Errno::EAGAIN));
    }
    host_console::take_output();
    files.put(b"text");
    assert_eq!(files.write(writer, AREA, 4), Ok(4));
    let (full, console) = (
        files.open(Node::Full, READ_WRITE),
        files.open(Node::Console, READ_WRITE),
    );
    let directory = files.open(Node::Directory(b""), READ_ONLY);
    for target in [full, console] {
        assert_eq!(files.splice(reader, target, 4), Err(Errno::EINVAL));
    }
    for source in [console, directory] {
        assert_eq!(files.splice(source, writer, 4), Err(Errno::EINVAL));
        assert_eq!(files.sendfile(source, full, 4), Err(Errno::EINVAL));
    }
    assert_eq!(host_console::take_output(), b"");
    assert_eq!(files.contents(reader, 10).as_deref(), Ok(&b"text"[..]));
}

// U-145, U-147: a pipe holds copies, and what is written behind one does not go into the file.
#[test]
fn pipe_keeps_what_was_spliced_when_file_or_pipe_change() {
    let files = Moves::new();
    let [reader, writer] = files.pipe(open_flags::NONBLOCK);
    while files.write(writer, AREA, PAGE_SIZE).is_ok() {}
    while files.read(reader, AREA, 2 * PAGE_SIZE).is_ok() {}
    let source = files.open(Node::Bytes(b"source"), READ_ONLY);
    assert_eq!(files.splice(source, writer, 1), Ok(1));
    files.put(b"sixteen bytes...");
    assert_eq!(files.write(writer, AREA, 16), Ok(16));
    assert_eq!(files.contents(reader, 100).as_deref(), Ok(&b"ssixteen bytes..."[..]));
    assert_eq!(files.contents(source, 100).as_deref(), Ok(&b"ource"[..]));
    let file = files.tmp(b"old bytes");
    assert_eq!(files.splice(file, writer, 100), Ok(9));
    files.put(b"new");
    assert_eq!(files.pwrite(file, AREA, 3, 0), Ok(3));
    assert_eq!(files.contents(reader, 100).as_deref(), Ok(&b"old bytes"[..]));
}

// U-137
#[test]
fn tee_copies_and_takes_nothing_and_vmsplice_moves_pages() {
    let files = Moves::new();
    let ([reader, writer], [second, other]) = (files.pipe(0), files.pipe(0));
    files.put(b"twice");
    assert_eq!(files.write(writer, AREA, 5), Ok(5));
    assert_eq!(do_tee(files.file(reader), files.file(other), 3, 0), Ok(3));
    // The copy is closed to later writes, the original is not.
    assert_eq!(files.write(other, AREA, 2), Ok(2));
    assert_eq!(files.write(writer, AREA, 2), Ok(2));
    assert_eq!(files.contents(second, 100).as_deref(), Ok(&b"twitw"[..]));
    assert_eq!(files.contents(reader, 100).as_deref(), Ok(&b"twicetw"[..]));
    let pipe = |fd| pipe::of(files.file(fd)).unwrap();
    // Across the end of a page: two pages of the pipe; a segment that faults ends it.
    let segments = [range(AREA + PAGE_SIZE - 10, 20), range(AREA, 3), range(HOLE, 4)];
    let room = pipe(writer).room();
    assert_eq!(vmsplice_to_pipe(pipe(writer), &segments, false), Ok(23));
    assert_eq!(room - pipe(writer).room(), 3);
    assert_eq!(
        vmsplice_to_pipe(pipe(writer), &segments[2..], false),
        Err(Errno::EFAULT)
    );
    assert_eq!(
        vmsplice_to_user(pipe(reader), &[range(AREA, 15), range(AREA + 50, 100)], false),
        Ok(23)
    );
    assert_eq!(
        vmsplice_to_user(pipe(reader), &[range(AREA, 15)], true),
        Err(Errno::EAGAIN)
    );
}

// U-136, U-141
#[test]
fn sendfile_moves_what_there_is_and_ends() {
    let files = Moves::new();
    let (null, full) = (files.open(Node::Null, WRITE_ONLY), files.open(Node::Full, READ_WRITE));
    let zero = files.open(Node::Zero, READ_ONLY);
    assert_eq!(files.sendfile(zero, null, 1 << 20), Ok(1 << 20));
    let file = files.tmp(&[3; 100]);
    assert_eq!(files.sendfile(file, null, MAX_RW_COUNT), Ok(100));
    assert_eq!(files.file(file).position().get(), 100);
    assert_eq!(files.sendfile(file, null, 5), Ok(0));
    files.file(file).position().set(10);
    assert_eq!(files.sendfile(file, full, 5), Err(Errno::EINVAL));
    assert_eq!(files.file(file).position().get(), 10);
    let copy = files.tmp(b"");
    assert_eq!(files.sendfile(file, copy, 1000), Ok(90));
    assert_eq!(files.pread(copy, AREA, 1000, 0), Ok(90));
    assert_eq!(bytes(AREA, 90), [3; 90]);
    let [_reader, writer] = files.pipe(open_flags::NONBLOCK);
    while files.write(writer, AREA, PAGE_SIZE).is_ok() {}
    assert_eq!(files.sendfile(zero, writer, 1), Err(Errno::EAGAIN));
}

#[test]
fn descriptors_are_the_lowest_free_ones_below_the_limit() {
    let files = Moves::new();
    let zero = files.open(Node::Zero, READ_ONLY);
    let table = &files.table;
    assert_eq!(zero, 0);
    table.set_limit(4).unwrap();
    assert_eq!(table.dup(zero, 2, true), Ok(2));
    assert_eq!(table.dup(zero, 0, false), Ok(1));
    assert_eq!(table.dup(zero, 2, false), Ok(3));
    assert_eq!(table.dup(zero, 0, false), Err(Errno::EMFILE));
    assert_eq!(table.dup2(zero, 4, false), Err(Errno::EBADF));
    assert_eq!(table.set_limit(DESCRIPTORS as u32 + 1), Err(Errno::EPERM));
    assert!(table.close_on_exec(2).unwrap().get() && !table.close_on_exec(1).unwrap().get());
    assert_eq!(table.dup2(zero, 2, false), Ok(2));
    assert!(!table.close_on_exec(2).unwrap().get());
    table.close(2).unwrap();
    assert_eq!(table.close(2), Err(Errno::EBADF));
    assert_eq!(table.in_use(), 3);
}

// U-104: nothing is left of files and pipes when the last descriptor goes.
#[test]
fn closing_gives_everything_back() {
    for _ in 0..1000 {
        let files = Moves::new();
        let file = files.tmp(&[1; 5000]);
        let [_, writer] = files.pipe(0);
        assert_eq!(files.splice(file, writer, 6000), Ok(5000));
    }
    let files = Moves::new();
    let [reader, _] = files.pipe(0);
    assert_eq!(pipe::of(files.file(reader)).map(Pipe::length), Some(0));
    assert!(walk(b"tmp", b"moves").is_ok_and(|target| target.node.is_none()));
}
