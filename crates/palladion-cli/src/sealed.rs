//! The header of an encrypted file.

use std::io::Read;

use palladion_file::{Error, HEADER_LEN, Info, MAGIC, SecretKind};

use crate::failure::{Failure, Result};
use crate::foreign;

/// An encrypted file whose header was read. Nothing of it is verified.
pub struct Sealed<'a> {
    /// The name in messages.
    pub name: &'a str,
    pub info: Info,
    pub header: Vec<u8>,
}

impl<'a> Sealed<'a> {
    /// Reads the header of a file. For a RAF file, a hint names the command of `raf` to use
    /// instead.
    pub fn read(reader: impl Read, name: &'a str, instead: &str) -> Result<Self> {
        let mut header = Vec::with_capacity(HEADER_LEN);
        let read = reader.take(HEADER_LEN as u64).read_to_end(&mut header);
        read.map_err(|error| Failure::io("read", name, &error))?;
        let info = Info::from_start(&header).map_err(|error| {
            let failure = Failure::file(&error, name, "the output");
            match error {
                Error::NotPalladion => {}
                // Such a transfer changes the ends of lines in the magic.
                Error::HeaderDamaged if header.starts_with(&MAGIC) => {
                    let hint = "fetch it again, or restore a backup: without its first 128 bytes, \
                                nothing can be read";
                    return failure.hint(hint);
                }
                _ => return failure,
            }
            match foreign::hint(&header) {
                _ if header.starts_with(b"AEGISRAF") => {
                    failure.hint(format!("it is a RAF file: use palladion raf {instead}"))
                }
                Some(hint) => failure.hint(hint),
                None => failure,
            }
        })?;
        Ok(Self { name, info, header })
    }

    pub fn needs_passphrase(&self) -> bool {
        matches!(self.info.secret, SecretKind::Passphrase(_))
    }
}
