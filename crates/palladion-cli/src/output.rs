//! What a command writes: a file that appears only when it is whole, or standard output.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::{Failure, Result, quoted};
use crate::input::is_standard;
use crate::interrupt;

/// Who may read a new file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Who the umask says; a file that is replaced passes its permissions on.
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
    /// Standard output, or something that is no regular file, like `/dev/null`: written as it comes.
    Direct(File),
    /// A new file beside the target that takes its name in the end.
    New { file: NamedTempFile, target: PathBuf, replaced: Option<Permissions> },
}

impl Output {
    /// `input` must not be the same file.
    pub fn open(path: Option<&Path>, force: bool, access: Access, input: Option<&File>) -> Result<Self> {
        let input = input.and_then(|input| input.metadata().ok());
        let output = match path.filter(|path| !is_standard(Some(path))) {
            Some(path) => Self::beside(path, force, access, input.as_ref())?,
            None => {
                let name = "standard output".to_string();
                let file = standard_output().map_err(|error| Failure::io("open", &name, &error))?;
                same_file(&file.metadata().ok(), &input, &name)?;
                Self { name, kind: Kind::Direct(file) }
            }
        };
        Ok(output)
    }

    fn beside(path: &Path, force: bool, access: Access, input: Option<&Metadata>) -> Result<Self> {
        let name = quoted(path);
        let existing = fs::metadata(path).ok();
        same_file(&existing, &input.cloned(), &name)?;
        let (target, replaced) = match existing {
            Some(metadata) if metadata.is_dir() => {
                return Err(Failure::new(format!("{name} is a directory")).hint("name a file in it"));
            }
            Some(metadata) if !metadata.is_file() => {
                let file = File::options().write(true).open(path);
                let file = file.map_err(|error| Failure::io("open", &name, &error))?;
                return Ok(Self { name, kind: Kind::Direct(file) });
            }
            Some(_) if !force => return Err(exists(&name)),
            // Through a symbolic link, so that the link stays one.
            Some(metadata) => {
                let target = path.canonicalize().map_err(|error| Failure::io("open", &name, &error))?;
                (target, Some(metadata.permissions()))
            }
            None => (path.to_path_buf(), None),
        };
        let dir = target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".palladion-").suffix(".tmp").rand_bytes(10);
        #[cfg(unix)]
        if access == Access::Usual {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(Permissions::from_mode(0o666));
        }
        let file = interrupt::guarding(
            || builder.tempfile_in(dir),
            |file| file.as_ref().ok().map(NamedTempFile::path),
        );
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                Failure::new(format!("cannot create {name}: there is no directory {}", quoted(dir)))
                    .hint("create it first: mkdir -p DIRECTORY")
            }
            _ => Failure::new(format!("cannot create a file in {}: {}", quoted(dir), without_path(&error))),
        })?;
        let replaced = replaced.filter(|_| access == Access::Usual);
        Ok(Self { name, kind: Kind::New { file, target, replaced } })
    }

    /// Where to write.
    pub fn file(&self) -> &File {
        match &self.kind {
            Kind::Direct(file) => file,
            Kind::New { file, .. } => file.as_file(),
        }
    }

    pub fn is_terminal(&self) -> bool {
        self.file().is_terminal()
    }

    /// Everything is written: safely to disk, then under its name. Without this a new file vanishes.
    pub fn commit(self, force: bool) -> Result<()> {
        let Kind::New { file, target, replaced } = self.kind else { return Ok(()) };
        let finish = || {
            if let Some(permissions) = replaced {
                file.as_file().set_permissions(permissions)?;
            }
            file.as_file().sync_all()
        };
        finish().map_err(|error| Failure::io("write", &self.name, &error))?;
        let rename = || match force {
            true => file.persist(&target),
            false => file.persist_noclobber(&target),
        };
        // If renaming fails, the file goes with the error.
        match interrupt::guarding(rename, |_| None) {
            Ok(_) => Ok(()),
            Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Err(exists(&self.name)),
            Err(failed) => Err(Failure::io("create", &self.name, &failed.error)),
        }
    }
}

fn exists(name: &str) -> Failure {
    Failure::new(format!("{name} exists already")).hint("choose another name, or replace it with --force")
}

/// An error without the name of the temporary file, which nobody knows.
fn without_path(error: &io::Error) -> String {
    error.raw_os_error().map_or(error.to_string(), |code| io::Error::from_raw_os_error(code).to_string())
}

/// Refuses to write over what is being read.
fn same_file(output: &Option<Metadata>, input: &Option<Metadata>, name: &str) -> Result<()> {
    #[cfg(unix)]
    if let (Some(output), Some(input)) = (output, input) {
        use std::os::unix::fs::MetadataExt;
        if output.is_file() && (output.dev(), output.ino()) == (input.dev(), input.ino()) {
            return Err(
                Failure::usage(format!("{name} is both input and output")).hint("choose another output")
            );
        }
    }
    // Elsewhere a file that is open for reading cannot be replaced: renaming fails in the end.
    let _ = (output, input, name);
    Ok(())
}

/// Standard output without the line buffer of [`io::Stdout`].
fn standard_output() -> io::Result<File> {
    #[cfg(unix)]
    let own = std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned()?;
    #[cfg(windows)]
    let own = std::os::windows::io::AsHandle::as_handle(&io::stdout()).try_clone_to_owned()?;
    Ok(own.into())
}
