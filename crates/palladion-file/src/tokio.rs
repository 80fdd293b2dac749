//! Readers and writers for programs that run on tokio.
//!
//! | you have | use |
//! | --- | --- |
//! | code that writes a file | [`EncryptWriter`] |
//! | code that reads a file from its beginning to its end | [`DecryptReader`] |
//! | code that reads a part of a file | [`SeekReader`] |
//! | a server or a store that answers requests for ranges | [`RangeReader`] |
//!
//! Chunks of more than 64 KiB are encrypted and decrypted on tokio's threads for blocking work, as
//! are passphrases. Smaller ones take less time than waking a thread. Outside of a runtime,
//! everything is done on the caller's thread.
//!
//! To show progress, look at what passes: `InspectReader` of the crate `tokio-util` calls a closure
//! with each piece that is read.
//!
//! ```
//! use palladion_file::MasterKey;
//! use palladion_file::tokio::EncryptWriter;
//! use tokio::fs::File;
//! use tokio::io::{AsyncWriteExt, copy};
//! use tokio_util::io::InspectReader;
//!
//! # #[tokio::main]
//! # async fn main() -> std::io::Result<()> {
//! # let dir = tempfile::tempdir()?;
//! # let (path, target) = (dir.path().join("notes.txt"), dir.path().join("notes.txt.pld"));
//! # tokio::fs::write(&path, [7; 100_000]).await?;
//! let key = MasterKey::generate()?;
//! let input = File::open(&path).await?;
//! let (mut done, all) = (0, input.metadata().await?.len());
//! let mut input = InspectReader::new(input, |piece| {
//!     done += piece.len() as u64;
//!     eprint!("\r{} %", 100 * done / all.max(done)); // a file can grow, or be a device
//! });
//! let mut writer = EncryptWriter::new(&key, File::create(&target).await?).await?;
//! copy(&mut input, &mut writer).await?;
//! writer.shutdown().await?;
//! # drop(input);
//! # assert_eq!(done, 100_000);
//! # Ok(())
//! # }
//! ```
//!
//! This module has the name of the crate `tokio`. After `use palladion_file::*`, the name `tokio`
//! is ambiguous (E0659), also in `#[tokio::main]`: name what you import instead.
//!
//! ```
//! use std::io::SeekFrom;
//! use palladion_file::MasterKey;
//! use palladion_file::tokio::{EncryptWriter, SeekReader};
//! use tokio::fs::File;
//! use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
//!
//! # #[tokio::main]
//! # async fn main() -> std::io::Result<()> {
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("log.pld");
//! let key = MasterKey::generate()?;
//! let mut writer = EncryptWriter::new(&key, File::create(&path).await?).await?;
//! writer.write_all(b"first line\nsecond line\n").await?;
//! writer.shutdown().await?; // without this, the file counts as truncated
//!
//! let mut reader = SeekReader::new(&key, File::open(&path).await?).await?;
//! reader.seek(SeekFrom::Start(11)).await?;
//! let mut text = String::new();
//! reader.read_to_string(&mut text).await?;
//! assert_eq!(text, "second line\n");
//! # Ok(())
//! # }
//! ```

mod decrypt;
mod encrypt;
mod open;
mod range;
mod seek;

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ::tokio::io::{AsyncBufRead, AsyncRead, ReadBuf};
use ::tokio::runtime::Handle;
use ::tokio::task::JoinHandle;

pub use decrypt::DecryptReader;
pub use encrypt::EncryptWriter;
pub use range::{AsyncReadAt, RangeReader};
pub use seek::SeekReader;

use crate::error::Error;
use crate::secret::{OwnedSecret, Secret};

/// The most bytes to encrypt or decrypt on the thread that polls. On Zen 4, that takes 3 µs, and
/// 110 µs without AES instructions. To have another thread do it takes 2 to 10 µs more.
const SHORT: usize = 64 << 10;

/// Work that is done, or that another thread does.
enum Work<T> {
    Done(Option<T>),
    Elsewhere(JoinHandle<T>),
}

impl<T: Send + 'static> Work<T> {
    /// Starts work on so many bytes.
    fn start(len: usize, work: impl FnOnce() -> T + Send + 'static) -> Self {
        match Handle::try_current() {
            Ok(runtime) if len > SHORT => Self::Elsewhere(runtime.spawn_blocking(work)),
            _ => Self::Done(Some(work())),
        }
    }

    /// Waits for it. It must not be polled again after that.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        match self {
            Self::Done(result) => Poll::Ready(Ok(result.take().expect("polled after its end"))),
            // It panicked, or the runtime shuts down.
            Self::Elsewhere(task) => Pin::new(task).poll(cx).map_err(io::Error::other),
        }
    }
}

/// Runs work that takes long.
async fn elsewhere<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    run(usize::MAX, work).await
}

/// Runs work on so many bytes.
async fn run<T: Send + 'static>(
    len: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let mut work = Work::start(len, work);
    poll_fn(|cx| work.poll(cx)).await
}

fn lost() -> Error {
    Error::Read(io::Error::other("the thread that decrypted was lost"))
}

/// Copies a secret for another thread.
fn owned<'a>(secret: impl Into<Secret<'a>>) -> OwnedSecret {
    secret.into().into()
}

/// Reads on into a buffer that holds `filled` bytes, until it is full or the input ends.
fn poll_fill(
    input: &mut (impl AsyncRead + Unpin),
    cx: &mut Context<'_>,
    buffer: &mut [u8],
    filled: &mut usize,
) -> Poll<io::Result<()>> {
    while *filled < buffer.len() {
        let mut room = ReadBuf::new(&mut buffer[*filled..]);
        ready!(Pin::new(&mut *input).poll_read(cx, &mut room))?;
        match room.filled().len() {
            0 => break,
            read => *filled += read,
        }
    }
    Poll::Ready(Ok(()))
}

/// Fills a buffer as far as the input reaches, and returns how far that is.
async fn fill(input: &mut (impl AsyncRead + Unpin), buffer: &mut [u8]) -> Result<usize, Error> {
    let mut filled = 0;
    let read = poll_fn(|cx| poll_fill(input, cx, buffer, &mut filled)).await;
    read.map_err(Error::Read).map(|()| filled)
}

/// Reads what the reader has in its buffer, as far as there is room.
fn poll_read<R: AsyncBufRead>(
    mut reader: Pin<&mut R>,
    cx: &mut Context<'_>,
    room: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    let text = ready!(reader.as_mut().poll_fill_buf(cx))?;
    let len = text.len().min(room.remaining());
    room.put_slice(&text[..len]);
    reader.consume(len);
    Poll::Ready(Ok(()))
}
