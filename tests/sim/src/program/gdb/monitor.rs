//! What `monitor` does in the debugger.

use mpc8xx_sim::bus::Bus;

use super::super::session::Session;
use super::super::time::to_seconds;

const HELP: &str = "\
monitor tlb      both TLBs, one entry a line
monitor cycles   core clocks, instructions, simulated time
monitor reset    hard reset; memory keeps its content
monitor help     this text
";

/// Carries out a command; gives what to print.
pub fn run(session: &mut Session, command: &str) -> String {
    match command.trim() {
        "tlb" => session.machine.cpu.mmu.dump(),
        "cycles" => {
            let cpu = &session.machine.cpu;
            format!(
                "{} core clocks, {} instructions, {} s\n",
                cpu.now(),
                cpu.instructions(),
                to_seconds(session.nanoseconds())
            )
        }
        "reset" => {
            let machine = &mut session.machine;
            let vectors_high = machine.bus.hard_reset(machine.cpu.now());
            machine.cpu.reset(vectors_high);
            machine.cpu.forget();
            format!("reset, pc {:#010x}\n", machine.cpu.pc)
        }
        "help" | "" => HELP.to_owned(),
        other => format!("unknown command `{other}`\n{HELP}"),
    }
}
