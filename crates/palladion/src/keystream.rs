//! The stream cipher inside (RFC 10032 §7).

use core::fmt;

use zeroize::ZeroizeOnDrop;

use crate::family::Family;
use crate::low::memory::{Wiped, WipedBytes, leaving_nothing};
use crate::low::{Direction, InOut, Variant};
use crate::pieces::Pieces;
use crate::{Error, limits};

/// An endless stream of bytes that depend on key and nonce alone: Stream of the standard, and a reader that continues
/// where it stopped.
///
/// Use it through one of the names: [`Aegis128LStream`](crate::Aegis128LStream),
/// [`Aegis256X2Stream`](crate::Aegis256X2Stream) and so on. The standard's nonce is optional and all zeros if absent:
/// that is [`Default`].
///
/// It authenticates nothing. As with any stream cipher, two messages XORed with the same stream give each other away.
///
/// ```
/// use palladion::{Aegis128LStream, Key128, Nonce128};
///
/// let (key, nonce) = (Key128::from([1; 16]), Nonce128::default());
/// let mut whole = [0; 100];
/// Aegis128LStream::fill(&key, &nonce, &mut whole)?;
///
/// let mut stream = Aegis128LStream::new(&key, &nonce)?;
/// let (mut a, mut b) = ([0; 33], [0; 67]);
/// stream.next_bytes(&mut a)?;
/// stream.next_bytes(&mut b)?;
/// assert_eq!([&a[..], &b[..]].concat(), whole);
/// # Ok::<(), palladion::Error>(())
/// ```
#[derive(Clone)]
pub struct KeyStream<F: Family, const D: usize> {
    pieces: Pieces<F, D>,
}

impl<F: Family, const D: usize> KeyStream<F, D> {
    /// The stream from its beginning.
    ///
    /// # Errors
    ///
    /// [`Error::Backend`].
    pub fn new(key: &F::Key, nonce: &F::Nonce) -> Result<Self, Error> {
        leaving_nothing::<Self, _>(|| Ok(Self { pieces: Pieces::new(key, nonce, b"")? }))
    }

    /// The next bytes.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`] if they would go past the limit; then none are read.
    pub fn next_bytes(&mut self, out: &mut [u8]) -> Result<(), Error> {
        limits::check("key stream", self.pieces.msg_len(), out.len())?;
        out.fill(0);
        self.pieces.next(InOut::in_place(out), Direction::Encrypt)
    }

    /// XORs the next bytes into a buffer: encrypts or decrypts it, without any authentication.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`] if they would go past the limit; then nothing happens.
    pub fn xor(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        limits::check("key stream", self.pieces.msg_len(), buf.len())?;
        let mut stream = Wiped::<32, 64>::zeroed();
        for chunk in buf.chunks_mut(stream.as_ref().len()) {
            let stream = &mut stream.as_mut()[..chunk.len()];
            self.next_bytes(stream)?;
            for (byte, key) in chunk.iter_mut().zip(stream) {
                *byte ^= *key;
            }
        }
        Ok(())
    }

    /// The beginning of the stream, in one call.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`], [`Error::Backend`].
    pub fn fill(key: &F::Key, nonce: &F::Nonce, out: &mut [u8]) -> Result<(), Error> {
        // Where it stays: a move would leave a copy behind.
        let mut stream = Self { pieces: Pieces::zeroed(Variant::new()?) };
        stream.pieces.begin(key, nonce, b"")?;
        stream.next_bytes(out)
    }
}

#[cfg(feature = "std")]
impl<F: Family, const D: usize> std::io::Read for KeyStream<F, D> {
    /// Always fills the buffer.
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        self.next_bytes(buf).map_err(std::io::Error::other)?;
        Ok(buf.len())
    }
}

impl<F: Family, const D: usize> ZeroizeOnDrop for KeyStream<F, D> {}

impl<F: Family, const D: usize> fmt::Debug for KeyStream<F, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyStream").field("position", &self.pieces.msg_len()).finish_non_exhaustive()
    }
}
