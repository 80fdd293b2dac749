//! Which file something is, whatever its name.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// Which regular file or disk something is, whatever its name. Pipes, terminals and the like have
/// none, because they may well be both input and output.
#[derive(Debug, Clone)]
pub struct Identity(Option<system::Id>);

impl Identity {
    /// Returns that of an open file.
    pub fn of(file: &File) -> Self {
        Self(system::of(file))
    }

    /// Returns that of what a path leads to. There is none if there is no such file.
    pub fn at(path: &Path) -> Self {
        Self(system::at(path))
    }

    /// Returns whether both are the same file or disk.
    pub fn is_same(&self, other: &Self) -> bool {
        self.0.is_some() && self.0 == other.0
    }
}

/// Returns the metadata of an open file, if it has any: on Windows, pipes, consoles and devices
/// have none.
pub fn metadata(file: &File) -> io::Result<Option<Metadata>> {
    #[cfg(windows)]
    if crate::windows::is_stream(file) {
        return Ok(None);
    }
    file.metadata().map(Some)
}

#[cfg(unix)]
mod system {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};

    use super::*;

    #[derive(Debug, Clone, PartialEq)]
    pub enum Id {
        File { device: u64, number: u64 },
        Disk(u64),
    }

    pub fn of(file: &File) -> Option<Id> {
        id(file.metadata().ok()?)
    }

    pub fn at(path: &Path) -> Option<Id> {
        id(std::fs::metadata(path).ok()?)
    }

    fn id(found: Metadata) -> Option<Id> {
        match found.file_type() {
            kind if kind.is_block_device() => Some(Id::Disk(found.rdev())),
            kind if kind.is_file() => Some(Id::File { device: found.dev(), number: found.ino() }),
            _ => None,
        }
    }
}

#[cfg(windows)]
mod system {
    use super::*;
    use crate::windows;
    pub use windows::Id;

    pub fn of(file: &File) -> Option<Id> {
        if windows::is_stream(file) {
            return None;
        }
        windows::id(file)
    }

    pub fn at(path: &Path) -> Option<Id> {
        // Opening a pipe connects to it.
        if crate::folder::is_device(path) {
            return None;
        }
        let file = crate::folder::open_without_access(path).ok()?;
        of(&file).filter(|_| file.metadata().is_ok_and(|found| found.is_file()))
    }
}

#[cfg(not(any(unix, windows)))]
mod system {
    use super::*;

    pub type Id = std::convert::Infallible;

    pub fn of(_: &File) -> Option<Id> {
        None
    }

    pub fn at(_: &Path) -> Option<Id> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_itself_under_every_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for name in ["a", "b"] {
            std::fs::write(path(name), "text").unwrap();
        }
        std::fs::hard_link(path("a"), path("link")).unwrap();
        let a = Identity::of(&File::open(path("a")).unwrap());
        for (name, expected) in [("a", true), ("link", true), ("b", false), ("missing", false)] {
            assert_eq!(a.is_same(&Identity::at(&path(name))), expected, "{name}");
        }
        std::fs::rename(path("a"), path("c")).unwrap();
        assert!(a.is_same(&Identity::at(&path("c"))) && !a.is_same(&Identity::at(&path("b"))));
        // A directory is no output, and a missing file is not another missing file.
        for name in [".", "missing"] {
            let none = Identity::at(&path(name));
            assert!(!none.is_same(&none), "{name}");
        }
    }

    #[test]
    fn what_is_no_file_has_no_identity() {
        let (reader, _writer) = io::pipe().unwrap();
        #[cfg(unix)]
        let pipe = File::from(std::os::fd::OwnedFd::from(reader));
        #[cfg(windows)]
        let pipe = File::from(std::os::windows::io::OwnedHandle::from(reader));
        let pipe_id = Identity::of(&pipe);
        assert!(!pipe_id.is_same(&pipe_id));
        assert!(metadata(&pipe).unwrap().is_none_or(|found| !found.is_file()));
        let null = File::open(if cfg!(windows) { "NUL" } else { "/dev/null" }).unwrap();
        let null_id = Identity::of(&null);
        assert!(!null_id.is_same(&null_id));
        assert!(metadata(&null).unwrap().is_none_or(|found| !found.is_file()));
    }
}
