//! The images as files: what the formats promise and what must not be in the code.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use zeronull_image::elf::Elf;
use zeronull_image::image::{self, Image, ImageOptions};
use zeronull_image::symbols::text_symbols;
use zeronull_image::testing::{empty_directory, machines, output, program};

/// Where U-Boot's scripts put an image before it is unpacked to its load address.
const STAGING_ADDRESS: u32 = 0x40_0000;

/// The one instruction that may be there: the program `probe` executes it to see that there is no floating-point unit.
const DELIBERATE: (&str, &str) = ("probe", "fadd    f1,f1,f1");

fn images() -> Vec<Image> {
    machines()
        .iter()
        .map(|machine| build(&ImageOptions::new(machine.board())))
        .collect()
}

fn build(options: &ImageOptions) -> Image {
    image::build(options).unwrap_or_else(|error| panic!("{error}"))
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|cause| panic!("cannot read {}: {cause}", path.display()))
}

// U-209, U-212
#[test]
fn uimage_has_the_payload_and_the_addresses_of_the_elf() {
    for image in images() {
        let elf = read(&image.elf());
        let elf = Elf::parse(&elf).expect("a good ELF file");
        let entry = elf.physical_entry().expect("an entry in the firmware");
        let load = elf.segments.iter().map(|segment| segment.physical_address).min();
        let load = load.expect("a loaded segment");
        let (raw, container) = (read(&image.bin()), read(&image.uimage()));
        assert_eq!(container[64..], raw);
        let report = output(program("mkimage").arg("-l").arg(image.uimage()));
        for expected in [
            "Image Type:   PowerPC Linux Kernel Image (uncompressed)".to_owned(),
            format!("Data Size:    {} Bytes", raw.len()),
            format!("Load Address: {load:08x}"),
            format!("Entry Point:  {entry:08x}"),
        ] {
            assert!(
                report.contains(&expected),
                "{}: no `{expected}` in:\n{report}",
                image.board
            );
        }
    }
}

#[test]
fn raw_image_and_s_records_hold_the_same_bytes() {
    for image in images() {
        let back = empty_directory(&format!("records_{}", image.board)).join("back.bin");
        output(
            program("powerpc-linux-gnu-objcopy")
                .args(["-I", "srec", "-O", "binary"])
                .arg(image.srec())
                .arg(&back),
        );
        assert!(read(&image.bin()) == read(&back), "{}", image.board);
    }
}

// U-214
#[test]
fn memory_of_the_image_ends_below_its_staging_address() {
    for image in images() {
        let elf = read(&image.elf());
        let elf = Elf::parse(&elf).expect("a good ELF file");
        let end = elf
            .segments
            .iter()
            .map(|segment| segment.physical_address + segment.memory_bytes)
            .max();
        let end = end.expect("a loaded segment");
        assert!(
            end <= STAGING_ADDRESS,
            "{}: {end:#x} is beyond {STAGING_ADDRESS:#x}",
            image.board
        );
    }
}

#[test]
fn code_has_no_floating_point_and_no_vector_instruction() {
    for image in images() {
        let directory = empty_directory(&format!("programs_{}", image.board));
        let archive = fs::File::open(image.initrd()).expect("the image has an initrd");
        output(
            program("cpio")
                .args(["-i", "-d"])
                .current_dir(&directory)
                .stdin(archive),
        );
        let programs = fs::read_dir(directory.join("bin")).expect("the initrd has bin");
        let mut files: Vec<_> = programs.map(|entry| entry.expect("a directory entry").path()).collect();
        assert!(!files.is_empty(), "no user programs in the initrd");
        files.push(image.elf());
        for file in files {
            let listing = output(
                program("powerpc-linux-gnu-objdump")
                    .args(["-d", "--no-show-raw-insn"])
                    .arg(&file),
            );
            let mut count = 0;
            for line in listing.lines() {
                let Some((_, instruction)) = line.split_once(":\t") else {
                    continue;
                };
                count += 1;
                if file.ends_with(DELIBERATE.0) && instruction.trim_end() == DELIBERATE.1 {
                    continue;
                }
                let mnemonic = instruction.split_whitespace().next().unwrap_or_default();
                assert!(!uses_other_registers(mnemonic), "{}: {line}", file.display());
            }
            assert!(count > 100, "{}: only {count} instructions found", file.display());
        }
    }
}

/// The words of a section in entries of `N`.
fn entries<const N: usize>(elf: &Elf, name: &str) -> Vec<[u32; N]> {
    let section = elf.section(name).unwrap_or_else(|| panic!("no section {name}"));
    let bytes = elf.section_bytes(section).expect("the section's bytes");
    let words: Vec<u32> = bytes
        .chunks_exact(4)
        .map(|word| u32::from_be_bytes(word.try_into().expect("four bytes")))
        .collect();
    assert!(
        !words.is_empty() && words.len().is_multiple_of(N),
        "{name}: {} words",
        words.len()
    );
    words
        .chunks_exact(N)
        .map(|entry| entry.try_into().expect("N words"))
        .collect()
}

/// The instruction at a virtual address.
fn instruction(elf: &Elf, address: u32) -> u32 {
    let word = elf.segments.iter().find_map(|segment| {
        let offset = address.checked_sub(segment.virtual_address)? as usize;
        let bytes = elf.segment_bytes(segment).ok()?.get(offset..offset + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    });
    word.unwrap_or_else(|| panic!("nothing at {address:#010x}"))
}

/// Whether an instruction is a load or store of the kinds that user-access assembly uses, or `dcbz` (Programming
/// Environments Manual, appendix A).
fn accesses_memory(word: u32) -> bool {
    matches!(word >> 26, 32..=41 | 44 | 45) || word >> 26 == 31 && word & 0x7ff == 0x7ec
}

#[test]
fn exception_tables_are_sorted_and_name_accesses_of_the_user_access_assembly() {
    for image in images() {
        let file = read(&image.elf());
        let elf = Elf::parse(&file).expect("a good ELF file");
        let symbols = elf.symbols().expect("a good symbol table");
        let symbol = |name: &str| symbols.iter().find(|symbol| symbol.name == name).expect(name).address;
        let routines = symbol("__uaccess_start")..symbol("__uaccess_end");
        assert!(routines.len() > 1000, "{routines:x?}");
        for name in [".ex_table", ".ex_table_nofault", ".ex_table_mc"] {
            let table = entries::<2>(&elf, name);
            // Strictly: no instruction has two entries.
            assert!(
                table.is_sorted_by(|a, b| a[0] < b[0]),
                "{}: {name} is not sorted",
                image.board
            );
            for [address, fixup] in table {
                let place = format!("{}: {name} {address:#010x}, fixup {fixup:#010x}", image.board);
                for at in [address, fixup] {
                    assert!(routines.contains(&at) && at % 4 == 0, "{place}");
                }
                assert_ne!(address, fixup, "{place}");
                let word = instruction(&elf, address);
                // On the 603 the trap that completes a load, and isync.
                let completes = word & 0xffe0_ffff == 0x0c00_0000 || word == 0x4c00_012c;
                let is_right = match name {
                    ".ex_table_mc" => matches!(word >> 26, 32..=35) || completes,
                    _ => accesses_memory(word),
                };
                assert!(is_right, "{place}: {word:#010x}");
            }
        }
    }
}

#[test]
fn static_branches_are_linked_as_nops_with_targets_in_reach() {
    for image in images() {
        let file = read(&image.elf());
        let elf = Elf::parse(&file).expect("a good ELF file");
        for [code, target, _] in entries::<3>(&elf, ".jump_table") {
            assert_eq!(instruction(&elf, code), 0x6000_0000, "{}: at {code:#010x}", image.board);
            assert!(code.abs_diff(target) < 1 << 25, "{code:#010x} to {target:#010x}");
        }
    }
}

/// True for instructions on floating-point or vector registers: no other mnemonic of the architecture starts so.
fn uses_other_registers(mnemonic: &str) -> bool {
    [
        "f", "lf", "stf", "mff", "mtfs", "mcrfs", "v", "lv", "stv", "mfvscr", "mtvscr", "dst", "dss", "psq",
    ]
    .iter()
    .any(|start| mnemonic.starts_with(start))
}

#[test]
fn shuffled_image_has_the_same_functions_elsewhere() {
    for machine in machines() {
        let plain = build(&ImageOptions::new(machine.board()));
        let shuffled = build(&ImageOptions {
            shuffle: Some(1),
            ..ImageOptions::new(machine.board())
        });
        let symbols = |image: &Image| {
            let elf = read(&image.elf());
            text_symbols(&Elf::parse(&elf).expect("a good ELF file")).expect("a good symbol table")
        };
        let (plain, shuffled) = (symbols(&plain), symbols(&shuffled));
        let names = |symbols: &[zeronull_image::symbols::TextSymbol]| -> BTreeSet<String> {
            symbols.iter().map(|symbol| symbol.name.clone()).collect()
        };
        assert_eq!(names(&plain), names(&shuffled));
        let order = |symbols: &[zeronull_image::symbols::TextSymbol]| -> Vec<String> {
            symbols.iter().map(|symbol| symbol.name.clone()).collect()
        };
        assert_ne!(order(&plain), order(&shuffled), "the seed changed nothing");
    }
}
