//! What a call costs by bytes and by segments: the calls of the preset in force, made from the kernel, without the trap
//! into it and the way back.
#![forbid(unsafe_code)]

use super::series::{Clocks, Fit, Tenths, fit, percent};
use crate::addr::PAGE_SIZE;
use crate::arch::mmu_types::Protection;
use crate::arch::ppc::SyscallEntry;
use crate::arch::ppc::spr::timebase;
use crate::arch::window;
use crate::errno::Errno;
use crate::fs::node::Node;
use crate::fs::open_flags::{READ_ONLY, WRITE_ONLY};
use crate::mm::AddressSpace;
use crate::policy::{General, Policy, WindowControl};
use crate::println;
use crate::syscall;
use crate::task;
use alloc::format;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

/// Blocks of read and write, in bytes.
const SIZES: [u32; 12] = [
    1,
    16,
    64,
    256,
    512,
    1024,
    2048,
    4096,
    16 << 10,
    64 << 10,
    256 << 10,
    1 << 20,
];
/// The sizes of two lines: from where `clear_user` works by cache lines up to half of the smallest data cache, and well
/// beyond it.
const SMALL: RangeInclusive<u32> = 64..=4096;
const LARGE: RangeInclusive<u32> = 16 << 10..=1 << 20;
/// Entries of a vector.
const SEGMENTS: [u32; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
/// Where the first line ends for these, and the second.
const FEW: u32 = 8;
const MANY: u32 = 256;
/// Bytes of an entry.
const SEGMENT: u32 = 16;
/// The block for which the plain call and the vector are compared.
const BLOCK: u32 = 512;

const BUFFER: u32 = 0x1000_0000;
const VECTOR: u32 = 0x1800_0000;

const READ: usize = 3;
const WRITE: usize = 4;
const READV: usize = 145;
const WRITEV: usize = 146;

/// What is measured with: user memory, and the devices open.
struct Bench {
    space: AddressSpace,
    zero: u32,
    null: u32,
    clocks: Clocks,
}

impl Bench {
    fn new(clocks: Clocks) -> Result<Self, Errno> {
        let space = AddressSpace::new()?;
        space.map(BUFFER, BUFFER + (1 << 20), Protection::READ_WRITE)?;
        space.map(VECTOR, VECTOR + 2 * PAGE_SIZE, Protection::READ_WRITE)?;
        let files = &task::current().files;
        let open = |node, flags| files.open(node, syscall::operations(node), flags);
        let zero = open(Node::Zero, READ_ONLY)?;
        let null = open(Node::Null, WRITE_ONLY)?;
        space.activate();
        if !<General as Policy>::Window::is_enabled() {
            window::set_kuap(false);
        }
        Ok(Self {
            space,
            zero,
            null,
            clocks,
        })
    }

    /// Cycles of one call, or the number of the first that did not do all.
    fn cost(&self, call: usize, address: u32, count: u32, bytes: u32) -> Result<Tenths, i32> {
        let entry: SyscallEntry = syscall::measured_call(call).ok_or(-(Errno::ENOSYS.raw() as i32))?;
        let fd = if matches!(call, READ | READV) {
            self.zero
        } else {
            self.null
        };
        let turns = ((4 << 20) / (bytes + 1024)).max(8);
        // The first turn fills the caches and is not counted.
        let mut start = 0;
        for turn in 0..=turns {
            if turn == 1 {
                start = timebase();
            }
            let done = entry(fd, address, count, 0, 0, 0);
            if done != bytes as i32 {
                return Err(done);
            }
        }
        let ticks = u128::from(timebase() - start);
        let divisor = u128::from(self.clocks.timebase_hz) * u128::from(turns);
        Ok(Tenths((ticks * u128::from(self.clocks.core_hz) * 10 / divisor) as i64))
    }

    /// Writes an array of `count` entries of `bytes` bytes each, one behind the other.
    fn fill_vector(&self, count: u32, bytes: u32) -> Result<(), Errno> {
        let entries = (0..count).flat_map(|index| [BUFFER + index * bytes, bytes]);
        let image: Vec<u8> = entries.flat_map(u32::to_be_bytes).collect();
        self.space.write(VECTOR, &image)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        window::set_kuap(true);
        task::current().files.close_all();
        AddressSpace::deactivate();
    }
}

/// Thousandths of a cycle, printed with three decimals.
struct Thousandths(i64);

impl core::fmt::Display for Thousandths {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        write!(
            f,
            "{sign}{}.{:03}",
            self.0.unsigned_abs() / 1000,
            self.0.unsigned_abs() % 1000
        )
    }
}

fn print_fit(what: &str, per: &str, points: &[(u32, Tenths)], json: bool) {
    let Some(Fit { base, slope, off }) = fit(points) else {
        return;
    };
    let slope = Thousandths(slope);
    if json {
        println!("{{\"fit\":\"{what}\",\"base\":{base},\"slope\":{slope},\"per\":\"{per}\",\"off_percent\":{off}}}");
    } else {
        println!("{what}: {base} + {slope} a {per}, off by {off}% at most");
    }
}

/// Prints the curves and their lines. Returns 0, or 1 if there is no memory for it or a call failed.
pub fn run(clocks: Clocks, json: bool) -> i32 {
    let bench = match Bench::new(clocks) {
        Ok(bench) => bench,
        Err(error) => {
            println!("curve: cannot begin: {}", error.message());
            return 1;
        }
    };
    match rows(&bench, json) {
        Ok(()) => 0,
        Err(result) => {
            println!("curve: a call gave {result}");
            1
        }
    }
}

fn rows(bench: &Bench, json: bool) -> Result<(), i32> {
    let failed = |error: Errno| -(error.raw() as i32);
    if !json {
        println!(
            "preset {}: cycles of a call, the trap not counted",
            syscall::chosen().name
        );
        println!("{:>9} {:>10} {:>10}", "bytes", "read", "write");
    }
    let mut read = Vec::new();
    for bytes in SIZES {
        let cost = bench.cost(READ, BUFFER, bytes, bytes)?;
        let write = bench.cost(WRITE, BUFFER, bytes, bytes)?;
        read.push((bytes, cost));
        if json {
            println!("{{\"bytes\":{bytes},\"read\":{cost},\"write\":{write}}}");
        } else {
            println!("{bytes:>9} {cost:>10} {write:>10}");
        }
    }
    if !json {
        println!(
            "{:>9} {:>10} {:>10}  of {SEGMENT} bytes each",
            "segments", "readv", "writev"
        );
    }
    let (mut readv, mut writev) = (Vec::new(), Vec::new());
    for count in SEGMENTS {
        bench.fill_vector(count, SEGMENT).map_err(failed)?;
        let gathered = bench.cost(READV, VECTOR, count, count * SEGMENT)?;
        let scattered = bench.cost(WRITEV, VECTOR, count, count * SEGMENT)?;
        readv.push((count, gathered));
        writev.push((count, scattered));
        if json {
            println!("{{\"segments\":{count},\"readv\":{gathered},\"writev\":{scattered}}}");
        } else {
            println!("{count:>9} {gathered:>10} {scattered:>10}");
        }
    }
    let among = |sizes: RangeInclusive<u32>| {
        read.iter()
            .copied()
            .filter(|(bytes, _)| sizes.contains(bytes))
            .collect()
    };
    let (small, large): (Vec<_>, Vec<_>) = (among(SMALL), among(LARGE));
    print_fit("read of 64 bytes to 4 KiB", "byte", &small, json);
    print_fit("read from 16 KiB on", "byte", &large, json);
    for (call, points) in [("readv", &readv), ("writev", &writev)] {
        // More than `FEW` entries live on the heap, more than `MANY` do not fit the data cache beside what they describe.
        let few: Vec<_> = points.iter().copied().filter(|(count, _)| *count <= FEW).collect();
        let many: Vec<_> = points
            .iter()
            .copied()
            .filter(|(count, _)| (FEW + 1..=MANY).contains(count))
            .collect();
        print_fit(&format!("{call} up to {FEW}"), "segment", &few, json);
        print_fit(&format!("{call} up to {MANY}"), "segment", &many, json);
    }
    bench.fill_vector(1, BLOCK).map_err(failed)?;
    let plain = bench.cost(READ, BUFFER, BLOCK, BLOCK)?;
    let vector = bench.cost(READV, VECTOR, 1, BLOCK)?;
    let ratio = percent(vector.0, plain.0);
    if json {
        println!("{{\"bytes\":{BLOCK},\"read\":{plain},\"readv\":{vector},\"readv_percent\":{ratio}}}");
    } else {
        println!("{BLOCK} bytes: read {plain}, readv of one segment {vector}, {ratio}% of it");
    }
    Ok(())
}
