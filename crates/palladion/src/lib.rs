//! AEGIS: authenticated encryption, MACs and key streams built from the AES round, as specified by
//! RFC 10032.
//!
//! Fast (see the repository's benchmarks), constant time on every CPU, `no_std`, no heap needed.
//! The best instructions that the CPU has are chosen at run time: [`backend()`] tells which.
//!
//! ```
//! use palladion::{Aegis256X2, Key256, Nonce256};
//!
//! let key = Key256::from([7; 32]); // with feature "getrandom": Key256::generate()?
//! let cipher = Aegis256X2::<32>::new(&key);
//! let nonce = Nonce256::from([9; 32]); // never twice with one key
//!
//! let sealed = cipher.seal(&nonce, b"header", b"attack at dawn")?;
//! assert_eq!(cipher.open(&nonce, b"header", &sealed)?, b"attack at dawn");
//! assert!(cipher.open(&nonce, b"another header", &sealed).is_err());
//! # Ok::<(), palladion::Error>(())
//! ```
//!
//! # Which variant?
//!
//! | | key and nonce | when |
//! |---|---|---|
//! | [`Aegis256X2`] | 32 bytes | **the default where both sides use this library**: random nonces without a limit |
//! | [`Aegis128X2`] | 16 bytes | the fastest where both sides use this library; nonces from a counter |
//! | [`Aegis256`], [`Aegis128L`] | 32, 16 bytes | to interoperate: the variants every implementation has |
//! | [`Aegis256X4`], [`Aegis128X4`] | 32, 16 bytes | long messages on CPUs with AVX-512 and VAES |
//!
//! Tags have 16 or 32 bytes, chosen by the number behind the name: `Aegis256X2::<16>::new(&key)`.
//! Where Rust knows the type, 32 is the default: `let cipher: Aegis256X2 = Aegis256X2::new(&key)`.
//! 16 bytes are plenty against forgery. 32 bytes also bind a ciphertext to its key (nobody can find
//! two keys that both open it, up to about 2^128 work, instead of 2^64): take them for files and
//! wherever keys may be chosen by others.
//!
//! # Which nonce?
//!
//! A nonce must never be used twice with the same key, not even with other associated data or the
//! other tag length. Either count, or draw it at random (`Nonce::generate`): with the AEGIS-256
//! family without limit, with the AEGIS-128 family for at most 2^48 messages under one key. A
//! repeated nonce gives away the XOR of the two messages and allows forgeries. [`Mac`] is the
//! exception: there one nonce may serve for everything.
//!
//! # Which function?
//!
//! | | |
//! |---|---|
//! | a message | [`Aegis::encrypt_in_place`] and the others of [`Aegis`] |
//! | many messages, packets say | [`batch`]: up to three times as fast on CPUs with VAES |
//! | a message that comes in pieces | [`Encryptor`], [`Decryptor`] |
//! | data to be authenticated, not encrypted | [`Mac`] |
//! | pseudo-random bytes | [`KeyStream`] |
//! | a cipher that is chosen at run time | [`any`] |
//!
//! # What happens when it fails?
//!
//! Every call that decrypts verifies first, or zeroes what it has written and returns
//! [`Error::VerificationFailed`]. No function outside [`hazmat`] lets you see a byte that was not
//! verified.
//!
//! # Features
//!
//! | feature | gives |
//! |---|---|
//! | `std` (default) | the environment variable `PALLADION_BACKEND`, `std::io::Read` for key streams; implies `alloc` |
//! | `alloc` | `seal` and `open`, which return a `Vec` |
//! | `getrandom` | `Key::generate`, `Nonce::generate`, `seal_with_random_nonce` |
//! | `aead` | the traits of the crate [`aead`](https://docs.rs/aead) 0.6, which is re-exported |
//! | `any-degree` | AEGIS-128X and AEGIS-256X of degrees other than 1, 2 and 4 |
//!
//! # Build options
//!
//! `--cfg palladion_one_backend`, in `RUSTFLAGS`, leaves all backends but the best out of a
//! WebAssembly module, and all kernels that are not called: a fifth of the size.
//!
//! # With RustCrypto's traits
//!
//! With feature `aead` every cipher, with either tag length, has the traits `AeadInOut`, `KeyInit`
//! and (with `alloc`) `Aead`:
//!
#![cfg_attr(feature = "aead", doc = "```")]
#![cfg_attr(not(feature = "aead"), doc = "```ignore")]
//! use palladion::aead::{Aead, KeyInit, Payload};
//! use palladion::Aegis128L;
//!
//! let cipher = <Aegis128L<16> as KeyInit>::new(&[1; 16].into()); // or
//! Aegis128L::<16>::new(&Key128::from([1; 16])) let sealed = cipher.encrypt(&[2; 16].into(),
//! Payload { msg: b"message", aad: b"header" })?; assert_eq!(cipher.decrypt(&[2; 16].into(),
//! Payload { msg: &sealed, aad: b"header" })?, b"message");
//! # Ok::<(), palladion::aead::Error>(())
//! ```
//!
//! # Associated data
//!
//! Several pieces of associated data must be joined into one string in a way that can be taken apart again, with
//! lengths, say; otherwise ("ab", "c") and ("a", "bc") are the same. To bind a ciphertext to its associated data as
//! well as to its key, pass the SHA-256 of the data as `ad` (RFC 10032 §9.1.2).

#![no_std]
#![deny(unsafe_code)] // but on the lower floors
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

// From the bottom to the top: each floor imports from lower ones alone (`scripts/check-layers.py`).
#[allow(unsafe_code)]
mod memory;

#[allow(unsafe_code)]
#[allow(dead_code, unused_imports)] // where there is the bitsliced backend alone
mod block;

#[allow(unsafe_code)]
#[allow(dead_code, unused_imports)] // where there is the bitsliced backend alone
mod machine;

#[allow(unsafe_code)]
mod soft;

#[allow(unsafe_code)]
mod driver;

#[allow(unsafe_code)]
mod arch;

#[allow(unsafe_code)]
mod dispatch;

#[cfg(feature = "aead")]
mod aead_traits;
mod algorithm;
pub mod any;
pub mod batch;
mod cipher;
mod error;
pub mod family;
pub mod hazmat;
pub mod historic;
mod mac;
mod session;
mod stream;
mod types;

#[cfg(all(test, feature = "std", feature = "getrandom"))]
mod every_error;
#[cfg(all(test, feature = "std"))]
#[allow(unsafe_code)]
mod proof;

#[cfg(feature = "aead")]
pub use ::aead;
pub use algorithm::{Algorithm, UnknownAlgorithm};
pub use cipher::Aegis;
pub use dispatch::{Backend, BackendError, ENVIRONMENT_VARIABLE, backend, set_backend};
pub use error::{Error, MAX_LEN};
pub use mac::Mac;
pub use stream::{Decryptor, Encryptor, KeyStream};
pub use types::{Key, Key128, Key256, Nonce, Nonce128, Nonce256, Tag};

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
    ($($name:ident, $mac:ident, $stream:ident: $family:ident of $degree:literal, $standard:literal;)*) => {
        $(
            #[doc = concat!("The authenticated cipher ", $standard, " with tags of `T` bytes: 16, or 32 where a type is named without it.")]
            pub type $name<const T: usize = 32> = Aegis<family::$family, $degree, T>;
            #[doc = concat!("The MAC of ", $standard, " with tags of `T` bytes: 16, or 32 where a type is named without it.")]
            pub type $mac<const T: usize = 32> = Mac<family::$family, $degree, T>;
            #[doc = concat!("The key stream of ", $standard, ".")]
            pub type $stream = KeyStream<family::$family, $degree>;
        )*
    };
}

names! {
    Aegis128L, Aegis128LMac, Aegis128LStream: Aegis128 of 1, "AEGIS-128L (RFC 10032 §3)";
    Aegis128X2, Aegis128X2Mac, Aegis128X2Stream: Aegis128 of 2, "AEGIS-128X2 (RFC 10032 §5.4)";
    Aegis128X4, Aegis128X4Mac, Aegis128X4Stream: Aegis128 of 4, "AEGIS-128X4 (RFC 10032 §5.4)";
    Aegis256, Aegis256Mac, Aegis256Stream: Aegis256 of 1, "AEGIS-256 (RFC 10032 §4)";
    Aegis256X2, Aegis256X2Mac, Aegis256X2Stream: Aegis256 of 2, "AEGIS-256X2 (RFC 10032 §5.5)";
    Aegis256X4, Aegis256X4Mac, Aegis256X4Stream: Aegis256 of 4, "AEGIS-256X4 (RFC 10032 §5.5)";
}

/// The examples in the README are tested too.
#[cfg(all(doctest, feature = "alloc", feature = "getrandom"))]
#[doc = include_str!("../../../README.md")]
struct Readme;
