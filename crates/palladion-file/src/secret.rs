//! What the user holds: a master key or a passphrase.

use std::fmt;

use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::{Algorithm, Error, KdfParams, KeyFileError};

const KEY_FILE_PREFIX: &str = "palladion-key-1:";

/// 32 random bytes from which the keys of any number of files are derived. Wiped on drop.
///
/// ```
/// use palladion_file::MasterKey;
///
/// let key = MasterKey::generate()?;
/// let text = key.to_key_file();
/// assert!(text.starts_with("palladion-key-1:") && text.ends_with('\n'));
/// assert_eq!(MasterKey::from_key_file(&text).unwrap().as_bytes(), key.as_bytes());
/// # Ok::<(), palladion_file::Error>(())
/// ```
#[derive(Clone)]
pub struct MasterKey(Zeroizing<[u8; 32]>);

impl MasterKey {
    /// A key from the system's random number generator.
    pub fn generate() -> Result<Self, Error> {
        let mut key = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *key).map_err(Error::Random)?;
        Ok(Self(key))
    }

    /// The key itself. Keep it as you would keep the files.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads the text of a key file: one line `palladion-key-1:` and 64 hexadecimal digits; empty lines and lines
    /// that begin with `#` are comments.
    ///
    /// ```
    /// use palladion_file::{KeyFileError, MasterKey};
    ///
    /// let text = format!("# for the backups\npalladion-key-1:{}\n", "5a".repeat(32));
    /// assert_eq!(MasterKey::from_key_file(&text).unwrap().as_bytes(), &[0x5a; 32]);
    /// assert_eq!(MasterKey::from_key_file("ssh-rsa AAAA").unwrap_err(), KeyFileError::NoKey);
    /// ```
    pub fn from_key_file(text: &str) -> Result<Self, KeyFileError> {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let digits =
            lines.next().and_then(|line| line.strip_prefix(KEY_FILE_PREFIX)).ok_or(KeyFileError::NoKey)?;
        if lines.next().is_some() {
            return Err(KeyFileError::NotOneKey);
        }
        let digits = digits.trim_start().as_bytes();
        if digits.len() != 64 {
            return Err(KeyFileError::NotHex);
        }
        let mut key = Zeroizing::new([0; 32]);
        // (In constant time. The line's end was looked for before: that tells how long lines are.)
        base16ct::mixed::decode(digits, &mut *key).map_err(|_| KeyFileError::NotHex)?;
        Ok(Self(key))
    }

    /// The text of a key file that holds this key.
    pub fn to_key_file(&self) -> Zeroizing<String> {
        // As large as needed from the start: growing would leave copies behind.
        let mut text = Zeroizing::new(String::with_capacity(KEY_FILE_PREFIX.len() + 65));
        text.push_str(KEY_FILE_PREFIX);
        let mut digits = Zeroizing::new([0; 64]);
        text.push_str(base16ct::lower::encode_str(&*self.0, &mut *digits).expect("two digits for each byte"));
        text.push('\n');
        text
    }

    /// The key under which [`Mac`](crate::Mac) authenticates with this algorithm. It is derived apart from all file
    /// keys, so one master key can serve both.
    pub(crate) fn mac_key(&self, algorithm: Algorithm) -> Zeroizing<[u8; 32]> {
        let mut key = Zeroizing::new([0; 32]);
        Hkdf::<Sha256>::new(None, &*self.0)
            .expand_multi_info(&[b"palladion mac v1", &[algorithm.id()]], &mut key[..algorithm.key_len()])
            .expect("HKDF gives up to 8160 bytes");
        key
    }
}

impl From<[u8; 32]> for MasterKey {
    fn from(key: [u8; 32]) -> Self {
        Self(Zeroizing::new(key))
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterKey(..)")
    }
}

/// A passphrase: any bytes, taken as they are (no Unicode normalisation). Wiped on drop.
///
/// ```
/// use palladion_file::Passphrase;
///
/// let passphrase = Passphrase::new("correct horse battery staple");
/// ```
#[derive(Clone)]
pub struct Passphrase(Zeroizing<Vec<u8>>);

impl Passphrase {
    /// Takes a passphrase over.
    pub fn new(passphrase: impl Into<Vec<u8>>) -> Self {
        Self(Zeroizing::new(passphrase.into()))
    }

    /// A master key from the passphrase and a salt by Argon2id, for other formats than Palladion's own, which does this
    /// by itself. The salt is public, and no two uses may have the same.
    ///
    /// # Errors
    ///
    /// [`Error::KdfMemory`].
    ///
    /// ```
    /// use palladion_file::{KdfParams, Passphrase};
    ///
    /// let passphrase = Passphrase::new("correct horse battery staple");
    /// let key = passphrase.stretch(&[7; 32], KdfParams::default())?;
    /// assert_ne!(key.as_bytes(), passphrase.stretch(&[8; 32], KdfParams::default())?.as_bytes());
    /// # Ok::<(), palladion_file::Error>(())
    /// ```
    pub fn stretch(&self, salt: &[u8; 32], params: KdfParams) -> Result<MasterKey, Error> {
        let mut key = Zeroizing::new([0; 32]);
        params.stretch(self.as_bytes(), salt, &mut key)?;
        Ok(MasterKey(key))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(..)")
    }
}

/// What a file is encrypted with; made from a `&MasterKey` or a `&Passphrase`.
#[derive(Debug, Clone, Copy)]
pub enum Secret<'a> {
    /// A master key, usually from a key file.
    Key(&'a MasterKey),
    /// A passphrase.
    Passphrase(&'a Passphrase),
}

impl<'a> From<&'a MasterKey> for Secret<'a> {
    fn from(key: &'a MasterKey) -> Self {
        Secret::Key(key)
    }
}

impl<'a> From<&'a Passphrase> for Secret<'a> {
    fn from(passphrase: &'a Passphrase) -> Self {
        Secret::Passphrase(passphrase)
    }
}
