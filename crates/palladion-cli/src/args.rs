//! The command line: what `--help`, the man pages and the completions say.

use std::num::NonZero;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use palladion_file::{Algorithm, ChunkSize};

use crate::raf::args::RafArgs;
use crate::values::{Given, Kind, algorithms, bytes};

/// Encrypts, decrypts and authenticates files with AEGIS (RFC 10032)
#[derive(Parser)]
#[command(name = "palladion", version, max_term_width = 100, after_help = OVERVIEW)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

const OVERVIEW: &str = "\
Examples:
  palladion keygen -o my.key                        create a key, once
  palladion encrypt -k my.key -o notes.pld notes.txt
  palladion decrypt -k my.key -o notes2.txt notes.pld
  tar c photos | palladion encrypt -p -o photos.pld     with a passphrase, from a pipe
  palladion decrypt -p photos.pld | tar x

Exit status:
  0  done
  1  something failed: a file, the disk, a MAC that does not match, a version not supported
  2  wrong usage
  3  wrong key or passphrase
  4  the input is damaged, truncated, extended, rolled back, or not a file of the expected kind
  128 + the number of the signal that ended it; 141 if the reader of its output is gone
After any status but 0 there is no new output file, and with --force the old one is unchanged. Data
already written to a pipe is verified but incomplete. A command that edits a RAF file in place says
how far it got. SIGKILL, a power failure or lack of memory can leave an unfinished .palladion-*.tmp
beside the output; you can remove it.";

#[derive(Subcommand)]
pub enum Command {
    Keygen(KeygenArgs),
    Encrypt(EncryptArgs),
    Decrypt(DecryptArgs),
    Mac(MacArgs),
    Raf(RafArgs),
    /// Lists the implementations of the ciphers and the one in use
    #[command(after_help = "\
palladion uses the best implementation that the CPU supports. To choose another one for a test:
  PALLADION_BACKEND=portable palladion speed")]
    Backends,
    Speed(SpeedArgs),
    /// Prints a completion script for a shell
    #[command(after_help = "\
Examples:
  palladion completions bash > ~/.local/share/bash-completion/completions/palladion
  palladion completions zsh > \"${fpath[1]}/_palladion\"
  palladion completions fish > ~/.config/fish/completions/palladion.fish")]
    Completions {
        shell: clap_complete::Shell,
    },
    /// Prints the manual page, or writes the pages of all commands into a directory
    #[command(after_help = "\
Examples:
  palladion man | man -l -
  palladion man ~/.local/share/man/man1")]
    Man {
        /// Where to write palladion.1, palladion-encrypt.1, …
        dir: Option<PathBuf>,
    },
}

/// Creates a key file
///
/// A key file is one line of text with 32 random bytes. Keep a copy in a safe place: without it the
/// files are lost. Anyone who has it can read and forge them.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  palladion keygen -o my.key
  palladion keygen | ssh backup 'umask 077; cat > backup.key'")]
pub struct KeygenArgs {
    /// The key file to write, readable only by you [default: standard output]
    #[arg(short, long, value_name = "KEYFILE")]
    pub output: Option<PathBuf>,
    /// Replace an existing key file; files encrypted with the old key are lost
    #[arg(short, long)]
    pub force: bool,
}

/// The key or passphrase.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub struct SecretArgs {
    /// The key file from keygen; - reads it from standard input
    #[arg(short, long = "key", value_name = "KEYFILE")]
    pub key_file: Option<PathBuf>,
    /// Ask for a passphrase
    #[arg(short, long)]
    pub passphrase: bool,
    /// Read the passphrase from the first line of a file, without its line end (\n or \r\n)
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Option<PathBuf>,
}

impl SecretArgs {
    pub fn given(&self) -> Given<'_> {
        match &self.key_file {
            Some(path) => (Kind::Key, Some(path)),
            None => (Kind::Passphrase, self.passphrase_file.as_deref()),
        }
    }
}

/// The input, the output and the number of threads.
#[derive(clap::Args)]
pub struct InOutArgs {
    /// The file to write [default or -: standard output]
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Replace the output file if it exists
    #[arg(short, long)]
    pub force: bool,
    /// How many threads to use [default: one for each core]
    #[arg(short, long, value_name = "N", value_parser = threads)]
    pub threads: Option<NonZero<usize>>,
    /// The file to read [default or -: standard input]
    #[arg(value_name = "IN")]
    pub input: Option<PathBuf>,
}

/// Encrypts a file or a pipe of any size
///
/// The output file appears only once it is complete, with the permissions that your umask gives.
/// Nothing is overwritten without --force. The sources describe the format in docs/file-format.md.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  palladion encrypt -k my.key -o notes.pld notes.txt
  palladion encrypt -p -o notes.pld notes.txt
  tar c photos | palladion encrypt -k my.key > photos.pld
  pass show backup | palladion encrypt -k - -o notes.pld notes.txt")]
pub struct EncryptArgs {
    #[command(flatten)]
    pub secret: SecretArgs,
    #[command(flatten)]
    pub in_out: InOutArgs,
    /// Which variant of AEGIS to use
    #[arg(short, long, value_name = "NAME", default_value = "AEGIS-256X2", value_parser = algorithms(), ignore_case = true)]
    pub algorithm: Algorithm,
    /// The size of a chunk: a power of two from 1K to 16M
    #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = chunk_size)]
    pub chunk_size: ChunkSize,
}

/// Decrypts a file or a pipe and verifies that it is complete and unchanged
///
/// No unverified data is written. The output file appears only once all of it is verified. A pipe
/// gets each piece as soon as it is verified, so wait for exit status 0 before you trust the end.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  palladion decrypt -k my.key -o notes2.txt notes.pld
  palladion decrypt -p photos.pld | tar x

Exit status: 3 for a wrong key or passphrase, 4 for a damaged, truncated or extended file.")]
pub struct DecryptArgs {
    #[command(flatten)]
    pub secret: SecretArgs,
    #[command(flatten)]
    pub in_out: InOutArgs,
}

/// Prints or checks message authentication codes of files
///
/// Like a checksum, but only someone with the key can create or check one. Each line has the format
/// of b3sum: 64 hexadecimal digits, two spaces, the name. If the line begins with a backslash, \\,
/// \n and \r in the name stand for a backslash, a newline and a carriage return.
///
/// A list of such lines authenticates the content of each file, but neither the names nor itself:
/// someone without the key can remove lines or swap names. To prevent that, make a MAC of the list
/// too (palladion mac -k my.key MACS) and keep that line elsewhere.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  palladion mac -k my.key *.iso > MACS
  palladion mac -k my.key --check MACS
  tar c photos | palladion mac -k my.key")]
pub struct MacArgs {
    /// The key file from keygen; it may also be used to encrypt
    #[arg(short, long = "key", value_name = "KEYFILE")]
    pub key_file: PathBuf,
    /// Which variant of AEGIS to use
    #[arg(short, long, value_name = "NAME", default_value = "AEGIS-256X2", value_parser = algorithms(), ignore_case = true)]
    pub algorithm: Algorithm,
    /// Read lists of MACs from the files and check them
    #[arg(short, long)]
    pub check: bool,
    /// With --check, print only failures
    #[arg(short, long, requires = "check")]
    pub quiet: bool,
    /// The files [default or -: standard input]
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// Measures how fast this machine runs each variant, in a few seconds
#[derive(clap::Args)]
#[command(after_help = "\
Gigabytes (10^9 bytes) per second on one core, the median of several rounds. To compare implementations:
  PALLADION_BACKEND=portable palladion speed")]
pub struct SpeedArgs {
    /// How long to measure, in seconds
    #[arg(long, value_name = "N", default_value_t = 4.0, value_parser = seconds)]
    pub seconds: f64,
}

fn chunk_size(text: &str) -> Result<ChunkSize, String> {
    let bytes = bytes(text).and_then(|bytes| usize::try_from(bytes).ok());
    bytes.and_then(ChunkSize::new).ok_or("expected a power of two from 1K to 16M, like 64K".into())
}

fn threads(text: &str) -> Result<NonZero<usize>, String> {
    text.parse().map_err(|_| "expected a whole number, at least 1".into())
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.1..=3600.0).contains(seconds));
    seconds.ok_or("expected a number from 0.1 to 3600".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn chunk_sizes() {
        assert_eq!(chunk_size("1M").unwrap(), ChunkSize::default());
        assert_eq!(chunk_size("1024").unwrap(), ChunkSize::MIN);
        assert_eq!(chunk_size("16m").unwrap(), ChunkSize::MAX);
        for wrong in
            ["", "K", "0", "1", "3K", "32M", "-1K", "1G", "99999999999999999999M", "1Ki", "\u{e9}"]
        {
            assert!(chunk_size(wrong).is_err(), "{wrong}");
        }
    }
}
