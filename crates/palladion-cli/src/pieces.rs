//! Data in pieces: reading and writing beside the work on the data, in a thread of its own, and the
//! part of a file that `cat` writes.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::ops::{Deref, Range};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use palladion::Buffer;

use crate::failure::{Failure, Result as CommandResult};
use crate::output::Output;
use crate::progress::Progress;
use crate::values::PartArgs;
use crate::waiting::Waiting;

/// Pieces in flight: one being read or written, one being processed, and one between them.
const PIECES: usize = 3;

/// Bytes to process at once: enough for all cores, and small enough for their shared cache.
pub const PIECE: u64 = 4 << 20;

/// The length of the piece that begins at `at`. It ends at the end of a chunk or at `end`.
pub fn up_to(at: u64, end: u64, chunk: u64, piece: u64) -> usize {
    let aligned = (at + piece) / chunk * chunk;
    (aligned.min(end) - at) as usize
}

/// Consecutive bytes of a file.
pub struct Piece {
    buffer: Buffer,
    len: usize,
}

impl Deref for Piece {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer[..self.len]
    }
}

/// Creates buffers of `len` bytes that are reused.
fn buffers(len: usize) -> io::Result<(Sender<Buffer>, Receiver<Buffer>)> {
    let (sender, receiver) = channel();
    for _ in 0..PIECES {
        let _ = sender.send(Buffer::new(0, len)?);
    }
    Ok((sender, receiver))
}

/// Reads a file ahead in pieces.
pub struct Pieces {
    pieces: Receiver<io::Result<Piece>>,
    free: Sender<Buffer>,
}

impl Pieces {
    /// The first piece has `first` bytes, the others `len`, and the last one the rest.
    pub fn read(file: File, first: usize, len: usize) -> io::Result<Self> {
        let (free, buffers) = buffers(first.max(len))?;
        let (sender, pieces) = sync_channel(PIECES);
        // The thread is never joined: it may be waiting for input that never comes.
        thread::Builder::new().spawn(move || {
            let mut wanted = first;
            for mut buffer in buffers {
                let filled = fill(&file, &mut buffer[..wanted]);
                let end = !matches!(filled, Ok(len) if len == wanted);
                let sent = match filled {
                    Ok(0) => break,
                    filled => sender.send(filled.map(|len| Piece { buffer, len })),
                };
                if end || sent.is_err() {
                    break;
                }
                wanted = len;
            }
        })?;
        Ok(Self { pieces, free })
    }

    pub fn next(&mut self) -> io::Result<Option<Piece>> {
        self.pieces.recv().map_or(Ok(None), |piece| piece.map(Some))
    }

    /// Returns the buffer of a piece that is no longer needed.
    pub fn done(&mut self, piece: Piece) {
        let _ = self.free.send(piece.buffer);
    }
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut len = 0;
    while len < buffer.len() {
        match Waiting(file).read(&mut buffer[len..]) {
            Ok(0) => break,
            Ok(n) => len += n,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(len)
}

/// Takes pieces to write while the next ones are produced.
pub struct Sink {
    full: SyncSender<Piece>,
    free: Receiver<Buffer>,
}

/// Why there are no more pieces.
pub struct Closed;

impl Sink {
    /// Fills a buffer with `make`, which returns how much to write. Returns an error of `make`.
    pub fn write<E>(
        &mut self,
        make: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<Result<(), E>, Closed> {
        let mut buffer = self.free.recv().map_err(|_| Closed)?;
        match make(&mut buffer) {
            Ok(len) => self.full.send(Piece { buffer, len }).map(Ok).map_err(|_| Closed),
            Err(error) => Ok(Err(error)),
        }
    }
}

/// Writes the pieces that `work` produces, of at most `len` bytes each, to an output. Returns the
/// result of `work`, or the failure of a write.
pub fn write<T>(
    output: &Output,
    len: usize,
    work: impl FnOnce(&mut Sink) -> Result<T, Closed>,
) -> CommandResult<T> {
    let (free, buffers) =
        buffers(len).map_err(|error| Failure::io("allocate", "memory", &error))?;
    let (full, pieces) = sync_channel::<Piece>(PIECES);
    thread::scope(|scope| {
        let writer = thread::Builder::new().spawn_scoped(scope, move || {
            for piece in pieces {
                output.writer().write_all(&piece)?;
                // At the end, nobody receives it.
                let _ = free.send(piece.buffer);
            }
            Ok(())
        });
        let writer = writer.map_err(|error| {
            Failure::io("start", "a thread", &error).hint("close other programs")
        })?;
        let mut sink = Sink { full, free: buffers };
        let done = work(&mut sink);
        drop(sink);
        match (writer.join(), done) {
            (Ok(Ok(())), Ok(done)) => Ok(done),
            (Ok(Err(error)), _) => Err(Failure::io("write", &output.name, &error)),
            // The writer stops before its end only with an error.
            _ => Err(Failure::new("the writing thread failed")),
        }
    })
}

/// The part of a file's contents, which have `size` bytes, that the user asks for.
pub fn part(args: &PartArgs, size: u64, name: &str) -> CommandResult<Range<u64>> {
    let PartArgs { offset, length, tail, .. } = *args;
    let offset = tail.map_or(offset, |tail| size.saturating_sub(tail));
    if offset > size {
        return Err(Failure::usage(format!(
            "the offset {offset} is past the end of {name}, which has {size} bytes"
        )));
    }
    let end = length.and_then(|length| offset.checked_add(length));
    Ok(offset..end.map_or(size, |end| end.min(size)))
}

/// Writes a part of a file's contents. `read` fills a buffer with what begins at an offset. If that
/// fails because of a chunk, which `damaged` finds in the error, what comes before the chunk is
/// written all the same.
pub fn copy<E>(
    output: &Output,
    part: Range<u64>,
    chunk: u64,
    mut progress: Progress,
    read: impl Fn(&mut [u8], u64) -> Result<usize, E>,
    damaged: impl Fn(&E) -> Option<u64>,
) -> CommandResult<Result<(), E>> {
    if part.is_empty() {
        return Ok(Ok(()));
    }
    let most = PIECE.max(chunk);
    write(output, most.min(part.end - part.start) as usize, |sink| {
        let mut at = part.start;
        while at < part.end {
            let mut damage = None;
            let piece = up_to(at, part.end, chunk, most);
            let made = sink.write(|buffer| {
                read(&mut buffer[..piece], at).or_else(|error| match damaged(&error) {
                    // The data before a damaged chunk is verified.
                    Some(index) if index > at / chunk => {
                        damage = Some(error);
                        read(&mut buffer[..(index * chunk - at) as usize], at)
                    }
                    _ => Err(error),
                })
            })?;
            match (made, damage) {
                (Err(error), _) | (Ok(()), Some(error)) => return Ok(Err(error)),
                (Ok(()), None) => at += piece as u64,
            }
            progress.set(at - part.start);
        }
        Ok(Ok(()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_where_chunks_end() {
        assert_eq!(up_to(0, 100, 64, 256), 100);
        assert_eq!(up_to(0, 1000, 64, 256), 256);
        assert_eq!(up_to(10, 1000, 64, 256), 246);
        assert_eq!(up_to(0, 1000, 48, 256), 240);
        assert_eq!(up_to(240, 1000, 48, 256), 240);
        assert_eq!(up_to(990, 1000, 48, 256), 10);
    }

    #[test]
    fn parts() {
        let of = |offset, length, tail, size| {
            part(&PartArgs { offset, length, tail, output: None, force: false }, size, "x").ok()
        };
        let part = |offset, length, size| of(offset, length, None, size);
        assert_eq!(part(0, None, 10), Some(0..10));
        assert_eq!(part(3, Some(4), 10), Some(3..7));
        assert_eq!(part(3, Some(u64::MAX), 10), Some(3..10));
        assert_eq!(part(10, Some(1), 10), Some(10..10));
        assert_eq!(part(0, None, 0), Some(0..0));
        assert_eq!(part(11, None, 10), None);
        assert_eq!(of(0, None, Some(3), 10), Some(7..10));
        assert_eq!(of(0, Some(2), Some(3), 10), Some(7..9));
        assert_eq!(of(0, None, Some(11), 10), Some(0..10));
    }
}
