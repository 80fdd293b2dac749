//! The keys of a file, and what they do with chunks and headers.

use palladion::batch::{self, BatchError, Decryption, Encryption};
use palladion::family::Family;
use palladion::{Aegis, Algorithm, Mac, Tag, with_algorithm};
use zeroize::Zeroizing;

use crate::header::{AUTHENTICATED, HEADER_LEN, Info, TAG_LEN};
use crate::kdf::{MAX_KEY_LEN, file_keys};
use crate::{Error, Result};

/// A key or a nonce, of the length that the algorithm has.
fn sized<'a, T: TryFrom<&'a [u8], Error = palladion::Error>>(bytes: &'a [u8]) -> Result<T> {
    T::try_from(bytes).map_err(Error::Cipher)
}

/// The nonces at the start of records.
fn nonces<F: Family>(info: &Info, records: &[u8]) -> Result<Vec<F::Nonce>> {
    records.chunks_exact(info.record_len()).map(|record| sized(&record[..F::KEY_LEN])).collect()
}

/// The error for a chunk that could not be opened.
fn failed(chunk: u64, error: palladion::Error) -> Error {
    match error {
        palladion::Error::VerificationFailed => Error::DamagedChunk { index: chunk },
        error => Error::Cipher(error),
    }
}

/// The keys of a file.
pub(crate) struct Keys {
    algorithm: Algorithm,
    /// For chunks, then for the header; as many bytes of each as the algorithm has.
    material: Zeroizing<[u8; 2 * MAX_KEY_LEN]>,
}

impl Keys {
    /// Derives the keys of the file with this header.
    pub(crate) fn new(info: &Info, master_key: &[u8]) -> Result<Self> {
        let (expected, actual) = (info.algorithm.key_len(), master_key.len());
        if actual != expected {
            return Err(Error::KeyLength { expected, actual });
        }
        Ok(Self { algorithm: info.algorithm, material: file_keys(master_key, &info.file_id) })
    }

    fn chunk_key(&self) -> &[u8] {
        &self.material[..self.algorithm.key_len()]
    }

    fn header_key(&self) -> &[u8] {
        let len = self.algorithm.key_len();
        &self.material[len..2 * len]
    }

    /// Encrypts a chunk in its record, which begins with the nonce and has the message where the
    /// ciphertext goes.
    pub(crate) fn seal(&self, info: &Info, chunk: u64, record: &mut [u8]) -> Result<()> {
        fn seal<F: Family, const D: usize>(key: &[u8], record: &mut [u8], ad: &[u8]) -> Result<()> {
            let (nonce, rest) = record.split_at_mut(F::KEY_LEN);
            let cipher = Aegis::<F, D, TAG_LEN>::new(&sized::<F::Key>(key)?);
            cipher.seal_in_place(&sized::<F::Nonce>(nonce)?, ad, rest).map_err(Error::Cipher)
        }
        with_algorithm!(self.algorithm, seal(self.chunk_key(), record, &info.ad(chunk)))
    }

    /// Decrypts the record of a chunk in place, and returns the message.
    pub(crate) fn open<'a>(
        &self,
        info: &Info,
        chunk: u64,
        record: &'a mut [u8],
    ) -> Result<&'a mut [u8]> {
        fn open<'a, F: Family, const D: usize>(
            key: &[u8],
            info: &Info,
            chunk: u64,
            record: &'a mut [u8],
        ) -> Result<&'a mut [u8]> {
            let (nonce, rest) = record.split_at_mut(F::KEY_LEN);
            let cipher = Aegis::<F, D, TAG_LEN>::new(&sized::<F::Key>(key)?);
            let opened = cipher.open_in_place(&sized::<F::Nonce>(nonce)?, &info.ad(chunk), rest);
            opened.map_err(|e| failed(chunk, e))
        }
        with_algorithm!(self.algorithm, open(self.chunk_key(), info, chunk, record))
    }

    /// Decrypts the record of a chunk into a buffer for the message.
    pub(crate) fn open_into(
        &self,
        info: &Info,
        chunk: u64,
        record: &[u8],
        message: &mut [u8],
    ) -> Result<()> {
        fn open<F: Family, const D: usize>(
            key: &[u8],
            info: &Info,
            chunk: u64,
            record: &[u8],
            message: &mut [u8],
        ) -> Result<()> {
            let (nonce, rest) = record.split_at(F::KEY_LEN);
            let cipher = Aegis::<F, D, TAG_LEN>::new(&sized::<F::Key>(key)?);
            let opened =
                cipher.open_into(&sized::<F::Nonce>(nonce)?, &info.ad(chunk), rest, message);
            opened.map_err(|e| failed(chunk, e))
        }
        with_algorithm!(self.algorithm, open(self.chunk_key(), info, chunk, record, message))
    }

    /// Encrypts chunks from `first` on into records that begin with their nonces.
    pub(crate) fn seal_all(
        &self,
        info: &Info,
        first: u64,
        messages: &[u8],
        records: &mut [u8],
    ) -> Result<()> {
        fn seal<F: Family, const D: usize>(
            key: &[u8],
            info: &Info,
            first: u64,
            messages: &[u8],
            records: &mut [u8],
        ) -> Result<()> {
            let cipher = Aegis::<F, D, TAG_LEN>::new(&sized::<F::Key>(key)?);
            let chunk = info.chunk_size as usize;
            let ads: Vec<_> =
                (first..).take(messages.len() / chunk).map(|index| info.ad(index)).collect();
            let nonces = nonces::<F>(info, records)?;
            let records = records.chunks_exact_mut(info.record_len());
            let each = messages.chunks_exact(chunk).zip(records).zip(&ads).zip(&nonces);
            batch::encrypt(each.map(|(((message, record), ad), nonce)| {
                Encryption::seal_into(&cipher, nonce, ad, message, &mut record[F::KEY_LEN..])
            }))
            .map_err(|e| Error::Cipher(e.error))
        }
        with_algorithm!(self.algorithm, seal(self.chunk_key(), info, first, messages, records))
    }

    /// Decrypts the records of chunks from `first` on.
    pub(crate) fn open_all(
        &self,
        info: &Info,
        first: u64,
        records: &[u8],
        messages: &mut [u8],
    ) -> Result<()> {
        fn open<F: Family, const D: usize>(
            key: &[u8],
            info: &Info,
            first: u64,
            records: &[u8],
            messages: &mut [u8],
        ) -> Result<()> {
            let cipher = Aegis::<F, D, TAG_LEN>::new(&sized::<F::Key>(key)?);
            let chunk = info.chunk_size as usize;
            let ads: Vec<_> =
                (first..).take(messages.len() / chunk).map(|index| info.ad(index)).collect();
            let nonces = nonces::<F>(info, records)?;
            let records = records.chunks_exact(info.record_len());
            let each = messages.chunks_exact_mut(chunk).zip(records).zip(&ads).zip(&nonces);
            let jobs = each.map(|(((message, record), ad), nonce)| {
                Decryption::open_into(&cipher, nonce, ad, &record[F::KEY_LEN..], message)
            });
            batch::decrypt(jobs, |_, _| {}).map_err(|BatchError { first: place, error, .. }| {
                failed(first + place as u64, error)
            })
        }
        with_algorithm!(self.algorithm, open(self.chunk_key(), info, first, records, messages))
    }

    /// Makes the header, with its MAC.
    pub(crate) fn header(&self, info: &Info) -> Result<[u8; HEADER_LEN]> {
        let mut header = info.to_bytes();
        let mac = self.mac(&header)?;
        header[AUTHENTICATED..].copy_from_slice(mac.as_ref());
        Ok(header)
    }

    /// Verifies that a header is authentic.
    pub(crate) fn verify(&self, header: &[u8; HEADER_LEN]) -> Result<()> {
        let expected = Tag::try_from(&header[AUTHENTICATED..]).map_err(Error::Cipher)?;
        if self.mac(header)? == expected { Ok(()) } else { Err(Error::WrongKey) }
    }

    /// The MAC of a header.
    fn mac(&self, header: &[u8; HEADER_LEN]) -> Result<Tag<TAG_LEN>> {
        fn mac<F: Family, const D: usize>(key: &[u8], header: &[u8]) -> Result<Tag<TAG_LEN>> {
            Mac::<F, D, TAG_LEN>::mac(&sized::<F::Key>(key)?, &F::Nonce::default(), header)
                .map_err(Error::Cipher)
        }
        with_algorithm!(self.algorithm, mac(self.header_key(), &header[..AUTHENTICATED]))
    }
}
