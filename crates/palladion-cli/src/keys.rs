//! Key files and passphrases.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use palladion_file::{Error, MasterKey, Passphrase, Secret};
use zeroize::Zeroizing;

use crate::args::KeygenArgs;
use crate::failure::{Failure, Result, tell};
use crate::hex;
use crate::input::{Input, is_standard};
use crate::output::{Access, Output};
use crate::values::{Given, Kind};
use crate::{interrupt, terminal};

/// The longest key file or passphrase file, in bytes. A longer file is something else.
const LONGEST: usize = 64 * 1024;
/// The longest file with the bytes of a key, or their hexadecimal digits and some white space.
const LONGEST_RAW: usize = 128;

/// The secret that the user gave, kept until the work is done.
pub enum OwnSecret {
    Key(MasterKey),
    RawKey(Zeroizing<Vec<u8>>),
    Passphrase(Passphrase),
}

impl OwnSecret {
    /// Borrows the secret for a Palladion file.
    pub fn borrow(&self) -> Result<Secret<'_>> {
        match self {
            OwnSecret::Key(key) => Ok(key.into()),
            OwnSecret::RawKey(_) => Err(Failure::usage(
                "a Palladion file cannot use a raw key: give a key file or a passphrase",
            )),
            OwnSecret::Passphrase(passphrase) => Ok(passphrase.into()),
        }
    }
}

/// `keygen`.
pub fn generate(args: &KeygenArgs) -> Result<()> {
    let key = MasterKey::generate().map_err(|error| Failure::new(error.to_string()))?;
    let output = Output::open(args.output.as_deref(), args.force, Access::Private, &[])?;
    if is_standard(args.output.as_deref())
        && let Some(what) = open_to_others(output.file())
    {
        tell(&format!("warning: other users can {what} the file that the key is written to"));
        tell("hint: use keygen -o KEYFILE, or chmod 600 the file");
    }
    let written = output.file().write_all(key.to_key_file().as_bytes());
    written.map_err(|error| Failure::io("write", &output.name, &error))?;
    output.commit(args.force)
}

/// The source of a command's secret: open, but not yet read or asked for.
pub struct Source {
    kind: Kind,
    file: Option<Input>,
}

impl Source {
    /// Opens the source. `input` is what else the command reads: both cannot be standard input.
    pub fn open((kind, path): Given<'_>, input: Option<&Path>) -> Result<Self> {
        let source = Self { kind, file: path.map(|path| Input::open(Some(path))).transpose()? };
        if path.is_some_and(|path| is_standard(Some(path))) && is_standard(input) {
            let message =
                format!("standard input cannot be both the {} and the data", source.name());
            return Err(Failure::usage(message)
                .hint(format!("name the file to read, or the {} file", source.name())));
        }
        Ok(source)
    }

    /// How messages call it.
    pub fn name(&self) -> &'static str {
        if self.kind == Kind::Passphrase { "passphrase" } else { "key" }
    }

    pub fn file(&self) -> Option<&Input> {
        self.file.as_ref()
    }

    /// Checks that the secret is of the kind that a file needs.
    pub fn fits(&self, needs_passphrase: bool) -> std::result::Result<(), Error> {
        match (needs_passphrase, self.kind == Kind::Passphrase) {
            (true, false) => Err(Error::NeedsPassphrase),
            (false, true) => Err(Error::NeedsKey),
            _ => Ok(()),
        }
    }

    /// Reads it or asks for it; a new passphrase is asked for twice.
    pub fn secret(self, new: bool) -> Result<OwnSecret> {
        let passphrase = match self.file {
            Some(file) => match self.kind {
                Kind::Key => return read_key(file).map(OwnSecret::Key),
                Kind::RawKey => return read_raw_key(file).map(OwnSecret::RawKey),
                Kind::Passphrase => first_line(file)?,
            },
            None => ask(new)?,
        };
        if passphrase.is_empty() {
            return Err(Failure::usage("the passphrase is empty"));
        }
        Ok(OwnSecret::Passphrase(Passphrase::new(passphrase.as_bytes())))
    }
}

/// Reads a key file. Fails if other users can read it.
pub fn master_key(path: &Path) -> Result<MasterKey> {
    read_key(Input::open(Some(path))?)
}

fn read_key(input: Input) -> Result<MasterKey> {
    let text = read_text(&input)?;
    let key = MasterKey::from_key_file(&text).map_err(|error| {
        let failure = Failure::new(format!("{}: {error}", input.name));
        match text.contains("palladion-key-") {
            true => failure.hint("the key file is damaged: use a copy of it"),
            false => failure.hint("palladion keygen -o KEYFILE creates a key file"),
        }
    })?;
    private(&input).map(|()| key)
}

/// Reads the bytes of a key, or their hexadecimal digits. Fails if other users can read the file.
fn read_raw_key(input: Input) -> Result<Zeroizing<Vec<u8>>> {
    input.begin();
    // Longer than any key, even in hexadecimal digits.
    let mut bytes = Zeroizing::new(Vec::with_capacity(LONGEST_RAW));
    let read = (&input.file).take(LONGEST_RAW as u64).read_to_end(&mut bytes);
    read.map_err(|error| Failure::io("read", &input.name, &error))?;
    let digits = bytes.trim_ascii();
    // Random bytes are never all hexadecimal digits by chance.
    let key = match (hex::decode(digits), bytes.len()) {
        (Some(key), _) if matches!(key.len(), 16 | 32) => key,
        (None, 16 | 32) => bytes.clone(),
        _ => {
            let failure = Failure::new(format!("{} is not a raw key", input.name));
            return Err(match bytes.starts_with(b"palladion-key-") {
                true => failure.hint("it is a Palladion key file: use -k KEYFILE"),
                false => failure.hint("expected 16 or 32 bytes, or 32 or 64 hexadecimal digits"),
            });
        }
    };
    private(&input).map(|()| key)
}

/// The first line of a file, without its line end, `\n` or `\r\n`.
fn first_line(input: Input) -> Result<Zeroizing<String>> {
    private(&input)?;
    let text = read_text(&input)?;
    Ok(Zeroizing::new(text.lines().next().unwrap_or_default().to_string()))
}

fn private(input: &Input) -> Result<()> {
    let Some(what) = open_to_others(&input.file) else { return Ok(()) };
    let hint = match input.is_standard {
        true => "make the file private with chmod 600".to_string(),
        false => format!("make it private: chmod 600 {}", input.name),
    };
    Err(Failure::new(format!("other users can {what} {}", input.name)).hint(hint))
}

fn read_text(input: &Input) -> Result<Zeroizing<String>> {
    input.begin();
    // Large enough from the start, with the spare room that `read_to_string` wants: growing would
    // leave copies in freed memory.
    let mut text = Zeroizing::new(String::with_capacity(LONGEST + 1024));
    match (&input.file).take(LONGEST as u64 + 1).read_to_string(&mut text) {
        Ok(len) if len > LONGEST => {
            let message = format!("{} is longer than {} KiB", input.name, LONGEST / 1024);
            Err(Failure::new(message).hint("check that it is the right file"))
        }
        Ok(_) => {
            // Some editors put a mark before the text, which is no part of a passphrase.
            if text.starts_with('\u{feff}') {
                text.drain(..'\u{feff}'.len_utf8());
            }
            Ok(text)
        }
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(Failure::new(format!("{} is not a text file", input.name)))
        }
        Err(error) => Err(Failure::io("read", &input.name, &error)),
    }
}

/// What users other than the owner may do with a regular file, if anything.
fn open_to_others(file: &File) -> Option<&'static str> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let mode = file.metadata().ok().filter(|metadata| metadata.is_file())?.mode();
        match (mode & 0o044 != 0, mode & 0o022 != 0) {
            (true, true) => Some("read and change"),
            (true, false) => Some("read"),
            (false, true) => Some("change"),
            (false, false) => None,
        }
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        None
    }
}

fn ask(new: bool) -> Result<Zeroizing<String>> {
    terminal::remember();
    let prompt = |text: &str| {
        rpassword::prompt_password(text).map(Zeroizing::new).map_err(|error| match error.kind() {
            // Ctrl-C
            io::ErrorKind::Interrupted => interrupt::end(),
            // Ctrl-D
            io::ErrorKind::UnexpectedEof => {
                tell("");
                Failure::new("no passphrase was given")
            }
            _ => Failure::new(format!("no terminal to read a passphrase from: {error}"))
                .hint("use --passphrase-file FILE"),
        })
    };
    let passphrase = prompt("Passphrase: ")?;
    if new && *prompt("Confirm passphrase: ")? != *passphrase {
        return Err(Failure::usage("the two passphrases differ"));
    }
    Ok(passphrase)
}
