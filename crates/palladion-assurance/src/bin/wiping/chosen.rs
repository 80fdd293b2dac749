//! Variants that are chosen at run time, and those of 2023.

use std::num::NonZeroU32;

use palladion::hazmat::AnySession;
use palladion::historic::{self, TagForm, dec_128l, dec_256, enc_128l, enc_256};
use palladion::{Algorithm, Backend, Error, Key128, Key256, Nonce128, Nonce256, Tag, any};

use crate::variant::flipped;
use crate::watch::{Call, Input, Inputs, Life, Place, Report};

fn fails<R>(result: Result<R, Error>) {
    assert!(matches!(result, Err(Error::VerificationFailed)));
}

struct Chosen {
    algorithm: Algorithm,
    key: Vec<u8>,
    nonce: Vec<u8>,
    cipher: any::Cipher,
    buffer: Vec<u8>,
    output: Vec<u8>,
    tag: Vec<u8>,
    mac: Vec<u8>,
    message: Vec<u8>,
    ciphertext: Vec<u8>,
}

impl Chosen {
    fn new(algorithm: Algorithm, tag_len: usize, len: usize) -> Self {
        let key = vec![0; algorithm.key_len()];
        Self {
            algorithm,
            nonce: vec![9; key.len()],
            cipher: any::Cipher::new(algorithm, &key, tag_len).expect("a cipher"),
            key,
            buffer: vec![0; len],
            output: vec![0; len],
            tag: vec![0; tag_len],
            mac: vec![0; tag_len],
            message: vec![0; len],
            ciphertext: vec![0; len],
        }
    }
    fn message(&mut self) {
        self.buffer.copy_from_slice(&self.message);
    }
    fn ciphertext(&mut self) {
        self.buffer.copy_from_slice(&self.ciphertext);
    }
    fn forgery(&mut self) {
        self.tag[3] ^= 1;
        self.ciphertext();
    }
}

const AD: &[u8] = &[7; 21];

impl Place for Chosen {
    fn fill(&mut self, input: &Input) {
        self.key.copy_from_slice(&input.key);
        self.cipher = any::Cipher::new(self.algorithm, &input.key, self.tag.len()).expect("a cipher");
        self.message.copy_from_slice(&input.message);
        self.ciphertext.copy_from_slice(&input.message);
        let encrypted = self.cipher.encrypt_in_place(&self.nonce, AD, &mut self.ciphertext, &mut self.tag);
        encrypted.expect("encrypted");
        let mut mac = any::Mac::new(self.algorithm, &self.key, &self.nonce).expect("a cipher");
        mac.update(&self.message).expect("data");
        mac.finalize(&mut self.mac).expect("a tag");
        self.output.fill(0);
        self.message();
    }
    fn public(&self, to: &mut Vec<u8>) {
        to.extend([&self.ciphertext[..], &self.tag, &self.mac].concat());
    }
}

const CHOSEN: &[Call<Chosen>] = &[
    Call {
        what: "encryption",
        before: Chosen::message,
        call: |p| {
            p.cipher.encrypt_in_place(&p.nonce, AD, &mut p.buffer, &mut p.tag).expect("encrypted");
        },
    },
    Call {
        what: "encryption into",
        before: Chosen::message,
        call: |p| {
            p.cipher.encrypt_into(&p.nonce, AD, &p.buffer, &mut p.output, &mut p.tag).expect("encrypted");
        },
    },
    Call {
        what: "decryption",
        before: Chosen::ciphertext,
        call: |p| {
            p.cipher.decrypt_in_place(&p.nonce, AD, &mut p.buffer, &p.tag).expect("authentic");
        },
    },
    Call {
        what: "decryption into",
        before: Chosen::ciphertext,
        call: |p| {
            p.cipher.decrypt_into(&p.nonce, AD, &p.buffer, &p.tag, &mut p.output).expect("authentic");
        },
    },
    Call {
        what: "a forgery",
        before: Chosen::forgery,
        call: |p| fails(p.cipher.decrypt_in_place(&p.nonce, AD, &mut p.buffer, &p.tag)),
    },
    Call {
        what: "verification",
        before: Chosen::ciphertext,
        call: |p| p.cipher.verify(&p.nonce, AD, &p.buffer, &p.tag).expect("authentic"),
    },
    Call {
        what: "a forgery verified",
        before: Chosen::forgery,
        call: |p| fails(p.cipher.verify(&p.nonce, AD, &p.buffer, &p.tag)),
    },
];

pub fn chosen(report: &mut Report, backend: Backend) {
    for algorithm in Algorithm::ALL {
        for tag_len in [16, 32] {
            let name = format!("{backend}, any: {algorithm} with tags of {tag_len} bytes");
            let mut inputs = Inputs::new(algorithm.key_len(), 777);
            let (inputs, place) = (&mut inputs, &mut Chosen::new(algorithm, tag_len, 777));
            for call in CHOSEN {
                report.call(&name, inputs, place, call);
            }
            let make: fn(&mut Chosen) -> _ = |p| any::Cipher::new(p.algorithm, &p.key, p.tag.len());
            let life = Life { what: "Cipher", make, made: Result::unwrap, work: |_, _| (), ends: &[] };
            report.life(&name, inputs, place, &life);
            let life = Life {
                what: "Mac",
                make: |p: &mut Chosen| any::Mac::new(p.algorithm, &p.key, &p.nonce),
                made: Result::unwrap,
                work: |mac, p| {
                    let (first, second) = p.message.split_at(100);
                    mac.update(first).expect("data");
                    mac.update(second).expect("data");
                    drop(mac.clone());
                },
                ends: &[
                    ("finalize", |mac, p| mac.finalize(&mut p.mac).expect("a tag")),
                    ("verify", |mac, p| mac.verify(&p.mac).expect("authentic")),
                    ("a forgery", |mac, p| {
                        p.mac[3] ^= 1;
                        fails(mac.verify(&p.mac));
                    }),
                ],
            };
            report.life(&name, inputs, place, &life);
            let make: fn(&mut Chosen) -> _ = |p| AnySession::new(p.algorithm, &p.key, &p.nonce, AD);
            let life = Life {
                what: "AnySession",
                make,
                made: Result::unwrap,
                work: |session, p| {
                    session.encrypt_in_place(&mut p.buffer[..100]).expect("encrypted");
                    session.encrypt_into(&p.message[100..], &mut p.output[100..]).expect("encrypted");
                },
                ends: &[("finalize", |mut session, p| session.finalize(&mut p.tag).expect("a tag"))],
            };
            report.life(&name, inputs, place, &life);
            let life = Life {
                what: "AnySession that decrypts",
                make,
                made: Result::unwrap,
                work: |session, p| {
                    p.ciphertext();
                    session.decrypt_in_place(&mut p.buffer[..100]).expect("decrypted");
                    session.decrypt_into(&p.ciphertext[100..], &mut p.output[100..]).expect("decrypted");
                },
                ends: &[
                    ("verify", |mut session, p| session.verify(&p.tag).expect("authentic")),
                    ("a forgery", |mut session, p| {
                        p.tag[3] ^= 1;
                        fails(session.verify(&p.tag));
                    }),
                ],
            };
            report.life(&name, inputs, place, &life);
        }
    }
}

const CONTEXT: &[u8; 16] = &[1; 16];

struct Historic {
    key128: Key128,
    key256: Key256,
    nonce128: Nonce128,
    nonce256: Nonce256,
    aegis128x: [historic::Aegis128X; 2],
    aegis256x: historic::Aegis256X,
    message: Vec<u8>,
    buffer: Vec<u8>,
    tag: Tag<16>,
    /// All that becomes public.
    public: Vec<u8>,
}

impl Place for Historic {
    fn fill(&mut self, input: &Input) {
        self.key128 = Key128::try_from(&input.key[..16]).expect("16 bytes");
        self.key256 = Key256::try_from(&input.key[..]).expect("32 bytes");
        let degree = NonZeroU32::MIN.saturating_add(2);
        self.aegis128x = [TagForm::FiveWords, TagForm::SevenWords]
            .map(|form| historic::Aegis128X::new(&self.key128, degree, form));
        self.aegis256x = historic::Aegis256X::new(&self.key256, degree);
        self.message.copy_from_slice(&input.message);
        self.buffer.copy_from_slice(&input.message);
        self.public.clear();
    }
    fn public(&self, to: &mut Vec<u8>) {
        to.extend(&self.public);
    }
}

pub fn historic(report: &mut Report, backend: Backend) {
    // Encryption; or, after it, decryption, and of a forgery.
    macro_rules! calls {
        ($($what:literal: |$p:ident| $encrypt:expr, $decrypt:expr;)*) => {
            [$(
                Call { what: $what, before: |p: &mut Historic| {
                    encrypted(p, |$p| $encrypt);
                    p.buffer.copy_from_slice(&p.message);
                }, call: |$p| $p.tag = $encrypt.expect("encrypted") },
                Call { what: concat!($what, ", decryption"), before: |p| encrypted(p, |$p| $encrypt),
                    call: |$p| $decrypt.expect("authentic") },
                Call { what: concat!($what, ", a forgery"), before: |p| {
                    encrypted(p, |$p| $encrypt);
                    p.tag = flipped(&p.tag);
                    // The right one is nobody's business.
                    let tag = p.public.len() - 16;
                    p.public[tag..].copy_from_slice(p.tag.as_ref());
                }, call: |$p| fails($decrypt) },
            )*]
        };
    }
    fn encrypted(p: &mut Historic, encrypt: impl Fn(&mut Historic) -> Result<Tag<16>, Error>) {
        p.tag = encrypt(p).expect("encrypted");
        p.public.extend([&p.buffer[..], p.tag.as_ref()].concat());
    }
    let calls = calls! {
        "Enc_128L": |p| enc_128l::<16>(CONTEXT, &p.key128, &p.nonce128, AD, &mut p.buffer),
            dec_128l::<16>(CONTEXT, &p.key128, &p.nonce128, AD, &mut p.buffer, &p.tag);
        "Enc_256": |p| enc_256::<16>(CONTEXT, &p.key256, &p.nonce256, AD, &mut p.buffer),
            dec_256::<16>(CONTEXT, &p.key256, &p.nonce256, AD, &mut p.buffer, &p.tag);
        "AEGIS-128X of five words": |p| p.aegis128x[0].encrypt_in_place(&p.nonce128, AD, &mut p.buffer),
            p.aegis128x[0].decrypt_in_place(&p.nonce128, AD, &mut p.buffer, &p.tag);
        "AEGIS-128X of seven words": |p| p.aegis128x[1].encrypt_in_place(&p.nonce128, AD, &mut p.buffer),
            p.aegis128x[1].decrypt_in_place(&p.nonce128, AD, &mut p.buffer, &p.tag);
        "AEGIS-256X": |p| p.aegis256x.encrypt_in_place(&p.nonce256, AD, &mut p.buffer),
            p.aegis256x.decrypt_in_place(&p.nonce256, AD, &mut p.buffer, &p.tag);
    };
    let (key128, key256, degree) = (Key128::from([0; 16]), Key256::from([0; 32]), NonZeroU32::MIN);
    let aegis128x = || historic::Aegis128X::new(&key128, degree, TagForm::FiveWords);
    let mut place = Historic {
        aegis128x: [aegis128x(), aegis128x()],
        aegis256x: historic::Aegis256X::new(&key256, degree),
        key128: key128.clone(),
        key256,
        nonce128: Nonce128::from([9; 16]),
        nonce256: Nonce256::from([9; 32]),
        message: vec![0; 205],
        buffer: vec![0; 205],
        tag: Tag::from([0; 16]),
        public: Vec::new(),
    };
    let (name, mut inputs) = (format!("{backend}, historic"), Inputs::new(32, 205));
    for call in &calls {
        report.call(&name, &mut inputs, &mut place, call);
    }
    let make: fn(&mut Historic) -> _ =
        |p| historic::Aegis128X::new(&p.key128, NonZeroU32::MIN, TagForm::FiveWords);
    let life = Life { what: "Aegis128X", make, made: |x| x, work: |_, _| (), ends: &[] };
    report.life(&name, &mut inputs, &mut place, &life);
    let make: fn(&mut Historic) -> _ = |p| historic::Aegis256X::new(&p.key256, NonZeroU32::MIN);
    let life = Life { what: "Aegis256X", make, made: |x| x, work: |_, _| (), ends: &[] };
    report.life(&name, &mut inputs, &mut place, &life);
}
