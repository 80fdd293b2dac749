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
    /// What the spare of a file with [key slots](crate::slots) is; `None` for other files.
    pub spare: Option<Spare>,
}

/// The spare copy of the key slots, at the end of a file, beside the head that opened it. Whatever
/// it is, the data is complete and authentic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spare {
    /// It is the same.
    Same,
    /// It is intact but has other slots: a change was interrupted. Other secrets may open it.
    Differs,
    /// It is damaged, cut or missing: damage to the head would lose the file.
    Damaged,
}

impl Summary {
    pub(crate) fn new(algorithm: Algorithm) -> Self {
        Self { algorithm, bytes: 0, chunks: 0, spare: None }
    }

    pub(crate) fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.chunks += 1;
    }
}
