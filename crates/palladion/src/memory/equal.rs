//! Comparison in constant time.

use subtle::ConstantTimeEq;

use super::secrecy::declassify;

/// Compares two strings of the same length. The time depends only on the length, and the result is
/// the only decision. Compares words, because `ct_eq` on slices takes longer than a short message.
#[inline(always)]
pub(crate) fn equal(a: &[u8], b: &[u8]) -> bool {
    assert!(a.len() == b.len());
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks(), b.as_chunks());
    let mut difference = 0;
    for (a, b) in a.iter().zip(b) {
        difference |= u64::from_ne_bytes(*a) ^ u64::from_ne_bytes(*b);
    }
    for (a, b) in a_rest.iter().zip(b_rest) {
        difference |= u64::from(a ^ b);
    }
    declassify(difference.ct_eq(&0).into())
}
