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
//! * **A file opens under one key only.** The header commits to the key. It can also be [bound to a
//!   place](#a-file-bound-to-its-place).
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
//! # A file bound to its place
//!
//! Someone who can write where your files are, but has no key, cannot change a file unnoticed, but
//! can put one of your files in place of another. To notice that, bind each file to its *place*: a
//! path, a version, a tenant, any bytes that say which file is meant. [`Keyring::bind`] and
//! [`Secret::bind`] give every reader and writer a place, and
//! [`NewSlots::bind`](slots::NewSlots::bind) a new file with key slots. The place is not stored. A
//! file for another place is [`Error::WrongPlace`].
//!
//! ```
//! use palladion_file::{Decryptor, Encryptor, Error, MasterKey, Secret};
//!
//! let key = MasterKey::generate()?;
//! let place = |month: &str| Secret::from(&key).bind(format!("reports/{month}, version 3"));
//! let (mut january, mut february) = (Vec::new(), Vec::new());
//! Encryptor::new(&place("january")).run(&b"profit"[..], &mut january)?;
//! Encryptor::new(&place("february")).run(&b"loss"[..], &mut february)?;
//!
//! std::mem::swap(&mut january, &mut february); // by someone without the key
//! let read = Decryptor::new(&place("february")).run(&february[..], Vec::new());
//! assert!(matches!(read, Err(Error::WrongPlace)));
//! # Ok::<(), Error>(())
//! ```
//!
//! The place hides nothing, and anyone with the key can make a file for any place. An older file
//! for the same place is accepted, unless the place names the version.
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
    #[cfg(feature = "tokio")]
    #[doc = include_str!("../../../docs/read-from-the-middle.md")]
    struct ReadFromTheMiddle;
}
