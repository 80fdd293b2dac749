//! What can go wrong.

use std::{fmt, io};

/// The result of an operation on a file.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation on a file failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The storage failed.
    Io(io::Error),
    /// It does not begin as a RAF file does.
    NotRaf,
    /// It begins as one, but says something that this library does not know.
    Unsupported {
        /// What it says.
        what: &'static str,
        /// The value there.
        value: u64,
    },
    /// The header is not authentic: the key is another one, or the header was changed.
    WrongKey,
    /// A key of the wrong length for the algorithm, in bytes.
    KeyLength {
        /// The length it must have.
        expected: usize,
        /// The length it has.
        actual: usize,
    },
    /// The context of a derived key is too long, in bytes.
    ContextLength {
        /// The longest that is allowed.
        max: usize,
        /// The length it has.
        actual: usize,
    },
    /// A chunk is not authentic: it was changed, moved, or written only in part.
    DamagedChunk {
        /// Its index; the first is 0.
        index: u64,
    },
    /// The storage is shorter than the header says.
    Truncated {
        /// Bytes that there must be.
        expected: u64,
        /// Bytes that there are.
        actual: u64,
    },
    /// Chunks have a multiple of 16 bytes, from [`CHUNK_MIN`](crate::CHUNK_MIN) to [`CHUNK_MAX`](crate::CHUNK_MAX).
    ChunkSize(u32),
    /// The file would be larger than the format allows.
    TooLarge,
    /// There is something already where a file is to be created.
    Exists,
    /// An earlier operation failed in the middle of a change: what there is in memory may not be what there is in the file. Open it
    /// anew.
    Poisoned,
    /// It was opened for reading alone.
    ReadOnly,
    /// The cipher refused: see there.
    Cipher(palladion::Error),
    /// The operating system gave no random bytes.
    NoRandomness,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(e) => e.fmt(f),
            Self::NotRaf => f.write_str("this is not a RAF file"),
            Self::Unsupported { what, value } => {
                write!(f, "this RAF file has the {what} {value}, which is not supported")
            }
            Self::WrongKey => f.write_str("the key is wrong, or the header was changed"),
            Self::KeyLength { expected, actual } => {
                write!(f, "the key must have {expected} bytes, but has {actual}")
            }
            Self::ContextLength { max, actual } => {
                write!(f, "the context must have at most {max} bytes, but has {actual}")
            }
            Self::DamagedChunk { index } => write!(f, "chunk {index} is damaged"),
            Self::Truncated { expected, actual } => {
                write!(
                    f,
                    "the file should have at least {expected} bytes, but has {actual}: its end is missing"
                )
            }
            Self::ChunkSize(size) => write!(
                f,
                "chunks must have a multiple of 16 bytes from {} to {}, not {size}",
                crate::CHUNK_MIN,
                crate::CHUNK_MAX
            ),
            Self::TooLarge => f.write_str("the file would be larger than the format allows"),
            Self::Exists => f.write_str("there is a file already"),
            Self::Poisoned => f.write_str("an earlier change failed in the middle; open the file anew"),
            Self::ReadOnly => f.write_str("the file was opened for reading alone"),
            Self::Cipher(e) => e.fmt(f),
            Self::NoRandomness => f.write_str("the operating system gave no random bytes"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(e) => Some(e),
            Self::Cipher(e) => Some(e),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Self {
        Self::Io(e)
    }
}
