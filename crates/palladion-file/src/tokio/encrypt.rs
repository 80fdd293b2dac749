//! Encrypts what is written.

use std::fmt;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use ::tokio::io::AsyncWrite;
use palladion::{Algorithm, Buffer};

use super::{Work, elsewhere, owned};
use crate::chunk::{Chunk, ChunkSize, FRAME_LEN};
use crate::cipher::Cipher;
use crate::error::Error;
use crate::header::Header;
use crate::kdf::KdfParams;
use crate::secret::Secret;

/// Encrypts what is written to it into another asynchronous writer.
///
/// `shutdown` writes the last chunk and shuts the other writer down. Without it the last chunk is
/// missing, and the file counts as truncated, so a writer that is dropped never leaves what looks
/// like a complete file. For the same reason an error is final. A write that is cancelled before it
/// is ready wrote nothing.
///
/// `flush` keeps a chunk that is not full: writing it early would end the file. It uses memory for
/// two chunks.
pub struct EncryptWriter<W> {
    output: W,
    cipher: Arc<Cipher>,
    size: ChunkSize,
    /// The next chunk: its plaintext so far, after the place of the frame.
    buffer: Buffer,
    len: usize,
    counter: u64,
    sealed: Sealed,
    state: State,
}

/// The buffer of the chunk before.
enum Sealed {
    /// It is being sealed.
    Working(Work<(Buffer, Result<usize, Error>)>),
    /// This part of it is not yet written.
    Unwritten(Buffer, Range<usize>),
    /// Its memory is lost with the thread that worked on it.
    Lost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// The last chunk is sealed.
    Ended,
    Failed,
}

impl<W: AsyncWrite + Unpin> EncryptWriter<W> {
    /// Begins a file with the default algorithm and chunk size.
    ///
    /// # Errors
    ///
    /// As [`with`](Self::with).
    pub async fn new<'a>(secret: impl Into<Secret<'a>>, output: W) -> Result<Self, Error> {
        let (algorithm, size) = (Algorithm::default(), ChunkSize::default());
        Self::with(secret, algorithm, size, KdfParams::default(), output).await
    }

    /// Begins a file of this kind. The first write, flush or shutdown writes its header.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyPassphrase`], [`Error::KdfMemory`], [`Error::NoRandomness`],
    /// [`Error::Cipher`]; [`Error::Write`] if there is no memory.
    pub async fn with<'a>(
        secret: impl Into<Secret<'a>>,
        algorithm: Algorithm,
        size: ChunkSize,
        kdf: KdfParams,
        output: W,
    ) -> Result<Self, Error> {
        let buffer = || size.buffer().map_err(|error| Error::Write(error.into()));
        let (buffer, mut other) = (buffer()?, buffer()?);
        let secret = owned(secret);
        let created =
            elsewhere(move || Header::create((&secret).into(), algorithm, size, kdf)).await;
        let (header, cipher) = created.map_err(Error::Write)??;
        other[..header.len()].copy_from_slice(&header);
        Ok(Self {
            output,
            cipher: Arc::new(cipher),
            size,
            buffer,
            len: 0,
            counter: 0,
            sealed: Sealed::Unwritten(other, 0..header.len()),
            state: State::Open,
        })
    }

    /// The writer below.
    #[must_use]
    pub fn get_ref(&self) -> &W {
        &self.output
    }

    /// The writer below. What was not written to it is lost: call `shutdown` first.
    #[must_use]
    pub fn into_inner(self) -> W {
        self.output
    }

    /// Writes the chunk before, and gives its buffer back.
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Sealed::Working(work) = &mut self.sealed {
            let (buffer, sealed) = ready!(work.poll(cx))?;
            self.sealed = Sealed::Unwritten(buffer, 0..sealed?);
        }
        let Sealed::Unwritten(buffer, unwritten) = &mut self.sealed else {
            return Poll::Ready(Err(io::Error::other("an earlier write of this file failed")));
        };
        while unwritten.start < unwritten.end {
            let bytes = &buffer[unwritten.clone()];
            match ready!(Pin::new(&mut self.output).poll_write(cx, bytes))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => unwritten.start += written,
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Begins to seal the chunk in the buffer. The one before is written.
    fn seal(&mut self, last: bool) {
        let Sealed::Unwritten(other, _) = std::mem::replace(&mut self.sealed, Sealed::Lost) else {
            unreachable!("it was drained")
        };
        let mut buffer = std::mem::replace(&mut self.buffer, other);
        let chunk = Chunk { counter: self.counter, len: self.len, last };
        let cipher = Arc::clone(&self.cipher);
        self.sealed = Sealed::Working(Work::start(chunk.len, move || {
            let sealed = chunk.seal(&cipher, &mut buffer).map(|sealed| sealed.len());
            (buffer, sealed)
        }));
        self.counter += 1;
        self.len = 0;
    }

    /// Makes an error final: bytes may be missing after it.
    fn fail<T>(&mut self, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if let Poll::Ready(Err(_)) = result {
            self.state = State::Failed;
        }
        result
    }

    fn poll_take(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        // A full chunk waits until there is more: it might be the last.
        if self.len == self.size.bytes() && !bytes.is_empty() {
            ready!(self.poll_drain(cx))?;
            self.seal(false);
        }
        let taken = bytes.len().min(self.size.bytes() - self.len);
        self.buffer[FRAME_LEN + self.len..][..taken].copy_from_slice(&bytes[..taken]);
        self.len += taken;
        // Write on. If that has to wait, the next call does.
        if let Poll::Ready(Err(error)) = self.poll_drain(cx) {
            return Poll::Ready(Err(error));
        }
        Poll::Ready(Ok(taken))
    }

    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_drain(cx))?;
        if self.state == State::Open {
            self.seal(true);
            self.state = State::Ended;
            ready!(self.poll_drain(cx))?;
        }
        Pin::new(&mut self.output).poll_shutdown(cx)
    }

    fn check(&self, needed: State) -> io::Result<()> {
        match self.state {
            State::Failed => {
                Err(io::Error::other("an earlier write failed, so the file has no valid end"))
            }
            State::Ended if needed == State::Open => {
                Err(io::Error::new(io::ErrorKind::InvalidInput, "the file was ended by shutdown"))
            }
            _ => Ok(()),
        }
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for EncryptWriter<W> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let writer = self.get_mut();
        writer.check(State::Open)?;
        let result = writer.poll_take(cx, bytes);
        writer.fail(result)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let writer = self.get_mut();
        writer.check(State::Ended)?;
        let result = match writer.poll_drain(cx) {
            Poll::Ready(Ok(())) => Pin::new(&mut writer.output).poll_flush(cx),
            other => other,
        };
        writer.fail(result)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let writer = self.get_mut();
        writer.check(State::Ended)?;
        let result = writer.poll_end(cx);
        writer.fail(result)
    }
}

impl<W> fmt::Debug for EncryptWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncryptWriter")
            .field("chunks", &self.counter)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
