//! A scripted system for the programs' unit tests.
#![forbid(unsafe_code)]

use super::errno::Errno;
use super::sys::{Fd, IoVector, Sys, Whence, open_flags};
use crate::user::start::StartInfo;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use core::ffi::CStr;
use std::ffi::CString;

/// Runs the `main` of a program with these arguments, the first of which is its name.
pub fn run(main: fn(&StartInfo<'_>, &mut Fake) -> u8, arguments: &[&str], sys: &mut Fake) -> u8 {
    let texts: Vec<CString> = arguments.iter().map(|text| CString::new(*text).unwrap()).collect();
    main(
        &StartInfo {
            arguments: texts.iter().map(CString::as_c_str).collect(),
            ..StartInfo::default()
        },
        sys,
    )
}

/// What an open descriptor or a named file does.
#[derive(Clone, Debug)]
pub enum File {
    /// A regular file; `bad` blocks of 512 bytes fail to read with `EIO`.
    Regular { content: Vec<u8>, bad: Vec<usize> },
    /// A pipe's reading end: each read gives one item, or its error; then the end of the file.
    Pipe(VecDeque<Result<Vec<u8>, Errno>>),
    /// Endless zeros, offset always 0.
    Zero,
    /// Swallows everything, offset always 0.
    Null,
    /// Room for this many bytes, then `ENOSPC`; what was written is kept.
    Limited { room: usize, content: Vec<u8> },
}

/// An open descriptor.
#[derive(Clone, Debug)]
pub struct Open {
    name: String,
    offset: u64,
}

/// Files by name, descriptors over them, and a clock that advances by a fixed step per reading.
#[derive(Debug)]
pub struct Fake {
    pub files: BTreeMap<String, File>,
    pub open: BTreeMap<i32, Open>,
    /// No write takes more than this at once.
    pub largest_write: usize,
    /// So many of the next reads and writes fail with `EINTR`.
    pub interrupts: usize,
    pub clock_ns: u64,
    pub clock_step_ns: u64,
    pub has_clock: bool,
    pub calls: BTreeMap<&'static str, u64>,
    pub opened_flags: Vec<(String, u32)>,
    pub read_offsets: Vec<u64>,
}

impl Default for Fake {
    fn default() -> Self {
        let mut fake = Fake {
            files: BTreeMap::new(),
            open: BTreeMap::new(),
            largest_write: usize::MAX,
            interrupts: 0,
            clock_ns: 5_000_000_000,
            clock_step_ns: 1_000_000,
            has_clock: true,
            calls: BTreeMap::new(),
            opened_flags: Vec::new(),
            read_offsets: Vec::new(),
        };
        fake.add("/dev/zero", File::Zero);
        fake.add("/dev/null", File::Null);
        fake.add(
            "/dev/full",
            File::Limited {
                room: 0,
                content: Vec::new(),
            },
        );
        fake.add(
            "<stdin>",
            File::Regular {
                content: Vec::new(),
                bad: Vec::new(),
            },
        );
        fake.add(
            "<stdout>",
            File::Limited {
                room: usize::MAX,
                content: Vec::new(),
            },
        );
        fake.add(
            "<stderr>",
            File::Limited {
                room: usize::MAX,
                content: Vec::new(),
            },
        );
        for (fd, name) in ["<stdin>", "<stdout>", "<stderr>"].into_iter().enumerate() {
            fake.open.insert(
                fd as i32,
                Open {
                    name: name.into(),
                    offset: 0,
                },
            );
        }
        fake
    }
}

impl Fake {
    pub fn add(&mut self, name: &str, file: File) {
        self.files.insert(name.into(), file);
    }

    pub fn add_regular(&mut self, name: &str, content: &[u8]) {
        self.add(
            name,
            File::Regular {
                content: content.to_vec(),
                bad: Vec::new(),
            },
        );
    }

    pub fn set_stdin(&mut self, file: File) {
        self.add("<stdin>", file);
    }

    pub fn content(&self, name: &str) -> &[u8] {
        match &self.files[name] {
            File::Regular { content, .. } | File::Limited { content, .. } => content,
            other => panic!("{name} keeps no content: {other:?}"),
        }
    }

    pub fn stdout(&self) -> String {
        String::from_utf8(self.content("<stdout>").to_vec()).unwrap()
    }

    pub fn stderr(&self) -> String {
        String::from_utf8(self.content("<stderr>").to_vec()).unwrap()
    }

    fn count(&mut self, call: &'static str) {
        *self.calls.entry(call).or_default() += 1;
    }

    fn interrupted(&mut self) -> Result<(), Errno> {
        match self.interrupts.checked_sub(1) {
            Some(left) => {
                self.interrupts = left;
                Err(Errno::EINTR)
            }
            None => Ok(()),
        }
    }
}

impl Sys for Fake {
    fn open(&mut self, path: &CStr, flags: u32, _mode: u32) -> Result<Fd, Errno> {
        let name = path.to_str().unwrap();
        self.opened_flags.push((name.into(), flags));
        if flags & open_flags::O_CREAT != 0 && !self.files.contains_key(name) {
            self.add_regular(name, b"");
        }
        let file = self.files.get_mut(name).ok_or(Errno::ENOENT)?;
        if let (File::Regular { content, .. }, true) = (file, flags & open_flags::O_TRUNC != 0) {
            content.clear();
        }
        let fd = (0..).find(|fd| !self.open.contains_key(fd)).unwrap();
        self.open.insert(
            fd,
            Open {
                name: name.into(),
                offset: 0,
            },
        );
        Ok(Fd(fd))
    }

    fn close(&mut self, fd: Fd) -> Result<(), Errno> {
        self.open.remove(&fd.0).map(drop).ok_or(Errno::EBADF)
    }

    fn read(&mut self, fd: Fd, buffer: &mut [u8]) -> Result<usize, Errno> {
        self.count("read");
        self.interrupted()?;
        let open = self.open.get_mut(&fd.0).ok_or(Errno::EBADF)?;
        match self.files.get_mut(&open.name).unwrap() {
            File::Regular { content, bad } => {
                let start = usize::try_from(open.offset).unwrap().min(content.len());
                if bad.contains(&(start / 512)) {
                    return Err(Errno::EIO);
                }
                let count = buffer.len().min(content.len() - start);
                buffer[..count].copy_from_slice(&content[start..start + count]);
                open.offset += count as u64;
                Ok(count)
            }
            File::Pipe(items) => match items.pop_front() {
                None => Ok(0),
                Some(Err(error)) => Err(error),
                Some(Ok(mut bytes)) => {
                    let count = buffer.len().min(bytes.len());
                    buffer[..count].copy_from_slice(&bytes[..count]);
                    let rest = bytes.split_off(count);
                    if !rest.is_empty() {
                        items.push_front(Ok(rest));
                    }
                    Ok(count)
                }
            },
            File::Zero => {
                buffer.fill(0);
                Ok(buffer.len())
            }
            File::Null => Ok(0),
            File::Limited { .. } => Err(Errno::EBADF),
        }
    }

    fn read_at(&mut self, fd: Fd, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        self.count("read_at");
        self.read_offsets.push(offset);
        let open = self.open.get_mut(&fd.0).ok_or(Errno::EBADF)?;
        let before = core::mem::replace(&mut open.offset, offset);
        let result = self.read(fd, buffer);
        if let Some(open) = self.open.get_mut(&fd.0) {
            open.offset = before;
        }
        result
    }

    fn write(&mut self, fd: Fd, bytes: &[u8]) -> Result<usize, Errno> {
        self.count("write");
        self.interrupted()?;
        let open = self.open.get_mut(&fd.0).ok_or(Errno::EBADF)?;
        let bytes = &bytes[..bytes.len().min(self.largest_write)];
        match self.files.get_mut(&open.name).unwrap() {
            File::Regular { content, .. } => {
                let start = usize::try_from(open.offset).unwrap();
                content.resize(content.len().max(start + bytes.len()), 0);
                content[start..start + bytes.len()].copy_from_slice(bytes);
                open.offset += bytes.len() as u64;
                Ok(bytes.len())
            }
            File::Limited { room, content } => {
                let count = bytes.len().min(*room);
                if count == 0 {
                    return Err(Errno::ENOSPC);
                }
                *room -= count;
                content.extend_from_slice(&bytes[..count]);
                Ok(count)
            }
            File::Null | File::Zero => Ok(bytes.len()),
            File::Pipe(items) => {
                items.push_back(Ok(bytes.to_vec()));
                Ok(bytes.len())
            }
        }
    }

    fn read_vector(&mut self, fd: Fd, vector: &mut IoVector) -> Result<usize, Errno> {
        self.read(fd, vector.bytes_mut())
    }

    fn write_vector(&mut self, fd: Fd, vector: &IoVector) -> Result<usize, Errno> {
        self.write(fd, vector.bytes())
    }

    fn send_file(&mut self, to: Fd, from: Fd, count: usize) -> Result<usize, Errno> {
        let mut buffer = alloc::vec![0; count];
        let read = self.read(from, &mut buffer)?;
        self.write(to, &buffer[..read])
    }

    fn splice(&mut self, from: Fd, to: Fd, count: usize) -> Result<usize, Errno> {
        // A pipe with little room, so that a block takes several turns.
        self.send_file(to, from, count.min(100))
    }

    fn pipe(&mut self) -> Result<[Fd; 2], Errno> {
        self.add("<pipe>", File::Pipe(VecDeque::new()));
        Ok([self.open(c"<pipe>", 0, 0)?, self.open(c"<pipe>", 0, 0)?])
    }

    fn seek(&mut self, fd: Fd, offset: i64, whence: Whence) -> Result<u64, Errno> {
        let open = self.open.get_mut(&fd.0).ok_or(Errno::EBADF)?;
        let length = match &self.files[&open.name] {
            File::Regular { content, .. } => content.len() as u64,
            File::Zero | File::Null => return Ok(0),
            File::Pipe(_) | File::Limited { .. } => return Err(Errno::ESPIPE),
        };
        let base = match whence {
            Whence::Start => 0,
            Whence::Current => open.offset,
            Whence::End => length,
        };
        let position = base
            .checked_add_signed(offset)
            .filter(|&position| position <= i64::MAX as u64)
            .ok_or(Errno::EINVAL)?;
        open.offset = position;
        Ok(position)
    }

    fn truncate(&mut self, fd: Fd, length: u64) -> Result<(), Errno> {
        self.count("truncate");
        let open = self.open.get(&fd.0).ok_or(Errno::EBADF)?;
        match self.files.get_mut(&open.name).unwrap() {
            File::Regular { content, .. } => {
                content.resize(usize::try_from(length).map_err(|_| Errno::EFBIG)?, 0);
                Ok(())
            }
            _ => Err(Errno::EINVAL),
        }
    }

    fn sync(&mut self, fd: Fd) -> Result<(), Errno> {
        self.count("sync");
        let open = self.open.get(&fd.0).ok_or(Errno::EBADF)?;
        if matches!(self.files[&open.name], File::Regular { .. }) {
            Ok(())
        } else {
            Err(Errno::EINVAL)
        }
    }

    fn parent_process(&mut self) -> Result<u32, Errno> {
        self.count("parent_process");
        Ok(1)
    }

    fn monotonic_ns(&mut self) -> Result<u64, Errno> {
        self.count("clock");
        if !self.has_clock {
            return Err(Errno::ENOSYS);
        }
        self.clock_ns += self.clock_step_ns;
        Ok(self.clock_ns)
    }

    fn ticks(&mut self) -> u64 {
        // A quarter of the clock's rate.
        self.clock_ns += self.clock_step_ns;
        self.clock_ns / 4
    }
}
