//! Lists of recipients and of identities, the files that hold them, and slots for them.

use std::borrow::Cow;
use std::error;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use base64ct::{Base64Unpadded, Encoding};
use palladion_file::KdfLimits;
use palladion_file::slots::{FileKey, Lock, Unlock};
use zeroize::Zeroizing;

use crate::age_file::{self, AgeFile, Stanza, aead, check_mixing, is_armoured, unarmour};
use crate::error::Error;
use crate::keys::{Identity, Recipient};

/// What age chooses for new passphrases.
const WORK_FACTOR: u8 = 18;

/// Public keys, any of which can open a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipients(Vec<Recipient>);

impl Recipients {
    /// Makes a list. One slot has room for about 660 X25519 recipients or 42 hybrid ones.
    ///
    /// # Errors
    ///
    /// [`Error::Empty`], [`Error::Mixed`].
    pub fn new(recipients: Vec<Recipient>) -> Result<Self, Error> {
        check_mixing(recipients.iter().map(Recipient::stanza_type))?;
        if recipients.is_empty() { Err(Error::Empty) } else { Ok(Self(recipients)) }
    }

    /// Returns the recipients.
    #[must_use]
    pub fn as_slice(&self) -> &[Recipient] {
        &self.0
    }

    pub(crate) fn seal(&self, text: &[u8]) -> Result<Vec<u8>, Error> {
        let mut key = Zeroizing::new([0; 16]);
        getrandom::fill(&mut *key)?;
        let stanzas = self.0.iter().map(|recipient| recipient.wrap(&key));
        age_file::seal(&key, &stanzas.collect::<Result<Vec<_>, _>>()?, text)
    }
}

/// A recipients file: one recipient in each line. Empty lines and lines that begin with `#` are
/// ignored.
impl FromStr for Recipients {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::new(parse_lines(text)?)
    }
}

impl Lock for Recipients {
    fn lock(&self, file_key: &FileKey) -> Result<Vec<u8>, Box<dyn error::Error + Send + Sync>> {
        Ok(self.seal(file_key.as_bytes())?)
    }
}

/// Secret keys, each of which is tried for a slot. Clones share them.
#[derive(Clone)]
pub struct Identities(Arc<[Identity]>);

impl Identities {
    /// Returns the identities.
    #[must_use]
    pub fn as_slice(&self) -> &[Identity] {
        &self.0
    }

    /// Decrypts a small age file. `None`: it is for others.
    pub(crate) fn open(&self, file: &[u8]) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
        let file = AgeFile::parse(file)?;
        if file.stanzas.iter().any(|stanza| stanza.kind == "scrypt") {
            return match file.stanzas.len() {
                1 => Ok(None),
                _ => Err(Error::InvalidAgeFile("a passphrase beside other recipients")),
            };
        }
        for identity in &*self.0 {
            for stanza in &file.stanzas {
                if let Some(key) = identity.unwrap(stanza)? {
                    return file.open(&key).map(Some);
                }
            }
        }
        Ok(None)
    }
}

impl From<Vec<Identity>> for Identities {
    fn from(identities: Vec<Identity>) -> Self {
        Self(identities.into())
    }
}

/// An identity file without a passphrase: one identity in each line. Empty lines and lines that
/// begin with `#` are ignored.
impl FromStr for Identities {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let identities = parse_lines(text)?;
        if identities.is_empty() { Err(Error::Empty) } else { Ok(Self(identities.into())) }
    }
}

/// Shows the public keys.
impl fmt::Debug for Identities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Identities").field(&self.0).finish()
    }
}

impl Unlock for Identities {
    fn unlock(
        &self,
        age_file: &[u8],
    ) -> Result<Option<FileKey>, Box<dyn error::Error + Send + Sync>> {
        let Some(text) = self.open(age_file)? else { return Ok(None) };
        let key = Zeroizing::<[u8; 32]>::new(text.as_slice().try_into()?);
        Ok(Some(FileKey::from(*key)))
    }
}

fn parse_lines<T: FromStr<Err = Error>>(text: &str) -> Result<Vec<T>, Error> {
    let lines = text.lines().map(str::trim).enumerate();
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let parse = |(at, line): (usize, &str)| {
        line.parse().map_err(|error| Error::Line(at + 1, Box::new(error)))
    };
    lines.map(parse).collect()
}

/// An identity file, of `age-keygen` for example.
#[derive(Debug)]
pub enum IdentityFile {
    /// It can be used as it is.
    Plain(Identities),
    /// It is encrypted with a passphrase.
    Protected(Protected),
}

impl IdentityFile {
    /// Parses an identity file: text, or an age file with a passphrase, armoured or not.
    ///
    /// # Errors
    ///
    /// Those of [`Identity::from_str`], each in its [`Error::Line`]; [`Error::Empty`];
    /// [`Error::InvalidAgeFile`], also if it is encrypted, but not with a passphrase.
    pub fn parse(file: &[u8]) -> Result<Self, Error> {
        if is_armoured(file) {
            return Protected::parse(unarmour(file)?).map(Self::Protected);
        }
        if file.starts_with(b"age-encryption.org/") {
            return Protected::parse(file.to_vec()).map(Self::Protected);
        }
        if file.trim_ascii_start().starts_with(b"-----BEGIN ") {
            return Err(Error::Unsupported("an SSH key"));
        }
        let text = std::str::from_utf8(file).map_err(|_| Error::NotAnIdentity)?;
        text.parse().map(Self::Plain)
    }
}

/// An identity file that is encrypted with a passphrase.
#[derive(Debug)]
pub struct Protected {
    file: Vec<u8>,
    salt: [u8; 16],
    work_factor: u8,
}

impl Protected {
    /// Encrypts an identity file with a passphrase, at the cost that `age` chooses. To try a
    /// passphrase then takes about a second, and 256 MiB.
    ///
    /// # Errors
    ///
    /// [`Error::NoMemory`], [`Error::NoRandomness`].
    pub fn create(identity_file: &str, passphrase: &[u8]) -> Result<Vec<u8>, Error> {
        let (mut salt, mut key) = ([0; 16], Zeroizing::new([0; 16]));
        getrandom::fill(&mut salt)?;
        getrandom::fill(&mut *key)?;
        let wrapping_key = stretch(passphrase, &salt, WORK_FACTOR)?;
        let args = [Base64Unpadded::encode_string(&salt), WORK_FACTOR.to_string()];
        let args = args.map(Cow::from).to_vec();
        let body = aead::seal(&wrapping_key, false, &key[..]);
        age_file::seal(&key, &[Stanza { kind: "scrypt", args, body }], identity_file.as_bytes())
    }

    fn parse(file: Vec<u8>) -> Result<Self, Error> {
        let (salt, work_factor) = {
            let file = AgeFile::parse(&file)?;
            let [stanza] = &file.stanzas[..] else {
                return Err(Error::InvalidAgeFile("it is not encrypted with a passphrase"));
            };
            if stanza.kind != "scrypt" {
                return Err(Error::InvalidAgeFile("it is not encrypted with a passphrase"));
            }
            scrypt_arguments(stanza).ok_or(Error::InvalidAgeFile("a stanza is not valid"))?
        };
        Ok(Self { file, salt, work_factor })
    }

    /// Checks that the limits allow the memory that it takes to try a passphrase.
    ///
    /// # Errors
    ///
    /// [`Error::TooCostly`].
    pub fn check(&self, limits: &KdfLimits) -> Result<(), Error> {
        let (memory_kib, limit) = (memory_kib(self.work_factor), limits.memory_kib);
        if memory_kib > limit.into() { Err(Error::TooCostly { memory_kib, limit }) } else { Ok(()) }
    }

    /// Opens the file. To try a passphrase takes a second or so with the cost that `age` chooses,
    /// and 256 MiB.
    ///
    /// # Errors
    ///
    /// [`Error::WrongPassphrase`]; [`Error::TooCostly`] if it takes more memory than the limits
    /// allow; [`Error::NoMemory`]; those of [`Identities::from_str`].
    pub fn open(&self, passphrase: &[u8], limits: &KdfLimits) -> Result<Identities, Error> {
        let text = self.open_text(passphrase, limits)?;
        std::str::from_utf8(&text).map_err(|_| Error::NotAnIdentity)?.parse()
    }

    pub(crate) fn open_text(
        &self,
        passphrase: &[u8],
        limits: &KdfLimits,
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.check(limits)?;
        let key = stretch(passphrase, &self.salt, self.work_factor)?;
        let file = AgeFile::parse(&self.file)?;
        let file_key = aead::open(&key, false, &file.stanzas[0].body);
        let file_key = file_key.ok_or(Error::WrongPassphrase)?;
        let file_key = file_key.as_slice().try_into().map_err(|_| Error::WrongPassphrase)?;
        file.open(&Zeroizing::new(file_key))
    }
}

/// The memory that scrypt takes: 128 bytes times r, which is 8, times 2^N.
fn memory_kib(work_factor: u8) -> u64 {
    1 << work_factor
}

fn stretch(
    passphrase: &[u8],
    salt: &[u8; 16],
    work_factor: u8,
) -> Result<Zeroizing<[u8; 32]>, Error> {
    // Without enough memory, scrypt would abort.
    let memory = usize::try_from(memory_kib(work_factor) << 10).map_err(|_| Error::NoMemory)?;
    Vec::<u8>::new().try_reserve_exact(memory).map_err(|_| Error::NoMemory)?;
    let params = scrypt::Params::new(work_factor, 8, 1).map_err(|_| Error::NoMemory)?;
    let salt = [&b"age-encryption.org/v1/scrypt"[..], salt].concat();
    let mut key = Zeroizing::new([0; 32]);
    scrypt::scrypt(passphrase, &salt, &params, &mut *key).map_err(|_| Error::NoMemory)?;
    Ok(key)
}

/// The salt and the work factor of a stanza for a passphrase.
fn scrypt_arguments(stanza: &Stanza<'_>) -> Option<([u8; 16], u8)> {
    let [salt, work_factor] = &stanza.args[..] else { return None };
    let salt = Base64Unpadded::decode_vec(salt).ok()?.try_into().ok()?;
    let is_canonical = !work_factor.starts_with('0')
        && work_factor.bytes().all(|digit| digit.is_ascii_digit())
        && stanza.body.len() == 32;
    // More would take more memory than any computer has.
    let work_factor = work_factor.parse().ok().filter(|factor| *factor < 50)?;
    is_canonical.then_some((salt, work_factor))
}
