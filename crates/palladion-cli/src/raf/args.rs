//! The command line of `raf`.

use std::path::PathBuf;

use clap::Subcommand;
use palladion_raf::{Algorithm, is_chunk_size};

use crate::hex;
use crate::values::{Given, Kind, algorithms, bytes};

/// Works on encrypted files that can be read and changed at any place
///
/// RAF is the format of libaegis for random access: chunks that are encrypted one by one. A change
/// writes only the chunks that it touches. docs/raf.md of the sources says what that promises and
/// what it does not.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  palladion raf import -k my.key disk.img disk.raf
  palladion raf cat -k my.key --offset 1M --length 4K disk.raf
  palladion raf write -k my.key --offset 1M disk.raf patch
  palladion raf verify -k my.key disk.raf
  palladion raf export -k my.key disk.raf disk2.img")]
pub struct RafArgs {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Create(CreateArgs),
    Info(InfoArgs),
    Cat(CatArgs),
    Write(WriteArgs),
    Truncate(TruncateArgs),
    Verify(VerifyArgs),
    Import(ImportArgs),
    Export(ExportArgs),
}

/// The key or passphrase.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub struct SecretArgs {
    /// The key file, as keygen makes it, from which the file's master key is derived; - reads it
    /// from standard input
    #[arg(short, long = "key", value_name = "KEYFILE")]
    key_file: Option<PathBuf>,
    /// The master key itself, as other programs have it: a file of 16 or 32 bytes, or of their
    /// hexadecimal digits
    #[arg(long, value_name = "FILE")]
    raw_key: Option<PathBuf>,
    /// Ask for a passphrase
    #[arg(short, long)]
    passphrase: bool,
    /// Take the first line of a file, without its line end (\n or \r\n), as passphrase, for scripts
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

#[derive(clap::Args)]
pub struct KeyArgs {
    #[command(flatten)]
    secret: SecretArgs,
    /// Use a master key derived for this purpose, as aegis_raf_derive_master_key of libaegis does
    #[arg(long, value_name = "TEXT", requires = "SecretArgs")]
    pub context: Option<String>,
}

impl KeyArgs {
    /// Nothing if there is no secret, which only `info` allows.
    pub fn given(&self) -> Option<Given<'_>> {
        let SecretArgs { key_file, raw_key, passphrase, passphrase_file } = &self.secret;
        match (key_file, raw_key, passphrase_file) {
            (Some(path), _, _) => Some((Kind::Key, Some(path))),
            (_, Some(path), _) => Some((Kind::RawKey, Some(path))),
            (_, _, Some(path)) => Some((Kind::Passphrase, Some(path))),
            _ => passphrase.then_some((Kind::Passphrase, None)),
        }
    }
}

/// What a new file is like.
#[derive(clap::Args)]
pub struct NewArgs {
    /// Which variant of AEGIS to use
    #[arg(short, long, value_name = "NAME", default_value = "AEGIS-256X2", value_parser = algorithms(), ignore_case = true)]
    pub algorithm: Algorithm,
    /// How much to encrypt at once: a multiple of 16 bytes from 1K to 1M. Small chunks are for
    /// small changes here and there
    #[arg(long, value_name = "SIZE", default_value = "64K", value_parser = chunk_size)]
    pub chunk_size: u32,
    /// Replace the file if it exists
    #[arg(short, long)]
    pub force: bool,
}

/// Makes a new file, empty or full of zeros
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  palladion raf create -k my.key notes.raf
  palladion raf create -k my.key --size 1G disk.raf")]
pub struct CreateArgs {
    #[command(flatten)]
    pub key: KeyArgs,
    #[command(flatten)]
    pub new: NewArgs,
    /// How many bytes of zeros, with K, M, G or T for units of 1024. They are encrypted, so they
    /// take up disk space
    #[arg(long, value_name = "SIZE", default_value = "0", value_parser = size)]
    pub size: u64,
    /// The file to make
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Tells what a file says about itself, and with a key verifies that
///
/// Only the header is read: palladion raf verify reads all of the file.
#[derive(clap::Args)]
#[command(mut_group("SecretArgs", |group| group.required(false)))]
#[command(after_help = "\
Examples:
  palladion raf info disk.raf
  palladion raf info -k my.key disk.raf")]
pub struct InfoArgs {
    #[command(flatten)]
    pub key: KeyArgs,
    /// The file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Decrypts a file or a part of it
///
/// Nothing unverified comes out. With -o, the output appears under its name only when all of it is
/// verified; a pipe gets what comes before a damaged chunk.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  palladion raf cat -k my.key notes.raf
  palladion raf cat -k my.key --offset 1M --length 4K disk.raf | hexdump -C")]
pub struct CatArgs {
    #[command(flatten)]
    pub key: KeyArgs,
    /// Where to begin: a number of bytes, with K, M, G or T for units of 1024
    #[arg(long, value_name = "N", default_value = "0", value_parser = size)]
    pub offset: u64,
    /// How many bytes at most [default: all]
    #[arg(long, value_name = "N", value_parser = size)]
    pub length: Option<u64>,
    /// The file to write; without it or with -, standard output
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Replace the output file if it exists
    #[arg(short, long)]
    pub force: bool,
    /// The file to read
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Overwrites a part of a file in place, or appends to it
///
/// The file grows if necessary, with zeros between its old end and the offset. Bytes past the
/// written data stay. There is no journal. If this is interrupted, the data is written up to a
/// point, and a message says how far. If the power fails, chunks that were being written may be
/// damaged.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  palladion raf write -k my.key --offset 1M disk.raf patch
  date | palladion raf write -k my.key --append log.raf")]
pub struct WriteArgs {
    #[command(flatten)]
    pub key: KeyArgs,
    /// Where to begin: a number of bytes, with K, M, G or T for units of 1024
    #[arg(long, value_name = "N", default_value = "0", value_parser = size)]
    pub offset: u64,
    /// Begin at the end of the file
    #[arg(long, conflicts_with = "offset")]
    pub append: bool,
    /// The file to write into
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The data; without it or with -, standard input
    #[arg(value_name = "IN")]
    pub input: Option<PathBuf>,
}

/// Makes a file shorter or longer, in place
///
/// Data past the new end is discarded. New bytes are zeros; they are encrypted, so they take up
/// disk space.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  palladion raf truncate -k my.key log.raf 0
  palladion raf truncate -k my.key disk.raf 2G")]
pub struct TruncateArgs {
    #[command(flatten)]
    pub key: KeyArgs,
    /// The file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// How many bytes it has in the end, with K, M, G or T for units of 1024
    #[arg(value_name = "SIZE", value_parser = size)]
    pub size: u64,
}

/// Reads all of a file, and names the chunks that are damaged
///
/// That every chunk is authentic does not mean that it is the newest: whoever can write to the file
/// can bring back an older version of it, or of single chunks. A commitment, made after the last
/// change and kept elsewhere, tells.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  palladion raf verify -k my.key disk.raf
  palladion raf verify -k my.key --commitment disk.raf > disk.commitment
  palladion raf verify -k my.key --expect \"$(cat disk.commitment)\" disk.raf

The commitment is the one of pyaegis: the root of a Merkle tree of SHA-256, as 64 hexadecimal digits. It depends on how many
chunks the tree has room for, which is printed after it.

Exit status: 4 if a chunk is damaged, or the commitment is another one.")]
pub struct VerifyArgs {
    #[command(flatten)]
    pub key: KeyArgs,
    /// Print what stands for all contents of the file, and for how many chunks there is room in its
    /// Merkle tree
    #[arg(long)]
    pub commitment: bool,
    /// Fail if the commitment is not this one; what --commitment printed may be given as a whole
    #[arg(long, value_name = "HEX", value_parser = commitment)]
    pub expect: Option<Commitment>,
    /// For how many chunks there is room in the Merkle tree [default: 16384, or the next power of
    /// two that is enough]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    pub max_chunks: Option<u64>,
    /// The file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Makes a new file from a plain one or a pipe
///
/// The output appears under its name only when it is complete. Nothing is overwritten without
/// --force.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  palladion raf import -k my.key disk.img disk.raf
  zcat disk.img.gz | palladion raf import -k my.key - disk.raf")]
pub struct ImportArgs {
    #[command(flatten)]
    pub key: KeyArgs,
    #[command(flatten)]
    pub new: NewArgs,
    /// The file to read; with -, standard input
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// The file to make
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Decrypts all of a file into a plain one or a pipe
///
/// The output appears under its name only when all of it is verified; a pipe gets what comes before
/// a damaged chunk.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  palladion raf export -k my.key disk.raf disk.img
  palladion raf export -k my.key disk.raf - | gzip > disk.img.gz")]
pub struct ExportArgs {
    #[command(flatten)]
    pub key: KeyArgs,
    /// Replace the output file if it exists
    #[arg(short, long)]
    pub force: bool,
    /// The file to read
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The file to write; with -, standard output
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
}

/// What `verify --commitment` prints, with or without the room of the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Commitment {
    pub hash: Vec<u8>,
    pub max_chunks: Option<u64>,
}

fn chunk_size(text: &str) -> Result<u32, String> {
    let size = bytes(text).and_then(|size| u32::try_from(size).ok());
    size.filter(|size| is_chunk_size(*size))
        .ok_or("a multiple of 16 from 1K to 1M, like 64K".into())
}

fn size(text: &str) -> Result<u64, String> {
    // No file is larger.
    let size = bytes(text).filter(|&size| i64::try_from(size).is_ok());
    size.ok_or("a number of bytes, or of units like 64K, 10M, 2G, 1T".into())
}

fn commitment(text: &str) -> Result<Commitment, String> {
    let parse = || {
        let mut words = text.split_whitespace();
        let hash = hex::decode(words.next()?.as_bytes()).filter(|hash| hash.len() == 32)?.to_vec();
        let max_chunks = words
            .next()
            .map(|word| word.parse().ok().filter(|&max| max > 0))
            .map_or(Some(None), |max| max.map(Some))?;
        words.next().is_none().then_some(Commitment { hash, max_chunks })
    };
    parse().ok_or("64 hexadecimal digits, or what --commitment printed".into())
}

#[cfg(test)]
mod tests {
    use palladion_raf::CHUNK_MAX;

    use super::*;

    #[test]
    fn chunk_sizes() {
        assert_eq!(chunk_size("1040"), Ok(1040));
        assert_eq!(chunk_size("1m"), Ok(CHUNK_MAX));
        for wrong in ["0", "1000", "1032", "2M", "1048592", "8T", "x"] {
            assert!(chunk_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn commitments() {
        let digits = "5a".repeat(32);
        let hash = vec![0x5a; 32];
        assert_eq!(commitment(&digits), Ok(Commitment { hash: hash.clone(), max_chunks: None }));
        assert_eq!(
            commitment(&format!(" {digits}  7\n")),
            Ok(Commitment { hash, max_chunks: Some(7) })
        );
        for wrong in [
            "",
            "5a",
            &digits[1..],
            &format!("{digits} 0"),
            &format!("{digits} 1 2"),
            &format!("{digits} x"),
        ] {
            assert!(commitment(wrong).is_err(), "{wrong}");
        }
    }
}
