//! The six ciphers behind one type each, for programs that learn at run time which [`Algorithm`] and which length of tags they
//! need: files, command lines, bindings to other languages. Nonces and tags are slices here, whose lengths are checked.
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
use core::str::FromStr;

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::cipher::Aegis;
use crate::dispatch::Chosen;
use crate::driver::message;
use crate::error::Error;
use crate::family::Family;
#[cfg(feature = "alloc")]
use crate::memory::Direction;
use crate::memory::InOut;
#[cfg(feature = "alloc")]
use crate::session::Session;
#[cfg(feature = "alloc")]
use crate::types::Tag;

/// One of the six ciphers that every implementation of the standard's modes has. The types of this crate fix it when a program is
/// compiled; this is for files, command lines and bindings, which learn it at run time. See [`any`](crate::any).
///
/// ```
/// use palladion::Algorithm;
///
/// assert_eq!(Algorithm::default(), Algorithm::Aegis256X2);
/// assert_eq!(Algorithm::Aegis128L.to_string(), "AEGIS-128L");
/// assert_eq!("aegis-256x4".parse(), Ok(Algorithm::Aegis256X4));
/// assert!("aes".parse::<Algorithm>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Algorithm {
    /// AEGIS-128L (RFC 10032 §3): keys and nonces of 16 bytes.
    Aegis128L = 1,
    /// AEGIS-128X2 (§5.4): keys and nonces of 16 bytes, two lanes.
    Aegis128X2 = 2,
    /// AEGIS-128X4 (§5.4): keys and nonces of 16 bytes, four lanes.
    Aegis128X4 = 3,
    /// AEGIS-256 (§4): keys and nonces of 32 bytes.
    Aegis256 = 4,
    /// AEGIS-256X2 (§5.5): keys and nonces of 32 bytes, two lanes.
    #[default]
    Aegis256X2 = 5,
    /// AEGIS-256X4 (§5.5): keys and nonces of 32 bytes, four lanes.
    Aegis256X4 = 6,
}

impl Algorithm {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 6] = [
        Self::Aegis128L,
        Self::Aegis128X2,
        Self::Aegis128X4,
        Self::Aegis256,
        Self::Aegis256X2,
        Self::Aegis256X4,
    ];

    /// Its number in encrypted files.
    #[must_use]
    pub const fn id(self) -> u8 {
        self as u8
    }

    /// The algorithm with this number.
    #[must_use]
    pub fn from_id(id: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.id() == id)
    }

    /// The standard's name, like `AEGIS-256X2`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aegis128L => "AEGIS-128L",
            Self::Aegis128X2 => "AEGIS-128X2",
            Self::Aegis128X4 => "AEGIS-128X4",
            Self::Aegis256 => "AEGIS-256",
            Self::Aegis256X2 => "AEGIS-256X2",
            Self::Aegis256X4 => "AEGIS-256X4",
        }
    }

    /// The algorithm of a name; capital letters or not.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name().eq_ignore_ascii_case(name))
    }

    /// Bytes in a key, and in a nonce: 16 or 32.
    #[must_use]
    pub const fn key_len(self) -> usize {
        match self {
            Self::Aegis128L | Self::Aegis128X2 | Self::Aegis128X4 => 16,
            Self::Aegis256 | Self::Aegis256X2 | Self::Aegis256X4 => 32,
        }
    }

    /// Checks that there are as many bytes as a key or nonce has.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`], which says `what` it is.
    #[inline(always)]
    pub fn check_len(self, what: &'static str, actual: usize) -> Result<(), Error> {
        Error::check_length(what, actual, self.key_len())
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The name is the standard's in any case.
impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Self, UnknownAlgorithm> {
        Self::from_name(name).ok_or(UnknownAlgorithm)
    }
}

/// There is no algorithm of this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownAlgorithm;

impl fmt::Display for UnknownAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no such algorithm; there are")?;
        for (i, algorithm) in Algorithm::ALL.into_iter().enumerate() {
            write!(f, "{} {}", if i == 0 { "" } else { "," }, algorithm.name())?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownAlgorithm {}

/// `with_algorithm!(algorithm, function(arguments))` calls `function::<F, D>(arguments)` with the family and the degree of an
/// [`Algorithm`]: the one place where code that is generic over them meets a choice made at run time.
///
/// ```
/// use palladion::family::Family;
/// use palladion::{Aegis, Algorithm, Error, with_algorithm};
///
/// fn seal<F: Family, const D: usize>(key: &[u8], nonce: &[u8], message: &[u8]) -> Result<Vec<u8>, Error> {
///     Aegis::<F, D, 16>::new(&F::Key::try_from(key)?).seal(&F::Nonce::try_from(nonce)?, b"", message)
/// }
///
/// let sealed = with_algorithm!(Algorithm::Aegis128X2, seal(&[1; 16], &[2; 16], b"message"))?;
/// assert_eq!(sealed.len(), 7 + 16);
/// # Ok::<(), Error>(())
/// ```
#[macro_export]
macro_rules! with_algorithm {
    ($algorithm:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $algorithm {
            $crate::Algorithm::Aegis128L => $function::<$crate::family::Aegis128, 1>($($argument),*),
            $crate::Algorithm::Aegis128X2 => $function::<$crate::family::Aegis128, 2>($($argument),*),
            $crate::Algorithm::Aegis128X4 => $function::<$crate::family::Aegis128, 4>($($argument),*),
            $crate::Algorithm::Aegis256 => $function::<$crate::family::Aegis256, 1>($($argument),*),
            $crate::Algorithm::Aegis256X2 => $function::<$crate::family::Aegis256, 2>($($argument),*),
            $crate::Algorithm::Aegis256X4 => $function::<$crate::family::Aegis256, 4>($($argument),*),
        }
    };
}

/// The longest key and nonce.
const MAX_LEN: usize = 32;

/// A cipher of any [`Algorithm`] with its key and the length of its tags, like [`Aegis`].
#[derive(Clone)]
pub struct Cipher {
    algorithm: Algorithm,
    tag_len: usize,
    key: [u8; MAX_LEN],
}

impl Cipher {
    /// The key has [`Algorithm::key_len`] bytes, tags have 16 or 32.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`], [`Error::UnknownTagLength`].
    pub fn new(algorithm: Algorithm, key: &[u8], tag_len: usize) -> Result<Self, Error> {
        algorithm.check_len("key", key.len())?;
        Error::check_tag_length(tag_len)?;
        let mut cipher = Self { algorithm, tag_len, key: [0; MAX_LEN] };
        cipher.key[..key.len()].copy_from_slice(key);
        Ok(cipher)
    }

    /// Which cipher it is.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Bytes in a tag: 16 or 32.
    #[must_use]
    pub fn tag_len(&self) -> usize {
        self.tag_len
    }

    /// The key, of [`Algorithm::key_len`] bytes.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.key[..self.algorithm.key_len()]
    }

    #[inline(always)]
    fn seal(&self, nonce: &[u8], ad: &[u8], io: &InOut<'_>, tag: &mut [u8]) -> Result<(), Error> {
        #[inline(always)]
        fn seal<F: Family, const D: usize>(
            inputs: [&[u8]; 3],
            io: &InOut<'_>,
            tag: &mut [u8],
        ) -> Result<(), Error> {
            message::seal_slices(Chosen::<F, D>::new()?, inputs, io, tag);
            Ok(())
        }
        self.check(nonce, ad, ("message", io.len()), tag.len())?;
        with_algorithm!(self.algorithm, seal([self.key(), nonce, ad], io, tag))
    }

    #[inline(always)]
    fn open(&self, nonce: &[u8], ad: &[u8], io: &InOut<'_>, tag: &[u8]) -> Result<(), Error> {
        #[inline(always)]
        fn open<F: Family, const D: usize>(
            inputs: [&[u8]; 3],
            io: &InOut<'_>,
            tag: &[u8],
        ) -> Result<(), Error> {
            let right = message::open_slices(Chosen::<F, D>::new()?, inputs, io, tag);
            if right { Ok(()) } else { Err(Error::VerificationFailed) }
        }
        self.check(nonce, ad, ("ciphertext", io.len()), tag.len())?;
        with_algorithm!(self.algorithm, open([self.key(), nonce, ad], io, tag))
    }

    #[inline(always)]
    fn check(
        &self,
        nonce: &[u8],
        ad: &[u8],
        (what, len): (&'static str, usize),
        tag_len: usize,
    ) -> Result<(), Error> {
        Error::check_length("tag", tag_len, self.tag_len)?;
        self.algorithm.check_len("nonce", nonce.len())?;
        Error::check_limit("associated data", 0, ad.len())?;
        Error::check_limit(what, 0, len)?;
        Ok(())
    }

    /// Encrypts a message in place and writes its tag, which has [`tag_len`](Self::tag_len) bytes.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`], [`Error::TooLong`], [`Error::Backend`]; then nothing is touched.
    pub fn encrypt_in_place(
        &self,
        nonce: &[u8],
        ad: &[u8],
        buf: &mut [u8],
        tag: &mut [u8],
    ) -> Result<(), Error> {
        self.seal(nonce, ad, &InOut::in_place(buf), tag)
    }

    /// Encrypts a message into another buffer of the same length, and writes its tag.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`], [`Error::TooLong`], [`Error::Backend`]; then nothing is touched.
    pub fn encrypt_into(
        &self,
        nonce: &[u8],
        ad: &[u8],
        msg: &[u8],
        ct: &mut [u8],
        tag: &mut [u8],
    ) -> Result<(), Error> {
        self.seal(nonce, ad, &InOut::separate(msg, ct)?, tag)
    }

    /// Decrypts a message in place, if the tag is right.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`], and the buffer is zeroed; [`Error::WrongLength`], [`Error::TooLong`], [`Error::Backend`], and
    /// nothing is touched.
    pub fn decrypt_in_place(&self, nonce: &[u8], ad: &[u8], buf: &mut [u8], tag: &[u8]) -> Result<(), Error> {
        self.open(nonce, ad, &InOut::in_place(buf), tag)
    }

    /// Decrypts a message into another buffer of the same length, if the tag is right.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`], and the output is zeroed; [`Error::WrongLength`], [`Error::TooLong`], [`Error::Backend`], and
    /// nothing is touched.
    pub fn decrypt_into(
        &self,
        nonce: &[u8],
        ad: &[u8],
        ct: &[u8],
        tag: &[u8],
        msg: &mut [u8],
    ) -> Result<(), Error> {
        self.open(nonce, ad, &InOut::separate(ct, msg)?, tag)
    }

    /// Compares a tag without decrypting anything to a place that can be seen: [`Aegis::verify`].
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`]; [`Error::WrongLength`], [`Error::TooLong`], [`Error::Backend`].
    pub fn verify(&self, nonce: &[u8], ad: &[u8], ct: &[u8], tag: &[u8]) -> Result<(), Error> {
        fn verify<F: Family, const D: usize>(
            cipher: &Cipher,
            nonce: &[u8],
            ad: &[u8],
            ct: &[u8],
            tag: &[u8],
        ) -> Result<(), Error> {
            let key = cipher.key();
            match cipher.tag_len {
                16 => Aegis::<F, D, 16>::verify_with(key, nonce, ad, ct, &tag.try_into()?),
                _ => Aegis::<F, D, 32>::verify_with(key, nonce, ad, ct, &tag.try_into()?),
            }
        }
        self.algorithm.check_len("nonce", nonce.len())?;
        with_algorithm!(self.algorithm, verify(self, nonce, ad, ct, tag))
    }
}

impl Drop for Cipher {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

impl ZeroizeOnDrop for Cipher {}

impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cipher")
            .field("algorithm", &self.algorithm)
            .field("tag_len", &self.tag_len)
            .finish_non_exhaustive()
    }
}

/// What [`Session`] can do, for any family and degree.
#[cfg(feature = "alloc")]
trait DynSession: Send + Sync {
    fn process(&mut self, io: InOut<'_>, direction: Direction) -> Result<(), Error>;
    fn absorb(&mut self, data: &[u8]) -> Result<(), Error>;
    fn finalize(&mut self, tag: &mut [u8]) -> Result<(), Error>;
    fn verify(&mut self, tag: &[u8]) -> Result<(), Error>;
    fn finalize_mac(&mut self, tag: &mut [u8]) -> Result<(), Error>;
    fn verify_mac(&mut self, tag: &[u8]) -> Result<(), Error>;
    fn copy(&self) -> Box<dyn DynSession>;
}

/// Calls a method with the length of the tag as a constant.
#[cfg(feature = "alloc")]
macro_rules! with_tag_length {
    ($tag:ident, $T:ident => $call:expr) => {
        match $tag.len() {
            16 => {
                const $T: usize = 16;
                $call
            }
            32 => {
                const $T: usize = 32;
                $call
            }
            actual => Err(Error::UnknownTagLength { actual }),
        }
    };
}

#[cfg(feature = "alloc")]
impl<F: Family, const D: usize> DynSession for Session<F, D> {
    fn process(&mut self, io: InOut<'_>, direction: Direction) -> Result<(), Error> {
        self.process(io, direction)
    }
    fn absorb(&mut self, data: &[u8]) -> Result<(), Error> {
        self.absorb(data)
    }
    fn finalize(&mut self, tag: &mut [u8]) -> Result<(), Error> {
        with_tag_length!(tag, T => {
            tag.copy_from_slice(self.finalize::<T>().as_ref());
            Ok(())
        })
    }
    fn verify(&mut self, tag: &[u8]) -> Result<(), Error> {
        with_tag_length!(tag, T => self.verify(&Tag::<T>::try_from(tag)?))
    }
    fn finalize_mac(&mut self, tag: &mut [u8]) -> Result<(), Error> {
        with_tag_length!(tag, T => {
            let mut mac = Tag::<T>::zeroed();
            self.finalize_mac(mac.as_mut_bytes())?;
            tag.copy_from_slice(mac.as_ref());
            Ok(())
        })
    }
    fn verify_mac(&mut self, tag: &[u8]) -> Result<(), Error> {
        with_tag_length!(tag, T => self.verify_mac(&Tag::<T>::try_from(tag)?))
    }
    fn copy(&self) -> Box<dyn DynSession> {
        Box::new(self.clone())
    }
}

#[cfg(feature = "alloc")]
fn begin<F: Family, const D: usize>(
    key: &[u8],
    nonce: &[u8],
    ad: &[u8],
) -> Result<Box<dyn DynSession>, Error> {
    let (key, nonce) = (F::Key::try_from(key)?, F::Nonce::try_from(nonce)?);
    Ok(Box::new(Session::<F, D>::new(&key, &nonce, ad)?))
}

/// Authenticates data in pieces with any [`Algorithm`] (RFC 10032 §8), like [`crate::Mac`]. Needs feature `alloc`.
///
/// ```
/// use palladion::any::Mac;
/// use palladion::Algorithm;
///
/// let mut mac = Mac::new(Algorithm::Aegis256X2, &[1; 32], &[0; 32])?;
/// mac.update(b"some ")?;
/// let mut tag = [0; 32];
/// mac.clone().finalize(&mut tag)?; // of "some "
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
    /// Begins with no data. Key and nonce have [`Algorithm::key_len`] bytes; the nonce may be all zeros.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`], [`Error::Backend`].
    pub fn new(algorithm: Algorithm, key: &[u8], nonce: &[u8]) -> Result<Self, Error> {
        Ok(Self { session: with_algorithm!(algorithm, begin(key, nonce, b""))? })
    }

    /// Takes more data, in pieces of any size.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`]; then nothing is taken.
    pub fn update(&mut self, data: &[u8]) -> Result<(), Error> {
        self.session.absorb(data)
    }

    /// Writes the tag of all the data, 16 or 32 bytes, as many as there is room for.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownTagLength`].
    pub fn finalize(mut self, tag: &mut [u8]) -> Result<(), Error> {
        self.session.finalize_mac(tag)
    }

    /// Compares the tag of all the data with one that came along, in constant time.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if they differ, [`Error::UnknownTagLength`].
    pub fn verify(mut self, tag: &[u8]) -> Result<(), Error> {
        self.session.verify_mac(tag)
    }
}

#[cfg(feature = "alloc")]
impl Clone for Mac {
    fn clone(&self) -> Self {
        Self { session: self.session.copy() }
    }
}

#[cfg(feature = "alloc")]
impl ZeroizeOnDrop for Mac {}

#[cfg(feature = "alloc")]
impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mac").finish_non_exhaustive()
    }
}

/// A message that comes in pieces, in either direction, with any [`Algorithm`]. Decrypted pieces are handed out at once,
/// **unverified**. Without associated data, and encrypting zeros, it is the key stream (RFC 10032 §7). Needs feature `alloc`.
///
/// ```
/// use palladion::Algorithm;
/// use palladion::hazmat::AnySession;
///
/// let begin = || AnySession::new(Algorithm::Aegis256X4, &[1; 32], &[2; 32], b"header");
/// let (mut message, mut tag) = (*b"in two pieces", [0; 32]);
/// let mut session = begin()?;
/// session.encrypt_in_place(&mut message[..6])?;
/// session.encrypt_in_place(&mut message[6..])?;
/// session.finalize(&mut tag)?;
///
/// let mut session = begin()?;
/// session.decrypt_in_place(&mut message)?;
/// session.verify(&tag)?;
/// assert_eq!(&message, b"in two pieces");
/// # Ok::<(), palladion::Error>(())
/// ```
#[cfg(feature = "alloc")]
pub struct AnySession {
    session: Box<dyn DynSession>,
}

#[cfg(feature = "alloc")]
impl AnySession {
    /// Begins a message. Key and nonce have [`Algorithm::key_len`] bytes.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`], [`Error::TooLong`], [`Error::Backend`].
    pub fn new(algorithm: Algorithm, key: &[u8], nonce: &[u8], ad: &[u8]) -> Result<Self, Error> {
        Ok(Self { session: with_algorithm!(algorithm, begin(key, nonce, ad))? })
    }

    /// Encrypts the next piece in place.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`]; then nothing is encrypted.
    pub fn encrypt_in_place(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        self.session.process(InOut::in_place(buf), Direction::Encrypt)
    }

    /// Encrypts the next piece into another buffer of the same length.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`] or [`Error::TooLong`]; then nothing is encrypted.
    pub fn encrypt_into(&mut self, msg: &[u8], ct: &mut [u8]) -> Result<(), Error> {
        self.session.process(InOut::separate(msg, ct)?, Direction::Encrypt)
    }

    /// Decrypts the next piece in place. The result is unverified.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`]; then nothing is decrypted.
    pub fn decrypt_in_place(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        self.session.process(InOut::in_place(buf), Direction::Decrypt)
    }

    /// Decrypts the next piece into another buffer of the same length. The result is unverified.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`] or [`Error::TooLong`]; then nothing is decrypted.
    pub fn decrypt_into(&mut self, ct: &[u8], unverified: &mut [u8]) -> Result<(), Error> {
        self.session.process(InOut::separate(ct, unverified)?, Direction::Decrypt)
    }

    /// Writes the tag of the message, 16 or 32 bytes, as many as there is room for. The session is wiped.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownTagLength`]; then the session goes on.
    pub fn finalize(&mut self, tag: &mut [u8]) -> Result<(), Error> {
        self.session.finalize(tag)
    }

    /// Compares the tag of the message with one that came along, in constant time. The session is wiped.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if they differ; [`Error::UnknownTagLength`], and then the session goes on.
    pub fn verify(&mut self, tag: &[u8]) -> Result<(), Error> {
        self.session.verify(tag)
    }
}

#[cfg(feature = "alloc")]
impl ZeroizeOnDrop for AnySession {}

#[cfg(feature = "alloc")]
impl fmt::Debug for AnySession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnySession").finish_non_exhaustive()
    }
}
