//! The functions of this crate give the results of crate `palladion`, whose tests have the known
//! answers. `scripts/test-drop-in.sh` compares with crate `aegis` itself.

use palladion::{Algorithm, any};

/// Bytes that differ from place to place.
fn bytes(len: usize, start: u8) -> Vec<u8> {
    (0..len).map(|i| (i as u8).wrapping_mul(59).wrapping_add(start)).collect()
}

/// Lengths around the ends of blocks, and one of several kilobytes.
const LENGTHS: [usize; 12] = [0, 1, 15, 16, 17, 31, 33, 64, 127, 129, 500, 10_000];

macro_rules! variants {
    ($($module:ident, $cipher:ident, $mac:ident;)*) => { $(
        mod $module {
            use super::*;
            use aegis::Error;
            use aegis::$module::{$cipher, $mac, Key, Nonce};

            fn key() -> Key {
                bytes(size_of::<Key>(), 3).try_into().unwrap()
            }

            fn nonce() -> Nonce {
                bytes(size_of::<Nonce>(), 5).try_into().unwrap()
            }

            fn messages<const T: usize>() {
                let cipher = || $cipher::<T>::new(&key(), &nonce());
                let same = any::Cipher::new(Algorithm::$cipher, &key(), T).unwrap();
                for len in LENGTHS {
                    let (msg, ad) = (bytes(len, 7), bytes(len / 3, 9));
                    let (mut expected, mut tag) = (msg.clone(), [0; T]);
                    same.encrypt_in_place(&nonce(), &ad, &mut expected, &mut tag).unwrap();
                    assert_eq!(cipher().encrypt(&msg, &ad), (expected.clone(), tag));
                    let mut buf = msg.clone();
                    assert_eq!(cipher().encrypt_in_place(&mut buf, &ad), tag);
                    assert_eq!(buf, expected);
                    assert_eq!(cipher().decrypt(&buf, &tag, &ad).as_ref(), Ok(&msg));
                    cipher().decrypt_in_place(&mut buf, &tag, &ad).unwrap();
                    assert_eq!(buf, msg);

                    let (mut ct, cut) = (vec![0; len], len / 2);
                    let mut encryptor = cipher().encryptor(&ad);
                    encryptor.update(&msg[..cut], &mut ct[..cut]);
                    ct[cut..].copy_from_slice(&msg[cut..]);
                    encryptor.update_in_place(&mut ct[cut..]);
                    assert_eq!(encryptor.finalize(), tag);
                    assert_eq!(ct, expected);

                    let mut out = vec![0xff; len + 1];
                    let mut decryptor = cipher().decryptor(&ad, &mut out);
                    decryptor.update(&ct[..cut]).unwrap();
                    let more = vec![0; len - cut + 2];
                    assert_eq!(decryptor.update(&more), Err(Error::OutputBufferTooSmall));
                    decryptor.update(&ct[cut..]).unwrap();
                    assert_eq!(decryptor.finalize(&tag).unwrap(), msg);
                    assert_eq!(out[len], 0xff);

                    tag[T - 1] ^= 1;
                    assert_eq!(cipher().decrypt(&ct, &tag, &ad), Err(Error::InvalidTag));
                    let mut decryptor = cipher().decryptor(&ad, &mut out);
                    decryptor.update(&ct).unwrap();
                    assert_eq!(decryptor.finalize(&tag), Err(Error::InvalidTag));
                    assert_eq!(&out[..len], vec![0; len]);
                    let decrypted = cipher().decrypt_in_place(&mut ct, &tag, &ad);
                    assert_eq!((decrypted, ct), (Err(Error::InvalidTag), vec![0; len]));
                }
            }

            #[test]
            fn messages_are_those_of_palladion() {
                messages::<16>();
                messages::<32>();
            }

            #[test]
            fn a_decryptor_that_is_dropped_leaves_zeros() {
                let mut out = [0xff; 9];
                let mut decryptor = $cipher::<16>::new(&key(), &nonce()).decryptor(b"", &mut out);
                decryptor.update(&[1; 7]).unwrap();
                drop(decryptor);
                assert_eq!(out, [0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]);
            }

            #[test]
            fn the_key_stream_is_that_of_zeros() {
                for len in LENGTHS {
                    let cipher = $cipher::<32>::new(&key(), &nonce());
                    let (stream, _) = cipher.encrypt(&vec![0; len], b"");
                    let mut out = vec![0xff; len];
                    cipher.stream(&mut out);
                    assert_eq!(out, stream);
                    let msg = bytes(len, 1);
                    let ct = cipher.stream_xor(&msg);
                    assert!(ct.iter().zip(&msg).map(|(c, m)| c ^ m).eq(stream));
                    out.copy_from_slice(&ct);
                    cipher.stream_xor_in_place(&mut out);
                    assert_eq!(out, msg);
                }
            }

            fn macs<const T: usize>() {
                for len in LENGTHS {
                    let data = bytes(len, 2);
                    let expected = |nonce: &Nonce| -> [u8; T] {
                        let mut mac = any::Mac::new(Algorithm::$cipher, &key(), nonce).unwrap();
                        mac.update(&data).unwrap();
                        let mut tag = [0; T];
                        mac.finalize(&mut tag).unwrap();
                        tag
                    };
                    let mut mac = $mac::<T>::new_with_nonce(&key(), &nonce());
                    let tag = expected(&nonce());
                    mac.update(&data[..len / 3]);
                    mac.update(&data[len / 3..]);
                    assert_eq!(mac.clone().finalize(), tag);
                    mac.clone().verify(&tag).unwrap();
                    assert_eq!(mac.finalize_and_reset(), tag);
                    mac.update(b"other data");
                    assert_eq!(mac.clone().verify(&tag), Err(Error::InvalidTag));
                    mac.reset();
                    mac.update(&data);
                    assert_eq!(mac.finalize(), tag);

                    let mut mac = $mac::<T>::new(&key());
                    mac.update(&data);
                    assert_eq!(mac.finalize(), expected(&Nonce::default()));
                }
            }

            #[test]
            fn macs_are_those_of_palladion() {
                macs::<16>();
                macs::<32>();
            }

            #[test]
            #[should_panic(expected = "must be 16 or 32")]
            fn other_tag_lengths_panic() {
                $cipher::<24>::new(&key(), &nonce());
            }

            #[test]
            #[should_panic(expected = "must be 16 or 32")]
            fn other_tag_lengths_of_macs_panic() {
                $mac::<8>::new(&key());
            }
        }
    )* };
}

variants! {
    aegis128l, Aegis128L, Aegis128LMac;
    aegis128x2, Aegis128X2, Aegis128X2Mac;
    aegis128x4, Aegis128X4, Aegis128X4Mac;
    aegis256, Aegis256, Aegis256Mac;
    aegis256x2, Aegis256X2, Aegis256X2Mac;
    aegis256x4, Aegis256X4, Aegis256X4Mac;
}

/// All errors and the trees are compared in `compare/`. This is what is left without crate `aegis`:
/// errors that it reports in another way.
#[cfg(feature = "raf")]
mod raf {
    use aegis::raf::{Aegis128X2, Error, FileIo, Raf, RafBuilder, RafRng};

    struct NoRandomness;

    impl RafRng for NoRandomness {
        fn fill(&mut self, _: &mut [u8]) -> Result<(), Error> {
            Err(Error::Rng)
        }
    }

    #[test]
    fn errors() {
        let path = std::env::temp_dir().join(format!("palladion-aegis-{}", std::process::id()));
        let key = [1; 16];
        let mut file = Raf::<Aegis128X2>::create_file(&path, &key).unwrap();
        file.write(b"some bytes", 0).unwrap();
        drop(file);

        let mut bytes = std::fs::read(&path).unwrap();
        bytes[1000] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let mut file = Raf::<Aegis128X2>::open_file(&path, &key).unwrap();
        assert!(matches!(file.write(b"x", 5), Err(Error::AuthenticationFailed)));
        assert!(matches!(file.truncate(u64::MAX), Err(Error::Overflow)));

        let builder = RafBuilder::<Aegis128X2>::with_rng(NoRandomness).truncate(true);
        let created = builder.create(FileIo::open(&path).unwrap(), &key);
        assert!(matches!(created, Err(Error::Rng)));
        std::fs::remove_file(&path).unwrap();
    }
}
