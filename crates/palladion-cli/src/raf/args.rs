//! The command line of `raf`.

use std::path::PathBuf;

use clap::Subcommand;
use palladion_raf::{Algorithm, is_chunk_size};

use crate::hex;
use crate::values::{Given, Kind, PartArgs, RawFormat, algorithms, bytes, size};

/// Reads and edits encrypted files at any offset
///
/// RAF is libaegis's format for random access. Each chunk is encrypted separately, so a change
/// rewrites only the chunks that it touches. The sources describe what it promises in docs/raf.md.
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

const NEW_PASSPHRASE: &str = "Ask for a passphrase, or generate one if none is typed";

/// The key or passphrase.
#[derive(clap::Args)]
#[group(multiple = false)]
pub struct SecretArgs {
    /// The key file from keygen, or - for standard input; the master key is derived from it
    /// [default: $PALLADION_KEY_FILE, or ~/.config/palladion/key]
    #[arg(short, long = "key", value_name = "KEYFILE")]
    key_file: Option<PathBuf>,
    /// The master key itself, as other programs store it: a file of 16 or 32 bytes, or of 32 or 64
    /// hexadecimal digits
    #[arg(long, value_name = "FILE")]
    raw_key: Option<PathBuf>,
    /// Ask for a passphrase
    #[arg(short, long)]
    passphrase: bool,
    /// Read the passphrase from the first line of a file, without its line end (\n or \r\n)
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

#[derive(clap::Args)]
pub struct KeyArgs {
    #[command(flatten)]
    secret: SecretArgs,
    /// Use a master key derived for this purpose, as aegis_raf_derive_master_key of libaegis does
    #[arg(long, value_name = "TEXT")]
    pub context: Option<String>,
    /// How the file of --raw-key holds the key [default: hexadecimal digits, if there is nothing
    /// else]
    #[arg(long, value_name = "FORMAT", requires = "raw_key")]
    #[arg(conflicts_with_all = ["key_file", "passphrase", "passphrase_file"])]
    raw_key_format: Option<RawFormat>,
}

impl KeyArgs {
    /// `None` means the default key file or, for `info`, no key.
    pub fn given(&self) -> Option<Given<'_>> {
        let SecretArgs { key_file, raw_key, passphrase, passphrase_file } = &self.secret;
        match (key_file, raw_key, passphrase_file) {
            (Some(path), _, _) => Some((Kind::Key, Some(path))),
            (_, Some(path), _) => Some((Kind::RawKey(self.raw_key_format), Some(path))),
            (_, _, Some(path)) => Some((Kind::Passphrase, Some(path))),
            _ => passphrase.then_some((Kind::Passphrase, None)),
        }
    }
}

/// The properties of a new file.
#[derive(clap::Args)]
pub struct NewArgs {
    /// Which variant of AEGIS to use
    #[arg(short, long, value_name = "NAME", default_value = "AEGIS-256X2")]
    #[arg(value_parser = algorithms(), ignore_case = true)]
    pub algorithm: Algorithm,
    /// The size of a chunk: a multiple of 16 bytes from 1K to 1M. Choose small chunks for small
    /// scattered changes
    #[arg(long, value_name = "SIZE", default_value = "64K", value_parser = chunk_size)]
    pub chunk_size: u32,
    /// Replace the file if it exists
    #[arg(short, long)]
    pub force: bool,
}

/// Creates a file, empty or filled with zeros
#[derive(clap::Args)]
#[command(mut_arg("passphrase", |arg| arg.help(NEW_PASSPHRASE)))]
#[command(after_help = "\
Examples:
  palladion raf create -k my.key notes.raf
  palladion raf create -k my.key --size 1G disk.raf")]
pub struct CreateArgs {
    #[command(flatten)]
    pub key: KeyArgs,
    #[command(flatten)]
    pub new: NewArgs,
    /// The number of zero bytes, with K, M, G or T for units of 1024. They are encrypted, so they
    /// take up disk space
    #[arg(long, value_name = "SIZE", default_value = "0", value_parser = size)]
    pub size: u64,
    /// The file to create
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Prints the header of a file, and verifies it if a key is given
///
/// This reads only the header. To verify the whole file, use palladion raf verify.
///
/// With --json, the output is an object whose names are those of the text, with underscores, and
/// "header_verified", true or false. All sizes are in bytes. More names may be added.
#[derive(clap::Args)]
#[command(mut_arg("context", |context| context.requires("SecretArgs")))]
#[command(mut_arg("key_file", |key| key.help("The key file from keygen, or - for standard input")))]
#[command(after_help = "\
Examples:
  palladion raf info disk.raf
  palladion raf info -k my.key disk.raf
  palladion raf info --json disk.raf | jq .size")]
pub struct InfoArgs {
    #[command(flatten)]
    pub key: KeyArgs,
    /// Print an object in JSON
    #[arg(long)]
    pub json: bool,
    /// The file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Decrypts a file or a part of it
///
/// No unverified data is written. With -o, the output file appears only once all of it is verified;
/// a pipe gets the data before a damaged chunk.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  palladion raf cat -k my.key notes.raf
  palladion raf cat -k my.key --offset 1M --length 4K disk.raf | hexdump -C")]
pub struct CatArgs {
    #[command(flatten)]
    pub key: KeyArgs,
    #[command(flatten)]
    pub part: PartArgs,
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
    #[arg(allow_hyphen_values = true)] // as in `PartArgs`
    pub offset: u64,
    /// Begin at the end of the file
    #[arg(long, conflicts_with = "offset")]
    pub append: bool,
    /// The file to write into
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The data [default or -: standard input]
    #[arg(value_name = "IN")]
    pub input: Option<PathBuf>,
}

/// Truncates or extends a file in place
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
    /// The new size in bytes, with K, M, G or T for units of 1024
    #[arg(value_name = "SIZE", value_parser = size)]
    pub size: u64,
}

/// Verifies whole files and names each damaged chunk
///
/// An authentic chunk may still be an old one: anyone who can write to the file can restore an
/// older version of it, or of single chunks. To detect that, make a commitment after the last
/// change and keep it elsewhere.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  palladion raf verify -k my.key *.raf
  palladion raf verify -k my.key --commitment disk.raf > disk.commitment
  palladion raf verify -k my.key --expect \"$(cat disk.commitment)\" disk.raf

The commitment is compatible with pyaegis: the root of a Merkle tree of SHA-256, as 64 \
hexadecimal digits. It depends on how many chunks the tree has room for, which is printed after it.

Exit status:
  4  a chunk is damaged, or the commitment differs")]
pub struct VerifyArgs {
    #[command(flatten)]
    pub key: KeyArgs,
    /// Print a commitment to all contents of the file, and how many chunks its Merkle tree has room
    /// for
    #[arg(long)]
    pub commitment: bool,
    /// Fail if the commitment is not this one, as --commitment printed it
    #[arg(long, value_name = "HEX", value_parser = commitment)]
    pub expect: Option<Commitment>,
    /// How many chunks the Merkle tree has room for [default: 16384, or the next power of two that
    /// is enough]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    pub max_chunks: Option<u64>,
    /// The files; one for --commitment and --expect. With --quiet, only failures are printed
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
}

impl VerifyArgs {
    /// How many chunks the tree of the expected commitment has room for, if it says.
    pub fn expected_chunks(&self) -> Option<u64> {
        self.expect.as_ref()?.max_chunks
    }
}

/// Encrypts a plain file or a pipe into a new file
///
/// The output file appears only once it is complete. Nothing is overwritten without --force.
#[derive(clap::Args)]
#[command(mut_arg("passphrase", |arg| arg.help(NEW_PASSPHRASE)))]
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
    /// The file to create
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Decrypts a whole file to a plain file or a pipe
///
/// The output file appears only once all of it is verified; a pipe gets the data before a damaged
/// chunk.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  palladion raf export -k my.key disk.raf disk.img
  palladion raf export -k my.key disk.raf - | gzip > disk.img.gz
  palladion raf export -k my.key --salvage disk.raf rest-of-disk.img")]
pub struct ExportArgs {
    #[command(flatten)]
    pub key: KeyArgs,
    /// Write what is intact of a damaged or truncated file, with zeros for damaged chunks, and list
    /// what is missing
    #[arg(long)]
    pub salvage: bool,
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

/// What `verify --commitment` prints, with or without the size of the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Commitment {
    pub hash: Vec<u8>,
    pub max_chunks: Option<u64>,
}

fn chunk_size(text: &str) -> Result<u32, String> {
    let size = bytes(text).and_then(|size| u32::try_from(size).ok());
    size.filter(|size| is_chunk_size(*size))
        .ok_or("expected a multiple of 16 from 1K to 1M, like 64K".into())
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
    parse().ok_or("expected 64 hexadecimal digits, or the output of --commitment".into())
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
