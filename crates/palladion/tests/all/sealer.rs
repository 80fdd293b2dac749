//! Sealers, random nonces in place, and what keys, nonces and tags are made from.

use palladion::subtle::ConstantTimeEq;
use palladion::{
    Aegis128L, Aegis128X2, Aegis256X2, Error, Key128, Key256, Nonce128, Nonce256, Sealer, Tag,
};

/// The nonces are those of a counter of all its bytes, and what it encrypts is what the cipher
/// encrypts with them.
#[test]
fn a_sealer_counts() {
    let cipher = Aegis128X2::<16>::new(&Key128::from([1; 16]));
    let mut first = [0xff; 16];
    first[9..].fill(7);
    first[0] = 0xfe;
    let number = u128::from_le_bytes(first);
    let mut sealer = Sealer::starting_at(cipher.clone(), Nonce128::from(first));
    for i in 0..1000u128 {
        let expected = Nonce128::from((number + i).to_le_bytes());
        let mut buf = *b"message";
        if i % 3 == 0 {
            let mut buf = buf.to_vec();
            sealer.seal_vec_with_nonce(b"ad", &mut buf).unwrap();
            assert_eq!(buf[..16], *expected.as_bytes(), "{i}");
            cipher.open_vec_with_nonce(b"ad", &mut buf).unwrap();
            assert_eq!(buf, b"message");
        } else if i % 3 == 1 {
            let (nonce, tag) = sealer.encrypt_in_place(b"ad", &mut buf).unwrap();
            assert_eq!(nonce, expected, "{i}");
            cipher.decrypt_in_place(&expected, b"ad", &mut buf, &tag).unwrap();
            assert_eq!(&buf, b"message");
        } else {
            let sealed = sealer.seal_with_nonce(b"ad", &buf).unwrap();
            assert_eq!(sealed[..16], *expected.as_bytes(), "{i}");
            assert_eq!(sealed[16..], cipher.seal(&expected, b"ad", &buf).unwrap());
        }
    }
    let last = Nonce256::from([0xff; 32]);
    let cipher = Aegis256X2::with_key(&Key256::from([1; 32]));
    let mut sealer = Sealer::starting_at(cipher, last);
    assert_eq!(sealer.encrypt_in_place(b"", &mut []).unwrap().0, last);
    assert_eq!(sealer.encrypt_in_place(b"", &mut []).unwrap().0, Nonce256::default());
}

#[test]
fn two_sealers_start_apart() {
    let cipher = Aegis128L::with_key(&Key128::from([1; 16]));
    let mut nonces = [(); 2].map(|()| {
        let mut sealer = Sealer::new(cipher.clone()).unwrap();
        sealer.encrypt_in_place(b"", &mut []).unwrap().0
    });
    nonces[1].as_mut()[0] = nonces[0].as_bytes()[0];
    assert_ne!(nonces[0], nonces[1]);
}

/// With room in the vector and without; each length around a step.
#[test]
fn vectors_with_their_nonce() {
    let cipher = Aegis256X2::<16>::new(&Key256::from([1; 32]));
    for len in (0..100).chain([1000]) {
        let message: Vec<u8> = (0..len).map(|i| i as u8).collect();
        for room in [0, 47, 48, 200] {
            let mut buf = Vec::with_capacity(len + room);
            buf.extend_from_slice(&message);
            cipher.seal_vec_with_random_nonce(b"ad", &mut buf).unwrap();
            assert_eq!(buf.len(), len + 48);
            assert_eq!(cipher.open_with_nonce(b"ad", &buf).unwrap(), message);

            let mut forged = buf.clone();
            let place = (len * 7 + room) % forged.len();
            forged[place] ^= 1;
            let result = cipher.open_vec_with_nonce(b"ad", &mut forged);
            assert_eq!((result, forged.len()), (Err(Error::VerificationFailed), 0));

            cipher.open_vec_with_nonce(b"ad", &mut buf).unwrap();
            assert_eq!(buf, message);
        }
    }
    let mut short = vec![7; 47];
    let expected = Error::TooShort { what: "sealed message", min: 48, actual: 47 };
    assert_eq!(cipher.open_vec_with_nonce(b"", &mut short), Err(expected));
    assert_eq!(cipher.open_with_nonce(b"", &short), Err(expected));
    assert_eq!(short, [7; 47]);
}

#[test]
fn keys_nonces_and_tags_from_bytes() {
    const KEY: Key128 = Key128::from_bytes([5; 16]);
    const NONCE: Nonce128 = Nonce128::from_bytes([6; 16]);
    assert_eq!(Nonce128::from(&[6; 16]), NONCE);
    assert_eq!(Tag::<16>::try_from(vec![1; 16]), Ok(Tag::from([1; 16])));
    assert_eq!(Nonce128::try_from(vec![6; 16]), Ok(NONCE));
    let wrong = Key128::try_from(vec![5; 17]).unwrap_err();
    assert_eq!(wrong, Error::WrongLength { what: "key", expected: 16, actual: 17 });
    let same = Key128::try_from(vec![5; 16]).unwrap();
    assert!(bool::from(KEY.ct_eq(&same)) && !bool::from(KEY.ct_eq(&Key128::from([6; 16]))));
    let tags = [Tag::from([1; 16]), Tag::from([2; 16])];
    assert!(bool::from(tags[0].ct_eq(&tags[0])) && !bool::from(tags[0].ct_eq(&tags[1])));
}

/// Hexadecimal digits in JSON; in a binary format, the length and the bytes.
#[cfg(feature = "serde")]
#[test]
fn serialised() {
    let nonce = Nonce128::from(core::array::from_fn(|i| 17 * i as u8));
    let text = serde_json::to_string(&nonce).unwrap();
    assert_eq!(text, "\"00112233445566778899aabbccddeeff\"");
    assert_eq!(serde_json::from_str::<Nonce128>(&text.to_uppercase()).unwrap(), nonce);
    let error = |text: &str| serde_json::from_str::<Nonce128>(text).unwrap_err().to_string();
    for wrong in ["\"00\"", "\"0011223344556677889aabbccddeeffg\"", "\"é\"", "7", "[1, 2]"] {
        assert!(error(wrong).contains("16 bytes or 32 hexadecimal digits"), "{wrong}");
    }
    let tag = Tag::from([7; 32]);
    let bytes = postcard::to_allocvec(&tag).unwrap();
    assert_eq!((bytes.len(), bytes[0]), (33, 32));
    assert_eq!(postcard::from_bytes::<Tag<32>>(&bytes).unwrap(), tag);
    assert!(postcard::from_bytes::<Tag<16>>(&bytes).is_err());
}
