//! Chunks: the frame that announces one, how one is sealed and opened, and how they are cut from an
//! input.
//!
//! A chunk in a file is `frame (4 bytes) || ciphertext || tag (32 bytes)`. In memory it lies in a
//! buffer of the same shape, so that it is encrypted in place and written with one call.

use std::collections::TryReserveError;
use std::io::Read;

use palladion::Buffer;

use crate::cipher::{Cipher, TAG_LEN};
use crate::error::Error;
use crate::io::read_full;

pub(crate) const FRAME_LEN: usize = 4;
pub(crate) const OVERHEAD: usize = FRAME_LEN + TAG_LEN;
const LAST: u32 = 1 << 31;

/// The number of plaintext bytes in a chunk: a power of two from 1 KiB to 16 MiB, by default 1 MiB.
///
/// With small chunks, decryption from a slow source returns data sooner. Each chunk costs 36 bytes
/// in the file.
///
/// ```
/// use palladion_file::ChunkSize;
///
/// assert_eq!(ChunkSize::default().bytes(), 1 << 20);
/// assert_eq!(ChunkSize::new(65536).unwrap().bytes(), 65536);
/// assert!(ChunkSize::new(1000).is_none());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChunkSize {
    log2: u8,
}

impl Default for ChunkSize {
    fn default() -> Self {
        Self { log2: 20 }
    }
}

impl ChunkSize {
    /// 1 KiB.
    pub const MIN: Self = Self { log2: 10 };
    /// 16 MiB.
    pub const MAX: Self = Self { log2: 24 };

    /// The chunk size of `bytes` bytes; `None` if it is not allowed.
    pub const fn new(bytes: usize) -> Option<Self> {
        if bytes.is_power_of_two() { Self::from_log2(bytes.trailing_zeros() as u8) } else { None }
    }

    /// Bytes of plaintext in a chunk.
    pub const fn bytes(self) -> usize {
        1 << self.log2
    }

    pub(crate) const fn from_log2(log2: u8) -> Option<Self> {
        if Self::MIN.log2 <= log2 && log2 <= Self::MAX.log2 { Some(Self { log2 }) } else { None }
    }

    pub(crate) const fn log2(self) -> u8 {
        self.log2
    }

    /// Room for a whole chunk with its frame and tag.
    pub(crate) const fn buffer_len(self) -> usize {
        self.bytes() + OVERHEAD
    }
}

/// Memory for a sealed chunk of so many bytes; the plaintext begins at a cache line.
pub(crate) fn buffer(sealed_len: usize) -> Result<Buffer, TryReserveError> {
    Buffer::new(FRAME_LEN, sealed_len - FRAME_LEN)
}

/// One chunk in a buffer: which it is, and how much plaintext it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub counter: u64,
    pub len: usize,
    pub last: bool,
}

impl Chunk {
    /// Bytes of the sealed chunk: frame, ciphertext and tag.
    pub fn sealed_len(&self) -> usize {
        self.len + OVERHEAD
    }

    pub fn frame(&self) -> [u8; FRAME_LEN] {
        (self.len as u32 | if self.last { LAST } else { 0 }).to_le_bytes()
    }

    /// The chunk that a frame announces, if a chunk with this counter can be like that.
    pub fn from_frame(frame: [u8; FRAME_LEN], counter: u64, size: ChunkSize) -> Option<Self> {
        let word = u32::from_le_bytes(frame);
        let chunk = Self { counter, len: (word & !LAST) as usize, last: word & LAST != 0 };
        chunk.fits(size).then_some(chunk)
    }

    /// Returns whether the format allows this chunk: all but the last are full, and only the single
    /// chunk of an empty file is empty.
    pub fn fits(&self, size: ChunkSize) -> bool {
        match (self.last, self.len) {
            (false, len) => len == size.bytes(),
            (true, 0) => self.counter == 0,
            (true, len) => len <= size.bytes(),
        }
    }

    fn nonce(&self) -> [u8; 32] {
        let mut nonce = [0; 32];
        nonce[..8].copy_from_slice(&self.counter.to_le_bytes());
        nonce[8] = self.last.into();
        nonce
    }

    /// Turns `_ || plaintext || _` into `frame || ciphertext || tag`, and returns that.
    pub fn seal<'a>(&self, cipher: &Cipher, buffer: &'a mut [u8]) -> Result<&'a [u8], Error> {
        let buffer = &mut buffer[..self.sealed_len()];
        let (frame, rest) = buffer.split_at_mut(FRAME_LEN);
        let (text, tag) = rest.split_at_mut(self.len);
        frame.copy_from_slice(&self.frame());
        tag.copy_from_slice(&cipher.encrypt_in_place(&self.nonce(), frame, text)?);
        Ok(buffer)
    }

    /// Encrypts `_ || plaintext || _` into another buffer, which becomes `frame || ciphertext ||
    /// tag`.
    pub fn seal_into(&self, cipher: &Cipher, text: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let (frame, rest) = out.split_at_mut(FRAME_LEN);
        let (ciphertext, tag) = rest.split_at_mut(self.len);
        frame.copy_from_slice(&self.frame());
        let text = &text[FRAME_LEN..][..self.len];
        tag.copy_from_slice(&cipher.encrypt_into(&self.nonce(), frame, text, ciphertext)?);
        Ok(())
    }

    /// Turns `frame || ciphertext || tag` into `frame || plaintext || tag`, and returns the
    /// plaintext. If verification fails, the plaintext is zeroed.
    pub fn open<'a>(
        &self,
        cipher: &Cipher,
        offset: u64,
        buffer: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        self.open_rest(cipher, offset, &mut buffer[FRAME_LEN..self.sealed_len()])
    }

    /// Like [`open`](Self::open), with a buffer that begins after the frame, which follows from the
    /// chunk.
    pub fn open_rest<'a>(
        &self,
        cipher: &Cipher,
        offset: u64,
        rest: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        let (text, tag) = rest.split_at_mut(self.len);
        let tag = (&*tag).try_into().expect("32 bytes");
        match cipher.decrypt_in_place(&self.nonce(), &self.frame(), text, tag)? {
            true => Ok(text),
            false => Err(Error::Damaged { chunk: self.counter, offset }),
        }
    }

    /// Decrypts `frame || ciphertext || tag` into `text`, which is as long as the plaintext. If
    /// verification fails, it is zeroed. What follows the tag is ignored.
    pub fn open_into(
        &self,
        cipher: &Cipher,
        offset: u64,
        sealed: &[u8],
        text: &mut [u8],
    ) -> Result<(), Error> {
        let (ciphertext, tag) = sealed[FRAME_LEN..self.sealed_len()].split_at(self.len);
        let tag = tag.try_into().expect("32 bytes");
        match cipher.decrypt_into(&self.nonce(), &self.frame(), ciphertext, tag, text)? {
            true => Ok(()),
            false => Err(Error::Damaged { chunk: self.counter, offset }),
        }
    }
}

/// The chunks of a new file, in order. A full chunk is held back until it is known whether more
/// plaintext follows, because it might be the last.
#[derive(Debug)]
pub(crate) struct Cut {
    size: ChunkSize,
    next: u64,
    ended: bool,
}

impl Cut {
    pub fn new(size: ChunkSize) -> Self {
        Self { size, next: 0, ended: false }
    }

    pub fn size(&self) -> ChunkSize {
        self.size
    }

    /// Returns whether the last chunk was cut.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Returns the next chunk, which has `len` bytes, and is the last unless `more` follows.
    pub fn chunk(&mut self, len: usize, more: bool) -> Chunk {
        let chunk = Chunk { counter: self.next, len, last: !more };
        debug_assert!(chunk.fits(self.size) && !self.ended, "such a chunk cannot come here");
        self.next += 1;
        self.ended = !more;
        chunk
    }
}

/// Cuts plaintext into chunks. Reads one byte beyond a chunk to know whether it is the last.
pub(crate) struct PlainChunks<R> {
    reader: R,
    cut: Cut,
    ahead: Option<u8>,
}

impl<R: Read> PlainChunks<R> {
    pub fn new(reader: R, size: ChunkSize) -> Self {
        Self { reader, cut: Cut::new(size), ahead: None }
    }

    /// Reads the next chunk into a buffer as [`Chunk::seal`] wants it; `None` after the last. The
    /// buffer has room for a whole chunk, or for the whole input if that is shorter.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<Option<Chunk>, Error> {
        if self.cut.ended() {
            return Ok(None);
        }
        // The byte ahead lies where the tag will be written.
        let room = &mut buffer[FRAME_LEN..];
        let room_len = room.len().min(self.cut.size().bytes() + 1);
        let room = &mut room[..room_len];
        let mut len = 0;
        if let Some(byte) = self.ahead.take() {
            room[0] = byte;
            len = 1;
        }
        len += read_full(&mut self.reader, &mut room[len..])?;
        if len == room.len() {
            len -= 1;
            self.ahead = Some(room[len]);
        }
        Ok(Some(self.cut.chunk(len, self.ahead.is_some())))
    }
}

/// A position in a file, and the chunk that must come there.
pub(crate) struct Place {
    size: ChunkSize,
    next: u64,
    offset: u64,
    last_seen: bool,
}

impl Place {
    /// The place of a chunk, which begins at `offset`.
    pub fn new(size: ChunkSize, chunk: u64, offset: u64) -> Self {
        Self { size, next: chunk, offset, last_seen: false }
    }

    /// Returns whether the last chunk was read, so that the file must end here.
    pub fn last_seen(&self) -> bool {
        self.last_seen
    }

    /// Returns where the file was read to.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Takes a frame, or the part of it before the input ended. Returns the chunk that it
    /// announces, and where that chunk begins.
    pub fn frame(&mut self, bytes: &[u8]) -> Result<(Chunk, u64), Error> {
        let offset = self.offset;
        if self.last_seen {
            return Err(Error::TrailingData { offset });
        }
        self.advance(bytes.len(), FRAME_LEN)?;
        let frame = bytes.try_into().expect("as long as a frame");
        let chunk = Chunk::from_frame(frame, self.next, self.size)
            .ok_or(Error::Damaged { chunk: self.next, offset })?;
        Ok((chunk, offset))
    }

    /// Moves past the ciphertext and tag after a frame, of which `len` bytes came before the input
    /// ended.
    pub fn rest(&mut self, chunk: &Chunk, len: usize) -> Result<(), Error> {
        self.advance(len, chunk.sealed_len() - FRAME_LEN)?;
        self.next += 1;
        self.last_seen = chunk.last;
        Ok(())
    }

    fn advance(&mut self, len: usize, wanted: usize) -> Result<(), Error> {
        self.offset += len as u64;
        match len == wanted {
            true => Ok(()),
            false => Err(Error::Truncated { chunk: Some(self.next), offset: self.offset }),
        }
    }
}

/// Cuts a file, after its header, into sealed chunks.
pub(crate) struct SealedChunks<R> {
    reader: R,
    place: Place,
}

impl<R: Read> SealedChunks<R> {
    /// Cuts chunks from a reader that is at `place`.
    pub fn new(reader: R, place: Place) -> Self {
        Self { reader, place }
    }

    /// Returns whether the last chunk was read.
    pub fn last_seen(&self) -> bool {
        self.place.last_seen()
    }

    /// Reads what follows the last chunk, `most` bytes at most, and returns where it begins.
    pub fn rest(&mut self, most: usize) -> Result<(Vec<u8>, u64), Error> {
        let mut rest = vec![0; most];
        let len = read_full(&mut self.reader, &mut rest)?;
        rest.truncate(len);
        Ok((rest, self.place.offset))
    }

    /// Reads the next chunk into a buffer as [`Chunk::open`] wants it, with its place in the file.
    /// The buffer has room for a whole chunk, or for the first if that is the last.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<(Chunk, u64), Error> {
        let mut frame = [0; FRAME_LEN];
        let len = read_full(&mut self.reader, &mut frame)?;
        let (chunk, offset) = self.place.frame(&frame[..len])?;
        buffer[..FRAME_LEN].copy_from_slice(&frame);
        let len = read_full(&mut self.reader, &mut buffer[FRAME_LEN..chunk.sealed_len()])?;
        self.place.rest(&chunk, len)?;
        Ok((chunk, offset))
    }
}
