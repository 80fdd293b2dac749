//! Encrypted files with random access, which can be read and edited in place: version 1 of the RAF
//! format of libaegis, with all six variants of AEGIS.
//!
//! [`Options::create`] creates a file and [`Raf::open`] opens one. [`Cursor`] implements
//! [`std::io::Read`], [`Write`](std::io::Write) and [`Seek`](std::io::Seek). The bytes are kept in
//! a [`Storage`]: a file of the operating system, [`Memory`], or your own.
//!
//! A RAF file is a header and chunks, each encrypted and authenticated on its own, under a fresh
//! random nonce each time it is written. What that promises, and what it does not:
//!
//! - Someone without the key learns only the size of the file and which chunks change. If they
//!   change a chunk, move it to another place or file, or change the size, reading fails.
//! - Someone who can write to the file can restore an *older* version of a chunk, or of the whole
//!   file. Only the commitment of a [Merkle tree](merkle), kept elsewhere, shows that.
//! - There is no journal. A process may be killed at any time: then the size is the one before or
//!   after the change, and each chunk is the old one or the new one. If the system cuts the write
//!   of a record short, as Linux may, reading that chunk fails with [`Error::DamagedChunk`]. If the
//!   *machine* loses power, this holds for [synced](Raf::sync) data; any part of the rest may be
//!   lost. With [`Raf::set_barriers`] the size is right even then. Wrong data is never returned.
//! - After an error in the middle of a change, every operation fails with [`Error::Poisoned`] until
//!   the file is opened again.
//!
//! # Threads
//!
//! With the feature `parallel` (on by default), reads and writes of 256 KiB or more use all cores,
//! in the thread pool of `rayon`. Only one thread at a time can use a [`Raf`].
//!
//! For `wasm32-unknown-unknown` in a browser or Node, enable the feature `js`.
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

/// Tests the example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
