//! Which secret encrypts which object.

use std::fmt;

use object_store::Result;
use object_store::path::Path;
use palladion_file::{OwnedSecret, Secret};

use crate::error::other;

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type SecretOf = dyn Fn(&Path) -> Result<OwnedSecret, BoxError> + Send + Sync;

/// The secrets of all objects.
pub(crate) struct Secrets {
    of: Of,
    /// Whether objects are bound to their paths.
    pub bind: bool,
}

enum Of {
    All(OwnedSecret),
    Path(Box<SecretOf>),
}

impl Secrets {
    pub fn one(secret: OwnedSecret) -> Self {
        Self { of: Of::All(secret), bind: false }
    }

    pub fn by_path(secret: Box<SecretOf>) -> Self {
        Self { of: Of::Path(secret), bind: false }
    }

    pub fn get(&self, location: &Path) -> Result<OwnedSecret> {
        let secret = match &self.of {
            Of::All(secret) => secret.clone(),
            Of::Path(secret) => secret(location)
                .map_err(|error| other(format!("{location}: cannot get the secret: {error}")))?,
        };
        match secret {
            // Lengths and ranges are computed for objects without slots.
            OwnedSecret::Keyring(keyring) if keyring.opens_slots() => Err(other(format!(
                "{location}: a store has no objects with key slots: use a keyring that does not \
                 open them"
            ))),
            secret if self.bind => Ok(Secret::from(&secret).bind(location.as_ref()).into()),
            secret => Ok(secret),
        }
    }

    /// Returns why an object of one path cannot be read at another.
    pub fn differ(&self, one: &Path, other: &Path) -> Result<Option<&'static str>> {
        Ok(match &self.of {
            _ if self.bind && one != other => Some("each object is bound to its path"),
            Of::Path(_) if self.get(one)? != self.get(other)? => {
                Some("they have different secrets")
            }
            _ => None,
        })
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(..)")
    }
}
