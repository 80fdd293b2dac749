//! The standard's limits on lengths (RFC 10032 §3, §4).

use crate::Error;

/// The longest message, the longest associated data and the longest input of a MAC, in bytes: P_MAX and A_MAX of the
/// standard.
pub const MAX_LEN: u64 = (1 << 61) - 1;

/// `Ok` if `len` more bytes after `before` are within the limit.
#[inline(always)]
pub(crate) fn check(what: &'static str, before: u64, len: usize) -> Result<u64, Error> {
    before.checked_add(len as u64).filter(|&sum| sum <= MAX_LEN).ok_or(Error::TooLong { what, max: MAX_LEN })
}

#[cfg(test)]
#[test]
fn the_limit_is_the_last_allowed_length() {
    let too_long = Err(Error::TooLong { what: "message", max: MAX_LEN });
    assert_eq!(check("message", MAX_LEN - 1, 1), Ok(MAX_LEN));
    assert_eq!(check("message", MAX_LEN, 1), too_long);
    assert_eq!(check("message", u64::MAX, 1), too_long);
}
