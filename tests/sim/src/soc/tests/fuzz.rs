//! Random accesses.

use super::*;

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) as u32
    }
}

#[test]
fn no_sequence_of_accesses_panics_or_hangs() {
    for seed in 1..=40 {
        let mut random = Random(seed);
        let name = board::BOARDS[seed as usize % board::BOARDS.len()].name;
        let (mut soc, terminal) = booted(name);
        let mut now = 0;
        for _ in 0..4000 {
            now += u64::from(random.next() % 3000);
            let address = match random.next() % 8 {
                0 => random.next(),
                1 => random.next() % (16 << 20),
                2 => IMMR + 0x2000 + 0x1E80 + random.next() % 0x40,
                3 => IMMR + 0xA80 + random.next() % 0x20,
                _ => (soc.spr_read(BusSpr::Immr, now) & 0xFFFF_0000) + random.next() % 0x4010,
            };
            let width = [Width::Byte, Width::Half, Width::Word][random.next() as usize % 3];
            match random.next() % 64 {
                0 => soc.spr_write(BusSpr::Immr, IMMR | random.next() & 0xFFFF, now),
                1 => soc.spr_write(BusSpr::Dec, random.next(), now),
                2 => soc.spr_write(BusSpr::Tbu, random.next(), now),
                3 => {
                    terminal.type_bytes(now, b"x");
                    soc.console_changed(now);
                }
                4 => drop(soc.hard_reset(now)),
                5 => drop(soc.checkstop(now)),
                6 => soc.acknowledge_decrementer(),
                n if n % 2 == 0 => drop(soc.read(address, width, now)),
                _ => drop(soc.write(address, width, random.next(), now)),
            }
            if soc.next_event() <= now {
                soc.advance(now);
            }
            let _ = (
                soc.direct(address),
                soc.timing(address, CycleKind::BurstRead),
                soc.lines(),
                soc.refresh(),
            );
        }
    }
}
