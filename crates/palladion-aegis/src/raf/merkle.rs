//! The hash function of a Merkle tree.

use std::boxed::Box;
use std::io;

use palladion_raf::merkle::{Hasher, Input};

use super::Error;

/// A hash function, in the four ways that a Merkle tree uses it. No input of one may give the hash
/// of another.
///
/// Each method fills `out`, which has [`hash_len`](Self::hash_len) bytes.
pub trait MerkleHasher {
    /// Returns the number of bytes in a hash: 8 to 64.
    fn hash_len(&self) -> usize;
    /// Hashes a chunk: its contents, up to the end of the file, and its index.
    ///
    /// # Errors
    ///
    /// Whatever may happen.
    fn hash_leaf(&self, out: &mut [u8], chunk: &[u8], chunk_idx: u64) -> Result<(), Error>;
    /// Hashes two nodes of `level`, which is 0 for leaves. `node_idx` is the index of their parent
    /// on the level above.
    ///
    /// # Errors
    ///
    /// Whatever may happen.
    fn hash_parent(
        &self,
        out: &mut [u8],
        left: &[u8],
        right: &[u8],
        level: u32,
        node_idx: u64,
    ) -> Result<(), Error>;
    /// Hashes an empty place.
    ///
    /// # Errors
    ///
    /// Whatever may happen.
    fn hash_empty(&self, out: &mut [u8], level: u32, node_idx: u64) -> Result<(), Error>;
    /// Hashes the tree as a whole: its root, what the header says about the file, and the size.
    ///
    /// # Errors
    ///
    /// Whatever may happen.
    fn hash_commitment(
        &self,
        out: &mut [u8],
        structural_root: &[u8],
        ctx: &[u8],
        file_size: u64,
    ) -> Result<(), Error>;
}

/// The caller's hash function.
pub(super) struct Boxed(pub Box<dyn MerkleHasher>);

impl Hasher for Boxed {
    fn hash(&self, out: &mut [u8], input: Input<'_>) -> io::Result<()> {
        let hasher = &self.0;
        match input {
            Input::Leaf { chunk, index } => hasher.hash_leaf(out, chunk, index),
            Input::Parent { left, right, level, index } => {
                hasher.hash_parent(out, left, right, level, index)
            }
            Input::Empty { level, index } => hasher.hash_empty(out, level, index),
            Input::Commitment { root, context, size } => {
                hasher.hash_commitment(out, root, context, size)
            }
        }
        .map_err(io::Error::other)
    }
}
