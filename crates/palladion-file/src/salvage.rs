//! What is intact in a damaged file.

use std::io::{self, Read};
use std::ops::Range;

use crate::chunk::{Chunk, ChunkSize, FRAME_LEN, OVERHEAD};
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

/// Opens every chunk at its place. All but the last have one length, so a damaged one hides no
/// other.
pub(crate) fn run(
    header: &Header,
    cipher: &Cipher,
    mut input: impl Read,
    mut check: impl FnMut() -> Result<(), Error>,
    mut write: impl FnMut(u64, &[u8]) -> io::Result<()>,
    mut progress: impl FnMut(u64),
) -> Result<Salvaged, Error> {
    let size = header.chunk_size;
    let buffer = || size.buffer().map_err(|error| Error::Read(error.into()));
    let (mut sealed, mut opened) = (buffer()?, buffer()?);
    let mut found = Salvaged {
        intact: Summary { algorithm: header.algorithm, bytes: 0, chunks: 0 },
        missing: Vec::new(),
        has_end: false,
        has_trailing_data: false,
        read_error: None,
    };
    for counter in 0.. {
        check()?;
        let len = match read_full(&mut input, &mut sealed[..size.buffer_len()]) {
            Err(Error::Read(error)) => {
                found.read_error = Some(error.kind());
                break;
            }
            read => read?,
        };
        let begin = counter * size.bytes() as u64;
        let mut end = begin + len.saturating_sub(OVERHEAD) as u64;
        if let Some(chunk) = open(cipher, counter, size, &sealed[..len], &mut opened)? {
            let text = &opened[FRAME_LEN..][..chunk.len];
            write(begin, text).map_err(Error::Write)?;
            found.intact.add(text.len() as u64);
            end = begin + text.len() as u64;
            if chunk.last {
                found.has_end = true;
                found.has_trailing_data = chunk.sealed_len() < len
                    || read_full(&mut input, &mut [0]).is_ok_and(|n| n > 0);
            }
        } else if begin < end {
            match found.missing.last_mut().filter(|last| last.end == begin) {
                Some(last) => last.end = end,
                None => found.missing.push(begin..end),
            }
        }
        progress(end);
        if found.has_end || len < size.buffer_len() {
            break;
        }
    }
    Ok(found)
}

/// Opens a chunk into a buffer, if it is intact. Its frame may be damaged, but only three chunks
/// can be here: the one that the frame announces, a full one, and a last one that ends the input.
fn open(
    cipher: &Cipher,
    counter: u64,
    size: ChunkSize,
    sealed: &[u8],
    opened: &mut [u8],
) -> Result<Option<Chunk>, Error> {
    let announced = sealed.first_chunk().and_then(|f| Chunk::from_frame(*f, counter, size));
    let full = Chunk { counter, len: size.bytes(), last: false };
    let rest = Chunk { counter, len: sealed.len().saturating_sub(OVERHEAD), last: true };
    for chunk in [announced, Some(full), Some(rest)].into_iter().flatten() {
        if chunk.fits(size) && chunk.sealed_len() <= sealed.len() {
            opened[..sealed.len()].copy_from_slice(sealed);
            match chunk.open(cipher, 0, opened) {
                Ok(_) => return Ok(Some(chunk)),
                Err(Error::Damaged { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(None)
}
