//! The result does not depend on the pieces: properties, tested on random inputs.

use crate::common::erased::{Authenticating, Authenticator, Encrypting, Session, Variant};
use crate::common::random::with_new_seeds;
use crate::common::{
    Random, assert_fails, flipped, for_each_backend, for_each_mac, for_each_variant, macs, reduced,
    variants, with_backends,
};
use palladion::{Backend, Error, backend, set_backend};
use palladion_reference::Aegis as Reference;

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
    fn new(rate: usize, random: &mut Random) -> Self {
        let mut piece = || Piece {
            len: match random.below(12) {
                0..2 => 0,
                2..6 => random.within(1..41),
                6..10 => random.within(1..2 * rate + 2),
                _ => random.within(1..3) * rate,
            },
            in_place: random.below(2) == 0,
        };
        let pieces = [(); 8].map(|()| piece());
        Plan {
            seed: random.number(),
            ad_len: random.below(2 * rate + 2),
            pieces: pieces[..random.below(9)].to_vec(),
            moment: random.below(1 << 20),
        }
    }

    fn len(&self) -> usize {
        self.pieces.iter().map(|piece| piece.len).sum()
    }

    /// Returns the pieces before and after the moment, and the number of bytes before it.
    fn halves(&self) -> (&[Piece], &[Piece], usize) {
        let (before, after) = self.pieces.split_at(self.moment % (self.pieces.len() + 1));
        (before, after, before.iter().map(|piece| piece.len).sum())
    }
}

/// Tests a property with some plans for a rate.
fn hold(rate: usize, property: &dyn Fn(&Plan)) {
    with_new_seeds(if rate > 512 || reduced() { 4 } else { 16 }, |random| {
        let plan = Plan::new(rate, random);
        println!("{plan:?}"); // shown if the test fails
        property(&plan);
    });
}

/// Key, nonce, associated data and message of a plan.
struct Inputs {
    key: Vec<u8>,
    nonce: Vec<u8>,
    ad: Vec<u8>,
    msg: Vec<u8>,
}

impl Inputs {
    fn new(aegis: Reference, plan: &Plan) -> Self {
        let mut random = Random(plan.seed);
        let mut bytes = |len| random.bytes(len);
        Inputs {
            key: bytes(aegis.key_len()),
            nonce: bytes(aegis.key_len()),
            ad: bytes(plan.ad_len),
            msg: bytes(plan.len()),
        }
    }

    /// Returns the ciphertext and the tag, computed in one call.
    fn encrypted(&self, variant: &dyn Variant, tag_len: usize) -> (Vec<u8>, Vec<u8>) {
        let mut ct = self.msg.clone();
        let cipher = variant.cipher(tag_len, &self.key);
        let tag = cipher.encrypt_in_place(&self.nonce, &self.ad, &mut ct).unwrap();
        (ct, tag)
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

impl Update for dyn Encrypting {
    fn in_place(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        self.update_in_place(buf)
    }

    fn into(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), Error> {
        self.update_into(input, output)
    }
}

/// A session that encrypts.
struct Encrypts<'a>(&'a mut dyn Session);
/// A session that decrypts.
struct Decrypts<'a>(&'a mut dyn Session);

impl Update for Encrypts<'_> {
    fn in_place(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        self.0.encrypt_in_place(buf)
    }

    fn into(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), Error> {
        self.0.encrypt_into(input, output)
    }
}

impl Update for Decrypts<'_> {
    fn in_place(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        self.0.decrypt_in_place(buf)
    }

    fn into(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), Error> {
        self.0.decrypt_into(input, output)
    }
}

fn aead(variant: &dyn Variant, tag_len: usize, plan: &Plan) {
    let inputs = Inputs::new(variant.reference(), plan);
    let (ct, tag) = inputs.encrypted(variant, tag_len);
    let Inputs { key, nonce, ad, msg } = inputs;
    let cipher = variant.cipher(tag_len, &key);
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
    let mut decryptor = variant.session(&key, &nonce, &ad).unwrap();
    assert_eq!(Decrypts(&mut *decryptor).feed(&ct[..half], before), msg[..half]);
    let mut clone = decryptor.copy();
    assert_eq!(Decrypts(&mut *clone).feed(&other_ct[half..], after), other[half..]);
    assert_eq!(clone.verify(&other_tag), Ok(()));
    assert_eq!(Decrypts(&mut *decryptor).feed(&ct[half..], after), msg[half..]);
    assert_eq!(decryptor.copy().verify(&tag), Ok(()));
    let wrong = flipped(&tag, 8 * tag_len - 1);
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

fn aead_holds(variant: &dyn Variant) {
    hold(variant.reference().rate(), &|plan| {
        for_each_backend(|_| {
            aead(variant, 16, plan);
            aead(variant, 32, plan);
        });
    });
}

#[test]
fn encryption_and_decryption() {
    for_each_variant(variants::KERNELS, aead_holds);
}

fn key_stream(variant: &dyn Variant, plan: &Plan) {
    let Inputs { key, nonce, msg, .. } = Inputs::new(variant.reference(), plan);
    let mut whole = vec![0; plan.len()];
    variant.fill(&key, &nonce, &mut whole).unwrap();

    let mut stream = variant.key_stream(&key, &nonce).unwrap();
    let mut clone = stream.copy();
    let mut done = 0;
    let mut xored = msg.clone();
    for (i, piece) in plan.pieces.iter().enumerate() {
        let place = done..done + piece.len;
        done = place.end;
        if i == plan.moment % plan.pieces.len() {
            clone = stream.copy();
        }
        if piece.in_place {
            stream.xor(&mut xored[place]).unwrap();
        } else {
            let mut out = vec![0xee; piece.len];
            if i % 2 == 0 {
                stream.next_bytes(&mut out).unwrap();
            } else {
                assert_eq!(stream.read(&mut out).unwrap(), piece.len);
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
    variant.cipher(16, &key).encrypt_in_place(&nonce, b"", &mut zeros).unwrap();
    assert_eq!(zeros, whole);
}

fn key_stream_holds(variant: &dyn Variant) {
    hold(variant.reference().rate(), &|plan| for_each_backend(|_| key_stream(variant, plan)));
}

#[test]
fn key_streams() {
    for_each_variant(variants::KERNELS, key_stream_holds);
}

fn mac_holds(mac: &dyn Authenticator) {
    hold(mac.reference().rate(), &|plan| for_each_backend(|_| mac_in_pieces(mac, plan)));
}

fn mac_in_pieces(mac: &dyn Authenticator, plan: &Plan) {
    let Inputs { key, nonce, msg: data, .. } = Inputs::new(mac.reference(), plan);
    let whole = |data: &[u8]| mac.mac(&key, &nonce, data).unwrap();
    let feed = |mac: &mut dyn Authenticating, mut data: &[u8], pieces: &[Piece]| {
        for piece in pieces {
            mac.update(data.split_off(..piece.len).unwrap()).unwrap();
        }
        assert!(data.is_empty(), "the pieces are those of this input");
    };
    let (before, after, half) = plan.halves();
    let tag = whole(&data);

    let mut running = mac.begin(&key, &nonce).unwrap();
    feed(&mut *running, &data[..half], before);
    let mut clone = running.copy();
    assert_eq!(running.copy().finalize(), whole(&data[..half]));
    feed(&mut *running, &data[half..], after);
    assert_eq!(running.copy().finalize(), tag);
    assert_eq!(running.copy().verify(&tag), Ok(()));
    let wrong = flipped(&tag, plan.moment % (8 * tag.len()));
    assert_eq!(running.copy().verify(&wrong), Err(Error::VerificationFailed));

    clone.update(b"something else").unwrap();
    assert_eq!(clone.finalize(), whole(&[&data[..half], b"something else"].concat()));

    // From any point back to the beginning, where a clone starts too.
    running.reset();
    assert_eq!(running.copy().finalize(), whole(b""));
    feed(&mut *running, &data, &plan.pieces);
    assert_eq!(running.finalize(), tag);
}

#[test]
fn macs() {
    for_each_mac(macs::KERNELS, mac_holds);
}

/// Converts a session to bytes on one backend and restores it on another.
fn moved(variant: &dyn Variant, session: &dyn Session, to: Backend) -> Box<dyn Session> {
    let mut bytes = vec![0xee; variant.session_len()];
    session.to_bytes(&mut bytes).unwrap();
    set_backend(to).unwrap();
    let moved = variant.session_from_bytes(&bytes).unwrap();
    let mut again = vec![0; bytes.len()];
    moved.to_bytes(&mut again).unwrap();
    assert_eq!(again, bytes, "the bytes are the same on {to}");
    moved
}

/// Panics if a session can be used after its end, also after a move, or has not wiped its state.
fn assert_finalized(variant: &dyn Variant, session: &mut dyn Session) {
    let mut bytes = vec![0xee; variant.session_len()];
    session.to_bytes(&mut bytes).unwrap();
    let numbers = bytes.len() - 24;
    assert!(bytes[..numbers].iter().all(|byte| *byte == 0), "the session is wiped");
    let mut moved = variant.session_from_bytes(&bytes).unwrap();
    for session in [session, &mut *moved] {
        let (input, mut output) = ([1; 3], [2; 3]);
        assert_eq!(session.absorb(b""), Err(Error::Finalized));
        assert_eq!(session.encrypt_in_place(&mut output), Err(Error::Finalized));
        assert_eq!(session.encrypt_into(&input, &mut output), Err(Error::Finalized));
        assert_eq!(session.decrypt_in_place(&mut output), Err(Error::Finalized));
        assert_eq!(session.decrypt_into(&input, &mut output), Err(Error::Finalized));
        assert_eq!(output, [2; 3]);
        for tag_len in [16, 32] {
            assert_eq!(session.finalize(tag_len), Err(Error::Finalized));
            assert_eq!(session.verify(&vec![0; tag_len]), Err(Error::Finalized));
        }
    }
}

fn session(variant: &dyn Variant, tag_len: usize, plan: &Plan, to: Backend) {
    let inputs = Inputs::new(variant.reference(), plan);
    let (ct, tag) = inputs.encrypted(variant, tag_len);
    let Inputs { key, nonce, ad, msg } = inputs;
    let (before, after, half) = plan.halves();
    let mut encryption = variant.session(&key, &nonce, &ad).unwrap();
    let mut decryption = encryption.copy();
    assert_eq!(Encrypts(&mut *encryption).feed(&msg[..half], before), ct[..half]);
    assert_eq!(Decrypts(&mut *decryption).feed(&ct[..half], before), msg[..half]);

    for mut encryption in [encryption.copy(), moved(variant, &*encryption, to), encryption] {
        assert_eq!(Encrypts(&mut *encryption).feed(&msg[half..], after), ct[half..]);
        assert_eq!(encryption.finalize(tag_len).as_ref(), Ok(&tag));
        assert_finalized(variant, &mut *encryption);
    }
    let wrong = flipped(&tag, plan.moment % (8 * tag_len));
    for mut decryption in [decryption.copy(), moved(variant, &*decryption, to), decryption] {
        assert_eq!(Decrypts(&mut *decryption).feed(&ct[half..], after), msg[half..]);
        assert_eq!(decryption.copy().verify(&wrong), Err(Error::VerificationFailed));
        let mut failed = decryption.copy();
        assert_eq!(decryption.verify(&tag), Ok(()));
        assert_finalized(variant, &mut *decryption);
        assert_eq!(failed.verify(&wrong), Err(Error::VerificationFailed));
        assert_finalized(variant, &mut *failed);
    }
}

/// Each plan tests some pairs of backends; all plans together test all pairs.
fn sessions(variant: &dyn Variant) {
    hold(variant.reference().rate(), &|plan| {
        with_backends(|backends| {
            let to = backends[(plan.seed % backends.len() as u64) as usize];
            for &from in backends {
                println!("from {from} to {to}"); // shown if the test fails
                for tag_len in [16, 32] {
                    set_backend(from).unwrap();
                    session(variant, tag_len, plan, to);
                }
            }
        });
    });
}

#[test]
fn sessions_in_pieces() {
    for_each_variant(variants::SAMPLE, sessions);
}

fn refuses_other_lengths(variant: &dyn Variant) {
    let expected = variant.session_len();
    let zeros = vec![0; variant.reference().key_len()];
    let mut session = variant.session(&zeros, &zeros, b"").unwrap();
    for actual in [0, 1, expected - 1, expected + 1] {
        let mut bytes = vec![0xee; actual];
        let what = |what| Error::WrongLength { what, expected, actual };
        assert_fails(session.to_bytes(&mut bytes), what("output"));
        assert!(bytes.iter().all(|byte| *byte == 0xee));
        assert_fails(variant.session_from_bytes(&bytes).map(drop), what("session"));
    }
    let mut output = [0xee; 4];
    let wrong = Error::WrongLength { what: "output", expected: 5, actual: 4 };
    assert_fails(session.encrypt_into(b"hello", &mut output), wrong);
    assert_fails(session.decrypt_into(b"hello", &mut output), wrong);
    assert_eq!(output, [0xee; 4]);
}

#[test]
fn sessions_of_other_lengths() {
    for_each_variant(variants::RFC, refuses_other_lengths);
}

fn mac_session(mac: &dyn Authenticator, plan: &Plan) {
    let Inputs { key, nonce, msg: data, .. } = Inputs::new(mac.reference(), plan);
    let tag = mac.mac(&key, &nonce, &data).unwrap();
    let mut session = mac.session(&key, &nonce).unwrap();
    let (mut clone, mut rest) = (session.copy(), &data[..]);
    for (i, piece) in plan.pieces.iter().enumerate() {
        session.absorb(rest.split_off(..piece.len).unwrap()).unwrap();
        if i == plan.moment % plan.pieces.len() {
            clone = session.copy();
            clone.absorb(rest).unwrap();
        }
    }
    let wrong = flipped(&tag, plan.moment % (8 * tag.len()));
    assert_eq!(clone.copy().verify_mac(&wrong), Err(Error::VerificationFailed));
    assert_eq!(clone.verify_mac(&tag), Ok(()));
    assert_eq!(clone.verify_mac(&tag), Err(Error::Finalized));
    assert_eq!(session.finalize_mac(), Ok(tag));
    assert_eq!(session.finalize_mac(), Err(Error::Finalized));
    assert_eq!(session.absorb(b"more"), Err(Error::Finalized));
}

fn mac_sessions(mac: &dyn Authenticator) {
    hold(mac.reference().rate(), &|plan| for_each_backend(|_| mac_session(mac, plan)));
}

#[test]
fn mac_sessions_in_pieces() {
    for_each_mac(macs::SAMPLE, mac_sessions);
}

fn unauthenticated(variant: &dyn Variant) {
    hold(variant.reference().rate(), &|plan| {
        for_each_backend(|_| {
            let Inputs { key, nonce, msg, .. } = Inputs::new(variant.reference(), plan);
            let cipher = variant.cipher(32, &key);
            let (mut expected, mut buf) = (msg.clone(), msg.clone());
            cipher.encrypt_in_place(&nonce, b"", &mut expected).unwrap();
            cipher.encrypt_unauthenticated(&nonce, &mut buf).unwrap();
            assert_eq!(buf, expected);
            cipher.decrypt_unauthenticated(&nonce, &mut buf).unwrap();
            assert_eq!(buf, msg);
        });
    });
}

#[test]
fn without_a_tag() {
    for_each_variant(variants::KERNELS, unauthenticated);
}

/// An object keeps the backend that it was created with while the process's choice changes.
fn keeps_its_backend(variant: &dyn Variant, plan: &Plan, backends: &[Backend]) {
    let mut turn = 0;
    let mut next = || {
        turn += 1;
        set_backend(backends[turn % backends.len()]).unwrap();
        assert_eq!(backend(), Ok(backends[turn % backends.len()]));
    };
    let inputs = Inputs::new(variant.reference(), plan);
    let authenticator = macs::KERNELS
        .iter()
        .find(|mac| mac.reference() == variant.reference() && mac.tag_len() == 32)
        .unwrap();
    for &home in backends {
        set_backend(home).unwrap();
        let (ct, tag) = inputs.encrypted(variant, 32);
        let Inputs { key, nonce, ad, msg } = &inputs;
        let cipher = variant.cipher(32, key);
        let mac_tag = authenticator.mac(key, nonce, msg).unwrap();
        let mut streamed = vec![0; msg.len()];
        variant.fill(key, nonce, &mut streamed).unwrap();

        let mut output = vec![0; msg.len()];
        let mut encryptor = cipher.encryptor(nonce, ad).unwrap();
        let mut decryptor = cipher.decryptor(nonce, ad, &mut output).unwrap();
        let mut unverified = variant.session(key, nonce, ad).unwrap();
        let mut mac = authenticator.begin(key, nonce).unwrap();
        let mut stream = variant.key_stream(key, nonce).unwrap();
        mac.update(b"to be forgotten").unwrap();
        next();
        mac.reset();
        let mut done = 0;
        for piece in &plan.pieces {
            let place = done..done + piece.len;
            done = place.end;
            next();
            assert_eq!(encryptor.feed(&msg[place.clone()], &[*piece]), ct[place.clone()]);
            let fed = Decrypts(&mut *unverified).feed(&ct[place.clone()], &[*piece]);
            assert_eq!(fed, msg[place.clone()]);
            decryptor.update(&ct[place.clone()]).unwrap();
            mac.update(&msg[place.clone()]).unwrap();
            let mut out = vec![0; piece.len];
            stream.next_bytes(&mut out).unwrap();
            assert_eq!(out, streamed[place]);
            mac = mac.copy();
        }
        next();
        assert_eq!(encryptor.finalize(), tag);
        assert_eq!(unverified.verify(&tag), Ok(()));
        assert_eq!(decryptor.finalize(&tag).unwrap(), msg);
        assert_eq!(mac.finalize(), mac_tag);
    }
}

#[test]
fn backends_may_change_meanwhile() {
    for_each_variant(variants::KERNELS, |variant| {
        hold(variant.reference().rate(), &|plan| {
            with_backends(|backends| keeps_its_backend(variant, plan, backends));
        });
    });
}
