//! Files with key slots: the answers of `vectors/file-answers.txt`.

use palladion_file::slots::{Head, Keyring};
use palladion_file::{KdfLimits, Passphrase};

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
