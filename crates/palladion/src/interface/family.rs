//! The two families: AEGIS-128 (AEGIS-128L and AEGIS-128X) and AEGIS-256 (AEGIS-256 and
//! AEGIS-256X).

use zeroize::ZeroizeOnDrop;

use crate::driver::Parameters;
use crate::interface::types::{Key, Nonce};
use crate::memory::Wiped;

/// A family of ciphers. Sealed: only [`Aegis128`] and [`Aegis256`] implement it.
pub trait Family: sealed::Family {
    /// The type of keys.
    type Key: AsRef<[u8]>
        + Clone
        + Send
        + Sync
        + ZeroizeOnDrop
        + for<'a> TryFrom<&'a [u8], Error = crate::Error>;
    /// The type of nonces, which are as long as keys.
    type Nonce: AsRef<[u8]>
        + AsMut<[u8]>
        + Copy
        + Default
        + Send
        + Sync
        + for<'a> TryFrom<&'a [u8], Error = crate::Error>;
    /// Bytes in a key and in a nonce.
    const KEY_LEN: usize;
    /// The name of the cipher of degree 1.
    const NAME: &'static str;
    /// The name of the parallel mode, without the degree.
    const NAME_X: &'static str;
}

/// The private part of a family.
pub(crate) mod sealed {
    use crate::driver::Parameters;

    /// Seals [`Family`](super::Family).
    pub trait Family: Parameters {
        /// The length of a key, for the traits of the crate `aead`.
        #[cfg(feature = "aead")]
        type AeadSize: ::aead::array::ArraySize;
    }
}

/// AEGIS-128: 16-byte keys and nonces, 32 bytes per lane and step (RFC 10032 §3, §5.4).
#[derive(Clone, Copy, Debug)]
pub enum Aegis128 {}

/// AEGIS-256: 32-byte keys and nonces, 16 bytes per lane and step (RFC 10032 §4, §5.5).
#[derive(Clone, Copy, Debug)]
pub enum Aegis256 {}

impl Family for Aegis128 {
    type Key = Key<16>;
    type Nonce = Nonce<16>;
    const KEY_LEN: usize = 16;
    const NAME: &'static str = "AEGIS-128L";
    const NAME_X: &'static str = "AEGIS-128X";
}

impl Parameters for Aegis128 {
    const KEY_BYTES: usize = 16;
    const INDEX: usize = 0;
    const WORDS: usize = 8;
    type Memory<const D: usize> = Wiped<{ 16 * 8 }, D>;
    type Step<const D: usize> = Wiped<32, D, u64>;
}

impl sealed::Family for Aegis128 {
    #[cfg(feature = "aead")]
    type AeadSize = ::aead::consts::U16;
}

impl Family for Aegis256 {
    type Key = Key<32>;
    type Nonce = Nonce<32>;
    const KEY_LEN: usize = 32;
    const NAME: &'static str = "AEGIS-256";
    const NAME_X: &'static str = "AEGIS-256X";
}

impl Parameters for Aegis256 {
    const KEY_BYTES: usize = 32;
    const INDEX: usize = 1;
    const WORDS: usize = 6;
    // Six words, or eight for bit planes with unused bits.
    type Memory<const D: usize> = Wiped<{ 16 * 8 }, D>;
    type Step<const D: usize> = Wiped<16, D, u64>;
}

impl sealed::Family for Aegis256 {
    #[cfg(feature = "aead")]
    type AeadSize = ::aead::consts::U32;
}
