//! Messages in pieces: the state behind everything incremental.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::fmt;
use core::mem::MaybeUninit;

use zeroize::ZeroizeOnDrop;

use crate::arch::DataIndependentTiming;
#[cfg(feature = "alloc")]
use crate::interface::algorithm::Algorithm;

use crate::dispatch::Chosen;
use crate::driver::State;
use crate::interface::error::Error;
use crate::interface::family::Family;
use crate::interface::types::{Expected, Tag};
use crate::memory::{Direction, InOut, WipedBytes, wipe};
#[cfg(feature = "alloc")]
use crate::with_algorithm;

/// A message in pieces, in either direction, or the input of a MAC. Decrypted pieces are returned
/// at once, **unverified**.
///
/// [`Encryptor`](crate::Encryptor), [`Decryptor`](crate::Decryptor), [`Mac`](crate::Mac) and
/// [`KeyStream`](crate::KeyStream) are built on it. It is public for bindings and protocols that
/// learn the direction or the tag's length only later. After the tag has been computed or compared,
/// every method but [`begin`](Session::begin) and [`to_bytes`](Session::to_bytes) returns
/// [`Error::Finalized`].
///
/// A session holds no pointer into itself: a byte copy of it, at any address, is another session in
/// the same state. Only a session that is dropped is wiped.
///
/// ```
/// use palladion::family::Aegis128;
/// use palladion::hazmat::Session;
/// use palladion::{Aegis128L, Key128, Nonce128};
///
/// let (key, nonce) = (Key128::from([1; 16]), Nonce128::from([2; 16]));
/// let mut session = Session::<Aegis128, 1>::new(&key, &nonce, b"header")?;
/// let mut message = *b"in two pieces";
/// session.encrypt_in_place(&mut message[..6])?;
/// session.encrypt_in_place(&mut message[6..])?;
/// let tag = session.finalize::<16>()?;
///
/// let mut session = Session::<Aegis128, 1>::new(&key, &nonce, b"header")?;
/// let mut unverified = [0; 13];
/// session.decrypt_into(&message, &mut unverified)?;
/// session.verify(&tag)?; // only now is it a message; if this fails, discard it
/// assert_eq!(&unverified, b"in two pieces");
/// # Ok::<(), palladion::Error>(())
/// ```
pub struct Session<F: Family, const D: usize> {
    memory: F::Memory<D>,
    variant: Chosen<F, D>,
    /// The step that is not yet complete: its input so far and, while a message is encrypted or
    /// decrypted, the rest of the key stream.
    step: F::Step<D>,
    ad_len: u64,
    msg_len: u64,
    phase: Phase,
}

/// What a session can take next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing: the state is wiped. It is zero, because a program in C may wipe a state itself, or
    /// never begin one, and go on with it: zeros for a state encrypt with a known key stream.
    Finalized = 0,
    /// Associated data, or the input of a MAC; or a message.
    AssociatedData = 1,
    /// More of a message. The associated data is complete.
    Message = 2,
}

impl<F: Family, const D: usize> Session<F, D> {
    /// Bytes that all lanes take in one step.
    const RATE: usize = F::Step::<D>::LEN;
    /// Bytes in the words of a state.
    const WORDS: usize = F::WORDS * 16 * D;
    /// Bytes that [`to_bytes`](Self::to_bytes) writes.
    pub const BYTES: usize = Self::WORDS + Self::RATE + 24;

    /// Starts a message with all of its associated data.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`], [`Error::Backend`].
    pub fn new(key: &F::Key, nonce: &F::Nonce, ad: &[u8]) -> Result<Self, Error> {
        let mut session = Self::zeroed(Chosen::new()?);
        session.begin(key, nonce);
        session.absorb(ad)?;
        Ok(session)
    }

    /// Starts a message in memory of the caller. It avoids moving the session, which takes as long
    /// as several steps of the cipher.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`], [`Error::Backend`].
    #[inline(always)] // a MAC of the C library has no associated data to check
    pub fn begin_in<'a>(
        place: &'a mut MaybeUninit<Self>,
        key: &F::Key,
        nonce: &F::Nonce,
        ad: &[u8],
    ) -> Result<&'a mut Self, Error> {
        Error::check_limit("associated data", 0, ad.len())?;
        // Before the session: if this could fail in between, the compiler would build the session
        // elsewhere and move it.
        let variant = Chosen::new()?;
        let session = place.write(Self::zeroed(variant));
        session.begin(key, nonce);
        if !ad.is_empty() {
            session.absorb(ad)?;
        }
        Ok(session)
    }

    /// Creates a session that must [`begin`](Self::begin) before it is used.
    #[inline(always)] // created in place, not copied
    pub(crate) fn zeroed(variant: Chosen<F, D>) -> Self {
        Self {
            memory: F::Memory::zeroed(),
            variant,
            step: F::Step::zeroed(),
            ad_len: 0,
            msg_len: 0,
            phase: Phase::AssociatedData,
        }
    }

    /// Discards the current message and starts a new one with the same backend.
    #[inline(always)]
    pub fn begin(&mut self, key: &F::Key, nonce: &F::Nonce) {
        (self.ad_len, self.msg_len, self.phase) = (0, 0, Phase::AssociatedData);
        self.state().init(key.as_ref(), nonce.as_ref(), None);
    }

    #[inline(always)]
    fn state(&mut self) -> State<'_, Chosen<F, D>> {
        State::new(&mut self.memory, self.variant)
    }

    /// Adds associated data, or input of a MAC, in pieces of any size.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`] if the total would exceed [`MAX_LEN`](crate::MAX_LEN) bytes,
    /// [`Error::TooLate`] if the message has begun, [`Error::Finalized`]; then nothing is added.
    #[inline(always)]
    pub fn absorb(&mut self, data: &[u8]) -> Result<(), Error> {
        self.takes_data("associated data")?;
        let used = self.used(self.ad_len);
        self.ad_len = Error::check_limit("associated data", self.ad_len, data.len())?;
        let _timing = DataIndependentTiming::for_bytes(data.len());
        if used == 0 && data.len().is_multiple_of(Self::RATE) {
            self.state().absorb(data);
        } else {
            self.absorb_parts(used, data);
        }
        Ok(())
    }

    /// Checks that no message has begun, before `what`.
    #[inline(always)]
    fn takes_data(&self, what: &'static str) -> Result<(), Error> {
        match self.phase {
            Phase::AssociatedData => Ok(()),
            Phase::Message => Err(Error::TooLate { what }),
            Phase::Finalized => Err(Error::Finalized),
        }
    }

    #[inline(always)]
    fn check_not_finalized(&self) -> Result<(), Error> {
        if self.phase == Phase::Finalized { Err(Error::Finalized) } else { Ok(()) }
    }

    /// Bytes of the current step so far: always less than the rate.
    #[inline(always)]
    fn used(&self, len: u64) -> usize {
        (len % Self::RATE as u64) as usize
    }

    /// Adds data that starts or ends in the middle of a step, of which `used` bytes came before.
    /// Not inlined, so that whole steps do not pay for its prologue.
    #[inline(never)]
    fn absorb_parts(&mut self, used: usize, mut data: &[u8]) {
        let mut state = State::new(&mut self.memory, self.variant);
        if used > 0 {
            let (fill, rest) = data.split_at(data.len().min(Self::RATE - used));
            self.step.as_mut()[used..used + fill.len()].copy_from_slice(fill);
            data = rest;
            if used + fill.len() == Self::RATE {
                state.absorb(self.step.as_ref());
            }
        }
        // If the step is still incomplete, nothing is left here.
        let (whole, rest) = data.split_at(data.len() - data.len() % Self::RATE);
        state.absorb(whole);
        if !rest.is_empty() {
            self.step.as_mut()[..rest.len()].copy_from_slice(rest);
        }
    }

    /// Absorbs the last bytes of the associated data, padded with zeros.
    #[inline(always)]
    fn end_ad(&mut self) {
        if self.phase == Phase::AssociatedData {
            self.phase = Phase::Message;
            let used = self.used(self.ad_len);
            State::new(&mut self.memory, self.variant).absorb(&self.step.as_ref()[..used]);
        }
    }

    /// Encrypts or decrypts the next piece. On error nothing is changed.
    pub(crate) fn crypt(&mut self, io: InOut<'_>, direction: Direction) -> Result<(), Error> {
        self.check_not_finalized()?;
        let used = self.used(self.msg_len);
        self.msg_len = Error::check_limit("message", self.msg_len, io.len())?;
        let _timing = DataIndependentTiming::for_bytes(io.len());
        self.end_ad();
        let mut state = State::new(&mut self.memory, self.variant);
        let mut rest = io;
        if used > 0 {
            let n = rest.len().min(Self::RATE - used);
            let (begun, after) = rest.split_at(n);
            begun.xor(&mut self.step.as_mut()[used..used + n], direction);
            rest = after;
            if used + n == Self::RATE {
                state.absorb(self.step.as_ref());
            }
        }
        let whole = rest.len() - rest.len() % Self::RATE;
        let (whole, rest) = rest.split_at(whole);
        state.crypt(&whole, direction);
        if rest.len() > 0 {
            state.keystream(&mut self.step);
            let n = rest.len();
            rest.xor(&mut self.step.as_mut()[..n], direction);
        }
        Ok(())
    }

    /// Encrypts the next piece in place.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`], [`Error::Finalized`]; then nothing is encrypted.
    pub fn encrypt_in_place(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        self.crypt(InOut::in_place(buf), Direction::Encrypt)
    }

    /// Encrypts the next piece into another buffer of the same length.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`], [`Error::TooLong`], [`Error::Finalized`]; then nothing is encrypted.
    pub fn encrypt_into(&mut self, msg: &[u8], ct: &mut [u8]) -> Result<(), Error> {
        self.crypt(InOut::separate(msg, ct)?, Direction::Encrypt)
    }

    /// Decrypts the next piece in place. The result is unverified.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`], [`Error::Finalized`]; then nothing is decrypted.
    pub fn decrypt_in_place(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        self.crypt(InOut::in_place(buf), Direction::Decrypt)
    }

    /// Decrypts the next piece into another buffer of the same length. The result is unverified.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`], [`Error::TooLong`], [`Error::Finalized`]; then nothing is decrypted.
    pub fn decrypt_into(&mut self, ct: &[u8], unverified: &mut [u8]) -> Result<(), Error> {
        self.crypt(InOut::separate(ct, unverified)?, Direction::Decrypt)
    }

    /// Writes the tag. The state is spent afterwards.
    pub(crate) fn finalize_to<const T: usize>(&mut self, tag: &mut [u8; T]) {
        self.end_ad();
        let used = self.used(self.msg_len);
        let mut state = State::new(&mut self.memory, self.variant);
        state.absorb(&self.step.as_ref()[..used]);
        state.finalize(self.ad_len, self.msg_len, tag);
    }

    /// Writes the MAC of what was absorbed, and wipes the session.
    #[inline(always)]
    pub(crate) fn finalize_mac_to<const T: usize>(&mut self, tag: &mut [u8; T]) {
        let used = self.used(self.ad_len);
        let mut state = State::new(&mut self.memory, self.variant);
        state.absorb(&self.step.as_ref()[..used]);
        state.finalize_mac(self.ad_len, tag); // zeroes the state
        wipe(self.step.as_mut());
    }

    /// Returns the tag of the message and wipes the session.
    ///
    /// # Errors
    ///
    /// [`Error::Finalized`].
    pub fn finalize<const T: usize>(&mut self) -> Result<Tag<T>, Error> {
        self.check_not_finalized()?;
        let mut tag = Tag::zeroed();
        self.finalize_to(tag.as_mut_bytes());
        self.wipe();
        Ok(tag)
    }

    /// Compares the tag of the message with a received tag in constant time, and wipes the session.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if they differ, [`Error::Finalized`].
    pub fn verify<const T: usize>(&mut self, tag: &Tag<T>) -> Result<(), Error> {
        self.check_not_finalized()?;
        let mut expected = Expected::default();
        self.finalize_to(expected.as_mut_bytes());
        self.wipe();
        expected.verify(tag)
    }

    /// Writes the MAC of what was absorbed (RFC 10032 §8) and wipes the session.
    ///
    /// # Errors
    ///
    /// [`Error::TooLate`] if a message has begun; then the session is unchanged.
    /// [`Error::Finalized`].
    #[inline(always)]
    pub fn finalize_mac<const T: usize>(&mut self, tag: &mut [u8; T]) -> Result<(), Error> {
        self.takes_data("request for a MAC")?;
        self.finalize_mac_to(tag);
        self.phase = Phase::Finalized;
        Ok(())
    }

    /// Compares the MAC of what was absorbed with a received one in constant time, and wipes the
    /// session.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if they differ. [`Error::TooLate`] if a message has begun;
    /// then the session is unchanged. [`Error::Finalized`].
    pub fn verify_mac<const T: usize>(&mut self, tag: &Tag<T>) -> Result<(), Error> {
        let mut expected = Expected::default();
        self.finalize_mac(expected.as_mut_bytes())?;
        expected.verify(tag)
    }

    /// Bytes of the message so far.
    pub(crate) fn msg_len(&self) -> u64 {
        self.msg_len
    }

    /// Bytes absorbed so far.
    pub(crate) fn ad_len(&self) -> u64 {
        self.ad_len
    }

    fn wipe(&mut self) {
        wipe(self.memory.as_mut());
        wipe(self.step.as_mut());
        self.phase = Phase::Finalized;
    }

    /// Writes the whole session in a form that is the same on every backend and machine. It is as
    /// secret as the key.
    ///
    /// The C library needs it: libaegis's structure for AEGIS-256X4 is too small for the bit planes
    /// of a bitsliced state.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`] if `bytes` is not [`BYTES`](Self::BYTES) long.
    pub fn to_bytes(&self, bytes: &mut [u8]) -> Result<(), Error> {
        Error::check_length("output", bytes.len(), Self::BYTES)?;
        let (words, rest) = bytes.split_at_mut(Self::WORDS);
        let (step, numbers) = rest.split_at_mut(Self::RATE);
        let mut memory = self.memory.clone();
        words.copy_from_slice(
            &State::new(&mut memory, self.variant).words().as_ref()[..Self::WORDS],
        );
        step.copy_from_slice(self.step.as_ref());
        let all = [self.ad_len, self.msg_len, self.phase as u64];
        for (bytes, number) in numbers.chunks_exact_mut(8).zip(all) {
            bytes.copy_from_slice(&number.to_le_bytes());
        }
        Ok(())
    }

    /// Restores a session from the output of [`to_bytes`](Self::to_bytes), on the current backend.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`] if `bytes` is not [`BYTES`](Self::BYTES) long; [`Error::Backend`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Error::check_length("session", bytes.len(), Self::BYTES)?;
        let (words, rest) = bytes.split_at(Self::WORDS);
        let (step, numbers) = rest.split_at(Self::RATE);
        let number = |i: usize| u64::from_le_bytes(core::array::from_fn(|k| numbers[8 * i + k]));
        let mut session = Self::zeroed(Chosen::new()?);
        let mut memory = F::Memory::<D>::zeroed();
        memory.as_mut()[..Self::WORDS].copy_from_slice(words);
        session.state().resume(&memory);
        session.step.as_mut().copy_from_slice(step);
        (session.ad_len, session.msg_len) = (number(0), number(1));
        session.phase = match number(2) {
            1 => Phase::AssociatedData,
            2 => Phase::Message,
            _ => Phase::Finalized,
        };
        Ok(session)
    }
}

// A derived `Clone` would put bounds on private types.
impl<F: Family, const D: usize> Clone for Session<F, D> {
    fn clone(&self) -> Self {
        Self { memory: self.memory.clone(), step: self.step.clone(), ..*self }
    }
}

impl<F: Family, const D: usize> ZeroizeOnDrop for Session<F, D> {}

impl<F: Family, const D: usize> fmt::Debug for Session<F, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("absorbed", &self.ad_len)
            .field("bytes", &self.msg_len)
            .finish_non_exhaustive()
    }
}

/// The methods of [`Session`], for any family and degree.
#[cfg(feature = "alloc")]
pub(crate) trait DynSession: Send + Sync {
    fn crypt(&mut self, io: InOut<'_>, direction: Direction) -> Result<(), Error>;
    fn absorb(&mut self, data: &[u8]) -> Result<(), Error>;
    fn finalize(&mut self, tag: &mut [u8]) -> Result<(), Error>;
    fn verify(&mut self, tag: &[u8]) -> Result<(), Error>;
    fn finalize_mac(&mut self, tag: &mut [u8]) -> Result<(), Error>;
    fn verify_mac(&mut self, tag: &[u8]) -> Result<(), Error>;
    fn copy(&self) -> Box<dyn DynSession>;
}

/// Calls a method with the tag's length as a constant.
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
    fn crypt(&mut self, io: InOut<'_>, direction: Direction) -> Result<(), Error> {
        self.crypt(io, direction)
    }
    fn absorb(&mut self, data: &[u8]) -> Result<(), Error> {
        self.absorb(data)
    }
    fn finalize(&mut self, tag: &mut [u8]) -> Result<(), Error> {
        with_tag_length!(tag, T => {
            tag.copy_from_slice(self.finalize::<T>()?.as_ref());
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

/// Like [`Session::new`], with slices of the family's length.
#[cfg(feature = "alloc")]
pub(crate) fn new_boxed<F: Family, const D: usize>(
    key: &[u8],
    nonce: &[u8],
    ad: &[u8],
) -> Result<Box<dyn DynSession>, Error> {
    let (key, nonce) = (F::Key::try_from(key)?, F::Nonce::try_from(nonce)?);
    Ok(Box::new(Session::<F, D>::new(&key, &nonce, ad)?))
}

// Inline, as in `any.rs`: it instantiates every variant, in the crates that use it alone.

/// A message in pieces, in either direction, with any [`Algorithm`]. Decrypted pieces are returned
/// at once, **unverified**. Encrypting zeros without associated data gives the key stream
/// (RFC 10032 §7). Needs feature `alloc`.
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
    /// Starts a message. Key and nonce have [`Algorithm::key_len`] bytes each.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`], [`Error::TooLong`], [`Error::Backend`].
    #[inline]
    pub fn new(algorithm: Algorithm, key: &[u8], nonce: &[u8], ad: &[u8]) -> Result<Self, Error> {
        Ok(Self { session: with_algorithm!(algorithm, new_boxed(key, nonce, ad))? })
    }

    /// Encrypts the next piece in place.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`], [`Error::Finalized`]; then nothing is encrypted.
    #[inline]
    pub fn encrypt_in_place(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        self.session.crypt(InOut::in_place(buf), Direction::Encrypt)
    }

    /// Encrypts the next piece into another buffer of the same length.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`], [`Error::TooLong`], [`Error::Finalized`]; then nothing is encrypted.
    #[inline]
    pub fn encrypt_into(&mut self, msg: &[u8], ct: &mut [u8]) -> Result<(), Error> {
        self.session.crypt(InOut::separate(msg, ct)?, Direction::Encrypt)
    }

    /// Decrypts the next piece in place. The result is unverified.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`], [`Error::Finalized`]; then nothing is decrypted.
    #[inline]
    pub fn decrypt_in_place(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        self.session.crypt(InOut::in_place(buf), Direction::Decrypt)
    }

    /// Decrypts the next piece into another buffer of the same length. The result is unverified.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`], [`Error::TooLong`], [`Error::Finalized`]; then nothing is decrypted.
    #[inline]
    pub fn decrypt_into(&mut self, ct: &[u8], unverified: &mut [u8]) -> Result<(), Error> {
        self.session.crypt(InOut::separate(ct, unverified)?, Direction::Decrypt)
    }

    /// Writes the tag of the message and wipes the session. The length of `tag`, 16 or 32 bytes,
    /// selects the tag's length.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownTagLength`]; then the session is unchanged. [`Error::Finalized`].
    #[inline]
    pub fn finalize(&mut self, tag: &mut [u8]) -> Result<(), Error> {
        self.session.finalize(tag)
    }

    /// Compares the tag of the message with a received tag in constant time, and wipes the session.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if they differ. [`Error::UnknownTagLength`]; then the session
    /// is unchanged. [`Error::Finalized`].
    #[inline]
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
