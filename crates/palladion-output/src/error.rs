//! Errors of outputs.

use std::path::{Path, PathBuf};
use std::{fmt, io};

/// Why there is no output. [`fmt::Display`] says it without a hint, which depends on the program.
#[derive(Debug)]
#[non_exhaustive]
pub struct Error {
    /// The name of the output, or of its directory.
    pub path: PathBuf,
    /// What is wrong with it.
    pub cause: Cause,
}

/// The causes of an [`Error`].
#[derive(Debug)]
#[non_exhaustive]
pub enum Cause {
    /// There is a file, which may not be replaced.
    Exists,
    /// It is a directory.
    Directory,
    /// Something other than a directory is there, such as a symbolic link, which is not followed.
    NotDirectory,
    /// Something other than a regular file is there, such as a symbolic link, which is not
    /// followed.
    NotFile,
    /// The name is empty.
    EmptyName,
    /// The name ends as only that of a directory can.
    DirectoryName,
    /// There is no such directory as this one for the output.
    NoDirectory(PathBuf),
    /// It is a symbolic link to a missing file.
    DanglingLink,
    /// It is also the input of this name.
    Input(String),
    /// Another program is changing it.
    InUse,
    /// It is a mount point, so no file can take its place.
    MountPoint,
    /// It is immutable or append-only, or its directory is append-only.
    Fixed,
    /// It is read-only, on Windows.
    ReadOnly,
    /// It is an alternate data stream of a file, on Windows.
    Stream,
    /// It belongs to another user, in a directory where only owners replace files.
    Sticky,
    /// It is a regular file that another process has open.
    OtherProcess,
    /// Another process created the unfinished file, and this one is its forked child.
    Forked,
    /// The system could not do this: "create", "open", "write" or "create a file in".
    Io(&'static str, io::Error),
}

/// Returns a name as messages show it: between quotation marks, with what a terminal would not show
/// escaped. The backslashes that divide a path of Windows are not. If a secret key was given in
/// place of a name, only its beginning is shown, because messages end up in logs.
pub fn quoted(path: &Path) -> String {
    let mut quoted = format!("{path:?}");
    if let Some(at) = secret_in(&quoted) {
        quoted.truncate(at);
        return quoted + "…\"";
    }
    if cfg!(windows) { quoted.replace(r"\\", r"\") } else { quoted }
}

/// Returns whether a name looks like a key of Palladion, an identity of age or a private key of
/// SSH, or holds one.
pub fn is_secret(path: &Path) -> bool {
    secret_in(&format!("{path:?}")).is_some()
}

/// Returns whether [`quoted`] has left out a secret.
pub fn hides_secret(quoted: &str) -> bool {
    let shown = quoted.strip_suffix("…\"").unwrap_or_default().to_ascii_lowercase();
    MARKS.iter().chain(&[SSH_MARK]).any(|mark| shown.ends_with(mark))
}

/// What stands before the secret part of a key.
const MARKS: [&str; 3] = ["palladion-key-1:", "age-secret-key-pq-", "age-secret-key-"];
const SSH_MARK: &str = "private key-----";

/// Returns where the secret part of a key begins, of which there may be only a part.
fn secret_in(text: &str) -> Option<usize> {
    let lower = text.to_ascii_lowercase();
    if let Some(at) = lower.find(SSH_MARK) {
        return Some(at + SSH_MARK.len());
    }
    MARKS.into_iter().find_map(|mark| {
        let at = lower.find(mark)? + mark.len();
        // A name such as age-secret-key-backup.txt is shown.
        let secret = lower[at..].bytes().take_while(u8::is_ascii_alphanumeric).count();
        (secret >= 16).then_some(at)
    })
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = quoted(&self.path);
        match &self.cause {
            Cause::Exists => write!(f, "{path} already exists"),
            Cause::Directory => write!(f, "{path} is a directory"),
            Cause::NotDirectory => write!(f, "{path} is not a directory"),
            Cause::NotFile => write!(f, "{path} is there and is not a regular file"),
            Cause::EmptyName => write!(f, "the name of the output is empty"),
            Cause::DirectoryName => write!(f, "{path} is a directory, not a file"),
            Cause::NoDirectory(folder) => {
                write!(f, "cannot create {path}: no directory {}", quoted(folder))
            }
            Cause::DanglingLink => write!(f, "{path} is a symbolic link to a missing file"),
            Cause::Input(what) => write!(f, "{path} is both {what} and output"),
            Cause::InUse => write!(f, "{path} is being used by another program"),
            Cause::MountPoint => {
                write!(f, "{path} cannot be replaced: it is a mount point")
            }
            Cause::Fixed => {
                write!(f, "{path} cannot be changed: it is immutable or append-only")
            }
            Cause::ReadOnly => write!(f, "{path} cannot be replaced: it is read-only"),
            Cause::Stream => {
                write!(f, "{path} is an alternate data stream, which cannot be replaced")
            }
            Cause::Sticky => {
                write!(f, "{path} cannot be replaced: it belongs to another user")
            }
            Cause::OtherProcess => write!(f, "{path} is a file that another process has open"),
            Cause::Forked => {
                write!(f, "the unfinished {path} belongs to the process that created it")
            }
            Cause::Io(action, error) => write!(f, "cannot {action} {path}: {error}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            Cause::Io(_, error) => Some(error),
            _ => None,
        }
    }
}

impl Cause {
    pub(super) fn of(self, path: &Path) -> Error {
        Error { path: path.to_path_buf(), cause: self }
    }
}

/// The result of this module's functions.
pub type Result<T> = std::result::Result<T, Error>;
