//! The places of a file's chunks.

use std::ops::Range;

use crate::chunk::{Chunk, ChunkSize, OVERHEAD};
use crate::header::HEADER_LEN;

/// The lengths of a file and of its plaintext, which follow from each other, and the place of each
/// chunk: chunk k of size S begins at `128 + k * (S + 36)`.
///
/// ```
/// use palladion_file::{ChunkSize, sans_io::Layout};
///
/// let size = ChunkSize::new(64 * 1024).unwrap();
/// let layout = Layout::of_plaintext(size, 100_000).unwrap();
/// assert_eq!((layout.chunks(), layout.file_len()), (2, 128 + 100_000 + 2 * 36));
/// // Which bytes of the file hold the last 10 bytes of the plaintext: the second chunk.
/// assert_eq!(layout.fetch(99_990..100_000), 65_700..100_200);
/// assert_eq!(Layout::of_file(size, 100_200), Some(layout));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    size: ChunkSize,
    len: u64,
    /// Where the first chunk begins. The spare of a file with slots has this length too.
    start: u64,
}

impl Layout {
    /// Returns the layout of a file with so many bytes of plaintext. `None` if its length is not a
    /// `u64`.
    #[must_use]
    pub fn of_plaintext(size: ChunkSize, len: u64) -> Option<Self> {
        let chunks = len.div_ceil(size.bytes() as u64).max(1);
        let overhead = chunks.checked_mul(OVERHEAD as u64)?.checked_add(HEADER_LEN as u64)?;
        len.checked_add(overhead).map(|_| Self { size, len, start: HEADER_LEN as u64 })
    }

    /// Returns the layout of a file of `file_len` bytes. `None` if no file has this length: it is
    /// too short, or its last chunk would have no plaintext.
    #[must_use]
    pub fn of_file(size: ChunkSize, file_len: u64) -> Option<Self> {
        Self::of_chunks(size, HEADER_LEN as u64, file_len)
    }

    /// The chunks between these offsets, if there can be such chunks.
    pub(crate) fn of_chunks(size: ChunkSize, start: u64, end: u64) -> Option<Self> {
        let full = Self::full_chunks(size, start, end);
        let rest = end.checked_sub(offset(size, start, full))?;
        let last = match (full, rest) {
            (1.., 0) => 0,
            (_, rest) => rest.checked_sub(OVERHEAD as u64)?,
        };
        // Only the single chunk of an empty file is empty.
        let is_one = last > 0 || full == 0 || rest == 0;
        is_one.then_some(Self { size, len: full * size.bytes() as u64 + last, start })
    }

    /// The layout of a file whose first chunk begins at `start`, with this last chunk.
    pub(crate) fn that_ends_with(size: ChunkSize, start: u64, last: &Chunk) -> Self {
        Self { size, start, len: last.counter * size.bytes() as u64 + last.len as u64 }
    }

    /// The number of full chunks that fit between these offsets.
    pub(crate) fn full_chunks(size: ChunkSize, start: u64, end: u64) -> u64 {
        end.saturating_sub(start) / size.buffer_len() as u64
    }

    /// Returns the most plaintext in a chunk.
    #[must_use]
    pub fn chunk_size(&self) -> ChunkSize {
        self.size
    }

    /// The length of the plaintext in bytes.
    #[must_use]
    pub fn plaintext_len(&self) -> u64 {
        self.len
    }

    /// The length of the file in bytes.
    #[must_use]
    pub fn file_len(&self) -> u64 {
        let spare = if self.start == HEADER_LEN as u64 { 0 } else { self.start };
        self.sealed(0..self.chunks()).end + spare
    }

    /// Returns where a chunk begins.
    pub(crate) fn offset(&self, chunk: u64) -> u64 {
        offset(self.size, self.start, chunk)
    }

    /// Returns where the first chunk begins.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// The number of chunks, at least 1.
    #[must_use]
    pub fn chunks(&self) -> u64 {
        self.len.div_ceil(self.size.bytes() as u64).max(1)
    }

    /// Returns where the plaintext of a chunk lies in the whole plaintext; an empty range after the
    /// last.
    #[must_use]
    pub fn plaintext(&self, chunk: u64) -> Range<u64> {
        let at = |chunk: u64| chunk.saturating_mul(self.size.bytes() as u64).min(self.len);
        at(chunk)..at(chunk.saturating_add(1))
    }

    /// Returns the chunks that hold a range of the plaintext, as far as there is any.
    #[must_use]
    pub fn chunks_of(&self, plaintext: Range<u64>) -> Range<u64> {
        let (start, end) = (plaintext.start.min(self.len), plaintext.end.min(self.len));
        let size = self.size.bytes() as u64;
        let first = start / size;
        first..if start < end { end.div_ceil(size) } else { first }
    }

    /// Returns where chunks lie in the file.
    ///
    /// # Panics
    ///
    /// If there are no such chunks.
    #[must_use]
    pub fn sealed(&self, chunks: Range<u64>) -> Range<u64> {
        assert!(chunks.end <= self.chunks(), "the file has {} chunks", self.chunks());
        if chunks.is_empty() {
            let start = offset(self.size, self.start, chunks.start);
            return start..start;
        }
        let last = self.chunk(chunks.end - 1);
        let end = offset(self.size, self.start, last.counter) + last.sealed_len() as u64;
        offset(self.size, self.start, chunks.start)..end
    }

    /// Returns where the chunks that hold a range of the plaintext lie in the file.
    #[must_use]
    pub fn fetch(&self, plaintext: Range<u64>) -> Range<u64> {
        self.sealed(self.chunks_of(plaintext))
    }

    pub(crate) fn chunk(&self, counter: u64) -> Chunk {
        let text = self.plaintext(counter);
        let last = counter == self.chunks() - 1;
        Chunk { counter, len: (text.end - text.start) as usize, last }
    }
}

/// Returns where a chunk begins in a file whose first one begins at `start`.
pub(crate) fn offset(size: ChunkSize, start: u64, counter: u64) -> u64 {
    start + counter * size.buffer_len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_files() {
        let size = ChunkSize::MIN;
        let mut expected = 0;
        for file_len in 0..6000 {
            match Layout::of_file(size, file_len) {
                // Every length of plaintext has one length of file.
                Some(layout) => {
                    assert_eq!(layout.plaintext_len(), expected, "{file_len}");
                    assert_eq!(layout.file_len(), file_len);
                    assert_eq!(Layout::of_plaintext(size, expected), Some(layout));
                    expected += 1;
                }
                None => {
                    let rest = (file_len + 36).saturating_sub(164) % 1060;
                    assert!(file_len < 164 || (1..=36).contains(&rest), "{file_len}");
                }
            }
        }
        assert!(expected > 5000);
        assert_eq!(Layout::of_plaintext(size, u64::MAX), None);
        let longest = Layout::of_file(size, u64::MAX - 1000).unwrap();
        assert_eq!(longest.file_len(), u64::MAX - 1000);
    }

    #[test]
    fn places() {
        for len in [0, 1, 1023, 1024, 1025, 2048, 2049] {
            let layout = Layout::of_plaintext(ChunkSize::MIN, len).unwrap();
            let mut at = HEADER_LEN as u64;
            for chunk in 0..layout.chunks() {
                let sealed = layout.sealed(chunk..chunk + 1);
                assert_eq!(sealed.start, at);
                at = sealed.end;
                let text = layout.plaintext(chunk);
                assert_eq!(text.end - text.start + 36, sealed.end - sealed.start);
            }
            assert_eq!(at, layout.file_len());
            assert_eq!(layout.sealed(0..layout.chunks()), 128..at);
            assert!(len == 0 || layout.fetch(0..u64::MAX) == (128..at));
            assert!(layout.chunks_of(len..len).is_empty());
            assert!(layout.fetch(u64::MAX..u64::MAX).is_empty());
        }
        let layout = Layout::of_plaintext(ChunkSize::MIN, 3000).unwrap();
        assert_eq!(layout.chunks_of(1023..1024), 0..1);
        assert_eq!(layout.chunks_of(1023..1025), 0..2);
        assert_eq!(layout.chunks_of(1024..1024), 1..1);
        assert_eq!(layout.chunks_of(2048..9999), 2..3);
    }
}
