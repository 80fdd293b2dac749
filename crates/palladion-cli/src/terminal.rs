//! The prompt for a passphrase, which switches off the terminal's echo.
//!
//! The echo stays off until it is known whether the passphrase is right, which takes a while. Until
//! then the user may type it again.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use zeroize::Zeroizing;

#[cfg_attr(unix, path = "terminal/unix.rs")]
#[cfg_attr(windows, path = "terminal/windows.rs")]
mod system;

use system::{Mode, Terminal};

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

/// A prompt that switched the echo off.
struct Prompt {
    text: String,
    terminal: Terminal,
    /// Whether it waits for an answer.
    #[cfg(unix)]
    waits: bool,
    /// How the terminal was before the prompt switched its echo off, and how it is now.
    before: Mode,
    hidden: Mode,
}

static PROMPT: Mutex<Option<Prompt>> = Mutex::new(None);

fn current() -> MutexGuard<'static, Option<Prompt>> {
    PROMPT.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Prompt {
    fn begin(&self) -> io::Result<()> {
        self.hide()?;
        self.terminal.write(&self.text).inspect_err(|_| self.show())
    }

    fn hide(&self) -> io::Result<()> {
        self.terminal.set_mode(&self.hidden)
    }

    /// Switches the echo on, and discards what was typed without it: it was meant to be a
    /// passphrase, and the shell would show it and keep it in its history.
    fn show(&self) {
        // In the background, the terminal is the shell's, and so is what is typed.
        if self.terminal.is_ours() {
            let _ = self.terminal.set_mode(&self.before);
            self.terminal.discard_input();
        }
    }
}

/// Switches the echo off again, and begins the prompt anew if it waits for an answer. Call it when
/// the program goes on after it was stopped: the shell may have switched the echo on.
#[cfg(unix)]
pub fn hide_again() {
    match current().as_ref() {
        Some(prompt) if prompt.waits => {
            let _ = prompt.begin();
        }
        // In the background, the shell uses the terminal itself.
        Some(prompt) if prompt.terminal.is_ours() => {
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
    Terminal::open()?.write(text)
}

/// Reads a line without its end. The terminal goes on to edit lines and to send signals.
fn read_line(prompt: &str) -> io::Result<Zeroizing<String>> {
    let (terminal, own) = (Terminal::open()?, Terminal::open()?);
    let mut current = current();
    let before = match current.take() {
        Some(earlier) => earlier.before,
        None => terminal.mode()?,
    };
    let hidden = system::without_echo(&before);
    let prompt = Prompt {
        text: prompt.into(),
        terminal: own,
        #[cfg(unix)]
        waits: true,
        before,
        hidden,
    };
    prompt.begin()?;
    *current = Some(prompt);
    drop(current);
    let line = terminal.read_line();
    #[cfg(unix)]
    if let Some(prompt) = self::current().as_mut() {
        prompt.waits = false;
    }
    line
}
