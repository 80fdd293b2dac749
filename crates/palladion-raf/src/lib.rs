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
//! - After an error in the middle of a change, each chunk and the size are old or new, and the file
//!   can be used further: see [`Raf`](Raf#after-an-error).
//! - One program may write to a file, or several may read it: a file of the operating system is
//!   [locked](Raf#locks). Readers that [expect it](Raf::open_beside_writer) may read beside a
//!   writer.
//!
//! # Threads
//!
//! With the feature `parallel` (on by default), reads and writes of 256 KiB or more use all cores,
//! in a pool of threads that this crate keeps. On a thread of `rayon`, they use that thread alone:
//! if it waited for others, `rayon` would let it begin another task of yours, which might wait for
//! a lock that the first one holds around the [`Raf`]. Several threads can [read](Raf#threads) one
//! [`Raf`].
//!
//! # Page stores
//!
//! Choose chunks as large as pages, and let pages begin where chunks do: then writing a page reads
//! nothing. There are no double writes, so a page whose write the machine did not finish is lost,
//! and reading it fails: a store that must not lose pages writes them to a log of its own first.
//! Appending a page takes three calls of the system: for random bytes, the page and the header.
//! Append many in one call of [`write_at`](Raf::write_at), or make the file larger in advance with
//! [`set_size`](Raf::set_size), and the header is not written each time.
//!
//! For `wasm32-unknown-unknown` in a browser or Node, enable the feature `js`.
#![forbid(unsafe_code)]

mod bulk;
mod cursor;
mod environment;
mod error;
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
pub use storage::{Lock, Memory, ReadOnly, Shared, Storage, Stream};

/// Tests the example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
