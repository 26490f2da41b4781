//! `--folded`: call stacks, sampled at a steady number of core clocks, in the form that flame graph tools read.
//!
//! A stack is walked along the back chain in r1: the word at a frame is the frame before, the word after it the return
//! address that the callee has saved there (System V ABI, PowerPC Processor Supplement, 3-17).

use std::collections::BTreeMap;

use mpc8xx_sim::cpu::registers::msr;
use mpc8xx_sim::machine::Machine;
use mpc8xx_sim::soc::Soc;

use super::symbols::{Space, Symbols};

/// Core clocks between two samples: a prime, so that no loop of the guest stays in step with it.
pub const PERIOD: u64 = 997;
/// Deeper chains are loops of a broken stack.
const MOST_FRAMES: usize = 64;
/// Where the kernel's half of the address space begins, with every kernel and firmware of this family.
const KERNEL_HALF: u32 = 0x8000_0000;

/// Samples by stack, and when the next is due.
pub struct Stacks {
    samples: BTreeMap<String, u64>,
    /// Core clock of the next sample.
    pub due: u64,
}

impl Stacks {
    /// No samples; the first is due after one period.
    pub fn new() -> Self {
        Self {
            samples: BTreeMap::new(),
            due: PERIOD,
        }
    }

    /// Takes the sample if it is due. Sleep is no sample: nothing runs.
    pub fn sample(&mut self, machine: &Machine<Soc>, symbols: &Symbols) {
        let now = machine.cpu.now();
        if now < self.due {
            return;
        }
        let periods = (now - self.due) / PERIOD + 1;
        self.due += periods * PERIOD;
        if machine.cpu.msr() & msr::POW == 0 {
            *self.samples.entry(stack(machine, symbols)).or_default() += PERIOD * periods;
        }
    }

    /// One line for each stack: functions from the outermost, and core clocks.
    pub fn folded(&self) -> String {
        self.samples
            .iter()
            .map(|(stack, clocks)| format!("{stack} {clocks}\n"))
            .collect()
    }
}

/// The functions on the stack, the outermost first.
fn stack(machine: &Machine<Soc>, symbols: &Symbols) -> String {
    let cpu = &machine.cpu;
    let space = Space::of(cpu);
    let space_of = |address: u32| match space {
        Space::Real => Space::Real,
        _ if address >= KERNEL_HALF => Space::Supervisor,
        _ => Space::User,
    };
    let named = |space: Space, address: u32| {
        let suffix = if space == Space::User { "" } else { "_[k]" };
        // The separator of the format must not come from a name.
        format!("{}{suffix}", symbols.name(space, address).replace([';', ' '], "_"))
    };
    let mut names = vec![(space, named(space, cpu.pc))];
    // A return address may be the end of its function, after a call that never returns.
    let mut push = |return_address: u32| {
        let (space, call) = (space_of(return_address), return_address.wrapping_sub(4));
        let is_known = symbols.find(space, call).is_some();
        let name = named(space, call);
        // One frame of a program without symbols tells as much as many; in the kernel's half it is no frame at all.
        let frame = (space, name);
        if is_known || space == Space::User && names.last() != Some(&frame) {
            names.push(frame);
        }
    };
    let mut last_return = None;
    // While a function has called nothing, its return address is in LR and perhaps nowhere else.
    if symbols.find(space_of(cpu.lr), cpu.lr.wrapping_sub(4)) != symbols.find(space, cpu.pc) {
        push(cpu.lr);
        last_return = Some(cpu.lr);
    }
    let word = |address: u32| {
        let mut bytes = [0; 4];
        machine.peek(address, &mut bytes)?;
        Some(u32::from_be_bytes(bytes))
    };
    let mut frame = cpu.gpr(1);
    for _ in 0..MOST_FRAMES {
        let Some(before) = word(frame).filter(|before| *before != 0 && before % 4 == 0 && *before != frame) else {
            break;
        };
        frame = before;
        let Some(address) = word(frame.wrapping_add(4)).filter(|address| *address != 0) else {
            break;
        };
        if last_return.take() != Some(address) {
            push(address);
        }
    }
    // A frame in the user's half with a kernel's outside of it is what a function without calls has left unsaved.
    if let Some(entry) = names.iter().rposition(|(space, _)| *space != Space::User) {
        let mut index = 0;
        names.retain(|(space, _)| {
            index += 1;
            index > entry || *space != Space::User
        });
    }
    let outermost_first: Vec<String> = names.into_iter().rev().map(|(_, name)| name).collect();
    outermost_first.join(";")
}
