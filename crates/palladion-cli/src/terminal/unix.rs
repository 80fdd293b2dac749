//! The terminal of Unix, `/dev/tty`.

use std::fs::File;
use std::io::{self, Read, Write};

use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcgetpgrp, tcsetattr,
};
use zeroize::Zeroizing;

pub type Mode = Termios;

pub struct Terminal(File);

/// Returns the mode without an echo. The end of a line is shown.
pub fn without_echo(before: &Mode) -> Mode {
    let mut mode = before.clone();
    mode.local_modes.remove(LocalModes::ECHO);
    mode.local_modes.insert(LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG);
    mode
}

impl Terminal {
    pub fn open() -> io::Result<Self> {
        File::options().read(true).write(true).open("/dev/tty").map(Self)
    }

    pub fn mode(&self) -> io::Result<Mode> {
        tcgetattr(&self.0).map_err(Into::into)
    }

    pub fn set_mode(&self, mode: &Mode) -> io::Result<()> {
        tcsetattr(&self.0, OptionalActions::Now, mode).map_err(Into::into)
    }

    /// Returns whether the terminal is the program's to change: it is in the foreground.
    pub fn is_ours(&self) -> bool {
        tcgetpgrp(&self.0).is_ok_and(|group| group == getpgrp())
    }

    pub fn discard_input(&self) {
        let _ = tcflush(&self.0, QueueSelector::IFlush);
    }

    pub fn write(&self, text: &str) -> io::Result<()> {
        (&self.0).write_all(text.as_bytes())
    }

    pub fn read_line(&self) -> io::Result<Zeroizing<String>> {
        // As long as a terminal's longest line. Growing would leave copies in freed memory.
        let mut buffer = Zeroizing::new(vec![0; 4096]);
        let mut len = 0;
        while len < buffer.len() && !buffer[..len].contains(&b'\n') {
            match (&self.0).read(&mut buffer[len..]) {
                Ok(0) if len == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(0) => break,
                Ok(read) => len += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let line = buffer[..len].strip_suffix(b"\n").unwrap_or(&buffer[..len]);
        match std::str::from_utf8(line) {
            Ok(line) => Ok(Zeroizing::new(line.to_string())),
            Err(_) => {
                let message = "the passphrase is not valid UTF-8";
                Err(io::Error::new(io::ErrorKind::InvalidInput, message))
            }
        }
    }
}
