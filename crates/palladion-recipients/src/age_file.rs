//! Small age files, as <https://c2sp.org/age> specifies them.

use std::borrow::Cow;

use base64ct::{Base64, Base64Unpadded, Encoding};
use hkdf::Hkdf;
use hkdf::hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::error::Error;

const VERSION: &str = "age-encryption.org/v1\n";
const BEGIN: &str = "-----BEGIN AGE ENCRYPTED FILE-----";
const END: &str = "-----END AGE ENCRYPTED FILE-----";
/// The characters of base64 in a line.
const COLUMNS: usize = 64;
/// The most plaintext in a chunk of the payload. Files here have one chunk.
const CHUNK: usize = 65536;
const NONCE_LEN: usize = 16;
const TAG_LEN: usize = 16;

/// The key of an age file.
pub(crate) type FileKey = Zeroizing<[u8; 16]>;

/// The key, wrapped for a recipient.
pub(crate) struct Stanza<'a> {
    pub kind: &'a str,
    pub args: Vec<Cow<'a, str>>,
    pub body: Vec<u8>,
}

impl Stanza<'_> {
    fn write(&self, text: &mut String) {
        text.push_str("-> ");
        text.push_str(self.kind);
        for arg in &self.args {
            text.push(' ');
            text.push_str(arg);
        }
        text.push('\n');
        let body = Base64Unpadded::encode_string(&self.body);
        let (lines, last) = body.as_bytes().as_chunks::<COLUMNS>();
        for line in lines.iter().map(|line| &line[..]).chain([last]) {
            text.push_str(std::str::from_utf8(line).expect("base64 is text"));
            text.push('\n');
        }
    }
}

/// An age file that was read, and not yet verified.
pub(crate) struct AgeFile<'a> {
    pub stanzas: Vec<Stanza<'a>>,
    /// What the MAC is of.
    header: &'a [u8],
    mac: [u8; 32],
    payload: &'a [u8],
}

impl<'a> AgeFile<'a> {
    pub fn parse(file: &'a [u8]) -> Result<Self, Error> {
        let invalid = Error::InvalidAgeFile;
        let Some(mut rest) = file.strip_prefix(VERSION.as_bytes()) else {
            return Err(invalid(match file.starts_with(b"age-encryption.org/") {
                true => "a version that is not supported",
                false => "it does not begin with age-encryption.org/v1",
            }));
        };
        let mut line = || {
            let end = rest.iter().position(|byte| *byte == b'\n');
            let end = end.ok_or(invalid("its header is cut"))?;
            let (line, after) = (&rest[..end], &rest[end + 1..]);
            let at = file.len() - rest.len();
            rest = after;
            let line = std::str::from_utf8(line).ok().filter(|line| line.is_ascii());
            line.map(|line| (at, line)).ok_or(invalid("its header is not text"))
        };
        let mut stanzas = Vec::new();
        loop {
            let (at, first) = line()?;
            if let Some(mac) = first.strip_prefix("---") {
                let mac =
                    mac.strip_prefix(' ').and_then(|mac| Base64Unpadded::decode_vec(mac).ok());
                let mac =
                    mac.and_then(|mac| mac.try_into().ok()).ok_or(invalid("its MAC is cut"))?;
                if stanzas.is_empty() {
                    return Err(invalid("it has no stanzas"));
                }
                return Ok(Self { stanzas, header: &file[..at + 3], mac, payload: rest });
            }
            let args = first.strip_prefix("-> ").ok_or(invalid("a stanza has no beginning"))?;
            let is_argument =
                |arg: &str| !arg.is_empty() && arg.bytes().all(|b| b.is_ascii_graphic());
            let mut args = args.split(' ');
            if !args.clone().all(is_argument) {
                return Err(invalid("an argument of a stanza is not valid"));
            }
            let kind = args.next().unwrap_or_default();
            let mut body = String::new();
            loop {
                let (_, part) = line()?;
                body.push_str(part);
                match part.len() {
                    COLUMNS => {}
                    ..COLUMNS => break,
                    _ => return Err(invalid("a line is too long")),
                }
            }
            let body = Base64Unpadded::decode_vec(&body);
            let body = body.map_err(|_| invalid("a stanza is not in canonical base64"))?;
            stanzas.push(Stanza { kind, args: args.map(Cow::from).collect(), body });
        }
    }

    /// Decrypts the text with the file's key.
    pub fn open(&self, key: &FileKey) -> Result<Zeroizing<Vec<u8>>, Error> {
        let mac = header_mac(key, self.header);
        mac.verify_slice(&self.mac).map_err(|_| Error::InvalidAgeFile("its MAC is wrong"))?;
        let payload = self.payload.split_first_chunk::<NONCE_LEN>();
        let (nonce, chunk) = payload.ok_or(Error::InvalidAgeFile("its end is missing"))?;
        if chunk.len() > CHUNK + TAG_LEN {
            return Err(Error::InvalidAgeFile("it is too long for a key or an identity"));
        }
        let key = derive(&key[..], nonce, b"payload");
        aead::open(&key, true, chunk).ok_or(Error::InvalidAgeFile("its content is damaged"))
    }
}

/// Writes an age file with one chunk.
pub(crate) fn seal(key: &FileKey, stanzas: &[Stanza<'_>], text: &[u8]) -> Result<Vec<u8>, Error> {
    let mut header = String::from(VERSION);
    stanzas.iter().for_each(|stanza| stanza.write(&mut header));
    header.push_str("---");
    let mac = header_mac(key, header.as_bytes()).finalize().into_bytes();
    let mut nonce = [0; NONCE_LEN];
    getrandom::fill(&mut nonce)?;
    let chunk = aead::seal(&derive(&key[..], &nonce, b"payload"), true, text);
    let mac = Base64Unpadded::encode_string(&mac);
    Ok([header.as_bytes(), b" ", mac.as_bytes(), b"\n", &nonce, &chunk].concat())
}

fn header_mac(key: &FileKey, header: &[u8]) -> Hmac<Sha256> {
    let key = derive(&key[..], b"", b"header");
    Hmac::new_from_slice(&key[..]).expect("HMAC takes keys of any length").chain_update(header)
}

/// HKDF-SHA-256. An empty salt is none.
pub(crate) fn derive(secret: &[u8], salt: &[u8], info: &[u8]) -> Zeroizing<[u8; 32]> {
    let mut key = Zeroizing::new([0; 32]);
    Hkdf::<Sha256>::new(Some(salt), secret)
        .expand(info, &mut *key)
        .expect("HKDF gives up to 8160 bytes");
    key
}

/// ChaCha20-Poly1305 with keys that are used once. The nonce says whether it is the last chunk of a
/// payload.
pub(crate) mod aead {
    use chacha20poly1305::aead::Aead;
    use chacha20poly1305::{ChaCha20Poly1305, Key, KeyInit, Nonce};
    use zeroize::Zeroizing;

    fn nonce(is_last: bool) -> Nonce {
        let mut nonce = [0; 12];
        nonce[11] = is_last.into();
        nonce.into()
    }

    pub fn seal(key: &[u8; 32], is_last: bool, text: &[u8]) -> Vec<u8> {
        let sealed = ChaCha20Poly1305::new(&Key::from(*key)).encrypt(&nonce(is_last), text);
        sealed.expect("the text is short")
    }

    pub fn open(key: &[u8; 32], is_last: bool, sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let text = ChaCha20Poly1305::new(&Key::from(*key)).decrypt(&nonce(is_last), sealed);
        text.ok().map(Zeroizing::new)
    }
}

/// Returns the types of the stanzas of an age file, such as `X25519`: what is known of its
/// recipients without a key. Nothing of it is verified.
///
/// # Errors
///
/// [`Error::InvalidAgeFile`].
pub fn stanza_types(age_file: &[u8]) -> Result<Vec<&str>, Error> {
    Ok(AgeFile::parse(age_file)?.stanzas.iter().map(|stanza| stanza.kind).collect())
}

/// Returns whether these bytes have the form of a slot: an age file for some recipient, with a key
/// of 32 bytes in it. Nothing of it is verified.
#[must_use]
pub fn is_slot(age_file: &[u8]) -> bool {
    AgeFile::parse(age_file).is_ok_and(|file| {
        !file.stanzas.is_empty() && file.payload.len() == NONCE_LEN + 32 + TAG_LEN
    })
}

/// Checks that recipients with these [types](stanza_types) may open one file: all known ones are
/// safe against quantum computers, or none is.
///
/// # Errors
///
/// [`Error::Mixed`].
pub fn check_mixing<'a>(types: impl IntoIterator<Item = &'a str>) -> Result<(), Error> {
    let [mut safe, mut unsafe_] = [false; 2];
    for kind in types {
        safe |= matches!(kind, "mlkem768x25519" | "mlkem768p256tag");
        unsafe_ |= matches!(kind, "X25519" | "ssh-ed25519" | "ssh-rsa" | "p256tag" | "piv-p256");
    }
    if safe && unsafe_ { Err(Error::Mixed) } else { Ok(()) }
}

/// Returns whether a file is in age's armour.
pub(crate) fn is_armoured(file: &[u8]) -> bool {
    file.trim_ascii_start().starts_with(BEGIN.as_bytes())
}

/// Takes the armour off.
pub(crate) fn unarmour(file: &[u8]) -> Result<Vec<u8>, Error> {
    let invalid = || Error::InvalidAgeFile("its armour is damaged");
    let text = std::str::from_utf8(file.trim_ascii()).map_err(|_| invalid())?;
    let mut lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    if lines.next() != Some(BEGIN) || lines.next_back() != Some(END) {
        return Err(invalid());
    }
    let (mut all, mut is_last) = (String::with_capacity(text.len()), false);
    for line in lines {
        if is_last || line.is_empty() || line.len() > COLUMNS {
            return Err(invalid());
        }
        is_last = line.len() < COLUMNS;
        all.push_str(line);
    }
    Base64::decode_vec(&all).map_err(|_| invalid())
}
