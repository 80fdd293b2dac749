//! Tools that are dangerous to misuse. Only protocols and bindings that cannot do without them
//! should use them.
//!
//! - [`Session`] returns decrypted bytes *before* it is known whether they are authentic. A program
//!   that parses, answers or displays them may be acting on an attacker's bytes; RFC 10032 §3.2 and
//!   §9.2 forbid releasing them. Implementations of TLS and libaegis's C interface need it: they
//!   hold such bytes back until the tag has arrived.
//! - [`AnySession`] is a [`Session`] whose cipher is chosen at run time.
//! - [`seal`] and [`open`] work on a [`Message`] of pointers, for bindings to other languages.
//!   [`seal_any`] and [`open_any`] choose the cipher at run time. [`seal_batch`] and [`open_batch`]
//!   work on many.
//! - [`encrypt_unauthenticated`] and [`decrypt_unauthenticated`] do without a tag: anyone can flip
//!   any bit of the message. They exist because libaegis has them.

use crate::dispatch::Chosen;
pub use crate::driver::Message;
use crate::driver::State;
use crate::driver::kernels::Operation;
use crate::interface::algorithm::Algorithm;
use crate::interface::cipher::Aegis;
use crate::interface::error::Error;
use crate::interface::family::Family;
use crate::interface::job::{check_and_execute, check_limits};
use crate::interface::schedule::{self, BatchError};
#[cfg(feature = "alloc")]
pub use crate::interface::session::AnySession;
pub use crate::interface::session::Session;
#[doc(hidden)] // for the constant-time checks
pub use crate::memory::secrecy;
use crate::memory::{Direction, InOut, WipedBytes};
use crate::with_algorithm;

/// Encrypts a message in one call and writes its tag.
///
/// # Errors
///
/// [`Error::TooLong`], [`Error::UnknownTagLength`], [`Error::Backend`]; then nothing is changed.
///
/// # Safety
/// The pointers are valid as [`Message`] requires. Key and nonce have the family's length.
///
/// ```
/// use palladion::family::Aegis128;
/// use palladion::hazmat::{self, Message};
/// use palladion::{Aegis128L, Key128, Nonce128};
///
/// let (key, nonce, mut buf, mut tag) = ([1; 16], [2; 16], *b"message", [0; 16]);
/// let message = Message {
///     key: key.as_ptr(),
///     nonce: nonce.as_ptr(),
///     ad: core::ptr::null(),
///     ad_len: 0,
///     src: buf.as_ptr(),
///     dst: buf.as_mut_ptr(),
///     len: buf.len(),
///     tag: tag.as_mut_ptr(),
///     tag_len: tag.len(),
/// };
/// // SAFETY: each pointer is valid for the length next to it, key and nonce for 16 bytes.
/// unsafe { hazmat::seal::<Aegis128, 1>(&message)? };
///
/// let cipher = Aegis128L::<16>::new(&Key128::from(key));
/// cipher.decrypt_in_place(&Nonce128::from(nonce), b"", &mut buf, &tag.into())?;
/// assert_eq!(&buf, b"message");
/// # Ok::<(), palladion::Error>(())
/// ```
#[allow(unsafe_code)] // calls the driver with the caller's pointers
#[inline(always)]
pub unsafe fn seal<F: Family, const D: usize>(message: &Message) -> Result<(), Error> {
    // SAFETY: the caller promises that the pointers are valid as `Message` requires.
    unsafe { check_and_execute::<F, D>(Operation::Seal, message) }
}

/// Verifies and decrypts a message in one call. Zeroes the output if the tag is wrong.
///
/// # Errors
///
/// [`Error::VerificationFailed`] if the tag is wrong. [`Error::TooLong`],
/// [`Error::UnknownTagLength`], [`Error::Backend`]; then nothing is changed.
///
/// # Safety
/// The pointers are valid as [`Message`] requires. Key and nonce have the family's length.
#[allow(unsafe_code)] // calls the driver with the caller's pointers
#[inline(always)]
pub unsafe fn open<F: Family, const D: usize>(message: &Message) -> Result<(), Error> {
    // SAFETY: the caller promises that the pointers are valid as `Message` requires.
    unsafe { check_and_execute::<F, D>(Operation::Open, message) }
}

/// Like [`seal`], with a cipher that is chosen at run time.
///
/// # Errors
///
/// The same as [`seal`].
///
/// # Safety
/// The pointers are valid as [`Message`] requires. Key and nonce have [`Algorithm::key_len`] bytes.
#[allow(unsafe_code)] // calls `seal` with the caller's pointers
#[inline]
pub unsafe fn seal_any(algorithm: Algorithm, message: &Message) -> Result<(), Error> {
    // SAFETY: the caller promises that the pointers are valid as `Message` requires. The algorithm
    // selects the family, so key and nonce have its length.
    unsafe { with_algorithm!(algorithm, seal(message)) }
}

/// Like [`open`], with a cipher that is chosen at run time.
///
/// # Errors
///
/// The same as [`open`].
///
/// # Safety
/// The pointers are valid as [`Message`] requires. Key and nonce have [`Algorithm::key_len`] bytes.
#[allow(unsafe_code)] // calls `open` with the caller's pointers
#[inline]
pub unsafe fn open_any(algorithm: Algorithm, message: &Message) -> Result<(), Error> {
    // SAFETY: the caller promises that the pointers are valid as `Message` requires. The algorithm
    // selects the family, so key and nonce have its length.
    unsafe { with_algorithm!(algorithm, open(message)) }
}

/// Encrypts or decrypts a whole message with the kernels of a state, without checking the tag. A
/// test calls this, because a [`Session`] gives those kernels only whole steps.
#[doc(hidden)]
pub fn by_state<F: Family, const D: usize>(
    [key, nonce, ad]: [&[u8]; 3],
    src: Option<&[u8]>,
    out: &mut [u8],
    decrypt: bool,
    tag: &mut [u8; 32],
) -> Result<(), Error> {
    let io = match src {
        Some(src) => InOut::separate(src, out)?,
        None => InOut::in_place(out),
    };
    let mut memory = F::Memory::<D>::zeroed();
    let mut state = State::new(&mut memory, Chosen::<F, D>::new()?);
    state.init(key, nonce, None);
    state.absorb(ad);
    state.crypt(&io, if decrypt { Direction::Decrypt } else { Direction::Encrypt });
    state.finalize(ad.len() as u64, io.len() as u64, tag);
    Ok(())
}

/// Encrypts many messages and writes their tags, like [`batch::encrypt`](crate::batch::encrypt).
/// Calls `on_failure` with the place of each that failed, in order, and why.
///
/// # Errors
///
/// [`BatchError`] if some messages failed. The others are encrypted.
///
/// # Safety
/// The pointers are valid as [`Message`] requires until this function returns. Keys and nonces have
/// the family's length, tags are all of 16 or all of 32 bytes, and no memory that one message
/// writes is used by another.
#[allow(unsafe_code)] // calls the driver with the caller's pointers
#[inline]
pub unsafe fn seal_batch<F: Family, const D: usize>(
    messages: impl IntoIterator<Item = Message>,
    on_failure: impl FnMut(usize, Error),
) -> Result<(), BatchError> {
    // SAFETY: the caller's promise.
    unsafe { crypt_batch::<F, D>(messages, Direction::Encrypt, on_failure) }
}

/// Verifies and decrypts many messages, like [`batch::decrypt`](crate::batch::decrypt).
///
/// # Errors
///
/// [`BatchError`] if some messages failed. The others are decrypted.
///
/// # Safety
/// The same as for [`seal_batch`].
#[allow(unsafe_code)] // calls the driver with the caller's pointers
#[inline]
pub unsafe fn open_batch<F: Family, const D: usize>(
    messages: impl IntoIterator<Item = Message>,
    on_failure: impl FnMut(usize, Error),
) -> Result<(), BatchError> {
    // SAFETY: the caller's promise.
    unsafe { crypt_batch::<F, D>(messages, Direction::Decrypt, on_failure) }
}

/// # Safety
/// The same as for [`seal_batch`].
#[allow(unsafe_code)] // calls the driver with the caller's pointers
#[inline(always)]
unsafe fn crypt_batch<F: Family, const D: usize>(
    messages: impl IntoIterator<Item = Message>,
    direction: Direction,
    on_failure: impl FnMut(usize, Error),
) -> Result<(), BatchError> {
    let checked = |message| check_limits(direction.into(), &message).map(|()| message);
    // SAFETY: the caller's promise.
    unsafe { schedule::crypt_all::<F, D>(messages.into_iter().map(checked), direction, on_failure) }
}

/// Encrypts a message in place without computing a tag. The ciphertext is the same as that of
/// [`Aegis::encrypt_in_place`] without associated data, but **nothing protects it from changes**.
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

/// Decrypts the output of [`encrypt_unauthenticated`] in place. **Nothing tells whether it was
/// changed.**
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
    // Initialised in place: a session that `new` returns would leave a copy on the stack.
    let mut session = Session::<F, D>::zeroed(Chosen::new()?);
    session.begin(key, nonce);
    session.crypt(InOut::in_place(buf), direction)
}
