//! Where the bytes of a file are kept.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::sync::{PoisonError, RwLock};

/// A lock against other programs, and against others in this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// For readers, of which there may be any number at once.
    Shared,
    /// For a single writer.
    Exclusive,
}

/// What can hold a file: bytes that can be read and written at any place.
pub trait Storage {
    /// Fills the buffer with the bytes that begin at `offset`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnexpectedEof`] if there are fewer; whatever else may happen.
    fn read_at(&mut self, buf: &mut [u8], offset: u64) -> io::Result<()>;
    /// Writes all of the buffer from `offset` on. If the program ends while the first 64 bytes, the
    /// header, are written in part, the file cannot be opened again.
    ///
    /// # Errors
    ///
    /// Whatever may happen; then any part of it may have been written.
    fn write_at(&mut self, buf: &[u8], offset: u64) -> io::Result<()>;
    /// Returns how many bytes there are.
    ///
    /// # Errors
    ///
    /// Whatever may happen.
    fn size(&mut self) -> io::Result<u64>;
    /// Makes it so many bytes; new ones are zero.
    ///
    /// # Errors
    ///
    /// Whatever may happen; then the size may be the old or the new one.
    fn set_size(&mut self, size: u64) -> io::Result<()>;
    /// Makes sure that everything written survives a power failure.
    ///
    /// # Errors
    ///
    /// Whatever may happen; then any part of what was written since the last sync may be lost.
    fn sync(&mut self) -> io::Result<()>;
    /// Takes a lock without waiting for it, or gives it back; returns whether it is held now. By
    /// default, a storage has no locks.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::WouldBlock`] if someone else's lock is in the way; whatever else may happen.
    fn set_lock(&mut self, lock: Option<Lock>) -> io::Result<bool> {
        let _ = lock;
        Ok(false)
    }
    /// Checks that the bytes can be read and, with `to_write`, changed, without doing either. A
    /// file is created or opened only then. By default, every storage passes.
    ///
    /// # Errors
    ///
    /// Why they cannot.
    fn check_access(&mut self, to_write: bool) -> io::Result<()> {
        let _ = to_write;
        Ok(())
    }
    /// Returns whether a write that begins at the end or before makes it as long as needed.
    /// Otherwise, and before long writes, [`set_size`](Self::set_size) does that.
    fn grows(&self) -> bool {
        false
    }
    /// Itself, if several threads can use it at once: then they read and write side by side.
    fn shared(&self) -> Option<&dyn Shared> {
        None
    }
}

/// What several threads can use at once: as in [`Storage`].
pub trait Shared: Sync {
    /// Fills the buffer with the bytes that begin at `offset`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnexpectedEof`] if there are fewer; whatever else may happen.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()>;
    /// Writes all of the buffer from `offset` on.
    ///
    /// # Errors
    ///
    /// Whatever may happen; then any part of it may have been written.
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()>;
}

/// A storage that is lent. It is not locked: its owner may do that.
impl<S: Storage + ?Sized> Storage for &mut S {
    fn read_at(&mut self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        (**self).read_at(buf, offset)
    }
    fn write_at(&mut self, buf: &[u8], offset: u64) -> io::Result<()> {
        (**self).write_at(buf, offset)
    }
    fn size(&mut self) -> io::Result<u64> {
        (**self).size()
    }
    fn set_size(&mut self, size: u64) -> io::Result<()> {
        (**self).set_size(size)
    }
    fn sync(&mut self) -> io::Result<()> {
        (**self).sync()
    }
    fn check_access(&mut self, to_write: bool) -> io::Result<()> {
        (**self).check_access(to_write)
    }
    fn grows(&self) -> bool {
        (**self).grows()
    }
    fn shared(&self) -> Option<&dyn Shared> {
        (**self).shared()
    }
}

#[cfg(unix)]
impl Shared for File {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(self, buf, offset)
    }
}

#[cfg(windows)]
impl Shared for File {
    fn read_at(&self, mut buf: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !buf.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(self, buf, offset) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(n) => (buf, offset) = (&mut buf[n..], offset + n as u64),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
    fn write_at(&self, mut buf: &[u8], mut offset: u64) -> io::Result<()> {
        while !buf.is_empty() {
            match std::os::windows::fs::FileExt::seek_write(self, buf, offset) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(n) => (buf, offset) = (&buf[n..], offset + n as u64),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

/// A file of the operating system. On Unix its position is left alone. Its lock is that of
/// [`File::try_lock`], where the file system has locks. On Unix, only programs that ask for the
/// lock notice it.
impl Storage for File {
    fn read_at(&mut self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        #[cfg(any(unix, windows))]
        return Shared::read_at(self, buf, offset);
        #[cfg(not(any(unix, windows)))]
        return Stream(self).read_at(buf, offset);
    }
    fn write_at(&mut self, buf: &[u8], offset: u64) -> io::Result<()> {
        #[cfg(any(unix, windows))]
        return Shared::write_at(self, buf, offset);
        #[cfg(not(any(unix, windows)))]
        return Stream(self).write_at(buf, offset);
    }
    fn size(&mut self) -> io::Result<u64> {
        // Of a block device this would be 0: its size is where its end is.
        let metadata = self.metadata()?;
        if metadata.is_file() { Ok(metadata.len()) } else { self.seek(SeekFrom::End(0)) }
    }
    fn set_size(&mut self, size: u64) -> io::Result<()> {
        self.set_len(size)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
    fn set_lock(&mut self, lock: Option<Lock>) -> io::Result<bool> {
        let locked = match lock {
            Some(Lock::Shared) => self.try_lock_shared(),
            Some(Lock::Exclusive) => self.try_lock(),
            None => return self.unlock().map(|()| false),
        };
        match locked {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Err(ErrorKind::WouldBlock.into()),
            // Not every file system has locks.
            Err(TryLockError::Error(_)) => Ok(false),
        }
    }
    fn check_access(&mut self, to_write: bool) -> io::Result<()> {
        #[cfg(any(unix, windows))]
        return check_access(self, to_write);
        #[cfg(not(any(unix, windows)))]
        {
            let _ = to_write;
            Ok(())
        }
    }
    fn grows(&self) -> bool {
        true
    }
    #[cfg(any(unix, windows))]
    fn shared(&self) -> Option<&dyn Shared> {
        Some(self)
    }
}

/// Reads and writes nothing, which systems refuse if the file is not open for that.
#[cfg(any(unix, windows))]
fn check_access(file: &File, to_write: bool) -> io::Result<()> {
    #[cfg(unix)]
    use std::os::unix::fs::FileExt;
    #[cfg(windows)]
    use std::os::windows::fs::FileExt;
    #[cfg(unix)]
    let (read, write) = (<File as FileExt>::read_at, <File as FileExt>::write_at);
    #[cfg(windows)]
    let (read, write) = (<File as FileExt>::seek_read, <File as FileExt>::seek_write);
    /// What a system says then: `EBADF`, `ERROR_ACCESS_DENIED`.
    const NOT_OPEN: i32 = if cfg!(unix) { 9 } else { 5 };

    let not_open = |error: io::Error, message| match error.raw_os_error() {
        Some(NOT_OPEN) => io::Error::new(ErrorKind::InvalidInput, message),
        _ => error,
    };
    read(file, &mut [], 0).map_err(|error| {
        not_open(error, "the file is not open for reading; open it for reading and writing")
    })?;
    if to_write {
        write(file, &[], 0).map_err(|error| {
            not_open(
                error,
                "the file is not open for writing; open it for reading and writing, or the RAF \
                 file read-only",
            )
        })?;
    }
    Ok(())
}

/// A storage that several threads may read: at once if it allows that, and in turn if not.
pub(crate) struct Place<S: ?Sized>(RwLock<S>);

impl<S: Storage> Place<S> {
    pub(crate) fn new(storage: S) -> Self {
        Self(RwLock::new(storage))
    }

    pub(crate) fn into_inner(self) -> S {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Storage + ?Sized> Place<S> {
    pub(crate) fn get_mut(&mut self) -> &mut S {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works with the storage if several threads can use it at once. For such a storage, nobody
    /// ever asks for the other lock.
    pub(crate) fn shared<T>(&self, work: impl FnOnce(&dyn Shared) -> T) -> Option<T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).shared().map(work)
    }

    pub(crate) fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        if let Some(read) = self.shared(|shared| shared.read_at(buf, offset)) {
            return read;
        }
        self.0.write().unwrap_or_else(PoisonError::into_inner).read_at(buf, offset)
    }
}

/// A file in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory(pub Vec<u8>);

fn place(len: usize, buf: usize, offset: u64) -> Option<std::ops::Range<usize>> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(buf)?;
    (end <= len).then_some(start..end)
}

impl Storage for Memory {
    fn read_at(&mut self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let place = place(self.0.len(), buf.len(), offset).ok_or(ErrorKind::UnexpectedEof)?;
        buf.copy_from_slice(&self.0[place]);
        Ok(())
    }
    fn write_at(&mut self, buf: &[u8], offset: u64) -> io::Result<()> {
        let end = usize::try_from(offset).ok().and_then(|start| start.checked_add(buf.len()));
        let end = end.ok_or(ErrorKind::OutOfMemory)?;
        if end > self.0.len() {
            self.set_size(end as u64)?;
        }
        self.0[end - buf.len()..end].copy_from_slice(buf);
        Ok(())
    }
    fn size(&mut self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }
    fn set_size(&mut self, size: u64) -> io::Result<()> {
        let size = usize::try_from(size).map_err(|_| ErrorKind::OutOfMemory)?;
        self.0
            .try_reserve(size.saturating_sub(self.0.len()))
            .map_err(|_| ErrorKind::OutOfMemory)?;
        self.0.resize(size, 0);
        Ok(())
    }
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn grows(&self) -> bool {
        true
    }
}

/// Anything that can be read, written and sought, and cannot be made shorter: what lies behind the
/// end of a file that was truncated stays there, and is ignored. (It is encrypted.)
#[derive(Debug)]
pub struct Stream<T>(pub T);

impl<T: Read + Write + Seek> Storage for Stream<T> {
    fn read_at(&mut self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.seek(SeekFrom::Start(offset))?;
        self.0.read_exact(buf)
    }
    fn write_at(&mut self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.0.seek(SeekFrom::Start(offset))?;
        self.0.write_all(buf)
    }
    fn size(&mut self) -> io::Result<u64> {
        self.0.seek(SeekFrom::End(0))
    }
    fn set_size(&mut self, size: u64) -> io::Result<()> {
        let mut at = self.0.seek(SeekFrom::End(0))?;
        let zeros = [0; 4096];
        while at < size {
            let n = (size - at).min(zeros.len() as u64) as usize;
            self.0.write_all(&zeros[..n])?;
            at += n as u64;
        }
        Ok(())
    }
    fn sync(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Anything that can be read and sought, for files that are only read: see
/// [`Raf::open_read_only`](crate::Raf::open_read_only).
#[derive(Debug)]
pub struct ReadOnly<T>(pub T);

impl<T> ReadOnly<T> {
    fn refuse(&self) -> io::Error {
        io::Error::new(ErrorKind::PermissionDenied, "this can only be read")
    }
}

impl<T: Read + Seek> Storage for ReadOnly<T> {
    fn read_at(&mut self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.seek(SeekFrom::Start(offset))?;
        self.0.read_exact(buf)
    }
    fn write_at(&mut self, _: &[u8], _: u64) -> io::Result<()> {
        Err(self.refuse())
    }
    fn size(&mut self) -> io::Result<u64> {
        self.0.seek(SeekFrom::End(0))
    }
    fn set_size(&mut self, _: u64) -> io::Result<()> {
        Err(self.refuse())
    }
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}
