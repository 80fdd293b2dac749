//! Keys, nonces and tags.

use core::fmt;

use subtle::{Choice, ConstantTimeEq};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::Error;
use crate::memory::{equal, wipe};

/// A secret key of `N` bytes: [`Key128`] or [`Key256`]. It is wiped on drop and never printed.
///
/// ```
/// use palladion::Key128;
/// let key = Key128::from([7; 16]);
/// assert_eq!(format!("{key:?}"), "Key(..)");
/// assert!(Key128::try_from(&[0u8; 15][..]).is_err());
/// ```
///
/// Keys have no `==`. To compare them in constant time:
///
/// ```
/// use palladion::Key128;
/// use palladion::subtle::ConstantTimeEq;
/// const KEY: Key128 = Key128::from_bytes([7; 16]);
/// assert!(bool::from(KEY.ct_eq(&Key128::from([7; 16]))));
/// ```
#[derive(Clone)]
#[repr(transparent)] // the C library uses its caller's key in place
pub struct Key<const N: usize>([u8; N]);

/// A nonce of `N` bytes: [`Nonce128`] or [`Nonce256`]. It is not secret, but must never be used
/// twice for encryption with the same key.
///
/// ```
/// use palladion::Nonce256;
/// let counter = 42u64;
/// let mut nonce = Nonce256::default(); // all zeros
/// nonce.as_mut()[..8].copy_from_slice(&counter.to_le_bytes());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)] // the C library uses its caller's nonce in place
pub struct Nonce<const N: usize>([u8; N]);

/// An authentication tag of `T` bytes, 16 or 32. Tags are compared in constant time.
///
/// ```
/// use palladion::Tag;
/// let tag = Tag::from([1; 16]);
/// assert_eq!(tag, Tag::try_from(&[1u8; 16][..])?);
/// assert!(Tag::<16>::try_from(&[1u8; 32][..]).is_err());
/// # Ok::<(), palladion::Error>(())
/// ```
///
/// A message whose tag is dropped can never be decrypted, so the compiler warns:
///
/// ```compile_fail
/// #![deny(unused_must_use)]
/// # use palladion::{Aegis256X2, Error, Key256, Nonce256};
/// fn encrypt(cipher: &Aegis256X2, nonce: &Nonce256, buf: &mut [u8]) -> Result<(), Error> {
///     cipher.encrypt_in_place(nonce, b"", buf)?; // error: unused `Tag` that must be used
///     Ok(())
/// }
/// ```
#[derive(Clone, Copy)]
#[must_use = "without its tag, a message can be neither decrypted nor verified"]
// The alignment lets a tag move in words, also out of a `Result`. Moving it byte by byte takes a
// tenth of the time of a short message.
#[repr(C, align(8))]
pub struct Tag<const T: usize>([u8; T]);

/// The key of AEGIS-128L, AEGIS-128X2 and AEGIS-128X4: 16 bytes.
pub type Key128 = Key<16>;
/// The key of AEGIS-256, AEGIS-256X2 and AEGIS-256X4: 32 bytes.
pub type Key256 = Key<32>;
/// The nonce of AEGIS-128L, AEGIS-128X2 and AEGIS-128X4: 16 bytes.
pub type Nonce128 = Nonce<16>;
/// The nonce of AEGIS-256, AEGIS-256X2 and AEGIS-256X4: 32 bytes.
pub type Nonce256 = Nonce<32>;

macro_rules! byte_type {
    ($name:ident, $what:literal) => {
        impl<const N: usize> $name<N> {
            /// Returns the bytes.
            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; N] {
                &self.0
            }

            /// Takes the bytes. Unlike `from`, it works in constants.
            pub const fn from_bytes(bytes: [u8; N]) -> Self {
                Self(bytes)
            }
        }

        impl<const N: usize> AsRef<[u8]> for $name<N> {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }

        impl<const N: usize> From<[u8; N]> for $name<N> {
            fn from(bytes: [u8; N]) -> Self {
                Self(bytes)
            }
        }

        impl<const N: usize> From<&[u8; N]> for $name<N> {
            fn from(bytes: &[u8; N]) -> Self {
                Self(*bytes)
            }
        }

        impl<const N: usize> TryFrom<&[u8]> for $name<N> {
            type Error = Error;

            /// Returns [`Error::WrongLength`] if there are not `N` bytes.
            fn try_from(bytes: &[u8]) -> Result<Self, Error> {
                // Copied straight into the result: an intermediate array would stay on the stack.
                match <&[u8; N]>::try_from(bytes) {
                    Ok(bytes) => Ok(Self(*bytes)),
                    Err(_) => {
                        Err(Error::WrongLength { what: $what, expected: N, actual: bytes.len() })
                    }
                }
            }
        }

        #[cfg(feature = "alloc")]
        impl<const N: usize> TryFrom<alloc::vec::Vec<u8>> for $name<N> {
            type Error = Error;

            /// Wipes the vector. Returns [`Error::WrongLength`] if there are not `N` bytes.
            fn try_from(mut bytes: alloc::vec::Vec<u8>) -> Result<Self, Error> {
                let result = Self::try_from(&bytes[..]);
                wipe(&mut bytes);
                result
            }
        }
    };
}
byte_type!(Key, "key");
byte_type!(Nonce, "nonce");
byte_type!(Tag, "tag");

impl<const N: usize> Key<N> {
    /// Generates a key with the operating system's random number generator. Needs feature
    /// `getrandom`.
    ///
    /// # Errors
    ///
    /// [`Error::NoRandomness`] if the operating system provides no random bytes.
    #[cfg(feature = "getrandom")]
    pub fn generate() -> Result<Self, Error> {
        let mut key = Self([0; N]);
        getrandom::fill(&mut key.0).map_err(|_| Error::NoRandomness)?;
        Ok(key)
    }
}

impl<const N: usize> ConstantTimeEq for Key<N> {
    #[inline]
    fn ct_eq(&self, other: &Self) -> Choice {
        self.0.ct_eq(&other.0)
    }
}

impl<const N: usize> Zeroize for Key<N> {
    #[inline]
    fn zeroize(&mut self) {
        wipe(&mut self.0); // in whole registers; `zeroize` writes byte by byte
    }
}

impl<const N: usize> Drop for Key<N> {
    fn drop(&mut self) {
        self.zeroize();
    }
}

impl<const N: usize> ZeroizeOnDrop for Key<N> {}

impl<const N: usize> fmt::Debug for Key<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl<const N: usize> Nonce<N> {
    /// Generates a random nonce. Needs feature `getrandom`.
    ///
    /// With 32 bytes, there is no practical limit on the number of messages. With 16 bytes, encrypt
    /// at most 2^48 messages per key (RFC 10032 §9.1.1).
    ///
    /// # Errors
    ///
    /// [`Error::NoRandomness`] if the operating system provides no random bytes.
    #[cfg(feature = "getrandom")]
    pub fn generate() -> Result<Self, Error> {
        let mut nonce = [0; N];
        getrandom::fill(&mut nonce).map_err(|_| Error::NoRandomness)?;
        Ok(Self(nonce))
    }
}

impl<const N: usize> Default for Nonce<N> {
    /// All zeros.
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> AsMut<[u8]> for Nonce<N> {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl<const N: usize> fmt::Debug for Nonce<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Nonce({})", Hex(&self.0))
    }
}

impl<const T: usize> Tag<T> {
    /// A tag whose bytes are written later.
    pub(crate) fn zeroed() -> Self {
        Self([0; T])
    }

    pub(crate) fn as_mut_bytes(&mut self) -> &mut [u8; T] {
        &mut self.0
    }

    /// Returns the tag that `write` writes.
    ///
    /// The tag is read back through `black_box`. Without it, Zen 4 predicts that a load relative to
    /// the stack pointer returns what the last store relative to the stack pointer wrote: the
    /// zeros, because the kernel's store uses another base register. Each such misprediction costs
    /// 10 to 15 ns.
    #[inline(always)]
    pub(crate) fn written_by<E>(
        write: impl FnOnce(&mut [u8; T]) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut tag = Self::zeroed();
        write(&mut tag.0)?;
        Ok(*core::hint::black_box(&tag))
    }
}

/// The computed tag of a received message. Wiped on drop: if the message is a forgery, anyone who
/// sees this tag can complete it.
pub(crate) struct Expected<const T: usize>(Tag<T>);

impl<const T: usize> Expected<T> {
    pub(crate) fn as_mut_bytes(&mut self) -> &mut [u8; T] {
        self.0.as_mut_bytes()
    }

    /// Compares it with the received tag, in constant time.
    #[inline(always)]
    pub(crate) fn verify(&self, tag: &Tag<T>) -> Result<(), Error> {
        if self.0 == *tag { Ok(()) } else { Err(Error::VerificationFailed) }
    }
}

impl<const T: usize> Default for Expected<T> {
    fn default() -> Self {
        Self(Tag::zeroed())
    }
}

impl<const T: usize> Drop for Expected<T> {
    fn drop(&mut self) {
        wipe(&mut self.0.0);
    }
}

impl<const T: usize> PartialEq for Tag<T> {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        equal(&self.0, &other.0)
    }
}

impl<const T: usize> Eq for Tag<T> {}

/// The same comparison as `==`.
impl<const T: usize> ConstantTimeEq for Tag<T> {
    #[inline]
    fn ct_eq(&self, other: &Self) -> Choice {
        self.0.ct_eq(&other.0)
    }
}

impl<const T: usize> From<Tag<T>> for [u8; T] {
    fn from(tag: Tag<T>) -> Self {
        tag.0
    }
}

impl<const T: usize> fmt::Debug for Tag<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tag({})", Hex(&self.0))
    }
}

/// Bytes that are written as hexadecimal digits.
pub(crate) struct Hex<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
