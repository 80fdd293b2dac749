//! The errors of this crate.

use core::fmt;

use crate::dispatch::BackendError;
use crate::memory::LengthsDiffer;

/// Why an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The tag does not belong to this key, nonce, associated data and ciphertext: one of them was
    /// changed, or the key is another one. Where there is an output, it has been zeroed (but for
    /// the bytes that [`hazmat::Session`](crate::hazmat::Session) handed out before).
    VerificationFailed,
    /// An input is longer than the standard allows (RFC 10032 §3, §4), in bytes.
    TooLong {
        /// Which input.
        what: &'static str,
        /// The longest that is allowed.
        max: u64,
    },
    /// An input is shorter than it can be, in bytes.
    TooShort {
        /// Which input.
        what: &'static str,
        /// The shortest that is allowed.
        min: usize,
        /// What came.
        actual: usize,
    },
    /// A buffer has another length than it must have, in bytes.
    WrongLength {
        /// Which buffer.
        what: &'static str,
        /// The length it must have.
        expected: usize,
        /// The length it has.
        actual: usize,
    },
    /// A tag has another length than tags can have: 16 or 32 bytes.
    UnknownTagLength {
        /// The length it has.
        actual: usize,
    },
    /// A range does not lie within the buffer, or ends before it begins.
    OutOfBuffer {
        /// Which bytes.
        what: &'static str,
        /// Where the range begins.
        start: usize,
        /// Where it ends.
        end: usize,
        /// The length of the buffer, in bytes.
        len: usize,
    },
    /// A message of a [`batch`](crate::batch) has not been worked on yet.
    NotProcessed,
    /// Associated data, or a request for a MAC, came after the message had begun.
    TooLate {
        /// What came too late.
        what: &'static str,
    },
    /// The backend that the environment asks for cannot be used.
    Backend(BackendError),
    /// The operating system gave no random bytes.
    NoRandomness,
}

/// The longest message, the longest associated data and the longest input of a MAC, in bytes: P_MAX
/// and A_MAX of the standard (RFC 10032 §3, §4).
pub const MAX_LEN: u64 = (1 << 61) - 1;

impl Error {
    /// The sum of two lengths, if it is within the standard's limits.
    #[inline(always)]
    pub(crate) fn check_limit(what: &'static str, before: u64, len: usize) -> Result<u64, Self> {
        match before.checked_add(len as u64) {
            Some(sum) if sum <= MAX_LEN => Ok(sum),
            _ => Err(Self::TooLong { what, max: MAX_LEN }),
        }
    }

    /// `Ok` if a buffer has the length it must have.
    #[inline(always)]
    pub(crate) fn check_length(
        what: &'static str,
        actual: usize,
        expected: usize,
    ) -> Result<(), Self> {
        if actual == expected { Ok(()) } else { Err(Self::WrongLength { what, expected, actual }) }
    }

    /// `Ok` if there are tags of this length.
    #[inline(always)]
    pub(crate) fn check_tag_length(actual: usize) -> Result<(), Self> {
        if matches!(actual, 16 | 32) { Ok(()) } else { Err(Self::UnknownTagLength { actual }) }
    }

    /// `Ok` if a range lies within a buffer of `len` bytes.
    pub(crate) fn check_range(
        what: &'static str,
        start: usize,
        end: usize,
        len: usize,
    ) -> Result<(), Self> {
        if start <= end && end <= len {
            Ok(())
        } else {
            Err(Self::OutOfBuffer { what, start, end, len })
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::VerificationFailed => f.write_str(
                "verification failed: the key is wrong, or the ciphertext, tag, nonce or associated data was changed",
            ),
            Self::TooLong { what, max } => write!(f, "the {what} is longer than {max} bytes"),
            Self::TooShort { what, min, actual } => {
                write!(f, "the {what} must have at least {min} bytes, but has {actual}")
            }
            Self::WrongLength { what, expected, actual } => {
                write!(f, "the {what} must have {expected} bytes, but has {actual}")
            }
            Self::UnknownTagLength { actual } => write!(f, "tags have 16 or 32 bytes, not {actual}"),
            Self::OutOfBuffer { what, start, end, len } if start <= end => {
                write!(f, "the {what} at {start}..{end} must lie within the buffer of {len} bytes")
            }
            Self::OutOfBuffer { what, start, end, .. } => {
                write!(f, "the {what} at {start}..{end} must not end before it begins")
            }
            Self::NotProcessed => f.write_str("the message has not been worked on yet"),
            Self::TooLate { what } => write!(f, "the {what} must come before the message begins"),
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
