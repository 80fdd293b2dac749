//! The header, and the layout of the file.

use std::io::{self, ErrorKind};

use palladion::{Algorithm, Buffer};

use crate::limits::is_chunk_size;
use crate::merkle::CONTEXT_LEN;
use crate::storage::Place;
use crate::{Error, Result, Storage};

/// Bytes in the header.
pub const HEADER_LEN: usize = 64;

const MAGIC: [u8; 8] = *b"AEGISRAF";
const VERSION: u8 = 1;
/// Bytes in a tag.
pub(crate) const TAG_LEN: usize = 16;
/// Bytes of the header that its MAC authenticates.
pub(crate) const AUTHENTICATED: usize = HEADER_LEN - TAG_LEN;
/// Bytes in a file id.
pub(crate) const ID_LEN: usize = 24;

/// The contents of a header, which only the key can verify.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Info {
    /// The cipher.
    pub algorithm: Algorithm,
    /// Bytes in a chunk.
    pub chunk_size: u32,
    /// Bytes of plaintext in the file.
    pub size: u64,
    /// A random number that distinguishes the file from all others.
    pub file_id: [u8; ID_LEN],
}

/// Reads the header of a file without a key, and so without verifying it.
///
/// # Errors
///
/// [`Error::NotRaf`], [`Error::Unsupported`], [`Error::Truncated`] within the header,
/// [`Error::Io`].
pub fn probe(storage: &mut impl Storage) -> Result<Info> {
    read(storage).map(|(info, _)| info)
}

/// Reads a header.
pub(crate) fn read(storage: &mut impl Storage) -> Result<(Info, [u8; HEADER_LEN])> {
    let actual = storage.size()?;
    let mut header = [0; HEADER_LEN];
    if actual < HEADER_LEN as u64 {
        // Too short for a header. Its contents only decide which error this is. (libaegis does not
        // read them.)
        let begins = storage.read_at(&mut header[..actual as usize], 0).is_ok()
            && header.starts_with(&MAGIC);
        let truncated = Error::Truncated { expected: HEADER_LEN as u64, actual };
        return Err(if begins { truncated } else { Error::NotRaf });
    }
    storage.read_at(&mut header, 0)?;
    Ok((Info::parse(&header)?, header))
}

/// Reads the header of an open file again, which others may be reading.
pub(crate) fn read_again<S: Storage>(place: &Place<S>) -> Result<(Info, [u8; HEADER_LEN])> {
    let mut header = [0; HEADER_LEN];
    place.read_at(&mut header, 0).map_err(|e| match e.kind() {
        ErrorKind::UnexpectedEof => Error::NotRaf,
        _ => Error::Io(e),
    })?;
    Ok((Info::parse(&header)?, header))
}

/// Bytes that a chunk of this size takes in the file: nonce, ciphertext and tag.
#[must_use]
pub fn record_len(algorithm: Algorithm, chunk_size: u32) -> usize {
    chunk_size as usize + algorithm.key_len() + TAG_LEN
}

fn field<const N: usize>(header: &[u8; HEADER_LEN], at: usize) -> [u8; N] {
    core::array::from_fn(|i| header[at + i])
}

impl Info {
    /// Parses a header without verifying it.
    ///
    /// # Errors
    ///
    /// [`Error::NotRaf`], [`Error::Unsupported`].
    pub fn parse(header: &[u8; HEADER_LEN]) -> Result<Self> {
        let unsupported = |what, value| Error::Unsupported { what, value };
        if field(header, 0) != MAGIC {
            return Err(Error::NotRaf);
        }
        let header_len = u16::from_le_bytes(field(header, 8));
        if usize::from(header_len) != HEADER_LEN {
            return Err(unsupported("header size", header_len.into()));
        }
        if header[10] != VERSION {
            return Err(unsupported("version", header[10].into()));
        }
        let algorithm =
            Algorithm::from_id(header[11]).ok_or(unsupported("algorithm", header[11].into()))?;
        let chunk_size = u32::from_le_bytes(field(header, 12));
        if !is_chunk_size(chunk_size) {
            return Err(unsupported("chunk size", chunk_size.into()));
        }
        Ok(Self {
            algorithm,
            chunk_size,
            size: u64::from_le_bytes(field(header, 16)),
            file_id: field(header, 24),
        })
    }

    /// The header, with zeros in place of its MAC.
    pub(crate) fn to_bytes(self) -> [u8; HEADER_LEN] {
        let mut header = [0; HEADER_LEN];
        header[..8].copy_from_slice(&MAGIC);
        header[8..10].copy_from_slice(&(HEADER_LEN as u16).to_le_bytes());
        header[10] = VERSION;
        header[11] = self.algorithm.id();
        header[12..16].copy_from_slice(&self.chunk_size.to_le_bytes());
        header[16..24].copy_from_slice(&self.size.to_le_bytes());
        header[24..48].copy_from_slice(&self.file_id);
        header
    }

    /// Bytes that a chunk takes in the file: nonce, ciphertext and tag.
    #[must_use]
    pub fn record_len(&self) -> usize {
        record_len(self.algorithm, self.chunk_size)
    }

    /// Allocates memory for a number of records, in which the first ciphertext begins at a cache
    /// line.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if there is no memory.
    pub fn buffer(&self, records: usize) -> Result<Buffer> {
        let nonce = self.algorithm.key_len();
        let rest = records.saturating_mul(self.record_len()).saturating_sub(nonce);
        Ok(Buffer::new(nonce, rest).map_err(io::Error::from)?)
    }

    /// The number of chunks.
    #[must_use]
    pub fn chunks(&self) -> u64 {
        self.size.div_ceil(self.chunk_size.into())
    }

    /// Returns where a chunk's record begins. For the number of chunks, where the storage ends.
    pub(crate) fn offset(&self, chunk: u64) -> Result<u64> {
        let records = chunk.checked_mul(self.record_len() as u64);
        records.and_then(|len| len.checked_add(HEADER_LEN as u64)).ok_or(Error::TooLarge)
    }

    /// Returns how many bytes of a chunk belong to the file: all, except in the last one.
    pub(crate) fn len_of(&self, chunk: u64) -> usize {
        let start = chunk.saturating_mul(self.chunk_size.into());
        self.size.saturating_sub(start).min(self.chunk_size.into()) as usize
    }

    /// The context of a Merkle tree's commitment.
    pub(crate) fn context(&self) -> [u8; CONTEXT_LEN] {
        let mut context = [0; CONTEXT_LEN];
        context[0] = VERSION;
        context[1] = self.algorithm.id();
        context[2..6].copy_from_slice(&self.chunk_size.to_le_bytes());
        context[6..6 + ID_LEN].copy_from_slice(&self.file_id);
        context
    }

    /// The associated data of a chunk.
    pub(crate) fn ad(&self, chunk: u64) -> [u8; ID_LEN + 12] {
        let mut ad = [0; ID_LEN + 12];
        ad[..ID_LEN].copy_from_slice(&self.file_id);
        ad[ID_LEN..ID_LEN + 8].copy_from_slice(&chunk.to_le_bytes());
        ad[ID_LEN + 8..].copy_from_slice(&self.chunk_size.to_le_bytes());
        ad
    }
}
