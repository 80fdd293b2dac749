//! The library reads what the reference writes, which is written from `docs/file-format.md`, and
//! the test vectors there are right.

use palladion_file::sans_io::Encoder;
use palladion_file::{
    Algorithm, ChunkSize, Decryptor, EncryptWriter, Encryptor, Error, KdfParams, Keyring, Mac,
    MasterKey, Passphrase,
};
use palladion_reference::{Aegis, Family, file};
use sha2::{Digest, Sha256};

/// A file with a master key.
fn write_file(algorithm: u8, chunk_log2: u8, plaintext: &[u8]) -> Vec<u8> {
    file::write(&file::fields(algorithm, 0, chunk_log2, &SALT, [0; 3]), &KEY, plaintext)
}

/// A file with a passphrase.
fn write_with_passphrase(passphrase: &str, costs: [u32; 3], plaintext: &[u8]) -> Vec<u8> {
    let [memory, passes, lanes] = costs;
    let params = argon2::Params::new(memory, passes, lanes, Some(32)).unwrap();
    let argon2id = argon2::Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, params);
    let mut ikm = [0; 32];
    argon2id.hash_password_into(passphrase.as_bytes(), &SALT, &mut ikm).unwrap();
    file::write(&file::fields(5, 1, 20, &SALT, costs), &ikm, plaintext)
}

fn aegis(algorithm: u8) -> Aegis {
    let family = if algorithm <= 3 { Family::Aegis128 } else { Family::Aegis256 };
    Aegis::new(family, [1, 2, 4][usize::from(algorithm - 1) % 3])
}

/// 0, 1, 2, …
const KEY: [u8; 32] = counting(0);
/// 0x80, 0x81, …
const SALT: [u8; 32] = counting(0x80);

const fn counting(first: u8) -> [u8; 32] {
    let mut bytes = [0; 32];
    let mut i = 0;
    while i < 32 {
        bytes[i] = first + i as u8;
        i += 1;
    }
    bytes
}

fn open(file: &[u8]) -> Vec<u8> {
    let mut plaintext = Vec::new();
    Decryptor::new(&MasterKey::from(KEY)).run(file, &mut plaintext).unwrap();
    plaintext
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The document, with its hexadecimal digits pulled together; nothing if the crate is tested on its
/// own.
fn document() -> Option<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/file-format.md");
    std::fs::read_to_string(path).ok().map(|text| text.split_whitespace().collect())
}

fn documented(what: &str, bytes: &[u8]) {
    if let Some(document) = document() {
        assert!(document.contains(&hex(bytes)), "docs/file-format.md lacks {what}: {}", hex(bytes));
    }
}

#[test]
fn one_chunk() {
    let file = write_file(5, 20, b"Hello, Palladion!\n");
    assert_eq!(open(&file), b"Hello, Palladion!\n");
    for (what, part) in [("header", &file[..128]), ("chunk", &file[128..])] {
        documented(what, part);
    }
}

#[test]
fn no_chunk_at_all_is_an_empty_chunk() {
    let file = write_file(1, 20, b"");
    assert_eq!(file.len(), 164);
    assert_eq!(open(&file), b"");
    documented("empty file", &file);
}

#[test]
fn three_chunks_with_every_algorithm() {
    let plaintext: Vec<u8> = (0..2049).map(|i| (i % 251) as u8).collect();
    for algorithm in Algorithm::ALL {
        let file = write_file(algorithm.id(), 10, &plaintext);
        assert_eq!(file.len(), 128 + 2049 + 3 * 36);
        assert_eq!(open(&file), plaintext);
        documented(algorithm.name(), &Sha256::digest(&file));
    }
}

#[test]
fn passphrase() {
    let text = "correct horse battery staple";
    let file = write_with_passphrase(text, [256, 2, 4], b"Hello, Palladion!\n");
    let mut plaintext = Vec::new();
    Decryptor::new(&Passphrase::new(text)).run(&file[..], &mut plaintext).unwrap();
    assert_eq!(plaintext, b"Hello, Palladion!\n");
    documented("passphrase", &file);
}

#[test]
fn bound_to_a_place() {
    let place = "reports/2026/january";
    let fields = file::bound(&file::fields(5, 0, 20, &SALT, [0; 3]), &KEY, place.as_bytes());
    let cipher = file::Cipher::at(&fields, &KEY, place.as_bytes()).0;
    let file = [file::header(&fields, &KEY), cipher.seal(0, true, b"Hello, Palladion!\n")].concat();
    let ring = Keyring::default().key(KEY.into()).bind(place);
    let mut plaintext = Vec::new();
    Decryptor::new(&ring).run(&file[..], &mut plaintext).unwrap();
    assert_eq!(plaintext, b"Hello, Palladion!\n");
    documented("bound file", &file);
}

/// A place has any length.
#[test]
fn bound_to_a_long_place() {
    let place: Vec<u8> = (0..300_000).map(|i| (i % 251) as u8).collect();
    let fields = file::bound(&file::fields(5, 0, 20, &SALT, [0; 3]), &KEY, &place);
    let cipher = file::Cipher::at(&fields, &KEY, &place).0;
    let file = [file::header(&fields, &KEY), cipher.seal(0, true, b"Hello, Palladion!\n")].concat();
    let mut plaintext = Vec::new();
    let open = |place: &[u8], plaintext: &mut Vec<u8>| {
        let ring = Keyring::default().key(KEY.into()).bind(place);
        Decryptor::new(&ring).run(&file[..], plaintext).map(drop)
    };
    open(&place, &mut plaintext).unwrap();
    assert_eq!(plaintext, b"Hello, Palladion!\n");
    for other in [&place[1..], &place[..299_999], &place[..65_536]] {
        assert!(matches!(open(other, &mut plaintext), Err(Error::WrongPlace)));
    }
    documented("file bound to a long place", &file);
}

/// Nothing is encrypted with an empty passphrase any more, but earlier files stay readable.
#[test]
fn empty_passphrase() {
    let file = write_with_passphrase("", [8, 1, 1], b"readable");
    let empty = Passphrase::new("");
    let mut plaintext = Vec::new();
    Decryptor::new(&empty).run(&file[..], &mut plaintext).unwrap();
    assert_eq!(plaintext, b"readable");

    let (algorithm, size) = (Algorithm::default(), ChunkSize::MIN);
    let kdf = KdfParams::default();
    let refused: [Result<(), Error>; 4] = [
        Encryptor::new(&empty).run(&b"text"[..], &mut plaintext).map(drop),
        EncryptWriter::new(&empty, &mut plaintext).map(drop),
        EncryptWriter::with(&empty, algorithm, size, kdf, &mut plaintext).map(drop),
        Encoder::with_salt(&empty, algorithm, size, kdf, &SALT).map(drop),
    ];
    for result in refused {
        assert!(matches!(result, Err(Error::EmptyPassphrase)), "{result:?}");
    }
    assert_eq!(plaintext, b"readable", "something was written");
}

#[test]
fn macs() {
    for algorithm in Algorithm::ALL {
        let aegis = aegis(algorithm.id());
        let mut key = vec![0; aegis.key_len()];
        let info = [b"palladion mac v1", &[algorithm.id()][..]].concat();
        hkdf::Hkdf::<Sha256>::new(None, &KEY).expand(&info, &mut key).unwrap();
        let tag = aegis.mac(&key, &vec![0; aegis.key_len()], b"abc", 32);

        let mut mac = Mac::new(&MasterKey::from(KEY), algorithm).unwrap();
        mac.update(b"abc").unwrap();
        assert_eq!(mac.clone().finalize()[..], tag);
        documented(algorithm.name(), &tag);

        let mut tag = tag.try_into().unwrap();
        assert!(mac.clone().verify(&tag));
        for byte in 0..32 {
            tag[byte] ^= 1 << (byte % 8);
            assert!(!mac.clone().verify(&tag), "{algorithm}: byte {byte} differs");
            tag[byte] ^= 1 << (byte % 8);
        }
    }
}
