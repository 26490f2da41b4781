//! The kernel's `test_bpf` module against the same module on a real board.
//!
//! The measurements are those of the cover letter of "Implement EBPF on powerpc32" (16 December 2020): MPC885 at 132 MHz,
//! nanoseconds per call of the compiled program, mean of 1000 calls. They are whole cycles and about half a cycle more, so
//! cycles are the nanoseconds divided by 7.576, rounded down, here as there.
//!
//! The compiler of 6.1 differs from the one that was measured in two ways that concern every row. Entry and exit of a
//! program are shorter by a constant, which the first row shows and which is taken off. Constants of 64 bits are filled
//! up to four words with `nop`, which is seen in the code that the kernel prints and taken off too. Where it also
//! compiles an operation to other instructions, the row says so and is left out of the count.

use std::collections::HashMap;

use crate::guest::Guest;

const NANOSECONDS_PER_CLOCK: f64 = 1000.0 / 132.0;
const NOP: u32 = 0x6000_0000;
/// Primary opcode of the conditional branches.
const BC: u32 = 16;

/// Test, nanoseconds measured, what explains a difference.
type Row = (&'static str, f64, Option<&'static str>);

const DIVISION: Option<&str> = Some("the board hides a part of the division behind what follows, the model does not");

/// Straight-line and branching programs, the reference first.
const ROWS: &[Row] = &[
    ("ALU_MOV_K: dst = 2", 216.0, None),
    ("ALU64_MOV_K: dst = 2147483647", 224.0, None),
    ("ALU_MOV_X: dst = 2", 231.0, None),
    ("ALU_ADD_X: 1 + 2 = 3", 246.0, None),
    ("ALU64_ADD_X: 1 + 2 = 3", 246.0, None),
    ("ALU_SUB_X: 3 - 1 = 2", 246.0, None),
    ("ALU64_SUB_X: 3 - 1 = 2", 246.0, None),
    ("ALU_AND_X: 3 & 2 = 2", 246.0, None),
    ("ALU64_AND_X: 3 & 2 = 2", 246.0, None),
    ("ALU_OR_X: 0x0 | 0xffffffff = 0xffffffff", 246.0, None),
    ("ALU_XOR_X: 5 ^ 6 = 3", 246.0, None),
    ("ALU_LSH_X: 1 << 1 = 2", 246.0, None),
    ("ALU_RSH_X: 2 >> 1 = 1", 246.0, None),
    ("ALU_ADD_K: 1 + 2 = 3", 231.0, None),
    ("ALU64_ADD_K: 1 + 2 = 3", 231.0, None),
    ("ALU_SUB_K: 3 - 1 = 2", 231.0, None),
    ("ALU64_SUB_K: 3 - 1 = 2", 231.0, None),
    ("ALU_AND_K: 3 & 2 = 2", 231.0, None),
    ("ALU_OR_K: 1 | 2 = 3", 231.0, None),
    ("ALU_XOR_K: 5 ^ 6 = 3", 231.0, None),
    ("ALU_LSH_K: 1 << 1 = 2", 231.0, None),
    ("ALU_RSH_K: 2 >> 1 = 1", 231.0, None),
    ("ALU_NEG: -(3) = -3", 231.0, None),
    ("ALU64_NEG: -(3) = -3", 231.0, None),
    ("ALU_MUL_X: 2 * 3 = 6", 246.0, None),
    ("ALU_MUL_X: 2 * 0x7FFFFFF8 = 0xFFFFFFF0", 254.0, None),
    (
        "ALU64_MUL_X: 2 * 3 = 6",
        292.0,
        Some("6.1 keeps the product in registers: no stw and lwz"),
    ),
    (
        "ALU64_MUL_K: 2 * 3 = 6",
        269.0,
        Some("6.1 keeps the product in registers: no stw and lwz"),
    ),
    ("ALU_MUL_K: 2 * 3 = 6", 231.0, None),
    ("ALU_MUL_K: 2 * 0x7FFFFFF8 = 0xFFFFFFF0", 246.0, None),
    ("ALU_DIV_X: 6 / 2 = 3", 277.0, DIVISION),
    ("ALU_DIV_X: 4294967295 / 4294967295 = 1", 246.0, None),
    ("ALU_DIV_K: 6 / 2 = 3", 269.0, DIVISION),
    ("ALU_DIV_K: 4294967295 / 4294967295 = 1", 239.0, None),
    ("ALU_DIV_K: 3 / 1 = 3", 223.0, None),
    ("ALU_MOD_X: 3 % 2 = 1", 322.0, None),
    ("ALU_MOD_X: 4294967295 % 4294967293 = 2", 261.0, None),
    (
        "ALU_MOD_K: 4294967295 % 4294967293 = 2",
        269.0,
        Some("the time on the board has room for two instructions more than 6.1 emits"),
    ),
    ("ALU_MOD_K: 3 % 2 = 1", 231.0, None),
    ("ALU64_DIV_K: 6 / 2 = 3", 239.0, None),
    ("ALU64_LSH_X: 1 << 1 = 2", 292.0, None),
    ("ALU64_RSH_X: 2 >> 1 = 1", 292.0, None),
    ("ALU64_LSH_K: 1 << 1 = 2", 239.0, None),
    ("ALU64_RSH_K: 2 >> 1 = 1", 239.0, None),
    (
        "ALU64_ARSH_X: 0xff00ff0000000000 >> 40 = 0xffffffffffff00ff",
        284.0,
        Some("the time on the board has room for four instructions less than 6.1 emits"),
    ),
    (
        "ALU64_ARSH_K: 0xff00ff0000000000 >> 40 = 0xffffffffffff00ff",
        238.0,
        None,
    ),
    ("ALU_END_FROM_BE 16: 0x0123456789abcdef -> 0xcdef", 246.0, None),
    ("ALU_END_FROM_LE 16: 0x0123456789abcdef -> 0xefcd", 261.0, None),
    ("ALU_END_FROM_LE 32: 0x0123456789abcdef -> 0xefcdab89", 315.0, None),
    (
        "ALU_END_FROM_LE 64: 0x0123456789abcdef -> 0x67452301",
        315.0,
        Some("the time on the board has room for three instructions more than 6.1 emits"),
    ),
    ("JMP_EXIT", 231.0, None),
    ("JMP_JA: Unconditional jump: if (true) return 1", 246.0, None),
    ("JMP_JSLT_K: Signed jump: if (-2 < -1) return 1", 292.0, None),
    ("JMP_JSLT_K: Signed jump: if (-1 < -1) return 0", 292.0, None),
    ("JMP_JSGT_K: Signed jump: if (-1 > -2) return 1", 292.0, None),
    ("JMP_JSGT_K: Signed jump: if (-1 > -1) return 0", 292.0, None),
    ("JMP_JSLE_K: Signed jump: if (-2 <= -1) return 1", 292.0, None),
    ("JMP_JSGE_K: Signed jump: if (-1 >= -2) return 1", 292.0, None),
    ("JMP_JGT_K: if (3 > 2) return 1", 284.0, None),
    ("JMP_JEQ_K: if (3 == 3) return 1", 284.0, None),
    ("JMP_JSET_K: if (0x3 & 0x2) return 1", 269.0, None),
    ("JMP_JGT_X: if (3 > 2) return 1", 299.5, None),
    ("JMP_JSLE_K: Signed jump: value walk 1", 444.0, None),
    ("JMP_JSLE_K: Signed jump: value walk 2", 391.0, None),
    ("ST_MEM_B: Store/Load byte: max negative", 284.0, None),
    ("ST_MEM_H: Store/Load half word: max negative", 292.0, None),
    ("ST_MEM_W: Store/Load word: max positive", 292.0, None),
    ("STX_MEM_B: Store/Load byte: max negative", 292.0, None),
    ("ST_MEM_DW: Store/Load double word: max negative", 300.0, None),
    ("STX_MEM_DW: Store/Load double word: max negative", 292.0, None),
];

/// Programs far larger than the instruction cache, compared as a ratio.
const LONG_ROWS: &[(&str, f64)] = &[
    ("STX_XADD_W: X + 1 + 1 + 1 + ...", 733_404.0),
    ("BPF_MAXINSNS: Run/add until end", 432_654.0),
];

/// How much the time of a long program may differ.
const LONG_TOLERANCE: f64 = 0.05;

/// A test as the kernel has reported it.
#[derive(Default)]
struct Reported {
    code: Vec<u32>,
    nanoseconds: Option<f64>,
}

impl Reported {
    fn clocks(&self) -> Option<i64> {
        Some((self.nanoseconds? / NANOSECONDS_PER_CLOCK) as i64)
    }

    /// The `nop`s that fill up constants: those before the first conditional branch, whose own come after it.
    fn padding(&self) -> i64 {
        let before_branch = self.code.iter().take_while(|word| **word >> 26 != BC);
        before_branch.filter(|word| **word == NOP).count() as i64
    }
}

/// Reads the kernel's messages: the name of a test, its code, its time.
fn read(console: &str, tests: &mut HashMap<String, Reported>) {
    let mut name = None;
    for line in console.lines() {
        if let Some(rest) = line.split("test_bpf: #").nth(1) {
            let rest = rest.split_once(' ').map_or("", |(_, rest)| rest);
            let rest = rest.split(" jited:").next().unwrap_or(rest);
            name = Some(rest.trim().to_owned());
        }
        let Some(name) = &name else { continue };
        let test = tests.entry(name.clone()).or_default();
        if let Some(rest) = line.split("JIT code: ").nth(1) {
            let (at, digits) = rest.split_once(": ").unwrap_or(("", ""));
            if at == "00000000" {
                test.code.clear();
            }
            let digits = digits.replace(' ', "");
            let words = (0..digits.len() / 8).map(|index| u32::from_str_radix(&digits[8 * index..8 * index + 8], 16));
            test.code.extend(words.map_while(Result::ok));
        }
        if let Some(rest) = line.split("jited:1 ").nth(1)
            && let Some(nanoseconds) = rest.split(' ').next().and_then(|figure| figure.parse::<f64>().ok())
        {
            // A tick that falls into one run shows; the other run has it elsewhere.
            test.nanoseconds = Some(test.nanoseconds.map_or(nanoseconds, |least| least.min(nanoseconds)));
        }
    }
}

/// Runs the tests and compares them row by row.
pub fn compare(guest: &Guest) {
    if !guest.has("vmlinux-bpf") {
        println!("skipped: no kernel with BPF tests among the ready-made ones");
        return;
    }
    let mut tests = HashMap::new();
    for range in ["63,521", "40,521"] {
        let words = format!("jit=2 bpf=test_range={range}");
        let run = guest.run("cmpc885", "vmlinux-bpf", "mpc885ads-min.dtb", &words, &[]);
        assert!(run.stdout.contains("\nDONE\n"), "{}", run.report());
        read(&run.stdout, &mut tests);
    }
    let find = |name: &str| {
        let test = tests.get(name);
        let test = test.unwrap_or_else(|| panic!("the kernel has no test {name}"));
        (test.clocks().unwrap_or_else(|| panic!("{name} was not compiled")), test)
    };
    let measured_clocks = |nanoseconds: f64| (nanoseconds / NANOSECONDS_PER_CLOCK) as i64;
    let wrapper = find(ROWS[0].0).0 - measured_clocks(ROWS[0].1);
    println!(
        "test_bpf: clocks on the board / here / of them nop; difference without these and {wrapper} for entry and exit"
    );
    let (mut close, mut counted) = (0, 0);
    for (name, nanoseconds, why) in ROWS {
        let (clocks, test) = find(name);
        let measured = measured_clocks(*nanoseconds);
        let difference = clocks - test.padding() - wrapper - measured;
        println!(
            "{measured:6} {clocks:6} {:3} {difference:+4}  {name}{}",
            test.padding(),
            why.map(|why| format!(" ({why})")).unwrap_or_default()
        );
        assert!(
            why.is_some() || difference.abs() <= 1,
            "{name}: {difference:+} clocks, which nothing explains"
        );
        counted += 1;
        close += i64::from(difference.abs() <= 1);
    }
    println!("{close} of {counted} rows within one clock");
    assert!(10 * close >= 9 * counted, "{close} of {counted} rows within one clock");
    for (name, nanoseconds) in LONG_ROWS {
        let (clocks, _) = find(name);
        let ratio = clocks as f64 / measured_clocks(*nanoseconds) as f64;
        println!(
            "{:6} {clocks:6} {:+.1} %  {name}",
            measured_clocks(*nanoseconds),
            100.0 * (ratio - 1.0)
        );
        assert!(
            (ratio - 1.0).abs() < LONG_TOLERANCE,
            "{name}: {ratio:.3} times the measured time"
        );
    }
}
