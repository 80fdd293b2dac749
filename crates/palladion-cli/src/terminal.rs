//! The terminal's echo, which a passphrase prompt switches off and a signal must switch on again.

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::sync::Mutex;

    use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

    /// How the terminal was before the prompt switched its echo off.
    static MODE: Mutex<Option<(File, Termios)>> = Mutex::new(None);

    /// Remembers the mode of the terminal. Call it before a passphrase prompt.
    pub fn remember() {
        if let (Ok(tty), Ok(mut remembered)) = (File::open("/dev/tty"), MODE.lock()) {
            *remembered = tcgetattr(&tty).ok().map(|mode| (tty, mode));
        }
    }

    /// Restores the remembered mode. Call it when a signal ends the program, perhaps during the
    /// prompt.
    pub fn restore() {
        if let Some((tty, mode)) = MODE.lock().ok().and_then(|mut remembered| remembered.take()) {
            let _ = tcsetattr(&tty, OptionalActions::Now, &mode);
        }
    }
}

#[cfg(unix)]
pub use unix::{remember, restore};

/// Does nothing: only Unix signals end the program during a prompt.
#[cfg(not(unix))]
pub fn remember() {}
