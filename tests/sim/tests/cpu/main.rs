//! The core against the manuals, against QEMU, and against measurements of real boards, on a flat memory.
//!
//! - `flat`: the memory and the few devices that stand for a board. `asm`: encoders for the guest programs.
//! - `lockstep`: random programs beside `qemu-ppc`.
//! - `sweep`: all words decode, random images run.
//! - `exceptions`, `mmu`, `caches`: one small guest program for each rule.
//! - `timing`: the cycle model beside measurements of real boards.

mod asm;
mod caches;
mod exceptions;
mod flat;
mod lockstep;
mod mmu;
mod sweep;
mod timing;
