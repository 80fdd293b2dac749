//! Which secret encrypts which object.

use std::fmt;

use object_store::path::Path;
use object_store::{Error, Result};
use palladion_file::{MasterKey, Passphrase, Secret};

use crate::error::other;

/// The secret of an object, from a [`MasterKey`] or a [`Passphrase`]. Wiped on drop. Compares in
/// constant time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectSecret {
    /// A master key, usually from a key file.
    Key(MasterKey),
    /// A passphrase. Each object has its own salt, so the first read of every object and every
    /// write run Argon2id, one after another. Prefer keys.
    Passphrase(Passphrase),
}

impl From<MasterKey> for ObjectSecret {
    fn from(key: MasterKey) -> Self {
        Self::Key(key)
    }
}

impl From<Passphrase> for ObjectSecret {
    fn from(passphrase: Passphrase) -> Self {
        Self::Passphrase(passphrase)
    }
}

impl<'a> From<&'a ObjectSecret> for Secret<'a> {
    fn from(secret: &'a ObjectSecret) -> Self {
        match secret {
            ObjectSecret::Key(key) => Secret::Key(key),
            ObjectSecret::Passphrase(passphrase) => Secret::Passphrase(passphrase),
        }
    }
}

impl ObjectSecret {
    /// Returns whether keys take much time and memory to derive.
    pub(crate) fn is_slow(&self) -> bool {
        matches!(self, Self::Passphrase(_))
    }
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type SecretOf = dyn Fn(&Path) -> Result<ObjectSecret, BoxError> + Send + Sync;

/// The secrets of all objects.
pub(crate) enum Secrets {
    One(ObjectSecret),
    ByPath(Box<SecretOf>),
}

impl Secrets {
    pub fn get(&self, location: &Path) -> Result<ObjectSecret> {
        match self {
            Self::One(secret) => Ok(secret.clone()),
            Self::ByPath(secret) => secret(location)
                .map_err(|error| other(format!("{location}: cannot get the secret: {error}"))),
        }
    }

    /// Fails if someone who gets the object at `to` could not decrypt what is at `from`.
    pub fn check_copy(&self, from: &Path, to: &Path) -> Result<()> {
        match self {
            Self::ByPath(_) if self.get(from)? != self.get(to)? => Err(Error::NotSupported {
                source: format!(
                    "cannot copy {from} to {to}: they have different secrets; \
                     get the object and put it to encrypt it anew"
                )
                .into(),
            }),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(..)")
    }
}
