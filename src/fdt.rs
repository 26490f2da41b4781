//! Reading a flat device tree (Devicetree Specification 0.4, chapter 5): header checks, then a walk over its nodes.
#![forbid(unsafe_code)]

use core::fmt;

/// What is wrong with a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FdtError {
    /// The first word.
    Magic(u32),
    /// Total size in the header, and the bytes that are there.
    Size(u32, u32),
    /// A version that no longer reads as 16: its number.
    Version(u32),
    /// A block (structure or strings) that reaches beyond the tree: offset and size.
    Block(u32, u32),
    /// A token that does not exist, or an end before its time, at this offset.
    Structure(u32),
}

impl fmt::Display for FdtError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FdtError::Magic(word) => write!(f, "magic {word:#010x}, not 0xd00dfeed"),
            FdtError::Size(total, there) => write!(f, "size {total} in the header, {there} bytes there"),
            FdtError::Version(version) => write!(f, "last compatible version {version}: accepted is up to 17"),
            FdtError::Block(offset, size) => write!(f, "block of {size} bytes at {offset} reaches beyond its end"),
            FdtError::Structure(offset) => write!(f, "broken structure at offset {offset}"),
        }
    }
}

/// First word of a tree.
pub const MAGIC: u32 = 0xd00d_feed;

/// Bytes of the header.
pub const HEADER: usize = 40;

const BEGIN_NODE: u32 = 1;
const END_NODE: u32 = 2;
const PROPERTY: u32 = 3;
const NOP: u32 = 4;
const END: u32 = 9;

/// Deepest nesting that is read.
const DEPTH: usize = 8;

/// A checked tree.
#[derive(Clone, Copy)]
pub struct Tree<'a> {
    structure: &'a [u8],
    strings: &'a [u8],
}

/// A property with the names of the nodes around it.
pub struct Property<'a> {
    path: [&'a str; DEPTH],
    depth: usize,
    /// Its name.
    pub name: &'a str,
    /// Its value.
    pub value: &'a [u8],
}

impl<'a> Property<'a> {
    /// Whether it stands in the node with these names below the root; a name without `@` matches any unit address.
    pub fn is_in(&self, path: &[&str]) -> bool {
        self.depth == path.len() + 1
            && self.path[1..self.depth].iter().zip(path).all(|(name, wanted)| {
                name == wanted || (!wanted.contains('@') && name.split('@').next() == Some(wanted))
            })
    }

    /// Whether it stands in a direct child of the root's child `name`.
    pub fn in_node_below(&self, name: &str) -> bool {
        self.depth == 3 && self.path[1] == name
    }

    /// The value as one cell or two.
    pub fn number(&self) -> Option<u64> {
        match self.value.len() {
            4 => Some(u32::from_be_bytes(self.value.try_into().ok()?).into()),
            8 => Some(u64::from_be_bytes(self.value.try_into().ok()?)),
            _ => None,
        }
    }

    /// The cell at `index`.
    pub fn cell(&self, index: usize) -> Option<u32> {
        Some(u32::from_be_bytes(*self.value.get(index * 4..)?.first_chunk()?))
    }

    /// The value as text, without its NUL.
    pub fn text(&self) -> Option<&'a str> {
        core::str::from_utf8(self.value.split(|b| *b == 0).next()?).ok()
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Total size that the header of a tree claims, if `bytes` starts with one.
pub fn claimed_size(bytes: &[u8]) -> Option<u32> {
    (word(bytes, 0)? == MAGIC).then(|| word(bytes, 4))?
}

impl<'a> Tree<'a> {
    /// Checks the header and the whole structure.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn new(bytes: &'a [u8]) -> Result<Self, FdtError> {
        let there = bytes.len() as u32;
        let field = |index: usize| word(bytes, index * 4).unwrap_or(0);
        if field(0) != MAGIC {
            return Err(FdtError::Magic(field(0)));
        }
        let total = field(1);
        if total > there || (total as usize) < HEADER {
            return Err(FdtError::Size(total, there));
        }
        if field(6) > 17 {
            return Err(FdtError::Version(field(6)));
        }
        let block = |offset: u32, size: u32| {
            let end = offset.checked_add(size).filter(|end| *end <= total);
            end.map(|end| &bytes[offset as usize..end as usize])
                .ok_or(FdtError::Block(offset, size))
        };
        // Version 16 has no size of the structure; it then ends where the tree ends.
        let structure_size = if field(5) >= 17 {
            field(9)
        } else {
            total.saturating_sub(field(2))
        };
        let tree = Self {
            structure: block(field(2), structure_size)?,
            strings: block(field(3), field(8))?,
        };
        let mut walk = tree.properties();
        for _ in &mut walk {}
        walk.error.map_or(Ok(tree), Err)
    }

    /// All properties, in order.
    pub fn properties(&self) -> Properties<'a> {
        Properties {
            tree: *self,
            at: 0,
            path: [""; DEPTH],
            depth: 0,
            error: None,
            done: false,
        }
    }

    /// The first property `name` of the node at `path`.
    pub fn find(&self, path: &[&str], name: &str) -> Option<Property<'a>> {
        self.properties()
            .find(|property| property.name == name && property.is_in(path))
    }
}

/// A walk over all properties.
pub struct Properties<'a> {
    tree: Tree<'a>,
    at: usize,
    path: [&'a str; DEPTH],
    depth: usize,
    error: Option<FdtError>,
    done: bool,
}

impl<'a> Properties<'a> {
    fn step(&mut self) -> Result<Option<Property<'a>>, FdtError> {
        let structure = self.tree.structure;
        loop {
            let broken = FdtError::Structure(self.at as u32);
            let token = word(structure, self.at).ok_or(broken)?;
            self.at += 4;
            match token {
                BEGIN_NODE => {
                    let rest = structure.get(self.at..).ok_or(broken)?;
                    let length = rest.iter().position(|b| *b == 0).ok_or(broken)?;
                    let name = core::str::from_utf8(&rest[..length]).map_err(|_| broken)?;
                    *self.path.get_mut(self.depth).ok_or(broken)? = name;
                    self.depth += 1;
                    self.at = (self.at + length + 4) & !3;
                }
                END_NODE => self.depth = self.depth.checked_sub(1).ok_or(broken)?,
                PROPERTY => {
                    let length = word(structure, self.at).ok_or(broken)? as usize;
                    let name = word(structure, self.at + 4).ok_or(broken)? as usize;
                    let start = self.at + 8;
                    let value = start
                        .checked_add(length)
                        .and_then(|end| structure.get(start..end))
                        .ok_or(broken)?;
                    let name = self.tree.strings.get(name..).ok_or(broken)?;
                    let name = name.split(|b| *b == 0).next().ok_or(broken)?;
                    let name = core::str::from_utf8(name).map_err(|_| broken)?;
                    self.at = (start + length + 3) & !3;
                    if self.depth == 0 {
                        return Err(broken);
                    }
                    return Ok(Some(Property {
                        path: self.path,
                        depth: self.depth,
                        name,
                        value,
                    }));
                }
                NOP => {}
                END if self.depth == 0 => return Ok(None),
                _ => return Err(broken),
            }
        }
    }
}

impl<'a> Iterator for Properties<'a> {
    type Item = Property<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        match self.step() {
            Ok(Some(property)) => Some(property),
            Ok(None) => {
                self.done = true;
                None
            }
            Err(error) => {
                self.done = true;
                self.error = Some(error);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    struct Builder {
        structure: Vec<u8>,
        strings: Vec<u8>,
    }

    impl Builder {
        fn word(&mut self, value: u32) {
            self.structure.extend(value.to_be_bytes());
        }
        fn pad(&mut self) {
            while !self.structure.len().is_multiple_of(4) {
                self.structure.push(0);
            }
        }
        fn node(&mut self, name: &str) {
            self.word(BEGIN_NODE);
            self.structure.extend(name.as_bytes());
            self.structure.push(0);
            self.pad();
        }
        fn property(&mut self, name: &str, value: &[u8]) {
            self.word(PROPERTY);
            self.word(value.len() as u32);
            self.word(self.strings.len() as u32);
            self.strings.extend(name.as_bytes());
            self.strings.push(0);
            self.structure.extend(value);
            self.pad();
        }
    }

    fn tree() -> Vec<u8> {
        let mut b = Builder {
            structure: Vec::new(),
            strings: Vec::new(),
        };
        b.node("");
        b.property("compatible", b"fsl,mcr3000\0");
        b.node("memory@0");
        b.property("reg", &[0, 0, 0, 0, 2, 0, 0, 0]);
        b.word(END_NODE);
        b.node("chosen");
        b.property("bootargs", b"run=\"help\"\0");
        b.property("linux,initrd-start", &0x01f0_0000u32.to_be_bytes());
        b.word(END_NODE);
        b.node("cpus");
        b.node("PowerPC,866@0");
        b.property("clock-frequency", &132_000_000u32.to_be_bytes());
        b.word(END_NODE);
        b.word(END_NODE);
        b.word(END_NODE);
        b.word(END);
        let structure_at = HEADER as u32;
        let strings_at = structure_at + b.structure.len() as u32;
        let total = strings_at + b.strings.len() as u32;
        let header = [
            MAGIC,
            total,
            structure_at,
            strings_at,
            0,
            17,
            16,
            0,
            b.strings.len() as u32,
            b.structure.len() as u32,
        ];
        let mut out: Vec<u8> = header.iter().flat_map(|w| w.to_be_bytes()).collect();
        out.extend(b.structure);
        out.extend(b.strings);
        out
    }

    #[test]
    fn properties_are_found_by_path() {
        let bytes = tree();
        let tree = Tree::new(&bytes).unwrap();
        assert_eq!(tree.find(&[], "compatible").unwrap().text(), Some("fsl,mcr3000"));
        assert_eq!(tree.find(&["memory"], "reg").unwrap().cell(1), Some(0x0200_0000));
        assert_eq!(tree.find(&["chosen"], "bootargs").unwrap().text(), Some("run=\"help\""));
        let clock = tree
            .properties()
            .find(|p| p.name == "clock-frequency" && p.is_in(&["cpus", "PowerPC,866"]));
        assert_eq!(clock.unwrap().number(), Some(132_000_000));
        assert!(tree.find(&["cpus"], "clock-frequency").is_none());
    }

    #[test]
    fn every_damaged_word_is_an_error_or_reads_without_panic() {
        let bytes = tree();
        for length in 0..bytes.len() {
            assert!(Tree::new(&bytes[..length]).is_err(), "{length}");
        }
        for at in (0..bytes.len() - 3).step_by(4) {
            for value in [0u32, 1, 9, 0x7fff_ffff, u32::MAX] {
                let mut bad = bytes.clone();
                bad[at..at + 4].copy_from_slice(&value.to_be_bytes());
                if let Ok(tree) = Tree::new(&bad) {
                    tree.properties().for_each(drop);
                }
            }
        }
        assert_eq!(Tree::new(&[0; 64]).err(), Some(FdtError::Magic(0)));
        assert_eq!(Tree::new(&bytes[..3]).err(), Some(FdtError::Magic(0)));
        assert_eq!(
            Tree::new(&bytes[..39]).err(),
            Some(FdtError::Size(bytes.len() as u32, 39))
        );
    }
}
