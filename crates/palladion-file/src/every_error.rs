//! Every variant of every error, produced by public calls.

#[path = "../../palladion/tests/common/child.rs"]
pub(crate) mod child;
#[path = "../../palladion/tests/common/every_error.rs"]
mod common;

use std::io::{self, Read, Write};
use std::sync::atomic::AtomicBool;

use common::{Call, Came, check, variants};
use sha2::{Digest, Sha256};

use crate::slots::{FileKey, Head, Keyring, Lock, NewSlot, Rewrap};
use crate::{
    ChunkSize, Decryptor, Encryptor, Error, HEADER_LEN, KdfLimits, KdfParams, MasterKey, Passphrase,
};

/// Fails at once.
struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("the disk is broken"))
    }
}

impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::other("the disk is broken"))
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct BrokenToken;

impl Lock for BrokenToken {
    fn lock(&self, _: &FileKey) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        Err("the token is broken".into())
    }
}

struct Long;

impl Lock for Long {
    fn lock(&self, _: &FileKey) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        Ok(vec![0; 65536])
    }
}

fn head(slots: &[NewSlot<'_>]) -> Result<Head, Error> {
    Head::create(&FileKey::generate()?, crate::Algorithm::default(), ChunkSize::MIN, slots)
}

fn key() -> MasterKey {
    MasterKey::from([0x42; 32])
}

fn passphrase() -> Passphrase {
    Passphrase::new("correct horse")
}

/// A header that is sound, but for what was changed in it.
fn header(at: usize, byte: u8) -> Vec<u8> {
    let mut header = vec![0; HEADER_LEN];
    header[..8].copy_from_slice(&crate::MAGIC);
    header[8] = crate::VERSION;
    header[9] = crate::Algorithm::default().id();
    header[11] = ChunkSize::MIN.bytes().ilog2() as u8;
    header[at] = byte;
    let sum = Sha256::digest(&header[..96]);
    header[96..].copy_from_slice(&sum);
    header
}

/// A header that asks for a passphrase that costs so much.
fn costly(memory_kib: u32) -> Vec<u8> {
    let mut costly = header(10, 1);
    for (at, value) in [(48, memory_kib), (52, 1), (56, 1)] {
        costly[at..at + 4].copy_from_slice(&u32::to_le_bytes(value));
    }
    let sum = Sha256::digest(&costly[..96]);
    costly[96..].copy_from_slice(&sum);
    costly
}

fn decrypt(file: &[u8]) -> Result<(), Error> {
    Decryptor::new(&key()).run(file, io::sink()).map(drop)
}

#[test]
#[cfg_attr(target_family = "wasm", ignore = "no processes there")]
fn every_error() {
    let names = &variants(include_str!("error.rs"), "Error");
    let came = |result: Result<(), Error>| Came::new(&result.unwrap_err());
    let stop = AtomicBool::new(true);
    let other = MasterKey::from([0x43; 32]);
    let mut calls: Vec<Call<'_>> = vec![
        (
            "Read",
            &["input", "the disk is broken"],
            came(Decryptor::new(&key()).run(Broken, io::sink()).map(drop)),
        ),
        ("NotPalladion", &["not a Palladion file"], came(decrypt(b"plain text"))),
        ("HeaderDamaged", &["header", "damaged"], {
            let mut damaged = header(0, crate::MAGIC[0]);
            damaged[20] ^= 1;
            came(decrypt(&damaged))
        }),
        ("UnsupportedVersion", &["version 9"], came(decrypt(&header(8, 9)))),
        ("UnsupportedHeader", &["algorithm", "99"], came(decrypt(&header(9, 99)))),
        ("NeedsPassphrase", &["passphrase", "not with a key file"], came(decrypt(&costly(8)))),
        ("KdfTooCostly", &["memory in KiB 64", "at most 32"], {
            let limits = KdfLimits { memory_kib: 32, ..KdfLimits::default() };
            let result =
                Decryptor::new(&passphrase()).kdf_limits(limits).run(&costly(64)[..], io::sink());
            came(result.map(drop))
        }),
        ("WrongKey", &["not the key"], came(decrypt(&header(0, crate::MAGIC[0])))),
        ("WrongPassphrase", &["not the passphrase"], {
            came(Decryptor::new(&passphrase()).run(&costly(8)[..], io::sink()).map(drop))
        }),
        ("NeedsKey", &["key file, not with a passphrase"], {
            came(
                Decryptor::new(&passphrase())
                    .run(&header(0, crate::MAGIC[0])[..], io::sink())
                    .map(drop),
            )
        }),
        (
            "Truncated",
            &["within the header", "after 50 bytes"],
            came(decrypt(&header(0, crate::MAGIC[0])[..50])),
        ),
        ("Truncated", &["empty"], came(decrypt(b""))),
    ];
    let mut not_here = Vec::new();
    if cfg!(getrandom_backend = "unsupported") {
        calls.push(("NoRandomness", &["no random bytes"], came(MasterKey::generate().map(drop))));
        calls.push((
            "NoRandomness",
            &["no random bytes"],
            came(Encryptor::new(&key()).run(io::empty(), io::sink()).map(drop)),
        ));
        for needs_it in [
            "EmptyPassphrase",
            "EmptyKeyring",
            "Bound",
            "NotBound",
            "WrongPlace",
            "EmptyPlace",
            "Write",
            "Damaged",
            "TrailingData",
            "Cancelled",
            "Cipher",
            "NoSlot",
            "Slot",
            "NoRoomForSlots",
            "CannotChangeSlots",
        ] {
            not_here.push((
                needs_it,
                "nothing is encrypted without random bytes: the same test with them has it",
            ));
        }
    } else {
        not_here.push((
            "NoRandomness",
            "this system has random bytes; .ci/test-no-randomness.sh takes them away",
        ));
        let mut file = Vec::new();
        Encryptor::new(&key()).chunk_size(ChunkSize::MIN).run(&[7; 3000][..], &mut file).unwrap();
        let mut damaged = file.clone();
        damaged[HEADER_LEN + 1100] ^= 1; // in the second chunk
        let at = |place: &str| Keyring::default().key(key()).bind(place);
        let mut bound = Vec::new();
        Encryptor::new(&at("here")).run(&b"text"[..], &mut bound).unwrap();
        let decrypt_at =
            |place, file: &[u8]| came(Decryptor::new(&at(place)).run(file, io::sink()).map(drop));
        calls.extend([
            (
                "Write",
                &["output", "the disk is broken"] as &[_],
                came(Encryptor::new(&key()).run(io::empty(), Broken).map(drop)),
            ),
            ("EmptyPassphrase", &["passphrase is empty"], {
                came(Encryptor::new(&Passphrase::new("")).run(io::empty(), io::sink()).map(drop))
            }),
            ("EmptyKeyring", &["no key and no passphrase"], {
                came(Encryptor::new(&Keyring::default()).run(io::empty(), io::sink()).map(drop))
            }),
            ("EmptyKeyring", &["no key and no passphrase"], {
                let empty = Keyring::default();
                came(Decryptor::new(&empty).run(&file[..], io::sink()).map(drop))
            }),
            ("Bound", &["bound to a place", "none was given"], came(decrypt(&bound))),
            ("NotBound", &["not bound", "one was given"], decrypt_at("here", &file)),
            ("WrongPlace", &["another place", "swapped"], decrypt_at("there", &bound)),
            ("EmptyPlace", &["empty", "at least 1 byte"], decrypt_at("", &bound)),
            (
                "WrongKey",
                &["not the key"],
                came(Decryptor::new(&other).run(&file[..], io::sink()).map(drop)),
            ),
            ("Damaged", &["chunk 1", "byte 1188"], came(decrypt(&damaged))),
            ("Truncated", &["within chunk 2"], came(decrypt(&file[..file.len() - 1]))),
            ("TrailingData", &["follows from byte"], came(decrypt(&[&file[..], &[0]].concat()))),
            (
                "Cancelled",
                &["cancelled"],
                came(Decryptor::new(&key()).cancel(&stop).run(&file[..], io::sink()).map(drop)),
            ),
            ("NoSlot", &["none of", "slots"], {
                came(head(&[NewSlot::Key(&key())]).and_then(|head| {
                    let keyring = Keyring::default().key(other.clone());
                    head.open(&keyring, &KdfLimits::default()).map(drop)
                }))
            }),
            ("Slot", &["failed", "the token is broken"], {
                came(head(&[NewSlot::Age(&BrokenToken)]).map(drop))
            }),
            (
                "NoRoomForSlots",
                &["need 65536 bytes", "there are 65535"],
                came(head(&[NewSlot::Age(&Long)]).map(drop)),
            ),
            ("UnsupportedHeader", &["the file has no key slots"], {
                let ring = Keyring::default().key(key());
                came(Rewrap::new(&file, &ring, &KdfLimits::default()).map(drop))
            }),
            ("CannotChangeSlots", &["nobody could open"], came(head(&[]).map(drop))),
            ("Cipher", &["PALLADION_BACKEND=\"nonsense\""], {
                let mut command = child::command(&[], "every_error::child");
                command.env("PALLADION_BACKEND", "nonsense");
                Came::from_child(&child::output(command))
            }),
        ]);
    }
    if cfg!(target_pointer_width = "32") {
        // More than there are addresses.
        calls.push(("KdfMemory", &["not enough memory"], came(stretch(u32::MAX))));
    } else if cfg!(target_os = "linux") && std::env::var_os("PALLADION_TEST_EMULATOR").is_none() {
        // A process that may have 4 GiB of addresses, and stretches with 64 GiB. (Without that
        // limit a system may promise more memory than it has.)
        let shell = ["sh", "-c", "ulimit -v 4194304 && exec \"$0\" \"$@\""];
        let output = child::output(child::command(&shell, "every_error::child_without_memory"));
        calls.push(("KdfMemory", &["not enough memory"], Came::from_child(&output)));
    } else {
        not_here.push(("KdfMemory", "no way is known here to take memory away"));
    }
    check(names, &calls, &not_here);
}

fn stretch(memory_kib: u32) -> Result<(), Error> {
    let limits = KdfLimits { memory_kib: u32::MAX, work_kib: u32::MAX, ..KdfLimits::default() };
    assert!(KdfParams::new(memory_kib, 1, 1).is_some());
    Decryptor::new(&passphrase())
        .kdf_limits(limits)
        .run(&costly(memory_kib)[..], io::sink())
        .map(drop)
}

#[test]
#[ignore = "run by another test"]
fn child() {
    Came::new(&Encryptor::new(&key()).run(io::empty(), io::sink()).unwrap_err()).print();
    println!("<done>");
}

#[test]
#[ignore = "run by another test"]
fn child_without_memory() {
    Came::new(&stretch(64 << 20).unwrap_err()).print();
    println!("<done>");
}

#[test]
fn every_key_file_error() {
    let names = &variants(include_str!("error.rs"), "KeyFileError");
    let came = |text: &str| Came::new(&MasterKey::from_key_file(text).unwrap_err());
    let good = key().to_key_file().to_string();
    let of_len = |len: usize| good.clone() + &"\n".repeat(len - good.len());
    let calls: &[Call<'_>] = &[
        ("NoKey", &["\"palladion-key-1:\""], came("ssh-rsa AAAA")),
        ("NotOneKey", &["one line", "more"], came(&format!("{good}{good}"))),
        ("NotHex", &["64 hexadecimal digits"], came(&good.replacen("42", "4x", 1))),
        ("NotHex", &["64 hexadecimal digits"], came("palladion-key-1:42")),
        ("WrongCheck", &["damaged", "\"# check:\""], came(&good.replacen("42", "43", 1))),
        ("NotUtf8", &["UTF-16", "save"], came("p\0a\0l\0")),
        ("TooLong", &["64 KiB"], came(&of_len(65537))),
    ];
    check(names, calls, &[]);
    assert!(MasterKey::from_key_file(&of_len(65536)).is_ok());
}
