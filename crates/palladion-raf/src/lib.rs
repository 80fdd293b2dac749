//! Encrypted files that can be read, written, extended and truncated at any place: the RAF format
//! of libaegis, version 1, with all six variants of AEGIS.
//!
//! [`Options::create`] makes a file, [`Raf::open`] opens one; [`Cursor`] is for what wants
//! [`std::io::Read`], [`Write`](std::io::Write) and [`Seek`](std::io::Seek). A file lies in a
//! [`Storage`]: a file of the operating system, [`Memory`], or anything of your own.
//!
//! A RAF file is a header and chunks, each encrypted and authenticated on its own, under a fresh
//! random nonce each time it is written. What that promises, and what it does not:
//!
//! - Nobody without the key learns more than the size of the file and which chunks change. Nobody
//!   can change a chunk, move it to another place or to another file, or change the size, without a
//!   reader noticing.
//! - Someone who can write to the file can bring back an *older* version of a chunk, or of the
//!   whole file. Only the commitment of a [Merkle tree](merkle), kept elsewhere, shows that.
//! - There is no journal. A process may be killed at any time: then the size is the one before or
//!   after the change, and each chunk is the old one or the new one. If the system cuts the write
//!   of a record short, as Linux may, reading that chunk fails with [`Error::DamagedChunk`]. If the
//!   *machine* stops (no power), this holds for what was [synced](Raf::sync); of what was not, any
//!   part may be lost. With [`Raf::set_barriers`] the size stays right even then. Wrong data is
//!   never returned.
//! - After an error in the middle of a change, every operation fails with [`Error::Poisoned`] until
//!   the file is opened again.
//!
//! # Threads
//!
//! With the feature `parallel` (on by default), reads and writes of 256 KiB or more are worked on
//! by all cores, in the thread pool of `rayon`. A [`Raf`] itself is for one thread at a time.
#![forbid(unsafe_code)]

mod bulk;
mod cursor;
mod environment;
mod error;
#[cfg(test)]
mod every_error;
mod file;
mod header;
mod kdf;
mod keys;
mod limits;
pub mod merkle;
mod storage;

pub use cursor::Cursor;
pub use environment::{Environment, System};
pub use error::{Error, Result};
pub use file::{Found, Options, Raf};
pub use header::{HEADER_LEN, Info, probe, record_len};
pub use kdf::derive_master_key;
pub use limits::{CHUNK_MAX, CHUNK_MIN, is_chunk_size};
pub use palladion::Algorithm;
pub use storage::{Memory, ReadOnly, Shared, Storage, Stream};
