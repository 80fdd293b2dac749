//! The header, and the keys that follow from it.

use palladion::Tag;
use turboshake::digest::{ExtendableOutput, Update};
use turboshake::{TurboShake128, TurboShake256};
use zeroize::Zeroizing;

use palladion::Algorithm;

use crate::algorithm::{Keys, MAX_KEY_LEN, TAG_LEN, leaving_nothing, record_len};
use crate::merkle::CONTEXT_LEN;
use crate::{Error, Result, Storage};

/// Bytes in the header.
pub const HEADER_LEN: usize = 64;
/// Bytes in the smallest chunk.
pub const CHUNK_MIN: u32 = 1 << 10;
/// Bytes in the largest chunk.
pub const CHUNK_MAX: u32 = 1 << 20;

const MAGIC: [u8; 8] = *b"AEGISRAF";
const VERSION: u8 = 1;
/// Bytes of the header that its MAC is over.
const AUTHENTICATED: usize = HEADER_LEN - TAG_LEN;
/// Bytes in a file id.
pub(crate) const ID_LEN: usize = 24;

/// What a header says. Without the key nobody knows whether it is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Info {
    /// The cipher.
    pub algorithm: Algorithm,
    /// Bytes in a chunk.
    pub chunk_size: u32,
    /// Bytes in the file, as those who have the key see it.
    pub size: u64,
    /// A random number that tells it from all other files.
    pub file_id: [u8; ID_LEN],
}

/// Reads the header of a file, without its key: what it says is not verified.
///
/// # Errors
///
/// [`Error::NotRaf`], [`Error::Unsupported`], [`Error::Truncated`] within the header, [`Error::Io`].
pub fn probe(storage: &mut impl Storage) -> Result<Info> {
    read(storage).map(|(info, _)| info)
}

/// Reads a header.
pub(crate) fn read(storage: &mut impl Storage) -> Result<(Info, [u8; HEADER_LEN])> {
    let actual = storage.size()?;
    let mut header = [0; HEADER_LEN];
    if actual < HEADER_LEN as u64 {
        // It is none, whatever is in it: that only decides what is said. (libaegis does not read it either.)
        let begins = storage.read_at(&mut header[..actual as usize], 0).is_ok() && header.starts_with(&MAGIC);
        let truncated = Error::Truncated { expected: HEADER_LEN as u64, actual };
        return Err(if begins { truncated } else { Error::NotRaf });
    }
    storage.read_at(&mut header, 0)?;
    Ok((Info::parse(&header)?, header))
}

/// Whether there can be chunks of so many bytes: a multiple of 16 from [`CHUNK_MIN`] to [`CHUNK_MAX`].
#[must_use]
pub fn is_chunk_size(size: u32) -> bool {
    (CHUNK_MIN..=CHUNK_MAX).contains(&size) && size.is_multiple_of(16)
}

fn field<const N: usize>(header: &[u8; HEADER_LEN], at: usize) -> [u8; N] {
    core::array::from_fn(|i| header[at + i])
}

impl Info {
    /// What a header says, if this library can read such files. Nothing is verified.
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
        let algorithm = Algorithm::from_id(header[11]).ok_or(unsupported("algorithm", header[11].into()))?;
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

    /// The header, with its MAC.
    pub(crate) fn header(&self, keys: &Keys) -> Result<[u8; HEADER_LEN]> {
        let mut header = [0; HEADER_LEN];
        header[..8].copy_from_slice(&MAGIC);
        header[8..10].copy_from_slice(&(HEADER_LEN as u16).to_le_bytes());
        header[10] = VERSION;
        header[11] = self.algorithm.id();
        header[12..16].copy_from_slice(&self.chunk_size.to_le_bytes());
        header[16..24].copy_from_slice(&self.size.to_le_bytes());
        header[24..48].copy_from_slice(&self.file_id);
        let mac = keys.mac(&header[..AUTHENTICATED])?;
        header[AUTHENTICATED..].copy_from_slice(mac.as_ref());
        Ok(header)
    }

    /// The keys of the file.
    pub(crate) fn keys(&self, master_key: &[u8]) -> Result<Keys> {
        let len = self.algorithm.key_len();
        if master_key.len() != len {
            return Err(Error::KeyLength { expected: len, actual: master_key.len() });
        }
        leaving_nothing(|| {
            let mut material = Zeroizing::new([0; 2 * MAX_KEY_LEN]);
            turboshake(len, &[b"aegis-raf-kdf-v1", master_key, &self.file_id], &mut material[..2 * len]);
            Ok(Keys::new(self.algorithm, material))
        })
    }

    /// That a header is authentic.
    pub(crate) fn verify(keys: &Keys, header: &[u8; HEADER_LEN]) -> Result<()> {
        let there = Tag::from(field::<TAG_LEN>(header, AUTHENTICATED));
        if keys.mac(&header[..AUTHENTICATED])? == there { Ok(()) } else { Err(Error::WrongKey) }
    }

    /// Bytes that a chunk takes in the file: nonce, ciphertext and tag.
    #[must_use]
    pub fn record_len(&self) -> usize {
        record_len(self.algorithm, self.chunk_size)
    }

    /// How many chunks there are.
    #[must_use]
    pub fn chunks(&self) -> u64 {
        self.size.div_ceil(self.chunk_size.into())
    }

    /// Where a chunk's record begins, or the storage ends if there are so many.
    pub(crate) fn offset(&self, chunk: u64) -> Result<u64> {
        let records = chunk.checked_mul(self.record_len() as u64);
        records.and_then(|len| len.checked_add(HEADER_LEN as u64)).ok_or(Error::TooLarge)
    }

    /// What of a chunk is the file's: all of it, but for the last one.
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

/// TurboSHAKE128 for keys of 16 bytes, TurboSHAKE256 for those of 32, with domain 0x1f.
fn turboshake(key_len: usize, inputs: &[&[u8]], out: &mut [u8]) {
    leaving_nothing(|| absorbed(key_len, inputs, out));
}

fn absorbed(key_len: usize, inputs: &[&[u8]], out: &mut [u8]) {
    fn absorb<H: Default + Update + ExtendableOutput>(inputs: &[&[u8]], out: &mut [u8]) {
        let mut hash = H::default();
        for input in inputs {
            hash.update(input);
        }
        hash.finalize_xof_into(out);
    }
    if key_len == 16 {
        absorb::<TurboShake128>(inputs, out);
    } else {
        absorb::<TurboShake256>(inputs, out);
    }
}

/// A master key for one purpose, from a key that serves several: it depends on a context of your choice. As long as the key, which
/// has 16 or 32 bytes.
///
/// # Errors
///
/// [`Error::KeyLength`]; [`Error::ContextLength`]: at most 120 bytes with a key of 16, 72 with one of 32.
pub fn derive_master_key(key: &[u8], context: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
    let max = match key.len() {
        16 => 120,
        32 => 72,
        actual => return Err(Error::KeyLength { expected: if actual < 16 { 16 } else { 32 }, actual }),
    };
    if context.len() > max {
        return Err(Error::ContextLength { max, actual: context.len() });
    }
    let len = (context.len() as u64).to_le_bytes();
    let mut master_key = Zeroizing::new(vec![0; key.len()]);
    turboshake(key.len(), &[b"aegis-raf-master-key-v1", key, &len, context], &mut master_key);
    Ok(master_key)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the description of the format: both keys for a file id of 0, 1, 2 ...
    #[test]
    fn keys_of_a_file() {
        for (algorithm, expected) in [
            (Algorithm::Aegis128L, "4cc4759d9f10cf1b391cfc220d9b329d07656537477b6965708f98f35e7807af"),
            (
                Algorithm::Aegis256X2,
                "1e051b0052c53b397417d5670a1595f892a365101bcc79128cef842498b4cf90\
                 732b8fc7cec6a07f83b0c3631e97487454db4961b5ca8a39f5b5e2c87cbd85ba",
            ),
        ] {
            let len = algorithm.key_len();
            let file_id = core::array::from_fn(|i| i as u8);
            let master: Vec<u8> = (0..len as u8).collect();
            let mut material = vec![0; 2 * len];
            turboshake(len, &[b"aegis-raf-kdf-v1", &master, &file_id as &[u8; ID_LEN]], &mut material);
            let hex: String = material.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, expected);
        }
    }
}
