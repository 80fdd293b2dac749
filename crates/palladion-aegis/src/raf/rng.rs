//! Random numbers.

use std::boxed::Box;
use std::io;

use palladion::Buffer;
use palladion_raf::Environment;

use super::Error;
use super::merkle::Boxed;

/// A source of random numbers, for the id of a file and the nonces of its chunks.
pub trait RafRng {
    /// Fills the buffer with cryptographically secure random bytes.
    ///
    /// # Errors
    ///
    /// If there are none.
    fn fill(&mut self, buf: &mut [u8]) -> Result<(), Error>;
}

/// The operating system's random numbers.
#[cfg(feature = "getrandom")]
pub struct OsRng;

#[cfg(feature = "getrandom")]
impl RafRng for OsRng {
    fn fill(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        getrandom::fill(buf).map_err(|_| Error::Rng)
    }
}

/// What a file gets from the caller besides its storage.
pub(super) struct Caller(pub Box<dyn RafRng>);

impl Environment for Caller {
    type Buffer = Buffer;
    type Hasher = Boxed;
    // Storages and random numbers of the caller are used as crate `aegis` does: chunk by chunk.
    const BULK: bool = false;

    fn random(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.0.fill(bytes).map_err(io::Error::other)
    }
}
