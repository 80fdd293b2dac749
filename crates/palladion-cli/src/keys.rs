//! Key files and passphrases.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use palladion_file::{MasterKey, Passphrase, Secret};
use zeroize::Zeroizing;

use crate::args::{KeygenArgs, SecretArgs};
use crate::failure::{Failure, Result, quoted};
use crate::input::{Input, is_standard};
use crate::output::{Access, Output};

/// Key files and passphrase files are short; what is longer is something else.
const LONGEST: u64 = 64 * 1024;

/// What the user gave, kept until the work is done.
pub enum OwnSecret {
    Key(MasterKey),
    Passphrase(Passphrase),
}

impl OwnSecret {
    pub fn borrow(&self) -> Secret<'_> {
        match self {
            OwnSecret::Key(key) => key.into(),
            OwnSecret::Passphrase(passphrase) => passphrase.into(),
        }
    }
}

/// `keygen`.
pub fn generate(args: &KeygenArgs) -> Result<()> {
    let key = MasterKey::generate().map_err(|error| Failure::new(error.to_string()))?;
    let output = Output::open(args.output.as_deref(), args.force, Access::Private, None)?;
    if is_standard(args.output.as_deref()) && open_to_others(output.file()) {
        eprintln!("warning: others can read the file that the key goes to");
        eprintln!("hint: use keygen -o KEYFILE, or chmod 600 the file");
    }
    let written = output.file().write_all(key.to_key_file().as_bytes());
    written.map_err(|error| Failure::io("write", &output.name, &error))?;
    output.commit(args.force)
}

/// The secret of `encrypt` and `decrypt`. A new passphrase is asked for twice. `input` is what the command reads.
pub fn secret(args: &SecretArgs, new: bool, input: Option<&Path>) -> Result<OwnSecret> {
    if let Some(path) = &args.key_file {
        if is_standard(Some(path)) && is_standard(input) {
            return Err(Failure::usage("standard input cannot be both the key and the data")
                .hint("name the file to read, or the key file"));
        }
        return master_key(path).map(OwnSecret::Key);
    }
    let passphrase = match &args.passphrase_file {
        Some(path) => passphrase_file(path)?,
        None => ask(new)?,
    };
    if passphrase.is_empty() {
        return Err(Failure::usage("the passphrase is empty"));
    }
    Ok(OwnSecret::Passphrase(Passphrase::new(passphrase.as_bytes())))
}

/// Reads a key file, if nobody else can.
pub fn master_key(path: &Path) -> Result<MasterKey> {
    let (name, text) = read_secret(path)?;
    MasterKey::from_key_file(&text).map_err(|error| {
        Failure::new(format!("{name}: {error}")).hint("make a key file with: palladion keygen -o KEYFILE")
    })
}

fn passphrase_file(path: &Path) -> Result<Zeroizing<String>> {
    let (_, text) = read_secret(path)?;
    Ok(Zeroizing::new(text.lines().next().unwrap_or_default().to_string()))
}

fn read_secret(path: &Path) -> Result<(String, Zeroizing<String>)> {
    let Input { mut file, name, .. } = Input::open(Some(path))?;
    if open_to_others(&file) {
        let hint = format!("make it yours alone: chmod 600 {}", quoted(path));
        return Err(Failure::new(format!("others can read {name}")).hint(hint));
    }
    let mut text = Zeroizing::new(String::with_capacity(4096));
    let read = (&mut file).take(LONGEST).read_to_string(&mut text);
    match read {
        Ok(_) => Ok((name, text)),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(Failure::new(format!("{name} is not a text file")))
        }
        Err(error) => Err(Failure::io("read", &name, &error)),
    }
}

/// Whether anybody but the owner may open a regular file.
fn open_to_others(file: &File) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.mode() & 0o077 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        false
    }
}

fn ask(new: bool) -> Result<Zeroizing<String>> {
    remember_terminal();
    let prompt = |text: &str| {
        rpassword::prompt_password(text).map(Zeroizing::new).map_err(|error| {
            Failure::new(format!("cannot ask for the passphrase: {error}"))
                .hint("without a terminal, use --passphrase-file FILE")
        })
    };
    let passphrase = prompt("Passphrase: ")?;
    if new && *prompt("Once more: ")? != *passphrase {
        return Err(Failure::usage("the two passphrases differ"));
    }
    Ok(passphrase)
}

/// How the terminal was before the prompt switched its echo off.
#[cfg(unix)]
static TERMINAL: std::sync::Mutex<Option<(File, rustix::termios::Termios)>> = std::sync::Mutex::new(None);

fn remember_terminal() {
    #[cfg(unix)]
    if let (Ok(tty), Ok(mut terminal)) = (File::open("/dev/tty"), TERMINAL.lock()) {
        *terminal = rustix::termios::tcgetattr(&tty).ok().map(|mode| (tty, mode));
    }
}

/// Gives the terminal its echo back when a signal ends the program during the prompt.
#[cfg(unix)]
pub fn restore_terminal() {
    if let Some((tty, mode)) = TERMINAL.lock().ok().and_then(|mut terminal| terminal.take()) {
        let _ = rustix::termios::tcsetattr(&tty, rustix::termios::OptionalActions::Now, &mode);
    }
}
