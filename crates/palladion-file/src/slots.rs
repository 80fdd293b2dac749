//! Key slots: files that several secrets can open.
//!
//! A random [`FileKey`] takes the place of the master key. Each slot holds it, encrypted for one
//! secret: a master key, a passphrase, or age's recipients ([`Lock`], [`Unlock`]). The slots are in
//! the [`Head`] of the file, and a spare copy of the head is at its end. `docs/file-format.md` in
//! the repository has the layout, and says what slots do *not* do:
//!
//! * Removing a slot locks nobody out who could open the file before. Encrypt again for that.
//! * Slots do not say who wrote a file: everyone who can open it can also have written it. So can
//!   everyone who could ever open a file with a slot for the same master key.
//!
//! [`Head`] needs no input or output. [`Rewrap`] changes the slots of a file in place, safely if
//! the machine stops at any moment.
//!
//! ```
//! use palladion_file::slots::{FileKey, Head, Keyring, NewSlot};
//! use palladion_file::{Algorithm, ChunkSize, Error, KdfLimits, KdfParams, MasterKey, Passphrase};
//!
//! let (mine, theirs) = (MasterKey::generate()?, Passphrase::new("correct horse battery staple"));
//! let file_key = FileKey::generate()?;
//! let cheap = KdfParams::new(256, 2, 4).unwrap(); // for the example
//! let slots = [NewSlot::Key(&mine), NewSlot::Passphrase(&theirs, cheap)];
//! let head = Head::create(&file_key, Algorithm::default(), ChunkSize::default(), &slots)?;
//!
//! let head = Head::parse(head.as_bytes())?;
//! let keyring = Keyring::default().passphrase(theirs);
//! assert!(head.open(&keyring, &KdfLimits::default())? == file_key);
//! # Ok::<(), Error>(())
//! ```

pub(crate) mod copies;
pub(crate) mod head;
pub(crate) mod keyring;
mod open;
mod rewrap;
#[cfg(test)]
mod tests;

pub use copies::Copies;
pub use head::{Head, Lock, MAX_PER_KIND, NewSlot, NewSlots, Slot, SlotKind};
pub use keyring::{FileKey, Keyring, Unlock};
pub use rewrap::{Plan, Rewrap};
