//! Decrypts a file from its beginning to its end.

use std::fmt;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use ::tokio::io::{AsyncBufRead, AsyncRead, ReadBuf};
use palladion::{Algorithm, Buffer};

use super::{Work, elsewhere, fill, owned, poll_fill, poll_read};
use crate::chunk::{Chunk, FRAME_LEN, Place};
use crate::cipher::Cipher;
use crate::error::Error;
use crate::header::{HEADER_LEN, Header};
use crate::kdf::KdfLimits;
use crate::secret::Secret;

/// Decrypts a file while it is read from another asynchronous reader.
///
/// It returns only verified bytes, and ends only after the last chunk, if nothing follows it. If
/// you stop earlier, you do not know whether the file is complete. Errors are [`Error`]s inside
/// [`io::Error`]s. After one, every further read fails too.
pub struct DecryptReader<R> {
    input: R,
    cipher: Arc<Cipher>,
    algorithm: Algorithm,
    place: Place,
    /// Missing while another thread decrypts what is in it.
    buffer: Option<Buffer>,
    state: State,
}

enum State {
    /// Verified plaintext in the buffer.
    Text(Range<usize>),
    /// So many bytes of a frame were read.
    Frame(usize),
    /// This chunk begins at this offset in the file. So many bytes of it were read.
    Chunk(Chunk, u64, usize),
    Opening(Work<(Buffer, Result<usize, Error>)>),
    Ended,
    Failed,
}

impl<R: AsyncRead + Unpin> DecryptReader<R> {
    /// Reads the header of a file and checks the secret.
    ///
    /// # Errors
    ///
    /// The errors about a header, a secret or the cost of a passphrase; [`Error::Read`].
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
        let mut start = [0; HEADER_LEN];
        let len = fill(&mut input, &mut start).await?;
        let header = Header::from_start(&start[..len])?;
        let (algorithm, size, place) = (header.algorithm, header.chunk_size, header.first_chunk());
        let (secret, limits) = (owned(secret), *limits);
        let cipher = elsewhere(move || header.open((&secret).into(), &limits)).await;
        Ok(Self {
            input,
            cipher: Arc::new(cipher.map_err(Error::Read)??),
            algorithm,
            place,
            buffer: Some(size.buffer().map_err(|error| Error::Read(error.into()))?),
            state: State::Text(0..0),
        })
    }

    /// The algorithm of the file.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Goes on until there is plaintext, or none is left.
    fn poll_text(&mut self, cx: &mut Context<'_>) -> Poll<Result<Range<usize>, Error>> {
        loop {
            let mut none = [];
            let buffer = self.buffer.as_deref_mut().unwrap_or(&mut none);
            self.state = match &mut self.state {
                State::Text(text) if text.start < text.end => return Poll::Ready(Ok(text.clone())),
                State::Text(_) => State::Frame(0),
                State::Frame(filled) => {
                    // After the last chunk there may be nothing, not even a frame.
                    let len = if self.place.last_seen() { 1 } else { FRAME_LEN };
                    let frame = &mut buffer[..len];
                    ready!(poll_fill(&mut self.input, cx, frame, filled)).map_err(Error::Read)?;
                    match self.place.last_seen() && *filled == 0 {
                        true => State::Ended,
                        false => {
                            let (chunk, offset) = self.place.frame(&frame[..*filled])?;
                            State::Chunk(chunk, offset, 0)
                        }
                    }
                }
                State::Chunk(chunk, offset, filled) => {
                    let (chunk, offset) = (*chunk, *offset);
                    let rest = &mut buffer[FRAME_LEN..chunk.sealed_len()];
                    ready!(poll_fill(&mut self.input, cx, rest, filled)).map_err(Error::Read)?;
                    self.place.rest(&chunk, *filled)?;
                    let cipher = Arc::clone(&self.cipher);
                    let mut buffer = self.buffer.take().expect("no other thread has it");
                    State::Opening(Work::start(chunk.len, move || {
                        let text = chunk.open(&cipher, offset, &mut buffer).map(<[u8]>::len);
                        (buffer, text)
                    }))
                }
                State::Opening(work) => {
                    let (buffer, text) = ready!(work.poll(cx)).map_err(Error::Read)?;
                    self.buffer = Some(buffer);
                    State::Text(FRAME_LEN..FRAME_LEN + text?)
                }
                State::Ended => return Poll::Ready(Ok(0..0)),
                State::Failed => {
                    let error = io::Error::other("an earlier read of this file failed");
                    return Poll::Ready(Err(Error::Read(error)));
                }
            };
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncBufRead for DecryptReader<R> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let reader = self.get_mut();
        let text = ready!(reader.poll_text(cx)).inspect_err(|_| reader.state = State::Failed)?;
        Poll::Ready(Ok(reader.buffer.as_ref().map_or(&[], |buffer| &buffer[text])))
    }

    fn consume(self: Pin<&mut Self>, bytes: usize) {
        if let State::Text(text) = &mut self.get_mut().state {
            text.start = text.end.min(text.start + bytes);
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for DecryptReader<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        poll_read(self, cx, room)
    }
}

impl<R> fmt::Debug for DecryptReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecryptReader").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}
