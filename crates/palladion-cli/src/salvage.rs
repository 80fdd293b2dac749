//! What the user hears about a file that was salvaged.

use std::ops::Range;

use crate::failure::{Failure, Result, tell};

/// What was found in a damaged file.
#[derive(Default)]
pub struct Found {
    /// The number of bytes that are intact.
    pub intact: u64,
    /// The ranges of bytes that are missing, in order.
    pub missing: Vec<Range<u64>>,
    pub has_end: bool,
}

impl Found {
    /// Adds a missing range, which begins where the last one ends or later.
    pub fn add_missing(&mut self, range: Range<u64>) {
        match self.missing.last_mut().filter(|last| last.end == range.start) {
            Some(last) => last.end = range.end,
            None => self.missing.push(range),
        }
    }

    /// Says what is missing. Returns the failure for that, or fails if nothing is intact.
    pub fn report(&self, name: &str) -> Result<Option<Failure>> {
        for range in &self.missing {
            tell(&format!("{name}: bytes {} to {} are missing", range.start, range.end - 1));
        }
        if !self.has_end {
            tell(&format!("{name}: the end is missing"));
        }
        if self.has_end && self.missing.is_empty() {
            return Ok(None);
        }
        if self.intact == 0 {
            return Err(Failure::damaged(format!("{name}: nothing is intact")));
        }
        let message = format!("{name} is damaged: {} bytes of it are intact", self.intact);
        Ok(Some(Failure::damaged(message).hint("the output has zeros in place of the others")))
    }
}
