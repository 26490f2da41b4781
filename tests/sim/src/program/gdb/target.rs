//! The registers as the debugger knows them: the core feature of the architecture without a floating-point unit, and
//! the special-purpose registers that belong to faults, time and translation.

use mpc8xx_sim::cpu::registers::spr;
use mpc8xx_sim::machine::Machine;
use mpc8xx_sim::soc::Soc;

/// A register of the target description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Register {
    General(usize),
    Pc,
    Msr,
    Cr,
    Lr,
    Ctr,
    Xer,
    Special(u32),
}

/// The registers of `org.gnu.gdb.power.core` after the general-purpose ones.
const CORE: [(&str, Register); 6] = [
    ("pc", Register::Pc),
    ("msr", Register::Msr),
    ("cr", Register::Cr),
    ("lr", Register::Lr),
    ("ctr", Register::Ctr),
    ("xer", Register::Xer),
];

/// Registers of the 8xx that can be read without side effects.
const SPECIAL: [(&str, u32); 18] = [
    ("srr0", spr::SRR0),
    ("srr1", spr::SRR1),
    ("dar", spr::DAR),
    ("dsisr", spr::DSISR),
    ("sprg0", spr::SPRG0),
    ("sprg1", spr::SPRG0 + 1),
    ("sprg2", spr::SPRG0 + 2),
    ("sprg3", spr::SPRG3),
    ("dec", spr::DEC),
    ("tbl", spr::TBL_READ),
    ("tbu", spr::TBU_READ),
    ("immr", spr::IMMR),
    ("mi_ap", spr::MI_AP),
    ("md_ap", spr::MD_AP),
    ("mi_ctr", spr::MI_CTR),
    ("md_ctr", spr::MD_CTR),
    ("m_twb", spr::M_TWB),
    ("m_casid", spr::M_CASID),
];

fn registers() -> impl Iterator<Item = Register> {
    let general = (0..32).map(Register::General);
    let core = CORE.iter().map(|(_, register)| *register);
    let special = SPECIAL.iter().map(|(_, number)| Register::Special(*number));
    general.chain(core).chain(special)
}

/// The target description.
pub fn description() -> String {
    let line = |name: &str, kind: &str| format!("<reg name=\"{name}\" bitsize=\"32\" type=\"{kind}\"/>\n");
    let mut text = String::from(
        "<?xml version=\"1.0\"?>\n<!DOCTYPE target SYSTEM \"gdb-target.dtd\">\n<target>\n\
         <architecture>powerpc:common</architecture>\n<feature name=\"org.gnu.gdb.power.core\">\n",
    );
    for index in 0..32 {
        text += &line(&format!("r{index}"), "uint32");
    }
    for (name, register) in CORE {
        let is_code = matches!(register, Register::Pc | Register::Lr);
        text += &line(name, if is_code { "code_ptr" } else { "uint32" });
    }
    text += "</feature>\n<feature name=\"zeronull.mpc8xx\">\n";
    for (name, _) in SPECIAL {
        text += &line(name, "uint32");
    }
    text + "</feature>\n</target>\n"
}

fn read(machine: &mut Machine<Soc>, register: Register) -> u32 {
    let cpu = &mut machine.cpu;
    match register {
        Register::General(index) => cpu.gpr(index),
        Register::Pc => cpu.pc,
        Register::Msr => cpu.msr(),
        Register::Cr => cpu.cr,
        Register::Lr => cpu.lr,
        Register::Ctr => cpu.ctr,
        Register::Xer => cpu.xer,
        Register::Special(number) => cpu.read_spr(&mut machine.bus, number).unwrap_or(0),
    }
}

fn write(machine: &mut Machine<Soc>, register: Register, value: u32) {
    let cpu = &mut machine.cpu;
    match register {
        Register::General(index) => cpu.set_gpr(index, value),
        Register::Pc => cpu.pc = value & !3,
        Register::Msr => cpu.write_msr(value),
        Register::Cr => cpu.cr = value,
        Register::Lr => cpu.lr = value,
        Register::Ctr => cpu.ctr = value,
        Register::Xer => cpu.xer = value,
        Register::Special(number) => {
            let number = match number {
                spr::TBL_READ => spr::TBL_WRITE,
                spr::TBU_READ => spr::TBU_WRITE,
                number => number,
            };
            // A register that only exists to be read stays as it is.
            let _ = cpu.write_spr(&mut machine.bus, number, value);
        }
    }
}

/// All registers, in the order of the description.
pub fn read_all(machine: &mut Machine<Soc>) -> Vec<u8> {
    registers()
        .flat_map(|register| read(machine, register).to_be_bytes())
        .collect()
}

/// Sets registers from the first on, as many as there are bytes for.
pub fn write_all(machine: &mut Machine<Soc>, bytes: &[u8]) {
    for (register, value) in registers().zip(bytes.chunks_exact(4)) {
        // Registers that are written back as they were must not cost their side effects.
        let value = u32::from_be_bytes([value[0], value[1], value[2], value[3]]);
        if read(machine, register) != value {
            write(machine, register, value);
        }
    }
}

/// The register with this number in the description.
pub fn read_one(machine: &mut Machine<Soc>, number: usize) -> Option<u32> {
    registers().nth(number).map(|register| read(machine, register))
}

/// Sets the register with this number in the description.
pub fn write_one(machine: &mut Machine<Soc>, number: usize, value: u32) -> Option<()> {
    registers().nth(number).map(|register| write(machine, register, value))
}
