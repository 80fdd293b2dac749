//! What can be read at any offset.

use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that can be read at any offset: a file, bytes in memory, or your own. A [`Mutex`] around
/// anything that implements [`Read`] and [`Seek`] is one too; it serves one thread at a time.
pub trait ReadAt {
    /// Fills the buffer with the bytes that begin at `offset`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnexpectedEof`] if there are fewer; any other error of the source.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Returns how many bytes there are.
    ///
    /// # Errors
    ///
    /// Any error of the source.
    fn size(&self) -> io::Result<u64>;
}

impl ReadAt for [u8] {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let start = usize::try_from(offset).ok();
        let bytes = start.and_then(|start| self.get(start..)?.get(..buffer.len()));
        buffer.copy_from_slice(bytes.ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }
    fn size(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self[..].read_at(buffer, offset)
    }
    fn size(&self) -> io::Result<u64> {
        self[..].size()
    }
}

macro_rules! pointers {
    ($($pointer:ty),*) => {$(
        impl<T: ReadAt + ?Sized> ReadAt for $pointer {
            fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
                (**self).read_at(buffer, offset)
            }
            fn size(&self) -> io::Result<u64> {
                (**self).size()
            }
        }
    )*};
}

pointers!(&T, Box<T>, Arc<T>);

/// On Unix, the position of a regular file stays where it is.
#[cfg(any(unix, windows))]
impl ReadAt for std::fs::File {
    #[cfg(unix)]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, buffer, offset)
    }
    #[cfg(windows)]
    fn read_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !buffer.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(self, buffer, offset) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(n) => (buffer, offset) = (&mut buffer[n..], offset + n as u64),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
    fn size(&self) -> io::Result<u64> {
        // Of a block device this would be 0: its size is where its end is.
        let metadata = self.metadata()?;
        let mut file = self;
        if metadata.is_file() { Ok(metadata.len()) } else { file.seek(SeekFrom::End(0)) }
    }
}

impl<R: Read + Seek> ReadAt for Mutex<R> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let mut reader = self.lock().unwrap_or_else(PoisonError::into_inner);
        reader.seek(SeekFrom::Start(offset))?;
        reader.read_exact(buffer)
    }
    fn size(&self) -> io::Result<u64> {
        self.lock().unwrap_or_else(PoisonError::into_inner).seek(SeekFrom::End(0))
    }
}
