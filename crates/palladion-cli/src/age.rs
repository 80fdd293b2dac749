//! What opens slots of age: identities, or the program `age`.

use std::error::Error as StdError;
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use palladion_file::slots::{FileKey, Unlock};
use palladion_recipients::{Error, Identities, Recipient};
use zeroize::Zeroizing;

use crate::failure::{Failure, WRONG_PASSPHRASE, tell};
use crate::text::printable;

pub type SlotResult<T> = std::result::Result<T, Box<dyn StdError + Send + Sync>>;

/// What opens slots of age.
#[derive(Clone)]
pub enum Opener {
    Identities(Identities),
    Program(Program),
}

/// The program `age`, with an identity file: an SSH key, or one for a plugin.
#[derive(Clone)]
pub struct Program {
    path: PathBuf,
    /// What it opened last: nobody is asked twice.
    last: Arc<Mutex<Option<Opened>>>,
}

struct Opened {
    slot: Vec<u8>,
    key: FileKey,
}

impl Program {
    pub fn new(path: PathBuf) -> Self {
        Self { path, last: Arc::default() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn unlock(&self, age_file: &[u8]) -> SlotResult<Option<FileKey>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = last.as_ref().filter(|last| last.slot == age_file) {
            return Ok(Some(last.key.clone()));
        }
        let args = [OsStr::new("-d"), OsStr::new("-i"), self.path.as_os_str()];
        let Some(key) = run_age(&args, age_file)? else { return Ok(None) };
        let key = Zeroizing::<[u8; 32]>::new(key.as_slice().try_into()?);
        let key = FileKey::from(*key);
        *last = Some(Opened { slot: age_file.to_vec(), key: key.clone() });
        Ok(Some(key))
    }
}

impl Unlock for Opener {
    fn unlock(&self, age_file: &[u8]) -> SlotResult<Option<FileKey>> {
        match self {
            Self::Identities(identities) => identities.unlock(age_file),
            Self::Program(program) => program.unlock(age_file),
        }
    }
}

/// Runs the program `age`, whose warnings and prompts the user sees. `None`: no identity matched.
pub fn run_age(args: &[impl AsRef<OsStr>], input: &[u8]) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    let mut command = Command::new("age");
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut age = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::new(
            io::ErrorKind::NotFound,
            "for SSH keys and plugins, the program age is needed, and it is not installed",
        ),
        _ => error,
    })?;
    let stderr = age.stderr.take().expect("a pipe");
    let errors = std::thread::spawn(move || errors_of_age(stderr));
    // It is short, so that neither program waits for the other. It may have failed already.
    let _ = age.stdin.take().expect("a pipe").write_all(input);
    // Large enough from the start: growing would leave copies.
    let mut output = Zeroizing::new(Vec::with_capacity(1 << 16));
    let limit = output.capacity() as u64;
    age.stdout.take().expect("a pipe").take(limit).read_to_end(&mut output)?;
    let status = age.wait()?;
    let errors = errors.join().unwrap_or_default();
    match &errors[..] {
        _ if status.success() => Ok(Some(output)),
        [] => Err(io::Error::other(format!("age failed ({status})"))),
        [error] if error == NO_MATCH => Ok(None),
        errors => {
            let is_wrong = |error: &String| IF_WRONG.iter().any(|end| error.ends_with(end));
            let kind = match errors.iter().any(is_wrong) {
                true => WRONG_PASSPHRASE,
                false => io::ErrorKind::Other,
            };
            Err(io::Error::new(kind, format!("age: {}", errors.join("; "))))
        }
    }
}

/// How the errors of `age` end if the passphrase of an SSH key, or for a plugin, is wrong.
const IF_WRONG: [&str; 2] = ["password incorrect", "incorrect passphrase"];

/// What `age` says if a file is for others.
const NO_MATCH: &str = "no identity matched any of the recipients";

/// Passes on what `age` says, such as that it waits for a touch, but for its errors.
fn errors_of_age(stderr: impl Read) -> Vec<String> {
    let mut errors = Vec::new();
    for line in BufReader::new(stderr).split(b'\n').map_while(io::Result::ok) {
        let line = printable(line.trim_ascii_end());
        match line.strip_prefix("age: ") {
            Some(rest) if rest.starts_with("report unexpected") => {}
            Some(rest) if rest.starts_with("error: ") => errors.push(rest[7..].to_string()),
            _ => tell(&line),
        }
    }
    errors
}

/// Describes an error in the file of this name, or in the command line.
pub fn failure(name: Option<&str>, error: &Error) -> Failure {
    let failure = match (name, error) {
        (None, error) => Failure::usage(error.to_string()),
        (Some(name), Error::WrongPassphrase) => Failure::wrong_key(format!("{name}: {error}")),
        (Some(name), error) => Failure::new(format!("{name}: {error}")),
    };
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Shortens a recipient for a message.
pub fn shortened(recipient: &Recipient) -> String {
    let text = recipient.to_string();
    match text.get(..20) {
        Some(start) if text.len() > 80 => format!("{start}…"),
        _ => text,
    }
}
