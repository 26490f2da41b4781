//! Random user-mode programs.
//!
//! A block is a list of units: one random instruction with what it needs before it (an address, a loop count). Branches
//! jump over whole units only, so no instruction ever runs without its preparation. In each block one register is the
//! base of the scratch area and is never written; which one changes from block to block.

use super::super::asm::*;
use super::random::Random;

/// Where the image is loaded; above the lowest address that a host lets a program map.
pub const BASE: u32 = 0x0010_0000;
const BLOCKS: usize = 48;
/// Units in a block.
const UNITS: usize = 80;
/// Bytes of scratch memory of a block; its base register points to the middle.
const SCRATCH: u32 = 1024;
/// Words of a register table: 32 registers, CR, XER, LR, CTR, and for the output a count.
const TABLE: u32 = 40;

/// Registers behind the 32 general ones in a table.
const CR: u32 = 32;
const XER: u32 = 33;
const LR: u32 = 34;
const CTR: u32 = 35;

const XER_SPR: u32 = 1;
const LR_SPR: u32 = 8;
const CTR_SPR: u32 = 9;

/// XO-form instructions with three registers; all take OE and Rc.
const XO: [u32; 9] = [8, 10, 40, 136, 138, 235, 266, 459, 491];
/// XO-form instructions with rB = 0; all take OE and Rc.
const XO_UNARY: [u32; 5] = [104, 200, 202, 232, 234];
/// Instructions of the shape rA = op(rS, rB), with Rc.
const LOGICAL: [u32; 11] = [24, 28, 60, 124, 284, 316, 412, 444, 476, 536, 792];
/// The same without rB.
const LOGICAL_UNARY: [u32; 3] = [26, 922, 954];
const CR_LOGICAL: [u32; 8] = [33, 129, 193, 225, 257, 289, 417, 449];
const LOADS: [u32; 4] = [32, 34, 40, 42];
const STORES: [u32; 3] = [36, 38, 44];
/// lwzx lbzx lhzx lhax, then lwbrx lhbrx.
const INDEXED_LOADS: [u32; 6] = [23, 87, 279, 343, 534, 790];
const INDEXED_LOADS_UPDATE: [u32; 4] = [55, 119, 311, 375];
/// stwx stbx sthx, then stwbrx sthbrx.
const INDEXED_STORES: [u32; 5] = [151, 215, 407, 662, 918];
const INDEXED_STORES_UPDATE: [u32; 3] = [183, 247, 439];
/// dcbst dcbf dcbtst dcbt icbi.
const CACHE: [u32; 5] = [54, 86, 246, 278, 982];

/// One random instruction with its preparation.
enum Unit {
    Plain(Vec<u32>),
    /// A conditional or unconditional branch over so many units; the displacement is added later.
    Forward(u32, usize),
    /// The same through LR or CTR: register for the address, SPR, instruction.
    Indirect(u32, u32, u32, usize),
}

impl Unit {
    fn words(&self) -> usize {
        match self {
            Unit::Plain(words) => words.len(),
            Unit::Forward(..) => 1,
            Unit::Indirect(..) => 4,
        }
    }
}

/// A program ready to run.
pub struct Program {
    pub image: Vec<u8>,
    pub entry: u32,
    /// Addresses of what it writes out: the output tables, then the scratch areas.
    pub dump: DumpRange,
    /// Instructions outside the blocks, each of which runs once.
    pub frame: u64,
    blocks: Vec<Vec<u32>>,
}

/// Addresses from start to end.
#[derive(Clone, Copy)]
pub struct DumpRange {
    pub start: u32,
    pub end: u32,
}

struct Generator {
    random: Random,
    base: u32,
}

impl Generator {
    /// A register that may be written.
    fn free(&mut self) -> u32 {
        loop {
            let register = self.random.below(32);
            if register != self.base {
                return register;
            }
        }
    }

    /// A register that may be written and can be a base address; not one of `taken`.
    fn address_register(&mut self, taken: &[u32]) -> u32 {
        loop {
            let register = self.free();
            if register != 0 && !taken.contains(&register) {
                return register;
            }
        }
    }

    fn any(&mut self) -> u32 {
        self.random.below(32)
    }

    /// An offset from the base register that leaves 160 bytes of scratch memory on either side.
    fn offset(&mut self, alignment: i32) -> i32 {
        let span = (SCRATCH / 2 - 160) as i32;
        (self.random.below(2 * span as u32) as i32 - span) & -alignment
    }

    fn rc(&mut self) -> u32 {
        self.random.below(2)
    }

    fn units(&mut self) -> Vec<Unit> {
        (0..UNITS).map(|_| self.unit()).collect()
    }

    fn unit(&mut self) -> Unit {
        match self.random.below(100) {
            0..58 => Unit::Plain(self.integer()),
            58..88 => Unit::Plain(self.storage()),
            88..91 => Unit::Plain(self.counted_loop()),
            91..97 => self.branch(),
            _ => self.indirect(),
        }
    }

    fn integer(&mut self) -> Vec<u32> {
        let (d, s, b) = (self.free(), self.any(), self.any());
        let immediate = self.random.operand() as i32;
        let rc = self.rc();
        let field = self.random.below(8) << 2;
        vec![match self.random.below(22) {
            0..4 => x31(d, s, b, self.random.pick(&XO)) | self.random.below(2) << 10 | rc,
            4 => x31(d, s, 0, self.random.pick(&XO_UNARY)) | self.random.below(2) << 10 | rc,
            5 => x31(d, s, b, self.random.pick(&[11, 75])) | rc,
            6..9 => x31(s, d, b, self.random.pick(&LOGICAL)) | rc,
            9 => x31(s, d, 0, self.random.pick(&LOGICAL_UNARY)) | rc,
            10 => x31(s, d, b, 824) | rc,
            // mulli subfic addic addic. addi addis
            11 => d_form(self.random.pick(&[7, 8, 12, 13, 14, 15]), d, s, immediate),
            12 => d_form(self.random.pick(&[24, 25, 26, 27, 28, 29]), s, d, immediate),
            13..15 => self.random.pick(&[20, 21, 23]) << 26 | s << 21 | d << 16 | b << 11 | self.random.below(2048),
            15 => d_form(self.random.pick(&[10, 11]), field, s, immediate),
            16 => x31(field, s, b, self.random.pick(&[0, 32])),
            17 => 19 << 26 | self.any() << 21 | s << 16 | b << 11 | self.random.pick(&CR_LOGICAL) << 1,
            18 => match self.random.below(4) {
                0 => 19 << 26 | field << 21 | (self.random.below(8) << 2) << 16,
                1 => x31(field, 0, 0, 512),
                2 => x31(s, 0, 0, 144) | self.random.below(256) << 12,
                _ => x31(d, 0, 0, 19),
            },
            19 => match self.random.below(3) {
                0 => mfspr(d, self.random.pick(&[XER_SPR, LR_SPR, CTR_SPR])),
                1 => mtspr(self.random.pick(&[LR_SPR, CTR_SPR]), s),
                // A trap on equality of other kinds than the one that holds.
                _ => x31(self.random.pick(&[0, 1, 2, 8, 16, 27]), s, s, 4),
            },
            20 => return self.special(),
            // Fresh edge values keep results from drowning in noise.
            _ => return load_immediate(d, self.random.operand()).to_vec(),
        }]
    }

    /// XER with random bits, and the instructions that order or touch.
    fn special(&mut self) -> Vec<u32> {
        let d = self.free();
        match self.random.below(4) {
            3 => {
                // A trap on any relation but the equality that holds.
                let value = self.random.operand() as i16;
                vec![
                    li(d, value.into()),
                    d_form(3, self.random.pick(&[0, 1, 2, 8, 16, 27]), d, value.into()),
                ]
            }
            0 => {
                let [high, low] = load_immediate(d, self.random.word() & 0xE000_007F);
                vec![high, low, mtspr(XER_SPR, d)]
            }
            1 => vec![
                self.random
                    .pick(&[x31(0, 0, 0, 598), x31(0, 0, 0, 854), 19 << 26 | 150 << 1]),
            ],
            _ => vec![li(d, self.offset(1)), x31(0, self.base, d, self.random.pick(&CACHE))],
        }
    }

    fn storage(&mut self) -> Vec<u32> {
        let base = self.base;
        let (d, s, offset) = (self.free(), self.any(), self.offset(1));
        match self.random.below(14) {
            0..2 => vec![d_form(self.random.pick(&LOADS), d, base, offset)],
            2..4 => vec![d_form(self.random.pick(&STORES), s, base, offset)],
            4 => {
                let a = self.address_register(&[d]);
                vec![addi(a, base, offset - 8), d_form(self.random.pick(&LOADS) + 1, d, a, 8)]
            }
            5 => {
                let a = self.address_register(&[]);
                vec![
                    addi(a, base, offset - 8),
                    d_form(self.random.pick(&STORES) + 1, s, a, 8),
                ]
            }
            6 => {
                let b = self.address_register(&[]);
                vec![addi(b, base, offset), x31(d, 0, b, self.random.pick(&INDEXED_LOADS))]
            }
            7 => {
                let b = self.address_register(&[]);
                vec![addi(b, base, offset), x31(s, 0, b, self.random.pick(&INDEXED_STORES))]
            }
            8 => {
                let a = self.address_register(&[d]);
                let b = self.address_register(&[a, d]);
                vec![
                    addi(a, base, offset),
                    li(b, self.random.below(64) as i32 - 32),
                    x31(d, a, b, self.random.pick(&INDEXED_LOADS_UPDATE)),
                ]
            }
            9 => {
                let a = self.address_register(&[]);
                let b = self.address_register(&[a]);
                vec![
                    addi(a, base, offset),
                    li(b, self.random.below(64) as i32 - 32),
                    x31(s, a, b, self.random.pick(&INDEXED_STORES_UPDATE)),
                ]
            }
            10 => self.multiple(),
            11 => self.string(),
            12 => self.reservation(),
            _ => {
                let a = self.address_register(&[]);
                vec![addi(a, base, self.offset(32)), dcbz(0, a), addi(a, a, 16), dcbz(0, a)]
            }
        }
    }

    /// lmw and stmw; loads stay above the base register and the address register.
    fn multiple(&mut self) -> Vec<u32> {
        let offset = self.offset(4);
        let a = self.address_register(&[]);
        let address = addi(a, self.base, offset);
        let first = self.base.max(a) + 1;
        if self.random.one_in(2) && first < 32 {
            vec![address, lmw(first + self.random.below(32 - first), 0, a)]
        } else {
            vec![address, stmw(self.any(), 0, a)]
        }
    }

    /// lswi, lswx, stswi, stswx of 0 to 32 bytes; loads spare the base register and the address register.
    fn string(&mut self) -> Vec<u32> {
        let offset = self.offset(1);
        let a = self.address_register(&[]);
        let bytes = 1 + self.random.below(32);
        let count = self.address_register(&[a]);
        let mut words = vec![addi(a, self.base, offset)];
        let by_register = self.random.one_in(2);
        if by_register {
            words.extend([li(count, bytes as i32), mtspr(XER_SPR, count)]);
        }
        let spared = |first: u32| {
            let reaches = |register: u32| (register + 32 - first) % 32 < bytes.div_ceil(4);
            !reaches(self.base) && !reaches(a) && !(by_register && reaches(0))
        };
        let loads: Vec<u32> = (0..32).filter(|&first| spared(first)).collect();
        let any = self.any();
        words.push(match (self.random.one_in(2) && !loads.is_empty(), by_register) {
            (true, true) => x31(self.random.pick(&loads), 0, a, 533),
            (true, false) => x31(self.random.pick(&loads), a, bytes & 31, 597),
            (false, true) => x31(any, 0, a, 661),
            (false, false) => x31(any, a, bytes & 31, 725),
        });
        words
    }

    fn reservation(&mut self) -> Vec<u32> {
        let offset = self.offset(4);
        let b = self.address_register(&[]);
        let (d, s) = (self.address_register(&[b]), self.any());
        let mut words = vec![addi(b, self.base, offset)];
        if !self.random.one_in(4) {
            words.push(lwarx(d, 0, b));
        }
        words.push(stwcx(s, 0, b));
        words
    }

    /// A loop of two to five rounds around one integer instruction.
    fn counted_loop(&mut self) -> Vec<u32> {
        let register = self.free();
        let body = loop {
            let body = self.integer();
            let writes_ctr = body.iter().any(|&word| word & 0xFC1F_FFFE == mtspr(CTR_SPR, 0));
            if !writes_ctr {
                break body;
            }
        };
        let mut words = vec![li(register, 2 + self.random.below(4) as i32), mtspr(CTR_SPR, register)];
        let back = -4 * body.len() as i32;
        words.extend(body);
        words.push(bc(16, 0, back));
        words
    }

    fn branch(&mut self) -> Unit {
        let skip = 1 + self.random.below(3) as usize;
        let link = self.rc();
        let word = if self.random.one_in(4) {
            // Relative or absolute.
            18 << 26 | self.random.below(2) << 1 | link
        } else {
            16 << 26 | self.branch_options() << 21 | self.any() << 16 | link
        };
        Unit::Forward(word, skip)
    }

    /// BO: all meaningful encodings, with any hint.
    fn branch_options(&mut self) -> u32 {
        self.random.pick(&[0, 2, 4, 8, 10, 12, 16, 18, 20]) | self.random.below(2)
    }

    fn indirect(&mut self) -> Unit {
        let skip = 1 + self.random.below(3) as usize;
        let register = self.free();
        let (bi, link) = (self.any(), self.rc());
        if self.random.one_in(2) {
            let word = 19 << 26 | self.branch_options() << 21 | bi << 16 | 16 << 1 | link;
            Unit::Indirect(register, LR_SPR, word, skip)
        } else {
            let bo = self.random.pick(&[4, 12, 20]);
            Unit::Indirect(
                register,
                CTR_SPR,
                19 << 26 | bo << 21 | bi << 16 | 528 << 1 | link,
                skip,
            )
        }
    }

    /// The words of a block that starts at `address`.
    fn layout(units: &[Unit], address: u32) -> Vec<u32> {
        let mut starts = vec![address];
        for unit in units {
            starts.push(starts[starts.len() - 1] + 4 * unit.words() as u32);
        }
        let mut words = Vec::new();
        for (index, unit) in units.iter().enumerate() {
            let target = |skip: usize| starts[(index + 1 + skip).min(units.len())];
            match *unit {
                Unit::Plain(ref plain) => words.extend(plain),
                Unit::Forward(word, skip) => {
                    let absolute = word & 2 != 0;
                    let displacement = target(skip) - if absolute { 0 } else { starts[index] };
                    words.push(word | displacement & 0x03FF_FFFC);
                }
                Unit::Indirect(register, spr, word, skip) => {
                    words.extend(load_immediate(register, target(skip)));
                    words.extend([mtspr(spr, register), word]);
                }
            }
        }
        words
    }
}

impl Program {
    /// The program with this number.
    pub fn random(seed: u64) -> Program {
        let mut generator = Generator {
            random: Random::new(seed),
            base: 0,
        };
        let inputs = BASE;
        let outputs = inputs + BLOCKS as u32 * TABLE * 4;
        let scratch = outputs + BLOCKS as u32 * TABLE * 4;
        let dump = DumpRange {
            start: outputs,
            end: scratch + BLOCKS as u32 * SCRATCH,
        };
        let entry = dump.end;
        let mut tables = vec![0u32; (BLOCKS as u32 * TABLE) as usize];
        let mut scratch_words: Vec<u32> = Vec::new();
        let mut code: Vec<u32> = Vec::new();
        let mut blocks = Vec::new();
        for block in 0..BLOCKS as u32 {
            generator.base = 1 + generator.random.below(31);
            let base = generator.base;
            let table = &mut tables[(block * TABLE) as usize..][..TABLE as usize];
            for slot in table.iter_mut() {
                *slot = generator.random.operand();
            }
            table[base as usize] = scratch + block * SCRATCH + SCRATCH / 2;
            table[XER as usize] &= 0xE000_007F;
            for _ in 0..SCRATCH / 4 {
                scratch_words.push(generator.random.operand());
            }
            code.extend(load_registers(base, inputs + block * TABLE * 4));
            let start = entry + 4 * code.len() as u32;
            let words = Generator::layout(&generator.units(), start);
            code.extend(&words);
            code.extend(store_registers(base, outputs + block * TABLE * 4));
            blocks.push(words);
        }
        code.extend(leave(dump));
        let in_blocks: usize = blocks.iter().map(Vec::len).sum();
        let frame = (code.len() - in_blocks) as u64;
        let mut image = Vec::new();
        for word in tables
            .iter()
            .copied()
            .chain(vec![0; tables.len()])
            .chain(scratch_words)
            .chain(code)
        {
            image.extend(word.to_be_bytes());
        }
        Program {
            image,
            entry,
            dump,
            frame,
            blocks,
        }
    }

    /// The image as a static ELF file for 32-bit PowerPC.
    pub fn elf(&self) -> Vec<u8> {
        const HEADERS: u32 = 0x1000;
        let size = self.image.len() as u32;
        let mut file = vec![0x7F, b'E', b'L', b'F', 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let halves = |file: &mut Vec<u8>, values: &[u16]| values.iter().for_each(|v| file.extend(v.to_be_bytes()));
        let words = |file: &mut Vec<u8>, values: &[u32]| values.iter().for_each(|v| file.extend(v.to_be_bytes()));
        halves(&mut file, &[2, 20]);
        words(&mut file, &[1, self.entry, 52, 0, 0]);
        halves(&mut file, &[52, 32, 1, 0, 0, 0]);
        words(&mut file, &[1, HEADERS, BASE, BASE, size, size, 7, 0x1000]);
        file.resize(HEADERS as usize, 0);
        file.extend(&self.image);
        file
    }

    /// The words of all blocks.
    pub fn words(&self) -> impl Iterator<Item = u32> + '_ {
        self.blocks.iter().flatten().copied()
    }

    /// Describes the first byte that differs, if any does.
    pub fn first_difference(&self, here: &[u8], there: &[u8]) -> Option<String> {
        if here.len() != there.len() {
            return Some(format!(
                "{} bytes here, {} bytes from qemu-ppc",
                here.len(),
                there.len()
            ));
        }
        let at = here.iter().zip(there).position(|(x, y)| x != y)? & !3;
        let word = |bytes: &[u8]| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        let tables = BLOCKS * TABLE as usize * 4;
        let (block, what) = if at < tables {
            let slot = at / 4 % TABLE as usize;
            let name = match slot as u32 {
                CR => "CR".to_string(),
                XER => "XER".to_string(),
                LR => "LR".to_string(),
                CTR => "CTR".to_string(),
                register => format!("r{register}"),
            };
            (at / 4 / TABLE as usize, name)
        } else {
            let block = (at - tables) / SCRATCH as usize;
            (
                block,
                format!(
                    "scratch memory at {:+}",
                    ((at - tables) % SCRATCH as usize) as i32 - SCRATCH as i32 / 2
                ),
            )
        };
        let listing: Vec<String> = self.blocks[block].iter().map(|word| format!("{word:08x}")).collect();
        Some(format!(
            "block {block}, {what}: {:#010x} here, {:#010x} from qemu-ppc\n{}",
            word(here),
            word(there),
            listing.join(" ")
        ))
    }
}

const fn d_form(opcode: u32, d: u32, a: u32, immediate: i32) -> u32 {
    opcode << 26 | d << 21 | a << 16 | immediate as u32 & 0xFFFF
}

fn registers_but(base: u32) -> impl Iterator<Item = u32> {
    (0..32).filter(move |&register| register != base)
}

/// Loads all registers from the table at `table`; the base register comes last.
fn load_registers(base: u32, table: u32) -> Vec<u32> {
    let mut words = load_immediate(base, table).to_vec();
    let scratch = if base == 3 { 4 } else { 3 };
    for (slot, spr) in [(XER, XER_SPR), (LR, LR_SPR), (CTR, CTR_SPR)] {
        words.extend([lwz(scratch, 4 * slot as i32, base), mtspr(spr, scratch)]);
    }
    words.extend([lwz(scratch, 4 * CR as i32, base), x31(scratch, 0, 0, 144) | 0xFF << 12]);
    words.extend(registers_but(base).map(|register| lwz(register, 4 * register as i32, base)));
    words.push(lwz(base, 4 * base as i32, base));
    words
}

/// Stores all registers into the table at `output`.
fn store_registers(base: u32, output: u32) -> Vec<u32> {
    // The block's accesses stay away from the first bytes of the scratch area. One register is parked there while the
    // table's address takes its place.
    let park = -(SCRATCH as i32) / 2;
    let pointer = if base == 5 { 6 } else { 5 };
    let mut words = vec![stw(pointer, park, base)];
    words.extend(load_immediate(pointer, output));
    words.extend(
        (0..32)
            .filter(|&r| r != pointer)
            .map(|register| stw(register, 4 * register as i32, pointer)),
    );
    let value = if base == 7 { 8 } else { 7 };
    words.extend([lwz(value, park, base), stw(value, 4 * pointer as i32, pointer)]);
    words.extend([x31(value, 0, 0, 19), stw(value, 4 * CR as i32, pointer)]);
    for (slot, spr) in [(XER, XER_SPR), (LR, LR_SPR), (CTR, CTR_SPR)] {
        words.extend([mfspr(value, spr), stw(value, 4 * slot as i32, pointer)]);
    }
    words
}

/// write(1, dump) until all is out, then exit(0), as Linux system calls.
fn leave(dump: DumpRange) -> Vec<u32> {
    let mut words = vec![li(0, 4), li(3, 1)];
    words.extend(load_immediate(4, dump.start));
    words.extend(load_immediate(5, dump.end - dump.start));
    words.extend([SC, li(0, 1), li(3, 0), SC]);
    words
}
