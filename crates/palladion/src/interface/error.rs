//! The errors of this crate.

use core::fmt;

use crate::dispatch::BackendError;
use crate::memory::LengthsDiffer;

/// Why an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The tag does not match: the key, nonce, associated data, ciphertext or tag is not the one
    /// used for encryption. The output, if there is one, is zeroed, except for bytes that a
    /// [`hazmat::Session`](crate::hazmat::Session) returned before.
    VerificationFailed,
    /// An input is longer than the standard allows (RFC 10032 §3, §4). Lengths are in bytes.
    TooLong {
        /// Which input.
        what: &'static str,
        /// The maximum length.
        max: u64,
    },
    /// An input is too short. Lengths are in bytes.
    TooShort {
        /// Which input.
        what: &'static str,
        /// The minimum length.
        min: usize,
        /// Its length.
        actual: usize,
    },
    /// An input or a buffer has the wrong length. Lengths are in bytes.
    WrongLength {
        /// Which input or buffer.
        what: &'static str,
        /// The length it must have.
        expected: usize,
        /// The length it has.
        actual: usize,
    },
    /// The length of a tag is neither 16 nor 32 bytes.
    UnknownTagLength {
        /// The length it has, in bytes.
        actual: usize,
    },
    /// There are more packets than packet numbers, which end at 2^64 - 1.
    TooManyPackets {
        /// The number of the first packet.
        first: u64,
        /// How many packets there are.
        count: usize,
    },
    /// Associated data, or a request for a MAC, came after the message had begun.
    TooLate {
        /// What came too late.
        what: &'static str,
    },
    /// A [`Session`](crate::hazmat::Session) was used after its tag had been computed or compared.
    Finalized,
    /// The backend that the environment variable names cannot be used.
    Backend(BackendError),
    /// The operating system provided no random bytes.
    NoRandomness,
}

/// The maximum length of a message, of associated data and of a MAC's input, in bytes: P_MAX and
/// A_MAX in RFC 10032 §3 and §4.
pub const MAX_LEN: u64 = (1 << 61) - 1;

impl Error {
    /// Adds a length to the length so far, unless the sum exceeds the standard's limit.
    #[inline(always)]
    pub(crate) fn check_limit(what: &'static str, before: u64, len: usize) -> Result<u64, Self> {
        match before.checked_add(len as u64) {
            Some(sum) if sum <= MAX_LEN => Ok(sum),
            _ => Err(Self::TooLong { what, max: MAX_LEN }),
        }
    }

    /// Checks the length of an input or a buffer.
    #[inline(always)]
    pub(crate) fn check_length(
        what: &'static str,
        actual: usize,
        expected: usize,
    ) -> Result<(), Self> {
        if actual == expected { Ok(()) } else { Err(Self::WrongLength { what, expected, actual }) }
    }

    /// Checks that tags of this length exist.
    #[inline(always)]
    pub(crate) fn check_tag_length(actual: usize) -> Result<(), Self> {
        if matches!(actual, 16 | 32) { Ok(()) } else { Err(Self::UnknownTagLength { actual }) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::VerificationFailed => f.write_str(
                "verification failed: the key is wrong, or the ciphertext, tag, nonce or \
                 associated data was changed",
            ),
            Self::TooLong { what, max } => write!(f, "the {what} is longer than {max} bytes"),
            Self::TooShort { what, min, actual } => {
                write!(f, "the {what} must have at least {min} bytes, but has {actual}")
            }
            Self::WrongLength { what, expected, actual } => {
                write!(f, "the {what} must have {expected} bytes, but has {actual}")
            }
            Self::UnknownTagLength { actual } => {
                write!(f, "tags have 16 or 32 bytes, not {actual}")
            }
            Self::TooManyPackets { first, count } => write!(
                f,
                "{count} packets from number {first} on would need numbers above {}",
                u64::MAX
            ),
            Self::TooLate { what } => write!(f, "the {what} must come before the message begins"),
            Self::Finalized => f.write_str("the session has been finalized; begin a new one"),
            Self::Backend(e) => e.fmt(f),
            Self::NoRandomness => f.write_str("the operating system gave no random bytes"),
        }
    }
}

impl core::error::Error for Error {}

impl From<BackendError> for Error {
    fn from(e: BackendError) -> Self {
        Self::Backend(e)
    }
}

impl From<LengthsDiffer> for Error {
    fn from(e: LengthsDiffer) -> Self {
        Self::WrongLength { what: "output", expected: e.input, actual: e.output }
    }
}

#[cfg(test)]
#[test]
fn the_limit_is_the_last_allowed_length() {
    let check = Error::check_limit;
    let too_long = Err(Error::TooLong { what: "message", max: MAX_LEN });
    assert_eq!(check("message", MAX_LEN - 1, 1), Ok(MAX_LEN));
    assert_eq!(check("message", MAX_LEN, 1), too_long);
    assert_eq!(check("message", u64::MAX, 1), too_long);
}
