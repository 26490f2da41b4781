//! Good images are placed and entered as said; bad ones are refused with a message, and none of them panics.

use super::board_info::Layout;
use super::fdt::{Node, Tree};
use super::*;
use crate::board::{self, Options, leave_as_u_boot};
use crate::bus::{Bus, Width};
use crate::soc::Soc;

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) as u32
    }

    /// A few bytes changed, or the end cut off.
    fn spoil(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut spoilt = bytes.to_vec();
        if self.next().is_multiple_of(4) {
            spoilt.truncate(self.next() as usize % (bytes.len() + 1));
        }
        for _ in 0..1 + self.next() % 4 {
            if !spoilt.is_empty() {
                // Most of the structure is in the first bytes.
                let reach = if self.next().is_multiple_of(2) {
                    spoilt.len().min(64)
                } else {
                    spoilt.len()
                };
                let at = self.next() as usize % reach;
                spoilt[at] = [0, 0xFF, 0x7F, self.next() as u8][self.next() as usize % 4];
            }
        }
        spoilt
    }
}

fn soc(name: &str) -> Soc {
    let table = board::by_name(name).unwrap();
    let mut soc = table.power_on(Options::default()).unwrap();
    leave_as_u_boot(&mut soc, table);
    soc
}

fn bytes_at(soc: &mut Soc, address: u32, count: u32) -> Vec<u8> {
    (address..address + count)
        .map(|at| soc.read(at, Width::Byte, 0).unwrap() as u8)
        .collect()
}

/// An executable with one segment of `code` at 0xC000_1000, physical 0x1000, and 16 bytes of zeroed data behind it.
fn elf_file(code: &[u8]) -> Vec<u8> {
    let mut file = vec![0; 84];
    file[..7].copy_from_slice(b"\x7FELF\x01\x02\x01");
    let mut put = |offset: usize, value: &[u8]| file[offset..offset + value.len()].copy_from_slice(value);
    put(16, &[0, 2, 0, 20]);
    put(24, &0xC000_1004u32.to_be_bytes());
    put(28, &52u32.to_be_bytes());
    put(42, &[0, 32, 0, 1]);
    let header = [
        1,
        84,
        0xC000_1000,
        0x1000,
        code.len() as u32,
        code.len() as u32 + 16,
        5,
        4,
    ];
    for (index, word) in header.iter().enumerate() {
        put(52 + 4 * index, &word.to_be_bytes());
    }
    file.extend(code);
    file
}

fn uimage_file(payload: &[u8], load: u32, entry: u32, codes: [u8; 4]) -> Vec<u8> {
    let mut file = vec![0; uimage::HEADER_BYTES];
    let mut put = |offset: usize, value: u32| file[offset..offset + 4].copy_from_slice(&value.to_be_bytes());
    put(0, uimage::MAGIC);
    put(12, payload.len() as u32);
    put(16, load);
    put(20, entry);
    put(24, uimage::crc32(payload));
    put(28, u32::from_be_bytes(codes));
    file[32..36].copy_from_slice(b"test");
    let checksum = uimage::crc32(&file);
    file[4..8].copy_from_slice(&checksum.to_be_bytes());
    file.extend(payload);
    file
}

const LINUX_KERNEL: [u8; 4] = [5, 7, 2, 0];

fn small_tree() -> Tree {
    let mut tree = Tree {
        reserved: vec![(0x100, 0x20)],
        ..Tree::default()
    };
    tree.root.set("#address-cells", 1u32.to_be_bytes().to_vec());
    tree.root.set("#size-cells", 1u32.to_be_bytes().to_vec());
    tree.root
        .child_or_new("memory")
        .set("device_type", b"memory\0".to_vec());
    let mut soc = Node {
        name: "soc@ff000000".to_owned(),
        ..Node::default()
    };
    soc.child_or_new("cpm@9c0").set("interrupts", vec![0, 0, 0, 4]);
    soc.set("empty", Vec::new());
    tree.root.children.push(soc);
    tree
}

fn refusal<T: std::fmt::Debug>(result: Result<T, LoadError>) -> String {
    result.expect_err("it must be refused").to_string()
}

#[test]
fn elf_goes_to_its_physical_addresses_with_zeroed_rest() {
    let mut soc = soc("mcr3000");
    soc.external_mut().place(0x1000, &[0xEE; 64]).unwrap();
    let image = Image::parse(&elf_file(b"abcdefgh"), 0).unwrap();
    assert_eq!((image.entry, image.end()), (0x1004, 0x1018));
    let entry = start(
        &mut soc,
        board::by_name("mcr3000").unwrap(),
        &image,
        HandOver::Go {
            arguments: vec!["1004".to_owned(), "two words".to_owned()],
        },
    )
    .unwrap();
    assert_eq!(
        bytes_at(&mut soc, 0x1000, 0x19),
        *b"abcdefgh\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xEE"
    );
    assert_eq!((entry.pc, entry.msr), (0x1004, 0x1002));
    let register = |number| {
        entry
            .gpr
            .iter()
            .find(|(n, _)| *n == number)
            .map(|(_, value)| *value)
            .unwrap()
    };
    assert_eq!(register(3), 2);
    let second = soc.read(register(4) + 4, Width::Word, 0).unwrap();
    assert_eq!(bytes_at(&mut soc, second, 10), *b"two words\0");
    assert_eq!(
        soc.read(register(4) + 8, Width::Word, 0),
        Ok(0),
        "argv ends with a null pointer"
    );
    assert_eq!(
        soc.read(entry.lr, Width::Word, 0),
        Ok(0x4800_0000),
        "a return ends in a branch to itself"
    );
}

#[test]
fn elf_of_another_machine_or_outside_the_file_is_refused() {
    let good = elf_file(b"abcdefgh");
    let with = |offset: usize, value: &[u8]| {
        let mut file = good.clone();
        file[offset..offset + value.len()].copy_from_slice(value);
        refusal(Image::parse(&file, 0))
    };
    assert!(with(4, &[2]).contains("32-bit big-endian"));
    assert!(with(5, &[1]).contains("32-bit big-endian"));
    assert!(with(18, &[0, 40]).contains("machine 40"));
    assert!(with(16, &[0, 3]).contains("type 3"));
    assert!(with(42, &[0, 8]).contains("8 bytes"));
    assert!(with(44, &[0, 0]).contains("no loadable segment"));
    assert!(with(52 + 4, &0x1000u32.to_be_bytes()).contains("outside the file"));
    assert!(with(52 + 20, &4u32.to_be_bytes()).contains("in memory"));
    assert!(with(52 + 12, &0xFFFF_FFF8u32.to_be_bytes()).contains("do not fit"));
    assert!(with(24, &0u32.to_be_bytes()).contains("entry point"));
}

#[test]
fn uimage_is_checked_field_by_field() {
    let good = uimage_file(b"payload!", 0x40_0000, 0x40_0004, LINUX_KERNEL);
    let image = Image::parse(&good, 0).unwrap();
    assert_eq!((image.kind, image.entry, image.end()), ("uImage", 0x40_0004, 0x40_0008));
    assert_eq!(uimage::check(&good).unwrap().0.name, "test");
    assert!(refusal(uimage::check(&good[..40])).contains("shorter than its header"));
    let mut spoilt = good.clone();
    spoilt[20] ^= 1;
    assert!(refusal(Image::parse(&spoilt, 0)).contains("header checksum"));
    let mut spoilt = good.clone();
    spoilt[70] ^= 1;
    assert!(refusal(Image::parse(&spoilt, 0)).contains("payload checksum"));
    assert!(refusal(Image::parse(&good[..70], 0)).contains("8 bytes of payload, 6 are there"));
    let refused = |load, entry, codes| refusal(Image::parse(&uimage_file(b"payload!", load, entry, codes), 0));
    assert!(refused(0, 0, [5, 2, 2, 0]).contains("architecture 2"));
    assert!(refused(0, 0, [5, 7, 3, 0]).contains("type 3"));
    assert!(refused(0, 0, [5, 7, 2, 1]).contains("gzip"));
    assert!(refused(0, 8, LINUX_KERNEL).contains("entry point 0x8"));
    assert!(refused(0xFFFF_FFFC, 0xFFFF_FFFC, LINUX_KERNEL).contains("does not fit"));
}

#[test]
fn raw_image_is_entered_where_it_is_put() {
    let image = Image::parse(b"\x60\0\0\0", 0x2000).unwrap();
    assert_eq!((image.kind, image.entry, image.end()), ("raw image", 0x2000, 0x2004));
    assert!(refusal(Image::parse(b"", 0)).contains("empty"));
    assert!(refusal(Image::raw(b"12345", 0xFFFF_FFFC)).contains("5 bytes"));
}

#[test]
fn image_that_hits_no_memory_is_refused_with_the_address() {
    let mut soc = soc("mcr3000");
    let table = board::by_name("mcr3000").unwrap();
    let image = Image::raw(&[0; 0x2000], 0x01FF_F000).unwrap();
    let message = refusal(start(&mut soc, table, &image, HandOver::Go { arguments: Vec::new() }));
    assert!(message.contains("no memory answers at 0x2000000"), "{message}");
}

#[test]
fn tree_survives_writing_and_reading() {
    let tree = small_tree();
    assert_eq!(Tree::parse(&tree.to_bytes()).unwrap(), tree);
}

#[test]
fn changed_tree_says_what_was_set() {
    let mut tree = small_tree();
    tree.set_bootargs("console=ttyCPM0");
    tree.set_initrd(Some(0x10_0000..0x18_0000));
    tree.set_memory(64 << 20);
    let tree = Tree::parse(&tree.to_bytes()).unwrap();
    let chosen = tree.root.child("chosen").unwrap();
    assert_eq!(chosen.property("bootargs"), Some(&b"console=ttyCPM0\0"[..]));
    assert_eq!(
        (chosen.cell("linux,initrd-start"), chosen.cell("linux,initrd-end")),
        (Some(0x10_0000), Some(0x18_0000))
    );
    assert_eq!(
        tree.root.child("memory").unwrap().property("reg"),
        Some(&[0, 0, 0, 0, 4, 0, 0, 0][..])
    );
    let mut tree = tree;
    tree.set_initrd(None);
    assert_eq!(tree.root.child("chosen").unwrap().cell("linux,initrd-start"), None);
}

#[test]
fn memory_node_follows_the_cells_of_the_root() {
    let mut tree = small_tree();
    tree.root.set("#address-cells", 2u32.to_be_bytes().to_vec());
    tree.set_memory(8 << 20);
    assert_eq!(
        tree.root.child("memory").unwrap().property("reg"),
        Some(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0][..])
    );
}

#[test]
fn broken_trees_are_refused_with_what_is_wrong() {
    let good = small_tree().to_bytes();
    let with = |word: usize, value: u32| {
        let mut blob = good.clone();
        blob[4 * word..4 * word + 4].copy_from_slice(&value.to_be_bytes());
        refusal(Tree::parse(&blob))
    };
    assert!(refusal(Tree::parse(&good[..16])).contains("are there"));
    assert!(refusal(Tree::parse(&[])).contains("shorter than its header"));
    assert!(with(0, 0).contains("magic 0x00000000"));
    assert!(with(1, 0x0100_0000).contains("16777216 bytes"));
    assert!(with(5, 3).contains("version 3"));
    assert!(with(6, 99).contains("compatible with 99"));
    assert!(with(3, 0x7FFF_FFFF).contains("strings at 0x7fffffff"));
    assert!(with(2, 0xFFFF_FFF0).contains("structure runs out"));
    assert!(with(4, 0xFFFF_FFF0).contains("reservations"));
    let structure = u32::from_be_bytes(good[8..12].try_into().unwrap()) as usize;
    assert!(with(structure / 4, 7).contains("token 7"));
    let mut deep = Tree::default();
    let mut node = Node::default();
    for _ in 0..100 {
        node = Node {
            children: vec![node],
            ..Node::default()
        };
    }
    deep.root = node;
    assert!(refusal(Tree::parse(&deep.to_bytes())).contains("deeper"));
}

#[test]
fn tree_and_disk_go_above_the_image_and_inside_memory() {
    let table = board::by_name("cmpc885").unwrap();
    let mut soc = soc("cmpc885");
    let image = Image::raw(&[0x60; 0x2345], 0).unwrap();
    let disk: Vec<u8> = (0..0x3000u32).map(|index| index as u8).collect();
    let hand_over = HandOver::DeviceTree {
        tree: small_tree(),
        bootargs: Some("init=/init".to_owned()),
        initrd: Some(disk.clone()),
    };
    let entry = start(&mut soc, table, &image, hand_over).unwrap();
    let register = |number| {
        entry
            .gpr
            .iter()
            .find(|(n, _)| *n == number)
            .map_or(0, |(_, value)| *value)
    };
    assert_eq!([4, 5, 6, 7, 8, 9].map(register), [0, 0, 0x6550_4150, 32 << 20, 0, 0]);
    let at = register(3);
    let size = soc.read(at + 4, Width::Word, 0).unwrap();
    let tree = Tree::parse(&bytes_at(&mut soc, at, size)).unwrap();
    let chosen = tree.root.child("chosen").unwrap();
    let (from, to) = (
        chosen.cell("linux,initrd-start").unwrap(),
        chosen.cell("linux,initrd-end").unwrap(),
    );
    assert!(at >= 0x2345 && at + size <= from && to <= 32 << 20);
    assert_eq!(bytes_at(&mut soc, from, to - from), disk);
    assert_eq!(
        tree.root.child("memory").unwrap().property("reg"),
        Some(&[0, 0, 0, 0, 4, 0, 0, 0][..])
    );
}

#[test]
fn too_large_a_disk_is_refused() {
    let table = board::by_name("mcr3000").unwrap();
    let mut soc = soc("mcr3000");
    let image = Image::raw(&[0; 4], 0).unwrap();
    let hand_over = HandOver::DeviceTree {
        tree: small_tree(),
        bootargs: None,
        initrd: Some(vec![0; 32 << 20]),
    };
    let message = refusal(start(&mut soc, table, &image, hand_over));
    assert!(
        message.starts_with("initial RAM disk of 33554432 bytes does not fit"),
        "{message}"
    );
}

#[test]
fn board_info_has_the_offsets_of_its_layout() {
    let table = board::by_name("mcr3000").unwrap();
    for (layout, memory, flash, immr, core, bus) in [
        (Layout::Old, Some(0x04), 0x08, 0x1C, 0x30, 0x34),
        (Layout::New, None, 0x00, 0x0C, 0x1C, 0x20),
    ] {
        let mut soc = soc("mcr3000");
        let image = Image::raw(&[0; 4], 0).unwrap();
        let hand_over = HandOver::BoardInfo {
            layout,
            bootargs: "root=/dev/ram".to_owned(),
            initrd: Some(vec![7; 100]),
        };
        let entry = start(&mut soc, table, &image, hand_over).unwrap();
        let register = |number| {
            entry
                .gpr
                .iter()
                .find(|(n, _)| *n == number)
                .map_or(0, |(_, value)| *value)
        };
        let mut field = |offset: u32| soc.read(register(3) + offset, Width::Word, 0).unwrap();
        assert_eq!(memory.map(&mut field).unwrap_or(32 << 20), 32 << 20);
        assert_eq!(
            [flash, immr, core, bus].map(field),
            [0x0400_0000, 0xFF00_0000, 132_000_000, 66_000_000],
            "{layout:?}"
        );
        assert_eq!(register(5) - register(4), 100);
        assert_eq!(register(7) - register(6), 13);
        assert_eq!(bytes_at(&mut soc, register(6), 14), *b"root=/dev/ram\0");
    }
}

#[test]
fn symbols_are_sorted_and_name_code_only() {
    // Two sections: a symbol table of three entries and its strings.
    let mut file = elf_file(b"abcdefgh");
    let symbols_at = file.len() as u32;
    for (name, address, size, info, section) in [
        (1u32, 0xC000_1004u32, 8u32, 2u8, 1u16),
        (7, 0xC000_1000, 4, 0, 1),
        (1, 0xC000_2000, 4, 1, 1),
    ] {
        file.extend(name.to_be_bytes());
        file.extend(address.to_be_bytes());
        file.extend(size.to_be_bytes());
        file.extend([info, 0]);
        file.extend(section.to_be_bytes());
    }
    let strings_at = file.len() as u32;
    file.extend(b"\0entry\0start\0");
    let table = file.len() as u32;
    for (kind, offset, size, link) in [(0, 0, 0, 0), (2, symbols_at, 48, 2), (3, strings_at, 13, 0)] {
        let header = [0u32, kind, 0, 0, offset, size, link, 0, 0, 0];
        file.extend(header.iter().flat_map(|word| word.to_be_bytes()));
    }
    file[32..36].copy_from_slice(&table.to_be_bytes());
    file[46..50].copy_from_slice(&[0, 40, 0, 3]);
    let symbols = elf::symbols(&file).unwrap();
    let found: Vec<_> = symbols
        .iter()
        .map(|symbol| (symbol.name.as_str(), symbol.address, symbol.size))
        .collect();
    assert_eq!(found, [("start", 0xC000_1000, 4), ("entry", 0xC000_1004, 8)]);
    let mut random = Random(9);
    for _ in 0..20_000 {
        let _ = elf::symbols(&random.spoil(&file));
    }
}

#[test]
fn spoilt_files_never_panic() {
    let mut random = Random(1);
    let elf = elf_file(&[0x60; 64]);
    let uimage = uimage_file(&[0x60; 64], 0x1000, 0x1000, LINUX_KERNEL);
    let tree = small_tree().to_bytes();
    let table = board::by_name("mcr3000").unwrap();
    let mut soc = soc("mcr3000");
    for _ in 0..20_000 {
        for file in [&elf, &uimage] {
            if let Ok(image) = Image::parse(&random.spoil(file), random.next()) {
                let _ = start(
                    &mut soc,
                    table,
                    &image,
                    HandOver::Go {
                        arguments: vec!["x".to_owned()],
                    },
                );
            }
        }
        if let Ok(tree) = Tree::parse(&random.spoil(&tree)) {
            assert_eq!(Tree::parse(&tree.to_bytes()), Ok(tree), "what was read can be written");
        }
        // The header checksum hides the fields behind it from the fuzzer: repair it.
        let mut repaired = random.spoil(&uimage);
        if repaired.len() >= uimage::HEADER_BYTES {
            repaired[4..8].fill(0);
            let checksum = uimage::crc32(&repaired[..uimage::HEADER_BYTES]);
            repaired[4..8].copy_from_slice(&checksum.to_be_bytes());
            let _ = Image::parse(&repaired, 0);
        }
    }
}
