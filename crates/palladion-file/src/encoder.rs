//! The bytes of a new file, from plaintext in pieces of any length.

use std::fmt;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::Arc;
use std::task::{Poll, ready};

use palladion::{Algorithm, Buffer};

use crate::chunk::{self, Chunk, ChunkSize, Cut, FRAME_LEN, OVERHEAD};
use crate::cipher::{Cipher, TAG_LEN};
use crate::error::Error;
use crate::header::Header;
use crate::io::Reason;
use crate::kdf::KdfParams;
use crate::secret::Secret;
use crate::slots::NewSlots;
use crate::start::{For, NewStart};

/// How much plaintext to have memory for at first. A longer file takes that of a chunk.
const SHORT: usize = 32 << 10;

/// Encrypts a file. It does no input or output, starts no threads, and wipes its memory: that of
/// one chunk, or less for a short file.
///
/// [`push`](Self::push) plaintext. If not all is taken, take what is [`ready`](Self::ready) of the
/// file, and push the rest. After [`end`](Self::end), take what is ready until the file
/// [is complete](Self::is_complete). An error is final, because a file that lacks something must
/// not pass for a complete one.
///
/// ```
/// use palladion_file::sans_io::Encoder;
/// use palladion_file::{Algorithm, ChunkSize, KdfParams, MasterKey};
///
/// let key = MasterKey::generate()?;
/// let (algorithm, size) = (Algorithm::default(), ChunkSize::MIN);
/// let mut encoder = Encoder::new(&key, algorithm, size, KdfParams::default())?;
/// let (mut text, mut file) = (&[7; 5000][..], Vec::new());
/// while !encoder.is_complete() {
///     match encoder.push(text)? {
///         0 if text.is_empty() => encoder.end()?,
///         taken => text = &text[taken..],
///     }
///     let ready = encoder.ready()?;
///     file.extend_from_slice(ready);
///     let len = ready.len();
///     encoder.consume(len);
/// }
/// # Ok::<(), palladion_file::Error>(())
/// ```
pub struct Encoder {
    cipher: Arc<Cipher>,
    cut: Cut,
    /// The plaintext of the next chunk, after the place of its frame.
    text: Option<Buffer>,
    len: usize,
    /// How much of it to have memory for at first.
    expected: usize,
    /// A chunk to seal, whose plaintext lies in `text`, or in `out` if it is apart.
    full: Option<Chunk>,
    is_apart: bool,
    /// The header, the head, a chunk that was set apart, or the spare.
    out: Option<Buffer>,
    /// What comes after the last chunk of a file with key slots, until it is ready.
    spare: Option<Buffer>,
    /// The bytes of the file to take: those of the chunk in `text` if `is_in_text`, or of `out`.
    ready: Range<usize>,
    is_in_text: bool,
    /// Another thread has `out`, to seal it.
    is_away: bool,
    /// There was no room for plaintext, which must come again before the end.
    is_missing: bool,
    failed: bool,
}

impl Encoder {
    /// Begins a file.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyPassphrase`], [`Error::KdfMemory`], [`Error::NoRandomness`],
    /// [`Error::Cipher`]; [`Error::Write`] if there is no memory.
    pub fn new<'a>(
        secret: impl Into<Secret<'a>>,
        algorithm: Algorithm,
        size: ChunkSize,
        kdf: KdfParams,
    ) -> Result<Self, Error> {
        Self::begin(NewStart::create(For::Secret(secret.into()), algorithm, size, kdf)?, size)
    }

    /// Begins a file with [key slots](crate::slots), which several secrets can open: one for each
    /// slot.
    ///
    /// # Errors
    ///
    /// Those of [`Head::create`](crate::slots::Head::create); [`Error::Cipher`]; [`Error::Write`]
    /// if there is no memory.
    pub fn with_slots<'a>(
        slots: impl Into<NewSlots<'a>>,
        algorithm: Algorithm,
        size: ChunkSize,
    ) -> Result<Self, Error> {
        let kdf = KdfParams::default(); // the slots have their own
        Self::begin(NewStart::create(For::Slots(slots.into()), algorithm, size, kdf)?, size)
    }

    /// Like [`new`](Self::new), with a salt: 32 random bytes, **new for each file**. Two files with
    /// one secret and one salt have one key and the same nonces.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_salt<'a>(
        secret: impl Into<Secret<'a>>,
        algorithm: Algorithm,
        size: ChunkSize,
        kdf: KdfParams,
        salt: &[u8; 32],
    ) -> Result<Self, Error> {
        let (header, cipher) = Header::with_salt(secret.into(), algorithm, size, kdf, salt)?;
        Self::begin(NewStart { bytes: header.to_vec(), cipher, has_spare: false }, size)
    }

    fn begin(start: NewStart, size: ChunkSize) -> Result<Self, Error> {
        let copy = || {
            let mut copy = memory(start.bytes.len())?;
            copy.copy_from_slice(&start.bytes);
            Ok::<_, Error>(copy)
        };
        Ok(Self {
            cut: Cut::new(size),
            text: None,
            len: 0,
            expected: SHORT,
            full: None,
            is_apart: false,
            out: Some(copy()?),
            spare: if start.has_spare { Some(copy()?) } else { None },
            ready: 0..start.bytes.len(),
            is_in_text: false,
            is_away: false,
            is_missing: false,
            failed: false,
            cipher: Arc::new(start.cipher),
        })
    }

    /// Says how much plaintext will come, if that is known. The encoder then takes memory for that
    /// much at once, or for a chunk if that is less. If more comes, it takes more.
    pub fn expect(&mut self, len: usize) {
        self.expected = len;
    }

    /// Takes plaintext, and returns how many bytes. After 0, the same plaintext must be pushed
    /// again once what is [`ready`](Self::ready) was taken.
    ///
    /// # Errors
    ///
    /// [`Error::Write`] after the end or an error, or if there is no memory.
    #[inline]
    pub fn push(&mut self, text: &[u8]) -> Result<usize, Error> {
        if text.is_empty() {
            return self.check().map(|()| 0);
        }
        let room = self.room()?;
        let taken = text.len().min(room.len());
        if taken == 0 {
            return Ok(0);
        }
        room[..taken].copy_from_slice(&text[..taken]);
        (self.len, self.is_missing) = (self.len + taken, false);
        Ok(taken)
    }

    /// Says that there is more plaintext, and returns the place for it. It is empty if what is
    /// [`ready`](Self::ready) must be taken first. Pass the number of bytes that were written
    /// there, at least one, to [`filled`](Self::filled).
    ///
    /// # Errors
    ///
    /// As [`push`](Self::push).
    #[inline]
    pub fn room(&mut self) -> Result<&mut [u8], Error> {
        let has_room = matches!(&self.text, Some(text) if self.len + OVERHEAD < text.len());
        if !has_room || self.failed || self.cut.ended() || self.text_is_taken() {
            return self.make_room();
        }
        let room = self.text.as_mut().map(|text| {
            let end = text.len() - TAG_LEN;
            &mut text[FRAME_LEN + self.len..end]
        });
        Ok(room.unwrap_or_default())
    }

    /// Returns whether the memory for the next chunk has the one before.
    #[inline]
    fn text_is_taken(&self) -> bool {
        self.is_in_text || self.full.is_some() && !self.is_apart
    }

    /// Returns whether nothing of the file is ready or comes before more plaintext.
    fn is_free(&self) -> bool {
        self.full.is_none() && self.ready.is_empty() && !self.is_away
    }

    /// Says that `len` bytes of plaintext were written to the start of the room.
    ///
    /// # Panics
    ///
    /// If there is less room.
    pub fn filled(&mut self, len: usize) {
        let text_len = self.text.as_ref().map_or(0, |text| text.len() - OVERHEAD);
        assert!(self.len + len <= text_len, "more than there is room for");
        (self.len, self.is_missing) = (self.len + len, false);
    }

    #[inline]
    fn make_room(&mut self) -> Result<&mut [u8], Error> {
        self.check()?;
        if self.cut.ended() {
            return Err(ended());
        }
        let is_taken = self.text_is_taken();
        if !is_taken && self.len < self.cut.size().bytes() {
            return self.grow();
        }
        // It waited until now, because it might have been the last.
        if !is_taken && self.is_free() {
            self.full = Some(self.cut.chunk(self.len, true));
        }
        self.is_missing = true;
        Ok(&mut [])
    }

    #[cold]
    fn grow(&mut self) -> Result<&mut [u8], Error> {
        let size = self.cut.size().bytes();
        let room = if self.text.is_none() { size.min(self.expected.max(1)) } else { size };
        let mut text = memory(room + OVERHEAD)?;
        if let Some(before) = &self.text {
            text[..FRAME_LEN + self.len].copy_from_slice(&before[..FRAME_LEN + self.len]);
        }
        Ok(&mut self.text.insert(text)[FRAME_LEN + self.len..FRAME_LEN + room])
    }

    /// Says that there is no more plaintext.
    ///
    /// # Errors
    ///
    /// [`Error::Write`] after an error, or if plaintext was not taken and not pushed again.
    pub fn end(&mut self) -> Result<(), Error> {
        self.check()?;
        if !self.cut.ended() {
            if self.is_missing {
                self.failed = true;
                let text = "plaintext was not taken, and did not come again";
                return Err(Error::Write(io::Error::other(Reason(text))));
            }
            if self.text.is_none() {
                self.text = Some(memory(OVERHEAD)?); // an empty file
            }
            self.full = Some(self.cut.chunk(self.len, false));
        }
        Ok(())
    }

    /// Returns the next bytes of the file that are ready; seals a chunk if need be. Returns none if
    /// more plaintext is needed.
    ///
    /// # Errors
    ///
    /// [`Error::Cipher`]; [`Error::Write`] after an error, or if there is no memory.
    #[inline]
    pub fn ready(&mut self) -> Result<&[u8], Error> {
        if self.failed || self.full.is_some() && self.ready.is_empty() {
            self.seal()?;
        }
        Ok(self.bytes())
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        let buffer = if self.is_in_text { &self.text } else { &self.out };
        buffer.as_ref().map_or(&[], |buffer| &buffer[self.ready.clone()])
    }

    #[inline]
    fn seal(&mut self) -> Result<(), Error> {
        self.check()?;
        let buffer = if self.is_apart { &mut self.out } else { &mut self.text };
        if let (Some(chunk), Some(buffer)) = (&self.full, buffer)
            && !self.is_away
        {
            self.failed = true; // unless it succeeds
            self.ready = 0..chunk.seal(&self.cipher, buffer)?.len();
            self.failed = false;
            (self.full, self.is_in_text, self.is_apart) = (None, !self.is_apart, false);
        }
        Ok(())
    }

    /// Says that the first `len` bytes of what is ready were taken, or all if there are fewer.
    #[inline]
    pub fn consume(&mut self, len: usize) {
        self.ready.start += len.min(self.ready.len());
        if self.ready.is_empty() && self.is_in_text {
            (self.is_in_text, self.len, self.ready) = (false, 0, 0..0);
        }
        self.go_on_to_spare();
    }

    /// Makes the spare ready once the last chunk was taken.
    #[inline]
    fn go_on_to_spare(&mut self) {
        if self.spare.is_some() && self.cut.ended() && self.is_free() {
            self.out = self.spare.take();
            self.ready = 0..self.out.as_ref().map_or(0, |out| out.len());
        }
    }

    /// Returns how many bytes [`take_into`](Self::take_into) takes; 0 if more plaintext is needed.
    #[must_use]
    #[inline]
    pub fn ready_len(&self) -> usize {
        match (self.ready.len(), self.full) {
            (0, Some(chunk)) if !self.is_away => chunk.sealed_len(),
            (ready, _) => ready,
        }
    }

    /// Takes what is ready, at once. A chunk is sealed on its way, which spares a copy; if that
    /// fails, no plaintext is in `out`.
    ///
    /// # Errors
    ///
    /// As [`ready`](Self::ready).
    ///
    /// # Panics
    ///
    /// If `out` has another length than [`ready_len`](Self::ready_len).
    pub fn take_into(&mut self, out: &mut [u8]) -> Result<(), Error> {
        assert_eq!(out.len(), self.ready_len(), "the length of what is ready");
        if let (0, false, Some(chunk), Some(text)) =
            (self.ready.len(), self.is_apart || self.failed, self.full, &self.text)
        {
            self.failed = true; // unless it succeeds
            chunk.seal_into(&self.cipher, text, out)?;
            (self.full, self.len, self.failed) = (None, 0, false);
            self.go_on_to_spare();
        } else {
            out.copy_from_slice(self.ready()?);
            self.consume(out.len());
        }
        Ok(())
    }

    /// Passes what is ready, one chunk at most, to `write`, until all of it is written. `write`
    /// returns how many bytes it wrote. If it panics or fails, that is final, but for
    /// [`ErrorKind::WouldBlock`], after which this can be called again, and
    /// [`ErrorKind::Interrupted`], after which this calls it again.
    ///
    /// # Errors
    ///
    /// Those of `write` and of [`ready`](Self::ready).
    pub fn poll_write(
        &mut self,
        mut write: impl FnMut(&[u8]) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<()>> {
        self.ready()?;
        while !self.ready.is_empty() {
            let written = match ready!(self.guarded(&mut write)) {
                Ok(0) => {
                    self.failed = true;
                    return Poll::Ready(Err(ErrorKind::WriteZero.into()));
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                written => written?,
            };
            self.consume(written);
        }
        Poll::Ready(Ok(()))
    }

    /// Does something else with the output, such as a flush. Its errors are as final as those of
    /// [`poll_write`](Self::poll_write).
    ///
    /// # Errors
    ///
    /// Those of `work`; [`Error::Write`] after an error.
    pub fn poll_flush(
        &mut self,
        work: impl FnOnce() -> Poll<io::Result<()>>,
    ) -> Poll<io::Result<()>> {
        self.check()?;
        self.guarded(|_| work())
    }

    /// Runs the caller's code with what is ready. After an error, or a panic, bytes may be missing,
    /// and nothing may follow them.
    fn guarded<T>(
        &mut self,
        work: impl FnOnce(&[u8]) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        self.failed = true;
        let done = work(self.bytes());
        self.failed = matches!(&done, Poll::Ready(Err(error))
            if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted));
        done
    }

    /// Returns whether the file was ended, and all of it taken.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.cut.ended() && self.ready_len() == 0 && !self.is_away && !self.failed
    }

    #[inline]
    fn check(&self) -> Result<(), Error> {
        if self.failed { Err(failed()) } else { Ok(()) }
    }
}

#[cold]
fn failed() -> Error {
    Error::Write(io::Error::other(Reason("an earlier write failed, so the file has no valid end")))
}

#[cold]
fn ended() -> Error {
    Error::Write(io::Error::new(ErrorKind::InvalidInput, Reason("the file was ended")))
}

fn memory(len: usize) -> Result<Buffer, Error> {
    chunk::buffer(len).map_err(|error| Error::Write(error.into()))
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder")
            .field("cut", &self.cut)
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}

/// For another thread that seals chunks.
#[cfg(feature = "tokio")]
impl Encoder {
    /// Sets a chunk that is to be sealed apart, so that plaintext can come before it is taken. That
    /// needs memory for another chunk.
    pub(crate) fn set_apart(&mut self) -> Result<(), Error> {
        let Some(chunk) = self.full.filter(|_| !self.is_apart && self.ready.is_empty()) else {
            return self.check();
        };
        std::mem::swap(&mut self.text, &mut self.out);
        (self.is_apart, self.len) = (true, 0);
        let len = self.cut.size().buffer_len();
        // `out` may have been a header, or a head, which is longer than a small chunk.
        if !chunk.last && self.text.as_ref().is_none_or(|text| text.len() != len) {
            self.text = Some(memory(len)?);
        }
        Ok(())
    }

    /// Takes the chunk that was set apart, to be sealed by another thread.
    pub(crate) fn job(&mut self) -> Option<Job> {
        let (chunk, buffer) = (self.full.take()?, self.out.take()?);
        (self.is_apart, self.is_away) = (false, true);
        Some(Job { cipher: Arc::clone(&self.cipher), chunk, buffer })
    }

    /// Takes the result of a job, or the error that lost it.
    pub(crate) fn give(&mut self, done: io::Result<Sealed>) -> Result<(), Error> {
        self.failed = true; // unless it succeeds
        let (buffer, sealed) = done.map_err(Error::Write)?;
        self.ready = 0..sealed?;
        (self.out, self.is_away, self.failed) = (Some(buffer), false, false);
        Ok(())
    }

    /// The bytes that the next [`ready`](Self::ready) encrypts.
    pub(crate) fn cost(&self) -> usize {
        self.full.filter(|_| self.ready.is_empty()).map_or(0, |chunk| chunk.len)
    }

    /// Returns whether the next plaintext shows that the chunk before it is not the last.
    pub(crate) fn is_full(&self) -> bool {
        self.len == self.cut.size().bytes()
    }
}

/// A chunk to seal.
#[cfg(feature = "tokio")]
pub(crate) struct Job {
    cipher: Arc<Cipher>,
    chunk: Chunk,
    buffer: Buffer,
}

/// A buffer, and how much of it is a sealed chunk.
#[cfg(feature = "tokio")]
pub(crate) type Sealed = (Buffer, Result<usize, Error>);

#[cfg(feature = "tokio")]
impl Job {
    pub fn run(mut self) -> Sealed {
        let sealed = self.chunk.seal(&self.cipher, &mut self.buffer).map(|sealed| sealed.len());
        (self.buffer, sealed)
    }
}
