//! Buffers for the contents of files.

use alloc::collections::TryReserveError;
use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, DerefMut};

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::memory::wipe;

/// The bytes of a cache line.
const LINE: usize = 64;

/// Memory for data from or for a file: initially zero, wiped on drop.
///
/// The data begins at a cache line, which is faster for two reasons. AEGIS loads up to a line at a
/// time. And when the system reads a file, it copies from the start of a page; on AMD's Zen cores
/// that takes up to five times as long to a place that is less than a line after the start of one.
/// Large allocations begin there: 16 bytes after it with the C library of GNU.
///
/// ```
/// let mut buffer = palladion::Buffer::new(4, 1000)?; // 4 bytes that precede 1000 bytes of data
/// assert_eq!(buffer.len(), 1004);
/// assert!(buffer[4..].as_ptr().addr().is_multiple_of(64));
/// # Ok::<(), std::collections::TryReserveError>(())
/// ```
pub struct Buffer {
    memory: Vec<u8>,
    start: usize,
}

impl Buffer {
    /// Allocates `before` bytes and, from a cache line on, `len` bytes after them. The former are
    /// for what precedes the data in a file, such as a nonce.
    ///
    /// # Errors
    ///
    /// If there is no memory.
    pub fn new(before: usize, len: usize) -> Result<Self, TryReserveError> {
        let mut memory: Vec<u8> = Vec::new();
        let needed = before.saturating_add(len);
        memory.try_reserve_exact(needed.saturating_add(LINE - 1))?;
        let start = (memory.as_ptr().addr() + before).wrapping_neg() % LINE;
        memory.resize(start + needed, 0);
        Ok(Self { memory, start })
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.memory[self.start..]
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..]
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl AsMut<[u8]> for Buffer {
    fn as_mut(&mut self) -> &mut [u8] {
        self
    }
}

impl Zeroize for Buffer {
    fn zeroize(&mut self) {
        wipe(self);
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.zeroize();
    }
}

impl ZeroizeOnDrop for Buffer {}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("len", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_begins_at_a_line() {
        for before in [0, 1, 4, 16, 63, 64, 100] {
            for len in [0, 1, 1000, 1 << 20] {
                let buffer = Buffer::new(before, len).unwrap();
                assert_eq!((buffer.len(), buffer.iter().max().unwrap_or(&0)), (before + len, &0));
                assert!((buffer.as_ptr().addr() + before).is_multiple_of(LINE));
            }
        }
    }

    #[test]
    fn too_much() {
        for (before, len) in [(0, usize::MAX), (usize::MAX, 1), (0, usize::MAX / 2)] {
            Buffer::new(before, len).unwrap_err();
        }
    }
}
