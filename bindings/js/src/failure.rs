//! The reason why a call failed, for JavaScript.

use core::fmt;
use std::io::ErrorKind;

use palladion_file::KeyFileError;

/// Displayed as three lines: a code that programs can rely on, a message, and a hint or nothing.
pub(crate) enum Failure {
    Cipher(palladion::Error),
    File(palladion_file::Error),
    KeyFile(KeyFileError),
    UnknownAlgorithm(u32),
    NotUtf8,
    Kdf,
    Memory,
    /// No object has this number.
    NoObject,
    /// An argument of another type or length than the package passes.
    Argument,
    #[cfg(not(target_family = "wasm"))]
    Panic,
}

impl Failure {
    fn code(&self) -> &'static str {
        use palladion::Error as C;
        use palladion_file::Error as F;
        match self {
            Self::Cipher(error) | Self::File(F::Cipher(error)) => match error {
                C::VerificationFailed => "VERIFICATION_FAILED",
                C::WrongLength { .. } | C::UnknownTagLength { .. } | C::TooShort { .. } => {
                    "WRONG_LENGTH"
                }
                C::TooLong { .. } => "TOO_LONG",
                _ => "INTERNAL",
            },
            Self::File(error) => match error {
                F::NotPalladion => "NOT_PALLADION",
                F::HeaderDamaged => "HEADER_DAMAGED",
                F::UnsupportedVersion(_) => "UNSUPPORTED_VERSION",
                F::UnsupportedHeader { .. } => "UNSUPPORTED_HEADER",
                F::WrongKey => "WRONG_KEY",
                F::WrongPassphrase => "WRONG_PASSPHRASE",
                F::NeedsKey => "NEEDS_KEY",
                F::NeedsPassphrase => "NEEDS_PASSPHRASE",
                F::Bound => "BOUND",
                F::NotBound => "NOT_BOUND",
                F::WrongPlace => "WRONG_PLACE",
                F::KdfTooCostly { .. } => "KDF_TOO_COSTLY",
                F::EmptyPassphrase | F::EmptyPlace => "WRONG_LENGTH", // as the package says itself
                F::KdfMemory => "KDF_MEMORY",
                F::Truncated { .. } => "TRUNCATED",
                F::Damaged { .. } => "DAMAGED",
                F::TrailingData { .. } => "TRAILING_DATA",
                _ => "INTERNAL",
            },
            Self::KeyFile(KeyFileError::NoKey | KeyFileError::NotUtf8 | KeyFileError::TooLong) => {
                "NO_KEY"
            }
            Self::KeyFile(KeyFileError::NotOneKey) => "NOT_ONE_KEY",
            Self::KeyFile(KeyFileError::WrongCheck) => "KEY_DAMAGED",
            Self::KeyFile(_) => "KEY_NOT_HEX",
            Self::NotUtf8 => "NO_KEY",
            Self::UnknownAlgorithm(_) => "UNKNOWN_ALGORITHM",
            Self::Kdf => "WRONG_VALUE",
            Self::Memory => "OUT_OF_MEMORY",
            Self::NoObject => "WRONG_STATE",
            Self::Argument => "INTERNAL",
            #[cfg(not(target_family = "wasm"))]
            Self::Panic => "INTERNAL",
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::File(error) => error.hint().unwrap_or_default(),
            _ => "",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())?;
        f.write_str("\n")?;
        match self {
            Self::Cipher(error) => error.fmt(f),
            Self::File(error) => error.fmt(f),
            Self::KeyFile(error) => error.fmt(f),
            Self::UnknownAlgorithm(id) => write!(f, "there is no algorithm with the number {id}"),
            Self::NotUtf8 => KeyFileError::NoKey.fmt(f),
            Self::Kdf => f.write_str(
                "Argon2id needs at least 1 pass, 1 lane, and 8 KiB of memory for each lane",
            ),
            Self::Memory => f.write_str("there is not enough memory"),
            Self::NoObject => f.write_str("this object is already finished"),
            Self::Argument => f.write_str("the module was called with a wrong argument"),
            #[cfg(not(target_family = "wasm"))]
            Self::Panic => f.write_str("the native addon has a defect"),
        }?;
        f.write_str("\n")?;
        f.write_str(self.hint())
    }
}

impl From<palladion::Error> for Failure {
    fn from(error: palladion::Error) -> Self {
        Self::Cipher(error)
    }
}

impl From<palladion_file::Error> for Failure {
    fn from(error: palladion_file::Error) -> Self {
        use palladion_file::Error::{Read, Write};
        match error {
            Read(error) | Write(error) if error.kind() == ErrorKind::OutOfMemory => Self::Memory,
            error => Self::File(error),
        }
    }
}

impl From<KeyFileError> for Failure {
    fn from(error: KeyFileError) -> Self {
        Self::KeyFile(error)
    }
}
