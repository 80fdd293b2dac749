//! Message authentication codes (RFC 10032 §8).

use core::fmt;

use zeroize::ZeroizeOnDrop;

use crate::dispatch::Chosen;
use crate::driver::Parameters;
use crate::driver::variant::check_mac;
use crate::interface::error::Error;
use crate::interface::family::Family;
use crate::interface::job::Job;
use crate::interface::session::Session;
use crate::interface::types::{Expected, Tag};

/// AEGISMAC: authenticates data with a key, without encrypting it (RFC 10032 §8).
///
/// Use one of the aliases: [`Aegis128LMac`](crate::Aegis128LMac),
/// [`Aegis128X2Mac`](crate::Aegis128X2Mac), [`Aegis128X4Mac`](crate::Aegis128X4Mac),
/// [`Aegis256Mac`](crate::Aegis256Mac), [`Aegis256X2Mac`](crate::Aegis256X2Mac),
/// [`Aegis256X4Mac`](crate::Aegis256X4Mac). Tags of different variants, and of different lengths,
/// are unrelated.
///
/// Unlike in encryption, the same key *and nonce* may serve any number of messages; the nonce may
/// be all zeros ([`Default`]). Do not use the same key for encryption as well, and do not derive
/// keys from tags. This is not a hash function: anyone who knows the key can find collisions (§8).
///
/// `Aegis128XMac<D, 16>` with an odd `D` above 1 does not compile: the standard combines the tags
/// of the lanes in pairs and leaves out the last lane, so its data would not be authenticated.
///
/// ```
/// use palladion::{Aegis128X2Mac, Key128, Nonce128};
///
/// let key = Key128::from([1; 16]);
/// let mut mac = Aegis128X2Mac::<32>::new(&key, &Nonce128::default())?;
/// mac.update(b"some ")?;
/// mac.update(b"data")?;
/// let tag = mac.finalize();
///
/// assert_eq!(tag, Aegis128X2Mac::<32>::mac(&key, &Nonce128::default(), b"some data")?);
/// # Ok::<(), palladion::Error>(())
/// ```
///
/// ```compile_fail
/// use palladion::{Aegis128XMac, Key128, Nonce128};
/// let tag = Aegis128XMac::<3, 16>::mac(&Key128::from([1; 16]), &Nonce128::default(), b"data");
/// ```
pub struct Mac<F: Family, const D: usize, const T: usize> {
    data: Session<F, D>,
    /// For `reset`.
    key: F::Key,
    nonce: F::Nonce,
}

impl<F: Family, const D: usize, const T: usize> Mac<F, D, T> {
    /// Bytes in a key and in a nonce: 16 or 32.
    pub const KEY_LEN: usize = F::KEY_LEN;
    /// Bytes in a tag: 16 or 32.
    pub const TAG_LEN: usize = T;

    /// Creates a MAC without data. To authenticate many messages with the same key and nonce, clone
    /// it before you add data: each clone saves the initialisation.
    ///
    /// # Errors
    ///
    /// [`Error::Backend`].
    pub fn new(key: &F::Key, nonce: &F::Nonce) -> Result<Self, Error> {
        const { check_mac(<F as Parameters>::INDEX, D, T) };
        let variant = Chosen::new()?;
        // Initialised where it is returned from, because moving it takes as long as some steps.
        let mut mac = Ok(Self { data: Session::zeroed(variant), key: key.clone(), nonce: *nonce });
        if let Ok(mac) = &mut mac {
            mac.reset();
        }
        mac
    }

    /// Adds data, in pieces of any size.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`] if the total would exceed the limit; then nothing is added.
    pub fn update(&mut self, data: &[u8]) -> Result<(), Error> {
        self.data.absorb(data)
    }

    /// Returns the tag of all the data.
    pub fn finalize(mut self) -> Tag<T> {
        let mut tag = Tag::zeroed();
        self.data.finalize_mac_to(tag.as_mut_bytes());
        tag
    }

    /// Compares the tag of all the data with a received tag, in constant time.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if they differ.
    pub fn verify(mut self, tag: &Tag<T>) -> Result<(), Error> {
        let mut expected = Expected::default();
        self.data.finalize_mac_to(expected.as_mut_bytes());
        expected.verify(tag)
    }

    /// Discards all data and starts again with the same key and nonce.
    pub fn reset(&mut self) {
        self.data.begin(&self.key, &self.nonce);
    }

    /// Returns the tag of some data, in one call.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`], [`Error::Backend`].
    pub fn mac(key: &F::Key, nonce: &F::Nonce, data: &[u8]) -> Result<Tag<T>, Error> {
        let inputs = [key.as_ref(), nonce.as_ref(), data];
        Tag::written_by(|tag| Job::<F, D>::mac(inputs, tag).run())
    }

    /// Compares the tag of some data with a received tag, in one call and in constant time.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if they differ; [`Error::TooLong`], [`Error::Backend`].
    pub fn verify_mac(
        key: &F::Key,
        nonce: &F::Nonce,
        data: &[u8],
        tag: &Tag<T>,
    ) -> Result<(), Error> {
        let mut expected = Expected::default();
        let inputs = [key.as_ref(), nonce.as_ref(), data];
        Job::<F, D>::mac(inputs, expected.as_mut_bytes()).run()?;
        expected.verify(tag)
    }
}

impl<F: Family, const D: usize, const T: usize> Clone for Mac<F, D, T> {
    fn clone(&self) -> Self {
        Self { data: self.data.clone(), key: self.key.clone(), nonce: self.nonce }
    }
}

impl<F: Family, const D: usize, const T: usize> ZeroizeOnDrop for Mac<F, D, T> {}

impl<F: Family, const D: usize, const T: usize> fmt::Debug for Mac<F, D, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mac").field("bytes", &self.data.ad_len()).finish_non_exhaustive()
    }
}
