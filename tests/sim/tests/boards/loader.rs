//! U-Boot for the MCR3000 at its prompt, as `tests/build-u-boot` builds it from the distribution's source.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::harness::{Board8xx, board, options};

/// What it shows when it waits for a command.
pub const PROMPT: &str = "S3K> ";

/// The built image; `None`, and a line that says why, when it cannot be built. Built once, kept under `target`.
pub fn u_boot() -> Option<&'static [u8]> {
    static IMAGE: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    let image = IMAGE.get_or_init(|| {
        // This file belongs to the tests of two packages.
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .find(|directory| directory.join("rust-toolchain.toml").exists())
            .expect("the package lies in the checkout");
        let directory: PathBuf = root.join("target/u-boot");
        let built = Command::new(root.join("tests/build-u-boot"))
            .arg(&directory)
            .output()
            .expect("the recipe can run");
        if !built.status.success() {
            println!("skipped: no U-Boot: {}", String::from_utf8_lossy(&built.stderr).trim());
            return None;
        }
        Some(std::fs::read(directory.join("u-boot.bin")).expect("the recipe has left an image"))
    });
    image.as_deref()
}

/// A board with U-Boot in flash, at its prompt. The autoboot countdown is ended by the word it waits for.
pub fn at_prompt() -> Option<Board8xx> {
    let (mut options, terminal) = options();
    options.flash_content = u_boot()?.to_vec();
    let mut board = Board8xx::at_reset(board("mcr3000"), options, terminal);
    board.expect("autoboot in 5 sec", 20);
    board.send("root");
    board.expect(PROMPT, 6);
    Some(board)
}

/// Sends a command line and returns what came before the next prompt.
pub fn command(board: &mut Board8xx, line: &str, seconds: u64) -> String {
    let from = board.output.len();
    board.send(&format!("{line}\r"));
    board.expect(PROMPT, seconds);
    board.output[from..].to_owned()
}
