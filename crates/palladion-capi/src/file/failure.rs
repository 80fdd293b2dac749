//! What C gets when a call fails.

use core::ffi::{c_char, c_int};
use std::io::{self, ErrorKind};

use palladion_file::Error;
use palladion_output::{self as output, Cause};

use Failure::Number;

use crate::number;
use crate::status::EINVAL;

/// Why a call failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What C finds in `errno`.
    Number(c_int),
    File(Error),
}

/// An argument that the header does not allow.
pub(crate) const WRONG_ARGUMENT: Failure = Number(EINVAL);

impl Failure {
    /// Returns C's number for the failure, and sets `errno` if that tells more.
    pub(crate) fn report(&self) -> c_int {
        number::set(match self {
            Number(number) => *number,
            Self::File(error) => match error {
                Error::NotPalladion => return -2,
                Error::UnsupportedVersion(_) | Error::UnsupportedHeader { .. } | Error::Bound => {
                    return -3;
                }
                Error::HeaderDamaged | Error::Damaged { .. } => return -4,
                Error::Truncated { .. } => return -5,
                Error::TrailingData { .. } => return -6,
                Error::WrongKey | Error::WrongPassphrase => return -7,
                Error::NeedsKey => return -8,
                Error::NeedsPassphrase => return -9,
                Error::KdfTooCostly { .. } => return -10,
                Error::Read(error) | Error::Write(error) | Error::NoRandomness(error) => {
                    errno_of(error)
                }
                Error::KdfMemory => libc::ENOMEM,
                Error::EmptyPassphrase => EINVAL,
                _ => libc::EIO,
            },
        });
        -1
    }
}

#[unsafe(no_mangle)]
extern "C" fn palladion_file_message(result: c_int) -> *const c_char {
    let message = match result {
        0 => c"no error",
        -1 => c"errno says what failed",
        -2 => c"this is not a Palladion file",
        -3 => c"the file needs a newer release of Palladion",
        -4 => c"the file is damaged",
        -5 => c"the file is truncated",
        -6 => c"data follows the end of the file",
        -7 => c"this is not the key or passphrase that the file was encrypted with",
        -8 => c"the file was encrypted with a key, not with a passphrase",
        -9 => c"the file was encrypted with a passphrase, not with a key",
        -10 => c"checking the passphrase would cost too much",
        _ => c"unknown error",
    };
    message.as_ptr()
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::File(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Number(errno_of(&error))
    }
}

impl From<output::Error> for Failure {
    fn from(error: output::Error) -> Self {
        Number(match &error.cause {
            Cause::Io(_, error) => errno_of(error),
            Cause::Exists => libc::EEXIST,
            Cause::Directory | Cause::DirectoryName => libc::EISDIR,
            Cause::EmptyName | Cause::NoDirectory(_) | Cause::DanglingLink => libc::ENOENT,
            Cause::InUse => libc::EAGAIN,
            Cause::MountPoint => libc::EBUSY,
            Cause::Fixed | Cause::Sticky | Cause::ReadOnly => libc::EPERM,
            _ => EINVAL,
        })
    }
}

/// Returns C's error number. Windows has other numbers, so there it follows from the kind.
fn errno_of(error: &io::Error) -> c_int {
    match number::of(error) {
        Some(number) => number,
        None => match error.kind() {
            ErrorKind::NotFound => libc::ENOENT,
            ErrorKind::PermissionDenied => libc::EACCES,
            ErrorKind::AlreadyExists => libc::EEXIST,
            ErrorKind::OutOfMemory => libc::ENOMEM,
            ErrorKind::NotADirectory => libc::ENOTDIR,
            ErrorKind::IsADirectory => libc::EISDIR,
            ErrorKind::StorageFull => libc::ENOSPC,
            ErrorKind::Unsupported => libc::ENOTSUP,
            _ => libc::EIO,
        },
    }
}
