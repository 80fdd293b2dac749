//! Key slots of [encrypted files](palladion_file) for [age](https://age-encryption.org)'s
//! recipients: public keys that encrypt, and identities that decrypt.
//!
//! | key | recipient, which is public | identity, which is secret |
//! | --- | --- | --- |
//! | X25519 | `age1…` | `AGE-SECRET-KEY-1…` |
//! | hybrid | `age1pq1…` | `AGE-SECRET-KEY-PQ-1…` |
//!
//! The hybrid keys, of ML-KEM-768 and X25519, are safe against quantum computers. All are the
//! keys of `age-keygen`, and all programs that know them open the slots. A slot is a small age file
//! that holds the key of the encrypted file.
//!
//! ```
//! use palladion_file::slots::NewSlot;
//! use palladion_file::{Decryptor, Encryptor, Keyring};
//! use palladion_recipients::{Identities, Identity, Recipients};
//!
//! let identity = Identity::generate()?;
//! let recipients = Recipients::new(vec![identity.recipient()])?;
//! let mut file = Vec::new();
//! Encryptor::with_slots(&[NewSlot::Age(&recipients)]).run(&b"text"[..], &mut file)?;
//!
//! let keyring = Keyring::default().open_slots().unlock(Identities::from(vec![identity]));
//! let mut text = Vec::new();
//! Decryptor::new(&keyring).run(&file[..], &mut text)?;
//! assert_eq!(text, b"text");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Keys are used, and MACs compared, in constant time. To parse the text of an identity takes
//! look-ups in a table that depend on it.
//!
//! A file that is encrypted for a recipient does not prove who wrote it: anyone with the public key
//! can write one.

#![forbid(unsafe_code)]

mod age_file;
mod error;
mod keys;
mod lists;
#[cfg(test)]
mod tests;

pub use age_file::{check_mixing, is_slot, stanza_types};
pub use error::Error;
pub use keys::{Identity, Recipient};
pub use lists::{Identities, IdentityFile, Protected, Recipients};

/// Tests the example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
