//! An adapter for the `Read`, `Write` and `Seek` traits of the standard library.

use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};

use super::{Algorithm, Raf};

/// A [`Raf`] with a position. Created by [`Raf::cursor`].
pub struct RafCursor<'a, A: Algorithm> {
    raf: &'a mut Raf<A>,
    position: u64,
}

impl<A: Algorithm> Raf<A> {
    /// Returns a cursor at the start of the file.
    pub fn cursor(&mut self) -> RafCursor<'_, A> {
        RafCursor { raf: self, position: 0 }
    }
}

impl<A: Algorithm> Read for RafCursor<'_, A> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.raf.read(buf, self.position).map_err(io::Error::other)?;
        self.position += n as u64;
        Ok(n)
    }
}

impl<A: Algorithm> Write for RafCursor<'_, A> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let n = self.raf.write(buf, self.position).map_err(io::Error::other)?;
        self.position += n as u64;
        Ok(n)
    }

    /// Makes sure that all written data survives a power failure: [`Raf::sync`].
    fn flush(&mut self) -> io::Result<()> {
        self.raf.sync().map_err(io::Error::other)
    }
}

impl<A: Algorithm> Seek for RafCursor<'_, A> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(by) => self.raf.size().checked_add_signed(by),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        let outside = || {
            let what = "that is before the start of the file, or too far behind it";
            io::Error::new(ErrorKind::InvalidInput, what)
        };
        self.position = to.ok_or_else(outside)?;
        Ok(self.position)
    }
}
