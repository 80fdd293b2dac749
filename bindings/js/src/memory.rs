//! The interface between JavaScript and Rust: the scratch memory and results.

use core::fmt::{self, Write};
use core::ops::Deref;

use crate::failure::Failure;

/// The bytes of associated data and message that fit in one call. Longer messages are processed in
/// pieces of this size, which stay in a fast cache.
pub(crate) const DATA_LEN: usize = 256 * 1024;

/// The result of a call that failed. The text then has a code, a message and perhaps a hint, one
/// line each, and ends with a zero.
pub(crate) const FAILED: u32 = u32::MAX;

/// The memory for arguments and results.
#[repr(C, align(16))]
pub(crate) struct Scratch {
    /// A key; a call wipes it.
    pub(crate) key: [u8; 32],
    /// A nonce, a salt, or a number of 64 bits, the lowest byte first.
    pub(crate) nonce: [u8; 32],
    /// A tag, written or compared by a call, unless it follows the data.
    pub(crate) tag: [u8; 32],
    /// The error of a call that failed.
    pub(crate) text: [u8; 512],
    /// Messages, in place, with room for a tag at the end.
    pub(crate) data: [u8; DATA_LEN + 32],
}

impl Scratch {
    /// The offsets of the key, the nonce, the tag, the text and the data, and the room for data.
    pub(crate) const PLACES: [usize; 6] = [
        core::mem::offset_of!(Self, key),
        core::mem::offset_of!(Self, nonce),
        core::mem::offset_of!(Self, tag),
        core::mem::offset_of!(Self, text),
        core::mem::offset_of!(Self, data),
        DATA_LEN,
    ];

    /// The number of 64 bits where nonces are.
    pub(crate) fn long(&self) -> u64 {
        u64::from_le_bytes(*self.nonce.first_chunk().expect("32 bytes"))
    }

    pub(crate) fn set_long(&mut self, number: u64) {
        *self.nonce.first_chunk_mut().expect("32 bytes") = number.to_le_bytes();
    }
}

/// The key in the scratch memory, which is wiped at the end of the call. There is no copy of it.
pub(crate) struct Key<'a>(pub(crate) &'a mut [u8; 32]);

impl Deref for Key<'_> {
    type Target = [u8; 32];

    fn deref(&self) -> &[u8; 32] {
        self.0
    }
}

impl Drop for Key<'_> {
    fn drop(&mut self) {
        *self.0 = [0; 32]; // WebAssembly would call a function to fill a slice
        zeroize::optimization_barrier(self.0);
    }
}

/// Zeroes bytes in a way that the optimiser does not remove. `zeroize` would write byte by byte,
/// which takes a third of the time of a MAC.
pub(crate) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    zeroize::optimization_barrier(bytes);
}

/// Returns the first `len` bytes of a buffer. Refuses a length that JavaScript should not pass.
pub(crate) fn first(buffer: &mut [u8], len: u32) -> Result<&mut [u8], Failure> {
    buffer.get_mut(..len as usize).ok_or(Failure::Argument)
}

/// Returns the number of a call, or `FAILED` after writing the text of its error.
pub(crate) fn answer(text: &mut [u8], result: Result<u32, Failure>) -> u32 {
    result.unwrap_or_else(|failure| {
        let mut text = Text { bytes: text, len: 0 };
        // The writer drops what does not fit.
        let _ = write!(text, "{failure}");
        FAILED
    })
}

/// Writes text to bytes and ends it with a zero.
struct Text<'a> {
    bytes: &'a mut [u8],
    len: usize,
}

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.len() - 1 - self.len;
        let taken = text.len().min(room);
        self.bytes[self.len..][..taken].copy_from_slice(&text.as_bytes()[..taken]);
        self.len += taken;
        self.bytes[self.len] = 0;
        Ok(())
    }
}
