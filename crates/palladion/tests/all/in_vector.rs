//! Sealing and opening a vector in place: the results are those of `seal` and `open`.

use palladion::{Aegis128L, Aegis256X2, Error, Key128, Key256, Nonce128, Nonce256};

use crate::common::for_each_backend;

/// Checks one message in vectors with each amount of spare room.
macro_rules! check {
    ($cipher:expr, $nonce:expr, $tag_len:literal, $len:expr) => {
        let (cipher, nonce, len) = (&$cipher, &$nonce, $len);
        let msg: Vec<u8> = (0..len).map(|i| i as u8).collect();
        let sealed = cipher.seal(nonce, b"ad", &msg).unwrap();
        for spare in [0, 1, $tag_len - 1, $tag_len, $tag_len + 9] {
            let mut buf = Vec::with_capacity(len + spare);
            buf.extend_from_slice(&msg);
            cipher.seal_vec(nonce, b"ad", &mut buf).unwrap();
            assert_eq!(buf, sealed, "{len} bytes, room for {spare}");
            cipher.open_vec(nonce, b"ad", &mut buf).unwrap();
            assert_eq!(buf, msg, "{len} bytes, room for {spare}");
        }
        let mut forged = sealed.clone();
        *forged.last_mut().unwrap() ^= 1;
        assert_eq!(cipher.open_vec(nonce, b"ad", &mut forged), Err(Error::VerificationFailed));
        assert!(forged.is_empty());
        let mut short = sealed[..$tag_len - 1].to_vec();
        let error = Error::TooShort { what: "ciphertext", min: $tag_len, actual: $tag_len - 1 };
        assert_eq!(cipher.open_vec(nonce, b"ad", &mut short), Err(error));
        assert_eq!(short, sealed[..$tag_len - 1]);
    };
}

#[test]
fn vectors_are_sealed_in_place() {
    let (short, long) = (Key128::from([1; 16]), Key256::from([1; 32]));
    for_each_backend(|_| {
        for len in [0, 1, 16, 31, 32, 100, 5000] {
            check!(Aegis128L::<16>::new(&short), Nonce128::from([2; 16]), 16, len);
            check!(Aegis256X2::<32>::new(&long), Nonce256::from([2; 32]), 32, len);
        }
    });
}
