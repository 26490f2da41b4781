//! The size grammar of the programs' operands: `512`, `4k`, `1M`, `2x3`.
#![forbid(unsafe_code)]

use core::fmt;

/// Suffixes and what they multiply by, as busybox has them.
const SUFFIXES: [(&[u8], u64); 11] = [
    (b"c", 1),
    (b"w", 2),
    (b"b", 512),
    (b"k", 1 << 10),
    (b"K", 1 << 10),
    (b"kB", 1_000),
    (b"KB", 1_000),
    (b"M", 1 << 20),
    (b"MB", 1_000_000),
    (b"G", 1 << 30),
    (b"GB", 1_000_000_000),
];

/// What [`parse`] takes, in the words of an error message.
pub const ACCEPTED: &str = "digits with a suffix c w b k K kB KB M MB G GB, products as 2x512";

/// Why a number was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberError {
    /// It is no number of this grammar.
    Invalid,
    /// It does not fit 64 bits.
    TooLarge,
}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NumberError::Invalid => "invalid number",
            NumberError::TooLarge => "too large a number",
        })
    }
}

/// Reads a number: digits, an optional suffix, and products of such factors with `x`.
///
/// # Errors
/// [`NumberError::Invalid`] for anything else. That includes a text that starts with `0x`: as a product it would
/// silently be 0, while its writer meant a hexadecimal number. [`NumberError::TooLarge`] when the value exceeds 64
/// bits.
pub fn parse(text: &[u8]) -> Result<u64, NumberError> {
    if text.starts_with(b"0x") {
        return Err(NumberError::Invalid);
    }
    let mut product: u64 = 1;
    let mut too_large = false;
    for factor in text.split(|&byte| byte == b'x') {
        // The whole text is checked before the size is complained of.
        match parse_factor(factor)? {
            Some(factor) => match product.checked_mul(factor) {
                Some(next) => product = next,
                None => too_large = true,
            },
            None => too_large = true,
        }
    }
    if too_large {
        Err(NumberError::TooLarge)
    } else {
        Ok(product)
    }
}

/// `None` when the factor is well formed but exceeds 64 bits.
fn parse_factor(text: &[u8]) -> Result<Option<u64>, NumberError> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, suffix) = text.split_at(digits);
    if digits.is_empty() {
        return Err(NumberError::Invalid);
    }
    let multiplier = if suffix.is_empty() {
        1
    } else {
        SUFFIXES
            .iter()
            .find(|(name, _)| *name == suffix)
            .map(|&(_, multiplier)| multiplier)
            .ok_or(NumberError::Invalid)?
    };
    let value = digits.iter().try_fold(0u64, |value, digit| {
        value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    });
    Ok(value.and_then(|value| value.checked_mul(multiplier)))
}

#[cfg(test)]
mod tests {
    use super::*;

    // U-167
    #[test]
    fn suffixes_and_products_have_their_values() {
        let table: &[(&str, u64)] = &[
            ("0", 0),
            ("1c", 1),
            ("2w", 4),
            ("1b", 512),
            ("1k", 1024),
            ("1K", 1024),
            ("1kB", 1000),
            ("1KB", 1000),
            ("1M", 1_048_576),
            ("1MB", 1_000_000),
            ("1G", 1_073_741_824),
            ("1GB", 1_000_000_000),
            ("2x3", 6),
            ("1x2x4", 8),
            ("1bx2k", 1_048_576),
            ("00x10", 0),
            ("007", 7),
            ("18446744073709551615", u64::MAX),
        ];
        for &(text, value) in table {
            assert_eq!(parse(text.as_bytes()), Ok(value), "{text}");
        }
    }

    // U-167, U-180
    #[test]
    fn malformed_numbers_are_invalid() {
        for text in [
            "B",
            "B1",
            "Bx1",
            "KBB",
            "BB",
            "KBb",
            "1KBB",
            "1BB",
            "1kb",
            "1bb",
            "k",
            "M",
            "x1",
            "1x",
            "1xx1",
            "x",
            "",
            "-1",
            "+1",
            "1.5",
            " 1",
            "1 ",
            "1T",
            "0x10",
            "1y",
            "1\u{e9}",
            "99999999999999999999999x",
        ] {
            assert_eq!(parse(text.as_bytes()), Err(NumberError::Invalid), "{text}");
        }
    }

    // U-179
    #[test]
    fn values_beyond_64_bits_are_too_large() {
        for text in [
            "18446744073709551616",
            "18014398509481984k",
            "17179869184G",
            "4294967296x4294967296",
            "99999999999999999999999",
        ] {
            assert_eq!(parse(text.as_bytes()), Err(NumberError::TooLarge), "{text}");
        }
    }
}
