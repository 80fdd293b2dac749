//! Reading that is not interrupted.

use std::io::{self, ErrorKind, Read};
use std::{error, fmt};

use crate::error::Error;

/// Fills the buffer as far as the input reaches; fewer bytes than its length mean the end of the
/// input.
pub(crate) fn read_full(
    reader: &mut (impl Read + ?Sized),
    buffer: &mut [u8],
) -> Result<usize, Error> {
    let mut len = 0;
    while len < buffer.len() {
        match read_some(reader, &mut buffer[len..]).map_err(Error::Read)? {
            0 => break,
            read => len += read,
        }
    }
    Ok(len)
}

/// Reads once. Repeats a read that was interrupted.
pub(crate) fn read_some(reader: &mut (impl Read + ?Sized), buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// The reason of an [`io::Error`]. Unlike that of a text, its `Debug` does not escape characters,
/// so WebAssembly needs no tables of Unicode for it.
pub(crate) struct Reason(pub &'static str);

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl error::Error for Reason {}
