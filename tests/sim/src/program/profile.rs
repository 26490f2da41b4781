//! `--profile`: what each function has cost, exactly, and where an interrupt would have found it.
//!
//! A guest that samples itself from a timer interrupt does not see the first but the second: an interrupt is taken between
//! two instructions, before the one that comes next, and while interrupts are off it waits. So the time of an instruction
//! counts for the next one at which interrupts are on.

use std::collections::HashMap;

use mpc8xx_sim::cpu::Cpu;
use mpc8xx_sim::cpu::exception::Vector;
use mpc8xx_sim::cpu::mmu::tlb::Access;
use mpc8xx_sim::cpu::registers::msr;

use super::json;
use super::symbols::{Space, Symbols};

/// Instructions in a page of counters.
const WORDS: usize = 1024;
/// Functions that the table shows; the file has all.
const TABLE_ROWS: usize = 50;

/// Counters of one page of code.
struct Page {
    instructions: [u64; WORDS],
    clocks: [u64; WORDS],
    serving: [u64; WORDS],
    interruptible: [u64; WORDS],
}

/// What instructions have cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cost {
    instructions: u64,
    clocks: u64,
    /// The part of the clocks that went by from the entry of a device's or the decrementer's interrupt until interrupts
    /// were let in again.
    serving: u64,
    /// Clocks, without those of serving interrupts, in which an interrupt would have been taken here.
    interruptible: u64,
    instruction_cache: u64,
    data_cache: u64,
    instruction_tlb: u64,
    data_tlb: u64,
}

impl Cost {
    fn add(&mut self, other: Self) {
        self.instructions += other.instructions;
        self.clocks += other.clocks;
        self.serving += other.serving;
        self.interruptible += other.interruptible;
        self.instruction_cache += other.instruction_cache;
        self.data_cache += other.data_cache;
        self.instruction_tlb += other.instruction_tlb;
        self.data_tlb += other.data_tlb;
    }
}

/// Which part of a run is profiled: from each time that the first address is reached until the other is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interval {
    /// Where it begins; `None`: at the start.
    pub from: Option<u32>,
    /// Where it ends; `None`: at the end of the run.
    pub to: Option<u32>,
}

/// The counters of all instructions that were executed.
pub struct Profile {
    interval: Interval,
    /// Inside the interval.
    is_on: bool,
    /// Clocks inside the interval up to the last time that it ended, and when it has begun.
    clocks: u64,
    since: u64,
    /// Serving an interrupt.
    is_serving: bool,
    /// The exception that the present instruction ends in.
    raised: Option<Vector>,
    /// Clocks since the last instruction at which an interrupt could be taken.
    held: u64,
    pages: Vec<Page>,
    index: HashMap<(Space, u32), usize>,
    /// Misses by instruction, which are too rare for arrays.
    misses: HashMap<(Space, u32), Cost>,
    space: Space,
    /// The page of the last instruction, found without looking it up.
    last: Option<((Space, u32), usize)>,
}

impl Profile {
    /// A profile without entries.
    pub fn new(interval: Interval) -> Self {
        Self {
            interval,
            is_on: interval.from.is_none(),
            clocks: 0,
            since: 0,
            is_serving: false,
            raised: None,
            held: 0,
            pages: Vec::new(),
            index: HashMap::new(),
            misses: HashMap::new(),
            space: Space::Real,
            last: None,
        }
    }

    /// Before an instruction.
    pub fn before(&mut self, cpu: &Cpu) {
        if self.is_on && self.interval.to == Some(cpu.pc) {
            self.clocks = self.clocks(cpu);
            self.is_on = false;
        } else if !self.is_on && self.interval.from == Some(cpu.pc) {
            self.since = cpu.now();
            self.is_on = true;
            self.held = 0;
        }
        self.space = Space::of(cpu);
        self.raised = None;
        if cpu.msr() & msr::EE != 0 {
            // An interrupt returns to the instruction that it was taken at, which then gets what was held.
            self.is_serving = false;
            self.interruptible(cpu.pc);
        }
    }

    /// The clocks of the interval.
    fn clocks(&self, cpu: &Cpu) -> u64 {
        self.clocks + if self.is_on { cpu.now() - self.since } else { 0 }
    }

    /// An interrupt that comes now is taken before the instruction at `pc`.
    fn interruptible(&mut self, pc: u32) {
        let held = std::mem::take(&mut self.held);
        if self.is_on && held > 0 {
            self.counters(pc).interruptible[word(pc)] += held;
        }
    }

    /// After it. What an instruction that ends in an exception takes is the entry to the vector, and counts there.
    pub fn after(&mut self, pc: u32, clocks: u64) {
        if !self.is_on {
            return;
        }
        self.counters(pc).instructions[word(pc)] += 1;
        let pc = self.raised.map_or(pc, |vector| {
            self.space = Space::Real;
            vector as u32
        });
        let is_serving = self.is_serving;
        let (page, word) = (self.counters(pc), word(pc));
        page.clocks[word] += clocks;
        if is_serving {
            page.serving[word] += clocks;
        } else {
            self.held += clocks;
        }
    }

    /// The counters of the page that `pc` is in.
    fn counters(&mut self, pc: u32) -> &mut Page {
        let key = (self.space, pc & !0xFFF);
        let page = match self.last {
            Some((last, page)) if last == key => page,
            _ => {
                let page = self.page(key);
                self.last = Some((key, page));
                page
            }
        };
        &mut self.pages[page]
    }

    fn page(&mut self, key: (Space, u32)) -> usize {
        let pages = &mut self.pages;
        *self.index.entry(key).or_insert_with(|| {
            pages.push(Page {
                instructions: [0; WORDS],
                clocks: [0; WORDS],
                serving: [0; WORDS],
                interruptible: [0; WORDS],
            });
            pages.len() - 1
        })
    }

    /// An exception on behalf of the instruction at `pc`.
    pub fn exception(&mut self, pc: u32, vector: Vector) {
        self.raised = Some(vector);
        if matches!(vector, Vector::External | Vector::Decrementer) {
            self.is_serving = true;
        }
        if !self.is_on {
            return;
        }
        match vector {
            Vector::InstructionTlbMiss => self.misses.entry((self.space, pc)).or_default().instruction_tlb += 1,
            Vector::DataTlbMiss => self.misses.entry((self.space, pc)).or_default().data_tlb += 1,
            _ => {}
        }
    }

    /// A cache miss on behalf of the instruction at `pc`.
    pub fn cache_miss(&mut self, pc: u32, access: Access) {
        if !self.is_on {
            return;
        }
        let misses = self.misses.entry((self.space, pc)).or_default();
        match access {
            Access::Fetch => misses.instruction_cache += 1,
            Access::Load | Access::Store => misses.data_cache += 1,
        }
    }

    /// The costs by address, without misses.
    fn addresses(&self) -> impl Iterator<Item = (Space, u32, Cost)> {
        self.index.iter().flat_map(|(&(space, base), &page)| {
            let page = &self.pages[page];
            let cost = |word: usize| Cost {
                instructions: page.instructions[word],
                clocks: page.clocks[word],
                serving: page.serving[word],
                interruptible: page.interruptible[word],
                ..Cost::default()
            };
            (0..WORDS)
                .map(move |word| (space, base + 4 * word as u32, cost(word)))
                .filter(|(_, _, cost)| *cost != Cost::default())
        })
    }

    /// The costs by function, the dearest first.
    fn functions<'a>(&self, symbols: &'a Symbols) -> Vec<Function<'a>> {
        let mut functions: HashMap<(Space, &str), Function> = HashMap::new();
        let mut add = |space, pc, cost: Cost| {
            let name = symbols.name(space, pc);
            let function = functions.entry((space, name)).or_insert(Function {
                space,
                name,
                cost: Cost::default(),
            });
            function.cost.add(cost);
        };
        for (space, pc, cost) in self.addresses() {
            add(space, pc, cost);
        }
        for (&(space, pc), &misses) in &self.misses {
            add(space, pc, misses);
        }
        let mut functions: Vec<Function> = functions.into_values().collect();
        functions.sort_by(|a, b| {
            let dearest_first = b.cost.clocks.cmp(&a.cost.clocks);
            dearest_first.then((a.space, a.name).cmp(&(b.space, b.name)))
        });
        functions
    }
}

/// The index of an instruction's counters within its page.
fn word(pc: u32) -> usize {
    (pc >> 2) as usize % WORDS
}

/// A function and what it has cost.
struct Function<'a> {
    space: Space,
    name: &'a str,
    cost: Cost,
}

/// What a run has cost, ready to be written down.
pub struct Report<'a> {
    functions: Vec<Function<'a>>,
    /// The same by address, sorted; empty unless asked for.
    addresses: Vec<(Space, u32, Cost)>,
    /// What belongs to functions.
    total: Cost,
    /// All clocks.
    clocks: u64,
    /// Clocks that belong to no function.
    between: u64,
}

impl<'a> Report<'a> {
    /// The report of a profile at the end of a run, on request with what each address has cost.
    pub fn new(profile: &Profile, symbols: &'a Symbols, cpu: &Cpu, by_address: bool) -> Self {
        let mut addresses: Vec<_> = profile.addresses().filter(|_| by_address).collect();
        addresses.sort_by_key(|&(space, address, _)| (space, address));
        let functions = profile.functions(symbols);
        let mut total = Cost::default();
        for function in &functions {
            total.add(function.cost);
        }
        let clocks = profile.clocks(cpu);
        Self {
            functions,
            addresses,
            total,
            clocks,
            between: clocks.saturating_sub(total.clocks),
        }
    }

    /// The profile as a table for people.
    pub fn table(&self) -> String {
        let share = |clocks: u64| 100.0 * clocks as f64 / (self.clocks.max(1)) as f64;
        let mut text =
            String::from("   share       cycles instructions  I misses  D misses  ITLB miss  DTLB miss  function\n");
        let row = |clocks: u64, cost: &Cost| {
            format!(
                "{:7.2}% {clocks:12} {:12} {:9} {:9} {:10} {:10}",
                share(clocks),
                cost.instructions,
                cost.instruction_cache,
                cost.data_cache,
                cost.instruction_tlb,
                cost.data_tlb
            )
        };
        for Function { space, name, cost } in self.functions.iter().take(TABLE_ROWS) {
            text += &format!("{}  [{}] {name}\n", row(cost.clocks, cost), space.letter());
        }
        if let Some(rest) = self.functions.get(TABLE_ROWS..).filter(|rest| !rest.is_empty()) {
            let clocks = rest.iter().map(|function| function.cost.clocks).sum();
            text += &format!("{:7.2}% {clocks:12}  {} more functions\n", share(clocks), rest.len());
        }
        text += &format!(
            "{:7.2}% {:12}  exception entry, interrupted fetch, sleep\n",
            share(self.between),
            self.between
        );
        text + &row(self.clocks, &self.total) + "  total\n"
    }

    /// The profile as JSON.
    pub fn json(&self) -> String {
        let rows: Vec<String> = self
            .functions
            .iter()
            .map(|Function { space, name, cost }| {
                format!(
                    "{{\"space\":\"{}\",\"function\":{},\"cycles\":{},\"serving_cycles\":{},\"interruptible_cycles\":{},\
                     \"instructions\":{},\"icache_misses\":{},\"dcache_misses\":{},\"itlb_misses\":{},\"dtlb_misses\":{}}}",
                    space.letter(),
                    json::string(name),
                    cost.clocks,
                    cost.serving,
                    cost.interruptible,
                    cost.instructions,
                    cost.instruction_cache,
                    cost.data_cache,
                    cost.instruction_tlb,
                    cost.data_tlb
                )
            })
            .collect();
        let addresses: Vec<String> = self
            .addresses
            .iter()
            .map(|(space, address, cost)| {
                format!(
                    "{{\"space\":\"{}\",\"address\":{address},\"cycles\":{},\"serving_cycles\":{},\"interruptible_cycles\":{},\
                     \"instructions\":{}}}",
                    space.letter(),
                    cost.clocks,
                    cost.serving,
                    cost.interruptible,
                    cost.instructions
                )
            })
            .collect();
        format!(
            "{{\"cycles\":{},\"instructions\":{},\"between_functions_cycles\":{},\"functions\":[\n{}\n],\
             \"addresses\":[\n{}\n]}}\n",
            self.clocks,
            self.total.instructions,
            self.between,
            rows.join(",\n"),
            addresses.join(",\n")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_of_one_function_come_together_whatever_page_and_space_they_are_in() {
        let mut profile = Profile::new(Interval::default());
        for (space, pc, clocks) in [
            (Space::User, 0x1000, 2),
            (Space::User, 0x1FFC, 3),
            (Space::User, 0x2000, 4),
            (Space::Supervisor, 0x1000, 20),
        ] {
            profile.space = space;
            profile.cache_miss(pc, Access::Fetch);
            profile.after(pc, clocks);
            profile.exception(pc, Vector::DataTlbMiss);
            profile.raised = None;
        }
        let symbols = Symbols::default();
        let functions = profile.functions(&symbols);
        let costs: Vec<_> = functions
            .iter()
            .map(|function| (function.space, function.cost))
            .collect();
        // What user code has cost last is still held.
        let cost = |instructions, clocks| Cost {
            instructions,
            clocks,
            instruction_cache: instructions,
            data_tlb: instructions,
            ..Cost::default()
        };
        assert_eq!(costs, [(Space::Supervisor, cost(1, 20)), (Space::User, cost(3, 9))]);
    }
}
