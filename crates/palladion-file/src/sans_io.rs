//! The format without input and output, for asynchronous programs and bindings to other languages.
//! Nothing here reads, writes or starts threads. [`Encoder`] and [`Decoder`] take and give pieces
//! of any length. To read only a part of a file, [`Opening`] says what to fetch first, and
//! [`Layout`] which bytes of the file hold a range of the plaintext.
//!
//! With [`Sealer`] and [`Opener`], the caller cuts the plaintext into chunks, and the file into the
//! pieces that [`Opener`] asks for.
//!
//! ```
//! use palladion_file::sans_io::{Opener, Sealer};
//! use palladion_file::{Algorithm, ChunkSize, Error, HEADER_LEN, KdfLimits, KdfParams, MasterKey};
//!
//! let key = MasterKey::generate()?;
//! let salt = *MasterKey::generate()?.as_bytes(); // 32 random bytes
//! let size = ChunkSize::MIN;
//! let kdf = KdfParams::default();
//! let (mut sealer, header) = Sealer::new(&key, Algorithm::default(), size, kdf, &salt)?;
//! let mut chunk = vec![0; Sealer::FRAME_LEN + 5 + Sealer::TAG_LEN];
//! chunk[Sealer::FRAME_LEN..][..5].copy_from_slice(b"short");
//! sealer.seal(&mut chunk, true)?;
//!
//! let mut opener = Opener::new(&key, &KdfLimits::default(), &header)?;
//! let rest = opener.frame(&chunk[..Opener::FRAME_LEN])?;
//! assert_eq!(opener.open(&mut chunk[Opener::FRAME_LEN..][..rest])?, b"short");
//! assert!(opener.is_complete());
//! # Ok::<(), Error>(())
//! ```

use std::fmt;

use palladion::Algorithm;

use crate::chunk::{Chunk, ChunkSize, FRAME_LEN, OVERHEAD, Place};
use crate::cipher::{Cipher, TAG_LEN};
use crate::error::Error;
use crate::header::{HEADER_LEN, Header};
use crate::kdf::{KdfLimits, KdfParams};
use crate::secret::Secret;

pub use crate::any_order::{ChunkOpener, Opening};
pub use crate::decoder::Decoder;
pub use crate::encoder::Encoder;
pub use crate::layout::Layout;

/// Encrypts a file: its header, then each chunk.
pub struct Sealer {
    cipher: Cipher,
    size: ChunkSize,
    next: u64,
    last_sealed: bool,
}

impl Sealer {
    /// Bytes before the text of a chunk.
    pub const FRAME_LEN: usize = FRAME_LEN;
    /// Bytes after it.
    pub const TAG_LEN: usize = TAG_LEN;

    /// Creates the header of a new file and the sealer of its chunks. The salt is 32 random bytes,
    /// **new for each file**: two files with one secret and one salt have one key and the same
    /// nonces.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyPassphrase`], [`Error::KdfMemory`], [`Error::Cipher`].
    pub fn new<'a>(
        secret: impl Into<Secret<'a>>,
        algorithm: Algorithm,
        size: ChunkSize,
        kdf: KdfParams,
        salt: &[u8; 32],
    ) -> Result<(Self, [u8; HEADER_LEN]), Error> {
        let (header, cipher) = Header::with_salt(secret.into(), algorithm, size, kdf, salt)?;
        Ok((Self { cipher, size, next: 0, last_sealed: false }, header))
    }

    /// Seals the next chunk where it lies: `_ || plaintext || _` becomes `frame || ciphertext ||
    /// tag`. All chunks but the last are full, and the last is empty only if it is the only one.
    ///
    /// # Errors
    ///
    /// [`Error::Cipher`].
    ///
    /// # Panics
    ///
    /// If there is no room for frame and tag, if a chunk cannot have this length here, or after the
    /// last chunk.
    pub fn seal(&mut self, buffer: &mut [u8], last: bool) -> Result<(), Error> {
        let chunk = Chunk { counter: self.next, len: buffer.len() - OVERHEAD, last };
        assert!(chunk.fits(self.size) && !self.last_sealed, "such a chunk cannot come here");
        chunk.seal(&self.cipher, buffer)?;
        self.next += 1;
        self.last_sealed = last;
        Ok(())
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer").field("chunks", &self.next).finish_non_exhaustive()
    }
}

/// Decrypts a file: [`HEADER_LEN`] bytes, then for each chunk a frame and the bytes that it
/// announces.
pub struct Opener {
    cipher: Cipher,
    algorithm: Algorithm,
    size: ChunkSize,
    place: Place,
    announced: Option<(Chunk, u64)>,
    failed: bool,
}

impl Opener {
    /// Bytes in a frame.
    pub const FRAME_LEN: usize = FRAME_LEN;

    /// Reads the header and checks the secret. `header` is the first [`HEADER_LEN`] bytes, or fewer
    /// if the file is shorter.
    ///
    /// # Errors
    ///
    /// The errors about a header, a secret or the cost of a passphrase.
    pub fn new<'a>(
        secret: impl Into<Secret<'a>>,
        limits: &KdfLimits,
        header: &[u8],
    ) -> Result<Self, Error> {
        let header = Header::from_start(header)?;
        Ok(Self {
            cipher: header.open(secret.into(), limits)?,
            algorithm: header.algorithm,
            size: header.chunk_size,
            place: header.first_chunk(),
            announced: None,
            failed: false,
        })
    }

    /// The algorithm of the file.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The most plaintext in a chunk.
    #[must_use]
    pub fn chunk_size(&self) -> ChunkSize {
        self.size
    }

    /// Takes the next [`FRAME_LEN`](Self::FRAME_LEN) bytes, or fewer if there are no more, and
    /// returns how many bytes follow them in this chunk. Pass data after the last chunk here too;
    /// it gives an error.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`], [`Error::Truncated`], [`Error::TrailingData`].
    pub fn frame(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        let announced = self.place.frame(bytes).inspect_err(|_| self.failed = true)?;
        self.announced = Some(announced);
        Ok(announced.0.sealed_len() - FRAME_LEN)
    }

    /// Decrypts the announced chunk in place, and returns its plaintext. Pass fewer bytes if the
    /// file ends early.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`], and the plaintext is zeroed; [`Error::Truncated`].
    ///
    /// # Panics
    ///
    /// If no chunk was announced.
    pub fn open<'a>(&mut self, rest: &'a mut [u8]) -> Result<&'a [u8], Error> {
        let (chunk, offset) = self.announced.take().expect("a frame comes first");
        self.place
            .rest(&chunk, rest.len())
            .and_then(|()| chunk.open_rest(&self.cipher, offset, rest))
            .inspect_err(|_| self.failed = true)
    }

    /// Returns whether all chunks were opened, up to the last, so that the file may end here. After
    /// an error, it is never complete, even if the chunks after a damaged one can be opened.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.place.last_seen() && !self.failed
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opener").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}
