//! Reading and changing a file.

use std::fmt;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use zeroize::Zeroizing;

use palladion::{Algorithm, Buffer};

use crate::bulk::{self, Rooms, Run};
use crate::environment::zeros;
use crate::header::{self, HEADER_LEN, ID_LEN, Info};
use crate::keys::Keys;
use crate::limits::is_chunk_size;
use crate::merkle::{Hasher, Sha256, Tree};
use crate::storage::Place;
use crate::{Environment, Error, Lock, Result, Storage, System};

/// Pauses in milliseconds before a chunk that could not be read beside a writer is read again. A
/// writer needs less than a millisecond for a chunk, but may be interrupted meanwhile.
const PAUSES: [u64; 12] = [0, 0, 1, 1, 2, 4, 8, 16, 32, 64, 128, 256];
/// The same for the header.
const HEADER_PAUSES: [u64; 6] = [0, 0, 1, 1, 2, 4];

/// Options for creating a file.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    algorithm: Algorithm,
    chunk_size: u32,
    overwrite: bool,
    locks: bool,
    file_id: Option<[u8; ID_LEN]>,
}

impl Default for Options {
    /// AEGIS-256X2, whose random nonces never run out; chunks of 64 KiB; nothing is overwritten.
    fn default() -> Self {
        Self {
            algorithm: Algorithm::Aegis256X2,
            chunk_size: 64 << 10,
            overwrite: false,
            locks: true,
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

    /// Sets whether to discard existing data.
    #[must_use]
    pub fn overwrite(self, overwrite: bool) -> Self {
        Self { overwrite, ..self }
    }

    /// Does not lock the file. Then make sure that there is only one writer.
    #[must_use]
    pub fn unlocked(self) -> Self {
        Self { locks: false, ..self }
    }

    /// The id of the file: 24 bytes that were never used before, preferably random. By default they
    /// are drawn when the file is created. Set them to use them earlier, for example as the salt of
    /// a passphrase.
    #[must_use]
    pub fn file_id(self, id: [u8; 24]) -> Self {
        Self { file_id: Some(id), ..self }
    }

    /// Creates an empty file, with a key of [`Algorithm::key_len`] bytes, and
    /// [locks](Raf#locks) it for writing. A file of the operating system must be open for reading
    /// too, which [`File::create`](std::fs::File::create) does not do.
    ///
    /// ```no_run
    /// use std::fs::File;
    /// use palladion_raf::Options;
    ///
    /// let file = File::options().read(true).write(true).create_new(true).open("notes.raf")?;
    /// let mut notes = Options::default().create(file, &[7; 32])?;
    /// notes.write_at(b"hello", 0)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Exists`], [`Error::ChunkSize`], [`Error::KeyLength`], [`Error::NoRandomness`],
    /// [`Error::Locked`]; [`Error::Io`]; the storage may then already be empty.
    pub fn create<S: Storage>(self, storage: S, master_key: &[u8]) -> Result<Raf<S>> {
        self.create_in(storage, master_key, System::default(), |info| info.buffer(1))
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
        storage.check_access(true)?;
        let locked = self.locks && lock(&mut storage, Lock::Exclusive)?;
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
        let mut overwrites = false;
        write(&mut storage, &mut overwrites, &header, 0)?;
        Ok(Raf { locked, overwrites, ..Raf::new(storage, environment, info, keys, record) })
    }
}

/// Locks a storage, if it has locks.
fn lock(storage: &mut impl Storage, lock: Lock) -> Result<bool> {
    storage.set_lock(Some(lock)).map_err(|e| match e.kind() {
        ErrorKind::WouldBlock => Error::Locked,
        _ => Error::Io(e),
    })
}

/// Writes a record or the header. Until it is known that the storage `overwrites`, looks whether it
/// does: a file that is open for appending takes all bytes at its end, without an error.
fn write(
    storage: &mut impl Storage,
    overwrites: &mut bool,
    bytes: &[u8],
    offset: u64,
) -> Result<()> {
    if *overwrites {
        return Ok(storage.write_at(bytes, offset)?);
    }
    let len = bytes.len() as u64;
    let (before, end) = (storage.size()?, offset.saturating_add(len));
    storage.write_at(bytes, offset)?;
    // A storage may claim any size, even one to which nothing can be appended.
    let appended = before.checked_add(len).filter(|appended| *appended != end);
    if let Some(appended) = appended
        && storage.size()? == appended
    {
        let _ = storage.set_size(before); // bytes past the end do no harm
        return Err(Error::Io(io::Error::new(
            ErrorKind::InvalidInput,
            "the file is open for appending, so nothing can be changed in it; \
             open it for reading and writing",
        )));
    }
    // What was appended where it belongs says nothing.
    *overwrites = end <= before;
    Ok(())
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
    access: Access,
    locks: bool,
}

/// What a file was opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Write,
    Read,
    /// For reading, while another program may write to it.
    ReadBeside,
}

impl<S: Storage> Found<S> {
    /// Looks for a file.
    ///
    /// # Errors
    ///
    /// [`Error::NotRaf`], [`Error::Unsupported`], [`Error::Truncated`] within the header,
    /// [`Error::Locked`] on Windows, [`Error::Io`].
    pub fn new(mut storage: S) -> Result<Self> {
        storage.check_access(false)?;
        /// What Windows says of bytes that someone else has locked.
        const ERROR_LOCK_VIOLATION: i32 = 33;

        let (info, header) = header::read(&mut storage).map_err(|e| match e {
            Error::Io(e) if cfg!(windows) && e.raw_os_error() == Some(ERROR_LOCK_VIOLATION) => {
                Error::Locked
            }
            e => e,
        })?;
        Ok(Self { storage, info, header, access: Access::Write, locks: true })
    }

    /// The unverified header. It tells, for example, which algorithm the key must be for.
    pub fn info(&self) -> Info {
        self.info
    }

    /// Opens the file read-only: see [`Raf::open_read_only`].
    #[must_use]
    pub fn read_only(self) -> Self {
        Self { access: Access::Read, ..self }
    }

    /// Opens the file for reading while another program may write to it: see
    /// [`Raf::open_beside_writer`].
    #[must_use]
    pub fn beside_writer(self) -> Self {
        Self { access: Access::ReadBeside, ..self }
    }

    /// Does not lock the file. Then make sure that there is only one writer, and that all readers
    /// beside it [expect it](Self::beside_writer).
    #[must_use]
    pub fn unlocked(self) -> Self {
        Self { locks: false, ..self }
    }

    /// Opens it; see [`Raf::open`].
    ///
    /// # Errors
    ///
    /// [`Error::WrongKey`], [`Error::KeyLength`], [`Error::Locked`], [`Error::Truncated`],
    /// [`Error::TooLarge`], [`Error::Io`].
    pub fn open(self, master_key: &[u8]) -> Result<Raf<S>> {
        self.open_in(master_key, System::default(), |info| info.buffer(1))
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
        if self.access == Access::Write {
            self.storage.check_access(true)?;
        }
        let locked = match self.access {
            Access::Write if self.locks => lock(&mut self.storage, Lock::Exclusive)?,
            Access::Read if self.locks => lock(&mut self.storage, Lock::Shared)?,
            _ => false,
        };
        if locked {
            // Someone may have changed it before it was locked.
            (self.info, self.header) = header::read(&mut self.storage)?;
        }
        let mut checked = self.check(master_key);
        if self.access == Access::ReadBeside {
            for pause in HEADER_PAUSES {
                if checked.is_ok() {
                    break;
                }
                wait(pause);
                (self.info, self.header) = header::read(&mut self.storage)?;
                checked = self.check(master_key);
            }
        }
        let keys = checked?;
        let record = room(&self.info, buffer)?;
        Ok(Raf {
            access: self.access,
            locked,
            ..Raf::new(self.storage, environment, self.info, keys, record)
        })
    }

    /// Verifies the header and that the chunks have their place; returns the keys.
    fn check(&mut self, master_key: &[u8]) -> Result<Keys> {
        let keys = Keys::new(&self.info, master_key)?;
        keys.verify(&self.header)?;
        let (expected, actual) = (self.info.offset(self.info.chunks())?, self.storage.size()?);
        if actual < expected { Err(Error::Truncated { expected, actual }) } else { Ok(keys) }
    }
}

/// Waits for a writer.
fn wait(milliseconds: u64) {
    // Without an operating system there is no other program, and no clock.
    if !cfg!(all(target_family = "wasm", target_os = "unknown")) {
        std::thread::sleep(Duration::from_millis(milliseconds));
    }
}

/// An open encrypted file.
///
/// # Locks
///
/// An open [`File`](std::fs::File) is locked: one `Raf` may write to it, or any number may read it.
/// Opening another one fails with [`Error::Locked`], in the same program and in others. A reader
/// [beside a writer](Self::open_beside_writer) takes no lock.
///
/// Some file systems have no locks; then nothing is locked. A file that is lent (`&mut File`) and
/// other storages are not locked, unless they implement [`Storage::set_lock`]. A file and its
/// [clones](std::fs::File::try_clone) share one lock, so that it does not keep them apart, and it
/// lasts until all of them are closed. [`File::create`](std::fs::File::create) empties a file
/// whether it is locked or not.
///
/// # Threads
///
/// Reading takes `&self`: several threads can read a file at once if its storage is
/// [shared](Storage::shared), as a [`File`](std::fs::File) is, and in turn if not. Writing takes
/// `&mut self`: put the file into an [`RwLock`](std::sync::RwLock) if some threads write to it.
///
/// # After an error
///
/// A change that failed was made in part or not at all: each chunk that it concerns is as before or
/// as it was to be, and the size is one of the two. If the storage wrote a chunk only in part, that
/// chunk is damaged until it is written again. The file can be used further. The next change or
/// [`sync`](Self::sync) first [finishes](Self::recover) what must not stay as it is, and fails as
/// long as it cannot. Only the Merkle tree must be [rebuilt](Self::rebuild_tree), and after a
/// failed sync the file must be opened again to sync it.
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
    storage: Place<S>,
    environment: E,
    /// Only its size may change.
    info: Mutex<Info>,
    keys: Keys,
    /// The record that will be written or, without memory of its own for it, was read.
    record: Mutex<Zeroizing<E::Buffer>>,
    tree: Option<Tree<E::Hasher, E::Buffer>>,
    /// Whether the tree may be of other contents.
    tree_is_stale: AtomicBool,
    rooms: Rooms,
    access: Access,
    /// Whether the storage is locked for this file.
    locked: bool,
    /// Whether it is known that the storage can overwrite.
    overwrites: bool,
    /// Whether what must come first on the storage is synced first.
    barriers: bool,
    /// Whether a change has begun and not ended.
    changing: bool,
    unfinished: Unfinished,
    /// Whether a sync failed.
    sync_failed: bool,
}

/// What a change that failed left to do.
#[derive(Clone, Copy, Default)]
struct Unfinished {
    /// Write the record in memory again, which the storage wrote in part: that of this chunk.
    record: Option<u64>,
    /// Write the header again: the storage may have the old one, the new one or neither, or has not
    /// made sure of it.
    header: bool,
    /// Overwrite what the last chunk has past the end of the file.
    tail: bool,
    /// Give back what the storage has past the last chunk.
    rest: bool,
}

/// Locks a mutex. What it protects is valid even if its last user panicked.
fn get<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn get_mut<T>(mutex: &mut Mutex<T>) -> &mut T {
    mutex.get_mut().unwrap_or_else(PoisonError::into_inner)
}

impl<S: Storage> Raf<S> {
    /// Opens a file for reading and writing, and [locks](Self#locks) it. Its chunks are verified
    /// when they are read. A file of the operating system must be open for both:
    /// `File::options().read(true).write(true).open(path)`.
    ///
    /// # Errors
    ///
    /// [`Error::WrongKey`] if the key is wrong or the header was changed; [`Error::KeyLength`];
    /// [`Error::Locked`]; [`Error::NotRaf`], [`Error::Unsupported`], [`Error::Truncated`],
    /// [`Error::TooLarge`], [`Error::Io`].
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

    /// Opens a file for reading while another program may write to it, without a lock.
    ///
    /// A chunk is read as it was before or after a change of it, and never as a mixture. Several
    /// chunks may be of different moments. If a chunk is damaged, it is read again for up to half a
    /// second, because it may only be incomplete. If it kept changing, the error is
    /// [`Error::ChangingChunk`], otherwise [`Error::DamagedChunk`]. Call
    /// [`refresh`](Self::refresh) to learn a new size: until then, what was cut off may be read as
    /// zeros.
    ///
    /// On Windows the writer must be [unlocked](Found::unlocked), because nobody else can read what
    /// is locked there.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub fn open_beside_writer(storage: S, master_key: &[u8]) -> Result<Self> {
        Found::new(storage)?.beside_writer().open(master_key)
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
        let nodes =
            len.and_then(|len| Buffer::new(0, len).ok()).ok_or(Error::TreeSize(max_chunks))?;
        let tree = Tree::new(hasher, nodes, max_chunks, hash_len)?;
        tree.check_room(self.info().chunks())?;
        let mut file = Raf {
            storage: self.storage,
            environment: System::default(),
            info: self.info,
            keys: self.keys,
            record: self.record,
            tree: Some(tree), // all of it is computed now
            tree_is_stale: AtomicBool::new(true),
            rooms: self.rooms,
            access: self.access,
            locked: self.locked,
            overwrites: self.overwrites,
            barriers: self.barriers,
            changing: self.changing,
            unfinished: self.unfinished,
            sync_failed: self.sync_failed,
        };
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
            storage: Place::new(storage),
            environment,
            info: Mutex::new(info),
            keys,
            record: Mutex::new(record),
            tree: None,
            tree_is_stale: AtomicBool::new(false),
            rooms: Rooms::default(),
            access: Access::Write,
            locked: false,
            overwrites: false,
            barriers: false,
            changing: false,
            unfinished: Unfinished::default(),
            sync_failed: false,
        }
    }

    /// Adds an empty [Merkle tree](crate::merkle). It does not cover the existing contents until it
    /// is [rebuilt](Self::rebuild_tree).
    ///
    /// # Errors
    ///
    /// [`Error::TreeFull`], what the hash function returns.
    pub fn attach(&mut self, mut tree: Tree<E::Hasher, E::Buffer>) -> Result<()> {
        tree.check_room(self.info().chunks())?;
        tree.clear()?;
        self.tree = Some(tree);
        self.tree_is_stale = AtomicBool::new(false);
        Ok(())
    }

    fn tree(&mut self) -> Result<&mut Tree<E::Hasher, E::Buffer>> {
        self.tree.as_mut().ok_or(Error::NoTree)
    }

    /// Rebuilds the Merkle tree from the contents of the file.
    ///
    /// # Errors
    ///
    /// [`Error::NoTree`]; those of [`read_at`](Self::read_at); what the hash function returns;
    /// [`Error::Poisoned`] if the size changes again and again meanwhile, beside a writer.
    /// Then the tree [may not match](Error::Poisoned) until it has been rebuilt.
    pub fn rebuild_tree(&mut self) -> Result<()> {
        self.tree()?;
        self.recover()?;
        for _ in PAUSES {
            if self.rebuild_tree_once()? {
                return Ok(());
            }
        }
        Err(Error::Poisoned)
    }

    /// Returns false, and leaves the tree stale, if the size changed meanwhile.
    fn rebuild_tree_once(&mut self) -> Result<bool> {
        let info = self.info();
        let chunks = info.chunks();
        self.tree()?.check_room(chunks)?;
        for chunk in 0..chunks {
            self.attempt(|now| match now.size == info.size {
                true => self.load(&info, chunk),
                false => Ok(()),
            })?;
            if self.size() != info.size {
                return Ok(false);
            }
            self.begin();
            self.hash(chunk, info)?;
        }
        self.begin();
        self.tree_is_stale = AtomicBool::new(true);
        let tree = self.tree()?;
        let max = tree.max_chunks();
        tree.remove(chunks..max)?;
        tree.update(0..=max - 1)?;
        self.end(false);
        Ok(true)
    }

    /// Verifies that file and Merkle tree still match. Reads and hashes all chunks.
    ///
    /// # Errors
    ///
    /// [`Error::TreeMismatch`], [`Error::Poisoned`], those of [`read_at`](Self::read_at), what the
    /// hash function returns; with the chunk where it went wrong.
    pub fn verify_tree(&self) -> std::result::Result<(), (Option<u64>, Error)> {
        let tree = self.sound_tree().map_err(|e| (None, e))?;
        let result = self.verify_nodes(tree);
        if matches!(result, Ok(()) | Err((_, Error::TreeMismatch { .. }))) {
            // Beside a writer, the file may have another size by now.
            self.sound_tree().map_err(|e| (None, e))?;
        }
        result
    }

    fn verify_nodes(
        &self,
        tree: &Tree<E::Hasher, E::Buffer>,
    ) -> std::result::Result<(), (Option<u64>, Error)> {
        for chunk in 0..tree.max_chunks() {
            match self.verify_leaf(tree, chunk) {
                Ok(true) => {}
                Ok(false) => {
                    return Err((Some(chunk), Error::TreeMismatch { chunk: Some(chunk) }));
                }
                Err(e) => return Err((Some(chunk), e)),
            }
        }
        match tree.is_consistent() {
            Ok(true) => Ok(()),
            Ok(false) => Err((None, Error::TreeMismatch { chunk: None })),
            Err(e) => Err((None, e)),
        }
    }

    fn verify_leaf(&self, tree: &Tree<E::Hasher, E::Buffer>, chunk: u64) -> Result<bool> {
        let info = self.info();
        let len = info.len_of(chunk);
        if len == 0 {
            return tree.is(chunk, None);
        }
        self.attempt(|_| {
            self.with_record(&info, |record| {
                self.fetch(&info, chunk, record)?;
                tree.is(chunk, Some(&self.keys.open(&info, chunk, record)?[..len]))
            })
        })
    }

    /// The tree, if it is of the contents of the file.
    fn sound_tree(&self) -> Result<&Tree<E::Hasher, E::Buffer>> {
        let tree = self.tree.as_ref().ok_or(Error::NoTree)?;
        if self.tree_is_stale.load(Ordering::Relaxed) { Err(Error::Poisoned) } else { Ok(tree) }
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
        let info = self.info();
        self.sound_tree()?.commitment(out, &info.context(), info.size)
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
        *get(&self.info)
    }

    /// The size of the contents in bytes.
    pub fn size(&self) -> u64 {
        self.info().size
    }

    /// Reads the header again, for files that are read
    /// [beside a writer](Self::open_beside_writer), and returns the size of the contents, which may
    /// be another now.
    ///
    /// # Errors
    ///
    /// [`Error::WrongKey`] if it is another file now; [`Error::NotRaf`], [`Error::Unsupported`],
    /// [`Error::Io`].
    pub fn refresh(&self) -> Result<u64> {
        // A writer knows the size. After a failed change, the header may have another.
        if self.access == Access::Write {
            return Ok(self.size());
        }
        let mut size = self.read_header();
        for pause in HEADER_PAUSES {
            match size {
                // Perhaps the header is just being written.
                Err(Error::WrongKey) => wait(pause),
                _ => break,
            }
            size = self.read_header();
        }
        let size = size?;
        let mut info = get(&self.info);
        if info.size != size {
            info.size = size;
            self.tree_is_stale.store(true, Ordering::Relaxed);
        }
        Ok(size)
    }

    /// Reads the size that is in the header now.
    fn read_header(&self) -> Result<u64> {
        let (info, header) = header::read_again(&self.storage)?;
        self.keys.verify(&header)?;
        if (Info { size: info.size, ..self.info() }) == info {
            Ok(info.size)
        } else {
            Err(Error::WrongKey)
        }
    }

    /// Returns whether a change has failed part way since the last one that did not, or since
    /// [`recover`](Self::recover).
    pub fn is_poisoned(&self) -> bool {
        self.changing
    }

    /// Closes the file and returns the storage, without its lock. Written data may not be on disk
    /// yet: see [`sync`](Self::sync).
    pub fn into_storage(self) -> S {
        let mut storage = self.storage.into_inner();
        if self.locked {
            let _ = storage.set_lock(None); // nothing depends on it
        }
        storage
    }

    /// The storage. Writing to it directly damages the file.
    pub fn storage_mut(&mut self) -> &mut S {
        self.storage.get_mut()
    }

    /// Reads from `offset` to the end of the buffer or of the file, and returns the number of bytes
    /// read.
    ///
    /// # Errors
    ///
    /// [`Error::DamagedChunk`], [`Error::ChangingChunk`], [`Error::Io`]; all zero the whole buffer.
    pub fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let read = self.attempt(|info| {
            let there = info.size.saturating_sub(offset);
            let len = usize::try_from(there).map_or(buf.len(), |there| there.min(buf.len()));
            self.read(info, &mut buf[..len], offset).map(|()| len)
        });
        if read.is_err() {
            buf.fill(0);
        }
        read
    }

    /// Reads something. Beside a writer, a chunk that is damaged may only be incomplete, or may no
    /// longer be part of the file: then it is read again.
    fn attempt<T>(&self, mut read: impl FnMut(&Info) -> Result<T>) -> Result<T> {
        let mut result = read(&self.info());
        let mut before: Option<(u64, Vec<u8>)> = None;
        let mut changes = false;
        for pause in PAUSES {
            let Err(Error::DamagedChunk { index }) = result else { return result };
            if self.access != Access::ReadBeside {
                return result;
            }
            let record = self.raw(index)?;
            let now = Some((index, record));
            changes |= before.is_some() && before != now;
            before = now;
            wait(pause);
            let old = self.size();
            changes |= self.refresh()? != old;
            result = read(&self.info());
        }
        match result {
            Err(Error::DamagedChunk { index }) if changes => Err(Error::ChangingChunk { index }),
            result => result,
        }
    }

    /// Returns what the storage has in place of a chunk, or nothing if it is too short.
    fn raw(&self, chunk: u64) -> Result<Vec<u8>> {
        let info = self.info();
        let mut record = zeros(info.record_len())?;
        match self.fetch(&info, chunk, &mut record) {
            Err(Error::DamagedChunk { .. }) => Ok(Vec::new()),
            fetched => fetched.map(|()| record),
        }
    }

    /// Reads what is there.
    fn read(&self, info: &Info, mut buf: &mut [u8], mut offset: u64) -> Result<()> {
        let size = info.chunk_size as usize;
        while !buf.is_empty() {
            let (chunk, within) = (offset / size as u64, (offset % size as u64) as usize);
            let whole = if within == 0 { buf.len() / size * size } else { 0 };
            let n = if E::BULK && whole >= bulk::WORTHWHILE {
                let run = Run { info, keys: &self.keys, rooms: &self.rooms };
                run.read(&self.storage, chunk, &mut buf[..whole])?;
                whole
            } else {
                self.with_record(info, |record| {
                    self.fetch(info, chunk, record)?;
                    if whole > 0 {
                        self.keys.open_into(info, chunk, record, &mut buf[..size])?;
                        return Ok(size);
                    }
                    let part = &self.keys.open(info, chunk, record)?[within..];
                    let n = part.len().min(buf.len());
                    buf[..n].copy_from_slice(&part[..n]);
                    Ok(n)
                })?
            };
            buf = &mut buf[n..];
            offset += n as u64;
        }
        Ok(())
    }

    /// Lends memory for a record: new one if there may be any, so that several threads can read at
    /// once, and that of the file if not.
    fn with_record<T>(&self, info: &Info, work: impl FnOnce(&mut [u8]) -> Result<T>) -> Result<T> {
        if E::BULK {
            work(self.rooms.lend(info, 1)?.records())
        } else {
            work(record_mut(info, &mut *get(&self.record)))
        }
    }

    /// Writes all of the data at `offset`. The file grows if necessary, with zeros between its old
    /// end and `offset`, which cost as much as those of [`set_size`](Self::set_size). Empty data
    /// does nothing.
    ///
    /// # Errors
    ///
    /// [`Error::DamagedChunk`] if a chunk that would be partly changed is damaged,
    /// [`Error::TooLarge`], [`Error::TreeFull`], [`Error::ReadOnly`], [`Error::NoRandomness`],
    /// [`Error::SyncFailed`] with [barriers](Self::set_barriers), [`Error::Io`]. The type says
    /// what the file is [after an error](Self#after-an-error).
    pub fn write_at(&mut self, data: &[u8], offset: u64) -> Result<()> {
        if data.is_empty() {
            return self.check_writable();
        }
        let end = offset.checked_add(data.len() as u64).ok_or(Error::TooLarge)?;
        self.change(offset..end, data)
    }

    /// Sets the size of the file: discards the data past it, or adds zeros. Those are encrypted and
    /// written like other data, so they take as much time and disk space, and nothing stops that.
    /// Add many gigabytes in several calls, and check the size first if someone else chose it.
    ///
    /// # Errors
    ///
    /// As for [`write_at`](Self::write_at).
    pub fn set_size(&mut self, size: u64) -> Result<()> {
        if size < self.size() { self.shrink(size) } else { self.change(size..size, &[]) }
    }

    fn shrink(&mut self, size: u64) -> Result<()> {
        self.check_writable()?;
        self.recover()?;
        let stale = self.tree_is_stale.load(Ordering::Relaxed);
        let old = self.info();
        let new = Info { size, ..old };
        let last = new.chunks().checked_sub(1);
        let within = last.map_or(0, |last| new.len_of(last));
        let cut = within < old.chunk_size as usize;
        // The chunk that becomes the last one is read first: if it is damaged, nothing changes.
        let last = last.filter(|_| cut || self.tree.is_some());
        if let Some(last) = last {
            self.load(&old, last)?;
        }
        self.begin();
        // Write the header first, so that it never promises missing chunks.
        self.write_header(size)?;
        self.unfinished.header = true;
        self.unfinished.tail = cut;
        self.unfinished.rest = true;
        self.tree_is_stale = AtomicBool::new(true);
        self.barrier()?;
        self.unfinished.header = false;
        if let Some(last) = last {
            // No discarded data stays in the file, not even encrypted.
            self.message()[within..].fill(0);
            if cut {
                self.store(last, new)?;
            } else {
                self.hash(last, new)?;
            }
            self.unfinished.tail = false;
        }
        self.give_back_rest()?;
        if let Some(tree) = &mut self.tree {
            tree.remove(new.chunks()..old.chunks())?;
            tree.update(new.chunks().saturating_sub(1)..=old.chunks() - 1)?;
        }
        self.end(stale);
        Ok(())
    }

    /// Finishes what a change that failed left in a state in which it must not stay: a record or a
    /// header that the storage may have written in part, discarded data, and room past the end.
    /// The size stays what it is. Every change and [`sync`](Self::sync) begin with it.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], [`Error::NoRandomness`], [`Error::SyncFailed`] with
    /// [barriers](Self::set_barriers). Call it again when the cause is gone. If it never works,
    /// open the file again to give up what could not be written.
    pub fn recover(&mut self) -> Result<()> {
        if !self.changing || self.access != Access::Write {
            return Ok(());
        }
        let info = self.info();
        if let Some(chunk) = self.unfinished.record {
            self.write_record(&info, info.offset(chunk)?)?;
            self.unfinished.record = None;
        }
        if self.unfinished.header {
            self.write_header(info.size)?;
            // Nothing may follow, at the next call either, until it is on disk.
            self.unfinished.header = true;
            self.barrier()?;
            self.unfinished.header = false;
        }
        if let Some(last) = info.chunks().checked_sub(1).filter(|_| self.unfinished.tail) {
            match self.load(&info, last) {
                Ok(()) => {
                    self.message()[info.len_of(last)..].fill(0);
                    self.store(last, info)?;
                }
                // Then nobody can read the discarded data in it.
                Err(Error::DamagedChunk { .. }) => {}
                Err(e) => return Err(e),
            }
        }
        self.unfinished.tail = false;
        if self.unfinished.rest {
            self.give_back_rest()?;
        }
        self.changing = false;
        Ok(())
    }

    /// Makes the storage as short as the file allows.
    fn give_back_rest(&mut self) -> Result<()> {
        let info = self.info();
        self.storage.get_mut().set_size(info.offset(info.chunks())?)?;
        self.unfinished.rest = false;
        Ok(())
    }

    /// Ensures that all written data survives a power failure.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], those of [`recover`](Self::recover). Once it has failed, it fails with
    /// [`Error::SyncFailed`] until the file is opened again.
    pub fn sync(&mut self) -> Result<()> {
        self.recover()?;
        self.sync_storage()
    }

    fn sync_storage(&mut self) -> Result<()> {
        if self.sync_failed {
            return Err(Error::SyncFailed);
        }
        self.storage.get_mut().sync().inspect_err(|_| self.sync_failed = true)?;
        Ok(())
    }

    /// Reads and verifies every chunk.
    ///
    /// # Errors
    ///
    /// [`Error::DamagedChunk`] for the first damaged chunk, [`Error::ChangingChunk`],
    /// [`Error::Io`].
    pub fn verify(&self) -> Result<()> {
        let info = self.info();
        if !E::BULK {
            return (0..info.chunks())
                .try_for_each(|chunk| self.attempt(|_| self.load(&info, chunk)));
        }
        let chunk = u64::from(info.chunk_size);
        let window = bulk::WINDOW as u64 / chunk * chunk;
        let mut buf = Buffer::new(0, window.min(info.size) as usize).map_err(io::Error::from)?;
        for start in (0..info.size).step_by(window as usize) {
            self.read_at(&mut buf, start)?;
        }
        Ok(())
    }

    fn check_writable(&self) -> Result<()> {
        if self.access == Access::Write { Ok(()) } else { Err(Error::ReadOnly) }
    }

    fn begin(&mut self) {
        self.changing = true;
    }

    /// Ends a change; `stale` tells whether the tree was of other contents before.
    fn end(&mut self, stale: bool) {
        self.changing = false;
        self.tree_is_stale = AtomicBool::new(stale);
    }

    /// Orders the earlier writes before the later ones.
    fn barrier(&mut self) -> Result<()> {
        if self.barriers { self.sync_storage() } else { Ok(()) }
    }

    /// Writes data at a place, and zeros before it if the file ends earlier.
    fn change(&mut self, place: Range<u64>, data: &[u8]) -> Result<()> {
        self.check_writable()?;
        let stale = self.tree_is_stale.load(Ordering::Relaxed);
        let old = self.info();
        let size = old.size.max(place.end);
        let new = Info { size, ..old };
        let end = new.offset(new.chunks())?;
        if let Some(tree) = &self.tree {
            tree.check_room(new.chunks())?;
        }
        // From where the data begins, or the zeros before it.
        let from = place.start.min(old.size);
        self.recover()?;
        if from == place.end {
            return Ok(());
        }
        if new.chunks() > old.chunks() {
            self.begin();
            self.unfinished.rest = true;
            // Writing the record of a single new chunk, the last one, does that too.
            let storage = self.storage.get_mut();
            if new.chunks() - old.chunks() > 1 || !storage.grows() {
                storage.set_size(end)?;
            }
        }
        let chunk_size = u64::from(old.chunk_size);
        let chunks = from / chunk_size..place.end.div_ceil(chunk_size);
        let mut chunk = chunks.start;
        while chunk < chunks.end {
            let start = chunk * chunk_size;
            // What of the chunk comes from the data.
            let part = place.start.clamp(start, start + chunk_size)
                ..place.end.clamp(start, start + chunk_size);
            let data =
                if part.is_empty() { &[] } else { &data[(part.start - place.start) as usize..] };
            let whole = data.len() / chunk_size as usize * chunk_size as usize;
            if part.start == start && E::BULK && self.overwrites && whole >= bulk::WORTHWHILE {
                self.store_run(chunk, &data[..whole])?;
                chunk += whole as u64 / chunk_size;
                continue;
            }
            if part.is_empty() && E::BULK && self.overwrites && start >= old.size {
                // Whole chunks of zeros past the old end.
                let whole = ((place.start - start) / chunk_size * chunk_size)
                    .min(bulk::WINDOW as u64) as usize;
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
                self.load(&old, chunk)?;
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
            self.unfinished.rest = false;
        }
        self.end(stale);
        Ok(())
    }

    /// Encrypts and writes whole chunks.
    fn store_run(&mut self, first: u64, data: &[u8]) -> Result<()> {
        self.begin();
        let info = self.info();
        let Self { storage, environment, keys, tree, rooms, .. } = self;
        if let Some(tree) = tree {
            self.tree_is_stale = AtomicBool::new(true);
            for (chunk, data) in (first..).zip(data.chunks_exact(info.chunk_size as usize)) {
                tree.set(chunk, data)?;
            }
        }
        let mut random = |bytes: &mut [u8]| environment.random(bytes).map_err(Error::NoRandomness);
        Run { info: &info, keys, rooms }.write(storage.get_mut(), first, data, &mut random)
    }

    /// The message of the record in memory.
    fn message(&mut self) -> &mut [u8] {
        let info = self.info();
        let start = info.algorithm.key_len();
        let size = info.chunk_size as usize;
        &mut record_mut(&info, get_mut(&mut self.record))[start..start + size]
    }

    /// Hashes the message in memory into a leaf of the Merkle tree, if there is one; the nodes
    /// above it are updated later.
    fn hash(&mut self, chunk: u64, file: Info) -> Result<()> {
        let Self { tree: Some(tree), record, .. } = self else { return Ok(()) };
        self.tree_is_stale = AtomicBool::new(true);
        let start = file.algorithm.key_len();
        tree.set(chunk, &record_mut(&file, get_mut(record))[start..start + file.len_of(chunk)])
    }

    /// Reads a record.
    fn fetch(&self, info: &Info, chunk: u64, record: &mut [u8]) -> Result<()> {
        let read = self.storage.read_at(record, info.offset(chunk)?);
        read.map_err(|e| bulk::missing(chunk, e))
    }

    /// Reads and decrypts a chunk into the record in memory.
    fn load(&self, info: &Info, chunk: u64) -> Result<()> {
        let mut memory = get(&self.record);
        let record = record_mut(info, &mut *memory);
        self.fetch(info, chunk, record)?;
        self.keys.open(info, chunk, record).map(drop)
    }

    /// Encrypts the message in memory and writes it as a chunk. An error before the first write
    /// changes nothing.
    fn store(&mut self, chunk: u64, file: Info) -> Result<()> {
        let old = self.info();
        let offset = old.offset(chunk)?;
        let nonce = &mut record_mut(&old, get_mut(&mut self.record))[..old.algorithm.key_len()];
        self.environment.random(nonce).map_err(Error::NoRandomness)?;
        self.begin();
        self.hash(chunk, file)?;
        let record = record_mut(&old, get_mut(&mut self.record));
        self.keys.seal(&old, chunk, record)?;
        let Err(error) = self.write_record(&old, offset) else { return Ok(()) };
        // If the storage has neither the old chunk nor the new one, the record in memory is all
        // that is left of it. It stays there if reading does not need the memory.
        if E::BULK && chunk < old.chunks() {
            let whole = self.with_record(&old, |record| {
                self.fetch(&old, chunk, record)?;
                self.keys.open(&old, chunk, record).map(drop)
            });
            self.unfinished.record = whole.is_err().then_some(chunk);
        }
        Err(error)
    }

    /// Writes the record in memory.
    fn write_record(&mut self, info: &Info, offset: u64) -> Result<()> {
        let record = record(info, get_mut(&mut self.record));
        write(self.storage.get_mut(), &mut self.overwrites, record, offset)
    }

    fn write_header(&mut self, size: u64) -> Result<()> {
        let info = Info { size, ..self.info() };
        let header = self.keys.header(&info)?;
        self.unfinished.header = true;
        if let Err(error) = write(self.storage.get_mut(), &mut self.overwrites, &header, 0) {
            // If it was written in part, no key opens the file, should the program end now.
            if let Ok(old) = self.keys.header(&self.info()) {
                let _ = write(self.storage.get_mut(), &mut self.overwrites, &old, 0);
            }
            return Err(error);
        }
        self.unfinished.header = false;
        *get_mut(&mut self.info) = info;
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
        f.debug_struct("Raf").field("info", &*get(&self.info)).finish_non_exhaustive()
    }
}
