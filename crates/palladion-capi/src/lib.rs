//! The C interface of libaegis: the functions that `include/aegis*.h` declare, for programs that were written for it.
//!
//! | file | what it is |
//! |---|---|
//! | `memory.rs` | what C hands over: buffers, which may be the same, and states, which may lie anywhere |
//! | `number.rs` | C's error number |
//! | `aead.rs`, `mac.rs` | the functions of a variant, generic over it |
//! | `exports.rs` | the same under the names that C knows, for each variant |
//! | `jump.rs` | the kernels that the most frequent functions jump to |
//! | `raf.rs` | files with random access: C's callbacks and memory for `palladion-raf` |
//! | `extra.rs`, `batch.rs` | what libaegis lacks, for `include/palladion.h`: feature `extra` |
//!
//! All of them trust their caller as C functions do, within the contract that the headers state: a pointer is good for the length
//! that goes with it. What they can check they do: the length of a tag.

#![deny(unsafe_code)] // but where it is said

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
mod jump;
#[allow(unsafe_code)]
mod mac;
#[allow(unsafe_code)]
mod memory;
#[allow(unsafe_code)]
mod number;
#[allow(unsafe_code)]
mod raf;

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};

use palladion::{Backend, Error, set_backend};

/// What C programs get for success and failure.
const OK: c_int = 0;
const FAILED: c_int = -1;

/// C's name for "invalid argument", the same number on all systems.
const EINVAL: i32 = 22;

/// Fails because of an argument: mostly a tag that has neither 16 nor 32 bytes.
#[cold]
fn invalid_argument() -> c_int {
    number::set(EINVAL);
    FAILED
}

fn status(result: Result<(), Error>) -> c_int {
    if result.is_ok() { OK } else { FAILED }
}

/// The environment may ask for a backend that is not there. C functions that cannot fail cannot say so: then the best there is does
/// the work. (`aegis_init` tells.)
#[inline(always)]
fn ensure_backend() {
    if palladion::backend().is_err() {
        fall_back();
    }
}

/// Calls what can fail for want of a backend.
///
/// Asked for before, not tried again after a failure: what is called twice is kept in memory, and that takes as long as a few
/// steps of a cipher.
#[inline(always)]
fn with_backend<R>(call: impl FnOnce() -> Result<R, Error>) -> Result<R, Error> {
    ensure_backend();
    call()
}

/// Whether the environment's wish could not be met.
static FELL_BACK: AtomicBool = AtomicBool::new(false);

#[cold]
fn fall_back() {
    FELL_BACK.store(true, Ordering::Relaxed);
    let best = Backend::ALL.iter().find(|backend| set_backend(**backend).is_ok());
    debug_assert!(best.is_some(), "the portable one is always there");
}
