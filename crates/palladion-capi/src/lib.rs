//! The C interface of libaegis: the functions that `include/aegis*.h` declare, for programs that
//! were written for it.
//!
//! | file | what it is |
//! |---|---|
//! | `memory.rs` | the arguments from C: buffers, which may be equal, and states at any address |
//! | `status.rs` | what C programs get back: success, failure, the backend that is used after all |
//! | `number.rs` | C's error number |
//! | `aead.rs`, `mac.rs` | the functions of a variant, generic over it |
//! | `exports.rs` | the same under the names that C knows, for each variant |
//! | `raf.rs` | files with random access: C's callbacks and memory for `palladion-raf` |
//! | `extra.rs`, `batch.rs` | what libaegis lacks, for `include/palladion.h`: feature `extra` |
//! | `file/` | encrypted files, for `include/palladion_file.h`: feature `files` |
//!
//! All of them trust their caller as C functions do, within the contract that the headers state: a
//! pointer is valid for its length. They check what they can: the length of a tag, and in `file/`
//! null pointers.

#![deny(unsafe_code)] // except where stated

#[allow(unsafe_code)]
mod aead;
#[allow(unsafe_code)]
#[cfg(feature = "extra")]
mod batch;
#[allow(unsafe_code)]
mod exports;
#[allow(unsafe_code)]
#[cfg(feature = "extra")]
mod extra;
#[allow(unsafe_code)]
#[cfg(feature = "files")]
mod file;
#[allow(unsafe_code)]
mod mac;
#[allow(unsafe_code)]
mod memory;
#[allow(unsafe_code)]
mod number;
#[allow(unsafe_code)]
mod raf;
mod status;
#[allow(unsafe_code)]
#[cfg(all(test, not(windows)))] // Windows has no error numbers of C in `io::Error`
#[path = "../tests/raf.rs"]
mod tests;
