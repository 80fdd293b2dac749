//! Names that mean an open descriptor.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::Identity;
use super::folder::folder_of;

/// Where a name leads, through the symbolic links at its end.
#[derive(Debug, PartialEq)]
pub enum End {
    /// An open descriptor of this process.
    Descriptor(u32),
    /// What may be an open descriptor of another process.
    OtherProcess,
    /// Something that is no link, or nothing.
    Path(PathBuf),
}

/// Returns the number of the descriptor that a name means, if it means one: those of `/dev/stdin`,
/// `/dev/stdout` and `/dev/stderr` and below `/dev/fd` and `/proc/self/fd`, also if symbolic links
/// lead there.
pub fn descriptor(path: &Path) -> Option<u32> {
    match resolve(path) {
        End::Descriptor(number) => Some(number),
        _ => None,
    }
}

/// Opens an input: a file, or a duplicate of the descriptor that the name means.
pub fn open_input(path: &Path) -> io::Result<File> {
    match descriptor(path) {
        Some(number) => duplicate(number),
        // Windows says that access is denied.
        None if cfg!(windows) && path.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        None => File::open(path),
    }
}

/// Returns whether a path has come to mean another file, or none, since this one was opened by it.
/// Then changes to the open file would be lost. Ask once it is locked.
pub fn is_replaced(path: &Path, file: &File) -> bool {
    // The name of a descriptor means the open file for good, and so does that of a device.
    let own = Identity::of(file);
    own.is_same(&own) && descriptor(path).is_none() && !own.is_same(&Identity::at(path))
}

/// Follows symbolic links one by one. The system would follow the last one from /proc/self/fd too,
/// to the file behind a descriptor. The directories before the last name need no such care; they
/// stay as they are, because their canonical path may be too long for the system.
pub fn resolve(path: &Path) -> End {
    let mut path = path.to_path_buf();
    // As many links as the system follows.
    for _ in 0..40 {
        if cfg!(unix)
            && let Some(end) = in_table(&path)
        {
            return end;
        }
        match fs::read_link(&path) {
            Ok(link) => path = folder_of(&path).join(link),
            Err(_) => break,
        }
    }
    End::Path(path)
}

/// A name in a table of descriptors.
fn in_table(path: &Path) -> Option<End> {
    let name = path.file_name()?.to_str()?;
    let number = name.parse().ok().filter(|number: &u32| number.to_string() == name)?;
    let folder = folder_of(path);
    // Also without /proc.
    let own = ["/dev/fd", "/proc/self/fd", "/proc/thread-self/fd"].map(Path::new);
    if own.contains(&folder) {
        return Some(End::Descriptor(number));
    }
    let folder = fs::canonicalize(folder).ok()?;
    if own.contains(&&*folder) {
        return Some(End::Descriptor(number));
    }
    // /proc/PID/fd or /proc/PID/task/TID/fd
    let mut parts = folder.strip_prefix("/proc").ok()?.iter();
    let process = parts.next()?;
    let table = match parts.next()?.to_str()? {
        "task" => parts.nth(1)?,
        name => name.as_ref(),
    };
    if table != "fd" || parts.next().is_some() {
        return None;
    }
    // Another PID than that of the system call, if /proc is that of another namespace.
    match fs::read_link("/proc/self").is_ok_and(|own| own == process) {
        true => Some(End::Descriptor(number)),
        false => Some(End::OtherProcess),
    }
}

/// Duplicates a descriptor of this process. Fails if there is none with this number.
pub fn duplicate(number: u32) -> io::Result<File> {
    #[cfg(unix)]
    return on(number, |fd| Ok(rustix::io::fcntl_dupfd_cloexec(fd, 3)?.into()));
    #[cfg(not(unix))]
    return Err(io::Error::new(io::ErrorKind::Unsupported, format!("no descriptor {number}")));
}

/// Duplicates a descriptor that this program was started with. Fails if there is none, as for one
/// that the program opened itself: those are closed when a program is started.
pub fn inherited(number: u32) -> io::Result<File> {
    #[cfg(unix)]
    on(number, |fd| match rustix::io::fcntl_getfd(fd)? {
        flags if flags.contains(rustix::io::FdFlags::CLOEXEC) => Err(rustix::io::Errno::BADF),
        _ => Ok(()),
    })?;
    duplicate(number)
}

/// Makes one system call with a descriptor.
#[cfg(unix)]
#[allow(unsafe_code)]
fn on<T>(
    number: u32,
    call: impl FnOnce(std::os::fd::BorrowedFd<'_>) -> rustix::io::Result<T>,
) -> io::Result<T> {
    let number = i32::try_from(number).map_err(|_| rustix::io::Errno::BADF)?;
    // SAFETY: The number is not -1. If no descriptor has it, the one system call that gets it,
    // `fcntl`, fails with EBADF and changes nothing. The borrowed descriptor ends with this call.
    let borrowed = unsafe { std::os::fd::BorrowedFd::borrow_raw(number) };
    Ok(call(borrowed)?)
}
