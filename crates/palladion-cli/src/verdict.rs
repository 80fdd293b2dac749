//! What `mac --check` and `verify` print about a file, in the words of sha256sum.

use crate::failure::{Result, is_quiet};
use crate::streams;
use crate::text::printable;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Ok,
    Failed,
    /// It could not be checked.
    Unread,
}

impl Verdict {
    /// Prints the line of a file. If the user wants no notes, only failures are printed.
    pub fn print(self, name: &[u8]) -> Result<()> {
        let verdict = match self {
            Verdict::Ok if is_quiet() => return Ok(()),
            Verdict::Ok => "OK",
            Verdict::Failed => "FAILED",
            Verdict::Unread => "FAILED open or read",
        };
        streams::print(format!("{}: {verdict}\n", printable(name)))
    }
}
