//! Encrypts whole inputs.

use std::fmt;
use std::io::{Read, Write};
use std::num::NonZero;
use std::sync::atomic::AtomicBool;

use palladion::Algorithm;
use zeroize::Zeroizing;

use crate::chunk::{ChunkSize, OVERHEAD, PlainChunks};
use crate::engine;
use crate::error::Error;
use crate::io::read_full;
use crate::kdf::KdfParams;
use crate::secret::Secret;
use crate::slots::head::NewSlots;
use crate::start::{For, NewStart};
use crate::summary::{Spare, Summary};

/// An input shorter than this and than a chunk gets a buffer of its own size, and no other threads.
const SHORT: usize = 32 * 1024;

/// Encrypts everything from a reader to a writer, on several threads, in bounded memory.
///
/// ```
/// use palladion_file::{Algorithm, ChunkSize, Encryptor, MasterKey};
///
/// let key = MasterKey::generate()?;
/// let mut file = Vec::new();
/// let summary = Encryptor::new(&key)
///     .algorithm(Algorithm::Aegis256X4)
///     .chunk_size(ChunkSize::new(64 * 1024).unwrap())
///     .on_progress(|bytes| eprintln!("{bytes} bytes encrypted"))
///     .run(&[7; 100_000][..], &mut file)?;
/// assert_eq!((summary.bytes, summary.chunks), (100_000, 2));
/// assert_eq!(file.len(), 128 + 100_000 + 2 * 36);
/// # Ok::<(), palladion_file::Error>(())
/// ```
///
/// It uses one chunk of memory for each thread, and limits the threads so that this is at most 32
/// MiB. An input shorter than 32 KiB and than a chunk takes less than 100 KiB and no other thread.
/// A chunk is written once the next byte of the input arrives or the input ends. After an error,
/// `run` returns once the read in progress returns.
pub struct Encryptor<'a> {
    to: For<'a>,
    algorithm: Algorithm,
    chunk_size: ChunkSize,
    kdf: KdfParams,
    options: engine::Options<'a>,
    progress: Box<dyn FnMut(u64) + Send + 'a>,
}

impl<'a> Encryptor<'a> {
    /// Encrypts with a `&MasterKey` or a `&Passphrase`, with AEGIS-256X2 and chunks of 1 MiB unless
    /// told otherwise.
    pub fn new(secret: impl Into<Secret<'a>>) -> Self {
        Self::to(For::Secret(secret.into()))
    }

    /// Encrypts a file that several secrets can open: one for each of these slots. The file is
    /// 8 KiB larger than others, or more with many slots. Read first what [`slots`](crate::slots)
    /// says of such files. The cost of a passphrase is that of its slot.
    ///
    /// ```
    /// use palladion_file::slots::NewSlot;
    /// use palladion_file::{Decryptor, Encryptor, Error, Keyring, MasterKey, Spare};
    ///
    /// let (mine, yours) = (MasterKey::generate()?, MasterKey::generate()?);
    /// let slots = [NewSlot::Key(&mine), NewSlot::Key(&yours)];
    /// let mut file = Vec::new();
    /// Encryptor::with_slots(&slots).run(&b"for us"[..], &mut file)?;
    ///
    /// let (keyring, mut out) = (Keyring::default().key(yours).open_slots(), Vec::new());
    /// let summary = Decryptor::new(&keyring).run(&file[..], &mut out)?;
    /// assert_eq!(out, b"for us");
    /// assert_eq!(summary.spare, Some(Spare::Same));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn with_slots(slots: impl Into<NewSlots<'a>>) -> Self {
        Self::to(For::Slots(slots.into()))
    }

    fn to(to: For<'a>) -> Self {
        Self {
            to,
            algorithm: Algorithm::default(),
            chunk_size: ChunkSize::default(),
            kdf: KdfParams::default(),
            options: engine::Options::default(),
            progress: Box::new(|_| {}),
        }
    }

    /// Sets the algorithm.
    pub fn algorithm(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// Sets the chunk size.
    pub fn chunk_size(mut self, chunk_size: ChunkSize) -> Self {
        self.chunk_size = chunk_size;
        self
    }

    /// Sets the cost of a passphrase; no effect on a master key. Readers refuse a file that costs
    /// more than [`KdfLimits::default`](crate::KdfLimits) allows, unless they are told to allow it.
    pub fn kdf(mut self, kdf: KdfParams) -> Self {
        self.kdf = kdf;
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

    /// Encrypts the whole input. The data written before an error is not a complete file, and every
    /// [`Decryptor`] rejects it.
    ///
    /// [`Decryptor`]: crate::Decryptor
    pub fn run(
        mut self,
        mut input: impl Read + Send,
        mut output: impl Write + Send,
    ) -> Result<Summary, Error> {
        let start = NewStart::create(self.to, self.algorithm, self.chunk_size, self.kdf)?;
        let NewStart { bytes: head, cipher, has_spare } = start;
        output.write_all(&head).map_err(Error::Write)?;

        self.options.check()?;
        let mut start = Zeroizing::new(vec![0; SHORT.min(self.chunk_size.bytes())]);
        let len = read_full(&mut input, &mut start)?;
        let (mut buffer_len, mut more) = (self.chunk_size.buffer_len(), u64::MAX);
        if len < start.len() {
            buffer_len = len + OVERHEAD;
            more = 0; // a terminal, read again after its end, would wait for another
            self.options.threads = Some(NonZero::<usize>::MIN);
        }

        let mut chunks = PlainChunks::new(start[..len].chain(input.take(more)), self.chunk_size);
        let mut summary = Summary::new(self.algorithm);
        engine::run(
            buffer_len,
            self.options,
            |buffer| chunks.read(buffer),
            |chunk| chunk.last,
            |chunk, buffer| chunk.seal(&cipher, buffer),
            |sealed| {
                output.write_all(sealed).map_err(Error::Write)?;
                summary.add((sealed.len() - OVERHEAD) as u64);
                (self.progress)(summary.bytes);
                Ok(())
            },
        )?;
        if has_spare {
            output.write_all(&head).map_err(Error::Write)?;
            summary.spare = Some(Spare::Same);
        }
        output.flush().map_err(Error::Write)?;
        Ok(summary)
    }
}

impl fmt::Debug for Encryptor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encryptor")
            .field("algorithm", &self.algorithm)
            .field("chunk_size", &self.chunk_size)
            .finish_non_exhaustive()
    }
}
