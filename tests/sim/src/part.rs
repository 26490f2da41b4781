//! The chips: what differs from one MPC8xx to the next, as one table.
//!
//! A [`Part`] holds the figures that both the core (TLB size, cache geometry, PVR) and the SIU (PARTNUM and MASKNUM in
//! IMMR, dual-port RAM) take from the chip. Boards name a part; nothing else in the simulator asks which chip it is.
//!
//! Sources: sizes from the device trees of the kernel (`mpc885ads.dts`, `adder875*.dts`, `tqm8xx.dts`) and from the
//! MPC823 and MPC823e manuals where marked \[V\]; number of ways and the remaining parts recalled from the
//! manuals \[R\]. IMMR and REV_NUM as U-Boot's `cpu.c` of 2012 lists them \[V\].

/// Bytes of one cache line, the same in both caches of every part \[V\].
pub const LINE: u32 = 16;

/// The geometry of one cache; a line is always [`LINE`] bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheGeometry {
    /// Number of sets, a power of two.
    pub sets: u32,
    /// Number of ways.
    pub ways: u32,
}

impl CacheGeometry {
    /// Capacity in bytes.
    pub fn bytes(self) -> u32 {
        self.sets * self.ways * LINE
    }
}

/// One chip of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The name that boards and options use, such as `885`.
    pub name: &'static str,
    /// Processor version register (SPR 287).
    pub pvr: u32,
    /// The read-only low half of IMMR: PARTNUM, then MASKNUM.
    pub immr_low: u16,
    /// REV_NUM, the halfword of the CPM's microcode revision at DPRAM offset 0x1CB0.
    pub rev_num: u16,
    /// Entries of each of the two TLBs.
    pub tlb_entries: usize,
    /// Entries at the top of a TLB that CTR\[RSV4\] reserves.
    pub tlb_reserved: usize,
    /// Instruction cache.
    pub icache: CacheGeometry,
    /// Data cache.
    pub dcache: CacheGeometry,
    /// Whether the clock control is that of the 866 and 885 families (PLPRCR with MFN, MFD, MFI and PDF).
    pub new_clock: bool,
    /// Bytes of dual-port RAM behind IMMR + 0x2000, parameter RAM included.
    pub dpram_bytes: u32,
}

const PVR_8XX: u32 = 0x0050_0000;

const KB4_2WAY: CacheGeometry = CacheGeometry { sets: 128, ways: 2 };
const KB8_2WAY: CacheGeometry = CacheGeometry { sets: 256, ways: 2 };
const KB16_4WAY: CacheGeometry = CacheGeometry { sets: 256, ways: 4 };

const BASE_860: Part = Part {
    name: "860",
    pvr: PVR_8XX,
    immr_low: 0x0031,
    rev_num: 0x0004,
    tlb_entries: 32,
    tlb_reserved: 4,
    icache: KB4_2WAY,
    dcache: KB4_2WAY,
    new_clock: false,
    dpram_bytes: 0x2000,
};

/// Every modelled part.
pub const PARTS: &[Part] = &[
    BASE_860,
    Part {
        name: "860p",
        immr_low: 0x4000,
        rev_num: 0x0000,
        icache: KB16_4WAY,
        dcache: KB8_2WAY,
        ..BASE_860
    },
    Part {
        name: "862p",
        immr_low: 0x0700,
        rev_num: 0x0003,
        icache: KB16_4WAY,
        dcache: KB8_2WAY,
        ..BASE_860
    },
    Part {
        name: "866",
        immr_low: 0x0801,
        rev_num: 0x0004,
        icache: KB16_4WAY,
        dcache: KB8_2WAY,
        new_clock: true,
        ..BASE_860
    },
    Part {
        name: "859",
        immr_low: 0x0801,
        rev_num: 0x0004,
        new_clock: true,
        ..BASE_860
    },
    Part {
        name: "885",
        immr_low: 0x0900,
        rev_num: 0x0000,
        icache: KB8_2WAY,
        dcache: KB8_2WAY,
        new_clock: true,
        ..BASE_860
    },
    Part {
        name: "875",
        immr_low: 0x0900,
        rev_num: 0x0000,
        icache: KB8_2WAY,
        dcache: KB8_2WAY,
        new_clock: true,
        ..BASE_860
    },
    Part {
        name: "823",
        immr_low: 0x2101,
        rev_num: 0x0001,
        tlb_entries: 8,
        icache: CacheGeometry { sets: 64, ways: 2 },
        dcache: CacheGeometry { sets: 32, ways: 2 },
        ..BASE_860
    },
    Part {
        name: "823e",
        immr_low: 0x2101,
        rev_num: 0x0001,
        icache: KB16_4WAY,
        dcache: KB8_2WAY,
        ..BASE_860
    },
    Part {
        name: "850",
        immr_low: 0x2102,
        rev_num: 0x0068,
        tlb_entries: 8,
        icache: CacheGeometry { sets: 64, ways: 2 },
        dcache: CacheGeometry { sets: 32, ways: 2 },
        ..BASE_860
    },
];

/// The part with this name, if there is one.
pub fn by_name(name: &str) -> Option<&'static Part> {
    PARTS.iter().find(|part| part.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_geometries_are_powers_of_two() {
        for (index, part) in PARTS.iter().enumerate() {
            assert!(
                PARTS[..index].iter().all(|other| other.name != part.name),
                "{} is listed twice",
                part.name
            );
            assert!(
                part.icache.sets.is_power_of_two()
                    && part.icache.ways.is_power_of_two()
                    && part.dcache.ways.is_power_of_two()
                    && part.dcache.sets.is_power_of_two(),
                "{}",
                part.name
            );
            assert!(
                part.tlb_entries.is_power_of_two() && part.tlb_entries > part.tlb_reserved,
                "{}",
                part.name
            );
        }
    }

    #[test]
    fn sizes_are_those_of_the_device_trees() {
        let part_885 = by_name("885").unwrap();
        assert_eq!((part_885.icache.bytes(), part_885.dcache.bytes()), (8192, 8192));
        let part_866 = by_name("866").unwrap();
        assert_eq!((part_866.icache.bytes(), part_866.dcache.bytes()), (16384, 8192));
        let part_860 = by_name("860").unwrap();
        assert_eq!((part_860.icache.bytes(), part_860.dcache.bytes()), (4096, 4096));
    }
}
