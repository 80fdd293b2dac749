//! Reads from the middle of a file.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::io::{self, SeekFrom};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use ::tokio::io::{AsyncBufRead, AsyncRead, AsyncSeek, ReadBuf};
use palladion::{Algorithm, Buffer};

use super::open::{Fetch, open};
use super::{Work, fill, lost, poll_fill, poll_read};
use crate::any_order::ChunkOpener;
use crate::chunk::{self, ChunkSize, FRAME_LEN, OVERHEAD};
use crate::error::Error;
use crate::kdf::KdfLimits;
use crate::secret::Secret;
use crate::seek::{KEPT, KEPT_CHUNKS};

/// Reads any part of a file from an asynchronous reader that can be placed.
///
/// It opens a file with its header and its last chunk, as [`crate::SeekReader`] does: the
/// [length](Self::len) is authentic, a file that was cut or extended is an error at once, and a
/// damaged chunk spoils the reads that touch it, and no others. A file with
/// [key slots](crate::slots) is opened by either copy of them. It keeps the last few chunks that it
/// decrypted.
pub struct SeekReader<R> {
    input: R,
    chunks: Arc<ChunkOpener>,
    position: u64,
    /// Missing while another thread decrypts what is in it, or if that thread is lost.
    buffer: Option<Buffer>,
    /// Chunks that were in the buffer before, the one that was read longest ago first.
    kept: VecDeque<(u64, Buffer)>,
    state: State,
    /// The chunk at which the input stands, if that is known.
    next: Option<u64>,
}

enum State {
    /// The plaintext of this chunk, if any, is in the buffer.
    Idle(Option<u64>),
    /// The input is being placed at this chunk.
    Seeking(u64),
    /// So many bytes of this chunk were read.
    Reading(u64, usize),
    Opening(u64, Work<(Buffer, Result<(), Error>)>),
}

impl<R: AsyncRead + AsyncSeek + Unpin> SeekReader<R> {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// Those of [`Decryptor`](crate::Decryptor) for the header, the secret and the end of the file.
    pub async fn new<'a>(secret: impl Into<Secret<'a>>, input: R) -> Result<Self, Error> {
        Self::with_limits(secret, &KdfLimits::default(), input).await
    }

    /// Like [`new`](Self::new), with limits on what the file may make this machine spend on a
    /// passphrase.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub async fn with_limits<'a>(
        secret: impl Into<Secret<'a>>,
        limits: &KdfLimits,
        mut input: R,
    ) -> Result<Self, Error> {
        let file_len = seek(&mut input, SeekFrom::End(0)).await?;
        let (chunks, buffer) = open(secret, limits, file_len, &mut Placed(&mut input)).await?;
        let state = State::Idle(Some(chunks.layout().chunks() - 1));
        let (chunks, buffer) = (Arc::new(chunks), Some(buffer));
        Ok(Self { input, chunks, position: 0, buffer, kept: VecDeque::new(), state, next: None })
    }

    /// The algorithm of the file.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.chunks.algorithm()
    }

    /// The most plaintext in a chunk.
    #[must_use]
    pub fn chunk_size(&self) -> ChunkSize {
        self.chunks.layout().chunk_size()
    }

    /// The length of the plaintext in bytes.
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // as for `std::fs::Metadata`
    pub fn len(&self) -> u64 {
        self.chunks.layout().plaintext_len()
    }

    /// The reader below.
    #[must_use]
    pub fn get_ref(&self) -> &R {
        &self.input
    }

    /// Keeps the chunk that is in the buffer. Returns the wanted one if it was kept; then it is in
    /// the buffer. Otherwise the buffer is free.
    fn keep(&mut self, chunk: u64, wanted: u64) -> Result<Option<u64>, Error> {
        let buffer = self.buffer.take().ok_or_else(lost)?;
        let found = self.kept.iter().position(|(kept, _)| *kept == wanted);
        let most = KEPT_CHUNKS.min(KEPT / buffer.len());
        let is_room = found.is_none() && self.kept.len() + 1 < most;
        self.buffer = if is_room { chunk::buffer(buffer.len()).ok() } else { None };
        self.kept.push_back((chunk, buffer));
        if self.buffer.is_none() {
            let (_, buffer) = self.kept.remove(found.unwrap_or(0)).ok_or_else(lost)?;
            self.buffer = Some(buffer);
        }
        Ok(found.map(|_| wanted))
    }

    /// Goes on until this chunk is in the buffer.
    fn poll_open(&mut self, cx: &mut Context<'_>, wanted: u64) -> Poll<Result<(), Error>> {
        loop {
            self.state = match &mut self.state {
                State::Idle(Some(chunk)) if *chunk == wanted => return Poll::Ready(Ok(())),
                State::Idle(Some(chunk)) => {
                    let chunk = *chunk;
                    State::Idle(self.keep(chunk, wanted)?)
                }
                State::Idle(None) if self.next == Some(wanted) => State::Reading(wanted, 0),
                State::Idle(None) => {
                    self.next = None;
                    // A read that was given up may go on below. Then tokio's `File` refuses to
                    // seek.
                    let ended = Pin::new(&mut self.input).poll_complete(cx);
                    ready!(ended).map_err(Error::Read)?;
                    let start = self.chunks.layout().sealed(wanted..wanted + 1).start;
                    let seek = Pin::new(&mut self.input).start_seek(SeekFrom::Start(start));
                    seek.map_err(Error::Read)?;
                    State::Seeking(wanted)
                }
                State::Seeking(chunk) => {
                    let chunk = *chunk;
                    let placed = ready!(Pin::new(&mut self.input).poll_complete(cx));
                    self.state = State::Idle(None);
                    placed.map_err(Error::Read)?;
                    State::Reading(chunk, 0)
                }
                // The position was changed in the meantime.
                State::Reading(chunk, _) if *chunk != wanted => State::Idle(None),
                State::Reading(chunk, filled) => {
                    let chunk = *chunk;
                    let sealed = self.chunks.layout().sealed(chunk..chunk + 1);
                    self.next = None;
                    let buffer = self.buffer.as_deref_mut().ok_or_else(lost)?;
                    let buffer = &mut buffer[..(sealed.end - sealed.start) as usize];
                    let read = ready!(poll_fill(&mut self.input, cx, buffer, filled));
                    let filled = *filled;
                    self.state = State::Idle(None);
                    read.map_err(Error::Read)?;
                    self.next = (filled == buffer.len()).then_some(chunk + 1);
                    let chunks = Arc::clone(&self.chunks);
                    let mut buffer = self.buffer.take().ok_or_else(lost)?;
                    State::Opening(
                        chunk,
                        Work::start(filled.saturating_sub(OVERHEAD), move || {
                            let opened = chunks.open(chunk, &mut buffer[..filled]).map(drop);
                            (buffer, opened)
                        }),
                    )
                }
                State::Opening(chunk, work) => {
                    let chunk = *chunk;
                    let done = ready!(work.poll(cx));
                    self.state = State::Idle(None);
                    let (buffer, opened) = done.map_err(Error::Read)?;
                    self.buffer = Some(buffer);
                    match opened {
                        Err(error) if chunk == wanted => return Poll::Ready(Err(error)),
                        Err(_) => State::Idle(None),
                        Ok(()) => State::Idle(Some(chunk)),
                    }
                }
            };
        }
    }
}

/// An input that is placed before each read.
struct Placed<'a, R>(&'a mut R);

impl<R: AsyncRead + AsyncSeek + Unpin> Fetch for Placed<'_, R> {
    async fn fetch(&mut self, buffer: &mut [u8], offset: u64) -> Result<usize, Error> {
        seek(self.0, SeekFrom::Start(offset)).await?;
        fill(self.0, buffer).await
    }
}

async fn seek(input: &mut (impl AsyncSeek + Unpin), to: SeekFrom) -> Result<u64, Error> {
    // The caller may have left something unfinished.
    poll_fn(|cx| Pin::new(&mut *input).poll_complete(cx)).await.map_err(Error::Read)?;
    Pin::new(&mut *input).start_seek(to).map_err(Error::Read)?;
    poll_fn(|cx| Pin::new(&mut *input).poll_complete(cx)).await.map_err(Error::Read)
}

impl<R: AsyncRead + AsyncSeek + Unpin> AsyncBufRead for SeekReader<R> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let reader = self.get_mut();
        let layout = reader.chunks.layout();
        if reader.position >= layout.plaintext_len() {
            return Poll::Ready(Ok(&[]));
        }
        let chunk = reader.position / layout.chunk_size().bytes() as u64;
        ready!(reader.poll_open(cx, chunk))?;
        let text = layout.plaintext(chunk);
        let place = (reader.position - text.start) as usize..(text.end - text.start) as usize;
        let buffer = reader.buffer.as_ref().ok_or_else(lost)?;
        Poll::Ready(Ok(&buffer[FRAME_LEN..][place]))
    }

    fn consume(self: Pin<&mut Self>, bytes: usize) {
        self.get_mut().position += bytes as u64;
    }
}

impl<R: AsyncRead + AsyncSeek + Unpin> AsyncRead for SeekReader<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        poll_read(self, cx, room)
    }
}

/// Like a file, it can be placed past its end, where there is nothing to read.
impl<R: Unpin> AsyncSeek for SeekReader<R> {
    fn start_seek(self: Pin<&mut Self>, to: SeekFrom) -> io::Result<()> {
        let reader = self.get_mut();
        let len = reader.chunks.layout().plaintext_len();
        reader.position = crate::seek::moved(reader.position, len, to)?;
        Ok(())
    }

    fn poll_complete(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<u64>> {
        Poll::Ready(Ok(self.position))
    }
}

impl<R> fmt::Debug for SeekReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeekReader")
            .field("chunks", &self.chunks)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}
