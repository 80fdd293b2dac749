//! What C programs get back.

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};

use palladion::{Backend, Error, set_backend};

use crate::number;

/// What C programs get for success and failure.
pub(crate) const OK: c_int = 0;
pub(crate) const FAILED: c_int = -1;

/// C's name for "invalid argument", the same number on all systems.
pub(crate) const EINVAL: i32 = 22;

/// Fails because of an argument: mostly a tag that has neither 16 nor 32 bytes.
#[cold]
pub(crate) fn invalid_argument() -> c_int {
    number::set(EINVAL);
    FAILED
}

pub(crate) fn status(result: Result<(), Error>) -> c_int {
    if result.is_ok() { OK } else { FAILED }
}

/// The environment may ask for a backend that is not there. C functions that cannot fail cannot say
/// so: then the best there is does the work. (`aegis_init` tells.)
#[inline(always)]
pub(crate) fn ensure_backend() {
    if palladion::backend().is_err() {
        fall_back();
    }
}

/// Calls what fails if the backend that was asked for is not there.
///
/// Asked for before, not tried again after a failure: what is called twice is kept in memory, and
/// that takes as long as a few steps of a cipher.
#[inline(always)]
pub(crate) fn with_backend<R>(call: impl FnOnce() -> Result<R, Error>) -> Result<R, Error> {
    ensure_backend();
    call()
}

/// Whether the environment's wish could not be met.
pub(crate) static FELL_BACK: AtomicBool = AtomicBool::new(false);

#[cold]
pub(crate) fn fall_back() {
    FELL_BACK.store(true, Ordering::Relaxed);
    let best = Backend::ALL.iter().find(|backend| set_backend(**backend).is_ok());
    debug_assert!(best.is_some(), "the portable one is always there");
}
