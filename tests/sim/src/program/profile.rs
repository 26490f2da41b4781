//! `--profile`: what each function has cost, exactly.

use std::collections::HashMap;

use mpc8xx_sim::cpu::Cpu;
use mpc8xx_sim::cpu::exception::Vector;
use mpc8xx_sim::cpu::mmu::tlb::Access;

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
}

/// What instructions have cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cost {
    instructions: u64,
    clocks: u64,
    instruction_cache: u64,
    data_cache: u64,
    instruction_tlb: u64,
    data_tlb: u64,
}

impl Cost {
    fn add(&mut self, other: Self) {
        self.instructions += other.instructions;
        self.clocks += other.clocks;
        self.instruction_cache += other.instruction_cache;
        self.data_cache += other.data_cache;
        self.instruction_tlb += other.instruction_tlb;
        self.data_tlb += other.data_tlb;
    }
}

/// The counters of all instructions that were executed.
pub struct Profile {
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
    pub fn new() -> Self {
        Self {
            pages: Vec::new(),
            index: HashMap::new(),
            misses: HashMap::new(),
            space: Space::Real,
            last: None,
        }
    }

    /// Before an instruction.
    pub fn before(&mut self, cpu: &Cpu) {
        self.space = Space::of(cpu);
    }

    /// After it.
    pub fn after(&mut self, pc: u32, clocks: u64) {
        let key = (self.space, pc & !0xFFF);
        let page = match self.last {
            Some((last, page)) if last == key => page,
            _ => {
                let page = self.page(key);
                self.last = Some((key, page));
                page
            }
        };
        let (page, word) = (&mut self.pages[page], (pc >> 2) as usize % WORDS);
        page.instructions[word] += 1;
        page.clocks[word] += clocks;
    }

    fn page(&mut self, key: (Space, u32)) -> usize {
        let pages = &mut self.pages;
        *self.index.entry(key).or_insert_with(|| {
            pages.push(Page {
                instructions: [0; WORDS],
                clocks: [0; WORDS],
            });
            pages.len() - 1
        })
    }

    /// An exception on behalf of the instruction at `pc`.
    pub fn exception(&mut self, pc: u32, vector: Vector) {
        match vector {
            Vector::InstructionTlbMiss => self.misses.entry((self.space, pc)).or_default().instruction_tlb += 1,
            Vector::DataTlbMiss => self.misses.entry((self.space, pc)).or_default().data_tlb += 1,
            _ => {}
        }
    }

    /// A cache miss on behalf of the instruction at `pc`.
    pub fn cache_miss(&mut self, pc: u32, access: Access) {
        let misses = self.misses.entry((self.space, pc)).or_default();
        match access {
            Access::Fetch => misses.instruction_cache += 1,
            Access::Load | Access::Store => misses.data_cache += 1,
        }
    }

    /// The costs by function, the dearest first.
    pub fn functions<'a>(&self, symbols: &'a Symbols) -> Vec<Function<'a>> {
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
        for (&(space, base), &page) in &self.index {
            let page = &self.pages[page];
            for (word, (&instructions, &clocks)) in page.instructions.iter().zip(&page.clocks).enumerate() {
                if instructions > 0 {
                    let cost = Cost {
                        instructions,
                        clocks,
                        ..Cost::default()
                    };
                    add(space, base + 4 * word as u32, cost);
                }
            }
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

/// A function and what it has cost.
pub struct Function<'a> {
    space: Space,
    name: &'a str,
    cost: Cost,
}

/// The totals of a profile: what belongs to functions, and the clocks that belong to none.
fn totals(functions: &[Function], cpu: &Cpu) -> (Cost, u64) {
    let mut total = Cost::default();
    for function in functions {
        total.add(function.cost);
    }
    (total, cpu.now().saturating_sub(total.clocks))
}

/// The profile as a table for people.
pub fn table(functions: &[Function], cpu: &Cpu) -> String {
    let (total, between) = totals(functions, cpu);
    let share = |clocks: u64| 100.0 * clocks as f64 / (cpu.now().max(1)) as f64;
    let mut text =
        String::from("   share       cycles instructions  I misses  D misses  ITLB miss  DTLB miss  function\n");
    for Function { space, name, cost } in functions.iter().take(TABLE_ROWS) {
        text += &format!(
            "{:7.2}% {:12} {:12} {:9} {:9} {:10} {:10}  [{}] {name}\n",
            share(cost.clocks),
            cost.clocks,
            cost.instructions,
            cost.instruction_cache,
            cost.data_cache,
            cost.instruction_tlb,
            cost.data_tlb,
            space.letter()
        );
    }
    if let Some(rest) = functions.get(TABLE_ROWS..).filter(|rest| !rest.is_empty()) {
        let clocks = rest.iter().map(|function| function.cost.clocks).sum();
        text += &format!("{:7.2}% {clocks:12}  {} more functions\n", share(clocks), rest.len());
    }
    text += &format!(
        "{:7.2}% {between:12}  exception entry, interrupted fetch, sleep\n",
        share(between)
    );
    text += &format!(
        "{:7.2}% {:12} {:12} {:9} {:9} {:10} {:10}  total\n",
        100.0,
        cpu.now(),
        total.instructions,
        total.instruction_cache,
        total.data_cache,
        total.instruction_tlb,
        total.data_tlb
    );
    text
}

/// The profile as JSON.
pub fn json(functions: &[Function], cpu: &Cpu) -> String {
    let (_, between) = totals(functions, cpu);
    let rows: Vec<String> = functions
        .iter()
        .map(|Function { space, name, cost }| {
            format!(
                "{{\"space\":\"{}\",\"function\":{},\"cycles\":{},\"instructions\":{},\"icache_misses\":{},\
                 \"dcache_misses\":{},\"itlb_misses\":{},\"dtlb_misses\":{}}}",
                space.letter(),
                json::string(name),
                cost.clocks,
                cost.instructions,
                cost.instruction_cache,
                cost.data_cache,
                cost.instruction_tlb,
                cost.data_tlb
            )
        })
        .collect();
    format!(
        "{{\"cycles\":{},\"instructions\":{},\"between_functions_cycles\":{between},\"functions\":[\n{}\n]}}\n",
        cpu.now(),
        cpu.instructions(),
        rows.join(",\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_of_one_function_come_together_whatever_page_and_space_they_are_in() {
        let mut profile = Profile::new();
        for (space, pc, clocks) in [
            (Space::User, 0x1000, 2),
            (Space::User, 0x1FFC, 3),
            (Space::User, 0x2000, 4),
            (Space::Supervisor, 0x1000, 20),
        ] {
            profile.space = space;
            profile.after(pc, clocks);
            profile.exception(pc, Vector::DataTlbMiss);
            profile.cache_miss(pc, Access::Fetch);
        }
        let symbols = Symbols::default();
        let functions = profile.functions(&symbols);
        let costs: Vec<_> = functions
            .iter()
            .map(|function| (function.space, function.cost))
            .collect();
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
