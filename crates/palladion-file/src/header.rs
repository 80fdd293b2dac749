//! The header of 128 bytes, and the key derived from it and the secret.

use hkdf::Hkdf;
use palladion::{Algorithm, Tag};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::chunk::ChunkSize;
use crate::cipher::Cipher;
use crate::error::Error;
use crate::kdf::{KdfLimits, KdfParams};
use crate::secret::Secret;
#[cfg(doc)]
use crate::slots::Keyring;

/// Length of the header in bytes.
pub const HEADER_LEN: usize = 128;

/// The first eight bytes of every Palladion file. Like PNG's, they show what a transfer in text
/// mode does to a file: a byte that is not ASCII, both kinds of line end, and the character that
/// ends a text on DOS.
pub const MAGIC: [u8; 8] = *b"\x89PLD\r\n\x1a\n";

/// The version of the format that this library reads and writes.
pub const VERSION: u8 = 1;

// The layout: see docs/file-format.md.
const KDF_INFO: &[u8] = b"palladion file v1";
const PLACE_INFO: &[u8] = b"palladion place v1";
const SALT: std::ops::Range<usize> = 16..48;
const KEY_SOURCE: usize = 10;
const SLOTS: u8 = 2;
const PLACE: usize = 12;
const BOUND: u8 = b'P';
const PLACE_CHECK: std::ops::Range<usize> = 60..64;
const BEFORE_COMMITMENT: usize = 64;
const BEFORE_CHECKSUM: usize = 96;

/// The secret that opens a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecretKind {
    /// A master key.
    Key,
    /// A passphrase, stretched at this cost.
    Passphrase(KdfParams),
    /// The secrets of [key slots](crate::slots), which a [`Head`](crate::slots::Head) lists.
    Slots,
}

/// What the header of a file says about it. Nothing of it is authentic until a secret opens the
/// file.
///
/// ```
/// use palladion_file::{Encryptor, Error, Info, MasterKey, SecretKind};
///
/// let mut file = Vec::new();
/// Encryptor::new(&MasterKey::generate()?).run(&b"text"[..], &mut file)?;
/// let info = Info::from_start(&file)?;
/// assert_eq!(info.secret, SecretKind::Key);
/// assert_eq!(info.algorithm.to_string(), "AEGIS-256X2");
/// assert!(matches!(Info::from_start(b"text"), Err(Error::NotPalladion)));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Info {
    /// The version of the format.
    pub version: u8,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The most plaintext in a chunk.
    pub chunk_size: ChunkSize,
    /// The kind of secret that opens the file.
    pub secret: SecretKind,
    /// Returns whether the file is [bound to a place](Keyring::bind), which its readers must name.
    pub is_bound: bool,
}

impl Info {
    /// Reads the header in the first bytes of a file, of which [`HEADER_LEN`] are enough.
    ///
    /// # Errors
    ///
    /// Those of decryption with an invalid header: [`Error::NotPalladion`], [`Error::Truncated`],
    /// [`Error::HeaderDamaged`], [`Error::UnsupportedVersion`], [`Error::UnsupportedHeader`].
    pub fn from_start(start: &[u8]) -> Result<Self, Error> {
        let header = Header::from_start(start)?;
        Ok(Self {
            version: VERSION,
            algorithm: header.algorithm,
            chunk_size: header.chunk_size,
            secret: header.secret,
            is_bound: header.is_bound(),
        })
    }

    /// Returns the header from which one byte of a damaged one differs: there are few that it can
    /// be, and the checksum says which it is. `None` if more is damaged, or nothing.
    /// [`Decryptor::salvage`](crate::Decryptor::salvage) does this by itself.
    #[must_use]
    pub fn repaired(damaged: &[u8; HEADER_LEN]) -> Option<[u8; HEADER_LEN]> {
        // Most files that are not Palladion's differ in more.
        if MAGIC.iter().zip(damaged).filter(|(one, other)| one != other).count() > 1 {
            return None;
        }
        let mut header = *damaged;
        let (text, sum) = header.split_at_mut(HEADER_LEN - 32);
        let computed = Sha256::digest(&*text);
        match computed.iter().zip(&*sum).filter(|(one, other)| one != other).count() {
            0 => return None,
            1 => {
                sum.copy_from_slice(&computed);
                return Some(header);
            }
            _ => {}
        }
        for at in 0..text.len() {
            let byte = text[at];
            for other in 0..=u8::MAX {
                text[at] = other;
                if *sum == Sha256::digest(&*text)[..] {
                    return Some(header);
                }
            }
            text[at] = byte;
        }
        None
    }
}

/// A well-formed header, as in the file.
#[derive(Clone)]
pub(crate) struct Header {
    bytes: [u8; HEADER_LEN],
    pub algorithm: Algorithm,
    pub chunk_size: ChunkSize,
    secret: SecretKind,
}

impl Header {
    /// A header for a file with key slots and this key, and the cipher for its chunks.
    pub fn with_slots(
        file_key: &[u8; 32],
        algorithm: Algorithm,
        chunk_size: ChunkSize,
        place: Option<&[u8]>,
        salt: &[u8; 32],
    ) -> Result<(Self, Cipher), Error> {
        let mut bytes = Self::fields(algorithm, chunk_size, salt);
        bytes[KEY_SOURCE] = SLOTS;
        let mut header = Self { bytes, algorithm, chunk_size, secret: SecretKind::Slots };
        let cipher = header.complete(file_key, place)?;
        Ok((header, cipher))
    }

    pub fn as_bytes(&self) -> &[u8; HEADER_LEN] {
        &self.bytes
    }

    /// What HKDF covers, for the keys of this file.
    pub fn before_commitment(&self) -> &[u8] {
        &self.bytes[..BEFORE_COMMITMENT]
    }

    pub fn salt(&self) -> &[u8; 32] {
        self.bytes[SALT].try_into().expect("32 bytes")
    }

    /// The checksum of the rest, by which a header is told from all others.
    pub fn checksum(&self) -> &[u8; 32] {
        self.bytes[BEFORE_CHECKSUM..].try_into().expect("32 bytes")
    }

    pub fn has_slots(&self) -> bool {
        matches!(self.secret, SecretKind::Slots)
    }

    pub fn is_bound(&self) -> bool {
        self.bytes[PLACE] == BOUND
    }

    /// Checks that the caller gave a place if, and only if, the file is bound to one.
    pub fn check_place(&self, place: Option<&[u8]>) -> Result<(), Error> {
        match (self.is_bound(), place) {
            (_, Some([])) => Err(Error::EmptyPlace),
            (true, None) => Err(Error::Bound),
            (false, Some(_)) => Err(Error::NotBound),
            (true, Some(_)) | (false, None) => Ok(()),
        }
    }

    fn fields(algorithm: Algorithm, chunk_size: ChunkSize, salt: &[u8; 32]) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8] = VERSION;
        bytes[9] = algorithm.id();
        bytes[11] = chunk_size.log2();
        bytes[SALT].copy_from_slice(salt);
        bytes
    }

    /// Fills in what follows from the fields, the key and the place. Returns the cipher. Not
    /// inlined, for the same reason as [`hkdf`].
    #[inline(never)]
    fn complete(&mut self, ikm: &[u8; 32], place: Option<&[u8]>) -> Result<Cipher, Error> {
        let mut bound = None;
        if let Some(place) = place {
            self.bytes[PLACE] = BOUND;
            self.check_place(Some(place))?;
            let (cipher, check) = self.expand_place(ikm, place)?;
            self.bytes[PLACE_CHECK].copy_from_slice(check.as_bytes());
            bound = Some(cipher);
        }
        let (cipher, commitment) = self.expand(ikm)?;
        self.bytes[BEFORE_COMMITMENT..BEFORE_CHECKSUM].copy_from_slice(commitment.as_bytes());
        let checksum = checksum(&self.bytes);
        self.bytes[BEFORE_CHECKSUM..].copy_from_slice(&checksum);
        Ok(bound.unwrap_or(cipher))
    }

    /// A header for a new file with a salt of its own, and the cipher for its chunks.
    pub fn create(
        secret: Secret<'_>,
        algorithm: Algorithm,
        chunk_size: ChunkSize,
        kdf: KdfParams,
    ) -> Result<([u8; HEADER_LEN], Cipher), Error> {
        let mut salt = [0; 32];
        getrandom::fill(&mut salt).map_err(Error::no_randomness)?;
        Self::with_salt(secret, algorithm, chunk_size, kdf, &salt)
    }

    /// Like [`create`](Self::create), with a given salt.
    pub fn with_salt(
        secret: Secret<'_>,
        algorithm: Algorithm,
        chunk_size: ChunkSize,
        kdf: KdfParams,
        salt: &[u8; 32],
    ) -> Result<([u8; HEADER_LEN], Cipher), Error> {
        let mut bytes = Self::fields(algorithm, chunk_size, salt);
        let stretched;
        let (kind, ikm) = match secret.keys_and_passphrases() {
            _ if secret.place().is_some_and(<[u8]>::is_empty) => return Err(Error::EmptyPlace),
            ([key, ..], _) => (SecretKind::Key, key),
            ([], [passphrase, ..]) if passphrase.is_empty() => return Err(Error::EmptyPassphrase),
            ([], [passphrase, ..]) => {
                bytes[KEY_SOURCE] = 1;
                for (field, value) in
                    bytes[48..60].chunks_exact_mut(4).zip([kdf.memory_kib, kdf.passes, kdf.lanes])
                {
                    field.copy_from_slice(&value.to_le_bytes());
                }
                stretched = passphrase.stretch(salt, kdf)?;
                (SecretKind::Passphrase(kdf), &stretched)
            }
            ([], []) => return Err(Error::EmptyKeyring),
        };
        let mut header = Self { bytes, algorithm, chunk_size, secret: kind };
        let cipher = header.complete(ikm.as_bytes(), secret.place())?;
        Ok((header.bytes, cipher))
    }

    /// Like [`from_start`](Self::from_start), but one damaged byte does not matter: there are few
    /// that it can have been, and the checksum says which it was.
    pub fn from_damaged(start: &[u8]) -> Result<Self, Error> {
        Self::from_start(start).or_else(|error| match (&error, start.first_chunk()) {
            (Error::NotPalladion | Error::HeaderDamaged, Some(damaged)) => {
                Info::repaired(damaged).map_or(Err(error), |header| Self::from_start(&header))
            }
            _ => Err(error),
        })
    }

    /// Parses the first bytes of a file: [`HEADER_LEN`], or fewer if there are no more. The order
    /// of the checks decides the error: not a Palladion file, truncated, damaged, an unknown
    /// version, an unsupported field.
    pub fn from_start(start: &[u8]) -> Result<Self, Error> {
        let len = start.len().min(HEADER_LEN);
        let mut bytes = [0; HEADER_LEN];
        bytes[..len].copy_from_slice(&start[..len]);
        // The first half of the magic identifies the format. A wrong second half means damage.
        let ours = len.min(4);
        if bytes[..ours] != MAGIC[..ours] {
            return Err(Error::NotPalladion);
        }
        if len < HEADER_LEN {
            return Err(Error::Truncated { chunk: None, offset: len as u64 });
        }
        if bytes[..8] != MAGIC || bytes[BEFORE_CHECKSUM..] != checksum(&bytes) {
            return Err(Error::HeaderDamaged);
        }
        if bytes[8] != VERSION {
            return Err(Error::UnsupportedVersion(bytes[8]));
        }
        Self::parse(bytes)
    }

    fn parse(bytes: [u8; HEADER_LEN]) -> Result<Self, Error> {
        let unsupported =
            |field, value: u8| Error::UnsupportedHeader { field, value: value.into() };
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };

        let algorithm = Algorithm::from_id(bytes[9]).ok_or(unsupported("algorithm", bytes[9]))?;
        let chunk_size =
            ChunkSize::from_log2(bytes[11]).ok_or(unsupported("chunk size (log2)", bytes[11]))?;
        let is_bound = bytes[PLACE] == BOUND;
        let reserved = bytes[PLACE + usize::from(is_bound)..16].iter();
        let mut reserved = reserved.chain(bytes[PLACE_CHECK].iter().filter(|_| !is_bound));
        let secret = match bytes[KEY_SOURCE] {
            0 if bytes[48..60] == [0; 12] => SecretKind::Key,
            SLOTS if bytes[48..60] == [0; 12] => SecretKind::Slots,
            0 | SLOTS => {
                let field = "cost of a passphrase in a file with a master key";
                let value = word(48).max(word(52)).max(word(56)).into();
                return Err(Error::UnsupportedHeader { field, value });
            }
            1 => match (word(48), word(52), word(56)) {
                (_, 0, _) => return Err(unsupported("number of passes for the passphrase", 0)),
                (_, _, lanes @ (0 | 0x100_0000..)) => {
                    return Err(Error::UnsupportedHeader {
                        field: "number of lanes for the passphrase",
                        value: lanes.into(),
                    });
                }
                (memory, passes, lanes) => {
                    let params = KdfParams::new(memory, passes, lanes);
                    SecretKind::Passphrase(params.ok_or(Error::UnsupportedHeader {
                        field: "memory in KiB for the passphrase",
                        value: memory.into(),
                    })?)
                }
            },
            other => return Err(unsupported("key source", other)),
        };
        match reserved.find(|&&byte| byte != 0) {
            Some(&byte) => Err(unsupported("reserved byte", byte)),
            None => Ok(Self { bytes, algorithm, chunk_size, secret }),
        }
    }

    /// The cipher for the chunks, if the header commits to this secret, or to one of a keyring.
    pub fn open(&self, secret: Secret<'_>, limits: &KdfLimits) -> Result<Cipher, Error> {
        let (keys, passphrases) = secret.keys_and_passphrases();
        if !self.has_slots() {
            self.check_place(secret.place())?;
        }
        match self.secret {
            SecretKind::Slots => Err(Error::HAS_SLOTS),
            _ if keys.is_empty() && passphrases.is_empty() => Err(Error::EmptyKeyring),
            SecretKind::Key if keys.is_empty() => Err(Error::NeedsKey),
            SecretKind::Key => {
                for key in keys {
                    if let Some(cipher) = self.open_with(key.as_bytes(), secret.place())? {
                        return Ok(cipher);
                    }
                }
                Err(Error::WrongKey)
            }
            SecretKind::Passphrase(_) if passphrases.is_empty() => Err(Error::NeedsPassphrase),
            SecretKind::Passphrase(kdf) => {
                limits.check(&kdf)?;
                for passphrase in passphrases {
                    let key = passphrase.stretch(self.salt(), kdf)?;
                    if let Some(cipher) = self.open_with(key.as_bytes(), secret.place())? {
                        return Ok(cipher);
                    }
                }
                Err(Error::WrongPassphrase)
            }
        }
    }

    /// The cipher for the chunks, if the header commits to this master key, or to what is used
    /// instead of one. [`Error::WrongPlace`] if it does, but the file is bound to another place.
    pub fn open_with(&self, ikm: &[u8; 32], place: Option<&[u8]>) -> Result<Option<Cipher>, Error> {
        let (cipher, commitment) = self.expand(ikm)?;
        let found = Tag::try_from(&self.bytes[BEFORE_COMMITMENT..BEFORE_CHECKSUM])?;
        if commitment != found {
            return Ok(None);
        }
        self.check_place(place)?;
        let Some(place) = place else { return Ok(Some(cipher)) };
        let (cipher, check) = self.expand_place(ikm, place)?;
        match check == Tag::try_from(&self.bytes[PLACE_CHECK])? {
            true => Ok(Some(cipher)),
            false => Err(Error::WrongPlace),
        }
    }

    /// Derives the key of this file, if it is not bound, and the commitment.
    fn expand(&self, ikm: &[u8; 32]) -> Result<(Cipher, Tag<32>), Error> {
        self.derive(ikm, &[KDF_INFO, self.before_commitment()])
    }

    /// Derives the key of this file, if it is bound to this place, and the place check. That is a
    /// field, so the info ends before it.
    fn expand_place(&self, ikm: &[u8; 32], place: &[u8]) -> Result<(Cipher, Tag<4>), Error> {
        self.derive(ikm, &[PLACE_INFO, &self.bytes[..PLACE_CHECK.start], place])
    }

    /// Derives a key and `N` more bytes with HKDF.
    fn derive<const N: usize>(
        &self,
        ikm: &[u8; 32],
        info: &[&[u8]],
    ) -> Result<(Cipher, Tag<N>), Error> {
        let key_len = self.algorithm.key_len();
        let mut derived = Zeroizing::new([0; 64]);
        hkdf(self.salt(), ikm, info, &mut derived[..key_len + N]);
        let (key, rest) = derived[..key_len + N].split_at(key_len);
        Ok((Cipher::new(self.algorithm, key)?, rest.try_into()?))
    }
}

/// Not inlined: what it leaves on the stack would get into the padding of what is made of the key,
/// and stay in the heap (`assurance/wiping.sh`).
#[inline(never)]
fn hkdf(salt: &[u8; 32], ikm: &[u8; 32], info: &[&[u8]], output: &mut [u8]) {
    let hkdf = Hkdf::<Sha256>::new(Some(salt), ikm);
    hkdf.expand_multi_info(info, output).expect("HKDF gives up to 8160 bytes");
}

/// Returns whether a file that begins with these bytes needs a passphrase rather than a master key.
/// Returns the error of decryption if the header is invalid, and [`Error::UnsupportedHeader`] if
/// the file has key slots: [`Info`] tells that too.
///
/// ```
/// use palladion_file::{Encryptor, Error, MasterKey, needs_passphrase};
///
/// let mut file = Vec::new();
/// Encryptor::new(&MasterKey::generate()?).run(&b"text"[..], &mut file)?;
/// assert!(!needs_passphrase(&file)?);
/// assert!(matches!(needs_passphrase(b"text"), Err(Error::NotPalladion)));
/// # Ok::<(), Error>(())
/// ```
pub fn needs_passphrase(beginning: &[u8]) -> Result<bool, Error> {
    match Info::from_start(beginning)?.secret {
        SecretKind::Slots => Err(Error::HAS_SLOTS),
        kind => Ok(matches!(kind, SecretKind::Passphrase(_))),
    }
}

fn checksum(header: &[u8; HEADER_LEN]) -> [u8; 32] {
    Sha256::digest(&header[..BEFORE_CHECKSUM]).into()
}
