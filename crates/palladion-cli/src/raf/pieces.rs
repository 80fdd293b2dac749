//! Reading and writing beside the work on the data, in a thread of its own.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::ops::Deref;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use palladion::Buffer;

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

/// Writes the pieces that `work` produces, of at most `len` bytes each, to a file. Returns the
/// result of `work`, or the error of a write.
pub fn write<T>(
    file: &File,
    len: usize,
    work: impl FnOnce(&mut Sink) -> Result<T, Closed>,
) -> io::Result<T> {
    let (free, buffers) = buffers(len)?;
    let (full, pieces) = sync_channel::<Piece>(PIECES);
    thread::scope(|scope| {
        let writer = thread::Builder::new().spawn_scoped(scope, move || {
            for piece in pieces {
                Waiting(file).write_all(&piece)?;
                // At the end, nobody receives it.
                let _ = free.send(piece.buffer);
            }
            Ok(())
        })?;
        let mut sink = Sink { full, free: buffers };
        let done = work(&mut sink);
        drop(sink);
        match (writer.join(), done) {
            (Ok(Ok(())), Ok(done)) => Ok(done),
            (Ok(Err(error)), _) => Err(error),
            // The writer stops before its end only with an error.
            _ => Err(io::Error::other("the writing thread failed")),
        }
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
}
