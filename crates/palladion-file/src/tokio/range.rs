//! Reads ranges of a file from what answers requests.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use palladion::{Algorithm, Buffer};

use super::open::{Fetch, open};
use super::run;
use crate::any_order::ChunkOpener;
use crate::chunk::{self, ChunkSize, FRAME_LEN};
use crate::error::Error;
use crate::kdf::KdfLimits;
use crate::secret::Secret;
use crate::seek::{KEPT, KEPT_CHUNKS, truncated};

/// The most bytes of the file in a request, unless a chunk is larger.
const MOST: usize = 8 << 20;

/// Bytes that can be read at any offset, by several readers at once: a file behind HTTP, an object
/// of a store.
pub trait AsyncReadAt {
    /// Fills the buffer with the bytes that begin at `offset`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnexpectedEof`] if there are fewer; any other error of the source.
    fn read_at(
        &self,
        buffer: &mut [u8],
        offset: u64,
    ) -> impl Future<Output = io::Result<()>> + Send;

    /// Returns how many bytes there are.
    ///
    /// # Errors
    ///
    /// Any error of the source.
    fn size(&self) -> impl Future<Output = io::Result<u64>> + Send;
}

macro_rules! pointers {
    ($($pointer:ty),*) => {$(
        impl<T: AsyncReadAt + Send + Sync> AsyncReadAt for $pointer {
            async fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
                (**self).read_at(buffer, offset).await
            }
            async fn size(&self) -> io::Result<u64> {
                (**self).size().await
            }
        }
    )*};
}

pointers!(&T, Box<T>, Arc<T>);

/// Reads any part of a file from what answers requests, such as an HTTP server.
///
/// It opens a file with its header and its last chunk, as [`SeekReader`](crate::SeekReader) does:
/// the [length](Self::len) is authentic, a file that was cut or extended is an error at once, and
/// a damaged chunk spoils the reads that touch it, and no others. [`read_at`](Self::read_at) takes
/// `&self`: many reads may be under way at once.
///
/// ```
/// use std::io;
/// use palladion_file::tokio::{AsyncReadAt, RangeReader};
/// use palladion_file::{Encryptor, MasterKey, ReadAt};
///
/// /// In memory. One for HTTP sends a request with the header `Range`.
/// struct Object(Vec<u8>);
///
/// impl AsyncReadAt for Object {
///     async fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
///         self.0.read_at(buffer, offset)
///     }
///     async fn size(&self) -> io::Result<u64> {
///         self.0.size()
///     }
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), palladion_file::Error> {
/// let key = MasterKey::generate()?;
/// let mut file = Vec::new();
/// Encryptor::new(&key).run(&b"first line\nsecond line\n"[..], &mut file)?;
///
/// let reader = RangeReader::new(&key, Object(file)).await?;
/// let (mut first, mut second) = ([0; 5], [0; 6]);
/// tokio::try_join!(reader.read_at(&mut first, 0), reader.read_at(&mut second, 11))?;
/// assert_eq!((&first, &second), (b"first", b"second"));
/// # Ok(())
/// # }
/// ```
///
/// A read requests the chunks that it touches, up to 8 MiB at a time. A read within a chunk
/// requests the whole chunk; the last four are kept, in at most 32 MiB.
pub struct RangeReader<S> {
    source: S,
    chunks: Arc<ChunkOpener>,
    /// Single chunks, the one that was read longest ago first.
    kept: Mutex<VecDeque<Arc<Opened>>>,
}

/// Chunks that follow one another, decrypted.
struct Opened {
    chunks: Range<u64>,
    buffer: Buffer,
}

impl<S: AsyncReadAt> RangeReader<S> {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// Those of [`Decryptor`](crate::Decryptor) for the header, the secret and the end of the file.
    pub async fn new<'a>(secret: impl Into<Secret<'a>>, source: S) -> Result<Self, Error> {
        Self::with_limits(secret, &KdfLimits::default(), source).await
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
        source: S,
    ) -> Result<Self, Error> {
        let file_len = source.size().await.map_err(Error::Read)?;
        let (chunks, buffer) = open(secret, limits, file_len, &mut Requests(&source)).await?;
        let last = chunks.layout().chunks() - 1;
        let opened = Opened { chunks: last..last + 1, buffer };
        let kept = Mutex::new(VecDeque::from([Arc::new(opened)]));
        Ok(Self { source, chunks: Arc::new(chunks), kept })
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

    /// The source.
    #[must_use]
    pub fn get_ref(&self) -> &S {
        &self.source
    }

    /// Reads from `offset` on, and returns how many bytes there were: fewer than the buffer has
    /// only if the plaintext ends. If the future is dropped, a part of the buffer may be filled.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`], [`Error::Truncated`] if the file became shorter, [`Error::Read`]; then
    /// the buffer is zeroed.
    pub async fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Error> {
        let rest = usize::try_from(self.len().saturating_sub(offset)).unwrap_or(usize::MAX);
        let len = buffer.len().min(rest);
        let result = self.fill(&mut buffer[..len], offset).await;
        result.inspect_err(|_| buffer.fill(0)).map(|()| len)
    }

    async fn fill(&self, buffer: &mut [u8], offset: u64) -> Result<(), Error> {
        let (layout, wanted) = (self.chunks.layout(), offset..offset + buffer.len() as u64);
        let mut chunks = layout.chunks_of(wanted.clone());
        let most = (MOST / layout.chunk_size().buffer_len()).max(1) as u64;
        while !chunks.is_empty() {
            let opened = match self.kept(chunks.start) {
                Some(opened) => opened,
                None => self.open(chunks.start..chunks.end.min(chunks.start + most)).await?,
            };
            for chunk in opened.chunks.clone() {
                let text = layout.plaintext(chunk);
                let part = text.start.max(wanted.start)..text.end.min(wanted.end);
                let from = layout.sealed(opened.chunks.start..chunk);
                let at = (from.end - from.start + part.start - text.start) as usize + FRAME_LEN;
                let to = (part.start - wanted.start) as usize..(part.end - wanted.start) as usize;
                let len = to.len();
                buffer[to].copy_from_slice(&opened.buffer[at..at + len]);
            }
            chunks.start = opened.chunks.end;
        }
        Ok(())
    }

    /// Requests chunks and decrypts them.
    async fn open(&self, chunks: Range<u64>) -> Result<Arc<Opened>, Error> {
        let layout = self.chunks.layout();
        let sealed = layout.sealed(chunks.clone());
        let len = (sealed.end - sealed.start) as usize;
        let mut buffer = chunk::buffer(len).map_err(|error| Error::Read(error.into()))?;
        if let Err(error) = self.source.read_at(&mut buffer[..len], sealed.start).await {
            return Err(match error.kind() {
                // The file is shorter than when it was opened.
                ErrorKind::UnexpectedEof => {
                    let len = self.source.size().await.unwrap_or(sealed.start);
                    truncated(&layout, chunks, len)
                }
                _ => Error::Read(error),
            });
        }
        let (opener, wanted) = (Arc::clone(&self.chunks), chunks.clone());
        let opened = run(len, move || {
            let mut rest = &mut buffer[..len];
            for chunk in wanted {
                let sealed = layout.sealed(chunk..chunk + 1);
                let (this, after) = rest.split_at_mut((sealed.end - sealed.start) as usize);
                opener.open(chunk, this)?;
                rest = after;
            }
            Ok::<_, Error>(buffer)
        });
        let buffer = opened.await.map_err(Error::Read)??;
        let opened = Arc::new(Opened { chunks, buffer });
        self.keep(&opened);
        Ok(opened)
    }

    /// The chunk, if it is kept.
    fn kept(&self, chunk: u64) -> Option<Arc<Opened>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|opened| opened.chunks.start == chunk)?;
        let found = kept.remove(at)?;
        kept.push_back(Arc::clone(&found));
        Some(found)
    }

    fn keep(&self, opened: &Arc<Opened>) {
        if opened.chunks.end - opened.chunks.start > 1 {
            return; // a long read is seldom repeated
        }
        let most = KEPT_CHUNKS.min(KEPT / opened.buffer.len()).max(1);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|other| other.chunks != opened.chunks); // another read was under way too
        while kept.len() >= most {
            kept.pop_front();
        }
        kept.push_back(Arc::clone(opened));
    }
}

/// Requests to a source.
struct Requests<'a, S>(&'a S);

impl<S: AsyncReadAt> Fetch for Requests<'_, S> {
    async fn fetch(&mut self, buffer: &mut [u8], offset: u64) -> Result<usize, Error> {
        let mut len = buffer.len();
        while len > 0 {
            match self.0.read_at(&mut buffer[..len], offset).await {
                // The file is shorter than it said.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    let there = self.0.size().await.map_err(Error::Read)?.saturating_sub(offset);
                    match usize::try_from(there) {
                        Ok(there) if there < len => len = there,
                        _ => return Err(Error::Read(error)),
                    }
                }
                read => return read.map_err(Error::Read).map(|()| len),
            }
        }
        Ok(0)
    }
}

impl<S> fmt::Debug for RangeReader<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RangeReader").field("chunks", &self.chunks).finish_non_exhaustive()
    }
}
