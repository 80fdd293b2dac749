//! The calls of the core that both programs make, one after the other: `Check::call` prepares the
//! arguments from secrets and makes a call, `Check::object` makes an object and drops it.

use std::io::Read;

use palladion::batch::{self, Decryption, Encryption};
use palladion::family::{Aegis128, Aegis256, Family};
use palladion::hazmat::{AnySession, Session, decrypt_unauthenticated, encrypt_unauthenticated};
use palladion::{Aegis, Algorithm, Encryptor, Error, KeyStream, Mac, Tag, any};
use palladion_file::sans_io::{Decoder, Encoder};
use palladion_file::{ChunkSize, KdfLimits, KdfParams, MasterKey};

use crate::Check;

pub type Outcome<E = Error> = Result<(), E>;

pub struct Secrets {
    pub key: [u8; 32],
    pub nonce: [u8; 32],
    pub ad: Vec<u8>,
    pub text: Vec<u8>,
}

impl Secrets {
    pub fn key<F: Family>(&self) -> F::Key {
        F::Key::try_from(&self.key[..F::KEY_LEN]).expect("the length of a key")
    }

    pub fn nonce<F: Family>(&self) -> F::Nonce {
        F::Nonce::try_from(&self.nonce[..F::KEY_LEN]).expect("the length of a nonce")
    }
}

/// The bytes with one bit of the last one changed.
pub fn flipped(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    *bytes.last_mut().expect("at least one byte") ^= 0x80;
    bytes
}

/// The tag with one bit changed.
pub fn forged<const T: usize>(tag: &Tag<T>) -> Tag<T> {
    Tag::try_from(&flipped(tag.as_bytes())[..]).expect("the length of a tag")
}

/// Checks that a call with the right tag succeeds, and one with a forged tag fails.
pub fn expect<R>(result: Result<R, Error>, right: bool) {
    assert_eq!(result.err(), if right { None } else { Some(Error::VerificationFailed) });
}

/// Where the message is in `wide`, and the ciphertext in `wide_sealed`.
const AT: usize = 40;

/// The arguments of a call and room for its results, which nothing compares or frees while it runs.
pub struct Message<F: Family, const D: usize, const T: usize> {
    pub key: F::Key,
    pub nonce: F::Nonce,
    pub cipher: Aegis<F, D, T>,
    pub ad: Vec<u8>,
    pub text: Vec<u8>,
    pub ciphertext: Vec<u8>,
    pub tag: Tag<T>,
    mac_tag: Tag<T>,
    /// The message, and the ciphertext followed by the tag, with other bytes around them.
    wide: Vec<u8>,
    wide_sealed: Vec<u8>,
    pub out: Vec<u8>,
    sealed_out: Vec<u8>,
    encryptor: Encryptor<F, D, T>,
    session: Session<F, D>,
    /// A session without associated data, for a MAC.
    mac_session: Session<F, D>,
    mac: Mac<F, D, T>,
    stream: KeyStream<F, D>,
    /// Whatever may stay in memory.
    public: Vec<u8>,
}

impl<F: Family, const D: usize, const T: usize> Message<F, D, T> {
    /// A message of `len` bytes. Its tags are forged unless they are to be right.
    pub fn new(secrets: &Secrets, len: usize, right: bool) -> Result<Self, Error> {
        let (key, nonce) = (secrets.key::<F>(), secrets.nonce::<F>());
        let cipher = Aegis::new(&key);
        let (ad, text) = (secrets.ad.clone(), secrets.text[..len].to_vec());
        let mut ciphertext = text.clone();
        let mut tag = cipher.encrypt_in_place(&nonce, &ad, &mut ciphertext)?;
        let mut mac_tag = Mac::<F, D, T>::mac(&key, &nonce, &text)?;
        let tags = [tag.as_ref(), mac_tag.as_ref()].concat();
        if !right {
            (tag, mac_tag) = (forged(&tag), forged(&mac_tag));
        }
        Ok(Self {
            wide: [&[0; AT][..], &text, &[0; T]].concat(),
            wide_sealed: [&[0; AT][..], &ciphertext, tag.as_ref()].concat(),
            out: vec![0; len],
            sealed_out: vec![0; len + T],
            encryptor: cipher.encryptor(&nonce, &ad)?,
            session: Session::new(&key, &nonce, &ad)?,
            mac_session: Session::new(&key, &nonce, &[])?,
            mac: Mac::new(&key, &nonce)?,
            stream: KeyStream::new(&key, &nonce)?,
            public: [&ciphertext[..], &tags, tag.as_ref(), mac_tag.as_ref()].concat(),
            key,
            nonce,
            cipher,
            ad,
            text,
            ciphertext,
            tag,
            mac_tag,
        })
    }
}

type Call<M> = (&'static str, fn(&mut M) -> Outcome);

/// Calls that succeed.
fn without_tags<F: Family, const D: usize, const T: usize>() -> Vec<Call<Message<F, D, T>>> {
    vec![
        ("encrypt_in_place", |m| {
            m.cipher.encrypt_in_place(&m.nonce, &m.ad, &mut m.text).map(|tag| m.tag = tag)
        }),
        ("encrypt_into", |m| {
            m.cipher.encrypt_into(&m.nonce, &m.ad, &m.text, &mut m.out).map(|tag| m.tag = tag)
        }),
        ("seal", |m| m.cipher.seal(&m.nonce, &m.ad, &m.text).map(|out| m.sealed_out = out)),
        ("seal_in_place", |m| m.cipher.seal_in_place(&m.nonce, &m.ad, &mut m.wide[AT..])),
        ("seal_into", |m| m.cipher.seal_into(&m.nonce, &m.ad, &m.text, &mut m.sealed_out)),
        ("Mac::mac", |m| Mac::<F, D, T>::mac(&m.key, &m.nonce, &m.text).map(|tag| m.mac_tag = tag)),
        ("Mac::update", |m| {
            let (start, rest) = m.text.split_at(m.text.len() / 3);
            m.mac.update(start)?;
            m.mac.reset();
            m.mac.update(start)?;
            m.mac.update(rest)
        }),
        ("Encryptor", |m| {
            let at = m.text.len() / 3;
            m.encryptor.update_in_place(&mut m.text[..at])?;
            m.encryptor.update_into(&m.text[at..], &mut m.out[at..])
        }),
        ("Session, encrypting", |m| {
            let at = m.text.len() / 2;
            m.session.encrypt_in_place(&mut m.text[..at])?;
            m.session.encrypt_into(&m.text[at..], &mut m.out[at..])?;
            m.session.finalize().map(|tag| m.tag = tag)
        }),
        ("Session, absorbing", |m| {
            let (start, rest) = m.text.split_at(m.text.len() / 2);
            m.mac_session.begin(&m.key, &m.nonce);
            m.mac_session.absorb(start)?;
            m.mac_session.absorb(rest)?;
            let mut tag = [0; T];
            m.mac_session.finalize_mac(&mut tag).map(|()| m.mac_tag = Tag::from(tag))
        }),
        ("KeyStream::fill", |m| KeyStream::<F, D>::fill(&m.key, &m.nonce, &mut m.out)),
        ("KeyStream", |m| {
            let at = m.out.len() / 2;
            m.stream.next_bytes(&mut m.out[..at])?;
            m.stream.read_exact(&mut m.out[at..]).expect("key stream");
            m.stream.xor(&mut m.text)
        }),
        ("encrypt_unauthenticated", |m| encrypt_unauthenticated(&m.cipher, &m.nonce, &mut m.text)),
        ("decrypt_unauthenticated", |m| {
            decrypt_unauthenticated(&m.cipher, &m.nonce, &mut m.ciphertext)
        }),
    ]
}

/// Calls that verify a tag.
fn with_tags<F: Family, const D: usize, const T: usize>() -> Vec<Call<Message<F, D, T>>> {
    vec![
        ("decrypt_in_place", |m| {
            m.cipher.decrypt_in_place(&m.nonce, &m.ad, &mut m.ciphertext, &m.tag)
        }),
        ("decrypt_into", |m| {
            m.cipher.decrypt_into(&m.nonce, &m.ad, &m.ciphertext, &m.tag, &mut m.out)
        }),
        ("verify", |m| m.cipher.verify(&m.nonce, &m.ad, &m.ciphertext, &m.tag)),
        ("open_into", |m| m.cipher.open_into(&m.nonce, &m.ad, &m.wide_sealed[AT..], &mut m.out)),
        ("Mac::verify_mac", |m| Mac::<F, D, T>::verify_mac(&m.key, &m.nonce, &m.text, &m.mac_tag)),
        ("Session, decrypting", |m| {
            let at = m.text.len() / 2;
            m.session.decrypt_in_place(&mut m.ciphertext[..at])?;
            m.session.decrypt_into(&m.ciphertext[at..], &mut m.out[at..])?;
            m.session.verify(&m.tag)
        }),
        ("Session, verifying a MAC", |m| {
            m.mac_session.absorb(&m.text)?;
            m.mac_session.verify_mac(&m.mac_tag)
        }),
    ]
}

type Batch<F, const D: usize, const T: usize> = Vec<Message<F, D, T>>;

/// Every other message in place.
fn batches_without_tags<F: Family, const D: usize, const T: usize>() -> Vec<Call<Batch<F, D, T>>> {
    vec![
        ("batch::encrypt", |messages| {
            let jobs = messages.iter_mut().enumerate().map(|(i, m)| {
                let Message { cipher, nonce, ad, text, tag, out, .. } = m;
                match i % 2 {
                    0 => Encryption::encrypt_in_place(cipher, nonce, ad, text, tag),
                    _ => Encryption::encrypt_into(cipher, nonce, ad, text, out, tag),
                }
            });
            batch::encrypt(jobs).map_err(Error::from)
        }),
        ("batch::encrypt with the tag behind", |messages| {
            let jobs = messages.iter_mut().enumerate().map(|(i, m)| {
                let Message { cipher, nonce, ad, text, wide, sealed_out, .. } = m;
                match i % 2 {
                    0 => Encryption::seal_in_place(cipher, nonce, ad, &mut wide[AT..]),
                    _ => Encryption::seal_into(cipher, nonce, ad, text, sealed_out),
                }
            });
            batch::encrypt(jobs).map_err(Error::from)
        }),
    ]
}

/// Every other message in place. One of them may have a forged tag.
fn batches_with_tags<F: Family, const D: usize, const T: usize>() -> Vec<Call<Batch<F, D, T>>> {
    vec![
        ("batch::decrypt", |messages| {
            let jobs = messages.iter_mut().enumerate().map(|(i, m)| {
                let Message { cipher, nonce, ad, ciphertext, tag, out, .. } = m;
                match i % 2 {
                    0 => Decryption::decrypt_in_place(cipher, nonce, ad, ciphertext, tag),
                    _ => Decryption::decrypt_into(cipher, nonce, ad, ciphertext, tag, out),
                }
            });
            batch::decrypt(jobs, |_, _| {}).map_err(Error::from)
        }),
        ("batch::decrypt with the tag behind", |messages| {
            let jobs = messages.iter_mut().enumerate().map(|(i, m)| {
                let Message { cipher, nonce, ad, wide_sealed, out, .. } = m;
                match i % 2 {
                    0 => Decryption::open_in_place(cipher, nonce, ad, &mut wide_sealed[AT..]),
                    _ => Decryption::open_into(cipher, nonce, ad, &wide_sealed[AT..], out),
                }
            });
            batch::decrypt(jobs, |_, _| {}).map_err(Error::from)
        }),
    ]
}

/// Makes calls with arguments from `new`. Calls that look at tags get right and forged ones.
fn make<M>(
    check: &mut Check,
    name: &str,
    len: usize,
    new: impl Fn(&Secrets, bool) -> M,
    public: impl Fn(&M) -> Vec<u8>,
    (without_tags, with_tags): (Vec<Call<M>>, Vec<Call<M>>),
) {
    for (what, call) in without_tags.iter().chain(&with_tags) {
        let what = format!("{name}, {what}");
        check.call(&what, len, |s| new(s, true), |m| expect(call(m), true), &public);
    }
    for (what, call) in with_tags {
        let what = format!("{name}, {what} of a forgery");
        check.call(&what, len, |s| new(s, false), |m| expect(call(m), false), &public);
    }
}

fn variant<F: Family, const D: usize, const T: usize>(check: &mut Check) {
    let name = format!("AEGIS-{}X{D} with tags of {T} bytes", 8 * F::KEY_LEN);
    let lengths = Check::lengths(16 * D * if F::KEY_LEN == 16 { 2 } else { 1 });
    for &len in &lengths {
        let new = |s: &Secrets, right| Message::<F, D, T>::new(s, len, right).expect("a message");
        let calls = (without_tags(), with_tags());
        make(check, &format!("{name}, {len} bytes"), len, new, |m| m.public.clone(), calls);
    }
    // Five: some have a register of their own, and some share one.
    for lens in lengths.iter().map(|len| vec![*len; 5]).chain([lengths.clone()]) {
        let new = |s: &Secrets, right| -> Batch<F, D, T> {
            let new = |(i, len): (usize, &usize)| Message::new(s, *len, right || i != 1);
            lens.iter().enumerate().map(new).collect::<Result<_, _>>().expect("messages")
        };
        let public = |messages: &Batch<F, D, T>| {
            messages.iter().flat_map(|m| m.public.iter().copied()).collect()
        };
        let max = *lens.iter().max().expect("some messages");
        let calls = (batches_without_tags(), batches_with_tags());
        make(check, &format!("{name}, {lens:?} bytes"), max, new, public, calls);
    }
    // Not parts of a `Message`: moving them would fill their padding with what it left behind.
    check.object(&format!("{name}, Aegis"), |s| Aegis::<F, D, T>::new(&s.key::<F>()));
    check.object(&format!("{name}, Encryptor"), |s| {
        let cipher = Aegis::<F, D, T>::new(&s.key::<F>());
        let mut encryptor = cipher.encryptor(&s.nonce::<F>(), &s.ad).expect("begun");
        encryptor.update_in_place(&mut s.text.clone()).expect("encrypted");
        encryptor
    });
    check.object(&format!("{name}, Mac"), |s| {
        let mut mac = Mac::<F, D, T>::new(&s.key::<F>(), &s.nonce::<F>()).expect("begun");
        mac.update(&s.text).expect("authenticated");
        mac
    });
    check.object(&format!("{name}, KeyStream"), |s| {
        let mut stream = KeyStream::<F, D>::new(&s.key::<F>(), &s.nonce::<F>()).expect("begun");
        stream.next_bytes(&mut [0; 5]).expect("read");
        stream
    });
    check.object(&format!("{name}, Session"), |s| {
        let (key, nonce) = (s.key::<F>(), s.nonce::<F>());
        let mut session = Session::<F, D>::new(&key, &nonce, &s.ad).expect("begun");
        session.decrypt_in_place(&mut s.text.clone()).expect("decrypted");
        session
    });
}

/// Objects for algorithms chosen at run time, and for files.
fn chosen_at_run_time(check: &mut Check, algorithm: Algorithm) {
    let len = algorithm.key_len();
    check.object(&format!("{algorithm}, any::Cipher"), |s| {
        any::Cipher::new(algorithm, &s.key[..len], 16).expect("a cipher")
    });
    check.object(&format!("{algorithm}, any::Mac"), |s| {
        let mut mac = any::Mac::new(algorithm, &s.key[..len], &s.nonce[..len]).expect("a MAC");
        mac.update(&s.text).expect("authenticated");
        mac
    });
    check.object(&format!("{algorithm}, AnySession"), |s| {
        let (key, nonce) = (&s.key[..len], &s.nonce[..len]);
        let mut session = AnySession::new(algorithm, key, nonce, &s.ad).expect("begun");
        session.encrypt_in_place(&mut s.text.clone()).expect("encrypted");
        session
    });
    let kdf = || KdfParams::new(8, 1, 1).expect("costs");
    let encoder = |s: &Secrets| {
        let (key, size) = (MasterKey::from(s.key), ChunkSize::MIN);
        let encoder = Encoder::with_salt(&key, algorithm, size, kdf(), &[5; 32]);
        let mut encoder = encoder.expect("a file");
        Check::publish(encoder.ready().expect("the header"));
        encoder
    };
    check.object(&format!("{algorithm}, Encoder"), |s| {
        let mut encoder = encoder(s);
        encoder.push(&s.text).expect("taken");
        encoder
    });
    check.object(&format!("{algorithm}, Decoder"), |s| {
        let (mut encoder, key) = (encoder(s), MasterKey::from(s.key));
        let mut decoder = Decoder::new(&key, KdfLimits::default()).expect("memory");
        decoder.push(encoder.ready().expect("the header"));
        decoder.text().expect("a right header");
        decoder
    });
}

pub fn all(check: &mut Check) {
    macro_rules! variants {
        ($($family:ident $($degree:literal)*;)*) => {
            $($(
                variant::<$family, $degree, 16>(check);
                variant::<$family, $degree, 32>(check);
            )*)*
        };
    }
    variants! { Aegis128 1 2 4 6; Aegis256 1 2 3 4; }
    check.object("a key of 16 bytes", |s| s.key::<Aegis128>());
    check.object("a key of 32 bytes", |s| s.key::<Aegis256>());
    check.object("a master key", |s| MasterKey::from(s.key));
    for algorithm in Algorithm::ALL {
        chosen_at_run_time(check, algorithm);
    }
}
