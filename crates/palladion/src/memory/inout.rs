//! Input and output of the same length: one buffer, or two that do not overlap.

use core::marker::PhantomData;

/// An input and an output of the same length, in place or separate.
pub(crate) struct InOut<'a> {
    src: *const u8,
    dst: *mut u8,
    len: usize,
    lifetime: PhantomData<(&'a [u8], &'a mut [u8])>,
}

// SAFETY: it stands for a shared slice and a mutable slice of bytes, both `Send`.
unsafe impl Send for InOut<'_> {}
// SAFETY: it stands for a shared slice and a mutable slice of bytes, both `Sync`.
unsafe impl Sync for InOut<'_> {}

/// Input and output have different lengths, in bytes.
#[derive(Debug)]
pub(crate) struct LengthsDiffer {
    pub(crate) input: usize,
    pub(crate) output: usize,
}

/// Encryption or decryption: whether the input or the output is the message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Encrypt,
    Decrypt,
}

impl<'a> InOut<'a> {
    #[inline(always)]
    pub(crate) fn in_place(buf: &'a mut [u8]) -> Self {
        let (dst, len) = (buf.as_mut_ptr(), buf.len());
        Self { src: dst, dst, len, lifetime: PhantomData }
    }

    /// Pairs two separate buffers. Fails if their lengths differ.
    #[inline(always)]
    pub(crate) fn separate(src: &'a [u8], dst: &'a mut [u8]) -> Result<Self, LengthsDiffer> {
        if src.len() != dst.len() {
            return Err(LengthsDiffer { input: src.len(), output: dst.len() });
        }
        Ok(Self { src: src.as_ptr(), dst: dst.as_mut_ptr(), len: src.len(), lifetime: PhantomData })
    }

    /// Takes the buffers of the `aead` crate.
    #[cfg(feature = "aead")]
    pub(crate) fn from_aead(buf: ::aead::inout::InOutBuf<'a, 'a, u8>) -> Self {
        let len = buf.len();
        let (src, dst) = buf.into_raw();
        Self { src, dst, len, lifetime: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub(crate) fn src(&self) -> *const u8 {
        self.src
    }

    #[inline(always)]
    pub(crate) fn dst(&self) -> *mut u8 {
        self.dst
    }

    /// Splits off the first `n` bytes. `n` is at most the length.
    pub(crate) fn split_at(self, n: usize) -> (Self, Self) {
        assert!(n <= self.len);
        // SAFETY: `n` is at most the length of both buffers.
        let (src, dst) = unsafe { (self.src.add(n), self.dst.add(n)) };
        (Self { len: n, ..self }, Self { src, dst, len: self.len - n, ..self })
    }

    /// Writes input XOR `keystream` to the output, and replaces `keystream`, which is as long as
    /// the input, with the message.
    pub(crate) fn xor(self, keystream: &mut [u8], direction: Direction) {
        assert!(keystream.len() == self.len);
        for (i, byte) in keystream.iter_mut().enumerate() {
            // SAFETY: `i` is below the length of both buffers. In place, the byte is read before it
            // is written.
            unsafe {
                let input = *self.src.add(i);
                let output = input ^ *byte;
                *self.dst.add(i) = output;
                *byte = if direction == Direction::Encrypt { input } else { output };
            }
        }
    }
}
