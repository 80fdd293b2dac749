//! The storage of a truncated file.

use std::fs::File;
use std::io;

use palladion_raf::{Lock, Shared, Storage};

/// A file that hides that it is shorter than its header says. Only chunks that are there may be
/// read.
pub struct Truncated(pub File);

impl Storage for Truncated {
    fn read_at(&mut self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        Storage::read_at(&mut self.0, buf, offset)
    }

    fn write_at(&mut self, _: &[u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn size(&mut self) -> io::Result<u64> {
        Ok(u64::MAX)
    }

    fn set_size(&mut self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn set_lock(&mut self, lock: Option<Lock>) -> io::Result<bool> {
        self.0.set_lock(lock)
    }

    fn shared(&self) -> Option<&dyn Shared> {
        self.0.shared()
    }
}
