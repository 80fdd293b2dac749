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
}

impl Write for Impatient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.writer().write(bytes).inspect_err(|error| {
            if error.kind() != io::ErrorKind::Interrupted && self.input.len.is_none() {
                self.bar.finish_and_clear();
                interrupt::end_with(&Failure::io("write", &self.output.name, error));
            }
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
