//! The frame that exception entry leaves on the kernel stack.

use core::fmt;

/// All registers of the interrupted code. The assembly knows the offsets from here, nowhere else.
#[repr(C)]
#[derive(Clone, Debug)]
pub struct TrapFrame {
    back_chain: u32,
    link_save: u32,
    /// r0–r31.
    pub gpr: [u32; 32],
    /// SRR0: where execution goes on.
    pub nip: u32,
    /// SRR1: the machine state, with the exception's own bits in the upper half.
    pub msr: u32,
    /// Link register.
    pub lr: u32,
    /// Count register.
    pub ctr: u32,
    /// Integer exception register.
    pub xer: u32,
    /// Condition register.
    pub cr: u32,
    /// Data address register; meaningful for some vectors only.
    pub dar: u32,
    /// Data storage interrupt status register; likewise.
    pub dsisr: u32,
    /// Offset of the exception vector.
    pub vector: u32,
    /// The user-access window as it was; it is closed while the handler runs and opened again on return.
    pub window: u32,
    padding: [u32; 4],
}

/// Size of [`TrapFrame`], a multiple of 16 as the ABI asks of the stack.
pub const FRAME_SIZE: usize = size_of::<TrapFrame>();
const _: () = assert!(FRAME_SIZE.is_multiple_of(16));

/// What the system call path keeps on the empty kernel stack: back chain, LR save word for callees, then user state.
#[repr(C)]
pub struct SyscallFrame {
    back_chain: u32,
    link_save: u32,
    /// User r1.
    pub r1: u32,
    /// User pc behind `sc`.
    pub nip: u32,
    /// User condition register.
    pub cr: u32,
    /// User link register.
    pub lr: u32,
    padding: [u32; 2],
}

/// Size of [`SyscallFrame`].
pub const SYSCALL_SIZE: usize = size_of::<SyscallFrame>();
const _: () = assert!(SYSCALL_SIZE.is_multiple_of(16));

impl TrapFrame {
    /// Whether user code was interrupted.
    pub fn from_user(&self) -> bool {
        self.msr & super::msr::PR != 0
    }
}

impl fmt::Display for TrapFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "vector {:#06x}  nip {:08x}  msr {:08x}  lr {:08x}",
            self.vector, self.nip, self.msr, self.lr
        )?;
        writeln!(
            f,
            "ctr {:08x}  xer {:08x}  cr {:08x}  window {:08x}",
            self.ctr, self.xer, self.cr, self.window
        )?;
        writeln!(f, "dar {:08x}  dsisr {:08x}", self.dar, self.dsisr)?;
        for row in 0..8 {
            write!(f, "r{:<2}", row * 4)?;
            for register in &self.gpr[row * 4..row * 4 + 4] {
                write!(f, "  {register:08x}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
