//! A file as what the standard library can read, write and seek.

use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};

use crate::{Environment, Raf, Storage, System};

/// A [`Raf`] with a position, as [`std::io::Cursor`] is for bytes in memory. Each call reads or
/// writes a chunk at least: put a [`BufReader`](io::BufReader) or [`BufWriter`](io::BufWriter) in
/// front of it if yours are small, the larger the better (from 256 KiB on, all cores help).
///
/// ```
/// use std::io::{Read, Seek, SeekFrom, Write};
/// use palladion_raf::{Cursor, Memory, Options};
///
/// let mut file = Cursor::new(Options::default().create(Memory::default(), &[7; 32])?);
/// file.write_all(b"hello, world")?;
/// file.seek(SeekFrom::End(-5))?;
/// let mut end = String::new();
/// file.read_to_string(&mut end)?;
/// assert_eq!(end, "world");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Cursor<S, E: Environment = System> {
    file: Raf<S, E>,
    position: u64,
}

impl<S: Storage, E: Environment> Cursor<S, E> {
    /// At the start of a file.
    pub fn new(file: Raf<S, E>) -> Self {
        Self { file, position: 0 }
    }

    /// The file.
    pub fn get_mut(&mut self) -> &mut Raf<S, E> {
        &mut self.file
    }

    /// The file.
    pub fn into_inner(self) -> Raf<S, E> {
        self.file
    }
}

impl<S: Storage, E: Environment> Read for Cursor<S, E> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read_at(buf, self.position)?;
        self.position += n as u64;
        Ok(n)
    }
}

impl<S: Storage, E: Environment> Write for Cursor<S, E> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.file.write_at(buf, self.position)?;
        self.position += buf.len() as u64;
        Ok(buf.len())
    }

    /// Nothing waits to be written; to have it outlive a loss of power, see [`Raf::sync`].
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<S: Storage, E: Environment> Seek for Cursor<S, E> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(by) => self.file.size().checked_add_signed(by),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        self.position = to.ok_or_else(|| {
            io::Error::new(
                ErrorKind::InvalidInput,
                "that is before the start of the file, or too far behind it",
            )
        })?;
        Ok(self.position)
    }
}
