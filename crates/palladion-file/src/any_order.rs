//! Chunks in any order, without input and output.

use std::fmt;
use std::ops::Range;

use crate::chunk::{Chunk, FRAME_LEN};
use crate::cipher::Cipher;
use crate::header::Header;
use crate::layout::{self, Layout};
use crate::{Algorithm, ChunkSize, Error, KdfLimits, Secret};

/// Opens a file whose chunks are then read in any order. It says which bytes of the file it wants
/// and checks them: the last chunk, which proves that the file ends there. If the file does not,
/// it wants more of it, to find out what happened.
///
/// ```
/// use palladion_file::sans_io::Opening;
/// use palladion_file::{Encryptor, HEADER_LEN, KdfLimits, MasterKey};
///
/// let key = MasterKey::generate()?;
/// let mut file = Vec::new();
/// Encryptor::new(&key).run(&b"some text"[..], &mut file)?;
///
/// let (header, limits) = (&file[..HEADER_LEN], KdfLimits::default());
/// let mut opening = Opening::new(&key, &limits, header, file.len() as u64)?;
/// while let Some(range) = opening.wants() {
///     opening = opening.give(&mut file[range.start as usize..range.end as usize].to_vec())?;
/// }
/// let chunks = opening.finish();
///
/// assert_eq!(chunks.layout().plaintext_len(), 9);
/// let range = chunks.layout().sealed(0..1);
/// let mut chunk = file[range.start as usize..range.end as usize].to_vec();
/// assert_eq!(chunks.open(0, &mut chunk)?, b"some text");
/// # Ok::<(), palladion_file::Error>(())
/// ```
#[derive(Debug)]
pub struct Opening {
    cipher: Cipher,
    algorithm: Algorithm,
    size: ChunkSize,
    file_len: u64,
    /// The chunk at the end of the file, or the one that would come there.
    end: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The file should end with the last chunk of this layout.
    End(Layout),
    /// It does not. The first chunk that does not announce another one is in this range, or at its
    /// end.
    Search(Range<u64>, Error),
    /// This chunk does not: if it is the last one, data was appended to the file.
    Appended(u64, Error),
    Opened(Layout),
}

impl Opening {
    /// Checks the header and the secret. `header` is the first [`HEADER_LEN`](crate::HEADER_LEN)
    /// bytes of the file, or fewer if the file is shorter.
    ///
    /// # Errors
    ///
    /// The errors about a header, a secret or the cost of a passphrase; [`Error::Truncated`].
    pub fn new<'a>(
        secret: impl Into<Secret<'a>>,
        limits: &KdfLimits,
        header: &[u8],
        file_len: u64,
    ) -> Result<Self, Error> {
        let header = Header::from_start(header)?;
        let cipher = header.open(secret.into(), limits)?;
        let (algorithm, size) = (header.algorithm, header.chunk_size);
        let (end, state) = match Layout::of_file(size, file_len) {
            Some(layout) => (layout.chunks() - 1, State::End(layout)),
            None => {
                let end = Layout::full_chunks(size, file_len);
                let error = Error::Truncated { chunk: Some(end), offset: file_len };
                (end, State::Search(0..end, error))
            }
        };
        Self { cipher, algorithm, size, file_len, end, state }.settle()
    }

    /// The most plaintext in a chunk.
    #[must_use]
    pub fn chunk_size(&self) -> ChunkSize {
        self.size
    }

    /// The bytes of the file to [`give`](Self::give) next; `None` once it is open.
    #[must_use]
    pub fn wants(&self) -> Option<Range<u64>> {
        let start = layout::offset(self.size, self.wanted_chunk());
        Some(match self.state {
            State::End(_) => start..self.file_len,
            State::Search(..) => start..start + FRAME_LEN as u64,
            State::Appended(..) => start..start + self.size.buffer_len() as u64,
            State::Opened(_) => return None,
        })
    }

    fn wanted_chunk(&self) -> u64 {
        match &self.state {
            State::Search(chunks, _) => chunks.start.midpoint(chunks.end),
            State::Appended(chunk, _) => *chunk,
            State::End(_) | State::Opened(_) => self.end,
        }
    }

    /// Takes the bytes that it wants, or fewer if the file ended earlier. Once they open the file,
    /// they are its last chunk: frame, plaintext and tag.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`], [`Error::TrailingData`] or [`Error::Damaged`], if the file does not
    /// end with its last chunk.
    ///
    /// # Panics
    ///
    /// If it wants nothing.
    pub fn give(mut self, bytes: &mut [u8]) -> Result<Self, Error> {
        let wanted = self.wants().expect("the file is open");
        let (begin, counter) = (wanted.start, self.wanted_chunk());
        if (bytes.len() as u64) < wanted.end - begin {
            let offset = begin + bytes.len() as u64;
            return Err(Error::Truncated { chunk: Some(counter), offset });
        }
        let frame = bytes.first_chunk().expect("a frame is wanted, or more");
        let announced = Chunk::from_frame(*frame, counter, self.size);
        let fits = announced.filter(|chunk| chunk.sealed_len() <= bytes.len());
        self.state = match self.state {
            State::Search(chunks, error) => match announced.is_some_and(|chunk| !chunk.last) {
                true => State::Search(counter + 1..chunks.end, error),
                false => State::Search(chunks.start..counter, error),
            },
            State::End(layout) => match fits {
                Some(chunk) if opens(&self.cipher, &chunk, bytes)? => match chunk.last {
                    true if chunk.sealed_len() == bytes.len() => State::Opened(layout),
                    true => return Err(trailing_data(begin, &chunk)),
                    false => {
                        let (chunk, offset) = (Some(counter + 1), self.file_len);
                        return Err(Error::Truncated { chunk, offset });
                    }
                },
                _ => {
                    let error = match (announced, fits) {
                        (Some(_), None) => {
                            Error::Truncated { chunk: Some(counter), offset: self.file_len }
                        }
                        _ => Error::Damaged { chunk: counter, offset: begin },
                    };
                    State::Search(0..self.end, error)
                }
            },
            State::Appended(_, error) => match fits {
                // It is a last chunk: others were passed over.
                Some(chunk) if opens(&self.cipher, &chunk, bytes)? => {
                    return Err(trailing_data(begin, &chunk));
                }
                _ => return Err(error),
            },
            State::Opened(_) => unreachable!("it wants nothing"),
        };
        self.settle()
    }

    /// Ends a search that has nothing left to look at.
    fn settle(mut self) -> Result<Self, Error> {
        self.state = match self.state {
            State::Search(chunks, error) if chunks.is_empty() => match chunks.start == self.end {
                true => return Err(error),
                false => State::Appended(chunks.start, error),
            },
            state => state,
        };
        Ok(self)
    }

    /// The open file.
    ///
    /// # Panics
    ///
    /// If it still [wants](Self::wants) something.
    #[must_use]
    pub fn finish(self) -> ChunkOpener {
        let State::Opened(layout) = self.state else { panic!("the last chunk is not verified") };
        ChunkOpener { cipher: self.cipher, algorithm: self.algorithm, layout }
    }
}

fn opens(cipher: &Cipher, chunk: &Chunk, bytes: &mut [u8]) -> Result<bool, Error> {
    match chunk.open(cipher, 0, bytes) {
        Ok(_) => Ok(true),
        Err(Error::Damaged { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

fn trailing_data(begin: u64, last: &Chunk) -> Error {
    Error::TrailingData { offset: begin + last.sealed_len() as u64 }
}

/// Opens the chunks of a file in any order. Its length is authentic: the last chunk was verified.
pub struct ChunkOpener {
    cipher: Cipher,
    algorithm: Algorithm,
    layout: Layout,
}

impl ChunkOpener {
    /// The algorithm of the file.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Returns where its chunks lie.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Decrypts a chunk in place, and returns its plaintext. `sealed` is what lies at
    /// [`Layout::sealed`]: frame, ciphertext and tag.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`], and the plaintext is zeroed; [`Error::Truncated`] if `sealed` is too
    /// short.
    ///
    /// # Panics
    ///
    /// If there is no such chunk.
    pub fn open<'a>(&self, chunk: u64, sealed: &'a mut [u8]) -> Result<&'a [u8], Error> {
        let (chunk, offset) = self.check(chunk, sealed)?;
        chunk.open(&self.cipher, offset, sealed)
    }

    /// Decrypts a chunk into `text`, which is as long as its plaintext.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`], and `text` is zeroed; [`Error::Truncated`] if `sealed` is too short.
    ///
    /// # Panics
    ///
    /// If there is no such chunk, or `text` has another length.
    pub fn open_into(&self, chunk: u64, sealed: &[u8], text: &mut [u8]) -> Result<(), Error> {
        let (chunk, offset) = self.check(chunk, sealed).inspect_err(|_| text.fill(0))?;
        assert_eq!(text.len(), chunk.len, "the length of chunk {}", chunk.counter);
        chunk.open_into(&self.cipher, offset, sealed, text)
    }

    /// The chunk, and where it begins in the file. Its frame follows from the layout, and so need
    /// not be trusted, but it must be right: a changed file is damaged.
    fn check(&self, counter: u64, sealed: &[u8]) -> Result<(Chunk, u64), Error> {
        assert!(counter < self.layout.chunks(), "chunk {counter} of {}", self.layout.chunks());
        let chunk = self.layout.chunk(counter);
        let offset = layout::offset(self.layout.chunk_size(), counter);
        if sealed.len() < chunk.sealed_len() {
            let offset = offset + sealed.len() as u64;
            return Err(Error::Truncated { chunk: Some(counter), offset });
        }
        match sealed[..FRAME_LEN] == chunk.frame() {
            true => Ok((chunk, offset)),
            false => Err(Error::Damaged { chunk: counter, offset }),
        }
    }
}

impl fmt::Debug for ChunkOpener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkOpener")
            .field("algorithm", &self.algorithm)
            .field("layout", &self.layout)
            .finish_non_exhaustive()
    }
}
