//! An output that does not wait for more input once it has failed.

use std::io::{self, Write};

use indicatif::ProgressBar;
use zeroize::Zeroizing;

use crate::failure::Failure;
use crate::input::Input;
use crate::interrupt;
use crate::output::Output;

/// Ends the program as soon as a write fails, if another thread may be waiting for input.
pub struct Impatient<'a> {
    input: &'a Input,
    output: &'a Output,
    bar: ProgressBar,
    /// Whether it is a terminal that nobody named. Then only text is written: whoever can encrypt
    /// for the user could send anything to the terminal.
    is_shown: bool,
    /// The beginning of a character that the last chunk ended with.
    unfinished: Vec<u8>,
}

impl<'a> Impatient<'a> {
    /// `is_named` says whether the user named the output.
    pub fn new(input: &'a Input, output: &'a Output, is_named: bool, bar: ProgressBar) -> Self {
        let is_shown = !is_named && output.is_terminal();
        Self { input, output, bar, is_shown, unfinished: Vec::new() }
    }

    /// Returns whether a terminal only shows these bytes, and takes none for a command: UTF-8
    /// without control characters but for white space.
    fn is_text(&mut self, bytes: &[u8]) -> bool {
        let bytes = Zeroizing::new([&self.unfinished, bytes].concat());
        let text = match std::str::from_utf8(&bytes) {
            Ok(text) => text,
            // A character ends in the next chunk.
            Err(error) if error.error_len().is_none() => {
                std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(_) => return false,
        };
        self.unfinished = bytes[text.len()..].to_vec();
        text.chars().all(|shown| !shown.is_control() || "\t\n\x0c\r".contains(shown))
    }

    fn end(&self, failure: &Failure) -> ! {
        self.bar.finish_and_clear();
        interrupt::end_with(failure)
    }
}

impl Write for Impatient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_shown && !self.is_text(bytes) {
            let message = "refusing to write binary data to a terminal";
            self.end(
                &Failure::usage(message)
                    .hint("name a file with -o OUT, pipe the output, or force it with -o -"),
            );
        }
        let mut writer = self.output.writer();
        // What is shown is checked once.
        let written = match self.is_shown {
            true => writer.write_all(bytes).map(|()| bytes.len()),
            false => writer.write(bytes),
        };
        written.inspect_err(|error| {
            if error.kind() != io::ErrorKind::Interrupted && self.input.len.is_none() {
                self.end(&Failure::io("write", &self.output.name, error));
            }
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
