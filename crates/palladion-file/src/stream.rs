//! [`Write`] and [`Read`] adapters, for code that writes or reads piece by piece. They work on the
//! caller's thread.

use std::fmt;
use std::io::{self, Read, Write};
use std::ops::Range;

use palladion::{Algorithm, Buffer};

use crate::chunk::{Chunk, ChunkSize, FRAME_LEN, SealedChunks};
use crate::cipher::Cipher;
use crate::error::Error;
use crate::header::Header;
use crate::kdf::{KdfLimits, KdfParams};
use crate::secret::Secret;

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
    cipher: Cipher,
    chunk_size: ChunkSize,
    buffer: Buffer,
    len: usize,
    counter: u64,
    /// The unwritten part of a sealed chunk in the buffer.
    unwritten: Range<usize>,
    /// Whether a call failed or panicked, so that bytes may be missing.
    failed: bool,
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
        mut output: W,
    ) -> Result<Self, Error> {
        let buffer = chunk_size.buffer().map_err(|error| Error::Write(error.into()))?;
        let (header, cipher) = Header::create(secret.into(), algorithm, chunk_size, kdf)?;
        output.write_all(&header).map_err(Error::Write)?;
        Ok(Self {
            output,
            cipher,
            chunk_size,
            buffer,
            len: 0,
            counter: 0,
            unwritten: 0..0,
            failed: false,
        })
    }

    /// Writes the last chunk, flushes, and returns the writer. Fails if a [`write`](Write::write)
    /// or [`flush`](Write::flush) failed, unless that could be repeated and was until it succeeded.
    pub fn finish(mut self) -> Result<W, Error> {
        self.unless_failed(Self::drain).map_err(Error::Write)?;
        // A full chunk was sealed as not the last, but no more bytes came.
        if self.len == 0 && self.counter > 0 {
            return Err(Error::Write(io::Error::other(
                "an earlier write failed and was not repeated",
            )));
        }
        self.seal(true)?;
        self.drain().map_err(Error::Write)?;
        self.output.flush().map_err(Error::Write)?;
        Ok(self.output)
    }

    /// Does a part of the work, unless an earlier one failed: its bytes are missing, so nothing may
    /// follow them.
    fn unless_failed<T>(&mut self, work: impl FnOnce(&mut Self) -> io::Result<T>) -> io::Result<T> {
        if self.failed {
            return Err(io::Error::other("an earlier write failed, so the file has no valid end"));
        }
        // A panic leaves it set.
        self.failed = true;
        let done = work(self);
        self.failed = done.as_ref().is_err_and(|error| {
            !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
        });
        done
    }

    fn seal(&mut self, last: bool) -> Result<(), Error> {
        let chunk = Chunk { counter: self.counter, len: self.len, last };
        self.unwritten = 0..chunk.seal(&self.cipher, &mut self.buffer)?.len();
        self.counter += 1;
        self.len = 0;
        Ok(())
    }

    /// Writes the rest of a sealed chunk. After an error, the next call continues.
    fn drain(&mut self) -> io::Result<()> {
        while !self.unwritten.is_empty() {
            match self.output.write(&self.buffer[self.unwritten.clone()]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => self.unwritten.start += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl<W: Write> Write for EncryptWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unless_failed(|writer| {
            if bytes.is_empty() {
                return Ok(0);
            }
            // A full chunk waits until there is more: it might be the last.
            if writer.len == writer.chunk_size.bytes() {
                writer.seal(false)?;
            }
            writer.drain()?;
            let taken = bytes.len().min(writer.chunk_size.bytes() - writer.len);
            writer.buffer[FRAME_LEN + writer.len..][..taken].copy_from_slice(&bytes[..taken]);
            writer.len += taken;
            Ok(taken)
        })
    }

    /// Flushes the inner writer. A chunk that is not full stays here: writing it early would end
    /// the file.
    fn flush(&mut self) -> io::Result<()> {
        self.unless_failed(|writer| {
            writer.drain()?;
            writer.output.flush()
        })
    }
}

impl<W> fmt::Debug for EncryptWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncryptWriter").field("chunks", &self.counter).finish_non_exhaustive()
    }
}

/// Decrypts a file while it is read.
///
/// It returns only verified bytes, and `Ok(0)` only after the last chunk, if nothing follows it. If
/// you stop earlier, you do not know whether the file is complete. Errors are [`Error`]s inside
/// [`io::Error`]s. After one, every further read fails too.
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
    chunks: SealedChunks<R>,
    cipher: Cipher,
    algorithm: Algorithm,
    buffer: Buffer,
    unread: Range<usize>,
    state: State,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Open,
    Ended,
    Failed,
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
        let header = Header::read(&mut input)?;
        Ok(Self {
            cipher: header.open(secret.into(), limits)?,
            chunks: SealedChunks::new(input, header.first_chunk()),
            algorithm: header.algorithm,
            buffer: header.chunk_size.buffer().map_err(|error| Error::Read(error.into()))?,
            unread: 0..0,
            state: State::Open,
        })
    }

    fn next_chunk(&mut self) -> Result<(), Error> {
        // Interrupted reads are retried below, so an error here is final: part of a chunk may be
        // gone.
        self.state = State::Failed;
        match self.chunks.read(&mut self.buffer)? {
            Some((chunk, offset)) => {
                let len = chunk.open(&self.cipher, offset, &mut self.buffer)?.len();
                self.unread = FRAME_LEN..FRAME_LEN + len;
                self.state = State::Open;
            }
            None => self.state = State::Ended,
        }
        Ok(())
    }
}

impl<R: Read> Read for DecryptReader<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        // The chunk of an empty file is empty, so look again.
        while self.unread.is_empty() && !bytes.is_empty() {
            match self.state {
                State::Open => self.next_chunk()?,
                State::Ended => return Ok(0),
                State::Failed => {
                    return Err(io::Error::other("an earlier read of this file failed"));
                }
            }
        }
        let taken = bytes.len().min(self.unread.len());
        bytes[..taken].copy_from_slice(&self.buffer[self.unread.start..][..taken]);
        self.unread.start += taken;
        Ok(taken)
    }
}

impl<R> fmt::Debug for DecryptReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecryptReader")
            .field("algorithm", &self.algorithm)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
