//! Flattened device trees: read, change, write. Source: Devicetree Specification v0.4, chapter 5.

use super::{LoadError, load_error, word_at};

const MAGIC: u32 = 0xD00D_FEED;
const VERSION: u32 = 17;
const OLDEST_READ: u32 = 16;
const HEADER_BYTES: usize = 40;
const BEGIN_NODE: u32 = 1;
const END_NODE: u32 = 2;
const PROPERTY: u32 = 3;
const NOP: u32 = 4;
const END: u32 = 9;
/// Deeper trees than any board's are refused, so that a hostile file cannot exhaust the stack.
const MAX_DEPTH: usize = 64;
/// Longer names than any tree's are refused, so that one string shared by many properties cannot exhaust the memory.
const MAX_NAME_BYTES: usize = 255;

/// A property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Name.
    pub name: String,
    /// Value as stored.
    pub value: Vec<u8>,
}

/// A node with its unit address in the name.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Node {
    /// Name; empty for the root.
    pub name: String,
    /// Properties in file order.
    pub properties: Vec<Property>,
    /// Child nodes in file order.
    pub children: Vec<Node>,
}

/// A device tree.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Tree {
    /// Reserved memory: (address, bytes).
    pub reserved: Vec<(u64, u64)>,
    /// Physical id of the boot CPU.
    pub boot_cpu: u32,
    /// The root node.
    pub root: Node,
}

impl Node {
    /// The value of a property.
    pub fn property(&self, name: &str) -> Option<&[u8]> {
        self.properties
            .iter()
            .find(|property| property.name == name)
            .map(|property| property.value.as_slice())
    }

    /// The first cell of a property.
    pub fn cell(&self, name: &str) -> Option<u32> {
        word_at(self.property(name)?, 0)
    }

    /// Sets a property, replacing or adding it.
    pub fn set(&mut self, name: &str, value: Vec<u8>) {
        match self.properties.iter_mut().find(|property| property.name == name) {
            Some(property) => property.value = value,
            None => self.properties.push(Property {
                name: name.to_owned(),
                value,
            }),
        }
    }

    /// Removes a property if it is there.
    pub fn remove(&mut self, name: &str) {
        self.properties.retain(|property| property.name != name);
    }

    /// The child with this name, unit address included.
    pub fn child(&self, name: &str) -> Option<&Node> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The child with this name, added at the end if it is missing.
    pub fn child_or_new(&mut self, name: &str) -> &mut Node {
        let index = self
            .children
            .iter()
            .position(|child| child.name == name)
            .unwrap_or_else(|| {
                self.children.push(Node {
                    name: name.to_owned(),
                    ..Node::default()
                });
                self.children.len() - 1
            });
        &mut self.children[index]
    }
}

impl Tree {
    /// Reads a flattened tree, versions 16 and 17.
    ///
    /// # Errors
    /// Wrong magic or version, sizes that point outside, a structure that is not well formed.
    pub fn parse(bytes: &[u8]) -> Result<Self, LoadError> {
        let header = |index: usize| {
            word_at(bytes, 4 * index)
                .ok_or_else(|| load_error!("device tree of {} bytes is shorter than its header", bytes.len()))
        };
        if header(0)? != MAGIC {
            return Err(load_error!(
                "device tree magic {:#010x}: {MAGIC:#010x} is expected",
                header(0)?
            ));
        }
        let total = header(1)? as usize;
        let bytes = bytes
            .get(..total)
            .ok_or_else(|| load_error!("device tree says {total} bytes, {} are there", bytes.len()))?;
        let (version, compatible) = (header(5)?, header(6)?);
        if version < OLDEST_READ || compatible > VERSION {
            return Err(load_error!(
                "device tree version {version} (compatible with {compatible}): {OLDEST_READ} and {VERSION} are accepted"
            ));
        }
        let strings_at = header(3)? as usize;
        let strings = bytes
            .get(strings_at..)
            .ok_or_else(|| load_error!("device tree strings at {strings_at:#x} lie outside its {total} bytes"))?;
        let mut reader = Reader {
            bytes,
            at: header(2)? as usize,
            strings,
        };
        let root = reader.root()?;
        let reserved = reservations(bytes, header(4)? as usize)?;
        Ok(Self {
            reserved,
            boot_cpu: header(7)?,
            root,
        })
    }

    /// Writes the tree in version 17.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut structure = Vec::new();
        let mut strings = Strings::default();
        write_node(&self.root, &mut structure, &mut strings);
        structure.extend(END.to_be_bytes());
        let mut reserved = Vec::new();
        for (address, bytes) in self.reserved.iter().chain([&(0, 0)]) {
            reserved.extend(address.to_be_bytes());
            reserved.extend(bytes.to_be_bytes());
        }
        let reserved_at = HEADER_BYTES;
        let structure_at = reserved_at + reserved.len();
        let strings_at = structure_at + structure.len();
        let total = strings_at + strings.bytes.len();
        let header = [
            MAGIC,
            total as u32,
            structure_at as u32,
            strings_at as u32,
            reserved_at as u32,
            VERSION,
            OLDEST_READ,
            self.boot_cpu,
            strings.bytes.len() as u32,
            structure.len() as u32,
        ];
        let mut bytes: Vec<u8> = header.iter().flat_map(|word| word.to_be_bytes()).collect();
        bytes.extend(reserved);
        bytes.extend(structure);
        bytes.extend(strings.bytes);
        bytes
    }

    /// Sets `/chosen/bootargs`.
    pub fn set_bootargs(&mut self, arguments: &str) {
        let mut value = arguments.as_bytes().to_vec();
        value.push(0);
        self.root.child_or_new("chosen").set("bootargs", value);
    }

    /// Tells where the initial RAM disk lies, or that there is none.
    pub fn set_initrd(&mut self, range: Option<std::ops::Range<u32>>) {
        let chosen = self.root.child_or_new("chosen");
        match range {
            Some(range) => {
                chosen.set("linux,initrd-start", range.start.to_be_bytes().to_vec());
                chosen.set("linux,initrd-end", range.end.to_be_bytes().to_vec());
            }
            None => {
                chosen.remove("linux,initrd-start");
                chosen.remove("linux,initrd-end");
            }
        }
    }

    /// Sets the memory node to `bytes` bytes from 0, in the cells that the root prescribes. The node is added if there
    /// is none.
    pub fn set_memory(&mut self, bytes: u32) {
        let cells = |name| self.root.cell(name).unwrap_or(1).clamp(1, 4) as usize;
        let (address_cells, size_cells) = (cells("#address-cells"), cells("#size-cells"));
        let mut value = vec![0; 4 * (address_cells + size_cells)];
        let last = value.len() - 4;
        value[last..].copy_from_slice(&bytes.to_be_bytes());
        let is_memory = |node: &Node| node.property("device_type") == Some(b"memory\0");
        let node = match self.root.children.iter().position(is_memory) {
            Some(index) => &mut self.root.children[index],
            None => self.root.child_or_new("memory"),
        };
        node.set("device_type", b"memory\0".to_vec());
        node.set("reg", value);
    }
}

fn reservations(bytes: &[u8], mut at: usize) -> Result<Vec<(u64, u64)>, LoadError> {
    let mut reserved = Vec::new();
    loop {
        let double = |offset: usize| -> Option<u64> {
            let high = word_at(bytes, at.checked_add(offset)?)?;
            let low = word_at(bytes, at.checked_add(offset)?.checked_add(4)?)?;
            Some(u64::from(high) << 32 | u64::from(low))
        };
        let entry = double(0).zip(double(8));
        match entry.ok_or_else(|| load_error!("device tree memory reservations run out of the file"))? {
            (0, 0) => return Ok(reserved),
            entry => reserved.push(entry),
        }
        at += 16;
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    strings: &'a [u8],
}

impl Reader<'_> {
    fn word(&mut self) -> Result<u32, LoadError> {
        let word = word_at(self.bytes, self.at)
            .ok_or_else(|| load_error!("device tree structure runs out of the file at {:#x}", self.at))?;
        self.at += 4;
        Ok(word)
    }

    fn token(&mut self) -> Result<u32, LoadError> {
        loop {
            match self.word()? {
                NOP => {}
                token => return Ok(token),
            }
        }
    }

    fn take(&mut self, length: usize) -> Result<Vec<u8>, LoadError> {
        let end = self.at.checked_add(length);
        let value = end
            .and_then(|end| self.bytes.get(self.at..end))
            .ok_or_else(|| load_error!("device tree: {length} bytes at {:#x} lie outside the file", self.at))?;
        self.at = (self.at + length).next_multiple_of(4);
        Ok(value.to_vec())
    }

    fn root(&mut self) -> Result<Node, LoadError> {
        match self.token()? {
            BEGIN_NODE => self.node(0),
            token => Err(load_error!(
                "device tree structure begins with token {token}: a node is expected"
            )),
        }
    }

    /// The node whose BEGIN_NODE has just been read.
    fn node(&mut self, depth: usize) -> Result<Node, LoadError> {
        if depth == MAX_DEPTH {
            return Err(load_error!("device tree is nested deeper than {MAX_DEPTH} nodes"));
        }
        let name = string(self.bytes, self.at)?;
        self.at = (self.at + name.len() + 1).next_multiple_of(4);
        let mut node = Node {
            name,
            ..Node::default()
        };
        loop {
            match self.token()? {
                PROPERTY => {
                    let (length, name) = (self.word()? as usize, self.word()? as usize);
                    let value = self.take(length)?;
                    node.properties.push(Property {
                        name: string(self.strings, name)?,
                        value,
                    });
                }
                BEGIN_NODE => node.children.push(self.node(depth + 1)?),
                END_NODE => return Ok(node),
                token => {
                    return Err(load_error!(
                        "device tree token {token} at {:#x} is unknown",
                        self.at - 4
                    ));
                }
            }
        }
    }
}

/// The NUL-terminated string at `at`.
fn string(bytes: &[u8], at: usize) -> Result<String, LoadError> {
    let rest = bytes.get(at..).unwrap_or(&[]);
    let end = rest
        .iter()
        .take(MAX_NAME_BYTES + 1)
        .position(|byte| *byte == 0)
        .ok_or_else(|| load_error!("device tree string at {at:#x} has no end within {MAX_NAME_BYTES} bytes"))?;
    String::from_utf8(rest[..end].to_vec()).map_err(|_| load_error!("device tree string at {at:#x} is not text"))
}

#[derive(Default)]
struct Strings {
    bytes: Vec<u8>,
    known: Vec<(String, u32)>,
}

impl Strings {
    fn offset(&mut self, name: &str) -> u32 {
        if let Some((_, offset)) = self.known.iter().find(|(known, _)| known == name) {
            return *offset;
        }
        let offset = self.bytes.len() as u32;
        self.bytes.extend(name.as_bytes());
        self.bytes.push(0);
        self.known.push((name.to_owned(), offset));
        offset
    }
}

fn write_node(node: &Node, structure: &mut Vec<u8>, strings: &mut Strings) {
    let pad = |structure: &mut Vec<u8>| structure.resize(structure.len().next_multiple_of(4), 0);
    structure.extend(BEGIN_NODE.to_be_bytes());
    structure.extend(node.name.as_bytes());
    structure.push(0);
    pad(structure);
    for property in &node.properties {
        structure.extend(PROPERTY.to_be_bytes());
        structure.extend((property.value.len() as u32).to_be_bytes());
        structure.extend(strings.offset(&property.name).to_be_bytes());
        structure.extend(&property.value);
        pad(structure);
    }
    for child in &node.children {
        write_node(child, structure, strings);
    }
    structure.extend(END_NODE.to_be_bytes());
}
