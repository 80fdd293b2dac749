//! What is intact in a damaged file.

use std::io::{self, Read};
use std::ops::Range;

use palladion::Buffer;

use crate::chunk::{self, Chunk, ChunkSize, FRAME_LEN, OVERHEAD};
use crate::cipher::Cipher;
use crate::error::Error;
use crate::header::{HEADER_LEN, Header};
use crate::io::{read_full, read_some};
use crate::kdf::KdfLimits;
use crate::secret::Secret;
use crate::slots::head::{Head, has_checksum};
use crate::start::{End, Start};
use crate::summary::{Spare, Summary};

/// The most chunk numbers to try before more of the input is read, and the most bytes to decrypt
/// for that. The lower limit counts.
const MOST_TRIES: u64 = 1 << 16;
const MOST_BYTES: u64 = 8 << 30;

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

/// Opens the start of a file, as far as it is intact. Also returns bytes of it that may be those of
/// chunks.
pub(crate) fn start(
    input: &mut dyn Read,
    secret: Secret<'_>,
    limits: &KdfLimits,
) -> Result<(Start, Vec<u8>), Error> {
    let mut bytes = vec![0; Head::MAX_LEN];
    let mut len = 0;
    let mut read_to = |bytes: &mut [u8], end: usize| {
        read_full(input, &mut bytes[len..end]).map(|read| len += read).map(|()| len)
    };
    let read = read_to(&mut bytes, HEADER_LEN)?;
    let header = Header::from_damaged(&bytes[..read])?;
    let Some(keyring) = secret.keyring_for_slots().filter(|_| header.has_slots()) else {
        let start = Start::read(&mut &header.as_bytes()[..], secret, limits)?;
        return Ok((start, Vec::new()));
    };
    let read = read_to(&mut bytes, Head::START_LEN)?;
    let head_len = Head::len_of_damaged(&bytes[..read]);
    let read = read_to(&mut bytes, head_len)?;
    let head = Head::parse_damaged(&bytes[..read])?;
    // Its length may be damaged too.
    let is_intact = has_checksum(head.as_bytes());
    let rest = if is_intact { Vec::new() } else { bytes[Head::MIN_LEN..read].to_vec() };
    Ok((Start::of_head(head, keyring, limits)?, rest))
}

/// Finds intact chunks, also where bytes before them were inserted or removed. The number of a
/// chunk is authentic, so text is never written to a wrong place.
pub(crate) fn run(
    start: Start,
    input: &mut dyn Read,
    check: &mut dyn FnMut() -> Result<(), Error>,
    write: &mut dyn FnMut(u64, &[u8]) -> io::Result<()>,
    progress: &mut dyn FnMut(u64),
) -> Result<Salvaged, Error> {
    let Start { cipher, algorithm, chunk_size: size, end: spare } = start;
    let (sealed_len, text_len) = (size.buffer_len(), size.bytes() as u64);
    let mut window = Window::new(WithoutSpare::new(input, spare), size)?;
    let mut finder = Finder::new(&cipher, size)?;
    let mut found = Salvaged {
        intact: Summary::new(algorithm),
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
        let mut chunk = finder.open(here, window.chunk(0))?.map(|chunk| (0, chunk));
        // Usually bytes were changed, and the following chunk is at its place.
        if chunk.is_none() && finder.open(here + 1, window.chunk(sealed_len))?.is_none() {
            chunk = finder.search(next, here, &window, check)?;
            if let Some((at, later)) = chunk
                && later.counter > next
            {
                // A copy of a later chunk may have been inserted: then the expected one follows.
                let after = at + later.sealed_len();
                let rest = window.chunk(after);
                chunk = None;
                for counter in [next, here, here + 1] {
                    if chunk.is_none() && counter < later.counter {
                        chunk = finder.open(counter, rest)?.map(|expected| (after, expected));
                    }
                }
                if chunk.is_none() && finder.try_open(&later, window.chunk(at))? {
                    chunk = Some((at, later));
                }
            }
        }
        finder.tries = finder.most_tries.min(finder.tries + 8);
        match chunk {
            Some((at, chunk)) if chunk.counter >= next => {
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
                    let rest = window.rest();
                    (found.has_trailing_data, found.intact.spare) = window.input.judge(&rest);
                    break;
                }
            }
            // A copy of an earlier chunk, or nothing intact.
            copy => {
                let place = window.chunk(0).len();
                window.skip(copy.map_or(place, |(at, copy)| at + copy.sealed_len()));
                end = here * text_len + place.saturating_sub(OVERHEAD) as u64;
                here += 1;
                progress(end);
                if window.bytes().is_empty() && window.ended {
                    break;
                }
            }
        }
    }
    if !found.has_end && next * text_len < end {
        found.missing.push(next * text_len..end);
    }
    if !found.has_end {
        found.intact.spare = window.input.judge(&[]).1;
    }
    found.read_error = window.input.error;
    Ok(found)
}

/// An input without the spare at its end, if that is intact: it is no chunk.
struct WithoutSpare<'a> {
    input: &'a mut dyn Read,
    end: End,
    /// What was read and not taken. Its last bytes may be the spare.
    held: Vec<u8>,
    ended: bool,
    spare: Option<Spare>,
    /// What ended the input too early. The rest is lost.
    error: Option<io::ErrorKind>,
}

impl<'a> WithoutSpare<'a> {
    fn new(input: &'a mut dyn Read, end: End) -> Self {
        Self { input, end, held: Vec::new(), ended: false, spare: None, error: None }
    }

    fn spare_len(&self) -> usize {
        self.end.len() - 1
    }

    /// Reads once. Returns 0 at the end, and after an error.
    fn read_input(&mut self, buffer: &mut [u8]) -> usize {
        if self.ended {
            return 0;
        }
        let read = read_some(&mut self.input, buffer);
        let read = read.inspect_err(|error| self.error = Some(error.kind())).unwrap_or(0);
        self.ended = read == 0;
        read
    }

    /// Reads some bytes before the spare. Returns 0 if there are no more.
    fn read(&mut self, buffer: &mut [u8]) -> usize {
        let spare_len = self.spare_len();
        if spare_len == 0 {
            return self.read_input(buffer);
        }
        while !self.ended && self.held.len() <= spare_len {
            let (filled, mut held) = (self.held.len(), std::mem::take(&mut self.held));
            held.resize(spare_len + buffer.len(), 0);
            let read = self.read_input(&mut held[filled..]);
            held.truncate(filled + read);
            self.held = held;
            if self.ended
                && self.error.is_none()
                && let Ok(Some(spare @ (Spare::Same | Spare::Differs))) =
                    self.end.judge(&self.held, 0)
            {
                self.spare = Some(spare);
                self.held.clear();
            }
        }
        let there = if self.ended { self.held.len() } else { self.held.len() - spare_len };
        let taken = there.min(buffer.len());
        buffer[..taken].copy_from_slice(&self.held[..taken]);
        self.held.drain(..taken);
        taken
    }

    /// Says of what follows the last chunk whether it is trailing data, and what the spare is.
    fn judge(&self, rest: &[u8]) -> (bool, Option<Spare>) {
        match (self.spare, self.end.judge(rest, 0)) {
            (Some(spare), _) => (!rest.is_empty(), Some(spare)),
            (None, Ok(spare)) => (false, spare),
            (None, Err(error)) => {
                let spare = (self.spare_len() > 0).then_some(Spare::Damaged);
                (matches!(error, Error::TrailingData { .. }), spare)
            }
        }
    }
}

/// Up to three sealed chunks of the input.
struct Window<'a> {
    input: WithoutSpare<'a>,
    sealed_len: usize,
    buffer: Buffer,
    len: usize,
    /// Where it begins, counted from the first chunk of the input.
    position: u64,
    ended: bool,
}

impl<'a> Window<'a> {
    fn new(input: WithoutSpare<'a>, size: ChunkSize) -> Result<Self, Error> {
        let sealed_len = size.buffer_len();
        let buffer = chunk::buffer(3 * sealed_len);
        let buffer = buffer.map_err(|error| Error::Read(error.into()))?;
        Ok(Self { input, sealed_len, buffer, len: 0, position: 0, ended: false })
    }

    /// Returns as many bytes from `at` on as a sealed chunk has, or fewer if the input ends before.
    fn chunk(&mut self, at: usize) -> &[u8] {
        let end = at + self.sealed_len;
        while self.len < end && !self.ended {
            let read = self.input.read(&mut self.buffer[self.len..end]);
            self.len += read;
            self.ended = read == 0;
        }
        let end = end.min(self.len);
        &self.buffer[at.min(end)..end]
    }

    fn bytes(&self) -> &[u8] {
        &self.buffer[..self.len]
    }

    /// Returns what follows the last chunk, as far as is needed to judge it.
    fn rest(&mut self) -> Vec<u8> {
        let mut rest = vec![0; self.input.end.len()];
        let mut filled = rest.len().min(self.len);
        rest[..filled].copy_from_slice(&self.bytes()[..filled]);
        while filled < rest.len() && !self.ended {
            let read = self.input.read(&mut rest[filled..]);
            filled += read;
            self.ended = read == 0;
        }
        rest.truncate(filled);
        rest
    }

    fn skip(&mut self, len: usize) {
        self.buffer.copy_within(len..self.len, 0);
        self.len -= len;
        self.position += len as u64;
    }
}

/// Opens chunks of which it is not known whether they are intact.
struct Finder<'a> {
    cipher: &'a Cipher,
    size: ChunkSize,
    /// The text of the chunk that was opened last.
    text: Buffer,
    /// How many numbers a search may still try. It grows with what is read, so that searching a
    /// hostile input takes no more than several times as long as reading it, and a few seconds.
    tries: usize,
    most_tries: usize,
    /// The last place where trying numbers did not help, and the first number not tried there.
    tried: Option<(u64, u64)>,
}

impl<'a> Finder<'a> {
    fn new(cipher: &'a Cipher, size: ChunkSize) -> Result<Self, Error> {
        let text = Buffer::new(0, size.bytes()).map_err(|error| Error::Read(error.into()))?;
        let most_tries = (MOST_BYTES >> size.log2()).min(MOST_TRIES) as usize;
        Ok(Self { cipher, size, text, tries: most_tries, most_tries, tried: None })
    }

    /// Opens the chunk with this number at the start of `sealed`, if it is intact. Its frame may be
    /// damaged, but only three chunks can be here: a last one that the frame announces, a full one,
    /// and a last one that ends the input.
    fn open(&mut self, counter: u64, sealed: &[u8]) -> Result<Option<Chunk>, Error> {
        let announced =
            sealed.first_chunk().and_then(|f| Chunk::from_frame(*f, counter, self.size));
        let full = Chunk { counter, len: self.size.bytes(), last: false };
        let rest = Chunk { counter, len: sealed.len().saturating_sub(OVERHEAD), last: true };
        let announced = announced.filter(|chunk| chunk.last);
        for chunk in [announced, Some(full), Some(rest)].into_iter().flatten() {
            if self.try_open(&chunk, sealed)? {
                return Ok(Some(chunk));
            }
        }
        Ok(None)
    }

    fn try_open(&mut self, chunk: &Chunk, sealed: &[u8]) -> Result<bool, Error> {
        if !chunk.fits(self.size) || chunk.sealed_len() > sealed.len() {
            return Ok(false);
        }
        match chunk.open_into(self.cipher, 0, sealed, &mut self.text[..chunk.len]) {
            Ok(()) => Ok(true),
            Err(Error::Damaged { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Searches for an intact chunk that begins in the first third of the window, and returns
    /// where. A chunk is recognised by its frame: that of a full chunk, or of a last one that ends
    /// the input. Random bytes look like one at one place in 2^32, so it pays to try many numbers.
    fn search(
        &mut self,
        next: u64,
        here: u64,
        window: &Window<'_>,
        check: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<Option<(usize, Chunk)>, Error> {
        let bytes = window.bytes();
        let full = Chunk { counter: here, len: self.size.bytes(), last: false }.frame();
        let candidate = |(at, frame): (usize, &[u8])| {
            if !window.ended && frame != full {
                return None;
            }
            let chunk = Chunk::from_frame(frame.try_into().ok()?, here, self.size)?;
            let end = at + chunk.sealed_len();
            (end == bytes.len() || end < bytes.len() && !chunk.last).then_some((at, chunk))
        };
        let frames = bytes.windows(FRAME_LEN).take(window.sealed_len).enumerate();
        let candidates: Vec<_> = frames.filter_map(candidate).take(self.tries).collect();
        // The likely numbers for everything that may be a chunk come before the others.
        for (at, chunk) in &candidates {
            for counter in [here, here + 1, next].into_iter().take(self.tries / 2) {
                self.tries -= 1;
                let chunk = Chunk { counter, ..*chunk };
                if self.try_open(&chunk, &bytes[*at..])? {
                    return Ok(Some((*at, chunk)));
                }
            }
        }
        let sealed_len = window.sealed_len as u64;
        for (at, chunk) in candidates {
            // Upwards and downwards from what is expected, and on from where the chunk before this
            // one failed.
            let position = window.position + at as u64;
            let on = self.tried.and_then(|(before, number)| {
                let distance = position.checked_sub(before)?;
                distance.is_multiple_of(sealed_len).then_some(number + distance / sealed_len)
            });
            let numbers =
                |n| [Some(next + 1 + n), next.checked_sub(1 + n), on.map(|first| first + n)];
            let mut reached = on.unwrap_or(next);
            // Half of what is left, in case this is no chunk at all.
            for counter in (0..).flat_map(numbers).flatten().take(self.tries / 2) {
                check()?;
                self.tries -= 1;
                reached = reached.max(counter + 1);
                let chunk = Chunk { counter, ..chunk };
                if self.try_open(&chunk, &bytes[at..])? {
                    return Ok(Some((at, chunk)));
                }
            }
            self.tried = Some((position, reached));
        }
        Ok(None)
    }
}
