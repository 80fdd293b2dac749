//! Reading and changing a file.

use std::boxed::Box;
use std::io::{self, ErrorKind};
use std::marker::PhantomData;

use palladion::Buffer;
use palladion_raf::merkle::{HASH_MAX, HASH_MIN, Tree, tree_len};
use palladion_raf::{Found, HEADER_LEN, Options, Storage};

use super::algorithm::Number;
use super::io::Pointer;
use super::merkle::Boxed;
use super::rng::Caller;
use super::{Algorithm, AlgorithmId, Error, MerkleHasher, RafIo, RafRng};
#[cfg(feature = "getrandom")]
use super::{FileIo, OsRng};

/// The most bytes that the nodes of a Merkle tree may take.
const MAX_TREE: usize = 1 << 30;

/// Opens and creates files.
pub struct RafBuilder<A: Algorithm> {
    chunk_size: u32,
    truncate: bool,
    rng: Box<dyn RafRng>,
    merkle: Option<(Box<dyn MerkleHasher>, u64)>,
    algorithm: PhantomData<A>,
}

impl<A: Algorithm> RafBuilder<A> {
    /// Creates a builder: chunks of 64 KiB, no Merkle tree, nothing is overwritten, and random
    /// numbers from the operating system.
    #[cfg(feature = "getrandom")]
    pub fn new() -> Self {
        Self::with_rng(OsRng)
    }

    /// Creates a builder with its own source of random numbers.
    pub fn with_rng(rng: impl RafRng + 'static) -> Self {
        Self {
            chunk_size: 64 << 10,
            truncate: false,
            rng: Box::new(rng),
            merkle: None,
            algorithm: PhantomData,
        }
    }

    /// Sets the number of bytes in a chunk of a new file: a multiple of 16 from 1 KiB to 1 MiB.
    pub fn chunk_size(self, size: u32) -> Self {
        Self { chunk_size: size, ..self }
    }

    /// Sets whether [`create`](Self::create) discards existing data.
    pub fn truncate(self, yes: bool) -> Self {
        Self { truncate: yes, ..self }
    }

    /// Sets the source of random numbers.
    pub fn rng(self, rng: impl RafRng + 'static) -> Self {
        Self { rng: Box::new(rng), ..self }
    }

    /// Adds a Merkle tree with room for `max_chunks` chunks.
    pub fn merkle(self, hasher: impl MerkleHasher + 'static, max_chunks: u64) -> Self {
        Self { merkle: Some((Box::new(hasher), max_chunks)), ..self }
    }

    /// Creates an empty file.
    ///
    /// # Errors
    ///
    /// [`Error::AlreadyExists`] if the storage is not empty and nothing says to
    /// [`truncate`](Self::truncate) it; [`Error::InvalidArgument`], [`Error::Overflow`],
    /// [`Error::Rng`], [`Error::Io`].
    pub fn create(self, io: impl RafIo + 'static, key: &A::Key) -> Result<Raf<A>, Error> {
        let error = |e| Error::of(e, "invalid configuration");
        let tree = self.merkle.map(|merkle| tree(merkle, error)).transpose()?;
        let mut file = Options::default()
            .algorithm(A::ALGORITHM)
            .chunk_size(self.chunk_size)
            .overwrite(self.truncate)
            .create_in(
                Pointer(Box::new(io) as Box<dyn RafIo>),
                key.as_ref(),
                Caller(self.rng),
                |info| info.buffer(1),
            )
            .map_err(error)?;
        if let Some(tree) = tree {
            file.attach(tree).map_err(error)?;
        }
        Ok(Raf { file, algorithm: PhantomData })
    }

    /// Opens a file. A Merkle tree does not cover its contents until it is
    /// [rebuilt](Raf::merkle_rebuild).
    ///
    /// # Errors
    ///
    /// [`Error::AuthenticationFailed`] if the key is wrong; [`Error::InvalidArgument`] if this is
    /// not a RAF file, or one with another algorithm; [`Error::Overflow`], [`Error::Io`].
    pub fn open(self, io: impl RafIo + 'static, key: &A::Key) -> Result<Raf<A>, Error> {
        let error = |e| Error::of(e, "invalid header or configuration");
        let mut storage = Pointer(Box::new(io) as Box<dyn RafIo>);
        check_header_len(&mut storage)?;
        let found = Found::new(storage).map_err(|e| Error::of(e, "invalid header"))?;
        if found.info().algorithm != A::ALGORITHM {
            return Err(Error::InvalidArgument("algorithm mismatch"));
        }
        let tree = self.merkle.map(|merkle| tree(merkle, error)).transpose()?;
        let mut file =
            found.open_in(key.as_ref(), Caller(self.rng), |info| info.buffer(1)).map_err(error)?;
        if let Some(tree) = tree {
            file.attach(tree).map_err(error)?;
        }
        Ok(Raf { file, algorithm: PhantomData })
    }
}

#[cfg(feature = "getrandom")]
impl<A: Algorithm> Default for RafBuilder<A> {
    fn default() -> Self {
        Self::new()
    }
}

/// Creates a Merkle tree.
fn tree(
    (hasher, max_chunks): (Box<dyn MerkleHasher>, u64),
    error: impl Fn(palladion_raf::Error) -> Error,
) -> Result<Tree<Boxed, Buffer>, Error> {
    let hash_len = hasher.hash_len();
    if !(HASH_MIN..=HASH_MAX).contains(&hash_len) {
        return Err(Error::InvalidArgument("hash_len must be between 8 and 64"));
    }
    let len = tree_len(max_chunks, hash_len).filter(|len| *len <= MAX_TREE);
    let nodes = Buffer::new(0, len.ok_or(Error::Overflow)?).map_err(io::Error::from)?;
    Tree::new(Boxed(hasher), nodes, max_chunks, hash_len).map_err(error)
}

/// Fails if the storage ends within the header: as the end of the file, not as an invalid header.
fn check_header_len(storage: &mut impl Storage) -> io::Result<()> {
    if storage.size()? < HEADER_LEN as u64 { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

/// An open encrypted file. `A` is the variant of AEGIS. The storage is
/// [synced](RafIo::sync) on drop.
pub struct Raf<A: Algorithm> {
    file: palladion_raf::Raf<Pointer<Box<dyn RafIo>>, Caller>,
    algorithm: PhantomData<A>,
}

impl<A: Algorithm> Raf<A> {
    /// Creates a file of the operating system, or truncates an existing one. [`RafBuilder`] has
    /// more options.
    ///
    /// # Errors
    ///
    /// Those of [`RafBuilder::create`].
    #[cfg(feature = "getrandom")]
    pub fn create_file(path: impl AsRef<std::path::Path>, key: &A::Key) -> Result<Self, Error> {
        RafBuilder::new().truncate(true).create(FileIo::create(path)?, key)
    }

    /// Opens a file of the operating system. [`RafBuilder`] has more options.
    ///
    /// # Errors
    ///
    /// Those of [`RafBuilder::open`].
    #[cfg(feature = "getrandom")]
    pub fn open_file(path: impl AsRef<std::path::Path>, key: &A::Key) -> Result<Self, Error> {
        RafBuilder::new().open(FileIo::open(path)?, key)
    }

    /// Derives the key of a file from a key that serves several purposes, like [`derive_key`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the context is too long.
    pub fn derive_master_key(master_key: &A::Key, context: &[u8]) -> Result<A::Key, Error> {
        let mut key = A::Key::default();
        derive(master_key.as_ref(), context, key.as_mut())?;
        Ok(key)
    }

    /// Reads from `offset` to the end of the buffer or of the file, and returns the number of bytes
    /// read.
    ///
    /// # Errors
    ///
    /// [`Error::AuthenticationFailed`], [`Error::Io`]; both zero the whole buffer.
    pub fn read(&mut self, buf: &mut [u8], offset: u64) -> Result<usize, Error> {
        if let Err(e) = self.check() {
            buf.fill(0);
            return Err(e.into());
        }
        self.file.read_at(buf, offset).map_err(|e| Error::of(e, "invalid read parameters"))
    }

    /// Writes all of the data at `offset`, and returns its length. The file grows if necessary,
    /// with zeros between its old end and `offset`.
    ///
    /// # Errors
    ///
    /// [`Error::AuthenticationFailed`] if a chunk that would be partly changed is damaged;
    /// [`Error::Overflow`], [`Error::Rng`], [`Error::Io`]. If a change had begun, everything fails
    /// until the file is opened again.
    pub fn write(&mut self, data: &[u8], offset: u64) -> Result<usize, Error> {
        self.check()?;
        let written = self.file.write_at(data, offset);
        written.map_err(|e| Error::of(e, "invalid write parameters"))?;
        Ok(data.len())
    }

    /// Sets the size of the file: discards the data past it, or adds zeros.
    ///
    /// # Errors
    ///
    /// As for [`write`](Self::write).
    pub fn truncate(&mut self, size: u64) -> Result<(), Error> {
        self.check()?;
        self.file.set_size(size).map_err(|e| Error::of(e, "invalid truncate parameters"))
    }

    /// Returns the size of the contents in bytes.
    pub fn size(&self) -> u64 {
        self.file.size()
    }

    /// Makes sure that all written data survives a power failure.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn sync(&mut self) -> Result<(), Error> {
        self.check()?;
        Ok(self.file.storage_mut().sync()?)
    }

    /// Rebuilds the Merkle tree from the contents of the file.
    ///
    /// # Errors
    ///
    /// [`Error::MerkleNotEnabled`], [`Error::AuthenticationFailed`], [`Error::Io`].
    pub fn merkle_rebuild(&mut self) -> Result<(), Error> {
        self.check()?;
        self.file.rebuild_tree().map_err(|e| Error::of(e, "invalid merkle parameters"))
    }

    /// Verifies that file and Merkle tree still match. Returns the index of the first chunk that is
    /// damaged or does not match, or [`u64::MAX`] if the tree itself was changed.
    ///
    /// # Errors
    ///
    /// [`Error::MerkleNotEnabled`], [`Error::Io`].
    pub fn merkle_verify(&mut self) -> Result<Option<u64>, Error> {
        self.check()?;
        let Err((chunk, e)) = self.file.verify_tree() else { return Ok(None) };
        match Error::of(e, "invalid merkle parameters") {
            Error::AuthenticationFailed => Ok(Some(chunk.unwrap_or(u64::MAX))),
            e => Err(e),
        }
    }

    /// Writes the commitment to the contents of the file, its size and its id to the start of a
    /// buffer, which must have room for a hash. Keep it where those who can write to the file
    /// cannot change it.
    ///
    /// # Errors
    ///
    /// [`Error::MerkleNotEnabled`], [`Error::InvalidArgument`] if the buffer is too short,
    /// [`Error::Io`].
    pub fn merkle_commitment(&self, out: &mut [u8]) -> Result<(), Error> {
        self.check()?;
        self.file.commitment_into(out).map_err(|e| Error::of(e, "output buffer too short"))
    }

    /// Fails if a change has failed part way: like crate `aegis`, though the file could be used.
    fn check(&self) -> io::Result<()> {
        if self.file.is_poisoned() {
            return Err(io::Error::other("an earlier change failed part way; open the file again"));
        }
        Ok(())
    }
}

impl<A: Algorithm> Drop for Raf<A> {
    fn drop(&mut self) {
        _ = self.file.storage_mut().sync();
    }
}

/// What the header of a file says. Only the key can verify it.
#[derive(Debug, Clone)]
pub struct RafInfo {
    /// The variant of AEGIS.
    pub algorithm: AlgorithmId,
    /// Bytes in a chunk.
    pub chunk_size: u32,
    /// Bytes of contents.
    pub file_size: u64,
}

/// Reads the header of a file without a key, and so without verifying it.
///
/// # Errors
///
/// [`Error::InvalidArgument`] if it is not a RAF file; [`Error::Io`].
pub fn probe(io: &mut dyn RafIo) -> Result<RafInfo, Error> {
    let mut storage = Pointer(io);
    check_header_len(&mut storage)?;
    let info = palladion_raf::probe(&mut storage).map_err(|e| Error::of(e, "invalid header"))?;
    Ok(RafInfo {
        algorithm: Number::from(info.algorithm).0,
        chunk_size: info.chunk_size,
        file_size: info.size,
    })
}

/// Derives a key for one purpose from a key that serves several. The context names the purpose. It
/// has at most 120 bytes for keys of 16 bytes, and 72 for keys of 32.
///
/// # Errors
///
/// [`Error::InvalidArgument`] if the key has neither 16 nor 32 bytes, or the context is too long.
pub fn derive_key<const KEY_LEN: usize>(
    master_key: &[u8; KEY_LEN],
    context: &[u8],
) -> Result<[u8; KEY_LEN], Error> {
    let mut key = [0; KEY_LEN];
    derive(master_key, context, &mut key)?;
    Ok(key)
}

fn derive(master_key: &[u8], context: &[u8], key: &mut [u8]) -> Result<(), Error> {
    let derived = palladion_raf::derive_master_key(master_key, context).map_err(|e| {
        Error::InvalidArgument(match e {
            palladion_raf::Error::ContextLength { .. } => "context too long",
            _ => "key length must be 16 or 32 bytes",
        })
    })?;
    key.copy_from_slice(&derived);
    Ok(())
}
