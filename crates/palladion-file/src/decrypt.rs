//! Decrypts whole files.

use std::fmt;
use std::io::{self, Read, Write};
use std::num::NonZero;
use std::sync::atomic::AtomicBool;

use crate::chunk::{Chunk, FRAME_LEN, SealedChunks};
use crate::error::Error;
use crate::io::read_full;
use crate::kdf::KdfLimits;
use crate::salvage::Salvaged;
use crate::secret::Secret;
use crate::start::Start;
use crate::summary::Summary;
use crate::{engine, salvage};

/// Decrypts a file from a reader to a writer, on several threads, in bounded memory.
///
/// Every chunk is verified before any of it is written, and chunks are written in order. Whatever
/// error ends a run, the data written before it is a true prefix of the plaintext, with any number
/// of threads. Only `Ok` means that it is complete. After an error, `run` returns once the read in
/// progress returns.
///
/// ```
/// use palladion_file::{Decryptor, Encryptor, Error, MasterKey};
///
/// let key = MasterKey::generate()?;
/// let mut file = Vec::new();
/// Encryptor::new(&key).run(&b"meet at noon"[..], &mut file)?;
///
/// let cut = Decryptor::new(&key).run(&file[..file.len() - 1], Vec::new());
/// assert!(matches!(cut, Err(Error::Truncated { .. })));
///
/// let other_key = MasterKey::generate()?;
/// let locked = Decryptor::new(&other_key).run(&file[..], Vec::new());
/// assert!(matches!(locked, Err(Error::WrongKey)));
///
/// file[140] ^= 1;
/// let damaged = Decryptor::new(&key).run(&file[..], Vec::new());
/// assert!(matches!(damaged, Err(Error::Damaged { chunk: 0, offset: 128 })));
/// # Ok::<(), Error>(())
/// ```
pub struct Decryptor<'a> {
    secret: Secret<'a>,
    limits: KdfLimits,
    options: engine::Options<'a>,
    progress: Box<dyn FnMut(u64) + Send + 'a>,
}

impl<'a> Decryptor<'a> {
    /// Decrypts with a `&MasterKey` or a `&Passphrase`.
    pub fn new(secret: impl Into<Secret<'a>>) -> Self {
        Self {
            secret: secret.into(),
            limits: KdfLimits::default(),
            options: engine::Options::default(),
            progress: Box::new(|_| {}),
        }
    }

    /// Limits on what a file may make this machine spend on a passphrase.
    pub fn kdf_limits(mut self, limits: KdfLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The most threads to use; by default as many as the machine runs in parallel.
    pub fn threads(mut self, threads: NonZero<usize>) -> Self {
        self.options.threads = Some(threads);
        self
    }

    /// Sets a flag that stops the run with [`Error::Cancelled`] at the next chunk once it is true.
    pub fn cancel(mut self, flag: &'a AtomicBool) -> Self {
        self.options.cancel = Some(flag);
        self
    }

    /// Sets a function to call after each chunk with the number of plaintext bytes done.
    pub fn on_progress(mut self, progress: impl FnMut(u64) + Send + 'a) -> Self {
        self.progress = Box::new(progress);
        self
    }

    /// Decrypts the whole file.
    pub fn run(
        mut self,
        mut input: impl Read + Send,
        mut output: impl Write + Send,
    ) -> Result<Summary, Error> {
        let start = Start::read(&mut input, self.secret, &self.limits)?;
        let (size, place) = (start.chunk_size, start.first_chunk());
        let Start { cipher, algorithm, end, .. } = start;

        self.options.check()?;
        let mut frame = [0; FRAME_LEN];
        let len = read_full(&mut input, &mut frame)?;
        let buffer_len = match Chunk::from_frame(frame, 0, size) {
            // A single chunk needs neither a larger buffer nor other threads.
            Some(chunk) if chunk.last => {
                self.options.threads = Some(NonZero::<usize>::MIN);
                chunk.sealed_len()
            }
            _ => size.buffer_len(),
        };

        let mut chunks = SealedChunks::new(frame[..len].chain(input), place);
        let mut spare = None;
        let mut summary = Summary::new(algorithm);
        engine::run(
            buffer_len,
            self.options,
            |buffer| {
                if !chunks.last_seen() {
                    return chunks.read(buffer).map(Some);
                }
                let (rest, offset) = chunks.rest(end.len())?;
                spare = end.judge(&rest, offset)?;
                Ok(None)
            },
            |_| false, // read on after the last chunk: nothing may follow it but a spare
            |(chunk, offset), buffer| chunk.open(&cipher, offset, buffer),
            |text| {
                output.write_all(text).map_err(Error::Write)?;
                summary.add(text.len() as u64);
                (self.progress)(summary.bytes);
                Ok(())
            },
        )?;
        output.flush().map_err(Error::Write)?;
        Ok(Summary { spare, ..summary })
    }
}

impl Decryptor<'_> {
    /// Decrypts what is intact of a damaged or truncated file, on this thread. Calls `write` with
    /// each intact piece of plaintext and its offset, in ascending order.
    ///
    /// Each piece is authentic and in its place. Nothing is known about the rest: someone who can
    /// write to the file can choose what is missing. So use this only when there is no backup.
    ///
    /// Where bytes were inserted or removed, it searches for the next intact chunk, and tries
    /// numbers for it. If up to 2000 chunks of 1 MiB are missing in a row (16,000 of 128 KiB or
    /// less), it finds every intact chunk after them. The search is bounded: it begins with 8192
    /// tries (65,536 with chunks of 128 KiB or less), one place takes at most half of those that
    /// are left, and each chunk that is read adds 8. So after a greater loss, or after much damage
    /// shortly before, further chunks may be lost until it finds one. Together, the tries take a
    /// few seconds on most machines.
    ///
    /// Because the output is in ascending order, copies of chunks are skipped, and if two parts of
    /// the file were exchanged, one of them is lost. Several copies of later chunks in a row count
    /// as such a part.
    ///
    /// One damaged byte of the header does not matter. With more, nothing can be salvaged. In the
    /// head of a file with [key slots](crate::slots), one slot that opens is enough, whatever else
    /// is damaged: its key is compared with the header's commitment. If there is none, the copy at
    /// the end of the file may have one. [`read_damaged`](crate::slots::Copies::read_damaged) reads
    /// it, and the input can begin with its bytes, in place of those of the head. If the two copies
    /// are of different files, salvage with each of them, and keep what has more.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run), but for damage after the header.
    ///
    /// ```
    /// use palladion_file::{ChunkSize, Decryptor, Encryptor, MasterKey};
    ///
    /// let key = MasterKey::generate()?;
    /// let mut file = Vec::new();
    /// Encryptor::new(&key).chunk_size(ChunkSize::MIN).run(&[b'x'; 3000][..], &mut file)?;
    /// file[1500] ^= 1; // in the second chunk
    ///
    /// let mut text = vec![0; 3000];
    /// let found = Decryptor::new(&key).salvage(&file[..], |offset, piece| {
    ///     text[offset as usize..][..piece.len()].copy_from_slice(piece);
    ///     Ok(())
    /// })?;
    /// assert_eq!(found.missing, [1024..2048]);
    /// assert!(found.has_end && !found.is_complete());
    /// assert_eq!((text[1023], text[1024], text[2048]), (b'x', 0, b'x'));
    /// # Ok::<(), palladion_file::Error>(())
    /// ```
    pub fn salvage(
        mut self,
        mut input: impl Read,
        mut write: impl FnMut(u64, &[u8]) -> io::Result<()>,
    ) -> Result<Salvaged, Error> {
        let (start, rest) = salvage::start(&mut input, self.secret, &self.limits)?;
        let check = &mut || self.options.check();
        salvage::run(start, &mut rest.chain(input), check, &mut write, &mut self.progress)
    }
}

impl fmt::Debug for Decryptor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decryptor").field("limits", &self.limits).finish_non_exhaustive()
    }
}
