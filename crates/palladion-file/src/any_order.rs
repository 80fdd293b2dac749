//! Chunks in any order, without input and output.

use std::fmt;
use std::ops::Range;

use palladion::Algorithm;

use crate::chunk::{Chunk, ChunkSize, FRAME_LEN, Place};
use crate::cipher::{Cipher, TAG_LEN};
use crate::error::Error;
use crate::header::{HEADER_LEN, Header};
use crate::kdf::KdfLimits;
use crate::layout::{self, Layout};
use crate::secret::Secret;
use crate::slots::head::Head;

/// Opens a file whose chunks are then read in any order. It says which bytes of the file it wants
/// and checks them: the first frame, and the last chunk, which proves that the file ends there. If
/// the file does not, it wants more of it, to find out what happened.
///
/// ```
/// use palladion_file::sans_io::Opening;
/// use palladion_file::{Encryptor, KdfLimits, MasterKey};
///
/// let key = MasterKey::generate()?;
/// let mut file = Vec::new();
/// Encryptor::new(&key).run(&b"some text"[..], &mut file)?;
///
/// let (start, limits) = (&file[..Opening::START_LEN], KdfLimits::default());
/// let mut opening = Opening::new(&key, &limits, start, file.len() as u64)?;
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
    /// Where the first chunk begins.
    start: u64,
    /// Without the spare of a file with slots.
    file_len: u64,
    /// The chunk at the end of the file, or the one that would come there.
    end: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The first chunk should announce another one.
    First,
    /// The file should end with its last chunk.
    End,
    /// It does not. The first chunk that does not announce another one is in this range, or at its
    /// end, which has this error.
    Search(Range<u64>, Error),
    /// This chunk should announce another one but does not.
    Fault(u64),
    Opened(Layout),
}

impl Opening {
    /// The bytes at the start of a file that open it without another request for the first frame.
    pub const START_LEN: usize = HEADER_LEN + FRAME_LEN;

    /// Checks the header and the secret. `start` is the first bytes of the file: at least
    /// [`HEADER_LEN`], or all if the file is shorter. With [`START_LEN`](Self::START_LEN) bytes it
    /// also checks the first frame, which it [wants](Self::wants) otherwise.
    ///
    /// # Errors
    ///
    /// The errors about a header, a secret or the cost of a passphrase; [`Error::Truncated`].
    pub fn new<'a>(
        secret: impl Into<Secret<'a>>,
        limits: &KdfLimits,
        start: &[u8],
        file_len: u64,
    ) -> Result<Self, Error> {
        let header = Header::from_start(start)?;
        let cipher = header.open(secret.into(), limits)?;
        Self::of_chunks(&header, cipher, HEADER_LEN, start, file_len)
    }

    /// Like [`new`](Self::new), for a file whose slots were opened.
    pub(crate) fn of_slots(
        head: &Head,
        cipher: Cipher,
        start: &[u8],
        file_len: u64,
    ) -> Result<Self, Error> {
        let len = head.as_bytes().len();
        let end = file_len.saturating_sub(len as u64).max(len as u64);
        Self::of_chunks(head.header(), cipher, len, start, end)
    }

    fn of_chunks(
        header: &Header,
        cipher: Cipher,
        header_len: usize,
        start: &[u8],
        file_len: u64,
    ) -> Result<Self, Error> {
        let (algorithm, size) = (header.algorithm, header.chunk_size);
        let end = match Layout::of_chunks(size, header_len as u64, file_len) {
            Some(layout) => layout.chunks() - 1,
            None => Layout::full_chunks(size, header_len as u64, file_len),
        };
        let state = if end == 0 { State::End } else { State::First };
        let opening =
            Self { cipher, algorithm, size, start: header_len as u64, file_len, end, state };
        match start.get(header_len..).and_then(<[u8]>::first_chunk::<FRAME_LEN>) {
            Some(frame) if end > 0 => opening.give(&mut { *frame }),
            _ => opening.settle(),
        }
    }

    fn offset(&self, chunk: u64) -> u64 {
        layout::offset(self.size, self.start, chunk)
    }

    /// Returns whether this frame announces a chunk after this one.
    fn goes_on(&self, frame: [u8; FRAME_LEN], counter: u64) -> bool {
        Chunk::from_frame(frame, counter, self.size).is_some_and(|chunk| !chunk.last)
    }

    /// The most plaintext in a chunk.
    #[must_use]
    pub fn chunk_size(&self) -> ChunkSize {
        self.size
    }

    /// The bytes of the file to [`give`](Self::give) next; `None` once it is open.
    #[must_use]
    pub fn wants(&self) -> Option<Range<u64>> {
        let start = self.offset(self.wanted_chunk());
        let len = match self.state {
            State::First | State::Search(..) => FRAME_LEN,
            State::End | State::Fault(_) => self.size.buffer_len(),
            State::Opened(_) => return None,
        };
        Some(start..self.file_len.min(start.saturating_add(len as u64)))
    }

    fn wanted_chunk(&self) -> u64 {
        match &self.state {
            State::First => 0,
            State::Search(chunks, _) => chunks.start.midpoint(chunks.end),
            State::Fault(chunk) => *chunk,
            State::End | State::Opened(_) => self.end,
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
        let counter = self.wanted_chunk();
        if (bytes.len() as u64) < wanted.end - wanted.start {
            let offset = wanted.start + bytes.len() as u64;
            return Err(Error::Truncated { chunk: Some(counter), offset });
        }
        let frame = *bytes.first_chunk().expect("a frame is wanted, or more");
        let goes_on = self.goes_on(frame, counter);
        self.state = match self.state {
            State::First if goes_on => State::End,
            State::First => State::Fault(0),
            State::End | State::Fault(_) => match self.judge(counter, bytes) {
                Ok(last) => State::Opened(Layout::that_ends_with(self.size, self.start, &last)),
                Err(error) if counter == self.end => self.search(error),
                Err(error) => return Err(error),
            },
            State::Search(chunks, error) => match goes_on {
                true => State::Search(counter + 1..chunks.end, error),
                false => State::Search(chunks.start..counter, error),
            },
            State::Opened(_) => unreachable!("it wants nothing"),
        };
        self.settle()
    }

    /// The first frame was checked already.
    fn search(&self, error: Error) -> State {
        State::Search(1.min(self.end)..self.end, error)
    }

    /// Opens a chunk as a reader from the start does, and returns it if it is the last chunk and
    /// ends the file.
    fn judge(&self, counter: u64, bytes: &mut [u8]) -> Result<Chunk, Error> {
        let mut place = Place::new(self.size, counter, self.offset(counter));
        let (frame, rest) = bytes.split_at_mut(FRAME_LEN);
        let (chunk, offset) = place.frame(frame)?;
        let rest_len = chunk.sealed_len() - FRAME_LEN;
        place.rest(&chunk, rest.len().min(rest_len))?;
        chunk.open_rest(&self.cipher, offset, &mut rest[..rest_len])?;
        let ends_file = offset + chunk.sealed_len() as u64 == self.file_len;
        match chunk.last && ends_file {
            true => Ok(chunk),
            false => place.frame(&[]).map(|(next, _)| next), // the error of what comes next
        }
    }

    /// Ends what has nothing left to look at.
    fn settle(mut self) -> Result<Self, Error> {
        let rest = self.file_len.saturating_sub(self.offset(self.end));
        if matches!(self.state, State::End) && rest < FRAME_LEN as u64 {
            let (chunk, offset) = (Some(self.end), self.file_len);
            self.state = self.search(Error::Truncated { chunk, offset });
        }
        self.state = match self.state {
            State::Search(chunks, error) if chunks.is_empty() => match chunks.start == self.end {
                true => return Err(error),
                false => State::Fault(chunks.start),
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
        let State::Opened(layout) = self.state else { panic!("the file is not open") };
        ChunkOpener { cipher: self.cipher, algorithm: self.algorithm, layout }
    }
}

/// Opens the chunks of a file in any order. Its length is authentic: the last chunk was verified.
pub struct ChunkOpener {
    cipher: Cipher,
    algorithm: Algorithm,
    layout: Layout,
}

impl ChunkOpener {
    /// Bytes before the text of a chunk.
    pub const FRAME_LEN: usize = FRAME_LEN;
    /// Bytes after it.
    pub const TAG_LEN: usize = TAG_LEN;

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
    /// [`Error::Damaged`], or [`Error::TrailingData`] if it is an authentic last chunk, but not the
    /// file's last; then the plaintext is zeroed. [`Error::Truncated`] if `sealed` is too short.
    ///
    /// # Panics
    ///
    /// If there is no such chunk.
    pub fn open<'a>(&self, chunk: u64, sealed: &'a mut [u8]) -> Result<&'a [u8], Error> {
        let (chunk, offset) = self.check(chunk, sealed)?;
        chunk.open(&self.cipher, offset, sealed)?;
        let text = &mut sealed[FRAME_LEN..][..chunk.len];
        self.check_end(&chunk, offset).inspect_err(|_| text.fill(0))?;
        Ok(text)
    }

    /// Decrypts a chunk into `text`, which is as long as its plaintext.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open); `text` is zeroed.
    ///
    /// # Panics
    ///
    /// If there is no such chunk, or `text` has another length.
    pub fn open_into(&self, chunk: u64, sealed: &[u8], text: &mut [u8]) -> Result<(), Error> {
        let expected = self.layout.chunk(chunk).len;
        assert_eq!(text.len(), expected, "the length of chunk {chunk}");
        let opened = self.check(chunk, sealed).and_then(|(chunk, offset)| {
            chunk.open_into(&self.cipher, offset, sealed, &mut text[..chunk.len])?;
            self.check_end(&chunk, offset)
        });
        opened.inspect_err(|_| text.fill(0))
    }

    /// The chunk to open, and where it begins in the file. Its frame follows from the layout, and
    /// so need not be trusted, but it must be right: a changed file is damaged. Before the end of
    /// the file, it can be that of a last chunk.
    fn check(&self, counter: u64, sealed: &[u8]) -> Result<(Chunk, u64), Error> {
        assert!(counter < self.layout.chunks(), "chunk {counter} of {}", self.layout.chunks());
        let chunk = self.layout.chunk(counter);
        let (size, offset) = (self.layout.chunk_size(), self.layout.offset(counter));
        if sealed.len() < chunk.sealed_len() {
            let offset = offset + sealed.len() as u64;
            return Err(Error::Truncated { chunk: Some(counter), offset });
        }
        let frame = sealed.first_chunk().expect("a frame");
        match Chunk::from_frame(*frame, counter, size) {
            Some(_) if *frame == chunk.frame() => Ok((chunk, offset)),
            Some(announced) if announced.last && !chunk.last => Ok((announced, offset)),
            _ => Err(Error::Damaged { chunk: counter, offset }),
        }
    }

    /// After the last chunk, the file must end.
    fn check_end(&self, chunk: &Chunk, offset: u64) -> Result<(), Error> {
        match chunk.last && chunk.counter + 1 < self.layout.chunks() {
            true => Err(Error::TrailingData { offset: offset + chunk.sealed_len() as u64 }),
            false => Ok(()),
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
