//! MPC8xx boards on a desk: core, MMU, caches, SIU, CPM, flash and a cycle model, deterministic to the last clock.
//!
//! Where to start reading:
//!
//! - `machine`: a core on a board, run until something ends it.
//! - `cpu`: the core.
//! - `bus`: the seam between the core and everything around it.
//! - `part`: the chips and what differs between them.
#![forbid(unsafe_code)]

pub mod bus;
pub mod cpu;
pub mod machine;
pub mod part;
