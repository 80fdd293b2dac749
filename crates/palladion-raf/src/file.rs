//! Reading and changing a file.

use std::fmt;
use std::io::ErrorKind;
use std::ops::Range;

use zeroize::Zeroizing;

use crate::algorithm::{Algorithm, Keys};
use crate::header::{self, HEADER_LEN, ID_LEN, Info};
use crate::{Error, Result, Storage};

/// How to make a file.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    algorithm: Algorithm,
    chunk_size: u32,
    overwrite: bool,
}

impl Default for Options {
    /// AEGIS-256X2, whose random nonces never run out; chunks of 64 KiB; nothing is overwritten.
    fn default() -> Self {
        Self { algorithm: Algorithm::Aegis256X2, chunk_size: 64 << 10, overwrite: false }
    }
}

impl Options {
    /// The cipher. With one of the AEGIS-128 family, a file must not be written to more than 2^48 times (chunks, not calls): its nonces
    /// are random numbers of 16 bytes.
    #[must_use]
    pub fn algorithm(self, algorithm: Algorithm) -> Self {
        Self { algorithm, ..self }
    }

    /// Bytes in a chunk: a multiple of 16 from [`CHUNK_MIN`](crate::CHUNK_MIN) to [`CHUNK_MAX`](crate::CHUNK_MAX). A chunk is read and
    /// written as a whole, so small ones are for small changes here and there. In the file each takes 32 or 48 bytes more.
    #[must_use]
    pub fn chunk_size(self, bytes: u32) -> Self {
        Self { chunk_size: bytes, ..self }
    }

    /// Whether what there is already is thrown away.
    #[must_use]
    pub fn overwrite(self, overwrite: bool) -> Self {
        Self { overwrite, ..self }
    }

    /// Makes an empty file, with a key of [`Algorithm::key_len`] bytes.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`], [`Error::ChunkSize`], [`Error::KeyLength`], [`Error::NoRandomness`], [`Error::Io`]; then the storage may already be
    /// empty.
    pub fn create<S: Storage>(self, mut storage: S, master_key: &[u8]) -> Result<Raf<S>> {
        header::check_chunk_size(self.chunk_size)?;
        if storage.size()? > 0 && !self.overwrite {
            return Err(Error::Exists);
        }
        let mut file_id = [0; ID_LEN];
        random(&mut file_id)?;
        let info = Info { algorithm: self.algorithm, chunk_size: self.chunk_size, size: 0, file_id };
        let keys = info.keys(master_key)?;
        let header = info.header(&keys)?;
        storage.set_size(HEADER_LEN as u64)?;
        storage.write_at(&header, 0)?;
        Ok(Raf::new(storage, info, keys))
    }
}

fn random(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes).map_err(|_| Error::NoRandomness)
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
pub struct Raf<S> {
    storage: S,
    info: Info,
    keys: Keys,
    /// A record: what was read, or is to be written.
    record: Zeroizing<Vec<u8>>,
    /// A change has begun and not ended.
    changing: bool,
}

impl<S: Storage> Raf<S> {
    fn new(storage: S, info: Info, keys: Keys) -> Self {
        let len = info.algorithm.record_len(info.chunk_size) as usize;
        Self { storage, info, keys, record: Zeroizing::new(vec![0; len]), changing: false }
    }

    /// Opens a file. Its chunks are verified when they are read.
    ///
    /// # Errors
    ///
    /// [`Error::WrongKey`] if the key is another one, or the header was changed; [`Error::KeyLength`]; [`Error::NotRaf`],
    /// [`Error::Unsupported`], [`Error::Truncated`], [`Error::Io`].
    pub fn open(mut storage: S, master_key: &[u8]) -> Result<Self> {
        let (info, header) = header::read(&mut storage)?;
        let keys = info.keys(master_key)?;
        Info::verify(&keys, &header)?;
        let (expected, actual) = (info.offset(info.chunks())?, storage.size()?);
        if actual < expected {
            return Err(Error::Truncated { expected, actual });
        }
        Ok(Self::new(storage, info, keys))
    }

    /// What the header says, which is verified.
    pub fn info(&self) -> Info {
        self.info
    }

    /// Bytes in the file.
    pub fn size(&self) -> u64 {
        self.info.size
    }

    /// Ends it, and gives back the storage. What was written may still be on its way: see [`sync`](Self::sync).
    pub fn into_storage(self) -> S {
        self.storage
    }

    /// The storage itself. What is written there past this file damages it.
    pub fn storage_mut(&mut self) -> &mut S {
        &mut self.storage
    }

    /// Reads what there is from `offset` on, to the end of the buffer or of the file; tells how many bytes that is.
    ///
    /// # Errors
    ///
    /// [`Error::DamagedChunk`], [`Error::Io`]; then all of the buffer is zeroed. [`Error::Poisoned`].
    pub fn read_at(&mut self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.check_intact()?;
        let there = self.info.size.saturating_sub(offset);
        let len = usize::try_from(there).map_or(buf.len(), |there| there.min(buf.len()));
        let mut done = 0;
        while done < len {
            let (chunk, within) = self.locate(offset + done as u64);
            match self.load(chunk) {
                Ok(message) => {
                    let part = &message[within..];
                    let n = part.len().min(len - done);
                    buf[done..done + n].copy_from_slice(&part[..n]);
                    done += n;
                }
                Err(e) => {
                    buf.fill(0);
                    return Err(e);
                }
            }
        }
        Ok(len)
    }

    /// Writes all of the data from `offset` on; the file grows if it has to, and what lies between its old end and `offset` is zeros.
    /// Without data, nothing happens.
    ///
    /// # Errors
    ///
    /// [`Error::DamagedChunk`] if a chunk that is to be changed in part is damaged, [`Error::TooLarge`], [`Error::NoRandomness`], [`Error::Io`].
    /// If a change had begun, the file has to be opened anew: until then everything fails with [`Error::Poisoned`].
    pub fn write_at(&mut self, data: &[u8], offset: u64) -> Result<()> {
        if data.is_empty() {
            return self.check_intact();
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
        if size >= self.info.size {
            return self.change(size, size..size, &[]);
        }
        self.check_intact()?;
        // The chunk that becomes the last one is read first: if it is damaged, nothing changes.
        let (chunk, within) = self.locate(size);
        if within > 0 {
            self.load(chunk)?;
        }
        self.begin();
        // The header first: at no time does it promise chunks that are not there.
        self.write_header(size)?;
        if within > 0 {
            // Nothing of what was cut off stays in the file, not even encrypted.
            self.message()[within..].fill(0);
            self.store(chunk)?;
        }
        self.storage.set_size(self.info.offset(self.info.chunks())?)?;
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
        (0..self.info.chunks()).try_for_each(|chunk| self.load(chunk).map(drop))
    }

    /// The chunk that a byte is in, and its place there.
    fn locate(&self, offset: u64) -> (u64, usize) {
        let size = u64::from(self.info.chunk_size);
        (offset / size, (offset % size) as usize)
    }

    fn check_intact(&self) -> Result<()> {
        if self.changing { Err(Error::Poisoned) } else { Ok(()) }
    }

    fn begin(&mut self) {
        self.changing = true;
    }

    fn end(&mut self) {
        self.changing = false;
    }

    /// Writes data to a place in a file of a new size, which is at least the old one.
    fn change(&mut self, size: u64, place: Range<u64>, data: &[u8]) -> Result<()> {
        self.check_intact()?;
        let old = self.info;
        let new = Info { size, ..old };
        let end = new.offset(new.chunks())?;
        // From where the data begins, or the zeros before it.
        let from = if size > old.size { place.start.min(old.size) } else { place.start };
        let to = if size > old.size { size } else { place.end };
        if new.chunks() > old.chunks() {
            self.begin();
            self.storage.set_size(end)?;
        }
        let chunk_size = u64::from(old.chunk_size);
        for chunk in from / chunk_size..to.div_ceil(chunk_size) {
            let start = chunk * chunk_size;
            // What of the chunk was there, and what of it comes from the data.
            let there = old.size.saturating_sub(start).min(chunk_size) as usize;
            let part =
                place.start.clamp(start, start + chunk_size)..place.end.clamp(start, start + chunk_size);
            let within = (part.start - start) as usize..(part.end - start) as usize;
            let kept = there > 0 && !(within.start == 0 && within.end >= there);
            if kept {
                self.load(chunk)?;
            }
            let message = self.message();
            message[if kept { there } else { 0 }..].fill(0);
            if !within.is_empty() {
                let data = &data[(part.start - place.start) as usize..(part.end - place.start) as usize];
                message[within].copy_from_slice(data);
            }
            self.begin();
            self.store(chunk)?;
        }
        if size != old.size {
            self.begin();
            self.write_header(size)?;
        }
        self.end();
        Ok(())
    }

    /// The message of the record in memory.
    fn message(&mut self) -> &mut [u8] {
        let start = self.info.algorithm.key_len();
        &mut self.record[start..start + self.info.chunk_size as usize]
    }

    /// Reads and decrypts a chunk.
    fn load(&mut self, chunk: u64) -> Result<&mut [u8]> {
        let offset = self.info.offset(chunk)?;
        self.storage.read_at(&mut self.record, offset).map_err(|e| match e.kind() {
            ErrorKind::UnexpectedEof => Error::DamagedChunk { index: chunk },
            _ => Error::Io(e),
        })?;
        let message = self.keys.open(&mut self.record, &self.info.ad(chunk))?;
        message.ok_or(Error::DamagedChunk { index: chunk })
    }

    /// Encrypts the record in memory and writes it as a chunk.
    fn store(&mut self, chunk: u64) -> Result<()> {
        let offset = self.info.offset(chunk)?;
        random(&mut self.record[..self.info.algorithm.key_len()])?;
        self.keys.seal(&mut self.record, &self.info.ad(chunk))?;
        Ok(self.storage.write_at(&self.record, offset)?)
    }

    fn write_header(&mut self, size: u64) -> Result<()> {
        let info = Info { size, ..self.info };
        self.storage.write_at(&info.header(&self.keys)?, 0)?;
        self.info = info;
        Ok(())
    }
}

impl<S> fmt::Debug for Raf<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Raf").field("info", &self.info).finish_non_exhaustive()
    }
}
