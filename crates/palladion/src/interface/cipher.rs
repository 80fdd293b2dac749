//! Authenticated encryption in one call.

use core::fmt;
use core::marker::PhantomData;

use zeroize::ZeroizeOnDrop;

use crate::dispatch::Chosen;
use crate::driver::State;
use crate::driver::variant::{check_degree, check_tag};
use crate::interface::error::Error;
use crate::interface::family::Family;
use crate::interface::job::Job;
use crate::interface::stream::{Decryptor, Encryptor};
use crate::interface::types::{Expected, Tag};
use crate::memory::{Direction, InOut, Wiped, WipedBytes};

/// An AEGIS cipher with its key: AEGIS-128X or AEGIS-256X of degree `D` (1 to 256), with tags of
/// `T` bytes (16 or 32).
///
/// Use one of the aliases: [`Aegis128L`](crate::Aegis128L), [`Aegis128X2`](crate::Aegis128X2),
/// [`Aegis128X4`](crate::Aegis128X4), [`Aegis256`](crate::Aegis256),
/// [`Aegis256X2`](crate::Aegis256X2), [`Aegis256X4`](crate::Aegis256X4). For other degrees use
/// [`Aegis128X`](crate::Aegis128X) and [`Aegis256X`](crate::Aegis256X).
///
/// `seal` and `open` append the tag to the ciphertext (RFC 10032 §6). `encrypt` and `decrypt` keep
/// the tag separate. Methods ending in `_in_place` overwrite their input, those ending in `_into`
/// write to another buffer, those ending in `_within` move the text inside one buffer, and those
/// ending in `_vec` make a vector longer or shorter.
///
/// **Failure.** Decryption returns [`Error::VerificationFailed`] if the key, the nonce, the
/// associated data, the ciphertext or the tag is not the one used for encryption. The output is
/// then all zeros. Invalid arguments, such as a buffer of the wrong length, give another error, and
/// no buffer is changed.
///
/// **Lengths.** Messages and associated data have at most [`MAX_LEN`](crate::MAX_LEN) bytes each.
///
/// ```
/// use palladion::{Aegis256X2, Key256, Nonce256};
///
/// let key = Key256::from([1; 32]); // with feature "getrandom": Key256::generate()?
/// let cipher = Aegis256X2::<32>::new(&key);
///
/// let nonce = Nonce256::from([2; 32]); // never use a nonce twice with the same key
/// let mut buffer = *b"attack at dawn";
/// let tag = cipher.encrypt_in_place(&nonce, b"to: sergeant", &mut buffer)?;
///
/// cipher.decrypt_in_place(&nonce, b"to: sergeant", &mut buffer, &tag)?;
/// assert_eq!(&buffer, b"attack at dawn");
/// # Ok::<(), palladion::Error>(())
/// ```
#[repr(transparent)] // the C library uses its caller's key as a cipher in place
pub struct Aegis<F: Family, const D: usize, const T: usize> {
    key: F::Key,
    family: PhantomData<F>,
}

impl<F: Family, const D: usize, const T: usize> Aegis<F, D, T> {
    /// Bytes in a key and in a nonce: 16 or 32.
    pub const KEY_LEN: usize = F::KEY_LEN;
    /// Bytes in a tag: 16 or 32.
    pub const TAG_LEN: usize = T;
    /// The degree: the number of lanes that work in parallel.
    pub const DEGREE: usize = D;

    /// Creates a cipher from a key. It can encrypt any number of messages, each with its own nonce.
    ///
    /// ```
    /// use palladion::{Aegis256X2, Key256};
    ///
    /// let key = Key256::from([1; 32]);
    /// let cipher = Aegis256X2::<16>::new(&key); // 16-byte tags
    /// let cipher = Aegis256X2::with_key(&key); // 32-byte tags, the default
    /// ```
    #[must_use]
    pub fn new(key: &F::Key) -> Self {
        const {
            check_degree(D);
            check_tag(T);
        }
        Self { key: key.clone(), family: PhantomData }
    }

    // The tag is separate.

    /// Encrypts a message in place and returns its tag. `ad` is authenticated but not encrypted,
    /// and is not part of the output; it may be empty.
    ///
    /// To encrypt to another place in the same buffer, move the message there first, with
    /// [`copy_within`](slice::copy_within).
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`], [`Error::Backend`].
    #[inline(always)] // a call costs as much as a step of the cipher
    pub fn encrypt_in_place(
        &self,
        nonce: &F::Nonce,
        ad: &[u8],
        buf: &mut [u8],
    ) -> Result<Tag<T>, Error> {
        self.encrypt_detached(nonce, ad, InOut::in_place(buf))
    }

    /// Encrypts a message into a buffer of the same length and returns its tag.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`] if the lengths differ, [`Error::TooLong`], [`Error::Backend`].
    ///
    /// ```
    /// # use palladion::{Aegis128L, Key128, Nonce128};
    /// let cipher = Aegis128L::<16>::new(&Key128::from([0; 16]));
    /// let mut ciphertext = [0; 5];
    /// let tag = cipher.encrypt_into(&Nonce128::default(), b"", b"hello", &mut ciphertext)?;
    /// # Ok::<(), palladion::Error>(())
    /// ```
    #[inline(always)] // a call costs as much as a step of the cipher
    pub fn encrypt_into(
        &self,
        nonce: &F::Nonce,
        ad: &[u8],
        msg: &[u8],
        ct: &mut [u8],
    ) -> Result<Tag<T>, Error> {
        self.encrypt_detached(nonce, ad, InOut::separate(msg, ct)?)
    }

    /// Verifies the tag and decrypts a ciphertext in place.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if the tag is wrong, and the buffer is zeroed;
    /// [`Error::TooLong`], [`Error::Backend`].
    #[inline(always)] // a call costs as much as a step of the cipher
    pub fn decrypt_in_place(
        &self,
        nonce: &F::Nonce,
        ad: &[u8],
        buf: &mut [u8],
        tag: &Tag<T>,
    ) -> Result<(), Error> {
        Job::<F, D>::decrypt(self.inputs(nonce, ad), InOut::in_place(buf), tag.as_bytes()).run()
    }

    /// Verifies the tag and decrypts a ciphertext into a buffer of the same length.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if the tag is wrong, and `msg` is zeroed;
    /// [`Error::WrongLength`] if the lengths differ; [`Error::TooLong`], [`Error::Backend`].
    ///
    /// ```
    /// # use palladion::{Aegis128L, Error, Key128, Nonce128, Tag};
    /// # let cipher = Aegis128L::<16>::new(&Key128::from([0; 16]));
    /// let mut msg = [0xff; 5];
    /// let forged = Tag::from([0; 16]);
    /// let result = cipher.decrypt_into(&Nonce128::default(), b"", b"xxxxx", &forged, &mut msg);
    /// assert_eq!(result, Err(Error::VerificationFailed));
    /// assert_eq!(msg, [0; 5]);
    /// ```
    #[inline(always)] // a call costs as much as a step of the cipher
    pub fn decrypt_into(
        &self,
        nonce: &F::Nonce,
        ad: &[u8],
        ct: &[u8],
        tag: &Tag<T>,
        msg: &mut [u8],
    ) -> Result<(), Error> {
        let io = InOut::separate(ct, msg)?;
        Job::<F, D>::decrypt(self.inputs(nonce, ad), io, tag.as_bytes()).run()
    }

    /// Verifies the tag of a ciphertext without returning the message.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if the tag is wrong; [`Error::TooLong`], [`Error::Backend`].
    pub fn verify(
        &self,
        nonce: &F::Nonce,
        ad: &[u8],
        ct: &[u8],
        tag: &Tag<T>,
    ) -> Result<(), Error> {
        Self::verify_inputs(self.inputs(nonce, ad), ct, tag)
    }

    /// Like [`verify`](Self::verify), with key and nonce as bytes of the right length.
    pub(crate) fn verify_inputs(
        [key, nonce, ad]: [&[u8]; 3],
        ct: &[u8],
        tag: &Tag<T>,
    ) -> Result<(), Error> {
        let ad_len = Error::check_limit("associated data", 0, ad.len())?;
        let msg_len = Error::check_limit("ciphertext", 0, ct.len())?;
        let mut memory = F::Memory::<D>::zeroed();
        let mut state = State::new(&mut memory, Chosen::<F, D>::new()?);
        state.init(key, nonce, None);
        state.absorb(ad);
        // The state absorbs the message, so the ciphertext has to be decrypted: into memory that is
        // wiped, a few steps at a time. 8 KiB hold a whole number of steps for the common degrees,
        // and one step for degree 256.
        let mut scratch = Wiped::<32, 256>::zeroed();
        let rate = F::Step::<D>::LEN;
        let steps = scratch.as_ref().len() / rate;
        for chunk in ct.chunks(steps * rate) {
            state.crypt(
                &InOut::separate(chunk, &mut scratch.as_mut()[..chunk.len()])?,
                Direction::Decrypt,
            );
        }
        let mut expected = Expected::default();
        state.finalize(ad_len, msg_len, expected.as_mut_bytes());
        expected.verify(tag)
    }

    /// Encrypts a message and returns its tag. Next: [`Job::run`].
    #[inline(always)]
    fn encrypt_detached(
        &self,
        nonce: &F::Nonce,
        ad: &[u8],
        io: InOut<'_>,
    ) -> Result<Tag<T>, Error> {
        Tag::written_by(|tag| Job::<F, D>::encrypt(self.inputs(nonce, ad), io, tag).run())
    }

    // The tag follows the ciphertext.

    /// Encrypts the message at the start of a buffer and writes the tag to its last
    /// [`TAG_LEN`](Self::TAG_LEN) bytes. What these bytes held before is lost: the buffer must be
    /// that much longer than the message. To append the tag to a vector that holds the message
    /// alone, use `seal_vec`.
    ///
    /// # Errors
    ///
    /// [`Error::TooShort`] if the buffer has no room for the tag, [`Error::TooLong`],
    /// [`Error::Backend`].
    ///
    /// ```
    /// # use palladion::{Aegis128L, Key128, Nonce128};
    /// # let cipher = Aegis128L::<16>::new(&Key128::from([0; 16]));
    /// # let nonce = Nonce128::default();
    /// let mut buf = *b"hello, world!................";
    /// cipher.seal_in_place(&nonce, b"", &mut buf)?;
    /// assert_eq!(cipher.open_in_place(&nonce, b"", &mut buf)?, b"hello, world!");
    /// # Ok::<(), palladion::Error>(())
    /// ```
    pub fn seal_in_place(&self, nonce: &F::Nonce, ad: &[u8], buf: &mut [u8]) -> Result<(), Error> {
        Job::<F, D>::seal_in_place::<T>(self.inputs(nonce, ad), buf)?.run()
    }

    /// Encrypts all of a vector in place and appends the tag.
    ///
    /// If the vector has no room for [`TAG_LEN`](Self::TAG_LEN) more bytes, the result goes to new
    /// memory, and the message in the old memory is wiped.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`], [`Error::Backend`]; the vector is then unchanged.
    ///
    /// ```
    /// # use palladion::{Aegis128L, Key128, Nonce128};
    /// # let cipher = Aegis128L::<16>::new(&Key128::from([0; 16]));
    /// # let nonce = Nonce128::default();
    /// let mut buf = b"hello, world!".to_vec();
    /// cipher.seal_vec(&nonce, b"ad", &mut buf)?;
    /// assert_eq!(buf.len(), 13 + 16);
    /// cipher.open_vec(&nonce, b"ad", &mut buf)?;
    /// assert_eq!(buf, b"hello, world!");
    /// # Ok::<(), palladion::Error>(())
    /// ```
    #[cfg(feature = "alloc")]
    pub fn seal_vec(
        &self,
        nonce: &F::Nonce,
        ad: &[u8],
        buf: &mut alloc::vec::Vec<u8>,
    ) -> Result<(), Error> {
        let len = buf.len();
        if buf.capacity() - len < T {
            let sealed = self.seal(nonce, ad, buf)?;
            crate::memory::wipe(buf);
            *buf = sealed;
            return Ok(());
        }
        buf.resize(len + T, 0);
        let result = self.seal_in_place(nonce, ad, buf);
        if result.is_err() {
            buf.truncate(len);
        }
        result
    }

    /// Encrypts a message and writes ciphertext and tag to a buffer that is
    /// [`TAG_LEN`](Self::TAG_LEN) bytes longer than the message.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`] if `sealed` has another length, [`Error::TooLong`],
    /// [`Error::Backend`].
    pub fn seal_into(
        &self,
        nonce: &F::Nonce,
        ad: &[u8],
        msg: &[u8],
        sealed: &mut [u8],
    ) -> Result<(), Error> {
        Job::<F, D>::seal_into::<T>(self.inputs(nonce, ad), msg, sealed)?.run()
    }

    /// Encrypts a message and returns ciphertext and tag.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`], [`Error::Backend`].
    ///
    /// ```
    /// # use palladion::{Aegis128L, Key128, Nonce128};
    /// # let cipher = Aegis128L::<16>::new(&Key128::from([0; 16]));
    /// # let nonce = Nonce128::default();
    /// let sealed = cipher.seal(&nonce, b"ad", b"hello")?;
    /// assert_eq!(sealed.len(), 5 + 16);
    /// assert_eq!(cipher.open(&nonce, b"ad", &sealed)?, b"hello");
    /// # Ok::<(), palladion::Error>(())
    /// ```
    #[cfg(feature = "alloc")]
    pub fn seal(
        &self,
        nonce: &F::Nonce,
        ad: &[u8],
        msg: &[u8],
    ) -> Result<alloc::vec::Vec<u8>, Error> {
        let mut sealed = alloc::vec![0; msg.len() + T];
        // Next: `Job::run` checks the limits and gives the message to the driver.
        Job::<F, D>::seal_into::<T>(self.inputs(nonce, ad), msg, &mut sealed)?.run()?;
        Ok(sealed)
    }

    /// Verifies and decrypts ciphertext and tag in place, and returns the message: the buffer
    /// without its last [`TAG_LEN`](Self::TAG_LEN) bytes.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if the tag is wrong, and the ciphertext is zeroed;
    /// [`Error::TooShort`] if the buffer is shorter than a tag; [`Error::TooLong`],
    /// [`Error::Backend`].
    pub fn open_in_place<'a>(
        &self,
        nonce: &F::Nonce,
        ad: &[u8],
        buf: &'a mut [u8],
    ) -> Result<&'a mut [u8], Error> {
        let len = buf.len().saturating_sub(T);
        Job::<F, D>::open_in_place::<T>(self.inputs(nonce, ad), buf)?.run()?;
        Ok(&mut buf[..len])
    }

    /// Verifies and decrypts ciphertext and tag in place, and removes the tag from the vector. The
    /// counterpart of [`seal_vec`](Self::seal_vec).
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if the tag is wrong, and the vector is then empty and its old
    /// contents zeroed; [`Error::TooShort`] if the vector is shorter than a tag;
    /// [`Error::TooLong`], [`Error::Backend`].
    #[cfg(feature = "alloc")]
    pub fn open_vec(
        &self,
        nonce: &F::Nonce,
        ad: &[u8],
        buf: &mut alloc::vec::Vec<u8>,
    ) -> Result<(), Error> {
        match self.open_in_place(nonce, ad, buf) {
            Ok(msg) => {
                let len = msg.len();
                buf.truncate(len);
                Ok(())
            }
            Err(error) => {
                if error == Error::VerificationFailed {
                    buf.clear();
                }
                Err(error)
            }
        }
    }

    /// Verifies and decrypts ciphertext and tag into a buffer that is [`TAG_LEN`](Self::TAG_LEN)
    /// bytes shorter.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if the tag is wrong, and `msg` is zeroed; [`Error::TooShort`]
    /// if `sealed` is shorter than a tag; [`Error::WrongLength`] if `msg` has the wrong length;
    /// [`Error::TooLong`], [`Error::Backend`].
    pub fn open_into(
        &self,
        nonce: &F::Nonce,
        ad: &[u8],
        sealed: &[u8],
        msg: &mut [u8],
    ) -> Result<(), Error> {
        Job::<F, D>::open_into::<T>(self.inputs(nonce, ad), sealed, msg)?.run()
    }

    /// Verifies and decrypts ciphertext and tag, and returns the message.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if the tag is wrong; [`Error::TooShort`] if `sealed` is
    /// shorter than a tag; [`Error::TooLong`], [`Error::Backend`].
    #[cfg(feature = "alloc")]
    pub fn open(
        &self,
        nonce: &F::Nonce,
        ad: &[u8],
        sealed: &[u8],
    ) -> Result<alloc::vec::Vec<u8>, Error> {
        let mut msg = alloc::vec![0; sealed.len().saturating_sub(T)];
        self.open_into(nonce, ad, sealed, &mut msg)?;
        Ok(msg)
    }

    /// Encrypts a message with a random nonce and returns nonce, ciphertext and tag in one piece.
    ///
    /// One key can encrypt any number of messages this way with the AEGIS-256 family, and at most
    /// 2^48 with the AEGIS-128 family.
    ///
    /// # Errors
    ///
    /// [`Error::NoRandomness`], [`Error::TooLong`], [`Error::Backend`].
    ///
    /// ```
    /// # use palladion::{Aegis256X2, Key256};
    /// let cipher = Aegis256X2::<32>::new(&Key256::generate()?);
    /// let sealed = cipher.seal_with_random_nonce(b"", b"hello")?;
    /// assert_eq!(sealed.len(), 32 + 5 + 32);
    /// assert_eq!(cipher.open_with_nonce(b"", &sealed)?, b"hello");
    /// # Ok::<(), palladion::Error>(())
    /// ```
    #[cfg(all(feature = "alloc", feature = "getrandom"))]
    pub fn seal_with_random_nonce(
        &self,
        ad: &[u8],
        msg: &[u8],
    ) -> Result<alloc::vec::Vec<u8>, Error> {
        self.seal_with_nonce(&random_nonce::<F>()?, ad, msg)
    }

    /// Encrypts a message and returns nonce, ciphertext and tag in one piece.
    #[cfg(feature = "alloc")]
    pub(crate) fn seal_with_nonce(
        &self,
        nonce: &F::Nonce,
        ad: &[u8],
        msg: &[u8],
    ) -> Result<alloc::vec::Vec<u8>, Error> {
        let mut sealed = alloc::vec![0; F::KEY_LEN + msg.len() + T];
        let (before, rest) = sealed.split_at_mut(F::KEY_LEN);
        before.copy_from_slice(nonce.as_ref());
        self.seal_into(nonce, ad, msg, rest)?;
        Ok(sealed)
    }

    /// Encrypts all of a vector in place with a random nonce, puts the nonce in front and appends
    /// the tag: the result of `seal_with_random_nonce`, without another buffer.
    ///
    /// If the vector has no room for nonce and tag, the result goes to new memory, and the message
    /// in the old memory is wiped.
    ///
    /// # Errors
    ///
    /// [`Error::NoRandomness`], [`Error::TooLong`], [`Error::Backend`]; the vector is then
    /// unchanged.
    ///
    /// ```
    /// # use palladion::{Aegis256X2, Key256};
    /// # let cipher = Aegis256X2::with_key(&Key256::generate()?);
    /// let mut buf = b"hello".to_vec();
    /// cipher.seal_vec_with_random_nonce(b"ad", &mut buf)?;
    /// assert_eq!(buf.len(), 32 + 5 + 32);
    /// cipher.open_vec_with_nonce(b"ad", &mut buf)?;
    /// assert_eq!(buf, b"hello");
    /// # Ok::<(), palladion::Error>(())
    /// ```
    #[cfg(all(feature = "alloc", feature = "getrandom"))]
    pub fn seal_vec_with_random_nonce(
        &self,
        ad: &[u8],
        buf: &mut alloc::vec::Vec<u8>,
    ) -> Result<(), Error> {
        self.seal_vec_with_nonce(&random_nonce::<F>()?, ad, buf)
    }

    /// Encrypts all of a vector in place, puts the nonce in front and appends the tag.
    #[cfg(feature = "alloc")]
    pub(crate) fn seal_vec_with_nonce(
        &self,
        nonce: &F::Nonce,
        ad: &[u8],
        buf: &mut alloc::vec::Vec<u8>,
    ) -> Result<(), Error> {
        let len = buf.len();
        if buf.capacity() - len < F::KEY_LEN + T {
            let sealed = self.seal_with_nonce(nonce, ad, buf)?;
            crate::memory::wipe(buf);
            *buf = sealed;
            return Ok(());
        }
        buf.splice(..0, nonce.as_ref().iter().copied());
        buf.resize(F::KEY_LEN + len + T, 0);
        let sealed = self.seal_in_place(nonce, ad, &mut buf[F::KEY_LEN..]);
        sealed.inspect_err(|_| {
            buf.drain(..F::KEY_LEN);
            buf.truncate(len);
        })
    }

    /// Verifies and decrypts nonce, ciphertext and tag in one piece, and returns the message. The
    /// counterpart of `seal_with_random_nonce`.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if the tag is wrong; [`Error::TooShort`] if `sealed` is
    /// shorter than nonce and tag; [`Error::TooLong`], [`Error::Backend`].
    #[cfg(feature = "alloc")]
    pub fn open_with_nonce(&self, ad: &[u8], sealed: &[u8]) -> Result<alloc::vec::Vec<u8>, Error> {
        let (nonce, ciphertext, tag) = Self::parts(sealed)?;
        let mut msg = alloc::vec![0; ciphertext.len()];
        self.decrypt_into(&nonce, ad, ciphertext, &tag, &mut msg)?;
        Ok(msg)
    }

    /// Verifies and decrypts nonce, ciphertext and tag in place, and leaves only the message in the
    /// vector. The counterpart of `seal_vec_with_random_nonce`.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if the tag is wrong, and the vector is then empty and its old
    /// contents zeroed; [`Error::TooShort`] if the vector is shorter than nonce and tag;
    /// [`Error::TooLong`], [`Error::Backend`].
    #[cfg(feature = "alloc")]
    pub fn open_vec_with_nonce(
        &self,
        ad: &[u8],
        buf: &mut alloc::vec::Vec<u8>,
    ) -> Result<(), Error> {
        let (nonce, ciphertext, tag) = Self::parts(buf)?;
        let len = ciphertext.len();
        buf.drain(..F::KEY_LEN);
        let opened = self.decrypt_in_place(&nonce, ad, &mut buf[..len], &tag);
        match opened {
            Ok(()) => buf.truncate(len),
            Err(Error::VerificationFailed) => {
                buf.fill(0);
                buf.clear();
            }
            Err(_) => _ = buf.splice(..0, nonce.as_ref().iter().copied()),
        }
        opened
    }

    /// Splits nonce, ciphertext and tag in one piece.
    #[cfg(feature = "alloc")]
    fn parts(sealed: &[u8]) -> Result<(F::Nonce, &[u8], Tag<T>), Error> {
        let (min, actual) = (F::KEY_LEN + T, sealed.len());
        if actual < min {
            return Err(Error::TooShort { what: "sealed message", min, actual });
        }
        let (nonce, rest) = sealed.split_at(F::KEY_LEN);
        let (ciphertext, tag) = rest.split_at(rest.len() - T);
        Ok((F::Nonce::try_from(nonce)?, ciphertext, Tag::try_from(tag)?))
    }

    // In pieces.

    /// Starts to encrypt a message that comes in pieces.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`], [`Error::Backend`].
    pub fn encryptor(&self, nonce: &F::Nonce, ad: &[u8]) -> Result<Encryptor<F, D, T>, Error> {
        Encryptor::new(&self.key, nonce, ad)
    }

    /// Starts to decrypt a message that comes in pieces into `output`. The borrow hides the output
    /// until the tag is verified.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`], [`Error::Backend`].
    pub fn decryptor<'a>(
        &self,
        nonce: &F::Nonce,
        ad: &[u8],
        output: &'a mut [u8],
    ) -> Result<Decryptor<'a, F, D, T>, Error> {
        Decryptor::new(&self.key, nonce, ad, output)
    }

    pub(crate) fn key(&self) -> &F::Key {
        &self.key
    }

    /// Returns the inputs of a [`Job`].
    #[inline(always)]
    pub(crate) fn inputs<'a>(&'a self, nonce: &'a F::Nonce, ad: &'a [u8]) -> [&'a [u8]; 3] {
        [self.key.as_ref(), nonce.as_ref(), ad]
    }
}

impl<F: Family, const D: usize> Aegis<F, D, 32> {
    /// Creates a cipher with 32-byte tags from a key: [`new`](Self::new) where nothing else says
    /// how long the tags are.
    ///
    /// ```
    /// use palladion::{Aegis256X2, Key256};
    /// let cipher = Aegis256X2::with_key(&Key256::from([1; 32]));
    /// ```
    #[must_use]
    pub fn with_key(key: &F::Key) -> Self {
        Self::new(key)
    }
}

/// Returns a random nonce.
#[cfg(feature = "getrandom")]
pub(crate) fn random_nonce<F: Family>() -> Result<F::Nonce, Error> {
    let mut nonce = F::Nonce::default();
    getrandom::fill(nonce.as_mut()).map_err(|_| Error::NoRandomness)?;
    Ok(nonce)
}

impl<F: Family, const D: usize, const T: usize> Clone for Aegis<F, D, T> {
    fn clone(&self) -> Self {
        Self { key: self.key.clone(), family: PhantomData }
    }
}

impl<F: Family, const D: usize, const T: usize> ZeroizeOnDrop for Aegis<F, D, T> {}

impl<F: Family, const D: usize, const T: usize> fmt::Debug for Aegis<F, D, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match D {
            1 => f.write_str(F::NAME)?,
            _ => write!(f, "{}{D}", F::NAME_X)?,
        }
        write!(f, " with {T}-byte tags, key not shown")
    }
}
