//! Messages and key streams in pieces.

use std::sync::Mutex;

use palladion::any;
use palladion::hazmat::AnySession;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeroize::Zeroizing;

use crate::algorithm::{MAX_LEN, Name, copy_tag};
use crate::buffer::{In, Target, lock, work_on};
use crate::error::{OrRaise, PalladionError};

/// A session until its end. Threads that share it take turns.
struct Session {
    running: Mutex<Option<AnySession>>,
    tag_len: usize,
}

impl Session {
    fn begin(cipher: &any::Cipher, nonce: &[u8], ad: &[u8]) -> PyResult<Self> {
        let session = AnySession::new(cipher.algorithm(), cipher.key(), nonce, ad).or_raise()?;
        Ok(Self { running: Mutex::new(Some(session)), tag_len: cipher.tag_len() })
    }

    /// Calls a function with the session.
    fn with_session<T>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut AnySession) -> PyResult<T>,
    ) -> PyResult<T> {
        let mut running = lock(py, &self.running);
        call(running.as_mut().ok_or_else(ended)?)
    }

    /// Takes the session, which ends it for other callers.
    fn take(&self, py: Python<'_>) -> PyResult<AnySession> {
        let mut running = lock(py, &self.running);
        running.take().ok_or_else(ended)
    }

    /// Encrypts or decrypts the next piece.
    fn next<'py>(
        &self,
        py: Python<'py>,
        data: In<'_, 'py>,
        into: Option<Bound<'py, PyAny>>,
        encrypt: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut target = Target::new(py, into, data.len())?;
        target.check_overlap(data.place())?;
        self.with_session(py, |session| {
            if !target.is_at(data.place()) {
                let (data, target) = (data.bytes(), target.zeroed());
                return work_on(py, data.len(), || match encrypt {
                    true => session.encrypt_into(data, target),
                    false => session.decrypt_into(data, target),
                })
                .or_raise();
            }
            // SAFETY: the target is at the place of the input, so it is the caller's buffer and its
            // bytes are initialised. No other slice of it exists: the input was used only for its
            // place.
            let buffer = unsafe { target.bytes() };
            work_on(py, buffer.len(), || match encrypt {
                true => session.encrypt_in_place(buffer),
                false => session.decrypt_in_place(buffer),
            })
            .or_raise()
        })?;
        Ok(target.finish())
    }
}

fn ended() -> PyErr {
    PalladionError::new_err("the message has ended; start another one")
}

/// Encrypts a message in pieces; created by Cipher.encryptor().
///
/// >>> import palladion
/// >>> cipher = palladion.Cipher(palladion.generate_key())
/// >>> nonce = palladion.generate_nonce()
/// >>> encryptor = cipher.encryptor(nonce, b"header")
/// >>> ciphertext = encryptor.update(b"attack ") + encryptor.update(b"at dawn")
/// >>> tag = encryptor.finalize()
/// >>> cipher.decrypt(nonce, ciphertext + tag, b"header")
/// b'attack at dawn'
#[pyclass(module = "palladion", frozen)]
pub struct Encryptor(Session);

impl Encryptor {
    pub fn begin(cipher: &any::Cipher, nonce: &[u8], ad: &[u8]) -> PyResult<Self> {
        Session::begin(cipher, nonce, ad).map(Self)
    }
}

#[pymethods]
impl Encryptor {
    /// Encrypts the next piece to as many bytes, in a new object or in into, which may be the piece
    /// itself.
    #[pyo3(signature = (data, *, into = None))]
    fn update<'py>(
        &self,
        py: Python<'py>,
        data: In<'_, 'py>,
        into: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.0.next(py, data, into, true)
    }

    /// Ends the message and returns its tag.
    fn finalize<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut tag = [0; MAX_LEN];
        let tag = &mut tag[..self.0.tag_len];
        self.0.take(py)?.finalize(tag).or_raise()?;
        Ok(PyBytes::new(py, tag))
    }
}

/// Decrypts a message in pieces and returns it only if it is authentic; created by
/// Cipher.decryptor().
///
/// It keeps the whole message in memory. For long messages use encrypted files (palladion.files),
/// which are verified in chunks.
#[pyclass(module = "palladion", frozen)]
pub struct Decryptor {
    session: Session,
    message: Mutex<Zeroizing<Vec<u8>>>,
}

impl Decryptor {
    pub fn begin(cipher: &any::Cipher, nonce: &[u8], ad: &[u8]) -> PyResult<Self> {
        Ok(Self { session: Session::begin(cipher, nonce, ad)?, message: Mutex::default() })
    }
}

#[pymethods]
impl Decryptor {
    /// Adds the next piece of the ciphertext.
    fn update(&self, py: Python<'_>, data: In<'_, '_>) -> PyResult<()> {
        self.session.with_session(py, |session| {
            let mut message = lock(py, &self.message);
            grow(&mut message, data.len())?;
            let (data, start) = (data.bytes(), message.len());
            message.resize(start + data.len(), 0);
            work_on(py, data.len(), || session.decrypt_into(data, &mut message[start..])).or_raise()
        })
    }

    /// Ends the ciphertext and returns the message. Raises VerificationError if it is not
    /// authentic.
    fn finalize<'py>(&self, py: Python<'py>, tag: In<'_, '_>) -> PyResult<Bound<'py, PyBytes>> {
        let expected = self.session.tag_len;
        let tag = copy_tag(tag.bytes(), expected)?;
        let verified = self.session.take(py)?.verify(&tag[..expected]);
        let mut message = lock(py, &self.message);
        let message = std::mem::take(&mut *message);
        verified.or_raise()?;
        Ok(PyBytes::new(py, &message))
    }
}

/// Makes room for more bytes. If they have to move, wipes the old place.
fn grow(bytes: &mut Zeroizing<Vec<u8>>, more: usize) -> PyResult<()> {
    if bytes.capacity() - bytes.len() >= more {
        return Ok(());
    }
    let no_memory =
        || pyo3::exceptions::PyMemoryError::new_err("not enough memory for the message");
    let needed = bytes.len().checked_add(more).ok_or_else(no_memory)?.max(2 * bytes.capacity());
    let mut larger = Zeroizing::new(Vec::new());
    larger.try_reserve_exact(needed).map_err(|_| no_memory())?;
    larger.extend_from_slice(bytes);
    *bytes = larger;
    Ok(())
}

/// Decrypts a message in pieces, each returned at once and UNVERIFIED; created by
/// Cipher.unverified_decryptor().
#[pyclass(module = "palladion", frozen)]
pub struct UnverifiedDecryptor(Session);

impl UnverifiedDecryptor {
    pub fn begin(cipher: &any::Cipher, nonce: &[u8], ad: &[u8]) -> PyResult<Self> {
        Session::begin(cipher, nonce, ad).map(Self)
    }
}

#[pymethods]
impl UnverifiedDecryptor {
    /// Decrypts the next piece to as many bytes, in a new object or in into, which may be the piece
    /// itself.
    #[pyo3(signature = (data, *, into = None))]
    fn update_unverified<'py>(
        &self,
        py: Python<'py>,
        data: In<'_, 'py>,
        into: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.0.next(py, data, into, false)
    }

    /// Ends the ciphertext. Raises VerificationError if it is not authentic; discard all pieces
    /// then.
    fn verify(&self, py: Python<'_>, tag: In<'_, '_>) -> PyResult<()> {
        let tag = copy_tag(tag.bytes(), self.0.tag_len)?;
        self.0.take(py)?.verify(&tag[..self.0.tag_len]).or_raise()
    }
}

/// An endless stream of bytes from a key and a nonce (RFC 10032, section 7), without
/// authentication.
///
/// The default nonce is all zeros; a key then always gives the same stream.
///
/// >>> import palladion
/// >>> key = bytes(32)
/// >>> stream = palladion.KeyStream(key)
/// >>> stream.read(3) + stream.read(5) == palladion.KeyStream(key).read(8)
/// True
#[pyclass(module = "palladion", frozen)]
pub struct KeyStream(Mutex<AnySession>);

#[pymethods]
impl KeyStream {
    #[new]
    #[pyo3(
        signature = (key, nonce = None, *, algorithm = Name::default()),
        text_signature = "(key, nonce=None, *, algorithm='AEGIS-256X2')"
    )]
    fn new(key: In<'_, '_>, nonce: Option<In<'_, '_>>, algorithm: Name) -> PyResult<Self> {
        let zeros = [0; MAX_LEN];
        let nonce = nonce.as_ref().map_or(&zeros[..algorithm.0.key_len()], In::bytes);
        let session = AnySession::new(algorithm.0, key.bytes(), nonce, b"").or_raise()?;
        Ok(Self(Mutex::new(session)))
    }

    /// Returns the next size bytes, or fills the writable buffer into with the next bytes.
    #[pyo3(signature = (size = None, *, into = None))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        size: Option<isize>,
        into: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut target = match (size, into) {
            (Some(size), into) => {
                let negative =
                    |_| PyValueError::new_err(format!("size must not be negative, but is {size}"));
                Target::new(py, into, size.try_into().map_err(negative)?)?
            }
            (None, Some(into)) => Target::whole(into)?,
            (None, None) => return Err(PyValueError::new_err("pass a size or a buffer")),
        };
        let bytes = target.zeroed();
        let mut session = lock(py, &self.0);
        work_on(py, bytes.len(), || session.encrypt_in_place(bytes)).or_raise()?;
        Ok(target.finish())
    }

    /// XORs data with the next bytes of the stream. This encrypts or decrypts without
    /// authentication.
    #[pyo3(signature = (data, *, into = None))]
    fn xor<'py>(
        &self,
        py: Python<'py>,
        data: In<'_, 'py>,
        into: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut target = Target::new(py, into, data.len())?;
        target.check_overlap(data.place())?;
        let bytes = target.copied(&data);
        let mut session = lock(py, &self.0);
        // The state absorbs what it encrypts, so encrypt zeros to get the stream, one piece at a
        // time.
        let mut stream = Zeroizing::new([0; 4096]);
        work_on(py, bytes.len(), || {
            for piece in bytes.chunks_mut(stream.len()) {
                let stream = &mut stream[..piece.len()];
                stream.fill(0);
                session.encrypt_in_place(stream)?;
                piece.iter_mut().zip(&*stream).for_each(|(byte, key)| *byte ^= key);
            }
            Ok(())
        })
        .or_raise()?;
        Ok(target.finish())
    }
}
