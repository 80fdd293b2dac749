//! Hexadecimal digits.

use std::fmt::Write;

use zeroize::Zeroizing;

pub fn encode(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// Decodes an even number of digits; `None` if there is anything else. The bytes may be a secret.
pub fn decode(digits: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(digits.len() / 2));
    for pair in digits.chunks_exact(2) {
        let nibble = |digit: u8| char::from(digit).to_digit(16);
        bytes.push((nibble(pair[0])? << 4 | nibble(pair[1])?) as u8);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        assert_eq!(encode(&[0, 0xa5, 0xff]), "00a5ff");
        assert_eq!(decode(b"00A5fF").unwrap().as_slice(), [0, 0xa5, 0xff]);
        assert!(decode(b"").unwrap().is_empty());
        for wrong in [&b"0"[..], b"0g", b" 0", b"0x", b"\xc3\xa9"] {
            assert!(decode(wrong).is_none());
        }
    }
}
