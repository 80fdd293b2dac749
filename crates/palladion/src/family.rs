//! The two families: AEGIS-128 (AEGIS-128L and AEGIS-128X) and AEGIS-256 (AEGIS-256 and AEGIS-256X).

use zeroize::ZeroizeOnDrop;

use crate::low::memory::{Wiped, WipedBytes};
use crate::types::{Key, Nonce};

/// What the two families differ in. Sealed: implemented by [`Aegis128`] and [`Aegis256`] alone.
pub trait Family: sealed::Sealed + Copy + Send + Sync {
    /// The key.
    type Key: AsRef<[u8]>
        + Clone
        + Send
        + Sync
        + ZeroizeOnDrop
        + for<'a> TryFrom<&'a [u8], Error = crate::Error>;
    /// The nonce, as long as the key.
    type Nonce: AsRef<[u8]> + Copy + Default + Send + Sync + for<'a> TryFrom<&'a [u8], Error = crate::Error>;
    /// Bytes in a key and in a nonce.
    const KEY_LEN: usize;
    /// The name of the cipher of degree 1.
    const NAME: &'static str;
    /// The name of the parallel mode, without the degree.
    const NAME_X: &'static str;

    #[doc(hidden)]
    const INDEX: usize;
    #[doc(hidden)]
    const WORDS: usize;
    #[doc(hidden)]
    type Memory<const D: usize>: WipedBytes;
    #[doc(hidden)]
    type Rate<const D: usize>: WipedBytes;
    #[doc(hidden)]
    #[cfg(feature = "aead")]
    type Size: ::aead::array::ArraySize;
    #[doc(hidden)]
    #[cfg(feature = "aead")]
    fn key_from_array(key: &::aead::array::Array<u8, Self::Size>) -> Self::Key;
    #[doc(hidden)]
    #[cfg(feature = "aead")]
    fn nonce_from_array(nonce: &::aead::array::Array<u8, Self::Size>) -> Self::Nonce;
}

/// AEGIS-128: keys and nonces of 16 bytes, 32 bytes per lane and step (RFC 10032 §3, §5.4).
#[derive(Clone, Copy, Debug)]
pub enum Aegis128 {}

/// AEGIS-256: keys and nonces of 32 bytes, 16 bytes per lane and step (RFC 10032 §4, §5.5).
#[derive(Clone, Copy, Debug)]
pub enum Aegis256 {}

mod sealed {
    pub trait Sealed: 'static {}
    impl Sealed for super::Aegis128 {}
    impl Sealed for super::Aegis256 {}
}

impl Family for Aegis128 {
    type Key = Key<16>;
    type Nonce = Nonce<16>;
    const KEY_LEN: usize = 16;
    const NAME: &'static str = "AEGIS-128L";
    const NAME_X: &'static str = "AEGIS-128X";
    const INDEX: usize = 0;
    const WORDS: usize = 8;
    type Memory<const D: usize> = Wiped<{ 16 * 8 }, D>;
    type Rate<const D: usize> = Wiped<32, D, u64>;
    #[cfg(feature = "aead")]
    type Size = ::aead::consts::U16;
    #[cfg(feature = "aead")]
    fn key_from_array(key: &::aead::array::Array<u8, Self::Size>) -> Self::Key {
        key.0.into()
    }
    #[cfg(feature = "aead")]
    fn nonce_from_array(nonce: &::aead::array::Array<u8, Self::Size>) -> Self::Nonce {
        nonce.0.into()
    }
}

impl Family for Aegis256 {
    type Key = Key<32>;
    type Nonce = Nonce<32>;
    const KEY_LEN: usize = 32;
    const NAME: &'static str = "AEGIS-256";
    const NAME_X: &'static str = "AEGIS-256X";
    const INDEX: usize = 1;
    const WORDS: usize = 6;
    type Memory<const D: usize> = Wiped<{ 16 * 8 }, D>; // six words, or eight of planes with unused bits
    type Rate<const D: usize> = Wiped<16, D, u64>;
    #[cfg(feature = "aead")]
    type Size = ::aead::consts::U32;
    #[cfg(feature = "aead")]
    fn key_from_array(key: &::aead::array::Array<u8, Self::Size>) -> Self::Key {
        key.0.into()
    }
    #[cfg(feature = "aead")]
    fn nonce_from_array(nonce: &::aead::array::Array<u8, Self::Size>) -> Self::Nonce {
        nonce.0.into()
    }
}
