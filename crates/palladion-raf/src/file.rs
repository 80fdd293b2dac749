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

/// How to make a file.
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
    /// The cipher. With one of the AEGIS-128 family, a file must not be written to more than 2^48
    /// times (chunks, not calls): its nonces are random numbers of 16 bytes.
    #[must_use]
    pub fn algorithm(self, algorithm: Algorithm) -> Self {
        Self { algorithm, ..self }
    }

    /// Bytes in a chunk: a multiple of 16 from [`CHUNK_MIN`](crate::CHUNK_MIN) to
    /// [`CHUNK_MAX`](crate::CHUNK_MAX). A chunk is read and written as a whole, so small ones are
    /// for small changes here and there. In the file each takes 32 or 48 bytes more.
    #[must_use]
    pub fn chunk_size(self, bytes: u32) -> Self {
        Self { chunk_size: bytes, ..self }
    }

    /// Whether what there is already is thrown away.
    #[must_use]
    pub fn overwrite(self, overwrite: bool) -> Self {
        Self { overwrite, ..self }
    }

    /// The id that tells the file from all others: 24 bytes that were never used before, best of
    /// all random ones. Without this they are drawn when the file is made; whoever needs them
    /// before that, as a salt for a passphrase, say, draws them and tells.
    #[must_use]
    pub fn file_id(self, id: [u8; 24]) -> Self {
        Self { file_id: Some(id), ..self }
    }

    /// Makes an empty file, with a key of [`Algorithm::key_len`] bytes.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`], [`Error::ChunkSize`], [`Error::KeyLength`], [`Error::NoRandomness`];
    /// [`Error::Io`], then the storage may already be empty.
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

/// A file that was found and is not open yet: its header is read, but not verified.
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

    /// What the header says, which is not verified: which algorithm the key must be for, say.
    pub fn info(&self) -> Info {
        self.info
    }

    /// It is not to be changed: see [`Raf::open_read_only`].
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

/// An encrypted file that is open.
///
/// ```
/// use palladion_raf::{Memory, Options, Raf};
///
/// let key = [7; 32]; // in earnest: random
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
    /// A record: what was read, or is to be written.
    record: Zeroizing<E::Buffer>,
    tree: Option<Tree<E::Hasher, E::Buffer>>,
    rooms: Rooms,
    read_only: bool,
    /// Whether what must come first on the storage is synced first.
    barriers: bool,
    /// A change has begun and not ended.
    changing: bool,
}

impl<S: Storage> Raf<S> {
    /// Opens a file. Its chunks are verified when they are read.
    ///
    /// # Errors
    ///
    /// [`Error::WrongKey`] if the key is another one, or the header was changed;
    /// [`Error::KeyLength`]; [`Error::NotRaf`], [`Error::Unsupported`], [`Error::Truncated`],
    /// [`Error::TooLarge`], [`Error::Io`].
    pub fn open(storage: S, master_key: &[u8]) -> Result<Self> {
        Found::new(storage)?.open(master_key)
    }

    /// Opens a file that is not to be changed: what would change it fails with [`Error::ReadOnly`].
    /// The storage need not be able to write (see [`ReadOnly`](crate::ReadOnly)).
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub fn open_read_only(storage: S, master_key: &[u8]) -> Result<Self> {
        Found::new(storage)?.read_only().open(master_key)
    }

    /// Gives it a [Merkle tree](crate::merkle) with room for so many chunks, hashed with SHA-256 as
    /// `pyaegis` does. All that is there already is read. The tree takes 64 bytes of memory for
    /// each chunk that there is room for.
    ///
    /// # Errors
    ///
    /// [`Error::TreeFull`] if there are more chunks, now or later; [`Error::TreeSize`]; those of
    /// [`read_at`](Self::read_at).
    pub fn with_merkle(self, max_chunks: u64) -> Result<Self> {
        self.with_merkle_hasher(Sha256, Sha256::LEN, max_chunks)
    }

    /// The same with a hash function of your own, whose hashes have so many bytes.
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

    /// Gives it a [Merkle tree](crate::merkle), which is made empty: until it is
    /// [rebuilt](Self::rebuild_tree), it knows nothing of what is in the file already.
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

    /// Makes the Merkle tree anew, of what is in the file.
    ///
    /// # Errors
    ///
    /// [`Error::NoTree`]; those of [`read_at`](Self::read_at); what the hash function returns. If
    /// the tree had begun to change, the file has to be opened anew: until then everything fails
    /// with [`Error::Poisoned`].
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

    /// Whether file and Merkle tree are what they were when the tree was made: reads and hashes all
    /// chunks.
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

    /// The commitment: what stands for all contents of the file, its size and its id. As many bytes
    /// as a hash has (32 with SHA-256); keep it where those who can write to the file cannot.
    ///
    /// # Errors
    ///
    /// [`Error::NoTree`], [`Error::Poisoned`], what the hash function returns.
    pub fn commitment(&self) -> Result<Vec<u8>> {
        let mut out = vec![0; self.tree.as_ref().ok_or(Error::NoTree)?.hash_len()];
        self.commitment_into(&mut out)?;
        Ok(out)
    }

    /// The same into the first bytes of a buffer.
    ///
    /// # Errors
    ///
    /// Those of [`commitment`](Self::commitment); [`Error::HashLength`] if the buffer is too short.
    pub fn commitment_into(&self, out: &mut [u8]) -> Result<()> {
        let tree = self.tree.as_ref().ok_or(Error::NoTree)?;
        self.check_intact()?;
        tree.commitment(out, &self.info.context(), self.info.size)
    }

    /// Whether the storage is [synced](Storage::sync) within a change, between parts whose order
    /// matters: then the size of the file is right (the old or the new one) even if the *machine*
    /// stops in the middle of a change and the storage had not yet kept all that it was given.
    /// Costs a sync whenever the size changes. Off at first: a process that is killed does no harm
    /// without it.
    pub fn set_barriers(&mut self, on: bool) {
        self.barriers = on;
    }

    /// What the header says, which is verified.
    pub fn info(&self) -> Info {
        self.info
    }

    /// Bytes in the file.
    pub fn size(&self) -> u64 {
        self.info.size
    }

    /// Whether a change failed in the middle, so that everything fails with [`Error::Poisoned`].
    pub fn is_poisoned(&self) -> bool {
        self.changing
    }

    /// Ends it, and gives back the storage. What was written may still be on its way: see
    /// [`sync`](Self::sync).
    pub fn into_storage(self) -> S {
        self.storage
    }

    /// The storage itself. What is written there past this file damages it.
    pub fn storage_mut(&mut self) -> &mut S {
        &mut self.storage
    }

    /// Reads what there is from `offset` on, to the end of the buffer or of the file; tells how
    /// many bytes that is.
    ///
    /// # Errors
    ///
    /// [`Error::DamagedChunk`], [`Error::Io`]; then all of the buffer is zeroed.
    /// [`Error::Poisoned`].
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

    /// Writes all of the data from `offset` on; the file grows if it has to, and what lies between
    /// its old end and `offset` is zeros. Without data, nothing happens.
    ///
    /// # Errors
    ///
    /// [`Error::DamagedChunk`] if a chunk that is to be changed in part is damaged,
    /// [`Error::TooLarge`], [`Error::TreeFull`], [`Error::ReadOnly`], [`Error::NoRandomness`],
    /// [`Error::Io`]. If a change had begun, the file has to be opened anew: until then everything
    /// fails with [`Error::Poisoned`].
    pub fn write_at(&mut self, data: &[u8], offset: u64) -> Result<()> {
        if data.is_empty() {
            return self.check_writable();
        }
        let end = offset.checked_add(data.len() as u64).ok_or(Error::TooLarge)?;
        self.change(self.info.size.max(end), offset..end, data)
    }

    /// Makes the file so many bytes: cuts off what is behind, or adds zeros.
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
        // The header first: at no time does it promise chunks that are not there.
        self.write_header(size)?;
        self.barrier()?;
        if let Some(last) = last {
            // Nothing of what was cut off stays in the file, not even encrypted.
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

    /// Makes sure that all that was written outlives a loss of power.
    ///
    /// # Errors
    ///
    /// [`Error::Poisoned`], [`Error::Io`].
    pub fn sync(&mut self) -> Result<()> {
        self.check_intact()?;
        Ok(self.storage.sync()?)
    }

    /// Reads every chunk.
    ///
    /// # Errors
    ///
    /// [`Error::DamagedChunk`] for the first that is damaged, [`Error::Io`], [`Error::Poisoned`].
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

    /// The chunk that a byte is in, and its place there.
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

    /// What was written before must not come after what is written now.
    fn barrier(&mut self) -> Result<()> {
        if self.barriers { Ok(self.storage.sync()?) } else { Ok(()) }
    }

    /// Writes data to a place in a file of a new size, which is at least the old one.
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

    /// Hashes the message in memory as a chunk of a file for the Merkle tree, if there is one; what
    /// is above it waits.
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

    /// Encrypts the message in memory and writes it as a chunk of a file. Before anything has
    /// changed, it fails without harm.
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

/// The record in memory that may be longer.
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
