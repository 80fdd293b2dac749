//! Where the bytes of a file are kept.

use std::fs::File;
use std::io;
use std::ops::DerefMut;
use std::path::Path;

use palladion_raf::Storage;

/// What can hold a file: bytes that can be read and written at any place.
pub trait RafIo {
    /// Fills the buffer with the bytes that begin at `offset`.
    ///
    /// # Errors
    ///
    /// If there are fewer bytes; whatever else may happen.
    fn read_at(&mut self, buf: &mut [u8], offset: u64) -> io::Result<()>;
    /// Writes all of the buffer, beginning at `offset`.
    ///
    /// # Errors
    ///
    /// Whatever may happen.
    fn write_at(&mut self, buf: &[u8], offset: u64) -> io::Result<()>;
    /// Returns the number of bytes.
    ///
    /// # Errors
    ///
    /// Whatever may happen.
    fn get_size(&mut self) -> io::Result<u64>;
    /// Sets the number of bytes. New ones are zero.
    ///
    /// # Errors
    ///
    /// Whatever may happen.
    fn set_size(&mut self, size: u64) -> io::Result<()>;
    /// Makes sure that everything written survives a power failure. Does nothing by default.
    ///
    /// # Errors
    ///
    /// Whatever may happen.
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A pointer to a [`RafIo`], as a storage.
pub(super) struct Pointer<P>(pub P);

impl<P: DerefMut<Target: RafIo>> Storage for Pointer<P> {
    fn read_at(&mut self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_at(buf, offset)
    }
    fn write_at(&mut self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_at(buf, offset)
    }
    fn size(&mut self) -> io::Result<u64> {
        self.0.get_size()
    }
    fn set_size(&mut self, size: u64) -> io::Result<()> {
        self.0.set_size(size)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.0.sync()
    }
}

/// A file of the operating system.
pub struct FileIo(File);

impl FileIo {
    /// Uses a file that is open for reading and writing.
    pub fn new(file: File) -> Self {
        Self(file)
    }

    /// Opens a file for reading and writing, and creates it if it does not exist. Existing contents
    /// are kept: see [`RafBuilder::truncate`](super::RafBuilder::truncate).
    ///
    /// # Errors
    ///
    /// Those of opening it.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        File::options().read(true).write(true).create(true).truncate(false).open(path).map(Self)
    }

    /// Opens an existing file for reading and writing.
    ///
    /// # Errors
    ///
    /// Those of opening it.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        File::options().read(true).write(true).open(path).map(Self)
    }
}

impl RafIo for FileIo {
    fn read_at(&mut self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        Storage::read_at(&mut self.0, buf, offset)
    }
    fn write_at(&mut self, buf: &[u8], offset: u64) -> io::Result<()> {
        Storage::write_at(&mut self.0, buf, offset)
    }
    fn get_size(&mut self) -> io::Result<u64> {
        Storage::size(&mut self.0)
    }
    fn set_size(&mut self, size: u64) -> io::Result<()> {
        Storage::set_size(&mut self.0, size)
    }
    fn sync(&mut self) -> io::Result<()> {
        Storage::sync(&mut self.0)
    }
}
