//! The interface of crate [`aegis`](https://docs.rs/aegis/0.9.20) 0.9, with
//! [Palladion](https://docs.rs/palladion)'s implementation: the same names, types, features, errors
//! and bytes, in pure Rust that detects the CPU at run time. It needs no C compiler and no
//! `RUSTFLAGS`.
//!
//! There are two ways to use it. **In a whole program**, including the crates it depends on, add to
//! the `Cargo.toml` of the workspace:
//!
//! ```toml
//! [patch.crates-io]
//! aegis = { git = "https://github.com/palladion/palladion" }
//! ```
//!
//! Cargo accepts only a package that is also called `aegis`, so the repository contains one that
//! re-exports this crate. `cargo tree -i aegis` shows whether it is in use.
//!
//! **In one crate**, replace the dependency. The code stays as it is, because the library of this
//! package is called `aegis`:
//!
//! ```toml
//! [dependencies]
//! aegis = { package = "palladion-aegis", version = "0.1" }
//! ```
//!
//! New code should use the crate `palladion`, which has batches, random nonces, keys that are
//! wiped, and a choice of backends.
//! [docs/drop-in.md](https://github.com/palladion/palladion/blob/main/docs/drop-in.md) shows both
//! side by side, and lists the differences from crate `aegis`.
//!
//! # Example
//!
//! ```
//! use aegis::aegis128l::Aegis128L;
//!
//! let (key, nonce) = ([1; 16], [2; 16]); // never use a nonce twice with the same key
//! let mut buffer = *b"attack at dawn";
//! let tag = Aegis128L::<16>::new(&key, &nonce).encrypt_in_place(&mut buffer, b"header");
//!
//! Aegis128L::<16>::new(&key, &nonce).decrypt_in_place(&mut buffer, &tag, b"header")?;
//! assert_eq!(&buffer, b"attack at dawn");
//! # Ok::<(), aegis::Error>(())
//! ```
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `std` (default) | functions that return a `Vec`; the variable `PALLADION_BACKEND` |
//! | `raf` | `raf`: encrypted files with random access |
//! | `raf-core` | the same without the system's random numbers |
//! | `js` | the system's random numbers in a browser |
//! | `rustcrypto-traits-06` | the traits of crate `aead` 0.6, in [`compat`] |
//!
//! The other features of crate `aegis` choose an implementation, such as `pure-rust`. They are
//! accepted and do nothing.
//!
//! # Panics
//!
//! All functions panic if the environment variable `PALLADION_BACKEND` names no backend, or one
//! that this CPU does not support.

#![no_std]

#[cfg(feature = "std")]
extern crate std;

use core::fmt;

mod message;
#[cfg(test)]
mod tests;
mod variant;

pub mod compat;
#[cfg(feature = "raf-core")]
pub mod raf;

/// Why an operation on a message failed.
#[derive(Debug, Clone, Copy, Eq, PartialEq)]
pub enum Error {
    /// The tag does not match: the key, nonce, associated data, ciphertext or tag is not the one
    /// used for encryption.
    InvalidTag,
    /// The rest of the output buffer is shorter than the piece of ciphertext.
    OutputBufferTooSmall,
    /// The message would be longer than 2^61 - 1 bytes.
    MessageTooLong,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidTag => "Invalid tag",
            Self::OutputBufferTooSmall => "Output buffer too small",
            Self::MessageTooLong => "Message too long",
        })
    }
}

impl core::error::Error for Error {}

variant::variants! {
    aegis128l, Aegis128L, Aegis128LMac: Aegis128 of degree 1, 16 bytes, "AEGIS-128L";
    aegis128x2, Aegis128X2, Aegis128X2Mac: Aegis128 of degree 2, 16 bytes, "AEGIS-128X2";
    aegis128x4, Aegis128X4, Aegis128X4Mac: Aegis128 of degree 4, 16 bytes, "AEGIS-128X4";
    aegis256, Aegis256, Aegis256Mac: Aegis256 of degree 1, 32 bytes, "AEGIS-256";
    aegis256x2, Aegis256X2, Aegis256X2Mac: Aegis256 of degree 2, 32 bytes, "AEGIS-256X2";
    aegis256x4, Aegis256X4, Aegis256X4Mac: Aegis256 of degree 4, 32 bytes, "AEGIS-256X4";
}

/// Tests the examples in the README and in docs/drop-in.md.
#[cfg(all(doctest, feature = "std"))]
mod documents {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/drop-in.md")]
    struct DropIn;
}
