//! Several secrets for a file, and files with key slots: the answers of `vectors/file-answers.txt`.

use std::io;
use std::ops::Range;
use std::sync::Mutex;

use palladion_file::slots::{Head, NewSlot};
use palladion_file::{
    Algorithm, ChunkSize, Decryptor, Encryptor, Error, KdfParams, Keyring, MasterKey, Passphrase,
    ReadAt, Secret, SeekReader, Spare,
};

use crate::answers::middle;
use crate::common::threads;
use crate::file_answers::{Answers, name, plaintext};

#[test]
fn every_reader_gives_the_answer_of_the_reference() {
    let Some(answers) = Answers::read_slots() else { return };
    let ring = || Keyring::default().open_slots();
    let keys = ring().key(answers.key.into());
    let passphrases = ring().passphrase(Passphrase::new(answers.passphrase.clone()));
    for file in &answers.files {
        let keyring = if file.with_passphrase { &passphrases } else { &keys };
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
        let mut out = Vec::new();
        let result = Decryptor::new(keyring).threads(threads(3)).run(&file.bytes[..], &mut out);
        let answer = match &result {
            Ok(summary) => match summary.spare {
                Some(Spare::Same) => "ok",
                Some(Spare::Differs) => "spare-differs",
                Some(Spare::Damaged) => "spare-damaged",
                other => panic!("{other:?}"),
            },
            Err(error) => name(error),
        };
        assert_eq!(out, plaintext(out.len()));
        assert_eq!(format!("{answer}:{}", out.len()), file.start, "{}", file.name);
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
        let from_start = Decryptor::new(secret).run(bytes, Vec::new()).map(drop);
        for result in [from_start, SeekReader::new(secret, bytes).map(drop)] {
            let error = result.unwrap_err();
            assert_eq!(name(&error), "unsupported-header");
            assert!(error.to_string().contains("has key slots"), "{error}");
        }
    }
    assert!(SeekReader::new(&keyring.open_slots(), bytes).is_ok());
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
    for algorithm in Algorithm::ALL {
        for len in [0, 1, 1023, 1024, 1025, 40_000] {
            let (text, mut file) = (plaintext(len), Vec::new());
            let encryptor = Encryptor::with_slots(&slots).algorithm(algorithm);
            let encryptor = encryptor.chunk_size(ChunkSize::MIN).threads(threads(2));
            assert_eq!(encryptor.run(&text[..], &mut file).unwrap().spare, Some(Spare::Same));
            assert_eq!(file.len(), 2 * Head::MIN_LEN + len + 36 * len.div_ceil(1024).max(1));
            for ring in &rings {
                let mut out = Vec::new();
                let summary = Decryptor::new(ring).run(&file[..], &mut out).unwrap();
                assert_eq!((summary.bytes, summary.spare), (len as u64, Some(Spare::Same)));
                assert!(out == text);
                let reader = SeekReader::new(ring, &file).unwrap();
                assert_eq!(reader.len(), len as u64);
                let mut end = vec![0; len.min(700)];
                reader.read_at(&mut end, len.saturating_sub(700) as u64).unwrap();
                assert!(text.ends_with(&end));
            }
        }
    }
}
