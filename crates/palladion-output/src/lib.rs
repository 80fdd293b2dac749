//! Output files that appear only once they are complete.
//!
//! The command `palladion` and the Python package follow this rule for every output that has a
//! name.
//!
//! # When a file is complete
//!
//! A new file takes its name, and replaces an older one, only when the program has said that it is
//! complete, after all of it was written. It is discarded, so that the older file stays or nothing
//! appears, if the program discards it or drops it, if a read, a write or a callback failed before,
//! or if an error leaves the scope of the file. A library that cannot know whether it is called
//! after a success or a failure does not take it for a success. What goes to a stream that the
//! library did not open, such as a socket, is discarded by leaving it without an end: every reader
//! of it says "truncated". Every language has a call for each:
//!
//! * Rust, a name: [`Output::commit`] or [`rename_all`] completes it; dropping the [`Output`]
//!   discards it. A stream: `finish` of `palladion_file::EncryptWriter`, or `shutdown` with
//!   tokio, completes it; dropping the writer discards it.
//! * C: `palladion_encrypt_file` and `palladion_decrypt_file` complete the output if they return 0.
//!   `palladion_stream_push` with `last` completes a stream; `palladion_stream_free` before that
//!   discards it.
//! * Python: `commit`, `close` and the normal end of `with` complete it; `discard`, and an
//!   exception that leaves `with`, discard it.
//! * JavaScript: the end of a stream completes it; an error, or cancelling it, discards it.
//!   `encryptFileTo` and `decryptFileTo` complete a file if their promise is fulfilled.
//! * Go, a name: `PendingFile.Commit` completes it, `Abort` discards it; `WriteFile` completes it
//!   if it returns nil. A stream: `Writer.Close` completes it, unless the source of `io.Copy`
//!   failed; `Abort` discards it.
//! * The command: an output is complete if the exit status is 0.
//!
//! # What a name means
//!
//! * `/dev/stdin`, `/dev/stdout`, `/dev/stderr` and the names below `/dev/fd` and `/proc/self/fd`
//!   are open **descriptors** of this process, also if symbolic links lead there, for input and
//!   output. A descriptor is duplicated, not opened again: reading or writing continues at its
//!   position, and what is there before and after stays. See [`descriptor`] and [`open_input`].
//! * **Devices, FIFOs and sockets** are written directly.
//! * Any other name is a **regular file**. It is written under a temporary name
//!   (`.palladion-….tmp`) in the same directory, synced, and renamed once it is complete. A
//!   symbolic link is followed: its target is replaced, and the link stays. A link to a missing
//!   file is refused.
//!
//! In a [`Directory`], as for the copy of a tree, no name means a descriptor, and no symbolic link
//! is followed.
//!
//! To commit many files, [`sync_all`] and [`rename_all`] take much less time than
//! [`Output::commit`] on each.
//!
//! A failure, a signal or a power failure leaves the old file, or none. At worst, a temporary file
//! stays behind. What is written directly may be left incomplete. A file or disk that is written
//! directly is synced at the end.
//!
//! A RAF file is created like any other by the command, and in place by `palladion.raf.open`. Then
//! it is edited in place, and opened by its name even if that means a descriptor: positions in it
//! do not depend on the descriptor's.
//!
//! # What is refused before the work starts
//!
//! * A file that exists, unless it may be replaced.
//! * A directory, and a name that can only be a directory's.
//! * A file or disk that is also an input, the key file or the passphrase file, under whatever
//!   name.
//! * A file that another program has locked. A RAF file is locked while it is changed.
//! * A file that cannot be replaced: a mount point, as a container gets for a single file from
//!   outside; another user's file in a directory like `/tmp`; an immutable or append-only file.
//! * A directory that takes no new file.
//! * A regular file that is a descriptor of another process: replacing it would do nothing for that
//!   process.
//!
//! # Permissions
//!
//! A temporary file is private (0600) until it is complete. Then it gets its permissions.
//!
//! A new file gets those that the umask allows. If it is made from another file
//! ([`Target::permissions_of`]), it gets that one's permissions as far as the umask allows, as with
//! `cp`. It gets fewer if the other file has another group or an access control list (ACL), and
//! never setuid and the like.
//!
//! A file that replaces another gets that one's permissions, without setuid and the like, its group
//! and its owner, as far as the system allows, whatever it is made from. They are those that the
//! other file has when the new one is complete, also if it appeared during the work. If it has
//! vanished by then, they are those that it had at the beginning; if another user has put a file in
//! its place, the new one is private. On Linux, permissions include the POSIX ACL. Where the group
//! or the ACL cannot be kept, fewer users get access than before. The ACLs of macOS and the BSDs
//! are not kept.
//!
//! A [private](Access::Private) file is readable and writable by its owner alone (0600), also if it
//! replaces one that was not. Descriptors and devices keep their permissions.
//!
//! # Fork
//!
//! An unfinished file belongs to the process that created it. In a forked child, [`Output`] neither
//! finishes the file nor removes it.
//!
//! # File systems that lack an operation
//!
//! Not to replace a file that appears during the work needs a rename that refuses to replace, or
//! hard links. Where there is neither (exFAT, vboxsf, some SMB and FUSE mounts, Android), we look
//! whether the name is free and rename at once; another program could create the file in between.
//! A file system without permissions, owners, locks or `fsync` does without them, which is not an
//! error. There a private file is only as private as the file system makes every file.
#![doc = include_str!("windows.md")]
//!
//! # Example
//!
//! ```
//! use std::io::Write;
//! use palladion_output::{Access, Target};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("report");
//! let output = Target::check(&path, false, Access::Usual, &[])?.open()?;
//! output.file().write_all(b"some text")?;
//! assert!(!path.exists());
//! output.commit()?;
//! assert!(path.exists());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::SystemTime;

mod access;
mod descriptor;
mod directory;
mod error;
mod folder;
mod identity;
mod permissions;
#[cfg(windows)]
mod windows;

pub use access::open_to_others;
pub use descriptor::{descriptor, duplicate, inherited, is_replaced, open_input};
pub use directory::{Attributes, Directory};
pub use error::{Cause, Error, Result, hides_secret, is_secret, quoted};
pub use identity::{Identity, metadata};

use descriptor::End;
use folder::{Folder, Way, folder_of, temporary_name};
use permissions::{Later, Replaced, Sources};

/// Who may read a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The users that the umask allows; a replaced file keeps its permissions.
    Usual,
    /// The owner alone.
    Private,
}

/// A name that an output may have. Nothing has been created.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    /// The directory, if it is open already.
    folder: Option<Arc<Folder>>,
    replace: bool,
    access: Access,
    found: Found,
    sources: Sources,
    modified: Option<SystemTime>,
}

/// What is under a name.
#[derive(Debug)]
enum Found {
    Nothing,
    Descriptor(File),
    Special,
    /// A regular file: its own name, without symbolic links at the end, and how long it is locked.
    File {
        own: PathBuf,
        replaced: Box<Replaced>,
        lock: Option<File>,
    },
}

impl Target {
    /// Checks a name. `replace` allows to replace a file. `inputs` are the files that the output
    /// must not be, each with its name for the error, such as "key".
    pub fn check(
        path: &Path,
        replace: bool,
        access: Access,
        inputs: &[(&str, &Identity)],
    ) -> Result<Self> {
        let fail = |cause: Cause| Err(cause.of(path));
        let target = |found| {
            let (path, sources) = (path.to_path_buf(), Sources::default());
            Ok(Self { path, folder: None, replace, access, found, sources, modified: None })
        };
        let end = descriptor::resolve(path);
        if let End::Descriptor(number) = end {
            let file = duplicate(number).map_err(|error| Cause::Io("open", error).of(path))?;
            refuse_inputs(path, &Identity::of(&file), inputs)?;
            return target(Found::Descriptor(file));
        }
        if folder::is_device(path) {
            return target(Found::Special);
        }
        if folder::is_stream_of_file(path) {
            return fail(Cause::Stream);
        }
        let existing = match fs::metadata(path) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return fail(Cause::Io("create", error)),
        };
        let identity = Identity::at(path);
        refuse_inputs(path, &identity, inputs)?;
        match (existing, end) {
            (Some(metadata), _) if metadata.is_dir() => fail(Cause::Directory),
            (Some(metadata), _) if !metadata.is_file() => target(Found::Special),
            (Some(_), End::OtherProcess) => fail(Cause::OtherProcess),
            (Some(metadata), End::Path(own)) => {
                let found = Found::file(own, metadata, identity, replace);
                target(found.map_err(|cause| cause.of(path))?)
            }
            // Another program has created it meanwhile.
            (None, _) if fs::metadata(path).is_ok() => Self::check(path, replace, access, inputs),
            (None, _) if fs::symlink_metadata(path).is_ok() => {
                fail(if replace { Cause::DanglingLink } else { Cause::Exists })
            }
            (None, _) if path.as_os_str().is_empty() => fail(Cause::EmptyName),
            (None, _) if names_no_file(path) => fail(Cause::DirectoryName),
            _ => target(Found::Nothing),
        }
    }

    /// Checks a name in an open directory. Unlike with [`check`](Self::check), no name means a
    /// descriptor or a device, and no symbolic link is followed: what is there and is not a regular
    /// file is refused.
    pub fn check_in(
        directory: &Directory,
        name: &OsStr,
        replace: bool,
        inputs: &[(&str, &Identity)],
    ) -> Result<Self> {
        let folder = directory.folder();
        let path = folder.path().join(name);
        let found = match folder.find(name) {
            _ if folder::is_device(&path) => Err(Cause::NotFile),
            _ if folder::is_stream_of_file(&path) => Err(Cause::Stream),
            Some((own, metadata)) => {
                let identity = Identity::at(&own);
                refuse_inputs(&path, &identity, inputs)?;
                Found::file(own, metadata, identity, replace)
            }
            None if folder.has(name) => Err(Cause::NotFile),
            None => Ok(Found::Nothing),
        };
        let found = found.map_err(|cause| cause.of(&path))?;
        // What appears meanwhile stays.
        let replace = matches!(found, Found::File { .. });
        let (folder, sources) = (Some(Arc::clone(folder)), Sources::default());
        Ok(Self { path, folder, replace, access: Access::Usual, found, sources, modified: None })
    }

    /// Returns whether it is a device, a FIFO or a socket. Opening a FIFO waits for a reader.
    pub fn is_special(&self) -> bool {
        matches!(self.found, Found::Special)
    }

    /// Gives a new file the permissions of the file that it is made from, as far as the umask
    /// allows. If it is made from several files, it gets the permissions that all of them have.
    /// Without effect on a private file and on one that replaces another, and if the source is not
    /// a regular file.
    #[must_use]
    pub fn permissions_of(mut self, source: &File) -> Self {
        self.sources.add(source);
        self
    }

    /// Gives the file the permissions of the file that it is a copy of, as `cp -a` does: whatever
    /// the umask, and also if it replaces another file. It gets fewer if it has another group, or
    /// if the source has an access control list (ACL), and never setuid and the like. On Windows
    /// without effect. Without effect on a private file.
    #[must_use]
    pub fn copy_of(mut self, source: &File) -> Self {
        self.sources.add(source);
        self.sources.be_exact();
        self
    }

    /// Sets the date of the last modification that the file gets when it is complete. Without
    /// effect on what is written directly.
    #[must_use]
    pub fn modified(mut self, time: SystemTime) -> Self {
        self.modified = Some(time);
        self
    }

    /// Keeps other programs that do the same from replacing a file, and from changing it if they
    /// lock it first, until this output has its name. For outputs that are made from the file that
    /// they replace. [`Output::replaced`] returns that file, which nobody else can read on Windows
    /// meanwhile. Without effect if there is no file yet.
    ///
    /// # Errors
    ///
    /// [`Cause::InUse`] if another program has locked it; [`Cause::Io`] if it cannot be written.
    pub fn alone(mut self) -> Result<Self> {
        if let Found::File { own, lock, .. } = &mut self.found
            && lock.is_some()
        {
            // Some file systems lock a file for one alone only if it is open for writing.
            let file = File::options().read(true).write(true).open(&*own);
            let file = file.map_err(|error| Cause::Io("open", error).of(&self.path))?;
            *lock = None; // or it would be in the way
            let locked = match file.try_lock() {
                Err(TryLockError::Error(_)) => file.try_lock_shared(),
                locked => locked,
            };
            if let Err(TryLockError::WouldBlock) = locked {
                return Err(Cause::InUse.of(&self.path));
            }
            *lock = Some(file);
        }
        Ok(self)
    }

    /// Opens what is written directly, or creates the temporary file.
    pub fn open(self) -> Result<Output> {
        let Self { path, folder, replace, access, found, sources, modified } = self;
        let process = std::process::id();
        let (own, replaced, lock) = match found {
            Found::Descriptor(file) => return Ok(Output { path, file, process, new: None }),
            Found::Special => {
                let file = File::options().write(true).open(&path);
                let file = file.map_err(|error| Cause::Io("open", error).of(&path))?;
                return Ok(Output { path, file, process, new: None });
            }
            Found::Nothing => (path.clone(), None, None),
            Found::File { own, replaced, lock } => (own, Some(replaced), lock),
        };
        let dir = folder_of(&own);
        let mode = match (access, &replaced) {
            (Access::Usual, None) if !sources.is_exact() => sources.mode(),
            _ => 0o600,
        };
        let folder = match folder {
            Some(folder) => folder,
            None => Arc::new(Folder::open(dir).map_err(|error| match error.kind() {
                ErrorKind::NotFound => Cause::NoDirectory(dir.to_path_buf()).of(&path),
                _ => Cause::Io("create a file in", error).of(dir),
            })?),
        };
        if folder.is_append_only() {
            return Err(Cause::Fixed.of(dir));
        }
        let (file, name) = temporary(&folder, mode)
            .map_err(|error| Cause::Io("create a file in", error).of(dir))?;
        let later = match (access, replaced) {
            (Access::Usual, Some(replaced)) if !sources.is_exact() => Later::As(replaced),
            (Access::Usual, _) => sources.close(&file),
            (Access::Private, replaced) => Later::Private(replaced),
        };
        later.close(&file);
        let new = New {
            folder,
            name: Some(name),
            target: own.file_name().unwrap_or_default().to_os_string(),
            replace,
            later,
            modified,
            lock,
        };
        Ok(Output { path, file, process, new: Some(new) })
    }
}

impl Found {
    /// A regular file, if it may and can be replaced.
    fn file(
        own: PathBuf,
        metadata: fs::Metadata,
        identity: Identity,
        replace: bool,
    ) -> std::result::Result<Self, Cause> {
        if !replace {
            return Err(Cause::Exists);
        }
        if let Some(cause) = folder::cannot_replace(&own, &metadata) {
            return Err(cause);
        }
        let lock = lock(&own)?;
        let replaced = Box::new(Replaced::new(&own, metadata, identity));
        Ok(Self::File { own, replaced, lock })
    }
}

/// How many outputs [`sync_all`] syncs at a time.
const SYNC_THREADS: usize = 16;

/// An open output. A new file that is dropped without [`commit`](Output::commit) is removed.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    file: File,
    /// The process that opened it.
    process: u32,
    /// If it is not written directly.
    new: Option<New>,
}

/// A temporary file.
#[derive(Debug)]
struct New {
    folder: Arc<Folder>,
    /// Its name, until it is renamed.
    name: Option<OsString>,
    target: OsString,
    replace: bool,
    later: Later,
    modified: Option<SystemTime>,
    /// Unlocks the replaced file at the end.
    lock: Option<File>,
}

impl Output {
    /// Takes an open file that is written directly, such as standard output. `path` is its name for
    /// errors.
    pub fn direct(path: &Path, file: File) -> Self {
        Self { path: path.to_path_buf(), file, process: std::process::id(), new: None }
    }

    /// Returns where to write. A new file can be read, too.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns the file that it will replace, if it could be opened.
    pub fn replaced(&self) -> Option<&File> {
        self.new.as_ref()?.lock.as_ref()
    }

    /// Returns whether it is written directly: it has no name to get at the end.
    pub fn is_direct(&self) -> bool {
        self.new.is_none()
    }

    /// Returns the name of the temporary file, for a program that must remove it when a signal ends
    /// it.
    pub fn temporary_path(&self) -> Option<PathBuf> {
        let new = self.new.as_ref()?;
        Some(new.folder.path().join(new.name.as_ref()?))
    }

    /// Returns whether this process opened it. A forked child did not.
    pub fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }

    /// Returns whether it will replace this file.
    pub fn replaces(&self, file: &Identity) -> bool {
        let replaced = self.new.as_ref().and_then(|new| new.later.replaced());
        replaced.is_some_and(|replaced| replaced.identity.is_same(file))
    }

    /// Gives a new file its permissions and its date, and waits until everything is on disk.
    pub fn sync(&self) -> Result<()> {
        if !self.is_ours() {
            return Err(Cause::Forked.of(&self.path));
        }
        let synced = match &self.new {
            Some(new) => {
                let now = new.replace.then(|| Replaced::find(&new.folder, &new.target)).flatten();
                new.later.give(&self.file, now);
                if let Some(time) = new.modified {
                    // Not every file system has such dates.
                    let _ = self.file.set_modified(time);
                }
                self.file.sync_all()
            }
            None => sync_direct(&self.file),
        };
        match synced {
            // Not every file system can sync.
            Err(error)
                if !matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) =>
            {
                Err(Cause::Io("write", error).of(&self.path))
            }
            _ => Ok(()),
        }
    }

    /// Gives a new file its name, which is not on disk before its directory is synced.
    fn take_name(mut self) -> Result<Self> {
        if !self.is_ours() {
            return Err(Cause::Forked.of(&self.path));
        }
        let Some(New { folder, name, target, replace, lock, .. }) = &mut self.new else {
            return Ok(self);
        };
        let Some(from) = name.as_deref() else { return Ok(self) };
        let renamed = match replace {
            true => folder.replace(from, target, lock),
            false => rename_new(folder, from, target, folder::WAYS_NOT_TO_REPLACE),
        };
        match renamed {
            Ok(()) => {
                *name = None;
                Ok(self)
            }
            Err(error) => Err(match error.kind() {
                ErrorKind::AlreadyExists => Cause::Exists,
                ErrorKind::ResourceBusy => Cause::MountPoint,
                _ => Cause::Io("create", error),
            }
            .of(&self.path)),
        }
    }

    /// Syncs the output to disk and gives a new file its name. If that fails, the file is removed.
    /// Then the directory is synced, too. If only that fails, this returns `Ok`: the file is
    /// complete and has its name, but a power failure may undo the renaming. [`rename_all`] says
    /// whether the directory was synced.
    pub fn commit(self) -> Result<()> {
        let synced = self.sync().map(|()| self);
        rename_all(vec![synced]).pop().expect("one result for one output").map(drop)
    }
}

/// Does the first half of [`Output::commit`] for several outputs: syncs them, several at a time. A
/// file system that writes its journal does so once for all that wait for it.
pub fn sync_all(outputs: Vec<Output>) -> Vec<Result<Output>> {
    let mut results: Vec<_> = outputs.iter().map(|_| Ok(())).collect();
    let todo = Mutex::new(outputs.iter().zip(&mut results));
    let next = || todo.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some((output, result)) = next() {
            *result = output.sync();
        }
    };
    thread::scope(|scope| {
        for _ in 1..outputs.len().min(SYNC_THREADS) {
            // If there is no thread, the others do the work.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    outputs.into_iter().zip(results).map(|(output, synced)| synced.map(|()| output)).collect()
}

/// Does the second half of [`Output::commit`] for what [`sync_all`] returns: gives new files their
/// names, and syncs each directory once. Returns `false` for an output whose directory could not be
/// synced: it is complete, but may lose its name in a power failure. File systems that cannot sync
/// directories do not count as failed.
pub fn rename_all(outputs: Vec<Result<Output>>) -> Vec<Result<bool>> {
    let outputs: Vec<_> = outputs.into_iter().map(|output| output?.take_name()).collect();
    // A `HashMap` would need random numbers, which may fail, and the outputs have their names now.
    let mut synced = BTreeMap::new();
    let mut sync = |output: &Output| {
        let Some(New { folder, .. }) = &output.new else { return true };
        *synced.entry(folder.path().to_owned()).or_insert_with(|| folder.sync())
    };
    outputs.into_iter().map(|output| output.map(|output| sync(&output))).collect()
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(New { folder, name: Some(name), .. }) = &self.new
            && self.is_ours()
        {
            let _ = folder.remove(name);
        }
    }
}

/// Refuses an output that is the same file or disk as one of the inputs.
pub fn refuse_inputs(path: &Path, output: &Identity, inputs: &[(&str, &Identity)]) -> Result<()> {
    match inputs.iter().find(|(_, input)| output.is_same(input)) {
        Some((what, _)) => Err(Cause::Input((*what).to_string()).of(path)),
        None => Ok(()),
    }
}

/// Waits until what was written directly is on disk, if it is for a disk.
fn sync_direct(file: &File) -> io::Result<()> {
    match file.metadata() {
        Ok(metadata) if metadata.is_file() => file.sync_data(),
        // Only now does the system say whether a disk took the data. (On macOS, `sync_data` works
        // for files alone.)
        #[cfg(unix)]
        Ok(metadata) if std::os::unix::fs::FileTypeExt::is_block_device(&metadata.file_type()) => {
            Ok(rustix::io::retry_on_intr(|| rustix::fs::fsync(file))?)
        }
        _ => Ok(()),
    }
}

/// Creates a file under a name of its own.
fn temporary(folder: &Folder, mode: u32) -> io::Result<(File, OsString)> {
    loop {
        let name = temporary_name()?;
        match folder.create(&name, mode) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            created => return created.map(|file| (file, name)),
        }
    }
}

/// Renames a file without replacing another, in the first way that the file system has.
fn rename_new(folder: &Folder, from: &OsStr, to: &OsStr, ways: &[Way]) -> io::Result<()> {
    for way in ways {
        match way(folder, from, to) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {}
            done => return done,
        }
    }
    match folder.has(to) {
        true => Err(ErrorKind::AlreadyExists.into()),
        // If this fails, then for a reason that the ways above had too.
        false => folder.rename(from, to),
    }
}

/// Locks the file that will be replaced, so that no other program begins to change it. Fails if one
/// does: it would lose the changes.
fn lock(target: &Path) -> std::result::Result<Option<File>, Cause> {
    if folder::is_held(target) {
        return Err(Cause::InUse);
    }
    // Without permission to read it, it cannot be locked, but may be replaced.
    let Ok(file) = File::open(target) else { return Ok(None) };
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Err(Cause::InUse),
        // Not every file system has locks.
        _ => Ok(Some(file)),
    }
}

/// Returns whether a path can only name a directory. [`Path`] itself ignores a `/` or `/.` at the
/// end.
fn names_no_file(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let text = text.strip_suffix('.').unwrap_or(&text);
    path.file_name().is_none() || text.ends_with(std::path::is_separator)
}

#[cfg(test)]
mod tests;

/// Tests the example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
