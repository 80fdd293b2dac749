//! Encrypted files and streams of any size, in bounded memory, on all cores.
//!
//! A Palladion file is a 128-byte header and a sequence of chunks, each encrypted and authenticated
//! with [AEGIS](palladion) under a key unique to the file. The byte-exact format is
//! `docs/file-format.md` in the repository. What it promises:
//!
//! * **No unverified output.** [`Decryptor`] and [`DecryptReader`] release a chunk only after
//!   verifying its tag, so the data written before an error is a true prefix of the original.
//! * **Distinct errors.** A wrong key, a damaged file, a truncated file, an extended file and a
//!   file of another kind give distinct [`Error`]s, each with a [hint](Error::hint).
//! * **A file opens under one key only.** The header commits to the key.
//!
//! ```
//! use palladion_file::{Decryptor, Encryptor, MasterKey};
//!
//! let key = MasterKey::generate()?;
//! let mut sealed = Vec::new();
//! Encryptor::new(&key).run(&b"from any reader"[..], &mut sealed)?;
//!
//! let mut opened = Vec::new();
//! Decryptor::new(&key).run(&sealed[..], &mut opened)?;
//! assert_eq!(opened, b"from any reader");
//! # Ok::<(), palladion_file::Error>(())
//! ```
//!
//! # Which type
//!
//! | you have | use |
//! | --- | --- |
//! | a reader and a writer (files, pipes) and want all cores | [`Encryptor`], [`Decryptor`] |
//! | code that writes, or code that reads, piece by piece | [`EncryptWriter`], [`DecryptReader`] |
//! | a file of which you need a part, or that is read by seeking | [`SeekReader`] |
//! | an asynchronous program | `tokio` (feature `tokio`) |
//! | bytes that do not come from a reader | [`sans_io`] |
//! | a damaged file and no backup | [`Decryptor::salvage`] |
//! | data to authenticate without hiding it | [`Mac`] |
//! | someone's public key | crate `palladion-recipients` |
//! | a name that the output shall have once it is complete | crate `palladion-output` |
//!
//! The secret is a [`MasterKey`] (32 random bytes, usually from a key file) or a [`Passphrase`]
//! (stretched with Argon2id), or a [`Keyring`] of several, any of which may open a file. One file
//! that several people can open has key [`slots`].
//!
//! For `wasm32-unknown-unknown` in a browser or Node, enable the feature `js`.

#![forbid(unsafe_code)]

mod any_order;
mod chunk;
mod cipher;
mod decoder;
mod decrypt;
mod encoder;
mod encrypt;
mod engine;
mod error;
#[cfg(test)]
mod every_error;
mod header;
mod io;
mod kdf;
mod layout;
mod mac;
mod master_key;
mod passphrase;
#[cfg(test)]
#[path = "../../palladion/tests/common/random.rs"]
mod random;
mod read_at;
mod salvage;
pub mod sans_io;
mod secret;
mod seek;
pub mod slots;
mod start;
mod stream;
mod summary;
#[cfg(feature = "tokio")]
pub mod tokio;

pub use chunk::ChunkSize;

pub use decrypt::Decryptor;
pub use encrypt::Encryptor;
pub use error::{Error, KeyFileError};
pub use header::{HEADER_LEN, Info, MAGIC, SecretKind, VERSION, needs_passphrase};
pub use kdf::{KdfLimits, KdfParams};
pub use mac::Mac;
pub use master_key::MasterKey;
pub use palladion::{Algorithm, UnknownAlgorithm};
pub use passphrase::{Mistaken, Passphrase};
pub use read_at::ReadAt;
pub use salvage::Salvaged;
pub use secret::{OwnedSecret, Secret};
pub use seek::SeekReader;
pub use slots::Keyring;
pub use stream::{DecryptReader, EncryptWriter};
pub use summary::{Spare, Summary};

/// Tests the examples in the README and in docs/read-from-the-middle.md.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../README.md")]
    struct Crate;
    #[doc = include_str!("../../../docs/read-from-the-middle.md")]
    struct ReadFromTheMiddle;
}
