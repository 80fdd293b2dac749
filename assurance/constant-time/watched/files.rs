//! The command line's container: crate `palladion-file`. Its header, and the frames of its chunks,
//! tell nothing secret.

use std::io::{Read, Write};
use std::num::NonZero;

use palladion::Algorithm;
use palladion::hazmat::secrecy::{public, secret};
use palladion_file::sans_io::{Opener, Sealer};
use palladion_file::{
    ChunkSize, DecryptReader, Decryptor, EncryptWriter, Encryptor, Error, HEADER_LEN, KdfLimits,
    KdfParams, Mac, MasterKey, Passphrase, Secret,
};

use super::calls::{call, cloned, shown};
use super::{flipped, hidden, hidden_array};

pub fn all() -> Result<(), Error> {
    let key = cloned(&call!(<MasterKey as From<[u8; 32]>>::from, hidden_array()));
    shown(&key);
    let secret = call!(<Secret<'_> as From<&MasterKey>>::from, &key);
    shown(&cloned(&secret));
    let passphrase = cloned(&call!(Passphrase::new, hidden(20)));
    shown(&passphrase);
    shown(&call!(<Secret<'_> as From<&Passphrase>>::from, &passphrase));
    key_files(&key);
    let other =
        MasterKey::from(flipped(call!(MasterKey::as_bytes, &key)).try_into().unwrap_or([0; 32]));
    for algorithm in Algorithm::ALL {
        chunks(&key, &other, algorithm)?;
        streams(&key, &other, algorithm)?;
        macs(&key, algorithm)?;
    }
    Ok(())
}

/// Secret are the digits, not where they are, nor whether they are digits.
fn key_files(key: &MasterKey) {
    call!(MasterKey::to_key_file, key);
    let digits = "0123456789abcdefABCDEF9876543210".repeat(2);
    let wrong = digits.replacen('F', "g", 1);
    for (before, digits, after, right) in [
        ("palladion-key-1:", &digits, "", true),
        ("# for the backups\r\n\n \tpalladion-key-1: \t", &digits, " \r\n# and no more\n", true),
        ("palladion-key-1:", &wrong, "\n", false),
        ("palladion-key-1:", &digits, "0\n", false),
    ] {
        let text = [before, digits, after].concat();
        secret(&text.as_bytes()[before.len()..before.len() + digits.len()]);
        assert_eq!(call!(MasterKey::from_key_file, &text).is_ok(), right);
    }
}

fn chunks(key: &MasterKey, other: &MasterKey, algorithm: Algorithm) -> Result<(), Error> {
    let (size, kdf, limits) = (ChunkSize::default(), KdfParams::default(), KdfLimits::default());
    let (mut sealer, header) = call!(Sealer::new, key, algorithm, size, kdf, &[7; 32])?;
    shown(&sealer);
    public(&header);
    let text = hidden(5000);
    let mut chunk = [&[0; Sealer::FRAME_LEN], &text[..], &[0; Sealer::TAG_LEN]].concat();
    call!(Sealer::seal, &mut sealer, &mut chunk, true)?;
    let (frame, rest) = chunk.split_at_mut(Opener::FRAME_LEN);
    for right in [true, false] {
        let mut rest = rest.to_vec();
        rest[17] ^= u8::from(!right);
        let mut opener = call!(Opener::new, key, &limits, &header)?;
        shown(&opener);
        call!(Opener::frame, &mut opener, frame)?;
        assert_eq!(call!(Opener::open, &mut opener, &mut rest).is_ok(), right);
    }
    assert!(matches!(call!(Opener::new, other, &limits, &header), Err(Error::WrongKey)));
    Ok(())
}

fn streams(key: &MasterKey, other: &MasterKey, algorithm: Algorithm) -> Result<(), Error> {
    let (size, two) = (ChunkSize::MIN, NonZero::<usize>::MIN.saturating_add(1));
    let text = hidden(2500);
    let mut file = Vec::new();
    let encryptor = call!(Encryptor::new, key).algorithm(algorithm).chunk_size(size).threads(two);
    shown(&encryptor);
    call!(Encryptor::run, encryptor, &text[..], &mut file)?;
    public(&file[..HEADER_LEN]);
    let decryptor = call!(Decryptor::new, key).threads(two);
    shown(&decryptor);
    call!(Decryptor::run, decryptor, &file[..], &mut Vec::new())?;
    let damaged = call!(
        Decryptor::run,
        Decryptor::new(key).threads(two),
        &flipped(&file)[..],
        &mut Vec::new()
    );
    assert!(matches!(damaged, Err(Error::Damaged { .. })));
    let wrong_key = call!(Decryptor::run, Decryptor::new(other), &file[..], &mut Vec::new());
    assert!(matches!(wrong_key, Err(Error::WrongKey)));

    drop(call!(EncryptWriter::new, key, Vec::new())?);
    let mut writer =
        call!(EncryptWriter::with, key, algorithm, size, KdfParams::default(), Vec::new())?;
    shown(&writer);
    for piece in text.chunks(700) {
        let mut piece = piece;
        while !piece.is_empty() {
            let written = call!(<EncryptWriter<_> as Write>::write, &mut writer, piece)
                .map_err(Error::Write)?;
            piece = &piece[written..];
        }
    }
    call!(<EncryptWriter<_> as Write>::flush, &mut writer).map_err(Error::Write)?;
    let file = call!(EncryptWriter::finish, writer)?;
    public(&file[..HEADER_LEN]);
    drop(call!(DecryptReader::new, key, &file[..])?);
    for (file, right) in [(file.clone(), true), (flipped(&file), false)] {
        let mut reader = call!(DecryptReader::with_limits, key, &KdfLimits::default(), &file[..])?;
        let mut piece = [0; 999];
        let result = loop {
            match call!(<DecryptReader<_> as Read>::read, &mut reader, &mut piece) {
                Ok(0) => break true,
                Ok(_) => {}
                Err(_) => break false,
            }
        };
        shown(&reader);
        assert_eq!(result, right);
    }
    assert!(matches!(call!(DecryptReader::new, other, &file[..]), Err(Error::WrongKey)));
    Ok(())
}

fn macs(key: &MasterKey, algorithm: Algorithm) -> Result<(), Error> {
    let mut mac = call!(Mac::new, key, algorithm)?;
    call!(Mac::update, &mut mac, &hidden(5000))?;
    shown(&mac);
    let tag = call!(Mac::finalize, cloned(&mac));
    let forged = flipped(&tag).try_into().unwrap_or([0; 32]);
    assert!(call!(Mac::verify, cloned(&mac), &tag));
    assert!(!call!(Mac::verify, mac, &forged));
    Ok(())
}
