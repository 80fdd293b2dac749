//! Messages and data in pieces, for bindings to other languages.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::fmt;
use core::mem::MaybeUninit;

use zeroize::ZeroizeOnDrop;

use crate::Error;
use crate::family::Family;
use crate::low::memory::leaving_nothing;
use crate::low::{Direction, InOut, Variant};
use crate::mac::Data;
use crate::pieces::Pieces;
use crate::types::{Expected, Tag};
#[cfg(feature = "alloc")]
use crate::{Algorithm, with_algorithm};

/// A message that comes in pieces, in either direction. Decrypted pieces are handed out at once, **unverified**.
///
/// It points to nothing within itself: a copy of its bytes, anywhere, is another session in the same state. (Only what is dropped
/// is wiped.)
///
/// ```
/// use palladion::family::Aegis128;
/// use palladion::hazmat::AeadSession;
/// use palladion::{Aegis128L, Key128, Nonce128};
///
/// let (key, nonce) = (Key128::from([1; 16]), Nonce128::from([2; 16]));
/// let mut session = AeadSession::<Aegis128, 1>::new(&key, &nonce, b"header")?;
/// let mut message = *b"in two pieces";
/// session.encrypt_in_place(&mut message[..6])?;
/// session.encrypt_in_place(&mut message[6..])?;
/// let tag = session.finalize::<16>();
/// Aegis128L::new(&key).decrypt_in_place(&nonce, b"header", &mut message, &tag)?;
/// assert_eq!(&message, b"in two pieces");
/// # Ok::<(), palladion::Error>(())
/// ```
#[derive(Clone)]
pub struct AeadSession<F: Family, const D: usize> {
    pieces: Pieces<F, D>,
}

impl<F: Family, const D: usize> AeadSession<F, D> {
    /// Bytes that [`to_bytes`](Self::to_bytes) writes.
    pub const BYTES: usize = Pieces::<F, D>::BYTES;

    /// Begins a message.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`], [`Error::Backend`].
    pub fn new(key: &F::Key, nonce: &F::Nonce, ad: &[u8]) -> Result<Self, Error> {
        leaving_nothing::<Self, _>(|| Ok(Self { pieces: Pieces::new(key, nonce, ad)? }))
    }

    /// Begins a message in memory that was given for it: moving a session takes as long as some steps of the cipher.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`], [`Error::Backend`].
    pub fn begin_in<'a>(
        place: &'a mut MaybeUninit<Self>,
        key: &F::Key,
        nonce: &F::Nonce,
        ad: &[u8],
    ) -> Result<&'a mut Self, Error> {
        let session = place.write(Self { pieces: Pieces::zeroed(Variant::new()?) });
        session.pieces.begin(key, nonce, ad)?;
        Ok(session)
    }

    /// Encrypts the next piece where it lies.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`]; then nothing is encrypted.
    pub fn encrypt_in_place(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        self.pieces.next(InOut::in_place(buf), Direction::Encrypt)
    }

    /// Encrypts the next piece into another buffer of the same length.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`] or [`Error::TooLong`]; then nothing is encrypted.
    pub fn encrypt_into(&mut self, msg: &[u8], ct: &mut [u8]) -> Result<(), Error> {
        self.pieces.next(InOut::separate(msg, ct)?, Direction::Encrypt)
    }

    /// Decrypts the next piece where it lies. The result is unverified.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`]; then nothing is decrypted.
    pub fn decrypt_in_place(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        self.pieces.next(InOut::in_place(buf), Direction::Decrypt)
    }

    /// Decrypts the next piece into another buffer of the same length. The result is unverified.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`] or [`Error::TooLong`]; then nothing is decrypted.
    pub fn decrypt_into(&mut self, ct: &[u8], unverified: &mut [u8]) -> Result<(), Error> {
        self.pieces.next(InOut::separate(ct, unverified)?, Direction::Decrypt)
    }

    /// The tag of the message. The session is wiped: whatever it gives from now on is of no use.
    #[must_use]
    pub fn finalize<const T: usize>(&mut self) -> Tag<T> {
        let mut tag = Tag::zeroed();
        self.pieces.finalize(tag.as_mut_bytes());
        self.pieces.wipe();
        tag
    }

    /// Compares the tag of the message with one that came along, in constant time. The session is wiped likewise.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if they differ.
    pub fn verify<const T: usize>(&mut self, tag: &Tag<T>) -> Result<(), Error> {
        let mut expected = Expected::default();
        self.pieces.finalize(expected.as_mut_bytes());
        self.pieces.wipe();
        expected.verify(tag)
    }

    /// All that there is to it, the same on every backend and machine, as secret as the key.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`] if there are not [`BYTES`](Self::BYTES).
    pub fn to_bytes(&self, bytes: &mut [u8]) -> Result<(), Error> {
        leaving_nothing::<[Self; 2], _>(|| self.pieces.to_bytes(bytes))
    }

    /// The session that [`to_bytes`](Self::to_bytes) has written, on the backend that is now in use.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`] if there are not [`BYTES`](Self::BYTES); [`Error::Backend`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        leaving_nothing::<[Self; 2], _>(|| Ok(Self { pieces: Pieces::from_bytes(bytes)? }))
    }
}

impl<F: Family, const D: usize> ZeroizeOnDrop for AeadSession<F, D> {}

impl<F: Family, const D: usize> fmt::Debug for AeadSession<F, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AeadSession").field("bytes", &self.pieces.msg_len()).finish_non_exhaustive()
    }
}

/// Data to be authenticated, in pieces, with a tag of either length. A copy of its bytes is another session, as for
/// [`AeadSession`].
///
/// ```
/// use palladion::family::Aegis256;
/// use palladion::hazmat::MacSession;
/// use palladion::{Aegis256Mac, Key256, Nonce256};
///
/// let (key, nonce) = (Key256::from([1; 32]), Nonce256::default());
/// let mut session = MacSession::<Aegis256, 1>::new(&key, &nonce)?;
/// session.update(b"data")?;
/// assert_eq!(session.finalize::<32>(), Aegis256Mac::<32>::mac(&key, &nonce, b"data")?);
/// # Ok::<(), palladion::Error>(())
/// ```
#[derive(Clone)]
pub struct MacSession<F: Family, const D: usize> {
    data: Data<F, D>,
}

impl<F: Family, const D: usize> MacSession<F, D> {
    /// Begins with no data.
    ///
    /// # Errors
    ///
    /// [`Error::Backend`].
    pub fn new(key: &F::Key, nonce: &F::Nonce) -> Result<Self, Error> {
        leaving_nothing::<Self, _>(|| Ok(Self { data: Data::new(key, nonce)? }))
    }

    /// Begins with no data in memory that was given for it, as [`AeadSession::begin_in`] does.
    ///
    /// # Errors
    ///
    /// [`Error::Backend`].
    pub fn begin_in<'a>(
        place: &'a mut MaybeUninit<Self>,
        key: &F::Key,
        nonce: &F::Nonce,
    ) -> Result<&'a mut Self, Error> {
        let session = place.write(Self { data: Data::zeroed(Variant::new()?) });
        session.data.begin(key, nonce);
        Ok(session)
    }

    /// Forgets all data, and key and nonce: begins anew with these, on the same backend.
    pub fn restart(&mut self, key: &F::Key, nonce: &F::Nonce) {
        self.data.begin(key, nonce);
    }

    /// Takes more data.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`]; then nothing is taken.
    #[inline(always)]
    pub fn update(&mut self, data: &[u8]) -> Result<(), Error> {
        self.data.update(data)
    }

    /// The tag of all the data. The session is wiped: whatever it gives from now on is of no use.
    #[must_use]
    pub fn finalize<const T: usize>(&mut self) -> Tag<T> {
        let mut tag = Tag::zeroed();
        self.finalize_into(tag.as_mut_bytes());
        tag
    }

    /// The same, to where the tag is to be.
    #[inline(always)]
    pub fn finalize_into<const T: usize>(&mut self, tag: &mut [u8; T]) {
        self.data.finalize(tag);
        self.data.wipe();
    }

    /// Compares the tag of all the data with one that came along, in constant time. The session is wiped likewise.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if they differ.
    pub fn verify<const T: usize>(&mut self, tag: &Tag<T>) -> Result<(), Error> {
        let mut expected = Expected::default();
        self.data.finalize(expected.as_mut_bytes());
        self.data.wipe();
        expected.verify(tag)
    }
}

impl<F: Family, const D: usize> ZeroizeOnDrop for MacSession<F, D> {}

impl<F: Family, const D: usize> fmt::Debug for MacSession<F, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MacSession").field("bytes", &self.data.len()).finish_non_exhaustive()
    }
}

/// What ends with a tag whose length is chosen at run time.
#[cfg(feature = "alloc")]
pub(crate) trait EitherTag {
    fn finalize16(&mut self) -> Tag<16>;
    fn finalize32(&mut self) -> Tag<32>;
    fn verify16(&mut self, tag: &Tag<16>) -> Result<(), Error>;
    fn verify32(&mut self, tag: &Tag<32>) -> Result<(), Error>;

    /// Writes the tag, 16 or 32 bytes, as many as there is room for.
    fn finalize_any(&mut self, tag: &mut [u8]) -> Result<(), Error> {
        match tag.len() {
            16 => tag.copy_from_slice(self.finalize16().as_ref()),
            32 => tag.copy_from_slice(self.finalize32().as_ref()),
            actual => return Err(Error::UnknownTagLength { actual }),
        }
        Ok(())
    }

    /// Compares the tag with one that came along, in constant time.
    fn verify_any(&mut self, tag: &[u8]) -> Result<(), Error> {
        match tag.len() {
            16 => self.verify16(&Tag::try_from(tag)?),
            32 => self.verify32(&Tag::try_from(tag)?),
            actual => Err(Error::UnknownTagLength { actual }),
        }
    }
}

#[cfg(feature = "alloc")]
impl<F: Family, const D: usize> EitherTag for AeadSession<F, D> {
    fn finalize16(&mut self) -> Tag<16> {
        self.finalize()
    }
    fn finalize32(&mut self) -> Tag<32> {
        self.finalize()
    }
    fn verify16(&mut self, tag: &Tag<16>) -> Result<(), Error> {
        self.verify(tag)
    }
    fn verify32(&mut self, tag: &Tag<32>) -> Result<(), Error> {
        self.verify(tag)
    }
}

#[cfg(feature = "alloc")]
impl<F: Family, const D: usize> EitherTag for MacSession<F, D> {
    fn finalize16(&mut self) -> Tag<16> {
        self.finalize()
    }
    fn finalize32(&mut self) -> Tag<32> {
        self.finalize()
    }
    fn verify16(&mut self, tag: &Tag<16>) -> Result<(), Error> {
        self.verify(tag)
    }
    fn verify32(&mut self, tag: &Tag<32>) -> Result<(), Error> {
        self.verify(tag)
    }
}

/// What [`AeadSession`] can do, whatever it is of.
#[cfg(feature = "alloc")]
trait AnyAead: EitherTag + Send + Sync {
    fn next(&mut self, io: InOut<'_>, direction: Direction) -> Result<(), Error>;
}

#[cfg(feature = "alloc")]
impl<F: Family, const D: usize> AnyAead for AeadSession<F, D> {
    fn next(&mut self, io: InOut<'_>, direction: Direction) -> Result<(), Error> {
        self.pieces.next(io, direction)
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
    session: Box<dyn AnyAead>,
}

#[cfg(feature = "alloc")]
impl AnySession {
    /// Begins a message. Key and nonce have [`Algorithm::key_len`] bytes.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`], [`Error::TooLong`], [`Error::Backend`].
    pub fn new(algorithm: Algorithm, key: &[u8], nonce: &[u8], ad: &[u8]) -> Result<Self, Error> {
        fn begin<F: Family, const D: usize>(
            key: &[u8],
            nonce: &[u8],
            ad: &[u8],
        ) -> Result<Box<dyn AnyAead>, Error> {
            leaving_nothing::<AeadSession<F, D>, _>(|| {
                let (key, nonce) = (F::Key::try_from(key)?, F::Nonce::try_from(nonce)?);
                Ok(Box::new(AeadSession::<F, D> { pieces: Pieces::new(&key, &nonce, ad)? })
                    as Box<dyn AnyAead>)
            })
        }
        Ok(Self { session: with_algorithm!(algorithm, begin(key, nonce, ad))? })
    }

    /// Encrypts the next piece where it lies.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`]; then nothing is encrypted.
    pub fn encrypt_in_place(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        self.session.next(InOut::in_place(buf), Direction::Encrypt)
    }

    /// Encrypts the next piece into another buffer of the same length.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`] or [`Error::TooLong`]; then nothing is encrypted.
    pub fn encrypt_into(&mut self, msg: &[u8], ct: &mut [u8]) -> Result<(), Error> {
        self.session.next(InOut::separate(msg, ct)?, Direction::Encrypt)
    }

    /// Decrypts the next piece where it lies. The result is unverified.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`]; then nothing is decrypted.
    pub fn decrypt_in_place(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        self.session.next(InOut::in_place(buf), Direction::Decrypt)
    }

    /// Decrypts the next piece into another buffer of the same length. The result is unverified.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`] or [`Error::TooLong`]; then nothing is decrypted.
    pub fn decrypt_into(&mut self, ct: &[u8], unverified: &mut [u8]) -> Result<(), Error> {
        self.session.next(InOut::separate(ct, unverified)?, Direction::Decrypt)
    }

    /// Writes the tag of the message, 16 or 32 bytes, as many as there is room for. The session is wiped.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownTagLength`]; then the session goes on.
    pub fn finalize(&mut self, tag: &mut [u8]) -> Result<(), Error> {
        self.session.finalize_any(tag)
    }

    /// Compares the tag of the message with one that came along, in constant time. The session is wiped.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if they differ; [`Error::UnknownTagLength`], and then the session goes on.
    pub fn verify(&mut self, tag: &[u8]) -> Result<(), Error> {
        self.session.verify_any(tag)
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
