//! Tests. The files in `tests/known` were made by age 1.3.2.

use std::collections::HashMap;
use std::fmt::Debug;
use std::path::Path;

use palladion_file::slots::{Lock, NewSlot, Unlock};
use palladion_file::{Decryptor, Encryptor, KdfLimits, Keyring};
use sha2::{Digest, Sha256};

use crate::age_file::unarmour;
use crate::*;

macro_rules! known {
    ($name:literal) => {
        include_bytes!(concat!("tests/known/", $name, ".txt"))
    };
}

fn text(file: &'static [u8]) -> &'static str {
    std::str::from_utf8(file).unwrap()
}

fn plain(file: &[u8]) -> Identities {
    match IdentityFile::parse(file).unwrap() {
        IdentityFile::Plain(identities) => identities,
        IdentityFile::Protected(_) => panic!("it has a passphrase"),
    }
}

fn protected(file: &[u8]) -> Protected {
    match IdentityFile::parse(file).unwrap() {
        IdentityFile::Plain(_) => panic!("it has no passphrase"),
        IdentityFile::Protected(protected) => protected,
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn generate() -> [Identity; 2] {
    [Identity::generate().unwrap(), Identity::generate_hybrid().unwrap()]
}

fn refused<T: Debug>(result: Result<T, Error>) -> Error {
    result.unwrap_err()
}

/// The key in the known files.
fn key() -> Vec<u8> {
    (0x40..0x60).collect()
}

#[test]
fn files_of_age() {
    for (identity, hash, file) in [
        (
            text(known!("x25519")),
            "0f5288f32fe2fd01b8d39300aa61ba8ff82f1665d9c66178bf661897380f88f4",
            &known!("x25519.age")[..],
        ),
        (
            text(known!("hybrid")),
            "74320703f59371b8b22962db0012683bfc8870fd2e7f476554b040ec90ef6dad",
            known!("hybrid.age"),
        ),
    ] {
        let identities = plain(identity.as_bytes());
        let own = identities.as_slice()[0].recipient().to_string();
        assert_eq!(sha256(own.as_bytes()), hash);
        assert_eq!(own.parse::<Recipient>().unwrap().to_string(), own);
        let secret = identity.lines().last().unwrap();
        assert_eq!(*secret.parse::<Identity>().unwrap().to_text(), secret);
        let file = unarmour(file).unwrap();
        let opened = identities.unlock(&file).unwrap().unwrap();
        assert_eq!(opened.as_bytes()[..], key());
    }
}

#[test]
fn an_identity_file_with_a_passphrase() {
    let file = protected(known!("protected"));
    let opened = file.open(b"correct horse", &KdfLimits::default()).unwrap();
    let expected = plain(known!("x25519"));
    assert_eq!(*opened.as_slice()[0].to_text(), *expected.as_slice()[0].to_text());
    let wrong = refused(file.open(b"correct Horse", &KdfLimits::default()));
    assert_eq!(wrong, Error::WrongPassphrase);
    let limits = KdfLimits { memory_kib: 15, ..KdfLimits::default() };
    let error = refused(file.open(b"correct horse", &limits));
    assert_eq!(error, Error::TooCostly { memory_kib: 16, limit: 15 });
    // As age writes it without armour.
    assert!(
        protected(&unarmour(known!("protected")).unwrap())
            .open(b"correct horse", &KdfLimits::default())
            .is_ok()
    );
    let made = Protected::create(text(known!("x25519")), b"correct horse").unwrap();
    assert_eq!(stanza_types(&made).unwrap(), ["scrypt"]);
    assert!(protected(&made).open(b"correct horse", &KdfLimits::default()).is_ok());
    let error = refused(IdentityFile::parse(known!("x25519.age")));
    assert!(error.to_string().contains("not encrypted with a passphrase"), "{error}");
}

#[test]
fn slots_for_several() {
    let identities: Vec<_> = (0..3).flat_map(|_| generate()).collect();
    for hybrid in [false, true] {
        let (own, others): (Vec<_>, Vec<_>) = identities
            .iter()
            .map(|identity| identity.to_text().parse::<Identity>().unwrap())
            .partition(|identity| identity.recipient().is_hybrid() == hybrid);
        let recipients = Recipients::new(own.iter().map(Identity::recipient).collect()).unwrap();
        let mut file = Vec::new();
        Encryptor::with_slots(&[NewSlot::Age(&recipients)]).run(&b"text"[..], &mut file).unwrap();
        let open = |identities: Vec<Identity>| {
            let keyring = Keyring::default().open_slots().unlock(Identities::from(identities));
            let mut text = Vec::new();
            Decryptor::new(&keyring).run(&file[..], &mut text).map(|_| text)
        };
        for identity in own {
            assert_eq!(open(vec![identity]).unwrap(), b"text");
        }
        assert!(matches!(open(others), Err(palladion_file::Error::NoSlot)));
    }
}

#[test]
fn no_mixing() {
    let [one, other] = generate().map(|identity| identity.recipient());
    assert!(other.is_hybrid() && !one.is_hybrid());
    assert_eq!(refused(Recipients::new(vec![one.clone(), other.clone()])), Error::Mixed);
    assert_eq!(refused(format!("{other}\n{one}").parse::<Recipients>()), Error::Mixed);
    assert_eq!(refused(Recipients::new(Vec::new())), Error::Empty);
    let key = palladion_file::slots::FileKey::from([1; 32]);
    let lock = |recipient| Recipients::new(vec![recipient]).unwrap().lock(&key).unwrap();
    let (one, other) = (lock(one), lock(other));
    let types = [stanza_types(&one).unwrap(), stanza_types(&other).unwrap()].concat();
    assert_eq!(types, ["X25519", "mlkem768x25519"]);
    assert_eq!(check_mixing(types), Err(Error::Mixed));
    assert_eq!(check_mixing(["X25519", "new", "ssh-rsa"]), Ok(()));
    assert_eq!(check_mixing(["new", "mlkem768p256tag", "mlkem768x25519"]), Ok(()));
}

#[test]
fn what_is_not_a_key() {
    let identity = Identity::generate().unwrap();
    let (public, secret) = (identity.recipient().to_string(), identity.to_text());
    let recipient = |text: &str| refused(text.parse::<Recipient>());
    let identity = |text: &str| refused(text.parse::<Identity>());
    assert_eq!(recipient(&secret), Error::IdentityAsRecipient);
    assert_eq!(identity(&public), Error::RecipientAsIdentity);
    assert!(recipient("ssh-ed25519 AAAA").is_unsupported());
    assert!(recipient("age1yubikey1qqqq").is_unsupported());
    assert!(identity("AGE-PLUGIN-YUBIKEY-1QQQQ").is_unsupported());
    assert!(refused(IdentityFile::parse(b"-----BEGIN OPENSSH PRIVATE KEY-----")).is_unsupported());
    // Every character counts, and so does the case.
    for at in 0..public.len() {
        let mut other = public.clone().into_bytes();
        other[at] = if other[at] == b'q' { b'p' } else { b'q' };
        recipient(text_of(&other));
        let mut other = secret.as_bytes().to_vec();
        other[at] = if other[at] == b'Q' { b'P' } else { b'Q' };
        identity(text_of(&other));
    }
    for wrong in ["", "age1", "age", &public.to_uppercase(), &format!("{public} "), &public[1..]] {
        assert_eq!(recipient(wrong), Error::NotARecipient, "{wrong}");
    }
    for wrong in ["", "AGE-SECRET-KEY-1", &secret.to_lowercase(), &format!("{} ", *secret)] {
        assert_eq!(identity(wrong), Error::NotAnIdentity, "{wrong}");
    }
    // A key of which everyone knows the shared secrets.
    let low = bech32::encode_lower::<bech32::Bech32>(bech32::Hrp::parse("age").unwrap(), &[0; 32]);
    assert_eq!(recipient(&low.unwrap()), Error::NotARecipient);
    // Files.
    let error = refused(format!("# one\n\n {public} \r\nage1q\n").parse::<Recipients>());
    assert_eq!(error, Error::Line(4, Box::new(Error::NotARecipient)));
    assert_eq!(
        format!("# one\n\n {public} \r\n").parse::<Recipients>().unwrap().as_slice().len(),
        1
    );
    assert_eq!(refused("# none\n".parse::<Recipients>()), Error::Empty);
    assert_eq!(refused("\n".parse::<Identities>()), Error::Empty);
    let error = refused(public.parse::<Identities>());
    assert_eq!(error, Error::Line(1, Box::new(Error::RecipientAsIdentity)));
    // No message has the secret.
    let shown = format!("{:?} {:?}", plain(secret.as_bytes()), identity(&format!("{}A", *secret)));
    assert!(!shown.contains(&secret[20..40]), "{shown}");
}

fn text_of(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Whatever is changed, left out or put in, at each byte.
#[test]
fn changed_files() {
    let (identity, file) = (plain(known!("x25519")), unarmour(known!("x25519.age")).unwrap());
    let is_refused = |file: &[u8]| !matches!(identity.unlock(file), Ok(Some(_)));
    assert!(!is_refused(&file));
    for at in 0..file.len() {
        for bit in 0..8 {
            let mut changed = file.clone();
            changed[at] ^= 1 << bit;
            assert!(is_refused(&changed), "{at}, {bit}");
        }
        for byte in *b"\n \rA=" {
            assert!(is_refused(&[&file[..at], &[byte], &file[at..]].concat()), "{at}, {byte}");
        }
        assert!(is_refused(&[&file[..at], &file[at + 1..]].concat()), "{at}");
        assert!(is_refused(&file[..at]), "{at}");
    }
    assert!(is_refused(&[&file[..], &[0]].concat()));
}

/// A vector of C2SP's test kit for age, by the names of its lines.
struct Vector {
    lines: HashMap<String, Vec<String>>,
    file: Vec<u8>,
}

impl Vector {
    fn parse(mut file: &[u8]) -> Self {
        let mut lines = HashMap::<_, Vec<_>>::new();
        loop {
            let end = file.iter().position(|byte| *byte == b'\n').unwrap();
            let line = text_of(&file[..end]);
            file = &file[end + 1..];
            let Some((name, value)) = line.split_once(": ") else { break };
            lines.entry(name.to_string()).or_default().push(value.to_string());
        }
        Self { lines, file: file.to_vec() }
    }

    fn get(&self, name: &str) -> Option<&[String]> {
        self.lines.get(name).map(Vec::as_slice)
    }

    fn open(&self) -> Result<Option<zeroize::Zeroizing<Vec<u8>>>, Error> {
        let file = match self.get("armored") {
            Some(_) => unarmour(&self.file)?,
            None => self.file.clone(),
        };
        match self.get("passphrase") {
            Some(passphrases) if self.get("identity").is_none() => {
                let IdentityFile::Protected(file) = IdentityFile::parse(&file)? else {
                    return Err(Error::InvalidAgeFile("not an age file"));
                };
                file.open_text(passphrases[0].as_bytes(), &KdfLimits::default()).map(Some)
            }
            _ => {
                let identities = self.get("identity").unwrap_or_default();
                let identities = identities.iter().map(|text| text.parse().unwrap());
                Identities::from(identities.collect::<Vec<_>>()).open(&file)
            }
        }
    }
}

/// C2SP's test kit: the vectors whose content fits one chunk, all that a slot or an identity needs.
/// The kit is `testdata` in the Go module `c2sp.org/CCTV/age`; `PALLADION_AGE_TESTKIT` names it.
#[test]
fn test_kit() {
    let Some(folder) = std::env::var_os("PALLADION_AGE_TESTKIT") else { return };
    let mut count = 0;
    for entry in Path::new(&folder).read_dir().unwrap() {
        let path = entry.unwrap().path();
        let vector = Vector::parse(&std::fs::read(&path).unwrap());
        if vector.get("compressed").is_some() {
            continue;
        }
        let (expected, opened) = (&*vector.get("expect").unwrap()[0], vector.open());
        let is_right = match &opened {
            Ok(Some(text)) if expected == "success" => {
                sha256(text) == vector.get("payload").unwrap()[0]
            }
            Ok(Some(_)) => false,
            Ok(None) => expected == "no match",
            Err(_) => expected.ends_with("failure") || vector.get("passphrase").is_some(),
        };
        assert!(
            is_right,
            "{path:?}: expected {expected}, not {:?}",
            opened.map(|text| text.is_some())
        );
        count += 1;
    }
    assert!(count > 100, "{count}");
}
