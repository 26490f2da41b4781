//! MPC8xx boards on a desk: core, MMU, caches, SIU, CPM, flash and a cycle model, deterministic to the last clock.

pub mod bus;
