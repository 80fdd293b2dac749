//! What the user hears about a file that was salvaged.

use std::ops::Range;

use crate::failure::{Failure, Result, tell};

/// The most missing ranges to list.
const MOST_LINES: usize = 20;

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

    /// The lines that say which ranges are missing.
    fn missing_lines(&self) -> Vec<String> {
        let listed = self.missing.iter().take(MOST_LINES);
        let mut lines: Vec<_> = listed
            .map(|range| format!("bytes {} to {} are missing", range.start, range.end - 1))
            .collect();
        if let Some(more @ 1..) = self.missing.len().checked_sub(MOST_LINES) {
            let bytes: u64 = self.missing.iter().map(|range| range.end - range.start).sum();
            lines.push(format!("and {more} more ranges; in all, {bytes} bytes are missing"));
        }
        lines
    }

    /// Says what is missing. Returns the failure for that, or fails if nothing is intact.
    pub fn report(&self, name: &str) -> Result<Option<Failure>> {
        for line in self.missing_lines() {
            tell(&format!("{name}: {line}"));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_ranges() {
        let mut found = Found::default();
        for at in 0..20 {
            found.add_missing(10 * at..10 * at + 3);
        }
        assert_eq!(found.missing_lines().len(), 20);
        assert_eq!(found.missing_lines()[19], "bytes 190 to 192 are missing");
        found.add_missing(500..507);
        found.add_missing(600..601);
        let said = "and 2 more ranges; in all, 68 bytes are missing";
        assert_eq!((found.missing_lines().len(), &*found.missing_lines()[20]), (21, said));
    }
}
