//! The secrets that open files, and the key of a file with slots.

use std::error;
use std::fmt;
use std::sync::Arc;

use palladion::subtle::ConstantTimeEq;
use zeroize::{ZeroizeOnDrop, Zeroizing};

use crate::error::Error;
use crate::master_key::MasterKey;
use crate::passphrase::Passphrase;

/// The key of a file with key slots: 32 random bytes.
#[derive(Clone)]
pub struct FileKey(pub(crate) Zeroizing<[u8; 32]>);

impl FileKey {
    /// Generates a key.
    ///
    /// # Errors
    ///
    /// [`Error::NoRandomness`].
    pub fn generate() -> Result<Self, Error> {
        let mut key = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *key).map_err(Error::no_randomness)?;
        Ok(Self(key))
    }

    /// Returns the bytes, which are all that is needed to read and to change the file.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for FileKey {
    fn from(key: [u8; 32]) -> Self {
        Self(Zeroizing::new(key))
    }
}

/// Compares in constant time.
impl PartialEq for FileKey {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes().ct_eq(other.as_bytes()).into()
    }
}

impl Eq for FileKey {}

impl ZeroizeOnDrop for FileKey {}

impl fmt::Debug for FileKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileKey(..)")
    }
}

/// Opens slots that age's recipients were used for, as crate `palladion-recipients` does.
pub trait Unlock: Send + Sync {
    /// Decrypts an age file that [`Lock`](crate::slots::Lock) returned, or another program wrote.
    /// `None` means that it is for others. This is called for each slot of that kind, at most 16
    /// times for a file.
    ///
    /// # Errors
    ///
    /// Whatever went wrong. The other slots are tried all the same; if none opens, the first error
    /// becomes [`Error::Slot`].
    fn unlock(
        &self,
        age_file: &[u8],
    ) -> Result<Option<FileKey>, Box<dyn error::Error + Send + Sync>>;
}

/// Several secrets, any of which may open a file. It is a [`Secret`](crate::Secret), so that each
/// reader takes it.
///
/// It can also [bind](Self::bind) files to a place.
///
/// It encrypts with its first master key, or with its first passphrase if it has no key. To change
/// keys, put the new one first: old files still open.
///
/// ```
/// use palladion_file::{Decryptor, Encryptor, Error, Keyring, MasterKey};
///
/// let (old, new) = (MasterKey::generate()?, MasterKey::generate()?);
/// let mut file = Vec::new();
/// Encryptor::new(&old).run(&b"text"[..], &mut file)?;
///
/// let keyring = Keyring::default().key(new).key(old);
/// Decryptor::new(&keyring).run(&file[..], Vec::new())?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Keyring {
    pub(crate) keys: Vec<MasterKey>,
    pub(crate) passphrases: Vec<Passphrase>,
    pub(crate) unlocks: Vec<Arc<dyn Unlock>>,
    pub(crate) opens_slots: bool,
    pub(crate) place: Option<Vec<u8>>,
}

impl Keyring {
    /// Adds a master key.
    #[must_use]
    pub fn key(mut self, key: MasterKey) -> Self {
        if self.keys.len() == self.keys.capacity() {
            // What is dropped is wiped. A vector that grows by itself leaves copies behind.
            let mut longer = Vec::with_capacity(2 * self.keys.len() + 1);
            longer.extend(self.keys.iter().cloned());
            self.keys = longer;
        }
        self.keys.push(key);
        self
    }

    /// Adds a passphrase.
    #[must_use]
    pub fn passphrase(mut self, passphrase: Passphrase) -> Self {
        self.passphrases.push(passphrase);
        self
    }

    /// Also opens files with key slots, which are [refused](Error::UnsupportedHeader) otherwise:
    /// everyone who can open such a file, or could ever open one with a slot for the same secret,
    /// can have written it.
    ///
    /// Readers from the start use the head of the file. If that is damaged, or an interrupted
    /// change left it with other slots than the copy at the end,
    /// [`SeekReader`](crate::SeekReader) may still open the file, and
    /// [`Rewrap`](crate::slots::Rewrap) repair it.
    #[must_use]
    pub fn open_slots(mut self) -> Self {
        self.opens_slots = true;
        self
    }

    /// Whether [`open_slots`](Self::open_slots) was called.
    #[must_use]
    pub fn opens_slots(&self) -> bool {
        self.opens_slots
    }

    /// Binds files to a place: a path, a version, a tenant, or any bytes that say which file is
    /// meant, at least one. Text is UTF-8. The place is not stored: a reader must give the same
    /// bytes. So nobody can swap two files under one key, or move one, without an error:
    ///
    /// * [`Error::WrongPlace`]: the file is bound to another place;
    /// * [`Error::NotBound`]: the file is bound to no place, but the keyring has one;
    /// * [`Error::Bound`]: the file is bound to a place, but the keyring has none;
    /// * [`Error::EmptyPlace`]: the place is empty.
    ///
    /// It hides nothing, and anyone with the key can make a file for any place. An older file for
    /// the same place is still accepted, unless the place names the version.
    ///
    /// ```
    /// use palladion_file::{Decryptor, Encryptor, Error, Keyring, MasterKey};
    ///
    /// let keyring = Keyring::default().key(MasterKey::generate()?);
    /// let (alice, bob) = (keyring.clone().bind("home/alice"), keyring.clone().bind("home/bob"));
    /// let mut file = Vec::new();
    /// Encryptor::new(&alice).run(&b"text"[..], &mut file)?;
    ///
    /// Decryptor::new(&alice).run(&file[..], Vec::new())?;
    /// let error = |keyring| Decryptor::new(keyring).run(&file[..], Vec::new()).unwrap_err();
    /// assert!(matches!(error(&bob), Error::WrongPlace));
    /// assert!(matches!(error(&keyring), Error::Bound));
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn bind(mut self, place: impl Into<Vec<u8>>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// Adds what opens slots for age.
    #[must_use]
    pub fn unlock(mut self, unlock: impl Unlock + 'static) -> Self {
        self.unlocks.push(Arc::new(unlock));
        self
    }
}

/// Compares in constant time. What [unlocks](Keyring::unlock) is equal to itself and its clones.
impl PartialEq for Keyring {
    fn eq(&self, other: &Self) -> bool {
        let same = |(one, other): (&Arc<dyn Unlock>, _)| Arc::ptr_eq(one, other);
        self.keys == other.keys
            && self.passphrases == other.passphrases
            && self.unlocks.len() == other.unlocks.len()
            && self.unlocks.iter().zip(&other.unlocks).all(same)
            && self.opens_slots == other.opens_slots
            && self.place == other.place
    }
}

impl Eq for Keyring {}

/// Shows how many secrets there are, and none of them.
impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyring")
            .field("keys", &self.keys.len())
            .field("passphrases", &self.passphrases.len())
            .field("unlocks", &self.unlocks.len())
            .field("is_bound", &self.place.is_some())
            .finish()
    }
}
