//! AEGIS: fast authenticated encryption, MACs and key streams built from the AES round, as
//! specified in RFC 10032.
//!
//! Constant time on every CPU, `no_std`, no heap needed. The fastest instructions of the CPU are
//! detected at run time: [`backend()`] reports which are in use.
//!
//! ```
//! use palladion::{Aegis256X2, Key256, Nonce256};
//!
//! let key = Key256::from([7; 32]); // with feature "getrandom": Key256::generate()?
//! let cipher = Aegis256X2::with_key(&key);
//! let nonce = Nonce256::from([9; 32]); // never use a nonce twice with the same key
//!
//! let sealed = cipher.seal(&nonce, b"header", b"attack at dawn")?;
//! assert_eq!(cipher.open(&nonce, b"header", &sealed)?, b"attack at dawn");
//! assert!(cipher.open(&nonce, b"another header", &sealed).is_err());
//! # Ok::<(), palladion::Error>(())
//! ```
//!
//! # Which variant?
//!
//! | | key and nonce | use it |
//! |---|---|---|
//! | [`Aegis256X2`] | 32 bytes | **by default**, if both sides use this library; random nonces |
//! | [`Aegis128X2`] | 16 bytes | for speed, if both sides use this library; nonces from a counter |
//! | [`Aegis256`], [`Aegis128L`] | 32, 16 bytes | to interoperate: every implementation has them |
//! | [`Aegis256X4`], [`Aegis128X4`] | 32, 16 bytes | for long messages on CPUs with AVX-512 |
//!
//! Tags are 16 or 32 bytes long. `Aegis256X2::with_key(&key)` creates a cipher with 32-byte tags,
//! the default; `Aegis256X2::<16>::new(&key)` says the length. 16 bytes are enough against forgery.
//! 32 bytes also commit to the key: finding two keys that both open a ciphertext takes about 2^128
//! work, instead of 2^64 with 16 bytes. Use 32 bytes for files, and wherever an attacker may choose
//! keys.
//!
//! # Which nonce?
//!
//! Never use a nonce twice with the same key, not even with other associated data or the other tag
//! length. A repeated nonce reveals the XOR of the two messages and allows forgeries. Use a
//! counter, or random nonces (`Nonce::generate`): any number with the AEGIS-256 family, at most
//! 2^48 per key with the AEGIS-128 family. [`Mac`] is the exception: one nonce may serve for all
//! messages.
//!
//! # Which function?
//!
//! | to | use |
//! |---|---|
//! | encrypt a message | [`Aegis::encrypt_in_place`] and the other methods of [`Aegis`] |
//! | encrypt messages whose nonces are counted for you | [`Sealer`] |
//! | encrypt many messages, such as packets | [`batch`]: up to 1.8 times as fast with VAES |
//! | encrypt a message in pieces | [`Encryptor`], [`Decryptor`] |
//! | authenticate data without encrypting it | [`Mac`] |
//! | generate pseudo-random bytes | [`KeyStream`] |
//! | choose the cipher at run time | [`any`] |
//!
//! # What happens on failure?
//!
//! If a ciphertext does not verify, the call zeroes whatever output it has written and returns
//! [`Error::VerificationFailed`]. Only functions in [`hazmat`] return unverified bytes.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `std` (default) | `alloc`, `std::io::Read` for key streams, variable `PALLADION_BACKEND` |
//! | `alloc` | `seal` and `open`, which return a `Vec`; [`Buffer`] |
//! | `getrandom` | `Key::generate`, `Nonce::generate`, `seal_with_random_nonce` |
//! | `js` | the same for `wasm32-unknown-unknown` in a browser or Node |
//! | `serde` | [`serde`](https://docs.rs/serde) for nonces and tags, hexadecimal in JSON; not for keys |
//! | `aead` | the traits of the crate [`aead`](https://docs.rs/aead) 0.6, which is re-exported |
//! | `any-degree` | AEGIS-128X and AEGIS-256X of degrees other than 1, 2 and 4 |
//!
//! # Build options
//!
//! `--cfg palladion_one_backend` in `RUSTFLAGS` makes a WebAssembly module a fifth of the size: it
//! contains only the best backend, and of that only the kernels that are called.
//!
//! # Speed in development builds
//!
//! `cargo run` and `cargo test` compile dependencies without optimisation: AEGIS is then about 200
//! times slower. Add this to your program's `Cargo.toml`:
//!
//! ```toml
//! [profile.dev.package.palladion]
//! opt-level = 3
//! debug = false
//! debug-assertions = false
//! ```
//!
//! # RustCrypto traits
//!
//! With feature `aead`, every cipher implements `AeadInOut`, `KeyInit` and, with feature `alloc`,
//! `Aead`:
//!
#![cfg_attr(feature = "aead", doc = "```")]
#![cfg_attr(not(feature = "aead"), doc = "```ignore")]
//! use palladion::aead::{Aead, KeyInit, Payload};
//! use palladion::Aegis128L;
//!
//! let cipher = <Aegis128L<16> as KeyInit>::new(&[1; 16].into());
//! let sealed = cipher.encrypt(&[2; 16].into(), Payload { msg: b"message", aad: b"header" })?;
//! let opened = cipher.decrypt(&[2; 16].into(), Payload { msg: &sealed, aad: b"header" })?;
//! assert_eq!(opened, b"message");
//! # Ok::<(), palladion::aead::Error>(())
//! ```
//!
//! The trait's `encrypt_in_place` appends the tag to a vector; [`Aegis::encrypt_in_place`], which
//! hides it, returns the tag. To append to a vector, call [`Aegis::seal_vec`].
//!
//! # Associated data
//!
//! To authenticate several strings, encode them into one unambiguously, for example with their
//! lengths; otherwise ("ab", "c") and ("a", "bc") are the same. To commit to the associated data as
//! well as to the key, pass the SHA-256 hash of the data as `ad` (RFC 10032 §9.1.2).

#![no_std]
#![deny(unsafe_code)] // the layers below the public interface opt out
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

// From the bottom up: each layer imports only from those above it in this list
// (`.ci/check-layers.py`).
#[allow(unsafe_code)]
mod memory;

#[allow(unsafe_code)]
mod block;

#[allow(unsafe_code)]
mod machine;

#[allow(unsafe_code)]
mod soft;

#[allow(unsafe_code)]
mod driver;

#[allow(unsafe_code)]
#[allow(clippy::needless_update)] // `Degrees` has one more field with feature `any-degree`
mod arch;

#[allow(unsafe_code)]
mod dispatch;

mod interface;

#[cfg(all(test, feature = "std", feature = "getrandom"))]
mod every_error;
#[cfg(all(test, feature = "std", palladion_proof))] // `assurance/run proof`
#[allow(unsafe_code)]
mod proof;

#[cfg(feature = "aead")]
pub use ::aead;
pub use ::subtle;
pub use arch::Backend;
pub use arch::timing::with_data_independent_timing;
pub use dispatch::{BackendError, ENVIRONMENT_VARIABLE, backend, set_backend};
pub use interface::algorithm::{Algorithm, UnknownAlgorithm};
#[cfg(feature = "alloc")]
pub use interface::buffer::Buffer;
pub use interface::cipher::Aegis;
pub use interface::error::{Error, MAX_LEN};
pub use interface::mac::Mac;
pub use interface::sealer::Sealer;
pub use interface::stream::{Decryptor, Encryptor, KeyStream};
pub use interface::types::{Key, Key128, Key256, Nonce, Nonce128, Nonce256, Tag};
pub use interface::{any, batch, family, hazmat, historic};

/// AEGIS-128X of degree `D`: 16-byte keys and nonces, `T`-byte tags (RFC 10032 §5.4). `D = 1` is
/// AEGIS-128L.
pub type Aegis128X<const D: usize, const T: usize> = Aegis<family::Aegis128, D, T>;
/// AEGIS-256X of degree `D`: 32-byte keys and nonces, `T`-byte tags (RFC 10032 §5.5). `D = 1` is
/// AEGIS-256.
pub type Aegis256X<const D: usize, const T: usize> = Aegis<family::Aegis256, D, T>;
/// The MAC of AEGIS-128X of degree `D` (RFC 10032 §8).
pub type Aegis128XMac<const D: usize, const T: usize> = Mac<family::Aegis128, D, T>;
/// The MAC of AEGIS-256X of degree `D` (RFC 10032 §8).
pub type Aegis256XMac<const D: usize, const T: usize> = Mac<family::Aegis256, D, T>;
/// The key stream of AEGIS-128X of degree `D` (RFC 10032 §7).
pub type Aegis128XStream<const D: usize> = KeyStream<family::Aegis128, D>;
/// The key stream of AEGIS-256X of degree `D` (RFC 10032 §7).
pub type Aegis256XStream<const D: usize> = KeyStream<family::Aegis256, D>;

macro_rules! names {
    ($(
        $name:ident, $mac:ident, $stream:ident, $sealer:ident:
            $family:ident of $degree:literal, $text:literal;
    )*) => {
        $(
            #[doc = concat!("The cipher ", $text, " with tags of `T` bytes: 16, or 32 by default.")]
            pub type $name<const T: usize = 32> = Aegis<family::$family, $degree, T>;
            #[doc = concat!("The MAC of ", $text, " with tags of `T` bytes: 16, or 32 by default.")]
            pub type $mac<const T: usize = 32> = Mac<family::$family, $degree, T>;
            #[doc = concat!("The key stream of ", $text, ".")]
            pub type $stream = KeyStream<family::$family, $degree>;
            #[doc = concat!("A sealer of ", $text, " with `T`-byte tags: 16, or 32 by default.")]
            pub type $sealer<const T: usize = 32> = Sealer<family::$family, $degree, T>;
        )*
    };
}

names! {
    Aegis128L, Aegis128LMac, Aegis128LStream, Aegis128LSealer:
        Aegis128 of 1, "AEGIS-128L (RFC 10032 §3)";
    Aegis128X2, Aegis128X2Mac, Aegis128X2Stream, Aegis128X2Sealer:
        Aegis128 of 2, "AEGIS-128X2 (RFC 10032 §5.4)";
    Aegis128X4, Aegis128X4Mac, Aegis128X4Stream, Aegis128X4Sealer:
        Aegis128 of 4, "AEGIS-128X4 (RFC 10032 §5.4)";
    Aegis256, Aegis256Mac, Aegis256Stream, Aegis256Sealer:
        Aegis256 of 1, "AEGIS-256 (RFC 10032 §4)";
    Aegis256X2, Aegis256X2Mac, Aegis256X2Stream, Aegis256X2Sealer:
        Aegis256 of 2, "AEGIS-256X2 (RFC 10032 §5.5)";
    Aegis256X4, Aegis256X4Mac, Aegis256X4Stream, Aegis256X4Sealer:
        Aegis256 of 4, "AEGIS-256X4 (RFC 10032 §5.5)";
}

/// Tests the examples in the READMEs and in docs/rust.md.
#[cfg(all(doctest, feature = "alloc", feature = "getrandom"))]
mod documents {
    #[doc = include_str!("../README.md")]
    struct Crate;
    #[doc = include_str!("../../../README.md")]
    struct Project;
    #[doc = include_str!("../../../docs/rust.md")]
    struct Rust;
}
