//! Errors of [`object_store`] around those of [`palladion_file`].

use std::fmt;

use object_store::path::Path;

/// The name of the store in errors.
const STORE: &str = "EncryptedStore";

/// Returns the error of the encrypted file in an error of the store, if it comes from there.
///
/// ```
/// use object_store::{ObjectStoreExt, memory::InMemory};
/// use palladion_file::{Error, MasterKey};
/// use palladion_object_store::{EncryptedStore, file_error};
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let plain = InMemory::new();
/// plain.put(&"notes".into(), "not encrypted, and longer than a header ".repeat(4).into()).await?;
/// let store = EncryptedStore::new(plain, MasterKey::generate()?);
/// let error = store.get(&"notes".into()).await.unwrap_err();
/// assert!(matches!(file_error(&error), Some(Error::NotPalladion)));
/// assert!(error.to_string().ends_with("notes: this is not a Palladion file"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn file_error(error: &object_store::Error) -> Option<&palladion_file::Error> {
    let mut error: &(dyn std::error::Error + 'static) = error;
    loop {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        error = error.source()?;
    }
}

/// An error with the path of its object.
#[derive(Debug)]
struct Failed<E> {
    location: Path,
    error: E,
}

impl<E: fmt::Display> fmt::Display for Failed<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.error)
    }
}

impl<E: std::error::Error + 'static> std::error::Error for Failed<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// An error about an object as one of the store.
pub(crate) fn failed(
    location: &Path,
    error: impl std::error::Error + Send + Sync + 'static,
) -> object_store::Error {
    other(Failed { location: location.clone(), error })
}

pub(crate) fn other(
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> object_store::Error {
    object_store::Error::Generic { store: STORE, source: source.into() }
}
