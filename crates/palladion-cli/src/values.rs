//! Values on the command line that several commands take.

use std::num::NonZero;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use palladion_file::Algorithm;

/// The kinds of secrets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A key file as `keygen` makes it.
    Key,
    /// The bytes of a key, as other programs store it; without a format, a guess.
    RawKey(Option<RawFormat>),
    /// A file of identities, which open slots of age.
    Identity,
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

/// The part of a file that `cat` writes, and where.
#[derive(clap::Args)]
pub struct PartArgs {
    /// Where to begin: a number of bytes, with K, M, G or T for units of 1024
    // With hyphens allowed, `size` refuses -10 and says what it expects.
    #[arg(long, value_name = "N", default_value = "0", value_parser = size)]
    #[arg(allow_hyphen_values = true)]
    pub offset: u64,
    /// Begin N bytes before the end, or at the start of a shorter file
    #[arg(long, value_name = "N", value_parser = size, conflicts_with = "offset")]
    #[arg(allow_hyphen_values = true)]
    pub tail: Option<u64>,
    /// How many bytes at most [default: all]
    #[arg(long, value_name = "N", value_parser = size, allow_hyphen_values = true)]
    pub length: Option<u64>,
    /// The file to write [default or -: standard output]
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Replace the output file if it exists
    #[arg(short, long)]
    pub force: bool,
}

/// The number of threads.
#[derive(clap::Args)]
pub struct ThreadsArgs {
    /// How many threads to use [default: one for each core]
    #[arg(short, long, value_name = "N", value_parser = threads)]
    pub threads: Option<NonZero<usize>>,
}

fn threads(text: &str) -> Result<NonZero<usize>, String> {
    text.parse().map_err(|_| "expected a whole number, at least 1".into())
}

/// Accepts the names of the algorithms.
pub fn algorithms() -> impl TypedValueParser<Value = Algorithm> {
    PossibleValuesParser::new(Algorithm::ALL.map(Algorithm::name))
        .try_map(|name| name.parse::<Algorithm>())
}

/// Parses the size of a file, or an offset in it.
pub fn size(text: &str) -> Result<u64, String> {
    // No file is larger.
    let size = bytes(text).filter(|&size| i64::try_from(size).is_ok());
    size.ok_or(
        "expected a number of bytes, or a number with a unit, like 64K, 10M, 2G or 1T".into(),
    )
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

/// The size of memory, as [`bytes`] takes it, in the largest unit that fits.
pub fn in_units(kib: u32) -> String {
    match kib {
        _ if kib.is_multiple_of(1 << 20) => format!("{}G", kib >> 20),
        _ if kib.is_multiple_of(1 << 10) => format!("{}M", kib >> 10),
        _ => format!("{kib}K"),
    }
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
