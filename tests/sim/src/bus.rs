//! The seam between the core (`cpu`) and everything around it (`soc`).
//!
//! The core knows nothing of chip selects, devices or boards: it sees physical addresses, a store of directly
//! accessible memory, the price of a bus cycle, three exception lines and the instant of the next device event. The
//! tests of the core put a flat memory behind this trait; a board puts a [`crate::soc`] there.
//!
//! All times are core clocks (GCLK2) since power-on. There is no wall clock anywhere below this line.

/// The width of one access by the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 8 bits.
    Byte = 1,
    /// 16 bits.
    Half = 2,
    /// 32 bits.
    Word = 4,
}

/// The kind of bus cycle whose length is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CycleKind {
    /// One beat, read.
    SingleRead,
    /// One beat, write.
    SingleWrite,
    /// Four beats of four bytes, critical word first, read.
    BurstRead,
    /// Four beats of four bytes, write.
    BurstWrite,
}

/// The length of a bus cycle in core clocks, derived from the memory controller's own programming.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct BusTiming {
    /// From the start of the cycle to the first transfer acknowledge: the critical word has arrived, or the first
    /// word was taken.
    pub critical: u32,
    /// Core clocks from one acknowledge to the next within a burst; 0 for a single beat.
    pub beat: u32,
    /// From the start of the cycle to the instant at which the bus is free for another.
    pub total: u32,
}

/// The refresh service of a memory controller's machine: the bus is taken for `busy` core clocks at the start of every
/// `period` core clocks, counted from power-on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Refresh {
    /// Core clocks between two services; 0: no refresh.
    pub period: u32,
    /// Core clocks that one service holds the bus.
    pub busy: u32,
}

/// A cycle that was ended by TEA, or that nothing answered until the bus monitor ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusError {
    /// Physical address of the cycle.
    pub address: u32,
}

/// A 4 KiB page of physical addresses that is plain memory at this instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectPage {
    /// Byte offset of the page in [`Bus::memory`].
    pub offset: usize,
    /// Whether stores may go straight to the store as well (RAM), or only loads (flash in read-array mode, RAM behind
    /// a write-protected chip select, a page with an injected fault on writes).
    pub writable: bool,
}

/// The levels of the lines that can interrupt the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Lines {
    /// External interrupt request of the SIU (level).
    pub external: bool,
    /// A decrementer exception is pending.
    pub decrementer: bool,
    /// Non-maskable: IRQ0 or the watchdog in NMI mode.
    pub nmi: bool,
    /// Hard reset: watchdog in reset mode, or checkstop with PLPRCR\[CSR\].
    pub reset: bool,
}

impl Lines {
    /// Whether any line is active.
    pub fn any(self) -> bool {
        self.external || self.decrementer || self.nmi || self.reset
    }
}

/// Special-purpose registers that live outside the core proper, in the SIU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusSpr {
    /// Time base lower (268 read, 284 write).
    Tbl,
    /// Time base upper (269 read, 285 write).
    Tbu,
    /// Decrementer (22).
    Dec,
    /// Internal memory map register (638).
    Immr,
}

/// What the core sees of the rest of the chip and of the board.
pub trait Bus {
    /// The store behind all direct pages (RAM, then flash, …).
    fn memory(&self) -> &[u8];

    /// The same, for stores.
    fn memory_mut(&mut self) -> &mut [u8];

    /// Whether the 4 KiB page that holds `address` is plain memory now. The answer holds until
    /// [`Bus::map_generation`] changes.
    fn direct(&self, address: u32) -> Option<DirectPage>;

    /// Changes whenever an earlier answer of [`Bus::direct`] or [`Bus::timing`] may have become wrong (IMMR moved, a
    /// chip select or UPM word written, flash entered command mode, a fault armed).
    fn map_generation(&self) -> u32;

    /// Whether `address` may be held by a cache whatever the page attributes say (false for the internal memory map).
    fn cacheable(&self, address: u32) -> bool;

    /// One load through the chip selects and devices, at core clock `now`.
    ///
    /// # Errors
    /// [`BusError`] when the cycle ends with TEA; nothing changed then.
    fn read(&mut self, address: u32, width: Width, now: u64) -> Result<u32, BusError>;

    /// One store through the chip selects and devices, at core clock `now`.
    ///
    /// # Errors
    /// [`BusError`] when the cycle ends with TEA; nothing changed then.
    fn write(&mut self, address: u32, width: Width, value: u32, now: u64) -> Result<(), BusError>;

    /// The length of a bus cycle at `address`, in core clocks.
    fn timing(&self, address: u32, kind: CycleKind) -> BusTiming;

    /// Core clocks in one clock of the external bus; bus cycles start on whole ones. The answer holds until
    /// [`Bus::map_generation`] changes.
    fn bus_ratio(&self) -> u32 {
        1
    }

    /// The refresh services that compete with the core for the bus, one per UPM. The answer holds until
    /// [`Bus::map_generation`] changes.
    fn refresh(&self) -> [Refresh; 2] {
        [Refresh::default(); 2]
    }

    /// Core clock at which [`Bus::advance`] must be called next (`u64::MAX`: never).
    fn next_event(&self) -> u64;

    /// Brings every device up to core clock `now`.
    fn advance(&mut self, now: u64);

    /// The interrupt lines as of the last `advance`, `read` or `write`.
    fn lines(&self) -> Lines;

    /// The core has taken the decrementer exception.
    fn acknowledge_decrementer(&mut self);

    /// The core has taken the non-maskable interrupt.
    fn acknowledge_nmi(&mut self);

    /// Reads a register that lives in the SIU.
    fn spr_read(&mut self, spr: BusSpr, now: u64) -> u32;

    /// Writes a register that lives in the SIU.
    fn spr_write(&mut self, spr: BusSpr, value: u32, now: u64);

    /// The core has stopped on a checkstop. Returns whether the board turns that into a hard reset (PLPRCR\[CSR\]).
    fn checkstop(&mut self, now: u64) -> bool;

    /// Hard reset of everything around the core; memory keeps its content. Returns MSR\[IP\] as the reset
    /// configuration word sets it.
    fn hard_reset(&mut self, now: u64) -> bool;
}
