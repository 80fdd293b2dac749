//! Algorithms by name, random bytes, and the lengths of keys, nonces and tags.

use palladion::Algorithm;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::buffer::Target;
use crate::error::{VerificationError, error};

/// An algorithm as an argument: its name, or Python's `Algorithm`, which is a string too.
#[derive(Clone, Copy, Default)]
pub struct Name(pub Algorithm);

impl<'py> FromPyObject<'_, 'py> for Name {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let name = object.cast::<PyString>()?;
        let name = name.to_cow()?;
        name.parse().map(Self).map_err(|error| PyValueError::new_err(format!("{name:?}: {error}")))
    }
}

impl<'py> IntoPyObject<'py> for Name {
    type Target = PyString;
    type Output = Bound<'py, PyString>;
    type Error = std::convert::Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Self::Error> {
        self.0.name().into_pyobject(py)
    }
}

/// The longest key, nonce or tag.
pub const MAX_LEN: usize = 32;

/// Copies a nonce, padded with zeros, so that no other thread can change it during the call.
#[inline]
pub fn copy_nonce(bytes: &[u8], expected: usize) -> PyResult<[u8; MAX_LEN]> {
    copy(bytes, expected).ok_or_else(|| {
        error(palladion::Error::WrongLength { what: "nonce", expected, actual: bytes.len() })
    })
}

/// Copies a tag likewise. One of another length is as wrong as one with other bytes.
#[inline]
pub fn copy_tag(bytes: &[u8], expected: usize) -> PyResult<[u8; MAX_LEN]> {
    copy(bytes, expected).ok_or_else(|| {
        let actual = bytes.len();
        let error = palladion::Error::WrongLength { what: "tag", expected, actual };
        VerificationError::new_err(format!("verification failed: {error}"))
    })
}

#[inline]
fn copy(bytes: &[u8], expected: usize) -> Option<[u8; MAX_LEN]> {
    if bytes.len() != expected {
        return None;
    }
    // All have 16 or 32 bytes. Copying 16 at a time takes no calls of memcpy.
    let mut copy = [0; MAX_LEN];
    for (to, from) in copy.as_chunks_mut::<16>().0.iter_mut().zip(bytes.as_chunks().0) {
        *to = *from;
    }
    Some(copy)
}

/// Fills a buffer with random bytes from the operating system.
pub fn fill_random(bytes: &mut [u8]) -> PyResult<()> {
    getrandom::fill(bytes).map_err(|_| error(palladion::Error::NoRandomness))
}

fn random_bytes<'py>(py: Python<'py>, len: usize) -> PyResult<Bound<'py, PyAny>> {
    let mut bytes = Target::new(py, None, len)?;
    fill_random(bytes.zeroed())?;
    Ok(bytes.finish())
}

/// A new random key for an algorithm: 16 or 32 bytes.
#[pyfunction]
#[pyo3(signature = (algorithm = Name::default()), text_signature = "(algorithm='AEGIS-256X2')")]
pub fn generate_key(py: Python<'_>, algorithm: Name) -> PyResult<Bound<'_, PyAny>> {
    random_bytes(py, algorithm.0.key_len())
}

/// A random nonce for an algorithm: 16 or 32 bytes.
#[pyfunction]
#[pyo3(signature = (algorithm = Name::default()), text_signature = "(algorithm='AEGIS-256X2')")]
pub fn generate_nonce(py: Python<'_>, algorithm: Name) -> PyResult<Bound<'_, PyAny>> {
    random_bytes(py, algorithm.0.key_len())
}

/// The name of the backend in use, for example "vaes-avx512" or "portable".
#[pyfunction]
pub fn backend() -> PyResult<&'static str> {
    palladion::backend().map(|backend| backend.name()).map_err(|e| error(e.into()))
}

/// The length of keys and nonces, in bytes.
#[pyfunction]
pub fn key_size(algorithm: Name) -> usize {
    algorithm.0.key_len()
}
