//! What a file needs besides its storage.

use std::io::{self, ErrorKind};
use std::marker::PhantomData;

use palladion::Buffer;
use zeroize::Zeroize;

use crate::merkle::{Hasher, Sha256};

/// The source of random numbers and memory, and the hash of a [Merkle tree](crate::merkle).
/// [`System`] is for programs on an operating system; implement it yourself elsewhere.
pub trait Environment {
    /// Memory owned by the file; wiped on drop.
    type Buffer: AsRef<[u8]> + AsMut<[u8]> + Zeroize;
    /// What hashes the Merkle tree, if there is one.
    type Hasher: Hasher;
    /// Whether runs of chunks may be processed by several threads, each with a few hundred
    /// kilobytes of its own memory. If not, chunks are processed one after another, and nothing is
    /// allocated.
    const BULK: bool;

    /// Fills the buffer with cryptographically secure random bytes.
    ///
    /// # Errors
    ///
    /// If the system has no random bytes.
    fn random(&mut self, bytes: &mut [u8]) -> io::Result<()>;
}

/// The operating system's random numbers and heap memory. `H` hashes the Merkle tree.
pub struct System<H = Sha256>(PhantomData<fn() -> H>);

impl<H> Default for System<H> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<H: Hasher> Environment for System<H> {
    type Buffer = Buffer;
    type Hasher = H;
    const BULK: bool = true;

    fn random(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        getrandom::fill(bytes).map_err(io::Error::other)
    }
}

/// Allocates zeroed memory.
pub(crate) fn zeros(len: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len).map_err(|_| ErrorKind::OutOfMemory)?;
    bytes.resize(len, 0);
    Ok(bytes)
}
