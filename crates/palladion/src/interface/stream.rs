//! Encryption and decryption in pieces, and key streams.

use core::fmt;

use zeroize::ZeroizeOnDrop;

use crate::dispatch::Chosen;
use crate::interface::error::Error;
use crate::interface::family::Family;
use crate::interface::session::Session;
use crate::interface::types::{Expected, Tag};
use crate::memory::{Direction, InOut, Wiped, WipedBytes, wipe};

/// Encrypts a message in pieces. Created by [`Aegis::encryptor`](crate::Aegis::encryptor).
///
/// Pieces may have any size. Each piece of ciphertext is as long as its piece of the message, and
/// the result is the same as in one call. An encryptor cannot be cloned: two messages that differ
/// after a common beginning would share a nonce.
///
/// ```
/// # use palladion::{Aegis256X2, Key256, Nonce256};
/// # let cipher = Aegis256X2::<32>::new(&Key256::from([1; 32]));
/// # let nonce = Nonce256::default();
/// let mut buffer = *b"one message in two pieces";
/// let mut encryptor = cipher.encryptor(&nonce, b"ad")?;
/// encryptor.update_in_place(&mut buffer[..7])?;
/// encryptor.update_in_place(&mut buffer[7..])?;
/// let tag = encryptor.finalize();
///
/// cipher.decrypt_in_place(&nonce, b"ad", &mut buffer, &tag)?;
/// assert_eq!(&buffer, b"one message in two pieces");
/// # Ok::<(), palladion::Error>(())
/// ```
pub struct Encryptor<F: Family, const D: usize, const T: usize> {
    session: Session<F, D>,
}

impl<F: Family, const D: usize, const T: usize> Encryptor<F, D, T> {
    pub(crate) fn new(key: &F::Key, nonce: &F::Nonce, ad: &[u8]) -> Result<Self, Error> {
        Ok(Self { session: Session::new(key, nonce, ad)? })
    }

    /// Encrypts the next piece in place.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`] if the message would exceed the limit; then nothing is encrypted.
    pub fn update_in_place(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        self.session.crypt(InOut::in_place(buf), Direction::Encrypt)
    }

    /// Encrypts the next piece into a buffer of the same length.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`] if the lengths differ, [`Error::TooLong`]; then nothing is encrypted.
    pub fn update_into(&mut self, msg: &[u8], ct: &mut [u8]) -> Result<(), Error> {
        self.session.crypt(InOut::separate(msg, ct)?, Direction::Encrypt)
    }

    /// Ends the message and returns its tag.
    pub fn finalize(mut self) -> Tag<T> {
        let mut tag = Tag::zeroed();
        self.session.finalize_to(tag.as_mut_bytes());
        tag
    }
}

impl<F: Family, const D: usize, const T: usize> ZeroizeOnDrop for Encryptor<F, D, T> {}

impl<F: Family, const D: usize, const T: usize> fmt::Debug for Encryptor<F, D, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encryptor").field("bytes", &self.session.msg_len()).finish_non_exhaustive()
    }
}

/// Decrypts a message in pieces and returns it once it is verified. Created by
/// [`Aegis::decryptor`](crate::Aegis::decryptor).
///
/// The decryptor borrows the output, so nothing can read it before [`finalize`](Self::finalize) has
/// compared the tags. If the tag is wrong, or the decryptor is dropped before, everything written
/// is zeroed. Do not leak a decryptor with [`core::mem::forget`]: that ends the borrow and leaves
/// unverified bytes in the output.
///
/// The whole message must fit into memory. Encrypt larger ones in chunks, each with its own tag, as
/// the crate `palladion-file` does, or see [`hazmat`](crate::hazmat).
///
/// ```
/// # use palladion::{Aegis256X2, Key256, Nonce256};
/// # let cipher = Aegis256X2::<32>::new(&Key256::from([1; 32]));
/// # let nonce = Nonce256::default();
/// # let mut ciphertext = *b"one message in two pieces";
/// # let tag = cipher.encrypt_in_place(&nonce, b"ad", &mut ciphertext)?;
/// let mut output = [0; 100];
/// let mut decryptor = cipher.decryptor(&nonce, b"ad", &mut output)?;
/// for piece in ciphertext.chunks(13) {
///     decryptor.update(piece)?;
/// }
/// let message = decryptor.finalize(&tag)?;
/// assert_eq!(message, b"one message in two pieces");
/// # Ok::<(), palladion::Error>(())
/// ```
pub struct Decryptor<'a, F: Family, const D: usize, const T: usize> {
    session: Session<F, D>,
    /// The output and how much of it is written. Empty once it is returned.
    output: &'a mut [u8],
    written: usize,
}

impl<'a, F: Family, const D: usize, const T: usize> Decryptor<'a, F, D, T> {
    pub(crate) fn new(
        key: &F::Key,
        nonce: &F::Nonce,
        ad: &[u8],
        output: &'a mut [u8],
    ) -> Result<Self, Error> {
        Ok(Self { session: Session::new(key, nonce, ad)?, output, written: 0 })
    }

    /// Decrypts the next piece of the ciphertext.
    ///
    /// # Errors
    ///
    /// [`Error::TooShort`] if the output has no room for it, [`Error::TooLong`]; then nothing is
    /// decrypted.
    pub fn update(&mut self, ct: &[u8]) -> Result<(), Error> {
        let end = self.written.saturating_add(ct.len());
        let actual = self.output.len();
        let place = self.output.get_mut(self.written..end).ok_or(Error::TooShort {
            what: "output",
            min: end,
            actual,
        })?;
        self.session.crypt(InOut::separate(ct, place)?, Direction::Decrypt)?;
        self.written = end;
        Ok(())
    }

    /// Ends the ciphertext, verifies the tag and returns the message: the part of the output that
    /// was written.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if the tag is wrong, and what was written is zeroed.
    pub fn finalize(mut self, tag: &Tag<T>) -> Result<&'a mut [u8], Error> {
        // On failure, `drop` zeroes the output.
        let mut expected = Expected::default();
        self.session.finalize_to(expected.as_mut_bytes());
        expected.verify(tag)?;
        let output = core::mem::take(&mut self.output);
        Ok(&mut output[..core::mem::take(&mut self.written)])
    }
}

impl<F: Family, const D: usize, const T: usize> Drop for Decryptor<'_, F, D, T> {
    fn drop(&mut self) {
        wipe(&mut self.output[..self.written]);
    }
}

impl<F: Family, const D: usize, const T: usize> ZeroizeOnDrop for Decryptor<'_, F, D, T> {}

impl<F: Family, const D: usize, const T: usize> fmt::Debug for Decryptor<'_, F, D, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decryptor").field("bytes", &self.written).finish_non_exhaustive()
    }
}

/// A key stream, read in pieces: pseudo-random bytes that depend only on key and nonce (Stream in
/// RFC 10032 §7). It ends after [`MAX_LEN`](crate::MAX_LEN) bytes.
///
/// Use one of the aliases: [`Aegis128LStream`](crate::Aegis128LStream),
/// [`Aegis256X2Stream`](crate::Aegis256X2Stream) and so on. The standard makes the nonce optional;
/// [`Default`], all zeros, stands for none.
///
/// A key stream authenticates nothing. As with any stream cipher, two messages XORed with the same
/// key stream reveal each other.
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
pub struct KeyStream<F: Family, const D: usize> {
    session: Session<F, D>,
}

impl<F: Family, const D: usize> KeyStream<F, D> {
    /// Creates a key stream that starts at its first byte.
    ///
    /// # Errors
    ///
    /// [`Error::Backend`].
    pub fn new(key: &F::Key, nonce: &F::Nonce) -> Result<Self, Error> {
        Ok(Self { session: Session::new(key, nonce, b"")? })
    }

    /// Fills a buffer with the next bytes.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`] if they would exceed the limit; then the stream does not advance.
    pub fn next_bytes(&mut self, out: &mut [u8]) -> Result<(), Error> {
        Error::check_limit("key stream", self.session.msg_len(), out.len())?;
        out.fill(0);
        self.session.crypt(InOut::in_place(out), Direction::Encrypt)
    }

    /// XORs the next bytes into a buffer. This encrypts or decrypts it, without authentication.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`] if they would exceed the limit; then nothing is changed.
    pub fn xor(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        Error::check_limit("key stream", self.session.msg_len(), buf.len())?;
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

    /// Fills a buffer with the first bytes of a key stream, in one call.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`], [`Error::Backend`].
    pub fn fill(key: &F::Key, nonce: &F::Nonce, out: &mut [u8]) -> Result<(), Error> {
        // Initialised in place: a session that `new` returns would leave a copy on the stack.
        let mut stream = Self { session: Session::zeroed(Chosen::new()?) };
        stream.session.begin(key, nonce);
        stream.next_bytes(out)
    }
}

#[cfg(feature = "std")]
impl<F: Family, const D: usize> std::io::Read for KeyStream<F, D> {
    /// Fills the whole buffer.
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        self.next_bytes(buf).map_err(std::io::Error::other)?;
        Ok(buf.len())
    }
}

impl<F: Family, const D: usize> Clone for KeyStream<F, D> {
    fn clone(&self) -> Self {
        Self { session: self.session.clone() }
    }
}

impl<F: Family, const D: usize> ZeroizeOnDrop for KeyStream<F, D> {}

impl<F: Family, const D: usize> fmt::Debug for KeyStream<F, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyStream")
            .field("position", &self.session.msg_len())
            .finish_non_exhaustive()
    }
}
