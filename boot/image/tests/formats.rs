//! The file formats against the programs that read them.

mod support;

use std::fs;
use std::path::Path;

use support::small_elf;
use zeronull_image::elf::Elf;
use zeronull_image::image::MemorySizes;
use zeronull_image::testing::{empty_directory, output, program};
use zeronull_image::{cpio, flat, symbols, uimage};

fn parse(elf: &[u8]) -> Elf<'_> {
    Elf::parse(elf).expect("a good ELF file")
}

#[test]
fn raw_image_equals_objcopy() {
    let directory = empty_directory("raw_image");
    let (path, elf) = small_elf(&directory);
    let reference = directory.join("reference.bin");
    output(
        program("powerpc-linux-gnu-objcopy")
            .args(["-O", "binary"])
            .arg(&path)
            .arg(&reference),
    );
    let (load, raw) = flat::raw(&parse(&elf)).expect("a good ELF file");
    assert_eq!(load, 0);
    assert_eq!(raw, fs::read(reference).expect("objcopy wrote it"));
    assert_eq!(raw.len(), 0x1007);
}

#[test]
fn s_records_read_back_as_the_raw_image() {
    let directory = empty_directory("s_records");
    let (_, elf) = small_elf(&directory);
    let elf = parse(&elf);
    let text = flat::s_records(&elf, "zeronull").expect("a good ELF file");
    let (path, back) = (directory.join("image.srec"), directory.join("back.bin"));
    fs::write(&path, &text).expect("the records can be written");
    output(
        program("powerpc-linux-gnu-objcopy")
            .args(["-I", "srec", "-O", "binary"])
            .arg(&path)
            .arg(&back),
    );
    assert_eq!(
        fs::read(&back).expect("objcopy wrote it"),
        flat::raw(&elf).expect("a good ELF file").1
    );
    let headers = output(
        program("powerpc-linux-gnu-objdump")
            .args(["-f", "-b", "srec"])
            .arg(&path),
    );
    assert!(headers.contains("start address 0x00000000"), "{headers}");
    assert!(text.starts_with("S00B00007A65726F6E756C6C"), "{text}");
    assert!(text.lines().all(|line| line.len() <= 80));
    let last = text.lines().last();
    assert_eq!(last, Some("S70500000000FA"));
}

#[test]
fn memory_sizes_follow_the_section_flags() {
    let (_, elf) = small_elf(&empty_directory("memory_sizes"));
    assert_eq!(
        MemorySizes::of(&parse(&elf)),
        MemorySizes {
            text: 20,
            rodata: 4,
            data: 7,
            bss: 64
        }
    );
}

#[test]
fn virtual_entry_is_translated_to_its_physical_address() {
    let (_, elf) = small_elf(&empty_directory("entry"));
    assert_eq!(parse(&elf).entry, 0xC000_0000);
    assert_eq!(parse(&elf).physical_entry(), Ok(0));
    let mut physical = elf.clone();
    physical[24..28].copy_from_slice(&0x1004_u32.to_be_bytes());
    assert_eq!(parse(&physical).physical_entry(), Ok(0x1004));
    let mut nowhere = elf;
    nowhere[24..28].copy_from_slice(&0x9000_0000_u32.to_be_bytes());
    let error = parse(&nowhere).physical_entry().expect_err("no segment there");
    assert_eq!(error.message, "entry point 0x90000000 lies in no segment");
}

#[test]
fn text_symbols_are_the_functions_of_nm_with_readable_names_and_no_labels_inside_them() {
    let (path, elf) = small_elf(&empty_directory("text_symbols"));
    let listing = symbols::listing(&symbols::text_symbols(&parse(&elf)).expect("a good symbol table"));
    assert_eq!(listing, "c0000000 12 _start\nc000000c 8 zeronull::fs::vfs_read\n");
    let nm = output(program("powerpc-linux-gnu-nm").args(["-n", "-S"]).arg(path));
    // Only functions have a size, and with it a column more.
    let addresses: Vec<&str> = nm
        .lines()
        .filter(|line| line.split(' ').count() == 4 && line.to_lowercase().contains(" t "))
        .map(|line| &line[..8])
        .collect();
    assert_eq!(addresses, listing.lines().map(|line| &line[..8]).collect::<Vec<_>>());
}

/// A header field, read independently of the code that wrote it.
fn field(image: &[u8], offset: usize) -> u32 {
    u32::from_be_bytes(image[offset..offset + 4].try_into().expect("four bytes"))
}

/// The CRC by its definition, bit by bit over the message as a polynomial division.
fn reference_crc(data: &[u8]) -> u32 {
    let mut register = u32::MAX;
    for bit in data.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1)) {
        let is_odd = register & 1 != u32::from(bit);
        register >>= 1;
        if is_odd {
            register ^= 0xEDB8_8320;
        }
    }
    !register
}

/// A legacy image that fails a check is tried as one of the other formats that mkimage knows, some of which accept any
/// bytes with status 0: only the report tells.
fn mkimage_accepts(image: &[u8], path: &Path) -> bool {
    fs::write(path, image).expect("the image can be written");
    let listed = program("mkimage").arg("-l").arg(path).output().expect("mkimage runs");
    listed.status.success() && String::from_utf8_lossy(&listed.stdout).contains("PowerPC Linux Kernel Image")
}

// U-209, U-212
#[test]
fn uimage_is_accepted_by_mkimage_and_dumpimage_with_the_fields_of_the_elf() {
    let directory = empty_directory("uimage");
    let (_, elf) = small_elf(&directory);
    let elf = parse(&elf);
    let (_, payload) = flat::raw(&elf).expect("a good ELF file");
    let entry = elf.physical_entry().expect("an entry");
    let image = uimage::pack(&payload, "zeronull test", 0, entry, 1_600_000_000);

    assert_eq!(field(&image, 0), 0x2705_1956);
    assert_eq!(field(&image, 12) as usize + 64, image.len());
    assert_eq!(field(&image, 24), reference_crc(&image[64..]));
    let mut header = image[..64].to_vec();
    header[4..8].fill(0);
    assert_eq!(field(&image, 4), reference_crc(&header));

    let path = directory.join("image");
    fs::write(&path, &image).expect("the image can be written");
    let report = output(program("mkimage").arg("-l").arg(&path));
    for expected in [
        "Image Name:   zeronull test",
        "Image Type:   PowerPC Linux Kernel Image (uncompressed)",
        "Data Size:    4103 Bytes",
        "Load Address: 00000000",
        "Entry Point:  00000000",
    ] {
        assert!(report.contains(expected), "no `{expected}` in:\n{report}");
    }
    let extracted = directory.join("extracted");
    output(
        program("dumpimage")
            .args(["-T", "kernel", "-p", "0", "-o"])
            .arg(&extracted)
            .arg(&path),
    );
    assert_eq!(fs::read(extracted).expect("dumpimage wrote it"), payload);
}

// U-209
#[test]
fn uimage_with_any_byte_changed_or_missing_is_refused() {
    let directory = empty_directory("uimage_damaged");
    let payload: Vec<u8> = (0..300_u32).map(|index| (index * 7) as u8).collect();
    let image = uimage::pack(&payload, "zeronull", 0, 0, 0);
    let path = directory.join("image");
    assert!(mkimage_accepts(&image, &path));
    for position in 0..image.len() {
        let mut damaged = image.clone();
        damaged[position] ^= 0x10;
        assert!(
            !mkimage_accepts(&damaged, &path),
            "byte {position} changed and still accepted"
        );
    }
    for length in [0, 1, 63, 64, image.len() - 1] {
        assert!(
            !mkimage_accepts(&image[..length], &path),
            "cut to {length} bytes and still accepted"
        );
    }
}

#[test]
fn over_long_uimage_name_is_cut_to_its_field() {
    let image = uimage::pack(b"payload", &"n".repeat(40), 0, 0, 0);
    assert_eq!(image.len(), 64 + 7);
    assert_eq!(image[32..64], [b'n'; 32]);
    assert!(mkimage_accepts(&image, &empty_directory("uimage_name").join("image")));
}

#[test]
fn archive_is_unpacked_by_cpio_with_paths_modes_and_contents() {
    let directory = empty_directory("archive");
    let mut archive = cpio::Archive::default();
    archive.directory("bin");
    archive.program("bin/odd", b"12345");
    archive.program("bin/empty", b"");
    let bytes = archive.finish();
    assert_eq!(bytes.len() % 4, 0);
    fs::write(directory.join("a.cpio"), &bytes).expect("the archive can be written");

    for (name, arguments) in [("cpio", &["-i", "-d"][..]), ("busybox", &["cpio", "-i", "-d"])] {
        let unpacked = empty_directory(&format!("archive/{name}"));
        let file = fs::File::open(directory.join("a.cpio")).expect("the archive opens");
        output(program(name).args(arguments).current_dir(&unpacked).stdin(file));
        assert_eq!(fs::read(unpacked.join("bin/odd")).expect("unpacked"), b"12345");
        assert_eq!(fs::read(unpacked.join("bin/empty")).expect("unpacked"), b"");
        let listing = output(program("ls").arg("-l").arg(unpacked.join("bin")));
        assert_eq!(listing.matches("-rwxr-xr-x").count(), 2, "{listing}");
    }
}

#[test]
fn archives_that_follow_each_other_start_on_four_bytes() {
    let directory = empty_directory("concatenate");
    let first = directory.join("first.cpio");
    let second = directory.join("second.cpio");
    let archive = |name: &str| {
        let mut archive = cpio::Archive::default();
        archive.program(name, name.as_bytes());
        archive.finish()
    };
    // An archive of someone else may end anywhere.
    let mut odd = archive("one");
    odd.truncate(odd.len() - 3);
    fs::write(&first, &odd).expect("the archive can be written");
    fs::write(&second, archive("two")).expect("the archive can be written");
    let all = cpio::concatenate(&[&first, &second]).expect("two good archives");
    let boundary = odd.len().next_multiple_of(4);
    assert_eq!(all[..odd.len()], odd);
    assert!(all[odd.len()..boundary].iter().all(|&byte| byte == 0));
    assert_eq!(all[boundary..], archive("two"));
}

#[test]
fn elf_file_cut_anywhere_is_refused_or_read_without_panic() {
    let (_, elf) = small_elf(&empty_directory("elf_cut"));
    for length in 0..elf.len() {
        read_everything(&elf[..length]);
    }
    assert!(Elf::parse(&elf[..51]).is_err());
    assert!(
        Elf::parse(&elf[..elf.len() - 1]).is_err(),
        "the section headers are at the end"
    );
}

#[test]
fn elf_file_with_any_header_byte_changed_is_refused_or_read_without_panic() {
    let (_, elf) = small_elf(&empty_directory("elf_changed"));
    let section_headers = field(&elf, 32) as usize;
    let headers = (0..52 + 2 * 32).chain(section_headers..elf.len());
    for position in headers {
        for value in [0, 0x7f, 0xff, elf[position] ^ 1] {
            let mut changed = elf.clone();
            changed[position] = value;
            read_everything(&changed);
        }
    }
}

/// Reads all that there is to read; what comes out does not matter here.
fn read_everything(elf: &[u8]) {
    let Ok(elf) = Elf::parse(elf) else { return };
    let _ = flat::raw(&elf);
    let _ = flat::s_records(&elf, "x");
    let _ = symbols::text_symbols(&elf);
    let _ = MemorySizes::of(&elf);
}

#[test]
fn elf_file_of_another_kind_is_named() {
    let (_, elf) = small_elf(&empty_directory("elf_kind"));
    for (position, value, message) in [
        (0, b'x', "not an ELF file: no ELF header"),
        (4, 2, "not a 32-bit big-endian ELF file"),
        (5, 1, "not a 32-bit big-endian ELF file"),
        (19, 62, "ELF machine is 62, not 20 (PowerPC)"),
    ] {
        let mut changed = elf.clone();
        changed[position] = value;
        let error = Elf::parse(&changed).err().expect("another kind of file");
        assert_eq!(error.message, message);
    }
}

#[test]
fn segments_out_of_range_or_overlapping_are_refused() {
    let (_, elf) = small_elf(&empty_directory("segments"));
    let second_physical_address = 52 + 32 + 12;
    for (address, part) in [
        (0x0000_0004, "segments overlap at physical address 0x00000004"),
        (
            0x007f_fffa,
            "segment at physical address 0x007ffffa, 7 bytes, reaches beyond 0x800000",
        ),
        (
            0xffff_ffff,
            "segment at physical address 0xffffffff, 7 bytes, reaches beyond 0x800000",
        ),
    ] {
        let mut changed = elf.clone();
        changed[second_physical_address..][..4].copy_from_slice(&u32::to_be_bytes(address));
        assert_eq!(flat::raw(&parse(&changed)).expect_err("a bad segment").message, part);
    }
}
