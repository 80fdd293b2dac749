//! The input of a command: a file or standard input.

use std::fs::{File, Metadata};
use std::io::{IsTerminal, Seek};
use std::path::Path;

use crate::failure::{Failure, Result, quoted, tell};
use crate::streams;
use crate::waiting::Waiting;

pub struct Input {
    pub file: File,
    /// The name in messages.
    pub name: String,
    pub is_standard: bool,
    pub metadata: Metadata,
    /// The number of bytes left to read, if known.
    pub len: Option<u64>,
}

/// Whether a path on the command line means a standard stream.
pub fn is_standard(path: Option<&Path>) -> bool {
    path.is_none_or(|path| path.as_os_str() == "-")
}

impl Input {
    /// Opens a file with data, or standard input.
    pub fn open(path: Option<&Path>) -> Result<Self> {
        Self::open_as("pack it first: tar c DIRECTORY | palladion …", path)
    }

    /// Opens a file or standard input. `no_directory` is a hint for those who name a directory.
    pub fn open_as(no_directory: &str, path: Option<&Path>) -> Result<Self> {
        let (file, name) = match path.filter(|path| !is_standard(Some(path))) {
            Some(path) => {
                let name = quoted(path);
                (File::open(path).map_err(|error| Failure::io("open", &name, &error))?, name)
            }
            None => {
                let name = "standard input".to_string();
                (streams::input().map_err(|error| Failure::io("open", &name, &error))?, name)
            }
        };
        let metadata = file.metadata().map_err(|error| Failure::io("read", &name, &error))?;
        if metadata.is_dir() {
            return Err(Failure::new(format!("{name} is a directory")).hint(no_directory));
        }
        // A program before this one may have read some of standard input.
        let position = (&file).stream_position().unwrap_or(0);
        let len = metadata.is_file().then_some(metadata.len().saturating_sub(position));
        Ok(Self { file, name, is_standard: is_standard(path), metadata, len })
    }

    /// Where to read.
    pub fn reader(&self) -> Waiting<&File> {
        Waiting(&self.file)
    }

    /// Fails if fewer bytes were read than the file had when it was opened. (It may grow: a log
    /// does.)
    pub fn check_whole(&self, read: u64) -> Result<()> {
        match self.len {
            Some(len) if read < len => Err(Failure::new(format!(
                "{} became shorter while it was read: it had {len} bytes, and {read} were read",
                self.name
            ))
            .hint("run the command again when no other program changes the file")),
            _ => Ok(()),
        }
    }

    /// Tells a user at a terminal that the program waits for input. Call it before the first read.
    pub fn begin(&self) {
        if self.file.is_terminal() {
            tell("note: reading from the terminal; Ctrl-D ends the input");
        }
    }
}
