//! Several secrets for a file, and files with key slots: the answers of `vectors/file-answers.txt`.

use palladion_file::slots::Head;
use palladion_file::{
    Decryptor, Encryptor, Error, KdfLimits, KdfParams, Keyring, MasterKey, Passphrase, Secret,
    SeekReader,
};

use crate::file_answers::{Answers, name};

/// What comes before the chunks.
#[test]
fn heads_that_are_damaged_or_strange() {
    let Some(answers) = Answers::read_slots() else { return };
    let keys = Keyring::default().key(answers.key.into());
    let passphrases = Keyring::default().passphrase(Passphrase::new(answers.passphrase.clone()));
    for file in &answers.files {
        let keyring = if file.with_passphrase { &passphrases } else { &keys };
        let opened =
            Head::parse(&file.bytes).and_then(|head| head.open(keyring, &KdfLimits::default()));
        let is_of_head = ["damaged-header:0", "unsupported-header:0", "wrong-key:0"];
        match opened.as_ref().map_or_else(name, |_| "ok") {
            "ok" => assert!(!is_of_head.contains(&&*file.start), "{}", file.name),
            error => assert_eq!(format!("{error}:0"), file.start, "{}", file.name),
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
