//! Which secret encrypts which object.

use std::fmt;

use object_store::Result;
use object_store::path::Path;
use palladion_file::OwnedSecret;

use crate::error::other;

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type SecretOf = dyn Fn(&Path) -> Result<OwnedSecret, BoxError> + Send + Sync;

/// The secrets of all objects.
pub(crate) enum Secrets {
    One(OwnedSecret),
    ByPath(Box<SecretOf>),
}

impl Secrets {
    pub fn get(&self, location: &Path) -> Result<OwnedSecret> {
        let secret = match self {
            Self::One(secret) => secret.clone(),
            Self::ByPath(secret) => secret(location)
                .map_err(|error| other(format!("{location}: cannot get the secret: {error}")))?,
        };
        match secret {
            // Lengths and ranges are computed for objects without slots.
            OwnedSecret::Keyring(keyring) if keyring.opens_slots() => Err(other(format!(
                "{location}: a store has no objects with key slots: use a keyring that does not \
                 open them"
            ))),
            secret => Ok(secret),
        }
    }

    pub fn are_equal(&self, one: &Path, other: &Path) -> Result<bool> {
        match self {
            Self::One(_) => Ok(true),
            Self::ByPath(_) => Ok(self.get(one)? == self.get(other)?),
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(..)")
    }
}
