//! Encrypted files of other programs, which the user may take for Palladion's.

/// Returns a hint about a file that is not Palladion's, from its first bytes.
pub fn hint(start: &[u8]) -> Option<&'static str> {
    Some(match start {
        _ if starts(start, &["age-encryption.org/", "-----BEGIN AGE ENCRYPTED FILE-----"]) => {
            "it is an age file: decrypt it with age -d; if it is an identity with a passphrase, \
             name it with -i"
        }
        // The second one is the first in base64, as openssl enc -a writes it.
        _ if starts(start, &["Salted__", "U2FsdGVkX1"]) => {
            "it is a file of OpenSSL: decrypt it with openssl enc -d"
        }
        _ if starts(start, &["-----BEGIN PGP MESSAGE-----"]) || is_pgp(start) => {
            "it looks like a file of gpg: decrypt it with gpg -d"
        }
        _ if starts(start, &["iVBMRA0K"]) => "it is base64: decode it first, with base64 -d",
        _ if start.starts_with(b"\x09PLD") => {
            "it was a Palladion file, and lost the eighth bit of each byte: fetch it again in \
             binary mode"
        }
        _ if start.starts_with(b"\x1f\x8b") => "it is a gzip file: decompress it first",
        _ if starts(start, &["palladion-key-"]) => "it is a key file, not an encrypted file",
        _ if starts(start, &["# created: ", "# public key: ", "AGE-SECRET-KEY-"]) => {
            "it is an identity file, not an encrypted file: name it with -i"
        }
        _ if starts(start, &["age1"]) => "it is a recipients file: name it with -R, to encrypt",
        _ => return None,
    })
}

fn starts(start: &[u8], marks: &[&str]) -> bool {
    marks.iter().any(|mark| start.starts_with(mark.as_bytes()))
}

/// Returns whether a file begins with a session key as OpenPGP encrypts it, with a public key or a
/// passphrase: the kind of the packet, its length in one or two bytes, and a version.
fn is_pgp(start: &[u8]) -> bool {
    let (public, version) = match *start {
        [0x84, _, version, ..] | [0x85, _, _, version, ..] => (true, version),
        [0xc1, 192..=223, _, version, ..] | [0xc1, 0..=191, version, ..] => (true, version),
        [0x8c, _, version, ..] | [0xc3, 0..=191, version, ..] => (false, version),
        _ => return false,
    };
    if public { matches!(version, 3 | 6) } else { matches!(version, 4..=6) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_programs() {
        for (start, says) in [
            (&b"age-encryption.org/v1\n-> X25519"[..], "age -d"),
            (b"-----BEGIN AGE ENCRYPTED FILE-----\n", "age -d"),
            (b"Salted__\x01\x02", "openssl"),
            (b"U2FsdGVkX1+abc", "openssl"),
            (b"-----BEGIN PGP MESSAGE-----\n", "gpg"),
            (b"\x85\x01\x8c\x03\x12", "gpg"), // gpg -e, RSA
            (b"\x84\x5e\x03\x12", "gpg"),     // gpg -e, Curve25519
            (b"\x8c\x0d\x04\x09\x03", "gpg"), // gpg -c
            (b"palladion-key-1:00", "key file"),
            (b"iVBMRA0KGgoBBQ", "base64"),
            (b"\x09PLD\r\n\x1a\n", "binary mode"),
            (b"\x1f\x8b\x08", "gzip"),
        ] {
            assert!(hint(start).is_some_and(|hint| hint.contains(says)), "{start:?}");
        }
        for other in [&b""[..], b"text", b"\x85\x01\x8c\x07", b"\x8c", b"Salted", b"\x89PNG"] {
            assert_eq!(hint(other), None, "{other:?}");
        }
    }
}
