//! Ciphers whose [`Algorithm`] and tag length are chosen at run time, for files, command lines and
//! bindings to other languages. Keys, nonces and tags are slices; their lengths are checked.
//!
//! ```
//! use palladion::any::{Cipher, Mac};
//! use palladion::{Aegis128L, Algorithm, Key128, Nonce128};
//!
//! let algorithm: Algorithm = "AEGIS-128L".parse().unwrap();
//! let cipher = Cipher::new(algorithm, &[1; 16], 32)?;
//! let (mut message, mut tag) = (*b"message", [0; 32]);
//! cipher.encrypt_in_place(&[2; 16], b"header", &mut message, &mut tag)?;
//!
//! let same = Aegis128L::<32>::new(&Key128::from([1; 16]));
//! same.decrypt_in_place(&Nonce128::from([2; 16]), b"header", &mut message, &tag.into())?;
//! assert_eq!(&message, b"message");
//! # Ok::<(), palladion::Error>(())
//! ```

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::interface::algorithm::Algorithm;
use crate::interface::cipher::Aegis;
use crate::interface::error::Error;
use crate::interface::family::Family;
use crate::interface::job::Job;
#[cfg(feature = "alloc")]
use crate::interface::session::{DynSession, new_boxed};
use crate::memory::InOut;
use crate::with_algorithm;

// All methods are inline, so that only the crates that use this layer compile it: it instantiates
// every variant.

/// The length of the longest key and nonce, in bytes.
const MAX_LEN: usize = 32;

/// A cipher of any [`Algorithm`], with its key and tag length. Like [`Aegis`].
#[derive(Clone)]
pub struct Cipher {
    algorithm: Algorithm,
    tag_len: usize,
    key: [u8; MAX_LEN],
}

impl Cipher {
    /// Creates a cipher. The key has [`Algorithm::key_len`] bytes; tags have 16 or 32.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`], [`Error::UnknownTagLength`].
    #[inline]
    pub fn new(algorithm: Algorithm, key: &[u8], tag_len: usize) -> Result<Self, Error> {
        algorithm.check_len("key", key.len())?;
        Error::check_tag_length(tag_len)?;
        let mut cipher = Self { algorithm, tag_len, key: [0; MAX_LEN] };
        cipher.key[..key.len()].copy_from_slice(key);
        Ok(cipher)
    }

    /// Returns the algorithm.
    #[must_use]
    #[inline]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Returns the length of a tag in bytes: 16 or 32.
    #[must_use]
    #[inline]
    pub fn tag_len(&self) -> usize {
        self.tag_len
    }

    /// Returns the key, [`Algorithm::key_len`] bytes.
    #[must_use]
    #[inline]
    pub fn key(&self) -> &[u8] {
        &self.key[..self.algorithm.key_len()]
    }

    #[inline(always)]
    fn seal(&self, nonce: &[u8], ad: &[u8], io: InOut<'_>, tag: &mut [u8]) -> Result<(), Error> {
        #[inline(always)]
        fn seal<F: Family, const D: usize>(
            inputs: [&[u8]; 3],
            io: InOut<'_>,
            tag: &mut [u8],
        ) -> Result<(), Error> {
            Job::<F, D>::encrypt(inputs, io, tag).run()
        }
        let inputs = self.inputs(nonce, ad, tag.len())?;
        with_algorithm!(self.algorithm, seal(inputs, io, tag))
    }

    #[inline(always)]
    fn open(&self, nonce: &[u8], ad: &[u8], io: InOut<'_>, tag: &[u8]) -> Result<(), Error> {
        #[inline(always)]
        fn open<F: Family, const D: usize>(
            inputs: [&[u8]; 3],
            io: InOut<'_>,
            tag: &[u8],
        ) -> Result<(), Error> {
            Job::<F, D>::decrypt(inputs, io, tag).run()
        }
        let inputs = self.inputs(nonce, ad, tag.len())?;
        with_algorithm!(self.algorithm, open(inputs, io, tag))
    }

    /// Returns the inputs of a [`Job`], of the right lengths.
    #[inline(always)]
    fn inputs<'a>(
        &'a self,
        nonce: &'a [u8],
        ad: &'a [u8],
        tag_len: usize,
    ) -> Result<[&'a [u8]; 3], Error> {
        Error::check_length("tag", tag_len, self.tag_len)?;
        self.algorithm.check_len("nonce", nonce.len())?;
        Ok([self.key(), nonce, ad])
    }

    /// Encrypts a message in place and writes its tag, of [`tag_len`](Self::tag_len) bytes.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`], [`Error::TooLong`], [`Error::Backend`]; then nothing is changed.
    #[inline]
    pub fn encrypt_in_place(
        &self,
        nonce: &[u8],
        ad: &[u8],
        buf: &mut [u8],
        tag: &mut [u8],
    ) -> Result<(), Error> {
        self.seal(nonce, ad, InOut::in_place(buf), tag)
    }

    /// Encrypts a message into another buffer of the same length, and writes its tag.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`], [`Error::TooLong`], [`Error::Backend`]; then nothing is changed.
    #[inline]
    pub fn encrypt_into(
        &self,
        nonce: &[u8],
        ad: &[u8],
        msg: &[u8],
        ct: &mut [u8],
        tag: &mut [u8],
    ) -> Result<(), Error> {
        self.seal(nonce, ad, InOut::separate(msg, ct)?, tag)
    }

    /// Verifies the tag and decrypts a ciphertext in place.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if the tag is wrong, and the buffer is zeroed.
    /// [`Error::WrongLength`], [`Error::TooLong`], [`Error::Backend`]; then nothing is changed.
    #[inline]
    pub fn decrypt_in_place(
        &self,
        nonce: &[u8],
        ad: &[u8],
        buf: &mut [u8],
        tag: &[u8],
    ) -> Result<(), Error> {
        self.open(nonce, ad, InOut::in_place(buf), tag)
    }

    /// Verifies the tag and decrypts a ciphertext into another buffer of the same length.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if the tag is wrong, and the output is zeroed.
    /// [`Error::WrongLength`], [`Error::TooLong`], [`Error::Backend`]; then nothing is changed.
    #[inline]
    pub fn decrypt_into(
        &self,
        nonce: &[u8],
        ad: &[u8],
        ct: &[u8],
        tag: &[u8],
        msg: &mut [u8],
    ) -> Result<(), Error> {
        self.open(nonce, ad, InOut::separate(ct, msg)?, tag)
    }

    /// Verifies the tag of a ciphertext without returning the message. Like [`Aegis::verify`].
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if the tag is wrong; [`Error::WrongLength`],
    /// [`Error::TooLong`], [`Error::Backend`].
    #[inline]
    pub fn verify(&self, nonce: &[u8], ad: &[u8], ct: &[u8], tag: &[u8]) -> Result<(), Error> {
        fn verify<F: Family, const D: usize>(
            inputs: [&[u8]; 3],
            ct: &[u8],
            tag: &[u8],
        ) -> Result<(), Error> {
            match tag.len() {
                16 => Aegis::<F, D, 16>::verify_inputs(inputs, ct, &tag.try_into()?),
                _ => Aegis::<F, D, 32>::verify_inputs(inputs, ct, &tag.try_into()?),
            }
        }
        let inputs = self.inputs(nonce, ad, tag.len())?;
        with_algorithm!(self.algorithm, verify(inputs, ct, tag))
    }
}

impl Drop for Cipher {
    #[inline]
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

impl ZeroizeOnDrop for Cipher {}

impl fmt::Debug for Cipher {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cipher")
            .field("algorithm", &self.algorithm)
            .field("tag_len", &self.tag_len)
            .finish_non_exhaustive()
    }
}

/// Authenticates data in pieces with any [`Algorithm`] (RFC 10032 §8). Like [`crate::Mac`]. Needs
/// feature `alloc`.
///
/// ```
/// use palladion::any::Mac;
/// use palladion::Algorithm;
///
/// let mut mac = Mac::new(Algorithm::Aegis256X2, &[1; 32], &[0; 32])?;
/// mac.update(b"some ")?;
/// let mut tag = [0; 32];
/// mac.clone().finalize(&mut tag)?; // the tag of "some "
/// mac.update(b"data")?;
/// mac.finalize(&mut tag)?;
/// # Ok::<(), palladion::Error>(())
/// ```
#[cfg(feature = "alloc")]
pub struct Mac {
    session: Box<dyn DynSession>,
}

#[cfg(feature = "alloc")]
impl Mac {
    /// Creates a MAC without data. Key and nonce have [`Algorithm::key_len`] bytes each; the nonce
    /// may be all zeros.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`], [`Error::Backend`].
    #[inline]
    pub fn new(algorithm: Algorithm, key: &[u8], nonce: &[u8]) -> Result<Self, Error> {
        Ok(Self { session: with_algorithm!(algorithm, new_boxed(key, nonce, b""))? })
    }

    /// Adds data, in pieces of any size.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`] if the total would exceed the limit; then nothing is added.
    #[inline]
    pub fn update(&mut self, data: &[u8]) -> Result<(), Error> {
        self.session.absorb(data)
    }

    /// Writes the tag of all the data. The length of `tag`, 16 or 32 bytes, selects the tag's
    /// length.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownTagLength`].
    #[inline]
    pub fn finalize(mut self, tag: &mut [u8]) -> Result<(), Error> {
        self.session.finalize_mac(tag)
    }

    /// Compares the tag of all the data with a received tag, in constant time.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if they differ, [`Error::UnknownTagLength`].
    #[inline]
    pub fn verify(mut self, tag: &[u8]) -> Result<(), Error> {
        self.session.verify_mac(tag)
    }
}

#[cfg(feature = "alloc")]
impl Clone for Mac {
    #[inline]
    fn clone(&self) -> Self {
        Self { session: self.session.copy() }
    }
}

#[cfg(feature = "alloc")]
impl ZeroizeOnDrop for Mac {}

#[cfg(feature = "alloc")]
impl fmt::Debug for Mac {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mac").finish_non_exhaustive()
    }
}
