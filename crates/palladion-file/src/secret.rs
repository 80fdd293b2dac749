//! The secret of the user: a master key, a passphrase, or several of them.

use std::slice;

use crate::master_key::MasterKey;
use crate::passphrase::Passphrase;
use crate::slots::keyring::Keyring;

/// The secret of a file, from a `&MasterKey`, a `&Passphrase` or a `&Keyring`.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Secret<'a> {
    /// A master key, usually from a key file.
    Key(&'a MasterKey),
    /// A passphrase.
    Passphrase(&'a Passphrase),
    /// Several secrets, any of which may open the file.
    Keyring(&'a Keyring),
}

/// Whether key slots can be opened. The WebAssembly of JavaScript, which does not, has no code of
/// them.
pub(crate) const SLOTS: bool = !cfg!(palladion_no_slots);

impl<'a> Secret<'a> {
    /// What opens key slots, if that was asked for.
    pub(crate) fn keyring_for_slots(self) -> Option<&'a Keyring> {
        match self {
            Secret::Keyring(keyring) if keyring.opens_slots && SLOTS => Some(keyring),
            _ => None,
        }
    }

    /// The place to which files are bound.
    pub(crate) fn place(self) -> Option<&'a [u8]> {
        match self {
            Secret::Keyring(keyring) => keyring.place.as_deref(),
            _ => None,
        }
    }

    /// Copies the secret to a keyring of its own, whose files are [bound](Keyring::bind) to this
    /// place.
    ///
    /// ```
    /// use palladion_file::{Decryptor, Encryptor, Error, MasterKey, Secret};
    ///
    /// let key = MasterKey::generate()?;
    /// let january = Secret::from(&key).bind("reports/2026/january");
    /// let mut file = Vec::new();
    /// Encryptor::new(&january).run(&b"all is well"[..], &mut file)?;
    /// Decryptor::new(&january).run(&file[..], Vec::new())?;
    ///
    /// let february = Secret::from(&key).bind("reports/2026/february");
    /// let swapped = Decryptor::new(&february).run(&file[..], Vec::new());
    /// assert!(matches!(swapped, Err(Error::WrongPlace)));
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn bind(self, place: impl Into<Vec<u8>>) -> Keyring {
        let keyring = match self {
            Secret::Key(key) => Keyring::default().key(key.clone()),
            Secret::Passphrase(passphrase) => Keyring::default().passphrase(passphrase.clone()),
            Secret::Keyring(keyring) => keyring.clone(),
        };
        keyring.bind(place)
    }

    /// Returns whether a file may take long to open with it, because there is a passphrase to
    /// stretch, or [`Unlock`](crate::slots::Unlock) to ask. An asynchronous program does that on
    /// another thread.
    #[must_use]
    pub fn takes_long(self) -> bool {
        let unlocks = self.keyring_for_slots().is_some_and(|keyring| !keyring.unlocks.is_empty());
        unlocks || !self.keys_and_passphrases().1.is_empty()
    }

    pub(crate) fn keys_and_passphrases(self) -> (&'a [MasterKey], &'a [Passphrase]) {
        match self {
            Secret::Key(key) => (slice::from_ref(key), &[]),
            Secret::Passphrase(passphrase) => (&[], slice::from_ref(passphrase)),
            Secret::Keyring(keyring) => (&keyring.keys, &keyring.passphrases),
        }
    }
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

impl<'a> From<&'a Keyring> for Secret<'a> {
    fn from(keyring: &'a Keyring) -> Self {
        Secret::Keyring(keyring)
    }
}

/// A secret that is kept: a master key, a passphrase or several of them. Wiped on drop. Compares in
/// constant time.
///
/// ```
/// use palladion_file::{Decryptor, Encryptor, MasterKey, OwnedSecret};
///
/// let secret = OwnedSecret::from(MasterKey::generate()?);
/// let mut file = Vec::new();
/// Encryptor::new(&secret).run(&b"text"[..], &mut file)?;
/// Decryptor::new(&secret).run(&file[..], Vec::new())?;
/// # Ok::<(), palladion_file::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OwnedSecret {
    /// A master key, usually from a key file.
    Key(MasterKey),
    /// A passphrase.
    Passphrase(Passphrase),
    /// Several secrets, any of which may open a file.
    Keyring(Keyring),
}

impl<'a> From<&'a OwnedSecret> for Secret<'a> {
    fn from(secret: &'a OwnedSecret) -> Self {
        match secret {
            OwnedSecret::Key(key) => Secret::Key(key),
            OwnedSecret::Passphrase(passphrase) => Secret::Passphrase(passphrase),
            OwnedSecret::Keyring(keyring) => Secret::Keyring(keyring),
        }
    }
}

/// Copies the secret.
impl From<Secret<'_>> for OwnedSecret {
    fn from(secret: Secret<'_>) -> Self {
        match secret {
            Secret::Key(key) => key.clone().into(),
            Secret::Passphrase(passphrase) => passphrase.clone().into(),
            Secret::Keyring(keyring) => keyring.clone().into(),
        }
    }
}

impl From<MasterKey> for OwnedSecret {
    fn from(key: MasterKey) -> Self {
        Self::Key(key)
    }
}

impl From<Passphrase> for OwnedSecret {
    fn from(passphrase: Passphrase) -> Self {
        Self::Passphrase(passphrase)
    }
}

impl From<Keyring> for OwnedSecret {
    fn from(keyring: Keyring) -> Self {
        Self::Keyring(keyring)
    }
}
