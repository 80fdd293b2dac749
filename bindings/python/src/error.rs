//! Exceptions.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(palladion, PalladionError, PyException, "The base of the exceptions of this package.");
create_exception!(
    palladion,
    VerificationError,
    PalladionError,
    "The key is wrong, or ciphertext, tag, nonce or associated data were changed."
);

/// The exception for an error of the core.
#[cold]
pub fn error(error: palladion::Error) -> PyErr {
    match error {
        palladion::Error::VerificationFailed => VerificationError::new_err(error.to_string()),
        palladion::Error::Backend(_) => PyRuntimeError::new_err(error.to_string()),
        palladion::Error::NoRandomness => PyOSError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// `?` for results of the core.
pub trait OrRaise<T> {
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for Result<T, palladion::Error> {
    #[inline]
    fn or_raise(self) -> PyResult<T> {
        self.map_err(error)
    }
}
