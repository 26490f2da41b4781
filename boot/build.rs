//! Hands the linker what differs from binary to binary: the memory map, the symbol table and the layout seed.

use std::env;
use std::path::PathBuf;

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
    let script = root.join("boot/user.ld");
    println!("cargo::rerun-if-changed={}", script.display());
    for file in std::fs::read_dir(root.join("src/bin")).into_iter().flatten().flatten() {
        let file = file.path();
        if let (Some(name), Some("rs")) = (file.file_stem(), file.extension().and_then(|e| e.to_str())) {
            println!("cargo::rustc-link-arg-bin={}=-T{}", name.display(), script.display());
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
    if let Ok(seed) = env::var("ZERONULL_SHUFFLE") {
        println!("cargo::rustc-link-arg-bin=zeronull=--shuffle-sections=.text.*={seed}");
    }
}
