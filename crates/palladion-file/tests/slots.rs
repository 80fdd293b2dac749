//! Several secrets for a file, and files with key slots: the answers of `vectors/file-answers.txt`.

use std::error;
use std::io::{self, Read as _, Write as _};
use std::ops::Range;
use std::sync::Mutex;

use palladion_file::sans_io::{Decoder, Encoder};
use palladion_file::slots::{FileKey, Head, NewSlot, Unlock};
use palladion_file::{
    Algorithm, ChunkSize, DecryptReader, Decryptor, EncryptWriter, Encryptor, Error, HEADER_LEN,
    Info, KdfLimits, KdfParams, Keyring, MasterKey, Passphrase, ReadAt, Secret, SecretKind,
    SeekReader, Spare, needs_passphrase,
};

use crate::answers::middle;
use crate::common::*;
use crate::engine::{decode, encode};
use crate::file_answers::{Answers, name, plaintext};
use crate::random::{Random, with_new_seeds};

/// The plaintext, and the spare or the error that ended it.
type Read = (Vec<u8>, Result<Option<Spare>, Error>);

/// What each reader from the start says.
fn from_start<'a>(
    random: &mut Random,
    secret: impl Into<Secret<'a>>,
    file: &[u8],
) -> Vec<(&'static str, Read)> {
    let secret = secret.into();
    let (mut by_decryptor, mut by_reader) = (Vec::new(), Vec::new());
    let decrypted = Decryptor::new(secret).threads(threads(3)).run(file, &mut by_decryptor);
    let read = DecryptReader::new(secret, file).and_then(|mut reader| {
        let read = reader.read_to_end(&mut by_reader);
        read.map(|_| reader.spare()).map_err(|error| error.downcast().unwrap())
    });
    vec![
        ("Decryptor", (by_decryptor, decrypted.map(|summary| summary.spare))),
        ("DecryptReader", (by_reader, read)),
        ("Decoder", decode(random, secret, file)),
        #[cfg(feature = "tokio")]
        ("tokio::DecryptReader", asynchronously(secret, file)),
    ]
}

#[cfg(feature = "tokio")]
fn asynchronously(secret: Secret<'_>, file: &[u8]) -> Read {
    let mut out = Vec::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let result = on(&runtime, async {
        let mut reader = palladion_file::tokio::DecryptReader::new(secret, file).await?;
        let read = tokio::io::AsyncReadExt::read_to_end(&mut reader, &mut out).await;
        read.map(|_| reader.spare()).map_err(|error| error.downcast().unwrap())
    });
    (out, result)
}

#[test]
fn every_reader_gives_the_answer_of_the_reference() {
    answers(Answers::read_slots());
    answers(Answers::read_bound().map(|[_, answers]| answers));
}

fn answers(answers: Option<Answers>) {
    let Some(answers) = answers else { return };
    let ring = || Keyring::default().open_slots();
    let keys = ring().key(answers.key.into());
    let passphrases = ring().passphrase(Passphrase::new(answers.passphrase.clone()));
    for file in &answers.files {
        let keyring = if file.with_passphrase { &passphrases } else { &keys };
        let keyring = &file.place.iter().fold(keyring.clone(), |ring, place| ring.bind(&place[..]));
        let answers = middle(
            SeekReader::new(keyring, &file.bytes),
            |reader| reader.chunk_size().bytes(),
            SeekReader::len,
            |reader, range| {
                let mut text = vec![1; range.len()];
                reader.read_at(&mut text, range.start as u64).map(|_| text)
            },
        );
        assert_eq!(answers, (file.middle.clone(), file.chunks.clone()), "{}", file.name);
        for (reader, (out, result)) in from_start(&mut Random(1), keyring, &file.bytes) {
            let answer = match &result {
                Ok(Some(Spare::Same)) => "ok",
                Ok(Some(Spare::Differs)) => "spare-differs",
                Ok(Some(Spare::Damaged)) => "spare-damaged",
                Err(error) => name(error),
                other => panic!("{other:?}"),
            };
            assert_eq!(out, plaintext(out.len()));
            let answer = format!("{answer}:{}", out.len());
            assert_eq!(answer, file.start, "{reader}: {}", file.name);
        }
    }
}

/// The asynchronous reader opens what the blocking one opens, and gives the same errors.
#[cfg(feature = "tokio")]
#[test]
fn both_readers_from_the_middle_agree() {
    let (Some(slots), Some([_, bound])) = (Answers::read_slots(), Answers::read_bound()) else {
        return;
    };
    let ring = || Keyring::default().open_slots();
    let keys = ring().key(slots.key.into());
    let passphrases = ring().passphrase(Passphrase::new(slots.passphrase.clone()));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for file in slots.files.iter().chain(&bound.files) {
        let rings = [&keys, &passphrases, &ring().key([9; 32].into())].map(|ring| {
            let ring = ring.clone();
            file.place.iter().fold(ring, |ring, place| ring.bind(&place[..]))
        });
        for keyring in &rings {
            let blocking = SeekReader::new(keyring, &file.bytes).map(|reader| reader.len());
            let input = io::Cursor::new(&file.bytes);
            let reader = palladion_file::tokio::SeekReader::new(keyring, input);
            let reader = on(&runtime, reader).map(|reader| reader.len());
            assert_eq!(format!("{reader:?}"), format!("{blocking:?}"), "{}", file.name);
        }
    }
}

/// Files without slots: the first secret encrypts, any decrypts.
#[test]
fn a_keyring_for_rotation() {
    let key = |number| MasterKey::from([number; 32]);
    let words = Passphrase::new("words");
    let cheap = KdfParams::new(8, 1, 1).unwrap();
    let sealed = |secret: Secret<'_>| {
        let mut file = Vec::new();
        Encryptor::new(secret).kdf(cheap).run(&b"text"[..], &mut file).unwrap();
        file
    };
    let opened = |keyring: &Keyring, file: &[u8]| {
        let from_middle = SeekReader::new(keyring, file).map(drop);
        let from_start = Decryptor::new(keyring).run(file, Vec::new()).map(drop);
        assert_eq!(from_middle.is_ok(), from_start.is_ok());
        from_start
    };
    let of = [sealed((&key(1)).into()), sealed((&key(2)).into()), sealed((&words).into())];
    let all = Keyring::default().passphrase(words.clone()).key(key(2)).key(key(1));
    assert!(of.iter().all(|file| opened(&all, file).is_ok()));
    let [old, new, with_words] = of;
    let ring = sealed((&all).into());
    assert!(opened(&Keyring::default().key(key(2)), &ring).is_ok());
    let of_words = sealed((&Keyring::default().passphrase(words.clone())).into());
    assert!(Decryptor::new(&words).run(&of_words[..], Vec::new()).is_ok());

    let one = Keyring::default().key(key(2));
    assert!(opened(&one, &new).is_ok());
    assert!(matches!(opened(&one, &old), Err(Error::WrongKey)));
    assert!(matches!(opened(&one, &with_words), Err(Error::NeedsPassphrase)));
    let one = Keyring::default().passphrase(Passphrase::new("word"));
    assert!(matches!(opened(&one, &with_words), Err(Error::WrongPassphrase)));
    assert!(matches!(opened(&one, &old), Err(Error::NeedsKey)));
}

/// Every reader refuses slots, unless it was asked to open them.
#[test]
fn slots_are_opened_only_if_asked() {
    let Some(answers) = Answers::read_slots() else { return };
    let file = answers.files.iter().find(|file| file.name == "slots-key").unwrap();
    let (key, bytes) = (MasterKey::from(answers.key), &file.bytes[..]);
    let keyring = Keyring::default().key(key.clone());
    for secret in [Secret::from(&key), Secret::from(&keyring)] {
        let from_start = from_start(&mut Random(1), secret, bytes);
        let results = from_start.into_iter().map(|(_, (_, result))| result.map(drop));
        for result in results.chain([SeekReader::new(secret, bytes).map(drop)]) {
            let error = result.unwrap_err();
            assert_eq!(name(&error), "unsupported-header");
            assert!(error.to_string().contains("has key slots"), "{error}");
        }
    }
    assert!(SeekReader::new(&keyring.open_slots(), bytes).is_ok());
    // The header says so without a secret, but not which of two kinds of secret is needed.
    assert_eq!(Info::from_start(bytes).unwrap().secret, SecretKind::Slots);
    assert_eq!(name(&needs_passphrase(bytes).unwrap_err()), "unsupported-header");
}

/// Readers from the start cannot try the copy at the end, so their errors name it.
#[test]
fn a_damaged_head_beside_an_intact_copy() {
    let key = MasterKey::from([1; 32]);
    let ring = Keyring::default().key(key.clone()).open_slots();
    let mut file = Vec::new();
    Encryptor::with_slots(&[NewSlot::Key(&key)]).run(&b"text"[..], &mut file).unwrap();
    for at in [50, 200] {
        let mut damaged = file.clone();
        damaged[at] ^= 1;
        for (reader, (_, result)) in from_start(&mut Random(1), &ring, &damaged) {
            let error = result.unwrap_err();
            assert!(matches!(error, Error::HeaderDamaged), "{reader}: {error}");
            assert!(error.hint().unwrap().contains("the copy at its end"), "{reader}");
        }
        assert_eq!(SeekReader::new(&ring, &damaged).unwrap().len(), 4);
    }
    let stranger = Keyring::default().key([2; 32].into()).open_slots();
    let error = Decryptor::new(&stranger).run(&file[..], Vec::new()).unwrap_err();
    assert!(matches!(error, Error::NoSlot));
    assert!(error.hint().unwrap().contains("the copy at its end"));
}

/// So that asynchronous programs leave it to another thread.
#[test]
fn stretching_and_unlocking_take_long() {
    struct Nothing;
    impl Unlock for Nothing {
        fn unlock(&self, _: &[u8]) -> Result<Option<FileKey>, Box<dyn error::Error + Send + Sync>> {
            Ok(None)
        }
    }
    let passphrase = Keyring::default().passphrase(Passphrase::new("words"));
    for (keyring, takes_long) in [
        (Keyring::default().key([1; 32].into()).open_slots(), false),
        (passphrase.clone(), true),
        (passphrase.open_slots(), true),
        (Keyring::default().unlock(Nothing), false),
        (Keyring::default().unlock(Nothing).open_slots(), true),
    ] {
        let mut decoder = Decoder::new(&keyring, KdfLimits::default()).unwrap();
        assert_eq!(decoder.cost(), 0);
        decoder.push(&[0; HEADER_LEN]);
        assert_eq!(decoder.cost() == usize::MAX, takes_long, "{keyring:?}");
    }
}

/// Opening reads 4 KiB and the first frame, and then the last chunk.
#[test]
fn reads_from_the_middle_are_few() {
    struct Counting<'a>(&'a [u8], Mutex<Vec<Range<u64>>>);
    impl ReadAt for Counting<'_> {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
            self.1.lock().unwrap().push(offset..offset + buffer.len() as u64);
            self.0.read_at(buffer, offset)
        }
        fn size(&self) -> io::Result<u64> {
            self.0.size()
        }
    }
    let Some(answers) = Answers::read_slots() else { return };
    let keyring = Keyring::default().key(answers.key.into()).open_slots();
    for (name, expected) in [
        ("slots-key", vec![0..4100, 6216..6728]),
        ("slots-8-KiB", vec![0..4100, 0..8192, 8192..8196, 10312..10824]),
    ] {
        let file = answers.files.iter().find(|file| file.name == name).unwrap();
        let source = Counting(&file.bytes, Mutex::default());
        SeekReader::new(&keyring, &source).unwrap();
        assert_eq!(*source.1.lock().unwrap(), expected);
    }
}

/// What each writer makes of a text. They take it in any pieces.
fn written(
    random: &mut Random,
    slots: &[NewSlot<'_>],
    algorithm: Algorithm,
    text: &[u8],
) -> Vec<Vec<u8>> {
    let (size, mut file) = (ChunkSize::MIN, Vec::new());
    let encryptor = Encryptor::with_slots(slots).algorithm(algorithm).chunk_size(size);
    let summary = encryptor.threads(threads(2)).run(text, &mut file).unwrap();
    assert_eq!(summary.spare, Some(Spare::Same));
    let encoder = || Encoder::with_slots(slots, algorithm, size).unwrap();
    let mut writer = EncryptWriter::with_slots(slots, algorithm, size, Vec::new()).unwrap();
    writer.write_all(text).unwrap();
    let mut files = vec![file, writer.finish().unwrap(), encode(random, encoder(), text)];
    #[cfg(feature = "tokio")]
    files.push(on(&tokio::runtime::Builder::new_current_thread().build().unwrap(), async {
        use tokio::io::AsyncWriteExt;
        let mut writer = palladion_file::tokio::EncryptWriter::from_encoder(encoder(), Vec::new());
        writer.write_all(text).await.unwrap();
        writer.shutdown().await.unwrap();
        writer.into_inner()
    }));
    files
}

#[test]
fn round_trip() {
    let (mine, words) = (MasterKey::from([1; 32]), Passphrase::new("words"));
    let cheap = KdfParams::new(8, 1, 1).unwrap();
    let slots = [NewSlot::Key(&mine), NewSlot::Passphrase(&words, cheap)];
    let with = |keyring: Keyring| keyring.open_slots();
    let rings = [
        with(Keyring::default().key(mine.clone())),
        with(Keyring::default().passphrase(words.clone())),
    ];
    with_new_seeds(1, |random| {
        for algorithm in Algorithm::ALL {
            for len in [0, 1, 1023, 1024, 1025, 40_000] {
                let text = plaintext(len);
                for file in written(random, &slots, algorithm, &text) {
                    let chunks = len.div_ceil(1024).max(1);
                    assert_eq!(file.len(), 2 * Head::MIN_LEN + len + 36 * chunks);
                    for ring in &rings {
                        for (reader, (out, spare)) in from_start(random, ring, &file) {
                            assert_eq!(spare.unwrap(), Some(Spare::Same), "{reader}");
                            assert!(out == text, "{reader}: {len}");
                        }
                        let reader = SeekReader::new(ring, &file).unwrap();
                        assert_eq!(reader.len(), len as u64);
                        let mut end = vec![0; len.min(700)];
                        reader.read_at(&mut end, len.saturating_sub(700) as u64).unwrap();
                        assert!(text.ends_with(&end));
                    }
                }
            }
        }
    });
}
