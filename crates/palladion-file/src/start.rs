//! What a file begins with: a header, or a head with key slots; and the spare of that at its end.

use std::io::Read;

use palladion::Algorithm;

use crate::chunk::{ChunkSize, Place};
use crate::cipher::Cipher;
use crate::error::Error;
use crate::header::{HEADER_LEN, Header};
use crate::io::read_full;
use crate::kdf::{KdfLimits, KdfParams};
use crate::secret::{SLOTS, Secret};
use crate::slots::copies::check_same_beginning;
use crate::slots::head::{Head, NewSlots, has_checksum};
use crate::slots::keyring::{FileKey, Keyring};
use crate::summary::Spare;

/// Who is to open a new file.
#[derive(Clone, Copy)]
pub(crate) enum For<'a> {
    Secret(Secret<'a>),
    Slots(NewSlots<'a>),
}

/// The start of a new file.
pub(crate) struct NewStart {
    pub bytes: Vec<u8>,
    pub cipher: Cipher,
    /// Whether the file ends with the same bytes.
    pub has_spare: bool,
}

impl NewStart {
    pub fn create(
        to: For<'_>,
        algorithm: Algorithm,
        chunk_size: ChunkSize,
        kdf: KdfParams,
    ) -> Result<Self, Error> {
        match to {
            For::Secret(secret) => {
                let (header, cipher) = Header::create(secret, algorithm, chunk_size, kdf)?;
                Ok(Self { bytes: header.to_vec(), cipher, has_spare: false })
            }
            For::Slots(slots) => {
                let key = FileKey::generate()?;
                let head = Head::create(&key, algorithm, chunk_size, slots)?;
                let cipher = head.header().open_with(key.as_bytes(), slots.place())?;
                let cipher = cipher.expect("it was made with it");
                Ok(Self { bytes: head.as_bytes().to_vec(), cipher, has_spare: true })
            }
        }
    }
}

/// The start of a file that was opened.
pub(crate) struct Start {
    pub cipher: Cipher,
    pub algorithm: Algorithm,
    pub chunk_size: ChunkSize,
    pub end: End,
}

/// What follows the last chunk: nothing, or the spare of this head.
pub(crate) struct End(Option<Box<(Head, FileKey)>>);

impl Start {
    /// Returns how long the start is, as far as its first bytes tell.
    pub fn len(bytes: &[u8], secret: Secret<'_>) -> Result<usize, Error> {
        match secret.keyring_for_slots() {
            Some(_) if bytes.len() < HEADER_LEN => Ok(HEADER_LEN),
            Some(_) if !Header::from_start(bytes)?.has_slots() => Ok(HEADER_LEN),
            Some(_) if bytes.len() < Head::START_LEN => Ok(Head::START_LEN),
            Some(_) => Head::len_from_start(bytes),
            None => Ok(HEADER_LEN),
        }
    }

    /// Opens the start, or gives the error of one that is not complete.
    pub fn open(bytes: &[u8], secret: Secret<'_>, limits: &KdfLimits) -> Result<Self, Error> {
        let header = Header::from_start(bytes)?;
        if let Some(keyring) = secret.keyring_for_slots().filter(|_| header.has_slots()) {
            header.check_place(secret.place())?;
            return Self::of_head(Head::parse(bytes)?, keyring, limits);
        }
        let (algorithm, chunk_size) = (header.algorithm, header.chunk_size);
        let cipher = header.open(secret, limits)?;
        Ok(Self { cipher, algorithm, chunk_size, end: End(None) })
    }

    /// Reads the start, and opens it.
    pub fn read(
        input: &mut impl Read,
        secret: Secret<'_>,
        limits: &KdfLimits,
    ) -> Result<Self, Error> {
        let mut bytes = Vec::new();
        loop {
            let (read, len) = (bytes.len(), Self::len(&bytes, secret)?);
            bytes.resize(len, 0);
            let more = read_full(input, &mut bytes[read..])?;
            bytes.truncate(read + more);
            if more == 0 || bytes.len() < len {
                return Self::open(&bytes, secret, limits);
            }
        }
    }

    /// Opens a file by its head.
    pub fn of_head(head: Head, keyring: &Keyring, limits: &KdfLimits) -> Result<Self, Error> {
        let file_key = head.open(keyring, limits)?;
        let cipher = head.header().open_with(file_key.as_bytes(), keyring.place.as_deref())?;
        let cipher = cipher.expect("the head was verified");
        let (algorithm, chunk_size) = (head.algorithm(), head.chunk_size());
        Ok(Self { cipher, algorithm, chunk_size, end: End(Some(Box::new((head, file_key)))) })
    }

    /// The place of the first chunk.
    pub fn first_chunk(&self) -> Place {
        let start = self.end.0.as_deref().map_or(HEADER_LEN, |(head, _)| head.as_bytes().len());
        Place::new(self.chunk_size, 0, start as u64)
    }
}

impl End {
    /// How many bytes to read after the last chunk: one more than may follow it.
    pub fn len(&self) -> usize {
        self.spare_len() + 1
    }

    fn spare_len(&self) -> usize {
        self.0.as_deref().map_or(0, |(head, _)| head.as_bytes().len())
    }

    /// Says what the bytes after the last chunk are, which begin at `offset`. They are fewer than
    /// [`len`](Self::len) if the file ends before. `None`: the file has no slots.
    pub fn judge(&self, bytes: &[u8], offset: u64) -> Result<Option<Spare>, Error> {
        if bytes.len() > self.spare_len() {
            return Err(Error::TrailingData { offset: offset + self.spare_len() as u64 });
        }
        let Some((head, file_key)) = self.0.as_deref().filter(|_| SLOTS) else { return Ok(None) };
        if bytes == head.as_bytes() {
            return Ok(Some(Spare::Same));
        }
        if bytes.len() < self.spare_len() || !has_checksum(bytes) {
            return Ok(Some(Spare::Damaged));
        }
        check_same_beginning(head.as_bytes(), bytes)?;
        let is_intact = Head::parse(bytes).is_ok_and(|spare| spare.has_mac(file_key));
        Ok(Some(if is_intact { Spare::Differs } else { Spare::Damaged }))
    }
}
