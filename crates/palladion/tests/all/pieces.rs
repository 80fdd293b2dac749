//! The result does not depend on the pieces: properties, tested on random inputs that shrink when
//! they fail.

use std::fmt::Debug;
use std::io::Read;

use crate::common::{
    Random, for_each_backend, for_each_mac, for_each_variant, key, nonce, reduced, reference,
    with_backends,
};
use palladion::family::Family;
use palladion::hazmat::{Session, decrypt_unauthenticated, encrypt_unauthenticated};
use palladion::{Aegis, Backend, Encryptor, Error, KeyStream, Mac, Tag, backend, set_backend};
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::test_runner::{Config, TestRunner};

/// How to cut an input, and what to do with each piece.
#[derive(Clone, Debug)]
struct Plan {
    /// The seed of key, nonce and data.
    seed: u64,
    ad_len: usize,
    pieces: Vec<Piece>,
    /// The number of pieces, modulo their count, after which something special happens.
    moment: usize,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    len: usize,
    in_place: bool,
}

impl Plan {
    fn len(&self) -> usize {
        self.pieces.iter().map(|piece| piece.len).sum()
    }

    /// Returns the pieces before and after the moment, and the number of bytes before it.
    fn halves(&self) -> (&[Piece], &[Piece], usize) {
        let (before, after) = self.pieces.split_at(self.moment % (self.pieces.len() + 1));
        (before, after, before.iter().map(|piece| piece.len).sum())
    }
}

fn plans(rate: usize) -> impl Strategy<Value = Plan> {
    let len = prop_oneof![
        2 => Just(0),
        4 => 1..=40_usize,
        4 => 1..=2 * rate + 1,
        2 => (1..=2_usize).prop_map(move |steps| steps * rate),
    ];
    let piece = (len, any::<bool>()).prop_map(|(len, in_place)| Piece { len, in_place });
    let pieces = proptest::collection::vec(piece, 0..9);
    (any::<u64>(), 0..=2 * rate + 1, pieces, any::<usize>())
        .prop_map(|(seed, ad_len, pieces, moment)| Plan { seed, ad_len, pieces, moment })
}

/// Tests a property with some plans for the rate of a variant.
fn hold<F: Family, const D: usize>(property: impl Fn(&Plan)) {
    hold_for(reference::<F, D>().rate(), &property);
}

/// Not generic, so that it is compiled once.
fn hold_for(rate: usize, property: &dyn Fn(&Plan)) {
    let cases = if rate > 512 || reduced() { 4 } else { 16 };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&plans(rate), |plan| {
            property(&plan);
            Ok(())
        })
        .unwrap_or_else(|failure| panic!("{failure}"));
}

/// A message and its ciphertext, encrypted in one call.
struct Whole<F: Family, const D: usize, const T: usize> {
    key: F::Key,
    cipher: Aegis<F, D, T>,
    nonce: F::Nonce,
    ad: Vec<u8>,
    msg: Vec<u8>,
    ct: Vec<u8>,
    tag: Tag<T>,
}

impl<F: Family, const D: usize, const T: usize> Whole<F, D, T> {
    fn new(plan: &Plan) -> Self {
        let mut random = Random(plan.seed);
        let key = key::<F>(&random.bytes(F::KEY_LEN));
        let cipher = Aegis::new(&key);
        let nonce = nonce::<F>(&random.bytes(F::KEY_LEN));
        let (ad, msg) = (random.bytes(plan.ad_len), random.bytes(plan.len()));
        let mut ct = msg.clone();
        let tag = cipher.encrypt_in_place(&nonce, &ad, &mut ct).unwrap();
        Whole { key, cipher, nonce, ad, msg, ct, tag }
    }
}

/// Types that take pieces in place or into another buffer.
trait Update {
    fn in_place(&mut self, buf: &mut [u8]) -> Result<(), Error>;
    fn into(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), Error>;

    fn feed(&mut self, input: &[u8], pieces: &[Piece]) -> Vec<u8> {
        let mut output = vec![0xee; input.len()];
        let mut done = 0;
        for piece in pieces {
            let place = done..done + piece.len;
            let (from, to) = (&input[place.clone()], &mut output[place.clone()]);
            if piece.in_place {
                to.copy_from_slice(from);
                self.in_place(to).unwrap();
            } else {
                self.into(from, to).unwrap();
            }
            done = place.end;
        }
        assert_eq!(done, input.len(), "the pieces are those of this input");
        output
    }
}

impl<F: Family, const D: usize, const T: usize> Update for Encryptor<F, D, T> {
    fn in_place(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        self.update_in_place(buf)
    }

    fn into(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), Error> {
        self.update_into(input, output)
    }
}

fn aead<F: Family, const D: usize, const T: usize>(plan: &Plan) {
    let Whole { key, cipher, nonce, ad, msg, ct, tag } = Whole::<F, D, T>::new(plan);
    let (before, after, half) = plan.halves();

    let mut encryptor = cipher.encryptor(&nonce, &ad).unwrap();
    assert_eq!(encryptor.feed(&msg[..half], before), ct[..half]);
    assert_eq!(encryptor.feed(&msg[half..], after), ct[half..]);
    assert_eq!(encryptor.finalize(), tag);

    // A clone in the middle ends with other bytes first: it shares nothing with the original.
    let mut other = msg.clone();
    other.iter_mut().skip(half).for_each(|byte| *byte ^= 0xff);
    let mut other_ct = other.clone();
    let other_tag = cipher.encrypt_in_place(&nonce, &ad, &mut other_ct).unwrap();
    let mut decryptor = Session::<F, D>::new(&key, &nonce, &ad).unwrap();
    assert_eq!(Direction::<F, D, false>(&mut decryptor).feed(&ct[..half], before), msg[..half]);
    let mut clone = decryptor.clone();
    assert_eq!(Direction::<F, D, false>(&mut clone).feed(&other_ct[half..], after), other[half..]);
    assert_eq!(clone.verify(&other_tag), Ok(()));
    assert_eq!(Direction::<F, D, false>(&mut decryptor).feed(&ct[half..], after), msg[half..]);
    assert_eq!(decryptor.clone().verify(&tag), Ok(()));
    let wrong = Tag::<T>::try_from(&crate::common::flipped(tag.as_ref(), 8 * T - 1)[..]).unwrap();
    assert_eq!(decryptor.verify(&wrong), Err(Error::VerificationFailed));

    // With more room than needed, which stays unchanged.
    let mut output = vec![0xee; msg.len() + 9];
    let mut decryptor = cipher.decryptor(&nonce, &ad, &mut output).unwrap();
    let mut rest = &ct[..];
    for piece in &plan.pieces {
        decryptor.update(rest.split_off(..piece.len).unwrap()).unwrap();
    }
    assert_eq!(decryptor.finalize(&tag).unwrap(), msg);
    assert_eq!(output, [&msg[..], &[0xee; 9]].concat());
}

fn aead_holds<F: Family, const D: usize>() {
    hold::<F, D>(|plan| {
        for_each_backend(|_| {
            aead::<F, D, 16>(plan);
            aead::<F, D, 32>(plan);
        });
    });
}

#[test]
fn encryption_and_decryption() {
    for_each_variant!(kernels: aead_holds());
}

fn keystream<F: Family, const D: usize>() {
    hold::<F, D>(|plan| {
        for_each_backend(|_| {
            let Whole { key, cipher, nonce, msg, .. } = Whole::<F, D, 16>::new(plan);
            let mut whole = vec![0; plan.len()];
            KeyStream::<F, D>::fill(&key, &nonce, &mut whole).unwrap();

            let mut stream = KeyStream::<F, D>::new(&key, &nonce).unwrap();
            let mut clone = stream.clone();
            let mut done = 0;
            let mut xored = msg.clone();
            for (i, piece) in plan.pieces.iter().enumerate() {
                let place = done..done + piece.len;
                done = place.end;
                if i == plan.moment % plan.pieces.len() {
                    clone = stream.clone();
                }
                if piece.in_place {
                    stream.xor(&mut xored[place]).unwrap();
                } else {
                    let mut out = vec![0xee; piece.len];
                    if i % 2 == 0 {
                        stream.next_bytes(&mut out).unwrap();
                    } else {
                        assert_eq!(Read::read(&mut stream, &mut out).unwrap(), piece.len);
                    }
                    assert_eq!(out, whole[place.clone()]);
                    xored[place].iter_mut().zip(out).for_each(|(byte, key)| *byte ^= key);
                }
                if i == plan.moment % plan.pieces.len() {
                    let mut out = vec![0xee; piece.len];
                    clone.next_bytes(&mut out).unwrap();
                    assert_eq!(out, whole[done - piece.len..done], "what the clone goes on with");
                }
            }
            let expected: Vec<u8> = msg.iter().zip(&whole).map(|(byte, key)| byte ^ key).collect();
            assert_eq!(xored, expected);

            // RFC 10032 §7: the stream is the ciphertext of zeros.
            let mut zeros = vec![0; plan.len()];
            cipher.encrypt_in_place(&nonce, b"", &mut zeros).unwrap();
            assert_eq!(zeros, whole);
        });
    });
}

#[test]
fn key_streams() {
    for_each_variant!(kernels: keystream());
}

fn mac_holds<F: Family, const D: usize, const T: usize>() {
    hold::<F, D>(|plan| {
        for_each_backend(|_| {
            let Whole { key, nonce, msg: data, .. } = Whole::<F, D, T>::new(plan);
            let whole = |data: &[u8]| Mac::<F, D, T>::mac(&key, &nonce, data).unwrap();
            let feed = |mac: &mut Mac<F, D, T>, mut data: &[u8], pieces: &[Piece]| {
                for piece in pieces {
                    mac.update(data.split_off(..piece.len).unwrap()).unwrap();
                }
                assert!(data.is_empty(), "the pieces are those of this input");
            };
            let (before, after, half) = plan.halves();
            let tag = whole(&data);

            let mut mac = Mac::<F, D, T>::new(&key, &nonce).unwrap();
            feed(&mut mac, &data[..half], before);
            let mut clone = mac.clone();
            assert_eq!(mac.clone().finalize(), whole(&data[..half]));
            feed(&mut mac, &data[half..], after);
            assert_eq!(mac.clone().finalize(), tag);
            assert_eq!(mac.clone().verify(&tag), Ok(()));
            let wrong = Tag::<T>::try_from(
                &crate::common::flipped(tag.as_ref(), plan.moment % (8 * T))[..],
            )
            .unwrap();
            assert_eq!(mac.clone().verify(&wrong), Err(Error::VerificationFailed));

            clone.update(b"something else").unwrap();
            assert_eq!(clone.finalize(), whole(&[&data[..half], b"something else"].concat()));

            // From any point back to the beginning, where a clone starts too.
            mac.reset();
            assert_eq!(mac.clone().finalize(), whole(b""));
            feed(&mut mac, &data, &plan.pieces);
            assert_eq!(mac.finalize(), tag);
        });
    });
}

#[test]
fn macs() {
    for_each_mac!(kernels: mac_holds());
}

/// A session in one of its two directions.
struct Direction<'a, F: Family, const D: usize, const ENCRYPT: bool>(&'a mut Session<F, D>);

impl<F: Family, const D: usize, const ENCRYPT: bool> Update for Direction<'_, F, D, ENCRYPT> {
    fn in_place(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        if ENCRYPT { self.0.encrypt_in_place(buf) } else { self.0.decrypt_in_place(buf) }
    }

    fn into(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), Error> {
        if ENCRYPT {
            self.0.encrypt_into(input, output)
        } else {
            self.0.decrypt_into(input, output)
        }
    }
}

/// Converts a session to bytes on one backend and restores it on another.
fn moved<F: Family, const D: usize>(session: &Session<F, D>, to: Backend) -> Session<F, D> {
    let mut bytes = vec![0xee; Session::<F, D>::BYTES];
    session.to_bytes(&mut bytes).unwrap();
    set_backend(to).unwrap();
    let moved = Session::from_bytes(&bytes).unwrap();
    let mut again = vec![0; bytes.len()];
    moved.to_bytes(&mut again).unwrap();
    assert_eq!(again, bytes, "the bytes are the same on {to}");
    moved
}

fn session<F: Family, const D: usize, const T: usize>(plan: &Plan, to: Backend) {
    let Whole { key, nonce, ad, msg, ct, tag, .. } = Whole::<F, D, T>::new(plan);
    let (before, after, half) = plan.halves();
    let mut encryption = Session::<F, D>::new(&key, &nonce, &ad).unwrap();
    let mut decryption = encryption.clone();
    assert_eq!(Direction::<F, D, true>(&mut encryption).feed(&msg[..half], before), ct[..half]);
    assert_eq!(Direction::<F, D, false>(&mut decryption).feed(&ct[..half], before), msg[..half]);

    for mut encryption in [encryption.clone(), moved(&encryption, to), encryption] {
        assert_eq!(Direction::<F, D, true>(&mut encryption).feed(&msg[half..], after), ct[half..]);
        assert_eq!(encryption.finalize::<T>(), tag);
        assert_ne!(encryption.finalize::<T>(), tag, "the session is wiped");
    }
    let wrong =
        Tag::<T>::try_from(&crate::common::flipped(tag.as_ref(), plan.moment % (8 * T))[..])
            .unwrap();
    for mut decryption in [decryption.clone(), moved(&decryption, to), decryption] {
        assert_eq!(Direction::<F, D, false>(&mut decryption).feed(&ct[half..], after), msg[half..]);
        assert_eq!(decryption.clone().verify(&wrong), Err(Error::VerificationFailed));
        assert_eq!(decryption.verify(&tag), Ok(()));
        assert_eq!(decryption.verify(&tag), Err(Error::VerificationFailed), "the session is wiped");
    }
}

/// Each plan tests some pairs of backends; all plans together test all pairs.
fn sessions<F: Family, const D: usize>() {
    hold::<F, D>(|plan| {
        with_backends(|backends| {
            let to = backends[(plan.seed % backends.len() as u64) as usize];
            for &from in backends {
                println!("from {from} to {to}"); // shown if the test fails
                set_backend(from).unwrap();
                session::<F, D, 16>(plan, to);
                set_backend(from).unwrap();
                session::<F, D, 32>(plan, to);
            }
        });
    });
}

#[test]
fn sessions_in_pieces() {
    for_each_variant!(sample: sessions());
}

fn refuses_other_lengths<F: Family, const D: usize>() {
    let expected = Session::<F, D>::BYTES;
    let session =
        Session::<F, D>::new(&key::<F>(&vec![1; F::KEY_LEN]), &F::Nonce::default(), b"").unwrap();
    for actual in [0, 1, expected - 1, expected + 1] {
        let mut bytes = vec![0xee; actual];
        let what = |what| Error::WrongLength { what, expected, actual };
        crate::common::assert_fails(session.to_bytes(&mut bytes), what("output"));
        assert!(bytes.iter().all(|byte| *byte == 0xee));
        crate::common::assert_fails(Session::<F, D>::from_bytes(&bytes), what("session"));
    }
    let (mut session, mut output) = (session, [0xee; 4]);
    let wrong = Error::WrongLength { what: "output", expected: 5, actual: 4 };
    crate::common::assert_fails(session.encrypt_into(b"hello", &mut output), wrong);
    crate::common::assert_fails(session.decrypt_into(b"hello", &mut output), wrong);
    assert_eq!(output, [0xee; 4]);
}

#[test]
fn sessions_of_other_lengths() {
    for_each_variant!(rfc: refuses_other_lengths());
}

/// Returns the MAC of what a session has absorbed.
fn finalize_mac<F: Family, const D: usize, const T: usize>(session: &mut Session<F, D>) -> Tag<T> {
    let mut tag = [0; T];
    session.finalize_mac(&mut tag).unwrap();
    tag.into()
}

fn mac_sessions<F: Family, const D: usize, const T: usize>() {
    hold::<F, D>(|plan| {
        for_each_backend(|_| {
            let Whole { key, nonce, msg: data, .. } = Whole::<F, D, T>::new(plan);
            let tag = Mac::<F, D, T>::mac(&key, &nonce, &data).unwrap();
            let mut session = Session::<F, D>::new(&key, &nonce, b"").unwrap();
            let (mut clone, mut rest) = (session.clone(), &data[..]);
            for (i, piece) in plan.pieces.iter().enumerate() {
                session.absorb(rest.split_off(..piece.len).unwrap()).unwrap();
                if i == plan.moment % plan.pieces.len() {
                    clone = session.clone();
                    clone.absorb(rest).unwrap();
                }
            }
            let wrong = Tag::<T>::try_from(
                &crate::common::flipped(tag.as_ref(), plan.moment % (8 * T))[..],
            )
            .unwrap();
            assert_eq!(clone.clone().verify_mac(&wrong), Err(Error::VerificationFailed));
            assert_eq!(clone.verify_mac(&tag), Ok(()));
            assert_eq!(
                clone.verify_mac(&tag),
                Err(Error::VerificationFailed),
                "the session is wiped"
            );
            assert_eq!(finalize_mac::<F, D, T>(&mut session), tag);
            assert_ne!(finalize_mac::<F, D, T>(&mut session), tag, "the session is wiped");
        });
    });
}

#[test]
fn mac_sessions_in_pieces() {
    for_each_mac!(sample: mac_sessions());
}

fn unauthenticated<F: Family, const D: usize>() {
    hold::<F, D>(|plan| {
        for_each_backend(|_| {
            let Whole { cipher, nonce, msg, .. } = Whole::<F, D, 32>::new(plan);
            let (mut expected, mut buf) = (msg.clone(), msg.clone());
            cipher.encrypt_in_place(&nonce, b"", &mut expected).unwrap();
            encrypt_unauthenticated(&cipher, &nonce, &mut buf).unwrap();
            assert_eq!(buf, expected);
            decrypt_unauthenticated(&cipher, &nonce, &mut buf).unwrap();
            assert_eq!(buf, msg);
        });
    });
}

#[test]
fn without_a_tag() {
    for_each_variant!(kernels: unauthenticated());
}

/// An object keeps the backend that it was created with while the process's choice changes.
fn keeps_its_backend<F: Family, const D: usize>() {
    hold::<F, D>(|plan| {
        with_backends(|backends| {
            let mut turn = 0;
            let mut next = || {
                turn += 1;
                set_backend(backends[turn % backends.len()]).unwrap();
                assert_eq!(backend(), Ok(backends[turn % backends.len()]));
            };
            for &home in backends {
                set_backend(home).unwrap();
                let Whole { key, cipher, nonce, ad, msg, ct, tag } = Whole::<F, D, 32>::new(plan);
                let mac_tag = Mac::<F, D, 32>::mac(&key, &nonce, &msg).unwrap();
                let mut streamed = vec![0; msg.len()];
                KeyStream::<F, D>::fill(&key, &nonce, &mut streamed).unwrap();

                let mut output = vec![0; msg.len()];
                let mut encryptor = cipher.encryptor(&nonce, &ad).unwrap();
                let mut decryptor = cipher.decryptor(&nonce, &ad, &mut output).unwrap();
                let mut unverified = Session::<F, D>::new(&key, &nonce, &ad).unwrap();
                let mut mac = Mac::<F, D, 32>::new(&key, &nonce).unwrap();
                let mut stream = KeyStream::<F, D>::new(&key, &nonce).unwrap();
                mac.update(b"to be forgotten").unwrap();
                next();
                mac.reset();
                let mut done = 0;
                for piece in &plan.pieces {
                    let place = done..done + piece.len;
                    done = place.end;
                    next();
                    assert_eq!(encryptor.feed(&msg[place.clone()], &[*piece]), ct[place.clone()]);
                    let fed = Direction::<F, D, false>(&mut unverified)
                        .feed(&ct[place.clone()], &[*piece]);
                    assert_eq!(fed, msg[place.clone()]);
                    decryptor.update(&ct[place.clone()]).unwrap();
                    mac.update(&msg[place.clone()]).unwrap();
                    let mut out = vec![0; piece.len];
                    stream.next_bytes(&mut out).unwrap();
                    assert_eq!(out, streamed[place]);
                    mac = mac.clone();
                }
                next();
                assert_eq!(encryptor.finalize(), tag);
                assert_eq!(unverified.verify(&tag), Ok(()));
                assert_eq!(decryptor.finalize(&tag).unwrap(), msg);
                assert_eq!(mac.finalize(), mac_tag);
            }
        });
    });
}

#[test]
fn backends_may_change_meanwhile() {
    for_each_variant!(kernels: keeps_its_backend());
}
