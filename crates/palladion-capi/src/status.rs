//! Return values for C programs.

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};

use palladion::{Backend, Error, set_backend};

use crate::number;

/// The return values for success and failure.
pub(crate) const OK: c_int = 0;
pub(crate) const FAILED: c_int = -1;

/// C's name for "invalid argument", the same number on all systems.
pub(crate) const EINVAL: i32 = 22;

/// Fails with "invalid argument": a tag has neither 16 nor 32 bytes, a message is too long, or a
/// state has ended.
#[cold]
pub(crate) fn invalid_argument() -> c_int {
    number::set(EINVAL);
    FAILED
}

/// Converts a result for C: a wrong tag leaves the error number as it is, like libaegis. Any other
/// failure means that the caller asked for what cannot be done, and that nothing was.
#[inline(always)]
pub(crate) fn status(result: Result<(), Error>) -> c_int {
    match result {
        Ok(()) => OK,
        Err(Error::VerificationFailed) => FAILED,
        Err(_) => invalid_argument(),
    }
}

/// Chooses the best available backend if the environment names an unavailable one. Most C functions
/// cannot report that; `aegis_init` does.
#[inline(always)]
pub(crate) fn ensure_backend() {
    if palladion::backend().is_err() {
        fall_back();
    }
}

/// Calls a function that fails if the requested backend is unavailable.
///
/// Checks the backend before the call instead of repeating the call after a failure: a closure that
/// is called twice has to be kept in memory, which takes as long as a few steps of a cipher.
#[inline(always)]
pub(crate) fn with_backend<R>(call: impl FnOnce() -> Result<R, Error>) -> Result<R, Error> {
    ensure_backend();
    call()
}

/// Whether the backend that the environment names was unavailable.
pub(crate) static FELL_BACK: AtomicBool = AtomicBool::new(false);

#[cold]
pub(crate) fn fall_back() {
    FELL_BACK.store(true, Ordering::Relaxed);
    let best = Backend::ALL.iter().find(|backend| set_backend(**backend).is_ok());
    debug_assert!(best.is_some(), "the portable one is always there");
}
