//! Every constant of the cycle model, each named once, with its source.
//!
//! Tags: \[M\] measured on real boards (the row of the published measurements in parentheses), \[V\] read in a source,
//! \[R\] recalled from a manual, \[A\] assumed. No constant was chosen to meet a total or a throughput. Lengths of bus
//! cycles are not here: they come from the programming of the memory controller through
//! [`Bus::timing`](crate::bus::Bus::timing).
//!
//! All values are core clocks unless they say otherwise. How they act together is in [`pipeline`](super::pipeline).

/// Declares [`Timing`] with a look-up by name.
macro_rules! constants {
    ($($(#[$doc:meta])* $name:ident = $default:literal,)*) => {
        /// The constants of the cycle model; any of them can be changed by name.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Timing {
            $($(#[$doc])* pub $name: u32,)*
        }

        impl Default for Timing {
            fn default() -> Self {
                Timing { $($name: $default,)* }
            }
        }

        impl Timing {
            /// The names, in the order of their declaration.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name),)*];

            /// The value of the constant with this name.
            pub fn get(&self, name: &str) -> Option<u32> {
                match name {
                    $(stringify!($name) => Some(self.$name),)*
                    _ => None,
                }
            }

            fn slot(&mut self, name: &str) -> Option<&mut u32> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)*
                    _ => None,
                }
            }
        }
    };
}

constants! {
    /// Entries of the instruction queue: how far the fetch may run ahead of the issue. \[V\] 885RM 3.4.1
    fetch_queue = 4,
    /// Clocks without a fetched instruction after a taken branch, so that it costs 2. \[V\] 885RM Table 9-1 \[M\]
    /// (JMP_JA, V2, O4)
    branch_bubble = 1,
    /// From the issue of an instruction that sets CR to the branch that needs it. \[M\] (V11, A15: compare and branch
    /// not taken together 2)
    cr_to_branch = 1,
    /// From the issue of `mtlr` or `mtctr` to the branch that needs it. \[M\] (A5: issue at one a clock and at most one
    /// more)
    link_to_branch = 1,
    /// From the issue of a load that hits to the issue of its user. \[M\] (A17, V9) \[V\] GCC
    load_latency = 2,
    /// How much later a load may issue that follows a store at once. \[M\] (ST_MEM)
    store_to_load = 1,
    /// From the issue of a multiplication to the issue of its user. \[M\] (ALU64_MUL) \[V\] GCC
    multiply_latency = 2,
    /// Clocks of a division beyond those for the length of the divisor. \[M\] (MOD) \[R\] 860UM
    divide_base = 3,
    /// Clocks of a division that cannot be represented. \[R\] 860UM
    divide_overflow = 2,
    /// Entries of the completion queue: instructions from the oldest that has not completed on, branches included.
    /// \[V\] 885RM 3.4.1
    completion_queue = 6,
    /// Wait of a serialising instruction for those before it to leave the pipeline. \[A\]
    serialise = 1,
    /// Clocks of `lmw` and `stmw` beyond one for each word. \[M\] (A13, A21) \[R\]
    multiple_base = 1,
    /// Clocks of a string instruction beyond one for each word. \[R\]
    string_base = 1,
    /// `lwarx`, `stwcx.` and `sync`. \[R\]
    reserve = 2,
    /// From the issue of an instruction that makes the fetch start anew to the issue of the next: `sc` and `rfi` \[V\]
    /// 885RM Table 9-1; `mtmsr` \[M\] (A10) and `mtspr` to the debug registers, which 823UM 20.2.1.1.3 puts beside indirect
    /// branches \[V\].
    refetch = 2,
    /// The same for `isync`. \[M\] (A12, with little confidence: the effects of fetching without translation are in it)
    isync = 10,
    /// `mfmsr`. \[R\]
    mfmsr = 1,
    /// `mtspr` to EIE, EID and NRI. \[M\] (A10)
    mtspr_interrupt = 1,
    /// `mtspr` and `mfspr` of XER, SRR0, SRR1, SPRG and the other registers inside the core. \[R\]
    spr_core = 1,
    /// The same for registers outside the core: MMU, caches, IMMR, DEC, time base. \[A\]
    spr_off_core = 3,
    /// `mfcr` and `mtcrf`. \[V\] GCC
    cr_move = 1,
    /// `tlbie` and `tlbia`. \[A\]
    tlb_invalidate = 2,
    /// `dcbst`, `dcbf`, `dcbi` and `icbi`, without the cycles on the bus. \[A\]
    cache_operation = 2,
    /// `dcbz` of a line that is in the cache. \[A\]
    dcbz_hit = 2,
    /// `dcbz` of a line that is not. \[A\]
    dcbz_miss = 4,
    /// From the recognition of any other exception to the issue of its handler. \[V\] 823UM 6.3.5, in parts \[A\]
    exception_entry = 6,
    /// From the fetch of an instruction that is not in the cache to the request for the bus: both are asked at once, and
    /// a hit takes the request back. \[V\] 860UM 8.5
    fetch_miss = 0,
    /// From the look-up of data that are not in the cache to the request for the bus. \[V\] 860UM 8.6
    data_miss = 1,
    /// From the arrival of a word on the bus to its use by an instruction. \[A\]
    bus_to_register = 1,
}

impl Timing {
    /// Changes the constant with this name.
    ///
    /// # Errors
    /// A message that lists the names there are, when this is none of them.
    pub fn set(&mut self, name: &str, value: u32) -> Result<(), String> {
        match self.slot(name) {
            Some(slot) => {
                *slot = value;
                Ok(())
            }
            None => Err(format!(
                "no timing constant is named {name}; there are {}",
                Self::NAMES.join(", ")
            )),
        }
    }

    /// Clocks of a division by `divisor`: 3 + (34 - length of the divisor) / 4, which the measured difference between
    /// short and long divisors confirms.
    pub fn divide(&self, divisor: u32, representable: bool) -> u32 {
        if representable {
            let length = 32 - divisor.leading_zeros();
            self.divide_base + (34 - length) / 4
        } else {
            self.divide_overflow
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_found_by_name_and_others_refused_with_the_list() {
        let mut timing = Timing::default();
        timing.set("dcbz_miss", 9).unwrap();
        assert_eq!((timing.dcbz_miss, timing.get("dcbz_miss")), (9, Some(9)));
        assert!(timing.set("dcbz", 1).unwrap_err().contains("dcbz_miss"));
        assert!(Timing::NAMES.iter().all(|name| timing.get(name).is_some()));
    }

    #[test]
    fn division_gets_shorter_with_a_longer_divisor() {
        let timing = Timing::default();
        assert_eq!(
            [2, 0xFFFF_FFFD, 1].map(|divisor| timing.divide(divisor, true)),
            [11, 3, 11]
        );
        assert_eq!(timing.divide(0, false), 2);
    }
}
