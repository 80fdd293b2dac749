//! Reading until a buffer is full.

use std::io::{ErrorKind, Read};

use crate::error::Error;

/// Fills the buffer as far as the input reaches; fewer bytes than its length mean the end of the
/// input.
pub(crate) fn read_full(reader: &mut impl Read, buffer: &mut [u8]) -> Result<usize, Error> {
    let mut len = 0;
    while len < buffer.len() {
        match reader.read(&mut buffer[len..]) {
            Ok(0) => break,
            Ok(read) => len += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::Read(error)),
        }
    }
    Ok(len)
}
