//! Shows that nothing secret is left in memory: `assurance/wiping.sh`.
//!
//! `wiping [BACKEND...]`
//!
//! Every operation runs twice, with the same arguments at the same addresses, except that key and
//! message have other contents. Whatever memory differs afterwards depends on a secret. Three
//! places are compared (`watch.rs`): the stack below the caller, the memory of an object that was
//! dropped, and heap memory that was freed. For files only the last two. Ciphertexts and tags may
//! stay. Copies that Rust leaves where it moves a value are not looked at; SECURITY.md says so.
//!
//! Three copies of a key are planted first, one for each place, and have to be found.

#![deny(unsafe_code)] // except in `watch`

#[allow(unsafe_code)]
mod watch;

use std::hint::black_box;
use std::process::ExitCode;

use palladion::batch::{self, Decryption, Encryption};
use palladion::family::{Aegis128, Aegis256, Family};
use palladion::hazmat::{Session, encrypt_unauthenticated};
use palladion::{
    Aegis, Algorithm, Backend, Encryptor, Error, KeyStream, Mac, Tag, any, set_backend,
};
use palladion_file::sans_io::{Opener, Sealer};
use palladion_file::{ChunkSize, KdfLimits, KdfParams, MasterKey};
use palladion_raf::{Memory, Options};

use watch::{Report, Secrets};

const AD: &[u8] = &[7; 21];

fn key<F: Family>(secrets: &Secrets) -> F::Key {
    F::Key::try_from(&secrets.key[..F::KEY_LEN]).expect("as long as it must be")
}

/// The arguments and results of a call in place.
struct Message<F: Family, const D: usize> {
    key: F::Key,
    cipher: Aegis<F, D, 32>,
    nonce: F::Nonce,
    buf: Vec<u8>,
    ciphertext: Vec<u8>,
    tag: Tag<32>,
    mac: Tag<32>,
}

impl<F: Family, const D: usize> Message<F, D> {
    fn new(secrets: &Secrets) -> Self {
        let (key, nonce) = (key::<F>(secrets), F::Nonce::default());
        let cipher = Aegis::new(&key);
        let mut ciphertext = secrets.message.clone();
        let tag = cipher.encrypt_in_place(&nonce, AD, &mut ciphertext).expect("encrypted");
        let mac = Mac::<F, D, 32>::mac(&key, &nonce, &secrets.message).expect("authenticated");
        Self { key, cipher, nonce, buf: secrets.message.clone(), ciphertext, tag, mac }
    }
    fn encrypted(secrets: &Secrets) -> Self {
        let mut message = Self::new(secrets);
        message.buf.copy_from_slice(&message.ciphertext);
        message
    }
    fn public(&self) -> Vec<u8> {
        [&self.ciphertext, self.tag.as_ref(), self.mac.as_ref()].concat()
    }
}

fn variant<F: Family, const D: usize>(report: &mut Report, backend: Backend) {
    let name = format!("{backend}, AEGIS-{}X{D}", 8 * F::KEY_LEN);
    // Empty, part of a step, several steps, and more than two chunks of 8 KiB.
    for len in [0, 37, 300, 20_000] {
        let what = |call: &str| format!("{name}, {len} bytes, {call}");
        report.call(
            &what("encrypt_in_place"),
            len,
            Message::<F, D>::new,
            |m| _ = m.cipher.encrypt_in_place(&m.nonce, AD, &mut m.buf),
            Message::public,
        );
        report.call(
            &what("decrypt_in_place"),
            len,
            Message::<F, D>::encrypted,
            |m| assert_eq!(m.cipher.decrypt_in_place(&m.nonce, AD, &mut m.buf, &m.tag), Ok(())),
            Message::public,
        );
        report.call(
            &what("decrypt_in_place of a forgery"),
            len,
            Message::<F, D>::encrypted,
            |m| {
                let result =
                    m.cipher.decrypt_in_place(&m.nonce, AD, &mut m.buf, &Tag::from([1; 32]));
                assert_eq!(result, Err(Error::VerificationFailed));
                assert!(m.buf.iter().all(|byte| *byte == 0), "the output is zeroed");
            },
            Message::public,
        );
        report.call(
            &what("mac"),
            len,
            Message::<F, D>::new,
            |m| _ = Mac::<F, D, 32>::mac(&m.key, &m.nonce, &m.buf),
            Message::public,
        );
        report.call(
            &what("KeyStream::fill"),
            len,
            Message::<F, D>::new,
            |m| KeyStream::<F, D>::fill(&m.key, &m.nonce, &mut m.buf).expect("filled"),
            Message::public,
        );
        report.call(
            &what("encrypt_unauthenticated"),
            len,
            Message::<F, D>::new,
            |m| encrypt_unauthenticated(&m.cipher, &m.nonce, &mut m.buf).expect("encrypted"),
            |m| m.buf.clone(),
        );
        report.call(
            &what("update_in_place"),
            len,
            |secrets| {
                let m = Message::<F, D>::new(secrets);
                (m.cipher.encryptor(&m.nonce, AD).expect("begun"), m)
            },
            |(encryptor, m)| encryptor.update_in_place(&mut m.buf).expect("encrypted"),
            |(_, m)| m.public(),
        );
        report.call(
            &what("Mac::update"),
            len,
            |secrets| {
                let m = Message::<F, D>::new(secrets);
                (Mac::<F, D, 32>::new(&m.key, &m.nonce).expect("begun"), m)
            },
            |(mac, m)| mac.update(&m.buf).expect("authenticated"),
            |(_, m)| m.public(),
        );
        report.call(
            &what("a batch of five, both ways"),
            len,
            |secrets| [(); 5].map(|()| Message::<F, D>::new(secrets)),
            |messages| {
                let mut tags = [Tag::from([0; 32]); 5];
                let jobs = messages.iter_mut().zip(&mut tags).map(|(m, tag)| {
                    Encryption::encrypt_in_place(&m.cipher, &m.nonce, AD, &mut m.buf, tag)
                });
                batch::encrypt(jobs).expect("encrypted");
                let jobs = messages.iter_mut().map(|m| {
                    Decryption::decrypt_in_place(&m.cipher, &m.nonce, AD, &mut m.buf, &m.tag)
                });
                batch::decrypt(jobs, |_, _| {}).expect("decrypted");
            },
            |messages| messages[0].public(),
        );
    }
    let nonce = F::Nonce::default();
    report.object(&format!("{name}, key"), key::<F>);
    report.object(&format!("{name}, Aegis"), |s| Aegis::<F, D, 16>::new(&key::<F>(s)));
    report.object(&format!("{name}, Encryptor"), |s| -> Encryptor<F, D, 16> {
        let mut encryptor = Aegis::new(&key::<F>(s)).encryptor(&nonce, AD).expect("begun");
        encryptor.update_in_place(&mut s.message.clone()).expect("encrypted");
        encryptor
    });
    report.object(&format!("{name}, Mac"), |s| {
        let mut mac = Mac::<F, D, 32>::new(&key::<F>(s), &nonce).expect("begun");
        mac.update(&s.message).expect("authenticated");
        mac
    });
    report.object(&format!("{name}, KeyStream"), |s| {
        let mut stream = KeyStream::<F, D>::new(&key::<F>(s), &nonce).expect("begun");
        stream.next_bytes(&mut [0; 5]).expect("read");
        stream
    });
    report.object(&format!("{name}, Session"), |s| {
        let mut session = Session::<F, D>::new(&key::<F>(s), &nonce, AD).expect("begun");
        session.decrypt_in_place(&mut s.message.clone()).expect("decrypted");
        session
    });
}

/// Ciphers chosen at run time, and files.
fn others(report: &mut Report, backend: Backend) {
    for algorithm in Algorithm::ALL {
        let name = format!("{backend}, {algorithm}");
        let len = algorithm.key_len();
        report.object(&format!("{name}, any::Cipher"), |s| {
            any::Cipher::new(algorithm, &s.key[..len], 16).expect("a cipher")
        });
        report.object(&format!("{name}, any::Mac"), |s| {
            let mut mac = any::Mac::new(algorithm, &s.key[..len], &[0; 32][..len]).expect("a MAC");
            mac.update(&s.message).expect("authenticated");
            mac
        });
        let kdf = || KdfParams::new(8, 1, 1).expect("costs");
        report.object(&format!("{name}, Sealer"), |s| {
            Sealer::new(&MasterKey::from(s.key), algorithm, ChunkSize::MIN, kdf(), &[5; 32])
                .expect("a file")
                .0
        });
        report.object(&format!("{name}, Opener"), |s| {
            let key = MasterKey::from(s.key);
            let (_, header) =
                Sealer::new(&key, algorithm, ChunkSize::MIN, kdf(), &[5; 32]).expect("a file");
            Opener::new(&key, &KdfLimits::default(), &header).expect("a file")
        });
        report.heap(
            &format!("{name}, a file with random access"),
            |s| (s.key, s.message.clone(), Memory(Vec::with_capacity(1 << 18))),
            |(key, message, storage)| {
                let options = Options::default().algorithm(algorithm).file_id([3; 24]);
                let mut file = options.create(&mut *storage, &key[..len]).expect("a file");
                file.write_at(message, 0).expect("written");
                file.read_at(message, 0).expect("read");
            },
            |(.., storage)| storage.0.clone(),
        );
    }
    report.object("a master key", |s| MasterKey::from(s.key));
}

/// Leaves copies of a key in all three places.
fn plant(report: &mut Report) {
    let copy = |secrets: &Secrets| {
        let mut copy = [0; 32];
        black_box(&mut copy).copy_from_slice(&secrets.key);
        black_box(&copy);
        copy
    };
    report.call(
        "planted local",
        0,
        |s| s.key,
        |key| _ = black_box([*black_box(&*key); 2]),
        |_| Vec::new(),
    );
    report.object("planted array", copy);
    report.object("planted Vec", |s| copy(s).to_vec());
}

fn main() -> ExitCode {
    let mut planted = Report::default();
    plant(&mut planted);
    for (copy, place) in [
        ("planted local", "on the stack"),
        ("planted array", "in its own memory"),
        ("planted Vec", "in freed memory"),
    ] {
        if !planted.found.iter().any(|found| found.starts_with(copy) && found.contains(place)) {
            println!("{copy}: no copy of a key was found {place}");
            return ExitCode::FAILURE;
        }
    }

    let mut backends: Vec<Backend> =
        std::env::args().skip(1).map(|name| name.parse().expect("the name of a backend")).collect();
    if backends.is_empty() {
        backends = Backend::ALL.iter().copied().filter(|b| b.is_available()).collect();
    }
    let mut report = Report::default();
    for &backend in &backends {
        set_backend(backend).expect("a backend of this CPU");
        variant::<Aegis128, 1>(&mut report, backend);
        variant::<Aegis128, 2>(&mut report, backend);
        variant::<Aegis128, 4>(&mut report, backend);
        variant::<Aegis256, 1>(&mut report, backend);
        variant::<Aegis256, 2>(&mut report, backend);
        variant::<Aegis256, 3>(&mut report, backend);
        variant::<Aegis256, 4>(&mut report, backend);
        others(&mut report, backend);
    }
    report.found.iter().for_each(|found| println!("{found}"));
    println!(
        "{} checks on {} backends found {} secrets left behind",
        report.checks,
        backends.len(),
        report.found.len()
    );
    ExitCode::from(u8::from(!report.found.is_empty()))
}
