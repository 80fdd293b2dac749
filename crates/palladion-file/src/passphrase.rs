//! Passphrases.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use palladion::subtle::ConstantTimeEq;
use zeroize::{ZeroizeOnDrop, Zeroizing};

use crate::error::Error;
use crate::kdf::KdfParams;
use crate::master_key::{KEY_FILE_PREFIX, MasterKey};

/// A passphrase: any bytes, taken as they are (no Unicode normalisation). Wiped on drop. Encryption
/// refuses an empty one with [`Error::EmptyPassphrase`].
///
/// ```
/// use palladion_file::Passphrase;
///
/// let passphrase = Passphrase::new("correct horse battery staple");
/// ```
#[derive(Clone)]
pub struct Passphrase {
    bytes: Zeroizing<Vec<u8>>,
    /// The keys that were stretched last, the oldest first. Clones share them.
    stretched: Arc<Mutex<VecDeque<Stretched>>>,
    is_interrupted: Option<Interrupt>,
}

type Interrupt = Arc<dyn Fn() -> bool + Send + Sync>;

/// What a passphrase became for one salt.
struct Stretched {
    salt: [u8; 32],
    params: KdfParams,
    /// Boxed, so that nothing copies it when the list grows.
    key: Box<MasterKey>,
}

/// The most keys that a passphrase keeps.
const KEPT: usize = 1024;

impl Passphrase {
    /// Takes ownership of a passphrase.
    pub fn new(passphrase: impl Into<Vec<u8>>) -> Self {
        let bytes = Zeroizing::new(passphrase.into());
        Self { bytes, stretched: Arc::default(), is_interrupted: None }
    }

    /// Returns the passphrase with a function that can end the wait for Argon2id. It is called
    /// several times a second, and once it returns true, the waiting call fails with
    /// [`Error::Cancelled`]. Argon2id itself cannot be stopped: a thread of its own finishes it.
    #[must_use]
    pub fn interruptible(self, is_interrupted: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { is_interrupted: Some(Arc::new(is_interrupted)), ..self }
    }

    /// Derives a master key from the passphrase and a salt with Argon2id, for formats other than
    /// Palladion's own, which does this itself. The salt is public, and every use needs a different
    /// one. The passphrase and its clones keep the last 1024 keys, so opening a file again takes no
    /// time.
    ///
    /// # Errors
    ///
    /// [`Error::KdfMemory`], and [`Error::Cancelled`] after [`interruptible`](Self::interruptible).
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
        let is_it = |known: &&Stretched| known.salt == *salt && known.params == params;
        if let Some(known) = self.stretched().iter().find(is_it) {
            return Ok(MasterKey::clone(&known.key));
        }
        let key = self.stretch_anew(*salt, params)?;
        let copy = MasterKey::clone(&key);
        let mut stretched = self.stretched();
        if stretched.len() == KEPT {
            stretched.pop_front();
        }
        stretched.push_back(Stretched { salt: *salt, params, key });
        Ok(copy)
    }

    fn stretched(&self) -> MutexGuard<'_, VecDeque<Stretched>> {
        self.stretched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stretch_anew(&self, salt: [u8; 32], params: KdfParams) -> Result<Box<MasterKey>, Error> {
        let bytes = self.bytes.clone();
        let stretch = move || {
            let mut key = Box::new(MasterKey::from([0; 32]));
            params.stretch(&bytes, &salt, key.as_mut_bytes()).map(|()| key)
        };
        match &self.is_interrupted {
            Some(is_interrupted) => interruptible(stretch, is_interrupted.as_ref()),
            None => stretch(),
        }
    }

    /// Returns whether it has no bytes. No file can be encrypted with such a passphrase.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns what it is in truth, if it is the first line of a key or of a file for age. For
    /// those who encrypt: a public key as the passphrase would let everyone open the file who has
    /// it. Encryption itself does not refuse it, and to open a file, any passphrase may be right.
    ///
    /// ```
    /// use palladion_file::{Mistaken, Passphrase};
    ///
    /// assert_eq!(Passphrase::new("age1ql3z7hjy").mistaken(), Some(Mistaken::Recipient));
    /// assert_eq!(Passphrase::new("age, ever so slowly").mistaken(), None);
    /// ```
    #[must_use]
    pub fn mistaken(&self) -> Option<Mistaken> {
        let begins = |start: &&str| {
            let own = self.bytes.get(..start.len());
            own.is_some_and(|own| own.ct_eq(start.as_bytes()).into())
        };
        let find =
            |(what, starts): &(Mistaken, &[&str])| starts.iter().any(begins).then_some(*what);
        MISTAKEN.iter().find_map(find)
    }
}

/// What people take for a passphrase by mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mistaken {
    /// A master key, as it is in its file.
    Key,
    /// A secret key of age or SSH, or the first line of its file.
    Identity,
    /// A public key of age or SSH.
    Recipient,
}

/// How they begin.
const MISTAKEN: [(Mistaken, &[&str]); 3] = [
    (Mistaken::Key, &[KEY_FILE_PREFIX]),
    (
        Mistaken::Identity,
        &[
            "AGE-SECRET-KEY-",
            "AGE-PLUGIN-",
            "# public key: age1",
            "# created: ",
            "age-encryption.org/v1",
            "-----BEGIN ",
        ],
    ),
    (
        Mistaken::Recipient,
        &["age1", "ssh-ed25519 ", "ssh-rsa ", "ssh-dss ", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-"],
    ),
];

/// Says it with an article.
impl fmt::Display for Mistaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mistaken::Key => "a key",
            Mistaken::Identity => "an identity",
            Mistaken::Recipient => "a recipient",
        })
    }
}

/// Does the work on another thread, which is left alone with it if the caller is interrupted.
#[cfg(not(target_family = "wasm"))]
fn interruptible<T: Send + 'static>(
    work: impl Fn() -> Result<T, Error> + Clone + Send + 'static,
    is_interrupted: &(dyn Fn() -> bool + Send + Sync),
) -> Result<T, Error> {
    use std::sync::mpsc::{RecvTimeoutError, sync_channel};
    /// How often to ask whether the caller is interrupted.
    const LOOK: std::time::Duration = std::time::Duration::from_millis(50);

    let (sender, result) = sync_channel(1);
    let there = work.clone();
    let send = move || drop(sender.send(there()));
    if std::thread::Builder::new().spawn(send).is_err() {
        return work(); // the system allows no more threads
    }
    loop {
        match result.recv_timeout(LOOK) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Timeout) if !is_interrupted() => {}
            Err(RecvTimeoutError::Timeout) => return Err(Error::Cancelled),
            Err(RecvTimeoutError::Disconnected) => panic!("Argon2id panicked"),
        }
    }
}

/// There are no threads.
#[cfg(target_family = "wasm")]
fn interruptible<T>(
    work: impl Fn() -> Result<T, Error>,
    _: &(dyn Fn() -> bool + Send + Sync),
) -> Result<T, Error> {
    work()
}

impl ZeroizeOnDrop for Passphrase {}

/// Compares in constant time for passphrases of one length.
impl PartialEq for Passphrase {
    fn eq(&self, other: &Self) -> bool {
        self.bytes.ct_eq(&other.bytes).into()
    }
}

impl Eq for Passphrase {}

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparison() {
        assert!(Passphrase::new("one") == Passphrase::new("one"));
        for other in ["", "on", "One", "one\0"] {
            assert!(Passphrase::new("one") != Passphrase::new(other), "{other:?}");
        }
    }

    #[test]
    fn mistaken() {
        let mistaken = |text: &str| Passphrase::new(text).mistaken();
        let key = MasterKey::from([7; 32]).to_key_file();
        assert_eq!(mistaken(&key), Some(Mistaken::Key));
        for text in ["AGE-SECRET-KEY-1QQ", "-----BEGIN OPENSSH PRIVATE KEY-----"] {
            assert_eq!(mistaken(text), Some(Mistaken::Identity), "{text}");
        }
        for text in ["age1", "age1pq1x", "ssh-ed25519 AAAA", "sk-ssh-ed25519@openssh.com AAAA"] {
            assert_eq!(mistaken(text), Some(Mistaken::Recipient), "{text}");
        }
        for text in ["", "age", "Age1", " age1", "ssh-agent of mine", "palladion", "# public key"] {
            assert_eq!(mistaken(text), None, "{text}");
        }
    }

    #[test]
    fn stretched_once() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let interrupted = Arc::new(AtomicBool::new(false));
        let flag = interrupted.clone();
        let plain = Passphrase::new("words");
        let passphrase = plain.clone().interruptible(move || flag.load(Ordering::Relaxed));
        let stretch = |salt: u64, params: KdfParams| {
            let mut bytes = [0; 32];
            bytes[..8].copy_from_slice(&salt.to_le_bytes());
            passphrase.stretch(&bytes, params)
        };
        let cheap = KdfParams::new(8, 1, 1).unwrap();
        let first = stretch(0, cheap).unwrap();
        assert_eq!(plain.stretched().len(), 1);
        assert_eq!(stretch(0, cheap).unwrap(), first);
        assert_eq!(plain.stretched().len(), 1);
        assert_ne!(stretch(0, KdfParams::new(8, 2, 1).unwrap()).unwrap(), first);
        for salt in 1..KEPT as u64 + 10 {
            stretch(salt, cheap).unwrap();
        }
        assert_eq!(plain.stretched().len(), KEPT);
        assert_eq!(stretch(0, cheap).unwrap(), first);
        // Argon2id takes seconds for this, and does not end it.
        interrupted.store(true, Ordering::Relaxed);
        let costly = KdfParams::new(64 * 1024, 50, 1).unwrap();
        assert!(matches!(stretch(0, costly), Err(Error::Cancelled)));
        assert_eq!(stretch(0, cheap).unwrap(), first);
    }
}
