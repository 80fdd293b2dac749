//! An adapter for the `Read`, `Write` and `Seek` traits of the standard library.

use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};

use crate::{Environment, Raf, Storage, System};

/// A [`Raf`] with a position, as [`std::io::Cursor`] is for bytes in memory. Each call reads or
/// writes at least one chunk. If your reads or writes are small, wrap it in a
/// [`BufReader`](io::BufReader) or [`BufWriter`](io::BufWriter); buffers of 256 KiB or more use all
/// cores.
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

    /// Does nothing: no data is buffered. To make data survive a power failure, call [`Raf::sync`].
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
