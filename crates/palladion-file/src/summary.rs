//! What was done.

use palladion::Algorithm;

/// The result of an [`Encryptor`](crate::Encryptor) or a [`Decryptor`](crate::Decryptor).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// The algorithm of the file.
    pub algorithm: Algorithm,
    /// Bytes of plaintext that went in or came out.
    pub bytes: u64,
    /// Number of chunks.
    pub chunks: u64,
}

impl Summary {
    pub(crate) fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.chunks += 1;
    }
}
