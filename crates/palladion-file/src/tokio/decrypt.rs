//! Decrypts a file from its beginning to its end.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ::tokio::io::{AsyncBufRead, AsyncRead, ReadBuf};
use ::tokio::runtime::Handle;
use ::tokio::task::JoinHandle;
use palladion::Algorithm;

use super::{SHORT, lost, poll_read};
use crate::decoder::Decoder;
use crate::error::Error;
use crate::kdf::KdfLimits;
use crate::secret::Secret;
use crate::summary::Spare;

/// Decrypts a file while it is read from another asynchronous reader.
///
/// It returns only verified bytes, and ends only after the last chunk, if nothing follows it. If
/// you stop earlier, you do not know whether the file is complete. An error of the file is an
/// [`Error`] inside an [`io::Error`], and every further read fails too. After one of the reader
/// below, the next read goes on where this one stopped.
pub struct DecryptReader<R> {
    input: R,
    state: State,
    algorithm: Algorithm,
}

enum State {
    Here(Decoder),
    /// Another thread decrypts.
    Away(JoinHandle<(Decoder, Result<(), Error>)>),
    /// That thread panicked, or the runtime was shut down.
    Lost,
}

impl State {
    /// Decrypts what was read.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<&mut Decoder, Error>> {
        if let Self::Here(decoder) = self
            && decoder.cost() > SHORT
            && let Ok(runtime) = Handle::try_current()
            && let Self::Here(mut decoder) = mem::replace(self, Self::Lost)
        {
            *self = Self::Away(runtime.spawn_blocking(move || {
                let done = decoder.text().map(drop);
                (decoder, done)
            }));
        }
        if let Self::Away(task) = self {
            let done = ready!(Pin::new(task).poll(cx));
            *self = Self::Lost;
            let (decoder, done) = done.map_err(|error| Error::Read(io::Error::other(error)))?;
            *self = Self::Here(decoder);
            done?;
        }
        match self {
            Self::Here(decoder) => Poll::Ready(decoder.text().map(drop).map(|()| decoder)),
            _ => Poll::Ready(Err(lost())),
        }
    }

    /// Reads and decrypts until there is what is wanted.
    fn poll_until(
        &mut self,
        input: &mut (impl AsyncRead + Unpin),
        cx: &mut Context<'_>,
        is_there: impl Fn(&mut Decoder) -> bool,
    ) -> Poll<Result<(), Error>> {
        loop {
            let decoder = ready!(self.poll(cx))?;
            if is_there(decoder) {
                return Poll::Ready(Ok(()));
            }
            let mut room = ReadBuf::new(decoder.room());
            ready!(Pin::new(&mut *input).poll_read(cx, &mut room)).map_err(Error::Read)?;
            let read = room.filled().len();
            decoder.filled(read);
        }
    }
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
        let mut state = State::Here(Decoder::new(secret, *limits)?);
        let is_open = |decoder: &mut Decoder| decoder.algorithm().is_some();
        poll_fn(|cx| state.poll_until(&mut input, cx, is_open)).await?;
        let State::Here(decoder) = &state else { return Err(lost()) };
        let algorithm = decoder.algorithm().ok_or_else(lost)?;
        Ok(Self { input, state, algorithm })
    }

    /// The algorithm of the file.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The spare of a file with [key slots](crate::slots), once the last read has ended; `None` for
    /// other files. Warn if it is not [the same](Spare::Same).
    #[must_use]
    pub fn spare(&self) -> Option<Spare> {
        match &self.state {
            State::Here(decoder) => decoder.spare(),
            _ => None,
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncBufRead for DecryptReader<R> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let reader = self.get_mut();
        let has_text = |decoder: &mut Decoder| {
            decoder.is_complete() || decoder.text().is_ok_and(|text| !text.is_empty())
        };
        ready!(reader.state.poll_until(&mut reader.input, cx, has_text))?;
        match &mut reader.state {
            State::Here(decoder) => Poll::Ready(Ok(decoder.text()?)),
            _ => Poll::Ready(Err(lost().into())),
        }
    }

    fn consume(self: Pin<&mut Self>, bytes: usize) {
        if let State::Here(decoder) = &mut self.get_mut().state {
            decoder.consume(bytes);
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
