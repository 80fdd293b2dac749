//! What all implementations share: the interface to call them, and their descriptions.

use crate::algorithm::{Algorithm, Operation};

pub const PALLADION: &str = "palladion";
pub const AWS_LC: &str = "AWS-LC";
pub const TAG_LEN: usize = 16;
pub const KEY: [u8; 32] = *b"a key with 32 bytes for everyone";
pub const NONCE: [u8; 32] = *b"32 bytes, of which most take 12.";

/// The arguments of one call.
pub struct Job<'a> {
    pub operation: Operation,
    pub ad: &'a [u8],
    pub input: &'a [u8],
    /// As long as the input. Unused for the MAC.
    pub output: &'a mut [u8],
    /// Read by decryption, written by the others.
    pub tag: [u8; TAG_LEN],
}

/// An implementation of one algorithm.
pub trait Subject {
    /// Runs the job `repeats` times. The loop is here so that only the calls are measured.
    fn run(&mut self, job: &mut Job, repeats: u64) -> Result<(), String>;
}

/// The description of a subject, for the results.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    pub algorithm: Algorithm,
    pub library: String,
    /// The backend or the build; may be empty.
    pub form: String,
}

impl Description {
    pub fn is_ours(&self) -> bool {
        self.library == PALLADION
    }

    pub fn is_ours_with(&self, backend: &str) -> bool {
        self.is_ours() && self.form == backend
    }

    /// Returns whether this is another implementation of AEGIS.
    pub fn is_aegis_peer(&self) -> bool {
        matches!(self.algorithm, Algorithm::Aegis(_)) && !self.is_ours()
    }

    /// Library and form.
    pub fn implementation(&self) -> String {
        format!("{} {}", self.library, self.form).trim_end().to_owned()
    }
}

pub struct Entry {
    pub description: Description,
    pub version: String,
    pub subject: Box<dyn Subject>,
}

impl Entry {
    pub fn new(
        algorithm: Algorithm,
        library: &str,
        version: &str,
        subject: Box<dyn Subject>,
    ) -> Self {
        let description = Description { algorithm, library: library.into(), form: String::new() };
        Self { description, version: version.into(), subject }
    }

    pub fn with_form(mut self, form: &str) -> Self {
        self.description.form = form.into();
        self
    }
}

/// The version of a package in a lock file.
pub fn locked_version(lock: &str, package: &str) -> String {
    let mut lines = lock.lines().skip_while(|line| *line != format!("name = \"{package}\""));
    let version = lines.nth(1).and_then(|line| line.strip_prefix("version = "));
    version.map_or("unknown", |v| v.trim_matches('"')).to_owned()
}

/// The version of a package in this workspace's lock file.
pub fn version_of(package: &str) -> String {
    locked_version(include_str!("../../../../Cargo.lock"), package)
}

/// Unwraps a result that cannot be an error unless a subject is broken.
pub fn check<T, E: std::fmt::Debug>(result: Result<T, E>) -> Result<T, String> {
    result.map_err(|error| format!("{error:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found() {
        assert_eq!(
            locked_version("[[package]]\nname = \"a\"\nversion = \"1.2.3\"\n", "a"),
            "1.2.3"
        );
        assert_eq!(locked_version("", "a"), "unknown");
        assert_ne!(version_of("aws-lc-rs"), "unknown");
    }
}
