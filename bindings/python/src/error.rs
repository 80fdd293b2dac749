//! Exceptions.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyOSError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    palladion,
    PalladionError,
    PyException,
    "The base of the exceptions of this package."
);
create_exception!(
    palladion,
    VerificationError,
    PalladionError,
    "The data is not authentic.\n\n\
     The key, the nonce, the associated data, the algorithm or the tag size is wrong, or the\n\
     ciphertext or the tag was changed. Nothing tells which."
);

/// The message of [`VerificationError`]. That of the core names neither algorithm nor tag_size,
/// which its callers choose when they compile.
pub const NOT_AUTHENTIC: &str = "verification failed: the key, nonce, associated data, algorithm \
                                 or tag_size is wrong, or the ciphertext or tag was changed";

/// Converts an error of the core to an exception.
#[cold]
pub fn error(error: palladion::Error) -> PyErr {
    match error {
        palladion::Error::VerificationFailed => VerificationError::new_err(NOT_AUTHENTIC),
        palladion::Error::Backend(_) => PyRuntimeError::new_err(error.to_string()),
        palladion::Error::NoRandomness => PyOSError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// Says of a wrong type in which argument it is.
#[cold]
pub fn about(py: Python<'_>, what: &str, error: PyErr) -> PyErr {
    match error.is_instance_of::<PyTypeError>(py) {
        true => PyTypeError::new_err(format!("{what}: {}", error.value(py))),
        false => error,
    }
}

/// What is wrong with a ciphertext that has no room for its tag, or for nonce and tag: it raises
/// [`VerificationError`], like any other that is not authentic.
#[cold]
pub fn too_short(min: usize, actual: usize) -> String {
    let error = palladion::Error::TooShort { what: "ciphertext", min, actual };
    format!("verification failed: {error}")
}

/// Converts results of the core, for use with `?`.
pub trait OrRaise<T> {
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for Result<T, palladion::Error> {
    #[inline]
    fn or_raise(self) -> PyResult<T> {
        self.map_err(error)
    }
}

/// Converts an error of a RAF file to an exception of palladion.raf, an OSError, or the exception
/// that a Python object raised.
#[cold]
pub fn raf_error(py: Python<'_>, error: palladion_raf::Error) -> PyErr {
    use palladion_raf::Error::*;
    let message = error.to_string();
    let raise = |class: &str, details: &[u64]| {
        raf_exception(py, class, &message, details).unwrap_or_else(|e| e)
    };
    match error {
        Io(error) if error.get_ref().is_some_and(|inner| inner.is::<PyErr>()) => {
            match error.downcast::<PyErr>() {
                Ok(raised) => raised,
                Err(error) => crate::storage::os_error(py, &error, None),
            }
        }
        Io(error) | NoRandomness(error) => crate::storage::os_error(py, &error, None),
        Cipher(e) => self::error(e),
        NotRaf => raise("NotRafError", &[]),
        Unsupported { value, .. } => raise("UnsupportedRafError", &[value]),
        WrongKey => raise("WrongKeyError", &[]),
        KeyLength { expected, actual } => {
            raise("KeyLengthError", &[expected as u64, actual as u64])
        }
        ContextLength { max, actual } => raise("ContextLengthError", &[max as u64, actual as u64]),
        DamagedChunk { index } => raise("DamagedChunkError", &[index]),
        ChangingChunk { index } => raise("ChangingChunkError", &[index]),
        Truncated { expected, actual } => raise("TruncatedError", &[expected, actual]),
        ChunkSize(size) => raise("ChunkSizeError", &[size.into()]),
        TooLarge => raise("TooLargeError", &[]),
        Exists => raise("ExistsError", &[]),
        Poisoned => raise("PoisonedError", &[]),
        SyncFailed => raise("SyncFailedError", &[]),
        ReadOnly => raise("ReadOnlyError", &[]),
        NoTree => raise("NoTreeError", &[]),
        TreeFull { max_chunks } => raise("TreeFullError", &[max_chunks]),
        TreeSize(max_chunks) => raise("TreeSizeError", &[max_chunks]),
        TreeMismatch { chunk } => raise("TreeMismatchError", chunk.as_slice()),
        HashLength(len) => raise("HashLengthError", &[len as u64]),
        // Errors that Python callers cannot cause, and errors added later.
        _ => raise("RafError", &[]),
    }
}

/// Creates an exception of palladion.raf. They are defined in Python because some have two bases.
fn raf_exception(py: Python<'_>, class: &str, message: &str, details: &[u64]) -> PyResult<PyErr> {
    let class = py.import("palladion.raf")?.getattr(class)?;
    let mut arguments = vec![message.into_pyobject(py)?.into_any()];
    for detail in details {
        arguments.push(detail.into_pyobject(py)?.into_any());
    }
    Ok(PyErr::from_value(class.call1(pyo3::types::PyTuple::new(py, arguments)?)?))
}

/// Converts results of RAF files, for use with `?`.
pub trait OrRaiseIn<T> {
    fn or_raise_in(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaiseIn<T> for palladion_raf::Result<T> {
    #[inline]
    fn or_raise_in(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raf_error(py, error))
    }
}
