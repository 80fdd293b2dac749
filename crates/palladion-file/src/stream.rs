//! [`Write`] and [`Read`] adapters, for code that writes or reads piece by piece. They work on the
//! caller's thread.

use std::fmt;
use std::io::{self, BufRead, Read, Write};
use std::task::Poll;

use palladion::Algorithm;

use crate::chunk::ChunkSize;
use crate::decoder::Decoder;
use crate::encoder::Encoder;
use crate::error::Error;
use crate::io::read_some;
use crate::kdf::{KdfLimits, KdfParams};
use crate::secret::Secret;
use crate::slots::NewSlots;
use crate::summary::Spare;

/// Encrypts what is written to it into another writer.
///
/// Call [`finish`](Self::finish) at the end: without it the last chunk is missing, and the file
/// counts as truncated. This is deliberate: the output of a program that failed must not pass for a
/// complete file. For the same reason an error is final: every later call fails too. The exceptions
/// are [`WouldBlock`](io::ErrorKind::WouldBlock) and [`Interrupted`](io::ErrorKind::Interrupted),
/// after which the same call of `write` or `flush` can be repeated. `new`, `with` and `finish` take
/// the other writer and cannot be repeated: if one of them fails, for whatever reason, begin the
/// file again. For a writer that does not block, use [`sans_io`](crate::sans_io), or `tokio`.
///
/// ```
/// use std::io::{Read, Write};
/// use palladion_file::{DecryptReader, EncryptWriter, MasterKey};
///
/// let key = MasterKey::generate()?;
/// let mut writer = EncryptWriter::new(&key, Vec::new())?;
/// writeln!(writer, "one line")?;
/// writeln!(writer, "another line")?;
/// let file = writer.finish()?;
///
/// let mut text = String::new();
/// DecryptReader::new(&key, &file[..])?.read_to_string(&mut text)?;
/// assert_eq!(text, "one line\nanother line\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct EncryptWriter<W> {
    output: W,
    encoder: Encoder,
}

impl<W: Write> EncryptWriter<W> {
    /// Writes the header of a file with the default algorithm and chunk size.
    pub fn new<'a>(secret: impl Into<Secret<'a>>, output: W) -> Result<Self, Error> {
        Self::with(secret, Algorithm::default(), ChunkSize::default(), KdfParams::default(), output)
    }

    /// Writes the header of a file of this kind.
    pub fn with<'a>(
        secret: impl Into<Secret<'a>>,
        algorithm: Algorithm,
        chunk_size: ChunkSize,
        kdf: KdfParams,
        output: W,
    ) -> Result<Self, Error> {
        Self::begin(Encoder::new(secret, algorithm, chunk_size, kdf)?, output)
    }

    /// Writes the head of a file with [key slots](crate::slots), which several secrets can open:
    /// one for each slot.
    ///
    /// ```
    /// use std::io::{Read, Write};
    /// use palladion_file::slots::NewSlot;
    /// use palladion_file::{Algorithm, ChunkSize, MasterKey, Spare};
    /// use palladion_file::{DecryptReader, EncryptWriter, Keyring};
    ///
    /// let (mine, yours) = (MasterKey::generate()?, MasterKey::generate()?);
    /// let slots = [NewSlot::Key(&mine), NewSlot::Key(&yours)];
    /// let (algorithm, size) = (Algorithm::default(), ChunkSize::default());
    /// let mut writer = EncryptWriter::with_slots(&slots, algorithm, size, Vec::new())?;
    /// writer.write_all(b"for us")?;
    /// let file = writer.finish()?;
    ///
    /// let (keyring, mut text) = (Keyring::default().key(yours).open_slots(), String::new());
    /// let mut reader = DecryptReader::new(&keyring, &file[..])?;
    /// reader.read_to_string(&mut text)?;
    /// assert_eq!((&text[..], reader.spare()), ("for us", Some(Spare::Same)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_slots<'a>(
        slots: impl Into<NewSlots<'a>>,
        algorithm: Algorithm,
        chunk_size: ChunkSize,
        output: W,
    ) -> Result<Self, Error> {
        Self::begin(Encoder::with_slots(slots, algorithm, chunk_size)?, output)
    }

    fn begin(encoder: Encoder, output: W) -> Result<Self, Error> {
        let mut writer = Self { output, encoder };
        writer.drain().map_err(Error::Write)?;
        Ok(writer)
    }

    /// Writes the last chunk, flushes, and returns the writer. Fails if a [`write`](Write::write)
    /// or [`flush`](Write::flush) failed, unless that could be repeated and was until it succeeded.
    pub fn finish(mut self) -> Result<W, Error> {
        self.drain().map_err(Error::Write)?;
        self.encoder.end()?;
        self.flush().map_err(Error::Write)?;
        Ok(self.output)
    }

    /// The writer below.
    #[must_use]
    pub fn get_ref(&self) -> &W {
        &self.output
    }

    /// Writes all that is ready.
    fn drain(&mut self) -> io::Result<()> {
        let Self { output, encoder } = self;
        while encoder.ready_len() > 0 {
            at_once(encoder.poll_write(|bytes| Poll::Ready(output.write(bytes))))?;
        }
        Ok(())
    }
}

impl<W: Write> Write for EncryptWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.encoder.push(bytes)?;
        if taken > 0 || bytes.is_empty() {
            return Ok(taken);
        }
        self.drain()?;
        Ok(self.encoder.push(bytes)?)
    }

    /// Flushes the inner writer. A chunk that is not full stays here: writing it early would end
    /// the file.
    fn flush(&mut self) -> io::Result<()> {
        self.drain()?;
        at_once(self.encoder.poll_flush(|| Poll::Ready(self.output.flush())))
    }
}

/// The result of a writer that does not wait.
fn at_once<T>(result: Poll<io::Result<T>>) -> io::Result<T> {
    match result {
        Poll::Ready(result) => result,
        Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
    }
}

impl<W> fmt::Debug for EncryptWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncryptWriter").field("encoder", &self.encoder).finish_non_exhaustive()
    }
}

/// Decrypts a file while it is read.
///
/// It returns only verified bytes, and `Ok(0)` only after the last chunk, if nothing follows it. If
/// you stop earlier, you do not know whether the file is complete. An error of the file is an
/// [`Error`] inside an [`io::Error`], and every further read fails too. After one of the reader
/// below, such as [`WouldBlock`](io::ErrorKind::WouldBlock), the next read goes on where this one
/// stopped.
///
/// ```
/// use std::io::Read;
/// use palladion_file::{DecryptReader, Encryptor, Error, MasterKey};
///
/// let key = MasterKey::generate()?;
/// let mut file = Vec::new();
/// Encryptor::new(&key).run(&b"text"[..], &mut file)?;
/// file.push(0);
///
/// let error = DecryptReader::new(&key, &file[..])?.read_to_end(&mut Vec::new()).unwrap_err();
/// let error = error.downcast::<Error>().unwrap();
/// assert!(matches!(error, Error::TrailingData { .. }));
/// # Ok::<(), Error>(())
/// ```
pub struct DecryptReader<R> {
    input: R,
    decoder: Decoder,
}

impl<R: Read> DecryptReader<R> {
    /// Reads the header of a file and checks the secret.
    pub fn new<'a>(secret: impl Into<Secret<'a>>, input: R) -> Result<Self, Error> {
        Self::with_limits(secret, &KdfLimits::default(), input)
    }

    /// Like [`new`](Self::new), with limits on what the file may make this machine spend on a
    /// passphrase.
    pub fn with_limits<'a>(
        secret: impl Into<Secret<'a>>,
        limits: &KdfLimits,
        mut input: R,
    ) -> Result<Self, Error> {
        let mut decoder = Decoder::new(secret, *limits)?;
        loop {
            decoder.text()?;
            if decoder.algorithm().is_some() {
                return Ok(Self { input, decoder });
            }
            let read = read_some(&mut input, decoder.room()).map_err(Error::Read)?;
            decoder.filled(read);
        }
    }
}

impl<R> DecryptReader<R> {
    /// The algorithm of the file.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.decoder.algorithm().expect("the header was read")
    }

    /// The spare of a file with [key slots](crate::slots), once a read returned `Ok(0)`; `None` for
    /// other files. Warn if it is not [the same](Spare::Same).
    pub fn spare(&self) -> Option<Spare> {
        self.decoder.spare()
    }
}

impl<R: Read> Read for DecryptReader<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let text = self.fill_buf()?;
        let taken = bytes.len().min(text.len());
        bytes[..taken].copy_from_slice(&text[..taken]);
        self.consume(taken);
        Ok(taken)
    }
}

/// The buffer has the rest of a chunk.
impl<R: Read> BufRead for DecryptReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.decoder.text()?.is_empty() && !self.decoder.is_complete() {
            let read = read_some(&mut self.input, self.decoder.room())?;
            self.decoder.filled(read);
        }
        Ok(self.decoder.text()?)
    }

    fn consume(&mut self, bytes: usize) {
        self.decoder.consume(bytes);
    }
}

impl<R> fmt::Debug for DecryptReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecryptReader").field("decoder", &self.decoder).finish_non_exhaustive()
    }
}
