//! What a variant can do with types of its own.

use std::mem::MaybeUninit;

use palladion::family::Family;
use palladion::hazmat::{
    AeadSession, MacSession, UnverifiedDecryptor, decrypt_unauthenticated, encrypt_unauthenticated,
};
use palladion::{Aegis, Backend, Decryptor, Encryptor, Error, KeyStream, Mac, Tag};

use crate::watch::{Call, Input, Inputs, Life, Place, Report, borrowed};

/// Where in a wide buffer the message is, and where it goes.
const FROM: usize = 40;
const TO: usize = 24;

struct Variant<F: Family, const D: usize, const T: usize> {
    key: F::Key,
    key_bytes: Vec<u8>,
    nonce: F::Nonce,
    ad: Vec<u8>,
    cipher: Aegis<F, D, T>,
    /// The message, or the ciphertext: alone, with room for a tag or with the tag, and with other bytes around it.
    buffer: Vec<u8>,
    sealed: Vec<u8>,
    wide: Vec<u8>,
    tag: Tag<T>,
    mac: Tag<T>,
    /// For the output.
    output: Vec<u8>,
    sealed_output: Vec<u8>,
    /// What a function returns.
    returned: Vec<u8>,
    /// What the message is and becomes.
    message: Vec<u8>,
    ciphertext: Vec<u8>,
    session: Box<MaybeUninit<AeadSession<F, D>>>,
    mac_session: Box<MaybeUninit<MacSession<F, D>>>,
    bytes: Vec<u8>,
}

pub fn flipped<const T: usize>(tag: &Tag<T>) -> Tag<T> {
    let mut bytes = *tag.as_bytes();
    bytes[3] ^= 1;
    Tag::from(bytes)
}

impl<F: Family, const D: usize, const T: usize> Variant<F, D, T> {
    fn new(len: usize) -> Self {
        let key = F::Key::try_from(&vec![0; F::KEY_LEN]).expect("as long as it must be");
        Self {
            key_bytes: vec![0; F::KEY_LEN],
            nonce: F::Nonce::try_from(&[9; 32][..F::KEY_LEN]).expect("as long as it must be"),
            ad: vec![0; 21],
            cipher: Aegis::new(&key),
            key,
            buffer: vec![0; len],
            sealed: vec![0; len + T],
            wide: vec![0; FROM + len + 32],
            tag: Tag::from([0; T]),
            mac: Tag::from([0; T]),
            output: vec![0; len],
            sealed_output: vec![0; len + T],
            returned: Vec::new(),
            message: vec![0; len],
            ciphertext: vec![0; len],
            session: Box::new(MaybeUninit::uninit()),
            mac_session: Box::new(MaybeUninit::uninit()),
            bytes: vec![0; AeadSession::<F, D>::BYTES],
        }
    }

    fn put(&mut self, which: fn(&Self) -> &Vec<u8>) {
        let bytes = which(self).clone();
        let len = bytes.len();
        self.buffer.copy_from_slice(&bytes);
        self.sealed[..len].copy_from_slice(&bytes);
        self.wide[FROM..FROM + len].copy_from_slice(&bytes);
        self.sealed[len..].copy_from_slice(self.tag.as_ref());
    }

    fn message(&mut self) {
        self.put(|p| &p.message);
    }
    fn ciphertext(&mut self) {
        self.put(|p| &p.ciphertext);
    }
    fn forgery(&mut self) {
        self.tag = flipped(&self.tag);
        self.ciphertext();
    }
    fn nothing(&mut self) {}
}

impl<F: Family, const D: usize, const T: usize> Place for Variant<F, D, T> {
    fn fill(&mut self, input: &Input) {
        self.key_bytes.copy_from_slice(&input.key);
        self.key = F::Key::try_from(&input.key).expect("as long as it must be");
        self.cipher = Aegis::new(&self.key);
        self.ad.copy_from_slice(&input.ad);
        self.message.copy_from_slice(&input.message);
        self.ciphertext.copy_from_slice(&input.message);
        self.tag =
            self.cipher.encrypt_in_place(&self.nonce, &self.ad, &mut self.ciphertext).expect("encrypted");
        self.mac = Mac::<F, D, T>::mac(&self.key, &self.nonce, &input.message).expect("authenticated");
        for buffer in [&mut self.output, &mut self.sealed_output, &mut self.wide] {
            buffer.fill(0);
        }
        let mut session = AeadSession::<F, D>::new(&self.key, &self.nonce, &self.ad).expect("a cipher");
        session.encrypt_in_place(&mut input.message.clone()).expect("encrypted");
        session.to_bytes(&mut self.bytes).expect("as many as there are");
        self.returned = Vec::new();
        self.message();
    }

    fn public(&self, to: &mut Vec<u8>) {
        to.extend([&self.ciphertext[..], self.tag.as_ref(), self.mac.as_ref()].concat());
    }
}

fn fails<R>(result: Result<R, Error>) {
    assert!(matches!(result, Err(Error::VerificationFailed)));
}

/// What is done with a whole message.
fn calls<F: Family, const D: usize, const T: usize>() -> Vec<Call<Variant<F, D, T>>> {
    type P<F, const D: usize, const T: usize> = Variant<F, D, T>;
    let call = |what, before: fn(&mut P<F, D, T>), call: fn(&mut P<F, D, T>)| Call { what, before, call };
    vec![
        call("encryption", P::message, |p| {
            p.tag = p.cipher.encrypt_in_place(&p.nonce, &p.ad, &mut p.buffer).expect("encrypted");
        }),
        call("encryption into", P::message, |p| {
            p.tag = p.cipher.encrypt_into(&p.nonce, &p.ad, &p.buffer, &mut p.output).expect("encrypted");
        }),
        call("encryption within", P::message, |p| {
            let from = FROM..FROM + p.message.len();
            p.tag = p.cipher.encrypt_within(&p.nonce, &p.ad, &mut p.wide, from, TO).expect("encrypted");
        }),
        call("sealing in place", P::message, |p| {
            p.cipher.seal_in_place(&p.nonce, &p.ad, &mut p.sealed).expect("encrypted");
        }),
        call("sealing into", P::message, |p| {
            p.cipher.seal_into(&p.nonce, &p.ad, &p.buffer, &mut p.sealed_output).expect("encrypted");
        }),
        call("sealing", P::message, |p| {
            p.returned = p.cipher.seal(&p.nonce, &p.ad, &p.buffer).expect("encrypted");
        }),
        call("decryption", P::ciphertext, |p| {
            p.cipher.decrypt_in_place(&p.nonce, &p.ad, &mut p.buffer, &p.tag).expect("authentic");
        }),
        call("decryption into", P::ciphertext, |p| {
            p.cipher.decrypt_into(&p.nonce, &p.ad, &p.buffer, &p.tag, &mut p.output).expect("authentic");
        }),
        call("decryption within", P::ciphertext, |p| {
            let from = FROM..FROM + p.message.len();
            p.cipher.decrypt_within(&p.nonce, &p.ad, &mut p.wide, from, TO, &p.tag).expect("authentic");
        }),
        call("opening in place", P::ciphertext, |p| {
            p.cipher.open_in_place(&p.nonce, &p.ad, &mut p.sealed).expect("authentic");
        }),
        call("opening into", P::ciphertext, |p| {
            p.cipher.open_into(&p.nonce, &p.ad, &p.sealed, &mut p.output).expect("authentic");
        }),
        call("opening", P::ciphertext, |p| {
            p.returned = p.cipher.open(&p.nonce, &p.ad, &p.sealed).expect("authentic");
        }),
        call("verification", P::ciphertext, |p| {
            p.cipher.verify(&p.nonce, &p.ad, &p.buffer, &p.tag).expect("authentic");
        }),
        call("a forgery", P::forgery, |p| {
            fails(p.cipher.decrypt_in_place(&p.nonce, &p.ad, &mut p.buffer, &p.tag));
            assert!(p.buffer.iter().all(|byte| *byte == 0));
        }),
        call("a forgery into", P::forgery, |p| {
            fails(p.cipher.decrypt_into(&p.nonce, &p.ad, &p.buffer, &p.tag, &mut p.output));
        }),
        call("a forgery within", P::forgery, |p| {
            let from = FROM..FROM + p.message.len();
            fails(p.cipher.decrypt_within(&p.nonce, &p.ad, &mut p.wide, from, TO, &p.tag));
        }),
        call("a forgery opened in place", P::forgery, |p| {
            fails(p.cipher.open_in_place(&p.nonce, &p.ad, &mut p.sealed));
        }),
        call("a forgery opened into", P::forgery, |p| {
            fails(p.cipher.open_into(&p.nonce, &p.ad, &p.sealed, &mut p.output));
        }),
        call("a forgery opened", P::forgery, |p| fails(p.cipher.open(&p.nonce, &p.ad, &p.sealed))),
        call("a forgery verified", P::forgery, |p| {
            fails(p.cipher.verify(&p.nonce, &p.ad, &p.buffer, &p.tag));
        }),
        call("encryption without a tag", P::message, |p| {
            encrypt_unauthenticated(&p.cipher, &p.nonce, &mut p.buffer).expect("encrypted");
        }),
        call("decryption without a tag", P::ciphertext, |p| {
            decrypt_unauthenticated(&p.cipher, &p.nonce, &mut p.buffer).expect("decrypted");
        }),
        call("pieces", P::message, |p| {
            let session = AeadSession::begin_in(&mut p.session, &p.key, &p.nonce, &p.ad).expect("a cipher");
            let (first, second) = p.buffer.split_at_mut(p.message.len() / 3);
            session.encrypt_in_place(first).expect("encrypted");
            session.encrypt_in_place(second).expect("encrypted");
            p.tag = session.finalize();
        }),
        call("pieces into", P::message, |p| {
            let session = AeadSession::begin_in(&mut p.session, &p.key, &p.nonce, &p.ad).expect("a cipher");
            let at = p.message.len() / 3;
            session.encrypt_into(&p.buffer[..at], &mut p.output[..at]).expect("encrypted");
            session.encrypt_into(&p.buffer[at..], &mut p.output[at..]).expect("encrypted");
            p.tag = session.finalize();
        }),
        call("a forgery in pieces", P::forgery, |p| {
            let session = AeadSession::begin_in(&mut p.session, &p.key, &p.nonce, &p.ad).expect("a cipher");
            let (first, second) = p.buffer.split_at_mut(p.message.len() / 3);
            session.decrypt_in_place(first).expect("decrypted");
            session.decrypt_in_place(second).expect("decrypted");
            fails(session.verify(&p.tag));
        }),
        call("MAC", P::nothing, |p| {
            p.mac = Mac::<F, D, T>::mac(&p.key, &p.nonce, &p.message).expect("authenticated");
        }),
        call("MAC verified", P::nothing, |p| {
            Mac::<F, D, T>::verify_mac(&p.key, &p.nonce, &p.message, &p.mac).expect("authentic");
        }),
        call(
            "a forged MAC",
            |p| p.mac = flipped(&p.mac),
            |p| {
                fails(Mac::<F, D, T>::verify_mac(&p.key, &p.nonce, &p.message, &p.mac));
            },
        ),
        call("MAC in pieces", P::nothing, |p| {
            let session = MacSession::begin_in(&mut p.mac_session, &p.key, &p.nonce).expect("a cipher");
            let (first, second) = p.message.split_at(p.message.len() / 3);
            session.update(first).expect("data");
            session.restart(&p.key, &p.nonce);
            session.update(first).expect("data");
            session.update(second).expect("data");
            p.mac = session.finalize();
        }),
        call(
            "a forged MAC in pieces",
            |p| p.mac = flipped(&p.mac),
            |p| {
                let session = MacSession::begin_in(&mut p.mac_session, &p.key, &p.nonce).expect("a cipher");
                let (first, second) = p.message.split_at(p.message.len() / 3);
                session.update(first).expect("data");
                session.update(second).expect("data");
                fails(session.verify(&p.mac));
            },
        ),
        call("key stream", P::message, |p| {
            KeyStream::<F, D>::fill(&p.key, &p.nonce, &mut p.buffer).expect("a stream");
        }),
    ]
}

fn lives<F: Family, const D: usize, const T: usize>(
    report: &mut Report,
    name: &str,
    inputs: &mut Inputs,
    place: &mut Variant<F, D, T>,
) {
    type P<F, const D: usize, const T: usize> = Variant<F, D, T>;
    macro_rules! life {
        ($what:literal, $make:expr, $made:expr, $work:expr $(, $end:literal $call:expr)*) => {
            report.life(name, inputs, place, &Life::<P<F, D, T>, _, _> {
                what: $what,
                make: $make,
                made: $made,
                work: $work,
                ends: &[$(($end, $call)),*],
            });
        };
    }
    life!("Key", |p| F::Key::try_from(&p.key_bytes), Result::unwrap, |_: &mut F::Key, _| ());
    life!("copied Key", |p| p.key.clone(), |key| key, |_: &mut F::Key, _| ());
    life!("Aegis", |p| Aegis::<F, D, T>::new(&p.key), |cipher| cipher, |_, _| ());
    life!("copied Aegis", |p| p.cipher.clone(), |cipher| cipher, |_, _| ());
    life!(
        "Encryptor",
        |p| p.cipher.encryptor(&p.nonce, &p.ad),
        Result::unwrap,
        |encryptor: &mut Encryptor<F, D, T>, p| {
            let at = p.message.len() / 3;
            encryptor.update_in_place(&mut p.buffer[..at]).expect("encrypted");
            encryptor.update_into(&p.message[at..], &mut p.output[at..]).expect("encrypted");
        },
        "finalize" | encryptor,
        p | p.tag = encryptor.finalize()
    );
    life!(
        "Decryptor",
        |p| p.cipher.decryptor(&p.nonce, &p.ad, borrowed(p.message.len())),
        Result::unwrap,
        |decryptor: &mut Decryptor<'static, F, D, T>, p| {
            let (first, second) = p.ciphertext.split_at(p.ciphertext.len() / 3);
            decryptor.update(first).expect("decrypted");
            decryptor.update(second).expect("decrypted");
        },
        "finalize" | decryptor,
        p | assert!(decryptor.finalize(&p.tag).is_ok()),
        "a forgery" | decryptor,
        p | {
            p.tag = flipped(&p.tag);
            fails(decryptor.finalize(&p.tag));
        }
    );
    life!(
        "UnverifiedDecryptor",
        |p| UnverifiedDecryptor::new(&p.cipher, &p.nonce, &p.ad),
        Result::unwrap,
        |decryptor: &mut UnverifiedDecryptor<F, D, T>, p| {
            p.ciphertext();
            let at = p.message.len() / 3;
            decryptor.update_in_place(&mut p.buffer[..at]).expect("decrypted");
            decryptor.update_into(&p.ciphertext[at..], &mut p.output[at..]).expect("decrypted");
        },
        "verify" | decryptor,
        p | decryptor.verify(&p.tag).expect("authentic"),
        "a forgery" | decryptor,
        p | {
            p.tag = flipped(&p.tag);
            fails(decryptor.verify(&p.tag));
        }
    );
    life!(
        "AeadSession",
        |p| AeadSession::<F, D>::new(&p.key, &p.nonce, &p.ad),
        Result::unwrap,
        |session: &mut AeadSession<F, D>, p| {
            session.encrypt_in_place(&mut p.buffer).expect("encrypted");
            session.to_bytes(&mut p.bytes).expect("as many as there are");
        }
    );
    life!(
        "AeadSession from bytes",
        |p| AeadSession::<F, D>::from_bytes(&p.bytes),
        Result::unwrap,
        |session: &mut AeadSession<F, D>, p| session.encrypt_in_place(&mut p.buffer).expect("encrypted")
    );
    life!(
        "MacSession",
        |p| MacSession::<F, D>::new(&p.key, &p.nonce),
        Result::unwrap,
        |session: &mut MacSession<F, D>, p| session.update(&p.message).expect("data")
    );
    life!(
        "Mac",
        |p| Mac::<F, D, T>::new(&p.key, &p.nonce),
        Result::unwrap,
        |mac: &mut Mac<F, D, T>, p| {
            let (first, second) = p.message.split_at(p.message.len() / 3);
            mac.update(first).expect("data");
            mac.reset();
            mac.update(first).expect("data");
            mac.update(second).expect("data");
        },
        "finalize" | mac,
        p | p.mac = mac.finalize(),
        "verify" | mac,
        p | mac.verify(&p.mac).expect("authentic"),
        "a forgery" | mac,
        p | {
            p.mac = flipped(&p.mac);
            fails(mac.verify(&p.mac));
        }
    );
    life!(
        "KeyStream",
        |p| KeyStream::<F, D>::new(&p.key, &p.nonce),
        Result::unwrap,
        |stream: &mut KeyStream<F, D>, p| {
            let at = p.message.len() / 3;
            stream.next_bytes(&mut p.output[..at]).expect("bytes");
            stream.xor(&mut p.buffer).expect("bytes");
        }
    );
}

pub fn variant<F: Family, const D: usize, const T: usize>(report: &mut Report, backend: Backend) {
    let k = F::KEY_LEN;
    let rate = 16 * D * if k == 16 { 2 } else { 1 };
    for len in [5, rate + 3, 4 * rate, 9 * rate + 17] {
        let name = format!("{backend}, {} of degree {D}, {len} bytes", F::NAME);
        let (mut inputs, mut place) = (Inputs::new(k, len), Variant::<F, D, T>::new(len));
        for call in calls::<F, D, T>() {
            report.call(&name, &mut inputs, &mut place, &call);
        }
        if len == rate + 3 {
            lives(report, &name, &mut inputs, &mut place);
        }
    }
}
