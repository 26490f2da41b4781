//! Small programs in assembly, for what no compiler would be asked for.

// Each test binary uses a part of this.
#![allow(dead_code, reason = "shared by test binaries that each use a part")]

use std::fs;
use std::path::{Path, PathBuf};

use zeronull_image::testing::{empty_directory, output, program};

/// Assembles `source` in a directory of its own; gives the object file.
fn object(directory: &Path, source: &str) -> PathBuf {
    let path = |file: &str| directory.join(file);
    fs::write(path("code.s"), source).expect("the source can be written");
    output(
        program("powerpc-linux-gnu-as")
            .args(["-m860", "-mregnames", "-o"])
            .args([path("code.o"), path("code.s")]),
    );
    path("code.o")
}

/// The words of position-independent code.
pub fn code(name: &str, source: &str) -> Vec<u8> {
    let directory = empty_directory(&format!("assembled-{name}"));
    let words = directory.join("code.bin");
    output(
        program("powerpc-linux-gnu-objcopy")
            .args(["-O", "binary", "-j", ".text"])
            .args([&object(&directory, source), &words]),
    );
    fs::read(&words).expect("the code can be read")
}

/// An executable of a user program whose code starts at 0x1000_4000: behind its headers, which are loaded with it, in the
/// segment in which user code runs.
pub fn executable(name: &str, source: &str) -> Vec<u8> {
    let directory = empty_directory(&format!("assembled-{name}"));
    let elf = directory.join("program");
    output(
        program("powerpc-linux-gnu-ld")
            .args(["-z", "max-page-size=0x4000", "-Ttext=0x10004000", "-o"])
            .args([&elf, &object(&directory, source)]),
    );
    fs::read(&elf).expect("the program can be read")
}
