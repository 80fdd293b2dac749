//! The plaintext of a file, from bytes that come in pieces of any length.

use std::fmt;
use std::io;
use std::mem;
use std::ops::Range;

use palladion::{Algorithm, Buffer};

use crate::chunk::{self, Chunk, FRAME_LEN, Place};
use crate::cipher::Cipher;
use crate::error::Error;
use crate::header::HEADER_LEN;
use crate::io::Reason;
use crate::kdf::KdfLimits;
use crate::secret::{OwnedSecret, Secret};
use crate::start::{End, Start};
use crate::summary::Spare;

/// Decrypts a file from its start to its end. It does no input or output, starts no threads, and
/// wipes its memory: that of one chunk, or less for a short file; or that of the key slots.
///
/// Write bytes of the file to the [`room`](Self::room), pass their number to
/// [`filled`](Self::filled), and take the [`text`](Self::text). An error is final: every later call
/// of `text` fails too, so nothing comes out that lies behind damage.
///
/// ```
/// use std::io::Read;
/// use palladion_file::sans_io::Decoder;
/// use palladion_file::{Encryptor, KdfLimits, MasterKey};
///
/// let key = MasterKey::generate()?;
/// let mut file = Vec::new();
/// Encryptor::new(&key).run(&b"some text"[..], &mut file)?;
///
/// let mut decoder = Decoder::new(&key, KdfLimits::default())?;
/// let (mut input, mut out) = (&file[..], Vec::new());
/// while !decoder.is_complete() {
///     let read = input.read(decoder.room()).expect("bytes in memory");
///     decoder.filled(read);
///     let text = decoder.text()?;
///     out.extend_from_slice(text);
///     let len = text.len();
///     decoder.consume(len);
/// }
/// assert_eq!(out, b"some text");
/// # Ok::<(), palladion_file::Error>(())
/// ```
pub struct Decoder {
    keys: Keys,
    /// The part of the file that the buffer holds, or gets next.
    part: Part,
    buffer: Buffer,
    /// How much of the buffer the file has filled.
    filled: usize,
    /// Whether the file has no more bytes.
    ended: bool,
    /// The plaintext in the buffer that was not consumed.
    text: Range<usize>,
}

enum Keys {
    /// What opens the file.
    Secret(Box<(OwnedSecret, KdfLimits)>),
    /// What the header, or the head, says.
    Opened(Box<Opened>),
}

struct Opened {
    cipher: Cipher,
    algorithm: Algorithm,
    place: Place,
    end: End,
    spare: Option<Spare>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    /// A header, or a head with key slots: so many bytes, as far as is known.
    Start(usize),
    Frame,
    /// The chunk that the frame before it announced, and where it begins in the file.
    Chunk(Chunk, u64),
    /// All came, and nothing follows it.
    End,
    /// There was an error, or a panic.
    Failed,
}

impl Decoder {
    /// Begins with the header, which the first [`text`](Self::text) checks. The limits are on what
    /// the file may make this machine spend on a passphrase.
    ///
    /// # Errors
    ///
    /// [`Error::Read`] if there is no memory.
    pub fn new<'a>(secret: impl Into<Secret<'a>>, limits: KdfLimits) -> Result<Self, Error> {
        Ok(Self {
            keys: Keys::Secret(Box::new((secret.into().into(), limits))),
            part: Part::Start(HEADER_LEN),
            buffer: memory(HEADER_LEN)?,
            filled: 0,
            ended: false,
            text: 0..0,
        })
    }

    /// The algorithm of the file, once the header was checked.
    #[must_use]
    pub fn algorithm(&self) -> Option<Algorithm> {
        match &self.keys {
            Keys::Secret(_) => None,
            Keys::Opened(opened) => Some(opened.algorithm),
        }
    }

    /// The spare of a file with [key slots](crate::slots), once the file
    /// [is complete](Self::is_complete); `None` for other files.
    #[must_use]
    pub fn spare(&self) -> Option<Spare> {
        match &self.keys {
            Keys::Secret(_) => None,
            Keys::Opened(opened) => opened.spare,
        }
    }

    /// How many bytes of the file the buffer must hold to go on.
    #[inline]
    fn wanted(&self) -> usize {
        match (self.part, &self.keys) {
            (Part::Start(len), _) => len,
            (Part::Frame, Keys::Opened(opened)) if opened.place.last_seen() => opened.end.len(),
            (Part::Frame, _) => FRAME_LEN,
            (Part::Chunk(chunk, _), _) => chunk.sealed_len(),
            (Part::End | Part::Failed, _) => 0,
        }
    }

    /// Returns the place for the next bytes of the file. It is empty while there is
    /// [`text`](Self::text) to take or to decrypt, and after the end or an error.
    #[inline]
    pub fn room(&mut self) -> &mut [u8] {
        let end = if self.ended || !self.text.is_empty() { 0 } else { self.wanted() };
        &mut self.buffer[self.filled.min(end)..end]
    }

    /// Says that the next `len` bytes of the file were written to the start of the room; 0, if
    /// there is room, that the file has ended.
    ///
    /// # Panics
    ///
    /// If there is less room.
    #[inline]
    pub fn filled(&mut self, len: usize) {
        let room = self.room().len();
        assert!(len <= room, "more than there is room for");
        self.filled += len;
        self.ended |= len == 0 && room > 0;
    }

    /// Takes bytes of the file, and returns how many: 0 if there is no [`room`](Self::room).
    pub fn push(&mut self, bytes: &[u8]) -> usize {
        let room = self.room();
        let taken = bytes.len().min(room.len());
        room[..taken].copy_from_slice(&bytes[..taken]);
        self.filled += taken;
        taken
    }

    /// Returns plaintext, at most that of one chunk. It is empty if more of the file is needed, or
    /// if the file [is complete](Self::is_complete).
    ///
    /// # Errors
    ///
    /// The errors of [`Decryptor`](crate::Decryptor) about the file and the secret; [`Error::Read`]
    /// if there is no memory, and after an error.
    #[inline]
    pub fn text(&mut self) -> Result<&[u8], Error> {
        while self.text.is_empty() && self.has_work() {
            self.step()?;
        }
        Ok(&self.buffer[self.text.clone()])
    }

    #[inline]
    fn has_work(&self) -> bool {
        self.part != Part::End && (self.ended || self.filled >= self.wanted())
    }

    /// Goes on with a part that came whole, or as far as the file reaches.
    fn step(&mut self) -> Result<(), Error> {
        // So it stays after an error.
        let part = mem::replace(&mut self.part, Part::Failed);
        self.part = match (part, &mut self.keys) {
            (Part::Start(_), Keys::Secret(secret)) => {
                let (bytes, secret, limits) =
                    (&self.buffer[..self.filled], Secret::from(&secret.0), &secret.1);
                let len = Start::len(bytes, secret)?;
                if self.filled < len && !self.ended {
                    grow(&mut self.buffer, self.filled, len)?;
                    Part::Start(len)
                } else {
                    let start = Start::open(bytes, secret, limits)?;
                    let place = start.first_chunk();
                    let Start { cipher, algorithm, end, .. } = start;
                    let opened = Opened { cipher, algorithm, place, end, spare: None };
                    self.keys = Keys::Opened(Box::new(opened));
                    self.filled = 0;
                    Part::Frame
                }
            }
            (Part::Frame, Keys::Opened(opened)) if opened.place.last_seen() => {
                let rest = &self.buffer[..self.filled];
                opened.spare = opened.end.judge(rest, opened.place.offset())?;
                Part::End
            }
            (Part::Frame, Keys::Opened(opened)) => {
                let (chunk, offset) = opened.place.frame(&self.buffer[..self.filled])?;
                // What follows the last chunk comes to its place.
                let len = if chunk.last { opened.end.len() } else { 0 };
                grow(&mut self.buffer, self.filled, chunk.sealed_len().max(len))?;
                Part::Chunk(chunk, offset)
            }
            (Part::Chunk(chunk, offset), Keys::Opened(opened)) => {
                opened.place.rest(&chunk, self.filled - FRAME_LEN)?;
                let text = chunk.open(&opened.cipher, offset, &mut self.buffer)?;
                self.text = FRAME_LEN..FRAME_LEN + text.len();
                self.filled = 0;
                Part::Frame
            }
            _ => {
                let error = io::Error::other(Reason("an earlier read of this file failed"));
                return Err(Error::Read(error));
            }
        };
        Ok(())
    }

    /// Says that the first `len` bytes of the text were taken, or all if there are fewer.
    #[inline]
    pub fn consume(&mut self, len: usize) {
        self.text.start += len.min(self.text.len());
    }

    /// Takes all of the text, without a copy: a buffer, and where in it the text is.
    ///
    /// # Errors
    ///
    /// As [`text`](Self::text).
    pub fn take_text(&mut self) -> Result<Option<(Buffer, Range<usize>)>, Error> {
        if self.text()?.is_empty() {
            return Ok(None);
        }
        let next = memory(self.wanted().max(FRAME_LEN))?;
        let buffer = mem::replace(&mut self.buffer, next);
        Ok(Some((buffer, mem::take(&mut self.text))))
    }

    /// The time that the next [`text`](Self::text) takes, as the number of bytes whose decryption
    /// takes as long. A passphrase is [`usize::MAX`], and so is a slot for age. If it is much, call
    /// `text` on another thread.
    #[must_use]
    pub fn cost(&self) -> usize {
        match (self.part, &self.keys) {
            _ if !self.text.is_empty() || !self.has_work() => 0,
            (Part::Chunk(chunk, _), _) => chunk.len,
            (_, Keys::Secret(secret)) if Secret::from(&secret.0).takes_long() => usize::MAX,
            _ => self.filled,
        }
    }

    /// Returns whether all of the text was taken, up to the end of the file, without an error.
    #[must_use]
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.part == Part::End
    }
}

/// Memory for a header, a head or a chunk.
fn memory(len: usize) -> Result<Buffer, Error> {
    chunk::buffer(len).map_err(|error| Error::Read(error.into()))
}

/// Makes a buffer as long as is needed, and keeps the `filled` bytes that it holds.
fn grow(buffer: &mut Buffer, filled: usize, len: usize) -> Result<(), Error> {
    if buffer.len() < len {
        let mut longer = memory(len)?;
        longer[..filled].copy_from_slice(&buffer[..filled]);
        *buffer = longer;
    }
    Ok(())
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("algorithm", &self.algorithm())
            .field("part", &self.part)
            .finish_non_exhaustive()
    }
}
