//! Random programs in lockstep with `qemu-ppc`, user emulation by people who know nothing of this simulator.
//!
//! A program is a static ELF file with a few dozen blocks of random instructions ([`generate`]). Each block loads all
//! registers from a table, works on its own scratch area, and stores all registers; at the end one `write` hands out
//! tables and scratch areas. The same image runs on the core, with the cycle model (and so through the caches) for every
//! second program, and every byte must agree.
//!
//! What the architecture leaves undefined is kept out by the generator (invalid forms, traps that are taken, a
//! `stwcx.` to another address than its `lwarx`), with one exception: the quotient of a division that cannot be
//! represented, which the core chooses as QEMU does. QEMU's `dcbz` clears 32 bytes, so ours come in pairs.
//!
//! `LOCKSTEP_PROGRAMS` and `LOCKSTEP_SEED` ask for more than the fixed run.

mod generate;
pub mod random;

use super::flat::Flat;
use generate::{BASE, Program};
use mpc8xx_sim::cpu::decode::{Op, TABLE, decode};
use mpc8xx_sim::cpu::registers::msr;
use mpc8xx_sim::cpu::{Budget, Stop};
use mpc8xx_sim::machine::Machine;
use mpc8xx_sim::part;
use std::collections::HashSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs of the fixed run: more than three million random instructions.
const PROGRAMS: u64 = 560;

/// The number in this environment variable.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| {
        text.parse().unwrap_or_else(|_| panic!("{name}={text}: not a number"))
    })
}

/// Runs the program on the core and returns what it would have written, and how many instructions it executed.
fn run_here(program: &Program, timed: bool) -> (Vec<u8>, u64) {
    let mut bus = Flat::new(4 << 20);
    let at = BASE as usize;
    bus.memory[at..at + program.image.len()].copy_from_slice(&program.image);
    bus.memory[0xC00..0xC04].copy_from_slice(&super::asm::b(0).to_be_bytes());
    let mut machine = Machine::new(part::by_name("885").unwrap(), bus);
    machine.cpu.enter_image(program.entry);
    machine.cpu.write_spr(&mut machine.bus, 568, 0x0200_0000).unwrap();
    machine.cpu.write_msr(msr::PR | msr::ME);
    machine.set_timed(timed);
    let stop = machine.run(Budget::instructions(10_000_000));
    assert!(
        matches!(stop, Stop::Halt { pc: 0xC00, .. }),
        "the program must end with a system call: {stop}"
    );
    // What is still in the data cache belongs to the result.
    machine.set_timed(false);
    let dump = program.dump;
    let memory = &machine.bus.memory;
    (
        memory[dump.start as usize..dump.end as usize].to_vec(),
        machine.cpu.instructions(),
    )
}

fn run_in_qemu(program: &Program, file: &Path) -> Vec<u8> {
    std::fs::write(file, program.elf()).unwrap();
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = Command::new("timeout")
        .args(["60", "qemu-ppc", "-cpu", "603e"])
        .arg(file)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "qemu-ppc ended with {}: {}",
        output.status,
        file.display()
    );
    output.stdout
}

fn qemu_is_there() -> bool {
    Command::new("qemu-ppc")
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

fn scratch_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Operations that user mode has but the generator leaves out: they leave the program, depend on the clock, or reach
/// only the lowest addresses.
const LEFT_OUT: [Op; 5] = [Op::Sc, Op::Mftb, Op::Bca, Op::Bcla, Op::Tlbsync];

/// Operations of the supervisor.
const PRIVILEGED: [Op; 6] = [Op::Rfi, Op::Mfmsr, Op::Mtmsr, Op::Dcbi, Op::Tlbie, Op::Tlbia];

#[test]
fn generator_covers_every_user_mode_operation() {
    let mut seen = HashSet::new();
    for seed in 1..40 {
        seen.extend(Program::random(seed).words().map(|word| decode(word).op));
    }
    assert!(!seen.contains(&Op::Illegal), "the generator makes illegal words");
    for row in TABLE {
        let expected = !LEFT_OUT.contains(&row.op) && !PRIVILEGED.contains(&row.op);
        assert_eq!(seen.contains(&row.op), expected, "{}", row.op.mnemonic());
    }
}

#[test]
fn random_programs_agree_with_qemu_in_every_byte() {
    if !qemu_is_there() {
        eprintln!("skipped: qemu-ppc is not installed");
        return;
    }
    let programs = setting("LOCKSTEP_PROGRAMS", PROGRAMS);
    let first_seed = setting("LOCKSTEP_SEED", 1);
    let threads = 2;
    let totals: Vec<u64> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|worker| {
                scope.spawn(move || {
                    let file = scratch_file(&format!("lockstep-{worker}.elf"));
                    let mut total = 0;
                    for seed in (first_seed + worker..first_seed + programs).step_by(threads as usize) {
                        let program = Program::random(seed);
                        let (here, executed) = run_here(&program, seed % 2 == 0);
                        let there = run_in_qemu(&program, &file);
                        if let Some(difference) = program.first_difference(&here, &there) {
                            panic!("seed {seed}: {difference}");
                        }
                        total += executed.saturating_sub(program.frame);
                    }
                    total
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let total: u64 = totals.iter().sum();
    println!("{programs} programs, {total} instructions in random blocks, no difference");
    assert!(
        programs < PROGRAMS || total >= 3_000_000,
        "only {total} instructions in random blocks"
    );
}
