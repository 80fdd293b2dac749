//! Encryption with nonces that are counted.

use core::fmt;

use zeroize::ZeroizeOnDrop;

use crate::interface::cipher::Aegis;
use crate::interface::error::Error;
use crate::interface::family::Family;
use crate::interface::types::Tag;

/// A cipher that encrypts each message with the next of its own nonces.
///
/// `Sealer::new` draws the first nonce at random, so several senders can share a key, and a sender
/// can start again with the same key. The random number generator is needed only once. With the
/// AEGIS-128 family, 2^32 sealers with 2^32 messages each are as safe as 2^48 messages with a
/// random nonce each. With the AEGIS-256 family, there is no practical limit.
///
/// Only a copy of the process can repeat a nonce. Do not use one sealer on both sides of a `fork`,
/// or in a virtual machine that is restored from a snapshot. A sealer cannot be cloned.
///
/// Each cipher has an alias, such as [`Aegis256X2Sealer`](crate::Aegis256X2Sealer).
///
/// ```
/// use palladion::{Aegis128L, Key128, Nonce128, Sealer};
///
/// let cipher = Aegis128L::with_key(&Key128::from([1; 16]));
/// let first = Nonce128::from([2; 16]); // or with feature "getrandom": Sealer::new(...)?
/// let mut sealer = Sealer::starting_at(cipher.clone(), first);
///
/// let mut buf = *b"hello";
/// let (nonce, tag) = sealer.encrypt_in_place(b"header", &mut buf)?;
/// cipher.decrypt_in_place(&nonce, b"header", &mut buf, &tag)?;
/// assert_eq!(&buf, b"hello");
/// # Ok::<(), palladion::Error>(())
/// ```
#[must_use = "a sealer does nothing until it encrypts"]
pub struct Sealer<F: Family, const D: usize, const T: usize> {
    cipher: Aegis<F, D, T>,
    next: F::Nonce,
}

impl<F: Family, const D: usize, const T: usize> Sealer<F, D, T> {
    /// Creates a sealer that counts from a random nonce. Needs feature `getrandom`.
    ///
    /// # Errors
    ///
    /// [`Error::NoRandomness`] if the operating system provides no random bytes.
    #[cfg(feature = "getrandom")]
    pub fn new(cipher: Aegis<F, D, T>) -> Result<Self, Error> {
        Ok(Self { cipher, next: crate::interface::cipher::random_nonce::<F>()? })
    }

    /// Creates a sealer that counts from this nonce, as a little-endian number.
    ///
    /// No nonce from there on may have been used with the key, and none may be used by another
    /// sealer or call. To continue where another sealer stopped, store [`next_nonce`].
    ///
    /// [`next_nonce`]: Self::next_nonce
    pub fn starting_at(cipher: Aegis<F, D, T>, nonce: F::Nonce) -> Self {
        Self { cipher, next: nonce }
    }

    /// Returns the next nonce, which is then used up, even if encryption fails.
    fn take_nonce(&mut self) -> F::Nonce {
        let nonce = self.next;
        for byte in self.next.as_mut() {
            let carries;
            (*byte, carries) = byte.overflowing_add(1);
            if !carries {
                break;
            }
        }
        nonce
    }

    /// Returns the next nonce. A sender that continues later stores it, or one further ahead,
    /// before it uses the nonces up to there.
    #[must_use]
    pub fn next_nonce(&self) -> F::Nonce {
        self.next
    }

    /// Encrypts a message in place and returns its nonce and its tag.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`], [`Error::Backend`]; then the buffer is unchanged, and the nonce used up.
    pub fn encrypt_in_place(
        &mut self,
        ad: &[u8],
        buf: &mut [u8],
    ) -> Result<(F::Nonce, Tag<T>), Error> {
        let nonce = self.take_nonce();
        Ok((nonce, self.cipher.encrypt_in_place(&nonce, ad, buf)?))
    }

    /// Encrypts a message and returns nonce, ciphertext and tag in one piece, for
    /// [`Aegis::open_with_nonce`].
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`], [`Error::Backend`].
    #[cfg(feature = "alloc")]
    pub fn seal_with_nonce(&mut self, ad: &[u8], msg: &[u8]) -> Result<alloc::vec::Vec<u8>, Error> {
        let nonce = self.take_nonce();
        self.cipher.seal_with_nonce(&nonce, ad, msg)
    }

    /// Encrypts all of a vector in place, puts the nonce in front and appends the tag, for
    /// [`Aegis::open_vec_with_nonce`]. Wipes the old memory if the vector needs more.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`], [`Error::Backend`]; the vector is then unchanged.
    #[cfg(feature = "alloc")]
    pub fn seal_vec_with_nonce(
        &mut self,
        ad: &[u8],
        buf: &mut alloc::vec::Vec<u8>,
    ) -> Result<(), Error> {
        let nonce = self.take_nonce();
        self.cipher.seal_vec_with_nonce(&nonce, ad, buf)
    }
}

impl<F: Family, const D: usize, const T: usize> ZeroizeOnDrop for Sealer<F, D, T> {}

impl<F: Family, const D: usize, const T: usize> fmt::Debug for Sealer<F, D, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealer of {:?}", self.cipher)
    }
}
