//! How a command fails: a line `error: …`, a line `hint: …`, an exit status.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use indicatif::ProgressBar;
use palladion::Buffer;
use palladion_file::Error;
use palladion_output::hides_secret;
pub use palladion_output::{is_secret, quoted};

use crate::waiting::Waiting;

/// The exit statuses besides 0; clap itself exits with 2 for wrong usage. They are listed in
/// `palladion --help`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Failed = 1,
    Usage = 2,
    WrongKey = 3,
    Damaged = 4,
    /// What a shell reports for a program that SIGPIPE ended.
    BrokenPipe = 141,
}

/// The kind of error of a slot if a passphrase that the program `age` asked for is wrong. To run a
/// program never gives this kind.
pub const WRONG_PASSPHRASE: io::ErrorKind = io::ErrorKind::InvalidData;

/// A hint for those who give a secret in place of the name of its file.
pub const SECRET_GIVEN: &str = "expected the name of a FILE, not the secret itself, which may now \
                                be in the history of your shell: put it into a file that only you \
                                can read";

pub struct Failure {
    status: Status,
    message: String,
    hint: Option<String>,
    told: bool,
    /// Whether it concerns all files of a command, not only one.
    pub is_final: bool,
}

pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub fn new(message: impl Into<String>) -> Self {
        let message = message.into();
        Self { status: Status::Failed, message, hint: None, told: false, is_final: false }
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self { status: Status::Usage, ..Self::new(message) }
    }

    pub fn wrong_key(message: impl Into<String>) -> Self {
        Self { status: Status::WrongKey, ..Self::new(message) }
    }

    pub fn damaged(message: impl Into<String>) -> Self {
        Self { status: Status::Damaged, ..Self::new(message) }
    }

    pub fn is_wrong_key(&self) -> bool {
        self.status == Status::WrongKey
    }

    pub fn is_damage(&self) -> bool {
        self.status == Status::Damaged
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Gives another hint in place of this one.
    pub fn replace_hint(self, old: &str, new: &str) -> Self {
        if self.hint.as_deref() == Some(old) { self.hint(new) } else { self }
    }

    /// Adds something else to do to the hint.
    pub fn or(mut self, other: &str) -> Self {
        self.hint = Some(match self.hint.take() {
            Some(hint) => format!("{hint}, or {other}"),
            None => other.into(),
        });
        self
    }

    /// Adds something in brackets to the message.
    pub fn detail(mut self, detail: &str) -> Self {
        self.message += &format!(" ({detail})");
        self
    }

    /// The failure of `action` with an I/O error; `name` is the file or stream in messages.
    pub fn io(action: &str, name: &str, error: &io::Error) -> Self {
        let failure = Self::new(format!("cannot {action} {name}: {error}"));
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self { status: Status::BrokenPipe, ..failure },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                failure.hint("free some space, or write to another disk")
            }
            io::ErrorKind::OutOfMemory => {
                failure.hint("close other programs, or use a machine with more memory")
            }
            _ if hides_secret(name) => failure.hint(SECRET_GIVEN),
            _ => failure,
        }
    }

    /// Describes an error of the library for this input and this output.
    pub fn file(error: &Error, input: &str, output: &str) -> Self {
        let (status, message) = match error {
            Error::Read(error) => return Self::io("read", input, error),
            Error::Write(error) => return Self::io("write", output, error),
            Error::WrongKey
            | Error::WrongPassphrase
            | Error::NoSlot
            | Error::NeedsKey
            | Error::NeedsPassphrase
            | Error::Bound => (Status::WrongKey, format!("{input}: {error}")),
            Error::Slot(cause)
                if cause.downcast_ref().map(io::Error::kind) == Some(WRONG_PASSPHRASE) =>
            {
                (Status::WrongKey, format!("{input}: {cause}"))
            }
            Error::NotPalladion
            | Error::HeaderDamaged
            | Error::NotBound
            | Error::WrongPlace
            | Error::Truncated { .. }
            | Error::Damaged { .. }
            | Error::TrailingData { .. } => (Status::Damaged, format!("{input}: {error}")),
            Error::UnsupportedVersion(_)
            | Error::UnsupportedHeader { .. }
            | Error::NoRoomForSlots { .. }
            | Error::CannotChangeSlots(_)
            | Error::Slot(_)
            | Error::KdfTooCostly { .. }
            | Error::KdfMemory => (Status::Failed, format!("{input}: {error}")),
            // The input is not the cause.
            _ => (Status::Failed, error.to_string()),
        };
        let usual = error.hint().unwrap_or_default();
        let hint = match error {
            Error::NeedsKey => "use -k KEYFILE",
            Error::Slot(cause)
                if cause.downcast_ref().map(io::Error::kind) == Some(io::ErrorKind::NotFound) =>
            {
                "install age, or use secrets and recipients of other kinds"
            }
            Error::Slot(cause) if cause.to_string().contains("terminal") => {
                "run the command at a terminal, or use a key without a passphrase"
            }
            Error::NoSlot => {
                "try the other secrets that you have; palladion slots FILE shows what opens it"
            }
            Error::Bound => {
                "use --bind TEXT, with the text that it was encrypted with, or for a directory \
                 --bind-to-path, if that was used: the text of each file is then its path there"
            }
            Error::WrongPlace => &format!(
                "{usual}; with --bind-to-path, name the directory that was encrypted, and not one \
                 in it: the place of a file is its path there, with .pld at its end"
            ),
            Error::NotBound => {
                "someone may have put it in place of the file that you expect; if you trust it, \
                 leave out --bind or --bind-to-path"
            }
            Error::NeedsPassphrase => "use -p or --passphrase-file FILE",
            Error::KdfMemory => "close other programs, or use a machine with more memory",
            // Without a whole header, nothing can be saved.
            Error::Truncated { chunk: Some(_), .. } | Error::Damaged { .. } => {
                &format!("{usual}, or save what is intact: palladion decrypt --salvage -o OUT FILE")
            }
            Error::TrailingData { .. } => {
                &format!("{usual}; palladion decrypt --salvage -o OUT FILE writes the whole of it")
            }
            _ => usual,
        };
        let hint = (!hint.is_empty()).then(|| hint.into());
        Self { status, hint, ..Self::new(message) }
    }

    /// Marks a failure that concerns all files of a command.
    pub fn of_all_files(self) -> Self {
        Self { is_final: true, ..self }
    }

    /// Marks a failure that the user knows of.
    pub fn told(self) -> Self {
        Self { told: true, ..self }
    }

    /// Tells the user, except after a broken pipe: the user has closed it and knows.
    pub fn tell(&self) {
        if self.told || self.status == Status::BrokenPipe {
            return;
        }
        let hint = self.hint.as_ref().filter(|hint| is_new(hint));
        let hint = hint.map_or_else(String::new, |hint| format!("hint: {hint}\n"));
        say(&format!("error: {}\n{hint}", self.message));
    }

    /// Ends the program, after a broken pipe by the signal for it: `tar`, for example, takes that
    /// for no failure if it has read enough.
    pub fn end(&self) -> ! {
        self.tell();
        crate::terminal::restore();
        #[cfg(unix)]
        if self.status == Status::BrokenPipe {
            use signal_hook::{consts::SIGPIPE, low_level::emulate_default_handler};
            let _ = emulate_default_handler(SIGPIPE);
        }
        std::process::exit(self.status as i32)
    }
}

/// Does the work for each of several files. If it fails for one, the user is told, and the others
/// are processed all the same. Returns the first failure.
pub fn for_each<T>(
    files: impl IntoIterator<Item = T>,
    mut work: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let mut first = None;
    for file in files {
        if let Err(failure) = work(file) {
            failure.tell();
            let is_final = failure.is_final;
            first.get_or_insert(failure.told());
            if is_final {
                break;
            }
        }
    }
    first.map_or(Ok(()), Err)
}

/// Returns whether the user has not seen a hint yet. Of many files with one problem, only the first
/// needs it.
fn is_new(hint: &str) -> bool {
    static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    let is_new = !seen.iter().any(|other| other == hint);
    if is_new {
        seen.push(hint.to_string());
    }
    is_new
}

/// Allocates memory for data.
pub fn buffer(len: usize) -> Result<Buffer> {
    Buffer::new(0, len).map_err(|error| Failure::io("allocate", "memory", &error.into()))
}

/// Whether the user wants no notes and no progress.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Prints no notes and no progress from now on.
pub fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints a note, unless the user wants none.
pub fn note(text: &str) {
    if !is_quiet() {
        tell(text);
    }
}

/// Prints a message that is not an error. If stderr is closed, nobody is listening.
pub fn tell(text: &str) {
    say(&format!("{text}\n"));
}

/// A bar that stays while messages are printed.
static LASTING: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Prints messages above this bar from now on.
pub fn print_above(bar: ProgressBar) {
    *LASTING.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar);
}

/// Prints text on standard error. If that fails, nobody is listening.
pub fn say(text: &str) {
    // One write, so that messages of several programs do not mix.
    let print = || {
        let _ = Waiting(io::stderr()).write_all(text.as_bytes());
    };
    let bar = LASTING.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match bar {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}
