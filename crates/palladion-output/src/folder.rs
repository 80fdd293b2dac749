//! Files in an open directory. On Unix they are found even if the program changes its own directory
//! or the path of this one is too long for the system.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use super::error::Cause;

pub use system::{Folder, WAYS_NOT_TO_REPLACE, cannot_replace};

/// A way to rename a file, or to give it a second name, without replacing another.
pub type Way = fn(&Folder, &OsStr, &OsStr) -> io::Result<()>;

/// The directory of a file.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(unix)]
mod system {
    use std::os::fd::OwnedFd;
    use std::path::PathBuf;

    use rustix::fs::{self, AtFlags, CWD, Mode, OFlags};
    use rustix::io::{Errno, retry_on_intr};

    use super::*;

    #[derive(Debug)]
    pub struct Folder {
        fd: OwnedFd,
        path: PathBuf,
    }

    impl Folder {
        pub fn open(path: &Path) -> io::Result<Self> {
            // This needs no permission to list it.
            #[cfg(any(target_os = "linux", target_os = "android"))]
            let kind = OFlags::PATH;
            #[cfg(not(any(target_os = "linux", target_os = "android")))]
            let kind = OFlags::RDONLY;
            let flags = kind | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let fd = retry_on_intr(|| fs::openat(CWD, path, flags, Mode::empty()))?;
            Ok(Self { fd, path: path.to_path_buf() })
        }

        pub fn path(&self) -> &Path {
            &self.path
        }

        /// Creates a file for reading and writing.
        pub fn create(&self, name: &OsStr, mode: u32) -> io::Result<File> {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
            // The type is narrower on some systems.
            let mode = Mode::from_bits_truncate(mode as _);
            Ok(retry_on_intr(|| fs::openat(&self.fd, name, flags, mode))?.into())
        }

        pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
            Ok(fs::renameat(&self.fd, from, &self.fd, to)?)
        }

        pub fn remove(&self, name: &OsStr) -> io::Result<()> {
            Ok(fs::unlinkat(&self.fd, name, AtFlags::empty())?)
        }

        /// Returns the path and the metadata of a regular file. Returns `None` if the path leads to
        /// another file, because the program changed its directory.
        pub fn find(&self, name: &OsStr) -> Option<(PathBuf, Metadata)> {
            use std::os::unix::fs::MetadataExt;
            let path = self.path.join(name);
            let metadata = std::fs::symlink_metadata(&path).ok().filter(Metadata::is_file)?;
            let found = fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            // The types differ between systems.
            let is_same =
                (found.st_dev as u64, found.st_ino as u64) == (metadata.dev(), metadata.ino());
            is_same.then_some((path, metadata))
        }

        /// Returns whether there is something of this name, even a dangling symlink.
        pub fn has(&self, name: &OsStr) -> bool {
            fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
        }

        /// Writes the names to disk, if the file system can. Returns whether that worked.
        pub fn sync(&self) -> bool {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let opened = retry_on_intr(|| fs::openat(&self.fd, ".", flags, Mode::empty()));
            match opened.and_then(|fd| retry_on_intr(|| fs::fsync(&fd))) {
                Ok(()) | Err(Errno::INVAL | Errno::NOTSUP | Errno::NOSYS) => true,
                Err(_) => false,
            }
        }

        /// Returns whether files can be created but not renamed.
        pub fn is_append_only(&self) -> bool {
            #[cfg(any(target_os = "linux", target_os = "android"))]
            return attributes(&self.fd, Path::new(""), AtFlags::EMPTY_PATH)
                .contains(fs::StatxAttributes::APPEND);
            #[cfg(not(any(target_os = "linux", target_os = "android")))]
            return false;
        }
    }

    /// The attributes of a file that the system knows.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn attributes(
        folder: impl std::os::fd::AsFd,
        path: &Path,
        flags: AtFlags,
    ) -> fs::StatxAttributes {
        let found = fs::statx(folder, path, flags, fs::StatxFlags::empty());
        found.map_or(fs::StatxAttributes::empty(), |found| {
            found.stx_attributes & found.stx_attributes_mask
        })
    }

    /// Returns why no file can be renamed to an existing one, if it is known before.
    pub fn cannot_replace(path: &Path, metadata: &Metadata) -> Option<Cause> {
        use std::os::unix::fs::MetadataExt;
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            let attributes = attributes(CWD, path, AtFlags::empty());
            if attributes.contains(fs::StatxAttributes::MOUNT_ROOT) {
                return Some(Cause::MountPoint);
            }
            let fixed = fs::StatxAttributes::IMMUTABLE | fs::StatxAttributes::APPEND;
            if attributes.intersects(fixed) {
                return Some(Cause::Fixed);
            }
        }
        let user = rustix::process::geteuid().as_raw();
        let folder = std::fs::metadata(folder_of(path)).ok()?;
        let is_sticky = folder.mode() & 0o1000 != 0;
        let may = [0, metadata.uid(), folder.uid()].contains(&user);
        (is_sticky && !may).then_some(Cause::Sticky)
    }

    /// The ways to rename without replacing, the best first. The second does it in two steps.
    pub const WAYS_NOT_TO_REPLACE: &[Way] = &[
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        |folder, from, to| {
            let flags = fs::RenameFlags::NOREPLACE;
            Ok(fs::renameat_with(&folder.fd, from, &folder.fd, to, flags)?)
        },
        |folder, from, to| {
            fs::linkat(&folder.fd, from, &folder.fd, to, AtFlags::empty())?;
            let _ = folder.remove(from); // the file has its name
            Ok(())
        },
    ];
}

#[cfg(not(unix))]
mod system {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    #[derive(Debug)]
    pub struct Folder {
        path: PathBuf,
    }

    impl Folder {
        pub fn open(path: &Path) -> io::Result<Self> {
            match fs::metadata(path)?.is_dir() {
                // Absolute, in case the program changes its directory.
                true => Ok(Self { path: std::path::absolute(path)? }),
                false => Err(io::ErrorKind::NotADirectory.into()),
            }
        }

        pub fn path(&self) -> &Path {
            &self.path
        }

        /// Creates a file for reading and writing.
        pub fn create(&self, name: &OsStr, _mode: u32) -> io::Result<File> {
            File::options().read(true).write(true).create_new(true).open(self.path.join(name))
        }

        pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
            fs::rename(self.path.join(from), self.path.join(to))
        }

        pub fn remove(&self, name: &OsStr) -> io::Result<()> {
            fs::remove_file(self.path.join(name))
        }

        pub fn find(&self, name: &OsStr) -> Option<(PathBuf, fs::Metadata)> {
            let path = self.path.join(name);
            let metadata = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
            Some((path, metadata))
        }

        pub fn has(&self, name: &OsStr) -> bool {
            fs::symlink_metadata(self.path.join(name)).is_ok()
        }

        pub fn sync(&self) -> bool {
            true
        }

        pub fn is_append_only(&self) -> bool {
            false
        }
    }

    pub fn cannot_replace(_path: &Path, _metadata: &Metadata) -> Option<Cause> {
        None
    }

    pub const WAYS_NOT_TO_REPLACE: &[Way] = &[|folder, from, to| {
        fs::hard_link(folder.path.join(from), folder.path.join(to))?;
        let _ = folder.remove(from); // the file has its name
        Ok(())
    }];
}
