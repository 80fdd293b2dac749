//! Authentication without encryption.

use std::sync::Mutex;

use palladion::any;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::algorithm::{MAX_LEN, Name, copy_tag};
use crate::buffer::{In, lock, work_on};
use crate::error::{OrRaise, VerificationError, error};

/// A message authentication code (RFC 10032, section 8), used like hashlib.
///
/// The key has 16 or 32 bytes; do not use it for encryption too. The nonce may be the same for all
/// messages; the default is all zeros. Tags have digest_size bytes: 16 or 32.
///
/// >>> import palladion
/// >>> key = palladion.generate_key()
/// >>> mac = palladion.Mac(key)
/// >>> mac.update(b"some ")
/// >>> mac.update(b"data")
/// >>> mac.digest() == palladion.mac(key, b"some data")
/// True
/// >>> mac.verify(palladion.mac(key, b"some data"))
#[pyclass(module = "palladion", frozen)]
pub struct Mac {
    algorithm: Name,
    digest_len: usize,
    initial: any::Mac,
    data: Mutex<any::Mac>,
}

impl Mac {
    fn current(&self, py: Python<'_>) -> any::Mac {
        lock(py, &self.data).clone()
    }

    fn tag(&self, py: Python<'_>) -> PyResult<[u8; MAX_LEN]> {
        let mut tag = [0; MAX_LEN];
        self.current(py).finalize(&mut tag[..self.digest_len]).or_raise()?;
        Ok(tag)
    }
}

#[pymethods]
impl Mac {
    #[new]
    #[pyo3(
        signature = (
            key, data = None, *, algorithm = Name::default(), nonce = None, digest_size = 32
        ),
        text_signature = "(key, data=None, *, algorithm='AEGIS-256X2', nonce=None, digest_size=32)"
    )]
    fn new(
        py: Python<'_>,
        key: In<'_, '_>,
        data: Option<In<'_, '_>>,
        algorithm: Name,
        nonce: Option<In<'_, '_>>,
        digest_size: usize,
    ) -> PyResult<Self> {
        if !matches!(digest_size, 16 | 32) {
            return Err(error(palladion::Error::UnknownTagLength { actual: digest_size }));
        }
        let zeros = [0; MAX_LEN];
        let nonce = nonce.as_ref().map_or(&zeros[..algorithm.0.key_len()], In::bytes);
        let initial = any::Mac::new(algorithm.0, key.bytes(), nonce).or_raise()?;
        let mac =
            Self { algorithm, digest_len: digest_size, data: Mutex::new(initial.clone()), initial };
        data.map_or(Ok(()), |data| mac.update(py, data))?;
        Ok(mac)
    }

    /// Adds data, in pieces of any size.
    fn update(&self, py: Python<'_>, data: In<'_, '_>) -> PyResult<()> {
        let mut mac = lock(py, &self.data);
        let data = data.bytes();
        work_on(py, data.len(), || mac.update(data)).or_raise()
    }

    /// The tag of all data so far. More can be added afterwards.
    fn digest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.tag(py)?[..self.digest_len]))
    }

    /// The tag in hexadecimal digits.
    fn hexdigest(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.tag(py)?[..self.digest_len].iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Compares the tag of all data so far with another, in constant time. Raises VerificationError
    /// if they differ.
    fn verify(&self, py: Python<'_>, tag: In<'_, '_>) -> PyResult<()> {
        let tag = copy_tag(tag.bytes(), self.digest_len)?;
        self.current(py).verify(&tag[..self.digest_len]).map_err(|why| match why {
            palladion::Error::VerificationFailed => VerificationError::new_err(
                "verification failed: the key, nonce or algorithm is wrong, or the data or tag was \
                 changed",
            ),
            _ => error(why),
        })
    }

    /// Returns a copy with the same key, nonce and data.
    fn copy(&self, py: Python<'_>) -> Self {
        let Self { algorithm, digest_len, ref initial, .. } = *self;
        Self { algorithm, digest_len, initial: initial.clone(), data: Mutex::new(self.current(py)) }
    }

    fn __copy__(&self, py: Python<'_>) -> Self {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: Bound<'_, PyAny>) -> Self {
        self.copy(py)
    }

    /// Starts again with the same key and nonce.
    fn reset(&self, py: Python<'_>) {
        *lock(py, &self.data) = self.initial.clone();
    }

    /// The standard's name of the cipher.
    #[getter]
    fn algorithm(&self) -> Name {
        self.algorithm
    }

    /// The algorithm followed by "-MAC"; corresponds to the name of hashlib's objects.
    #[getter]
    fn name(&self) -> String {
        format!("{}-MAC", self.algorithm.0)
    }

    /// Bytes in the tag: 16 or 32.
    #[getter]
    fn digest_size(&self) -> usize {
        self.digest_len
    }

    fn __repr__(&self) -> String {
        format!("<palladion.Mac {}, digest_size={}>", self.algorithm.0, self.digest_len)
    }
}

/// Computes a message authentication code in one call; see Mac.
#[pyfunction]
#[pyo3(
    signature = (key, data, *, algorithm = Name::default(), nonce = None, digest_size = 32),
    text_signature = "(key, data, *, algorithm='AEGIS-256X2', nonce=None, digest_size=32)"
)]
pub fn mac<'py>(
    py: Python<'py>,
    key: In<'_, 'py>,
    data: In<'_, 'py>,
    algorithm: Name,
    nonce: Option<In<'_, 'py>>,
    digest_size: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let zeros = [0; MAX_LEN];
    let nonce = nonce.as_ref().map_or(&zeros[..algorithm.0.key_len()], In::bytes);
    let mut mac = any::Mac::new(algorithm.0, key.bytes(), nonce).or_raise()?;
    let data = data.bytes();
    work_on(py, data.len(), || mac.update(data)).or_raise()?;
    let mut tag = [0; MAX_LEN];
    let tag = tag
        .get_mut(..digest_size)
        .ok_or(palladion::Error::UnknownTagLength { actual: digest_size });
    let tag = tag.or_raise()?;
    mac.finalize(tag).or_raise()?;
    Ok(PyBytes::new(py, tag))
}
