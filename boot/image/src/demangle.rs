//! Rust symbol names as people read them in a profile or a backtrace: the path, without generic arguments and hashes.
//!
//! Source: the rustc book, "v0 Symbol Format"; for the legacy scheme `compiler/rustc_symbol_mangling/src/legacy.rs`.

/// Nesting at which a name is given up, far above what a compiler writes.
const DEPTH_LIMIT: u32 = 200;
/// Length in bytes at which a name is given up: back-references can make a short symbol expand without end.
const LENGTH_LIMIT: usize = 4096;

/// The readable form of a linker symbol: `zeronull::fs::vfs_read`, `<zeronull::Fd as core::fmt::Debug>::fmt`,
/// `zeronull::iter::IovIter::advance`; a name in neither of Rust's schemes is returned as it is.
pub fn demangle(symbol: &str) -> String {
    let readable = if let Some(mangled) = symbol.strip_prefix("_R") {
        v0(mangled)
    } else if let Some(mangled) = symbol.strip_prefix("_ZN") {
        legacy(mangled)
    } else {
        None
    };
    readable.unwrap_or_else(|| symbol.to_owned())
}

/// The legacy scheme: length-prefixed parts up to `E`, the last of them `h` and sixteen hexadecimal digits.
fn legacy(mut mangled: &str) -> Option<String> {
    let mut parts = Vec::new();
    while !mangled.starts_with('E') {
        let digits = mangled.find(|c: char| !c.is_ascii_digit())?;
        let length: usize = mangled[..digits].parse().ok()?;
        parts.push(legacy_part(mangled.get(digits..digits.checked_add(length)?)?)?);
        mangled = &mangled[digits + length..];
    }
    if parts.last().is_some_and(|part| {
        part.len() == 17 && part.starts_with('h') && part[1..].chars().all(|c| c.is_ascii_hexdigit())
    }) {
        parts.pop();
    }
    (!parts.is_empty()).then(|| parts.join("::"))
}

/// One part of a legacy name with its `$…$` escapes resolved.
fn legacy_part(part: &str) -> Option<String> {
    let mut rest = part.strip_prefix("_$").map_or(part, |_| &part[1..]);
    let mut text = String::new();
    while let Some(next) = rest.chars().next() {
        if next == '$' {
            let end = rest[1..].find('$')? + 1;
            match &rest[1..end] {
                "SP" => text.push('@'),
                "BP" => text.push('*'),
                "RF" => text.push('&'),
                "LT" => text.push('<'),
                "GT" => text.push('>'),
                "LP" => text.push('('),
                "RP" => text.push(')'),
                "C" => text.push(','),
                escape => text.push(char::from_u32(
                    u32::from_str_radix(escape.strip_prefix('u')?, 16).ok()?,
                )?),
            }
            rest = &rest[end + 1..];
        } else if let Some(after) = rest.strip_prefix("..") {
            text.push_str("::");
            rest = after;
        } else {
            text.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    Some(text)
}

fn v0(mangled: &str) -> Option<String> {
    if !mangled.is_ascii() || mangled.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mut parser = V0 {
        input: mangled.as_bytes(),
        position: 0,
        output: String::new(),
        muted: 0,
        depth: 0,
    };
    parser.path()?;
    Some(parser.output)
}

/// A recursive-descent parser of the v0 grammar that writes the path as it reads it.
struct V0<'a> {
    input: &'a [u8],
    position: usize,
    output: String,
    /// Above zero while something is read that is not part of the readable path.
    muted: u32,
    depth: u32,
}

impl V0<'_> {
    fn peek(&self) -> Option<u8> {
        self.input.get(self.position).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.position += 1;
        Some(byte)
    }

    fn eat(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.position += usize::from(found);
        found
    }

    fn print(&mut self, text: &str) -> Option<()> {
        if self.muted == 0 {
            self.output.push_str(text);
        }
        (self.output.len() <= LENGTH_LIMIT).then_some(())
    }

    fn muted(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.muted += 1;
        let result = read(self);
        self.muted -= 1;
        result
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.depth += 1;
        let result = if self.depth > DEPTH_LIMIT { None } else { read(self) };
        self.depth -= 1;
        result
    }

    /// `_` is 0, `<digits>_` is the number plus one, in base 62.
    fn base_62(&mut self) -> Option<u64> {
        if self.eat(b'_') {
            return Some(0);
        }
        let mut value: u64 = 0;
        while !self.eat(b'_') {
            let digit = match self.next()? {
                digit @ b'0'..=b'9' => digit - b'0',
                digit @ b'a'..=b'z' => digit - b'a' + 10,
                digit @ b'A'..=b'Z' => digit - b'A' + 36,
                _ => return None,
            };
            value = value.checked_mul(62)?.checked_add(digit.into())?;
        }
        value.checked_add(1)
    }

    fn disambiguator(&mut self) -> Option<u64> {
        if self.eat(b's') {
            self.base_62()?.checked_add(1)
        } else {
            Some(0)
        }
    }

    /// The bytes of an identifier. Punycode (`u` before the length) is given as it stands.
    fn identifier(&mut self) -> Option<String> {
        self.eat(b'u');
        let mut length: usize = 0;
        if !self.eat(b'0') {
            if !self.peek()?.is_ascii_digit() {
                return None;
            }
            while let Some(digit @ b'0'..=b'9') = self.peek() {
                length = length.checked_mul(10)?.checked_add(usize::from(digit - b'0'))?;
                self.position += 1;
            }
        }
        self.eat(b'_');
        let bytes = self.input.get(self.position..self.position.checked_add(length)?)?;
        self.position += length;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    fn backref(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let tag = self.position - 1;
        let target = usize::try_from(self.base_62()?).ok()?;
        if target >= tag {
            return None;
        }
        if self.muted > 0 {
            return Some(());
        }
        let resume = std::mem::replace(&mut self.position, target);
        let result = self.nested(read);
        self.position = resume;
        result
    }

    fn path(&mut self) -> Option<()> {
        self.nested(Self::path_inner)
    }

    fn path_inner(&mut self) -> Option<()> {
        match self.next()? {
            b'C' => {
                self.disambiguator()?;
                let name = self.identifier()?;
                self.print(&name)
            }
            b'N' => {
                let namespace = self.next()?;
                self.path()?;
                let number = self.disambiguator()?;
                let name = self.identifier()?;
                match namespace {
                    b'C' => self.print(&format!("::{{closure#{number}}}")),
                    b'S' => self.print(&format!("::{{shim:{name}#{number}}}")),
                    b'A'..=b'Z' => self.print(&format!("::{{{}:{name}#{number}}}", char::from(namespace))),
                    _ if name.is_empty() => Some(()),
                    _ => self.print(&format!("::{name}")),
                }
            }
            b'M' => {
                self.impl_path()?;
                self.kind()
            }
            b'X' => {
                self.impl_path()?;
                self.qualified()
            }
            b'Y' => self.qualified(),
            b'I' => {
                self.path()?;
                self.muted(Self::generic_arguments)
            }
            b'B' => self.backref(Self::path),
            _ => None,
        }
    }

    /// `<Type as Trait>`.
    fn qualified(&mut self) -> Option<()> {
        self.print("<")?;
        self.kind()?;
        self.print(" as ")?;
        self.path()?;
        self.print(">")
    }

    /// Where an `impl` block stands: not part of the name.
    fn impl_path(&mut self) -> Option<()> {
        self.disambiguator()?;
        self.muted(Self::path)
    }

    fn generic_arguments(&mut self) -> Option<()> {
        while !self.eat(b'E') {
            match self.peek()? {
                b'L' => {
                    self.position += 1;
                    self.base_62()?;
                }
                b'K' => {
                    self.position += 1;
                    self.constant()?;
                }
                _ => self.kind()?,
            }
        }
        Some(())
    }

    /// A type.
    fn kind(&mut self) -> Option<()> {
        self.nested(Self::kind_inner)
    }

    fn kind_inner(&mut self) -> Option<()> {
        let tag = self.next()?;
        if let Some(name) = basic_type(tag) {
            return self.print(name);
        }
        match tag {
            b'A' => {
                self.print("[")?;
                self.kind()?;
                self.muted(Self::constant)?;
                self.print("; _]")
            }
            b'S' => {
                self.print("[")?;
                self.kind()?;
                self.print("]")
            }
            b'T' => self.tuple(),
            b'R' | b'Q' => {
                if self.eat(b'L') {
                    self.base_62()?;
                }
                self.print(if tag == b'R' { "&" } else { "&mut " })?;
                self.kind()
            }
            b'P' => {
                self.print("*const ")?;
                self.kind()
            }
            b'O' => {
                self.print("*mut ")?;
                self.kind()
            }
            b'F' => self.function(),
            b'D' => self.dynamic(),
            b'B' => self.backref(Self::kind),
            _ => {
                self.position -= 1;
                self.path()
            }
        }
    }

    fn tuple(&mut self) -> Option<()> {
        self.print("(")?;
        let mut is_first = true;
        while !self.eat(b'E') {
            if !std::mem::take(&mut is_first) {
                self.print(", ")?;
            }
            self.kind()?;
        }
        self.print(")")
    }

    /// A function pointer, printed without its arguments.
    fn function(&mut self) -> Option<()> {
        self.print("fn")?;
        self.muted(|parser| {
            parser.binder()?;
            parser.eat(b'U');
            if parser.eat(b'K') && !parser.eat(b'C') {
                parser.identifier()?;
            }
            while !parser.eat(b'E') {
                parser.kind()?;
            }
            parser.kind()
        })
    }

    fn dynamic(&mut self) -> Option<()> {
        self.print("dyn ")?;
        self.binder()?;
        let mut is_first = true;
        while !self.eat(b'E') {
            if !std::mem::take(&mut is_first) {
                self.print(" + ")?;
            }
            self.path()?;
            while self.eat(b'p') {
                self.identifier()?;
                self.muted(Self::kind)?;
            }
        }
        if self.eat(b'L') {
            self.base_62()?;
        }
        Some(())
    }

    fn binder(&mut self) -> Option<()> {
        if self.eat(b'G') {
            self.base_62()?;
        }
        Some(())
    }

    /// A constant generic argument or array length; only ever read muted.
    fn constant(&mut self) -> Option<()> {
        self.nested(|parser| match parser.next()? {
            b'p' => Some(()),
            b'B' => parser.backref(Self::constant),
            b'R' | b'Q' => parser.constant(),
            b'A' | b'T' => parser.constants(),
            b'V' => {
                parser.path()?;
                match parser.next()? {
                    b'U' => Some(()),
                    b'T' => parser.constants(),
                    b'S' => {
                        while !parser.eat(b'E') {
                            parser.disambiguator()?;
                            parser.identifier()?;
                            parser.constant()?;
                        }
                        Some(())
                    }
                    _ => None,
                }
            }
            // A basic type or `str`, then hexadecimal digits up to `_`.
            _ => {
                while parser.next()? != b'_' {}
                Some(())
            }
        })
    }

    fn constants(&mut self) -> Option<()> {
        while !self.eat(b'E') {
            self.constant()?;
        }
        Some(())
    }
}

fn basic_type(tag: u8) -> Option<&'static str> {
    Some(match tag {
        b'a' => "i8",
        b'b' => "bool",
        b'c' => "char",
        b'd' => "f64",
        b'e' => "str",
        b'f' => "f32",
        b'h' => "u8",
        b'i' => "isize",
        b'j' => "usize",
        b'l' => "i32",
        b'm' => "u32",
        b'n' => "i128",
        b'o' => "u128",
        b'p' => "_",
        b's' => "i16",
        b't' => "u16",
        b'u' => "()",
        b'v' => "...",
        b'x' => "i64",
        b'y' => "u64",
        b'z' => "!",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_names_become_paths_without_generics_and_hashes() {
        for (mangled, readable) in [
            ("_RNvNtCs1234_8zeronull2fs8vfs_read", "zeronull::fs::vfs_read"),
            (
                "_RINvNtCs1234_8zeronull2fs8vfs_readNtNtB4_6policy5SetFsKj10_EB4_",
                "zeronull::fs::vfs_read",
            ),
            (
                "_RNvMs_NtCs1234_8zeronull4iterINtB4_7IovIterlE7advance",
                "zeronull::iter::IovIter::advance",
            ),
            (
                "_RNvXs0_NtCs1234_8zeronull2fsNtB5_2FdNtNtCs99_4core3fmt5Debug3fmt",
                "<zeronull::fs::Fd as core::fmt::Debug>::fmt",
            ),
            ("_RNvYNtCs1_1a1bNtB4_1c1d", "<a::b as a::c>::d"),
            ("_RNCNvCs1234_8zeronull4mains_0B3_", "zeronull::main::{closure#1}"),
            ("_RNvMNtCs1_4core5sliceSh8fill_add", "[u8]::fill_add"),
            ("_RNvXCs1_1aDNtB2_1tEL_NtB2_1u1f", "<dyn a::t as a::u>::f"),
            ("_ZN8zeronull2fs8vfs_read17h0123456789abcdefE", "zeronull::fs::vfs_read"),
            (
                "_ZN49_$LT$zeronull..Fd$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE",
                "<zeronull::Fd as core::fmt::Debug>::fmt",
            ),
        ] {
            assert_eq!(demangle(mangled), readable, "{mangled}");
        }
    }

    #[test]
    fn other_names_and_broken_ones_stay_as_they_are() {
        for name in [
            "__arch_clear_user",
            "_start",
            "_R",
            "_RNvC",
            "_RB_",
            "_RNvBa_1x",
            "_ZN",
            "_ZN99fooE",
            "_ZN1$E",
            "",
        ] {
            assert_eq!(demangle(name), name);
        }
        let deep = format!("_RNvC1a1b{}", "N".repeat(100_000));
        assert_eq!(demangle(&deep), "a::b");
        let deep = format!("_R{}", "I".repeat(100_000));
        assert_eq!(demangle(&deep), deep);
    }
}
