//! Standard input and output: whether they are open, and how to use them without a buffer.

use std::fs::File;
use std::io::{self, Write};

use anstream::{AutoStream, ColorChoice};

use crate::failure::{Failure, Result, say};
use crate::waiting::Waiting;

/// What a pipe should hold. Linux allows four times that, but counts it against the user's limit.
#[cfg(target_os = "linux")]
const WIDE: usize = 256 * 1024;

/// Standard input without the buffer and the lock of [`io::Stdin`]. Fails if it is closed.
pub fn input() -> io::Result<File> {
    closed::check(0)?;
    #[cfg(unix)]
    let own = std::os::fd::AsFd::as_fd(&io::stdin()).try_clone_to_owned()?;
    #[cfg(windows)]
    let own = std::os::windows::io::AsHandle::as_handle(&io::stdin()).try_clone_to_owned()?;
    Ok(own.into())
}

/// Standard output without the line buffer of [`io::Stdout`]. Fails if it is closed.
pub fn output() -> io::Result<File> {
    closed::check(1)?;
    #[cfg(unix)]
    let own = std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned()?;
    #[cfg(windows)]
    let own = std::os::windows::io::AsHandle::as_handle(&io::stdout()).try_clone_to_owned()?;
    Ok(own.into())
}

/// A duplicate of a descriptor that the program was started with, other than standard input and
/// output. Fails if it is closed.
pub fn handed_over(number: u32) -> io::Result<File> {
    closed::check(number as usize)?;
    palladion_output::inherited(number)
}

/// Lets a pipe hold more, because each time that it is full or empty a program has to wait for the
/// other end. Does nothing for other files.
pub fn widen(file: &File) {
    #[cfg(target_os = "linux")]
    if rustix::pipe::fcntl_getpipe_size(file).is_ok_and(|size| size < WIDE) {
        // If the user has too many pipes already, this one stays as it is.
        let _ = rustix::pipe::fcntl_setpipe_size(file, WIDE);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = file;
}

/// Prints text, or fails if standard output is closed or cannot be written.
pub fn print(text: impl AsRef<[u8]>) -> Result<()> {
    let mut stdout = Waiting(io::stdout());
    let printed = closed::check(1)
        .and_then(|()| stdout.write_all(text.as_ref()))
        .and_then(|()| stdout.flush());
    printed.map_err(cannot_print)
}

fn cannot_print(error: io::Error) -> Failure {
    Failure::io("write", "standard output", &error)
}

/// Prints a page of help, the version or a mistake on the command line.
pub fn show(text: &clap::Error) -> Result<()> {
    // A console may need other calls for colours.
    if cfg!(windows) {
        let printed = text.print();
        return if text.use_stderr() { Ok(()) } else { printed.map_err(cannot_print) };
    }
    let coloured = |choice| match choice {
        ColorChoice::Never => text.render().to_string(),
        _ => text.render().ansi().to_string(),
    };
    if text.use_stderr() {
        say(&coloured(AutoStream::choice(&io::stderr())));
        Ok(())
    } else {
        print(coloured(AutoStream::choice(&io::stdout())))
    }
}

/// Rust's standard library opens `/dev/null` for each standard stream that is closed, before `main`
/// runs. Output would then be lost without an error, so we look earlier.
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod closed {
    use std::io;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

    // SAFETY: The loader calls the functions in this section before `main`. Their type is that of
    // `look`, which uses nothing that `main` would have to set up: atomic variables and the
    // system call `fcntl`.
    #[allow(unsafe_code)]
    #[used]
    #[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
    #[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
    static LOOK: extern "C" fn() = look;

    extern "C" fn look() {
        let streams = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
        for (closed, stream) in CLOSED.iter().zip(streams) {
            closed.store(rustix::io::fcntl_getfd(stream).is_err(), Relaxed);
        }
    }

    /// Fails if standard input (0), standard output (1) or standard error (2) was closed when the
    /// program started.
    pub fn check(stream: usize) -> io::Result<()> {
        match CLOSED.get(stream).is_some_and(|closed| closed.load(Relaxed)) {
            true => Err(io::Error::other("it is closed")),
            false => Ok(()),
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod closed {
    pub fn check(_: usize) -> std::io::Result<()> {
        Ok(())
    }
}
