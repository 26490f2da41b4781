//! Every word decodes, every image runs: the core has an answer to anything.
//!
//! `SWEEP=all` decodes all 2^32 words instead of every 256th; `FUZZ_SECONDS` runs random images for that long.

use super::flat::Flat;
use super::lockstep::random::Random;
use mpc8xx_sim::cpu::decode::{Op, Row, TABLE, decode, find_row};
use mpc8xx_sim::cpu::registers::msr;
use mpc8xx_sim::cpu::{Budget, Stop};
use mpc8xx_sim::machine::Machine;
use mpc8xx_sim::part;

#[test]
fn every_word_is_one_row_or_illegal() {
    let step = if std::env::var("SWEEP").is_ok_and(|value| value == "all") {
        1
    } else {
        256
    };
    for primary in 0..64u32 {
        let rows: Vec<&Row> = TABLE.iter().filter(|row| row.value >> 26 == primary).collect();
        // An odd start makes the sample cover the low bits as well.
        let first = primary.wrapping_mul(37) % step;
        for low in (first..1 << 26).step_by(step as usize) {
            // The sample must not always end in the same bits: fold the high ones in.
            let word = primary << 26 | (low ^ (low >> 8 & (step - 1)));
            let matching = rows.iter().filter(|row| word & row.mask == row.value).count();
            let op = decode(word).op;
            match find_row(word) {
                Some(row) => assert!(matching == 1 && row.op == op, "{word:#010x}: {matching} rows"),
                None => assert!(matching == 0 && op == Op::Illegal, "{word:#010x}: {matching} rows"),
            }
        }
    }
}

/// A word that is an instruction with random operands half of the time, and anything at all otherwise.
fn random_word(random: &mut Random) -> u32 {
    if random.one_in(2) {
        return random.operand();
    }
    let row = &TABLE[random.below(TABLE.len() as u32) as usize];
    row.value | random.word() & !row.mask
}

/// An image of random words with random translation, so that every exception and every SPR gets its turn.
fn run_random_image(seed: u64, part: &str, timed: bool) -> Stop {
    let mut random = Random::new(seed);
    let mut bus = Flat::new(0x1_0000);
    for word in bus.memory.chunks_exact_mut(4) {
        word.copy_from_slice(&random_word(&mut random).to_be_bytes());
    }
    let mut machine = Machine::new(part::by_name(part).unwrap(), bus);
    machine.set_timed(timed);
    machine.cpu.quirks.stop_on_reset = true;
    machine.cpu.enter_image(random.below(0x1_0000));
    for register in 0..32 {
        machine.cpu.set_gpr(register, random.below(0x2_0000));
    }
    for number in 560..830 {
        let value = random.operand();
        machine.cpu.write_spr(&mut machine.bus, number, value);
    }
    machine.bus.event = u64::from(random.below(10_000));
    machine.cpu.write_msr(random.word() & !msr::LE & !msr::ILE | msr::ME);
    machine.run(Budget {
        instructions: 20_000,
        clocks: 2_000_000,
    })
}

#[test]
fn random_images_end_in_a_defined_stop() {
    let seconds = std::env::var("FUZZ_SECONDS").map_or(0, |text| text.parse().expect("FUZZ_SECONDS is a number"));
    let start = std::time::Instant::now();
    let mut seed = 1;
    while seed <= 150 || start.elapsed().as_secs() < seconds {
        let part = part::PARTS[seed as usize % part::PARTS.len()].name;
        // What matters is that there is a stop at all; printing it exercises every message.
        let text = run_random_image(seed, part, seed % 2 == 0).to_string();
        assert!(!text.is_empty());
        seed += 1;
    }
    println!("{} random images", seed - 1);
}
