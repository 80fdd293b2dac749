//! Files in an open directory. On Unix they are found even if the program changes its own directory
//! or the path of this one is too long for the system.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use super::error::Cause;

pub use system::{
    Folder, WAYS_NOT_TO_REPLACE, cannot_replace, is_device, is_held, is_stream_of_file,
};
#[cfg(windows)]
pub use system::{list, open_without_access};

/// A way to rename a file, or to give it a second name, without replacing another.
pub type Way = fn(&Folder, &OsStr, &OsStr) -> io::Result<()>;

/// A name of its own for a file that is not complete.
pub fn temporary_name() -> io::Result<OsString> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(format!(".palladion-{:016x}.tmp", u64::from_le_bytes(random)).into())
}

/// The directory of a file.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(unix)]
mod system {
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStringExt;
    use std::path::PathBuf;
    use std::time::{Duration, SystemTime};

    use rustix::fs::{self, AtFlags, CWD, Mode, OFlags};
    use rustix::io::{Errno, retry_on_intr};

    use super::*;

    #[derive(Debug)]
    pub struct Folder {
        fd: OwnedFd,
        path: PathBuf,
    }

    // This needs no permission to list a directory.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const UNLISTED: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const UNLISTED: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

    impl Folder {
        pub fn open(path: &Path) -> io::Result<Self> {
            let fd = retry_on_intr(|| fs::openat(CWD, path, UNLISTED, Mode::empty()))?;
            Ok(Self { fd, path: path.to_path_buf() })
        }

        /// Opens a directory in this one. Fails with `NotADirectory` also for a symbolic link.
        pub fn enter(&self, name: &OsStr) -> io::Result<Self> {
            let flags = UNLISTED | OFlags::NOFOLLOW;
            match retry_on_intr(|| fs::openat(&self.fd, name, flags, Mode::empty())) {
                Ok(fd) => Ok(Self { fd, path: self.path.join(name) }),
                Err(Errno::LOOP) => Err(Errno::NOTDIR.into()),
                Err(error) => Err(error.into()),
            }
        }

        /// Creates a directory that only its owner can use.
        pub fn create_folder(&self, name: &OsStr) -> io::Result<()> {
            Ok(fs::mkdirat(&self.fd, name, Mode::RWXU)?)
        }

        /// The directory itself, to change its permissions and its date.
        pub fn file(&self) -> io::Result<File> {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            Ok(retry_on_intr(|| fs::openat(&self.fd, ".", flags, Mode::empty()))?.into())
        }

        /// Opens a file. Fails for a symbolic link.
        pub fn open_file(&self, name: &OsStr) -> io::Result<File> {
            let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            Ok(retry_on_intr(|| fs::openat(&self.fd, name, flags, Mode::empty()))?.into())
        }

        /// Creates a symbolic link.
        pub fn link(&self, to: &Path, name: &OsStr, modified: SystemTime) -> io::Result<()> {
            fs::symlinkat(to, &self.fd, name)?;
            let seconds = |since: Duration| since.as_secs() as i64;
            let (tv_sec, tv_nsec) = match modified.duration_since(SystemTime::UNIX_EPOCH) {
                Ok(since) => (seconds(since), since.subsec_nanos()),
                Err(error) => match error.duration() {
                    before if before.subsec_nanos() == 0 => (-seconds(before), 0),
                    before => (-seconds(before) - 1, 1_000_000_000 - before.subsec_nanos()),
                },
            };
            let last_modification = fs::Timespec { tv_sec, tv_nsec: tv_nsec as _ };
            let last_access = fs::Timespec { tv_sec: 0, tv_nsec: fs::UTIME_OMIT };
            let times = fs::Timestamps { last_access, last_modification };
            // Not every file system has such dates.
            let _ = fs::utimensat(&self.fd, name, &times, AtFlags::SYMLINK_NOFOLLOW);
            Ok(())
        }

        /// Returns where a symbolic link leads. `None` if there is no link.
        pub fn read_link(&self, name: &OsStr) -> Option<PathBuf> {
            let link = fs::readlinkat(&self.fd, name, Vec::new()).ok()?;
            Some(OsString::from_vec(link.into_bytes()).into())
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

        /// Renames a file, and replaces another that is locked by `lock`.
        pub fn replace(
            &self,
            from: &OsStr,
            to: &OsStr,
            _lock: &mut Option<File>,
        ) -> io::Result<()> {
            self.rename(from, to)
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
            let Ok(file) = self.file() else { return false };
            match retry_on_intr(|| fs::fsync(&file)) {
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

    /// Returns whether a name is that of a device whatever is in its directory.
    pub fn is_device(_path: &Path) -> bool {
        false
    }

    /// Returns whether a name is that of a part of a file.
    pub fn is_stream_of_file(_path: &Path) -> bool {
        false
    }

    /// Returns whether another program does not allow a file to be replaced.
    pub fn is_held(_path: &Path) -> bool {
        false
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
    use std::fs::{self, OpenOptions};
    use std::path::{Component, PathBuf, Prefix};
    use std::thread::sleep;
    use std::time::{Duration, SystemTime};

    use super::*;
    #[cfg(windows)]
    use crate::windows::{List, rights};

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

        /// Opens a directory in this one. Fails with `NotADirectory` also for a symbolic link or a
        /// junction.
        pub fn enter(&self, name: &OsStr) -> io::Result<Self> {
            let path = self.path.join(name);
            match fs::symlink_metadata(&path)?.is_dir() {
                true => Ok(Self { path }),
                false => Err(io::ErrorKind::NotADirectory.into()),
            }
        }

        pub fn create_folder(&self, name: &OsStr) -> io::Result<()> {
            fs::create_dir(self.path.join(name))
        }

        /// The directory itself, to change its date.
        pub fn file(&self) -> io::Result<File> {
            #[cfg(windows)]
            return with_rights(File::options(), rights::WRITE_ATTRIBUTES).open(&self.path);
            #[cfg(not(windows))]
            return File::open(&self.path);
        }

        pub fn link(&self, _: &Path, _: &OsStr, _: SystemTime) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub fn read_link(&self, name: &OsStr) -> Option<PathBuf> {
            fs::read_link(self.path.join(name)).ok()
        }

        pub fn path(&self) -> &Path {
            &self.path
        }

        /// Creates a file for reading and writing, and to set who may use it.
        pub fn create(&self, name: &OsStr, _mode: u32) -> io::Result<File> {
            let (path, mut options) = (self.path.join(name), File::options());
            options.read(true).write(true).create_new(true);
            #[cfg(windows)]
            match with_rights(options.clone(), rights::READ_WRITE_SET_LIST).open(&path) {
                // Some servers refuse such a right.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                created => return created,
            }
            options.open(path)
        }

        pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
            patiently(&[ERROR_SHARING_VIOLATION, ERROR_ACCESS_DENIED], || {
                fs::rename(self.path.join(from), self.path.join(to))
            })
        }

        /// Renames a file, and replaces another that is locked by `lock`.
        pub fn replace(&self, from: &OsStr, to: &OsStr, lock: &mut Option<File>) -> io::Result<()> {
            let renamed = fs::rename(self.path.join(from), self.path.join(to));
            renamed.or_else(|_| {
                // Windows before 10, FAT and some servers replace no open file, not even if only
                // we have it open.
                *lock = None;
                self.rename(from, to)
            })
        }

        pub fn remove(&self, name: &OsStr) -> io::Result<()> {
            patiently(&[ERROR_SHARING_VIOLATION, ERROR_ACCESS_DENIED], || {
                fs::remove_file(self.path.join(name))
            })
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

    /// What Windows says of a file that another program has open and does not share.
    const ERROR_SHARING_VIOLATION: i32 = 32;
    /// What it also says of that, and of much else.
    const ERROR_ACCESS_DENIED: i32 = 5;

    /// Tries again for a second if the error may pass: a virus scanner or an indexer looks at every
    /// new file for a moment, and allows nothing meanwhile.
    fn patiently<T>(passing: &[i32], mut action: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        let passes = |error: &io::Error| {
            cfg!(windows) && error.raw_os_error().is_some_and(|error| passing.contains(&error))
        };
        for milliseconds in [1, 3, 10, 30, 100, 300, 600] {
            match action() {
                Err(error) if passes(&error) => sleep(Duration::from_millis(milliseconds)),
                done => return done,
            }
        }
        action()
    }

    #[cfg(windows)]
    fn with_rights(mut options: OpenOptions, rights: u32) -> OpenOptions {
        use std::os::windows::fs::OpenOptionsExt;
        // Also for directories.
        const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
        options.access_mode(rights).custom_flags(FILE_FLAG_BACKUP_SEMANTICS);
        options
    }

    /// Opens something only to learn what it is.
    #[cfg(windows)]
    pub fn open_without_access(path: &Path) -> io::Result<File> {
        with_rights(File::options(), 0).open(path)
    }

    /// Returns who may use a file.
    #[cfg(windows)]
    pub fn list(path: &Path) -> Option<List> {
        List::of(&with_rights(File::options(), rights::READ_LIST).open(path).ok()?)
    }

    /// Returns whether Windows takes a name for a device whatever is in its directory: `CON`,
    /// `NUL`, before Windows 11 also `nul.txt`, and what begins with `\\.\`.
    pub fn is_device(path: &Path) -> bool {
        let absolute = std::path::absolute(path).unwrap_or_default();
        match absolute.components().next() {
            Some(Component::Prefix(prefix)) => matches!(prefix.kind(), Prefix::DeviceNS(_)),
            _ => false,
        }
    }

    /// Returns whether a name is that of an alternate data stream, as `file.txt:stream`.
    pub fn is_stream_of_file(path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default();
        cfg!(windows) && name.as_encoded_bytes().contains(&b':')
    }

    /// Returns whether another program does not allow a file to be replaced.
    pub fn is_held(path: &Path) -> bool {
        #[cfg(windows)]
        {
            let open = || with_rights(File::options(), rights::DELETE).open(path);
            patiently(&[ERROR_SHARING_VIOLATION], open)
                .is_err_and(|error| error.raw_os_error() == Some(ERROR_SHARING_VIOLATION))
        }
        #[cfg(not(windows))]
        {
            let _ = path;
            false
        }
    }

    /// Returns why no file can be renamed to an existing one, if it is known before.
    pub fn cannot_replace(_path: &Path, metadata: &Metadata) -> Option<Cause> {
        (cfg!(windows) && metadata.permissions().readonly()).then_some(Cause::ReadOnly)
    }

    pub const WAYS_NOT_TO_REPLACE: &[Way] = &[|folder, from, to| {
        fs::hard_link(folder.path.join(from), folder.path.join(to))?;
        let _ = folder.remove(from); // the file has its name
        Ok(())
    }];
}
