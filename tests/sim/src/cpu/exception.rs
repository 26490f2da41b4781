//! Exceptions: vectors, what each leaves in the registers, and entry.
//!
//! Sources: MPC801 User's Manual chapter 7 (7.3.7, Tables 6-14 and 7-16), MPC823 User's Manual Table 6-5 (priorities),
//! MPC885 Reference Manual 8.9, the kernel's `head_8xx.S`.
//!
//! Entry, the same for all vectors: SRR0 and SRR1 take the state, then IP, ME and ILE stay, LE takes ILE and every other
//! MSR bit becomes 0. There are no shadow registers.

use super::registers::msr;
use super::{Cpu, Stop};
use crate::bus::Bus;

/// Exception vectors, by their offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u32)]
pub enum Vector {
    /// System reset and the non-maskable interrupt.
    SystemReset = 0x0100,
    /// Bus error.
    MachineCheck = 0x0200,
    /// External interrupt of the SIU.
    External = 0x0500,
    /// Operand not aligned where it must be.
    Alignment = 0x0600,
    /// Privileged instruction or trap.
    Program = 0x0700,
    /// Decrementer.
    Decrementer = 0x0900,
    /// System call.
    SystemCall = 0x0C00,
    /// Trace.
    Trace = 0x0D00,
    /// Whatever the core does not implement.
    SoftwareEmulation = 0x1000,
    /// No instruction TLB entry matches.
    InstructionTlbMiss = 0x1100,
    /// No data TLB entry matches.
    DataTlbMiss = 0x1200,
    /// An instruction TLB entry matches but refuses.
    InstructionTlbError = 0x1300,
    /// A data TLB entry matches but refuses.
    DataTlbError = 0x1400,
    /// Data (L-bus) breakpoint.
    DataBreakpoint = 0x1C00,
    /// Instruction (I-bus) breakpoint.
    InstructionBreakpoint = 0x1D00,
}

impl Vector {
    /// Every exception, in the order of the vectors.
    pub const ALL: [Vector; 15] = [
        Vector::SystemReset,
        Vector::MachineCheck,
        Vector::External,
        Vector::Alignment,
        Vector::Program,
        Vector::Decrementer,
        Vector::SystemCall,
        Vector::Trace,
        Vector::SoftwareEmulation,
        Vector::InstructionTlbMiss,
        Vector::DataTlbMiss,
        Vector::InstructionTlbError,
        Vector::DataTlbError,
        Vector::DataBreakpoint,
        Vector::InstructionBreakpoint,
    ];

    /// The name that tables and messages use.
    pub fn name(self) -> &'static str {
        match self {
            Vector::SystemReset => "system reset",
            Vector::MachineCheck => "machine check",
            Vector::External => "external interrupt",
            Vector::Alignment => "alignment",
            Vector::Program => "program",
            Vector::Decrementer => "decrementer",
            Vector::SystemCall => "system call",
            Vector::Trace => "trace",
            Vector::SoftwareEmulation => "software emulation",
            Vector::InstructionTlbMiss => "instruction TLB miss",
            Vector::DataTlbMiss => "data TLB miss",
            Vector::InstructionTlbError => "instruction TLB error",
            Vector::DataTlbError => "data TLB error",
            Vector::DataBreakpoint => "data breakpoint",
            Vector::InstructionBreakpoint => "instruction breakpoint",
        }
    }

    /// The bit of ICR and DER that stands for this cause (MPC860 User's Manual, chapter on development support \[R\]).
    pub fn cause_bit(self) -> u32 {
        match self {
            Vector::SystemReset => 0x4000_0000,
            Vector::MachineCheck => 0x1000_0000,
            Vector::External => 0x0200_0000,
            Vector::Alignment => 0x0100_0000,
            Vector::Program => 0x0080_0000,
            Vector::Decrementer => 0x0020_0000,
            Vector::SystemCall => 0x0004_0000,
            Vector::Trace => 0x0002_0000,
            Vector::SoftwareEmulation => 0x0000_4000,
            Vector::InstructionTlbMiss => 0x0000_2000,
            Vector::InstructionTlbError => 0x0000_1000,
            Vector::DataTlbMiss => 0x0000_0800,
            Vector::DataTlbError => 0x0000_0400,
            Vector::DataBreakpoint => 0x0000_0008,
            Vector::InstructionBreakpoint => 0x0000_0004,
        }
    }
}

/// ICR and DER: checkstop.
pub const CAUSE_CHECKSTOP: u32 = 0x2000_0000;

/// Where SRR0 points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// At the instruction that raised the exception.
    Here,
    /// At the instruction that would have come next.
    Next,
}

/// An exception on its way from the instruction that raised it to its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exception {
    /// Vector.
    pub vector: Vector,
    /// Where SRR0 points.
    pub resume: Resume,
    /// Bits 1 to 4 and 10 to 15 of SRR1.
    pub srr1: u32,
    /// New value of DAR, if the hardware writes it.
    pub dar: Option<u32>,
    /// New value of DSISR, if the hardware writes it.
    pub dsisr: Option<u32>,
}

impl Exception {
    /// An exception that reports nothing beyond its vector.
    pub fn plain(vector: Vector, resume: Resume) -> Exception {
        Exception {
            vector,
            resume,
            srr1: 0,
            dar: None,
            dsisr: None,
        }
    }

    /// Illegal or unimplemented: DAR and DSISR stay, no bits in SRR1.
    pub fn software_emulation() -> Exception {
        Exception::plain(Vector::SoftwareEmulation, Resume::Here)
    }

    /// Program exception with the given reason bit of SRR1.
    pub fn program(srr1: u32) -> Exception {
        Exception {
            srr1,
            ..Exception::plain(Vector::Program, Resume::Here)
        }
    }

    /// Alignment exception of the instruction `word` at data address `address`.
    pub fn alignment(word: u32, address: u32) -> Exception {
        Exception {
            dar: Some(address),
            dsisr: Some(instruction_information(word)),
            ..Exception::plain(Vector::Alignment, Resume::Here)
        }
    }

    /// Machine check of a data access by the instruction `word` at effective address `address`.
    pub fn machine_check_data(word: u32, address: u32) -> Exception {
        Exception {
            vector: Vector::MachineCheck,
            ..Exception::alignment(word, address)
        }
    }
}

/// What interrupts the flow of instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trap {
    /// An exception of the architecture.
    Exception(Exception),
    /// The simulation ends.
    Stop(Box<Stop>),
}

impl From<Exception> for Trap {
    fn from(exception: Exception) -> Trap {
        Trap::Exception(exception)
    }
}

impl From<Stop> for Trap {
    fn from(stop: Stop) -> Trap {
        Trap::Stop(Box::new(stop))
    }
}

/// The instruction as DSISR describes it: bits 15 to 31 from the opcode and the register fields (Programming
/// Environments Manual, alignment exception).
pub fn instruction_information(word: u32) -> u32 {
    let registers = word >> 16 & 0x3FF;
    if word >> 26 == 31 {
        let low = word >> 1 & 3;
        let bit_25 = word >> 6 & 1;
        let bits_21_to_24 = word >> 7 & 0xF;
        low << 15 | bit_25 << 14 | bits_21_to_24 << 10 | registers
    } else {
        let bit_5 = word >> 26 & 1;
        let bits_1_to_4 = word >> 27 & 0xF;
        bit_5 << 14 | bits_1_to_4 << 10 | registers
    }
}

impl Cpu {
    /// Takes an exception: saves the state, sets the MSR and goes to the vector.
    ///
    /// # Errors
    /// [`Stop::Checkstop`] for a machine check with ME off that the board does not turn into a reset,
    /// [`Stop::DebugMode`] when debug mode is enabled and DER selects the cause.
    pub(super) fn enter<B: Bus>(&mut self, bus: &mut B, exception: Exception) -> Result<(), Stop> {
        let Exception {
            vector,
            resume,
            srr1,
            dar,
            dsisr,
        } = exception;
        if vector == Vector::MachineCheck && self.msr & msr::ME == 0 {
            return self.checkstop(bus, exception);
        }
        self.exceptions[(vector as u32 >> 8) as usize] += 1;
        if self.timed {
            self.enter_timed(vector == Vector::SystemCall);
        }
        self.srr0 = if resume == Resume::Here { self.pc } else { self.next_pc };
        self.srr1 = self.msr & msr::SAVED | srr1;
        self.dar = dar.unwrap_or(self.dar);
        self.dsisr = dsisr.unwrap_or(self.dsisr);
        let mut state = self.msr & (msr::IP | msr::ME | msr::ILE);
        if vector == Vector::MachineCheck {
            state &= !msr::ME;
        }
        if state & msr::ILE != 0 {
            state |= msr::LE;
        }
        let base = if state & msr::IP != 0 { 0xFFF0_0000 } else { 0 };
        self.pc = base + vector as u32;
        self.write_msr(state);
        self.debug.record_cause(vector.cause_bit());
        if self.debug.enters_debug_mode(vector.cause_bit()) {
            return Err(Stop::DebugMode {
                pc: self.srr0,
                cause: vector.name(),
            });
        }
        Ok(())
    }

    fn checkstop<B: Bus>(&mut self, bus: &mut B, exception: Exception) -> Result<(), Stop> {
        self.debug.record_cause(CAUSE_CHECKSTOP);
        if self.debug.enters_debug_mode(CAUSE_CHECKSTOP) {
            return Err(Stop::DebugMode {
                pc: self.pc,
                cause: "checkstop",
            });
        }
        if bus.checkstop(self.now) {
            return self.hard_reset(bus);
        }
        Err(Stop::Checkstop {
            pc: self.pc,
            address: exception.dar,
        })
    }

    /// Hard reset of core and board.
    pub(super) fn hard_reset<B: Bus>(&mut self, bus: &mut B) -> Result<(), Stop> {
        let vectors_high = bus.hard_reset(self.now);
        self.reset(vectors_high);
        if self.quirks.stop_on_reset {
            Err(Stop::Reset)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instruction_information_follows_the_two_forms() {
        // stmw r13,8(r1): D-form, opcode 47: bits 1-4 = 0111, bit 5 = 1; S = 13, A = 1.
        assert_eq!(
            instruction_information(0xBDA1_0008),
            1 << 14 | 0b0111 << 10 | 13 << 5 | 1
        );
        // lwarx r5,r6,r7: X-form, extended opcode 20 = 0000010100: bits 21-24 = 0000, bit 25 = 0, bits 29-30 = 00.
        assert_eq!(instruction_information(0x7CA6_3828), 5 << 5 | 6);
        // stwcx. r5,r6,r7: extended opcode 150 = 0010010110: bits 21-24 = 0010, bit 25 = 0, bits 29-30 = 10.
        assert_eq!(
            instruction_information(0x7CA6_392D),
            0b10 << 15 | 0b0010 << 10 | 5 << 5 | 6
        );
    }
}
