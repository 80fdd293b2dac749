//! What a file needs beside its storage.

use std::io::{self, ErrorKind};
use std::marker::PhantomData;

use zeroize::Zeroize;

use crate::merkle::{Hasher, Sha256};

/// Where random numbers and memory come from, and how a [Merkle tree](crate::merkle) is hashed.
/// [`System`] is for programs on an operating system; others are for those that bring their own.
pub trait Environment {
    /// Memory that the file owns; wiped on drop.
    type Buffer: AsRef<[u8]> + AsMut<[u8]> + Zeroize;
    /// What hashes the Merkle tree, if there is one.
    type Hasher: Hasher;
    /// Whether runs of chunks may be worked on at once, with several threads and memory of their
    /// own (some hundred kilobytes for each). If not, chunks are worked on one after another, and
    /// nothing is allocated.
    const BULK: bool;

    /// Fills the buffer with random bytes, fit for keys.
    ///
    /// # Errors
    ///
    /// If the system has no random bytes.
    fn random(&mut self, bytes: &mut [u8]) -> io::Result<()>;
}

/// The operating system's randomness, and memory of the heap. `H` hashes the Merkle tree.
pub struct System<H = Sha256>(PhantomData<fn() -> H>);

impl<H> Default for System<H> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<H: Hasher> Environment for System<H> {
    type Buffer = Vec<u8>;
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
