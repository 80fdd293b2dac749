//! What can go wrong.

use std::{fmt, io};

use crate::limits::{CHUNK_MAX, CHUNK_MIN, HASH_MAX, HASH_MIN};

/// The result of an operation on a file.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation on a file failed.
///
/// `Display` includes the cause. That is also the [`source`](std::error::Error::source), to be
/// found by its type: what prints whole chains, such as `{:#}` of anyhow, prints it twice.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The storage failed.
    Io(io::Error),
    /// The file does not begin like a RAF file.
    NotRaf,
    /// The header has a value that this library does not support.
    Unsupported {
        /// The field.
        what: &'static str,
        /// Its value.
        value: u64,
    },
    /// The header is not authentic: the key is wrong, or the header was changed.
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
    /// A chunk could not be read [beside a writer](crate::Found::beside_writer), because it kept
    /// changing. Read it again.
    ChangingChunk {
        /// Its index; the first is 0.
        index: u64,
    },
    /// Someone else, in this program or another, has the file open and locked. Wait, or read it
    /// [beside the writer](crate::Found::beside_writer).
    Locked,
    /// The storage is shorter than the header says, or too short for a header.
    Truncated {
        /// The expected length in bytes.
        expected: u64,
        /// The actual length in bytes.
        actual: u64,
    },
    /// Chunks have a multiple of 16 bytes, from [`CHUNK_MIN`] to [`CHUNK_MAX`].
    ChunkSize(u32),
    /// The file would be larger than the format allows.
    TooLarge,
    /// The storage for a new file is not empty.
    Exists,
    /// An earlier change failed part way, or a file that is read beside a writer has another size
    /// now, so the Merkle tree may not match the file.
    /// [Rebuild](crate::Raf::rebuild_tree) it, or open the file again.
    Poisoned,
    /// An earlier sync failed, so part of what was written before it may be lost. Systems forget
    /// what they could not write, and the next sync would succeed without it: open the file again
    /// and verify it.
    SyncFailed,
    /// The file was opened read-only.
    ReadOnly,
    /// The file has no Merkle tree.
    NoTree,
    /// The file has, or would have, more chunks than the Merkle tree has places.
    TreeFull {
        /// The number of places.
        max_chunks: u64,
    },
    /// A Merkle tree cannot have this many places: zero, or more than fit into memory.
    TreeSize(u64),
    /// The Merkle tree does not match the file: a chunk is not the one that was hashed or, if
    /// `chunk` is `None`, the tree itself was changed.
    TreeMismatch {
        /// The chunk's index.
        chunk: Option<u64>,
    },
    /// Hashes have from [`HASH_MIN`] to [`HASH_MAX`] bytes, and buffers for them at least as many.
    HashLength(usize),
    /// The memory for a chunk is too small, in bytes.
    BufferLength {
        /// The required length.
        expected: usize,
        /// The actual length.
        actual: usize,
    },
    /// The cipher refused to work.
    Cipher(palladion::Error),
    /// The system gave no random bytes.
    NoRandomness(io::Error),
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
            Self::ChangingChunk { index } => write!(
                f,
                "chunk {index} kept changing while it was read, because another program is \
                 writing to it; read it again"
            ),
            Self::Locked => f.write_str(
                "the file is in use, by another program or elsewhere in this one; \
                 try again when it is closed",
            ),
            Self::Truncated { expected, actual } => {
                write!(
                    f,
                    "the file should have at least {expected} bytes, but has {actual}: \
                     its end is missing"
                )
            }
            Self::ChunkSize(size) => {
                write!(
                    f,
                    "chunks must have a multiple of 16 bytes from {CHUNK_MIN} to {CHUNK_MAX}, \
                     not {size}"
                )
            }
            Self::TooLarge => f.write_str("the file would be larger than the format allows"),
            Self::Exists => f.write_str("the storage for a new file is not empty"),
            Self::Poisoned => f.write_str(
                "the Merkle tree may not match the file, because a change failed part way, or \
                 another program made one; rebuild the tree, or open the file again",
            ),
            Self::SyncFailed => f.write_str(
                "an earlier sync failed, so part of what was written before it may be lost; \
                 open the file again and verify it",
            ),
            Self::ReadOnly => f.write_str("the file was opened read-only"),
            Self::Cipher(e) => e.fmt(f),
            Self::NoTree => f.write_str("the file has no Merkle tree"),
            Self::TreeFull { max_chunks } => {
                write!(f, "the Merkle tree has room for {max_chunks} chunks, but the file has more")
            }
            Self::TreeSize(max_chunks) => {
                write!(f, "a Merkle tree cannot have room for {max_chunks} chunks")
            }
            Self::TreeMismatch { chunk: Some(chunk) } => {
                write!(f, "chunk {chunk} does not match the Merkle tree")
            }
            Self::TreeMismatch { chunk: None } => f.write_str("the Merkle tree was changed"),
            Self::HashLength(len) => write!(
                f,
                "hashes and their buffers must have {HASH_MIN} to {HASH_MAX} bytes, not {len}"
            ),
            Self::BufferLength { expected, actual } => {
                write!(f, "the memory for a chunk must have {expected} bytes, but has {actual}")
            }
            Self::NoRandomness(e) => write!(f, "no random bytes: {e}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(e) | Self::NoRandomness(e) => Some(e),
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

impl From<io::ErrorKind> for Error {
    fn from(kind: io::ErrorKind) -> Self {
        Self::Io(kind.into())
    }
}

impl From<Error> for io::Error {
    fn from(e: Error) -> Self {
        use io::ErrorKind::*;
        let kind = match e {
            Error::Io(e) | Error::NoRandomness(e) => return e,
            Error::NotRaf
            | Error::Unsupported { .. }
            | Error::WrongKey
            | Error::DamagedChunk { .. }
            | Error::Truncated { .. }
            | Error::TreeMismatch { .. } => InvalidData,
            Error::TooLarge | Error::TreeFull { .. } => FileTooLarge,
            Error::Exists => AlreadyExists,
            Error::ReadOnly => PermissionDenied,
            Error::Locked | Error::ChangingChunk { .. } => ResourceBusy,
            Error::Poisoned | Error::SyncFailed | Error::Cipher(_) => Other,
            Error::KeyLength { .. }
            | Error::ContextLength { .. }
            | Error::ChunkSize(_)
            | Error::NoTree
            | Error::TreeSize(_)
            | Error::HashLength(_)
            | Error::BufferLength { .. } => InvalidInput,
        };
        Self::new(kind, e)
    }
}
