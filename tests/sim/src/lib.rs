//! MPC8xx boards on a desk: core, MMU, caches, SIU, CPM, flash and a cycle model, deterministic to the last clock.
//!
//! Where to start reading:
//!
//! - `machine`: a core on a board, run until something ends it.
//! - `cpu`: the core.
//! - `bus`: the seam between the core and everything around it.
//! - `part`: the chips and what differs between them.
//! - `board`: the boards, from power-on to the state in which a boot loader leaves them.
//! - `load`: images, device trees and how a guest is started.
//! - `soc`: the chip around the core and what is soldered around the chip.
#![forbid(unsafe_code)]

pub mod board;
pub mod bus;
pub mod cpu;
pub mod load;
pub mod machine;
pub mod part;
pub mod soc;
