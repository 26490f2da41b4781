//! A small PowerPC program, assembled and linked by binutils, for tests of the file formats.

use std::fs;
use std::path::{Path, PathBuf};

use zeronull_image::testing::{output, program};

/// Linked at 0xC0000000 and loaded at 0, with a gap before the data and an odd number of data bytes.
const SOURCE: &str = "
    .section .text, \"ax\"
    .globl _start
    .type _start, @function
    _start: lis 3, value@ha
        lwz 3, value@l(3)
    after_load: b _start
    .size _start, . - _start
    .type _RNvNtCs1234_8zeronull2fs8vfs_read, @function
    .globl _RNvNtCs1234_8zeronull2fs8vfs_read
    _RNvNtCs1234_8zeronull2fs8vfs_read: blr
    alias_of_read: nop
    .size _RNvNtCs1234_8zeronull2fs8vfs_read, . - _RNvNtCs1234_8zeronull2fs8vfs_read
    .section .rodata, \"a\"
    constant: .long 0x01020304
    .section .data, \"aw\"
    .globl value
    value: .long 0xdeadbeef
    .byte 1, 2, 3
    .section .bss, \"aw\", @nobits
    .skip 64
";

const SCRIPT: &str = "
    ENTRY(_start)
    PHDRS { text PT_LOAD; data PT_LOAD; }
    SECTIONS {
        .text 0xC0000000 : AT(0) { *(.text) } :text
        .rodata : { *(.rodata) } :text
        .data 0xC0001000 : AT(0x1000) { *(.data) } :data
        .bss : { *(.bss) } :data
    }
";

/// Builds the program in `directory`; gives the ELF file's path and content.
pub fn small_elf(directory: &Path) -> (PathBuf, Vec<u8>) {
    let path = |name: &str| directory.join(name);
    fs::write(path("small.s"), SOURCE).expect("the source can be written");
    fs::write(path("small.ld"), SCRIPT).expect("the script can be written");
    output(
        program("powerpc-linux-gnu-as")
            .args(["-mregnames", "-o"])
            .arg(path("small.o"))
            .arg(path("small.s")),
    );
    output(
        program("powerpc-linux-gnu-ld")
            .args(["-z", "max-page-size=16", "-T"])
            .arg(path("small.ld"))
            .arg("-o")
            .arg(path("small.elf"))
            .arg(path("small.o")),
    );
    let elf = fs::read(path("small.elf")).expect("the program can be read");
    (path("small.elf"), elf)
}
