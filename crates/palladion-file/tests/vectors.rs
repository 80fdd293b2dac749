//! `docs/file-format.md`, implemented a second time from its text and on the slow reference: what
//! it says is what the library reads, and its test vectors are right.

use palladion_file::sans_io::Sealer;
use palladion_file::{
    Algorithm, ChunkSize, Decryptor, EncryptWriter, Encryptor, Error, KdfParams, Mac, MasterKey,
    Passphrase,
};
use palladion_reference::{Aegis, Family};
use sha2::{Digest, Sha256};

enum From<'a> {
    MasterKey([u8; 32]),
    Passphrase(&'a str, [u32; 3]),
}

/// Section by section as in the document.
fn write_file(
    algorithm: u8,
    from: &From<'_>,
    chunk_log2: u8,
    salt: [u8; 32],
    plaintext: &[u8],
) -> Vec<u8> {
    let mut header = b"\x89PLD\r\n\x1a\n".to_vec();
    header.extend([
        1,
        algorithm,
        matches!(from, From::Passphrase(..)).into(),
        chunk_log2,
        0,
        0,
        0,
        0,
    ]);
    header.extend(salt);
    let ikm = match from {
        From::MasterKey(key) => {
            header.extend([0; 12]);
            *key
        }
        From::Passphrase(passphrase, [m, t, p]) => {
            header.extend([m, t, p].iter().flat_map(|cost| cost.to_le_bytes()));
            let params = argon2::Params::new(*m, *t, *p, Some(32)).unwrap();
            let argon2id =
                argon2::Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, params);
            let mut ikm = [0; 32];
            argon2id.hash_password_into(passphrase.as_bytes(), &salt, &mut ikm).unwrap();
            ikm
        }
    };
    header.extend([0; 4]);

    let aegis = aegis(algorithm);
    let mut okm = vec![0; aegis.key_len() + 32];
    let info = [b"palladion file v1", &header[..]].concat();
    hkdf::Hkdf::<Sha256>::new(Some(&salt), &ikm).expand(&info, &mut okm).unwrap();
    let (key, commitment) = okm.split_at(aegis.key_len());
    header.extend(commitment);
    header.extend(Sha256::digest(&header));

    let mut file = header;
    let count = plaintext.len().div_ceil(1 << chunk_log2).max(1);
    for n in 0..count {
        let chunk = &plaintext[n << chunk_log2..plaintext.len().min((n + 1) << chunk_log2)];
        let last = n + 1 == count;
        let frame = (chunk.len() as u32 | u32::from(last) << 31).to_le_bytes();
        let mut nonce = vec![0; aegis.key_len()];
        nonce[..8].copy_from_slice(&(n as u64).to_le_bytes());
        nonce[8] = last.into();
        let (ciphertext, tag) = aegis.encrypt(key, &nonce, &frame, chunk, 32);
        file.extend([&frame[..], &ciphertext, &tag].concat());
    }
    file
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
    let file = write_file(5, &From::MasterKey(KEY), 20, SALT, b"Hello, Palladion!\n");
    assert_eq!(open(&file), b"Hello, Palladion!\n");
    for (what, part) in [("header", &file[..128]), ("chunk", &file[128..])] {
        documented(what, part);
    }
}

#[test]
fn no_chunk_at_all_is_an_empty_chunk() {
    let file = write_file(1, &From::MasterKey(KEY), 20, SALT, b"");
    assert_eq!(file.len(), 164);
    assert_eq!(open(&file), b"");
    documented("empty file", &file);
}

#[test]
fn three_chunks_with_every_algorithm() {
    let plaintext: Vec<u8> = (0..2049).map(|i| (i % 251) as u8).collect();
    for algorithm in Algorithm::ALL {
        let file = write_file(algorithm.id(), &From::MasterKey(KEY), 10, SALT, &plaintext);
        assert_eq!(file.len(), 128 + 2049 + 3 * 36);
        assert_eq!(open(&file), plaintext);
        documented(algorithm.name(), &Sha256::digest(&file));
    }
}

#[test]
fn passphrase() {
    let text = "correct horse battery staple";
    let file =
        write_file(5, &From::Passphrase(text, [256, 2, 4]), 20, SALT, b"Hello, Palladion!\n");
    let mut plaintext = Vec::new();
    Decryptor::new(&Passphrase::new(text)).run(&file[..], &mut plaintext).unwrap();
    assert_eq!(plaintext, b"Hello, Palladion!\n");
    documented("passphrase", &file);
}

/// Nothing is encrypted with an empty passphrase any more, but earlier files stay readable.
#[test]
fn empty_passphrase() {
    let file = write_file(5, &From::Passphrase("", [8, 1, 1]), 20, SALT, b"readable");
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
        Sealer::new(&empty, algorithm, size, kdf, &SALT).map(drop),
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
