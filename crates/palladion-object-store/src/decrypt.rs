//! Decrypts the bytes of an object as they arrive.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use futures_util::future::ready;
use futures_util::stream::{BoxStream, StreamExt, TryStreamExt, try_unfold};
use object_store::Result;
use object_store::path::Path;
use palladion::Buffer;
use palladion_file::Error;
use palladion_file::sans_io::{ChunkOpener, Decoder, Layout};

use crate::blocking::{self, SHORT};
use crate::error::failed;

/// Bytes before the plaintext of a chunk.
const FRAME_LEN: usize = ChunkOpener::FRAME_LEN;

/// Collects what a stream delivers in pieces.
pub(crate) struct Reader {
    stream: BoxStream<'static, Result<Bytes>>,
    piece: Bytes,
}

impl Reader {
    pub fn new(stream: BoxStream<'static, Result<Bytes>>) -> Self {
        Self { stream, piece: Bytes::new() }
    }

    /// Fills the buffer, and returns how many bytes there were: fewer only if the stream ended.
    pub async fn fill(&mut self, mut buffer: &mut [u8]) -> Result<usize> {
        let len = buffer.len();
        while !buffer.is_empty() {
            if self.piece.is_empty() {
                let Some(piece) = self.stream.try_next().await? else { break };
                self.piece = piece;
            }
            let filled = buffer.len().min(self.piece.len());
            self.piece.copy_to_slice(&mut buffer[..filled]);
            buffer = &mut buffer[filled..];
        }
        Ok(len - buffer.len())
    }
}

/// Memory for bytes of an object that begin with the frame of a chunk.
fn buffer(len: usize) -> Result<Buffer, Error> {
    Buffer::new(FRAME_LEN, len.saturating_sub(FRAME_LEN)).map_err(|error| Error::Read(error.into()))
}

/// A part of an object that begins with a chunk. Its chunks are decrypted in place.
pub(crate) struct Piece {
    /// Where it begins in the object.
    start: u64,
    buffer: Buffer,
    /// The bytes that came.
    filled: usize,
    /// The chunks that are verified and decrypted.
    opened: BTreeSet<u64>,
}

impl Piece {
    /// Reads what lies at `range` of the object, or less if the stream ends.
    pub async fn read(location: &Path, reader: &mut Reader, range: Range<u64>) -> Result<Self> {
        let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let mut buffer = buffer(len).map_err(|error| failed(location, error))?;
        let filled = reader.fill(&mut buffer).await?;
        Ok(Self { start: range.start, buffer, filled, opened: BTreeSet::new() })
    }

    pub fn len(&self) -> usize {
        self.filled
    }

    /// What came from an offset of the object on.
    pub fn from(&mut self, offset: u64) -> &mut [u8] {
        let at = usize::try_from(offset - self.start).unwrap_or(usize::MAX).min(self.filled);
        &mut self.buffer[at..self.filled]
    }

    /// Decrypts a chunk, if it is not yet.
    pub fn open(&mut self, object: &ChunkOpener, chunk: u64) -> Result<(), Error> {
        if !self.opened.contains(&chunk) {
            let place = object.layout().sealed(chunk..chunk + 1);
            let sealed = self.from(place.start);
            let len = sealed.len().min((place.end - place.start) as usize);
            object.open(chunk, &mut sealed[..len])?;
            self.opened.insert(chunk);
        }
        Ok(())
    }

    /// Says that a chunk was decrypted in its place.
    pub fn set_opened(&mut self, chunk: u64) {
        self.opened.insert(chunk);
    }

    /// The decrypted chunks. Their memory is wiped when the last of their users drops them.
    pub fn finish(self) -> Opened {
        Opened { start: self.start, bytes: Bytes::from_owner(self.buffer), opened: self.opened }
    }
}

/// A part of an object with decrypted chunks.
pub(crate) struct Opened {
    start: u64,
    bytes: Bytes,
    opened: BTreeSet<u64>,
}

impl Opened {
    /// The wanted plaintext of a chunk; `None` if the chunk was not opened.
    pub fn text(&self, layout: &Layout, chunk: u64, wanted: &Range<u64>) -> Option<Bytes> {
        self.opened.get(&chunk)?;
        let text = layout.plaintext(chunk);
        let begin = layout.sealed(chunk..chunk + 1).start - self.start + FRAME_LEN as u64;
        let at = |offset: u64| (begin + offset.clamp(text.start, text.end) - text.start) as usize;
        Some(self.bytes.slice(at(wanted.start)..at(wanted.end)))
    }

    /// The wanted plaintext of several chunks, without a copy if it is in one.
    pub fn join(
        &self,
        layout: &Layout,
        chunks: Range<u64>,
        wanted: &Range<u64>,
    ) -> Result<Bytes, Error> {
        let text = |chunk| self.text(layout, chunk, wanted).expect("each chunk was opened");
        if chunks.end - chunks.start == 1 {
            return Ok(text(chunks.start));
        }
        // The chunks with their frames and tags are in memory, and take more than this.
        let len = (wanted.end - wanted.start) as usize;
        let mut joined = Buffer::new(0, len).map_err(|error| Error::Read(error.into()))?;
        let mut rest = &mut joined[..];
        for text in chunks.map(text) {
            let (filled, after) = rest.split_at_mut(text.len());
            filled.copy_from_slice(&text);
            rest = after;
        }
        Ok(Bytes::from_owner(joined))
    }
}

/// Decrypts the chunks that `reader` delivers, and cuts `wanted` from their plaintext.
pub(crate) fn chunks(
    location: Path,
    object: Arc<ChunkOpener>,
    reader: Reader,
    chunks: Range<u64>,
    wanted: Range<u64>,
) -> BoxStream<'static, Result<Bytes>> {
    let layout = object.layout();
    try_unfold((reader, chunks), move |(mut reader, mut chunks)| {
        let (location, object, wanted) = (location.clone(), object.clone(), wanted.clone());
        async move {
            let Some(chunk) = chunks.next() else { return Ok(None) };
            let sealed = layout.sealed(chunk..chunk + 1);
            let mut piece = Piece::read(&location, &mut reader, sealed).await?;
            let text = blocking::run(piece.len() > SHORT, move || {
                piece.open(&object, chunk)?;
                piece.finish().join(&layout, chunk..chunk + 1, &wanted)
            });
            let text = text.await?.map_err(|error| failed(&location, error))?;
            Ok(Some((text, (reader, chunks))))
        }
    })
    .boxed()
}

/// Decrypts a whole object, whose header the decoder has.
pub(crate) fn whole(
    location: Path,
    decoder: Decoder,
    reader: Reader,
) -> BoxStream<'static, Result<Bytes>> {
    try_unfold((decoder, reader), move |(mut decoder, mut reader)| {
        let location = location.clone();
        async move {
            loop {
                let is_long = decoder.cost() > SHORT;
                let take = move || (decoder.take_text(), decoder);
                let (text, back) = blocking::run(is_long, take).await?;
                decoder = back;
                if let Some((buffer, place)) = text.map_err(|error| failed(&location, error))? {
                    let text = Bytes::from_owner(buffer).slice(place);
                    return Ok(Some((text, (decoder, reader))));
                }
                if decoder.is_complete() {
                    return Ok(None);
                }
                let filled = reader.fill(decoder.room()).await?;
                decoder.filled(filled);
            }
        }
    })
    .boxed()
}

/// Cuts a range from the plaintext of an object. Reads the rest too, because only the end proves
/// that the object is complete.
pub(crate) fn cut(
    text: BoxStream<'static, Result<Bytes>>,
    wanted: Range<u64>,
) -> BoxStream<'static, Result<Bytes>> {
    let mut end = 0;
    let cut = text.map_ok(move |piece| {
        let start = end;
        end += piece.len() as u64;
        let at = |offset: u64| (offset.clamp(start, end) - start) as usize;
        piece.slice(at(wanted.start)..at(wanted.end))
    });
    cut.try_filter(|piece| ready(!piece.is_empty())).boxed()
}
