//! Encrypted files that can be read, written, extended and truncated at any place: the RAF format of libaegis, version 1, with all
//! six variants of AEGIS.
//!
//! A file is a header and chunks, each encrypted and authenticated on its own, under a fresh random nonce each time it is
//! written. What that promises, and what it does not:
//!
//! - Nobody without the key learns more than the size of the file and which chunks change; nobody can change a chunk, move it to another
//!   place or another file, or change the size, without being noticed when that is read.
//! - Who can write to the file can bring back an *older* version of a chunk, or of the whole file. Only a Merkle tree's commitment, kept
//!   elsewhere, tells.
//! - There is no journal. If the process dies while it writes, each chunk is the old or the new one as a whole only if the storage writes
//!   a record as a whole; a chunk that was torn is damaged, and says so when it is read. The size is always one that was valid.
#![forbid(unsafe_code)]

mod algorithm;
mod error;
mod file;
mod header;
mod storage;

pub use algorithm::Algorithm;
pub use error::{Error, Result};
pub use file::{Options, Raf};
pub use header::{CHUNK_MAX, CHUNK_MIN, HEADER_LEN, Info, derive_master_key, probe};
pub use storage::{Memory, Storage, Stream};
