//! What can go wrong.

use std::{fmt, io};

/// Why an operation on a file failed.
#[derive(Debug)]
pub enum Error {
    /// The storage, the hash function or the system failed.
    Io(io::Error),
    /// An argument or the header of the file is invalid.
    InvalidArgument(&'static str),
    /// A chunk or the header is not authentic, or the key is wrong.
    AuthenticationFailed,
    /// The storage for a new file is not empty.
    AlreadyExists,
    /// There is no file.
    NotFound,
    /// The file would be larger than the format or the Merkle tree allows.
    Overflow,
    /// The file has no Merkle tree.
    MerkleNotEnabled,
    /// A chunk does not match the Merkle tree. No function returns this:
    /// [`merkle_verify`](super::Raf::merkle_verify) returns the index.
    CorruptedChunk(u64),
    /// There are no random bytes.
    Rng,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(e) => write!(f, "I/O error: {e}"),
            Self::InvalidArgument(what) => write!(f, "invalid argument: {what}"),
            Self::AuthenticationFailed => f.write_str("authentication failed"),
            Self::AlreadyExists => f.write_str("file already exists"),
            Self::NotFound => f.write_str("file not found"),
            Self::Overflow => f.write_str("overflow"),
            Self::MerkleNotEnabled => f.write_str("merkle tree not enabled"),
            Self::CorruptedChunk(index) => write!(f, "corrupted chunk at index {index}"),
            Self::Rng => f.write_str("random number generator error"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(e) => Some(e),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Self {
        Self::Io(e)
    }
}

impl Error {
    /// Converts the error of an operation. `invalid` says what it is if an argument is invalid.
    pub(super) fn of(e: palladion_raf::Error, invalid: &'static str) -> Self {
        use palladion_raf::Error::*;
        match e {
            Io(e) => Self::Io(e),
            WrongKey | DamagedChunk { .. } | TreeMismatch { .. } => Self::AuthenticationFailed,
            Exists => Self::AlreadyExists,
            TooLarge | TreeFull { .. } => Self::Overflow,
            NoTree => Self::MerkleNotEnabled,
            NoRandomness(_) => Self::Rng,
            Poisoned | Cipher(_) => Self::Io(io::Error::other(e)),
            _ => Self::InvalidArgument(invalid),
        }
    }
}
