//! How fast the simulator is, beside `qemu-system-ppc` on the same loop: `cargo bench -p mpc8xx-sim`.
//!
//! The loop is a mix of loads, stores, arithmetic, a call and two conditional branches in real mode. It runs without
//! and with the cycle model, and as the whole firmware of a g3beige under QEMU, which powers off through the CUDA when
//! it is done. Times are wall clock, the best of several runs, minus that of a short run for QEMU's start-up; the ratios
//! are what matters. Nothing is asserted.

use mpc8xx_sim::bus::{Bus, BusError, BusSpr, BusTiming, CycleKind, DirectPage, Lines, Width};
use mpc8xx_sim::cpu::Budget;
use mpc8xx_sim::machine::Machine;
use mpc8xx_sim::part;
use std::process::Command;
use std::time::{Duration, Instant};

/// Where the loop runs on the flat machine, and its data on both.
const CODE: u32 = 0x1_0000;
const DATA: u32 = 0x2_0000;

/// Instructions of one round: 18 in the loop and its function, of which the `li` pair runs once in 64 rounds.
const ROUND: f64 = 16.0 + 2.0 / 64.0;

const fn d_form(opcode: u32, d: u32, a: u32, immediate: i32) -> u32 {
    opcode << 26 | d << 21 | a << 16 | immediate as u32 & 0xFFFF
}

const fn x_form(d: u32, a: u32, b: u32, extended: u32) -> u32 {
    31 << 26 | d << 21 | a << 16 | b << 11 | extended << 1
}

/// The loop, `rounds` times, and then what `end` says.
fn program(rounds: u32, end: &[u32]) -> Vec<u32> {
    let mut words = vec![
        d_form(15, 3, 0, (rounds >> 16) as i32),
        d_form(24, 3, 3, (rounds & 0xFFFF) as i32),
        x_form(3, 9, 0, 467), // mtctr r3
        d_form(15, 4, 0, (DATA >> 16) as i32),
        d_form(14, 8, 4, 0x1000),
    ];
    words.extend([
        d_form(32, 5, 4, 0),                              // lwz r5,0(r4)
        d_form(14, 4, 4, 4),                              // addi r4,r4,4
        x_form(6, 6, 5, 266),                             // add r6,r6,r5
        21 << 26 | 6 << 21 | 7 << 16 | 3 << 11 | 31 << 1, // rlwinm r7,r6,3,0,31
        x_form(6, 6, 7, 316),                             // xor r6,r6,r7
        d_form(36, 6, 8, 0),                              // stw r6,0(r8)
        d_form(14, 8, 8, 4),                              // addi r8,r8,4
        18 << 26 | 28 | 1,                                // bl function
        d_form(28, 4, 9, 0xFF),                           // andi. r9,r4,0xFF
        16 << 26 | 4 << 21 | 2 << 16 | 12,                // bne +12
        d_form(15, 4, 0, (DATA >> 16) as i32),            // lis r4
        d_form(14, 8, 4, 0x1000),                         // addi r8,r4,0x1000
        16 << 26 | 16 << 21 | (-48i32 as u32 & 0xFFFC),   // bdnz loop
        18 << 26 | 20,                                    // b end
        x_form(10, 5, 6, 235),                            // function: mullw r10,r5,r6
        x_form(0, 10, 6, 0),                              // cmpw r10,r6
        x_form(11, 6, 10, 40),                            // subf r11,r6,r10
        19 << 26 | 20 << 21 | 16 << 1,                    // blr
    ]);
    words.extend(end);
    words
}

/// Flat memory with the bus of the CMPC885.
struct Flat(Vec<u8>);

impl Bus for Flat {
    fn memory(&self) -> &[u8] {
        &self.0
    }
    fn memory_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
    fn direct(&self, address: u32) -> Option<DirectPage> {
        let offset = (address & !0xFFF) as usize;
        (offset < self.0.len()).then_some(DirectPage { offset, writable: true })
    }
    fn map_generation(&self) -> u32 {
        0
    }
    fn cacheable(&self, _: u32) -> bool {
        true
    }
    fn read(&mut self, address: u32, _: Width, _: u64) -> Result<u32, BusError> {
        Err(BusError { address })
    }
    fn write(&mut self, address: u32, _: Width, _: u32, _: u64) -> Result<(), BusError> {
        Err(BusError { address })
    }
    fn timing(&self, _: u32, kind: CycleKind) -> BusTiming {
        match kind {
            CycleKind::SingleRead => BusTiming {
                critical: 10,
                beat: 0,
                total: 14,
            },
            CycleKind::SingleWrite => BusTiming {
                critical: 6,
                beat: 0,
                total: 16,
            },
            CycleKind::BurstRead => BusTiming {
                critical: 10,
                beat: 2,
                total: 18,
            },
            CycleKind::BurstWrite => BusTiming {
                critical: 6,
                beat: 2,
                total: 20,
            },
        }
    }
    fn bus_ratio(&self) -> u32 {
        2
    }
    fn next_event(&self) -> u64 {
        u64::MAX
    }
    fn advance(&mut self, _: u64) {}
    fn lines(&self) -> Lines {
        Lines::default()
    }
    fn acknowledge_decrementer(&mut self) {}
    fn acknowledge_nmi(&mut self) {}
    fn spr_read(&mut self, _: BusSpr, _: u64) -> u32 {
        0
    }
    fn spr_write(&mut self, _: BusSpr, _: u32, _: u64) {}
    fn checkstop(&mut self, _: u64) -> bool {
        false
    }
    fn hard_reset(&mut self, _: u64) -> bool {
        false
    }
}

/// Runs the loop here; returns wall clock and simulated clocks.
fn run_here(rounds: u32, timed: bool) -> (Duration, u64) {
    let mut bus = Flat(vec![0; 1 << 20]);
    for (index, word) in program(rounds, &[18 << 26]).iter().enumerate() {
        bus.0[CODE as usize + 4 * index..][..4].copy_from_slice(&word.to_be_bytes());
    }
    let mut machine = Machine::new(part::by_name("885").expect("the part is in the table"), bus);
    machine.cpu.enter_image(CODE);
    machine.cpu.write_spr(&mut machine.bus, 568, 0x0200_0000);
    machine.set_timed(timed);
    let start = Instant::now();
    machine.run(Budget::UNLIMITED);
    (start.elapsed(), machine.cpu.now())
}

/// A store of a byte to the VIA of the CUDA: base in r3, value by way of r4.
fn via(register: i32, value: i32) -> [u32; 2] {
    [d_form(14, 4, 0, value), d_form(38, 4, 3, register)]
}

/// Powers a g3beige off: maps the macio and sends the CUDA its power-down packet.
fn power_off() -> Vec<u32> {
    let configuration = |register: u32, value: u32| {
        let address = 0x8000_8000 | register;
        [
            d_form(15, 5, 0, 0xFEC0),
            d_form(15, 6, 0, (address >> 16) as i32),
            d_form(24, 6, 6, (address & 0xFFFF) as i32),
            x_form(6, 0, 5, 662), // stwbrx r6,0,r5
            d_form(15, 5, 0, 0xFEE0),
            d_form(15, 6, 0, (value >> 16) as i32),
            d_form(24, 6, 6, (value & 0xFFFF) as i32),
            x_form(6, 0, 5, 662),
        ]
    };
    let delay = [
        d_form(14, 7, 0, 0x4000),
        x_form(7, 9, 0, 467),
        16 << 26 | 16 << 21, // bdnz itself
    ];
    let mut words = Vec::new();
    words.extend(configuration(0x10, 0x8080_0000));
    words.extend(configuration(0x04, 6));
    words.extend([d_form(15, 3, 0, 0x8081), d_form(14, 3, 3, 0x6000)]);
    words.extend(
        [
            via(0x400, 0x30),
            via(0, 0x30),
            via(0x1600, 0x1C),
            via(0x1400, 0x01),
            via(0, 0x10),
        ]
        .concat(),
    );
    words.extend(delay);
    words.extend([via(0x1400, 0x0A), via(0, 0x00)].concat());
    words.extend(delay);
    words.extend(via(0, 0x30));
    words.push(18 << 26);
    words
}

/// The loop as firmware of a g3beige: an ELF file linked at the reset vector.
fn firmware(rounds: u32) -> Vec<u8> {
    const ENTRY: u32 = 0xFFF0_0100;
    let words = program(rounds, &power_off());
    let size = 4 * words.len() as u32;
    let mut file = vec![0x7F, b'E', b'L', b'F', 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for half in [2u16, 20] {
        file.extend(half.to_be_bytes());
    }
    for word in [1, ENTRY, 52, 0, 0u32] {
        file.extend(word.to_be_bytes());
    }
    for half in [52u16, 32, 1, 0, 0, 0] {
        file.extend(half.to_be_bytes());
    }
    for word in [1, 0x100, ENTRY, ENTRY, size, size, 7, 0x100] {
        file.extend(word.to_be_bytes());
    }
    file.resize(0x100, 0);
    file.extend(words.iter().flat_map(|word| word.to_be_bytes()));
    file
}

fn run_in_qemu(rounds: u32) -> Option<Duration> {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("speed.elf");
    std::fs::write(&path, firmware(rounds)).ok()?;
    let start = Instant::now();
    let status = Command::new("timeout")
        .args([
            "300",
            "qemu-system-ppc",
            "-M",
            "g3beige",
            "-cpu",
            "603e",
            "-vga",
            "none",
            "-nic",
            "none",
        ])
        .args([
            "-display",
            "none",
            "-monitor",
            "none",
            "-serial",
            "none",
            "-no-reboot",
            "-bios",
        ])
        .arg(&path)
        .status()
        .ok()?;
    status.success().then(|| start.elapsed())
}

fn main() {
    let rate = |rounds: u32, time: Duration| f64::from(rounds) * ROUND / time.as_secs_f64() / 1e6;
    let rounds = 200_000;
    // The best of many short runs, in turns: the machine may be busy with other things.
    let (mut off, mut on, mut clocks) = (Duration::MAX, Duration::MAX, 0);
    for _ in 0..60 {
        off = off.min(run_here(rounds, false).0);
        let (time, simulated) = run_here(rounds, true);
        (on, clocks) = (on.min(time), simulated);
    }
    println!(
        "simulator, timing off: {:7.1} million instructions a second",
        rate(rounds, off)
    );
    println!(
        "simulator, timing on:  {:7.1} million instructions a second, {:.2} times slower; {:.2} clocks an instruction",
        rate(rounds, on),
        on.as_secs_f64() / off.as_secs_f64(),
        clocks as f64 / (f64::from(rounds) * ROUND)
    );
    let long = 200 * rounds;
    let there = |rounds| (0..5).filter_map(|_| run_in_qemu(rounds)).min();
    match (there(1), there(long)) {
        (Some(start_up), Some(total)) if total > start_up => {
            let there = rate(long, total - start_up);
            println!(
                "qemu-system-ppc:       {there:7.1} million instructions a second, {:.1} times the simulator with timing off",
                there / rate(rounds, off)
            );
        }
        _ => println!("qemu-system-ppc: skipped, not installed or did not power off"),
    }
}
