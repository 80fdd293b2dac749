//! Encrypts what is written.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ::tokio::io::AsyncWrite;
use ::tokio::runtime::Handle;
use ::tokio::task::JoinHandle;
use palladion::Algorithm;

use super::{SHORT, elsewhere, owned};
use crate::chunk::ChunkSize;
use crate::encoder::{Encoder, Sealed};
use crate::error::Error;
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
    encoder: Encoder,
    /// Another thread seals a chunk.
    work: Option<JoinHandle<Sealed>>,
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
        let secret = owned(secret);
        let begin = move || Encoder::new(&secret, algorithm, size, kdf);
        let encoder = elsewhere(begin).await.map_err(Error::Write)??;
        Ok(Self::from_encoder(encoder, output))
    }

    /// Goes on with a file that was begun: for one with key slots, pass
    /// [`Encoder::with_slots`]. Begin it on a thread for blocking work if there is a slot for a
    /// passphrase or for age.
    #[must_use]
    pub fn from_encoder(encoder: Encoder, output: W) -> Self {
        Self { output, encoder, work: None }
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

    /// Writes all that is ready.
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { output, encoder, work } = self;
        loop {
            if let Some(task) = work {
                let sealed = ready!(Pin::new(task).poll(cx));
                *work = None;
                encoder.give(sealed.map_err(io::Error::other))?;
            }
            encoder.set_apart()?;
            if encoder.cost() > SHORT
                && let Ok(runtime) = Handle::try_current()
                && let Some(job) = encoder.job()
            {
                *work = Some(runtime.spawn_blocking(|| job.run()));
            } else if encoder.ready_len() > 0 {
                let write = |bytes: &[u8]| Pin::new(&mut *output).poll_write(cx, bytes);
                ready!(encoder.poll_write(write))?;
            } else {
                return Poll::Ready(Ok(()));
            }
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
        // Before a full chunk can be sealed, the one before must be written.
        if writer.encoder.is_full() && !bytes.is_empty() {
            ready!(writer.poll_drain(cx))?;
        }
        let mut taken = writer.encoder.push(bytes)?;
        // Write on. If that has to wait, the next call does.
        let drained = writer.poll_drain(cx)?;
        if taken == 0 && !bytes.is_empty() {
            // The chunk is sealed now, or the header written.
            taken = writer.encoder.push(bytes)?;
            if taken == 0 {
                ready!(drained);
            }
        }
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let writer = self.get_mut();
        ready!(writer.poll_drain(cx))?;
        writer.encoder.poll_flush(|| Pin::new(&mut writer.output).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let writer = self.get_mut();
        ready!(writer.poll_drain(cx))?;
        writer.encoder.end()?;
        ready!(writer.poll_drain(cx))?;
        writer.encoder.poll_flush(|| Pin::new(&mut writer.output).poll_shutdown(cx))
    }
}

impl<W> fmt::Debug for EncryptWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncryptWriter").field("encoder", &self.encoder).finish_non_exhaustive()
    }
}
