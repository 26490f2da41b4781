//! Hands the linker what differs from binary to binary: the memory map, the symbol table and the layout seed.

use std::env;
use std::path::PathBuf;

/// Programs in `src/bin` that run in user mode.
const USER_PROGRAMS: [&str; 6] = ["calls", "dd", "iops", "moves", "nullcall", "probe"];

/// Segments start on pages of their own, for 4 KiB and 16 KiB pages alike. The symbols stay (profiles name user
/// functions by them), only the debug sections go, which would fill the archive. Orphan sections are errors, so that no
/// new kind of section gets rights that nobody chose.
const USER_LINK_ARGUMENTS: [&str; 5] = [
    "--strip-debug",
    "-zmax-page-size=0x4000",
    "-zseparate-loadable-segments",
    "--no-eh-frame-hdr",
    "--orphan-handling=error",
];

/// Where a boot loader with vectors in low memory puts the image: above them and all that the firmware keeps for itself
/// at the start, below U-Boot's usual staging addresses from 2 MiB on, and far below the loader at the top of RAM.
const UNDER_U_BOOT: u32 = 0x10_0000;

fn main() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo::rerun-if-changed=boot/build.rs");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("none") {
        return;
    }

    let script = root.join("link.ld");
    println!("cargo::rerun-if-changed={}", script.display());
    println!("cargo::rustc-link-arg-bin=zeronull=-T{}", script.display());
    println!("cargo::rustc-link-arg-bin=zeronull=--no-eh-frame-hdr");
    // One copy of what policies compile to when they differ only in what a function does not ask for.
    println!("cargo::rustc-link-arg-bin=zeronull=--icf=all");
    let load_offset = if env::var_os("CARGO_FEATURE_BOARD_MCR3000").is_some() {
        UNDER_U_BOOT
    } else {
        0
    };
    println!("cargo::rustc-link-arg-bin=zeronull=--defsym=LOAD_OFFSET={load_offset:#x}");
    let user_script = root.join("boot/user.ld");
    println!("cargo::rerun-if-changed={}", user_script.display());
    for program in USER_PROGRAMS {
        println!("cargo::rustc-link-arg-bin={program}=-T{}", user_script.display());
        for argument in USER_LINK_ARGUMENTS {
            println!("cargo::rustc-link-arg-bin={program}={argument}");
        }
    }

    // The second link pass of an image hands over the symbol table that the first pass yielded.
    println!("cargo::rerun-if-env-changed=ZERONULL_SYMBOLS");
    let symbols = match env::var_os("ZERONULL_SYMBOLS") {
        Some(path) => PathBuf::from(path),
        None => {
            let empty = out.join("no-symbols");
            std::fs::write(&empty, b"").expect("OUT_DIR can be written");
            empty
        }
    };
    println!("cargo::rerun-if-changed={}", symbols.display());
    println!("cargo::rustc-env=ZERONULL_SYMBOL_BLOB={}", symbols.display());

    println!("cargo::rerun-if-env-changed=ZERONULL_SHUFFLE");
    let order = root.join("boot/measured_text.ld");
    println!("cargo::rerun-if-changed={}", order.display());
    let order_path = match env::var("ZERONULL_SHUFFLE") {
        Ok(seed) => {
            println!("cargo::rustc-link-arg-bin=zeronull=--shuffle-sections=.text.*={seed}");
            std::fs::write(out.join("measured_text.ld"), b"").expect("OUT_DIR can be written");
            out
        }
        Err(_) => root.join("boot"),
    };
    println!("cargo::rustc-link-arg-bin=zeronull=-L{}", order_path.display());
}
