//! The same random calls to both crates have the same effect.

use aead::{AeadInOut, KeyInit};
use ours::compat::rustcrypto_traits_06 as ours_aead;
use palladion_aegis_compare::Random;
use upstream::compat::rustcrypto_traits_06 as upstream_aead;

/// Returns what a function returned, for any two types that print alike.
fn text(result: impl core::fmt::Debug) -> String {
    format!("{result:?}")
}

macro_rules! compare {
    ($($module:ident, $cipher:ident, $mac:ident, $len:literal;)*) => { $(
        mod $module {
            use super::*;
            use ours::$module as a;
            use upstream::$module as b;

            const CASES: usize = 1000;

            struct Case {
                key: [u8; $len],
                nonce: [u8; $len],
                ad: Vec<u8>,
                msg: Vec<u8>,
            }

            impl Case {
                fn new(random: &mut Random) -> Self {
                    let (ad, msg) = (random.len(), random.len());
                    Self {
                        key: random.array(),
                        nonce: random.array(),
                        ad: random.bytes(ad),
                        msg: random.bytes(msg),
                    }
                }
                fn a<const T: usize>(&self) -> a::$cipher<T> {
                    a::$cipher::new(&self.key, &self.nonce)
                }
                fn b<const T: usize>(&self) -> b::$cipher<T> {
                    b::$cipher::new(&self.key, &self.nonce)
                }
                /// Changes a bit of one input.
                fn forge(&mut self, random: &mut Random, ct: &mut [u8], tag: &mut [u8]) {
                    match random.below(5) {
                        0 => random.flip(&mut self.key),
                        1 => random.flip(&mut self.nonce),
                        2 if !self.ad.is_empty() => random.flip(&mut self.ad),
                        3 if !ct.is_empty() => random.flip(ct),
                        _ => random.flip(tag),
                    }
                }
            }

            fn one_call<const T: usize>() {
                let random = &mut Random::new();
                for _ in 0..CASES {
                    let mut case = Case::new(random);
                    let (mut ct, mut tag) = case.b::<T>().encrypt(&case.msg, &case.ad);
                    assert_eq!((ct.clone(), tag), case.a::<T>().encrypt(&case.msg, &case.ad));
                    let mut buf = case.msg.clone();
                    assert_eq!(tag, case.a::<T>().encrypt_in_place(&mut buf, &case.ad));
                    assert_eq!(ct, buf);
                    assert_eq!(case.a::<T>().decrypt(&ct, &tag, &case.ad).unwrap(), case.msg);
                    case.a::<T>().decrypt_in_place(&mut buf, &tag, &case.ad).unwrap();
                    assert_eq!(buf, case.msg);

                    case.forge(random, &mut ct, &mut tag);
                    let results = [
                        text(case.a::<T>().decrypt(&ct, &tag, &case.ad)),
                        text(case.b::<T>().decrypt(&ct, &tag, &case.ad)),
                    ];
                    assert_eq!(results[0], "Err(InvalidTag)");
                    assert_eq!(results[0], results[1]);
                    let mut buf = ct.clone();
                    assert!(case.a::<T>().decrypt_in_place(&mut buf, &tag, &case.ad).is_err());
                    assert!(buf.iter().all(|&byte| byte == 0));
                }
            }

            #[test]
            fn one_call_16() {
                one_call::<16>();
            }

            #[test]
            fn one_call_32() {
                one_call::<32>();
            }

            fn pieces<const T: usize>() {
                let random = &mut Random::new();
                for _ in 0..CASES {
                    let mut case = Case::new(random);
                    let (msg, mut ct) = (case.msg.clone(), case.msg.clone());
                    let (mut a, mut b) =
                        (case.a::<T>().encryptor(&case.ad), case.b::<T>().encryptor(&case.ad));
                    let mut at = 0;
                    for n in random.pieces(msg.len()) {
                        let (piece, place) = (&msg[at..at + n], &mut ct[at..at + n]);
                        if random.below(2) == 0 {
                            a.update_in_place(place);
                        } else {
                            a.update(piece, place);
                        }
                        let mut expected = vec![0; n];
                        b.update(piece, &mut expected);
                        assert_eq!(place, expected);
                        at += n;
                    }
                    let mut tag = a.finalize();
                    assert_eq!(tag, b.finalize());

                    let forged = random.below(2) == 0;
                    if forged {
                        case.forge(random, &mut ct, &mut tag);
                    }
                    let room = msg.len() + random.below(3);
                    let mut out = [vec![0xff; room], vec![0xff; room]];
                    let [out_a, out_b] = &mut out;
                    let mut a = case.a::<T>().decryptor(&case.ad, out_a);
                    let mut b = case.b::<T>().decryptor(&case.ad, out_b);
                    let mut at = 0;
                    for n in random.pieces(ct.len()) {
                        let too_long = vec![0; room - at + 1];
                        let errors = [text(a.update(&too_long)), text(b.update(&too_long))];
                        assert_eq!(errors[0], "Err(OutputBufferTooSmall)");
                        assert_eq!(errors[0], errors[1]);
                        a.update(&ct[at..at + n]).unwrap();
                        b.update(&ct[at..at + n]).unwrap();
                        at += n;
                    }
                    if !forged || random.below(2) == 0 {
                        let results = [text(a.finalize(&tag)), text(b.finalize(&tag))];
                        assert_eq!(results[0], results[1]);
                        assert_eq!(forged, results[0] == "Err(InvalidTag)");
                    } else {
                        drop((a, b));
                    }
                    assert_eq!(out[0], out[1]);
                }
            }

            #[test]
            fn pieces_16() {
                pieces::<16>();
            }

            #[test]
            fn pieces_32() {
                pieces::<32>();
            }

            #[test]
            fn key_stream() {
                let random = &mut Random::new();
                for _ in 0..CASES {
                    let case = Case::new(random);
                    let mut out = [vec![0xff; case.msg.len()], vec![0; case.msg.len()]];
                    case.a::<16>().stream(&mut out[0]);
                    case.b::<16>().stream(&mut out[1]);
                    assert_eq!(out[0], out[1]);
                    let ct = case.b::<32>().stream_xor(&case.msg);
                    assert_eq!(case.a::<32>().stream_xor(&case.msg), ct);
                    let mut buf = case.msg.clone();
                    case.a::<16>().stream_xor_in_place(&mut buf);
                    assert_eq!(buf, ct);
                }
            }

            fn mac<const T: usize>() {
                let random = &mut Random::new();
                for _ in 0..CASES {
                    let case = Case::new(random);
                    if cfg!(feature = "pure-rust") && case.msg.is_empty() {
                        continue; // excluded: known bug of the implementation in Rust in 0.9.20
                    }
                    let (mut a, mut b) = if random.below(2) == 0 {
                        (a::$mac::<T>::new(&case.key), b::$mac::<T>::new(&case.key))
                    } else {
                        (
                            a::$mac::new_with_nonce(&case.key, &case.nonce),
                            b::$mac::new_with_nonce(&case.key, &case.nonce),
                        )
                    };
                    let (empty_a, empty_b) = (a.clone(), b.clone());
                    let mut at = 0;
                    for n in random.pieces(case.msg.len()) {
                        a.update(&case.msg[at..at + n]);
                        b.update(&case.msg[at..at + n]);
                        at += n;
                    }
                    let mut tag = b.clone().finalize();
                    assert_eq!(a.clone().finalize(), tag);
                    a.clone().verify(&tag).unwrap();
                    random.flip(&mut tag);
                    assert_eq!(text(a.clone().verify(&tag)), "Err(InvalidTag)");
                    assert_eq!(text(b.clone().verify(&tag)), "Err(InvalidTag)");

                    // Used again, for other data.
                    let more = random.bytes(1 + case.ad.len());
                    let (mut again_a, mut again_b) = (empty_a, empty_b);
                    again_a.update(&more);
                    again_b.update(&more);
                    let expected = again_b.finalize();
                    assert_eq!(again_a.finalize(), expected);
                    if random.below(2) == 0 {
                        a.reset();
                    } else {
                        a.finalize_and_reset();
                    }
                    a.update(&more);
                    assert_eq!(a.finalize(), expected);
                    #[cfg(not(feature = "pure-rust"))] // it has neither
                    {
                        b.reset();
                        b.update(&more);
                        assert_eq!(b.finalize_and_reset(), expected);
                    }
                }
            }

            #[test]
            fn mac_16() {
                mac::<16>();
            }

            #[test]
            fn mac_32() {
                mac::<32>();
            }

            fn traits<const T: usize>()
            where
                ours_aead::$cipher<T>: AeadInOut + KeyInit,
                upstream_aead::$cipher<T>: AeadInOut + KeyInit,
            {
                let random = &mut Random::new();
                for _ in 0..CASES / 10 {
                    let Case { key, nonce, ad, msg } = Case::new(random);
                    let a = ours_aead::$cipher::<T>::new_from_slice(&key).unwrap();
                    let b = upstream_aead::$cipher::<T>::new_from_slice(&key).unwrap();
                    let mut buf = [msg.clone(), msg.clone()];
                    let nonce = &nonce[..];
                    a.encrypt_in_place(nonce.try_into().unwrap(), &ad, &mut buf[0]).unwrap();
                    b.encrypt_in_place(nonce.try_into().unwrap(), &ad, &mut buf[1]).unwrap();
                    assert_eq!(buf[0], buf[1]);
                    a.decrypt_in_place(nonce.try_into().unwrap(), &ad, &mut buf[1]).unwrap();
                    assert_eq!(buf[1], msg);
                    random.flip(&mut buf[0]);
                    a.decrypt_in_place(nonce.try_into().unwrap(), &ad, &mut buf[0]).unwrap_err();
                }
            }

            #[test]
            fn traits_of_aead() {
                traits::<16>();
                traits::<32>();
            }

            #[test]
            fn texts() {
                let case = Case::new(&mut Random::new());
                assert_eq!(text(case.a::<16>()), text(case.b::<16>()));
                let (a, b) = (case.a::<16>(), case.b::<16>());
                assert_eq!(text(a.encryptor(b"")), text(b.encryptor(b"")));
                assert_eq!(text(a.decryptor(b"", &mut [])), text(b.decryptor(b"", &mut [])));
                let (a, b) = (a::$mac::<16>::new(&case.key), b::$mac::<16>::new(&case.key));
                assert_eq!(text(a), text(b));
            }
        }
    )* };
}

compare! {
    aegis128l, Aegis128L, Aegis128LMac, 16;
    aegis128x2, Aegis128X2, Aegis128X2Mac, 16;
    aegis128x4, Aegis128X4, Aegis128X4Mac, 16;
    aegis256, Aegis256, Aegis256Mac, 32;
    aegis256x2, Aegis256X2, Aegis256X2Mac, 32;
    aegis256x4, Aegis256X4, Aegis256X4Mac, 32;
}

#[test]
fn errors() {
    let a =
        [ours::Error::InvalidTag, ours::Error::OutputBufferTooSmall, ours::Error::MessageTooLong];
    let b = [
        upstream::Error::InvalidTag,
        upstream::Error::OutputBufferTooSmall,
        upstream::Error::MessageTooLong,
    ];
    for (a, b) in a.into_iter().zip(b) {
        assert_eq!((text(a), a.to_string()), (text(b), b.to_string()));
    }
}

#[test]
#[should_panic(expected = "must be 16 or 32")]
fn other_tag_lengths_panic() {
    ours::aegis128l::Aegis128L::<24>::new(&[0; 16], &[0; 16]);
}
