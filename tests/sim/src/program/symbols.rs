//! From an address to the function it lies in.

use std::path::Path;

use mpc8xx_sim::cpu::Cpu;
use mpc8xx_sim::cpu::exception::Vector;
use mpc8xx_sim::cpu::registers::msr;
use mpc8xx_sim::load::{Segment, elf};

use super::failure::Failure;
use super::options::{Options, number};
use super::setup;

/// Bytes that a label without a size may stand for.
const LABEL_REACH: u32 = 0x1_0000;
/// Where kernels and firmware of this family map physical address 0.
const LINEAR_MAP: u32 = 0xC000_0000;
/// Bytes from one exception vector to the next, and of all of them.
const VECTOR_SPACING: u32 = 0x100;
const VECTOR_BYTES: u32 = 0x2000;

/// In which address space instructions are fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// Supervisor state, untranslated.
    Real,
    /// Supervisor state, translated.
    Supervisor,
    /// Problem state.
    User,
}

impl Space {
    /// Where the core fetches now.
    pub fn of(cpu: &Cpu) -> Self {
        if cpu.msr() & msr::PR != 0 {
            Self::User
        } else if cpu.msr() & msr::IR != 0 {
            Self::Supervisor
        } else {
            Self::Real
        }
    }

    /// The letter that tables use, as `perf` does where it has one.
    pub fn letter(self) -> char {
        match self {
            Self::Real => 'r',
            Self::Supervisor => 'k',
            Self::User => 'u',
        }
    }
}

/// Functions and labels of one program.
#[derive(Debug, Default)]
struct Table {
    /// Sorted by address: with a known size.
    functions: Vec<elf::Symbol>,
    /// Sorted by address: labels, each up to whatever comes next.
    labels: Vec<elf::Symbol>,
}

impl Table {
    fn new(symbols: Vec<elf::Symbol>) -> Self {
        let (mut functions, mut labels): (Vec<_>, Vec<_>) = symbols.into_iter().partition(|symbol| symbol.size > 0);
        functions.sort_by_key(|symbol| symbol.address);
        labels.sort_by_key(|symbol| symbol.address);
        Self { functions, labels }
    }

    fn find(&self, address: u32) -> Option<&str> {
        let before = |symbols: &[elf::Symbol]| {
            symbols
                .partition_point(|symbol| symbol.address <= address)
                .checked_sub(1)
        };
        let function = before(&self.functions).map(|index| &self.functions[index]);
        if let Some(function) = function.filter(|symbol| address - symbol.address < symbol.size) {
            return Some(&function.name);
        }
        let label = &self.labels[before(&self.labels)?];
        // Behind the end of a function that came after the label there is nothing of the label's.
        let reaches = address - label.address < LABEL_REACH;
        let is_last = function.is_none_or(|function| function.address <= label.address);
        (reaches && is_last).then_some(label.name.as_str())
    }
}

/// All symbols that the user has given.
#[derive(Debug, Default)]
pub struct Symbols {
    image: Table,
    others: Vec<Table>,
    /// The image's segments, without their content.
    segments: Vec<Segment>,
}

impl Symbols {
    /// The symbols of the image, from a table `.sym` beside it, where names are readable, or else from the ELF file that
    /// it is or that lies beside it; and those of other files.
    ///
    /// # Errors
    /// A file cannot be read or is broken.
    pub fn read(options: &Options) -> Result<Self, Failure> {
        let mut symbols = Self::default();
        if let Some(path) = &options.image {
            let mut bytes = setup::read(path)?;
            // A file without symbols usually has the one it was made of beside it, which also knows the addresses.
            let linked = path.with_extension("elf");
            if !bytes.starts_with(elf::MAGIC) && linked.is_file() {
                bytes = setup::read(&linked)?;
            }
            let image = setup::image(options, path, &bytes)?;
            symbols.segments = image.segments;
            for segment in &mut symbols.segments {
                segment.bytes = Vec::new();
            }
            let beside = path.with_extension("sym");
            if beside.is_file() {
                symbols.image = table(&beside)?;
            } else if bytes.starts_with(elf::MAGIC) {
                symbols.image = Table::new(elf::symbols(&bytes).map_err(|error| broken(path, &error.to_string()))?);
            }
        }
        for path in &options.symbols {
            symbols.others.push(table(path)?);
        }
        Ok(symbols)
    }

    /// The symbol of the image at an address as linked. Outside its segments the last label of a program would reach
    /// to the end of the address space.
    fn find_in_image(&self, address: u32) -> Option<&str> {
        let holds = |segment: &Segment| address.wrapping_sub(segment.effective) < segment.memory_bytes;
        self.segments
            .iter()
            .any(holds)
            .then(|| self.image.find(address))
            .flatten()
    }

    /// The address for which the content at a physical address was linked.
    fn effective(&self, physical: u32) -> Option<u32> {
        let holds = |segment: &&Segment| physical.wrapping_sub(segment.address) < segment.memory_bytes;
        let segment = self.segments.iter().find(holds)?;
        Some((physical - segment.address).wrapping_add(segment.effective))
    }

    /// The name of the function at `address`, if it has one.
    pub fn find(&self, space: Space, address: u32) -> Option<&str> {
        let others = || self.others.iter().find_map(|table| table.find(address));
        match space {
            Space::User => others().or_else(|| self.find_in_image(address)),
            Space::Supervisor => self.find_in_image(address).or_else(others),
            Space::Real => {
                let linked = self.effective(address).and_then(|linked| self.image.find(linked));
                // An image that is loaded elsewhere has moved to where its linear map leads.
                let linked = linked.or_else(|| self.find_in_image(address.wrapping_add(LINEAR_MAP)));
                // The code of a boot loader is known from other files alone, that of an image is not.
                linked.or_else(|| if self.segments.is_empty() { others() } else { None })
            }
        }
    }

    /// The address of the function with this name, which may lack the path before it.
    pub fn address(&self, name: &str) -> Option<u32> {
        let is_wanted = |symbol: &&elf::Symbol| {
            let rest = symbol.name.strip_suffix(name);
            rest.is_some_and(|path| path.is_empty() || path.ends_with("::"))
        };
        let tables = std::iter::once(&self.image).chain(&self.others);
        tables
            .flat_map(|table| table.functions.iter().chain(&table.labels))
            .find(is_wanted)
            .map(|symbol| symbol.address)
    }

    /// The same as a name for reports.
    pub fn name(&self, space: Space, address: u32) -> &str {
        let vector = || {
            let at = |vector: &&Vector| **vector as u32 == address & !(VECTOR_SPACING - 1);
            let is_entry = space == Space::Real && address < VECTOR_BYTES;
            is_entry
                .then(|| Vector::ALL.iter().find(at))?
                .map(|vector| vector.name())
        };
        self.find(space, address).or_else(vector).unwrap_or("[unknown]")
    }
}

fn broken(path: &Path, what: &str) -> Failure {
    Failure::failed(format!("symbols {}: {what}", path.display()))
}

/// Reads an ELF file, or lines `address size name` with a hexadecimal address and a decimal size.
fn table(path: &Path) -> Result<Table, Failure> {
    let bytes = setup::read(path)?;
    if bytes.starts_with(elf::MAGIC) {
        let symbols = elf::symbols(&bytes).map_err(|error| broken(path, &error.to_string()))?;
        return Ok(Table::new(symbols));
    }
    let text =
        String::from_utf8(bytes).map_err(|_| broken(path, "neither an ELF file nor lines `address size name`"))?;
    let symbols = text.lines().enumerate().map(|(index, line)| {
        symbol(line).ok_or_else(|| {
            broken(
                path,
                &format!("line {}: `{line}` is not `address size name`", index + 1),
            )
        })
    });
    Ok(Table::new(symbols.collect::<Result<_, _>>()?))
}

fn symbol(line: &str) -> Option<elf::Symbol> {
    let (address, rest) = line.split_once(' ')?;
    let (size, name) = rest.split_once(' ')?;
    Some(elf::Symbol {
        name: name.to_owned(),
        address: number(&format!("0x{address}"))?,
        size: number(size)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Table {
        Table::new(text.lines().map(|line| symbol(line).expect("a symbol")).collect())
    }

    #[test]
    fn functions_win_over_labels_inside_them_and_end_where_they_end() {
        let table = lines("c0000100 0 vector\nc0000200 16 f\nc0000204 0 inside\nc0000220 0 after\nc0000230 4 g h");
        for (address, name) in [
            (0xC000_00FF, None),
            (0xC000_0100, Some("vector")),
            (0xC000_01FC, Some("vector")),
            (0xC000_0200, Some("f")),
            (0xC000_020C, Some("f")),
            (0xC000_0220, Some("after")),
            (0xC000_022C, Some("after")),
            (0xC000_0230, Some("g h")),
            (0xC000_0234, None),
        ] {
            assert_eq!(table.find(address), name, "{address:#x}");
        }
    }

    #[test]
    fn real_addresses_are_found_through_the_placement_of_the_image() {
        let symbols = Symbols {
            image: lines("c0001100 0 miss"),
            others: vec![lines("1100 8 main")],
            segments: vec![Segment {
                address: 0,
                effective: 0xC000_0000,
                bytes: Vec::new(),
                memory_bytes: 0x2000,
            }],
        };
        assert_eq!(symbols.name(Space::Real, 0x1104), "miss");
        assert_eq!(symbols.name(Space::User, 0x1104), "main");
        assert_eq!(symbols.name(Space::Supervisor, 0xC000_1104), "miss");
        assert_eq!(symbols.name(Space::User, 0x1108), "[unknown]");
    }

    #[test]
    fn lines_that_are_no_symbols_are_refused() {
        for line in ["", "c0000000", "c0000000 4", "x 4 f", "c0000000 x f", "1c0000000 4 f"] {
            assert!(symbol(line).is_none(), "{line:?}");
        }
    }
}
