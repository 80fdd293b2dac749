//! The command line: what `--help`, the man pages and the completions say.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Parser, Subcommand};
use palladion_file::{Algorithm, ChunkSize, KdfLimits, KdfParams};

use crate::input::is_standard_input;
use crate::raf::args::RafArgs;
use crate::values::{Given, Kind, PartArgs, ThreadsArgs, algorithms, bytes};

/// Encrypts, decrypts and authenticates files with AEGIS (RFC 10032)
#[derive(Parser)]
// Not "palladion.exe", which help would say on Windows.
#[command(name = "palladion", bin_name = "palladion", version)]
#[command(max_term_width = 100, after_help = OVERVIEW)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
    /// Print no progress and no notes, only warnings and errors
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

// Each paragraph is one line, which clap wraps at the width of the terminal.
const OVERVIEW: &str = "\
Examples:
  palladion keygen                    create a key, once
  palladion encrypt notes.txt         write notes.txt.pld
  palladion decrypt notes.txt.pld     write notes.txt
  palladion verify notes.txt.pld      check it, and write nothing
  palladion encrypt -p notes.txt      with a passphrase
  palladion encrypt -r age1… in.txt   for someone whose public key you have
  tar c photos | palladion encrypt -o photos.tar.pld
  tar -I \"palladion encrypt\" -xf photos.tar.pld

Exit status:
  0  done
  1  something failed: a file, the disk, a MAC, a version that is not supported
  2  wrong usage, or files that were passed over
  3  wrong key or passphrase, or --bind is missing
  4  the input is damaged, incomplete, rolled back, bound to another place or of another kind
  128 + N  signal N ended it; 141 if the reader of its output is gone

If one of several files fails, the others are processed all the same, except by cat, and the \
status is that of the first failure.

After any status but 0, a file that failed has no output file, and with --force the old one is \
unchanged. The exceptions are --salvage, an input that --rm cannot delete, and a recipient that \
keygen cannot print: the output is there. Data already written to a pipe is verified but \
incomplete. A command that edits a RAF file in place says how far it got. SIGKILL, a power failure \
or lack of memory can leave an unfinished .palladion-*.tmp beside the output, which only you can \
read until it is complete; you can remove it.

With status 0, an output is complete and on disk. If its directory cannot be synced, a warning \
says so: a power failure may undo its creation, or bring back the file that it replaced.

Environment:
  PALLADION_KEY_FILE       the key file to use if no option names one
  PALLADION_IDENTITY_FILE  the identity file to use, likewise
  PALLADION_BACKEND        the implementation to use: see palladion backends";

#[derive(Subcommand)]
pub enum Command {
    Keygen(KeygenArgs),
    Fingerprint(FingerprintArgs),
    Recipient(RecipientFilesArgs),
    #[command(short_flag = 'e')]
    Encrypt(EncryptArgs),
    #[command(short_flag = 'd')]
    Decrypt(DecryptArgs),
    Cat(CatArgs),
    Info(InfoArgs),
    Verify(VerifyArgs),
    Slots(SlotsArgs),
    Rewrap(RewrapArgs),
    Mac(MacArgs),
    Raf(RafArgs),
    /// Lists the implementations of the ciphers and the one in use
    #[command(after_help = "\
palladion uses the best implementation that the CPU supports.

To choose another one for a test:
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

/// Creates a key file, or an identity file
///
/// A key file is a line of text with 32 random bytes and a line that checks it, readable only by
/// you. Keep a copy in a safe place: without it the files are lost. Anyone who has it can read and
/// forge them.
///
/// With --identity, the file has an identity of age instead: a secret key that opens what others
/// encrypt for its recipient, the public key, which is printed. Send the recipient to them; it is
/// no secret. age and age-keygen use the same files.
///
/// The other commands use the default key file or identity file unless an option names another.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  palladion keygen
  palladion keygen -o my.key
  palladion keygen -o - | ssh backup 'umask 077; cat > backup.key'
  palladion keygen --identity
  palladion keygen --identity --pq -o pq.identity > pq.recipient")]
pub struct KeygenArgs {
    /// The file to write, or - for standard output [default: $PALLADION_KEY_FILE, or palladion/key
    /// in $XDG_CONFIG_HOME, ~/.config or, on Windows, %APPDATA%; with --identity,
    /// $PALLADION_IDENTITY_FILE, or palladion/identity there]
    #[arg(short, long, value_name = "KEYFILE")]
    pub output: Option<PathBuf>,
    /// Create an identity file, and print the recipient
    #[arg(long)]
    pub identity: bool,
    /// Make it safe against quantum computers (ML-KEM-768 with X25519). Its recipient has 1959
    /// characters, and for those who use it with age, version 1.3 or later is needed
    #[arg(long, requires = "identity")]
    pub pq: bool,
    /// Encrypt the identity file with a passphrase, as age -p does: ask for it, or generate one if
    /// none is typed
    #[arg(short, long, requires = "identity")]
    pub passphrase: bool,
    /// Encrypt the identity file with the passphrase in the first line of this file
    #[arg(long, value_name = "FILE", requires = "identity", conflicts_with = "passphrase")]
    pub passphrase_file: Option<PathBuf>,
    /// Replace an existing file; the old one is kept beside it as KEYFILE.old-1 (-2, -3, …)
    #[arg(short, long)]
    pub force: bool,
}

/// Prints the fingerprints of key files
///
/// Eight hexadecimal digits tell keys apart. They are no secret. Messages about a wrong key name
/// the fingerprint of the key that was tried, and the line "# check:" of a key file has it too.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  palladion fingerprint
  palladion fingerprint *.key")]
pub struct FingerprintArgs {
    /// The key files, or - for standard input [default: the default key file]
    #[arg(value_name = "KEYFILE")]
    pub files: Vec<PathBuf>,
}

/// Prints the recipients of identity files
///
/// The recipient is the public key, for those who encrypt for you. A file of such lines is a
/// recipients file for encrypt -R.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  palladion recipient
  palladion recipient my.identity > my.recipient")]
pub struct RecipientFilesArgs {
    /// Read the passphrase of the identity files from the first line of a file, without its line
    /// end (\n or \r\n); can be repeated
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Vec<PathBuf>,
    /// The identity files, or - for standard input [default: the default identity file]
    #[arg(value_name = "IDENTITYFILE")]
    pub files: Vec<PathBuf>,
}

/// The recipients that options name.
#[derive(Clone, Copy)]
pub struct RecipientArgs<'a> {
    pub recipients: &'a [String],
    /// Recipients files.
    pub files: &'a [PathBuf],
    /// How messages call both options.
    pub names: [&'static str; 2],
}

impl RecipientArgs<'_> {
    pub fn are_none(&self) -> bool {
        self.recipients.is_empty() && self.files.is_empty()
    }
}

/// The keys and passphrases of new files, and whom they are for.
#[derive(clap::Args)]
pub struct SecretArgs {
    /// Encrypt for this recipient: a public key of age, age1…, or an SSH key, which takes the
    /// program age; can be repeated
    #[arg(short, long = "recipient", value_name = "RECIPIENT")]
    recipients: Vec<String>,
    /// Encrypt for the recipients in this file, or - for standard input, one a line, also SSH keys;
    /// empty lines and those that begin with # are ignored; can be repeated
    #[arg(short = 'R', long = "recipients-file", value_name = "FILE")]
    recipients_files: Vec<PathBuf>,
    /// Encrypt for the recipients of the identities in this file, or - for standard input; an SSH
    /// key must be in a file, and takes the program age; can be repeated
    #[arg(short, long = "identity", value_name = "IDENTITYFILE")]
    identity_files: Vec<PathBuf>,
    /// The key file from keygen, or - for standard input; can be repeated [default:
    /// $PALLADION_KEY_FILE, or ~/.config/palladion/key]
    #[arg(short, long = "key", value_name = "KEYFILE")]
    key_files: Vec<PathBuf>,
    /// Ask for a passphrase, or generate one if none is typed
    #[arg(short, long)]
    passphrase: bool,
    /// Read the passphrase from the first line of a file, without its line end (\n or \r\n); can be
    /// repeated
    #[arg(long, value_name = "FILE")]
    passphrase_file: Vec<PathBuf>,
}

impl SecretArgs {
    /// Empty means the default key file, unless there are recipients.
    pub fn given(&self) -> Vec<Given<'_>> {
        given(&self.key_files, &self.identity_files, &self.passphrase_file, self.passphrase)
    }

    pub fn recipients(&self) -> RecipientArgs<'_> {
        let names = ["-r", "-R"];
        RecipientArgs { recipients: &self.recipients, files: &self.recipients_files, names }
    }
}

/// The secrets that the command line names, keys first: to try one costs nothing.
fn given<'a>(
    keys: &'a [PathBuf],
    identities: &'a [PathBuf],
    passphrases: &'a [PathBuf],
    is_typed: bool,
) -> Vec<Given<'a>> {
    let files = [(Kind::Key, keys), (Kind::Identity, identities), (Kind::Passphrase, passphrases)];
    let each = |(kind, files): (Kind, &'a [PathBuf])| {
        files.iter().map(move |path| (kind, Some(path.as_path())))
    };
    let typed = is_typed.then_some((Kind::Passphrase, None));
    files.into_iter().flat_map(each).chain(typed).collect()
}

/// The inputs, the output and the number of threads.
#[derive(clap::Args)]
pub struct InOutArgs {
    /// The file to write, a directory for the files to write, or - for standard output [default:
    /// the file's name with .pld added or removed]
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Replace the output file if it exists
    #[arg(short, long)]
    pub force: bool,
    /// Delete each input once its output is on disk; not for streams, devices and links
    #[arg(long)]
    pub rm: bool,
    /// Process every file in the directories that are named; with -o OUT, the outputs go into the
    /// directory OUT, a copy of the one directory that is named
    #[arg(long)]
    pub recursive: bool,
    /// Skip a file if its output has the same date and the right length; replace an output that is
    /// older. Keep one, with a warning, if it is newer, or if encrypt finds that it opens otherwise
    /// than a new one: with another kind of secret or another key file, or bound to another place.
    /// Another passphrase and other recipients are not noticed. With --force, replace what would be
    /// kept
    #[arg(long)]
    pub skip_existing: bool,
    /// Each file of --recursive is bound to its own path: that of the encrypted file in its
    /// directory, such as 2026/january.txt.pld, with / on every system. What was encrypted with
    /// this is decrypted with it
    #[arg(long, conflicts_with = "bind")]
    pub bind_to_path: bool,
    #[command(flatten)]
    pub threads: ThreadsArgs,
    /// The files to read; - or none is standard input, which goes to standard output
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

impl InOutArgs {
    pub fn reads_standard_input(&self) -> bool {
        reads_standard_input(&self.files)
    }
}

/// Returns whether one of the files, or of none, is standard input.
fn reads_standard_input(files: &[PathBuf]) -> bool {
    files.is_empty() || files.iter().any(|file| is_standard_input(Some(file)))
}

/// The keys and passphrases to try, and what a passphrase may cost.
#[derive(clap::Args)]
pub struct RingArgs {
    /// The key file from keygen, or - for standard input; can be repeated [default:
    /// $PALLADION_KEY_FILE, or ~/.config/palladion/key]
    #[arg(short, long = "key", value_name = "KEYFILE")]
    key_files: Vec<PathBuf>,
    /// The file of an identity, as keygen --identity or age-keygen makes it, perhaps encrypted with
    /// a passphrase, or - for standard input; an SSH key must be in a file, and takes the program
    /// age; can be repeated
    /// [default: $PALLADION_IDENTITY_FILE, or ~/.config/palladion/identity]
    #[arg(short, long = "identity", value_name = "IDENTITYFILE")]
    identity_files: Vec<PathBuf>,
    /// Ask for a passphrase
    #[arg(short, long)]
    passphrase: bool,
    /// Read the passphrase, of the file or of IDENTITYFILE, from the first line of a file, without
    /// its line end (\n or \r\n); can be repeated. With neither -k nor -i, it is that of the
    /// default identity file if the file takes no passphrase
    #[arg(long, value_name = "FILE")]
    passphrase_file: Vec<PathBuf>,
    /// How much memory Argon2id may use for a passphrase, with at most the work of four passes over
    /// it [default: 1G, and at most 16 passes]
    #[arg(long, value_name = "SIZE", value_parser = kdf_memory)]
    max_kdf_memory: Option<u32>,
    /// The place that the files were bound to with encrypt --bind. A file that is bound to another
    /// one, or to none, is refused
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub bind: Option<String>,
}

impl RingArgs {
    /// Returns what a file may make us spend on its passphrase.
    pub fn kdf_limits(&self) -> KdfLimits {
        self.max_kdf_memory.map_or_else(KdfLimits::default, KdfLimits::with_memory)
    }

    /// Empty means the default key file or identity file, or a passphrase to ask for.
    pub fn given(&self) -> Vec<Given<'_>> {
        given(&self.key_files, &self.identity_files, &self.passphrase_file, self.passphrase)
    }
}

/// Encrypts files or a pipe
///
/// Writes notes.txt.pld and keeps notes.txt. The output file appears only once it is complete, with
/// the date of its input, and its permissions as far as your umask allows. Nothing is overwritten
/// without --force. Of several files, those that end in .pld are passed over. The sources describe
/// the format in docs/file-format.md.
///
/// With several keys or passphrases, any one of them opens the file: it has a key slot for each.
/// With -r, -R or -i, it is for others or for you: the identities of the recipients open it, and
/// nothing else does, unless -k or -p names more. Such a file does not prove who wrote it: anyone
/// who can open it could have written it, and so could anyone with the public key. To see and
/// change the slots, use palladion slots and palladion rewrap.
///
/// With --bind TEXT, the files are bound to a place: decrypt, cat, verify and rewrap then want the
/// same TEXT. So nobody can swap two files under one key, or put a file where it does not belong,
/// unnoticed. TEXT is not in the file, and hides nothing. Several files, and all files of
/// --recursive, are bound to the same TEXT. To tell those of a directory apart, use --bind-to-path.
///
/// With --recursive, each file in a directory is encrypted by itself. With -o OUT, OUT becomes a
/// copy of the directory, as with cp -a: with permissions, dates and symbolic links, which are not
/// followed. Names are not encrypted. A last line says what was done.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  palladion encrypt notes.txt photos.zip
  palladion encrypt -p -o sealed notes.txt
  palladion encrypt -o /media/backup/ *.jpg
  palladion encrypt --rm *.jpg
  palladion encrypt --recursive photos -o /media/backup/photos --skip-existing
  tar c photos | palladion encrypt -k my.key -o photos.tar.pld
  tar -I \"palladion encrypt\" -xf photos.tar.pld
  pass show backup | palladion encrypt -k - notes.txt
  palladion encrypt -p --kdf-memory 1G notes.txt
  palladion encrypt -k my.key -k office.key -p notes.txt
  palladion encrypt -r \"$(cat bob.recipient)\" -i my.identity notes.txt
  palladion encrypt -R team.recipients notes.txt
  palladion encrypt --bind reports/2026/january january.txt
  palladion encrypt --recursive photos -o /media/backup/photos --bind-to-path")]
pub struct EncryptArgs {
    #[command(flatten)]
    pub secret: SecretArgs,
    #[command(flatten)]
    pub in_out: InOutArgs,
    /// Which variant of AEGIS to use
    #[arg(short, long, value_name = "NAME", default_value = "AEGIS-256X2")]
    #[arg(value_parser = algorithms(), ignore_case = true)]
    pub algorithm: Algorithm,
    /// The size of a chunk: a power of two from 1K to 16M
    #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = chunk_size)]
    pub chunk_size: ChunkSize,
    #[command(flatten)]
    pub kdf: KdfArgs,
    /// Write files with key slots also for one key or passphrase: palladion rewrap can then change
    /// it, and add others
    #[arg(long)]
    pub slots: bool,
    /// Bind the files to a place, such as a path, a version or a customer: to decrypt them, the
    /// same TEXT is needed
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub bind: Option<String>,
    /// Decrypt instead, as palladion decrypt does: tar adds -d to a command to unpack
    #[arg(short, long)]
    pub decrypt: bool,
}

/// The cost of a new passphrase.
#[derive(clap::Args)]
pub struct KdfArgs {
    /// How much memory Argon2id uses to turn a passphrase into a key, with K, M or G for units of
    /// 1024; to decrypt with more than 1G, an option is needed [default: 64M]
    #[arg(long, value_name = "SIZE", value_parser = kdf_memory)]
    kdf_memory: Option<u32>,
    /// How often Argon2id passes over that memory, with 4 lanes; to decrypt with more than 16, or
    /// with more than 4 over 1G, an option is needed [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    kdf_passes: Option<u32>,
}

impl KdfArgs {
    /// The cost of a passphrase, if an option says it.
    pub fn given(&self) -> Option<KdfParams> {
        if self.kdf_memory.is_none() && self.kdf_passes.is_none() {
            return None;
        }
        let usual = KdfParams::default();
        let kdf = KdfParams::new(
            self.kdf_memory.unwrap_or(usual.memory_kib()),
            self.kdf_passes.unwrap_or(usual.passes()),
            usual.lanes(),
        );
        Some(kdf.expect("Argon2id allows what the options do"))
    }
}

/// Decrypts files or a pipe, and verifies that they are complete and unchanged
///
/// Writes notes.txt and keeps notes.txt.pld. No unverified data is written. The output file appears
/// only once all of it is verified, with the date of its input, and its permissions as far as your
/// umask allows. A pipe gets each piece as soon as it is verified, so wait for exit status 0 before
/// you trust the end. Of several files, those that do not end in .pld are passed over.
///
/// Without an option for it, each file takes what it needs: the default key, the default identity,
/// or a passphrase that you are asked for. With several, each file takes the one that opens it. The
/// passphrase of an identity file is asked for once a file needs it.
///
/// With --recursive, each file in a directory is decrypted by itself, as palladion encrypt says.
/// Names, permissions, dates and links are not authenticated: someone who can write to the
/// directory can change them, and swap files, unless each was bound to its own place with
/// --bind-to-path. An older file in the same place, and missing files, are not noticed.
///
/// --salvage is for damaged files without a backup. What it writes is authentic and in its place,
/// but someone who can write to the file can choose what is missing. If anything is, the exit
/// status is 4.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  palladion decrypt notes.txt.pld photos.zip.pld
  palladion decrypt -k my.key -o notes2.txt notes.txt.pld
  palladion decrypt -o - photos.tar.pld | tar x
  palladion decrypt -k new.key -k old.key *.pld
  palladion decrypt --recursive /media/backup/photos -o photos
  palladion decrypt --salvage -o rest-of-photos.zip photos.zip.pld
  palladion decrypt --bind reports/2026/january january.txt.pld
  palladion decrypt --recursive /media/backup/photos -o photos --bind-to-path

Exit status:
  3  wrong key or passphrase, or --bind is missing
  4  the file is damaged, incomplete, bound to another place or of another kind")]
pub struct DecryptArgs {
    #[command(flatten)]
    pub ring: RingArgs,
    /// Write what is intact of a damaged file to the file that -o names, with zeros for what is
    /// missing, and list that
    #[arg(long, requires = "output", conflicts_with_all = ["rm", "recursive", "skip_existing"])]
    pub salvage: bool,
    #[command(flatten)]
    pub in_out: InOutArgs,
    /// What tar adds to a command to unpack
    #[arg(short, long = "decrypt", hide = true)]
    _decrypt: bool,
}

/// Decrypts files, or a part of each
///
/// Reads and decrypts only the chunks that hold the part, and the last one, which proves that the
/// file is complete. Damage elsewhere goes unnoticed: to verify the whole file, use palladion
/// verify. No unverified data is written. With -o, the output file appears only once all of it is
/// verified; a pipe gets the data before a damaged chunk.
///
/// The parts of several files are written one after the other. The first failure ends the command.
///
/// The key or passphrase is found as for palladion decrypt.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  palladion cat notes.txt.pld
  palladion cat --offset 1M --length 4K disk.img.pld | hexdump -C
  palladion cat --tail 2K app.log.pld

Exit status:
  3  wrong key or passphrase
  4  the file is incomplete or of another kind, or the part is damaged")]
pub struct CatArgs {
    #[command(flatten)]
    pub ring: RingArgs,
    #[command(flatten)]
    pub part: PartArgs,
    #[command(flatten)]
    pub threads: ThreadsArgs,
    /// The files to read, which cannot be pipes; - or none is standard input
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

impl CatArgs {
    pub fn reads_standard_input(&self) -> bool {
        reads_standard_input(&self.files)
    }
}

/// Prints what the headers of files say, without a key
///
/// Reads only the header, and computes the size of the contents from that of the file. Without the
/// key, nothing of it is verified: anyone who can write to the file can change it, and a file that
/// was cut off usually seems smaller. To verify the whole file, use palladion verify.
///
/// With --json, each file is an object on a line of its own. Its names are those of the text, with
/// underscores, and "secrets", a list of what opens the file. All sizes are in bytes, and null if
/// unknown. A byte of a file name that is not UTF-8, such as 0xff, is \udcff, as in Python. More
/// names, and more kinds of secrets, may be added.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  palladion info notes.txt.pld
  palladion info --json *.pld | jq -r 'select(.secrets[].kind == \"passphrase\") | .file'

Exit status:
  4  a header is damaged or incomplete, a file is of another kind, or no file has its length")]
pub struct InfoArgs {
    /// Print an object in JSON for each file
    #[arg(long)]
    pub json: bool,
    /// The files; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
}

/// Verifies that files are complete and unchanged, and writes nothing
///
/// Decrypts each file and prints a line for it, like palladion mac --check: OK, FAILED if the file
/// is damaged or incomplete, FAILED open or read if it could not be checked. A message says why.
///
/// The key or passphrase is found as for palladion decrypt. If several files fail, the exit status
/// is that of the first failure.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  palladion verify *.pld
  palladion verify --recursive /media/backup/photos
  palladion verify -k new.key -k old.key backup/*.pld
  ssh server cat photos.tar.pld | palladion verify

Exit status:
  3  wrong key or passphrase
  4  a file is damaged, incomplete or of another kind")]
pub struct VerifyArgs {
    #[command(flatten)]
    pub ring: RingArgs,
    /// Verify every file in the directories that are named whose name ends in .pld
    #[arg(long, requires = "files")]
    pub recursive: bool,
    /// Each file of --recursive was encrypted with --bind-to-path
    #[arg(long, conflicts_with = "bind", requires = "recursive")]
    pub bind_to_path: bool,
    #[command(flatten)]
    pub threads: ThreadsArgs,
    /// The files; - or none is standard input. With --quiet, only failures are printed
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

impl VerifyArgs {
    pub fn reads_standard_input(&self) -> bool {
        reads_standard_input(&self.files)
    }
}

/// Lists the key slots of files
///
/// A file that was encrypted with several keys or passphrases has a slot for each, in two copies:
/// at its beginning and at its end. The command prints the kind of each slot, how often the slots
/// were changed (the sequence), and whether the copies are the same. If a change was interrupted,
/// it lists both, first the one that was changed last. It cannot say whose the slots are, and
/// nothing of this is verified. But with -k, -i, -p or --passphrase-file, it says which slots these
/// secrets open, and verifies that nobody without a secret of the file changed the slots. It takes
/// no default key.
///
/// A slot for recipients is a small file of age: its line has the types of age's stanzas, and
/// --extract writes it, for age or one of its libraries.
///
/// With --json, "yours" lists the numbers of the slots that the secrets open; it is null without
/// secrets. "verified" is "slots", or null if nothing was verified. "other" is the other copy of
/// the slots, or null if that is the same or damaged.
#[derive(clap::Args)]
#[command(mut_arg("key_files", |arg| arg.help("The key file from keygen, or - for standard input; \
can be repeated")))]
#[command(mut_arg("identity_files", |arg| arg.help("The file of an identity, as for palladion \
decrypt; can be repeated")))]
#[command(after_help = "\
Examples:
  palladion slots notes.txt.pld
  palladion slots -i my.identity notes.txt.pld   which of the slots are mine
  palladion slots --extract 1 notes.txt.pld | age-inspect

Exit status:
  3  none of the secrets given opens a slot
  4  a file is damaged or of another kind, or its two copies of the slots are not the same")]
pub struct SlotsArgs {
    #[command(flatten)]
    pub ring: RingArgs,
    /// Print an object in JSON for each file
    #[arg(long)]
    pub json: bool,
    /// Write the age file in this slot of one file. Its content is the key of the file
    #[arg(long, value_name = "N", conflicts_with = "json")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..))]
    pub extract: Option<u8>,
    /// The file to write with --extract [default or -: standard output]
    #[arg(short, long, value_name = "OUT", requires = "extract")]
    pub output: Option<PathBuf>,
    /// Replace the output file if it exists
    #[arg(short, long, requires = "output")]
    pub force: bool,
    /// The files, which cannot be pipes
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
}

/// What shall open a file.
#[derive(clap::Args)]
pub struct ToArgs {
    /// Make a slot for the key in this file; can be repeated
    #[arg(long = "to-key", id = "to_key", value_name = "KEYFILE")]
    key_files: Vec<PathBuf>,
    /// Make a slot for a passphrase: ask for it, or generate one if none is typed
    #[arg(long = "to-passphrase", id = "to_passphrase")]
    passphrase: bool,
    /// Make a slot for the passphrase in the first line of this file; can be repeated
    #[arg(long = "to-passphrase-file", id = "to_passphrase_file", value_name = "FILE")]
    passphrase_file: Vec<PathBuf>,
    /// Make a slot for this recipient, age1…; can be repeated
    #[arg(long = "to-recipient", id = "to_recipient", value_name = "RECIPIENT")]
    recipients: Vec<String>,
    /// Make a slot for the recipients in this file, one a line; can be repeated
    #[arg(long = "to-recipients-file", id = "to_recipients_file", value_name = "FILE")]
    recipients_files: Vec<PathBuf>,
}

impl ToArgs {
    pub fn given(&self) -> Vec<Given<'_>> {
        given(&self.key_files, &[], &self.passphrase_file, self.passphrase)
    }

    pub fn recipients(&self) -> RecipientArgs<'_> {
        let names = ["--to-recipient", "--to-recipients-file"];
        RecipientArgs { recipients: &self.recipients, files: &self.recipients_files, names }
    }
}

/// Changes which keys and passphrases open files
///
/// For files with key slots. Whatever the size of a file, only its slots are written, in place, and
/// a crash leaves the old or the new secrets in force. A file whose slots need more room is written
/// anew. Either way its date stays: for tools that compare dates, such as rsync, use --checksum.
///
/// The options -k, -i and -p say what opens the file now, as for palladion decrypt. The slots that
/// these secrets open are replaced by those that --to-key, --to-passphrase and --to-recipient say,
/// and all others stay: nobody has to know their secrets. All recipients of one command share a
/// slot, so whoever replaces it names them all again. Without -k, -i and -p, what opens the file
/// first is meant: the default key, the default identity or a passphrase.
///
/// With --add, yours stay too. With --remove, exactly the slots with these numbers are removed, and
/// with --only all that are not named. A note says which slots were removed, added and kept, and a
/// warning which kind of secret no longer opens the file.
///
/// A change that your own secret would not survive is refused without --force.
///
/// This does not lock anyone out who could open the file before: old copies of it open as before,
/// and the key of its data stays the same. For that, encrypt it again.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  palladion rewrap --add --to-key spare.key notes.txt.pld
  palladion rewrap -k old.key -k new.key --to-key new.key *.pld
  palladion rewrap -p --to-passphrase letter.txt.pld
  palladion rewrap --add --to-recipient \"$(cat bob.recipient)\" notes.txt.pld
  palladion rewrap --remove 2 notes.txt.pld
  palladion rewrap --only --to-key new.key -k new.key -k old.key --recursive photos
  palladion rewrap --repair notes.txt.pld

Exit status:
  3  wrong key or passphrase
  4  a file is damaged or of another kind")]
pub struct RewrapArgs {
    #[command(flatten)]
    pub ring: RingArgs,
    #[command(flatten)]
    pub to: ToArgs,
    /// Keep all slots that are there
    #[arg(long)]
    pub add: bool,
    /// Keep only those slots that the options --to-… name, and remove even those of other people
    #[arg(long, conflicts_with_all = ["add", "remove", "repair"])]
    pub only: bool,
    /// Remove the slot with this number, as palladion slots prints it for this one file, and keep
    /// the others; can be repeated
    #[arg(long, value_name = "N", conflicts_with = "repair")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..))]
    pub remove: Vec<u8>,
    /// Keep the copy of the slots that your secret opens, and write both again if they are not the
    /// same: one is damaged, or a change was interrupted
    #[arg(long, conflicts_with_all = ["add", "to_key", "to_passphrase", "to_passphrase_file"])]
    #[arg(conflicts_with_all = ["to_recipient", "to_recipients_file"])]
    pub repair: bool,
    /// Change every file in the directories that are named whose name ends in .pld
    #[arg(long, conflicts_with = "remove")]
    pub recursive: bool,
    /// Each file of --recursive was encrypted with --bind-to-path
    #[arg(long, conflicts_with = "bind", requires = "recursive")]
    pub bind_to_path: bool,
    /// Also if no secret that opens the files now will open them afterwards
    #[arg(short, long)]
    pub force: bool,
    #[command(flatten)]
    pub kdf: KdfArgs,
    /// The files, which cannot be pipes
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
}

/// Prints or checks message authentication codes of files
///
/// Like a checksum, but only someone with the key can create or check one. Each line has the format
/// of b3sum: 64 hexadecimal digits, two spaces, the name. If the line begins with a backslash, \\,
/// \n and \r in the name stand for a backslash, a newline and a carriage return.
///
/// A list of such lines authenticates the content of each file, but neither the names nor itself:
/// someone without the key can remove lines or swap names. To prevent that, make a MAC of the list
/// too (palladion mac MACS) and keep that line elsewhere.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  palladion mac *.iso > MACS
  palladion mac --check MACS
  tar c photos | palladion mac -k my.key")]
pub struct MacArgs {
    /// The key file from keygen, or - for standard input; it may also be used to encrypt [default:
    /// $PALLADION_KEY_FILE, or ~/.config/palladion/key]
    #[arg(short, long = "key", value_name = "KEYFILE")]
    pub key_file: Option<PathBuf>,
    /// Which variant of AEGIS to use
    #[arg(short, long, value_name = "NAME", default_value = "AEGIS-256X2")]
    #[arg(value_parser = algorithms(), ignore_case = true)]
    pub algorithm: Algorithm,
    /// Read lists of MACs from the files and check them; with --quiet, print only failures
    #[arg(short, long)]
    pub check: bool,
    /// The files [default or -: standard input]
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// Measures how fast this machine runs each variant, in a few seconds
///
/// AES-256-GCM is measured too, as the Rust crate aes-gcm implements it. OpenSSL's is faster for
/// long messages, so compare with that as well. The last line says by how much the rounds differed,
/// and whether the machine is busy.
#[derive(clap::Args)]
#[command(after_help = "\
Gigabytes (10^9 bytes) per second on one core, the fastest of several rounds.

To compare implementations:
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

/// Memory for Argon2id, in KiB.
fn kdf_memory(text: &str) -> Result<u32, String> {
    let kib = bytes(text).filter(|bytes| bytes % 1024 == 0).map(|bytes| bytes / 1024);
    let kib = kib.and_then(|kib| u32::try_from(kib).ok());
    let kib = kib.filter(|kib| (32..=4095 << 20).contains(kib));
    kib.ok_or("expected a multiple of 1K from 32K to 4095G, like 256M or 2G".into())
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
    fn memory() {
        assert_eq!(kdf_memory("32k"), Ok(32));
        assert_eq!(kdf_memory("4095G"), Ok(4095 << 20));
        for wrong in ["0", "31K", "65537", "4096G", "x"] {
            assert!(kdf_memory(wrong).is_err(), "{wrong}");
        }
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
