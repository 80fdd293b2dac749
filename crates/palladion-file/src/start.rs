//! What a file begins with: a header, or a head with key slots; and the spare of that at its end.

use std::io::Read;

use palladion::Algorithm;

use crate::chunk::{ChunkSize, Place};
use crate::cipher::Cipher;
use crate::error::Error;
use crate::header::{HEADER_LEN, Header};
use crate::io::read_full;
use crate::kdf::{KdfLimits, KdfParams};
use crate::secret::Secret;
use crate::slots::copies::check_same_beginning;
use crate::slots::head::{Head, NewSlot, has_checksum};
use crate::slots::keyring::FileKey;
use crate::summary::Spare;

/// Who is to open a new file.
#[derive(Clone, Copy)]
pub(crate) enum For<'a> {
    Secret(Secret<'a>),
    Slots(&'a [NewSlot<'a>]),
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
                let cipher = head.header().open_with(key.as_bytes())?.expect("it was made with it");
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
    /// Of a file with slots.
    pub slots: Option<Slots>,
}

/// What the spare is compared with.
pub(crate) struct Slots {
    head: Head,
    file_key: FileKey,
}

impl Start {
    /// Reads the header and, if the file has slots and the secret opens them, the rest of the head.
    pub fn read(
        input: &mut impl Read,
        secret: Secret<'_>,
        limits: &KdfLimits,
    ) -> Result<Self, Error> {
        let header = Header::read(input)?;
        let (algorithm, chunk_size) = (header.algorithm, header.chunk_size);
        let keyring = match secret {
            Secret::Keyring(keyring) if header.has_slots() && keyring.opens_slots => keyring,
            _ => {
                let cipher = header.open(secret, limits)?;
                return Ok(Self { cipher, algorithm, chunk_size, slots: None });
            }
        };
        let mut bytes = header.as_bytes().to_vec();
        fill(&mut bytes, Head::START_LEN, input)?;
        let len = Head::len_from_start(&bytes)?;
        fill(&mut bytes, len, input)?;
        let head = Head::parse(&bytes)?;
        let file_key = head.open(keyring, limits)?;
        let cipher = header.open_with(file_key.as_bytes())?.expect("the head was verified");
        Ok(Self { cipher, algorithm, chunk_size, slots: Some(Slots { head, file_key }) })
    }

    /// The place of the first chunk.
    pub fn first_chunk(&self) -> Place {
        let start = self.slots.as_ref().map_or(HEADER_LEN, Slots::len);
        Place::new(self.chunk_size, 0, start as u64)
    }
}

/// Reads until there are so many bytes, or the input ends.
fn fill(bytes: &mut Vec<u8>, len: usize, input: &mut impl Read) -> Result<(), Error> {
    let start = bytes.len();
    bytes.resize(len, 0);
    let read = read_full(input, &mut bytes[start..])?;
    bytes.truncate(start + read);
    Ok(())
}

impl Slots {
    /// The length of the spare.
    pub fn len(&self) -> usize {
        self.head.as_bytes().len()
    }

    /// Says what the bytes after the last chunk are. They are no more than the spare would be.
    pub fn judge(&self, bytes: &[u8]) -> Result<Spare, Error> {
        if bytes == self.head.as_bytes() {
            return Ok(Spare::Same);
        }
        if bytes.len() < self.len() || !has_checksum(bytes) {
            return Ok(Spare::Damaged);
        }
        check_same_beginning(self.head.as_bytes(), bytes)?;
        let verified = Head::parse(bytes).map(|spare| spare.verify(&self.file_key));
        Ok(if matches!(verified, Ok(Some(Ok(_)))) { Spare::Differs } else { Spare::Damaged })
    }
}
