//! Ciphers chosen at run time give the same results as those chosen at compile time.

use palladion::any::{Cipher, Mac};
use palladion::family::Family;
use palladion::hazmat::AnySession;
use palladion::{Aegis, Algorithm, Error, UnknownAlgorithm, with_algorithm};

const LENGTHS: [usize; 8] = [0, 1, 31, 32, 64, 129, 256, 1000];

fn bytes(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|i| (i as u8).wrapping_mul(31).wrapping_add(seed)).collect()
}

/// Returns ciphertext, tag and MAC, computed with the crate's types.
fn by_type<F: Family, const D: usize>(
    key: &[u8],
    nonce: &[u8],
    ad: &[u8],
    msg: &[u8],
    tag_len: usize,
) -> Result<[Vec<u8>; 3], Error> {
    fn of<F: Family, const D: usize, const T: usize>(
        key: &F::Key,
        nonce: &F::Nonce,
        ad: &[u8],
        msg: &[u8],
    ) -> Result<[Vec<u8>; 3], Error> {
        let mut ct = msg.to_vec();
        let tag = Aegis::<F, D, T>::new(key).encrypt_in_place(nonce, ad, &mut ct)?;
        let mac = palladion::Mac::<F, D, T>::mac(key, nonce, msg)?;
        Ok([ct, tag.as_ref().to_vec(), mac.as_ref().to_vec()])
    }
    let (key, nonce) = (F::Key::try_from(key)?, F::Nonce::try_from(nonce)?);
    if tag_len == 16 {
        of::<F, D, 16>(&key, &nonce, ad, msg)
    } else {
        of::<F, D, 32>(&key, &nonce, ad, msg)
    }
}

#[test]
fn the_same_as_by_type() -> Result<(), Error> {
    for algorithm in Algorithm::ALL {
        let (key, nonce) = (bytes(algorithm.key_len(), 1), bytes(algorithm.key_len(), 2));
        for (tag_len, len) in [16, 32].into_iter().flat_map(|t| LENGTHS.map(|len| (t, len))) {
            let (ad, msg) = (bytes(len / 3, 3), bytes(len, 4));
            let [ct, tag, mac] =
                with_algorithm!(algorithm, by_type(&key, &nonce, &ad, &msg, tag_len))?;

            let cipher = Cipher::new(algorithm, &key, tag_len)?;
            let (mut out, mut out_tag) = (vec![0; len], vec![0; tag_len]);
            cipher.encrypt_into(&nonce, &ad, &msg, &mut out, &mut out_tag)?;
            assert_eq!((&out, &out_tag), (&ct, &tag));
            cipher.verify(&nonce, &ad, &ct, &tag)?;
            cipher.decrypt_in_place(&nonce, &ad, &mut out, &tag)?;
            assert_eq!(out, msg);
            out_tag.fill(0);
            cipher.encrypt_in_place(&nonce, &ad, &mut out, &mut out_tag)?;
            assert_eq!((&out, &out_tag), (&ct, &tag));
            cipher.decrypt_into(&nonce, &ad, &ct, &tag, &mut out)?;
            assert_eq!(out, msg);

            out_tag[tag_len - 1] ^= 1;
            let failed = Err(Error::VerificationFailed);
            assert_eq!(cipher.verify(&nonce, &ad, &ct, &out_tag), failed);
            assert_eq!(cipher.decrypt_into(&nonce, &ad, &ct, &out_tag, &mut out), failed);
            assert!(out.iter().all(|&byte| byte == 0));
            let mut in_place = ct.clone();
            assert_eq!(cipher.decrypt_in_place(&nonce, &ad, &mut in_place, &out_tag), failed);
            assert!(in_place.iter().all(|&byte| byte == 0));

            let (first, second) = msg.split_at(len / 2);
            let mut session = AnySession::new(algorithm, &key, &nonce, &ad)?;
            session.encrypt_into(first, &mut out[..len / 2])?;
            out[len / 2..].copy_from_slice(second);
            session.encrypt_in_place(&mut out[len / 2..])?;
            session.finalize(&mut out_tag)?;
            assert_eq!((&out, &out_tag), (&ct, &tag));
            for bad in [false, true] {
                let mut session = AnySession::new(algorithm, &key, &nonce, &ad)?;
                session.decrypt_into(&ct[..len / 2], &mut out[..len / 2])?;
                out[len / 2..].copy_from_slice(&ct[len / 2..]);
                session.decrypt_in_place(&mut out[len / 2..])?;
                assert_eq!(out, msg);
                out_tag[0] ^= u8::from(bad);
                assert_eq!(session.verify(&out_tag).is_err(), bad);
            }

            let mut running = Mac::new(algorithm, &key, &nonce)?;
            running.update(first)?;
            let mut fork = running.clone();
            running.update(second)?;
            fork.update(b"something else")?;
            fork.finalize(&mut out_tag)?;
            assert_ne!(out_tag, mac);
            running.clone().finalize(&mut out_tag)?;
            assert_eq!(out_tag, mac);
            assert_eq!(running.clone().verify(&mac), Ok(()));
            out_tag[1] ^= 0x80;
            assert_eq!(running.verify(&out_tag), failed);
        }
    }
    Ok(())
}

#[test]
fn lengths_are_checked() -> Result<(), Error> {
    let wrong =
        |what, expected, actual| Err::<(), _>(Error::WrongLength { what, expected, actual });
    let no_tag = |actual| Err::<(), _>(Error::UnknownTagLength { actual });
    for algorithm in Algorithm::ALL {
        let len = algorithm.key_len();
        let (key, nonce, other) = (bytes(len, 1), bytes(len, 2), 48 - len);
        for bad in [0, other, len - 1, len + 1] {
            let bytes = bytes(bad, 1);
            assert_eq!(Cipher::new(algorithm, &bytes, 16).map(drop), wrong("key", len, bad));
            assert_eq!(Mac::new(algorithm, &bytes, &nonce).map(drop), wrong("key", len, bad));
            assert_eq!(Mac::new(algorithm, &key, &bytes).map(drop), wrong("nonce", len, bad));
            assert_eq!(
                AnySession::new(algorithm, &key, &bytes, b"").map(drop),
                wrong("nonce", len, bad)
            );
            let cipher = Cipher::new(algorithm, &key, 16)?;
            let (mut buf, mut tag) = ([7; 4], [7; 16]);
            assert_eq!(
                cipher.encrypt_in_place(&bytes, b"", &mut buf, &mut tag),
                wrong("nonce", len, bad)
            );
            assert_eq!(
                cipher.decrypt_in_place(&bytes, b"", &mut buf, &tag),
                wrong("nonce", len, bad)
            );
            assert_eq!((buf, tag), ([7; 4], [7; 16]));
        }
        for bad in [0, 15, 17, 31, 33] {
            assert_eq!(Cipher::new(algorithm, &key, bad).map(drop), no_tag(bad));
            assert_eq!(Mac::new(algorithm, &key, &nonce)?.finalize(&mut vec![0; bad]), no_tag(bad));
            assert_eq!(Mac::new(algorithm, &key, &nonce)?.verify(&vec![0; bad]), no_tag(bad));
            let mut session = AnySession::new(algorithm, &key, &nonce, b"")?;
            assert_eq!(session.finalize(&mut vec![0; bad]), no_tag(bad));
            assert_eq!(session.verify(&vec![0; bad]), no_tag(bad));
        }
        let cipher = Cipher::new(algorithm, &key, 32)?;
        let (mut short, mut tag) = ([7; 3], [7; 32]);
        assert_eq!(
            cipher.encrypt_into(&nonce, b"", b"four", &mut short, &mut tag),
            wrong("output", 4, 3)
        );
        assert_eq!(
            cipher.decrypt_into(&nonce, b"", b"four", &tag, &mut short),
            wrong("output", 4, 3)
        );
        assert_eq!(
            cipher.encrypt_in_place(&nonce, b"", &mut short, &mut [0; 16]),
            wrong("tag", 32, 16)
        );
        assert_eq!(cipher.verify(&nonce, b"", &short, &[0; 16]), wrong("tag", 32, 16));
        // The tag is the first to be checked.
        let bad = &nonce[1..];
        let first = wrong("tag", 32, 16);
        assert_eq!(cipher.encrypt_in_place(bad, b"", &mut short, &mut [0; 16]), first);
        assert_eq!(cipher.decrypt_in_place(bad, b"", &mut short, &[0; 16]), first);
        assert_eq!(cipher.verify(bad, b"", &short, &[0; 16]), first);
        assert_eq!(short, [7; 3]);
    }
    Ok(())
}

#[test]
fn names_and_numbers() {
    for (number, algorithm) in (1..).zip(Algorithm::ALL) {
        assert_eq!(algorithm.id(), number);
        assert_eq!(Algorithm::from_id(number), Some(algorithm));
        assert_eq!(algorithm.to_string().to_lowercase().parse(), Ok(algorithm));
    }
    assert_eq!((Algorithm::from_id(0), Algorithm::from_id(7)), (None, None));
    assert_eq!("AEGIS-512".parse::<Algorithm>(), Err(UnknownAlgorithm));
    assert!(
        UnknownAlgorithm
            .to_string()
            .ends_with("AEGIS-128L, AEGIS-128X2, AEGIS-128X4, AEGIS-256, AEGIS-256X2, AEGIS-256X4")
    );
}

#[test]
fn nothing_secret_is_printed() -> Result<(), Error> {
    let cipher = Cipher::new(Algorithm::Aegis128L, &[0x5a; 16], 16)?;
    assert_eq!(format!("{cipher:?}"), "Cipher { algorithm: Aegis128L, tag_len: 16, .. }");
    assert_eq!(
        format!("{:?}", Mac::new(Algorithm::Aegis128L, &[0x5a; 16], &[0; 16])?),
        "Mac { .. }"
    );
    Ok(())
}
