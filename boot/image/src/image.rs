//! Building an image: the firmware in all its file formats, its symbols, and the archive of user programs.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::board::Board;
use crate::cargo::Build;
use crate::demangle::demangle;
use crate::elf::{Content, Elf};
use crate::error::Error;
use crate::testing::machines;
use crate::{cpio, flash, flat, symbols, uimage, workspace};

/// Name in the headers of the image formats that have one.
const IMAGE_NAME: &str = concat!("zeronull ", env!("CARGO_PKG_VERSION"));

/// For builds without symbol table and shuffle, whatever the caller's environment holds.
const NO_ENVIRONMENT: &[(&str, Option<&OsStr>)] = &[("ZERONULL_SYMBOLS", None), ("ZERONULL_SHUFFLE", None)];

/// Which functions check the stack for overflow, as rustc's `-Zstack-protector` has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum StackProtector {
    /// None.
    #[default]
    None,
    /// Those with arrays or addresses of locals.
    Strong,
    /// All.
    All,
}

impl StackProtector {
    /// The name on command lines, in paths and for rustc.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Strong => "strong",
            Self::All => "all",
        }
    }
}

impl FromStr for StackProtector {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        [Self::None, Self::Strong, Self::All]
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or_else(|| {
                Error::usage(format!(
                    "unknown stack protector `{text}`: accepted are none, strong, all"
                ))
            })
    }
}

/// What to build.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImageOptions {
    /// The board to build for.
    pub board: Board,
    /// The stack protector of the firmware, `core` and `alloc` included.
    pub stack_protector: StackProtector,
    /// Seed of the linker's section shuffle, not 0; `None` keeps the order of the link.
    pub shuffle: Option<u32>,
    /// The kernel command line of the reset image, which boards that have one start with.
    pub command_line: String,
}

impl ImageOptions {
    /// The plain image of a board.
    pub fn new(board: Board) -> Self {
        Self {
            board,
            stack_protector: StackProtector::None,
            shuffle: None,
            command_line: String::new(),
        }
    }

    /// Name of the compiled variant: everything that changes what the compiler does.
    fn compiled_name(&self) -> String {
        format!("{}-{}", self.board, self.stack_protector.name())
    }

    /// Name of the image's directory: the board's for a plain image, else with protector and seed.
    fn directory_name(&self) -> String {
        match (self.stack_protector, self.shuffle) {
            (StackProtector::None, None) => self.board.to_string(),
            (_, None) => self.compiled_name(),
            (_, Some(seed)) => format!("{}-{seed}", self.compiled_name()),
        }
    }
}

/// The bytes in memory by what they hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemorySizes {
    /// Code.
    pub text: u32,
    /// Constants.
    pub rodata: u32,
    /// Variables with a first value.
    pub data: u32,
    /// Variables that start as zero.
    pub bss: u32,
}

impl MemorySizes {
    /// Adds up the loaded sections of `elf`.
    pub fn of(elf: &Elf<'_>) -> Self {
        let mut sizes = Self::default();
        for section in &elf.sections {
            match section.content() {
                Some(Content::Text) => sizes.text += section.size,
                Some(Content::ReadOnly) => sizes.rodata += section.size,
                Some(Content::Data) => sizes.data += section.size,
                Some(Content::Bss) => sizes.bss += section.size,
                None => {}
            }
        }
        sizes
    }
}

/// A built image.
#[derive(Debug, Clone)]
pub struct Image {
    /// The board it is for.
    pub board: Board,
    /// The directory that holds its files.
    pub directory: PathBuf,
    /// What the firmware needs in memory.
    pub memory: MemorySizes,
}

impl Image {
    /// The files in [`Image::directory`].
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files = vec![
            self.elf(),
            self.bin(),
            self.uimage(),
            self.srec(),
            self.sym(),
            self.initrd(),
        ];
        files.extend(self.flash());
        files
    }

    /// The firmware as linked, with symbols and debug information.
    pub fn elf(&self) -> PathBuf {
        self.directory.join("zeronull.elf")
    }

    /// The firmware's memory from its first byte, which is also an entry point.
    pub fn bin(&self) -> PathBuf {
        self.directory.join("zeronull.bin")
    }

    /// The firmware in U-Boot's legacy container.
    pub fn uimage(&self) -> PathBuf {
        self.directory.join("zeronull.uimage")
    }

    /// The firmware as S-records at its physical addresses.
    pub fn srec(&self) -> PathBuf {
        self.directory.join("zeronull.srec")
    }

    /// The list of text symbols.
    pub fn sym(&self) -> PathBuf {
        self.directory.join("zeronull.sym")
    }

    /// The content of the board's flash, with which it starts without a boot loader; `None` for a board without one.
    pub fn flash(&self) -> Option<PathBuf> {
        self.board
            .has_reset_image()
            .then(|| self.directory.join("zeronull.flash"))
    }

    /// The user programs.
    pub fn initrd(&self) -> PathBuf {
        self.directory.join("initrd.cpio")
    }
}

/// Builds the image, as far as something changed since it was last built.
///
/// Builds of one variant wait for each other, so tests may ask for the same image at the same time.
///
/// # Errors
/// Cargo fails, the second link moves the code, the linked file breaks a rule of the formats, or a file cannot be
/// written.
pub fn build(options: &ImageOptions) -> Result<Image, Error> {
    let target = workspace::root().join("target");
    let programs = pack_programs(&build_user_programs()?)?;

    let compiled = target.join("firmware").join(options.compiled_name());
    let _lock = lock(&compiled)?;
    let firmware = build_firmware(options, &compiled)?;
    let elf = Elf::parse(&firmware)?;

    let image = Image {
        board: options.board,
        directory: target.join("image").join(options.directory_name()),
        memory: MemorySizes::of(&elf),
    };
    fs::create_dir_all(&image.directory).map_err(Error::file("create", &image.directory))?;
    let (load, raw) = flat::raw(&elf)?;
    write(
        &image.uimage(),
        &uimage::pack(&raw, IMAGE_NAME, load, elf.physical_entry()?, image_time()?),
    )?;
    write(&image.bin(), &raw)?;
    if let Some(path) = image.flash() {
        let reset = elf.named_section_bytes(flash::SECTION)?;
        let content = flash::pack(reset, &raw, &programs, &options.command_line)?;
        write(&path, &content)?;
    }
    write(&image.srec(), flat::s_records(&elf, IMAGE_NAME)?.as_bytes())?;
    write(&image.sym(), symbols::listing(&symbols::text_symbols(&elf)?).as_bytes())?;
    write(&image.initrd(), &programs)?;
    write(&image.elf(), &firmware)?;
    Ok(image)
}

/// Links the firmware with a table of its own symbols and gives the ELF file.
///
/// The table of the last build stays where it was. While the code does not change, that table is right already and
/// Cargo has nothing to do; otherwise the first link only serves to get the new table, and the second takes it in.
fn build_firmware(options: &ImageOptions, directory: &Path) -> Result<Vec<u8>, Error> {
    let seed = options.shuffle.map(|seed| seed.to_string());
    let blob_path = directory.join(format!("symbols-{}.bin", seed.as_deref().unwrap_or("unshuffled")));
    if !blob_path.exists() {
        write(&blob_path, &symbols::encode(&[]))?;
    }
    let rustflags = match options.stack_protector {
        StackProtector::None => String::new(),
        kind => format!("-Zstack-protector={}", kind.name()),
    };
    let build = Build {
        what: &format!("the firmware for {}", options.board),
        feature: &options.board.feature(),
        profile: "firmware",
        rustflags: &rustflags,
        environment: &[
            ("ZERONULL_SYMBOLS", Some(blob_path.as_os_str())),
            ("ZERONULL_SHUFFLE", seed.as_deref().map(OsStr::new)),
            // The firmware prints it beside its figures.
            (
                "ZERONULL_STACK_PROTECTOR",
                Some(OsStr::new(options.stack_protector.name())),
            ),
        ],
        target_directory: directory,
    };
    let link = || -> Result<Vec<u8>, Error> {
        let executables = build.run()?;
        let path = executables
            .iter()
            .find(|path| path.file_name() == Some(OsStr::new("zeronull")))
            .ok_or_else(|| Error::failed("the firmware's build gave no program named zeronull"))?;
        fs::read(path).map_err(Error::file("read", path))
    };

    let first = link()?;
    let first_symbols = symbols::text_symbols(&Elf::parse(&first)?)?;
    let blob = symbols::encode(&first_symbols);
    let firmware = if fs::read(&blob_path).map_err(Error::file("read", &blob_path))? == blob {
        first
    } else {
        write(&blob_path, &blob)?;
        link()?
    };
    let elf = Elf::parse(&firmware)?;
    symbols::check_unmoved(&first_symbols, &symbols::text_symbols(&elf)?)?;
    if !elf.named_section_bytes(symbols::SECTION)?.starts_with(&blob) {
        return Err(Error::failed(format!(
            "section {} does not hold the symbol table",
            symbols::SECTION
        )));
    }
    Ok(firmware)
}

/// Runs clippy on the firmware for every board that a machine here can start, and on the user programs.
///
/// # Errors
/// Every finding; one message for all of them.
pub fn clippy() -> Result<(), Error> {
    // Apart from the images' directories, because clippy's results are not what the compiler's are.
    let directory = workspace::root().join("target").join("clippy");
    let _lock = lock(&directory)?;
    let mut findings = Vec::new();
    let boards: BTreeSet<Board> = machines().iter().map(|machine| machine.board()).collect();
    for board in boards {
        let build = Build {
            what: &format!("the firmware for {board}"),
            feature: &board.feature(),
            profile: "firmware",
            rustflags: "",
            environment: NO_ENVIRONMENT,
            target_directory: &directory,
        };
        findings.extend(build.clippy().err());
    }
    findings.extend(user_programs(&directory).clippy().err());
    if findings.is_empty() {
        return Ok(());
    }
    Err(Error::failed(
        findings
            .iter()
            .map(|finding| finding.message.as_str())
            .collect::<Vec<_>>()
            .join("\n"),
    ))
}

fn user_programs(directory: &Path) -> Build<'_> {
    Build {
        what: "the user programs",
        feature: "user",
        profile: "user",
        rustflags: "",
        environment: NO_ENVIRONMENT,
        target_directory: directory,
    }
}

/// Builds the user programs, as far as something changed, and gives the paths of their files, sorted by name.
///
/// # Errors
/// Cargo fails.
pub fn build_user_programs() -> Result<Vec<PathBuf>, Error> {
    let directory = workspace::root().join("target/user");
    let _lock = lock(&directory)?;
    let mut programs = user_programs(&directory).run()?;
    programs.sort();
    Ok(programs)
}

/// A user program with readable names for its symbols, from which the firmware's profile takes them.
///
/// # Errors
/// The file cannot be read or is broken.
pub fn readable_program(path: &Path) -> Result<Vec<u8>, Error> {
    let file = fs::read(path).map_err(Error::file("read", path))?;
    Elf::parse(&file)?.with_symbol_names(demangle)
}

/// Packs programs as `bin/NAME`.
fn pack_programs(programs: &[PathBuf]) -> Result<Vec<u8>, Error> {
    let mut archive = cpio::Archive::default();
    archive.directory("bin");
    for path in programs {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        archive.program(&format!("bin/{name}"), &readable_program(path)?);
    }
    Ok(archive.finish())
}

/// Time stamp in UNIX seconds: `SOURCE_DATE_EPOCH` if it is set, else 0, so that equal sources give equal images.
fn image_time() -> Result<u32, Error> {
    match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text.parse().map_err(|_| {
            Error::usage(format!(
                "SOURCE_DATE_EPOCH is `{text}`: accepted are 32-bit UNIX seconds"
            ))
        }),
        Err(_) => Ok(0),
    }
}

/// Holds the directory for this process until the file is dropped.
fn lock(directory: &Path) -> Result<File, Error> {
    fs::create_dir_all(directory).map_err(Error::file("create", directory))?;
    let path = directory.join("lock");
    let file = File::create(&path).map_err(Error::file("create", &path))?;
    file.lock().map_err(Error::file("lock", &path))?;
    Ok(file)
}

/// Writes a file under a temporary name and renames it, so that a machine that is just starting reads either the old
/// or the new one; leaves an equal file alone.
fn write(path: &Path, content: &[u8]) -> Result<(), Error> {
    if fs::read(path).is_ok_and(|present| present == content) {
        return Ok(());
    }
    let temporary = path.with_extension("new");
    fs::write(&temporary, content).map_err(Error::file("write", &temporary))?;
    fs::rename(&temporary, path).map_err(Error::file("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_have_their_own_directories() {
        let mut options = ImageOptions::new(Board::G3beige);
        assert_eq!(options.directory_name(), "g3beige");
        options.shuffle = Some(7);
        assert_eq!(options.directory_name(), "g3beige-none-7");
        options.stack_protector = StackProtector::Strong;
        assert_eq!(options.directory_name(), "g3beige-strong-7");
        options.shuffle = None;
        assert_eq!(options.directory_name(), "g3beige-strong");
    }
}
