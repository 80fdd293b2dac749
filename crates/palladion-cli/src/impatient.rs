//! An output that does not wait for more input once it has failed.

use std::io::{self, Write};

use indicatif::ProgressBar;

use crate::failure::Failure;
use crate::input::Input;
use crate::interrupt;
use crate::output::Output;

/// Ends the program as soon as a write fails, if another thread may be waiting for input.
pub struct Impatient<'a> {
    pub input: &'a Input,
    pub output: &'a Output,
    pub bar: ProgressBar,
    /// Whether it is a terminal that nobody named. Then only text is written: whoever can encrypt
    /// for the user could send anything to the terminal.
    pub is_shown: bool,
}

impl Impatient<'_> {
    fn end(&self, failure: &Failure) -> ! {
        self.bar.finish_and_clear();
        interrupt::end_with(failure)
    }
}

impl Write for Impatient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_shown && !is_text(bytes) {
            let message = "refusing to write binary data to a terminal";
            self.end(
                &Failure::usage(message)
                    .hint("name a file with -o OUT, pipe the output, or force it with -o -"),
            );
        }
        self.output.writer().write(bytes).inspect_err(|error| {
            if error.kind() != io::ErrorKind::Interrupted && self.input.len.is_none() {
                self.end(&Failure::io("write", &self.output.name, error));
            }
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns whether a terminal only shows these bytes, and takes none for a command.
fn is_text(bytes: &[u8]) -> bool {
    let is_control = |byte: &u8| byte.is_ascii_control() && !b"\t\n\r".contains(byte);
    // Those of ISO 6429 beyond ASCII, in UTF-8.
    let is_more = |pair: &[u8]| pair[0] == 0xc2 && (0x80..0xa0).contains(&pair[1]);
    !bytes.iter().any(is_control) && !bytes.windows(2).any(is_more)
}
