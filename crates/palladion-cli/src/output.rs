//! The output of a command: a file that appears once it is complete, or standard output.

use std::fs::{self, File, Metadata, Permissions, TryLockError};
use std::io::{self, ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::{Failure, Result, quoted};
use crate::input::is_standard;
use crate::waiting::Waiting;
use crate::{interrupt, streams};

/// Who may read a new file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The users that the umask allows; a replaced file keeps its permissions.
    Usual,
    /// The owner alone.
    Private,
}

pub struct Output {
    /// How messages call it.
    pub name: String,
    kind: Kind,
}

enum Kind {
    /// Standard output, or something that is not a regular file, like `/dev/null`. Written
    /// directly.
    Direct(File),
    /// A temporary file next to the target, renamed to it at the end.
    New {
        file: NamedTempFile,
        dir: PathBuf,
        target: PathBuf,
        replaced: Option<Box<Metadata>>,
        lock: Lock,
    },
}

/// The file that will be replaced, locked, so that no other program is changing it.
type Lock = Option<File>;

impl Output {
    /// Opens an output. Fails if it is the same file as one of `inputs`, each given with its name
    /// for messages.
    pub fn open(
        path: Option<&Path>,
        force: bool,
        access: Access,
        inputs: &[(&str, &Metadata)],
    ) -> Result<Self> {
        let output = match path.filter(|path| !is_standard(Some(path))) {
            Some(path) => Self::beside(path, force, access, inputs)?,
            None => {
                let name = "standard output".to_string();
                let file = streams::output().map_err(|error| Failure::io("open", &name, &error))?;
                same_file(file.metadata().ok().as_ref(), inputs, &name)?;
                Self { name, kind: Kind::Direct(file) }
            }
        };
        Ok(output)
    }

    fn beside(
        path: &Path,
        force: bool,
        access: Access,
        inputs: &[(&str, &Metadata)],
    ) -> Result<Self> {
        let name = quoted(path);
        let existing = match fs::metadata(path) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(Failure::io("create", &name, &error)),
        };
        same_file(existing.as_ref(), inputs, &name)?;
        let (target, replaced) = match existing {
            Some(metadata) if metadata.is_dir() => {
                return Err(
                    Failure::new(format!("{name} is a directory")).hint("name a file in it")
                );
            }
            Some(metadata) if !metadata.is_file() => {
                let file = File::options().write(true).open(path);
                let file = file.map_err(|error| Failure::io("open", &name, &error))?;
                return Ok(Self { name, kind: Kind::Direct(file) });
            }
            Some(_) if !force => return Err(exists(&name)),
            // Replace the target of a symbolic link, not the link.
            Some(metadata) => {
                let target =
                    path.canonicalize().map_err(|error| Failure::io("open", &name, &error))?;
                (target, Some(Box::new(metadata)))
            }
            None if fs::symlink_metadata(path).is_ok() => {
                return Err(if force { dangling(&name) } else { exists(&name) });
            }
            None if names_no_file(path) => {
                return Err(Failure::new(format!("{name} is a directory, not a file"))
                    .hint("name a file with -o OUT"));
            }
            None => (path.to_path_buf(), None),
        };
        let lock = match replaced {
            Some(_) => lock(&target, &name)?,
            None => None,
        };
        let dir =
            target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let replaced = replaced.filter(|_| access == Access::Usual);
        let mut builder = tempfile::Builder::new();
        builder.prefix(".palladion-").suffix(".tmp").rand_bytes(10);
        // A file that replaces another is private until the end, when it gets that one's
        // permissions.
        #[cfg(unix)]
        if access == Access::Usual && replaced.is_none() {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(Permissions::from_mode(0o666));
        }
        let file = interrupt::guarding(
            || builder.tempfile_in(dir),
            |file| file.as_ref().ok().map(NamedTempFile::path),
        );
        let file = file.map_err(|error| match error.kind() {
            ErrorKind::NotFound if !dir.exists() => {
                Failure::new(format!("cannot create {name}: no directory {}", quoted(dir)))
                    .hint("create it first: mkdir -p DIRECTORY")
            }
            _ => Failure::io("create a file in", &quoted(dir), &without_path(error)),
        })?;
        let dir = dir.to_path_buf();
        Ok(Self { name, kind: Kind::New { file, dir, target, replaced, lock } })
    }

    /// Where to write.
    pub fn file(&self) -> &File {
        match &self.kind {
            Kind::Direct(file) => file,
            Kind::New { file, .. } => file.as_file(),
        }
    }

    /// Where to write, waiting if necessary.
    pub fn writer(&self) -> Waiting<&File> {
        Waiting(self.file())
    }

    pub fn is_terminal(&self) -> bool {
        self.file().is_terminal()
    }

    /// The new file, for reading and writing at any position.
    pub fn random_access(&self) -> Result<File> {
        let Kind::New { file, .. } = &self.kind else {
            return Err(Failure::usage(format!("{} is not a regular file", self.name))
                .hint("a RAF file needs random access: name a regular file"));
        };
        file.as_file().try_clone().map_err(|error| Failure::io("open", &self.name, &error))
    }

    /// Syncs the output to disk and gives it its name. A new file that is not committed is removed.
    /// `is_last` says that the command has no other output after this one.
    pub fn commit(self, force: bool, is_last: bool) -> Result<()> {
        // Unlocked when this ends.
        let (file, dir, target, replaced, _lock) = match self.kind {
            Kind::New { file, dir, target, replaced, lock } => (file, dir, target, replaced, lock),
            Kind::Direct(file) if file.metadata().is_ok_and(|metadata| metadata.is_file()) => {
                return match file.sync_data() {
                    // Not every file system can sync.
                    Err(error)
                        if !matches!(
                            error.kind(),
                            ErrorKind::InvalidInput | ErrorKind::Unsupported
                        ) =>
                    {
                        Err(Failure::io("write", &self.name, &error))
                    }
                    _ => Ok(()),
                };
            }
            Kind::Direct(_) => return Ok(()),
        };
        let finish = || {
            if let Some(replaced) = replaced {
                // First the owner: changing it removes some permissions.
                keep_owner(file.as_file(), &replaced);
                file.as_file().set_permissions(plain(replaced.permissions()))?;
            }
            file.as_file().sync_all()
        };
        finish().map_err(|error| Failure::io("write", &self.name, &error))?;
        let rename = || match force {
            true => file.persist(&target),
            false => file.persist_noclobber(&target),
        };
        // If renaming fails, dropping the error removes the file.
        match interrupt::concluding(is_last, rename, |failed| failed.file.path()) {
            Ok(_) => {
                // Sync the directory, so that the name survives a power failure. Some file systems
                // cannot, which is not an error.
                #[cfg(unix)]
                let _ = File::open(dir).and_then(|dir| dir.sync_all());
                #[cfg(not(unix))]
                let _ = dir;
                Ok(())
            }
            Err(failed) if failed.error.kind() == ErrorKind::AlreadyExists => {
                Err(exists(&self.name))
            }
            Err(failed) => Err(Failure::io("create", &self.name, &failed.error)),
        }
    }
}

/// Locks a file that will be replaced. Fails if another program uses it: a RAF file that is being
/// changed would otherwise lose the changes.
fn lock(target: &Path, name: &str) -> Result<Lock> {
    // On Windows a file that is open cannot be replaced, so there is nothing to lose.
    if cfg!(windows) {
        return Ok(None);
    }
    // Without permission to read it, it cannot be locked, but may be replaced.
    let Ok(file) = File::open(target) else { return Ok(None) };
    // Not every file system has locks.
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        return Err(Failure::new(format!("{name} is being used by another program"))
            .hint("try again when it is done"));
    }
    Ok(Some(file))
}

/// Gives a new file the owner and the group of the file that it replaces, where that is allowed:
/// root may, and others keep a group that they belong to.
fn keep_owner(file: &File, replaced: &Metadata) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        if fchown(file, Some(replaced.uid()), Some(replaced.gid())).is_err() {
            let _ = fchown(file, None, Some(replaced.gid()));
        }
    }
    #[cfg(not(unix))]
    let _ = (file, replaced);
}

fn exists(name: &str) -> Failure {
    Failure::new(format!("{name} already exists"))
        .hint("choose another name, or replace it with --force")
}

fn dangling(name: &str) -> Failure {
    Failure::new(format!("{name} is a symbolic link to a missing file"))
        .hint("remove the link, or create its target")
}

/// Whether a path can only name a directory. [`Path`] itself ignores a `/` or `/.` at the end.
fn names_no_file(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let text = text.strip_suffix('.').unwrap_or(&text);
    path.file_name().is_none() || text.ends_with(std::path::is_separator)
}

/// Permissions without setuid and similar bits, which must not pass to new contents.
fn plain(permissions: Permissions) -> Permissions {
    #[cfg(unix)]
    return std::os::unix::fs::PermissionsExt::from_mode(
        std::os::unix::fs::PermissionsExt::mode(&permissions) & 0o777,
    );
    #[cfg(not(unix))]
    return permissions;
}

/// An error without the name of the temporary file, which means nothing to the user.
fn without_path(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((what, _)) => io::Error::new(error.kind(), what),
        None => error,
    }
}

/// Refuses to overwrite an input.
pub fn same_file(
    output: Option<&Metadata>,
    inputs: &[(&str, &Metadata)],
    name: &str,
) -> Result<()> {
    #[cfg(unix)]
    for (what, input) in inputs {
        use std::os::unix::fs::MetadataExt;
        let same = |output: &&Metadata| (output.dev(), output.ino()) == (input.dev(), input.ino());
        if output.filter(|output| output.is_file()).filter(same).is_some() {
            let message = format!("{name} is both {what} and output");
            return Err(Failure::usage(message).hint("choose another output"));
        }
    }
    // On Windows a file that is open for reading cannot be replaced: renaming it fails.
    let _ = (output, inputs, name);
    Ok(())
}
