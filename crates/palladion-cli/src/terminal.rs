//! The prompt for a passphrase, which switches off the terminal's echo.

use std::io;

use zeroize::Zeroizing;

/// The longest passphrase, in bytes. Terminals of Unix cut longer lines: Linux after 4095 bytes,
/// macOS after 1023.
const LONGEST: usize = if cfg!(target_os = "linux") { 4000 } else { 1000 };

/// Asks for a passphrase at the terminal.
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
pub use unix::{hide_again, restore, show};

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io::{self, Read, Write};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
    use zeroize::Zeroizing;

    /// A prompt that waits for an answer.
    struct Prompt {
        text: String,
        tty: File,
        /// How the terminal was before the prompt switched its echo off, and how it is now.
        before: Termios,
        hidden: Termios,
    }

    static PROMPT: Mutex<Option<Prompt>> = Mutex::new(None);

    fn waiting() -> MutexGuard<'static, Option<Prompt>> {
        PROMPT.lock().unwrap_or_else(PoisonError::into_inner)
    }

    impl Prompt {
        fn begin(&mut self) -> io::Result<()> {
            tcsetattr(&self.tty, OptionalActions::Now, &self.hidden)?;
            self.tty.write_all(self.text.as_bytes()).inspect_err(|_| self.show())
        }

        fn show(&self) {
            let _ = tcsetattr(&self.tty, OptionalActions::Now, &self.before);
        }
    }

    /// Begins the prompt anew, if there is one. Call it when the program goes on after it was
    /// stopped.
    pub fn hide_again() {
        if let Some(prompt) = waiting().as_mut() {
            let _ = prompt.begin();
        }
    }

    /// Switches the echo on for good; no prompt begins after that. Call it before the program ends.
    pub fn restore() {
        let waiting = waiting();
        if let Some(prompt) = waiting.as_ref() {
            prompt.show();
        }
        std::mem::forget(waiting);
    }

    /// Writes text to the terminal, wherever standard output and standard error go.
    pub fn show(text: &str) -> io::Result<()> {
        File::options().write(true).open("/dev/tty")?.write_all(text.as_bytes())
    }

    /// Reads a line without its end. The terminal goes on to edit lines and to send signals.
    pub fn read_line(prompt: &str) -> io::Result<Zeroizing<String>> {
        let tty = File::options().read(true).write(true).open("/dev/tty")?;
        let before = tcgetattr(&tty)?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        // The end of the line is shown.
        hidden.local_modes.insert(LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG);
        let mut prompt = Prompt { text: prompt.into(), tty: tty.try_clone()?, before, hidden };
        let mut waits = waiting();
        prompt.begin()?;
        *waits = Some(prompt);
        drop(waits);
        let line = line(&tty);
        if let Some(prompt) = waiting().take() {
            prompt.show();
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

#[cfg(not(unix))]
pub fn show(text: &str) -> io::Result<()> {
    use std::io::Write;
    std::fs::File::options().write(true).open("CONOUT$")?.write_all(text.as_bytes())
}

#[cfg(not(unix))]
fn read_line(prompt: &str) -> io::Result<Zeroizing<String>> {
    rpassword::prompt_password(prompt).map(Zeroizing::new)
}
