//! Message authentication codes (RFC 10032 §8).

use core::fmt;

use zeroize::ZeroizeOnDrop;

use crate::family::Family;
use crate::low::memory::{WipedBytes, leaving_nothing, wipe};
use crate::low::{self, State, Variant};
use crate::types::{Expected, Tag};
use crate::{Error, limits};

/// AEGISMAC: authenticates data with a key, without encrypting it.
///
/// Use it through one of the names: [`Aegis128LMac`](crate::Aegis128LMac), [`Aegis128X2Mac`](crate::Aegis128X2Mac),
/// [`Aegis128X4Mac`](crate::Aegis128X4Mac), [`Aegis256Mac`](crate::Aegis256Mac),
/// [`Aegis256X2Mac`](crate::Aegis256X2Mac), [`Aegis256X4Mac`](crate::Aegis256X4Mac). All variants give different
/// tags, and so do the two tag lengths.
///
/// Unlike in encryption the same key *and nonce* may serve any number of messages; the nonce may be all zeros
/// ([`Default`]). But the same key must not be used for encryption too, the tag must not serve as a derived key, and
/// this is not a hash function: who knows the key can make collisions (§8).
///
/// One combination does not compile: `Aegis128XMac<D, 16>` with an odd `D` above 1. The standard's FinalizeMac takes the
/// lanes' tags in pairs there and leaves the last one out, so that lane's data would not be authenticated.
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
    /// The state before any data, for `reset`. With it there is no need to keep the key.
    initial: Data<F, D>,
    data: Data<F, D>,
}

impl<F: Family, const D: usize, const T: usize> Mac<F, D, T> {
    /// Bytes in a key and in a nonce: 16 or 32.
    pub const KEY_LEN: usize = F::KEY_LEN;
    /// Bytes in a tag: 16 or 32.
    pub const TAG_LEN: usize = T;

    /// Begins with no data. To authenticate many messages with the same key and nonce, clone it or
    /// [`reset`](Self::reset) it: that saves the initialisation.
    ///
    /// # Errors
    ///
    /// [`Error::Backend`].
    pub fn new(key: &F::Key, nonce: &F::Nonce) -> Result<Self, Error> {
        const { low::check_mac(F::INDEX, D, T) };
        leaving_nothing::<Self, _>(|| {
            let initial = Data::new(key, nonce)?;
            Ok(Self { data: initial.clone(), initial })
        })
    }

    /// Takes more data, in pieces of any size.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`] if there is more than the limit in all; then nothing is taken.
    pub fn update(&mut self, data: &[u8]) -> Result<(), Error> {
        self.data.update(data)
    }

    /// The tag of all the data.
    #[must_use]
    pub fn finalize(mut self) -> Tag<T> {
        let mut tag = Tag::zeroed();
        self.data.finalize(tag.as_mut_bytes());
        tag
    }

    /// Compares the tag of all the data with one that came along, in constant time.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if they differ.
    pub fn verify(mut self, tag: &Tag<T>) -> Result<(), Error> {
        let mut expected = Expected::default();
        self.data.finalize(expected.as_mut_bytes());
        expected.verify(tag)
    }

    /// Forgets all data and begins anew with the same key and nonce.
    pub fn reset(&mut self) {
        self.data.copy_from(&self.initial);
    }

    /// The tag of some data, in one call.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`], [`Error::Backend`].
    pub fn mac(key: &F::Key, nonce: &F::Nonce, data: &[u8]) -> Result<Tag<T>, Error> {
        let mut tag = Tag::zeroed();
        Self::compute(key, nonce, data, tag.as_mut_bytes())?;
        Ok(tag)
    }

    /// Compares the tag of some data with one that came along, in one call and in constant time.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if they differ; [`Error::TooLong`], [`Error::Backend`].
    pub fn verify_mac(key: &F::Key, nonce: &F::Nonce, data: &[u8], tag: &Tag<T>) -> Result<(), Error> {
        let mut expected = Expected::default();
        Self::compute(key, nonce, data, expected.as_mut_bytes())?;
        expected.verify(tag)
    }

    fn compute(key: &F::Key, nonce: &F::Nonce, data: &[u8], tag: &mut [u8; T]) -> Result<(), Error> {
        low::mac::<F, D, T>(key, nonce, data, tag)
    }
}

impl<F: Family, const D: usize, const T: usize> Clone for Mac<F, D, T> {
    fn clone(&self) -> Self {
        leaving_nothing::<Self, _>(|| Self { initial: self.initial.clone(), data: self.data.clone() })
    }
}

impl<F: Family, const D: usize, const T: usize> ZeroizeOnDrop for Mac<F, D, T> {}

impl<F: Family, const D: usize, const T: usize> fmt::Debug for Mac<F, D, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mac").field("bytes", &self.data.len()).finish_non_exhaustive()
    }
}

/// A state that absorbs data in pieces of any size.
#[derive(Clone)]
pub(crate) struct Data<F: Family, const D: usize>(State<F, D, Progress<F, D>>);

/// How far the data has come.
#[derive(Clone)]
struct Progress<F: Family, const D: usize> {
    /// The beginning of a step that is not complete.
    step: F::Rate<D>,
    len: u64,
}

impl<F: Family, const D: usize> Progress<F, D> {
    /// Bytes of the current step that have come: always less than the rate.
    fn used(&self) -> usize {
        (self.len % F::Rate::<D>::LEN as u64) as usize
    }
}

impl<F: Family, const D: usize> Data<F, D> {
    pub(crate) fn new(key: &F::Key, nonce: &F::Nonce) -> Result<Self, Error> {
        let mut data = Self::zeroed(Variant::new()?);
        data.begin(key, nonce);
        Ok(data)
    }

    /// Memory for it, to begin in.
    #[inline(always)] // so that it is made where it stays
    pub(crate) fn zeroed(variant: Variant<F, D>) -> Self {
        Self(State::zeroed(variant, Progress { step: F::Rate::zeroed(), len: 0 }))
    }

    /// Begins with no data, whatever there was.
    #[inline(always)]
    pub(crate) fn begin(&mut self, key: &F::Key, nonce: &F::Nonce) {
        let Self(state) = self;
        state.with.len = 0;
        state.begin(key, nonce, None);
    }

    /// Becomes what another one is.
    fn copy_from(&mut self, other: &Self) {
        let (Self(state), Self(other)) = (self, other);
        state.copy_from(other);
        state.with.step.as_mut().copy_from_slice(other.with.step.as_ref());
        state.with.len = other.with.len;
    }

    /// Takes more data. Does nothing if it fails.
    #[inline(always)]
    pub(crate) fn update(&mut self, data: &[u8]) -> Result<(), Error> {
        let Self(state) = self;
        let used = state.with.used();
        state.with.len = limits::check("data", state.with.len, data.len())?;
        if used == 0 && data.len().is_multiple_of(F::Rate::<D>::LEN) {
            state.absorb(data);
        } else {
            self.take(used, data);
        }
        Ok(())
    }

    /// Takes data that does not begin or end with a step. So many bytes of a step have come before. A function of its own, so that
    /// whole steps need not wait for what it does at its beginning.
    #[inline(never)]
    fn take(&mut self, used: usize, mut data: &[u8]) {
        let Self(state) = self;
        let rate = F::Rate::<D>::LEN;
        if used > 0 {
            let (fill, rest) = data.split_at(data.len().min(rate - used));
            state.with.step.as_mut()[used..used + fill.len()].copy_from_slice(fill);
            data = rest;
            if used + fill.len() == rate {
                state.absorb_own(|with| with.step.as_ref());
            }
        }
        // (Nothing is left if the step that has begun is still not complete.)
        let (whole, rest) = data.split_at(data.len() - data.len() % rate);
        state.absorb(whole);
        if !rest.is_empty() {
            state.with.step.as_mut()[..rest.len()].copy_from_slice(rest);
        }
    }

    /// The tag. The state is spent.
    pub(crate) fn finalize<const T: usize>(&mut self, tag: &mut [u8; T]) {
        let Self(state) = self;
        state.absorb_own(|with| &with.step.as_ref()[..with.used()]);
        state.finalize_mac(state.with.len, tag);
    }

    /// Bytes of data until now.
    pub(crate) fn len(&self) -> u64 {
        self.0.with.len
    }

    /// Wipes it: nothing that it computes from now on is of any use.
    pub(crate) fn wipe(&mut self) {
        self.0.wipe();
        wipe(self.0.with.step.as_mut());
    }
}
