//! Values on the command line that several commands take.

use std::path::Path;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use palladion_file::Algorithm;

/// The kinds of secrets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A key file as `keygen` makes it.
    Key,
    /// The bytes of a key, as other programs store it; without a format, a guess.
    RawKey(Option<RawFormat>),
    Passphrase,
}

/// The secret that the command line names: its kind, and the file that holds it. Without a file,
/// the user is asked for it.
pub type Given<'a> = (Kind, Option<&'a Path>);

/// How the file of a raw key holds it.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum RawFormat {
    /// 16 or 32 bytes
    Bytes,
    /// 32 or 64 hexadecimal digits
    Hex,
}

/// Accepts the names of the algorithms.
pub fn algorithms() -> impl TypedValueParser<Value = Algorithm> {
    PossibleValuesParser::new(Algorithm::ALL.map(Algorithm::name))
        .try_map(|name| name.parse::<Algorithm>())
}

/// Parses a number of bytes, with or without a unit.
pub fn bytes(text: &str) -> Option<u64> {
    let units = [('k', 1 << 10), ('m', 1 << 20), ('g', 1 << 30), ('t', 1 << 40)];
    let last = text.chars().last().map(|last| last.to_ascii_lowercase());
    let (digits, unit) = match units.into_iter().find(|(unit, _)| Some(*unit) == last) {
        Some((_, bytes)) => (&text[..text.len() - 1], bytes),
        None => (text, 1),
    };
    // `parse` would accept a plus sign.
    let number = digits
        .starts_with(|first: char| first.is_ascii_digit())
        .then(|| digits.parse::<u64>().ok());
    number.flatten()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, expected) in [
            ("0", 0),
            ("17", 17),
            ("64K", 65536),
            ("1m", 1 << 20),
            ("2G", 2 << 30),
            ("1t", 1 << 40),
        ] {
            assert_eq!(bytes(text), Some(expected));
        }
        assert_eq!(bytes("18446744073709551615"), Some(u64::MAX));
        for wrong in [
            "",
            "K",
            "-1",
            "+1",
            "1.5K",
            "1 K",
            "1Ki",
            "16777216T",
            "18446744073709551616",
            "\u{e9}",
        ] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }
}
