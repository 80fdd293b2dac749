//! A Merkle tree over the contents of a file, kept in memory. Its commitment identifies the
//! contents in at most 64 bytes.
//!
//! Someone who can write to a file can replace it, or some of its chunks, with an older copy, and
//! nothing in the file shows that. A commitment kept elsewhere does, because different contents
//! have a different one. The tree is updated while the file changes, which costs hashing the chunks
//! that change.
//!
//! The number of chunks that a tree has room for is fixed when it is created, and changes the
//! commitment. With [`Sha256`], commitments are those of `pyaegis`.

use std::io;
use std::ops::{Range, RangeInclusive};

use palladion::Tag;
use sha2::Digest;

pub use crate::limits::{HASH_MAX, HASH_MIN};
use crate::{Error, Result};

/// Bytes in the [context](Input::Commitment::context) of a commitment.
pub const CONTEXT_LEN: usize = 32;

/// What a tree hashes. The leaves have level 0, and the nodes of each level count from 0.
#[derive(Clone, Copy)]
pub enum Input<'a> {
    /// A chunk: its contents, up to the end of the file, and its index.
    Leaf {
        /// The contents.
        chunk: &'a [u8],
        /// The index.
        index: u64,
    },
    /// Two nodes of a level.
    Parent {
        /// The hash of the first.
        left: &'a [u8],
        /// The hash of the second.
        right: &'a [u8],
        /// Their level.
        level: u32,
        /// The index of their parent on the level above.
        index: u64,
    },
    /// An empty place.
    Empty {
        /// Its level.
        level: u32,
        /// Its index.
        index: u64,
    },
    /// The tree as a whole.
    Commitment {
        /// The hash of its root.
        root: &'a [u8],
        /// The format's version, the algorithm's number, the size of chunks and the file's id.
        context: &'a [u8; CONTEXT_LEN],
        /// The size of the file.
        size: u64,
    },
}

/// A hash function. Inputs that differ, also in their kinds, must have different hashes.
pub trait Hasher {
    /// Hashes an input. Fills `out`, which is as long as the hashes of the tree.
    ///
    /// # Errors
    ///
    /// Whatever may happen.
    fn hash(&self, out: &mut [u8], input: Input<'_>) -> io::Result<()>;
}

/// SHA-256 as `pyaegis` uses it, 32 bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sha256;

impl Sha256 {
    /// Bytes in a hash.
    pub const LEN: usize = 32;

    fn of(out: &mut [u8], parts: &[&[u8]]) -> io::Result<()> {
        let mut hash = sha2::Sha256::new();
        for part in parts {
            hash.update(part);
        }
        match <&mut [u8; Self::LEN]>::try_from(out) {
            Ok(out) => *out = hash.finalize().into(),
            Err(_) => return Err(io::Error::other("hashes of SHA-256 have 32 bytes")),
        }
        Ok(())
    }
}

impl Hasher for Sha256 {
    fn hash(&self, out: &mut [u8], input: Input<'_>) -> io::Result<()> {
        match input {
            Input::Leaf { chunk, index } => Self::of(out, &[&[0], &index.to_le_bytes(), chunk]),
            Input::Parent { left, right, level, index } => {
                Self::of(out, &[&[1], &level.to_le_bytes(), &index.to_le_bytes(), left, right])
            }
            Input::Empty { level, index } => {
                Self::of(out, &[&[2], &level.to_le_bytes(), &index.to_le_bytes()])
            }
            Input::Commitment { root, context, size } => {
                Self::of(out, &[&[3], root, context, &size.to_le_bytes()])
            }
        }
    }
}

/// Bytes that the nodes of a tree take, from the leaves up.
#[must_use]
pub fn tree_len(max_chunks: u64, hash_len: usize) -> Option<usize> {
    let mut nodes = max_chunks;
    let mut level = max_chunks;
    while level > 1 {
        level = level.div_ceil(2);
        nodes = nodes.checked_add(level)?;
    }
    usize::try_from(nodes).ok()?.checked_mul(hash_len)
}

/// The tree.
pub struct Tree<H, B> {
    hasher: H,
    nodes: B,
    max_chunks: u64,
    hash_len: usize,
}

/// A node's hash, of any length.
struct Hash([u8; HASH_MAX]);

impl<H: Hasher, B: AsRef<[u8]> + AsMut<[u8]>> Tree<H, B> {
    /// An empty tree for so many chunks, whose nodes are kept in a buffer of at least [`tree_len`]
    /// bytes.
    ///
    /// # Errors
    ///
    /// [`Error::HashLength`]; [`Error::TreeSize`] without chunks, or if the buffer is too short.
    pub fn new(hasher: H, nodes: B, max_chunks: u64, hash_len: usize) -> Result<Self> {
        if !(HASH_MIN..=HASH_MAX).contains(&hash_len) {
            return Err(Error::HashLength(hash_len));
        }
        match tree_len(max_chunks, hash_len) {
            Some(len) if len <= nodes.as_ref().len() && max_chunks > 0 => {}
            _ => return Err(Error::TreeSize(max_chunks)),
        }
        Ok(Self { hasher, nodes, max_chunks, hash_len })
    }

    pub(crate) fn max_chunks(&self) -> u64 {
        self.max_chunks
    }

    /// Returns whether so many chunks have room.
    pub(crate) fn check_room(&self, chunks: u64) -> Result<()> {
        let max_chunks = self.max_chunks;
        if chunks > max_chunks { Err(Error::TreeFull { max_chunks }) } else { Ok(()) }
    }

    pub(crate) fn hash_len(&self) -> usize {
        self.hash_len
    }

    /// Makes all places empty.
    pub(crate) fn clear(&mut self) -> Result<()> {
        self.remove(0..self.max_chunks)?;
        self.update(0..=self.max_chunks - 1)
    }

    /// Makes places empty, without what is above them.
    pub(crate) fn remove(&mut self, chunks: Range<u64>) -> Result<()> {
        for index in chunks {
            let hash = self.hash(Input::Empty { level: 0, index })?;
            self.put(0, index, &hash);
        }
        Ok(())
    }

    /// Hashes a chunk, without what is above it.
    pub(crate) fn set(&mut self, index: u64, chunk: &[u8]) -> Result<()> {
        let hash = self.hash(Input::Leaf { chunk, index })?;
        self.put(0, index, &hash);
        Ok(())
    }

    /// Returns whether this is the chunk that was hashed.
    pub(crate) fn is(&self, index: u64, chunk: Option<&[u8]>) -> Result<bool> {
        let hash = self.hash(match chunk {
            Some(chunk) => Input::Leaf { chunk, index },
            None => Input::Empty { level: 0, index },
        })?;
        Ok(self.holds(0, index, &hash))
    }

    /// Hashes what is above these leaves.
    pub(crate) fn update(&mut self, chunks: RangeInclusive<u64>) -> Result<()> {
        let (mut first, mut last) = chunks.into_inner();
        for level in 0..self.top() {
            (first, last) = (first / 2, last / 2);
            for index in first..=last {
                let hash = self.parent(level, index)?;
                self.put(level + 1, index, &hash);
            }
        }
        Ok(())
    }

    /// Returns whether all that is above the leaves follows from them.
    pub(crate) fn is_consistent(&self) -> Result<bool> {
        for level in 0..self.top() {
            for index in 0..self.nodes_at(level + 1) {
                if !self.holds(level + 1, index, &self.parent(level, index)?) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The commitment, into the first bytes of the buffer.
    pub(crate) fn commitment(
        &self,
        out: &mut [u8],
        context: &[u8; CONTEXT_LEN],
        size: u64,
    ) -> Result<()> {
        let actual = out.len();
        let out = out.get_mut(..self.hash_len).ok_or(Error::HashLength(actual))?;
        let root = self.node(self.top(), 0);
        Ok(self.hasher.hash(out, Input::Commitment { root, context, size })?)
    }

    /// The hash of the node that is the parent of two of a level.
    fn parent(&self, level: u32, index: u64) -> Result<Hash> {
        let (left, right) = (2 * index, 2 * index + 1);
        let empty;
        let right = if right < self.nodes_at(level) {
            self.node(level, right)
        } else {
            empty = self.hash(Input::Empty { level, index: right })?;
            &empty.0[..self.hash_len]
        };
        self.hash(Input::Parent { left: self.node(level, left), right, level, index })
    }

    fn hash(&self, input: Input<'_>) -> Result<Hash> {
        let mut hash = Hash([0; HASH_MAX]);
        self.hasher.hash(&mut hash.0[..self.hash_len], input)?;
        Ok(hash)
    }

    /// The root's level.
    fn top(&self) -> u32 {
        u64::BITS - (self.max_chunks - 1).leading_zeros()
    }

    fn nodes_at(&self, level: u32) -> u64 {
        // Halving and rounding up several times is the same as dividing and rounding up once.
        ((self.max_chunks - 1) >> level) + 1
    }

    /// Returns where a node is. It fits, because all of the tree does.
    fn place(&self, level: u32, index: u64) -> Range<usize> {
        let before: u64 = (0..level).map(|level| self.nodes_at(level)).sum();
        let start = (before + index) as usize * self.hash_len;
        start..start + self.hash_len
    }

    fn node(&self, level: u32, index: u64) -> &[u8] {
        &self.nodes.as_ref()[self.place(level, index)]
    }

    /// Returns whether this is the hash of a node, compared in constant time, because it depends on
    /// the contents.
    fn holds(&self, level: u32, index: u64, hash: &Hash) -> bool {
        let mut there = Hash([0; HASH_MAX]);
        there.0[..self.hash_len].copy_from_slice(self.node(level, index));
        Tag::from(there.0) == Tag::from(hash.0)
    }

    fn put(&mut self, level: u32, index: u64, hash: &Hash) {
        let place = self.place(level, index);
        self.nodes.as_mut()[place].copy_from_slice(&hash.0[..self.hash_len]);
    }
}
