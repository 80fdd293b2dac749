//! Directories of a tree that is copied.

use std::ffi::OsStr;
use std::fs::{File, FileTimes, Metadata};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use super::error::{Cause, Result};
use super::folder::{Folder, temporary_name};
#[cfg(unix)]
use super::permissions::Sources;

/// An open directory, for a tree that is copied into it file by file.
///
/// On Unix, what is created in it is found by its descriptor, and symbolic links in it are never
/// followed. So nothing outside of it changes, whatever names and links there are, and whatever
/// other programs rename meanwhile. On Windows, symbolic links and junctions that are there are
/// refused, but another program may put one there while this one works.
#[derive(Debug, Clone)]
pub struct Directory(Arc<Folder>);

impl Directory {
    /// Opens a directory. Symbolic links to it are followed.
    pub fn open(path: &Path) -> Result<Self> {
        let folder = Folder::open(path).map_err(|error| opening(error).of(path))?;
        Ok(Self(Arc::new(folder)))
    }

    /// Returns the path of this directory, for messages.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn folder(&self) -> &Arc<Folder> {
        &self.0
    }

    /// Opens a directory in this one. Fails for a symbolic link.
    pub fn enter(&self, name: &OsStr) -> Result<Self> {
        let folder = self.0.enter(name);
        let folder = folder.map_err(|error| opening(error).of(&self.0.path().join(name)))?;
        Ok(Self(Arc::new(folder)))
    }

    /// Like [`enter`](Self::enter), but creates the directory if there is none, and lets its owner
    /// write to it. [`finish`](Self::finish) says who else may use it; until then, nobody else can
    /// use a new one.
    pub fn enter_or_create(&self, name: &OsStr) -> Result<Self> {
        match self.0.create_folder(name) {
            Ok(()) => {
                // Before a file in it counts as being on disk.
                self.0.sync();
                self.enter(name)
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let found = self.enter(name)?;
                #[cfg(unix)]
                found.let_owner_write();
                Ok(found)
            }
            Err(error) => {
                Err(Cause::Io("create the directory", error).of(&self.0.path().join(name)))
            }
        }
    }

    /// If that is not possible, writing to it fails.
    #[cfg(unix)]
    fn let_owner_write(&self) {
        use std::os::unix::fs::PermissionsExt;
        let Ok(file) = self.0.file() else { return };
        let Ok(mut permissions) = file.metadata().map(|found| found.permissions()) else { return };
        let mode = permissions.mode();
        if mode & 0o300 != 0o300 {
            permissions.set_mode(mode | 0o700);
            let _ = file.set_permissions(permissions);
        }
    }

    /// Returns the metadata of a regular file in it. `None` if there is none.
    pub fn find(&self, name: &OsStr) -> Option<Metadata> {
        self.0.find(name).map(|(_, metadata)| metadata)
    }

    /// Gives a file in it the permissions of the file that it is a copy of, as
    /// [`Target::copy_of`](super::Target::copy_of) does.
    pub fn set_permissions(&self, name: &OsStr, source: &File) -> io::Result<()> {
        #[cfg(unix)]
        {
            use std::fs::Permissions;
            use std::os::unix::fs::PermissionsExt;
            let mut sources = Sources::default();
            sources.add(source);
            let file = self.0.open_file(name)?;
            let found = file.metadata()?;
            let mode = sources.mode_for(&found);
            if found.is_file() && found.permissions().mode() & 0o7777 != mode {
                file.set_permissions(Permissions::from_mode(mode))?;
            }
        }
        let _ = (name, source);
        Ok(())
    }

    /// Creates a symbolic link with this date. Returns `false` if the same link is there already.
    /// `replace` allows to replace another link. Fails with [`ErrorKind::Unsupported`] on Windows.
    pub fn link(
        &self,
        to: &Path,
        name: &OsStr,
        modified: SystemTime,
        replace: bool,
    ) -> Result<bool> {
        let failed =
            |error| Cause::Io("create the symbolic link", error).of(&self.0.path().join(name));
        let old = self.0.read_link(name);
        if old.as_deref() == Some(to) {
            return Ok(false);
        }
        if old.is_none() || !replace {
            return self.0.link(to, name, modified).map(|()| true).map_err(failed);
        }
        let temporary = temporary_name().map_err(failed)?;
        self.0.link(to, &temporary, modified).map_err(failed)?;
        let renamed = self.0.rename(&temporary, name);
        renamed.map(|()| true).map_err(|error| {
            let _ = self.0.remove(&temporary);
            failed(error)
        })
    }

    /// Gives it the attributes of the directory that it is a copy of, once everything in it is
    /// complete, and writes the names in it to disk. Without an error if the file system does not
    /// have such attributes. Returns `false` if it could not be synced.
    pub fn finish(&self, like: &Attributes) -> bool {
        if let Ok(file) = self.0.file() {
            like.give(&file);
        }
        self.0.sync()
    }
}

/// The permissions and the date of a directory.
#[derive(Debug, Clone)]
pub struct Attributes {
    #[cfg(unix)]
    mode: u32,
    #[cfg(unix)]
    group: u32,
    modified: Option<SystemTime>,
}

impl Attributes {
    /// Returns those of a directory.
    pub fn of(path: &Path) -> io::Result<Self> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let directory = File::open(path)?;
            let found = directory.metadata()?;
            Ok(Self {
                mode: found.mode() & 0o3000 | Sources::mode_of(&directory, &found),
                group: found.gid(),
                modified: found.modified().ok(),
            })
        }
        #[cfg(not(unix))]
        Ok(Self { modified: std::fs::metadata(path)?.modified().ok() })
    }

    /// Gives them to a directory, as far as the system allows. One of another group gets fewer
    /// permissions.
    fn give(&self, directory: &File) {
        #[cfg(unix)]
        {
            use std::fs::Permissions;
            use std::os::unix::fs::{MetadataExt, PermissionsExt};
            let is_same_group = directory.metadata().is_ok_and(|own| own.gid() == self.group);
            let mode = match is_same_group {
                true => self.mode,
                false => {
                    super::permissions::for_other_group(self.mode & 0o777) | self.mode & 0o1000
                }
            };
            let _ = directory.set_permissions(Permissions::from_mode(mode));
        }
        if let Some(time) = self.modified {
            let _ = directory.set_times(FileTimes::new().set_modified(time));
        }
    }
}

fn opening(error: io::Error) -> Cause {
    match error.kind() {
        ErrorKind::NotADirectory => Cause::NotDirectory,
        _ => Cause::Io("open", error),
    }
}
