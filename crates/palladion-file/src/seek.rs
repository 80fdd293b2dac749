//! Reads from the middle of a file.

use std::io::{self, BufRead, ErrorKind, Read, Seek, SeekFrom};
use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fmt, thread};

use palladion::{Algorithm, Buffer};

use crate::any_order::{ChunkOpener, Opening};
use crate::chunk::{self, ChunkSize, FRAME_LEN};
use crate::engine::{self, Panics};
use crate::error::Error;
use crate::header::HEADER_LEN;
use crate::kdf::KdfLimits;
use crate::layout::Layout;
use crate::read_at::ReadAt;
use crate::secret::Secret;
use crate::slots::copies::open_at_any_offset;
use crate::slots::head::Head;

/// Bytes of the file to read at a time, unless a chunk is larger.
const GROUP: usize = 128 << 10;
/// Shorter reads use one thread: starting others would cost more time than it saves.
const WORTHWHILE: usize = 2 << 20;
/// The most memory to keep for later reads, unless a single buffer needs more.
pub(crate) const KEPT: usize = 32 << 20;
/// The most chunks to keep, unless more are read at once: enough for a few readers that take turns.
pub(crate) const KEPT_CHUNKS: usize = 4;

/// Reads any part of a file, without decrypting the rest.
///
/// It opens a file with its header and its last chunk. So the [length](Self::len) is authentic, and
/// a file that was cut or extended is an error at once. Every other chunk is verified when
/// something in it is read: a damaged one spoils the reads that touch it, and no others.
///
/// [`read_at`](Self::read_at) takes `&self` and may be called from several threads at once. With
/// [`Read`], [`Seek`] and [`BufRead`], a reader is like [`std::fs::File`]. A
/// [clone](Clone::clone) has a position of its own, for another thread.
///
/// ```
/// use std::io::{Read, Seek, SeekFrom};
/// use palladion_file::{ChunkSize, Encryptor, MasterKey, SeekReader};
///
/// let key = MasterKey::generate()?;
/// let mut file = Vec::new();
/// let text = "A long text, and what we look for.".repeat(1000);
/// Encryptor::new(&key).chunk_size(ChunkSize::MIN).run(text.as_bytes(), &mut file)?;
///
/// let mut reader = SeekReader::new(&key, &file[..])?; // or a `File`
/// assert_eq!(reader.len(), 34_000);
/// let mut place = [0; 12];
/// reader.read_at(&mut place, 17_017)?;
/// assert_eq!(&place, b"what we look");
///
/// let mut end = String::new();
/// reader.seek(SeekFrom::End(-4))?;
/// reader.read_to_string(&mut end)?;
/// assert_eq!(end, "for.");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// A read of less than a chunk reads and decrypts the whole chunk. The last few are kept: the next
/// read there costs no more than a copy. Whole chunks are decrypted straight into the caller's
/// buffer, on all cores where that pays. Write files with a smaller [`ChunkSize`] if you read
/// little at a time from many places.
///
/// A file that another program overwrites in place while it is open gives errors, not wrong data.
pub struct SeekReader<S> {
    shared: Arc<Shared<S>>,
    threads: Option<NonZero<usize>>,
    position: u64,
    /// The chunk in which `fill_buf` read last.
    current: Option<Opened>,
}

struct Shared<S> {
    source: S,
    chunks: ChunkOpener,
    /// Buffers that nobody uses now: those without a chunk first, then those with the chunks that
    /// were read longest ago.
    kept: Mutex<Vec<Opened>>,
}

/// A buffer, and the chunk whose plaintext is in it.
struct Opened {
    chunk: Option<u64>,
    buffer: Buffer,
}

impl<S: ReadAt> SeekReader<S> {
    /// Opens a file. The source must have a size, so it cannot be a pipe.
    ///
    /// # Errors
    ///
    /// Those of [`Decryptor`](crate::Decryptor) for the header, the secret and the end of the file.
    pub fn new<'a>(secret: impl Into<Secret<'a>>, source: S) -> Result<Self, Error> {
        Self::with_limits(secret, &KdfLimits::default(), source)
    }

    /// Like [`new`](Self::new), with limits on what the file may make this machine spend on a
    /// passphrase.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_limits<'a>(
        secret: impl Into<Secret<'a>>,
        limits: &KdfLimits,
        source: S,
    ) -> Result<Self, Error> {
        let (secret, file_len) = (secret.into(), source.size().map_err(Error::Read)?);
        let slots = secret.keyring_for_slots();
        let start_len = slots.map_or(Opening::START_LEN, |_| Head::MIN_LEN + FRAME_LEN);
        let mut start = vec![0; file_len.min(start_len as u64) as usize];
        let len = read_start(&source, &mut start, 0)?;
        let start = &start[..len];
        let with_slots = match slots {
            Some(keyring) => open_at_any_offset(&source, file_len, start, keyring, limits)?,
            None => None,
        };
        let mut opening = match with_slots {
            Some((head, cipher)) => Opening::of_slots(&head, cipher, start, file_len)?,
            None => Opening::new(secret, limits, start, file_len)?,
        };
        let mut buffer = new_buffer(opening.chunk_size(), file_len)?;
        while let Some(range) = opening.wants() {
            let wanted = &mut buffer[..(range.end - range.start) as usize];
            let len = read_start(&source, wanted, range.start)?;
            opening = opening.give(&mut wanted[..len])?;
        }
        let chunks = opening.finish();
        let last = Opened { chunk: Some(chunks.layout().chunks() - 1), buffer };
        let shared = Shared { source, chunks, kept: Mutex::new(vec![last]) };
        Ok(Self { shared: Arc::new(shared), threads: None, position: 0, current: None })
    }

    /// The most threads for one read; by default as many as the machine runs in parallel.
    #[must_use]
    pub fn threads(mut self, threads: NonZero<usize>) -> Self {
        self.threads = Some(threads);
        self
    }

    /// The algorithm of the file.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.shared.chunks.algorithm()
    }

    /// The most plaintext in a chunk.
    #[must_use]
    pub fn chunk_size(&self) -> ChunkSize {
        self.shared.layout().chunk_size()
    }

    /// The length of the plaintext in bytes.
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // as for `std::fs::Metadata`
    pub fn len(&self) -> u64 {
        self.shared.layout().plaintext_len()
    }

    /// The source.
    #[must_use]
    pub fn get_ref(&self) -> &S {
        &self.shared.source
    }

    /// The bytes of the source that [`read_at`](Self::read_at) needs next for a range of the
    /// plaintext: whole chunks, without the first one if it is kept. A source that takes long to
    /// answer can fetch them in one go.
    ///
    /// ```
    /// use palladion_file::{ChunkSize, Encryptor, MasterKey, SeekReader};
    ///
    /// let key = MasterKey::generate()?;
    /// let mut file = Vec::new();
    /// Encryptor::new(&key).chunk_size(ChunkSize::MIN).run(&[b'x'; 5000][..], &mut file)?;
    ///
    /// let reader = SeekReader::new(&key, &file[..])?;
    /// assert_eq!(reader.fetch(1000..2000), 128..128 + 2 * 1060);
    /// reader.read_at(&mut [0; 1000], 1000)?;
    /// assert_eq!(reader.fetch(2000..3000), 128 + 2 * 1060..128 + 3 * 1060);
    /// # Ok::<(), palladion_file::Error>(())
    /// ```
    #[must_use]
    pub fn fetch(&self, plaintext: Range<u64>) -> Range<u64> {
        let mut chunks = self.shared.layout().chunks_of(plaintext.clone());
        let first = self.shared.layout().plaintext(chunks.start);
        // A whole chunk is decrypted into the caller's buffer even if it is kept.
        let is_part = plaintext.start > first.start || plaintext.end < first.end;
        let is_kept = |opened: &Opened| opened.chunk == Some(chunks.start);
        if !chunks.is_empty() && is_part && self.shared.kept().iter().any(is_kept) {
            chunks.start += 1;
        }
        self.shared.layout().sealed(chunks)
    }
}

impl<S: ReadAt + Send + Sync> SeekReader<S> {
    /// Reads from `offset` on, and returns how many bytes there were: fewer than the buffer has
    /// only if the plaintext ends.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`], [`Error::Truncated`] if the file became shorter, [`Error::Read`]; then
    /// the buffer is zeroed.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Error> {
        let rest = usize::try_from(self.len().saturating_sub(offset)).unwrap_or(usize::MAX);
        let len = buffer.len().min(rest);
        let result = self.shared.fill(&mut buffer[..len], offset, self.threads);
        result.inspect_err(|_| buffer.fill(0)).map(|()| len)
    }
}

/// Reads as much as there is, if the file became shorter since it was asked for its size.
fn read_start(source: &impl ReadAt, buffer: &mut [u8], offset: u64) -> Result<usize, Error> {
    match source.read_at(buffer, offset) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
            let there = source.size().map_err(Error::Read)?.saturating_sub(offset);
            let len = there.min(buffer.len() as u64) as usize;
            let rest = &mut buffer[..len];
            if !rest.is_empty() {
                source.read_at(rest, offset).map_err(Error::Read)?;
            }
            Ok(rest.len())
        }
        read => read.map_err(Error::Read).map(|()| buffer.len()),
    }
}

/// The error if the file has only `len` bytes now, and ends before or within these chunks.
pub(crate) fn truncated(layout: &Layout, chunks: Range<u64>, len: u64) -> Error {
    let whole = Layout::full_chunks(layout.chunk_size(), layout.start(), len);
    Error::Truncated { chunk: Some(whole.clamp(chunks.start, chunks.end - 1)), offset: len }
}

/// Memory for as much of the file as is read at a time.
fn new_buffer(size: ChunkSize, file_len: u64) -> Result<Buffer, Error> {
    let file_len = usize::try_from(file_len).unwrap_or(usize::MAX);
    let len = group_len(size).min(file_len - HEADER_LEN);
    chunk::buffer(len).map_err(|error| Error::Read(error.into()))
}

fn group_len(size: ChunkSize) -> usize {
    chunks_in_group(size) * size.buffer_len()
}

fn chunks_in_group(size: ChunkSize) -> usize {
    (GROUP / size.bytes()).max(1)
}

fn len(range: &Range<u64>) -> usize {
    (range.end - range.start) as usize
}

impl<S> Shared<S> {
    fn layout(&self) -> Layout {
        self.chunks.layout()
    }
}

impl<S: ReadAt> Shared<S> {
    /// A buffer with this chunk, or with another one.
    fn take(&self, chunk: Option<u64>) -> Result<Opened, Error> {
        let mut kept = self.kept();
        let is_full = kept.len() >= KEPT_CHUNKS.min(KEPT / group_len(self.layout().chunk_size()));
        let first = kept.first().filter(|opened| is_full || opened.chunk.is_none()).map(|_| 0);
        if let Some(found) = kept.iter().position(|opened| opened.chunk == chunk).or(first) {
            return Ok(kept.remove(found));
        }
        drop(kept);
        let buffer = new_buffer(self.layout().chunk_size(), self.layout().file_len())?;
        Ok(Opened { chunk: None, buffer })
    }

    fn give_back(&self, opened: Opened) {
        let mut kept = self.kept();
        if kept.len() < (KEPT / opened.buffer.len()).max(1) {
            let place = if opened.chunk.is_some() { kept.len() } else { 0 };
            kept.insert(place, opened);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Opened>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads chunks as they are in the file.
    fn read_sealed(&self, chunks: Range<u64>, buffer: &mut [u8]) -> Result<(), Error> {
        let start = self.layout().sealed(chunks.clone()).start;
        self.source.read_at(buffer, start).map_err(|error| match error.kind() {
            // The file is shorter than when it was opened.
            ErrorKind::UnexpectedEof => {
                truncated(&self.layout(), chunks, self.source.size().unwrap_or(start))
            }
            _ => Error::Read(error),
        })
    }

    /// A buffer with the plaintext of this chunk.
    fn open(&self, chunk: u64) -> Result<Opened, Error> {
        let mut opened = self.take(Some(chunk))?;
        if opened.chunk != Some(chunk) {
            opened.chunk = None;
            let sealed = &mut opened.buffer[..len(&self.layout().sealed(chunk..chunk + 1))];
            let read = self.read_sealed(chunk..chunk + 1, sealed);
            if let Err(error) = read.and_then(|()| self.chunks.open(chunk, sealed).map(drop)) {
                self.give_back(opened);
                return Err(error);
            }
            opened.chunk = Some(chunk);
        }
        Ok(opened)
    }

    /// Decrypts a group of whole chunks into `text`.
    fn open_group(&self, chunks: Range<u64>, text: &mut [u8]) -> Result<(), Error> {
        let mut opened = self.take(None)?;
        opened.chunk = None;
        let sealed = &mut opened.buffer[..len(&self.layout().sealed(chunks.clone()))];
        let read = self.read_sealed(chunks.clone(), sealed);
        let result = read.and_then(|()| {
            let size = self.layout().chunk_size();
            let each = sealed.chunks(size.buffer_len()).zip(text.chunks_mut(size.bytes()));
            chunks
                .zip(each)
                .try_for_each(|(chunk, (sealed, text))| self.chunks.open_into(chunk, sealed, text))
        });
        self.give_back(opened);
        result
    }
}

impl<S: ReadAt + Send + Sync> Shared<S> {
    /// Fills a buffer that does not reach past the end of the plaintext.
    fn fill(
        &self,
        mut buffer: &mut [u8],
        mut offset: u64,
        threads: Option<NonZero<usize>>,
    ) -> Result<(), Error> {
        while !buffer.is_empty() {
            let mut chunks = self.layout().chunks_of(offset..offset + buffer.len() as u64);
            let first = self.layout().plaintext(chunks.start);
            let filled = if offset == first.start && len(&first) <= buffer.len() {
                if self.layout().plaintext(chunks.end - 1).end > offset + buffer.len() as u64 {
                    chunks.end -= 1; // not whole
                }
                let filled = (self.layout().plaintext(chunks.end - 1).end - offset) as usize;
                self.open_all(chunks, &mut buffer[..filled], threads)?;
                filled
            } else {
                let filled = buffer.len().min((first.end - offset) as usize);
                let opened = self.open(chunks.start)?;
                let place = FRAME_LEN + (offset - first.start) as usize;
                buffer[..filled].copy_from_slice(&opened.buffer[place..][..filled]);
                self.give_back(opened);
                filled
            };
            buffer = &mut buffer[filled..];
            offset += filled as u64;
        }
        Ok(())
    }

    /// Decrypts whole chunks into `text`, in groups, several at a time if that pays. Returns the
    /// error of the first group that failed.
    fn open_all(
        &self,
        chunks: Range<u64>,
        text: &mut [u8],
        threads: Option<NonZero<usize>>,
    ) -> Result<(), Error> {
        let size = self.layout().chunk_size();
        let in_group = chunks_in_group(size);
        let count = text.len().div_ceil(in_group * size.bytes());
        let texts = text.chunks_mut(in_group * size.bytes());
        let mut groups = chunks
            .clone()
            .step_by(in_group)
            .zip(texts)
            .map(|(first, text)| (first..chunks.end.min(first + in_group as u64), text));
        if count == 1 || count * in_group * size.bytes() < WORTHWHILE {
            return groups.try_for_each(|(chunks, text)| self.open_group(chunks, text));
        }
        let workers = engine::workers(threads, in_group * size.buffer_len()).min(count);
        let (groups, failed) = (Mutex::new(groups), AtomicBool::new(false));
        let first_error: Mutex<Option<(u64, Error)>> = Mutex::new(None);
        let work = || {
            while !failed.load(Ordering::Relaxed) {
                // Groups are taken in order, so all before one that fails are read too.
                let next = groups.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((chunks, text)) = next else { break };
                let number = chunks.start;
                if let Err(error) = self.open_group(chunks, text) {
                    failed.store(true, Ordering::Relaxed);
                    let mut first = first_error.lock().unwrap_or_else(PoisonError::into_inner);
                    if first.as_ref().is_none_or(|(earlier, _)| number < *earlier) {
                        *first = Some((number, error));
                    }
                }
            }
        };
        let panics = Panics::default();
        thread::scope(|scope| {
            for _ in 1..workers {
                // If there is no thread, the others do the work.
                let _ = thread::Builder::new().spawn_scoped(scope, || panics.catch(work));
            }
            work();
        });
        panics.resume();
        let first_error = first_error.into_inner().unwrap_or_else(PoisonError::into_inner);
        first_error.map_or(Ok(()), |(_, error)| Err(error))
    }
}

impl<S: ReadAt + Send + Sync> SeekReader<S> {
    /// Keeps the chunk of `fill_buf` for other reads.
    fn release(&mut self) {
        if let Some(opened) = self.current.take() {
            self.shared.give_back(opened);
        }
    }
}

impl<S: ReadAt + Send + Sync> Read for SeekReader<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = if buffer.len() < self.chunk_size().bytes() {
            let text = self.fill_buf()?;
            let read = text.len().min(buffer.len());
            buffer[..read].copy_from_slice(&text[..read]);
            read
        } else {
            self.release();
            self.read_at(buffer, self.position)?
        };
        self.position += read as u64;
        Ok(read)
    }

    fn read_to_end(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        self.release();
        let rest = self.len().saturating_sub(self.position);
        let (before, rest) = (bytes.len(), usize::try_from(rest).unwrap_or(usize::MAX));
        bytes.try_reserve(rest)?;
        bytes.resize(before + rest, 0);
        match self.read_at(&mut bytes[before..], self.position) {
            Ok(read) => self.position += read as u64,
            Err(error) => {
                bytes.truncate(before);
                return Err(error.into());
            }
        }
        Ok(rest)
    }
}

impl<S: ReadAt + Send + Sync> BufRead for SeekReader<S> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.position >= self.len() {
            return Ok(&[]);
        }
        let chunk = self.position / self.chunk_size().bytes() as u64;
        if self.current.as_ref().is_none_or(|opened| opened.chunk != Some(chunk)) {
            self.release();
            self.current = Some(self.shared.open(chunk)?);
        }
        let text = self.shared.layout().plaintext(chunk);
        let place = (self.position - text.start) as usize..len(&text);
        let opened = self.current.as_ref().expect("just opened");
        Ok(&opened.buffer[FRAME_LEN..][place])
    }

    fn consume(&mut self, bytes: usize) {
        self.position += bytes as u64;
    }
}

/// Like a file, it can be placed past its end, where there is nothing to read.
impl<S> Seek for SeekReader<S> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = moved(self.position, self.shared.layout().plaintext_len(), to)?;
        Ok(self.position)
    }
}

/// The new position in a plaintext of `len` bytes.
pub(crate) fn moved(position: u64, len: u64, to: SeekFrom) -> io::Result<u64> {
    let moved = match to {
        SeekFrom::Start(position) => Some(position),
        SeekFrom::Current(by) => position.checked_add_signed(by),
        SeekFrom::End(by) => len.checked_add_signed(by),
    };
    moved.ok_or_else(|| {
        let text = "the position is before the start of the file, or too far after it";
        io::Error::new(ErrorKind::InvalidInput, text)
    })
}

impl<S> Clone for SeekReader<S> {
    fn clone(&self) -> Self {
        let shared = self.shared.clone();
        Self { shared, threads: self.threads, position: self.position, current: None }
    }
}

impl<S> fmt::Debug for SeekReader<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeekReader")
            .field("chunks", &self.shared.chunks)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}
