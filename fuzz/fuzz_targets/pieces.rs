//! A message in pieces gives what it gives in one call: every kind of session, on any backend,
//! moved to another in between.

#![no_main]

use std::mem::MaybeUninit;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use palladion::family::Family;
use palladion::hazmat::{AnySession, Session, decrypt_unauthenticated, encrypt_unauthenticated};
use palladion::{Aegis, Algorithm, Error, KeyStream, Tag};
use palladion_fuzz::{AnyBackend, Buffer, Flip, Len, Offset, Seed, cuts, key, nonce, planted};

#[derive(Arbitrary, Debug)]
struct Input {
    variant: u8,
    seed: Seed,
    ad_len: Len,
    len: Len,
    offset: Offset,
    damage: Option<Flip>,
    /// How far into the message the output of a `Decryptor` goes, if not to its end.
    room: Option<u16>,
    whole: AnyBackend,
    backend: AnyBackend,
    pieces: Vec<(u16, How)>,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum How {
    InPlace,
    Into,
    /// The session goes through its bytes, to another backend, before this piece.
    Moved(AnyBackend),
    /// It is copied before this piece; the original goes on too.
    Copied,
    /// A call that fails before this piece changes nothing.
    Refused,
}

fn check<F: Family, const D: usize, const T: usize>(input: &Input) {
    let [key_bytes, nonce_bytes, ad, msg] =
        input.seed.message(F::KEY_LEN, input.ad_len.0.min(1500), input.len.0);
    let (key, nonce) = (key::<F>(&key_bytes), nonce::<F>(&nonce_bytes));
    let cipher = Aegis::<F, D, T>::new(&key);
    input.whole.set();
    let mut ct = msg.clone();
    let tag = cipher.encrypt_in_place(&nonce, &ad, &mut ct).expect("no limit was passed");
    let mut zeros = vec![0; msg.len()];
    KeyStream::<F, D>::fill(&key, &nonce, &mut zeros).expect("no limit was passed");
    let stream = zeros;

    let sizes: Vec<u16> = input.pieces.iter().map(|(size, _)| *size).collect();
    let sizes = cuts(msg.len(), &sizes);
    let hows = || input.pieces.iter().map(|(_, how)| *how).chain([How::InPlace]);
    let ranges = || {
        let mut start = 0;
        sizes.iter().map(move |size| {
            start += size;
            start - size..start
        })
    };
    let pieces = || ranges().zip(hows());

    // Encryptor.
    input.backend.set();
    let mut encryptor = cipher.encryptor(&nonce, &ad).expect("no limit was passed");
    let mut written = Vec::new();
    for (range, how) in pieces() {
        let mut buf = Buffer::new(&msg[range.clone()], input.offset);
        match how {
            How::Into => {
                let mut out = Buffer::new(&vec![0xee; range.len()], input.offset);
                encryptor.update_into(buf.bytes(), out.bytes_mut()).expect("no limit was passed");
                buf = out;
            }
            How::Refused => {
                assert!(matches!(
                    encryptor.update_into(buf.bytes(), &mut vec![0; range.len() + 1]),
                    Err(Error::WrongLength { .. })
                ));
                encryptor.update_in_place(buf.bytes_mut()).expect("no limit was passed");
            }
            _ => encryptor.update_in_place(buf.bytes_mut()).expect("no limit was passed"),
        }
        written.extend_from_slice(buf.bytes());
    }
    planted("bit", &mut written);
    assert_eq!(written, ct);
    assert_eq!(encryptor.finalize(), tag);

    // What comes back: damaged or not.
    let (mut came, mut came_tag) = (ct.clone(), *tag.as_bytes());
    let damaged =
        input.damage.is_some_and(|flip| flip.apply(&mut came) || flip.apply(&mut came_tag));
    let came_tag = Tag::<T>::from(came_tag);
    let verdict = if damaged { Err(Error::VerificationFailed) } else { Ok(()) };

    // Decryptor, which gives nothing before the end.
    let room = input.room.map_or(msg.len(), |room| usize::from(room) % (msg.len() + 100));
    let mut output = Buffer::new(&vec![0xee; room], input.offset);
    let mut decryptor =
        cipher.decryptor(&nonce, &ad, output.bytes_mut()).expect("no limit was passed");
    let mut fits = true;
    for range in ranges() {
        let end = range.end;
        match decryptor.update(&came[range]) {
            Ok(()) => assert!(end <= room),
            Err(e) => {
                assert!(end > room && matches!(e, Error::TooShort { .. }), "{e}");
                fits = false;
                break;
            }
        }
    }
    if fits {
        let result = decryptor.finalize(&came_tag).map(|msg| msg.to_vec());
        assert_eq!(result, verdict.map(|()| msg.clone()));
    } else {
        drop(decryptor);
    }
    if damaged || !fits {
        // All that was written is zero; what was not is untouched.
        assert!(output.bytes().iter().all(|b| [0, 0xee].contains(b)), "unverified bytes were left");
        if fits {
            assert!(
                output.bytes()[..msg.len()].iter().all(|b| *b == 0),
                "unverified bytes were left"
            );
        }
    }
    if fits {
        assert!(
            output.bytes()[msg.len()..].iter().all(|b| *b == 0xee),
            "written behind the message"
        );
    }

    // Unverified decryption.
    let mut decryptor = Session::<F, D>::new(&key, &nonce, &ad).expect("no limit was passed");
    let mut unverified = Vec::new();
    for (range, how) in pieces() {
        let mut buf = Buffer::new(&came[range.clone()], input.offset);
        match how {
            How::Into => {
                let mut out = Buffer::new(&vec![0xee; range.len()], input.offset);
                decryptor.decrypt_into(buf.bytes(), out.bytes_mut()).expect("no limit was passed");
                buf = out;
            }
            How::Copied => {
                let mut copy = decryptor.clone();
                let mut other = buf.bytes().to_vec();
                copy.decrypt_in_place(&mut other).expect("no limit was passed");
                decryptor.decrypt_in_place(buf.bytes_mut()).expect("no limit was passed");
                assert_eq!(other, buf.bytes());
                decryptor = copy;
            }
            _ => decryptor.decrypt_in_place(buf.bytes_mut()).expect("no limit was passed"),
        }
        unverified.extend_from_slice(buf.bytes());
    }
    assert_eq!(decryptor.verify(&came_tag), verdict);
    if !damaged {
        assert_eq!(unverified, msg);
    }

    // Session, in both directions, from backend to backend.
    for decrypt in [false, true] {
        input.backend.set();
        let (source, expected) = if decrypt { (&came, &unverified) } else { (&msg, &ct) };
        let mut session = Session::<F, D>::new(&key, &nonce, &ad).expect("no limit was passed");
        // Another one where it begins, that is not moved: it takes all of it at once.
        let mut place = MaybeUninit::uninit();
        let begun =
            Session::<F, D>::begin_in(&mut place, &key, &nonce, &ad).expect("no limit was passed");
        let mut all = Buffer::new(source, input.offset);
        let result = if decrypt {
            begun.decrypt_in_place(all.bytes_mut())
        } else {
            begun.encrypt_in_place(all.bytes_mut())
        };
        planted("begun", all.bytes_mut());
        assert_eq!((result, all.bytes()), (Ok(()), &expected[..]));
        if decrypt {
            assert_eq!(begun.verify(&came_tag), verdict);
        } else {
            assert_eq!(begun.finalize::<T>(), Ok(tag));
        }
        for (range, how) in pieces() {
            let mut buf = Buffer::new(&source[range.clone()], input.offset);
            match how {
                How::Moved(backend) => {
                    let mut bytes = vec![0; Session::<F, D>::BYTES];
                    session.to_bytes(&mut bytes).expect("as many bytes as it wants");
                    assert!(session.to_bytes(&mut bytes[1..]).is_err());
                    assert!(Session::<F, D>::from_bytes(&bytes[1..]).is_err());
                    backend.set();
                    session = Session::from_bytes(&bytes).expect("its own bytes");
                }
                How::Copied => session = session.clone(),
                How::Refused => {
                    let mut short = vec![0; range.len() + 3];
                    assert!(session.encrypt_into(buf.bytes(), &mut short).is_err());
                    assert!(session.decrypt_into(buf.bytes(), &mut short).is_err());
                }
                How::Into => {
                    let mut out = Buffer::new(&vec![0xee; range.len()], input.offset);
                    let (from, to) = (buf.bytes(), out.bytes_mut());
                    let result = if decrypt {
                        session.decrypt_into(from, to)
                    } else {
                        session.encrypt_into(from, to)
                    };
                    assert_eq!(result, Ok(()));
                    assert_eq!(out.bytes(), &expected[range]);
                    continue;
                }
                How::InPlace => {}
            }
            let bytes = buf.bytes_mut();
            let result = if decrypt {
                session.decrypt_in_place(bytes)
            } else {
                session.encrypt_in_place(bytes)
            };
            assert_eq!(result, Ok(()));
            assert_eq!(bytes, &expected[range]);
        }
        if decrypt {
            assert_eq!(session.verify(&came_tag), verdict);
        } else {
            assert_eq!(session.finalize::<T>(), Ok(tag));
            // It may be used again, for nothing.
            let _ = session.finalize::<T>();
            let _ = session.encrypt_in_place(&mut [0; 100]);
        }
    }

    // Without a tag, and without associated data.
    let (mut there, mut back) = (Buffer::new(&msg, input.offset), Buffer::new(&came, input.offset));
    encrypt_unauthenticated(&cipher, &nonce, there.bytes_mut()).expect("no limit was passed");
    let mut alone = msg.clone();
    let _tag = cipher.encrypt_in_place(&nonce, &[], &mut alone).expect("no limit was passed");
    assert_eq!(there.bytes(), alone);
    decrypt_unauthenticated(&cipher, &nonce, there.bytes_mut()).expect("no limit was passed");
    assert_eq!(there.bytes(), msg);
    // Whatever comes, it is decrypted, and encrypted it is what came.
    decrypt_unauthenticated(&cipher, &nonce, back.bytes_mut()).expect("no limit was passed");
    encrypt_unauthenticated(&cipher, &nonce, back.bytes_mut()).expect("no limit was passed");
    assert_eq!(back.bytes(), came);

    // KeyStream.
    input.backend.set();
    let mut reader = KeyStream::<F, D>::new(&key, &nonce).expect("there is a backend");
    for (range, how) in pieces() {
        let mut buf = Buffer::new(&msg[range.clone()], input.offset);
        if let How::Copied = how {
            reader = reader.clone();
        }
        if let How::Into = how {
            reader.xor(buf.bytes_mut()).expect("no limit was passed");
            let expected: Vec<u8> =
                msg[range.clone()].iter().zip(&stream[range]).map(|(a, b)| a ^ b).collect();
            assert_eq!(buf.bytes(), expected);
        } else {
            reader.next_bytes(buf.bytes_mut()).expect("no limit was passed");
            assert_eq!(buf.bytes(), &stream[range]);
        }
    }

    // AnySession, for the ciphers that have names.
    let names = Algorithm::ALL.into_iter();
    let of = |a: &Algorithm| {
        let degree = [1, 2, 4][(usize::from(a.id()) - 1) % 3];
        a.key_len() == F::KEY_LEN && degree == D
    };
    if let Some(algorithm) = names.clone().find(of) {
        for decrypt in [false, true] {
            let (source, expected) = if decrypt { (&came, &unverified) } else { (&msg, &ct) };
            let mut session = AnySession::new(algorithm, &key_bytes, &nonce_bytes, &ad)
                .expect("lengths that fit");
            for (range, how) in pieces() {
                let mut buf = Buffer::new(&source[range.clone()], input.offset);
                let result = match how {
                    How::Into => {
                        let mut out = Buffer::new(&vec![0xee; range.len()], input.offset);
                        let (from, to) = (buf.bytes(), out.bytes_mut());
                        let result = if decrypt {
                            session.decrypt_into(from, to)
                        } else {
                            session.encrypt_into(from, to)
                        };
                        buf = out;
                        result
                    }
                    How::Refused => {
                        let mut long = vec![0xee; range.len() + 1];
                        assert!(session.encrypt_into(buf.bytes(), &mut long).is_err());
                        assert!(session.decrypt_into(buf.bytes(), &mut long).is_err());
                        assert!(session.finalize(&mut long[..0]).is_err(), "the session goes on");
                        if decrypt {
                            session.decrypt_in_place(buf.bytes_mut())
                        } else {
                            session.encrypt_in_place(buf.bytes_mut())
                        }
                    }
                    _ if decrypt => session.decrypt_in_place(buf.bytes_mut()),
                    _ => session.encrypt_in_place(buf.bytes_mut()),
                };
                planted("any", buf.bytes_mut());
                assert_eq!((result, buf.bytes()), (Ok(()), &expected[range]));
            }
            if decrypt {
                assert!(session.verify(&[0; 17]).is_err());
                assert_eq!(session.verify(came_tag.as_ref()), verdict);
            } else {
                let mut made = Buffer::new(&[0xee; T], input.offset);
                assert_eq!(session.finalize(made.bytes_mut()), Ok(()));
                assert_eq!(made.bytes(), tag.as_bytes());
            }
        }
        assert!(AnySession::new(algorithm, &key_bytes[1..], &nonce_bytes, &ad).is_err());
        assert!(AnySession::new(algorithm, &key_bytes, &nonce_bytes[1..], &ad).is_err());
    }
}

fuzz_target!(|input: Input| palladion_fuzz::with_variant!(input.variant, check(&input)));
