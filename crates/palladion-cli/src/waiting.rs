//! Reading and writing files that may be non-blocking.

use std::io::{self, ErrorKind, Read, Write};
#[cfg(unix)]
use std::os::fd::AsFd;
#[cfg(windows)]
use std::os::windows::io::AsHandle as AsFd;

/// A file whose reads and writes wait until they are possible.
///
/// `O_NONBLOCK` belongs to the open file, not to the descriptor: another program of a pipeline, or
/// the one that started this one, can set it for our standard streams at any time. Clearing it
/// would break that program.
pub struct Waiting<T>(pub T);

impl<T: Read + AsFd> Read for Waiting<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Self(file) = self;
        waiting(file, false, |file| file.read(buffer))
    }
}

impl<T: Write + AsFd> Write for Waiting<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Self(file) = self;
        waiting(file, true, |file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        let Self(file) = self;
        waiting(file, true, |file| file.flush())
    }
}

fn waiting<T: AsFd, R>(
    file: &mut T,
    writes: bool,
    mut action: impl FnMut(&mut T) -> io::Result<R>,
) -> io::Result<R> {
    loop {
        match action(file) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => wait(file, writes)?,
            result => return result,
        }
    }
}

/// Waits until a file can be read or written, or has failed.
#[cfg(unix)]
fn wait(file: &impl AsFd, writes: bool) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    let flags = if writes { PollFlags::OUT } else { PollFlags::IN };
    match poll(&mut [PollFd::new(file, flags)], None) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(windows)]
fn wait(_: &impl AsFd, _: bool) -> io::Result<()> {
    Err(ErrorKind::WouldBlock.into())
}
