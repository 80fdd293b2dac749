//! Which secret encrypts which object.

use std::fmt;

use object_store::path::Path;
use object_store::{Error, Result};
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
