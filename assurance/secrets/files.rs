//! Encrypted files: crate `palladion-file`. The header and the frames of the chunks are public.

use std::hint::black_box;
use std::io::{Read, Write};
use std::num::NonZero;

use palladion::Algorithm;
use palladion::hazmat::secrecy::{public, secret};
use palladion_file::sans_io::{Decoder, Encoder};
use palladion_file::slots::{Head, NewSlot};
use palladion_file::{
    ChunkSize, DecryptReader, Decryptor, EncryptWriter, Encryptor, Error, HEADER_LEN, KdfLimits,
    KdfParams, Keyring, Mac, MasterKey, Passphrase, Secret,
};

use crate::calls::flipped;
use crate::{hidden, hidden_array, shown};

pub fn all() -> Result<(), Error> {
    let key = MasterKey::from(hidden_array()).clone();
    shown(&key);
    let secret = Secret::from(&key);
    shown(&secret.clone());
    let passphrase = Passphrase::new(hidden(20)).clone();
    shown(&passphrase);
    shown(&Secret::from(&passphrase));
    key_files(&key);
    let other = MasterKey::from(flipped(key.as_bytes()).try_into().unwrap_or([0; 32]));
    for algorithm in Algorithm::ALL {
        chunks(&key, &other, algorithm)?;
        streams(&key, &other, algorithm)?;
        slots(&key, &other, algorithm)?;
        macs(&key, algorithm)?;
    }
    Ok(())
}

/// The digits are secret. Where they are, and whether they are digits, is public.
fn key_files(key: &MasterKey) {
    black_box(key.to_key_file());
    black_box(key.fingerprint());
    let digits = "0123456789abcdefABCDEF9876543210".repeat(2);
    let wrong = digits.replacen('F', "g", 1);
    for (before, digits, after, right) in [
        ("palladion-key-1:", &digits, "", true),
        ("# for the backups\r\n\n \tpalladion-key-1: \t", &digits, " \r\n# and no more\n", true),
        ("palladion-key-1:", &digits, "\n# check: 23eae3bc\n", true),
        ("palladion-key-1:", &digits, "\n# check: 00000000\n", false),
        ("palladion-key-1:", &wrong, "\n", false),
        ("palladion-key-1:", &digits, "0\n", false),
    ] {
        let text = [before, digits, after].concat();
        secret(&text.as_bytes()[before.len()..before.len() + digits.len()]);
        assert_eq!(MasterKey::from_key_file(&text).is_ok(), right);
    }
}

fn chunks(key: &MasterKey, other: &MasterKey, algorithm: Algorithm) -> Result<(), Error> {
    let (size, kdf, limits) = (ChunkSize::default(), KdfParams::default(), KdfLimits::default());
    let mut encoder = Encoder::with_salt(key, algorithm, size, kdf, &[7; 32])?;
    shown(&encoder);
    encoder.push(&hidden(5000))?;
    let mut file = encoder.ready()?.to_vec();
    public(&file);
    encoder.consume(file.len());
    encoder.end()?;
    let mut chunk = vec![0; encoder.ready_len()];
    encoder.take_into(&mut chunk)?;
    file.append(&mut chunk);
    let open = |key: &MasterKey, file: &[u8]| {
        let mut decoder = Decoder::new(key, limits)?;
        let mut rest = file;
        while decoder.text()?.is_empty() {
            rest = &rest[decoder.push(rest)..];
        }
        shown(&decoder);
        Ok(())
    };
    open(key, &file)?;
    assert!(matches!(open(key, &flipped(&file)), Err(Error::Damaged { .. })));
    assert!(matches!(open(other, &file), Err(Error::WrongKey)));
    bound(key, algorithm)
}

/// The place is public.
fn bound(key: &MasterKey, algorithm: Algorithm) -> Result<(), Error> {
    let [here, there] = ["here", "there"].map(|place| Secret::from(key).bind(place));
    shown(&here);
    let (text, mut file) = (hidden(100), Vec::new());
    Encryptor::new(&here).algorithm(algorithm).run(&text[..], &mut file)?;
    public(&file[..HEADER_LEN]);
    let open = |keyring| Decryptor::new(keyring).run(&file[..], Vec::new());
    open(&here)?;
    assert!(matches!(open(&there), Err(Error::WrongPlace)));
    Ok(())
}

fn streams(key: &MasterKey, other: &MasterKey, algorithm: Algorithm) -> Result<(), Error> {
    let (size, two) = (ChunkSize::MIN, NonZero::<usize>::MIN.saturating_add(1));
    let text = hidden(2500);
    let mut file = Vec::new();
    let encryptor = Encryptor::new(key).algorithm(algorithm).chunk_size(size).threads(two);
    shown(&encryptor);
    encryptor.run(&text[..], &mut file)?;
    public(&file[..HEADER_LEN]);
    let decryptor = Decryptor::new(key).threads(two);
    shown(&decryptor);
    decryptor.run(&file[..], Vec::new())?;
    let damaged = Decryptor::new(key).threads(two).run(&flipped(&file)[..], Vec::new());
    assert!(matches!(damaged, Err(Error::Damaged { .. })));
    let wrong_key = Decryptor::new(other).run(&file[..], Vec::new());
    assert!(matches!(wrong_key, Err(Error::WrongKey)));

    drop(EncryptWriter::new(key, Vec::new())?);
    let mut writer = EncryptWriter::with(key, algorithm, size, KdfParams::default(), Vec::new())?;
    shown(&writer);
    for piece in text.chunks(700) {
        let mut piece = piece;
        while !piece.is_empty() {
            let written = writer.write(piece).map_err(Error::Write)?;
            piece = &piece[written..];
        }
    }
    writer.flush().map_err(Error::Write)?;
    let file = writer.finish()?;
    public(&file[..HEADER_LEN]);
    drop(DecryptReader::new(key, &file[..])?);
    for (file, right) in [(file.clone(), true), (flipped(&file), false)] {
        let mut reader = DecryptReader::with_limits(key, &KdfLimits::default(), &file[..])?;
        let mut piece = [0; 999];
        let result = loop {
            match reader.read(&mut piece) {
                Ok(0) => break true,
                Ok(_) => {}
                Err(_) => break false,
            }
        };
        shown(&reader);
        assert_eq!(result, right);
    }
    assert!(matches!(DecryptReader::new(other, &file[..]), Err(Error::WrongKey)));
    Ok(())
}

fn slots(key: &MasterKey, other: &MasterKey, algorithm: Algorithm) -> Result<(), Error> {
    let third = MasterKey::from(hidden(33)[..32].try_into().unwrap_or([0; 32]));
    let (text, mut file) = (hidden(100), Vec::new());
    let slots = [NewSlot::Key(&third), NewSlot::Key(key)];
    shown(&slots);
    Encryptor::with_slots(&slots).algorithm(algorithm).run(&text[..], &mut file)?;
    let spare = file.len() - Head::MIN_LEN;
    public(&file[..Head::MIN_LEN]);
    public(&file[spare..]);
    let open = |file: &[u8], key: &MasterKey| {
        let keyring = Keyring::default().key(key.clone()).open_slots();
        shown(&keyring);
        Decryptor::new(&keyring).run(file, Vec::new())
    };
    open(&file, key)?;
    assert!(matches!(open(&file, other), Err(Error::NoSlot)));
    Ok(())
}

fn macs(key: &MasterKey, algorithm: Algorithm) -> Result<(), Error> {
    let mut mac = Mac::new(key, algorithm)?;
    mac.update(&hidden(5000))?;
    shown(&mac);
    let tag = mac.clone().finalize();
    let forged = flipped(&tag).try_into().unwrap_or([0; 32]);
    assert!(mac.clone().verify(&tag));
    assert!(!mac.verify(&forged));
    Ok(())
}
