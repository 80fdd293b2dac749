//! Authentication without encryption.

use palladion::{Algorithm, any};

use crate::cipher::TAG_LEN;
use crate::error::Error;
use crate::master_key::MasterKey;

/// Authenticates data with AEGIS-MAC under a key derived from a [`MasterKey`], with 32-byte tags.
///
/// Equal data gives equal tags under one key and algorithm. The key is `HKDF-SHA-256(no salt,
/// master key, "palladion mac v1" || algorithm id)`, so it never coincides with the key of a file;
/// the nonce is all zero, which AEGIS-MAC allows. A tag is not a hash: someone without the key
/// cannot check it, and someone with the key can create data for any tag.
///
/// ```
/// use palladion_file::{Algorithm, Mac, MasterKey};
///
/// let key = MasterKey::generate()?;
/// let mut mac = Mac::new(&key, Algorithm::default())?;
/// mac.update(b"any ")?;
/// mac.update(b"pieces")?;
/// let tag = mac.finalize();
///
/// let mut mac = Mac::new(&key, Algorithm::default())?;
/// mac.update(b"any pieces")?;
/// assert!(mac.verify(&tag));
/// # Ok::<(), palladion_file::Error>(())
/// ```
#[derive(Clone)]
pub struct Mac(any::Mac);

impl Mac {
    /// Begins a message.
    pub fn new(key: &MasterKey, algorithm: Algorithm) -> Result<Self, Error> {
        let key = key.mac_key(algorithm);
        let len = algorithm.key_len();
        Ok(Self(any::Mac::new(algorithm, &key[..len], &[0; 32][..len])?))
    }

    /// Adds the next piece.
    pub fn update(&mut self, data: &[u8]) -> Result<(), Error> {
        Ok(self.0.update(data)?)
    }

    /// The tag of all pieces.
    pub fn finalize(self) -> [u8; 32] {
        let mut tag = [0; TAG_LEN];
        // `expect` would format the error with `Debug`: see `Reason`.
        let Ok(()) = self.0.finalize(&mut tag) else { unreachable!("there are such tags") };
        tag
    }

    /// Returns whether this is the tag of all pieces, compared in constant time.
    pub fn verify(self, tag: &[u8; 32]) -> bool {
        self.0.verify(tag).is_ok()
    }
}

impl std::fmt::Debug for Mac {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mac(..)")
    }
}
