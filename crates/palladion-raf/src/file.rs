//! Reading and changing a file.

use std::fmt;
use std::ops::Range;

use zeroize::Zeroizing;

use palladion::Algorithm;

use crate::bulk::{self, Rooms, Run};
use crate::environment::zeros;
use crate::header::{self, HEADER_LEN, ID_LEN, Info};
use crate::keys::Keys;
use crate::limits::is_chunk_size;
use crate::merkle::{Hasher, Sha256, Tree};
use crate::{Environment, Error, Result, Storage, System};

/// Options for creating a file.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    algorithm: Algorithm,
    chunk_size: u32,
    overwrite: bool,
    file_id: Option<[u8; ID_LEN]>,
}

impl Default for Options {
    /// AEGIS-256X2, whose random nonces never run out; chunks of 64 KiB; nothing is overwritten.
    fn default() -> Self {
        Self {
            algorithm: Algorithm::Aegis256X2,
            chunk_size: 64 << 10,
            overwrite: false,
            file_id: None,
        }
    }
}

impl Options {
    /// The cipher. With the AEGIS-128 family, write at most 2^48 chunks to one file, because its
    /// nonces are random and have 16 bytes.
    #[must_use]
    pub fn algorithm(self, algorithm: Algorithm) -> Self {
        Self { algorithm, ..self }
    }

    /// Bytes in a chunk: a multiple of 16 from [`CHUNK_MIN`](crate::CHUNK_MIN) to
    /// [`CHUNK_MAX`](crate::CHUNK_MAX). A chunk is read and written as a whole, so use small ones
    /// for small scattered changes. Each chunk takes 32 or 48 extra bytes in the file.
    #[must_use]
    pub fn chunk_size(self, bytes: u32) -> Self {
        Self { chunk_size: bytes, ..self }
    }

    /// Whether to discard existing data.
    #[must_use]
    pub fn overwrite(self, overwrite: bool) -> Self {
        Self { overwrite, ..self }
    }

    /// The id of the file: 24 bytes that were never used before, preferably random. By default they
    /// are drawn when the file is created. Set them to use them earlier, for example as the salt of
    /// a passphrase.
    #[must_use]
    pub fn file_id(self, id: [u8; 24]) -> Self {
        Self { file_id: Some(id), ..self }
    }

    /// Creates an empty file, with a key of [`Algorithm::key_len`] bytes.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`], [`Error::ChunkSize`], [`Error::KeyLength`], [`Error::NoRandomness`];
    /// [`Error::Io`]; the storage may then already be empty.
    pub fn create<S: Storage>(self, storage: S, master_key: &[u8]) -> Result<Raf<S>> {
        self.create_in(storage, master_key, System::default(), |info| Ok(zeros(info.record_len())?))
    }

    /// The same in an [`Environment`], with memory for [`Info::record_len`] bytes.
    ///
    /// # Errors
    ///
    /// Those of [`create`](Self::create), [`Error::BufferLength`].
    pub fn create_in<S: Storage, E: Environment>(
        self,
        mut storage: S,
        master_key: &[u8],
        mut environment: E,
        buffer: impl FnOnce(&Info) -> Result<E::Buffer>,
    ) -> Result<Raf<S, E>> {
        if !is_chunk_size(self.chunk_size) {
            return Err(Error::ChunkSize(self.chunk_size));
        }
        if !self.overwrite && storage.size()? > 0 {
            return Err(Error::Exists);
        }
        let file_id = self.file_id.unwrap_or_default();
        let mut info =
            Info { algorithm: self.algorithm, chunk_size: self.chunk_size, size: 0, file_id };
        let record = room(&info, buffer)?;
        if self.file_id.is_none() {
            environment.random(&mut info.file_id).map_err(Error::NoRandomness)?;
        }
        let keys = Keys::new(&info, master_key)?;
        let header = keys.header(&info)?;
        storage.set_size(HEADER_LEN as u64)?;
        storage.write_at(&header, 0)?;
        Ok(Raf::new(storage, environment, info, keys, record))
    }
}

/// Memory for a record.
fn room<B: AsRef<[u8]> + zeroize::Zeroize>(
    info: &Info,
    buffer: impl FnOnce(&Info) -> Result<B>,
) -> Result<Zeroizing<B>> {
    let record = Zeroizing::new(buffer(info)?);
    let (expected, actual) = (info.record_len(), record.as_ref().len());
    if actual < expected { Err(Error::BufferLength { expected, actual }) } else { Ok(record) }
}

/// A file whose header has been read but not verified.
#[derive(Debug)]
pub struct Found<S> {
    storage: S,
    info: Info,
    header: [u8; HEADER_LEN],
    read_only: bool,
}

impl<S: Storage> Found<S> {
    /// Looks for a file.
    ///
    /// # Errors
    ///
    /// [`Error::NotRaf`], [`Error::Unsupported`], [`Error::Truncated`] within the header,
    /// [`Error::Io`].
    pub fn new(mut storage: S) -> Result<Self> {
        let (info, header) = header::read(&mut storage)?;
        Ok(Self { storage, info, header, read_only: false })
    }

    /// The unverified header. It tells, for example, which algorithm the key must be for.
    pub fn info(&self) -> Info {
        self.info
    }

    /// Opens the file read-only: see [`Raf::open_read_only`].
    #[must_use]
    pub fn read_only(self) -> Self {
        Self { read_only: true, ..self }
    }

    /// Opens it; see [`Raf::open`].
    ///
    /// # Errors
    ///
    /// [`Error::WrongKey`], [`Error::KeyLength`], [`Error::Truncated`], [`Error::TooLarge`],
    /// [`Error::Io`].
    pub fn open(self, master_key: &[u8]) -> Result<Raf<S>> {
        self.open_in(master_key, System::default(), |info| Ok(zeros(info.record_len())?))
    }

    /// The same in an [`Environment`], with memory for [`Info::record_len`] bytes.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open), [`Error::BufferLength`].
    pub fn open_in<E: Environment>(
        mut self,
        master_key: &[u8],
        environment: E,
        buffer: impl FnOnce(&Info) -> Result<E::Buffer>,
    ) -> Result<Raf<S, E>> {
        let info = self.info;
        let keys = Keys::new(&info, master_key)?;
        keys.verify(&self.header)?;
        let (expected, actual) = (info.offset(info.chunks())?, self.storage.size()?);
        if actual < expected {
            return Err(Error::Truncated { expected, actual });
        }
        let record = room(&info, buffer)?;
        Ok(Raf {
            read_only: self.read_only,
            ..Raf::new(self.storage, environment, info, keys, record)
        })
    }
}

/// An open encrypted file.
///
/// ```
/// use palladion_raf::{Memory, Options, Raf};
///
/// let key = [7; 32]; // in practice: random
/// let mut file = Options::default().create(Memory::default(), &key)?;
/// file.write_at(b"hello, world", 100_000)?;
/// let mut file = Raf::open(file.into_storage(), &key)?;
/// assert_eq!(file.size(), 100_012);
/// let mut buf = [0; 5];
/// assert_eq!(file.read_at(&mut buf, 100_007)?, 5);
/// assert_eq!(&buf, b"world");
/// # Ok::<(), palladion_raf::Error>(())
/// ```
pub struct Raf<S, E: Environment = System> {
    storage: S,
    environment: E,
    info: Info,
    keys: Keys,
    /// The record that was read or will be written.
    record: Zeroizing<E::Buffer>,
    tree: Option<Tree<E::Hasher, E::Buffer>>,
    rooms: Rooms,
    read_only: bool,
    /// Whether what must come first on the storage is synced first.
    barriers: bool,
    /// Whether a change has begun and not ended.
    changing: bool,
}

impl<S: Storage> Raf<S> {
    /// Opens a file. Its chunks are verified when they are read.
    ///
    /// # Errors
    ///
    /// [`Error::WrongKey`] if the key is wrong or the header was changed; [`Error::KeyLength`];
    /// [`Error::NotRaf`], [`Error::Unsupported`], [`Error::Truncated`], [`Error::TooLarge`],
    /// [`Error::Io`].
    pub fn open(storage: S, master_key: &[u8]) -> Result<Self> {
        Found::new(storage)?.open(master_key)
    }

    /// Opens a file read-only: operations that would change it fail with [`Error::ReadOnly`]. The
    /// storage need not be able to write (see [`ReadOnly`](crate::ReadOnly)).
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub fn open_read_only(storage: S, master_key: &[u8]) -> Result<Self> {
        Found::new(storage)?.read_only().open(master_key)
    }

    /// Adds a [Merkle tree](crate::merkle) with room for `max_chunks` chunks, hashed with SHA-256
    /// as in `pyaegis`. Reads the whole file. The tree takes 64 bytes of memory for each chunk that
    /// it has room for.
    ///
    /// # Errors
    ///
    /// [`Error::TreeFull`] if there are more chunks, now or later; [`Error::TreeSize`]; those of
    /// [`read_at`](Self::read_at).
    pub fn with_merkle(self, max_chunks: u64) -> Result<Self> {
        self.with_merkle_hasher(Sha256, Sha256::LEN, max_chunks)
    }

    /// Like [`with_merkle`](Self::with_merkle), with your own hash function and hash length in
    /// bytes.
    ///
    /// # Errors
    ///
    /// Those of [`with_merkle`](Self::with_merkle), [`Error::HashLength`], what the hash function
    /// returns.
    pub fn with_merkle_hasher<H: Hasher>(
        self,
        hasher: H,
        hash_len: usize,
        max_chunks: u64,
    ) -> Result<Raf<S, System<H>>> {
        let len = crate::merkle::tree_len(max_chunks, hash_len);
        let nodes = len.and_then(|len| zeros(len).ok()).ok_or(Error::TreeSize(max_chunks))?;
        let tree = Tree::new(hasher, nodes, max_chunks, hash_len)?;
        let Self { storage, info, keys, record, rooms, read_only, barriers, changing, .. } = self;
        let environment = System::default();
        let mut file = Raf {
            storage,
            environment,
            info,
            keys,
            record,
            tree: None,
            rooms,
            read_only,
            barriers,
            changing,
        };
        tree.check_room(file.info.chunks())?;
        file.tree = Some(tree); // not made empty before: all of it is made now
        file.rebuild_tree()?;
        Ok(file)
    }
}

impl<S: Storage, E: Environment> Raf<S, E> {
    fn new(
        storage: S,
        environment: E,
        info: Info,
        keys: Keys,
        record: Zeroizing<E::Buffer>,
    ) -> Self {
        Self {
            storage,
            environment,
            info,
            keys,
            record,
            tree: None,
            rooms: Rooms::default(),
            read_only: false,
            barriers: false,
            changing: false,
        }
    }

    /// Adds an empty [Merkle tree](crate::merkle). It does not cover the existing contents until it
    /// is [rebuilt](Self::rebuild_tree).
    ///
    /// # Errors
    ///
    /// [`Error::TreeFull`], what the hash function returns.
    pub fn attach(&mut self, mut tree: Tree<E::Hasher, E::Buffer>) -> Result<()> {
        tree.check_room(self.info.chunks())?;
        tree.clear()?;
        self.tree = Some(tree);
        Ok(())
    }

    fn tree(&mut self) -> Result<&mut Tree<E::Hasher, E::Buffer>> {
        self.tree.as_mut().ok_or(Error::NoTree)
    }

    /// Rebuilds the Merkle tree from the contents of the file.
    ///
    /// # Errors
    ///
    /// [`Error::NoTree`]; those of [`read_at`](Self::read_at); what the hash function returns. If
    /// the tree had begun to change, everything fails with [`Error::Poisoned`] until the file is
    /// opened again.
    pub fn rebuild_tree(&mut self) -> Result<()> {
        self.tree()?;
        self.check_intact()?;
        let chunks = self.info.chunks();
        for chunk in 0..chunks {
            self.load(chunk)?;
            self.begin();
            self.hash(chunk, self.info)?;
        }
        self.begin();
        let tree = self.tree()?;
        let max = tree.max_chunks();
        tree.remove(chunks..max)?;
        tree.update(0..=max - 1)?;
        self.end();
        Ok(())
    }

    /// Verifies that file and Merkle tree still match. Reads and hashes all chunks.
    ///
    /// # Errors
    ///
    /// [`Error::TreeMismatch`], those of [`read_at`](Self::read_at), what the hash function
    /// returns; with the chunk where it went wrong.
    pub fn verify_tree(&mut self) -> std::result::Result<(), (Option<u64>, Error)> {
        self.tree().map_err(|e| (None, e))?;
        self.check_intact().map_err(|e| (None, e))?;
        let max = self.tree().map_err(|e| (None, e))?.max_chunks();
        for chunk in 0..max {
            self.verify_leaf(chunk).map_err(|e| (Some(chunk), e))?;
        }
        match self.tree().and_then(|tree| tree.is_consistent()) {
            Ok(true) => Ok(()),
            Ok(false) => Err((None, Error::TreeMismatch { chunk: None })),
            Err(e) => Err((None, e)),
        }
    }

    fn verify_leaf(&mut self, chunk: u64) -> Result<()> {
        let len = self.info.len_of(chunk);
        if len > 0 {
            self.load(chunk)?;
        }
        let Self { tree, record, info, .. } = self;
        let start = info.algorithm.key_len();
        let contents = (len > 0).then(|| &(**record).as_ref()[start..start + len]);
        let tree = tree.as_ref().ok_or(Error::NoTree)?;
        if tree.is(chunk, contents)? {
            Ok(())
        } else {
            Err(Error::TreeMismatch { chunk: Some(chunk) })
        }
    }

    /// The commitment to the contents of the file, its size and its id. It is as long as a hash (32
    /// bytes with SHA-256). Keep it where those who can write to the file cannot change it.
    ///
    /// # Errors
    ///
    /// [`Error::NoTree`], [`Error::Poisoned`], what the hash function returns.
    pub fn commitment(&self) -> Result<Vec<u8>> {
        let mut out = vec![0; self.tree.as_ref().ok_or(Error::NoTree)?.hash_len()];
        self.commitment_into(&mut out)?;
        Ok(out)
    }

    /// Writes the commitment to the first bytes of a buffer.
    ///
    /// # Errors
    ///
    /// Those of [`commitment`](Self::commitment); [`Error::HashLength`] if the buffer is too short.
    pub fn commitment_into(&self, out: &mut [u8]) -> Result<()> {
        let tree = self.tree.as_ref().ok_or(Error::NoTree)?;
        self.check_intact()?;
        tree.commitment(out, &self.info.context(), self.info.size)
    }

    /// Sets whether to [sync](Storage::sync) the storage within a change, between parts whose order
    /// matters. Then the file has its old or its new size even if the *machine* stops during a
    /// change. This costs a sync whenever the size changes. It is off by default; a killed process
    /// does no harm without it.
    pub fn set_barriers(&mut self, on: bool) {
        self.barriers = on;
    }

    /// The verified header.
    pub fn info(&self) -> Info {
        self.info
    }

    /// The size of the contents in bytes.
    pub fn size(&self) -> u64 {
        self.info.size
    }

    /// Whether a change failed part way, so that everything fails with [`Error::Poisoned`].
    pub fn is_poisoned(&self) -> bool {
        self.changing
    }

    /// Closes the file and returns the storage. Written data may not be on disk yet: see
    /// [`sync`](Self::sync).
    pub fn into_storage(self) -> S {
        self.storage
    }

    /// The storage. Writing to it directly damages the file.
    pub fn storage_mut(&mut self) -> &mut S {
        &mut self.storage
    }

    /// Reads from `offset` to the end of the buffer or of the file, and returns the number of bytes
    /// read.
    ///
    /// # Errors
    ///
    /// [`Error::DamagedChunk`], [`Error::Io`]; both zero the whole buffer. [`Error::Poisoned`].
    pub fn read_at(&mut self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.check_intact()?;
        let there = self.info.size.saturating_sub(offset);
        let len = usize::try_from(there).map_or(buf.len(), |there| there.min(buf.len()));
        match self.read(&mut buf[..len], offset) {
            Ok(()) => Ok(len),
            Err(e) => {
                buf.fill(0);
                Err(e)
            }
        }
    }

    /// Reads what is there.
    fn read(&mut self, mut buf: &mut [u8], mut offset: u64) -> Result<()> {
        let size = self.info.chunk_size as usize;
        while !buf.is_empty() {
            let (chunk, within) = self.locate(offset);
            let whole = if within == 0 { buf.len() / size * size } else { 0 };
            let n = if E::BULK && whole >= bulk::WORTHWHILE {
                let Self { storage, info, keys, rooms, .. } = self;
                Run { storage, info, keys, rooms }.read(chunk, &mut buf[..whole])?;
                whole
            } else if whole > 0 {
                self.fetch(chunk)?;
                let record = record(&self.info, &self.record);
                self.keys.open_into(&self.info, chunk, record, &mut buf[..size])?;
                size
            } else {
                let part = &self.load(chunk)?[within..];
                let n = part.len().min(buf.len());
                buf[..n].copy_from_slice(&part[..n]);
                n
            };
            buf = &mut buf[n..];
            offset += n as u64;
        }
        Ok(())
    }

    /// Writes all of the data at `offset`. The file grows if necessary, with zeros between its old
    /// end and `offset`. Empty data does nothing.
    ///
    /// # Errors
    ///
    /// [`Error::DamagedChunk`] if a chunk that would be partly changed is damaged,
    /// [`Error::TooLarge`], [`Error::TreeFull`], [`Error::ReadOnly`], [`Error::NoRandomness`],
    /// [`Error::Io`]. If a change had begun, everything fails with [`Error::Poisoned`] until the
    /// file is opened again.
    pub fn write_at(&mut self, data: &[u8], offset: u64) -> Result<()> {
        if data.is_empty() {
            return self.check_writable();
        }
        let end = offset.checked_add(data.len() as u64).ok_or(Error::TooLarge)?;
        self.change(self.info.size.max(end), offset..end, data)
    }

    /// Sets the size of the file: discards the data past it, or adds zeros.
    ///
    /// # Errors
    ///
    /// As for [`write_at`](Self::write_at).
    pub fn set_size(&mut self, size: u64) -> Result<()> {
        if size < self.info.size { self.shrink(size) } else { self.change(size, size..size, &[]) }
    }

    fn shrink(&mut self, size: u64) -> Result<()> {
        self.check_writable()?;
        let (old, new) = (self.info, Info { size, ..self.info });
        let last = new.chunks().checked_sub(1);
        let within = last.map_or(0, |last| new.len_of(last));
        let cut = within < self.info.chunk_size as usize;
        // The chunk that becomes the last one is read first: if it is damaged, nothing changes.
        let last = last.filter(|_| cut || self.tree.is_some());
        if let Some(last) = last {
            self.load(last)?;
        }
        self.begin();
        // Write the header first, so that it never promises missing chunks.
        self.write_header(size)?;
        self.barrier()?;
        if let Some(last) = last {
            // No discarded data stays in the file, not even encrypted.
            self.message()[within..].fill(0);
            if cut {
                self.store(last, new)?;
            } else {
                self.hash(last, new)?;
            }
        }
        self.storage.set_size(new.offset(new.chunks())?)?;
        if let Some(tree) = &mut self.tree {
            tree.remove(new.chunks()..old.chunks())?;
            tree.update(new.chunks().saturating_sub(1)..=old.chunks() - 1)?;
        }
        self.end();
        Ok(())
    }

    /// Ensures that all written data survives a power failure.
    ///
    /// # Errors
    ///
    /// [`Error::Poisoned`], [`Error::Io`].
    pub fn sync(&mut self) -> Result<()> {
        self.check_intact()?;
        Ok(self.storage.sync()?)
    }

    /// Reads and verifies every chunk.
    ///
    /// # Errors
    ///
    /// [`Error::DamagedChunk`] for the first damaged chunk, [`Error::Io`], [`Error::Poisoned`].
    pub fn verify(&mut self) -> Result<()> {
        self.check_intact()?;
        if !E::BULK {
            return (0..self.info.chunks()).try_for_each(|chunk| self.load(chunk).map(drop));
        }
        let size = self.info.size;
        let window =
            bulk::WINDOW as u64 / u64::from(self.info.chunk_size) * u64::from(self.info.chunk_size);
        let mut buf = Zeroizing::new(zeros(window.min(size) as usize)?);
        for start in (0..size).step_by(window as usize) {
            let len = window.min(size - start) as usize;
            self.read(&mut buf[..len], start)?;
        }
        Ok(())
    }

    /// The chunk that contains a byte, and the offset within the chunk.
    fn locate(&self, offset: u64) -> (u64, usize) {
        let size = u64::from(self.info.chunk_size);
        (offset / size, (offset % size) as usize)
    }

    fn check_intact(&self) -> Result<()> {
        if self.changing { Err(Error::Poisoned) } else { Ok(()) }
    }

    fn check_writable(&self) -> Result<()> {
        if self.read_only { Err(Error::ReadOnly) } else { self.check_intact() }
    }

    fn begin(&mut self) {
        self.changing = true;
    }

    fn end(&mut self) {
        self.changing = false;
    }

    /// Orders the earlier writes before the later ones.
    fn barrier(&mut self) -> Result<()> {
        if self.barriers { Ok(self.storage.sync()?) } else { Ok(()) }
    }

    /// Writes data at an offset in a file with a new size, which is at least the old one.
    fn change(&mut self, size: u64, place: Range<u64>, data: &[u8]) -> Result<()> {
        self.check_writable()?;
        let old = self.info;
        let new = Info { size, ..old };
        let end = new.offset(new.chunks())?;
        if let Some(tree) = &self.tree {
            tree.check_room(new.chunks())?;
        }
        // From where the data begins, or the zeros before it.
        let from = if size > old.size { place.start.min(old.size) } else { place.start };
        let to = if size > old.size { size } else { place.end };
        if from == to {
            return Ok(());
        }
        if new.chunks() > old.chunks() {
            self.begin();
            self.storage.set_size(end)?;
        }
        let chunk_size = u64::from(old.chunk_size);
        let chunks = from / chunk_size..to.div_ceil(chunk_size);
        let mut chunk = chunks.start;
        while chunk < chunks.end {
            let start = chunk * chunk_size;
            // What of the chunk comes from the data.
            let part = place.start.clamp(start, start + chunk_size)
                ..place.end.clamp(start, start + chunk_size);
            let data =
                if part.is_empty() { &[] } else { &data[(part.start - place.start) as usize..] };
            let whole = data.len() / chunk_size as usize * chunk_size as usize;
            if part.start == start && E::BULK && whole >= bulk::WORTHWHILE {
                self.store_run(chunk, &data[..whole])?;
                chunk += whole as u64 / chunk_size;
                continue;
            }
            if part.is_empty() && E::BULK && start >= old.size {
                // Chunks of nothing but zeros that are behind the old end: but for the last one,
                // which may not be whole.
                let end = if place.is_empty() { size } else { place.start };
                let whole =
                    ((end - start) / chunk_size * chunk_size).min(bulk::WINDOW as u64) as usize;
                if whole >= bulk::WORTHWHILE {
                    self.store_run(chunk, &zeros(whole)?)?;
                    chunk += whole as u64 / chunk_size;
                    continue;
                }
            }
            let within = (part.start - start) as usize..(part.end - start) as usize;
            // What of it was there, and whether any of that stays.
            let there = old.len_of(chunk);
            let kept = there > 0 && !(within.start == 0 && within.end >= there);
            if kept {
                self.load(chunk)?;
            }
            let message = self.message();
            message[if kept { there } else { 0 }..].fill(0);
            message[within.clone()].copy_from_slice(&data[..within.len()]);
            self.store(chunk, new)?;
            chunk += 1;
        }
        if let Some(tree) = &mut self.tree {
            tree.update(chunks.start..=chunks.end - 1)?;
        }
        if size != old.size {
            self.begin();
            self.barrier()?;
            self.write_header(size)?;
        }
        self.end();
        Ok(())
    }

    /// Encrypts and writes whole chunks.
    fn store_run(&mut self, first: u64, data: &[u8]) -> Result<()> {
        self.begin();
        let Self { storage, environment, info, keys, tree, rooms, .. } = self;
        if let Some(tree) = tree {
            for (chunk, data) in (first..).zip(data.chunks_exact(info.chunk_size as usize)) {
                tree.set(chunk, data)?;
            }
        }
        let random = |bytes: &mut [u8]| environment.random(bytes).map_err(Error::NoRandomness);
        Run { storage, info, keys, rooms }.write(first, data, random)
    }

    /// The message of the record in memory.
    fn message(&mut self) -> &mut [u8] {
        let start = self.info.algorithm.key_len();
        let size = self.info.chunk_size as usize;
        &mut record_mut(&self.info, &mut self.record)[start..start + size]
    }

    /// Hashes the message in memory into a leaf of the Merkle tree, if there is one; the nodes
    /// above it are updated later.
    fn hash(&mut self, chunk: u64, file: Info) -> Result<()> {
        let Self { tree: Some(tree), record, info, .. } = self else { return Ok(()) };
        let start = info.algorithm.key_len();
        tree.set(chunk, &(**record).as_ref()[start..start + file.len_of(chunk)])
    }

    /// Reads a record.
    fn fetch(&mut self, chunk: u64) -> Result<()> {
        let offset = self.info.offset(chunk)?;
        let read = self.storage.read_at(record_mut(&self.info, &mut self.record), offset);
        read.map_err(|e| bulk::missing(chunk, e))
    }

    /// Reads and decrypts a chunk.
    fn load(&mut self, chunk: u64) -> Result<&mut [u8]> {
        self.fetch(chunk)?;
        self.keys.open(&self.info, chunk, record_mut(&self.info, &mut self.record))
    }

    /// Encrypts the message in memory and writes it as a chunk. An error before the first write
    /// changes nothing.
    fn store(&mut self, chunk: u64, file: Info) -> Result<()> {
        let offset = self.info.offset(chunk)?;
        let nonce = &mut record_mut(&self.info, &mut self.record)[..self.info.algorithm.key_len()];
        self.environment.random(nonce).map_err(Error::NoRandomness)?;
        self.begin();
        self.hash(chunk, file)?;
        let record = record_mut(&self.info, &mut self.record);
        self.keys.seal(&self.info, chunk, record)?;
        Ok(self.storage.write_at(record, offset)?)
    }

    fn write_header(&mut self, size: u64) -> Result<()> {
        let info = Info { size, ..self.info };
        self.storage.write_at(&self.keys.header(&info)?, 0)?;
        self.info = info;
        Ok(())
    }
}

/// The record, in memory that may be longer.
fn record<'a>(info: &Info, buffer: &'a impl AsRef<[u8]>) -> &'a [u8] {
    &buffer.as_ref()[..info.record_len()]
}

fn record_mut<'a>(info: &Info, buffer: &'a mut impl AsMut<[u8]>) -> &'a mut [u8] {
    &mut buffer.as_mut()[..info.record_len()]
}

impl<S, E: Environment> fmt::Debug for Raf<S, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Raf").field("info", &self.info).finish_non_exhaustive()
    }
}
