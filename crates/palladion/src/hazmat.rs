//! Tools that are safe only in careful hands. If you are not building a protocol or a binding that cannot do without,
//! you want none of them.
//!
//! - [`UnverifiedDecryptor`] hands out bytes *before* it is known whether they are authentic. Whoever acts on them
//!   (parses them, answers them, shows them) may be acting on an attacker's bytes; RFC 10032 §3.2 and §9.2 forbid to
//!   release them. Implementations of TLS and the C interface of libaegis need it, because they keep such bytes to
//!   themselves until the tag has come.
//! - [`AeadSession`] and [`MacSession`] are for bindings to other languages. They know neither the direction nor the
//!   length of the tag before it is needed, may be finalized more than once by mistake, and can be moved as plain bytes.
//! - [`AnySession`] is an [`AeadSession`] of a cipher that is chosen at run time.
//! - [`encrypt_unauthenticated`] and [`decrypt_unauthenticated`] make no tag at all: anybody can flip any bit of the
//!   message. They exist because libaegis has them.

use core::fmt;

use crate::Error;
use zeroize::ZeroizeOnDrop;

use crate::cipher::Aegis;
use crate::family::Family;
use crate::low::memory::leaving_nothing;
#[doc(hidden)] // for the C library of this repository
pub use crate::low::raw;
use crate::low::{Direction, InOut, Variant};
use crate::pieces::Pieces;
#[cfg(feature = "alloc")]
pub use crate::session::AnySession;
pub use crate::session::{AeadSession, MacSession};
use crate::types::{Expected, Tag};

/// Decrypts piece by piece and hands out each piece at once, **unverified**.
///
/// ```
/// use palladion::hazmat::UnverifiedDecryptor;
/// # use palladion::{Aegis128L, Key128, Nonce128};
/// # let cipher = Aegis128L::<16>::new(&Key128::from([1; 16]));
/// # let nonce = Nonce128::default();
/// # let mut ciphertext = *b"do not act on this before verify()";
/// # let tag = cipher.encrypt_in_place(&nonce, b"", &mut ciphertext)?;
/// let mut decryptor = UnverifiedDecryptor::new(&cipher, &nonce, b"")?;
/// let mut unverified = [0; 34];
/// decryptor.update_into(&ciphertext, &mut unverified)?;
/// decryptor.verify(&tag)?; // only now is it a message; on failure, throw it away
/// # Ok::<(), palladion::Error>(())
/// ```
#[derive(Clone)]
pub struct UnverifiedDecryptor<F: Family, const D: usize, const T: usize> {
    pieces: Pieces<F, D>,
}

impl<F: Family, const D: usize, const T: usize> UnverifiedDecryptor<F, D, T> {
    /// Begins a message.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`], [`Error::Backend`].
    pub fn new(cipher: &Aegis<F, D, T>, nonce: &F::Nonce, ad: &[u8]) -> Result<Self, Error> {
        leaving_nothing::<Self, _>(|| Ok(Self { pieces: Pieces::new(cipher.key(), nonce, ad)? }))
    }

    /// Decrypts the next piece where it lies.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`]; then nothing is decrypted.
    pub fn update_in_place(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        self.pieces.next(InOut::in_place(buf), Direction::Decrypt)
    }

    /// Decrypts the next piece into a buffer of the same length.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`] if the lengths differ, [`Error::TooLong`]; then nothing is decrypted.
    pub fn update_into(&mut self, ct: &[u8], unverified: &mut [u8]) -> Result<(), Error> {
        self.pieces.next(InOut::separate(ct, unverified)?, Direction::Decrypt)
    }

    /// Ends the ciphertext and tells whether all that was handed out was authentic.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`]: discard everything.
    pub fn verify(mut self, tag: &Tag<T>) -> Result<(), Error> {
        let mut expected = Expected::default();
        self.pieces.finalize(expected.as_mut_bytes());
        expected.verify(tag)
    }
}

impl<F: Family, const D: usize, const T: usize> ZeroizeOnDrop for UnverifiedDecryptor<F, D, T> {}

impl<F: Family, const D: usize, const T: usize> fmt::Debug for UnverifiedDecryptor<F, D, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnverifiedDecryptor").field("bytes", &self.pieces.msg_len()).finish_non_exhaustive()
    }
}

/// Encrypts a message where it lies and makes no tag. The ciphertext is that of ordinary encryption without associated
/// data; **nothing protects it from being changed**.
///
/// # Errors
///
/// [`Error::TooLong`], [`Error::Backend`].
pub fn encrypt_unauthenticated<F: Family, const D: usize, const T: usize>(
    cipher: &Aegis<F, D, T>,
    nonce: &F::Nonce,
    buf: &mut [u8],
) -> Result<(), Error> {
    unauthenticated::<F, D>(cipher.key(), nonce, buf, Direction::Encrypt)
}

/// The inverse of [`encrypt_unauthenticated`]. **Nothing says that the message is what was encrypted.**
///
/// # Errors
///
/// [`Error::TooLong`], [`Error::Backend`].
///
/// ```
/// use palladion::hazmat::{decrypt_unauthenticated, encrypt_unauthenticated};
/// # use palladion::{Aegis128L, Key128, Nonce128};
/// # let cipher = Aegis128L::<16>::new(&Key128::from([1; 16]));
/// # let nonce = Nonce128::default();
/// let mut buf = *b"hello";
/// encrypt_unauthenticated(&cipher, &nonce, &mut buf)?;
/// decrypt_unauthenticated(&cipher, &nonce, &mut buf)?;
/// assert_eq!(&buf, b"hello");
/// # Ok::<(), palladion::Error>(())
/// ```
pub fn decrypt_unauthenticated<F: Family, const D: usize, const T: usize>(
    cipher: &Aegis<F, D, T>,
    nonce: &F::Nonce,
    buf: &mut [u8],
) -> Result<(), Error> {
    unauthenticated::<F, D>(cipher.key(), nonce, buf, Direction::Decrypt)
}

fn unauthenticated<F: Family, const D: usize>(
    key: &F::Key,
    nonce: &F::Nonce,
    buf: &mut [u8],
    direction: Direction,
) -> Result<(), Error> {
    // Where it stays: a move would leave a copy behind.
    let mut pieces = Pieces::<F, D>::zeroed(Variant::new()?);
    pieces.begin(key, nonce, b"")?;
    pieces.next(InOut::in_place(buf), direction)
}
