//! What is intact in a damaged file.

use std::io::{self, Read};
use std::iter;
use std::ops::Range;

use palladion::Buffer;

use crate::chunk::{self, Chunk, ChunkSize, OVERHEAD};
use crate::cipher::Cipher;
use crate::header::Header;
use crate::io::read_full;
use crate::{Error, Summary};

/// What [`Decryptor::salvage`](crate::Decryptor::salvage) found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Salvaged {
    /// The intact part: its bytes of plaintext, and its chunks.
    pub intact: Summary,
    /// The ranges of the plaintext that are missing before the end of the input, in order. The
    /// length of the last one is an estimate if the end is missing too.
    pub missing: Vec<Range<u64>>,
    /// Whether the last chunk of the file is intact. If not, any amount may be missing at the end.
    pub has_end: bool,
    /// Whether data follows the last chunk, which is ignored.
    pub has_trailing_data: bool,
    /// The error that ended the input before its end, if the disk is damaged too. What can be read
    /// after that place is lost; programs such as `ddrescue` copy it first.
    pub read_error: Option<io::ErrorKind>,
}

impl Salvaged {
    /// Returns whether all of the plaintext is intact.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.has_end && self.missing.is_empty()
    }
}

/// Finds every intact chunk, also where bytes before it were inserted or removed. The number of a
/// chunk is authentic, so text is never written to a wrong place.
pub(crate) fn run(
    header: &Header,
    cipher: &Cipher,
    input: impl Read,
    mut check: impl FnMut() -> Result<(), Error>,
    mut write: impl FnMut(u64, &[u8]) -> io::Result<()>,
    mut progress: impl FnMut(u64),
) -> Result<Salvaged, Error> {
    let size = header.chunk_size;
    let (sealed_len, text_len) = (size.buffer_len(), size.bytes() as u64);
    let mut window = Window::new(input, size)?;
    let mut finder = Finder::new(cipher, size)?;
    let mut found = Salvaged {
        intact: Summary { algorithm: header.algorithm, bytes: 0, chunks: 0 },
        missing: Vec::new(),
        has_end: false,
        has_trailing_data: false,
        read_error: None,
    };
    // The chunk after the last intact one, and the chunk that should be at the start of the window.
    let (mut next, mut here) = (0, 0);
    // Where the text of a damaged chunk at the end of the input would end.
    let mut end: u64;
    loop {
        check()?;
        window.fill(sealed_len)?;
        let mut chunk = finder.open(here, window.up_to(sealed_len))?.map(|chunk| (0, chunk));
        if chunk.is_none() {
            window.fill(2 * sealed_len)?;
            // Usually bytes were changed, and the following chunk is at its place.
            let after = window.bytes().get(sealed_len..).unwrap_or(&[]);
            if finder.open(here + 1, after)?.is_none() {
                chunk = finder.search(next, here, &window)?;
            }
        }
        if let Some((at, chunk)) = chunk {
            let (begin, text) = (chunk.counter * text_len, &finder.text[..chunk.len]);
            if chunk.counter > next {
                found.missing.push(next * text_len..begin);
            }
            write(begin, text).map_err(Error::Write)?;
            found.intact.add(chunk.len as u64);
            next = chunk.counter + 1;
            (here, end) = (next, 0);
            progress(begin + chunk.len as u64);
            window.skip(at + chunk.sealed_len());
            if chunk.last {
                found.has_end = true;
                window.fill(1)?;
                found.has_trailing_data = !window.bytes().is_empty();
                break;
            }
        } else {
            let len = window.up_to(sealed_len).len();
            window.skip(len);
            end = here * text_len + len.saturating_sub(OVERHEAD) as u64;
            here += 1;
            progress(end);
            if window.bytes().is_empty() && window.ended {
                break;
            }
        }
    }
    if !found.has_end && next * text_len < end {
        found.missing.push(next * text_len..end);
    }
    found.read_error = window.error;
    Ok(found)
}

/// Up to two sealed chunks of the input.
struct Window<R> {
    input: R,
    buffer: Buffer,
    len: usize,
    ended: bool,
    error: Option<io::ErrorKind>,
}

impl<R: Read> Window<R> {
    fn new(input: R, size: ChunkSize) -> Result<Self, Error> {
        let buffer = chunk::buffer(2 * size.buffer_len());
        let buffer = buffer.map_err(|error| Error::Read(error.into()))?;
        Ok(Self { input, buffer, len: 0, ended: false, error: None })
    }

    /// Reads on, until there are so many bytes or the input ends.
    fn fill(&mut self, len: usize) -> Result<(), Error> {
        if self.len >= len || self.ended {
            return Ok(());
        }
        match read_full(&mut self.input, &mut self.buffer[self.len..len]) {
            Ok(read) => self.len += read,
            // What comes after this place is lost.
            Err(Error::Read(error)) => self.error = Some(error.kind()),
            Err(error) => return Err(error),
        }
        self.ended = self.len < len;
        Ok(())
    }

    fn bytes(&self) -> &[u8] {
        &self.buffer[..self.len]
    }

    fn up_to(&self, len: usize) -> &[u8] {
        &self.buffer[..self.len.min(len)]
    }

    fn skip(&mut self, len: usize) {
        self.buffer.copy_within(len..self.len, 0);
        self.len -= len;
    }
}

/// Opens chunks of which it is not known whether they are intact.
struct Finder<'a> {
    cipher: &'a Cipher,
    size: ChunkSize,
    /// The text of the chunk that was opened last.
    text: Buffer,
    /// How many bytes a search may still decrypt. It grows with what is read, so that searching a
    /// hostile input takes no more than several times as long as reading it.
    budget: usize,
}

impl<'a> Finder<'a> {
    fn new(cipher: &'a Cipher, size: ChunkSize) -> Result<Self, Error> {
        let text = Buffer::new(0, size.bytes()).map_err(|error| Error::Read(error.into()))?;
        Ok(Self { cipher, size, text, budget: 4 << 20 })
    }

    /// Opens the chunk with this number at the start of `sealed`, if it is intact. Its frame may be
    /// damaged, but only three chunks can be here: the one that the frame announces, a full one,
    /// and a last one that ends the input.
    fn open(&mut self, counter: u64, sealed: &[u8]) -> Result<Option<Chunk>, Error> {
        let announced =
            sealed.first_chunk().and_then(|f| Chunk::from_frame(*f, counter, self.size));
        let full = Chunk { counter, len: self.size.bytes(), last: false };
        let rest = Chunk { counter, len: sealed.len().saturating_sub(OVERHEAD), last: true };
        for chunk in [announced, Some(full), Some(rest)].into_iter().flatten() {
            if chunk.fits(self.size) && self.try_open(&chunk, sealed)? {
                return Ok(Some(chunk));
            }
        }
        Ok(None)
    }

    fn try_open(&mut self, chunk: &Chunk, sealed: &[u8]) -> Result<bool, Error> {
        if chunk.sealed_len() > sealed.len() {
            return Ok(false);
        }
        match chunk.open_into(self.cipher, 0, sealed, &mut self.text[..chunk.len]) {
            Ok(()) => Ok(true),
            Err(Error::Damaged { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Searches for an intact chunk that begins in the first half of the window, and returns where.
    /// A chunk is recognised by its frame: that of a full chunk, or of a last one that ends the
    /// input. Its number is that of its place, if an equal number of bytes was lost and added, or
    /// not below `next`.
    fn search(
        &mut self,
        next: u64,
        here: u64,
        window: &Window<impl Read>,
    ) -> Result<Option<(usize, Chunk)>, Error> {
        self.budget = self.budget.saturating_add(8 * self.size.buffer_len());
        let (bytes, starts) = (window.bytes(), window.up_to(self.size.buffer_len() + 3));
        // The likely numbers for everything that may be a chunk come before the others.
        for (first, count) in [(0, 3), (3, usize::MAX)] {
            for at in 0..starts.len() {
                let frame = starts[at..].first_chunk();
                let chunk = frame.and_then(|f| Chunk::from_frame(*f, here, self.size));
                let Some(chunk) = chunk else { continue };
                if chunk.last && !(window.ended && at + chunk.sealed_len() == bytes.len()) {
                    continue;
                }
                // Half of what is left, in case this is no chunk at all.
                let tries = count.min(self.budget / 2 / chunk.sealed_len());
                for counter in iter::once(here).chain(next..).skip(first).take(tries) {
                    let chunk = Chunk { counter, ..chunk };
                    self.budget = self.budget.saturating_sub(chunk.sealed_len());
                    if chunk.fits(self.size) && self.try_open(&chunk, &bytes[at..])? {
                        return Ok(Some((at, chunk)));
                    }
                }
            }
        }
        Ok(None)
    }
}
