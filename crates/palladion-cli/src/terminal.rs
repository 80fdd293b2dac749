//! The prompt for a passphrase, which switches off the terminal's echo.
//!
//! The echo stays off until it is known whether the passphrase is right, which takes a while. Until
//! then the user may type it again.

use std::io;

use zeroize::Zeroizing;

/// The longest passphrase, in bytes. Terminals of Unix cut longer lines: Linux after 4095 bytes,
/// macOS after 1023.
const LONGEST: usize = if cfg!(target_os = "linux") { 4000 } else { 1000 };

/// Switches the echo on again when it is dropped, if a prompt switched it off. Keep one for as long
/// as passphrases are tried.
pub struct Hidden;

impl Drop for Hidden {
    fn drop(&mut self) {
        show_again();
    }
}

/// Asks for a passphrase at the terminal. Call [`show_again`] once it is tried.
pub fn ask(prompt: &str) -> io::Result<Zeroizing<String>> {
    let line = read_line(prompt)?;
    if line.len() > LONGEST {
        let message = format!("the passphrase is longer than {LONGEST} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    if line.chars().any(char::is_control) {
        let message = "the passphrase contains a control character, perhaps from an arrow key";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    Ok(line)
}

#[cfg(unix)]
use unix::read_line;
#[cfg(unix)]
pub use unix::{hide_again, restore, show, show_again};

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io::{self, Read, Write};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use rustix::process::getpgrp;
    use rustix::termios::{
        LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcgetpgrp,
        tcsetattr,
    };
    use zeroize::Zeroizing;

    /// A prompt that switched the echo off.
    struct Prompt {
        text: String,
        tty: File,
        /// Whether it waits for an answer.
        waits: bool,
        /// How the terminal was before the prompt switched its echo off, and how it is now.
        before: Termios,
        hidden: Termios,
    }

    static PROMPT: Mutex<Option<Prompt>> = Mutex::new(None);

    fn current() -> MutexGuard<'static, Option<Prompt>> {
        PROMPT.lock().unwrap_or_else(PoisonError::into_inner)
    }

    impl Prompt {
        fn begin(&mut self) -> io::Result<()> {
            self.hide()?;
            self.tty.write_all(self.text.as_bytes()).inspect_err(|_| self.show())
        }

        fn hide(&self) -> io::Result<()> {
            tcsetattr(&self.tty, OptionalActions::Now, &self.hidden).map_err(Into::into)
        }

        /// Switches the echo on, and discards what was typed without it: it was meant to be a
        /// passphrase, and the shell would show it and keep it in its history.
        fn show(&self) {
            // In the background, the terminal is the shell's, and so is what is typed.
            if self.is_in_foreground() {
                let _ = tcsetattr(&self.tty, OptionalActions::Now, &self.before);
                let _ = tcflush(&self.tty, QueueSelector::IFlush);
            }
        }

        /// Returns whether the terminal is the program's to change.
        fn is_in_foreground(&self) -> bool {
            tcgetpgrp(&self.tty).is_ok_and(|group| group == getpgrp())
        }
    }

    /// Switches the echo off again, and begins the prompt anew if it waits for an answer. Call it
    /// when the program goes on after it was stopped: the shell may have switched the echo on.
    pub fn hide_again() {
        match current().as_mut() {
            Some(prompt) if prompt.waits => {
                let _ = prompt.begin();
            }
            // In the background, the shell uses the terminal itself.
            Some(prompt) if prompt.is_in_foreground() => {
                let _ = prompt.hide();
            }
            _ => {}
        }
    }

    /// Switches the echo on, if a prompt switched it off.
    pub fn show_again() {
        if let Some(prompt) = current().take() {
            prompt.show();
        }
    }

    /// Switches the echo on for good; no prompt begins after that. Call it before the program ends.
    pub fn restore() {
        let current = current();
        if let Some(prompt) = current.as_ref() {
            prompt.show();
        }
        std::mem::forget(current);
    }

    /// Writes text to the terminal, wherever standard output and standard error go.
    pub fn show(text: &str) -> io::Result<()> {
        File::options().write(true).open("/dev/tty")?.write_all(text.as_bytes())
    }

    /// Reads a line without its end. The terminal goes on to edit lines and to send signals.
    pub fn read_line(prompt: &str) -> io::Result<Zeroizing<String>> {
        let tty = File::options().read(true).write(true).open("/dev/tty")?;
        let mut current = current();
        let before = match current.take() {
            Some(earlier) => earlier.before,
            None => tcgetattr(&tty)?,
        };
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        // The end of the line is shown.
        hidden.local_modes.insert(LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG);
        let (text, own) = (prompt.into(), tty.try_clone()?);
        let mut prompt = Prompt { text, tty: own, waits: true, before, hidden };
        prompt.begin()?;
        *current = Some(prompt);
        drop(current);
        let line = line(&tty);
        if let Some(prompt) = self::current().as_mut() {
            prompt.waits = false;
        }
        line
    }

    fn line(mut tty: &File) -> io::Result<Zeroizing<String>> {
        // As long as a terminal's longest line. Growing would leave copies in freed memory.
        let mut buffer = Zeroizing::new(vec![0; 4096]);
        let mut len = 0;
        while len < buffer.len() && !buffer[..len].contains(&b'\n') {
            match tty.read(&mut buffer[len..]) {
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

/// On Windows, the echo is on as soon as a line was read.
#[cfg(not(unix))]
pub fn show_again() {}

#[cfg(not(unix))]
pub fn show(text: &str) -> io::Result<()> {
    use std::io::Write;
    std::fs::File::options().write(true).open("CONOUT$")?.write_all(text.as_bytes())
}

#[cfg(not(unix))]
fn read_line(prompt: &str) -> io::Result<Zeroizing<String>> {
    rpassword::prompt_password(prompt).map(Zeroizing::new)
}
