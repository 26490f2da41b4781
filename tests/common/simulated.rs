//! The firmware on the simulator as a library: a machine whose every register a test can reach.

// Each test binary uses a part of this.
#![allow(dead_code, reason = "shared by test binaries that each use a part")]

#[path = "../sim/tests/boards/harness.rs"]
pub mod harness;

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use harness::{Board8xx, board, options};
use mpc8xx_sim::load::fdt::Tree;
use mpc8xx_sim::load::{self, HandOver};
use zeronull_image::board::Board;
use zeronull_image::image::{self, Image, ImageOptions};

/// Where the boards' loaders put the internal memory map.
pub const IMMR: u32 = 0xFF00_0000;
/// Core clock of the boards.
pub const CORE_HZ: u32 = 132_000_000;
/// The firmware's prompt.
pub const PROMPT: &str = "zeronull> ";

/// The plain image.
pub fn image() -> &'static Image {
    static IMAGE: OnceLock<Image> = OnceLock::new();
    IMAGE.get_or_init(|| image::build(&ImageOptions::new(Board::Mcr3000)).unwrap_or_else(|error| panic!("{error}")))
}

/// The same as the simulator's loader sees it.
pub fn uimage() -> &'static load::Image {
    static IMAGE: OnceLock<load::Image> = OnceLock::new();
    IMAGE.get_or_init(|| load::Image::parse(&read(&image().uimage()), 0).expect("the image is a uImage"))
}

/// The content of a file.
pub fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|cause| panic!("cannot read {}: {cause}", path.display()))
}

/// The archive of programs.
pub fn archive() -> Option<Vec<u8>> {
    Some(read(&image().initrd()))
}

/// A tree with the core clock, to which the loader adds the rest.
pub fn tree() -> Tree {
    let mut tree = Tree::default();
    let root = &mut tree.root;
    root.set("#address-cells", vec![0, 0, 0, 1]);
    root.set("#size-cells", vec![0, 0, 0, 1]);
    let cpu = root.child_or_new("cpus").child_or_new("PowerPC,866@0");
    cpu.set("clock-frequency", CORE_HZ.to_be_bytes().to_vec());
    tree
}

/// The hand-over of `bootm` with a device tree.
pub fn device_tree(bootargs: &str, initrd: Option<Vec<u8>>) -> HandOver {
    HandOver::DeviceTree {
        tree: tree(),
        bootargs: Some(bootargs.into()),
        initrd,
    }
}

/// An MCR3000 at the image's first instruction.
pub fn started(hand_over: HandOver) -> Board8xx {
    let (options, terminal) = options();
    Board8xx::started(board("mcr3000"), options, terminal, uimage(), hand_over)
}
