//! Key files and passphrases.

use std::env;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use palladion_file::{Error, MasterKey, Passphrase, Secret};
use zeroize::Zeroizing;

use crate::args::KeygenArgs;
use crate::failure::{Failure, Result, quoted, tell};
use crate::hex;
use crate::input::{Input, is_standard};
use crate::output::{Access, Output};
use crate::terminal;
use crate::values::{Given, Kind, RawFormat};

/// The longest key file or passphrase file, in bytes. A longer file is something else.
const LONGEST: usize = 64 * 1024;
/// The longest file with the bytes of a key, or their hexadecimal digits and some white space.
const LONGEST_RAW: usize = 128;

/// The secret that the user gave, kept until the work is done.
pub enum OwnSecret {
    Key(MasterKey),
    RawKey {
        key: Zeroizing<Vec<u8>>,
        /// Whether its file could also hold a key of 32 bytes that all are hexadecimal digits.
        guessed: bool,
    },
    Passphrase(Passphrase),
}

impl OwnSecret {
    /// Borrows the secret for a Palladion file.
    pub fn borrow(&self) -> Result<Secret<'_>> {
        match self {
            OwnSecret::Key(key) => Ok(key.into()),
            OwnSecret::RawKey { .. } => Err(Failure::usage(
                "a Palladion file cannot use a raw key: give a key file or a passphrase",
            )),
            OwnSecret::Passphrase(passphrase) => Ok(passphrase.into()),
        }
    }
}

/// `keygen`.
pub fn generate(args: &KeygenArgs) -> Result<()> {
    let key = MasterKey::generate().map_err(|error| Failure::new(error.to_string()))?;
    let path = match &args.output {
        Some(path) => path.clone(),
        None => default_key_file()?,
    };
    let is_new_default = args.output.is_none() && !is_standard(Some(&path));
    if is_new_default {
        if !args.force && fs::symlink_metadata(&path).is_ok() {
            return Err(Failure::new(format!("{} already exists", quoted(&path)))
                .hint("use it, or create another key file with -o KEYFILE"));
        }
        create_folder(&path)?;
    }
    let output = Output::open(Some(&path), args.force, Access::Private, &[])?;
    if is_standard(Some(&path))
        && let Some(what) = open_to_others(output.file())
    {
        tell(&format!("warning: other users can {what} the file that the key is written to"));
        tell("hint: use keygen -o KEYFILE, or chmod 600 the file");
    }
    let written = output.writer().write_all(key.to_key_file().as_bytes());
    written.map_err(|error| Failure::io("write", &output.name, &error))?;
    output.commit(args.force, true)?;
    if is_new_default {
        tell(&format!("created the key file {}; keep a copy in a safe place", quoted(&path)));
    }
    Ok(())
}

/// The key file to use if the command line names none.
fn default_key_file() -> Result<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(path) = set("PALLADION_KEY_FILE") {
        return Ok(path);
    }
    let folder = match cfg!(windows) {
        true => set("APPDATA"),
        false => set("XDG_CONFIG_HOME").filter(|folder| folder.is_absolute()).or_else(|| {
            let home = env::home_dir().filter(|home| home.is_absolute());
            home.map(|home| home.join(".config"))
        }),
    };
    folder.map(|folder| folder.join("palladion").join("key")).ok_or_else(|| {
        Failure::usage("no home directory for the default key file")
            .hint("name a key file with -k KEYFILE or PALLADION_KEY_FILE=KEYFILE")
    })
}

/// Creates the folder of a file, closed to other users, if there is none.
fn create_folder(path: &Path) -> Result<()> {
    let Some(folder) = path.parent() else { return Ok(()) };
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| Failure::io("create", &quoted(folder), &error))
}

/// The source of a command's secret: open, and read or asked for when the secret is needed.
pub struct Source {
    kind: Kind,
    file: Option<Input>,
    secret: Option<OwnSecret>,
}

impl Source {
    /// Opens the source that is given, or the default key file. The data and the secret cannot both
    /// be standard input.
    pub fn open(given: Option<Given<'_>>, data_is_standard_input: bool) -> Result<Self> {
        let default = match given {
            Some(_) => PathBuf::new(),
            None => existing_default()?,
        };
        let (kind, path) = given.unwrap_or((Kind::Key, Some(&default)));
        let mut source = Self { kind, file: None, secret: None };
        let no_directory = format!("name the {} file in it", source.name());
        source.file = path.map(|path| Input::open_as(&no_directory, Some(path))).transpose()?;
        if path.is_some_and(|path| is_standard(Some(path))) && data_is_standard_input {
            let message =
                format!("standard input cannot be both the {} and the data", source.name());
            return Err(Failure::usage(message)
                .hint(format!("name the file to read, or the {} file", source.name())));
        }
        Ok(source)
    }

    /// Asks for a passphrase.
    pub fn of_passphrase() -> Self {
        Self { kind: Kind::Passphrase, file: None, secret: None }
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

    /// The secret, read or asked for at the first call; a new passphrase is asked for twice.
    pub fn secret(&mut self, new: bool) -> Result<&OwnSecret> {
        let secret = match self.secret.take() {
            Some(secret) => secret,
            None => self.get(new).map_err(Failure::of_all_files)?,
        };
        Ok(self.secret.insert(secret))
    }

    fn get(&self, new: bool) -> Result<OwnSecret> {
        let passphrase = match &self.file {
            Some(file) => match self.kind {
                Kind::Key => return read_key(file).map(OwnSecret::Key),
                Kind::RawKey(format) => return read_raw_key(file, format),
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

/// The default key file, if there is one.
fn existing_default() -> Result<PathBuf> {
    let path = default_key_file()?;
    // Other errors are reported when it is opened.
    match fs::metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !is_standard(Some(&path)) => {
            let message =
                format!("no key given, and there is no default key file {}", quoted(&path));
            Err(Failure::usage(message).hint(
                "use -k KEYFILE, or -p for a passphrase; for a first key, run palladion keygen",
            ))
        }
        _ => Ok(path),
    }
}

/// Reads a key file. Fails if other users can read it.
fn read_key(input: &Input) -> Result<MasterKey> {
    let text = read_text(input)?;
    let key = MasterKey::from_key_file(&text).map_err(|error| {
        let failure = Failure::new(format!("{}: {error}", input.name));
        match text.contains("palladion-key-") {
            true => failure.hint("the key file is damaged: use a copy of it"),
            false => failure.hint("check that it is the right file, or use a copy of it"),
        }
    })?;
    private(input).map(|()| key)
}

/// Reads the bytes of a key, or their hexadecimal digits. Fails if other users can read the file.
fn read_raw_key(input: &Input, format: Option<RawFormat>) -> Result<OwnSecret> {
    input.begin();
    // Longer than any key, even in hexadecimal digits.
    let mut bytes = Zeroizing::new(Vec::with_capacity(LONGEST_RAW));
    let read = input.reader().take(LONGEST_RAW as u64).read_to_end(&mut bytes);
    read.map_err(|error| Failure::io("read", &input.name, &error))?;
    let decoded = hex::decode(bytes.trim_ascii());
    let guessed = format.is_none() && decoded.is_some() && bytes.len() == 32;
    let (key, expected) = match format {
        Some(RawFormat::Bytes) => (Some(bytes.clone()), "16 or 32 bytes"),
        Some(RawFormat::Hex) => (decoded, "32 or 64 hexadecimal digits"),
        // Random bytes are never all hexadecimal digits by chance.
        None => {
            let guess = decoded.unwrap_or_else(|| bytes.clone());
            (Some(guess), "16 or 32 bytes, or 32 or 64 hexadecimal digits (see --raw-key-format)")
        }
    };
    let Some(key) = key.filter(|key| matches!(key.len(), 16 | 32)) else {
        let failure = Failure::new(format!("{} is not a raw key", input.name));
        return Err(match bytes.starts_with(b"palladion-key-") {
            true => failure.hint("it is a Palladion key file: use -k KEYFILE"),
            false => failure.hint(format!("expected {expected}")),
        });
    };
    private(input).map(|()| OwnSecret::RawKey { key, guessed })
}

/// The first line of a file, without its line end, `\n` or `\r\n`.
fn first_line(input: &Input) -> Result<Zeroizing<String>> {
    private(input)?;
    let text = read_text(input)?;
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
    match input.reader().take(LONGEST as u64 + 1).read_to_string(&mut text) {
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
    let prompt = |text: &str| {
        terminal::ask(text).map_err(|error| match error.kind() {
            #[cfg(windows)]
            io::ErrorKind::Interrupted => crate::interrupt::end(),
            // Ctrl-D
            io::ErrorKind::UnexpectedEof => {
                tell("");
                Failure::new("no passphrase was given")
            }
            io::ErrorKind::InvalidInput => {
                Failure::usage(error.to_string()).hint("try again, or use --passphrase-file FILE")
            }
            _ => Failure::new(format!("no terminal to read a passphrase from: {error}"))
                .hint("use --passphrase-file FILE"),
        })
    };
    let passphrase = prompt("Passphrase: ")?;
    if new && *prompt("Confirm passphrase: ")? != *passphrase {
        return Err(Failure::usage("the two passphrases differ").hint("try again"));
    }
    Ok(passphrase)
}
