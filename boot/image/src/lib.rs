//! Builds, packs and runs zeronull images.
//!
//! | module | does |
//! | --- | --- |
//! | [`image`] | builds the firmware and the user programs and writes every file of an image |
//! | [`cargo`], [`symbols`], [`demangle`] | the two links, and the symbol table that the second one takes in |
//! | [`elf`], [`flat`], [`uimage`], [`flash`], [`cpio`] | the file formats |
//! | [`machine`], [`start`], [`session`] | machines that start an image, with what, and talking to one that runs |
//! | [`series`] | what one operation costs, by image and preset |
//! | [`commands`], [`arguments`], [`terminal`] | the programs around all this |
//! | [`testing`] | what all integration tests share |
//!
//! A test that needs a running firmware:
//!
//! ```no_run
//! use zeronull_image::machine::{Machine, Qemu};
//!
//! let transcript = Qemu::default().run(&["help"]).unwrap();
//! assert_eq!(transcript.status, 0);
//! ```
#![forbid(unsafe_code)]

pub mod arguments;
pub mod board;
pub mod cargo;
pub mod commands;
pub mod cpio;
pub mod demangle;
pub mod elf;
pub mod error;
pub mod flash;
pub mod flat;
pub mod image;
pub mod machine;
pub mod series;
pub mod session;
pub mod start;
pub mod symbols;
pub mod terminal;
pub mod testing;
pub mod uimage;
pub mod workspace;
